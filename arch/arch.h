/*
 * The interface between the memory manager and an architecture: struct quire_arch, a table of
 * calls.
 *
 * One file of arch/<isa>/ fills it. All of it is written over instructions (<insn/<isa>.h>, chosen
 * by the include path: arch/board/insn on a board, sim/insn in the simulator), takes its state from
 * struct quire_machine, and knows nothing of pages, areas or policies. It never decides *whether*
 * maintenance is needed: mm/coherence does, and calls it.
 *
 * Contract for all maintenance calls: the operation has reached its point (coherency, or
 * unification where said) on every CPU that may hold a copy when the call returns; the call issues
 * the barriers that needs. Addresses and sizes need not be aligned: a part of a line is a whole
 * line. Interrupts may be on or off.
 */
#ifndef QUIRE_ARCH_H
#define QUIRE_ARCH_H

#include <quire/port.h>
#include <quire/types.h>

/* What the machine is like, found at boot from its identification registers or firmware. */
struct quire_traits {
	bool data_aliases;       /* two virtual addresses of one page may have separate D lines */
	bool data_broadcast;     /* D maintenance by address reaches the D caches of all CPUs */
	bool insn_snoops_data;   /* fetches see stores without maintenance (x86) */
	/* I lines of one page may lie at several colours, or I is virtual */
	bool insn_aliases;
	bool insn_broadcast;     /* I maintenance reaches all CPUs */
	bool tlb_broadcast;      /* TLB maintenance reaches all CPUs */
	/* the table walker reads the D cache: no clean of entries needed */
	bool walker_sees_data;
	bool devices_see_data;   /* DMA is coherent */
	bool dirty_by_hardware;  /* the walker sets the dirty and accessed bits of entries */
	/* lines are filled by executed accesses only; false unless that is known */
	bool no_speculation;
	/* an access is not refused by a TLB entry alone: widened entries need no purge */
	bool fault_walks_again;
	bool subtree_protect;    /* an upper entry can forbid stores to all below it */
	/* addresses equal modulo this share D lines; 0 where data_aliases is false */
	size_t colour_bytes;
	size_t data_bytes;       /* size of the D cache of one CPU, as far as maintenance must go */
	size_t insn_bytes;
	unsigned data_line_bytes;
	unsigned insn_line_bytes;
	unsigned tlb_entries;
};

/* Machine state of one struct quire: its first member. */
struct quire_machine {
	struct quire_port port;
	const struct quire_arch *arch;
	struct quire_traits traits;
	void *state; /* the architecture's own, made by boot, freed by halt */
};

/* What a leaf entry says, independent of its format. */
enum quire_entry_bits {
	/*
	 * Without PRESENT no access is allowed, and every format keeps frame and YOUNG all the
	 * same: that is how a private page waits under PROT_NONE. An entry without any bits is
	 * absent.
	 */
	QUIRE_ENTRY_PRESENT = 1,
	/* the memory manager allows stores; effective only with DIRTY, see below */
	QUIRE_ENTRY_WRITE = 2,
	QUIRE_ENTRY_EXEC = 4,
	QUIRE_ENTRY_DIRTY = 8,     /* was stored to */
	QUIRE_ENTRY_YOUNG = 16,    /* was accessed; an entry that is not young may fault once */
	QUIRE_ENTRY_UNCACHED = 32,
};

/*
 * Where traits.dirty_by_hardware is false, an entry with WRITE but not DIRTY must fault on a store:
 * the memory manager then sets DIRTY. Where it is true, hardware sets DIRTY and YOUNG itself.
 */
struct quire_entry {
	uint64_t frame; /* physical address >> QUIRE_PAGE_SHIFT; all that the format can hold */
	unsigned bits;
};

/*
 * Tables are radix trees: level 0 is the root, level levels-1 holds leaf entries. A table of level
 * n has 2^bits[n] entries of entry_bytes[n] bytes each, indexed by va >> shift[n]; tables below the
 * root are one page.
 */
#define QUIRE_TABLE_LEVELS_MAX 4

struct quire_table_format {
	unsigned levels;
	unsigned root_order; /* the root is 2^root_order pages, naturally aligned */
	uint8_t shift[QUIRE_TABLE_LEVELS_MAX];
	uint8_t bits[QUIRE_TABLE_LEVELS_MAX];
	uint8_t entry_bytes[QUIRE_TABLE_LEVELS_MAX];
	uintptr_t user_low;  /* first user address that may be mapped */
	uintptr_t user_high; /* first address beyond */
};

/* The architecture's part of a space. */
struct quire_context {
	uintptr_t root;      /* kernel virtual address of the root table */
	uint64_t number;     /* ASID or space id */
	uint64_t generation; /* of the number, where numbers are recycled */
	uint64_t cpus;       /* CPUs that may hold TLB entries of it: set by activate, atomically */
};

enum quire_cache_op {
	QUIRE_CLEAN,
	QUIRE_INVALIDATE,
	QUIRE_FLUSH, /* clean, then invalidate */
};

enum quire_dma_direction {
	QUIRE_TO_DEVICE,
	QUIRE_FROM_DEVICE,
};

struct quire_arch {
	const char *name;
	struct quire_table_format table;

	/* --- Boot. Errors: QUIRE_ENODEV, QUIRE_ENOMEM. ---------------------------------------- */

	/* Fills machine->traits and machine->state. Then the two calls below, on each CPU. */
	int (*boot)(struct quire_machine *machine);
	/* Makes caches and TLBs of this CPU empty, whatever is in them. */
	void (*empty_cpu)(struct quire_machine *machine);
	/* Sets what Quire needs, and leaves the caches on. */
	void (*boot_cpu)(struct quire_machine *machine);
	void (*halt)(struct quire_machine *machine);

	/* A counter of CPU cycles (CR16, CCNT, TSC); differences modulo 2^64 mean something. */
	uint64_t (*cycles)(struct quire_machine *machine);

	/* --- Table entries. `entry` is the kernel virtual address of one; `level` its table's.  */

	uint64_t (*encode)(struct quire_entry entry);
	struct quire_entry (*decode)(uint64_t raw);
	/*
	 * An upper entry that points to a table; `read_only`: forbids stores below
	 * (subtree_protect).
	 */
	uint64_t (*encode_table)(unsigned level, quire_pa_t table, bool read_only);
	/* False: no table. Else the table's address and whether stores are forbidden. */
	bool (*decode_table)(unsigned level, uint64_t raw, quire_pa_t *table, bool *read_only);
	/*
	 * Loads and stores through the D cache of this CPU. Stores do no maintenance. 0 is an
	 * absent entry.
	 */
	uint64_t (*load_entry)(struct quire_machine *machine, uintptr_t entry, unsigned level);
	void (*store_entry)(struct quire_machine *machine, uintptr_t entry, unsigned level,
			    uint64_t raw);
	/*
	 * Atomically against the walker: if the entry is still `old` (as load_entry returned it)
	 * stores `raw` and returns true; else returns false and changes nothing.
	 */
	bool (*replace_entry)(struct quire_machine *machine, uintptr_t entry, unsigned level,
			      uint64_t old, uint64_t raw);
	/*
	 * Brings written entries to where a walker that does not see the D cache reads them.
	 * Complete only after the entry_barrier that must follow: one barrier serves the store and
	 * the clean.
	 */
	void (*clean_entries)(struct quire_machine *machine, uintptr_t entry, size_t bytes);
	/* Orders a store of an entry before later walks of this CPU. */
	void (*entry_barrier)(struct quire_machine *machine);

	/* --- Contexts ------------------------------------------------------------------------- */

	/* `root` is set and its table empty. Errors: QUIRE_ENOMEM. */
	int (*context_create)(struct quire_machine *machine, struct quire_context *context);
	/* No CPU has it loaded; its TLB entries were purged. */
	void (*context_destroy)(struct quire_machine *machine, struct quire_context *context);
	/* Loads it (NULL: the kernel's) on this CPU. */
	void (*activate)(struct quire_machine *machine, struct quire_context *context);

	/*
	 * --- TLB: all CPUs, all levels of walk caches. -------------------------------------------
	 *
	 * `context` NULL: the kernel's own translations. tlb_purge_all only where cross-calls can
	 * be made.
	 */

	void (*tlb_purge)(struct quire_machine *machine, struct quire_context *context,
			  uintptr_t va, size_t bytes);
	void (*tlb_purge_space)(struct quire_machine *machine, struct quire_context *context);
	void (*tlb_purge_all)(struct quire_machine *machine);

	/* Software-filled TLBs: see quire_tlb_miss. NULL where hardware walks. */
	int (*tlb_miss)(struct quire_machine *machine, struct quire_context *context, uintptr_t va,
			enum quire_access access);

	/* --- Caches --------------------------------------------------------------------------- */

	/* D lines of [kva, kva + bytes) as the kernel's linear mapping sees them. */
	void (*data)(struct quire_machine *machine, uintptr_t kva, size_t bytes,
		     enum quire_cache_op op);

	/*
	 * D lines of the page at `page`, at the colour of `alias_va`, through a kernel alias that
	 * does not depend on any user translation. NULL where traits.data_aliases is false. The
	 * caller stays on its CPU, with at most one page mapped by alias_map.
	 */
	void (*data_alias)(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va,
			   enum quire_cache_op op);

	/*
	 * Makes a temporary kernel mapping of the page at `page` at the colour of `alias_va` and
	 * returns its kernel virtual address (where no cache aliases: the linear address). Two a
	 * CPU at a time, the source and the target of a copy; the caller stays on its CPU until
	 * alias_unmap.
	 */
	uintptr_t (*alias_map)(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va);
	void (*alias_unmap)(struct quire_machine *machine, uintptr_t alias);

	/*
	 * After the D side is clean: drops stale I lines of the page at `page`, seen at kva and at
	 * user address `alias_va` (0: not seen there). May drop more. Empty where insn_snoops_data.
	 */
	void (*insn)(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		     uintptr_t alias_va);

	/*
	 * Virtually indexed caches: D or I lines of a user range through the translations of the
	 * loaded `context`, before those change. A page without a translation costs a trap a line
	 * and nothing else happens: give present pages only, or measure just that. NULL where
	 * caches behave as physically indexed.
	 */
	void (*user_data)(struct quire_machine *machine, struct quire_context *context,
			  uintptr_t va, size_t bytes);
	void (*user_insn)(struct quire_machine *machine, struct quire_context *context,
			  uintptr_t va, size_t bytes);
	/* The whole D or I cache, on every CPU (cross-call: the caller checked that it may). */
	void (*whole_data)(struct quire_machine *machine);
	void (*whole_insn)(struct quire_machine *machine);

	/*
	 * Around a DMA transfer of [pa, pa + bytes): before it starts, and after one from the
	 * device.
	 */
	void (*dma_prepare)(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			    enum quire_dma_direction direction);
	void (*dma_finish)(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			   enum quire_dma_direction direction);
};

/* The linear address of a physical one. */
static inline uintptr_t quire_kernel_address(const struct quire_machine *machine, quire_pa_t pa)
{
	return machine->port.kernel_base + (uintptr_t)pa;
}

#endif
