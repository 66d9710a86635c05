/*
 * Small words for tests of mapped memory: one byte loaded, stored, fetched or debugged, areas made
 * in one line.
 *
 * What cannot go wrong in a test that is right is asserted here, so that tests read as sequences of
 * events.
 */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/files.h"

#define PAGE QUIRE_PAGE_BYTES
#define R    QUIRE_PROT_READ
#define W    QUIRE_PROT_WRITE
#define X    QUIRE_PROT_EXEC

#define SHARED  QUIRE_MAP_SHARED
#define PRIVATE QUIRE_MAP_PRIVATE
#define ANON    QUIRE_MAP_ANONYMOUS

/* Every ISA in turn: for (each_isa(isa)). */
#define each_isa(isa)                 \
	enum sim_isa isa = SIM_ARMV7; \
	isa <= SIM_X86_64;            \
	isa++

/* mmap of `bytes` bytes at any address. */
static inline uintptr_t mem_map(struct files *f, size_t bytes, unsigned prot, unsigned flags,
				struct quire_file *file, uint64_t offset)
{
	uintptr_t va = 0;

	assert_int_equal(quire_mmap(f->space, &va, bytes, prot, flags, file, offset, file != NULL),
			 0);
	return va;
}

static inline uintptr_t mem_map_at(struct files *f, uintptr_t va, size_t bytes, unsigned prot,
				   unsigned flags, struct quire_file *file, uint64_t offset)
{
	assert_int_equal(quire_mmap(f->space, &va, bytes, prot, flags | QUIRE_MAP_FIXED, file,
				    offset, file != NULL),
			 0);
	return va;
}

static inline int mem_try_load(struct files *f, uintptr_t va, uint8_t *value)
{
	uint64_t got = 0;
	int error = sim_load(f->s.sim, va, 1, &got);

	*value = (uint8_t)got;
	return error;
}

static inline uint8_t mem_load(struct files *f, uintptr_t va)
{
	uint8_t value;

	assert_int_equal(mem_try_load(f, va, &value), 0);
	return value;
}

static inline int mem_try_store(struct files *f, uintptr_t va, uint8_t value)
{
	return sim_store(f->s.sim, va, 1, value);
}

static inline void mem_store(struct files *f, uintptr_t va, uint8_t value)
{
	assert_int_equal(mem_try_store(f, va, value), 0);
}

/* Four bytes, as instructions. */
static inline void mem_store_code(struct files *f, uintptr_t va, uint32_t code)
{
	assert_int_equal(sim_store(f->s.sim, va, 4, code), 0);
}

static inline uint32_t mem_fetch(struct files *f, uintptr_t va)
{
	uint64_t got = 0;

	assert_int_equal(sim_fetch(f->s.sim, va, &got), 0);
	return (uint32_t)got;
}

/* The current CPU goes on in the space. */
static inline void mem_cpu(struct files *f, unsigned cpu, struct quire_space *space)
{
	sim_switch(f->s.sim, cpu);
	if (f->s.loaded[cpu] != space)
		simulated_load(&f->s, space);
}

/* Every CPU leaves its space, the current one is 0. */
static inline void mem_leave(struct files *f)
{
	for (unsigned cpu = f->s.config.port.cpus; cpu-- > 0;)
		mem_cpu(f, cpu, NULL);
}

/* A frame of kernel memory to copy to and from, for a debugger. */
static inline void mem_debug(struct files *f, uintptr_t va, uint8_t *value, bool write)
{
	struct quire *q = f->s.q;
	struct quire_page *page = quire_page_alloc(q, 0);
	uintptr_t buffer;

	assert_non_null(page);
	buffer = quire_page_address(q, page);
	assert_int_equal(sim_store(f->s.sim, buffer, 1, *value), 0);
	assert_int_equal(quire_space_access(f->space, va, buffer, 1, write), 1);
	if (!write) {
		uint64_t got;

		assert_int_equal(sim_load(f->s.sim, buffer, 1, &got), 0);
		*value = (uint8_t)got;
	}
	quire_page_put(q, page);
}

/*
 * A file of `pages` pages on the test's file system, the first byte of page n being 'a' + n % 26.
 */
static inline struct quire_file *mem_file(struct files *f, const char *name, unsigned pages)
{
	struct quire_file *file;
	static uint8_t data[PAGE];

	assert_int_equal(quire_fs_open(f->fs, name, true, &file), 0);
	for (unsigned n = 0; n < pages; n++) {
		memset(data, 'A' + (int)(n % 26), sizeof(data));
		data[0] = (uint8_t)('a' + n % 26);
		assert_int_equal(files_write(f, file, (uint64_t)n * PAGE, data, PAGE), PAGE);
	}
	return file;
}

static inline void mem_start(struct files *f, enum sim_isa isa, const struct quire_policy *policy)
{
	int error;

	files_start(f, isa, policy);
	f->fs = quire_tmpfs_mount(f->s.q, 0, &error);
	assert_non_null(f->fs);
}

/* All files are put and all areas but the buffer may be left. */
static inline void mem_end(struct files *f)
{
	mem_leave(f);
	quire_space_destroy(f->space);
	if (f->fs)
		assert_int_equal(quire_fs_unmount(f->fs), 0);
	simulated_check(&f->s);
	simulated_end(&f->s);
}

static inline uint64_t mem_faults(struct files *f)
{
	struct quire_usage usage;

	quire_usage(f->s.q, &usage);
	return usage.faults;
}

static inline struct quire_stat mem_stat(struct quire_file *file)
{
	struct quire_stat stat;

	quire_file_stat(file, &stat);
	return stat;
}

/* Some time goes by. */
static inline void mem_wait(struct files *f)
{
	f->s.time_offset_ns += 1000000000;
}

#endif
