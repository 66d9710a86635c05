/*
 * ramfs: whole-page writes clear nothing, and nothing of a former owner's memory is seen all the
 * same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/mm.h"
#include "tests/support/files.h"

#define PAGE QUIRE_PAGE_BYTES

static struct quire_file *start(struct files *f, enum sim_isa isa)
{
	struct quire_file *file;
	int error;

	files_start(f, isa, NULL);
	f->fs = quire_ramfs_mount(f->s.q, &error);
	assert_non_null(f->fs);
	assert_int_equal(quire_fs_open(f->fs, "file", true, &file), 0);
	return file;
}

static void end(struct files *f, struct quire_file *file)
{
	quire_file_put(file);
	assert_int_equal(quire_fs_unmount(f->fs), 0);
	files_end(f);
}

static void assert_bytes(const uint8_t *at, size_t bytes, uint8_t value)
{
	for (size_t n = 0; n < bytes; n++)
		assert_int_equal(at[n], value);
}

static void test_short_copies(void **state)
{
	uint8_t data[PAGE], got[3 * PAGE];
	struct quire_file *file;
	uintptr_t va = 0;
	struct files f;

	(void)state;
	file = start(&f, SIM_PARISC);
	memset(data, 'x', sizeof(data));
	assert_int_equal(files_write_short(&f, file, 0, data, PAGE, 0), -QUIRE_EFAULT);
	assert_int_equal(files_write_short(&f, file, PAGE + 100, data, 200, 50), 50);
	/* A mapping shows what is behind the end, too. */
	assert_int_equal(quire_mmap(f.space, &va, 2 * PAGE, QUIRE_PROT_READ, QUIRE_MAP_SHARED, file,
				    0, true),
			 0);
	simulated_user_read(&f.s, va + PAGE, got, PAGE);
	assert_bytes(got, 100, 0);
	assert_bytes(got + 150, PAGE - 150, 0);
	assert_int_equal(quire_munmap(f.space, va, 2 * PAGE), 0);
	assert_int_equal(files_write_short(&f, file, 2 * PAGE, data, PAGE, 1000), 1000);
	assert_int_equal(quire_truncate(file, 3 * PAGE), 0);
	assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), sizeof(got));
	assert_bytes(got, PAGE + 100, 0);
	assert_bytes(got + PAGE + 100, 50, 'x');
	assert_bytes(got + PAGE + 150, PAGE - 150, 0);
	assert_bytes(got + 2 * PAGE, 1000, 'x');
	assert_bytes(got + 2 * PAGE + 1000, PAGE - 1000, 0);
	end(&f, file);
}

/*
 * The price of a whole-page write has no clearing in it: a page written in two halves costs more
 * than the call does.
 */
static void test_whole_pages_are_not_cleared(void **state)
{
	static uint8_t data[PAGE];
	struct quire_file *file;
	struct quire_page *page;
	uint64_t whole, part;
	struct files f;

	(void)state;
	file = start(&f, SIM_X86_64);
	assert_false(sim_write(f.s.sim, f.buffer, data, sizeof(data)));
	whole = sim_ticks(f.s.sim);
	assert_int_equal(file->ops->write_begin(file, 0, PAGE, &page), 0);
	whole = sim_ticks(f.s.sim) - whole;
	assert_int_equal(file->ops->write_end(file, 0, PAGE, 0, page), 0);
	part = sim_ticks(f.s.sim);
	assert_int_equal(file->ops->write_begin(file, PAGE, 8, &page), 0);
	part = sim_ticks(f.s.sim) - part;
	assert_int_equal(file->ops->write_end(file, PAGE, 8, 0, page), 0);
	assert_true(part > whole + (PAGE / 64 - 1) * sim_machine(f.s.sim)->cost.l1_line);
	end(&f, file);
}

static void test_never_written_back(void **state)
{
	uint8_t got[PAGE];
	struct quire_file *file;
	struct files f;

	(void)state;
	file = start(&f, SIM_ARMV7);
	assert_int_equal(files_write(&f, file, 0, "kept", 4), 4);
	assert_int_equal(quire_fsync(file), 0);
	assert_int_equal(quire_fs_sync(f.fs), 0);
	assert_int_equal(quire_reclaim(f.s.q, 100), 0);
	assert_int_equal(files_read(&f, file, 0, got, PAGE), 4);
	assert_memory_equal(got, "kept", 4);
	assert_int_equal(quire_allocate(file, 0, PAGE), -QUIRE_ENOTSUP);
	assert_int_equal(quire_fs_symlink(f.fs, "link", "target"), -QUIRE_ENOTSUP);
	end(&f, file);
}

static void test_model(void **state)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};
	static struct files_model model;

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		struct files f;
		struct quire_file *file = start(&f, isas[n]);

		memset(&model, 0, sizeof(model));
		files_model_run(&f, file, &model, FILES_CAN_RECLAIM, 100 + n, 120);
		end(&f, file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_copies),
		cmocka_unit_test(test_whole_pages_are_not_cleared),
		cmocka_unit_test(test_never_written_back),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
