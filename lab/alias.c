/*
 * The alias test of 2003 (J. Lokier, linux-kernel, 29 August 2003), on a simulated machine.
 *
 * One page of memory is mapped at two addresses. A value is stored through one and loaded
 * through the other, right behind the store and once more after a barrier that empties the store
 * buffer. Stale after the barrier: the cache holds the line twice. Stale only without: the store
 * buffer did not see that the addresses mean the same memory. No memory manager runs
 * (sim_map_bare), and each separation starts on a machine just switched on.
 *
 * Nothing in here knows what a machine is expected to do. The verdict comes from the values that
 * loads return.
 */
#include "lab/alias.h"

#include <stdio.h>

#define FIRST_VA \
	((uintptr_t)1 << 28) /* the largest separation beyond is still a user address everywhere */
#define TO_BYTES_MAX ((uint64_t)1 << 28)
#define PASSES_MAX   1000u

#define WORD_BYTES   8u
#define WORDS        64u /* of the page, one a line where lines have 64 bytes */
#define TIMED_ROUNDS 16u
#define SLOW_TIMES   2u /* slower than this many times one address: slow */

static bool is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

const char *alias_test_fault(const struct alias_test *test)
{
	if (!is_power_of_two(test->from_bytes) || !is_power_of_two(test->to_bytes))
		return "the separations are powers of two";
	if (test->from_bytes < QUIRE_PAGE_BYTES || test->to_bytes > TO_BYTES_MAX)
		return "the separations are from 4K to 256M";
	if (test->from_bytes > test->to_bytes)
		return "the least separation is above the largest";
	if (test->passes < 2 || test->passes > PASSES_MAX)
		return "expected 2 to 1000 passes: what a first one leaves in the cache is what a "
		       "second one trips over";
	return NULL;
}

/* --- One separation --------------------------------------------------------------------- */

static uintptr_t word(uintptr_t page, unsigned n)
{
	return page + n * (QUIRE_PAGE_BYTES / WORDS);
}

/* Stores at `to` and loads at `from`: was the load stale? */
static bool is_stale(struct sim *sim, uintptr_t to, uintptr_t from, uint64_t value, bool barrier)
{
	uint64_t got;

	sim_store(sim, to, WORD_BYTES, value);
	if (barrier)
		sim_bare_barrier(sim);
	sim_load(sim, from, WORD_BYTES, &got);
	return got != value;
}

/* Both directions, with and without a barrier, for every word in turn. */
static void test_coherence(struct sim *sim, uintptr_t one, uintptr_t other, unsigned passes,
			   struct alias_separation *s)
{
	uint64_t value = 0;

	for (unsigned pass = 0; pass < passes; pass++)
		for (unsigned n = 0; n < WORDS; n++) {
			uintptr_t a = word(one, n), b = word(other, n);

			s->stale_behind += is_stale(sim, a, b, ++value, false);
			s->stale_after += is_stale(sim, a, b, ++value, true);
			s->stale_behind += is_stale(sim, b, a, ++value, false);
			s->stale_after += is_stale(sim, b, a, ++value, true);
			s->loads += 4;
		}
}

/*
 * Time of a loop that stores at one address and loads at the other, after a round that fills TLB
 * and cache.
 */
static uint64_t timed(struct sim *sim, uintptr_t one, uintptr_t other)
{
	uint64_t start = 0;

	for (unsigned round = 0; round <= TIMED_ROUNDS; round++) {
		if (round == 1)
			start = sim_ticks(sim);
		for (unsigned n = 0; n < WORDS; n++)
			is_stale(sim, word(one, n), word(other, n), round, false);
	}
	return sim_ticks(sim) - start;
}

/* A machine just switched on with the page at FIRST_VA, and, unless 0, that far beyond. */
static struct sim *switch_on(const struct sim_machine *machine, uint64_t separation, bool uncached,
			     const char **why)
{
	quire_pa_t pa = machine->memory_bytes / 2 & ~(quire_pa_t)QUIRE_PAGE_MASK;
	struct sim *sim = sim_create(machine, why);

	if (!sim)
		return NULL;
	sim_map_bare(sim, FIRST_VA, pa, uncached);
	if (separation)
		sim_map_bare(sim, FIRST_VA + separation, pa, uncached);
	return sim;
}

static enum alias_verdict verdict_of(const struct alias_separation *s)
{
	if (s->stale_after)
		return ALIAS_CACHE_FAILS;
	if (s->stale_behind)
		return ALIAS_BUFFER_FAILS;
	return s->ticks > SLOW_TIMES * s->one_address_ticks ? ALIAS_SLOW : ALIAS_PASSES;
}

static const char *test_separation(const struct sim_machine *machine, const struct alias_test *test,
				   struct alias_separation *s)
{
	const char *why;
	struct sim *sim = switch_on(machine, s->bytes, test->uncached, &why);

	if (!sim)
		return why;
	test_coherence(sim, FIRST_VA, FIRST_VA + s->bytes, test->passes, s);
	s->violations = sim_violations(sim);
	s->ticks = timed(sim, FIRST_VA, FIRST_VA + s->bytes);
	sim_destroy(sim);
	s->verdict = verdict_of(s);
	return NULL;
}

/* The loop's time where nothing is aliased, and so nothing need be uncached. */
static const char *time_one_address(const struct sim_machine *machine, uint64_t *ticks)
{
	const char *why;
	struct sim *sim = switch_on(machine, 0, false, &why);

	if (!sim)
		return why;
	*ticks = timed(sim, FIRST_VA, FIRST_VA);
	sim_destroy(sim);
	return NULL;
}

const char *alias_run(const struct sim_machine *machine, const struct alias_test *test,
		      struct alias_result *result)
{
	uint64_t one_address_ticks = 0;
	const char *why = time_one_address(machine, &one_address_ticks);

	*result = (struct alias_result){0};
	for (uint64_t bytes = test->from_bytes; bytes <= test->to_bytes && !why; bytes <<= 1) {
		struct alias_separation *s = &result->separations[result->count++];

		s->bytes = bytes;
		s->one_address_ticks = one_address_ticks;
		why = test_separation(machine, test, s);
	}
	return why;
}

/* --- What came of it -------------------------------------------------------------------- */

uint64_t alias_from(const struct alias_result *result, enum alias_verdict least)
{
	uint64_t from = 0;

	for (unsigned n = result->count; n-- > 0;) {
		if (result->separations[n].verdict < least)
			break;
		from = result->separations[n].bytes;
	}
	return from;
}

static void print_size(uint64_t bytes, char *text, size_t text_bytes)
{
	bool mega = bytes % (1u << 20) == 0;

	snprintf(text, text_bytes, "%llu%c", (unsigned long long)(bytes >> (mega ? 20 : 10)),
		 mega ? 'M' : 'K');
}

void alias_describe(const struct alias_result *result, char *text, size_t bytes)
{
	static const char *const words[] = {
		[ALIAS_CACHE_FAILS] = "cache not coherent",
		[ALIAS_BUFFER_FAILS] = "store buffer not coherent",
		[ALIAS_SLOW] = "coherent, slow",
		[ALIAS_PASSES] = "pass",
	};
	size_t used = 0;

	*text = '\0';
	for (unsigned first = 0, last; first < result->count && used < bytes; first = last + 1) {
		enum alias_verdict verdict = result->separations[first].verdict;
		char low[24], high[24];

		for (last = first;
		     last + 1 < result->count && result->separations[last + 1].verdict == verdict;)
			last++;
		print_size(result->separations[first].bytes, low, sizeof(low));
		print_size(result->separations[last].bytes, high, sizeof(high));
		used += (size_t)snprintf(text + used, bytes - used, "%s%s%s%s: %s",
					 first ? "; " : "", low, first == last ? "" : " to ",
					 first == last ? "" : high, words[verdict]);
	}
}
