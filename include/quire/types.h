/*
 * Types, units and error codes shared by every part of Quire.
 *
 * Freestanding: needs only the headers that C11 promises without a library.
 *
 * Two kinds of address are kept apart everywhere:
 *   quire_pa_t   a physical address, 64 bits on every machine (PA-RISC 2.0 and LPAE have more than
 *   32)
 *   uintptr_t    a virtual address of the machine that is managed. On a board it is a pointer; on
 *                the simulator it is a number that only the simulated CPU can follow. Quire never
 *                dereferences one: loads and stores go through instructions or the port.
 */
#ifndef QUIRE_TYPES_H
#define QUIRE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t quire_pa_t;

#define QUIRE_PAGE_SHIFT 12
#define QUIRE_PAGE_BYTES ((size_t)1 << QUIRE_PAGE_SHIFT)
#define QUIRE_PAGE_MASK (QUIRE_PAGE_BYTES - 1)

/* At most this many CPUs in one struct quire: a set of CPUs is one 64-bit mask. */
#define QUIRE_CPUS_MAX 64

/*
 * Errors are returned as negative values of these, numbered as Linux and the BSDs number them in
 * their common part, so that an embedding kernel can pass them on.
 */
enum quire_error {
	QUIRE_EPERM = 1,
	QUIRE_ENOENT = 2,
	QUIRE_EIO = 5,
	QUIRE_EAGAIN = 11,
	QUIRE_ENOMEM = 12,
	QUIRE_EACCES = 13,
	QUIRE_EFAULT = 14,
	QUIRE_EBUSY = 16,
	QUIRE_EEXIST = 17,
	QUIRE_ENODEV = 19,
	QUIRE_EINVAL = 22,
	QUIRE_EFBIG = 27,
	QUIRE_ENOSPC = 28,
	QUIRE_ENAMETOOLONG = 36,
	QUIRE_EOVERFLOW = 75,
	QUIRE_ENOTSUP = 95,
};

/* How a user access went wrong; results of quire_fault beside the errors above. */
enum quire_signal {
	/* a page of the area has no backing: beyond the end of its file, or an I/O error */
	QUIRE_SIGBUS = 1000,
	QUIRE_SIGSEGV = 1001, /* no area, or its protection forbids the access */
};

/* Kinds of access by a CPU. */
enum quire_access {
	QUIRE_LOAD,
	QUIRE_STORE,
	QUIRE_FETCH,
};

/* Protection of an area: a set of these. */
enum quire_prot {
	QUIRE_PROT_NONE = 0,
	QUIRE_PROT_READ = 1,
	QUIRE_PROT_WRITE = 2,
	QUIRE_PROT_EXEC = 4,
};

#endif
