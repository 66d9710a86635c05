/*
 * The coherence policy `exact`: the one operation that the next observer needs, when he looks.
 *
 * THE IDEA is that of Wheeler and Bershad ("Consistency Management for Virtually Indexed Caches",
 * ASPLOS 1992): for each place where a copy of a page may lie, remember what the copy may be
 * (absent, clean, dirty or stale), and act only on what the next observer would get wrong. Nothing
 * is done because somebody stored, unmapped, or freed; something is done because somebody looks.
 *
 * THE PLACES, and what is remembered in page->coherence (struct quire_coherence_state):
 *
 *   D lines, by colour   dirty: the one colour that may hold lines newer than what is below it.
 *                        held: colours, beyond the kernel's, that may hold any lines, each stale or
 *                        not. There is room for two; OTHERS: further ones may hold stale lines.
 *                        KERNEL_HELD, KERNEL_STALE: the same of the kernel's colour.
 *   I lines              insn: the one colour whose I lines are no older than the page.
 *   memory               MEMORY_OLD: not all that was stored has reached the point devices read.
 *
 * What is neither dirty nor held is absent. At most one colour is dirty, and when the contents
 * change through one, the lines of all others become stale: they are dropped if their colour is
 * looked at again, and never otherwise. Where D caches do not alias there is one colour, and what
 * is left is dirty, insn and MEMORY_OLD.
 *
 * SPECULATION. Hardware may fill lines through any live translation, so through the kernel's linear
 * mapping at any time, with what is below at that time. So KERNEL_HELD is always true in effect,
 * unless traits.no_speculation: each change through another colour makes the kernel's stale, and
 * after a device wrote its lines must go. But no speculation makes a line dirty: cleaning
 * waits for somebody who stored.
 *
 * USERS STORE UNTOLD. What is told is that an entry appears that allows it (user_store). From then
 * on QUIRE_PAGE_USER_WRITE means "at any time": its colour is dirty, and is dirty again as soon as
 * it was cleaned. It ends when no entry can let a store through any more: after the TLB purge of
 * the last entry that went (`leaving` counts entries removed but not purged yet), after all entries
 * were write-protected (stores_end), or when an executable entry appears: mm/fault.c lets no entry
 * of a page allow stores while another allows fetches.
 *
 * KEPT BY OTHERS (coherence.c, claim): while an entry lets user code store, all entries of the page
 * have its colour. So the kernel alone can be at another colour than a user who stores. It flushes
 * him before it looks, and after it stored; as under `page`, stores of both to one line at the same
 * time end as one or the other.
 *
 * FRAMES keep their state when they change owner: the contents are dead, but old dirty lines could
 * be written back over the new owner's. They are invalidated, not cleaned: when the frame is
 * allocated, or, for a page that will be copied or cleared for a user, only if that is done at
 * another colour. Who takes a frame and never tells (page tables) is taken to have stored through
 * the linear mapping: UNTOLD, until one of the calls here says what the contents are.
 *
 * AVOIDED, NOT DONE. A page gets a frame whose linear address has the colour at which users will
 * see it, where one is easily found (quire_coherence_frames; a file's pages have the colour of
 * their index): then kernel and users share lines, and nothing is ever owed between them. Where
 * none is, copies and clears for users are made at the colour where the lines are wanted, and
 * sources of copies are read at the colour where the lines are (alias_map).
 *
 * A RANGE THAT GOES is left as it is. Only if more of it is dirty than the flush_range policy's
 * threshold is the whole cache flushed, since one pass then costs less than what is to come.
 *
 * LOCKING. All state is under the page's rmap lock, and changes after the operation is complete.
 * QUIRE_PAGE_DATA_CLEAN repeats for readers without the lock that the kernel must ask before
 * it looks.
 */
#include "mm/coherence/exact.h"

enum {
	KERNEL_HELD = 1,
	KERNEL_STALE = 2,
	OTHERS = 4,
	MEMORY_OLD = 8,
	UNTOLD = 16,
	FLUSHING = 32, /* a pass over the whole cache is under way, and nothing has changed since */
};

#define STALE ((uint16_t)0x8000) /* in held[] */
#define HELD  (sizeof(((struct quire_coherence_state *)NULL)->held) / sizeof(uint16_t))

bool quire_exact_on(const struct quire *q)
{
	const struct quire_traits *traits = &q->machine.traits;

	return q->policy.coherence == QUIRE_COHERENCE_EXACT &&
	       (traits->data_aliases || !traits->insn_snoops_data || !traits->devices_see_data);
}

/* --- A look at a page ------------------------------------------------------------------------ */

/* A page under its rmap lock. */
struct look {
	struct quire *q;
	struct quire_page *page;
	struct quire_coherence_state *state;
	uint16_t kernel; /* colour of the linear mapping */
};

/* Colours are numbered from 1, since 0 means none; without aliases all addresses have colour 1. */
static uint16_t colour_of(struct quire *q, uintptr_t va)
{
	size_t colours = q->machine.traits.colour_bytes >> QUIRE_PAGE_SHIFT;

	if (!q->machine.traits.data_aliases)
		return 1;
	quire_require(q, colours < STALE);
	return (uint16_t)((va >> QUIRE_PAGE_SHIFT & (colours - 1)) + 1);
}

/* Some address of the colour, which is not 0. */
static uintptr_t colour_address(struct quire *q, uint16_t colour)
{
	return q->machine.traits.colour_bytes + ((uintptr_t)(colour - 1) << QUIRE_PAGE_SHIFT);
}

static struct look look_begin(struct quire *q, struct quire_page *page)
{
	quire_rmap_lock(q, page);
	return (struct look){
		.q = q,
		.page = page,
		.state = &page->coherence,
		.kernel = colour_of(q, quire_page_address(q, page)),
	};
}

static void look_end(const struct look *look)
{
	const struct quire_coherence_state *state = look->state;
	bool ask = (state->bits & KERNEL_STALE) || (state->dirty && state->dirty != look->kernel);

	if (ask != quire_page_is(look->page, QUIRE_PAGE_DATA_CLEAN)) {
		quire_step(look->q, QUIRE_STEP_FLAG);
		if (ask)
			quire_atomic_or(&look->page->flags, QUIRE_PAGE_DATA_CLEAN);
		else
			quire_atomic_clear(&look->page->flags, QUIRE_PAGE_DATA_CLEAN);
	}
	quire_rmap_unlock(look->q, look->page);
}

static bool speculates(const struct look *look)
{
	return !look->q->machine.traits.no_speculation;
}

/* May a TLB of some CPU still translate to the page? */
static bool in_use(const struct look *look)
{
	return quire_page_mapped(look->page) || look->state->leaving;
}

static bool stores_open(const struct look *look)
{
	return quire_page_is(look->page, QUIRE_PAGE_USER_WRITE);
}

/* --- Operations ------------------------------------------------------------------------------ */

static void data_lines(struct look *look, uint16_t colour, enum quire_cache_op op,
		       enum quire_site site)
{
	struct quire_machine *machine = &look->q->machine;

	if (!quire_maintain_begin(look->q, site))
		return;
	if (colour == look->kernel)
		machine->arch->data(machine, quire_page_address(look->q, look->page),
				    QUIRE_PAGE_BYTES, op);
	else
		machine->arch->data_alias(machine, quire_page_pa(look->page),
					  colour_address(look->q, colour), op);
	quire_maintain_end(look->q, site);
}

static void insn_lines(struct look *look, uint16_t colour, enum quire_site site)
{
	struct quire_machine *machine = &look->q->machine;
	bool linear = colour == look->kernel;

	if (!quire_maintain_begin(look->q, site))
		return;
	machine->arch->insn(machine, quire_page_pa(look->page),
			    linear ? quire_page_address(look->q, look->page) : 0,
			    linear ? 0 : colour_address(look->q, colour));
	quire_maintain_end(look->q, site);
}

/* --- Which colours hold lines ---------------------------------------------------------------- */

static uint16_t *find_held(struct look *look, uint16_t colour)
{
	for (size_t n = 0; n < HELD; n++)
		if ((look->state->held[n] & ~STALE) == colour)
			return &look->state->held[n];
	return NULL;
}

/* The colour's lines are about to be filled, and none is stale. */
static void hold(struct look *look, uint16_t colour)
{
	uint16_t *held = find_held(look, colour);

	if (!held)
		held = find_held(look, 0);
	if (!held) {
		/*
		 * The one that came first gives way: it may be needlessly dropped when it is seen
		 * again.
		 */
		look->state->bits |= OTHERS;
		look->state->held[0] = look->state->held[1];
		held = &look->state->held[HELD - 1];
	}
	*held = colour;
}

/* May user code have lines of the colour filled? */
static bool is_used(const struct look *look, uint16_t colour)
{
	for (const struct quire_rmap *rmap = &look->page->rmap; rmap; rmap = rmap->next)
		if (rmap->space && colour_of(look->q, rmap->va) == colour)
			return true;
	return look->state->leaving;
}

/* The colour's lines are gone. Others may come, as long as somebody can use the colour. */
static void let_go(struct look *look, uint16_t colour)
{
	uint16_t *held = find_held(look, colour);

	if (held && !is_used(look, colour))
		*held = 0;
}

/* --- Transitions ----------------------------------------------------------------------------- */

/*
 * The contents have changed through lines of a colour, or are about to; 0: a device changed them,
 * and no lines of the kernel's colour are left.
 */
static void changed(struct look *look, uint16_t by)
{
	struct quire_coherence_state *state = look->state;

	for (size_t n = 0; n < HELD; n++)
		if (state->held[n] && state->held[n] != by)
			state->held[n] |= STALE;
	state->dirty = by;
	state->insn = 0;
	state->bits &= (uint8_t) ~(UNTOLD | FLUSHING);
	if (by)
		state->bits |= MEMORY_OLD;
	if (!by || by == look->kernel)
		state->bits &= (uint8_t)~KERNEL_STALE;
	else if (speculates(look) || (state->bits & KERNEL_HELD))
		state->bits |= KERNEL_STALE;
	if (by == look->kernel)
		state->bits |= KERNEL_HELD;
}

/* Who has the frame may have stored through the linear mapping without a word. */
static void take_as_told(struct look *look)
{
	if (look->state->bits & UNTOLD)
		changed(look, look->kernel);
}

/* What is dirty goes below. It stays dirty where user code may store at any time. */
static void clean_dirty(struct look *look, enum quire_site site)
{
	uint16_t colour = look->state->dirty;

	if (!colour)
		return;
	data_lines(look, colour, colour == look->kernel ? QUIRE_CLEAN : QUIRE_FLUSH, site);
	if (stores_open(look))
		return;
	look->state->dirty = 0;
	if (colour != look->kernel)
		let_go(look, colour);
}

/*
 * The kernel's lines are about to be looked at. What is stale there is flushed, not just dropped:
 * on another CPU the kernel may be storing to the page, and has not said so yet.
 */
static void see_kernel(struct look *look, enum quire_site site)
{
	struct quire_coherence_state *state = look->state;

	if (state->dirty != look->kernel)
		clean_dirty(look, site);
	if (state->bits & KERNEL_STALE)
		data_lines(look, look->kernel, QUIRE_FLUSH, site);
	state->bits |= KERNEL_HELD;
	if (!state->dirty || state->dirty == look->kernel)
		state->bits &= (uint8_t)~KERNEL_STALE;
}

/* Lines of a user's colour are about to be looked at. */
static void see(struct look *look, uint16_t colour, enum quire_site site)
{
	struct quire_coherence_state *state = look->state;
	uint16_t *held;

	if (colour == look->kernel) {
		see_kernel(look, site);
		return;
	}
	if (state->dirty != colour)
		clean_dirty(look, site);
	held = find_held(look, colour);
	if (held ? *held & STALE : state->bits & OTHERS)
		data_lines(look, colour, QUIRE_INVALIDATE, site);
	hold(look, colour);
	if (state->dirty && state->dirty != colour)
		*find_held(look, colour) |= STALE; /* as soon as he stores again */
}

/* Instructions are about to be fetched at a colour. No entry lets stores through: see the top. */
static void see_insn(struct look *look, uint16_t colour, enum quire_site data, enum quire_site insn)
{
	if (look->state->insn == colour)
		return;
	quire_atomic_clear(&look->page->flags, QUIRE_PAGE_USER_WRITE);
	clean_dirty(look, data);
	insn_lines(look, colour, insn);
	look->state->insn = colour;
}

/* The colour of a record of the reverse map, if no earlier one has the same; else 0. */
static uint16_t new_colour(struct look *look, const struct quire_rmap *rmap)
{
	const struct quire_rmap *earlier = &look->page->rmap;
	uint16_t colour;

	if (!rmap->space)
		return 0;
	colour = colour_of(look->q, rmap->va);
	for (; earlier != rmap; earlier = earlier->next)
		if (earlier->space && colour_of(look->q, earlier->va) == colour)
			return 0;
	return colour;
}

/* The contents of a page changed under its users: no entry will appear that could settle them. */
static void settle_users(struct look *look, enum quire_site site)
{
	bool insn = quire_page_is(look->page, QUIRE_PAGE_USER_EXEC);
	uint16_t colour;

	for (const struct quire_rmap *rmap = &look->page->rmap; rmap; rmap = rmap->next) {
		colour = new_colour(look, rmap);
		if (colour && colour != look->kernel)
			see(look, colour, site);
		if (colour && insn)
			see_insn(look, colour, site, site);
	}
}

/* --- The kernel ------------------------------------------------------------------------------ */

void quire_exact_kernel_read(struct quire *q, struct quire_page *page)
{
	struct look look;

	if (!quire_page_is(page, QUIRE_PAGE_DATA_CLEAN) && !q->machine.traits.no_speculation)
		return;
	look = look_begin(q, page);
	see_kernel(&look, QUIRE_SITE_KERNEL_READ);
	look_end(&look);
}

/* Both stored: the kernel's lines go below first, what was stored at the user's colour is newer. */
static void wrote_beside_user(struct look *look, uint16_t user)
{
	data_lines(look, look->kernel, QUIRE_CLEAN, QUIRE_SITE_KERNEL_WROTE);
	data_lines(look, user, QUIRE_FLUSH, QUIRE_SITE_KERNEL_WROTE);
	hold(look, user);
	changed(look, user);
}

void quire_exact_kernel_wrote(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);
	uint16_t user = stores_open(&look) ? look.state->dirty : 0;

	changed(&look, look.kernel);
	if (user && user != look.kernel)
		wrote_beside_user(&look, user);
	else
		settle_users(&look, QUIRE_SITE_KERNEL_WROTE);
	look_end(&look);
}

/* --- Users ----------------------------------------------------------------------------------- */

static enum quire_site map_site(const struct look *look)
{
	return look->state->dirty == look->kernel ? QUIRE_SITE_USER_MAP_D : QUIRE_SITE_USER_COLOUR;
}

void quire_exact_user_map(struct quire *q, struct quire_page *page, uintptr_t va, bool exec)
{
	struct look look = look_begin(q, page);
	uint16_t colour = colour_of(q, va);

	take_as_told(&look);
	see(&look, colour, map_site(&look));
	if (exec && !q->machine.traits.insn_snoops_data) {
		see_insn(&look, colour, QUIRE_SITE_USER_MAP_D, QUIRE_SITE_USER_MAP_I);
		quire_atomic_or(&page->flags, QUIRE_PAGE_USER_EXEC);
	}
	look_end(&look);
}

void quire_exact_user_store(struct quire *q, struct quire_page *page, uintptr_t va)
{
	struct look look = look_begin(q, page);
	uint16_t colour = colour_of(q, va);

	take_as_told(&look);
	see(&look, colour, map_site(&look));
	changed(&look, colour);
	quire_atomic_clear(&page->flags, QUIRE_PAGE_USER_EXEC);
	quire_atomic_or(&page->flags, QUIRE_PAGE_USER_WRITE);
	look_end(&look);
}

void quire_exact_stores_end(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);

	if (!look.state->leaving)
		quire_atomic_clear(&page->flags, QUIRE_PAGE_USER_WRITE);
	look_end(&look);
}

/* Called with the rmap lock held. */
void quire_exact_entry_goes(struct quire *q, struct quire_page *page)
{
	page->coherence.leaving++;
	quire_require(q, page->coherence.leaving);
}

/* One entry's TLB purge is complete. */
static void entry_gone(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);

	quire_require(q, look.state->leaving);
	look.state->leaving--;
	if (!in_use(&look))
		quire_atomic_clear(&page->flags, QUIRE_PAGE_USER_WRITE | QUIRE_PAGE_USER_EXEC);
	look_end(&look);
}

/* --- Ranges that go -------------------------------------------------------------------------- */

/* Did the entry leave dirty lines that nobody can add to, and that the kernel does not share? */
static bool left_dirty(const struct look *look, const struct quire_batch_entry *entry)
{
	uint16_t dirty = look->state->dirty;

	return dirty == colour_of(look->q, entry->va) && dirty != look->kernel && !in_use(look);
}

static size_t dirty_bytes(struct quire *q, struct quire_batch *batch)
{
	struct quire_batch_entry *entry;
	size_t bytes = 0, cursor = 0;

	while ((entry = quire_batch_next(batch, &cursor))) {
		struct look look = look_begin(q, entry->page);

		if (left_dirty(&look, entry)) {
			look.state->bits |= FLUSHING;
			bytes += QUIRE_PAGE_BYTES;
		}
		look_end(&look);
	}
	return bytes;
}

/* After a pass over the whole cache: pages that nobody changed meanwhile are not dirty any more. */
static void all_flushed(struct quire *q, struct quire_batch *batch)
{
	struct quire_batch_entry *entry;
	size_t cursor = 0;

	while ((entry = quire_batch_next(batch, &cursor))) {
		struct look look = look_begin(q, entry->page);
		uint16_t colour = look.state->dirty;

		if (colour && (look.state->bits & FLUSHING)) {
			look.state->dirty = 0;
			look.state->bits &= (uint8_t)~FLUSHING;
			let_go(&look, colour);
		}
		look_end(&look);
	}
}

static bool can_flush_all(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;

	return port->cpus == 1 || port->can_cross_call(port->context);
}

void quire_exact_unmapped(struct quire *q, struct quire_batch *batch)
{
	struct quire_batch_entry *entry;
	size_t bytes, cursor = 0;

	while ((entry = quire_batch_next(batch, &cursor)))
		if (entry->drop)
			entry_gone(q, entry->page);
	if (!q->machine.traits.data_aliases || !batch->count)
		return;
	bytes = dirty_bytes(q, batch);
	if (!bytes || bytes < q->thresholds.data_bytes || !can_flush_all(q) ||
	    !quire_maintain_begin(q, QUIRE_SITE_UNMAP_RANGE_D))
		return;
	q->machine.arch->whole_data(&q->machine);
	quire_maintain_end(q, QUIRE_SITE_UNMAP_RANGE_D);
	all_flushed(q, batch);
}

/* --- Copying and clearing for a user --------------------------------------------------------- */

static uintptr_t alias_begin(struct quire *q, struct quire_page *page, uint16_t kernel,
			     uint16_t colour)
{
	if (colour == kernel)
		return quire_page_address(q, page);
	return q->machine.arch->alias_map(&q->machine, quire_page_pa(page),
					  colour_address(q, colour));
}

static void alias_end(struct quire *q, struct quire_page *page, uintptr_t address)
{
	if (address != quire_page_address(q, page))
		q->machine.arch->alias_unmap(&q->machine, address);
}

/* Dirty lines of a former owner, or of dead contents: they must not be written back later. */
static void drop_dirty(struct look *look, enum quire_site site)
{
	uint16_t colour = look->state->dirty;

	data_lines(look, colour, QUIRE_INVALIDATE, site);
	look->state->dirty = 0;
	if (colour != look->kernel)
		let_go(look, colour);
}

/* Old lines of the colour itself need not go: each is stored to as a whole. */
static uintptr_t copy_to(struct quire *q, struct quire_page *page, uintptr_t va)
{
	struct look look = look_begin(q, page);
	uint16_t colour = colour_of(q, va);

	if (look.state->dirty && look.state->dirty != colour)
		drop_dirty(&look, QUIRE_SITE_COPY_TARGET);
	if (colour != look.kernel)
		hold(&look, colour);
	changed(&look, colour);
	look_end(&look);
	return alias_begin(q, page, look.kernel, colour);
}

/* A colour at which the contents can be read as they are; 0: none is known. */
static uint16_t readable_colour(const struct look *look)
{
	const struct quire_coherence_state *state = look->state;

	if (state->dirty)
		return state->dirty;
	if (!(state->bits & KERNEL_STALE))
		return look->kernel;
	for (size_t n = 0; n < HELD; n++)
		if (state->held[n] && !(state->held[n] & STALE))
			return state->held[n];
	return 0;
}

static uintptr_t copy_from(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);
	uint16_t colour;

	take_as_told(&look);
	colour = readable_colour(&look);
	if (!colour || colour == look.kernel) {
		see_kernel(&look, QUIRE_SITE_COPY_SOURCE);
		colour = look.kernel;
	}
	look_end(&look);
	return alias_begin(q, page, look.kernel, colour);
}

void quire_exact_copy_user_page(struct quire *q, struct quire_page *to, struct quire_page *from,
				uintptr_t va)
{
	const struct quire_port *port = &q->machine.port;
	uintptr_t source = copy_from(q, from), target = copy_to(q, to, va);

	port->copy(port->context, target, source, QUIRE_PAGE_BYTES);
	alias_end(q, to, target);
	alias_end(q, from, source);
}

void quire_exact_clear_user_page(struct quire *q, struct quire_page *page, uintptr_t va)
{
	const struct quire_port *port = &q->machine.port;
	uintptr_t target = copy_to(q, page, va);

	port->clear(port->context, target, QUIRE_PAGE_BYTES);
	alias_end(q, page, target);
}

/* --- Devices --------------------------------------------------------------------------------- */

static void arch_prepare(struct look *look, enum quire_dma_direction direction,
			 enum quire_site site)
{
	struct quire_machine *machine = &look->q->machine;

	if (!quire_maintain_begin(look->q, site))
		return;
	machine->arch->dma_prepare(machine, quire_page_pa(look->page), QUIRE_PAGE_BYTES, direction);
	quire_maintain_end(look->q, site);
}

/* A device will read: the kernel's lines where it sees them, else memory. */
static void prepare_read(struct look *look, enum quire_site site)
{
	struct quire_coherence_state *state = look->state;

	take_as_told(look);
	if (look->q->machine.traits.devices_see_data) {
		see_kernel(look, site);
		return;
	}
	if (!(state->bits & MEMORY_OLD))
		return;
	if (state->dirty != look->kernel)
		clean_dirty(look, site);
	arch_prepare(look, QUIRE_TO_DEVICE, site);
	if (stores_open(look))
		return;
	state->dirty = 0;
	state->bits &= (uint8_t)~MEMORY_OLD;
}

/*
 * A device will write all of it: nothing may be written back over that. The arch call drops lines
 * of the kernel's colour, and what lies dirty below L1.
 */
static void prepare_write(struct look *look, enum quire_site site)
{
	struct quire_coherence_state *state = look->state;
	uint16_t open = stores_open(look) ? state->dirty : 0;

	if (state->dirty && state->dirty != look->kernel)
		drop_dirty(look, site);
	if (!look->q->machine.traits.devices_see_data && (state->bits & MEMORY_OLD)) {
		arch_prepare(look, QUIRE_FROM_DEVICE, site);
		state->bits &= (uint8_t) ~(MEMORY_OLD | KERNEL_HELD);
		state->dirty = 0;
	}
	if (open)
		changed(look, open);
}

void quire_exact_dma_prepare(struct quire *q, struct quire_page *page,
			     enum quire_dma_direction direction, enum quire_site site)
{
	struct look look = look_begin(q, page);

	if (direction == QUIRE_TO_DEVICE)
		prepare_read(&look, site);
	else
		prepare_write(&look, site);
	look_end(&look);
}

/* Lines that were filled while the device wrote go, then what users and fetches may hold. */
void quire_exact_dma_finish(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);
	struct quire_machine *machine = &q->machine;
	uint16_t open = stores_open(&look) ? look.state->dirty : 0;

	if (!machine->traits.devices_see_data &&
	    (speculates(&look) || (look.state->bits & KERNEL_HELD)) &&
	    quire_maintain_begin(q, QUIRE_SITE_DMA_FROM_DEVICE_DONE)) {
		machine->arch->dma_finish(machine, quire_page_pa(page), QUIRE_PAGE_BYTES,
					  QUIRE_FROM_DEVICE);
		quire_maintain_end(q, QUIRE_SITE_DMA_FROM_DEVICE_DONE);
	}
	look.state->bits &= (uint8_t)~KERNEL_HELD;
	changed(&look, 0);
	settle_users(&look, QUIRE_SITE_DMA_FROM_DEVICE_DONE);
	if (open)
		changed(&look, open);
	look_end(&look);
}

/* --- The frame changes owner ----------------------------------------------------------------- */

/* Nothing that the kernel's lines hold is stale: there are no contents yet. */
void quire_exact_alloc(struct quire *q, struct quire_page *page, bool user)
{
	struct look look = look_begin(q, page);

	if (!user) {
		if (look.state->dirty && look.state->dirty != look.kernel)
			drop_dirty(&look, QUIRE_SITE_PAGE_FREE);
		look.state->bits &= (uint8_t)~KERNEL_STALE;
		look.state->bits |= UNTOLD;
	}
	look_end(&look);
}

void quire_exact_free(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);

	take_as_told(&look);
	look_end(&look);
}

void quire_exact_flushed(struct quire *q, struct quire_page *page)
{
	struct look look = look_begin(q, page);

	take_as_told(&look);
	look.state->dirty = 0;
	look_end(&look);
}
