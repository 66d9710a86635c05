/*
 * The disk format of diskfs. Version 1. Integers are little-endian, read and written byte by byte.
 *
 *   block 0                    superblock
 *   blocks 1 .. inode_blocks   the inode table, 16 inodes a block
 *   the rest                   data, and map blocks
 *
 * A block is a page of QUIRE_PAGE_BYTES.
 *
 *   superblock, 4096 bytes           inode, 256 bytes              map block, 4096 bytes
 *     0  u32 CRC-32C of the rest       0  u32 CRC-32C of the rest    0  u32 CRC-32C of the rest
 *     4  u32 version                   4  u32 1: a file, 0: free     4  u32 magic
 *     8  magic, 8 bytes                8  u64 size, bytes            8  u32 its inode
 *    16  u64 blocks of the device     16  u64 mtime, ns             12  u32 next map block, or 0
 *    24  u32 inode_blocks             24  u64 ctime, ns             16  340 extents
 *    28  zeros                        32  u64 atime, ns
 *                                     40  name, zero filled         extent, 12 bytes
 *                                    100  u32 count of extents        0  u32 page of the file
 *                                    104  u32 first map block, or 0   4  u32 block
 *                                    108  u32 zero                    8  u32 pages
 *                                    112  12 extents
 *
 * The extents of a file, in ascending order of its pages and without overlap, fill the inode first
 * and then the chain of map blocks. A page in no extent is a hole. No extent reaches beyond the
 * size.
 *
 * Which blocks are in use is written nowhere: it is what the inodes say. The bitmap is made at
 * mount, in memory, which validates every pointer on the way; so there is no second statement on
 * the disk that a crash or a damage could set against the first.
 */
#ifndef QUIRE_FS_DISKFS_FORMAT_H
#define QUIRE_FS_DISKFS_FORMAT_H

#include <quire/fs.h>

#define DISKFS_VERSION     1
#define DISKFS_MAGIC       "QuireFS\n"
#define DISKFS_MAGIC_BYTES 8
#define DISKFS_MAP_MAGIC   0x70614d51u

#define DISKFS_INODE_BYTES      256
#define DISKFS_INODES_A_BLOCK   16
#define DISKFS_INODE_BLOCKS_MAX 64
#define DISKFS_BLOCKS_MIN       4
#define DISKFS_EXTENT_BYTES     12

/* A file has fewer pages than an index has values. */
#define DISKFS_BYTES_MAX ((uint64_t)UINT32_MAX << QUIRE_PAGE_SHIFT)

enum diskfs_super_at {
	DISKFS_SUPER_CRC = 0,
	DISKFS_SUPER_VERSION = 4,
	DISKFS_SUPER_MAGIC = 8,
	DISKFS_SUPER_BLOCKS = 16,
	DISKFS_SUPER_INODE_BLOCKS = 24,
	DISKFS_SUPER_END = 28,
};

enum diskfs_inode_at {
	DISKFS_INODE_CRC = 0,
	DISKFS_INODE_KIND = 4,
	DISKFS_INODE_SIZE = 8,
	DISKFS_INODE_MTIME = 16,
	DISKFS_INODE_CTIME = 24,
	DISKFS_INODE_ATIME = 32,
	DISKFS_INODE_NAME = 40,
	DISKFS_INODE_EXTENTS = 100,
	DISKFS_INODE_MAP = 104,
	DISKFS_INODE_ZERO = 108,
	DISKFS_INODE_EXTENT = 112,
};

#define DISKFS_INODE_EXTENTS_MAX ((DISKFS_INODE_BYTES - DISKFS_INODE_EXTENT) / DISKFS_EXTENT_BYTES)

enum diskfs_map_at {
	DISKFS_MAP_CRC = 0,
	DISKFS_MAP_MAGIC_AT = 4,
	DISKFS_MAP_INODE = 8,
	DISKFS_MAP_NEXT = 12,
	DISKFS_MAP_EXTENT = 16,
};

#define DISKFS_MAP_EXTENTS_MAX 340u

static inline uint32_t diskfs_get32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void diskfs_put32(uint8_t *at, uint32_t value)
{
	for (unsigned n = 0; n < 4; n++)
		at[n] = (uint8_t)(value >> (8 * n));
}

static inline uint64_t diskfs_get64(const uint8_t *at)
{
	return diskfs_get32(at) | (uint64_t)diskfs_get32(at + 4) << 32;
}

static inline void diskfs_put64(uint8_t *at, uint64_t value)
{
	diskfs_put32(at, (uint32_t)value);
	diskfs_put32(at + 4, (uint32_t)(value >> 32));
}

#endif
