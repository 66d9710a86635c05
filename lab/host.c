/*
 * Memory and text of the laboratory's own records.
 */
#define _GNU_SOURCE

#include "lab/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"

#define ARENA_BLOCK_BYTES ((size_t)16 << 10)

struct lab_arena_block {
	struct lab_arena_block *next;
	size_t used, bytes;
	_Alignas(max_align_t) char memory[];
};

static void *need(void *memory)
{
	if (!memory) {
		fputs("quire: the host has no memory left\n", stderr);
		exit(LAB_INTERNAL);
	}
	return memory;
}

void *lab_new(size_t bytes)
{
	return need(calloc(1, bytes ? bytes : 1));
}

void *lab_grow(void *memory, size_t bytes)
{
	return need(realloc(memory, bytes ? bytes : 1));
}

char *lab_copy_text(const char *text, size_t bytes)
{
	char *copy = lab_new(bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

char *lab_format_list(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	return need(text);
}

char *lab_format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = lab_format_list(format, arguments);
	va_end(arguments);
	return text;
}

void *lab_arena_new(struct lab_arena *arena, size_t bytes)
{
	struct lab_arena_block *block = arena->blocks;
	size_t aligned = (bytes + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	void *memory;

	if (!block || block->bytes - block->used < aligned) {
		size_t room = aligned > ARENA_BLOCK_BYTES ? aligned : ARENA_BLOCK_BYTES;

		block = lab_new(sizeof(*block) + room);
		block->bytes = room;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	memory = block->memory + block->used;
	block->used += aligned;
	return memory;
}

char *lab_arena_text(struct lab_arena *arena, const char *text, size_t bytes)
{
	char *copy = lab_arena_new(arena, bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

void lab_arena_free(struct lab_arena *arena)
{
	while (arena->blocks) {
		struct lab_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
}
