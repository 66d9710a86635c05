/*
 * PA-RISC over the simulated machine: boot, TLB misses in software, space numbers, aliases, whole
 * flushes, DMA.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/arch_machine.h"

#define COLOUR ((uintptr_t)64 << 10) /* of simulated_machine */
/* A user address whose colour is not that of frame 0's linear address. */
#define VA ((uintptr_t)0x00403000)

static void start(struct arch_machine *a, struct quire_context *context)
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);

	arch_machine_start(a, &machine);
	arch_space(a, context);
	arch_load(a, context);
}

static void end(struct arch_machine *a, struct quire_context *context)
{
	arch_load(a, NULL);
	a->arch->tlb_purge_space(&a->m, context);
	a->arch->context_destroy(&a->m, context);
	arch_machine_end(a);
}

static void boot_finds_the_geometry(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);
	struct arch_machine a;

	(void)state;
	arch_machine_start(&a, &machine);
	assert_true(a.m.traits.data_aliases && a.m.traits.insn_aliases);
	assert_int_equal(a.m.traits.colour_bytes, COLOUR);
	assert_int_equal(a.m.traits.data_bytes, machine.l1d.bytes);
	assert_int_equal(a.m.traits.insn_bytes, machine.l1i.bytes);
	assert_int_equal(a.m.traits.data_line_bytes, 64);
	assert_int_equal(a.m.traits.tlb_entries, 32);
	assert_false(a.m.traits.devices_see_data);
	arch_machine_end(&a);
	machine.dma_coherent = true;
	arch_machine_start(&a, &machine);
	assert_true(a.m.traits.devices_see_data);
	arch_machine_end(&a);
}

static void boot_refuses_what_it_cannot_use(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);
	struct quire_machine m = {0};
	struct simulated s;

	(void)state;
	simulated_prepare(&s, &machine, NULL);
	m.port = s.config.port;
	m.arch = s.config.arch;
	s.fail_after = 0;
	assert_int_equal(m.arch->boot(&m), -QUIRE_ENOMEM);
	s.fail_after = -1;
	m.port.alias_window = 0;
	assert_int_equal(m.arch->boot(&m), -QUIRE_EINVAL);
	m.port.alias_window = s.config.port.alias_window + QUIRE_PAGE_BYTES;
	assert_int_equal(m.arch->boot(&m), -QUIRE_EINVAL);
	simulated_end(&s);
}

/* What the entry says decides, bit by bit, for each kind of access. */
static void misses_honour_the_entry(void **state)
{
	struct quire_context context;
	struct arch_machine a;

	(void)state;
	start(&a, &context);
	for (unsigned bits = 0; bits < 32; bits++) {
		bool readable = (bits & ARCH_RO) == ARCH_RO;
		uint64_t value;

		arch_map(&a, &context, VA, ARCH_FRAME(bits), bits);
		a.arch->tlb_purge(&a.m, &context, VA, 1);
		assert_int_equal(arch_user_load(&a, VA, &value) == 0, readable);
		assert_int_equal(arch_user_store(&a, VA, 1) == 0, (bits & ARCH_RW) == ARCH_RW);
		if (bits &
		    QUIRE_ENTRY_DIRTY) /* else the page was stored to: I side not settled here */
			continue;
		assert_int_equal(sim_fetch(a.s.sim, VA, &value) == 0, (bits & ARCH_RX) == ARCH_RX);
	}
	assert_int_equal(sim_violations(a.s.sim), 0);
	end(&a, &context);
}

/* An upper entry that forbids stores does so after a purge, and leaves loads alone. */
static void upper_entries_forbid_stores(void **state)
{
	struct quire_context context;
	struct arch_machine a;
	uintptr_t upper;
	quire_pa_t table;
	bool read_only;
	uint64_t value;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_store(&a, VA, 7), 0);
	upper = context.root + (VA >> 21) * 8;
	assert_true(
		a.arch->decode_table(0, a.arch->load_entry(&a.m, upper, 0), &table, &read_only));
	a.arch->store_entry(&a.m, upper, 0, a.arch->encode_table(0, table, true));
	a.arch->entry_barrier(&a.m);
	a.arch->tlb_purge_space(&a.m, &context);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(arch_user_store(&a, VA, 8), -QUIRE_EFAULT);
	assert_int_equal(a.arch->tlb_miss(&a.m, &context, VA, QUIRE_STORE), -QUIRE_EFAULT);
	assert_int_equal(a.arch->tlb_miss(&a.m, &context, VA, QUIRE_LOAD), 0);
	end(&a, &context);
}

static void misses_without_a_space_fail(void **state)
{
	struct quire_context context;
	struct arch_machine a;
	uint64_t value;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	arch_load(&a, NULL);
	assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
	assert_int_equal(a.arch->tlb_miss(&a.m, &context, a.arch->table.user_high, QUIRE_LOAD),
			 -QUIRE_EFAULT);
	end(&a, &context);
}

static void numbers_are_unique_and_reused(void **state)
{
	static struct quire_context contexts[40000];
	struct quire_context first;
	struct arch_machine a;
	unsigned made = 0;

	(void)state;
	start(&a, &first);
	while (made < 40000 && a.arch->context_create(&a.m, &contexts[made]) == 0) {
		assert_true(contexts[made].number > 1); /* neither the kernel's nor nobody's */
		assert_int_not_equal(contexts[made].number, first.number);
		made++;
	}
	assert_in_range(made, 1000, 39999);
	a.arch->context_destroy(&a.m, &contexts[5]);
	assert_int_equal(a.arch->context_create(&a.m, &contexts[5]), 0);
	assert_int_equal(a.arch->context_create(&a.m, &first) < 0, true);
	for (unsigned i = 0; i < made; i++)
		a.arch->context_destroy(&a.m, &contexts[i]);
	assert_int_equal(a.arch->context_create(&a.m, &contexts[0]), 0);
	arch_load(&a, NULL);
	arch_machine_end(&a);
}

static void purges_reach_all_cpus(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct quire_context context;
		struct arch_machine a;
		uint64_t value;

		start(&a, &context);
		arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
		sim_switch(a.s.sim, 1);
		arch_load(&a, &context);
		assert_int_equal(arch_user_load(&a, VA, &value), 0);
		sim_switch(a.s.sim, 0);
		arch_map(&a, &context, VA, 0, 0);
		a.s.no_cross_call = kind == 2;
		if (kind == 0)
			a.arch->tlb_purge(&a.m, &context, VA + 5, 1);
		else if (kind == 3)
			a.arch->tlb_purge_all(&a.m);
		else
			a.arch->tlb_purge_space(&a.m, &context);
		a.s.no_cross_call = false;
		sim_switch(a.s.sim, 1);
		assert_int_equal(arch_user_load(&a, VA, &value), -QUIRE_EFAULT);
		arch_load(&a, NULL);
		sim_switch(a.s.sim, 0);
		end(&a, &context);
	}
}

/* A user's dirty line at another colour than the kernel's, its translation gone: the alias flush
 * brings it out. */
static void alias_flush_needs_no_translation(void **state)
{
	struct quire_context context;
	struct arch_machine a;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_store(&a, VA + 64, 0x77), 0);
	arch_map(&a, &context, VA, 0, 0);
	a.arch->tlb_purge(&a.m, &context, VA, QUIRE_PAGE_BYTES);
	a.s.no_cross_call = true;
	sim_switch(a.s.sim, 1); /* another CPU's cache is reached too */
	a.arch->data_alias(&a.m, ARCH_FRAME(0), VA, QUIRE_FLUSH);
	assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0) + 64), 0x77);
	assert_int_equal(sim_violations(a.s.sim), 0);
	a.s.no_cross_call = false;
	sim_switch(a.s.sim, 0);
	end(&a, &context);
}

/* The witness must object without it, or the test above proves nothing. */
static void without_the_flush_the_kernel_reads_stale(void **state)
{
	struct quire_context context;
	struct arch_machine a;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_store(&a, VA + 64, 0x77), 0);
	assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0) + 64), 0);
	assert_int_equal(sim_violations(a.s.sim), 1);
	end(&a, &context);
}

/* Source and target of a copy, both at the user's colour, survive TLBs that forget them. */
static void two_aliases_at_once(void **state)
{
	struct quire_context context;
	struct arch_machine a;
	uintptr_t from, to;
	uint64_t value;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_store(&a, VA, 0x55), 0);
	from = a.arch->alias_map(&a.m, ARCH_FRAME(0), VA);
	to = a.arch->alias_map(&a.m, ARCH_FRAME(1), VA);
	assert_int_not_equal(from, to);
	assert_int_equal((from ^ VA) & (COLOUR - 1), 0);
	assert_int_equal((to ^ VA) & (COLOUR - 1), 0);
	a.arch->tlb_purge_all(&a.m);
	a.m.port.copy(a.m.port.context, to, from, QUIRE_PAGE_BYTES);
	a.arch->alias_unmap(&a.m, to);
	a.arch->alias_unmap(&a.m, from);
	assert_int_equal(sim_load(a.s.sim, from, 4, &value), -QUIRE_EFAULT);
	arch_map(&a, &context, VA, ARCH_FRAME(1), ARCH_RW);
	a.arch->tlb_purge(&a.m, &context, VA, QUIRE_PAGE_BYTES);
	assert_int_equal(arch_user_load(&a, VA, &value), 0);
	assert_int_equal(value, 0x55);
	assert_int_equal(sim_violations(a.s.sim), 0);
	/* Slots are free again. */
	for (unsigned i = 0; i < 4; i++)
		a.arch->alias_unmap(&a.m, a.arch->alias_map(&a.m, ARCH_FRAME(i), VA));
	end(&a, &context);
}

/* Instructions at the user's colour and at the kernel's are dropped, on both CPUs. */
static void insn_drops_both_colours(void **state)
{
	struct quire_context context;
	struct arch_machine a;
	uint64_t value;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RX);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		sim_switch(a.s.sim, cpu);
		arch_load(&a, &context);
		assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
		assert_int_equal(sim_fetch(a.s.sim, quire_kernel_address(&a.m, ARCH_FRAME(0)),
					   &value),
				 0);
	}
	arch_kernel_store(&a, ARCH_FRAME(0), 0x99);
	a.arch->data(&a.m, quire_kernel_address(&a.m, ARCH_FRAME(0)), QUIRE_PAGE_BYTES,
		     QUIRE_FLUSH);
	a.arch->insn(&a.m, ARCH_FRAME(0), quire_kernel_address(&a.m, ARCH_FRAME(0)), VA);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		sim_switch(a.s.sim, cpu);
		assert_int_equal(sim_fetch(a.s.sim, VA, &value), 0);
		assert_int_equal(value, 0x99);
		assert_int_equal(sim_fetch(a.s.sim, quire_kernel_address(&a.m, ARCH_FRAME(0)),
					   &value),
				 0);
		assert_int_equal(value, 0x99);
		arch_load(&a, NULL);
	}
	assert_int_equal(sim_violations(a.s.sim), 0);
	sim_switch(a.s.sim, 0);
	end(&a, &context);
}

/* Each step of a second loop, on both CPUs, finds its entry empty; dirty lines of both CPUs reached
 * memory. */
static void whole_flush_leaves_no_line(void **state)
{
	struct quire_context context;
	const struct sim_account *data, *insn;
	uint64_t count, idle, value;
	struct arch_machine a;

	(void)state;
	start(&a, &context);
	for (unsigned i = 0; i < 64; i++) {
		sim_switch(a.s.sim, i & 1);
		arch_kernel_store(&a, ARCH_FRAME(i) + 64 * i, i + 1);
		assert_int_equal(sim_fetch(a.s.sim, quire_kernel_address(&a.m, 64 * i), &value), 0);
	}
	a.arch->whole_data(&a.m);
	a.arch->whole_insn(&a.m);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(arch_device_load(&a, ARCH_FRAME(i) + 64 * i), i + 1);
	data = sim_account(a.s.sim, QUIRE_SITE_COUNT, SIM_OP_DATA_SET);
	insn = sim_account(a.s.sim, QUIRE_SITE_COUNT, SIM_OP_INSN_SET);
	count = data->count + insn->count;
	idle = data->idle + insn->idle;
	a.arch->whole_data(&a.m);
	a.arch->whole_insn(&a.m);
	assert_int_equal(data->count + insn->count - count, 2 * 2 * 1024);
	assert_int_equal(data->idle + insn->idle - idle, 2 * 2 * 1024);
	sim_switch(a.s.sim, 0);
	end(&a, &context);
}

static void user_ranges_flush_through_the_space(void **state)
{
	const struct sim_account *flush;
	struct quire_context context;
	struct arch_machine a;
	uint64_t idle;

	(void)state;
	start(&a, &context);
	arch_map(&a, &context, VA, ARCH_FRAME(0), ARCH_RW);
	assert_int_equal(arch_user_store(&a, VA + 128, 0x31), 0);
	a.arch->user_data(&a.m, &context, VA, QUIRE_PAGE_BYTES);
	a.arch->user_insn(&a.m, &context, VA, QUIRE_PAGE_BYTES);
	assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0) + 128), 0x31);
	assert_int_equal(sim_violations(a.s.sim), 0);
	/* An absent page: every line traps, nothing else. */
	flush = sim_account(a.s.sim, QUIRE_SITE_COUNT, SIM_OP_DATA_FLUSH);
	idle = flush->idle;
	a.arch->user_data(&a.m, &context, VA + QUIRE_PAGE_BYTES, QUIRE_PAGE_BYTES);
	assert_int_equal(flush->idle - idle, QUIRE_PAGE_BYTES / 64);
	assert_int_equal(a.faults, 0);
	end(&a, &context);
}

static void dma_sees_stores_of_all_cpus(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);
	uint32_t incoming = 0xbeef;
	struct arch_machine a;

	(void)state;
	arch_machine_start(&a, &machine);
	sim_switch(a.s.sim, 1);
	arch_kernel_store(&a, ARCH_FRAME(0), 0xcafe);
	sim_switch(a.s.sim, 0);
	a.arch->dma_prepare(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_TO_DEVICE);
	assert_int_equal(arch_device_load(&a, ARCH_FRAME(0)), 0xcafe);
	arch_kernel_store(&a, ARCH_FRAME(0), 0xdead);
	a.arch->dma_prepare(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_FROM_DEVICE);
	sim_dma_to_memory(a.s.sim, ARCH_FRAME(0), &incoming, sizeof(incoming));
	a.arch->dma_finish(&a.m, ARCH_FRAME(0), QUIRE_PAGE_BYTES, QUIRE_FROM_DEVICE);
	assert_int_equal(arch_kernel_load(&a, ARCH_FRAME(0)), 0xbeef);
	assert_int_equal(sim_violations(a.s.sim), 0);
	arch_machine_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boot_finds_the_geometry),
		cmocka_unit_test(boot_refuses_what_it_cannot_use),
		cmocka_unit_test(misses_honour_the_entry),
		cmocka_unit_test(upper_entries_forbid_stores),
		cmocka_unit_test(misses_without_a_space_fail),
		cmocka_unit_test(numbers_are_unique_and_reused),
		cmocka_unit_test(purges_reach_all_cpus),
		cmocka_unit_test(alias_flush_needs_no_translation),
		cmocka_unit_test(without_the_flush_the_kernel_reads_stale),
		cmocka_unit_test(two_aliases_at_once),
		cmocka_unit_test(insn_drops_both_colours),
		cmocka_unit_test(whole_flush_leaves_no_line),
		cmocka_unit_test(user_ranges_flush_through_the_space),
		cmocka_unit_test(dma_sees_stores_of_all_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
