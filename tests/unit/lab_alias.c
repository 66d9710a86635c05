/*
 * The alias test: what it says of a machine follows from the machine's description, and from
 * nothing else. Most tests change one figure of a small machine and see the verdict move.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lab/alias.h"
#include "lab/lab.h"
#include "tests/support/script.h"

#define K 1024u
#define M (1024u * 1024u)

/*
 * 32 KB, 2 ways of 16 KB, lines of 32 bytes, indexed virtually, tagged physically; no store
 * buffer.
 */
static struct sim_machine plain_machine(void)
{
	struct sim_cache l1 = {
		.bytes = 32 * K,
		.ways = 2,
		.line_bytes = 32,
		.index = SIM_VIPT,
		.replace = SIM_LRU,
		.write_back = true,
		.write_allocate = true,
	};
	struct sim_machine machine = {
		.name = "plain",
		.isa = SIM_BARE,
		.cpus = 1,
		.clock_hz = 100000000,
		.memory_bytes = 16 * M,
		.l1i = l1,
		.l1d = l1,
		.tlb = {.entries = 64, .ways = 64},
	};

	machine.cost.l1_access = SIM_TICKS_A_CYCLE;
	machine.cost.memory_read = machine.cost.memory_write = 20 * SIM_TICKS_A_CYCLE;
	return machine;
}

static struct alias_result run(const struct sim_machine *machine, bool uncached)
{
	struct alias_test test = {4 * K, 16 * M, 3, uncached};
	struct alias_result result;

	assert_null(alias_test_fault(&test));
	assert_null(alias_run(machine, &test, &result));
	assert_int_equal(result.count, 13);
	return result;
}

static void assert_from(const struct sim_machine *machine, uint64_t cache, uint64_t all,
			uint64_t fast)
{
	struct alias_result result = run(machine, false);

	assert_int_equal(alias_from(&result, ALIAS_BUFFER_FAILS), cache);
	assert_int_equal(alias_from(&result, ALIAS_SLOW), all);
	assert_int_equal(alias_from(&result, ALIAS_PASSES), fast);
}

/* The size of a way decides, not that of the cache. */
static void test_size_of_a_way(void **state)
{
	(void)state;
	for (unsigned ways = 1; ways <= 16; ways *= 2)
		for (uint32_t way_bytes = 4 * K; way_bytes <= 512 * K; way_bytes *= 2) {
			struct sim_machine machine = plain_machine();

			machine.l1d.ways = ways;
			machine.l1d.bytes = (uint64_t)ways * way_bytes;
			assert_from(&machine, way_bytes, way_bytes, way_bytes);
		}
}

static void test_index(void **state)
{
	struct sim_machine machine = plain_machine();

	(void)state;
	assert_from(&machine, 16 * K, 16 * K, 16 * K);
	machine.l1d.index = SIM_PIPT;
	assert_from(&machine, 4 * K, 4 * K, 4 * K);
	machine.l1d.index = SIM_VIVT;
	assert_from(&machine, 0, 0, 0);
}

/* A write-through cache that does not allocate holds what was loaded: stale as well. */
static void test_write_through(void **state)
{
	struct sim_machine machine = plain_machine();

	(void)state;
	machine.l1d.write_back = machine.l1d.write_allocate = false;
	assert_from(&machine, 16 * K, 16 * K, 16 * K);
}

/* Told apart: where the cache holds, a barrier mends what the store buffer breaks. */
static void test_store_buffer(void **state)
{
	struct sim_machine machine = plain_machine();
	struct alias_result result;
	char text[200];

	(void)state;
	machine.store_buffer = 4;
	machine.store_buffer_bytes = 1 * M;
	assert_from(&machine, 16 * K, 1 * M, 1 * M);
	result = run(&machine, false);
	alias_describe(&result, text, sizeof(text));
	assert_string_equal(text, "4K to 8K: cache not coherent; 16K to 512K: store buffer not "
				  "coherent; 1M to 16M: pass");

	machine.l1d.index = SIM_PIPT;
	machine.store_buffer_bytes = (uint64_t)1 << 32;
	assert_from(&machine, 4 * K, 0, 0);

	machine.store_buffer_bytes = 4 * K; /* the page offset: every alias is found */
	assert_from(&machine, 4 * K, 4 * K, 4 * K);
}

/* Hardware that finds aliases is coherent, and slow where lines move from index to index. */
static void test_alias_check(void **state)
{
	struct sim_machine machine = plain_machine();

	(void)state;
	machine.alias_check = true;
	assert_from(&machine, 4 * K, 4 * K, 16 * K);
	machine.l1d.write_back = machine.l1d.write_allocate = false;
	machine.cost.alias = 100 * SIM_TICKS_A_CYCLE;
	assert_from(&machine, 4 * K, 4 * K, 16 * K);
}

/* Uncached, even VIVT is coherent, and slow everywhere. */
static void test_uncached(void **state)
{
	struct sim_machine machine = plain_machine();
	struct alias_result result;

	(void)state;
	machine.l1d.index = SIM_VIVT;
	result = run(&machine, true);
	assert_int_equal(alias_from(&result, ALIAS_SLOW), 4 * K);
	assert_int_equal(alias_from(&result, ALIAS_PASSES), 0);
}

/* The witness and the test itself count the same stale loads. */
static void test_witness_agrees(void **state)
{
	struct sim_machine machine = plain_machine();
	uint64_t stale = 0;

	(void)state;
	machine.store_buffer = 2;
	machine.store_buffer_bytes = 64 * K;
	for (unsigned index = SIM_PIPT; index <= SIM_VIVT; index++) {
		struct alias_result result;

		machine.l1d.index = index;
		result = run(&machine, false);
		for (unsigned n = 0; n < result.count; n++) {
			const struct alias_separation *s = &result.separations[n];

			assert_int_equal(s->violations, s->stale_behind + s->stale_after);
			assert_int_equal(s->loads, 3 * 64 * 4);
			stale += s->violations;
		}
	}
	assert_true(stale > 0);
}

static void test_faults(void **state)
{
	static const struct alias_test wrong[] = {
		{5000, 16 * M, 4, false},   {4 * K, 5 * M, 4, false},     {2 * K, 16 * M, 4, false},
		{4 * K, 512 * M, 4, false}, {8 * K, 4 * K, 4, false},     {0, 0, 4, false},
		{4 * K, 16 * M, 1, false},  {4 * K, 16 * M, 1001, false},
	};
	struct alias_test largest = {4 * K, 256 * M, 2, false};
	struct sim_machine machine = plain_machine();
	struct alias_result result;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(alias_test_fault(&wrong[i]));
	assert_null(alias_test_fault(&largest));
	assert_null(alias_run(&machine, &largest, &result));
	assert_int_equal(alias_from(&result, ALIAS_PASSES), 16 * K);
	machine.l1d.ways = 0;
	assert_non_null(alias_run(&machine, &largest, &result));
}

/* --- In scripts ---------------------------------------------------------------------------- */

static const char *error_of(const char *text)
{
	static char *errors;
	struct lab_experiment *experiment;

	free(errors);
	experiment = script_run(text, &errors);
	assert_null(experiment);
	return errors;
}

static void test_script_errors(void **state)
{
	(void)state;
	assert_non_null(
		strstr(error_of("machine sh4\nmount r ramfs\n"),
		       "machine sh4 has no architecture code: it runs the alias test only"));
	assert_non_null(strstr(error_of("machine sh4\nbare\nmount r ramfs\n"),
			       ":3:1: 'mount' needs Quire"));
	assert_non_null(strstr(error_of("machine sh4\nbare\npolicy coherence=page\n"),
			       ":3:1: 'policy' needs Quire"));
	assert_non_null(strstr(error_of("bare\nvariant a machine=sh4 coherence=page\n"),
			       ":2:23: 'coherence' is a question to Quire"));
	assert_non_null(
		strstr(error_of("machine sh4\nbare\nexpect free == 0\n"), ":3:8: free asks Quire"));
	assert_non_null(strstr(error_of("bare\nvariant a machine=sh5\nalias-test\n"),
			       "did you mean 'sh4'?"));
	assert_non_null(strstr(error_of("bare\nvariant a machine=sh5\nalias-test\n"),
			       ":2:19: the machine of variant a"));
	assert_non_null(strstr(error_of("bare\nvariant a machine=sh4\nvariant b\nalias-test\n"),
			       "names no machine"));
	assert_non_null(strstr(error_of("machine sh4\nbare\nalias-test from=5000\n"),
			       ":3:1: the separations are powers of two"));
	assert_non_null(strstr(error_of("machine sh4\nbare\nalias-test\nalias-test\n"),
			       ":4:1: 'cache coherent from' is measured twice"));
	assert_non_null(strstr(error_of("machine sh4\nbare\nalias-test unchached\n"),
			       "did you mean 'uncached'?"));
}

/* Each variant on its machine, a machine with architecture code among them. */
static void test_variants(void **state)
{
	static const char text[] =
		"bare\nvariant one machine=sh4\nvariant two machine=hp-a500\nalias-test\n"
		"publish \"fast from\" B one=16384 two=4096\n"
		"in one expect differences == 0\nin two expect differences == 1\n";
	struct lab_experiment *experiment;
	char *errors;

	(void)state;
	experiment = script_run(text, &errors);
	assert_string_equal(errors, "");
	assert_int_equal(experiment->variant_count, 2);
	assert_null(experiment->machine);
	assert_true(experiment->bare);
	assert_string_equal(experiment->variants[0].machine, "sh4");
	assert_string_equal(experiment->variants[1].machine, "hp-a500");
	assert_true(experiment->variants[0].measures[0].model == 16384);
	assert_true(experiment->variants[1].measures[0].model == 262144);
	assert_true(experiment->variants[1].measures[1].model == 4194304);
	assert_string_equal(experiment->variants[0].measures[0].note,
			    "4K to 8K: cache not coherent; 16K to 16M: pass");
	assert_int_equal(experiment->variants[0].failure_count +
				 experiment->variants[1].failure_count,
			 0);
	assert_int_equal(experiment->variants[0].violation_count, 0);
	lab_experiment_free(experiment);
	free(errors);
}

static struct lab_experiment *run_on(struct lab_script *script, const char *machine, char **errors)
{
	struct lab_options options = {.jobs = 1, .machine = machine};
	struct lab_experiment *experiment;
	size_t bytes;
	FILE *to = open_memstream(errors, &bytes);

	experiment = lab_run(to, script, &options, NULL);
	fclose(to);
	return experiment;
}

/* --machine chooses among variants that name theirs. */
static void test_choice(void **state)
{
	char *errors;
	struct lab_script *script = script_from_text(
		"by-name\nbare\nvariant one machine=sh4\nvariant two machine=r5000\nalias-test\n",
		&errors);
	struct lab_experiment *experiment;

	(void)state;
	assert_non_null(script);
	assert_true(lab_script_by_name(script));
	free(errors);
	experiment = run_on(script, "r5000", &errors);
	assert_non_null(experiment);
	assert_int_equal(experiment->variant_count, 1);
	assert_string_equal(experiment->machine, "r5000");
	assert_string_equal(experiment->variants[0].label, "two");
	lab_experiment_free(experiment);
	free(errors);
	assert_null(run_on(script, "r500", &errors));
	assert_non_null(strstr(errors, "did you mean 'r5000'?"));
	free(errors);
	lab_script_free(script);
}

/* The experiment as shipped: every machine, every published figure. */
static void test_published(void **state)
{
	struct lab_options options = {.jobs = 1};
	struct lab_experiment *experiment;
	struct lab_script *script;
	char path[4400];

	(void)state;
	snprintf(path, sizeof(path), "%s/experiments/alias-test.q", lab_data_directory());
	script = lab_script_load(stderr, path);
	assert_non_null(script);
	experiment = lab_run(stderr, script, &options, NULL);
	assert_non_null(experiment);
	assert_int_equal(experiment->variant_count, 14);
	for (size_t i = 0; i < experiment->variant_count; i++)
		for (size_t j = 0; j < 3; j++) {
			const struct lab_measure *measure = &experiment->variants[i].measures[j];

			assert_true(measure->has_published);
			assert_true(measure->model == measure->published);
		}
	assert_int_equal(lab_verdict(&experiment, 1), LAB_GOOD);
	lab_experiment_free(experiment);
	lab_script_free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_of_a_way),  cmocka_unit_test(test_index),
		cmocka_unit_test(test_write_through),  cmocka_unit_test(test_store_buffer),
		cmocka_unit_test(test_alias_check),    cmocka_unit_test(test_uncached),
		cmocka_unit_test(test_witness_agrees), cmocka_unit_test(test_faults),
		cmocka_unit_test(test_script_errors),  cmocka_unit_test(test_variants),
		cmocka_unit_test(test_choice),         cmocka_unit_test(test_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
