/*
 * The page cache against a model, an array of what each index holds; under refused memory; and with
 * threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/native.h"

#define CPUS    4
#define INDEXES 64u

/*
 * Spread so that trees are high and low, and nodes full and empty; folios of 8 pages fit at
 * multiples of 8.
 */
static uint64_t index_of(unsigned n)
{
	static const uint64_t bases[] = {0, 64, 4096, (uint64_t)1 << 40};

	return bases[n / 16] + n % 16;
}

struct slot {
	struct quire_page *page;
	bool marks[QUIRE_MARK_COUNT];
};

struct cache_test {
	struct native n;
	struct quire_file file;
	struct slot slots[INDEXES];
	unsigned removed; /* calls of page_removed */
	int read_error;
	unsigned reads;
	uint32_t seed;
	uint64_t wrong;
	struct quire_atomic done;
};

static struct cache_test *test_of(struct quire_file *file)
{
	return quire_container(file, struct cache_test, file);
}

static uint32_t draw(struct cache_test *t, uint32_t below)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)t->seed * below) >> 32);
}

static void page_removed(struct quire_file *file, struct quire_page *page)
{
	assert_ptr_equal(page->file, file);
	__atomic_add_fetch(&test_of(file)->removed, 1, __ATOMIC_RELAXED);
}

/* A page holds its index. */
static int read_page(struct quire_file *file, struct quire_page *page)
{
	struct cache_test *t = test_of(file);

	__atomic_add_fetch(&t->reads, 1, __ATOMIC_RELAXED);
	if (t->read_error)
		return t->read_error;
	*(uint64_t *)quire_page_address(file->quire, page) = page->index;
	return 0;
}

static const struct quire_file_ops ops = {
	.read_page = read_page,
	.page_removed = page_removed,
};

static void start(struct cache_test *t, unsigned pages)
{
	memset(t, 0, sizeof(*t));
	t->seed = 3;
	quire_atomic_init(&t->done, 0);
	native_start(&t->n, CPUS, pages);
	t->n.test = t;
	assert_int_equal(quire_file_init(t->n.q, &t->file, &ops), 0);
}

static void end(struct cache_test *t)
{
	assert_null(t->file.cache.root);
	assert_int_equal(t->file.cache.pages, 0);
	quire_file_destroy(&t->file);
	native_end(&t->n);
}

/* --- The model ------------------------------------------------------------------------------- */

static void model_add(struct cache_test *t, unsigned at, unsigned order)
{
	struct quire *q = t->n.q;
	unsigned pages = 1u << order;
	bool there = false;
	struct quire_page *page = quire_page_alloc(q, order);
	int error;

	assert_non_null(page);
	quire_page_lock(q, page);
	for (unsigned n = 0; n < pages; n++)
		there |= t->slots[at + n].page != NULL;
	error = quire_cache_add(&t->file, index_of(at), page);
	assert_int_equal(error, there ? -QUIRE_EEXIST : 0);
	for (unsigned n = 0; n < pages && !error; n++)
		t->slots[at + n] = (struct slot){.page = page + n};
	quire_page_unlock(q, page);
	quire_page_put(q, page);
}

static void model_remove(struct cache_test *t, unsigned at)
{
	struct quire *q = t->n.q;
	struct quire_page *page = quire_cache_find_locked(&t->file, index_of(at));
	unsigned removed = t->removed;

	assert_ptr_equal(page, t->slots[at].page);
	if (!page)
		return;
	quire_cache_remove(&t->file, page);
	assert_int_equal(t->removed - removed, 1u << page->order);
	for (unsigned n = 0; n < INDEXES; n++)
		if (t->slots[n].page && quire_page_head(t->slots[n].page) == quire_page_head(page))
			t->slots[n] = (struct slot){0};
	assert_null(page->file);
	quire_page_unlock(q, page);
	quire_page_put(q, page);
}

static void model_mark(struct cache_test *t, unsigned at, unsigned which, bool set)
{
	struct quire_page *page = t->slots[at].page;

	if (!page)
		return;
	if (set && which == QUIRE_MARK_DIRTY && draw(t, 2))
		assert_int_equal(quire_page_dirty(t->n.q, page), !t->slots[at].marks[which]);
	else if (set)
		quire_cache_set_mark(&t->file, page, (enum quire_mark)which);
	else
		quire_cache_clear_mark(&t->file, page, (enum quire_mark)which);
	t->slots[at].marks[which] = set;
}

static void check_finds(struct cache_test *t)
{
	uint64_t count = 0;

	for (unsigned at = 0; at < INDEXES; at++) {
		struct quire_page *page = quire_cache_find(&t->file, index_of(at));

		assert_ptr_equal(page, t->slots[at].page);
		if (!page)
			continue;
		count++;
		assert_int_equal(page->index, index_of(at));
		assert_ptr_equal(page->file, &t->file);
		assert_int_equal(quire_page_is(page, QUIRE_PAGE_DIRTY),
				 t->slots[at].marks[QUIRE_MARK_DIRTY]);
		assert_int_equal(quire_page_is(page, QUIRE_PAGE_WRITEBACK),
				 t->slots[at].marks[QUIRE_MARK_WRITEBACK]);
		quire_page_put(t->n.q, page);
	}
	assert_int_equal(t->file.cache.pages, count);
	assert_int_equal(quire_atomic_read(&t->n.q->pages_cached), count);
	assert_null(quire_cache_find(&t->file, 20));
	assert_null(quire_cache_find(&t->file, UINT64_MAX));
}

static void check_next(struct cache_test *t, int mark)
{
	uint64_t index = 0;
	struct quire_page *page;

	for (unsigned at = 0; at < INDEXES; at++) {
		if (!t->slots[at].page || (mark >= 0 && !t->slots[at].marks[mark]))
			continue;
		page = quire_cache_next(&t->file, &index, mark);
		assert_ptr_equal(page, t->slots[at].page);
		assert_int_equal(index, index_of(at));
		quire_page_put(t->n.q, page);
		index++;
	}
	assert_null(quire_cache_next(&t->file, &index, mark));
}

static void random_changes(void **state)
{
	static struct cache_test t;

	(void)state;
	start(&t, 1024);
	for (unsigned round = 0; round < 20000; round++) {
		unsigned at = draw(&t, INDEXES), order = draw(&t, 4) ? 0 : 1 + draw(&t, 3);

		if (draw(&t, 5) == 0)
			model_add(&t, at & ~((1u << order) - 1), order);
		else if (draw(&t, 4) == 0)
			model_remove(&t, at);
		else
			model_mark(&t, at, draw(&t, QUIRE_MARK_COUNT), draw(&t, 2));
		if (round % 16)
			continue;
		check_finds(&t);
		check_next(&t, -1);
		check_next(&t, QUIRE_MARK_DIRTY);
		check_next(&t, QUIRE_MARK_WRITEBACK);
	}
	for (unsigned at = 0; at < INDEXES; at++)
		model_remove(&t, at);
	end(&t);
}

/* --- Larger and stranger --------------------------------------------------------------------- */

/* A folio larger than a node of the tree, and the last index there is. */
static void folio_over_many_nodes(void **state)
{
	static struct cache_test t;
	struct quire_page *page, *found;

	(void)state;
	start(&t, 1024);
	page = quire_page_alloc(t.n.q, 8);
	quire_page_lock(t.n.q, page);
	assert_int_equal(quire_cache_add(&t.file, UINT64_MAX - 255, page), 0);
	for (unsigned n = 0; n < 256; n++) {
		found = quire_cache_find(&t.file, UINT64_MAX - 255 + n);
		assert_ptr_equal(found, page + n);
		quire_page_put(t.n.q, found);
	}
	assert_int_equal(quire_atomic_read(&page->refs), 2);
	quire_cache_remove(&t.file, page + 77);
	assert_int_equal(quire_atomic_read(&page->refs), 1);
	quire_page_unlock(t.n.q, page);
	quire_page_put(t.n.q, page);
	end(&t);
}

/* A page that is dirty before it is added is found by its mark afterwards. */
static void added_dirty(void **state)
{
	static struct cache_test t;
	struct quire_page *page;
	uint64_t index = 0;

	(void)state;
	start(&t, 256);
	page = quire_page_alloc(t.n.q, 0);
	quire_page_lock(t.n.q, page);
	assert_true(quire_page_dirty(t.n.q, page));
	assert_false(quire_page_dirty(t.n.q, page));
	assert_int_equal(quire_cache_add(&t.file, 9, page), 0);
	assert_ptr_equal(quire_cache_next(&t.file, &index, QUIRE_MARK_DIRTY), page);
	assert_int_equal(index, 9);
	quire_page_put(t.n.q, page);
	quire_cache_remove(&t.file, page);
	assert_false(quire_page_is(page, QUIRE_PAGE_DIRTY));
	quire_page_unlock(t.n.q, page);
	quire_page_put(t.n.q, page);
	end(&t);
}

/* --- Grab and read, with memory refused ------------------------------------------------------ */

static void drop(struct cache_test *t, uint64_t index)
{
	struct quire_page *page = quire_cache_find_locked(&t->file, index);

	assert_non_null(page);
	quire_cache_remove(&t->file, page);
	quire_page_unlock(t->n.q, page);
	quire_page_put(t->n.q, page);
}

static void refused_memory_changes_nothing(void **state)
{
	static struct cache_test t;
	struct quire_page *folio, *page;
	unsigned refusals = 0;
	long allocated;

	(void)state;
	start(&t, 1024);
	folio = quire_page_alloc(t.n.q, 8);
	quire_page_lock(t.n.q, folio);
	for (unsigned with_page = 0; with_page < 2; with_page++) {
		if (with_page)
			assert_int_equal(quire_cache_grab(&t.file, 3, &page), 0);
		for (long after = 0;; after++) {
			int error;

			allocated = t.n.allocated;
			t.n.fail_after = after;
			error = quire_cache_add(&t.file, (uint64_t)1 << 30, folio);
			t.n.fail_after = -1;
			if (!error)
				break;
			refusals++;
			assert_int_equal(error, -QUIRE_ENOMEM);
			assert_int_equal(t.n.allocated, allocated);
			assert_int_equal(t.file.cache.pages, with_page);
			assert_int_equal(quire_atomic_read(&folio->refs), 1);
			assert_null(folio[0].file);
			assert_null(folio[255].file);
			assert_null(quire_cache_find(&t.file, (uint64_t)1 << 30));
		}
		quire_cache_remove(&t.file, folio);
	}
	assert_true(refusals > 10);
	quire_page_unlock(t.n.q, folio);
	quire_page_put(t.n.q, folio);
	quire_page_unlock(t.n.q, page);
	quire_page_put(t.n.q, page);
	drop(&t, 3);
	end(&t);
}

static void grab_without_memory(void **state)
{
	static struct cache_test t;
	struct quire_page *pages[64], *page;
	unsigned count = 0;
	uint64_t free_pages;

	(void)state;
	start(&t, 64);
	free_pages = quire_pages_free(t.n.q);
	t.n.fail_after = 0;
	assert_int_equal(quire_cache_grab(&t.file, 5, &page), -QUIRE_ENOMEM);
	assert_int_equal(quire_pages_free(t.n.q), free_pages);
	while ((pages[count] = quire_page_alloc(t.n.q, 0)))
		count++;
	assert_int_equal(quire_cache_grab(&t.file, 5, &page), -QUIRE_ENOMEM);
	assert_int_equal(quire_cache_read(&t.file, 5, &page), -QUIRE_ENOMEM);
	assert_null(page);
	while (count)
		quire_page_put(t.n.q, pages[--count]);
	end(&t);
}

static void read_reads_once(void **state)
{
	static struct cache_test t;
	struct quire_page *page, *again;

	(void)state;
	start(&t, 256);
	t.read_error = -QUIRE_EIO;
	assert_int_equal(quire_cache_read(&t.file, 70, &page), -QUIRE_EIO);
	assert_null(page);
	t.read_error = 0;
	assert_int_equal(quire_cache_read(&t.file, 70, &page), 0);
	assert_int_equal(*(uint64_t *)quire_page_address(t.n.q, page), 70);
	assert_true(quire_page_try_lock(t.n.q, page));
	quire_page_unlock(t.n.q, page);
	assert_int_equal(quire_cache_read(&t.file, 70, &again), 0);
	assert_ptr_equal(page, again);
	assert_int_equal(t.reads, 2);
	quire_page_put(t.n.q, page);
	quire_page_put(t.n.q, page);
	drop(&t, 70);
	end(&t);
}

/* --- Threads --------------------------------------------------------------------------------- */

#define REMOVALS 3000u

static uint64_t some_index(uint32_t *seed)
{
	uint64_t n = (*seed = *seed * 1664525u + 1013904223u) >> 29;

	return n * n * n * 12;
}

/* Two may look for one page: who comes second must see that it is gone. */
static void remove_pages(struct native *n, struct cache_test *t)
{
	uint32_t seed = 1;

	while (__atomic_load_n(&t->removed, __ATOMIC_RELAXED) < REMOVALS) {
		struct quire_page *page = quire_cache_find_locked(&t->file, some_index(&seed));

		if (!page)
			continue;
		quire_cache_remove(&t->file, page);
		quire_page_unlock(n->q, page);
		quire_page_put(n->q, page);
	}
	quire_atomic_set(&t->done, 1);
}

/*
 * Two CPUs remove pages, the others find and make them until they are done. There are few frames,
 * so that a frame is soon another index's page.
 */
static void find_against_remove(struct native *n, unsigned cpu)
{
	struct cache_test *t = n->test;
	uint32_t seed = cpu + 1;

	if (cpu < 2)
		remove_pages(n, t);
	while (!quire_atomic_read(&t->done)) {
		uint64_t index = some_index(&seed);
		struct quire_page *page;

		if (quire_cache_read(&t->file, index, &page))
			continue;
		if (page->index != index ||
		    *(volatile uint64_t *)quire_page_address(n->q, page) != index)
			__atomic_add_fetch(&t->wrong, 1, __ATOMIC_RELAXED);
		quire_page_put(n->q, page);
	}
}

static void lockless_find(void **state)
{
	static struct cache_test t;
	struct quire_page *page;

	(void)state;
	start(&t, NATIVE_TEXT_PAGES + 12);
	native_run(&t.n, CPUS, find_against_remove);
	assert_int_equal(t.wrong, 0);
	for (uint64_t index = 0; (page = quire_cache_next(&t.file, &index, -1));) {
		quire_page_put(t.n.q, page);
		drop(&t, index);
	}
	assert_true(t.removed >= REMOVALS);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(folio_over_many_nodes),
		cmocka_unit_test(added_dirty),
		cmocka_unit_test(refused_memory_changes_nothing),
		cmocka_unit_test(grab_without_memory),
		cmocka_unit_test(read_reads_once),
		cmocka_unit_test(lockless_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
