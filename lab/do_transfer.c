/*
 * read and write: system calls in a loop, as programs make them.
 *
 * What a read brought into the user's buffer is looked at without simulated cost (sim_peek) and
 * compared with what the file should hold.
 */
#include "lab/interpret.h"

#include <stdio.h>

struct transfer {
	struct lab_file *file;
	struct lab_map *buffer;
	uint64_t at, bytes, chunk;
	bool fresh;
};

/* The buffer named, or the process's latest one. */
static struct lab_map *find_buffer(struct lab_run *run, const struct lab_statement *s,
				   const char *key)
{
	struct lab_process *process = lab_current(run, s);
	struct lab_map *map;

	if (!process)
		return NULL;
	if (lab_argument(s, key))
		return lab_map_argument(run, s, key);
	for (map = process->maps; map; map = map->next)
		if (map->is_buffer)
			return map;
	lab_raise(run, s->place, 0,
		  "process %s has no buffer; expected 'buffer NAME size=BYTES' before, or %s=MAP",
		  process->name, key);
	return NULL;
}

static bool check_chunk(struct lab_run *run, const struct lab_statement *s,
			const struct transfer *t)
{
	const struct lab_value *value = lab_argument(s, "chunk");

	if (t->chunk > 0 && t->chunk <= t->buffer->bytes)
		return true;
	return lab_raise(run, value ? value->place : s->place, 0,
			 "chunk=%llu, expected 1 to the %llu bytes of %s",
			 (unsigned long long)t->chunk, (unsigned long long)t->buffer->bytes,
			 t->buffer->name);
}

static bool prepare(struct lab_run *run, const struct lab_statement *s, const char *key,
		    struct transfer *t)
{
	*t = (struct transfer){.file = lab_file_argument(run, s, "FILE")};
	t->buffer = t->file ? find_buffer(run, s, key) : NULL;
	if (!t->buffer || !lab_whole(run, s, "at", &t->at))
		return false;
	t->chunk = t->buffer->bytes;
	return lab_whole(run, s, "chunk", &t->chunk) && check_chunk(run, s, t);
}

/* The buffer's content is now what was read, whatever the file is later. */
static void verify_read(struct lab_run *run, const struct lab_statement *s,
			const struct transfer *t, uint64_t at, uint64_t bytes)
{
	char what[96];
	uint64_t done = 0;

	snprintf(what, sizeof(what), "read of %s", t->file->name);
	while (done < bytes) {
		size_t piece =
			bytes - done < LAB_PIECE_BYTES ? (size_t)(bytes - done) : LAB_PIECE_BYTES;

		if (sim_peek(run->world->sim, t->buffer->va + (uintptr_t)done, run->bytes, piece) ==
		    0)
			lab_verify(run, s, t->file->content, at + done, run->bytes, piece,
				   UINT64_MAX, what);
		done += piece;
	}
	if (t->buffer->content != t->file->content)
		lab_content_copy(t->buffer->content, t->buffer->content_at, t->file->content, at,
				 bytes);
}

bool lab_do_read(struct lab_run *run, const struct lab_statement *s)
{
	struct transfer t;
	uint64_t done = 0;

	if (!prepare(run, s, "into", &t))
		return false;
	t.bytes = lab_file_bytes(t.file) > t.at ? lab_file_bytes(t.file) - t.at : 0;
	if (!lab_whole(run, s, "size", &t.bytes))
		return false;
	while (done < t.bytes) {
		uint64_t piece = t.bytes - done < t.chunk ? t.bytes - done : t.chunk;
		int64_t result;

		result = quire_read(t.file->file, t.at + done, t.buffer->va, (size_t)piece);
		run->done_bytes = done + (result > 0 ? (uint64_t)result : 0);
		if (!lab_call_result(run, s, result, "read"))
			return false;
		if (result == 0)
			break;
		verify_read(run, s, &t, t.at + done, (uint64_t)result);
		done += (uint64_t)result;
		if (!lab_go_on(run, s, (double)done / (double)t.bytes))
			return false;
	}
	return true;
}

/* The program puts new data into its buffer. */
static bool refill(struct lab_run *run, const struct lab_statement *s, const struct transfer *t,
		   uint64_t bytes)
{
	uint64_t done = 0;

	lab_content_random(t->buffer->content, t->buffer->content_at, bytes, ++run->keys);
	while (done < bytes) {
		size_t piece =
			bytes - done < LAB_PIECE_BYTES ? (size_t)(bytes - done) : LAB_PIECE_BYTES;

		lab_content_read(t->buffer->content, t->buffer->content_at + done, run->bytes,
				 piece);
		if (sim_write(run->world->sim, t->buffer->va + (uintptr_t)done, run->bytes, piece))
			return lab_call_result(run, s, -QUIRE_SIGSEGV, "filling the buffer");
		done += piece;
	}
	return true;
}

bool lab_do_write(struct lab_run *run, const struct lab_statement *s)
{
	struct transfer t;
	uint64_t done = 0;

	if (!prepare(run, s, "from", &t))
		return false;
	t.bytes = t.buffer->bytes;
	t.fresh = lab_flag(s, "fresh");
	if (!lab_whole(run, s, "size", &t.bytes))
		return false;
	while (done < t.bytes) {
		uint64_t piece = t.bytes - done < t.chunk ? t.bytes - done : t.chunk;
		int64_t result;

		if (t.fresh && !refill(run, s, &t, piece))
			return false;
		result = quire_write(t.file->file, t.at + done, t.buffer->va, (size_t)piece);
		run->done_bytes = done + (result > 0 ? (uint64_t)result : 0);
		if (!lab_call_result(run, s, result == 0 ? -QUIRE_EIO : result, "write"))
			return false;
		lab_content_copy(t.file->content, t.at + done, t.buffer->content,
				 t.buffer->content_at, (uint64_t)result);
		done += (uint64_t)result;
		if (!lab_go_on(run, s, (double)done / (double)t.bytes))
			return false;
	}
	return true;
}
