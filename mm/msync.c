/*
 * msync: what was stored through mappings becomes known to the file.
 *
 * THE TIMES of a file must be marked between a store and the next msync. A store that faults marks
 * them (fault.c), and msync makes the next one fault. How is the policy file_times: never     not
 * at all: msync only looks at the areas. The second store after a fault is missed. fault     every
 * entry of the range that allows stores is narrowed. subtree   where the ISA can forbid stores in
 * an upper entry, one such entry is narrowed for a whole leaf table of the range, and leaf entries
 * only at its ragged ends. The first store below gives the whole table back, and that is enough:
 * times are the file's, and the table is of one area.
 *
 * THE DATA. An entry that loses the right to store gives its dirty mark to the page, so nothing
 * depends on the entry any more. Protected tables leave entries and marks as they are. MS_SYNC then
 * writes the dirty pages of the range, and only of the range; nothing leaves the page cache.
 *
 * An entry is purged from all TLBs before its table lock is let go: writeback that finds it narrow
 * must be able to rely on no store coming through it any more.
 */
#include "mm/walk.h"

/* True if the entry was narrowed. */
static bool protect_slot(struct quire_slot *slot)
{
	const unsigned stores = QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	struct quire *q = slot->space->quire;
	struct quire_entry entry = quire_slot_read(slot), narrow = entry;
	struct quire_page *page;

	quire_step(q, QUIRE_STEP_ENTRY_WALK);
	if (!(entry.bits & QUIRE_ENTRY_PRESENT) || !(entry.bits & stores))
		return false;
	page = quire_page_of(q, entry.frame);
	if (!page || quire_page_is(page, QUIRE_PAGE_ANON))
		return false;
	quire_step(q, QUIRE_STEP_ENTRY_PROTECT);
	narrow.bits &= ~stores;
	entry = quire_slot_exchange(slot, narrow);
	if (entry.bits & QUIRE_ENTRY_DIRTY)
		quire_page_dirty(q, page);
	return true;
}

void quire_protect_entries(struct quire_space *space, uintptr_t low, uintptr_t high)
{
	struct quire_slot slot;
	uintptr_t stop;

	while (quire_walk_table(space, &low, high, &slot, &stop)) {
		uintptr_t first = UINTPTR_MAX, last = 0;

		quire_slot_lock(&slot);
		for (; slot.va < stop; quire_walk_step(&slot)) {
			if (!protect_slot(&slot))
				continue;
			if (first > last) {
				quire_step(space->quire, QUIRE_STEP_TABLE_ENTER);
				first = slot.va;
			}
			last = slot.va;
		}
		if (first <= last)
			quire_coherence_tlb(space->quire, space, first, last + QUIRE_PAGE_BYTES,
					    QUIRE_SITE_TLB_PROTECT);
		quire_slot_unlock(&slot);
	}
}

/* Whole leaf tables at once, what is before and after them by entry. */
static void protect_tables(struct quire_space *space, uintptr_t low, uintptr_t high)
{
	struct quire *q = space->quire;
	uintptr_t span = quire_table_span(space);
	uintptr_t from = (low + span - 1) & ~(span - 1), to = high & ~(span - 1);

	if (!q->machine.traits.subtree_protect || from < low || from >= to) {
		quire_protect_entries(space, low, high);
		return;
	}
	quire_protect_entries(space, low, from);
	if (quire_table_protect(space, from, to))
		quire_coherence_tlb(q, space, from, to, QUIRE_SITE_TLB_PROTECT);
	quire_protect_entries(space, to, high);
}

/* Makes the next store to [low, high) of a shared area fault. */
static void protect(struct quire_space *space, uintptr_t low, uintptr_t high)
{
	switch (space->quire->policy.file_times) {
	case QUIRE_FILE_TIMES_NEVER:
		break;
	case QUIRE_FILE_TIMES_FAULT:
		quire_protect_entries(space, low, high);
		break;
	case QUIRE_FILE_TIMES_SUBTREE:
		protect_tables(space, low, high);
		break;
	}
}

/* The pages of a file to be written, which the area that maps them cannot keep alive meanwhile. */
struct part {
	struct quire_file *file; /* with a reference; NULL: nothing to write */
	uint64_t first, last;
};

/*
 * Does what one area of [*va, high) asks for, and moves *va behind it. False: there is no further
 * one. *hole: there was something without an area before it.
 */
static bool sync_area(struct quire_space *space, uintptr_t *va, uintptr_t high, struct part *part,
		      bool *hole)
{
	struct quire_area *area = quire_area_find(&space->areas, *va);
	uintptr_t low = *va, end;

	part->file = NULL;
	if (!area || area->start >= high) {
		*hole = true;
		return false;
	}
	quire_step(space->quire, QUIRE_STEP_AREA_CHECK);
	if (area->start > low) {
		*hole = true;
		low = area->start;
	}
	end = area->end < high ? area->end : high;
	*va = end;
	if (!area->file || !(area->flags & QUIRE_MAP_SHARED))
		return true;
	protect(space, low, end);
	part->file = area->file;
	part->first = area->index + ((low - area->start) >> QUIRE_PAGE_SHIFT);
	part->last = area->index + ((end - 1 - area->start) >> QUIRE_PAGE_SHIFT);
	quire_file_get(part->file);
	return true;
}

/* The areas lock is not held over the writing, since that may take long. */
static int sync_range(struct quire_space *space, uintptr_t low, uintptr_t high, bool write)
{
	struct quire *q = space->quire;
	bool hole = false, more = true;
	int error = 0;

	while (more && low < high) {
		unsigned cpu = quire_brlock_read_lock(q, &space->areas_lock);
		struct part part;

		more = sync_area(space, &low, high, &part, &hole);
		quire_brlock_read_unlock(q, &space->areas_lock, cpu);
		if (!part.file)
			continue;
		if (write) {
			int result = quire_writeback(part.file, part.first, part.last);

			if (!error)
				error = result;
		}
		quire_file_put(part.file);
	}
	if (error)
		return error;
	return hole ? -QUIRE_ENOMEM : 0;
}

static bool any_locked(struct quire_space *space, uintptr_t low, uintptr_t high)
{
	unsigned cpu = quire_brlock_read_lock(space->quire, &space->areas_lock);
	struct quire_area *area = quire_area_find(&space->areas, low);
	bool locked = false;

	for (; area && area->start < high && !locked; area = quire_area_next(area))
		locked = area->flags & QUIRE_MAP_LOCKED;
	quire_brlock_read_unlock(space->quire, &space->areas_lock, cpu);
	return locked;
}

int quire_msync(struct quire_space *space, uintptr_t va, size_t bytes, unsigned flags)
{
	const unsigned all = QUIRE_MS_ASYNC | QUIRE_MS_INVALIDATE | QUIRE_MS_SYNC;

	quire_step(space->quire, QUIRE_STEP_SYSCALL);
	if ((va & QUIRE_PAGE_MASK) || (flags & ~all) ||
	    ((flags & QUIRE_MS_ASYNC) && (flags & QUIRE_MS_SYNC)))
		return -QUIRE_EINVAL;
	if (bytes > SIZE_MAX - QUIRE_PAGE_MASK)
		return -QUIRE_ENOMEM;
	bytes = (bytes + QUIRE_PAGE_MASK) & ~(size_t)QUIRE_PAGE_MASK;
	if (!bytes)
		return 0;
	if (va > UINTPTR_MAX - bytes)
		return -QUIRE_ENOMEM;
	if ((flags & QUIRE_MS_INVALIDATE) && any_locked(space, va, va + bytes))
		return -QUIRE_EBUSY;
	return sync_range(space, va, va + bytes, flags & QUIRE_MS_SYNC);
}
