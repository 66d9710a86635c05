/*
 * The simulated machine: CPUs whose caches hold data and go stale, TLBs, walker, devices, clock,
 * witness.
 *
 * Nothing here corrects a program's mistakes: a load returns what the cache at that address holds,
 * even when memory is newer. The witness knows what it should have returned. Deterministic to the
 * tick.
 *
 * One thread may use a struct sim at a time; many may exist. `sim` is also the struct quire_hw that
 * instructions get: the current CPU (sim_switch) executes them.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <quire/port.h>
#include <quire/types.h>

#include "sim/machine.h"

struct sim;

/*
 * What user and kernel accesses need from the kernel under test.
 *
 * fault: called when a user address has no usable translation: 0: retry; negative: give up with
 * that error. tlb_miss: software-filled TLBs only: fills the TLB by instructions: 0: retry;
 * negative: call fault.
 */
struct sim_traps {
	void *context;
	int (*fault)(void *context, uintptr_t va, enum quire_access access);
	int (*tlb_miss)(void *context, uintptr_t va, enum quire_access access);
	/*
	 * Software-filled TLBs only; may be NULL: the same handler, asked by the witness what the
	 * tables mean to say now. Its loads read the reference copy of memory, what it inserts goes
	 * to the witness, nothing else of it takes place, and it costs nothing. Where it is NULL an
	 * entry is found stale only if its frame was freed.
	 */
	int (*tlb_reference)(void *context, uintptr_t va, enum quire_access access);
};

/*
 * What changes of a machine's bulk (memory, the witness's copies of it, lines of caches), for a
 * host that saves and restores a machine as bytes: bit n of `granules`, in words of 64, is set when
 * one of the SIM_GRANULE_BYTES bytes from base + n * SIM_GRANULE_BYTES on is written.
 */
#define SIM_GRANULE_SHIFT 8
#define SIM_GRANULE_BYTES ((size_t)1 << SIM_GRANULE_SHIFT)

struct sim_touched {
	uint8_t *base;
	uint64_t *granules;
};

/*
 * Where a machine's records and bulk lie. alloc gives zeroed memory, or NULL; align is a power of
 * two, and for bulk, and nothing else, QUIRE_PAGE_BYTES. `touched`: NULL, or what the machine tells
 * of its bulk; it then runs more slowly.
 */
struct sim_allocator {
	void *context;
	void *(*alloc)(void *context, size_t bytes, size_t align);
	void (*free)(void *context, void *memory);
	const struct sim_touched *touched;
};

/* NULL with *why set (a sentence) when memory runs out or the description contradicts itself. */
struct sim *sim_create(const struct sim_machine *machine, const char **why);
/* The same, with the caller's allocator (copied; NULL: the host's). */
struct sim *sim_create_in(const struct sim_machine *machine, const struct sim_allocator *allocator,
			  const char **why);
void sim_destroy(struct sim *sim);
void sim_set_traps(struct sim *sim, const struct sim_traps *traps);

/* What a run may do without: all off at first. */
struct sim_options {
	/*
	 * earlier contents of lines are kept, for what reports say of stale bytes; costs the host
	 * time
	 */
	bool history;
	/*
	 * Cache and TLB operations take effect when the CPU that issued them has passed its next
	 * barrier (DSB, SYNC, MFENCE; for the outer cache its sync register), or before, when
	 * sim_complete says so (sim/adversary.h). Accesses of that CPU to the very line come after
	 * them. x86-64's INVLPG, CR3 and WBINVD act at once.
	 */
	bool asynchronous;
	/* Barriers wait for no maintenance: a fault put in, to see that their lack shows. */
	bool idle_barriers;
	/*
	 * Which operations were needed is found out: sim_need. Every access costs the host several
	 * times as much.
	 */
	bool needless;
};

/* From now on; what was on stays on. 0 or -QUIRE_ENOMEM. */
int sim_set_options(struct sim *sim, const struct sim_options *options);
const struct sim_machine *sim_machine(const struct sim *sim);

/* Kernel addresses: sim_kernel_base() + physical address, for all of memory. */
uintptr_t sim_kernel_base(const struct sim *sim);
/* The window without linear mapping, for aliases (see struct quire_port). */
uintptr_t sim_alias_window(const struct sim *sim);

/* --- CPUs and time ---------------------------------------------------------------------------- */

unsigned sim_cpu(const struct sim *sim);
void sim_switch(struct sim *sim, unsigned cpu);
/*
 * Runs fn(arg) on each CPU of the set, starting no earlier than the caller's now; the caller waits.
 */
void sim_cross_call(struct sim *sim, uint64_t cpus, void (*fn)(void *arg), void *arg);
uint64_t sim_ticks(const struct sim *sim);            /* of the current CPU */
uint64_t sim_ns(const struct sim *sim);               /* the same, nanoseconds */
void sim_charge(struct sim *sim, uint64_t ticks);     /* work of the current CPU */
void sim_wait_until(struct sim *sim, uint64_t ticks); /* idles the current CPU */

/* --- Accesses by the current CPU -----------------------------------------------------------------
 *
 * User accesses translate through TLB and walker (or software fill) in the loaded space; faults
 * call the trap and retry. They return 0 or the error that the fault trap gave up with. Kernel
 * accesses (kernel linear and alias addresses) return 0, or -QUIRE_EFAULT for an address that is
 * neither. `bytes` is 1, 2, 4 or 8 and the address a multiple of it. All are checked by the
 * witness.
 */
int sim_load(struct sim *sim, uintptr_t va, unsigned bytes, uint64_t *value);
int sim_store(struct sim *sim, uintptr_t va, unsigned bytes, uint64_t value);
int sim_fetch(struct sim *sim, uintptr_t va, uint64_t *value); /* 4 bytes, as instructions */

/*
 * Bulk: as the kernel's (or a program's) copy, clear and fill loops do, line by line. Either
 * address may be user or kernel. Result: bytes NOT done, a suffix; 0: all. sim_read hands the bytes
 * to the host.
 */
size_t sim_copy(struct sim *sim, uintptr_t to, uintptr_t from, size_t bytes);
size_t sim_clear(struct sim *sim, uintptr_t to, size_t bytes);
size_t sim_read(struct sim *sim, uintptr_t from, void *host, size_t bytes);
size_t sim_write(struct sim *sim, uintptr_t to, const void *host, size_t bytes);

/*
 * For a host that checks results: hands over what loads by the current CPU at user or kernel
 * addresses from `from` on would return, at no cost and past the witness. Calls no fault trap.
 * Result: bytes NOT read.
 */
size_t sim_peek(struct sim *sim, uintptr_t from, void *host, size_t bytes);

/* --- A machine without a kernel: bare.c ----------------------------------------------------------
 *
 * What a test of the hardware itself needs, on any machine: pages mapped by hand, so that no memory
 * manager mends an alias. Once a page is mapped so, all user addresses of the sim translate by this
 * table: what the table lacks is no address (-QUIRE_EFAULT). TLB misses cost tlb_miss and nothing
 * else. SIM_BARE machines know no other way.
 */
#define SIM_BARE_PAGES 16u

/*
 * Maps the page at va to the frame at pa for every CPU, for loads, stores and fetches; maps it anew
 * if it was mapped, and the TLBs forget the old entry. -QUIRE_EINVAL: not page addresses, a kernel
 * address, or no memory there; -QUIRE_ENOMEM: SIM_BARE_PAGES are mapped.
 */
int sim_map_bare(struct sim *sim, uintptr_t va, quire_pa_t pa, bool uncached);
/* Stores of the current CPU have left its store buffer when it returns; costs barrier. */
void sim_bare_barrier(struct sim *sim);

/* --- Devices ---------------------------------------------------------------------------------- */

/*
 * A DMA transfer of a device between host bytes and physical memory, coherent or not as the machine
 * says.
 */
void sim_dma_to_memory(struct sim *sim, quire_pa_t to, const void *host, size_t bytes);
void sim_dma_from_memory(struct sim *sim, quire_pa_t from, void *host, size_t bytes);

/* --- The witness ------------------------------------------------------------------------------ */

/* Observers and writers. */
enum sim_party {
	SIM_PARTY_USER,
	SIM_PARTY_KERNEL,
	SIM_PARTY_FETCH,
	SIM_PARTY_WALKER,
	SIM_PARTY_DEVICE,
	SIM_PARTY_COUNT,
};

/* What went wrong. X(identifier, first words of a report) */
#define SIM_KINDS(X)                                                                               \
	X(STALE_DATA, "STALE READ") /* a load got older bytes, while the right ones exist */       \
	X(STALE_INSN, "STALE INSTRUCTION")   /* so did an instruction fetch */                     \
	X(STALE_TABLE, "STALE TABLE ENTRY")  /* so did the table walker, or its table was freed */ \
	X(STALE_TLB, "STALE TLB ENTRY")      /* an entry was used that should have gone */         \
	X(STALE_DEVICE, "STALE DEVICE READ") /* a device got older bytes */                        \
	X(OVERWRITTEN, "DEVICE DATA OVERWRITTEN") /* what a device wrote is nowhere any more */    \
	X(LOST_WRITE, "LOST WRITE") /* what a CPU wrote is nowhere, or two dirty copies compete */ \
	X(EXPOSED, "EXPOSED MEMORY") /* contents from before a frame had its owner were read */

enum sim_kind {
#define X(id, name) SIM_KIND_##id,
	SIM_KINDS(X)
#undef X
		SIM_KIND_COUNT
};

/* How it came about. X(identifier, words for it) */
#define SIM_CAUSES(X)                                                                              \
	X(UNKNOWN, "cause unknown")                                                                \
	X(ALIAS, "dcache alias") /* the right bytes lie at another index of the same cache */      \
	X(OTHER_CPU, "other CPU's dcache")       /* they lie in the D cache of another CPU */      \
	X(NOT_CLEANED, "dirty line not cleaned") /* they lie above the level that was read */      \
	X(NOT_DROPPED, "old line not dropped")   /* they lie below the line that was read */       \
	X(STORE_BUFFER, "store buffer")          /* they wait in a store buffer */                 \
	X(NO_BARRIER,                                                                              \
	  "maintenance without a barrier") /* an operation on the line is not complete */ \
	X(DROPPED, "dirty line invalidated")                                                       \
	X(TWO_DIRTY,                                                                               \
	  "two dirty lines") /* the line that was read and another one are both dirty */           \
	X(OLD_LINE, "old dirty line written back")                                                 \
	X(NOT_PURGED, "entry not purged") /* the tables forbid what the TLB entry allows */        \
	X(UPPER_NOT_PURGED,                                                                        \
	  "upper entry cached by the walker, not purged") /* the walk began at what it kept */     \
	X(FRAME_FREED, "frame freed")     /* the TLB entry or the walker leads to a freed frame */ \
	X(NOT_CLEARED,                                                                             \
	  "not cleared for its owner") /* nobody wrote the bytes since the frame was given away */

enum sim_cause {
#define X(id, name) SIM_CAUSE_##id,
	SIM_CAUSES(X)
#undef X
		SIM_CAUSE_COUNT
};

/* Places where bytes of a line may be. */
enum sim_place {
	SIM_PLACE_L1D,
	SIM_PLACE_L1I,
	SIM_PLACE_L2,
	SIM_PLACE_MEMORY,
	SIM_PLACE_STORES, /* a store buffer */
	SIM_PLACE_COUNT,
};

/* One copy of the line of a violation, when it was seen. */
struct sim_copy {
	uint8_t place;   /* enum sim_place */
	uint8_t cpu;     /* L1 and store buffers */
	uint8_t way;     /* caches */
	uint8_t dirty;
	uint8_t right;   /* it holds what should have been read */
	uint8_t read;    /* it is the one that was read */
	uint8_t guilty;  /* the one that the maintenance due should have cleaned or dropped */
	uint8_t has_colour; /* the cache has colours */
	uint16_t colour; /* page number bits of its index */
	uint32_t set;    /* caches */
};

#define SIM_COPIES_KEPT 10

/* Who wrote something, and under which label. */
struct sim_author {
	enum sim_party party;
	unsigned cpu;
	uint32_t label;
};

struct sim_violation {
	enum sim_kind kind;
	enum sim_cause cause;
	enum sim_party observer;
	unsigned cpu;       /* of the observer */
	/*
	 * address it used; 0 for devices and walkers. STALE_TLB, UPPER_NOT_PURGED: the address
	 * translated
	 */
	uintptr_t va;
	/*
	 * first byte that differs; STALE_TLB, UPPER_NOT_PURGED: the deciding descriptor, or (TLB)
	 * the freed frame
	 */
	quire_pa_t pa;
	/* up to 8 bytes from pa on, little end first; EXPOSED, not cleared: 0 */
	uint64_t expected;
	uint64_t got;
	unsigned bytes;     /* of expected and got */
	unsigned level;     /* UPPER_NOT_PURGED: of the table that held the entry; the root is 0 */
	enum sim_party writer; /* who wrote what was missed */
	unsigned writer_cpu;
	uint32_t writer_label; /* sim_label in force then */
	uint32_t label;        /* and now */
	/*
	 * Whose earlier content `got` equals: with options.history only, and as far back as it
	 * goes.
	 */
	bool got_known;
	bool got_former;       /* it is from before the frame's present owner */
	struct sim_author got_author;
	uint64_t repeats;      /* further violations at the same places that were counted only */
	/*
	 * DROPPED, NO_BARRIER: the operation. QUIRE_SITE_COUNT: outside any site, or there was
	 * none.
	 */
	enum quire_site site;
	uint32_t site_label;
	unsigned copy_count;
	struct sim_copy copies[SIM_COPIES_KEPT];
};

const char *sim_kind_name(enum sim_kind kind);   /* NULL beyond the list */
const char *sim_cause_name(enum sim_cause cause); /* NULL beyond the list */

/* Marks later accesses (the lab: number of the statement that runs). 24 bits. */
void sim_label(struct sim *sim, uint32_t label);
uint64_t sim_violations(const struct sim *sim);
/* Forgets all violations: for a host that knows them to be harmless. */
void sim_forget_violations(struct sim *sim);
/*
 * Those that are described: the first ones, and then the first at each further place (observer,
 * writer, and their labels), up to SIM_VIOLATIONS_KEPT in all; NULL beyond.
 */
#define SIM_VIOLATIONS_KEPT 16
const struct sim_violation *sim_violation(const struct sim *sim, unsigned n);

/*
 * Who owns which frame. The kernel under test says when it takes frames from its free memory, for
 * itself or for a program, and when it gives them back; whole pages. A frame that was never given
 * is nobody's, and nothing is said of it. In one that was given, bytes that nobody wrote since are
 * a former owner's: a user, a fetch, a walker or a device that reads them is a violation; the
 * kernel may read them, and copies carry the mark on. An access through a TLB entry to a freed
 * frame, and a walk through one, is a violation too.
 */
void sim_frames_given(struct sim *sim, quire_pa_t pa, uint64_t bytes);
void sim_frames_freed(struct sim *sim, quire_pa_t pa, uint64_t bytes);

/*
 * The current CPU enters and leaves the kernel; calls nest. A TLB entry that an operation of the
 * kernel made stale may be used until that operation returns: what a CPU stores between enter and
 * leave counts against TLB entries from its leave on. A kernel that never says so has each store
 * count at once. The fault trap is bracketed by the sim.
 */
void sim_enter(struct sim *sim);
void sim_leave(struct sim *sim);

/* --- Maintenance account ---------------------------------------------------------------------- */

/* Kinds of maintenance instruction. */
#define SIM_OPS(X)                                                                                 \
	X(DATA_CLEAN, "data clean")                                                                \
	X(DATA_INVALIDATE, "data invalidate")                                                      \
	X(DATA_FLUSH, "data flush")                                                                \
	X(DATA_SET, "data set/way")                                                                \
	X(INSN_LINE, "insn invalidate")                                                            \
	X(INSN_SET, "insn set/way")                                                                \
	X(INSN_ALL, "insn invalidate all")                                                         \
	X(OUTER, "outer")                                                                          \
	X(TLB_ENTRY, "tlb entry")                                                                  \
	X(TLB_ALL, "tlb all")                                                                      \
	X(BARRIER, "barrier")

enum sim_op {
#define X(id, name) SIM_OP_##id,
	SIM_OPS(X)
#undef X
		SIM_OP_COUNT
};

struct sim_account {
	uint64_t count;
	/* found nothing to do: cleaned what was not dirty, invalidated what was not there */
	uint64_t idle;
	uint64_t ticks; /* time spent, all CPUs */
};

/*
 * Between begin and end every maintenance instruction is booked under the site; outside, under
 * none.
 */
void sim_site_begin(struct sim *sim, enum quire_site site);
void sim_site_end(struct sim *sim, enum quire_site site);
/* site == QUIRE_SITE_COUNT: instructions outside any site. */
const struct sim_account *sim_account(const struct sim *sim, enum quire_site site, enum sim_op op);
const char *sim_op_name(enum sim_op op);

/*
 * Was an operation needed? X(identifier, words). It was if some later read would have been wrong
 * without it. The verdicts are safe, not exact (sim/needless.c): what was needed is never called
 * needless, and all that are called needless could have been left out together.
 */
#define SIM_VERDICTS(X)                                                                            \
	X(NEEDED, "needed")                                                                        \
	X(NOTHING_DIRTY, "nothing dirty") /* a clean of a line that was not dirty */               \
	X(NOTHING_THERE, "nothing there") /* no line, no TLB entry */                              \
	X(TWICE, "twice")       /* one before or after it did the same, with no read in between */ \
	X(NOT_READ, "not read") /* nobody would have read it wrongly before it left by itself */   \
	X(UNDECIDED, "undecided") /* open when the run ended, or beyond what is followed */

enum sim_verdict {
#define X(id, name) SIM_VERDICT_##id,
	SIM_VERDICTS(X)
#undef X
		SIM_VERDICT_COUNT
};

struct sim_need {
	uint64_t count[SIM_VERDICT_COUNT];
	uint64_t ticks[SIM_VERDICT_COUNT];
};

/* Barriers have none. NULL: options.needless is off. */
const struct sim_need *sim_need(const struct sim *sim, enum quire_site site, enum sim_op op);
const char *sim_verdict_name(enum sim_verdict verdict); /* NULL beyond the list */
/* Decides what has left the caches unnoticed: before the results of a run are taken. */
void sim_needless_settle(struct sim *sim);

struct sim_counts {
	uint64_t lines;      /* line accesses of the data side */
	uint64_t l1_misses, l2_misses;
	uint64_t tlb_misses, walks;
	uint64_t writebacks; /* dirty lines that left L1 */
};

void sim_counts(const struct sim *sim, struct sim_counts *counts);

/*
 * What the program did that a machine cannot go on from (an access that faults for ever), as a
 * sentence of the sim's; NULL: nothing. The access itself gave -QUIRE_EFAULT.
 */
const char *sim_complaint(const struct sim *sim);

#endif
