/*
 * Caches: making and emptying. What an access does lies inline in cache.h and levels.h.
 */
#include "sim/internal.h"

static void *cache_array(const struct sim_allocator *allocator, size_t count, size_t bytes_each)
{
	size_t bytes = (count * bytes_each + 63) & ~(size_t)63;

	return allocator->alloc(allocator->context, bytes, 64);
}

static uint8_t *cache_data(const struct sim_allocator *allocator, const struct cache *cache)
{
	size_t bytes = (size_t)cache->lines << cache->line_shift;

	return allocator->alloc(allocator->context, bytes, QUIRE_PAGE_BYTES);
}

static void cache_shape(struct cache *cache, const struct sim_cache *description,
			uint64_t colour_bytes)
{
	cache->present = true;
	cache->write_back = description->write_back;
	cache->write_allocate = description->write_allocate;
	cache->fill_whole = description->fill_whole;
	cache->index = description->index;
	cache->virtual_tag = description->index == SIM_VIVT;
	cache->replace = description->replace;
	cache->ways = description->ways;
	cache->stride = (description->ways + 3) & ~3u;
	cache->age_stride = (description->ways + 15) & ~15u;
	cache->line_bytes = description->line_bytes;
	cache->line_shift = (uint32_t)__builtin_ctz(description->line_bytes);
	cache->sets = (uint32_t)(description->bytes / description->ways / description->line_bytes);
	cache->set_mask = cache->sets & (cache->sets - 1) ? 0 : cache->sets - 1;
	cache->lines = cache->sets * cache->ways;
	cache->random = 0x9e3779b9u;
	if (description->index == SIM_PIPT)
		cache->colour_mask = 0;
	else if (description->index == SIM_VIPT && colour_bytes)
		cache->colour_mask = colour_bytes - 1;
	else
		cache->colour_mask = ~0ull;
}

static void cache_empty_set(struct cache *cache, uint32_t set)
{
	for (unsigned way = 0; way < cache->stride; way++)
		*cache_tag(cache, set, way) = way < cache->ways ? CACHE_ABSENT : CACHE_PADDING;
}

int cache_create(struct cache *cache, const struct sim_cache *description, uint64_t colour_bytes,
		 const struct sim_allocator *allocator)
{
	memset(cache, 0, sizeof(*cache));
	if (description->bytes == 0)
		return 0;
	cache_shape(cache, description, colour_bytes);
	cache->tags = cache_array(allocator, (size_t)cache->sets * cache->stride, sizeof(uint32_t));
	cache->data = cache_data(allocator, cache);
	cache->next = cache_array(allocator, cache->sets, 1);
	cache->ages = cache_array(allocator, (size_t)cache->sets * cache->age_stride, 1);
	if (cache->virtual_tag)
		cache->physical = cache_array(allocator, (size_t)cache->sets * cache->stride,
					      sizeof(uint32_t));
	if (!cache->tags || !cache->data || !cache->next || !cache->ages ||
	    (cache->virtual_tag && !cache->physical)) {
		cache_destroy(cache, allocator);
		return -QUIRE_ENOMEM;
	}
	for (uint32_t set = 0; set < cache->sets; set++) {
		cache_empty_set(cache, set);
		for (unsigned way = 0; way < cache->age_stride; way++)
			cache->ages[(size_t)set * cache->age_stride + way] =
				(uint8_t)(way < cache->ways ? way : UINT8_MAX);
	}
	return 0;
}

void cache_destroy(struct cache *cache, const struct sim_allocator *allocator)
{
	allocator->free(allocator->context, cache->tags);
	allocator->free(allocator->context, cache->physical);
	allocator->free(allocator->context, cache->next);
	allocator->free(allocator->context, cache->ages);
	allocator->free(allocator->context, cache->data);
	memset(cache, 0, sizeof(*cache));
}

quire_pa_t cache_line_pa(const struct cache *cache, uint32_t set, unsigned way)
{
	uint32_t number = *cache_tag(cache, set, way) & CACHE_NUMBER;

	if (cache->virtual_tag)
		number = cache->physical[(size_t)set * cache->stride + way];
	return (quire_pa_t)number << cache->line_shift;
}

void cache_drop(struct cache *cache, uint32_t set, unsigned way)
{
	uint32_t *tag = cache_tag(cache, set, way);

	if (*tag != CACHE_ABSENT)
		cache->valid--;
	*tag = CACHE_ABSENT;
}

bool cache_drop_all(struct cache *cache)
{
	bool held = cache->valid != 0;

	if (held)
		for (uint32_t set = 0; set < cache->sets; set++)
			cache_empty_set(cache, set);
	cache->valid = 0;
	return held;
}
