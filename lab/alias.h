/*
 * The alias test of 2003 on a simulated machine: one page at two addresses a power of two apart.
 */
#ifndef LAB_ALIAS_H
#define LAB_ALIAS_H

#include "sim/sim.h"

#define ALIAS_SEPARATIONS_MAX 32

/* What the test says of one separation; the first that holds. */
enum alias_verdict {
	ALIAS_CACHE_FAILS,  /* a load after a barrier was stale */
	ALIAS_BUFFER_FAILS, /* a load right behind the store was stale, none after a barrier */
	ALIAS_SLOW,         /* all is coherent, at more than twice the time of one address */
	ALIAS_PASSES,
};

struct alias_test {
	uint64_t from_bytes, to_bytes; /* separations: powers of two, 4 KiB to 256 MiB */
	unsigned passes; /* over the words of the page; at least 2 show every failure */
	bool uncached;   /* the mappings bypass the caches, as a kernel may make aliases */
};

struct alias_result {
	unsigned count; /* separations tested */
	struct alias_separation {
		uint64_t bytes;
		enum alias_verdict verdict;
		uint64_t loads;
		uint64_t stale_behind, stale_after; /* loads, without and with a barrier */
		uint64_t violations;                /* what the witness counted */
		uint64_t ticks;                     /* of the timed loop */
		uint64_t one_address_ticks;         /* of the same through one address, cached */
	} separations[ALIAS_SEPARATIONS_MAX];
};

/* NULL, or what is wrong with the test (a sentence). */
const char *alias_test_fault(const struct alias_test *test);
/* NULL, or why the machine cannot be simulated. The test was checked. */
const char *alias_run(const struct sim_machine *machine, const struct alias_test *test,
		      struct alias_result *result);

/*
 * The least separation from which on, up to the largest tested, no verdict is below `least`; 0:
 * not even the largest.
 */
uint64_t alias_from(const struct alias_result *result, enum alias_verdict least);
/* "4K to 128K: cache not coherent; 256K to 16M: pass" */
void alias_describe(const struct alias_result *result, char *text, size_t bytes);

#endif
