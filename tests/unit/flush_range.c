/*
 * The flush_range policy: thresholds, calibrated and clamped; ranges flushed by page or whole, with
 * the same result; TLB purges by page or by space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mm/mm.h"
#include "tests/support/simulated.h"

#define PAGES 32
#define VA    ((uintptr_t)0x00413000)
#define LINE  64u

static struct quire_policy policy_of(enum quire_flush_range_policy flush_range)
{
	struct quire_policy policy = quire_policy_default();

	policy.flush_range = flush_range;
	policy.flush_fixed_bytes = 3 * QUIRE_PAGE_BYTES;
	return policy;
}

/* --- Thresholds -------------------------------------------------------------------------- */

static struct quire_thresholds thresholds_of(enum sim_isa isa,
					     enum quire_flush_range_policy flush_range)
{
	struct sim_machine machine = simulated_machine(isa);
	struct quire_policy policy = policy_of(flush_range);
	struct quire_thresholds thresholds;
	struct simulated s;

	simulated_start(&s, &machine, &policy);
	quire_thresholds(s.q, &thresholds);
	assert_int_equal(sim_violations(s.sim), 0);
	simulated_end(&s);
	return thresholds;
}

static void fixed_policies_have_fixed_thresholds(void **state)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct quire_thresholds t = thresholds_of(isas[i], QUIRE_FLUSH_LINE);
		unsigned entries = simulated_machine(isas[i]).tlb.entries;

		if (entries < 64 && isas[i] == SIM_ARMV7)
			entries = 64; /* the least that TLBTR can tell */

		assert_int_equal(t.data_bytes, SIZE_MAX);
		assert_int_equal(t.insn_bytes, SIZE_MAX);
		t = thresholds_of(isas[i], QUIRE_FLUSH_WHOLE);
		assert_int_equal(t.data_bytes, 0);
		assert_int_equal(t.insn_bytes, 0);
		t = thresholds_of(isas[i], QUIRE_FLUSH_FIXED);
		assert_int_equal(t.data_bytes, 3 * QUIRE_PAGE_BYTES);
		assert_int_equal(t.insn_bytes, 3 * QUIRE_PAGE_BYTES);
		assert_int_equal(t.tlb_bytes, entries * QUIRE_PAGE_BYTES);
		assert_int_equal(t.whole_cycles, 0);
	}
}

static void calibration_is_the_crossing_of_the_costs(void **state)
{
	const uint64_t sample = simulated_machine(SIM_PARISC).kernel_text_bytes;
	struct quire_thresholds t = thresholds_of(SIM_PARISC, QUIRE_FLUSH_CALIBRATED);
	uint64_t crossing = (sample * t.whole_cycles / t.range_cycles + LINE - 1) / LINE * LINE;

	(void)state;
	assert_true(t.whole_cycles && t.range_cycles);
	assert_in_range(crossing, 4096, 512 << 10);
	assert_int_equal(t.data_bytes, crossing);
	assert_int_equal(t.insn_bytes, crossing);
	t = thresholds_of(SIM_PARISC, QUIRE_FLUSH_CALIBRATED_SPLIT);
	assert_int_equal(t.data_bytes, crossing);
	assert_int_not_equal(t.insn_bytes, crossing);
	assert_int_equal(t.tlb_bytes % QUIRE_PAGE_BYTES, 0);
	t = thresholds_of(SIM_ARMV7, QUIRE_FLUSH_CALIBRATED_SPLIT);
	assert_int_equal(t.data_bytes, SIZE_MAX);
	assert_int_equal(t.insn_bytes, SIZE_MAX);
	assert_int_equal(t.whole_cycles, 0);
}

/* The first whole flush finds a cache full of dirty lines, and is dearer than the next one. */
static void calibration_finds_a_full_cache(void **state)
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);
	struct quire_policy policy = policy_of(QUIRE_FLUSH_CALIBRATED);
	struct quire_thresholds t;
	struct simulated s;
	uint64_t start;

	(void)state;
	simulated_start(&s, &machine, &policy);
	quire_thresholds(s.q, &t);
	s.q->machine.arch->whole_data(&s.q->machine);
	start = s.q->machine.arch->cycles(&s.q->machine);
	s.q->machine.arch->whole_data(&s.q->machine);
	assert_true(t.whole_cycles > 3 * (s.q->machine.arch->cycles(&s.q->machine) - start) / 2);
	assert_int_equal(sim_violations(s.sim), 0);
	simulated_end(&s);
}

/* A clock that tells what the test wants: each reading adds the next step, the last one for ever.
 */
static uint64_t clock_steps[6];
static unsigned clock_next;
static uint64_t clock_now;

static uint64_t scripted_cycles(struct quire_machine *machine)
{
	(void)machine;
	clock_now += clock_steps[clock_next];
	if (clock_next < 5)
		clock_next++;
	return clock_now;
}

/* Boots with a whole D flush of `whole` cycles and a range flush of `range`. */
static struct quire_thresholds scripted(uint64_t whole, uint64_t range, bool no_cross_call)
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);
	struct quire_policy policy = policy_of(QUIRE_FLUSH_CALIBRATED);
	struct quire_arch arch = quire_arch_parisc;
	struct quire_thresholds thresholds;
	struct simulated s;

	clock_now = clock_next = 0;
	clock_steps[0] = 1000;
	clock_steps[1] = whole;
	clock_steps[2] = range;
	arch.cycles = scripted_cycles;
	simulated_prepare(&s, &machine, &policy);
	s.config.arch = &arch;
	s.no_cross_call = no_cross_call;
	assert_int_equal(simulated_boot(&s), 0);
	quire_thresholds(s.q, &thresholds);
	simulated_end(&s);
	return thresholds;
}

static void measurements_are_clamped(void **state)
{
	const size_t cache = simulated_machine(SIM_PARISC).l1d.bytes;

	(void)state;
	assert_int_equal(scripted(0, 0, false).data_bytes, 512 << 10); /* the clock stands still */
	assert_int_equal(scripted(0, 100, false).data_bytes, 512 << 10); /* no result */
	assert_int_equal(scripted(100, 0, false).data_bytes, 512 << 10);
	assert_int_equal(scripted(9000, 9000, true).data_bytes, 512 << 10); /* could not be run */
	assert_int_equal(scripted(9000, 9000, true).whole_cycles, 0);
	assert_int_equal(scripted(1, 100000, false).data_bytes,
			 QUIRE_PAGE_BYTES); /* warm, or an emulator */
	assert_int_equal(scripted(100000, 1, false).data_bytes, 4 * 2 * cache);
	assert_int_equal(scripted(UINT64_MAX / 4, 1, false).data_bytes, 4 * 2 * cache);
}

/* 256 KB of text: exact division, rounded up to a line; large counts lose nothing that matters. */
static void division_is_right(void **state)
{
	(void)state;
	assert_int_equal(scripted(1000, 4000, false).data_bytes, 64 << 10);
	assert_int_equal(scripted(1001, 4000, false).data_bytes, (65601 + 63) / 64 * 64);
	assert_int_equal(scripted(7, 9, false).data_bytes, (203889 + 63) / 64 * 64);
	assert_int_equal(scripted((uint64_t)7 << 40, (uint64_t)9 << 40, false).data_bytes,
			 (203889 + 63) / 64 * 64);
	assert_int_equal(scripted(0xffffffff, 0xffffffff, false).data_bytes, 256 << 10);
}

/* --- Ranges ------------------------------------------------------------------------------ */

struct range {
	struct simulated s;
	struct quire_space *space;
	struct quire_page *pages[PAGES];
};

/* A space whose pages from VA on are mapped and have a word stored in them by user code, dirty at
 * its colour. */
static void start_range(struct range *r, enum sim_isa isa, const struct quire_policy *policy,
			unsigned pages)
{
	struct sim_machine machine = simulated_machine(isa);
	const struct quire_arch *arch;
	int error;

	simulated_start(&r->s, &machine, policy);
	arch = r->s.q->machine.arch;
	r->space = quire_space_create(r->s.q, &error);
	assert_non_null(r->space);
	simulated_load(&r->s, r->space);
	for (unsigned i = 0; i < pages; i++) {
		struct quire_slot slot;

		r->pages[i] = quire_page_alloc(r->s.q, 0);
		assert_non_null(r->pages[i]);
		arch->data(&r->s.q->machine, quire_page_address(r->s.q, r->pages[i]),
			   QUIRE_PAGE_BYTES, QUIRE_FLUSH);
		assert_int_equal(quire_table_reach(r->space, VA + i * QUIRE_PAGE_BYTES, &slot), 0);
		quire_slot_lock(&slot);
		quire_slot_write(&slot,
				 (struct quire_entry){r->pages[i]->frame,
						      QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_WRITE |
							      QUIRE_ENTRY_DIRTY |
							      QUIRE_ENTRY_YOUNG});
		quire_slot_unlock(&slot);
		assert_int_equal(sim_store(r->s.sim, VA + i * QUIRE_PAGE_BYTES + LINE, 4,
					   0x1000 + i),
				 0);
	}
}

/* Removes the entries, settles them as a batch over `high - VA` bytes, and looks at the pages as
 * the kernel. */
static void unmap_range(struct range *r, unsigned pages, uintptr_t high, bool exec)
{
	struct quire_batch batch;

	quire_batch_begin(&batch, r->space, VA, high, QUIRE_SITE_TLB_BATCH);
	for (unsigned i = 0; i < pages; i++) {
		struct quire_slot slot;
		uintptr_t next;

		assert_true(quire_table_find(r->space, VA + i * QUIRE_PAGE_BYTES, &slot, &next));
		quire_slot_lock(&slot);
		quire_slot_write(&slot, (struct quire_entry){0, 0});
		quire_slot_unlock(&slot);
		quire_batch_add(&batch, r->pages[i], VA + i * QUIRE_PAGE_BYTES, exec, false);
	}
	quire_batch_end(&batch);
}

static void check_contents(struct range *r, unsigned pages)
{
	for (unsigned i = 0; i < pages; i++) {
		uint64_t value;

		assert_int_equal(sim_load(r->s.sim, quire_page_address(r->s.q, r->pages[i]) + LINE,
					  4, &value),
				 0);
		assert_int_equal(value, 0x1000 + i);
	}
	assert_int_equal(sim_violations(r->s.sim), 0);
}

static void end_range(struct range *r, unsigned pages)
{
	for (unsigned i = 0; i < pages; i++)
		quire_page_put(r->s.q, r->pages[i]);
	simulated_load(&r->s, NULL);
	quire_space_destroy(r->space);
	simulated_end(&r->s);
}

static uint64_t count(const struct range *r, enum quire_site site, enum sim_op op)
{
	return sim_account(r->s.sim, site, op)->count;
}

/* A threshold changes what it costs, never the result: every policy, every size, with and without
 * cross-calls. */
static void results_do_not_depend_on_the_policy(void **state)
{
	static const unsigned sizes[] = {1, 2, 3, 9, PAGES};

	(void)state;
	for (int policy = QUIRE_FLUSH_LINE; policy <= QUIRE_FLUSH_CALIBRATED_SPLIT; policy++)
		for (unsigned size = 0; size < 5; size++)
			for (unsigned calls = 0; calls < 2; calls++) {
				struct quire_policy p =
					policy_of((enum quire_flush_range_policy)policy);
				unsigned pages = sizes[size];
				struct range r;

				start_range(&r, SIM_PARISC, &p, pages);
				r.s.no_cross_call = calls;
				unmap_range(&r, pages, VA + pages * QUIRE_PAGE_BYTES, false);
				r.s.no_cross_call = false;
				check_contents(&r, pages);
				end_range(&r, pages);
			}
}

/* fixed, three pages: two go by page, three whole, but by page where other CPUs cannot be called.
 */
static void threshold_decides(void **state)
{
	struct quire_policy policy = policy_of(QUIRE_FLUSH_FIXED);

	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		unsigned pages = kind == 0 ? 2 : 3;
		bool whole = kind == 1;
		struct range r;

		start_range(&r, SIM_PARISC, &policy, pages);
		r.s.no_cross_call = kind == 2;
		unmap_range(&r, pages, VA + pages * QUIRE_PAGE_BYTES, false);
		r.s.no_cross_call = false;
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_FLUSH),
				 whole ? 0 : pages * QUIRE_PAGE_BYTES / LINE);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_SET),
				 whole ? 2 * 1024 : 0);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_I, SIM_OP_INSN_LINE),
				 whole ? 0 : pages * QUIRE_PAGE_BYTES / LINE);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_I, SIM_OP_INSN_SET),
				 whole ? 2 * 1024 : 0);
		end_range(&r, pages);
	}
}

/* calibrated-split leaves the I cache alone where nothing was executable. */
static void insn_side_only_where_executable(void **state)
{
	(void)state;
	for (unsigned exec = 0; exec < 2; exec++) {
		struct quire_policy policy = policy_of(QUIRE_FLUSH_CALIBRATED_SPLIT);
		struct range r;

		start_range(&r, SIM_PARISC, &policy, 2);
		r.s.q->thresholds.insn_bytes = SIZE_MAX;
		unmap_range(&r, 2, VA + 2 * QUIRE_PAGE_BYTES, exec);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_I, SIM_OP_INSN_LINE),
				 exec ? 2 * QUIRE_PAGE_BYTES / LINE : 0);
		end_range(&r, 2);
	}
}

/* Absent pages cost nothing, but for the policy that is there to show what they cost. */
static void absent_pages_cost_nothing(void **state)
{
	static const enum quire_flush_range_policy policies[] = {QUIRE_FLUSH_CALIBRATED_SPLIT,
								 QUIRE_FLUSH_LINE};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct quire_policy policy = policy_of(policies[i]);
		unsigned flushed = i ? 10 : 2;
		struct range r;

		start_range(&r, SIM_PARISC, &policy, 2);
		r.s.q->thresholds.data_bytes = r.s.q->thresholds.insn_bytes = 3 * QUIRE_PAGE_BYTES;
		if (i)
			r.s.q->thresholds.data_bytes = r.s.q->thresholds.insn_bytes = SIZE_MAX;
		unmap_range(&r, 2, VA + 10 * QUIRE_PAGE_BYTES, true);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_FLUSH),
				 flushed * QUIRE_PAGE_BYTES / LINE);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_I, SIM_OP_INSN_LINE),
				 flushed * QUIRE_PAGE_BYTES / LINE);
		assert_int_equal(r.s.steps[QUIRE_STEP_FAULT], 0);
		check_contents(&r, 2);
		end_range(&r, 2);
	}
}

/* The policies of old compare the range with the threshold, whatever is present in it: 2 pages, or none. */
static void size_of_the_range_decides(void **state)
{
	(void)state;
	for (unsigned present = 0; present <= 2; present += 2) {
		struct quire_policy policy = policy_of(QUIRE_FLUSH_FIXED);
		struct range r;

		start_range(&r, SIM_PARISC, &policy, present);
		r.s.q->thresholds.data_bytes = r.s.q->thresholds.insn_bytes = 10 * QUIRE_PAGE_BYTES;
		unmap_range(&r, present, VA + 10 * QUIRE_PAGE_BYTES, false);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_FLUSH), 0);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_SET), 2 * 1024);
		assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_I, SIM_OP_INSN_SET), 2 * 1024);
		check_contents(&r, present);
		end_range(&r, present);
	}
}

/* Nor do they cost that policy anything when the space is not loaded: it is ending. */
static void absent_pages_of_an_ending_space(void **state)
{
	struct quire_policy policy = policy_of(QUIRE_FLUSH_LINE);
	struct range r;

	(void)state;
	start_range(&r, SIM_PARISC, &policy, 2);
	simulated_load(&r.s, NULL);
	unmap_range(&r, 2, VA + 10 * QUIRE_PAGE_BYTES, false);
	assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, SIM_OP_DATA_FLUSH),
			 2 * QUIRE_PAGE_BYTES / LINE);
	check_contents(&r, 2);
	end_range(&r, 2);
}

/* Left out, the flush is missed: the tests above can fail. */
static void a_dropped_flush_is_seen(void **state)
{
	struct quire_policy policy = policy_of(QUIRE_FLUSH_FIXED);
	struct range r;
	uint64_t value;

	(void)state;
	start_range(&r, SIM_PARISC, &policy, 1);
	r.s.drop = QUIRE_SITE_UNMAP_RANGE_D;
	unmap_range(&r, 1, VA + QUIRE_PAGE_BYTES, false);
	r.s.drop = QUIRE_SITE_COUNT;
	sim_load(r.s.sim, quire_page_address(r.s.q, r.pages[0]) + LINE, 4, &value);
	assert_int_not_equal(value, 0x1000);
	assert_int_equal(sim_violations(r.s.sim), 1);
	end_range(&r, 1);
}

static void nothing_where_caches_do_not_alias(void **state)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_X86_64};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct quire_policy policy = policy_of(QUIRE_FLUSH_WHOLE);
		struct range r;

		start_range(&r, isas[i], &policy, 2);
		unmap_range(&r, 2, VA + 2 * QUIRE_PAGE_BYTES, true);
		for (int op = 0; op < SIM_OP_COUNT; op++) {
			assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_D, (enum sim_op)op), 0);
			assert_int_equal(count(&r, QUIRE_SITE_UNMAP_RANGE_I, (enum sim_op)op), 0);
		}
		check_contents(&r, 2);
		end_range(&r, 2);
	}
}

static void tlb_by_page_or_space(void **state)
{
	struct quire_policy policy = policy_of(QUIRE_FLUSH_FIXED);
	struct range r;
	size_t entries;

	(void)state;
	start_range(&r, SIM_ARMV7, &policy, 1);
	entries = r.s.q->thresholds.tlb_bytes / QUIRE_PAGE_BYTES;
	assert_true(entries > 1);
	quire_coherence_tlb(r.s.q, r.space, VA, VA, QUIRE_SITE_TLB_PROTECT);
	assert_int_equal(count(&r, QUIRE_SITE_TLB_PROTECT, SIM_OP_TLB_ENTRY), 0);
	quire_coherence_tlb(r.s.q, r.space, VA, VA + (entries - 1) * QUIRE_PAGE_BYTES,
			    QUIRE_SITE_TLB_PROTECT);
	assert_int_equal(count(&r, QUIRE_SITE_TLB_PROTECT, SIM_OP_TLB_ENTRY), entries - 1);
	assert_int_equal(count(&r, QUIRE_SITE_TLB_PROTECT, SIM_OP_TLB_ALL), 0);
	quire_coherence_tlb(r.s.q, r.space, VA, VA + entries * QUIRE_PAGE_BYTES,
			    QUIRE_SITE_TLB_PROTECT);
	assert_int_equal(count(&r, QUIRE_SITE_TLB_PROTECT, SIM_OP_TLB_ENTRY), entries - 1);
	assert_int_equal(count(&r, QUIRE_SITE_TLB_PROTECT, SIM_OP_TLB_ALL), 1);
	unmap_range(&r, 1, VA + QUIRE_PAGE_BYTES, false);
	end_range(&r, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_policies_have_fixed_thresholds),
		cmocka_unit_test(calibration_is_the_crossing_of_the_costs),
		cmocka_unit_test(calibration_finds_a_full_cache),
		cmocka_unit_test(measurements_are_clamped),
		cmocka_unit_test(division_is_right),
		cmocka_unit_test(results_do_not_depend_on_the_policy),
		cmocka_unit_test(threshold_decides),
		cmocka_unit_test(insn_side_only_where_executable),
		cmocka_unit_test(absent_pages_cost_nothing),
		cmocka_unit_test(size_of_the_range_decides),
		cmocka_unit_test(absent_pages_of_an_ending_space),
		cmocka_unit_test(a_dropped_flush_is_seen),
		cmocka_unit_test(nothing_where_caches_do_not_alias),
		cmocka_unit_test(tlb_by_page_or_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
