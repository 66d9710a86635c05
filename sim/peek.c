/*
 * Looking without being seen: what a load would return, for a host that checks results.
 *
 * No cache, clock or count changes. A translation that the TLB no longer holds is brought into it
 * as by a load, at no cost: tables that software walks can be read in no other way.
 */
#include "sim/internal.h"

/* The bytes of one line as a load of the current CPU would see them. */
static void peek_line(struct sim *sim, uintptr_t va, quire_pa_t pa, uint8_t *to, size_t bytes)
{
	const struct cache *holder = &sim->cpu->l1d;
	struct cache_place place = cache_find(holder, va, pa);

	for (unsigned cpu = 0;
	     sim->machine.data_coherent && cpu < sim->machine.cpus && place.way < 0; cpu++) {
		holder = &sim->cpus[cpu].l1d;
		place = cache_find(holder, va, pa);
	}
	if (place.way < 0 && sim->l2.present) {
		holder = &sim->l2;
		place = cache_find(holder, va, pa);
	}
	if (place.way < 0)
		memcpy(to, sim->memory.bytes + pa, bytes);
	else
		memcpy(to,
		       cache_line(holder, place.set, (unsigned)place.way) +
			       (pa & (holder->line_bytes - 1)),
		       bytes);
}

/* What a walker that reads past the D caches sees. */
static void peek_below(const struct sim *sim, quire_pa_t pa, uint8_t *to, size_t bytes)
{
	const struct cache *l2 = &sim->l2;
	struct cache_place place = {.way = -1};

	if (l2->present && sim->machine.walker == SIM_LEVEL_L2)
		place = cache_find(l2, 0, pa);
	if (place.way < 0)
		memcpy(to, sim->memory.bytes + pa, bytes);
	else
		memcpy(to,
		       cache_line(l2, place.set, (unsigned)place.way) + (pa & (l2->line_bytes - 1)),
		       bytes);
}

uint64_t sim_walker_peek(struct sim *sim, quire_pa_t pa, unsigned bytes)
{
	uint8_t raw[8] = {0};
	uint64_t value;

	if (pa > sim->machine.memory_bytes - bytes)
		return 0;
	if (sim->machine.walker == SIM_LEVEL_L1)
		peek_line(sim, sim->kernel_base + pa, pa, raw, bytes);
	else
		peek_below(sim, pa, raw, bytes);
	memcpy(&value, raw, sizeof(value));
	return value;
}

static int peek_translate(struct sim *sim, uintptr_t va, quire_pa_t *pa, bool *uncached)
{
	struct sim_counts counts = sim->counts;
	uint64_t ticks = sim->cpu->ticks;
	int error;

	if (sim_is_linear(sim, va))
		return sim_resolve(sim, va, QUIRE_LOAD, pa, uncached);
	error = sim_translate(sim, va, QUIRE_LOAD, true, pa, uncached);
	sim->cpu->ticks = ticks;
	sim->counts = counts;
	return error;
}

size_t sim_peek(struct sim *sim, uintptr_t from, void *host, size_t bytes)
{
	size_t line = (size_t)1 << sim->cpu->l1d.line_shift;
	uint8_t *to = host;

	while (bytes) {
		size_t page = QUIRE_PAGE_BYTES - (from & QUIRE_PAGE_MASK);
		bool uncached;
		quire_pa_t pa;

		if (page > bytes)
			page = bytes;
		if (peek_translate(sim, from, &pa, &uncached) || pa >= sim->machine.memory_bytes)
			return bytes;
		while (page) {
			size_t piece = line - (pa & (line - 1));

			if (piece > page)
				piece = page;
			if (uncached)
				memcpy(to, sim->memory.bytes + pa, piece);
			else
				peek_line(sim, from, pa, to, piece);
			from += piece;
			pa += piece;
			to += piece;
			page -= piece;
			bytes -= piece;
		}
	}
	return 0;
}
