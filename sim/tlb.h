/*
 * TLBs and translation, for the files of sim/ only.
 *
 * A TLB entry is a copy of what the tables once said, and nothing keeps it true: it stays until it
 * is purged or another entry takes its place. Replacement is round robin within a set, so that a
 * lookup changes nothing and every run evicts the same entries.
 *
 * An entry has a D side and an I side. Hardware walkers fill both. On PA-RISC software fills and
 * purges each by its own instruction, and an entry that holds only one side is a miss for the
 * other: so a forgotten PITLB shows, whether or not the board's TLB is a combined one.
 *
 * Spans above 4 KiB enter as the one 4 KiB piece that was asked for, but are purged as a whole by
 * any address inside.
 */
#ifndef SIM_TLB_H
#define SIM_TLB_H

#include "sim/internal.h"

enum sim_translation_bits {
	SIM_TLB_LOAD = 1,
	SIM_TLB_STORE = 2,
	SIM_TLB_FETCH = 4,
	SIM_TLB_USER = 8,    /* user code may use it */
	SIM_TLB_GLOBAL = 16, /* matches every address-space number */
	SIM_TLB_UNCACHED = 32,
	SIM_TLB_DATA_SIDE = 64,
	SIM_TLB_INSN_SIDE = 128,
	SIM_TLB_BOTH_SIDES = SIM_TLB_DATA_SIDE | SIM_TLB_INSN_SIDE,
};

struct sim_translation {
	uint64_t page;       /* va >> QUIRE_PAGE_SHIFT */
	uint64_t frame;      /* pa >> QUIRE_PAGE_SHIFT */
	uint64_t number;     /* of the address space: ASID, space id; 0 on x86-64 */
	uint64_t raw;        /* the leaf descriptor it was made from; 0 where software filled it */
	unsigned bits;       /* 0: empty */
	unsigned span_shift; /* log2 of the bytes that the leaf descriptor maps */
};

/* Where the host looks first for a page; no part of the machine. */
#define SIM_TLB_HINTS 256u

struct sim_tlb_state {
	uint32_t sets, ways;
	bool tagged;
	uint32_t *next;                  /* [sets] the way to replace next */
	struct sim_translation *entries; /* [sets * ways] */
	uint16_t hints[SIM_TLB_HINTS];   /* index of an entry, by the low bits of its page */
	/* walk_cache.c: entries that lead to tables; page, frame and span_shift are theirs */
	uint32_t upper_count, upper_next; /* upper_next: the one to replace next */
	struct sim_translation *upper;    /* [upper_count] */
};

/* May a TLB use the entry for an address of that number? */
static inline bool sim_tlb_same_number(const struct sim_tlb_state *tlb,
				       const struct sim_translation *entry, uint64_t number)
{
	return !tlb->tagged || (entry->bits & SIM_TLB_GLOBAL) || entry->number == number;
}

/* The address-space number that the current CPU looks up for va. */
uint64_t sim_current_number(const struct sim *sim, uintptr_t va);

/* An entry with any of `sides`, or NULL. */
struct sim_translation *sim_tlb_find(struct sim_tlb_state *tlb, uint64_t page, uint64_t number,
				     unsigned sides);
/* Takes the place of an entry that matches the same addresses, or joins it as its other side. */
void sim_tlb_insert(struct sim_tlb_state *tlb, const struct sim_translation *translation);

/* Which entries a purge drops. */
struct sim_tlb_match {
	bool any_page;
	bool any_number;
	bool keep_global;
	unsigned sides;  /* the sides that go */
	uint64_t page;   /* unless any_page */
	uint64_t number; /* unless any_number; global entries match all */
};

/* Drops what matches; says whether there was anything. */
bool sim_tlb_purge(struct sim_tlb_state *tlb, const struct sim_tlb_match *match);
/* The same in TLB and walk cache of one CPU. */
bool sim_tlb_purge_cpu(struct sim *sim, unsigned cpu, const struct sim_tlb_match *match);
bool sim_tlb_would_purge(const struct sim_tlb_state *tlb, const struct sim_tlb_match *match);
bool sim_tlb_hits(const struct sim_tlb_state *tlb, const struct sim_translation *entry,
		  const struct sim_tlb_match *match);
/*
 * pending.c: an operation that waits, and one that would purge the current CPU's entry (NULL:
 * none).
 */
void sim_pending_add_tlb(struct sim *sim, const struct sim_tlb_match *match, bool all_cpus);
const struct sim_maintenance *sim_pending_on_entry(const struct sim *sim,
						   const struct sim_translation *entry);
/* The same for one entry by position (modulo the number of entries). */
bool sim_tlb_purge_index(struct sim_tlb_state *tlb, uint64_t index, unsigned sides);

/*
 * A TLB instruction: purges on this or on all CPUs; charges tlb_op or tlb_all as `book` says, and
 * broadcast where it reaches others; books one instruction.
 */
void sim_tlb_operation(struct sim *sim, const struct sim_tlb_match *match, bool all_cpus,
		       enum sim_op book);

/*
 * Any address, for a cache operation. On PA-RISC those name their space; elsewhere `space` says
 * nothing. -QUIRE_EFAULT: no translation.
 */
int sim_translate_space(struct sim *sim, uint64_t space, uintptr_t va, quire_pa_t *pa);

/* What a walk is done for. */
struct sim_walk {
	uintptr_t va;
	unsigned need;  /* SIM_TLB_ bits that the access must have; 0: a cache operation */
	bool reference; /* of the witness's copy of the tables: free, sets no bits */
	bool ahead;     /* as the walker sees them, without being seen: free, sets no bits */
	bool stale;     /* what is read lies below an entry that was reported: not witnessed */
	quire_pa_t at;  /* out, reference only: the descriptor that decided */
	unsigned bytes; /* and its size; 0: there was none */
};

/* walker.c: 0 with *translation filled, or -QUIRE_EFAULT: the tables hold no usable translation. */
int sim_walk(struct sim *sim, struct sim_walk *walk, struct sim_translation *translation);
/*
 * The entry that covers 2^span_shift bytes around walk->va, from the root down: what a walk cache
 * may keep of it. -QUIRE_EFAULT: it leads to no table. `reference` or `ahead` is set.
 */
int sim_walk_upper(struct sim *sim, struct sim_walk *walk, unsigned span_shift,
		   struct sim_translation *upper);
/* Physical address of the table that such an entry leads to. */
quire_pa_t sim_upper_table(const struct sim *sim, const struct sim_translation *upper);
/* Level of the table that it is in; the root is 0. */
unsigned sim_upper_level(const struct sim *sim, const struct sim_translation *upper);

/*
 * --- Walk caches: walk_cache.c, of the current CPU where none is named -------------------------
 */

/*
 * The lowest entry that is kept for walk->va, witnessed, or NULL: begin at the root. Sets
 * walk->stale.
 */
const struct sim_translation *sim_walk_cache_use(struct sim *sim, struct sim_walk *walk);
/* Of an entry that is not kept yet: takes an empty place, else the next in turn. */
void sim_walk_cache_keep(struct sim *sim, const struct sim_translation *upper);
/* ARMv7: CONTEXTIDR or TTBR0 was written. */
void sim_walk_cache_loaded(struct sim *sim);
/* x86-64: a page fault at va was raised (SDM volume 3, 4.10.4.1). */
void sim_walk_cache_fault(struct sim *sim, uintptr_t va);
/* Drops what a purge drops; says whether there was anything. */
bool sim_walk_cache_purge(struct sim *sim, unsigned cpu, const struct sim_tlb_match *match);
bool sim_walk_cache_would_purge(const struct sim *sim, unsigned cpu,
				const struct sim_tlb_match *match);

#endif
