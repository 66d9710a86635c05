/*
 * Writeback: dirty pages go to their backing store; and reclaim, which takes what need not stay.
 *
 * WHAT MAY NOT BE LOST is a store that comes while its page is being written. A page is dirty in
 * one of two places: in itself (QUIRE_PAGE_DIRTY) or in the entries that map it. The order, all of
 * it under the page lock:
 *   1. the page's own mark is cleared;
 *   2. every entry loses its dirty mark and the right to store, and the TLBs are purged
 *      (quire_rmap_clean);
 *   3. the page is written.
 * A store before 2 is in the page when 3 reads it. A store after 2 faults, and marks the page
 * again: it goes out in the next writeback, whether or not this one had read it already. Were 1
 * after 2, it would undo that mark. An entry that munmap removes between the two gives its mark to
 * the page: written now, and once more for nothing.
 *
 * A page that could not be written is dirty again.
 *
 * What user code stored beyond the end of the file, in its last page, does not go out (POSIX,
 * mmap): so what a file grows by later is zeros on the backing store too.
 */
#include "mm/mm.h"

/* The page is locked, and no entry lets stores through. */
static void clear_beyond_end(struct quire_file *file, struct quire_page *page)
{
	uint64_t start = page->index << QUIRE_PAGE_SHIFT, bytes = file->bytes;

	if (bytes <= start || bytes - start >= QUIRE_PAGE_BYTES)
		return;
	quire_coherence_kernel_read(file->quire, page);
	quire_page_clear(file->quire, page, (size_t)(bytes - start),
			 QUIRE_PAGE_BYTES - (size_t)(bytes - start));
}

/* The page is locked, of the file, and dirty. */
static int write_page(struct quire_file *file, struct quire_page *page)
{
	struct quire *q = file->quire;
	int error;

	quire_step(q, QUIRE_STEP_WRITEBACK_PAGE);
	quire_cache_clear_mark(file, page, QUIRE_MARK_DIRTY);
	quire_cache_set_mark(file, page, QUIRE_MARK_WRITEBACK);
	(void)quire_rmap_clean(q, page);
	clear_beyond_end(file, page);
	error = file->ops->write_page(file, page);
	quire_cache_clear_mark(file, page, QUIRE_MARK_WRITEBACK);
	if (error)
		quire_page_dirty(q, page);
	return error;
}

int quire_writeback(struct quire_file *file, uint64_t first, uint64_t last)
{
	struct quire *q = file->quire;
	struct quire_page *page;
	uint64_t index = first;
	int error = 0;

	if (!file->ops->write_page)
		return 0;
	while (index <= last && (page = quire_cache_next(file, &index, QUIRE_MARK_DIRTY))) {
		if (index <= last) {
			quire_page_lock(q, page);
			if (page->file == file && page->index == index &&
			    quire_page_is(page, QUIRE_PAGE_DIRTY)) {
				int result = write_page(file, page);

				if (!error)
					error = result;
			}
			quire_page_unlock(q, page);
		}
		quire_page_put(q, page);
		if (index == UINT64_MAX)
			break;
		index++;
	}
	return error;
}

/* --- Reclaim ---------------------------------------------------------------------------------- */

/*
 * Removes the page if nobody needs it: clean, mapped nowhere, and held by the page cache and the
 * caller only. Who finds it in the cache before it goes and comes to the lock afterwards sees that
 * it is of no file any more.
 */
static bool reclaim_page(struct quire_file *file, struct quire_page *page)
{
	struct quire *q = file->quire;
	bool taken;

	if (quire_page_is(page, QUIRE_PAGE_TAIL) || !quire_page_try_lock(q, page))
		return false;
	taken = page->file == file && quire_atomic_read(&page->refs) == 2;
	for (unsigned n = 0; taken && n < 1u << page->order; n++)
		taken = !quire_page_mapped(&page[n]) && !quire_page_is(&page[n], QUIRE_PAGE_DIRTY);
	if (taken)
		quire_cache_remove(file, page);
	quire_page_unlock(q, page);
	return taken;
}

static uint64_t reclaim_file(struct quire_file *file, uint64_t pages)
{
	struct quire_page *page;
	uint64_t index = 0, freed = 0;

	while (freed < pages && (page = quire_cache_next(file, &index, -1))) {
		uint64_t size = (uint64_t)1 << page->order;

		if (reclaim_page(file, page))
			freed += size;
		quire_page_put(file->quire, page);
		if (index == UINT64_MAX)
			break;
		index++;
	}
	return freed;
}

/* A reference to a file of the list, unless its last one is gone already. */
static bool try_get(struct quire_file *file)
{
	uint32_t refs;

	do {
		refs = quire_atomic_read(&file->refs);
		if (!refs)
			return false;
	} while (!quire_atomic_replace(&file->refs, refs, refs + 1));
	return true;
}

/*
 * The first file of the list from `l` on whose pages can be had back from a backing store, with a
 * reference.
 */
static struct quire_file *next_file(struct quire *q, struct quire_list *l)
{
	for (; l != &q->files; l = l->next) {
		struct quire_file *file = quire_container(l, struct quire_file, link);

		if (file->ops->write_page && try_get(file))
			return file;
	}
	return NULL;
}

uint64_t quire_reclaim(struct quire *q, uint64_t pages)
{
	struct quire_file *file, *next;
	uint64_t freed = 0;

	quire_lock(q, &q->lists);
	file = next_file(q, q->files.next);
	quire_unlock(q, &q->lists);
	while (file) {
		if (freed < pages)
			freed += reclaim_file(file, pages - freed);
		quire_lock(q, &q->lists);
		next = freed < pages ? next_file(q, file->link.next) : NULL;
		quire_unlock(q, &q->lists);
		quire_file_put(file);
		file = next;
	}
	return freed;
}
