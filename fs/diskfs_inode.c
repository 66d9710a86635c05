/*
 * Metadata of diskfs: blocks moved through a page, inodes and map blocks encoded.
 *
 * THE ORDER OF WRITES, which keeps the disk mountable between any two of them (a page is written
 * whole or not at all):
 *   1. data goes to a block that no inode on the disk names, or over the same page's older data; 2.
 *   the map blocks are written anew, to blocks that no inode on the disk names; 3. the inode is
 *   written: one page, which turns the file from its old map and size to the new ones; 4. what only
 *   the old inode named becomes free, in memory.
 * So an inode on the disk never names a block that is not its own or that has other data in it.
 */
#include "fs/diskfs.h"

/* --- Blocks through the page ------------------------------------------------------------------ */

/*
 * CRC-32C: Castagnoli's polynomial, reflected 0x82f63b78 (RFC 3720, B.4), a half-byte at a time:
 * the table holds what each half-byte adds.
 */
uint32_t quire_diskfs_crc(const uint8_t *bytes, size_t count)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = UINT32_MAX;

	for (size_t n = 0; n < count; n++) {
		crc ^= bytes[n];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

int quire_diskfs_transfer(struct quire_diskfs *fs, uint32_t block, struct quire_page *page,
			  bool write)
{
	enum quire_dma_direction direction = write ? QUIRE_TO_DEVICE : QUIRE_FROM_DEVICE;
	int error;

	quire_coherence_dma_prepare(fs->fs.quire, page, direction);
	error = fs->device.transfer(fs->device.context, block, quire_page_pa(page), write);
	quire_coherence_dma_finish(fs->fs.quire, page, direction);
	return error;
}

int quire_diskfs_read_block(struct quire_diskfs *fs, uint32_t block)
{
	struct quire *q = fs->fs.quire;
	int error = quire_diskfs_transfer(fs, block, fs->page, false);

	if (error)
		return error;
	q->machine.port.read(q->machine.port.context, fs->buffer, quire_page_address(q, fs->page),
			     QUIRE_PAGE_BYTES);
	return 0;
}

int quire_diskfs_write_block(struct quire_diskfs *fs, uint32_t block)
{
	struct quire *q = fs->fs.quire;

	q->machine.port.write(q->machine.port.context, quire_page_address(q, fs->page), fs->buffer,
			      QUIRE_PAGE_BYTES);
	quire_coherence_kernel_wrote(q, fs->page);
	return quire_diskfs_transfer(fs, block, fs->page, true);
}

/* --- What the disk is told of a map ----------------------------------------------------------- */

/*
 * The extents of a map without a hole and without what lies beyond the size, one after the other.
 * One that the hole splits is seen as two.
 */
struct view {
	const struct quire_diskfs_map *map;
	uint64_t limit;      /* pages of the file */
	uint64_t first, end; /* the hole */
	uint32_t next;
	uint64_t from; /* what of extent `next` comes before this was seen */
};

static void view_begin(struct view *view, const struct quire_diskfs_map *map, uint64_t bytes,
		       uint64_t first, uint64_t end)
{
	view->map = map;
	view->limit = (bytes >> QUIRE_PAGE_SHIFT) + ((bytes & QUIRE_PAGE_MASK) != 0);
	view->first = first;
	view->end = end;
	view->next = 0;
	view->from = 0;
}

static bool view_next(struct view *view, struct quire_diskfs_extent *seen)
{
	for (; view->next < view->map->count; view->next++) {
		const struct quire_diskfs_extent *extent = &view->map->extents[view->next];
		uint64_t start = extent->index > view->from ? extent->index : view->from;
		uint64_t stop = (uint64_t)extent->index + extent->pages;

		if (stop > view->limit)
			stop = view->limit;
		if (start >= view->first && start < view->end)
			start = view->end;
		if (start < view->first && stop > view->first && view->first < view->end)
			stop = view->first;
		if (start >= stop)
			continue;
		seen->index = (uint32_t)start;
		seen->block = extent->block + (uint32_t)(start - extent->index);
		seen->pages = (uint32_t)(stop - start);
		view->from = stop;
		return true;
	}
	return false;
}

static uint32_t view_count(struct view view)
{
	struct quire_diskfs_extent seen;
	uint32_t count = 0;

	while (view_next(&view, &seen))
		count++;
	return count;
}

/* Encodes up to `most` extents at `at`; result: how many. */
static uint32_t view_encode(struct view *view, uint8_t *at, uint32_t most)
{
	struct quire_diskfs_extent seen;
	uint32_t count = 0;

	for (; count < most && view_next(view, &seen); count++, at += DISKFS_EXTENT_BYTES) {
		diskfs_put32(at, seen.index);
		diskfs_put32(at + 4, seen.block);
		diskfs_put32(at + 8, seen.pages);
	}
	return count;
}

/* --- Inodes ----------------------------------------------------------------------------------- */

void quire_diskfs_attributes(struct quire_diskfs_file *file,
			     struct quire_diskfs_attributes *attributes)
{
	struct quire_file *f = &file->base.file;

	quire_lock(f->quire, &f->times_lock);
	attributes->bytes = f->bytes;
	attributes->mtime_ns = f->times.mtime_ns;
	attributes->ctime_ns = f->times.ctime_ns;
	attributes->atime_ns = f->times.atime_ns;
	quire_unlock(f->quire, &f->times_lock);
}

static bool attributes_equal(const struct quire_diskfs_attributes *a,
			     const struct quire_diskfs_attributes *b)
{
	return a->bytes == b->bytes && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
	       a->atime_ns == b->atime_ns;
}

static uint8_t *inode_at(struct quire_diskfs *fs, uint32_t inode)
{
	return fs->buffer + (inode % DISKFS_INODES_A_BLOCK) * DISKFS_INODE_BYTES;
}

static void seal(uint8_t *at, size_t bytes)
{
	diskfs_put32(at, quire_diskfs_crc(at + 4, bytes - 4));
}

static void zero(uint8_t *at, size_t bytes)
{
	for (size_t n = 0; n < bytes; n++)
		at[n] = 0;
}

static void encode_inode(uint8_t *at, const char *name,
			 const struct quire_diskfs_attributes *attributes, struct view *view,
			 uint32_t extents, uint32_t map_block)
{
	zero(at, DISKFS_INODE_BYTES);
	diskfs_put32(at + DISKFS_INODE_KIND, 1);
	diskfs_put64(at + DISKFS_INODE_SIZE, attributes->bytes);
	diskfs_put64(at + DISKFS_INODE_MTIME, attributes->mtime_ns);
	diskfs_put64(at + DISKFS_INODE_CTIME, attributes->ctime_ns);
	diskfs_put64(at + DISKFS_INODE_ATIME, attributes->atime_ns);
	for (size_t n = 0; n < QUIRE_NAME_BYTES && name[n]; n++)
		at[DISKFS_INODE_NAME + n] = (uint8_t)name[n];
	diskfs_put32(at + DISKFS_INODE_EXTENTS, extents);
	diskfs_put32(at + DISKFS_INODE_MAP, map_block);
	view_encode(view, at + DISKFS_INODE_EXTENT, DISKFS_INODE_EXTENTS_MAX);
	seal(at, DISKFS_INODE_BYTES);
}

int quire_diskfs_erase_inode(struct quire_diskfs *fs, uint32_t inode)
{
	uint32_t block = 1 + inode / DISKFS_INODES_A_BLOCK;
	uint8_t *at = inode_at(fs, inode);
	int error = quire_diskfs_read_block(fs, block);

	if (error)
		return error;
	zero(at, DISKFS_INODE_BYTES);
	seal(at, DISKFS_INODE_BYTES);
	return quire_diskfs_write_block(fs, block);
}

/* --- Writing a map ---------------------------------------------------------------------------- */

static void give_map_blocks(struct quire_diskfs *fs, uint32_t *blocks, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++)
		quire_diskfs_give(fs, blocks[n], 1);
	quire_diskfs_count(fs, 0, -(int32_t)count, 0);
}

static int take_map_blocks(struct quire_diskfs *fs, uint32_t *blocks, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++) {
		int error = quire_diskfs_take_map(fs, &blocks[n]);

		if (error) {
			give_map_blocks(fs, blocks, n);
			return error;
		}
	}
	return 0;
}

/* Writes what of the view follows the inode's own extents to the map blocks. */
static int write_map_blocks(struct quire_diskfs *fs, uint32_t inode, struct view view,
			    const uint32_t *blocks, uint32_t count)
{
	struct quire_diskfs_extent seen;

	for (unsigned n = 0; n < DISKFS_INODE_EXTENTS_MAX; n++)
		view_next(&view, &seen);
	for (uint32_t n = 0; n < count; n++) {
		int error;

		zero(fs->buffer, QUIRE_PAGE_BYTES);
		diskfs_put32(fs->buffer + DISKFS_MAP_MAGIC_AT, DISKFS_MAP_MAGIC);
		diskfs_put32(fs->buffer + DISKFS_MAP_INODE, inode);
		diskfs_put32(fs->buffer + DISKFS_MAP_NEXT, n + 1 < count ? blocks[n + 1] : 0);
		view_encode(&view, fs->buffer + DISKFS_MAP_EXTENT, DISKFS_MAP_EXTENTS_MAX);
		seal(fs->buffer, QUIRE_PAGE_BYTES);
		error = quire_diskfs_write_block(fs, blocks[n]);
		if (error)
			return error;
	}
	return 0;
}

static uint32_t map_blocks_for(uint32_t extents)
{
	if (extents <= DISKFS_INODE_EXTENTS_MAX)
		return 0;
	return (extents - DISKFS_INODE_EXTENTS_MAX + DISKFS_MAP_EXTENTS_MAX - 1) /
	       DISKFS_MAP_EXTENTS_MAX;
}

/*
 * Steps 2 to 4 above. *named: the inode on the disk may name `blocks` now, so that after an error
 * they stay taken until the next mount.
 */
static int write_map_and_inode(struct quire_diskfs *fs, struct quire_diskfs_file *file,
			       struct view *view, const struct quire_diskfs_attributes *attributes,
			       const uint32_t *blocks, uint32_t count, bool *named)
{
	uint32_t block = 1 + file->inode / DISKFS_INODES_A_BLOCK;
	uint32_t extents = view_count(*view);
	int error = write_map_blocks(fs, file->inode, *view, blocks, count);

	*named = false;
	if (!error)
		error = quire_diskfs_read_block(fs, block);
	if (error)
		return error;
	encode_inode(inode_at(fs, file->inode), file->base.name, attributes, view, extents,
		     count ? blocks[0] : 0);
	*named = true;
	return quire_diskfs_write_block(fs, block);
}

int quire_diskfs_write_inode(struct quire_diskfs *fs, struct quire_diskfs_file *file,
			     uint64_t first, uint64_t end)
{
	struct quire *q = fs->fs.quire;
	struct quire_diskfs_attributes now;
	uint32_t *blocks = NULL;
	uint32_t count;
	struct view view;
	bool named;
	int error;

	quire_diskfs_attributes(file, &now);
	if (file->unlinked || (!file->map_changed && attributes_equal(&now, &file->written)))
		return 0;
	view_begin(&view, &file->map, now.bytes, first, end);
	count = map_blocks_for(view_count(view));
	if (count) {
		blocks = quire_new(q, count * sizeof(*blocks));
		if (!blocks)
			return -QUIRE_ENOMEM;
	}
	error = take_map_blocks(fs, blocks, count);
	if (!error) {
		error = write_map_and_inode(fs, file, &view, &now, blocks, count, &named);
		if (error && !named)
			give_map_blocks(fs, blocks, count);
	}
	if (error) {
		if (blocks)
			quire_delete(q, blocks, count * sizeof(*blocks));
		return error;
	}
	if (file->map_blocks) {
		give_map_blocks(fs, file->map_blocks, file->map_block_count);
		quire_delete(q, file->map_blocks, file->map_block_room * sizeof(*blocks));
	}
	file->map_blocks = blocks;
	file->map_block_count = file->map_block_room = count;
	file->map_changed = false;
	file->written.bytes = now.bytes;
	file->written.mtime_ns = now.mtime_ns;
	file->written.ctime_ns = now.ctime_ns;
	file->written.atime_ns = now.atime_ns;
	return 0;
}
