/*
 * The command `quire check`.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab/data.h"
#include "lab/explore_print.h"
#include "lab/host.h"
#include "lab/options.h"
#include "lab/output.h"
#include "lab/progress.h"

enum {
	DEPTH_DEFAULT = 4,
	INTERLEAVE_DEFAULT = 3, /* two calls at once cost some thousand steps a state */
	CPUS_DEFAULT = 2,
	PAGES_DEFAULT = 2,
	RANDOM_DEPTH_DEFAULT = 24,
	DROP_ALL_DEPTH_DEFAULT = 5, /* with one page: what a site is for shows in small worlds */
	RANDOM_SECONDS_DEFAULT = 10,
	WALKS = 200000,         /* of --drop all, for a site and a machine */
	WALKS_FIRST = 500,
	PROBE_DEPTH = 4, /* the estimate is made from, and that of two at once from */
	PROBE_PAIRS_DEPTH = 3,
	LONG_SECONDS = 15 * 60, /* what is worth a warning */
	INTERRUPTED = 130,
};

struct checks {
	const struct command_line *line;
	struct explore_bounds bounds;
	volatile const int *stop;
	json_t *json; /* NULL: not asked for */
	unsigned refuted, failed;
	unsigned machines; /* of a table: those on which Quire runs */
	bool text;
};

/* What is put wrong on purpose: one of the two, or neither. */
struct fault {
	enum quire_site dropped;
	enum explore_mutant mutant;
};

static const struct fault no_fault = {QUIRE_SITE_COUNT, EXPLORE_MUTANT_NONE};

/* NULL: there is none. */
static const char *fault_name(struct fault fault)
{
	const char *mutant = explore_mutant_name(fault.mutant);

	return mutant ? mutant : quire_site_name(fault.dropped);
}

/* --- Setting up one --------------------------------------------------------------------------- */

void explore_setting_ready(struct explore_setting *setting)
{
	const struct sim_machine *machine = &setting->machine;

	setting->data_moves = sim_data_shows(machine);
	setting->every_cpu = machine->cpus > 1 && !machine->data_coherent;
}

static bool set_policy(struct quire_policy *policy, const struct lab_options *options)
{
	char message[300];

	*policy = quire_policy_default();
	for (size_t i = 0; i < options->policy_count; i++) {
		const char *wrong =
			lab_policy_set(policy, options->policies[i].key, options->policies[i].value,
				       message, sizeof(message));

		if (wrong) {
			fprintf(stderr, "quire: --policy: %s\n", wrong);
			return false;
		}
	}
	return true;
}

static bool drops_all(const struct command_line *line)
{
	return line->drop && strcmp(line->drop, "all") == 0;
}

static bool mutates_all(const struct command_line *line)
{
	return line->mutant && strcmp(line->mutant, "all") == 0;
}

static unsigned default_depth(const struct command_line *line)
{
	if (line->random)
		return RANDOM_DEPTH_DEFAULT;
	return drops_all(line) ? DROP_ALL_DEPTH_DEFAULT : DEPTH_DEFAULT;
}

static unsigned cpus_of(const struct command_line *line, const struct sim_machine *machine,
			const struct explore_trial *trial)
{
	unsigned cpus = trial && trial->cpus ? trial->cpus : CPUS_DEFAULT;

	if (line->cpus)
		return line->cpus;
	return machine->cpus < cpus ? machine->cpus : cpus;
}

static unsigned pages_of(const struct command_line *line, const struct explore_trial *trial)
{
	if (line->pages)
		return line->pages;
	if (trial)
		return trial->pages;
	return drops_all(line) ? 1 : PAGES_DEFAULT;
}

/* A mutant has a trial of its own, but for what the command line asks for. */
static struct explore_bounds bounds_of(const struct checks *checks, enum explore_mutant mutant,
				       unsigned cpus)
{
	const struct explore_trial *trial = explore_mutant_trial(mutant);
	struct explore_bounds bounds = checks->bounds;

	if (!trial || checks->line->random)
		return bounds;
	if (!checks->line->depth)
		bounds.depth = trial->depth;
	if (!checks->line->interleave)
		bounds.interleave = trial->interleave;
	if (cpus >= trial->cpus) {
		bounds.start = trial->start;
		bounds.start_length = trial->start_length;
	}
	return bounds;
}

/* False after a message. *unfit: why Quire does not run on the machine; NULL: it does. */
static bool set_up(struct explore_check *check, const struct command_line *line, const char *name,
		   struct fault fault, const char **unfit)
{
	const struct explore_trial *trial = explore_mutant_trial(fault.mutant);
	struct lab_machine *machine = lab_machine_load(stderr, name);
	bool good = machine != NULL;

	*unfit = NULL;
	for (size_t i = 0; good && i < line->run.figure_count; i++)
		good = lab_machine_set(stderr, machine, line->run.figures[i].key,
				       line->run.figures[i].value);
	if (good) {
		check->machine = lab_copy_text(machine->name, strlen(machine->name));
		check->machine_file = lab_copy_text(name, strlen(name));
		check->setting.pages = pages_of(line, trial);
		check->setting.dropped = fault.dropped;
		check->setting.mutant = fault.mutant;
		good = set_policy(&check->setting.policy, &line->run);
		lab_policy_print(&check->setting.policy, check->policy, sizeof(check->policy));
		*unfit = explore_machine(&check->setting.machine, &machine->sim,
					 cpus_of(line, &machine->sim, trial));
		explore_setting_ready(&check->setting);
	}
	lab_machine_free(machine);
	return good;
}

/* --- Running one ------------------------------------------------------------------------------ */

/* Shortens the run that failed and tells what it is. */
static bool settle(struct explore_check *check)
{
	struct explore_job job;
	const char *why = explore_job_create(&job, &check->setting);

	if (why) {
		check->result.end = EXPLORE_FAILED;
		check->result.why = why;
		return false;
	}
	explore_minimize(&job, check->result.run, &check->result.length);
	explore_job_destroy(&job);
	why = explore_job_create(&job,
				 &check->setting); /* fresh: the witness remembers who wrote what */
	if (!why)
		explore_describe(check, &job);
	if (!why)
		explore_job_destroy(&job);
	return !why;
}

static void run(struct explore_check *check, const struct checks *checks)
{
	const struct command_line *line = checks->line;
	struct explore_bounds bounds =
		bounds_of(checks, check->setting.mutant, check->setting.machine.cpus);

	check->random = line->random || bounds.walks;
	check->interleave = bounds.interleave;
	check->depth = bounds.depth;
	if (check->random)
		explore_random(&check->setting, &bounds, line->seed, &check->result);
	else
		explore_search(&check->setting, &bounds, &check->result);
	if (check->result.end == EXPLORE_REFUTED)
		settle(check);
}

static struct explore_result probe(const struct explore_check *check, const struct checks *checks,
				   unsigned depth, unsigned interleave)
{
	struct explore_bounds bounds = checks->bounds;
	struct explore_result result;

	bounds.progress = false;
	bounds.depth = depth;
	bounds.interleave = interleave;
	explore_search(&check->setting, &bounds, &result);
	return result;
}

struct cost {
	double steps, seconds;
};

/*
 * Of all runs of `depth` steps, one call after the other or (together) of their pairs of two at
 * once, if that goes on to grow as it does up to `probed`. Zero if nothing can be said.
 */
static struct cost cost_of(const struct explore_check *check, const struct checks *checks,
			   unsigned probed, bool together, unsigned depth)
{
	struct explore_result before = probe(check, checks, probed - 1, together ? probed - 1 : 0);
	struct explore_result last = probe(check, checks, probed, together ? probed : 0);
	double few = (double)(together ? 2 * before.pairs : before.moves);
	double more = (double)(together ? 2 * last.pairs : last.moves);
	struct cost cost = {.steps = more, .seconds = last.seconds};

	if (before.end != EXPLORE_SAFE || last.end != EXPLORE_SAFE || depth < probed || few == 0)
		return (struct cost){0, 0};
	for (unsigned d = probed; d < depth; d++) {
		cost.steps *= more / few;
		cost.seconds *= more / few;
	}
	return cost;
}

static void warn_if_long(const struct explore_check *check, const struct checks *checks)
{
	struct cost apart, together;
	double seconds;

	if (checks->bounds.depth <= PROBE_DEPTH || checks->line->random || checks->bounds.seconds)
		return;
	apart = cost_of(check, checks, PROBE_DEPTH, false, checks->bounds.depth);
	together = cost_of(check, checks, PROBE_PAIRS_DEPTH, true, checks->bounds.interleave);
	seconds = apart.seconds + together.seconds;
	if (seconds < LONG_SECONDS)
		return;
	fprintf(stderr,
		"quire: check: %s: about %.1e steps to depth %u, %.0f minutes on this host. "
		"Shorter: --depth %u, --interleave %u, "
		"--pages 1, --cpus 1, --seconds N (what is known by then), or --random\n",
		check->machine, apart.steps + together.steps, checks->bounds.depth, seconds / 60,
		checks->bounds.depth - 1,
		checks->bounds.interleave > 2 ? checks->bounds.interleave - 1 : 1);
}

static void script_path(const struct explore_check *check, const struct command_line *line,
			char *path, size_t bytes)
{
	if (line->script)
		snprintf(path, bytes, "%s", line->script);
	else
		snprintf(path, bytes, "counterexample-%s.q", check->machine);
}

static void tell(struct explore_check *check, struct checks *checks)
{
	char path[4096];

	progress_clear();
	if (check->result.end == EXPLORE_REFUTED) {
		checks->refuted++;
		script_path(check, checks->line, path, sizeof(path));
		if (!explore_save_script(check, path))
			checks->failed++;
		if (checks->text)
			explore_print_run(stdout, check, isatty(STDOUT_FILENO));
	}
	checks->failed += check->result.end == EXPLORE_FAILED;
	if (checks->text)
		explore_print_end(stdout, check);
	else if (check->result.end == EXPLORE_FAILED)
		fprintf(stderr, "quire: check: %s: %s\n", check->machine, check->result.why);
	fflush(stdout);
	if (checks->json)
		json_array_append_new(checks->json, explore_json(check));
}

/* False: nothing more is to be run. */
static bool check_machine(struct checks *checks, const char *name, struct fault fault)
{
	struct explore_check check = {.result.end = EXPLORE_FAILED};
	const char *unfit;
	bool good = set_up(&check, checks->line, name, fault, &unfit);

	if (good && unfit && checks->line->run.machine)
		fprintf(stderr, "quire: check: machine %s: %s\n", check.machine, unfit);
	else if (good && unfit && checks->text)
		printf("%s: not checked: %s\n", check.machine, unfit);
	if (!good || (unfit && checks->line->run.machine))
		checks->failed++;
	if (good && !unfit) {
		if (!fault_name(fault))
			warn_if_long(&check, checks);
		run(&check, checks);
		tell(&check, checks);
	}
	explore_check_free(&check);
	return good && !*checks->stop;
}

/* --- Faults ----------------------------------------------------------------------------------- */

/* The nearest of `names` to a name that is none of them, in a sentence. */
static void unknown(const char *what, const char *name, const char *const *names, size_t count,
		    char *message, size_t bytes)
{
	const char *nearest = lab_nearest(name, names, count);
	size_t used = (size_t)snprintf(message, bytes, "unknown %s '%.60s', ", what, name);

	if (nearest)
		used += (size_t)snprintf(message + used, bytes - used, "did you mean '%s'?",
					 nearest);
	else
		used += (size_t)snprintf(message + used, bytes - used, "expected one of:");
	for (size_t n = 0; n < count && !nearest && used < bytes; n++)
		used += (size_t)snprintf(message + used, bytes - used, " %s", names[n]);
}

bool explore_site_find(const char *name, enum quire_site *site, char *message, size_t bytes)
{
	const char *names[QUIRE_SITE_COUNT];

	for (unsigned n = 0; n < QUIRE_SITE_COUNT; n++) {
		names[n] = quire_site_name((enum quire_site)n);
		*site = (enum quire_site)n;
		if (strcmp(names[n], name) == 0)
			return true;
	}
	unknown("site", name, names, QUIRE_SITE_COUNT, message, bytes);
	return false;
}

bool explore_mutant_find(const char *name, enum explore_mutant *mutant, char *message, size_t bytes)
{
	const char *names[EXPLORE_MUTANT_NONE];

	for (unsigned n = 0; n < EXPLORE_MUTANT_NONE; n++) {
		names[n] = explore_mutant_name((enum explore_mutant)n);
		*mutant = (enum explore_mutant)n;
		if (strcmp(names[n], name) == 0)
			return true;
	}
	unknown("mutant", name, names, EXPLORE_MUTANT_NONE, message, bytes);
	return false;
}

/*
 * How it is tried to catch a site left out, one way after the other. Long runs are walked at
 * random: breadth first there are too many.
 */
static const struct stage {
	const char *how;
	enum { AS_ASKED_FOR, WALKED_ALONE, WALKED_BY_TWO } search; /* alone: by one CPU */
	const char *question, *answer; /* a policy of its own; NULL: that which was asked for */
} stages[] = {
	{"breadth first", AS_ASKED_FOR, NULL, NULL},
	{"random walks", WALKED_ALONE, NULL, NULL},
	{"random walks, two at once", WALKED_BY_TWO, NULL, NULL},
	{"random walks, coherence=exact", WALKED_ALONE, "coherence", "exact"},
	{"random walks, coherence=eager", WALKED_ALONE, "coherence", "eager"},
	{"random walks, flush_range=line", WALKED_ALONE, "flush_range", "line"},
};

/* The policy of the stage, unless the command line answers that question. */
static bool set_stage_policy(struct explore_check *check, const struct stage *stage,
			     const struct lab_options *options)
{
	char message[300];

	for (size_t i = 0; stage->question && i < options->policy_count; i++)
		if (strcmp(options->policies[i].key, stage->question) == 0)
			return false;
	if (stage->question)
		lab_policy_set(&check->setting.policy, stage->question, stage->answer, message,
			       sizeof(message));
	lab_policy_print(&check->setting.policy, check->policy, sizeof(check->policy));
	return true;
}

/*
 * A few walks show first whether Quire comes to the site at all: on many machines and under many
 * policies it does not.
 */
static void walk_to_site(struct explore_check *check, struct checks *checks)
{
	atomic_bool asked = false;

	checks->bounds.depth = RANDOM_DEPTH_DEFAULT;
	checks->bounds.jobs = 1; /* the same walks on every host */
	checks->bounds.walks = WALKS_FIRST;
	check->setting.asked = &asked;
	run(check, checks);
	check->setting.asked = NULL;
	checks->bounds.walks = WALKS;
	if (asked && check->result.end == EXPLORE_SAFE)
		run(check, checks);
}

static void run_stage(struct explore_check *check, const struct checks *checks,
		      const struct stage *stage)
{
	struct checks staged = *checks;

	if (stage->search == AS_ASKED_FOR) {
		run(check, &staged);
		return;
	}
	staged.bounds.interleave = stage->search == WALKED_BY_TWO ? RANDOM_DEPTH_DEFAULT : 0;
	walk_to_site(check, &staged);
}

/* One row of the table. True: the machine catches the fault. */
static bool try_fault(struct checks *checks, const struct stage *stage, const char *name,
		      struct fault fault)
{
	struct explore_check check = {.result.end = EXPLORE_FAILED};
	struct command_line line = *checks->line;
	const char *unfit;
	bool caught = false;

	if (stage->search == WALKED_ALONE)
		line.cpus = 1;
	if (!set_up(&check, &line, name, fault, &unfit)) {
		checks->failed++;
	} else if (!unfit && set_stage_policy(&check, stage, &line.run)) {
		checks->machines += stage == stages;
		run_stage(&check, checks, stage);
		progress_clear();
		caught = check.result.end == EXPLORE_REFUTED;
		if (caught && checks->text)
			printf("%-28s %-18s %-24s %2u steps, %s\n", fault_name(fault),
			       check.machine, check.kind,
			       explore_steps(check.result.run, check.result.length), stage->how);
		if (check.result.end == EXPLORE_FAILED)
			printf("%-28s %-18s no result: %s\n", fault_name(fault), check.machine,
			       check.result.why);
		fflush(stdout);
		if (checks->json)
			json_array_append_new(checks->json, explore_json(&check));
	}
	explore_check_free(&check);
	return caught;
}

/* On all machines; a site, one stage after the other until some machine catches it. */
static bool try_machines(struct checks *checks, char *const *names, size_t count,
			 struct fault fault)
{
	bool once = checks->line->random || explore_mutant_name(fault.mutant);
	size_t stage_count = once ? 1 : sizeof(stages) / sizeof(stages[0]);
	bool caught = false;

	checks->machines = 0;
	for (size_t stage = 0; stage < stage_count && !caught; stage++)
		for (size_t i = 0; i < count && !*checks->stop; i++)
			caught |= try_fault(checks, &stages[stage], names[i], fault);
	if (!caught && checks->text)
		printf("%-28s not caught\n", fault_name(fault));
	return caught;
}

static void drop_all(struct checks *checks, char *const *names, size_t count)
{
	unsigned caught = 0, sites = 0;

	for (unsigned n = 0; n < QUIRE_SITE_COUNT && !*checks->stop; n++) {
		struct fault fault = {(enum quire_site)n, EXPLORE_MUTANT_NONE};

		if (quire_site_keeps(fault.dropped) == QUIRE_SITE_KEEPS_DATA) {
			caught += try_machines(checks, names, count, fault);
			sites++;
		} else if (checks->text) {
			printf("%-28s costs time only\n", fault_name(fault));
		}
	}
	if (checks->text)
		printf("%u of %u sites caught when left out, on %u machine%s\n", caught, sites,
		       checks->machines, checks->machines == 1 ? "" : "s");
	checks->refuted += caught < sites;
}

static void mutate_all(struct checks *checks, char *const *names, size_t count)
{
	unsigned caught = 0, mutant = 0;

	for (; mutant < EXPLORE_MUTANT_NONE && !*checks->stop; mutant++)
		caught +=
			try_machines(checks, names, count,
				     (struct fault){QUIRE_SITE_COUNT, (enum explore_mutant)mutant});
	if (checks->text)
		printf("%u of %u mutants caught, on %u machine%s\n", caught, mutant,
		       checks->machines, checks->machines == 1 ? "" : "s");
	checks->refuted += caught < mutant;
}

/* --- The command ------------------------------------------------------------------------------ */

static bool write_json(struct output *output, json_t *checks)
{
	json_t *document =
		json_pack("{s:s, s:i, s:O}", "quire", QUIRE_VERSION, "format", 1, "check", checks);
	bool good = document && json_dumpf(document, output->to, JSON_INDENT(2)) == 0;

	fputc('\n', output->to);
	json_decref(document);
	return good;
}

/* What is put wrong on purpose, from the command line. False after a message. */
static bool find_fault(const struct command_line *line, struct fault *fault)
{
	char message[900];

	*fault = no_fault;
	if (line->drop && !drops_all(line) &&
	    !explore_site_find(line->drop, &fault->dropped, message, sizeof(message))) {
		fprintf(stderr, "quire: --drop: %s\n", message);
		return false;
	}
	if (line->mutant && !mutates_all(line) &&
	    !explore_mutant_find(line->mutant, &fault->mutant, message, sizeof(message))) {
		fprintf(stderr, "quire: --mutant: %s\n", message);
		return false;
	}
	return true;
}

static void run_all(struct checks *checks, char *const *names, size_t count)
{
	struct fault fault;

	if (!find_fault(checks->line, &fault))
		checks->failed++;
	else if (drops_all(checks->line))
		drop_all(checks, names, count);
	else if (mutates_all(checks->line))
		mutate_all(checks, names, count);
	else
		for (size_t i = 0; i < count && check_machine(checks, names[i], fault); i++)
			;
}

static unsigned default_jobs(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 ? (unsigned)cpus : 1;
}

static void set_bounds(struct checks *checks, const struct command_line *line)
{
	checks->bounds.depth = line->depth ? line->depth : default_depth(line);
	checks->bounds.seconds = line->seconds  ? line->seconds
				 : line->random ? RANDOM_SECONDS_DEFAULT
						: 0;
	checks->bounds.jobs = line->run.jobs ? line->run.jobs : default_jobs();
	checks->bounds.interleave = line->interleave ? line->interleave : INTERLEAVE_DEFAULT;
	checks->bounds.progress = isatty(STDERR_FILENO);
}

static int status_of(const struct checks *checks)
{
	if (checks->failed)
		return LAB_USAGE;
	if (checks->refuted)
		return LAB_FAILED;
	return *checks->stop ? INTERRUPTED : LAB_GOOD;
}

int explore_command(const struct command_line *line)
{
	struct checks checks = {.line = line, .text = !line->json || strcmp(line->json, "-") != 0};
	struct lab_progress progress;
	struct output output = {0};
	char *names[DATA_NAMES_MAX];
	char *one[] = {(char *)(uintptr_t)line->run.machine};
	size_t count = line->run.machine ? 0 : data_names("machines", ".ini", names);
	int status;

	if (line->json && !output_open(&output, line->json))
		return LAB_USAGE;
	progress_begin(&progress);
	progress_catch_interrupt(&progress, output.temporary);
	checks.stop = checks.bounds.stop = progress.stop;
	checks.json = line->json ? json_array() : NULL;
	set_bounds(&checks, line);
	run_all(&checks, count ? names : one, count ? count : line->run.machine ? 1 : 0);
	data_names_free(names, count);
	status = status_of(&checks);
	if (line->json && status == LAB_USAGE)
		output_drop(&output);
	else if (line->json && (!write_json(&output, checks.json) || !output_finish(&output)))
		status = LAB_INTERNAL;
	json_decref(checks.json);
	return status;
}

/* --- Bench ------------------------------------------------------------------------------------ */

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool bench(FILE *to, unsigned interleave, const char *how)
{
	struct command_line line = {0};
	struct explore_check check = {.result.end = EXPLORE_FAILED};
	struct explore_bounds bounds = {
		.depth = DEPTH_DEFAULT, .jobs = 1, .interleave = interleave};
	const char *unfit;
	bool good = set_up(&check, &line, "pandaboard", no_fault, &unfit) && !unfit;
	double seconds = cpu_seconds();

	if (good)
		explore_search(&check.setting, &bounds, &check.result);
	seconds = cpu_seconds() - seconds;
	good = good && check.result.end == EXPLORE_SAFE;
	if (good)
		fprintf(to,
			"bench check: pandaboard, 2 CPUs, 2 pages, depth %u, %s, one thread: %.0f "
			"steps/s (%llu steps, %.2f s of CPU)\n",
			(unsigned)DEPTH_DEFAULT, how, (double)check.result.moves / seconds,
			(unsigned long long)check.result.moves, seconds);
	else
		fprintf(stderr, "quire: bench: the check did not end well\n");
	explore_check_free(&check);
	return good;
}

bool explore_bench(FILE *to)
{
	return bench(to, 0, "calls one after the other") &&
	       bench(to, INTERLEAVE_DEFAULT, "two at once too");
}
