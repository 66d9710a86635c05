/*
 * Options: one table of argp for the help, one of which command takes which option.
 *
 * Nothing given is ever ignored: an option that the command has no use for is refused, as is one
 * given twice where only one can count. getopt's own message for an unknown option cannot name the
 * nearest, so long options are looked at before argp sees them.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "lab/options.h"

const char *argp_program_version = "quire " QUIRE_VERSION;

enum {
	KEY_MACHINE = 'm',
	KEY_POLICY = 'p',
	KEY_SET = 's',
	KEY_JSON = 'j',
	KEY_FULL = 'f',
	KEY_JOBS = 'J',
	KEY_NEEDLESS = 'n',
	KEY_KEYS = 'k',
	KEY_DEPTH = 'd',
	KEY_SECONDS = 't',
	KEY_CPUS = 'c',
	KEY_PAGES = 'P',
	KEY_RANDOM = 'r',
	KEY_SEED = 'S',
	KEY_DROP = 'D',
	KEY_SCRIPT = 'o',
	KEY_MUTANT = 'M',
	KEY_INTERLEAVE = 'i',
};

static const struct argp_option option_table[] = {
	{"machine", KEY_MACHINE, "NAME|FILE", 0, "Run on this machine instead of the script's", 1},
	{"policy", KEY_POLICY, "QUESTION=ANSWER,...", 0,
	 "Set policies; they win over the script's (may be repeated)", 1},
	{"set", KEY_SET, "SECTION.KEY=VALUE", 0,
	 "Override one figure of the machine, as in cost.l2_read=12 cycles (may be repeated)", 1},
	{"json", KEY_JSON, "FILE|-", 0, "Write results as JSON to FILE, or (-) instead of the text",
	 1},
	{"full", KEY_FULL, NULL, 0, "Run at the published sizes", 1},
	{"jobs", KEY_JOBS, "N", 0, "Run N variants at once (default: one a CPU)", 1},
	{"needless", KEY_NEEDLESS, NULL, 0,
	 "Find out which maintenance no later read was in need of (slower; see docs/needless.md)",
	 1},
	{"keys", KEY_KEYS, NULL, 0, "machines: list the keys of machine files instead", 2},
	{"depth", KEY_DEPTH, "N", 0, "check: explore all runs of N steps (default 4)", 3},
	{"seconds", KEY_SECONDS, "N", 0, "check: stop after N seconds and say what is known", 3},
	{"cpus", KEY_CPUS, "N", 0,
	 "check: CPUs of the small world, 1 to 3 (default: 2, if the machine has two)", 3},
	{"pages", KEY_PAGES, "N", 0, "check: pages of its file, 1 to 3 (default 2)", 3},
	{"random", KEY_RANDOM, NULL, 0,
	 "check: random runs of --depth steps (default 24) instead of all", 3},
	{"seed", KEY_SEED, "N", 0, "check: where random runs begin (default 0)", 3},
	{"drop", KEY_DROP, "SITE|all", 0,
	 "check: leave out the maintenance of a site; or of each in turn, in a table", 3},
	{"interleave", KEY_INTERLEAVE, "N", 0,
	 "check: two calls at once as well, the second at each step of the first, in all runs of N "
	 "steps (default 3; 1: calls one after the other)",
	 3},
	{"mutant", KEY_MUTANT, "NAME|all", 0,
	 "check: put a known fault into Quire; or each in turn, in a table", 3},
	{"script", KEY_SCRIPT, "FILE", 0,
	 "check: where a run that fails is written (default counterexample-MACHINE.q)", 3},
	{0},
};

/* Options of `run`; of `machines`; `bench` has none. */
static const char run_keys[] = {KEY_MACHINE, KEY_POLICY, KEY_SET,      KEY_JSON,
				KEY_FULL,    KEY_JOBS,   KEY_NEEDLESS, 0};
static const char check_keys[] = {
	KEY_MACHINE, KEY_POLICY, KEY_SET,    KEY_JSON, KEY_JOBS, KEY_DEPTH,  KEY_SECONDS, KEY_CPUS,
	KEY_PAGES,   KEY_RANDOM, KEY_SEED,   KEY_DROP, KEY_SCRIPT, KEY_MUTANT, KEY_INTERLEAVE, 0};
static const char machines_keys[] = {KEY_KEYS, 0};

static const struct {
	const char *name;
	enum lab_command command;
	const char *keys;
} commands[] = {
	{"run", LAB_COMMAND_RUN, run_keys},
	{"check", LAB_COMMAND_CHECK, check_keys},
	{"machines", LAB_COMMAND_MACHINES, machines_keys},
	{"bench", LAB_COMMAND_BENCH, ""},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

struct reading {
	struct command_line *line;
	size_t command; /* index in commands; COMMANDS: none yet */
	char given[32]; /* keys of the options seen, in order, each once */
	bool failed;
};

#define FAIL(reading, ...)                                      \
	do {                                                    \
		fprintf(stderr, "quire: " __VA_ARGS__);         \
		fputs("; `quire --help` tells more\n", stderr); \
		(reading)->failed = true;                       \
	} while (0)

static void unknown(struct reading *reading, const char *what, const char *name,
		    const char *const *names, size_t count)
{
	const char *nearest = lab_nearest(name, names, count);

	fprintf(stderr, "quire: unknown %s '%s', ", what, name);
	if (nearest)
		fprintf(stderr, "did you mean '%s'?\n", nearest);
	else
		fputs("expected one of:", stderr);
	for (size_t i = 0; i < count && !nearest; i++)
		fprintf(stderr, " %s%s", names[i], i + 1 < count ? "" : "\n");
	reading->failed = true;
}

static void take_command(struct reading *reading, const char *name)
{
	const char *names[COMMANDS];

	for (size_t i = 0; i < COMMANDS; i++) {
		names[i] = commands[i].name;
		if (strcmp(name, names[i]) == 0) {
			reading->command = i;
			reading->line->command = commands[i].command;
			return;
		}
	}
	unknown(reading, "command", name, names, COMMANDS);
}

/* Adds "key=value" to a list of assignments. */
static bool assign(struct reading *reading, struct lab_assignment **list, size_t *count,
		   const char *text, size_t length)
{
	const char *equals = memchr(text, '=', length);
	struct lab_assignment *more;

	if (!equals || equals == text) {
		FAIL(reading, "expected key=value, not '%.*s'", (int)length, text);
		return false;
	}
	more = realloc(*list, (*count + 1) * sizeof(*more));
	if (!more) {
		FAIL(reading, "not enough memory");
		return false;
	}
	*list = more;
	more[*count].key = strndup(text, (size_t)(equals - text));
	more[*count].value = strndup(equals + 1, length - (size_t)(equals + 1 - text));
	(*count)++;
	return true;
}

static void take_policies(struct reading *reading, const char *text)
{
	struct lab_options *run = &reading->line->run;

	for (;;) {
		size_t length = strcspn(text, ",");
		struct quire_policy scratch = quire_policy_default();
		struct lab_assignment *last;
		char message[300];
		const char *wrong;

		if (!assign(reading, &run->policies, &run->policy_count, text, length))
			return;
		last = &run->policies[run->policy_count - 1];
		wrong = lab_policy_set(&scratch, last->key, last->value, message, sizeof(message));
		if (wrong)
			FAIL(reading, "--policy: %s", wrong);
		if (wrong || !text[length])
			return;
		text += length + 1;
	}
}

static void take_jobs(struct reading *reading, const char *text)
{
	char *end;
	unsigned long jobs = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || jobs == 0 || jobs > 256)
		FAIL(reading, "--jobs is a number from 1 to 256, not '%s'", text);
	else
		reading->line->run.jobs = (unsigned)jobs;
}

static const char *option_name(int key)
{
	for (size_t i = 0; option_table[i].name; i++)
		if (option_table[i].key == key)
			return option_table[i].name;
	return "?";
}

static void take_number(struct reading *reading, int key, const char *text, unsigned max)
{
	struct command_line *line = reading->line;
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	unsigned *to = key == KEY_DEPTH	     ? &line->depth :
		       key == KEY_SECONDS    ? &line->seconds :
		       key == KEY_CPUS	     ? &line->cpus :
		       key == KEY_INTERLEAVE ? &line->interleave :
					       &line->pages;

	if (*text < '0' || *text > '9' || *end || number == 0 || number > max)
		FAIL(reading, "--%s is a number from 1 to %u, not '%s'", option_name(key), max,
		     text);
	else
		*to = (unsigned)number;
}

static void take_seed(struct reading *reading, const char *text)
{
	char *end;

	reading->line->seed = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end)
		FAIL(reading, "--seed is a number, not '%s'", text);
}

/* An option of `check` alone. */
static void take_check_option(struct reading *reading, int key, char *value)
{
	struct command_line *line = reading->line;

	if (key == KEY_DEPTH)
		take_number(reading, key, value, 30);
	else if (key == KEY_SECONDS)
		take_number(reading, key, value, 1000000);
	else if (key == KEY_CPUS || key == KEY_PAGES)
		take_number(reading, key, value, 3);
	else if (key == KEY_SEED)
		take_seed(reading, value);
	else if (key == KEY_DROP)
		line->drop = value;
	else if (key == KEY_MUTANT)
		line->mutant = value;
	else if (key == KEY_SCRIPT)
		line->script = value;
	else if (key == KEY_INTERLEAVE)
		take_number(reading, key, value, 30);
	else
		line->random = true;
}

/* Notes that an option was given; false: a second time, where one only can count. */
static bool note_option(struct reading *reading, int key)
{
	size_t count = strlen(reading->given);

	if (!strchr(reading->given, key))
		reading->given[count] = (char)key;
	else if (key != KEY_POLICY && key != KEY_SET)
		return false;
	return true;
}

static void take_option(struct reading *reading, int key, char *value)
{
	struct command_line *line = reading->line;

	if (!note_option(reading, key)) {
		FAIL(reading, "--%s is given twice", option_name(key));
		return;
	}
	if (value && !*value) {
		FAIL(reading, "--%s needs a value", option_name(key));
		return;
	}
	if (key == KEY_MACHINE)
		line->run.machine = value;
	else if (key == KEY_POLICY)
		take_policies(reading, value);
	else if (key == KEY_SET)
		assign(reading, &line->run.figures, &line->run.figure_count, value, strlen(value));
	else if (key == KEY_JSON)
		line->json = value;
	else if (key == KEY_FULL)
		line->run.full = true;
	else if (key == KEY_NEEDLESS)
		line->run.needless = true;
	else if (key == KEY_JOBS)
		take_jobs(reading, value);
	else if (key == KEY_KEYS)
		line->keys = true;
	else
		take_check_option(reading, key, value);
}

static error_t take(int key, char *value, struct argp_state *state)
{
	struct reading *reading = state->input;
	struct command_line *line = reading->line;

	if (reading->failed)
		return 0;
	if (key == ARGP_KEY_ARG && reading->command == COMMANDS)
		take_command(reading, value);
	else if (key == ARGP_KEY_ARG)
		line->arguments[line->argument_count++] = value;
	else if (key > 0 && key < 128)
		take_option(reading, key, value);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const char description[] =
	"Runs workloads on simulated machines under one memory-management policy or another, and "
	"says "
	"which cache or TLB maintenance is missing, which is needless, and what each costs."
	"\vCommands:\n"
	"  run [EXPERIMENT|FILE]...  run experiments (when none is named, all but `by-name`) or "
	"scripts\n"
	"  check                     explore all short runs of a small world, or show one that "
	"fails\n"
	"  machines [NAME|FILE]      list the machines, or all figures of one with their sources\n"
	"  bench [sim|check]...      measure the speed of the simulator, or of check, on this "
	"host\n"
	"\n"
	"Exit status: 0 good; 1 a violation or a failed expectation; 2 bad usage or input; "
	"3 internal error; 130 interrupted.\n"
	"\n"
	"Environment: QUIRE_DATA names the directory that holds machines/ and experiments/.";

static const struct argp argp = {option_table, take, "COMMAND [ARGUMENT...]", description, NULL,
				 NULL,         NULL};

/* Long options that argp would refuse without naming the nearest. */
static void check_options(struct reading *reading, int argc, char **argv)
{
	const char *names[32] = {"help", "usage", "version"};
	size_t count = 3;

	for (size_t i = 0; option_table[i].name; i++)
		names[count++] = option_table[i].name;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0 && !reading->failed; i++) {
		size_t length = strcspn(argv[i], "=");
		char name[64];
		bool known = false;

		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(length < 60 ? length - 2 : 58),
			 argv[i] + 2);
		for (size_t j = 0; j < count; j++)
			known |= length > 2 && strncmp(names[j], name, length - 2) == 0;
		if (!known)
			unknown(reading, "option", name, names, count);
	}
}

/* Every option must be one of the command's, and of use there. */
static void check_use(struct reading *reading)
{
	const char *keys = commands[reading->command].keys;

	if (strchr(reading->given, KEY_SEED) && !reading->line->random)
		FAIL(reading, "--seed means nothing without --random");
	if (reading->line->drop && reading->line->mutant)
		FAIL(reading, "--drop and --mutant: one fault at a time");
	if (reading->line->command == LAB_COMMAND_CHECK && reading->line->argument_count)
		FAIL(reading, "check takes no argument '%s'; a machine is named by --machine",
		     reading->line->arguments[0]);

	for (const char *key = reading->given; *key && !reading->failed; key++)
		if (!strchr(keys, *key))
			FAIL(reading, "--%s means nothing to `quire %s`", option_name(*key),
			     commands[reading->command].name);
}

bool command_line_read(struct command_line *line, int argc, char **argv)
{
	struct reading reading = {.line = line, .command = COMMANDS};

	*line = (struct command_line){0};
	line->arguments = calloc((size_t)argc + 1, sizeof(*line->arguments));
	argp_err_exit_status = LAB_USAGE;
	if (!line->arguments)
		FAIL(&reading, "not enough memory");
	if (!reading.failed)
		check_options(&reading, argc, argv);
	if (!reading.failed && argp_parse(&argp, argc, argv, 0, NULL, &reading) != 0)
		reading.failed = true;
	if (!reading.failed && reading.command == COMMANDS)
		FAIL(&reading, "no command: expected run, check, machines or bench");
	if (!reading.failed)
		check_use(&reading);
	return !reading.failed;
}

static void free_assignments(struct lab_assignment *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].key);
		free(list[i].value);
	}
	free(list);
}

void command_line_free(struct command_line *line)
{
	free_assignments(line->run.policies, line->run.policy_count);
	free_assignments(line->run.figures, line->run.figure_count);
	free(line->arguments);
}
