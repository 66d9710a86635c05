/*
 * Batches: many table entries are removed, then one TLB purge, then their pages are dropped.
 *
 * A page must not go back to the free lists while a TLB, or a cache line filled through one, can
 * still reach it. So who removes entries puts the pages aside here; the end of the batch purges the
 * TLB, lets the coherence module settle the caches, and only then drops the pages.
 *
 * The batch lies on the stack of its user and must work when memory is short, which is when pages
 * are unmapped most: it has room for a few entries, takes memory for more, and when there is none
 * purges and settles what it has and goes on.
 */
#include "mm/mm.h"

#define CHUNK_ENTRIES 120

struct quire_batch_chunk {
	struct quire_batch_chunk *next;
	unsigned count;
	struct quire_batch_entry entries[CHUNK_ENTRIES];
};

void quire_batch_begin(struct quire_batch *batch, struct quire_space *space, uintptr_t low,
		       uintptr_t high, enum quire_site site)
{
	batch->space = space;
	batch->low = low;
	batch->high = high;
	batch->first = UINTPTR_MAX;
	batch->last = 0;
	batch->exec = false;
	batch->site = site;
	batch->count = 0;
	batch->chunks = batch->tail = batch->reading = NULL;
	batch->reading_first = 0;
}

struct quire_batch_entry *quire_batch_next(struct quire_batch *batch, size_t *cursor)
{
	size_t n = *cursor;
	struct quire_batch_chunk *chunk;

	if (n < batch->count) {
		(*cursor)++;
		return &batch->inside[n];
	}
	if (!batch->reading || n < batch->reading_first) {
		batch->reading = batch->chunks;
		batch->reading_first = batch->count;
	}
	for (chunk = batch->reading; chunk && n - batch->reading_first >= chunk->count;
	     chunk = chunk->next)
		batch->reading_first += chunk->count;
	batch->reading = chunk;
	if (!chunk)
		return NULL;
	(*cursor)++;
	return &chunk->entries[n - batch->reading_first];
}

static void drop_pages(struct quire *q, const struct quire_batch_entry *entries, unsigned count)
{
	for (unsigned n = 0; n < count; n++)
		if (entries[n].drop)
			quire_page_put(q, entries[n].page);
}

/*
 * Purges, settles and drops; the batch is empty afterwards and keeps its chunks. A batch without
 * entries is told to the coherence module all the same: some policies look at the range, not at
 * what was in it.
 */
static void settle(struct quire_batch *batch)
{
	struct quire *q = batch->space->quire;

	if (batch->first <= batch->last)
		quire_coherence_tlb(q, batch->space, batch->first, batch->last + QUIRE_PAGE_BYTES,
				    batch->site);
	quire_coherence_unmapped(q, batch);
	drop_pages(q, batch->inside, batch->count);
	batch->count = 0;
	for (struct quire_batch_chunk *chunk = batch->chunks; chunk; chunk = chunk->next) {
		drop_pages(q, chunk->entries, chunk->count);
		chunk->count = 0;
	}
	batch->tail = batch->chunks;
	batch->reading = NULL;
	batch->first = UINTPTR_MAX;
	batch->last = 0;
}

/* Room for one more entry beyond those inside; NULL: no memory for it. */
static struct quire_batch_entry *chunk_entry(struct quire_batch *batch)
{
	struct quire_batch_chunk *chunk = batch->tail;

	if (chunk && chunk->count == CHUNK_ENTRIES && chunk->next) {
		chunk = chunk->next;
	} else if (!chunk || chunk->count == CHUNK_ENTRIES) {
		chunk = quire_new(batch->space->quire, sizeof(*chunk));
		if (!chunk)
			return NULL;
		if (batch->tail)
			batch->tail->next = chunk;
		else
			batch->chunks = chunk;
	}
	batch->tail = chunk;
	return &chunk->entries[chunk->count++];
}

static struct quire_batch_entry *new_entry(struct quire_batch *batch)
{
	struct quire_batch_entry *entry;

	if (batch->count == QUIRE_BATCH_INSIDE) {
		entry = chunk_entry(batch);
		if (entry)
			return entry;
		settle(batch);
	}
	return &batch->inside[batch->count++];
}

void quire_batch_add(struct quire_batch *batch, struct quire_page *page, uintptr_t va, bool exec,
		     bool drop)
{
	struct quire_batch_entry *entry = new_entry(batch);

	/*
	 * The entry may have lost the right to execute before (mprotect), not what was fetched by
	 * it.
	 */
	exec |= quire_page_is(page, QUIRE_PAGE_USER_EXEC);
	*entry = (struct quire_batch_entry){.page = page, .va = va, .exec = exec, .drop = drop};
	batch->exec |= exec;
	if (va < batch->first)
		batch->first = va;
	if (va > batch->last)
		batch->last = va;
}

void quire_batch_end(struct quire_batch *batch)
{
	struct quire *q = batch->space->quire;

	settle(batch);
	while (batch->chunks) {
		struct quire_batch_chunk *chunk = batch->chunks;

		batch->chunks = chunk->next;
		quire_delete(q, chunk, sizeof(*chunk));
	}
	batch->tail = batch->reading = NULL;
}
