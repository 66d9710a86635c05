/*
 * Page frames: their descriptors, and who has which of them.
 *
 * Free blocks of 2^order pages lie in one list an order (the binary buddy system: Knowlton, "A fast
 * storage allocator", CACM 1965). A block's buddy is the block of the same size whose frame number
 * differs in that one bit; when both are free they are one block of the next order. Blocks never
 * cross the end of a memory range, so a block's descriptors always lie side by side and a tail
 * finds its head by arithmetic.
 *
 * Single pages, by far the most asked for, come from and go to a list of the CPU, which trades with
 * the buddy lists by the batch. Each list has a lock that nobody else takes but who has found the
 * buddy lists empty and collects what the CPUs have left: a machine is out of memory only when it
 * really is.
 *
 * A page's reference count is 0 exactly while it is free. Lookups without locks may raise the count
 * of any page for a moment (quire_page_try_get), so the last to drop a page need not be its owner:
 * whoever it is frees the block, and all that must happen before that happens here.
 *
 * The order in which pages are handed out depends on nothing but the calls before: lists are LIFO,
 * and in the beginning low addresses come first.
 */
#include "mm/percpu.h"

enum {
	BATCH_PAGES = 16, /* moved between a CPU's list and the buddy lists at once */
	CPU_PAGES_MAX = 2 * BATCH_PAGES,
	TRIES_MAX = 4,          /* allocations after the CPUs' lists were collected */
	COLOUR_SEARCH_MAX = 16, /* blocks of each order looked at for a page of a colour */
	TAIL_ORDER_SHIFT = 24,  /* in flags of tails: the order, so that one load tells the head */
};

/* --- Descriptors ----------------------------------------------------------------------------- */

static const struct quire_range *range_of(const struct quire *q, uint64_t frame)
{
	for (unsigned n = 0; n < q->machine.port.memory_ranges; n++) {
		const struct quire_range *range = &q->ranges[n];

		if (frame >= range->first_frame && frame - range->first_frame < range->frames)
			return range;
	}
	return NULL;
}

struct quire_page *quire_page_of(struct quire *q, uint64_t frame)
{
	const struct quire_range *range = range_of(q, frame);
	struct quire_page *page;

	if (!range)
		return NULL;
	page = &range->pages[frame - range->first_frame];
	return quire_page_is(page, QUIRE_PAGE_RESERVED) ? NULL : page;
}

uintptr_t quire_page_address(struct quire *q, const struct quire_page *page)
{
	return quire_kernel_address(&q->machine, quire_page_pa(page));
}

struct quire_page *quire_page_head(struct quire_page *page)
{
	uint32_t flags = quire_atomic_read(&page->flags);

	if (!(flags & QUIRE_PAGE_TAIL))
		return page;
	return page - (page->frame & ((1u << (flags >> TAIL_ORDER_SHIFT)) - 1));
}

static void init_descriptor(struct quire_page *page, uint64_t frame)
{
	quire_atomic_init(&page->flags, QUIRE_PAGE_RESERVED);
	quire_atomic_init(&page->refs, 0);
	quire_atomic_init(&page->maps, 0);
	page->order = 0;
	page->frame = (uint32_t)frame;
	page->file = NULL;
	page->index = 0;
	page->rmap.space = NULL;
	page->rmap.va = 0;
	page->rmap.next = NULL;
	page->rmap.visited = false;
	quire_list_init(&page->link);
	quire_lock_init(&page->table);
	page->used = 0;
	page->last_va = 0;
	page->coherence = (struct quire_coherence_state){0};
}

/* --- Buddy lists, under q->frames ------------------------------------------------------------ */

/* The other half of the block that `page` would be a half of, if it is free as a whole. */
static struct quire_page *free_buddy(const struct quire_range *range, struct quire_page *page,
				     unsigned order)
{
	uint64_t frame = page->frame ^ (1u << order);
	struct quire_page *buddy;

	if (frame < range->first_frame ||
	    frame - range->first_frame + (1u << order) > range->frames)
		return NULL;
	buddy = &range->pages[frame - range->first_frame];
	return quire_page_is(buddy, QUIRE_PAGE_FREE) && buddy->order == order ? buddy : NULL;
}

static void free_list_add(struct quire *q, struct quire_page *page, unsigned order)
{
	page->order = (uint8_t)order;
	quire_atomic_or(&page->flags, QUIRE_PAGE_FREE);
	quire_list_add(&q->free[order], &page->link);
}

static void free_list_remove(struct quire_page *page)
{
	quire_list_remove(&page->link);
	quire_atomic_clear(&page->flags, QUIRE_PAGE_FREE);
}

static void buddy_give(struct quire *q, struct quire_page *page, unsigned order)
{
	const struct quire_range *range = range_of(q, page->frame);

	q->free_pages += 1u << order;
	for (; order < QUIRE_ORDERS - 1; order++) {
		struct quire_page *buddy = free_buddy(range, page, order);

		if (!buddy)
			break;
		free_list_remove(buddy);
		if (buddy < page)
			page = buddy;
	}
	free_list_add(q, page, order);
}

static struct quire_page *buddy_take(struct quire *q, unsigned order)
{
	unsigned from = order;
	struct quire_page *page;

	while (from < QUIRE_ORDERS && quire_list_empty(&q->free[from]))
		from++;
	if (from == QUIRE_ORDERS)
		return NULL;
	page = quire_container(q->free[from].next, struct quire_page, link);
	free_list_remove(page);
	while (from > order) {
		from--;
		free_list_add(q, page + (1u << from), from);
	}
	page->order = (uint8_t)order;
	q->free_pages -= 1u << order;
	return page;
}

/*
 * The page in a free block whose frame number is `want` modulo mask + 1, if there is one; else
 * NULL.
 */
static struct quire_page *coloured_in(struct quire_page *block, uint32_t mask, uint32_t want)
{
	uint32_t offset = (want - block->frame) & mask;

	return offset < 1u << block->order ? block + offset : NULL;
}

/* Takes one page out of a free block; the rest of the block stays free. */
static void take_out(struct quire *q, struct quire_page *block, struct quire_page *page)
{
	unsigned order = block->order;

	free_list_remove(block);
	while (order--) {
		struct quire_page *upper = block + (1u << order);

		free_list_add(q, page < upper ? upper : block, order);
		if (page >= upper)
			block = upper;
	}
	page->order = 0;
	q->free_pages--;
}

/*
 * A page of a colour from the buddy lists, smallest blocks first, of which it looks at a few only;
 * NULL: none found.
 */
static struct quire_page *buddy_take_coloured(struct quire *q, uint32_t mask, uint32_t want)
{
	for (unsigned order = 0; order < QUIRE_ORDERS; order++) {
		struct quire_list *l = q->free[order].next;

		for (unsigned n = 0; n < COLOUR_SEARCH_MAX && l != &q->free[order];
		     n++, l = l->next) {
			struct quire_page *block = quire_container(l, struct quire_page, link);
			struct quire_page *page = coloured_in(block, mask, want);

			if (page) {
				take_out(q, block, page);
				return page;
			}
		}
	}
	return NULL;
}

/* --- Lists of the CPUs ----------------------------------------------------------------------- */

static struct quire_page *first_page(struct quire_list *list)
{
	return quire_list_empty(list) ? NULL : quire_container(list->next, struct quire_page, link);
}

/* Moves up to a batch from the buddy lists; the CPU's list is empty and locked. */
static void cpu_pages_fill(struct quire *q, struct quire_percpu *cpu)
{
	struct quire_page *page;

	quire_lock(q, &q->frames);
	while (cpu->pages_count < BATCH_PAGES && (page = buddy_take(q, 0))) {
		quire_list_add(cpu->pages.prev, &page->link);
		cpu->pages_count++;
	}
	quire_unlock(q, &q->frames);
}

/* Gives pages back until `left` are left, those first that were freed longest ago. */
static void cpu_pages_shrink(struct quire *q, struct quire_percpu *cpu, unsigned left)
{
	if (cpu->pages_count <= left)
		return;
	quire_lock(q, &q->frames);
	for (; cpu->pages_count > left; cpu->pages_count--) {
		struct quire_page *page = quire_container(cpu->pages.prev, struct quire_page, link);

		quire_list_remove(&page->link);
		buddy_give(q, page, 0);
	}
	quire_unlock(q, &q->frames);
}

static struct quire_page *take_single(struct quire *q)
{
	struct quire_percpu *cpu = quire_percpu_here(q);
	struct quire_page *page;

	quire_lock(q, &cpu->pages_lock);
	if (!cpu->pages_count)
		cpu_pages_fill(q, cpu);
	page = first_page(&cpu->pages);
	if (page) {
		quire_list_remove(&page->link);
		cpu->pages_count--;
	}
	quire_unlock(q, &cpu->pages_lock);
	return page;
}

/* A page of a colour: from this CPU's list, or the buddy lists; NULL: it is not easily found. */
static struct quire_page *take_coloured(struct quire *q, uint32_t mask, uint32_t want)
{
	struct quire_percpu *cpu = quire_percpu_here(q);
	struct quire_page *page = NULL;

	quire_lock(q, &cpu->pages_lock);
	for (struct quire_list *l = cpu->pages.next; l != &cpu->pages && !page; l = l->next)
		page = coloured_in(quire_container(l, struct quire_page, link), mask, want);
	if (page) {
		quire_list_remove(&page->link);
		cpu->pages_count--;
	}
	quire_unlock(q, &cpu->pages_lock);
	if (page)
		return page;
	quire_lock(q, &q->frames);
	page = buddy_take_coloured(q, mask, want);
	quire_unlock(q, &q->frames);
	return page;
}

static void give_single(struct quire *q, struct quire_page *page)
{
	struct quire_percpu *cpu = quire_percpu_here(q);

	quire_lock(q, &cpu->pages_lock);
	quire_list_add(&cpu->pages, &page->link);
	cpu->pages_count++;
	if (cpu->pages_count > CPU_PAGES_MAX)
		cpu_pages_shrink(q, cpu, CPU_PAGES_MAX - BATCH_PAGES);
	quire_unlock(q, &cpu->pages_lock);
}

static struct quire_page *take_block(struct quire *q, unsigned order)
{
	struct quire_page *page;

	quire_lock(q, &q->frames);
	page = buddy_take(q, order);
	quire_unlock(q, &q->frames);
	return page;
}

/* Moves what all CPUs have left to the buddy lists; false: nothing was there. */
static bool collect(struct quire *q)
{
	bool any = false;

	for (unsigned n = 0; n < q->machine.port.cpus; n++) {
		struct quire_percpu *cpu = &q->percpu[n];

		quire_lock(q, &cpu->pages_lock);
		any |= cpu->pages_count > 0;
		cpu_pages_shrink(q, cpu, 0);
		quire_unlock(q, &cpu->pages_lock);
	}
	return any;
}

uint64_t quire_pages_free(struct quire *q)
{
	uint64_t pages = 0;

	for (unsigned n = 0; n < q->machine.port.cpus; n++) {
		quire_lock(q, &q->percpu[n].pages_lock);
		pages += q->percpu[n].pages_count;
		quire_unlock(q, &q->percpu[n].pages_lock);
	}
	quire_lock(q, &q->frames);
	pages += q->free_pages;
	quire_unlock(q, &q->frames);
	return pages;
}

/* --- Allocation and references --------------------------------------------------------------- */

static void tell_owner(struct quire *q, const struct quire_page *page, unsigned order, bool taken)
{
	const struct quire_port *port = &q->machine.port;

	if (port->page_owner)
		port->page_owner(port->context, quire_page_pa(page),
				 (uint64_t)QUIRE_PAGE_BYTES << order, taken);
}

static struct quire_page *take_any(struct quire *q, unsigned order)
{
	struct quire_page *page = order ? take_block(q, order) : take_single(q);

	for (unsigned tries = 0; !page && tries < TRIES_MAX && collect(q); tries++)
		page = order ? take_block(q, order) : take_single(q);
	return page;
}

struct quire_page *quire_page_alloc(struct quire *q, unsigned order)
{
	struct quire_page *page;

	if (order >= QUIRE_ORDERS)
		return NULL;
	quire_step(q, QUIRE_STEP_PAGE_ALLOC);
	page = take_any(q, order);
	if (!page)
		return NULL;
	for (unsigned n = 1; n < 1u << order; n++) {
		page[n].order = (uint8_t)order;
		quire_atomic_set(&page[n].flags, QUIRE_PAGE_TAIL | order << TAIL_ORDER_SHIFT);
	}
	quire_atomic_set(&page->refs, 1);
	tell_owner(q, page, order, true);
	quire_coherence_alloc(q, page, false);
	return page;
}

struct quire_page *quire_page_alloc_at(struct quire *q, uintptr_t va, bool user)
{
	struct quire_page *page = NULL;
	uint32_t mask, want;

	quire_step(q, QUIRE_STEP_PAGE_ALLOC);
	if (quire_coherence_frames(q, va, &mask, &want))
		page = take_coloured(q, mask, want);
	if (!page)
		page = take_any(q, 0);
	if (!page)
		return NULL;
	quire_atomic_set(&page->refs, 1);
	tell_owner(q, page, 0, true);
	quire_coherence_alloc(q, page, user);
	return page;
}

static void free_block(struct quire *q, struct quire_page *page)
{
	unsigned order = page->order;

	quire_coherence_free(q, page);
	quire_step(q, QUIRE_STEP_PAGE_FREE);
	for (struct quire_page *p = page; p < page + (1u << order); p++) {
		quire_require(q, !quire_page_mapped(p) && !p->file);
		quire_atomic_set(&p->flags, 0);
		p->order = 0;
		p->index = 0;
		p->used = 0;
		p->last_va = 0;
	}
	tell_owner(q, page, order, false);
	if (!order) {
		give_single(q, page);
		return;
	}
	quire_lock(q, &q->frames);
	buddy_give(q, page, order);
	quire_unlock(q, &q->frames);
}

void quire_page_put(struct quire *q, struct quire_page *page)
{
	struct quire_page *head = quire_page_head(page);
	uint32_t refs = quire_atomic_add(&head->refs, (uint32_t)-1);

	quire_require(q, refs != (uint32_t)-1);
	if (!refs)
		free_block(q, head);
}

void quire_page_get(struct quire_page *page)
{
	quire_atomic_add(&quire_page_head(page)->refs, 1);
}

bool quire_page_try_get(struct quire_page *page)
{
	uint32_t refs;

	/* A tail's own count is always 0, and a block does not change while its head's is not. */
	do {
		refs = quire_atomic_read(&page->refs);
		if (!refs)
			return false;
	} while (!quire_atomic_replace(&page->refs, refs, refs + 1));
	return true;
}

/* --- The page lock --------------------------------------------------------------------------- */

bool quire_page_try_lock(struct quire *q, struct quire_page *page)
{
	quire_step(q, QUIRE_STEP_LOCK);
	return !(quire_atomic_or(&quire_page_head(page)->flags, QUIRE_PAGE_LOCKED) &
		 QUIRE_PAGE_LOCKED);
}

void quire_page_lock(struct quire *q, struct quire_page *page)
{
	struct quire_page *head = quire_page_head(page);

	quire_step(q, QUIRE_STEP_LOCK);
	while (quire_atomic_or(&head->flags, QUIRE_PAGE_LOCKED) & QUIRE_PAGE_LOCKED)
		q->machine.port.relax(q->machine.port.context);
}

void quire_page_unlock(struct quire *q, struct quire_page *page)
{
	uint32_t old = quire_atomic_clear(&quire_page_head(page)->flags, QUIRE_PAGE_LOCKED);

	quire_require(q, old & QUIRE_PAGE_LOCKED);
}

void quire_page_clear(struct quire *q, struct quire_page *page, size_t offset, size_t bytes)
{
	quire_require(q, offset <= QUIRE_PAGE_BYTES && bytes <= QUIRE_PAGE_BYTES - offset);
	if (!bytes)
		return;
	q->machine.port.clear(q->machine.port.context, quire_page_address(q, page) + offset, bytes);
	quire_coherence_kernel_wrote(q, page);
}

/* --- Beginning and end ----------------------------------------------------------------------- */

static bool in_kernel_text(const struct quire *q, uint64_t frame)
{
	const struct quire_port *port = &q->machine.port;
	uintptr_t page = port->kernel_base + (uintptr_t)(frame << QUIRE_PAGE_SHIFT);

	return port->kernel_text_bytes && page + QUIRE_PAGE_MASK >= port->kernel_text &&
	       page <= port->kernel_text + port->kernel_text_bytes - 1;
}

/* High frames first, since what is freed last is handed out first. */
static void give_range(struct quire *q, const struct quire_range *range)
{
	for (uint64_t n = range->frames; n-- > 0;) {
		if (in_kernel_text(q, range->first_frame + n))
			continue;
		quire_atomic_set(&range->pages[n].flags, 0);
		buddy_give(q, &range->pages[n], 0);
	}
}

static int init_range(struct quire *q, struct quire_range *range, const struct quire_memory *memory)
{
	const struct quire_port *port = &q->machine.port;

	range->first_frame = memory->base >> QUIRE_PAGE_SHIFT;
	range->frames = memory->bytes >> QUIRE_PAGE_SHIFT;
	if (range->frames > SIZE_MAX / sizeof(struct quire_page))
		return -QUIRE_ENOMEM;
	range->pages = port->alloc(port->context, (size_t)range->frames * sizeof(struct quire_page),
				   QUIRE_SHARING_BYTES);
	if (!range->pages)
		return -QUIRE_ENOMEM;
	for (uint64_t n = 0; n < range->frames; n++)
		init_descriptor(&range->pages[n], range->first_frame + n);
	return 0;
}

int quire_pages_init(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;
	size_t bytes = port->memory_ranges * sizeof(struct quire_range);

	quire_lock_init(&q->frames);
	for (unsigned order = 0; order < QUIRE_ORDERS; order++)
		quire_list_init(&q->free[order]);
	q->free_pages = 0;
	q->ranges = quire_new(q, bytes);
	if (!q->ranges)
		return -QUIRE_ENOMEM;
	for (unsigned n = 0; n < port->memory_ranges; n++) {
		if (init_range(q, &q->ranges[n], &port->memory[n])) {
			quire_pages_destroy(q);
			return -QUIRE_ENOMEM;
		}
	}
	for (unsigned n = port->memory_ranges; n-- > 0;)
		give_range(q, &q->ranges[n]);
	q->managed_pages = q->free_pages;
	return 0;
}

void quire_pages_destroy(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;

	for (unsigned n = 0; n < port->memory_ranges; n++) {
		struct quire_range *range = &q->ranges[n];

		if (range->pages)
			port->free(port->context, range->pages,
				   (size_t)range->frames * sizeof(struct quire_page));
	}
	quire_delete(q, q->ranges, port->memory_ranges * sizeof(struct quire_range));
	q->ranges = NULL;
}
