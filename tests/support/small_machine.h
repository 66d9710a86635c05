/*
 * A machine small enough to work out by hand: 1 CPU, L1 I and D of 1 KiB (2 ways, 16 sets of 32
 * bytes), L2 of 4 KiB (4 ways, 32 sets), 16 MiB of memory, and prices that are powers of ten, so
 * that a sum of ticks shows in its digits what was charged.
 */
#ifndef TESTS_SUPPORT_SMALL_MACHINE_H
#define TESTS_SUPPORT_SMALL_MACHINE_H

#include "sim/sim.h"

enum small_price {
	SMALL_LINE = 1,
	SMALL_ACCESS = 10,
	SMALL_L2_READ = 100,
	SMALL_L2_WRITE = 1000,
	SMALL_MEMORY_READ = 10000,
	SMALL_MEMORY_WRITE = 100000,
	SMALL_FETCH = 1000000,
};

struct sim_machine small_machine(void);
/* Without L2: line prices come from memory. */
struct sim_machine small_machine_without_l2(void);
/* The machine made; fails the test if it cannot be. */
struct sim *small_create(const struct sim_machine *machine);

#endif
