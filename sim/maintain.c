/*
 * Maintenance of lines: clean, invalidate, flush, by address or by set and way, on one CPU or all.
 *
 * Invalidating drops a dirty line: its bytes are lost, which the witness sees at the next read. What each
 * operation costs and how it is booked: internal.h.
 */
#include "sim/levels.h"

void sim_book(struct sim *sim, enum sim_op op, uint64_t ticks, bool idle)
{
	struct sim_account *account = &sim->accounts[sim->site][op];

	account->count++;
	account->idle += idle;
	account->ticks += ticks;
	sim->cpu->ticks += ticks;
}

/* Pays for one operation: what moved, and `ticks` of its own. */
static void book_work(struct sim *sim, enum sim_op op, const struct work *work, uint64_t ticks, bool idle)
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

/* One way of an L1 D. */
static enum sim_found maintain_l1_way(struct sim *sim, struct work *work, struct cache *l1, uint32_t set, unsigned way,
				      enum sim_action action)
{
	enum sim_found found = found_way(l1, set, way);

	if (found == SIM_FOUND_DIRTY && (action & SIM_CLEAN))
		sim_clean_way(work, l1, set, way);
	else if (found == SIM_FOUND_DIRTY)
		sim_witness_dropped(sim, l1, set, way);
	if (action & SIM_INVALIDATE)
		cache_drop(l1, set, way);
	return found;
}

/* One way of L2: clean goes to memory. */
static enum sim_found maintain_l2_way(struct sim *sim, struct work *work, uint32_t set, unsigned way,
				      enum sim_action action)
{
	struct cache *l2 = work->l2;
	enum sim_found found = found_way(l2, set, way);

	if (found == SIM_FOUND_DIRTY && (action & SIM_CLEAN)) {
		memcpy(work->memory + cache_line_pa(l2, set, way), cache_line(l2, set, way), l2->line_bytes);
		*cache_tag(l2, set, way) &= CACHE_NUMBER;
		work->memory_writes++;
	} else if (found == SIM_FOUND_DIRTY) {
		sim_witness_dropped(sim, l2, set, way);
	}
	if (action & SIM_INVALIDATE)
		cache_drop(l2, set, way);
	return found;
}

static enum sim_found maintain_l2_line(struct sim *sim, struct work *work, quire_pa_t pa, enum sim_action action)
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

static bool is_reached(const struct sim *sim, unsigned cpu, bool all_cpus)
{
	return all_cpus || cpu == sim->current;
}

enum sim_found sim_maintain_data(struct sim *sim, uintptr_t va, quire_pa_t pa, enum sim_action action,
				 enum sim_point point, bool all_cpus, enum sim_op book)
{
	const struct sim_costs *cost = &sim->machine.cost;
	uint64_t ticks = cost->data_op + broadcast_ticks(sim, all_cpus);
	enum sim_found found = SIM_FOUND_NONE;
	struct work work = work_begin(sim);

	sim_drain(sim);
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		struct cache *l1 = &sim->cpus[cpu].l1d;
		struct cache_place place;

		if (!is_reached(sim, cpu, all_cpus) || l1->valid == 0)
			continue;
		place = cache_find(l1, va, pa);
		if (place.way >= 0)
			found = more(found, maintain_l1_way(sim, &work, l1, place.set, (unsigned)place.way, action));
	}
	if (point == SIM_COHERENCY && !sim->machine.l2_outer)
		found = more(found, maintain_l2_line(sim, &work, pa, action));
	if (found == SIM_FOUND_CLEAN)
		ticks += cost->data_op_clean;
	else if (found == SIM_FOUND_DIRTY)
		ticks += cost->data_op_dirty;
	book_work(sim, book, &work, ticks, was_idle(found, action));
	return found;
}

enum sim_found sim_maintain_data_set(struct sim *sim, uint32_t set, unsigned way, enum sim_action action)
{
	struct work work = work_begin(sim);
	enum sim_found found;

	sim_drain(sim);
	found = maintain_l1_way(sim, &work, &sim->cpu->l1d, set, way, action);
	book_work(sim, SIM_OP_DATA_SET, &work, sim->machine.cost.data_op_set, was_idle(found, action));
	return found;
}

enum sim_found sim_maintain_l2_set(struct sim *sim, uint32_t set, unsigned way, enum sim_action action)
{
	struct work work = work_begin(sim);
	enum sim_found found;

	sim_drain(sim);
	found = maintain_l2_way(sim, &work, set, way, action);
	book_work(sim, SIM_OP_DATA_SET, &work, sim->machine.cost.data_op_set, was_idle(found, action));
	return found;
}

enum sim_found sim_maintain_insn(struct sim *sim, uintptr_t va, quire_pa_t pa, bool all_cpus)
{
	enum sim_found found = SIM_FOUND_NONE;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		struct cache *l1 = &sim->cpus[cpu].l1i;
		struct cache_place place;

		if (!is_reached(sim, cpu, all_cpus) || l1->valid == 0)
			continue;
		place = cache_find(l1, va, pa);
		if (place.way < 0)
			continue;
		cache_drop(l1, place.set, (unsigned)place.way);
		found = SIM_FOUND_CLEAN;
	}
	sim_book(sim, SIM_OP_INSN_LINE, sim->machine.cost.insn_op + broadcast_ticks(sim, all_cpus),
		 found == SIM_FOUND_NONE);
	return found;
}

enum sim_found sim_maintain_insn_set(struct sim *sim, uint32_t set, unsigned way)
{
	enum sim_found found = found_way(&sim->cpu->l1i, set, way);

	cache_drop(&sim->cpu->l1i, set, way);
	sim_book(sim, SIM_OP_INSN_SET, sim->machine.cost.insn_op_set, found == SIM_FOUND_NONE);
	return found;
}

enum sim_found sim_maintain_insn_all(struct sim *sim, bool all_cpus)
{
	enum sim_found found = SIM_FOUND_NONE;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (is_reached(sim, cpu, all_cpus) && cache_drop_all(&sim->cpus[cpu].l1i))
			found = SIM_FOUND_CLEAN;
	sim_book(sim, SIM_OP_INSN_ALL, sim->machine.cost.insn_all + broadcast_ticks(sim, all_cpus),
		 found == SIM_FOUND_NONE);
	return found;
}

enum sim_found sim_maintain_outer(struct sim *sim, quire_pa_t pa, enum sim_action action)
{
	struct work work = work_begin(sim);
	enum sim_found found;

	sim_drain(sim);
	found = maintain_l2_line(sim, &work, pa, action);
	book_work(sim, SIM_OP_OUTER, &work, sim->machine.cost.outer_op, was_idle(found, action));
	return found;
}

enum sim_found sim_maintain_outer_set(struct sim *sim, uint32_t set, unsigned way, enum sim_action action)
{
	struct work work = work_begin(sim);
	enum sim_found found = maintain_l2_way(sim, &work, set, way, action);

	work_pay(sim, &work);
	return found;
}
