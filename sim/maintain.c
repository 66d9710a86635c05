/*
 * Maintenance of lines: clean, invalidate, flush, by address or by set and way, on one CPU or all.
 *
 * Invalidating drops a dirty line: its bytes are lost, which the witness sees at the next read.
 * What each operation costs and how it is booked: internal.h.
 *
 * An operation is a record (struct sim_maintenance) that is carried out, at once or, where
 * maintenance is asynchronous, later (pending.c). It is paid for when it is issued, by what it
 * finds then.
 */
#include "sim/levels.h"
#include "sim/needless.h"

void sim_book(struct sim *sim, enum sim_op op, uint64_t ticks, bool idle)
{
	struct sim_account *account = &sim->accounts[sim->site][op];

	account->count++;
	account->idle += idle;
	account->ticks += ticks;
	sim->cpu->ticks += ticks;
}

/* Pays for one operation: what moved, and `ticks` of its own. */
static void book_work(struct sim *sim, enum sim_op op, const struct work *work, uint64_t ticks,
		      bool idle)
{
	work_count(sim, work);
	sim_book(sim, op, work_ticks(sim, work) + ticks, idle);
}

/* Cleaning what is not dirty and dropping what is not there is idle. */
static bool was_idle(enum sim_found found, enum sim_action action)
{
	return action == SIM_CLEAN ? found != SIM_FOUND_DIRTY : found == SIM_FOUND_NONE;
}

static enum sim_found more(enum sim_found a, enum sim_found b)
{
	return a > b ? a : b;
}

static enum sim_found found_way(const struct cache *cache, uint32_t set, unsigned way)
{
	uint32_t tag = *cache_tag(cache, set, way);

	if (tag == CACHE_ABSENT)
		return SIM_FOUND_NONE;
	return tag & CACHE_DIRTY ? SIM_FOUND_DIRTY : SIM_FOUND_CLEAN;
}

/* One way of an L1 D. No action: it is only looked at. */
static enum sim_found maintain_l1_way(struct sim *sim, struct work *work, struct cache *l1,
				      uint32_t set, unsigned way, unsigned action)
{
	enum sim_found found = found_way(l1, set, way);

	if (found == SIM_FOUND_DIRTY && (action & SIM_CLEAN))
		sim_clean_way(work, l1, set, way);
	else if (found == SIM_FOUND_DIRTY && action)
		sim_witness_dropped(sim, l1, set, way);
	if (action & SIM_INVALIDATE)
		cache_drop(l1, set, way);
	return found;
}

/* One way of L2: clean goes to memory. */
static enum sim_found maintain_l2_way(struct sim *sim, struct work *work, uint32_t set,
				      unsigned way, unsigned action)
{
	struct cache *l2 = work->l2;
	enum sim_found found = found_way(l2, set, way);

	if (found == SIM_FOUND_DIRTY && (action & SIM_CLEAN)) {
		line_put(work, work->memory + cache_line_pa(l2, set, way), cache_line(l2, set, way),
			 l2->line_shift);
		*cache_tag(l2, set, way) &= CACHE_NUMBER;
		work->memory_writes++;
	} else if (found == SIM_FOUND_DIRTY && action) {
		sim_witness_dropped(sim, l2, set, way);
	}
	if (action & SIM_INVALIDATE)
		cache_drop(l2, set, way);
	return found;
}

static enum sim_found maintain_l2_line(struct sim *sim, struct work *work, quire_pa_t pa,
				       unsigned action)
{
	struct cache_place place;

	if (!work->l2->present)
		return SIM_FOUND_NONE;
	place = cache_find(work->l2, 0, pa);
	if (place.way < 0)
		return SIM_FOUND_NONE;
	return maintain_l2_way(sim, work, place.set, (unsigned)place.way, action);
}

/* The price of reaching further than this CPU. */
static uint64_t broadcast_ticks(const struct sim *sim, bool all_cpus)
{
	return all_cpus && sim->machine.cpus > 1 ? sim->machine.cost.broadcast : 0;
}

static bool is_reached(const struct sim_maintenance *op, unsigned cpu)
{
	return op->all_cpus || cpu == op->cpu;
}

static enum sim_found maintain_data(struct sim *sim, struct work *work,
				    const struct sim_maintenance *op, unsigned action)
{
	enum sim_found found = SIM_FOUND_NONE;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		struct cache *l1 = &sim->cpus[cpu].l1d;
		struct cache_place place;

		if (!is_reached(op, cpu) || l1->valid == 0)
			continue;
		place = cache_find(l1, op->va, op->pa);
		if (place.way >= 0)
			found = more(found, maintain_l1_way(sim, work, l1, place.set,
							    (unsigned)place.way, action));
	}
	if (op->point == SIM_COHERENCY && !sim->machine.l2_outer)
		found = more(found, maintain_l2_line(sim, work, op->pa, action));
	return found;
}

static enum sim_found maintain_insn(struct sim *sim, const struct sim_maintenance *op,
				    unsigned action)
{
	enum sim_found found = SIM_FOUND_NONE;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		struct cache *l1 = &sim->cpus[cpu].l1i;
		struct cache_place place;

		if (!is_reached(op, cpu) || l1->valid == 0)
			continue;
		place = cache_find(l1, op->va, op->pa);
		if (place.way < 0)
			continue;
		if (action)
			cache_drop(l1, place.set, (unsigned)place.way);
		found = SIM_FOUND_CLEAN;
	}
	return found;
}

static enum sim_found maintain_insn_all(struct sim *sim, const struct sim_maintenance *op,
					unsigned action)
{
	enum sim_found found = SIM_FOUND_NONE;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		if (!is_reached(op, cpu) || !sim->cpus[cpu].l1i.valid)
			continue;
		if (action)
			cache_drop_all(&sim->cpus[cpu].l1i);
		found = SIM_FOUND_CLEAN;
	}
	return found;
}

/* Carries the operation out, or with no action only looks what it would find. */
static enum sim_found carry_out(struct sim *sim, struct work *work,
				const struct sim_maintenance *op, unsigned action)
{
	struct sim_cpu *cpu = &sim->cpus[op->cpu];
	enum sim_found found;

	switch ((enum sim_target)op->target) {
	case SIM_TARGET_DATA:
		return maintain_data(sim, work, op, action);
	case SIM_TARGET_DATA_SET:
		return maintain_l1_way(sim, work, &cpu->l1d, op->set, op->way, action);
	case SIM_TARGET_L2_SET:
		return maintain_l2_way(sim, work, op->set, op->way, action);
	case SIM_TARGET_INSN:
		return maintain_insn(sim, op, action);
	case SIM_TARGET_INSN_SET:
		found = found_way(&cpu->l1i, op->set, op->way);
		if (action)
			cache_drop(&cpu->l1i, op->set, op->way);
		return found;
	case SIM_TARGET_INSN_ALL:
		return maintain_insn_all(sim, op, action);
	case SIM_TARGET_OUTER:
		return maintain_l2_line(sim, work, op->pa, action);
	case SIM_TARGET_TLB: /* tlb.c */
		break;
	}
	return SIM_FOUND_NONE;
}

void sim_maintenance_carry_out(struct sim *sim, const struct sim_maintenance *op)
{
	struct work work = work_begin(sim);

	carry_out(sim, &work, op, op->action);
	work_count(sim, &work);
}

/* What the operation would write is paid for when it is issued. */
static void expect_writes(const struct sim *sim, struct work *work,
			  const struct sim_maintenance *op, enum sim_found found)
{
	if (found != SIM_FOUND_DIRTY || !(op->action & SIM_CLEAN))
		return;
	if (op->target == SIM_TARGET_OUTER || op->target == SIM_TARGET_L2_SET || !sim->l2.present)
		work->memory_writes++;
	else
		work->l2_writes++;
}

/*
 * Issues an operation of the current CPU: does it, or leaves it pending; `ticks`: its price but for
 * what is found.
 */
static enum sim_found issue(struct sim *sim, struct sim_maintenance *op, enum sim_op book,
			    uint64_t ticks)
{
	const struct sim_costs *cost = &sim->machine.cost;
	struct work work = work_begin(sim);
	bool waits = sim->pending != NULL;
	void *ghosts = NULL;
	enum sim_found found;
	bool idle;

	sim_drain(sim);
	op->cpu = (uint8_t)sim->current;
	if (sim->needless && !waits)
		ghosts = sim_needless_begin(sim, op, book);
	found = carry_out(sim, &work, op, waits ? 0 : op->action);
	if (op->target == SIM_TARGET_DATA && found == SIM_FOUND_CLEAN)
		ticks += cost->data_op_clean;
	else if (op->target == SIM_TARGET_DATA && found == SIM_FOUND_DIRTY)
		ticks += cost->data_op_dirty;
	if (waits) {
		expect_writes(sim, &work, op, found);
		sim_pending_add(sim, op);
	}
	idle = was_idle(found, (enum sim_action)op->action);
	book_work(sim, book, &work, ticks, idle);
	if (sim->needless)
		sim_needless_end(sim, ghosts, op, book, work_ticks(sim, &work) + ticks, idle,
				 found);
	return found;
}

enum sim_found sim_maintain_data(struct sim *sim, uintptr_t va, quire_pa_t pa,
				 enum sim_action action, enum sim_point point, bool all_cpus,
				 enum sim_op book)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_DATA,
		.action = (uint8_t)action,
		.point = (uint8_t)point,
		.all_cpus = all_cpus,
		.va = va,
		.pa = pa,
	};

	return issue(sim, &op, book, sim->machine.cost.data_op + broadcast_ticks(sim, all_cpus));
}

enum sim_found sim_maintain_data_set(struct sim *sim, uint32_t set, unsigned way,
				     enum sim_action action)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_DATA_SET,
		.action = (uint8_t)action,
		.set = set,
		.way = way,
	};

	return issue(sim, &op, SIM_OP_DATA_SET, sim->machine.cost.data_op_set);
}

enum sim_found sim_maintain_l2_set(struct sim *sim, uint32_t set, unsigned way,
				   enum sim_action action)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_L2_SET,
		.action = (uint8_t)action,
		.set = set,
		.way = way,
	};

	return issue(sim, &op, SIM_OP_DATA_SET, sim->machine.cost.data_op_set);
}

enum sim_found sim_maintain_insn(struct sim *sim, uintptr_t va, quire_pa_t pa, bool all_cpus)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_INSN,
		.action = SIM_INVALIDATE,
		.all_cpus = all_cpus,
		.va = va,
		.pa = pa,
	};

	return issue(sim, &op, SIM_OP_INSN_LINE,
		     sim->machine.cost.insn_op + broadcast_ticks(sim, all_cpus));
}

enum sim_found sim_maintain_insn_set(struct sim *sim, uint32_t set, unsigned way)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_INSN_SET,
		.action = SIM_INVALIDATE,
		.set = set,
		.way = way,
	};

	return issue(sim, &op, SIM_OP_INSN_SET, sim->machine.cost.insn_op_set);
}

enum sim_found sim_maintain_insn_all(struct sim *sim, bool all_cpus)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_INSN_ALL,
		.action = SIM_INVALIDATE,
		.all_cpus = all_cpus,
	};

	return issue(sim, &op, SIM_OP_INSN_ALL,
		     sim->machine.cost.insn_all + broadcast_ticks(sim, all_cpus));
}

/* An operation that waits is issued again: that adds nothing but its price. */
static enum sim_found outer_again(struct sim *sim)
{
	uint64_t ticks = sim->machine.cost.outer_op;

	sim_drain(sim);
	sim_book(sim, SIM_OP_OUTER, ticks, true);
	if (sim->needless)
		sim_needless_count(sim, SIM_OP_OUTER, ticks, SIM_VERDICT_TWICE);
	return SIM_FOUND_NONE;
}

enum sim_found sim_maintain_outer(struct sim *sim, quire_pa_t pa, enum sim_action action)
{
	struct sim_maintenance op = {
		.target = SIM_TARGET_OUTER,
		.action = (uint8_t)action,
		.pa = pa,
	};

	if (sim->pending && sim_pending_repeats_outer(sim, pa, action))
		return outer_again(sim);
	return issue(sim, &op, SIM_OP_OUTER, sim->machine.cost.outer_op);
}

enum sim_found sim_maintain_outer_set(struct sim *sim, uint32_t set, unsigned way,
				      enum sim_action action)
{
	struct work work = work_begin(sim);
	enum sim_found found = maintain_l2_way(sim, &work, set, way, action);

	work_pay(sim, &work);
	return found;
}
