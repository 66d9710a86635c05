/*
 * x86-64 over the simulated machine: boot, marks set by hardware, upper entries, shootdown to the
 * CPUs that need it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/arch_machine.h"

#define VA ((uintptr_t)0x00007f1234567000)

static void start(struct arch_machine *a, struct quire_context *context)
{
	struct sim_machine machine = simulated_machine(SIM_X86_64);

	arch_machine_start(a, &machine);
	arch_space(a, context);
	arch_load(a, context);
}

static void end(struct arch_machine *a, struct quire_context *context)
{
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		sim_switch(a->s.sim, cpu);
		arch_load(a, NULL);
	}
	sim_switch(a->s.sim, 0);
	a->arch->context_destroy(&a->m, context);
	arch_machine_end(a);
}

static void boot_finds_the_geometry(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_X86_64);
	struct quire_context context;
	struct arch_machine a;

	(void)state;
	start(&a, &context);
	assert_false(a.m.traits.data_aliases || a.m.traits.insn_aliases);
	assert_true(a.m.traits.dirty_by_hardware && a.m.traits.subtree_protect);
	assert_true(a.m.traits.walker_sees_data && a.m.traits.devices_see_data &&
		    a.m.traits.insn_snoops_data);
	assert_int_equal(a.m.traits.data_bytes, machine.l1d.bytes);
	assert_int_equal(a.m.traits.insn_bytes, machine.l1i.bytes);
	assert_int_equal(a.m.traits.data_line_bytes, 64);
	assert_int_equal(a.m.traits.tlb_entries, 64);
	end(&a, &context);
}

static void boot_without_memory_fails(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_X86_64);
	struct quire_machine m = {0};
	struct simulated s;

	(void)state;
	simulated_prepare(&s, &machine, NULL);
	m.port = s.config.port;
	m.arch = s.config.arch;
	s.fail_after = 0;
	assert_int_equal(m.arch->boot(&m), -QUIRE_ENOMEM);
	simulated_end(&s);
}

/* Hardware marks; a replacement that did not see the mark fails and changes nothing. */
static void hardware_marks_are_not_lost(void **state)
{
	const unsigned bits = QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_WRITE;
	struct quire_context context;
	struct quire_entry entry;
	struct arch_machine a;
	uint64_t before, after, value;
	uintptr_t leaf;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), bits);
	leaf = arch_leaf(&a, &context, VA);
	before = a.arch->load_entry(&a.m, leaf, 3);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	entry = a.arch->decode(a.arch->load_entry(&a.m, leaf, 3));
	assert_int_equal(entry.bits, bits | QUIRE_ENTRY_YOUNG);
	assert_int_equal(arch_user_store(&a, VA, 3), 0);
	after = a.arch->load_entry(&a.m, leaf, 3);
	assert_int_equal(a.arch->decode(after).bits, bits | QUIRE_ENTRY_YOUNG | QUIRE_ENTRY_DIRTY);
	assert_false(a.arch->replace_entry(&a.m, leaf, 3, before, 0));
	assert_int_equal(a.arch->load_entry(&a.m, leaf, 3), after);
	assert_true(a.arch->replace_entry(&a.m, leaf, 3, after, 0));
	assert_int_equal(a.arch->load_entry(&a.m, leaf, 3), 0);
	end(&a, &context);
}

static void upper_entries_forbid_stores(void **state)
{
	struct quire_context context;
	struct arch_machine a;
	uintptr_t table, entry;
	quire_pa_t below;
	bool read_only;
	uint64_t value;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_store(&a, VA, 7), 0);
	table = context.root;
	for (unsigned level = 0; level < 3; level++) {
		entry = table + (VA >> a.arch->table.shift[level] & 0x1ff) * 8;
		assert_true(a.arch->decode_table(level, a.arch->load_entry(&a.m, entry, level),
						 &below, &read_only));
		a.arch->store_entry(&a.m, entry, level, a.arch->encode_table(level, below, true));
		a.arch->tlb_purge_space(&a.m, &context);
		assert_int_equal(arch_user_load(&a, VA, &value), 0);
		assert_int_equal(arch_user_store(&a, VA, 8), -QUIRE_EFAULT);
		a.arch->store_entry(&a.m, entry, level, a.arch->encode_table(level, below, false));
		a.arch->tlb_purge_space(&a.m, &context);
		assert_int_equal(arch_user_store(&a, VA, 7), 0);
		table = quire_kernel_address(&a.m, below);
	}
	assert_int_equal(sim_violations(a.s.sim), 0);
	end(&a, &context);
}

static void purges_reach_all_cpus(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct quire_context context;
		struct arch_machine a;
		uint64_t value;

		start(&a, &context);
		arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
		arch_map(&a, &context, VA + QUIRE_PAGE_BYTES, ARCH_FRAME(1), ARCH_RW);
		for (unsigned cpu = 0; cpu < 2; cpu++) {
			sim_switch(a.s.sim, cpu);
			arch_load(&a, &context);
			assert_int_equal(arch_user_load(&a, VA, &value), 0);
			assert_int_equal(arch_user_load(&a, VA + QUIRE_PAGE_BYTES, &value), 0);
		}
		arch_map(&a, &context, VA, 0, 0);
		arch_map(&a, &context, VA + QUIRE_PAGE_BYTES, 0, 0);
		if (kind == 0)
			a.arch->tlb_purge(&a.m, &context, VA + 8,
					  QUIRE_PAGE_BYTES); /* two pages, in part */
		else if (kind == 1)
			a.arch->tlb_purge_space(&a.m, &context);
		else
			a.arch->tlb_purge_all(&a.m);
		for (unsigned cpu = 0; cpu < 2; cpu++) {
			sim_switch(a.s.sim, cpu);
			assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
			assert_int_equal(arch_user_load(&a, VA + QUIRE_PAGE_BYTES, &value),
					 -QUIRE_EFAULT);
		}
		assert_int_equal(sim_violations(a.s.sim), 0);
		end(&a, &context);
	}
}

/* CPUs that have loaded something else hold nothing and are not called; their bit goes as they
 * leave. */
static void only_cpus_with_entries_are_called(void **state)
{
	struct quire_context context, other;
	struct arch_machine a;
	uint64_t value, ticks;

	(void)state;
	start(&a, &context);
	arch_space(&a, &other);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	sim_switch(a.s.sim, 1);
	arch_load(&a, &context);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	assert_int_equal(context.cpus, 3);
	arch_load(&a, &other);
	assert_int_equal(context.cpus, 1);
	assert_int_equal(other.cpus, 2);
	sim_switch(a.s.sim, 0);
	a.s.no_cross_call = true; /* allowed: nobody else holds entries */
	ticks = sim_ticks(a.s.sim);
	arch_map(&a, &context, VA, 0, 0);
	a.arch->tlb_purge(&a.m, &context, VA, QUIRE_PAGE_BYTES);
	assert_true(sim_ticks(a.s.sim) - ticks < sim_machine(a.s.sim)->cost.cross_call);
	a.s.no_cross_call = false;
	assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
	end(&a, &context);
}

static void devices_and_fetches_see_stores(void **state)
{
	struct quire_context context;
	struct arch_machine a;
	uint64_t value;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RX);
	assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
	arch_kernel_store(&a, ARCH_FRAME(0), 0x90);
	assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
	assert_int_equal(value, 0x90);
	a.arch->dma_prepare(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_TO_DEVICE);
	assert_int_equal(arch_device_load(&a, ARCH_FRAME(0)), 0x90);
	assert_int_equal(sim_violations(a.s.sim), 0);
	end(&a, &context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boot_finds_the_geometry),
		cmocka_unit_test(boot_without_memory_fails),
		cmocka_unit_test(hardware_marks_are_not_lost),
		cmocka_unit_test(upper_entries_forbid_stores),
		cmocka_unit_test(purges_reach_all_cpus),
		cmocka_unit_test(only_cpus_with_entries_are_called),
		cmocka_unit_test(devices_and_fetches_see_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
