/*
 * Inside of the PA-RISC 2.0 port: what its files know of each other.
 *
 *   parisc.c   boot, the table of calls
 *   spaces.c   table entries, space numbers, the TLB and its misses
 *   caches.c   cache maintenance, the alias window, DMA
 *
 * "Kane" is Gerry Kane, PA-RISC 2.0 Architecture.
 *
 * WHAT THE EMBEDDING KERNEL'S START-UP CODE SETS: the linear mapping of the kernel is in space 0
 * and answered by its own TLB miss handler; space hashing is off, so that caches are indexed by
 * offsets alone; user code runs with all its space registers holding the number that activate()
 * set.
 */
#ifndef QUIRE_ARCH_PARISC_H
#define QUIRE_ARCH_PARISC_H

#include <insn/parisc.h>

#include "arch/support.h"

#define PARISC_KERNEL_SPACE 0
#define PARISC_NO_SPACE     1 /* loaded where no user space is: nothing is ever inserted for it */
#define PARISC_SPACES       32768

#define PARISC_ALIAS_SLOTS 2 /* temporary mappings of one CPU: source and target of a copy */

struct parisc_cpu {
	quire_pa_t alias[PARISC_ALIAS_SLOTS];   /* page that the slot maps */
	uintptr_t alias_va[PARISC_ALIAS_SLOTS]; /* where; 0: the slot is free */
} __attribute__((aligned(64)));

struct parisc_state {
	struct quire_atomic lock;  /* of the numbers, and of the sets context->cpus */
	struct quire_atomic purge; /* one TLB purge at a time is on the bus */
	uint32_t used[PARISC_SPACES / 32];
	struct parisc_cache_info info;
	struct parisc_cpu cpu[]; /* port.cpus */
};

static inline size_t parisc_state_bytes(const struct quire_machine *machine)
{
	return sizeof(struct parisc_state) + machine->port.cpus * sizeof(struct parisc_cpu);
}

static inline struct parisc_state *parisc_state(struct quire_machine *machine)
{
	return machine->state;
}

/* spaces.c */
uint64_t quire_parisc_encode(struct quire_entry entry);
struct quire_entry quire_parisc_decode(uint64_t raw);
uint64_t quire_parisc_encode_table(unsigned level, quire_pa_t table, bool read_only);
bool quire_parisc_decode_table(unsigned level, uint64_t raw, quire_pa_t *table, bool *read_only);
uint64_t quire_parisc_load_entry(struct quire_machine *machine, uintptr_t entry, unsigned level);
void quire_parisc_store_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			      uint64_t raw);
bool quire_parisc_replace_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
				uint64_t old, uint64_t raw);
void quire_parisc_entry_barrier(struct quire_machine *machine);
int quire_parisc_context_create(struct quire_machine *machine, struct quire_context *context);
void quire_parisc_context_destroy(struct quire_machine *machine, struct quire_context *context);
void quire_parisc_activate(struct quire_machine *machine, struct quire_context *context);
void quire_parisc_tlb_purge(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes);
void quire_parisc_tlb_purge_space(struct quire_machine *machine, struct quire_context *context);
void quire_parisc_tlb_purge_all(struct quire_machine *machine);
int quire_parisc_tlb_miss(struct quire_machine *machine, struct quire_context *context,
			  uintptr_t va, enum quire_access access);
/* Empties this CPU's TLBs. `arg` is the machine. */
void quire_parisc_tlb_here(void *arg);

/* caches.c */
void quire_parisc_clean_entries(struct quire_machine *machine, uintptr_t entry, size_t bytes);
void quire_parisc_data(struct quire_machine *machine, uintptr_t kva, size_t bytes,
		       enum quire_cache_op op);
void quire_parisc_data_alias(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va,
			     enum quire_cache_op op);
uintptr_t quire_parisc_alias_map(struct quire_machine *machine, quire_pa_t page,
				 uintptr_t alias_va);
void quire_parisc_alias_unmap(struct quire_machine *machine, uintptr_t alias);
void quire_parisc_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		       uintptr_t alias_va);
void quire_parisc_user_data(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes);
void quire_parisc_user_insn(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes);
void quire_parisc_whole_data(struct quire_machine *machine);
void quire_parisc_whole_insn(struct quire_machine *machine);
void quire_parisc_dma_prepare(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			      enum quire_dma_direction direction);
void quire_parisc_dma_finish(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			     enum quire_dma_direction direction);
/* Flush this CPU's D cache, I cache. `arg` is the machine. */
void quire_parisc_data_here(void *arg);
void quire_parisc_insn_here(void *arg);

#endif
