/*
 * Files as text, places in messages, nearest names, sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lab/lab.h"

/* What `path` reads as: NULL with the message in `message`. */
static char *read_with_message(const char *path, char message[400])
{
	FILE *errors = fmemopen(message, 400, "w");
	size_t bytes;
	char *text = lab_read_file(errors, path, &bytes);

	fclose(errors);
	return text;
}

/* Writes a temporary file; the caller removes it. */
static void write_file(char path[40], const char *data, size_t bytes)
{
	int file;

	strcpy(path, "/tmp/quire-test-XXXXXX");
	file = mkstemp(path);
	assert_true(file >= 0);
	assert_int_equal(write(file, data, bytes), bytes);
	close(file);
}

static void refused(const char *data, size_t bytes, const char *why)
{
	char path[40], message[400] = "";
	char *text;

	write_file(path, data, bytes);
	text = read_with_message(path, message);
	unlink(path);
	assert_null(text);
	assert_non_null(strstr(message, path));
	assert_non_null(strstr(message, why));
}

static void test_read_file(void **state)
{
	char path[40], message[400] = "";
	size_t bytes;
	char *text;

	(void)state;
	write_file(path, "a\nb\n", 4);
	text = lab_read_file(stderr, path, &bytes);
	unlink(path);
	assert_non_null(text);
	assert_string_equal(text, "a\nb\n");
	assert_int_equal(bytes, 4);
	free(text);
	assert_null(read_with_message(path, message));
	assert_non_null(strstr(message, "cannot be read"));
}

static void test_refuse_file(void **state)
{
	size_t limit = (size_t)1 << 20;
	char *large = malloc(limit + 1);
	char message[400] = "";

	(void)state;
	refused("", 0, "empty");
	refused("a\0b", 3, "binary");
	memset(large, 'x', limit + 1);
	refused(large, limit + 1, "larger than 1 MiB");
	free(large);
	assert_null(read_with_message("/tmp", message));
	assert_non_null(strstr(message, "directory"));
}

static void test_file_of_the_limit(void **state)
{
	size_t limit = (size_t)1 << 20;
	char *large = malloc(limit);
	char path[40];
	size_t bytes;
	char *text;

	(void)state;
	memset(large, 'x', limit);
	write_file(path, large, limit);
	text = lab_read_file(stderr, path, &bytes);
	unlink(path);
	assert_non_null(text);
	assert_int_equal(bytes, limit);
	free(text);
	free(large);
}

static void test_error_at(void **state)
{
	struct lab_source source = {.file = "f.q", .text = "one\n\ttwo three\n"};
	char message[400] = "";
	FILE *errors = fmemopen(message, sizeof(message), "w");

	(void)state;
	lab_error_at(errors, &source, 2, 6, "bad %s", "word");
	fclose(errors);
	assert_string_equal(message, "f.q:2:6: bad word\n    \ttwo three\n    \t    ^\n");
	errors = fmemopen(message, sizeof(message), "w");
	lab_error_at(errors, &source, 9, 1, "beyond");
	lab_error_at(errors, &source, 0, 0, "no place");
	fclose(errors);
	assert_string_equal(message, "f.q:9:1: beyond\nf.q: no place\n");
}

static void test_nearest(void **state)
{
	static const char *const names[] = {"pandaboard", "hp-a500", "core-i5-2012", "page"};

	(void)state;
	assert_string_equal(lab_nearest("pandabord", names, 4), "pandaboard");
	assert_string_equal(lab_nearest("PANDABOARD", names, 4), "pandaboard");
	assert_string_equal(lab_nearest("pand", names, 4), "pandaboard");
	assert_string_equal(lab_nearest("apge", names, 4), "page");
	assert_string_equal(lab_nearest("hp-500", names, 4), "hp-a500");
	assert_null(lab_nearest("zebra", names, 4));
	assert_null(lab_nearest("", names, 4));
	assert_null(lab_nearest("pandaboard", names, 0));
}

static void test_size(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"0", 0},
		{"4096", 4096},
		{"32K", 32768},
		{"32k", 32768},
		{"0.5M", 524288},
		{"1.5G", 1610612736},
		{"2T", 2199023255552},
		{"18446744073709551615", UINT64_MAX},
		{"16777215T", 16777215 * (UINT64_C(1) << 40)},
	};
	static const char *const bad[] = {
		"",          "K",    "-1",     "1Q",
		"1KB",       "1 K",  " 1",     "1.",
		".5K",       "0.3",  "1.2.3K", "18446744073709551616",
		"16777216T", "0x10", "1e3",    "99999999999999999999999999999999999999999"};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(lab_parse_size(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(lab_parse_size(bad[i], &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_file),         cmocka_unit_test(test_refuse_file),
		cmocka_unit_test(test_file_of_the_limit), cmocka_unit_test(test_error_at),
		cmocka_unit_test(test_nearest),           cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
