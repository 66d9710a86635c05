/*
 * Memory and text of the laboratory's own records, on the host.
 *
 * A program for people has no use for a half-made script when the host has no memory left: these
 * calls return memory or end the program with a message and LAB_INTERNAL. Simulated memory is
 * another thing.
 */
#ifndef LAB_HOST_H
#define LAB_HOST_H

#include <stdarg.h>
#include <stddef.h>

void *lab_new(size_t bytes); /* zeroed; free() it */
void *lab_grow(void *memory, size_t bytes);
char *lab_copy_text(const char *text, size_t bytes);
char *lab_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *lab_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* An arena: many small records that end together. */
struct lab_arena {
	struct lab_arena_block *blocks;
};

void *lab_arena_new(struct lab_arena *arena, size_t bytes); /* zeroed */
char *lab_arena_text(struct lab_arena *arena, const char *text, size_t bytes);
void lab_arena_free(struct lab_arena *arena);

#endif
