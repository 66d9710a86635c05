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

/* What is known of an operation before it is carried out: for sim_needless_end. */
struct sim_needless_begun {
	struct record *record;   /* NULL: it leaves no ghosts, or there was no memory for them */
	enum sim_verdict spared; /* what it is if no read was in need of it; COUNT: needless */
};

/* An operation is about to be carried out; once it is paid for, it ends. */
struct sim_needless_begun sim_needless_begin(struct sim *sim, const struct sim_maintenance *op,
					     enum sim_op book);
void sim_needless_end(struct sim *sim, const struct sim_needless_begun *begun,
		      const struct sim_maintenance *op, enum sim_op book, uint64_t ticks, bool idle,
		      enum sim_found found);
/* One that leaves no ghosts, at an address (of any kind, but the same for a page's lines). */
#define SIM_NEEDLESS_NOWHERE UINT64_MAX
void sim_needless_count(struct sim *sim, enum sim_op book, uint64_t address, uint64_t ticks,
			enum sim_verdict verdict);
/* A site's section ends. */
void sim_needless_site_end(struct sim *sim);

/* --- TLB entries: needless_tlb.c --------------------------------------------------------------- */

struct sim_tlb_match;
struct sim_translation;

/*
 * An operation on TLBs is about to be carried out; once it is paid for, it ends. NULL: no memory;
 * end takes it.
 */
struct record *sim_needless_tlb_begin(struct sim *sim, const struct sim_tlb_match *match,
				      bool all_cpus, enum sim_op book);
/* One that drops sides of an entry of the current CPU by position: it stays undecided. */
void sim_needless_tlb_by_position(struct sim *sim, unsigned sides);
/* `idle`: no entry went. */
void sim_needless_tlb_end(struct sim *sim, struct record *record, enum sim_op book, uint64_t ticks,
			  bool idle);
/*
 * The current CPU looks up va, by `match` (page, number and sides), for an access that needs the
 * rights `need`. `entry`: what its TLB has, or NULL.
 */
void sim_needless_translate(struct sim *sim, const struct sim_tlb_match *match, uintptr_t va,
			    unsigned need, const struct sim_translation *entry);

#endif
