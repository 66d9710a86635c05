/*
 * The inside of diskfs: its records, and what its files give each other. See diskfs.c for the idea.
 */
#ifndef QUIRE_FS_DISKFS_H
#define QUIRE_FS_DISKFS_H

#include "fs/diskfs_format.h"
#include "fs/fs.h"

/* A run of pages of a file in a run of blocks. */
struct quire_diskfs_extent {
	uint32_t index; /* page of the file */
	uint32_t block;
	uint32_t pages;
};

/* The map of a file: extents in ascending order, as in memory. */
struct quire_diskfs_map {
	struct quire_diskfs_extent *extents;
	uint32_t count, capacity;
};

/* Attributes as the inode on the disk has them. */
struct quire_diskfs_attributes {
	uint64_t bytes, mtime_ns, ctime_ns, atime_ns;
};

struct quire_diskfs_file {
	struct quire_fs_file base;
	uint32_t inode;
	bool unlinked;    /* its inode is free on the disk, its blocks go with the last reference */
	bool map_changed; /* since the inode was written */
	struct quire_diskfs_map map;
	uint32_t *map_blocks; /* those that the inode on the disk names, in order */
	uint32_t map_block_count;
	uint32_t map_block_room; /* of map_blocks */
	struct quire_diskfs_attributes written;
};

/*
 * LOCKS. `meta` guards the maps of all files, the inode table and the metadata page, and is held
 * over the I/O of metadata; `blocks` is a spin lock under it and guards bitmap and counts. Both
 * come after the page lock in the order of mm/mm.h.
 */
struct quire_diskfs {
	struct quire_fs fs;
	struct quire_block_device device;
	struct quire_lock meta;
	struct quire_lock blocks;
	uint32_t block_count; /* of the file system */
	uint32_t first_block; /* after the inode table */
	uint32_t inode_blocks;
	uint32_t *used; /* bitmap of blocks */
	uint32_t free_blocks;
	uint32_t promised;   /* of them, to pages that are in the cache only */
	uint32_t rotor;      /* where the last search for a run of free blocks ended */
	uint32_t extents;    /* of all files */
	uint32_t map_blocks; /* in use */
	uint32_t file_count;
	uint32_t inodes_used[DISKFS_INODE_BLOCKS_MAX * DISKFS_INODES_A_BLOCK / 32];
	struct quire_page *page; /* through which metadata moves */
	uint8_t *buffer;         /* one block, decoded or to be encoded */
};

static inline struct quire_diskfs *quire_diskfs_of(struct quire_fs *fs)
{
	return quire_container(fs, struct quire_diskfs, fs);
}

static inline struct quire_diskfs_file *quire_diskfs_file_of(struct quire_fs_file *file)
{
	return quire_container(file, struct quire_diskfs_file, base);
}

/* --- Blocks (diskfs_blocks.c). They take `blocks`. -------------------------------------------- */

/* Promises a block to a page, so that its writeback will find one. QUIRE_ENOSPC. */
int quire_diskfs_promise(struct quire_diskfs *fs);
/* The page was written, or is gone. */
void quire_diskfs_promise_end(struct quire_diskfs *fs);
/*
 * Takes a free block for data, `goal` if it is free. QUIRE_ENOSPC: never when one is promised to
 * the page, else when all that are free are promised.
 */
int quire_diskfs_take(struct quire_diskfs *fs, uint32_t goal, bool promised, uint32_t *block);
/* Takes one for a map block, out of what promises keep back for those. QUIRE_ENOSPC. */
int quire_diskfs_take_map(struct quire_diskfs *fs, uint32_t *block);
void quire_diskfs_give(struct quire_diskfs *fs, uint32_t block, uint32_t count);
/* At mount: marks blocks that an inode names. QUIRE_EINVAL: not blocks of data, or named before. */
int quire_diskfs_claim(struct quire_diskfs *fs, uint32_t block, uint32_t count);
/* Adds to the counts of what may need map blocks, so that promises keep some back. */
void quire_diskfs_count(struct quire_diskfs *fs, int32_t extents, int32_t map_blocks,
			int32_t files);

/* --- Maps (diskfs_map.c). The caller holds `meta`. -------------------------------------------- */

/* The block of page `index`; false: a hole. */
bool quire_diskfs_map_find(const struct quire_diskfs_map *map, uint32_t index, uint32_t *block);
/* The block in which page `index` would continue the run before it; 0: nowhere in particular. */
uint32_t quire_diskfs_map_goal(const struct quire_diskfs_map *map, uint32_t index);
/* Room for `count` extents. QUIRE_ENOMEM. */
int quire_diskfs_map_reserve(struct quire *q, struct quire_diskfs_map *map, uint32_t count);
/* Page `index`, a hole, gets `block`. There is room for one extent more. */
void quire_diskfs_map_add(struct quire_diskfs_map *map, uint32_t index, uint32_t block);
/*
 * Makes a hole of pages first <= index < end, and gives the blocks back if `give`. There is room
 * for one extent more, or `end` lies beyond all.
 */
void quire_diskfs_map_cut(struct quire_diskfs *fs, struct quire_diskfs_map *map, uint64_t first,
			  uint64_t end, bool give);
void quire_diskfs_map_free(struct quire *q, struct quire_diskfs_map *map);

/* --- Inodes and metadata I/O (diskfs_inode.c). The caller holds `meta`. ----------------------- */

uint32_t quire_diskfs_crc(const uint8_t *bytes, size_t count);
/* Moves a page of data by DMA, with the maintenance that takes; takes no lock. QUIRE_EIO. */
int quire_diskfs_transfer(struct quire_diskfs *fs, uint32_t block, struct quire_page *page,
			  bool write);
/* The same between a block and fs->buffer. */
int quire_diskfs_read_block(struct quire_diskfs *fs, uint32_t block);
int quire_diskfs_write_block(struct quire_diskfs *fs, uint32_t block);
/*
 * Writes the file's map, without pages first <= index < end, and its attributes. QUIRE_EIO,
 * QUIRE_ENOSPC, QUIRE_ENOMEM: the disk has what it had (after QUIRE_EIO of the inode itself: one or
 * the other).
 */
int quire_diskfs_write_inode(struct quire_diskfs *fs, struct quire_diskfs_file *file,
			     uint64_t first, uint64_t end);
/* Makes an inode free on the disk. QUIRE_EIO. */
int quire_diskfs_erase_inode(struct quire_diskfs *fs, uint32_t inode);
/* Size and times of a file, consistent with each other. */
void quire_diskfs_attributes(struct quire_diskfs_file *file,
			     struct quire_diskfs_attributes *attributes);

/* --- Format and mount (diskfs_mount.c). Nobody else knows the file system yet. ---------------- */

/* Writes an empty file system. QUIRE_EIO. */
int quire_diskfs_format(struct quire_diskfs *fs);
/*
 * Reads and validates everything; makes the files. QUIRE_EINVAL, QUIRE_EIO, QUIRE_ENOMEM: what was
 * made is in the table.
 */
int quire_diskfs_load(struct quire_diskfs *fs);

/* --- Files (diskfs.c) ------------------------------------------------------------------------- */

/* A record for inode `inode`, not in the table. QUIRE_ENOMEM. */
int quire_diskfs_file_new(struct quire_diskfs *fs, const char *name, uint32_t inode,
			  struct quire_diskfs_file **file);

#endif
