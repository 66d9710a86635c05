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
	CPUS_DEFAULT = 2,
	PAGES_DEFAULT = 2,
	RANDOM_DEPTH_DEFAULT = 24,
	DROP_ALL_DEPTH_DEFAULT = 5, /* with one page: what a site is for shows in small worlds */
	RANDOM_SECONDS_DEFAULT = 10,
	WALKS = 200000,   /* of --drop all, for a site and a machine */
	WALKS_FIRST = 500,
	PAIRS_DEPTH = 2,
	PROBE_DEPTH = 3,        /* the estimate is made from; one less with two calls at once */
	LONG_SECONDS = 15 * 60, /* what is worth a warning */
	INTERRUPTED = 130,
};

struct checks {
	const struct command_line *line;
	struct explore_bounds bounds;
	volatile const int *stop;
	json_t *json; /* NULL: not asked for */
	unsigned refuted, failed;
	bool text;
};

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

static unsigned default_depth(const struct command_line *line)
{
	if (line->random)
		return RANDOM_DEPTH_DEFAULT;
	return drops_all(line) ? DROP_ALL_DEPTH_DEFAULT : DEPTH_DEFAULT;
}

static unsigned cpus_of(const struct command_line *line, const struct sim_machine *machine)
{
	if (line->cpus)
		return line->cpus;
	return machine->cpus < CPUS_DEFAULT ? machine->cpus : CPUS_DEFAULT;
}

/* False after a message. *unfit: why Quire does not run on the machine; NULL: it does. */
static bool set_up(struct explore_check *check, const struct command_line *line, const char *name,
		   const char **unfit)
{
	struct lab_machine *machine = lab_machine_load(stderr, name);
	bool good = machine != NULL;

	*unfit = NULL;
	for (size_t i = 0; good && i < line->run.figure_count; i++)
		good = lab_machine_set(stderr, machine, line->run.figures[i].key,
				       line->run.figures[i].value);
	if (good) {
		check->machine = lab_copy_text(machine->name, strlen(machine->name));
		check->machine_file = lab_copy_text(name, strlen(name));
		check->setting.pages = line->pages       ? line->pages
				       : drops_all(line) ? 1
							 : PAGES_DEFAULT;
		check->setting.dropped = QUIRE_SITE_COUNT;
		check->setting.mutant = EXPLORE_MUTANT_NONE;
		good = set_policy(&check->setting.policy, &line->run);
		lab_policy_print(&check->setting.policy, check->policy, sizeof(check->policy));
		*unfit = explore_machine(&check->setting.machine, &machine->sim,
					 cpus_of(line, &machine->sim));
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
	struct explore_bounds bounds = checks->bounds;

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

/* Steps that all depths together will take, from the growth of the first ones. */
static double estimate(const struct explore_check *check, const struct checks *checks,
		       double *seconds)
{
	struct explore_bounds bounds = checks->bounds;
	unsigned probe_depth = bounds.interleave ? PROBE_DEPTH - 1 : PROBE_DEPTH;
	struct explore_result before, probe;
	double growth, steps;

	bounds.progress = false;
	bounds.depth = probe_depth - 1;
	explore_search(&check->setting, &bounds, &before);
	bounds.depth = probe_depth;
	explore_search(&check->setting, &bounds, &probe);
	*seconds = 0;
	if (probe.end != EXPLORE_SAFE || before.end != EXPLORE_SAFE || probe.moves <= before.moves)
		return 0;
	growth = (double)probe.moves / (double)before.moves;
	steps = (double)probe.moves;
	for (unsigned depth = probe_depth; depth < checks->bounds.depth; depth++)
		steps *= growth;
	*seconds = steps / ((double)probe.moves / probe.seconds);
	return steps;
}

static void warn_if_long(const struct explore_check *check, const struct checks *checks)
{
	double seconds, steps;

	if (checks->bounds.depth < PROBE_DEPTH || checks->line->random || checks->bounds.seconds)
		return;
	steps = estimate(check, checks, &seconds);
	if (seconds < LONG_SECONDS)
		return;
	fprintf(stderr,
		"quire: check: %s: about %.1e steps to depth %u, %.0f minutes on this host. "
		"Shorter: --depth %u, "
		"--pages 1, --cpus 1, --seconds N (what is known by then), or --random\n",
		check->machine, steps, checks->bounds.depth, seconds / 60,
		checks->bounds.depth - 1);
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
static bool check_machine(struct checks *checks, const char *name, enum quire_site dropped,
			  enum explore_mutant mutant)
{
	struct explore_check check = {.result.end = EXPLORE_FAILED};
	const char *unfit;
	bool good = set_up(&check, checks->line, name, &unfit);

	if (good && unfit && checks->line->run.machine)
		fprintf(stderr, "quire: check: machine %s: %s\n", check.machine, unfit);
	else if (good && unfit && checks->text)
		printf("%s: not checked: %s\n", check.machine, unfit);
	if (!good || (unfit && checks->line->run.machine))
		checks->failed++;
	if (good && !unfit) {
		check.setting.dropped = dropped;
		check.setting.mutant = mutant;
		if (dropped == QUIRE_SITE_COUNT && mutant == EXPLORE_MUTANT_NONE)
			warn_if_long(&check, checks);
		run(&check, checks);
		tell(&check, checks);
	}
	explore_check_free(&check);
	return good && !*checks->stop;
}

/* --- Sites left out --------------------------------------------------------------------------- */

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

static const char *const mutant_names[] = {
#define X(id, text) text,
	EXPLORE_MUTANTS(X)
#undef X
};

const char *explore_mutant_name(enum explore_mutant mutant)
{
	return mutant < EXPLORE_MUTANT_NONE ? mutant_names[mutant] : NULL;
}

bool explore_mutant_find(const char *name, enum explore_mutant *mutant, char *message, size_t bytes)
{
	for (unsigned n = 0; n < EXPLORE_MUTANT_NONE; n++) {
		*mutant = (enum explore_mutant)n;
		if (strcmp(mutant_names[n], name) == 0)
			return true;
	}
	unknown("mutant", name, mutant_names, EXPLORE_MUTANT_NONE, message, bytes);
	return false;
}

/*
 * How it is tried to catch a site left out, one way after the other. Long runs are walked at
 * random, by one CPU: breadth first there are too many.
 */
static const struct stage {
	const char *how;
	enum { AS_ASKED_FOR, WALKED, TWO_AT_ONCE } search;
	const char *question, *answer; /* a policy of its own; NULL: that which was asked for */
} stages[] = {
	{"breadth first", AS_ASKED_FOR, NULL, NULL},
	{"random walks", WALKED, NULL, NULL},
	{"random walks, coherence=exact", WALKED, "coherence", "exact"},
	{"random walks, coherence=eager", WALKED, "coherence", "eager"},
	{"random walks, flush_range=line", WALKED, "flush_range", "line"},
	{"two at once", TWO_AT_ONCE, NULL, NULL},
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

	if (stage->search == TWO_AT_ONCE) {
		staged.bounds.depth = PAIRS_DEPTH;
		staged.bounds.interleave = true;
	}
	if (stage->search == WALKED)
		walk_to_site(check, &staged);
	else
		run(check, &staged);
}

/* One row of the table. True: the machine needs the site. */
static bool drop_one(struct checks *checks, const struct stage *stage, const char *name,
		     enum quire_site site)
{
	struct explore_check check = {.result.end = EXPLORE_FAILED};
	struct command_line line = *checks->line;
	const char *unfit;
	bool caught = false;

	if (stage->search == WALKED)
		line.cpus = 1;
	if (!set_up(&check, &line, name, &unfit)) {
		checks->failed++;
	} else if (!unfit && set_stage_policy(&check, stage, &line.run)) {
		check.setting.dropped = site;
		run_stage(&check, checks, stage);
		progress_clear();
		caught = check.result.end == EXPLORE_REFUTED;
		if (caught && checks->text)
			printf("%-28s %-18s %-24s %2u steps, %s\n", quire_site_name(site),
			       check.machine, check.kind, check.result.length, stage->how);
		if (check.result.end == EXPLORE_FAILED)
			printf("%-28s %-18s no result: %s\n", quire_site_name(site), check.machine,
			       check.result.why);
		fflush(stdout);
		if (checks->json)
			json_array_append_new(checks->json, explore_json(&check));
	}
	explore_check_free(&check);
	return caught;
}

/* On all machines, one stage after the other until some machine needs the site. */
static bool drop_site(struct checks *checks, char *const *names, size_t count, enum quire_site site)
{
	size_t stage_count = checks->line->random ? 1 : sizeof(stages) / sizeof(stages[0]);
	bool caught = false;

	for (size_t stage = 0; stage < stage_count && !caught; stage++)
		for (size_t i = 0; i < count && !*checks->stop; i++)
			caught |= drop_one(checks, &stages[stage], names[i], site);
	return caught;
}

static void drop_all(struct checks *checks, char *const *names, size_t count)
{
	unsigned caught_sites = 0, sites = 0;

	for (unsigned n = 0; n < QUIRE_SITE_COUNT && !*checks->stop; n++) {
		enum quire_site site = (enum quire_site)n;
		bool cost = quire_site_keeps(site) == QUIRE_SITE_KEEPS_COST;
		bool caught = !cost && drop_site(checks, names, count, site);

		sites += !cost;
		caught_sites += caught;
		if (!caught && checks->text)
			printf("%-28s %s\n", quire_site_name(site),
			       cost ? "costs time only" : "not caught");
	}
	if (checks->text)
		printf("%u of %u sites caught when left out\n", caught_sites, sites);
	checks->refuted += caught_sites < sites;
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
static bool find_faults(const struct command_line *line, enum quire_site *site,
			enum explore_mutant *mutant)
{
	char message[900];

	*site = QUIRE_SITE_COUNT;
	*mutant = EXPLORE_MUTANT_NONE;
	if (line->drop && !drops_all(line) &&
	    !explore_site_find(line->drop, site, message, sizeof(message))) {
		fprintf(stderr, "quire: --drop: %s\n", message);
		return false;
	}
	if (line->mutant && !explore_mutant_find(line->mutant, mutant, message, sizeof(message))) {
		fprintf(stderr, "quire: --mutant: %s\n", message);
		return false;
	}
	return true;
}

static void run_all(struct checks *checks, char *const *names, size_t count)
{
	enum explore_mutant mutant;
	enum quire_site site;

	if (!find_faults(checks->line, &site, &mutant))
		checks->failed++;
	else if (drops_all(checks->line))
		drop_all(checks, names, count);
	else
		for (size_t i = 0; i < count && check_machine(checks, names[i], site, mutant); i++)
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
	checks->bounds.interleave = line->interleave;
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

bool explore_bench(FILE *to)
{
	struct command_line line = {0};
	struct explore_check check = {.result.end = EXPLORE_FAILED};
	struct explore_bounds bounds = {.depth = DEPTH_DEFAULT, .jobs = 1};
	const char *unfit;
	bool good = set_up(&check, &line, "pandaboard", &unfit) && !unfit;
	double seconds = cpu_seconds();

	if (good)
		explore_search(&check.setting, &bounds, &check.result);
	seconds = cpu_seconds() - seconds;
	good = good && check.result.end == EXPLORE_SAFE;
	if (good)
		fprintf(to,
			"bench check: pandaboard, 2 CPUs, 2 pages, depth %u, one thread: %.0f "
			"steps/s (%llu steps, %.2f s "
			"of CPU)\n",
			(unsigned)DEPTH_DEFAULT, (double)check.result.moves / seconds,
			(unsigned long long)check.result.moves, seconds);
	else
		fprintf(stderr, "quire: bench: the check did not end well\n");
	explore_check_free(&check);
	return good;
}
