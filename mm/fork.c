/*
 * fork: a copy of a space that shares its pages until one of the two stores.
 *
 * Only entries of private pages are copied, without the right to store in both spaces; whatever a
 * file can give again faults in the child. The parent's areas lock is held for writing until the
 * TLB is purged: no fault makes a page its own in between, and when fork returns no CPU can store
 * to a shared page through an old entry.
 *
 * Nothing is flushed here. The child sees a private page at the parent's address, so at its colour;
 * and the copy on write that comes later brings what the source's lines hold
 * (quire_coherence_copy_user_page).
 */
#include "mm/walk.h"

struct fork {
	struct quire *q;
	struct quire_space *parent, *child;
	/* Addresses whose entries were narrowed in the parent; first > last: none. */
	uintptr_t first, last;
};

static bool is_private_page(struct quire *q, const struct quire_entry *entry,
			    struct quire_page **page)
{
	*page = entry->bits ? quire_page_of(q, entry->frame) : NULL;
	return *page && quire_page_is(*page, QUIRE_PAGE_ANON);
}

/* Copies one entry; both tables are locked. */
static int fork_entry(struct fork *fork, struct quire_slot *from, struct quire_slot *to)
{
	const unsigned stores = QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	struct quire *q = fork->q;
	struct quire_entry entry = quire_slot_read(from), narrow;
	struct quire_page *page;
	int error;

	if (!is_private_page(q, &entry, &page))
		return 0;
	quire_step(q, QUIRE_STEP_FORK_ENTRY);
	error = quire_rmap_add(q, page, fork->child, to->va);
	if (error)
		return error;
	quire_page_get(page);
	narrow = (struct quire_entry){.frame = entry.frame, .bits = entry.bits & ~stores};
	if (entry.bits & QUIRE_ENTRY_WRITE) {
		(void)quire_slot_exchange(from, narrow);
		if (from->va < fork->first)
			fork->first = from->va;
		if (from->va > fork->last)
			fork->last = from->va;
	}
	quire_coherence_user_map(q, page, fork->child, to->va, narrow.bits & QUIRE_ENTRY_EXEC);
	quire_slot_write(to, narrow);
	fork->child->resident++;
	return 0;
}

/* Moves *from to the first entry of a private page before `stop`; false: there is none. */
static bool find_private(struct fork *fork, struct quire_slot *from, uintptr_t stop)
{
	struct quire_page *page;
	bool found = false;

	quire_slot_lock(from);
	while (from->va < stop) {
		struct quire_entry entry = quire_slot_read(from);

		found = is_private_page(fork->q, &entry, &page);
		if (found)
			break;
		quire_walk_step(from);
	}
	quire_slot_unlock(from);
	return found;
}

/*
 * Copies the entries of one leaf table of the parent, from `from` up to `stop`. The child gets a
 * table only if there is something to put into it; memory for it is taken without the parent's
 * table lock.
 */
static int fork_table(struct fork *fork, struct quire_slot *from, uintptr_t stop)
{
	struct quire_slot to;
	int error;

	if (!find_private(fork, from, stop))
		return 0;
	error = quire_table_reach(fork->child, from->va, &to);
	if (error)
		return error;
	quire_slot_lock(from);
	quire_slot_lock(&to);
	while (from->va < stop && !error) {
		error = fork_entry(fork, from, &to);
		quire_walk_step(from);
		quire_walk_step(&to);
	}
	quire_slot_unlock(&to);
	quire_slot_unlock(from);
	return error;
}

static int fork_area(struct fork *fork, const struct quire_area *area)
{
	struct quire_area *copy;
	struct quire_slot slot;
	uintptr_t at = area->start, stop;
	int error = 0;

	quire_step(fork->q, QUIRE_STEP_FORK_AREA);
	copy = quire_area_copy(fork->q, area);
	if (!copy)
		return -QUIRE_ENOMEM;
	quire_area_insert(&fork->child->areas, copy);
	if (area->flags & QUIRE_MAP_SHARED)
		return 0;
	while (!error && quire_walk_table(fork->parent, &at, area->end, &slot, &stop))
		error = fork_table(fork, &slot, stop);
	return error;
}

int quire_space_fork(struct quire_space *parent, struct quire_space **child)
{
	struct quire *q = parent->quire;
	struct fork fork = {.q = q, .parent = parent, .first = UINTPTR_MAX};
	struct quire_area *area;
	int error;

	quire_step(q, QUIRE_STEP_SYSCALL);
	quire_step(q, QUIRE_STEP_FORK_SPACE);
	fork.child = quire_space_create(q, &error);
	if (!fork.child)
		return error;
	quire_brlock_write_lock(q, &parent->areas_lock);
	quire_brlock_write_lock(q, &fork.child->areas_lock);
	for (area = quire_area_find(&parent->areas, 0); area && !error;
	     area = quire_area_next(area))
		error = fork_area(&fork, area);
	if (fork.first <= fork.last)
		quire_coherence_tlb(q, parent, fork.first, fork.last + QUIRE_PAGE_BYTES,
				    QUIRE_SITE_TLB_FORK);
	quire_brlock_write_unlock(q, &fork.child->areas_lock);
	quire_brlock_write_unlock(q, &parent->areas_lock);
	if (error) {
		quire_space_destroy(fork.child);
		return error;
	}
	*child = fork.child;
	return 0;
}
