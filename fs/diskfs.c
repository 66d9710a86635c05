/*
 * diskfs: a small file system on a block device that transfers pages by DMA.
 *
 * THE IDEA. A page of a file and a block of the disk have the same size, so data moves straight
 * between the page cache and the device, one page a transfer, and the file system only says which
 * block. All metadata but the superblock is inodes and what they name (diskfs_format.h); the free
 * blocks are those that no inode names.
 *
 * WHAT IS PROMISED
 *   - After fsync, sync or unmount returned 0, everything written before is on the disk.
 *   - After a crash between any two writes of pages the disk mounts, and each file has the map and
 *     size of some earlier moment at or after its last fsync. Pages overwritten since then have the
 *     old or the new data, each by itself. No file shows what was in another, nor what a block held
 *     before.
 *   - A write() that was accepted has a block on the disk. A store through a mapping into a hole
 *     has none until its page is written back: QUIRE_ENOSPC is then the result of msync, fsync or
 *     sync.
 *   - A damaged disk does not mount, or mounts as a consistent file system; it never does worse.
 *     (Data has no checksum.)
 *   - After an I/O error blocks may stay in use that no file has; the next mount finds them free.
 *
 * Other files: diskfs_blocks.c (free blocks), diskfs_map.c (pages to blocks), diskfs_inode.c
 * (metadata, and the order of writes), diskfs_mount.c (format and mount).
 */
#include "fs/diskfs.h"

static struct quire_diskfs *fs_of(struct quire_file *file)
{
	return quire_diskfs_of(quire_fs_file_of(file)->fs);
}

static struct quire_diskfs_file *file_of(struct quire_file *file)
{
	return quire_diskfs_file_of(quire_fs_file_of(file));
}

/* --- Pages ------------------------------------------------------------------------------------ */

/* Bytes of the page that lie within the file. */
static size_t page_within(struct quire_file *file, const struct quire_page *page)
{
	struct quire_diskfs_attributes now;
	uint64_t from = page->index << QUIRE_PAGE_SHIFT;

	quire_diskfs_attributes(file_of(file), &now);
	if (now.bytes <= from)
		return 0;
	return now.bytes - from < QUIRE_PAGE_BYTES ? (size_t)(now.bytes - from) : QUIRE_PAGE_BYTES;
}

static bool find_block(struct quire_file *file, uint64_t index, uint32_t *block)
{
	struct quire_diskfs *fs = fs_of(file);
	bool found;

	if (index > UINT32_MAX)
		return false;
	quire_lock(file->quire, &fs->meta);
	found = quire_diskfs_map_find(&file_of(file)->map, (uint32_t)index, block);
	quire_unlock(file->quire, &fs->meta);
	return found;
}

/*
 * The block cannot change hands during the transfer: only truncate and punch take it away, and they
 * wait for the locked page to leave the page cache first.
 */
static int diskfs_read_page(struct quire_file *file, struct quire_page *page)
{
	size_t within = page_within(file, page);
	uint32_t block;
	int error;

	if (!within || !find_block(file, page->index, &block)) {
		quire_page_clear(file->quire, page, 0, QUIRE_PAGE_BYTES);
		return 0;
	}
	error = quire_diskfs_transfer(fs_of(file), block, page, false);
	if (!error && within < QUIRE_PAGE_BYTES)
		quire_page_clear(file->quire, page, within, QUIRE_PAGE_BYTES - within);
	return error;
}

/* The page (locked) has no promise any more. */
static void end_promise(struct quire_file *file, struct quire_page *page)
{
	if (quire_atomic_clear(&page->flags, QUIRE_PAGE_CHARGED) & QUIRE_PAGE_CHARGED)
		quire_diskfs_promise_end(fs_of(file));
}

/* The map learns of a block once the data is in it. QUIRE_ENOMEM. */
static int add_block(struct quire_file *file, uint32_t index, uint32_t block)
{
	struct quire_diskfs *fs = fs_of(file);
	struct quire_diskfs_map *map = &file_of(file)->map;
	uint32_t before = map->count;
	int error;

	quire_lock(file->quire, &fs->meta);
	error = quire_diskfs_map_reserve(file->quire, map, map->count + 1);
	if (!error) {
		before = map->count;
		quire_diskfs_map_add(map, index, block);
		file_of(file)->map_changed = true;
		quire_diskfs_count(fs, (int32_t)(map->count - before), 0, 0);
	}
	quire_unlock(file->quire, &fs->meta);
	return error;
}

static uint32_t goal_of(struct quire_file *file, uint32_t index)
{
	struct quire_diskfs *fs = fs_of(file);
	uint32_t goal;

	quire_lock(file->quire, &fs->meta);
	goal = quire_diskfs_map_goal(&file_of(file)->map, index);
	quire_unlock(file->quire, &fs->meta);
	return goal;
}

static int write_hole(struct quire_file *file, struct quire_page *page)
{
	struct quire_diskfs *fs = fs_of(file);
	uint32_t index = (uint32_t)page->index;
	uint32_t block;
	int error;

	error = quire_diskfs_take(fs, goal_of(file, index), quire_page_is(page, QUIRE_PAGE_CHARGED),
				  &block);
	if (error)
		return error;
	error = quire_diskfs_transfer(fs, block, page, true);
	if (!error)
		error = add_block(file, index, block);
	if (error)
		quire_diskfs_give(fs, block, 1);
	else
		end_promise(file, page);
	return error;
}

/*
 * A page beyond the end is about to leave the cache (truncate), and so are those of a file whose
 * name and last reference are gone: nothing of them is wanted.
 */
static int diskfs_write_page(struct quire_file *file, struct quire_page *page)
{
	bool wanted = !file_of(file)->unlinked || quire_atomic_read(&file->refs);
	uint32_t block;

	if (!wanted || !page_within(file, page))
		return 0;
	if (page->index > UINT32_MAX)
		return -QUIRE_EFBIG;
	if (find_block(file, page->index, &block))
		return quire_diskfs_transfer(fs_of(file), block, page, true);
	return write_hole(file, page);
}

static void diskfs_page_removed(struct quire_file *file, struct quire_page *page)
{
	end_promise(file, page);
}

static int diskfs_write_begin(struct quire_file *file, uint64_t offset, size_t bytes,
			      struct quire_page **page)
{
	uint32_t block;
	int error;

	if (offset > DISKFS_BYTES_MAX - bytes)
		return -QUIRE_EFBIG;
	error = quire_file_write_begin(file, offset, bytes, page);
	if (error)
		return error;
	if (quire_page_is(*page, QUIRE_PAGE_CHARGED) || find_block(file, (*page)->index, &block))
		return 0;
	error = quire_diskfs_promise(fs_of(file));
	if (error) {
		quire_page_unlock(file->quire, *page);
		quire_page_put(file->quire, *page);
		return error;
	}
	quire_atomic_or(&(*page)->flags, QUIRE_PAGE_CHARGED);
	return 0;
}

/* --- Holes and the end ------------------------------------------------------------------------ */

/*
 * Makes a hole of pages first <= index < end. The inode that no longer names the blocks is written
 * before they are free; if it cannot be written the file has its hole all the same, and the blocks
 * stay taken.
 */
static int cut(struct quire_file *file, uint64_t first, uint64_t end)
{
	struct quire_diskfs *fs = fs_of(file);
	struct quire_diskfs_file *f = file_of(file);
	uint32_t before = f->map.count;
	int error;

	f->map_changed = true;
	error = quire_diskfs_write_inode(fs, f, first, end);
	quire_diskfs_map_cut(fs, &f->map, first, end, !error);
	quire_diskfs_count(fs, (int32_t)(f->map.count - before), 0, 0);
	if (error)
		f->map_changed = true;
	return error;
}

static void diskfs_truncated(struct quire_file *file, uint64_t bytes)
{
	struct quire_diskfs *fs = fs_of(file);
	uint64_t first = (bytes >> QUIRE_PAGE_SHIFT) + ((bytes & QUIRE_PAGE_MASK) != 0);

	quire_lock(file->quire, &fs->meta);
	cut(file, first, UINT64_MAX);
	quire_unlock(file->quire, &fs->meta);
}

static int diskfs_punch(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	struct quire_diskfs *fs = fs_of(file);
	struct quire_diskfs_map *map = &file_of(file)->map;
	uint64_t first, end;
	int error;

	if (!bytes || offset > INT64_MAX || bytes > INT64_MAX - offset)
		return -QUIRE_EINVAL;
	first = (offset + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT;
	end = (offset + bytes) >> QUIRE_PAGE_SHIFT;
	if (first >= end)
		return 0;
	quire_lock(file->quire, &fs->meta);
	error = quire_diskfs_map_reserve(file->quire, map, map->count + 1);
	if (!error)
		error = cut(file, first, end);
	quire_unlock(file->quire, &fs->meta);
	return error;
}

/* --- Files ------------------------------------------------------------------------------------ */

static int diskfs_write_attributes(struct quire_file *file)
{
	struct quire_diskfs *fs = fs_of(file);
	int error;

	quire_lock(file->quire, &fs->meta);
	error = quire_diskfs_write_inode(fs, file_of(file), 0, 0);
	quire_unlock(file->quire, &fs->meta);
	return error;
}

static void give_all(struct quire_diskfs *fs, struct quire_diskfs_file *file)
{
	uint32_t extents = file->map.count;

	quire_diskfs_map_cut(fs, &file->map, 0, UINT64_MAX, true);
	for (uint32_t n = 0; n < file->map_block_count; n++)
		quire_diskfs_give(fs, file->map_blocks[n], 1);
	quire_diskfs_count(fs, -(int32_t)extents, -(int32_t)file->map_block_count, 0);
}

/*
 * Blocks of a file that has an inode on the disk stay its own: the file system is being unmounted.
 */
static void diskfs_release(struct quire_file *file)
{
	struct quire_diskfs *fs = fs_of(file);
	struct quire_diskfs_file *f = file_of(file);

	if (f->unlinked)
		give_all(fs, f);
	quire_diskfs_count(fs, 0, 0, -1);
	quire_diskfs_map_free(file->quire, &f->map);
	if (f->map_blocks)
		quire_delete(file->quire, f->map_blocks,
			     f->map_block_room * sizeof(*f->map_blocks));
	quire_fs_file_free(&f->base);
}

static const struct quire_file_ops file_ops = {
	.read_page = diskfs_read_page,
	.write_page = diskfs_write_page,
	.write_begin = diskfs_write_begin,
	.write_end = quire_file_write_end,
	.truncated = diskfs_truncated,
	.punch = diskfs_punch,
	.page_removed = diskfs_page_removed,
	.write_attributes = diskfs_write_attributes,
	.release = diskfs_release,
};

int quire_diskfs_file_new(struct quire_diskfs *fs, const char *name, uint32_t inode,
			  struct quire_diskfs_file **file)
{
	struct quire_fs_file *base;
	int error = quire_fs_file_new(&fs->fs, sizeof(**file), name, &file_ops, &base);

	if (error)
		return error;
	*file = quire_diskfs_file_of(base);
	(*file)->inode = inode;
	quire_diskfs_count(fs, 0, 0, 1);
	return 0;
}

/* --- Names ------------------------------------------------------------------------------------ */

static void inode_free(struct quire_diskfs *fs, uint32_t inode)
{
	fs->inodes_used[inode >> 5] &= ~((uint32_t)1 << (inode & 31));
}

/* The table of names is locked. QUIRE_ENOSPC. */
static int inode_take(struct quire_diskfs *fs, uint32_t *inode)
{
	for (uint32_t n = 0; n < fs->inode_blocks * DISKFS_INODES_A_BLOCK; n++) {
		if (fs->inodes_used[n >> 5] >> (n & 31) & 1)
			continue;
		fs->inodes_used[n >> 5] |= (uint32_t)1 << (n & 31);
		*inode = n;
		return 0;
	}
	return -QUIRE_ENOSPC;
}

static int diskfs_create(struct quire_fs *base, const char *name, struct quire_fs_file **file)
{
	struct quire_diskfs *fs = quire_diskfs_of(base);
	struct quire_diskfs_file *made;
	uint32_t inode;
	int error = inode_take(fs, &inode);

	if (error)
		return error;
	error = quire_diskfs_file_new(fs, name, inode, &made);
	if (error) {
		inode_free(fs, inode);
		return error;
	}
	made->map_changed = true;
	error = diskfs_write_attributes(&made->base.file);
	if (error) {
		made->unlinked = true; /* or its last reference would try to write it again */
		quire_file_put(&made->base.file);
		inode_free(fs, inode);
		return error;
	}
	*file = &made->base;
	return 0;
}

/* The inode is free on the disk before anything it names can be given to another. */
static int diskfs_unlink(struct quire_fs *base, struct quire_fs_file *file)
{
	struct quire_diskfs *fs = quire_diskfs_of(base);
	struct quire_diskfs_file *f = quire_diskfs_file_of(file);
	int error;

	quire_lock(base->quire, &fs->meta);
	error = quire_diskfs_erase_inode(fs, f->inode);
	if (error)
		f->map_changed = true; /* the inode may be gone: the next sync writes it again */
	else
		f->unlinked = true;
	quire_unlock(base->quire, &fs->meta);
	if (!error)
		inode_free(fs, f->inode);
	return error;
}

/* --- The file system -------------------------------------------------------------------------- */

static void diskfs_destroy(struct quire_fs *base)
{
	struct quire_diskfs *fs = quire_diskfs_of(base);
	struct quire *q = base->quire;

	if (fs->used)
		quire_delete(q, fs->used, ((fs->block_count >> 5) + 1) * sizeof(*fs->used));
	if (fs->buffer)
		quire_delete(q, fs->buffer, QUIRE_PAGE_BYTES);
	if (fs->page)
		quire_page_put(q, fs->page);
	quire_delete(q, fs, sizeof(*fs));
}

static const struct quire_fs_ops fs_ops = {
	.create = diskfs_create,
	.unlink = diskfs_unlink,
	.destroy = diskfs_destroy,
};

static int diskfs_start(struct quire_diskfs *fs, const struct quire_block_device *device,
			bool format)
{
	int error = 0;

	fs->device.context = device->context;
	fs->device.blocks = device->blocks;
	fs->device.transfer = device->transfer;
	quire_lock_init(&fs->meta);
	quire_lock_init(&fs->blocks);
	fs->buffer = quire_new(fs->fs.quire, QUIRE_PAGE_BYTES);
	fs->page = quire_page_alloc(fs->fs.quire, 0);
	if (!fs->buffer || !fs->page)
		return -QUIRE_ENOMEM;
	if (format)
		error = quire_diskfs_format(fs);
	return error ? error : quire_diskfs_load(fs);
}

struct quire_fs *quire_diskfs_mount(struct quire *q, const struct quire_block_device *device,
				    bool format, int *error)
{
	struct quire_diskfs *fs = quire_new(q, sizeof(*fs));

	*error = -QUIRE_ENOMEM;
	if (!fs)
		return NULL;
	quire_fs_init(q, &fs->fs, &fs_ops);
	*error = diskfs_start(fs, device, format);
	if (*error) {
		quire_fs_drop_all(&fs->fs);
		diskfs_destroy(&fs->fs);
		return NULL;
	}
	return &fs->fs;
}
