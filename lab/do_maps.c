/*
 * Statements about maps and buffers: mmap, munmap, mprotect, msync.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

#define MAP_BYTES_MAX ((uint64_t)1 << 40)

static const struct {
	const char *name;
	unsigned prot;
} protections[] = {
	{"none", QUIRE_PROT_NONE},
	{"r", QUIRE_PROT_READ},
	{"w", QUIRE_PROT_WRITE},
	{"rw", QUIRE_PROT_READ | QUIRE_PROT_WRITE},
	{"x", QUIRE_PROT_EXEC},
	{"rx", QUIRE_PROT_READ | QUIRE_PROT_EXEC},
	{"rwx", QUIRE_PROT_READ | QUIRE_PROT_WRITE | QUIRE_PROT_EXEC},
};

#define PROTECTIONS (sizeof(protections) / sizeof(protections[0]))

static uint64_t pages_of(uint64_t bytes)
{
	return (bytes + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT;
}

/* --- map ------------------------------------------------------------------------------ */

/* Protection of the flags: read and write where none is given. */
static bool find_prot(struct lab_run *run, const struct lab_statement *s, unsigned *prot)
{
	unsigned found = 0;

	*prot = QUIRE_PROT_READ | QUIRE_PROT_WRITE;
	for (size_t i = 0; i < PROTECTIONS; i++)
		if (lab_flag(s, protections[i].name)) {
			*prot = protections[i].prot;
			found++;
		}
	return found <= 1 ? true : lab_raise(run, s->place, 0, "more than one protection is given");
}

static bool find_flags(struct lab_run *run, const struct lab_statement *s, bool has_file,
		       unsigned *flags)
{
	bool shared = lab_flag(s, "shared"), anonymous = lab_flag(s, "anonymous");

	if (shared == lab_flag(s, "private"))
		return lab_raise(run, s->place, 0, "expected either 'shared' or 'private'");
	if (anonymous == has_file)
		return lab_raise(run, s->place, 0, "expected either a FILE or 'anonymous'");
	*flags = (shared ? QUIRE_MAP_SHARED : QUIRE_MAP_PRIVATE) |
		 (anonymous ? QUIRE_MAP_ANONYMOUS : 0) |
		 (lab_flag(s, "locked") ? QUIRE_MAP_LOCKED : 0);
	return true;
}

static void set_content(struct lab_map *map)
{
	if (map->file && map->shared) {
		map->content = lab_content_get(map->file->content);
		map->content_at = map->offset;
	} else {
		map->content = lab_content_new(map->file ? map->file->content : NULL, map->offset);
		map->content_at = 0;
	}
}

/* Fills the record from the statement's words, but for its address. */
static bool describe_map(struct lab_run *run, const struct lab_statement *s, struct lab_map *map,
			 unsigned *flags)
{
	map->file = lab_argument(s, "FILE") ? lab_file_argument(run, s, "FILE") : NULL;
	if (run->raised.is || !find_flags(run, s, map->file, flags) ||
	    !find_prot(run, s, &map->prot))
		return false;
	map->shared = *flags & QUIRE_MAP_SHARED;
	if (!lab_whole(run, s, "at", &map->offset))
		return false;
	if (map->file && lab_file_bytes(map->file) > map->offset)
		map->bytes = lab_file_bytes(map->file) - map->offset;
	if (!lab_whole(run, s, "size", &map->bytes))
		return false;
	if (!map->file && !lab_argument(s, "size"))
		return lab_raise(run, s->place, 0, "an anonymous map needs size=");
	if (map->bytes > MAP_BYTES_MAX)
		return lab_raise(run, lab_argument(s, "size")->place, 0, "size is at most 1T");
	return true;
}

static bool make_map(struct lab_run *run, const struct lab_statement *s,
		     struct lab_process *process, struct lab_map *map, unsigned flags)
{
	uint64_t address = 0;

	if (!lab_whole(run, s, "address", &address))
		return false;
	map->va = (uintptr_t)address;
	if (address)
		flags |= QUIRE_MAP_FIXED;
	if (!lab_call_result(run, s,
			     quire_mmap(process->space, &map->va, (size_t)map->bytes, map->prot,
					flags, map->file ? map->file->file : NULL, map->offset,
					!lab_flag(s, "readonly")),
			     "map"))
		return false;
	set_content(map);
	map->next = process->maps;
	process->maps = map;
	return true;
}

/* The process, when it has no map of the statement's name yet. */
static struct lab_process *new_map_process(struct lab_run *run, const struct lab_statement *s,
					   const char **name)
{
	struct lab_process *process = lab_current(run, s);

	*name = process ? lab_text(run, s, "NAME") : NULL;
	if (!*name)
		return NULL;
	if (!lab_find_map(process, *name))
		return process;
	lab_raise(run, s->place, 0, "process %s has mapped '%s' already", process->name, *name);
	return NULL;
}

bool lab_do_map(struct lab_run *run, const struct lab_statement *s)
{
	const char *name;
	struct lab_process *process = new_map_process(run, s, &name);
	struct lab_map *map;
	unsigned flags = 0;

	if (!process)
		return false;
	map = lab_new(sizeof(*map));
	map->name = lab_arena_text(&run->arena, name, strlen(name));
	if (describe_map(run, s, map, &flags) && make_map(run, s, process, map, flags))
		return true;
	free(map);
	return false;
}

/* --- buffer --------------------------------------------------------------------------- */

/* The program touches all of its buffer, so that no later copy faults on it. */
static bool touch(struct lab_run *run, const struct lab_statement *s, struct lab_map *map)
{
	for (uint64_t at = 0; at < map->bytes; at += LAB_PIECE_BYTES) {
		size_t piece = map->bytes - at < LAB_PIECE_BYTES ? (size_t)(map->bytes - at)
								 : LAB_PIECE_BYTES;

		lab_content_read(map->content, map->content_at + at, run->bytes, piece);
		if (sim_write(run->world->sim, map->va + (uintptr_t)at, run->bytes, piece))
			return lab_call_result(run, s, -QUIRE_ENOMEM, "buffer");
	}
	return true;
}

bool lab_do_buffer(struct lab_run *run, const struct lab_statement *s)
{
	const char *name;
	struct lab_process *process = new_map_process(run, s, &name);
	struct lab_map *map;
	int fill;

	if (!process)
		return false;
	fill = lab_word(run, s, "fill", 1);
	if (fill < 0)
		return false;
	map = lab_new(sizeof(*map));
	map->name = lab_arena_text(&run->arena, name, strlen(name));
	map->prot = QUIRE_PROT_READ | QUIRE_PROT_WRITE;
	map->is_buffer = true;
	if (!lab_whole(run, s, "size", &map->bytes) ||
	    (map->bytes > MAP_BYTES_MAX &&
	     !lab_raise(run, lab_argument(s, "size")->place, 0, "size is at most 1T")) ||
	    !lab_call_result(run, s,
			     quire_mmap(process->space, &map->va, (size_t)map->bytes, map->prot,
					QUIRE_MAP_PRIVATE | QUIRE_MAP_ANONYMOUS, NULL, 0, false),
			     "buffer")) {
		free(map);
		return false;
	}
	set_content(map);
	map->next = process->maps;
	process->maps = map;
	if (fill == 0)
		lab_content_random(map->content, 0, map->bytes, ++run->keys);
	return touch(run, s, map);
}

/* --- unmap ---------------------------------------------------------------------------- */

static bool any_left(const struct lab_map *map, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i < last; i++)
		if (!map->gone || !map->gone[i])
			return true;
	return false;
}

static void remove_map(struct lab_process *process, struct lab_map *map)
{
	struct lab_map **at = &process->maps;

	while (*at != map)
		at = &(*at)->next;
	*at = map->next;
	lab_free_map(map);
}

bool lab_do_unmap(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_map *map = lab_map_argument(run, s, "MAP");
	struct lab_process *process = map ? lab_current(run, s) : NULL;
	uint64_t at, bytes, first, last, pages;

	if (!map || !lab_map_range(run, s, map, false, &at, &bytes))
		return false;
	first = at >> QUIRE_PAGE_SHIFT;
	last = pages_of(at + bytes);
	pages = pages_of(map->bytes);
	if (!any_left(map, first, last))
		return lab_raise(run, s->place, 0, "nothing of %s is mapped there any more",
				 map->name);
	if (!lab_call_result(run, s,
			     quire_munmap(process->space, map->va + (uintptr_t)at, (size_t)bytes),
			     "unmap"))
		return false;
	if (!map->gone)
		map->gone = lab_new(pages);
	memset(map->gone + first, 1, last - first);
	if (!any_left(map, 0, pages))
		remove_map(process, map);
	return true;
}

/* --- protect, msync ------------------------------------------------------------------- */

bool lab_do_protect(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_map *map = lab_map_argument(run, s, "MAP");
	int word = map ? lab_word(run, s, "PROTECTION", -1) : -1;
	uint64_t at, bytes;

	if (word < 0 || !lab_map_range(run, s, map, true, &at, &bytes))
		return false;
	return lab_call_result(run, s,
			       quire_mprotect(lab_current(run, s)->space, map->va + (uintptr_t)at,
					      (size_t)bytes, protections[word].prot),
			       "protect");
}

bool lab_do_msync(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_map *map = lab_map_argument(run, s, "MAP");
	uint64_t at, bytes;
	unsigned flags = (lab_flag(s, "async") ? QUIRE_MS_ASYNC : 0) |
			 (lab_flag(s, "sync") ? QUIRE_MS_SYNC : 0) |
			 (lab_flag(s, "invalidate") ? QUIRE_MS_INVALIDATE : 0);

	if (!map || !lab_map_range(run, s, map, true, &at, &bytes))
		return false;
	if (!flags)
		return lab_raise(run, s->place, 0, "expected: %s", s->rule->usage);
	return lab_call_result(run, s,
			       quire_msync(lab_current(run, s)->space, map->va + (uintptr_t)at,
					   (size_t)bytes, flags),
			       "msync");
}
