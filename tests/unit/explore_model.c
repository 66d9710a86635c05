/*
 * The model of quire check: what it says of each move is what POSIX says of the call.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lab/explore.h"

static struct explore_model model;

static struct explore_outcome act(enum explore_kind kind, unsigned process, unsigned a, unsigned b,
				  uint64_t value)
{
	struct explore_move move = {.kind = (uint8_t)kind, .a = (uint8_t)a, .b = (uint8_t)b};

	return explore_model_do(&model, move, process, value);
}

static int set_up(void **state)
{
	(void)state;
	model = (struct explore_model){.file = {101, 102}, .file_pages = 2, .alive = {true}};
	return 0;
}

static void test_shared(void **state)
{
	(void)state;
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_SHARED, 0, 0).result, -QUIRE_SIGSEGV);
	act(EXPLORE_MAP, 0, EXPLORE_SHARED, 0, 0);
	act(EXPLORE_MAP, 0, EXPLORE_ALIAS, 0, 0);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_SHARED, 1, 0).value, 102);
	act(EXPLORE_STORE, 0, EXPLORE_SHARED, 1, 7);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_ALIAS, 1, 0).value, 7);
	assert_int_equal(act(EXPLORE_READ, 0, 1, 0, 0).value, 7);
	act(EXPLORE_PROTECT, 0, EXPLORE_SHARED, QUIRE_PROT_READ, 0);
	assert_int_equal(act(EXPLORE_STORE, 0, EXPLORE_SHARED, 1, 8).result, -QUIRE_SIGSEGV);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_SHARED, 1, 0).value, 7);
}

static void test_private(void **state)
{
	(void)state;
	act(EXPLORE_MAP, 0, EXPLORE_PRIVATE, 0, 0);
	act(EXPLORE_WRITE, 0, 0, 0, 5);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_PRIVATE, 0, 0).value, 5);
	act(EXPLORE_STORE, 0, EXPLORE_PRIVATE, 0, 6);
	act(EXPLORE_WRITE, 0, 0, 0, 7);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_PRIVATE, 0, 0).value, 6);
	act(EXPLORE_FORK, 0, 0, 0, 0);
	act(EXPLORE_STORE, 1, EXPLORE_PRIVATE, 0, 9);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_PRIVATE, 0, 0).value, 6);
	assert_int_equal(act(EXPLORE_LOAD, 1, EXPLORE_PRIVATE, 0, 0).value, 9);
	assert_int_equal(model.file[0], 7);
}

static void test_truncate(void **state)
{
	(void)state;
	act(EXPLORE_MAP, 0, EXPLORE_PRIVATE, 0, 0);
	act(EXPLORE_STORE, 0, EXPLORE_PRIVATE, 1, 6);
	act(EXPLORE_TRUNCATE, 0, 1, 0, 0);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_PRIVATE, 1, 0).result, -QUIRE_SIGBUS);
	assert_int_equal(act(EXPLORE_READ, 0, 1, 0, 0).result, 0);
	act(EXPLORE_TRUNCATE, 0, 2, 0, 0);
	assert_int_equal(act(EXPLORE_LOAD, 0, EXPLORE_PRIVATE, 1, 0).value, 0);
}

static enum explore_order order(struct explore_move a, struct explore_move b)
{
	return explore_model_order(&model, a, 0, b, 0);
}

/*
 * Which came first makes no difference, or is told by what calls give; but of a store and a fork,
 * or of two stores to one page, nothing tells.
 */
static void test_order(void **state)
{
	struct explore_move store = {.kind = EXPLORE_STORE, .a = EXPLORE_ANON};
	struct explore_move other = {.kind = EXPLORE_STORE, .a = EXPLORE_ANON, .b = 1};
	struct explore_move load = {.kind = EXPLORE_LOAD, .a = EXPLORE_ANON};
	struct explore_move fork = {.kind = EXPLORE_FORK};
	struct explore_move unmap = {.kind = EXPLORE_UNMAP, .a = EXPLORE_ANON};

	(void)state;
	act(EXPLORE_MAP, 0, EXPLORE_ANON, 0, 0);
	assert_int_equal(order(store, load), EXPLORE_TOLD);
	assert_int_equal(order(store, other), EXPLORE_APART);
	assert_int_equal(order(load, fork), EXPLORE_APART);
	assert_int_equal(order(store, unmap), EXPLORE_TOLD); /* a store after it is refused */
	assert_int_equal(order(store, store), EXPLORE_UNTOLD);
	assert_int_equal(order(store, fork), EXPLORE_UNTOLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_shared, set_up),
		cmocka_unit_test_setup(test_private, set_up),
		cmocka_unit_test_setup(test_truncate, set_up),
		cmocka_unit_test_setup(test_order, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
