/*
 * The flow of a script: statements in order, blocks, routines; progress, and the stop that a person
 * asks for.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

#define CALLS_MAX 32

/* --- Progress ------------------------------------------------------------------------- */

static void report(struct lab_run *run, double weight)
{
	const struct lab_progress *progress = run->progress;
	double share = run->weight_total > 0 ? weight / run->weight_total : 1;
	unsigned percent = share < 1 ? (unsigned)(share * 100) : 100;

	if (percent <= run->percent || !progress || !progress->update)
		return;
	run->percent = percent;
	progress->update(progress->context, run->script->name, run->variant->label, percent);
}

static bool asked_to_stop(struct lab_run *run)
{
	if (run->progress && run->progress->stop && *run->progress->stop)
		run->stopped = true;
	return run->stopped;
}

bool lab_go_on(struct lab_run *run, const struct lab_statement *s, double done)
{
	if (!run->calls)
		report(run, run->weight_done + s->weight * done);
	return !asked_to_stop(run);
}

/* --- Flow ----------------------------------------------------------------------------- */

/* "64M instead of 4G, passes 2 instead of 16" */
static void note_smaller(struct lab_run *run, const char *name, struct lab_number number,
			 struct lab_number published)
{
	char now[64], full[64], *note, *longer;

	lab_number_print(number, now, sizeof(now));
	lab_number_print(published, full, sizeof(full));
	if (strcmp(name, "size") == 0)
		note = lab_format("%s instead of %s", now, full);
	else
		note = lab_format("%s %s instead of %s", name, now, full);
	if (run->size_note && strstr(run->size_note, note)) {
		free(note);
		return;
	}
	longer = lab_format("%s%s%s", run->size_note ? run->size_note : "",
			    run->size_note ? ", " : "", note);
	free(note);
	free(run->size_note);
	run->size_note = longer;
}

static bool do_set(struct lab_run *run, const struct lab_statement *s)
{
	bool smaller = s->fallback && !run->options->full;
	struct lab_number number, published;

	if (!lab_evaluate(run, smaller ? s->fallback : s->expression, &number))
		return false;
	lab_set_number(run, s->values[0].text, number);
	if (!smaller)
		return true;
	if (!lab_evaluate(run, s->expression, &published))
		return false;
	note_smaller(run, s->values[0].text, number, published);
	return true;
}

static bool do_repeat(struct lab_run *run, const struct lab_statement *s)
{
	uint64_t count = 0;

	if (!lab_whole(run, s, "NUMBER", &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (lab_argument(s, "as"))
			lab_set_number(run, lab_argument(s, "as")->text,
				       (struct lab_number){.value = (double)i});
		if (!lab_run_block(run, s->block))
			return false;
	}
	return true;
}

static bool do_time(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = lab_text(run, s, "NAME");
	const char *unit = NULL;
	double start = lab_world_ns(run->world);
	struct lab_number number = {.time = 1};

	for (unsigned i = 0; s->rule->flags[i]; i++)
		if (s->flags & 1u << i)
			unit = s->rule->flags[i];
	if (!name || !lab_run_block(run, s->block))
		return false;
	number.value = lab_world_ns(run->world) - start;
	return lab_add_measure(run, s, name, unit, number, NULL);
}

/* Clears what was raised; its code. */
static int take_raised(struct lab_run *run)
{
	int code = run->raised.code;

	free(run->raised.text);
	run->raised = (struct lab_raised){0};
	return code;
}

static bool do_expect_error(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = lab_text(run, s, "ERROR");
	int expected = name ? lab_error_code(name) : 0;
	const char *nearest;

	if (!name)
		return false;
	if (!expected) {
		nearest = lab_error_nearest(name);
		return lab_raise(run, lab_argument(s, "ERROR")->place, 0,
				 "there is no error '%s'%s%s%s", name,
				 nearest ? ", did you mean '" : "", nearest ? nearest : "",
				 nearest ? "'?" : "");
	}
	run->result->expectations++;
	if (lab_run_block(run, s->block)) {
		lab_fail(run, s->place, "expected %s, found no error", name);
		return true;
	}
	if (run->stopped || !run->raised.code)
		return false;
	if (run->raised.code != expected)
		lab_fail(run, run->raised.place, "expected %s, found that %s", name,
			 run->raised.text);
	take_raised(run);
	return true;
}

static const struct lab_statement *find_routine(struct lab_run *run, const char *name)
{
	for (const struct lab_statement *s = run->script->statements; s; s = s->next)
		if (s->rule->kind == LAB_DO_ROUTINE && strcmp(s->values[0].text, name) == 0)
			return s;
	return NULL;
}

static bool do_call(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = lab_text(run, s, "ROUTINE");
	const struct lab_statement *routine = name ? find_routine(run, name) : NULL;
	bool good;

	if (!name)
		return false;
	if (!routine)
		return lab_raise(run, s->values[0].place, 0, "there is no routine '%s'", name);
	if (run->calls == CALLS_MAX)
		return lab_raise(run, s->place, 0, "routines call one another more than %d deep",
				 CALLS_MAX);
	run->calls++;
	good = lab_run_block(run, routine->block);
	run->calls--;
	return good;
}

static bool do_group(struct lab_run *run, const struct lab_statement *s)
{
	return lab_run_block(run, s->block);
}

/* Headers were taken before the run. */
static bool do_nothing(struct lab_run *run, const struct lab_statement *s)
{
	(void)run;
	(void)s;
	return true;
}

static lab_do *const statements[LAB_DO_COUNT] = {
	[LAB_DO_TITLE] = do_nothing,
	[LAB_DO_SOURCE] = do_nothing,
	[LAB_DO_MACHINE] = do_nothing,
	[LAB_DO_BARE] = do_nothing,
	[LAB_DO_BY_NAME] = do_nothing,
	[LAB_DO_QUESTION] = do_nothing,
	[LAB_DO_POLICY] = do_nothing,
	[LAB_DO_VARIANT] = do_nothing,
	[LAB_DO_PUBLISH] = do_nothing,
	[LAB_DO_ROUTINE] = do_nothing,
	[LAB_DO_SET] = do_set,
	[LAB_DO_MOUNT] = lab_do_mount,
	[LAB_DO_UNMOUNT] = lab_do_unmount,
	[LAB_DO_FILE] = lab_do_file,
	[LAB_DO_CLOSE] = lab_do_close,
	[LAB_DO_UNLINK] = lab_do_unlink,
	[LAB_DO_PROCESS] = lab_do_process,
	[LAB_DO_USE] = lab_do_use,
	[LAB_DO_CPU] = lab_do_cpu,
	[LAB_DO_FORK] = lab_do_fork,
	[LAB_DO_EXEC] = lab_do_exec,
	[LAB_DO_EXIT] = lab_do_exit,
	[LAB_DO_BUFFER] = lab_do_buffer,
	[LAB_DO_READ] = lab_do_read,
	[LAB_DO_WRITE] = lab_do_write,
	[LAB_DO_MAP] = lab_do_map,
	[LAB_DO_UNMAP] = lab_do_unmap,
	[LAB_DO_PROTECT] = lab_do_protect,
	[LAB_DO_MSYNC] = lab_do_msync,
	[LAB_DO_LOAD] = lab_do_load,
	[LAB_DO_STORE] = lab_do_store,
	[LAB_DO_EXECUTE] = lab_do_execute,
	[LAB_DO_DEBUG_LOAD] = lab_do_debug_load,
	[LAB_DO_DEBUG_STORE] = lab_do_debug_store,
	[LAB_DO_TRUNCATE] = lab_do_truncate,
	[LAB_DO_ALLOCATE] = lab_do_allocate,
	[LAB_DO_PUNCH] = lab_do_punch,
	[LAB_DO_FSYNC] = lab_do_fsync,
	[LAB_DO_SYNC] = lab_do_sync,
	[LAB_DO_RECLAIM] = lab_do_reclaim,
	[LAB_DO_SLEEP] = lab_do_sleep,
	[LAB_DO_EPOCH] = lab_do_epoch,
	[LAB_DO_TIMES] = lab_do_times,
	[LAB_DO_SYSCALL] = lab_do_syscall,
	[LAB_DO_WORK] = lab_do_work,
	[LAB_DO_EXPLORE] = lab_do_explore,
	[LAB_DO_STEP] = lab_do_step,
	[LAB_DO_ALIAS_TEST] = lab_do_alias_test,
	[LAB_DO_REPEAT] = do_repeat,
	[LAB_DO_TIME] = do_time,
	[LAB_DO_MEASURE] = lab_do_measure,
	[LAB_DO_EXPECT] = lab_do_expect,
	[LAB_DO_EXPECT_ERROR] = do_expect_error,
	[LAB_DO_CALL] = do_call,
	[LAB_DO_GROUP] = do_group,
};

static bool run_statement(struct lab_run *run, const struct lab_statement *s)
{
	bool good;

	sim_label(run->world->sim, s->place.line);
	if (asked_to_stop(run))
		return false;
	good = statements[s->rule->kind](run, s);
	lab_note_violations(run);
	if (!good)
		return false;
	if (!run->calls && !s->block) {
		run->weight_done += s->weight;
		report(run, run->weight_done);
	}
	return true;
}

bool lab_run_block(struct lab_run *run, const struct lab_statement *s)
{
	for (; s; s = s->next) {
		if (s->in.given && !lab_labels_contain(s->in.text, run->variant->label))
			continue;
		if (!run_statement(run, s))
			return false;
	}
	return true;
}

/* --- A variant ------------------------------------------------------------------------ */

static void set_variables(struct lab_run *run)
{
	const struct lab_statement *s = run->variant->statement;

	for (size_t i = 0; s && i < s->pair_count; i++)
		if (lab_key_is_variable(s->pairs[i].key))
			lab_set_text(run, s->pairs[i].key, s->pairs[i].value);
}

/* A figure was published for something that this variant never measured: a misspelt name. */
static bool check_published(struct lab_run *run)
{
	for (const struct lab_statement *s = run->script->statements; s; s = s->next) {
		bool mine = false, found = false;

		for (size_t i = 0; s->rule->kind == LAB_DO_PUBLISH && i < s->pair_count; i++)
			mine |= strcmp(s->pairs[i].key, run->variant->label) == 0;
		for (size_t i = 0; i < run->result->measure_count; i++)
			found |= mine &&
				 strcmp(run->result->measures[i].name, s->values[0].text) == 0;
		if (mine && !found)
			return lab_raise(run, s->values[0].place, 0,
					 "variant %s does not measure '%s'", run->variant->label,
					 s->values[0].text);
	}
	return true;
}

/* What a statement raised and nothing expected, or what no machine goes on from. */
static void note_end(struct lab_run *run)
{
	const char *complaint = sim_complaint(run->world->sim);

	if (run->raised.is && run->raised.code && complaint)
		lab_fail(run, run->raised.place, "%s: %s", run->raised.text, complaint);
	else if (run->raised.is)
		lab_fail(run, run->raised.place, "%s", run->raised.text);
}

void lab_interpret(struct lab_run *run)
{
	bool good;

	for (const struct lab_statement *s = run->script->statements; s; s = s->next)
		run->weight_total += s->weight;
	run->bytes = lab_new(LAB_PIECE_BYTES);
	run->epoch_ns = lab_world_time_ns(run->world);
	set_variables(run);
	good = lab_run_block(run, run->script->statements) && check_published(run);
	run->result->done = good;
	note_end(run);
	lab_gather(run);
	lab_free_objects(run);
	free(run->bytes);
	lab_explored_end(run);
	lab_arena_free(&run->arena);
}
