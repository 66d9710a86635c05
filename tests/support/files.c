/*
 * Files for tests: see files.h.
 */
#include "tests/support/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm/mm.h"

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "files: %s\n", what);
	abort();
}

/* --- A machine with one process --------------------------------------------------------------- */

void files_soil(struct files *f)
{
	static uint8_t soil[QUIRE_PAGE_BYTES];
	struct quire_list taken;
	struct quire_page *page;

	memset(soil, 0xdb, sizeof(soil));
	quire_list_init(&taken);
	while ((page = quire_page_alloc(f->s.q, 0))) {
		sim_write(f->s.sim, quire_page_address(f->s.q, page), soil, sizeof(soil));
		quire_coherence_kernel_wrote(f->s.q, page);
		quire_list_add(&taken, &page->link);
	}
	while (!quire_list_empty(&taken)) {
		page = quire_container(taken.next, struct quire_page, link);
		quire_list_remove(&page->link);
		quire_page_put(f->s.q, page);
	}
}

void files_start(struct files *f, enum sim_isa isa, const struct quire_policy *policy)
{
	files_start_cpus(f, isa, policy, simulated_machine(isa).cpus);
}

void files_start_cpus(struct files *f, enum sim_isa isa, const struct quire_policy *policy,
		      unsigned cpus)
{
	struct sim_machine machine = simulated_machine(isa);
	int error;

	memset(f, 0, sizeof(*f));
	machine.memory_bytes = 4 << 20;
	machine.cpus = cpus;
	simulated_start(&f->s, &machine, policy);
	files_soil(f);
	f->space = quire_space_create(f->s.q, &error);
	must(f->space, "no space");
	must(!quire_mmap(f->space, &f->buffer, FILES_BUFFER_BYTES + QUIRE_PAGE_BYTES,
			 QUIRE_PROT_READ | QUIRE_PROT_WRITE,
			 QUIRE_MAP_PRIVATE | QUIRE_MAP_ANONYMOUS, NULL, 0, false),
	     "no user buffer");
	must(!quire_munmap(f->space, f->buffer + FILES_BUFFER_BYTES, QUIRE_PAGE_BYTES),
	     "no end of the buffer");
	simulated_load(&f->s, f->space);
}

void files_end(struct files *f)
{
	simulated_load(&f->s, NULL);
	quire_space_destroy(f->space);
	simulated_check(&f->s);
	simulated_end(&f->s);
}

int64_t files_write(struct files *f, struct quire_file *file, uint64_t offset, const void *host,
		    size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		size_t piece =
			bytes - done < FILES_BUFFER_BYTES ? bytes - done : FILES_BUFFER_BYTES;
		int64_t wrote;

		if (sim_write(f->s.sim, f->buffer, (const uint8_t *)host + done, piece))
			return done ? (int64_t)done : -QUIRE_ENOMEM;
		wrote = quire_write(file, offset + done, f->buffer, piece);
		if (wrote < 0)
			return done ? (int64_t)done : wrote;
		done += (size_t)wrote;
		if ((size_t)wrote < piece)
			break;
	}
	return (int64_t)done;
}

int64_t files_read(struct files *f, struct quire_file *file, uint64_t offset, void *host,
		   size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		size_t piece =
			bytes - done < FILES_BUFFER_BYTES ? bytes - done : FILES_BUFFER_BYTES;
		int64_t got = quire_read(file, offset + done, f->buffer, piece);

		if (got < 0)
			return done ? (int64_t)done : got;
		if (sim_read(f->s.sim, f->buffer, (uint8_t *)host + done, (size_t)got))
			return -QUIRE_ENOMEM;
		done += (size_t)got;
		if ((size_t)got < piece)
			break;
	}
	return (int64_t)done;
}

int64_t files_write_short(struct files *f, struct quire_file *file, uint64_t offset,
			  const void *host, size_t bytes, size_t good)
{
	uintptr_t at = f->buffer + FILES_BUFFER_BYTES - good;

	must(!sim_write(f->s.sim, at, host, good), "user buffer not writable");
	return quire_write(file, offset, at, bytes);
}

/* --- A disk ----------------------------------------------------------------------------------- */

static int transfer(void *context, uint64_t block, quire_pa_t page, bool write)
{
	struct files_disk *disk = context;
	uint8_t *at = disk->data + block * QUIRE_PAGE_BYTES;
	uint8_t old[QUIRE_PAGE_BYTES];

	must(block < disk->blocks, "transfer beyond the end of the disk");
	if (disk->fail_after >= 0 && disk->transfers >= disk->fail_after)
		return -QUIRE_EIO;
	disk->transfers++;
	if (!write) {
		if (disk->speculate)
			sim_read(disk->f->s.sim, sim_kernel_base(disk->f->s.sim) + (uintptr_t)page,
				 old, sizeof(old));
		sim_dma_to_memory(disk->f->s.sim, page, at, QUIRE_PAGE_BYTES);
		return 0;
	}
	if (disk->cut_after >= 0 && disk->writes >= disk->cut_after)
		return -QUIRE_EIO;
	disk->writes++;
	sim_dma_from_memory(disk->f->s.sim, page, at, QUIRE_PAGE_BYTES);
	return 0;
}

void files_disk_start(struct files_disk *disk, struct files *f, uint64_t blocks)
{
	memset(disk, 0, sizeof(*disk));
	disk->f = f;
	disk->blocks = blocks;
	disk->fail_after = disk->cut_after = -1;
	disk->data = malloc(blocks * QUIRE_PAGE_BYTES);
	must(disk->data, "no memory for a disk");
	memset(disk->data, 0xee, blocks * QUIRE_PAGE_BYTES);
	disk->device.context = disk;
	disk->device.blocks = blocks;
	disk->device.transfer = transfer;
}

void files_disk_end(struct files_disk *disk)
{
	free(disk->data);
	disk->data = NULL;
}

/* --- A model ---------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

void files_model_compare(struct files *f, struct quire_file *file, const struct files_model *model,
			 const char *when)
{
	static uint8_t got[FILES_MODEL_BYTES];
	struct quire_stat stat;
	int64_t bytes;

	quire_file_stat(file, &stat);
	if (stat.bytes != model->bytes) {
		fprintf(stderr, "model: %s: size %" PRIu64 ", not %" PRIu64 "\n", when, stat.bytes,
			model->bytes);
		abort();
	}
	bytes = files_read(f, file, 0, got, sizeof(got));
	must(bytes == (int64_t)model->bytes, "model: short read");
	for (uint64_t n = 0; n < model->bytes; n++) {
		if (got[n] == model->data[n])
			continue;
		fprintf(stderr, "model: %s: byte %" PRIu64 " is %#x, not %#x\n", when, n, got[n],
			model->data[n]);
		abort();
	}
}

static void model_set_size(struct files_model *model, uint64_t bytes)
{
	if (bytes < model->bytes)
		memset(model->data + bytes, 0, model->bytes - bytes);
	model->bytes = bytes;
}

static void model_store(struct files_model *model, uint64_t offset, const void *host, size_t bytes)
{
	memcpy(model->data + offset, host, bytes);
	if (offset + bytes > model->bytes)
		model->bytes = offset + bytes;
}

/* What a run works on. */
struct run {
	struct files *f;
	struct quire_file *file;
	struct files_model *model;
	uint32_t random;
	uint8_t data[3 * QUIRE_PAGE_BYTES];
};

static size_t some_bytes(struct run *run, uint64_t *offset)
{
	static const uint32_t limits[] = {64, 512, QUIRE_PAGE_BYTES, 3 * QUIRE_PAGE_BYTES};
	size_t bytes = 1 + next_random(&run->random, limits[next_random(&run->random, 4)]);

	*offset = next_random(&run->random, (uint32_t)(FILES_MODEL_BYTES - bytes));
	if (next_random(&run->random, 3) == 0) { /* whole pages are a case of their own */
		*offset &= ~(uint64_t)QUIRE_PAGE_MASK;
		bytes = (bytes + QUIRE_PAGE_MASK) & ~QUIRE_PAGE_MASK;
		if (*offset + bytes > FILES_MODEL_BYTES)
			bytes = QUIRE_PAGE_BYTES;
	}
	for (size_t n = 0; n < bytes; n++)
		run->data[n] = (uint8_t)(1 + next_random(&run->random, 200));
	return bytes;
}

static void do_write(struct run *run)
{
	uint64_t offset;
	size_t bytes = some_bytes(run, &offset);

	must(files_write(run->f, run->file, offset, run->data, bytes) == (int64_t)bytes,
	     "model: write failed");
	model_store(run->model, offset, run->data, bytes);
}

/*
 * At least what could be copied up to a page boundary counts; what the result says is what must be
 * there.
 */
static void do_write_short(struct run *run)
{
	uint64_t offset;
	size_t bytes = some_bytes(run, &offset);
	size_t good = next_random(&run->random, (uint32_t)bytes);
	int64_t done = files_write_short(run->f, run->file, offset, run->data, bytes, good);

	must(done <= (int64_t)good && (done > 0 || done == -QUIRE_EFAULT), "model: short write");
	if (done > 0)
		model_store(run->model, offset, run->data, (size_t)done);
}

static void do_store(struct run *run)
{
	uint64_t offset;
	size_t bytes = some_bytes(run, &offset);
	uintptr_t va = 0;

	if (offset >= run->model->bytes)
		return;
	if (bytes > run->model->bytes - offset)
		bytes = (size_t)(run->model->bytes - offset);
	must(!quire_mmap(run->f->space, &va, FILES_MODEL_BYTES, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
			 QUIRE_MAP_SHARED, run->file, 0, true),
	     "model: mmap failed");
	must(!sim_write(run->f->s.sim, va + (uintptr_t)offset, run->data, bytes),
	     "model: store failed");
	must(!quire_munmap(run->f->space, va, FILES_MODEL_BYTES), "model: munmap failed");
	model_store(run->model, offset, run->data, bytes);
}

static void do_truncate(struct run *run)
{
	uint64_t bytes = next_random(&run->random, (uint32_t)FILES_MODEL_BYTES);

	must(!quire_truncate(run->file, bytes), "model: truncate failed");
	model_set_size(run->model, bytes);
}

static void do_punch(struct run *run)
{
	uint64_t offset;
	size_t bytes = some_bytes(run, &offset);

	must(!quire_punch(run->file, offset, bytes), "model: punch failed");
	if (offset < run->model->bytes)
		memset(run->model->data + offset, 0,
		       bytes < run->model->bytes - offset ? bytes : run->model->bytes - offset);
}

static void do_allocate(struct run *run)
{
	uint64_t offset;
	size_t bytes = some_bytes(run, &offset);

	must(!quire_allocate(run->file, offset, bytes), "model: allocate failed");
	if (offset + bytes > run->model->bytes)
		run->model->bytes = offset + bytes;
}

static void step(struct run *run, unsigned abilities)
{
	switch (next_random(&run->random, 9)) {
	case 0:
	case 1:
		do_write(run);
		break;
	case 2:
		do_write_short(run);
		break;
	case 3:
	case 4:
		do_store(run);
		break;
	case 5:
		do_truncate(run);
		break;
	case 6:
		do_punch(run);
		break;
	case 7:
		if (abilities & FILES_CAN_ALLOCATE)
			do_allocate(run);
		break;
	default:
		must(!quire_fsync(run->file), "model: fsync failed");
		if (abilities & FILES_CAN_RECLAIM)
			quire_reclaim(run->f->s.q, 8);
		break;
	}
}

void files_model_run(struct files *f, struct quire_file *file, struct files_model *model,
		     unsigned abilities, unsigned seed, unsigned steps)
{
	struct run run = {.f = f, .file = file, .model = model, .random = seed * 2654435761u + 1};
	char when[64];

	for (unsigned n = 0; n < steps; n++) {
		step(&run, abilities);
		snprintf(when, sizeof(when), "seed %u, step %u", seed, n);
		files_model_compare(f, file, model, when);
	}
}
