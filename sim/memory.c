/*
 * Memory of the simulated machine: a private mapping without a reservation, so that a machine of gigabytes
 * costs the host only the pages that a run touches. It begins as zeroes.
 */
#include <sys/mman.h>

#include "sim/internal.h"

int sim_memory_create(struct sim_memory *memory, uint64_t bytes)
{
	void *mapping;

	memory->bytes = NULL;
	memory->size = bytes;
	if (memory->size != bytes)
		return -QUIRE_ENOMEM;
	mapping = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
	if (mapping == MAP_FAILED)
		return -QUIRE_ENOMEM;
	memory->bytes = mapping;
	return 0;
}

void sim_memory_destroy(struct sim_memory *memory)
{
	if (memory->bytes)
		munmap(memory->bytes, memory->size);
	memory->bytes = NULL;
}
