/*
 * ARMv7-A instructions, executed by the simulator's current CPU. arch/board/insn/armv7.h has the
 * same functions, one inline instruction each, for a board. What each does: ARM Architecture
 * Reference Manual ARMv7-A and ARMv7-R, DDI 0406C, B4.2 (CP15 operations), B2.2 (cache
 * maintenance).
 *
 * Addresses are virtual (MVA) unless called pa. The suffix _is marks the inner-shareable form,
 * which reaches all CPUs where the machine broadcasts.
 */
#ifndef INSN_ARMV7_H
#define INSN_ARMV7_H

#include <quire/port.h>

uint32_t armv7_load(struct quire_hw *hw, uintptr_t va);               /* LDR */
void armv7_store(struct quire_hw *hw, uintptr_t va, uint32_t value);  /* STR */
/* LDR from device memory mapped by the port */
uint32_t armv7_device_load(struct quire_hw *hw, quire_pa_t pa);
void armv7_device_store(struct quire_hw *hw, quire_pa_t pa, uint32_t value);

void armv7_dccmvac(struct quire_hw *hw, uintptr_t va);  /* D clean to point of coherency */
void armv7_dccmvau(struct quire_hw *hw, uintptr_t va);  /* D clean to point of unification */
void armv7_dcimvac(struct quire_hw *hw, uintptr_t va);  /* D invalidate to point of coherency */
/* D clean and invalidate to point of coherency */
void armv7_dccimvac(struct quire_hw *hw, uintptr_t va);
void armv7_dccsw(struct quire_hw *hw, uint32_t set_way);
void armv7_dccisw(struct quire_hw *hw, uint32_t set_way);
void armv7_dcisw(struct quire_hw *hw, uint32_t set_way);
void armv7_icimvau(struct quire_hw *hw, uintptr_t va);  /* I invalidate to point of unification */
void armv7_iciallu(struct quire_hw *hw);                /* I invalidate all, this CPU */
void armv7_icialluis(struct quire_hw *hw);
void armv7_bpiall(struct quire_hw *hw);                 /* branch predictor invalidate all */
void armv7_bpiallis(struct quire_hw *hw);

void armv7_dsb(struct quire_hw *hw);
void armv7_isb(struct quire_hw *hw);
void armv7_dmb(struct quire_hw *hw);

void armv7_tlbimva(struct quire_hw *hw, uintptr_t va_and_asid);
void armv7_tlbimvais(struct quire_hw *hw, uintptr_t va_and_asid);
void armv7_tlbimvaais(struct quire_hw *hw, uintptr_t va); /* all ASIDs */
void armv7_tlbiasid(struct quire_hw *hw, uint32_t asid);
void armv7_tlbiasidis(struct quire_hw *hw, uint32_t asid);
void armv7_tlbiall(struct quire_hw *hw);
void armv7_tlbiallis(struct quire_hw *hw);

uint32_t armv7_midr(struct quire_hw *hw);
uint32_t armv7_mpidr(struct quire_hw *hw);
uint32_t armv7_ctr(struct quire_hw *hw);
uint32_t armv7_clidr(struct quire_hw *hw);
void armv7_set_csselr(struct quire_hw *hw, uint32_t value);
uint32_t armv7_ccsidr(struct quire_hw *hw);
uint32_t armv7_id_mmfr3(struct quire_hw *hw);
uint32_t armv7_tlbtr(struct quire_hw *hw);
/* Cortex-A9: base of the private peripherals, DDI 0388I 4.3.24 */
uint32_t armv7_cbar(struct quire_hw *hw);
uint32_t armv7_ttbr0(struct quire_hw *hw);
void armv7_set_ttbr0(struct quire_hw *hw, uint32_t value);
void armv7_set_contextidr(struct quire_hw *hw, uint32_t value);
void armv7_set_sctlr(struct quire_hw *hw, uint32_t value);
uint32_t armv7_sctlr(struct quire_hw *hw);
uint32_t armv7_pmccntr(struct quire_hw *hw);

/*
 * Physical address of the PL310's registers, 0 where there is none. On a board the port's build
 * defines it (QUIRE_BOARD_PL310); registers: DDI 0246, chapter 3.
 */
quire_pa_t armv7_pl310_base(struct quire_hw *hw);

#endif
