/*
 * Areas come, change and go: mmap, munmap, mprotect.
 *
 * All three hold the areas lock for writing, so no fault of the space runs meanwhile, and all
 * follow one plan: take the memory that may be needed before anything changes; split areas so that
 * the range begins and ends with an area; change whole areas; free records and drop files after the
 * lock is let go.
 *
 * ENTRIES ARE NARROWED HERE, and by writeback, truncate and msync at the same time, which do not
 * hold the areas lock. So nothing is concluded from an entry that is narrow already: its purge may
 * still be under way on another CPU. mprotect purges its whole range whenever it takes rights away.
 * And an entry that was dirty has its TLB entries purged before its table lock is let go: else
 * writeback could find neither a dirty entry nor a stale one to wait for, while another CPU still
 * stores through the stale one.
 *
 * SUBTREE. Under that policy a leaf table may forbid stores as a whole, which is undone as a whole
 * by the first store. That is right only while all of the table belongs to one area. So a split
 * inside a leaf table first turns the table's protection into protection of its entries
 * (split_table).
 */
#include "mm/walk.h"

/* Records taken before anything changes: a range has two ends to split at. */
#define SPARES 2

struct change {
	struct quire_space *space;
	struct quire_area *spare[SPARES];
	unsigned spares;
	struct quire_area *dead; /* areas removed, chained by `left` */
};

/* --- Records ---------------------------------------------------------------------------------- */

/* Counts the area at its file, and takes the file's reference. */
static void attach(struct quire_area *area)
{
	if (!area->file)
		return;
	quire_file_get(area->file);
	quire_atomic_add(&area->file->areas, 1);
	if ((area->flags & QUIRE_MAP_SHARED) && area->file_writable)
		quire_atomic_add(&area->file->writable_areas, 1);
}

static void detach(struct quire_area *area)
{
	if (!area->file)
		return;
	if ((area->flags & QUIRE_MAP_SHARED) && area->file_writable)
		quire_atomic_add(&area->file->writable_areas, (uint32_t)-1);
	quire_atomic_add(&area->file->areas, (uint32_t)-1);
	quire_file_put(area->file);
}

struct quire_area *quire_area_copy(struct quire *q, const struct quire_area *area)
{
	struct quire_area *copy = quire_new(q, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *area;
	copy->left = copy->right = copy->parent = NULL;
	attach(copy);
	return copy;
}

void quire_area_free(struct quire *q, struct quire_area *area)
{
	detach(area);
	quire_delete(q, area, sizeof(*area));
}

static int change_begin(struct change *change, struct quire_space *space)
{
	struct quire *q = space->quire;

	change->space = space;
	change->spares = 0;
	change->dead = NULL;
	for (; change->spares < SPARES; change->spares++) {
		change->spare[change->spares] = quire_new(q, sizeof(struct quire_area));
		if (!change->spare[change->spares]) {
			while (change->spares)
				quire_delete(q, change->spare[--change->spares],
					     sizeof(struct quire_area));
			return -QUIRE_ENOMEM;
		}
	}
	quire_brlock_write_lock(q, &space->areas_lock);
	return 0;
}

static void change_end(struct change *change)
{
	struct quire *q = change->space->quire;

	quire_brlock_write_unlock(q, &change->space->areas_lock);
	while (change->spares)
		quire_delete(q, change->spare[--change->spares], sizeof(struct quire_area));
	while (change->dead) {
		struct quire_area *area = change->dead;

		change->dead = area->left;
		quire_area_free(q, area);
	}
}

static void bury(struct change *change, struct quire_area *area)
{
	quire_step(change->space->quire, QUIRE_STEP_AREA_CHANGE);
	quire_area_erase(&change->space->areas, area);
	area->left = change->dead;
	change->dead = area;
}

/* --- Splitting and merging -------------------------------------------------------------------- */

/* Before va becomes the border of two areas: see the top of this file. */
static void split_table(struct quire_space *space, uintptr_t va)
{
	struct quire *q = space->quire;
	uintptr_t span = quire_table_span(space);
	uintptr_t base = va & ~(span - 1);

	if (va == base || q->policy.file_times != QUIRE_FILE_TIMES_SUBTREE ||
	    !q->machine.traits.subtree_protect)
		return;
	quire_protect_entries(space, base, base + span);
	if (quire_table_unprotect(space, va))
		quire_coherence_tlb(q, space, base, base + span, QUIRE_SITE_TLB_PROTECT);
}

/* Makes two areas of one, the second beginning at va, which lies inside. */
static void split(struct change *change, struct quire_area *area, uintptr_t va)
{
	struct quire_space *space = change->space;
	struct quire_area *right;

	quire_require(space->quire, change->spares > 0);
	quire_step(space->quire, QUIRE_STEP_AREA_CHANGE);
	split_table(space, va);
	right = change->spare[--change->spares];
	*right = *area;
	right->left = right->right = right->parent = NULL;
	right->start = va;
	right->index = area->index + ((va - area->start) >> QUIRE_PAGE_SHIFT);
	attach(right);
	area->end = va;
	quire_area_resized(&space->areas, area);
	quire_area_insert(&space->areas, right);
}

/* Splits where the range begins and ends inside an area; the first area of the range, or NULL. */
static struct quire_area *cut(struct change *change, uintptr_t low, uintptr_t high)
{
	struct quire_areas *areas = &change->space->areas;
	struct quire_area *area = quire_area_find(areas, low);

	if (area && area->start < low)
		split(change, area, low);
	area = quire_area_find(areas, high - 1);
	if (area && area->start < high && area->end > high)
		split(change, area, high);
	area = quire_area_find(areas, low);
	return area && area->start < high ? area : NULL;
}

/* Could the two, of which b begins where a ends, be one? */
static bool same_kind(const struct quire_area *a, const struct quire_area *b)
{
	return a->end == b->start && a->prot == b->prot && a->flags == b->flags &&
	       a->file == b->file && a->file_writable == b->file_writable &&
	       (!a->file || a->index + ((a->end - a->start) >> QUIRE_PAGE_SHIFT) == b->index);
}

static void merge_with_next(struct change *change, struct quire_area *area)
{
	struct quire_area *next = quire_area_next(area);
	uintptr_t end;

	if (!next || !same_kind(area, next))
		return;
	end = next->end;
	bury(change, next);
	area->end = end;
	quire_area_resized(&change->space->areas, area);
}

/* Merges what can be merged from before `low` to after `high`. */
static void merge(struct change *change, uintptr_t low, uintptr_t high)
{
	struct quire_area *area = quire_area_find(&change->space->areas, low ? low - 1 : low);

	while (area && area->start <= high) {
		uintptr_t end = area->end;

		merge_with_next(change, area);
		if (area->end == end)
			area = quire_area_next(area);
	}
}

/* --- Entries ---------------------------------------------------------------------------------- */

static bool is_private_page(const struct quire_page *page)
{
	return quire_page_is(page, QUIRE_PAGE_ANON);
}

/*
 * Removes the slot's entry into the batch; true if stores through it had made a page of a file
 * dirty. `keep`: private pages stay.
 */
static bool unmap_slot(struct quire_batch *batch, struct quire_slot *slot, bool keep)
{
	struct quire_space *space = slot->space;
	struct quire *q = space->quire;
	struct quire_entry entry = quire_slot_read(slot);
	struct quire_page *page;
	bool dirty;

	if (!entry.bits)
		return false;
	page = quire_page_of(q, entry.frame);
	quire_require(q, page);
	if (keep && is_private_page(page))
		return false;
	quire_step(q, QUIRE_STEP_UNMAP_ENTRY);
	entry = quire_slot_exchange(slot, (struct quire_entry){0});
	dirty = (entry.bits & QUIRE_ENTRY_DIRTY) && page->file;
	if (dirty)
		quire_page_dirty(q, page);
	quire_rmap_remove(q, page, space, slot->va);
	space->resident--;
	quire_batch_add(batch, page, slot->va, entry.bits & QUIRE_ENTRY_EXEC, true);
	return dirty;
}

/* Removes the entries of [low, high), or of the pages of files there only (`keep`). */
static void unmap_range(struct quire_space *space, uintptr_t low, uintptr_t high, bool exec,
			bool keep, enum quire_site site)
{
	struct quire_batch batch;
	struct quire_slot slot;
	uintptr_t at = low, stop;

	quire_batch_begin(&batch, space, low, high, site);
	batch.exec = exec;
	while (quire_walk_table(space, &at, high, &slot, &stop)) {
		uintptr_t first = slot.va;
		bool dirty = false;

		quire_slot_lock(&slot);
		for (; slot.va < stop; quire_walk_step(&slot))
			dirty |= unmap_slot(&batch, &slot, keep);
		if (dirty)
			quire_coherence_tlb(space->quire, space, first, stop, site);
		quire_slot_unlock(&slot);
	}
	quire_batch_end(&batch);
}

void quire_unmap_entries(struct quire_space *space, struct quire_area *area, uintptr_t low,
			 uintptr_t high, bool exiting)
{
	unmap_range(space, low, high, area->prot & QUIRE_PROT_EXEC, false,
		    exiting ? QUIRE_SITE_TLB_SPACE : QUIRE_SITE_TLB_BATCH);
}

/* --- Files whose pages go --------------------------------------------------------------------- */

void quire_file_unmap(struct quire_file *file, uint64_t first, uint64_t last)
{
	struct quire *q = file->quire;
	struct quire_page *page;
	uint64_t index = first;

	while (index <= last && (page = quire_cache_next(file, &index, -1))) {
		if (index <= last) {
			quire_page_lock(q, page);
			if (page->file == file)
				quire_rmap_unmap_all(q, page);
			quire_page_unlock(q, page);
		}
		quire_page_put(q, page);
		if (index == UINT64_MAX)
			break;
		index++;
	}
}

/*
 * Private copies in one area of the file's pages from `first` on. The areas lock is held for
 * reading.
 */
static void unmap_private(struct quire_space *space, struct quire_area *area, uint64_t first)
{
	uint64_t pages = (area->end - area->start) >> QUIRE_PAGE_SHIFT;
	uint64_t skip = first > area->index ? first - area->index : 0;

	if (skip < pages)
		unmap_range(space, area->start + (uintptr_t)(skip << QUIRE_PAGE_SHIFT), area->end,
			    area->prot & QUIRE_PROT_EXEC, false, QUIRE_SITE_TLB_BATCH);
}

/*
 * The reverse map of a file's page does not know its private copies, so they are looked for in all
 * areas. The areas lock comes before `shape` in the order of locks, which is why this is a second
 * pass, after truncate has let shape go: faults see the new size already. `lists` is held over it;
 * nobody asks for that with an areas lock held.
 *
 * A fork may be under way. Children come after their parents in the list: so the parent is done
 * before the fork has its areas lock, and gives nothing on; or after, and then the child as well.
 */
void quire_file_unmap_private(struct quire_file *file, uint64_t first)
{
	struct quire *q = file->quire;

	if (!quire_atomic_read(&file->areas))
		return;
	quire_lock(q, &q->lists);
	for (struct quire_list *l = q->spaces.next; l != &q->spaces; l = l->next) {
		struct quire_space *space = quire_container(l, struct quire_space, link);
		unsigned cpu = quire_brlock_read_lock(q, &space->areas_lock);
		struct quire_area *area = quire_area_find(&space->areas, 0);

		for (; area; area = quire_area_next(area))
			if (area->file == file && (area->flags & QUIRE_MAP_PRIVATE))
				unmap_private(space, area, first);
		quire_brlock_read_unlock(q, &space->areas_lock, cpu);
	}
	quire_unlock(q, &q->lists);
}

/* --- mmap ------------------------------------------------------------------------------------- */

#define PROT_ALL (QUIRE_PROT_READ | QUIRE_PROT_WRITE | QUIRE_PROT_EXEC)
#define FLAGS_ALL                                                                       \
	(QUIRE_MAP_SHARED | QUIRE_MAP_PRIVATE | QUIRE_MAP_FIXED | QUIRE_MAP_ANONYMOUS | \
	 QUIRE_MAP_LOCKED)

/* Rounds a size up to pages; false: it does not fit an address. */
static bool round_up(size_t *bytes)
{
	if (*bytes > SIZE_MAX - QUIRE_PAGE_MASK)
		return false;
	*bytes = (*bytes + QUIRE_PAGE_MASK) & ~(size_t)QUIRE_PAGE_MASK;
	return true;
}

static bool in_user_range(const struct quire *q, uintptr_t va, size_t bytes)
{
	const struct quire_table_format *format = &q->machine.arch->table;

	return va >= format->user_low && va <= format->user_high && bytes <= format->user_high - va;
}

static int check_map(uintptr_t va, size_t *bytes, unsigned prot, unsigned flags,
		     const struct quire_file *file, uint64_t offset, bool file_writable)
{
	bool shared = flags & QUIRE_MAP_SHARED, private = flags & QUIRE_MAP_PRIVATE;

	if (!*bytes || shared == private || (prot & ~(unsigned)PROT_ALL) ||
	    (flags & ~(unsigned)FLAGS_ALL) || !file != !!(flags & QUIRE_MAP_ANONYMOUS) ||
	    (offset & QUIRE_PAGE_MASK) || ((flags & QUIRE_MAP_FIXED) && (va & QUIRE_PAGE_MASK)))
		return -QUIRE_EINVAL;
	if (!round_up(bytes))
		return -QUIRE_ENOMEM;
	if (file && (offset > INT64_MAX || *bytes > INT64_MAX - offset))
		return -QUIRE_EOVERFLOW;
	if (file && shared && (prot & QUIRE_PROT_WRITE) && !file_writable)
		return -QUIRE_EACCES;
	return 0;
}

static bool range_free(const struct quire_areas *areas, uintptr_t va, size_t bytes)
{
	const struct quire_area *area = quire_area_find(areas, va);

	return !area || area->start >= va + bytes;
}

/* Chooses where the new area goes, in area->start and end; *va is what was asked for. */
static int place(struct quire_space *space, struct quire_area *area, uintptr_t va, size_t bytes)
{
	struct quire *q = space->quire;
	const struct quire_table_format *format = &q->machine.arch->table;
	uintptr_t colour = 0, hint = va & ~(uintptr_t)QUIRE_PAGE_MASK;
	size_t period = 0;

	if (area->file)
		quire_coherence_colour(q, area->file, area->index, &period, &colour);
	if (area->flags & QUIRE_MAP_FIXED) {
		if (!in_user_range(q, va, bytes))
			return -QUIRE_ENOMEM;
		area->start = va;
	} else if (hint && in_user_range(q, hint, bytes) &&
		   range_free(&space->areas, hint, bytes) &&
		   (!period || (hint & (period - 1)) == colour)) {
		area->start = hint;
	} else if (!quire_area_gap(&space->areas, format->user_low, format->user_high, bytes,
				   period, colour, &area->start)) {
		return -QUIRE_ENOMEM;
	}
	area->end = area->start + bytes;
	area->flags &= ~(unsigned)QUIRE_MAP_FIXED;
	return 0;
}

/* Removes the areas of the range with all their entries. */
static void remove_range(struct change *change, uintptr_t low, uintptr_t high)
{
	struct quire_area *area = cut(change, low, high);
	bool any = area;

	while (area && area->start < high) {
		struct quire_area *next = quire_area_next(area);

		quire_unmap_entries(change->space, area, area->start, area->end, false);
		bury(change, area);
		area = next;
	}
	if (any)
		quire_table_trim(change->space, low, high);
}

/*
 * Puts the area, whose file and kind are set, into the space, and tells its start. It may have
 * become part of another area when this returns.
 */
static int insert(struct quire_space *space, struct quire_area *area, uintptr_t *va, size_t bytes)
{
	struct change change;
	int error = change_begin(&change, space);

	if (error)
		return error;
	error = place(space, area, *va, bytes);
	if (!error) {
		*va = area->start;
		remove_range(&change, area->start, area->end);
		quire_step(space->quire, QUIRE_STEP_AREA_CHANGE);
		quire_area_insert(&space->areas, area);
		merge(&change, area->start, area->end);
	}
	change_end(&change);
	return error;
}

/*
 * An area of the file (NULL: anonymous), or of memory that is shared; its place is not chosen yet.
 */
static int new_area(struct quire *q, size_t bytes, unsigned flags, struct quire_file *file,
		    struct quire_area **made)
{
	struct quire_area *area = quire_new(q, sizeof(*area));
	bool memory = !file && (flags & QUIRE_MAP_SHARED);
	int error = area ? 0 : -QUIRE_ENOMEM;

	if (!error && memory)
		error = quire_memory_file(q, bytes, &file);
	if (error) {
		if (area)
			quire_delete(q, area, sizeof(*area));
		return error;
	}
	area->flags = flags;
	area->file = file;
	area->file_writable = memory;
	*made = area;
	return 0;
}

int quire_mmap(struct quire_space *space, uintptr_t *va, size_t bytes, unsigned prot,
	       unsigned flags, struct quire_file *file, uint64_t offset, bool file_writable)
{
	struct quire *q = space->quire;
	struct quire_area *area;
	int error;

	quire_step(q, QUIRE_STEP_SYSCALL);
	error = check_map(*va, &bytes, prot, flags, file, offset, file_writable);
	if (error)
		return error;
	error = new_area(q, bytes, flags, file, &area);
	if (error)
		return error;
	area->prot = prot;
	area->index = file ? offset >> QUIRE_PAGE_SHIFT : 0;
	area->file_writable |= file_writable;
	attach(area);
	if (!file && area->file)
		quire_file_put(area->file); /* the area holds it now */
	error = insert(space, area, va, bytes);
	if (error) {
		quire_area_free(q, area);
		return error;
	}
	if (file)
		quire_times_read(file);
	return 0;
}

/* --- munmap ----------------------------------------------------------------------------------- */

int quire_munmap(struct quire_space *space, uintptr_t va, size_t bytes)
{
	struct change change;
	int error;

	quire_step(space->quire, QUIRE_STEP_SYSCALL);
	if (!bytes || (va & QUIRE_PAGE_MASK) || !round_up(&bytes) ||
	    !in_user_range(space->quire, va, bytes))
		return -QUIRE_EINVAL;
	error = change_begin(&change, space);
	if (error)
		return error;
	remove_range(&change, va, va + bytes);
	change_end(&change);
	return 0;
}

/* --- mprotect --------------------------------------------------------------------------------- */

/* What remains of an entry's bits under another protection; more comes by faults. */
static unsigned protected_bits(struct quire *q, unsigned bits, unsigned prot)
{
	if (prot == QUIRE_PROT_NONE)
		return QUIRE_ENTRY_YOUNG;
	bits |= QUIRE_ENTRY_PRESENT;
	if (!(prot & QUIRE_PROT_WRITE))
		bits &= ~(unsigned)(QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY);
	if (!(prot & QUIRE_PROT_EXEC))
		bits &= ~(unsigned)QUIRE_ENTRY_EXEC;
	else if (!quire_coherence_store_or_fetch(q))
		bits |= QUIRE_ENTRY_EXEC;
	return bits;
}

/* True if the entry changed. */
static bool protect_slot(struct quire_slot *slot, unsigned prot)
{
	struct quire *q = slot->space->quire;
	struct quire_entry entry = quire_slot_read(slot), now = entry;
	struct quire_page *page;

	quire_step(q, QUIRE_STEP_ENTRY_WALK);
	if (!entry.bits)
		return false;
	now.bits = protected_bits(q, entry.bits, prot);
	if (now.bits == entry.bits)
		return false;
	quire_step(q, QUIRE_STEP_ENTRY_PROTECT);
	page = quire_page_of(q, entry.frame);
	quire_require(q, page);
	if (now.bits & ~entry.bits & QUIRE_ENTRY_PRESENT)
		quire_coherence_user_map(q, page, slot->space, slot->va,
					 now.bits & QUIRE_ENTRY_EXEC);
	entry = quire_slot_exchange(slot, now);
	if ((entry.bits & QUIRE_ENTRY_DIRTY) && !(now.bits & QUIRE_ENTRY_DIRTY) && page->file)
		quire_page_dirty(q, page);
	return true;
}

static void protect_area(struct quire_space *space, struct quire_area *area, unsigned prot)
{
	struct quire *q = space->quire;
	bool narrower = area->prot & ~prot;
	uintptr_t at = area->start, stop;
	struct quire_slot slot;

	if (prot == QUIRE_PROT_NONE && area->file)
		unmap_range(space, area->start, area->end, area->prot & QUIRE_PROT_EXEC, true,
			    QUIRE_SITE_TLB_PROTECT);
	while (quire_walk_table(space, &at, area->end, &slot, &stop)) {
		uintptr_t first = slot.va;
		bool changed = narrower;

		quire_slot_lock(&slot);
		for (; slot.va < stop; quire_walk_step(&slot))
			changed |= protect_slot(&slot, prot);
		if (changed)
			quire_coherence_tlb(q, space, first, stop, QUIRE_SITE_TLB_PROTECT);
		quire_slot_unlock(&slot);
	}
	area->prot = prot;
}

/* Would the new protection be refused somewhere before the first hole? */
static bool refused(struct quire_space *space, uintptr_t low, uintptr_t high, unsigned prot)
{
	struct quire_area *area = quire_area_find(&space->areas, low);

	for (; area && area->start <= low && low < high; area = quire_area_next(area)) {
		if ((prot & QUIRE_PROT_WRITE) && (area->flags & QUIRE_MAP_SHARED) &&
		    !area->file_writable)
			return true;
		low = area->end;
	}
	return false;
}

/* The end of the areas that follow each other from va on, at most `high`. */
static uintptr_t covered_to(struct quire_space *space, uintptr_t va, uintptr_t high)
{
	struct quire_area *area = quire_area_find(&space->areas, va);

	for (; area && area->start <= va && va < high; area = quire_area_next(area))
		va = area->end;
	return va < high ? va : high;
}

static int protect_range(struct change *change, uintptr_t low, uintptr_t high, unsigned prot)
{
	struct quire_space *space = change->space;
	uintptr_t covered = covered_to(space, low, high);
	struct quire_area *area;

	if (refused(space, low, high, prot))
		return -QUIRE_EACCES;
	if (covered > low) {
		area = cut(change, low, covered);
		for (; area && area->start < covered; area = quire_area_next(area)) {
			quire_step(space->quire, QUIRE_STEP_AREA_CHANGE);
			if (area->prot != prot)
				protect_area(space, area, prot);
		}
		merge(change, low, covered);
	}
	return covered < high ? -QUIRE_ENOMEM : 0;
}

int quire_mprotect(struct quire_space *space, uintptr_t va, size_t bytes, unsigned prot)
{
	struct change change;
	int error;

	quire_step(space->quire, QUIRE_STEP_SYSCALL);
	if ((va & QUIRE_PAGE_MASK) || (prot & ~(unsigned)PROT_ALL) || !round_up(&bytes))
		return -QUIRE_EINVAL;
	if (!bytes)
		return 0;
	if (!in_user_range(space->quire, va, bytes))
		return -QUIRE_ENOMEM;
	error = change_begin(&change, space);
	if (error)
		return error;
	error = protect_range(&change, va, va + bytes, prot);
	change_end(&change);
	return error;
}
