/*
 * The reverse map: which table entries map a page.
 *
 * The first (space, va) lies in the page itself, since most pages are mapped once or never; further
 * ones are records chained from it. The chain is complete: an entry and its record come and go
 * under one hold of the entry's table lock. page->maps counts the records.
 *
 * THE PROBLEM. Truncation and writeback come from the page and need the entries, so they go against
 * the order of locks, in which the table lock comes before the page's rmap lock. And they know the
 * space only from the record: nothing keeps an exiting process from freeing its tables, and itself,
 * meanwhile.
 *
 * THE IDEA. A pass takes one record at a time: under the rmap lock it copies (space, va), lets go,
 * follows the space's tables to the entry, takes the table lock, and looks whether the entry still
 * maps the page. All of that is in one read section. A space removes all its entries, and so all
 * its records, before it waits for read sections to end (quire_table_destroy; quire_table_trim for
 * single tables), and only then frees anything. So if the record was there when it was copied,
 * space and tables stay until the section ends. A reference count in the space would do the same,
 * but would be one word that all CPUs write.
 *
 * A section must not wait for somebody who waits for sections: the only things awaited inside one
 * here are spin locks and TLB purges, and quire_read_wait is never called with a spin lock held.
 *
 * Records that a pass has copied are marked visited, so that one that stays (quire_rmap_clean) is
 * not taken again. Passes over one page do not mix: each holds the page lock. A mapping that
 * appears during a pass is visited too, which harms nobody.
 */
#include "mm/mm.h"

void quire_rmap_lock(struct quire *q, struct quire_page *page)
{
	quire_step(q, QUIRE_STEP_LOCK);
	while (quire_atomic_or(&page->flags, QUIRE_PAGE_RMAP_LOCKED) & QUIRE_PAGE_RMAP_LOCKED)
		q->machine.port.relax(q->machine.port.context);
}

void quire_rmap_unlock(struct quire *q, struct quire_page *page)
{
	uint32_t old = quire_atomic_clear(&page->flags, QUIRE_PAGE_RMAP_LOCKED);

	quire_require(q, old & QUIRE_PAGE_RMAP_LOCKED);
}

static void fill(struct quire_rmap *rmap, struct quire_space *space, uintptr_t va)
{
	rmap->space = space;
	rmap->va = va;
	rmap->visited = false;
}

int quire_rmap_add(struct quire *q, struct quire_page *page, struct quire_space *space,
		   uintptr_t va)
{
	struct quire_rmap *rmap;
	int error = 0;

	quire_rmap_lock(q, page);
	if (!page->rmap.space) {
		fill(&page->rmap, space, va);
	} else if ((rmap = quire_new(q, sizeof(*rmap)))) {
		fill(rmap, space, va);
		rmap->next = page->rmap.next;
		page->rmap.next = rmap;
	} else {
		error = -QUIRE_ENOMEM;
	}
	if (!error)
		quire_atomic_add(&page->maps, 1);
	quire_rmap_unlock(q, page);
	return error;
}

void quire_rmap_remove(struct quire *q, struct quire_page *page, struct quire_space *space,
		       uintptr_t va)
{
	struct quire_rmap **link = &page->rmap.next, *rmap = NULL;

	quire_rmap_lock(q, page);
	if (page->rmap.space == space && page->rmap.va == va) {
		page->rmap.space = NULL;
	} else {
		while ((rmap = *link) && !(rmap->space == space && rmap->va == va))
			link = &rmap->next;
		quire_require(q, rmap);
		/* cppcheck-suppress nullPointerRedundantCheck ; quire_require does not return */
		*link = rmap->next;
	}
	quire_atomic_add(&page->maps, (uint32_t)-1);
	quire_coherence_entry_goes(q, page, va);
	quire_rmap_unlock(q, page);
	if (rmap)
		quire_delete(q, rmap, sizeof(*rmap));
}

/* --- Passes ---------------------------------------------------------------------------------- */

static void pass_begin(struct quire *q, struct quire_page *page)
{
	quire_rmap_lock(q, page);
	for (struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next)
		rmap->visited = false;
	quire_rmap_unlock(q, page);
}

/* Copies a record that was not visited, and marks it; false: there is none. In a read section. */
static bool pass_next(struct quire *q, struct quire_page *page, struct quire_rmap *copy)
{
	struct quire_rmap *rmap = &page->rmap;

	quire_rmap_lock(q, page);
	while (rmap && (!rmap->space || rmap->visited))
		rmap = rmap->next;
	if (rmap) {
		rmap->visited = true;
		*copy = *rmap;
	}
	quire_rmap_unlock(q, page);
	return rmap;
}

/*
 * Locks the entry of a copied record; false: it does not map the page any more, nothing is locked.
 */
static bool lock_entry(struct quire_page *page, const struct quire_rmap *copy,
		       struct quire_slot *slot, struct quire_entry *entry)
{
	uintptr_t next;

	if (!quire_table_find(copy->space, copy->va, slot, &next))
		return false;
	quire_slot_lock(slot);
	*entry = quire_slot_read(slot);
	if (entry->bits && entry->frame == page->frame)
		return true;
	quire_slot_unlock(slot);
	return false;
}

/*
 * Purges the TLB of one entry and settles its lines; drops its reference when it was removed. The
 * table lock is held until that is done: who finds the entry absent or narrow (munmap, mprotect, a
 * writeback) may rely on it.
 */
static void settle_entry(struct quire_page *page, const struct quire_rmap *copy, bool exec,
			 bool removed)
{
	struct quire_batch batch;

	quire_batch_begin(&batch, copy->space, copy->va, copy->va + QUIRE_PAGE_BYTES,
			  QUIRE_SITE_TLB_PAGE);
	quire_batch_add(&batch, page, copy->va, exec, removed);
	quire_batch_end(&batch);
}

static void unmap_one(struct quire *q, struct quire_page *page, const struct quire_rmap *copy)
{
	struct quire_slot slot;
	struct quire_entry entry;

	if (!lock_entry(page, copy, &slot, &entry))
		return;
	quire_step(q, QUIRE_STEP_UNMAP_ENTRY);
	entry = quire_slot_exchange(&slot, (struct quire_entry){0});
	quire_rmap_remove(q, page, copy->space, copy->va);
	settle_entry(page, copy, entry.bits & QUIRE_ENTRY_EXEC, true);
	quire_slot_unlock(&slot);
	if (entry.bits & QUIRE_ENTRY_DIRTY)
		quire_page_dirty(q, page);
}

void quire_rmap_unmap_all(struct quire *q, struct quire_page *page)
{
	struct quire_rmap copy;
	unsigned cpu;
	bool more;

	if (!quire_page_mapped(page))
		return;
	pass_begin(q, page);
	do {
		cpu = quire_read_begin(q);
		more = pass_next(q, page, &copy);
		if (more)
			unmap_one(q, page, &copy);
		quire_read_end(q, cpu);
	} while (more);
}

/* True if the entry was dirty; it is neither dirty nor writable afterwards. */
static bool clean_one(struct quire *q, struct quire_page *page, const struct quire_rmap *copy)
{
	const unsigned stores = QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	struct quire_slot slot;
	struct quire_entry entry, narrow;

	if (!lock_entry(page, copy, &slot, &entry))
		return false;
	if (!(entry.bits & stores)) {
		quire_slot_unlock(&slot);
		return false;
	}
	quire_step(q, QUIRE_STEP_ENTRY_PROTECT);
	narrow = entry;
	narrow.bits &= ~stores;
	entry = quire_slot_exchange(&slot, narrow);
	settle_entry(page, copy, entry.bits & QUIRE_ENTRY_EXEC, false);
	quire_slot_unlock(&slot);
	return entry.bits & QUIRE_ENTRY_DIRTY;
}

bool quire_rmap_clean(struct quire *q, struct quire_page *page)
{
	struct quire_rmap copy;
	bool dirty = false, more;
	unsigned cpu;

	if (!quire_page_mapped(page))
		return false;
	pass_begin(q, page);
	do {
		cpu = quire_read_begin(q);
		more = pass_next(q, page, &copy);
		if (more)
			dirty |= clean_one(q, page, &copy);
		quire_read_end(q, cpu);
	} while (more);
	quire_coherence_stores_end(q, page);
	return dirty;
}
