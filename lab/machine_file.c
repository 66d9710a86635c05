/*
 * Machine files: what is known of a machine's hardware, each figure with its source.
 *
 *   [cost]
 *   l2_write = 11.5 cycles | 7-cpu.com Cortex-A9 (proxy: Exynos 4210) | range 10..15
 *
 * The figures are kept as written; struct sim_machine is computed from all of them together (times
 * in ns depend on the clock). So --set is a change of one figure and the same computation again.
 *
 * A figure without a source is refused, and so is an assumed one without a range: nobody shall take
 * a guess for a fact. A line that begins with a space continues the one before.
 */
#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/data.h"
#include "lab/figures.h"
#include "lab/lab.h"

#define MESSAGE_BYTES 400

/* --- Names --- */

static void unknown_machine(FILE *errors, const char *name)
{
	char *names[DATA_NAMES_MAX];
	size_t count = data_names("machines", ".ini", names);
	const char *nearest = lab_nearest(name, (const char *const *)names, count);

	fprintf(errors, "quire: unknown machine '%s'", name);
	if (nearest)
		fprintf(errors, ", did you mean '%s'?\n", nearest);
	else
		fprintf(errors, "; known in %s/machines:", lab_data_directory());
	for (size_t i = 0; i < count && !nearest; i++)
		fprintf(errors, " %s", names[i]);
	if (!nearest)
		fprintf(errors, "%s\n", count ? "" : " none");
	data_names_free(names, count);
}

/* The file of a name or path; NULL after an error message. */
static char *find_file(FILE *errors, const char *name)
{
	char path[4400];
	size_t length = strlen(name);

	if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0))
		return strdup(name);
	snprintf(path, sizeof(path), "%s/machines/%s.ini", lab_data_directory(), name);
	if (*name && length < 100 && access(path, F_OK) == 0)
		return strdup(path);
	unknown_machine(errors, name);
	return NULL;
}

/* The file's name without directory and ending. */
static char *name_of_file(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	const char *end = strrchr(name, '.');

	return end && end != name ? strndup(name, (size_t)(end - name)) : strdup(name);
}

/* --- Reading --- */

struct reader {
	FILE *errors;
	struct lab_source source;
	const char *next; /* line that inih gets next */
	const char *line_text;
	unsigned line;
	unsigned error_count;
	struct lab_machine *machine;
	bool title_last; /* the last key was the title */
};

#define ERRORS_MAX 20

/* The column at which `what` stands in the current line, from 1. */
static unsigned column_of(const struct reader *reader, const char *what)
{
	size_t line_bytes = strcspn(reader->line_text, "\n");
	size_t bytes = strlen(what);

	for (size_t i = 0; bytes && i + bytes <= line_bytes; i++)
		if (strncmp(reader->line_text + i, what, bytes) == 0)
			return (unsigned)i + 1;
	return 1;
}

static int refuse(struct reader *reader, unsigned column, const char *message)
{
	if (reader->error_count++ < ERRORS_MAX)
		lab_error_at(reader->errors, &reader->source, reader->line, column, "%s", message);
	return 1;
}

/*
 * Gives inih one line, which it wants in at most `bytes` bytes. A longer line would be cut in two:
 * it is refused, and passed on as a comment.
 */
static char *next_line(char *to, int bytes, void *context)
{
	struct reader *reader = context;
	size_t length = strcspn(reader->next, "\n");

	if (!*reader->next)
		return NULL;
	reader->line_text = reader->next;
	reader->line++;
	reader->next += length + (reader->next[length] == '\n');
	if (length + 2 > (size_t)bytes) {
		refuse(reader, (unsigned)bytes - 1,
		       "the line is too long; a line that begins with a space continues it");
		strcpy(to, "#\n");
		return to;
	}
	memcpy(to, reader->line_text, length);
	strcpy(to + length, "\n");
	return to;
}

static char *trimmed(const char *text, size_t bytes)
{
	while (bytes && isspace((unsigned char)*text)) {
		text++;
		bytes--;
	}
	while (bytes && isspace((unsigned char)text[bytes - 1]))
		bytes--;
	return strndup(text, bytes);
}

static void free_figure(struct lab_figure *figure)
{
	free(figure->section);
	free(figure->key);
	free(figure->value);
	free(figure->source);
	free(figure->range);
}

/* Adds a figure to the machine; NULL: no memory. */
static struct lab_figure *add_figure(struct lab_machine *machine, const char *section,
				     const char *key, const char *value, unsigned line)
{
	struct lab_figure *figures =
		realloc(machine->figures, (machine->figure_count + 1) * sizeof(*figures));
	struct lab_figure *figure;

	if (!figures)
		return NULL;
	machine->figures = figures;
	figure = &figures[machine->figure_count++];
	*figure = (struct lab_figure){.section = strdup(section),
				      .key = strdup(key),
				      .value = strdup(value),
				      .line = line};
	return figure;
}

static struct lab_figure *find_figure(const struct lab_machine *machine, const char *section,
				      const char *key)
{
	for (size_t i = 0; i < machine->figure_count; i++)
		if (strcmp(machine->figures[i].section, section) == 0 &&
		    strcmp(machine->figures[i].key, key) == 0)
			return &machine->figures[i];
	return NULL;
}

static bool known_section(const char *section)
{
	for (size_t i = 0; i < figure_key_count; i++)
		if (strcmp(figure_keys[i].section, section) == 0)
			return true;
	return false;
}

/* "unknown section/key", with the nearest that exists. */
static void unknown_key(const char *section, const char *key, char *message, size_t bytes)
{
	const char *names[160];
	bool in_section = known_section(section);
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; i < figure_key_count && count < 160; i++) {
		const char *name = in_section ? figure_keys[i].key : figure_keys[i].section;

		if (!in_section || strcmp(figure_keys[i].section, section) == 0)
			names[count++] = name;
	}
	nearest = lab_nearest(in_section ? key : section, names, count);
	if (in_section)
		snprintf(message, bytes, "unknown key '%.60s' in section [%s]", key, section);
	else
		snprintf(message, bytes, "unknown section [%.60s]", section);
	if (nearest)
		snprintf(message + strlen(message), bytes - strlen(message), ", did you mean '%s'?",
			 nearest);
	else
		snprintf(message + strlen(message), bytes - strlen(message),
			 " (`quire machines --keys` lists all)");
}

/* Refuses a key, or, once, the section it is in: at the line of its heading. */
static void refuse_key(struct reader *reader, const char *section, const char *key)
{
	const struct lab_machine *machine = reader->machine;
	const char *line_text = reader->line_text;
	unsigned line = reader->line;
	char message[MESSAGE_BYTES];

	unknown_key(section, key, message, sizeof(message));
	if (known_section(section)) {
		refuse(reader, column_of(reader, key), message);
		return;
	}
	if (machine->figure_count > 1 &&
	    strcmp(machine->figures[machine->figure_count - 2].section, section) == 0)
		return;
	while (reader->line > 1 && *reader->line_text != '[') {
		reader->line--;
		do
			reader->line_text--;
		while (reader->line_text > reader->source.text && reader->line_text[-1] != '\n');
	}
	refuse(reader, 1, message);
	reader->line = line;
	reader->line_text = line_text;
}

static bool append(char **text, const char *more)
{
	size_t bytes = strlen(*text) + strlen(more) + 2;
	char *longer = realloc(*text, bytes);

	if (!longer)
		return false;
	*text = longer;
	strcat(longer, " ");
	strcat(longer, more);
	return true;
}

/* One key of inih. A figure's whole text is kept in `value` until all lines are read. */
static int take(void *context, const char *section, const char *key, const char *value)
{
	struct reader *reader = context;
	struct lab_machine *machine = reader->machine;
	bool title = strcmp(section, "machine") == 0 && strcmp(key, "title") == 0;
	char message[MESSAGE_BYTES];

	if (isspace((unsigned char)*reader->line_text)) {
		if (reader->title_last && machine->title)
			append(&machine->title, value);
		else if (machine->figure_count)
			append(&machine->figures[machine->figure_count - 1].value, value);
		return 1;
	}
	reader->title_last = title;
	if ((title && machine->title) || find_figure(machine, section, key)) {
		snprintf(message, sizeof(message), "'%.60s' is given twice in section [%.60s]", key,
			 section);
		return refuse(reader, column_of(reader, key), message);
	}
	if (title) {
		machine->title = strdup(value);
		return 1;
	}
	if (!add_figure(machine, section, key, value, reader->line))
		refuse(reader, 1, "not enough memory");
	if (!figure_find(section, key))
		refuse_key(reader, section, key);
	return 1;
}

/* Makes `line` the current one, so that errors found later point at it. */
static void go_to_line(struct reader *reader, unsigned line)
{
	reader->line = line;
	reader->line_text = reader->source.text;
	while (--line > 0)
		reader->line_text += strcspn(reader->line_text, "\n") + 1;
}

/* "fitted:a/b/c, d/e/f": each item has an experiment, a label and a measure. */
static bool well_fitted(const char *source)
{
	const char *at = strchr(source, ':') + 1;

	for (;;) {
		size_t length = strcspn(at, ",");
		const char *slash = memchr(at, '/', length);
		const char *second =
			slash ? memchr(slash + 1, '/', length - (size_t)(slash + 1 - at)) : NULL;

		if (!second || slash == at || second == slash + 1 || second + 1 == at + length)
			return false;
		if (!at[length])
			return true;
		at += length + 1;
	}
}

/* What is wrong with a figure's source and range; NULL: nothing. */
static const char *check_source(const struct lab_figure *figure)
{
	if (!figure->source || !*figure->source)
		return "a figure needs a source: `key = value | source`, or "
		       "`| assumed | range lo..hi` where none is known";
	if (strncmp(figure->source, "fitted", 6) == 0 &&
	    (figure->source[6] != ':' || !well_fitted(figure->source)))
		return "a fitted figure names what it was fitted on: "
		       "fitted:<experiment>/<label>/<measure>[,...]";
	if (strncmp(figure->source, "assumed", 7) == 0 && !figure->range)
		return "an assumed figure needs a range: `| assumed | range lo..hi`";
	return NULL;
}

/* Takes "value | source | range lo..hi" apart. Result: what is wrong; NULL: nothing. */
static const char *split_figure(struct lab_figure *figure)
{
	char *whole = figure->value;
	char *bar = strchr(whole, '|');
	char *second = bar ? strchr(bar + 1, '|') : NULL;
	const char *wrong = NULL;

	figure->value = trimmed(whole, bar ? (size_t)(bar - whole) : strlen(whole));
	if (bar)
		figure->source =
			trimmed(bar + 1, second ? (size_t)(second - bar - 1) : strlen(bar + 1));
	if (second) {
		char *range = trimmed(second + 1, strlen(second + 1));

		if (range && strncmp(range, "range ", 6) == 0 && strstr(range, ".."))
			figure->range = trimmed(range + 6, strlen(range + 6));
		else
			wrong = "after the second '|' stands a range, as in `range 10..20`";
		free(range);
	}
	free(whole);
	return wrong ? wrong : check_source(figure);
}

/* --- Values --- */

static uint64_t clock_of(const struct lab_machine *machine)
{
	const struct lab_figure *figure = find_figure(machine, "machine", "clock");
	const struct figure_key *key = figure_find("machine", "clock");
	char message[MESSAGE_BYTES];
	uint64_t hz;

	if (!figure || figure_parse(key, figure->value, NULL, 1, &hz, message, sizeof(message)))
		return key->minimum;
	return hz;
}

/* The last word of a value, if it is a unit: range ends may leave theirs out. */
static const char *unit_of(const char *value)
{
	const char *space = strrchr(value, ' ');

	return space && isalpha((unsigned char)space[1]) ? space + 1 : NULL;
}

/* Checks that `value` lies in the figure's range. */
static const char *check_range(const struct figure_key *key, const struct lab_figure *figure,
			       uint64_t clock_hz, uint64_t value, char *message, size_t bytes)
{
	const char *dots = strstr(figure->range, "..");
	char *low_text = trimmed(figure->range, (size_t)(dots - figure->range));
	char *high_text = trimmed(dots + 2, strlen(dots + 2));
	const char *wrong = NULL;
	const char *unit;
	uint64_t low = 0, high = 0;

	if (!low_text || !high_text)
		wrong = "not enough memory";
	unit = wrong ? NULL : unit_of(high_text);
	if (!unit)
		unit = unit_of(figure->value);
	if (!wrong)
		wrong = figure_parse(key, low_text, unit, clock_hz, &low, message, bytes);
	if (!wrong)
		wrong = figure_parse(key, high_text, unit, clock_hz, &high, message, bytes);
	if (!wrong && (low > high || value < low || value > high)) {
		snprintf(message, bytes, "%s.%s = %.60s is outside its range %.60s", key->section,
			 key->key, figure->value, figure->range);
		wrong = message;
	}
	free(low_text);
	free(high_text);
	return wrong;
}

/* Puts one figure into the machine. `ranged`: it must lie in its range. NULL, or what is wrong. */
static const char *apply(struct lab_machine *machine, const struct lab_figure *figure, bool ranged,
			 char *message, size_t bytes)
{
	const struct figure_key *key = figure_find(figure->section, figure->key);
	uint64_t clock_hz = clock_of(machine);
	const char *wrong;
	uint64_t value;

	if (!key)
		return NULL;
	wrong = figure_parse(key, figure->value, NULL, clock_hz, &value, message, bytes);
	if (!wrong && ranged && figure->range && key->kind <= FIGURE_TICKS)
		wrong = check_range(key, figure, clock_hz, value, message, bytes);
	if (!wrong)
		figure_put(&machine->sim, key, value);
	return wrong;
}

/* A contradiction between figures: the figure to point at and what is wrong with it. */
struct contradiction {
	const char *section, *key, *what;
};

static bool power_of_two(uint64_t n)
{
	return n && (n & (n - 1)) == 0;
}

static struct contradiction check_cache(const struct sim_cache *cache, const char *section)
{
	struct contradiction none = {NULL, NULL, NULL};

	if (cache->bytes == 0)
		return none;
	if (cache->ways == 0)
		return (struct contradiction){section, "size", "a cache needs `ways`"};
	if (!power_of_two(cache->line_bytes))
		return (struct contradiction){section, cache->line_bytes ? "line" : "size",
					      "a cache needs `line`, a power of two"};
	if (cache->bytes % ((uint64_t)cache->ways * cache->line_bytes))
		return (struct contradiction){section, "size",
					      "the size is not a multiple of ways x line"};
	return none;
}

static struct contradiction check_caches(const struct sim_machine *sim)
{
	struct contradiction found = check_cache(&sim->l1i, "l1i");

	if (!found.what)
		found = check_cache(&sim->l1d, "l1d");
	if (!found.what)
		found = check_cache(&sim->l2, "l2");
	if (found.what)
		return found;
	if (!sim->l1i.bytes || !sim->l1d.bytes)
		return (struct contradiction){sim->l1i.bytes ? "l1d" : "l1i", "size",
					      "a machine needs L1 caches"};
	if (sim->l2.bytes && sim->l2.line_bytes != sim->l1d.line_bytes)
		return (struct contradiction){"l2", "line", "L2 and L1 D have lines of one size"};
	if (!sim->l2.bytes && sim->l2_outer)
		return (struct contradiction){"l2", "outer", "there is no L2"};
	if (!sim->l2.bytes && sim->walker == SIM_LEVEL_L2)
		return (struct contradiction){"coherence", "walker", "there is no L2"};
	return found;
}

static struct contradiction check_rest(const struct sim_machine *sim)
{
	if (sim->memory_bytes % QUIRE_PAGE_BYTES)
		return (struct contradiction){"machine", "memory", "memory is whole pages"};
	if (sim->kernel_text_bytes % QUIRE_PAGE_BYTES ||
	    sim->kernel_text_bytes >= sim->memory_bytes)
		return (struct contradiction){"machine", "kernel_text",
					      "the kernel is whole pages and smaller than memory"};
	if (sim->tlb.ways > sim->tlb.entries || sim->tlb.entries % sim->tlb.ways)
		return (struct contradiction){"tlb", "ways", "entries are not a multiple of ways"};
	if (sim->tlb.tagged != (sim->asid_bits > 0))
		return (struct contradiction){"tlb", "tagged",
					      "`tagged = yes` goes with `asid_bits` above 0"};
	if (sim->tlb.walk_cache && sim->isa != SIM_ARMV7 && sim->isa != SIM_X86_64)
		return (struct contradiction){"tlb", "walk_cache",
					      "this instruction set has no hardware walker"};
	if (sim->alias_check && (sim->isa != SIM_BARE || sim->l1d.index != SIM_VIPT))
		return (struct contradiction){
			"coherence", "alias_check",
			"it is modelled for vipt data caches of bare machines"};
	if (sim->colour_bytes &&
	    (!power_of_two(sim->colour_bytes) || sim->colour_bytes < QUIRE_PAGE_BYTES))
		return (struct contradiction){
			"coherence", "colour",
			"an alias boundary is 0 or a power of two of at least 4K"};
	if ((sim->store_buffer > 0) != (sim->store_buffer_bytes > 0))
		return (struct contradiction){
			"coherence", sim->store_buffer ? "store_buffer" : "store_buffer_colour",
			"`store_buffer` and `store_buffer_colour` go together"};
	return (struct contradiction){NULL, NULL, NULL};
}

static struct contradiction check_machine(const struct sim_machine *sim)
{
	struct contradiction found = check_caches(sim);

	return found.what ? found : check_rest(sim);
}

/* --- Whole files --- */

/*
 * A machine without architecture code runs the alias test, on one CPU and without a kernel: what it
 * costs to maintain caches, and how other CPUs, devices and walkers see them, is not asked.
 */
static bool is_needed(const struct lab_machine *machine, const struct figure_key *key)
{
	static const char *const needed_bare[] = {"l1_access", "memory_read", "memory_write"};

	if (!key->required || machine->sim.isa != SIM_BARE)
		return key->required;
	for (size_t i = 0; strcmp(key->section, "cost") == 0 && i < 3; i++)
		if (strcmp(key->key, needed_bare[i]) == 0)
			return true;
	return strcmp(key->section, "cost") != 0 && strcmp(key->section, "coherence") != 0 &&
	       strcmp(key->key, "kernel_text") != 0 && strcmp(key->key, "tagged") != 0;
}

static void check_missing(struct reader *reader)
{
	for (size_t i = 0; i < figure_key_count; i++) {
		const struct figure_key *key = &figure_keys[i];

		if (!is_needed(reader->machine, key) ||
		    find_figure(reader->machine, key->section, key->key))
			continue;
		lab_error_at(reader->errors, &reader->source, 0, 0,
			     "[%s] has no `%s` (%s); where nothing is known: "
			     "`| assumed | range lo..hi`",
			     key->section, key->key, key->meaning);
		reader->error_count++;
	}
	if (!reader->machine->title) {
		lab_error_at(reader->errors, &reader->source, 0, 0, "[machine] has no `title`");
		reader->error_count++;
	}
}

static void read_figures(struct reader *reader)
{
	struct lab_machine *machine = reader->machine;
	char message[MESSAGE_BYTES];
	const char *wrong;

	for (size_t i = 0; i < machine->figure_count; i++) {
		struct lab_figure *figure = &machine->figures[i];

		if (!figure_find(figure->section, figure->key))
			continue;
		go_to_line(reader, figure->line);
		wrong = split_figure(figure);
		if (wrong)
			refuse(reader, column_of(reader, figure->key), wrong);
	}
	for (size_t i = 0; i < machine->figure_count && !reader->error_count; i++) {
		struct lab_figure *figure = &machine->figures[i];

		go_to_line(reader, figure->line);
		wrong = apply(machine, figure, true, message, sizeof(message));
		if (wrong)
			refuse(reader, column_of(reader, figure->value), wrong);
	}
}

static void check_contradictions(struct reader *reader)
{
	struct contradiction found = check_machine(&reader->machine->sim);
	const struct lab_figure *figure;

	if (!found.what)
		return;
	figure = find_figure(reader->machine, found.section, found.key);
	if (figure) {
		go_to_line(reader, figure->line);
		refuse(reader, column_of(reader, figure->value), found.what);
		return;
	}
	lab_error_at(reader->errors, &reader->source, 0, 0, "[%s] `%s`: %s", found.section,
		     found.key, found.what);
	reader->error_count++;
}

static void parse(struct reader *reader)
{
	int line = ini_parse_stream(next_line, reader, take, reader);

	if (line > 0 && !reader->error_count) {
		go_to_line(reader, (unsigned)line);
		refuse(reader, 1, "expected `key = value | source` or `[section]`");
	}
	if (line < 0 && !reader->error_count)
		refuse(reader, 1, "not enough memory");
	if (!reader->error_count)
		read_figures(reader);
	if (!reader->error_count)
		check_missing(reader);
	if (!reader->error_count)
		check_contradictions(reader);
}

struct lab_machine *lab_machine_load(FILE *errors, const char *name_or_path)
{
	char *file = find_file(errors, name_or_path);
	struct reader reader = {.errors = errors};
	char *text;

	if (!file)
		return NULL;
	text = lab_read_file(errors, file, &reader.source.bytes);
	reader.machine = text ? calloc(1, sizeof(*reader.machine)) : NULL;
	if (!reader.machine) {
		free(text);
		free(file);
		return NULL;
	}
	reader.source.file = reader.machine->file = file;
	reader.source.text = reader.next = reader.line_text = text;
	reader.machine->name = name_of_file(file);
	if (!reader.machine->name ||
	    strlen(reader.machine->name) >= sizeof(reader.machine->sim.name))
		refuse(&reader, 1, "a machine's name has fewer than 32 characters");
	else
		strcpy(reader.machine->sim.name, reader.machine->name);
	parse(&reader);
	free(text);
	if (!reader.error_count)
		return reader.machine;
	lab_machine_free(reader.machine);
	return NULL;
}

void lab_machine_free(struct lab_machine *machine)
{
	if (!machine)
		return;
	for (size_t i = 0; i < machine->figure_count; i++)
		free_figure(&machine->figures[i]);
	free(machine->figures);
	free(machine->name);
	free(machine->title);
	free(machine->file);
	free(machine);
}

/* --- Overrides --- */

#define OVERRIDDEN " (overridden)"

/* The figure of a key, made if the file does not give it, with `value` in it; NULL: no memory. */
static struct lab_figure *replace_value(struct lab_machine *machine, const struct figure_key *key,
					const char *value)
{
	struct lab_figure *figure = find_figure(machine, key->section, key->key);
	const char *source;
	size_t bytes;
	char *longer;

	if (!figure)
		figure = add_figure(machine, key->section, key->key, "", 0);
	if (!figure)
		return NULL;
	free(figure->value);
	figure->value = strdup(value);
	source = figure->source ? figure->source : "not in the file";
	if (strstr(source, OVERRIDDEN))
		return figure;
	bytes = strlen(source) + sizeof(OVERRIDDEN);
	longer = malloc(bytes);
	if (longer)
		snprintf(longer, bytes, "%s" OVERRIDDEN, source);
	free(figure->source);
	figure->source = longer;
	return longer ? figure : NULL;
}

static const char *apply_all(struct lab_machine *machine, char *message, size_t bytes)
{
	const char *wrong = NULL;
	struct contradiction found;

	for (size_t i = 0; i < machine->figure_count && !wrong; i++)
		wrong = apply(machine, &machine->figures[i], false, message, bytes);
	if (wrong)
		return wrong;
	found = check_machine(&machine->sim);
	if (!found.what)
		return NULL;
	snprintf(message, bytes, "%s.%s: %s", found.section, found.key, found.what);
	return message;
}

bool lab_machine_set(FILE *errors, struct lab_machine *machine, const char *section_key,
		     const char *value)
{
	const char *dot = strchr(section_key, '.');
	char *section =
		strndup(section_key, dot ? (size_t)(dot - section_key) : strlen(section_key));
	const struct figure_key *key = section ? figure_find(section, dot ? dot + 1 : "") : NULL;
	char message[MESSAGE_BYTES];
	const char *wrong = message;
	uint64_t parsed;

	if (!dot)
		snprintf(message, sizeof(message), "expected section.key, as in cost.l2_read");
	else if (!key && section)
		unknown_key(section, dot + 1, message, sizeof(message));
	else if (key)
		wrong = figure_parse(key, value, NULL, clock_of(machine), &parsed, message,
				     sizeof(message));
	if (key && !wrong && !replace_value(machine, key, value))
		wrong = "not enough memory";
	if (key && !wrong)
		wrong = apply_all(machine, message, sizeof(message));
	free(section);
	if (wrong)
		fprintf(errors, "quire: figure %s=%s: %s\n", section_key, value, wrong);
	return !wrong;
}

bool lab_machine_fitted_on(const struct lab_machine *machine, const char *experiment,
			   const char *label, const char *measure)
{
	char wanted[400];
	size_t bytes;

	snprintf(wanted, sizeof(wanted), "%s/%s/%s", experiment, label, measure);
	bytes = strlen(wanted);
	for (size_t i = 0; i < machine->figure_count; i++) {
		const char *at = machine->figures[i].source;

		if (!at || strncmp(at, "fitted:", 7) != 0)
			continue;
		for (at += 7; *at; at += *at == ',') {
			at += strspn(at, " ");
			if (strncmp(at, wanted, bytes) == 0 &&
			    (!at[bytes] || at[bytes] == ',' || strncmp(at + bytes, " (", 2) == 0))
				return true;
			at += strcspn(at, ",");
		}
	}
	return false;
}
