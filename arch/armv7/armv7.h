/*
 * Inside of the ARMv7-A port: what its files know of each other.
 *
 *   armv7.c    boot, the table of calls
 *   entries.c  short descriptors
 *   context.c  ASIDs, context switches, TLB
 *   caches.c   cache maintenance, DMA
 *
 * "DDI 0406C" is the ARM Architecture Reference Manual ARMv7-A and ARMv7-R edition.
 *
 * WHAT THE EMBEDDING KERNEL'S START-UP CODE SETS, once and for all: the MMU is on; TTBCR.N is 1,
 * the kernel lives in the upper 2 GB through TTBR1, and TTBR0 points to a table that maps no user
 * address; domain 0 is a client (DACR); PRRR and NMRR say that region 7 is normal write-back
 * write-allocate and region 1 normal uncached; the cycle counter runs (PMCR.E, PMCNTENSET.C). The L1
 * D cache of a CPU that comes out of reset was invalidated before it was turned on: it may hold
 * anything then, dirty lines too (DDI 0406C, "Behavior of the caches at reset"; so on a Cortex-A9),
 * and emptying it here writes dirty lines back.
 */
#ifndef QUIRE_ARCH_ARMV7_H
#define QUIRE_ARCH_ARMV7_H

#include <insn/armv7.h>

#include "arch/support.h"

#define ARMV7_ASIDS 256 /* 8 bits; 0 is nobody's */

/* One CPU's own; each in a line of its own. */
struct armv7_cpu {
	uint64_t cycles; /* PMCCNTR, extended */
	struct quire_context *loaded;
	bool flush; /* the TLB is to be emptied before the next context is loaded */
} __attribute__((aligned(64)));

struct armv7_state {
	struct quire_atomic lock; /* of everything below but cpu[].cycles */
	uint64_t generation;
	uint32_t used[ARMV7_ASIDS / 32]; /* ASIDs given out in this generation */
	uint32_t kernel_ttbr0;           /* at boot: maps no user address */
	uint32_t ttbr0_flags;
	uint32_t levels;           /* D or unified cache levels up to the point of coherency */
	bool insn_shared;          /* inner-shareable I operations exist and reach all CPUs */
	bool tlb_shared;           /* and those of the TLB */
	quire_pa_t pl310;          /* 0: no outer cache */
	struct quire_atomic outer; /* lock of the outer cache's registers */
	struct armv7_cpu cpu[];    /* port.cpus */
};

static inline size_t armv7_state_bytes(const struct quire_machine *machine)
{
	return sizeof(struct armv7_state) + machine->port.cpus * sizeof(struct armv7_cpu);
}

static inline struct armv7_state *armv7_state(struct quire_machine *machine)
{
	return machine->state;
}

/* entries.c */
uint64_t quire_armv7_encode(struct quire_entry entry);
struct quire_entry quire_armv7_decode(uint64_t raw);
uint64_t quire_armv7_encode_table(unsigned level, quire_pa_t table, bool read_only);
bool quire_armv7_decode_table(unsigned level, uint64_t raw, quire_pa_t *table, bool *read_only);
uint64_t quire_armv7_load_entry(struct quire_machine *machine, uintptr_t entry, unsigned level);
void quire_armv7_store_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			     uint64_t raw);
bool quire_armv7_replace_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			       uint64_t old, uint64_t raw);
void quire_armv7_clean_entries(struct quire_machine *machine, uintptr_t entry, size_t bytes);
void quire_armv7_entry_barrier(struct quire_machine *machine);

/* context.c */
int quire_armv7_context_create(struct quire_machine *machine, struct quire_context *context);
void quire_armv7_context_destroy(struct quire_machine *machine, struct quire_context *context);
void quire_armv7_activate(struct quire_machine *machine, struct quire_context *context);
void quire_armv7_tlb_purge(struct quire_machine *machine, struct quire_context *context,
			   uintptr_t va, size_t bytes);
void quire_armv7_tlb_purge_space(struct quire_machine *machine, struct quire_context *context);
void quire_armv7_tlb_purge_all(struct quire_machine *machine);

/* caches.c */
void quire_armv7_data(struct quire_machine *machine, uintptr_t kva, size_t bytes,
		      enum quire_cache_op op);
uintptr_t quire_armv7_alias_map(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va);
void quire_armv7_alias_unmap(struct quire_machine *machine, uintptr_t alias);
void quire_armv7_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		      uintptr_t alias_va);
void quire_armv7_whole_data(struct quire_machine *machine);
void quire_armv7_whole_insn(struct quire_machine *machine);
void quire_armv7_dma_prepare(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			     enum quire_dma_direction direction);
void quire_armv7_dma_finish(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			    enum quire_dma_direction direction);
/* Cleans and invalidates the D side of this CPU by set and way, invalidates its I side. */
void quire_armv7_caches_here(struct quire_machine *machine);
/* Cleans [pa, pa + bytes) from the outer cache to memory; nothing where there is none. */
void quire_armv7_outer_clean(struct quire_machine *machine, quire_pa_t pa, size_t bytes);

/* CCSIDR, DDI 0406C B4.1.19. */
struct armv7_geometry {
	unsigned line_bytes, ways, sets;
};

struct armv7_geometry quire_armv7_geometry(struct quire_machine *machine, unsigned level,
					   bool insn);

#endif
