/*
 * Memory of the simulated machine: a private mapping without a reservation, so that a machine of
 * gigabytes costs the host only the pages that a run touches. It begins as zeroes. Who brings an
 * allocator of its own gets it from there.
 */
#include <sys/mman.h>

#include "sim/internal.h"

int sim_memory_create(struct sim_memory *memory, uint64_t bytes,
		      const struct sim_allocator *allocator)
{
	void *mapping;

	memory->bytes = NULL;
	memory->size = bytes;
	memory->mapped = allocator->alloc == sim_host_allocator.alloc;
	if (memory->size != bytes)
		return -QUIRE_ENOMEM;
	if (!memory->mapped) {
		memory->bytes =
			allocator->alloc(allocator->context, memory->size, QUIRE_PAGE_BYTES);
		return memory->bytes ? 0 : -QUIRE_ENOMEM;
	}
	mapping = mmap(NULL, memory->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		return -QUIRE_ENOMEM;
	memory->bytes = mapping;
	return 0;
}

void sim_memory_destroy(struct sim_memory *memory, const struct sim_allocator *allocator)
{
	if (memory->bytes && memory->mapped)
		munmap(memory->bytes, memory->size);
	else if (memory->bytes)
		allocator->free(allocator->context, memory->bytes);
	memory->bytes = NULL;
}
