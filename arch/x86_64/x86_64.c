/*
 * x86-64: four-level tables walked and marked by hardware, coherent caches, TLBs that only their
 * own CPU can purge.
 *
 * The one hard thing here is the shootdown. A CPU's bit in context->cpus is set before it loads the
 * context's root and cleared after it loaded another, which drops all its entries (no PCIDs, no
 * global user entries). Whoever changes an entry stores it first and reads the bits afterwards: a
 * CPU whose bit was not seen then walks the new entry (SDM volume 3, 4.10.4 and 4.10.5).
 *
 * Entries of 8 bytes at every level (SDM volume 3, 4.5.4):
 *
 *    63   62..52   51..12   11..9   8    7     6    5    4     3     2     1     0
 *   | NX | unused | frame | unused | G | PAT | D  | A  | PCD | PWT | U/S | R/W | P |
 */
#include <insn/x86_64.h>

#include "arch/support.h"
#include <quire/quire.h>

#define X86_PRESENT       ((uint64_t)1 << 0)
#define X86_WRITE         ((uint64_t)1 << 1)
#define X86_USER          ((uint64_t)1 << 2)
#define X86_WRITE_THROUGH ((uint64_t)1 << 3)
#define X86_CACHE_DISABLE ((uint64_t)1 << 4)
#define X86_ACCESSED      ((uint64_t)1 << 5)
#define X86_DIRTY         ((uint64_t)1 << 6)
#define X86_NO_EXEC       ((uint64_t)1 << 63)
#define X86_UNCACHED      (X86_CACHE_DISABLE | X86_WRITE_THROUGH)
#define X86_ADDRESS       ((((uint64_t)1 << 52) - 1) & ~(uint64_t)QUIRE_PAGE_MASK)

#define X86_TABLE_ENTRIES 512
#define X86_KERNEL_HALF   256 /* entries of the root from here on are the kernel's */

/* CPUID leaves: SDM volume 2, CPUID. */
#define CPUID_CACHES    4
#define CPUID_TLBS      0x18
#define CPUID_EXTENDED  0x80000001u
#define CPUID_LONG_MODE (1u << 29)

/* Where CPUID tells nothing of TLBs: what the smallest second-level data TLB of a 64-bit CPU holds.
 */
#define X86_TLB_ENTRIES_LEAST 64

struct x86_state {
	uint64_t kernel_root; /* CR3 at boot: translations of the kernel only */
	struct quire_context *loaded[QUIRE_CPUS_MAX]; /* each CPU's own; NULL: the kernel's */
};

/* --- Table entries ----------------------------------------------------------------------- */

static uint64_t x86_encode(struct quire_entry entry)
{
	uint64_t raw = (entry.frame << QUIRE_PAGE_SHIFT) & X86_ADDRESS;

	if (entry.bits & QUIRE_ENTRY_PRESENT)
		raw |= X86_PRESENT | X86_USER;
	if (entry.bits & QUIRE_ENTRY_WRITE)
		raw |= X86_WRITE;
	if (!(entry.bits & QUIRE_ENTRY_EXEC))
		raw |= X86_NO_EXEC;
	if (entry.bits & QUIRE_ENTRY_DIRTY)
		raw |= X86_DIRTY;
	if (entry.bits & QUIRE_ENTRY_YOUNG)
		raw |= X86_ACCESSED;
	if (entry.bits & QUIRE_ENTRY_UNCACHED)
		raw |= X86_UNCACHED;
	return entry.bits ? raw : 0;
}

static struct quire_entry x86_decode(uint64_t raw)
{
	struct quire_entry entry = {.frame = (raw & X86_ADDRESS) >> QUIRE_PAGE_SHIFT};

	if (!raw)
		return entry;
	entry.bits = (raw & X86_PRESENT ? QUIRE_ENTRY_PRESENT : 0u) |
		     (raw & X86_WRITE ? QUIRE_ENTRY_WRITE : 0u) |
		     (raw & X86_NO_EXEC ? 0u : QUIRE_ENTRY_EXEC) |
		     (raw & X86_DIRTY ? QUIRE_ENTRY_DIRTY : 0u) |
		     (raw & X86_ACCESSED ? QUIRE_ENTRY_YOUNG : 0u) |
		     (raw & X86_CACHE_DISABLE ? QUIRE_ENTRY_UNCACHED : 0u);
	return entry;
}

/*
 * An upper entry without R/W forbids stores to all below it: the effective right is the AND of all
 * levels (SDM volume 3, 4.6.1).
 */
static uint64_t x86_encode_table(unsigned level, quire_pa_t table, bool read_only)
{
	(void)level;
	return (table & X86_ADDRESS) | X86_PRESENT | X86_USER | X86_ACCESSED |
	       (read_only ? 0 : X86_WRITE);
}

static bool x86_decode_table(unsigned level, uint64_t raw, quire_pa_t *table, bool *read_only)
{
	(void)level;
	if (!(raw & X86_PRESENT))
		return false;
	*table = raw & X86_ADDRESS;
	*read_only = !(raw & X86_WRITE);
	return true;
}

static uint64_t x86_load_entry(struct quire_machine *machine, uintptr_t entry, unsigned level)
{
	(void)level;
	return x86_load(machine->port.hw, entry);
}

static void x86_store_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			    uint64_t raw)
{
	(void)level;
	x86_store(machine->port.hw, entry, raw);
}

static bool x86_replace_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			      uint64_t old, uint64_t raw)
{
	(void)level;
	return x86_cmpxchg(machine->port.hw, entry, old, raw);
}

/* The walker is a client of the coherent caches. */
static void x86_clean_entries(struct quire_machine *machine, uintptr_t entry, size_t bytes)
{
	(void)machine;
	(void)entry;
	(void)bytes;
}

/* Walks are ordered after the stores of their CPU; absent entries are never cached (SDM volume
 * 3, 4.10.2.3). */
static void x86_entry_barrier(struct quire_machine *machine)
{
	(void)machine;
}

/* --- Boot -------------------------------------------------------------------------------- */

/* Deterministic cache parameters: the first level's D and I cache. */
static void x86_find_caches(struct quire_machine *machine)
{
	struct quire_traits *traits = &machine->traits;

	for (uint32_t index = 0; index < 8; index++) {
		struct x86_cpuid id = x86_cpuid(machine->port.hw, CPUID_CACHES, index);
		uint32_t type = id.eax & 31, level = (id.eax >> 5) & 7;
		uint32_t line = (id.ebx & 0xfff) + 1;
		uint32_t partitions = ((id.ebx >> 12) & 0x3ff) + 1;
		size_t bytes =
			(size_t)line * partitions * ((id.ebx >> 22) + 1) * ((size_t)id.ecx + 1);

		if (type == 0)
			break;
		if (level != 1)
			continue;
		if (type == 1 || type == 3) {
			traits->data_bytes = bytes;
			traits->data_line_bytes = line;
		}
		if (type == 2 || type == 3) {
			traits->insn_bytes = bytes;
			traits->insn_line_bytes = line;
		}
	}
}

/* The largest TLB that holds data translations of 4 KB pages. */
static unsigned x86_tlb_entries(struct quire_machine *machine)
{
	unsigned most = 0;

	if (x86_cpuid(machine->port.hw, 0, 0).eax < CPUID_TLBS)
		return X86_TLB_ENTRIES_LEAST;
	for (uint32_t index = 0;
	     index <= x86_cpuid(machine->port.hw, CPUID_TLBS, 0).eax && index < 32; index++) {
		struct x86_cpuid id = x86_cpuid(machine->port.hw, CPUID_TLBS, index);
		uint32_t type = id.edx & 31;
		unsigned entries = (id.ebx >> 16) * id.ecx;

		if ((type == 1 || type == 3) && (id.ebx & 1) && entries > most)
			most = entries;
	}
	return most ? most : X86_TLB_ENTRIES_LEAST;
}

/* Caches are coherent from reset on; they need not be emptied. */
static void x86_empty_cpu(struct quire_machine *machine)
{
	x86_set_cr3(machine->port.hw, x86_cr3(machine->port.hw));
}

static void x86_boot_cpu(struct quire_machine *machine)
{
	(void)machine;
}

static int x86_boot(struct quire_machine *machine)
{
	struct quire_traits *traits = &machine->traits;
	struct x86_state *state;

	if (!(x86_cpuid(machine->port.hw, CPUID_EXTENDED, 0).edx & CPUID_LONG_MODE))
		return -QUIRE_ENODEV;
	state = arch_alloc(machine, sizeof(*state));
	if (!state)
		return -QUIRE_ENOMEM;
	state->kernel_root = x86_cr3(machine->port.hw);
	machine->state = state;
	*traits = (struct quire_traits){
		.data_broadcast = true,
		.insn_snoops_data = true,
		.insn_broadcast = true,
		.walker_sees_data = true,
		.devices_see_data = true,
		.dirty_by_hardware = true,
		/* a page fault drops what led to it (SDM volume 3, 4.10.4.1) */
		.fault_walks_again = true,
		.subtree_protect = true,
		.tlb_entries = x86_tlb_entries(machine),
	};
	x86_find_caches(machine);
	return 0;
}

static void x86_halt(struct quire_machine *machine)
{
	arch_free(machine, machine->state, sizeof(struct x86_state));
	machine->state = NULL;
}

static uint64_t x86_cycles(struct quire_machine *machine)
{
	return x86_rdtsc(machine->port.hw);
}

/* --- Contexts ---------------------------------------------------------------------------- */

/* Each root carries the kernel's upper half, so that traps find the kernel. */
static int x86_context_create(struct quire_machine *machine, struct quire_context *context)
{
	const struct x86_state *state = machine->state;
	uintptr_t kernel_root = quire_kernel_address(machine, state->kernel_root & X86_ADDRESS);

	context->number = 0;
	context->generation = 0;
	context->cpus = 0;
	if (!(state->kernel_root & X86_ADDRESS))
		return 0; /* the kernel runs without translations (simulator) */
	for (unsigned i = X86_KERNEL_HALF; i < X86_TABLE_ENTRIES; i++) {
		uint64_t raw = x86_load(machine->port.hw, kernel_root + i * sizeof(raw));

		x86_store(machine->port.hw, context->root + i * sizeof(raw), raw);
	}
	return 0;
}

static void x86_context_destroy(struct quire_machine *machine, struct quire_context *context)
{
	(void)machine;
	context->root = 0;
}

static void x86_activate(struct quire_machine *machine, struct quire_context *context)
{
	struct x86_state *state = machine->state;
	unsigned cpu = arch_cpu(machine);
	uint64_t self = (uint64_t)1 << cpu;
	struct quire_context *before = state->loaded[cpu];

	if (before == context)
		return;
	if (context)
		__atomic_fetch_or(&context->cpus, self, __ATOMIC_SEQ_CST);
	state->loaded[cpu] = context;
	x86_set_cr3(machine->port.hw,
		    context ? context->root - machine->port.kernel_base : state->kernel_root);
	if (before)
		__atomic_fetch_and(&before->cpus, ~self, __ATOMIC_SEQ_CST);
}

/* --- TLB --------------------------------------------------------------------------------- */

struct x86_purge {
	struct quire_machine *machine;
	struct quire_context *context; /* NULL: whatever is loaded */
	uintptr_t va;
	size_t bytes; /* 0: everything */
};

/* On each CPU: one that has loaded another context meanwhile has dropped its entries by that. */
static void x86_purge_here(void *arg)
{
	const struct x86_purge *purge = arg;
	struct quire_machine *machine = purge->machine;
	const struct x86_state *state = machine->state;

	if (purge->context && state->loaded[arch_cpu(machine)] != purge->context)
		return;
	if (!purge->bytes)
		x86_set_cr3(machine->port.hw, x86_cr3(machine->port.hw));
	for (size_t done = 0; done < purge->bytes; done += QUIRE_PAGE_BYTES)
		x86_invlpg(machine->port.hw, purge->va + done);
}

static void x86_purge(struct x86_purge *purge)
{
	uint64_t cpus = arch_all_cpus(purge->machine);

	/* The entries were stored before the bits are read: see the top. */
	x86_mfence(purge->machine->port.hw);
	if (purge->context)
		cpus &= __atomic_load_n(&purge->context->cpus, __ATOMIC_SEQ_CST);
	arch_on_cpus(purge->machine, cpus, x86_purge_here, purge);
}

static void x86_tlb_purge(struct quire_machine *machine, struct quire_context *context,
			  uintptr_t va, size_t bytes)
{
	uintptr_t low = arch_round_down(va, QUIRE_PAGE_BYTES);
	struct x86_purge purge = {machine, context, low, bytes + (va - low)};

	if (bytes)
		x86_purge(&purge);
}

static void x86_tlb_purge_space(struct quire_machine *machine, struct quire_context *context)
{
	struct x86_purge purge = {.machine = machine, .context = context};

	x86_purge(&purge);
}

static void x86_tlb_purge_all(struct quire_machine *machine)
{
	x86_tlb_purge_space(machine, NULL);
}

/* --- Caches ------------------------------------------------------------------------------ */

/* Coherent with each other, with fetches, walkers and devices: SDM volume 3, 11.3 and 11.6. */

static void x86_data(struct quire_machine *machine, uintptr_t kva, size_t bytes,
		     enum quire_cache_op op)
{
	(void)machine;
	(void)kva;
	(void)bytes;
	(void)op;
}

static void x86_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		     uintptr_t alias_va)
{
	(void)machine;
	(void)page;
	(void)kva;
	(void)alias_va;
}

static uintptr_t x86_alias_map(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va)
{
	(void)alias_va;
	return quire_kernel_address(machine, page);
}

static void x86_alias_unmap(struct quire_machine *machine, uintptr_t alias)
{
	(void)machine;
	(void)alias;
}

static void x86_whole(struct quire_machine *machine)
{
	(void)machine;
}

static void x86_dma(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
		    enum quire_dma_direction direction)
{
	(void)machine;
	(void)pa;
	(void)bytes;
	(void)direction;
}

const struct quire_arch quire_arch_x86_64 = {
	.name = "x86_64",
	.table =
		{
			.levels = 4,
			.root_order = 0,
			.shift = {39, 30, 21, 12},
			.bits = {9, 9, 9, 9},
			.entry_bytes = {8, 8, 8, 8},
			.user_low = QUIRE_PAGE_BYTES,
			/* One page short of the canonical half: SYSRET to its end would trap in the
			   kernel. */
			.user_high = ((uintptr_t)1 << 47) - QUIRE_PAGE_BYTES,
		},
	.boot = x86_boot,
	.empty_cpu = x86_empty_cpu,
	.boot_cpu = x86_boot_cpu,
	.halt = x86_halt,
	.cycles = x86_cycles,
	.encode = x86_encode,
	.decode = x86_decode,
	.encode_table = x86_encode_table,
	.decode_table = x86_decode_table,
	.load_entry = x86_load_entry,
	.store_entry = x86_store_entry,
	.replace_entry = x86_replace_entry,
	.clean_entries = x86_clean_entries,
	.entry_barrier = x86_entry_barrier,
	.context_create = x86_context_create,
	.context_destroy = x86_context_destroy,
	.activate = x86_activate,
	.tlb_purge = x86_tlb_purge,
	.tlb_purge_space = x86_tlb_purge_space,
	.tlb_purge_all = x86_tlb_purge_all,
	.data = x86_data,
	.alias_map = x86_alias_map,
	.alias_unmap = x86_alias_unmap,
	.insn = x86_insn,
	.whole_data = x86_whole,
	.whole_insn = x86_whole,
	.dma_prepare = x86_dma,
	.dma_finish = x86_dma,
};
