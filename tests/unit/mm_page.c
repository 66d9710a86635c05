/*
 * Page frames: no page has two owners, free blocks grow together again, the last page can be had.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/native.h"

#define PAGES 2048u
#define CPUS  4

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

/* --- Against a model: who owns each frame ---------------------------------------------------- */

struct model {
	bool owned[PAGES + 64];
	struct quire_page *blocks[PAGES];
	unsigned count;
	unsigned pages;
};

static void model_take(struct native *n, struct model *m, unsigned order)
{
	struct quire_page *page = quire_page_alloc(n->q, order);

	if (!page)
		return;
	assert_int_equal(page->order, order);
	assert_int_equal(page->frame & ((1u << order) - 1), 0);
	assert_int_equal(quire_atomic_read(&page->refs), 1);
	assert_int_equal(quire_atomic_read(&page->flags), 0);
	assert_true(page->frame >= NATIVE_TEXT_PAGES);
	for (unsigned f = page->frame; f < page->frame + (1u << order); f++) {
		struct quire_page *tail = quire_page_of(n->q, f);

		assert_false(m->owned[f]);
		m->owned[f] = true;
		assert_non_null(tail);
		assert_ptr_equal(quire_page_head(tail), page);
		assert_int_equal(quire_page_is(tail, QUIRE_PAGE_TAIL), tail != page);
	}
	m->blocks[m->count++] = page;
	m->pages += 1u << order;
}

static void model_give(struct native *n, struct model *m, unsigned at)
{
	struct quire_page *page = m->blocks[at];
	unsigned pages = 1u << page->order;

	memset(&m->owned[page->frame], 0, pages);
	m->pages -= pages;
	m->blocks[at] = m->blocks[--m->count];
	quire_page_put(n->q, page);
}

static void check_free(struct native *n, const struct model *m)
{
	assert_int_equal(quire_pages_free(n->q), n->q->managed_pages - m->pages);
}

static void random_blocks(void **state)
{
	static struct model m;
	struct native n;
	uint32_t seed = 7;

	(void)state;
	for (unsigned hole = 0; hole <= 48; hole += 24) {
		native_start_with_hole(&n, CPUS, PAGES, hole);
		assert_int_equal(n.q->managed_pages, PAGES - NATIVE_TEXT_PAGES);
		memset(&m, 0, sizeof(m));
		for (unsigned round = 0; round < 20000; round++) {
			native_be_cpu(draw(&seed, CPUS));
			if (draw(&seed, 100) < (round / 2000 % 2 ? 40 : 60))
				model_take(&n, &m, draw(&seed, 3) ? 0 : draw(&seed, QUIRE_ORDERS));
			else if (m.count)
				model_give(&n, &m, draw(&seed, m.count));
			if (round % 64 == 0)
				check_free(&n, &m);
		}
		while (m.count)
			model_give(&n, &m, m.count - 1);
		check_free(&n, &m);
		native_end(&n);
	}
}

/* --- Growing together ------------------------------------------------------------------------ */

static unsigned count_free_blocks(struct native *n, unsigned order)
{
	unsigned count = 0;

	for (struct quire_list *l = n->q->free[order].next; l != &n->q->free[order]; l = l->next)
		count++;
	return count;
}

/*
 * What blocks there are once every single page was taken and given back is what there was at first.
 */
static void blocks_grow_together(void **state)
{
	static struct quire_page *pages[PAGES];
	struct native n;
	unsigned count = 0, before[QUIRE_ORDERS];

	(void)state;
	native_start(&n, CPUS, PAGES);
	for (unsigned order = 0; order < QUIRE_ORDERS; order++)
		before[order] = count_free_blocks(&n, order);
	assert_int_equal(before[QUIRE_ORDERS - 1], 1); /* the kernel's text is in the other one */
	while ((pages[count] = quire_page_alloc(n.q, 0)))
		count++;
	assert_int_equal(count, n.q->managed_pages);
	assert_int_equal(quire_pages_free(n.q), 0);
	for (unsigned at = 0; at < count; at += 2)
		quire_page_put(n.q, pages[at]);
	for (unsigned at = 1; at < count; at += 2)
		quire_page_put(n.q, pages[at]);
	/* The largest order makes it collect what the CPU has kept. */
	pages[0] = quire_page_alloc(n.q, QUIRE_ORDERS - 1);
	assert_non_null(pages[0]);
	assert_null(quire_page_alloc(n.q, QUIRE_ORDERS - 1));
	quire_page_put(n.q, pages[0]);
	for (unsigned order = 0; order < QUIRE_ORDERS; order++)
		assert_int_equal(count_free_blocks(&n, order), before[order]);
	native_end(&n);
}

static void exhaustion_returns_null(void **state)
{
	static struct quire_page *pages[PAGES];
	struct native n;
	unsigned count = 0;

	(void)state;
	native_start(&n, CPUS, 64);
	assert_null(quire_page_alloc(n.q, QUIRE_ORDERS));
	assert_null(quire_page_alloc(n.q, 7));
	/* Pages that another CPU keeps are found. */
	native_be_cpu(1);
	for (; count < 20; count++)
		assert_non_null((pages[count] = quire_page_alloc(n.q, 0)));
	while (count)
		quire_page_put(n.q, pages[--count]);
	assert_int_not_equal(n.q->percpu[1].pages_count, 0);
	native_be_cpu(2);
	while ((pages[count] = quire_page_alloc(n.q, 0)))
		count++;
	assert_int_equal(count, 64 - NATIVE_TEXT_PAGES);
	assert_null(quire_page_alloc(n.q, 0));
	while (count)
		quire_page_put(n.q, pages[--count]);
	native_end(&n);
}

static void order_is_deterministic(void **state)
{
	uint32_t frames[2][100];

	(void)state;
	for (unsigned run = 0; run < 2; run++) {
		struct quire_page *pages[100];
		struct native n;

		native_start(&n, CPUS, 256);
		for (unsigned at = 0; at < 100; at++) {
			pages[at] = quire_page_alloc(n.q, 0);
			frames[run][at] = pages[at]->frame;
		}
		for (unsigned at = 0; at < 100; at++)
			quire_page_put(n.q, pages[at]);
		native_end(&n);
	}
	assert_memory_equal(frames[0], frames[1], sizeof(frames[0]));
	assert_int_equal(frames[0][0], NATIVE_TEXT_PAGES); /* low addresses first */
	assert_int_equal(frames[0][99], NATIVE_TEXT_PAGES + 99);
}

static void kernel_text_is_nobodys(void **state)
{
	struct native n;

	(void)state;
	native_start(&n, 1, 64);
	assert_null(quire_page_of(n.q, 0));
	assert_null(quire_page_of(n.q, NATIVE_TEXT_PAGES - 1));
	assert_non_null(quire_page_of(n.q, NATIVE_TEXT_PAGES));
	assert_non_null(quire_page_of(n.q, 63));
	assert_null(quire_page_of(n.q, 64));
	native_end(&n);
}

/* --- References ------------------------------------------------------------------------------ */

static void references_of_a_folio(void **state)
{
	struct quire_page *head, *tail;
	struct native n;
	uint64_t before;

	(void)state;
	native_start(&n, 1, 256);
	before = quire_pages_free(n.q);
	head = quire_page_alloc(n.q, 3);
	tail = head + 5;
	quire_page_get(tail);
	assert_int_equal(quire_atomic_read(&head->refs), 2);
	assert_int_equal(quire_atomic_read(&tail->refs), 0);
	assert_false(quire_page_try_get(tail));
	assert_true(quire_page_try_get(head));
	quire_page_lock(n.q, tail);
	assert_false(quire_page_try_lock(n.q, head));
	quire_page_unlock(n.q, head);
	quire_page_put(n.q, head);
	quire_page_put(n.q, tail);
	assert_int_equal(quire_pages_free(n.q), before - 8);
	quire_page_put(n.q, tail);
	assert_int_equal(quire_pages_free(n.q), before);
	assert_false(quire_page_try_get(head));
	native_end(&n);
}

/*
 * Every thread writes its number into the pages it has, and finds it there when it gives them back.
 */
static void take_stamp_give(struct native *n, unsigned cpu)
{
	struct quire_page *mine[24] = {0};
	uint32_t seed = cpu + 1;

	for (unsigned round = 0; round < 20000; round++) {
		unsigned at = draw(&seed, 24);
		unsigned char *stamp;

		if (!mine[at]) {
			mine[at] = quire_page_alloc(n->q, draw(&seed, 4) ? 0 : draw(&seed, 3));
			if (mine[at])
				*(unsigned char *)quire_page_address(n->q, mine[at]) =
					(unsigned char)(cpu + 1);
			continue;
		}
		stamp = (unsigned char *)quire_page_address(n->q, mine[at]);
		if (*stamp != cpu + 1)
			abort();
		*stamp = 0;
		quire_page_put(n->q, mine[at]);
		mine[at] = NULL;
	}
	for (unsigned at = 0; at < 24; at++)
		if (mine[at])
			quire_page_put(n->q, mine[at]);
}

static void threads_share_no_page(void **state)
{
	struct native n;

	(void)state;
	native_start(&n, CPUS, 96);
	native_run(&n, CPUS, take_stamp_give);
	assert_int_equal(quire_pages_free(n.q), n.q->managed_pages);
	native_end(&n);
}

static void page_clear_clears(void **state)
{
	struct quire_page *page;
	unsigned char *bytes;
	struct native n;

	(void)state;
	native_start(&n, 1, 64);
	page = quire_page_alloc(n.q, 0);
	bytes = (unsigned char *)quire_page_address(n.q, page);
	memset(bytes, 1, QUIRE_PAGE_BYTES);
	quire_page_clear(n.q, page, 100, 0);
	quire_page_clear(n.q, page, 100, 50);
	for (unsigned at = 0; at < QUIRE_PAGE_BYTES; at++)
		assert_int_equal(bytes[at], at < 100 || at >= 150);
	quire_page_put(n.q, page);
	native_end(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_blocks),           cmocka_unit_test(blocks_grow_together),
		cmocka_unit_test(exhaustion_returns_null), cmocka_unit_test(order_is_deterministic),
		cmocka_unit_test(kernel_text_is_nobodys),  cmocka_unit_test(references_of_a_folio),
		cmocka_unit_test(threads_share_no_page),   cmocka_unit_test(page_clear_clears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
