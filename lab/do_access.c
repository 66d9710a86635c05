/*
 * load, store and execute: what programs do to their memory; and what a debugger does to it.
 *
 * Without stride= every byte of the range is accessed, in order, as a copy loop would. With it, one
 * word (8 bytes, of instructions 4) at each stride, in the order asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

#define WORD_BYTES 8u
#define INSN_BYTES 4u
#define ORDER_SEED 0x51u /* random orders: the same in every run */

enum { ASCENDING, DESCENDING, RANDOM };

struct walk {
	struct lab_map *map;
	uint64_t at, bytes, stride; /* stride 0: every byte */
	uint64_t count;
	int order;
	uint32_t *permutation;
};

/* Where the map's file ends, in bytes of its content. */
static uint64_t content_end(const struct lab_map *map)
{
	uint64_t bytes;

	if (!map->file || !map->file->file)
		return UINT64_MAX;
	bytes = lab_file_bytes(map->file);
	if (map->shared)
		return bytes;
	return bytes > map->offset ? bytes - map->offset : 0;
}

/*
 * What of the map's content is defined: to the end of the page that the file ends in, where zeros
 * are (POSIX, mmap) unless somebody has stored something else there (note_store).
 */
static uint64_t content_limit(const struct lab_map *map)
{
	uint64_t end = content_end(map);

	return end > UINT64_MAX - QUIRE_PAGE_MASK
		       ? end
		       : (end + QUIRE_PAGE_MASK) & ~(uint64_t)QUIRE_PAGE_MASK;
}

/* --- Order ---------------------------------------------------------------------------- */

static void shuffle(struct walk *w)
{
	uint64_t state = ORDER_SEED;

	w->permutation = lab_new(w->count * sizeof(*w->permutation));
	for (uint32_t i = 0; i < w->count; i++)
		w->permutation[i] = i;
	for (uint64_t i = w->count - 1; i > 0; i--) {
		uint64_t j;
		uint32_t swap;

		state = lab_random_seed(state, i);
		j = state % (i + 1);
		swap = w->permutation[i];
		w->permutation[i] = w->permutation[j];
		w->permutation[j] = swap;
	}
}

static uint64_t offset_of(const struct walk *w, uint64_t step)
{
	if (w->order == DESCENDING)
		step = w->count - 1 - step;
	else if (w->order == RANDOM)
		step = w->permutation[step];
	return w->at + step * w->stride;
}

static bool check_walk(struct lab_run *run, const struct lab_statement *s, const struct walk *w,
		       unsigned word)
{
	if (w->stride == 0)
		return lab_argument(s, "order") ? lab_raise(run, lab_argument(s, "order")->place, 0,
							    "order= needs stride=")
						: true;
	if (w->stride % word || w->at % word)
		return lab_raise(run, s->place, 0, "at= and stride= must be multiples of %u", word);
	if (w->bytes < word)
		return lab_raise(run, s->place, 0, "the range is shorter than a word of %u bytes",
				 word);
	if ((w->bytes - word) / w->stride >= UINT32_MAX)
		return lab_raise(run, s->place, 0, "more than 2^32 accesses");
	return true;
}

static bool begin_walk(struct lab_run *run, const struct lab_statement *s, unsigned word,
		       uint64_t stride, struct walk *w)
{
	*w = (struct walk){.map = lab_map_argument(run, s, "MAP"), .stride = stride};
	if (!w->map || !lab_map_range(run, s, w->map, false, &w->at, &w->bytes))
		return false;
	if (!lab_whole(run, s, "stride", &w->stride))
		return false;
	if (lab_argument(s, "stride") && w->stride == 0)
		return lab_raise(run, lab_argument(s, "stride")->place, 0, "stride must not be 0");
	w->order = lab_word(run, s, "order", ASCENDING);
	if (w->order < 0 || !check_walk(run, s, w, word))
		return false;
	if (w->stride)
		w->count = (w->bytes - word) / w->stride + 1;
	if (w->order == RANDOM)
		shuffle(w);
	return true;
}

/* One access of the walk; 0 or an error. */
typedef int access_word(struct lab_run *run, const struct lab_statement *s, const struct walk *w,
			uint64_t at);

static bool by_words(struct lab_run *run, const struct lab_statement *s, struct walk *w,
		     access_word *access)
{
	bool good = true;

	for (uint64_t i = 0; good && i < w->count; i++) {
		int error = access(run, s, w, offset_of(w, i));

		good = lab_call_result(run, s, error, s->rule->word) &&
		       (i % 4096 || lab_go_on(run, s, (double)i / (double)w->count));
	}
	free(w->permutation);
	return good;
}

/* --- load ----------------------------------------------------------------------------- */

static void verify_map(struct lab_run *run, const struct lab_statement *s,
		       const struct lab_map *map, uint64_t at, const void *got, size_t bytes)
{
	char what[96];

	snprintf(what, sizeof(what), "%s of %s", s->rule->word, map->name);
	lab_verify(run, s, map->content, map->content_at + at, got, bytes, content_limit(map),
		   what);
}

static int load_word(struct lab_run *run, const struct lab_statement *s, const struct walk *w,
		     uint64_t at)
{
	uint64_t value;
	int error = sim_load(run->world->sim, w->map->va + (uintptr_t)at, WORD_BYTES, &value);

	if (!error)
		verify_map(run, s, w->map, at, &value, WORD_BYTES);
	return error;
}

static size_t piece_of(const struct walk *w, uint64_t done)
{
	return w->bytes - done < LAB_PIECE_BYTES ? (size_t)(w->bytes - done) : LAB_PIECE_BYTES;
}

/* A bulk access ended before `at`: the error that one load or store there meets. */
static int error_at(struct lab_run *run, uintptr_t va, bool store)
{
	uint64_t value = 0;
	int error = store ? sim_store(run->world->sim, va, 1, 0)
			  : sim_load(run->world->sim, va, 1, &value);

	return error ? error : -QUIRE_EFAULT;
}

bool lab_do_load(struct lab_run *run, const struct lab_statement *s)
{
	struct walk w;

	if (!begin_walk(run, s, WORD_BYTES, 0, &w))
		return false;
	if (w.stride)
		return by_words(run, s, &w, load_word);
	for (uint64_t done = 0; done < w.bytes; done += piece_of(&w, done)) {
		size_t piece = piece_of(&w, done);
		uintptr_t va = w.map->va + (uintptr_t)(w.at + done);
		size_t left = sim_read(run->world->sim, va, run->bytes, piece);

		verify_map(run, s, w.map, w.at + done, run->bytes, piece - left);
		if (left)
			return lab_call_result(run, s, error_at(run, va + piece - left, false),
					       "load");
		if (!lab_go_on(run, s, (double)done / (double)w.bytes))
			return false;
	}
	return true;
}

/* --- store ---------------------------------------------------------------------------- */

/* Stored beyond the end of a file: no longer known what extending the file will show. */
static void note_store(const struct lab_map *map, uint64_t at, uint64_t bytes)
{
	uint64_t limit = content_end(map), end = map->content_at + at + bytes;

	if (map->shared && map->file && end > limit) {
		uint64_t from = map->content_at + at > limit ? map->content_at + at : limit;

		lab_content_forget(map->content, from, end - from);
	}
}

struct pattern {
	bool random;
	uint64_t key, value;
};

static void put_pattern(const struct pattern *pattern, const struct lab_map *map, uint64_t at,
			size_t bytes)
{
	uint64_t words[QUIRE_PAGE_BYTES / 8];

	lab_content_own(map->content, map->content_at + at, bytes);
	if (pattern->random) {
		lab_content_random(map->content, map->content_at + at, bytes, pattern->key);
		return;
	}
	for (size_t i = 0; i < QUIRE_PAGE_BYTES / 8; i++)
		words[i] = pattern->value;
	for (size_t done = 0; done < bytes;) {
		size_t piece = bytes - done < sizeof(words) ? bytes - done : sizeof(words);

		lab_content_write(map->content, map->content_at + at + done, words, piece);
		done += piece;
	}
}

static bool find_pattern(struct lab_run *run, const struct lab_statement *s,
			 struct pattern *pattern)
{
	*pattern = (struct pattern){.random = !lab_argument(s, "value")};
	if (pattern->random)
		pattern->key = ++run->keys;
	return lab_whole(run, s, "value", &pattern->value);
}

static bool store_words(struct lab_run *run, const struct lab_statement *s, struct walk *w,
			const struct pattern *pattern)
{
	bool good = true;

	for (uint64_t i = 0; good && i < w->count; i++) {
		uint64_t at = offset_of(w, i), value = pattern->value;
		int error;

		if (pattern->random)
			value = lab_random_seed(pattern->key, at);
		error = sim_store(run->world->sim, w->map->va + (uintptr_t)at, WORD_BYTES, value);
		good = lab_call_result(run, s, error, "store");
		if (good) {
			lab_content_write(w->map->content, w->map->content_at + at, &value,
					  WORD_BYTES);
			note_store(w->map, at, WORD_BYTES);
			good = i % 4096 || lab_go_on(run, s, (double)i / (double)w->count);
		}
	}
	free(w->permutation);
	return good;
}

/* One piece in bulk. What a store that ended in the middle left is not known. */
static bool store_piece(struct lab_run *run, const struct lab_statement *s, const struct walk *w,
			const struct pattern *pattern, uint64_t at, size_t bytes)
{
	uintptr_t va = w->map->va + (uintptr_t)at;
	size_t left;

	put_pattern(pattern, w->map, at, bytes);
	lab_content_read(w->map->content, w->map->content_at + at, run->bytes, bytes);
	left = sim_write(run->world->sim, va, run->bytes, bytes);
	note_store(w->map, at, bytes);
	if (!left)
		return true;
	lab_content_forget(w->map->content, w->map->content_at + at + bytes - left, left);
	return lab_call_result(run, s, error_at(run, va + bytes - left, true), "store");
}

bool lab_do_store(struct lab_run *run, const struct lab_statement *s)
{
	struct pattern pattern;
	struct walk w;

	if (!find_pattern(run, s, &pattern) || !begin_walk(run, s, WORD_BYTES, 0, &w))
		return false;
	if (w.stride)
		return store_words(run, s, &w, &pattern);
	for (uint64_t done = 0; done < w.bytes; done += piece_of(&w, done)) {
		if (!store_piece(run, s, &w, &pattern, w.at + done, piece_of(&w, done)))
			return false;
		if (!lab_go_on(run, s, (double)done / (double)w.bytes))
			return false;
	}
	return true;
}

/* --- execute -------------------------------------------------------------------------- */

static int fetch_word(struct lab_run *run, const struct lab_statement *s, const struct walk *w,
		      uint64_t at)
{
	uint64_t value;
	int error = sim_fetch(run->world->sim, w->map->va + (uintptr_t)at, &value);

	if (!error)
		verify_map(run, s, w->map, at, &value, INSN_BYTES);
	return error;
}

bool lab_do_execute(struct lab_run *run, const struct lab_statement *s)
{
	struct walk w;

	if (!begin_walk(run, s, INSN_BYTES, run->machine->sim.l1i.line_bytes, &w))
		return false;
	return by_words(run, s, &w, fetch_word);
}

/* --- The debugger --------------------------------------------------------------------- */

struct debugged {
	struct lab_process *process;
	struct lab_map *map;
	uint64_t at, bytes;
};

static bool find_debugged(struct lab_run *run, const struct lab_statement *s, struct debugged *d)
{
	const char *name;

	d->process = lab_process_argument(run, s, "PROCESS");
	name = d->process ? lab_text(run, s, "map") : NULL;
	d->map = name ? lab_find_map(d->process, name) : NULL;
	if (name && !d->map)
		lab_raise(run, lab_argument(s, "map")->place, 0,
			  "process %s has not mapped '%s' here", d->process->name, name);
	return d->map && lab_map_range(run, s, d->map, false, &d->at, &d->bytes);
}

static bool debug_piece(struct lab_run *run, const struct lab_statement *s,
			const struct debugged *d, uint64_t done, size_t piece, bool write)
{
	int64_t result =
		quire_space_access(d->process->space, d->map->va + (uintptr_t)(d->at + done),
				   run->world->scratch, piece, write);

	if (!lab_call_result(run, s, result, s->rule->word))
		return false;
	return (size_t)result == piece || lab_call_result(run, s, -QUIRE_EFAULT, s->rule->word);
}

bool lab_do_debug_load(struct lab_run *run, const struct lab_statement *s)
{
	struct debugged d;

	if (!find_debugged(run, s, &d))
		return false;
	for (uint64_t done = 0; done < d.bytes; done += LAB_SCRATCH_BYTES) {
		size_t piece = d.bytes - done < LAB_SCRATCH_BYTES ? (size_t)(d.bytes - done)
								  : LAB_SCRATCH_BYTES;

		lab_world_syscall(run->world);
		if (!debug_piece(run, s, &d, done, piece, false))
			return false;
		sim_read(run->world->sim, run->world->scratch, run->bytes, piece);
		verify_map(run, s, d.map, d.at + done, run->bytes, piece);
	}
	return true;
}

bool lab_do_debug_store(struct lab_run *run, const struct lab_statement *s)
{
	struct pattern pattern = {.random = true, .key = ++run->keys};
	struct debugged d;

	if (!find_debugged(run, s, &d))
		return false;
	for (uint64_t done = 0; done < d.bytes; done += LAB_SCRATCH_BYTES) {
		size_t piece = d.bytes - done < LAB_SCRATCH_BYTES ? (size_t)(d.bytes - done)
								  : LAB_SCRATCH_BYTES;

		put_pattern(&pattern, d.map, d.at + done, piece);
		lab_content_read(d.map->content, d.map->content_at + d.at + done, run->bytes,
				 piece);
		sim_write(run->world->sim, run->world->scratch, run->bytes, piece);
		lab_world_syscall(run->world);
		if (!debug_piece(run, s, &d, done, piece, true))
			return false;
		note_store(d.map, d.at + done, piece);
	}
	return true;
}
