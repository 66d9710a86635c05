/*
 * Walk caches: the upper entries that a hardware walker keeps, so that a walk need not begin at the
 * root.
 *
 * Like a TLB entry, an upper entry that is kept stays true by nothing but maintenance. A kernel
 * that takes a table away and does not purge what leads to it has its walkers read a frame that
 * belongs to somebody else. No walk that begins at the root shows that.
 *
 * What may be kept, and for how long:
 *
 *   x86-64   present, accessed entries that lead to tables, with the rights that all entries down
 *            to them leave (SDM volume 3, 4.10.3.1). INVLPG drops all of them, whatever its
 *            address, and so does a load of CR3 (no PCIDs here); a page fault drops those of its
 *            address (4.10.4.1).
 *   ARMv7    first-level descriptors that lead to tables, for their ASID. A TLB operation drops
 *            those that it would drop were they TLB entries of 1 MiB: by an address inside, by
 *            ASID, or all. A fault drops none. (A core that has it: Cortex-A15, DDI 0438 5.6.)
 *   PA-RISC  has no walker.
 *
 * READING AHEAD. A walker may read the tables of any address at any time, for accesses that are
 * never made (SDM volume 3, 4.10.2.3). The one here is keen: what a purge drops is read again at
 * once, as the tables stand then, and kept again if they still lead to a table. So a purge before
 * the change is worth nothing; and since an entry goes only with its table, few states of a machine
 * differ by what is kept. Likewise, what an ARMv7 walker keeps under one ASID it reads under
 * another as soon as the registers say so: be it by tables that belong to neither, while a kernel
 * changes ASID and root one after the other.
 *
 * The witness: a kept entry that a walk uses must lead where the tables mean to lead now, and must
 * not allow what they forbid. The exceptions are those of TLB entries (tlb.c): the operation that
 * changed the tables has not returned; an entry that allows less.
 */
#include "sim/tlb.h"

/* Would a purge of `match` drop the entry? */
static bool hits(const struct sim *sim, const struct sim_tlb_state *tlb,
		 const struct sim_translation *upper, const struct sim_tlb_match *match)
{
	struct sim_tlb_match wide = *match;

	wide.any_page |= sim->machine.isa == SIM_X86_64;
	return sim_tlb_hits(tlb, upper, &wide);
}

static bool covers(const struct sim_translation *upper, uint64_t page)
{
	return !((upper->page ^ page) >> (upper->span_shift - QUIRE_PAGE_SHIFT));
}

/* May a walk of va by the current CPU begin at it? */
static bool usable(const struct sim *sim, const struct sim_translation *upper, uintptr_t va)
{
	return upper->bits && covers(upper, va >> QUIRE_PAGE_SHIFT) &&
	       sim_tlb_same_number(sim->cpu->tlb, upper, sim_current_number(sim, va));
}

/* --- Keeping ---------------------------------------------------------------------------------- */

void sim_walk_cache_keep(struct sim *sim, const struct sim_translation *upper)
{
	struct sim_tlb_state *tlb = sim->cpu->tlb;
	uint32_t place = 0;

	if (!tlb->upper_count)
		return;
	while (place < tlb->upper_count && tlb->upper[place].bits)
		place++;
	if (place == tlb->upper_count) {
		place = tlb->upper_next;
		tlb->upper_next = (place + 1) % tlb->upper_count;
	}
	tlb->upper[place] = *upper;
}

/* Is something usable kept for va that covers as much? */
static bool is_kept(const struct sim *sim, uintptr_t va, unsigned span_shift)
{
	const struct sim_tlb_state *tlb = sim->cpu->tlb;

	for (uint32_t i = 0; i < tlb->upper_count; i++)
		if (usable(sim, &tlb->upper[i], va) && tlb->upper[i].span_shift == span_shift)
			return true;
	return false;
}

void sim_walk_cache_loaded(struct sim *sim)
{
	struct sim_tlb_state *tlb = sim->cpu->tlb;

	for (uint32_t i = 0; i < tlb->upper_count; i++) {
		unsigned span_shift = tlb->upper[i].span_shift;
		struct sim_walk walk = {
			.va = (uintptr_t)(tlb->upper[i].page << QUIRE_PAGE_SHIFT),
			.ahead = true,
		};
		struct sim_translation now;

		if (tlb->upper[i].bits && !is_kept(sim, walk.va, span_shift) &&
		    !sim_walk_upper(sim, &walk, span_shift, &now))
			sim_walk_cache_keep(sim, &now);
	}
}

/* The current CPU's walker reads again what it has just dropped. */
static void read_ahead(struct sim *sim, struct sim_translation *upper)
{
	struct sim_walk walk = {
		.va = (uintptr_t)(upper->page << QUIRE_PAGE_SHIFT),
		.ahead = true,
	};
	struct sim_translation now;

	upper->bits = 0;
	if (sim_tlb_same_number(sim->cpu->tlb, upper, sim_current_number(sim, walk.va)) &&
	    !sim_walk_upper(sim, &walk, upper->span_shift, &now))
		*upper = now;
}

bool sim_walk_cache_purge(struct sim *sim, unsigned cpu, const struct sim_tlb_match *match)
{
	struct sim_tlb_state *tlb = sim->cpus[cpu].tlb;
	unsigned current = sim->current;
	bool found = false;

	if (!tlb->upper_count)
		return false;
	sim_switch(sim, cpu);
	for (uint32_t i = 0; i < tlb->upper_count; i++) {
		if (!hits(sim, tlb, &tlb->upper[i], match))
			continue;
		found = true;
		read_ahead(sim, &tlb->upper[i]);
	}
	sim_switch(sim, current);
	return found;
}

bool sim_walk_cache_would_purge(const struct sim *sim, unsigned cpu,
				const struct sim_tlb_match *match)
{
	const struct sim_tlb_state *tlb = sim->cpus[cpu].tlb;

	for (uint32_t i = 0; i < tlb->upper_count; i++)
		if (hits(sim, tlb, &tlb->upper[i], match))
			return true;
	return false;
}

void sim_walk_cache_fault(struct sim *sim, uintptr_t va)
{
	struct sim_tlb_state *tlb = sim->cpu->tlb;

	for (uint32_t i = 0; i < tlb->upper_count; i++)
		if (tlb->upper[i].bits && covers(&tlb->upper[i], va >> QUIRE_PAGE_SHIFT))
			read_ahead(sim, &tlb->upper[i]);
}

/* --- Use -------------------------------------------------------------------------------------- */

static const struct sim_translation *find(const struct sim *sim, uintptr_t va)
{
	const struct sim_tlb_state *tlb = sim->cpu->tlb;
	const struct sim_translation *lowest = NULL;

	for (uint32_t i = 0; i < tlb->upper_count; i++) {
		const struct sim_translation *upper = &tlb->upper[i];

		if (usable(sim, upper, va) && (!lowest || upper->span_shift < lowest->span_shift))
			lowest = upper;
	}
	return lowest;
}

/* Reports an entry in use; asked->at is the descriptor that says otherwise. */
static void report(struct sim *sim, const struct sim_translation *upper,
		   const struct sim_walk *asked)
{
	const struct sim_maintenance *op = sim_pending_on_entry(sim, upper);
	uint64_t seen = sim_walker_peek(sim, asked->at, asked->bytes);
	struct sim_violation violation = {
		.kind = SIM_KIND_STALE_TABLE,
		.cause = op ? SIM_CAUSE_NO_BARRIER : SIM_CAUSE_UPPER_NOT_PURGED,
		.observer = SIM_PARTY_WALKER,
		.va = asked->va,
		.pa = asked->at,
		.bytes = asked->bytes,
		.got = upper->raw,
		.level = sim_upper_level(sim, upper),
		.site = op ? op->site : QUIRE_SITE_COUNT,
		.site_label = op ? op->label : 0,
	};

	memcpy(&violation.expected, sim->witness.reference.bytes + asked->at, asked->bytes);
	/* A walker that would read the same again had no chance: the store has not reached it. */
	if (seen != violation.expected)
		sim_witness_read(sim, SIM_PARTY_WALKER, 0, asked->at, &seen, asked->bytes);
	else
		sim_witness_report(sim, &violation);
}

static bool leads_to_freed(const struct sim *sim, const struct sim_translation *upper)
{
	quire_pa_t table = sim_upper_table(sim, upper);

	return table < sim->machine.memory_bytes && sim_frame_is_freed(sim, table);
}

/*
 * Does the entry allow what the tables forbid, or lead elsewhere, and is it too late for a purge?
 */
static bool is_stale(struct sim *sim, const struct sim_translation *upper, struct sim_walk *asked)
{
	struct sim_translation now;

	if ((upper->bits & asked->need) != asked->need)
		return false;
	if (!sim_walk_upper(sim, asked, upper->span_shift, &now) &&
	    sim_upper_table(sim, &now) == sim_upper_table(sim, upper) &&
	    (now.bits & asked->need) == asked->need)
		return false;
	return asked->bytes &&
	       (leads_to_freed(sim, upper) || !sim_operation_changed(sim, asked->at));
}

const struct sim_translation *sim_walk_cache_use(struct sim *sim, struct sim_walk *walk)
{
	struct sim_walk asked = {.va = walk->va, .need = walk->need, .reference = true};
	const struct sim_translation *upper;

	if (walk->reference)
		return NULL;
	upper = find(sim, walk->va);
	if (upper && is_stale(sim, upper, &asked)) {
		report(sim, upper, &asked);
		walk->stale = true;
	}
	return upper;
}
