/*
 * Writeback and reclaim on a disk: no store is lost, whenever it comes, and nothing goes that is
 * needed.
 */
#include "tests/support/memory.h"

struct world {
	struct files f;
	struct files_disk disk;
};

static void start(struct world *w, enum sim_isa isa)
{
	int error;

	files_start(&w->f, isa, NULL);
	files_disk_start(&w->disk, &w->f, 128);
	w->f.fs = quire_diskfs_mount(w->f.s.q, &w->disk.device, true, &error);
	assert_non_null(w->f.fs);
}

static void end(struct world *w)
{
	mem_end(&w->f);
	files_disk_end(&w->disk);
}

static void remount(struct world *w)
{
	int error;

	assert_int_equal(quire_fs_unmount(w->f.fs), 0);
	w->f.fs = quire_diskfs_mount(w->f.s.q, &w->disk.device, false, &error);
	assert_non_null(w->f.fs);
}

static struct quire_file *open_file(struct world *w, const char *name)
{
	struct quire_file *file;

	assert_int_equal(quire_fs_open(w->f.fs, name, false, &file), 0);
	return file;
}

static uint8_t read_byte(struct world *w, struct quire_file *file, uint64_t offset)
{
	uint8_t byte = 0;

	assert_int_equal(files_read(&w->f, file, offset, &byte, 1), 1);
	return byte;
}

/* BUGS 45: stores after the last msync, then munmap and unmount. */
static void test_stores_reach_the_disk(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct world w;
		uintptr_t va;

		start(&w, isa);
		file = mem_file(&w.f, "file", 3);
		va = mem_map(&w.f, 3 * PAGE, R | W, SHARED, file, 0);
		mem_store(&w.f, va, '0');
		mem_store(&w.f, va + PAGE, '1');
		assert_int_equal(quire_msync(w.f.space, va, 3 * PAGE, QUIRE_MS_SYNC), 0);
		mem_store(&w.f, va + PAGE, '2');
		assert_int_equal(quire_msync(w.f.space, va, 3 * PAGE, QUIRE_MS_ASYNC), 0);
		mem_store(&w.f, va + 2 * PAGE, '3');
		mem_store(&w.f, va + 2 * PAGE + 1, '4');
		assert_int_equal(quire_munmap(w.f.space, va, 3 * PAGE), 0);
		quire_file_put(file);
		remount(&w);
		file = open_file(&w, "file");
		assert_int_equal(read_byte(&w, file, 0), '0');
		assert_int_equal(read_byte(&w, file, PAGE), '2');
		assert_int_equal(read_byte(&w, file, 2 * PAGE), '3');
		assert_int_equal(read_byte(&w, file, 2 * PAGE + 1), '4');
		quire_file_put(file);
		end(&w);
	}
}

/* A process that ends, and one that maps over, leave their stores too. */
static void test_exit_keeps_stores(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_space *other;
		struct quire_file *file;
		struct world w;
		uintptr_t va;
		int error;

		start(&w, isa);
		file = mem_file(&w.f, "file", 1);
		other = quire_space_create(w.f.s.q, &error);
		assert_non_null(other);
		va = 0;
		assert_int_equal(quire_mmap(other, &va, PAGE, R | W, SHARED, file, 0, true), 0);
		mem_cpu(&w.f, 0, other);
		mem_store(&w.f, va + 7, 'e');
		mem_cpu(&w.f, 0, w.f.space);
		quire_space_destroy(other);
		quire_file_put(file);
		remount(&w);
		file = open_file(&w, "file");
		assert_int_equal(read_byte(&w, file, 7), 'e');
		quire_file_put(file);
		end(&w);
	}
}

/* MS_SYNC writes the dirty pages of its range, and only those. */
static void test_msync_writes_its_range(void **state)
{
	struct quire_file *file;
	struct world w;
	uintptr_t va;
	long writes;

	(void)state;
	start(&w, SIM_PARISC);
	file = mem_file(&w.f, "file", 8);
	assert_int_equal(quire_fsync(file), 0);
	va = mem_map(&w.f, 8 * PAGE, R | W, SHARED, file, 0);
	for (unsigned n = 0; n < 8; n++)
		mem_store(&w.f, va + n * PAGE, 'x');
	memset(w.f.s.steps, 0, sizeof(w.f.s.steps));
	assert_int_equal(quire_msync(w.f.space, va + 2 * PAGE, 3 * PAGE, QUIRE_MS_SYNC), 0);
	assert_int_equal(w.f.s.steps[QUIRE_STEP_WRITEBACK_PAGE], 3);
	assert_int_equal(quire_msync(w.f.space, va + 2 * PAGE, 3 * PAGE, QUIRE_MS_SYNC), 0);
	assert_int_equal(w.f.s.steps[QUIRE_STEP_WRITEBACK_PAGE], 3);
	assert_int_equal(mem_stat(file).pages, 8);
	/* With MS_ASYNC nothing is written. */
	writes = w.disk.writes;
	assert_int_equal(quire_msync(w.f.space, va, 8 * PAGE, QUIRE_MS_ASYNC), 0);
	assert_int_equal(w.disk.writes, writes);
	quire_file_put(file);
	end(&w);
}

/*
 * BUGS 46, 47: CPU 1 stores at every step of a writeback by CPU 0 at which it need not wait for it.
 * Whatever it stored last is on the disk after one more writeback.
 */
struct racer {
	uintptr_t va;
	unsigned at, seen; /* the step at which it stores, and how many went by */
	bool stored;
};

static void race(struct simulated *s, enum quire_step step)
{
	struct racer *racer = s->test;

	if (step != QUIRE_STEP_WRITEBACK_PAGE && step != QUIRE_STEP_FLAG &&
	    step != QUIRE_STEP_LOCK && step != QUIRE_STEP_ENTRY_PROTECT)
		return;
	/* When the entry has been narrowed a store waits for the page, and so for CPU 0. */
	if (step != QUIRE_STEP_ENTRY_PROTECT && s->steps[QUIRE_STEP_ENTRY_PROTECT])
		return;
	if (racer->seen++ != racer->at)
		return;
	sim_switch(s->sim, 1);
	racer->stored = sim_store(s->sim, racer->va, 1, 'R') == 0;
	sim_switch(s->sim, 0);
}

static void test_store_during_writeback(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		unsigned at = 0;
		bool stored;

		do {
			struct racer racer = {.at = at++};
			struct quire_file *file;
			struct world w;

			start(&w, isa);
			file = mem_file(&w.f, "file", 1);
			racer.va = mem_map(&w.f, PAGE, R | W, SHARED, file, 0);
			mem_cpu(&w.f, 1, w.f.space);
			mem_store(&w.f, racer.va, 's');
			mem_cpu(&w.f, 0, w.f.space);
			memset(w.f.s.steps, 0, sizeof(w.f.s.steps));
			w.f.s.test = &racer;
			w.f.s.on_step = race;
			assert_int_equal(quire_writeback(file, 0, 0), 0);
			w.f.s.on_step = NULL;
			stored = racer.stored;
			assert_int_equal(quire_fsync(file), 0);
			mem_cpu(&w.f, 1, NULL);
			mem_cpu(&w.f, 0, w.f.space);
			assert_int_equal(quire_munmap(w.f.space, racer.va, PAGE), 0);
			quire_file_put(file);
			remount(&w);
			file = open_file(&w, "file");
			assert_int_equal(read_byte(&w, file, 0), stored ? 'R' : 's');
			quire_file_put(file);
			end(&w);
		} while (stored);
		assert_true(at > 3);
	}
}

/* BUGS 48: the device reads what was stored through the mapping, wherever that still is. */
static void test_device_sees_stores(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct quire_page *page;
		uint8_t host[PAGE];
		struct world w;
		uintptr_t va;

		start(&w, isa);
		file = mem_file(&w.f, "file", 1);
		va = mem_map(&w.f, PAGE, R | W, SHARED, file, 0);
		mem_cpu(&w.f, 1, w.f.space);
		mem_store(&w.f, va + 77, 'D');
		mem_cpu(&w.f, 0, w.f.space);
		page = quire_cache_find(file, 0);
		quire_coherence_dma_prepare(w.f.s.q, page, QUIRE_TO_DEVICE);
		sim_dma_from_memory(w.f.s.sim, quire_page_pa(page), host, PAGE);
		quire_coherence_dma_finish(w.f.s.q, page, QUIRE_TO_DEVICE);
		assert_int_equal(host[77], 'D');
		/* And the other way: what the device writes is seen by all. */
		host[77] = 'E';
		quire_coherence_dma_prepare(w.f.s.q, page, QUIRE_FROM_DEVICE);
		sim_dma_to_memory(w.f.s.sim, quire_page_pa(page), host, PAGE);
		quire_coherence_dma_finish(w.f.s.q, page, QUIRE_FROM_DEVICE);
		assert_int_equal(mem_load(&w.f, va + 77), 'E');
		assert_int_equal(read_byte(&w, file, 77), 'E');
		quire_page_put(w.f.s.q, page);
		quire_file_put(file);
		end(&w);
	}
}

/* BUGS 7: code read from the disk is fetched as it is there. */
static void test_code_from_disk(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct world w;
		uintptr_t va;

		start(&w, isa);
		file = mem_file(&w.f, "file", 2);
		va = mem_map(&w.f, 2 * PAGE, R | X, SHARED, file, 0);
		for (unsigned n = 0; n < 4; n++) {
			uint8_t code[4] = {(uint8_t)n, 1, 2, 3};

			assert_int_equal(files_write(&w.f, file, PAGE + 8, code, 4), 4);
			assert_int_equal(mem_fetch(&w.f, va + PAGE + 8) & 0xff, n);
			assert_int_equal(quire_fsync(file), 0);
			assert_int_equal(quire_munmap(w.f.space, va, 2 * PAGE), 0);
			assert_int_equal(quire_reclaim(w.f.s.q, 100), n ? 1 : 2);
			mem_map_at(&w.f, va, 2 * PAGE, R | X, SHARED, file, 0);
			assert_int_equal(mem_fetch(&w.f, va + PAGE + 8) & 0xff, n);
		}
		quire_file_put(file);
		end(&w);
	}
}

/* A write that fails leaves the page dirty; the next one gets it out. */
static void test_io_error(void **state)
{
	struct quire_file *file;
	struct world w;
	uintptr_t va;

	(void)state;
	start(&w, SIM_ARMV7);
	file = mem_file(&w.f, "file", 2);
	va = mem_map(&w.f, 2 * PAGE, R | W, SHARED, file, 0);
	mem_store(&w.f, va, 'x');
	w.disk.fail_after = w.disk.transfers;
	assert_int_equal(quire_msync(w.f.space, va, 2 * PAGE, QUIRE_MS_SYNC), -QUIRE_EIO);
	assert_int_equal(quire_fsync(file), -QUIRE_EIO);
	assert_int_equal(quire_reclaim(w.f.s.q, 100), 0);
	w.disk.fail_after = -1;
	assert_int_equal(quire_msync(w.f.space, va, 2 * PAGE, QUIRE_MS_SYNC), 0);
	assert_int_equal(quire_munmap(w.f.space, va, 2 * PAGE), 0);
	assert_int_equal(quire_reclaim(w.f.s.q, 100), 2);
	assert_int_equal(read_byte(&w, file, 0), 'x');
	/* A page that cannot be read is no memory. */
	assert_int_equal(quire_reclaim(w.f.s.q, 100), 1);
	va = mem_map(&w.f, 2 * PAGE, R | W, SHARED, file, 0);
	w.disk.fail_after = w.disk.transfers;
	assert_int_equal(mem_try_store(&w.f, va, 'y'), -QUIRE_SIGBUS);
	assert_int_equal(quire_read(file, 0, w.f.buffer, 1), -QUIRE_EIO);
	w.disk.fail_after = -1;
	assert_int_equal(mem_load(&w.f, va), 'x');
	quire_file_put(file);
	end(&w);
}

/* Reclaim takes what is clean and mapped nowhere, as much as was asked for. */
static void test_reclaim(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct quire_page *page;
		struct world w;
		uintptr_t va;

		start(&w, isa);
		file = mem_file(&w.f, "file", 6);
		assert_int_equal(quire_reclaim(w.f.s.q, 100), 0); /* all dirty */
		assert_int_equal(quire_fsync(file), 0);
		va = mem_map(&w.f, PAGE, R, SHARED, file, 0);
		assert_int_equal(mem_load(&w.f, va), 'a');
		page = quire_cache_find(file, 5); /* somebody holds it */
		assert_int_equal(files_write(&w.f, file, 4 * PAGE, "w", 1), 1);
		assert_int_equal(quire_reclaim(w.f.s.q, 2), 2);
		assert_int_equal(mem_stat(file).pages, 4);
		assert_int_equal(quire_reclaim(w.f.s.q, 100), 1);
		assert_int_equal(mem_stat(file).pages, 3);
		quire_page_put(w.f.s.q, page);
		for (unsigned n = 0; n < 6; n++)
			assert_int_equal(read_byte(&w, file, n * PAGE),
					 n == 4 ? 'w' : 'a' + (int)n);
		quire_file_put(file);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stores_reach_the_disk),
		cmocka_unit_test(test_exit_keeps_stores),
		cmocka_unit_test(test_msync_writes_its_range),
		cmocka_unit_test(test_store_during_writeback),
		cmocka_unit_test(test_device_sees_stores),
		cmocka_unit_test(test_code_from_disk),
		cmocka_unit_test(test_io_error),
		cmocka_unit_test(test_reclaim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
