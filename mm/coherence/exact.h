/*
 * Inside the coherence module: the policy `exact`, moment by moment. exact.c has the theory.
 *
 * coherence.c comes here from its calls of the same names when quire_exact_on says so; a page is
 * one page, never a folio. Each call takes the page's rmap lock.
 */
#ifndef QUIRE_MM_COHERENCE_EXACT_H
#define QUIRE_MM_COHERENCE_EXACT_H

#include "mm/mm.h"

/* Is `exact` the policy, on a machine that leaves anything to software? */
bool quire_exact_on(const struct quire *q);

void quire_exact_kernel_read(struct quire *q, struct quire_page *page);
void quire_exact_kernel_wrote(struct quire *q, struct quire_page *page);
void quire_exact_user_map(struct quire *q, struct quire_page *page, uintptr_t va, bool exec);
void quire_exact_user_store(struct quire *q, struct quire_page *page, uintptr_t va);
void quire_exact_stores_end(struct quire *q, struct quire_page *page);
void quire_exact_entry_goes(struct quire *q, struct quire_page *page);
void quire_exact_unmapped(struct quire *q, struct quire_batch *batch);

void quire_exact_copy_user_page(struct quire *q, struct quire_page *to, struct quire_page *from,
				uintptr_t va);
void quire_exact_clear_user_page(struct quire *q, struct quire_page *page, uintptr_t va);

void quire_exact_dma_prepare(struct quire *q, struct quire_page *page,
			     enum quire_dma_direction direction, enum quire_site site);
void quire_exact_dma_finish(struct quire *q, struct quire_page *page);

/* The frame changes owner. `user`: the new one will have it copied or cleared before all else. */
void quire_exact_alloc(struct quire *q, struct quire_page *page, bool user);
/* Nobody has stored to it since all D caches were flushed. */
void quire_exact_flushed(struct quire *q, struct quire_page *page);
void quire_exact_free(struct quire *q, struct quire_page *page);

#endif
