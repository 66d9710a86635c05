/*
 * The program quire. All bad input is found before anything runs, so that no work is lost to a
 * misspelt name and no result file is half written.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/bench.h"
#include "lab/data.h"
#include "lab/explore.h"
#include "lab/figures.h"
#include "lab/lab.h"
#include "lab/options.h"
#include "lab/output.h"
#include "lab/progress.h"

#define EXIT_INTERRUPTED 130

/* --- Names of experiments and machines --- */

static void unknown_experiment(const char *name)
{
	char *names[DATA_NAMES_MAX];
	size_t count = data_names("experiments", ".q", names);
	const char *nearest = lab_nearest(name, (const char *const *)names, count);

	if (nearest)
		fprintf(stderr, "quire: unknown experiment '%s', did you mean '%s'?\n", name,
			nearest);
	else
		fprintf(stderr,
			"quire: unknown experiment '%s', no file has that name, and %s/experiments "
			"has "
			"no such script\n",
			name, lab_data_directory());
	data_names_free(names, count);
}

/* The script of an argument: a name in experiments/, or a path. NULL after an error message. */
static struct lab_script *load_script(const char *name)
{
	char path[4400];
	size_t length = strlen(name);

	if (strchr(name, '/') || (length > 2 && strcmp(name + length - 2, ".q") == 0))
		return lab_script_load(stderr, name);
	snprintf(path, sizeof(path), "%s/experiments/%s.q", lab_data_directory(), name);
	if (*name && length < 100 && access(path, F_OK) == 0)
		return lab_script_load(stderr, path);
	if (*name && access(name, F_OK) == 0)
		return lab_script_load(stderr, name);
	unknown_experiment(name);
	return NULL;
}

/* --- run --- */

struct runs {
	struct lab_script **scripts;
	struct lab_experiment **experiments;
	size_t script_count, experiment_count;
};

/*
 * Loads every script and checks its machines. `all`: leaves out those that run by name. False after
 * error messages.
 */
static bool load_scripts(struct runs *runs, char *const *names, size_t count, bool all,
			 const struct lab_options *options)
{
	bool good = true;

	runs->scripts = calloc(count + 1, sizeof(struct lab_script *));
	runs->experiments = calloc(count + 1, sizeof(struct lab_experiment *));
	if (!runs->scripts || !runs->experiments) {
		fprintf(stderr, "quire: not enough memory\n");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		struct lab_script *script = load_script(names[i]);

		if (script && all && lab_script_by_name(script)) {
			lab_script_free(script);
			continue;
		}
		if (script)
			runs->scripts[runs->script_count++] = script;
		good = script && lab_run_check(stderr, script, options) && good;
	}
	return good;
}

static void free_runs(struct runs *runs)
{
	for (size_t i = 0; i < runs->script_count; i++)
		lab_script_free(runs->scripts[i]);
	for (size_t i = 0; i < runs->experiment_count; i++)
		lab_experiment_free(runs->experiments[i]);
	free(runs->scripts);
	free(runs->experiments);
}

/* Runs all, printing each as it ends where `text` is wanted. False after error messages. */
static bool run_scripts(struct runs *runs, const struct lab_options *options,
			struct lab_progress *progress, bool text)
{
	bool colour = isatty(STDOUT_FILENO);

	for (size_t i = 0; i < runs->script_count && !progress_interrupted(); i++) {
		struct lab_experiment *experiment =
			lab_run(stderr, runs->scripts[i], options, progress);

		progress_clear();
		if (!experiment)
			return false;
		runs->experiments[runs->experiment_count++] = experiment;
		if (text)
			lab_report(stdout, experiment, colour);
		fflush(stdout);
	}
	if (text)
		lab_report_summary(stdout, runs->experiments, runs->experiment_count, colour);
	return true;
}

/* Writes the JSON document, unless an interrupt left it incomplete and it is for a file. */
static int finish_json(struct runs *runs, struct output *output)
{
	if (!output->to)
		return LAB_GOOD;
	if (progress_interrupted() && output->to != stdout) {
		output_drop(output);
		fprintf(stderr, "quire: interrupted: no JSON file was written\n");
		return LAB_GOOD;
	}
	if (!lab_json(output->to, runs->experiments, runs->experiment_count)) {
		fprintf(stderr, "quire: the results could not be written as JSON\n");
		output_drop(output);
		return LAB_INTERNAL;
	}
	return output_finish(output) ? LAB_GOOD : LAB_INTERNAL;
}

static int run_all(struct runs *runs, const struct command_line *line)
{
	struct lab_progress progress;
	struct output output = {0};
	bool text = !line->json || strcmp(line->json, "-") != 0;
	int status;

	if (line->json && !output_open(&output, line->json))
		return LAB_USAGE;
	progress_begin(&progress);
	progress_catch_interrupt(&progress, output.temporary);
	if (!run_scripts(runs, &line->run, &progress, text)) {
		output_drop(&output);
		return LAB_USAGE;
	}
	status = finish_json(runs, &output);
	if (status != LAB_GOOD)
		return status;
	if (progress_interrupted())
		return EXIT_INTERRUPTED;
	return lab_verdict(runs->experiments, runs->experiment_count);
}

static int command_run(const struct command_line *line)
{
	struct runs runs = {0};
	char *names[DATA_NAMES_MAX] = {NULL};
	size_t count = 0;
	int status = LAB_USAGE;

	if (line->argument_count == 0)
		count = data_names("experiments", ".q", names);
	if (line->argument_count == 0 && count == 0)
		fprintf(stderr, "quire: no experiments in %s/experiments\n", lab_data_directory());
	else if (load_scripts(&runs, count ? names : line->arguments,
			      count ? count : line->argument_count, count > 0, &line->run))
		status = run_all(&runs, line);
	free_runs(&runs);
	data_names_free(names, count);
	return status;
}

/* --- machines --- */

static const char *meaning_of(const struct lab_figure *figure)
{
	const struct figure_key *key = figure_find(figure->section, figure->key);

	return key ? key->meaning : "";
}

static void print_machine(const struct lab_machine *machine)
{
	const char *section = "";

	printf("%s  %s\n", machine->name, machine->title);
	for (size_t i = 0; i < machine->figure_count; i++) {
		const struct lab_figure *figure = &machine->figures[i];

		if (strcmp(section, figure->section) != 0)
			printf("\n[%s]\n", figure->section);
		section = figure->section;
		printf("  %-22s %-14s %s\n", figure->key, figure->value, meaning_of(figure));
		printf("  %-22s %-14s   %s%s%s\n", "", "", figure->source,
		       figure->range ? ", range " : "", figure->range ? figure->range : "");
	}
}

static void print_keys(void)
{
	const char *section = "";
	char expected[120];

	printf("Keys of machine files: `key = value | source | range lo..hi`\n");
	for (size_t i = 0; i < figure_key_count; i++) {
		const struct figure_key *key = &figure_keys[i];

		if (strcmp(section, key->section) != 0)
			printf("\n[%s]\n", key->section);
		section = key->section;
		figure_expected(key, expected, sizeof(expected));
		printf("  %-22s %s%s\n", key->key, key->meaning,
		       key->required ? " (required)" : "");
		printf("  %-22s   %s\n", "", expected);
	}
}

static int print_machine_list(void)
{
	char *names[DATA_NAMES_MAX];
	size_t count = data_names("machines", ".ini", names);
	int status = LAB_GOOD;

	if (count == 0) {
		fprintf(stderr, "quire: no machines in %s/machines\n", lab_data_directory());
		status = LAB_USAGE;
	}
	for (size_t i = 0; i < count; i++) {
		struct lab_machine *machine = lab_machine_load(stderr, names[i]);

		if (machine)
			printf("%-20s %s\n", machine->name, machine->title);
		else
			status = LAB_USAGE;
		lab_machine_free(machine);
	}
	data_names_free(names, count);
	return status;
}

static int command_machines(const struct command_line *line)
{
	int status = LAB_GOOD;

	if (line->keys && line->argument_count) {
		fprintf(stderr, "quire: machines --keys takes no name\n");
		return LAB_USAGE;
	}
	if (line->keys) {
		print_keys();
		return LAB_GOOD;
	}
	if (line->argument_count == 0)
		return print_machine_list();
	for (size_t i = 0; i < line->argument_count; i++) {
		struct lab_machine *machine = lab_machine_load(stderr, line->arguments[i]);

		if (machine)
			print_machine(machine);
		else
			status = LAB_USAGE;
		lab_machine_free(machine);
	}
	return status;
}

/* --- bench --- */

static bool is_given(const struct command_line *line, const char *name)
{
	for (size_t i = 0; i < line->argument_count; i++)
		if (strcmp(line->arguments[i], name) == 0)
			return true;
	return line->argument_count == 0;
}

static int command_bench(const struct command_line *line)
{
	static const char *const names[] = {"sim", "check"};
	bool good = true;

	for (size_t i = 0; i < line->argument_count; i++) {
		const char *nearest = lab_nearest(line->arguments[i], names, 2);

		if (strcmp(line->arguments[i], "sim") == 0 ||
		    strcmp(line->arguments[i], "check") == 0)
			continue;
		fprintf(stderr, "quire: unknown bench '%s', %s '%s'%s\n", line->arguments[i],
			nearest ? "did you mean" : "expected", nearest ? nearest : "sim' or 'check",
			nearest ? "?" : "");
		return LAB_USAGE;
	}
	if (is_given(line, "sim"))
		good = bench_sim(stdout);
	if (is_given(line, "check"))
		good = explore_bench(stdout) && good;
	return good ? LAB_GOOD : LAB_INTERNAL;
}

int main(int argc, char **argv)
{
	struct command_line line;
	int status = LAB_USAGE;

	if (argc == 3 && strcmp(argv[1], BENCH_COPY_ARGUMENT) == 0)
		return bench_copy(argv[2]);
	if (command_line_read(&line, argc, argv)) {
		if (line.command == LAB_COMMAND_RUN)
			status = command_run(&line);
		else if (line.command == LAB_COMMAND_CHECK)
			status = explore_command(&line);
		else if (line.command == LAB_COMMAND_MACHINES)
			status = command_machines(&line);
		else
			status = command_bench(&line);
	}
	command_line_free(&line);
	if (fflush(stdout) != 0 && status == LAB_GOOD) {
		fprintf(stderr, "quire: standard output could not be written\n");
		status = LAB_INTERNAL;
	}
	return status;
}
