/*
 * A memory manager over memory of the host, for tests with real threads.
 *
 * An arena of the host stands for physical memory: physical address 0 is its first byte, copies and
 * clears act on it. Each thread that calls Quire is a CPU: it says which by native_be_cpu. The
 * machine that is booted is a simulated x86-64, whose caches are coherent, so that afterwards
 * pages, page cache and locks need no instruction of it; spaces and tables do, and are tested on
 * simulated.h.
 */
#ifndef TESTS_SUPPORT_NATIVE_H
#define TESTS_SUPPORT_NATIVE_H

#include <quire/quire.h>

#include "sim/sim.h"

struct native {
	struct quire *q;
	struct sim *sim;      /* only to boot */
	unsigned char *arena; /* physical memory */
	struct quire_memory memory[2];

	long fail_after; /* set by the test: as in simulated.h, for one thread at a time */
	bool fail_for_ever;
	long allocations; /* read by the test */
	long allocated;   /* records held by Quire now */
	void *test;       /* the test's own */
};

/*
 * Makes one of so many CPUs and `pages` pages, with 16 pages of kernel text at the bottom; aborts
 * on failure.
 */
void native_start(struct native *n, unsigned cpus, unsigned pages);

/* The same with a hole of `hole` pages in the middle of memory, of which half lies on each side. */
void native_start_with_hole(struct native *n, unsigned cpus, unsigned pages, unsigned hole);

/* Aborts when records or pages leaked. */
void native_end(struct native *n);

/* The calling thread is this CPU from now on. */
void native_be_cpu(unsigned cpu);

/* Runs fn(n, cpu) in one thread a CPU, 0 to cpus - 1, and waits for all. */
void native_run(struct native *n, unsigned cpus, void (*fn)(struct native *n, unsigned cpu));

#define NATIVE_TEXT_PAGES 16

#endif
