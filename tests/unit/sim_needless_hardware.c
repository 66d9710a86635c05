/*
 * Maintenance that no read was in need of and that is not needless either: hardware may fill lines, and writes them
 * back, by itself. And the same account by page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/bare.h"
#include "tests/support/needless.h"

#define FRAME BARE_FRAME(0)
#define SITE  QUIRE_SITE_KERNEL_WROTE /* the operation in question */
#define OTHER QUIRE_SITE_KERNEL_READ  /* a second one */
#define FLUSH SIM_OP_DATA_FLUSH       /* all operations on data here are booked as flushes */

static void start(struct bare *b, const struct sim_machine *machine)
{
	bare_start(b, machine);
	needless_start(b);
}

static struct sim_machine one_cpu(void)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);

	m.cpus = 1;
	return m;
}

/* Through the linear mapping, as far as memory. */
static void data(struct bare *b, enum quire_site site, quire_pa_t pa, enum sim_action action)
{
	needless_data(b, site, b->base + pa, pa, action, SIM_COHERENCY);
}

static void device_write(struct bare *b, quire_pa_t pa, uint32_t value)
{
	sim_dma_to_memory(b->sim, pa, &value, sizeof(value));
}

/* Other lines go through the set of pa until nothing that was there before can be left. */
static void fill_set(struct bare *b, quire_pa_t pa)
{
	for (unsigned n = 1; n <= 4; n++)
		bare_peek(b, pa + n * 8192, 4);
}

/* --- Overtaken -------------------------------------------------------------------------------- */

static void test_overtaken(void **state)
{
	struct sim_machine m = one_cpu();
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	fill_set(&b, FRAME); /* written back by itself */
	data(&b, SITE, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_OVERTAKEN);
	data(&b, OTHER, FRAME, SIM_CLEAN); /* nobody stored since */
	needless_is(&b, OTHER, FLUSH, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);

	start(&b, &m); /* written back by itself, and loaded again */
	bare_poke(&b, FRAME, 4, 1);
	fill_set(&b, FRAME);
	bare_peek(&b, FRAME, 4);
	data(&b, SITE, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_OVERTAKEN);
	bare_end(&b);

	start(&b, &m); /* what a device wrote since, no clean could have brought to memory */
	bare_poke(&b, FRAME, 4, 1);
	fill_set(&b, FRAME);
	device_write(&b, FRAME, 2);
	data(&b, SITE, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);
}

static void outer(struct bare *b, enum quire_site site, quire_pa_t pa, enum sim_action action)
{
	sim_site_begin(b->sim, site);
	sim_maintain_outer(b->sim, pa, action);
	sim_site_end(b->sim, site);
}

/* A clean of L1 that found something owes the outer cache another one. */
static void test_overtaken_below(void **state)
{
	struct sim_machine m = one_cpu();
	struct bare b;

	(void)state;
	m.l2 = m.l1d;
	m.l2_outer = true;
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	outer(&b, QUIRE_SITE_UNMAP_PAGE, FRAME, SIM_CLEAN); /* too early */
	data(&b, OTHER, FRAME, SIM_CLEAN);
	fill_set(&b, FRAME); /* the line leaves L2 as well */
	outer(&b, SITE, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, SIM_OP_OUTER, SIM_VERDICT_OVERTAKEN);
	outer(&b, OTHER, FRAME, SIM_CLEAN);
	needless_is(&b, OTHER, SIM_OP_OUTER, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);

	m.dma_coherent = true; /* what a coherent device wrote stays there */
	start(&b, &m);
	bare_peek(&b, FRAME, 4);
	device_write(&b, FRAME, 7);
	fill_set(&b, FRAME);
	outer(&b, SITE, FRAME, SIM_CLEAN);
	needless_is(&b, SITE, SIM_OP_OUTER, SIM_VERDICT_OVERTAKEN);
	bare_end(&b);
}

/* --- Guard ------------------------------------------------------------------------------------ */

static void test_guard(void **state)
{
	struct sim_machine m = one_cpu();
	struct bare b;

	(void)state;
	start(&b, &m);
	data(&b, QUIRE_SITE_UNMAP_PAGE, FRAME, SIM_INVALIDATE); /* whatever was filled is right */
	needless_is(&b, QUIRE_SITE_UNMAP_PAGE, FLUSH, SIM_VERDICT_NOTHING_THERE);
	device_write(&b, FRAME, 7);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_GUARD);
	data(&b, OTHER, FRAME, SIM_INVALIDATE); /* nothing changed since the one before */
	needless_is(&b, OTHER, FLUSH, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);

	start(&b, &m); /* the line was loaded since: what is filled after that is right */
	device_write(&b, FRAME, 7);
	bare_peek(&b, FRAME, 4);
	fill_set(&b, FRAME);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);

	start(&b, &m); /* it is there, older than the change, and leaves before anybody reads it */
	bare_peek(&b, FRAME, 4);
	device_write(&b, FRAME, 7);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	fill_set(&b, FRAME);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_GUARD);
	bare_end(&b);

	m.dma_coherent = true; /* the device leaves nothing old in the cache */
	start(&b, &m);
	device_write(&b, FRAME, 7);
	data(&b, SITE, FRAME, SIM_INVALIDATE);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);
}

/* An L2 may have been filled, too; what passes through it is never old there. */
static void test_guard_below(void **state)
{
	struct sim_machine m = one_cpu();
	struct bare b;

	(void)state;
	m.l2 = m.l1d;
	m.l2_outer = true;
	start(&b, &m);
	bare_poke(&b, FRAME + 64, 4, 1);
	fill_set(&b, FRAME + 64);
	fill_set(&b, FRAME + 64); /* it leaves L2 as well */
	outer(&b, OTHER, FRAME + 64, SIM_INVALIDATE);
	needless_is(&b, OTHER, SIM_OP_OUTER, SIM_VERDICT_NOTHING_THERE);
	device_write(&b, FRAME, 7);
	outer(&b, SITE, FRAME, SIM_INVALIDATE);
	needless_is(&b, SITE, SIM_OP_OUTER, SIM_VERDICT_GUARD);
	outer(&b, QUIRE_SITE_UNMAP_PAGE, FRAME, SIM_INVALIDATE);
	needless_is(&b, QUIRE_SITE_UNMAP_PAGE, SIM_OP_OUTER, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);
}

/* A CPU that is not kept coherent may have filled what another one changed since. */
static void test_guard_for_other_cpus(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	for (int coherent = 0; coherent < 2; coherent++) {
		m.data_coherent = coherent;
		start(&b, &m);
		bare_poke(&b, FRAME, 4, 1);
		sim_switch(b.sim, 1);
		sim_site_begin(b.sim, SITE);
		sim_maintain_data(b.sim, b.base + FRAME, FRAME, SIM_INVALIDATE, SIM_UNIFICATION,
				  false, FLUSH);
		sim_site_end(b.sim, SITE);
		needless_is(&b, SITE, FLUSH,
			    coherent ? SIM_VERDICT_NOTHING_THERE : SIM_VERDICT_GUARD);
		bare_end(&b);
	}
}

/* The data caches have two colours; users have the frame at the one that the kernel has not. */
static void start_colours(struct bare *b)
{
	struct sim_machine m = one_cpu();

	m.l1d.bytes = 16 << 10; /* two pages a way */
	m.l1d.index = SIM_VIPT;
	start(b, &m);
	bare_arm_map(b, 0, 0x5000, (uint32_t)FRAME | BARE_ARM_PAGE);
	bare_arm_activate(b, 0, 1);
}

/* At another index only what is mapped there can be filled. */
static void test_guard_by_mapping(void **state)
{
	uint64_t word;
	struct bare b;

	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		start_colours(&b);
		if (mapped)
			assert_int_equal(sim_load(b.sim, 0x5800, 4, &word), 0);
		bare_poke(&b, FRAME, 4, 1);
		fill_set(&b, FRAME);
		needless_data(&b, SITE, 0x5000, FRAME, SIM_INVALIDATE, SIM_UNIFICATION);
		needless_is(&b, SITE, FLUSH,
			    mapped ? SIM_VERDICT_GUARD : SIM_VERDICT_NOTHING_THERE);
		bare_end(&b);
	}

	start_colours(&b); /* it is there, though nothing is mapped any more */
	assert_int_equal(sim_load(b.sim, 0x5000, 4, &word), 0);
	armv7_tlbiallis(b.hw);
	bare_poke(&b, FRAME, 4, 1);
	needless_data(&b, SITE, 0x5000, FRAME, SIM_INVALIDATE, SIM_UNIFICATION);
	fill_set(&b, FRAME + 4096);
	needless_is(&b, SITE, FLUSH, SIM_VERDICT_GUARD);
	bare_end(&b);
}

/* More caches are in step than are remembered: nothing is claimed until the next change. */
static void test_crowded(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint64_t insn;
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		sim_switch(b.sim, cpu);
		bare_peek(&b, FRAME, 4);
		sim_fetch(b.sim, b.base + FRAME, &insn);
	}
	sim_site_begin(b.sim, SITE);
	sim_maintain_insn(b.sim, b.base + FRAME, FRAME, false);
	sim_site_end(b.sim, SITE);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	needless_is(&b, SITE, SIM_OP_INSN_LINE, SIM_VERDICT_NOT_READ);
	bare_end(&b);
}

/* A fill after a store and before its clean got what was below. */
static void test_guard_until_clean(void **state)
{
	struct sim_machine m = one_cpu();
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	sim_site_begin(b.sim, OTHER);
	sim_maintain_insn(b.sim, b.base + FRAME, FRAME, false);
	sim_site_end(b.sim, OTHER);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	sim_site_begin(b.sim, SITE);
	sim_maintain_insn(b.sim, b.base + FRAME, FRAME, false);
	sim_maintain_insn(b.sim, b.base + FRAME + 32, FRAME + 32, false);
	sim_site_end(b.sim, SITE);
	assert_int_equal(sim_need(b.sim, SITE, SIM_OP_INSN_LINE)->count[SIM_VERDICT_GUARD], 1);
	assert_int_equal(sim_need(b.sim, SITE, SIM_OP_INSN_LINE)->count[SIM_VERDICT_NOTHING_THERE],
			 1);
	bare_end(&b);
}

static void insn_all(struct bare *b, enum quire_site site)
{
	sim_site_begin(b->sim, site);
	sim_maintain_insn_all(b->sim, true);
	sim_site_end(b->sim, site);
}

/* The page is not named: whose instructions are fetched next says what it was for. */
static void test_guard_of_whole_insn(void **state)
{
	struct sim_machine m = one_cpu();
	uint64_t insn;
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	insn_all(&b, SITE);
	insn_all(&b, OTHER);
	sim_fetch(b.sim, b.base + FRAME + 64, &insn); /* a line that did not change */
	needless_is(&b, OTHER, SIM_OP_INSN_ALL, SIM_VERDICT_NOTHING_THERE);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	needless_is(&b, OTHER, SIM_OP_INSN_ALL, SIM_VERDICT_GUARD);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_NOTHING_THERE);
	insn_all(&b, QUIRE_SITE_UNMAP_PAGE); /* both were fetched since they changed */
	sim_fetch(b.sim, b.base + FRAME, &insn);
	sim_fetch(b.sim, b.base + FRAME + 64, &insn);
	needless_is(&b, QUIRE_SITE_UNMAP_PAGE, SIM_OP_INSN_ALL, SIM_VERDICT_NOT_READ);
	bare_end(&b);

	start(&b, &m); /* changed after it: that fetch it did not guard */
	insn_all(&b, SITE);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);
}

/* Lines went that nobody read wrongly; it guards all the same, in whatever order that is found out. */
static void test_guard_by_dropping(void **state)
{
	struct sim_machine m = one_cpu();
	uint64_t insn;
	struct bare b;

	(void)state;
	start(&b, &m);
	sim_fetch(b.sim, b.base + FRAME + 64, &insn);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	insn_all(&b, SITE);
	sim_fetch(b.sim, b.base + FRAME + 64, &insn);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_NOT_READ);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_GUARD);
	bare_end(&b);

	start(&b, &m); /* and after it no line of what changed need go */
	sim_fetch(b.sim, b.base + FRAME + 64, &insn);
	bare_poke(&b, FRAME, 4, 1);
	bare_poke(&b, FRAME + 32, 4, 1);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	data(&b, OTHER, FRAME + 32, SIM_CLEAN);
	insn_all(&b, SITE);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_UNDECIDED);
	sim_fetch(b.sim, b.base + FRAME + 64, &insn);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_GUARD);
	sim_site_begin(b.sim, OTHER);
	sim_maintain_insn(b.sim, b.base + FRAME + 32, FRAME + 32, false);
	sim_site_end(b.sim, OTHER);
	assert_int_equal(sim_need(b.sim, OTHER, SIM_OP_INSN_LINE)->count[SIM_VERDICT_GUARD], 0);
	bare_end(&b);

	start(&b, &m); /* what it guards counts also when the run ends before the rest is decided */
	sim_fetch(b.sim, b.base + FRAME + 64, &insn);
	bare_poke(&b, FRAME, 4, 1);
	data(&b, OTHER, FRAME, SIM_CLEAN);
	insn_all(&b, SITE);
	sim_fetch(b.sim, b.base + FRAME, &insn);
	sim_needless_finish(b.sim);
	needless_is(&b, SITE, SIM_OP_INSN_ALL, SIM_VERDICT_GUARD);
	bare_end(&b);
}

/* --- Pages ------------------------------------------------------------------------------------ */

static void pages_are(struct bare *b, enum quire_site site, enum sim_verdict verdict,
		      uint64_t pages)
{
	assert_int_equal(sim_need(b->sim, site, FLUSH)->pages[verdict], pages);
}

/* Lines of two pages: the first ones of the first, those after them of the second. */
static void clean_pages(struct bare *b, enum quire_site site, unsigned lines)
{
	sim_site_begin(b->sim, site);
	for (unsigned page = 0; page < 2; page++)
		for (unsigned line = 0; line < lines; line++) {
			quire_pa_t pa = FRAME + page * 4096 + (page * lines + line) * 32;

			sim_maintain_data(b->sim, b->base + pa, pa, SIM_CLEAN, SIM_COHERENCY, true,
					  FLUSH);
		}
	sim_site_end(b->sim, site);
}

static void test_pages(void **state)
{
	struct sim_machine m = one_cpu();
	uint32_t word;
	struct bare b;

	(void)state;
	start(&b, &m);
	bare_poke(&b, FRAME + 32, 4, 1);
	clean_pages(&b, SITE, 4);
	assert_int_equal(sim_need(b.sim, SITE, FLUSH)->count[SIM_VERDICT_NOTHING_THERE], 7);
	pages_are(&b, SITE, SIM_VERDICT_NOTHING_THERE, 1);
	pages_are(&b, SITE, SIM_VERDICT_UNDECIDED, 1); /* one of its lines is */
	sim_dma_from_memory(b.sim, FRAME + 32, &word, sizeof(word));
	pages_are(&b, SITE, SIM_VERDICT_UNDECIDED, 0);
	pages_are(&b, SITE, SIM_VERDICT_NEEDED, 1);
	clean_pages(&b, SITE, 4); /* other operations, though on the same lines */
	pages_are(&b, SITE, SIM_VERDICT_NOTHING_DIRTY, 1);
	pages_are(&b, SITE, SIM_VERDICT_NOTHING_THERE, 2);
	bare_end(&b);
}

/* Without a section's end in between, a line that comes again begins another operation. */
static void test_page_again(void **state)
{
	struct sim_machine m = one_cpu();
	struct bare b;

	(void)state;
	start(&b, &m);
	sim_site_begin(b.sim, SITE);
	for (unsigned n = 0; n < 6; n++) {
		quire_pa_t pa = FRAME + n / 2 % 2 * 32;

		sim_maintain_data(b.sim, b.base + pa, pa, SIM_CLEAN, SIM_COHERENCY, true, FLUSH);
	}
	sim_site_end(b.sim, SITE);
	pages_are(&b, SITE, SIM_VERDICT_NOTHING_THERE, 4); /* 0; 0 1; 1 0; 0 */
	data(&b, SITE, FRAME + 64, SIM_CLEAN);             /* after that it is another one */
	pages_are(&b, SITE, SIM_VERDICT_NOTHING_THERE, 5);
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_overtaken_below),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_guard_below),
		cmocka_unit_test(test_guard_for_other_cpus),
		cmocka_unit_test(test_guard_by_mapping),
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_guard_until_clean),
		cmocka_unit_test(test_guard_of_whole_insn),
		cmocka_unit_test(test_guard_by_dropping),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_page_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
