/*
 * Policies by name: every answer can be set and printed, every other word is refused with what
 * would be right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "lab/lab.h"

static const struct {
	const char *question, *answer;
} answers[] = {
	{"coherence", "eager"},
	{"coherence", "mapping"},
	{"coherence", "page"},
	{"coherence", "exact"},
	{"pte_clean", "always"},
	{"pte_clean", "detect"},
	{"flush_range", "line"},
	{"flush_range", "whole"},
	{"flush_range", "calibrated"},
	{"flush_range", "calibrated-split"},
	{"tmpfs_clear", "first"},
	{"tmpfs_clear", "ends"},
	{"file_times", "never"},
	{"file_times", "fault"},
	{"file_times", "subtree"},
	{"fault_around", "16"},
	{"fault_around", "1"},
};

/* What was set is what is printed. */
static void test_every_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct quire_policy policy = quire_policy_default();
		char message[300], printed[400], expected[100];

		assert_null(lab_policy_set(&policy, answers[i].question, answers[i].answer, message,
					   sizeof(message)));
		lab_policy_print(&policy, printed, sizeof(printed) - 1);
		strcat(printed, ",");
		snprintf(expected, sizeof(expected), "%s=%s,", answers[i].question,
			 answers[i].answer);
		assert_non_null(strstr(printed, expected));
	}
}

static void test_enums(void **state)
{
	struct quire_policy policy = quire_policy_default();
	char message[300];

	(void)state;
	assert_null(lab_policy_set(&policy, "coherence", "mapping", message, sizeof(message)));
	assert_int_equal(policy.coherence, QUIRE_COHERENCE_MAPPING);
	assert_null(lab_policy_set(&policy, "flush_range", "fixed:0.5M", message, sizeof(message)));
	assert_int_equal(policy.flush_range, QUIRE_FLUSH_FIXED);
	assert_int_equal(policy.flush_fixed_bytes, 524288);
	assert_null(lab_policy_set(&policy, "file_times", "subtree", message, sizeof(message)));
	assert_int_equal(policy.file_times, QUIRE_FILE_TIMES_SUBTREE);
	assert_int_equal(policy.coherence, QUIRE_COHERENCE_MAPPING);
	assert_true(lab_policy_question("tmpfs_clear"));
	assert_false(lab_policy_question("fault_around"));
	assert_false(lab_policy_question("Coherence"));
}

static void refused(const char *question, const char *answer, const char *hint)
{
	struct quire_policy policy = quire_policy_default();
	struct quire_policy before = policy;
	char message[300];
	const char *wrong = lab_policy_set(&policy, question, answer, message, sizeof(message));

	assert_non_null(wrong);
	assert_non_null(strstr(wrong, hint));
	assert_memory_equal(&policy, &before, sizeof(policy));
}

static void test_refused(void **state)
{
	char huge[2000];

	(void)state;
	refused("coherense", "page", "'coherence'");
	refused("coherence", "pgae", "'page'");
	refused("coherence", "Page", "'page'");
	refused("coherence", "", "eager");
	refused("flush_range", "fixed", "fixed:512K");
	refused("flush_range", "fixed:", "fixed:512K");
	refused("flush_range", "fixed:0", "above 0");
	refused("flush_range", "fixed:-1", "fixed:512K");
	refused("flush_range", "fixed:99999999999T", "fixed:512K");
	refused("fault_around", "0", "power of two");
	refused("fault_around", "3", "power of two");
	refused("fault_around", "-2", "power of two");
	refused("fault_around", "99999999999999999999", "power of two");
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	refused(huge, "page", "unknown policy");
	refused("coherence", huge, "no answer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_answer),
		cmocka_unit_test(test_enums),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
