/*
 * A simulated machine with nothing on it: tests write its page tables by hand, with the machine's
 * own instructions.
 *
 * Physical memory, 4 MiB: tables from BARE_ROOT on, frames for data from BARE_FRAMES on.
 */
#ifndef TESTS_SUPPORT_BARE_H
#define TESTS_SUPPORT_BARE_H

#include <insn/armv7.h>
#include <insn/parisc.h>
#include <insn/x86_64.h>

#include "sim/sim.h"

#define BARE_MEMORY ((quire_pa_t)4 << 20)
#define BARE_ROOT   ((quire_pa_t)0x10000)
#define BARE_TABLES ((quire_pa_t)0x20000)
#define BARE_FRAMES ((quire_pa_t)0x100000)
/* The nth frame for data. */
#define BARE_FRAME(n) (BARE_FRAMES + (quire_pa_t)(n)*QUIRE_PAGE_BYTES)

#define BARE_C SIM_TICKS_A_CYCLE

struct bare {
	struct sim *sim;
	struct quire_hw *hw;
	uintptr_t base; /* of the linear mapping */
	unsigned faults, misses;
	uintptr_t fault_va;
	enum quire_access fault_access;
	/* What the traps do, set by the test; NULL: -QUIRE_EFAULT. */
	int (*on_fault)(struct bare *b, uintptr_t va, enum quire_access access);
	int (*on_miss)(struct bare *b, uintptr_t va, enum quire_access access);
};

/*
 * Two CPUs, 4 MiB, L1 of 8 KB with lines of 32 bytes, no L2, a TLB of 8 entries in sets of 2, round
 * costs.
 */
struct sim_machine bare_machine(enum sim_isa isa);
void bare_start(struct bare *b, const struct sim_machine *machine);
void bare_end(struct bare *b);

/* Kernel memory through the current CPU's cache; sizes as in sim_load. */
uint64_t bare_peek(struct bare *b, quire_pa_t pa, unsigned bytes);
void bare_poke(struct bare *b, quire_pa_t pa, unsigned bytes, uint64_t value);
/* A user load: the value; the error in *error (may be NULL: must be 0). */
uint64_t bare_load(struct bare *b, uintptr_t va, int *error);

/* --- ARMv7: first-level tables of 16 KB, leaf descriptors of small pages ------------------ */

#define BARE_ARM_SMALL  2u
#define BARE_ARM_XN     1u
#define BARE_ARM_CACHED 8u
#define BARE_ARM_AF     (1u << 4)
#define BARE_ARM_USER   (1u << 5)
#define BARE_ARM_RO     (1u << 9)
#define BARE_ARM_NG     (1u << 11)
/* A page of a user that may do all. */
#define BARE_ARM_PAGE                                                                              \
	(BARE_ARM_SMALL | BARE_ARM_CACHED | BARE_ARM_AF | BARE_ARM_USER | BARE_ARM_NG)
#define BARE_SCTLR_AFE (1u << 29)

/*
 * Physical address of the leaf descriptor of va in table tree number `tree` (0 or 1), va below 8
 * MiB.
 */
quire_pa_t bare_arm_leaf(unsigned tree, uintptr_t va);
/* Stores a leaf descriptor and the upper one; cleans neither. */
void bare_arm_map(struct bare *b, unsigned tree, uintptr_t va, uint32_t raw);
/* Loads table tree `tree` with an ASID. */
void bare_arm_activate(struct bare *b, unsigned tree, uint32_t asid);

/* --- x86-64: one chain of tables, va below 2 MiB ------------------------------------------ */

#define BARE_X86_P    1u
#define BARE_X86_RW   2u
#define BARE_X86_US   4u
#define BARE_X86_A    0x20u
#define BARE_X86_D    0x40u
#define BARE_X86_G    0x100u
#define BARE_X86_PAGE (BARE_X86_P | BARE_X86_RW | BARE_X86_US)
#define BARE_X86_NX   ((uint64_t)1 << 63)

/* Physical address of the entry of va at `level`, 4 (root) to 1. */
quire_pa_t bare_x86_entry(unsigned level, uintptr_t va);
/* Stores a leaf and three upper entries (present, writable, user). */
void bare_x86_map(struct bare *b, uintptr_t va, uint64_t raw);

#endif
