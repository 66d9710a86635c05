/*
 * What lies below a first-level cache: L2, or memory, or both. Lines move here; prices are summed
 * in a struct work that the caller keeps and pays once at the end: each event has its own sum,
 * because additions to one would wait for each other, line after line.
 *
 * All functions take the line size as `shift` beside the caches that know it too: a caller that
 * passes a constant gets copies of fixed size. L2 is not inclusive: dropping one of its lines says
 * nothing to L1.
 */
#ifndef SIM_LEVELS_H
#define SIM_LEVELS_H

#include "sim/internal.h"

#define SIM_INLINE CACHE_INLINE

struct work {
	struct cache *l1, *l2; /* the current CPU's L1 D; l2->present false: no L2 */
	uint8_t *memory;
	const struct sim_touched *touched;
	uint64_t ticks; /* of what is not listed below */
	uint64_t l2_reads, l2_writes, memory_reads, memory_writes;
	uint64_t lines, l1_misses, l2_misses, writebacks;
};

static inline struct work work_begin(struct sim *sim)
{
	return (struct work){.l1 = &sim->cpu->l1d,
			     .l2 = &sim->l2,
			     .memory = sim->memory.bytes,
			     .touched = sim->allocator.touched};
}

static inline uint64_t work_ticks(const struct sim *sim, const struct work *work)
{
	const struct sim_costs *cost = &sim->machine.cost;

	return work->ticks + work->l2_reads * cost->l2_read + work->l2_writes * cost->l2_write +
	       work->memory_reads * cost->memory_read + work->memory_writes * cost->memory_write;
}

static inline void work_count(struct sim *sim, const struct work *work)
{
	sim->counts.lines += work->lines;
	sim->counts.l1_misses += work->l1_misses;
	sim->counts.l2_misses += work->l2_misses;
	sim->counts.writebacks += work->writebacks;
}

static inline void work_pay(struct sim *sim, const struct work *work)
{
	sim->cpu->ticks += work_ticks(sim, work);
	work_count(sim, work);
}

/*
 * By vectors: for 64 bytes some compilers would call a string instruction, which takes longer to
 * start.
 */
SIM_INLINE void line_move(void *restrict to, const void *restrict from, unsigned shift)
{
	typedef uint8_t sixteen __attribute__((vector_size(16), aligned(1), may_alias));
	sixteen *target = to;
	const sixteen *source = from;

	if (shift == 5 || shift == 6) {
		target[0] = source[0];
		target[1] = source[1];
	} else {
		memcpy(to, from, (size_t)1 << shift);
	}
	if (shift == 6) {
		target[2] = source[2];
		target[3] = source[3];
	}
}

/* A whole line moves to where the bulk keeps lines: a cache or memory. */
SIM_INLINE void line_put(struct work *work, uint8_t *to, const uint8_t *from, unsigned shift)
{
	line_move(to, from, shift);
	sim_touch(work->touched, to, (size_t)1 << shift);
}

/* Makes room in L2: the way's number, its dirty line written to memory. */
SIM_INLINE unsigned l2_evict(struct work *work, uint32_t set, unsigned shift)
{
	struct cache *l2 = work->l2;
	unsigned way = cache_victim(l2, set);
	uint32_t tag = *cache_tag(l2, set, way);

	if (tag == CACHE_ABSENT) {
		l2->valid++;
	} else if (tag & CACHE_DIRTY) {
		line_put(work, work->memory + ((size_t)(tag & CACHE_NUMBER) << shift),
			 cache_line(l2, set, way), shift);
		work->memory_writes++;
	}
	return way;
}

/* Reads line `number` from below L1 into `to`, of which the caller tells; L2 takes it. */
SIM_INLINE void below_read(struct work *work, uint32_t number, uint8_t *to, unsigned shift)
{
	const uint8_t *from = work->memory + ((size_t)number << shift);
	struct cache *l2 = work->l2;
	uint32_t set;
	int way;

	if (!l2->present) {
		__builtin_prefetch(from + 512);
		line_move(to, from, shift);
		work->memory_reads++;
		return;
	}
	set = cache_set_of(l2, number);
	way = cache_match(l2, set, number);
	if (way >= 0) {
		line_move(to, cache_line(l2, set, (unsigned)way), shift);
		work->l2_reads++;
	} else {
		__builtin_prefetch(from + 512);
		way = (int)l2_evict(work, set, shift);
		*cache_tag(l2, set, (unsigned)way) = number;
		line_put(work, cache_line(l2, set, (unsigned)way), from, shift);
		line_move(to, from, shift);
		work->memory_reads++;
		work->l2_misses++;
	}
	cache_touch(l2, set, (unsigned)way);
}

/*
 * A whole line from L1 to the level below: a dirty victim, a clean, or a store that passes through.
 * L2 takes it without reading the old one.
 */
SIM_INLINE void below_write(struct work *work, uint32_t number, const uint8_t *from, unsigned shift)
{
	struct cache *l2 = work->l2;
	bool to_memory = !l2->present;

	if (l2->present) {
		uint32_t set = cache_set_of(l2, number);
		int way = cache_match(l2, set, number);

		if (way < 0 && l2->write_allocate)
			way = (int)l2_evict(work, set, shift);
		if (way >= 0) {
			*cache_tag(l2, set, (unsigned)way) =
				number | (l2->write_back ? CACHE_DIRTY : 0);
			line_put(work, cache_line(l2, set, (unsigned)way), from, shift);
			cache_touch(l2, set, (unsigned)way);
			work->l2_writes++;
		}
		to_memory = way < 0 || !l2->write_back;
	}
	if (to_memory) {
		line_put(work, work->memory + ((size_t)number << shift), from, shift);
		work->memory_writes++;
	}
}

/* A part of a line stored past L1 (write through, or a miss that does not allocate). */
void sim_below_store(struct work *work, quire_pa_t pa, const void *from, unsigned bytes);
/*
 * Dirty lines of other CPUs' L1 D in that set go to the level below, free of charge; `drop`: all
 * go.
 */
bool sim_snoop(struct sim *sim, unsigned except, uintptr_t va, quire_pa_t pa, bool drop);
/* L1 D's dirty way goes below and is clean then; its line stays. */
void sim_clean_way(struct work *work, struct cache *cache, uint32_t set, unsigned way);

#endif
