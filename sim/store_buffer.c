/*
 * A store buffer that forwards by virtual address.
 *
 * Stores wait in order for their turn to enter the L1 D cache. A load must find those that wait.
 * This buffer compares low virtual address bits only (modulo store_buffer_bytes): a load of the
 * same bytes through an alias that differs in those bits does not find the store and reads what the
 * cache still holds. That is the failure which the alias test of 2003 told apart from a cache
 * failure.
 *
 * In here two accesses *meet* when they share a byte of memory and their mappings are equal modulo
 * store_buffer_bytes (0: when they are the same). The youngest store that a load meets gives the
 * value if it covers the load; if it covers only a part, the buffer drains up to it first.
 * Unrelated addresses that are equal in the compared bits do not meet: real buffers compare those
 * in full later, at some cost and no error.
 */
#include "sim/digest.h"
#include "sim/internal.h"

struct store {
	uintptr_t va;
	quire_pa_t pa;
	uint64_t value;
	unsigned bytes;
};

struct sim_store_buffer {
	uint64_t period_bytes;
	uint32_t size, first, count; /* a ring */
	struct store ring[];
};

struct sim_store_buffer *sim_store_buffer_create(const struct sim_machine *machine,
						 const struct sim_allocator *allocator)
{
	struct sim_store_buffer *buffer;

	buffer = allocator->alloc(allocator->context,
				  sizeof(*buffer) + machine->store_buffer * sizeof(buffer->ring[0]),
				  64);
	if (!buffer)
		return NULL;
	buffer->size = machine->store_buffer;
	buffer->period_bytes = machine->store_buffer_bytes;
	return buffer;
}

static struct store *nth(struct sim_store_buffer *buffer, uint32_t n)
{
	return &buffer->ring[(buffer->first + n) % buffer->size];
}

/* The oldest `count` stores enter the cache. */
static void retire(struct sim *sim, uint32_t count)
{
	struct sim_store_buffer *buffer = sim->cpu->stores;

	while (count-- > 0) {
		struct store *store = nth(buffer, 0);

		sim_line_store(sim, store->va, store->pa, &store->value, store->bytes);
		buffer->first = (buffer->first + 1) % buffer->size;
		buffer->count--;
	}
}

void sim_store_buffer_put(struct sim *sim, uintptr_t va, quire_pa_t pa, unsigned bytes,
			  uint64_t value)
{
	struct sim_store_buffer *buffer = sim->cpu->stores;

	if (buffer->count == buffer->size)
		retire(sim, 1);
	*nth(buffer, buffer->count) = (struct store){va, pa, value, bytes};
	buffer->count++;
}

static bool meets(const struct sim_store_buffer *buffer, const struct store *store, uintptr_t va,
		  quire_pa_t pa, unsigned bytes)
{
	uint64_t apart = (va - pa) - (store->va - store->pa);

	if (pa + bytes <= store->pa || store->pa + store->bytes <= pa)
		return false;
	return buffer->period_bytes ? apart % buffer->period_bytes == 0 : apart == 0;
}

bool sim_store_buffer_forward(struct sim *sim, uintptr_t va, quire_pa_t pa, unsigned bytes,
			      uint64_t *value)
{
	struct sim_store_buffer *buffer = sim->cpu->stores;

	for (uint32_t n = buffer->count; n-- > 0;) {
		struct store *store = nth(buffer, n);

		if (!meets(buffer, store, va, pa, bytes))
			continue;
		if (pa < store->pa || pa + bytes > store->pa + store->bytes) {
			retire(sim, n + 1);
			return false;
		}
		*value = store->value >> 8 * (pa - store->pa);
		if (bytes < 8)
			*value &= ((uint64_t)1 << 8 * bytes) - 1;
		sim_charge(sim, sim->machine.cost.l1_access);
		return true;
	}
	return false;
}

void sim_store_buffer_drain(struct sim *sim)
{
	retire(sim, sim->cpu->stores->count);
}

/* The stores that wait, oldest first, with frames by name and without their values. */
uint64_t sim_store_buffer_digest(const struct sim_store_buffer *buffer,
				 const struct sim_digest_frame *frames)
{
	uint64_t hash = buffer->count;

	for (uint32_t n = 0; n < buffer->count; n++) {
		const struct store *store = &buffer->ring[(buffer->first + n) % buffer->size];

		hash = sim_mix(hash, store->va);
		hash = sim_mix(hash, (uint64_t)frames[store->pa >> QUIRE_PAGE_SHIFT].name << 16 |
					     store->bytes);
	}
	return hash;
}

bool sim_store_buffer_holds(const struct sim_store_buffer *buffer, quire_pa_t pa, unsigned bytes)
{
	for (uint32_t n = 0; n < buffer->count; n++) {
		const struct store *store = &buffer->ring[(buffer->first + n) % buffer->size];

		if (pa < store->pa + store->bytes && store->pa < pa + bytes)
			return true;
	}
	return false;
}
