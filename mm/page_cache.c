/*
 * The page cache: the pages of a file, in a radix tree by index.
 *
 * A node has 64 slots: pages in the lowest nodes, nodes above. Each node knows its own height
 * (shift), so a lookup needs one pointer, the root, and no second word that could be of another
 * moment. The tree grows by a new root above the old one, and shrinks by making the root's only
 * child, its first, the root.
 *
 * Lookups take no lock. They follow pointers in a read section, so no node is freed under them;
 * nodes are unlinked under file->tree and freed after quire_read_wait. What a lookup finds may be
 * gone a moment later and its page in other use, so it takes a reference unless the count is 0, and
 * then looks again: when the slot still holds the page the reference is one to the right page.
 *
 * Marks. Each node has one bit a slot and mark, which says: this page, or some page below, is
 * marked. So the search for dirty pages skips clean subtrees.
 *
 * A folio of 2^order pages fills that many slots, each with its own descriptor; the tree holds one
 * reference to the folio.
 */
#include "mm/percpu.h"

enum {
	NODE_SHIFT = 6,
	NODE_SLOTS = 1 << NODE_SHIFT,
};

struct quire_node {
	struct quire_node *parent; /* also: next in a list of nodes that are in no tree */
	uint8_t shift;             /* an index >> shift, modulo 64, is a slot */
	uint8_t slot;              /* of the parent */
	uint8_t used;              /* slots that are not NULL */
	uint64_t marks[QUIRE_MARK_COUNT];
	void *slots[NODE_SLOTS];
};

static unsigned slot_of(const struct quire_node *node, uint64_t index)
{
	return (unsigned)(index >> node->shift) % NODE_SLOTS;
}

/* Whether the subtree of a root has a slot for the index at all. */
static bool covers(const struct quire_node *root, uint64_t index)
{
	return index >> root->shift < NODE_SLOTS;
}

/* --- Lookup without a lock ------------------------------------------------------------------- */

/* In a read section, or under file->tree. */
static struct quire_page *lookup(struct quire_file *file, uint64_t index)
{
	struct quire_node *node = quire_pointer_load(&file->cache.root);

	if (!node || !covers(node, index))
		return NULL;
	while (node && node->shift)
		node = quire_pointer_load(&node->slots[slot_of(node, index)]);
	return node ? quire_pointer_load(&node->slots[slot_of(node, index)]) : NULL;
}

struct quire_page *quire_cache_find(struct quire_file *file, uint64_t index)
{
	struct quire *q = file->quire;
	struct quire_page *page, *head;

	for (;;) {
		unsigned cpu = quire_read_begin(q);
		bool got = false, same = false;

		page = lookup(file, index);
		if (page) {
			head = quire_page_head(page);
			got = quire_page_try_get(head);
			same = got && lookup(file, index) == page && quire_page_head(page) == head;
		}
		quire_read_end(q, cpu);
		if (!page || same)
			return page;
		if (got)
			quire_page_put(q, head);
	}
}

struct quire_page *quire_cache_find_locked(struct quire_file *file, uint64_t index)
{
	struct quire *q = file->quire;
	struct quire_page *page;

	while ((page = quire_cache_find(file, index))) {
		quire_page_lock(q, page);
		if (page->file == file && page->index == index)
			break;
		quire_page_unlock(q, page);
		quire_page_put(q, page);
	}
	return page;
}

/* --- Marks, under file->tree ----------------------------------------------------------------- */

static const enum quire_page_flag mark_flags[QUIRE_MARK_COUNT] = {
	[QUIRE_MARK_DIRTY] = QUIRE_PAGE_DIRTY,
	[QUIRE_MARK_WRITEBACK] = QUIRE_PAGE_WRITEBACK,
};

/* The lowest node with the index's slot, or NULL. */
static struct quire_node *leaf_of(struct quire_file *file, uint64_t index)
{
	struct quire_node *node = file->cache.root;

	if (!node || !covers(node, index))
		return NULL;
	while (node && node->shift)
		node = node->slots[slot_of(node, index)];
	return node;
}

static void mark(struct quire_node *node, unsigned slot, unsigned which)
{
	for (; node; slot = node->slot, node = node->parent) {
		uint64_t before = node->marks[which];

		node->marks[which] |= (uint64_t)1 << slot;
		if (before)
			break;
	}
}

static void unmark(struct quire_node *node, unsigned slot, unsigned which)
{
	for (; node; slot = node->slot, node = node->parent) {
		node->marks[which] &= ~((uint64_t)1 << slot);
		if (node->marks[which])
			break;
	}
}

/* Sets or clears page flag and mark together; true if the flag changed. */
static bool change_mark(struct quire_file *file, struct quire_page *page, unsigned which, bool set)
{
	struct quire *q = file->quire;
	uint32_t flag = (uint32_t)mark_flags[which], old;
	struct quire_node *leaf;

	quire_step(q, QUIRE_STEP_FLAG);
	quire_lock(q, &file->cache.tree);
	old = set ? quire_atomic_or(&page->flags, flag) : quire_atomic_clear(&page->flags, flag);
	leaf = page->file == file ? leaf_of(file, page->index) : NULL;
	if (leaf && set)
		mark(leaf, slot_of(leaf, page->index), which);
	else if (leaf)
		unmark(leaf, slot_of(leaf, page->index), which);
	quire_unlock(q, &file->cache.tree);
	return !(old & flag) == set;
}

void quire_cache_set_mark(struct quire_file *file, struct quire_page *page, enum quire_mark which)
{
	change_mark(file, page, which, true);
}

void quire_cache_clear_mark(struct quire_file *file, struct quire_page *page, enum quire_mark which)
{
	change_mark(file, page, which, false);
}

bool quire_page_dirty(struct quire *q, struct quire_page *page)
{
	struct quire_file *file = page->file;

	if (quire_page_is(page, QUIRE_PAGE_DIRTY))
		return false;
	if (file)
		return change_mark(file, page, QUIRE_MARK_DIRTY, true);
	quire_step(q, QUIRE_STEP_FLAG);
	return !(quire_atomic_or(&page->flags, QUIRE_PAGE_DIRTY) & QUIRE_PAGE_DIRTY);
}

/* --- The tree, under file->tree -------------------------------------------------------------- */

/* Nodes taken from or for a tree, chained by `parent`. */
static void free_nodes(struct quire *q, struct quire_node *list)
{
	while (list) {
		struct quire_node *node = list;

		list = node->parent;
		quire_delete(q, node, sizeof(*node));
	}
}

/* The same after nobody can be at a node any more. */
static void retire_nodes(struct quire *q, struct quire_node *list)
{
	if (!list)
		return;
	quire_read_wait(q);
	free_nodes(q, list);
}

/* Removes the page from its slot; nodes that become needless are added to *retired. */
static void clear_slot(struct quire_file *file, uint64_t index, struct quire_node **retired)
{
	struct quire_node *node = leaf_of(file, index), *parent;
	unsigned slot = slot_of(node, index);

	for (unsigned which = 0; which < QUIRE_MARK_COUNT; which++)
		unmark(node, slot, which);
	for (;; node = parent) {
		quire_pointer_store(&node->slots[slot], NULL);
		if (--node->used)
			break;
		parent = node->parent;
		slot = node->slot;
		node->parent = *retired;
		*retired = node;
		if (!parent) {
			quire_pointer_store(&file->cache.root, NULL);
			return;
		}
	}
	node = file->cache.root;
	while (node->shift && node->used == 1 && node->slots[0]) {
		struct quire_node *child = node->slots[0];

		child->parent = NULL;
		quire_pointer_store(&file->cache.root, child);
		node->parent = *retired;
		*retired = node;
		node = child;
	}
}

/* How many nodes the tree lacks to have a slot for the index. */
static unsigned nodes_lacking(struct quire_file *file, uint64_t index)
{
	const struct quire_node *node = file->cache.root;
	unsigned shift, lacking = 0;

	if (!node) {
		for (lacking = 1, shift = 0; index >> shift >= NODE_SLOTS; shift += NODE_SHIFT)
			lacking++;
		return lacking;
	}
	for (shift = node->shift; index >> shift >= NODE_SLOTS; shift += NODE_SHIFT)
		lacking++;
	if (lacking)
		return lacking + shift / NODE_SHIFT;
	for (; node->shift; node = node->slots[slot_of(node, index)])
		if (!node->slots[slot_of(node, index)])
			return node->shift / NODE_SHIFT;
	return 0;
}

static struct quire_node *take_node(struct quire_node **spare, unsigned shift)
{
	struct quire_node *node = *spare;

	*spare = node->parent;
	node->parent = NULL;
	node->shift = (uint8_t)shift;
	return node;
}

static void link_child(struct quire_node *parent, unsigned slot, struct quire_node *child)
{
	child->parent = parent;
	child->slot = (uint8_t)slot;
	parent->used++;
	quire_pointer_store(&parent->slots[slot], child);
}

/* Makes the root cover the index. */
static struct quire_node *grow_root(struct quire_file *file, uint64_t index,
				    struct quire_node **spare)
{
	struct quire_node *root = file->cache.root, *above;
	unsigned shift = 0;

	if (!root) {
		while (index >> shift >= NODE_SLOTS)
			shift += NODE_SHIFT;
		root = take_node(spare, shift);
	}
	while (!covers(root, index)) {
		above = take_node(spare, root->shift + NODE_SHIFT);
		for (unsigned which = 0; which < QUIRE_MARK_COUNT; which++)
			above->marks[which] = root->marks[which] != 0;
		link_child(above, 0, root);
		root = above;
	}
	quire_pointer_store(&file->cache.root, root);
	return root;
}

/* Puts the page into its slot, which is empty. QUIRE_ENOMEM: nothing has changed. */
static int fill_slot(struct quire_file *file, uint64_t index, struct quire_page *page)
{
	struct quire *q = file->quire;
	struct quire_node *spare = NULL, *node;

	for (unsigned lacking = nodes_lacking(file, index); lacking > 0; lacking--) {
		node = quire_new(q, sizeof(*node));
		if (!node) {
			free_nodes(q, spare);
			return -QUIRE_ENOMEM;
		}
		node->parent = spare;
		spare = node;
	}
	node = grow_root(file, index, &spare);
	while (node->shift) {
		unsigned slot = slot_of(node, index);

		if (!node->slots[slot])
			link_child(node, slot, take_node(&spare, node->shift - NODE_SHIFT));
		node = node->slots[slot];
	}
	page->file = file;
	page->index = index;
	node->used++;
	quire_pointer_store(&node->slots[slot_of(node, index)], page);
	for (unsigned which = 0; which < QUIRE_MARK_COUNT; which++)
		if (quire_page_is(page, mark_flags[which]))
			mark(node, slot_of(node, index), which);
	return 0;
}

/* --- Adding and removing --------------------------------------------------------------------- */

static bool range_empty(struct quire_file *file, uint64_t index, unsigned pages)
{
	for (unsigned n = 0; n < pages; n++)
		if (lookup(file, index + n))
			return false;
	return true;
}

static void clear_slots(struct quire_file *file, uint64_t index, struct quire_page *head,
			unsigned pages, struct quire_node **retired)
{
	for (unsigned n = 0; n < pages; n++) {
		clear_slot(file, index + n, retired);
		quire_atomic_clear(&head[n].flags, QUIRE_PAGE_DIRTY | QUIRE_PAGE_WRITEBACK);
		head[n].file = NULL;
	}
}

static int fill_slots(struct quire_file *file, uint64_t index, struct quire_page *head,
		      unsigned pages, struct quire_node **retired)
{
	int error = 0;

	if (!range_empty(file, index, pages))
		return -QUIRE_EEXIST;
	for (unsigned n = 0; n < pages && !error; n++) {
		error = fill_slot(file, index + n, &head[n]);
		if (error)
			clear_slots(file, index, head, n, retired);
	}
	if (!error)
		file->cache.pages += pages;
	return error;
}

int quire_cache_add(struct quire_file *file, uint64_t index, struct quire_page *page)
{
	struct quire *q = file->quire;
	unsigned pages = 1u << page->order;
	struct quire_node *retired = NULL;
	int error;

	quire_require(q, !quire_page_is(page, QUIRE_PAGE_TAIL) && !page->file &&
				 !(index & (pages - 1)));
	quire_step(q, QUIRE_STEP_CACHE_ADD);
	quire_page_get(page);
	quire_lock(q, &file->cache.tree);
	error = fill_slots(file, index, page, pages, &retired);
	quire_unlock(q, &file->cache.tree);
	retire_nodes(q, retired);
	if (error)
		quire_page_put(q, page);
	else
		quire_atomic_add(&q->pages_cached, pages);
	return error;
}

void quire_cache_remove(struct quire_file *file, struct quire_page *page)
{
	struct quire *q = file->quire;
	struct quire_page *head = quire_page_head(page);
	unsigned pages = 1u << head->order;
	struct quire_node *retired = NULL;

	quire_step(q, QUIRE_STEP_CACHE_REMOVE);
	for (unsigned n = 0; n < pages; n++) {
		quire_require(q, head[n].file == file && !quire_page_mapped(&head[n]));
		if (file->ops->page_removed)
			file->ops->page_removed(file, &head[n]);
	}
	quire_lock(q, &file->cache.tree);
	clear_slots(file, head->index, head, pages, &retired);
	file->cache.pages -= pages;
	quire_unlock(q, &file->cache.tree);
	retire_nodes(q, retired);
	quire_atomic_add(&q->pages_cached, -pages);
	quire_page_put(q, head);
}

/* --- Finding, making, reading ---------------------------------------------------------------- */

int quire_cache_grab(struct quire_file *file, uint64_t index, struct quire_page **page)
{
	struct quire *q = file->quire;
	struct quire_page *made;
	uintptr_t colour;
	size_t period;
	int error;

	quire_coherence_colour(q, file, index, &period, &colour);
	do {
		*page = quire_cache_find_locked(file, index);
		if (*page)
			return 0;
		made = quire_page_alloc_at(q, colour, false);
		if (!made)
			return -QUIRE_ENOMEM;
		quire_page_lock(q, made);
		error = quire_cache_add(file, index, made);
		if (error) {
			quire_page_unlock(q, made);
			quire_page_put(q, made);
		}
	} while (error == -QUIRE_EEXIST);
	*page = error ? NULL : made;
	return error;
}

int quire_cache_read(struct quire_file *file, uint64_t index, struct quire_page **page)
{
	struct quire *q = file->quire;
	int error;

	*page = quire_cache_find(file, index);
	if (*page && quire_page_is(*page, QUIRE_PAGE_UPTODATE))
		return 0;
	if (*page)
		quire_page_put(q, *page);
	error = quire_cache_grab(file, index, page);
	if (error)
		return error;
	if (!quire_page_is(*page, QUIRE_PAGE_UPTODATE)) {
		error = file->ops->read_page(file, *page);
		if (!error) {
			quire_step(q, QUIRE_STEP_FLAG);
			quire_atomic_or(&(*page)->flags, QUIRE_PAGE_UPTODATE);
		}
	}
	quire_page_unlock(q, *page);
	if (error) {
		quire_page_put(q, *page);
		*page = NULL;
	}
	return error;
}

/* The first page at or after *index in the subtree; *index becomes its index, or lies beyond. */
static struct quire_page *next_below(struct quire_node *node, uint64_t *index, int mark_wanted)
{
	for (unsigned slot = slot_of(node, *index); slot < NODE_SLOTS; slot++) {
		uint64_t beyond = ((*index >> node->shift) + 1) << node->shift;
		bool here = mark_wanted < 0 ? node->slots[slot] != NULL
					    : node->marks[mark_wanted] >> slot & 1;
		struct quire_page *page = NULL;

		if (here)
			page = node->shift ? next_below(node->slots[slot], index, mark_wanted)
					   : node->slots[slot];
		if (page)
			return page;
		*index = beyond;
	}
	return NULL;
}

struct quire_page *quire_cache_next(struct quire_file *file, uint64_t *index, int mark_wanted)
{
	struct quire *q = file->quire;
	struct quire_page *page = NULL;

	quire_lock(q, &file->cache.tree);
	if (file->cache.root && covers(file->cache.root, *index))
		page = next_below(file->cache.root, index, mark_wanted);
	if (page)
		quire_page_get(page);
	quire_unlock(q, &file->cache.tree);
	return page;
}
