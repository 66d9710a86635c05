/*
 * The reverse map and batches on each simulated machine: the chain against a model; unmapping and
 * cleaning all mappings of a page, also when entries go while that is under way, and when memory is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/simulated.h"

#define PAGE     QUIRE_PAGE_BYTES
#define READABLE (QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG)
#define STORABLE (READABLE | QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY)
#define SPACES   3

struct rmap_test {
	struct simulated s;
	struct quire *q;
	struct quire_space *spaces[SPACES];
	struct quire_page *page;
	uintptr_t base;
	/* The step at which an entry is removed behind the pass's back, counting LOCK steps. */
	unsigned locks_until_removal;
	uintptr_t removal_va;
};

static void start(struct rmap_test *t, enum sim_isa isa)
{
	struct sim_machine machine = simulated_machine(isa);
	int error;

	memset(t, 0, sizeof(*t));
	machine.memory_bytes = 8 << 20;
	simulated_start(&t->s, &machine, NULL);
	t->s.test = t;
	t->q = t->s.q;
	for (unsigned n = 0; n < SPACES; n++) {
		t->spaces[n] = quire_space_create(t->q, &error);
		assert_non_null(t->spaces[n]);
	}
	t->base = (t->q->machine.arch->table.user_low + ((uintptr_t)32 << 20)) &
		  ~((uintptr_t)(32 << 20) - 1);
	t->page = quire_page_alloc(t->q, 0);
	assert_int_equal(sim_clear(t->s.sim, quire_page_address(t->q, t->page), QUIRE_PAGE_BYTES), 0);
	quire_page_lock(t->q, t->page);
}

static void end(struct rmap_test *t)
{
	assert_false(quire_page_mapped(t->page));
	assert_int_equal(quire_atomic_read(&t->page->refs), 1);
	quire_page_unlock(t->q, t->page);
	quire_page_put(t->q, t->page);
	for (unsigned n = 0; n < SPACES; n++)
		quire_space_destroy(t->spaces[n]);
	simulated_check(&t->s);
	simulated_end(&t->s);
}

static int map(struct rmap_test *t, struct quire_space *space, uintptr_t va, unsigned bits)
{
	struct quire_slot slot;
	int error;

	assert_int_equal(quire_table_reach(space, va, &slot), 0);
	quire_slot_lock(&slot);
	error = quire_rmap_add(t->q, t->page, space, va);
	if (!error) {
		quire_page_get(t->page);
		quire_slot_write(&slot, (struct quire_entry){t->page->frame, bits});
	}
	quire_slot_unlock(&slot);
	return error;
}

static void unmap(struct rmap_test *t, struct quire_space *space, uintptr_t va)
{
	struct quire_batch batch;
	struct quire_slot slot;
	uintptr_t next;

	assert_true(quire_table_find(space, va, &slot, &next));
	quire_slot_lock(&slot);
	quire_slot_exchange(&slot, (struct quire_entry){0});
	quire_rmap_remove(t->q, t->page, space, va);
	quire_slot_unlock(&slot);
	quire_batch_begin(&batch, space, va, va + PAGE, QUIRE_SITE_TLB_PAGE);
	quire_batch_add(&batch, t->page, va, false, true);
	quire_batch_end(&batch);
}

static unsigned entry_bits(struct quire_space *space, uintptr_t va)
{
	struct quire_slot slot;
	uintptr_t next;

	return quire_table_find(space, va, &slot, &next) ? quire_slot_read(&slot).bits : 0;
}

/* --- The chain ------------------------------------------------------------------------------- */

static unsigned chain_length(const struct quire_page *page)
{
	unsigned length = 0;

	for (const struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next)
		length += rmap->space != NULL;
	return length;
}

static bool in_chain(const struct quire_page *page, const struct quire_space *space, uintptr_t va)
{
	for (const struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next)
		if (rmap->space == space && rmap->va == va)
			return true;
	return false;
}

static void chain_is_complete(struct rmap_test *t)
{
	bool mapped[SPACES][8] = {{false}};
	unsigned count = 0;
	uint32_t seed = 5;

	for (unsigned round = 0; round < 2000; round++) {
		unsigned n, at;

		seed = seed * 1664525u + 1013904223u;
		n = (seed >> 16) % SPACES;
		at = (seed >> 24) % 8;
		if (mapped[n][at]) {
			unmap(t, t->spaces[n], t->base + at * PAGE);
			count--;
		} else {
			assert_int_equal(map(t, t->spaces[n], t->base + at * PAGE, READABLE), 0);
			count++;
		}
		mapped[n][at] = !mapped[n][at];
		assert_int_equal(chain_length(t->page), count);
		assert_int_equal(quire_atomic_read(&t->page->maps), count);
		assert_int_equal(quire_atomic_read(&t->page->refs), count + 1);
		assert_int_equal(in_chain(t->page, t->spaces[n], t->base + at * PAGE),
				 mapped[n][at]);
	}
	quire_rmap_unmap_all(t->q, t->page);
	assert_int_equal(chain_length(t->page), 0);
}

static void add_without_memory(struct rmap_test *t)
{
	long allocated;

	assert_int_equal(map(t, t->spaces[0], t->base, READABLE), 0); /* needs none */
	assert_int_equal(map(t, t->spaces[0], t->base + PAGE, READABLE), 0);
	allocated = t->s.allocated;
	t->s.fail_after = 0;
	assert_int_equal(map(t, t->spaces[0], t->base + 2 * PAGE, READABLE), -QUIRE_ENOMEM);
	assert_int_equal(t->s.allocated, allocated);
	assert_int_equal(chain_length(t->page), 2);
	assert_int_equal(quire_atomic_read(&t->page->maps), 2);
	assert_int_equal(map(t, t->spaces[0], t->base + 2 * PAGE, READABLE), 0);
	quire_rmap_unmap_all(t->q, t->page);
}

/* --- Passes ---------------------------------------------------------------------------------- */

static void map_everywhere(struct rmap_test *t, unsigned bits)
{
	for (unsigned n = 0; n < SPACES; n++)
		for (unsigned at = 0; at < 3; at++)
			assert_int_equal(map(t, t->spaces[n], t->base + at * PAGE, bits), 0);
}

static void unmap_all_reaches_everybody(struct rmap_test *t)
{
	uint64_t value;

	map_everywhere(t, READABLE);
	simulated_load(&t->s, t->spaces[1]);
	assert_int_equal(sim_load(t->s.sim, t->base, 4, &value), 0);
	quire_rmap_unmap_all(t->q, t->page);
	assert_int_not_equal(sim_load(t->s.sim, t->base, 4, &value), 0);
	assert_false(quire_page_is(t->page, QUIRE_PAGE_DIRTY));
	for (unsigned n = 0; n < SPACES; n++)
		for (unsigned at = 0; at < 3; at++)
			assert_int_equal(entry_bits(t->spaces[n], t->base + at * PAGE), 0);
	quire_rmap_unmap_all(t->q, t->page);
	simulated_load(&t->s, NULL);
}

static void unmap_all_gathers_dirt(struct rmap_test *t)
{
	map_everywhere(t, READABLE);
	unmap(t, t->spaces[1], t->base + PAGE);
	assert_int_equal(map(t, t->spaces[1], t->base + PAGE, STORABLE), 0);
	quire_rmap_unmap_all(t->q, t->page);
	assert_true(quire_page_is(t->page, QUIRE_PAGE_DIRTY));
}

static void clean_narrows_everybody(struct rmap_test *t)
{
	uint64_t value;

	map_everywhere(t, READABLE);
	assert_false(quire_rmap_clean(t->q, t->page));
	unmap(t, t->spaces[2], t->base);
	assert_int_equal(map(t, t->spaces[2], t->base, STORABLE), 0);
	simulated_load(&t->s, t->spaces[2]);
	assert_int_equal(sim_store(t->s.sim, t->base, 4, 1), 0);
	assert_true(quire_rmap_clean(t->q, t->page));
	assert_int_equal(entry_bits(t->spaces[2], t->base) & STORABLE, READABLE);
	assert_int_not_equal(sim_store(t->s.sim, t->base, 4, 2), 0);
	assert_int_equal(sim_load(t->s.sim, t->base, 4, &value), 0);
	assert_int_equal(value, 1);
	assert_false(quire_rmap_clean(t->q, t->page));
	assert_int_equal(quire_atomic_read(&t->page->maps), 3 * SPACES);
	simulated_load(&t->s, NULL);
	quire_rmap_unmap_all(t->q, t->page);
}

/* No memory is needed to take mappings away. */
static void unmap_all_without_memory(struct rmap_test *t)
{
	map_everywhere(t, READABLE);
	t->s.fail_after = 0;
	t->s.fail_for_ever = true;
	quire_rmap_unmap_all(t->q, t->page);
	t->s.fail_after = -1;
	t->s.fail_for_ever = false;
}

/* --- Races, played by hand at the points where locks are taken ------------------------------- */

static void remove_behind(struct simulated *s, enum quire_step step)
{
	struct rmap_test *t = s->test;

	if (step != QUIRE_STEP_LOCK || t->locks_until_removal-- > 0)
		return;
	s->on_step = NULL;
	unmap(t, t->spaces[0], t->removal_va);
}

/* The third lock of a pass is the first entry's: its record was copied, and no lock is held. */
static void entry_goes_meanwhile(struct rmap_test *t)
{
	assert_int_equal(map(t, t->spaces[0], t->base, STORABLE), 0);
	assert_int_equal(map(t, t->spaces[1], t->base, READABLE), 0);
	t->removal_va = t->base;
	t->locks_until_removal = 2;
	t->s.on_step = remove_behind;
	quire_rmap_unmap_all(t->q, t->page);
	assert_null(t->s.on_step);
	assert_int_equal(entry_bits(t->spaces[1], t->base), 0);

	assert_int_equal(map(t, t->spaces[0], t->base, STORABLE), 0);
	t->locks_until_removal = 2;
	t->s.on_step = remove_behind;
	assert_false(quire_rmap_clean(t->q, t->page));
	assert_null(t->s.on_step);
}

/* --- Batches --------------------------------------------------------------------------------- */

/* As if an entry of the page at va had been removed: the batch gets its reference. */
static void entry_goes(struct rmap_test *t, uintptr_t va)
{
	quire_page_get(t->page);
	quire_rmap_lock(t->q, t->page);
	quire_coherence_entry_goes(t->q, t->page, va);
	quire_rmap_unlock(t->q, t->page);
}

static void batch_keeps_order(struct rmap_test *t)
{
	struct quire_batch batch;
	size_t cursor = 0;

	quire_batch_begin(&batch, t->spaces[0], t->base, t->base + 1000 * PAGE,
			  QUIRE_SITE_TLB_BATCH);
	for (unsigned n = 0; n < 1000; n++) {
		entry_goes(t, t->base + n * PAGE);
		quire_batch_add(&batch, t->page, t->base + n * PAGE, n == 500, true);
	}
	for (unsigned pass = 0; pass < 2; pass++) {
		cursor = 0;
		for (unsigned n = 0; n < 1000; n++) {
			struct quire_batch_entry *entry = quire_batch_next(&batch, &cursor);

			assert_non_null(entry);
			assert_int_equal(entry->va, t->base + n * PAGE);
			assert_int_equal(entry->exec, n == 500);
		}
		assert_null(quire_batch_next(&batch, &cursor));
	}
	assert_int_equal(batch.first, t->base);
	assert_int_equal(batch.last, t->base + 999 * PAGE);
	assert_true(batch.exec);
	assert_int_equal(quire_atomic_read(&t->page->refs), 1001);
	quire_batch_end(&batch);
}

/* Each entry is settled exactly once however often memory is refused. */
static void batch_without_memory(struct rmap_test *t)
{
	for (long after = 0; after < 6; after++) {
		struct quire_batch batch;
		long allocated = t->s.allocated;

		quire_batch_begin(&batch, t->spaces[0], t->base, t->base + 600 * PAGE,
				  QUIRE_SITE_TLB_BATCH);
		t->s.fail_after = after;
		t->s.fail_for_ever = after & 1;
		for (unsigned n = 0; n < 600; n++) {
			entry_goes(t, t->base + n * PAGE);
			quire_batch_add(&batch, t->page, t->base + n * PAGE, false, true);
		}
		t->s.fail_after = -1;
		quire_batch_end(&batch);
		assert_int_equal(quire_atomic_read(&t->page->refs), 1);
		assert_int_equal(t->s.allocated, allocated);
	}
}

static void on_each_machine(void (*fn)(struct rmap_test *t))
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

	for (unsigned n = 0; n < 3; n++) {
		static struct rmap_test t;

		start(&t, isas[n]);
		fn(&t);
		end(&t);
	}
}

#define TESTS(X)                       \
	X(chain_is_complete)           \
	X(add_without_memory)          \
	X(unmap_all_reaches_everybody) \
	X(unmap_all_gathers_dirt)      \
	X(clean_narrows_everybody)     \
	X(unmap_all_without_memory)    \
	X(entry_goes_meanwhile)        \
	X(batch_keeps_order)           \
	X(batch_without_memory)

#define X(name)                               \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		on_each_machine(name);        \
	}
TESTS(X)
#undef X

int main(void)
{
	const struct CMUnitTest tests[] = {
#define X(name) cmocka_unit_test(test_##name),
		TESTS(X)
#undef X
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
