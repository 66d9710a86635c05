/*
 * Caches by themselves: which line goes, where a line is looked for, what an alias sees.
 *
 * Lines are named by (va, pa) as the inside of the simulator names them, so that no page table is needed. The
 * small machine: 16 sets of 2 ways of 32 bytes; a way is 512 bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/small_machine.h"

#define WAY_BYTES 512u
#define LINE_BYTES 32u
#define PA 0x10000u

static uint32_t load(struct sim *sim, uintptr_t va, quire_pa_t pa)
{
	uint32_t value;

	sim_line_load(sim, va, pa, &value, sizeof(value));
	return value;
}

static void store(struct sim *sim, uintptr_t va, quire_pa_t pa, uint32_t value)
{
	sim_line_store(sim, va, pa, &value, sizeof(value));
}

static bool is_cached(const struct sim *sim, uintptr_t va, quire_pa_t pa)
{
	return cache_find(&sim->cpu->l1d, va, pa).way >= 0;
}

static uint32_t in_memory(const struct sim *sim, quire_pa_t pa)
{
	uint32_t value;

	memcpy(&value, sim->memory.bytes + pa, sizeof(value));
	return value;
}

/* A first-level data cache of one set of four ways. */
static struct sim_machine one_set(enum sim_replace replace)
{
	struct sim_machine machine = small_machine();

	machine.l1d.bytes = 4 * LINE_BYTES;
	machine.l1d.ways = 4;
	machine.l1d.replace = replace;
	return machine;
}

/* Lines 0 to 3 are there; 0 and 1 are used again; then lines 4 and 5 come. Which of 0 to 3 are left? */
static unsigned survivors(enum sim_replace replace)
{
	struct sim_machine machine = one_set(replace);
	struct sim *sim = small_create(&machine);
	static const unsigned order[] = { 0, 1, 2, 3, 0, 1, 4, 5 };
	unsigned left = 0;

	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
		load(sim, 0, PA + order[i] * LINE_BYTES);
	for (unsigned line = 0; line < 4; line++)
		left |= (unsigned)is_cached(sim, 0, PA + line * LINE_BYTES) << line;
	sim_destroy(sim);
	return left;
}

static void round_robin_forgets_use(void **state)
{
	(void)state;
	assert_int_equal(survivors(SIM_ROUND_ROBIN), 0xc); /* 0 and 1 came first */
}

static void round_robin_goes_round(void **state)
{
	struct sim_machine machine = one_set(SIM_ROUND_ROBIN);
	struct sim *sim = small_create(&machine);

	(void)state;
	for (unsigned line = 0; line < 4; line++)
		load(sim, 0, PA + line * LINE_BYTES);
	for (unsigned line = 0; line < 12; line++) {
		assert_true(is_cached(sim, 0, PA + line * LINE_BYTES));
		load(sim, 0, PA + (line + 4) * LINE_BYTES);
		assert_false(is_cached(sim, 0, PA + line * LINE_BYTES));
	}
	sim_destroy(sim);
}

static void lru_keeps_what_is_used(void **state)
{
	(void)state;
	assert_int_equal(survivors(SIM_LRU), 0x3); /* 2 and 3 were not used again */
}

static void lru_order_is_exact(void **state)
{
	struct sim_machine machine = one_set(SIM_LRU);
	static const unsigned use[] = { 0, 1, 2, 3, 2, 0, 3, 1 }; /* the last four: oldest first */
	struct sim *sim = small_create(&machine);

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		load(sim, 0, PA + use[i] * LINE_BYTES);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(is_cached(sim, 0, PA + use[4 + i] * LINE_BYTES));
		load(sim, 0, PA + (8 + i) * LINE_BYTES);
		assert_false(is_cached(sim, 0, PA + use[4 + i] * LINE_BYTES));
	}
	sim_destroy(sim);
}

/* Twenty ways need more than one vector of ages and tags. */
static void many_ways_in_lru_order(void **state)
{
	struct sim_machine machine = one_set(SIM_LRU);
	struct sim *sim;

	(void)state;
	machine.l1d.bytes = 20 * LINE_BYTES;
	machine.l1d.ways = 20;
	sim = small_create(&machine);
	for (unsigned line = 0; line < 20; line++)
		load(sim, 0, PA + line * LINE_BYTES);
	for (unsigned line = 0; line < 20; line++) {
		assert_true(is_cached(sim, 0, PA + line * LINE_BYTES));
		load(sim, 0, PA + (20 + line) * LINE_BYTES);
		assert_false(is_cached(sim, 0, PA + line * LINE_BYTES));
	}
	sim_destroy(sim);
}

static void random_replacement_uses_all_ways(void **state)
{
	struct sim_machine machine = one_set(SIM_RANDOM);
	struct sim *sim = small_create(&machine);
	unsigned taken = 0;

	(void)state;
	for (unsigned line = 0; line < 4; line++)
		load(sim, 0, PA + line * LINE_BYTES);
	for (unsigned line = 4; line < 64; line++) {
		load(sim, 0, PA + line * LINE_BYTES);
		taken |= 1u << cache_find(&sim->cpu->l1d, 0, PA + line * LINE_BYTES).way;
	}
	assert_int_equal(taken, 0xf);
	sim_destroy(sim);
}

/* An emptied way is filled before a line is thrown out. */
static void empty_ways_are_taken_first(void **state)
{
	struct sim_machine machine = one_set(SIM_ROUND_ROBIN);
	struct sim *sim = small_create(&machine);

	(void)state;
	for (unsigned line = 0; line < 4; line++)
		load(sim, 0, PA + line * LINE_BYTES);
	sim_maintain_data(sim, 0, PA + 2 * LINE_BYTES, SIM_INVALIDATE, SIM_UNIFICATION, false, SIM_OP_DATA_INVALIDATE);
	load(sim, 0, PA + 9 * LINE_BYTES);
	for (unsigned line = 0; line < 4; line++)
		assert_int_equal(is_cached(sim, 0, PA + line * LINE_BYTES), line != 2);
	sim_destroy(sim);
}

static void sets_need_not_be_a_power_of_two(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;

	(void)state;
	machine.l1d.bytes = 3 * 2 * LINE_BYTES; /* 3 sets of 2 ways */
	machine.l2.bytes = 5 * 4 * LINE_BYTES;  /* 5 sets of 4 ways */
	sim = small_create(&machine);
	assert_int_equal(sim->cpu->l1d.sets, 3);
	for (unsigned line = 0; line < 300; line++)
		store(sim, 0, PA + line * LINE_BYTES, line * 7 + 1);
	assert_int_equal(sim->cpu->l1d.valid, 6);
	assert_int_equal(sim->l2.valid, 20);
	for (unsigned line = 0; line < 300; line++)
		assert_int_equal(load(sim, 0, PA + line * LINE_BYTES), line * 7 + 1);
	/* Lines three apart share a set, others do not. */
	assert_int_equal(cache_set(&sim->cpu->l1d, 0, 0), cache_set(&sim->cpu->l1d, 0, 3 * LINE_BYTES));
	assert_int_not_equal(cache_set(&sim->cpu->l1d, 0, 0), cache_set(&sim->cpu->l1d, 0, 4 * LINE_BYTES));
	sim_destroy(sim);
}

/* L1 of 16 KiB, 2 ways: 8 KiB a way, so two colours of pages. */
static struct sim_machine two_colours(enum sim_index index)
{
	struct sim_machine machine = small_machine();

	machine.data_coherent = false;
	machine.l1d.bytes = 16384;
	machine.l1d.index = index;
	return machine;
}

static void aliases_of_other_colour_are_stale(void **state)
{
	struct sim_machine machine = two_colours(SIM_VIPT);
	struct sim *sim = small_create(&machine);
	uintptr_t even = 0x4000, odd = 0x5000, also_even = 0x6000;

	(void)state;
	store(sim, even, PA, 1);
	assert_int_equal(load(sim, odd, PA), 0); /* memory: the 1 is in the even set */
	store(sim, even, PA, 2);
	assert_int_equal(load(sim, odd, PA), 0);
	assert_int_equal(load(sim, also_even, PA), 2); /* equal modulo 8 KiB: the same line */
	sim_maintain_data(sim, even, PA, SIM_FLUSH, SIM_UNIFICATION, false, SIM_OP_DATA_FLUSH);
	assert_int_equal(load(sim, odd, PA), 0); /* its own old line is still there */
	sim_maintain_data(sim, odd, PA, SIM_INVALIDATE, SIM_UNIFICATION, false, SIM_OP_DATA_INVALIDATE);
	assert_int_equal(load(sim, odd, PA), 2);
	sim_destroy(sim);
}

static void the_alias_window_has_two_periods_a_cpu(void **state)
{
	struct sim_machine machine = two_colours(SIM_VIPT);
	struct sim *sim;

	(void)state;
	machine.cpus = 3;
	sim = small_create(&machine);
	assert_int_equal(sim_alias_window(sim) % 8192, 0);
	assert_true(sim_is_alias(sim, sim_alias_window(sim) + 3 * 2 * 8192 - 1));
	assert_false(sim_is_alias(sim, sim_alias_window(sim) + 3 * 2 * 8192));
	assert_false(sim_is_linear(sim, sim_alias_window(sim)));
	sim_destroy(sim);
}

static void physical_index_has_no_aliases(void **state)
{
	struct sim_machine machine = two_colours(SIM_PIPT);
	struct sim *sim = small_create(&machine);

	(void)state;
	assert_int_equal(sim_alias_window(sim), 0);
	store(sim, 0x4000, PA, 1);
	assert_int_equal(load(sim, 0x5000, PA), 1);
	sim_destroy(sim);
}

static void hardware_may_resolve_some_of_the_index(void **state)
{
	struct sim_machine machine = two_colours(SIM_VIPT);
	struct sim *sim;

	(void)state;
	machine.l1d.bytes = 32768; /* 16 KiB a way, of which va gives only 8 KiB */
	machine.colour_bytes = 8192;
	sim = small_create(&machine);
	store(sim, 0x4000, PA, 1);
	assert_int_equal(load(sim, 0x6000, PA), 1);
	assert_int_equal(load(sim, 0x5000, PA), 0);
	assert_int_not_equal(cache_set(&sim->cpu->l1d, 0x4000, 0), cache_set(&sim->cpu->l1d, 0x4000, 0x2000));
	sim_destroy(sim);
}

static void virtual_tags_confuse_spaces_and_aliases(void **state)
{
	struct sim_machine machine = two_colours(SIM_VIVT);
	struct sim *sim = small_create(&machine);
	uintptr_t va = 0x4000, alias = va + 0x100000; /* of the same set */

	(void)state;
	store(sim, va, PA, 1);
	assert_int_equal(load(sim, alias, PA), 0);
	/* The translation of va changes: the line of the old frame still answers. */
	assert_int_equal(load(sim, va, PA + 0x8000), 1);
	sim_maintain_data(sim, va, PA + 0x8000, SIM_FLUSH, SIM_UNIFICATION, false, SIM_OP_DATA_FLUSH);
	assert_int_equal(load(sim, va, PA + 0x8000), 0);
	/* The dirty line knew its own frame. */
	sim_maintain_data(sim, alias, PA, SIM_INVALIDATE, SIM_UNIFICATION, false, SIM_OP_DATA_INVALIDATE);
	assert_int_equal(load(sim, alias, PA), 1);
	sim_destroy(sim);
}

static void dirty_lines_leave_level_by_level(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	struct sim_counts counts;

	(void)state;
	store(sim, 0, PA, 42);
	load(sim, 0, PA + WAY_BYTES);
	assert_true(is_cached(sim, 0, PA));
	load(sim, 0, PA + 2 * WAY_BYTES); /* the third line of a set of two ways */
	assert_false(is_cached(sim, 0, PA));
	sim_counts(sim, &counts);
	assert_int_equal(counts.writebacks, 1);
	assert_int_equal(in_memory(sim, PA), 0);
	for (unsigned i = 1; i <= 4; i++) /* 1024 bytes are a way of L2 */
		load(sim, 0, PA + i * 1024);
	assert_int_equal(in_memory(sim, PA), 42);
	assert_int_equal(load(sim, 0, PA), 42);
	sim_destroy(sim);
}

static void clean_lines_leave_silently(void **state)
{
	struct sim_machine machine = small_machine_without_l2();
	struct sim *sim = small_create(&machine);

	(void)state;
	load(sim, 0, PA);
	sim_uncached_store(sim, PA, 4, 7);
	load(sim, 0, PA + WAY_BYTES);
	load(sim, 0, PA + 2 * WAY_BYTES);
	assert_int_equal(in_memory(sim, PA), 7);
	sim_destroy(sim);
}

static void write_through_leaves_nothing_dirty(void **state)
{
	struct sim_machine machine = small_machine_without_l2();
	struct sim *sim;

	(void)state;
	machine.l1d.write_back = false;
	machine.l1d.write_allocate = false;
	sim = small_create(&machine);
	store(sim, 0, PA, 5); /* misses: not taken */
	assert_false(is_cached(sim, 0, PA));
	assert_int_equal(in_memory(sim, PA), 5);
	load(sim, 0, PA);
	store(sim, 0, PA, 6); /* hits: both */
	assert_int_equal(in_memory(sim, PA), 6);
	assert_int_equal(load(sim, 0, PA), 6);
	assert_int_equal(sim_maintain_data(sim, 0, PA, SIM_FLUSH, SIM_COHERENCY, false, SIM_OP_DATA_FLUSH),
			 SIM_FOUND_CLEAN);
	sim_destroy(sim);
}

static struct sim_machine two_cpus(bool coherent)
{
	struct sim_machine machine = small_machine();

	machine.cpus = 2;
	machine.data_coherent = coherent;
	return machine;
}

static void coherent_cpus_see_each_other(void **state)
{
	struct sim_machine machine = two_cpus(true);
	struct sim *sim = small_create(&machine);

	(void)state;
	store(sim, 0, PA, 1);
	sim_switch(sim, 1);
	assert_int_equal(load(sim, 0, PA), 1);
	store(sim, 0, PA, 2);
	sim_switch(sim, 0);
	assert_false(is_cached(sim, 0, PA)); /* the store took it away */
	assert_int_equal(load(sim, 0, PA), 2);
	store(sim, 0, PA + 4, 3); /* both have it clean; then a part is stored here, another there */
	sim_switch(sim, 1);
	store(sim, 0, PA + 8, 4);
	sim_switch(sim, 0);
	assert_int_equal(load(sim, 0, PA), 2);
	assert_int_equal(load(sim, 0, PA + 4), 3);
	assert_int_equal(load(sim, 0, PA + 8), 4);
	sim_destroy(sim);
}

static void incoherent_cpus_do_not(void **state)
{
	struct sim_machine machine = two_cpus(false);
	struct sim *sim = small_create(&machine);

	(void)state;
	store(sim, 0, PA, 1);
	sim_switch(sim, 1);
	assert_int_equal(load(sim, 0, PA), 0);
	sim_switch(sim, 0);
	sim_maintain_data(sim, 0, PA, SIM_CLEAN, SIM_UNIFICATION, false, SIM_OP_DATA_CLEAN);
	sim_switch(sim, 1);
	assert_int_equal(load(sim, 0, PA), 0);
	sim_maintain_data(sim, 0, PA, SIM_INVALIDATE, SIM_UNIFICATION, false, SIM_OP_DATA_INVALIDATE);
	assert_int_equal(load(sim, 0, PA), 1);
	sim_destroy(sim);
}

static void maintenance_reaches_all_cpus_when_told(void **state)
{
	struct sim_machine machine = two_cpus(false);
	struct sim *sim = small_create(&machine);

	(void)state;
	store(sim, 0, PA, 1);
	sim_switch(sim, 1);
	assert_int_equal(sim_maintain_data(sim, 0, PA, SIM_FLUSH, SIM_UNIFICATION, false, SIM_OP_DATA_FLUSH),
			 SIM_FOUND_NONE);
	assert_int_equal(sim_maintain_data(sim, 0, PA, SIM_FLUSH, SIM_UNIFICATION, true, SIM_OP_DATA_FLUSH),
			 SIM_FOUND_DIRTY);
	assert_int_equal(load(sim, 0, PA), 1);
	sim_destroy(sim);
}

static void outer_cache_is_not_reached_by_address(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;

	(void)state;
	machine.l2_outer = true;
	sim = small_create(&machine);
	store(sim, 0, PA, 9);
	sim_maintain_data(sim, 0, PA, SIM_CLEAN, SIM_COHERENCY, false, SIM_OP_DATA_CLEAN);
	assert_int_equal(in_memory(sim, PA), 0);
	assert_int_equal(sim_maintain_outer(sim, PA, SIM_CLEAN), SIM_FOUND_DIRTY);
	assert_int_equal(in_memory(sim, PA), 9);
	sim_destroy(sim);

	machine.l2_outer = false;
	sim = small_create(&machine);
	store(sim, 0, PA, 9);
	sim_maintain_data(sim, 0, PA, SIM_CLEAN, SIM_UNIFICATION, false, SIM_OP_DATA_CLEAN);
	assert_int_equal(in_memory(sim, PA), 0);
	sim_maintain_data(sim, 0, PA, SIM_CLEAN, SIM_COHERENCY, false, SIM_OP_DATA_CLEAN);
	assert_int_equal(in_memory(sim, PA), 9);
	sim_destroy(sim);
}

static void contradictions_are_refused(void **state)
{
	struct sim_machine machine = small_machine();
	const char *why = NULL;

	(void)state;
	machine.l1d.line_bytes = 48;
	assert_null(sim_create(&machine, &why));
	assert_non_null(why);
	machine = small_machine();
	machine.l2.line_bytes = 64;
	assert_null(sim_create(&machine, &why));
	machine = small_machine();
	machine.cpus = 65;
	assert_null(sim_create(&machine, &why));
	machine = small_machine();
	machine.l1d.index = SIM_VIVT; /* and data_coherent */
	assert_null(sim_create(&machine, &why));
	machine = small_machine();
	machine.memory_bytes = 1ull << 31;
	assert_null(sim_create(&machine, &why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_robin_forgets_use),
		cmocka_unit_test(round_robin_goes_round),
		cmocka_unit_test(lru_keeps_what_is_used),
		cmocka_unit_test(lru_order_is_exact),
		cmocka_unit_test(many_ways_in_lru_order),
		cmocka_unit_test(random_replacement_uses_all_ways),
		cmocka_unit_test(empty_ways_are_taken_first),
		cmocka_unit_test(sets_need_not_be_a_power_of_two),
		cmocka_unit_test(aliases_of_other_colour_are_stale),
		cmocka_unit_test(the_alias_window_has_two_periods_a_cpu),
		cmocka_unit_test(physical_index_has_no_aliases),
		cmocka_unit_test(hardware_may_resolve_some_of_the_index),
		cmocka_unit_test(virtual_tags_confuse_spaces_and_aliases),
		cmocka_unit_test(dirty_lines_leave_level_by_level),
		cmocka_unit_test(clean_lines_leave_silently),
		cmocka_unit_test(write_through_leaves_nothing_dirty),
		cmocka_unit_test(coherent_cpus_see_each_other),
		cmocka_unit_test(incoherent_cpus_do_not),
		cmocka_unit_test(maintenance_reaches_all_cpus_when_told),
		cmocka_unit_test(outer_cache_is_not_reached_by_address),
		cmocka_unit_test(contradictions_are_refused),
	};

	return cmocka_run_group_tests_name("sim_cache", tests, NULL, NULL);
}
