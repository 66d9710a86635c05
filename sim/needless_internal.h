/*
 * Ghosts and the operations that left them: shared by the files that find out which maintenance was
 * needed, and by no others. needless.c makes ghosts; needless_ghosts.c shows them accesses.
 */
#ifndef SIM_NEEDLESS_INTERNAL_H
#define SIM_NEEDLESS_INTERNAL_H

#include "sim/needless.h"

#define NEEDLESS_BUCKETS 8192u

enum where { GHOST_L1D, GHOST_L1I, GHOST_L2, GHOST_BELOW };

struct record;

/* A ghost: a copy, or (GHOST_BELOW) what the levels below a dirty copy would hold. */
struct ghost {
	struct ghost *next;    /* in its bucket */
	struct ghost *sibling; /* of the same operation */
	struct record *record;
	uint64_t line;         /* physical line number */
	enum where where;
	unsigned cpu;          /* L1 */
	uint32_t set, number;  /* the place of a copy; for GHOST_BELOW of the dirty copy above it */
	enum where above;      /* GHOST_BELOW: the cache of that copy */
	bool dirty;
	uint32_t fills;        /* of its set, when it was last used */
	uint8_t bytes[CACHE_LINE_MAX];  /* GHOST_BELOW: what a fill would get */
	uint8_t memory[CACHE_LINE_MAX]; /* GHOST_BELOW: what memory would hold */
	uint8_t before[CACHE_LINE_MAX]; /* GHOST_BELOW: what it did hold before the operation */
};

/* An operation that is not decided. */
struct record {
	enum quire_site site;
	enum sim_op book;
	uint64_t ticks;
	struct ghost *ghosts;
	bool twice;     /* a later operation took over a ghost of it */
	bool to_memory; /* it cleans L1 and L2 in one */
};

struct sim_needless {
	struct ghost *buckets[NEEDLESS_BUCKETS];
	uint32_t *fills[2 * QUIRE_CPUS_MAX + 1]; /* by cache: of each set */
	struct sim_need needs[QUIRE_SITE_COUNT + 1][SIM_OP_COUNT];
};

/* Caches by number, and by what a ghost says of its own. */
unsigned needless_cache_number_of(enum where where, unsigned cpu);
struct cache *needless_cache_of(struct sim *sim, enum where where, unsigned cpu);

/* The chain in which the ghosts of a line are, among others. */
struct ghost **needless_bucket_of(struct sim_needless *needless, uint64_t line);
void needless_unlink_ghost(struct sim_needless *needless, struct ghost *ghost);
void needless_free_ghost(struct ghost *ghost); /* unlinked; the record goes with its last ghost */

bool needless_is_at(const struct ghost *ghost, enum where where, unsigned cpu, uint32_t set,
		    uint32_t number);
/* What would lie below the dirty copy `above`, or NULL. */
struct ghost *needless_find_below(const struct record *record, const struct ghost *above);
/* Has memory got nothing of the line through L2 since the operation cleaned L1? */
bool needless_memory_is_as_before(const struct sim *sim, const struct ghost *below);
/* Is each byte of the ghost as it should be? */
bool needless_all_right(const struct sim *sim, const struct ghost *ghost);

/* The operation was needed: its ghosts go, and the record. */
void needless_decide_needed(struct sim_needless *needless, struct record *record);
/* The ghost is gone and nobody read it wrongly; the record goes with its last ghost. */
void needless_end_ghost(struct sim_needless *needless, struct ghost *ghost);

#endif
