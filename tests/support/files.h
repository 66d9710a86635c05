/*
 * Files for tests: a user process that reads and writes them, a simulated disk, and a model of a
 * file to compare with.
 */
#ifndef TESTS_SUPPORT_FILES_H
#define TESTS_SUPPORT_FILES_H

#include <quire/fs.h>

#include "tests/support/simulated.h"

/* --- A machine with one process --------------------------------------------------------------- */

#define FILES_BUFFER_BYTES ((size_t)1 << 16)

struct files {
	struct simulated s;
	struct quire_space *space; /* loaded */
	uintptr_t buffer;    /* anonymous memory of the process; the page after it is not mapped */
	struct quire_fs *fs; /* the test's */
};

/*
 * A small machine of the ISA; free memory is filled with 0xdb, as former owners may have left it.
 */
void files_start(struct files *f, enum sim_isa isa, const struct quire_policy *policy);
/* The same with so many CPUs. */
void files_start_cpus(struct files *f, enum sim_isa isa, const struct quire_policy *policy,
		      unsigned cpus);
/*
 * Ends process and machine; the witness must be content and no record may leak. The file system is
 * gone.
 */
void files_end(struct files *f);
/* Fills all memory that is free now with 0xdb. */
void files_soil(struct files *f);

/*
 * write() and read() of host bytes, through the process's buffer in pieces: bytes done, or an
 * error.
 */
int64_t files_write(struct files *f, struct quire_file *file, uint64_t offset, const void *host,
		    size_t bytes);
int64_t files_read(struct files *f, struct quire_file *file, uint64_t offset, void *host,
		   size_t bytes);
/*
 * write() of `bytes` bytes of which only `good` can be read: the rest of the user buffer is not
 * mapped.
 */
int64_t files_write_short(struct files *f, struct quire_file *file, uint64_t offset,
			  const void *host, size_t bytes, size_t good);

/* --- A disk ----------------------------------------------------------------------------------- */

struct files_disk {
	struct files *f;
	uint8_t *data;
	uint64_t blocks;
	long fail_after; /* transfers, after which all fail; negative: never */
	long cut_after;  /* writes, after which power is cut: all fail; negative: never */
	long transfers, writes;
	bool speculate; /* the CPU loads the page's lines just before the device writes to it */
	struct quire_block_device device;
};

void files_disk_start(struct files_disk *disk, struct files *f, uint64_t blocks);
void files_disk_end(struct files_disk *disk);

/* --- A model ---------------------------------------------------------------------------------- */

#define FILES_MODEL_BYTES ((size_t)96 << 10)

struct files_model {
	uint64_t bytes;
	uint8_t data[FILES_MODEL_BYTES];
};

enum files_ability {
	FILES_CAN_ALLOCATE = 1,
	FILES_CAN_RECLAIM = 2,
};

/*
 * `steps` random operations (write, short write, store through a mapping, truncate, punch,
 * allocate, reclaim, fsync), each done to file and model; all contents are compared after each.
 * Aborts at a difference, telling seed and step.
 */
void files_model_run(struct files *f, struct quire_file *file, struct files_model *model,
		     unsigned abilities, unsigned seed, unsigned steps);
void files_model_compare(struct files *f, struct quire_file *file, const struct files_model *model,
			 const char *when);

#endif
