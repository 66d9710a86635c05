/*
 * The witness: which reads it objects to, what it says of them, and what it leaves alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/small_machine.h"

#define PA 0x100000u
#define LINE_BYTES 32u

static uintptr_t at(const struct sim *sim, uint64_t offset)
{
	return sim_kernel_base(sim) + PA + offset;
}

static void invalidate(struct sim *sim, uint64_t offset)
{
	sim_maintain_data(sim, at(sim, offset), PA + offset, SIM_INVALIDATE, SIM_COHERENCY, false,
			  SIM_OP_DATA_INVALIDATE);
}

static void clean_runs_have_no_violations(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint8_t bytes[8192];
	uint64_t value;

	(void)state;
	memset(bytes, 0x5a, sizeof(bytes));
	sim_write(sim, at(sim, 100), bytes, sizeof(bytes));
	sim_store(sim, at(sim, 104), 8, 77);
	sim_load(sim, at(sim, 104), 8, &value);
	sim_read(sim, at(sim, 0), bytes, sizeof(bytes));
	sim_maintain_data(sim, at(sim, 96), PA + 96, SIM_FLUSH, SIM_COHERENCY, false, SIM_OP_DATA_FLUSH);
	sim_read(sim, at(sim, 0), bytes, sizeof(bytes));
	assert_int_equal(sim_violations(sim), 0);
	assert_null(sim_violation(sim, 0));
	sim_destroy(sim);
}

static void a_lost_write_is_seen_and_described(void **state)
{
	struct sim_machine machine = small_machine();
	const struct sim_violation *violation;
	struct sim *sim;
	uint64_t value;

	(void)state;
	machine.cpus = 3;
	sim = small_create(&machine);
	sim_switch(sim, 2);
	sim_label(sim, 0x123456);
	sim_store(sim, at(sim, 8), 4, 0x11223344);
	invalidate(sim, 8); /* dirty: the store is lost */
	assert_int_equal(sim_violations(sim), 0); /* nobody has read yet */
	sim_switch(sim, 1);
	sim_label(sim, 7);
	sim_load(sim, at(sim, 8), 8, &value);
	assert_int_equal(value, 0);
	assert_int_equal(sim_violations(sim), 1);
	violation = sim_violation(sim, 0);
	assert_non_null(violation);
	assert_int_equal(violation->observer, SIM_PARTY_KERNEL);
	assert_int_equal(violation->cpu, 1);
	assert_int_equal(violation->va, at(sim, 8));
	assert_int_equal(violation->pa, PA + 8);
	assert_int_equal(violation->bytes, 8);
	assert_int_equal(violation->expected, 0x11223344);
	assert_int_equal(violation->got, 0);
	assert_int_equal(violation->writer, SIM_PARTY_KERNEL);
	assert_int_equal(violation->writer_cpu, 2);
	assert_int_equal(violation->writer_label, 0x123456);
	assert_int_equal(violation->label, 7);
	sim_destroy(sim);
}

static void a_clean_line_may_be_dropped(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint64_t value;

	(void)state;
	sim_store(sim, at(sim, 0), 4, 5);
	sim_maintain_data(sim, at(sim, 0), PA, SIM_CLEAN, SIM_COHERENCY, false, SIM_OP_DATA_CLEAN);
	invalidate(sim, 0);
	sim_load(sim, at(sim, 0), 4, &value);
	assert_int_equal(value, 5);
	assert_int_equal(sim_violations(sim), 0);
	sim_destroy(sim);
}

/* The stale bytes are copied on; the copy is what the program stored, and reading it is no mistake. */
static void one_mistake_does_not_spread(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint8_t bytes[64];

	(void)state;
	memset(bytes, 1, sizeof(bytes));
	sim_write(sim, at(sim, 0), bytes, sizeof(bytes));
	invalidate(sim, 32);
	sim_copy(sim, at(sim, 4096), at(sim, 0), sizeof(bytes));
	assert_int_equal(sim_violations(sim), 1);
	sim_read(sim, at(sim, 4096), bytes, sizeof(bytes));
	assert_int_equal(bytes[31], 1);
	assert_int_equal(bytes[32], 0);
	assert_int_equal(sim_violations(sim), 1);
	sim_destroy(sim);
}

/* In a bulk read each stale line counts, and the first byte that differs is named. */
static void bulk_reads_name_line_and_byte(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint8_t bytes[4096];

	(void)state;
	sim_store(sim, at(sim, 40), 4, 0xaa00); /* byte 41 is 0xaa */
	sim_store(sim, at(sim, 2047), 1, 0xbb);
	invalidate(sim, 40);
	invalidate(sim, 2047);
	sim_read(sim, at(sim, 4), bytes, sizeof(bytes));
	assert_int_equal(sim_violations(sim), 2);
	assert_int_equal(sim_violation(sim, 0)->pa, PA + 41);
	assert_int_equal(sim_violation(sim, 0)->va, at(sim, 41));
	assert_int_equal(sim_violation(sim, 0)->expected, 0xaa);
	assert_int_equal(sim_violation(sim, 1)->pa, PA + 2047);
	assert_int_equal(sim_violation(sim, 1)->bytes, 1); /* the line ends there */
	sim_destroy(sim);
}

static void only_the_first_are_kept(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint64_t value;

	(void)state;
	sim_store(sim, at(sim, 0), 4, 5);
	invalidate(sim, 0);
	for (unsigned i = 0; i < SIM_VIOLATIONS_KEPT + 5; i++) {
		sim_label(sim, i);
		sim_load(sim, at(sim, 0), 4, &value);
	}
	assert_int_equal(sim_violations(sim), SIM_VIOLATIONS_KEPT + 5);
	assert_int_equal(sim_violation(sim, SIM_VIOLATIONS_KEPT - 1)->label, SIM_VIOLATIONS_KEPT - 1);
	assert_null(sim_violation(sim, SIM_VIOLATIONS_KEPT));
	sim_destroy(sim);
}

/* An old dirty line written back over what somebody else wrote meanwhile. */
static void an_old_line_written_over_newer_data_is_seen(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;
	uint64_t value;

	(void)state;
	machine.cpus = 2;
	machine.data_coherent = false;
	sim = small_create(&machine);
	sim_store(sim, at(sim, 0), 4, 1);
	sim_switch(sim, 1);
	sim_store(sim, at(sim, 8), 4, 2);
	sim_maintain_data(sim, at(sim, 0), PA, SIM_FLUSH, SIM_COHERENCY, false, SIM_OP_DATA_FLUSH);
	sim_switch(sim, 0);
	sim_maintain_data(sim, at(sim, 0), PA, SIM_FLUSH, SIM_COHERENCY, false, SIM_OP_DATA_FLUSH);
	assert_int_equal(sim_violations(sim), 0);
	sim_load(sim, at(sim, 8), 4, &value);
	assert_int_equal(value, 0);
	assert_int_equal(sim_violations(sim), 1);
	assert_int_equal(sim_violation(sim, 0)->writer_cpu, 1);
	sim_destroy(sim);
}

/* A walker that reads memory misses the entry in the cache; one that reads L1 does not. */
static void walkers_are_observers(void **state)
{
	static const unsigned seen[] = {
		[SIM_LEVEL_L1] = 0,
		[SIM_LEVEL_L2] = 1,
		[SIM_LEVEL_MEMORY] = 1,
	};

	(void)state;
	for (unsigned level = SIM_LEVEL_L1; level <= SIM_LEVEL_MEMORY; level++) {
		struct sim_machine machine = small_machine();
		struct sim *sim;

		machine.walker = (enum sim_level)level;
		sim = small_create(&machine);
		sim_store(sim, at(sim, 16), 4, 0x80);
		assert_int_equal(sim_walker_read(sim, PA + 16, 4), seen[level] ? 0 : 0x80);
		assert_int_equal(sim_violations(sim), seen[level]);
		if (seen[level])
			assert_int_equal(sim_violation(sim, 0)->observer, SIM_PARTY_WALKER);
		/* At L2 a clean to the point of unification is enough; memory needs more. */
		sim_maintain_data(sim, at(sim, 0), PA, SIM_CLEAN, SIM_UNIFICATION, false, SIM_OP_DATA_CLEAN);
		assert_int_equal(sim_walker_read(sim, PA + 16, 4), level == SIM_LEVEL_MEMORY ? 0 : 0x80);
		sim_maintain_data(sim, at(sim, 0), PA, SIM_CLEAN, SIM_COHERENCY, false, SIM_OP_DATA_CLEAN);
		assert_int_equal(sim_walker_read(sim, PA + 16, 4), 0x80);
		sim_destroy(sim);
	}
}

static void walkers_that_write_are_writers(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;
	uint64_t value;

	(void)state;
	machine.walker = SIM_LEVEL_L1;
	sim = small_create(&machine);
	sim_walker_write(sim, PA, 8, 0x60);
	sim_load(sim, at(sim, 0), 8, &value);
	assert_int_equal(value, 0x60);
	invalidate(sim, 0);
	sim_load(sim, at(sim, 0), 8, &value);
	assert_int_equal(sim_violation(sim, 0)->writer, SIM_PARTY_WALKER);
	sim_destroy(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_runs_have_no_violations),
		cmocka_unit_test(a_lost_write_is_seen_and_described),
		cmocka_unit_test(a_clean_line_may_be_dropped),
		cmocka_unit_test(one_mistake_does_not_spread),
		cmocka_unit_test(bulk_reads_name_line_and_byte),
		cmocka_unit_test(only_the_first_are_kept),
		cmocka_unit_test(an_old_line_written_over_newer_data_is_seen),
		cmocka_unit_test(walkers_are_observers),
		cmocka_unit_test(walkers_that_write_are_writers),
	};

	return cmocka_run_group_tests_name("sim_witness", tests, NULL, NULL);
}
