/*
 * What one CPU has of its own: counters, and free pages that it takes without meeting other CPUs.
 *
 * Each CPU's part begins at a multiple of QUIRE_SHARING_BYTES, so that two CPUs never write to one
 * cache line.
 */
#ifndef QUIRE_MM_PERCPU_H
#define QUIRE_MM_PERCPU_H

#include "mm/mm.h"

/* No cache line of a machine that Quire knows is longer; a power of two. */
#define QUIRE_SHARING_BYTES 128

/* A counter of 64 bits made of two atomic words, since 32-bit machines have no larger atomic. */
struct quire_count {
	struct quire_atomic low, high;
};

static inline void quire_count_add(struct quire_count *count, uint32_t by)
{
	if (quire_atomic_add(&count->low, by) < by)
		quire_atomic_add(&count->high, 1);
}

/* May be 2^32 short for the moment between the two steps of an add. */
static inline uint64_t quire_count_read(const struct quire_count *count)
{
	uint32_t high, low;

	do {
		high = quire_atomic_read(&count->high);
		low = quire_atomic_read(&count->low);
	} while (high != quire_atomic_read(&count->high));
	return (uint64_t)high << 32 | low;
}

struct quire_percpu {
	struct quire_atomic reading;    /* read sections: depth and generation (mm/lock.c) */
	struct quire_atomic faults_off; /* depth of quire_faults_off */
	struct quire_count entries;     /* leaf entries written */
	struct quire_count faults;      /* calls of quire_fault */
	struct quire_lock pages_lock;   /* others take it only when memory runs out */
	struct quire_list pages;        /* free pages of order 0, by page->link */
	unsigned pages_count;
	struct quire_space *loaded; /* by quire_space_load on this CPU; NULL: none */
} __attribute__((aligned(QUIRE_SHARING_BYTES)));

/* The calling CPU's part. */
static inline struct quire_percpu *quire_percpu_here(struct quire *q)
{
	return &q->percpu[q->machine.port.cpu(q->machine.port.context)];
}

#endif
