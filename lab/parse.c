/*
 * The parser of scripts: text into statements, each checked against its rule of the grammar.
 *
 * It goes on after an error, so that one run tells about all of them. A value with a $ in it is
 * known only when the statement runs; every other word, number and name is checked here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lab/script.h"

#define BLOCKS_MAX     32
#define NAME_MAX_BYTES 48

static bool parse_statements(struct lab_cursor *cursor, unsigned depth, struct lab_place open,
			     struct lab_statement **first);

/* --- Values --------------------------------------------------------------------------- */

static bool is_number(enum lab_argument_type type)
{
	return type == LAB_ARG_BYTES || type == LAB_ARG_COUNT || type == LAB_ARG_SECONDS ||
	       type == LAB_ARG_DURATION;
}

/* The whole of a word as an expression. */
static struct lab_expression *parse_value(struct lab_cursor *cursor, const struct lab_word *word)
{
	struct lab_cursor value = *cursor;
	struct lab_expression *e;

	value.at = word->text;
	value.line_start = word->text;
	value.columns_before = word->value_place.column - 1 + (word->quoted ? 1 : 0);
	e = lab_expression_parse(&value, false);
	lab_cursor_blanks(&value);
	if (e && *value.at) {
		lab_cursor_error(&value, lab_cursor_place(&value, value.at),
				 "unexpected text in a number, expected + - * / or the end");
		e = NULL;
	}
	cursor->error_count = value.error_count;
	return e;
}

static const char *no_variable(void *context, const char *name, struct lab_number *number,
			       char *message, size_t bytes)
{
	(void)context;
	(void)name;
	(void)number;
	(void)message;
	(void)bytes;
	return "not a constant";
}

static const char *no_call(void *context, const char *name, const char *argument,
			   struct lab_number *number, char *message, size_t bytes)
{
	(void)argument;
	return no_variable(context, name, number, message, bytes);
}

/* NULL, or what such an argument must be. */
const char *lab_number_check(enum lab_argument_type type, struct lab_number number)
{
	bool whole = number.value == (double)(int64_t)number.value;

	if (type == LAB_ARG_DURATION)
		return (number.time == 1 && number.bytes == 0 && number.value >= 0)
			       ? NULL
			       : "expected a time, as in 1s or 20ms";
	if (number.time)
		return "expected no time";
	if (type == LAB_ARG_BYTES)
		return whole && number.value >= 0 && number.bytes <= 1 && number.bytes >= 0 &&
				       number.value <= 0x1p53
			       ? NULL
			       : "expected a size of whole bytes, as in 4096 or 128K";
	if (type == LAB_ARG_SECONDS)
		return whole && !number.bytes ? NULL : "expected whole seconds, as in 5";
	return whole && !number.bytes && number.value >= 0 && number.value <= 0x1p53
		       ? NULL
		       : "expected a whole number from 0 to 2^53";
}

static bool check_constant(struct lab_cursor *cursor, const struct lab_argument *argument,
			   struct lab_value *value)
{
	struct lab_scope scope = {NULL, no_variable, no_call};
	char message[LAB_MESSAGE_BYTES];
	struct lab_number number;
	struct lab_place place;
	const char *what;

	if (!lab_expression_constant(value->expression))
		return true;
	if (!lab_expression_evaluate(value->expression, &scope, &number, &place, message)) {
		lab_cursor_error(cursor, place, "%s", message);
		return false;
	}
	what = lab_number_check(argument->type, number);
	if (what)
		lab_cursor_error(cursor, value->place, "%s: %s", argument->name, what);
	return !what;
}

static size_t count_words(const char *const *words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

static bool check_word(struct lab_cursor *cursor, const struct lab_argument *argument,
		       const struct lab_value *value)
{
	const char *nearest;
	char list[128] = "";

	if (strchr(value->text, '$'))
		return true;
	for (const char *const *w = argument->words; *w; w++) {
		if (strcmp(*w, value->text) == 0)
			return true;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", *w);
	}
	nearest = lab_nearest(value->text, argument->words, count_words(argument->words));
	lab_cursor_error(cursor, value->place, "%s cannot be '%s'%s%s%s (expected one of:%s)",
			 argument->name, value->text, nearest ? ", did you mean '" : "",
			 nearest ? nearest : "", nearest ? "'?" : "", list);
	return false;
}

static bool check_name(struct lab_cursor *cursor, const struct lab_value *value)
{
	size_t length = strlen(value->text);
	const char *bad = value->text;

	while (isalnum((unsigned char)*bad) || (*bad && strchr("_-.$", *bad)))
		bad++;
	if (!*bad && length && length <= NAME_MAX_BYTES)
		return true;
	lab_cursor_error(cursor, value->place,
			 "'%s' is no name, expected up to %d letters, digits, '-', '_' or '.'",
			 value->text, NAME_MAX_BYTES);
	return false;
}

static bool take_value(struct lab_cursor *cursor, const struct lab_argument *argument,
		       const struct lab_word *word, struct lab_value *value)
{
	if (value->given) {
		lab_cursor_error(cursor, word->place, "%s is given twice", argument->name);
		return false;
	}
	value->given = true;
	value->place = word->value_place;
	value->text = word->text;
	if (is_number(argument->type)) {
		value->expression = parse_value(cursor, word);
		return value->expression && check_constant(cursor, argument, value);
	}
	if (argument->type == LAB_ARG_WORD)
		return check_word(cursor, argument, value);
	if (argument->type == LAB_ARG_NEW || argument->type == LAB_ARG_OBJECT)
		return check_name(cursor, value);
	return true;
}

/* --- Words of a statement ------------------------------------------------------------- */

static int find_flag(const struct lab_rule *rule, const char *word)
{
	if (rule->flags)
		for (int i = 0; rule->flags[i]; i++)
			if (strcmp(rule->flags[i], word) == 0)
				return i;
	return -1;
}

static bool take_key(struct lab_cursor *cursor, struct lab_statement *statement,
		     const struct lab_word *word)
{
	const struct lab_argument *a = statement->rule->arguments;
	const char *names[LAB_ARGUMENTS_MAX];
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; a[i].type; i++) {
		if (!a[i].key)
			continue;
		if (strcmp(a[i].name, word->key) == 0)
			return take_value(cursor, &a[i], word, &statement->values[i]);
		names[count++] = a[i].name;
	}
	nearest = lab_nearest(word->key, names, count);
	lab_cursor_error(cursor, word->place, "%s takes no '%s='%s%s%s (expected: %s)",
			 statement->rule->word, word->key, nearest ? ", did you mean '" : "",
			 nearest ? nearest : "", nearest ? "'?" : "", statement->rule->usage);
	return false;
}

/* The next argument by place that is not given yet; -1: none. */
static int next_by_place(const struct lab_statement *statement, bool required)
{
	const struct lab_argument *a = statement->rule->arguments;

	for (int i = 0; a[i].type; i++)
		if (!a[i].key && !statement->values[i].given && (!required || a[i].required))
			return i;
	return -1;
}

static bool unexpected(struct lab_cursor *cursor, const struct lab_statement *statement,
		       const struct lab_word *word)
{
	const struct lab_rule *rule = statement->rule;
	const char *nearest =
		rule->flags ? lab_nearest(word->text, rule->flags, count_words(rule->flags)) : NULL;

	lab_cursor_error(cursor, word->place, "unexpected '%s'%s%s%s (expected: %s)", word->text,
			 nearest ? ", did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?" : "", rule->usage);
	return false;
}

static bool take_plain(struct lab_cursor *cursor, struct lab_statement *statement,
		       const struct lab_word *word)
{
	const struct lab_argument *a = statement->rule->arguments;
	int i = next_by_place(statement, true);
	int flag = i < 0 && !word->quoted ? find_flag(statement->rule, word->text) : -1;

	if (flag >= 0) {
		if (statement->flags & 1u << flag) {
			lab_cursor_error(cursor, word->place, "'%s' is given twice", word->text);
			return false;
		}
		statement->flags |= 1u << flag;
		return true;
	}
	if (i < 0)
		i = next_by_place(statement, false);
	if (i < 0)
		return unexpected(cursor, statement, word);
	return take_value(cursor, &a[i], word, &statement->values[i]);
}

static bool take_pair(struct lab_cursor *cursor, struct lab_statement *statement,
		      const struct lab_word *word)
{
	struct lab_pair *pairs;

	if (!word->key) {
		lab_cursor_error(cursor, word->place,
				 "unexpected '%s', expected key=value; expected: %s", word->text,
				 statement->rule->usage);
		return false;
	}
	for (size_t i = 0; i < statement->pair_count; i++)
		if (strcmp(statement->pairs[i].key, word->key) == 0) {
			lab_cursor_error(cursor, word->place, "%s is given twice", word->key);
			return false;
		}
	pairs = lab_arena_new(cursor->arena, (statement->pair_count + 1) * sizeof(*pairs));
	if (statement->pair_count)
		memcpy(pairs, statement->pairs, statement->pair_count * sizeof(*pairs));
	pairs[statement->pair_count++] =
		(struct lab_pair){word->place, word->value_place, word->key, word->text};
	statement->pairs = pairs;
	return true;
}

static bool check_required(struct lab_cursor *cursor, const struct lab_statement *statement)
{
	const struct lab_argument *a = statement->rule->arguments;

	for (size_t i = 0; a[i].type; i++)
		if (a[i].required && !statement->values[i].given) {
			lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
					 "%s needs %s%s; expected: %s", statement->rule->word,
					 a[i].name, a[i].key ? "=" : "", statement->rule->usage);
			return false;
		}
	return true;
}

/* The words of a statement up to its tail, its block or the end of the line. */
static bool parse_words(struct lab_cursor *cursor, struct lab_statement *statement)
{
	bool assign = statement->rule->tail == LAB_TAIL_ASSIGN;
	bool pairs = statement->rule->tail == LAB_TAIL_PAIRS;
	struct lab_word word;

	while (!lab_cursor_ends(cursor)) {
		if (assign && *cursor->at == '=')
			break;
		if (!lab_cursor_word(cursor, &word))
			return false;
		if (pairs && next_by_place(statement, true) < 0) {
			if (!take_pair(cursor, statement, &word))
				return false;
		} else if (word.key ? !take_key(cursor, statement, &word)
				    : !take_plain(cursor, statement, &word)) {
			return false;
		}
	}
	return check_required(cursor, statement);
}

/* default EXPR after a set, note "TEXT" after a measure. */
static bool parse_after_assign(struct lab_cursor *cursor, struct lab_statement *statement)
{
	bool is_set = statement->rule->kind == LAB_DO_SET;
	struct lab_word word;

	if (lab_cursor_ends(cursor))
		return true;
	if (!lab_cursor_word(cursor, &word))
		return false;
	if (is_set && strcmp(word.text, "default") == 0) {
		statement->fallback = lab_expression_parse(cursor, false);
		return statement->fallback != NULL;
	}
	if (!is_set && strcmp(word.text, "note") == 0) {
		if (!lab_cursor_word(cursor, &word))
			return unexpected(cursor, statement, &word);
		statement->note = word.text;
		return true;
	}
	return unexpected(cursor, statement, &word);
}

static bool parse_tail(struct lab_cursor *cursor, struct lab_statement *statement)
{
	switch (statement->rule->tail) {
	case LAB_TAIL_TEXT:
		statement->text = lab_cursor_rest(cursor);
		if (*statement->text)
			return true;
		lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at), "expected: %s",
				 statement->rule->usage);
		return false;
	case LAB_TAIL_ASSIGN:
		if (*cursor->at != '=') {
			lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
					 "expected = as in: %s", statement->rule->usage);
			return false;
		}
		cursor->at++;
		statement->expression = lab_expression_parse(cursor, false);
		return statement->expression && parse_after_assign(cursor, statement);
	case LAB_TAIL_COMPARISON:
		statement->expression = lab_expression_parse(cursor, true);
		return statement->expression != NULL;
	default:
		return true;
	}
}

/* --- Statements ----------------------------------------------------------------------- */

static bool parse_block(struct lab_cursor *cursor, struct lab_statement *statement, unsigned depth)
{
	struct lab_place open;

	lab_cursor_blanks(cursor);
	open = lab_cursor_place(cursor, cursor->at);
	if (*cursor->at != '{') {
		lab_cursor_error(cursor, open, "expected { as in: %s", statement->rule->usage);
		return false;
	}
	if (depth == BLOCKS_MAX) {
		lab_cursor_error(cursor, open, "blocks are nested more than %d deep", BLOCKS_MAX);
		return false;
	}
	cursor->at++;
	return parse_statements(cursor, depth + 1, open, &statement->block);
}

/* After a statement only the end of its line or of its block may come. */
static bool check_end(struct lab_cursor *cursor, const struct lab_statement *statement,
		      unsigned depth)
{
	if (lab_cursor_ends(cursor) && *cursor->at != '{' && (*cursor->at != '}' || depth))
		return true;
	lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
			 "unexpected '%c'; expected: %s", *cursor->at, statement->rule->usage);
	return false;
}

static const struct lab_rule *find_rule(struct lab_cursor *cursor, const struct lab_word *word,
					unsigned depth)
{
	const char *nearest = NULL;
	const struct lab_rule *rule = word->key ? NULL : lab_rule_find(word->text, &nearest);

	if (rule && rule->header && depth) {
		lab_cursor_error(cursor, word->place, "%s stands outside of blocks only",
				 rule->word);
		return NULL;
	}
	if (!rule)
		lab_cursor_error(cursor, word->place, "unknown statement '%s'%s%s%s",
				 word->key ? word->key : word->text,
				 nearest ? ", did you mean '" : "",
				 nearest ? nearest : ", expected one of docs/scripts.md",
				 nearest ? "'?" : "");
	return rule;
}

/* "in LABELS" before a statement. */
static bool parse_in(struct lab_cursor *cursor, struct lab_value *in)
{
	struct lab_word word;

	if (!lab_cursor_word(cursor, &word) || word.key) {
		lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
				 "expected the labels of variants after 'in', with commas");
		return false;
	}
	*in = (struct lab_value){.given = true, .place = word.place, .text = word.text};
	return true;
}

static struct lab_statement *parse_statement(struct lab_cursor *cursor, unsigned depth)
{
	struct lab_statement *statement = lab_arena_new(cursor->arena, sizeof(*statement));
	struct lab_word word;

	if (!lab_cursor_word(cursor, &word))
		return NULL;
	statement->place = word.place;
	if (!word.key && strcmp(word.text, "in") == 0) {
		if (!parse_in(cursor, &statement->in))
			return NULL;
		if (lab_cursor_ends(cursor)) {
			statement->rule = lab_rule_group();
			return parse_block(cursor, statement, depth) ? statement : NULL;
		}
		if (!lab_cursor_word(cursor, &word))
			return NULL;
	}
	statement->rule = find_rule(cursor, &word, depth);
	if (!statement->rule)
		return NULL;
	if (statement->in.given && statement->rule->header) {
		lab_cursor_error(cursor, word.place, "%s holds for all variants, expected no 'in'",
				 word.text);
		return NULL;
	}
	if (statement->rule->tail != LAB_TAIL_TEXT &&
	    statement->rule->tail != LAB_TAIL_COMPARISON && !parse_words(cursor, statement))
		return NULL;
	if (!parse_tail(cursor, statement))
		return NULL;
	if (statement->rule->block && !parse_block(cursor, statement, depth))
		return NULL;
	return check_end(cursor, statement, depth) ? statement : NULL;
}

/* After an error: the rest of the line, and of the block that it opens, so that one error is told
 * once. */
static void skip_statement(struct lab_cursor *cursor)
{
	unsigned depth = 0;

	do {
		for (; *cursor->at && *cursor->at != '\n'; cursor->at++) {
			if (*cursor->at == '{')
				depth++;
			if (*cursor->at == '}' && depth)
				depth--;
		}
		if (!*cursor->at)
			return;
		if (depth)
			lab_cursor_next_line(cursor);
	} while (depth);
}

/* Statements up to the end of the text, or to the } of the block. */
static bool parse_statements(struct lab_cursor *cursor, unsigned depth, struct lab_place open,
			     struct lab_statement **first)
{
	struct lab_statement **last = first;

	for (;;) {
		lab_cursor_blanks(cursor);
		if (*cursor->at == '\0') {
			if (depth)
				lab_cursor_error(cursor, open,
						 "the block is not closed, expected }");
			return depth == 0;
		}
		if (*cursor->at == '\n') {
			lab_cursor_next_line(cursor);
		} else if (*cursor->at == '}' && depth) {
			cursor->at++;
			return true;
		} else if (*cursor->at == '{' || *cursor->at == '}') {
			lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
					 "unexpected '%c', expected a statement", *cursor->at);
			cursor->at++;
		} else {
			*last = parse_statement(cursor, depth);
			if (*last)
				last = &(*last)->next;
			else
				skip_statement(cursor);
		}
	}
}

bool lab_script_parse(FILE *errors, struct lab_script *script)
{
	struct lab_cursor cursor = {
		.arena = &script->arena,
		.source = &script->source,
		.errors = errors,
		.at = script->source.text,
		.line_start = script->source.text,
		.line = 1,
	};

	parse_statements(&cursor, 0, (struct lab_place){0}, &script->statements);
	return cursor.error_count == 0;
}
