/*
 * A simulated machine with Quire booted on it: the port over the simulator.
 *
 * Everything that Quire does to memory goes through sim_* calls, so it passes the simulated caches
 * and pays for it. Only Quire's own records are host memory, and cost nothing: their price is in
 * the kernel steps.
 */
#include "lab/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/disk.h"
#include "lab/host.h"
#include "lab/lab.h"

#define NS_A_SECOND 1000000000u
#define RELAXES_MAX \
	1000000u /* tries at a lock; one thread runs all CPUs, so nobody else will release it */

struct lab_disk {
	struct lab_disk *next;
	struct lab_world *world;
	struct lab_store *store;
	char *name;
	uint64_t last_block; /* of the last transfer */
	bool last_write, moved;
};

/* --- The port ------------------------------------------------------------------------- */

static unsigned port_cpu(void *context)
{
	const struct lab_world *world = context;

	return sim_cpu(world->sim);
}

static void port_stop(void *context, const char *file, int line, const char *what)
	__attribute__((noreturn));

static void port_stop(void *context, const char *file, int line, const char *what)
{
	(void)context;
	fflush(stdout);
	fprintf(stderr, "quire: internal error: %s:%d: broken invariant: %s\n", file, line, what);
	_Exit(LAB_INTERNAL);
}

static void port_relax(void *context)
{
	struct lab_world *world = context;

	if (++world->relaxes > RELAXES_MAX)
		port_stop(context, __FILE__, __LINE__, "a lock is never released");
}

static void *port_alloc(void *context, size_t bytes, size_t align)
{
	size_t rounded = (bytes + align - 1) & ~(align - 1);

	(void)context;
	return align <= _Alignof(max_align_t) ? malloc(bytes) : aligned_alloc(align, rounded);
}

static void port_free(void *context, void *memory, size_t bytes)
{
	(void)context;
	(void)bytes;
	free(memory);
}

static void port_cross_call(void *context, uint64_t cpus, void (*fn)(void *arg), void *arg)
{
	struct lab_world *world = context;

	sim_cross_call(world->sim, cpus, fn, arg);
}

static bool port_can_cross_call(void *context)
{
	(void)context;
	return true;
}

uint64_t lab_world_time_ns(const struct lab_world *world)
{
	return (uint64_t)LAB_TIME_START_S * NS_A_SECOND + sim_ns(world->sim);
}

static uint64_t port_time_ns(void *context)
{
	struct lab_world *world = context;
	uint64_t now = lab_world_time_ns(world);

	if (now > world->latest_ns)
		world->latest_ns = now;
	return world->latest_ns;
}

/* Kernel addresses never fail: what is left over would be a broken invariant. */
static void all_done(struct lab_world *world, size_t left)
{
	if (left)
		port_stop(world, __FILE__, __LINE__,
			  "a kernel address is neither linear nor an alias");
}

static void port_copy(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	struct lab_world *world = context;

	all_done(world, sim_copy(world->sim, to, from, bytes));
}

static void port_clear(void *context, uintptr_t to, size_t bytes)
{
	struct lab_world *world = context;

	all_done(world, sim_clear(world->sim, to, bytes));
}

static void port_read(void *context, void *to, uintptr_t from, size_t bytes)
{
	struct lab_world *world = context;

	all_done(world, sim_read(world->sim, from, to, bytes));
}

static void port_write(void *context, uintptr_t to, const void *from, size_t bytes)
{
	struct lab_world *world = context;

	all_done(world, sim_write(world->sim, to, from, bytes));
}

static size_t port_user_copy(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	struct lab_world *world = context;

	return sim_copy(world->sim, to, from, bytes);
}

static void port_step(void *context, enum quire_step step)
{
	struct lab_world *world = context;

	world->relaxes = 0;
	sim_charge(world->sim, sim_machine(world->sim)->cost.step[step]);
}

static void port_page_owner(void *context, quire_pa_t pa, uint64_t bytes, bool taken)
{
	struct lab_world *world = context;

	if (taken)
		sim_frames_given(world->sim, pa, bytes);
	else
		sim_frames_freed(world->sim, pa, bytes);
}

static bool port_maintenance_begin(void *context, enum quire_site site)
{
	struct lab_world *world = context;

	sim_site_begin(world->sim, site);
	return true;
}

static void port_maintenance_end(void *context, enum quire_site site)
{
	struct lab_world *world = context;

	sim_site_end(world->sim, site);
}

static struct quire_port make_port(struct lab_world *world, const struct sim_machine *machine)
{
	return (struct quire_port){
		.context = world,
		.hw = (struct quire_hw *)world->sim,
		.cpus = machine->cpus,
		.kernel_base = sim_kernel_base(world->sim),
		.kernel_text = sim_kernel_base(world->sim),
		.kernel_text_bytes = machine->kernel_text_bytes,
		.devices_see_data = machine->dma_coherent,
		.memory = &world->memory,
		.memory_ranges = 1,
		.alias_window = sim_alias_window(world->sim),
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
		.copy_to_user = port_user_copy,
		.copy_from_user = port_user_copy,
		.step = port_step,
		.page_owner = port_page_owner,
		.maintenance_begin = port_maintenance_begin,
		.maintenance_end = port_maintenance_end,
		.stop = port_stop,
	};
}

/* --- Traps ---------------------------------------------------------------------------- */

static int trap_fault(void *context, uintptr_t va, enum quire_access access)
{
	struct lab_world *world = context;
	struct quire_space *space = world->loaded[sim_cpu(world->sim)];

	return space ? quire_fault(space, va, access) : -QUIRE_SIGSEGV;
}

static int trap_tlb_miss(void *context, uintptr_t va, enum quire_access access)
{
	struct lab_world *world = context;
	struct quire_space *space = world->loaded[sim_cpu(world->sim)];

	return space ? quire_tlb_miss(space, va, access) : -QUIRE_EFAULT;
}

/* --- Boot ----------------------------------------------------------------------------- */

static const struct quire_arch *arch_of(enum sim_isa isa)
{
	switch (isa) {
	case SIM_ARMV7:
		return &quire_arch_armv7;
	case SIM_PARISC:
		return &quire_arch_parisc;
	default:
		return &quire_arch_x86_64;
	}
}

const char *lab_world_unfit(const struct sim_machine *machine)
{
	if (machine->isa == SIM_BARE)
		return "there is no architecture code for it: it runs the alias test only";
	if (machine->cpus > 1 && !machine->data_coherent)
		return "hardware does not keep the D caches of its CPUs coherent, which Quire "
		       "needs: "
		       "set coherence.data = yes or machine.cpus = 1";
	return NULL;
}

static const char *boot(struct lab_world *world, const struct sim_machine *machine,
			const struct quire_policy *policy)
{
	struct sim_traps traps = {world, trap_fault, trap_tlb_miss, trap_tlb_miss};
	uint64_t text = (machine->kernel_text_bytes + QUIRE_PAGE_MASK) & ~(uint64_t)QUIRE_PAGE_MASK;
	struct quire_config config;
	int error;

	if (lab_world_unfit(machine))
		return lab_world_unfit(machine);
	if (text + LAB_SCRATCH_BYTES + (1u << 20) > machine->memory_bytes)
		return "the machine's memory holds little more than its kernel";
	world->scratch = sim_kernel_base(world->sim) + (uintptr_t)text;
	world->memory.base = text + LAB_SCRATCH_BYTES;
	world->memory.bytes =
		(machine->memory_bytes - world->memory.base) & ~(uint64_t)QUIRE_PAGE_MASK;
	sim_set_traps(world->sim, &traps);
	config = (struct quire_config){make_port(world, machine), arch_of(machine->isa), *policy};
	world->quire = quire_create(&config, &error);
	if (!world->quire)
		return error == -QUIRE_ENODEV || error == QUIRE_ENODEV
			       ? "the CPU is not one that the architecture knows"
			       : "Quire does not boot on this machine";
	for (unsigned cpu = 1; cpu < machine->cpus; cpu++) {
		lab_world_cpu(world, cpu);
		if (quire_cpu_online(world->quire))
			return "a further CPU does not come up";
	}
	lab_world_cpu(world, 0);
	return NULL;
}

struct lab_world *lab_world_create_bare(const struct sim_machine *machine, const char **why)
{
	struct lab_world *world = lab_new(sizeof(*world));

	world->sim = sim_create(machine, why);
	if (world->sim)
		return world;
	free(world);
	return NULL;
}

struct lab_world *lab_world_create(const struct sim_machine *machine,
				   const struct quire_policy *policy, const char **why)
{
	struct lab_world *world = lab_world_create_bare(machine, why);

	if (!world)
		return NULL;
	*why = boot(world, machine, policy);
	if (!*why)
		return world;
	lab_world_destroy(world);
	return NULL;
}

void lab_world_destroy(struct lab_world *world)
{
	if (world->quire)
		quire_destroy(world->quire);
	while (world->disks) {
		struct lab_disk *next = world->disks->next;

		lab_store_free(world->disks->store);
		free(world->disks->name);
		free(world->disks);
		world->disks = next;
	}
	sim_destroy(world->sim);
	free(world);
}

/* --- CPUs and time -------------------------------------------------------------------- */

void lab_world_cpu(struct lab_world *world, unsigned cpu)
{
	uint64_t now = sim_ticks(world->sim);

	sim_switch(world->sim, cpu);
	if (sim_ticks(world->sim) < now)
		sim_wait_until(world->sim, now);
}

void lab_world_load(struct lab_world *world, struct quire_space *space)
{
	quire_space_load(world->quire, space);
	world->loaded[sim_cpu(world->sim)] = space;
}

void lab_world_syscall(struct lab_world *world)
{
	port_step(world, QUIRE_STEP_SYSCALL);
}

double lab_world_ns(const struct lab_world *world)
{
	double cycles = (double)sim_ticks(world->sim) / SIM_TICKS_A_CYCLE;

	return cycles / (double)sim_machine(world->sim)->clock_hz * NS_A_SECOND;
}

void lab_world_sleep(struct lab_world *world, double ns)
{
	double hz = (double)sim_machine(world->sim)->clock_hz;
	double wanted = ns * hz / NS_A_SECOND * SIM_TICKS_A_CYCLE;
	uint64_t ticks = (uint64_t)wanted;

	if ((double)ticks < wanted) /* never less than was asked for */
		ticks++;
	sim_wait_until(world->sim, sim_ticks(world->sim) + ticks);
}

/* --- Disks ---------------------------------------------------------------------------- */

/* A transfer of consecutive blocks goes on with the request before it: read-ahead and write
 * clustering. */
static int disk_transfer(void *context, uint64_t block, quire_pa_t page, bool write)
{
	struct lab_disk *disk = context;
	struct sim *sim = disk->world->sim;
	const struct sim_costs *cost = &sim_machine(sim)->cost;
	bool goes_on = disk->moved && disk->last_write == write && block == disk->last_block + 1;
	uint8_t bytes[QUIRE_PAGE_BYTES];

	if (block >= lab_store_blocks(disk->store))
		return -QUIRE_EIO;
	sim_charge(sim, (goes_on ? 0 : cost->disk_request) + cost->disk_page);
	disk->moved = true;
	disk->last_write = write;
	disk->last_block = block;
	if (write) {
		sim_dma_from_memory(sim, page, bytes, sizeof(bytes));
		lab_store_write(disk->store, block, bytes);
	} else {
		lab_store_read(disk->store, block, bytes);
		sim_dma_to_memory(sim, page, bytes, sizeof(bytes));
	}
	return 0;
}

struct quire_block_device lab_world_disk(struct lab_world *world, const char *name, uint64_t blocks,
					 bool *fresh)
{
	struct lab_disk *disk = world->disks;

	while (disk && strcmp(disk->name, name) != 0)
		disk = disk->next;
	*fresh = !disk;
	if (!disk) {
		disk = lab_new(sizeof(*disk));
		disk->world = world;
		disk->name = lab_copy_text(name, strlen(name));
		disk->store = lab_store_new(blocks);
		disk->next = world->disks;
		world->disks = disk;
	}
	return (struct quire_block_device){disk, lab_store_blocks(disk->store), disk_transfer};
}
