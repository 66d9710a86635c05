/*
 * Coherence: under every policy, on every machine, nobody sees stale bytes; what is not owed is not
 * done; and each operation is there for a reason: without it somebody does see stale bytes.
 */
#include <stdio.h>

#include "tests/support/memory.h"

static const enum quire_coherence_policy policies[] = {
	QUIRE_COHERENCE_EAGER,
	QUIRE_COHERENCE_MAPPING,
	QUIRE_COHERENCE_PAGE,
};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static struct quire_policy policy_of(unsigned n)
{
	struct quire_policy policy = quire_policy_default();

	policy.coherence = policies[n];
	return policy;
}

/*
 * The frame of kernel addresses that tests store to directly, as the kernel does in a page of a
 * file.
 */
static void kernel_store(struct files *f, struct quire_page *page, size_t offset, uint8_t value)
{
	quire_coherence_kernel_read(f->s.q, page);
	assert_int_equal(sim_store(f->s.sim, quire_page_address(f->s.q, page) + offset, 1, value),
			 0);
	quire_coherence_kernel_wrote(f->s.q, page);
}

static uint8_t kernel_load(struct files *f, struct quire_page *page, size_t offset)
{
	uint64_t value;

	quire_coherence_kernel_read(f->s.q, page);
	assert_int_equal(sim_load(f->s.sim, quire_page_address(f->s.q, page) + offset, 1, &value),
			 0);
	return (uint8_t)value;
}

/*
 * BUGS 3, 23: the page is mapped and has been loaded when the kernel stores; and the other way
 * round.
 */
static void test_mapped_page(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++) {
			struct quire_policy policy = policy_of(n);
			struct quire_file *file;
			struct quire_page *page;
			struct files f;
			uintptr_t va;

			mem_start(&f, isa, &policy);
			file = mem_file(&f, "file", 1);
			/* Some colour that is not the kernel's for most frames. */
			va = mem_map_at(&f, 0x805000, PAGE, R | W, SHARED, file, 0);
			page = quire_cache_find(file, 0);
			for (uint8_t i = 1; i < 9; i++) {
				assert_int_equal(mem_load(&f, va + 1), i == 1 ? 'A' : i + 99);
				kernel_store(&f, page, 1, i);
				assert_int_equal(mem_load(&f, va + 1), i);
				mem_store(&f, va + 2, i);
				assert_int_equal(kernel_load(&f, page, 2), i);
				mem_store(&f, va + 1, (uint8_t)(i + 100));
				assert_int_equal(kernel_load(&f, page, 1), i + 100);
			}
			/* After the mapping has gone, and with a new one at another colour. */
			mem_store(&f, va + 3, 33);
			assert_int_equal(quire_munmap(f.space, va, PAGE), 0);
			assert_int_equal(kernel_load(&f, page, 3), 33);
			kernel_store(&f, page, 3, 34);
			va = mem_map_at(&f, 0x807000, PAGE, R | W, SHARED, file, 0);
			assert_int_equal(mem_load(&f, va + 3), 34);
			mem_store(&f, va + 3, 35);
			assert_int_equal(kernel_load(&f, page, 3), 35);
			quire_page_put(f.s.q, page);
			quire_file_put(file);
			mem_end(&f);
		}
}

/* Another CPU's kernel looks when munmap has removed the entry, and is about to purge the TLBs. */
struct look_between {
	struct files *f;
	struct quire_page *page;
	int seen; /* what it saw; -1: it has not looked */
};

static void look_at_purge(struct simulated *s, enum quire_site site)
{
	struct look_between *look = s->test;

	if (site != QUIRE_SITE_TLB_BATCH || look->seen >= 0)
		return;
	look->seen = 0;
	sim_switch(s->sim, 1);
	look->seen = kernel_load(look->f, look->page, 5);
	sim_switch(s->sim, 0);
}

static void test_kernel_looks_during_munmap(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++) {
			struct quire_policy policy = policy_of(n);
			struct look_between look = {.seen = -1};
			struct quire_file *file;
			struct files f;
			uintptr_t va;

			mem_start(&f, isa, &policy);
			file = mem_file(&f, "file", 1);
			va = mem_map_at(&f, 0x805000, PAGE, R | W, SHARED, file, 0);
			mem_store(&f, va + 5, 55);
			look.f = &f;
			look.page = quire_cache_find(file, 0);
			f.s.test = &look;
			f.s.on_maintenance = look_at_purge;
			assert_int_equal(quire_munmap(f.space, va, PAGE), 0);
			f.s.on_maintenance = NULL;
			assert_int_equal(look.seen, 55);
			assert_int_equal(kernel_load(&f, look.page, 5), 55);
			quire_page_put(f.s.q, look.page);
			quire_file_put(file);
			mem_end(&f);
		}
}

/*
 * An entry has gone and its lines are about to be flushed, when another CPU makes four calls: it
 * removes an entry of another colour, stores as the kernel, and maps the page at the first colour.
 * There is room for one colour that was left: the first one's lines go when the second is left.
 */
#define VA_LEFT  0x805000
#define VA_OTHER 0x807000
#define VA_AGAIN 0x905000 /* the colour of VA_LEFT */

struct two_left {
	struct files *f;
	struct quire_space *space; /* of CPU 1 */
	struct quire_file *file;
	struct quire_page *page;
	bool came;
	uint8_t seen;
};

static void map_shared(struct quire_space *space, uintptr_t va, struct quire_file *file)
{
	assert_int_equal(quire_mmap(space, &va, PAGE, R, SHARED | QUIRE_MAP_FIXED, file, 0, true),
			 0);
}

static void four_calls_at_flush(struct simulated *s, enum quire_site site)
{
	struct two_left *left = s->test;

	if (site != QUIRE_SITE_UNMAP_RANGE_D || left->came)
		return;
	left->came = true;
	sim_switch(s->sim, 1);
	assert_int_equal(quire_munmap(left->space, VA_OTHER, PAGE), 0);
	kernel_store(left->f, left->page, 5, 66);
	map_shared(left->space, VA_AGAIN, left->file);
	left->seen = mem_load(left->f, VA_AGAIN + 5);
	sim_switch(s->sim, 0);
}

static uint8_t seen_with_two_left(enum quire_site drop)
{
	struct two_left left = {.came = false};
	struct files f;
	int error;

	mem_start(&f, SIM_PARISC, NULL);
	left.f = &f;
	left.file = mem_file(&f, "file", 1);
	left.page = quire_cache_find(left.file, 0);
	left.space = quire_space_create(f.s.q, &error);
	map_shared(f.space, VA_LEFT, left.file);
	map_shared(left.space, VA_OTHER, left.file);
	mem_cpu(&f, 1, left.space);
	(void)mem_load(&f, VA_OTHER + 5);
	mem_cpu(&f, 1, f.space);
	(void)mem_load(&f, VA_LEFT + 5); /* CPU 1 has lines of this colour */
	mem_cpu(&f, 1, left.space);
	(void)mem_load(&f, VA_OTHER + 5);
	mem_cpu(&f, 0, f.space);
	f.s.drop = drop;
	f.s.test = &left;
	f.s.on_maintenance = four_calls_at_flush;
	assert_int_equal(quire_munmap(f.space, VA_LEFT, PAGE), 0);
	f.s.on_maintenance = NULL;
	f.s.drop = QUIRE_SITE_COUNT;
	assert_true(left.came);
	mem_leave(&f);
	quire_space_destroy(left.space);
	quire_space_destroy(f.space);
	quire_page_put(f.s.q, left.page);
	quire_file_put(left.file);
	assert_int_equal(quire_fs_unmount(f.fs), 0);
	assert_int_equal(sim_violations(f.s.sim) > 0, drop != QUIRE_SITE_COUNT);
	simulated_end(&f.s);
	return left.seen;
}

static void test_two_colours_left(void **state)
{
	(void)state;
	assert_int_equal(seen_with_two_left(QUIRE_SITE_COUNT), 66);
	assert_int_not_equal(seen_with_two_left(QUIRE_SITE_UNMAP_PAGE), 66);
}

/* BUGS 5: an anonymous page that is mapped, written by a debugger. */
static void test_debugger(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++) {
			struct quire_policy policy = policy_of(n);
			struct files f;
			uint8_t byte;
			uintptr_t va;

			mem_start(&f, isa, &policy);
			va = mem_map_at(&f, 0x805000, PAGE, R | W | X, PRIVATE | ANON, NULL, 0);
			mem_store_code(&f, va, 1);
			assert_int_equal(mem_fetch(&f, va), 1);
			for (uint8_t i = 2; i < 6; i++) {
				byte = i;
				mem_debug(&f, va, &byte, true);
				assert_int_equal(mem_fetch(&f, va) & 0xff, i);
				assert_int_equal(mem_load(&f, va), i);
				mem_store(&f, va, (uint8_t)(i + 50));
				mem_debug(&f, va, &byte, false);
				assert_int_equal(byte, i + 50);
			}
			mem_end(&f);
		}
}

/* BUGS 4: calls about pages that are no user's. */
static void test_foreign_pages(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++) {
			struct quire_policy policy = policy_of(n);
			struct sim_account before, after;
			struct quire_page *page;
			struct files f;
			uint32_t flags;

			mem_start(&f, isa, &policy);
			page = f.space->root;
			flags = quire_atomic_read(&page->flags);
			before = *sim_account(f.s.sim, QUIRE_SITE_KERNEL_WROTE, SIM_OP_DATA_FLUSH);
			quire_coherence_kernel_wrote(f.s.q, NULL);
			quire_coherence_kernel_read(f.s.q, NULL);
			quire_coherence_kernel_wrote(f.s.q, page);
			quire_coherence_kernel_read(f.s.q, page);
			after = *sim_account(f.s.sim, QUIRE_SITE_KERNEL_WROTE, SIM_OP_DATA_FLUSH);
			assert_int_equal(before.count, after.count);
			assert_int_equal(quire_atomic_read(&page->flags), flags);
			mem_end(&f);
		}
}

/* BUGS 8: all pages of a folio. */
static void test_folio(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++) {
			struct quire_policy policy = policy_of(n);
			struct quire_file *file;
			struct quire_page *page;
			struct files f;
			uintptr_t va;

			mem_start(&f, isa, &policy);
			file = mem_file(&f, "file", 0);
			page = quire_page_alloc(f.s.q, 2);
			assert_non_null(page);
			quire_page_lock(f.s.q, page);
			assert_int_equal(quire_cache_add(file, 0, page), 0);
			f.s.q->machine.port.clear(&f.s, quire_page_address(f.s.q, page), 4 * PAGE);
			quire_coherence_kernel_wrote(f.s.q, page);
			for (unsigned i = 0; i < 4; i++)
				quire_atomic_or(&page[i].flags, QUIRE_PAGE_UPTODATE);
			quire_page_unlock(f.s.q, page);
			assert_int_equal(quire_truncate(file, 4 * PAGE), 0);
			va = mem_map_at(&f, 0x805000, 4 * PAGE, R | X, SHARED, file, 0);
			for (uint8_t round = 0; round < 3; round++) {
				for (unsigned i = 0; i < 4; i++) {
					assert_int_equal(mem_load(&f, va + i * PAGE), round);
					assert_int_equal(mem_fetch(&f, va + i * PAGE) & 0xff,
							 round);
				}
				quire_coherence_kernel_read(f.s.q, page);
				for (unsigned i = 0; i < 4; i++)
					assert_int_equal(sim_store(f.s.sim,
								   quire_page_address(f.s.q,
										      page + i),
								   1, round + 1u),
							 0);
				quire_coherence_kernel_wrote(f.s.q, page);
			}
			quire_page_put(f.s.q, page);
			quire_file_put(file);
			mem_end(&f);
		}
}

/* Cycles of maintenance at a site, whatever the operation. */
static uint64_t site_count(struct files *f, enum quire_site site)
{
	uint64_t count = 0;

	for (unsigned op = 0; op < SIM_OP_COUNT; op++)
		count += sim_account(f->s.sim, site, (enum sim_op)op)->count;
	return count;
}

/*
 * A file that is mapped and not touched, read: `mapping` flushes every page every time, `page`
 * none.
 */
static void test_mapped_and_not_touched(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++) {
			struct quire_policy policy = policy_of(n);
			struct quire_file *file;
			struct files f;
			uint64_t before;
			bool flushes;

			mem_start(&f, isa, &policy);
			file = mem_file(&f, "file", 4);
			(void)mem_map(&f, 4 * PAGE, R | W, SHARED, file, 0);
			assert_int_equal(quire_read(file, 0, f.buffer, 4 * PAGE), 4 * PAGE);
			before = site_count(&f, QUIRE_SITE_KERNEL_READ);
			assert_int_equal(quire_read(file, 0, f.buffer, 4 * PAGE), 4 * PAGE);
			flushes = site_count(&f, QUIRE_SITE_KERNEL_READ) > before;
			assert_int_equal(flushes,
					 isa != SIM_X86_64 && policies[n] != QUIRE_COHERENCE_PAGE);
			quire_file_put(file);
			mem_end(&f);
		}
}

/* Nothing is deferred where another CPU could not reach the lines. */
static void test_no_broadcast(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct quire_space *space;
	struct quire_policy policy = policy_of(2);
	struct simulated s;
	struct quire_page *page;
	int error;

	(void)state;
	machine.maintenance_broadcast = false;
	simulated_start(&s, &machine, &policy);
	if (!s.q->machine.traits.data_broadcast) {
		space = quire_space_create(s.q, &error);
		page = quire_page_alloc(s.q, 0);
		quire_page_clear(s.q, page, 0, PAGE);
		assert_true(quire_page_is(page, QUIRE_PAGE_DATA_CLEAN));
		quire_page_put(s.q, page);
		quire_space_destroy(space);
	}
	assert_false(s.q->machine.traits.data_broadcast);
	simulated_end(&s);
}

/* BUGS 1: when the flag says clean, all has been done. */
struct watch {
	struct quire_page *page;
	bool (*begin)(void *context, enum quire_site site);
	unsigned looked;
};

static bool look_at_flag(void *context, enum quire_site site)
{
	struct watch *watch = ((struct simulated *)context)->test;

	if (site == QUIRE_SITE_USER_MAP_D || site == QUIRE_SITE_USER_MAP_I) {
		assert_false(quire_page_is(watch->page, QUIRE_PAGE_INSN_CLEAN));
		watch->looked++;
	}
	return watch->begin(context, site);
}

static void test_flag_after_maintenance(void **state)
{
	(void)state;
	for (enum sim_isa isa = SIM_ARMV7; isa <= SIM_PARISC; isa++) {
		struct quire_file *file;
		struct watch watch = {0};
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		watch.page = quire_cache_find(file, 0);
		watch.begin = f.s.q->machine.port.maintenance_begin;
		va = mem_map(&f, PAGE, R | X, SHARED, file, 0);
		f.s.test = &watch;
		f.s.q->machine.port.maintenance_begin = look_at_flag;
		(void)mem_fetch(&f, va);
		f.s.q->machine.port.maintenance_begin = watch.begin;
		assert_true(watch.looked >= 2);
		assert_true(quire_page_is(watch.page, QUIRE_PAGE_INSN_CLEAN));
		quire_page_put(f.s.q, watch.page);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* Lines of the page mapped at va, as evictions would write them back. */
static void flush_user_lines(struct files *f, uintptr_t va)
{
	struct quire *q = f->s.q;
	struct quire_slot slot;
	uintptr_t next;

	if (!q->machine.traits.data_aliases)
		return;
	assert_true(quire_table_find(f->space, va, &slot, &next));
	q->machine.arch->data_alias(&q->machine, quire_slot_read(&slot).frame << QUIRE_PAGE_SHIFT,
				    va, QUIRE_FLUSH);
}

/*
 * BUGS 34: the kernel wrote a page of a file that is freed; lines of it must not hit the next
 * owner's page.
 */
static void test_freed_page(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire *q;
		struct quire_file *file;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		q = f.s.q;
		file = mem_file(&f, "file", 8);
		assert_int_equal(quire_truncate(file, 0), 0);
		va = mem_map_at(&f, 0x805000, 8 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
		for (unsigned n = 0; n < 8; n++)
			mem_store(&f, va + n * PAGE, (uint8_t)n);
		/*
		 * The new owner's lines go to memory first, and whatever is left of the old ones
		 * after them.
		 */
		for (unsigned n = 0; n < 8; n++)
			flush_user_lines(&f, va + n * PAGE);
		q->machine.arch->data(&q->machine, sim_kernel_base(f.s.sim), f.s.memory.bytes,
				      QUIRE_FLUSH);
		for (unsigned n = 0; n < 8; n++) {
			assert_int_equal(mem_load(&f, va + n * PAGE), n);
			assert_int_equal(mem_load(&f, va + n * PAGE + 5), 0);
		}
		quire_file_put(file);
		mem_end(&f);
	}
}

/*
 * The same for a page that was cleared for a user and then not mapped, because another fault was
 * faster.
 */
static void test_freed_unmapped_page(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_page *page, *again;
		struct quire *q;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		q = f.s.q;
		page = quire_page_alloc(q, 0);
		/* Not the kernel's colour. */
		va = 0x800000 + (quire_page_address(q, page) & 0xfffff) + PAGE;
		quire_coherence_clear_user_page(q, page, va);
		quire_page_put(q, page);
		again = quire_page_alloc(q, 0);
		assert_ptr_equal(again, page);
		kernel_store(&f, again, 3, 'k');
		q->machine.arch->data(&q->machine, quire_page_address(q, page), PAGE, QUIRE_FLUSH);
		if (q->machine.traits.data_aliases)
			q->machine.arch->data_alias(&q->machine, quire_page_pa(page), va,
						    QUIRE_FLUSH);
		assert_int_equal(kernel_load(&f, again, 3), 'k');
		quire_page_put(q, again);
		mem_end(&f);
	}
}

/*
 * Instructions that were fetched before mprotect took that right away do not outlive their page: its
 * frame becomes a page of a file, executed at another colour first and then where the old one was.
 */
static void old_instructions(enum sim_isa isa, uintptr_t old)
{
	uint8_t code[4] = {2, 0, 0, 0};
	uintptr_t other = 0x1006000, next;
	struct quire_page *page = NULL;
	struct quire_file *file;
	struct quire_slot slot;
	struct files f;
	uint32_t frame;
	uint64_t index = 0;

	mem_start(&f, isa, NULL);
	mem_store(&f, f.buffer, 0); /* so that write() takes no page for it */
	assert_int_equal(quire_fs_open(f.fs, "file", true, &file), 0);
	mem_map_at(&f, old, PAGE, R | W | X, PRIVATE | ANON, NULL, 0);
	mem_store_code(&f, old + 64, 0x01010101);
	assert_int_equal(mem_fetch(&f, old + 64), 0x01010101);
	assert_int_equal(quire_mprotect(f.space, old, PAGE, R | W), 0);
	assert_true(quire_table_find(f.space, old, &slot, &next));
	frame = (uint32_t)quire_slot_read(&slot).frame;
	assert_int_equal(quire_munmap(f.space, old, PAGE), 0);
	for (; !page || page->frame != frame; index++) {
		if (page)
			quire_page_put(f.s.q, page);
		assert_int_equal(files_write(&f, file, index * PAGE + 64, code, 4), 4);
		page = quire_cache_find(file, index);
	}
	index = page->index;
	mem_map_at(&f, other, PAGE, R | X, SHARED, file, index * PAGE);
	assert_int_equal(mem_fetch(&f, other + 64), 2);
	mem_map_at(&f, old, PAGE, R | X, SHARED, file, index * PAGE);
	assert_int_equal(mem_fetch(&f, old + 64), 2);
	quire_page_put(f.s.q, page);
	quire_file_put(file);
	mem_end(&f);
}

static void test_instructions_of_old_owner(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned colour = 0; colour < 8; colour++)
			old_instructions(isa, 0x800000 + colour * PAGE);
}

/* --- Anything, in any order ------------------------------------------------------------------- */

#define FILE_PAGES 3
#define MAPS       4

static uint32_t next_random(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

struct chaos {
	struct files f;
	struct quire_file *file;
	uint32_t seed;
	/* Shared mappings, stores allowed by the even ones, fetches by those from 2 on. */
	uintptr_t map[MAPS];
	uint8_t model[FILE_PAGES * PAGE];
};

static unsigned map_prot(unsigned n)
{
	return R | (n & 1 ? 0 : W) | (n & 2 ? X : 0);
}

static void toggle_map(struct chaos *c, unsigned n)
{
	if (c->map[n]) {
		assert_int_equal(quire_munmap(c->f.space, c->map[n], FILE_PAGES * PAGE), 0);
		c->map[n] = 0;
		return;
	}
	/* Any colour. */
	c->map[n] = mem_map_at(&c->f, 0x1000000 * (n + 1) + next_random(&c->seed, 16) * PAGE,
			       FILE_PAGES * PAGE, map_prot(n), SHARED, c->file, 0);
}

static void user_access(struct chaos *c, unsigned n)
{
	size_t at = next_random(&c->seed, FILE_PAGES) * PAGE + next_random(&c->seed, 4) * 32;
	unsigned what = next_random(&c->seed, 3);

	if (!c->map[n])
		return;
	if (what == 0 && (map_prot(n) & W)) {
		c->model[at] = (uint8_t)next_random(&c->seed, 256);
		mem_store(&c->f, c->map[n] + at, c->model[at]);
	} else if (what == 1 && (map_prot(n) & X)) {
		assert_int_equal(mem_fetch(&c->f, c->map[n] + at) & 0xff, c->model[at]);
	} else {
		assert_int_equal(mem_load(&c->f, c->map[n] + at), c->model[at]);
	}
}

static void call(struct chaos *c)
{
	size_t at = next_random(&c->seed, FILE_PAGES) * PAGE + next_random(&c->seed, 4) * 32;
	size_t bytes = 1 + next_random(&c->seed, 100);
	static uint8_t data[FILE_PAGES * PAGE];

	switch (next_random(&c->seed, 5)) {
	case 0:
		for (size_t n = 0; n < bytes; n++)
			c->model[at + n] = (uint8_t)next_random(&c->seed, 256);
		assert_int_equal(files_write(&c->f, c->file, at, c->model + at, bytes), bytes);
		break;
	case 1:
		assert_int_equal(files_read(&c->f, c->file, at, data, bytes), bytes);
		assert_memory_equal(data, c->model + at, bytes);
		break;
	case 2:
		if (c->map[0])
			assert_int_equal(quire_msync(c->f.space, c->map[0], FILE_PAGES * PAGE,
						     QUIRE_MS_SYNC),
					 0);
		break;
	case 3:
		assert_int_equal(quire_punch(c->file, at, bytes), 0);
		memset(c->model + at, 0, bytes);
		break;
	case 4:
		quire_reclaim(c->f.s.q, 2);
		break;
	}
}

static void chaos_run(struct chaos *c, unsigned steps)
{
	for (unsigned n = 0; n < steps; n++) {
		unsigned what = next_random(&c->seed, 20);

		if (next_random(&c->seed, 4) == 0)
			mem_cpu(&c->f, next_random(&c->seed, 2), c->f.space);
		if (what == 0)
			toggle_map(c, next_random(&c->seed, MAPS));
		else if (what < 14)
			user_access(c, next_random(&c->seed, MAPS));
		else
			call(c);
	}
	mem_cpu(&c->f, 0, c->f.space);
}

static void test_chaos(void **state)
{
	static struct chaos c;

	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < POLICIES; n++)
			for (uint32_t seed = 1; seed <= 6; seed++) {
				struct quire_policy policy = policy_of(n);

				memset(&c, 0, sizeof(c));
				policy.file_times = seed & 1 ? QUIRE_FILE_TIMES_SUBTREE
							     : QUIRE_FILE_TIMES_FAULT;
				mem_start(&c.f, isa, &policy);
				c.file = mem_file(&c.f, "file", 0);
				assert_int_equal(quire_truncate(c.file, FILE_PAGES * PAGE), 0);
				c.seed = seed;
				chaos_run(&c, 600);
				quire_file_put(c.file);
				mem_end(&c.f);
			}
}

/* --- Each operation is needed ----------------------------------------------------------------- */

/* What happens in all of the tests above in short: enough that each site counts. */
static void everything(struct files *f)
{
	struct quire_file *file = mem_file(f, "everything", 3);
	struct quire_space *child;
	uintptr_t a, b, anon;
	uint64_t code;
	uint8_t byte;

	a = mem_map_at(f, 0x801000, 3 * PAGE, R | W, SHARED, file, 0);
	for (unsigned i = 0; i < 3; i++) {
		(void)mem_try_load(f, a + i * PAGE, &byte);
		(void)mem_try_store(f, a + i * PAGE + 4, 1);
		(void)files_read(f, file, i * PAGE, &byte, 1);
		(void)files_write(f, file, i * PAGE + 4, "w", 1);
		(void)mem_try_load(f, a + i * PAGE + 4, &byte);
		(void)mem_try_store(f, a + i * PAGE + 64, 1);
	}
	b = mem_map_at(f, 0x906000, 3 * PAGE, R | X, SHARED, file, 0);
	for (unsigned i = 0; i < 3; i++) {
		(void)mem_try_load(f, b + i * PAGE + 64, &byte);
		(void)sim_fetch(f->s.sim, b + i * PAGE + 64, &code);
		(void)mem_try_store(f, a + i * PAGE + 64, 2);
		(void)sim_fetch(f->s.sim, b + i * PAGE + 64, &code);
	}
	anon = mem_map_at(f, 0xa08000, 4 * PAGE, R | W | X, PRIVATE | ANON, NULL, 0);
	for (unsigned i = 0; i < 8; i++) {
		(void)mem_try_store(f, anon + i / 2 * PAGE, (uint8_t)(5 + i));
		(void)sim_fetch(f->s.sim, anon + i / 2 * PAGE, &code);
	}
	assert_int_equal(quire_space_fork(f->space, &child), 0);
	for (unsigned i = 0; i < 4; i++)
		(void)mem_try_store(f, anon + i * PAGE + 64, 6);
	mem_cpu(f, 0, child);
	for (unsigned i = 0; i < 4; i++)
		(void)mem_try_load(f, anon + i * PAGE + 64, &byte);
	mem_cpu(f, 0, f->space);
	quire_space_destroy(child);
	assert_int_equal(quire_munmap(f->space, a, 3 * PAGE), 0);
	assert_int_equal(quire_munmap(f->space, b, 3 * PAGE), 0);
	assert_int_equal(quire_munmap(f->space, anon, 4 * PAGE), 0);
	(void)files_read(f, file, 4, &byte, 1);
	quire_file_put(file);
}

static void assert_needed(enum sim_isa isa, enum quire_site site)
{
	struct files f;

	mem_start(&f, isa, NULL);
	everything(&f);
	assert_int_equal(sim_violations(f.s.sim), 0);
	f.s.drop = site;
	assert_int_equal(quire_fs_unlink(f.fs, "everything"), 0);
	everything(&f);
	f.s.drop = QUIRE_SITE_COUNT;
	if (!sim_violations(f.s.sim))
		fprintf(stderr, "nothing was missed without %s\n", quire_site_name(site));
	assert_true(sim_violations(f.s.sim) > 0);
	mem_leave(&f);
	quire_space_destroy(f.space);
	assert_int_equal(quire_fs_unmount(f.fs), 0);
	simulated_end(&f.s);
}

static void test_each_is_needed(void **state)
{
	(void)state;
	assert_needed(SIM_ARMV7, QUIRE_SITE_USER_MAP_D);
	assert_needed(SIM_ARMV7, QUIRE_SITE_USER_MAP_I);
	assert_needed(SIM_PARISC, QUIRE_SITE_KERNEL_WROTE);
	assert_needed(SIM_PARISC, QUIRE_SITE_KERNEL_READ);
	assert_needed(SIM_PARISC, QUIRE_SITE_USER_MAP_D);
	assert_needed(SIM_PARISC, QUIRE_SITE_USER_MAP_I);
	assert_needed(SIM_PARISC, QUIRE_SITE_UNMAP_RANGE_D);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped_page),
		cmocka_unit_test(test_kernel_looks_during_munmap),
		cmocka_unit_test(test_two_colours_left),
		cmocka_unit_test(test_debugger),
		cmocka_unit_test(test_foreign_pages),
		cmocka_unit_test(test_folio),
		cmocka_unit_test(test_mapped_and_not_touched),
		cmocka_unit_test(test_no_broadcast),
		cmocka_unit_test(test_flag_after_maintenance),
		cmocka_unit_test(test_freed_page),
		cmocka_unit_test(test_freed_unmapped_page),
		cmocka_unit_test(test_instructions_of_old_owner),
		cmocka_unit_test(test_chaos),
		cmocka_unit_test(test_each_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
