/*
 * Runs of the small world of `quire check`, in a script: explore, step.
 *
 * `explore` makes the small world of the script's machine and policy. `step` is one move in it, in
 * the words that the check prints. So a counterexample is a script, and repeats itself exactly: it
 * runs in the world it was found in.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/explore.h"
#include "lab/interpret.h"

struct explored {
	struct explore_job job; /* first: run->explored */
	struct explore_setting setting;
	bool failed;
};

static struct explored *explored_of(const struct lab_run *run)
{
	return (struct explored *)(void *)run->explored;
}

void lab_explored_end(struct lab_run *run)
{
	if (!run->explored)
		return;
	explore_job_destroy(run->explored);
	free(explored_of(run));
	run->explored = NULL;
}

const struct sim *lab_explored_sim(const struct lab_run *run)
{
	return run->explored ? run->explored->world->sim : NULL;
}

/* A number of 1 to max; `*value` is kept where it is not given. */
static bool small_number(struct lab_run *run, const struct lab_statement *s, const char *name,
			 uint64_t max, uint64_t *value)
{
	const struct lab_value *argument = lab_argument(s, name);

	if (!argument)
		return true;
	if (!lab_whole(run, s, name, value))
		return false;
	if (*value == 0 || *value > max)
		return lab_raise(run, argument->place, 0, "%s is 1 to %llu here", name,
				 (unsigned long long)max);
	return true;
}

static bool read_faults(struct lab_run *run, const struct lab_statement *s,
			struct explore_setting *setting)
{
	const struct lab_value *drop = lab_argument(s, "drop"), *mutant = lab_argument(s, "mutant");
	char message[900];

	setting->dropped = QUIRE_SITE_COUNT;
	setting->mutant = EXPLORE_MUTANT_NONE;
	if (drop && !explore_site_find(drop->text, &setting->dropped, message, sizeof(message)))
		return lab_raise(run, drop->place, 0, "%s", message);
	if (mutant &&
	    !explore_mutant_find(mutant->text, &setting->mutant, message, sizeof(message)))
		return lab_raise(run, mutant->place, 0, "%s", message);
	return true;
}

bool lab_do_explore(struct lab_run *run, const struct lab_statement *s)
{
	struct explored *explored = lab_new(sizeof(*explored));
	struct explore_setting *setting = &explored->setting;
	uint64_t cpus = run->machine->sim.cpus < 2 ? 1 : 2, pages = 2;
	const char *why;

	if (run->explored || !small_number(run, s, "cpus", EXPLORE_CPUS_MAX, &cpus) ||
	    !small_number(run, s, "pages", EXPLORE_PAGES_MAX, &pages) ||
	    !read_faults(run, s, setting)) {
		free(explored);
		return run->raised.is
			       ? false
			       : lab_raise(run, s->place, 0, "there is a small world already");
	}
	setting->policy = run->result->policies;
	setting->pages = (unsigned)pages;
	why = explore_machine(&setting->machine, &run->machine->sim, (unsigned)cpus);
	if (!why) {
		explore_setting_ready(setting);
		why = explore_job_create(&explored->job, setting);
	}
	if (why) {
		free(explored);
		return lab_raise(run, s->place, 0, "%s", why);
	}
	run->explored = &explored->job;
	return true;
}

/* Does the text mean this move, to its end or to some point? */
static bool means(const struct explore_world *world, const char *text, struct explore_move *move)
{
	static const char point[] = ", to its point ";
	const char *at = strstr(text, point);
	unsigned long number = at ? strtoul(at + strlen(point), NULL, 10) : 0;
	char own[300];

	if (number >= EXPLORE_POINTS_MAX)
		return false;
	move->until = (uint16_t)number;
	explore_move_text(world, *move, own, sizeof(own));
	return strcmp(own, text) == 0;
}

static bool not_found(struct lab_run *run, const struct lab_statement *s,
		      const struct explore_move *moves, unsigned count)
{
	char texts[EXPLORE_MOVES_MAX][160];
	const char *names[EXPLORE_MOVES_MAX], *nearest;

	for (unsigned n = 0; n < count; n++) {
		explore_move_text(run->explored->world, moves[n], texts[n], sizeof(texts[n]));
		names[n] = texts[n];
	}
	nearest = lab_nearest(s->text, names, count);
	return lab_raise(run, s->place, 0, "nothing of that name can happen here%s%s%s",
			 nearest ? ", did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?" : "");
}

/* Who waited for a lock may have let the call go on to its end: then there is nothing to do. */
static bool goes_on(const struct explore_job *job, const char *text, struct explore_move *move)
{
	for (unsigned cpu = 0; cpu < job->setting->machine.cpus; cpu++) {
		*move = (struct explore_move){.kind = EXPLORE_GO_ON, .cpu = (uint8_t)cpu};
		if (means(job->world, text, move))
			return true;
	}
	return false;
}

/* The move that these words mean now; false after an error. */
static bool find_move(struct lab_run *run, const struct lab_statement *s, struct explore_move *move)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(run->explored, moves);

	for (unsigned n = 0; n < count; n++) {
		*move = moves[n];
		if (means(run->explored->world, s->text, move))
			return true;
	}
	return goes_on(run->explored, s->text, move) || not_found(run, s, moves, count);
}

bool lab_do_step(struct lab_run *run, const struct lab_statement *s)
{
	struct explore_move move;
	char what[300];

	if (!run->explored)
		return lab_raise(run, s->place, 0, "expected 'explore' before the first step");
	if (explored_of(run)->failed)
		return lab_raise(run, s->place, 0, "the run has failed before this step");
	if (!find_move(run, s, &move))
		return false;
	run->explored->label = s->place.line;
	if (explore_do(run->explored, move))
		return true;
	explored_of(run)->failed = true;
	explore_what(run->explored, what, sizeof(what));
	if (*what)
		lab_fail(run, s->place, "%s", what);
	return true;
}
