/*
 * Walk caches: what the walker keeps, what drops it, and what the witness says of its use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/digest.h"
#include "tests/support/bare.h"

#define VA   0x5000u   /* loaded first: its upper entries are kept */
#define NEXT 0x6000u   /* a page below the same upper entries */
#define FAR  0x105000u /* on ARMv7 below another one */

#define OLD 0xbbbbu /* what NEXT says by the table of before, and after it was exchanged */
#define NEW 0xccccu

/* A page was walked wrongly: that is one violation, the TLB entry that it gave another. */
static void assert_walked_wrongly(const struct bare *b, enum sim_cause cause)
{
	assert_int_equal(sim_violations(b->sim), 2);
	assert_int_equal(sim_violation(b->sim, 0)->kind, SIM_KIND_STALE_TABLE);
	assert_int_equal(sim_violation(b->sim, 0)->cause, cause);
	assert_int_equal(sim_violation(b->sim, 1)->kind, SIM_KIND_STALE_TLB);
}

static uint64_t lines(const struct bare *b)
{
	struct sim_counts counts;

	sim_counts(b->sim, &counts);
	return counts.lines;
}

/* --- ARMv7 -------------------------------------------------------------------------------- */

static struct sim_machine arm_machine(unsigned entries)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);

	m.tlb.walk_cache = entries;
	m.data_coherent = true;
	return m;
}

/* The tables of two trees; tree 0 is loaded with ASID 1. */
static void make_arm(struct bare *b, const struct sim_machine *machine)
{
	bare_start(b, machine);
	bare_poke(b, BARE_FRAME(0), 4, 0xaaaa);
	bare_poke(b, BARE_FRAME(1), 4, OLD);
	bare_poke(b, BARE_FRAME(2), 4, NEW);
	for (unsigned tree = 0; tree < 2; tree++) {
		bare_arm_map(b, tree, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
		bare_arm_map(b, tree, FAR, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
		bare_arm_map(b, tree, NEXT, (uint32_t)BARE_FRAME(1 + tree) | BARE_ARM_PAGE);
	}
	bare_arm_activate(b, 0, 1);
}

static void start_arm(struct bare *b, unsigned entries)
{
	struct sim_machine m = arm_machine(entries);

	make_arm(b, &m);
	bare_load(b, VA, NULL);
}

/* The first MiB of tree 0 gets the table of tree 1. */
static void exchange_arm(struct bare *b)
{
	bare_poke(b, BARE_ROOT, 4, bare_arm_leaf(1, 0) | 1);
	armv7_dsb(b->hw);
}

static void a_walk_begins_at_what_is_kept(void **state)
{
	struct bare b;

	(void)state;
	for (unsigned entries = 0; entries < 2; entries++) {
		uint64_t before;

		start_arm(&b, entries);
		before = lines(&b);
		bare_load(&b, NEXT, NULL);
		assert_int_equal(lines(&b) - before, entries ? 2 : 3);
		bare_end(&b);
	}
}

static void a_kept_entry_is_used_until_purged(void **state)
{
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	start_arm(&b, 0);
	exchange_arm(&b);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	bare_end(&b);

	start_arm(&b, 4);
	exchange_arm(&b);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	violation = sim_violation(b.sim, 0);
	assert_int_equal(violation->observer, SIM_PARTY_WALKER);
	assert_int_equal(violation->level, 0);
	assert_int_equal(violation->va, NEXT);
	assert_int_equal(violation->pa, BARE_ROOT);
	assert_int_equal(violation->expected, bare_arm_leaf(1, 0) | 1);
	assert_int_equal(violation->got, bare_arm_leaf(0, 0) | 1);
	bare_end(&b);
}

static void purge_page(struct bare *b)
{
	armv7_tlbimva(b->hw, VA | 1);
}

static void purge_another_page(struct bare *b)
{
	armv7_tlbimva(b->hw, 0xff000 | 1);
}

static void purge_page_shared(struct bare *b)
{
	armv7_tlbimvais(b->hw, VA | 1);
}

static void purge_page_any_asid(struct bare *b)
{
	armv7_tlbimvaais(b->hw, VA);
}

static void purge_asid(struct bare *b)
{
	armv7_tlbiasid(b->hw, 1);
}

static void purge_asid_shared(struct bare *b)
{
	armv7_tlbiasidis(b->hw, 1);
}

static void purge_all(struct bare *b)
{
	armv7_tlbiall(b->hw);
}

static void purge_all_shared(struct bare *b)
{
	armv7_tlbiallis(b->hw);
}

static void purge_far_page(struct bare *b)
{
	armv7_tlbimva(b->hw, FAR | 1);
}

static void purge_page_of_another(struct bare *b)
{
	armv7_tlbimva(b->hw, VA | 2);
}

static void purge_another_asid(struct bare *b)
{
	armv7_tlbiasid(b->hw, 2);
}

static const struct arm_purge {
	void (*purge)(struct bare *b);
	bool drops;
	bool reaches_others; /* where TLB operations are broadcast */
} arm_purges[] = {
	{purge_page, true, false},          {purge_another_page, true, false},
	{purge_page_shared, true, true},    {purge_page_any_asid, true, true},
	{purge_asid, true, false},          {purge_asid_shared, true, true},
	{purge_all, true, false},           {purge_all_shared, true, true},
	{purge_far_page, false, false},     {purge_page_of_another, false, false},
	{purge_another_asid, false, false},
};

static void each_arm_purge_drops_what_it_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(arm_purges) / sizeof(arm_purges[0]); i++) {
		struct bare b;

		start_arm(&b, 4);
		exchange_arm(&b);
		arm_purges[i].purge(&b);
		armv7_dsb(b.hw);
		assert_int_equal(bare_load(&b, NEXT, NULL), arm_purges[i].drops ? NEW : OLD);
		assert_int_equal(sim_violations(b.sim), arm_purges[i].drops ? 0 : 2);
		bare_end(&b);
	}
}

/* CPU 1 keeps the entry, CPU 0 changes and purges. */
static void arm_purges_reach_whom_they_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(arm_purges) / sizeof(arm_purges[0]); i++) {
		struct bare b;

		start_arm(&b, 4);
		sim_switch(b.sim, 1);
		bare_arm_activate(&b, 0, 1);
		bare_load(&b, VA, NULL);
		sim_switch(b.sim, 0);
		exchange_arm(&b);
		arm_purges[i].purge(&b);
		armv7_dsb(b.hw);
		sim_switch(b.sim, 1);
		assert_int_equal(bare_load(&b, NEXT, NULL),
				 arm_purges[i].reaches_others ? NEW : OLD);
		bare_end(&b);
	}
}

/* What a purge drops is read ahead: one before the change is worth nothing. */
static void a_purge_before_the_change_is_too_early(void **state)
{
	struct bare b;
	uint64_t before;

	(void)state;
	start_arm(&b, 4);
	before = lines(&b);
	armv7_tlbiall(b.hw);
	armv7_dsb(b.hw);
	assert_int_equal(lines(&b), before);
	exchange_arm(&b);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	bare_end(&b);
}

/* ... but not for an address space that is not loaded, nor where there is no table any more. */
static void only_what_can_be_walked_is_read_ahead(void **state)
{
	struct bare b;
	int error;

	(void)state;
	start_arm(&b, 4);
	bare_arm_activate(&b, 1, 2);
	armv7_tlbiasid(b.hw, 1);
	exchange_arm(&b);
	bare_arm_activate(&b, 0, 1);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);

	start_arm(&b, 4);
	bare_poke(&b, BARE_ROOT, 4, 0);
	armv7_tlbiall(b.hw);
	exchange_arm(&b);
	bare_poke(&b, BARE_ROOT, 4, 0);
	bare_load(&b, NEXT, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* CPU 1 has tree 1 loaded, and is told to purge by CPU 0, which has tree 0. */
static void each_cpu_reads_its_own_tables_ahead(void **state)
{
	struct bare b;

	(void)state;
	start_arm(&b, 4);
	sim_switch(b.sim, 1);
	bare_arm_activate(&b, 1, 2);
	bare_load(&b, VA, NULL);
	sim_switch(b.sim, 0);
	armv7_tlbiallis(b.hw);
	bare_poke(&b, BARE_ROOT + 0x4000, 4, bare_arm_leaf(0, 0) | 1);
	sim_switch(b.sim, 1);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW); /* by the table of before, here */
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	bare_end(&b);
}

/* The registers say another ASID: what is kept under the first is read for it at once. */
static void another_asid_is_read_ahead(void **state)
{
	struct bare b;

	(void)state;
	start_arm(&b, 4);
	armv7_set_contextidr(b.hw, 2);
	armv7_tlbiasid(b.hw, 1);
	exchange_arm(&b);
	armv7_tlbiasid(b.hw, 1);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	bare_end(&b);
}

/* Each ASID has its own; an absent entry is never kept; one above an absent leaf is. */
static void what_is_kept(void **state)
{
	struct bare b;
	int error;

	(void)state;
	start_arm(&b, 4);
	bare_arm_activate(&b, 1, 2);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	bare_arm_activate(&b, 0, 1);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_int_equal(sim_violations(b.sim), 0);

	bare_poke(&b, BARE_ROOT + 2 * 4, 4, 0);
	bare_load(&b, 0x205000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	bare_poke(&b, BARE_ROOT + 2 * 4, 4, bare_arm_leaf(0, 0) | 1);
	assert_int_equal(bare_load(&b, 0x205000, NULL), 0xaaaa);

	bare_load(&b, FAR + 0x3000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	bare_poke(&b, BARE_ROOT + 1 * 4, 4, bare_arm_leaf(0, 0) | 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_load(&b, FAR + 0x1000, &error);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

static void the_next_in_turn_goes(void **state)
{
	struct bare b;

	(void)state;
	start_arm(&b, 1);
	bare_load(&b, FAR, NULL);
	exchange_arm(&b);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* VA's goes in turn, the one that took its place is purged: FAR's stays when VA's comes back. */
static void an_empty_place_is_taken_first(void **state)
{
	struct bare b;
	uint64_t before;
	int error;

	(void)state;
	start_arm(&b, 2);
	bare_load(&b, FAR, NULL);
	bare_poke(&b, BARE_ROOT + 2 * 4, 4, bare_arm_leaf(0, 0) | 1);
	bare_load(&b, 0x205000, NULL);
	bare_poke(&b, BARE_ROOT + 2 * 4, 4, 0);
	armv7_tlbimva(b.hw, 0x205000 | 1);
	bare_load(&b, NEXT, NULL);
	before = lines(&b);
	bare_load(&b, FAR + 0x1000, &error);
	assert_int_equal(lines(&b) - before, 1);
	bare_end(&b);
}

/* --- The witness -------------------------------------------------------------------------- */

/* As with TLB entries: until the operation that changes the tables returns, unless it frees. */
static void a_change_counts_when_its_operation_returns(void **state)
{
	struct bare b;
	int error;

	(void)state;
	for (unsigned freed = 0; freed < 2; freed++) {
		start_arm(&b, 4);
		sim_enter(b.sim);
		bare_poke(&b, BARE_ROOT, 4, 0);
		if (freed)
			sim_frames_freed(b.sim, BARE_TABLES, QUIRE_PAGE_BYTES);
		assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
		assert_int_equal(sim_violations(b.sim), freed);
		sim_leave(b.sim);
		bare_load(&b, NEXT + 0x1000, &error);
		assert_int_equal(sim_violations(b.sim), freed + 1);
		for (unsigned n = 0; n <= freed; n++)
			assert_int_equal(sim_violation(b.sim, n)->cause,
					 SIM_CAUSE_UPPER_NOT_PURGED);
		bare_end(&b);
	}
}

/* Tables that a walker of memory or of L2 (32 KB) can read: both are cleaned. */
static void start_arm_below(struct bare *b, enum sim_level walker)
{
	struct sim_machine m = arm_machine(4);

	m.walker = walker;
	m.l2 = m.l1d;
	m.l2.bytes = 32 << 10;
	make_arm(b, &m);
	for (unsigned tree = 0; tree < 2; tree++) {
		armv7_dccmvac(b->hw, b->base + bare_arm_leaf(tree, VA));
		armv7_dccmvac(b->hw, b->base + BARE_ROOT + tree * 0x4000);
	}
	bare_load(b, VA, NULL);
	assert_int_equal(sim_violations(b->sim), 0);
	exchange_arm(b);
}

/* The purge came, the store has not reached the walker: what is due is a clean. */
static void an_entry_that_was_not_cleaned_is_told_apart(void **state)
{
	struct bare b;

	(void)state;
	start_arm_below(&b, SIM_LEVEL_MEMORY);
	armv7_tlbiall(b.hw);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_NOT_CLEANED);
	bare_end(&b);
}

/* Read ahead is what the walker would read: L2 after a clean to the point of unification. */
static void reading_ahead_is_done_where_walks_are(void **state)
{
	struct bare b;

	(void)state;
	start_arm_below(&b, SIM_LEVEL_L2);
	armv7_dccmvau(b.hw, b.base + BARE_ROOT);
	armv7_dsb(b.hw);
	armv7_tlbiall(b.hw);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

static void a_purge_waits_for_its_barrier(void **state)
{
	const struct sim_options options = {.asynchronous = true};
	struct bare b;

	(void)state;
	start_arm(&b, 4);
	assert_int_equal(sim_set_options(b.sim, &options), 0);
	exchange_arm(&b);
	armv7_tlbimva(b.hw, NEXT | 1);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_COUNT, SIM_OP_TLB_ENTRY)->idle, 0);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_NO_BARRIER);
	armv7_dsb(b.hw);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	bare_end(&b);
}

/* A purge that finds nothing but a kept entry had something to do. */
static void a_purge_of_a_kept_entry_is_not_idle(void **state)
{
	struct bare b;

	(void)state;
	start_arm(&b, 4);
	armv7_tlbimva(b.hw, VA | 1);
	armv7_tlbimva(b.hw, VA | 1);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_COUNT, SIM_OP_TLB_ENTRY)->idle, 0);
	bare_poke(&b, BARE_ROOT, 4, 0);
	armv7_tlbimva(b.hw, VA | 1);
	armv7_tlbimva(b.hw, VA | 1);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_COUNT, SIM_OP_TLB_ENTRY)->idle, 1);
	bare_end(&b);
}

/* --- x86-64 ------------------------------------------------------------------------------- */

/* A second leaf table, and a second directory that leads to it. */
#define X86_LEAF      BARE_TABLES
#define X86_DIRECTORY (BARE_TABLES + QUIRE_PAGE_BYTES)

static void start_x86(struct bare *b)
{
	struct sim_machine m = bare_machine(SIM_X86_64);

	m.insn_snoops_data = true;
	m.tlb.walk_cache = 4;
	bare_start(b, &m);
	bare_poke(b, BARE_FRAME(0), 4, 0xaaaa);
	bare_poke(b, BARE_FRAME(1), 4, OLD);
	bare_poke(b, BARE_FRAME(2), 4, NEW);
	bare_x86_map(b, VA, BARE_FRAME(0) | BARE_X86_PAGE);
	bare_x86_map(b, NEXT, BARE_FRAME(1) | BARE_X86_PAGE);
	bare_poke(b, X86_LEAF + (NEXT >> 12) * 8, 8, BARE_FRAME(2) | BARE_X86_PAGE);
	bare_poke(b, X86_DIRECTORY, 8, X86_LEAF | BARE_X86_PAGE);
	x86_set_cr3(b->hw, BARE_ROOT);
	bare_load(b, VA, NULL);
}

/* VA is walked once more, now that the upper entries are marked accessed. */
static void keep_x86(struct bare *b)
{
	x86_invlpg(b->hw, VA);
	bare_load(b, VA, NULL);
}

static void exchange_x86(struct bare *b)
{
	bare_poke(b, bare_x86_entry(2, 0), 8, X86_LEAF | BARE_X86_PAGE | BARE_X86_A);
}

static void x86_keeps_entries_that_were_accessed(void **state)
{
	struct bare b;

	(void)state;
	start_x86(&b);
	exchange_x86(&b);
	assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);

	start_x86(&b);
	keep_x86(&b);
	exchange_x86(&b);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	assert_int_equal(sim_violation(b.sim, 0)->level, 2);
	assert_int_equal(sim_violation(b.sim, 0)->pa & ~7ull, bare_x86_entry(2, 0));
	bare_end(&b);
}

/* An address that has nothing to do with the entries, and CR3. */
static void x86_purges_drop_all(void **state)
{
	struct bare b;

	(void)state;
	for (unsigned cr3 = 0; cr3 < 2; cr3++) {
		start_x86(&b);
		keep_x86(&b);
		exchange_x86(&b);
		if (cr3)
			x86_set_cr3(b.hw, BARE_ROOT);
		else
			x86_invlpg(b.hw, (uintptr_t)1 << 40);
		assert_int_equal(bare_load(&b, NEXT, NULL), NEW);
		assert_int_equal(sim_violations(b.sim), 0);
		bare_end(&b);
	}
}

/* The directory is exchanged above an entry that is kept: the lowest one decides. */
static void x86_walks_begin_at_the_lowest(void **state)
{
	struct bare b;

	(void)state;
	start_x86(&b);
	keep_x86(&b);
	bare_poke(&b, bare_x86_entry(3, 0), 8, X86_DIRECTORY | BARE_X86_PAGE | BARE_X86_A);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	assert_int_equal(sim_violation(b.sim, 0)->level, 2);
	assert_int_equal(sim_violation(b.sim, 0)->pa, X86_DIRECTORY);
	bare_end(&b);
}

static int retries(struct bare *b, uintptr_t va, enum quire_access access)
{
	(void)b;
	(void)va;
	(void)access;
	return 0;
}

/* The entry of the directory forbids stores in what is kept; it may say otherwise now. */
static uint64_t start_x86_read_only(struct bare *b)
{
	uint64_t entry;

	start_x86(b);
	keep_x86(b);
	entry = bare_peek(b, bare_x86_entry(2, 0), 8);
	bare_poke(b, bare_x86_entry(2, 0), 8, entry & ~(uint64_t)BARE_X86_RW);
	x86_invlpg(b->hw, NEXT);
	b->on_fault = retries;
	return entry;
}

/* One fault, after which the tables are read again, and no violation, wherever they lead. */
static void x86_a_kept_entry_may_allow_less(void **state)
{
	struct bare b;
	uint64_t entry;

	(void)state;
	for (unsigned elsewhere = 0; elsewhere < 2; elsewhere++) {
		entry = start_x86_read_only(&b);
		if (elsewhere)
			exchange_x86(&b);
		else
			bare_poke(&b, bare_x86_entry(2, 0), 8, entry);
		assert_int_equal(sim_store(b.sim, NEXT, 4, 5), 0);
		assert_int_equal(bare_peek(&b, BARE_FRAME(1 + elsewhere), 4), 5);
		assert_int_equal(b.faults, 1);
		assert_int_equal(sim_violations(b.sim), 0);
		bare_end(&b);
	}
}

static void x86_a_kept_entry_must_not_allow_more(void **state)
{
	struct bare b;
	uint64_t entry;

	(void)state;
	start_x86(&b);
	keep_x86(&b);
	entry = bare_peek(&b, bare_x86_entry(2, 0), 8);
	bare_poke(&b, bare_x86_entry(2, 0), 8, entry & ~(uint64_t)BARE_X86_RW);
	assert_int_equal(bare_load(&b, NEXT, NULL), OLD);
	assert_int_equal(sim_violations(b.sim), 0);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), 0);
	assert_walked_wrongly(&b, SIM_CAUSE_UPPER_NOT_PURGED);
	bare_end(&b);
}

/* --- Digests ------------------------------------------------------------------------------ */

static uint64_t says_nothing(void *context, uint64_t frame, unsigned line, const uint8_t *bytes)
{
	(void)context;
	(void)frame;
	(void)line;
	(void)bytes;
	return 0;
}

static unsigned one_space(void *context, uint64_t number)
{
	(void)context;
	return number == 1;
}

/* The leaf tables of both trees have names. */
static uint64_t digest(const struct bare *b, uint32_t name0, uint32_t name1)
{
	static const unsigned cpus[] = {0, 1};
	struct sim_digest_frame frames[BARE_MEMORY >> QUIRE_PAGE_SHIFT];
	struct sim_digest digest = {.frames = frames,
				    .cpus = cpus,
				    .table_line = says_nothing,
				    .space = one_space};

	memset(frames, 0, sizeof(frames));
	frames[bare_arm_leaf(0, 0) >> QUIRE_PAGE_SHIFT].name = name0;
	frames[bare_arm_leaf(1, 0) >> QUIRE_PAGE_SHIFT].name = name1;
	return sim_digest(b->sim, &digest);
}

static void digests_hold_what_is_kept(void **state)
{
	struct sim_machine m = arm_machine(4);
	struct bare none, kept, other, ended;

	(void)state;
	start_arm(&none, 0);
	start_arm(&kept, 4);
	assert_int_not_equal(digest(&kept, 1, 2), digest(&none, 1, 2));

	/* The same by another page of the span, and after a purge that changes nothing. */
	bare_load(&kept, NEXT, NULL);
	make_arm(&other, &m);
	bare_load(&other, NEXT, NULL);
	bare_load(&other, VA, NULL);
	assert_int_equal(digest(&other, 1, 2), digest(&kept, 1, 2));
	armv7_tlbiall(other.hw);
	bare_load(&other, VA, NULL);
	bare_load(&other, NEXT, NULL);
	assert_int_equal(digest(&other, 1, 2), digest(&kept, 1, 2));
	bare_end(&other);
	armv7_tlbimva(kept.hw, NEXT | 1);

	/* It leads to another table; then that table has the name of the first. */
	start_arm(&other, 4);
	exchange_arm(&other);
	armv7_tlbiall(other.hw);
	bare_load(&other, VA, NULL);
	assert_int_not_equal(digest(&other, 1, 2), digest(&kept, 1, 2));
	assert_int_equal(digest(&other, 2, 1), digest(&kept, 1, 2));
	bare_end(&other);

	/* A space that has ended. */
	start_arm(&ended, 4);
	bare_arm_activate(&ended, 1, 2);
	bare_load(&ended, VA, NULL);
	assert_int_equal(digest(&ended, 1, 2), digest(&kept, 1, 2));
	/* What its purge drops is not read in the tables of another. */
	bare_arm_activate(&ended, 0, 1);
	armv7_tlbiasid(ended.hw, 2);
	assert_int_equal(digest(&ended, 1, 2), digest(&kept, 1, 2));
	bare_end(&ended);
	bare_end(&kept);
	bare_end(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_begins_at_what_is_kept),
		cmocka_unit_test(a_kept_entry_is_used_until_purged),
		cmocka_unit_test(each_arm_purge_drops_what_it_names),
		cmocka_unit_test(arm_purges_reach_whom_they_name),
		cmocka_unit_test(a_purge_before_the_change_is_too_early),
		cmocka_unit_test(only_what_can_be_walked_is_read_ahead),
		cmocka_unit_test(each_cpu_reads_its_own_tables_ahead),
		cmocka_unit_test(another_asid_is_read_ahead),
		cmocka_unit_test(what_is_kept),
		cmocka_unit_test(the_next_in_turn_goes),
		cmocka_unit_test(an_empty_place_is_taken_first),
		cmocka_unit_test(a_change_counts_when_its_operation_returns),
		cmocka_unit_test(an_entry_that_was_not_cleaned_is_told_apart),
		cmocka_unit_test(reading_ahead_is_done_where_walks_are),
		cmocka_unit_test(a_purge_waits_for_its_barrier),
		cmocka_unit_test(a_purge_of_a_kept_entry_is_not_idle),
		cmocka_unit_test(x86_keeps_entries_that_were_accessed),
		cmocka_unit_test(x86_purges_drop_all),
		cmocka_unit_test(x86_walks_begin_at_the_lowest),
		cmocka_unit_test(x86_a_kept_entry_may_allow_less),
		cmocka_unit_test(x86_a_kept_entry_must_not_allow_more),
		cmocka_unit_test(digests_hold_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
