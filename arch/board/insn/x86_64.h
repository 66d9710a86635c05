/*
 * x86-64 instructions of a board: the functions of sim/insn/x86_64.h, one inline instruction each.
 * Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. `hw` is unused; privilege
 * level 0.
 */
#ifndef INSN_X86_64_H
#define INSN_X86_64_H

#include <quire/port.h>

static inline uint64_t x86_load(struct quire_hw *hw, uintptr_t va)
{
	(void)hw;
	return *(const volatile uint64_t *)va;
}

static inline void x86_store(struct quire_hw *hw, uintptr_t va, uint64_t value)
{
	(void)hw;
	*(volatile uint64_t *)va = value;
}

static inline bool x86_cmpxchg(struct quire_hw *hw, uintptr_t va, uint64_t old, uint64_t value)
{
	bool same;

	(void)hw;
	__asm__ volatile("lock cmpxchgq %3, %1"
			 : "=@ccz"(same), "+m"(*(volatile uint64_t *)va), "+a"(old)
			 : "r"(value)
			 : "memory");
	return same;
}

static inline void x86_invlpg(struct quire_hw *hw, uintptr_t va)
{
	(void)hw;
	__asm__ volatile("invlpg (%0)" : : "r"(va) : "memory");
}

static inline void x86_set_cr3(struct quire_hw *hw, uint64_t value)
{
	(void)hw;
	__asm__ volatile("movq %0, %%cr3" : : "r"(value) : "memory");
}

static inline uint64_t x86_cr3(struct quire_hw *hw)
{
	uint64_t value;

	(void)hw;
	__asm__ volatile("movq %%cr3, %0" : "=r"(value) : : "memory");
	return value;
}

static inline void x86_clflush(struct quire_hw *hw, uintptr_t va)
{
	(void)hw;
	__asm__ volatile("clflush (%0)" : : "r"(va) : "memory");
}

static inline void x86_wbinvd(struct quire_hw *hw)
{
	(void)hw;
	__asm__ volatile("wbinvd" : : : "memory");
}

static inline void x86_mfence(struct quire_hw *hw)
{
	(void)hw;
	__asm__ volatile("mfence" : : : "memory");
}

/* LFENCE first: RDTSC is not ordered after earlier instructions (SDM volume 2, RDTSC). */
static inline uint64_t x86_rdtsc(struct quire_hw *hw)
{
	uint32_t low, high;

	(void)hw;
	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

struct x86_cpuid {
	uint32_t eax, ebx, ecx, edx;
};

static inline struct x86_cpuid x86_cpuid(struct quire_hw *hw, uint32_t leaf, uint32_t subleaf)
{
	struct x86_cpuid id;

	(void)hw;
	__asm__ volatile("cpuid"
			 : "=a"(id.eax), "=b"(id.ebx), "=c"(id.ecx), "=d"(id.edx)
			 : "a"(leaf), "c"(subleaf));
	return id;
}

#endif
