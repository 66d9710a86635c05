/*
 * Checks of a whole script before it runs: headers, variants, labels, names.
 *
 * What is named must be made somewhere in the script; whether it exists when a statement runs is
 * for the run to say. A name with a $ in it is made of variables and is known only then.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/script.h"

#define RUN_LABEL "run"

struct name {
	const char *text;
	unsigned objects;
};

struct names {
	struct name *all;
	size_t count, room;
};

struct check {
	FILE *errors;
	struct lab_script *script;
	struct names objects;   /* all that statements make */
	struct names variables; /* all that are set */
	struct names used;      /* variables that occur */
	struct names measured;  /* names of times and measures */
	unsigned error_count;
};

static void add_name(struct names *names, const char *text, unsigned objects)
{
	if (names->count == names->room) {
		names->room = names->room ? 2 * names->room : 16;
		names->all = lab_grow(names->all, names->room * sizeof(*names->all));
	}
	names->all[names->count++] = (struct name){text, objects};
}

static unsigned find_name(const struct names *names, const char *text)
{
	unsigned objects = 0;

	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->all[i].text, text) == 0)
			objects |= names->all[i].objects;
	return objects;
}

static const char *near_name(const struct names *names, const char *text, unsigned objects)
{
	const char **candidates = lab_new((names->count + 1) * sizeof(*candidates));
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; i < names->count; i++)
		if (names->all[i].objects & objects)
			candidates[count++] = names->all[i].text;
	nearest = lab_nearest(text, candidates, count);
	free(candidates);
	return nearest;
}

static void error(struct check *check, struct lab_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void error(struct check *check, struct lab_place place, const char *format, ...)
{
	va_list arguments;
	char *text;

	check->error_count++;
	va_start(arguments, format);
	text = lab_format_list(format, arguments);
	va_end(arguments);
	lab_error_at(check->errors, &check->script->source, place.line, place.column, "%s", text);
	free(text);
}

/* "unknown X 'name', did you mean 'nearest'?" */
static void unknown(struct check *check, struct lab_place place, const char *what, const char *name,
		    const char *nearest)
{
	error(check, place, "unknown %s '%s'%s%s%s", what, name, nearest ? ", did you mean '" : "",
	      nearest ? nearest : "", nearest ? "'?" : "");
}

/* --- Gathering ------------------------------------------------------------------------ */

static void gather_used_text(struct check *check, const char *text)
{
	while ((text = strchr(text, '$'))) {
		size_t length = lab_variable_length(++text);

		if (length)
			add_name(&check->used, lab_arena_text(&check->script->arena, text, length),
				 1);
	}
}

static void gather_used(struct check *check, const struct lab_expression *e)
{
	if (!e)
		return;
	if (e->operator== LAB_VARIABLE)
		add_name(&check->used, e->name, 1);
	if (e->argument)
		gather_used_text(check, e->argument);
	if (e->operator== LAB_CALL)
		gather_used_text(check, e->name);
	gather_used(check, e->left);
	gather_used(check, e->right);
}

static void gather_statement(struct check *check, const struct lab_statement *s)
{
	const struct lab_argument *a = s->rule->arguments;

	for (size_t i = 0; a[i].type; i++) {
		if (!s->values[i].given)
			continue;
		if (a[i].type == LAB_ARG_NEW)
			add_name(&check->objects, s->values[i].text, a[i].objects);
		if (s->values[i].expression)
			gather_used(check, s->values[i].expression);
		else
			gather_used_text(check, s->values[i].text);
	}
	gather_used(check, s->expression);
	gather_used(check, s->fallback);
	if (s->rule->kind == LAB_DO_SET)
		add_name(&check->variables, s->values[0].text, 1);
	if (s->rule->kind == LAB_DO_REPEAT && s->values[1].given)
		add_name(&check->variables, s->values[1].text, 1);
	if (s->rule->kind == LAB_DO_TIME || s->rule->kind == LAB_DO_MEASURE)
		add_name(&check->measured, s->values[0].text, 1);
	for (size_t i = 0; s->rule->kind == LAB_DO_ALIAS_TEST && lab_alias_measures[i]; i++)
		add_name(&check->measured, lab_alias_measures[i], 1);
}

static void gather(struct check *check, const struct lab_statement *s)
{
	for (; s; s = s->next) {
		gather_statement(check, s);
		gather(check, s->block);
	}
}

/* --- Headers -------------------------------------------------------------------------- */

static bool once(struct check *check, const struct lab_statement *s, const char **slot,
		 const char *text)
{
	if (*slot) {
		error(check, s->place, "%s is given twice", s->rule->word);
		return false;
	}
	*slot = text;
	return true;
}

/* NULL: none, or no statement. */
static const struct lab_pair *find_pair(const struct lab_statement *s, const char *key)
{
	for (size_t i = 0; s && i < s->pair_count; i++)
		if (strcmp(s->pairs[i].key, key) == 0)
			return &s->pairs[i];
	return NULL;
}

static void add_variant(struct check *check, const struct lab_statement *s)
{
	struct lab_script *script = check->script;
	const char *label = s ? s->values[0].text : RUN_LABEL;

	if (s && strpbrk(label, ",= ")) {
		error(check, s->values[0].place,
		      "'%s' is no label, expected one without commas, = and blanks", label);
		return;
	}
	for (size_t i = 0; i < script->variant_count; i++)
		if (s && strcmp(script->variants[i].label, label) == 0) {
			error(check, s->values[0].place, "there are two variants '%s'", label);
			return;
		}
	script->variants =
		lab_grow(script->variants, (script->variant_count + 1) * sizeof(*script->variants));
	script->variants[script->variant_count++] =
		(struct lab_script_variant){label, s, find_pair(s, "machine")};
}

static void check_headers(struct check *check)
{
	struct lab_script *script = check->script;
	const char *nearest;

	for (const struct lab_statement *s = script->statements; s; s = s->next) {
		switch (s->rule->kind) {
		case LAB_DO_TITLE:
			once(check, s, &script->title, s->text);
			break;
		case LAB_DO_SOURCE:
			once(check, s, &script->citation, s->text);
			break;
		case LAB_DO_MACHINE:
			once(check, s, &script->machine, s->values[0].text);
			script->machine_at = s;
			break;
		case LAB_DO_BARE:
			script->bare = true;
			break;
		case LAB_DO_BY_NAME:
			script->by_name = true;
			break;
		case LAB_DO_QUESTION:
			once(check, s, &script->question, s->values[0].text);
			nearest = NULL;
			if (!lab_policy_question(script->question)) {
				static const char *const questions[] = {"coherence", "pte_clean",
									"flush_range",
									"tmpfs_clear",
									"file_times"};

				nearest = lab_nearest(script->question, questions, 5);
				unknown(check, s->values[0].place, "policy question",
					script->question, nearest);
			}
			break;
		case LAB_DO_VARIANT:
			add_variant(check, s);
			break;
		default:
			break;
		}
	}
	if (!script->variant_count)
		add_variant(check, NULL);
}

/* --- Keys, labels, names -------------------------------------------------------------- */

static void check_policy_pair(struct check *check, const struct lab_pair *pair)
{
	struct quire_policy policy = quire_policy_default();
	char message[LAB_MESSAGE_BYTES];
	const char *what =
		lab_policy_set(&policy, pair->key, pair->value, message, sizeof(message));

	if (what)
		error(check, lab_key_is_policy(pair->key) ? pair->value_place : pair->place, "%s",
		      what);
}

static void check_variant_pair(struct check *check, const struct lab_pair *pair)
{
	static const char *const keys[] = {"coherence",    "pte_clean",  "flush_range",
					   "tmpfs_clear",  "file_times", "fault_around",
					   "machine.cpus", "machine"};
	const char *nearest;

	if (lab_key_is_figure(pair->key) || strcmp(pair->key, "machine") == 0)
		return;
	if (lab_key_is_policy(pair->key) && check->script->bare) {
		error(check, pair->place,
		      "'%s' is a question to Quire, and a script with 'bare' boots none",
		      pair->key);
		return;
	}
	if (lab_key_is_policy(pair->key)) {
		check_policy_pair(check, pair);
	} else if (find_name(&check->used, pair->key)) {
		add_name(&check->variables, pair->key, 1);
	} else {
		nearest = lab_nearest(pair->key, keys, sizeof(keys) / sizeof(keys[0]));
		if (!nearest)
			nearest = near_name(&check->used, pair->key, 1);
		error(check, pair->place,
		      "'%s' is no policy question, no machine or SECTION.KEY of it and no variable "
		      "that the "
		      "script uses%s%s%s",
		      pair->key, nearest ? ", did you mean '" : "", nearest ? nearest : "",
		      nearest ? "'?" : "");
	}
}

static bool label_known(const struct lab_script *script, const char *label)
{
	for (size_t i = 0; i < script->variant_count; i++)
		if (strcmp(script->variants[i].label, label) == 0)
			return true;
	return false;
}

static void check_label(struct check *check, struct lab_place place, const char *label)
{
	const struct lab_script *script = check->script;
	const char **labels = lab_new(script->variant_count * sizeof(*labels));

	if (!label_known(script, label)) {
		for (size_t i = 0; i < script->variant_count; i++)
			labels[i] = script->variants[i].label;
		unknown(check, place, "variant", label,
			lab_nearest(label, labels, script->variant_count));
	}
	free(labels);
}

static void check_labels(struct check *check, const struct lab_value *value)
{
	char *copy, *rest, *label;

	if (!value->given)
		return;
	copy = lab_copy_text(value->text, strlen(value->text));
	rest = copy;
	while ((label = strsep(&rest, ",")))
		check_label(check, value->place, label);
	free(copy);
}

static void check_published(struct check *check, const struct lab_statement *s)
{
	for (size_t i = 0; i < s->pair_count; i++) {
		const struct lab_pair *pair = &s->pairs[i];
		char *end;

		check_label(check, pair->place, pair->key);
		strtod(pair->value, &end);
		if (end == pair->value || *end)
			error(check, pair->value_place,
			      "'%s' is no figure, expected a number in %s", pair->value,
			      s->values[1].text);
	}
	if (!s->pair_count)
		error(check, s->place, "expected: %s", s->rule->usage);
	if (!find_name(&check->measured, s->values[0].text)) {
		bool computed = false;

		for (size_t i = 0; i < check->measured.count; i++)
			computed |= strchr(check->measured.all[i].text, '$') != NULL;
		if (!computed)
			unknown(check, s->values[0].place, "measure", s->values[0].text,
				near_name(&check->measured, s->values[0].text, 1));
	}
}

static void check_pairs(struct check *check, const struct lab_statement *s)
{
	if (s->rule->kind == LAB_DO_PUBLISH)
		check_published(check, s);
	for (size_t i = 0; i < s->pair_count; i++) {
		if (s->rule->kind == LAB_DO_POLICY)
			check_policy_pair(check, &s->pairs[i]);
		if (s->rule->kind == LAB_DO_VARIANT)
			check_variant_pair(check, &s->pairs[i]);
	}
}

static void check_object(struct check *check, const struct lab_value *value, unsigned objects)
{
	unsigned found = find_name(&check->objects, value->text);

	if (strchr(value->text, '$') || found & objects)
		return;
	for (size_t i = 0; i < check->objects.count; i++)
		if (strchr(check->objects.all[i].text, '$') &&
		    check->objects.all[i].objects & objects)
			return;
	if (found)
		error(check, value->place, "'%s' is %s, expected %s", value->text,
		      lab_object_kinds(found & -found), lab_object_kinds(objects));
	else
		error(check, value->place, "nothing is called '%s', expected the name of %s%s%s%s",
		      value->text, lab_object_kinds(objects),
		      near_name(&check->objects, value->text, objects) ? ", did you mean '" : "",
		      near_name(&check->objects, value->text, objects)
			      ? near_name(&check->objects, value->text, objects)
			      : "",
		      near_name(&check->objects, value->text, objects) ? "'?" : "");
}

static void check_variables_text(struct check *check, struct lab_place place, const char *text)
{
	for (const char *at = text; (at = strchr(at, '$'));) {
		size_t length = lab_variable_length(++at);
		char *name = lab_copy_text(at, length);

		if (!length)
			error(check, place, "expected the name of a variable after $");
		else if (!find_name(&check->variables, name))
			unknown(check, place, "variable", name,
				near_name(&check->variables, name, 1));
		free(name);
	}
}

static void check_call(struct check *check, const struct lab_expression *e)
{
	const char *nearest;
	size_t count = 0;

	if (check->script->bare && lab_function_needs_quire(e->name))
		error(check, e->place, "%s asks Quire, and a script with 'bare' boots none",
		      e->name);
	if (lab_is_function(e->name) || find_name(&check->measured, e->name) ||
	    strchr(e->name, '$'))
		return;
	for (size_t i = 0; i < check->measured.count; i++)
		if (strchr(check->measured.all[i].text, '$'))
			return;
	while (lab_function_names[count])
		count++;
	nearest = lab_nearest(e->name, lab_function_names, count);
	unknown(check, e->place, "time or function", e->name,
		nearest ? nearest : near_name(&check->measured, e->name, 1));
}

static void check_expression(struct check *check, const struct lab_expression *e)
{
	if (!e)
		return;
	if (e->operator== LAB_VARIABLE && !find_name(&check->variables, e->name))
		unknown(check, e->place, "variable", e->name,
			near_name(&check->variables, e->name, 1));
	if (e->operator== LAB_CALL)
		check_call(check, e);
	if (e->argument)
		check_variables_text(check, e->place, e->argument);
	check_expression(check, e->left);
	check_expression(check, e->right);
}

static void check_new_variable(struct check *check, const struct lab_value *value)
{
	if (lab_variable_length(value->text) != strlen(value->text) || !*value->text)
		error(check, value->place,
		      "'%s' is no name of a variable, expected letters, digits and _", value->text);
}

/* Statements that run without a memory manager. */
static bool is_bare_statement(enum lab_statement_kind kind)
{
	static const enum lab_statement_kind kinds[] = {
		LAB_DO_TITLE,   LAB_DO_SOURCE,  LAB_DO_MACHINE, LAB_DO_BARE,    LAB_DO_BY_NAME,
		LAB_DO_VARIANT, LAB_DO_PUBLISH, LAB_DO_SET,     LAB_DO_MEASURE, LAB_DO_EXPECT,
		LAB_DO_ROUTINE, LAB_DO_CALL,    LAB_DO_REPEAT,  LAB_DO_GROUP,   LAB_DO_ALIAS_TEST,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

static void check_statement(struct check *check, const struct lab_statement *s)
{
	const struct lab_argument *a = s->rule->arguments;

	if (check->script->bare && !is_bare_statement(s->rule->kind))
		error(check, s->place, "'%s' needs Quire, and a script with 'bare' boots none",
		      s->rule->word);
	check_labels(check, &s->in);
	check_pairs(check, s);
	for (size_t i = 0; a[i].type; i++) {
		const struct lab_value *value = &s->values[i];

		if (!value->given)
			continue;
		check_expression(check, value->expression);
		if (a[i].type == LAB_ARG_OBJECT)
			check_object(check, value, a[i].objects);
		if (a[i].type == LAB_ARG_LABELS)
			check_labels(check, value);
		if (!value->expression)
			check_variables_text(check, value->place, value->text);
	}
	check_expression(check, s->expression);
	check_expression(check, s->fallback);
	if (s->rule->kind == LAB_DO_SET)
		check_new_variable(check, &s->values[0]);
	if (s->rule->kind == LAB_DO_REPEAT && s->values[1].given)
		check_new_variable(check, &s->values[1]);
	if ((s->rule->kind == LAB_DO_TIME || s->rule->kind == LAB_DO_MEASURE) &&
	    lab_is_function(s->values[0].text))
		error(check, s->values[0].place, "'%s' is the name of a function, expected another",
		      s->values[0].text);
}

static void check_statements(struct check *check, const struct lab_statement *s)
{
	for (; s; s = s->next) {
		check_statement(check, s);
		check_statements(check, s->block);
	}
}

/* --- Weights: what share of the work a statement is, roughly -------------------------- */

#define WEIGHT_OF_BYTES 50.0 /* a statement that moves many bytes, against one that does not */
#define REPEATS_UNKNOWN 10.0

static double weigh(struct lab_statement *s)
{
	double sum = 0;

	for (; s; s = s->next) {
		const struct lab_expression *count = s->values[0].expression;
		double times = 1;

		s->weight = 1;
		if (s->rule->kind == LAB_DO_FILE || s->rule->kind == LAB_DO_READ ||
		    s->rule->kind == LAB_DO_WRITE || s->rule->kind == LAB_DO_LOAD ||
		    s->rule->kind == LAB_DO_STORE || s->rule->kind == LAB_DO_CALL)
			s->weight = WEIGHT_OF_BYTES;
		if (s->rule->kind == LAB_DO_REPEAT)
			times = count->operator== LAB_LITERAL ? count->number.value
							      : REPEATS_UNKNOWN;
		if (s->block)
			s->weight = times * weigh(s->block);
		if (s->rule->kind == LAB_DO_ROUTINE)
			s->weight = 0;
		sum += s->weight;
	}
	return sum;
}

bool lab_script_check(FILE *errors, struct lab_script *script)
{
	struct check check = {.errors = errors, .script = script};

	gather(&check, script->statements);
	check_headers(&check);
	/* Variants first: they set variables that other statements use. */
	for (const struct lab_statement *s = script->statements; s; s = s->next)
		if (s->rule->kind == LAB_DO_VARIANT)
			for (size_t i = 0; i < s->pair_count; i++)
				if (find_name(&check.used, s->pairs[i].key))
					add_name(&check.variables, s->pairs[i].key, 1);
	check_statements(&check, script->statements);
	weigh(script->statements);
	free(check.objects.all);
	free(check.variables.all);
	free(check.used.all);
	free(check.measured.all);
	return check.error_count == 0;
}
