/*
 * The machine as a whole: making it from its description, its CPUs and their clocks, cross calls,
 * labels, the maintenance account.
 *
 * Each CPU has a clock of its own. One host thread runs them in turn, and clocks meet only where
 * CPUs wait for each other (cross calls, sim_wait_until): the result depends on the order of calls
 * and nothing else.
 */
#include <stdlib.h>

#include "sim/needless.h"

/* --- Where things are in the address space -------------------------------------------------------
 *
 * ARMv7 and bare machines: linear mapping from 2 GB on, window at 0xf0000000. PA-RISC: the second
 * quadrant of the 64-bit space. x86-64: the upper half. The two others' windows lie beyond any
 * memory.
 */
#define ARMV7_BASE 0x80000000u
#define ARMV7_WINDOW 0xf0000000u
#define ARMV7_WINDOW_MAX 0x0f000000u
#define PARISC_BASE 0x4000000000000000u
#define X86_64_BASE 0xffff880000000000u
#define FAR_WINDOW (1ull << 44) /* from the base */

/* Addresses of 32 bits. */
static bool is_narrow(const struct sim_machine *machine)
{
	return machine->isa == SIM_ARMV7 || machine->isa == SIM_BARE;
}

static uintptr_t kernel_base(const struct sim_machine *machine)
{
	if (is_narrow(machine))
		return ARMV7_BASE;
	return machine->isa == SIM_PARISC ? PARISC_BASE : X86_64_BASE;
}

/* Addresses equal modulo this share a line of the cache; 0 where all addresses of a page do. */
static uint64_t colour_period(const struct sim_machine *machine, const struct sim_cache *cache)
{
	uint64_t way_bytes = cache->bytes / cache->ways;
	uint64_t period = QUIRE_PAGE_BYTES;

	if (cache->index == SIM_PIPT)
		return 0;
	if (machine->colour_bytes && cache->index == SIM_VIPT)
		return machine->colour_bytes > QUIRE_PAGE_BYTES && way_bytes > QUIRE_PAGE_BYTES ?
			       machine->colour_bytes : 0;
	while (period < way_bytes)
		period <<= 1;
	return period > QUIRE_PAGE_BYTES || cache->index == SIM_VIVT ? period : 0;
}

/* Two periods a CPU: struct quire_port. */
static uint64_t window_bytes(const struct sim_machine *machine)
{
	uint64_t data = colour_period(machine, &machine->l1d);
	uint64_t insn = colour_period(machine, &machine->l1i);

	return 2 * machine->cpus * (data > insn ? data : insn);
}

/* --- Descriptions that contradict themselves -------------------------------------------------- */

static bool is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static const char *cache_fault(const struct sim_machine *machine, const struct sim_cache *cache)
{
	if (!is_power_of_two(cache->line_bytes) || cache->line_bytes < 16 ||
	    cache->line_bytes > CACHE_LINE_MAX)
		return "a cache line is a power of two of 16 to 256 bytes";
	if (cache->ways == 0 || cache->ways > CACHE_WAYS_MAX)
		return "a cache has 1 to 64 ways";
	if (cache->bytes % ((uint64_t)cache->ways * cache->line_bytes))
		return "a cache's size is a whole number of sets: ways x line size";
	if (cache->bytes > 1ull << 30)
		return "a cache has at most 1 GiB";
	if (machine->memory_bytes / cache->line_bytes >= CACHE_PADDING)
		return "memory has more lines than a tag can name";
	if (cache->index == SIM_VIVT && !is_narrow(machine))
		return "virtually tagged caches are modelled for 32-bit addresses only: ARMv7, "
		       "bare";
	if (cache->index == SIM_VIVT &&
	    (machine->data_coherent || machine->dma_coherent || machine->insn_snoops_data))
		return "a virtually tagged cache cannot be snooped: no coherent CPUs, devices or "
		       "fetches";
	return NULL;
}

static const char *caches_fault(const struct sim_machine *machine)
{
	const char *why;

	if (machine->l1d.bytes == 0 || machine->l1i.bytes == 0)
		return "each CPU has a data and an instruction cache of first level";
	why = cache_fault(machine, &machine->l1d);
	if (!why)
		why = cache_fault(machine, &machine->l1i);
	if (!why && machine->l2.bytes)
		why = cache_fault(machine, &machine->l2);
	if (why)
		return why;
	if (machine->l2.bytes && machine->l2.line_bytes != machine->l1d.line_bytes)
		return "the data cache and L2 have lines of one size";
	if (machine->l2.bytes && machine->l2.index != SIM_PIPT)
		return "L2 is indexed and tagged by physical addresses";
	if (machine->l2_outer && machine->l2.bytes == 0)
		return "the outer cache is L2, and there is none";
	if (machine->alias_check && (machine->isa != SIM_BARE || machine->l1d.index != SIM_VIPT))
		return "alias_check is modelled for virtually indexed, physically tagged data "
		       "caches of bare machines";
	if (machine->colour_bytes && !is_power_of_two(machine->colour_bytes))
		return "the alias boundary is a power of two";
	return NULL;
}

static const char *machine_fault(const struct sim_machine *machine)
{
	if (machine->cpus == 0 || machine->cpus > QUIRE_CPUS_MAX)
		return "a machine has 1 to 64 CPUs";
	if (machine->clock_hz == 0)
		return "the clock has a frequency";
	if (machine->memory_bytes == 0 || machine->memory_bytes & QUIRE_PAGE_MASK)
		return "memory is a whole number of pages";
	if (machine->memory_bytes > FAR_WINDOW)
		return "memory is at most 16 TiB";
	if (is_narrow(machine) && machine->memory_bytes > ARMV7_WINDOW - ARMV7_BASE)
		return "the linear mapping of a 32-bit machine has room for 1792 MiB of memory";
	if (is_narrow(machine) && window_bytes(machine) > ARMV7_WINDOW_MAX)
		return "the alias window does not fit: too many CPUs or too large a cache";
	if (machine->kernel_text_bytes > machine->memory_bytes)
		return "the kernel's text does not fit into memory";
	if (machine->copy_text_bytes > machine->memory_bytes)
		return "the copy routine does not fit into memory";
	if (machine->tlb.entries == 0 || machine->tlb.ways == 0 ||
	    machine->tlb.entries % machine->tlb.ways)
		return "a TLB has a whole number of sets";
	if (machine->tlb.walk_cache && machine->isa != SIM_ARMV7 && machine->isa != SIM_X86_64)
		return "a walk cache belongs to a hardware walker, and there is none";
	return NULL;
}

/* --- Making and unmaking ---------------------------------------------------------------------- */

static void *host_alloc(void *context, size_t bytes, size_t align)
{
	void *memory = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));

	(void)context;
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

static void host_free(void *context, void *memory)
{
	(void)context;
	free(memory);
}

const struct sim_allocator sim_host_allocator = { .alloc = host_alloc, .free = host_free };

static int cpu_create(struct sim_cpu *cpu, const struct sim_machine *machine,
		      const struct sim_allocator *allocator)
{
	if (cache_create(&cpu->l1i, &machine->l1i, machine->colour_bytes, allocator) ||
	    cache_create(&cpu->l1d, &machine->l1d, machine->colour_bytes, allocator))
		return -QUIRE_ENOMEM;
	cpu->tlb = sim_tlb_create(machine, allocator);
	if (!cpu->tlb)
		return -QUIRE_ENOMEM;
	if (machine->store_buffer) {
		cpu->stores = sim_store_buffer_create(machine, allocator);
		if (!cpu->stores)
			return -QUIRE_ENOMEM;
	}
	return 0;
}

static int parts_create(struct sim *sim)
{
	const struct sim_machine *machine = &sim->machine;
	const struct sim_allocator *allocator = &sim->allocator;

	if (sim_memory_create(&sim->memory, machine->memory_bytes, allocator) ||
	    sim_witness_create(&sim->witness, machine, allocator) ||
	    cache_create(&sim->l2, &machine->l2, 0, allocator))
		return -QUIRE_ENOMEM;
	sim->owners.frames =
		allocator->alloc(allocator->context, machine->memory_bytes >> QUIRE_PAGE_SHIFT, 16);
	if (!sim->owners.frames)
		return -QUIRE_ENOMEM;
	for (unsigned cpu = 0; cpu < machine->cpus; cpu++)
		if (cpu_create(&sim->cpus[cpu], machine, allocator))
			return -QUIRE_ENOMEM;
	return 0;
}

struct sim *sim_create(const struct sim_machine *machine, const char **why)
{
	return sim_create_in(machine, NULL, why);
}

struct sim *sim_create_in(const struct sim_machine *machine, const struct sim_allocator *allocator,
			  const char **why)
{
	const char *fault = caches_fault(machine);
	struct sim *sim;

	if (!fault)
		fault = machine_fault(machine);
	if (fault) {
		*why = fault;
		return NULL;
	}
	*why = "the host has no memory for this machine";
	if (!allocator)
		allocator = &sim_host_allocator;
	sim = allocator->alloc(allocator->context, sizeof(*sim), 64);
	if (!sim)
		return NULL;
	sim->machine = *machine;
	sim->allocator = *allocator;
	sim->kernel_base = kernel_base(machine);
	sim->alias_bytes = window_bytes(machine);
	if (sim->alias_bytes)
		sim->alias_window =
			is_narrow(machine) ? ARMV7_WINDOW : sim->kernel_base + FAR_WINDOW;
	sim->cpu = &sim->cpus[0];
	sim->site = QUIRE_SITE_COUNT;
	if (parts_create(sim)) {
		sim_destroy(sim);
		return NULL;
	}
	*why = NULL;
	return sim;
}

void sim_destroy(struct sim *sim)
{
	struct sim_allocator allocator;

	if (!sim)
		return;
	allocator = sim->allocator;
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		cache_destroy(&sim->cpus[cpu].l1i, &allocator);
		cache_destroy(&sim->cpus[cpu].l1d, &allocator);
		sim_tlb_destroy(sim->cpus[cpu].tlb, &allocator);
		allocator.free(allocator.context, sim->cpus[cpu].stores);
	}
	allocator.free(allocator.context, sim->owners.frames);
	allocator.free(allocator.context, sim->pending);
	sim_needless_destroy(sim->needless);
	cache_destroy(&sim->l2, &allocator);
	sim_witness_destroy(&sim->witness, &allocator);
	sim_memory_destroy(&sim->memory, &allocator);
	allocator.free(allocator.context, sim);
}

void sim_set_traps(struct sim *sim, const struct sim_traps *traps)
{
	sim->traps = *traps;
}

int sim_set_options(struct sim *sim, const struct sim_options *options)
{
	if (options->history && !sim->witness.history) {
		sim->witness.history = sim_history_create(&sim->machine, &sim->allocator);
		if (!sim->witness.history)
			return -QUIRE_ENOMEM;
	}
	if (options->asynchronous && !sim->pending) {
		sim->pending = sim_pending_create(&sim->allocator);
		if (!sim->pending)
			return -QUIRE_ENOMEM;
	}
	if (options->needless && !sim->needless) {
		sim->needless = sim_needless_create(sim);
		if (!sim->needless)
			return -QUIRE_ENOMEM;
	}
	sim->options.needless |= options->needless;
	sim->options.history |= options->history;
	sim->options.asynchronous |= options->asynchronous;
	sim->options.idle_barriers |= options->idle_barriers;
	return 0;
}

const struct sim_machine *sim_machine(const struct sim *sim)
{
	return &sim->machine;
}

uintptr_t sim_kernel_base(const struct sim *sim)
{
	return sim->kernel_base;
}

uintptr_t sim_alias_window(const struct sim *sim)
{
	return sim->alias_window;
}

/* --- CPUs and time ---------------------------------------------------------------------------- */

unsigned sim_cpu(const struct sim *sim)
{
	return sim->current;
}

void sim_switch(struct sim *sim, unsigned cpu)
{
	sim->current = cpu;
	sim->cpu = &sim->cpus[cpu];
}

uint64_t sim_ticks(const struct sim *sim)
{
	return sim->cpu->ticks;
}

uint64_t sim_ns(const struct sim *sim)
{
	unsigned __int128 scaled = (unsigned __int128)sim->cpu->ticks * 1000000000u;

	return (uint64_t)(scaled / ((unsigned __int128)sim->machine.clock_hz * SIM_TICKS_A_CYCLE));
}

void sim_charge(struct sim *sim, uint64_t ticks)
{
	sim->cpu->ticks += ticks;
}

void sim_wait_until(struct sim *sim, uint64_t ticks)
{
	if (sim->cpu->ticks < ticks)
		sim->cpu->ticks = ticks;
}

/* The caller runs its own part while the others run theirs. */
void sim_cross_call(struct sim *sim, uint64_t cpus, void (*fn)(void *arg), void *arg)
{
	unsigned caller = sim->current;
	uint64_t start = sim_ticks(sim) + sim->machine.cost.cross_call;
	uint64_t end = 0;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		if (cpu == caller || !(cpus >> cpu & 1))
			continue;
		sim_switch(sim, cpu);
		sim_wait_until(sim, start);
		fn(arg);
		if (sim_ticks(sim) > end)
			end = sim_ticks(sim);
	}
	sim_switch(sim, caller);
	if (cpus >> caller & 1)
		fn(arg);
	sim_wait_until(sim, end);
}

/* --- Labels and accounts ---------------------------------------------------------------------- */

void sim_label(struct sim *sim, uint32_t label)
{
	sim->label = label & 0xffffff;
}

void sim_site_begin(struct sim *sim, enum quire_site site)
{
	sim->site = site;
}

void sim_site_end(struct sim *sim, enum quire_site site)
{
	(void)site;
	sim->site = QUIRE_SITE_COUNT;
}

const struct sim_account *sim_account(const struct sim *sim, enum quire_site site, enum sim_op op)
{
	return &sim->accounts[site][op];
}

const char *sim_op_name(enum sim_op op)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_OPS(X)
#undef X
	};

	return (unsigned)op < SIM_OP_COUNT ? names[op] : NULL;
}

void sim_counts(const struct sim *sim, struct sim_counts *counts)
{
	*counts = sim->counts;
}
