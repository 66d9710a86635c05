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
	uint64_t skip; /* into the buffer */
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

	if (t->chunk > 0 && t->chunk <= t->buffer->bytes - t->skip)
		return true;
	return lab_raise(run, value ? value->place : s->place, 0,
			 "chunk=%llu, expected 1 to the %llu bytes of %s",
			 (unsigned long long)t->chunk,
			 (unsigned long long)(t->buffer->bytes - t->skip), t->buffer->name);
}

static bool find_skip(struct lab_run *run, const struct lab_statement *s, struct transfer *t)
{
	if (!lab_whole(run, s, "skip", &t->skip))
		return false;
	if (t->skip < t->buffer->bytes || !lab_argument(s, "skip"))
		return true;
	return lab_raise(run, lab_argument(s, "skip")->place, 0,
			 "skip=%llu, but %s has %llu bytes", (unsigned long long)t->skip,
			 t->buffer->name, (unsigned long long)t->buffer->bytes);
}

static bool prepare(struct lab_run *run, const struct lab_statement *s, const char *key,
		    struct transfer *t)
{
	*t = (struct transfer){.file = lab_file_argument(run, s, "FILE")};
	t->buffer = t->file ? find_buffer(run, s, key) : NULL;
	if (!t->buffer || !lab_whole(run, s, "at", &t->at) || !find_skip(run, s, t))
		return false;
	t->chunk = t->buffer->bytes - t->skip;
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

		if (sim_peek(run->world->sim, t->buffer->va + (uintptr_t)(t->skip + done),
			     run->bytes, piece) == 0)
			lab_verify(run, s, t->file->content, at + done, run->bytes, piece,
				   UINT64_MAX, what);
		done += piece;
	}
	if (t->buffer->content != t->file->content || t->buffer->content_at + t->skip != at)
		lab_content_copy(t->buffer->content, t->buffer->content_at + t->skip,
				 t->file->content, at, bytes);
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

		result = quire_read(t.file->file, t.at + done, t.buffer->va + (uintptr_t)t.skip,
				    (size_t)piece);
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

	lab_content_random(t->buffer->content, t->buffer->content_at + t->skip, bytes, ++run->keys);
	while (done < bytes) {
		size_t piece =
			bytes - done < LAB_PIECE_BYTES ? (size_t)(bytes - done) : LAB_PIECE_BYTES;

		lab_content_read(t->buffer->content, t->buffer->content_at + t->skip + done,
				 run->bytes, piece);
		if (sim_write(run->world->sim, t->buffer->va + (uintptr_t)(t->skip + done),
			      run->bytes, piece))
			return lab_call_result(run, s, -QUIRE_SIGSEGV, "filling the buffer");
		done += piece;
	}
	return true;
}

/* One piece as programs write it: after a short result they go on with what is left of it. */
static bool write_piece(struct lab_run *run, const struct lab_statement *s,
			const struct transfer *t, uint64_t at, uint64_t piece)
{
	uint64_t done = 0;

	while (done < piece) {
		uint64_t from = t->skip + done;
		int64_t result = quire_write(t->file->file, at + done,
					     t->buffer->va + (uintptr_t)from,
					     (size_t)(piece - done));

		if (result > 0) {
			lab_content_copy(t->file->content, at + done, t->buffer->content,
					 t->buffer->content_at + from, (uint64_t)result);
			run->done_bytes += (uint64_t)result;
			done += (uint64_t)result;
		} else if (!lab_call_result(run, s, result ? result : -QUIRE_EIO, "write")) {
			return false;
		}
	}
	return true;
}

bool lab_do_write(struct lab_run *run, const struct lab_statement *s)
{
	struct transfer t;
	uint64_t done = 0;

	if (!prepare(run, s, "from", &t))
		return false;
	t.bytes = t.buffer->bytes - t.skip;
	t.fresh = lab_flag(s, "fresh");
	if (!lab_whole(run, s, "size", &t.bytes))
		return false;
	run->done_bytes = 0;
	while (done < t.bytes) {
		uint64_t piece = t.bytes - done < t.chunk ? t.bytes - done : t.chunk;

		if (t.fresh && !refill(run, s, &t, piece))
			return false;
		if (!write_piece(run, s, &t, t.at + done, piece))
			return false;
		done += piece;
		if (!lab_go_on(run, s, (double)done / (double)t.bytes))
			return false;
	}
	return true;
}
