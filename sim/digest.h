/*
 * A digest of the state of a machine, for a search that must know states again.
 *
 * THE PROBLEM. Two runs that differ in clocks, counts, frame numbers and the values that were
 * stored can leave machines that behave the same from now on. Their digests must be equal, or a
 * search would not end; those of machines that can behave differently must differ, or it would miss
 * something.
 *
 * THE IDEA. What a line holds matters only by comparison: it is right (as the witness's reference
 * says) or stale, and two stale copies are equal or not. So contents enter as 0 for "right" and
 * else as a number in the order in which the different stale contents of that line are met. Frames
 * have names that the caller gives: same name, same role. CPUs are taken in an order that the
 * caller gives.
 *
 * Left out: clocks, counts, accounts, the order of ways in a set and what the replacement would
 * take next (a search makes evictions steps of their own), registers (they follow from the loaded
 * space), the TLB's turn.
 */
#ifndef SIM_DIGEST_H
#define SIM_DIGEST_H

#include "sim/sim.h"

enum { SIM_DIGEST_LINES_MAX = 256 };

struct sim_digest_frame {
	uint32_t name; /* 0: the frame is not looked at */
	bool table;    /* its lines are compared by `table_line` */
	/* what memory holds does not matter, nor do clean lines where the cache has one colour */
	bool free;
	uint32_t lines; /* bit n: line n of the page is looked at; n < 32 */
};

struct sim_digest {
	void *context;
	const struct sim_digest_frame *frames; /* by frame number, for all of memory */
	const unsigned *cpus; /* numbers of the CPUs in the order in which they are taken */
	/* What a table's line says, whatever frames it names. */
	uint64_t (*table_line)(void *context, uint64_t frame, unsigned line, const uint8_t *bytes);
	/* A name of the space with this number; 0: it has ended, and its entries match nothing. */
	unsigned (*space)(void *context, uint64_t number);
};

/* Mixes a word into a hash. */
static inline uint64_t sim_mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product =
		(unsigned __int128)(hash ^ 0x9e3779b97f4a7c15u) * (word ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t sim_digest(const struct sim *sim, const struct sim_digest *digest);
/*
 * One CPU alone, without names: for putting CPUs into an order that does not depend on their
 * numbers.
 */
uint64_t sim_digest_cpu(const struct sim *sim, const struct sim_digest *digest, unsigned cpu);

/* Can what the D caches, L2 and memory hold be told from one coherent memory by anybody? */
bool sim_data_shows(const struct sim_machine *machine);

/* The witness's reference of memory. */
const uint8_t *sim_reference(const struct sim *sim);

/* A part of the sim's own record that need not be saved. */
struct sim_unsaved {
	const void *start;
	size_t bytes;
};

enum { SIM_UNSAVED = 3 };

/*
 * These parts, in the order of addresses: what CPUs that the machine lacks would use, descriptions
 * of violations, the accounts of maintenance. For who never saves a machine that has a violation.
 */
void sim_unsaved(const struct sim *sim, struct sim_unsaved *parts);

#endif
