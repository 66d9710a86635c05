/*
 * The lexer of scripts: places, blanks, comments, words and quotes.
 *
 * A line is words between blanks. A word may be key=value; a value may stand in "quotes" to hold
 * blanks; what stands in (parentheses) holds blanks too. A # at the start of a word begins a
 * comment.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lab/script.h"

#define ERRORS_MAX 20

struct lab_place lab_cursor_place(const struct lab_cursor *cursor, const char *at)
{
	unsigned column = (unsigned)(at - cursor->line_start) + 1 + cursor->columns_before;

	return (struct lab_place){cursor->line, column};
}

void lab_cursor_error(struct lab_cursor *cursor, struct lab_place place, const char *format, ...)
{
	va_list arguments;
	char *text;

	if (cursor->error_count++ >= ERRORS_MAX)
		return;
	va_start(arguments, format);
	text = lab_format_list(format, arguments);
	va_end(arguments);
	lab_error_at(cursor->errors, cursor->source, place.line, place.column, "%s", text);
	free(text);
}

void lab_cursor_blanks(struct lab_cursor *cursor)
{
	while (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r')
		cursor->at++;
	if (*cursor->at == '#')
		cursor->at += strcspn(cursor->at, "\n");
}

bool lab_cursor_ends(struct lab_cursor *cursor)
{
	lab_cursor_blanks(cursor);
	return *cursor->at == '\0' || *cursor->at == '\n' || *cursor->at == '{' ||
	       *cursor->at == '}';
}

void lab_cursor_next_line(struct lab_cursor *cursor)
{
	cursor->at += strcspn(cursor->at, "\n");
	if (*cursor->at == '\n') {
		cursor->at++;
		cursor->line++;
		cursor->line_start = cursor->at;
	}
}

static bool word_ends(char c)
{
	return c == '\0' || c == '\n' || c == '\r' || c == ' ' || c == '\t' || c == '{' || c == '}';
}

/* Takes a quoted text; the cursor is on its first quote. */
static bool take_quoted(struct lab_cursor *cursor, struct lab_word *word)
{
	const char *start = cursor->at + 1;
	const char *end = start + strcspn(start, "\"\n");

	if (*end != '"') {
		lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
				 "the quote is not closed, expected \" before the end of the line");
		return false;
	}
	word->quoted = true;
	word->value_at = start;
	word->value_end = end;
	cursor->at = end + 1;
	if (!word_ends(*cursor->at)) {
		lab_cursor_error(cursor, lab_cursor_place(cursor, cursor->at),
				 "unexpected text after a quote, expected a blank");
		return false;
	}
	return true;
}

/* Takes up to a blank outside of parentheses. */
static bool take_bare(struct lab_cursor *cursor, struct lab_word *word)
{
	const char *open = NULL;
	unsigned depth = 0;

	word->value_at = cursor->at;
	while (!word_ends(*cursor->at) || (depth && (*cursor->at == ' ' || *cursor->at == '\t'))) {
		if (*cursor->at == '(' && depth++ == 0)
			open = cursor->at;
		if (*cursor->at == ')' && depth)
			depth--;
		cursor->at++;
	}
	word->value_end = cursor->at;
	if (depth) {
		lab_cursor_error(cursor, lab_cursor_place(cursor, open),
				 "the parenthesis is not closed, expected )");
		return false;
	}
	return true;
}

/* The length of "key" where the text is key=..., else 0. */
static size_t key_length(const char *at)
{
	size_t length = 0;

	while (isalnum((unsigned char)at[length]) || (at[length] && strchr("_-.", at[length])))
		length++;
	return length && at[length] == '=' && at[length + 1] != '=' ? length : 0;
}

bool lab_cursor_word(struct lab_cursor *cursor, struct lab_word *word)
{
	size_t key;
	bool good;

	memset(word, 0, sizeof(*word));
	if (lab_cursor_ends(cursor))
		return false;
	word->place = lab_cursor_place(cursor, cursor->at);
	key = key_length(cursor->at);
	if (key) {
		word->key = lab_arena_text(cursor->arena, cursor->at, key);
		cursor->at += key + 1;
	}
	word->value_place = lab_cursor_place(cursor, cursor->at);
	good = *cursor->at == '"' ? take_quoted(cursor, word) : take_bare(cursor, word);
	if (!good)
		return false;
	if (word->key && word->value_at == word->value_end && !word->quoted) {
		lab_cursor_error(cursor, word->value_place, "%s= has no value", word->key);
		return false;
	}
	word->text = lab_arena_text(cursor->arena, word->value_at,
				    (size_t)(word->value_end - word->value_at));
	return true;
}

const char *lab_cursor_rest(struct lab_cursor *cursor)
{
	const char *start, *end;

	lab_cursor_blanks(cursor);
	start = cursor->at;
	cursor->at += strcspn(cursor->at, "\n");
	end = cursor->at;
	for (const char *c = start; c < end; c++)
		if (*c == '#' && (c == start || c[-1] == ' ' || c[-1] == '\t'))
			end = c;
	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	return lab_arena_text(cursor->arena, start, (size_t)(end - start));
}
