/*
 * A machine small enough to work out by hand: see small_machine.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/small_machine.h"

struct sim_machine small_machine(void)
{
	struct sim_cache l1 = {
		.bytes = 1024,
		.ways = 2,
		.line_bytes = 32,
		.index = SIM_PIPT,
		.replace = SIM_ROUND_ROBIN,
		.write_back = true,
		.write_allocate = true,
	};
	struct sim_cache l2 = l1;

	l2.bytes = 4096;
	l2.ways = 4;
	return (struct sim_machine){
		.name = "small",
		.isa = SIM_ARMV7,
		.cpus = 1,
		.clock_hz = 1000000000,
		.memory_bytes = 16 << 20,
		.kernel_text_bytes = 65536,
		.l1i = l1,
		.l1d = l1,
		.l2 = l2,
		.tlb = { .entries = 16, .ways = 16, .tagged = true },
		.asid_bits = 8,
		.data_coherent = true,
		.cost = {
			.l1_line = SMALL_LINE,
			.l1_access = SMALL_ACCESS,
			.l2_read = SMALL_L2_READ,
			.l2_write = SMALL_L2_WRITE,
			.memory_read = SMALL_MEMORY_READ,
			.memory_write = SMALL_MEMORY_WRITE,
			.fetch_line = SMALL_FETCH,
		},
	};
}

struct sim_machine small_machine_without_l2(void)
{
	struct sim_machine machine = small_machine();

	machine.l2.bytes = 0;
	return machine;
}

struct sim *small_create(const struct sim_machine *machine)
{
	const char *why;
	struct sim *sim = sim_create(machine, &why);

	if (!sim)
		fail_msg("sim_create: %s", why);
	return sim;
}
