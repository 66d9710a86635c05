/*
 * The policy `exact` and one page: against a model of every copy of it, which says how many
 * operations the next observer needs, and what is done for single frames, devices and copies.
 *
 * The rest of the memory manager under this policy: coherence_exact_adversary.c.
 */
#include "sim/adversary.h"
#include "tests/support/exact.h"

/* --- One page and a model of its copies ------------------------------------------------------- */

/*
 * The model holds, for each colour by itself, what a copy there may be at worst, and knows no
 * limits; so it says what the next observer needs: how many pages' worth of D operations, and
 * whether of I operations.
 */
#define COLOURS_MAX 16
#define USERS       3

struct model {
	bool may_hold[COLOURS_MAX]; /* lines that are not newer than the contents, nor older */
	bool stale[COLOURS_MAX];
	int dirty;              /* colour; -1: none */
	bool old;               /* memory, as devices see it */
	bool insn[COLOURS_MAX]; /* I lines are no older than the page */
	unsigned data_ops;      /* needed since the last look */
};

struct bench {
	struct simulated s;
	struct quire_space *space;
	struct quire_page *page;
	struct model model;
	uint32_t seed;
	unsigned kernel, colours;
	unsigned user_colours; /* that users are at */
	uintptr_t va[USERS];   /* 0: not mapped */
	bool stores[USERS];
	/*
	 * Colour at which stores may come untold: from the first entry that allows them till the
	 * last goes; -1.
	 */
	int open;
	uint8_t bytes[2]; /* contents of two places, in the first and last line */
	bool busy;        /* the adversary is at work */
	bool (*begin)(void *context, enum quire_site site);
};

static size_t place(unsigned n)
{
	return n ? QUIRE_PAGE_BYTES - 1 : 0;
}

static unsigned colour_of(const struct bench *b, uintptr_t va)
{
	return (unsigned)(va >> QUIRE_PAGE_SHIFT) % b->colours;
}

static bool is_mapped(const struct bench *b, unsigned colour)
{
	for (unsigned n = 0; n < USERS; n++)
		if (b->va[n] && colour_of(b, b->va[n]) == colour)
			return true;
	return false;
}

/*
 * Hardware may fill lines of the kernel's colour at any time, and of a user's while it is mapped.
 */
static void model_fills(struct bench *b)
{
	for (unsigned c = 0; c < b->colours; c++)
		if (c == b->kernel || is_mapped(b, c)) {
			b->model.may_hold[c] = true;
			if (b->model.dirty >= 0 && (unsigned)b->model.dirty != c)
				b->model.stale[c] = true;
		}
}

static void model_changed(struct bench *b, int by)
{
	struct model *m = &b->model;

	for (unsigned c = 0; c < b->colours; c++) {
		m->stale[c] = (int)c != by && m->may_hold[c];
		m->insn[c] = false;
	}
	m->dirty = by;
	if (by >= 0) {
		m->may_hold[by] = true;
		m->stale[by] = false;
		m->old = true;
	}
	model_fills(b);
}

static void model_clean(struct bench *b)
{
	struct model *m = &b->model;

	if (m->dirty < 0)
		return;
	m->data_ops++;
	if ((unsigned)m->dirty != b->kernel && !is_mapped(b, (unsigned)m->dirty))
		m->may_hold[m->dirty] = false;
	m->dirty = b->open;
}

static void model_see(struct bench *b, unsigned c)
{
	struct model *m = &b->model;

	if (m->dirty >= 0 && (unsigned)m->dirty != c)
		model_clean(b);
	if (m->stale[c])
		m->data_ops++;
	m->stale[c] = false;
	m->may_hold[c] = true;
	model_fills(b);
}

/* --- The same on the machine ------------------------------------------------------------------ */

static void adversary_on_page(struct bench *b)
{
	uintptr_t kva = quire_page_address(b->s.q, b->page);

	for (unsigned n = 0; n < 2; n++) {
		if (exact_random(&b->seed, 3) == 0)
			(void)sim_speculate(b->s.sim, exact_random(&b->seed, 2), SIM_WHICH_L1D,
					    kva + place(n));
		if (exact_random(&b->seed, 5) == 0)
			(void)sim_speculate(b->s.sim, exact_random(&b->seed, 2), SIM_WHICH_L1I,
					    kva + (place(n) & ~3u));
	}
	for (unsigned n = exact_random(&b->seed, 40); n; n--)
		exact_evict(b->s.sim, &b->seed);
}

/* An access of a user, as seen by the caches: through an address of his colour. */
static uintptr_t user_begin(struct bench *b, uintptr_t va)
{
	struct quire_machine *machine = &b->s.q->machine;

	return machine->arch->alias_map(machine, quire_page_pa(b->page), va);
}

static void user_end(struct bench *b, uintptr_t alias)
{
	struct quire_machine *machine = &b->s.q->machine;

	machine->arch->alias_unmap(machine, alias);
}

/*
 * Before each operation hardware fills lines of the kernel's colour, and of the users' while they
 * map the page.
 */
static bool adversary_before_operation(void *context, enum quire_site site)
{
	struct bench *b = ((struct simulated *)context)->test;
	uintptr_t alias;

	if (!b->busy && b->page && site != QUIRE_SITE_TLB_ALIAS) {
		b->busy = true;
		adversary_on_page(b);
		for (unsigned n = 0; n < USERS; n++)
			if (b->va[n] && exact_random(&b->seed, 2)) {
				alias = user_begin(b, b->va[n]);
				(void)sim_speculate(b->s.sim, sim_cpu(b->s.sim), SIM_WHICH_L1D,
						    alias);
				(void)sim_speculate(b->s.sim, sim_cpu(b->s.sim), SIM_WHICH_L1D,
						    alias + place(1));
				user_end(b, alias);
			}
		b->busy = false;
	}
	return b->begin(context, site);
}

static void load_both(struct bench *b, uintptr_t address)
{
	for (unsigned n = 0; n < 2; n++) {
		uint64_t value;

		assert_int_equal(sim_load(b->s.sim, address + place(n), 1, &value), 0);
		assert_int_equal(value, b->bytes[n]);
	}
}

static void store_one(struct bench *b, uintptr_t address)
{
	unsigned n = exact_random(&b->seed, 2);

	b->bytes[n] = (uint8_t)exact_random(&b->seed, 256);
	assert_int_equal(sim_store(b->s.sim, address + place(n), 1, b->bytes[n]), 0);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void kernel_reads(struct bench *b)
{
	quire_coherence_kernel_read(b->s.q, b->page);
	model_see(b, b->kernel);
	adversary_on_page(b);
	load_both(b, quire_page_address(b->s.q, b->page));
}

static void kernel_writes(struct bench *b)
{
	bool beside_user = b->open >= 0 && (unsigned)b->open != b->kernel;

	kernel_reads(b);
	store_one(b, quire_page_address(b->s.q, b->page));
	quire_coherence_kernel_wrote(b->s.q, b->page);
	model_changed(b, (int)b->kernel);
	if (beside_user) {
		/* The kernel's lines, then the user's: maybe newer, and older elsewhere. */
		b->model.data_ops += 2;
		model_changed(b, b->open);
		return;
	}
	for (unsigned c = 0; c < b->colours; c++)
		if (c != b->kernel && is_mapped(b, c))
			model_see(b, c);
}

/* While somebody stores, all have his colour: what claim is for. */
static bool may_map(struct bench *b, uintptr_t va, bool stores)
{
	for (unsigned n = 0; n < USERS; n++)
		if (b->va[n] && (stores || b->open >= 0) &&
		    colour_of(b, b->va[n]) != colour_of(b, va))
			return false;
	return true;
}

static void user_maps(struct bench *b, unsigned n)
{
	uintptr_t va =
		0x800000u * (n + 1) + exact_random(&b->seed, b->user_colours) * QUIRE_PAGE_BYTES;
	bool stores = exact_random(&b->seed, 2);

	if (b->va[n] || !may_map(b, va, stores))
		return;
	assert_int_equal(quire_rmap_add(b->s.q, b->page, b->space, va), 0);
	quire_page_get(b->page);
	if (stores)
		quire_coherence_user_store(b->s.q, b->page, va);
	quire_coherence_user_map(b->s.q, b->page, b->space, va, false);
	/* The entry is there only now. */
	model_see(b, colour_of(b, va));
	b->va[n] = va;
	b->stores[n] = stores;
	if (stores) {
		b->open = (int)colour_of(b, va);
		model_changed(b, b->open);
	}
	model_fills(b);
}

static void user_unmaps(struct bench *b, unsigned n)
{
	struct quire_batch batch;

	if (!b->va[n])
		return;
	quire_rmap_remove(b->s.q, b->page, b->space, b->va[n]);
	quire_batch_begin(&batch, b->space, b->va[n], b->va[n] + PAGE, QUIRE_SITE_TLB_PAGE);
	quire_batch_add(&batch, b->page, b->va[n], false, true);
	quire_batch_end(&batch);
	b->va[n] = 0;
	if (!quire_page_mapped(b->page))
		b->open = -1;
}

static void user_accesses(struct bench *b, unsigned n)
{
	uintptr_t alias;

	if (!b->va[n])
		return;
	alias = user_begin(b, b->va[n]);
	load_both(b, alias);
	if (b->stores[n])
		store_one(b, alias);
	user_end(b, alias);
}

static void device_reads(struct bench *b)
{
	static uint8_t host[PAGE];
	bool coherent = b->s.q->machine.traits.devices_see_data;

	quire_coherence_dma_prepare(b->s.q, b->page, QUIRE_TO_DEVICE);
	if (coherent) {
		model_see(b, b->kernel);
	} else if (b->model.old) {
		if (b->model.dirty >= 0 && (unsigned)b->model.dirty != b->kernel)
			model_clean(b);
		/* The architecture's call, for the kernel's colour and below. */
		b->model.data_ops++;
		b->model.old = b->open >= 0;
		b->model.dirty = b->open;
	}
	adversary_on_page(b);
	sim_dma_from_memory(b->s.sim, quire_page_pa(b->page), host, PAGE);
	quire_coherence_dma_finish(b->s.q, b->page, QUIRE_TO_DEVICE);
	for (unsigned n = 0; n < 2; n++)
		assert_int_equal(host[place(n)], b->bytes[n]);
}

/* Nobody maps a page that is read from a device. */
static void device_writes(struct bench *b)
{
	static uint8_t host[PAGE];
	struct model *m = &b->model;
	bool coherent = b->s.q->machine.traits.devices_see_data;

	for (unsigned n = 0; n < USERS; n++)
		user_unmaps(b, n);
	quire_coherence_dma_prepare(b->s.q, b->page, QUIRE_FROM_DEVICE);
	if (m->dirty >= 0 && (unsigned)m->dirty != b->kernel) {
		m->data_ops++;
		m->may_hold[m->dirty] = false;
	}
	if (!coherent && m->old)
		m->data_ops++;
	m->old = m->old && coherent;
	adversary_on_page(b);
	for (unsigned n = 0; n < 2; n++)
		host[place(n)] = b->bytes[n] = (uint8_t)exact_random(&b->seed, 256);
	sim_dma_to_memory(b->s.sim, quire_page_pa(b->page), host, PAGE);
	adversary_on_page(b);
	quire_coherence_dma_finish(b->s.q, b->page, QUIRE_FROM_DEVICE);
	if (!coherent)
		m->data_ops++; /* hardware may have filled lines meanwhile */
	model_changed(b, -1);
	m->stale[b->kernel] = false;
}

/* As before a writeback: no entry lets stores through any more. */
static void users_are_narrowed(struct bench *b)
{
	memset(b->stores, 0, sizeof(b->stores));
	quire_coherence_stores_end(b->s.q, b->page);
	b->open = -1;
}

/*
 * The frame is freed and handed out again; the contents are dead, and no line of the kernel's is
 * stale.
 */
static void owner_changes(struct bench *b)
{
	struct quire_page *same = b->page;
	struct model *m = &b->model;

	for (unsigned n = 0; n < USERS; n++)
		user_unmaps(b, n);
	quire_page_put(b->s.q, b->page);
	b->page = quire_page_alloc(b->s.q, 0);
	assert_ptr_equal(b->page, same);
	if (m->dirty >= 0 && (unsigned)m->dirty != b->kernel) {
		m->data_ops++;
		m->may_hold[m->dirty] = false;
	}
	quire_coherence_kernel_read(b->s.q, b->page);
	quire_page_clear(b->s.q, b->page, 0, PAGE);
	b->bytes[0] = b->bytes[1] = 0;
	model_changed(b, (int)b->kernel);
}

/* --- Model and machine together --------------------------------------------------------------- */

static void bench_start(struct bench *b, struct sim_machine machine, uint32_t seed)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	const struct quire_traits *traits;
	int error;

	memset(b, 0, sizeof(*b));
	machine.memory_bytes = 4 << 20;
	simulated_start(&b->s, &machine, &policy);
	traits = &b->s.q->machine.traits;
	b->seed = seed;
	b->space = quire_space_create(b->s.q, &error);
	b->page = quire_page_alloc(b->s.q, 0);
	b->colours =
		traits->data_aliases ? (unsigned)(traits->colour_bytes >> QUIRE_PAGE_SHIFT) : 1;
	assert_true(b->space && b->page && b->colours <= COLOURS_MAX);
	for (unsigned cpu = 2; cpu-- > 0;) {
		sim_switch(b->s.sim, cpu);
		simulated_load(&b->s, b->space);
	}
	b->kernel = colour_of(b, quire_page_address(b->s.q, b->page));
	b->model.dirty = b->open = -1;
	quire_page_clear(b->s.q, b->page, 0, PAGE);
	model_changed(b, (int)b->kernel);
	b->s.test = b;
	b->begin = b->s.q->machine.port.maintenance_begin;
	b->s.q->machine.port.maintenance_begin = adversary_before_operation;
}

static void bench_end(struct bench *b)
{
	for (unsigned n = 0; n < USERS; n++)
		user_unmaps(b, n);
	quire_page_put(b->s.q, b->page);
	for (unsigned cpu = 2; cpu-- > 0;) {
		sim_switch(b->s.sim, cpu);
		simulated_load(&b->s, NULL);
	}
	quire_space_destroy(b->space);
	simulated_check(&b->s);
	simulated_end(&b->s);
}

static void event(struct bench *b)
{
	unsigned n = exact_random(&b->seed, USERS);

	switch (exact_random(&b->seed, 14)) {
	case 0:
	case 1:
		kernel_reads(b);
		break;
	case 2:
	case 3:
		kernel_writes(b);
		break;
	case 4:
	case 5:
		user_maps(b, n);
		break;
	case 6:
		user_unmaps(b, n);
		break;
	case 7:
		device_reads(b);
		break;
	case 8:
		device_writes(b);
		break;
	case 9:
		users_are_narrowed(b);
		break;
	case 10:
		owner_changes(b);
		break;
	default:
		user_accesses(b, n);
		break;
	}
}

/* Pages' worth of D operations; those on the outer cache come with others. */
static uint64_t page_ops(struct bench *b)
{
	const struct sim_machine *machine = sim_machine(b->s.sim);
	uint64_t lines = 0;

	for (enum quire_site site = 0; site < QUIRE_SITE_TABLE_ENTRY; site++)
		for (enum sim_op op = SIM_OP_DATA_CLEAN; op <= SIM_OP_DATA_FLUSH; op++)
			lines += sim_account(b->s.sim, site, op)->count;
	return lines / (QUIRE_PAGE_BYTES / machine->l1d.line_bytes);
}

/*
 * The policy has room for two users' colours. With more it may do what was not needed, for the one
 * colour that is looked at.
 */
static void check_ops(const struct bench *b, uint64_t ops)
{
	if (simulated_arch(sim_machine(b->s.sim)->isa) == &quire_arch_x86_64)
		assert_int_equal(ops, 0);
	else if (b->user_colours <= 2)
		assert_int_equal(ops, b->model.data_ops);
	else
		assert_in_range(ops, b->model.data_ops, b->model.data_ops + 1);
}

static void run_model(struct sim_machine machine, unsigned user_colours)
{
	static struct bench b;

	for (uint32_t seed = 1; seed <= 60; seed++) {
		bench_start(&b, machine, seed);
		b.user_colours = user_colours;
		for (unsigned step = 0; step < 150; step++) {
			uint64_t before = page_ops(&b);

			b.model.data_ops = 0;
			if (exact_random(&b.seed, 4) == 0)
				sim_switch(b.s.sim, exact_random(&b.seed, 2));
			event(&b);
			check_ops(&b, page_ops(&b) - before);
			adversary_on_page(&b);
		}
		bench_end(&b);
	}
}

static void test_model(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct sim_machine machine = simulated_machine(isa);

		run_model(machine, 2);
		run_model(machine, 4);
		/* Only firmware of PA-RISC tells that devices are coherent. */
		machine.dma_coherent = !machine.dma_coherent;
		if (isa == SIM_PARISC)
			run_model(machine, 2);
	}
}

/* --- What chance seldom meets ----------------------------------------------------------------- */

/*
 * A page that nobody stored to is not cleaned for a device; whether one that was read is
 * invalidated depends on the CPU.
 */
static void test_devices(void **state)
{
	static uint8_t host[PAGE];

	(void)state;
	for (unsigned no_speculation = 0; no_speculation < 2; no_speculation++) {
		struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
		struct quire_page *page;
		uint64_t after;
		struct files f;

		mem_start(&f, SIM_ARMV7, &policy);
		f.s.q->machine.traits.no_speculation = no_speculation;
		page = quire_page_alloc(f.s.q, 0);
		quire_page_clear(f.s.q, page, 0, PAGE);
		host[0] = 1;
		exact_transfer(&f, page, QUIRE_TO_DEVICE, host);
		assert_int_equal(host[0], 0);
		assert_true(exact_site_ops(&f.s, QUIRE_SITE_DMA_TO_DEVICE) > 0);
		/* Clean now: nothing before, but what the kernel stored is still in its lines. */
		host[0] = 2;
		exact_transfer(&f, page, QUIRE_FROM_DEVICE, host);
		assert_int_equal(exact_site_ops(&f.s, QUIRE_SITE_DMA_FROM_DEVICE), 0);
		after = exact_site_ops(&f.s, QUIRE_SITE_DMA_FROM_DEVICE_DONE);
		assert_true(after > 0);
		/* And again, when nobody has looked. */
		host[0] = 3;
		exact_transfer(&f, page, QUIRE_FROM_DEVICE, host);
		assert_int_equal(exact_site_ops(&f.s, QUIRE_SITE_DMA_FROM_DEVICE), 0);
		assert_int_equal(exact_site_ops(&f.s, QUIRE_SITE_DMA_FROM_DEVICE_DONE),
				 no_speculation ? after : 2 * after);
		assert_int_equal(exact_kernel_load(&f, page), 3);
		host[0] = 4;
		exact_transfer(&f, page, QUIRE_FROM_DEVICE, host);
		assert_int_equal(exact_kernel_load(&f, page), 4);
		/* Back to the device without having been stored to. */
		after = exact_site_ops(&f.s, QUIRE_SITE_DMA_TO_DEVICE);
		exact_transfer(&f, page, QUIRE_TO_DEVICE, host);
		assert_int_equal(exact_site_ops(&f.s, QUIRE_SITE_DMA_TO_DEVICE), after);
		quire_page_put(f.s.q, page);
		mem_end(&f);
	}
}

/* Who has a frame and stores without a word leaves lines that must not hit the next owner's. */
static void test_untold_stores(void **state)
{
	static uint8_t host[PAGE];
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_page *page, *again;
	struct files f;
	uint64_t value;
	uintptr_t kva, va, alias;

	(void)state;
	mem_start(&f, SIM_PARISC, &policy);
	page = quire_page_alloc(f.s.q, 0);
	/* It is clean, as far as anybody has told, when it is freed and taken again. */
	quire_page_clear(f.s.q, page, 0, PAGE);
	exact_transfer(&f, page, QUIRE_TO_DEVICE, host);
	quire_page_put(f.s.q, page);
	assert_ptr_equal(quire_page_alloc(f.s.q, 0), page);
	kva = quire_page_address(f.s.q, page);
	va = 0x800000 | ((kva ^ PAGE) & 0xf000); /* at another index of the cache, too */
	assert_int_equal(sim_store(f.s.sim, kva, 1, 66), 0);
	quire_page_put(f.s.q, page);
	/*
	 * The same frame for a user of another colour: what he stores reaches memory first, the old
	 * line after it.
	 */
	again = quire_page_alloc(f.s.q, 0);
	assert_ptr_equal(again, page);
	quire_coherence_clear_user_page(f.s.q, page, va);
	f.s.q->machine.arch->data_alias(&f.s.q->machine, quire_page_pa(page), va, QUIRE_FLUSH);
	f.s.q->machine.arch->data(&f.s.q->machine, kva, PAGE, QUIRE_FLUSH);
	alias = f.s.q->machine.arch->alias_map(&f.s.q->machine, quire_page_pa(page), va);
	assert_int_equal(sim_load(f.s.sim, alias, 1, &value), 0);
	assert_int_equal(value, 0);
	f.s.q->machine.arch->alias_unmap(&f.s.q->machine, alias);
	quire_page_put(f.s.q, page);
	mem_end(&f);
}

/* The source of a copy is read where its lines are: at the colour of the user who stores to it. */
static void test_copy_source(void **state)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_file *file;
	uintptr_t shared, private;
	struct files f;

	(void)state;
	mem_start(&f, SIM_PARISC, &policy);
	file = mem_file(&f, "file", 1);
	shared = mem_map_at(&f, 0x805000, PAGE, R | W, SHARED, file, 0);
	private = mem_map_at(&f, 0x907000, PAGE, R | W, PRIVATE, file, 0);
	mem_store(&f, shared + 32, 1);
	mem_store(&f, private, 2);
	assert_int_equal(mem_load(&f, private + 32), 1);
	assert_int_equal(mem_load(&f, shared), 'a');
	assert_int_equal(exact_site_ops(&f.s, QUIRE_SITE_COPY_SOURCE), 0);
	assert_int_equal(exact_site_ops(&f.s, QUIRE_SITE_COPY_TARGET), 0);
	quire_file_put(file);
	mem_end(&f);
}

/*
 * Frames have the colour that was asked for as long as there are such; then any; no frame is lost,
 * and blocks come together again.
 */
static void test_frames(void **state)
{
	static struct quire_page *pages[1024];
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	size_t mask = 0xf000; /* colours of the test's machine */
	unsigned count = 0, of_colour = 0;
	struct files f;
	uint64_t free;
	uint32_t seed = 1;

	(void)state;
	mem_start(&f, SIM_PARISC, &policy);
	/* This CPU's list of single pages does not change any more, in sum. */
	free = quire_pages_free(f.s.q);
	for (; count < 200; count++) {
		uintptr_t va = exact_random(&seed, 1u << 16) << QUIRE_PAGE_SHIFT;

		pages[count] = quire_page_alloc_at(f.s.q, va, false);
		assert_non_null(pages[count]);
		assert_int_equal(quire_page_address(f.s.q, pages[count]) & mask, va & mask);
		assert_int_equal(quire_atomic_read(&pages[count]->refs), 1);
	}
	assert_int_equal(quire_pages_free(f.s.q), free - count);
	while ((pages[count] = quire_page_alloc_at(f.s.q, 0x3000, false))) {
		of_colour += (quire_page_address(f.s.q, pages[count]) & mask) == 0x3000;
		count++;
	}
	assert_int_equal(quire_pages_free(f.s.q), 0);
	/* A sixteenth of what was left, for all that the search is short. */
	assert_true(of_colour >= (free - 200) / 16 - 16);
	while (count)
		quire_page_put(f.s.q, pages[--count]);
	assert_int_equal(quire_pages_free(f.s.q), free);
	pages[0] = quire_page_alloc(f.s.q, 8);
	assert_non_null(pages[0]);
	quire_page_put(f.s.q, pages[0]);
	mem_end(&f);
}

/*
 * Claims keep entries of other colours away while one lets user code store. Were there one all the
 * same, it would be settled anew each time it is told of.
 */
static void test_other_colour_beside_stores(void **state)
{
	struct quire_policy policy = exact_policy(QUIRE_COHERENCE_EXACT);
	struct quire_page *page;
	struct files f;
	uintptr_t kva, va[2], alias;

	(void)state;
	mem_start(&f, SIM_PARISC, &policy);
	page = quire_page_alloc(f.s.q, 0);
	quire_page_clear(f.s.q, page, 0, PAGE);
	kva = quire_page_address(f.s.q, page);
	for (unsigned n = 0; n < 2; n++)
		va[n] = 0x800000 | ((kva ^ (PAGE << n)) & 0xf000);
	quire_coherence_user_store(f.s.q, page, va[0]);
	for (uint8_t round = 1; round < 4; round++) {
		uint64_t value;

		alias = f.s.q->machine.arch->alias_map(&f.s.q->machine, quire_page_pa(page), va[0]);
		assert_int_equal(sim_store(f.s.sim, alias, 1, round), 0);
		f.s.q->machine.arch->alias_unmap(&f.s.q->machine, alias);
		quire_coherence_user_map(f.s.q, page, f.space, va[1], false);
		alias = f.s.q->machine.arch->alias_map(&f.s.q->machine, quire_page_pa(page), va[1]);
		assert_int_equal(sim_load(f.s.sim, alias, 1, &value), 0);
		assert_int_equal(value, round);
		f.s.q->machine.arch->alias_unmap(&f.s.q->machine, alias);
	}
	quire_page_put(f.s.q, page);
	mem_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_untold_stores),
		cmocka_unit_test(test_copy_source),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_other_colour_beside_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
