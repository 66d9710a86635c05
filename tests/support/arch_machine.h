/*
 * A simulated machine on which an architecture has booted, and nothing above it: tests call struct
 * quire_arch directly and write tables with it.
 *
 * Physical memory from ARCH_TABLES on is for tables, from ARCH_FRAMES on for data; both lie beyond
 * the kernel's text. A space here is a root table and one context; leaf tables are taken as they
 * are needed.
 */
#ifndef TESTS_SUPPORT_ARCH_MACHINE_H
#define TESTS_SUPPORT_ARCH_MACHINE_H

#include "arch/arch.h"
#include "tests/support/simulated.h"

#define ARCH_TABLES   ((quire_pa_t)4 << 20)
#define ARCH_FRAMES   ((quire_pa_t)8 << 20)
#define ARCH_FRAME(n) (ARCH_FRAMES + (quire_pa_t)(n)*QUIRE_PAGE_BYTES)

struct arch_machine {
	struct simulated s; /* its quire is not made */
	struct quire_machine m;
	const struct quire_arch *arch;
	quire_pa_t next_table;
	struct quire_context *loaded[QUIRE_CPUS_MAX];
	unsigned faults; /* calls of the fault trap, which mends nothing */
};

/* Makes the simulated machine and boots its architecture on all CPUs; CPU 0 is current. */
void arch_machine_start(struct arch_machine *a, const struct sim_machine *machine);
void arch_machine_end(struct arch_machine *a);

/* A new context with an empty, cleaned root table. */
void arch_space(struct arch_machine *a, struct quire_context *context);
void arch_load(struct arch_machine *a, struct quire_context *context);
/* Kernel address of the leaf entry of va; tables are made on the way. */
uintptr_t arch_leaf(struct arch_machine *a, struct quire_context *context, uintptr_t va);
/* Stores an entry, cleans it and does the barrier. bits 0 removes it; no purge. */
void arch_map(struct arch_machine *a, struct quire_context *context, uintptr_t va, quire_pa_t pa,
	      unsigned bits);

/* A user's load and store of 4 bytes: 0 or the error. */
int arch_user_load(struct arch_machine *a, uintptr_t va, uint64_t *value);
int arch_user_store(struct arch_machine *a, uintptr_t va, uint64_t value);
/* The kernel's, through its linear mapping. */
uint64_t arch_kernel_load(struct arch_machine *a, quire_pa_t pa);
void arch_kernel_store(struct arch_machine *a, quire_pa_t pa, uint64_t value);
/* What a device finds in memory. */
uint32_t arch_device_load(struct arch_machine *a, quire_pa_t pa);

/* Instructions of a kind outside any site, so far. */
uint64_t arch_ops(const struct arch_machine *a, enum sim_op op);

#define ARCH_RW (QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG | QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY)
#define ARCH_RO (QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG)
#define ARCH_RX (QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG | QUIRE_ENTRY_EXEC)

#endif
