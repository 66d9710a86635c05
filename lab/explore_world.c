/*
 * A small world: the machine with Quire booted on it, one process that all CPUs run, one file whose
 * pages are on a device. Nothing of the file is in memory yet.
 *
 * The port is that of lab/world.c but for three things: records come from the arena; a broken
 * invariant ends the move, not the program; and user memory given to read and write is a page of
 * this program when its address is EXPLORE_BUFFER, so that a buffer is no part of the state.
 */
#include "lab/explore.h"

#include <string.h>

#include "sim/adversary.h"

#define RELAXES_MAX     10000u
#define FAULTS_IN_A_ROW 8u /* more than any access of a move needs */
#define NUMBERS_FIRST   4u /* the first two spaces get numbers below this on every machine */
#define GARBAGE         0xa5

static struct explore_job *job_of(void *context)
{
	return context;
}

/* --- The port --------------------------------------------------------------------------------- */

static unsigned port_cpu(void *context)
{
	return sim_cpu(job_of(context)->world->sim);
}

static void port_stop(void *context, const char *file, int line, const char *what)
	__attribute__((noreturn));

static void port_stop(void *context, const char *file, int line, const char *what)
{
	struct explore_job *job = context;
	const char *name = strrchr(file, '/');

	snprintf(job->stopped, sizeof(job->stopped), "%s:%d: %s", name ? name + 1 : file, line,
		 what);
	explore_stop_calls(job);
	longjmp(job->stop, 1);
}

/* The other of two calls may release the lock; if it has ended, or there is none, nobody will. */
static void port_relax(void *context)
{
	if (++job_of(context)->world->relaxes > RELAXES_MAX)
		port_stop(context, __FILE__, __LINE__, "a lock is never released");
	explore_blocked(context);
}

static void *port_alloc(void *context, size_t bytes, size_t align)
{
	return explore_arena_alloc(&job_of(context)->arena, bytes, align);
}

static void port_free(void *context, void *memory, size_t bytes)
{
	explore_arena_free(&job_of(context)->arena, memory, bytes);
}

static void port_cross_call(void *context, uint64_t cpus, void (*fn)(void *arg), void *arg)
{
	sim_cross_call(job_of(context)->world->sim, cpus, fn, arg);
}

static bool port_can_cross_call(void *context)
{
	(void)context;
	return true;
}

/* Steps of a run, not the clocks of CPUs: those are no part of a state. */
static uint64_t port_time_ns(void *context)
{
	return job_of(context)->world->steps * 1000000000ull;
}

static void all_done(void *context, size_t left)
{
	if (left)
		port_stop(context, __FILE__, __LINE__,
			  "a kernel address is neither linear nor an alias");
}

static void port_copy(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	all_done(context, sim_copy(job_of(context)->world->sim, to, from, bytes));
}

static void port_clear(void *context, uintptr_t to, size_t bytes)
{
	all_done(context, sim_clear(job_of(context)->world->sim, to, bytes));
}

static void port_read(void *context, void *to, uintptr_t from, size_t bytes)
{
	all_done(context, sim_read(job_of(context)->world->sim, from, to, bytes));
}

static void port_write(void *context, uintptr_t to, const void *from, size_t bytes)
{
	all_done(context, sim_write(job_of(context)->world->sim, to, from, bytes));
}

static bool in_buffer(uintptr_t va)
{
	return va - EXPLORE_BUFFER < EXPLORE_CPUS_MAX * QUIRE_PAGE_BYTES;
}

static size_t port_copy_to_user(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	struct explore_world *world = job_of(context)->world;

	if (!in_buffer(to))
		return sim_copy(world->sim, to, from, bytes);
	return sim_read(world->sim, from, (uint8_t *)world->host + (to - EXPLORE_BUFFER), bytes);
}

static size_t port_copy_from_user(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	struct explore_world *world = job_of(context)->world;

	if (!in_buffer(from))
		return sim_copy(world->sim, to, from, bytes);
	return sim_write(world->sim, to, (const uint8_t *)world->host + (from - EXPLORE_BUFFER),
			 bytes);
}

static void port_step(void *context, enum quire_step step)
{
	job_of(context)->world->relaxes = 0;
	if (step == QUIRE_STEP_LOCK || step == QUIRE_STEP_FLAG)
		explore_point(context);
}

static void port_page_owner(void *context, quire_pa_t pa, uint64_t bytes, bool taken)
{
	struct sim *sim = job_of(context)->world->sim;

	if (taken)
		sim_frames_given(sim, pa, bytes);
	else
		sim_frames_freed(sim, pa, bytes);
}

static bool port_maintenance_begin(void *context, enum quire_site site)
{
	struct explore_world *world = job_of(context)->world;

	if (site == world->setting->dropped) {
		if (world->setting->asked)
			atomic_store(world->setting->asked, true);
		return false;
	}
	explore_point(context);
	world->pages_done = 0;
	sim_site_begin(world->sim, site);
	return true;
}

static void port_maintenance_end(void *context, enum quire_site site)
{
	sim_site_end(job_of(context)->world->sim, site);
	explore_point(context);
}

static struct quire_port make_port(struct explore_job *job)
{
	struct explore_world *world = job->world;

	return (struct quire_port){
		.context = job,
		.hw = (struct quire_hw *)world->sim,
		.cpus = job->setting->machine.cpus,
		.kernel_base = sim_kernel_base(world->sim),
		.kernel_text = sim_kernel_base(world->sim),
		.kernel_text_bytes = (size_t)job->setting->machine.kernel_text_bytes,
		.devices_see_data = job->setting->machine.dma_coherent,
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
		.copy_to_user = port_copy_to_user,
		.copy_from_user = port_copy_from_user,
		.step = port_step,
		.page_owner = port_page_owner,
		.maintenance_begin = port_maintenance_begin,
		.maintenance_end = port_maintenance_end,
		.stop = port_stop,
	};
}

static struct quire_space *running(struct explore_world *world)
{
	uint8_t process = world->runs[sim_cpu(world->sim)];

	return process == EXPLORE_NOBODY ? NULL : world->spaces[process];
}

static int trap_fault(void *context, uintptr_t va, enum quire_access access)
{
	struct explore_world *world = job_of(context)->world;
	struct quire_space *space = running(world);
	unsigned cpu = sim_cpu(world->sim);
	int error = -QUIRE_SIGSEGV;

	/* Whoever faults again and again waits for what the other of two calls has begun. */
	if (++world->faults > FAULTS_IN_A_ROW)
		explore_blocked(context);
	world->faulting[cpu] = va & ~(uintptr_t)QUIRE_PAGE_MASK;
	if (space)
		error = quire_fault(space, va, access);
	world->faulting[cpu] = 0;
	return error;
}

static int trap_tlb_miss(void *context, uintptr_t va, enum quire_access access)
{
	struct quire_space *space = running(job_of(context)->world);

	return space ? quire_tlb_miss(space, va, access) : -QUIRE_EFAULT;
}

static void *sim_memory_alloc(void *context, size_t bytes, size_t align)
{
	return explore_arena_alloc(&job_of(context)->arena, bytes, align);
}

static void sim_memory_free(void *context, void *memory)
{
	(void)context; /* the whole arena ends at once */
	(void)memory;
}

/* --- The file --------------------------------------------------------------------------------- */

static struct explore_world *world_of(struct quire_file *file)
{
	return quire_container(file, struct explore_world, file);
}

static void evict_dirty(struct sim *sim, unsigned cpu, enum sim_which which, uint64_t frame)
{
	unsigned sets, ways;
	struct sim_line line;

	sim_cache_shape(sim, which, &sets, &ways);
	for (unsigned place = 0; place < sets * ways; place++)
		if (sim_line_at(sim, cpu, which, place / ways, place % ways, &line) && line.dirty &&
		    line.pa >> QUIRE_PAGE_SHIFT == frame)
			sim_evict(sim, cpu, which, place / ways, place % ways);
}

/*
 * The device writes a page. Dirty lines of it that are still in caches may be evicted over what it
 * wrote, so they are.
 */
static void device_writes(struct explore_world *world, struct quire_page *page, const void *bytes)
{
	sim_dma_to_memory(world->sim, quire_page_pa(page), bytes, QUIRE_PAGE_BYTES);
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++)
		evict_dirty(world->sim, cpu, SIM_WHICH_L1D, page->frame);
	evict_dirty(world->sim, 0, SIM_WHICH_L2, page->frame);
}

static int file_read_page(struct quire_file *file, struct quire_page *page)
{
	struct explore_world *world = world_of(file);
	const struct explore_block *block = &world->blocks[page->index];
	uint64_t bytes[QUIRE_PAGE_BYTES / sizeof(uint64_t)];

	if (page->index >= world->setting->pages) {
		quire_page_clear(file->quire, page, 0, QUIRE_PAGE_BYTES);
		return 0;
	}
	for (size_t n = 0; n < sizeof(bytes) / sizeof(bytes[0]); n++)
		bytes[n] = block->rest;
	bytes[0] = block->first;
	quire_coherence_dma_prepare(file->quire, page, QUIRE_FROM_DEVICE);
	device_writes(world, page, bytes);
	quire_coherence_dma_finish(file->quire, page, QUIRE_FROM_DEVICE);
	return 0;
}

static int file_write_page(struct quire_file *file, struct quire_page *page)
{
	struct explore_world *world = world_of(file);
	uint64_t bytes[QUIRE_PAGE_BYTES / sizeof(uint64_t)];

	quire_coherence_dma_prepare(file->quire, page, QUIRE_TO_DEVICE);
	sim_dma_from_memory(world->sim, quire_page_pa(page), bytes, sizeof(bytes));
	quire_coherence_dma_finish(file->quire, page, QUIRE_TO_DEVICE);
	if (page->index < world->setting->pages)
		world->blocks[page->index] =
			(struct explore_block){bytes[0], bytes[QUIRE_PAGE_BYTES / 16]};
	return 0;
}

static void file_truncated(struct quire_file *file, uint64_t bytes)
{
	struct explore_world *world = world_of(file);

	for (uint64_t page = (bytes + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT;
	     page < world->setting->pages; page++)
		world->blocks[page] = (struct explore_block){0, 0};
}

/* The world ends with its arena. */
static void file_release(struct quire_file *file)
{
	(void)file;
}

static const struct quire_file_ops file_ops = {
	.read_page = file_read_page,
	.write_page = file_write_page,
	.write_begin = quire_file_write_begin,
	.write_end = quire_file_write_end,
	.truncated = file_truncated,
	.release = file_release,
};

/* --- Boot ------------------------------------------------------------------------------------- */

uintptr_t explore_address(enum explore_place place, unsigned page)
{
	uintptr_t base = 0x400000 + place * 0x20000;

	return base + (place == EXPLORE_ALIAS ? QUIRE_PAGE_BYTES : 0) + page * QUIRE_PAGE_BYTES;
}

uintptr_t explore_alias_address(const struct explore_world *world, unsigned page)
{
	return sim_alias_window(world->sim) + page * QUIRE_PAGE_BYTES;
}

static const struct quire_arch *arch_of(enum sim_isa isa)
{
	if (isa == SIM_ARMV7)
		return &quire_arch_armv7;
	return isa == SIM_PARISC ? &quire_arch_parisc : &quire_arch_x86_64;
}

/* Each CPU's own list of free pages is filled now, so that no later move is the first. */
static bool fill_lists(struct explore_world *world)
{
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++) {
		struct quire_page *page;

		sim_switch(world->sim, cpu);
		page = quire_page_alloc(world->quire, 0);
		if (!page)
			return false;
		quire_page_put(world->quire, page);
	}
	return true;
}

/*
 * A kernel is not the first to run: the TLB of the CPU that is about to come up holds anything.
 * Worst are entries for the addresses and the address-space numbers that will be used.
 */
static void fill_tlb(struct explore_world *world)
{
	quire_pa_t last = world->setting->machine.memory_bytes - QUIRE_PAGE_BYTES;

	for (uint64_t number = 0; number < NUMBERS_FIRST; number++)
		for (unsigned place = 0; place < EXPLORE_PLACES; place++)
			sim_leave_translation(world->sim, sim_cpu(world->sim), number,
					      explore_address(place, 0), last);
}

static const char *boot_quire(struct explore_job *job)
{
	struct explore_world *world = job->world;
	struct quire_config config = {
		make_port(job), explore_mutant_arch(world, arch_of(job->setting->machine.isa)),
		job->setting->policy};
	int error;

	world->quire = quire_create(&config, &error);
	if (!world->quire)
		return "Quire does not boot on the small machine";
	explore_mutant_traits(job->setting->mutant, &world->quire->machine.traits);
	for (unsigned cpu = 1; cpu < job->setting->machine.cpus; cpu++) {
		sim_switch(world->sim, cpu);
		fill_tlb(world);
		if (quire_cpu_online(world->quire))
			return "a further CPU does not come up";
	}
	sim_switch(world->sim, 0);
	world->spaces[0] = quire_space_create(world->quire, &error);
	if (!world->spaces[0] || quire_file_init(world->quire, &world->file, &file_ops) ||
	    !fill_lists(world))
		return "the small machine has no memory for a process and a file";
	return NULL;
}

static void begin_model(struct explore_world *world)
{
	world->model.alive[0] = true;
	world->model.file_pages = world->setting->pages;
	world->file.bytes = world->setting->pages * QUIRE_PAGE_BYTES;
	for (unsigned page = 0; page < world->setting->pages; page++) {
		world->values++;
		world->blocks[page] = (struct explore_block){world->values, world->values};
		world->model.file[page] = world->values;
	}
}

/* All caches begin empty, so that it makes no difference which CPU has booted. */
static void empty_caches(struct explore_world *world)
{
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++) {
		for (enum sim_which which = SIM_WHICH_L1D; which < SIM_WHICH_COUNT; which++) {
			unsigned sets, ways;

			sim_cache_shape(world->sim, which, &sets, &ways);
			for (unsigned place = 0; place < sets * ways; place++)
				if (which != SIM_WHICH_L2 ||
				    cpu + 1 == world->setting->machine.cpus)
					sim_evict(world->sim, cpu, which, place / ways,
						  place % ways);
		}
	}
}

const char *explore_world_boot(struct explore_job *job)
{
	struct sim_allocator allocator = {job, sim_memory_alloc, sim_memory_free,
					  &job->arena.touched};
	struct sim_options options = {
		.asynchronous = true, /* barriers count */
		.idle_barriers = job->setting->mutant == EXPLORE_MUTANT_BARRIER,
	};
	struct sim_traps traps = {job, trap_fault, trap_tlb_miss, trap_tlb_miss};
	struct explore_world *world = explore_arena_alloc(&job->arena, sizeof(*world), 64);
	const char *why;

	if (!world)
		return "the host has no memory for the world";
	job->world = world;
	world->arena = &job->arena;
	world->setting = job->setting;
	world->host = explore_arena_alloc(&job->arena, EXPLORE_CPUS_MAX * QUIRE_PAGE_BYTES,
					  QUIRE_PAGE_BYTES);
	world->sim = sim_create_in(&job->setting->machine, &allocator, &why);
	if (!world->sim || !world->host)
		return why;
	world->memory.base = job->setting->machine.kernel_text_bytes;
	world->memory.bytes = job->setting->machine.memory_bytes - world->memory.base;
	sim_set_traps(world->sim, &traps);
	sim_leave_memory(world->sim, world->memory.base, world->memory.bytes, GARBAGE);
	fill_tlb(world);
	if (setjmp(job->stop))
		return "a broken invariant stops Quire as it boots";
	why = boot_quire(job);
	if (why)
		return why;
	begin_model(world);
	for (unsigned cpu = job->setting->machine.cpus; cpu-- > 0;) {
		sim_switch(world->sim, cpu);
		quire_space_load(world->quire, world->spaces[0]);
		world->runs[cpu] = 0;
	}
	empty_caches(world);
	if (sim_set_options(world->sim, &options))
		return "the host has no memory for the world";
	return sim_violations(world->sim) ? "the witness objects before anything has happened"
					  : NULL;
}
