/*
 * Where the pages of a file lie: a sorted array of extents, searched by halves.
 *
 * Runs are joined as they grow, so a file that was written in order to an empty disk has one
 * extent, and the array stays short; inserting in its middle moves the rest.
 */
#include "fs/diskfs.h"

/* More would be a record of several GB, whose size 32 bits do not hold after doubling. */
#define EXTENTS_MAX ((uint32_t)1 << 27)

static uint64_t extent_end(const struct quire_diskfs_extent *extent)
{
	return (uint64_t)extent->index + extent->pages;
}

/* How many extents start at or before page `index`. */
static uint32_t extents_before(const struct quire_diskfs_map *map, uint32_t index)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + ((high - low) >> 1);

		if (map->extents[middle].index <= index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * One field after the other: a struct assignment may become a call of memcpy, which a kernel need
 * not have.
 */
static void extent_move(struct quire_diskfs_extent *to, const struct quire_diskfs_extent *from)
{
	to->index = from->index;
	to->block = from->block;
	to->pages = from->pages;
}

static void extent_insert(struct quire_diskfs_map *map, uint32_t at, uint32_t index, uint32_t block,
			  uint32_t pages)
{
	for (uint32_t n = map->count; n > at; n--)
		extent_move(&map->extents[n], &map->extents[n - 1]);
	map->extents[at].index = index;
	map->extents[at].block = block;
	map->extents[at].pages = pages;
	map->count++;
}

static void extents_remove(struct quire_diskfs_map *map, uint32_t at, uint32_t count)
{
	for (uint32_t n = at; n + count < map->count; n++)
		extent_move(&map->extents[n], &map->extents[n + count]);
	map->count -= count;
}

bool quire_diskfs_map_find(const struct quire_diskfs_map *map, uint32_t index, uint32_t *block)
{
	uint32_t n = extents_before(map, index);

	if (!n || extent_end(&map->extents[n - 1]) <= index)
		return false;
	*block = map->extents[n - 1].block + (index - map->extents[n - 1].index);
	return true;
}

/*
 * Beyond the run by as much as the page is beyond it: so pages that are written back out of order
 * leave the right room to those between.
 */
uint32_t quire_diskfs_map_goal(const struct quire_diskfs_map *map, uint32_t index)
{
	uint32_t n = extents_before(map, index);
	uint64_t goal;

	if (!n)
		return 0;
	goal = (uint64_t)map->extents[n - 1].block + (index - map->extents[n - 1].index);
	return goal > UINT32_MAX ? 0 : (uint32_t)goal;
}

int quire_diskfs_map_reserve(struct quire *q, struct quire_diskfs_map *map, uint32_t count)
{
	struct quire_diskfs_extent *extents;
	uint32_t capacity = map->capacity ? map->capacity : DISKFS_INODE_EXTENTS_MAX;

	if (count <= map->capacity)
		return 0;
	if (count > EXTENTS_MAX)
		return -QUIRE_ENOMEM;
	while (capacity < count)
		capacity *= 2;
	extents = quire_new(q, capacity * sizeof(*extents));
	if (!extents)
		return -QUIRE_ENOMEM;
	for (uint32_t n = 0; n < map->count; n++)
		extent_move(&extents[n], &map->extents[n]);
	if (map->extents)
		quire_delete(q, map->extents, map->capacity * sizeof(*extents));
	map->extents = extents;
	map->capacity = capacity;
	return 0;
}

void quire_diskfs_map_add(struct quire_diskfs_map *map, uint32_t index, uint32_t block)
{
	uint32_t n = extents_before(map, index);
	struct quire_diskfs_extent *before = n ? &map->extents[n - 1] : NULL;
	struct quire_diskfs_extent *after = n < map->count ? &map->extents[n] : NULL;
	bool joins_before =
		before && extent_end(before) == index && before->block + before->pages == block;
	bool joins_after = after && after->index == index + 1 && after->block == block + 1;

	if (joins_before && joins_after) {
		before->pages += 1 + after->pages;
		extents_remove(map, n, 1);
	} else if (joins_before) {
		before->pages++;
	} else if (joins_after) {
		after->index--;
		after->block--;
		after->pages++;
	} else {
		extent_insert(map, n, index, block, 1);
	}
}

/* Extent `n` reaches beyond `index`: becomes two, the second of which starts at `index`. */
static void split(struct quire_diskfs_map *map, uint32_t n, uint32_t index)
{
	struct quire_diskfs_extent *extent = &map->extents[n];
	uint32_t head = index - extent->index;
	uint32_t block = extent->block + head;
	uint32_t tail = extent->pages - head;

	extent->pages = head;
	extent_insert(map, n + 1, index, block, tail);
}

/* Drops what an extent has in front of `index`. */
static void behead(struct quire_diskfs_extent *extent, uint32_t index)
{
	uint32_t head = index - extent->index;

	extent->index = index;
	extent->block += head;
	extent->pages -= head;
}

void quire_diskfs_map_cut(struct quire_diskfs *fs, struct quire_diskfs_map *map, uint64_t first,
			  uint64_t end, bool give)
{
	uint32_t n = 0;

	while (n < map->count) {
		struct quire_diskfs_extent *extent = &map->extents[n];
		uint64_t from = extent->index > first ? extent->index : first;
		uint64_t to = extent_end(extent) < end ? extent_end(extent) : end;

		if (from >= to) {
			n++;
			continue;
		}
		if (give)
			quire_diskfs_give(fs, extent->block + (uint32_t)(from - extent->index),
					  (uint32_t)(to - from));
		if (from == extent->index && to == extent_end(extent)) {
			extents_remove(map, n, 1);
			continue;
		}
		if (from == extent->index) {
			behead(extent, (uint32_t)to);
		} else {
			if (to < extent_end(extent))
				split(map, n, (uint32_t)to);
			map->extents[n].pages = (uint32_t)(from - map->extents[n].index);
		}
		n++;
	}
}

void quire_diskfs_map_free(struct quire *q, struct quire_diskfs_map *map)
{
	if (map->extents)
		quire_delete(q, map->extents, map->capacity * sizeof(*map->extents));
	map->extents = NULL;
	map->count = map->capacity = 0;
}
