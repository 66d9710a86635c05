/*
 * The JSON document: it parses, holds what the text holds, and is the same bytes each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "tests/support/sample_experiment.h"

static char *write_experiment(struct lab_experiment *experiment)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	assert_true(lab_json(to, &experiment, 1));
	fclose(to);
	return text;
}

static char *write_document(bool faulty)
{
	return write_experiment(sample_experiment(faulty));
}

static json_t *read_experiment(struct lab_experiment *experiment)
{
	char *text = write_experiment(experiment);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	free(text);
	assert_non_null(root);
	return root;
}

static json_t *read_document(bool faulty)
{
	return read_experiment(sample_experiment(faulty));
}

/* The variant's member of that name. */
static json_t *member(json_t *root, size_t variant, const char *name)
{
	json_t *experiment = json_array_get(json_object_get(root, "experiments"), 0);
	json_t *variants = json_object_get(experiment, "variants");
	json_t *found = json_object_get(json_array_get(variants, variant), name);

	if (!found)
		fail_msg("no %s", name);
	return found;
}

static void test_head(void **state)
{
	json_t *root = read_document(false);
	json_t *experiment = json_array_get(json_object_get(root, "experiments"), 0);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(root, "quire")), QUIRE_VERSION);
	assert_int_equal(json_integer_value(json_object_get(root, "format")), 1);
	assert_string_equal(json_string_value(json_object_get(root, "verdict")), "good");
	assert_string_equal(json_string_value(json_object_get(experiment, "name")), "sample");
	assert_string_equal(json_string_value(json_object_get(experiment, "machine")),
			    "pandaboard");
	assert_string_equal(json_string_value(json_object_get(experiment, "question")),
			    "coherence");
	assert_string_equal(json_string_value(json_object_get(experiment, "source")),
			    "A paper, 2013");
	assert_string_equal(json_string_value(json_object_get(experiment, "size_note")),
			    "64M instead of 512M");
	json_decref(root);
}

static void test_measures(void **state)
{
	json_t *root = read_document(false);
	json_t *first = json_array_get(member(root, 0, "measures"), 0);
	json_t *unpublished = json_array_get(member(root, 1, "measures"), 0);
	double ratio = json_real_value(json_object_get(first, "ratio"));

	(void)state;
	assert_string_equal(json_string_value(json_object_get(first, "name")), "pass 0");
	assert_int_equal(json_integer_value(json_object_get(first, "published")), 22615636);
	assert_true(json_real_value(json_object_get(first, "model")) == 22000000.5);
	assert_true(fabs(ratio - 22000000.5 / 22615636) < 1e-12);
	assert_string_equal(json_string_value(json_object_get(first, "basis")), "fitted");
	assert_true(json_is_null(json_object_get(unpublished, "published")));
	assert_true(json_is_null(json_object_get(unpublished, "ratio")));
	json_decref(root);
}

static void test_rest(void **state)
{
	json_t *root = read_document(false);
	json_t *maintenance = member(root, 0, "maintenance");
	json_t *thresholds = member(root, 0, "thresholds");
	json_t *second = json_array_get(maintenance, 1);
	json_t *times = json_array_get(member(root, 0, "times"), 1);

	(void)state;
	assert_int_equal(json_array_size(maintenance), 2);
	assert_true(json_is_null(json_object_get(json_array_get(maintenance, 0), "site")));
	assert_string_equal(json_string_value(json_object_get(second, "site")),
			    "coherence.kernel-read");
	assert_int_equal(json_integer_value(json_object_get(second, "cycles")), 1234567890);
	assert_true(json_is_null(json_object_get(thresholds, "data_bytes")));
	assert_int_equal(json_integer_value(json_object_get(thresholds, "insn_bytes")), 524288);
	assert_int_equal(json_integer_value(json_object_get(member(root, 0, "counts"), "lines")),
			 77);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(times, "model"), "ctime")),
			 2);
	assert_int_equal(json_integer_value(member(root, 0, "violations")), 0);
	assert_true(json_is_true(member(root, 0, "done")));
	assert_int_equal(json_object_size(member(root, 0, "policies")), 6);
	json_decref(root);
}

static json_int_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* By verdict, where it was found out; elsewhere there is nothing to say. */
static void test_verdicts(void **state)
{
	struct lab_maintenance decided = {
		.site = QUIRE_SITE_TABLE_NEW,
		.count = 9,
		.needless = 3,
		.decided = true,
		.pages = 5,
		.needless_pages = 2,
		.need.count[SIM_VERDICT_GUARD] = 6,
		.need.pages[SIM_VERDICT_GUARD] = 4,
		.need.ticks[SIM_VERDICT_GUARD] = 7 * SIM_TICKS_A_CYCLE,
	};
	struct lab_experiment *experiment = sample_experiment(false);
	json_t *root = read_document(false), *first, *guard;

	(void)state;
	first = json_array_get(member(root, 0, "maintenance"), 0);
	assert_true(json_is_null(json_object_get(first, "pages")));
	assert_true(json_is_null(json_object_get(first, "needless_pages")));
	assert_true(json_is_null(json_object_get(first, "verdicts")));
	json_decref(root);

	experiment->variants[0].maintenance = &decided;
	experiment->variants[0].maintenance_count = 1;
	root = read_experiment(experiment);
	first = json_array_get(member(root, 0, "maintenance"), 0);
	guard = json_object_get(json_object_get(first, "verdicts"), "guard");
	assert_int_equal(number(first, "needless"), 3);
	assert_int_equal(number(first, "pages"), 5);
	assert_int_equal(number(first, "needless_pages"), 2);
	assert_int_equal(number(guard, "count"), 6);
	assert_int_equal(number(guard, "pages"), 4);
	assert_int_equal(number(guard, "cycles"), 7);
	json_decref(root);
}

static void test_faults(void **state)
{
	json_t *root = read_document(true);
	json_t *report = json_array_get(member(root, 1, "violation_reports"), 0);
	json_t *failure = json_array_get(member(root, 1, "failures"), 0);
	const char *key = json_string_value(json_object_get(report, "key"));
	json_t *copy = json_array_get(json_object_get(report, "copies"), 0);
	json_t *due = json_object_get(report, "due");
	json_t *from = json_object_get(report, "got_from");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(root, "verdict")), "failed");
	assert_int_equal(json_integer_value(member(root, 1, "violations")), 9);
	assert_string_equal(key, "STALE READ/dcache alias/load/kernel store/m2/12/9");
	assert_string_equal(json_string_value(json_object_get(report, "text")),
			    "STALE READ: load by cpu1 user map m2 missed write() by cpu0 (dcache alias, colour 3)");
	assert_string_equal(json_string_value(json_object_get(report, "cause")), "dcache alias");
	assert_string_equal(json_string_value(json_object_get(report, "writer_statement")), "write");
	assert_string_equal(json_string_value(json_object_get(due, "site")), "coherence.kernel-wrote");
	assert_int_equal(json_integer_value(json_object_get(from, "line")), 4);
	assert_true(json_is_true(json_object_get(copy, "guilty")));
	assert_int_equal(json_integer_value(json_object_get(copy, "set")), 97);
	assert_int_equal(json_array_size(json_object_get(report, "copies")), 3);
	assert_int_equal(json_integer_value(json_object_get(report, "repeats")), 5);
	assert_string_equal(json_string_value(json_object_get(report, "expected")),
			    "0xfedcba9876543210");
	assert_int_equal(json_integer_value(json_object_get(failure, "line")), 7);
	json_decref(root);
}

/* Numbers are short, keys in one order, and nothing depends on the run. */
static void test_bytes(void **state)
{
	char *one = write_document(true);
	char *two = write_document(true);

	(void)state;
	assert_string_equal(one, two);
	assert_non_null(strstr(one, "\"published\": 3.6209,"));
	assert_non_null(strstr(one, "\"model\": 3.61,"));
	assert_true(strstr(one, "\"quire\"") < strstr(one, "\"experiments\""));
	assert_true(strstr(one, "\"policy\"") < strstr(one, "\"label\""));
	free(one);
	free(two);
}

/* Text that is no UTF-8 stays readable; a file that cannot be written is an error. */
static void test_failing(void **state)
{
	struct lab_experiment copy = *sample_experiment(false);
	struct lab_experiment *experiments[] = {&copy};
	FILE *full = fopen("/dev/full", "w");
	char bad[] = "bad \xff byte";
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	(void)state;
	assert_false(lab_json(full, experiments, 1));
	fclose(full);
	copy.title = bad;
	assert_true(lab_json(to, experiments, 1));
	fclose(to);
	assert_non_null(strstr(text, "\"title\": \"bad ? byte\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),	 cmocka_unit_test(test_measures),
		cmocka_unit_test(test_rest),	 cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_faults),	 cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
