/*
 * The check is checked: each mutant is caught, on a machine that can show it, in few steps, and the
 * run that catches it is good without the mutant.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/setting.h"

static struct explore_result try_mutant(struct explore_setting *setting)
{
	const struct explore_trial *trial = explore_mutant_trial(setting->mutant);
	struct explore_bounds bounds = {
		.depth = trial->depth,
		.interleave = trial->interleave,
		.jobs = 2,
		.start = trial->start,
		.start_length = trial->start_length,
	};
	struct explore_result result;

	explore_search(setting, &bounds, &result);
	return result;
}

/* Only the last step fails with the mutant, and none without it. */
static void assert_guilty(struct explore_setting setting, const struct explore_result *result)
{
	struct explore_job job;

	assert_null(explore_job_create(&job, &setting));
	assert_true(explore_replay(&job, result->run, result->length));
	explore_job_destroy(&job);
	setting.mutant = EXPLORE_MUTANT_NONE;
	assert_null(explore_job_create(&job, &setting));
	for (unsigned n = 0; n < result->length; n++)
		assert_true(explore_do(&job, result->run[n]));
	explore_job_destroy(&job);
}

static void test_caught(void **state)
{
	static const struct {
		enum explore_mutant mutant;
		const char *machine;
		unsigned cpus, steps;
	} cases[] = {
		{EXPLORE_MUTANT_BROADCAST, "arm11-mpcore", 2, 3},
		{EXPLORE_MUTANT_WALKER, "cortex-a8", 1, 2},
		{EXPLORE_MUTANT_WALKER, "arm11-mpcore", 2, 2},
		{EXPLORE_MUTANT_DEVICES, "cortex-a8", 1, 2},
		{EXPLORE_MUTANT_ALIASES, "hp-a500", 2, 3},
		{EXPLORE_MUTANT_FLAG_FIRST, "hp-a500", 2, 7},
		{EXPLORE_MUTANT_TLB_LAST, "hp-a500", 1, 6},
		{EXPLORE_MUTANT_FREE_FIRST, "pandaboard", 2, 4},
		{EXPLORE_MUTANT_FIRST_PAGE, "core2-t7300-kvm", 1, 4},
		{EXPLORE_MUTANT_EXCHANGED, "hp-a500", 2, 3},
		{EXPLORE_MUTANT_FORK_DROPS, "pandaboard", 2, 4},
		{EXPLORE_MUTANT_ANON_ENTRY, "pandaboard", 2, 4},
		{EXPLORE_MUTANT_NEIGHBOUR, "hp-a500", 2, 4},
		{EXPLORE_MUTANT_BARRIER, "pandaboard", 2, 2},
		{EXPLORE_MUTANT_ENTRY_BARRIER, "cortex-a8", 1, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned pages = explore_mutant_trial(cases[i].mutant)->pages;
		struct explore_setting setting =
			setting_for(cases[i].machine, cases[i].cpus, pages);
		struct explore_result result;

		setting.mutant = cases[i].mutant;
		result = try_mutant(&setting);
		print_message("%s on %s\n", explore_mutant_name(setting.mutant), cases[i].machine);
		assert_int_equal(result.end, EXPLORE_REFUTED);
		assert_int_equal(explore_steps(result.run, result.length), cases[i].steps);
		assert_guilty(setting, &result);
	}
}

/* A machine on which hardware does by itself what the mutant leaves out is safe with it. */
static void test_harmless(void **state)
{
	static const struct {
		enum explore_mutant mutant;
		const char *machine;
	} cases[] = {
		{EXPLORE_MUTANT_WALKER, "pandaboard"},
		{EXPLORE_MUTANT_EXCHANGED, "core2-t7300-kvm"},
		{EXPLORE_MUTANT_ENTRY_BARRIER, "core2-t7300-kvm"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct explore_setting setting = setting_for(cases[i].machine, 2, 2);

		setting.mutant = cases[i].mutant;
		assert_int_equal(try_mutant(&setting).end, EXPLORE_SAFE);
	}
}

/* Each has a name by which it is found, and nothing else is. */
static void test_names(void **state)
{
	enum explore_mutant found;
	char message[900];

	(void)state;
	for (unsigned n = 0; n < EXPLORE_MUTANT_NONE; n++) {
		const char *name = explore_mutant_name((enum explore_mutant)n);

		assert_true(explore_mutant_find(name, &found, message, sizeof(message)));
		assert_int_equal(found, n);
	}
	assert_null(explore_mutant_name(EXPLORE_MUTANT_NONE));
	assert_false(explore_mutant_find("tlb", &found, message, sizeof(message)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caught),
		cmocka_unit_test(test_harmless),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
