/*
 * Spin locks, big-reader locks, and sections for readers that take no lock at all.
 *
 * BIG-READER LOCKS. Each CPU has a word in a cache line of its own: the number of readers that took
 * their part there, or CLOSED. A reader adds one to its own CPU's word; the writer turns each word
 * from 0 to CLOSED, one after the other, and is alone when all are closed. Because the one word
 * both counts and closes, a reader is never in at the same time as the writer, and nothing needs to
 * be taken back. `writing` only keeps new readers away while a writer is still closing, or it might
 * wait for ever; a reader whose CPU's word is not 0 goes in all the same, because it may be nested
 * in the reader that the writer waits for. That is why a nested reader must be on the CPU of the
 * outer one.
 *
 * READ SECTIONS. Each CPU has one word: the depth of sections in the low half, and in the high half
 * a generation that changes whenever the depth comes back to 0. To wait for all sections that had
 * begun, it is enough to see, for each CPU, a depth of 0 or another generation: a CPU that is
 * always in *some* section does not hold up the waiter. Who unlinks a record, waits, and then frees
 * it knows that no section can still hold a pointer to it.
 *
 * The fences: a section announces itself and then reads pointers; the waiter changes pointers and
 * then reads announcements. Each needs a full fence between its two accesses, or both could miss
 * the other (the store-buffer litmus test).
 */
#include "mm/percpu.h"

static void relax(struct quire *q)
{
	q->machine.port.relax(q->machine.port.context);
}

/* --- Spin locks ------------------------------------------------------------------------------ */

void quire_lock_init(struct quire_lock *lock)
{
	quire_atomic_init(&lock->held, 0);
}

void quire_lock(struct quire *q, struct quire_lock *lock)
{
	quire_step(q, QUIRE_STEP_LOCK);
	while (quire_atomic_swap(&lock->held, 1))
		while (quire_atomic_read(&lock->held))
			relax(q);
}

void quire_unlock(struct quire *q, struct quire_lock *lock)
{
	quire_require(q, quire_atomic_read(&lock->held));
	quire_atomic_set(&lock->held, 0);
}

/* --- Big-reader locks ------------------------------------------------------------------------ */

#define CLOSED 0x80000000u

struct quire_percpu_counter {
	struct quire_atomic readers; /* or CLOSED */
} __attribute__((aligned(QUIRE_SHARING_BYTES)));

static size_t counters_bytes(struct quire *q)
{
	return q->machine.port.cpus * sizeof(struct quire_percpu_counter);
}

int quire_brlock_init(struct quire *q, struct quire_brlock *lock)
{
	const struct quire_port *port = &q->machine.port;

	lock->readers = port->alloc(port->context, counters_bytes(q), QUIRE_SHARING_BYTES);
	if (!lock->readers)
		return -QUIRE_ENOMEM;
	for (unsigned cpu = 0; cpu < port->cpus; cpu++)
		quire_atomic_init(&lock->readers[cpu].readers, 0);
	quire_lock_init(&lock->writer);
	quire_atomic_init(&lock->writing, 0);
	return 0;
}

void quire_brlock_destroy(struct quire *q, struct quire_brlock *lock)
{
	const struct quire_port *port = &q->machine.port;

	for (unsigned cpu = 0; cpu < port->cpus; cpu++)
		quire_require(q, quire_atomic_read(&lock->readers[cpu].readers) == 0);
	port->free(port->context, lock->readers, counters_bytes(q));
	lock->readers = NULL;
}

unsigned quire_brlock_read_lock(struct quire *q, struct quire_brlock *lock)
{
	quire_step(q, QUIRE_STEP_LOCK);
	for (;;) {
		unsigned cpu = q->machine.port.cpu(q->machine.port.context);
		struct quire_atomic *mine = &lock->readers[cpu].readers;
		uint32_t readers = quire_atomic_read(mine);
		bool nested = readers != 0;

		if (readers != CLOSED && (nested || !quire_atomic_read(&lock->writing)) &&
		    quire_atomic_replace(mine, readers, readers + 1))
			return cpu;
		relax(q);
	}
}

void quire_brlock_read_unlock(struct quire *q, struct quire_brlock *lock, unsigned cpu)
{
	struct quire_atomic *mine = &lock->readers[cpu].readers;
	uint32_t readers = quire_atomic_read(mine);

	quire_require(q, readers != 0 && readers != CLOSED);
	quire_atomic_add(mine, (uint32_t)-1);
}

void quire_brlock_write_lock(struct quire *q, struct quire_brlock *lock)
{
	quire_lock(q, &lock->writer);
	quire_atomic_set(&lock->writing, 1);
	for (unsigned cpu = 0; cpu < q->machine.port.cpus; cpu++)
		while (!quire_atomic_replace(&lock->readers[cpu].readers, 0, CLOSED))
			relax(q);
}

void quire_brlock_write_unlock(struct quire *q, struct quire_brlock *lock)
{
	for (unsigned cpu = 0; cpu < q->machine.port.cpus; cpu++)
		quire_atomic_set(&lock->readers[cpu].readers, 0);
	quire_atomic_set(&lock->writing, 0);
	quire_unlock(q, &lock->writer);
}

/* --- Read sections --------------------------------------------------------------------------- */

#define DEPTH      0xffffu
#define GENERATION 0x10000u

unsigned quire_read_begin(struct quire *q)
{
	unsigned cpu = q->machine.port.cpu(q->machine.port.context);

	quire_atomic_add(&q->percpu[cpu].reading, 1);
	quire_atomic_fence();
	return cpu;
}

void quire_read_end(struct quire *q, unsigned cpu)
{
	struct quire_atomic *reading = &q->percpu[cpu].reading;
	uint32_t old, left;

	do {
		old = quire_atomic_read(reading);
		left = old - 1;
		if (!(left & DEPTH))
			left += GENERATION;
	} while (!quire_atomic_replace(reading, old, left));
}

void quire_read_wait(struct quire *q)
{
	quire_atomic_fence();
	for (unsigned cpu = 0; cpu < q->machine.port.cpus; cpu++) {
		struct quire_atomic *reading = &q->percpu[cpu].reading;
		uint32_t then = quire_atomic_read(reading), now = then;

		while ((now & DEPTH) && (now ^ then) < GENERATION) {
			relax(q);
			now = quire_atomic_read(reading);
		}
	}
	quire_atomic_fence();
}
