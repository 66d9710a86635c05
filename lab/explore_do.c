/*
 * Doing a move. Its outcome is compared with the model's. (Calls that stop half way:
 * explore_calls.c.)
 */
#include "lab/explore.h"

#include <string.h>

#include "sim/adversary.h"

/* Between two moves there is time enough for the stores that wait on other CPUs. */
static void settle_stores(struct explore_world *world, unsigned but)
{
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++)
		if (cpu != but)
			sim_settle_stores(world->sim, cpu);
}

/* --- Doing one -------------------------------------------------------------------------------- */

static struct explore_outcome do_access(struct explore_world *world, struct explore_move move,
					uint64_t value)
{
	uintptr_t va = explore_address(move.a, move.b);
	struct explore_outcome outcome = {0, 0};

	if (move.kind == EXPLORE_STORE)
		outcome.result = sim_store(world->sim, va, 8, value);
	else if (move.kind == EXPLORE_LOAD)
		outcome.result = sim_load(world->sim, va, 8, &outcome.value);
	else
		outcome.result = sim_fetch(world->sim, va, &outcome.value);
	return outcome;
}

static int do_map(struct explore_world *world, struct explore_move move)
{
	bool anonymous = move.a == EXPLORE_ANON;
	uintptr_t va = explore_address(move.a, 0);
	unsigned flags = QUIRE_MAP_FIXED |
			 (explore_is_shared(move.a) ? QUIRE_MAP_SHARED : QUIRE_MAP_PRIVATE);

	return quire_mmap(world->spaces[world->runs[move.cpu]], &va,
			  world->setting->pages * QUIRE_PAGE_BYTES,
			  QUIRE_PROT_READ | QUIRE_PROT_WRITE,
			  flags | (anonymous ? QUIRE_MAP_ANONYMOUS : 0),
			  anonymous ? NULL : &world->file, 0, true);
}

static int do_area(struct explore_world *world, struct explore_move move)
{
	struct quire_space *space = world->spaces[world->runs[move.cpu]];
	uintptr_t va = explore_address(move.a, 0);
	size_t bytes = world->setting->pages * QUIRE_PAGE_BYTES;

	if (move.kind == EXPLORE_UNMAP)
		return quire_munmap(space, va, bytes);
	if (move.kind == EXPLORE_PROTECT)
		return quire_mprotect(space, va, bytes, move.b);
	return quire_msync(space, va, bytes, QUIRE_MS_SYNC);
}

/* Two reads at once have a buffer for each CPU. */
static struct explore_outcome do_read(struct explore_world *world, struct explore_move move)
{
	uintptr_t buffer = EXPLORE_BUFFER + move.cpu * QUIRE_PAGE_BYTES;
	struct explore_outcome outcome = {0, 0};

	outcome.result =
		quire_read(&world->file, move.a * QUIRE_PAGE_BYTES, buffer, QUIRE_PAGE_BYTES);
	if (outcome.result)
		outcome.value = world->host[move.cpu * QUIRE_PAGE_BYTES / sizeof(uint64_t)];
	return outcome;
}

static int64_t do_write(struct explore_world *world, struct explore_move move, uint64_t value)
{
	uint64_t *host = world->host + move.cpu * QUIRE_PAGE_BYTES / sizeof(uint64_t);

	for (size_t n = 0; n < QUIRE_PAGE_BYTES / sizeof(value); n++)
		host[n] = value;
	return quire_write(&world->file, move.a * QUIRE_PAGE_BYTES,
			   EXPLORE_BUFFER + move.cpu * QUIRE_PAGE_BYTES, QUIRE_PAGE_BYTES);
}

/* The page of the file, locked, with a reference. Until it is locked it may leave the file. */
static int lock_page(struct explore_world *world, unsigned index, struct quire_page **page)
{
	struct quire *q = world->quire;

	for (;;) {
		int error = quire_cache_read(&world->file, index, page);

		if (error)
			return error;
		quire_page_lock(q, *page);
		if ((*page)->file == &world->file)
			return 0;
		quire_page_unlock(q, *page);
		quire_page_put(q, *page);
	}
}

/*
 * A transfer straight between the device and a page of the page cache, as for a pinned page of
 * direct I/O.
 */
static struct explore_outcome do_device(struct explore_world *world, unsigned index, bool in,
					uint64_t value)
{
	enum quire_dma_direction direction = in ? QUIRE_FROM_DEVICE : QUIRE_TO_DEVICE;
	uint64_t bytes[QUIRE_PAGE_BYTES / sizeof(uint64_t)];
	struct explore_outcome outcome = {0, 0};
	struct quire *q = world->quire;
	struct quire_page *page;

	outcome.result = lock_page(world, index, &page);
	if (outcome.result)
		return outcome;
	quire_coherence_dma_prepare(q, page, direction);
	for (size_t n = 0; in && n < sizeof(bytes) / sizeof(bytes[0]); n++)
		bytes[n] = value;
	if (in)
		sim_dma_to_memory(world->sim, quire_page_pa(page), bytes, sizeof(bytes));
	else
		sim_dma_from_memory(world->sim, quire_page_pa(page), bytes, sizeof(bytes));
	quire_coherence_dma_finish(q, page, direction);
	if (in)
		quire_page_dirty(q, page);
	quire_page_unlock(q, page);
	quire_page_put(q, page);
	outcome.value = in ? 0 : bytes[0];
	return outcome;
}

static void load(struct explore_world *world, unsigned cpu, unsigned process)
{
	unsigned current = sim_cpu(world->sim);

	sim_switch(world->sim, cpu);
	world->runs[cpu] = (uint8_t)process;
	quire_space_load(world->quire, world->spaces[process]);
	sim_switch(world->sim, current);
}

static void do_exit(struct explore_world *world)
{
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++)
		if (world->runs[cpu] == 1)
			load(world, cpu, 0);
	quire_space_destroy(world->spaces[1]);
	world->spaces[1] = NULL;
}

static void do_evict(struct explore_world *world, struct explore_move move)
{
	enum sim_which which = (enum sim_which)(move.a & EXPLORE_WHICH);
	unsigned lines = (unsigned)(QUIRE_PAGE_BYTES / world->setting->machine.l1d.line_bytes);
	unsigned sets, ways, set = (move.a >> 4) * lines;
	struct sim_line line;

	sim_cache_shape(world->sim, which, &sets, &ways);
	for (unsigned way = 0; way < ways; way++)
		if (sim_line_at(world->sim, move.cpu, which, set, way, &line) &&
		    line.pa == (quire_pa_t)move.b << QUIRE_PAGE_SHIFT)
			sim_evict(world->sim, move.cpu, which, set, way);
}

static void do_fill(struct explore_world *world, struct explore_move move)
{
	uintptr_t va = explore_address(move.b >> 4, move.b & 15);

	if (move.a & EXPLORE_FILL_LINEAR)
		va = sim_kernel_base(world->sim) + ((uintptr_t)move.b << QUIRE_PAGE_SHIFT);
	else if (move.a & EXPLORE_FILL_ALIAS)
		va = explore_alias_address(world, move.b);
	sim_speculate(world->sim, move.cpu, (enum sim_which)(move.a & EXPLORE_WHICH), va);
}

static struct explore_outcome do_call(struct explore_world *world, struct explore_move move,
				      uint64_t value)
{
	struct explore_outcome outcome = {0, 0};

	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
	case EXPLORE_STORE:
	case EXPLORE_EXECUTE:
		return do_access(world, move, value);
	case EXPLORE_READ:
		return do_read(world, move);
	case EXPLORE_WRITE:
		outcome.result = do_write(world, move, value);
		break;
	case EXPLORE_MAP:
		outcome.result = do_map(world, move);
		break;
	case EXPLORE_UNMAP:
	case EXPLORE_PROTECT:
	case EXPLORE_MSYNC:
		outcome.result = do_area(world, move);
		break;
	case EXPLORE_TRUNCATE:
		outcome.result = quire_truncate(&world->file, move.a * QUIRE_PAGE_BYTES);
		break;
	case EXPLORE_RECLAIM:
		quire_reclaim(world->quire, UINT64_MAX);
		break;
	case EXPLORE_FORK:
		outcome.result = quire_space_fork(world->spaces[0], &world->spaces[1]);
		break;
	case EXPLORE_EXIT:
		do_exit(world);
		break;
	case EXPLORE_RUN:
		load(world, move.cpu, move.a);
		break;
	case EXPLORE_DEVICE_IN:
	case EXPLORE_DEVICE_OUT:
		return do_device(world, move.a, move.kind == EXPLORE_DEVICE_IN, value);
	case EXPLORE_EVICT:
		do_evict(world, move);
		break;
	case EXPLORE_FILL:
		do_fill(world, move);
		break;
	case EXPLORE_GO_ON: /* explore_calls.c */
	case EXPLORE_KIND_COUNT:
		break;
	}
	return outcome;
}

static bool is_call(struct explore_move move)
{
	return move.kind > EXPLORE_EXECUTE && move.kind < EXPLORE_EVICT;
}

struct explore_outcome explore_do_one(struct explore_world *world, struct explore_move move,
				      uint64_t value)
{
	struct explore_outcome outcome;

	if (is_call(move))
		sim_enter(world->sim);
	outcome = do_call(world, move, value);
	if (is_call(move))
		sim_leave(world->sim);
	return outcome;
}

/* --- Outcomes --------------------------------------------------------------------------------- */

bool explore_outcome_same(struct explore_outcome a, struct explore_outcome b)
{
	return a.result == b.result && a.value == b.value;
}

void explore_say_wrong(struct explore_world *world, struct explore_outcome got,
		       struct explore_outcome expected)
{
	snprintf(world->wrong, sizeof(world->wrong),
		 "expected result %lld, value %llu; got result %lld, value %llu",
		 (long long)expected.result, (unsigned long long)expected.value,
		 (long long)got.result, (unsigned long long)got.value);
}

static bool do_alone(struct explore_world *world, struct explore_move move)
{
	unsigned process = world->runs[move.cpu];
	uint64_t value = ++world->values;
	struct explore_outcome got, expected;

	sim_switch(world->sim, move.cpu);
	expected = explore_model_do(&world->model, move, process, value);
	got = explore_do_one(world, move, value);
	if (explore_outcome_same(got, expected))
		return true;
	explore_say_wrong(world, got, expected);
	return false;
}

/* --- A move ----------------------------------------------------------------------------------- */

/* Does it stop half way, or meet a call that does? What hardware does takes no time. */
static bool in_part(const struct explore_job *job, struct explore_move move)
{
	if (move.kind == EXPLORE_EVICT || move.kind == EXPLORE_FILL)
		return false;
	return move.until || explore_half_done_count(job);
}

uint32_t explore_label(const struct explore_job *job)
{
	return job->label ? job->label : job->world->steps;
}

bool explore_do(struct explore_job *job, struct explore_move move)
{
	struct explore_world *world = job->world;
	bool good;

	job->stopped[0] = '\0';
	world->wrong[0] = '\0';
	world->steps++;
	world->faults = 0;
	sim_label(world->sim, explore_label(job));
	if (!explore_half_done_count(job))
		settle_stores(world, move.cpu);
	if (setjmp(job->stop))
		return false;
	good = in_part(job, move) ? explore_slice(job, move) : do_alone(world, move);
	return good && !sim_violations(world->sim) && !sim_complaint(world->sim);
}

void explore_what(const struct explore_job *job, char *text, size_t bytes)
{
	const struct explore_world *world = job->world;

	if (job->stopped[0])
		snprintf(text, bytes, "BROKEN INVARIANT: %s", job->stopped);
	else if (sim_violations(world->sim))
		snprintf(text, bytes, "%s", "");
	else if (sim_complaint(world->sim))
		snprintf(text, bytes, "ENDLESS FAULT: %s", sim_complaint(world->sim));
	else
		snprintf(text, bytes, "WRONG RESULT: %s", world->wrong);
}
