/*
 * Asynchronous maintenance: when operations take effect, and what is said where a barrier is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/adversary.h"
#include "tests/support/bare.h"

#define VA    0x5000u
#define FRAME BARE_FRAME(0)

static void start(struct bare *b, const struct sim_machine *machine)
{
	const struct sim_options options = {.asynchronous = true};

	bare_start(b, machine);
	assert_int_equal(sim_set_options(b->sim, &options), 0);
}

static void store(struct bare *b, quire_pa_t pa, uint32_t value)
{
	bare_poke(b, pa, 4, value);
}

/* What a device reads at FRAME. */
static uint32_t device(struct bare *b, quire_pa_t pa)
{
	uint32_t value = 0;

	sim_dma_from_memory(b->sim, pa, &value, sizeof(value));
	return value;
}

static void test_a_clean_waits_for_its_barrier(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	uint64_t ticks;
	struct bare b;

	(void)state;
	start(&b, &m);
	store(&b, FRAME, 1);
	sim_label(b.sim, 5);
	sim_site_begin(b.sim, QUIRE_SITE_DMA_TO_DEVICE);
	ticks = sim_ticks(b.sim);
	armv7_dccmvac(b.hw, b.base + FRAME);
	/* Paid for as if it had been done: lookup, dirty, broadcast, and the line's way to memory. */
	assert_int_equal(sim_ticks(b.sim) - ticks, (2 + 3 + 100 + 30) * BARE_C);
	sim_site_end(b.sim, QUIRE_SITE_DMA_TO_DEVICE);
	assert_int_equal(sim_pending_count(b.sim), 1);
	assert_int_equal(device(&b, FRAME), 0);
	violation = sim_violation(b.sim, 0);
	assert_non_null(violation);
	assert_int_equal(violation->kind, SIM_KIND_STALE_DEVICE);
	assert_int_equal(violation->cause, SIM_CAUSE_NO_BARRIER);
	assert_int_equal(violation->site, QUIRE_SITE_DMA_TO_DEVICE);
	assert_int_equal(violation->site_label, 5);

	/* Neither another CPU's barrier nor one that orders only completes it. */
	armv7_dmb(b.hw);
	armv7_isb(b.hw);
	sim_switch(b.sim, 1);
	armv7_dsb(b.hw);
	assert_int_equal(sim_pending_count(b.sim), 1);
	sim_switch(b.sim, 0);
	ticks = sim_ticks(b.sim);
	armv7_dsb(b.hw);
	assert_int_equal(sim_ticks(b.sim) - ticks, 5 * BARE_C);
	assert_int_equal(sim_pending_count(b.sim), 0);
	assert_int_equal(device(&b, FRAME), 1);
	assert_int_equal(sim_violations(b.sim), 1);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_DMA_TO_DEVICE, SIM_OP_DATA_CLEAN)->count, 1);
	assert_int_equal(sim_account(b.sim, QUIRE_SITE_DMA_TO_DEVICE, SIM_OP_DATA_CLEAN)->idle, 0);
	bare_end(&b);
}

/* An invalidation does not take what the same CPU stores to the line after it. */
static void test_program_order_on_a_line(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start(&b, &m);
	store(&b, FRAME, 1);
	armv7_dcimvac(b.hw, b.base + FRAME);
	store(&b, FRAME + 4, 2);
	assert_int_equal(sim_pending_count(b.sim), 0);
	armv7_dsb(b.hw);
	assert_int_equal(bare_peek(&b, FRAME + 4, 4), 2);
	assert_int_equal(sim_violations(b.sim), 0);

	/* Another line, and another CPU's access, are not ordered. */
	armv7_dcimvac(b.hw, b.base + FRAME);
	bare_peek(&b, FRAME + 64, 4);
	sim_switch(b.sim, 1);
	bare_peek(&b, FRAME + 4, 1);
	assert_int_equal(sim_pending_count(b.sim), 1);
	assert_int_equal(sim_pending_cpu(b.sim, 0), 0);
	bare_end(&b);
}

/* An invalidation of the I line that goes before the clean it should have followed brings the old code again. */
static void test_the_adversary_chooses(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;
	uint64_t insn;

	(void)state;
	for (int barrier = 0; barrier < 2; barrier++) {
		start(&b, &m);
		sim_fetch(b.sim, b.base + FRAME, &insn);
		store(&b, FRAME, 1);
		armv7_dccmvau(b.hw, b.base + FRAME);
		if (barrier)
			armv7_dsb(b.hw);
		armv7_icimvau(b.hw, b.base + FRAME);
		assert_true(sim_complete(b.sim, sim_pending_count(b.sim) - 1));
		sim_fetch(b.sim, b.base + FRAME, &insn);
		armv7_dsb(b.hw);
		armv7_isb(b.hw);
		sim_fetch(b.sim, b.base + FRAME, &insn);
		assert_int_equal(insn, barrier);
		assert_int_equal(sim_violations(b.sim), barrier ? 0 : 2);
		assert_false(sim_complete(b.sim, 0));
		bare_end(&b);
	}
}

/* Operations on one line keep their order, whichever is picked. */
static void test_order_on_a_line(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start(&b, &m);
	store(&b, FRAME, 1);
	store(&b, FRAME + 64, 2);
	armv7_dccmvac(b.hw, b.base + FRAME);
	armv7_dccmvac(b.hw, b.base + FRAME + 64);
	armv7_dcimvac(b.hw, b.base + FRAME);
	assert_true(sim_complete(b.sim, 2));
	assert_int_equal(sim_pending_count(b.sim), 1);
	assert_int_equal(device(&b, FRAME), 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

static void test_tlb(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	struct bare b;
	int error;

	(void)state;
	m.data_coherent = true;
	start(&b, &m);
	bare_arm_map(&b, 0, VA, (uint32_t)FRAME | BARE_ARM_PAGE);
	bare_arm_activate(&b, 0, 1);
	armv7_dsb(b.hw);
	bare_load(&b, VA, NULL);
	bare_arm_map(&b, 0, VA, 0);
	sim_switch(b.sim, 1);
	sim_site_begin(b.sim, QUIRE_SITE_TLB_PAGE);
	armv7_tlbimvais(b.hw, VA | 1);
	sim_site_end(b.sim, QUIRE_SITE_TLB_PAGE);
	sim_switch(b.sim, 0);
	bare_load(&b, VA, NULL);
	violation = sim_violation(b.sim, 0);
	assert_non_null(violation);
	assert_int_equal(violation->kind, SIM_KIND_STALE_TLB);
	assert_int_equal(violation->cause, SIM_CAUSE_NO_BARRIER);
	assert_int_equal(violation->site, QUIRE_SITE_TLB_PAGE);
	sim_switch(b.sim, 1);
	armv7_dsb(b.hw);
	sim_switch(b.sim, 0);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

/* The outer cache has a sync of its own; DSB does not wait for it. */
static void test_outer_cache(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	quire_pa_t registers;
	struct bare b;

	(void)state;
	m.l2 = m.l1d;
	m.l2.bytes = 32 << 10;
	m.l2_outer = true;
	start(&b, &m);
	registers = armv7_pl310_base(b.hw);
	store(&b, FRAME, 1);
	armv7_dccmvac(b.hw, b.base + FRAME);
	armv7_dsb(b.hw);
	armv7_device_store(b.hw, registers + 0x7b0, (uint32_t)FRAME); /* clean by physical address */
	armv7_dsb(b.hw);
	assert_int_equal(device(&b, FRAME), 0);
	assert_int_equal(sim_violation(b.sim, 0)->cause, SIM_CAUSE_NO_BARRIER);
	armv7_device_store(b.hw, registers + 0x730, 0); /* sync */
	assert_int_equal(device(&b, FRAME), 1);

	/* The other way round: the outer cache is cleaned before the line has come down to it. */
	store(&b, FRAME + 64, 2);
	armv7_dccmvac(b.hw, b.base + FRAME + 64);
	armv7_device_store(b.hw, registers + 0x7b0, (uint32_t)FRAME + 64);
	armv7_device_store(b.hw, registers + 0x730, 0);
	armv7_dsb(b.hw);
	assert_int_equal(device(&b, FRAME + 64), 0);
	assert_int_equal(sim_violations(b.sim), 2);
	bare_end(&b);
}

/* A kernel that goes by lines of 32 bytes meets a line of 64 twice; the second time adds nothing. */
static void test_a_repeat_waits_once(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	quire_pa_t registers;
	struct bare b;

	(void)state;
	m.l1d.line_bytes = 64;
	m.l2 = m.l1d;
	m.l2.bytes = 32 << 10;
	m.l2_outer = true;
	start(&b, &m);
	registers = armv7_pl310_base(b.hw);
	store(&b, FRAME + 32, 1);
	armv7_dccmvac(b.hw, b.base + FRAME);
	armv7_device_store(b.hw, registers + 0x7b0, (uint32_t)FRAME); /* of another cache */
	assert_int_equal(sim_pending_count(b.sim), 2);
	armv7_dsb(b.hw);
	armv7_device_store(b.hw, registers + 0x7b0, (uint32_t)FRAME + 32);
	assert_int_equal(sim_pending_count(b.sim), 1);
	armv7_device_store(b.hw, registers + 0x7f0, (uint32_t)FRAME); /* flush: another operation */
	assert_int_equal(sim_pending_count(b.sim), 2);
	armv7_device_store(b.hw, registers + 0x7f0, (uint32_t)FRAME + 64); /* another line */
	assert_int_equal(sim_pending_count(b.sim), 3);
	sim_switch(b.sim, 1);
	armv7_device_store(b.hw, registers + 0x7f0, (uint32_t)FRAME + 64); /* another CPU's */
	assert_int_equal(sim_pending_count(b.sim), 4);
	armv7_device_store(b.hw, registers + 0x730, 0);
	assert_int_equal(sim_pending_count(b.sim), 3);
	sim_switch(b.sim, 0);
	armv7_device_store(b.hw, registers + 0x730, 0);
	assert_int_equal(sim_pending_count(b.sim), 0);
	assert_int_equal(device(&b, FRAME + 32), 1);
	bare_end(&b);
}

static void test_other_isas(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;

	(void)state;
	start(&b, &m);
	store(&b, FRAME, 1);
	parisc_fdc(b.hw, 0, b.base + FRAME);
	assert_int_equal(sim_pending_count(b.sim), 1);
	parisc_sync(b.hw);
	assert_int_equal(device(&b, FRAME), 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);

	m = bare_machine(SIM_X86_64);
	start(&b, &m);
	store(&b, FRAME, 1);
	x86_clflush(b.hw, b.base + FRAME);
	x86_invlpg(b.hw, VA);
	assert_int_equal(sim_pending_count(b.sim), 1); /* the purge acted */
	x86_mfence(b.hw);
	assert_int_equal(device(&b, FRAME), 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* More than can wait: the oldest take effect. */
static void test_the_list_is_bounded(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	unsigned count;
	struct bare b;

	(void)state;
	start(&b, &m);
	for (unsigned n = 0; n < 1000; n++)
		armv7_dccmvac(b.hw, b.base + FRAME + 32 * n);
	count = sim_pending_count(b.sim);
	assert_in_range(count, 2, 999);
	armv7_dsb(b.hw);
	assert_int_equal(sim_pending_count(b.sim), 0);
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_clean_waits_for_its_barrier),
		cmocka_unit_test(test_program_order_on_a_line),
		cmocka_unit_test(test_the_adversary_chooses),
		cmocka_unit_test(test_order_on_a_line),
		cmocka_unit_test(test_tlb),
		cmocka_unit_test(test_outer_cache),
		cmocka_unit_test(test_a_repeat_waits_once),
		cmocka_unit_test(test_other_isas),
		cmocka_unit_test(test_the_list_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
