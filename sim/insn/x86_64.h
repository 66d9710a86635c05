/*
 * x86-64 instructions, executed by the simulator's current CPU. arch/board/insn/x86_64.h has the
 * same functions for a board. What each does: Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 2.
 */
#ifndef INSN_X86_64_H
#define INSN_X86_64_H

#include <quire/port.h>

uint64_t x86_load(struct quire_hw *hw, uintptr_t va);
void x86_store(struct quire_hw *hw, uintptr_t va, uint64_t value);
/* LOCK CMPXCHG: stores `value` and returns true if memory holds `old`. */
bool x86_cmpxchg(struct quire_hw *hw, uintptr_t va, uint64_t old, uint64_t value);

void x86_invlpg(struct quire_hw *hw, uintptr_t va); /* this CPU, its loaded CR3 */
/* drops all TLB entries that are not global */
void x86_set_cr3(struct quire_hw *hw, uint64_t value);
uint64_t x86_cr3(struct quire_hw *hw);
void x86_clflush(struct quire_hw *hw, uintptr_t va);
void x86_wbinvd(struct quire_hw *hw);
void x86_mfence(struct quire_hw *hw);
uint64_t x86_rdtsc(struct quire_hw *hw);

struct x86_cpuid {
	uint32_t eax, ebx, ecx, edx;
};

struct x86_cpuid x86_cpuid(struct quire_hw *hw, uint32_t leaf, uint32_t subleaf);

#endif
