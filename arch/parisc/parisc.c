/*
 * PA-RISC 2.0: what the firmware tells of caches and TLBs, and the table of calls. The port's
 * parts: parisc.h.
 */
#include "arch/parisc/parisc.h"
#include <quire/quire.h>

/* The firmware must describe something that the loops over it can go through. */
static bool info_is_sane(const struct parisc_cache_info *info)
{
	return info->data_bytes && info->data_line_bytes && info->data_loops && info->insn_bytes &&
	       info->insn_line_bytes && info->insn_loops && info->data_tlb_entries;
}

static void set_traits(struct quire_machine *machine, const struct parisc_cache_info *info)
{
	struct quire_traits *traits = &machine->traits;

	traits->data_aliases = info->alias_bytes > QUIRE_PAGE_BYTES;
	traits->data_broadcast = true;
	traits->insn_snoops_data = false;
	traits->insn_aliases = traits->data_aliases;
	traits->insn_broadcast = true;
	traits->tlb_broadcast = true;
	traits->walker_sees_data = true; /* the walker is a trap that loads through the D cache */
	traits->devices_see_data = info->io_coherent;
	traits->dirty_by_hardware = false;
	traits->subtree_protect = true;
	traits->colour_bytes = traits->data_aliases ? info->alias_bytes : 0;
	traits->data_bytes = info->data_bytes;
	traits->insn_bytes = info->insn_bytes;
	traits->data_line_bytes = info->data_line_bytes;
	traits->insn_line_bytes = info->insn_line_bytes;
	traits->tlb_entries = info->data_tlb_entries;
}

static void parisc_empty_cpu(struct quire_machine *machine)
{
	quire_parisc_data_here(machine);
	quire_parisc_insn_here(machine);
	quire_parisc_tlb_here(machine);
}

static void parisc_boot_cpu(struct quire_machine *machine)
{
	parisc_set_user_space(machine->port.hw, PARISC_NO_SPACE);
}

static int parisc_boot(struct quire_machine *machine)
{
	struct parisc_cache_info info;
	struct parisc_state *state;

	parisc_pdc_cache(machine->port.hw, &info);
	if (!info_is_sane(&info))
		return -QUIRE_ENODEV;
	set_traits(machine, &info);
	/* Without the window there is no way to reach a line at a user's colour. */
	if (machine->traits.data_aliases &&
	    (!machine->port.alias_window || machine->port.alias_window & (info.alias_bytes - 1)))
		return -QUIRE_EINVAL;
	state = arch_alloc(machine, parisc_state_bytes(machine));
	if (!state)
		return -QUIRE_ENOMEM;
	quire_atomic_init(&state->lock, 0);
	quire_atomic_init(&state->purge, 0);
	state->info = info;
	state->used[0] = 1u << PARISC_KERNEL_SPACE | 1u << PARISC_NO_SPACE;
	machine->state = state;
	return 0;
}

static void parisc_halt(struct quire_machine *machine)
{
	parisc_set_user_space(machine->port.hw, PARISC_NO_SPACE);
	arch_free(machine, machine->state, parisc_state_bytes(machine));
	machine->state = NULL;
}

static uint64_t parisc_cycles(struct quire_machine *machine)
{
	return parisc_cr16(machine->port.hw);
}

const struct quire_arch quire_arch_parisc = {
	.name = "parisc",
	.table =
		{
			.levels = 2,
			.root_order = 2,
			.shift = {21, 12},
			.bits = {11, 9},
			.entry_bytes = {8, 8},
			.user_low = QUIRE_PAGE_BYTES,
			/* Offsets from here on are I/O space in narrow mode (Kane, appendix H), and
			   the kernel's alias window. */
			.user_high = 0xf0000000u,
		},
	.boot = parisc_boot,
	.empty_cpu = parisc_empty_cpu,
	.boot_cpu = parisc_boot_cpu,
	.halt = parisc_halt,
	.cycles = parisc_cycles,
	.encode = quire_parisc_encode,
	.decode = quire_parisc_decode,
	.encode_table = quire_parisc_encode_table,
	.decode_table = quire_parisc_decode_table,
	.load_entry = quire_parisc_load_entry,
	.store_entry = quire_parisc_store_entry,
	.replace_entry = quire_parisc_replace_entry,
	.clean_entries = quire_parisc_clean_entries,
	.entry_barrier = quire_parisc_entry_barrier,
	.context_create = quire_parisc_context_create,
	.context_destroy = quire_parisc_context_destroy,
	.activate = quire_parisc_activate,
	.tlb_purge = quire_parisc_tlb_purge,
	.tlb_purge_space = quire_parisc_tlb_purge_space,
	.tlb_purge_all = quire_parisc_tlb_purge_all,
	.tlb_miss = quire_parisc_tlb_miss,
	.data = quire_parisc_data,
	.data_alias = quire_parisc_data_alias,
	.alias_map = quire_parisc_alias_map,
	.alias_unmap = quire_parisc_alias_unmap,
	.insn = quire_parisc_insn,
	.user_data = quire_parisc_user_data,
	.user_insn = quire_parisc_user_insn,
	.whole_data = quire_parisc_whole_data,
	.whole_insn = quire_parisc_whole_insn,
	.dma_prepare = quire_parisc_dma_prepare,
	.dma_finish = quire_parisc_dma_finish,
};
