/*
 * Which TLB operations were needed: ghosts of entries.
 *
 * An entry that an operation drops stays as a ghost: as it would still lie in the TLB of that CPU,
 * had the operation not been done. A later access of the CPU to its page would use it, and that
 * would be
 *
 *   wrong      if the tables mean another frame now, or forbid what the entry allows, or the frame
 *              was freed (what the witness asks of entries that are used, tlb.c); on x86-64 also if
 *              the walk that it saves would have set a mark (accessed, dirty) that is gone meanwhile;
 *   a fault    if the entry forbids what the tables allow now. x86-64 walks again before it believes
 *              that; elsewhere the access would fault for ever unless the kernel mends it, so that
 *              it counts as wrong;
 *   right      else.
 *
 * Wrong: the operation was needed, whichever of its entries it was. It is needless when all its
 * ghosts have ended without that:
 *
 *   twice      another operation would drop the entry again, before anybody would have used it
 *              wrongly: that one takes the ghost over, beside its own, unless it found nothing at all
 *              to drop (then it is the one that was done twice)
 *   not read   the same entry came back; or it was replaced; or the run ended
 *
 * A ghost is replaced when as many entries of its set made room for others as the set has ways:
 * replacement is round robin, and the set is no emptier with the ghost. The end of the run decides,
 * other than for lines: an entry does nothing by itself.
 *
 * Entries that are dropped by position (PA-RISC's PDTLBE and PITLBE, of which passes over whole TLBs
 * are made) leave no ghosts: those operations are undecided, and earlier ones whose ghosts they might
 * have dropped count as needed.
 */
#include <stdlib.h>

#include "sim/needless_internal.h"
#include "sim/tlb.h"

struct entry_ghost {
	struct entry_ghost *next;    /* in its bucket */
	struct entry_ghost *sibling; /* of the same operation */
	struct record *record;
	unsigned cpu;
	struct sim_translation entry;
	uint32_t turns; /* of its set, when it was dropped */
};

static struct entry_ghost **bucket_of(struct sim_needless *needless, uint64_t page)
{
	return &needless->entries[page * 0x9e3779b97f4a7c15u >> 54 & (NEEDLESS_ENTRY_BUCKETS - 1)];
}

static uint32_t turns_of(const struct sim *sim, const struct entry_ghost *ghost)
{
	const struct sim_tlb_state *tlb = sim->cpus[ghost->cpu].tlb;

	return tlb->turns[ghost->entry.page % tlb->sets];
}

static bool is_replaced(const struct sim *sim, const struct entry_ghost *ghost)
{
	return turns_of(sim, ghost) - ghost->turns >= sim->cpus[ghost->cpu].tlb->ways;
}

static void free_ghost(struct sim_needless *needless, struct entry_ghost *ghost)
{
	struct entry_ghost **at = bucket_of(needless, ghost->entry.page);
	struct record *record = ghost->record;

	while (*at != ghost)
		at = &(*at)->next;
	*at = ghost->next;
	for (at = &record->entries; *at != ghost; at = &(*at)->sibling)
		continue;
	*at = ghost->sibling;
	free(ghost);
	needless_release(needless, record);
}

static void decide_needed(struct sim_needless *needless, struct record *record)
{
	struct entry_ghost *ghost = record->entries;

	needless_count(needless, record, SIM_VERDICT_NEEDED);
	while (ghost) {
		struct entry_ghost *next = ghost->sibling;

		free_ghost(needless, ghost);
		ghost = next;
	}
}

static void end_ghost(struct sim_needless *needless, struct entry_ghost *ghost)
{
	if (ghost->record->entries == ghost && !ghost->sibling)
		needless_count_unread(needless, ghost->record);
	free_ghost(needless, ghost);
}

void needless_entries_settle(struct sim *sim, bool all)
{
	struct sim_needless *needless = sim->needless;

	for (unsigned i = 0; i < NEEDLESS_ENTRY_BUCKETS; i++) {
		struct entry_ghost *ghost = needless->entries[i];

		while (ghost) {
			struct entry_ghost *next = ghost->next;

			if (all || is_replaced(sim, ghost))
				end_ghost(needless, ghost);
			ghost = next;
		}
	}
}

void needless_entries_destroy(struct sim_needless *needless)
{
	for (unsigned i = 0; i < NEEDLESS_ENTRY_BUCKETS; i++)
		while (needless->entries[i])
			free_ghost(needless, needless->entries[i]);
}

/* --- Operations ------------------------------------------------------------------------------- */

/* Sides of an entry are about to go. */
static void drop(struct sim *sim, struct record *record, unsigned cpu,
		 const struct sim_translation *entry, unsigned sides)
{
	struct entry_ghost *ghost = calloc(1, sizeof(*ghost)), **bucket;

	if (!ghost) {
		record->spared = SIM_VERDICT_UNDECIDED;
		return;
	}
	ghost->record = record;
	ghost->cpu = cpu;
	ghost->entry = *entry;
	ghost->entry.bits &= ~sim_tlb_side_bits(SIM_TLB_BOTH_SIDES & ~sides);
	ghost->turns = turns_of(sim, ghost);
	ghost->sibling = record->entries;
	record->entries = ghost;
	bucket = bucket_of(sim->needless, entry->page);
	ghost->next = *bucket;
	*bucket = ghost;
}

static void drop_all(struct sim *sim, struct record *record, unsigned cpu,
		     const struct sim_tlb_match *match)
{
	const struct sim_tlb_state *tlb = sim->cpus[cpu].tlb;

	for (size_t i = 0; i < (size_t)tlb->sets * tlb->ways; i++)
		if (sim_tlb_hits(tlb, &tlb->entries[i], match))
			drop(sim, record, cpu, &tlb->entries[i], match->sides);
}

/* The first ghost of an earlier operation in a chain that this one would drop. */
static struct entry_ghost *find_hit(const struct sim *sim, struct entry_ghost *ghost, unsigned cpu,
				    const struct sim_tlb_match *match, const struct record *record)
{
	while (ghost && (ghost->cpu != cpu || ghost->record == record ||
			 !sim_tlb_hits(sim->cpus[cpu].tlb, &ghost->entry, match)))
		ghost = ghost->next;
	return ghost;
}

/* The ghost becomes one of the record's. */
static void move_ghost(struct sim_needless *needless, struct entry_ghost *ghost,
		       struct record *record)
{
	struct record *before = ghost->record;
	struct entry_ghost **at = &before->entries;

	while (*at != ghost)
		at = &(*at)->sibling;
	*at = ghost->sibling;
	ghost->record = record;
	ghost->sibling = record->entries;
	record->entries = ghost;
	before->twice = true;
	if (!before->entries)
		needless_count_unread(needless, before);
	needless_release(needless, before);
}

/*
 * Ghosts of earlier operations that this one hits. If it is done, it would drop them: it takes them
 * over. If it finds no entry, it need not be done, and they stay.
 */
static void meet_earlier(struct sim *sim, struct record *record, unsigned cpu,
			 const struct sim_tlb_match *match, bool idle)
{
	struct sim_needless *needless = sim->needless;
	struct entry_ghost **bucket =
		match->any_page ? needless->entries : bucket_of(needless, match->page);
	unsigned count = match->any_page ? NEEDLESS_ENTRY_BUCKETS : 1;
	struct entry_ghost *ghost;

	for (unsigned i = 0; i < count; i++) {
		while ((ghost = find_hit(sim, bucket[i], cpu, match, record)) && !idle)
			move_ghost(needless, ghost, record);
		record->twice |= ghost != NULL;
	}
}

static bool is_reached(const struct sim *sim, unsigned cpu, bool all_cpus)
{
	return all_cpus || cpu == sim->current;
}

struct record *sim_needless_tlb_begin(struct sim *sim, const struct sim_tlb_match *match,
				      bool all_cpus, enum sim_op book)
{
	struct record *record = needless_new_record(sim, book);
	bool idle;

	if (!record)
		return NULL;
	record->holders = 1;
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (is_reached(sim, cpu, all_cpus))
			drop_all(sim, record, cpu, match);
	idle = !record->entries;
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (is_reached(sim, cpu, all_cpus))
			meet_earlier(sim, record, cpu, match, idle);
	return record;
}

/* Where a ghost would lie nobody knows: each might have gone by it. */
void sim_needless_tlb_by_position(struct sim *sim, unsigned sides)
{
	const struct sim_tlb_match all = {.any_page = true, .any_number = true, .sides = sides};
	struct sim_needless *needless = sim->needless;
	struct entry_ghost *ghost;

	for (unsigned i = 0; i < NEEDLESS_ENTRY_BUCKETS; i++)
		while ((ghost = find_hit(sim, needless->entries[i], sim->current, &all, NULL)))
			decide_needed(needless, ghost->record);
}

void sim_needless_tlb_end(struct sim *sim, struct record *record, enum sim_op book, uint64_t ticks,
			  bool idle)
{
	enum sim_verdict verdict = SIM_VERDICT_UNDECIDED;

	if (idle)
		verdict = record && record->twice ? SIM_VERDICT_TWICE : SIM_VERDICT_NOTHING_THERE;
	if (!record) {
		sim_needless_count(sim, book, SIM_NEEDLESS_NOWHERE, ticks, verdict);
		return;
	}
	record->ticks = ticks;
	needless_count(sim->needless, record, verdict);
	record->holders--;
	needless_release(sim->needless, record);
}

/* --- Accesses --------------------------------------------------------------------------------- */

/* x86-64: has a mark that was in the table when the entry was made gone since? */
static bool saves_mark(struct sim *sim, const struct entry_ghost *ghost, uintptr_t va,
		       unsigned need)
{
	struct sim_walk walk = {.va = va, .need = need, .reference = true};
	struct sim_translation now;

	return sim->machine.isa == SIM_X86_64 && !sim_walk(sim, &walk, &now) &&
	       (ghost->entry.raw & ~now.raw);
}

/* Would the access go wrong by the ghost? `entry`: what serves it in fact, or NULL: nothing yet. */
static bool misleads(struct sim *sim, const struct entry_ghost *ghost, uintptr_t va, unsigned need,
		     const struct sim_translation *entry)
{
	if ((ghost->entry.bits & need) != need)
		return entry && sim->machine.isa != SIM_X86_64;
	if (entry && entry->frame != ghost->entry.frame)
		return true;
	/* A cache operation does nothing where nothing is mapped. */
	return need &&
	       (sim_tlb_is_stale(sim, &ghost->entry, va, need) || saves_mark(sim, ghost, va, need));
}

/* With what serves the access the TLB holds what it would hold with the ghost. */
static bool is_back(const struct sim *sim, const struct entry_ghost *ghost, unsigned need,
		    const struct sim_translation *entry)
{
	unsigned other_sides = SIM_TLB_BOTH_SIDES & ~ghost->entry.bits;

	if (!entry)
		return false;
	if ((ghost->entry.bits & need) != need)
		return sim->machine.isa == SIM_X86_64;
	return entry->frame == ghost->entry.frame &&
	       (entry->bits & ~sim_tlb_side_bits(other_sides)) == ghost->entry.bits;
}

static bool is_looked_up(const struct sim *sim, const struct entry_ghost *ghost,
			 const struct sim_tlb_match *match)
{
	return ghost->cpu == sim->current && ghost->entry.page == match->page &&
	       sim_tlb_hits(sim->cpu->tlb, &ghost->entry, match);
}

/* False: ghosts went, and the chain has to be gone through again. */
static bool meet(struct sim *sim, struct entry_ghost *ghost, uintptr_t va, unsigned need,
		 const struct sim_translation *entry)
{
	if (is_replaced(sim, ghost)) {
		end_ghost(sim->needless, ghost);
		return false;
	}
	if (misleads(sim, ghost, va, need, entry)) {
		decide_needed(sim->needless, ghost->record);
		return false;
	}
	if (is_back(sim, ghost, need, entry)) {
		end_ghost(sim->needless, ghost);
		return false;
	}
	return true;
}

void sim_needless_translate(struct sim *sim, const struct sim_tlb_match *match, uintptr_t va,
			    unsigned need, const struct sim_translation *entry)
{
	struct entry_ghost **bucket = bucket_of(sim->needless, match->page);
	struct entry_ghost *ghost = *bucket;

	if (entry && (entry->bits & need) != need)
		entry = NULL;
	while (ghost) {
		if (!is_looked_up(sim, ghost, match) || meet(sim, ghost, va, need, entry))
			ghost = ghost->next;
		else
			ghost = *bucket;
	}
}
