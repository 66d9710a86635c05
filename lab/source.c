/*
 * What every reader of input shares: files as text, places in them, nearest names, sizes.
 *
 * A message of bad input always has the same form: the place, what is wrong, the line and a mark
 * below the column. So that an editor can jump there and a person sees it without one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lab/lab.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define NAME_BYTES_MAX 64

/* The start of line `line`, counted from 1; NULL beyond the end. */
static const char *find_line(const struct lab_source *source, unsigned line)
{
	const char *at = source->text;

	while (at && --line > 0) {
		at = strchr(at, '\n');
		if (at)
			at++;
	}
	return at;
}

/* Prints a line of the file and a mark below its column; tabs are kept, so that both stay aligned.
 */
static void print_line(FILE *to, const char *text, unsigned column)
{
	size_t length = strcspn(text, "\r\n");

	fprintf(to, "    %.*s\n    ", (int)(length < 500 ? length : 500), text);
	for (size_t i = 0; i + 1 < column && i < length; i++)
		fputc(text[i] == '\t' ? '\t' : ' ', to);
	fputs("^\n", to);
}

void lab_error_at(FILE *to, const struct lab_source *source, unsigned line, unsigned column,
		  const char *format, ...)
{
	const char *text = line && source->text ? find_line(source, line) : NULL;
	va_list arguments;

	if (line)
		fprintf(to, "%s:%u:%u: ", source->file, line, column);
	else
		fprintf(to, "%s: ", source->file);
	va_start(arguments, format);
	vfprintf(to, format, arguments);
	va_end(arguments);
	fputc('\n', to);
	if (text)
		print_line(to, text, column);
}

/* Reads up to one byte more than allowed, so that a file that is too large is known as such. */
static char *read_stream(FILE *from, size_t *bytes)
{
	char *text = malloc(FILE_BYTES_MAX + 2);

	if (!text)
		return NULL;
	*bytes = fread(text, 1, FILE_BYTES_MAX + 1, from);
	text[*bytes] = '\0';
	return text;
}

/* What is wrong with the bytes as a text file; NULL: nothing. */
static const char *not_text(const char *text, size_t bytes)
{
	if (bytes == 0)
		return "the file is empty";
	if (memchr(text, '\0', bytes))
		return "a binary file (it has a NUL byte), expected text";
	if (bytes > FILE_BYTES_MAX)
		return "the file is larger than 1 MiB";
	return NULL;
}

char *lab_read_file(FILE *errors, const char *path, size_t *bytes)
{
	struct lab_source source = {.file = path};
	FILE *from = fopen(path, "r");
	const char *wrong = NULL;
	struct stat status;
	char *text;

	if (!from) {
		lab_error_at(errors, &source, 0, 0, "cannot be read: %s", strerror(errno));
		return NULL;
	}
	if (fstat(fileno(from), &status) == 0 && S_ISDIR(status.st_mode)) {
		lab_error_at(errors, &source, 0, 0, "is a directory, expected a file");
		fclose(from);
		return NULL;
	}
	text = read_stream(from, bytes);
	if (!text)
		wrong = "not enough memory";
	else if (ferror(from))
		wrong = "cannot be read";
	else
		wrong = not_text(text, *bytes);
	fclose(from);
	if (!wrong)
		return text;
	lab_error_at(errors, &source, 0, 0, "%s", wrong);
	free(text);
	return NULL;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, removals, changes and exchanges of neighbours that make one name of the other. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned rows[3][NAME_BYTES_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *free_row = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned change = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);

			row[j] = least(change, least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = free_row;
	}
	return last[b_length];
}

const char *lab_nearest(const char *name, const char *const *names, size_t count)
{
	size_t length = strlen(name);
	unsigned best = length / 3 > 2 ? (unsigned)(length / 3) + 1 : length > 3 ? 3 : 2;
	const char *nearest = NULL;

	if (length == 0 || length > NAME_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t other = strlen(names[i]);
		unsigned away;

		if (other > NAME_BYTES_MAX)
			continue;
		away = distance(name, length, names[i], other);
		if (length >= 3 && other > length && strncmp(name, names[i], length) == 0)
			away = least(away, 1);
		if (away < best && away < other) {
			best = away;
			nearest = names[i];
		}
	}
	return nearest;
}

/* The power of 1024 that a suffix stands for; -1: it is none. */
static int size_power(const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *at;

	if (!*suffix)
		return 0;
	at = strchr(letters, toupper((unsigned char)*suffix));
	if (!at || suffix[1])
		return -1;
	return (int)(at - letters) + 1;
}

bool lab_parse_size(const char *text, uint64_t *bytes)
{
	unsigned __int128 value = 0;
	uint64_t scale = 1;
	unsigned digits = 0;
	bool point = false;
	int power;

	for (; isdigit((unsigned char)*text) || (*text == '.' && !point && digits); text++) {
		if (*text == '.') {
			point = true;
			if (!isdigit((unsigned char)text[1]))
				return false;
			continue;
		}
		if (++digits > 30)
			return false;
		value = value * 10 + (unsigned)(*text - '0');
		if (point && scale >= 1000000000000u)
			return false;
		if (point)
			scale *= 10;
	}
	power = size_power(text);
	if (!digits || power < 0 || value >> 80)
		return false;
	value <<= 10 * power;
	if (value % scale || value / scale > UINT64_MAX)
		return false;
	*bytes = (uint64_t)(value / scale);
	return true;
}
