/*
 * Shared by the tests of the policy `exact`. See exact.h.
 */
#include "sim/adversary.h"
#include "tests/support/exact.h"

uint32_t exact_random(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

struct quire_policy exact_policy(enum quire_coherence_policy coherence)
{
	struct quire_policy policy = quire_policy_default();

	policy.coherence = coherence;
	return policy;
}

void exact_evict(struct sim *sim, uint32_t *seed)
{
	enum sim_which which = (enum sim_which)exact_random(seed, SIM_WHICH_COUNT);
	unsigned sets, ways;

	sim_cache_shape(sim, which, &sets, &ways);
	if (sets)
		(void)sim_evict(sim, exact_random(seed, 2), which, exact_random(seed, sets),
				exact_random(seed, ways));
}

uint64_t exact_site_ops(struct simulated *s, enum quire_site site)
{
	uint64_t count = 0;

	for (enum sim_op op = SIM_OP_DATA_CLEAN; op <= SIM_OP_OUTER; op++)
		count += sim_account(s->sim, site, op)->count;
	return count;
}

void exact_transfer(struct files *f, struct quire_page *page, enum quire_dma_direction direction,
		    uint8_t *host)
{
	quire_coherence_dma_prepare(f->s.q, page, direction);
	if (direction == QUIRE_TO_DEVICE)
		sim_dma_from_memory(f->s.sim, quire_page_pa(page), host, PAGE);
	else
		sim_dma_to_memory(f->s.sim, quire_page_pa(page), host, PAGE);
	quire_coherence_dma_finish(f->s.q, page, direction);
}

uint8_t exact_kernel_load(struct files *f, struct quire_page *page)
{
	uint64_t value;

	quire_coherence_kernel_read(f->s.q, page);
	assert_int_equal(sim_load(f->s.sim, quire_page_address(f->s.q, page), 1, &value), 0);
	return (uint8_t)value;
}
