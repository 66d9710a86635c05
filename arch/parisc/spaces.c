/*
 * PA-RISC spaces: table entries, space numbers, and the TLB that software fills.
 *
 * The processor knows no page tables, so their format is ours: two levels of 8-byte entries, a root
 * of 2048 entries of 2 MB each and leaf tables of 512 pages; together 4 GB.
 *
 *          63..12    11..6      5         4       3       2      1       0
 *   leaf  | frame | unused | UNCACHED | YOUNG | DIRTY | EXEC | WRITE | PRESENT |
 *   root  | table | unused ................................. | READ  | PRESENT |
 *                                                              ONLY
 *
 * THE MISS takes no lock, yet an entry may change while it is handled: CPU 0 loads the entry, CPU 1
 * stores a new one and purges all TLBs, CPU 0 inserts the old one, which nobody will purge again.
 * So CPU 0 looks again after the insertion. If the entry is as it was, any later change is followed
 * by a purge that finds the insertion. If not, CPU 0 purges what it inserted, which no access has
 * used yet, and starts anew. The same look finds a leaf table that was freed meanwhile: its upper
 * entry has changed.
 *
 * PURGES by address are broadcast, but buses of PA-RISC machines carry one at a time and hang on
 * two: hence the purge lock (Kane, chapter 7, PDTLB: software must not let two be under way at
 * once). There is no purge of one space, so tlb_purge_space empties all TLBs on all CPUs, or where
 * they cannot be called purges each page that the tables can still reach.
 */
#include "arch/parisc/parisc.h"

#define ROOT_SHIFT   21
#define ROOT_ENTRIES 2048
#define LEAF_BYTES   ((uintptr_t)1 << ROOT_SHIFT)

#define ENTRY_BITS                                                               \
	((uint64_t)(QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_WRITE | QUIRE_ENTRY_EXEC | \
		    QUIRE_ENTRY_DIRTY | QUIRE_ENTRY_YOUNG | QUIRE_ENTRY_UNCACHED))
#define TABLE_PRESENT   1u
#define TABLE_READ_ONLY 2u

/* --- Table entries ----------------------------------------------------------------------- */

uint64_t quire_parisc_encode(struct quire_entry entry)
{
	return entry.bits ? entry.frame << QUIRE_PAGE_SHIFT | (entry.bits & ENTRY_BITS) : 0;
}

struct quire_entry quire_parisc_decode(uint64_t raw)
{
	struct quire_entry entry = {
		.frame = raw >> QUIRE_PAGE_SHIFT,
		.bits = (unsigned)(raw & ENTRY_BITS),
	};

	return entry;
}

/* The miss handler honours READ ONLY: a purge of what was filled before makes it effective. */
uint64_t quire_parisc_encode_table(unsigned level, quire_pa_t table, bool read_only)
{
	(void)level;
	return (table & ~(quire_pa_t)QUIRE_PAGE_MASK) | TABLE_PRESENT |
	       (read_only ? TABLE_READ_ONLY : 0);
}

bool quire_parisc_decode_table(unsigned level, uint64_t raw, quire_pa_t *table, bool *read_only)
{
	(void)level;
	if (!(raw & TABLE_PRESENT))
		return false;
	*table = raw & ~(quire_pa_t)QUIRE_PAGE_MASK;
	*read_only = raw & TABLE_READ_ONLY;
	return true;
}

uint64_t quire_parisc_load_entry(struct quire_machine *machine, uintptr_t entry, unsigned level)
{
	(void)level;
	return parisc_load(machine->port.hw, entry);
}

void quire_parisc_store_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			      uint64_t raw)
{
	(void)level;
	parisc_store(machine->port.hw, entry, raw);
}

/* The miss handler only reads; other CPUs that write are kept out by the table's lock. */
bool quire_parisc_replace_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
				uint64_t old, uint64_t raw)
{
	if (quire_parisc_load_entry(machine, entry, level) != old)
		return false;
	quire_parisc_store_entry(machine, entry, level, raw);
	return true;
}

/* The miss handler of another CPU sees stores in order; this CPU's sees its own. SYNC orders the
 * purge after. */
void quire_parisc_entry_barrier(struct quire_machine *machine)
{
	parisc_sync(machine->port.hw);
}

/* --- Space numbers ----------------------------------------------------------------------- */

/*
 * The least free number, so that one which went back with TLB entries shows at once. It is free
 * again when its context ends: the TLB holds nothing of it then.
 */
int quire_parisc_context_create(struct quire_machine *machine, struct quire_context *context)
{
	struct parisc_state *state = parisc_state(machine);
	int error = -QUIRE_ENOMEM;

	arch_lock(machine, &state->lock);
	for (uint32_t number = 0; number < PARISC_SPACES; number++) {
		if (state->used[number / 32] >> number % 32 & 1)
			continue;
		state->used[number / 32] |= 1u << number % 32;
		context->number = number;
		context->generation = 0;
		context->cpus = 0;
		error = 0;
		break;
	}
	arch_unlock(&state->lock);
	return error;
}

void quire_parisc_context_destroy(struct quire_machine *machine, struct quire_context *context)
{
	struct parisc_state *state = parisc_state(machine);
	uint32_t number = (uint32_t)context->number;

	arch_lock(machine, &state->lock);
	state->used[number / 32] &= ~(1u << number % 32);
	arch_unlock(&state->lock);
	context->number = PARISC_NO_SPACE;
}

void quire_parisc_activate(struct quire_machine *machine, struct quire_context *context)
{
	struct parisc_state *state = parisc_state(machine);

	if (!context) {
		parisc_set_user_space(machine->port.hw, PARISC_NO_SPACE);
		return;
	}
	arch_lock(machine, &state->lock);
	context->cpus |= (uint64_t)1 << arch_cpu(machine);
	arch_unlock(&state->lock);
	parisc_set_user_space(machine->port.hw, context->number);
}

/* --- TLB --------------------------------------------------------------------------------- */

static void purge_pages(struct quire_machine *machine, uint64_t space, uintptr_t va, size_t bytes)
{
	struct parisc_state *state = parisc_state(machine);
	struct quire_hw *hw = machine->port.hw;
	uintptr_t low = arch_round_down(va, QUIRE_PAGE_BYTES);

	arch_lock(machine, &state->purge);
	for (uintptr_t page = low; page - low < bytes + (va - low); page += QUIRE_PAGE_BYTES) {
		parisc_pdtlb(hw, space, page);
		parisc_pitlb(hw, space, page);
	}
	parisc_sync(hw);
	arch_unlock(&state->purge);
}

void quire_parisc_tlb_purge(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes)
{
	if (bytes)
		purge_pages(machine, context ? context->number : PARISC_KERNEL_SPACE, va, bytes);
}

/* Purging by entry takes what is in an entry, whatever that is (Kane, chapter 7, PDTLBE): all of
 * them are all. */
void quire_parisc_tlb_here(void *arg)
{
	struct quire_machine *machine = arg;
	const struct parisc_cache_info *info = &parisc_state(machine)->info;

	for (unsigned i = 0; i < info->data_tlb_entries; i++)
		parisc_pdtlbe(machine->port.hw, i);
	for (unsigned i = 0; i < info->insn_tlb_entries; i++)
		parisc_pitlbe(machine->port.hw, i);
	parisc_sync(machine->port.hw);
}

void quire_parisc_tlb_purge_all(struct quire_machine *machine)
{
	arch_on_cpus(machine, arch_all_cpus(machine), quire_parisc_tlb_here, machine);
}

void quire_parisc_tlb_purge_space(struct quire_machine *machine, struct quire_context *context)
{
	if (!context || arch_can_call(machine)) {
		quire_parisc_tlb_purge_all(machine);
		return;
	}
	for (uintptr_t i = 0; i < ROOT_ENTRIES; i++)
		if (parisc_load(machine->port.hw, context->root + i * sizeof(uint64_t)))
			purge_pages(machine, context->number, i << ROOT_SHIFT, LEAF_BYTES);
}

/* --- Misses ------------------------------------------------------------------------------ */

/* What a miss reads: both entries, raw, and where they are. */
struct parisc_walk {
	uintptr_t upper_at, leaf_at;
	uint64_t upper, leaf;
};

/* False: there is no leaf table. */
static bool walk(struct quire_machine *machine, const struct quire_context *context, uintptr_t va,
		 struct parisc_walk *walk)
{
	bool read_only;
	quire_pa_t table;

	walk->upper_at = context->root + (va >> ROOT_SHIFT) * sizeof(uint64_t);
	walk->upper = parisc_load(machine->port.hw, walk->upper_at);
	if (!quire_parisc_decode_table(0, walk->upper, &table, &read_only))
		return false;
	walk->leaf_at = quire_kernel_address(machine, table) +
			((va & (LEAF_BYTES - 1)) >> QUIRE_PAGE_SHIFT) * sizeof(uint64_t);
	walk->leaf = parisc_load(machine->port.hw, walk->leaf_at);
	return true;
}

/* Does anything that the entries say stand against the access? */
static bool allows(const struct parisc_walk *walk, enum quire_access access)
{
	unsigned need = QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG;

	if (access == QUIRE_STORE)
		need |= QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	else if (access == QUIRE_FETCH)
		need |= QUIRE_ENTRY_EXEC;
	if (access == QUIRE_STORE && (walk->upper & TABLE_READ_ONLY))
		return false;
	return (walk->leaf & need) == need;
}

static void insert(struct quire_machine *machine, uint64_t space, uintptr_t va,
		   const struct parisc_walk *walk, enum quire_access access)
{
	const uint64_t stores = QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY;
	struct quire_entry entry = quire_parisc_decode(walk->leaf);
	quire_pa_t pa = (quire_pa_t)entry.frame << QUIRE_PAGE_SHIFT;
	unsigned rights = PARISC_USER | PARISC_READ;

	if ((entry.bits & stores) == stores && !(walk->upper & TABLE_READ_ONLY))
		rights |= PARISC_WRITE;
	if (entry.bits & QUIRE_ENTRY_EXEC)
		rights |= PARISC_EXEC;
	if (entry.bits & QUIRE_ENTRY_UNCACHED)
		rights |= PARISC_UNCACHED;
	if (access == QUIRE_FETCH)
		parisc_iitlbt(machine->port.hw, space, va, pa, rights);
	else
		parisc_idtlbt(machine->port.hw, space, va, pa, rights);
}

/* A temporary mapping fell out of the TLB before its user was done. */
static int alias_miss(struct quire_machine *machine, uintptr_t va)
{
	const struct parisc_cpu *cpu = &parisc_state(machine)->cpu[arch_cpu(machine)];

	for (unsigned slot = 0; slot < PARISC_ALIAS_SLOTS; slot++) {
		if (!cpu->alias_va[slot] || cpu->alias_va[slot] != va)
			continue;
		parisc_idtlbt(machine->port.hw, PARISC_KERNEL_SPACE, va, cpu->alias[slot],
			      PARISC_READ | PARISC_WRITE);
		return 0;
	}
	return -QUIRE_EFAULT;
}

int quire_parisc_tlb_miss(struct quire_machine *machine, struct quire_context *context,
			  uintptr_t va, enum quire_access access)
{
	uintptr_t page = arch_round_down(va, QUIRE_PAGE_BYTES);
	struct parisc_walk before, after;

	if (page >= machine->arch->table.user_high)
		return alias_miss(machine, page);
	if (!context)
		return -QUIRE_EFAULT;
	for (;;) {
		if (!walk(machine, context, page, &before) || !allows(&before, access))
			return -QUIRE_EFAULT;
		insert(machine, context->number, page, &before, access);
		parisc_sync(machine->port.hw);
		if (walk(machine, context, page, &after) && after.upper == before.upper &&
		    after.leaf == before.leaf)
			return 0;
		purge_pages(machine, context->number, page, QUIRE_PAGE_BYTES);
	}
}
