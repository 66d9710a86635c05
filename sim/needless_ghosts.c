/*
 * Ghosts: what accesses do to them, and what that says about the operations that left them.
 *
 * A ghost is a copy as it would be had an operation not been done (theory: needless.c). It is kept
 * up like a cache's line: each access meets all ghosts of its line before it takes place. What it
 * would have read wrongly decides that the operation was needed; a ghost that goes without that
 * ends, and with its last ghost the operation turns out needless.
 */
#include <stdlib.h>

#include "sim/needless_internal.h"

/* --- Ghosts, and where they lie --------------------------------------------------------------- */

unsigned needless_cache_number_of(enum where where, unsigned cpu)
{
	return where == GHOST_L2 ? 2 * QUIRE_CPUS_MAX : 2 * cpu + (where == GHOST_L1I);
}

struct cache *needless_cache_of(struct sim *sim, enum where where, unsigned cpu)
{
	if (where == GHOST_L2)
		return &sim->l2;
	return where == GHOST_L1D ? &sim->cpus[cpu].l1d : &sim->cpus[cpu].l1i;
}

void needless_free_ghost(struct sim_needless *needless, struct ghost *ghost)
{
	struct record *record = ghost->record;
	struct ghost **at = &record->ghosts;

	while (*at != ghost)
		at = &(*at)->sibling;
	*at = ghost->sibling;
	free(ghost);
	needless_release(needless, record);
}

struct ghost **needless_bucket_of(struct sim_needless *needless, uint64_t line)
{
	return &needless->buckets[line * 0x9e3779b97f4a7c15u >> 51 & (NEEDLESS_BUCKETS - 1)];
}

void needless_unlink_ghost(struct sim_needless *needless, struct ghost *ghost)
{
	struct ghost **at = needless_bucket_of(needless, ghost->line);

	while (*at != ghost)
		at = &(*at)->next;
	*at = ghost->next;
}

/* --- Verdicts --------------------------------------------------------------------------------- */

void needless_decide_needed(struct sim_needless *needless, struct record *record)
{
	struct ghost *ghost = record->ghosts;

	needless_count(needless, record, SIM_VERDICT_NEEDED);
	while (ghost) {
		struct ghost *next = ghost->sibling;

		needless_unlink_ghost(needless, ghost);
		needless_free_ghost(needless, ghost);
		ghost = next;
	}
}

/* The ghost is gone and nobody read it wrongly. */
void needless_end_ghost(struct sim_needless *needless, struct ghost *ghost)
{
	if (ghost->record->ghosts == ghost && !ghost->sibling)
		needless_count_unread(needless, ghost->record);
	needless_unlink_ghost(needless, ghost);
	needless_free_ghost(needless, ghost);
}

#define NOBODY UINT32_MAX /* no CPU */

/* Has memory got nothing of the line through L2 since the operation cleaned L1? */
bool needless_memory_is_as_before(const struct sim *sim, const struct ghost *below)
{
	return memcmp(below->before, sim->memory.bytes + (below->line << sim->cpu->l1d.line_shift),
		      sim->cpu->l1d.line_bytes) == 0;
}

/* Is what a dirty copy of L1 would bring to L2 now there, and has gone no further? */
static bool lies_in_l2(const struct sim *sim, const struct ghost *below)
{
	quire_pa_t pa = below->line << sim->cpu->l1d.line_shift;
	struct cache_place place = cache_find(&sim->l2, 0, pa);

	return place.way >= 0 &&
	       (*cache_tag(&sim->l2, place.set, (unsigned)place.way) & CACHE_DIRTY) &&
	       memcmp(cache_line(&sim->l2, place.set, (unsigned)place.way),
		      sim->witness.reference.bytes + pa, sim->cpu->l1d.line_bytes) == 0 &&
	       needless_memory_is_as_before(sim, below);
}

struct ghost *needless_find_below(const struct record *record, const struct ghost *above)
{
	for (struct ghost *ghost = record->ghosts; ghost; ghost = ghost->sibling)
		if (ghost->where == GHOST_BELOW && ghost->line == above->line &&
		    ghost->above == above->where && ghost->cpu == above->cpu)
			return ghost;
	return NULL;
}

/*
 * The dirty copy above went down as it would have by itself: what lies below is right. With an L2
 * in between it got that far; memory may still lack it.
 */
static void end_below(struct sim *sim, struct record *record, const struct ghost *above)
{
	struct ghost *ghost = needless_find_below(record, above);

	if (!ghost)
		return;
	if (!sim->l2.present || above->where != GHOST_L1D || lies_in_l2(sim, ghost)) {
		needless_end_ghost(sim->needless, ghost);
		return;
	}
	ghost->above = GHOST_L2;
	ghost->cpu = NOBODY;
}

/* --- Ghosts as caches ------------------------------------------------------------------------- */

bool needless_is_at(const struct ghost *ghost, enum where where, unsigned cpu, uint32_t set,
		    uint32_t number)
{
	return ghost->where == where && (where == GHOST_L2 || ghost->cpu == cpu) &&
	       ghost->set == set && ghost->number == number;
}

static uint32_t fills_of(const struct sim *sim, const struct ghost *ghost)
{
	return sim->needless->fills[needless_cache_number_of(ghost->where, ghost->cpu)][ghost->set];
}

/*
 * No replacement policy keeps the copy longer. What lies below a dirty copy stays until that copy
 * goes.
 */
static bool has_left(struct sim *sim, const struct ghost *ghost)
{
	const struct cache *cache;

	if (ghost->where == GHOST_BELOW)
		return false;
	cache = needless_cache_of(sim, ghost->where, ghost->cpu);
	return cache->replace != SIM_RANDOM &&
	       fills_of(sim, ghost) - ghost->fills >= 2 * cache->ways;
}

/* Bytes [from, from + bytes) of the line: as they should be? */
static bool is_right(const struct sim *sim, const struct ghost *ghost, const uint8_t *held,
		     size_t from, size_t bytes)
{
	return memcmp(held + from,
		      sim->witness.reference.bytes + (ghost->line << sim->cpu->l1d.line_shift) +
			      from,
		      bytes) == 0;
}

bool needless_all_right(const struct sim *sim, const struct ghost *ghost)
{
	return is_right(sim, ghost, ghost->bytes, 0, sim->cpu->l1d.line_bytes);
}

/*
 * A dirty line that was dropped, not cleaned, would bring L2 a line that it has not: more than
 * ghosts follow.
 */
static bool fills_l2(const struct sim *sim, const struct ghost *ghost)
{
	return sim->l2.present && ghost->where == GHOST_L1D &&
	       !needless_find_below(ghost->record, ghost);
}

/* The copy leaves by itself: a dirty one goes down, over whatever is there. */
static void leave(struct sim *sim, struct ghost *ghost)
{
	if (ghost->dirty && (!needless_all_right(sim, ghost) || fills_l2(sim, ghost))) {
		needless_decide_needed(sim->needless, ghost->record);
		return;
	}
	if (ghost->dirty)
		end_below(sim, ghost->record, ghost);
	needless_end_ghost(sim->needless, ghost);
}

static bool same_place(const struct access *access, const struct ghost *ghost)
{
	return access->where != GHOST_BELOW &&
	       needless_is_at(ghost, access->where, access->cpu, access->set, access->number);
}

/* Hardware keeps the ghost and the accessing cache coherent. */
static bool is_snooped(const struct access *access, const struct ghost *ghost)
{
	if (ghost->where != GHOST_L1D || ghost->set != access->set)
		return false;
	return access->device || (access->sim->machine.data_coherent &&
				  access->where == GHOST_L1D && ghost->cpu != access->cpu);
}

static bool record_has_place(const struct access *access, const struct record *record)
{
	for (const struct ghost *ghost = record->ghosts; ghost; ghost = ghost->sibling)
		if (ghost->line == access->line && same_place(access, ghost))
			return true;
	return false;
}

static bool record_is_snooped(const struct access *access, const struct record *record)
{
	for (const struct ghost *ghost = record->ghosts; ghost; ghost = ghost->sibling)
		if (ghost->line == access->line && ghost->dirty && is_snooped(access, ghost))
			return true;
	return false;
}

/* Is all of the line right, but for what a store is about to put there? */
static bool right_but_for(const struct access *access, const struct ghost *ghost,
			  const uint8_t *held)
{
	size_t end = access->from + access->bytes, line_bytes = access->sim->cpu->l1d.line_bytes;

	if (!access->store)
		return is_right(access->sim, ghost, held, 0, line_bytes);
	return is_right(access->sim, ghost, held, 0, access->from) &&
	       is_right(access->sim, ghost, held, end, line_bytes - end);
}

/* Does a store find no line in L1 D and pass on, where it would have found the ghost? */
static bool goes_below(const struct access *access)
{
	return access->misses && !access->sim->cpu->l1d.write_allocate;
}

/* Does a store reach L2 at once? */
static bool reaches_l2(const struct access *access)
{
	return access->store && access->where == GHOST_L1D &&
	       (!access->sim->cpu->l1d.write_back || goes_below(access));
}

/* What an access does to the copy that a ghost is. Returns false when the record was decided. */
static bool use_copy(const struct access *access, struct ghost *ghost)
{
	struct sim *sim = access->sim;
	struct sim_needless *needless = sim->needless;

	ghost->fills = fills_of(sim, ghost);
	if (access->store && goes_below(access)) {
		needless_decide_needed(needless, ghost->record);
		return false;
	}
	if (access->store) {
		memcpy(ghost->bytes + access->from,
		       sim->witness.reference.bytes + (ghost->line << sim->cpu->l1d.line_shift) +
			       access->from,
		       access->bytes);
		ghost->dirty |= sim->cpu->l1d.write_back;
		return true;
	}
	if (!is_right(sim, ghost, ghost->bytes, access->from, access->bytes)) {
		needless_decide_needed(needless, ghost->record);
		return false;
	}
	if (access->misses && !ghost->dirty && needless_all_right(sim, ghost)) {
		needless_end_ghost(needless, ghost);
		return false;
	}
	return true;
}

/* What an access by another path does to it. */
static bool pass_copy(const struct access *access, struct ghost *ghost)
{
	struct sim *sim = access->sim;

	/*
	 * Hardware brings a dirty line down, right or not; a hit asks nobody, unless it is the
	 * first store.
	 */
	if (is_snooped(access, ghost) && (access->misses || access->store)) {
		if (ghost->dirty &&
		    (!right_but_for(access, ghost, ghost->bytes) || fills_l2(sim, ghost))) {
			needless_decide_needed(sim->needless, ghost->record);
			return false;
		}
		if (ghost->dirty)
			end_below(sim, ghost->record, ghost);
		ghost->dirty = false;
		if (!access->store)
			return true;
		needless_end_ghost(sim->needless, ghost);
		return false;
	}
	if (access->store && (ghost->dirty || (ghost->where == GHOST_L2 && reaches_l2(access)))) {
		needless_decide_needed(sim->needless, ghost->record);
		return false;
	}
	if (ghost->where != GHOST_L2 || access->memory || !access->misses)
		return true;
	/* A fill, or a walker, would find it in L2. */
	if (!is_right(sim, ghost, ghost->bytes, access->store ? 0 : access->from,
		      access->store ? sim->cpu->l1d.line_bytes : access->bytes) ||
	    (access->where != GHOST_BELOW && !needless_all_right(sim, ghost))) {
		needless_decide_needed(sim->needless, ghost->record);
		return false;
	}
	ghost->fills = fills_of(sim, ghost);
	/* L2 takes what loads, fetches and walkers read through it. */
	if (ghost->dirty || access->store || access->device)
		return true;
	needless_end_ghost(sim->needless, ghost);
	return false;
}

/* An access that looks below the first level, where the ghost says what would lie there. */
static bool use_below(const struct access *access, struct ghost *ghost)
{
	struct sim *sim = access->sim;
	bool wrong;

	if (!access->misses || record_has_place(access, ghost->record) ||
	    record_is_snooped(access, ghost->record))
		return true;
	if (ghost->above == GHOST_L2 && !access->memory)
		return true;
	if (access->where == GHOST_BELOW)
		wrong = !is_right(sim, ghost, access->memory ? ghost->memory : ghost->bytes,
				  access->from, access->bytes);
	else
		wrong = !right_but_for(access, ghost, ghost->bytes);
	if (wrong)
		needless_decide_needed(sim->needless, ghost->record);
	return !wrong;
}

/* Shows the access to one ghost. False: ghosts went, and the chain has to be gone through again. */
static bool meet(const struct access *access, struct ghost *ghost)
{
	if (ghost->where == GHOST_BELOW)
		return use_below(access, ghost);
	if (same_place(access, ghost))
		return use_copy(access, ghost);
	return pass_copy(access, ghost);
}

/* Copies that have left by themselves are gone before anybody looks. */
static void let_leave(struct sim *sim, uint64_t line)
{
	struct ghost *ghost = *needless_bucket_of(sim->needless, line);

	while (ghost) {
		if (ghost->line == line && has_left(sim, ghost)) {
			leave(sim, ghost);
			ghost = *needless_bucket_of(sim->needless, line);
		} else {
			ghost = ghost->next;
		}
	}
}

/* Ghosts that have left meanwhile, without anybody looking at their lines again. */
void sim_needless_settle(struct sim *sim)
{
	struct sim_needless *needless = sim->needless;

	for (unsigned i = 0; needless && i < NEEDLESS_BUCKETS; i++) {
		struct ghost *ghost = needless->buckets[i];

		while (ghost) {
			if (has_left(sim, ghost)) {
				leave(sim, ghost);
				ghost = needless->buckets[i];
			} else {
				ghost = ghost->next;
			}
		}
	}
	if (needless)
		needless_entries_settle(sim, false);
}

void sim_needless_finish(struct sim *sim)
{
	struct sim_needless *needless = sim->needless;

	sim_needless_settle(sim);
	for (unsigned i = 0; needless && i < NEEDLESS_BUCKETS; i++)
		for (struct ghost *ghost = needless->buckets[i]; ghost; ghost = ghost->next)
			if (ghost->record->spared != SIM_VERDICT_COUNT)
				needless_count(needless, ghost->record, ghost->record->spared);
	if (needless)
		needless_entries_settle(sim, true);
}

/*
 * Each ghost meets the access once: decided ones are gone, so a second time around does no harm to
 * the others.
 */
static void meet_all(const struct access *access)
{
	struct ghost *ghost;

	needless_lines_access(access);
	let_leave(access->sim, access->line);
	ghost = *needless_bucket_of(access->sim->needless, access->line);
	while (ghost) {
		if (ghost->line != access->line || meet(access, ghost))
			ghost = ghost->next;
		else
			ghost = *needless_bucket_of(access->sim->needless, access->line);
	}
}

/* Fewer than there are is safe: ghosts seem to stay longer then. L2 is filled by loads at least. */
static void count_fill(struct sim *sim, const struct access *access, const struct cache *cache)
{
	if (access->store && !cache->write_allocate)
		return;
	sim->needless->fills[needless_cache_number_of(access->where, access->cpu)][access->set]++;
	if (!access->store && sim->l2.present &&
	    cache_find(&sim->l2, 0, access->line << cache->line_shift).way < 0) {
		uint32_t set = cache_set(&sim->l2, 0, access->line << cache->line_shift);

		sim->needless->fills[needless_cache_number_of(GHOST_L2, 0)][set]++;
	}
}

static void access_cache(struct sim *sim, enum where where, uintptr_t va, quire_pa_t pa,
			 size_t bytes, bool store)
{
	const struct cache *cache = needless_cache_of(sim, where, sim->current);
	struct cache_place place = cache_find(cache, va, pa);
	struct access access = {
		.sim = sim,
		.where = where,
		.cpu = sim->current,
		.set = place.set,
		.number = cache_number(cache, va, pa),
		.line = pa >> cache->line_shift,
		.from = pa & (cache->line_bytes - 1),
		.bytes = bytes,
		.store = store,
		.misses = place.way < 0,
	};

	meet_all(&access);
	if (access.misses)
		count_fill(sim, &access, cache);
}

void sim_needless_load(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes)
{
	access_cache(sim, GHOST_L1D, va, pa, bytes, false);
}

void sim_needless_store(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes)
{
	access_cache(sim, GHOST_L1D, va, pa, bytes, true);
}

void sim_needless_fetch(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes)
{
	if (!sim->machine.insn_snoops_data && sim->cpu->l1i.line_bytes == sim->cpu->l1d.line_bytes)
		access_cache(sim, GHOST_L1I, va, pa, bytes, false);
	else
		sim_needless_past(sim, pa, bytes, false, false);
}

void sim_needless_device(struct sim *sim, quire_pa_t pa, size_t bytes, bool store)
{
	const struct cache *l1 = &sim->cpu->l1d;
	struct access access = {
		.sim = sim,
		.where = GHOST_BELOW,
		.set = cache_set(l1, sim->kernel_base + pa, pa),
		.line = pa >> l1->line_shift,
		.from = pa & (l1->line_bytes - 1),
		.bytes = bytes,
		.store = store,
		.misses = true,
		.memory = !sim->machine.dma_coherent,
		.device = sim->machine.dma_coherent,
	};

	meet_all(&access);
}

void sim_needless_past(struct sim *sim, quire_pa_t pa, size_t bytes, bool store, bool memory)
{
	unsigned shift = sim->cpu->l1d.line_shift;

	while (bytes) {
		size_t from = pa & (((size_t)1 << shift) - 1);
		size_t part =
			((size_t)1 << shift) - from < bytes ? ((size_t)1 << shift) - from : bytes;
		struct access access = {
			.sim = sim,
			.where = GHOST_BELOW,
			.line = pa >> shift,
			.from = from,
			.bytes = part,
			.store = store,
			.misses = true,
			.memory = memory,
		};

		meet_all(&access);
		pa += part, bytes -= part;
	}
}
