/*
 * A machine that is saved as bytes tells of every byte of its bulk that it writes: memory, the
 * witness's copies, lines of caches, maintenance that waits. Random operations on small machines of
 * different make; after each the whole bulk is compared with what it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <insn/armv7.h>

#include "sim/adversary.h"
#include "tests/support/small_machine.h"

enum {
	FRAMES = 16,
	BULK_BYTES = 64 * QUIRE_PAGE_BYTES, /* more than a machine takes */
	GRANULES = BULK_BYTES / SIM_GRANULE_BYTES,
	OPERATIONS = 3000,
	UNCACHED_VA = 0x400000,
};

/* A host that saves machines: bulk lies in one block, records anywhere. */
struct host {
	struct sim_touched touched;
	uint64_t granules[GRANULES / 64];
	size_t used;
	uint8_t before[BULK_BYTES];
};

static void *host_alloc(void *context, size_t bytes, size_t align)
{
	struct host *host = context;
	void *memory;

	if (align == QUIRE_PAGE_BYTES) {
		memory = host->touched.base + host->used;
		host->used += (bytes + QUIRE_PAGE_MASK) & ~(size_t)QUIRE_PAGE_MASK;
		assert_true(host->used <= BULK_BYTES);
		return memory;
	}
	memory = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
	assert_non_null(memory);
	return memset(memory, 0, bytes);
}

static void host_free(void *context, void *memory)
{
	struct host *host = context;
	uint8_t *at = memory;

	if (at < host->touched.base || at >= host->touched.base + BULK_BYTES)
		free(memory);
}

static struct host *host_create(void)
{
	struct host *host = calloc(1, sizeof(*host));

	assert_non_null(host);
	host->touched.base = calloc(1, BULK_BYTES);
	assert_non_null(host->touched.base);
	host->touched.granules = host->granules;
	return host;
}

static void host_destroy(struct host *host)
{
	free(host->touched.base);
	free(host);
}

/* What differs from `before` was told; result: granules told. From now on it is `before`. */
static unsigned assert_told(struct host *host)
{
	unsigned told = 0;

	for (size_t n = 0; n < GRANULES; n++) {
		size_t at = n * SIM_GRANULE_BYTES;
		bool touched = host->granules[n / 64] >> n % 64 & 1;

		if (!touched &&
		    memcmp(host->before + at, host->touched.base + at, SIM_GRANULE_BYTES) != 0)
			fail_msg("granule %zu changed and nobody told", n);
		told += touched;
	}
	memcpy(host->before, host->touched.base, BULK_BYTES);
	memset(host->granules, 0, sizeof(host->granules));
	return told;
}

static struct sim *start(struct host *host, struct sim_machine machine)
{
	struct sim_allocator allocator = {host, host_alloc, host_free, &host->touched};
	struct sim_options options = {.asynchronous = true};
	const char *why;
	struct sim *sim;

	machine.memory_bytes = FRAMES * QUIRE_PAGE_BYTES;
	machine.kernel_text_bytes = QUIRE_PAGE_BYTES;
	machine.copy_text_bytes = 256; /* leaves room in L1 I */
	sim = sim_create_in(&machine, &allocator, &why);
	assert_non_null(sim);
	assert_int_equal(sim_set_options(sim, &options), 0);
	assert_int_equal(sim_map_bare(sim, UNCACHED_VA, 3 * QUIRE_PAGE_BYTES, true), 0);
	assert_told(host);
	return sim;
}

/* Lines leave the outer cache by maintenance, L1 D and L2 by themselves. */
static void leave(struct sim *sim, quire_pa_t pa, uint32_t random)
{
	struct quire_hw *hw = (struct quire_hw *)sim;
	quire_pa_t outer = armv7_pl310_base(hw);

	if (outer) {
		armv7_device_store(hw, outer + 0x7f0, (uint32_t)pa & ~31u); /* flush */
		armv7_device_store(hw, outer + 0x730, 0);                   /* sync */
	}
	sim_evict(sim, 0, SIM_WHICH_L1D, random % 16, 0);
	if (sim_machine(sim)->l2.bytes)
		sim_evict(sim, 0, SIM_WHICH_L2, random % 32, random / 32 % 4);
}

/* One of twelve operations at pa, with bytes that follow from `random`. */
static void operate(struct sim *sim, unsigned operation, quire_pa_t pa, uint32_t random)
{
	struct quire_hw *hw = (struct quire_hw *)sim;
	uint64_t bytes[64] = {random, random + 1, random + 2}, value;
	uintptr_t va = sim_kernel_base(sim) + pa, piece = va & ~(uintptr_t)(sizeof(bytes) - 1);

	switch (operation) {
	case 0:
		sim_store(sim, va, 8, random);
		break;
	case 1:
		sim_load(sim, va, 8, &value);
		break;
	case 2:
		sim_fetch(sim, va, &value);
		break;
	case 3:
		sim_write(sim, va, bytes, sizeof(bytes));
		break;
	case 4:
		sim_copy(sim, piece ^ 0x2000, piece, sizeof(bytes));
		break;
	case 5:
		sim_clear(sim, piece, sizeof(bytes));
		break;
	case 6:
		sim_dma_to_memory(sim, pa, bytes, sizeof(bytes));
		break;
	case 7:
		sim_store(sim, UNCACHED_VA + (pa & QUIRE_PAGE_MASK), 8, random);
		break;
	case 8:
		armv7_dccmvac(hw, va);
		break;
	case 9:
		armv7_dccimvac(hw, va);
		break;
	case 10:
		armv7_dsb(hw);
		break;
	default:
		leave(sim, pa, random);
	}
}

static void run(struct sim_machine machine)
{
	struct host *host = host_create();
	struct sim *sim = start(host, machine);
	uint32_t random = 1;

	for (unsigned n = 0; n < OPERATIONS; n++) {
		random = random * 1664525u + 1013904223u;
		/* few lines, so that they are met again */
		operate(sim, (random >> 16) % 12, random >> 8 & 0x23f8, random);
		assert_told(host);
	}
	sim_destroy(sim);
	host_destroy(host);
}

static void test_write_back(void **state)
{
	struct sim_machine machine = small_machine();

	(void)state;
	run(machine);
	machine.l2.bytes = 0;
	run(machine);
}

static void test_write_through(void **state)
{
	struct sim_machine machine = small_machine();

	(void)state;
	machine.l1d.write_back = machine.l1d.write_allocate = false;
	run(machine);
	machine.l2.write_back = machine.l2.write_allocate = false;
	run(machine);
	machine.l2.bytes = 0;
	run(machine);
}

static void test_outer_cache(void **state)
{
	struct sim_machine machine = small_machine();

	(void)state;
	machine.l2_outer = true;
	run(machine);
}

static void test_coherent(void **state)
{
	struct sim_machine machine = small_machine();

	(void)state;
	machine.dma_coherent = machine.insn_snoops_data = true;
	run(machine);
	machine.l2.write_back = machine.l2.write_allocate = false;
	run(machine);
}

/* And of little more: what changes nothing is not told. */
static void test_a_hit_tells_nothing(void **state)
{
	struct host *host = host_create();
	struct sim *sim = start(host, small_machine());
	uint64_t value;

	(void)state;
	sim_load(sim, sim_kernel_base(sim), 8, &value);
	assert_in_range(assert_told(host), 1, 2); /* a line of L1 and one of L2 */
	sim_load(sim, sim_kernel_base(sim), 8, &value);
	assert_int_equal(assert_told(host), 0);
	sim_destroy(sim);
	host_destroy(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_back),          cmocka_unit_test(test_write_through),
		cmocka_unit_test(test_outer_cache),         cmocka_unit_test(test_coherent),
		cmocka_unit_test(test_a_hit_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
