/*
 * Shared by the files that find out which maintenance was needed, and by no others. needless.c
 * makes the ghosts of an operation on lines; needless_ghosts.c shows them accesses;
 * needless_lines.c remembers what hardware may have done to lines by itself; needless_tlb.c has the
 * ghosts of TLB entries; needless_count.c counts verdicts, by operation and by page.
 */
#ifndef SIM_NEEDLESS_INTERNAL_H
#define SIM_NEEDLESS_INTERNAL_H

#include "sim/needless.h"

#define NEEDLESS_BUCKETS       8192u
#define NEEDLESS_ENTRY_BUCKETS 1024u

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

struct entry_ghost;    /* needless_tlb.c */
struct page_operation; /* needless_count.c */

/* An operation, as long as anything can change its verdict. */
struct record {
	enum quire_site site;
	enum sim_op book;
	uint64_t ticks;
	enum sim_verdict verdict;    /* as it is counted; COUNT: not yet */
	enum sim_verdict spared;     /* what it is if no read was in need of it; COUNT: needless */
	struct page_operation *page; /* NULL: it counts as one by itself */
	struct ghost *ghosts;
	struct entry_ghost *entries;
	unsigned holders; /* beside its ghosts: whole_insn */
	bool twice;       /* a later operation took over a ghost of it */
	bool to_memory;   /* it cleans L1 and L2 in one */
};

/* The last operation that dropped a CPU's whole I cache. */
struct whole_insn {
	struct record *record; /* NULL: none */
	uint32_t number;       /* such operations are numbered from 1 */
};

struct sim_needless {
	struct ghost *buckets[NEEDLESS_BUCKETS];
	struct entry_ghost *entries[NEEDLESS_ENTRY_BUCKETS];
	uint32_t *fills[2 * QUIRE_CPUS_MAX + 1]; /* by cache: of each set */
	struct sim_memory lines; /* struct line of needless_lines.c, by number */
	uint32_t whole_insns;    /* operations that dropped a whole I cache */
	struct whole_insn whole_insn[QUIRE_CPUS_MAX];
	struct sim_need needs[QUIRE_SITE_COUNT + 1][SIM_OP_COUNT];
	struct page_operation *open[QUIRE_SITE_COUNT + 1][SIM_OP_COUNT];
};

/* One access to a line. */
struct access {
	struct sim *sim;
	/* the first cache that it looks into; GHOST_BELOW: past the first level */
	enum where where;
	unsigned cpu;
	uint32_t set, number; /* its place there */
	uint64_t line;
	size_t from, bytes;   /* in the line */
	bool store;
	bool misses;          /* the cache does not have it now */
	bool memory;          /* GHOST_BELOW: it looks at memory only */
	/* GHOST_BELOW: a coherent device, which looks into L1 D caches at `set` first */
	bool device;
};

/* --- Ghosts: needless_ghosts.c ---------------------------------------------------------------- */

/* Caches by number, and by what a ghost says of its own. */
unsigned needless_cache_number_of(enum where where, unsigned cpu);
struct cache *needless_cache_of(struct sim *sim, enum where where, unsigned cpu);

/* The chain in which the ghosts of a line are, among others. */
struct ghost **needless_bucket_of(struct sim_needless *needless, uint64_t line);
void needless_unlink_ghost(struct sim_needless *needless, struct ghost *ghost);
/* Unlinked; the record goes with its last ghost. */
void needless_free_ghost(struct sim_needless *needless, struct ghost *ghost);

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

/* --- What hardware may do to lines by itself: needless_lines.c --------------------------------- */

/* 0 or -QUIRE_ENOMEM. destroy takes what create refused. */
int needless_lines_create(struct sim_needless *needless, const struct sim *sim);
void needless_lines_destroy(struct sim_needless *needless);
/* Before it takes place. */
void needless_lines_access(const struct access *access);
/*
 * Before it is carried out: GUARD or OVERTAKEN, if it is one of them should no read be in need of
 * it; else COUNT.
 */
enum sim_verdict needless_lines_operation(struct sim *sim, const struct sim_maintenance *op);
/* The operation of the record drops whole I caches. */
void needless_lines_whole_insn(struct sim *sim, const struct sim_maintenance *op,
			       struct record *record);

/* --- TLB entries: needless_tlb.c --------------------------------------------------------------- */

void needless_entries_destroy(struct sim_needless *needless);
/* Those that have been replaced meanwhile, or `all`, end. */
void needless_entries_settle(struct sim *sim, bool all);

/* --- Verdicts: needless_count.c ---------------------------------------------------------------- */

/* A new record of the current site, or NULL. */
struct record *needless_new_record(struct sim *sim, enum sim_op book);
/* It belongs to the page of an address: before its first verdict. */
void needless_join_page(struct sim *sim, struct record *record, uint64_t address);
/* Its first verdict, or another one. */
void needless_count(struct sim_needless *needless, struct record *record, enum sim_verdict verdict);
/* No read was in need of it. */
void needless_count_unread(struct sim_needless *needless, struct record *record);
/* Whoever held it does no more: it goes with the last ghost and the last holder. */
void needless_release(struct sim_needless *needless, struct record *record);
void needless_pages_destroy(struct sim_needless *needless);

#endif
