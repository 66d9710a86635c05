/*
 * quire check: a correct Quire is safe, a faulty one is refuted by a shortest run that repeats itself, and a state that
 * is put back is the state that was saved.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "lab/explore.h"

/* The setting of `quire check --machine NAME` with so many CPUs and pages. */
static struct explore_setting setting_for(const char *name, unsigned cpus, unsigned pages)
{
	struct explore_setting setting = {
		.policy = quire_policy_default(),
		.pages = pages,
		.dropped = QUIRE_SITE_COUNT,
		.mutant = EXPLORE_MUTANT_NONE,
	};
	char path[100];
	struct lab_machine *machine;

	snprintf(path, sizeof(path), "machines/%s.ini", name);
	machine = lab_machine_load(stderr, path);
	assert_non_null(machine);
	assert_null(explore_machine(&setting.machine, &machine->sim, cpus));
	explore_setting_ready(&setting);
	lab_machine_free(machine);
	return setting;
}

static struct explore_result search(const struct explore_setting *setting, unsigned depth,
				    unsigned jobs, bool interleave)
{
	struct explore_bounds bounds = {.depth = depth, .jobs = jobs, .interleave = interleave};
	struct explore_result result;

	explore_search(setting, &bounds, &result);
	if (result.end == EXPLORE_FAILED)
		print_error("%s\n", result.why);
	return result;
}

/* The run fails at its last step in a world of its own, and without any one of its steps it does not. */
static void assert_minimal(const struct explore_setting *setting, struct explore_result *result)
{
	struct explore_job job;
	unsigned length = result->length;

	assert_null(explore_job_create(&job, setting));
	assert_true(explore_replay(&job, result->run, result->length));
	explore_minimize(&job, result->run, &result->length);
	assert_int_equal(result->length, length); /* breadth first: there was nothing to drop */
	explore_job_destroy(&job);
}

static void test_safe(void **state)
{
	static const char *const names[] = {"pandaboard", "hp-a500", "core-i5-2012", "cortex-a8",
					    "arm11-mpcore"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct explore_setting setting = setting_for(names[i], 2, 2);
		struct explore_result result = search(&setting, 3, 2, false);

		assert_int_equal(result.end, EXPLORE_SAFE);
		assert_int_equal(result.depth, 3);
		assert_true(result.moves > 500);
	}
}

static void test_dropped_sites(void **state)
{
	static const struct {
		const char *machine;
		enum quire_site site;
		unsigned steps;
	} cases[] = {
		{"cortex-a8", QUIRE_SITE_TABLE_ENTRY, 2},
		{"pandaboard", QUIRE_SITE_USER_MAP_D, 3},
		{"pandaboard", QUIRE_SITE_TLB_BATCH, 4},
		{"hp-a500", QUIRE_SITE_KERNEL_WROTE, 4},
		{"hp-a500", QUIRE_SITE_KERNEL_READ, 3},
		{"cortex-a8", QUIRE_SITE_TABLE_NEW, 4},
		{"pandaboard", QUIRE_SITE_BOOT, 1},
		{"cortex-a8", QUIRE_SITE_DMA_FROM_DEVICE, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct explore_setting setting = setting_for(cases[i].machine, 2, 2);
		struct explore_result result;

		if (strcmp(cases[i].machine, "cortex-a8") == 0)
			setting = setting_for("cortex-a8", 1, 1);
		setting.dropped = cases[i].site;
		result = search(&setting, 4, 2, false);
		assert_int_equal(result.end, EXPLORE_REFUTED);
		assert_int_equal(result.length, cases[i].steps);
		assert_minimal(&setting, &result);
	}
}

static void test_mutants(void **state)
{
	static const struct {
		const char *machine;
		enum explore_mutant mutant;
	} cases[] = {
		{"arm11-mpcore", EXPLORE_MUTANT_BROADCAST},
		{"cortex-a8", EXPLORE_MUTANT_WALKER},
		{"cortex-a8", EXPLORE_MUTANT_DEVICES},
		{"hp-a500", EXPLORE_MUTANT_ALIASES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct explore_setting setting = setting_for(cases[i].machine, 2, 2);
		struct explore_result result;

		setting.mutant = cases[i].mutant;
		result = search(&setting, 4, 2, false);
		assert_int_equal(result.end, EXPLORE_REFUTED);
		assert_true(result.length <= 4);
	}
}

/* Saving, doing anything, and putting back leaves the state that there was, and the same future. */
static void test_restore(void **state)
{
	static const char *const names[] = {"pandaboard", "hp-a500", "core-i5-2012"};
	struct explore_move moves[EXPLORE_MOVES_MAX], pairs[4];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct explore_setting setting = setting_for(names[i], 2, 2);
		struct explore_job job;

		assert_null(explore_job_create(&job, &setting));
		for (unsigned seed = 0; seed < 12; seed++) {
			uint64_t before, after;
			unsigned count, pair_count;

			explore_job_reset(&job);
			for (unsigned n = 0; n < 8; n++) {
				count = explore_moves(job.world, moves);
				assert_true(explore_do(&job, moves[(seed * 7 + n * 13) % count]));
			}
			explore_job_save(&job);
			before = explore_digest(job.world);
			count = explore_moves(job.world, moves);
			for (unsigned n = 0; n < count; n++) {
				assert_true(explore_do(&job, moves[n]));
				after = explore_digest(job.world);
				explore_job_restore(&job);
				assert_true(explore_digest(job.world) == before);
				assert_true(explore_do(&job, moves[n]));
				assert_true(explore_digest(job.world) == after);
				explore_job_restore(&job);
			}
			pair_count = explore_pairs(job.world, moves, count, pairs, 4);
			for (unsigned n = 0; n < pair_count; n++) {
				explore_do(&job, pairs[n]);
				explore_job_restore(&job);
				assert_true(explore_digest(job.world) == before);
			}
		}
		explore_job_destroy(&job);
	}
}

/* What differs by an exchange of CPUs is one state; what differs by a store is not. */
static void test_digest(void **state)
{
	struct explore_setting setting = setting_for("pandaboard", 2, 1);
	struct explore_move map = {.kind = EXPLORE_MAP, .cpu = 0, .a = EXPLORE_SHARED};
	struct explore_move load = {.kind = EXPLORE_LOAD, .cpu = 0, .a = EXPLORE_SHARED};
	struct explore_move store = {.kind = EXPLORE_STORE, .cpu = 0, .a = EXPLORE_SHARED};
	struct explore_job job;
	uint64_t first, second, stored, again;

	(void)state;
	assert_null(explore_job_create(&job, &setting));
	assert_true(explore_do(&job, map) && explore_do(&job, load));
	first = explore_digest(job.world);
	assert_true(explore_do(&job, store));
	stored = explore_digest(job.world);
	assert_true(explore_do(&job, store));
	again = explore_digest(job.world);
	explore_job_reset(&job);
	map.cpu = load.cpu = 1;
	assert_true(explore_do(&job, map) && explore_do(&job, load));
	second = explore_digest(job.world);
	assert_true(first == second);
	assert_true(first != stored);
	assert_true(stored == again); /* another value, in the same places */
	explore_job_destroy(&job);
}

/* The same seed gives the same walk; a walk finds what the search finds. */
static void test_random(void **state)
{
	struct explore_setting setting = setting_for("pandaboard", 2, 2);
	struct explore_bounds bounds = {.depth = 24, .jobs = 1, .seconds = 20};
	struct explore_result first, second;

	(void)state;
	setting.dropped = QUIRE_SITE_TLB_PROTECT;
	explore_random(&setting, &bounds, 7, &first);
	explore_random(&setting, &bounds, 7, &second);
	assert_int_equal(first.end, EXPLORE_REFUTED);
	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.run, second.run, first.length * sizeof(first.run[0]));
}

/* What only long runs need is caught by walks, the same number of them on every host. */
static void test_long_runs(void **state)
{
	static const struct {
		const char *machine;
		enum quire_site site;
		enum quire_coherence_policy coherence;
	} cases[] = {
		{"hp-a500", QUIRE_SITE_PAGE_FREE, QUIRE_COHERENCE_PAGE},
		{"hp-a500", QUIRE_SITE_UNMAP_RANGE_I, QUIRE_COHERENCE_PAGE},
		{"hp-a500", QUIRE_SITE_TLB_ALIAS, QUIRE_COHERENCE_PAGE},
		{"hp-a500", QUIRE_SITE_COPY_TARGET, QUIRE_COHERENCE_EXACT},
		{"cortex-a8", QUIRE_SITE_TLB_SPACE, QUIRE_COHERENCE_PAGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct explore_setting setting = setting_for(cases[i].machine, 1, 1);
		struct explore_bounds bounds = {.depth = 24, .jobs = 1, .walks = 200000};
		struct explore_result result;
		struct explore_job job;

		setting.dropped = cases[i].site;
		setting.policy.coherence = cases[i].coherence;
		explore_random(&setting, &bounds, 0, &result);
		assert_int_equal(result.end, EXPLORE_REFUTED);
		assert_null(explore_job_create(&job, &setting));
		assert_true(explore_replay(&job, result.run, result.length));
		explore_job_destroy(&job);
	}
}

/* So many walks and no more; and what they say of a site to which Quire never comes. */
static void test_walks_are_counted(void **state)
{
	struct explore_setting setting = setting_for("core-i5-2012", 1, 1);
	struct explore_bounds bounds = {.depth = 24, .jobs = 2, .walks = 50};
	struct explore_result result;
	atomic_bool asked = false;

	(void)state;
	setting.asked = &asked;
	setting.dropped = QUIRE_SITE_USER_MAP_D;
	explore_random(&setting, &bounds, 0, &result);
	assert_int_equal(result.end, EXPLORE_SAFE);
	assert_int_equal(result.states, 50);
	assert_false(asked);
	setting.dropped = QUIRE_SITE_TLB_BATCH;
	explore_random(&setting, &bounds, 0, &result);
	assert_true(asked);
}

/*
 * With two calls at once: no run of two steps fails, and each call is met at several points. On the second machine a
 * walk meets entries between their store and their clean, which is allowed.
 */
static void test_interleave(void **state)
{
	static const char *const names[] = {"pandaboard", "arm11-mpcore"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct explore_setting setting = setting_for(names[i], 2, 1);
		struct explore_result result = search(&setting, 2, 2, true);

		assert_int_equal(result.end, EXPLORE_SAFE);
		assert_true(result.pairs > 10000);
	}
}

static void test_out_of_time(void **state)
{
	struct explore_setting setting = setting_for("pandaboard", 2, 2);
	struct explore_bounds bounds = {.depth = 12, .jobs = 1, .seconds = 1};
	struct explore_result result;

	(void)state;
	explore_search(&setting, &bounds, &result);
	assert_int_equal(result.end, EXPLORE_OUT_OF_TIME);
	assert_true(result.depth >= 2 && result.depth < 12);
	assert_true(result.part >= 0 && result.part < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe),       cmocka_unit_test(test_dropped_sites),
		cmocka_unit_test(test_mutants),    cmocka_unit_test(test_restore),
		cmocka_unit_test(test_digest),     cmocka_unit_test(test_random),
		cmocka_unit_test(test_interleave), cmocka_unit_test(test_out_of_time),
		cmocka_unit_test(test_long_runs),  cmocka_unit_test(test_walks_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
