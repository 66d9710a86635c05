/*
 * The statement alias-test: runs the alias test on the variant's machine and measures what it
 * found.
 *
 * The test has machines of its own (lab/alias.c), so that its stale loads are results and not
 * violations of the run.
 */
#include "lab/alias.h"
#include "lab/interpret.h"

const char *const lab_alias_measures[] = {"cache coherent from", "all coherent from", "fast from",
					  NULL};

static const enum alias_verdict measured[] = {ALIAS_BUFFER_FAILS, ALIAS_SLOW, ALIAS_PASSES};

/* Each measure's least separation; the first has the verdicts as its note. */
static bool add_measures(struct lab_run *run, const struct lab_statement *s,
			 const struct alias_result *result)
{
	char note[400];

	alias_describe(result, note, sizeof(note));
	for (size_t i = 0; lab_alias_measures[i]; i++) {
		struct lab_number from = {.value = (double)alias_from(result, measured[i]),
					  .bytes = 1};

		if (!lab_add_measure(run, s, lab_alias_measures[i], "B", from, i ? NULL : note))
			return false;
	}
	return true;
}

bool lab_do_alias_test(struct lab_run *run, const struct lab_statement *s)
{
	uint64_t from = 4096, to = 16u << 20, passes = 4;
	struct alias_test test = {.uncached = lab_flag(s, "uncached")};
	struct alias_result result;
	const char *fault;

	if (!lab_whole(run, s, "from", &from) || !lab_whole(run, s, "to", &to) ||
	    !lab_whole(run, s, "passes", &passes))
		return false;
	test.from_bytes = from;
	test.to_bytes = to;
	test.passes = passes < UINT32_MAX ? (unsigned)passes : UINT32_MAX;
	fault = alias_test_fault(&test);
	if (fault)
		return lab_raise(run, s->place, 0, "%s", fault);
	fault = alias_run(&run->machine->sim, &test, &result);
	if (fault)
		return lab_raise(run, s->place, 0, "machine %s: %s", run->machine->name, fault);
	return add_measures(run, s, &result);
}
