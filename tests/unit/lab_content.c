/*
 * The laboratory's record of what files and maps should hold, against a plain array; and the disk's
 * store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lab/content.h"
#include "lab/disk.h"

#define BYTES ((size_t)10 * QUIRE_PAGE_BYTES)

static uint64_t state = 7;

static uint64_t any(uint64_t below)
{
	state = lab_random_seed(state, 1);
	return state % below;
}

/* Generated data at its place, as the content makes it. */
static void fill_random(uint8_t *bytes, size_t at, size_t length, uint64_t key)
{
	uint8_t page[QUIRE_PAGE_BYTES];

	for (size_t i = at; i < at + length; i++) {
		if (i == at || i % QUIRE_PAGE_BYTES == 0)
			lab_random_page(lab_random_seed(key, i >> QUIRE_PAGE_SHIFT), page);
		bytes[i] = page[i & QUIRE_PAGE_MASK];
	}
}

static void same(struct lab_content *content, const uint8_t *bytes)
{
	uint8_t got[BYTES], expected;
	uint64_t known;
	size_t differs;

	assert_true(lab_content_read(content, 0, got, BYTES));
	assert_memory_equal(got, bytes, BYTES);
	assert_true(lab_content_equal(content, 100, bytes + 100, BYTES - 100, &known, &differs,
				      &expected));
	assert_int_equal(known, BYTES - 100);
}

static void change(struct lab_content *content, uint8_t *bytes)
{
	size_t at = any(BYTES), length = any(4) ? any(BYTES - at) : any(9);
	uint8_t data[BYTES];

	if (length > BYTES - at)
		length = BYTES - at;
	switch (any(5)) {
	case 0:
		lab_content_zero(content, at, length);
		memset(bytes + at, 0, length);
		break;
	case 1:
		lab_content_random(content, at, length, at);
		fill_random(bytes, at, length, at);
		break;
	case 2:
		lab_content_truncate(content, at);
		memset(bytes + at, 0, BYTES - at);
		break;
	default:
		for (size_t i = 0; i < length; i++)
			data[i] = (uint8_t)any(256);
		lab_content_write(content, at, data, length);
		memcpy(bytes + at, data, length);
	}
}

static void test_changes(void **unused)
{
	static uint8_t bytes[BYTES];
	struct lab_content *content = lab_content_new(NULL, 0);

	(void)unused;
	for (unsigned i = 0; i < 500; i++) {
		change(content, bytes);
		same(content, bytes);
	}
	lab_content_put(content);
}

/* A private map sees its file until it stores to a page; a clone goes its own way. */
static void test_base(void **unused)
{
	struct lab_content *file = lab_content_new(NULL, 0);
	struct lab_content *map = lab_content_new(file, QUIRE_PAGE_BYTES), *clone;
	uint8_t byte;

	(void)unused;
	lab_content_write(file, QUIRE_PAGE_BYTES + 5, "a", 1);
	lab_content_read(map, 5, &byte, 1);
	assert_int_equal(byte, 'a');
	lab_content_write(map, 6, "b", 1);
	lab_content_write(file, QUIRE_PAGE_BYTES + 5, "c", 1);
	lab_content_read(map, 5, &byte, 1);
	assert_int_equal(byte, 'a');
	lab_content_write(file, 2 * QUIRE_PAGE_BYTES, "d", 1);
	lab_content_read(map, QUIRE_PAGE_BYTES, &byte, 1);
	assert_int_equal(byte, 'd');
	clone = lab_content_clone(map);
	lab_content_write(map, 6, "e", 1);
	lab_content_read(clone, 6, &byte, 1);
	assert_int_equal(byte, 'b');
	lab_content_put(map);
	lab_content_put(clone);
	lab_content_put(file);
}

static void test_copy(void **unused)
{
	static uint8_t from_bytes[BYTES], to_bytes[BYTES];
	struct lab_content *from = lab_content_new(NULL, 0), *to = lab_content_new(NULL, 0);

	(void)unused;
	for (unsigned i = 0; i < 300; i++) {
		size_t at = any(BYTES), from_at = any(BYTES),
		       length = any(BYTES - (at > from_at ? at : from_at));

		if (any(2)) {
			at &= ~QUIRE_PAGE_MASK;
			from_at &= ~QUIRE_PAGE_MASK;
		}
		change(from, from_bytes);
		lab_content_copy(to, at, from, from_at, length);
		memcpy(to_bytes + at, from_bytes + from_at, length);
		same(to, to_bytes);
	}
	lab_content_put(from);
	lab_content_put(to);
}

static void test_difference(void **unused)
{
	struct lab_content *content = lab_content_new(NULL, 0);
	uint8_t bytes[BYTES] = {0}, expected = 1;
	uint64_t known;
	size_t differs;

	(void)unused;
	bytes[5000] = 9;
	assert_false(lab_content_equal(content, 0, bytes, BYTES, &known, &differs, &expected));
	assert_int_equal(differs, 5000);
	assert_int_equal(expected, 0);
	lab_content_forget(content, 4096, 4096);
	assert_true(lab_content_equal(content, 0, bytes, BYTES, &known, &differs, &expected));
	assert_int_equal(known, BYTES - 4096);
	lab_content_put(content);
}

static void test_store(void **unused)
{
	struct lab_store *store = lab_store_new(4);
	uint8_t page[QUIRE_PAGE_BYTES], got[QUIRE_PAGE_BYTES];

	(void)unused;
	lab_store_read(store, 3, got);
	memset(page, 0, sizeof(page));
	assert_memory_equal(got, page, sizeof(page));
	for (unsigned i = 0; i < 4; i++) {
		if (i < 2)
			lab_random_page(lab_random_seed(3, i), page);
		if (i == 1 || i == 2)
			page[4095] ^= i == 1; /* as generated but for one byte */
		if (i == 3)
			memset(page, 0, sizeof(page));
		lab_store_write(store, i % 3, page);
		lab_store_read(store, i % 3, got);
		assert_memory_equal(got, page, sizeof(page));
	}
	lab_store_free(store);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes), cmocka_unit_test(test_base),
		cmocka_unit_test(test_copy),    cmocka_unit_test(test_difference),
		cmocka_unit_test(test_store),
	};

	return cmocka_run_group_tests_name("lab_content", tests, NULL, NULL);
}
