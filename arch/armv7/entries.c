/*
 * ARMv7 short descriptors in page-sized tables.
 *
 * The hardware's second-level table is 1 KB and covers 1 MB; Quire's are pages. So a leaf table
 * holds four of them side by side, and one entry of the root is four section-sized descriptors that
 * are written together.
 *
 *   root entry, 16 bytes, covers 4 MB          leaf table, 4 KB
 *   +-----------+-----------+----              +----------------+
 *   | table + 0 | table + 1K| ...   ------->   | 256 entries    | first MB
 *   +-----------+-----------+----              | 256 entries    | second MB ...
 *
 * A small page descriptor (DDI 0406C B3.5.1) with SCTLR.AFE = 1, so that AP[0] is the access flag,
 * and SCTLR.TRE = 1, so that TEX[2:1] is free for software (B3.8.3):
 *
 *    31..12   11   10    9      8..7         6       5       4      3   2   1    0
 *   | frame | nG | S  | AP[2] | TEX[2:1] | TEX[0] | AP[1] | AP[0] | C | B | 1 | XN |
 *                     no store  DIRTY,             user    young
 *                               WRITE
 *
 * Stores are allowed by hardware (AP[2] = 0) only where both WRITE and DIRTY are set: an entry with
 * WRITE alone faults on the first store, and the memory manager sets DIRTY.
 */
#include "arch/armv7/armv7.h"

#define SMALL_XN         (1u << 0)
#define SMALL_PAGE       (1u << 1)
#define SMALL_B          (1u << 2)
#define SMALL_C          (1u << 3)
#define SMALL_AF         (1u << 4)
#define SMALL_USER       (1u << 5)
#define SMALL_TEX0       (1u << 6)
#define SMALL_SOFT_WRITE (1u << 7)
#define SMALL_SOFT_DIRTY (1u << 8)
#define SMALL_READ_ONLY  (1u << 9)
#define SMALL_S          (1u << 10)
#define SMALL_NG         (1u << 11)
/* Memory regions TEX[0]:C:B of PRRR and NMRR, see armv7.h. */
#define SMALL_CACHED   (SMALL_TEX0 | SMALL_C | SMALL_B)
#define SMALL_UNCACHED SMALL_B

#define TABLE_TYPE    1u /* page table descriptor, domain 0 */
#define TABLE_STEP    0x400u
#define TABLES_A_PAGE 4
#define FRAME_MASK    0xfffffu

uint64_t quire_armv7_encode(struct quire_entry entry)
{
	uint32_t raw = (uint32_t)(entry.frame & FRAME_MASK) << QUIRE_PAGE_SHIFT;
	const unsigned stores = QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;

	if (!(entry.bits &
	      QUIRE_ENTRY_PRESENT)) /* bits [1:0] are 0: hardware ignores the rest (B3.5.1) */
		return entry.bits & QUIRE_ENTRY_YOUNG ? raw | SMALL_AF : 0;
	raw |= SMALL_PAGE | SMALL_USER | SMALL_S | SMALL_NG;
	raw |= entry.bits & QUIRE_ENTRY_UNCACHED ? SMALL_UNCACHED : SMALL_CACHED;
	if (!(entry.bits & QUIRE_ENTRY_EXEC))
		raw |= SMALL_XN;
	if (entry.bits & QUIRE_ENTRY_YOUNG)
		raw |= SMALL_AF;
	if (entry.bits & QUIRE_ENTRY_WRITE)
		raw |= SMALL_SOFT_WRITE;
	if (entry.bits & QUIRE_ENTRY_DIRTY)
		raw |= SMALL_SOFT_DIRTY;
	if ((entry.bits & stores) != stores)
		raw |= SMALL_READ_ONLY;
	return raw;
}

struct quire_entry quire_armv7_decode(uint64_t raw)
{
	struct quire_entry entry = {0, 0};

	if (!raw)
		return entry;
	entry.frame = (raw >> QUIRE_PAGE_SHIFT) & FRAME_MASK;
	if (!(raw & SMALL_PAGE)) {
		entry.bits = raw & SMALL_AF ? QUIRE_ENTRY_YOUNG : 0u;
		return entry;
	}
	entry.bits = QUIRE_ENTRY_PRESENT | (raw & SMALL_SOFT_WRITE ? QUIRE_ENTRY_WRITE : 0u) |
		     (raw & SMALL_XN ? 0u : QUIRE_ENTRY_EXEC) |
		     (raw & SMALL_SOFT_DIRTY ? QUIRE_ENTRY_DIRTY : 0u) |
		     (raw & SMALL_AF ? QUIRE_ENTRY_YOUNG : 0u) |
		     ((raw & SMALL_CACHED) == SMALL_UNCACHED ? QUIRE_ENTRY_UNCACHED : 0u);
	return entry;
}

/* The short format has no access control in upper entries: read_only is never asked for
 * (subtree_protect). */
uint64_t quire_armv7_encode_table(unsigned level, quire_pa_t table, bool read_only)
{
	(void)level;
	(void)read_only;
	return ((uint32_t)table & ~(uint32_t)QUIRE_PAGE_MASK) | TABLE_TYPE;
}

bool quire_armv7_decode_table(unsigned level, uint64_t raw, quire_pa_t *table, bool *read_only)
{
	(void)level;
	if ((raw & 3) != TABLE_TYPE)
		return false;
	*table = raw & 0xfffff000u;
	*read_only = false;
	return true;
}

/* All four descriptors of a root entry say the same; the first tells. */
uint64_t quire_armv7_load_entry(struct quire_machine *machine, uintptr_t entry, unsigned level)
{
	(void)level;
	return armv7_load(machine->port.hw, entry);
}

void quire_armv7_store_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			     uint64_t raw)
{
	uint32_t word = (uint32_t)raw;

	if (level != 0) {
		armv7_store(machine->port.hw, entry, word);
		return;
	}
	for (unsigned i = 0; i < TABLES_A_PAGE; i++)
		armv7_store(machine->port.hw, entry + i * sizeof(word),
			    word ? word + i * TABLE_STEP : 0);
}

/* The ARMv7 walker never writes; other CPUs that write are kept out by the table's lock. */
bool quire_armv7_replace_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			       uint64_t old, uint64_t raw)
{
	if (quire_armv7_load_entry(machine, entry, level) != old)
		return false;
	quire_armv7_store_entry(machine, entry, level, raw);
	return true;
}

/*
 * To the point of coherency, not only to where D and I side meet: a walker that does not see the D
 * cache reads memory (its walks are made uncached, see context.c), so an outer cache must give the
 * entry up too.
 */
void quire_armv7_clean_entries(struct quire_machine *machine, uintptr_t entry, size_t bytes)
{
	unsigned line = machine->traits.data_line_bytes;

	for (uintptr_t at = arch_round_down(entry, line); at < entry + bytes; at += line)
		armv7_dccmvac(machine->port.hw, at);
	if (machine->traits.walker_sees_data || !armv7_state(machine)->pl310)
		return;
	armv7_dsb(machine->port.hw);
	quire_armv7_outer_clean(machine, entry - machine->port.kernel_base, bytes);
}

/* DDI 0406C B3.10.1: DSB completes store and clean; ISB lets no later fetch walk earlier. */
void quire_armv7_entry_barrier(struct quire_machine *machine)
{
	armv7_dsb(machine->port.hw);
	armv7_isb(machine->port.hw);
}
