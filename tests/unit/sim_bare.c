/*
 * Pages mapped without a kernel: what sim_map_bare accepts, that the TLB never keeps an old
 * mapping, and that the machine's caches and store buffer are its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/bare.h"

#define A  ((uintptr_t)0x10000000)
#define B  (A + 0x10000)
#define PA ((quire_pa_t)0x100000)

static struct sim *make(enum sim_isa isa)
{
	struct sim_machine machine = bare_machine(isa);
	const char *why;
	struct sim *sim = sim_create(&machine, &why);

	assert_non_null(sim);
	return sim;
}

static uint64_t load(struct sim *sim, uintptr_t va)
{
	uint64_t value;

	assert_int_equal(sim_load(sim, va, 8, &value), 0);
	return value;
}

static void every_isa_translates_by_the_table(void **state)
{
	uint64_t value;

	(void)state;
	for (enum sim_isa isa = SIM_ARMV7; isa <= SIM_BARE; isa++) {
		struct sim *sim = make(isa);

		assert_int_equal(sim_map_bare(sim, A, PA, false), 0);
		assert_int_equal(sim_map_bare(sim, B, PA, false), 0);
		assert_int_equal(sim_store(sim, A + 8, 8, 0x1234), 0);
		assert_int_equal(load(sim, B + 8), 0x1234); /* physical caches: coherent */
		assert_int_equal(sim_fetch(sim, B, &value), 0);
		assert_int_equal(sim_load(sim, A - QUIRE_PAGE_BYTES, 8, &value), -QUIRE_EFAULT);
		assert_int_equal(sim_violations(sim), 0);
		sim_destroy(sim);
	}
}

static void an_empty_table_translates_nothing(void **state)
{
	struct sim *sim = make(SIM_BARE);
	uint64_t value;

	(void)state;
	assert_int_equal(sim_load(sim, A, 8, &value), -QUIRE_EFAULT);
	assert_int_equal(sim_load(sim, sim_kernel_base(sim) + PA, 8, &value), 0);
	sim_destroy(sim);
}

static void a_new_mapping_replaces_the_old_on_every_cpu(void **state)
{
	struct sim *sim = make(SIM_BARE);

	(void)state;
	assert_int_equal(sim_map_bare(sim, A, PA, false), 0);
	assert_int_equal(sim_map_bare(sim, B, PA + QUIRE_PAGE_BYTES, false), 0);
	assert_int_equal(sim_store(sim, B, 8, 7), 0);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		sim_switch(sim, cpu);
		assert_int_equal(load(sim, A), 0);
	}
	assert_int_equal(sim_map_bare(sim, A, PA + QUIRE_PAGE_BYTES, false), 0);
	sim_switch(sim, 0);
	assert_int_equal(load(sim, A), 7);
	sim_switch(sim, 1);
	load(sim, A);
	assert_int_equal(sim_store(sim, A, 8, 8), 0);
	assert_int_equal(load(sim, B), 8);
	sim_destroy(sim);
}

static void an_uncached_mapping_goes_past_the_cache(void **state)
{
	struct sim *sim = make(SIM_BARE);

	(void)state;
	assert_int_equal(sim_map_bare(sim, A, PA, false), 0);
	assert_int_equal(sim_map_bare(sim, B, PA, true), 0);
	load(sim, A);
	assert_int_equal(sim_store(sim, B, 8, 9), 0);
	assert_int_equal(load(sim, A), 0);
	assert_int_equal(sim_violations(sim), 1);
	sim_destroy(sim);
}

static void a_barrier_empties_the_store_buffer(void **state)
{
	struct sim_machine machine = bare_machine(SIM_BARE);
	struct sim_account before, after;
	const char *why;
	struct sim *sim;

	(void)state;
	machine.store_buffer = 4;
	machine.store_buffer_bytes = (uint64_t)1 << 32;
	machine.cost.barrier = 5;
	sim = sim_create(&machine, &why);
	assert_int_equal(sim_map_bare(sim, A, PA, false), 0);
	assert_int_equal(sim_map_bare(sim, B, PA, false), 0);
	assert_int_equal(sim_store(sim, A, 8, 3), 0);
	assert_int_equal(load(sim, B), 0);
	before = *sim_account(sim, QUIRE_SITE_COUNT, SIM_OP_BARRIER);
	sim_bare_barrier(sim);
	after = *sim_account(sim, QUIRE_SITE_COUNT, SIM_OP_BARRIER);
	assert_int_equal(load(sim, B), 3);
	assert_int_equal(after.count - before.count, 1);
	assert_int_equal(after.ticks - before.ticks, 5);
	sim_destroy(sim);
}

static void wrong_mappings_are_refused(void **state)
{
	struct sim *sim = make(SIM_BARE);
	uint64_t memory = sim_machine(sim)->memory_bytes;

	(void)state;
	assert_int_equal(sim_map_bare(sim, A + 1, PA, false), -QUIRE_EINVAL);
	assert_int_equal(sim_map_bare(sim, A, PA + 8, false), -QUIRE_EINVAL);
	assert_int_equal(sim_map_bare(sim, A, memory, false), -QUIRE_EINVAL);
	assert_int_equal(sim_map_bare(sim, sim_kernel_base(sim), PA, false), -QUIRE_EINVAL);
	for (unsigned i = 0; i < SIM_BARE_PAGES; i++)
		assert_int_equal(sim_map_bare(sim, A + i * QUIRE_PAGE_BYTES, PA, false), 0);
	assert_int_equal(sim_map_bare(sim, A + SIM_BARE_PAGES * QUIRE_PAGE_BYTES, PA, false),
			 -QUIRE_ENOMEM);
	assert_int_equal(sim_map_bare(sim, A, PA + QUIRE_PAGE_BYTES, false), 0); /* anew */
	sim_destroy(sim);
}

/* A line found at another index costs `alias`, is written if dirty, and is there no more. */
static void alias_check_moves_a_line(void **state)
{
	struct sim_machine machine = bare_machine(SIM_BARE);
	struct sim_counts counts;
	const char *why;
	struct sim *sim;
	uint64_t ticks;

	(void)state;
	machine.l1d.index = SIM_VIPT;
	machine.l1d.bytes = 64 << 10;
	machine.alias_check = true;
	machine.cost = (struct sim_costs){.alias = 1000};
	sim = sim_create(&machine, &why);
	assert_non_null(sim);
	assert_int_equal(sim_map_bare(sim, A, PA, false), 0);
	assert_int_equal(sim_map_bare(sim, A + 4096, PA, false), 0);
	assert_int_equal(sim_store(sim, A, 8, 5), 0);
	ticks = sim_ticks(sim);
	assert_int_equal(load(sim, A + 4096), 5);
	assert_int_equal(sim_ticks(sim) - ticks, 1000);
	sim_counts(sim, &counts);
	assert_int_equal(counts.writebacks, 1);
	assert_int_equal(load(sim, A + 4096), 5); /* a hit */
	assert_int_equal(sim_ticks(sim) - ticks, 1000);
	assert_int_equal(load(sim, A), 5); /* back, clean */
	assert_int_equal(sim_ticks(sim) - ticks, 2000);
	assert_int_equal(sim_violations(sim), 0);
	sim_destroy(sim);
}

static void alias_check_is_for_virtual_indexes_of_bare_machines(void **state)
{
	struct sim_machine machine = bare_machine(SIM_BARE);
	const char *why;

	(void)state;
	machine.alias_check = true;
	assert_null(sim_create(&machine, &why));
	machine.l1d.index = SIM_VIPT;
	machine.isa = SIM_PARISC;
	assert_null(sim_create(&machine, &why));
	assert_non_null(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_isa_translates_by_the_table),
		cmocka_unit_test(an_empty_table_translates_nothing),
		cmocka_unit_test(a_new_mapping_replaces_the_old_on_every_cpu),
		cmocka_unit_test(an_uncached_mapping_goes_past_the_cache),
		cmocka_unit_test(a_barrier_empties_the_store_buffer),
		cmocka_unit_test(wrong_mappings_are_refused),
		cmocka_unit_test(alias_check_moves_a_line),
		cmocka_unit_test(alias_check_is_for_virtual_indexes_of_bare_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
