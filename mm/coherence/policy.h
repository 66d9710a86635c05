/*
 * Inside the coherence module: what a policy answers.
 *
 * A policy is one question: may the maintenance that a page owes, because the kernel wrote it or
 * will read it through its own mapping, wait until a user mapping of the page appears?
 */
#ifndef QUIRE_MM_COHERENCE_POLICY_H
#define QUIRE_MM_COHERENCE_POLICY_H

#include "mm/mm.h"

bool quire_eager_may_wait(struct quire_page *page);
bool quire_mapping_may_wait(struct quire_page *page);
bool quire_page_may_wait(struct quire_page *page);

#endif
