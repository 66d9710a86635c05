/*
 * What has a name in a running script: file systems, files, processes and their maps.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

struct lab_mount *lab_find_mount(struct lab_run *run, const char *name)
{
	struct lab_mount *mount = run->mounts;

	while (mount && strcmp(mount->name, name) != 0)
		mount = mount->next;
	return mount;
}

struct lab_file *lab_find_file(struct lab_run *run, const char *name)
{
	struct lab_file *file = run->files;

	while (file && strcmp(file->name, name) != 0)
		file = file->next;
	return file;
}

/* The one that lives, of those with the name. */
struct lab_process *lab_find_process(struct lab_run *run, const char *name)
{
	struct lab_process *process = run->processes;

	while (process && (!process->space || strcmp(process->name, name) != 0))
		process = process->next;
	return process;
}

struct lab_map *lab_find_map(struct lab_process *process, const char *name)
{
	struct lab_map *map = process->maps;

	while (map && strcmp(map->name, name) != 0)
		map = map->next;
	return map;
}

/* --- Arguments ------------------------------------------------------------------------ */

static struct lab_place place_of(const struct lab_statement *s, const char *name)
{
	return lab_argument(s, name)->place;
}

struct lab_mount *lab_mount_argument(struct lab_run *run, const struct lab_statement *s,
				     const char *name)
{
	const char *text = lab_text(run, s, name);
	struct lab_mount *mount = text ? lab_find_mount(run, text) : NULL;

	if (mount && mount->fs)
		return mount;
	if (text)
		lab_raise(run, place_of(s, name), 0, "no file system is mounted as '%s' here",
			  text);
	return NULL;
}

struct lab_file *lab_file_argument(struct lab_run *run, const struct lab_statement *s,
				   const char *name)
{
	const char *text = lab_text(run, s, name);
	struct lab_file *file = text ? lab_find_file(run, text) : NULL;

	if (file && file->file)
		return file;
	if (text)
		lab_raise(run, place_of(s, name), 0, "no file '%s' is open here", text);
	return NULL;
}

struct lab_process *lab_process_argument(struct lab_run *run, const struct lab_statement *s,
					 const char *name)
{
	const char *text = lab_text(run, s, name);
	struct lab_process *process = text ? lab_find_process(run, text) : NULL;

	if (text && !process)
		lab_raise(run, place_of(s, name), 0, "there is no process '%s' here", text);
	return process;
}

struct lab_process *lab_current(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_process *process = run->current[sim_cpu(run->world->sim)];

	if (!process)
		lab_raise(run, s->place, 0,
			  "no process runs on CPU %u; expected 'process NAME' or 'use NAME' before",
			  sim_cpu(run->world->sim));
	return process;
}

struct lab_map *lab_map_argument(struct lab_run *run, const struct lab_statement *s,
				 const char *name)
{
	struct lab_process *process = lab_current(run, s);
	const char *text = process ? lab_text(run, s, name) : NULL;
	struct lab_map *map = text ? lab_find_map(process, text) : NULL;

	if (text && !map)
		lab_raise(run, place_of(s, name), 0, "process %s has not mapped '%s' here",
			  process->name, text);
	return map;
}

uint64_t lab_file_bytes(const struct lab_file *file)
{
	struct quire_stat stat;

	quire_file_stat(file->file, &stat);
	return stat.bytes;
}

bool lab_map_range(struct lab_run *run, const struct lab_statement *s, const struct lab_map *map,
		   bool beyond, uint64_t *at, uint64_t *bytes)
{
	const struct lab_value *value;

	*at = 0;
	if (!lab_whole(run, s, "at", at))
		return false;
	if (*at >= map->bytes && !beyond)
		return lab_raise(run, place_of(s, "at"), 0,
				 "at=%llu lies beyond %s, which has %llu bytes",
				 (unsigned long long)*at, map->name,
				 (unsigned long long)map->bytes);
	*bytes = *at < map->bytes ? map->bytes - *at : 0;
	value = lab_argument(s, "size");
	if (!lab_whole(run, s, "size", bytes))
		return false;
	if (!*bytes)
		return lab_raise(run, value ? value->place : s->place, 0, "size must not be 0");
	if (*bytes > map->bytes - *at && !beyond)
		return lab_raise(run, value->place, 0,
				 "the range ends beyond %s, which has %llu bytes", map->name,
				 (unsigned long long)map->bytes);
	return true;
}

/* --- Ends ----------------------------------------------------------------------------- */

void lab_free_map(struct lab_map *map)
{
	lab_content_put(map->content);
	free(map->gone);
	free(map);
}

static void free_maps(struct lab_process *process)
{
	while (process->maps) {
		struct lab_map *next = process->maps->next;

		lab_free_map(process->maps);
		process->maps = next;
	}
}

void lab_end_process(struct lab_run *run, struct lab_process *process)
{
	struct lab_world *world = run->world;
	unsigned here = sim_cpu(world->sim);

	for (unsigned cpu = 0; cpu < run->machine->sim.cpus; cpu++)
		if (run->current[cpu] == process) {
			lab_world_cpu(world, cpu);
			lab_world_load(world, NULL);
			run->current[cpu] = NULL;
		}
	lab_world_cpu(world, here);
	free_maps(process);
	quire_space_destroy(process->space);
	process->space = NULL;
}

static void free_processes(struct lab_run *run)
{
	while (run->processes) {
		struct lab_process *next = run->processes->next;

		if (run->processes->space)
			lab_end_process(run, run->processes);
		free(run->processes);
		run->processes = next;
	}
	if (run->tool)
		quire_space_destroy(run->tool);
	run->tool = NULL;
}

void lab_free_objects(struct lab_run *run)
{
	free_processes(run);
	while (run->files) {
		struct lab_file *next = run->files->next;

		if (run->files->file)
			quire_file_put(run->files->file);
		lab_content_put(run->files->content);
		free(run->files);
		run->files = next;
	}
	while (run->mounts) {
		struct lab_mount *next = run->mounts->next;

		if (run->mounts->fs)
			quire_fs_unmount(run->mounts->fs);
		free(run->mounts);
		run->mounts = next;
	}
}

/* --- Verification --------------------------------------------------------------------- */

void lab_verify(struct lab_run *run, const struct lab_statement *s, struct lab_content *content,
		uint64_t at, const void *got, size_t bytes, uint64_t limit, const char *what)
{
	uint64_t known;
	size_t differs;
	uint8_t expected;

	if (at >= limit)
		return;
	if (bytes > limit - at)
		bytes = (size_t)(limit - at);
	if (lab_content_equal(content, at, got, bytes, &known, &differs, &expected)) {
		run->result->bytes_verified += known;
		return;
	}
	lab_fail(run, s->place, "%s gave 0x%02x at byte %llu, expected 0x%02x", what,
		 ((const uint8_t *)got)[differs], (unsigned long long)(at + differs), expected);
}
