/*
 * Coherence: who may see stale bytes of a page, and what is done before they look.
 *
 * OBSERVERS. The kernel, through its linear mapping (colour K of the page); users, each through the
 * colour of the address where the page is mapped; instruction fetches, through the I caches;
 * devices, which read memory; and the next owner of the frame. (The table walker is pte_clean.c's;
 * what is left of a user range that goes is flush_range.c's.) Which of these see each other's
 * stores without help is the machine's:
 *
 *   D caches alias        K and the users' colours are separate copies        (PA-RISC)
 *   D caches do not       kernel and users share lines                        (ARMv7, x86)
 *   I snoops D or not     fetches see stores (x86), or what was in memory, or at the point of
 *                         unification, when the I line was filled             (ARMv7, PA-RISC)
 *   devices see D or not
 *
 * STATE. Where D caches alias, a page belongs to one of two at a time:
 *
 *   the kernel (DATA_CLEAN not set): lines of colour K are right, and may be newer than memory. Who
 *     else wants to look has them flushed first.
 *   users (DATA_CLEAN set): memory, or lines of the colours at which the page is mapped, are right.
 *     Lines of colour K may be stale, and are dirty only where a user shares them. So before the
 *     kernel looks, lines of the users' colours and of K are flushed; and after it wrote, those of
 *     K and of the users' colours.
 *
 *   It passes to the users when an entry appears at a colour other than K, or when a copy or clear
 *   was made through an alias of such a colour; it passes to the kernel when that looks and no
 *   entry maps the page, or when an entry appears at colour K. A user's stores are not told to us,
 *   which is why this must not depend on them. What an alias copy left in the lines of the colour
 *   it was made for is remembered in page->last_va until an entry appears there, the kernel looks,
 *   or the frame is freed. The colour of an entry that goes is noted there too, from when the
 *   reverse map does not know it any more until its lines are flushed: the kernel may look in
 *   between, on another CPU.
 *
 *   Of two users at different colours neither may store: before an entry that allows stores, all
 *   those at other colours go, and before one at another colour, those that allow stores (claim).
 *   Entries of one colour see each other.
 *
 * Where D caches do not alias, DATA_CLEAN says that D lines have been cleaned to where fetches
 * read. INSN_CLEAN says, everywhere, that no I line is older than the page. Both are set after the
 * maintenance is complete, so of two CPUs at the same page both may do it, never none. Stores of
 * users are not seen by INSN_CLEAN: USER_WRITE is set when an entry appears that allows them, and
 * makes the next executable entry sync again. An entry does not allow both (mm/fault.c), and the
 * entries of one page do not either (claim), so that a store after the sync must fault first.
 *
 * POLICIES decide one thing: whether what the kernel owes after it wrote, and before it reads a
 * page that users may store to, is done at once or when an entry appears. Where users share D lines
 * with the kernel and fetches snoop, nothing is owed and they are all the same. Waiting is not
 * allowed where maintenance by address does not reach other CPUs: the lines may be in the cache of
 * the CPU that wrote, and another one will map the page. Nor, where D caches alias, for a page that
 * is mapped: no entry will appear that could settle it.
 *
 * Before it reads, `eager` and `mapping` flush as kernels of 2013 did, D by address and I as well,
 * of any page whose file is mapped shared and writable: where kernel and users share lines that is
 * not needed, and is what the experiment mapped-read measures.
 */
#include "mm/coherence/exact.h"
#include "mm/coherence/policy.h"

/* Does this machine leave anything to software between the kernel, users and fetches? */
static bool nothing_owed(const struct quire *q)
{
	return q->machine.traits.insn_snoops_data && !q->machine.traits.data_aliases;
}

static bool aliases(const struct quire *q)
{
	return q->machine.traits.data_aliases;
}

/* Pages that are no user's: tables, the kernel's own, none at all. */
static bool is_foreign(const struct quire_page *page)
{
	return !page || quire_page_is(page, QUIRE_PAGE_TABLE) ||
	       quire_page_is(page, QUIRE_PAGE_RESERVED);
}

/* A call with the first page of a folio means all of it. */
static unsigned pages_meant(const struct quire_page *page)
{
	return quire_page_is(page, QUIRE_PAGE_TAIL) ? 1 : 1u << page->order;
}

static void set_flags(struct quire *q, struct quire_page *page, uint32_t flags)
{
	if ((quire_atomic_read(&page->flags) & flags) == flags)
		return;
	quire_step(q, QUIRE_STEP_FLAG);
	quire_atomic_or(&page->flags, flags);
}

static void clear_flags(struct quire *q, struct quire_page *page, uint32_t flags)
{
	if (!(quire_atomic_read(&page->flags) & flags))
		return;
	quire_step(q, QUIRE_STEP_FLAG);
	quire_atomic_clear(&page->flags, flags);
}

static bool may_wait(struct quire *q, struct quire_page *page)
{
	if (!q->machine.traits.data_broadcast && q->machine.port.cpus > 1)
		return false;
	if (aliases(q) && quire_page_mapped(page))
		return false;
	switch (q->policy.coherence) {
	case QUIRE_COHERENCE_EAGER:
		break;
	case QUIRE_COHERENCE_MAPPING:
		return quire_mapping_may_wait(page);
	case QUIRE_COHERENCE_PAGE:
	case QUIRE_COHERENCE_EXACT: /* not asked: exact.c decides */
		return quire_page_may_wait(page);
	}
	return quire_eager_may_wait(page);
}

/* --- Single operations, each at its site ------------------------------------------------------ */

static bool same_colour(const struct quire *q, uintptr_t a, uintptr_t b)
{
	return !((a ^ b) & (q->machine.traits.colour_bytes - 1) & ~(uintptr_t)QUIRE_PAGE_MASK);
}

static void kernel_lines(struct quire *q, struct quire_page *page, enum quire_cache_op op,
			 enum quire_site site)
{
	if (!quire_maintain_begin(q, site))
		return;
	q->machine.arch->data(&q->machine, quire_page_address(q, page), QUIRE_PAGE_BYTES, op);
	quire_maintain_end(q, site);
}

static void colour_lines(struct quire *q, struct quire_page *page, uintptr_t va,
			 enum quire_site site)
{
	if (!quire_maintain_begin(q, site))
		return;
	q->machine.arch->data_alias(&q->machine, quire_page_pa(page), va, QUIRE_FLUSH);
	quire_maintain_end(q, site);
}

static void insn_lines(struct quire *q, struct quire_page *page, uintptr_t va, enum quire_site site)
{
	if (q->machine.traits.insn_snoops_data || !quire_maintain_begin(q, site))
		return;
	q->machine.arch->insn(&q->machine, quire_page_pa(page), quire_page_address(q, page), va);
	quire_maintain_end(q, site);
}

/* --- Lines of the users' colours, under the rmap lock ----------------------------------------- */

/*
 * Flushes what an alias copy left, or an entry that goes, unless that is at the colour of `but` (0:
 * in any case). While entries go, lines may still come back through their translations: then in any
 * case, and it stays noted.
 */
static void left_lines(struct quire *q, struct quire_page *page, uintptr_t but,
		       enum quire_site site)
{
	if (!page->last_va)
		return;
	if (!but || page->coherence.leaving || !same_colour(q, page->last_va, but))
		colour_lines(q, page, page->last_va, site);
	if (!page->coherence.leaving)
		page->last_va = 0;
}

/* Was a colour met in the chain before this record? Chains are of one colour nearly always. */
static bool colour_seen(struct quire *q, const struct quire_page *page,
			const struct quire_rmap *until)
{
	for (const struct quire_rmap *rmap = &page->rmap; rmap != until; rmap = rmap->next)
		if (rmap->space && same_colour(q, rmap->va, until->va))
			return true;
	return false;
}

/* Flushes each colour at which the page is mapped or that was left, but for the colour of `but`. */
static void user_lines(struct quire *q, struct quire_page *page, uintptr_t but,
		       enum quire_site site)
{
	left_lines(q, page, but, site);
	for (const struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next)
		if (rmap->space && !same_colour(q, rmap->va, but) && !colour_seen(q, page, rmap))
			colour_lines(q, page, rmap->va, site);
}

/*
 * I lines at the kernel's address and at each colour at which the page is mapped; one call means
 * all where D is physical.
 */
static void all_insn_lines(struct quire *q, struct quire_page *page, enum quire_site site)
{
	insn_lines(q, page, 0, site);
	if (!aliases(q))
		return;
	for (const struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next)
		if (rmap->space && !colour_seen(q, page, rmap))
			insn_lines(q, page, rmap->va, site);
}

/* --- The kernel reads and writes -------------------------------------------------------------- */

/*
 * What the kernel sees or wrote, and what everybody else sees, becomes one. The order matters where
 * the kernel wrote: its lines go to memory first, and what the users' colours hold is older.
 */
static void settle(struct quire *q, struct quire_page *page, enum quire_site site)
{
	quire_rmap_lock(q, page);
	kernel_lines(q, page, QUIRE_FLUSH, site);
	if (aliases(q))
		user_lines(q, page, quire_page_address(q, page), site);
	all_insn_lines(q, page, site);
	set_flags(q, page, QUIRE_PAGE_DATA_CLEAN | QUIRE_PAGE_INSN_CLEAN);
	quire_rmap_unlock(q, page);
}

/*
 * The page is owed for again. A mapping that appears now counted itself before it looks at the
 * flags. True: the page stays its users', and is to be settled even if their last entry goes
 * meanwhile: nothing else would tell the next one of the kernel's lines.
 */
static bool owe(struct quire *q, struct quire_page *page)
{
	bool users = aliases(q) && quire_page_mapped(page);

	clear_flags(q, page, QUIRE_PAGE_INSN_CLEAN | (users ? 0 : QUIRE_PAGE_DATA_CLEAN));
	quire_atomic_fence();
	return users;
}

static void wrote_page(struct quire *q, struct quire_page *page)
{
	if (owe(q, page) || !may_wait(q, page))
		settle(q, page, QUIRE_SITE_KERNEL_WROTE);
}

void quire_coherence_kernel_wrote(struct quire *q, struct quire_page *page)
{
	bool exact = quire_exact_on(q);

	if ((nothing_owed(q) && !exact) || is_foreign(page))
		return;
	for (unsigned n = 0, pages = pages_meant(page); n < pages; n++)
		if (exact)
			quire_exact_kernel_wrote(q, page + n);
		else
			wrote_page(q, page + n);
}

/*
 * Where D caches alias and the page is the users': their lines go to memory, then the kernel's old
 * ones are dropped. It becomes the kernel's if nobody maps it.
 */
static void fetch_from_users(struct quire *q, struct quire_page *page, enum quire_site site)
{
	quire_rmap_lock(q, page);
	user_lines(q, page, quire_page_address(q, page), site);
	kernel_lines(q, page, QUIRE_FLUSH, site);
	if (!quire_page_mapped(page))
		clear_flags(q, page, QUIRE_PAGE_DATA_CLEAN);
	quire_rmap_unlock(q, page);
}

/*
 * `page` knows of the page itself that nobody could store to it; the others ask only who maps its
 * file.
 */
static bool users_may_have_stored(const struct quire *q, const struct quire_page *page)
{
	if (!page->file || !quire_atomic_read(&page->file->writable_areas))
		return false;
	return q->policy.coherence != QUIRE_COHERENCE_PAGE ||
	       quire_page_is(page, QUIRE_PAGE_USER_WRITE);
}

static void read_page(struct quire *q, struct quire_page *page)
{
	if (aliases(q) && quire_page_is(page, QUIRE_PAGE_DATA_CLEAN))
		fetch_from_users(q, page, QUIRE_SITE_KERNEL_READ);
	else if (users_may_have_stored(q, page) && !may_wait(q, page))
		settle(q, page, QUIRE_SITE_KERNEL_READ);
}

void quire_coherence_kernel_read(struct quire *q, struct quire_page *page)
{
	bool exact = quire_exact_on(q);

	if ((nothing_owed(q) && !exact) || is_foreign(page))
		return;
	for (unsigned n = 0, pages = pages_meant(page); n < pages; n++)
		if (exact)
			quire_exact_kernel_read(q, page + n);
		else
			read_page(q, page + n);
}

/* --- A user mapping appears ------------------------------------------------------------------- */

/* D side for a new entry at va, where D caches alias. */
static void settle_colour(struct quire *q, struct quire_page *page, uintptr_t va)
{
	bool users = quire_page_is(page, QUIRE_PAGE_DATA_CLEAN);
	bool with_kernel = same_colour(q, va, quire_page_address(q, page));

	user_lines(q, page, va, QUIRE_SITE_USER_COLOUR);
	if (users != with_kernel)
		return; /* the page is already whose it must be */
	kernel_lines(q, page, QUIRE_FLUSH, QUIRE_SITE_USER_MAP_D);
	if (with_kernel)
		clear_flags(q, page, QUIRE_PAGE_DATA_CLEAN);
	else
		set_flags(q, page, QUIRE_PAGE_DATA_CLEAN);
}

/*
 * I side for a new entry at va: what D lines hold goes to where fetches read, then old I lines are
 * dropped.
 */
static void settle_insn(struct quire *q, struct quire_page *page, uintptr_t va)
{
	bool stored = quire_page_is(page, QUIRE_PAGE_USER_WRITE);

	if (quire_page_is(page, QUIRE_PAGE_INSN_CLEAN) && !stored)
		return;
	if (aliases(q))
		colour_lines(q, page, va, QUIRE_SITE_USER_MAP_D);
	else if (stored || !quire_page_is(page, QUIRE_PAGE_DATA_CLEAN))
		kernel_lines(q, page, QUIRE_CLEAN, QUIRE_SITE_USER_MAP_D);
	insn_lines(q, page, va, QUIRE_SITE_USER_MAP_I);
	if (!aliases(q))
		set_flags(q, page, QUIRE_PAGE_DATA_CLEAN);
	set_flags(q, page, QUIRE_PAGE_INSN_CLEAN);
	clear_flags(q, page, QUIRE_PAGE_USER_WRITE);
}

void quire_coherence_user_map(struct quire *q, struct quire_page *page, struct quire_space *space,
			      uintptr_t va, bool exec)
{
	(void)space;
	if (quire_exact_on(q) && !is_foreign(page))
		quire_exact_user_map(q, page, va, exec);
	if (quire_exact_on(q) || nothing_owed(q) || is_foreign(page))
		return;
	quire_rmap_lock(q, page);
	if (aliases(q))
		settle_colour(q, page, va);
	if (exec && !q->machine.traits.insn_snoops_data) {
		settle_insn(q, page, va);
		set_flags(q, page, QUIRE_PAGE_USER_EXEC);
	}
	quire_rmap_unlock(q, page);
}

void quire_coherence_user_store(struct quire *q, struct quire_page *page, uintptr_t va)
{
	if (is_foreign(page))
		return;
	if (quire_exact_on(q))
		quire_exact_user_store(q, page, va);
	else if (!nothing_owed(q))
		set_flags(q, page, QUIRE_PAGE_USER_WRITE);
}

void quire_coherence_stores_end(struct quire *q, struct quire_page *page)
{
	if (quire_exact_on(q))
		quire_exact_stores_end(q, page);
}

void quire_coherence_entry_goes(struct quire *q, struct quire_page *page, uintptr_t va)
{
	if (quire_exact_on(q)) {
		quire_exact_entry_goes(q, page);
	} else if (aliases(q)) {
		left_lines(q, page, va, QUIRE_SITE_UNMAP_PAGE);
		page->last_va = va;
		page->coherence.leaving++;
		quire_require(q, page->coherence.leaving);
	}
}

void quire_coherence_entry_gone(struct quire *q, struct quire_page *page)
{
	quire_rmap_lock(q, page);
	quire_require(q, page->coherence.leaving);
	if (!--page->coherence.leaving)
		page->last_va = 0;
	quire_rmap_unlock(q, page);
}

bool quire_coherence_store_or_fetch(struct quire *q)
{
	return !q->machine.traits.insn_snoops_data;
}

/* --- Mappings that exclude each other --------------------------------------------------------- */

static bool mapped_at_other_colour(struct quire *q, struct quire_page *page, uintptr_t va)
{
	bool other = false;

	quire_rmap_lock(q, page);
	for (const struct quire_rmap *rmap = &page->rmap; rmap && !other; rmap = rmap->next)
		other = rmap->space && !same_colour(q, rmap->va, va);
	quire_rmap_unlock(q, page);
	return other;
}

/* Must other entries go, and not only stop allowing stores? */
static bool excludes(struct quire *q, struct quire_page *page, uintptr_t va, bool write)
{
	if (write && quire_page_is(page, QUIRE_PAGE_USER_EXEC) && quire_coherence_store_or_fetch(q))
		return true;
	return aliases(q) && (write || quire_page_is(page, QUIRE_PAGE_USER_WRITE)) &&
	       mapped_at_other_colour(q, page, va);
}

static bool fetch_meets_stores(struct quire *q, struct quire_page *page, bool exec)
{
	return exec && quire_page_is(page, QUIRE_PAGE_USER_WRITE) &&
	       quire_coherence_store_or_fetch(q);
}

bool quire_coherence_conflict(struct quire *q, struct quire_page *page, uintptr_t va, bool write,
			      bool exec)
{
	if (nothing_owed(q) || !quire_page_mapped(page))
		return false;
	return excludes(q, page, va, write) || fetch_meets_stores(q, page, exec);
}

/* Nobody maps the page: what entries allowed is over, but the I side may still owe for it. */
static void forget_users(struct quire *q, struct quire_page *page)
{
	if (quire_page_is(page, QUIRE_PAGE_USER_WRITE))
		clear_flags(q, page, QUIRE_PAGE_INSN_CLEAN);
	if (!aliases(q))
		clear_flags(q, page, QUIRE_PAGE_DATA_CLEAN);
	clear_flags(q, page, QUIRE_PAGE_USER_WRITE | QUIRE_PAGE_USER_EXEC);
}

void quire_coherence_claim(struct quire *q, struct quire_page *page, uintptr_t va, bool write,
			   bool exec)
{
	if (nothing_owed(q))
		return;
	if (quire_page_mapped(page)) {
		if (excludes(q, page, va, write))
			quire_rmap_unmap_all(q, page);
		else if (fetch_meets_stores(q, page, exec) && quire_rmap_clean(q, page))
			quire_page_dirty(q, page);
	}
	if (!quire_page_mapped(page) && !quire_exact_on(q))
		forget_users(q, page);
}

/* --- Copying and clearing for a user ---------------------------------------------------------- */

/* Where an alias at the user's colour is no other than the kernel's own mapping. */
static bool shares_kernel_lines(struct quire *q, struct quire_page *page, uintptr_t va)
{
	return !aliases(q) || same_colour(q, va, quire_page_address(q, page));
}

/* The address at which the kernel stores to a new page that a user will see at va. */
static uintptr_t target_map(struct quire *q, struct quire_page *page, uintptr_t va)
{
	if (shares_kernel_lines(q, page, va))
		return quire_page_address(q, page);
	return q->machine.arch->alias_map(&q->machine, quire_page_pa(page), va);
}

static void target_unmap(struct quire *q, struct quire_page *page, uintptr_t va, uintptr_t alias)
{
	if (shares_kernel_lines(q, page, va)) {
		quire_coherence_kernel_wrote(q, page);
		return;
	}
	q->machine.arch->alias_unmap(&q->machine, alias);
	page->last_va = va;
	set_flags(q, page, QUIRE_PAGE_DATA_CLEAN);
}

/*
 * The address at which the kernel reads a page that users may have stored to: through an alias of
 * their colour if that is the target's too, so that nothing need be flushed; else through its own
 * mapping after flushing.
 */
static uintptr_t source_map(struct quire *q, struct quire_page *page, uintptr_t va, bool *alias)
{
	bool there = false;

	*alias = false;
	if (!aliases(q) || !quire_page_is(page, QUIRE_PAGE_DATA_CLEAN))
		return quire_page_address(q, page);
	quire_rmap_lock(q, page);
	for (const struct quire_rmap *rmap = &page->rmap; rmap && !there; rmap = rmap->next)
		there = rmap->space && same_colour(q, rmap->va, va);
	if (there)
		user_lines(q, page, va, QUIRE_SITE_COPY_SOURCE);
	quire_rmap_unlock(q, page);
	if (!there || shares_kernel_lines(q, page, va)) {
		fetch_from_users(q, page, QUIRE_SITE_COPY_SOURCE);
		return quire_page_address(q, page);
	}
	*alias = true;
	return q->machine.arch->alias_map(&q->machine, quire_page_pa(page), va);
}

void quire_coherence_copy_user_page(struct quire *q, struct quire_page *to, struct quire_page *from,
				    uintptr_t va)
{
	const struct quire_port *port = &q->machine.port;
	bool alias;
	uintptr_t source, target;

	if (quire_exact_on(q)) {
		quire_exact_copy_user_page(q, to, from, va);
		return;
	}
	source = source_map(q, from, va, &alias);
	target = target_map(q, to, va);
	port->copy(port->context, target, source, QUIRE_PAGE_BYTES);
	target_unmap(q, to, va, target);
	if (alias)
		q->machine.arch->alias_unmap(&q->machine, source);
}

void quire_coherence_clear_user_page(struct quire *q, struct quire_page *page, uintptr_t va)
{
	const struct quire_port *port = &q->machine.port;
	uintptr_t target;

	if (quire_exact_on(q)) {
		quire_exact_clear_user_page(q, page, va);
		return;
	}
	target = target_map(q, page, va);
	port->clear(port->context, target, QUIRE_PAGE_BYTES);
	target_unmap(q, page, va, target);
}

/* --- Devices ---------------------------------------------------------------------------------- */

static void dma_prepare_page(struct quire *q, struct quire_page *page,
			     enum quire_dma_direction direction, enum quire_site site)
{
	if (aliases(q) && quire_page_is(page, QUIRE_PAGE_DATA_CLEAN))
		fetch_from_users(q, page, site);
	if (q->machine.traits.devices_see_data || !quire_maintain_begin(q, site))
		return;
	q->machine.arch->dma_prepare(&q->machine, quire_page_pa(page), QUIRE_PAGE_BYTES, direction);
	quire_maintain_end(q, site);
}

void quire_coherence_dma_prepare(struct quire *q, struct quire_page *page,
				 enum quire_dma_direction direction)
{
	enum quire_site site = direction == QUIRE_TO_DEVICE ? QUIRE_SITE_DMA_TO_DEVICE
							    : QUIRE_SITE_DMA_FROM_DEVICE;

	for (unsigned n = 0, pages = pages_meant(page); n < pages; n++)
		if (quire_exact_on(q))
			quire_exact_dma_prepare(q, page + n, direction, site);
		else
			dma_prepare_page(q, page + n, direction, site);
}

/*
 * The device wrote memory: no line may be older. What the I side is owed waits for an executable
 * entry under every policy, since no D line is involved, but for a page that is mapped.
 */
static void dma_finish_page(struct quire *q, struct quire_page *page)
{
	if (!q->machine.traits.devices_see_data &&
	    quire_maintain_begin(q, QUIRE_SITE_DMA_FROM_DEVICE_DONE)) {
		q->machine.arch->dma_finish(&q->machine, quire_page_pa(page), QUIRE_PAGE_BYTES,
					    QUIRE_FROM_DEVICE);
		quire_maintain_end(q, QUIRE_SITE_DMA_FROM_DEVICE_DONE);
	}
	if (nothing_owed(q) || is_foreign(page))
		return;
	if (owe(q, page) || quire_page_mapped(page))
		settle(q, page, QUIRE_SITE_DMA_FROM_DEVICE_DONE);
}

void quire_coherence_dma_finish(struct quire *q, struct quire_page *page,
				enum quire_dma_direction direction)
{
	if (direction == QUIRE_TO_DEVICE)
		return;
	for (unsigned n = 0, pages = pages_meant(page); n < pages; n++)
		if (quire_exact_on(q))
			quire_exact_dma_finish(q, page + n);
		else
			dma_finish_page(q, page + n);
}

/* --- The frame changes owner ------------------------------------------------------------------ */

bool quire_coherence_frames(struct quire *q, uintptr_t va, uint32_t *mask, uint32_t *want)
{
	if (!aliases(q) || !quire_exact_on(q))
		return false;
	*mask = (uint32_t)(q->machine.traits.colour_bytes >> QUIRE_PAGE_SHIFT) - 1;
	*want = (uint32_t)((va - q->machine.port.kernel_base) >> QUIRE_PAGE_SHIFT) & *mask;
	return true;
}

void quire_coherence_alloc(struct quire *q, struct quire_page *page, bool user)
{
	if (!quire_exact_on(q))
		return;
	for (unsigned n = 0, pages = pages_meant(page); n < pages; n++)
		quire_exact_alloc(q, page + n, user);
}

/*
 * No dirty line of any colour may be left, since the next owner may use another colour, and an old
 * line that is written back later would destroy what he stored. Entries that went were settled
 * then.
 */
void quire_coherence_free(struct quire *q, struct quire_page *page)
{
	if (quire_exact_on(q)) {
		for (unsigned n = 0, pages = pages_meant(page); n < pages; n++)
			quire_exact_free(q, page + n);
		return;
	}
	if (!aliases(q))
		return;
	for (unsigned n = 0, pages = pages_meant(page); n < pages; n++) {
		left_lines(q, page + n, 0, QUIRE_SITE_PAGE_FREE);
		if (!quire_page_is(page + n, QUIRE_PAGE_DATA_CLEAN))
			kernel_lines(q, page + n, QUIRE_FLUSH, QUIRE_SITE_PAGE_FREE);
	}
}

/* --- Where a shared mapping should lie -------------------------------------------------------- */

void quire_coherence_colour(struct quire *q, struct quire_file *file, uint64_t index,
			    size_t *period, uintptr_t *colour)
{
	*period = 0;
	*colour = 0;
	if (!aliases(q) || !file)
		return;
	*period = q->machine.traits.colour_bytes;
	*colour = (uintptr_t)(index << QUIRE_PAGE_SHIFT) & (*period - 1);
}
