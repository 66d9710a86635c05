/*
 * The adversary's moves: evictions and speculative fills.
 *
 * A fill is an ordinary one by another name: the same code as a load's or a fetch's brings the
 * line, with snoops of coherent CPUs and victims that leave, and the clock and the counts are put
 * back afterwards.
 */
#include "sim/adversary.h"

#include "sim/levels.h"
#include "sim/tlb.h"

static const struct cache *cache_of(const struct sim *sim, unsigned cpu, enum sim_which which)
{
	if (which == SIM_WHICH_L2)
		return &sim->l2;
	return which == SIM_WHICH_L1D ? &sim->cpus[cpu].l1d : &sim->cpus[cpu].l1i;
}

void sim_cache_shape(const struct sim *sim, enum sim_which which, unsigned *sets, unsigned *ways)
{
	const struct cache *cache = cache_of(sim, 0, which);

	*sets = cache->present ? cache->sets : 0;
	*ways = cache->present ? cache->ways : 0;
}

bool sim_line_at(const struct sim *sim, unsigned cpu, enum sim_which which, unsigned set,
		 unsigned way, struct sim_line *line)
{
	const struct cache *cache = cache_of(sim, cpu, which);
	uint32_t tag = *cache_tag(cache, set, way);

	if (tag == CACHE_ABSENT)
		return false;
	line->pa = cache_line_pa(cache, set, way);
	line->dirty = tag & CACHE_DIRTY;
	return true;
}

/* What a move must not change: the clock of the CPU it happens on, and the counts. */
struct unchanged {
	unsigned current;
	uint64_t ticks;
	struct sim_counts counts;
};

static struct unchanged begin_move(struct sim *sim, unsigned cpu)
{
	struct unchanged before = {.current = sim->current, .counts = sim->counts};

	sim_switch(sim, cpu);
	before.ticks = sim->cpu->ticks;
	return before;
}

static void end_move(struct sim *sim, const struct unchanged *before)
{
	sim->cpu->ticks = before->ticks;
	sim->counts = before->counts;
	sim_switch(sim, before->current);
}

/* A dirty line of L2 goes to memory. */
static void l2_to_memory(struct sim *sim, uint32_t set, unsigned way)
{
	const struct cache *l2 = &sim->l2;
	struct work work = work_begin(sim);

	if (*cache_tag(l2, set, way) & CACHE_DIRTY)
		line_put(&work, work.memory + cache_line_pa(l2, set, way), cache_line(l2, set, way),
			 l2->line_shift);
}

bool sim_evict(struct sim *sim, unsigned cpu, enum sim_which which, unsigned set, unsigned way)
{
	struct cache *cache = which == SIM_WHICH_L2    ? &sim->l2
			      : which == SIM_WHICH_L1D ? &sim->cpus[cpu].l1d
						       : &sim->cpus[cpu].l1i;

	if (*cache_tag(cache, set, way) == CACHE_ABSENT)
		return false;
	if (which == SIM_WHICH_L2) {
		l2_to_memory(sim, set, way);
	} else if (*cache_tag(cache, set, way) & CACHE_DIRTY) {
		struct unchanged before = begin_move(sim, cpu);
		struct work work = work_begin(sim);

		sim_clean_way(&work, cache, set, way);
		end_move(sim, &before);
	}
	cache_drop(cache, set, way);
	return true;
}

/* The address-space number of the current CPU's user addresses. */
static bool may_use(const struct sim *sim, const struct sim_translation *entry)
{
	const struct sim_registers *registers = &sim->cpu->registers;
	uint64_t number = 0;

	if (!(entry->bits & SIM_TLB_DATA_SIDE) || entry->bits & SIM_TLB_UNCACHED)
		return false;
	if (sim->machine.isa == SIM_ARMV7)
		number = registers->contextidr & 0xff;
	else if (sim->machine.isa == SIM_PARISC && entry->number != 0)
		number = registers->user_space;
	return !sim->cpu->tlb->tagged || (entry->bits & SIM_TLB_GLOBAL) || entry->number == number;
}

/* The usable entry for va; with `insn` one that fetches use. */
static const struct sim_translation *entry_for(const struct sim *sim, uintptr_t va, bool insn)
{
	const struct sim_tlb_state *tlb = sim->cpu->tlb;

	for (size_t i = 0; i < (size_t)tlb->sets * tlb->ways; i++) {
		const struct sim_translation *entry = &tlb->entries[i];

		if (entry->page == va >> QUIRE_PAGE_SHIFT && may_use(sim, entry) &&
		    (!insn || ((entry->bits & SIM_TLB_FETCH) && (entry->bits & SIM_TLB_INSN_SIDE))))
			return entry;
	}
	return NULL;
}

static bool resolve(const struct sim *sim, uintptr_t va, bool insn, quire_pa_t *pa)
{
	const struct sim_translation *entry;

	if (sim_is_linear(sim, va)) {
		*pa = va - sim->kernel_base;
		return true;
	}
	entry = entry_for(sim, va, insn);
	if (!entry)
		return false;
	*pa = entry->frame << QUIRE_PAGE_SHIFT | (va & QUIRE_PAGE_MASK);
	return *pa < sim->machine.memory_bytes;
}

bool sim_speculate(struct sim *sim, unsigned cpu, enum sim_which which, uintptr_t va)
{
	struct unchanged before = begin_move(sim, cpu);
	const struct cache *cache = cache_of(sim, cpu, which);
	quire_pa_t pa;
	bool fills =
		resolve(sim, va, which == SIM_WHICH_L1I, &pa) && cache_find(cache, va, pa).way < 0;
	uint8_t byte;

	if (fills && which == SIM_WHICH_L1I)
		sim_line_fetch(sim, va, pa);
	else if (fills)
		sim_line_load(sim, va, pa, &byte, 1);
	end_move(sim, &before);
	return fills;
}

void sim_settle_stores(struct sim *sim, unsigned cpu)
{
	struct unchanged before = begin_move(sim, cpu);

	sim_drain(sim);
	end_move(sim, &before);
}

bool sim_may_speculate(struct sim *sim, unsigned cpu, enum sim_which which, uintptr_t va)
{
	struct unchanged before = begin_move(sim, cpu);
	quire_pa_t pa;
	bool may = resolve(sim, va, which == SIM_WHICH_L1I, &pa) &&
		   cache_find(cache_of(sim, cpu, which), va, pa).way < 0;

	end_move(sim, &before);
	return may;
}

bool sim_tlb_holds(struct sim *sim, unsigned cpu, uintptr_t va)
{
	struct unchanged before = begin_move(sim, cpu);
	bool holds = entry_for(sim, va, false) != NULL;

	end_move(sim, &before);
	return holds;
}

void sim_leave_memory(struct sim *sim, quire_pa_t pa, uint64_t bytes, uint8_t byte)
{
	memset(sim->memory.bytes + pa, byte, bytes);
	memset(sim->witness.reference.bytes + pa, byte, bytes);
}

void sim_leave_translation(struct sim *sim, unsigned cpu, uint64_t number, uintptr_t va,
			   quire_pa_t pa)
{
	struct sim_translation entry = {
		.page = va >> QUIRE_PAGE_SHIFT,
		.frame = pa >> QUIRE_PAGE_SHIFT,
		.number = number,
		.bits = SIM_TLB_BOTH_SIDES | SIM_TLB_LOAD | SIM_TLB_STORE | SIM_TLB_FETCH |
			SIM_TLB_USER,
		.span_shift = QUIRE_PAGE_SHIFT,
	};

	sim_tlb_insert(sim->cpus[cpu].tlb, &entry);
}

bool sim_speculation_page(struct sim *sim, unsigned cpu, unsigned n, uintptr_t *va)
{
	struct unchanged before = begin_move(sim, cpu);
	const struct sim_tlb_state *tlb = sim->cpu->tlb;
	bool found = false;

	for (size_t i = 0; i < (size_t)tlb->sets * tlb->ways && !found; i++) {
		const struct sim_translation *entry = &tlb->entries[i];

		if (!entry->bits || !may_use(sim, entry) || n--)
			continue;
		*va = (uintptr_t)(entry->page << QUIRE_PAGE_SHIFT);
		found = true;
	}
	end_move(sim, &before);
	return found;
}
