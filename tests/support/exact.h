/*
 * For the tests of the policy `exact`: chance that can be repeated, lines evicted by it, and one
 * access of the kernel or of a device with what the policy is told around it.
 */
#ifndef TESTS_SUPPORT_EXACT_H
#define TESTS_SUPPORT_EXACT_H

#include "tests/support/memory.h"

/* In [0, below); the same for the same seed. */
uint32_t exact_random(uint32_t *seed, uint32_t below);

/* The default with this policy of coherence. */
struct quire_policy exact_policy(enum quire_coherence_policy coherence);

/* One way of one set of some cache of some CPU, if that cache is there. */
void exact_evict(struct sim *sim, uint32_t *seed);

/* Cache operations of a site. */
uint64_t exact_site_ops(struct simulated *s, enum quire_site site);

/* A device reads the page to `host`, or writes it from there. */
void exact_transfer(struct files *f, struct quire_page *page, enum quire_dma_direction direction,
		    uint8_t *host);

/* The kernel looks at the first byte of the page. */
uint8_t exact_kernel_load(struct files *f, struct quire_page *page);

#endif
