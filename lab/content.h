/*
 * What files, buffers and maps should hold: the laboratory's own record, against which reads are
 * compared.
 *
 * A page of content is a source and a position in it, with small patches; so 4 GiB of generated
 * data cost a few megabytes. Random data is a function of a key and a position: made again whenever
 * it is needed. Independent of the simulator's witness: this one knows what the program wrote, not
 * what went through a cache.
 */
#ifndef LAB_CONTENT_H
#define LAB_CONTENT_H

#include <quire/types.h>

struct lab_content;

/* Empty, of no size. `base` (NULL: zeros): where pages that were never written here are looked up;
 * referenced. */
struct lab_content *lab_content_new(struct lab_content *base, uint64_t base_offset);
struct lab_content *lab_content_get(struct lab_content *content); /* one more reference */
void lab_content_put(struct lab_content *content);                /* NULL is allowed */
/* Another with the same pages: for fork. */
struct lab_content *lab_content_clone(const struct lab_content *content);

/* Beyond `bytes` everything is zero again. */
void lab_content_truncate(struct lab_content *content, uint64_t bytes);
void lab_content_zero(struct lab_content *content, uint64_t at, uint64_t bytes);
void lab_content_random(struct lab_content *content, uint64_t at, uint64_t bytes, uint64_t key);
/* Nothing is known of these bytes any more. */
void lab_content_forget(struct lab_content *content, uint64_t at, uint64_t bytes);
void lab_content_write(struct lab_content *content, uint64_t at, const void *from, size_t bytes);
void lab_content_copy(struct lab_content *to, uint64_t at, struct lab_content *from,
		      uint64_t from_at, uint64_t bytes);
/* Pages of [at, at + bytes) that come from `base` are taken over now: what copy on write does at a
 * store. */
void lab_content_own(struct lab_content *content, uint64_t at, uint64_t bytes);

/* Reads; false where some byte is not known (those read as 0). */
bool lab_content_read(struct lab_content *content, uint64_t at, void *to, size_t bytes);
/*
 * Compares; true: equal wherever it is known, *known set to the number of bytes compared. False:
 * *differs is the first offset from `at` that is not equal, *expected its byte.
 */
bool lab_content_equal(struct lab_content *content, uint64_t at, const void *got, size_t bytes,
		       uint64_t *known, size_t *differs, uint8_t *expected);

/* One page of random data. Its first word is the seed, never 0. */
uint64_t lab_random_seed(uint64_t key, uint64_t page);
void lab_random_page(uint64_t seed, void *page);

#endif
