/*
 * A machine without a kernel: pages mapped by hand.
 *
 * A test of the hardware itself must not have a memory manager under it that flushes what an
 * alias left behind. Here a small table takes the place of page tables and miss handlers;
 * caches, TLBs, store buffer and witness are the machine's own. So the alias test runs on
 * machines for which there is no architecture code at all, and on those that have some.
 */
#include "sim/tlb.h"

static struct sim_bare_page *find_page(struct sim_bare *bare, uint64_t page)
{
	for (unsigned i = 0; i < bare->count; i++)
		if (bare->pages[i].page == page)
			return &bare->pages[i];
	return NULL;
}

int sim_map_bare(struct sim *sim, uintptr_t va, quire_pa_t pa, bool uncached)
{
	uint64_t page = va >> QUIRE_PAGE_SHIFT;
	struct sim_bare_page *entry = find_page(&sim->bare, page);
	struct sim_tlb_match match = {
		.any_number = true,
		.sides = SIM_TLB_BOTH_SIDES,
		.page = page,
	};

	if ((va | pa) & QUIRE_PAGE_MASK || sim_is_kernel(sim, va) ||
	    pa >= sim->machine.memory_bytes)
		return -QUIRE_EINVAL;
	if (!entry && sim->bare.count == SIM_BARE_PAGES)
		return -QUIRE_ENOMEM;
	if (!entry)
		entry = &sim->bare.pages[sim->bare.count++];
	*entry = (struct sim_bare_page){page, pa >> QUIRE_PAGE_SHIFT, uncached};
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		sim_tlb_purge(sim->cpus[cpu].tlb, &match);
	return 0;
}

int sim_bare_fill(struct sim *sim, uintptr_t va)
{
	const struct sim_bare_page *entry = find_page(&sim->bare, va >> QUIRE_PAGE_SHIFT);
	struct sim_translation translation = {
		.page = va >> QUIRE_PAGE_SHIFT,
		.bits = SIM_TLB_BOTH_SIDES | SIM_TLB_LOAD | SIM_TLB_STORE | SIM_TLB_FETCH |
			SIM_TLB_USER | SIM_TLB_GLOBAL,
		.span_shift = QUIRE_PAGE_SHIFT,
	};

	if (!entry)
		return -QUIRE_EFAULT;
	sim_charge(sim, sim->machine.cost.tlb_miss);
	translation.frame = entry->frame;
	translation.bits |= entry->uncached ? SIM_TLB_UNCACHED : 0;
	sim_tlb_insert(sim->cpu->tlb, &translation);
	return 0;
}

void sim_bare_barrier(struct sim *sim)
{
	sim_drain(sim);
	sim_pending_barrier(sim, false);
	sim_book(sim, SIM_OP_BARRIER, sim->machine.cost.barrier, false);
}
