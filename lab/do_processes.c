/*
 * Statements about processes and CPUs.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

static struct lab_process *add_process(struct lab_run *run, const char *name,
				       struct quire_space *space)
{
	struct lab_process *process = lab_new(sizeof(*process));

	process->name = lab_arena_text(&run->arena, name, strlen(name));
	process->space = space;
	process->next = run->processes;
	run->processes = process;
	return process;
}

static void use(struct lab_run *run, struct lab_process *process)
{
	lab_world_load(run->world, process->space);
	run->current[sim_cpu(run->world->sim)] = process;
}

/* The name for a new process; NULL after an error. */
static const char *new_name(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = lab_text(run, s, "NAME");

	if (name && lab_find_process(run, name)) {
		lab_raise(run, s->place, 0, "there is a process '%s' already", name);
		return NULL;
	}
	return name;
}

bool lab_do_process(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = new_name(run, s);
	struct quire_space *space;
	int error;

	if (!name)
		return false;
	space = quire_space_create(run->world->quire, &error);
	if (!space)
		return lab_call_result(run, s, -QUIRE_ENOMEM, "process");
	use(run, add_process(run, name, space));
	return true;
}

bool lab_do_use(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_process *process = lab_process_argument(run, s, "PROCESS");

	if (!process)
		return false;
	use(run, process);
	return true;
}

bool lab_do_cpu(struct lab_run *run, const struct lab_statement *s)
{
	uint64_t cpu = 0;

	if (!lab_whole(run, s, "NUMBER", &cpu))
		return false;
	if (cpu >= run->machine->sim.cpus)
		return lab_raise(run, lab_argument(s, "NUMBER")->place, 0,
				 "CPU %llu does not exist, expected 0 to %u",
				 (unsigned long long)cpu, run->machine->sim.cpus - 1);
	lab_world_cpu(run->world, (unsigned)cpu);
	return true;
}

static void copy_maps(struct lab_process *child, const struct lab_process *parent)
{
	struct lab_map **last = &child->maps;

	for (const struct lab_map *map = parent->maps; map; map = map->next) {
		struct lab_map *copy = lab_new(sizeof(*copy));
		uint64_t pages = (map->bytes + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT;

		*copy = *map;
		copy->next = NULL;
		copy->content = map->shared ? lab_content_get(map->content)
					    : lab_content_clone(map->content);
		if (map->gone) {
			copy->gone = lab_new(pages);
			memcpy(copy->gone, map->gone, pages);
		}
		*last = copy;
		last = &copy->next;
	}
}

bool lab_do_fork(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_process *parent = lab_current(run, s);
	const char *name = parent ? new_name(run, s) : NULL;
	struct quire_space *space;

	if (!name)
		return false;
	if (!lab_call_result(run, s, quire_space_fork(parent->space, &space), "fork"))
		return false;
	copy_maps(add_process(run, name, space), parent);
	return true;
}

bool lab_do_exec(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_process *process = lab_current(run, s);
	struct quire_space *space, *old;
	int error;

	if (!process)
		return false;
	lab_world_syscall(run->world);
	sim_charge(run->world->sim, run->machine->sim.cost.exec);
	space = quire_space_create(run->world->quire, &error);
	if (!space)
		return lab_call_result(run, s, -QUIRE_ENOMEM, "exec");
	for (unsigned cpu = 0; cpu < run->machine->sim.cpus; cpu++)
		if (run->current[cpu] == process && cpu != sim_cpu(run->world->sim)) {
			quire_space_destroy(space);
			return lab_raise(run, s->place, 0, "process %s runs on CPU %u too",
					 process->name, cpu);
		}
	while (process->maps) {
		struct lab_map *next = process->maps->next;

		lab_free_map(process->maps);
		process->maps = next;
	}
	old = process->space;
	process->space = space;
	use(run, process);
	quire_space_destroy(old);
	return true;
}

bool lab_do_exit(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_process *process = lab_process_argument(run, s, "PROCESS");

	if (!process)
		return false;
	lab_world_syscall(run->world);
	lab_end_process(run, process);
	return true;
}
