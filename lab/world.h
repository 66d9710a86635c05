/*
 * A world: a simulated machine with Quire booted on it.
 *
 * It is the kernel that embeds Quire here: its port runs over the simulator, its traps end in
 * quire_fault and quire_tlb_miss for the space that the current CPU has loaded, its disk is a block
 * device with DMA. One thread uses a world; many worlds may exist.
 */
#ifndef LAB_WORLD_H
#define LAB_WORLD_H

#include <quire/fs.h>
#include <quire/quire.h>

#include "sim/sim.h"

struct lab_disk;

struct lab_world {
	struct sim *sim;
	struct quire *quire; /* NULL: a bare machine */
	struct quire_memory memory;
	struct quire_space *loaded[QUIRE_CPUS_MAX];
	unsigned relaxes;   /* tries at a lock since the last kernel step */
	uint64_t latest_ns; /* what time_ns last said: it never goes back */
	uintptr_t scratch;  /* kernel address of a few pages of the world's own, for debuggers'
			       accesses */
	struct lab_disk *disks;
};

#define LAB_SCRATCH_BYTES ((size_t)64 << 10)

/* Simulated time starts at this many seconds after 1970: file times look like file times. */
#define LAB_TIME_START_S 1200000000u

/* Why Quire cannot run on such a machine (a sentence); NULL: it can. */
const char *lab_world_unfit(const struct sim_machine *machine);
/* Boots the machine. NULL with *why set (a sentence). */
struct lab_world *lab_world_create(const struct sim_machine *machine,
				   const struct quire_policy *policy, const char **why);
/* The machine alone, for scripts that boot no Quire. NULL with *why set. */
struct lab_world *lab_world_create_bare(const struct sim_machine *machine, const char **why);
/* All spaces have ended and all file systems are unmounted. */
void lab_world_destroy(struct lab_world *world);

/* Switches to a CPU, whose clock goes on no earlier than the one left. */
void lab_world_cpu(struct lab_world *world, unsigned cpu);
/* Loads a space (NULL: none) on the current CPU. */
void lab_world_load(struct lab_world *world, struct quire_space *space);
/*
 * Pays for entering and leaving the kernel: before system calls that Quire does not pay for itself
 * (it does in quire/quire.h's calls on areas and files but fsync, and in fork).
 */
void lab_world_syscall(struct lab_world *world);
/* Simulated time of the current CPU in nanoseconds; fractions count. */
double lab_world_ns(const struct lab_world *world);
void lab_world_sleep(struct lab_world *world, double ns);
/* Wall-clock time in nanoseconds since 1970, as file times have it. */
uint64_t lab_world_time_ns(const struct lab_world *world);

/*
 * A disk of `blocks` pages, by name: made empty the first time, the same one later. It holds what
 * was written to it until the world ends. *fresh tells whether it was made now.
 */
struct quire_block_device lab_world_disk(struct lab_world *world, const char *name, uint64_t blocks,
					 bool *fresh);

#endif
