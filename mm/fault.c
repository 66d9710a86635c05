/*
 * Faults: an access found no entry, or one that forbids it.
 *
 * THE IDEA. An entry never allows more than has been settled for it. What a fault may have to
 * settle:
 *   - a page for the address: zeros, the page of the file, or a private copy of either;
 *   - for a store to a shared page: its file's times and its dirty mark, before the store happens;
 *   - for a store to a private page: that nobody else has the page;
 *   - caches, for every observer that the entry adds (mm/coherence).
 * An access to what has been settled does not fault; whatever later needs to know of the next one
 * (msync, writeback, fork, mprotect) narrows the entry again and purges the TLB.
 *
 * WHO EXCLUDES WHOM. The areas lock, held for reading, keeps areas and tables; so mprotect, munmap
 * and fork do not run meanwhile. For pages of files, shape held for reading keeps the size, and the
 * page lock is held from before the look at page->file until the entry is written: so truncate,
 * reclaim and writeback, which take the page lock, see either no entry or a complete one; and two
 * faults on one page that could not be coherent with each other come one after the other. The table
 * lock protects the entry. Whatever had to be prepared without it (a copy, a page to read) is
 * compared with the entry again under it; if somebody else was faster the work is dropped, and the
 * access decides by itself whether it must fault again.
 *
 * STORE OR FETCH. Where instruction fetches do not see stores, and an area allows both, an entry
 * allows only one at a time: the change between them faults, and there the I side is synced. So
 * code that writes code, with no call to the kernel in between, runs what it wrote.
 *
 * NO CHANGE TO A PRESENT ENTRY goes without a TLB purge, and an entry that gets another page, or
 * loses the right to store, is absent and purged before it gets its new value, so that no CPU can
 * still store to the old page (or behind the I sync) after the new value is there.
 */
#include "mm/percpu.h"

struct fault {
	struct quire *q;
	struct quire_space *space;
	struct quire_area *area;
	uintptr_t va; /* of the page */
	enum quire_access access;
	bool force; /* a debugger's: the protection of the area does not count */
};

static bool is_shared(const struct fault *f)
{
	return f->area->flags & QUIRE_MAP_SHARED;
}

static bool is_store(const struct fault *f)
{
	return f->access == QUIRE_STORE;
}

/* The page of the area's file at an address. */
static uint64_t file_index(const struct quire_area *area, uintptr_t va)
{
	return area->index + ((va - area->start) >> QUIRE_PAGE_SHIFT);
}

/* --- What an entry may say -------------------------------------------------------------------- */

static bool entry_allows(unsigned bits, enum quire_access access)
{
	unsigned needed = QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG;

	if (access == QUIRE_STORE)
		needed |= QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	if (access == QUIRE_FETCH)
		needed |= QUIRE_ENTRY_EXEC;
	return (bits & needed) == needed;
}

/*
 * The bits of an entry by which stores are let through, or not, to a page that is ready for it. A
 * private page under PROT_NONE waits in an entry that is not present.
 */
static unsigned entry_bits(const struct fault *f, bool store)
{
	unsigned prot = f->area->prot;
	unsigned bits = QUIRE_ENTRY_YOUNG;

	if (prot == QUIRE_PROT_NONE)
		return bits;
	bits |= QUIRE_ENTRY_PRESENT;
	store &= (prot & QUIRE_PROT_WRITE) != 0;
	if (store)
		bits |= QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	if (!(prot & QUIRE_PROT_EXEC))
		return bits;
	if (!quire_coherence_store_or_fetch(f->q) || (!store && f->access == QUIRE_FETCH) ||
	    !(prot & QUIRE_PROT_WRITE))
		bits |= QUIRE_ENTRY_EXEC;
	return bits;
}

/*
 * The same bits for an access that is no store, with what the entry allows already, unless that
 * excludes what is asked for.
 */
static unsigned keep_bits(const struct fault *f, unsigned old)
{
	unsigned bits = entry_bits(f, false) | (old & QUIRE_ENTRY_EXEC);

	if (!(bits & QUIRE_ENTRY_EXEC) || !quire_coherence_store_or_fetch(f->q))
		bits |= old & (QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY);
	return bits;
}

/*
 * May a page that is this space's alone be stored to at once, although the access may be no store?
 */
static bool store_at_once(const struct fault *f)
{
	return f->access != QUIRE_FETCH || !quire_coherence_store_or_fetch(f->q);
}

static void purge(const struct fault *f)
{
	quire_coherence_tlb(f->q, f->space, f->va, f->va + QUIRE_PAGE_BYTES, QUIRE_SITE_TLB_PAGE);
}

/*
 * An entry allows more than before: other CPUs may fault once more, where the TLB does not look
 * again itself.
 */
static void purge_widened(const struct fault *f)
{
	if (!f->q->machine.traits.fault_walks_again)
		purge(f);
}

/* Settles what an entry adds, and writes it; the table lock is held. */
static void write_entry(const struct fault *f, struct quire_slot *slot, struct quire_page *page,
			unsigned bits)
{
	if (bits & QUIRE_ENTRY_WRITE)
		quire_coherence_user_store(f->q, page, slot->va);
	quire_coherence_user_map(f->q, page, f->space, slot->va, bits & QUIRE_ENTRY_EXEC);
	quire_slot_write(slot, (struct quire_entry){.frame = page->frame, .bits = bits});
}

/* Writes an entry where none is, with its rmap and a reference of its own. QUIRE_ENOMEM. */
static int install_entry(const struct fault *f, struct quire_slot *slot, struct quire_page *page,
			 unsigned bits)
{
	int error = quire_rmap_add(f->q, page, f->space, slot->va);

	if (error)
		return error;
	quire_page_get(page);
	f->space->resident++;
	write_entry(f, slot, page, bits);
	return 0;
}

/* Gives a present entry of the same page other bits. */
static void change_entry(const struct fault *f, struct quire_slot *slot, struct quire_page *page,
			 struct quire_entry old, unsigned bits)
{
	if (old.bits & ~bits & (QUIRE_ENTRY_WRITE | QUIRE_ENTRY_EXEC)) {
		old = quire_slot_exchange(slot, (struct quire_entry){0});
		purge(f);
		if ((old.bits & QUIRE_ENTRY_DIRTY) && page->file)
			quire_page_dirty(f->q, page);
	}
	write_entry(f, slot, page, bits);
	purge_widened(f);
}

/* --- Private pages ---------------------------------------------------------------------------- */

/* A new page for the space alone; NULL: no memory. */
static struct quire_page *new_private_page(const struct fault *f)
{
	struct quire_page *page = quire_page_alloc_at(f->q, f->va, true);

	if (page)
		quire_atomic_or(&page->flags, QUIRE_PAGE_ANON | QUIRE_PAGE_UPTODATE);
	return page;
}

static int fault_zeros(const struct fault *f, struct quire_slot *slot)
{
	struct quire_page *page;
	int error = 0;

	quire_step(f->q, QUIRE_STEP_FAULT_ANON);
	page = new_private_page(f);
	if (!page)
		return -QUIRE_ENOMEM;
	quire_coherence_clear_user_page(f->q, page, f->va);
	quire_slot_lock(slot);
	if (!quire_slot_read(slot).bits)
		error = install_entry(f, slot, page, entry_bits(f, store_at_once(f)));
	quire_slot_unlock(slot);
	quire_page_put(f->q, page);
	return error;
}

/*
 * Takes the entry's present page out, with purge, before it gets another one; the table lock is
 * held.
 */
static void remove_old(const struct fault *f, struct quire_slot *slot, struct quire_page *old)
{
	struct quire_batch batch;
	struct quire_entry entry = quire_slot_exchange(slot, (struct quire_entry){0});

	quire_rmap_remove(f->q, old, f->space, f->va);
	f->space->resident--;
	quire_batch_begin(&batch, f->space, f->va, f->va + QUIRE_PAGE_BYTES, QUIRE_SITE_TLB_PAGE);
	quire_batch_add(&batch, old, f->va, entry.bits & QUIRE_ENTRY_EXEC, true);
	quire_batch_end(&batch);
}

/*
 * Copy on write: a copy of `from` (the caller has a reference) takes the place of the entry, if
 * that is still `seen`: the entry of `from`, or none.
 */
static int fault_copy(const struct fault *f, struct quire_slot *slot, struct quire_page *from,
		      struct quire_entry seen)
{
	struct quire_entry entry;
	struct quire_page *page;
	int error = 0;

	quire_step(f->q, QUIRE_STEP_FAULT_COPY);
	page = new_private_page(f);
	if (!page)
		return -QUIRE_ENOMEM;
	quire_coherence_copy_user_page(f->q, page, from, f->va);
	quire_slot_lock(slot);
	entry = quire_slot_read(slot);
	if (entry.bits ? seen.bits && entry.frame == seen.frame && !(entry.bits & QUIRE_ENTRY_WRITE)
		       : !seen.bits) {
		/* The new rmap first: it is what can fail, and then nothing has changed. */
		error = quire_rmap_add(f->q, page, f->space, f->va);
		if (!error) {
			if (entry.bits)
				remove_old(f, slot, from);
			quire_page_get(page);
			f->space->resident++;
			write_entry(f, slot, page, entry_bits(f, true));
		}
	}
	quire_slot_unlock(slot);
	quire_page_put(f->q, page);
	return error;
}

/* Is the page in no other space, now and as long as the table lock is held? */
static bool is_sole_owner(struct quire_page *page)
{
	return quire_atomic_read(&page->refs) == 1;
}

/*
 * An entry with a private page, which does not allow the access as it is. The table lock is held,
 * and released here.
 */
static int fault_private(const struct fault *f, struct quire_slot *slot, struct quire_page *page,
			 struct quire_entry entry)
{
	int error;

	if (!is_store(f)) {
		change_entry(f, slot, page, entry, keep_bits(f, entry.bits));
		quire_slot_unlock(slot);
		return 0;
	}
	if ((entry.bits & QUIRE_ENTRY_WRITE) || is_sole_owner(page)) {
		change_entry(f, slot, page, entry, entry_bits(f, true));
		quire_slot_unlock(slot);
		return 0;
	}
	quire_page_get(page);
	quire_slot_unlock(slot);
	error = fault_copy(f, slot, page, entry);
	quire_page_put(f->q, page);
	return error;
}

/* --- Pages of files --------------------------------------------------------------------------- */

static uint64_t file_pages(const struct quire_file *file)
{
	return (file->bytes >> QUIRE_PAGE_SHIFT) + ((file->bytes & QUIRE_PAGE_MASK) != 0);
}

/* The file's page at `index`, locked, up to date and with a reference. Shape is held. */
static int lock_file_page(struct quire_file *file, uint64_t index, struct quire_page **page)
{
	struct quire *q = file->quire;

	for (;;) {
		int error;

		if (index >= file_pages(file))
			return -QUIRE_SIGBUS;
		error = quire_cache_read(file, index, page);
		if (error)
			return error == -QUIRE_ENOMEM ? error : -QUIRE_SIGBUS;
		quire_page_lock(q, *page);
		if ((*page)->file == file && (*page)->index == index &&
		    quire_page_is(*page, QUIRE_PAGE_UPTODATE))
			return 0;
		quire_page_unlock(q, *page);
		quire_page_put(q, *page);
	}
}

/*
 * Puts the locked page of the file into the entry, or gives the entry the bits that the access
 * needs.
 */
static int map_file_page(const struct fault *f, struct quire_slot *slot, struct quire_page *page,
			 bool *fresh)
{
	bool store = is_store(f);
	unsigned bits = entry_bits(f, store);
	struct quire_entry entry;
	int error = 0;

	quire_coherence_claim(f->q, page, f->va, store, bits & QUIRE_ENTRY_EXEC);
	quire_slot_lock(slot);
	entry = quire_slot_read(slot);
	*fresh = !entry.bits;
	if (*fresh) {
		quire_step(f->q, QUIRE_STEP_FAULT_FILE);
		error = install_entry(f, slot, page, bits);
	} else if (entry.frame == page->frame) {
		change_entry(f, slot, page, entry, store ? bits : keep_bits(f, entry.bits));
	} else {
		store = false; /* a private copy came in between */
	}
	if (store && !error)
		quire_page_dirty(f->q, page);
	quire_slot_unlock(slot);
	if (store && !error) {
		quire_step(f->q, QUIRE_STEP_FAULT_WRITE);
		quire_times_write(f->area->file);
	}
	return error;
}

/* --- The neighbourhood of a read fault -------------------------------------------------------- */

/* Maps one more page, if it can be had without waiting and without harm to others. */
static void map_neighbour(const struct fault *f, struct quire_slot *slot, struct quire_page *page)
{
	unsigned bits = entry_bits(f, false);

	if (quire_coherence_conflict(f->q, page, slot->va, false, bits & QUIRE_ENTRY_EXEC))
		return;
	quire_slot_lock(slot);
	quire_step(f->q, QUIRE_STEP_ENTRY_WALK);
	if (!quire_slot_read(slot).bits)
		(void)install_entry(f, slot, page, bits); /* no memory: it faults by itself later */
	quire_slot_unlock(slot);
}

static void try_neighbour(const struct fault *f, struct quire_slot *slot)
{
	struct quire_file *file = f->area->file;
	uint64_t index = file_index(f->area, slot->va);
	struct quire_page *page = quire_cache_find(file, index);

	if (!page)
		return;
	if (quire_page_is(page, QUIRE_PAGE_UPTODATE) && quire_page_try_lock(f->q, page)) {
		if (page->file == file && page->index == index &&
		    quire_page_is(page, QUIRE_PAGE_UPTODATE))
			map_neighbour(f, slot, page);
		quire_page_unlock(f->q, page);
	}
	quire_page_put(f->q, page);
}

/*
 * Maps the pages of the page cache around a page that was just mapped: fault_around_pages of them,
 * aligned, as far as area, file and leaf table go. Shape is held, no page lock.
 */
static void fault_around(const struct fault *f, const struct quire_slot *slot)
{
	const struct quire_table_format *format = &f->q->machine.arch->table;
	size_t entry_bytes = format->entry_bytes[format->levels - 1];
	size_t window = (size_t)f->q->policy.fault_around_pages << QUIRE_PAGE_SHIFT;
	uint64_t pages = file_pages(f->area->file);
	struct quire_slot at = *slot;
	uintptr_t low, high;

	if (window > quire_table_span(f->space))
		window = quire_table_span(f->space);
	low = f->va & ~(uintptr_t)(window - 1);
	high = low + window - 1;
	if (low < f->area->start)
		low = f->area->start;
	if (high > f->area->end - 1)
		high = f->area->end - 1;
	at.entry -= ((f->va - low) >> QUIRE_PAGE_SHIFT) * entry_bytes;
	for (at.va = low; at.va < high && file_index(f->area, at.va) < pages;
	     at.va += QUIRE_PAGE_BYTES) {
		if (at.va != f->va)
			try_neighbour(f, &at);
		at.entry += entry_bytes;
	}
}

static int fault_file_page(const struct fault *f, struct quire_slot *slot)
{
	struct quire_page *page;
	bool fresh = false;
	int error = lock_file_page(f->area->file, file_index(f->area, f->va), &page);

	if (error)
		return error;
	if (is_store(f) && !is_shared(f)) {
		struct quire_entry seen;

		quire_slot_lock(slot);
		seen = quire_slot_read(slot);
		quire_slot_unlock(slot);
		/* A private copy that came in between is not what was to be copied. */
		if (!seen.bits || seen.frame == page->frame)
			error = fault_copy(f, slot, page, seen);
	} else {
		error = map_file_page(f, slot, page, &fresh);
	}
	quire_page_unlock(f->q, page);
	if (fresh && !error && !is_store(f))
		fault_around(f, slot);
	quire_page_put(f->q, page);
	return error;
}

static int fault_file(const struct fault *f, struct quire_slot *slot)
{
	struct quire_file *file = f->area->file;
	unsigned cpu;
	int error;

	if (f->area->prot == QUIRE_PROT_NONE && !is_store(f))
		return -QUIRE_SIGSEGV; /* a debugger's load: there is nothing private to see */
	cpu = quire_brlock_read_lock(f->q, &file->shape);
	error = fault_file_page(f, slot);
	quire_brlock_read_unlock(f->q, &file->shape, cpu);
	return error;
}

/* --- All faults ------------------------------------------------------------------------------- */

/*
 * The entry may have changed since the access, so that it is allowed now, and only a TLB does not
 * know.
 */
static int fault_entry(const struct fault *f)
{
	struct quire_page *page = NULL;
	struct quire_entry entry;
	struct quire_slot slot;

	if (quire_table_reach(f->space, f->va, &slot))
		return -QUIRE_ENOMEM;
	quire_slot_lock(&slot);
	entry = quire_slot_read(&slot);
	if (entry_allows(entry.bits, f->access)) {
		purge(f);
		quire_slot_unlock(&slot);
		return 0;
	}
	if (entry.bits)
		page = quire_page_of(f->q, entry.frame);
	if (page && quire_page_is(page, QUIRE_PAGE_ANON))
		return fault_private(f, &slot, page, entry);
	quire_slot_unlock(&slot);
	return f->area->file ? fault_file(f, &slot) : fault_zeros(f, &slot);
}

/*
 * The policy `subtree` forbids stores to whole leaf tables, each of which lies in one area
 * (mm/map.c keeps it so). True: that was why the store faulted; it is marked, and the access is to
 * be tried again.
 */
static bool fault_table(const struct fault *f)
{
	if (!is_store(f) || f->q->policy.file_times != QUIRE_FILE_TIMES_SUBTREE || !is_shared(f) ||
	    !quire_table_unprotect(f->space, f->va))
		return false;
	quire_step(f->q, QUIRE_STEP_FAULT_WRITE);
	purge_widened(f);
	quire_times_write(f->area->file);
	return true;
}

static bool area_allows(const struct fault *f)
{
	unsigned prot = f->area->prot;

	if (f->force)
		return !is_store(f) || !is_shared(f) || (prot & QUIRE_PROT_WRITE);
	switch (f->access) {
	case QUIRE_STORE:
		return prot & QUIRE_PROT_WRITE;
	case QUIRE_FETCH:
		return prot & QUIRE_PROT_EXEC;
	case QUIRE_LOAD:
		break;
	}
	/* No ISA here has pages that can be stored to or executed but not loaded from. */
	return prot != QUIRE_PROT_NONE;
}

static int fault(struct quire_space *space, uintptr_t va, enum quire_access access, bool force)
{
	struct quire *q = space->quire;
	struct fault f = {
		.q = q,
		.space = space,
		.va = va & ~(uintptr_t)QUIRE_PAGE_MASK,
		.access = access,
		.force = force,
	};
	unsigned cpu = quire_brlock_read_lock(q, &space->areas_lock);
	int error = -QUIRE_SIGSEGV;

	f.area = quire_area_find(&space->areas, f.va);
	if (f.area && f.area->start <= f.va && area_allows(&f))
		error = fault_table(&f) ? 0 : fault_entry(&f);
	quire_brlock_read_unlock(q, &space->areas_lock, cpu);
	return error;
}

int quire_fault(struct quire_space *space, uintptr_t va, enum quire_access access)
{
	struct quire_percpu *cpu = quire_percpu_here(space->quire);

	quire_step(space->quire, QUIRE_STEP_FAULT);
	quire_count_add(&cpu->faults, 1);
	if (quire_atomic_read(&cpu->faults_off))
		return -QUIRE_EFAULT;
	return fault(space, va, access, false);
}

int quire_fault_in(struct quire *q, uintptr_t va, enum quire_access access)
{
	struct quire_space *space = quire_percpu_here(q)->loaded;

	return space ? fault(space, va, access, false) : -QUIRE_EFAULT;
}

int quire_fault_force(struct quire_space *space, uintptr_t va, enum quire_access access)
{
	return fault(space, va, access, true);
}

int quire_tlb_miss(struct quire_space *space, uintptr_t va, enum quire_access access)
{
	struct quire *q = space->quire;
	unsigned cpu;
	int error;

	if (!q->machine.arch->tlb_miss)
		return -QUIRE_EFAULT;
	cpu = quire_read_begin(q);
	error = q->machine.arch->tlb_miss(&q->machine, &space->context, va, access);
	quire_read_end(q, cpu);
	return error;
}

void quire_faults_off(struct quire *q)
{
	quire_atomic_add(&quire_percpu_here(q)->faults_off, 1);
}

void quire_faults_on(struct quire *q)
{
	quire_atomic_add(&quire_percpu_here(q)->faults_off, (uint32_t)-1);
}
