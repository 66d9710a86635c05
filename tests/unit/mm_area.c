/*
 * The tree of areas against the simplest model there is: a sorted array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/mm.h"

#define AREAS_MAX   200
#define SPACE_PAGES 1000u
#define PAGE        QUIRE_PAGE_BYTES

struct model {
	struct quire_areas areas;
	struct quire_area *sorted[AREAS_MAX];
	unsigned count;
	uint32_t seed;
};

static uint32_t draw(struct model *m, uint32_t below)
{
	m->seed = m->seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)m->seed * below) >> 32);
}

/* --- Invariants of the tree ------------------------------------------------------------------ */

static int check_subtree(const struct quire_area *a, uintptr_t *low, uintptr_t *high,
			 uintptr_t *gap)
{
	uintptr_t l_low, l_high, l_gap, r_low, r_high, r_gap;
	int left = 0, right = 0;

	*low = a->start;
	*high = a->end;
	*gap = 0;
	if (a->left) {
		assert_ptr_equal(a->left->parent, a);
		left = check_subtree(a->left, &l_low, &l_high, &l_gap);
		assert_true(l_high <= a->start);
		*low = l_low;
		*gap = l_gap > a->start - l_high ? l_gap : a->start - l_high;
	}
	if (a->right) {
		assert_ptr_equal(a->right->parent, a);
		right = check_subtree(a->right, &r_low, &r_high, &r_gap);
		assert_true(r_low >= a->end);
		*high = r_high;
		*gap = r_gap > *gap ? r_gap : *gap;
		*gap = r_low - a->end > *gap ? r_low - a->end : *gap;
	}
	assert_in_range(left - right + 1, 0, 2);
	assert_int_equal(a->height, 1 + (left > right ? left : right));
	assert_int_equal(a->low, *low);
	assert_int_equal(a->high, *high);
	assert_int_equal(a->gap, *gap);
	return a->height;
}

static void check_order(const struct model *m)
{
	const struct quire_area *area = quire_area_find(&m->areas, 0);

	for (unsigned n = 0; n < m->count; n++) {
		assert_ptr_equal(area, m->sorted[n]);
		assert_ptr_equal(quire_area_prev(area), n ? m->sorted[n - 1] : NULL);
		area = quire_area_next(area);
	}
	assert_null(area);
	assert_int_equal(m->areas.count, m->count);
}

static void check_tree(const struct model *m)
{
	uintptr_t low, high, gap;

	if (m->areas.root) {
		assert_null(m->areas.root->parent);
		check_subtree(m->areas.root, &low, &high, &gap);
	}
	check_order(m);
}

/* --- The model ------------------------------------------------------------------------------- */

static unsigned position(const struct model *m, uintptr_t va)
{
	unsigned n = 0;

	while (n < m->count && m->sorted[n]->end <= va)
		n++;
	return n;
}

static bool model_insert(struct model *m, uintptr_t start, uintptr_t end)
{
	unsigned at = position(m, start);
	struct quire_area *area;

	if (m->count == AREAS_MAX || (at < m->count && m->sorted[at]->start < end))
		return false;
	area = calloc(1, sizeof(*area));
	assert_non_null(area);
	area->start = start;
	area->end = end;
	memmove(&m->sorted[at + 1], &m->sorted[at], (m->count - at) * sizeof(m->sorted[0]));
	m->sorted[at] = area;
	m->count++;
	quire_area_insert(&m->areas, area);
	return true;
}

static void model_erase(struct model *m, unsigned at)
{
	quire_area_erase(&m->areas, m->sorted[at]);
	free(m->sorted[at]);
	m->count--;
	memmove(&m->sorted[at], &m->sorted[at + 1], (m->count - at) * sizeof(m->sorted[0]));
}

static void model_resize(struct model *m, unsigned at)
{
	struct quire_area *area = m->sorted[at];
	uintptr_t least = at ? m->sorted[at - 1]->end : 0;
	uintptr_t most = at + 1 < m->count ? m->sorted[at + 1]->start : SPACE_PAGES * PAGE;
	uint32_t pages = (uint32_t)((most - least) / PAGE);
	uint32_t first = draw(m, pages);

	area->start = least + first * PAGE;
	area->end = area->start + (1 + draw(m, pages - first)) * PAGE;
	quire_area_resized(&m->areas, area);
}

/* Tries every start. */
static bool model_gap(const struct model *m, uintptr_t low, uintptr_t high, size_t bytes,
		      size_t period, uintptr_t colour, uintptr_t *start)
{
	for (uintptr_t va = low; va < high && bytes <= high - va; va += PAGE) {
		unsigned at = position(m, va);

		if (period && ((va ^ colour) & (period - 1)))
			continue;
		if (at < m->count && m->sorted[at]->start < va + bytes)
			continue;
		*start = va;
		return true;
	}
	return false;
}

static bool is_gap(const struct model *m, uintptr_t start, size_t bytes)
{
	unsigned at = position(m, start);

	return at == m->count || m->sorted[at]->start >= start + bytes;
}

static void check_gap(struct model *m)
{
	static const size_t periods[] = {0, 0, 2 * PAGE, 4 * PAGE, 16 * PAGE};
	uintptr_t low = draw(m, SPACE_PAGES + 100) * PAGE, high = low + draw(m, SPACE_PAGES) * PAGE;
	size_t bytes = (1 + draw(m, 24)) * PAGE, period = periods[draw(m, 5)];
	uintptr_t colour = draw(m, 64) * PAGE, expected, got;
	bool there = model_gap(m, low, high, bytes, period, colour, &expected);

	assert_int_equal(quire_area_gap(&m->areas, low, high, bytes, period, colour, &got), there);
	if (!there)
		return;
	assert_true(got >= low && got < high && bytes <= high - got);
	assert_true(is_gap(m, got, bytes));
	if (period)
		assert_int_equal((got ^ colour) & (period - 1), 0);
	else
		assert_int_equal(got, expected);
}

static void check_find(struct model *m)
{
	uintptr_t va = draw(m, SPACE_PAGES * (uint32_t)PAGE);
	unsigned at = position(m, va);

	assert_ptr_equal(quire_area_find(&m->areas, va), at < m->count ? m->sorted[at] : NULL);
}

static void random_changes(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct model m = {.seed = seed};

		for (unsigned round = 0; round < 2000; round++) {
			uintptr_t start = draw(&m, SPACE_PAGES - 8) * PAGE;
			uint32_t what = draw(&m, 8);

			if (what < 4 || !m.count)
				model_insert(&m, start, start + (1 + draw(&m, 8)) * PAGE);
			else if (what < 6 || m.count > AREAS_MAX * 3 / 4)
				model_erase(&m, draw(&m, m.count));
			else
				model_resize(&m, draw(&m, m.count));
			check_tree(&m);
			check_find(&m);
			check_gap(&m);
		}
		while (m.count)
			model_erase(&m, m.count - 1);
		assert_null(m.areas.root);
	}
}

static void gap_of_an_empty_space(void **state)
{
	struct quire_areas areas = {0};
	uintptr_t start = 0;

	(void)state;
	assert_true(quire_area_gap(&areas, PAGE, 4 * PAGE, 3 * PAGE, 0, 0, &start));
	assert_int_equal(start, PAGE);
	assert_false(quire_area_gap(&areas, PAGE, 4 * PAGE, 4 * PAGE, 0, 0, &start));
	assert_true(quire_area_gap(&areas, PAGE, 4 * PAGE, PAGE, 4 * PAGE, 7 * PAGE, &start));
	assert_int_equal(start, 3 * PAGE);
	assert_false(quire_area_gap(&areas, PAGE, 4 * PAGE, PAGE, 4 * PAGE, 0, &start));
	assert_false(quire_area_gap(&areas, PAGE, PAGE, PAGE, 0, 0, &start));
	assert_false(quire_area_gap(&areas, PAGE, 4 * PAGE, 0, 0, 0, &start));
	assert_false(quire_area_gap(&areas, PAGE, 4 * PAGE, SIZE_MAX, 0, 0, &start));
}

/* Ascending and descending order make the tallest trees where nothing balances. */
static void height_is_logarithmic(void **state)
{
	static struct quire_area area[4096];

	(void)state;
	for (int descending = 0; descending < 2; descending++) {
		struct quire_areas areas = {0};

		for (unsigned n = 0; n < 4096; n++) {
			unsigned at = descending ? 4095 - n : n;

			area[at] = (struct quire_area){.start = 2 * at * PAGE,
						       .end = (2 * at + 1) * PAGE};
			quire_area_insert(&areas, &area[at]);
		}
		assert_in_range(areas.root->height, 12, 17); /* 1.44 log2(4097) */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(gap_of_an_empty_space),
		cmocka_unit_test(height_is_logarithmic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
