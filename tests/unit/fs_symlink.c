/*
 * Symlinks of tmpfs: the target is what was written, to its last byte, whatever happens to memory
 * meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/mm.h"
#include "tests/support/files.h"

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

static void long_target(struct files *f)
{
	char target[QUIRE_TARGET_BYTES + 2], got[QUIRE_TARGET_BYTES + 1];

	for (size_t n = 0; n < QUIRE_TARGET_BYTES + 1; n++)
		target[n] = (char)('a' + n % 26);
	target[QUIRE_TARGET_BYTES + 1] = '\0';
	assert_int_equal(quire_fs_symlink(f->fs, "link", target), -QUIRE_ENAMETOOLONG);
	target[QUIRE_TARGET_BYTES] = '\0';
	assert_int_equal(quire_fs_symlink(f->fs, "link", target), 0);
	quire_reclaim(f->s.q, 1000);
	files_soil(f);
	assert_int_equal(quire_fs_readlink(f->fs, "link", got), 0);
	assert_string_equal(got, target);
}

static void test_long_target(void **state)
{
	(void)state;
	everywhere(long_target, 0);
}

/*
 * The page is up to date once the target is in it, all of it: nothing may make it anew or show the
 * rest.
 */
static void target_page(struct files *f)
{
	uint8_t bytes[QUIRE_PAGE_BYTES];
	struct quire_file *file = NULL;
	struct quire_page *page;

	assert_int_equal(quire_fs_symlink(f->fs, "link", "short"), 0);
	for (struct quire_list *l = f->s.q->files.next; l != &f->s.q->files; l = l->next) {
		struct quire_file *at = quire_container(l, struct quire_file, link);

		if (at->bytes == 5)
			file = at;
	}
	assert_non_null(file);
	page = quire_cache_find(file, 0);
	assert_non_null(page);
	assert_true(quire_page_is(page, QUIRE_PAGE_UPTODATE));
	assert_false(sim_read(f->s.sim, quire_page_address(f->s.q, page), bytes, sizeof(bytes)));
	assert_memory_equal(bytes, "short", 5);
	for (size_t n = 5; n < sizeof(bytes); n++)
		assert_int_equal(bytes[n], 0);
	quire_page_put(f->s.q, page);
}

static void test_target_page(void **state)
{
	(void)state;
	everywhere(target_page, 0);
}

static void errors(struct files *f)
{
	char got[QUIRE_TARGET_BYTES + 1];
	struct quire_file *file;

	assert_int_equal(quire_fs_symlink(f->fs, "link", "a"), 0);
	assert_int_equal(quire_fs_symlink(f->fs, "link", "b"), -QUIRE_EEXIST);
	assert_int_equal(quire_fs_symlink(f->fs, "full", "c"), -QUIRE_ENOSPC);
	assert_int_equal(quire_fs_symlink(f->fs, "empty", ""), -QUIRE_EINVAL);
	assert_int_equal(quire_fs_readlink(f->fs, "full", got), -QUIRE_ENOENT);
	assert_int_equal(quire_fs_open(f->fs, "link", true, &file), -QUIRE_EINVAL);
	assert_int_equal(quire_fs_open(f->fs, "file", true, &file), 0);
	assert_int_equal(quire_fs_readlink(f->fs, "file", got), -QUIRE_EINVAL);
	quire_file_put(file);
	assert_int_equal(quire_fs_unlink(f->fs, "link"), 0);
	assert_int_equal(quire_fs_symlink(f->fs, "link", "again"), 0);
	assert_int_equal(quire_fs_readlink(f->fs, "link", got), 0);
	assert_string_equal(got, "again");
}

static void test_errors(void **state)
{
	(void)state;
	everywhere(errors, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_target),
		cmocka_unit_test(test_target_page),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
