/*
 * Calls that are half done, and what others do meanwhile.
 *
 * A call that is to stop at one of its points runs as a fiber: a stack and a place in it. Points
 * are where others may come in between: a lock is taken, a flag of a page changes, a maintenance
 * operation begins or ends, a table entry is stored. There hardware may do what it likes, and
 * another CPU may make a call, to its end or to some point of its own, and so on by turns. Who
 * waits for a lock lets the other go on, point by point. A search tries every point of each call.
 *
 * WHAT MUST COME OF IT. Of two calls at once each must come out as if it had happened at one moment
 * between its begin and its end: as if one of them had come first (Herlihy and Wing,
 * "Linearizability", TOPLAS 1990). Calls whose order makes a difference that no outcome tells do
 * not meet (explore_moves.c), so one model is left when both have ended. A call meets one other, no
 * more: an unmap of two pages that two loads meet may be half done for both, and nobody has
 * promised otherwise. Or it meets any number, one after the other, of such as give and change the
 * same whichever comes first (they are *apart*): each must give what it gives alone.
 *
 * No state is saved and no digest made while a call is half done: stacks are no part of a state.
 */
#include "lab/explore.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "sim/adversary.h"

enum { STACK_BYTES = 256 << 10 };

struct call {
	ucontext_t start; /* of the stack, at the beginning of call_main */
	jmp_buf here;     /* where it goes on */
	uint8_t *stack;
	bool used;        /* the stack is in call_main ... */
	bool idle;        /* ... and waits for the next call */
	struct explore_move move;
	struct explore_outcome outcome;
	uint64_t value;
	unsigned process;
	unsigned cpu;   /* the simulated CPU that it was on when it gave way */
	unsigned until; /* points to go; 0: to its end */
	uint32_t label; /* for the witness; labels rise */
	uint32_t with;  /* that of the call that was half done when it was begun; 0: none */
	bool begun, done, waits;
	bool apart; /* from those that were half done when it was begun */
};

/* One order in which two calls can have happened: what each gives, by CPU, and what it leads to. */
struct order {
	struct explore_outcome outcomes[EXPLORE_CPUS_MAX];
	struct explore_model model;
};

struct explore_calls {
	jmp_buf main; /* where who gives way goes on */
	ucontext_t unused;
	struct call calls[EXPLORE_CPUS_MAX];
	struct order orders[2]; /* that the calls which have ended leave possible */
	unsigned order_count;
	/* calls begun while others were half done: */
	bool met;         /* one that is not apart from them */
	bool passed;      /* some that are */
	unsigned running; /* the CPU whose call is on its stack */
	bool active;      /* some call is on its stack */
	bool stopped;     /* it broke an invariant */
};

/* --- Which are half done ---------------------------------------------------------------------- */

const struct explore_move *explore_half_done(const struct explore_job *job, unsigned cpu,
					     unsigned *process)
{
	const struct call *call = job->calls ? &job->calls->calls[cpu] : NULL;

	if (!call || !call->begun)
		return NULL;
	*process = call->process;
	return &call->move;
}

unsigned explore_half_done_count(const struct explore_job *job)
{
	unsigned count = 0;

	for (unsigned cpu = 0; job->calls && cpu < EXPLORE_CPUS_MAX; cpu++)
		count += job->calls->calls[cpu].begun;
	return count;
}

bool explore_may_meet(const struct explore_job *job, enum explore_order order)
{
	if (job->calls->met)
		return false;
	return order == EXPLORE_APART || (order == EXPLORE_TOLD && !job->calls->passed);
}

/* What is on its stack will not go on. */
static void abandon(struct call *call)
{
	call->used = call->used && call->idle;
	call->begun = false;
}

void explore_calls_forget(struct explore_job *job)
{
	for (unsigned cpu = 0; job->calls && cpu < EXPLORE_CPUS_MAX; cpu++)
		abandon(&job->calls->calls[cpu]);
}

void explore_calls_free(struct explore_job *job)
{
	for (unsigned cpu = 0; job->calls && cpu < EXPLORE_CPUS_MAX; cpu++)
		free(job->calls->calls[cpu].stack);
	free(job->calls);
	job->calls = NULL;
}

static bool make_calls(struct explore_job *job)
{
	struct explore_calls *calls = job->calls;
	bool good = true;

	if (calls)
		return true;
	job->calls = calls = calloc(1, sizeof(*calls));
	for (unsigned cpu = 0; calls && cpu < EXPLORE_CPUS_MAX; cpu++) {
		calls->calls[cpu].stack = malloc(STACK_BYTES);
		good = good && calls->calls[cpu].stack;
	}
	if (calls && !good)
		explore_calls_free(job);
	return job->calls;
}

/* --- Orders ----------------------------------------------------------------------------------- */

static void happen(const struct explore_calls *calls, struct order *order, unsigned cpu)
{
	const struct call *call = &calls->calls[cpu];

	order->outcomes[cpu] =
		explore_model_do(&order->model, call->move, call->process, call->value);
}

/* The call of a CPU has begun: alone (other: the same), or while that of `other` is half done. */
static void begin_orders(struct explore_calls *calls, const struct explore_model *from,
			 unsigned cpu, unsigned other)
{
	calls->met = other != cpu;
	if (!calls->met)
		calls->passed = false;
	calls->calls[other].apart = false; /* from what has ended since */
	calls->order_count = calls->met ? 2 : 1;
	calls->orders[0].model = calls->orders[1].model = *from;
	happen(calls, &calls->orders[0], cpu);
	if (calls->met) {
		happen(calls, &calls->orders[0], other);
		happen(calls, &calls->orders[1], other);
		happen(calls, &calls->orders[1], cpu);
	}
}

/* One that is apart from what is half done gives in every order the same. */
static void begin_apart(struct explore_calls *calls, unsigned cpu)
{
	struct order order = calls->orders[0];

	calls->passed = true;
	happen(calls, &order, cpu);
	for (unsigned n = 0; n < calls->order_count; n++)
		calls->orders[n].outcomes[cpu] = order.outcomes[cpu];
}

/* It has happened, in every order. */
static void end_apart(struct explore_job *job, unsigned cpu)
{
	struct explore_calls *calls = job->calls;
	struct call *call = &calls->calls[cpu];

	for (unsigned n = 0; n < calls->order_count; n++)
		happen(calls, &calls->orders[n], cpu);
	explore_model_do(&job->world->model, call->move, call->process, call->value);
}

/* Is a call half done that the orders have already? */
static bool in_question(const struct explore_calls *calls)
{
	bool question = false;

	for (unsigned cpu = 0; cpu < EXPLORE_CPUS_MAX; cpu++)
		question |= calls->calls[cpu].begun && !calls->calls[cpu].apart;
	return question;
}

/* False: the call's outcome fits into no order. */
static bool end_call(struct explore_job *job, unsigned cpu)
{
	struct explore_calls *calls = job->calls;
	struct call *call = &calls->calls[cpu];
	unsigned kept = 0;

	call->begun = false;
	for (unsigned n = 0; n < calls->order_count; n++)
		if (explore_outcome_same(calls->orders[n].outcomes[cpu], call->outcome))
			calls->orders[kept++] = calls->orders[n];
	if (!kept)
		explore_say_wrong(job->world, call->outcome, calls->orders[0].outcomes[cpu]);
	calls->order_count = kept;
	if (kept && call->apart)
		end_apart(job, cpu);
	if (kept && !in_question(calls))
		job->world->model = calls->orders[0].model;
	return kept;
}

/* --- Running ---------------------------------------------------------------------------------- */

/*
 * Stacks are changed by _setjmp and _longjmp, which make no system call; swapcontext makes two, and
 * would take a third of the time of a search. A stack is used again when its call has ended.
 */
static void leave_stack(struct explore_calls *calls, struct call *call)
{
	if (!_setjmp(call->here))
		_longjmp(calls->main, 1);
}

static void enter_stack(struct explore_calls *calls, struct call *call)
{
	if (_setjmp(calls->main))
		return;
	if (call->used)
		_longjmp(call->here, 1);
	call->used = true;
	swapcontext(&calls->unused, &call->start); /* of which the address sanitizer takes note */
}

/* The call on its stack gives way to whoever has asked for it. */
static void give_way(struct explore_job *job)
{
	struct explore_calls *calls = job->calls;
	struct call *call = &calls->calls[calls->running];

	call->cpu = sim_cpu(job->world->sim);
	sim_settle_stores(job->world->sim, call->cpu);
	leave_stack(calls, call);
}

void explore_point(struct explore_job *job)
{
	struct call *call;

	if (!job->calls || !job->calls->active)
		return;
	call = &job->calls->calls[job->calls->running];
	if (call->until && --call->until == 0)
		give_way(job);
}

void explore_blocked(struct explore_job *job)
{
	if (!job->calls || !job->calls->active || explore_half_done_count(job) < 2)
		return;
	job->calls->calls[job->calls->running].waits = true;
	give_way(job);
}

bool explore_stop_calls(struct explore_job *job)
{
	if (!job->calls || !job->calls->active)
		return false;
	job->calls->stopped = true;
	_longjmp(job->calls->main, 1);
}

/* A pointer in two halves: what makecontext can hand over. */
static void call_main(unsigned high, unsigned low)
{
	struct explore_job *job = (struct explore_job *)(uintptr_t)((uint64_t)high << 32 | low);
	struct explore_calls *calls = job->calls;
	struct call *call = &calls->calls[calls->running];

	for (;;) {
		call->idle = false;
		call->outcome = explore_do_one(job->world, call->move, call->value);
		call->done = call->idle = true;
		give_way(job);
	}
}

/* Its stack stands at the beginning of call_main. */
static void prepare(struct explore_job *job, struct call *call)
{
	uint64_t pointer = (uintptr_t)job;

	getcontext(&call->start);
	call->start.uc_stack.ss_sp = call->stack;
	call->start.uc_stack.ss_size = STACK_BYTES;
	call->start.uc_link = NULL;
	makecontext(&call->start, (void (*)(void))call_main, 2, (unsigned)(pointer >> 32),
		    (unsigned)pointer);
}

static void begin_call(struct explore_job *job, struct explore_move move)
{
	struct explore_calls *calls = job->calls;
	struct call *call = &calls->calls[move.cpu];
	unsigned other = move.cpu;

	for (unsigned cpu = 0; cpu < EXPLORE_CPUS_MAX; cpu++)
		if (calls->calls[cpu].begun)
			other = cpu;
	call->apart = other != move.cpu && explore_is_apart(job, move);
	call->move = move;
	call->process = job->world->runs[move.cpu];
	call->value = ++job->world->values;
	call->cpu = move.cpu;
	call->label = explore_label(job);
	call->with = other != move.cpu ? calls->calls[other].label : 0;
	call->begun = true;
	call->done = false;
	if (!call->used)
		prepare(job, call);
	if (call->apart)
		begin_apart(calls, move.cpu);
	else
		begin_orders(calls, &job->world->model, move.cpu, other);
}

/*
 * Of two calls at once the one that reads may miss what the other writes, by an old line as well:
 * nobody has promised more. Who reads after both must not.
 */
static bool promised(const struct explore_calls *calls, const struct sim_violation *violation)
{
	bool data = violation->kind == SIM_KIND_STALE_DATA ||
		    violation->kind == SIM_KIND_STALE_INSN ||
		    violation->kind == SIM_KIND_STALE_DEVICE;
	const struct call *reader = &calls->calls[calls->running];
	bool together = violation->writer_label > reader->label ||
			violation->writer_label == reader->with;

	return !data || !together;
}

static void forget_early_reads(struct explore_job *job)
{
	const struct sim_violation *violation;

	for (unsigned n = 0; (violation = sim_violation(job->world->sim, n)); n++)
		if (promised(job->calls, violation))
			return;
	sim_forget_violations(job->world->sim);
}

/* Goes on until it waits, has passed so many points, or has ended. False: all is over. */
static bool resume(struct explore_job *job, unsigned cpu, unsigned until)
{
	struct explore_calls *calls = job->calls;
	struct call *call = &calls->calls[cpu];

	call->until = until;
	call->waits = false;
	calls->running = cpu;
	calls->stopped = false;
	calls->active = true;
	job->world->faults = 0;
	sim_switch(job->world->sim, call->cpu);
	sim_label(job->world->sim, call->label);
	enter_stack(calls, call);
	calls->active = false;
	forget_early_reads(job);
	return !calls->stopped && (!call->done || end_call(job, cpu));
}

/* The other call goes on to its next point. */
static bool let_other(struct explore_job *job, unsigned but)
{
	for (unsigned cpu = 0; cpu < EXPLORE_CPUS_MAX; cpu++)
		if (cpu != but && job->calls->calls[cpu].begun && !resume(job, cpu, 1))
			return false;
	return true;
}

bool explore_slice(struct explore_job *job, struct explore_move move)
{
	struct call *call;
	bool good = true;

	if (!make_calls(job)) {
		snprintf(job->stopped, sizeof(job->stopped), "the host has no memory for a stack");
		return false;
	}
	call = &job->calls->calls[move.cpu];
	if (move.kind != EXPLORE_GO_ON)
		begin_call(job, move);
	call->until = move.until;
	while (good && call->begun) {
		good = resume(job, move.cpu, call->until);
		if (!good || !call->begun || !call->waits)
			break;
		good = let_other(job, move.cpu);
	}
	return good;
}
