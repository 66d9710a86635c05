/*
 * The arena of a world, and saving it.
 *
 * Where an allocation lies must depend on nothing but the allocations before it, or a run would not
 * be the same twice: so the list of free pieces is a stack for each size, and it lies in the arena,
 * where it is saved and put back with everything else.
 *
 * WHAT A SAVE COPIES. Records change anywhere, so all of them are copied: some thirty kilobytes. Of
 * the bulk the machine tells which granules it writes (`touched`). A saved state holds those that
 * differ from the root's, and going back to it copies those that were written since, or that differ
 * between it and the state that was left: a few kilobytes.
 */
#include "lab/explore.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	RECORDS_MAX = 4 << 20,
	CACHE_PAGES = 64, /* more than all lines of the caches that explore_machine makes */
	GRAIN = 64,
	SIZES = 256, /* pieces of up to SIZES * GRAIN bytes are taken again */
};

/* At the start of the arena. */
struct head {
	size_t used, bulk_used;
	void *free[SIZES + 1];
};

static struct head *head_of(const struct explore_arena *arena)
{
	return (struct head *)(void *)arena->base;
}

static size_t granules(const struct explore_arena *arena)
{
	return (arena->size - RECORDS_MAX) >> SIM_GRANULE_SHIFT;
}

/* Of a bit a granule. */
static size_t words(const struct explore_arena *arena)
{
	return (granules(arena) + 63) / 64;
}

bool explore_arena_create(struct explore_arena *arena, size_t frames)
{
	void *base;

	arena->records_max = RECORDS_MAX;
	arena->size =
		RECORDS_MAX + (frames * 3 + EXPLORE_CPUS_MAX + CACHE_PAGES) * QUIRE_PAGE_BYTES;
	base = mmap(NULL, arena->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	arena->base = base == MAP_FAILED ? NULL : base;
	arena->touched.granules = calloc(words(arena), sizeof(uint64_t));
	if (!arena->base || !arena->touched.granules) {
		explore_arena_destroy(arena);
		return false;
	}
	arena->touched.base = arena->base + RECORDS_MAX;
	head_of(arena)->used = (sizeof(struct head) + GRAIN - 1) & ~(size_t)(GRAIN - 1);
	head_of(arena)->bulk_used = RECORDS_MAX;
	return true;
}

void explore_arena_destroy(struct explore_arena *arena)
{
	if (arena->base)
		munmap(arena->base, arena->size);
	free(arena->touched.granules);
	arena->base = NULL;
	arena->touched.granules = NULL;
}

static size_t grains(size_t bytes)
{
	return (bytes + GRAIN - 1) / GRAIN;
}

static void *alloc_bulk(struct explore_arena *arena, size_t bytes)
{
	struct head *head = head_of(arena);
	size_t at = head->bulk_used;

	bytes = (bytes + QUIRE_PAGE_MASK) & ~(size_t)QUIRE_PAGE_MASK;
	if (bytes > arena->size - at)
		return NULL;
	head->bulk_used += bytes;
	return arena->base + at;
}

void *explore_arena_alloc(struct explore_arena *arena, size_t bytes, size_t align)
{
	struct head *head = head_of(arena);
	size_t size = grains(bytes), at;
	void *memory;

	if (align >= QUIRE_PAGE_BYTES)
		return alloc_bulk(arena, bytes);
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

static bool saved_create(struct explore_saved *saved, const struct explore_arena *arena)
{
	saved->records = malloc(RECORDS_MAX);
	saved->bulk = malloc(arena->size - RECORDS_MAX);
	saved->differs = calloc(words(arena), sizeof(*saved->differs));
	return saved->records && saved->bulk && saved->differs;
}

static void saved_destroy(struct explore_saved *saved)
{
	free(saved->records);
	free(saved->bulk);
	free(saved->differs);
	*saved = (struct explore_saved){0};
}

/* But for what the machine does not need. */
static void copy_records(const struct explore_job *job, uint8_t *to, const uint8_t *from,
			 size_t used)
{
	struct sim_unsaved parts[SIM_UNSAVED];
	size_t at = 0;

	sim_unsaved(job->world->sim, parts);
	for (unsigned n = 0; n < SIM_UNSAVED; n++) {
		size_t start = (size_t)((const uint8_t *)parts[n].start - job->arena.base);

		memcpy(to + at, from + at, start - at);
		at = start + parts[n].bytes;
	}
	memcpy(to + at, from + at, used - at);
}

static void save_records(struct explore_job *job, struct explore_saved *saved)
{
	saved->used = head_of(&job->arena)->used;
	copy_records(job, saved->records, job->arena.base, saved->used);
}

static void copy_granule(uint8_t *to, const uint8_t *from, size_t granule)
{
	memcpy(to + (granule << SIM_GRANULE_SHIFT), from + (granule << SIM_GRANULE_SHIFT),
	       SIM_GRANULE_BYTES);
}

void explore_job_save(struct explore_job *job, enum explore_saved_as as)
{
	struct explore_saved *saved = &job->saved[as], *last = &job->saved[job->last];
	struct sim_touched *touched = &job->arena.touched;
	size_t count = words(&job->arena);

	save_records(job, saved);
	for (size_t word = 0; word < count; word++) {
		uint64_t differs = touched->granules[word] | last->differs[word];

		for (uint64_t left = differs; left; left &= left - 1)
			copy_granule(saved->bulk, touched->base,
				     word * 64 + (unsigned)__builtin_ctzll(left));
		saved->differs[word] = differs;
		touched->granules[word] = 0;
	}
	job->last = as;
}

void explore_job_restore(struct explore_job *job, enum explore_saved_as as)
{
	const struct explore_saved *saved = &job->saved[as], *last = &job->saved[job->last];
	const struct explore_saved *root = &job->saved[EXPLORE_ROOT];
	struct sim_touched *touched = &job->arena.touched;
	size_t count = words(&job->arena);

	explore_calls_forget(job);
	copy_records(job, job->arena.base, saved->records, saved->used);
	for (size_t word = 0; word < count; word++) {
		uint64_t left = touched->granules[word];

		if (last != saved)
			left |= last->differs[word] | saved->differs[word];
		for (; left; left &= left - 1) {
			unsigned bit = (unsigned)__builtin_ctzll(left);
			bool differs = saved->differs[word] >> bit & 1;

			copy_granule(touched->base, differs ? saved->bulk : root->bulk,
				     word * 64 + bit);
		}
		touched->granules[word] = 0;
	}
	job->last = as;
}

static size_t frame_count(const struct explore_setting *setting)
{
	return (size_t)(setting->machine.memory_bytes >> QUIRE_PAGE_SHIFT);
}

static bool create_saves(struct explore_job *job)
{
	for (unsigned n = 0; n < EXPLORE_SAVES; n++)
		if (!saved_create(&job->saved[n], &job->arena))
			return false;
	return true;
}

static void save_root(struct explore_job *job)
{
	struct explore_saved *root = &job->saved[EXPLORE_ROOT];
	struct sim_touched *touched = &job->arena.touched;

	save_records(job, root);
	memcpy(root->bulk, touched->base, head_of(&job->arena)->bulk_used - RECORDS_MAX);
	memset(touched->granules, 0, words(&job->arena) * sizeof(*touched->granules));
	job->last = EXPLORE_ROOT;
}

const char *explore_job_create(struct explore_job *job, const struct explore_setting *setting)
{
	const char *why = "the host has no memory for the world";

	*job = (struct explore_job){.setting = setting};
	if (explore_arena_create(&job->arena, frame_count(setting)) && create_saves(job))
		why = explore_world_boot(job);
	if (why)
		explore_job_destroy(job);
	else
		save_root(job);
	return why;
}

void explore_job_destroy(struct explore_job *job)
{
	for (unsigned n = 0; n < EXPLORE_SAVES; n++)
		saved_destroy(&job->saved[n]);
	explore_calls_free(job);
	explore_arena_destroy(&job->arena);
}
