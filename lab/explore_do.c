/*
 * Doing a move, alone or two at once.
 *
 * Its outcome is compared with the model's. Of two at once each must come out as it would have
 * before or after the other.
 *
 * TWO AT ONCE. Each is a fiber: a stack and a place in it. The first runs to its n-th point of
 * interleaving (a lock that is taken, a flag that changes, the begin and end of a maintenance
 * operation); then the second runs to its end; then the first goes on. Who waits for a lock lets
 * the other run. When the move ends both have ended, so a state never holds half a call, and its
 * digest needs to know nothing of stacks.
 */
#include "lab/explore.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

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

	outcome.result = quire_cache_read(&world->file, index, &page);
	if (outcome.result)
		return outcome;
	quire_page_lock(q, page);
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
	case EXPLORE_KIND_COUNT:
		break;
	}
	return outcome;
}

static bool is_call(struct explore_move move)
{
	return move.kind > EXPLORE_EXECUTE && move.kind < EXPLORE_EVICT;
}

static struct explore_outcome do_one(struct explore_world *world, struct explore_move move,
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

static bool same(struct explore_outcome a, struct explore_outcome b)
{
	return a.result == b.result && a.value == b.value;
}

static bool agree(struct explore_world *world, struct explore_outcome got,
		  struct explore_outcome first, struct explore_outcome second)
{
	if (same(got, first) || same(got, second))
		return true;
	snprintf(world->wrong, sizeof(world->wrong),
		 "expected result %lld, value %llu; got result %lld, value %llu",
		 (long long)first.result, (unsigned long long)first.value, (long long)got.result,
		 (unsigned long long)got.value);
	return false;
}

static bool do_alone(struct explore_world *world, struct explore_move move)
{
	unsigned process = world->runs[move.cpu];
	uint64_t value = ++world->values;
	struct explore_outcome got, expected;

	sim_switch(world->sim, move.cpu);
	expected = explore_model_do(&world->model, move, process, value);
	got = do_one(world, move, value);
	return agree(world, got, expected, expected);
}

/* --- Two at once ------------------------------------------------------------------------------ */

enum { STACK_BYTES = 256 << 10 };

struct fiber {
	ucontext_t context;
	struct explore_move move;
	struct explore_outcome outcome;
	uint64_t value;
	unsigned cpu; /* the simulated CPU it is on */
	bool done;
	uint8_t *stack;
};

struct explore_overlap {
	ucontext_t main;
	struct fiber fibers[2];
	unsigned running, points, at;
	bool active, reached, stopped;
};

struct explore_move explore_second(struct explore_move move)
{
	return (struct explore_move){.kind = move.with_kind,
				     .cpu = move.with_cpu,
				     .a = move.with_a,
				     .b = move.with_b};
}

static bool make_overlap(struct explore_job *job)
{
	struct explore_overlap *overlap = job->overlap;

	if (overlap)
		return true;
	overlap = calloc(1, sizeof(*overlap));
	if (!overlap)
		return false;
	for (unsigned n = 0; n < 2; n++)
		overlap->fibers[n].stack = malloc(STACK_BYTES);
	job->overlap = overlap;
	return overlap->fibers[0].stack && overlap->fibers[1].stack;
}

void explore_overlap_free(struct explore_job *job)
{
	for (unsigned n = 0; job->overlap && n < 2; n++)
		free(job->overlap->fibers[n].stack);
	free(job->overlap);
	job->overlap = NULL;
}

/* The other fiber runs until it gives way. */
static void give_way(struct explore_job *job)
{
	struct explore_overlap *overlap = job->overlap;
	struct fiber *from = &overlap->fibers[overlap->running];
	struct fiber *to = &overlap->fibers[!overlap->running];

	if (to->done)
		return;
	from->cpu = sim_cpu(job->world->sim);
	sim_settle_stores(job->world->sim, from->cpu);
	overlap->running = !overlap->running;
	sim_switch(job->world->sim, to->cpu);
	swapcontext(&from->context, &to->context);
}

void explore_point(struct explore_job *job)
{
	struct explore_overlap *overlap = job->overlap;

	if (!overlap || !overlap->active || overlap->running != 0 || overlap->reached ||
	    ++overlap->points < overlap->at)
		return;
	overlap->reached = true;
	give_way(job);
}

void explore_blocked(struct explore_job *job)
{
	if (job->overlap && job->overlap->active)
		give_way(job);
}

bool explore_stop_overlap(struct explore_job *job)
{
	if (!job->overlap || !job->overlap->active)
		return false;
	job->overlap->stopped = true;
	setcontext(&job->overlap->main);
	return true;
}

/* A pointer in two halves: what makecontext can hand over. */
static void fiber_main(unsigned high, unsigned low)
{
	struct explore_job *job = (struct explore_job *)(uintptr_t)((uint64_t)high << 32 | low);
	struct explore_overlap *overlap = job->overlap;
	struct fiber *fiber = &overlap->fibers[overlap->running];

	fiber->outcome = do_one(job->world, fiber->move, fiber->value);
	fiber->done = true;
	give_way(job);
	setcontext(&overlap->main);
}

static void prepare(struct explore_job *job, unsigned n, struct explore_move move)
{
	struct fiber *fiber = &job->overlap->fibers[n];
	uint64_t pointer = (uintptr_t)job;

	fiber->move = move;
	fiber->cpu = move.cpu;
	fiber->value = ++job->world->values;
	fiber->done = false;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, (void (*)(void))fiber_main, 2, (unsigned)(pointer >> 32),
		    (unsigned)pointer);
}

/* Both orders must leave one model; each outcome must be that of one of the orders. */
static bool outcomes_agree(struct explore_world *world, const struct fiber *fibers)
{
	unsigned processes[2] = {world->runs[fibers[0].move.cpu], world->runs[fibers[1].move.cpu]};
	struct explore_model other = world->model;
	struct explore_outcome early[2], late[2];

	early[0] = explore_model_do(&world->model, fibers[0].move, processes[0], fibers[0].value);
	late[1] = explore_model_do(&world->model, fibers[1].move, processes[1], fibers[1].value);
	early[1] = explore_model_do(&other, fibers[1].move, processes[1], fibers[1].value);
	late[0] = explore_model_do(&other, fibers[0].move, processes[0], fibers[0].value);
	return agree(world, fibers[0].outcome, early[0], late[0]) &&
	       agree(world, fibers[1].outcome, early[1], late[1]);
}

/*
 * A walk that meets an entry between its store and its clean, or its purge, sees the old one: that
 * is allowed until the call that changes it returns. What the TLB has kept of it afterwards shows
 * when it is used.
 */
static void forget_early_walks(struct sim *sim)
{
	const struct sim_violation *violation;

	for (unsigned n = 0; (violation = sim_violation(sim, n)); n++)
		if (violation->observer != SIM_PARTY_WALKER)
			return;
	sim_forget_violations(sim);
}

static bool do_both(struct explore_job *job, struct explore_move move)
{
	struct explore_overlap *overlap;

	if (!make_overlap(job)) {
		snprintf(job->stopped, sizeof(job->stopped), "the host has no memory for a stack");
		return false;
	}
	overlap = job->overlap;
	prepare(job, 0, move);
	prepare(job, 1, explore_second(move));
	overlap->running = overlap->points = 0;
	overlap->at = move.at;
	overlap->reached = overlap->stopped = false;
	overlap->active = true;
	sim_switch(job->world->sim, move.cpu);
	swapcontext(&overlap->main, &overlap->fibers[0].context);
	overlap->active = false;
	job->reached = overlap->reached;
	forget_early_walks(job->world->sim);
	return !overlap->stopped && outcomes_agree(job->world, overlap->fibers);
}

/* --- A move ----------------------------------------------------------------------------------- */

bool explore_do(struct explore_job *job, struct explore_move move)
{
	struct explore_world *world = job->world;
	bool good;

	job->stopped[0] = '\0';
	world->wrong[0] = '\0';
	world->steps++;
	world->faults = 0;
	sim_label(world->sim, job->label ? job->label : world->steps);
	settle_stores(world, move.cpu);
	if (setjmp(job->stop))
		return false;
	good = move.at ? do_both(job, move) : do_alone(world, move);
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
