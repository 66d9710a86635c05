/*
 * The adversary: what hardware may do at any time without being asked. It evicts lines, fills them
 * speculatively, and completes maintenance before a barrier makes it. No experiment uses it; a
 * search for counterexamples makes each such move a step of its own.
 *
 * A move costs no time, is not counted, and is not shown to the witness: nobody has read anything.
 */
#ifndef SIM_ADVERSARY_H
#define SIM_ADVERSARY_H

#include "sim/sim.h"

enum sim_which {
	SIM_WHICH_L1D,
	SIM_WHICH_L1I,
	SIM_WHICH_L2, /* shared: `cpu` says nothing */
	SIM_WHICH_COUNT,
};

/* A line that some way holds. */
struct sim_line {
	quire_pa_t pa;
	bool dirty;
};

/* Sets and ways of a cache; 0 sets: the machine has none. */
void sim_cache_shape(const struct sim *sim, enum sim_which which, unsigned *sets, unsigned *ways);
/* False: the way is empty. */
bool sim_line_at(const struct sim *sim, unsigned cpu, enum sim_which which, unsigned set,
		 unsigned way, struct sim_line *line);

/* The way is emptied, a dirty line goes to the level below. False: it was empty. */
bool sim_evict(struct sim *sim, unsigned cpu, enum sim_which which, unsigned set, unsigned way);

/*
 * The line at va enters the CPU's L1 D or (SIM_WHICH_L1I) L1 I, as a load or fetch that is thrown
 * away brings it: through the kernel's linear mapping, or a TLB entry that the CPU may use now,
 * never by a walk and whatever the entry permits but user access. False: there is no such entry, it
 * is uncached, or the line is there already.
 */
bool sim_speculate(struct sim *sim, unsigned cpu, enum sim_which which, uintptr_t va);

/* Would it? */
bool sim_may_speculate(struct sim *sim, unsigned cpu, enum sim_which which, uintptr_t va);

/* Stores that wait in the CPU's store buffer enter its cache, as they do at some time soon. */
void sim_settle_stores(struct sim *sim, unsigned cpu);

/* Has the CPU's TLB an entry that its accesses to user address va would use? */
bool sim_tlb_holds(struct sim *sim, unsigned cpu, uintptr_t va);

/* Before anybody has stored: memory from pa on is full of one byte, whoever left it. */
void sim_leave_memory(struct sim *sim, quire_pa_t pa, uint64_t bytes, uint8_t byte);

/*
 * Puts an entry for the page at va in space `number` into the CPU's TLB that allows users anything
 * in the frame at pa: what somebody who ran before the kernel may have left.
 */
void sim_leave_translation(struct sim *sim, unsigned cpu, uint64_t number, uintptr_t va,
			   quire_pa_t pa);

/*
 * First address of the n-th page that the CPU's TLB lets it speculate through; false: there are no
 * more.
 */
bool sim_speculation_page(struct sim *sim, unsigned cpu, unsigned n, uintptr_t *va);

/*
 * Maintenance that was issued and has not taken effect (options.asynchronous), in the order of
 * issue, all CPUs. sim_complete: the nth takes effect now, and before it those of the same CPU on
 * the same line. The numbers of later ones change. False: there is no nth.
 */
unsigned sim_pending_count(const struct sim *sim);
unsigned sim_pending_cpu(const struct sim *sim, unsigned n);
bool sim_complete(struct sim *sim, unsigned n);

#endif
