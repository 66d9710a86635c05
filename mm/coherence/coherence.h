/*
 * The coherence module: who may see stale bytes, and what is done about it.
 *
 * All knowledge of caches in the memory manager is behind these calls. They are the moments at
 * which an observer of a page changes: the kernel reads or has written it, a user mapping appears,
 * changes or goes, instructions will be fetched, a device reads or has written, the frame changes
 * owner, a table entry was written. Policies (eager.c, mapping.c, page.c, exact.c; pte_clean.c;
 * flush_range.c) answer; this header's calls are the only way in.
 *
 * A page owes D maintenance while QUIRE_PAGE_DATA_CLEAN is not set, I maintenance while
 * QUIRE_PAGE_INSN_CLEAN is not set. The flag is set only after the maintenance is complete: two
 * CPUs may both do it, never none. (Policy `exact` keeps its own account of each page: exact.c.)
 */
#ifndef QUIRE_MM_COHERENCE_H
#define QUIRE_MM_COHERENCE_H

struct quire_area;
struct quire_batch;
struct quire_file;
struct quire_page;
struct quire_space;

/*
 * Every maintenance operation stands between these two, which tell the port its site. When begin
 * returns false the operation is left out (fault injection), and end is not called.
 */
bool quire_maintain_begin(struct quire *q, enum quire_site site);
void quire_maintain_end(struct quire *q, enum quire_site site);

/* The kernel is about to load from a page that user mappings may have stored to. */
void quire_coherence_kernel_read(struct quire *q, struct quire_page *page);

/*
 * The kernel has stored to a page through its linear mapping. Harmless on a page that is no user
 * page.
 */
void quire_coherence_kernel_wrote(struct quire *q, struct quire_page *page);

/*
 * A table entry for `page` at `va` is about to be written in `space` (table lock held): all that
 * user code could see stale there is settled, I side too when `exec`.
 */
void quire_coherence_user_map(struct quire *q, struct quire_page *page, struct quire_space *space,
			      uintptr_t va, bool exec);

/*
 * The entries of a batch were removed or narrowed and their TLB entries are purged on all CPUs: no
 * lines can come back through them. Settles the user lines of the batch's pages, which are dropped
 * only afterwards: page by page through a kernel alias of the user's colour, or the whole cache
 * when batch->bytes says that it is cheaper (flush_range). Nothing where user and kernel lines are
 * the same.
 *
 * The policy `line` also does what kernels of 2004 did: it walks the absent pages of the range by
 * user address, which costs a trap a line. It is there to be measured.
 */
void quire_coherence_unmapped(struct quire *q, struct quire_batch *batch);

/*
 * Before an entry for a page (locked) of a file is written or widened at `va`: mappings that
 * hardware could not keep coherent with it (another colour where one of the two may store; stores
 * against instructions) are removed or narrowed, so that they fault. `conflict` only asks whether
 * there are such.
 */
bool quire_coherence_conflict(struct quire *q, struct quire_page *page, uintptr_t va, bool write,
			      bool exec);
void quire_coherence_claim(struct quire *q, struct quire_page *page, uintptr_t va, bool write,
			   bool exec);

/*
 * An entry at `va` that lets user code store to the page is about to be written (table lock held).
 */
void quire_coherence_user_store(struct quire *q, struct quire_page *page, uintptr_t va);

/*
 * Every entry of the page (locked) was write-protected, and the TLBs are purged: stores must fault
 * again.
 */
void quire_coherence_stores_end(struct quire *q, struct quire_page *page);

/*
 * The record of an entry at `va` was removed from the page's reverse map (rmap lock held); a batch
 * with the entry follows (unmapped). Who looks in between must still know of the lines that the
 * entry left.
 */
void quire_coherence_entry_goes(struct quire *q, struct quire_page *page, uintptr_t va);
/* Its lines are flushed: by unmapped, for policies other than `exact`, where D caches alias. */
void quire_coherence_entry_gone(struct quire *q, struct quire_page *page);

/*
 * Must user code that may store to a page be kept from executing it, and the other way round, by
 * its entries?
 */
bool quire_coherence_store_or_fetch(struct quire *q);

/*
 * Copies a page for copy on write, or clears one, for a user who will see it at `va`; settles both
 * sides.
 */
void quire_coherence_copy_user_page(struct quire *q, struct quire_page *to, struct quire_page *from,
				    uintptr_t va);
void quire_coherence_clear_user_page(struct quire *q, struct quire_page *page, uintptr_t va);

/* Before and after a transfer of a page by a device. For file systems and drivers. */
void quire_coherence_dma_prepare(struct quire *q, struct quire_page *page,
				 enum quire_dma_direction direction);
void quire_coherence_dma_finish(struct quire *q, struct quire_page *page,
				enum quire_dma_direction direction);

/*
 * Which frames have a linear address of the colour of `va`: those whose number is `want` modulo
 * mask + 1. False: the policy has no wish.
 */
bool quire_coherence_frames(struct quire *q, uintptr_t va, uint32_t *mask, uint32_t *want);

/*
 * A block of pages has a new owner, and no contents yet. `user`: it is one page, and will be copied
 * or cleared for a user by the calls above before anything else.
 */
void quire_coherence_alloc(struct quire *q, struct quire_page *page, bool user);

/*
 * The last reference to a block of pages is gone: dirty lines at user colours must not outlive
 * their owner.
 */
void quire_coherence_free(struct quire *q, struct quire_page *page);

/*
 * Table entries were written, of a leaf or upper table, or a new table was cleared (site tells
 * which).
 */
void quire_coherence_table_written(struct quire *q, uintptr_t entry, size_t bytes,
				   enum quire_site site);

/* TLB purges, as the flush_range policy says (by page, or all). */
void quire_coherence_tlb(struct quire *q, struct quire_space *space, uintptr_t low, uintptr_t high,
			 enum quire_site site);

/* Boot: thresholds of the flush_range policy, calibrated where it asks for it. */
void quire_coherence_calibrate(struct quire *q);

/* The address colour at which a new shared mapping should lie: period 0: any. */
void quire_coherence_colour(struct quire *q, struct quire_file *file, uint64_t index,
			    size_t *period, uintptr_t *colour);

#endif
