/*
 * The areas of a space: a height-balanced binary tree by address.
 *
 * Areas do not overlap. Each node also tells of its subtree the lowest start, the highest end and
 * the largest gap between two neighbours, so that the search for free addresses passes over whole
 * subtrees that have no room. The tree is the usual one of Adelson-Velsky and Landis (1962): the
 * heights of two siblings differ by one at most.
 *
 * Two areas that touch have a gap of 0 between them. What lies before the first and after the last
 * area is no gap of the tree: the search knows the limits of the space, the tree does not.
 */
#include "mm/mm.h"

static int height(const struct quire_area *area)
{
	return area ? area->height : 0;
}

static uintptr_t larger(uintptr_t a, uintptr_t b)
{
	return a > b ? a : b;
}

/* Recomputes what a node says of its subtree from its children. */
static void update(struct quire_area *area)
{
	const struct quire_area *left = area->left, *right = area->right;

	area->height = 1 + (height(left) > height(right) ? height(left) : height(right));
	area->low = left ? left->low : area->start;
	area->high = right ? right->high : area->end;
	area->gap = 0;
	if (left)
		area->gap = larger(left->gap, area->start - left->high);
	if (right)
		area->gap = larger(area->gap, larger(right->gap, right->low - area->end));
}

/* Puts `child` where `area` hung from its parent. */
static void replace_child(struct quire_areas *areas, const struct quire_area *area,
			  struct quire_area *child)
{
	struct quire_area *parent = area->parent;

	if (!parent)
		areas->root = child;
	else if (parent->left == area)
		parent->left = child;
	else
		parent->right = child;
	if (child)
		child->parent = parent;
}

/* The right child takes the place of `area`, which becomes its left child. */
static struct quire_area *rotate_left(struct quire_areas *areas, struct quire_area *area)
{
	struct quire_area *up = area->right;

	replace_child(areas, area, up);
	area->right = up->left;
	if (area->right)
		area->right->parent = area;
	up->left = area;
	area->parent = up;
	update(area);
	update(up);
	return up;
}

static struct quire_area *rotate_right(struct quire_areas *areas, struct quire_area *area)
{
	struct quire_area *up = area->left;

	replace_child(areas, area, up);
	area->left = up->right;
	if (area->left)
		area->left->parent = area;
	up->right = area;
	area->parent = up;
	update(area);
	update(up);
	return up;
}

/* Updates from `area` up to the root, and balances what is out of balance. */
static void rebalance(struct quire_areas *areas, struct quire_area *area)
{
	for (; area; area = area->parent) {
		int lean = height(area->left) - height(area->right);

		update(area);
		if (lean > 1) {
			if (height(area->left->left) < height(area->left->right))
				rotate_left(areas, area->left);
			area = rotate_right(areas, area);
		} else if (lean < -1) {
			if (height(area->right->right) < height(area->right->left))
				rotate_right(areas, area->right);
			area = rotate_left(areas, area);
		}
	}
}

struct quire_area *quire_area_find(const struct quire_areas *areas, uintptr_t va)
{
	struct quire_area *area = areas->root, *found = NULL;

	while (area) {
		if (va < area->end) {
			found = area;
			area = area->left;
		} else {
			area = area->right;
		}
	}
	return found;
}

struct quire_area *quire_area_next(const struct quire_area *area)
{
	struct quire_area *next = area->right;

	if (next) {
		while (next->left)
			next = next->left;
		return next;
	}
	for (next = area->parent; next && next->right == area; next = next->parent)
		area = next;
	return next;
}

struct quire_area *quire_area_prev(const struct quire_area *area)
{
	struct quire_area *prev = area->left;

	if (prev) {
		while (prev->right)
			prev = prev->right;
		return prev;
	}
	for (prev = area->parent; prev && prev->left == area; prev = prev->parent)
		area = prev;
	return prev;
}

void quire_area_insert(struct quire_areas *areas, struct quire_area *area)
{
	struct quire_area **link = &areas->root, *parent = NULL;

	while (*link) {
		parent = *link;
		link = area->start < parent->start ? &parent->left : &parent->right;
	}
	area->left = area->right = NULL;
	area->parent = parent;
	*link = area;
	areas->count++;
	rebalance(areas, area);
}

void quire_area_erase(struct quire_areas *areas, struct quire_area *area)
{
	struct quire_area *from; /* lowest node whose subtree changed */

	if (area->left && area->right) {
		struct quire_area *next = quire_area_next(area);

		from = next->parent == area ? next : next->parent;
		replace_child(areas, next, next->right);
		next->left = area->left;
		next->right = area->right;
		replace_child(areas, area, next);
		next->left->parent = next;
		if (next->right)
			next->right->parent = next;
	} else {
		from = area->parent;
		replace_child(areas, area, area->left ? area->left : area->right);
	}
	area->left = area->right = area->parent = NULL;
	areas->count--;
	rebalance(areas, from);
}

void quire_area_resized(struct quire_areas *areas, struct quire_area *area)
{
	(void)areas;
	for (; area; area = area->parent)
		update(area);
}

/* --- Gaps ------------------------------------------------------------------------------------ */

struct gap {
	uintptr_t start, end;
};

/* The lowest gap of `bytes` inside a subtree that has one. */
static struct gap lowest_gap(const struct quire_area *area, size_t bytes)
{
	for (;;) {
		const struct quire_area *left = area->left, *right = area->right;

		if (left && left->gap >= bytes) {
			area = left;
			continue;
		}
		if (left && area->start - left->high >= bytes)
			return (struct gap){left->high, area->start};
		if (right->low - area->end >= bytes)
			return (struct gap){area->end, right->low};
		area = right;
	}
}

/* The lowest gap of `bytes` between two areas, the first of them `area` or beyond; false: none. */
static bool gap_after(const struct quire_area *area, size_t bytes, struct gap *gap)
{
	for (;;) {
		const struct quire_area *right = area->right, *below;

		if (right && right->low - area->end >= bytes) {
			*gap = (struct gap){area->end, right->low};
			return true;
		}
		if (right && right->gap >= bytes) {
			*gap = lowest_gap(right, bytes);
			return true;
		}
		do {
			below = area;
			area = area->parent;
		} while (area && area->right == below);
		if (!area)
			return false;
		if (area->start - below->high >= bytes) {
			*gap = (struct gap){below->high, area->start};
			return true;
		}
	}
}

/* The lowest start of `bytes` in the gap that is congruent to `colour` modulo `period`. */
static bool fits(struct gap gap, size_t bytes, size_t period, uintptr_t colour, uintptr_t *start)
{
	uintptr_t skip = period ? (colour - gap.start) & (period - 1) : 0;

	if (gap.start >= gap.end || gap.end - gap.start < bytes ||
	    gap.end - gap.start - bytes < skip)
		return false;
	*start = gap.start + skip;
	return true;
}

static struct gap clip(struct gap gap, uintptr_t high)
{
	if (gap.end > high)
		gap.end = high;
	return gap;
}

/* Tries, in order, the gaps that have at least `room`, and the one at `low` whatever it has. */
static bool search(const struct quire_areas *areas, uintptr_t low, uintptr_t high, size_t room,
		   size_t bytes, size_t period, uintptr_t colour, uintptr_t *start)
{
	const struct quire_area *area = quire_area_find(areas, low);
	struct gap gap = {low, area ? area->start : high};

	if (gap.start < gap.end && fits(clip(gap, high), bytes, period, colour, start))
		return true;
	while (area && area->end < high && gap_after(area, room, &gap) && gap.start < high) {
		if (fits(clip(gap, high), bytes, period, colour, start))
			return true;
		area = quire_area_find(areas, gap.end);
	}
	if (!areas->root)
		return false;
	gap = (struct gap){larger(low, areas->root->high), high};
	return fits(gap, bytes, period, colour, start);
}

/*
 * Any gap of bytes + period has a start of the right colour in it, so the first search ends at the
 * first gap it meets. Only if there is none are smaller gaps tried, one after the other.
 */
bool quire_area_gap(const struct quire_areas *areas, uintptr_t low, uintptr_t high, size_t bytes,
		    size_t period, uintptr_t colour, uintptr_t *start)
{
	if (!bytes || low >= high || bytes > high - low)
		return false;
	if (bytes <= SIZE_MAX - period &&
	    search(areas, low, high, bytes + period, bytes, period, colour, start))
		return true;
	return period && search(areas, low, high, bytes, bytes, period, colour, start);
}
