/*
 * The script language: what is right is understood, what is wrong is refused at its place with what
 * would be right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lab/script.h"
#include "tests/support/script.h"

struct refusal {
	const char *text;
	const char *place;  /* ":line:column: " */
	const char *wanted; /* in the message */
};

#define HEAD \
	"machine pandaboard\nmount d ramfs\nfile f on=d size=4K\nprocess p\nmap m f shared rw\n"

static const struct refusal refusals[] = {
	/* Form */
	{"titel x\n", ":1:1: ", "did you mean 'title'?"},
	{"title\n", ":1:6: ", "title TEXT"},
	{"frobnicate\n", ":1:1: ", "unknown statement 'frobnicate'"},
	{"machine a b\n", ":1:11: ", "unexpected 'b'"},
	{"machine\n", ":1:8: ", "machine needs NAME"},
	{"machine \"a\n", ":1:9: ", "quote is not closed"},
	{"machine \"a\"b\n", ":1:12: ", "expected a blank"},
	{"}\n", ":1:1: ", "unexpected '}'"},
	{"repeat 3 {\nepoch\n", ":1:10: ", "block is not closed"},
	{"repeat 3\n", ":1:9: ", "expected {"},
	{"epoch {\n}\n", ":1:7: ", "unexpected '{'"},
	{"repeat 2 { title x }\n", ":1:12: ", "outside of blocks"},
	{"in\n", ":1:3: ", "labels of variants"},
	{"in run title x\n", ":1:8: ", "holds for all variants"},
	/* Words and keys */
	{"mount d dsik\n", ":1:9: ", "did you mean 'disk'?"},
	{"mount d disk szie=4\n", ":1:14: ", "did you mean 'size'?"},
	{"mount d disk size=4K size=4K\n", ":1:22: ", "given twice"},
	{"mount d disk size=\n", ":1:19: ", "size= has no value"},
	{"mount a/b disk\n", ":1:7: ", "is no name"},
	{HEAD "msync m asynk\n", ":6:9: ", "did you mean 'async'?"},
	{HEAD "msync m async async\n", ":6:15: ", "given twice"},
	{HEAD "load m order=rnadom\n", ":6:14: ", "did you mean 'random'?"},
	/* Numbers */
	{HEAD "load m at=1Q\n", ":6:11: ", "unknown unit"},
	{HEAD "load m at=-1\n", ":6:11: ", "whole bytes"},
	{HEAD "load m at=0.5\n", ":6:11: ", "whole bytes"},
	{HEAD "load m at=1s\n", ":6:11: ", "expected no time"},
	{HEAD "load m at=99999999999999999999\n", ":6:11: ", "too large"},
	{HEAD "load m at=9999999999999999T\n", ":6:11: ", "too large"},
	{HEAD "load m at=1..2\n", ":6:11: ", "not a number"},
	{HEAD "load m at=4+\n", ":6:13: ", "expected a number"},
	{HEAD "load m at=(4+4\n", ":6:11: ", "parenthesis is not closed"},
	{HEAD "load m at=4)\n", ":6:12: ", "unexpected text"},
	{HEAD "load m at=(1/0)\n", ":6:13: ", "division by zero"},
	{"sleep 5\n", ":1:7: ", "expected a time"},
	{"sleep 4K\n", ":1:7: ", "expected a time"},
	{"repeat 1.5 { epoch }\n", ":1:8: ", "whole number"},
	{"set x = 1s + 4K default\n", ":1:24: ", "expected a number"},
	{"set x 5\n", ":1:7: ", "unexpected '5'"},
	{"set x = 5 defualt 3\n", ":1:11: ", "unexpected 'defualt'"},
	{"set 9x = 5\n", ":1:5: ", "no name of a variable"},
	/* Names */
	{"file f on=dsk size=4\nmount disk disk\n", ":1:11: ", "did you mean 'disk'?"},
	{HEAD "load f\n", ":6:6: ", "'f' is a file, expected a map or buffer"},
	{HEAD "read m\n", ":6:6: ", "'m' is a map or buffer, expected a file"},
	{"call nothing\n", ":1:6: ", "nothing is called 'nothing'"},
	{"set size = 4\nsleep $sise\n", ":2:7: ", "did you mean 'size'?"},
	{"set size = 4\nmount \"$sise\" disk\n", ":2:7: ", "did you mean 'size'?"},
	/* Variants and policies */
	{"variant a coherance=page\n", ":1:11: ", "did you mean 'coherence'?"},
	{"variant a coherence=pag\n", ":1:21: ", "did you mean 'page'?"},
	{"variant a\nvariant a\n", ":2:9: ", "two variants 'a'"},
	{"variant a,b\n", ":1:9: ", "no label"},
	{"variant before\nin befor epoch\n", ":2:4: ", "did you mean 'before'?"},
	{"policy pte_clean=maybe\n", ":1:18: ", "no answer 'maybe'"},
	{"question coherense\n", ":1:10: ", "did you mean 'coherence'?"},
	{"title a\ntitle b\n", ":2:1: ", "given twice"},
	/* Expressions */
	{"expect violations = 0\n", ":1:19: ", "expected a comparison"},
	{"expect violation == 0\n", ":1:8: ", "did you mean 'violations'?"},
	{"expect 1 == \n", ":1:13: ", "expected a number"},
	{"measure a us = nothing\n", ":1:16: ", "unknown time or function 'nothing'"},
	{"measure a us = 3 nte x\n", ":1:18: ", "unexpected 'nte'"},
	{"time violations us { epoch }\n", ":1:6: ", "name of a function"},
	{"time a us { epoch }\npublish b us run=3\n", ":2:9: ", "unknown measure 'b'"},
	{"time a us { epoch }\npublish a us rnu=3\n", ":2:14: ", "did you mean 'run'?"},
	{"time a us { epoch }\npublish a us run=x\n", ":2:18: ", "expected a number in us"},
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		char *errors;
		struct lab_script *script = script_from_text(r->text, &errors);

		if (script || !strstr(errors, r->place) || !strstr(errors, r->wanted))
			fail_msg("%s: wanted '%s' and '%s', got:\n%s", r->text, r->place, r->wanted,
				 script ? "no error" : errors);
		lab_script_free(script);
		free(errors);
	}
}

/* The mark stands below the column. */
static void test_mark(void **state)
{
	char *errors;
	struct lab_script *script = script_from_text("# one\nmount d dsik\n", &errors);

	(void)state;
	assert_null(script);
	assert_non_null(strstr(errors, "mount d dsik\n"));
	assert_non_null(strstr(errors, "\n            ^\n"));
	free(errors);
}

/* Every error is told, each once; a block behind a wrong statement is passed over. */
static void test_several(void **state)
{
	char *errors;
	struct lab_script *script =
		script_from_text("titel x\nrepeaf 3 {\n frob\n}\nmount d dsik\n", &errors);

	(void)state;
	assert_null(script);
	assert_non_null(strstr(errors, ":1:1: "));
	assert_non_null(strstr(errors, ":2:1: "));
	assert_non_null(strstr(errors, ":5:9: "));
	assert_null(strstr(errors, ":3:"));
	assert_null(strstr(errors, ":4:"));
	free(errors);
}

static void test_right(void **state)
{
	static const char text[] =
		"# comment\n\ntitle  What # it is\nmachine\tpandaboard   # which\r\n"
		"variant a coherence=page  fs=tmpfs machine.cpus=1\nvariant b fs=ramfs\n"
		"set size = 64K default (4K * 2)\nmount d $fs\nfile \"f$size\" on=d size=$size "
		"fill=zero\n"
		"process p\nbuffer b size=4K\n"
		"repeat 2 as=i { time \"t $i\" us { read f$size at=($i * 4K) } }\n"
		"in a,b {\n epoch\n}\nin a expect violations == 0\n"
		"measure sum us = \"t 0\" + \"t 1\" note \"$i\"\npublish \"t 0\" us a=1.5\n"
		"expect-error ENOMEM { msync b sync at=(64K) size=4K }\n"
		"routine r { epoch }\ncall r\n";
	char *errors;
	struct lab_script *script = script_from_text(text, &errors);

	(void)state;
	if (!script)
		fail_msg("%s", errors);
	assert_int_equal(lab_script_variants(script), 2);
	assert_string_equal(lab_script_machine(script), "pandaboard");
	assert_string_equal(script->title, "What");
	lab_script_free(script);
	free(errors);
}

/* --- Expressions --- */

static const char *variable(void *context, const char *name, struct lab_number *number,
			    char *message, size_t bytes)
{
	(void)context;
	(void)message;
	(void)bytes;
	*number = (struct lab_number){.value = 10};
	return strcmp(name, "x") == 0 ? NULL : "no such variable";
}

static const char *call(void *context, const char *name, const char *argument,
			struct lab_number *number, char *message, size_t bytes)
{
	(void)context;
	(void)name;
	(void)message;
	(void)bytes;
	*number = (struct lab_number){.value = argument ? 1000 : 500, .time = 1};
	return NULL;
}

/* The expression's value; false with the message. */
static bool evaluate(const char *text, struct lab_number *number, char *message)
{
	struct lab_arena arena = {0};
	struct lab_source source = {"text", text, strlen(text)};
	struct lab_cursor cursor = {&arena, &source, stderr, text, text, 1, 0, 0};
	struct lab_scope scope = {NULL, variable, call};
	struct lab_expression *e = lab_expression_parse(&cursor, strpbrk(text, "=<>") != NULL);
	struct lab_place place;
	bool good = e && lab_expression_evaluate(e, &scope, number, &place, message);

	lab_arena_free(&arena);
	return good;
}

static void test_values(void **state)
{
	static const struct {
		const char *text;
		double value;
		int time, bytes;
	} cases[] = {
		{"1 + 2 * 3", 7, 0, 0},     {"(1 + 2) * 3", 9, 0, 0},
		{"10 - 2 - 3", 5, 0, 0},    {"-3 + 5", 2, 0, 0},
		{"64 / 4 / 2", 8, 0, 0},    {"1.5K", 1536, 0, 1},
		{"0x10", 16, 0, 0},         {"2ms", 2e6, 1, 0},
		{"$x * 4K", 40960, 0, 1},   {"data * 4G / 2G", 1000, 1, 0},
		{"data(f) / 4", 250, 1, 0}, {"4K / 1K", 4, 0, 0},
		{"4K == 4096", 1, 0, 0},    {"data <= 499ns", 0, 0, 0},
		{"3 != 3", 0, 0, 0},        {"3 >= 3", 1, 0, 0},
		{"2 < 3", 1, 0, 0},         {"\"two words\" > 1", 1, 0, 0},
	};
	char message[LAB_MESSAGE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lab_number n = {0};

		if (!evaluate(cases[i].text, &n, message) || n.value != cases[i].value ||
		    n.time != cases[i].time || n.bytes != cases[i].bytes)
			fail_msg("%s: %g, time %d, bytes %d", cases[i].text, n.value, n.time,
				 n.bytes);
	}
	assert_false(evaluate("4K + data", &(struct lab_number){0}, message));
	assert_non_null(strstr(message, "do not go together"));
	assert_false(evaluate("1 / ($x - 10)", &(struct lab_number){0}, message));
	assert_non_null(strstr(message, "division by zero"));
	assert_false(evaluate("$y", &(struct lab_number){0}, message));
}

static void test_print(void **state)
{
	static const struct {
		struct lab_number number;
		const char *text;
	} cases[] = {
		{{2097152, 0, 1}, "2M"},   {{5000, 0, 1}, "5000"}, {{1536, 0, 1}, "1536"},
		{{850e6, 1, 0}, "850 ms"}, {{12, 0, 0}, "12"},     {{0, 0, 1}, "0"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lab_number_print(cases[i].number, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

/* Texts cut off and changed anywhere must be refused or run, never crash. */
static void test_damaged(void **state)
{
	static const char text[] = "variant a coherence=page\nset s = (4K*2) default 1M\nrepeat 3 "
				   "as=i { time \"x $i\" us { read f at=$i } }\n"
				   "publish \"x 0\" us a=3\nexpect size(f) <= 4K + $s # end\n";
	char copy[sizeof(text)];

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		for (const char *c = "\"{}()=$#\n 9x"; *c; c++) {
			char *errors;

			memcpy(copy, text, sizeof(text));
			copy[i] = *c;
			lab_script_free(script_from_text(copy, &errors));
			free(errors);
		}
	for (size_t i = 1; i < sizeof(text) - 1; i++) {
		char *errors;

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		lab_script_free(script_from_text(copy, &errors));
		free(errors);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_mark),
		cmocka_unit_test(test_several),  cmocka_unit_test(test_right),
		cmocka_unit_test(test_values),   cmocka_unit_test(test_print),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("lab_script", tests, NULL, NULL);
}
