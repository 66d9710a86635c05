/*
 * ARMv7-A: what the identification registers tell, and the table of calls. The port's parts:
 * armv7.h.
 */
#include "arch/armv7/armv7.h"
#include <quire/quire.h>

/* SCTLR, DDI 0406C B4.1.130. */
#define SCTLR_C   (1u << 2)
#define SCTLR_Z   (1u << 11)
#define SCTLR_I   (1u << 12)
#define SCTLR_TRE (1u << 28)
#define SCTLR_AFE (1u << 29)

/* CTR.L1Ip, B4.1.42. */
#define CTR_L1IP(ctr) ((ctr) >> 14 & 3)
#define L1IP_AIVIVT   1u
#define L1IP_VIPT     2u

/* TTBR0 with the multiprocessing extensions, B4.1.154: walks are inner and outer write-back,
 * shareable. */
#define TTBR_CACHED_WALKS (1u << 6 | 1u << 5 | 1u << 3 | 1u << 1)
/* Walks go to memory. */
#define TTBR_UNCACHED_WALKS 0u

#define MIDR_PART(midr) ((midr) >> 4 & 0xfff)
#define PART_CORTEX_A9  0xc09
/* Where the size of the TLB is not told: that of the smallest ARMv7-A core, two TLBs of 32. */
#define TLB_ENTRIES_LEAST 64

/* Short descriptors without supersections hold 32 bits of a physical address. */
static bool memory_fits(const struct quire_machine *machine)
{
	const struct quire_port *port = &machine->port;

	for (unsigned i = 0; i < port->memory_ranges; i++)
		if (port->memory[i].base + port->memory[i].bytes > (uint64_t)1 << 32)
			return false;
	return true;
}

/* Cortex-A9: TLBTR[2:1] counts from 64 entries by powers of two (DDI 0388I 4.3, TLBTR). */
static unsigned tlb_entries(struct quire_machine *machine)
{
	if (MIDR_PART(armv7_midr(machine->port.hw)) != PART_CORTEX_A9)
		return TLB_ENTRIES_LEAST;
	return 64u << (armv7_tlbtr(machine->port.hw) >> 1 & 3);
}

/*
 * D side: all levels up to the point of coherency count. I side: the first level. ID_MMFR3
 * (B4.1.92) tells what maintenance reaches and what the walker sees.
 */
static void find_traits(struct quire_machine *machine)
{
	struct quire_traits *traits = &machine->traits;
	struct quire_hw *hw = machine->port.hw;
	uint32_t ctr = armv7_ctr(hw), clidr = armv7_clidr(hw), mmfr3 = armv7_id_mmfr3(hw);
	uint32_t broadcast = mmfr3 >> 12 & 0xf;
	struct armv7_geometry insn = quire_armv7_geometry(machine, 0, true);
	size_t way_bytes = (size_t)insn.line_bytes * insn.sets;
	bool alone = machine->port.cpus == 1;

	traits->data_aliases = false; /* all ARMv7 D caches behave as physically indexed (B3.11) */
	traits->data_broadcast = broadcast >= 1 || alone;
	traits->insn_snoops_data = false;
	traits->insn_aliases = CTR_L1IP(ctr) == L1IP_AIVIVT ||
			       (CTR_L1IP(ctr) == L1IP_VIPT && way_bytes > QUIRE_PAGE_BYTES);
	traits->insn_broadcast = broadcast >= 1 || alone;
	traits->tlb_broadcast = broadcast >= 2 || alone;
	traits->walker_sees_data = (mmfr3 >> 20 & 0xf) == 1;
	traits->devices_see_data = machine->port.devices_see_data;
	traits->dirty_by_hardware = false;
	traits->subtree_protect = false;
	traits->colour_bytes = 0;
	traits->data_bytes = 0;
	traits->insn_bytes = way_bytes * insn.ways;
	traits->data_line_bytes = 4u << (ctr >> 16 & 0xf);
	traits->insn_line_bytes = 4u << (ctr & 0xf);
	traits->tlb_entries = tlb_entries(machine);
	armv7_state(machine)->insn_shared = broadcast >= 1;
	armv7_state(machine)->tlb_shared = broadcast >= 2;
	armv7_state(machine)->levels = clidr >> 24 & 7;
	for (unsigned level = 0; level < armv7_state(machine)->levels; level++) {
		struct armv7_geometry data = quire_armv7_geometry(machine, level, false);

		traits->data_bytes += (size_t)data.line_bytes * data.sets * data.ways;
	}
}

static void armv7_empty_cpu(struct quire_machine *machine)
{
	quire_armv7_caches_here(machine);
	armv7_tlbiall(machine->port.hw);
	armv7_dsb(machine->port.hw);
}

static void armv7_boot_cpu(struct quire_machine *machine)
{
	struct quire_hw *hw = machine->port.hw;

	armv7_set_sctlr(hw, armv7_sctlr(hw) | SCTLR_AFE | SCTLR_TRE | SCTLR_I | SCTLR_Z | SCTLR_C);
	armv7_isb(hw);
}

static int armv7_boot(struct quire_machine *machine)
{
	struct armv7_state *state;

	if (!memory_fits(machine))
		return -QUIRE_ENODEV;
	state = arch_alloc(machine, armv7_state_bytes(machine));
	if (!state)
		return -QUIRE_ENOMEM;
	machine->state = state;
	quire_atomic_init(&state->lock, 0);
	quire_atomic_init(&state->outer, 0);
	state->generation = 1;
	state->kernel_ttbr0 = armv7_ttbr0(machine->port.hw);
	state->pl310 = armv7_pl310_base(machine->port.hw);
	find_traits(machine);
	state->ttbr0_flags =
		machine->traits.walker_sees_data ? TTBR_CACHED_WALKS : TTBR_UNCACHED_WALKS;
	return 0;
}

static void armv7_halt(struct quire_machine *machine)
{
	quire_armv7_activate(machine, NULL);
	arch_free(machine, machine->state, armv7_state_bytes(machine));
	machine->state = NULL;
}

/* PMCCNTR has 32 bits: right while it is read on each CPU at least once in 2^32 cycles. */
static uint64_t armv7_cycles(struct quire_machine *machine)
{
	struct armv7_cpu *cpu = &armv7_state(machine)->cpu[arch_cpu(machine)];

	cpu->cycles += (uint32_t)(armv7_pmccntr(machine->port.hw) - (uint32_t)cpu->cycles);
	return cpu->cycles;
}

const struct quire_arch quire_arch_armv7 = {
	.name = "armv7",
	.table =
		{
			.levels = 2,
			.root_order = 2,
			.shift = {22, 12},
			.bits = {10, 10},
			.entry_bytes = {16, 4},
			.user_low = QUIRE_PAGE_BYTES,
			.user_high = 0x80000000u,
		},
	.boot = armv7_boot,
	.empty_cpu = armv7_empty_cpu,
	.boot_cpu = armv7_boot_cpu,
	.halt = armv7_halt,
	.cycles = armv7_cycles,
	.encode = quire_armv7_encode,
	.decode = quire_armv7_decode,
	.encode_table = quire_armv7_encode_table,
	.decode_table = quire_armv7_decode_table,
	.load_entry = quire_armv7_load_entry,
	.store_entry = quire_armv7_store_entry,
	.replace_entry = quire_armv7_replace_entry,
	.clean_entries = quire_armv7_clean_entries,
	.entry_barrier = quire_armv7_entry_barrier,
	.context_create = quire_armv7_context_create,
	.context_destroy = quire_armv7_context_destroy,
	.activate = quire_armv7_activate,
	.tlb_purge = quire_armv7_tlb_purge,
	.tlb_purge_space = quire_armv7_tlb_purge_space,
	.tlb_purge_all = quire_armv7_tlb_purge_all,
	.data = quire_armv7_data,
	.alias_map = quire_armv7_alias_map,
	.alias_unmap = quire_armv7_alias_unmap,
	.insn = quire_armv7_insn,
	.whole_data = quire_armv7_whole_data,
	.whole_insn = quire_armv7_whole_insn,
	.dma_prepare = quire_armv7_dma_prepare,
	.dma_finish = quire_armv7_dma_finish,
};
