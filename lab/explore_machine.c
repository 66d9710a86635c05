/*
 * A small machine made of a large one.
 *
 * Kept: the instruction set, how caches are indexed and tagged, whether they have more than one
 * colour, write policies, what is coherent with what, what maintenance and devices reach, where the
 * walker reads.
 *
 * Granted, whether the machine has it or not, since its instruction set does: a walk cache, except
 * on PA-RISC, where software walks.
 *
 * Made small: memory; each cache way, to one page or, where the cache has colours, to two; ways;
 * the TLB. Lines become LINE_BYTES long: a page has then few of them, and no rule of any machine
 * depends on more. The kernel's copy routine has no text, so that it evicts nothing: evictions are
 * the search's.
 */
#include "lab/explore.h"
#include "lab/world.h"

#include <string.h>

enum {
	LINE_BYTES = 256,
	DATA_WAYS = 4,
	INSN_WAYS = 2,
	L2_WAYS = 4,
	TLB_ENTRIES = 32,
	WALK_CACHE = 8,    /* all upper entries of two processes */
	FRAMES = 48,       /* enough for all that a small world holds at once ... */
	FRAMES_A_CPU = 16, /* ... and for each CPU's own free list */
};

static bool has_colours(const struct sim_machine *machine, const struct sim_cache *cache)
{
	if (cache->index == SIM_PIPT)
		return false;
	if (machine->colour_bytes && cache->index == SIM_VIPT)
		return machine->colour_bytes > QUIRE_PAGE_BYTES;
	return cache->bytes / cache->ways > QUIRE_PAGE_BYTES;
}

static void shrink(const struct sim_machine *machine, struct sim_cache *cache, uint32_t ways)
{
	uint64_t way_bytes = has_colours(machine, cache) ? 2 * QUIRE_PAGE_BYTES : QUIRE_PAGE_BYTES;

	if (!cache->bytes)
		return;
	cache->line_bytes = LINE_BYTES;
	cache->ways = cache->ways == 1 ? 1 : ways;
	cache->bytes = way_bytes * cache->ways;
	cache->replace = SIM_LRU;
}

const char *explore_machine(struct sim_machine *small, const struct sim_machine *large,
			    unsigned cpus)
{
	*small = *large;
	small->cpus = cpus;
	if (lab_world_unfit(small))
		return lab_world_unfit(small);
	shrink(large, &small->l1d, DATA_WAYS);
	shrink(large, &small->l1i, INSN_WAYS);
	shrink(large, &small->l2, L2_WAYS);
	if (small->colour_bytes > 2 * QUIRE_PAGE_BYTES)
		small->colour_bytes = 2 * QUIRE_PAGE_BYTES;
	small->memory_bytes = (FRAMES + FRAMES_A_CPU * cpus) * QUIRE_PAGE_BYTES;
	small->kernel_text_bytes = QUIRE_PAGE_BYTES;
	small->copy_text_bytes = 0;
	small->tlb.entries = small->tlb.ways = TLB_ENTRIES;
	if (small->isa != SIM_PARISC)
		small->tlb.walk_cache = WALK_CACHE;
	if (small->store_buffer > 2)
		small->store_buffer = 2;
	if (small->store_buffer_bytes > 2 * QUIRE_PAGE_BYTES)
		small->store_buffer_bytes = 2 * QUIRE_PAGE_BYTES;
	return NULL;
}
