/*
 * Devices: coherent ones see what caches hold and leave nothing stale; others see and change memory alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/small_machine.h"

#define PA 0x100000u

static uintptr_t at(const struct sim *sim, uint64_t offset)
{
	return sim_kernel_base(sim) + PA + offset;
}

static void a_device_misses_what_was_not_written_back(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint8_t bytes[100];

	(void)state;
	sim_label(sim, 3);
	sim_store(sim, at(sim, 40), 4, 0x55);
	sim_dma_from_memory(sim, PA, bytes, sizeof(bytes));
	assert_int_equal(bytes[40], 0);
	assert_int_equal(sim_violations(sim), 1);
	assert_int_equal(sim_violation(sim, 0)->observer, SIM_PARTY_DEVICE);
	assert_int_equal(sim_violation(sim, 0)->va, 0);
	assert_int_equal(sim_violation(sim, 0)->pa, PA + 40);
	assert_int_equal(sim_violation(sim, 0)->writer_label, 3);

	sim_maintain_data(sim, at(sim, 40), PA + 40, SIM_CLEAN, SIM_COHERENCY, false, SIM_OP_DATA_CLEAN);
	sim_dma_from_memory(sim, PA, bytes, sizeof(bytes));
	assert_int_equal(bytes[40], 0x55);
	assert_int_equal(sim_violations(sim), 1);
	sim_destroy(sim);
}

static void a_cached_line_hides_what_a_device_wrote(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint32_t word = 0x77;
	uint64_t value;

	(void)state;
	sim_load(sim, at(sim, 0), 4, &value);
	sim_dma_to_memory(sim, PA, &word, sizeof(word));
	sim_load(sim, at(sim, 0), 4, &value);
	assert_int_equal(value, 0);
	assert_int_equal(sim_violations(sim), 1);
	assert_int_equal(sim_violation(sim, 0)->writer, SIM_PARTY_DEVICE);
	/* L1 alone is not enough: L2 has the old line too. */
	sim_maintain_data(sim, at(sim, 0), PA, SIM_INVALIDATE, SIM_UNIFICATION, false, SIM_OP_DATA_INVALIDATE);
	sim_load(sim, at(sim, 0), 4, &value);
	assert_int_equal(value, 0);
	sim_maintain_data(sim, at(sim, 0), PA, SIM_INVALIDATE, SIM_COHERENCY, false, SIM_OP_DATA_INVALIDATE);
	sim_load(sim, at(sim, 0), 4, &value);
	assert_int_equal(value, 0x77);
	assert_int_equal(sim_violations(sim), 2);
	sim_destroy(sim);
}

/* A dirty line that leaves the cache after the transfer destroys it. */
static void a_late_write_back_destroys_a_transfer(void **state)
{
	struct sim_machine machine = small_machine_without_l2();
	struct sim *sim = small_create(&machine);
	uint8_t bytes[32];
	uint64_t value;

	(void)state;
	memset(bytes, 9, sizeof(bytes));
	sim_store(sim, at(sim, 0), 4, 1);
	sim_dma_to_memory(sim, PA, bytes, sizeof(bytes));
	sim_load(sim, at(sim, 512), 4, &value);
	sim_load(sim, at(sim, 1024), 4, &value); /* two more lines of the set: the dirty one leaves */
	assert_int_equal(sim_violations(sim), 0);
	sim_load(sim, at(sim, 8), 4, &value);
	assert_int_equal(value, 0);
	assert_int_equal(sim_violations(sim), 1);
	sim_destroy(sim);
}

/* Stores, loads and transfers in turn, on lines in every state, whole and in part. */
static void coherent_devices_never_see_or_leave_stale_bytes(const struct sim_machine *machine)
{
	struct sim *sim = small_create(machine);
	uint8_t expected[4096] = { 0 }, bytes[200];
	uint32_t seed = 7;

	for (unsigned i = 0; i < 3000; i++) {
		size_t offset, length;

		seed = seed * 1664525u + 1013904223u;
		offset = (seed >> 8) % (sizeof(expected) - sizeof(bytes));
		length = 1 + (seed >> 20) % sizeof(bytes);
		sim_switch(sim, (seed >> 4) % machine->cpus);
		memset(bytes, (int)i, length);
		switch ((seed >> 28) % 4) {
		case 0:
			sim_write(sim, at(sim, offset), bytes, length);
			memcpy(expected + offset, bytes, length);
			break;
		case 1:
			sim_dma_to_memory(sim, PA + offset, bytes, length);
			memcpy(expected + offset, bytes, length);
			break;
		case 2:
			sim_read(sim, at(sim, offset), bytes, length);
			assert_memory_equal(bytes, expected + offset, length);
			break;
		default:
			sim_dma_from_memory(sim, PA + offset, bytes, length);
			assert_memory_equal(bytes, expected + offset, length);
		}
	}
	assert_int_equal(sim_violations(sim), 0);
	sim_destroy(sim);
}

static void coherent_devices(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 12; variant++) {
		struct sim_machine machine = small_machine();

		machine.dma_coherent = true;
		machine.cpus = variant & 1 ? 3 : 1;
		machine.l1d.write_back = !(variant & 2);
		machine.l2.bytes = 1024; /* less than the test uses: lines leave */
		if (variant / 4 == 1)
			machine.l2.write_back = false;
		if (variant / 4 == 2)
			machine.l2.bytes = 0;
		coherent_devices_never_see_or_leave_stale_bytes(&machine);
	}
}

static void transfers_cost_the_cpu_nothing(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;
	uint8_t bytes[4096] = { 1 };
	uint64_t before;

	(void)state;
	machine.dma_coherent = true;
	sim = small_create(&machine);
	sim_write(sim, at(sim, 0), bytes, sizeof(bytes));
	before = sim_ticks(sim);
	sim_dma_to_memory(sim, PA, bytes, sizeof(bytes));
	sim_dma_from_memory(sim, PA, bytes, sizeof(bytes));
	assert_int_equal(sim_ticks(sim), before);
	sim_destroy(sim);
}

static void beyond_memory_nothing_answers(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint8_t bytes[64];

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	sim_dma_to_memory(sim, machine.memory_bytes - 32, bytes, sizeof(bytes));
	sim_dma_from_memory(sim, machine.memory_bytes - 32, bytes, sizeof(bytes));
	assert_int_equal(bytes[31], 0xff);
	assert_int_equal(bytes[32], 0);
	assert_int_equal(sim_violations(sim), 0);
	sim_destroy(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_misses_what_was_not_written_back),
		cmocka_unit_test(a_cached_line_hides_what_a_device_wrote),
		cmocka_unit_test(a_late_write_back_destroys_a_transfer),
		cmocka_unit_test(coherent_devices),
		cmocka_unit_test(transfers_cost_the_cpu_nothing),
		cmocka_unit_test(beyond_memory_nothing_answers),
	};

	return cmocka_run_group_tests_name("sim_dma", tests, NULL, NULL);
}
