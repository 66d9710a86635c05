/*
 * The port: all that an embedding kernel gives to Quire.
 *
 * Quire has no globals and calls nothing that is not in this struct, in the instruction header of
 * its ISA, or in the compiler's runtime. The kernel fills one struct quire_port and keeps it alive
 * as long as the struct quire made from it. Unless a call says otherwise it may be called with
 * locks of Quire held and must not sleep.
 */
#ifndef QUIRE_PORT_H
#define QUIRE_PORT_H

#include <quire/site.h>
#include <quire/types.h>

struct quire_hw; /* the hardware an instruction acts on; opaque, unused on a board */

/* A range of usable physical memory; both ends on page boundaries. */
struct quire_memory {
	quire_pa_t base;
	uint64_t bytes;
};

struct quire_port {
	void *context;       /* first argument of every call below */
	struct quire_hw *hw; /* first argument of every instruction; NULL on a board */

	unsigned cpus; /* 1 to QUIRE_CPUS_MAX, numbered from 0 */

	/*
	 * The kernel maps all of `memory` linearly and cached: physical address pa is at kernel
	 * virtual address kernel_base + pa. The kernel's own text lies in that mapping at
	 * kernel_text, and is what threshold calibration flushes as its sample range.
	 */
	uintptr_t kernel_base;
	uintptr_t kernel_text;
	size_t kernel_text_bytes;
	const struct quire_memory *memory;
	unsigned memory_ranges;

	/*
	 * A window of kernel virtual addresses without a linear mapping, aligned to the largest
	 * colour period of the machine's caches and two such periods long per CPU (a copy maps its
	 * source and its target), through which Quire makes temporary mappings of a chosen colour.
	 * 0 where no cache aliases.
	 */
	uintptr_t alias_window;

	/*
	 * Devices see and update the D caches. For machines where no register or firmware call that
	 * Quire knows tells (ARM); false is right wherever that is not certain.
	 */
	bool devices_see_data;

	/* The number of the CPU that calls. */
	unsigned (*cpu)(void *context);

	/* Busy waiting: lets other CPUs run. Called between two tries at a lock. */
	void (*relax)(void *context);

	/*
	 * Memory for Quire's own records, never for page contents. alloc returns NULL when there is
	 * none; `align` is a power of two. free gets the same `bytes`.
	 */
	void *(*alloc)(void *context, size_t bytes, size_t align);
	void (*free)(void *context, void *memory, size_t bytes);

	/*
	 * Runs fn(arg) on every CPU of the set `cpus` (bit n: CPU n; the caller's own bit included
	 * or not) and returns when all have finished. Never called when can_cross_call says false
	 * (as with interrupts off). Where the TLBs of other CPUs can be reached by no instruction
	 * (x86-64), changes to a space that other CPUs have loaded may be asked for only while
	 * can_cross_call says true.
	 */
	void (*cross_call)(void *context, uint64_t cpus, void (*fn)(void *arg), void *arg);
	bool (*can_cross_call)(void *context);

	/* Wall-clock time in nanoseconds since 1970, for file times; must not go backwards. */
	uint64_t (*time_ns)(void *context);

	/*
	 * Page contents. `to` and `from` are kernel virtual addresses, in the linear mapping or the
	 * alias window, and never wrap; any size and alignment.
	 */
	void (*copy)(void *context, uintptr_t to, uintptr_t from, size_t bytes);
	void (*clear)(void *context, uintptr_t to, size_t bytes);

	/*
	 * The same between page contents, at a kernel virtual address as above, and Quire's own
	 * records (memory that alloc gave, or a stack): how a file system reads and writes its
	 * metadata. On a board each is a plain copy; on the simulator they pass the caches of the
	 * CPU that calls.
	 */
	void (*read)(void *context, void *to, uintptr_t from, size_t bytes);
	void (*write)(void *context, uintptr_t to, const void *from, size_t bytes);

	/*
	 * Copies between kernel memory and user addresses of the space loaded on this CPU. A user
	 * access that faults calls quire_fault, as any user access does, and goes on when it is
	 * mended; the result is the number of bytes NOT copied (0: all were). Copied bytes are a
	 * prefix.
	 */
	size_t (*copy_to_user)(void *context, uintptr_t user_to, uintptr_t from, size_t bytes);
	size_t (*copy_from_user)(void *context, uintptr_t to, uintptr_t user_from, size_t bytes);

	/*
	 * Called at each named step of the memory manager, before it is done: a trace point on a
	 * board, the price of kernel work and a point of interleaving on the simulator. May be
	 * NULL.
	 */
	void (*step)(void *context, enum quire_step step);

	/*
	 * The pages at [pa, pa + bytes) changed owner: `taken` out of Quire's free memory, contents
	 * and all, or else about to be given back to it. For whoever checks that nobody reads what
	 * a former owner left; a board has no use for it. May be NULL.
	 */
	void (*page_owner)(void *context, quire_pa_t pa, uint64_t bytes, bool taken);

	/*
	 * Brackets each maintenance operation with the stable name of its call site. begin may
	 * return false to have the operation left out (fault injection); then end is not called.
	 * Both may be NULL, together.
	 */
	bool (*maintenance_begin)(void *context, enum quire_site site);
	void (*maintenance_end)(void *context, enum quire_site site);

	/*
	 * A broken invariant of Quire or of its caller, told by file:line and a sentence. Must not
	 * return.
	 */
	void (*stop)(void *context, const char *file, int line, const char *what)
		__attribute__((noreturn));
};

#endif
