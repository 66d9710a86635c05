/*
 * Page tables on each simulated machine: what is written is what the walker finds, and tables come
 * and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/simulated.h"

#define PAGE     QUIRE_PAGE_BYTES
#define STORABLE (QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY | QUIRE_ENTRY_YOUNG)

struct table_test {
	struct simulated s;
	struct quire_space *space;
	uintptr_t base; /* a user address where a leaf table begins */
	size_t span;
};

static void start(struct table_test *t, enum sim_isa isa)
{
	struct sim_machine machine = simulated_machine(isa);
	const struct quire_table_format *format;
	int error;

	machine.memory_bytes = 8 << 20;
	simulated_start(&t->s, &machine, NULL);
	t->space = quire_space_create(t->s.q, &error);
	assert_non_null(t->space);
	format = &t->s.q->machine.arch->table;
	t->span = quire_table_span(t->space);
	t->base = (format->user_low + 4 * t->span) & ~(uintptr_t)(t->span - 1);
	assert_true(t->base + 8 * t->span < format->user_high);
	simulated_load(&t->s, t->space);
}

static void end(struct table_test *t)
{
	simulated_load(&t->s, NULL);
	quire_space_destroy(t->space);
	simulated_check(&t->s);
	simulated_end(&t->s);
}

static uint64_t tables(struct table_test *t)
{
	struct quire_usage usage;

	quire_usage(t->s.q, &usage);
	return usage.tables;
}

static struct quire_entry write_entry(struct table_test *t, uintptr_t va, struct quire_entry entry)
{
	struct quire_slot slot;
	struct quire_entry old;

	assert_int_equal(quire_table_reach(t->space, va, &slot), 0);
	quire_slot_lock(&slot);
	old = quire_slot_exchange(&slot, entry);
	quire_slot_unlock(&slot);
	quire_coherence_tlb(t->s.q, t->space, va, va + PAGE, QUIRE_SITE_TLB_PAGE);
	return old;
}

static void remove_entry(struct table_test *t, uintptr_t va)
{
	write_entry(t, va, (struct quire_entry){0});
}

/* --- Entries --------------------------------------------------------------------------------- */

static void entries_are_where_they_belong(struct table_test *t)
{
	struct quire_slot slot, again;
	uintptr_t next = 0;

	assert_false(quire_table_find(t->space, t->base, &slot, &next));
	assert_true(next > t->base);
	assert_int_equal(next & (t->span - 1), 0);
	assert_int_equal(quire_table_reach(t->space, t->base + 5 * PAGE + 17, &slot), 0);
	assert_int_equal(slot.va, t->base + 5 * PAGE);
	assert_true(quire_table_find(t->space, t->base + 5 * PAGE, &again, &next));
	assert_int_equal(again.entry, slot.entry);
	assert_ptr_equal(again.table, slot.table);
	assert_true(quire_table_find(t->space, t->base + t->span - 1, &again, &next));
	assert_ptr_equal(again.table, slot.table);
	assert_false(quire_table_find(t->space, t->base + t->span, &again, &next));
	assert_int_equal(quire_table_reach(t->space, t->base + t->span, &again), 0);
	assert_ptr_not_equal(again.table, slot.table);
	quire_table_trim(t->space, t->base, t->base + 2 * t->span);
}

static void entries_are_counted(struct table_test *t)
{
	struct quire_usage before, after;
	struct quire_slot slot;
	struct quire_entry entry = {.frame = 1000, .bits = STORABLE}, old;

	assert_int_equal(quire_table_reach(t->space, t->base, &slot), 0);
	quire_usage(t->s.q, &before);
	quire_slot_lock(&slot);
	quire_slot_write(&slot, entry);
	assert_int_equal(slot.table->used, 1);
	assert_int_equal(quire_slot_read(&slot).frame, 1000);
	assert_int_equal(quire_slot_read(&slot).bits & STORABLE, STORABLE);
	entry.frame = 1001;
	old = quire_slot_exchange(&slot, entry);
	assert_int_equal(old.frame, 1000);
	assert_int_equal(slot.table->used, 1);
	old = quire_slot_exchange(&slot, (struct quire_entry){0});
	assert_int_equal(old.frame, 1001);
	assert_int_equal(slot.table->used, 0);
	assert_int_equal(quire_slot_read(&slot).bits, 0);
	quire_slot_unlock(&slot);
	quire_usage(t->s.q, &after);
	assert_int_equal(after.entries - before.entries, 3);
	quire_table_trim(t->space, t->base, t->base + PAGE);
}

/* The simulated walker, or the TLB miss handler, reads what was written. */
static void walker_finds_entries(struct table_test *t)
{
	struct quire_page *page = quire_page_alloc(t->s.q, 0), *other = quire_page_alloc(t->s.q, 0);
	uintptr_t va = t->base + 3 * PAGE;
	uint64_t value = 0;

	assert_int_not_equal(sim_store(t->s.sim, va, 4, 1), 0);
	write_entry(t, va, (struct quire_entry){page->frame, STORABLE});
	assert_int_equal(sim_store(t->s.sim, va, 4, 1), 0);
	write_entry(t, va, (struct quire_entry){other->frame, STORABLE});
	assert_int_equal(sim_store(t->s.sim, va, 4, 2), 0);
	write_entry(t, va, (struct quire_entry){page->frame, STORABLE & ~QUIRE_ENTRY_WRITE});
	assert_int_equal(sim_load(t->s.sim, va, 4, &value), 0);
	assert_int_equal(value, 1);
	assert_int_not_equal(sim_store(t->s.sim, va, 4, 3), 0);
	remove_entry(t, va);
	assert_int_not_equal(sim_load(t->s.sim, va, 4, &value), 0);
	quire_page_put(t->s.q, page);
	quire_page_put(t->s.q, other);
	quire_table_trim(t->space, va, va + PAGE);
}

/* --- Tables come and go ---------------------------------------------------------------------- */

static void trim_frees_what_is_empty(struct table_test *t)
{
	uint64_t before = tables(t);
	struct quire_entry entry = {.frame = 1000, .bits = STORABLE};
	uintptr_t far = t->base + 4 * t->span, next;
	struct quire_slot slot;

	write_entry(t, t->base, entry);
	write_entry(t, t->base + t->span, entry);
	write_entry(t, far, entry);
	assert_true(tables(t) >= before + 3);
	remove_entry(t, t->base);
	remove_entry(t, far);
	quire_table_trim(t->space, t->base, t->base + PAGE);
	assert_false(quire_table_find(t->space, t->base, &slot, &next));
	assert_int_equal(next, t->base + t->span);
	assert_true(quire_table_find(t->space, t->base + t->span, &slot, &next));
	assert_true(quire_table_find(t->space, far, &slot, &next)); /* not asked for */
	quire_table_trim(t->space, t->base, far + t->span);
	assert_false(quire_table_find(t->space, far, &slot, &next));
	assert_true(quire_table_find(t->space, t->base + t->span, &slot, &next));
	remove_entry(t, t->base + t->span);
	quire_table_trim(t->space, 0, UINTPTR_MAX);
	assert_int_equal(tables(t), before);
	assert_int_equal(t->space->root->used, 0);
}

/* The end of a space frees tables that nobody trimmed: end() sees whether pages leaked. */
static void destroy_frees_all(struct table_test *t)
{
	struct quire_slot slot;

	for (unsigned n = 0; n < 8; n++)
		assert_int_equal(quire_table_reach(t->space, t->base + n * t->span, &slot), 0);
}

static void reach_without_memory(struct table_test *t)
{
	struct quire_page *held = NULL, *page;
	uint64_t before = tables(t);
	struct quire_slot slot;
	uintptr_t next;
	unsigned refused = 0;

	while ((page = quire_page_alloc(t->s.q, 0))) {
		page->link.next = held ? &held->link : NULL;
		held = page;
	}
	while (quire_table_reach(t->space, t->base, &slot)) {
		refused++;
		assert_false(quire_table_find(t->space, t->base, &slot, &next));
		page = held;
		held = held->link.next ? quire_container(held->link.next, struct quire_page, link)
				       : NULL;
		quire_list_init(&page->link);
		quire_page_put(t->s.q, page);
	}
	assert_int_equal(tables(t) - before, refused);
	while ((page = held)) {
		held = held->link.next ? quire_container(held->link.next, struct quire_page, link)
				       : NULL;
		quire_list_init(&page->link);
		quire_page_put(t->s.q, page);
	}
	quire_table_trim(t->space, t->base, t->base + PAGE);
	assert_int_equal(tables(t), before);
}

/* --- Protection of whole tables -------------------------------------------------------------- */

static void protect_whole_tables(struct table_test *t)
{
	struct quire_page *page = quire_page_alloc(t->s.q, 0);
	struct quire_entry entry = {.frame = page->frame, .bits = STORABLE};
	bool can = t->s.q->machine.traits.subtree_protect;
	uintptr_t low = t->base + PAGE, inside = t->base + t->span,
		  high = t->base + 3 * t->span + PAGE;
	uint64_t value;

	write_entry(t, t->base, entry);
	write_entry(t, inside, entry);
	write_entry(t, high - PAGE, entry);
	assert_false(quire_table_unprotect(t->space, inside));
	/*
	 * All entries map one page, at one colour. Of their three tables one lies wholly in the
	 * range; between them there is room for one more.
	 */
	assert_int_equal(quire_table_protect(t->space, low, high), can);
	assert_int_equal(quire_table_protect(t->space, low, high), 0);
	assert_int_equal(quire_table_protect(t->space, low, t->base + t->span), 0);
	if (can) {
		quire_coherence_tlb(t->s.q, t->space, low, high, QUIRE_SITE_TLB_PROTECT);
		assert_int_equal(sim_store(t->s.sim, t->base, 4, 5), 0);
		assert_int_not_equal(sim_store(t->s.sim, inside, 4, 6), 0);
		assert_int_equal(sim_load(t->s.sim, inside, 4, &value), 0);
		assert_int_equal(value, 5);
		assert_true(quire_table_unprotect(t->space, inside));
		quire_coherence_tlb(t->s.q, t->space, low, high, QUIRE_SITE_TLB_PROTECT);
		assert_int_equal(sim_store(t->s.sim, inside, 4, 6), 0);
	}
	assert_false(quire_table_unprotect(t->space, inside));
	assert_false(quire_table_unprotect(t->space, t->base + 2 * t->span));
	remove_entry(t, t->base);
	remove_entry(t, inside);
	remove_entry(t, high - PAGE);
	quire_page_put(t->s.q, page);
}

static void on_each_machine(void (*fn)(struct table_test *t))
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

	for (unsigned n = 0; n < 3; n++) {
		static struct table_test t;

		start(&t, isas[n]);
		fn(&t);
		end(&t);
	}
}

#define TESTS(X)                         \
	X(entries_are_where_they_belong) \
	X(entries_are_counted)           \
	X(walker_finds_entries)          \
	X(trim_frees_what_is_empty)      \
	X(destroy_frees_all)             \
	X(reach_without_memory)          \
	X(protect_whole_tables)

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
