/*
 * The arena of a world, and saving it.
 *
 * Where an allocation lies must depend on nothing but the allocations before it, or a run would not
 * be the same twice: so the list of free pieces is a stack for each size, and it lies in the arena,
 * where it is saved and put back with everything else.
 *
 * WHAT A SAVE COPIES. Records change anywhere, so all of them are copied: some ten kilobytes. Of
 * the machine's pages only those can differ from the root's that were stored to since (the machine
 * tells: `touched`) or that had a dirty line at the root. And from a saved state on only those
 * change that are stored to, or whose dirty lines of that moment may leave a cache. So putting a
 * state back copies a handful of pages.
 */
#include "lab/explore.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	RECORDS_MAX = 4 << 20,
	GRAIN = 64,
	SIZES = 256, /* pieces of up to SIZES * GRAIN bytes are taken again */
};

/* At the start of the arena. */
struct head {
	size_t used, pages_used;
	void *free[SIZES + 1];
};

static struct head *head_of(const struct explore_arena *arena)
{
	return (struct head *)(void *)arena->base;
}

bool explore_arena_create(struct explore_arena *arena, size_t frames)
{
	void *base;

	arena->records_max = RECORDS_MAX;
	arena->size =
		RECORDS_MAX + frames * QUIRE_PAGE_BYTES * 3 + EXPLORE_CPUS_MAX * QUIRE_PAGE_BYTES;
	base = mmap(NULL, arena->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	arena->base = base == MAP_FAILED ? NULL : base;
	arena->touched = calloc(frames, 1);
	if (!arena->base || !arena->touched) {
		explore_arena_destroy(arena);
		return false;
	}
	head_of(arena)->used = (sizeof(struct head) + GRAIN - 1) & ~(size_t)(GRAIN - 1);
	head_of(arena)->pages_used = RECORDS_MAX;
	return true;
}

void explore_arena_destroy(struct explore_arena *arena)
{
	if (arena->base)
		munmap(arena->base, arena->size);
	free(arena->touched);
	arena->base = NULL;
	arena->touched = NULL;
}

static size_t grains(size_t bytes)
{
	return (bytes + GRAIN - 1) / GRAIN;
}

static void *alloc_pages(struct explore_arena *arena, size_t bytes)
{
	struct head *head = head_of(arena);
	size_t at = head->pages_used;

	bytes = (bytes + QUIRE_PAGE_MASK) & ~(size_t)QUIRE_PAGE_MASK;
	if (bytes > arena->size - at)
		return NULL;
	head->pages_used += bytes;
	return arena->base + at;
}

void *explore_arena_alloc(struct explore_arena *arena, size_t bytes, size_t align)
{
	struct head *head = head_of(arena);
	size_t size = grains(bytes), at;
	void *memory;

	if (align >= QUIRE_PAGE_BYTES)
		return alloc_pages(arena, bytes);
	if (size <= SIZES && head->free[size] && align <= GRAIN) {
		memory = head->free[size];
		head->free[size] = *(void **)memory;
		memset(memory, 0, size * GRAIN);
		return memory;
	}
	at = (head->used + align - 1) & ~(align - 1);
	if (at > arena->records_max || size * GRAIN > arena->records_max - at)
		return NULL;
	head->used = at + size * GRAIN;
	memory = arena->base + at;
	memset(memory, 0, size * GRAIN);
	return memory;
}

/*
 * Pieces aligned to more than a grain come back at addresses that are taken again for any alignment
 * up to it.
 */
void explore_arena_free(struct explore_arena *arena, void *memory, size_t bytes)
{
	struct head *head = head_of(arena);
	size_t size = grains(bytes);

	if (!memory || size > SIZES || size == 0)
		return;
	*(void **)memory = head->free[size];
	head->free[size] = memory;
}

/* --- Saving ----------------------------------------------------------------------------------- */

struct explore_saved {
	uint8_t *records;
	size_t used;
	uint8_t *memory, *reference; /* whole, of which the frames below are filled */
	uint8_t *frames;             /* 1: saved here; 0: as in the root */
	uint8_t *may_change;         /* 1: had a dirty line */
};

static size_t frame_count(const struct explore_job *job)
{
	return (size_t)(job->setting->machine.memory_bytes >> QUIRE_PAGE_SHIFT);
}

static void saved_free(struct explore_saved *saved)
{
	if (!saved)
		return;
	free(saved->records);
	free(saved->memory);
	free(saved->reference);
	free(saved->frames);
	free(saved->may_change);
	free(saved);
}

static struct explore_saved *saved_new(size_t frames)
{
	struct explore_saved *saved = calloc(1, sizeof(*saved));

	if (!saved)
		return NULL;
	saved->records = malloc(RECORDS_MAX);
	saved->memory = malloc(frames * QUIRE_PAGE_BYTES);
	saved->reference = malloc(frames * QUIRE_PAGE_BYTES);
	saved->frames = calloc(frames, 1);
	saved->may_change = calloc(frames, 1);
	if (saved->records && saved->memory && saved->reference && saved->frames &&
	    saved->may_change)
		return saved;
	saved_free(saved);
	return NULL;
}

/* Records but for the part of the machine that stands for CPUs it lacks. */
static void copy_records(const struct explore_job *job, uint8_t *to, const uint8_t *from,
			 size_t used)
{
	const void *unused;
	size_t bytes, at;

	sim_unused(job->world->sim, &unused, &bytes);
	at = (size_t)((const uint8_t *)unused - job->arena.base);
	memcpy(to, from, at);
	memcpy(to + at + bytes, from + at + bytes, used - at - bytes);
}

static void copy_frame(uint8_t *to_memory, uint8_t *to_reference, const uint8_t *memory,
		       const uint8_t *reference, size_t frame)
{
	size_t at = frame << QUIRE_PAGE_SHIFT;

	memcpy(to_memory + at, memory + at, QUIRE_PAGE_BYTES);
	memcpy(to_reference + at, reference + at, QUIRE_PAGE_BYTES);
}

static void save_records(struct explore_job *job, struct explore_saved *saved)
{
	saved->used = head_of(&job->arena)->used;
	copy_records(job, saved->records, job->arena.base, saved->used);
	memset(saved->may_change, 0, frame_count(job));
	sim_dirty_frames(job->world->sim, saved->may_change);
}

void explore_job_save(struct explore_job *job)
{
	struct explore_saved *here = job->here, *root = job->root;
	uint8_t *memory, *reference;

	sim_memories(job->world->sim, &memory, &reference);
	save_records(job, here);
	for (size_t frame = 0; frame < frame_count(job); frame++) {
		here->frames[frame] = root->may_change[frame] | job->arena.touched[frame];
		if (here->frames[frame])
			copy_frame(here->memory, here->reference, memory, reference, frame);
		job->arena.touched[frame] = 0;
	}
}

void explore_job_restore(struct explore_job *job)
{
	const struct explore_saved *here = job->here, *root = job->root;
	uint8_t *memory, *reference;

	explore_calls_forget(job);
	copy_records(job, job->arena.base, here->records, here->used);
	sim_memories(job->world->sim, &memory, &reference);
	for (size_t frame = 0; frame < frame_count(job); frame++) {
		const struct explore_saved *from = here->frames[frame] ? here : root;

		if (job->arena.touched[frame] | here->may_change[frame])
			copy_frame(memory, reference, from->memory, from->reference, frame);
		job->arena.touched[frame] = 0;
	}
}

/* What differs from the root: what was saved here and what was touched since. */
void explore_job_reset(struct explore_job *job)
{
	const struct explore_saved *here = job->here, *root = job->root;
	uint8_t *memory, *reference;

	explore_calls_forget(job);
	copy_records(job, job->arena.base, root->records, root->used);
	sim_memories(job->world->sim, &memory, &reference);
	for (size_t frame = 0; frame < frame_count(job); frame++) {
		if (job->arena.touched[frame] | here->frames[frame] | here->may_change[frame] |
		    root->may_change[frame])
			copy_frame(memory, reference, root->memory, root->reference, frame);
		job->arena.touched[frame] = 0;
		job->here->frames[frame] = 0;
		job->here->may_change[frame] = 0;
	}
}

const char *explore_job_create(struct explore_job *job, const struct explore_setting *setting)
{
	uint8_t *memory, *reference;
	const char *why;

	*job = (struct explore_job){.setting = setting};
	job->root = saved_new(frame_count(job));
	job->here = saved_new(frame_count(job));
	why = "the host has no memory for the world";
	if (job->root && job->here && explore_arena_create(&job->arena, frame_count(job)))
		why = explore_world_boot(job);
	if (why) {
		explore_job_destroy(job);
		return why;
	}
	sim_memories(job->world->sim, &memory, &reference);
	save_records(job, job->root);
	memcpy(job->root->memory, memory, frame_count(job) << QUIRE_PAGE_SHIFT);
	memcpy(job->root->reference, reference, frame_count(job) << QUIRE_PAGE_SHIFT);
	memset(job->arena.touched, 0, frame_count(job));
	return NULL;
}

void explore_job_destroy(struct explore_job *job)
{
	saved_free(job->root);
	saved_free(job->here);
	explore_calls_free(job);
	explore_arena_destroy(&job->arena);
	job->root = job->here = NULL;
}
