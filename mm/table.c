/*
 * Page tables: one radix tree a space, in whatever format the architecture describes.
 *
 * The hardware walker reads these tables while they change, and two kinds of reader walk them in
 * software without any lock: TLB miss handlers and the reverse map. So
 *   - a table is cleared, and cleaned for the walker, before an upper entry points to it;
 *   - a table is unlinked first, then the walk caches are purged and quire_read_wait has seen every
 *     software walker leave, and only then is its page given back;
 *   - leaf entries change under the lock of their table, upper ones under space->upper; whoever
 *     holds the areas lock may follow upper entries without that, since tables only go under the
 *     areas lock held for writing.
 *
 * A table's page counts the entries in it (page->used), so that empty tables are found without
 * reading them, and all tables of a space are in one list that begins at the root's page->link, so
 * that the end of a space need not walk.
 */
#include "mm/percpu.h"

static const struct quire_table_format *format_of(const struct quire_space *space)
{
	return &space->quire->machine.arch->table;
}

static unsigned leaf_level(const struct quire_space *space)
{
	return format_of(space)->levels - 1;
}

/* The address of va's entry in a table of `level` that lies at `table`. */
static uintptr_t entry_address(const struct quire_table_format *format, unsigned level,
			       uintptr_t table, uintptr_t va)
{
	uintptr_t index =
		(va >> format->shift[level]) & (((uintptr_t)1 << format->bits[level]) - 1);

	return table + index * format->entry_bytes[level];
}

/*
 * The first address that the entry after va's covers; the end of user addresses when there is none.
 */
static uintptr_t next_entry(const struct quire_table_format *format, unsigned level, uintptr_t va)
{
	uintptr_t next = ((va >> format->shift[level]) + 1) << format->shift[level];

	return next > va && next < format->user_high ? next : format->user_high;
}

/* Stores an entry and cleans it for the walker. */
static void store(struct quire *q, uintptr_t entry, unsigned level, uint64_t raw,
		  enum quire_site site)
{
	const struct quire_arch *arch = q->machine.arch;

	arch->store_entry(&q->machine, entry, level, raw);
	quire_coherence_table_written(q, entry, arch->table.entry_bytes[level], site);
}

/* --- Tables ---------------------------------------------------------------------------------- */

static struct quire_page *new_table(struct quire *q, unsigned order)
{
	struct quire_page *page = quire_page_alloc(q, order);
	size_t bytes = QUIRE_PAGE_BYTES << order;

	if (!page)
		return NULL;
	quire_atomic_or(&page->flags, QUIRE_PAGE_TABLE);
	page->used = 0;
	q->machine.port.clear(q->machine.port.context, quire_page_address(q, page), bytes);
	quire_coherence_table_written(q, quire_page_address(q, page), bytes, QUIRE_SITE_TABLE_NEW);
	quire_atomic_add(&q->pages_tables, 1u << order);
	return page;
}

static void free_table(struct quire *q, struct quire_page *page)
{
	quire_atomic_add(&q->pages_tables, -(1u << page->order));
	page->used = 0;
	quire_page_put(q, page);
}

int quire_table_create(struct quire_space *space)
{
	struct quire *q = space->quire;

	quire_lock_init(&space->upper);
	space->root = new_table(q, format_of(space)->root_order);
	if (!space->root)
		return -QUIRE_ENOMEM;
	space->context.root = quire_page_address(q, space->root);
	return 0;
}

void quire_table_destroy(struct quire_space *space)
{
	struct quire *q = space->quire;
	struct quire_list *tables = &space->root->link;

	quire_read_wait(q);
	while (!quire_list_empty(tables)) {
		struct quire_page *page = quire_container(tables->next, struct quire_page, link);

		quire_list_remove(&page->link);
		free_table(q, page);
	}
	free_table(q, space->root);
	space->root = NULL;
}

/* --- Walks ----------------------------------------------------------------------------------- */

/* The table below va's entry in `table` of `level`, or NULL. */
static struct quire_page *table_below(struct quire_space *space, struct quire_page *table,
				      unsigned level, uintptr_t va)
{
	struct quire *q = space->quire;
	const struct quire_arch *arch = q->machine.arch;
	uintptr_t entry = entry_address(&arch->table, level, quire_page_address(q, table), va);
	quire_pa_t pa;
	bool read_only;

	if (!arch->decode_table(level, arch->load_entry(&q->machine, entry, level), &pa,
				&read_only))
		return NULL;
	return quire_page_of(q, pa >> QUIRE_PAGE_SHIFT);
}

static void fill_slot(struct quire_slot *slot, struct quire_space *space, struct quire_page *table,
		      uintptr_t va)
{
	slot->space = space;
	slot->va = va & ~(uintptr_t)QUIRE_PAGE_MASK;
	slot->table = table;
	slot->entry = entry_address(format_of(space), leaf_level(space),
				    quire_page_address(space->quire, table), va);
}

bool quire_table_find(struct quire_space *space, uintptr_t va, struct quire_slot *slot,
		      uintptr_t *next)
{
	const struct quire_table_format *format = format_of(space);
	struct quire_page *table = space->root;

	for (unsigned level = 0; level + 1 < format->levels; level++) {
		table = table_below(space, table, level, va);
		if (!table) {
			*next = next_entry(format, level, va);
			return false;
		}
	}
	fill_slot(slot, space, table, va);
	return true;
}

/* Makes the table that is missing below va's entry, unless somebody else has done so meanwhile. */
static struct quire_page *grow_table(struct quire_space *space, struct quire_page *table,
				     unsigned level, uintptr_t va)
{
	struct quire *q = space->quire;
	const struct quire_arch *arch = q->machine.arch;
	uintptr_t entry = entry_address(&arch->table, level, quire_page_address(q, table), va);
	struct quire_page *made = new_table(q, 0), *there;

	if (!made)
		return NULL;
	quire_lock(q, &space->upper);
	there = table_below(space, table, level, va);
	if (!there) {
		store(q, entry, level, arch->encode_table(level, quire_page_pa(made), false),
		      QUIRE_SITE_TABLE_UPPER);
		table->used++;
		quire_list_add(&space->root->link, &made->link);
	}
	quire_unlock(q, &space->upper);
	if (!there)
		return made;
	free_table(q, made);
	return there;
}

int quire_table_reach(struct quire_space *space, uintptr_t va, struct quire_slot *slot)
{
	struct quire_page *table = space->root;

	for (unsigned level = 0; level < leaf_level(space); level++) {
		struct quire_page *below = table_below(space, table, level, va);

		if (!below)
			below = grow_table(space, table, level, va);
		if (!below)
			return -QUIRE_ENOMEM;
		table = below;
	}
	fill_slot(slot, space, table, va);
	return 0;
}

/* --- Leaf entries ---------------------------------------------------------------------------- */

void quire_slot_lock(struct quire_slot *slot)
{
	quire_lock(slot->space->quire, &slot->table->table);
}

void quire_slot_unlock(struct quire_slot *slot)
{
	quire_unlock(slot->space->quire, &slot->table->table);
}

static uint64_t load_raw(const struct quire_slot *slot)
{
	struct quire *q = slot->space->quire;

	return q->machine.arch->load_entry(&q->machine, slot->entry, leaf_level(slot->space));
}

static uint64_t encode(const struct quire_slot *slot, struct quire_entry entry)
{
	return entry.bits ? slot->space->quire->machine.arch->encode(entry) : 0;
}

struct quire_entry quire_slot_read(const struct quire_slot *slot)
{
	return slot->space->quire->machine.arch->decode(load_raw(slot));
}

/* After raw `old` became raw `new`. */
static void count_entry(const struct quire_slot *slot, uint64_t old, uint64_t new)
{
	struct quire *q = slot->space->quire;

	slot->table->used += (uint32_t)(new != 0) - (uint32_t)(old != 0);
	quire_count_add(&quire_percpu_here(q)->entries, 1);
}

void quire_slot_write(const struct quire_slot *slot, struct quire_entry entry)
{
	uint64_t old = load_raw(slot), new = encode(slot, entry);

	store(slot->space->quire, slot->entry, leaf_level(slot->space), new,
	      QUIRE_SITE_TABLE_ENTRY);
	count_entry(slot, old, new);
}

struct quire_entry quire_slot_exchange(const struct quire_slot *slot, struct quire_entry entry)
{
	struct quire *q = slot->space->quire;
	const struct quire_arch *arch = q->machine.arch;
	unsigned level = leaf_level(slot->space);
	uint64_t new = encode(slot, entry), old;

	do
		old = load_raw(slot);
	while (!arch->replace_entry(&q->machine, slot->entry, level, old, new));
	quire_coherence_table_written(q, slot->entry, arch->table.entry_bytes[level],
				      QUIRE_SITE_TABLE_ENTRY);
	count_entry(slot, old, new);
	return arch->decode(old);
}

/* --- Trimming -------------------------------------------------------------------------------- */

struct trim {
	struct quire_space *space;
	uintptr_t first, last;   /* user addresses below the entries that were unlinked */
	struct quire_list freed; /* tables unlinked */
};

static bool table_empty(struct quire *q, struct quire_page *table)
{
	bool empty;

	quire_lock(q, &table->table);
	empty = !table->used;
	quire_unlock(q, &table->table);
	return empty;
}

static void unlink_table(struct trim *trim, struct quire_page *table, struct quire_page *below,
			 unsigned level, uintptr_t va)
{
	struct quire *q = trim->space->quire;
	const struct quire_table_format *format = format_of(trim->space);
	uintptr_t first = va >> format->shift[level] << format->shift[level];
	uintptr_t last = next_entry(format, level, va) - 1;

	quire_lock(q, &trim->space->upper);
	store(q, entry_address(format, level, quire_page_address(q, table), va), level, 0,
	      QUIRE_SITE_TABLE_UPPER);
	table->used--;
	quire_list_remove(&below->link);
	quire_unlock(q, &trim->space->upper);
	quire_list_add(&trim->freed, &below->link);
	if (first < trim->first)
		trim->first = first;
	if (last > trim->last)
		trim->last = last;
}

/* Trims below `table` of `level`, which covers `va` on up to its own end or trim->high. */
static void trim_below(struct trim *trim, struct quire_page *table, unsigned level, uintptr_t va,
		       uintptr_t end)
{
	struct quire *q = trim->space->quire;
	const struct quire_table_format *format = format_of(trim->space);

	for (uintptr_t next; va < end && table->used; va = next) {
		struct quire_page *below = table_below(trim->space, table, level, va);

		next = next_entry(format, level, va);
		if (!below)
			continue;
		if (level + 1 < format->levels - 1)
			trim_below(trim, below, level + 1, va, next < end ? next : end);
		if (table_empty(q, below))
			unlink_table(trim, table, below, level, va);
	}
}

void quire_table_trim(struct quire_space *space, uintptr_t low, uintptr_t high)
{
	struct quire *q = space->quire;
	struct trim trim = {.space = space, .first = UINTPTR_MAX};

	if (leaf_level(space) == 0)
		return;
	quire_list_init(&trim.freed);
	trim_below(&trim, space->root, 0, low,
		   high < format_of(space)->user_high ? high : format_of(space)->user_high);
	if (quire_list_empty(&trim.freed))
		return;
	if (!q->machine.arch->tlb_miss)
		quire_coherence_tlb(q, space, trim.first, trim.last + 1, QUIRE_SITE_TLB_BATCH);
	quire_read_wait(q);
	while (!quire_list_empty(&trim.freed)) {
		struct quire_page *page = quire_container(trim.freed.next, struct quire_page, link);

		quire_list_remove(&page->link);
		free_table(q, page);
	}
}

/* --- Protection of whole tables -------------------------------------------------------------- */

size_t quire_table_span(const struct quire_space *space)
{
	const struct quire_table_format *format = format_of(space);
	unsigned leaf = format->levels - 1;

	return (size_t)1 << (format->shift[leaf] + format->bits[leaf]);
}

/*
 * Makes the upper entry that points to va's leaf table forbid stores or allow them; true if it did
 * the opposite before. False with *next set where there is no leaf table.
 */
static bool set_read_only(struct quire_space *space, uintptr_t va, bool read_only, uintptr_t *next)
{
	struct quire *q = space->quire;
	const struct quire_arch *arch = q->machine.arch;
	unsigned level = leaf_level(space) - 1;
	struct quire_page *table = space->root;
	uintptr_t entry;
	quire_pa_t pa;
	bool was, changed;

	for (unsigned n = 0; n < level; n++) {
		table = table_below(space, table, n, va);
		if (!table) {
			*next = next_entry(&arch->table, n, va);
			return false;
		}
	}
	*next = next_entry(&arch->table, level, va);
	entry = entry_address(&arch->table, level, quire_page_address(q, table), va);
	quire_lock(q, &space->upper);
	changed =
		arch->decode_table(level, arch->load_entry(&q->machine, entry, level), &pa, &was) &&
		was != read_only;
	if (changed) {
		store(q, entry, level, arch->encode_table(level, pa, read_only),
		      QUIRE_SITE_TABLE_UPPER);
	}
	quire_unlock(q, &space->upper);
	return changed;
}

unsigned quire_table_protect(struct quire_space *space, uintptr_t low, uintptr_t high)
{
	struct quire *q = space->quire;
	const struct quire_table_format *format = format_of(space);
	size_t span = quire_table_span(space);
	uintptr_t end = high & ~(uintptr_t)(span - 1), next, upper, entered = UINTPTR_MAX;
	unsigned changed = 0;

	if (!q->machine.traits.subtree_protect || leaf_level(space) == 0 ||
	    low > UINTPTR_MAX - span)
		return 0;
	for (uintptr_t va = (low + span - 1) & ~(uintptr_t)(span - 1); va < end; va = next) {
		if (!set_read_only(space, va, true, &next))
			continue;
		upper = va >> format->shift[leaf_level(space) - 1] >>
			format->bits[leaf_level(space) - 1];
		if (upper != entered)
			quire_step(q, QUIRE_STEP_TABLE_ENTER);
		entered = upper;
		quire_step(q, QUIRE_STEP_TABLE_PROTECT);
		changed++;
	}
	return changed;
}

bool quire_table_unprotect(struct quire_space *space, uintptr_t va)
{
	uintptr_t next;

	if (!space->quire->machine.traits.subtree_protect || leaf_level(space) == 0)
		return false;
	return set_read_only(space, va, false, &next);
}
