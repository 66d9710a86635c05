/*
 * tmpfs: nothing of a former owner's memory is ever seen, whichever way a page comes into the
 * cache; and the account. Each test runs under both answers to `tmpfs_clear` and on the three ISAs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/mm.h"
#include "tests/support/files.h"

#define PAGE QUIRE_PAGE_BYTES

/* Runs a test on every ISA and under both policies; `pages_max` of the tmpfs. */
static void everywhere(void (*test)(struct files *f), uint64_t pages_max)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

	for (unsigned n = 0; n < 6; n++) {
		struct quire_policy policy = quire_policy_default();
		struct files f;
		int error;

		policy.tmpfs_clear = n & 1 ? QUIRE_TMPFS_CLEAR_FIRST : QUIRE_TMPFS_CLEAR_ENDS;
		files_start(&f, isas[n / 2], &policy);
		f.fs = quire_tmpfs_mount(f.s.q, pages_max, &error);
		assert_non_null(f.fs);
		test(&f);
		assert_int_equal(quire_fs_unmount(f.fs), 0);
		files_end(&f);
	}
}

static struct quire_file *open_file(struct files *f)
{
	struct quire_file *file;

	assert_int_equal(quire_fs_open(f->fs, "file", true, &file), 0);
	return file;
}

static void close_and_remove(struct files *f, struct quire_file *file)
{
	quire_file_put(file);
	assert_int_equal(quire_fs_unlink(f->fs, "file"), 0);
}

static void assert_bytes(const uint8_t *at, size_t bytes, uint8_t value)
{
	for (size_t n = 0; n < bytes; n++)
		assert_int_equal(at[n], value);
}

static bool in_cache(struct quire_file *file, uint64_t index)
{
	struct quire_page *page = quire_cache_find(file, index);

	if (page)
		quire_page_put(file->quire, page);
	return page != NULL;
}

/* --- Short copies (a user buffer that faults half way) ---------------------------------------- */

static void short_copy(struct files *f)
{
	struct quire_file *file = open_file(f);
	uint8_t data[200], got[PAGE];
	struct quire_stat stat;
	uintptr_t va = 0;

	memset(data, 'x', sizeof(data));
	assert_int_equal(files_write_short(f, file, 100, data, sizeof(data), 50), 50);
	quire_file_stat(file, &stat);
	assert_int_equal(stat.bytes, 150);
	/* A mapping shows what is behind the end, too. */
	assert_int_equal(quire_mmap(f->space, &va, PAGE, QUIRE_PROT_READ, QUIRE_MAP_SHARED, file, 0,
				    true),
			 0);
	simulated_user_read(&f->s, va, got, PAGE);
	assert_bytes(got + 150, PAGE - 150, 0);
	assert_int_equal(quire_munmap(f->space, va, PAGE), 0);
	assert_int_equal(quire_truncate(file, PAGE), 0);
	assert_int_equal(files_read(f, file, 0, got, sizeof(got)), PAGE);
	assert_bytes(got, 100, 0);
	assert_bytes(got + 100, 50, 'x');
	assert_bytes(got + 150, PAGE - 150, 0);
	close_and_remove(f, file);
}

static void test_short_copy(void **state)
{
	(void)state;
	everywhere(short_copy, 0);
}

/* Nothing at all was copied: no page shows what it held. */
static void empty_copy(struct files *f)
{
	struct quire_file *file = open_file(f);
	uint8_t got[2 * PAGE];

	assert_int_equal(files_write_short(f, file, 0, "", PAGE, 0), -QUIRE_EFAULT);
	assert_int_equal(files_write_short(f, file, PAGE + 10, "", 100, 0), -QUIRE_EFAULT);
	assert_int_equal(quire_truncate(file, 2 * PAGE), 0);
	assert_int_equal(files_read(f, file, 0, got, sizeof(got)), 2 * PAGE);
	assert_bytes(got, sizeof(got), 0);
	close_and_remove(f, file);
}

static void test_empty_copy(void **state)
{
	(void)state;
	everywhere(empty_copy, 0);
}

/* --- fallocate -------------------------------------------------------------------------------- */

static void allocate_then_read(struct files *f)
{
	struct quire_file *file = open_file(f);
	uint8_t got[4 * PAGE];
	uintptr_t va = 0;

	assert_int_equal(quire_allocate(file, 0, 4 * PAGE), 0);
	assert_true(in_cache(file, 0) && in_cache(file, 3));
	assert_int_equal(files_read(f, file, 0, got, 2 * PAGE), 2 * PAGE);
	assert_bytes(got, 2 * PAGE, 0);
	assert_int_equal(quire_mmap(f->space, &va, 4 * PAGE, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
				    QUIRE_MAP_SHARED, file, 0, true),
			 0);
	simulated_user_read(&f->s, va + 2 * PAGE, got, PAGE);
	assert_bytes(got, PAGE, 0);
	simulated_user_write(&f->s, va + 3 * PAGE + 7, "y", 1);
	assert_int_equal(files_read(f, file, 3 * PAGE, got, PAGE), PAGE);
	assert_int_equal(got[7], 'y');
	got[7] = 0;
	assert_bytes(got, PAGE, 0);
	assert_int_equal(quire_munmap(f->space, va, 4 * PAGE), 0);
	close_and_remove(f, file);
}

static void test_allocate_then_read(void **state)
{
	(void)state;
	everywhere(allocate_then_read, 0);
}

static void allocate_write_reclaim(struct files *f)
{
	struct quire_file *file = open_file(f);
	uint8_t got[3 * PAGE];

	assert_int_equal(quire_allocate(file, 0, 3 * PAGE), 0);
	assert_int_equal(files_write(f, file, PAGE + 5, "data", 4), 4);
	assert_int_equal(quire_reclaim(f->s.q, 1000), 0);
	files_soil(f);
	assert_true(in_cache(file, 0) && in_cache(file, 2));
	assert_int_equal(files_read(f, file, 0, got, sizeof(got)), 3 * PAGE);
	assert_bytes(got, PAGE + 5, 0);
	assert_memory_equal(got + PAGE + 5, "data", 4);
	assert_bytes(got + PAGE + 9, 2 * PAGE - 9, 0);
	close_and_remove(f, file);
}

static void test_allocate_write_reclaim(void **state)
{
	(void)state;
	everywhere(allocate_write_reclaim, 0);
}

/*
 * With room for 6 pages, 10 cannot be allocated: those that were are gone again, the one with data
 * is not.
 */
static void allocate_fails(struct files *f)
{
	struct quire_file *file = open_file(f), *other;
	struct quire_stat before, after;
	uint8_t data[PAGE], got[PAGE];

	assert_int_equal(quire_fs_open(f->fs, "other", true, &other), 0);
	memset(data, 'd', sizeof(data));
	assert_int_equal(files_write(f, file, 2 * PAGE, data, PAGE), PAGE);
	assert_int_equal(quire_allocate(file, 7 * PAGE, PAGE), 0);
	assert_int_equal(quire_allocate(other, 0, 7 * PAGE), 0);
	quire_file_stat(file, &before);
	f->s.time_offset_ns += 1000000000;
	assert_int_equal(quire_allocate(file, 0, 10 * PAGE), -QUIRE_ENOSPC);
	quire_file_stat(file, &after);
	assert_true(before.ctime_ns == after.ctime_ns && before.mtime_ns == after.mtime_ns);
	assert_int_equal(before.bytes, after.bytes);
	assert_int_equal(after.pages, 2);
	for (unsigned n = 0; n < 10; n++)
		assert_int_equal(in_cache(file, n), n == 2 || n == 7);
	assert_int_equal(files_read(f, file, 2 * PAGE, got, PAGE), PAGE);
	assert_memory_equal(got, data, PAGE);
	/* The account is where it was: 3 of 12 are left. */
	assert_int_equal(quire_allocate(file, 10 * PAGE, 4 * PAGE), -QUIRE_ENOSPC);
	assert_int_equal(quire_allocate(file, 10 * PAGE, 3 * PAGE), 0);
	quire_file_put(other);
	close_and_remove(f, file);
}

static void test_allocate_fails(void **state)
{
	(void)state;
	everywhere(allocate_fails, 12);
}

/* The same when it is the machine's memory that runs out. */
static void allocate_without_memory(struct files *f)
{
	struct quire_file *file = open_file(f);
	struct quire_usage before, after;

	assert_int_equal(files_write(f, file, 2 * PAGE, "data", 4), 4);
	quire_usage(f->s.q, &before);
	assert_int_equal(quire_allocate(file, 0, (before.free + 10) * PAGE), -QUIRE_ENOMEM);
	quire_usage(f->s.q, &after);
	assert_int_equal(before.free, after.free);
	assert_int_equal(after.page_cache, before.page_cache);
	close_and_remove(f, file);
}

static void test_allocate_without_memory(void **state)
{
	(void)state;
	everywhere(allocate_without_memory, 0);
}

static void allocate_bad_ranges(struct files *f)
{
	struct quire_file *file = open_file(f);

	assert_int_equal(quire_allocate(file, 0, 0), -QUIRE_EINVAL);
	assert_int_equal(quire_allocate(file, UINT64_MAX - 10, 100), -QUIRE_EFBIG);
	assert_int_equal(quire_allocate(file, 0, (uint64_t)1 << 62), -QUIRE_ENOSPC);
	close_and_remove(f, file);
}

static void test_allocate_bad_ranges(void **state)
{
	(void)state;
	everywhere(allocate_bad_ranges, 100);
}

/* --- The account ------------------------------------------------------------------------------ */

static void no_space(struct files *f)
{
	struct quire_file *file = open_file(f);
	uint8_t data[5 * PAGE], got[PAGE];

	memset(data, 'z', sizeof(data));
	assert_int_equal(files_write(f, file, 0, data, sizeof(data)), 4 * PAGE);
	assert_int_equal(files_write(f, file, 4 * PAGE, data, 1), -QUIRE_ENOSPC);
	assert_false(in_cache(file, 4));
	assert_int_equal(files_write(f, file, 0, data, PAGE), PAGE); /* over what there is */
	/* A hole takes a page when it is read. */
	assert_int_equal(quire_truncate(file, 6 * PAGE), 0);
	assert_int_equal(files_read(f, file, 5 * PAGE, got, PAGE), -QUIRE_ENOSPC);
	assert_false(in_cache(file, 5));
	assert_int_equal(quire_punch(file, PAGE, PAGE), 0);
	assert_int_equal(files_read(f, file, 5 * PAGE, got, PAGE), PAGE);
	assert_bytes(got, PAGE, 0);
	assert_int_equal(quire_truncate(file, PAGE), 0);
	assert_int_equal(files_write(f, file, PAGE, data, 3 * PAGE), 3 * PAGE);
	close_and_remove(f, file);
	file = open_file(f);
	assert_int_equal(files_write(f, file, 0, data, 4 * PAGE), 4 * PAGE);
	close_and_remove(f, file);
}

static void test_no_space(void **state)
{
	(void)state;
	everywhere(no_space, 4);
}

/* A store into a hole of a full tmpfs: the signal for it, not a page beyond the bound. */
static void no_space_for_store(struct files *f)
{
	struct quire_file *file = open_file(f);
	uintptr_t va = 0;

	assert_int_equal(quire_truncate(file, 3 * PAGE), 0);
	assert_int_equal(quire_mmap(f->space, &va, 3 * PAGE, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
				    QUIRE_MAP_SHARED, file, 0, true),
			 0);
	assert_int_equal(sim_store(f->s.sim, va, 1, 1), 0);
	assert_int_equal(sim_store(f->s.sim, va + PAGE, 1, 1), 0);
	assert_int_not_equal(sim_store(f->s.sim, va + 2 * PAGE, 1, 1), 0);
	assert_false(in_cache(file, 2));
	assert_int_equal(quire_munmap(f->space, va, 3 * PAGE), 0);
	close_and_remove(f, file);
}

static void test_no_space_for_store(void **state)
{
	(void)state;
	everywhere(no_space_for_store, 2);
}

/* Each page held is one step of the account. */
static void account_steps(struct files *f)
{
	struct quire_file *file = open_file(f);
	static uint8_t data[8 * PAGE];
	uint64_t before = f->s.steps[QUIRE_STEP_TMPFS_ACCOUNT];

	assert_int_equal(files_write(f, file, 0, data, sizeof(data)), sizeof(data));
	assert_int_equal(files_write(f, file, 0, data, sizeof(data)), sizeof(data));
	assert_int_equal(f->s.steps[QUIRE_STEP_TMPFS_ACCOUNT] - before, 8);
	close_and_remove(f, file);
}

static void test_account_steps(void **state)
{
	(void)state;
	everywhere(account_steps, 0);
}

/* --- Other ways in ---------------------------------------------------------------------------- */

/* write() from a mapping of the very page that is written. */
static void write_from_own_page(struct files *f)
{
	struct quire_file *file = open_file(f);
	uint8_t got[2 * PAGE];
	uintptr_t va = 0;

	assert_int_equal(quire_truncate(file, 2 * PAGE), 0);
	assert_int_equal(quire_mmap(f->space, &va, 2 * PAGE, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
				    QUIRE_MAP_SHARED, file, 0, true),
			 0);
	/* The source is a hole of the file, and not mapped yet. */
	assert_int_equal(quire_write(file, 100, va + 100, 200), 200);
	simulated_user_write(&f->s, va, "abc", 3);
	assert_int_equal(quire_write(file, PAGE - 2, va, 4), 4);
	assert_int_equal(files_read(f, file, 0, got, sizeof(got)), 2 * PAGE);
	assert_memory_equal(got, "abc", 3);
	assert_bytes(got + 3, PAGE - 5, 0);
	assert_memory_equal(got + PAGE - 2, "abc\0", 4);
	assert_bytes(got + PAGE + 2, PAGE - 2, 0);
	assert_int_equal(quire_munmap(f->space, va, 2 * PAGE), 0);
	close_and_remove(f, file);
}

static void test_write_from_own_page(void **state)
{
	(void)state;
	everywhere(write_from_own_page, 0);
}

/* Ten bytes into a folio of four pages that was never defined: all the rest reads as zeros. */
static void write_into_folio(struct files *f)
{
	struct quire_file *file = open_file(f);
	struct quire_page *folio = quire_page_alloc(f->s.q, 2);
	uint8_t got[4 * PAGE];
	uintptr_t va = 0;

	assert_non_null(folio);
	quire_page_lock(f->s.q, folio);
	assert_int_equal(quire_cache_add(file, 0, folio), 0);
	quire_page_unlock(f->s.q, folio);
	quire_page_put(f->s.q, folio);
	assert_int_equal(files_write(f, file, PAGE + 10, "0123456789", 10), 10);
	assert_int_equal(quire_truncate(file, 4 * PAGE), 0);
	assert_int_equal(quire_mmap(f->space, &va, 4 * PAGE, QUIRE_PROT_READ, QUIRE_MAP_SHARED,
				    file, 0, true),
			 0);
	simulated_user_read(&f->s, va, got, sizeof(got));
	assert_bytes(got, PAGE + 10, 0);
	assert_memory_equal(got + PAGE + 10, "0123456789", 10);
	assert_bytes(got + PAGE + 20, 3 * PAGE - 20, 0);
	assert_int_equal(quire_munmap(f->space, va, 4 * PAGE), 0);
	close_and_remove(f, file);
}

static void test_write_into_folio(void **state)
{
	(void)state;
	everywhere(write_into_folio, 0);
}

/*
 * A page between write_begin and write_end belongs to the write: whoever finds it waits, and it is
 * not mapped.
 */
static void half_written(struct files *f)
{
	struct quire_file *file = open_file(f);
	struct quire_page *page;
	uint8_t got[PAGE];

	assert_int_equal(file->ops->write_begin(file, 0, PAGE, &page), 0);
	assert_false(quire_page_try_lock(f->s.q, page));
	assert_int_equal(quire_page_is(page, QUIRE_PAGE_UPTODATE),
			 f->s.config.policy.tmpfs_clear == QUIRE_TMPFS_CLEAR_FIRST);
	assert_int_equal(file->ops->write_end(file, 0, PAGE, 0, page), 0);
	assert_int_equal(quire_truncate(file, PAGE), 0);
	assert_int_equal(files_read(f, file, 0, got, PAGE), PAGE);
	assert_bytes(got, PAGE, 0);
	close_and_remove(f, file);
}

static void test_half_written(void **state)
{
	(void)state;
	everywhere(half_written, 0);
}

static void whole_model(struct files *f)
{
	static struct files_model model;

	for (unsigned seed = 0; seed < 4; seed++) {
		struct quire_file *file = open_file(f);

		memset(&model, 0, sizeof(model));
		files_model_run(f, file, &model, FILES_CAN_ALLOCATE | FILES_CAN_RECLAIM, seed, 60);
		close_and_remove(f, file);
		files_soil(f);
	}
}

static void test_whole_model(void **state)
{
	(void)state;
	everywhere(whole_model, 0);
}

/*
 * What the policy is for: a file written in whole pages costs less when its pages are not cleared
 * first.
 */
static uint64_t ticks_to_write(enum quire_tmpfs_clear_policy clear)
{
	struct quire_policy policy = quire_policy_default();
	static uint8_t data[FILES_BUFFER_BYTES];
	struct quire_file *file;
	struct files f;
	uint64_t ticks;
	int error;

	policy.tmpfs_clear = clear;
	files_start(&f, SIM_X86_64, &policy);
	f.fs = quire_tmpfs_mount(f.s.q, 0, &error);
	assert_non_null(f.fs);
	file = open_file(&f);
	assert_false(sim_write(f.s.sim, f.buffer, data, sizeof(data)));
	ticks = sim_ticks(f.s.sim);
	assert_int_equal(quire_write(file, 0, f.buffer, sizeof(data)), sizeof(data));
	ticks = sim_ticks(f.s.sim) - ticks;
	quire_file_put(file);
	assert_int_equal(quire_fs_unmount(f.fs), 0);
	files_end(&f);
	return ticks;
}

static void test_clearing_costs(void **state)
{
	(void)state;
	assert_true(ticks_to_write(QUIRE_TMPFS_CLEAR_ENDS) <
		    ticks_to_write(QUIRE_TMPFS_CLEAR_FIRST));
}

/* --- Names, and memory that runs out ---------------------------------------------------------- */

static void names(struct files *f)
{
	char longest[QUIRE_NAME_BYTES + 2];
	struct quire_file *file, *again;

	memset(longest, 'n', sizeof(longest));
	longest[QUIRE_NAME_BYTES + 1] = '\0';
	assert_int_equal(quire_fs_open(f->fs, longest, true, &file), -QUIRE_ENAMETOOLONG);
	assert_int_equal(quire_fs_open(f->fs, "", true, &file), -QUIRE_ENOENT);
	assert_int_equal(quire_fs_open(f->fs, "none", false, &file), -QUIRE_ENOENT);
	assert_int_equal(quire_fs_unlink(f->fs, "none"), -QUIRE_ENOENT);
	longest[QUIRE_NAME_BYTES] = '\0';
	assert_int_equal(quire_fs_open(f->fs, longest, true, &file), 0);
	assert_int_equal(quire_fs_open(f->fs, longest, false, &again), 0);
	assert_ptr_equal(file, again);
	quire_file_put(again);
	assert_int_equal(quire_fs_unmount(f->fs), -QUIRE_EBUSY);
	/* Without its name the file lives on for who has it open, and the name is free. */
	assert_int_equal(files_write(f, file, 0, "old", 3), 3);
	assert_int_equal(quire_fs_unlink(f->fs, longest), 0);
	assert_int_equal(quire_fs_open(f->fs, longest, true, &again), 0);
	assert_ptr_not_equal(file, again);
	assert_int_equal(quire_fs_unmount(f->fs), -QUIRE_EBUSY);
	quire_file_put(again);
	assert_int_equal(quire_fs_unmount(f->fs), -QUIRE_EBUSY);
	quire_file_put(file);
}

static void test_names(void **state)
{
	(void)state;
	everywhere(names, 0);
}

/*
 * All of it with the record number `refused` not given: whatever fails, nothing leaks and nothing
 * is half done.
 */
static bool run_refused(long refused)
{
	struct quire_file *file = NULL;
	struct files f;
	bool reached;
	int error;

	files_start(&f, SIM_X86_64, NULL);
	assert_false(sim_write(f.s.sim, f.buffer, "fault it in", 11));
	f.s.fail_after = refused;
	f.fs = quire_tmpfs_mount(f.s.q, 0, &error);
	if (f.fs && !quire_fs_open(f.fs, "file", true, &file)) {
		int64_t wrote = quire_write(file, 300 * PAGE, f.buffer, 11);
		int allocated = quire_allocate(file, 0, 100 * PAGE);

		assert_true(wrote == 11 || wrote == -QUIRE_ENOMEM);
		assert_true(allocated == 0 || allocated == -QUIRE_ENOMEM);
		assert_int_equal(in_cache(file, 0), allocated == 0);
		assert_int_equal(in_cache(file, 99), allocated == 0);
		quire_fs_symlink(f.fs, "link", "target");
	}
	reached = f.s.fail_after < 0;
	f.s.fail_after = -1;
	if (file)
		quire_file_put(file);
	if (f.fs)
		assert_int_equal(quire_fs_unmount(f.fs), 0);
	else
		assert_int_equal(error, -QUIRE_ENOMEM);
	files_end(&f);
	return reached;
}

static void test_refused_records(void **state)
{
	long refused = 0;

	(void)state;
	while (run_refused(refused))
		refused++;
	assert_true(refused > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_copy),
		cmocka_unit_test(test_empty_copy),
		cmocka_unit_test(test_allocate_then_read),
		cmocka_unit_test(test_allocate_write_reclaim),
		cmocka_unit_test(test_allocate_fails),
		cmocka_unit_test(test_allocate_without_memory),
		cmocka_unit_test(test_allocate_bad_ranges),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_no_space_for_store),
		cmocka_unit_test(test_account_steps),
		cmocka_unit_test(test_write_from_own_page),
		cmocka_unit_test(test_write_into_folio),
		cmocka_unit_test(test_half_written),
		cmocka_unit_test(test_whole_model),
		cmocka_unit_test(test_clearing_costs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_refused_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
