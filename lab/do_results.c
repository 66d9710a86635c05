/*
 * Statements that measure, record and expect; and what a run counted.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

#define NS_A_SECOND 1000000000u

/* --- Measures ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	double scale;
	int time, bytes;
} units[] = {
	{"ns", 1, 1, 0}, {"us", 1e3, 1, 0},   {"ms", 1e6, 1, 0},      {"s", 1e9, 1, 0},
	{"B", 1, 0, 1},  {"K", 1024.0, 0, 1}, {"M", 1048576.0, 0, 1}, {"G", 1073741824.0, 0, 1},
};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* The number in the unit. Units that are not listed are words for plain numbers. */
static bool in_unit(struct lab_run *run, const struct lab_statement *s, const char *unit,
		    struct lab_number number, double *value)
{
	int time = 0, bytes = 0;
	double scale = 1;

	for (size_t i = 0; i < UNITS; i++)
		if (strcmp(units[i].name, unit) == 0) {
			time = units[i].time;
			bytes = units[i].bytes;
			scale = units[i].scale;
		}
	if (number.time == time && (number.bytes == bytes || (!number.bytes && bytes == 1))) {
		*value = number.value / scale;
		return true;
	}
	return lab_raise(run, s->place, 0, "the value is %s, which is not counted in '%s'",
			 number.time == 1 && !number.bytes   ? "a time (ns, us, ms, s)"
			 : number.bytes == 1 && !number.time ? "a size (B, K, M, G)"
			 : number.time || number.bytes       ? "a product of times and sizes"
							     : "a plain number",
			 unit);
}

/* The figure that was published for the measure in this variant. */
static bool find_published(struct lab_run *run, struct lab_measure *measure)
{
	for (const struct lab_statement *s = run->script->statements; s; s = s->next) {
		if (s->rule->kind != LAB_DO_PUBLISH ||
		    strcmp(s->values[0].text, measure->name) != 0)
			continue;
		if (strcmp(s->values[1].text, measure->unit) != 0)
			return lab_raise(run, s->values[1].place, 0,
					 "'%s' is measured in %s, not in %s", measure->name,
					 measure->unit, s->values[1].text);
		for (size_t i = 0; i < s->pair_count; i++)
			if (strcmp(s->pairs[i].key, run->variant->label) == 0) {
				measure->has_published = true;
				measure->published = strtod(s->pairs[i].value, NULL);
			}
	}
	return true;
}

static void add_time(struct lab_run *run, const char *name, struct lab_number number)
{
	struct lab_time *t = run->times;

	while (t && strcmp(t->name, name) != 0)
		t = t->next;
	if (!t) {
		t = lab_arena_new(&run->arena, sizeof(*t));
		t->name = lab_arena_text(&run->arena, name, strlen(name));
		t->next = run->times;
		run->times = t;
	}
	t->number = number;
}

bool lab_add_measure(struct lab_run *run, const struct lab_statement *s, const char *name,
		     const char *unit, struct lab_number number, const char *note)
{
	struct lab_variant *result = run->result;
	struct lab_measure measure = {0};

	add_time(run, name, number);
	if (!unit)
		return true;
	for (size_t i = 0; i < result->measure_count; i++)
		if (strcmp(result->measures[i].name, name) == 0)
			return lab_raise(run, s->place, 0,
					 "'%s' is measured twice; put a $variable into its name",
					 name);
	if (!in_unit(run, s, unit, number, &measure.model))
		return false;
	measure.name = lab_copy_text(name, strlen(name));
	measure.unit = lab_copy_text(unit, strlen(unit));
	measure.note = note ? lab_copy_text(note, strlen(note)) : NULL;
	measure.basis =
		lab_machine_fitted_on(run->machine, run->script->name, run->variant->label, name)
			? LAB_FITTED
			: LAB_PREDICTED;
	result->measures =
		lab_grow(result->measures, (result->measure_count + 1) * sizeof(measure));
	result->measures[result->measure_count++] = measure;
	return find_published(run, &result->measures[result->measure_count - 1]);
}

bool lab_do_measure(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = lab_text(run, s, "NAME");
	const char *unit = name ? lab_text(run, s, "UNIT") : NULL;
	const char *note = s->note ? lab_expand(run, s->place, s->note) : NULL;
	struct lab_number number;

	if (!unit || (s->note && !note) || !lab_evaluate(run, s->expression, &number))
		return false;
	return lab_add_measure(run, s, name, unit, number, note);
}

/* --- Expectations --------------------------------------------------------------------- */

/* The text of the statement's line, from it on. */
static const char *line_text(struct lab_run *run, const struct lab_statement *s, int *length)
{
	const char *text = run->script->text;

	for (unsigned line = 1; line < s->place.line; line++)
		text = strchr(text, '\n') + 1;
	text += s->place.column - 1;
	*length = (int)strcspn(text, "\r\n#}");
	while (*length && text[*length - 1] == ' ')
		(*length)--;
	return text;
}

bool lab_do_expect(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_number left, right, holds;
	char left_text[64], right_text[64];
	const char *text;
	int length;

	if (!lab_evaluate(run, s->expression->left, &left) ||
	    !lab_evaluate(run, s->expression->right, &right) ||
	    !lab_evaluate(run, s->expression, &holds))
		return false;
	run->result->expectations++;
	if (holds.value != 0)
		return true;
	lab_number_print(left, left_text, sizeof(left_text));
	lab_number_print(right, right_text, sizeof(right_text));
	text = line_text(run, s, &length);
	lab_fail(run, s->place, "%.*s: found %s %s %s", length, text, left_text,
		 lab_operator_text(s->expression->operator), right_text);
	return true;
}

/* --- Times of files ------------------------------------------------------------------- */

static bool must_match(struct lab_run *run, const struct lab_statement *s)
{
	const struct lab_value *match = lab_argument(s, "match");

	return !match || lab_labels_contain(match->text, run->variant->label);
}

static void compare_times(struct lab_run *run, const struct lab_statement *s,
			  const struct lab_times *times)
{
	const int64_t *p = times->published, *m = times->model;

	run->result->expectations++;
	if (memcmp(p, m, sizeof(times->model)) != 0)
		lab_fail(run, s->place,
			 "times after '%s': expected mtime %lld, ctime %lld, atime %lld, found "
			 "%lld, %lld, %lld",
			 times->step, (long long)p[0], (long long)p[1], (long long)p[2],
			 (long long)m[0], (long long)m[1], (long long)m[2]);
}

/* Seconds as a clock shows them: whole ones, less the one in which the epoch lies. */
static int64_t seconds_of(struct lab_run *run, uint64_t ns)
{
	return (int64_t)(ns / NS_A_SECOND) - (int64_t)(run->epoch_ns / NS_A_SECOND);
}

bool lab_do_times(struct lab_run *run, const struct lab_statement *s)
{
	static const char *const names[3] = {"mtime", "ctime", "atime"};
	struct lab_variant *result = run->result;
	const char *step = lab_text(run, s, "STEP");
	struct lab_file *file = step ? lab_file_argument(run, s, "FILE") : NULL;
	struct lab_times times = {0};
	struct quire_stat stat;
	unsigned given = 0;

	if (!file)
		return false;
	for (size_t i = 0; i < 3; i++) {
		struct lab_number number = {0};

		if (!lab_argument(s, names[i]))
			continue;
		if (!lab_value_number(run, s, names[i], &number))
			return false;
		times.published[i] = (int64_t)number.value;
		given++;
	}
	if (given && given < 3)
		return lab_raise(run, s->place, 0,
				 "expected all of mtime=, ctime= and atime=, or none");
	quire_file_stat(file->file, &stat);
	times.step = lab_copy_text(step, strlen(step));
	times.has_published = given;
	times.model[0] = seconds_of(run, stat.mtime_ns);
	times.model[1] = seconds_of(run, stat.ctime_ns);
	times.model[2] = seconds_of(run, stat.atime_ns);
	result->times = lab_grow(result->times, (result->times_count + 1) * sizeof(times));
	result->times[result->times_count++] = times;
	if (given && must_match(run, s))
		compare_times(run, s, &times);
	return true;
}

bool lab_do_epoch(struct lab_run *run, const struct lab_statement *s)
{
	(void)s;
	run->epoch_ns = lab_world_time_ns(run->world);
	return true;
}

bool lab_do_sleep(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_number duration;

	if (!lab_value_number(run, s, "DURATION", &duration))
		return false;
	lab_world_sleep(run->world, duration.value);
	return true;
}

bool lab_do_syscall(struct lab_run *run, const struct lab_statement *s)
{
	uint64_t count = 1;

	if (!lab_whole(run, s, "count", &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		lab_world_syscall(run->world);
		if (i % 4096 == 4095 && !lab_go_on(run, s, (double)i / (double)count))
			return false;
	}
	return true;
}

/*
 * What a program does beyond the memory it touches, at the price of the machine file; a shell is
 * the only kind.
 */
bool lab_do_work(struct lab_run *run, const struct lab_statement *s)
{
	if (lab_word(run, s, "KIND", -1) < 0)
		return false;
	sim_charge(run->world->sim, run->machine->sim.cost.shell);
	return true;
}

/* --- What a run counted --------------------------------------------------------------- */

static int by_cycles(const void *a, const void *b)
{
	const struct lab_maintenance *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->op < y->op ? -1 : 1;
}

/* What the simulator found out of needs, or else that an operation found nothing to do. */
static void count_needless(const struct sim *sim, struct lab_maintenance *m,
			   const struct sim_account *account)
{
	const struct sim_need *need = sim_need(sim, m->site, m->op);

	m->needless = account->idle;
	if (!need || m->op == SIM_OP_BARRIER)
		return;
	m->decided = true;
	m->need = *need;
	m->needless = 0;
	for (unsigned i = 0; i < SIM_VERDICT_COUNT; i++) {
		if (i == SIM_VERDICT_NEEDED || i == SIM_VERDICT_UNDECIDED)
			continue;
		m->needless += need->count[i];
		m->wasted += need->ticks[i] / SIM_TICKS_A_CYCLE;
	}
}

static void gather_maintenance(struct lab_run *run)
{
	struct lab_variant *result = run->result;

	sim_needless_settle(run->world->sim);

	result->maintenance =
		lab_new((QUIRE_SITE_COUNT + 1) * SIM_OP_COUNT * sizeof(*result->maintenance));
	for (unsigned site = 0; site <= QUIRE_SITE_COUNT; site++)
		for (unsigned op = 0; op < SIM_OP_COUNT; op++) {
			const struct sim_account *account = sim_account(run->world->sim, site, op);

			struct lab_maintenance *m = &result->maintenance[result->maintenance_count];

			if (!account->count)
				continue;
			*m = (struct lab_maintenance){
				.site = site,
				.op = op,
				.count = account->count,
				.cycles = account->ticks / SIM_TICKS_A_CYCLE,
			};
			count_needless(run->world->sim, m, account);
			result->maintenance_count++;
		}
	qsort(result->maintenance, result->maintenance_count, sizeof(*result->maintenance),
	      by_cycles);
}

static const struct lab_statement *statement_at(const struct lab_statement *s, unsigned line)
{
	const struct lab_statement *found = NULL;

	for (; s && !found; s = s->next)
		found = s->place.line == line ? s : statement_at(s->block, line);
	return found;
}

/*
 * The word of the statement on a line, in blocks too; empty: there is none, or it is a move of an
 * explored world.
 */
static void name_statement(const struct lab_run *run, unsigned line, char *text, size_t bytes)
{
	const struct lab_statement *s = line ? statement_at(run->script->statements, line) : NULL;

	snprintf(text, bytes, "%s", s && s->rule->kind != LAB_DO_STEP ? s->rule->word : "");
}

/* The map of the process on that CPU that has the address; empty: none. */
static void name_map(const struct lab_run *run, unsigned cpu, uintptr_t va, char *text,
		     size_t bytes)
{
	const struct lab_process *process = run->current[cpu];

	text[0] = '\0';
	for (const struct lab_map *map = process ? process->maps : NULL; map; map = map->next)
		if (va >= map->va && va - map->va < map->bytes)
			snprintf(text, bytes, "%s", map->name);
}

const struct sim *lab_witness(const struct lab_run *run)
{
	const struct sim *explored = lab_explored_sim(run);

	return explored ? explored : run->world->sim;
}

void lab_note_violations(struct lab_run *run)
{
	struct lab_variant *result = run->result;
	const struct sim *witness = lab_witness(run);
	const struct sim_violation *sim;

	if (sim_violations(witness) == result->violation_count)
		return;
	result->violation_count = sim_violations(witness);
	if (!result->violations)
		result->violations = lab_new(SIM_VIOLATIONS_KEPT * sizeof(*result->violations));
	while ((sim = sim_violation(witness, (unsigned)result->violations_kept))) {
		struct lab_violation *violation = &result->violations[result->violations_kept++];

		violation->sim = *sim;
		violation->line = sim->label;
		violation->writer_line = sim->writer_label;
		name_statement(run, sim->label, violation->statement, sizeof(violation->statement));
		name_statement(run, sim->writer_label, violation->writer_statement,
			       sizeof(violation->writer_statement));
		if (sim->got_known)
			name_statement(run, sim->got_author.label, violation->got_statement,
				       sizeof(violation->got_statement));
		name_map(run, sim->cpu, sim->va, violation->map, sizeof(violation->map));
	}
}

/* What was counted since at the places of those that are kept. */
static void gather_violations(struct lab_run *run)
{
	lab_note_violations(run);
	for (unsigned i = 0; i < run->result->violations_kept; i++)
		run->result->violations[i].sim.repeats = sim_violation(lab_witness(run), i)->repeats;
}

void lab_gather(struct lab_run *run)
{
	struct lab_variant *result = run->result;
	struct sim *sim = run->world->sim;
	unsigned here = sim_cpu(sim);
	uint64_t ticks = 0;

	gather_maintenance(run);
	gather_violations(run);
	for (unsigned cpu = 0; cpu < run->machine->sim.cpus; cpu++) {
		sim_switch(sim, cpu);
		if (sim_ticks(sim) > ticks)
			ticks = sim_ticks(sim);
	}
	sim_switch(sim, here);
	result->cycles = ticks / SIM_TICKS_A_CYCLE;
	sim_counts(sim, &result->counts);
	result->thresholds = (struct quire_thresholds){SIZE_MAX, SIZE_MAX, SIZE_MAX, 0, 0};
	if (run->world->quire)
		quire_thresholds(run->world->quire, &result->thresholds);
}
