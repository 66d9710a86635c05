/*
 * PA-RISC 2.0 instructions of a board: the functions of sim/insn/parisc.h as inline instructions,
 * privilege level 0. PA-RISC 2.0 Architecture (Kane), chapter 7. `hw` is unused.
 *
 * An address is formed with space register 1, which the kernel that embeds Quire must leave to it
 * in these functions (calls and interruptions save it). LDD and STD move 64 bits in one access also
 * in 32-bit code; the upper half of a register does not outlive an interruption that saves 32 bits,
 * so handlers save all 64.
 *
 * The board's build may define
 *   QUIRE_BOARD_PDC_CACHE(info)   fills the struct from the firmware's PDC_CACHE
 * Without it the board has no known caches, and quire_create says QUIRE_ENODEV.
 */
#ifndef INSN_PARISC_H
#define INSN_PARISC_H

#include <quire/port.h>

static inline uint64_t parisc_load(struct quire_hw *hw, uintptr_t va)
{
	uint32_t high, low;

	(void)hw;
	__asm__ volatile("ldd 0(%2), %0\n\t"
			 "depd %0, 63, 32, %1\n\t"
			 "extrd,u %0, 31, 32, %0"
			 : "=&r"(high), "=&r"(low)
			 : "r"(va)
			 : "memory");
	return (uint64_t)high << 32 | low;
}

static inline void parisc_store(struct quire_hw *hw, uintptr_t va, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	(void)hw;
	__asm__ volatile("depd %1, 31, 32, %0\n\t"
			 "std %0, 0(%2)"
			 : "+r"(low)
			 : "r"((uint32_t)(value >> 32)), "r"(va)
			 : "memory");
}

/* A cache or TLB operation on an address in a space. */
#define PARISC_BY_ADDRESS(name)                                                             \
	static inline void parisc_##name(struct quire_hw *hw, uint64_t space, uintptr_t va) \
	{                                                                                   \
		(void)hw;                                                                   \
		__asm__ volatile("mtsp %0, %%sr1\n\t" #name " %%r0(%%sr1, %1)"              \
				 :                                                          \
				 : "r"((uint32_t)space), "r"(va)                            \
				 : "memory");                                               \
	}

/* One on an entry: the index is what the firmware's loop gives. */
#define PARISC_BY_INDEX(name)                                                    \
	static inline void parisc_##name(struct quire_hw *hw, uintptr_t index)   \
	{                                                                        \
		(void)hw;                                                        \
		__asm__ volatile("mtsp %%r0, %%sr1\n\t" #name " %%r0(%%sr1, %0)" \
				 :                                               \
				 : "r"(index)                                    \
				 : "memory");                                    \
	}

PARISC_BY_ADDRESS(fdc)
PARISC_BY_ADDRESS(pdc)
PARISC_BY_ADDRESS(fic)
PARISC_BY_ADDRESS(pdtlb)
PARISC_BY_ADDRESS(pitlb)
PARISC_BY_INDEX(fdce)
PARISC_BY_INDEX(fice)
PARISC_BY_INDEX(pdtlbe)
PARISC_BY_INDEX(pitlbe)

#undef PARISC_BY_ADDRESS
#undef PARISC_BY_INDEX

static inline void parisc_sync(struct quire_hw *hw)
{
	(void)hw;
	__asm__ volatile("sync" : : : "memory");
}

static inline void parisc_syncdma(struct quire_hw *hw)
{
	(void)hw;
	__asm__ volatile("syncdma" : : : "memory");
}

enum parisc_rights {
	PARISC_READ = 1,
	PARISC_WRITE = 2,
	PARISC_EXEC = 4,
	PARISC_USER = 8,
	PARISC_UNCACHED = 16,
};

/*
 * Second operand of an insertion, its upper 32 bits, bit 0 the most significant (Kane, chapter 7,
 * IDTLBT; access rights: chapter 3): D in bit 3 (clear: the first store traps, so it follows
 * WRITE), type in 5 to 7 (0 read, 1 and write, 2 and execute, 3 all), PL1 in 8 and 9, PL2 in 10 and
 * 11 (3: user), U in 12. Lower 32 bits: the protection identifier. Spaces keep user code apart
 * already, so it is 0, which always matches.
 */
static inline uint32_t parisc_rights_word(unsigned rights)
{
	uint32_t type = (rights & PARISC_WRITE ? 1u : 0) | (rights & PARISC_EXEC ? 2u : 0);
	uint32_t levels = rights & PARISC_USER ? 0xfu : 0;

	return (rights & PARISC_WRITE ? 1u << 28 : 0) | type << 24 | levels << 20 |
	       (rights & PARISC_UNCACHED ? 1u << 19 : 0);
}

/*
 * First operand: page number in bits 7 to 58, page size 0 (4 KB) in 60 to 63. The address comes
 * from control registers that may be written only with interruption state collection (PSW Q) and
 * interruptions (I) off: ISR and IOR (20, 21) for data; for instructions IIASQ and IIAOQ (17, 18),
 * whose writes push into queues of two, so twice. A miss handler runs that way anyhow; the old mask
 * is put back.
 */
#define PARISC_INSERT(name, space_to_register, va_to_register)                              \
	static inline void parisc_##name(struct quire_hw *hw, uint64_t space, uintptr_t va, \
					 quire_pa_t pa, unsigned rights)                    \
	{                                                                                   \
		uint64_t page = pa >> QUIRE_PAGE_SHIFT << 5;                                \
		uint32_t low = (uint32_t)page, high = (uint32_t)(page >> 32);               \
		uint32_t prot = 0, mask;                                                    \
                                                                                            \
		(void)hw;                                                                   \
		__asm__ volatile("depd %3, 31, 32, %0\n\t"                                  \
				 "depd %4, 31, 32, %1\n\t"                                  \
				 "rsm 9, %2\n\t" space_to_register va_to_register #name     \
				 " %0, %1\n\t"                                              \
				 "mtsm %2"                                                  \
				 : "+&r"(low), "+&r"(prot), "=&r"(mask)                     \
				 : "r"(high), "r"(parisc_rights_word(rights)),              \
				   "r"((uint32_t)space), "r"(va)                            \
				 : "memory");                                               \
	}

PARISC_INSERT(idtlbt, "mtctl %5, %%cr20\n\t", "mtctl %6, %%cr21\n\t")
PARISC_INSERT(iitlbt, "mtctl %5, %%cr17\n\tmtctl %5, %%cr17\n\t",
	      "mtctl %6, %%cr18\n\tmtctl %6, %%cr18\n\t")

#undef PARISC_INSERT

/* User code's data and instruction spaces: SR4 to SR7 are formed by the return from interruption;
 * SR3 is passed on. */
static inline void parisc_set_user_space(struct quire_hw *hw, uint64_t space)
{
	(void)hw;
	__asm__ volatile("mtsp %0, %%sr3" : : "r"((uint32_t)space) : "memory");
}

static inline uint64_t parisc_cr16(struct quire_hw *hw)
{
	uint32_t high, low;

	(void)hw;
	__asm__ volatile("mfctl %%cr16, %0\n\t"
			 "depd %0, 63, 32, %1\n\t"
			 "extrd,u %0, 31, 32, %0"
			 : "=&r"(high), "=&r"(low)
			 :
			 : "memory");
	return (uint64_t)high << 32 | low;
}

struct parisc_cache_info {
	size_t data_bytes, insn_bytes;
	unsigned data_line_bytes, insn_line_bytes;
	unsigned data_loops, insn_loops;
	unsigned data_tlb_entries, insn_tlb_entries;
	size_t alias_bytes;
	bool data_coherent;
	bool io_coherent;
};

static inline void parisc_pdc_cache(struct quire_hw *hw, struct parisc_cache_info *info)
{
	(void)hw;
	info->data_bytes = info->insn_bytes = 0;
	info->data_line_bytes = info->insn_line_bytes = 0;
	info->data_loops = info->insn_loops = 0;
	info->data_tlb_entries = info->insn_tlb_entries = 0;
	info->alias_bytes = 0;
	info->data_coherent = info->io_coherent = false;
#ifdef QUIRE_BOARD_PDC_CACHE
	QUIRE_BOARD_PDC_CACHE(info);
#endif
}

#endif
