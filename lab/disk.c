/*
 * What a simulated disk holds.
 *
 * A block that was never written, or is all zeros, costs nothing; one of generated data (content.h:
 * its first word is the seed of all of it) costs its seed; others are kept as they are. So that a
 * file of 512 MiB of generated data does not take 512 MiB of the host for each variant that runs.
 * The check is on the bytes: what is read is always what was written.
 */
#include "lab/disk.h"

#include <stdlib.h>
#include <string.h>

#include "lab/content.h"
#include "lab/host.h"

struct block {
	uint64_t seed;  /* 0: zeros, or bytes */
	uint8_t *bytes; /* NULL: none */
};

struct lab_store {
	uint64_t blocks;
	struct block *block;
};

struct lab_store *lab_store_new(uint64_t blocks)
{
	struct lab_store *store = lab_new(sizeof(*store));

	store->blocks = blocks;
	store->block = lab_new(blocks * sizeof(*store->block));
	return store;
}

void lab_store_free(struct lab_store *store)
{
	for (uint64_t i = 0; i < store->blocks; i++)
		free(store->block[i].bytes);
	free(store->block);
	free(store);
}

uint64_t lab_store_blocks(const struct lab_store *store)
{
	return store->blocks;
}

void lab_store_read(const struct lab_store *store, uint64_t block, void *page)
{
	const struct block *b = &store->block[block];

	if (b->bytes)
		memcpy(page, b->bytes, QUIRE_PAGE_BYTES);
	else if (b->seed)
		lab_random_page(b->seed, page);
	else
		memset(page, 0, QUIRE_PAGE_BYTES);
}

void lab_store_write(struct lab_store *store, uint64_t block, const void *page)
{
	struct block *b = &store->block[block];
	uint8_t generated[QUIRE_PAGE_BYTES] = {0};
	uint64_t seed;

	memcpy(&seed, page, sizeof(seed));
	if (seed)
		lab_random_page(seed, generated);
	if (memcmp(generated, page, QUIRE_PAGE_BYTES) == 0) {
		free(b->bytes);
		*b = (struct block){.seed = seed};
		return;
	}
	if (!b->bytes)
		b->bytes = lab_new(QUIRE_PAGE_BYTES);
	memcpy(b->bytes, page, QUIRE_PAGE_BYTES);
	b->seed = 0;
}
