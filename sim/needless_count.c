/*
 * Verdicts on operations, counted by site and kind, once by operation and once by page.
 *
 * Software that looks after pages does not choose lines: it does an operation to a whole page or
 * not at all. So operations of one site and kind that follow each other on different lines of a
 * page are taken as one, and have the strongest verdict of them.
 */
#include <stdlib.h>

#include "sim/needless_internal.h"

#define PIECE_SHIFT 4u /* of 16 bytes: no line is shorter */
#define PIECES      (QUIRE_PAGE_BYTES >> PIECE_SHIFT)

/* Operations on lines of one page. */
struct page_operation {
	uint64_t page;                /* address / QUIRE_PAGE_BYTES */
	uint64_t pieces[PIECES / 64]; /* where lines begin that were operated on: a bit each */
	unsigned undecided;           /* records that hold it */
	bool open;                    /* others may join */
	enum sim_verdict strongest;   /* of those that hold it no more */
	enum sim_verdict verdict;     /* as it is counted */
};

bool sim_verdict_is_needless(enum sim_verdict verdict)
{
	switch (verdict) {
	case SIM_VERDICT_NOTHING_DIRTY:
	case SIM_VERDICT_NOTHING_THERE:
	case SIM_VERDICT_TWICE:
	case SIM_VERDICT_NOT_READ:
		return true;
	default:
		return false;
	}
}

/* Of two operations on a page, which verdict says more of both? */
static enum sim_verdict stronger(enum sim_verdict a, enum sim_verdict b)
{
	static const unsigned char strength[SIM_VERDICT_COUNT] = {
		[SIM_VERDICT_NOTHING_THERE] = 0, [SIM_VERDICT_NOTHING_DIRTY] = 1,
		[SIM_VERDICT_TWICE] = 2,         [SIM_VERDICT_NOT_READ] = 3,
		[SIM_VERDICT_UNDECIDED] = 4,     [SIM_VERDICT_OVERTAKEN] = 5,
		[SIM_VERDICT_GUARD] = 6,         [SIM_VERDICT_NEEDED] = 7,
	};

	return strength[a] >= strength[b] ? a : b;
}

static enum sim_verdict verdict_on(const struct page_operation *page)
{
	return page->undecided ? stronger(page->strongest, SIM_VERDICT_UNDECIDED) : page->strongest;
}

/* --- Pages ------------------------------------------------------------------------------------ */

/* Nothing joins it any more. */
static void close_page(struct page_operation **open)
{
	struct page_operation *page = *open;

	*open = NULL;
	if (!page)
		return;
	page->open = false;
	if (!page->undecided)
		free(page);
}

static bool has_piece(const struct page_operation *page, size_t piece)
{
	return page->pieces[piece / 64] >> piece % 64 & 1;
}

void needless_join_page(struct sim *sim, struct record *record, uint64_t address)
{
	struct page_operation **open = &sim->needless->open[record->site][record->book];
	struct page_operation *page = *open;
	size_t piece = (address & QUIRE_PAGE_MASK) >> PIECE_SHIFT;

	if (page && (page->page != address >> QUIRE_PAGE_SHIFT || has_piece(page, piece))) {
		close_page(open);
		page = NULL;
	}
	if (!page) {
		page = calloc(1, sizeof(*page));
		if (!page)
			return;
		page->page = address >> QUIRE_PAGE_SHIFT;
		page->open = true;
		page->strongest = SIM_VERDICT_NOTHING_THERE;
		page->verdict = SIM_VERDICT_COUNT;
		*open = page;
	}
	page->pieces[piece / 64] |= (uint64_t)1 << piece % 64;
	page->undecided++;
	record->page = page;
}

static void move_page(struct sim_need *need, enum sim_verdict *counted, enum sim_verdict verdict)
{
	if (*counted != SIM_VERDICT_COUNT)
		need->pages[*counted]--;
	need->pages[verdict]++;
	*counted = verdict;
}

/* The record's verdict is its last. */
static void leave_page(struct sim_needless *needless, struct record *record)
{
	struct page_operation *page = record->page;

	if (!page)
		return;
	record->page = NULL;
	page->undecided--;
	page->strongest = stronger(page->strongest, record->verdict);
	move_page(&needless->needs[record->site][record->book], &page->verdict, verdict_on(page));
	if (!page->undecided && !page->open)
		free(page);
}

void sim_needless_site_end(struct sim *sim)
{
	for (unsigned op = 0; op < SIM_OP_COUNT; op++)
		close_page(&sim->needless->open[sim->site][op]);
}

void needless_pages_destroy(struct sim_needless *needless)
{
	for (unsigned site = 0; site <= QUIRE_SITE_COUNT; site++)
		for (unsigned op = 0; op < SIM_OP_COUNT; op++)
			close_page(&needless->open[site][op]);
}

/* --- Records ---------------------------------------------------------------------------------- */

struct record *needless_new_record(struct sim *sim, enum sim_op book)
{
	struct record *record = calloc(1, sizeof(*record));

	if (!record)
		return NULL;
	record->site = sim->site;
	record->book = book;
	record->verdict = record->spared = SIM_VERDICT_COUNT;
	return record;
}

void needless_count(struct sim_needless *needless, struct record *record, enum sim_verdict verdict)
{
	struct sim_need *need = &needless->needs[record->site][record->book];
	enum sim_verdict before = record->verdict;

	if (before != SIM_VERDICT_COUNT) {
		need->count[before]--;
		need->ticks[before] -= record->ticks;
	}
	need->count[verdict]++;
	need->ticks[verdict] += record->ticks;
	record->verdict = verdict;
	if (!record->page)
		move_page(need, &before, verdict);
	else if (record->page->verdict == SIM_VERDICT_COUNT)
		move_page(need, &record->page->verdict, SIM_VERDICT_UNDECIDED);
}

void needless_count_unread(struct sim_needless *needless, struct record *record)
{
	enum sim_verdict verdict = record->twice ? SIM_VERDICT_TWICE : SIM_VERDICT_NOT_READ;

	needless_count(needless, record,
		       record->spared == SIM_VERDICT_COUNT ? verdict : record->spared);
}

void needless_release(struct sim_needless *needless, struct record *record)
{
	if (record->ghosts || record->entries || record->holders)
		return;
	leave_page(needless, record);
	free(record);
}

void sim_needless_count(struct sim *sim, enum sim_op book, uint64_t address, uint64_t ticks,
			enum sim_verdict verdict)
{
	struct record record = {
		.site = sim->site,
		.book = book,
		.ticks = ticks,
		.verdict = SIM_VERDICT_COUNT,
	};

	if (address != SIM_NEEDLESS_NOWHERE)
		needless_join_page(sim, &record, address);
	needless_count(sim->needless, &record, verdict);
	leave_page(sim->needless, &record);
}

/* --- Results ---------------------------------------------------------------------------------- */

const struct sim_need *sim_need(const struct sim *sim, enum quire_site site, enum sim_op op)
{
	return sim->needless ? &sim->needless->needs[site][op] : NULL;
}

const char *sim_verdict_name(enum sim_verdict verdict)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_VERDICTS(X)
#undef X
	};

	return (unsigned)verdict < SIM_VERDICT_COUNT ? names[verdict] : NULL;
}
