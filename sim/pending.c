/*
 * Maintenance that has been issued and has not taken effect.
 *
 * On real machines an instruction that cleans a line or purges a TLB entry only starts the work; a
 * barrier of the CPU that issued it waits for its end. In between anything may happen: the work may
 * be done at once, in another order than issued, or just before the barrier. Here an operation
 * waits in a list until
 *
 *   - a barrier of its CPU (DSB, SYNC, MFENCE), for the outer cache its sync register: all
 *   complete, in order;
 *   - an access of its CPU to the same line at the same index, which program order puts behind it
 *     (DDI 0406C B2.2.7, operations by address and accesses to the same address);
 *   - the adversary picks it (sim_complete);
 *   - the list is full: the oldest goes, which it might have done at any time.
 *
 * So without an adversary everything happens as late as it may, and a missing barrier shows.
 */
#include "sim/tlb.h"

#include "sim/adversary.h"

enum {
	SIM_PENDING_ANY_PAGE = 1,
	SIM_PENDING_ANY_NUMBER = 2,
	SIM_PENDING_KEEP_GLOBAL = 4,
};

static uint64_t line_of(const struct sim *sim, quire_pa_t pa)
{
	return pa >> sim->cpu->l1d.line_shift;
}

static struct sim_tlb_match match_of(const struct sim_maintenance *op)
{
	return (struct sim_tlb_match){
		.any_page = op->match & SIM_PENDING_ANY_PAGE,
		.any_number = op->match & SIM_PENDING_ANY_NUMBER,
		.keep_global = op->match & SIM_PENDING_KEEP_GLOBAL,
		.sides = op->sides,
		.page = op->va,
		.number = op->pa,
	};
}

static void purge(struct sim *sim, const struct sim_maintenance *op)
{
	struct sim_tlb_match match = match_of(op);

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (op->all_cpus || cpu == op->cpu)
			sim_tlb_purge_cpu(sim, cpu, &match);
}

struct sim_pending *sim_pending_create(const struct sim_allocator *allocator)
{
	return allocator->alloc(allocator->context, sizeof(struct sim_pending), QUIRE_PAGE_BYTES);
}

/* `count` operations from the nth on were written, and how many there are. */
static void touch(const struct sim *sim, unsigned n, unsigned count)
{
	struct sim_pending *pending = sim->pending;

	sim_touch(sim->allocator.touched, &pending->count, sizeof(pending->count));
	if (count)
		sim_touch(sim->allocator.touched, &pending->ops[n],
			  count * sizeof(pending->ops[0]));
}

/* Takes effect, on behalf of who issued it. */
static void act(struct sim *sim, const struct sim_maintenance *op)
{
	enum quire_site site = sim->site;
	uint32_t label = sim->label;

	if (op->target == SIM_TARGET_TLB) {
		purge(sim, op);
		return;
	}
	sim->site = op->site;
	sim->label = op->label;
	sim_maintenance_carry_out(sim, op);
	sim->site = site;
	sim->label = label;
}

/* The nth leaves the list and takes effect. */
static void complete(struct sim *sim, unsigned n)
{
	struct sim_pending *pending = sim->pending;
	struct sim_maintenance op = pending->ops[n];

	pending->count--;
	memmove(&pending->ops[n], &pending->ops[n + 1], (pending->count - n) * sizeof(op));
	touch(sim, n, pending->count - n);
	act(sim, &op);
}

void sim_pending_add(struct sim *sim, const struct sim_maintenance *op)
{
	struct sim_pending *pending = sim->pending;
	struct sim_maintenance *new;

	if (pending->count == SIM_PENDING_MAX)
		complete(sim, 0);
	new = &pending->ops[pending->count++];
	*new = *op;
	new->site = sim->site;
	new->label = sim->label;
	touch(sim, pending->count - 1, 1);
}

bool sim_pending_repeats_outer(const struct sim *sim, quire_pa_t pa, enum sim_action action)
{
	const struct sim_pending *pending = sim->pending;
	const struct sim_maintenance *last;

	if (!pending->count)
		return false;
	last = &pending->ops[pending->count - 1];
	return last->target == SIM_TARGET_OUTER && last->action == action &&
	       last->cpu == sim->current && line_of(sim, last->pa) == line_of(sim, pa);
}

void sim_pending_add_tlb(struct sim *sim, const struct sim_tlb_match *match, bool all_cpus)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_TLB,
		.all_cpus = all_cpus,
		.cpu = (uint8_t)sim->current,
		.match = (uint8_t)((match->any_page ? SIM_PENDING_ANY_PAGE : 0) |
				   (match->any_number ? SIM_PENDING_ANY_NUMBER : 0) |
				   (match->keep_global ? SIM_PENDING_KEEP_GLOBAL : 0)),
		.sides = (uint16_t)match->sides,
		.va = (uintptr_t)match->page,
		.pa = match->number,
	};

	sim_pending_add(sim, &op);
}

/* Often all of a long list goes: those that stay move up once. */
void sim_pending_barrier(struct sim *sim, bool outer)
{
	struct sim_pending *pending = sim->pending;
	unsigned stay = 0;

	if (sim->options.idle_barriers)
		return;
	for (unsigned n = 0; pending && n < pending->count; n++) {
		const struct sim_maintenance *op = &pending->ops[n];

		if (op->cpu == sim->current && (op->target == SIM_TARGET_OUTER) == outer)
			act(sim, op);
		else
			pending->ops[stay++] = *op;
	}
	if (pending && stay != pending->count) {
		pending->count = stay;
		touch(sim, 0, stay);
	}
}

void sim_pending_access(struct sim *sim, uintptr_t va, quire_pa_t pa, size_t bytes)
{
	const struct cache *l1 = &sim->cpu->l1d;
	unsigned n = 0;

	while (n < sim->pending->count) {
		const struct sim_maintenance *op = &sim->pending->ops[n];
		uint64_t line = line_of(sim, op->pa);

		if (op->target == SIM_TARGET_DATA && op->cpu == sim->current &&
		    line >= line_of(sim, pa) && line <= line_of(sim, pa + bytes - 1) &&
		    cache_set(l1, op->va, op->pa) ==
			    cache_set(l1, va + (uintptr_t)(op->pa - pa), op->pa))
			complete(sim, n);
		else
			n++;
	}
}

/* --- Questions -------------------------------------------------------------------------------- */

static bool concerns_way(const struct cache *cache, const struct sim_maintenance *op, quire_pa_t pa)
{
	return *cache_tag(cache, op->set, op->way) != CACHE_ABSENT &&
	       cache_line_pa(cache, op->set, op->way) >> cache->line_shift ==
		       pa >> cache->line_shift;
}

static bool concerns_line(const struct sim *sim, const struct sim_maintenance *op, quire_pa_t pa,
			  bool insn)
{
	switch ((enum sim_target)op->target) {
	case SIM_TARGET_DATA:
	case SIM_TARGET_OUTER:
		return line_of(sim, op->pa) == line_of(sim, pa);
	case SIM_TARGET_DATA_SET:
		return concerns_way(&sim->cpus[op->cpu].l1d, op, pa);
	case SIM_TARGET_L2_SET:
		return concerns_way(&sim->l2, op, pa);
	case SIM_TARGET_INSN:
		return insn && op->pa >> sim->cpu->l1i.line_shift == pa >> sim->cpu->l1i.line_shift;
	case SIM_TARGET_INSN_SET:
		return insn && concerns_way(&sim->cpus[op->cpu].l1i, op, pa);
	case SIM_TARGET_INSN_ALL:
		return insn;
	case SIM_TARGET_TLB:
		break;
	}
	return false;
}

const struct sim_maintenance *sim_pending_on_line(const struct sim *sim, quire_pa_t pa, bool insn)
{
	for (unsigned n = 0; sim->pending && n < sim->pending->count; n++)
		if (concerns_line(sim, &sim->pending->ops[n], pa, insn))
			return &sim->pending->ops[n];
	return NULL;
}

const struct sim_maintenance *sim_pending_on_entry(const struct sim *sim,
						   const struct sim_translation *entry)
{
	for (unsigned n = 0; sim->pending && n < sim->pending->count; n++) {
		const struct sim_maintenance *op = &sim->pending->ops[n];
		struct sim_tlb_match match = match_of(op);

		if (op->target == SIM_TARGET_TLB && (op->all_cpus || op->cpu == sim->current) &&
		    sim_tlb_hits(sim->cpu->tlb, entry, &match))
			return op;
	}
	return NULL;
}

/* --- The adversary's choice ------------------------------------------------------------------- */

unsigned sim_pending_count(const struct sim *sim)
{
	return sim->pending ? sim->pending->count : 0;
}

unsigned sim_pending_cpu(const struct sim *sim, unsigned n)
{
	return sim->pending->ops[n].cpu;
}

bool sim_complete(struct sim *sim, unsigned n)
{
	struct sim_maintenance op;
	unsigned first = 0;

	if (n >= sim_pending_count(sim))
		return false;
	op = sim->pending->ops[n];
	while (op.target == SIM_TARGET_DATA && first < n) {
		const struct sim_maintenance *before = &sim->pending->ops[first];

		if (before->target == SIM_TARGET_DATA && before->cpu == op.cpu &&
		    line_of(sim, before->pa) == line_of(sim, op.pa)) {
			complete(sim, first);
			n--;
		} else {
			first++;
		}
	}
	complete(sim, n);
	return true;
}
