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
 * What is still open at the end is *undecided*.
 *
 * SOUND, NOT EXACT. A needed operation is never called needless. The other way round there is some
 * slack: a store by another path over a dirty ghost, and a fill of a line of which any byte would
 * be old, count as wrong reads at once; a ghost is taken to have left only when no replacement
 * policy could have kept it (twice as many fills of its set as it has ways; never with random
 * replacement). And operations are judged one after the other as if those found needless had not
 * been done, so that all of them may be left out together: an operation on a place where the ghost
 * of an earlier one still lies takes it over. That an idle operation is left out changes no ghost.
 *
 * Undecided from the start: TLB operations that dropped something; operations on I lines where they
 * are of another size than D lines; all that is asynchronous.
 */
#include <stdlib.h>

#include "sim/needless.h"

#define BUCKETS 8192u

enum where { GHOST_L1D, GHOST_L1I, GHOST_L2, GHOST_BELOW };

struct record;

/* A ghost: a copy, or (GHOST_BELOW) what the levels below a dirty copy would hold. */
struct ghost {
	struct ghost *next;    /* in its bucket */
	struct ghost *sibling; /* of the same operation */
	struct record *record;
	uint64_t line;         /* physical line number */
	enum where where;
	unsigned cpu;          /* L1 */
	uint32_t set, number;  /* the place of a copy; for GHOST_BELOW of the dirty copy above it */
	enum where above;      /* GHOST_BELOW: the cache of that copy */
	bool dirty;
	uint32_t fills;        /* of its set, when it was last used */
	uint8_t bytes[CACHE_LINE_MAX];  /* GHOST_BELOW: what a fill would get */
	uint8_t memory[CACHE_LINE_MAX]; /* GHOST_BELOW: what memory would hold */
	uint8_t before[CACHE_LINE_MAX]; /* GHOST_BELOW: what it did hold before the operation */
};

/* An operation that is not decided. */
struct record {
	enum quire_site site;
	enum sim_op book;
	uint64_t ticks;
	struct ghost *ghosts;
	bool twice;     /* a later operation took over a ghost of it */
	bool to_memory; /* it cleans L1 and L2 in one */
};

struct sim_needless {
	struct ghost *buckets[BUCKETS];
	uint32_t *fills[2 * QUIRE_CPUS_MAX + 1]; /* by cache: of each set */
	struct sim_need needs[QUIRE_SITE_COUNT + 1][SIM_OP_COUNT];
};

/* --- Making ----------------------------------------------------------------------------------- */

static unsigned cache_number_of(enum where where, unsigned cpu)
{
	return where == GHOST_L2 ? 2 * QUIRE_CPUS_MAX : 2 * cpu + (where == GHOST_L1I);
}

static struct cache *cache_of(struct sim *sim, enum where where, unsigned cpu)
{
	if (where == GHOST_L2)
		return &sim->l2;
	return where == GHOST_L1D ? &sim->cpus[cpu].l1d : &sim->cpus[cpu].l1i;
}

static bool make_fills(struct sim *sim, struct sim_needless *needless, enum where where,
		       unsigned cpu)
{
	const struct cache *cache = cache_of(sim, where, cpu);
	uint32_t **fills = &needless->fills[cache_number_of(where, cpu)];

	if (!cache->present)
		return true;
	*fills = calloc(cache->sets, sizeof(**fills));
	return *fills != NULL;
}

struct sim_needless *sim_needless_create(struct sim *sim)
{
	struct sim_needless *needless = calloc(1, sizeof(*needless));
	bool good = needless && make_fills(sim, needless, GHOST_L2, 0);

	for (unsigned cpu = 0; good && cpu < sim->machine.cpus; cpu++)
		good = make_fills(sim, needless, GHOST_L1D, cpu) &&
		       make_fills(sim, needless, GHOST_L1I, cpu);
	if (good)
		return needless;
	sim_needless_destroy(needless);
	return NULL;
}

/* Each record goes with its last ghost. */
static void free_ghost(struct ghost *ghost)
{
	struct record *record = ghost->record;
	struct ghost **at = &record->ghosts;

	while (*at != ghost)
		at = &(*at)->sibling;
	*at = ghost->sibling;
	if (!record->ghosts)
		free(record);
	free(ghost);
}

void sim_needless_destroy(struct sim_needless *needless)
{
	if (!needless)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (needless->buckets[i]) {
			struct ghost *ghost = needless->buckets[i];

			needless->buckets[i] = ghost->next;
			free_ghost(ghost);
		}
	for (unsigned i = 0; i < 2 * QUIRE_CPUS_MAX + 1; i++)
		free(needless->fills[i]);
	free(needless);
}

/* --- Verdicts --------------------------------------------------------------------------------- */

static struct ghost **bucket_of(struct sim_needless *needless, uint64_t line)
{
	return &needless->buckets[line * 0x9e3779b97f4a7c15u >> 51 & (BUCKETS - 1)];
}

static void unlink_ghost(struct sim_needless *needless, struct ghost *ghost)
{
	struct ghost **at = bucket_of(needless, ghost->line);

	while (*at != ghost)
		at = &(*at)->next;
	*at = ghost->next;
}

static void count(struct sim_needless *needless, const struct record *record,
		  enum sim_verdict verdict)
{
	struct sim_need *need = &needless->needs[record->site][record->book];

	need->count[verdict]++;
	need->ticks[verdict] += record->ticks;
	need->count[SIM_VERDICT_UNDECIDED]--;
	need->ticks[SIM_VERDICT_UNDECIDED] -= record->ticks;
}

static void decide_needed(struct sim_needless *needless, struct record *record)
{
	struct ghost *ghost = record->ghosts;

	count(needless, record, SIM_VERDICT_NEEDED);
	while (ghost) {
		struct ghost *next = ghost->sibling;

		unlink_ghost(needless, ghost);
		free_ghost(ghost);
		ghost = next;
	}
}

/* The ghost is gone and nobody read it wrongly. */
static void end_ghost(struct sim_needless *needless, struct ghost *ghost)
{
	if (ghost->record->ghosts == ghost && !ghost->sibling)
		count(needless, ghost->record,
		      ghost->record->twice ? SIM_VERDICT_TWICE : SIM_VERDICT_NOT_READ);
	unlink_ghost(needless, ghost);
	free_ghost(ghost);
}

#define NOBODY UINT32_MAX /* no CPU */

/* Has memory got nothing of the line through L2 since the operation cleaned L1? */
static bool memory_is_as_before(const struct sim *sim, const struct ghost *below)
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
	       memory_is_as_before(sim, below);
}

static struct ghost *find_below(const struct record *record, const struct ghost *above)
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
	struct ghost *ghost = find_below(record, above);

	if (!ghost)
		return;
	if (!sim->l2.present || above->where != GHOST_L1D || lies_in_l2(sim, ghost)) {
		end_ghost(sim->needless, ghost);
		return;
	}
	ghost->above = GHOST_L2;
	ghost->cpu = NOBODY;
}

/* --- Ghosts as caches ------------------------------------------------------------------------- */

static bool is_at(const struct ghost *ghost, enum where where, unsigned cpu, uint32_t set,
		  uint32_t number)
{
	return ghost->where == where && (where == GHOST_L2 || ghost->cpu == cpu) &&
	       ghost->set == set && ghost->number == number;
}

static uint32_t fills_of(const struct sim *sim, const struct ghost *ghost)
{
	return sim->needless->fills[cache_number_of(ghost->where, ghost->cpu)][ghost->set];
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
	cache = cache_of(sim, ghost->where, ghost->cpu);
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

static bool all_right(const struct sim *sim, const struct ghost *ghost)
{
	return is_right(sim, ghost, ghost->bytes, 0, sim->cpu->l1d.line_bytes);
}

/*
 * A dirty line that was dropped, not cleaned, would bring L2 a line that it has not: more than
 * ghosts follow.
 */
static bool fills_l2(const struct sim *sim, const struct ghost *ghost)
{
	return sim->l2.present && ghost->where == GHOST_L1D && !find_below(ghost->record, ghost);
}

/* The copy leaves by itself: a dirty one goes down, over whatever is there. */
static void leave(struct sim *sim, struct ghost *ghost)
{
	if (ghost->dirty && (!all_right(sim, ghost) || fills_l2(sim, ghost))) {
		decide_needed(sim->needless, ghost->record);
		return;
	}
	if (ghost->dirty)
		end_below(sim, ghost->record, ghost);
	end_ghost(sim->needless, ghost);
}

/* One access to a line. */
struct access {
	struct sim *sim;
	/* the first cache that it looks into; GHOST_BELOW: past the first level */
	enum where where;
	unsigned cpu;
	uint32_t set, number; /* its place there */
	uint64_t line;
	size_t from, bytes;   /* in the line */
	bool store;
	bool misses;          /* the cache does not have it now */
	bool memory;          /* GHOST_BELOW: it looks at memory only */
	/* GHOST_BELOW: a coherent device, which looks into L1 D caches at `set` first */
	bool device;
};

static bool same_place(const struct access *access, const struct ghost *ghost)
{
	return access->where != GHOST_BELOW &&
	       is_at(ghost, access->where, access->cpu, access->set, access->number);
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
		decide_needed(needless, ghost->record);
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
		decide_needed(needless, ghost->record);
		return false;
	}
	if (access->misses && !ghost->dirty && all_right(sim, ghost)) {
		end_ghost(needless, ghost);
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
			decide_needed(sim->needless, ghost->record);
			return false;
		}
		if (ghost->dirty)
			end_below(sim, ghost->record, ghost);
		ghost->dirty = false;
		if (!access->store)
			return true;
		end_ghost(sim->needless, ghost);
		return false;
	}
	if (access->store && (ghost->dirty || (ghost->where == GHOST_L2 && reaches_l2(access)))) {
		decide_needed(sim->needless, ghost->record);
		return false;
	}
	if (ghost->where != GHOST_L2 || access->memory || !access->misses)
		return true;
	/* A fill, or a walker, would find it in L2. */
	if (!is_right(sim, ghost, ghost->bytes, access->store ? 0 : access->from,
		      access->store ? sim->cpu->l1d.line_bytes : access->bytes) ||
	    (access->where != GHOST_BELOW && !all_right(sim, ghost))) {
		decide_needed(sim->needless, ghost->record);
		return false;
	}
	ghost->fills = fills_of(sim, ghost);
	/* L2 takes what loads, fetches and walkers read through it. */
	if (ghost->dirty || access->store || access->device)
		return true;
	end_ghost(sim->needless, ghost);
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
		decide_needed(sim->needless, ghost->record);
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
	struct ghost *ghost = *bucket_of(sim->needless, line);

	while (ghost) {
		if (ghost->line == line && has_left(sim, ghost)) {
			leave(sim, ghost);
			ghost = *bucket_of(sim->needless, line);
		} else {
			ghost = ghost->next;
		}
	}
}

/*
 * Each ghost meets the access once: decided ones are gone, so a second time around does no harm to
 * the others.
 */
static void meet_all(const struct access *access)
{
	struct ghost *ghost;

	let_leave(access->sim, access->line);
	ghost = *bucket_of(access->sim->needless, access->line);
	while (ghost) {
		if (ghost->line != access->line || meet(access, ghost))
			ghost = ghost->next;
		else
			ghost = *bucket_of(access->sim->needless, access->line);
	}
}

/* Fewer than there are is safe: ghosts seem to stay longer then. L2 is filled by loads at least. */
static void count_fill(struct sim *sim, const struct access *access, const struct cache *cache)
{
	if (access->store && !cache->write_allocate)
		return;
	sim->needless->fills[cache_number_of(access->where, access->cpu)][access->set]++;
	if (!access->store && sim->l2.present &&
	    cache_find(&sim->l2, 0, access->line << cache->line_shift).way < 0) {
		uint32_t set = cache_set(&sim->l2, 0, access->line << cache->line_shift);

		sim->needless->fills[cache_number_of(GHOST_L2, 0)][set]++;
	}
}

static void access_cache(struct sim *sim, enum where where, uintptr_t va, quire_pa_t pa,
			 size_t bytes, bool store)
{
	const struct cache *cache = cache_of(sim, where, sim->current);
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
	struct ghost **bucket = bucket_of(making->sim->needless, ghost->line);

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
	struct cache_place place = { 0, -1 };

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
	for (struct ghost *ghost = *bucket_of(sim->needless, like->line); ghost;
	     ghost = ghost->next)
		if (ghost != like && ghost->line == like->line && ghost->record != like->record &&
		    is_at(ghost, like->where, like->cpu, like->set, like->number))
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
	if (!(making->op->action & SIM_CLEAN) || !all_right(making->sim, before) ||
	    before->record->to_memory != making->record->to_memory)
		return false;
	return making->record->to_memory || !making->sim->l2.present ||
	       memory_is_as_before(making->sim, below);
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
	below_before = find_below(before->record, before);
	if (before->dirty && (!below_before || !serves_for(making, before, below_before))) {
		decide_needed(needless, before->record);
		return;
	}
	memcpy(ghost->bytes, before->bytes, sizeof(ghost->bytes));
	if (before->dirty) {
		ghost->dirty = true;
		below = find_below(ghost->record, ghost);
		if (!below)
			below = add_below(making, ghost);
		if (!below) {
			decide_needed(needless, before->record);
			return;
		}
		memcpy(below->bytes, below_before->bytes, sizeof(below->bytes));
		memcpy(below->memory, below_before->memory, sizeof(below->memory));
		memcpy(below->before, below_before->before, sizeof(below->before));
		before->record->twice = true;
		end_ghost(needless, below_before);
	}
	before->record->twice = true;
	end_ghost(needless, before);
}

/* One way that the operation changes. */
static void add_way(struct making *making, enum where where, unsigned cpu, uint32_t set,
		    unsigned way)
{
	struct sim *sim = making->sim;
	struct cache *cache = cache_of(sim, where, cpu);
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
	ghost->fills = sim->needless->fills[cache_number_of(where, cpu)][set];
	memcpy(ghost->bytes, cache_line(cache, set, way), cache->line_bytes);
	add_ghost(making, ghost);
	if (dirty && (making->op->action & SIM_CLEAN))
		add_below(making, ghost);
	take_over(making, ghost);
}

static void add_found(struct making *making, enum where where, unsigned cpu)
{
	const struct cache *cache = cache_of(making->sim, where, cpu);
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
	struct ghost *ghost = is_insn(making->op) ? NULL : *bucket_of(needless, line);

	while (ghost) {
		if (ghost->line == line && ghost->record != making->record &&
		    (ghost->dirty || ghost->where == GHOST_BELOW)) {
			decide_needed(needless, ghost->record);
			ghost = *bucket_of(needless, line);
		} else {
			ghost = ghost->next;
		}
	}
}

static bool has_ghosts(struct sim *sim, uint64_t line)
{
	for (const struct ghost *ghost = *bucket_of(sim->needless, line); ghost;
	     ghost = ghost->next)
		if (ghost->line == line && ghost->where != GHOST_BELOW)
			return true;
	return false;
}

void *sim_needless_begin(struct sim *sim, const struct sim_maintenance *op, enum sim_op book)
{
	struct making making = { .sim = sim, .op = op };

	if (is_insn(op) && sim->cpu->l1i.line_bytes != sim->cpu->l1d.line_bytes)
		return NULL;
	making.record = calloc(1, sizeof(*making.record));
	if (!making.record)
		return NULL;
	making.record->site = sim->site;
	making.record->book = book;
	making.record->to_memory = op->target == SIM_TARGET_DATA && op->point == SIM_COHERENCY &&
				   sim->l2.present && !sim->machine.l2_outer;
	add_ghosts(&making);
	if (making.record->ghosts && !making.failed) {
		if (op->action == SIM_INVALIDATE)
			lose_dirty(&making);
		return making.record;
	}
	while (making.record->ghosts) { /* half of them are worse than none */
		struct ghost *ghost = making.record->ghosts;
		bool last = !ghost->sibling;

		unlink_ghost(sim->needless, ghost);
		free_ghost(ghost);
		if (last)
			return NULL;
	}
	free(making.record);
	return NULL;
}

void sim_needless_end(struct sim *sim, void *begun, const struct sim_maintenance *op,
		      enum sim_op book, uint64_t ticks, bool idle, enum sim_found found)
{
	enum sim_verdict verdict = SIM_VERDICT_UNDECIDED;
	struct record *record = begun;

	if (idle && found != SIM_FOUND_NONE)
		verdict = SIM_VERDICT_NOTHING_DIRTY;
	else if (idle && op->target != SIM_TARGET_INSN_ALL &&
		 has_ghosts(sim, op->pa >> sim->cpu->l1d.line_shift))
		verdict = SIM_VERDICT_TWICE;
	else if (idle)
		verdict = SIM_VERDICT_NOTHING_THERE;
	sim_needless_count(sim, book, ticks, verdict);
	if (record)
		record->ticks = ticks;
}

void sim_needless_count(struct sim *sim, enum sim_op book, uint64_t ticks, enum sim_verdict verdict)
{
	struct sim_need *need = &sim->needless->needs[sim->site][book];

	need->count[verdict]++;
	need->ticks[verdict] += ticks;
}

/* --- Results ---------------------------------------------------------------------------------- */

/* Ghosts that have left meanwhile, without anybody looking at their lines again. */
void sim_needless_settle(struct sim *sim)
{
	struct sim_needless *needless = sim->needless;

	for (unsigned i = 0; needless && i < BUCKETS; i++) {
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
}

const struct sim_need *sim_need(const struct sim *sim, enum quire_site site, enum sim_op op)
{
	return sim->needless ? &sim->needless->needs[site][op] : NULL;
}

const char *sim_verdict_name(enum sim_verdict verdict)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_VERDICTS(X)
#undef X
	};

	return (unsigned)verdict < SIM_VERDICT_COUNT ? names[verdict] : NULL;
}
