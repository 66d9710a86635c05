/*
 * The hardware walkers: what they read where, what descriptors mean, which bits they set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/bare.h"

#define VA 0x5000u

static void start_arm(struct bare *b, struct sim_machine *m)
{
	bare_start(b, m);
	bare_poke(b, BARE_FRAME(0), 4, 0xaaaa);
	bare_arm_activate(b, 0, 1);
}

/* --- Where the walker reads --------------------------------------------------------------- */

/* Cleans the two descriptors of VA with the given instruction. */
static void clean_descriptors(struct bare *b, void (*clean)(struct quire_hw *hw, uintptr_t va))
{
	clean(b->hw, b->base + BARE_ROOT + (VA >> 20) * 4);
	clean(b->hw, b->base + bare_arm_leaf(0, VA));
	armv7_dsb(b->hw);
}

static void a_walker_of_memory_misses_a_dirty_entry(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	struct bare b;
	int error;

	(void)state;
	m.walker = SIM_LEVEL_MEMORY;
	start_arm(&b, &m);
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(sim_violations(b.sim), 1);
	violation = sim_violation(b.sim, 0);
	assert_int_equal(violation->observer, SIM_PARTY_WALKER);
	assert_int_equal(violation->writer, SIM_PARTY_KERNEL);
	assert_int_equal(violation->va, 0);

	clean_descriptors(&b, armv7_dccmvac);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

static void a_coherent_walker_sees_a_dirty_entry(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/*
 * An inner L2 of 32 KB; the clean to the point of unification reaches it, which is enough or not.
 */
static void clean_to_unification_reaches_the_walker(void **state)
{
	static const enum sim_level levels[] = {SIM_LEVEL_L2, SIM_LEVEL_MEMORY};
	struct bare b;
	int error;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct sim_machine m = bare_machine(SIM_ARMV7);

		m.l2 = m.l1d;
		m.l2.bytes = 32 << 10;
		m.walker = levels[i];
		start_arm(&b, &m);
		bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
		bare_load(&b, VA, &error);
		assert_int_equal(error, -QUIRE_EFAULT);
		clean_descriptors(&b, armv7_dccmvau);
		assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
		assert_int_equal(sim_violations(b.sim), 1);
		bare_end(&b);
	}
}

static void tables_outside_memory_are_absent(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;
	int error;

	(void)state;
	start_arm(&b, &m);
	armv7_set_ttbr0(b.hw, 0x7fff0000);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	bare_arm_activate(&b, 0, 1);
	bare_poke(&b, BARE_ROOT, 4, 0x7fff0000 | 1);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	/* A frame outside memory is a fault too. */
	bare_arm_map(&b, 0, VA, 0x7fff0000 | BARE_ARM_PAGE);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(b.faults, 3);
	armv7_set_ttbr0(b.hw, 0);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);

	/* An entry in use while the tables are nowhere: no descriptor to blame. */
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | BARE_ARM_PAGE);
	bare_arm_activate(&b, 0, 1);
	armv7_tlbiall(b.hw);
	bare_load(&b, VA, NULL);
	armv7_set_ttbr0(b.hw, 0xffff0000);
	bare_load(&b, VA, NULL);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* --- ARMv7 descriptors -------------------------------------------------------------------- */

/* What user code may do through the descriptor: 1 load, 2 store, 4 fetch. */
static unsigned rights(struct bare *b, uint32_t bits)
{
	unsigned may = 0;
	uint64_t value;

	bare_arm_map(b, 0, VA, (uint32_t)BARE_FRAME(0) | bits);
	armv7_tlbiall(b->hw);
	may |= sim_load(b->sim, VA, 4, &value) ? 0 : 1;
	may |= sim_store(b->sim, VA, 4, 0xaaaa) ? 0 : 2;
	may |= sim_fetch(b->sim, VA, &value) ? 0 : 4;
	return may;
}

static void arm_permissions(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	m.insn_snoops_data = true;
	start_arm(&b, &m);
	assert_int_equal(rights(&b, BARE_ARM_PAGE), 7);
	assert_int_equal(rights(&b, BARE_ARM_PAGE | BARE_ARM_RO), 5);
	assert_int_equal(rights(&b, BARE_ARM_PAGE | BARE_ARM_XN), 3);
	assert_int_equal(rights(&b, BARE_ARM_PAGE | BARE_ARM_XN | BARE_ARM_RO), 1);
	assert_int_equal(rights(&b, BARE_ARM_PAGE & ~BARE_ARM_USER), 0);
	assert_int_equal(rights(&b, BARE_ARM_PAGE & ~BARE_ARM_AF), 0);
	assert_int_equal(rights(&b, 0), 0);
	/* TEX[2:1], bits 8 and 7, belong to software. */
	assert_int_equal(rights(&b, BARE_ARM_PAGE | 3u << 7), 7);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

static int sets_access_flag(struct bare *b, uintptr_t va, enum quire_access access)
{
	quire_pa_t leaf = bare_arm_leaf(0, va);

	(void)access;
	bare_poke(b, leaf, 4, bare_peek(b, leaf, 4) | BARE_ARM_AF);
	armv7_dsb(b->hw);
	return 0;
}

/* An access flag fault leaves nothing in the TLB: setting the flag is enough (B3.10.1). */
static void an_access_flag_fault_needs_no_purge(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	b.on_fault = sets_access_flag;
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | (BARE_ARM_PAGE & ~BARE_ARM_AF));
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	assert_int_equal(b.faults, 1);
	assert_int_equal(b.fault_va, VA);
	bare_end(&b);
}

static void arm_uncached_pages_pass_the_cache(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start_arm(&b, &m);
	bare_arm_map(&b, 0, VA, (uint32_t)BARE_FRAME(0) | (BARE_ARM_PAGE & ~BARE_ARM_CACHED));
	/* Not at the frame's start, whose line shares a set with the tables. */
	bare_poke(&b, BARE_FRAME(0) + 0x40, 4, 0xbbbb);
	assert_int_equal(bare_load(&b, VA + 0x40, NULL), 0);
	assert_int_equal(sim_violations(b.sim), 1);
	armv7_dccmvac(b.hw, b.base + BARE_FRAME(0) + 0x40);
	assert_int_equal(bare_load(&b, VA + 0x40, NULL), 0xbbbb);
	bare_end(&b);
}

/* A section covers 1 MiB: any address in it purges all its pieces. Large pages: 64 KiB. */
static void arm_sections_and_large_pages(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint32_t section =
		(uint32_t)BARE_FRAMES | 2 | BARE_ARM_CACHED | 1u << 10 | 1u << 11 | 1u << 17;
	uint32_t large = (BARE_ARM_PAGE & ~BARE_ARM_SMALL) | 1;
	struct bare b;
	int error;

	(void)state;
	start_arm(&b, &m);
	bare_poke(&b, BARE_FRAME(3), 4, 0x3333);
	bare_poke(&b, BARE_ROOT + 4, 4, section);
	assert_int_equal(bare_load(&b, 0x100000, NULL), 0xaaaa);
	assert_int_equal(bare_load(&b, 0x103000, NULL), 0x3333);
	bare_poke(&b, BARE_ROOT + 4, 4, 0);
	armv7_tlbimva(b.hw, 0x1ff000 | 1);
	bare_load(&b, 0x103000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	bare_poke(&b, BARE_ROOT + 4, 4, section | 1u << 18);
	bare_load(&b, 0x103000, &error);
	assert_int_equal(error, -QUIRE_EFAULT);

	for (uintptr_t va = 0x10000; va < 0x20000; va += 0x1000)
		bare_arm_map(&b, 0, va, (uint32_t)BARE_FRAMES | large);
	assert_int_equal(bare_load(&b, 0x13000, NULL), 0x3333);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* --- x86-64 ------------------------------------------------------------------------------- */

static void start_x86(struct bare *b, uint64_t leaf_bits)
{
	struct sim_machine m = bare_machine(SIM_X86_64);

	m.insn_snoops_data = true;
	bare_start(b, &m);
	bare_poke(b, BARE_FRAME(0), 4, 0xaaaa);
	bare_x86_map(b, VA, BARE_FRAME(0) | leaf_bits);
	x86_set_cr3(b->hw, BARE_ROOT);
}

static uint64_t x86_raw(struct bare *b, unsigned level)
{
	return bare_peek(b, bare_x86_entry(level, VA), 8);
}

static void x86_sets_accessed_and_dirty(void **state)
{
	struct bare b;

	(void)state;
	start_x86(&b, BARE_X86_PAGE);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	for (unsigned level = 1; level <= 4; level++)
		assert_int_equal(x86_raw(&b, level) & (BARE_X86_A | BARE_X86_D), BARE_X86_A);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), 0);
	assert_int_equal(x86_raw(&b, 1) & (BARE_X86_A | BARE_X86_D), BARE_X86_A | BARE_X86_D);
	assert_int_equal(x86_raw(&b, 2) & BARE_X86_D, 0);
	/* The entry is dirty in the TLB: clearing the bit in the table goes unseen until INVLPG. */
	bare_poke(&b, bare_x86_entry(1, VA), 8, BARE_FRAME(0) | BARE_X86_PAGE | BARE_X86_A);
	assert_int_equal(sim_store(b.sim, VA, 4, 6), 0);
	assert_int_equal(x86_raw(&b, 1) & BARE_X86_D, 0);
	x86_invlpg(b.hw, VA);
	assert_int_equal(sim_store(b.sim, VA, 4, 7), 0);
	assert_int_equal(x86_raw(&b, 1) & BARE_X86_D, BARE_X86_D);
	assert_int_equal(b.faults, 0);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

static void x86_permissions(void **state)
{
	struct bare b;
	uint64_t value;

	(void)state;
	start_x86(&b, (BARE_X86_PAGE & ~BARE_X86_RW) | BARE_X86_NX);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), -QUIRE_EFAULT);
	assert_int_equal(sim_fetch(b.sim, VA, &value), -QUIRE_EFAULT);
	assert_int_equal(x86_raw(&b, 1) & BARE_X86_A, 0);
	assert_int_equal(bare_load(&b, VA, NULL), 0xaaaa);
	/* Granting needs no purge: a fault walks again (SDM volume 3, 4.10.4.3). */
	bare_poke(&b, bare_x86_entry(1, VA), 8, BARE_FRAME(0) | BARE_X86_PAGE);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), 0);
	assert_int_equal(sim_fetch(b.sim, VA, &value), 0);
	assert_int_equal(value, 5);
	bare_poke(&b, bare_x86_entry(1, VA), 8, BARE_FRAME(0) | (BARE_X86_PAGE & ~BARE_X86_US));
	x86_invlpg(b.hw, VA);
	assert_int_equal(sim_load(b.sim, VA, 4, &value), -QUIRE_EFAULT);

	/*
	 * An address that is not canonical, though its low bits are mapped; a root outside memory.
	 */
	bare_poke(&b, bare_x86_entry(1, VA), 8, BARE_FRAME(0) | BARE_X86_PAGE);
	assert_int_equal(sim_load(b.sim, ((uintptr_t)1 << 48) + VA, 4, &value), -QUIRE_EFAULT);
	x86_set_cr3(b.hw, (uint64_t)1 << 45);
	assert_int_equal(sim_load(b.sim, VA, 4, &value), -QUIRE_EFAULT);
	bare_end(&b);
}

static void x86_an_upper_entry_forbids_stores_below(void **state)
{
	struct bare b;
	int error;

	(void)state;
	start_x86(&b, BARE_X86_PAGE);
	bare_poke(&b, bare_x86_entry(2, VA), 8, x86_raw(&b, 2) & ~(uint64_t)BARE_X86_RW);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), -QUIRE_EFAULT);
	bare_load(&b, VA, &error);
	assert_int_equal(error, 0);
	/* Narrowed above an entry that is in use, without a purge: the witness tells. */
	bare_poke(&b, bare_x86_entry(2, VA), 8, x86_raw(&b, 2) | BARE_X86_RW);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), 0);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_poke(&b, bare_x86_entry(2, VA), 8, x86_raw(&b, 2) & ~(uint64_t)BARE_X86_RW);
	assert_int_equal(sim_store(b.sim, VA, 4, 5), 0);
	assert_int_equal(sim_violations(b.sim), 1);
	assert_int_equal(sim_violation(b.sim, 0)->pa & ~7ull, bare_x86_entry(2, VA));
	bare_end(&b);
}

static void x86_large_and_global_pages(void **state)
{
	struct bare b;
	uint64_t large = BARE_X86_PAGE | 0x80 | BARE_X86_G;
	int error;

	(void)state;
	start_x86(&b, BARE_X86_PAGE);
	bare_poke(&b, bare_x86_entry(2, VA), 8, large); /* physical 0 to 2 MiB */
	assert_int_equal(bare_load(&b, BARE_FRAME(0), NULL), 0xaaaa);
	bare_poke(&b, bare_x86_entry(2, VA), 8, 0);
	x86_set_cr3(b.hw, BARE_ROOT); /* keeps global entries */
	assert_int_equal(bare_load(&b, BARE_FRAME(0), NULL), 0xaaaa);
	assert_int_equal(sim_violations(b.sim), 1);
	x86_invlpg(b.hw, VA); /* another address of the same large page */
	bare_load(&b, BARE_FRAME(0), &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walker_of_memory_misses_a_dirty_entry),
		cmocka_unit_test(a_coherent_walker_sees_a_dirty_entry),
		cmocka_unit_test(clean_to_unification_reaches_the_walker),
		cmocka_unit_test(tables_outside_memory_are_absent),
		cmocka_unit_test(arm_permissions),
		cmocka_unit_test(an_access_flag_fault_needs_no_purge),
		cmocka_unit_test(arm_uncached_pages_pass_the_cache),
		cmocka_unit_test(arm_sections_and_large_pages),
		cmocka_unit_test(x86_sets_accessed_and_dirty),
		cmocka_unit_test(x86_permissions),
		cmocka_unit_test(x86_an_upper_entry_forbids_stores_below),
		cmocka_unit_test(x86_large_and_global_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
