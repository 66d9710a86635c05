/*
 * The hardware table walkers: ARMv7 short descriptors and x86-64 4-level paging.
 *
 * A walker is one more observer of memory. It reads descriptors at the level where the machine's
 * walker reads, so a store that has not got there yet is missed, and the witness says so. The same
 * code also walks the witness's reference copy, which tells what the tables mean to say now (struct
 * sim_walk, reference), and reads ahead for the walk caches (ahead).
 *
 * No table lies at physical address 0, where the kernel's text is: a root of 0 is a CPU that has no
 * tables loaded.
 *
 * PA-RISC has no walker: its misses trap (tlb.c).
 */
#include "sim/levels.h"
#include "sim/needless.h"
#include "sim/tlb.h"

/* --- Memory, as a walker sees it -------------------------------------------------------------- */

/* The walker was led into a frame that is no table any more. */
static void walker_in_freed(struct sim *sim, quire_pa_t pa, uint64_t value, unsigned bytes)
{
	struct sim_violation violation = {
		.kind = SIM_KIND_STALE_TABLE,
		.cause = SIM_CAUSE_FRAME_FREED,
		.observer = SIM_PARTY_WALKER,
		.pa = pa,
		.got = value,
		.bytes = bytes,
		.site = QUIRE_SITE_COUNT,
	};

	memcpy(&violation.expected, sim->witness.reference.bytes + pa, bytes);
	sim_witness_report(sim, &violation);
}

uint64_t sim_walker_load(struct sim *sim, quire_pa_t pa, unsigned bytes)
{
	unsigned shift = sim->cpu->l1d.line_shift;
	quire_pa_t start = pa & ~(((quire_pa_t)1 << shift) - 1);
	uint64_t value = 0;

	if (!sim_in_memory(sim, pa, bytes)) {
		sim_charge(sim, sim->machine.cost.memory_read);
		return 0;
	}
	if (sim->machine.walker == SIM_LEVEL_L1) {
		sim_line_load(sim, sim->kernel_base + pa, pa, &value, bytes);
	} else if (sim->machine.walker == SIM_LEVEL_L2 && sim->l2.present) {
		uint8_t line[CACHE_LINE_MAX];
		struct work work = work_begin(sim);

		if (sim->needless)
			sim_needless_past(sim, pa, bytes, false, false);
		below_read(&work, (uint32_t)(pa >> shift), line, shift);
		memcpy(&value, line + (pa - start), bytes);
		work_pay(sim, &work);
	} else {
		value = sim_uncached_load(sim, pa, bytes);
	}
	return value;
}

uint64_t sim_walker_read(struct sim *sim, quire_pa_t pa, unsigned bytes)
{
	uint64_t value = sim_walker_load(sim, pa, bytes);

	if (!sim_in_memory(sim, pa, bytes))
		return value;
	if (sim_frame_is_freed(sim, pa))
		walker_in_freed(sim, pa, value, bytes);
	else if (!sim_operation_changed(sim, pa)) /* its clean, or purge, may be on the way */
		sim_witness_read(sim, SIM_PARTY_WALKER, 0, pa, &value, bytes);
	return value;
}

void sim_walker_write(struct sim *sim, quire_pa_t pa, unsigned bytes, uint64_t value)
{
	struct work work = work_begin(sim);

	if (!sim_in_memory(sim, pa, bytes))
		return;
	sim_witness_write(sim, SIM_PARTY_WALKER, pa, &value, bytes);
	if (sim->machine.walker == SIM_LEVEL_L1) {
		sim_line_store(sim, sim->kernel_base + pa, pa, &value, bytes);
	} else if (sim->machine.walker == SIM_LEVEL_L2 && sim->l2.present) {
		if (sim->needless)
			sim_needless_past(sim, pa, bytes, true, false);
		sim_below_store(&work, pa, &value, bytes);
		work_pay(sim, &work);
	} else {
		sim_uncached_store(sim, pa, bytes, value);
	}
}

/* --- Descriptors ------------------------------------------------------------------------------ */

/* One descriptor. Where no memory is it reads as 0, an absent entry in both formats. */
static uint64_t read_descriptor(struct sim *sim, struct sim_walk *walk, quire_pa_t pa,
				unsigned bytes)
{
	uint64_t raw = 0;

	if (walk->ahead)
		return sim_walker_peek(sim, pa, bytes);
	if (walk->stale)
		return sim_walker_load(sim, pa, bytes);
	if (!walk->reference)
		return sim_walker_read(sim, pa, bytes);
	walk->at = pa;
	walk->bytes = pa > sim->machine.memory_bytes - bytes ? 0 : bytes;
	memcpy(&raw, sim->witness.reference.bytes + (walk->bytes ? pa : 0), walk->bytes);
	return raw;
}

/* Of what a descriptor for 2^shift bytes around va covers. */
static uint64_t first_page(uintptr_t va, unsigned shift)
{
	return (uint64_t)va >> shift << (shift - QUIRE_PAGE_SHIFT);
}

/* --- ARMv7: DDI 0406C B3.5 (formats), B3.7 (access control), B3.8 (TEX remap) ------------- */

#define ARM_TYPE            3u /* bits [1:0] of both levels */
#define ARM_L1_TABLE        1u
#define ARM_L1_TABLE_BASE   0xfffffc00u
#define ARM_L1_SUPERSECTION (1u << 18)
#define ARM_L1_XN           (1u << 4)
#define ARM_L2_SMALL        2u /* bit 0 of a small page is XN */
#define ARM_L2_LARGE_XN     (1u << 15)
#define ARM_CACHEABLE       8u /* C */
#define ARM_SCTLR_AFE       (1u << 29)

/* The access permissions of a leaf, its AP[0] at bit `ap0`, APX and nG where the level has them. */
struct arm_leaf {
	uint64_t raw;
	unsigned ap0, apx, ng;
	bool xn;
	unsigned span_shift;
};

/*
 * B3.7.1: with SCTLR.AFE set AP[0] is the access flag and AP[2:1] say: 2, read only; 1, user too.
 * Without it AP[2:0] = 2 is read only for users; the other values that this simulator's users see
 * mean the same.
 *
 * B3.8.3: with TEX remap the memory type is what PRRR and NMRR say of TEX[0], C and B. The
 * simulator has the setting under which C keeps its meaning of before: set, normal memory that
 * caches hold.
 */
static int arm_leaf(const struct sim *sim, const struct sim_walk *walk, const struct arm_leaf *leaf,
		    struct sim_translation *translation)
{
	bool access_flag = sim->cpu->registers.sctlr & ARM_SCTLR_AFE;
	bool ap0 = leaf->raw >> leaf->ap0 & 1, user = leaf->raw >> (leaf->ap0 + 1) & 1;
	bool read_only = (leaf->raw >> leaf->apx & 1) || (!access_flag && !ap0);
	uint64_t offset = walk->va & (((uint64_t)1 << leaf->span_shift) - 1);
	uint64_t base = leaf->raw & 0xffffffffu & ~(((uint64_t)1 << leaf->span_shift) - 1);

	if (access_flag && !ap0 && !walk->reference)
		return -QUIRE_EFAULT;
	translation->raw = leaf->raw;
	translation->frame = (base | offset) >> QUIRE_PAGE_SHIFT;
	translation->span_shift = leaf->span_shift;
	translation->bits = SIM_TLB_BOTH_SIDES | SIM_TLB_LOAD;
	translation->bits |= user ? SIM_TLB_USER : 0;
	translation->bits |= read_only ? 0 : SIM_TLB_STORE;
	translation->bits |= leaf->xn ? 0 : SIM_TLB_FETCH;
	translation->bits |= leaf->raw >> leaf->ng & 1 ? 0 : SIM_TLB_GLOBAL;
	translation->bits |= leaf->raw & ARM_CACHEABLE ? 0 : SIM_TLB_UNCACHED;
	return 0;
}

static int arm_section(struct sim *sim, struct sim_walk *walk, uint64_t raw,
		       struct sim_translation *translation)
{
	struct arm_leaf leaf = {
		.raw = raw,
		.ap0 = 10,
		.apx = 15,
		.ng = 17,
		.xn = raw & ARM_L1_XN,
		.span_shift = 20,
	};

	/*
	 * Supersections are optional without large physical addresses; this CPU has none (B3.5.1).
	 */
	if (raw & ARM_L1_SUPERSECTION)
		return -QUIRE_EFAULT;
	return arm_leaf(sim, walk, &leaf, translation);
}

static int arm_page(struct sim *sim, struct sim_walk *walk, uint64_t raw,
		    struct sim_translation *translation)
{
	bool small = raw & ARM_L2_SMALL;
	struct arm_leaf leaf = {
		.raw = raw,
		.ap0 = 4,
		.apx = 9,
		.ng = 11,
		.xn = small ? raw & 1 : raw & ARM_L2_LARGE_XN,
		.span_shift = small ? 12 : 16,
	};

	if (!(raw & ARM_TYPE))
		return -QUIRE_EFAULT;
	return arm_leaf(sim, walk, &leaf, translation);
}

/*
 * What a walk cache may keep of a first-level descriptor that leads to a table: any that raises no
 * translation fault may be held (B3.10.1). It forbids nothing.
 */
static struct sim_translation arm_upper(const struct sim *sim, const struct sim_walk *walk,
					uint64_t raw)
{
	return (struct sim_translation){
		.page = first_page(walk->va, 20),
		.frame = raw >> QUIRE_PAGE_SHIFT,
		.number = sim_current_number(sim, walk->va),
		.raw = raw,
		.bits = SIM_TLB_LOAD | SIM_TLB_STORE | SIM_TLB_FETCH | SIM_TLB_USER |
			SIM_TLB_BOTH_SIDES,
		.span_shift = 20,
	};
}

/* The first-level descriptor; 0 where there is no table to hold it. */
static uint64_t arm_first_level(struct sim *sim, struct sim_walk *walk)
{
	quire_pa_t root = sim->cpu->registers.ttbr0 & ~0x3fffu;

	if (walk->va > 0xffffffffu || !root)
		return 0;
	return read_descriptor(sim, walk, root + (walk->va >> 20) * 4, 4);
}

/*
 * TTBCR.N is 0: TTBR0 covers all addresses with a table of 4096 words. Domains are all clients.
 * Only translation and access flag faults keep an entry out of the TLB (B3.10.1): one that forbids
 * this very access is returned like any other.
 */
static int arm_walk(struct sim *sim, struct sim_walk *walk, struct sim_translation *translation)
{
	const struct sim_translation *kept = sim_walk_cache_use(sim, walk);
	uint64_t raw = kept ? kept->raw : arm_first_level(sim, walk);
	struct sim_translation upper;
	quire_pa_t table;

	translation->number = sim_current_number(sim, walk->va);
	switch (raw & ARM_TYPE) {
	case 0:
		return -QUIRE_EFAULT;
	case ARM_L1_TABLE:
		upper = arm_upper(sim, walk, raw);
		if (!kept && !walk->reference)
			sim_walk_cache_keep(sim, &upper);
		table = raw & ARM_L1_TABLE_BASE;
		raw = read_descriptor(sim, walk, table + (walk->va >> 12 & 0xff) * 4, 4);
		return arm_page(sim, walk, raw, translation);
	default: /* 3 is a section with PXN, which says nothing to user code */
		return arm_section(sim, walk, raw, translation);
	}
}

/* --- x86-64: SDM volume 3, 4.5 (formats), 4.6 (access rights), 4.8 (accessed and dirty) --- */

#define X86_PRESENT  1u
#define X86_WRITE    2u
#define X86_USER     4u
#define X86_UNCACHED 0x10u /* PCD: with the PAT of reset, UC or UC- */
#define X86_ACCESSED 0x20u
#define X86_DIRTY    0x40u
#define X86_LARGE    0x80u
#define X86_GLOBAL   0x100u
#define X86_NX       ((uint64_t)1 << 63)
#define X86_ADDRESS  0x000ffffffffff000u
#define X86_LEVELS   4u

struct x86_entry {
	quire_pa_t pa;
	uint64_t raw;
};

/* Where a walk stands, and what it has come by. */
struct x86_way {
	quire_pa_t table;
	unsigned shift; /* log2 of what an entry of the table covers */
	unsigned bits;  /* the rights that the entries so far leave */
	unsigned count;
	struct x86_entry entries[X86_LEVELS]; /* those that were read */
};

/* What an entry takes away from the rights of the entries above it (4.6.1). */
static unsigned x86_rights(unsigned bits, uint64_t raw)
{
	if (!(raw & X86_WRITE))
		bits &= ~(unsigned)SIM_TLB_STORE;
	if (!(raw & X86_USER))
		bits &= ~(unsigned)SIM_TLB_USER;
	if (raw & X86_NX)
		bits &= ~(unsigned)SIM_TLB_FETCH;
	return bits;
}

static int x86_root(const struct sim *sim, const struct sim_walk *walk, struct x86_way *way)
{
	way->table = sim->cpu->registers.cr3 & X86_ADDRESS;
	way->shift = 39;
	way->bits = SIM_TLB_LOAD | SIM_TLB_STORE | SIM_TLB_FETCH | SIM_TLB_USER;
	way->count = 0;
	return walk->va >> 47 || !way->table ? -QUIRE_EFAULT : 0;
}

/* Reads the entry at which the way stands; absent: -QUIRE_EFAULT. */
static int x86_read(struct sim *sim, struct sim_walk *walk, struct x86_way *way, uint64_t *raw)
{
	quire_pa_t pa = way->table + (walk->va >> way->shift & 0x1ff) * 8;

	*raw = read_descriptor(sim, walk, pa, 8);
	if (!(*raw & X86_PRESENT))
		return -QUIRE_EFAULT;
	way->entries[way->count++] = (struct x86_entry){pa, *raw};
	way->bits = x86_rights(way->bits, *raw);
	return 0;
}

static bool x86_is_leaf(const struct x86_way *way, uint64_t raw)
{
	return way->shift == 12 || (way->shift <= 30 && (raw & X86_LARGE));
}

/* Down to the table that an entry leads to. */
static void x86_enter(struct x86_way *way, uint64_t raw)
{
	way->table = raw & X86_ADDRESS;
	way->shift -= 9;
}

/* What a paging-structure cache holds of an entry and of those above it (4.10.3.1). */
static struct sim_translation x86_upper(const struct sim_walk *walk, const struct x86_way *way,
					uint64_t raw)
{
	return (struct sim_translation){
		.page = first_page(walk->va, way->shift),
		.frame = (raw & X86_ADDRESS) >> QUIRE_PAGE_SHIFT,
		.raw = raw,
		.bits = way->bits | SIM_TLB_BOTH_SIDES,
		.span_shift = way->shift,
	};
}

/*
 * Down to the leaf, from the lowest entry that is kept. An upper entry is kept only if its accessed
 * bit was set before (4.10.3.1).
 */
static int x86_descend(struct sim *sim, struct sim_walk *walk, struct x86_way *way)
{
	const struct sim_translation *kept = sim_walk_cache_use(sim, walk);
	uint64_t raw;

	if (x86_root(sim, walk, way))
		return -QUIRE_EFAULT;
	if (kept) {
		way->shift = kept->span_shift;
		way->bits &= kept->bits;
		x86_enter(way, kept->raw);
	}
	for (;; x86_enter(way, raw)) {
		struct sim_translation upper;

		if (x86_read(sim, walk, way, &raw) || (way->bits & walk->need) != walk->need)
			return -QUIRE_EFAULT;
		if (x86_is_leaf(way, raw))
			return 0;
		upper = x86_upper(walk, way, raw);
		if (!walk->reference && (raw & X86_ACCESSED))
			sim_walk_cache_keep(sim, &upper);
	}
}

/* Sets the accessed bits on the way and, for a store, the leaf's dirty bit (4.8). */
static void x86_mark(struct sim *sim, const struct sim_walk *walk, struct x86_way *way)
{
	struct x86_entry *entries = way->entries;

	for (unsigned i = 0; i < way->count; i++) {
		uint64_t set = X86_ACCESSED;

		if (i + 1 == way->count && (walk->need & SIM_TLB_STORE))
			set |= X86_DIRTY;
		if ((entries[i].raw & set) == set)
			continue;
		entries[i].raw |= set;
		sim_walker_write(sim, entries[i].pa, 8, entries[i].raw);
	}
}

/*
 * An access that the tables forbid leaves nothing in the TLB: its page fault drops the entries of
 * its address (4.10.4.1). An entry without the dirty bit enters without the right to store, so the
 * first store walks again and sets it.
 */
static int x86_walk(struct sim *sim, struct sim_walk *walk, struct sim_translation *translation)
{
	struct x86_way way;
	uint64_t raw, span;
	int error = x86_descend(sim, walk, &way);

	if (error && !walk->reference)
		sim_walk_cache_fault(sim, walk->va);
	if (error)
		return error;
	if (!walk->reference)
		x86_mark(sim, walk, &way);
	raw = way.entries[way.count - 1].raw;
	if (!walk->reference && !(raw & X86_DIRTY))
		way.bits &= ~(unsigned)SIM_TLB_STORE;
	span = ((uint64_t)1 << way.shift) - 1;
	translation->raw = raw;
	translation->frame = ((raw & X86_ADDRESS & ~span) | (walk->va & span)) >> QUIRE_PAGE_SHIFT;
	translation->span_shift = way.shift;
	translation->bits = way.bits | SIM_TLB_BOTH_SIDES;
	translation->bits |= raw & X86_GLOBAL ? SIM_TLB_GLOBAL : 0;
	translation->bits |= raw & X86_UNCACHED ? SIM_TLB_UNCACHED : 0;
	translation->number = 0;
	return 0;
}

static int x86_walk_upper(struct sim *sim, struct sim_walk *walk, unsigned span_shift,
			  struct sim_translation *upper)
{
	struct x86_way way;
	uint64_t raw;

	if (x86_root(sim, walk, &way))
		return -QUIRE_EFAULT;
	for (;; x86_enter(&way, raw)) {
		if (x86_read(sim, walk, &way, &raw) || x86_is_leaf(&way, raw))
			return -QUIRE_EFAULT;
		if (way.shift == span_shift)
			break;
	}
	*upper = x86_upper(walk, &way, raw);
	return walk->ahead && !(raw & X86_ACCESSED) ? -QUIRE_EFAULT : 0;
}

/* --- Both --------------------------------------------------------------------------------- */

int sim_walk_upper(struct sim *sim, struct sim_walk *walk, unsigned span_shift,
		   struct sim_translation *upper)
{
	uint64_t raw;

	walk->bytes = 0;
	if (sim->machine.isa == SIM_X86_64)
		return x86_walk_upper(sim, walk, span_shift, upper);
	raw = arm_first_level(sim, walk);
	if ((raw & ARM_TYPE) != ARM_L1_TABLE)
		return -QUIRE_EFAULT;
	*upper = arm_upper(sim, walk, raw);
	return 0;
}

quire_pa_t sim_upper_table(const struct sim *sim, const struct sim_translation *upper)
{
	return upper->raw & (sim->machine.isa == SIM_X86_64 ? X86_ADDRESS : ARM_L1_TABLE_BASE);
}

unsigned sim_upper_level(const struct sim *sim, const struct sim_translation *upper)
{
	return sim->machine.isa == SIM_X86_64 ? (39 - upper->span_shift) / 9 : 0;
}

int sim_walk(struct sim *sim, struct sim_walk *walk, struct sim_translation *translation)
{
	int error;

	walk->bytes = 0;
	translation->page = walk->va >> QUIRE_PAGE_SHIFT;
	error = sim->machine.isa == SIM_ARMV7 ? arm_walk(sim, walk, translation)
					      : x86_walk(sim, walk, translation);
	/*
	 * A frame where no memory is: an access would end in a bus error, which user code sees as a
	 * fault.
	 */
	if (!error && translation->frame >= sim->machine.memory_bytes >> QUIRE_PAGE_SHIFT)
		error = -QUIRE_EFAULT;
	return error;
}
