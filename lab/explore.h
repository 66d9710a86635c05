/*
 * `quire check`: explores all runs of a small world. For the files lab/explore_*.c.
 *
 *   explore_arena.c    memory that can be saved and put back as bytes
 *   explore_machine.c  a small machine made of a large one
 *   explore_world.c    the machine with Quire booted on it, one file on a device, two processes
 *   explore_mutants.c  faults put in on purpose
 *   explore_moves.c    what may happen next
 *   explore_model.c    what must come of it
 *   explore_do.c       doing it
 *   explore_calls.c    calls that are half done while others run
 *   explore_digest.c   the digest by which a state is known again
 *   explore_search.c   breadth first, by several threads; random walks
 *   explore_print.c    what is shown: the counterexample, the script, the final line
 *   explore.c          the command
 *
 * A world is one block of memory (struct explore_arena): the simulated machine, Quire's records and
 * what this program knows of both. So a state is saved by copying bytes, and pointers stay right.
 *
 * A state is named by the moves that lead to it from the root, never by its bytes: the frontier of
 * a search then costs sixteen bytes a state.
 */
#ifndef LAB_EXPLORE_H
#define LAB_EXPLORE_H

#include <setjmp.h>
#include <stdatomic.h>

#include "lab/lab.h"
#include "mm/mm.h"
#include "sim/digest.h"

enum {
	EXPLORE_PAGES_MAX = 3,
	EXPLORE_CPUS_MAX = 3,
	EXPLORE_PROCESSES = 2,
	EXPLORE_MOVES_MAX = 512, /* that one state may have */
	EXPLORE_DEPTH_MAX = 32,
	EXPLORE_RUN_MAX = 2 * EXPLORE_DEPTH_MAX, /* moves: a step, or going on with one */
	EXPLORE_NOBODY = 0xff, /* the process of an idle CPU */
};

/* --- The arena -------------------------------------------------------------------------------- */

/*
 * Records lie in the first part, allocated upwards, with a list of free pieces for each size; the
 * machine's bulk in the second: memory, its reference, lines of caches. Records are saved whole,
 * bulk only where it changed.
 */
struct explore_arena {
	uint8_t *base;
	size_t records_max, size;
	struct sim_touched touched; /* of the bulk; outside of the arena */
};

/* False: the host has no memory. */
bool explore_arena_create(struct explore_arena *arena, size_t frames);
void explore_arena_destroy(struct explore_arena *arena);
/* Zeroed; NULL: the arena is full. Alignments of a page and more come from the bulk. */
void *explore_arena_alloc(struct explore_arena *arena, size_t bytes, size_t align);
void explore_arena_free(struct explore_arena *arena, void *memory, size_t bytes);

/* --- Worlds ----------------------------------------------------------------------------------- */

/* Where a process may map: each place holds all pages of the file, or as many anonymous ones. */
enum explore_place {
	EXPLORE_SHARED,  /* the file, shared */
	EXPLORE_ALIAS,   /* the file, shared, at another colour */
	EXPLORE_PRIVATE, /* the file, private */
	EXPLORE_ANON,    /* anonymous, private */
	EXPLORE_PLACES,
};

struct explore_map {
	bool mapped;
	unsigned prot;
	bool own[EXPLORE_PAGES_MAX];       /* private places: a copy of its own ... */
	uint64_t value[EXPLORE_PAGES_MAX]; /* ... that holds this */
};

/*
 * What must be true: the simplest memory manager that one can think of. Values are first words of
 * pages.
 */
struct explore_model {
	uint64_t file[EXPLORE_PAGES_MAX];
	unsigned file_pages; /* its size */
	bool alive[EXPLORE_PROCESSES];
	struct explore_map map[EXPLORE_PROCESSES][EXPLORE_PLACES];
};

/* A page of the device: its first word, and that of every other line. */
struct explore_block {
	uint64_t first, rest;
};

/*
 * Faults put into Quire on purpose (explore_mutants.c), by what goes wrong. X(identifier, name)
 */
#define EXPLORE_MUTANTS(X)                                                                        \
	/* something is believed of the machine that is not true */                               \
	X(BROADCAST, "broadcast-assumed")                                                         \
	X(WALKER, "coherent-walker-assumed")                                                      \
	X(DEVICES, "coherent-devices-assumed")                                                    \
	X(ALIASES, "no-aliases-assumed")                                                          \
	/* something is done too early or too late */                                             \
	X(FLAG_FIRST, "flag-before-clean") /* a page's clean flags are set, then it is cleaned */ \
	X(TLB_LAST, "tlb-after-flush")     /* of a batch: the TLB is purged after the lines */    \
	X(FREE_FIRST, "tlb-after-free")    /* of a batch: after the frames were freed */          \
	/* something else is done, or less, or nothing */                                         \
	X(FIRST_PAGE, "first-page-only")           /* of a range or batch */                      \
	X(EXCHANGED, "insn-data-exchanged")        /* by address: I for D, D for I */             \
	X(FORK_DROPS, "drop-at-fork")              /* fork invalidates lines of private pages */  \
	X(ANON_ENTRY, "entry-without-flush")       /* for an anonymous page */                    \
	X(NEIGHBOUR, "neighbour-without-flush")    /* the same, for neighbours of a fault */      \
	X(BARRIER, "barrier-left-out")             /* barriers wait for no maintenance */         \
	X(ENTRY_BARRIER, "entry-barrier-left-out") /* after an entry's store and clean */         \
	X(TABLE_PURGE, "table-purge-left-out")     /* after an upper entry is cleared */

enum explore_mutant {
#define X(id, name) EXPLORE_MUTANT_##id,
	EXPLORE_MUTANTS(X)
#undef X
		EXPLORE_MUTANT_NONE
};

const char *explore_mutant_name(enum explore_mutant mutant); /* NULL for NONE */
/* By name, told if there is none such: then false. */
bool explore_mutant_find(const char *name, enum explore_mutant *mutant, char *message,
			 size_t bytes);
/* The site of that name; the same. */
bool explore_site_find(const char *name, enum quire_site *site, char *message, size_t bytes);

/* What a world is made of; the same for all worlds of a search. */
struct explore_setting {
	struct sim_machine machine; /* small */
	struct quire_policy policy;
	unsigned pages;
	enum quire_site dropped; /* QUIRE_SITE_COUNT: none */
	atomic_bool *asked;      /* NULL, or set as soon as Quire is at that site */
	enum explore_mutant mutant;
	bool data_moves; /* does it matter what D caches hold? */
	/* does it matter on which CPU a system call without memory of a process runs? */
	bool every_cpu;
};

struct explore_world {
	struct explore_arena *arena;
	const struct explore_setting *setting;
	struct sim *sim;
	struct quire *quire;
	struct quire_memory memory;
	struct quire_file file;
	struct quire_space *spaces[EXPLORE_PROCESSES];
	uint8_t runs[EXPLORE_CPUS_MAX]; /* the process that a CPU runs */
	struct explore_model model;
	struct explore_block blocks[EXPLORE_PAGES_MAX];
	uint64_t values;                 /* the last value stored */
	uint64_t *host;                  /* a page for each CPU, for what read and write move */
	unsigned steps, relaxes, faults; /* relaxes and faults: of the present move */
	/* The architecture's calls as Quire knows them, and as they are: explore_mutants.c */
	struct quire_arch arch;
	const struct quire_arch *real;
	uintptr_t faulting[EXPLORE_CPUS_MAX]; /* the page of a CPU's fault; 0: there is none */
	unsigned pages_done;                  /* by the maintenance under way */
	bool trims[EXPLORE_CPUS_MAX];         /* with TABLE_PURGE: tables are taken away */
	char wrong[160];                      /* what the model found wrong; empty: nothing */
};

/* States that a job can go back to. */
enum explore_saved_as {
	EXPLORE_ROOT,
	EXPLORE_PARENT, /* of the state below */
	EXPLORE_HERE,   /* the state from which moves are tried */
	EXPLORE_SAVES
};

struct explore_saved {
	uint8_t *records;
	size_t used;
	uint8_t *bulk;     /* whole, of which the granules below are filled; of the root all */
	uint64_t *differs; /* a bit a granule: it is not as at the root */
};

/* One thread's world, with what it takes to put it back. */
struct explore_job {
	const struct explore_setting *setting;
	struct explore_arena arena;
	struct explore_world *world;
	struct explore_saved saved[EXPLORE_SAVES];
	enum explore_saved_as last; /* saved or put back last: where `touched` counts from */
	jmp_buf stop; /* where a broken invariant goes */
	char stopped[160];
	struct explore_calls *calls; /* that are half done; NULL until there is one */
	uint32_t label;              /* of the next move, for the witness; 0: its number */
};

/* A small machine for the search. NULL or a sentence: why not. */
const char *explore_machine(struct sim_machine *small, const struct sim_machine *large,
			    unsigned cpus);

/* NULL, or why there is no world. */
const char *explore_job_create(struct explore_job *job, const struct explore_setting *setting);
void explore_job_destroy(struct explore_job *job);
/* The state of now is from now on what the job goes back to by that name; not for the root. */
void explore_job_save(struct explore_job *job, enum explore_saved_as as);
void explore_job_restore(struct explore_job *job, enum explore_saved_as as);

/* Fills in what follows from the machine. */
void explore_setting_ready(struct explore_setting *setting);

/* For the files above: */
const char *explore_world_boot(struct explore_job *job);
/* What Quire is to believe, and to call: the truth but for the mutant's part. */
void explore_mutant_traits(enum explore_mutant mutant, struct quire_traits *traits);
const struct quire_arch *explore_mutant_arch(struct explore_world *world,
					     const struct quire_arch *real);
/* The fixed user address of a page of a place. */
uintptr_t explore_address(enum explore_place place, unsigned page);
/* A page of the window through which Quire makes temporary mappings. */
uintptr_t explore_alias_address(const struct explore_world *world, unsigned page);
/* The buffer that stands for user memory in read and write. */
#define EXPLORE_BUFFER ((uintptr_t)0x10000)

/* --- Moves ------------------------------------------------------------------------------------ */

/* X(identifier, word) */
#define EXPLORE_KINDS(X)            \
	X(LOAD, "load")             \
	X(STORE, "store")           \
	X(EXECUTE, "execute")       \
	X(READ, "read")             \
	X(WRITE, "write")           \
	X(MAP, "map")               \
	X(UNMAP, "unmap")           \
	X(PROTECT, "protect")       \
	X(MSYNC, "msync")           \
	X(TRUNCATE, "truncate")     \
	X(RECLAIM, "reclaim")       \
	X(FORK, "fork")             \
	X(EXIT, "exit")             \
	X(RUN, "run")               \
	X(DEVICE_IN, "device in")   \
	X(DEVICE_OUT, "device out") \
	X(EVICT, "evict")           \
	X(FILL, "fill")             \
	X(GO_ON, "goes on")

enum explore_kind {
#define X(id, word) EXPLORE_##id,
	EXPLORE_KINDS(X)
#undef X
		EXPLORE_KIND_COUNT
};

struct explore_move {
	uint8_t kind, cpu;
	uint8_t a; /* place, process, pages of the file, or cache (enum sim_which) */
	uint8_t b; /* page, protection, frame, or for a fill by a map place and page */
	/*
	 * 0: it runs to its end; else it stops at its n-th point from here, half done, if it has
	 * so many. GO_ON takes it up again.
	 */
	uint16_t until;
};

enum {
	EXPLORE_FILL_LINEAR =
		0x10,         /* in `a` of a fill: by the kernel's linear mapping, of frame `b` */
	EXPLORE_FILL_ALIAS =
		0x20,         /* the same: by what the TLB holds of page `b` of the alias window */
	EXPLORE_WHICH = 0x0f, /* the part of `a` that is an enum sim_which */
	EXPLORE_POINTS_MAX = 1000, /* of one call */
};

/*
 * All moves of the job's state, none of which stops half way; result: how many. While calls are
 * half done: to go on with each, and what may be done meanwhile.
 */
unsigned explore_moves(const struct explore_job *job, struct explore_move *moves);
/* Has the move points at which it may stop? */
bool explore_has_points(const struct explore_world *world, struct explore_move move);
/* True: all is well. False: a violation, a wrong result, or a stop; explore_what tells. */
bool explore_do(struct explore_job *job, struct explore_move move);
/* "cpu1: store shared page 0 (process 0)", as the world is before the move. */
void explore_move_text(const struct explore_world *world, struct explore_move move, char *text,
		       size_t bytes);
/* The first line of the report after explore_do failed, and a name of the kind of failure. */
void explore_what(const struct explore_job *job, char *text, size_t bytes);

/* What a call gave: its result or error, and what it read. */
struct explore_outcome {
	int64_t result;
	uint64_t value;
};

bool explore_is_shared(enum explore_place place);
/* 0 or the signal with which an access must end. */
int explore_model_access(const struct explore_model *model, unsigned process, unsigned place,
			 unsigned page, enum quire_access access);
/* What the move must give; the model moves on. `value` is what it stores. */
struct explore_outcome explore_model_do(struct explore_model *model, struct explore_move move,
					unsigned process, uint64_t value);
bool explore_model_same(const struct explore_model *a, const struct explore_model *b);
/* What the order of two calls is to the program. */
enum explore_order {
	EXPLORE_APART,  /* the same outcomes and the same model in both orders */
	EXPLORE_TOLD,   /* an outcome or the model's being the same tells what came of it */
	EXPLORE_UNTOLD, /* the models differ, and no outcome tells which it is */
};
enum explore_order explore_model_order(const struct explore_model *model, struct explore_move a,
				       unsigned a_process, struct explore_move b,
				       unsigned b_process);
bool explore_outcome_same(struct explore_outcome a, struct explore_outcome b);
/* Notes that a call has not given what it must. */
void explore_say_wrong(struct explore_world *world, struct explore_outcome got,
		       struct explore_outcome expected);

/* What the witness calls the present move. */
uint32_t explore_label(const struct explore_job *job);
/* The move itself, on the stack of the caller; `value` is what it stores. */
struct explore_outcome explore_do_one(struct explore_world *world, struct explore_move move,
				      uint64_t value);
/* A move that stops half way, or is made while others stand there. Result as of explore_do. */
bool explore_slice(struct explore_job *job, struct explore_move move);
/* The call that is half done on a CPU, and the process that has made it; NULL: none. */
const struct explore_move *explore_half_done(const struct explore_job *job, unsigned cpu,
					     unsigned *process);
unsigned explore_half_done_count(const struct explore_job *job); /* 0 to 2 */
/* May a call of this order to the half done one begin? One that is told, or any that are apart. */
bool explore_may_meet(const struct explore_job *job, enum explore_order order);
/* Does it make no difference to either whether the move comes before the half done call, or after? */
bool explore_is_apart(const struct explore_job *job, struct explore_move move);
/* The state in which they were begun is put back. */
void explore_calls_forget(struct explore_job *job);
void explore_calls_free(struct explore_job *job);

/*
 * For the port: a point of interleaving; a lock is held by somebody else; the run cannot go on
 * (false: no call is on a stack of its own).
 */
void explore_point(struct explore_job *job);
void explore_blocked(struct explore_job *job);
bool explore_stop_calls(struct explore_job *job);

uint64_t explore_digest(const struct explore_world *world);

/* --- Searches --------------------------------------------------------------------------------- */

struct explore_bounds {
	unsigned depth, seconds, jobs;
	unsigned walks; /* random ones, with one job the same each time; 0: as time allows */
	unsigned interleave; /* two calls at once, too, in runs of so many steps; 0: none */
	volatile const int *stop;
	bool progress; /* show a line that is written over itself */
	/* steps that all runs begin with, of which nothing is explored; none: NULL and 0 */
	const struct explore_move *start;
	unsigned start_length;
};

enum explore_end {
	EXPLORE_SAFE,
	EXPLORE_REFUTED,
	EXPLORE_OUT_OF_TIME,
	EXPLORE_INTERRUPTED,
	EXPLORE_FAILED
};

struct explore_result {
	enum explore_end end;
	const char *why;               /* EXPLORE_FAILED */
	unsigned depth;                /* all runs of so many steps were explored */
	double part;                   /* of the next depth that was explored too, 0 to 1 */
	unsigned together;             /* of these, with two calls at once at any place */
	uint64_t states, moves, pairs; /* pairs: of the moves, made while a call was half done */
	double seconds;
	bool exhausted; /* no state is new any more: safe at any depth */
	struct explore_move run[EXPLORE_RUN_MAX]; /* of EXPLORE_REFUTED */
	unsigned length;
};

/* Where to look for a mutant: a world, and bounds, in which some machine catches it in seconds. */
struct explore_trial {
	unsigned cpus; /* 0: as many as else */
	unsigned pages, depth, interleave;
	const struct explore_move *start; /* on so many CPUs only */
	unsigned start_length;
};

const struct explore_trial *explore_mutant_trial(enum explore_mutant mutant); /* NULL for NONE */

void explore_search(const struct explore_setting *setting, const struct explore_bounds *bounds,
		    struct explore_result *result);
/* Random walks of `depth` moves, the n-th from seed + n. */
void explore_random(const struct explore_setting *setting, const struct explore_bounds *bounds,
		    uint64_t seed, struct explore_result *result);
/* Moves of the run but for those that go on with a call. */
unsigned explore_steps(const struct explore_move *run, unsigned length);
/* Does the run fail from the root on, at its last move and not before? */
bool explore_replay(struct explore_job *job, const struct explore_move *run, unsigned length);
/* Drops moves, and stops in the middle of calls, while the run still fails. */
void explore_minimize(struct explore_job *job, struct explore_move *run, unsigned *length);

/* --- The command ------------------------------------------------------------------------------ */

struct command_line;

int explore_command(const struct command_line *line);
/* Measures steps a second. False after a message. */
bool explore_bench(FILE *to);

#endif
