/*
 * Which maintenance was needed: each verdict, and that all that is called needless can be left out at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/bare.h"
#include "tests/support/needless.h"

#define FRAME BARE_FRAME(0)
#define SITE  QUIRE_SITE_KERNEL_WROTE /* the operation in question */
#define OTHER QUIRE_SITE_KERNEL_READ  /* a second one */

static void start(struct bare *b, const struct sim_machine *machine)
{
	bare_start(b, machine);
	needless_start(b);
}

static void data(struct bare *b, enum quire_site site, quire_pa_t pa, enum sim_action action)
{
	needless_data(b, site, b->base + pa, pa, action, SIM_COHERENCY);
}

static void device_write(struct bare *b, quire_pa_t pa, uint32_t value)
{
	sim_dma_to_memory(b->sim, pa, &value, sizeof(value));
}

static void device_read(struct bare *b, quire_pa_t pa)
{
	uint32_t value;

	sim_dma_from_memory(b->sim, pa, &value, sizeof(value));
}

/* Other lines go through the set of pa until nothing that was there before can be left. */
static void fill_set(struct bare *b, quire_pa_t pa)
{
	for (unsigned n = 1; n <= 4; n++)
		bare_peek(b, pa + n * 4096, 4);
}

static void test_cleans(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	m.cpus = 1; /* another one could have old lines, which a flush that reaches it drops */
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, SITE, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_UNDECIDED);
	device_read(&b, FRAME + 8); /* what is there was right all the time */
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_UNDECIDED);
	device_read(&b, FRAME);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	needless_is(&b, OTHER, SIM_OP_DATA_FLUSH, SIM_VERDICT_NOTHING_DIRTY);
	bare_end(&b);

	/* The dirty line would have gone down by itself. */
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, SITE, FRAME, SIM_FLUSH);
	fill_set(&b, FRAME);
	device_read(&b, FRAME);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NOT_READ);
	bare_end(&b);

	/* Another write and clean before anybody looked. */
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, SITE, FRAME, SIM_CLEAN);
	bare_poke(&b, FRAME + 4, 4, 2);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_TWICE);
	device_read(&b, FRAME); /* of the first write: the second clean serves for both */
	needless_is(&b, OTHER, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

static void test_flushed_twice(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, SITE, FRAME, SIM_FLUSH);
	data(&b, OTHER, FRAME, SIM_FLUSH);
	needless_is(&b, OTHER, SIM_OP_DATA_FLUSH, SIM_VERDICT_TWICE);
	device_read(&b, FRAME);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	data(&b, QUIRE_SITE_UNMAP_PAGE, FRAME + 64, SIM_FLUSH);
	needless_is(&b, QUIRE_SITE_UNMAP_PAGE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);
}

static void test_invalidations(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start(&b, &m); /* before the device wrote */
	bare_peek(&b, FRAME, 4);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	device_write(&b, FRAME, 7);
	bare_peek(&b, FRAME + 8, 4); /* not what the device wrote */
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_UNDECIDED);
	bare_peek(&b, FRAME, 4);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	bare_end(&b);

	start(&b, &m); /* after it */
	bare_peek(&b, FRAME, 4);
	device_write(&b, FRAME, 7);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	assert_int_equal(bare_peek(&b, FRAME, 4), 7);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	bare_end(&b);

	start(&b, &m); /* nobody reads it again before it leaves by itself */
	bare_peek(&b, FRAME, 4);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	device_write(&b, FRAME, 7);
	fill_set(&b, FRAME);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NOT_READ);
	assert_int_equal(bare_peek(&b, FRAME, 4), 7);
	bare_end(&b);

	start(&b, &m); /* the same bytes come back */
	bare_peek(&b, FRAME, 4);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	bare_peek(&b, FRAME, 4);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NOT_READ);
	bare_end(&b);

	start(&b, &m); /* a dirty line over which a device writes */
	bare_poke(&b, FRAME, 4, 1);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	device_write(&b, FRAME, 7);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

/* The ghost of the first lies under the second: without both, the old line would still be there. */
static void test_taken_over(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_peek(&b, FRAME, 4);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	device_write(&b, FRAME, 7);
	bare_peek(&b, FRAME + 8, 4);
	data(&b, OTHER, FRAME, SIM_INVALIDATE);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_TWICE);
	bare_peek(&b, FRAME, 4);
	needless_is(&b, OTHER, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

static void test_instructions(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint64_t insn;
	struct bare b;

	(void)state;
	start(&b, &m);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	sim_fetch(b.sim, b.base + FRAME + 32, &insn);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, SITE, FRAME, SIM_CLEAN);
	sim_site_begin(b.sim, SITE);
	sim_maintain_insn_all(b.sim, true);
	sim_site_end(b.sim, SITE);
	sim_fetch(b.sim, b.base + FRAME + 32, &insn); /* this line alone did not need it */
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_UNDECIDED);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	assert_int_equal(insn, 1);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_NEEDED);
	needless_is(&b, SITE, SIM_OP_DATA_FLUSH, SIM_VERDICT_NEEDED);
	sim_site_begin(b.sim, OTHER);
	sim_maintain_insn(b.sim, b.base + FRAME + 32, FRAME + 32, true);
	sim_fetch(b.sim, b.base + FRAME + 32, &insn);
	sim_site_end(b.sim, OTHER);
	needless_is(&b, OTHER, SIM_OP_INSN_LINE, SIM_VERDICT_NOT_READ);
	bare_end(&b);
}

/* Hardware that keeps D caches coherent needs no clean for another CPU. */
static void test_coherent_cpus(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	for (int coherent = 0; coherent < 2; coherent++) {
		m.data_coherent = coherent;
		start(&b, &m);
		bare_poke(&b, FRAME, 4, 1);
		data(&b, SITE, FRAME, SIM_FLUSH);
		sim_switch(b.sim, 1);
		bare_peek(&b, FRAME, 4);
		bare_poke(&b, FRAME, 4, 2);
		needless_is(&b, SITE, SIM_OP_DATA_FLUSH, coherent ? SIM_VERDICT_NOT_READ : SIM_VERDICT_NEEDED);
		bare_end(&b);
	}
}

/* --- All that is needless at once -------------------------------------------------------------------------- */

enum { STEPS = 48, LINES = 3, SEEDS = 1500 };

struct step {
	unsigned what, cpu, line, word, colour;
	enum sim_action action;
};

static uint32_t next(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void make_steps(struct step *steps, uint32_t seed, unsigned cpus)
{
	for (unsigned i = 0; i < STEPS; i++)
		steps[i] = (struct step){
			.what = next(&seed) % 9,
			.cpu = next(&seed) % cpus,
			.line = next(&seed) % LINES,
			.word = next(&seed) % 2,
			.colour = next(&seed) % 2,
			.action = (enum sim_action)(1 + next(&seed) % 3),
		};
}

/* A user address of the line at one of two colours; kernel addresses give the third. */
static uintptr_t address(const struct step *step)
{
	return 0x5000u + step->colour * 0x1000u + step->line * 32u + step->word * 4u;
}

/* The n-th operation goes under site n; one of those left out is not done. */
static void do_step(struct bare *b, const struct step *step, unsigned *site, const bool *left_out, uint32_t value)
{
	quire_pa_t pa = FRAME + step->line * 32u + step->word * 4u;
	bool kernel = step->colour == 1;
	uint64_t word;

	sim_switch(b->sim, step->cpu);
	switch (step->what) {
	case 0:
	case 1:
		assert_int_equal(sim_load(b->sim, kernel ? b->base + pa : address(step), 4, &word), 0);
		return;
	case 2:
		assert_int_equal(sim_store(b->sim, kernel ? b->base + pa : address(step), 4, value), 0);
		return;
	case 3:
		device_write(b, pa, value);
		return;
	case 4:
		device_read(b, pa);
		return;
	case 5:
		assert_int_equal(sim_fetch(b->sim, b->base + pa, &word), 0);
		return;
	default:
		break;
	}
	if (*site == QUIRE_SITE_COUNT)
		return;
	if (!left_out[*site]) {
		sim_site_begin(b->sim, (enum quire_site)*site);
		if (step->what == 6)
			sim_maintain_data(b->sim, kernel ? b->base + pa : address(step), pa, step->action,
					  SIM_COHERENCY, step->word, SIM_OP_DATA_FLUSH);
		else if (step->what == 7)
			sim_maintain_insn(b->sim, b->base + pa, pa, step->word);
		else if (b->sim->machine.l2_outer)
			sim_maintain_outer(b->sim, pa, step->action);
		else
			sim_maintain_data(b->sim, b->base + pa, pa, step->action, SIM_UNIFICATION, step->word,
					  SIM_OP_DATA_CLEAN);
		sim_site_end(b->sim, (enum quire_site)*site);
	}
	(*site)++;
}

static void map_pages(struct bare *b)
{
	for (unsigned cpu = 0; cpu < b->sim->machine.cpus; cpu++) {
		uint64_t word;

		sim_switch(b->sim, cpu);
		if (cpu == 0) {
			bare_arm_map(b, 0, 0x5000, (uint32_t)FRAME | BARE_ARM_PAGE);
			for (unsigned at = 0; at < 0x10; at += 4)
				armv7_dccmvac(b->hw, b->base + bare_arm_leaf(0, 0) + 8 * at);
			armv7_dccmvac(b->hw, b->base + BARE_ROOT);
		}
		bare_arm_activate(b, 0, 1);
		assert_int_equal(sim_load(b->sim, 0x5800, 4, &word), 0);
	}
}

/* Runs the steps; wrong[i]: step i read something wrong. Returns the number of sites used. */
static unsigned run_steps(struct bare *b, const struct sim_machine *m, const struct step *steps, const bool *left_out,
			  bool *wrong)
{
	unsigned site = 0;

	start(b, m);
	map_pages(b);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t before = sim_violations(b->sim);

		do_step(b, &steps[i], &site, left_out, i + 1);
		wrong[i] = sim_violations(b->sim) != before;
	}
	return site;
}

static bool is_needless(const struct bare *b, unsigned site)
{
	bool needless = false;

	for (unsigned op = 0; op < SIM_OP_COUNT; op++) {
		const struct sim_need *need = sim_need(b->sim, (enum quire_site)site, (enum sim_op)op);

		for (unsigned i = 0; i < SIM_VERDICT_COUNT; i++)
			if (need->count[i] && i != SIM_VERDICT_NEEDED && i != SIM_VERDICT_UNDECIDED)
				needless = true;
	}
	return needless;
}

static unsigned try_seed(const struct sim_machine *m, uint32_t seed)
{
	bool left_out[QUIRE_SITE_COUNT] = {false}, wrong[STEPS], wrong_without[STEPS];
	struct step steps[STEPS];
	unsigned sites, count = 0;
	struct bare b;

	make_steps(steps, seed, m->cpus);
	sites = run_steps(&b, m, steps, left_out, wrong);
	for (unsigned site = 0; site < sites; site++)
		count += left_out[site] = is_needless(&b, site);
	bare_end(&b);
	run_steps(&b, m, steps, left_out, wrong_without);
	bare_end(&b);
	for (unsigned i = 0; i < STEPS; i++)
		if (wrong_without[i] && !wrong[i])
			fail_msg("seed %u: step %u is wrong without what was called needless", seed, i);
	return count;
}

/*
 * Few lines, so that none leaves by itself: what is right with all operations is right without those that are called
 * needless, all of them left out at once.
 */
static void test_all_needless_at_once(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	unsigned count = 0;

	(void)state;
	m.l1d.bytes = 64 << 10;
	m.l1d.ways = m.l1i.ways = 4;
	m.l1d.index = SIM_VIPT;
	m.l1i.bytes = 16 << 10;
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		m.data_coherent = seed % 3 == 0;
		m.l2 = m.l1d;
		m.l2.index = SIM_PIPT;
		m.l2.bytes = seed % 2 ? 0 : 64 << 10;
		m.l2_outer = seed % 4 == 0;
		m.dma_coherent = seed % 5 == 0;
		m.l1d.write_back = seed % 7 != 0;
		m.l1d.write_allocate = seed % 11 != 0;
		m.walker = SIM_LEVEL_L2;
		count += try_seed(&m, seed);
	}
	assert_in_range(count, SEEDS, SEEDS * QUIRE_SITE_COUNT);
}

/* Finding it out changes nothing of the run. */
static void test_same_run(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint8_t bytes[8192];
	uint64_t ticks[2];

	(void)state;
	for (int with = 0; with < 2; with++) {
		const struct sim_options options = {.needless = with};
		struct bare b;

		bare_start(&b, &m);
		assert_int_equal(sim_set_options(b.sim, &options), 0);
		memset(bytes, 3, sizeof(bytes));
		for (unsigned i = 0; i < 20; i++) {
			sim_write(b.sim, b.base + FRAME + i * 512, bytes, 3000);
			data(&b, SITE, FRAME + i * 640, SIM_FLUSH);
			sim_read(b.sim, b.base + FRAME + i * 384, bytes, 5000);
			sim_maintain_data_set(b.sim, i, i % 2, SIM_FLUSH);
		}
		ticks[with] = sim_ticks(b.sim);
		assert_int_equal(sim_violations(b.sim), 0);
		assert_true((sim_need(b.sim, SITE, SIM_OP_DATA_FLUSH) != NULL) == with);
		bare_end(&b);
	}
	assert_int_equal(ticks[0], ticks[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cleans),
		cmocka_unit_test(test_flushed_twice),
		cmocka_unit_test(test_invalidations),
		cmocka_unit_test(test_taken_over),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_coherent_cpus),
		cmocka_unit_test(test_all_needless_at_once),
		cmocka_unit_test(test_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
