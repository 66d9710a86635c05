/*
 * A simulated disk: pages by block number, kept in little host memory. For world.c.
 */
#ifndef LAB_DISK_H
#define LAB_DISK_H

#include <quire/types.h>

struct lab_store;

struct lab_store *lab_store_new(uint64_t blocks);
void lab_store_free(struct lab_store *store);
uint64_t lab_store_blocks(const struct lab_store *store);
void lab_store_read(const struct lab_store *store, uint64_t block, void *page);
void lab_store_write(struct lab_store *store, uint64_t block, const void *page);

#endif
