/*
 * The JSON document: all that the text report says, for programs.
 *
 * Keys stand in the order in which they are written here, numbers that are whole are printed so,
 * others with 15 significant digits: equal results give equal bytes on every host. A value that is
 * unknown or does not exist is null, never left out.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"
#include "lab/violation.h"

#define JSON_FORMAT 1 /* raised when a key changes its meaning or goes */

/* Text that is no UTF-8 (a file's name may be anything) has '?' for every byte beyond ASCII. */
static json_t *text(const char *value)
{
	json_t *string = value ? json_string(value) : json_null();
	char *plain = string ? NULL : strdup(value);

	for (char *at = plain; at && *at; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	if (plain)
		string = json_string(plain);
	free(plain);
	return string;
}

/* Counters beyond what JSON's readers hold exactly do not occur; SIZE_MAX stands for "never". */
static json_t *count(uint64_t value)
{
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *number(double value)
{
	if (!isfinite(value))
		return json_null();
	if (value == floor(value) && fabs(value) < 9007199254740992.0)
		return json_integer((json_int_t)value);
	return json_real(value);
}

/* 64 bits as text: readers of JSON keep only 53 of a number. */
static json_t *hex(uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "0x%llx", (unsigned long long)value);
	return json_string(digits);
}

static json_t *measure_json(const struct lab_measure *measure)
{
	bool ratio = measure->has_published && measure->published != 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "name", text(measure->name), "unit",
			 text(measure->unit), "published",
			 measure->has_published ? number(measure->published) : json_null(), "model",
			 number(measure->model), "ratio",
			 ratio ? number(measure->model / measure->published) : json_null(), "basis",
			 measure->basis == LAB_FITTED ? "fitted" : "predicted", "note",
			 text(measure->note));
}

static json_t *three_times(const int64_t times[3])
{
	return json_pack("{s:I, s:I, s:I}", "mtime", (json_int_t)times[0], "ctime",
			 (json_int_t)times[1], "atime", (json_int_t)times[2]);
}

static json_t *times_json(const struct lab_times *times)
{
	return json_pack("{s:o, s:o, s:o}", "step", text(times->step), "published",
			 times->has_published ? three_times(times->published) : json_null(),
			 "model", three_times(times->model));
}

static json_t *failure_json(const struct lab_failure *failure)
{
	return json_pack("{s:o, s:I, s:I, s:o}", "file", text(failure->file), "line",
			 (json_int_t)failure->line, "column", (json_int_t)failure->column, "text",
			 text(failure->text));
}

/* null: it was not found out. */
static json_t *verdicts_json(const struct lab_maintenance *m)
{
	json_t *object = m->decided ? json_object() : NULL;

	for (unsigned i = 0; object && i < SIM_VERDICT_COUNT; i++)
		json_object_set_new(object, sim_verdict_name((enum sim_verdict)i),
				    json_pack("{s:o, s:o, s:o}", "count", count(m->need.count[i]),
					      "pages", count(m->need.pages[i]), "cycles",
					      count(m->need.ticks[i] / SIM_TICKS_A_CYCLE)));
	return object ? object : json_null();
}

static json_t *maintenance_json(const struct lab_maintenance *maintenance)
{
	bool decided = maintenance->decided;

	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "site",
			 text(quire_site_name(maintenance->site)), "op",
			 sim_op_name(maintenance->op), "count", count(maintenance->count),
			 "needless", count(maintenance->needless), "cycles",
			 count(maintenance->cycles), "pages",
			 decided ? count(maintenance->pages) : json_null(), "needless_pages",
			 decided ? count(maintenance->needless_pages) : json_null(), "verdicts",
			 verdicts_json(maintenance));
}

static json_t *copy_json(const struct sim_copy *copy)
{
	bool own = copy->place != SIM_PLACE_L2 && copy->place != SIM_PLACE_MEMORY;
	bool cached = copy->place != SIM_PLACE_MEMORY && copy->place != SIM_PLACE_STORES;

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b}", "place",
			 violation_place(copy->place), "cpu", own ? count(copy->cpu) : json_null(),
			 "colour", copy->has_colour ? count(copy->colour) : json_null(), "set",
			 cached ? count(copy->set) : json_null(), "way",
			 cached ? count(copy->way) : json_null(), "dirty", copy->dirty, "right",
			 copy->right, "read", copy->read, "guilty", copy->guilty);
}

/* null: no statement is known, or none was meant. */
static json_t *statement(const char *word)
{
	return *word ? text(word) : json_null();
}

static json_t *due_json(const struct lab_violation *violation, const struct quire_policy *policy)
{
	struct violation_due due;

	violation_due(violation, policy, &due);
	return json_pack("{s:o, s:o, s:o, s:o}", "what", text(due.what), "site", text(due.site),
			 "file", text(due.file), "latest", text(due.latest));
}

/* Whose earlier content was read; null: not known. */
static json_t *author_json(const struct lab_violation *violation)
{
	const struct sim_violation *sim = &violation->sim;

	if (!sim->got_known)
		return json_null();
	return json_pack("{s:s, s:I, s:o, s:o, s:b}", "writer",
			 violation_writer(sim->got_author.party), "cpu",
			 (json_int_t)sim->got_author.cpu, "line",
			 sim->got_author.label ? count(sim->got_author.label) : json_null(),
			 "statement", statement(violation->got_statement), "former_owner",
			 sim->got_former);
}

static json_t *copies_json(const struct sim_violation *sim)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < sim->copy_count; i++)
		json_array_append_new(array, copy_json(&sim->copies[i]));
	return array;
}

static json_t *violation_json(const struct lab_violation *violation,
			      const struct lab_variant *variant)
{
	const struct sim_violation *sim = &violation->sim;
	json_t *object;
	char key[240], line[320];

	violation_key(violation, key, sizeof(key));
	violation_line(violation, line, sizeof(line));
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:s, s:I, s:o, s:o}",
			   "key", key, "text", line, "kind", sim_kind_name(sim->kind), "cause",
			   sim_cause_name(sim->cause), "reader", violation_observer(sim->observer),
			   "cpu", (json_int_t)sim->cpu, "line", (json_int_t)violation->line,
			   "statement", statement(violation->statement), "map",
			   statement(violation->map), "writer", violation_writer(sim->writer),
			   "writer_cpu", (json_int_t)sim->writer_cpu, "writer_line",
			   violation->writer_line ? count(violation->writer_line) : json_null(),
			   "writer_statement", statement(violation->writer_statement));
	if (!object)
		return NULL;
	json_object_set_new(object, "due", due_json(violation, &variant->policies));
	json_object_set_new(object, "va", hex(sim->va));
	json_object_set_new(object, "pa", hex(sim->pa));
	json_object_set_new(object, "expected", hex(sim->expected));
	json_object_set_new(object, "got", hex(sim->got));
	json_object_set_new(object, "bytes", count(sim->bytes));
	json_object_set_new(object, "got_from", author_json(violation));
	json_object_set_new(object, "copies", copies_json(sim));
	json_object_set_new(object, "repeats", count(sim->repeats));
	return object;
}

static json_t *counts_json(const struct sim_counts *counts)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "lines", count(counts->lines),
			 "l1_misses", count(counts->l1_misses), "l2_misses",
			 count(counts->l2_misses), "tlb_misses", count(counts->tlb_misses), "walks",
			 count(counts->walks), "writebacks", count(counts->writebacks));
}

/* null: never the whole cache. */
static json_t *thresholds_json(const struct quire_thresholds *thresholds)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "data_bytes", count(thresholds->data_bytes),
			 "insn_bytes", count(thresholds->insn_bytes), "tlb_bytes",
			 count(thresholds->tlb_bytes), "whole_cycles",
			 count(thresholds->whole_cycles), "range_cycles",
			 count(thresholds->range_cycles));
}

/* One answer each to all questions, whether the variant set it or not. */
static json_t *policies_json(const struct quire_policy *policy)
{
	json_t *object = json_object();
	char all[400];
	char *at = all;

	lab_policy_print(policy, all, sizeof(all));
	while (object && *at) {
		char *end = at + strcspn(at, ",");
		char *equals = memchr(at, '=', (size_t)(end - at));
		char *next = *end ? end + 1 : end;

		*end = '\0';
		if (equals) {
			*equals = '\0';
			json_object_set_new(object, at, text(equals + 1));
		}
		at = next;
	}
	return object;
}

#define ARRAY(items, length, make)                                         \
	({                                                                 \
		json_t *array_ = json_array();                             \
		for (size_t i_ = 0; i_ < (length); i_++)                   \
			json_array_append_new(array_, make(&(items)[i_])); \
		array_;                                                    \
	})

static json_t *violations_json(const struct lab_variant *variant)
{
	json_t *array = json_array();

	for (size_t i = 0; i < variant->violations_kept; i++)
		json_array_append_new(array, violation_json(&variant->violations[i], variant));
	return array;
}

static json_t *variant_json(const struct lab_experiment *experiment,
			    const struct lab_variant *variant)
{
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"policy", text(variant->policy), "label", text(variant->label), "machine",
		text(variant->machine ? variant->machine : experiment->machine), "policies",
		experiment->bare ? json_null() : policies_json(&variant->policies), "done",
		variant->done, "measures",
		ARRAY(variant->measures, variant->measure_count, measure_json), "violations",
		count(variant->violation_count), "violation_reports",
		violations_json(variant), "failures",
		ARRAY(variant->failures, variant->failure_count, failure_json), "expectations",
		count(variant->expectations), "bytes_verified", count(variant->bytes_verified),
		"times", ARRAY(variant->times, variant->times_count, times_json), "maintenance",
		ARRAY(variant->maintenance, variant->maintenance_count, maintenance_json),
		"thresholds", thresholds_json(&variant->thresholds), "counts",
		counts_json(&variant->counts), "cycles", count(variant->cycles));
}

static json_t *experiment_json(const struct lab_experiment *experiment)
{
	json_t *variants = json_array();

	for (size_t i = 0; i < experiment->variant_count; i++)
		json_array_append_new(variants, variant_json(experiment, &experiment->variants[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 text(experiment->name), "file", text(experiment->file), "title",
			 text(experiment->title), "source", text(experiment->source), "machine",
			 text(experiment->machine), "arguments", text(experiment->arguments),
			 "question", text(experiment->question), "size_note",
			 text(experiment->size_note), "variants", variants);
}

bool lab_json(FILE *to, struct lab_experiment *const *experiments, size_t experiment_count)
{
	json_t *array = json_array();
	json_t *root;
	bool good;

	for (size_t i = 0; i < experiment_count; i++)
		json_array_append_new(array, experiment_json(experiments[i]));
	root = json_pack("{s:s, s:i, s:s, s:o}", "quire", QUIRE_VERSION, "format", JSON_FORMAT,
			 "verdict",
			 lab_verdict(experiments, experiment_count) == LAB_GOOD ? "good" : "failed",
			 "experiments", array);
	/* Whatever could not be made for lack of memory makes its parent fail. */
	good = root && json_array_size(array) == experiment_count &&
	       json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) == 0;
	json_decref(root);
	return good && fputc('\n', to) != EOF && fflush(to) == 0;
}
