/*
 * The store buffer: forwards between addresses equal modulo its period, and to nobody else.
 *
 * An x86-64 machine with a physically indexed cache, so that what fails is the buffer. One frame is
 * mapped at A, at NEAR (not equal modulo the period) and at FAR (equal).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/bare.h"

#define PERIOD  0x10000u
#define A       0x20000u
#define NEAR    (A + 0x8000u)
#define FAR     (A + PERIOD)
#define ENTRIES 4u

static void start(struct bare *b, uint32_t entries, uint64_t period_bytes)
{
	struct sim_machine m = bare_machine(SIM_X86_64);
	static const uintptr_t addresses[] = {A, NEAR, FAR};

	m.store_buffer = entries;
	m.store_buffer_bytes = period_bytes;
	bare_start(b, &m);
	for (unsigned i = 0; i < 3; i++)
		bare_x86_map(b, addresses[i], BARE_FRAME(0) | BARE_X86_PAGE);
	x86_mfence(b->hw);
	x86_set_cr3(b->hw, BARE_ROOT);
}

static uint64_t load(struct bare *b, uintptr_t va, unsigned bytes)
{
	uint64_t value = 0;

	assert_int_equal(sim_load(b->sim, va, bytes, &value), 0);
	return value;
}

static void store(struct bare *b, uintptr_t va, unsigned bytes, uint64_t value)
{
	assert_int_equal(sim_store(b->sim, va, bytes, value), 0);
}

static void an_alias_not_equal_modulo_the_period_reads_old_data(void **state)
{
	struct bare b;

	(void)state;
	start(&b, ENTRIES, PERIOD);
	store(&b, A, 4, 0x1111);
	x86_mfence(b.hw);
	store(&b, A, 4, 0x2222);
	assert_int_equal(load(&b, A, 4), 0x2222);
	assert_int_equal(load(&b, FAR, 4), 0x2222);
	assert_int_equal(sim_violations(b.sim), 0);
	assert_int_equal(load(&b, NEAR, 4), 0x1111);
	assert_int_equal(sim_violations(b.sim), 1);
	x86_mfence(b.hw);
	assert_int_equal(load(&b, NEAR, 4), 0x2222);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

static void with_period_0_only_the_same_address_forwards(void **state)
{
	struct bare b;

	(void)state;
	start(&b, ENTRIES, 0);
	store(&b, A, 4, 0x2222);
	assert_int_equal(load(&b, A, 4), 0x2222);
	assert_int_equal(load(&b, FAR, 4), 0);
	bare_end(&b);
}

static void without_entries_it_is_exact(void **state)
{
	struct bare b;

	(void)state;
	start(&b, 0, 0);
	store(&b, A, 4, 0x2222);
	assert_int_equal(load(&b, NEAR, 4), 0x2222);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

static void the_oldest_leaves_when_it_is_full(void **state)
{
	struct bare b;

	(void)state;
	start(&b, ENTRIES, PERIOD);
	store(&b, A, 4, 0x2222);
	for (unsigned n = 1; n < ENTRIES; n++)
		store(&b, A + 64 * n, 4, n);
	assert_int_equal(load(&b, NEAR, 4), 0);
	store(&b, A + 64 * ENTRIES, 4, ENTRIES);
	assert_int_equal(load(&b, NEAR, 4), 0x2222);
	assert_int_equal(load(&b, NEAR + 64, 4), 0);
	bare_end(&b);
}

static void parts_and_wholes(void **state)
{
	struct bare b;

	(void)state;
	start(&b, ENTRIES, PERIOD);
	store(&b, A, 8, 0x8877665544332211);
	assert_int_equal(load(&b, A + 2, 2), 0x4433);
	assert_int_equal(load(&b, FAR + 7, 1), 0x88);
	/* The youngest counts. */
	store(&b, A + 2, 2, 0xbeef);
	assert_int_equal(load(&b, A + 3, 1), 0xbe);
	/* A load that a store covers in part waits for it, and for what is older. */
	assert_int_equal(load(&b, A, 8), 0x88776655beef2211);
	assert_int_equal(load(&b, NEAR, 8), 0x88776655beef2211);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* What is not a plain load or store comes after the buffered stores. */
static void others_drain_it(void **state)
{
	struct bare b;
	uint8_t byte = 0;

	(void)state;
	start(&b, ENTRIES, PERIOD);
	store(&b, A, 4, 0x22);
	assert_int_equal(sim_read(b.sim, NEAR, &byte, 1), 0);
	assert_int_equal(byte, 0x22);
	store(&b, A, 4, 0x33);
	x86_clflush(b.hw, b.base + BARE_FRAME(0));
	assert_int_equal(load(&b, NEAR, 4), 0x33);
	store(&b, A, 8, 0x44);
	assert_true(x86_cmpxchg(b.hw, b.base + BARE_FRAME(0), 0x44, 0x55));
	assert_int_equal(load(&b, NEAR, 4), 0x55);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_alias_not_equal_modulo_the_period_reads_old_data),
		cmocka_unit_test(with_period_0_only_the_same_address_forwards),
		cmocka_unit_test(without_entries_it_is_exact),
		cmocka_unit_test(the_oldest_leaves_when_it_is_full),
		cmocka_unit_test(parts_and_wholes),
		cmocka_unit_test(others_drain_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
