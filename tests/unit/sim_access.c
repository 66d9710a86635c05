/*
 * Accesses: what they cost, to the tick, and that bulk ones move the right bytes on every kind of machine.
 *
 * Prices of the small machine are powers of ten (small_machine.h): a sum says in its digits what was charged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/small_machine.h"

#define LINE_BYTES 32u

/* What the call costs the current CPU. */
#define COST(sim, call)                                                                            \
	({                                                                                         \
		uint64_t before_ = sim_ticks(sim);                                                 \
		(void)(call);                                                                      \
		sim_ticks(sim) - before_;                                                          \
	})

static uintptr_t at(const struct sim *sim, uint64_t offset)
{
	return sim_kernel_base(sim) + 0x100000 + offset;
}

static void loads_and_stores_cost_what_they_touch(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uint64_t value;

	(void)state;
	assert_int_equal(COST(sim, sim_load(sim, at(sim, 0), 4, &value)), SMALL_ACCESS + SMALL_MEMORY_READ);
	assert_int_equal(COST(sim, sim_load(sim, at(sim, 28), 4, &value)), SMALL_ACCESS);
	assert_int_equal(COST(sim, sim_store(sim, at(sim, 8), 8, 1)), SMALL_ACCESS);
	assert_int_equal(COST(sim, sim_store(sim, at(sim, 512), 8, 1)), SMALL_ACCESS + SMALL_MEMORY_READ);
	/* The third line of the set throws out the first, which is dirty and in L2. */
	assert_int_equal(COST(sim, sim_load(sim, at(sim, 1024), 1, &value)),
			 SMALL_ACCESS + SMALL_MEMORY_READ + SMALL_L2_WRITE);
	assert_int_equal(COST(sim, sim_load(sim, at(sim, 8), 8, &value)),
			 SMALL_ACCESS + SMALL_L2_READ + SMALL_L2_WRITE);
	assert_int_equal(value, 1);
	sim_destroy(sim);
}

static void memory_prices_where_there_is_no_l2(void **state)
{
	struct sim_machine machine = small_machine_without_l2();
	struct sim *sim = small_create(&machine);
	uint64_t value;

	(void)state;
	sim_store(sim, at(sim, 0), 4, 1);
	sim_load(sim, at(sim, 512), 4, &value);
	assert_int_equal(COST(sim, sim_load(sim, at(sim, 1024), 4, &value)),
			 SMALL_ACCESS + SMALL_MEMORY_READ + SMALL_MEMORY_WRITE);
	sim_destroy(sim);
}

static void copies_cost_line_by_line(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);

	(void)state;
	/* Two lines read, two written whole: those are not read first. */
	assert_int_equal(COST(sim, sim_copy(sim, at(sim, 4096), at(sim, 0), 2 * LINE_BYTES)),
			 4 * SMALL_LINE + 2 * SMALL_MEMORY_READ);
	assert_int_equal(COST(sim, sim_copy(sim, at(sim, 4096), at(sim, 0), 2 * LINE_BYTES)), 4 * SMALL_LINE);
	/* A part of a line is read first; two lines touched on the side that crosses. */
	assert_int_equal(COST(sim, sim_clear(sim, at(sim, 8192 + 16), LINE_BYTES)),
			 2 * SMALL_LINE + 2 * SMALL_MEMORY_READ);
	sim_destroy(sim);
}

static void whole_lines_are_filled_where_the_cache_does_so(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;

	(void)state;
	machine.l1d.fill_whole = true;
	sim = small_create(&machine);
	assert_int_equal(COST(sim, sim_clear(sim, at(sim, 0), LINE_BYTES)), SMALL_LINE + SMALL_MEMORY_READ);
	sim_destroy(sim);
}

static void dirty_lines_of_l2_cost_memory_writes(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);

	(void)state;
	/* Six lines of one set of L1 (2 ways) and of L2 (4 ways): 4 leave L1, and L2 has room for them. */
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(COST(sim, sim_clear(sim, at(sim, i * 1024), LINE_BYTES)),
				 SMALL_LINE + (i < 2 ? 0 : SMALL_L2_WRITE));
	assert_int_equal(COST(sim, sim_clear(sim, at(sim, 6 * 1024), LINE_BYTES)),
			 SMALL_LINE + SMALL_L2_WRITE + SMALL_MEMORY_WRITE);
	sim_destroy(sim);
}

static void kernel_copies_fetch_their_text(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim_counts counts;
	struct sim *sim;

	(void)state;
	machine.cost.copy_set_up = 10000000;
	machine.copy_text_bytes = 3 * LINE_BYTES;
	sim = small_create(&machine);
	assert_int_equal(COST(sim, sim_clear(sim, at(sim, 0), LINE_BYTES)),
			 SMALL_LINE + 10000000 + 3 * SMALL_FETCH + 3 * SMALL_MEMORY_READ);
	assert_int_equal(COST(sim, sim_clear(sim, at(sim, 0), LINE_BYTES)), SMALL_LINE + 10000000 + 3 * SMALL_FETCH);
	sim_counts(sim, &counts);
	assert_int_equal(counts.lines, 2);
	assert_int_equal(counts.l1_misses, 1);
	assert_int_equal(counts.l2_misses, 3);
	sim_destroy(sim);
}

static void fetches_miss_data_side_stores(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim = small_create(&machine);
	uintptr_t code = at(sim, 0);
	quire_pa_t pa = code - sim_kernel_base(sim);
	uint64_t value;

	(void)state;
	sim_store(sim, code, 4, 0x11);
	assert_int_equal(COST(sim, sim_fetch(sim, code, &value)), SMALL_FETCH + SMALL_L2_READ);
	assert_int_equal(value, 0); /* L2 has the old line: the store is in L1 D */
	sim_maintain_data(sim, code, pa, SIM_CLEAN, SIM_UNIFICATION, false, SIM_OP_DATA_CLEAN);
	sim_fetch(sim, code, &value);
	assert_int_equal(value, 0); /* and L1 I too */
	assert_int_equal(sim_maintain_insn(sim, code, pa, false), SIM_FOUND_CLEAN);
	sim_fetch(sim, code, &value);
	assert_int_equal(value, 0x11);
	assert_int_equal(sim_violations(sim), 2);
	sim_destroy(sim);
}

static void snooping_fetches_see_stores_of_all_cpus(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;
	uint64_t value;

	(void)state;
	machine.cpus = 2;
	machine.insn_snoops_data = true;
	sim = small_create(&machine);
	for (unsigned i = 1; i < 20; i++) {
		sim_switch(sim, i % 2);
		sim_store(sim, at(sim, 0), 4, i);
		if (i % 3 == 0)
			sim_clear(sim, at(sim, 512), 4096); /* pushes it out of L1, L2 */
		sim_switch(sim, i / 2 % 2);
		sim_fetch(sim, at(sim, 0), &value);
		assert_int_equal(value, i);
	}
	assert_int_equal(sim_violations(sim), 0);
	sim_destroy(sim);
}

static void instruction_lines_may_be_of_another_size(void **state)
{
	static const uint32_t sizes[] = { 16, 64, 128 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct sim_machine machine = small_machine();
		struct sim *sim;
		uint64_t value;

		machine.l1i.line_bytes = sizes[i];
		sim = small_create(&machine);
		for (unsigned offset = 0; offset < 256; offset += 4)
			sim_store(sim, at(sim, offset), 4, offset + 1);
		for (unsigned offset = 0; offset < 256; offset += LINE_BYTES)
			sim_maintain_data(sim, at(sim, offset), 0x100000 + offset, SIM_CLEAN, SIM_UNIFICATION, false,
					  SIM_OP_DATA_CLEAN);
		for (unsigned offset = 0; offset < 256; offset += 4) {
			sim_fetch(sim, at(sim, offset), &value);
			assert_int_equal(value, offset + 1);
		}
		sim_destroy(sim);
	}
}

/* --- Random bulk accesses against an array of the host ------------------------------------------------ */

#define ARENA_BYTES 65536u

static unsigned next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* One access of each kind, here and there; offsets stay within the arena. */
static void random_access(struct sim *sim, uint8_t *arena, uint32_t *seed)
{
	size_t bytes = next_random(seed) % (next_random(seed) % 8 ? 300 : 9000);
	size_t from = next_random(seed) % (ARENA_BYTES / 2 - bytes);
	size_t to = ARENA_BYTES / 2 + next_random(seed) % (ARENA_BYTES / 2 - bytes);
	uint8_t host[9000];

	if (next_random(seed) % 2) {
		size_t swap = from;

		from = to, to = swap;
	}
	switch (next_random(seed) % 4) {
	case 0:
		assert_int_equal(sim_copy(sim, at(sim, to), at(sim, from), bytes), 0);
		memcpy(arena + to, arena + from, bytes);
		break;
	case 1:
		assert_int_equal(sim_clear(sim, at(sim, to), bytes), 0);
		memset(arena + to, 0, bytes);
		break;
	case 2:
		for (size_t i = 0; i < bytes; i++)
			arena[to + i] = (uint8_t)next_random(seed);
		assert_int_equal(sim_write(sim, at(sim, to), arena + to, bytes), 0);
		break;
	default:
		assert_int_equal(sim_read(sim, at(sim, from), host, bytes), 0);
		assert_memory_equal(host, arena + from, bytes);
	}
}

/* The count of lines that a cache keeps is what its tags say. */
static void check_valid(const struct cache *cache)
{
	uint32_t valid = 0;

	for (uint32_t set = 0; set < cache->sets; set++)
		for (unsigned way = 0; way < cache->ways; way++)
			valid += *cache_tag(cache, set, way) != CACHE_ABSENT;
	assert_int_equal(cache->valid, valid);
}

/* Returns the ticks of all CPUs, so that runs can be compared. */
static uint64_t random_run(const struct sim_machine *machine, unsigned accesses)
{
	struct sim *sim = small_create(machine);
	uint8_t *arena = calloc(1, ARENA_BYTES);
	uint32_t seed = 12345;
	uint64_t ticks = 0;

	assert_non_null(arena);
	for (unsigned i = 0; i < accesses; i++) {
		sim_switch(sim, next_random(&seed) % machine->cpus);
		random_access(sim, arena, &seed);
	}
	assert_int_equal(sim_violations(sim), 0);
	check_valid(&sim->l2);
	for (unsigned cpu = 0; cpu < machine->cpus; cpu++) {
		check_valid(&sim->cpus[cpu].l1d);
		sim_switch(sim, cpu);
		ticks = ticks * 31 + sim_ticks(sim);
	}
	free(arena);
	sim_destroy(sim);
	return ticks;
}

static void bulk_accesses_move_the_right_bytes(void **state)
{
	static const uint32_t line_sizes[] = { 16, 32, 64, 128 };

	(void)state;
	for (unsigned variant = 0; variant < 4 * 3 * 2 * 2 * 3; variant++) {
		struct sim_machine machine = small_machine();
		unsigned kind = variant / 4;

		machine.l1d.line_bytes = machine.l2.line_bytes = line_sizes[variant % 4];
		machine.l1d.replace = machine.l2.replace = (enum sim_replace)(kind % 3);
		machine.l1d.write_back = kind / 3 % 2;
		machine.l1d.write_allocate = kind / 6 % 2;
		machine.cpus = kind / 12 == 0 ? 1 : 3;
		if (kind / 12 == 2)
			machine.l2.bytes = 0;
		random_run(&machine, 200);
	}
}

static void l2_policies_move_the_right_bytes(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 8; variant++) {
		struct sim_machine machine = small_machine();

		machine.l2.write_back = variant & 1;
		machine.l2.write_allocate = variant & 2;
		machine.l1d.write_back = variant & 4;
		machine.l1d.fill_whole = true;
		machine.l2.bytes = 3 * 4 * LINE_BYTES;
		random_run(&machine, 500);
	}
}

static void runs_repeat_to_the_tick(void **state)
{
	struct sim_machine machine = small_machine();

	(void)state;
	machine.cpus = 4;
	machine.l2.bytes = 65536; /* fills slowly, by all its ways in */
	machine.l1d.replace = machine.l2.replace = SIM_RANDOM;
	assert_int_equal(random_run(&machine, 1000), random_run(&machine, 1000));
}

/* Ticks of CPU 0 for accesses of its own, while CPU 1 holds a line of something else. */
static uint64_t run_beside_another(const struct sim_machine *machine)
{
	struct sim *sim = small_create(machine);
	uint8_t *arena = calloc(1, ARENA_BYTES);
	uint32_t seed = 99;
	uint64_t value, ticks;

	assert_non_null(arena);
	sim_switch(sim, 1);
	sim_load(sim, sim_kernel_base(sim), 4, &value);
	sim_switch(sim, 0);
	for (unsigned i = 0; i < 300; i++)
		random_access(sim, arena, &seed);
	ticks = sim_ticks(sim);
	free(arena);
	sim_destroy(sim);
	return ticks;
}

/*
 * Bulk accesses have three forms of one code: plain, with snoops of another CPU, general. Linear addresses
 * index as physical ones do, so that a virtually tagged cache, which takes the general form, does the same.
 */
static void forms_of_bulk_accesses_agree(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 6; variant++) {
		struct sim_machine machine = small_machine();
		uint64_t snooped;

		machine.cpus = 2;
		machine.l1d.replace = machine.l2.replace = (enum sim_replace)(variant / 2);
		machine.l1d.line_bytes = machine.l2.line_bytes = variant % 2 ? 32 : 64;
		snooped = run_beside_another(&machine);
		machine.data_coherent = false;
		assert_int_equal(run_beside_another(&machine), snooped);
		machine.l1d.index = SIM_VIVT;
		assert_int_equal(run_beside_another(&machine), snooped);
	}
}

/* --- CPUs and time ------------------------------------------------------------------------------------ */

static void charge_work(void *context)
{
	struct sim *sim = context;

	sim_charge(sim, 1000 * (sim_cpu(sim) + 1));
}

static void cross_calls_run_at_the_same_time(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;

	(void)state;
	machine.cpus = 4;
	machine.cost.cross_call = 50;
	sim = small_create(&machine);
	sim_switch(sim, 3);
	sim_charge(sim, 100000); /* busy with something else until then */
	sim_switch(sim, 1);
	sim_charge(sim, 500);
	sim_cross_call(sim, 0x7, charge_work, sim);
	assert_int_equal(sim_cpu(sim), 1);
	assert_int_equal(sim_ticks(sim), 500 + 50 + 3000); /* CPU 2 was last */
	sim_switch(sim, 0);
	assert_int_equal(sim_ticks(sim), 500 + 50 + 1000);
	sim_switch(sim, 3);
	assert_int_equal(sim_ticks(sim), 100000);
	sim_cross_call(sim, 0x8, charge_work, sim); /* only itself: no call */
	assert_int_equal(sim_ticks(sim), 104000);
	sim_destroy(sim);
}

static void time_in_nanoseconds(void **state)
{
	struct sim_machine machine = small_machine();
	struct sim *sim;

	(void)state;
	machine.clock_hz = 440000000;
	sim = small_create(&machine);
	sim_charge(sim, 44ull * SIM_TICKS_A_CYCLE);
	assert_int_equal(sim_ns(sim), 100);
	sim_wait_until(sim, 440000000ull * SIM_TICKS_A_CYCLE * 10000); /* 10,000 s: no overflow on the way */
	assert_int_equal(sim_ns(sim), 10000ull * 1000000000);
	sim_wait_until(sim, 5);
	assert_int_equal(sim_ns(sim), 10000ull * 1000000000);
	sim_destroy(sim);
}

/* --- Maintenance accounts ------------------------------------------------------------------------------- */

static void maintenance_is_charged_and_booked(void **state)
{
	struct sim_machine machine = small_machine();
	const struct sim_account *account;
	struct sim *sim;
	quire_pa_t pa = 0x100000;

	(void)state;
	machine.cpus = 2;
	machine.cost.data_op = 1;
	machine.cost.data_op_clean = 20;
	machine.cost.data_op_dirty = 300;
	machine.cost.broadcast = 5;
	machine.cost.outer_op = 7;
	machine.l2_outer = true;
	sim = small_create(&machine);
	sim_store(sim, at(sim, 0), 4, 1);
	sim_site_begin(sim, QUIRE_SITE_KERNEL_WROTE);
	assert_int_equal(COST(sim, sim_maintain_data(sim, at(sim, 0), pa, SIM_CLEAN, SIM_COHERENCY, true,
						     SIM_OP_DATA_CLEAN)),
			 1 + 300 + 5 + SMALL_L2_WRITE);
	assert_int_equal(COST(sim, sim_maintain_data(sim, at(sim, 0), pa, SIM_CLEAN, SIM_COHERENCY, false,
						     SIM_OP_DATA_CLEAN)),
			 1 + 20);
	assert_int_equal(COST(sim, sim_maintain_data(sim, at(sim, 64), pa + 64, SIM_CLEAN, SIM_COHERENCY, false,
						     SIM_OP_DATA_CLEAN)),
			 1);
	assert_int_equal(COST(sim, sim_maintain_outer(sim, pa, SIM_CLEAN)), 7 + SMALL_MEMORY_WRITE);
	sim_site_end(sim, QUIRE_SITE_KERNEL_WROTE);
	sim_maintain_outer(sim, pa, SIM_INVALIDATE);
	sim_maintain_outer(sim, pa, SIM_INVALIDATE);

	account = sim_account(sim, QUIRE_SITE_KERNEL_WROTE, SIM_OP_DATA_CLEAN);
	assert_int_equal(account->count, 3);
	assert_int_equal(account->idle, 2);
	assert_int_equal(account->ticks, 1 + 300 + 5 + SMALL_L2_WRITE + 1 + 20 + 1);
	account = sim_account(sim, QUIRE_SITE_KERNEL_WROTE, SIM_OP_OUTER);
	assert_int_equal(account->count, 1);
	account = sim_account(sim, QUIRE_SITE_COUNT, SIM_OP_OUTER);
	assert_int_equal(account->count, 2);
	assert_int_equal(account->idle, 1);
	assert_string_equal(sim_op_name(SIM_OP_OUTER), "outer");
	assert_null(sim_op_name(SIM_OP_COUNT));
	sim_destroy(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_and_stores_cost_what_they_touch),
		cmocka_unit_test(memory_prices_where_there_is_no_l2),
		cmocka_unit_test(copies_cost_line_by_line),
		cmocka_unit_test(whole_lines_are_filled_where_the_cache_does_so),
		cmocka_unit_test(dirty_lines_of_l2_cost_memory_writes),
		cmocka_unit_test(kernel_copies_fetch_their_text),
		cmocka_unit_test(fetches_miss_data_side_stores),
		cmocka_unit_test(snooping_fetches_see_stores_of_all_cpus),
		cmocka_unit_test(instruction_lines_may_be_of_another_size),
		cmocka_unit_test(bulk_accesses_move_the_right_bytes),
		cmocka_unit_test(l2_policies_move_the_right_bytes),
		cmocka_unit_test(runs_repeat_to_the_tick),
		cmocka_unit_test(forms_of_bulk_accesses_agree),
		cmocka_unit_test(cross_calls_run_at_the_same_time),
		cmocka_unit_test(time_in_nanoseconds),
		cmocka_unit_test(maintenance_is_charged_and_booked),
	};

	return cmocka_run_group_tests_name("sim_access", tests, NULL, NULL);
}
