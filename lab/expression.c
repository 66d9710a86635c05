/*
 * Expressions: numbers with units, variables, times and functions.
 *
 * A number carries what it counts, as powers of nanoseconds and of bytes, so that a sum of a size
 * and a time is refused while "time * 4G / size" is a time. A plain number fits with anything.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/script.h"

#define DEPTH_MAX 64

struct unit {
	const char *name;
	double scale;
	int time, bytes;
};

static const struct unit units[] = {
	{"K", 1024.0, 0, 1},       {"M", 1048576.0, 0, 1},
	{"G", 1073741824.0, 0, 1}, {"T", 1099511627776.0, 0, 1},
	{"B", 1.0, 0, 1},          {"ns", 1.0, 1, 0},
	{"us", 1e3, 1, 0},         {"ms", 1e6, 1, 0},
	{"s", 1e9, 1, 0},
};

#define UNITS (sizeof(units) / sizeof(units[0]))

static const struct unit *find_unit(const char *name, size_t bytes)
{
	for (size_t i = 0; i < UNITS; i++)
		if (strlen(units[i].name) == bytes && memcmp(units[i].name, name, bytes) == 0)
			return &units[i];
	return NULL;
}

/* A number and its unit at *at. NULL, or what is wrong. */
static const char *scan_number(const char **at, struct lab_number *number)
{
	bool hex = (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X');
	const struct unit *unit;
	size_t letters = 0;
	char *end;

	*number = (struct lab_number){0};
	errno = 0;
	if (hex) {
		number->value = (double)strtoull(*at, &end, 16);
	} else {
		size_t digits = strspn(*at, "0123456789.");
		char text[64];

		if (digits >= sizeof(text))
			return "the number is too long";
		memcpy(text, *at, digits);
		text[digits] = '\0';
		number->value = strtod(text, &end);
		if (*end)
			return "not a number";
		end = (char *)*at + digits;
	}
	if (errno == ERANGE || number->value > 0x1p63)
		return "the number is too large, expected at most 2^63";
	*at = end;
	while (isalnum((unsigned char)end[letters]) || end[letters] == '_')
		letters++;
	if (!letters)
		return NULL;
	unit = find_unit(end, letters);
	if (!unit)
		return "unknown unit, expected K, M, G, T or B (sizes) or ns, us, ms or s (times)";
	number->value *= unit->scale;
	if (number->value > 0x1p63)
		return "the number is too large, expected at most 2^63";
	number->time = unit->time;
	number->bytes = unit->bytes;
	*at = end + letters;
	return NULL;
}

bool lab_number_parse(const char *text, struct lab_number *number)
{
	return isdigit((unsigned char)*text) && !scan_number(&text, number) && !*text;
}

/* --- Parsing -------------------------------------------------------------------------- */

struct parser {
	struct lab_cursor *cursor;
	unsigned depth;
};

static struct lab_expression *parse_sum(struct parser *parser);

static struct lab_expression *make(struct parser *parser, enum lab_operator operator,
				   const char * at)
{
	struct lab_expression *e = lab_arena_new(parser->cursor->arena, sizeof(*e));

	e->operator= operator;
	e->place = lab_cursor_place(parser->cursor, at);
	return e;
}

static struct lab_expression *wrong(struct parser *parser, const char *at, const char *what)
{
	lab_cursor_error(parser->cursor, lab_cursor_place(parser->cursor, at), "%s", what);
	return NULL;
}

static size_t name_length(const char *at)
{
	size_t length = 0;

	if (isalpha((unsigned char)*at) || *at == '_')
		while (isalnum((unsigned char)at[length]) || at[length] == '_')
			length++;
	return length;
}

static struct lab_expression *parse_literal(struct parser *parser)
{
	const char *start = parser->cursor->at;
	struct lab_expression *e = make(parser, LAB_LITERAL, start);
	const char *what = scan_number(&parser->cursor->at, &e->number);

	return what ? wrong(parser, start, what) : e;
}

static struct lab_expression *parse_variable(struct parser *parser)
{
	struct lab_cursor *cursor = parser->cursor;
	struct lab_expression *e = make(parser, LAB_VARIABLE, cursor->at);
	size_t length = name_length(cursor->at + 1);

	if (!length)
		return wrong(parser, cursor->at, "expected the name of a variable after $");
	e->name = lab_arena_text(cursor->arena, cursor->at + 1, length);
	cursor->at += length + 1;
	return e;
}

/* The text of "..." at the cursor, which it passes; NULL when it is not closed. */
static const char *quoted(struct lab_cursor *cursor)
{
	const char *start = cursor->at + 1;
	size_t length = strcspn(start, "\"\n");

	if (start[length] != '"')
		return NULL;
	cursor->at = start + length + 1;
	return lab_arena_text(cursor->arena, start, length);
}

/* What stands between the parentheses of a call: a name or a quoted text, or nothing. */
static bool parse_argument(struct parser *parser, struct lab_expression *call)
{
	struct lab_cursor *cursor = parser->cursor;
	const char *start;

	cursor->at++;
	lab_cursor_blanks(cursor);
	start = cursor->at;
	if (*start == '"') {
		call->argument = quoted(cursor);
		if (!call->argument)
			return wrong(parser, start, "the quote is not closed");
	} else {
		size_t length = strcspn(start, " \t\r\n()#\"");

		call->argument = length ? lab_arena_text(cursor->arena, start, length) : NULL;
		cursor->at += length;
	}
	lab_cursor_blanks(cursor);
	if (*cursor->at != ')')
		return wrong(parser, cursor->at, "expected )");
	cursor->at++;
	return true;
}

static struct lab_expression *parse_name(struct parser *parser)
{
	struct lab_cursor *cursor = parser->cursor;
	struct lab_expression *e = make(parser, LAB_CALL, cursor->at);
	size_t length = name_length(cursor->at);

	e->name = lab_arena_text(cursor->arena, cursor->at, length);
	cursor->at += length;
	if (*cursor->at == '(' && !parse_argument(parser, e))
		return NULL;
	return e;
}

/* A quoted name is a time or measure whose name has blanks. */
static struct lab_expression *parse_quoted_name(struct parser *parser)
{
	struct lab_expression *e = make(parser, LAB_CALL, parser->cursor->at);

	e->name = quoted(parser->cursor);
	return e->name ? e : wrong(parser, parser->cursor->at, "the quote is not closed");
}

static struct lab_expression *parse_primary(struct parser *parser)
{
	struct lab_cursor *cursor = parser->cursor;
	struct lab_expression *e;

	lab_cursor_blanks(cursor);
	if (isdigit((unsigned char)*cursor->at) || *cursor->at == '.')
		return parse_literal(parser);
	if (*cursor->at == '$')
		return parse_variable(parser);
	if (*cursor->at == '"')
		return parse_quoted_name(parser);
	if (name_length(cursor->at))
		return parse_name(parser);
	if (*cursor->at == '-' || *cursor->at == '(') {
		bool negative = *cursor->at == '-';
		const char *start = cursor->at++;

		if (++parser->depth > DEPTH_MAX)
			return wrong(parser, start, "the expression is nested too deeply");
		e = negative ? parse_primary(parser) : parse_sum(parser);
		parser->depth--;
		if (!e)
			return NULL;
		if (negative) {
			struct lab_expression *negate = make(parser, LAB_NEGATE, start);

			negate->left = e;
			return negate;
		}
		lab_cursor_blanks(cursor);
		if (*cursor->at != ')')
			return wrong(parser, cursor->at, "expected )");
		cursor->at++;
		return e;
	}
	return wrong(parser, cursor->at, "expected a number, a $variable, a time or a function");
}

static struct lab_expression *join(struct parser *parser, enum lab_operator operator,
				   const char * at, struct lab_expression *left,
				   struct lab_expression *right)
{
	struct lab_expression *e = make(parser, operator, at);

	e->left = left;
	e->right = right;
	return right ? e : NULL;
}

static struct lab_expression *parse_product(struct parser *parser)
{
	struct lab_expression *e = parse_primary(parser);

	while (e) {
		const char *at;

		lab_cursor_blanks(parser->cursor);
		at = parser->cursor->at;
		if (*at != '*' && *at != '/')
			break;
		parser->cursor->at++;
		e = join(parser, *at == '*' ? LAB_MULTIPLY : LAB_DIVIDE, at, e,
			 parse_primary(parser));
	}
	return e;
}

static struct lab_expression *parse_sum(struct parser *parser)
{
	struct lab_expression *e = parse_product(parser);

	while (e) {
		const char *at;

		lab_cursor_blanks(parser->cursor);
		at = parser->cursor->at;
		if (*at != '+' && *at != '-')
			break;
		parser->cursor->at++;
		e = join(parser, *at == '+' ? LAB_ADD : LAB_SUBTRACT, at, e, parse_product(parser));
	}
	return e;
}

static const char *const comparisons[] = {
	[LAB_EQUAL] = "==",         [LAB_UNEQUAL] = "!=", [LAB_LESS_EQUAL] = "<=",
	[LAB_GREATER_EQUAL] = ">=", [LAB_LESS] = "<",     [LAB_GREATER] = ">",
};

bool lab_is_comparison(enum lab_operator operator)
{
	return operator>= LAB_EQUAL;
}

const char *lab_operator_text(enum lab_operator operator)
{
	return comparisons[operator];
}

/* The comparison at `at`; LAB_LITERAL: none. Two characters before one. */
static enum lab_operator find_comparison(const char *at)
{
	enum lab_operator found = LAB_LITERAL;

	for (enum lab_operator o = LAB_EQUAL; o <= LAB_GREATER_EQUAL; o++) {
		size_t length = strlen(comparisons[o]);

		if (strncmp(at, comparisons[o], length) == 0 &&
		    (found == LAB_LITERAL || length > strlen(comparisons[found])))
			found = o;
	}
	return found;
}

struct lab_expression *lab_expression_parse(struct lab_cursor *cursor, bool comparison)
{
	struct parser parser = {.cursor = cursor};
	struct lab_expression *e = parse_sum(&parser);
	enum lab_operator operator;
	const char *at;

	if (!e || !comparison)
		return e;
	lab_cursor_blanks(cursor);
	at = cursor->at;
	operator= find_comparison(at);
	if (operator== LAB_LITERAL)
		return wrong(&parser, at, "expected a comparison: == != < <= > >=");
	cursor->at += strlen(comparisons[operator]);
	return join(&parser, operator, at, e, parse_sum(&parser));
}

bool lab_expression_constant(const struct lab_expression *e)
{
	if (e->operator== LAB_LITERAL)
		return true;
	if (e->operator== LAB_VARIABLE || e->operator== LAB_CALL)
		return false;
	return lab_expression_constant(e->left) && (!e->right || lab_expression_constant(e->right));
}

/* --- Evaluation ----------------------------------------------------------------------- */

static bool plain(struct lab_number number)
{
	return number.time == 0 && number.bytes == 0;
}

static bool same_kind(struct lab_number a, struct lab_number b)
{
	return plain(a) || plain(b) || (a.time == b.time && a.bytes == b.bytes);
}

static double compare(enum lab_operator operator, double a, double b)
{
	switch (operator) {
	case LAB_EQUAL:
		return a == b;
	case LAB_UNEQUAL:
		return a != b;
	case LAB_LESS:
		return a < b;
	case LAB_LESS_EQUAL:
		return a <= b;
	case LAB_GREATER:
		return a > b;
	default:
		return a >= b;
	}
}

/* NULL, or what is wrong. */
static const char *combine(enum lab_operator operator, struct lab_number a, struct lab_number b,
			   struct lab_number *result)
{
	if (operator== LAB_MULTIPLY || operator== LAB_DIVIDE) {
		int sign = operator== LAB_MULTIPLY ? 1 : - 1;

		if (operator== LAB_DIVIDE && b.value == 0)
			return "division by zero";
		result->value = operator== LAB_MULTIPLY ? a.value * b.value : a.value / b.value;
		result->time = a.time + sign * b.time;
		result->bytes = a.bytes + sign * b.bytes;
		return isfinite(result->value) ? NULL : "the result is too large";
	}
	if (!same_kind(a, b))
		return "a size and a time do not go together";
	if (lab_is_comparison(operator)) {
		*result = (struct lab_number){.value = compare(operator, a.value, b.value)};
		return NULL;
	}
	*result = plain(a) ? b : a;
	result->value = operator== LAB_ADD ? a.value + b.value : a.value - b.value;
	return isfinite(result->value) ? NULL : "the result is too large";
}

bool lab_expression_evaluate(const struct lab_expression *e, const struct lab_scope *scope,
			     struct lab_number *number, struct lab_place *place, char *message)
{
	struct lab_number left, right;
	const char *what = NULL;

	switch (e->operator) {
	case LAB_LITERAL:
		*number = e->number;
		return true;
	case LAB_VARIABLE:
		what = scope->variable(scope->context, e->name, number, message, LAB_MESSAGE_BYTES);
		break;
	case LAB_CALL:
		what = scope->call(scope->context, e->name, e->argument, number, message,
				   LAB_MESSAGE_BYTES);
		break;
	case LAB_NEGATE:
		if (!lab_expression_evaluate(e->left, scope, number, place, message))
			return false;
		number->value = -number->value;
		return true;
	default:
		if (!lab_expression_evaluate(e->left, scope, &left, place, message) ||
		    !lab_expression_evaluate(e->right, scope, &right, place, message))
			return false;
		what = combine(e->operator, left, right, number);
	}
	if (!what)
		return true;
	*place = e->place;
	if (what != message)
		snprintf(message, LAB_MESSAGE_BYTES, "%s", what);
	return false;
}

static bool is_whole(double value)
{
	/* cppcheck-suppress incorrectLogicOperator ; it cannot read 0x1p53 */
	return value < 0x1p53 && value > -0x1p53 && value == (double)(int64_t)value;
}

void lab_number_print(struct lab_number number, char *text, size_t bytes)
{
	const struct unit *unit = NULL;

	for (size_t i = 0; i < UNITS; i++)
		if (units[i].time == number.time && units[i].bytes == number.bytes &&
		    fabs(number.value) >= units[i].scale &&
		    (!unit || units[i].scale > unit->scale) &&
		    (number.time || is_whole(number.value / units[i].scale)))
			unit = &units[i];
	if (unit && number.time)
		snprintf(text, bytes, "%.6g %s", number.value / unit->scale, unit->name);
	else if (unit && unit->scale > 1)
		snprintf(text, bytes, "%.15g%s", number.value / unit->scale, unit->name);
	else
		snprintf(text, bytes, "%.15g", number.value);
}
