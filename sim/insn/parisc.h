/*
 * PA-RISC 2.0 instructions, executed by the simulator's current CPU. arch/board/insn/parisc.h has
 * the same functions for a board. What each does: PA-RISC 2.0 Architecture (Kane), chapter 7 and
 * appendix F.
 *
 * An address is a space and an offset. Space 0 is the kernel's. Cache operations translate like
 * accesses, but a missing translation takes the non-access TLB miss trap: the trap either inserts
 * one (retried) or the operation does nothing (chapter 5, interruptions 16 and 17).
 */
#ifndef INSN_PARISC_H
#define INSN_PARISC_H

#include <quire/port.h>

uint64_t parisc_load(struct quire_hw *hw, uintptr_t va);               /* LDD, kernel space */
void parisc_store(struct quire_hw *hw, uintptr_t va, uint64_t value);  /* STD */

void parisc_fdc(struct quire_hw *hw, uint64_t space, uintptr_t va);    /* flush D line, all CPUs */
/* purge D line: may drop it, all CPUs */
void parisc_pdc(struct quire_hw *hw, uint64_t space, uintptr_t va);
void parisc_fic(struct quire_hw *hw, uint64_t space, uintptr_t va);    /* flush I line, all CPUs */
/* flush D entry: this CPU, by index */
void parisc_fdce(struct quire_hw *hw, uintptr_t offset);
/* flush I entry: this CPU, by index */
void parisc_fice(struct quire_hw *hw, uintptr_t offset);
void parisc_sync(struct quire_hw *hw);                                 /* SYNC */
void parisc_syncdma(struct quire_hw *hw);

/* purge D translation, all CPUs */
void parisc_pdtlb(struct quire_hw *hw, uint64_t space, uintptr_t va);
/* purge I translation, all CPUs */
void parisc_pitlb(struct quire_hw *hw, uint64_t space, uintptr_t va);
/* purge entry: this CPU, by index */
void parisc_pdtlbe(struct quire_hw *hw, uintptr_t index);
void parisc_pitlbe(struct quire_hw *hw, uintptr_t index);

/* Access rights of a translation inserted. */
enum parisc_rights {
	PARISC_READ = 1,
	PARISC_WRITE = 2,
	PARISC_EXEC = 4,
	PARISC_USER = 8,
	PARISC_UNCACHED = 16, /* the U bit */
};

void parisc_idtlbt(struct quire_hw *hw, uint64_t space, uintptr_t va, quire_pa_t pa,
		   unsigned rights);
void parisc_iitlbt(struct quire_hw *hw, uint64_t space, uintptr_t va, quire_pa_t pa,
		   unsigned rights);

/* MTSP: space of user addresses */
void parisc_set_user_space(struct quire_hw *hw, uint64_t space);
uint64_t parisc_cr16(struct quire_hw *hw);                             /* MFCTL: interval timer */

/* What the firmware's PDC_CACHE call returns (PDC procedures, PDC_CACHE). */
struct parisc_cache_info {
	size_t data_bytes, insn_bytes;
	unsigned data_line_bytes, insn_line_bytes; /* stride of the flush-entry loops */
	unsigned data_loops, insn_loops;           /* flush-entry operations at each index: ways */
	unsigned data_tlb_entries, insn_tlb_entries;
	size_t alias_bytes;                        /* addresses equal modulo this never alias */
	bool data_coherent;                        /* hardware keeps D caches of CPUs coherent */
	bool io_coherent;                          /* DMA sees the caches */
};

void parisc_pdc_cache(struct quire_hw *hw, struct parisc_cache_info *info);

#endif
