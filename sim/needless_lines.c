/*
 * What hardware may have done to lines by itself: fill them, and write them back.
 *
 * An operation may find nothing to do in this run, and yet no software could leave it out, because
 * it depends on what hardware does unasked:
 *
 *   guard      It drops a line that changed behind the cache since the cache was last known to have
 *              nothing old of it. If the line is there, nobody would have read it wrongly before it
 *              left; if not, hardware may have filled it speculatively all the same, at any time,
 *              through a live mapping. A fill from before the change would be stale now.
 *   overtaken  It cleans a line that is not dirty. But somebody stored to the line since it was last
 *              cleaned, and the line was written back by itself meanwhile.
 *
 * For the first, each line remembers which caches are *in step* with it: those that, as far as
 * software can know, hold nothing of it that is older than its last change. A change leaves in step
 * only the cache that it went through; an access through a cache, or a drop there, brings it in
 * step again. That a clean arrives below is a change, too: fills before it got what was there
 * before. For the second, it remembers which cache was stored to.
 *
 * A mapping is live if it is the kernel's linear one, or a TLB entry of the CPU when the operation
 * is done. (One that has gone meanwhile is not known here: the operation counts as needless then.)
 *
 * A whole I cache is dropped for a page that the machine is not told of. Such an operation is a
 * guard when, before another one, instructions are fetched from a line that had changed before the
 * operation and behind the I cache.
 *
 * What is not known is not claimed: there is room for IN_STEP caches, and while more are in step, no
 * operation on the line is a guard; of several caches that were stored to, the last is remembered.
 * Passes over whole caches by set and way are seen at the lines that they find, so that an operation
 * after one can be called overtaken though a program could know better.
 */
#include "sim/needless_internal.h"
#include "sim/tlb.h"

#define IN_STEP 3u

/*
 * A place is where a line may lie in first-level caches, as one number: which cache, of which CPU,
 * and at which of the indexes (with virtual tags: tags) that the line can have. 0: none.
 */
#define PLACE_INSN         1u
#define PLACE_CPU_SHIFT    1u /* number + 1; 0: all CPUs */
#define PLACE_CPUS         (0x7fu << PLACE_CPU_SHIFT)
#define PLACE_COLOUR_SHIFT 8u /* + 1, so that no place is 0 */
#define PLACE_COLOUR_BITS  20u
#define PLACE_BITS         29u

struct line {
	uint32_t in_step[IN_STEP];    /* places */
	uint32_t changed;             /* 0: never; else 1 + whole I caches dropped before */
	uint32_t stored : PLACE_BITS; /* which L1 D was stored to since it was cleaned; 0: none */
	uint32_t below_stored : 1;    /* L2 was, or will be when L1 is cleaned */
	uint32_t below_in_step : 1;   /* L2 is */
	uint32_t crowded : 1;         /* more are in step than there is room for */
};

static struct line *line_of(const struct sim *sim, uint64_t number)
{
	return (struct line *)(void *)sim->needless->lines.bytes + number;
}

/* --- Places ----------------------------------------------------------------------------------- */

static uint32_t place_at(const struct cache *cache, bool insn, unsigned cpu, uint32_t set,
			 uint32_t number)
{
	unsigned page_shift = QUIRE_PAGE_SHIFT - cache->line_shift;
	uint32_t colour = cache->virtual_tag ? number >> page_shift : set >> page_shift;

	colour = (colour & ((1u << PLACE_COLOUR_BITS) - 1)) + 1;
	return colour << PLACE_COLOUR_SHIFT | (cpu + 1) << PLACE_CPU_SHIFT | insn;
}

static uint32_t place_of_address(const struct cache *cache, bool insn, unsigned cpu, uintptr_t va,
				 quire_pa_t pa)
{
	return place_at(cache, insn, cpu, cache_set(cache, va, pa), cache_number(cache, va, pa));
}

/* The same place of every CPU's cache. */
static uint32_t on_all_cpus(uint32_t place)
{
	return place & ~PLACE_CPUS;
}

static bool is_in_step(const struct line *line, uint32_t place)
{
	for (unsigned i = 0; i < IN_STEP; i++)
		if (line->in_step[i] == place || line->in_step[i] == on_all_cpus(place))
			return true;
	return false;
}

static void bring_in_step(struct line *line, uint32_t place)
{
	if (is_in_step(line, place))
		return;
	for (unsigned i = 0; i < IN_STEP; i++)
		if (!line->in_step[i]) {
			line->in_step[i] = place;
			return;
		}
	line->crowded = true;
}

/* The line changed through a place; 0: past all first-level caches. */
static void change(const struct sim *sim, struct line *line, uint32_t place)
{
	memset(line->in_step, 0, sizeof(line->in_step));
	line->in_step[0] = place;
	line->crowded = false;
	line->changed = sim->needless->whole_insns + 1;
}

/* --- Accesses --------------------------------------------------------------------------------- */

static void store_through(const struct access *access, struct line *line, uint32_t place)
{
	const struct sim *sim = access->sim;

	if (sim->machine.data_coherent)
		place = on_all_cpus(place);
	change(sim, line, place);
	line->below_in_step = true;
	line->below_stored = true;
	if (sim->cpu->l1d.write_back && (!access->misses || sim->cpu->l1d.write_allocate))
		line->stored = place & ((1u << PLACE_BITS) - 1);
}

/* By a walker at L2, past all caches, or by a device. */
static void store_below(const struct access *access, struct line *line)
{
	const struct sim *sim = access->sim;

	change(sim, line,
	       access->device ? on_all_cpus(place_at(&sim->cpu->l1d, false, 0, access->set,
						     access->number))
			      : 0);
	line->stored = 0;
	line->below_in_step = !access->memory;
	line->below_stored = !access->memory;
}

/* Instructions are fetched that may be old in the I cache, but for the last whole drop of it. */
static void fetch_guarded(const struct access *access, const struct line *line, uint32_t place)
{
	struct sim_needless *needless = access->sim->needless;
	const struct whole_insn *whole = &needless->whole_insn[access->cpu];
	struct record *record = whole->record;

	if (!record || !line->changed || line->changed > whole->number || line->crowded ||
	    is_in_step(line, place))
		return;
	record->spared = SIM_VERDICT_GUARD;
	if (sim_verdict_is_needless(record->verdict))
		needless_count(needless, record, SIM_VERDICT_GUARD);
}

void needless_lines_access(const struct access *access)
{
	struct line *line = line_of(access->sim, access->line);
	bool insn = access->where == GHOST_L1I;
	uint32_t place;

	if (access->where == GHOST_BELOW) {
		if (access->store)
			store_below(access, line);
		else if (!access->memory && !access->device)
			line->below_in_step = true;
		return;
	}
	place = place_at(needless_cache_of(access->sim, access->where, access->cpu), insn,
			 access->cpu, access->set, access->number);
	if (access->store) {
		store_through(access, line, place);
		return;
	}
	if (insn)
		fetch_guarded(access, line, place);
	bring_in_step(line, place);
	if (access->misses)
		line->below_in_step = true;
}

/* --- Operations ------------------------------------------------------------------------------- */

/* May the CPU fill the line at that place, through any mapping that is live now? */
static bool is_reachable(struct sim *sim, const struct cache *cache, bool insn, unsigned cpu,
			 quire_pa_t pa, uint32_t place)
{
	const struct sim_tlb_state *tlb = sim->cpus[cpu].tlb;
	unsigned needed = insn ? SIM_TLB_INSN_SIDE | SIM_TLB_FETCH : SIM_TLB_DATA_SIDE;

	if (place_of_address(cache, insn, cpu, sim->kernel_base + pa, pa) == place)
		return true;
	for (size_t i = 0; i < (size_t)tlb->sets * tlb->ways; i++) {
		const struct sim_translation *entry = &tlb->entries[i];
		uintptr_t va = entry->page << QUIRE_PAGE_SHIFT | (pa & QUIRE_PAGE_MASK);

		if ((entry->bits & needed) == needed && !(entry->bits & SIM_TLB_UNCACHED) &&
		    entry->frame == pa >> QUIRE_PAGE_SHIFT &&
		    place_of_address(cache, insn, cpu, va, pa) == place)
			return true;
	}
	return false;
}

/* An operation as it meets one line. */
struct meeting {
	struct sim *sim;
	const struct sim_maintenance *op;
	struct line *line;
	quire_pa_t pa;
	bool guard, overtaken;
	uint32_t cleaned; /* the place of L1 D where it found the line dirty */
};

static bool cleans(const struct meeting *meeting)
{
	return meeting->op->action & SIM_CLEAN;
}

static bool drops(const struct meeting *meeting)
{
	return meeting->op->action & SIM_INVALIDATE;
}

static bool is_dirty(const struct cache *cache, struct cache_place at)
{
	return at.way >= 0 && (*cache_tag(cache, at.set, (unsigned)at.way) & CACHE_DIRTY);
}

/* May one CPU's L1 hold what is stale now? `there`: it does hold the line. */
static bool guards(const struct meeting *meeting, bool insn, unsigned cpu, uint32_t place,
		   bool there)
{
	const struct line *line = meeting->line;
	struct sim *sim = meeting->sim;

	if (!line->changed || line->crowded || is_in_step(line, place))
		return false;
	if (insn && line->changed <= sim->needless->whole_insn[cpu].number)
		return false;
	return there || is_reachable(sim, insn ? &sim->cpus[cpu].l1i : &sim->cpus[cpu].l1d, insn,
				     cpu, meeting->pa, place);
}

static bool is_stored(const struct line *line, uint32_t place)
{
	return line->stored && (line->stored == place || line->stored == on_all_cpus(place) ||
				on_all_cpus(line->stored) == place);
}

/* One CPU's L1 at one place: what is there now, before the operation. */
static void meet_l1(struct meeting *meeting, bool insn, unsigned cpu, struct cache_place at,
		    uint32_t place)
{
	if (drops(meeting) && guards(meeting, insn, cpu, place, at.way >= 0))
		meeting->guard = true;
	if (insn || !cleans(meeting))
		return;
	if (is_dirty(&meeting->sim->cpus[cpu].l1d, at))
		meeting->cleaned = place;
	else if (is_stored(meeting->line, place))
		meeting->overtaken = true;
}

/* What it leaves there; `place` may be one of all CPUs. */
static void leave_l1(struct meeting *meeting, bool insn, uint32_t place)
{
	struct line *line = meeting->line;

	if (meeting->cleaned) {
		meeting->overtaken = false;
		change(meeting->sim, line, meeting->cleaned);
		line->below_in_step = true;
	}
	if (meeting->cleaned || meeting->overtaken)
		line->below_stored = true;
	if (drops(meeting))
		bring_in_step(line, place);
	if (!insn && is_stored(line, place))
		line->stored = 0;
}

static void meet_l2(struct meeting *meeting, struct cache_place at)
{
	struct line *line = meeting->line;

	if (drops(meeting) && line->changed && !line->below_in_step)
		meeting->guard = true;
	if (cleans(meeting) && !meeting->cleaned && !is_dirty(&meeting->sim->l2, at) &&
	    line->below_stored)
		meeting->overtaken = true;
	line->below_stored = false;
	line->below_in_step |= drops(meeting);
}

/* By address, first level: on one CPU or all. */
static void meet_address(struct meeting *meeting, bool insn)
{
	const struct sim_maintenance *op = meeting->op;
	struct sim *sim = meeting->sim;
	uint32_t place = 0;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		const struct cache *cache = insn ? &sim->cpus[cpu].l1i : &sim->cpus[cpu].l1d;
		struct cache_place at = cache_find(cache, op->va, op->pa);

		if (!op->all_cpus && cpu != op->cpu)
			continue;
		place = place_at(cache, insn, cpu, at.set, cache_number(cache, op->va, op->pa));
		meet_l1(meeting, insn, cpu, at, place);
	}
	leave_l1(meeting, insn, op->all_cpus ? on_all_cpus(place) : place);
}

/* By set and way: the line that is there. */
static void meet_way(struct meeting *meeting, const struct cache *cache, bool insn)
{
	const struct sim_maintenance *op = meeting->op;
	struct cache_place at = {op->set, (int)op->way};
	uint32_t tag = *cache_tag(cache, op->set, op->way), place;

	if (tag == CACHE_ABSENT)
		return;
	meeting->pa = cache_line_pa(cache, op->set, op->way);
	meeting->line = line_of(meeting->sim, meeting->pa >> cache->line_shift);
	if (cache == &meeting->sim->l2) {
		meet_l2(meeting, at);
		return;
	}
	place = place_at(cache, insn, op->cpu, op->set, tag & CACHE_NUMBER);
	meet_l1(meeting, insn, op->cpu, at, place);
	leave_l1(meeting, insn, place);
}

enum sim_verdict needless_lines_operation(struct sim *sim, const struct sim_maintenance *op)
{
	struct meeting meeting = {.sim = sim, .op = op, .pa = op->pa};
	bool same_lines = sim->cpu->l1i.line_bytes == sim->cpu->l1d.line_bytes;
	bool follows_insn = same_lines && !sim->machine.insn_snoops_data;

	if (op->pa < sim->machine.memory_bytes)
		meeting.line = line_of(sim, op->pa >> sim->cpu->l1d.line_shift);
	else
		return SIM_VERDICT_COUNT;
	if (op->target == SIM_TARGET_DATA)
		meet_address(&meeting, false);
	else if (op->target == SIM_TARGET_INSN && follows_insn)
		meet_address(&meeting, true);
	else if (op->target == SIM_TARGET_DATA_SET)
		meet_way(&meeting, &sim->cpus[op->cpu].l1d, false);
	else if (op->target == SIM_TARGET_INSN_SET && follows_insn)
		meet_way(&meeting, &sim->cpus[op->cpu].l1i, true);
	else if (op->target == SIM_TARGET_L2_SET)
		meet_way(&meeting, &sim->l2, false);
	if (op->target == SIM_TARGET_OUTER ||
	    (op->target == SIM_TARGET_DATA && op->point == SIM_COHERENCY && sim->l2.present &&
	     !sim->machine.l2_outer))
		meet_l2(&meeting, cache_find(&sim->l2, 0, op->pa));
	if (meeting.guard)
		return SIM_VERDICT_GUARD;
	return meeting.overtaken ? SIM_VERDICT_OVERTAKEN : SIM_VERDICT_COUNT;
}

/* --- Whole I caches --------------------------------------------------------------------------- */

static void hold_whole_insn(struct sim_needless *needless, unsigned cpu, struct record *record)
{
	struct whole_insn *whole = &needless->whole_insn[cpu];

	if (record)
		record->holders++;
	if (whole->record) {
		whole->record->holders--;
		needless_release(needless, whole->record);
	}
	whole->record = record;
	whole->number = needless->whole_insns;
}

void needless_lines_whole_insn(struct sim *sim, const struct sim_maintenance *op,
			       struct record *record)
{
	sim->needless->whole_insns++;
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (op->all_cpus || cpu == op->cpu)
			hold_whole_insn(sim->needless, cpu, record);
}

/* --- Memory ----------------------------------------------------------------------------------- */

int needless_lines_create(struct sim_needless *needless, const struct sim *sim)
{
	uint64_t lines = sim->machine.memory_bytes >> sim->cpu->l1d.line_shift;

	return sim_memory_create(&needless->lines, lines * sizeof(struct line),
				 &sim_host_allocator);
}

void needless_lines_destroy(struct sim_needless *needless)
{
	for (unsigned cpu = 0; cpu < QUIRE_CPUS_MAX; cpu++)
		hold_whole_insn(needless, cpu, NULL);
	sim_memory_destroy(&needless->lines, &sim_host_allocator);
}
