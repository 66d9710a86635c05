/*
 * The pte_clean policy: cleaned for walkers that need it, or always; the barrier in any case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mm/mm.h"
#include "tests/support/simulated.h"

struct case_ {
	enum quire_pte_clean_policy policy;
	enum sim_level walker;
	bool cleaned;
};

static void cleaned_where_needed(void **state)
{
	static const struct case_ cases[] = {
		{QUIRE_PTE_CLEAN_ALWAYS, SIM_LEVEL_L1, true},
		{QUIRE_PTE_CLEAN_ALWAYS, SIM_LEVEL_MEMORY, true},
		{QUIRE_PTE_CLEAN_DETECT, SIM_LEVEL_L1, false},
		{QUIRE_PTE_CLEAN_DETECT, SIM_LEVEL_L2, true},
		{QUIRE_PTE_CLEAN_DETECT, SIM_LEVEL_MEMORY, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_machine machine = simulated_machine(SIM_ARMV7);
		struct quire_policy policy = quire_policy_default();
		const struct sim_account *clean, *barrier;
		struct quire_page *page;
		struct simulated s;
		uint64_t barriers;

		machine.walker = cases[i].walker;
		policy.pte_clean = cases[i].policy;
		simulated_start(&s, &machine, &policy);
		page = quire_page_alloc(s.q, 0);
		assert_non_null(page);
		clean = sim_account(s.sim, QUIRE_SITE_TABLE_ENTRY, SIM_OP_DATA_CLEAN);
		barrier = sim_account(s.sim, QUIRE_SITE_COUNT, SIM_OP_BARRIER);
		barriers = barrier->count;
		quire_coherence_table_written(s.q, quire_page_address(s.q, page) + 8, 4,
					      QUIRE_SITE_TABLE_ENTRY);
		assert_int_equal(clean->count, cases[i].cleaned);
		assert_true(barrier->count > barriers);
		/* Left out by fault injection: the barrier stays. */
		s.drop = QUIRE_SITE_TABLE_ENTRY;
		barriers = barrier->count;
		quire_coherence_table_written(s.q, quire_page_address(s.q, page) + 8, 4,
					      QUIRE_SITE_TABLE_ENTRY);
		assert_int_equal(clean->count, cases[i].cleaned);
		assert_true(barrier->count > barriers);
		s.drop = QUIRE_SITE_COUNT;
		quire_page_put(s.q, page);
		simulated_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cleaned_where_needed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
