/*
 * The inside of the memory manager: its records, its locks and who may call what.
 *
 * fs/ and mm/ include this; an embedding kernel does not. Public calls are in quire/quire.h.
 *
 * THE RECORDS
 *   quire_page    one a page frame, in one array a memory range. Frames are named by their page.
 *   quire_file    a file: size, times, page cache (a radix tree by index).
 *   quire_area    a range of a space; areas of a space hang in a balanced tree by address.
 *   quire_rmap    one a table entry that maps a page: (space, va). A page's first is inside the
 *                 page, further ones are chained. So "is it mapped, where, at which colours" is
 *                 asked of the page.
 *
 * LOCKS, in the order in which they are taken (a later one may be taken under an earlier one, never
 * the other way round; two of one kind only where said):
 *   1. space->areas    areas tree. A big-reader lock: faults take their own CPU's part, so faults
 *                      on different CPUs share no cache line; mmap, munmap, mprotect, fork take all
 *                      parts. fork takes the parent's, then the child's (which nobody else knows
 *                      yet).
 *   2. file->shape     size against installation of pages. A big-reader lock: faults and reads take
 *                      their own CPU's part, truncate and punch take all.
 *   3. page lock       PAGE_LOCKED: contents and membership in the page cache. Held over I/O.
 *                      Two at once: only by ascending index of one file.
 *   4. space->upper    spin lock: upper table entries, and which tables a space has.
 *   5. table lock      one spin lock a leaf table (in the table's page): its entries. Two at once:
 *                      fork only, parent's then child's. An entry and its rmap change under one
 *                      hold of it.
 *   6. file->tree      spin lock: insertion, removal and marks of the page-cache tree. Lookups
 *                      take none.
 *   7. page rmap lock  PAGE_RMAP_LOCKED: the page's chain of rmaps and its coherence state.
 *   8. frames lock     each CPU's list of free pages, then the spin lock of the buddy lists.
 * While a page lock or spin lock is held user memory must not be touched, except with faults off
 * (quire_faults_off), when a copy ends short instead of waiting.
 *
 * READERS WITHOUT LOCKS. Lookups in the page-cache tree run between quire_read_begin and
 * quire_read_end (a counter of the CPU's own); tree nodes are freed only after quire_read_wait.
 * Pages are never freed as records: a lookup takes a reference unless the count is 0, then checks
 * that the slot still holds the page. Page tables and spaces are followed without the areas lock in
 * such sections too, by the reverse map (mm/rmap.c) and by TLB miss handlers in software: they are
 * freed only after quire_read_wait, which is never called with a spin lock held or inside a
 * section.
 *
 * FOLIOS. References and the page lock belong to a block (calls on a tail act on its head); flags,
 * file, index, rmaps and coherence state are each page's own.
 */
#ifndef QUIRE_MM_MM_H
#define QUIRE_MM_MM_H

#include "arch/arch.h"
#include "mm/atomic.h"
#include <quire/file.h>
#include <quire/quire.h>

/* --- Lists ----------------------------------------------------------------------------------- */

struct quire_list {
	struct quire_list *next, *prev;
};

#define quire_container(ptr, type, member)                                                         \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void quire_list_init(struct quire_list *l)
{
	l->next = l->prev = l;
}

static inline bool quire_list_empty(const struct quire_list *l)
{
	return l->next == l;
}

static inline void quire_list_add(struct quire_list *head, struct quire_list *l)
{
	l->next = head->next;
	l->prev = head;
	head->next->prev = l;
	head->next = l;
}

static inline void quire_list_remove(struct quire_list *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
	quire_list_init(l);
}

/* --- Locks (mm/lock.c) ------------------------------------------------------------------------ */

struct quire_lock {
	struct quire_atomic held;
};

void quire_lock_init(struct quire_lock *lock);
void quire_lock(struct quire *q, struct quire_lock *lock);
void quire_unlock(struct quire *q, struct quire_lock *lock);

/*
 * A big-reader lock: one counter a CPU, each in a cache line of its own. Readers may nest on one
 * CPU.
 */
struct quire_brlock {
	struct quire_lock writer;
	struct quire_atomic writing;
	struct quire_percpu_counter *readers; /* [port.cpus] */
};

int quire_brlock_init(struct quire *q, struct quire_brlock *lock); /* QUIRE_ENOMEM */
void quire_brlock_destroy(struct quire *q, struct quire_brlock *lock);
/* Returns the CPU whose part was taken, to be given to read_unlock. */
unsigned quire_brlock_read_lock(struct quire *q, struct quire_brlock *lock);
void quire_brlock_read_unlock(struct quire *q, struct quire_brlock *lock, unsigned cpu);
void quire_brlock_write_lock(struct quire *q, struct quire_brlock *lock);
void quire_brlock_write_unlock(struct quire *q, struct quire_brlock *lock);

/* Sections in which records found without a lock stay readable. Never wait inside one. */
unsigned quire_read_begin(struct quire *q);
void quire_read_end(struct quire *q, unsigned cpu);
void quire_read_wait(struct quire *q);

/* --- Pages (mm/page.c) ------------------------------------------------------------------------ */

enum quire_page_flag {
	QUIRE_PAGE_LOCKED = 1 << 0,
	QUIRE_PAGE_UPTODATE = 1 << 1,   /* all of it holds what the file holds there */
	QUIRE_PAGE_DIRTY = 1 << 2,      /* newer than the backing store */
	QUIRE_PAGE_WRITEBACK = 1 << 3,  /* being written */
	QUIRE_PAGE_ANON = 1 << 4,       /* private page of a space */
	QUIRE_PAGE_TABLE = 1 << 5,      /* a page table */
	QUIRE_PAGE_RMAP_LOCKED = 1 << 6,
	QUIRE_PAGE_REFERENCED = 1 << 7,
	QUIRE_PAGE_TAIL = 1 << 8,       /* not the first page of its folio */
	QUIRE_PAGE_DATA_CLEAN = 1 << 9, /* no D maintenance is owed to this page */
	QUIRE_PAGE_INSN_CLEAN = 1 << 10, /* no I maintenance is owed to this page */
	QUIRE_PAGE_RESERVED = 1 << 11,  /* not managed */
	/* first page of a block in the buddy lists; under `frames` */
	QUIRE_PAGE_FREE = 1 << 13,
	/* user code may have stored since the I side was last synced; coherence's */
	QUIRE_PAGE_USER_WRITE = 1 << 14,
	/* instructions may be fetched through some entry; coherence's */
	QUIRE_PAGE_USER_EXEC = 1 << 15,
	QUIRE_PAGE_CHARGED = 1 << 12,   /* the file system counted it; its page_removed clears it */
};

struct quire_rmap {
	struct quire_space *space; /* NULL: the page's first rmap is unused */
	uintptr_t va;
	struct quire_rmap *next;
	bool visited; /* by the pass over the chain that is under way; under the rmap lock */
};

/*
 * What policy `exact` knows of the copies of a page, in or out of use: mm/coherence/exact.c. Under
 * the rmap lock.
 */
struct quire_coherence_state {
	/* colour, from 1, whose lines may be newer than what is below them; 0: none */
	uint16_t dirty;
	uint16_t held[2]; /* users' colours that may hold lines, stale or not; 0: unused */
	uint16_t insn;    /* colour whose I lines are no older than the page; 0: none */
	uint16_t leaving; /* table entries removed whose TLB purge is not complete */
	uint8_t bits;
};

struct quire_page {
	struct quire_atomic flags;
	struct quire_atomic refs; /* 0: free */
	struct quire_atomic maps; /* table entries that map it */
	uint8_t order;            /* of the block it belongs to; the same in tails */
	uint32_t frame;           /* physical address >> QUIRE_PAGE_SHIFT; 2^32 pages are 16 TiB */
	struct quire_file *file;  /* page cache it is in, or NULL */
	uint64_t index;           /* in that file, in pages */
	struct quire_rmap rmap;
	struct quire_list link;   /* free list, list of tables, or list of cached pages */
	struct quire_lock table;  /* QUIRE_PAGE_TABLE: lock of the entries in it */
	/* QUIRE_PAGE_TABLE: entries present; under `table`, of upper ones `upper` */
	uint32_t used;
	/* user address of the last mapping that left, for its colour; 0: none owed */
	uintptr_t last_va;
	struct quire_coherence_state coherence; /* stays when the frame changes owner */
};

int quire_pages_init(struct quire *q);
void quire_pages_destroy(struct quire *q);

/*
 * 2^order contiguous pages, refs 1, contents undefined (whatever a former owner left), naturally
 * aligned; NULL: none left. Takes the CPU's own list for order 0.
 */
struct quire_page *quire_page_alloc(struct quire *q, unsigned order);
/*
 * One page that users will see at va, or at addresses of its colour; one whose linear address has
 * that colour too is preferred under the policies that ask for it (quire_coherence_frames). `user`:
 * it will be copied or cleared for a user at va (coherence) before anything else is done to it.
 */
struct quire_page *quire_page_alloc_at(struct quire *q, uintptr_t va, bool user);
/*
 * Drops a reference; the last one frees the block. Its cached lines are settled first (coherence).
 */
void quire_page_put(struct quire *q, struct quire_page *page);
void quire_page_get(struct quire_page *page);
/* For the head of a block that may be gone: false when it is free or a tail (by now). */
bool quire_page_try_get(struct quire_page *page);
void quire_page_lock(struct quire *q, struct quire_page *page);
bool quire_page_try_lock(struct quire *q, struct quire_page *page);
void quire_page_unlock(struct quire *q, struct quire_page *page);
/* The first page of the block that the page is in: itself, but for a tail. */
struct quire_page *quire_page_head(struct quire_page *page);
/* Pages in the free lists, those of the CPUs included. */
uint64_t quire_pages_free(struct quire *q);
/* The page of a frame; NULL where the frame is not under management. */
struct quire_page *quire_page_of(struct quire *q, uint64_t frame);

static inline quire_pa_t quire_page_pa(const struct quire_page *page)
{
	return (quire_pa_t)page->frame << QUIRE_PAGE_SHIFT;
}

static inline bool quire_page_is(const struct quire_page *page, enum quire_page_flag flag)
{
	return quire_atomic_read(&page->flags) & (uint32_t)flag;
}

static inline bool quire_page_mapped(const struct quire_page *page)
{
	return quire_atomic_read(&page->maps) != 0;
}

/* Linear kernel address of a page. */
uintptr_t quire_page_address(struct quire *q, const struct quire_page *page);

/* --- Reverse map (mm/rmap.c) ------------------------------------------------------------------ */

/*
 * Records that (space, va) maps `page`, and counts it in page->maps. The caller holds the table
 * lock from before the call until the entry is written (add) or from before it was removed
 * (remove). QUIRE_ENOMEM.
 */
int quire_rmap_add(struct quire *q, struct quire_page *page, struct quire_space *space,
		   uintptr_t va);
void quire_rmap_remove(struct quire *q, struct quire_page *page, struct quire_space *space,
		       uintptr_t va);
/*
 * Removes every table entry that maps `page` (locked), with TLB purge; gathers dirty bits into the
 * page and drops the reference that each entry owned.
 */
void quire_rmap_unmap_all(struct quire *q, struct quire_page *page);
/*
 * Write-protects and cleans every entry that maps `page` (locked) shared, with TLB purge; true if
 * any was dirty. Used before writeback.
 */
bool quire_rmap_clean(struct quire *q, struct quire_page *page);
void quire_rmap_lock(struct quire *q, struct quire_page *page);
void quire_rmap_unlock(struct quire *q, struct quire_page *page);

/* --- Files and the page cache (mm/page_cache.c, mm/file.c) ------------------------------------ */

struct quire_node; /* of the radix tree */

enum quire_mark {
	QUIRE_MARK_DIRTY,
	QUIRE_MARK_WRITEBACK,
	QUIRE_MARK_COUNT,
};

struct quire_page_cache {
	struct quire_lock tree;
	struct quire_node *root;
	unsigned height;
	uint64_t pages;
};

/* Times of a file: see mm/file_times.c. */
struct quire_times {
	uint64_t mtime_ns, ctime_ns, atime_ns;
};

/* Embedded as first member in a file system's own file. */
struct quire_file {
	struct quire *quire;
	const struct quire_file_ops *ops;
	struct quire_atomic refs;
	struct quire_brlock shape;
	/* size: who changes it holds this, taken before any lock of mm.h; mm/file.c */
	struct quire_lock resize;
	/* size; changed under the page lock of the last page or shape held for writing */
	uint64_t bytes;
	struct quire_page_cache cache;
	struct quire_times times;
	struct quire_lock times_lock;
	struct quire_atomic areas;           /* areas that map it */
	struct quire_atomic writable_areas;  /* shared areas that may be written through */
	struct quire_list link;              /* in quire->files */
};

/* A file with an empty page cache, refs 1, times now. QUIRE_ENOMEM. For file systems. */
int quire_file_init(struct quire *q, struct quire_file *file, const struct quire_file_ops *ops);
/* Frees what init made; the page cache is empty. Called by ops->release. */
void quire_file_destroy(struct quire_file *file);

/* Lookup without a lock: the page with a reference, or NULL. */
struct quire_page *quire_cache_find(struct quire_file *file, uint64_t index);
/* As find, locked, and checked to be still in the file. */
struct quire_page *quire_cache_find_locked(struct quire_file *file, uint64_t index);
/*
 * Inserts 2^page->order pages at `index` (a multiple of that size); takes a reference. The page is
 * locked by the caller. QUIRE_EEXIST, QUIRE_ENOMEM.
 */
int quire_cache_add(struct quire_file *file, uint64_t index, struct quire_page *page);
/*
 * Removes the page (locked), with all pages of its folio, calls ops->page_removed for each, and
 * drops the cache's reference. Nothing maps it any more.
 */
void quire_cache_remove(struct quire_file *file, struct quire_page *page);
/*
 * Finds the page or makes one: allocated, added, locked, not up to date. *page is locked, with a
 * reference.
 */
int quire_cache_grab(struct quire_file *file, uint64_t index, struct quire_page **page);
/*
 * Finds it up to date, reading it through ops->read_page where needed; unlocked, with a reference.
 */
int quire_cache_read(struct quire_file *file, uint64_t index, struct quire_page **page);
/*
 * The first page at or after *index with the mark (or any page: mark < 0); reference taken; *index
 * is set.
 */
struct quire_page *quire_cache_next(struct quire_file *file, uint64_t *index, int mark);
/* The mark in the tree and the page's flag of the same name change together, under file->tree. */
void quire_cache_set_mark(struct quire_file *file, struct quire_page *page, enum quire_mark mark);
void quire_cache_clear_mark(struct quire_file *file, struct quire_page *page, enum quire_mark mark);
/*
 * Sets DIRTY on page and tree; true if it was clean. The page is locked, or its table entry's lock
 * is held.
 */
bool quire_page_dirty(struct quire *q, struct quire_page *page);

/* Clears bytes of a page through the kernel mapping, with the coherence hook after. */
void quire_page_clear(struct quire *q, struct quire_page *page, size_t offset, size_t bytes);

/* Writes dirty pages first..last and waits (mm/writeback.c). Page locks are taken inside. */
int quire_writeback(struct quire_file *file, uint64_t first, uint64_t last);

/* The usual write_begin for file systems that must know a page before a part of it is written. */
int quire_file_write_begin(struct quire_file *file, uint64_t offset, size_t bytes,
			   struct quire_page **page);
int64_t quire_file_write_end(struct quire_file *file, uint64_t offset, size_t bytes, size_t copied,
			     struct quire_page *page);

/* --- File times (mm/file_times.c) ------------------------------------------------------------- */

void quire_times_read(struct quire_file *file);   /* atime */
void quire_times_write(struct quire_file *file);  /* mtime and ctime */
void quire_times_change(struct quire_file *file); /* ctime */

/* --- Spaces and areas (mm/space.c, mm/area.c) ------------------------------------------------- */

struct quire_area {
	uintptr_t start, end; /* page aligned; end is the first address beyond */
	unsigned prot, flags; /* enum quire_prot, enum quire_map_flag */
	bool file_writable;
	struct quire_file *file; /* NULL: anonymous private */
	uint64_t index;          /* page of the file at `start` */
	struct quire_area *left, *right, *parent;
	int height;
	uintptr_t low, high, gap; /* of the subtree: first start, last end, largest gap inside */
};

struct quire_areas {
	struct quire_area *root;
	unsigned count;
};

/* The area that contains va, or the first after it; NULL: none. */
struct quire_area *quire_area_find(const struct quire_areas *areas, uintptr_t va);
struct quire_area *quire_area_next(const struct quire_area *area);
struct quire_area *quire_area_prev(const struct quire_area *area);
void quire_area_insert(struct quire_areas *areas, struct quire_area *area);
void quire_area_erase(struct quire_areas *areas, struct quire_area *area);
/* After area's bounds changed within its neighbours' limits. */
void quire_area_resized(struct quire_areas *areas, struct quire_area *area);
/*
 * Start of a gap of `bytes` in [low, high) congruent to `colour` modulo `period` (a power of two;
 * 0: any); false: none.
 */
bool quire_area_gap(const struct quire_areas *areas, uintptr_t low, uintptr_t high, size_t bytes,
		    size_t period, uintptr_t colour, uintptr_t *start);

struct quire_space {
	struct quire *quire;
	struct quire_brlock areas_lock;
	struct quire_areas areas;
	struct quire_context context;
	struct quire_lock upper; /* upper table levels: insertion and removal of tables */
	struct quire_page *root; /* root table */
	uint64_t resident;       /* entries present; approximate */
	struct quire_list link;  /* in quire->spaces */
};

/* --- Page tables (mm/table.c) ----------------------------------------------------------------- */

/* One leaf entry, found. */
struct quire_slot {
	struct quire_space *space;
	uintptr_t va;             /* page it maps */
	uintptr_t entry;          /* kernel address of the entry */
	struct quire_page *table; /* leaf table that holds it */
};

/* Makes the root and sets context.root, before arch->context_create. QUIRE_ENOMEM. */
int quire_table_create(struct quire_space *space);
/*
 * Frees every table; no entry is present, the TLB is purged and no CPU has the space loaded. Waits
 * for walkers of the reverse map: afterwards nobody looks at the space, whose record may be freed.
 */
void quire_table_destroy(struct quire_space *space);
/* Finds the leaf entry of va, making tables on the way. QUIRE_ENOMEM. Does not lock. */
int quire_table_reach(struct quire_space *space, uintptr_t va, struct quire_slot *slot);
/*
 * Finds it if there is a leaf table. False: there is none, and *next is the first address that may
 * have one. Does not lock; tables are not freed while the areas lock is held or in a read section.
 */
bool quire_table_find(struct quire_space *space, uintptr_t va, struct quire_slot *slot,
		      uintptr_t *next);
void quire_slot_lock(struct quire_slot *slot);
void quire_slot_unlock(struct quire_slot *slot);
/* Under the slot's lock: */
struct quire_entry quire_slot_read(const struct quire_slot *slot);
/*
 * Writes an entry and cleans it for the walker as the pte_clean policy says. `entry.bits` 0 removes
 * it. A change that narrows a present entry needs a TLB purge by the caller afterwards.
 */
void quire_slot_write(const struct quire_slot *slot, struct quire_entry entry);
/* Replaces an entry that hardware may be marking; returns the one replaced, with its last marks. */
struct quire_entry quire_slot_exchange(const struct quire_slot *slot, struct quire_entry entry);
/*
 * Frees the tables that overlap [low, high) and hold nothing, after a TLB purge of it; the areas
 * lock is held for writing. Purges what the walker may have cached of the upper entries that
 * pointed to them.
 */
void quire_table_trim(struct quire_space *space, uintptr_t low, uintptr_t high);
/* The bytes that one leaf table maps. */
size_t quire_table_span(const struct quire_space *space);
/*
 * subtree_protect: forbids stores below the upper entries whose leaf tables lie wholly in [low,
 * high); result: how many entries it changed (one TLB purge of the range by the caller, if any).
 * Nothing, and 0, where the ISA cannot. What is before the first and after the last multiple of
 * quire_table_span in the range is the caller's, entry by entry.
 */
unsigned quire_table_protect(struct quire_space *space, uintptr_t low, uintptr_t high);
/* A store found its leaf table protected: true if it was, and now is not. */
bool quire_table_unprotect(struct quire_space *space, uintptr_t va);

/* --- Batches (mm/batch.c): many entries removed, one TLB purge -------------------------------- */

struct quire_batch_entry {
	struct quire_page *page;
	uintptr_t va;
	bool exec;  /* instructions may have been fetched through the entry */
	bool drop;  /* the batch owns a reference of the page */
};

struct quire_batch_chunk; /* about a hundred more entries; chained */

#define QUIRE_BATCH_INSIDE 8 /* entries that a batch holds without further memory */

struct quire_batch {
	struct quire_space *space;
	uintptr_t low, high; /* the range that is unmapped, as the caller gave it */
	/* addresses whose entries were removed since the last purge; first > last: none */
	uintptr_t first, last;
	bool exec;           /* some area of the range may be executed */
	enum quire_site site; /* of the TLB purge */
	unsigned count;      /* entries used of `inside` */
	struct quire_batch_entry inside[QUIRE_BATCH_INSIDE];
	/* further entries, in the order in which they were added */
	struct quire_batch_chunk *chunks, *tail;
	/* where quire_batch_next was last, and the number of its */
	struct quire_batch_chunk *reading;
	size_t reading_first;              /* first entry */
};

void quire_batch_begin(struct quire_batch *batch, struct quire_space *space, uintptr_t low,
		       uintptr_t high, enum quire_site site);
/* An entry was removed. Purges and settles early when no memory for a further chunk is left. */
void quire_batch_add(struct quire_batch *batch, struct quire_page *page, uintptr_t va, bool exec,
		     bool drop);
/* Purges the TLB, settles caches (quire_coherence_unmapped), then drops the pages. */
void quire_batch_end(struct quire_batch *batch);
/* The entries one by one, for coherence: *cursor starts at 0; NULL after the last. */
struct quire_batch_entry *quire_batch_next(struct quire_batch *batch, size_t *cursor);

/* --- Faults and areas (mm/fault.c, mm/map.c, mm/fork.c) --------------------------------------- */

/*
 * Removes every entry of [low, high); the areas lock is held for writing. `exiting`: the space
 * ends.
 */
void quire_unmap_entries(struct quire_space *space, struct quire_area *area, uintptr_t low,
			 uintptr_t high, bool exiting);

/* Removes entries that map pages first.. of the file, in all spaces; shape is held for writing. */
void quire_file_unmap(struct quire_file *file, uint64_t first, uint64_t last);

/*
 * Makes an access to user memory of the space loaded on this CPU possible, outside all locks: for
 * the retry after a copy with faults off ended short. Errors as quire_fault; -QUIRE_EFAULT when no
 * space is loaded.
 */
int quire_fault_in(struct quire *q, uintptr_t va, enum quire_access access);
/*
 * As quire_fault, for a debugger: `space` need not be loaded, a private page may be stored to
 * without permission.
 */
int quire_fault_force(struct quire_space *space, uintptr_t va, enum quire_access access);

/*
 * Write-protects the entries of shared pages in [low, high), moving their dirty state to the pages;
 * TLB purged.
 */
void quire_protect_entries(struct quire_space *space, uintptr_t low, uintptr_t high);

/* Area records (mm/map.c): an area holds a reference to its file and is counted there. */
/* NULL: no memory */
struct quire_area *quire_area_copy(struct quire *q, const struct quire_area *area);
void quire_area_free(struct quire *q, struct quire_area *area);

/* Removes private copies of the file's pages from `first` on, in all spaces; no lock is held. */
void quire_file_unmap_private(struct quire_file *file, uint64_t first);

/*
 * A file without a name whose pages are zeros until stored to: behind shared anonymous areas.
 * QUIRE_ENOMEM.
 */
int quire_memory_file(struct quire *q, uint64_t bytes, struct quire_file **file);

/* Copies to and from user memory with a page lock held end short instead of faulting. */
void quire_faults_off(struct quire *q);
void quire_faults_on(struct quire *q);

/* --- Coherence (mm/coherence/) ---------------------------------------------------------------- */

#include "mm/coherence/coherence.h"

/* --- The whole -------------------------------------------------------------------------------- */

/* counters and free lists of one CPU, in cache lines of its own: mm/percpu.h */
struct quire_percpu;

struct quire_range { /* one memory range of the port */
	uint64_t first_frame, frames;
	struct quire_page *pages;
};

#define QUIRE_ORDERS 11

struct quire {
	struct quire_machine machine; /* first: arch code sees only this */
	struct quire_policy policy;
	struct quire_thresholds thresholds;
	struct quire_percpu *percpu; /* [port.cpus] */
	struct quire_range *ranges;
	struct quire_lock frames;
	struct quire_list free[QUIRE_ORDERS];
	uint64_t free_pages; /* in free[], under `frames` */
	uint64_t managed_pages; /* free or not; those of the kernel's text do not count */
	struct quire_lock lists; /* spaces, files */
	/* a child comes after its parent in spaces: quire_file_unmap_private */
	struct quire_list spaces, files;
	struct quire_atomic pages_cached, pages_tables;
};

void *quire_new(struct quire *q, size_t bytes); /* zeroed; NULL: none left */
void quire_delete(struct quire *q, void *record, size_t bytes);

static inline void quire_step(struct quire *q, enum quire_step step)
{
	if (q->machine.port.step)
		q->machine.port.step(q->machine.port.context, step);
}

#define quire_require(q, what)                                                                     \
	((what) ? (void)0                                                                          \
		: (q)->machine.port.stop((q)->machine.port.context, __FILE__, __LINE__, #what))

#endif
