/*
 * Format and mount of diskfs. Mount trusts nothing that it reads.
 *
 * Every record has a checksum, which finds damage; and every value is checked as if there were
 * none, so that no image makes the file system crash, loop or give one block to two owners: counts
 * are bounded by the size of the disk before they are used, blocks are claimed in the bitmap as
 * they are named, and a chain can only be as long as there are blocks that nobody claimed.
 */
#include "fs/diskfs.h"

static const uint8_t magic[DISKFS_MAGIC_BYTES + 1] = DISKFS_MAGIC;

static bool all_zero(const uint8_t *at, size_t bytes)
{
	for (size_t n = 0; n < bytes; n++)
		if (at[n])
			return false;
	return true;
}

static bool sealed(const uint8_t *at, size_t bytes)
{
	return diskfs_get32(at) == quire_diskfs_crc(at + 4, bytes - 4);
}

/*
 * Sets the geometry and makes the bitmap: superblock, inode table and what lies beyond the end are
 * in use.
 */
static int set_geometry(struct quire_diskfs *fs, uint32_t blocks, uint32_t inode_blocks)
{
	uint32_t words = (blocks >> 5) + 1;

	if (blocks > UINT32_MAX - 32)
		return -QUIRE_EINVAL;
	fs->used = quire_new(fs->fs.quire, words * sizeof(*fs->used));
	if (!fs->used)
		return -QUIRE_ENOMEM;
	fs->block_count = blocks;
	fs->inode_blocks = inode_blocks;
	fs->first_block = 1 + inode_blocks;
	fs->free_blocks = blocks - fs->first_block;
	for (uint32_t n = 0; n < fs->first_block; n++)
		fs->used[n >> 5] |= (uint32_t)1 << (n & 31);
	for (uint32_t n = blocks; n < words << 5; n++)
		fs->used[n >> 5] |= (uint32_t)1 << (n & 31);
	return 0;
}

/* --- Format ----------------------------------------------------------------------------------- */

static void zero_buffer(struct quire_diskfs *fs)
{
	for (size_t n = 0; n < QUIRE_PAGE_BYTES; n++)
		fs->buffer[n] = 0;
}

/* inode_blocks > 0 */
static int format_inodes(struct quire_diskfs *fs, uint32_t inode_blocks)
{
	int error;

	zero_buffer(fs);
	for (unsigned n = 0; n < DISKFS_INODES_A_BLOCK; n++) {
		uint8_t *at = fs->buffer + n * DISKFS_INODE_BYTES;

		diskfs_put32(at, quire_diskfs_crc(at + 4, DISKFS_INODE_BYTES - 4));
	}
	/* All are the same: stored once, so that caches owe the device nothing for the others. */
	error = quire_diskfs_write_block(fs, 1);
	for (uint32_t n = 1; n < inode_blocks && !error; n++)
		error = quire_diskfs_transfer(fs, 1 + n, fs->page, true);
	return error;
}

/* The superblock goes last: until then a disk without one stays without one. */
int quire_diskfs_format(struct quire_diskfs *fs)
{
	uint64_t blocks = fs->device.blocks < UINT32_MAX - 32 ? fs->device.blocks : UINT32_MAX - 32;
	uint32_t inode_blocks = (uint32_t)(blocks >> 6);
	int error;

	if (blocks < DISKFS_BLOCKS_MIN)
		return -QUIRE_ENOSPC;
	if (inode_blocks > DISKFS_INODE_BLOCKS_MAX)
		inode_blocks = DISKFS_INODE_BLOCKS_MAX;
	if (!inode_blocks)
		inode_blocks = 1;
	error = format_inodes(fs, inode_blocks);
	if (error)
		return error;
	zero_buffer(fs);
	diskfs_put32(fs->buffer + DISKFS_SUPER_VERSION, DISKFS_VERSION);
	for (unsigned n = 0; n < DISKFS_MAGIC_BYTES; n++)
		fs->buffer[DISKFS_SUPER_MAGIC + n] = magic[n];
	diskfs_put64(fs->buffer + DISKFS_SUPER_BLOCKS, blocks);
	diskfs_put32(fs->buffer + DISKFS_SUPER_INODE_BLOCKS, inode_blocks);
	diskfs_put32(fs->buffer, quire_diskfs_crc(fs->buffer + 4, QUIRE_PAGE_BYTES - 4));
	return quire_diskfs_write_block(fs, 0);
}

/* --- Mount ------------------------------------------------------------------------------------ */

static int load_super(struct quire_diskfs *fs)
{
	uint64_t blocks;
	uint32_t inode_blocks;
	int error;

	if (!fs->device.blocks)
		return -QUIRE_EINVAL;
	error = quire_diskfs_read_block(fs, 0);
	if (error)
		return error;
	for (unsigned n = 0; n < DISKFS_MAGIC_BYTES; n++)
		if (fs->buffer[DISKFS_SUPER_MAGIC + n] != magic[n])
			return -QUIRE_EINVAL;
	blocks = diskfs_get64(fs->buffer + DISKFS_SUPER_BLOCKS);
	inode_blocks = diskfs_get32(fs->buffer + DISKFS_SUPER_INODE_BLOCKS);
	if (!sealed(fs->buffer, QUIRE_PAGE_BYTES) ||
	    diskfs_get32(fs->buffer + DISKFS_SUPER_VERSION) != DISKFS_VERSION ||
	    !all_zero(fs->buffer + DISKFS_SUPER_END, QUIRE_PAGE_BYTES - DISKFS_SUPER_END))
		return -QUIRE_EINVAL;
	if (blocks < DISKFS_BLOCKS_MIN || blocks > fs->device.blocks || blocks > UINT32_MAX - 32 ||
	    !inode_blocks || inode_blocks > DISKFS_INODE_BLOCKS_MAX || inode_blocks + 2 > blocks)
		return -QUIRE_EINVAL;
	return set_geometry(fs, (uint32_t)blocks, inode_blocks);
}

/*
 * Takes over one extent: after the last one of the map, within `limit` pages, in blocks that nobody
 * has.
 */
static int load_extent(struct quire_diskfs *fs, struct quire_diskfs_map *map, const uint8_t *at,
		       uint64_t limit)
{
	struct quire_diskfs_extent *extent = &map->extents[map->count];
	uint64_t free_from = 0;
	int error;

	if (map->count)
		free_from = (uint64_t)extent[-1].index + extent[-1].pages;
	extent->index = diskfs_get32(at);
	extent->block = diskfs_get32(at + 4);
	extent->pages = diskfs_get32(at + 8);
	if (!extent->pages || extent->index < free_from ||
	    (uint64_t)extent->index + extent->pages > limit)
		return -QUIRE_EINVAL;
	error = quire_diskfs_claim(fs, extent->block, extent->pages);
	if (error)
		return error;
	map->count++;
	return 0;
}

static int load_extents(struct quire_diskfs *fs, struct quire_diskfs_map *map, const uint8_t *at,
			uint32_t count, uint64_t limit)
{
	for (; count; count--, at += DISKFS_EXTENT_BYTES) {
		int error = load_extent(fs, map, at, limit);

		if (error)
			return error;
	}
	return 0;
}

/* One map block, which holds `count` of the extents; *next is the one after it. */
static int load_map_block(struct quire_diskfs *fs, struct quire_diskfs_file *file, uint32_t block,
			  uint32_t count, uint64_t limit, uint32_t *next)
{
	size_t end = DISKFS_MAP_EXTENT + count * DISKFS_EXTENT_BYTES;
	int error = quire_diskfs_claim(fs, block, 1);

	if (error)
		return error;
	file->map_blocks[file->map_block_count++] = block;
	quire_diskfs_count(fs, 0, 1, 0);
	error = quire_diskfs_read_block(fs, block);
	if (error)
		return error;
	if (!sealed(fs->buffer, QUIRE_PAGE_BYTES) ||
	    diskfs_get32(fs->buffer + DISKFS_MAP_MAGIC_AT) != DISKFS_MAP_MAGIC ||
	    diskfs_get32(fs->buffer + DISKFS_MAP_INODE) != file->inode ||
	    !all_zero(fs->buffer + end, QUIRE_PAGE_BYTES - end))
		return -QUIRE_EINVAL;
	*next = diskfs_get32(fs->buffer + DISKFS_MAP_NEXT);
	return load_extents(fs, &file->map, fs->buffer + DISKFS_MAP_EXTENT, count, limit);
}

static int load_map(struct quire_diskfs *fs, struct quire_diskfs_file *file, const uint8_t *at,
		    uint64_t bytes)
{
	uint64_t limit = (bytes >> QUIRE_PAGE_SHIFT) + ((bytes & QUIRE_PAGE_MASK) != 0);
	uint32_t extents = diskfs_get32(at + DISKFS_INODE_EXTENTS);
	uint32_t next = diskfs_get32(at + DISKFS_INODE_MAP);
	uint32_t count =
		extents < DISKFS_INODE_EXTENTS_MAX ? extents : (uint32_t)DISKFS_INODE_EXTENTS_MAX;
	uint32_t blocks;
	int error;

	if (extents > fs->block_count)
		return -QUIRE_EINVAL;
	error = quire_diskfs_map_reserve(fs->fs.quire, &file->map, extents);
	if (!error)
		error = load_extents(fs, &file->map, at + DISKFS_INODE_EXTENT, count, limit);
	extents -= count;
	blocks = (extents + DISKFS_MAP_EXTENTS_MAX - 1) / DISKFS_MAP_EXTENTS_MAX;
	if (!error && blocks) {
		file->map_blocks = quire_new(fs->fs.quire, blocks * sizeof(*file->map_blocks));
		if (!file->map_blocks)
			return -QUIRE_ENOMEM;
		file->map_block_room = blocks;
	}
	for (; !error && extents; extents -= count) {
		count = extents < DISKFS_MAP_EXTENTS_MAX ? extents : DISKFS_MAP_EXTENTS_MAX;
		error = load_map_block(fs, file, next, count, limit, &next);
	}
	return !error && next ? -QUIRE_EINVAL : error;
}

/* Name zero filled, not empty, without more after its end; and new. */
static bool name_good(struct quire_diskfs *fs, const uint8_t *at, char *name)
{
	size_t length = 0;

	while (length < QUIRE_NAME_BYTES && at[length]) {
		name[length] = (char)at[length];
		length++;
	}
	name[length] = '\0';
	return length && all_zero(at + length, QUIRE_NAME_BYTES - length) &&
	       !quire_fs_find(&fs->fs, name);
}

static void load_attributes(struct quire_diskfs_file *file, const uint8_t *at)
{
	struct quire_file *f = &file->base.file;

	file->written.bytes = f->bytes = diskfs_get64(at + DISKFS_INODE_SIZE);
	file->written.mtime_ns = f->times.mtime_ns = diskfs_get64(at + DISKFS_INODE_MTIME);
	file->written.ctime_ns = f->times.ctime_ns = diskfs_get64(at + DISKFS_INODE_CTIME);
	file->written.atime_ns = f->times.atime_ns = diskfs_get64(at + DISKFS_INODE_ATIME);
}

static int load_inode(struct quire_diskfs *fs, uint32_t inode, const uint8_t *at)
{
	struct quire_diskfs_file *file;
	char name[QUIRE_NAME_BYTES + 1];
	uint32_t kind = diskfs_get32(at + DISKFS_INODE_KIND);
	int error;

	if (!sealed(at, DISKFS_INODE_BYTES) || kind > 1)
		return -QUIRE_EINVAL;
	if (!kind)
		return all_zero(at + 4, DISKFS_INODE_BYTES - 4) ? 0 : -QUIRE_EINVAL;
	if (!name_good(fs, at + DISKFS_INODE_NAME, name) || diskfs_get32(at + DISKFS_INODE_ZERO) ||
	    diskfs_get64(at + DISKFS_INODE_SIZE) > INT64_MAX)
		return -QUIRE_EINVAL;
	error = quire_diskfs_file_new(fs, name, inode, &file);
	if (error)
		return error;
	quire_fs_add(&fs->fs, &file->base);
	fs->inodes_used[inode >> 5] |= (uint32_t)1 << (inode & 31);
	load_attributes(file, at);
	error = load_map(fs, file, at, file->written.bytes);
	quire_diskfs_count(fs, (int32_t)file->map.count, 0, 0);
	return error;
}

/* `table`: room for a block, since the buffer is wanted for map blocks meanwhile. */
static int load_inodes(struct quire_diskfs *fs, uint8_t *table)
{
	for (uint32_t n = 0; n < fs->inode_blocks; n++) {
		int error = quire_diskfs_read_block(fs, 1 + n);

		for (size_t b = 0; !error && b < QUIRE_PAGE_BYTES; b++)
			table[b] = fs->buffer[b];
		for (unsigned i = 0; !error && i < DISKFS_INODES_A_BLOCK; i++)
			error = load_inode(fs, n * DISKFS_INODES_A_BLOCK + i,
					   table + i * DISKFS_INODE_BYTES);
		if (error)
			return error;
	}
	return 0;
}

int quire_diskfs_load(struct quire_diskfs *fs)
{
	uint8_t *table;
	int error = load_super(fs);

	if (error)
		return error;
	table = quire_new(fs->fs.quire, QUIRE_PAGE_BYTES);
	if (!table)
		return -QUIRE_ENOMEM;
	error = load_inodes(fs, table);
	quire_delete(fs->fs.quire, table, QUIRE_PAGE_BYTES);
	return error;
}
