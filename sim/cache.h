/*
 * One cache that holds data: tags, lines, replacement state.
 *
 * A line is found by set and tag. The tag is the physical line number (address / line size) in
 * physically tagged caches (PIPT, VIPT) and the virtual one in VIVT, where `physical` remembers
 * where a dirty line goes. Nothing ever looks in a set other than the one that the access indexes:
 * that is how an alias goes stale here as on hardware.
 *
 * Tags lie apart from the data, padded per set to a multiple of four, so that one set is compared
 * by a few vector instructions. A tag word is the line number with the dirty flag in its top bit.
 */
#ifndef SIM_CACHE_H
#define SIM_CACHE_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <quire/types.h>

#include "sim/machine.h"

#define CACHE_DIRTY 0x80000000u
#define CACHE_NUMBER 0x7fffffffu /* the bits of a tag word that are the line number */
#define CACHE_ABSENT 0x7fffffffu /* tag word of a way that holds nothing */
#define CACHE_PADDING 0x7ffffffeu /* tag word beyond the last way: matches nothing */
#define CACHE_WAYS_MAX 64u
#define CACHE_LINE_MAX 256u      /* bytes */

struct cache {
	bool present;          /* the machine has it */
	bool write_back, write_allocate, fill_whole;
	bool virtual_tag;      /* VIVT */
	enum sim_index index;
	enum sim_replace replace;
	uint32_t sets, ways;
	/* sets - 1 where sets is a power of two; else 0 and modulo is used */
	uint32_t set_mask;
	uint32_t stride;       /* tag words a set: ways rounded up to a multiple of 4 */
	uint32_t line_bytes, line_shift;
	uint64_t colour_mask;  /* address bits that index by va; the others index by pa */
	uint32_t lines;        /* sets * ways */
	uint32_t valid;        /* lines present */
	uint32_t random;       /* state of the xorshift generator of random replacement */
	uint32_t *tags;        /* [sets * stride] */
	uint32_t *physical;    /* VIVT: physical line numbers, as tags; else NULL */
	uint8_t *next;         /* round robin: [sets] the way to replace next */
	uint8_t *ages;         /* LRU: [sets * age_stride] 0: used last */
	uint32_t age_stride;   /* ways rounded up to a multiple of 16 */
	uint8_t *data;         /* [sets * ways * line_bytes] */
};

/* Bulk accesses pass copies of a struct cache that must stay in registers. */
#define CACHE_INLINE static inline __attribute__((always_inline))

/* A line: its set and way; way < 0: absent. */
struct cache_place {
	uint32_t set;
	int way;
};

struct sim_allocator;

/* 0 or -QUIRE_ENOMEM. The description was checked. */
int cache_create(struct cache *cache, const struct sim_cache *description, uint64_t colour_bytes,
		 const struct sim_allocator *allocator);
void cache_destroy(struct cache *cache, const struct sim_allocator *allocator);

/*
 * The address whose bits index the cache. Within one page it grows with va and pa, so line n of a
 * page is n sets on.
 */
CACHE_INLINE uint64_t cache_index_address(const struct cache *cache, uintptr_t va, quire_pa_t pa)
{
	return (va & cache->colour_mask) | (pa & ~cache->colour_mask);
}

CACHE_INLINE uint32_t cache_set_of(const struct cache *cache, uint64_t index_line)
{
	if (cache->set_mask)
		return (uint32_t)index_line & cache->set_mask;
	return (uint32_t)(index_line % cache->sets);
}

/* The set that an access with this va and pa indexes. */
static inline uint32_t cache_set(const struct cache *cache, uintptr_t va, quire_pa_t pa)
{
	return cache_set_of(cache, cache_index_address(cache, va, pa) >> cache->line_shift);
}

/* The tag that it must find there. */
CACHE_INLINE uint32_t cache_number(const struct cache *cache, uintptr_t va, quire_pa_t pa)
{
	return (uint32_t)((cache->virtual_tag ? va : pa) >> cache->line_shift);
}

CACHE_INLINE uint32_t *cache_tag(const struct cache *cache, uint32_t set, unsigned way)
{
	return &cache->tags[(size_t)set * cache->stride + way];
}

CACHE_INLINE uint8_t *cache_line(const struct cache *cache, uint32_t set, unsigned way)
{
	return &cache->data[((size_t)set * cache->ways + way) << cache->line_shift];
}

#ifdef __SSE2__
/* All ones in each of four tags that are `wanted`. */
CACHE_INLINE __m128i cache_same(const uint32_t *tags, __m128i wanted)
{
	__m128i numbers = _mm_and_si128(_mm_load_si128((const __m128i *)tags),
					_mm_set1_epi32((int)CACHE_NUMBER));

	return _mm_cmpeq_epi32(numbers, wanted);
}

CACHE_INLINE uint64_t cache_same_ways(const uint32_t *tags, uint32_t stride, uint32_t number)
{
	__m128i wanted = _mm_set1_epi32((int)number);
	uint64_t ways = 0;

	if (stride == 16) {
		__m128i low =
			_mm_packs_epi32(cache_same(tags, wanted), cache_same(tags + 4, wanted));
		__m128i high = _mm_packs_epi32(cache_same(tags + 8, wanted),
					       cache_same(tags + 12, wanted));

		return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));
	}
	for (unsigned way = 0; way < stride; way += 4)
		ways |= (uint64_t)(unsigned)_mm_movemask_ps(
				_mm_castsi128_ps(cache_same(tags + way, wanted)))
			<< way;
	return ways;
}
#else
CACHE_INLINE uint64_t cache_same_ways(const uint32_t *tags, uint32_t stride, uint32_t number)
{
	uint64_t ways = 0;

	for (unsigned way = 0; way < stride; way++)
		ways |= (uint64_t)((tags[way] & CACHE_NUMBER) == number) << way;
	return ways;
}
#endif

/* The way of `set` that holds line `number`; -1: none. */
CACHE_INLINE int cache_match(const struct cache *cache, uint32_t set, uint32_t number)
{
	const uint32_t *tags = &cache->tags[(size_t)set * cache->stride];
	uint64_t ways = cache->stride == 4 ? cache_same_ways(tags, 4, number)
					   : cache_same_ways(tags, cache->stride, number);

	return ways ? __builtin_ctzll(ways) : -1;
}

/* Looks only in the set that the access indexes; does not touch replacement state. */
static inline struct cache_place cache_find(const struct cache *cache, uintptr_t va, quire_pa_t pa)
{
	struct cache_place place = { .set = cache_set(cache, va, pa), .way = -1 };

	if (pa >> cache->line_shift < CACHE_PADDING)
		place.way = cache_match(cache, place.set, cache_number(cache, va, pa));
	return place;
}

/*
 * LRU. Ages of a set are a permutation of 0 to ways - 1, padded with 255: those younger than `way`
 * grow one older, `way` becomes 0.
 */
CACHE_INLINE void cache_age(const struct cache *cache, uint32_t set, unsigned way)
{
	typedef uint8_t sixteen __attribute__((vector_size(16)));
	uint8_t *ages = &cache->ages[(size_t)set * cache->age_stride];
	uint8_t age = ages[way];

	if (age == 0)
		return;
	for (unsigned i = 0; i < cache->age_stride; i += 16) {
		sixteen *part = (sixteen *)(void *)(ages + i);

		*part -= (sixteen)(*part < age); /* true is -1 */
	}
	ages[way] = 0;
}

CACHE_INLINE unsigned cache_oldest(const struct cache *cache, uint32_t set)
{
	const uint8_t *ages = &cache->ages[(size_t)set * cache->age_stride];
	unsigned way = 0;

#ifdef __SSE2__
	__m128i oldest = _mm_set1_epi8((char)(cache->ways - 1));
	unsigned found;

	while (!(found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(
			 _mm_load_si128((const __m128i *)(const void *)(ages + way)), oldest))))
		way += 16;
	return way + (unsigned)__builtin_ctz(found);
#else
	while (ages[way] != cache->ways - 1)
		way++;
	return way;
#endif
}

/* Xorshift (G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8, 2003). */
CACHE_INLINE unsigned cache_random_way(struct cache *cache)
{
	uint32_t random = cache->random;

	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	cache->random = random;
	return (unsigned)(((uint64_t)random * cache->ways) >> 32);
}

/* Replacement state after an access. */
CACHE_INLINE void cache_touch(struct cache *cache, uint32_t set, unsigned way)
{
	if (cache->replace == SIM_LRU)
		cache_age(cache, set, way);
}

/* The way that a new line of `set` takes: an empty one, else the one whose turn it is. */
CACHE_INLINE unsigned cache_victim(struct cache *cache, uint32_t set)
{
	if (cache->valid != cache->lines) {
		int empty = cache_match(cache, set, CACHE_ABSENT);

		if (empty >= 0)
			return (unsigned)empty;
	}
	if (cache->replace == SIM_ROUND_ROBIN) {
		unsigned way = cache->next[set];

		cache->next[set] = (uint8_t)(way + 1 == cache->ways ? 0 : way + 1);
		return way;
	}
	return cache->replace == SIM_LRU ? cache_oldest(cache, set) : cache_random_way(cache);
}

/* Physical address of the line that a way holds (not CACHE_ABSENT). */
quire_pa_t cache_line_pa(const struct cache *cache, uint32_t set, unsigned way);
/* Empties a way, whatever it holds. */
void cache_drop(struct cache *cache, uint32_t set, unsigned way);
/* Empties the whole cache; returns whether it held anything. */
bool cache_drop_all(struct cache *cache);

#endif
