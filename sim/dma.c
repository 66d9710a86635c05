/*
 * Devices that read and write memory.
 *
 * A coherent device sees what the caches hold and leaves nothing stale in them; virtually indexed
 * caches are looked into at the colour of the kernel's linear mapping, which is what a coherent I/O
 * adapter is told. Any other device reads and writes memory alone, and what caches hold of it stays
 * as it was. Transfers cost the CPU nothing here: the caller charges disk_request and disk_page.
 */
#include "sim/levels.h"
#include "sim/needless.h"

/*
 * The next part of a transfer: within one line of the data side; *answers: whether memory does.
 * Beyond memory the bus swallows writes and gives zeroes.
 */
static unsigned line_part(const struct sim *sim, quire_pa_t pa, size_t bytes, bool *answers)
{
	size_t line_bytes = sim->cpu->l1d.line_bytes;
	size_t part = line_bytes - (pa & (line_bytes - 1));

	*answers = pa < sim->machine.memory_bytes;
	return (unsigned)(part < bytes ? part : bytes);
}

static struct cache_place in_l2(const struct sim *sim, quire_pa_t pa)
{
	struct cache_place none = { 0, -1 };

	return sim->l2.present ? cache_find(&sim->l2, 0, pa) : none;
}

/* Where a coherent device finds the line once L1 has given up what it had. */
static uint8_t *coherent_bytes(struct sim *sim, quire_pa_t pa, bool drop)
{
	struct cache_place place;

	sim_snoop(sim, QUIRE_CPUS_MAX, sim->kernel_base + pa, pa, drop);
	place = in_l2(sim, pa);
	if (place.way < 0)
		return sim->memory.bytes + pa;
	if (drop && sim->l2.write_back)
		*cache_tag(&sim->l2, place.set, (unsigned)place.way) |= CACHE_DIRTY;
	return cache_line(&sim->l2, place.set, (unsigned)place.way) +
	       (pa & (sim->l2.line_bytes - 1));
}

static void part_to_memory(struct sim *sim, quire_pa_t to, const uint8_t *from, unsigned bytes)
{
	uint8_t *memory = sim->memory.bytes + to;
	uint8_t *at = sim->machine.dma_coherent ? coherent_bytes(sim, to, true) : memory;

	memcpy(at, from, bytes);
	sim_touch(sim->allocator.touched, at, bytes);
	if (at != memory && !sim->l2.write_back) {
		memcpy(memory, from, bytes);
		sim_touch(sim->allocator.touched, memory, bytes);
	}
	sim_witness_write(sim, SIM_PARTY_DEVICE, to, from, bytes);
	if (sim->needless)
		sim_needless_device(sim, to, bytes, true);
}

static void part_from_memory(struct sim *sim, quire_pa_t from, uint8_t *to, unsigned bytes)
{
	const uint8_t *at = sim->memory.bytes + from;

	if (sim->machine.dma_coherent)
		at = coherent_bytes(sim, from, false);
	memcpy(to, at, bytes);
	if (sim->needless)
		sim_needless_device(sim, from, bytes, false);
	sim_witness_read(sim, SIM_PARTY_DEVICE, 0, from, to, bytes);
}

/*
 * A device is started by an uncached store, which leaves its CPU after the stores before it; and a
 * transfer takes so long that no other CPU's buffer still holds what was in it when it began.
 */
static void settle_stores(struct sim *sim)
{
	unsigned current = sim->current;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		sim_switch(sim, cpu);
		sim_drain(sim);
	}
	sim_switch(sim, current);
}

void sim_dma_to_memory(struct sim *sim, quire_pa_t to, const void *host, size_t bytes)
{
	const uint8_t *from = host;

	settle_stores(sim);
	while (bytes) {
		bool answers;
		unsigned part = line_part(sim, to, bytes, &answers);

		if (answers)
			part_to_memory(sim, to, from, part);
		to += part, from += part, bytes -= part;
	}
}

void sim_dma_from_memory(struct sim *sim, quire_pa_t from, void *host, size_t bytes)
{
	uint8_t *to = host;

	settle_stores(sim);
	while (bytes) {
		bool answers;
		unsigned part = line_part(sim, from, bytes, &answers);

		if (answers)
			part_from_memory(sim, from, to, part);
		else
			memset(to, 0, part);
		from += part, to += part, bytes -= part;
	}
}
