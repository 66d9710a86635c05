/*
 * Locks under real threads: nothing that a lock guards is lost or seen half done.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/native.h"

#define CPUS   4
#define ROUNDS 20000u

struct shared {
	struct quire_lock lock;
	struct quire_brlock br;
	uint64_t a, b; /* equal whenever nobody writes */
	uint64_t wrong;
	struct quire_count count;
	struct quire_atomic atomic;
	struct record *record; /* of the read section test */
	struct quire_atomic done;
};

static struct shared *shared_of(struct native *n)
{
	return n->test;
}

static void start(struct native *n, struct shared *shared)
{
	native_start(n, CPUS, 256);
	*shared = (struct shared){0};
	quire_lock_init(&shared->lock);
	quire_atomic_init(&shared->atomic, 0);
	quire_atomic_init(&shared->done, 0);
	n->test = shared;
}

/* --- Spin locks, counters -------------------------------------------------------------------- */

/* Now and then another thread runs in the middle, even where there is one CPU. */
static void increment(uint64_t *counter, unsigned round)
{
	uint64_t value = *(volatile uint64_t *)counter;

	if (round % 64 == 0)
		sched_yield();
	*(volatile uint64_t *)counter = value + 1;
}

static void count_under_lock(struct native *n, unsigned cpu)
{
	struct shared *s = shared_of(n);

	(void)cpu;
	for (unsigned round = 0; round < ROUNDS; round++) {
		quire_lock(n->q, &s->lock);
		increment(&s->a, round);
		quire_unlock(n->q, &s->lock);
		quire_atomic_add(&s->atomic, 1);
		quire_count_add(&s->count, 0x40000000u);
	}
}

static void spin_lock_excludes(void **state)
{
	struct native n;
	struct shared shared;

	(void)state;
	start(&n, &shared);
	native_run(&n, CPUS, count_under_lock);
	assert_int_equal(shared.a, CPUS * ROUNDS);
	assert_int_equal(quire_atomic_read(&shared.atomic), CPUS * ROUNDS);
	assert_int_equal(quire_count_read(&shared.count), CPUS * ROUNDS * (uint64_t)0x40000000);
	native_end(&n);
}

/* --- Big-reader locks ------------------------------------------------------------------------ */

static void note_wrong(struct shared *s)
{
	__atomic_add_fetch(&s->wrong, 1, __ATOMIC_RELAXED);
}

static void compare(struct shared *s, unsigned round)
{
	uint64_t a = *(volatile uint64_t *)&s->a;

	if (round % 64 == 0)
		sched_yield();
	if (a != *(volatile uint64_t *)&s->b)
		note_wrong(s);
}

/* CPU 0 writes now and then, the others read, and read again inside. */
static void read_and_write(struct native *n, unsigned cpu)
{
	struct shared *s = shared_of(n);

	for (unsigned round = 0; round < ROUNDS; round++) {
		if (cpu == 0 || round % 64 == cpu) {
			quire_brlock_write_lock(n->q, &s->br);
			increment(&s->a, round);
			increment(&s->b, round);
			quire_brlock_write_unlock(n->q, &s->br);
		} else {
			unsigned outer = quire_brlock_read_lock(n->q, &s->br);
			unsigned inner = quire_brlock_read_lock(n->q, &s->br);

			compare(s, round);
			quire_brlock_read_unlock(n->q, &s->br, inner);
			compare(s, round);
			quire_brlock_read_unlock(n->q, &s->br, outer);
		}
	}
}

static uint64_t writes_expected(void)
{
	uint64_t writes = ROUNDS;

	for (unsigned cpu = 1; cpu < CPUS; cpu++)
		for (unsigned round = 0; round < ROUNDS; round++)
			writes += round % 64 == cpu;
	return writes;
}

static void brlock_excludes_writers(void **state)
{
	struct native n;
	struct shared shared;

	(void)state;
	start(&n, &shared);
	assert_int_equal(quire_brlock_init(n.q, &shared.br), 0);
	native_run(&n, CPUS, read_and_write);
	assert_int_equal(shared.wrong, 0);
	assert_int_equal(shared.a, writes_expected());
	assert_int_equal(shared.b, shared.a);
	quire_brlock_destroy(n.q, &shared.br);
	native_end(&n);
}

static void brlock_init_without_memory(void **state)
{
	struct native n;
	struct shared shared;

	(void)state;
	start(&n, &shared);
	n.fail_after = 0;
	assert_int_equal(quire_brlock_init(n.q, &shared.br), -QUIRE_ENOMEM);
	native_end(&n);
}

/* --- Read sections --------------------------------------------------------------------------- */

struct record {
	uint64_t number; /* another one in each record */
};

/*
 * CPU 0 replaces the record and frees the old one until the others have looked often enough, who see
 * that theirs stays what it was.
 */
static void replace_and_look(struct native *n, unsigned cpu)
{
	struct shared *s = shared_of(n);

	if (cpu) {
		while (!quire_atomic_read(&s->done)) {
			unsigned section = quire_read_begin(n->q);
			struct record *record = quire_pointer_load(&s->record);
			uint64_t number = *(volatile uint64_t *)&record->number;

			sched_yield();
			if (*(volatile uint64_t *)&record->number != number)
				note_wrong(s);
			quire_read_end(n->q, section);
			quire_atomic_add(&s->atomic, 1);
		}
		return;
	}
	for (unsigned round = 0; quire_atomic_read(&s->atomic) < ROUNDS; round++) {
		struct record *new = quire_new(n->q, sizeof(*new)), *old = s->record;

		new->number = round;
		quire_pointer_store(&s->record, new);
		quire_read_wait(n->q);
		quire_delete(n->q, old, sizeof(*old));
	}
	quire_atomic_set(&s->done, 1);
}

static void read_wait_outlasts_sections(void **state)
{
	struct native n;
	struct shared shared;

	(void)state;
	start(&n, &shared);
	shared.record = quire_new(n.q, sizeof(*shared.record));
	native_run(&n, CPUS, replace_and_look);
	assert_int_equal(shared.wrong, 0);
	quire_delete(n.q, shared.record, sizeof(*shared.record));
	native_end(&n);
}

/*
 * A CPU that is never outside a section for long does not hold up a waiter: its generation moves
 * on.
 */
static void read_wait_sees_generations(void **state)
{
	struct native n;
	struct shared shared;
	uint32_t before;
	unsigned cpu;

	(void)state;
	start(&n, &shared);
	before = quire_atomic_read(&n.q->percpu[0].reading);
	cpu = quire_read_begin(n.q);
	quire_read_end(n.q, quire_read_begin(n.q));
	assert_int_equal(quire_atomic_read(&n.q->percpu[0].reading), before + 1);
	quire_read_end(n.q, cpu);
	assert_int_not_equal(quire_atomic_read(&n.q->percpu[0].reading), before);
	assert_int_equal(quire_atomic_read(&n.q->percpu[0].reading) & 0xffff, 0);
	quire_read_wait(n.q);
	native_end(&n);
}

static void names_are_complete(void **state)
{
	(void)state;
	for (unsigned site = 0; site < QUIRE_SITE_COUNT; site++)
		assert_non_null(quire_site_name((enum quire_site)site));
	for (unsigned step = 0; step < QUIRE_STEP_COUNT; step++)
		assert_non_null(quire_step_name((enum quire_step)step));
	assert_string_equal(quire_site_name(QUIRE_SITE_BOOT), "arch.boot");
	assert_string_equal(quire_step_name(QUIRE_STEP_SYSCALL), "syscall");
	assert_null(quire_site_name(QUIRE_SITE_COUNT));
	assert_null(quire_step_name(QUIRE_STEP_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spin_lock_excludes),
		cmocka_unit_test(brlock_excludes_writers),
		cmocka_unit_test(brlock_init_without_memory),
		cmocka_unit_test(read_wait_outlasts_sections),
		cmocka_unit_test(read_wait_sees_generations),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
