/*
 * Tests of which maintenance was needed, on a bare machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/needless.h"

void needless_start(struct bare *b)
{
	const struct sim_options options = {.needless = true};

	assert_int_equal(sim_set_options(b->sim, &options), 0);
}

void needless_data(struct bare *b, enum quire_site site, uintptr_t va, quire_pa_t pa,
		   enum sim_action action, enum sim_point point)
{
	sim_site_begin(b->sim, site);
	sim_maintain_data(b->sim, va, pa, action, point, true, SIM_OP_DATA_FLUSH);
	sim_site_end(b->sim, site);
}

void needless_is(struct bare *b, enum quire_site site, enum sim_op op, enum sim_verdict verdict)
{
	const struct sim_need *need = sim_need(b->sim, site, op);

	sim_needless_settle(b->sim);
	for (unsigned i = 0; i < SIM_VERDICT_COUNT; i++)
		if (need->count[i] != (i == verdict))
			fail_msg("%s: %s %llu times, expected %s", quire_site_name(site),
				 sim_verdict_name((enum sim_verdict)i),
				 (unsigned long long)need->count[i], sim_verdict_name(verdict));
	assert_int_equal(need->ticks[verdict], sim_account(b->sim, site, op)->ticks);
}
