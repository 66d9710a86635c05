/*
 * Which blocks of a disk are in use, and to whom free ones are promised.
 *
 * The bitmap is in memory only (see diskfs_format.h). A write into a hole does not take a block, it
 * is promised one: where the block lies is decided at writeback, when it is known what goes out
 * together, and the inode must not name a block before the data is in it. Promises are counted
 * against the free blocks together with the map blocks that all promised pages could come to need,
 * so that a write that was accepted can be written back and its inode too.
 */
#include "fs/diskfs.h"

#define WORD_BLOCKS 32u

static bool is_used(const struct quire_diskfs *fs, uint32_t block)
{
	return fs->used[block / WORD_BLOCKS] >> (block % WORD_BLOCKS) & 1;
}

static void set_used(struct quire_diskfs *fs, uint32_t block)
{
	fs->used[block / WORD_BLOCKS] |= (uint32_t)1 << (block % WORD_BLOCKS);
	fs->free_blocks--;
}

/*
 * Map blocks to keep free if there are `extents` extents in all. A file with e extents needs at
 * most e / 340 + 1, and none up to 12; while a map is written its old blocks are still in use.
 */
static uint32_t kept_back(const struct quire_diskfs *fs, uint32_t extents)
{
	uint32_t full = extents / DISKFS_MAP_EXTENTS_MAX;
	uint32_t started = extents / (DISKFS_INODE_EXTENTS_MAX + 1);
	uint32_t most;

	if (!started)
		return 0;
	most = 2 * full + 1 + (started < fs->file_count ? started : fs->file_count);
	return most > fs->map_blocks ? most - fs->map_blocks : 0;
}

/* Is a block free that is not spoken for, if it made one extent more? */
static bool can_promise(const struct quire_diskfs *fs)
{
	uint64_t spoken_for =
		(uint64_t)fs->promised + kept_back(fs, fs->extents + fs->promised + 1);

	return fs->free_blocks > spoken_for;
}

int quire_diskfs_promise(struct quire_diskfs *fs)
{
	bool can;

	quire_lock(fs->fs.quire, &fs->blocks);
	can = can_promise(fs);
	if (can)
		fs->promised++;
	quire_unlock(fs->fs.quire, &fs->blocks);
	return can ? 0 : -QUIRE_ENOSPC;
}

void quire_diskfs_promise_end(struct quire_diskfs *fs)
{
	quire_lock(fs->fs.quire, &fs->blocks);
	fs->promised--;
	quire_unlock(fs->fs.quire, &fs->blocks);
}

/*
 * A free block: the first of a whole word of free ones from the rotor on, so that files that grow
 * side by side each get runs; else any. There is one.
 */
static uint32_t search(struct quire_diskfs *fs)
{
	uint32_t words = (fs->block_count + WORD_BLOCKS - 1) / WORD_BLOCKS;
	uint32_t word = fs->rotor / WORD_BLOCKS;
	uint32_t any = 0;

	for (uint32_t n = 0; n < words; n++, word++) {
		if (word >= words)
			word = 0;
		if (!fs->used[word]) {
			fs->rotor = word * WORD_BLOCKS;
			return fs->rotor;
		}
		if (!any && fs->used[word] != UINT32_MAX)
			any = word * WORD_BLOCKS + (uint32_t)__builtin_ctz(~fs->used[word]);
	}
	return any;
}

static uint32_t take(struct quire_diskfs *fs, uint32_t goal)
{
	uint32_t block = goal;

	if (goal < fs->first_block || goal >= fs->block_count || is_used(fs, goal))
		block = search(fs);
	quire_require(fs->fs.quire, block >= fs->first_block && !is_used(fs, block));
	set_used(fs, block);
	return block;
}

int quire_diskfs_take(struct quire_diskfs *fs, uint32_t goal, bool promised, uint32_t *block)
{
	bool can;

	quire_lock(fs->fs.quire, &fs->blocks);
	can = promised || can_promise(fs);
	if (can)
		*block = take(fs, goal);
	quire_unlock(fs->fs.quire, &fs->blocks);
	return can ? 0 : -QUIRE_ENOSPC;
}

int quire_diskfs_take_map(struct quire_diskfs *fs, uint32_t *block)
{
	bool can;

	quire_lock(fs->fs.quire, &fs->blocks);
	can = fs->free_blocks > fs->promised;
	if (can) {
		*block = take(fs, 0);
		fs->map_blocks++;
	}
	quire_unlock(fs->fs.quire, &fs->blocks);
	return can ? 0 : -QUIRE_ENOSPC;
}

void quire_diskfs_give(struct quire_diskfs *fs, uint32_t block, uint32_t count)
{
	quire_lock(fs->fs.quire, &fs->blocks);
	for (uint32_t n = block; n < block + count; n++) {
		quire_require(fs->fs.quire, n >= fs->first_block && is_used(fs, n));
		fs->used[n / WORD_BLOCKS] &= ~((uint32_t)1 << (n % WORD_BLOCKS));
	}
	fs->free_blocks += count;
	quire_unlock(fs->fs.quire, &fs->blocks);
}

int quire_diskfs_claim(struct quire_diskfs *fs, uint32_t block, uint32_t count)
{
	if (block < fs->first_block || block >= fs->block_count || count > fs->block_count - block)
		return -QUIRE_EINVAL;
	for (uint32_t n = block; n < block + count; n++) {
		if (is_used(fs, n))
			return -QUIRE_EINVAL;
		set_used(fs, n);
	}
	return 0;
}

void quire_diskfs_count(struct quire_diskfs *fs, int32_t extents, int32_t map_blocks, int32_t files)
{
	quire_lock(fs->fs.quire, &fs->blocks);
	fs->extents += (uint32_t)extents;
	fs->map_blocks += (uint32_t)map_blocks;
	fs->file_count += (uint32_t)files;
	quire_unlock(fs->fs.quire, &fs->blocks);
}
