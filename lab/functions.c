/*
 * Functions of expressions: what a script can ask about its machine, its memory manager and its
 * files.
 */
#include <string.h>

#include "lab/interpret.h"

#define NS_A_SECOND 1e9

enum argument_kind {
	ARGUMENT_NONE,
	ARGUMENT_FILE,
	ARGUMENT_SITE, /* a call site, or the first words of some; none: all */
	ARGUMENT_SIDE, /* data, insn or tlb */
};

struct arguments {
	struct lab_run *run;
	struct lab_file *file;
	struct quire_stat stat; /* of the file */
	const char *text;
};

struct function {
	const char *name;
	enum argument_kind argument;
	struct lab_number (*call)(const struct arguments *arguments);
};

static struct lab_number plain(double value)
{
	return (struct lab_number){.value = value};
}

static struct lab_number size(double value)
{
	return (struct lab_number){.value = value, .bytes = 1};
}

static struct lab_number violations(const struct arguments *a)
{
	return plain((double)sim_violations(lab_witness(a->run)));
}

static struct quire_usage usage(const struct arguments *a)
{
	struct quire_usage usage;

	quire_usage(a->run->world->quire, &usage);
	return usage;
}

static struct lab_number entries(const struct arguments *a)
{
	return plain((double)usage(a).entries);
}

static struct lab_number faults(const struct arguments *a)
{
	return plain((double)usage(a).faults);
}

static struct lab_number free_pages(const struct arguments *a)
{
	return plain((double)usage(a).free);
}

static struct lab_number cached_pages(const struct arguments *a)
{
	return plain((double)usage(a).page_cache);
}

static struct lab_number table_pages(const struct arguments *a)
{
	return plain((double)usage(a).tables);
}

static struct lab_number cpus(const struct arguments *a)
{
	return plain(a->run->machine->sim.cpus);
}

/* Measures that are not what was published for them. */
static struct lab_number differences(const struct arguments *a)
{
	const struct lab_variant *result = a->run->result;
	double count = 0;

	for (size_t i = 0; i < result->measure_count; i++)
		count += result->measures[i].has_published &&
			 result->measures[i].model != result->measures[i].published;
	return plain(count);
}

static struct lab_number done(const struct arguments *a)
{
	return size((double)a->run->done_bytes);
}

/* Seconds since the script's epoch. */
static struct lab_number seconds(const struct arguments *a, uint64_t ns)
{
	return plain((double)((int64_t)ns - (int64_t)a->run->epoch_ns) / NS_A_SECOND);
}

static struct lab_number now(const struct arguments *a)
{
	return seconds(a, lab_world_time_ns(a->run->world));
}

static struct lab_number mtime(const struct arguments *a)
{
	return seconds(a, a->stat.mtime_ns);
}

static struct lab_number ctime_of(const struct arguments *a)
{
	return seconds(a, a->stat.ctime_ns);
}

static struct lab_number atime(const struct arguments *a)
{
	return seconds(a, a->stat.atime_ns);
}

static struct lab_number file_size(const struct arguments *a)
{
	return size((double)a->stat.bytes);
}

static struct lab_number file_pages(const struct arguments *a)
{
	return plain((double)a->stat.pages);
}

static struct lab_number threshold(const struct arguments *a)
{
	struct quire_thresholds t;

	quire_thresholds(a->run->world->quire, &t);
	if (strcmp(a->text, "insn") == 0)
		return size((double)t.insn_bytes);
	return size((double)(strcmp(a->text, "tlb") == 0 ? t.tlb_bytes : t.data_bytes));
}

/* --- Maintenance ---------------------------------------------------------------------- */

static struct sim_account sum_sites(const struct arguments *a)
{
	struct sim_account sum = {0};

	for (unsigned site = 0; site < QUIRE_SITE_COUNT + (a->text == NULL); site++) {
		const char *name = site < QUIRE_SITE_COUNT ? quire_site_name(site) : "";

		if (a->text && strncmp(name, a->text, strlen(a->text)) != 0)
			continue;
		for (unsigned op = 0; op < SIM_OP_COUNT; op++) {
			const struct sim_account *one = sim_account(a->run->world->sim, site, op);

			sum.count += one->count;
			sum.idle += one->idle;
			sum.ticks += one->ticks;
		}
	}
	return sum;
}

static struct lab_number maintenance(const struct arguments *a)
{
	return plain((double)sum_sites(a).count);
}

static struct lab_number needless(const struct arguments *a)
{
	return plain((double)sum_sites(a).idle);
}

static struct lab_number cycles(const struct arguments *a)
{
	return plain((double)(sum_sites(a).ticks / SIM_TICKS_A_CYCLE));
}

/* --- The table ------------------------------------------------------------------------ */

/* X(name, argument, function) */
#define FUNCTIONS(X)                                                            \
	X("violations", NONE, violations)                                       \
	X("entries", NONE, entries)                                             \
	X("faults", NONE, faults)                                               \
	X("free", NONE, free_pages)                                             \
	X("cached", NONE, cached_pages)                                         \
	X("tables", NONE, table_pages)                                          \
	X("cpus", NONE, cpus)                                                   \
	X("differences", NONE, differences)                                     \
	X("done", NONE, done)                                                   \
	X("now", NONE, now)                                                     \
	X("mtime", FILE, mtime)                                                 \
	X("ctime", FILE, ctime_of)                                              \
	X("atime", FILE, atime)                                                 \
	X("size", FILE, file_size)                                              \
	X("pages", FILE, file_pages)                                            \
	X("threshold", SIDE, threshold)                                         \
	X("maintenance", SITE, maintenance)                                     \
	X("needless", SITE, needless)                                           \
	X("cycles", SITE, cycles)

static const struct function functions[] = {
#define X(name, argument, call) {name, ARGUMENT_##argument, call},
	FUNCTIONS(X)
#undef X
};

#define FUNCTION_COUNT (sizeof(functions) / sizeof(functions[0]))

const char *const lab_function_names[] = {
#define X(name, argument, call) name,
	FUNCTIONS(X)
#undef X
		NULL,
};

static const struct function *find(const char *name)
{
	for (size_t i = 0; i < FUNCTION_COUNT; i++)
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	return NULL;
}

bool lab_is_function(const char *name)
{
	return find(name) != NULL;
}

bool lab_function_needs_quire(const char *name)
{
	static const char *const asking[] = {"entries", "faults", "free",
					     "cached",  "tables", "threshold"};

	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++)
		if (strcmp(asking[i], name) == 0)
			return true;
	return false;
}

/* --- Calls ---------------------------------------------------------------------------- */

static const char *check_file(struct arguments *a, char *message, size_t bytes)
{
	a->file = lab_find_file(a->run, a->text);
	if (!a->file || !a->file->file) {
		snprintf(message, bytes, "no file '%.60s' is open here", a->text);
		return message;
	}
	quire_file_stat(a->file->file, &a->stat);
	return NULL;
}

static const char *check_site(const struct arguments *a, char *message, size_t bytes)
{
	const char *names[QUIRE_SITE_COUNT];
	const char *nearest;

	for (unsigned site = 0; site < QUIRE_SITE_COUNT; site++) {
		names[site] = quire_site_name(site);
		if (strncmp(names[site], a->text, strlen(a->text)) == 0)
			return NULL;
	}
	nearest = lab_nearest(a->text, names, QUIRE_SITE_COUNT);
	snprintf(message, bytes, "no call site is called '%.60s'%s%s%s", a->text,
		 nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
	return message;
}

static const char *check_argument(const struct function *f, struct arguments *a, char *message,
				  size_t bytes)
{
	if (f->argument == ARGUMENT_NONE)
		return a->text ? "the function takes no argument" : NULL;
	if (f->argument == ARGUMENT_SITE)
		return a->text ? check_site(a, message, bytes) : NULL;
	if (!a->text)
		return f->argument == ARGUMENT_FILE ? "expected the name of a file in parentheses"
						    : "expected (data), (insn) or (tlb)";
	if (f->argument == ARGUMENT_FILE)
		return check_file(a, message, bytes);
	if (strcmp(a->text, "data") == 0 || strcmp(a->text, "insn") == 0 ||
	    strcmp(a->text, "tlb") == 0)
		return NULL;
	return "expected (data), (insn) or (tlb)";
}

/* Times and measures are names without an argument. */
static const char *find_time(struct lab_run *run, const char *name, struct lab_number *number,
			     char *message, size_t bytes)
{
	for (struct lab_time *t = run->times; t; t = t->next)
		if (strcmp(t->name, name) == 0) {
			*number = t->number;
			return NULL;
		}
	snprintf(message, bytes,
		 "nothing was measured as '%.60s' so far, and no function has that name", name);
	return message;
}

const char *lab_function_call(void *context, const char *name, const char *argument,
			      struct lab_number *number, char *message, size_t bytes)
{
	struct lab_place nowhere = {0};
	struct arguments a = {.run = context};
	const struct function *f = find(name);
	const char *what;

	name = lab_expand(a.run, nowhere, name);
	a.text = argument ? lab_expand(a.run, nowhere, argument) : NULL;
	if (!name || (argument && !a.text))
		return "a variable has no value here";
	if (!f)
		return argument ? "there is no such function"
				: find_time(a.run, name, number, message, bytes);
	what = check_argument(f, &a, message, bytes);
	if (!what)
		*number = f->call(&a);
	return what;
}
