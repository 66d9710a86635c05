/*
 * Which TLB operations were needed: each verdict, and that all that are called needless can be left out at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "tests/support/bare.h"
#include "tests/support/needless.h"

#define VA    0x5000u
#define SITE  QUIRE_SITE_TLB_PAGE  /* the operation in question */
#define OTHER QUIRE_SITE_TLB_BATCH /* a second one */
#define ENTRY SIM_OP_TLB_ENTRY

static uint32_t page(unsigned frame, uint32_t more)
{
	return (uint32_t)BARE_FRAME(frame) | BARE_ARM_PAGE | more;
}

/* VA is mapped to frame 0, and the TLB has it. */
static void start(struct bare *b)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);

	bare_start(b, &m);
	needless_start(b);
	bare_arm_map(b, 0, VA, page(0, 0));
	bare_arm_activate(b, 0, 1);
	bare_load(b, VA, NULL);
}

static void purge(struct bare *b, enum quire_site site, uintptr_t va)
{
	sim_site_begin(b->sim, site);
	armv7_tlbimvais(b->hw, va | 1);
	sim_site_end(b->sim, site);
}

static void test_another_frame(void **state)
{
	struct bare b;

	(void)state;
	start(&b);
	bare_arm_map(&b, 0, VA, page(1, 0));
	purge(&b, SITE, VA);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_UNDECIDED);
	bare_load(&b, VA, NULL);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	purge(&b, OTHER, VA + 0x1000);
	needless_is(&b, OTHER, ENTRY, SIM_VERDICT_NOTHING_THERE);
	bare_end(&b);
}

/* An access that the tables forbid would have gone through. */
static void test_fewer_rights(void **state)
{
	struct bare b;
	int error;

	(void)state;
	start(&b);
	bare_arm_map(&b, 0, VA, page(0, BARE_ARM_RO));
	purge(&b, SITE, VA);
	bare_load(&b, VA + 4, NULL); /* a load would not */
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_UNDECIDED);
	assert_int_equal(sim_store(b.sim, VA, 4, 1), -QUIRE_EFAULT);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);

	start(&b); /* nothing is mapped any more */
	bare_arm_map(&b, 0, VA, 0);
	purge(&b, SITE, VA);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);

	start(&b); /* the frame is nobody's, whatever the tables say */
	sim_frames_given(b.sim, BARE_FRAME(0), QUIRE_PAGE_BYTES);
	sim_frames_freed(b.sim, BARE_FRAME(0), QUIRE_PAGE_BYTES);
	purge(&b, SITE, VA);
	bare_load(&b, VA, NULL);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

/* The old entry would have the access fault for ever. */
static void test_more_rights(void **state)
{
	struct bare b;

	(void)state;
	start(&b);
	bare_arm_map(&b, 0, VA + 0x1000, page(1, BARE_ARM_RO));
	bare_load(&b, VA + 0x1000, NULL);
	bare_arm_map(&b, 0, VA + 0x1000, page(1, 0));
	purge(&b, SITE, VA + 0x1000);
	assert_int_equal(sim_store(b.sim, VA + 0x1000, 4, 1), 0);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

static void test_not_read(void **state)
{
	struct bare b;

	(void)state;
	start(&b); /* the same entry comes back */
	purge(&b, SITE, VA);
	bare_load(&b, VA, NULL);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NOT_READ);
	bare_end(&b);

	start(&b); /* replaced: a set has two ways, and as many entries made room in it */
	for (unsigned n = 0; n < 5; n++)
		bare_arm_map(&b, 0, VA + n * 0x4000, page(n, 0));
	bare_arm_map(&b, 0, VA, page(1, 0));
	purge(&b, SITE, VA);
	for (unsigned n = 1; n < 4; n++)
		bare_load(&b, VA + n * 0x4000, NULL); /* two are empty at first */
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_UNDECIDED);
	bare_load(&b, VA + 4 * 0x4000, NULL);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NOT_READ);
	bare_load(&b, VA, NULL);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NOT_READ);
	bare_end(&b);

	start(&b); /* nobody uses the address any more */
	bare_arm_map(&b, 0, VA, 0);
	purge(&b, SITE, VA);
	sim_needless_finish(b.sim);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NOT_READ);
	bare_end(&b);
}

static void test_twice(void **state)
{
	struct bare b;

	(void)state;
	start(&b); /* the later one found nothing */
	bare_arm_map(&b, 0, VA, page(1, 0));
	purge(&b, SITE, VA);
	purge(&b, OTHER, VA);
	needless_is(&b, OTHER, ENTRY, SIM_VERDICT_TWICE);
	bare_load(&b, VA, NULL);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);

	start(&b); /* an entry with more rights came between: the later one takes the old one over */
	bare_arm_map(&b, 0, VA + 0x1000, page(1, BARE_ARM_RO));
	bare_load(&b, VA + 0x1000, NULL);
	bare_arm_map(&b, 0, VA + 0x1000, page(1, 0));
	purge(&b, SITE, VA + 0x1000);
	bare_load(&b, VA + 0x1000, NULL);
	purge(&b, OTHER, VA + 0x1000);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_TWICE);
	assert_int_equal(sim_store(b.sim, VA + 0x1000, 4, 1), 0);
	needless_is(&b, OTHER, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

/* One entry that was needed is enough; other spaces and CPUs have their own. */
static void test_all_entries(void **state)
{
	struct bare b;

	(void)state;
	start(&b);
	bare_arm_map(&b, 0, VA + 0x1000, page(1, 0));
	bare_load(&b, VA + 0x1000, NULL);
	bare_arm_map(&b, 0, VA + 0x1000, page(2, 0));
	sim_site_begin(b.sim, SITE);
	armv7_tlbiallis(b.hw);
	sim_site_end(b.sim, SITE);
	bare_load(&b, VA, NULL);
	bare_arm_map(&b, 1, VA + 0x1000, page(3, 0));
	bare_arm_activate(&b, 1, 2);
	bare_load(&b, VA + 0x1000, NULL);
	sim_switch(b.sim, 1);
	bare_arm_activate(&b, 0, 1);
	needless_is(&b, SITE, SIM_OP_TLB_ALL, SIM_VERDICT_UNDECIDED);
	sim_switch(b.sim, 0);
	bare_arm_activate(&b, 0, 1);
	bare_load(&b, VA + 0x1000, NULL);
	needless_is(&b, SITE, SIM_OP_TLB_ALL, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

/* An operation that has not returned may leave an entry in use. */
static void test_in_operation(void **state)
{
	struct bare b;

	(void)state;
	start(&b);
	sim_enter(b.sim);
	bare_arm_map(&b, 0, VA, page(0, BARE_ARM_RO));
	purge(&b, SITE, VA);
	assert_int_equal(sim_store(b.sim, VA, 4, 1), -QUIRE_EFAULT);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_UNDECIDED);
	sim_leave(b.sim);
	assert_int_equal(sim_store(b.sim, VA, 4, 1), -QUIRE_EFAULT);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	bare_end(&b);
}

/* Hardware sets the dirty bit as it walks: an entry that stays saves the walk, and the mark is missed. */
static void test_marks(void **state)
{
	struct sim_machine m = bare_machine(SIM_X86_64);
	struct bare b;

	(void)state;
	for (int cleared = 0; cleared < 2; cleared++) {
		bare_start(&b, &m);
		needless_start(&b);
		bare_x86_map(&b, VA, BARE_FRAME(0) | BARE_X86_PAGE);
		x86_set_cr3(b.hw, BARE_ROOT);
		assert_int_equal(sim_store(b.sim, VA, 4, 1), 0);
		if (cleared)
			bare_poke(&b, bare_x86_entry(1, VA), 8,
				  BARE_FRAME(0) | BARE_X86_PAGE | BARE_X86_A);
		sim_site_begin(b.sim, SITE);
		x86_invlpg(b.hw, VA);
		sim_site_end(b.sim, SITE);
		assert_int_equal(sim_store(b.sim, VA, 4, 2), 0);
		needless_is(&b, SITE, ENTRY, cleared ? SIM_VERDICT_NEEDED : SIM_VERDICT_NOT_READ);
		bare_end(&b);
	}
}

static int miss(struct bare *b, uintptr_t va, enum quire_access access)
{
	(void)access;
	parisc_idtlbt(b->hw, 7, va, BARE_FRAME(b->faults), PARISC_READ | PARISC_USER);
	return 0;
}

/* Software fills, and the witness cannot ask it: what comes instead of the old entry tells. */
static void test_software_fill(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;

	(void)state;
	for (unsigned frame = 0; frame < 2; frame++) {
		bare_start(&b, &m);
		needless_start(&b);
		b.on_miss = miss;
		parisc_set_user_space(b.hw, 7);
		bare_load(&b, VA, NULL);
		b.faults = frame;
		sim_site_begin(b.sim, SITE);
		parisc_pdtlb(b.hw, 7, VA);
		sim_site_end(b.sim, SITE);
		bare_load(&b, VA, NULL);
		needless_is(&b, SITE, ENTRY, frame ? SIM_VERDICT_NEEDED : SIM_VERDICT_NOT_READ);
		bare_end(&b);
	}
}

/* Which ghost an operation by position would drop nobody knows: it and those before stay on the safe side. */
static void test_by_position(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	needless_start(&b);
	b.on_miss = miss;
	parisc_set_user_space(b.hw, 7);
	bare_load(&b, VA, NULL);
	bare_load(&b, VA + 0x1000, NULL);
	sim_site_begin(b.sim, SITE);
	parisc_pdtlb(b.hw, 7, VA);
	sim_site_end(b.sim, SITE);
	sim_site_begin(b.sim, OTHER);
	for (unsigned index = 0; index < 8; index++)
		parisc_pdtlbe(b.hw, index);
	sim_site_end(b.sim, OTHER);
	needless_is(&b, SITE, ENTRY, SIM_VERDICT_NEEDED);
	assert_int_equal(sim_need(b.sim, OTHER, ENTRY)->count[SIM_VERDICT_NOTHING_THERE], 7);
	assert_int_equal(sim_need(b.sim, OTHER, ENTRY)->count[SIM_VERDICT_UNDECIDED], 1);
	bare_end(&b);
}

/* --- All that is needless at once ------------------------------------------------------------- */

enum { STEPS = 60, PAGES = 5, SEEDS = 4000 };

struct step {
	unsigned what, cpu, page, frame, space;
	bool read_only;
};

static uint32_t next(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void make_steps(struct step *steps, uint32_t seed)
{
	for (unsigned i = 0; i < STEPS; i++)
		steps[i] = (struct step){
			.what = next(&seed) % 10,
			.cpu = next(&seed) % 2,
			.page = next(&seed) % PAGES,
			.frame = next(&seed) % 2,
			.space = next(&seed) % 8 == 0,
			.read_only = next(&seed) % 2,
		};
}

/* Pages of one set of the TLB, and one of another. */
static uintptr_t address(const struct step *step)
{
	return VA + (step->page + 1 == PAGES ? 0x1000 : step->page * 0x4000);
}

static void do_purge(struct bare *b, const struct step *step)
{
	uint32_t asid = step->space + 1;

	if (step->what == 8)
		armv7_tlbiasidis(b->hw, asid);
	else if (step->what == 9 && step->read_only)
		armv7_tlbiallis(b->hw);
	else if (step->read_only)
		armv7_tlbimva(b->hw, address(step) | asid);
	else
		armv7_tlbimvais(b->hw, address(step) | asid);
}

/* The n-th operation goes under site n; one of those left out is not done. Result: an access's. */
static int do_step(struct bare *b, const struct step *step, unsigned *site, const bool *left_out)
{
	uint64_t word;

	sim_switch(b->sim, step->cpu);
	bare_arm_activate(b, step->space, step->space + 1);
	switch (step->what) {
	case 0:
	case 1:
	case 2:
		return sim_load(b->sim, address(step), 4, &word);
	case 3:
		return sim_store(b->sim, address(step), 4, 1);
	case 4:
		bare_arm_map(b, step->space, address(step), 0);
		return 0;
	case 5:
		bare_arm_map(b, step->space, address(step),
			     page(step->frame, step->read_only ? BARE_ARM_RO : 0));
		return 0;
	default:
		break;
	}
	if (*site == QUIRE_SITE_COUNT)
		return 0;
	sim_site_begin(b->sim, (enum quire_site) * site);
	if (!left_out[*site])
		do_purge(b, step);
	sim_site_end(b->sim, (enum quire_site) * site);
	(*site)++;
	return 0;
}

struct outcome {
	bool wrong; /* the witness says so */
	int error;
};

static unsigned run_steps(struct bare *b, const struct step *steps, const bool *left_out,
			  struct outcome *outcomes)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	unsigned site = 0;

	m.data_coherent = true;
	m.tlb.entries = 32; /* none leaves by itself, which could hide that a purge is missing */
	m.tlb.ways = 8;
	bare_start(b, &m);
	needless_start(b);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t before = sim_violations(b->sim);

		outcomes[i].error = do_step(b, &steps[i], &site, left_out);
		outcomes[i].wrong = sim_violations(b->sim) != before;
	}
	sim_needless_finish(b->sim);
	return site;
}

static bool is_needless(const struct bare *b, unsigned site)
{
	for (unsigned op = ENTRY; op <= SIM_OP_TLB_ALL; op++) {
		const struct sim_need *need =
			sim_need(b->sim, (enum quire_site)site, (enum sim_op)op);

		for (unsigned i = 0; i < SIM_VERDICT_COUNT; i++)
			if (need->count[i] && sim_verdict_is_needless((enum sim_verdict)i))
				return true;
	}
	return false;
}

/* Result: operations left out. */
static unsigned try_seed(uint32_t seed)
{
	struct outcome with[STEPS], without[STEPS];
	bool left_out[QUIRE_SITE_COUNT] = {false};
	unsigned sites, count = 0;
	struct step steps[STEPS];
	struct bare b;

	make_steps(steps, seed);
	sites = run_steps(&b, steps, left_out, with);
	for (unsigned site = 0; site < sites; site++)
		count += left_out[site] = is_needless(&b, site);
	bare_end(&b);
	run_steps(&b, steps, left_out, without);
	bare_end(&b);
	for (unsigned i = 0; i < STEPS; i++)
		if (without[i].error != with[i].error || (without[i].wrong && !with[i].wrong))
			fail_msg("seed %u: step %u goes wrong without what was called needless",
				 seed, i);
	return count;
}

static void test_all_needless_at_once(void **state)
{
	unsigned count = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++)
		count += try_seed(seed);
	assert_in_range(count, SEEDS, SEEDS * QUIRE_SITE_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_frame),
		cmocka_unit_test(test_fewer_rights),
		cmocka_unit_test(test_more_rights),
		cmocka_unit_test(test_not_read),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_all_entries),
		cmocka_unit_test(test_in_operation),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_software_fill),
		cmocka_unit_test(test_by_position),
		cmocka_unit_test(test_all_needless_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
