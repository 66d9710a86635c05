/*
 * The stable names of maintenance call sites and of kernel steps.
 *
 * Each place in mm/, fs/ and arch/ that does cache or TLB maintenance, or clears memory for safety,
 * is a site: reports, JSON and `quire check --drop` name it. A name never changes its meaning; a
 * new place gets a new name. The lists are X-macros, so that the enum and the printed names cannot
 * disagree.
 */
#ifndef QUIRE_SITE_H
#define QUIRE_SITE_H

/*
 * What is wrong when the maintenance of a site is left out.
 *
 * X(identifier, printed name, what it keeps): DATA: somebody reads what is stale, or loses what he
 * wrote; COST: results are right all the same, at more cost.
 */
#define QUIRE_SITES(X)                                                                             \
	X(KERNEL_WROTE, "coherence.kernel-wrote", DATA) /* kernel stored by its own mapping */     \
	X(KERNEL_READ, "coherence.kernel-read", DATA)   /* kernel will load what users may see */  \
	X(USER_MAP_D, "coherence.user-map.data", DATA) /* deferred D flush as a mapping appears */ \
	X(USER_MAP_I, "coherence.user-map.insn", DATA) /* deferred I sync, executable mapping */   \
	X(USER_COLOUR, "coherence.user-map.colour", DATA) /* other colours as one appears */       \
	X(COPY_SOURCE, "coherence.copy.source", DATA)     /* copy on write, the user's colour */   \
	X(COPY_TARGET, "coherence.copy.target", DATA)     /* of a copy or clear, the same */       \
	X(UNMAP_PAGE, "coherence.unmap.page", DATA)       /* a page's lines as its mapping goes */ \
	X(UNMAP_RANGE_D, "flush-range.unmap.data", DATA)  /* D lines of a range that goes */       \
	X(UNMAP_RANGE_I, "flush-range.unmap.insn", DATA)  /* I lines of a range that goes */       \
	X(PAGE_FREE, "coherence.page-free", DATA) /* lines of a frame that changes owner */        \
	X(DMA_TO_DEVICE, "dma.to-device", DATA) /* page cleaned for a device that reads memory */  \
	X(DMA_FROM_DEVICE, "dma.from-device.before", DATA)     /* lines dropped, then it writes */ \
	X(DMA_FROM_DEVICE_DONE, "dma.from-device.after", DATA) /* it has written */                \
	X(TABLE_ENTRY, "table.entry", DATA) /* a leaf entry cleaned for the walker */              \
	X(TABLE_UPPER, "table.upper", DATA) /* an upper entry cleaned for the walker */            \
	X(TABLE_NEW, "table.new", DATA)     /* a new, empty table cleaned for the walker */        \
	X(TLB_PAGE, "tlb.page", DATA)       /* one entry changed or removed */                     \
	X(TLB_BATCH, "tlb.batch", DATA)     /* a batch of entries removed */                       \
	X(TLB_PROTECT, "tlb.protect", DATA) /* a range narrowed */                                 \
	X(TLB_FORK, "tlb.fork", DATA)       /* a space write-protected for copy on write */        \
	X(TLB_SPACE, "tlb.space", DATA)     /* a space ends: its number will be another's */       \
	X(TLB_ALIAS, "tlb.alias", DATA)     /* a temporary mapping of the kernel's ends */         \
	X(CALIBRATE, "flush-range.calibrate", COST) /* timing at boot */                           \
	X(BOOT, "arch.boot", DATA)                  /* caches and TLBs made empty at boot */

enum quire_site {
#define X(id, name, keeps) QUIRE_SITE_##id,
	QUIRE_SITES(X)
#undef X
		QUIRE_SITE_COUNT
};

/*
 * Kernel steps. X(identifier, printed name). The simulator's machine files give each a price in
 * cycles beyond its memory accesses; on a board they are trace points.
 */
#define QUIRE_STEPS(X)                                                                             \
	X(SYSCALL, "syscall") /* entry to and return from a system call */                         \
	X(FAULT, "fault") /* exception entry, area lookup, return */                               \
	X(FAULT_ANON, "fault-anon") /* an anonymous page is made and mapped */                     \
	X(FAULT_FILE, "fault-file")                      /* a page of the page cache is mapped */  \
	X(FAULT_COPY, "fault-copy")                      /* copy on write */                       \
	X(FAULT_WRITE, "fault-write")                    /* first store to a shared file page */   \
	X(READ_PAGE, "read-page") /* one page of read(): lookup, mark, copy set-up */              \
	X(WRITE_PAGE, "write-page") /* one page of write(): lookup, begin, end */                  \
	X(CACHE_ADD, "page-cache-add")                   /* a page enters the page cache */        \
	X(CACHE_REMOVE, "page-cache-remove")             /* a page leaves the page cache */        \
	X(TMPFS_ACCOUNT, "tmpfs-account")                /* tmpfs charges a page */                \
	X(PAGE_ALLOC, "page-alloc")                      /* a page taken from the free lists */    \
	X(PAGE_FREE, "page-free")                        /* a page given back */                   \
	X(AREA_CHANGE, "area-change") /* an area inserted, split, merged or removed */             \
	X(AREA_CHECK, "area-check")                      /* an area looked at by msync */          \
	X(ENTRY_WALK, "entry-walk") /* one table entry visited in a range walk */                  \
	X(ENTRY_PROTECT, "entry-protect") /* one table entry write-protected, its page marked */   \
	X(TABLE_PROTECT, "table-protect")                /* one upper entry write-protected */     \
	X(TABLE_ENTER, "table-enter") /* the first entry of a table write-protected in a range */  \
	X(UNMAP_ENTRY, "unmap-entry") /* one table entry removed, its page dropped */              \
	X(SPACE_CREATE, "space-create")                  /* a space is made */                     \
	X(SPACE_DESTROY, "space-destroy")                /* a space ends */                        \
	X(FORK_SPACE, "fork-space")                      /* fork beyond its areas and entries */   \
	X(FORK_AREA, "fork-area")                        /* one area copied by fork */             \
	X(FORK_ENTRY, "fork-entry")                      /* one table entry copied by fork */      \
	X(SWITCH, "switch")                              /* another space is loaded on a CPU */    \
	X(WRITEBACK_PAGE, "writeback-page")              /* one page handed to its device */       \
	X(LOCK, "lock") /* a lock is taken: a point of interleaving */                             \
	X(FLAG, "flag") /* a page flag changes: a point of interleaving */

enum quire_step {
#define X(id, name) QUIRE_STEP_##id,
	QUIRE_STEPS(X)
#undef X
		QUIRE_STEP_COUNT
};

enum quire_site_keeps {
	QUIRE_SITE_KEEPS_DATA,
	QUIRE_SITE_KEEPS_COST,
};

/* What the maintenance of a site, below QUIRE_SITE_COUNT, keeps. */
enum quire_site_keeps quire_site_keeps(enum quire_site site);
/* The printed names; NULL beyond the lists. */
const char *quire_site_name(enum quire_site site);
const char *quire_step_name(enum quire_step step);

#endif
