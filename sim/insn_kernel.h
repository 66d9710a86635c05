/*
 * What the instructions of all ISAs share: the kernel's own loads and stores, through the current
 * CPU's caches.
 *
 * Kernel code that follows a bad address would crash a board. Here it crashes the program, with a
 * sentence.
 */
#ifndef SIM_INSN_KERNEL_H
#define SIM_INSN_KERNEL_H

#include <stdio.h>
#include <stdlib.h>

#include "sim/internal.h"

static inline void sim_insn_require(bool holds, const char *insn, uint64_t address, const char *why)
{
	if (holds)
		return;
	fprintf(stderr, "quire: kernel instruction %s at %#llx: %s\n", insn,
		(unsigned long long)address, why);
	abort();
}

static inline uint64_t sim_kernel_load(struct quire_hw *hw, const char *insn, uintptr_t va,
				       unsigned bytes)
{
	struct sim *sim = sim_of(hw);
	uint64_t value = 0;
	int error;

	if (sim->reference_fill.is && sim_is_linear(sim, va)) {
		sim->reference_fill.last = va - sim->kernel_base;
		memcpy(&value, sim->witness.reference.bytes + (va - sim->kernel_base), bytes);
		return value;
	}
	error = sim_load(sim, va, bytes, &value);
	sim_insn_require(!error, insn, va, "no memory of the kernel is there");
	return value;
}

static inline void sim_kernel_store(struct quire_hw *hw, const char *insn, uintptr_t va,
				    unsigned bytes, uint64_t value)
{
	int error = sim_of(hw)->reference_fill.is ? 0 : sim_store(sim_of(hw), va, bytes, value);

	sim_insn_require(!error, insn, va, "no memory of the kernel is there");
}

/*
 * A counter of cycles, as CR16, PMCCNTR and the TSC are: at the clock of the CPU, from its start.
 */
static inline uint64_t sim_cycles(struct quire_hw *hw)
{
	return sim_of(hw)->cpu->ticks / SIM_TICKS_A_CYCLE;
}

/* A barrier empties the store buffer; charged and booked. It completes no maintenance by itself. */
static inline void sim_barrier(struct quire_hw *hw, uint64_t ticks)
{
	struct sim *sim = sim_of(hw);

	if (sim->reference_fill.is)
		return;
	sim_drain(sim);
	sim_book(sim, SIM_OP_BARRIER, ticks, false);
}

/* A barrier that waits for maintenance too. */
static inline void sim_completing_barrier(struct quire_hw *hw, uint64_t ticks)
{
	sim_barrier(hw, ticks);
	if (!sim_of(hw)->reference_fill.is)
		sim_pending_barrier(sim_of(hw), false);
}

/* Smallest n with 2^n >= value. */
static inline unsigned sim_log2_up(uint64_t value)
{
	unsigned n = 0;

	while (((uint64_t)1 << n) < value)
		n++;
	return n;
}

static inline uint64_t sim_cache_sets(const struct sim_cache *cache)
{
	return cache->bytes / cache->ways / cache->line_bytes;
}

#endif
