/*
 * ARMv7 over the simulated machine: boot, the walker and cleaned entries, ASIDs, TLB and cache
 * maintenance, DMA.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <insn/armv7.h>

#include "tests/support/arch_machine.h"

#define VA 0x00400000u

static void boot_finds_the_geometry(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct arch_machine a;

	(void)state;
	arch_machine_start(&a, &machine);
	assert_false(a.m.traits.data_aliases);
	assert_true(a.m.traits.insn_aliases); /* 32 KB, 4 ways: two pages a way */
	assert_true(a.m.traits.data_broadcast && a.m.traits.insn_broadcast &&
		    a.m.traits.tlb_broadcast);
	assert_false(a.m.traits.walker_sees_data);
	assert_false(a.m.traits.insn_snoops_data);
	assert_int_equal(a.m.traits.data_bytes, machine.l1d.bytes);
	assert_int_equal(a.m.traits.insn_bytes, machine.l1i.bytes);
	assert_int_equal(a.m.traits.data_line_bytes, 32);
	assert_int_equal(a.m.traits.insn_line_bytes, 32);
	arch_machine_end(&a);

	machine.l1i.ways = 8; /* one page a way */
	machine.walker = SIM_LEVEL_L1;
	machine.maintenance_broadcast = machine.tlb_broadcast = false;
	arch_machine_start(&a, &machine);
	assert_false(a.m.traits.insn_aliases);
	assert_true(a.m.traits.walker_sees_data);
	assert_false(a.m.traits.data_broadcast || a.m.traits.insn_broadcast ||
		     a.m.traits.tlb_broadcast);
	arch_machine_end(&a);
}

/* One machine for each place where the walker may read; with and without the clean. */
static void walker_sees_what_was_cleaned(void **state)
{
	static const enum sim_level walkers[] = {SIM_LEVEL_L1, SIM_LEVEL_L2, SIM_LEVEL_MEMORY};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct sim_machine machine = simulated_machine(SIM_ARMV7);
		struct quire_entry entry = {ARCH_FRAME(0) >> QUIRE_PAGE_SHIFT, ARCH_RW};
		struct quire_context context;
		struct arch_machine a;
		uint64_t value = 0;
		uintptr_t leaf;

		machine.walker = walkers[i];
		arch_machine_start(&a, &machine);
		arch_kernel_store(&a, ARCH_FRAME(0), 0x1234);
		arch_space(&a, &context);
		arch_load(&a, &context);
		leaf = arch_leaf(&a, &context, VA);
		a.arch->store_entry(&a.m, leaf, 1, a.arch->encode(entry));
		a.arch->entry_barrier(&a.m);
		assert_int_equal(arch_user_load(&a, VA, &value),
				 walkers[i] == SIM_LEVEL_L1 ? 0 : -QUIRE_EFAULT);
		a.arch->clean_entries(&a.m, leaf, 4);
		a.arch->entry_barrier(&a.m);
		assert_int_equal(arch_user_load(&a, VA, &value), 0);
		assert_int_equal(value, 0x1234);
		arch_machine_end(&a);
	}
}

/* An upper entry reaches all of its 4 MB. */
static void root_entry_covers_four_megabytes(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct quire_context context;
	struct arch_machine a;

	(void)state;
	arch_machine_start(&a, &machine);
	arch_space(&a, &context);
	arch_load(&a, &context);
	for (unsigned mb = 0; mb < 4; mb++) {
		uint64_t value;

		arch_kernel_store(&a, ARCH_FRAME(mb), mb + 7);
		arch_map(&a, &context, VA + (mb << 20) + 0xff000, ARCH_FRAME(mb), ARCH_RW);
		assert_int_equal(arch_user_load(&a, VA + (mb << 20) + 0xff000, &value), 0);
		assert_int_equal(value, mb + 7);
	}
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_machine_end(&a);
}

static void rights_are_those_of_the_entry(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct quire_context context;
	struct arch_machine a;
	uint64_t value;

	(void)state;
	arch_machine_start(&a, &machine);
	arch_space(&a, &context);
	arch_load(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RO | QUIRE_ENTRY_WRITE); /* not dirty */
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	assert_int_equal(arch_user_store(&a, VA, 1), -QUIRE_EFAULT);
	assert_int_equal(sim_fetch(a.s.sim, VA, &value), -QUIRE_EFAULT);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	a.arch->tlb_purge(&a.m, &context, VA, 4);
	assert_int_equal(arch_user_store(&a, VA, 1), 0);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW & ~(unsigned)QUIRE_ENTRY_YOUNG);
	a.arch->tlb_purge(&a.m, &context, VA, 4);
	assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
	arch_map(&a, &context, VA, ARCH_FRAME(1), ARCH_RX);
	a.arch->tlb_purge(&a.m, &context, VA, 4);
	assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_machine_end(&a);
}

/*
 * More contexts than ASIDs, each with another page at VA: every one sees its own, in two rounds. In
 * the second half of the test only those contexts look that have the ASID of one which looked
 * before, so that its TLB entry is still there.
 */
static void check_asids(bool broadcast, bool sparse)
{
	uint64_t watched = 0;
	enum { CONTEXTS = 300 };
	static struct quire_context contexts[CONTEXTS];
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct arch_machine a;
	uint64_t value;

	machine.tlb_broadcast = broadcast;
	machine.memory_bytes = 32 << 20;
	arch_machine_start(&a, &machine);
	a.next_table = ARCH_FRAME(CONTEXTS);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		/* Tables of all contexts but the root are 16 KB + 4 KB each: above the frames. */
		memset(&contexts[i], 0, sizeof(contexts[i]));
		contexts[i].root =
			quire_kernel_address(&a.m, ((quire_pa_t)12 << 20) + ((quire_pa_t)i << 15));
		a.m.port.clear(a.m.port.context, contexts[i].root, 5 * QUIRE_PAGE_BYTES);
		a.arch->store_entry(&a.m, contexts[i].root + (VA >> 22) * 16, 0,
				    a.arch->encode_table(0,
							 contexts[i].root + 0x4000 -
								 a.m.port.kernel_base,
							 false));
		a.arch->store_entry(&a.m, contexts[i].root + 0x4000, 1,
				    a.arch->encode(
					    (struct quire_entry){ARCH_FRAME(i) >> QUIRE_PAGE_SHIFT,
								 ARCH_RW}));
		a.arch->clean_entries(&a.m, contexts[i].root, 5 * QUIRE_PAGE_BYTES);
		a.arch->entry_barrier(&a.m);
		assert_int_equal(a.arch->context_create(&a.m, &contexts[i]), 0);
		arch_kernel_store(&a, ARCH_FRAME(i), i);
	}
	/* CPU 1 keeps context 0 loaded over all rollovers. */
	sim_switch(a.s.sim, 1);
	arch_load(&a, &contexts[0]);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	for (unsigned round = 0; round < 2; round++) {
		sim_switch(a.s.sim, 0);
		for (unsigned i = 0; i < CONTEXTS; i++) {
			arch_load(&a, &contexts[i]);
			if (!watched)
				watched = i == 7 ? contexts[i].number : 0;
			if (!sparse || contexts[i].number == watched) {
				assert_int_equal(arch_user_load(&a, VA, &value), 0);
				assert_int_equal(value, i);
			}
			assert_in_range(contexts[i].number, 1, 255);
			if (i)
				assert_int_not_equal(contexts[i].number, contexts[0].number);
		}
		sim_switch(a.s.sim, 1);
		assert_int_equal(arch_user_load(&a, VA, &value), 0);
		assert_int_equal(value, 0);
	}
	/* A change in the context that was kept is seen on CPU 1 after its purge, whatever its ASID
	 * now is. */
	sim_switch(a.s.sim, 0);
	a.arch->store_entry(&a.m, contexts[0].root + 0x4000, 1, 0);
	a.arch->clean_entries(&a.m, contexts[0].root + 0x4000, 4);
	a.arch->entry_barrier(&a.m);
	a.arch->tlb_purge(&a.m, &contexts[0], VA, QUIRE_PAGE_BYTES);
	sim_switch(a.s.sim, 1);
	assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_load(&a, NULL);
	sim_switch(a.s.sim, 0);
	arch_load(&a, NULL);
	for (unsigned i = 0; i < CONTEXTS; i++)
		a.arch->context_destroy(&a.m, &contexts[i]);
	arch_machine_end(&a);
}

static void asids_roll_over(void **state)
{
	(void)state;
	check_asids(true, false);
	check_asids(false, false);
	check_asids(true, true);
}

/*
 * While a space is exchanged for another a keen walker keeps upper entries, by whatever root and
 * ASID stand in the registers. None may lead to a table of the first space once that was purged:
 * not under ASID 0 either, which stands there when no space is loaded.
 */
static void a_switch_leaves_nothing_under_another_asid(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct quire_context first, second;
	struct arch_machine a;
	uintptr_t leaf;
	uint64_t value;

	(void)state;
	machine.tlb.walk_cache = 8;
	arch_machine_start(&a, &machine);
	arch_kernel_store(&a, ARCH_FRAME(1), 2);
	arch_space(&a, &first);
	arch_space(&a, &second);
	arch_map(&a, &first, VA, ARCH_FRAME(0), ARCH_RW);
	arch_map(&a, &second, VA, ARCH_FRAME(1), ARCH_RW);
	leaf = arch_leaf(&a, &first, VA);
	arch_load(&a, &first);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	arch_load(&a, &second);
	a.arch->tlb_purge_space(&a.m, &first);
	sim_frames_freed(a.s.sim, (leaf - a.m.port.kernel_base) & ~(quire_pa_t)QUIRE_PAGE_MASK,
			 QUIRE_PAGE_BYTES);
	armv7_set_contextidr(a.m.port.hw, 0);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	assert_int_equal(value, 2);
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_machine_end(&a);
}

/* No space loaded: user addresses lead nowhere. */
static void nothing_loaded_maps_nothing(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct quire_context context;
	struct arch_machine a;
	uint64_t value;

	(void)state;
	arch_machine_start(&a, &machine);
	arch_space(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	arch_load(&a, &context);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	arch_load(&a, NULL);
	assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
	arch_machine_end(&a);
}

/* Each purge reaches the TLB of the other CPU, by broadcast or by call. */
static void purges_reach_all_cpus(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 6; kind++) {
		struct sim_machine machine = simulated_machine(SIM_ARMV7);
		struct quire_context context;
		struct arch_machine a;
		uint64_t value;

		machine.tlb_broadcast = kind & 1;
		arch_machine_start(&a, &machine);
		arch_space(&a, &context);
		arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
		sim_switch(a.s.sim, 1);
		arch_load(&a, &context);
		assert_int_equal(arch_user_load(&a, VA, &value), 0);
		sim_switch(a.s.sim, 0);
		arch_map(&a, &context, VA, 0, 0);
		if (kind / 2 == 0)
			a.arch->tlb_purge(&a.m, &context, VA + 5, 1);
		else if (kind / 2 == 1)
			a.arch->tlb_purge_space(&a.m, &context);
		else
			a.arch->tlb_purge_all(&a.m);
		sim_switch(a.s.sim, 1);
		assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
		assert_int_equal(sim_violations(a.s.sim), 0);
		arch_machine_end(&a);
	}
}

/* What a device finds in memory, with broadcast, by cross-call, and where neither can be had. */
static void dma_sees_stores_of_all_cpus(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct sim_machine machine = simulated_machine(SIM_ARMV7);
		uint32_t incoming = 0xbeef;
		struct arch_machine a;

		machine.maintenance_broadcast = kind == 0;
		arch_machine_start(&a, &machine);
		a.s.no_cross_call = kind == 2;
		sim_switch(a.s.sim, 1);
		arch_kernel_store(&a, ARCH_FRAME(0) + 64, 0xcafe);
		sim_switch(a.s.sim, 0);
		a.arch->dma_prepare(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_TO_DEVICE);
		assert_int_equal(arch_device_load(&a, ARCH_FRAME(0) + 64), 0xcafe);

		sim_switch(a.s.sim, 1);
		arch_kernel_store(&a, ARCH_FRAME(0) + 64, 0xdead);
		sim_switch(a.s.sim, 0);
		a.arch->dma_prepare(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_FROM_DEVICE);
		sim_dma_to_memory(a.s.sim, ARCH_FRAME(0) + 64, &incoming, sizeof(incoming));
		a.arch->dma_finish(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_FROM_DEVICE);
		assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0) + 64), 0xbeef);
		sim_switch(a.s.sim, 1);
		assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0) + 64), 0xbeef);
		assert_int_equal(sim_violations(a.s.sim), 0);
		arch_machine_end(&a);
	}
}

/* Lines that a range covers in part are somebody else's too. */
static void invalidation_spares_the_neighbours(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct arch_machine a;

	(void)state;
	arch_machine_start(&a, &machine);
	arch_kernel_store(&a, ARCH_FRAME(0), 1);
	arch_kernel_store(&a, ARCH_FRAME(0) + 60, 2);
	a.arch->dma_prepare(&a.m, ARCH_FRAME(0) + 4, 56, QUIRE_FROM_DEVICE);
	a.arch->dma_finish(&a.m, ARCH_FRAME(0) + 4, 56, QUIRE_FROM_DEVICE);
	assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0)), 1);
	assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0) + 60), 2);
	assert_int_equal(arch_device_load(&a, ARCH_FRAME(0)), 1);
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_machine_end(&a);
}

/* Old instructions in the I cache of CPU 1; new ones stored by CPU 0, cleaned, synced. */
static void insn_reaches_all_cpus(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct sim_machine machine = simulated_machine(SIM_ARMV7);
		struct quire_context context;
		struct arch_machine a;
		uint64_t value, all;

		machine.maintenance_broadcast = kind & 1;
		machine.l1i.ways = kind & 2 ? 8 : 4;
		arch_machine_start(&a, &machine);
		arch_kernel_store(&a, ARCH_FRAME(1), 0x11);
		a.arch->data(&a.m, quire_kernel_address(&a.m, ARCH_FRAME(1)), QUIRE_PAGE_BYTES,
			     QUIRE_CLEAN);
		arch_space(&a, &context);
		arch_map(&a, &context, VA, ARCH_FRAME(1), ARCH_RX);
		sim_switch(a.s.sim, 1);
		arch_load(&a, &context);
		assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
		assert_int_equal(value, 0x11);
		sim_switch(a.s.sim, 0);
		arch_kernel_store(&a, ARCH_FRAME(1), 0x22);
		a.arch->data(&a.m, quire_kernel_address(&a.m, ARCH_FRAME(1)), QUIRE_PAGE_BYTES,
			     QUIRE_CLEAN);
		all = arch_ops(&a, SIM_OP_INSN_ALL);
		a.arch->insn(&a.m, ARCH_FRAME(1), quire_kernel_address(&a.m, ARCH_FRAME(1)), VA);
		/* By line only where one address finds all copies and the operation reaches all
		 * CPUs. */
		assert_int_equal(arch_ops(&a, SIM_OP_INSN_ALL) > all, kind != 3);
		sim_switch(a.s.sim, 1);
		assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
		assert_int_equal(value, 0x22);
		assert_int_equal(sim_violations(a.s.sim), 0);
		arch_machine_end(&a);
	}
}

/* The second of two flushes of the whole cache finds no line. */
static void whole_flush_leaves_no_line(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	const struct sim_account *account;
	uint64_t count, idle;
	struct arch_machine a;

	(void)state;
	arch_machine_start(&a, &machine);
	for (unsigned i = 0; i < 8; i++)
		arch_kernel_store(&a, ARCH_FRAME(i) + 32 * i, i);
	a.arch->whole_data(&a.m);
	account = sim_account(a.s.sim, QUIRE_SITE_COUNT, SIM_OP_DATA_SET);
	count = account->count;
	idle = account->idle;
	a.arch->whole_data(&a.m);
	assert_int_equal(account->count - count, 2 * machine.l1d.bytes / 32);
	assert_int_equal(account->idle - idle, 2 * machine.l1d.bytes / 32);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(i) + 32 * i), i);
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_machine_end(&a);
}

static void cycles_do_not_wrap(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct arch_machine a;
	uint64_t start;

	(void)state;
	arch_machine_start(&a, &machine);
	start = a.arch->cycles(&a.m);
	for (unsigned i = 0; i < 3; i++) {
		sim_charge(a.s.sim, (uint64_t)3000000000u * SIM_TICKS_A_CYCLE);
		assert_int_equal(a.arch->cycles(&a.m) - start, (i + 1) * (uint64_t)3000000000u);
	}
	arch_machine_end(&a);
}

static void boot_refuses_what_it_cannot_map(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_ARMV7);
	struct quire_memory high = {(quire_pa_t)1 << 32, QUIRE_PAGE_BYTES};
	struct quire_machine m = {0};
	struct simulated s;

	(void)state;
	simulated_prepare(&s, &machine, NULL);
	m.port = s.config.port;
	m.arch = s.config.arch;
	s.fail_after = 0;
	assert_int_equal(m.arch->boot(&m), -QUIRE_ENOMEM);
	s.fail_after = -1;
	m.port.memory = &high;
	m.port.memory_ranges = 1;
	assert_int_equal(m.arch->boot(&m), -QUIRE_ENODEV);
	simulated_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boot_finds_the_geometry),
		cmocka_unit_test(walker_sees_what_was_cleaned),
		cmocka_unit_test(root_entry_covers_four_megabytes),
		cmocka_unit_test(rights_are_those_of_the_entry),
		cmocka_unit_test(asids_roll_over),
		cmocka_unit_test(a_switch_leaves_nothing_under_another_asid),
		cmocka_unit_test(nothing_loaded_maps_nothing),
		cmocka_unit_test(purges_reach_all_cpus),
		cmocka_unit_test(dma_sees_stores_of_all_cpus),
		cmocka_unit_test(invalidation_spares_the_neighbours),
		cmocka_unit_test(insn_reaches_all_cpus),
		cmocka_unit_test(whole_flush_leaves_no_line),
		cmocka_unit_test(cycles_do_not_wrap),
		cmocka_unit_test(boot_refuses_what_it_cannot_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
