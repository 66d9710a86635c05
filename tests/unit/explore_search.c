/*
 * quire check: a correct Quire is safe, a faulty one is refuted by a shortest run that repeats itself, and a state that
 * is put back is the state that was saved.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sim/adversary.h"
#include "tests/support/setting.h"

static struct explore_result search(const struct explore_setting *setting, unsigned depth,
				    unsigned jobs, unsigned interleave)
{
	struct explore_bounds bounds = {
		.depth = depth, .jobs = jobs, .interleave = interleave};
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
		struct explore_result result = search(&setting, 3, 2, 0);

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
		result = search(&setting, 4, 2, 0);
		assert_int_equal(result.end, EXPLORE_REFUTED);
		assert_int_equal(result.length, cases[i].steps);
		assert_minimal(&setting, &result);
	}
}

/* So many moves, different ones for each seed. */
static void walk(struct explore_job *job, unsigned seed, unsigned length)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];

	for (unsigned n = 0; n < length; n++) {
		unsigned count = explore_moves(job, moves);

		assert_true(explore_do(job, moves[(seed * 7 + n * 13) % count]));
	}
}

/* Saving, doing anything, and putting back leaves the state that there was, and the same future. */
static void test_restore(void **state)
{
	static const char *const names[] = {"pandaboard", "hp-a500", "core-i5-2012"};
	struct explore_move moves[EXPLORE_MOVES_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct explore_setting setting = setting_for(names[i], 2, 2);
		struct explore_job job;

		assert_null(explore_job_create(&job, &setting));
		for (unsigned seed = 0; seed < 12; seed++) {
			uint64_t before, after;
			unsigned count;

			explore_job_restore(&job, EXPLORE_ROOT);
			walk(&job, seed, 8);
			explore_job_save(&job, EXPLORE_HERE);
			before = explore_digest(job.world);
			count = explore_moves(&job, moves);
			for (unsigned n = 0; n < count; n++) {
				assert_true(explore_do(&job, moves[n]));
				after = explore_digest(job.world);
				explore_job_restore(&job, EXPLORE_HERE);
				assert_true(explore_digest(job.world) == before);
				assert_true(explore_do(&job, moves[n]));
				assert_true(explore_digest(job.world) == after);
				explore_job_restore(&job, EXPLORE_HERE);
			}
			for (unsigned n = 0; n < count; n++) {
				moves[n].until = 3;
				explore_do(&job, moves[n]); /* may stop half way */
				explore_job_restore(&job, EXPLORE_HERE);
				assert_int_equal(explore_half_done_count(&job), 0);
				assert_true(explore_digest(job.world) == before);
			}
		}
		explore_job_destroy(&job);
	}
}

/* No call leaves maintenance without its barrier: between moves hardware has none to complete. */
static void test_nothing_waits(void **state)
{
	static const char *const names[] = {"pandaboard", "arm11-mpcore", "hp-a500"};
	struct explore_move moves[EXPLORE_MOVES_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct explore_setting setting = setting_for(names[i], 2, 2);
		struct explore_job job;

		assert_null(explore_job_create(&job, &setting));
		for (unsigned seed = 0; seed < 8; seed++) {
			explore_job_restore(&job, EXPLORE_ROOT);
			for (unsigned n = 0; n < 40; n++) {
				unsigned count = explore_moves(&job, moves);

				assert_true(explore_do(&job, moves[(seed * 7 + n * 13) % count]));
				assert_int_equal(sim_pending_count(job.world->sim), 0);
			}
		}
		explore_job_destroy(&job);
	}
}

/* The bytes of the state saved or put back last: records and bulk, but for what need not be saved. */
static size_t state_bytes(const struct explore_job *job, uint8_t *to)
{
	const struct explore_arena *arena = &job->arena;
	size_t used = job->saved[job->last].used, bulk = arena->size - arena->records_max;
	size_t host = (size_t)((uint8_t *)job->world->host - (arena->base + arena->records_max));
	struct sim_unsaved parts[SIM_UNSAVED];

	memcpy(to, arena->base, used);
	memcpy(to + used, arena->base + arena->records_max, bulk);
	memset(to + used + host, 0, EXPLORE_CPUS_MAX * QUIRE_PAGE_BYTES);
	sim_unsaved(job->world->sim, parts);
	for (unsigned n = 0; n < SIM_UNSAVED; n++)
		memset(to + ((const uint8_t *)parts[n].start - arena->base), 0, parts[n].bytes);
	return used + bulk;
}

/* Goes back and forth between three states. */
static void assert_every_byte_restored(struct explore_job *job, unsigned seed,
				       uint8_t *bytes[EXPLORE_SAVES], uint8_t *now)
{
	explore_job_restore(job, EXPLORE_ROOT);
	state_bytes(job, bytes[EXPLORE_ROOT]);
	walk(job, seed, 4);
	explore_job_save(job, EXPLORE_PARENT);
	state_bytes(job, bytes[EXPLORE_PARENT]);
	walk(job, seed + 5, 2);
	explore_job_save(job, EXPLORE_HERE);
	state_bytes(job, bytes[EXPLORE_HERE]);
	for (unsigned n = 0; n < 8; n++) {
		enum explore_saved_as as = (seed + n * n) % EXPLORE_SAVES;

		walk(job, seed + n, 1);
		explore_job_restore(job, as);
		assert_memory_equal(now, bytes[as], state_bytes(job, now));
	}
}

/* The machine tells of every byte that it writes, whatever its caches are. */
static void test_restore_bytes(void **state)
{
	static const struct {
		const char *name;
		bool write_back;
	} machines[] = {{"pandaboard", true}, {"hp-a500", true},     {"core-i5-2012", true},
			{"cortex-a8", true},  {"pandaboard", false}, {"hp-a500", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct explore_setting setting = setting_for(machines[i].name, 2, 2);
		uint8_t *bytes[EXPLORE_SAVES + 1];
		struct explore_job job;

		setting.machine.l1d.write_back = machines[i].write_back;
		setting.machine.l1d.write_allocate = machines[i].write_back;
		assert_null(explore_job_create(&job, &setting));
		for (unsigned n = 0; n <= EXPLORE_SAVES; n++)
			assert_non_null(bytes[n] = malloc(job.arena.size));
		for (unsigned seed = 0; seed < 40; seed++)
			assert_every_byte_restored(&job, seed, bytes, bytes[EXPLORE_SAVES]);
		for (unsigned n = 0; n <= EXPLORE_SAVES; n++)
			free(bytes[n]);
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
	explore_job_restore(&job, EXPLORE_ROOT);
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
 * With two calls at once: no run of three steps fails, and each call is met at several points. On
 * the second machine a walk meets entries between their store and their clean, which is allowed.
 */
static void test_interleave(void **state)
{
	static const char *const names[] = {"pandaboard", "arm11-mpcore"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct explore_setting setting = setting_for(names[i], 2, 1);
		struct explore_result result = search(&setting, 3, 2, 3);

		assert_int_equal(result.end, EXPLORE_SAFE);
		assert_int_equal(result.together, 3);
		assert_true(result.pairs > 10000);
	}
}

static bool can(const struct explore_job *job, struct explore_move move)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(job, moves);
	bool found = false;

	for (unsigned n = 0; n < count; n++)
		found |= memcmp(&moves[n], &move, sizeof(move)) == 0;
	return found;
}

/*
 * A call that is half done can go on, its CPU can do nothing else, another can meet it once but for
 * those that are apart; and the model tells what each of two may give, in either order.
 */
static void test_half_done(void **state)
{
	struct explore_setting setting = setting_for("core-i5-2012", 2, 1);
	const struct explore_move map = {.kind = EXPLORE_MAP, .a = EXPLORE_SHARED};
	const struct explore_move load = {.kind = EXPLORE_LOAD, .cpu = 1, .a = EXPLORE_SHARED};
	const struct explore_move store = {.kind = EXPLORE_STORE, .cpu = 1, .a = EXPLORE_SHARED};
	const struct explore_move write = {.kind = EXPLORE_WRITE, .cpu = 1};
	const struct explore_move go_on = {.kind = EXPLORE_GO_ON};
	struct explore_move unmap = {.kind = EXPLORE_UNMAP, .a = EXPLORE_SHARED, .until = 1};
	struct explore_job job;

	(void)state;
	assert_null(explore_job_create(&job, &setting));
	assert_true(explore_do(&job, map) && explore_do(&job, load) && explore_do(&job, store));
	assert_false(can(&job, go_on));
	assert_true(explore_do(&job, unmap));
	assert_int_equal(explore_half_done_count(&job), 1);
	assert_true(can(&job, go_on) && can(&job, load) && can(&job, store));
	assert_false(can(&job, map));
	assert_true(job.world->model.map[0][EXPLORE_SHARED].mapped);
	assert_true(explore_do(&job, store)); /* by the old entry: it came first */
	assert_false(can(&job, load) || can(&job, write));
	assert_true(can(&job, go_on));
	assert_true(explore_do(&job, go_on));
	assert_int_equal(explore_half_done_count(&job), 0);
	assert_false(job.world->model.map[0][EXPLORE_SHARED].mapped);
	assert_int_equal(job.world->model.file[0], job.world->values);
	assert_true(explore_do(&job, load)); /* refused, as the model says */
	assert_true(explore_do(&job, map) && explore_do(&job, load) && explore_do(&job, unmap));
	assert_true(explore_do(&job, write) && explore_do(&job, write)); /* apart from it */
	assert_int_equal(job.world->model.file[0], job.world->values);
	assert_true(can(&job, write));
	assert_false(can(&job, load));
	assert_true(explore_do(&job, go_on));
	assert_false(job.world->model.map[0][EXPLORE_SHARED].mapped);
	explore_job_destroy(&job);
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
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_dropped_sites),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_restore_bytes),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_interleave),
		cmocka_unit_test(test_half_done),
		cmocka_unit_test(test_out_of_time),
		cmocka_unit_test(test_nothing_waits),
		cmocka_unit_test(test_long_runs),
		cmocka_unit_test(test_walks_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
