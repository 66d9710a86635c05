/*
 * Needless maintenance: which operations no later read was in need of.
 *
 * An operation is *needed* if some later read would have been wrong without it. To know that, the
 * machine would have to run a second time without it, for each of them. Instead each line that an
 * operation changed leaves *ghosts*: the copies as they would be had it not been done. Their bytes
 * are kept up like a cache's, and compared with what a later access should get:
 *
 *   a copy that was dropped      is still there, at the same place of the same cache. A read there
 *                                gets its bytes. A store there goes into it. A store elsewhere
 *                                makes it stale.
 *   a dirty copy                 is still dirty. A store by another path makes its write-back a
 *                                danger.
 *   the level below              still has the bytes from before a clean. Whoever looks there gets
 *                                them.
 *
 * A read that would be wrong makes the operation needed. It is needless when its ghosts are gone
 * without that:
 *
 *   nothing dirty    it cleaned, and no line was dirty
 *   nothing there    it dropped, and no line was there
 *   twice            an operation before had done it already, or one after it did it again before
 *                    anybody looked
 *   not read         the ghost left by itself, or the same bytes came back, before anybody would
 *                    have read it wrongly
 *
 * Some of these no software could have left out all the same, because it depends on what hardware
 * does by itself; they are called *guard* and *overtaken* instead, and do not count as needless
 * (needless_lines.c). What is still open at the end is *undecided*.
 *
 * SOUND, NOT EXACT. A needed operation is never called needless. The other way round there is some
 * slack: a store by another path over a dirty ghost, and a fill of a line of which any byte would
 * be old, count as wrong reads at once; a ghost is taken to have left only when no replacement
 * policy could have kept it (twice as many fills of its set as it has ways; never with random
 * replacement). And operations are judged one after the other as if those found needless had not
 * been done, so that all of them may be left out together: an operation on a place where the ghost
 * of an earlier one still lies takes it over. That an idle operation is left out changes no ghost.
 *
 * Undecided from the start: operations on I lines where they are of another size than D lines; and
 * all that is asynchronous and finds something, because what it will do is not known when it is
 * issued, and no account of experiments needs it (they run without).
 *
 * This file makes the ghosts of an operation on lines; needless_ghosts.c shows them accesses. TLB
 * operations: needless_tlb.c.
 */
#include <stdlib.h>

#include "sim/needless_internal.h"

/* --- Making ----------------------------------------------------------------------------------- */

static bool make_fills(struct sim *sim, struct sim_needless *needless, enum where where,
		       unsigned cpu)
{
	const struct cache *cache = needless_cache_of(sim, where, cpu);
	uint32_t **fills = &needless->fills[needless_cache_number_of(where, cpu)];

	if (!cache->present)
		return true;
	*fills = calloc(cache->sets, sizeof(**fills));
	return *fills != NULL;
}

struct sim_needless *sim_needless_create(struct sim *sim)
{
	struct sim_needless *needless = calloc(1, sizeof(*needless));
	bool good = needless && !needless_lines_create(needless, sim) &&
		    make_fills(sim, needless, GHOST_L2, 0);

	for (unsigned cpu = 0; good && cpu < sim->machine.cpus; cpu++)
		good = make_fills(sim, needless, GHOST_L1D, cpu) &&
		       make_fills(sim, needless, GHOST_L1I, cpu);
	if (good)
		return needless;
	sim_needless_destroy(needless);
	return NULL;
}

void sim_needless_destroy(struct sim_needless *needless)
{
	if (!needless)
		return;
	for (unsigned i = 0; i < NEEDLESS_BUCKETS; i++)
		while (needless->buckets[i]) {
			struct ghost *ghost = needless->buckets[i];

			needless->buckets[i] = ghost->next;
			needless_free_ghost(needless, ghost);
		}
	for (unsigned i = 0; i < 2 * QUIRE_CPUS_MAX + 1; i++)
		free(needless->fills[i]);
	needless_entries_destroy(needless);
	needless_lines_destroy(needless);
	needless_pages_destroy(needless);
	free(needless);
}

/* --- Operations ------------------------------------------------------------------------------- */

/* An operation as its ghosts are made. */
struct making {
	struct sim *sim;
	const struct sim_maintenance *op;
	struct record *record;
	bool failed; /* no memory: it stays undecided for ever */
};

static struct ghost *new_ghost(struct making *making, enum where where, unsigned cpu, uint64_t line)
{
	struct ghost *ghost = making->failed ? NULL : calloc(1, sizeof(*ghost));

	if (!ghost) {
		making->failed = true;
		return NULL;
	}
	ghost->record = making->record;
	ghost->where = where;
	ghost->cpu = cpu;
	ghost->line = line;
	return ghost;
}

static void add_ghost(struct making *making, struct ghost *ghost)
{
	struct ghost **bucket = needless_bucket_of(making->sim->needless, ghost->line);

	ghost->next = *bucket;
	*bucket = ghost;
	ghost->sibling = making->record->ghosts;
	making->record->ghosts = ghost;
}

/* Before a dirty line of a cache is cleaned: what lies below now. */
static struct ghost *add_below(struct making *making, const struct ghost *above)
{
	struct sim *sim = making->sim;
	quire_pa_t pa = above->line << sim->cpu->l1d.line_shift;
	size_t line_bytes = sim->cpu->l1d.line_bytes;
	struct ghost *ghost = new_ghost(making, GHOST_BELOW, above->cpu, above->line);
	struct cache_place place = {0, -1};

	if (!ghost)
		return NULL;
	ghost->above = above->where;
	ghost->set = above->set;
	ghost->number = above->number;
	ghost->fills = above->fills;
	if (sim->l2.present && above->where != GHOST_L2)
		place = cache_find(&sim->l2, 0, pa);
	memcpy(ghost->bytes,
	       place.way >= 0 ? cache_line(&sim->l2, place.set, (unsigned)place.way)
			      : sim->memory.bytes + pa,
	       line_bytes);
	/* What comes to memory later through L2 could not have come without the clean above it. */
	memcpy(ghost->memory, above->where == GHOST_L2 ? sim->memory.bytes + pa : ghost->bytes,
	       line_bytes);
	memcpy(ghost->before, sim->memory.bytes + pa, line_bytes);
	add_ghost(making, ghost);
	return ghost;
}

static struct ghost *find_copy(struct sim *sim, const struct ghost *like)
{
	for (struct ghost *ghost = *needless_bucket_of(sim->needless, like->line); ghost;
	     ghost = ghost->next)
		if (ghost != like && ghost->line == like->line && ghost->record != like->record &&
		    needless_is_at(ghost, like->where, like->cpu, like->set, like->number))
			return ghost;
	return NULL;
}

/*
 * Would the operation clean the dirty copy, as far down and with the same effect as the one before
 * did?
 */
static bool serves_for(const struct making *making, const struct ghost *before,
		       const struct ghost *below)
{
	if (!(making->op->action & SIM_CLEAN) || !needless_all_right(making->sim, before) ||
	    before->record->to_memory != making->record->to_memory)
		return false;
	return making->record->to_memory || !making->sim->l2.present ||
	       needless_memory_is_as_before(making->sim, below);
}

/*
 * The operation acts where an undecided one has left a ghost of its own: without both, that would
 * still lie there. A clean ghost is simply taken over. A dirty one that is right the later
 * operation would have cleaned as well: it takes over what would lie below too. In other cases the
 * earlier operation counts as needed.
 */
static void take_over(struct making *making, struct ghost *ghost)
{
	struct sim_needless *needless = making->sim->needless;
	struct ghost *before = find_copy(making->sim, ghost), *below_before, *below;

	if (!before)
		return;
	below_before = needless_find_below(before->record, before);
	if (before->dirty && (!below_before || !serves_for(making, before, below_before))) {
		needless_decide_needed(needless, before->record);
		return;
	}
	memcpy(ghost->bytes, before->bytes, sizeof(ghost->bytes));
	if (before->dirty) {
		ghost->dirty = true;
		below = needless_find_below(ghost->record, ghost);
		if (!below)
			below = add_below(making, ghost);
		if (!below) {
			needless_decide_needed(needless, before->record);
			return;
		}
		memcpy(below->bytes, below_before->bytes, sizeof(below->bytes));
		memcpy(below->memory, below_before->memory, sizeof(below->memory));
		memcpy(below->before, below_before->before, sizeof(below->before));
		before->record->twice = true;
		needless_end_ghost(needless, below_before);
	}
	before->record->twice = true;
	needless_end_ghost(needless, before);
}

/* One way that the operation changes. */
static void add_way(struct making *making, enum where where, unsigned cpu, uint32_t set,
		    unsigned way)
{
	struct sim *sim = making->sim;
	struct cache *cache = needless_cache_of(sim, where, cpu);
	uint32_t tag = *cache_tag(cache, set, way);
	bool dirty = tag & CACHE_DIRTY;
	struct ghost *ghost;

	if (tag == CACHE_ABSENT || (making->op->action == SIM_CLEAN && !dirty))
		return;
	ghost = new_ghost(making, where, cpu, cache_line_pa(cache, set, way) >> cache->line_shift);
	if (!ghost)
		return;
	ghost->set = set;
	ghost->number = tag & CACHE_NUMBER;
	ghost->dirty = dirty;
	ghost->fills = sim->needless->fills[needless_cache_number_of(where, cpu)][set];
	memcpy(ghost->bytes, cache_line(cache, set, way), cache->line_bytes);
	add_ghost(making, ghost);
	if (dirty && (making->op->action & SIM_CLEAN))
		add_below(making, ghost);
	take_over(making, ghost);
}

static void forget_ghosts(struct making *making)
{
	struct sim_needless *needless = making->sim->needless;

	while (making->record->ghosts) {
		struct ghost *ghost = making->record->ghosts;

		needless_unlink_ghost(needless, ghost);
		needless_free_ghost(needless, ghost);
	}
}

static void add_found(struct making *making, enum where where, unsigned cpu)
{
	const struct cache *cache = needless_cache_of(making->sim, where, cpu);
	struct cache_place place;

	if (!cache->present || !cache->valid)
		return;
	place = cache_find(cache, where == GHOST_L2 ? 0 : making->op->va, making->op->pa);
	if (place.way >= 0)
		add_way(making, where, cpu, place.set, (unsigned)place.way);
}

static void add_all(struct making *making, unsigned cpu)
{
	const struct cache *cache = &making->sim->cpus[cpu].l1i;

	for (uint32_t set = 0; set < cache->sets; set++)
		for (unsigned way = 0; way < cache->ways; way++)
			add_way(making, GHOST_L1I, cpu, set, way);
}

static void add_ghosts(struct making *making)
{
	const struct sim_maintenance *op = making->op;
	struct sim *sim = making->sim;

	/* L2 first: a clean of L1 above changes it. */
	if (op->target == SIM_TARGET_OUTER ||
	    (op->target == SIM_TARGET_DATA && op->point == SIM_COHERENCY && !sim->machine.l2_outer))
		add_found(making, GHOST_L2, 0);
	if (op->target == SIM_TARGET_L2_SET)
		add_way(making, GHOST_L2, 0, op->set, op->way);
	if (op->target == SIM_TARGET_DATA_SET)
		add_way(making, GHOST_L1D, op->cpu, op->set, op->way);
	if (op->target == SIM_TARGET_INSN_SET)
		add_way(making, GHOST_L1I, op->cpu, op->set, op->way);
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		if (!op->all_cpus && cpu != op->cpu)
			continue;
		if (op->target == SIM_TARGET_DATA)
			add_found(making, GHOST_L1D, cpu);
		else if (op->target == SIM_TARGET_INSN)
			add_found(making, GHOST_L1I, cpu);
		else if (op->target == SIM_TARGET_INSN_ALL)
			add_all(making, cpu);
	}
}

static bool is_by_address(const struct sim_maintenance *op)
{
	return op->target == SIM_TARGET_DATA || op->target == SIM_TARGET_INSN ||
	       op->target == SIM_TARGET_OUTER;
}

static bool is_insn(const struct sim_maintenance *op)
{
	return op->target == SIM_TARGET_INSN || op->target == SIM_TARGET_INSN_SET ||
	       op->target == SIM_TARGET_INSN_ALL;
}

/*
 * An operation that drops lines may hit what only earlier operations had brought to safety: they
 * were needed.
 */
static void lose_dirty(struct making *making)
{
	struct sim_needless *needless = making->sim->needless;
	uint64_t line = making->record->ghosts->line;
	struct ghost *ghost = is_insn(making->op) ? NULL : *needless_bucket_of(needless, line);

	while (ghost) {
		if (ghost->line == line && ghost->record != making->record &&
		    (ghost->dirty || ghost->where == GHOST_BELOW)) {
			needless_decide_needed(needless, ghost->record);
			ghost = *needless_bucket_of(needless, line);
		} else {
			ghost = ghost->next;
		}
	}
}

static bool has_ghosts(const struct sim *sim, uint64_t line)
{
	for (const struct ghost *ghost = *needless_bucket_of(sim->needless, line); ghost;
	     ghost = ghost->next)
		if (ghost->line == line && ghost->where != GHOST_BELOW)
			return true;
	return false;
}

struct sim_needless_begun sim_needless_begin(struct sim *sim, const struct sim_maintenance *op,
					     enum sim_op book)
{
	struct sim_needless_begun begun = {.spared = needless_lines_operation(sim, op)};
	struct making making = {.sim = sim, .op = op};

	if (is_insn(op) && sim->cpu->l1i.line_bytes != sim->cpu->l1d.line_bytes)
		return begun;
	making.record = needless_new_record(sim, book);
	if (!making.record)
		return begun;
	making.record->spared = begun.spared;
	making.record->to_memory = op->target == SIM_TARGET_DATA && op->point == SIM_COHERENCY &&
				   sim->l2.present && !sim->machine.l2_outer;
	making.record->holders = 1;
	add_ghosts(&making);
	if (making.failed) /* half of them are worse than none */
		forget_ghosts(&making);
	if (op->target == SIM_TARGET_INSN_ALL)
		needless_lines_whole_insn(sim, op, making.record);
	if (making.record->ghosts && op->action == SIM_INVALIDATE)
		lose_dirty(&making);
	begun.record = making.record;
	return begun;
}

/* What an operation is that found nothing to do, and need not have been done for any other. */
static enum sim_verdict idle_verdict(const struct sim *sim, const struct sim_maintenance *op,
				     enum sim_found found)
{
	if (found != SIM_FOUND_NONE)
		return SIM_VERDICT_NOTHING_DIRTY;
	if (is_by_address(op) && has_ghosts(sim, op->pa >> sim->cpu->l1d.line_shift))
		return SIM_VERDICT_TWICE;
	return SIM_VERDICT_NOTHING_THERE;
}

void sim_needless_end(struct sim *sim, const struct sim_needless_begun *begun,
		      const struct sim_maintenance *op, enum sim_op book, uint64_t ticks, bool idle,
		      enum sim_found found)
{
	uint64_t address = is_by_address(op) ? op->pa : SIM_NEEDLESS_NOWHERE;
	struct record *record = begun->record;
	enum sim_verdict verdict = SIM_VERDICT_UNDECIDED;

	if (idle && begun->spared != SIM_VERDICT_COUNT)
		verdict = begun->spared;
	else if (idle)
		verdict = idle_verdict(sim, op, found);
	if (!record) {
		sim_needless_count(sim, book, address, ticks, verdict);
		return;
	}
	record->ticks = ticks;
	if (address != SIM_NEEDLESS_NOWHERE)
		needless_join_page(sim, record, address);
	needless_count(sim->needless, record, verdict);
	record->holders--;
	needless_release(sim->needless, record);
}
