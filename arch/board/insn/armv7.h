/*
 * ARMv7-A instructions of a board: the functions of sim/insn/armv7.h, one inline instruction each.
 * Encodings of the CP15 operations: DDI 0406C B3.17.2. `hw` is unused; privilege level 1.
 *
 * Each is volatile and says that it touches memory, so the compiler keeps their order among loads
 * and stores.
 *
 * The board's build may define
 *   QUIRE_BOARD_PL310        physical address of a PL310's registers, where there is one
 *   QUIRE_BOARD_DEVICE(pa)   virtual address of a device register, where it differs from pa
 */
#ifndef INSN_ARMV7_H
#define INSN_ARMV7_H

#include <quire/port.h>

#ifndef QUIRE_BOARD_PL310
#define QUIRE_BOARD_PL310 0
#endif
#ifndef QUIRE_BOARD_DEVICE
#define QUIRE_BOARD_DEVICE(pa) ((uintptr_t)(pa))
#endif

static inline uint32_t armv7_load(struct quire_hw *hw, uintptr_t va)
{
	(void)hw;
	return *(const volatile uint32_t *)va;
}

static inline void armv7_store(struct quire_hw *hw, uintptr_t va, uint32_t value)
{
	(void)hw;
	*(volatile uint32_t *)va = value;
}

static inline uint32_t armv7_device_load(struct quire_hw *hw, quire_pa_t pa)
{
	(void)hw;
	return *(const volatile uint32_t *)QUIRE_BOARD_DEVICE(pa);
}

static inline void armv7_device_store(struct quire_hw *hw, quire_pa_t pa, uint32_t value)
{
	(void)hw;
	*(volatile uint32_t *)QUIRE_BOARD_DEVICE(pa) = value;
}

static inline quire_pa_t armv7_pl310_base(struct quire_hw *hw)
{
	(void)hw;
	return QUIRE_BOARD_PL310;
}

/* An operation whose operand is an address, a set and way, or a register's new value. */
#define ARMV7_WRITE(name, type, opc1, crn, crm, opc2)                                 \
	static inline void armv7_##name(struct quire_hw *hw, type value)              \
	{                                                                             \
		(void)hw;                                                             \
		__asm__ volatile("mcr p15, " #opc1 ", %0, " #crn ", " #crm ", " #opc2 \
				 :                                                    \
				 : "r"(value)                                         \
				 : "memory");                                         \
	}

/* An operation without an operand. */
#define ARMV7_DO(name, opc1, crn, crm, opc2)                                          \
	static inline void armv7_##name(struct quire_hw *hw)                          \
	{                                                                             \
		(void)hw;                                                             \
		__asm__ volatile("mcr p15, " #opc1 ", %0, " #crn ", " #crm ", " #opc2 \
				 :                                                    \
				 : "r"(0)                                             \
				 : "memory");                                         \
	}

#define ARMV7_READ(name, opc1, crn, crm, opc2)                                        \
	static inline uint32_t armv7_##name(struct quire_hw *hw)                      \
	{                                                                             \
		uint32_t value;                                                       \
                                                                                      \
		(void)hw;                                                             \
		__asm__ volatile("mrc p15, " #opc1 ", %0, " #crn ", " #crm ", " #opc2 \
				 : "=r"(value)                                        \
				 :                                                    \
				 : "memory");                                         \
		return value;                                                         \
	}

#define ARMV7_BARRIER(name)                                  \
	static inline void armv7_##name(struct quire_hw *hw) \
	{                                                    \
		(void)hw;                                    \
		__asm__ volatile(#name : : : "memory");      \
	}

ARMV7_WRITE(dccmvac, uintptr_t, 0, c7, c10, 1)
ARMV7_WRITE(dccmvau, uintptr_t, 0, c7, c11, 1)
ARMV7_WRITE(dcimvac, uintptr_t, 0, c7, c6, 1)
ARMV7_WRITE(dccimvac, uintptr_t, 0, c7, c14, 1)
ARMV7_WRITE(dccsw, uint32_t, 0, c7, c10, 2)
ARMV7_WRITE(dccisw, uint32_t, 0, c7, c14, 2)
ARMV7_WRITE(dcisw, uint32_t, 0, c7, c6, 2)
ARMV7_WRITE(icimvau, uintptr_t, 0, c7, c5, 1)
ARMV7_DO(iciallu, 0, c7, c5, 0)
ARMV7_DO(icialluis, 0, c7, c1, 0)
ARMV7_DO(bpiall, 0, c7, c5, 6)
ARMV7_DO(bpiallis, 0, c7, c1, 6)

ARMV7_BARRIER(dsb)
ARMV7_BARRIER(isb)
ARMV7_BARRIER(dmb)

ARMV7_WRITE(tlbimva, uintptr_t, 0, c8, c7, 1)
ARMV7_WRITE(tlbimvais, uintptr_t, 0, c8, c3, 1)
ARMV7_WRITE(tlbimvaais, uintptr_t, 0, c8, c3, 3)
ARMV7_WRITE(tlbiasid, uint32_t, 0, c8, c7, 2)
ARMV7_WRITE(tlbiasidis, uint32_t, 0, c8, c3, 2)
ARMV7_DO(tlbiall, 0, c8, c7, 0)
ARMV7_DO(tlbiallis, 0, c8, c3, 0)

ARMV7_READ(midr, 0, c0, c0, 0)
ARMV7_READ(mpidr, 0, c0, c0, 5)
ARMV7_READ(ctr, 0, c0, c0, 1)
ARMV7_READ(tlbtr, 0, c0, c0, 3)
ARMV7_READ(clidr, 1, c0, c0, 1)
ARMV7_WRITE(set_csselr, uint32_t, 2, c0, c0, 0)
ARMV7_READ(ccsidr, 1, c0, c0, 0)
ARMV7_READ(id_mmfr3, 0, c0, c1, 7)
ARMV7_READ(cbar, 4, c15, c0, 0)
ARMV7_READ(ttbr0, 0, c2, c0, 0)
ARMV7_WRITE(set_ttbr0, uint32_t, 0, c2, c0, 0)
ARMV7_WRITE(set_contextidr, uint32_t, 0, c13, c0, 1)
ARMV7_WRITE(set_sctlr, uint32_t, 0, c1, c0, 0)
ARMV7_READ(sctlr, 0, c1, c0, 0)
ARMV7_READ(pmccntr, 0, c9, c13, 0)

#undef ARMV7_WRITE
#undef ARMV7_DO
#undef ARMV7_READ
#undef ARMV7_BARRIER

#endif
