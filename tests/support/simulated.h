/*
 * A simulated machine with a memory manager on it, for tests.
 *
 * 	struct simulated s;
 * 	struct sim_machine machine = simulated_machine(SIM_PARISC);
 *
 * 	simulated_start(&s, &machine, NULL);
 * 	space = quire_space_create(s.q, &error);
 * 	simulated_load(&s, space);
 * 	sim_store(s.sim, va, 1, 'a');
 * 	...
 * 	simulated_end(&s);
 *
 * The test may change the fields marked "set by the test" at any time between two calls of Quire.
 * Memory that Quire takes and gives back is counted, so that a test sees leaks, and can be refused
 * at any point.
 */
#ifndef TESTS_SUPPORT_SIMULATED_H
#define TESTS_SUPPORT_SIMULATED_H

#include <quire/quire.h>

#include "sim/sim.h"

struct simulated {
	struct sim *sim;
	struct quire *q;
	struct quire_memory memory;
	struct quire_config config;                 /* what quire_create was given */
	struct quire_space *loaded[QUIRE_CPUS_MAX]; /* by CPU; kept by simulated_load */

	/* Set by the test. */
	long fail_after;      /* refuse the allocation after so many more; negative: never */
	bool fail_for_ever;   /* refuse all further ones too, not that one only */
	enum quire_site drop; /* leave the maintenance of this site out; QUIRE_SITE_COUNT: none */
	uint64_t time_offset_ns; /* added to the machine's clock by the port's time_ns */
	bool no_cross_call;      /* answer of can_cross_call is no */
	/* Called at each step, before it is charged; may be NULL. */
	void (*on_step)(struct simulated *s, enum quire_step step);
	/*
	 * Called before each maintenance operation, and when Quire waits for a lock; may be NULL.
	 */
	void (*on_maintenance)(struct simulated *s, enum quire_site site);
	void (*on_relax)(struct simulated *s);
	void *test; /* the test's own */

	/* Read by the test. */
	long allocations; /* asked for, refused ones too */
	long allocated;   /* now held by Quire, records */
	size_t allocated_bytes;
	uint64_t steps[QUIRE_STEP_COUNT];
};

/* A small machine of the ISA: two CPUs, 16 MiB, the caches that make most demands on software. */
struct sim_machine simulated_machine(enum sim_isa isa);

/* The architecture that runs on an ISA. */
const struct quire_arch *simulated_arch(enum sim_isa isa);

/*
 * Makes the machine and its memory manager, all CPUs online, CPU 0 current. `policy` NULL: the
 * default. Prints and aborts when that fails: a test that wants the error uses the next two.
 */
void simulated_start(struct simulated *s, const struct sim_machine *machine,
		     const struct quire_policy *policy);

/*
 * The machine and the configuration only, s->q NULL; then the memory manager: 0 or a negative
 * error.
 */
void simulated_prepare(struct simulated *s, const struct sim_machine *machine,
		       const struct quire_policy *policy);
int simulated_boot(struct simulated *s);

/* Ends both, and aborts when records of Quire leaked. Spaces have ended and files were released. */
void simulated_end(struct simulated *s);

/* Loads the space (NULL: none) on the current CPU. */
void simulated_load(struct simulated *s, struct quire_space *space);

/* Reads from or writes to user memory of the loaded space as a program does; aborts on a fault. */
void simulated_user_read(struct simulated *s, uintptr_t va, void *host, size_t bytes);
void simulated_user_write(struct simulated *s, uintptr_t va, const void *host, size_t bytes);

/* Aborts, after printing them, when the witness saw violations. */
void simulated_check(struct simulated *s);

#endif
