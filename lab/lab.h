/*
 * The laboratory's parts, and how they meet:
 *
 *   main.c  options -> machine_file.c (a machine) + script.c (a parsed script) -> run.c (its
 *   variants, in parallel) -> interpret.c (one variant) on world.c (a simulated machine with Quire
 *   booted on it) -> result.h -> report.c (text), json.c
 */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stdio.h>

#include "lab/result.h"

/* Exit statuses of the program. */
enum lab_exit {
	LAB_GOOD = 0,
	LAB_FAILED = 1, /* a violation or a failed expectation */
	LAB_USAGE = 2,  /* bad usage or input */
	LAB_INTERNAL = 3,
};

/*
 * Errors of input go through here: "file:line:column: what", the offending line with a mark below
 * it, then "expected ..." where it helps. line 0: no place in the file.
 */
struct lab_source {
	const char *file;
	const char *text; /* whole, NUL-terminated */
	size_t bytes;
};

void lab_error_at(FILE *to, const struct lab_source *source, unsigned line, unsigned column,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Reads a whole file: NULL after an error message (missing, unreadable, a directory, over 1 MiB,
 * binary).
 */
char *lab_read_file(FILE *errors, const char *path, size_t *bytes);

/*
 * The name nearest to `name` (edit distance, letter case ignored) if near enough to suggest; else
 * NULL.
 */
const char *lab_nearest(const char *name, const char *const *names, size_t count);

/*
 * "512M", "128K", "4096", "0.5M": bytes, with K, M, G, T powers of 1024. false: not a size, or it
 * overflows.
 */
bool lab_parse_size(const char *text, uint64_t *bytes);

/* --- Policies (policy.c) ---------------------------------------------------------------------- */

/*
 * Sets one answer, e.g. ("flush_range", "fixed:512K"). NULL, or a message (static or in `message`)
 * naming what would be right.
 */
const char *lab_policy_set(struct quire_policy *policy, const char *question, const char *answer,
			   char *message, size_t message_bytes);
bool lab_policy_question(const char *name); /* is it one of the five questions? */
/* all five, key=value,... */
void lab_policy_print(const struct quire_policy *policy, char *text, size_t bytes);

/* --- Machine files (machine_file.c) ----------------------------------------------------------- */

/* One figure of a machine file, as written. */
struct lab_figure {
	char *section, *key, *value;
	/* a citation, "assumed", or "fitted:<experiment>/<label>/<measure>[,...]" */
	char *source;
	char *range;            /* "lo..hi", NULL: none */
	unsigned line;
};

struct lab_machine {
	char *name, *title, *file;
	struct sim_machine sim;
	struct lab_figure *figures;
	size_t figure_count;
};

/* By name (machines/NAME.ini in the data directory) or by path. NULL after an error message. */
struct lab_machine *lab_machine_load(FILE *errors, const char *name_or_path);
void lab_machine_free(struct lab_machine *machine);
/* Overrides one figure, e.g. ("cost.l2_read", "12 cycles"); false after an error message. */
bool lab_machine_set(FILE *errors, struct lab_machine *machine, const char *section_key,
		     const char *value);
/* Was some figure of the machine fitted on this measure of this variant of this experiment? */
bool lab_machine_fitted_on(const struct lab_machine *machine, const char *experiment,
			   const char *label, const char *measure);

/* Where machines/ and experiments/ are: beside the program, its parent, or the installed place. */
const char *lab_data_directory(void);

/* --- Scripts (script.c) and runs (interpret.c, run.c) ----------------------------------------- */

struct lab_script;

/* By path. NULL after error messages. */
struct lab_script *lab_script_load(FILE *errors, const char *path);
void lab_script_free(struct lab_script *script);
/* the name it asks for; NULL: none */
const char *lab_script_machine(const struct lab_script *script);
size_t lab_script_variants(const struct lab_script *script);     /* at least 1 */
bool lab_script_by_name(const struct lab_script *script);        /* runs only when it is named */

struct lab_options {
	bool full;                    /* published sizes */
	bool needless;                /* which maintenance was needed is found out */
	/* --machine; NULL: the script's. Of variants that name theirs, it chooses */
	const char *machine;
	struct lab_assignment {
		char *key, *value;
	} *policies;                  /* --policy, in order; win over the script's */
	size_t policy_count;
	struct lab_assignment *figures; /* --set section.key=value */
	size_t figure_count;
	unsigned jobs;                /* threads; 0: one a CPU */
};

/*
 * Progress of a run, called from any thread, serialised by the caller's lock: text such as
 * "mapped-read before 40%".
 */
struct lab_progress {
	void *context;
	void (*update)(void *context, const char *experiment, const char *label, unsigned percent);
	/* set asynchronously (Ctrl-C): variants end at the next statement */
	volatile const int *stop;
};

/*
 * Can every variant run on its machine, with the figures set? False after error messages. lab_run
 * checks it again.
 */
bool lab_run_check(FILE *errors, const struct lab_script *script,
		   const struct lab_options *options);

/*
 * Runs every variant of the script. NULL after error messages (bad input: exit status 2). A variant
 * that met a script error at run time (map beyond a file, ...) has it among its failures.
 */
struct lab_experiment *lab_run(FILE *errors, struct lab_script *script,
			       const struct lab_options *options,
			       const struct lab_progress *progress);

/* --- Reports (report.c, json.c) --------------------------------------------------------------- */

void lab_report(FILE *to, const struct lab_experiment *experiment, bool colour);
void lab_report_summary(FILE *to, struct lab_experiment *const *experiments, size_t count,
			bool colour);
/* The whole JSON document. false: writing failed. */
bool lab_json(FILE *to, struct lab_experiment *const *experiments, size_t count);
/* GOOD, or FAILED if any violation or failed expectation. */
enum lab_exit lab_verdict(struct lab_experiment *const *experiments, size_t count);

#endif
