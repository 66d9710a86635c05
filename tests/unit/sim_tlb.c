/*
 * TLBs: entries stay until they are purged, belong to an address-space number, and go in turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/bare.h"

#define VA 0x5000u

static uint64_t walks(const struct bare *b)
{
	struct sim_counts counts;

	sim_counts(b->sim, &counts);
	return counts.walks;
}

/* Two frames with known contents; tree 0 maps VA to frame 0, tree 1 to frame 1. */
static void start_arm(struct bare *b, const struct sim_machine *machine)
{
	bare_start(b, machine);
	bare_poke(b, BARE_FRAME(0), 4, 0xaaaa);
	bare_poke(b, BARE_FRAME(1), 4, 0xbbbb);
	bare_arm_map(b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
	bare_arm_map(b, 1, VA, (uint32_t)BARE_FRAME(1) | BARE_ARM_PAGE);
	bare_arm_activate(b, 0, 1);
}

static void stale_entry_is_used_until_purged(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(walks(&b), 1);
	assert_int_equal(sim_violations(b.sim), 0);

	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(1) | BARE_ARM_PAGE);
	armv7_dsb(b.hw);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(sim_violations(b.sim), 1);
	violation = sim_violation(b.sim, 0);
	assert_int_equal(violation->observer, SIM_PARTY_WALKER);
	assert_int_equal(violation->va & ~(uintptr_t)3, VA); /* the byte that differs */
	assert_int_equal(violation->pa & ~3ull, bare_arm_leaf(0, VA) & ~3ull);

	armv7_tlbimva(b.hw, VA | 1);
	assert_int_equal(bare_load(&b, VA, NULL), 0xbbbb);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

/* An entry that allows less than the table is slow, not wrong; one that allows more is wrong. */
static void narrowed_and_widened_entries(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE | BARE_ARM_RO);
	bare_load(&b, VA, NULL);
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
	bare_load(&b, VA, NULL);
	assert_int_equal(sim_violations(b.sim), 0);
	assert_int_equal(sim_store(b.sim, VA, 4, 1), -QUIRE_EFAULT);

	armv7_tlbimva(b.hw, VA | 1);
	assert_int_equal(sim_store(b.sim, VA, 4, 1), 0);
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE | BARE_ARM_RO);
	assert_int_equal(sim_store(b.sim, VA, 4, 2), 0);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

static void numbers_keep_spaces_apart(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	bare_arm_activate(&b, 1, 2);
	assert_int_equal(bare_load(&b, VA, NULL), 0xbbbb);
	bare_arm_activate(&b, 0, 1);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(walks(&b), 2);
	assert_int_equal(sim_violations(b.sim), 0);

	/* The number of another space without a purge: its entries. */
	bare_arm_activate(&b, 1, 1);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(sim_violations(b.sim), 1);
	armv7_tlbiasid(b.hw, 1);
	assert_int_equal(bare_load(&b, VA, NULL), 0xbbbb);
	bare_end(&b);
}

static void without_tags_numbers_do_not_help(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	m.tlb.tagged = false;
	start_arm(&b, &m);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	bare_arm_activate(&b, 1, 2);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	armv7_tlbiall(b.hw);
	assert_int_equal(bare_load(&b, VA, NULL), 0xbbbb);
	bare_end(&b);
}

static void global_entries_match_all_numbers(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	for (unsigned tree = 0; tree < 2; tree++)
		bare_arm_map(&b, tree, VA,
			     (uint32_t)BARE_FRAME(0) | (BARE_ARM_PAGE & ~BARE_ARM_NG));
	bare_load(&b, VA, NULL);
	bare_arm_activate(&b, 1, 2);
	bare_load(&b, VA, NULL);
	armv7_tlbiasid(b.hw, 1);
	armv7_tlbiasid(b.hw, 2);
	bare_load(&b, VA, NULL);
	assert_int_equal(walks(&b), 1);
	armv7_tlbimva(b.hw, VA | 3);
	bare_load(&b, VA, NULL);
	assert_int_equal(walks(&b), 2);
	bare_end(&b);
}

/* Sets of 2: three pages of one set push each other out in turn, a page of another set stays. */
static void replacement_is_round_robin_in_a_set(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	for (unsigned n = 0; n < 16; n++)
		bare_arm_map(&b, 0, n << 12, (uint32_t)BARE_FRAME(n) | BARE_ARM_PAGE);
	bare_load(&b, 1 << 12, NULL);
	bare_load(&b, 0 << 12, NULL);
	bare_load(&b, 4 << 12, NULL);
	bare_load(&b, 0 << 12, NULL);
	bare_load(&b, 8 << 12, NULL); /* page 0 goes although page 4 was used longer ago */
	assert_int_equal(walks(&b), 4);
	bare_load(&b, 4 << 12, NULL);
	bare_load(&b, 1 << 12, NULL);
	assert_int_equal(walks(&b), 4);
	bare_load(&b, 0 << 12, NULL); /* the next in turn: page 4 goes, page 8 stays */
	assert_int_equal(walks(&b), 5);
	bare_load(&b, 8 << 12, NULL);
	assert_int_equal(walks(&b), 5);
	bare_load(&b, 4 << 12, NULL);
	assert_int_equal(walks(&b), 6);
	bare_end(&b);
}

static void purge_reaches_cpu1(bool broadcast)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_account *account;
	struct bare b;

	m.tlb_broadcast = broadcast;
	m.data_coherent = true;
	start_arm(&b, &m);
	sim_switch(b.sim, 1);
	bare_arm_activate(&b, 0, 1);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	sim_switch(b.sim, 0);
	armv7_tlbimvais(b.hw, VA | 1);
	account = sim_account(b.sim, QUIRE_SITE_COUNT, SIM_OP_TLB_ENTRY);
	assert_int_equal(account->count, 1);
	assert_int_equal(account->idle, !broadcast);
	assert_int_equal(account->ticks, broadcast ? 107 * BARE_C : 7 * BARE_C);
	sim_switch(b.sim, 1);
	bare_load(&b, VA, NULL);
	assert_int_equal(walks(&b), broadcast ? 2 : 1);
	bare_end(&b);
}

static void purges_are_broadcast_where_the_machine_does(void **state)
{
	(void)state;
	purge_reaches_cpu1(true);
	purge_reaches_cpu1(false);
}

static int mends_nothing(struct bare *b, uintptr_t va, enum quire_access access)
{
	(void)b;
	(void)va;
	(void)access;
	return 0;
}

static void endless_faults_end_with_a_complaint(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;
	int error;

	(void)state;
	start_arm(&b, &m);
	bare_load(&b, 0x7000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(b.faults, 1);
	assert_null(sim_complaint(b.sim));
	b.on_fault = mends_nothing;
	bare_load(&b, 0x7000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_non_null(sim_complaint(b.sim));
	bare_end(&b);
}

/* --- Software fill ------------------------------------------------------------------------ */

static int fills(struct bare *b, uintptr_t va, enum quire_access access)
{
	if (va >> 12 != VA >> 12)
		return -QUIRE_EFAULT;
	if (access == QUIRE_FETCH)
		parisc_iitlbt(b->hw, 7, va, BARE_FRAME(0), PARISC_READ | PARISC_EXEC | PARISC_USER);
	else
		parisc_idtlbt(b->hw, 7, va, BARE_FRAME(0), PARISC_READ | PARISC_USER);
	return 0;
}

static void start_parisc(struct bare *b)
{
	struct sim_machine m = bare_machine(SIM_PARISC);

	bare_start(b, &m);
	b->on_miss = fills;
	parisc_set_user_space(b->hw, 7);
	bare_poke(b, BARE_FRAME(0), 4, 0xcccc);
	parisc_fdc(b->hw, 0, b->base + BARE_FRAME(0));
}

static void software_fills_and_faults(void **state)
{
	struct bare b;
	uint64_t ticks;
	int error;

	(void)state;
	start_parisc(&b);
	bare_peek(&b, BARE_FRAME(0), 4);
	ticks = sim_ticks(b.sim);
	assert_int_equal(bare_load(&b, VA, NULL), 0xcccc);
	assert_int_equal(sim_ticks(b.sim) - ticks, 21 * BARE_C);
	assert_int_equal(b.misses, 1);
	assert_int_equal(b.faults, 0);
	bare_load(&b, 0x9000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(b.misses, 2);
	assert_int_equal(b.faults, 1);
	/* The entry is there and forbids the store: a fault, not a miss. */
	assert_int_equal(sim_store(b.sim, VA, 4, 1), -QUIRE_EFAULT);
	assert_int_equal(b.misses, 2);
	assert_int_equal(b.faults, 2);
	assert_int_equal(b.fault_access, QUIRE_STORE);
	bare_end(&b);
}

static void sides_are_filled_and_purged_apart(void **state)
{
	struct bare b;
	uint64_t word;

	(void)state;
	start_parisc(&b);
	bare_load(&b, VA, NULL);
	assert_int_equal(sim_fetch(b.sim, VA, &word), 0);
	assert_int_equal(word, 0xcccc);
	assert_int_equal(b.misses, 2);
	bare_load(&b, VA, NULL);
	assert_int_equal(b.misses, 2);
	parisc_pdtlb(b.hw, 7, VA);
	assert_int_equal(sim_fetch(b.sim, VA, &word), 0);
	assert_int_equal(b.misses, 2);
	bare_load(&b, VA, NULL);
	assert_int_equal(b.misses, 3);
	parisc_pitlb(b.hw, 7, VA);
	sim_fetch(b.sim, VA, &word);
	assert_int_equal(b.misses, 4);
	bare_end(&b);
}

static void spaces_are_tags(void **state)
{
	struct bare b;
	int error;

	(void)state;
	start_parisc(&b);
	bare_load(&b, VA, NULL);
	parisc_set_user_space(b.hw, 8);
	b.on_miss = NULL;
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	parisc_pdtlb(b.hw, 8, VA);
	parisc_set_user_space(b.hw, 7);
	assert_int_equal(bare_load(&b, VA, NULL), 0xcccc);
	/* By index: one of the entries is this one. */
	for (unsigned i = 0; i < 8; i++)
		parisc_pdtlbe(b.hw, i);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_COUNT, SIM_OP_TLB_ENTRY)->count, 9);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_COUNT, SIM_OP_TLB_ENTRY)->idle, 8);
	bare_end(&b);
}

/*
 * PDTLB reaches all CPUs, PDTLBE this one only; neither asks what the machine says of ARM's
 * broadcasts.
 */
static void parisc_purges_are_global(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;

	(void)state;
	m.tlb_broadcast = false;
	bare_start(&b, &m);
	b.on_miss = fills;
	sim_switch(b.sim, 1);
	parisc_set_user_space(b.hw, 7);
	bare_load(&b, VA, NULL);
	sim_switch(b.sim, 0);
	for (unsigned i = 0; i < 8; i++)
		parisc_pdtlbe(b.hw, i);
	sim_switch(b.sim, 1);
	bare_load(&b, VA, NULL);
	assert_int_equal(b.misses, 1);
	sim_switch(b.sim, 0);
	parisc_pdtlb(b.hw, 7, VA);
	sim_switch(b.sim, 1);
	bare_load(&b, VA, NULL);
	assert_int_equal(b.misses, 2);
	bare_end(&b);
}

/* The kernel's window translates in space 0, without the user right. */
static void alias_window_is_space_0(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;
	uint64_t value;
	uintptr_t window;

	(void)state;
	m.l1d.bytes = m.l1i.bytes = 32 << 10;
	m.l1d.index = m.l1i.index = SIM_VIPT;
	m.colour_bytes = 16 << 10;
	bare_start(&b, &m);
	parisc_set_user_space(b.hw, 7);
	window = sim_alias_window(b.sim);
	assert_int_equal(sim_load(b.sim, window, 8, &value), -QUIRE_EFAULT);
	assert_int_equal(b.misses, 1);
	assert_int_equal(b.faults, 0);
	parisc_idtlbt(b.hw, 0, window, BARE_FRAME(2), PARISC_READ | PARISC_WRITE);
	assert_int_equal(sim_store(b.sim, window, 8, 5), 0);
	parisc_fdc(b.hw, 0, window);
	assert_int_equal(bare_peek(&b, BARE_FRAME(2), 8), 5);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stale_entry_is_used_until_purged),
		cmocka_unit_test(narrowed_and_widened_entries),
		cmocka_unit_test(numbers_keep_spaces_apart),
		cmocka_unit_test(without_tags_numbers_do_not_help),
		cmocka_unit_test(global_entries_match_all_numbers),
		cmocka_unit_test(replacement_is_round_robin_in_a_set),
		cmocka_unit_test(purges_are_broadcast_where_the_machine_does),
		cmocka_unit_test(endless_faults_end_with_a_complaint),
		cmocka_unit_test(software_fills_and_faults),
		cmocka_unit_test(sides_are_filled_and_purged_apart),
		cmocka_unit_test(spaces_are_tags),
		cmocka_unit_test(parisc_purges_are_global),
		cmocka_unit_test(alias_window_is_space_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
