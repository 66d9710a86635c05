/*
 * TLBs and translation: how an address that is not in the kernel's linear mapping becomes a
 * physical one.
 *
 * A translation is looked up; on a miss the hardware walks, or on PA-RISC the trap of the kernel
 * under test fills by instructions; what is still missing or forbidden is a fault for the kernel to
 * mend; then all is tried again. A kernel that mends nothing, or leaves an entry that forbids the
 * access in the TLB, would fault for ever on a board. Here it gets SIM_TRIES tries, then the access
 * fails and the reason is kept (sim_complaint).
 *
 * A hit uses what the entry says, true or not. The witness then asks what the tables mean to say at
 * this moment: by a walk of its reference copy, or where software fills, by having the kernel's
 * handler read that copy (sim_traps.tlb_reference). An entry that allows what they forbid, or that
 * leads to another frame, is a stale TLB entry in use, unless the operation that made it so has not
 * returned (owners.c). One that leads to a freed frame is stale whatever runs. An entry that allows
 * less than the tables is none, since it costs a fault and no more.
 */
#include "sim/needless.h"
#include "sim/tlb.h"

/* More than any chain of faults that makes progress: absent, young, copy on write, first store. */
#define SIM_TRIES 64u

/* --- The TLB ------------------------------------------------------------------------------ */

struct sim_tlb_state *sim_tlb_create(const struct sim_machine *machine,
				     const struct sim_allocator *allocator)
{
	struct sim_tlb_state *tlb = allocator->alloc(allocator->context, sizeof(*tlb), 64);

	if (!tlb)
		return NULL;
	tlb->ways = machine->tlb.ways;
	tlb->sets = machine->tlb.entries / machine->tlb.ways;
	/* On PA-RISC the space is a part of the address, not a tag that a TLB may lack. */
	tlb->tagged = machine->tlb.tagged || machine->isa == SIM_PARISC;
	tlb->next = allocator->alloc(allocator->context, tlb->sets * sizeof(*tlb->next), 64);
	tlb->entries = allocator->alloc(allocator->context,
					(size_t)tlb->sets * tlb->ways * sizeof(*tlb->entries), 64);
	tlb->upper_count = machine->tlb.walk_cache;
	if (tlb->upper_count)
		tlb->upper = allocator->alloc(allocator->context,
					      tlb->upper_count * sizeof(*tlb->upper), 64);
	if (!tlb->next || !tlb->entries || (tlb->upper_count && !tlb->upper)) {
		sim_tlb_destroy(tlb, allocator);
		return NULL;
	}
	return tlb;
}

void sim_tlb_destroy(struct sim_tlb_state *tlb, const struct sim_allocator *allocator)
{
	if (!tlb)
		return;
	allocator->free(allocator->context, tlb->upper);
	allocator->free(allocator->context, tlb->entries);
	allocator->free(allocator->context, tlb->next);
	allocator->free(allocator->context, tlb);
}

static bool entry_matches(const struct sim_tlb_state *tlb, const struct sim_translation *entry,
			  uint64_t page, uint64_t number, unsigned sides)
{
	return (entry->bits & sides) && entry->page == page &&
	       sim_tlb_same_number(tlb, entry, number);
}

struct sim_translation *sim_tlb_find(struct sim_tlb_state *tlb, uint64_t page, uint64_t number,
				     unsigned sides)
{
	uint16_t *hint = &tlb->hints[page % SIM_TLB_HINTS];
	struct sim_translation *entry = &tlb->entries[*hint];
	uint32_t first;

	if (entry_matches(tlb, entry, page, number, sides))
		return entry;
	first = (uint32_t)(page % tlb->sets) * tlb->ways;
	for (uint32_t way = 0; way < tlb->ways; way++) {
		entry = &tlb->entries[first + way];
		if (entry_matches(tlb, entry, page, number, sides)) {
			*hint = (uint16_t)(first + way);
			return entry;
		}
	}
	return NULL;
}

/* The rights that belong to a side. */
static unsigned side_bits(unsigned sides)
{
	unsigned bits = sides;

	if (sides & SIM_TLB_DATA_SIDE)
		bits |= SIM_TLB_LOAD | SIM_TLB_STORE;
	if (sides & SIM_TLB_INSN_SIDE)
		bits |= SIM_TLB_FETCH;
	return bits;
}

/* Removes sides of an entry, and all of it with the last. True: it had one of them. */
static bool drop_sides(struct sim_translation *entry, unsigned sides)
{
	if (!(entry->bits & sides))
		return false;
	entry->bits &= ~side_bits(sides);
	if (!(entry->bits & SIM_TLB_BOTH_SIDES))
		entry->bits = 0;
	return true;
}

/*
 * The way that an insertion replaces: one that overlaps, else an empty one, else the next in turn.
 */
static struct sim_translation *choose_victim(struct sim_tlb_state *tlb,
					     const struct sim_translation *translation)
{
	uint32_t set = (uint32_t)(translation->page % tlb->sets);
	struct sim_translation *entries = &tlb->entries[(size_t)set * tlb->ways], *empty = NULL;

	for (uint32_t way = 0; way < tlb->ways; way++) {
		struct sim_translation *entry = &entries[way];

		if (entry_matches(tlb, entry, translation->page, translation->number,
				  SIM_TLB_BOTH_SIDES))
			return entry;
		if (!entry->bits && !empty)
			empty = entry;
	}
	if (empty)
		return empty;
	empty = &entries[tlb->next[set]];
	tlb->next[set] = (tlb->next[set] + 1) % tlb->ways;
	return empty;
}

void sim_tlb_insert(struct sim_tlb_state *tlb, const struct sim_translation *translation)
{
	struct sim_translation *entry = choose_victim(tlb, translation);
	unsigned kept = 0;

	if (entry->bits && entry->page == translation->page && entry->frame == translation->frame &&
	    entry->number == translation->number)
		kept = entry->bits & side_bits(SIM_TLB_BOTH_SIDES & ~translation->bits);
	if (!(kept & SIM_TLB_BOTH_SIDES))
		kept = 0;
	*entry = *translation;
	entry->bits |= kept;
	tlb->hints[translation->page % SIM_TLB_HINTS] = (uint16_t)(entry - tlb->entries);
}

static bool purge_hits(const struct sim_tlb_state *tlb, const struct sim_translation *entry,
		       const struct sim_tlb_match *match)
{
	unsigned ignored = entry->span_shift - QUIRE_PAGE_SHIFT;

	if (match->keep_global && (entry->bits & SIM_TLB_GLOBAL))
		return false;
	if (!match->any_number && !sim_tlb_same_number(tlb, entry, match->number))
		return false;
	return match->any_page || !((entry->page ^ match->page) >> ignored);
}

bool sim_tlb_purge(struct sim_tlb_state *tlb, const struct sim_tlb_match *match)
{
	size_t count = (size_t)tlb->sets * tlb->ways;
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		struct sim_translation *entry = &tlb->entries[i];

		if (entry->bits && purge_hits(tlb, entry, match) && drop_sides(entry, match->sides))
			found = true;
	}
	return found;
}

bool sim_tlb_purge_cpu(struct sim *sim, unsigned cpu, const struct sim_tlb_match *match)
{
	bool found = sim_tlb_purge(sim->cpus[cpu].tlb, match);

	return sim_walk_cache_purge(sim, cpu, match) || found;
}

bool sim_tlb_would_purge(const struct sim_tlb_state *tlb, const struct sim_tlb_match *match)
{
	size_t count = (size_t)tlb->sets * tlb->ways;

	for (size_t i = 0; i < count; i++)
		if (sim_tlb_hits(tlb, &tlb->entries[i], match))
			return true;
	return false;
}

bool sim_tlb_hits(const struct sim_tlb_state *tlb, const struct sim_translation *entry,
		  const struct sim_tlb_match *match)
{
	return (entry->bits & match->sides) && purge_hits(tlb, entry, match);
}

bool sim_tlb_purge_index(struct sim_tlb_state *tlb, uint64_t index, unsigned sides)
{
	return drop_sides(&tlb->entries[index % ((uint64_t)tlb->sets * tlb->ways)], sides);
}

void sim_tlb_operation(struct sim *sim, const struct sim_tlb_match *match, bool all_cpus,
		       enum sim_op book)
{
	const struct sim_costs *cost = &sim->machine.cost;
	uint64_t ticks = book == SIM_OP_TLB_ALL ? cost->tlb_all : cost->tlb_op;
	bool waits = sim->pending && sim->machine.isa != SIM_X86_64; /* INVLPG and CR3 serialize */
	bool found = false;

	for (unsigned i = 0; i < sim->machine.cpus; i++) {
		if (!all_cpus && i != sim->current)
			continue;
		found |= waits ? sim_tlb_would_purge(sim->cpus[i].tlb, match) ||
					 sim_walk_cache_would_purge(sim, i, match)
			       : sim_tlb_purge_cpu(sim, i, match);
	}
	if (waits)
		sim_pending_add_tlb(sim, match, all_cpus);
	if (all_cpus && sim->machine.cpus > 1)
		ticks += cost->broadcast;
	sim_book(sim, book, ticks, !found);
	if (sim->needless)
		sim_needless_count(sim, book, ticks,
				   found ? SIM_VERDICT_UNDECIDED : SIM_VERDICT_NOTHING_THERE);
}

/* --- Translation -------------------------------------------------------------------------- */

static unsigned needed_bits(const struct sim *sim, uintptr_t va, enum quire_access access)
{
	unsigned bits = sim_is_alias(sim, va) ? 0 : SIM_TLB_USER;

	switch (access) {
	case QUIRE_STORE:
		return bits | SIM_TLB_STORE;
	case QUIRE_FETCH:
		return bits | SIM_TLB_FETCH;
	default:
		return bits | SIM_TLB_LOAD;
	}
}

uint64_t sim_current_number(const struct sim *sim, uintptr_t va)
{
	const struct sim_registers *registers = &sim->cpu->registers;

	switch (sim->machine.isa) {
	case SIM_ARMV7:
		return registers->contextidr & 0xff;
	case SIM_PARISC:
		return sim_is_alias(sim, va) ? 0 : registers->user_space;
	default:
		return 0;
	}
}

/* What the tables mean to say of va now. False: nobody can tell. *at: the entry that decided. */
static bool ask_tables(struct sim *sim, uintptr_t va, unsigned need, struct sim_translation *now,
		       quire_pa_t *at)
{
	struct sim_walk walk = {.va = va, .need = need, .reference = true};
	enum quire_access access = need & SIM_TLB_STORE   ? QUIRE_STORE
				   : need & SIM_TLB_FETCH ? QUIRE_FETCH
							  : QUIRE_LOAD;

	if (sim->machine.isa != SIM_PARISC) {
		if (sim_walk(sim, &walk, now))
			now->bits = 0;
		*at = walk.at;
		return walk.bytes;
	}
	if (!sim->traps.tlb_reference)
		return false;
	sim->reference_fill = (struct sim_reference_fill){.is = true};
	if (sim->traps.tlb_reference(sim->traps.context, va, access))
		sim->reference_fill.found = false;
	now->frame = sim->reference_fill.frame;
	now->bits = sim->reference_fill.found ? sim->reference_fill.bits : 0;
	*at = sim->reference_fill.last;
	sim->reference_fill.is = false;
	return true;
}

static void report_entry(struct sim *sim, const struct sim_translation *entry, uintptr_t va,
			 enum sim_cause cause, quire_pa_t at)
{
	struct sim_violation violation = {
		.kind = SIM_KIND_STALE_TLB,
		.cause = cause,
		.observer = SIM_PARTY_WALKER,
		.va = va,
		.pa = at,
		.bytes = sim->machine.isa == SIM_ARMV7 ? 4 : 8,
		.got = entry->raw ? entry->raw : entry->frame << QUIRE_PAGE_SHIFT,
		.site = QUIRE_SITE_COUNT,
	};

	const struct sim_maintenance *op = sim_pending_on_entry(sim, entry);

	if (op) {
		violation.cause = SIM_CAUSE_NO_BARRIER;
		violation.site = op->site;
		violation.site_label = op->label;
	}
	if (cause == SIM_CAUSE_NOT_PURGED)
		memcpy(&violation.expected, sim->witness.reference.bytes + at, violation.bytes);
	sim_witness_report(sim, &violation);
}

/* Reports an entry that is used against what the tables mean to say now. */
static void witness_entry(struct sim *sim, const struct sim_translation *entry, uintptr_t va,
			  unsigned need)
{
	struct sim_translation now = {0};
	quire_pa_t at;

	if (sim_is_bare(sim) || sim->reference_fill.is)
		return;
	if ((need & SIM_TLB_USER) && sim_frame_is_freed(sim, entry->frame << QUIRE_PAGE_SHIFT)) {
		report_entry(sim, entry, va, SIM_CAUSE_FRAME_FREED,
			     entry->frame << QUIRE_PAGE_SHIFT);
		return;
	}
	if (!ask_tables(sim, va, need, &now, &at))
		return;
	if (now.bits && now.frame == entry->frame && (now.bits & need) == need)
		return;
	if (!sim_operation_changed(sim, at))
		report_entry(sim, entry, va, SIM_CAUSE_NOT_PURGED, at);
}

/* A miss. 0: look again. */
static int fill(struct sim *sim, uintptr_t va, enum quire_access access, unsigned need)
{
	struct sim_walk walk = {.va = va, .need = need};
	struct sim_translation translation;
	int error;

	sim->counts.tlb_misses++;
	if (sim_is_bare(sim))
		return sim_bare_fill(sim, va);
	if (sim->machine.isa == SIM_PARISC) {
		if (!sim->traps.tlb_miss)
			return -QUIRE_EFAULT;
		error = sim->traps.tlb_miss(sim->traps.context, va, access);
		/*
		 * What an absent translation costs a cache operation is tlb_absent, all in one
		 * (insn_parisc.c).
		 */
		if (!error || need)
			sim_charge(sim, sim->machine.cost.tlb_miss);
		return error;
	}
	sim->counts.walks++;
	sim_charge(sim, sim->machine.cost.tlb_miss);
	error = sim_walk(sim, &walk, &translation);
	if (!error)
		sim_tlb_insert(sim->cpu->tlb, &translation);
	return error;
}

static int fault(struct sim *sim, uintptr_t va, enum quire_access access)
{
	int error;

	if (sim_is_alias(sim, va) || !sim->traps.fault)
		return -QUIRE_EFAULT;
	sim_enter(sim);
	error = sim->traps.fault(sim->traps.context, va, access);
	sim_leave(sim);
	return error;
}

/*
 * x86-64 walks once more before it believes an entry that forbids an access (dirty bit; SDM volume
 * 3, 4.10.4.1).
 */
static bool drop_forbidding(struct sim *sim, struct sim_translation *entry)
{
	if (sim->machine.isa != SIM_X86_64)
		return false;
	return drop_sides(entry, SIM_TLB_BOTH_SIDES);
}

/* The number is asked for at each try: a trap may load another space. */
static struct sim_translation *look_up(struct sim *sim, uintptr_t va, unsigned sides)
{
	return sim_tlb_find(sim->cpu->tlb, va >> QUIRE_PAGE_SHIFT, sim_current_number(sim, va),
			    sides);
}

int sim_translate(struct sim *sim, uintptr_t va, enum quire_access access, bool nonaccess,
		  quire_pa_t *pa, bool *uncached)
{
	unsigned need = nonaccess ? 0 : needed_bits(sim, va, access);
	unsigned sides = access == QUIRE_FETCH ? SIM_TLB_INSN_SIDE : SIM_TLB_DATA_SIDE;

	if (nonaccess)
		sides = SIM_TLB_BOTH_SIDES;
	for (unsigned try = 0; try < SIM_TRIES; try++) {
		struct sim_translation *entry = look_up(sim, va, sides);
		int error;

		if (entry && (entry->bits & need) == need) {
			if (need)
				witness_entry(sim, entry, va, need);
			*pa = entry->frame << QUIRE_PAGE_SHIFT | (va & QUIRE_PAGE_MASK);
			*uncached = entry->bits & SIM_TLB_UNCACHED;
			return 0;
		}
		if ((!entry || drop_forbidding(sim, entry)) && !fill(sim, va, access, need))
			continue;
		if (nonaccess)
			return -QUIRE_EFAULT;
		error = fault(sim, va, access);
		if (error)
			return error;
	}
	sim->complaint = "an access faulted for ever: the kernel says that the fault is mended, "
			 "but the TLB or the tables still forbid the access";
	return -QUIRE_EFAULT;
}

int sim_translate_space(struct sim *sim, uint64_t space, uintptr_t va, quire_pa_t *pa)
{
	struct sim_translation *entry;
	bool uncached;

	if (space == 0 && sim_is_linear(sim, va)) {
		*pa = va - sim->kernel_base;
		return 0;
	}
	/* The traps know the loaded space only; another one is what the TLB still holds of it. */
	if (sim->machine.isa != SIM_PARISC || space == sim_current_number(sim, va))
		return sim_translate(sim, va, QUIRE_LOAD, true, pa, &uncached);
	entry = sim_tlb_find(sim->cpu->tlb, va >> QUIRE_PAGE_SHIFT, space, SIM_TLB_BOTH_SIDES);
	if (!entry)
		return -QUIRE_EFAULT;
	*pa = entry->frame << QUIRE_PAGE_SHIFT | (va & QUIRE_PAGE_MASK);
	return 0;
}

const char *sim_complaint(const struct sim *sim)
{
	return sim->complaint;
}
