/*
 * A simulated machine with a memory manager on it, for tests: the port over sim.h.
 */
#include "tests/support/simulated.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Machines -------------------------------------------------------------------------------- */

static struct sim_cache cache(uint64_t bytes, uint32_t ways, uint32_t line, enum sim_index index)
{
	return (struct sim_cache){
		.bytes = bytes,
		.ways = ways,
		.line_bytes = line,
		.index = index,
		.replace = SIM_LRU,
		.write_back = true,
		.write_allocate = true,
	};
}

/* Round figures: tests look at order and sums, not at a product's. */
static struct sim_costs costs(void)
{
	enum { C = SIM_TICKS_A_CYCLE };
	struct sim_costs cost = {
		.l1_line = 8 * C,
		.l1_access = C,
		.fetch_line = C,
		.l2_read = 12 * C,
		.l2_write = 12 * C,
		.memory_read = 80 * C,
		.memory_write = 40 * C,
		.tlb_miss = 20 * C,
		.tlb_absent = 60 * C,
		.data_op = 2 * C,
		.data_op_clean = C,
		.data_op_dirty = 4 * C,
		.data_op_set = C,
		.insn_op = 2 * C,
		.insn_op_set = C,
		.insn_all = 20 * C,
		.broadcast = 10 * C,
		.outer_op = 20 * C,
		.outer_sync = 10 * C,
		.barrier = 10 * C,
		.insn_barrier = 10 * C,
		.tlb_op = 10 * C,
		.tlb_all = 20 * C,
		.locked = 20 * C,
		.cross_call = 1000 * C,
		.disk_request = 10000 * C,
		.disk_page = 1000 * C,
		.copy_set_up = 10 * C,
	};

	for (unsigned step = 0; step < QUIRE_STEP_COUNT; step++)
		cost.step[step] = 10 * C;
	return cost;
}

static void describe_armv7(struct sim_machine *m)
{
	m->l1i = cache(32 << 10, 4, 32, SIM_VIPT);
	m->l1d = cache(32 << 10, 4, 32, SIM_PIPT);
	m->l2 = cache(128 << 10, 8, 32, SIM_PIPT);
	m->l2_outer = true;
	m->tlb = (struct sim_tlb){.entries = 32, .ways = 2, .tagged = true};
	m->asid_bits = 8;
	m->maintenance_broadcast = m->tlb_broadcast = true;
	m->walker = SIM_LEVEL_L2;
}

static void describe_parisc(struct sim_machine *m)
{
	m->l1i = cache(64 << 10, 2, 64, SIM_VIPT);
	m->l1d = cache(64 << 10, 2, 64, SIM_VIPT);
	m->tlb = (struct sim_tlb){.entries = 32, .ways = 32, .tagged = true};
	m->asid_bits = 16;
	m->maintenance_broadcast = m->tlb_broadcast = true;
	m->walker = SIM_LEVEL_L1;
	m->colour_bytes = 64 << 10;
}

static void describe_x86_64(struct sim_machine *m)
{
	m->l1i = cache(32 << 10, 8, 64, SIM_PIPT);
	m->l1d = cache(32 << 10, 8, 64, SIM_PIPT);
	m->l2 = cache(256 << 10, 8, 64, SIM_PIPT);
	m->tlb = (struct sim_tlb){.entries = 64, .ways = 4};
	m->insn_snoops_data = true;
	m->maintenance_broadcast = true;
	m->walker = SIM_LEVEL_L1;
	m->dma_coherent = true;
}

struct sim_machine simulated_machine(enum sim_isa isa)
{
	struct sim_machine m = {
		.name = "test",
		.isa = isa,
		.cpus = 2,
		.clock_hz = 1000000000,
		.memory_bytes = 16 << 20,
		.kernel_text_bytes = 256 << 10,
		.copy_text_bytes = 256,
		.data_coherent = true,
		.cost = costs(),
	};

	switch (isa) {
	case SIM_ARMV7:
		describe_armv7(&m);
		break;
	case SIM_PARISC:
		describe_parisc(&m);
		break;
	case SIM_X86_64:
		describe_x86_64(&m);
		break;
	case SIM_BARE: /* Quire does not run there */
		break;
	}
	return m;
}

const struct quire_arch *simulated_arch(enum sim_isa isa)
{
	switch (isa) {
	case SIM_ARMV7:
		return &quire_arch_armv7;
	case SIM_PARISC:
		return &quire_arch_parisc;
	case SIM_X86_64:
	case SIM_BARE:
		break;
	}
	return &quire_arch_x86_64;
}

/* --- The port -------------------------------------------------------------------------------- */

static unsigned port_cpu(void *context)
{
	return sim_cpu(((struct simulated *)context)->sim);
}

/*
 * One host thread runs all CPUs in turn: whoever waits here waits for nobody, unless the test says
 * how others go on.
 */
static void port_relax(void *context)
{
	struct simulated *s = context;

	if (s->on_relax) {
		s->on_relax(s);
		return;
	}
	fprintf(stderr, "simulated: CPU %u waits for a lock that nobody will release\n",
		sim_cpu(s->sim));
	abort();
}

static void *port_alloc(void *context, size_t bytes, size_t align)
{
	struct simulated *s = context;
	void *memory;

	s->allocations++;
	if (s->fail_after == 0) {
		if (!s->fail_for_ever)
			s->fail_after = -1;
		return NULL;
	}
	if (s->fail_after > 0)
		s->fail_after--;
	if (align < sizeof(void *))
		align = sizeof(void *);
	memory = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
	if (!memory)
		abort();
	memset(memory, 0xa5, bytes);
	s->allocated++;
	s->allocated_bytes += bytes;
	return memory;
}

static void port_free(void *context, void *memory, size_t bytes)
{
	struct simulated *s = context;

	memset(memory, 0x5a, bytes);
	s->allocated--;
	s->allocated_bytes -= bytes;
	free(memory);
}

static void port_cross_call(void *context, uint64_t cpus, void (*fn)(void *arg), void *arg)
{
	sim_cross_call(((struct simulated *)context)->sim, cpus, fn, arg);
}

static bool port_can_cross_call(void *context)
{
	return !((struct simulated *)context)->no_cross_call;
}

static uint64_t port_time_ns(void *context)
{
	struct simulated *s = context;

	return sim_ns(s->sim) + s->time_offset_ns;
}

static void port_stop(void *context, const char *file, int line, const char *what)
	__attribute__((noreturn));

static void port_stop(void *context, const char *file, int line, const char *what)
{
	(void)context;
	fprintf(stderr, "%s:%d: stopped: %s\n", file, line, what);
	abort();
}

static void must_be_all(struct simulated *s, size_t left, const char *what)
{
	if (left)
		port_stop(s, __FILE__, __LINE__, what);
}

static void port_copy(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	struct simulated *s = context;

	must_be_all(s, sim_copy(s->sim, to, from, bytes), "kernel copy faulted");
}

static void port_clear(void *context, uintptr_t to, size_t bytes)
{
	struct simulated *s = context;

	must_be_all(s, sim_clear(s->sim, to, bytes), "kernel clear faulted");
}

static void port_read(void *context, void *to, uintptr_t from, size_t bytes)
{
	struct simulated *s = context;

	must_be_all(s, sim_read(s->sim, from, to, bytes), "kernel read faulted");
}

static void port_write(void *context, uintptr_t to, const void *from, size_t bytes)
{
	struct simulated *s = context;

	must_be_all(s, sim_write(s->sim, to, from, bytes), "kernel write faulted");
}

static size_t port_copy_user(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	return sim_copy(((struct simulated *)context)->sim, to, from, bytes);
}

static void port_step(void *context, enum quire_step step)
{
	struct simulated *s = context;

	s->steps[step]++;
	if (s->on_step)
		s->on_step(s, step);
	sim_charge(s->sim, sim_machine(s->sim)->cost.step[step]);
}

static void port_page_owner(void *context, quire_pa_t pa, uint64_t bytes, bool taken)
{
	struct simulated *s = context;

	if (taken)
		sim_frames_given(s->sim, pa, bytes);
	else
		sim_frames_freed(s->sim, pa, bytes);
}

static bool port_maintenance_begin(void *context, enum quire_site site)
{
	struct simulated *s = context;

	if (site == s->drop)
		return false;
	if (s->on_maintenance)
		s->on_maintenance(s, site);
	sim_site_begin(s->sim, site);
	return true;
}

static void port_maintenance_end(void *context, enum quire_site site)
{
	sim_site_end(((struct simulated *)context)->sim, site);
}

static int trap_fault(void *context, uintptr_t va, enum quire_access access)
{
	struct simulated *s = context;
	struct quire_space *space = s->loaded[sim_cpu(s->sim)];

	return space ? quire_fault(space, va, access) : -QUIRE_EFAULT;
}

static int trap_tlb_miss(void *context, uintptr_t va, enum quire_access access)
{
	struct simulated *s = context;
	struct quire_space *space = s->loaded[sim_cpu(s->sim)];

	return space ? quire_tlb_miss(space, va, access) : -QUIRE_EFAULT;
}

static void fill_port(struct simulated *s, const struct sim_machine *machine)
{
	s->config.port = (struct quire_port){
		.context = s,
		.hw = (struct quire_hw *)s->sim,
		.cpus = machine->cpus,
		.kernel_base = sim_kernel_base(s->sim),
		.kernel_text = sim_kernel_base(s->sim),
		.kernel_text_bytes = machine->kernel_text_bytes,
		.devices_see_data = machine->dma_coherent,
		.memory = &s->memory,
		.memory_ranges = 1,
		.alias_window = sim_alias_window(s->sim),
		.cpu = port_cpu,
		.relax = port_relax,
		.alloc = port_alloc,
		.free = port_free,
		.cross_call = port_cross_call,
		.can_cross_call = port_can_cross_call,
		.time_ns = port_time_ns,
		.copy = port_copy,
		.clear = port_clear,
		.read = port_read,
		.write = port_write,
		.copy_to_user = port_copy_user,
		.copy_from_user = port_copy_user,
		.step = port_step,
		.page_owner = port_page_owner,
		.maintenance_begin = port_maintenance_begin,
		.maintenance_end = port_maintenance_end,
		.stop = port_stop,
	};
}

/* --- Beginning and end ----------------------------------------------------------------------- */

void simulated_prepare(struct simulated *s, const struct sim_machine *machine,
		       const struct quire_policy *policy)
{
	struct sim_traps traps = {.context = s, .fault = trap_fault};
	const char *why = "";

	memset(s, 0, sizeof(*s));
	s->fail_after = -1;
	s->drop = QUIRE_SITE_COUNT;
	s->sim = sim_create(machine, &why);
	if (!s->sim) {
		fprintf(stderr, "simulated: no machine: %s\n", why);
		abort();
	}
	s->memory.bytes = machine->memory_bytes;
	fill_port(s, machine);
	s->config.arch = simulated_arch(machine->isa);
	s->config.policy = policy ? *policy : quire_policy_default();
	if (machine->isa == SIM_PARISC)
		traps.tlb_miss = traps.tlb_reference = trap_tlb_miss;
	sim_set_traps(s->sim, &traps);
}

int simulated_boot(struct simulated *s)
{
	int error = 0;

	s->q = quire_create(&s->config, &error);
	if (!s->q)
		return error;
	for (unsigned cpu = 1; cpu < s->config.port.cpus && !error; cpu++) {
		sim_switch(s->sim, cpu);
		error = quire_cpu_online(s->q);
	}
	sim_switch(s->sim, 0);
	if (error) {
		quire_destroy(s->q);
		s->q = NULL;
	}
	return error;
}

void simulated_start(struct simulated *s, const struct sim_machine *machine,
		     const struct quire_policy *policy)
{
	int error;

	simulated_prepare(s, machine, policy);
	error = simulated_boot(s);
	if (error) {
		fprintf(stderr, "simulated: no memory manager: error %d\n", error);
		abort();
	}
}

void simulated_end(struct simulated *s)
{
	if (s->q)
		quire_destroy(s->q);
	sim_destroy(s->sim);
	if (s->allocated) {
		fprintf(stderr, "simulated: %ld records, %zu bytes leaked\n", s->allocated,
			s->allocated_bytes);
		abort();
	}
	s->q = NULL;
	s->sim = NULL;
}

void simulated_load(struct simulated *s, struct quire_space *space)
{
	quire_space_load(s->q, space);
	s->loaded[sim_cpu(s->sim)] = space;
}

/* --- Accesses -------------------------------------------------------------------------------- */

void simulated_user_read(struct simulated *s, uintptr_t va, void *host, size_t bytes)
{
	must_be_all(s, sim_read(s->sim, va, host, bytes), "user read faulted");
}

void simulated_user_write(struct simulated *s, uintptr_t va, const void *host, size_t bytes)
{
	must_be_all(s, sim_write(s->sim, va, host, bytes), "user write faulted");
}

void simulated_check(struct simulated *s)
{
	const struct sim_violation *v;

	if (!sim_violations(s->sim))
		return;
	for (unsigned n = 0; (v = sim_violation(s->sim, n)); n++)
		fprintf(stderr,
			"violation: party %d of CPU %u at va %#" PRIxPTR " pa %#" PRIx64
			": expected %#" PRIx64 ", got %#" PRIx64
			", written by party %d of CPU %u\n",
			(int)v->observer, v->cpu, v->va, v->pa, v->expected, v->got, (int)v->writer,
			v->writer_cpu);
	abort();
}
