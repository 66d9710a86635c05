/*
 * Values of a statement's words when it runs, and how statements end in errors.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

#define FAILURES_MAX 20

/* --- Errors --------------------------------------------------------------------------- */

static const struct {
	int code;
	const char *name;
} error_names[] = {
	{QUIRE_EPERM, "EPERM"},
	{QUIRE_ENOENT, "ENOENT"},
	{QUIRE_EIO, "EIO"},
	{QUIRE_EAGAIN, "EAGAIN"},
	{QUIRE_ENOMEM, "ENOMEM"},
	{QUIRE_EACCES, "EACCES"},
	{QUIRE_EFAULT, "EFAULT"},
	{QUIRE_EBUSY, "EBUSY"},
	{QUIRE_EEXIST, "EEXIST"},
	{QUIRE_ENODEV, "ENODEV"},
	{QUIRE_EINVAL, "EINVAL"},
	{QUIRE_EFBIG, "EFBIG"},
	{QUIRE_ENOSPC, "ENOSPC"},
	{QUIRE_ENAMETOOLONG, "ENAMETOOLONG"},
	{QUIRE_EOVERFLOW, "EOVERFLOW"},
	{QUIRE_ENOTSUP, "ENOTSUP"},
	{QUIRE_SIGBUS, "SIGBUS"},
	{QUIRE_SIGSEGV, "SIGSEGV"},
};

#define ERROR_NAMES (sizeof(error_names) / sizeof(error_names[0]))

const char *lab_error_name(int code)
{
	for (size_t i = 0; i < ERROR_NAMES; i++)
		if (error_names[i].code == code)
			return error_names[i].name;
	return "an unknown error";
}

int lab_error_code(const char *name)
{
	for (size_t i = 0; i < ERROR_NAMES; i++)
		if (strcmp(error_names[i].name, name) == 0)
			return error_names[i].code;
	return 0;
}

const char *lab_error_nearest(const char *name)
{
	const char *names[ERROR_NAMES];

	for (size_t i = 0; i < ERROR_NAMES; i++)
		names[i] = error_names[i].name;
	return lab_nearest(name, names, ERROR_NAMES);
}

bool lab_raise(struct lab_run *run, struct lab_place place, int code, const char *format, ...)
{
	va_list arguments;

	if (run->raised.is)
		return false;
	va_start(arguments, format);
	run->raised = (struct lab_raised){true, code, place, lab_format_list(format, arguments)};
	va_end(arguments);
	return false;
}

bool lab_call_result(struct lab_run *run, const struct lab_statement *s, int64_t result,
		     const char *call)
{
	int code = (int)-result;

	if (result >= 0)
		return true;
	return lab_raise(run, s->place, code, "%s ends with %s", call, lab_error_name(code));
}

void lab_fail(struct lab_run *run, struct lab_place place, const char *format, ...)
{
	struct lab_variant *result = run->result;
	struct lab_failure *failure;
	va_list arguments;

	if (result->failure_count == FAILURES_MAX)
		return;
	result->failures =
		lab_grow(result->failures, (result->failure_count + 1) * sizeof(*failure));
	failure = &result->failures[result->failure_count++];
	va_start(arguments, format);
	*failure = (struct lab_failure){
		.file = lab_copy_text(run->script->path, strlen(run->script->path)),
		.line = place.line,
		.column = place.column,
		.text = lab_format_list(format, arguments),
	};
	va_end(arguments);
}

/* --- Variables ------------------------------------------------------------------------ */

static struct lab_variable *find_variable(struct lab_run *run, const char *name, size_t length)
{
	for (struct lab_variable *v = run->variables; v; v = v->next)
		if (strlen(v->name) == length && memcmp(v->name, name, length) == 0)
			return v;
	return NULL;
}

static struct lab_variable *reach_variable(struct lab_run *run, const char *name, const char *text)
{
	struct lab_variable *v = find_variable(run, name, strlen(name));

	if (!v) {
		v = lab_arena_new(&run->arena, sizeof(*v));
		v->name = lab_arena_text(&run->arena, name, strlen(name));
		v->next = run->variables;
		run->variables = v;
	}
	v->text = lab_arena_text(&run->arena, text, strlen(text));
	return v;
}

void lab_set_text(struct lab_run *run, const char *name, const char *text)
{
	struct lab_variable *v = reach_variable(run, name, text);

	v->is_number = lab_number_parse(text, &v->number);
}

void lab_set_number(struct lab_run *run, const char *name, struct lab_number number)
{
	char text[64];
	struct lab_variable *v;

	lab_number_print(number, text, sizeof(text));
	v = reach_variable(run, name, text);
	v->is_number = true;
	v->number = number;
}

static const char *variable_number(void *context, const char *name, struct lab_number *number,
				   char *message, size_t bytes)
{
	struct lab_variable *v = find_variable(context, name, strlen(name));

	if (v && v->is_number) {
		*number = v->number;
		return NULL;
	}
	if (v)
		snprintf(message, bytes, "$%s is '%.60s', expected a number", name, v->text);
	else
		snprintf(message, bytes, "$%s has no value here", name);
	return message;
}

const char *lab_expand(struct lab_run *run, struct lab_place place, const char *text)
{
	const char *dollar = strchr(text, '$');
	char *result;
	size_t used = 0;

	if (!dollar)
		return text;
	result = lab_copy_text("", 0);
	while (*text) {
		const char *piece = text;
		size_t length = strcspn(text, "$");

		text += length;
		if (!length) {
			struct lab_variable *v;

			length = lab_variable_length(text + 1);
			v = find_variable(run, text + 1, length);
			if (!v) {
				lab_raise(run, place, 0, "$%.*s has no value here", (int)length,
					  text + 1);
				free(result);
				return NULL;
			}
			text += length + 1;
			piece = v->text;
			length = strlen(piece);
		}
		result = lab_grow(result, used + length + 1);
		memcpy(result + used, piece, length);
		used += length;
		result[used] = '\0';
	}
	text = lab_arena_text(&run->arena, result, used);
	free(result);
	return text;
}

/* --- Arguments ------------------------------------------------------------------------ */

static int argument_index(const struct lab_statement *s, const char *name)
{
	for (int i = 0; s->rule->arguments[i].type; i++)
		if (strcmp(s->rule->arguments[i].name, name) == 0)
			return i;
	return -1;
}

const struct lab_value *lab_argument(const struct lab_statement *s, const char *name)
{
	int i = argument_index(s, name);

	return i >= 0 && s->values[i].given ? &s->values[i] : NULL;
}

bool lab_flag(const struct lab_statement *s, const char *name)
{
	for (unsigned i = 0; s->rule->flags && s->rule->flags[i]; i++)
		if (strcmp(s->rule->flags[i], name) == 0)
			return s->flags & 1u << i;
	return false;
}

const char *lab_text(struct lab_run *run, const struct lab_statement *s, const char *name)
{
	const struct lab_value *value = lab_argument(s, name);

	return value ? lab_expand(run, value->place, value->text) : NULL;
}

int lab_word(struct lab_run *run, const struct lab_statement *s, const char *name, int otherwise)
{
	const struct lab_value *value = lab_argument(s, name);
	const char *const *words = s->rule->arguments[argument_index(s, name)].words;
	const char *text;

	if (!value)
		return otherwise;
	text = lab_expand(run, value->place, value->text);
	if (!text)
		return -1;
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	lab_raise(run, value->place, 0, "%s cannot be '%s'; expected: %s", name, text,
		  s->rule->usage);
	return -1;
}

bool lab_evaluate(struct lab_run *run, const struct lab_expression *e, struct lab_number *number)
{
	char message[LAB_MESSAGE_BYTES];
	struct lab_place place;

	run->scope = (struct lab_scope){run, variable_number, lab_function_call};
	if (lab_expression_evaluate(e, &run->scope, number, &place, message))
		return true;
	return lab_raise(run, place, 0, "%s", message);
}

bool lab_value_number(struct lab_run *run, const struct lab_statement *s, const char *name,
		      struct lab_number *number)
{
	int i = argument_index(s, name);
	const struct lab_value *value = &s->values[i];
	const char *what;

	if (!lab_evaluate(run, value->expression, number))
		return false;
	what = lab_number_check(s->rule->arguments[i].type, *number);
	return what ? lab_raise(run, value->place, 0, "%s: %s", name, what) : true;
}

bool lab_whole(struct lab_run *run, const struct lab_statement *s, const char *name,
	       uint64_t *value)
{
	struct lab_number number;

	if (!lab_argument(s, name))
		return true;
	if (!lab_value_number(run, s, name, &number))
		return false;
	*value = (uint64_t)number.value;
	return true;
}
