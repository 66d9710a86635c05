/*
 * The policy `exact` under all of the memory manager: against the witness while an adversary moves
 * lines at every step, against `page`, of which it must never do more, and where spaces, large
 * ranges or a lack of memory meet it.
 *
 * One page by itself, against a model: coherence_exact.c.
 */
#include <stdio.h>

#include "sim/adversary.h"
#include "tests/support/exact.h"

/* --- What was done ---------------------------------------------------------------------------- */

struct done {
	uint64_t data;   /* D operations by address, outer ones too */
	uint64_t insn;   /* I operations by address or on all */
	uint64_t sets;   /* steps of passes over a whole cache */
	uint64_t cycles; /* of these */
};

static void add_op(struct done *done, const struct sim_account *account, enum sim_op op)
{
	switch (op) {
	case SIM_OP_DATA_CLEAN:
	case SIM_OP_DATA_INVALIDATE:
	case SIM_OP_DATA_FLUSH:
	case SIM_OP_OUTER:
		done->data += account->count;
		break;
	case SIM_OP_INSN_LINE:
	case SIM_OP_INSN_ALL:
		done->insn += account->count;
		break;
	case SIM_OP_DATA_SET:
	case SIM_OP_INSN_SET:
		done->sets += account->count;
		break;
	default:
		return;
	}
	done->cycles += account->ticks / SIM_TICKS_A_CYCLE;
}

/* Cache maintenance of all sites that the coherence policy has a say in. */
static struct done done_of(struct simulated *s)
{
	struct done done = {0};

	for (enum quire_site site = 0; site < QUIRE_SITE_TABLE_ENTRY; site++)
		for (enum sim_op op = 0; op < SIM_OP_COUNT; op++)
			add_op(&done, sim_account(s->sim, site, op), op);
	return done;
}

/* --- All of the memory manager, and an adversary at every step -------------------------------- */

#define FILE_PAGES 3
#define FILE_MAPS  4
#define HEAP_PAGES 2

struct chaos {
	struct files f;
	struct quire_file *file;
	uint32_t seed, adversary; /* seed of the adversary; 0: there is none */
	bool fills;               /* it fills lines too */
	bool (*begin)(void *context, enum quire_site site); /* the port's, before it was put in */
	bool busy;                                          /* it is at work */
	/* Shared mappings; stores allowed by the even ones, fetches by those from 2 on. */
	uintptr_t map[FILE_MAPS];
	struct quire_space *space[2]; /* a process and its child, or NULL */
	unsigned process;             /* whose turn it is */
	uintptr_t heap;
	struct quire_page *taken; /* frames that are not to be had; chained by their unused rmaps */
	uint8_t model[FILE_PAGES * PAGE];
	uint8_t heap_model[2][HEAP_PAGES * PAGE];
	uintptr_t copy; /* a private mapping of the file, all of which was stored to */
	uint8_t copy_model[FILE_PAGES * PAGE];
};

static void speculate_some(struct chaos *c)
{
	struct sim *sim = c->f.s.sim;
	unsigned cpu = exact_random(&c->adversary, 2), line = exact_random(&c->adversary, 5) * 32;
	enum sim_which which = exact_random(&c->adversary, 3) ? SIM_WHICH_L1D : SIM_WHICH_L1I;
	uintptr_t va;

	if (exact_random(&c->adversary, 2) &&
	    sim_speculation_page(sim, cpu, exact_random(&c->adversary, 32), &va))
		(void)sim_speculate(sim, cpu, which, va + line);
	va = sim_kernel_base(sim) + (64 + exact_random(&c->adversary, 160)) * PAGE;
	(void)sim_speculate(sim, cpu, which, va + line);
}

static void adversary_moves(struct chaos *c)
{
	if (!c->adversary || c->busy)
		return;
	c->busy = true;
	for (unsigned n = exact_random(&c->adversary, 12); n; n--) {
		exact_evict(c->f.s.sim, &c->adversary);
		if (c->fills)
			speculate_some(c);
	}
	c->busy = false;
}

static void adversary_on_step(struct simulated *s, enum quire_step step)
{
	(void)step;
	adversary_moves(s->test);
}

static bool adversary_on_maintenance(void *context, enum quire_site site)
{
	struct chaos *c = ((struct simulated *)context)->test;

	adversary_moves(c);
	return c->begin(context, site);
}

/*
 * Leaves free only frames of half the colours, so that many pages cannot have the colour that their
 * user wants.
 */
static void make_scarce(struct files *f, struct quire_page **taken)
{
	struct quire_page *page;

	*taken = NULL;
	while ((page = quire_page_alloc(f->s.q, 0))) {
		page->rmap.next = (void *)*taken;
		*taken = page;
	}
	for (struct quire_page **link = taken; (page = *link);) {
		if (page->frame & 8) {
			link = (struct quire_page **)(void *)&page->rmap.next;
			continue;
		}
		*link = (void *)page->rmap.next;
		page->rmap.next = NULL;
		quire_page_put(f->s.q, page);
	}
}

static void end_scarcity(struct files *f, struct quire_page *taken)
{
	while (taken) {
		struct quire_page *next = (void *)taken->rmap.next;

		taken->rmap.next = NULL;
		quire_page_put(f->s.q, taken);
		taken = next;
	}
}

static void chaos_start(struct chaos *c, struct sim_machine machine,
			enum quire_coherence_policy coherence, uint32_t seed)
{
	struct quire_policy policy = exact_policy(coherence);
	struct files *f = &c->f;
	int error;

	memset(c, 0, sizeof(*c));
	machine.memory_bytes = 4 << 20;
	policy.file_times = seed & 1 ? QUIRE_FILE_TIMES_SUBTREE : QUIRE_FILE_TIMES_FAULT;
	simulated_start(&f->s, &machine, &policy);
	f->s.test = c;
	files_soil(f);
	f->space = c->space[0] = quire_space_create(f->s.q, &error);
	assert_non_null(f->space);
	f->buffer = mem_map(f, FILES_BUFFER_BYTES, R | W, PRIVATE | ANON, NULL, 0);
	simulated_load(&f->s, f->space);
	f->fs = quire_tmpfs_mount(f->s.q, 0, &error);
	assert_non_null(f->fs);
	c->file = mem_file(f, "file", 0);
	assert_int_equal(quire_truncate(c->file, FILE_PAGES * PAGE), 0);
	/* Its colour is chance, but the same for every policy. */
	c->heap = mem_map_at(f, 0x7003000, HEAP_PAGES * PAGE, R | W | X, PRIVATE | ANON, NULL, 0);
	c->seed = seed;
	if (seed % 3 == 0)
		make_scarce(f, &c->taken);
	f->s.on_step = adversary_on_step;
	c->begin = f->s.q->machine.port.maintenance_begin;
	f->s.q->machine.port.maintenance_begin = adversary_on_maintenance;
}

static void chaos_end(struct chaos *c)
{
	c->f.s.on_step = NULL;
	c->f.s.q->machine.port.maintenance_begin = c->begin;
	end_scarcity(&c->f, c->taken);
	mem_leave(&c->f);
	if (c->space[1])
		quire_space_destroy(c->space[1]);
	c->f.space = c->space[0];
	quire_file_put(c->file);
	mem_end(&c->f);
}

static uint8_t random_byte(struct chaos *c)
{
	return (uint8_t)exact_random(&c->seed, 256);
}

static size_t random_place(struct chaos *c, unsigned pages)
{
	return exact_random(&c->seed, pages) * PAGE + exact_random(&c->seed, 4) * 32;
}

static void toggle_map(struct chaos *c, unsigned n)
{
	c->f.space = c->space[0];
	if (c->map[n]) {
		assert_int_equal(quire_munmap(c->f.space, c->map[n], FILE_PAGES * PAGE), 0);
		c->map[n] = 0;
		return;
	}
	c->map[n] = mem_map_at(&c->f, 0x1000000 * (n + 1) + exact_random(&c->seed, 4) * PAGE,
			       FILE_PAGES * PAGE, R | (n & 1 ? 0 : W) | (n & 2 ? X : 0), SHARED,
			       c->file, 0);
}

static void fork_or_exit(struct chaos *c)
{
	if (c->space[1]) {
		mem_leave(&c->f);
		quire_space_destroy(c->space[1]);
		c->space[1] = NULL;
		c->process = 0;
		return;
	}
	assert_int_equal(quire_space_fork(c->space[0], &c->space[1]), 0);
	memcpy(c->heap_model[1], c->heap_model[0], sizeof(c->heap_model[0]));
	/*
	 * The child keeps its private memory only, since the maps of the file change in the parent.
	 */
	if (c->copy)
		assert_int_equal(quire_munmap(c->space[1], c->copy, FILE_PAGES * PAGE), 0);
	for (unsigned n = 0; n < FILE_MAPS; n++)
		if (c->map[n])
			assert_int_equal(quire_munmap(c->space[1], c->map[n], FILE_PAGES * PAGE),
					 0);
}

static void access_file(struct chaos *c, unsigned n)
{
	size_t at = random_place(c, FILE_PAGES);
	unsigned what = exact_random(&c->seed, 3);
	uint8_t byte = random_byte(c);

	if (!c->map[n] || c->process)
		return;
	if (what == 0 && !(n & 1)) {
		c->model[at] = byte;
		mem_store(&c->f, c->map[n] + at, byte);
	} else if (what == 1 && (n & 2)) {
		assert_int_equal(mem_fetch(&c->f, c->map[n] + at) & 0xff, c->model[at]);
	} else {
		assert_int_equal(mem_load(&c->f, c->map[n] + at), c->model[at]);
	}
}

static void access_heap(struct chaos *c)
{
	uint8_t *model = c->heap_model[c->process];
	size_t at = random_place(c, HEAP_PAGES);
	uint8_t byte = random_byte(c);

	switch (exact_random(&c->seed, 4)) {
	case 0:
		model[at] = byte;
		mem_store(&c->f, c->heap + at, byte);
		break;
	case 1:
		assert_int_equal(mem_fetch(&c->f, c->heap + at) & 0xff, model[at]);
		break;
	case 2:
		model[at] = byte;
		mem_debug(&c->f, c->heap + at, &byte, true);
		break;
	default:
		assert_int_equal(mem_load(&c->f, c->heap + at), model[at]);
		break;
	}
}

/* A device reads a page of the file, or writes it while nobody maps it. */
static void device(struct chaos *c)
{
	static uint8_t host[PAGE];
	struct quire *q = c->f.s.q;
	uint64_t index = exact_random(&c->seed, FILE_PAGES);
	bool writes = exact_random(&c->seed, 2);
	struct quire_page *page = quire_cache_find_locked(c->file, index);
	enum quire_dma_direction direction = writes ? QUIRE_FROM_DEVICE : QUIRE_TO_DEVICE;

	if (!page)
		return;
	if (writes)
		quire_rmap_unmap_all(q, page);
	else
		(void)quire_rmap_clean(q, page);
	quire_coherence_dma_prepare(q, page, direction);
	quire_step(q, QUIRE_STEP_SYSCALL);
	if (writes) {
		memset(c->model + index * PAGE, random_byte(c), PAGE);
		sim_dma_to_memory(c->f.s.sim, quire_page_pa(page), c->model + index * PAGE, PAGE);
	} else {
		sim_dma_from_memory(c->f.s.sim, quire_page_pa(page), host, PAGE);
		assert_memory_equal(host, c->model + index * PAGE, PAGE);
	}
	quire_step(q, QUIRE_STEP_SYSCALL);
	quire_coherence_dma_finish(q, page, direction);
	quire_page_unlock(q, page);
	quire_page_put(q, page);
}

/* Makes a private copy of the file, page by page, or compares and drops it. */
static void toggle_copy(struct chaos *c)
{
	c->f.space = c->space[0];
	mem_cpu(&c->f, 0, c->f.space);
	if (!c->copy) {
		c->copy = mem_map_at(&c->f, 0x6000000 + exact_random(&c->seed, 4) * PAGE,
				     FILE_PAGES * PAGE, R | W, PRIVATE, c->file, 0);
		memcpy(c->copy_model, c->model, sizeof(c->model));
		for (unsigned n = 0; n < FILE_PAGES; n++) {
			size_t at = n * PAGE + exact_random(&c->seed, 4) * 32;

			c->copy_model[at] = random_byte(c);
			mem_store(&c->f, c->copy + at, c->copy_model[at]);
		}
		return;
	}
	for (size_t at = 0; at < FILE_PAGES * PAGE; at += 32)
		assert_int_equal(mem_load(&c->f, c->copy + at), c->copy_model[at]);
	assert_int_equal(quire_munmap(c->f.space, c->copy, FILE_PAGES * PAGE), 0);
	c->copy = 0;
}

static void call(struct chaos *c)
{
	static uint8_t data[FILE_PAGES * PAGE];
	size_t at = random_place(c, FILE_PAGES);
	size_t bytes = 1 + exact_random(&c->seed, 100);

	switch (exact_random(&c->seed, 6)) {
	case 0:
		for (size_t n = 0; n < bytes; n++)
			c->model[at + n] = random_byte(c);
		assert_int_equal(files_write(&c->f, c->file, at, c->model + at, bytes), bytes);
		break;
	case 1:
		assert_int_equal(files_read(&c->f, c->file, at, data, bytes), bytes);
		assert_memory_equal(data, c->model + at, bytes);
		break;
	case 2:
		if (c->map[0])
			assert_int_equal(quire_msync(c->space[0], c->map[0], FILE_PAGES * PAGE,
						     QUIRE_MS_SYNC),
					 0);
		break;
	case 3:
		assert_int_equal(quire_punch(c->file, at, bytes), 0);
		memset(c->model + at, 0, bytes);
		break;
	case 4:
		at &= ~(size_t)QUIRE_PAGE_MASK;
		assert_int_equal(quire_punch(c->file, at, PAGE), 0);
		memset(c->model + at, 0, PAGE);
		break;
	case 5:
		device(c);
		break;
	}
}

static void take_turn(struct chaos *c)
{
	c->process = c->space[1] && exact_random(&c->seed, 2);
	c->f.space = c->space[c->process];
	mem_cpu(&c->f, exact_random(&c->seed, 2), c->f.space);
}

static void chaos_run(struct chaos *c, unsigned steps)
{
	for (unsigned n = 0; n < steps; n++) {
		unsigned what = exact_random(&c->seed, 24);

		take_turn(c);
		if (what == 0)
			toggle_map(c, exact_random(&c->seed, FILE_MAPS));
		else if (what == 1 && exact_random(&c->seed, 3) == 0)
			fork_or_exit(c);
		else if (what == 1)
			toggle_copy(c);
		else if (what < 11)
			access_file(c, exact_random(&c->seed, FILE_MAPS));
		else if (what < 17)
			access_heap(c);
		else
			call(c);
	}
}

/* The machines that differ in what exact.c asks. */
enum variant {
	VARIANT_ARMV7,
	VARIANT_ARMV7_NO_BROADCAST,
	VARIANT_PARISC,
	VARIANT_PARISC_COHERENT_DMA,
	VARIANT_X86_64,
	VARIANTS,
};

static struct sim_machine machine_of(enum variant variant)
{
	struct sim_machine machine =
		simulated_machine(variant <= VARIANT_ARMV7_NO_BROADCAST    ? SIM_ARMV7
				  : variant <= VARIANT_PARISC_COHERENT_DMA ? SIM_PARISC
									   : SIM_X86_64);

	if (variant == VARIANT_ARMV7_NO_BROADCAST)
		machine.maintenance_broadcast = false;
	if (variant == VARIANT_PARISC_COHERENT_DMA)
		machine.dma_coherent = true;
	return machine;
}

static void run_adversary(enum variant variant, uint32_t seed, bool speculates)
{
	static struct chaos c;

	chaos_start(&c, machine_of(variant), QUIRE_COHERENCE_EXACT, seed);
	c.adversary = seed;
	c.fills = speculates;
	c.f.s.q->machine.traits.no_speculation = !speculates;
	chaos_run(&c, 500);
	c.adversary = 0;
	simulated_check(&c.f.s);
	chaos_end(&c);
}

static void test_adversary(void **state)
{
	(void)state;
	for (enum variant variant = 0; variant < VARIANTS; variant++)
		for (uint32_t seed = 1; seed <= 12; seed++)
			run_adversary(variant, seed, seed % 4);
}

/* --- Never more than `page` ------------------------------------------------------------------- */

static struct done run_policy(enum variant variant, uint32_t seed,
			      enum quire_coherence_policy coherence)
{
	static struct chaos c;
	struct done before, done;

	chaos_start(&c, machine_of(variant), coherence, seed);
	before = done_of(&c.f.s);
	chaos_run(&c, 400);
	done = done_of(&c.f.s);
	chaos_end(&c);
	return (struct done){done.data - before.data, done.insn - before.insn,
			     done.sets - before.sets, done.cycles - before.cycles};
}

static void test_never_more_than_page(void **state)
{
	(void)state;
	for (enum variant variant = 0; variant < VARIANTS; variant++)
		for (uint32_t seed = 1; seed <= 25; seed++) {
			struct done page = run_policy(variant, seed, QUIRE_COHERENCE_PAGE);
			struct done exact = run_policy(variant, seed, QUIRE_COHERENCE_EXACT);

			if (getenv("SHOW"))
				printf("%u %u: page %lu %lu %lu %lu exact %lu %lu %lu %lu\n",
				       variant, seed, page.data, page.insn, page.sets, page.cycles,
				       exact.data, exact.insn, exact.sets, exact.cycles);
			assert_true(exact.data <= page.data);
			assert_true(exact.insn <= page.insn);
			assert_true(exact.sets <= page.sets);
			assert_true(exact.cycles <= page.cycles);
		}
}

/*
 * A device writes a page that a user may store to all the while: he sees it, and what he stores
 * next is seen.
 */
static void test_device_writes_mapped(void **state)
{
	static uint8_t host[PAGE];

	(void)state;
	for (enum variant variant = 0; variant < VARIANTS; variant++) {
		static struct chaos c;
		struct files *f = &c.f;
		struct quire_page *page;
		uintptr_t va;

		chaos_start(&c, machine_of(variant), QUIRE_COHERENCE_EXACT, 1);
		assert_int_equal(files_write(f, c.file, 0, "a", 1), 1);
		page = quire_cache_find(c.file, 0);
		va = mem_map_at(f, 0x805000, PAGE, R | W, SHARED, c.file, 0);
		for (uint8_t n = 1; n < 5; n++) {
			mem_store(f, va, n);
			host[0] = (uint8_t)(n + 50);
			exact_transfer(f, page, QUIRE_FROM_DEVICE, host);
			assert_int_equal(mem_load(f, va), n + 50);
			mem_store(f, va, (uint8_t)(n + 100));
			exact_transfer(f, page, QUIRE_TO_DEVICE, host);
			assert_int_equal(host[0], n + 100);
			assert_int_equal(exact_kernel_load(f, page), n + 100);
		}
		quire_page_put(f->s.q, page);
		chaos_end(&c);
	}
}

/* --- Two spaces let go of a page at once ------------------------------------------------------ */

struct two {
	struct files f;
	struct quire_space *other;
	struct quire_page *page;
	uintptr_t va;
	bool (*begin)(void *context, enum quire_site site);
	bool met;
};

/* What a store through a TLB entry that is not purged yet does to the caches. */
static void store_as_user(struct two *two)
{
	struct quire_machine *machine = &two->f.s.q->machine;
	uintptr_t alias = machine->arch->alias_map(machine, quire_page_pa(two->page), two->va);

	assert_int_equal(sim_store(two->f.s.sim, alias, 1, 77), 0);
	machine->arch->alias_unmap(machine, alias);
}

/*
 * While the first space's entry is gone and its TLB entry is not: the second space goes, the kernel
 * looks, and CPU 1 stores once more.
 */
static bool meet_at_purge(void *context, enum quire_site site)
{
	struct two *two = ((struct simulated *)context)->test;

	if (site == QUIRE_SITE_TLB_BATCH && !two->met) {
		two->met = true;
		assert_int_equal(quire_munmap(two->other, two->va, PAGE), 0);
		(void)exact_kernel_load(&two->f, two->page);
		sim_switch(two->f.s.sim, 1);
		store_as_user(two);
		sim_switch(two->f.s.sim, 0);
	}
	return two->begin(context, site);
}

static void test_store_before_purge(void **state)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_file *file;
	struct two two = {0};
	struct files *f = &two.f;
	int error;

	(void)state;
	mem_start(f, SIM_PARISC, &policy);
	file = mem_file(f, "file", 1);
	two.page = quire_cache_find(file, 0);
	two.other = quire_space_create(f->s.q, &error);
	assert_non_null(two.other);
	/* At a colour that is not the kernel's. */
	two.va = mem_map_at(f, 0x805000, PAGE, R | W, SHARED, file, 0);
	assert_int_equal(quire_mmap(two.other, &two.va, PAGE, R | W, SHARED | QUIRE_MAP_FIXED, file,
				    0, true),
			 0);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		mem_cpu(f, cpu, cpu ? f->space : two.other);
		mem_store(f, two.va, (uint8_t)(cpu + 1));
	}
	mem_cpu(f, 0, two.other);
	f->s.test = &two;
	two.begin = f->s.q->machine.port.maintenance_begin;
	f->s.q->machine.port.maintenance_begin = meet_at_purge;
	/*
	 * The dirty entry of a file is purged under the table lock, whose batch comes later: that
	 * one is meant.
	 */
	assert_int_equal(quire_munmap(f->space, two.va, PAGE), 0);
	f->s.q->machine.port.maintenance_begin = two.begin;
	assert_true(two.met);
	assert_int_equal(exact_kernel_load(f, two.page), 77);
	quire_page_put(f->s.q, two.page);
	quire_file_put(file);
	mem_leave(f);
	quire_space_destroy(two.other);
	mem_end(f);
}

/*
 * The same with a load: its lines are clean, and old when the kernel has stored and the page is
 * mapped there again.
 */
static bool load_at_purge(void *context, enum quire_site site)
{
	struct two *two = ((struct simulated *)context)->test;
	struct quire_machine *machine = &two->f.s.q->machine;
	uintptr_t alias;
	uint64_t value;

	if (site == QUIRE_SITE_TLB_BATCH && !two->met) {
		two->met = true;
		(void)exact_kernel_load(&two->f, two->page);
		alias = machine->arch->alias_map(machine, quire_page_pa(two->page), two->va);
		assert_int_equal(sim_load(two->f.s.sim, alias, 1, &value), 0);
		assert_int_equal(value, 1);
		machine->arch->alias_unmap(machine, alias);
	}
	return two->begin(context, site);
}

static void test_load_before_purge(void **state)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_file *file;
	struct two two = {0};
	struct files *f = &two.f;
	uintptr_t kva;

	(void)state;
	mem_start(f, SIM_PARISC, &policy);
	file = mem_file(f, "file", 1);
	two.page = quire_cache_find(file, 0);
	kva = quire_page_address(f->s.q, two.page);
	two.va = mem_map_at(f, 0x805000, PAGE, R | W, SHARED, file, 0);
	mem_store(f, two.va, 1);
	/* It was stored to, and is not any more. */
	quire_page_lock(f->s.q, two.page);
	(void)quire_rmap_clean(f->s.q, two.page);
	quire_page_unlock(f->s.q, two.page);
	f->s.test = &two;
	two.begin = f->s.q->machine.port.maintenance_begin;
	f->s.q->machine.port.maintenance_begin = load_at_purge;
	assert_int_equal(quire_munmap(f->space, two.va, PAGE), 0);
	f->s.q->machine.port.maintenance_begin = two.begin;
	assert_true(two.met);
	(void)exact_kernel_load(f, two.page);
	assert_int_equal(sim_store(f->s.sim, kva, 1, 88), 0);
	quire_coherence_kernel_wrote(f->s.q, two.page);
	two.va = mem_map_at(f, 0x805000, PAGE, R, SHARED, file, 0);
	assert_int_equal(mem_load(f, two.va), 88);
	quire_page_put(f->s.q, two.page);
	quire_file_put(file);
	mem_end(f);
}

/* --- A large range goes ----------------------------------------------------------------------- */

#define LARGE_PAGES 96

/*
 * More is dirty than the threshold: one pass over the whole cache; what is still mapped elsewhere
 * stays dirty.
 */
static void test_large_range(void **state)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_file *file;
	struct quire_space *other;
	struct quire_page *page;
	struct files f;
	uintptr_t va, kept;
	int error;

	(void)state;
	mem_start(&f, SIM_PARISC, &policy);
	f.s.q->thresholds.data_bytes = (LARGE_PAGES - 1) * PAGE;
	file = mem_file(&f, "file", LARGE_PAGES);
	/* Page 0 has been dirty and unmapped before, with too little for a pass over the cache. */
	va = mem_map_at(&f, 0x805000, PAGE, R | W, SHARED, file, 0);
	mem_store(&f, va, 99);
	assert_int_equal(quire_munmap(f.space, va, PAGE), 0);
	va = mem_map_at(&f, 0x805000, LARGE_PAGES * PAGE, R | W, SHARED, file, 0);
	for (unsigned n = 0; n < LARGE_PAGES; n++)
		mem_store(&f, va + n * PAGE, (uint8_t)n);
	/* Page 0 is also another space's, at the same colour. */
	other = quire_space_create(f.s.q, &error);
	assert_non_null(other);
	kept = 0x805000;
	assert_int_equal(quire_mmap(other, &kept, PAGE, R | W, SHARED | QUIRE_MAP_FIXED, file, 0,
				    true),
			 0);
	mem_cpu(&f, 1, other);
	mem_store(&f, kept, 100);
	sim_switch(f.s.sim, 0);
	assert_int_equal(quire_munmap(f.space, va, LARGE_PAGES * PAGE), 0);
	assert_true(sim_account(f.s.sim, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_SET)->count > 0);
	/* Stored to without a fault. */
	sim_switch(f.s.sim, 1);
	mem_store(&f, kept, 101);
	sim_switch(f.s.sim, 0);
	for (unsigned n = 0; n < LARGE_PAGES; n++) {
		page = quire_cache_find(file, n);
		assert_int_equal(exact_kernel_load(&f, page), n ? n : 101);
		quire_page_put(f.s.q, page);
	}
	/* No lines of pages that were flushed with all others were flushed again. */
	assert_true(exact_site_ops(&f.s, QUIRE_SITE_KERNEL_READ) <= (LARGE_PAGES + 1) * PAGE / 64);
	quire_file_put(file);
	mem_cpu(&f, 1, NULL);
	mem_leave(&f);
	quire_space_destroy(other);
	mem_end(&f);
}

/* --- Memory runs out -------------------------------------------------------------------------- */

static void run_short_of_memory(enum sim_isa isa, long after)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_space *child = NULL;
	struct quire_file *file;
	struct files f;
	uint8_t byte;
	uintptr_t a = 0x805000, b = 0x907000, heap = 0xa03000;

	mem_start(&f, isa, &policy);
	file = mem_file(&f, "file", 2);
	f.s.fail_after = after;
	if (quire_mmap(f.space, &a, 2 * PAGE, R | W, SHARED | QUIRE_MAP_FIXED, file, 0, true) ==
	    0) {
		(void)mem_try_store(&f, a, 1);
		(void)mem_try_load(&f, a + PAGE, &byte);
	}
	if (quire_mmap(f.space, &b, 2 * PAGE, R | X, SHARED | QUIRE_MAP_FIXED, file, 0, true) ==
	    0) {
		(void)mem_try_load(&f, b, &byte);
		(void)mem_try_load(&f, b + PAGE, &byte);
	}
	if (quire_mmap(f.space, &heap, PAGE, R | W, PRIVATE | ANON | QUIRE_MAP_FIXED, NULL, 0,
		       false) == 0 &&
	    mem_try_store(&f, heap, 9) == 0 && quire_space_fork(f.space, &child) == 0) {
		(void)mem_try_store(&f, heap, 10);
		mem_cpu(&f, 0, child);
		if (mem_try_load(&f, heap, &byte) == 0)
			assert_int_equal(byte, 9);
		mem_leave(&f);
		quire_space_destroy(child);
		mem_cpu(&f, 0, f.space);
	}
	f.s.fail_after = -1;
	(void)files_write(&f, file, 64, "x", 1);
	assert_int_equal(files_read(&f, file, 64, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(quire_munmap(f.space, f.buffer, PAGE), 0);
	quire_file_put(file);
	mem_end(&f);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (long after = 0; after < 30; after++)
			run_short_of_memory(isa, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adversary),
		cmocka_unit_test(test_never_more_than_page),
		cmocka_unit_test(test_device_writes_mapped),
		cmocka_unit_test(test_store_before_purge),
		cmocka_unit_test(test_load_before_purge),
		cmocka_unit_test(test_large_range),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
