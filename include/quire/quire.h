/*
 * Quire, a memory manager for operating-system kernels: the public interface.
 *
 * Read top to bottom. A kernel fills a struct quire_config and calls quire_create; gives each
 * process a struct quire_space; routes its mmap, munmap, mprotect, msync, fork, exit, read, write
 * and page-fault entries here; and mounts file systems (quire/fs.h) whose files it reads, writes
 * and maps.
 *
 * Words: a *space* is an address space; an *area* a range of it with one protection and one
 * backing; a *page* a physical page frame and its descriptor; the *page cache* the pages of one
 * file, by index.
 *
 * Context of every call, unless it says otherwise: called by a CPU of the port, in a thread or
 * trap, with none of Quire's locks held, not from an interrupt handler. Calls on different CPUs may
 * run at the same time, on the same objects too. Calls that do I/O wait for it.
 *
 * Results: 0 or a count; errors as negative values of enum quire_error. After an error nothing has
 * changed, unless the call's comment says what may have.
 */
#ifndef QUIRE_QUIRE_H
#define QUIRE_QUIRE_H

#include <quire/policy.h>
#include <quire/port.h>
#include <quire/types.h>

#define QUIRE_VERSION "0.1.0"

struct quire;       /* one memory manager: all state hangs off it */
struct quire_space; /* an address space */
struct quire_file;  /* a file with a page cache; see quire/file.h for file systems */
struct quire_arch;  /* an architecture; see below */

/* The architectures. Constant tables; an embedding kernel links the one it needs. */
extern const struct quire_arch quire_arch_armv7;
extern const struct quire_arch quire_arch_parisc;
extern const struct quire_arch quire_arch_x86_64;

struct quire_config {
	struct quire_port port; /* copied */
	const struct quire_arch *arch;
	struct quire_policy policy;
};

/* The policies Quire would choose: the cheapest that are right on every machine. */
struct quire_policy quire_policy_default(void);

/*
 * Makes a memory manager: detects caches, TLBs and walker through instructions of the calling CPU,
 * calibrates thresholds where the policy asks for it, and takes over the port's memory ranges.
 * Called once on one CPU, before any other CPU calls Quire; then quire_cpu_online on each other
 * CPU. Errors (in *error): QUIRE_EINVAL (a port without a required call, ranges not page aligned or
 * overlapping, an unknown policy value), QUIRE_ENOMEM, QUIRE_ENODEV (the CPU is not of this
 * architecture).
 */
struct quire *quire_create(const struct quire_config *config, int *error);

/* Prepares the calling CPU. */
int quire_cpu_online(struct quire *q);

/* Ends a memory manager whose spaces have ended and whose files were released. */
void quire_destroy(struct quire *q);

/* --- Spaces --------------------------------------------------------------------------------- */

/* A new, empty space. Errors: QUIRE_ENOMEM. */
struct quire_space *quire_space_create(struct quire *q, int *error);

/*
 * fork: a copy of `parent` in *child. Shared areas share; private pages become copy on write in
 * both. Entries of file areas that hold no private page are not copied: they fault again in the
 * child. Errors: QUIRE_ENOMEM.
 */
int quire_space_fork(struct quire_space *parent, struct quire_space **child);

/*
 * exit: removes every area and frees the space, which no CPU may have loaded (load NULL or
 * another).
 */
void quire_space_destroy(struct quire_space *space);

/* Loads `space` (NULL: none, the kernel only) on the calling CPU. */
void quire_space_load(struct quire *q, struct quire_space *space);

/* --- Areas ---------------------------------------------------------------------------------- */

enum quire_map_flag {
	QUIRE_MAP_SHARED = 1,
	QUIRE_MAP_PRIVATE = 2,
	QUIRE_MAP_FIXED = 4,     /* at *va exactly, replacing what is there */
	QUIRE_MAP_ANONYMOUS = 8, /* no file: zeros */
	QUIRE_MAP_LOCKED = 16,   /* pages stay; msync(INVALIDATE) refuses */
};

/*
 * mmap: maps `bytes` bytes (rounded up to pages) of `file` from `offset` (a multiple of the page
 * size), or zeros. *va is the address wanted (0: any) and becomes the address chosen.
 * `file_writable` tells whether the file was opened for writing. Errors: QUIRE_EINVAL (size 0,
 * misaligned, neither or both of shared and private), QUIRE_ENOMEM (no room), QUIRE_EACCES (shared
 * and writable without file_writable), QUIRE_EOVERFLOW. A map of a file marks its atime.
 */
int quire_mmap(struct quire_space *space, uintptr_t *va, size_t bytes, unsigned prot,
	       unsigned flags, struct quire_file *file, uint64_t offset, bool file_writable);

/*
 * munmap: removes all areas in the range; ranges without areas are no error. Errors: QUIRE_EINVAL,
 * QUIRE_ENOMEM.
 */
int quire_munmap(struct quire_space *space, uintptr_t va, size_t bytes);

/*
 * mprotect. Errors: QUIRE_EINVAL, QUIRE_EACCES (write to a shared map of a file opened read-only),
 * QUIRE_ENOMEM (a part of the range has no area: what is before it has changed).
 */
int quire_mprotect(struct quire_space *space, uintptr_t va, size_t bytes, unsigned prot);

enum quire_msync_flag {
	QUIRE_MS_ASYNC = 1,
	QUIRE_MS_INVALIDATE = 2,
	QUIRE_MS_SYNC = 4,
};

/*
 * msync: marks times of files stored to through the range since the last msync; with MS_SYNC writes
 * their dirty pages of the range and waits. Errors: QUIRE_EINVAL (misaligned, unknown flag, ASYNC
 * with SYNC), QUIRE_EBUSY (INVALIDATE on a locked area), QUIRE_ENOMEM (a hole in the range: areas
 * before and after it are synced all the same), QUIRE_EIO.
 */
int quire_msync(struct quire_space *space, uintptr_t va, size_t bytes, unsigned flags);

/*
 * A page fault (or permission fault) of user code, or of the kernel at a user address, at `va` in
 * the loaded `space`. 0: mended, retry the access. Else -QUIRE_SIGSEGV, -QUIRE_SIGBUS,
 * -QUIRE_ENOMEM, or -QUIRE_EFAULT (the kernel is copying where it cannot wait: the copy must end
 * short).
 */
int quire_fault(struct quire_space *space, uintptr_t va, enum quire_access access);

/*
 * For ISAs with a software-filled TLB (PA-RISC): called by the TLB miss trap. 0: the entry was
 * inserted, retry; -QUIRE_EFAULT: there is no such entry or it forbids the access, call
 * quire_fault. Misses of the kernel in the port's alias window are answered too, whatever the
 * space. Takes no lock.
 */
int quire_tlb_miss(struct quire_space *space, uintptr_t va, enum quire_access access);

/*
 * A debugger's access (ptrace): copies between `buffer`, a kernel address, and user memory of any
 * space, loaded or not, through the kernel mapping, as far as it goes. Writing ignores missing
 * write permission of private areas. Result: bytes copied, or -QUIRE_EFAULT when none could be.
 */
int64_t quire_space_access(struct quire_space *space, uintptr_t va, uintptr_t buffer, size_t bytes,
			   bool write);

/* --- Files ---------------------------------------------------------------------------------- */

/*
 * read and write at `offset`, to and from user memory of the loaded space, through the page cache,
 * any size and alignment. Result: bytes done (fewer at the end of file, or when the user memory
 * faults), or an error when none was: QUIRE_EFAULT, QUIRE_EIO, QUIRE_ENOSPC, QUIRE_ENOMEM,
 * QUIRE_EFBIG.
 */
int64_t quire_read(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes);
int64_t quire_write(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes);

/* Sets the size; pages beyond it are gone from cache and spaces when it returns. */
int quire_truncate(struct quire_file *file, uint64_t bytes);

/* fallocate, and punch a hole. Errors: QUIRE_ENOTSUP, QUIRE_ENOSPC, QUIRE_EINVAL, QUIRE_EFBIG. */
int quire_allocate(struct quire_file *file, uint64_t offset, uint64_t bytes);
int quire_punch(struct quire_file *file, uint64_t offset, uint64_t bytes);

/* fsync: writes the file's dirty pages and waits. */
int quire_fsync(struct quire_file *file);

struct quire_stat {
	uint64_t bytes;
	uint64_t pages; /* in the page cache */
	uint64_t mtime_ns, ctime_ns, atime_ns;
};

void quire_file_stat(struct quire_file *file, struct quire_stat *stat);

/* References: quire_mmap holds its own. A file is released with the last one. */
void quire_file_get(struct quire_file *file);
void quire_file_put(struct quire_file *file);

/* --- Memory --------------------------------------------------------------------------------- */

/* Frees up to `pages` clean page-cache pages that nobody maps; result: how many. */
uint64_t quire_reclaim(struct quire *q, uint64_t pages);

struct quire_usage {
	uint64_t pages;       /* under management */
	uint64_t free;        /* in free lists */
	uint64_t page_cache;  /* held by files */
	uint64_t tables;      /* page-table pages */
	uint64_t entries;     /* leaf entries written since quire_create */
	uint64_t faults;      /* calls of quire_fault since quire_create */
};

void quire_usage(struct quire *q, struct quire_usage *usage);

/* Thresholds in force for range flushes, bytes (SIZE_MAX: never the whole cache). */
struct quire_thresholds {
	size_t data_bytes;
	size_t insn_bytes;
	size_t tlb_bytes;
	/* calibration: first flush of the whole D cache on all CPUs; 0: not run */
	uint64_t whole_cycles;
	uint64_t range_cycles; /* calibration: range flush of the kernel's text */
};

void quire_thresholds(struct quire *q, struct quire_thresholds *thresholds);

#endif
