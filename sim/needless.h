/*
 * Which maintenance was needed: for the files of sim/ only. Theory: needless.c. Results: sim_need
 * (sim.h).
 *
 * Callers ask sim->needless first. Accesses are shown before they take place, when the reference
 * has them already.
 */
#ifndef SIM_NEEDLESS_H
#define SIM_NEEDLESS_H

#include "sim/internal.h"

struct sim_needless *sim_needless_create(struct sim *sim); /* NULL: no memory */
void sim_needless_destroy(struct sim_needless *needless);  /* takes NULL */

/* By the current CPU, through its L1; bytes within one line. */
void sim_needless_load(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes);
void sim_needless_store(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes);
void sim_needless_fetch(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes);
/* Past the first level: at L2, or at memory only. */
void sim_needless_past(struct sim *sim, quire_pa_t pa, size_t bytes, bool store, bool memory);
/* A device; bytes within one line. */
void sim_needless_device(struct sim *sim, quire_pa_t pa, size_t bytes, bool store);

/* An operation is about to be carried out. Result: for sim_needless_end, once it is paid for. */
void *sim_needless_begin(struct sim *sim, const struct sim_maintenance *op, enum sim_op book);
void sim_needless_end(struct sim *sim, void *begun, const struct sim_maintenance *op,
		      enum sim_op book, uint64_t ticks, bool idle, enum sim_found found);
/* One that leaves no ghosts. */
void sim_needless_count(struct sim *sim, enum sim_op book, uint64_t ticks,
			enum sim_verdict verdict);

#endif
