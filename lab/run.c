/*
 * A run of a script: its variants, each on a world of its own, in parallel threads.
 *
 * Variants share nothing but the parsed script, which nobody changes, so the result does not depend
 * on how many run at once. Messages are printed when all have ended, in the order of the variants.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/interpret.h"

#define HOST_BYTES_A_VARIANT \
	((uint64_t)3 << 29) /* 1.5 GiB: what a variant of an experiment may need */

struct job {
	struct lab_run run;
	struct lab_machine *machine;
	struct quire_policy policy;
};

struct jobs {
	struct job *all;
	size_t count, next;
	pthread_mutex_t lock;
};

/* --- Machine and policy of a variant -------------------------------------------------- */

static bool set_figures(FILE *errors, struct lab_machine *machine, const struct lab_script *script,
			const struct lab_script_variant *variant, const struct lab_options *options)
{
	const struct lab_statement *s = variant->statement;

	for (size_t i = 0; s && i < s->pair_count; i++) {
		const struct lab_pair *pair = &s->pairs[i];

		if (!lab_key_is_figure(pair->key) ||
		    lab_machine_set(errors, machine, pair->key, pair->value))
			continue;
		lab_error_at(errors, &script->source, pair->place.line, pair->place.column,
			     "this figure of variant %s was refused", variant->label);
		return false;
	}
	for (size_t i = 0; i < options->figure_count; i++)
		if (!lab_machine_set(errors, machine, options->figures[i].key,
				     options->figures[i].value))
			return false;
	return true;
}

static void set_pairs(struct quire_policy *policy, const struct lab_statement *s)
{
	char message[LAB_MESSAGE_BYTES];

	for (size_t i = 0; i < s->pair_count; i++)
		if (lab_key_is_policy(s->pairs[i].key)) /* checked when the script was loaded */
			lab_policy_set(policy, s->pairs[i].key, s->pairs[i].value, message,
				       sizeof(message));
}

/* Later ones win: Quire's choice, the script's, the variant's, the command line's. */
static bool set_policy(FILE *errors, struct quire_policy *policy, const struct lab_script *script,
		       const struct lab_script_variant *variant, const struct lab_options *options)
{
	char message[LAB_MESSAGE_BYTES];

	*policy = quire_policy_default();
	for (const struct lab_statement *s = script->statements; s; s = s->next)
		if (s->rule->kind == LAB_DO_POLICY)
			set_pairs(policy, s);
	if (variant->statement)
		set_pairs(policy, variant->statement);
	for (size_t i = 0; i < options->policy_count; i++) {
		const char *what =
			lab_policy_set(policy, options->policies[i].key, options->policies[i].value,
				       message, sizeof(message));

		if (what) {
			fprintf(errors, "quire: --policy: %s\n", what);
			return false;
		}
	}
	return true;
}

/* The variant's line but for its label: "coherence=page,fs=tmpfs". */
static char *pairs_text(const struct lab_script_variant *variant)
{
	const struct lab_statement *s = variant->statement;
	char *text = lab_copy_text("", 0);

	for (size_t i = 0; s && i < s->pair_count; i++) {
		char *longer = lab_format("%s%s%s=%s", text, *text ? "," : "", s->pairs[i].key,
					  s->pairs[i].value);

		free(text);
		text = longer;
	}
	return text;
}

/* NULL: nothing names one. */
static const char *machine_name(const struct lab_script *script,
				const struct lab_script_variant *variant,
				const struct lab_options *options)
{
	if (options->machine)
		return options->machine;
	return variant->machine ? variant->machine->value : script->machine;
}

/* Tells where the script names the machine that is not to be had. */
static void machine_error(FILE *errors, const struct lab_script *script,
			  const struct lab_script_variant *variant,
			  const struct lab_options *options)
{
	const struct lab_statement *at = script->machine_at;

	if (options->machine)
		return;
	if (variant->machine)
		lab_error_at(errors, &script->source, variant->machine->value_place.line,
			     variant->machine->value_place.column,
			     "the machine of variant %s could not be loaded", variant->label);
	else if (at)
		lab_error_at(errors, &script->source, at->values[0].place.line,
			     at->values[0].place.column,
			     "the machine of this script could not be loaded");
}

/* NULL after error messages. */
static struct lab_machine *load_machine(FILE *errors, const struct lab_script *script,
					const struct lab_script_variant *variant,
					const struct lab_options *options)
{
	const char *name = machine_name(script, variant, options);
	struct lab_machine *machine;

	if (!name) {
		lab_error_at(errors, &script->source, 0, 0,
			     "the script names no machine, expected 'machine NAME' in it or "
			     "--machine NAME");
		return NULL;
	}
	machine = lab_machine_load(errors, name);
	if (!machine) {
		machine_error(errors, script, variant, options);
	} else if (machine->sim.isa == SIM_BARE && !script->bare) {
		fprintf(errors,
			"quire: %s: machine %s has no architecture code: it runs the alias test "
			"only\n",
			script->path, machine->name);
		lab_machine_free(machine);
		machine = NULL;
	}
	return machine;
}

/* --machine leaves out the variants that name another. */
static bool is_chosen(const struct lab_script_variant *variant, const struct lab_options *options)
{
	return !options->machine || !variant->machine ||
	       strcmp(variant->machine->value, options->machine) == 0;
}

static size_t count_chosen(const struct lab_script *script, const struct lab_options *options)
{
	size_t count = 0;

	for (size_t i = 0; i < script->variant_count; i++)
		count += is_chosen(&script->variants[i], options);
	return count;
}

/* --machine NAME, and all variants name others. */
static void none_chosen(FILE *errors, const struct lab_script *script,
			const struct lab_options *options)
{
	const char **names = lab_new(script->variant_count * sizeof(*names));
	const char *nearest;

	for (size_t i = 0; i < script->variant_count; i++)
		names[i] = script->variants[i].machine->value;
	nearest = lab_nearest(options->machine, names, script->variant_count);
	fprintf(errors, "quire: --machine: no variant of %s runs on '%s'%s%s%s\n", script->path,
		options->machine, nearest ? ", did you mean '" : "", nearest ? nearest : "",
		nearest ? "'?" : "");
	free(names);
}

static bool check_options(FILE *errors, const struct lab_script *script,
			  const struct lab_options *options)
{
	if (script->bare && options->policy_count) {
		fprintf(errors, "quire: --policy: %s runs on bare machines, without Quire\n",
			script->path);
		return false;
	}
	if (count_chosen(script, options))
		return true;
	none_chosen(errors, script, options);
	return false;
}

bool lab_run_check(FILE *errors, const struct lab_script *script, const struct lab_options *options)
{
	const char *last = NULL;
	bool good = check_options(errors, script, options);

	for (size_t i = 0; good && i < script->variant_count; i++) {
		const struct lab_script_variant *variant = &script->variants[i];
		const char *name = machine_name(script, variant, options);
		struct lab_machine *machine;

		if (!is_chosen(variant, options) || (last && name && strcmp(last, name) == 0))
			continue;
		last = name;
		machine = load_machine(errors, script, variant, options);
		good = machine != NULL;
		for (size_t j = 0; good && j < options->figure_count; j++)
			good = lab_machine_set(errors, machine, options->figures[j].key,
					       options->figures[j].value);
		lab_machine_free(machine);
	}
	return good;
}

static bool prepare(FILE *errors, struct job *job, struct lab_script *script,
		    const struct lab_script_variant *variant, const struct lab_options *options,
		    const struct lab_progress *progress, struct lab_variant *result)
{
	job->machine = load_machine(errors, script, variant, options);
	if (!job->machine)
		return false;
	if (!set_figures(errors, job->machine, script, variant, options) ||
	    !set_policy(errors, &job->policy, script, variant, options))
		return false;
	job->run = (struct lab_run){
		.script = script,
		.variant = variant,
		.options = options,
		.progress = progress,
		.machine = job->machine,
		.result = result,
	};
	result->label = lab_copy_text(variant->label, strlen(variant->label));
	result->policy = pairs_text(variant);
	result->policies = job->policy;
	result->machine = lab_copy_text(job->machine->name, strlen(job->machine->name));
	return true;
}

/* --- Threads -------------------------------------------------------------------------- */

/* `history`: the witness remembers earlier contents of lines. */
static void run_once(struct job *job, bool history)
{
	struct lab_run *run = &job->run;
	const struct sim_options options = {
		.history = history,
		.needless = run->options && run->options->needless,
	};
	const char *why;

	run->world = run->script->bare ? lab_world_create_bare(&job->machine->sim, &why)
				       : lab_world_create(&job->machine->sim, &job->policy, &why);
	if (!run->world) {
		lab_raise(run, (struct lab_place){0}, 0, "machine %s: %s", job->machine->name, why);
		return;
	}
	/* Without memory for it the report says less. */
	(void)sim_set_options(run->world->sim, &options);
	lab_interpret(run);
	lab_world_destroy(run->world);
}

/*
 * A history would slow down every run for the sake of the few that go wrong. Runs repeat exactly,
 * so a variant that met a violation is run once more, with a history this time, for its report.
 */
static void run_job(struct job *job)
{
	struct lab_run *run = &job->run;
	const struct lab_run fresh = *run;

	if (run->progress && run->progress->stop && *run->progress->stop)
		return;
	run_once(job, false);
	if (!run->result->violation_count || run->stopped)
		return;
	free(run->raised.text);
	free(run->size_note);
	lab_variant_clear(run->result);
	*run = fresh;
	run_once(job, true);
}

static struct job *next_job(struct jobs *jobs)
{
	struct job *job = NULL;

	pthread_mutex_lock(&jobs->lock);
	if (jobs->next < jobs->count)
		job = &jobs->all[jobs->next++];
	pthread_mutex_unlock(&jobs->lock);
	return job;
}

static void *work(void *context)
{
	struct job *job;

	while ((job = next_job(context)))
		run_job(job);
	return NULL;
}

/* As many as asked for, or one a CPU as far as the host has memory for them. */
static size_t thread_count(const struct lab_options *options, size_t jobs)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
	uint64_t bytes = (uint64_t)(pages > 0 ? pages : 1) * (uint64_t)sysconf(_SC_PAGESIZE);
	size_t threads = options->jobs;

	if (!threads) {
		threads = cpus > 0 ? (size_t)cpus : 1;
		if (threads > bytes / HOST_BYTES_A_VARIANT)
			threads = (size_t)(bytes / HOST_BYTES_A_VARIANT);
	}
	if (threads > jobs)
		threads = jobs;
	return threads ? threads : 1;
}

static void run_jobs(struct jobs *jobs, size_t count)
{
	pthread_t *threads = lab_new(count * sizeof(*threads));
	size_t started = 0;

	pthread_mutex_init(&jobs->lock, NULL);
	/* This thread is one of them, so that the run goes on where no thread can be made. */
	while (started + 1 < count && pthread_create(&threads[started], NULL, work, jobs) == 0)
		started++;
	work(jobs);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	pthread_mutex_destroy(&jobs->lock);
	free(threads);
}

/* --- The whole ------------------------------------------------------------------------ */

static char *copy_or_null(const char *text)
{
	return text ? lab_copy_text(text, strlen(text)) : NULL;
}

/* The machine of all variants; NULL: they name different ones. */
static const char *common_machine(const struct lab_script *script,
				  const struct lab_options *options)
{
	const char *common = machine_name(script, &script->variants[0], options);

	for (size_t i = 1; i < script->variant_count; i++)
		if (strcmp(common, machine_name(script, &script->variants[i], options)) != 0)
			return NULL;
	return common;
}

/* What the command line changed beside machine and policy. */
static char *arguments_text(const struct lab_options *options)
{
	char *text = lab_format("%s%s", options->full ? " --full" : "",
				options->needless ? " --needless" : "");

	for (size_t i = 0; i < options->figure_count; i++) {
		char *longer = lab_format("%s --set '%s=%s'", text, options->figures[i].key,
					  options->figures[i].value);

		free(text);
		text = longer;
	}
	return text;
}

static struct lab_experiment *new_experiment(const struct lab_script *script,
					     const struct lab_options *options)
{
	struct lab_experiment *e = lab_new(sizeof(*e));

	e->name = copy_or_null(script->name);
	e->file = copy_or_null(script->path);
	e->title = copy_or_null(script->title ? script->title : script->name);
	e->source = copy_or_null(script->citation);
	e->machine = copy_or_null(common_machine(script, options));
	e->bare = script->bare;
	e->arguments = arguments_text(options);
	e->question = copy_or_null(script->question);
	e->variant_count = count_chosen(script, options);
	e->variants = lab_new(e->variant_count * sizeof(*e->variants));
	return e;
}

/*
 * Prints what made variants end. False when one did because of its script or machine: bad input.
 * Where the witness saw violations they are the reason, and the result tells about them.
 */
static bool told_errors(FILE *errors, struct jobs *jobs)
{
	bool good = true;

	for (size_t i = 0; i < jobs->count; i++) {
		struct lab_run *run = &jobs->all[i].run;

		if (!run->raised.is || run->result->violation_count)
			continue;
		lab_error_at(errors, &run->script->source, run->raised.place.line,
			     run->raised.place.column, "%s (variant %s)", run->raised.text,
			     run->variant->label);
		good = false;
	}
	return good;
}

static void free_jobs(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		free(jobs->all[i].run.raised.text);
		free(jobs->all[i].run.size_note);
		lab_machine_free(jobs->all[i].machine);
	}
	free(jobs->all);
}

struct lab_experiment *lab_run(FILE *errors, struct lab_script *script,
			       const struct lab_options *options,
			       const struct lab_progress *progress)
{
	struct jobs jobs = {.count = 0};
	struct lab_experiment *experiment;
	bool good = true;

	if (!lab_run_check(errors, script, options))
		return NULL;
	experiment = new_experiment(script, options);
	jobs.all = lab_new(experiment->variant_count * sizeof(*jobs.all));
	for (size_t i = 0; good && i < script->variant_count; i++) {
		if (!is_chosen(&script->variants[i], options))
			continue;
		good = prepare(errors, &jobs.all[jobs.count], script, &script->variants[i], options,
			       progress, &experiment->variants[jobs.count]);
		jobs.count++;
	}
	if (good) {
		run_jobs(&jobs, thread_count(options, jobs.count));
		experiment->size_note = copy_or_null(jobs.all[0].run.size_note);
		good = told_errors(errors, &jobs);
	}
	free_jobs(&jobs);
	if (good)
		return experiment;
	lab_experiment_free(experiment);
	return NULL;
}
