/*
 * Reports for people: what an experiment measured, what its maintenance cost, what went wrong.
 *
 * The order is always the same: what ran, the figures beside the published ones, maintenance by
 * call site, then faults in the manner of the sanitizers (a first line that names fault, parties
 * and place, and no address, so that it can be searched for and counted), and one summary line.
 * Tables are aligned by a first pass over their cells.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"
#include "lab/violation.h"

#define CELL_BYTES  96
#define COLUMNS_MAX 40

/* --- Numbers --- */

/* Puts commas between groups of three digits of the whole part of a printed number. */
static void group(char *number, size_t bytes)
{
	size_t start = *number == '-';
	size_t digits = strspn(number + start, "0123456789");

	for (size_t at = start + digits; at > start + 3;) {
		size_t length = strlen(number);

		at -= 3;
		if (length + 2 > bytes)
			return;
		memmove(number + at + 1, number + at, length - at + 1);
		number[at] = ',';
	}
}

/* Digits after the point of a number as a person would write it: 3.6209 has 4. */
static int decimals_of(double value)
{
	char text[40];
	const char *point;

	snprintf(text, sizeof(text), "%.6f", value);
	point = strchr(text, '.');
	for (size_t end = strlen(text); point && end > 0 && text[end - 1] == '0'; end--)
		text[end - 1] = '\0';
	return point ? (int)strlen(point + 1) : 0;
}

static void print_number(char *text, size_t bytes, double value, int decimals)
{
	if (!isfinite(value)) {
		snprintf(text, bytes, "?");
		return;
	}
	snprintf(text, bytes, "%.*f", decimals, value);
	group(text, bytes);
}

/* Decimals that leave four significant digits, for figures that nothing published sets a pattern
 * for. */
static int decimals_for(double value)
{
	double size = fabs(value);

	return value == floor(value) && size < 1e15 ? 0
	       : size >= 1000                       ? 0
	       : size >= 100                        ? 1
	       : size >= 10                         ? 2
	       : size >= 1                          ? 3
						    : 4;
}

static void print_count(char *text, size_t bytes, uint64_t value)
{
	snprintf(text, bytes, "%llu", (unsigned long long)value);
	group(text, bytes);
}

/* --- Tables --- */

/* Cells in rows; column 0 to `left` - 1 are aligned left, the others right. */
struct table {
	char (*cells)[CELL_BYTES];
	size_t rows, columns, left, room;
};

/* A new row; NULL: no memory, the table ends there. */
static char (*add_row(struct table *table))[CELL_BYTES]
{
	char(*row)[CELL_BYTES];

	if (table->rows == table->room) {
		size_t room = table->room ? table->room * 2 : 32;
		void *more = realloc(table->cells, room * table->columns * CELL_BYTES);

		if (!more)
			return NULL;
		table->cells = more;
		table->room = room;
	}
	row = table->cells + table->rows++ * table->columns;
	memset(row, 0, table->columns * CELL_BYTES);
	return row;
}

static void cell(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void cell(char *to, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(to, CELL_BYTES, format, arguments);
	va_end(arguments);
}

static size_t column_width(const struct table *table, size_t column)
{
	size_t width = 0;

	for (size_t i = 0; i < table->rows; i++) {
		size_t length = strlen(table->cells[i * table->columns + column]);

		width = length > width ? length : width;
	}
	return width;
}

static void print_row(FILE *to, const struct table *table, size_t number, const size_t *widths)
{
	size_t last = table->columns;
	size_t pending = 0; /* spaces owed, so that no line ends in one */

	while (last > 0 && !table->cells[number * table->columns + last - 1][0])
		last--;
	for (size_t i = 0; i < last; i++) {
		const char *text = table->cells[number * table->columns + i];
		size_t pad = widths[i] - strlen(text);

		pending += 2;
		if (i >= table->left)
			pending += pad;
		if (*text) {
			fprintf(to, "%*s%s", (int)pending, "", text);
			pending = 0;
		}
		if (i < table->left)
			pending += pad;
	}
	fputc('\n', to);
}

static void print_table(FILE *to, struct table *table)
{
	size_t widths[COLUMNS_MAX];

	for (size_t i = 0; i < table->columns; i++)
		widths[i] = column_width(table, i);
	for (size_t i = 0; i < table->rows; i++)
		print_row(to, table, i, widths);
	free(table->cells);
	table->cells = NULL;
}

/* --- Measures --- */

#define MEASURE_COLUMNS  4 /* published, model, ratio, basis */
#define VARIANTS_A_BLOCK 2 /* so that a line fits a terminal */

static const struct lab_measure *find_measure(const struct lab_variant *variant,
					      const struct lab_measure *like)
{
	for (size_t i = 0; i < variant->measure_count; i++)
		if (strcmp(variant->measures[i].name, like->name) == 0 &&
		    strcmp(variant->measures[i].unit, like->unit) == 0)
			return &variant->measures[i];
	return NULL;
}

/* Was the measure met in an earlier variant of the block? */
static bool seen_before(const struct lab_variant *variants, size_t count,
			const struct lab_measure *measure)
{
	for (size_t i = 0; i < count; i++)
		if (find_measure(&variants[i], measure))
			return true;
	return false;
}

static void measure_cells(char (*row)[CELL_BYTES], const struct lab_measure *measure)
{
	int decimals = measure->has_published ? decimals_of(measure->published)
					      : decimals_for(measure->model);

	cell(row[0], "-");
	if (measure->has_published)
		print_number(row[0], CELL_BYTES, measure->published, decimals);
	/* A model far below the published figure would be a bare 0 in that figure's decimals. */
	if (fabs(measure->model) < 10 && decimals_for(measure->model) > decimals)
		decimals = decimals_for(measure->model);
	print_number(row[1], CELL_BYTES, measure->model, decimals);
	cell(row[2], "-");
	if (measure->has_published && measure->published != 0)
		cell(row[2], "%.3f", measure->model / measure->published);
	cell(row[3], "%s", measure->basis == LAB_FITTED ? "fitted" : "predicted");
}

static void measure_row(struct table *table, const struct lab_variant *variants, size_t count,
			const struct lab_measure *like)
{
	char(*row)[CELL_BYTES] = add_row(table);

	if (!row)
		return;
	cell(row[0], "%s", like->name);
	cell(row[1], "%s", like->unit);
	for (size_t i = 0; i < count; i++) {
		const struct lab_measure *measure = find_measure(&variants[i], like);

		if (measure)
			measure_cells(row + 2 + i * MEASURE_COLUMNS, measure);
	}
}

static const char *const measure_head[MEASURE_COLUMNS] = {"published", "model", "ratio", "basis"};

static void measure_heads(struct table *table, size_t count)
{
	char(*row)[CELL_BYTES] = add_row(table);

	if (!row)
		return;
	cell(row[0], "measure");
	cell(row[1], "unit");
	for (size_t i = 0; i < count * MEASURE_COLUMNS; i++)
		cell(row[2 + i], "%s", measure_head[i % MEASURE_COLUMNS]);
}

/* A line above the columns with each variant's label over its first column. */
static void group_line(FILE *to, const struct table *table, const struct lab_variant *variants,
		       size_t count, size_t columns_each)
{
	size_t at = 0;

	for (size_t i = 0; i < table->left; i++)
		at += 2 + column_width(table, i);
	fprintf(to, "%*s", (int)at, "");
	for (size_t i = 0; i < count; i++) {
		size_t width = 0;
		int printed;

		for (size_t j = 0; j < columns_each; j++)
			width += 2 + column_width(table, table->left + i * columns_each + j);
		printed = fprintf(to, "  [%s]", variants[i].label);
		if (i + 1 < count && (size_t)printed < width)
			fprintf(to, "%*s", (int)(width - (size_t)printed), "");
	}
	fputc('\n', to);
}

static void report_measures_of(FILE *to, const struct lab_variant *variants, size_t count)
{
	struct table table = {.columns = 2 + count * MEASURE_COLUMNS, .left = 2};

	measure_heads(&table, count);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < variants[i].measure_count; j++)
			if (!seen_before(variants, i, &variants[i].measures[j]))
				measure_row(&table, variants, count, &variants[i].measures[j]);
	if (table.rows > 1) {
		fputc('\n', to);
		group_line(to, &table, variants, count, MEASURE_COLUMNS);
		print_table(to, &table);
	}
	free(table.cells);
}

/* Notes that several measures share are said once. */
static void report_notes(FILE *to, const struct lab_variant *variants, size_t count)
{
	const char *last = NULL;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < variants[i].measure_count; j++) {
			const struct lab_measure *measure = &variants[i].measures[j];

			if (!measure->note || (last && strcmp(last, measure->note) == 0))
				continue;
			fprintf(to, "  note: %s: %s\n", measure->name, measure->note);
			last = measure->note;
		}
}

/* Where each variant is another machine: a row a measure, and the notes by variant. */
static void report_machines(FILE *to, const struct lab_variant *variants, size_t count)
{
	struct table table = {.columns = 3 + MEASURE_COLUMNS, .left = 3};
	char(*row)[CELL_BYTES] = add_row(&table);

	if (!row)
		return;
	cell(row[0], "variant");
	cell(row[1], "measure");
	cell(row[2], "unit");
	for (size_t i = 0; i < MEASURE_COLUMNS; i++)
		cell(row[3 + i], "%s", measure_head[i]);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < variants[i].measure_count && (row = add_row(&table)); j++) {
			cell(row[0], "%s", j ? "" : variants[i].label);
			cell(row[1], "%s", variants[i].measures[j].name);
			cell(row[2], "%s", variants[i].measures[j].unit);
			measure_cells(row + 3, &variants[i].measures[j]);
		}
	fputc('\n', to);
	print_table(to, &table);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < variants[i].measure_count; j++)
			if (variants[i].measures[j].note)
				fprintf(to, "  note: [%s] %s\n", variants[i].label,
					variants[i].measures[j].note);
}

/* --- Times --- */

static void times_cells(char (*row)[CELL_BYTES], const struct lab_times *times)
{
	for (int i = 0; i < 3; i++) {
		cell(row[i], times->has_published ? "%lld" : "-", (long long)times->published[i]);
		cell(row[3 + i], "%lld", (long long)times->model[i]);
	}
	if (times->has_published &&
	    memcmp(times->published, times->model, sizeof(times->model)) != 0)
		cell(row[6], "differs");
}

static void report_times(FILE *to, const struct lab_variant *variant)
{
	static const char *const heads[] = {"step",  "mtime", "ctime", "atime",
					    "mtime", "ctime", "atime", ""};
	struct table table = {.columns = 8, .left = 1};
	char(*row)[CELL_BYTES] = variant->times_count ? add_row(&table) : NULL;

	if (!row)
		return;
	for (size_t i = 0; i < 8; i++)
		cell(row[i], "%s", heads[i]);
	for (size_t i = 0; i < variant->times_count; i++) {
		row = add_row(&table);
		if (!row)
			break;
		cell(row[0], "%s", variant->times[i].step);
		times_cells(row + 1, &variant->times[i]);
	}
	fprintf(to, "\n  file times [%s], seconds: published, then model\n", variant->label);
	print_table(to, &table);
}

/* --- Maintenance --- */

static const char *site_name(enum quire_site site)
{
	const char *name = quire_site_name(site);

	return name ? name : "(outside any site)";
}

static int dearest_first(const void *a, const void *b)
{
	const struct lab_maintenance *x = a, *y = b;

	return (x->cycles < y->cycles) - (x->cycles > y->cycles);
}

static const char *const maintenance_heads[] = {"site", "operation", "count", "needless", "cycles",
						/* by verdict: --needless */
						"guard", "overtaken", "pages", "needless pages"};

#define MAINTENANCE_COLUMNS 5u
#define MAINTENANCE_DECIDED (sizeof(maintenance_heads) / sizeof(maintenance_heads[0]))

static void maintenance_row(struct table *table, const struct lab_maintenance *maintenance)
{
	const uint64_t counts[] = {
		maintenance->count,
		maintenance->needless,
		maintenance->cycles,
		maintenance->need.count[SIM_VERDICT_GUARD],
		maintenance->need.count[SIM_VERDICT_OVERTAKEN],
		maintenance->pages,
		maintenance->needless_pages,
	};
	size_t columns = maintenance->decided ? table->columns : MAINTENANCE_COLUMNS;
	char(*row)[CELL_BYTES] = add_row(table);

	if (!row)
		return;
	cell(row[0], "%s", site_name(maintenance->site));
	cell(row[1], "%s", sim_op_name(maintenance->op));
	for (size_t i = 2; i < columns; i++)
		print_count(row[i], CELL_BYTES, counts[i - 2]);
}

/* Is there anything that was found out by verdicts? */
static bool has_verdicts(const struct lab_variant *variant)
{
	for (size_t i = 0; i < variant->maintenance_count; i++)
		if (variant->maintenance[i].decided)
			return true;
	return false;
}

static void report_maintenance(FILE *to, const struct lab_variant *variant)
{
	size_t count = variant->maintenance_count;
	struct lab_maintenance *sorted = malloc((count ? count : 1) * sizeof(*sorted));
	struct table table = {.columns = MAINTENANCE_COLUMNS, .left = 2};
	char(*row)[CELL_BYTES];

	if (has_verdicts(variant))
		table.columns = MAINTENANCE_DECIDED;
	row = sorted ? add_row(&table) : NULL;
	fprintf(to, "\n  maintenance [%s]%s\n", variant->label, count ? "" : ": none");
	if (row && count) {
		for (size_t i = 0; i < table.columns; i++)
			cell(row[i], "%s", maintenance_heads[i]);
		memcpy(sorted, variant->maintenance, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), dearest_first);
		for (size_t i = 0; i < count; i++)
			maintenance_row(&table, &sorted[i]);
		print_table(to, &table);
	}
	free(table.cells);
	free(sorted);
}

/* --- Faults --- */

static void first_line(FILE *to, bool colour, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The one line of a block that has colour. */
static void first_line(FILE *to, bool colour, const char *format, ...)
{
	va_list arguments;

	fputs(colour ? "\n\033[1;31m" : "\n", to);
	va_start(arguments, format);
	vfprintf(to, format, arguments);
	va_end(arguments);
	fputs(colour ? "\033[0m\n" : "\n", to);
}

/* "store by cpu1, at sample.q:9"; line 0: before the script. */
static void print_place(FILE *to, const struct lab_experiment *experiment, unsigned line,
			const char *statement)
{
	if (!line)
		fputs(", before the script", to);
	else
		fprintf(to, ", at %s:%u%s%s%s", experiment->file, line, *statement ? " (" : "",
			statement, *statement ? ")" : "");
}

static void report_reader(FILE *to, const struct lab_experiment *experiment,
			  const struct lab_violation *violation)
{
	const struct sim_violation *sim = &violation->sim;
	char text[120];

	violation_reader_text(violation, text, sizeof(text));
	fprintf(to, "  reader    %s", text);
	print_place(to, experiment, violation->line, violation->statement);
	fprintf(to, ", physical address 0x%llx", (unsigned long long)sim->pa);
	if (sim->va)
		fprintf(to, " through virtual address 0x%llx", (unsigned long long)sim->va);
	violation_writer_text(violation, text, sizeof(text));
	fprintf(to, "\n  writer    %s", text);
	print_place(to, experiment, violation->writer_line, violation->writer_statement);
	fputc('\n', to);
}

/* Whose earlier content the bytes are that were read. */
static void report_got_from(FILE *to, const struct lab_experiment *experiment,
			    const struct lab_violation *violation)
{
	const struct sim_violation *sim = &violation->sim;

	if (!sim->got_known)
		return;
	if (!sim->got_author.label && sim->got_author.party == SIM_PARTY_USER) {
		/* Programs run under labels: nobody has written there. */
		fputs("  got from  memory as it was at the start\n", to);
		return;
	}
	fprintf(to, "  got from  %s of cpu%u", violation_writer(sim->got_author.party),
		sim->got_author.cpu);
	print_place(to, experiment, sim->got_author.label, violation->got_statement);
	fprintf(to, "%s\n", sim->got_former ? ", before the frame had its present owner" : "");
}

static void report_violation(FILE *to, const struct lab_experiment *experiment,
			     const struct lab_variant *variant,
			     const struct lab_violation *violation, bool colour)
{
	const struct sim_violation *sim = &violation->sim;
	const char *machine = variant->machine ? variant->machine : experiment->machine;
	char line[320], policies[400];

	violation_line(violation, line, sizeof(line));
	lab_policy_print(&variant->policies, policies, sizeof(policies));
	first_line(to, colour, "%s", line);
	fprintf(to, "  variant   %s\n", variant->label);
	report_reader(to, experiment, violation);
	violation_print_due(to, violation, &variant->policies);
	violation_print_bytes(to, violation);
	report_got_from(to, experiment, violation);
	violation_print_copies(to, violation);
	if (sim->repeats)
		fprintf(to, "  repeats   %llu more at the same places\n",
			(unsigned long long)sim->repeats);
	fprintf(to, "  again     quire run --machine %s --policy %s%s %s\n",
		machine ? machine : "?", policies,
		experiment->arguments ? experiment->arguments : "", experiment->file);
}

/* Has an earlier violation the same key? */
static bool repeated(const struct lab_variant *variant, size_t number)
{
	char key[240], other[240];

	violation_key(&variant->violations[number], key, sizeof(key));
	for (size_t i = 0; i < number; i++) {
		violation_key(&variant->violations[i], other, sizeof(other));
		if (strcmp(key, other) == 0)
			return true;
	}
	return false;
}

static void report_faults(FILE *to, const struct lab_experiment *experiment,
			  const struct lab_variant *variant, bool colour)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < variant->failure_count; i++) {
		const struct lab_failure *failure = &variant->failures[i];

		first_line(to, colour, "FAILED: %s:%u:%u: %s", failure->file, failure->line,
			   failure->column, failure->text);
		fprintf(to, "  variant   %s (%s)\n", variant->label, variant->policy);
	}
	for (size_t i = 0; i < variant->violations_kept; i++) {
		if (repeated(variant, i))
			continue;
		report_violation(to, experiment, variant, &variant->violations[i], colour);
		shown++;
	}
	if (variant->violation_count > shown)
		fprintf(to, "\n  %llu more violations like these [%s]\n",
			(unsigned long long)(variant->violation_count - shown), variant->label);
}

struct waste {
	const struct lab_variant *variant;
	const struct lab_maintenance *maintenance;
	uint64_t cycles;
};

/* The dearest first; equal ones in the order of variants and sites. */
static int most_wasted_first(const void *a, const void *b)
{
	const struct waste *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	if (x->variant != y->variant)
		return x->variant < y->variant ? -1 : 1;
	return (x->maintenance > y->maintenance) - (x->maintenance < y->maintenance);
}

/* The needless operations' share of what all of their site cost. */
static uint64_t wasted_cycles(const struct lab_maintenance *m)
{
	if (m->decided)
		return m->wasted;
	return m->count ? (uint64_t)((double)m->cycles * (double)m->needless / (double)m->count)
			: 0;
}

static size_t gather_waste(const struct lab_experiment *experiment, struct waste *waste)
{
	size_t count = 0;

	for (size_t i = 0; i < experiment->variant_count; i++)
		for (size_t j = 0; j < experiment->variants[i].maintenance_count; j++) {
			const struct lab_maintenance *m = &experiment->variants[i].maintenance[j];

			if (!m->needless)
				continue;
			if (waste)
				waste[count] = (struct waste){&experiment->variants[i], m,
							      wasted_cycles(m)};
			count++;
		}
	return count;
}

/* Those that are needless, or the others: "12 nothing dirty, 3 twice". */
static void print_verdicts_that(FILE *to, const struct lab_maintenance *m, bool needless)
{
	const char *between = "";

	for (unsigned i = 0; i < SIM_VERDICT_COUNT; i++) {
		bool always = i == SIM_VERDICT_NEEDED || i == SIM_VERDICT_UNDECIDED;

		if (sim_verdict_is_needless((enum sim_verdict)i) != needless ||
		    (!always && !m->need.count[i]))
			continue;
		fprintf(to, "%s%llu %s", between, (unsigned long long)m->need.count[i],
			sim_verdict_name((enum sim_verdict)i));
		between = ", ";
	}
}

/* Why, and what is left: " (12 nothing dirty, 3 twice; 40 needed, 7 guard, 1 undecided)". */
static void print_verdicts(FILE *to, const struct lab_maintenance *m)
{
	if (m->decided) {
		fputs(" (", to);
		print_verdicts_that(to, m, true);
		fputs("; ", to);
		print_verdicts_that(to, m, false);
		fputc(')', to);
	}
	fputc('\n', to);
}

static void report_needless(FILE *to, const struct lab_experiment *experiment)
{
	size_t count = gather_waste(experiment, NULL);
	struct waste *waste = malloc((count ? count : 1) * sizeof(*waste));

	if (!waste)
		return;
	gather_waste(experiment, waste);
	qsort(waste, count, sizeof(*waste), most_wasted_first);
	if (count)
		fputc('\n', to);
	for (size_t i = 0; i < count; i++) {
		char counted[40], wasted[40];

		print_count(counted, sizeof(counted), waste[i].maintenance->needless);
		print_count(wasted, sizeof(wasted), waste[i].cycles);
		fprintf(to, "NEEDLESS: %s by %s [%s]: %s operations %s, %s%s cycles wasted",
			sim_op_name(waste[i].maintenance->op),
			site_name(waste[i].maintenance->site), waste[i].variant->label, counted,
			waste[i].maintenance->decided ? "no read needed" : "found nothing to do",
			waste[i].maintenance->decided ? "" : "about ", wasted);
		print_verdicts(to, waste[i].maintenance);
	}
	free(waste);
}

/* --- Summary --- */

struct totals {
	uint64_t variants, measures, expectations, failures, violations, bytes;
	bool unfinished;
};

static void add_totals(struct totals *totals, const struct lab_experiment *experiment)
{
	for (size_t i = 0; i < experiment->variant_count; i++) {
		const struct lab_variant *variant = &experiment->variants[i];

		totals->variants++;
		totals->measures += variant->measure_count;
		totals->expectations += variant->expectations;
		totals->failures += variant->failure_count;
		totals->violations += variant->violation_count;
		totals->bytes += variant->bytes_verified;
		totals->unfinished |= !variant->done;
	}
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void print_totals(FILE *to, const char *what, const struct totals *totals)
{
	char bytes[40];

	print_count(bytes, sizeof(bytes), totals->bytes);
	fprintf(to,
		"SUMMARY: %s: %llu variant%s, %llu measure%s, %llu expectation%s checked, "
		"%s bytes verified; %llu failed, %llu violation%s%s\n",
		what, (unsigned long long)totals->variants, plural(totals->variants),
		(unsigned long long)totals->measures, plural(totals->measures),
		(unsigned long long)totals->expectations, plural(totals->expectations), bytes,
		(unsigned long long)totals->failures, (unsigned long long)totals->violations,
		plural(totals->violations), totals->unfinished ? " (not finished)" : "");
}

static void report_head(FILE *to, const struct lab_experiment *experiment, bool colour)
{
	fprintf(to, "%s%s%s  %s\n", colour ? "\033[1m" : "", experiment->name,
		colour ? "\033[0m" : "", experiment->title ? experiment->title : "");
	fprintf(to, "  machine   %s\n",
		experiment->machine ? experiment->machine : "each variant's own");
	if (experiment->question)
		fprintf(to, "  question  %s\n", experiment->question);
	if (experiment->source)
		fprintf(to, "  source    %s\n", experiment->source);
	if (experiment->size_note)
		fprintf(to, "  size      %s\n", experiment->size_note);
	for (size_t i = 0; i < experiment->variant_count; i++)
		fprintf(to, "  %-9s [%s] %s\n", i ? "" : "variants", experiment->variants[i].label,
			experiment->variants[i].policy);
}

static void report_measures(FILE *to, const struct lab_experiment *experiment)
{
	const struct lab_variant *variants = experiment->variants;
	size_t count = experiment->variant_count;

	if (!experiment->machine) {
		report_machines(to, variants, count);
		return;
	}
	for (size_t i = 0; i < count; i += VARIANTS_A_BLOCK)
		report_measures_of(to, variants + i,
				   count - i < VARIANTS_A_BLOCK ? count - i : VARIANTS_A_BLOCK);
	report_notes(to, variants, count);
}

void lab_report(FILE *to, const struct lab_experiment *experiment, bool colour)
{
	const struct lab_variant *variants = experiment->variants;
	size_t count = experiment->variant_count;
	struct totals totals = {0};

	report_head(to, experiment, colour);
	report_measures(to, experiment);
	for (size_t i = 0; i < count; i++)
		report_times(to, &variants[i]);
	for (size_t i = 0; i < count && !experiment->bare; i++)
		report_maintenance(to, &variants[i]);
	for (size_t i = 0; i < count; i++)
		report_faults(to, experiment, &variants[i], colour);
	report_needless(to, experiment);
	add_totals(&totals, experiment);
	fputc('\n', to);
	print_totals(to, experiment->name, &totals);
	fputc('\n', to);
}

void lab_report_summary(FILE *to, struct lab_experiment *const *experiments, size_t count,
			bool colour)
{
	bool good = lab_verdict(experiments, count) == LAB_GOOD;
	struct totals totals = {0};
	char what[60];

	for (size_t i = 0; i < count; i++)
		add_totals(&totals, experiments[i]);
	if (count == 0)
		fprintf(to, "nothing ran\n");
	if (count < 2)
		return;
	snprintf(what, sizeof(what), "%zu experiments", count);
	if (colour)
		fputs(good ? "\033[1;32m" : "\033[1;31m", to);
	print_totals(to, what, &totals);
	if (colour)
		fputs("\033[0m", to);
}

enum lab_exit lab_verdict(struct lab_experiment *const *experiments, size_t count)
{
	struct totals totals = {0};

	for (size_t i = 0; i < count; i++)
		add_totals(&totals, experiments[i]);
	return totals.failures || totals.violations ? LAB_FAILED : LAB_GOOD;
}
