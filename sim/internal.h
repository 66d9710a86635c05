/*
 * The inside of the simulated machine, for the files of sim/ only.
 *
 * Who does what: access.c moves lines between CPU, L1, L2 and memory; maintain.c does maintenance
 * on lines already found by (va, pa) or set and way; tlb.c, walker.c and walk_cache.c turn va into
 * pa; insn_*.c are instructions, made of those; store_buffer.c delays small stores. struct sim is
 * also the struct quire_hw of instructions.
 */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

#include <string.h>

#include "sim/cache.h"
#include "sim/sim.h"

struct sim_tlb_state;    /* sim/tlb.h */
struct sim_store_buffer; /* store_buffer.c */

/* Registers of a CPU that instructions set and translation reads. */
struct sim_registers {
	uint32_t ttbr0, contextidr, sctlr, csselr; /* ARMv7 */
	uint64_t user_space;                       /* PA-RISC: space of user addresses */
	uint64_t cr3;                              /* x86-64 */
	/*
	 * PA-RISC flush-entry instructions, D and I (insn_parisc.c): where the last one was; its
	 * way, plus 1.
	 */
	uintptr_t entry_offset[2];
	uint32_t entry_way[2]; /* 0: there was none */
};

/* Words that kernels stored in operations that have not returned: owners.c. */
#define SIM_CHANGES_MAX 64u

struct sim_changes {
	unsigned count;
	/* there were more: all of memory counts as changed until no CPU is in the kernel */
	bool overflow;
	struct sim_change {
		uint32_t word; /* physical address / 8 */
		uint16_t cpu, depth;
	} changes[SIM_CHANGES_MAX];
};

struct sim_cpu {
	uint64_t ticks;
	unsigned depth; /* operations of the kernel that run on it, within each other: sim_enter */
	struct cache l1i, l1d;
	struct sim_tlb_state *tlb;
	struct sim_store_buffer *stores; /* NULL where machine.store_buffer is 0 */
	struct sim_registers registers;
};

/* Memory, or the witness's reference of it: costs the host only what is touched. */
struct sim_memory {
	uint8_t *bytes;
	size_t size;
	bool mapped; /* by mmap: the host's allocator is in use */
};

/* sim.c: malloc and its like. */
extern const struct sim_allocator sim_host_allocator;

/* 0 or -QUIRE_ENOMEM; all bytes are 0. destroy takes what create refused. */
int sim_memory_create(struct sim_memory *memory, uint64_t bytes,
		      const struct sim_allocator *allocator);
void sim_memory_destroy(struct sim_memory *memory, const struct sim_allocator *allocator);

/* The miss handler is being asked what the tables mean to say: sim_traps.tlb_reference, tlb.c. */
struct sim_reference_fill {
	bool is;
	bool found;          /* it inserted */
	uint64_t frame;
	unsigned bits;       /* SIM_TLB_ bits of tlb.h */
	quire_pa_t last;     /* the last word it loaded: the entry that decided */
};

/* Pages mapped without a kernel: bare.c. */
struct sim_bare {
	unsigned count; /* 0: the machine translates as its ISA says */
	struct sim_bare_page {
		uint64_t page, frame;
		bool uncached;
	} pages[SIM_BARE_PAGES];
};

/* A dirty line that maintenance invalidated while it held what the reference holds. */
struct sim_drop {
	quire_pa_t line; /* its number */
	uint32_t writer; /* the line's writer word then */
	uint32_t label;
	enum quire_site site;
	bool used;
};

#define SIM_DROPS_KEPT 16u

struct sim_history;  /* history.c */
struct sim_needless; /* needless_internal.h */

struct sim_witness {
	struct sim_memory reference; /* what memory would hold were there no caches */
	struct sim_memory writers;   /* a 32-bit word a line: see witness.c */
	uint64_t violations;
	unsigned kept;
	struct sim_violation first[SIM_VIOLATIONS_KEPT];
	struct sim_history *history; /* NULL: options.history is off */
	unsigned next_drop;
	struct sim_drop drops[SIM_DROPS_KEPT]; /* a ring */
};

/* Bytes of a frame that nobody wrote since the frame was given: owners.c. */
#define SIM_FOREIGN_RANGES 8u
#define SIM_FOREIGN_MAX 64u

struct sim_foreign {
	uint32_t frame;
	uint32_t count;
	uint16_t from[SIM_FOREIGN_RANGES], to[SIM_FOREIGN_RANGES]; /* offsets in the page */
};

enum sim_frame_state {
	SIM_FRAME_UNKNOWN = 0, /* never given or freed */
	SIM_FRAME_GIVEN,
	SIM_FRAME_FREED,
};

struct sim_owners {
	uint8_t *frames; /* enum sim_frame_state of each */
	unsigned count;
	struct sim_foreign foreign[SIM_FOREIGN_MAX]; /* the first `count` */
};

struct sim {
	struct sim_machine machine;
	struct sim_allocator allocator;
	uintptr_t kernel_base;
	uintptr_t alias_window;  /* 0: none */
	uint64_t alias_bytes;    /* length of the window */
	unsigned current;        /* number of the current CPU */
	struct sim_cpu *cpu;     /* the current CPU */
	struct sim_cpu cpus[QUIRE_CPUS_MAX];
	struct cache l2;         /* l2.present false: none */
	struct sim_memory memory;
	struct sim_witness witness;
	struct sim_traps traps;
	uint32_t label;
	enum quire_site site;    /* QUIRE_SITE_COUNT: none */
	struct sim_account accounts[QUIRE_SITE_COUNT + 1][SIM_OP_COUNT];
	struct sim_counts counts;
	const char *complaint;   /* sim_complaint */
	struct sim_bare bare;
	struct sim_options options;
	struct sim_needless *needless; /* NULL: options.needless is off. needless.h */
	struct sim_pending *pending; /* NULL: maintenance acts at once */
	struct sim_owners owners;
	struct sim_changes changes;
	struct sim_reference_fill reference_fill;
};

static inline struct sim *sim_of(struct quire_hw *hw)
{
	return (struct sim *)hw;
}

/* --- Saving ----------------------------------------------------------------------------------- */

/* Bytes of the bulk are written. `touched` may be NULL. */
static inline void sim_touch(const struct sim_touched *touched, const void *start, size_t bytes)
{
	size_t at, last;

	if (!touched)
		return;
	at = (size_t)((const uint8_t *)start - touched->base);
	last = (at + bytes - 1) >> SIM_GRANULE_SHIFT;
	for (at >>= SIM_GRANULE_SHIFT; at <= last; at++)
		touched->granules[at / 64] |= (uint64_t)1 << at % 64;
}

/* --- Addresses -------------------------------------------------------------------------------- */

static inline bool sim_is_linear(const struct sim *sim, uintptr_t va)
{
	return va - sim->kernel_base < sim->machine.memory_bytes;
}

static inline bool sim_is_alias(const struct sim *sim, uintptr_t va)
{
	return va - sim->alias_window < sim->alias_bytes;
}

static inline bool sim_is_kernel(const struct sim *sim, uintptr_t va)
{
	return sim_is_linear(sim, va) || sim_is_alias(sim, va);
}

/*
 * tlb.c: va, not linear, on the current CPU: TLB, walk or software fill, fault trap and retry, all
 * charged. 0 with *pa and *uncached set, or the trap's error. `nonaccess`: a cache operation: no
 * fault trap is called; a miss that finds no translation gives -QUIRE_EFAULT.
 */
int sim_translate(struct sim *sim, uintptr_t va, enum quire_access access, bool nonaccess,
		  quire_pa_t *pa, bool *uncached);
/* bare.c: does the machine translate by the table of sim_map_bare? */
static inline bool sim_is_bare(const struct sim *sim)
{
	return sim->bare.count || sim->machine.isa == SIM_BARE;
}

/* bare.c: a TLB miss of such a machine. 0, or -QUIRE_EFAULT: the page is not mapped. */
int sim_bare_fill(struct sim *sim, uintptr_t va);
/* Made with each CPU. NULL: no memory. destroy takes NULL. */
struct sim_tlb_state *sim_tlb_create(const struct sim_machine *machine,
				     const struct sim_allocator *allocator);
void sim_tlb_destroy(struct sim_tlb_state *tlb, const struct sim_allocator *allocator);

/* Any address: linear ones without the TLB, at no cost; others by sim_translate. */
static inline int sim_resolve(struct sim *sim, uintptr_t va, enum quire_access access,
			      quire_pa_t *pa, bool *uncached)
{
	if (sim_is_linear(sim, va)) {
		*pa = va - sim->kernel_base;
		*uncached = false;
		return 0;
	}
	return sim_translate(sim, va, access, false, pa, uncached);
}

/* --- Accesses by (va, pa): access.c --------------------------------------------------------------
 *
 * By the current CPU through its L1 D; charged and counted. `bytes` do not leave the line.
 */
/* not witnessed */
void sim_line_load(struct sim *sim, uintptr_t va, quire_pa_t pa, void *to, unsigned bytes);
/* not witnessed */
void sim_line_store(struct sim *sim, uintptr_t va, quire_pa_t pa, const void *from, unsigned bytes);
/* A line of instructions through the current CPU's L1 I; charged, not witnessed. */
void sim_line_fetch(struct sim *sim, uintptr_t va, quire_pa_t pa);
/* Past all caches; not witnessed. `bytes` 1 to 8. */
uint64_t sim_uncached_load(struct sim *sim, quire_pa_t pa, unsigned bytes);
void sim_uncached_store(struct sim *sim, quire_pa_t pa, unsigned bytes, uint64_t value);
/* Is there memory at all these addresses? */
static inline bool sim_in_memory(const struct sim *sim, quire_pa_t pa, size_t bytes)
{
	return pa < sim->machine.memory_bytes && bytes <= sim->machine.memory_bytes - pa;
}
/*
 * What the table walker reads, at the machine's walker level; charged and witnessed as
 * SIM_PARTY_WALKER.
 */
uint64_t sim_walker_read(struct sim *sim, quire_pa_t pa, unsigned bytes);
uint64_t sim_walker_load(struct sim *sim, quire_pa_t pa, unsigned bytes); /* not witnessed */
/* peek.c: the same, at no cost, and no cache changes. Where no memory is: 0. */
uint64_t sim_walker_peek(struct sim *sim, quire_pa_t pa, unsigned bytes);
/* The walker sets bits of an entry (accessed, dirty): the same way. */
void sim_walker_write(struct sim *sim, quire_pa_t pa, unsigned bytes, uint64_t value);

/* --- Store buffer: store_buffer.c ----------------------------------------------------------------
 *
 * sim_store witnesses the store, then hands it to `put`, which sooner or later calls
 * sim_line_store; sim_load asks `forward` first. Bulk accesses, uncached ones and maintenance drain
 * the current CPU's buffer before.
 */
/* NULL: no memory. */
struct sim_store_buffer *sim_store_buffer_create(const struct sim_machine *machine,
						 const struct sim_allocator *allocator);
void sim_store_buffer_put(struct sim *sim, uintptr_t va, quire_pa_t pa, unsigned bytes,
			  uint64_t value);
/*
 * Before a load at va: true: *value came from the buffer; false: read the cache (what must leave
 * the buffer before, has).
 */
bool sim_store_buffer_forward(struct sim *sim, uintptr_t va, quire_pa_t pa, unsigned bytes,
			      uint64_t *value);
void sim_store_buffer_drain(struct sim *sim); /* of the current CPU */

/* For sim/digest.c: the stores that wait, in a hash. */
struct sim_digest_frame;
uint64_t sim_store_buffer_digest(const struct sim_store_buffer *buffer,
				 const struct sim_digest_frame *frames);

/* Does a store to any of the bytes wait? */
bool sim_store_buffer_holds(const struct sim_store_buffer *buffer, quire_pa_t pa, unsigned bytes);

static inline void sim_drain(struct sim *sim)
{
	if (sim->cpu->stores)
		sim_store_buffer_drain(sim);
}

/* --- The witness: witness.c ------------------------------------------------------------------- */

int sim_witness_create(struct sim_witness *witness, const struct sim_machine *machine,
		       const struct sim_allocator *allocator);
void sim_witness_destroy(struct sim_witness *witness, const struct sim_allocator *allocator);
/* Somebody read `got` at pa: compares; each line that differs is a violation. */
void sim_witness_read(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa,
		      const void *got, unsigned bytes);
/*
 * A violation that no comparison of bytes finds: kept (or only counted) as given, with the parties
 * filled in.
 */
void sim_witness_report(struct sim *sim, const struct sim_violation *violation);
/* A dirty line of `cache` is about to be invalidated by maintenance. */
void sim_witness_dropped(struct sim *sim, const struct cache *cache, uint32_t set, unsigned way);
/* Who wrote the line of pa last. */
struct sim_author sim_witness_author(const struct sim *sim, quire_pa_t pa);
struct sim_author sim_author_of(uint32_t word); /* of a writer word */
/* the writer word of the line of pa */
uint32_t sim_witness_word(const struct sim *sim, quire_pa_t pa);
/*
 * Kind, cause, copies and, with a history, the author of what was read; all else of the violation
 * is set. diagnose.c
 */
void sim_diagnose(const struct sim *sim, struct sim_violation *violation);
/* Somebody wrote: the reference takes it. */
void sim_witness_write(struct sim *sim, enum sim_party writer, quire_pa_t pa, const void *from,
		       unsigned bytes);

/* --- History: history.c: earlier contents of lines -------------------------------------------- */

struct sim_history *sim_history_create(const struct sim_machine *machine,
				       const struct sim_allocator *allocator);
/* takes NULL */
void sim_history_destroy(struct sim_history *history, const struct sim_allocator *allocator);
/* [pa, pa + bytes) is about to change in the reference, by the writer of `word`. */
void sim_history_write(struct sim *sim, quire_pa_t pa, unsigned bytes, uint32_t word);
/* The frames of [pa, pa + bytes) have a new owner. */
void sim_history_given(struct sim *sim, quire_pa_t pa, uint64_t bytes);
/* Fills got_known, got_former and got_author. */
void sim_history_search(const struct sim *sim, struct sim_violation *violation);

/* --- Owners of frames, operations of the kernel: owners.c ------------------------------------- */

static inline bool sim_frame_is_freed(const struct sim *sim, quire_pa_t pa)
{
	return sim->owners.frames[pa >> QUIRE_PAGE_SHIFT] == SIM_FRAME_FREED;
}

void sim_owners_wrote(struct sim *sim, quire_pa_t pa, size_t bytes);
/* Reports the first foreign byte of what the observer read; a piece lies within one page. */
void sim_owners_read(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa,
		     const uint8_t *got, size_t bytes);
/*
 * Bytes were copied from one frame to another: so was what is foreign among them. Pieces lie within
 * a page each.
 */
void sim_owners_copied(struct sim *sim, quire_pa_t to, quire_pa_t from, size_t bytes);
/* The current CPU's kernel stores a word. */
void sim_operation_store(struct sim *sim, quire_pa_t pa);
/* Was the word at pa stored by an operation that has not returned? */
bool sim_operation_changed(const struct sim *sim, quire_pa_t pa);

/* --- Maintenance: maintain.c ---------------------------------------------------------------------
 *
 * Each charges the current CPU as struct sim_costs says and books one instruction of kind `book`
 * under the current site. `all_cpus`: L1 of every CPU (charges cost.broadcast too when there is
 * more than one). Operations by address charge data_op, then data_op_clean or data_op_dirty by what
 * was found, then l2_write/memory_write for each line written; by set and way: data_op_set and the
 * writes only.
 */
enum sim_action {
	SIM_CLEAN = 1,
	SIM_INVALIDATE = 2, /* a dirty line is lost */
	SIM_FLUSH = 3,      /* clean, then invalidate */
};

/* What an operation found; the most over all caches it looked into. */
enum sim_found {
	SIM_FOUND_NONE,
	SIM_FOUND_CLEAN,
	SIM_FOUND_DIRTY,
};

enum sim_point {
	SIM_UNIFICATION, /* L1 only */
	SIM_COHERENCY,   /* L1, then L2 unless it is an outer cache */
};

enum sim_found sim_maintain_data(struct sim *sim, uintptr_t va, quire_pa_t pa,
				 enum sim_action action, enum sim_point point, bool all_cpus,
				 enum sim_op book);
/* This CPU's L1 D; set and way within sim->cpu->l1d.sets and .ways. Booked as DATA_SET. */
enum sim_found sim_maintain_data_set(struct sim *sim, uint32_t set, unsigned way,
				     enum sim_action action);
/* L2 (not outer) by set and way. Booked as DATA_SET. */
enum sim_found sim_maintain_l2_set(struct sim *sim, uint32_t set, unsigned way,
				   enum sim_action action);
/* One I line: insn_op. Booked as INSN_LINE. */
enum sim_found sim_maintain_insn(struct sim *sim, uintptr_t va, quire_pa_t pa, bool all_cpus);
/* This CPU's L1 I by set and way: insn_op_set. Booked as INSN_SET. */
enum sim_found sim_maintain_insn_set(struct sim *sim, uint32_t set, unsigned way);
/* The whole I cache: insn_all. Booked as INSN_ALL. */
enum sim_found sim_maintain_insn_all(struct sim *sim, bool all_cpus);
/* Outer cache by physical address: outer_op, and memory_write for a dirty line. Booked as OUTER. */
enum sim_found sim_maintain_outer(struct sim *sim, quire_pa_t pa, enum sim_action action);
/*
 * Outer cache by set and way, as its background operations on ways go: memory_write for dirty lines
 * only. Not booked.
 */
enum sim_found sim_maintain_outer_set(struct sim *sim, uint32_t set, unsigned way,
				      enum sim_action action);

/* --- Operations that wait: pending.c ---------------------------------------------------------- */

enum sim_target {
	SIM_TARGET_DATA, /* L1 D, and L2 where point says so, by address */
	SIM_TARGET_DATA_SET,
	SIM_TARGET_L2_SET,
	SIM_TARGET_INSN,
	SIM_TARGET_INSN_SET,
	SIM_TARGET_INSN_ALL,
	SIM_TARGET_OUTER,
	SIM_TARGET_TLB,
};

/* One operation of maintenance, issued by a CPU. */
struct sim_maintenance {
	uint8_t target; /* enum sim_target */
	uint8_t action; /* enum sim_action */
	uint8_t point;  /* enum sim_point */
	bool all_cpus;
	uint8_t cpu;    /* that issued it */
	uint8_t match;  /* TLB: SIM_PENDING_ bits */
	uint16_t sides; /* TLB: SIM_TLB_ sides */
	uint32_t set, way;
	uintptr_t va;   /* TLB: its page number */
	uint64_t pa;    /* TLB: the number of the address space */
	uint32_t label;
	enum quire_site site;
};

#define SIM_PENDING_MAX 192u

struct sim_pending {
	unsigned count;
	struct sim_maintenance ops[SIM_PENDING_MAX]; /* in the order of issue */
};

/* Acts now, for op->cpu; charges nothing. Not for the TLB. */
void sim_maintenance_carry_out(struct sim *sim, const struct sim_maintenance *op);
/* Empty; in the bulk. NULL: no memory. */
struct sim_pending *sim_pending_create(const struct sim_allocator *allocator);
/*
 * sim->pending is there. Does the operation that was issued last wait, and was it this one of the
 * current CPU on the outer cache's line of pa? (The lines that the kernel goes by may be shorter
 * than the machine's.) What takes effect from now on does so for both.
 */
bool sim_pending_repeats_outer(const struct sim *sim, quire_pa_t pa, enum sim_action action);
/* sim->pending is there. Takes the site and label of now. */
void sim_pending_add(struct sim *sim, const struct sim_maintenance *op);
/*
 * A barrier of the current CPU, or `outer` the sync of the outer cache: what it waits for is
 * complete.
 */
void sim_pending_barrier(struct sim *sim, bool outer);
/*
 * The current CPU accesses [pa, pa + bytes) at va: its operations on these very lines come first.
 */
void sim_pending_access(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes);
/*
 * An operation that waits and would clean or drop the line of pa, at whatever index; with `insn`
 * the I side's too.
 */
const struct sim_maintenance *sim_pending_on_line(const struct sim *sim, quire_pa_t pa, bool insn);

/* Charges the current CPU and books one instruction: barriers, TLB operations, outer sync. */
void sim_book(struct sim *sim, enum sim_op op, uint64_t ticks, bool idle);

#endif
