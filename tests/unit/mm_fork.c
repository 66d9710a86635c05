/*
 * fork: both spaces see what was, and neither sees what the other does afterwards.
 */
#include "tests/support/memory.h"

static struct quire_space *fork_space(struct files *f)
{
	struct quire_space *child;

	assert_int_equal(quire_space_fork(f->space, &child), 0);
	return child;
}

/* BUGS 22, 26: what the parent stored is only in its cache when the child's page is copied. */
static void test_child_sees_what_was(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_space *child;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		va = mem_map(&f, 3 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
		for (unsigned n = 0; n < 3; n++)
			for (unsigned i = 0; i < PAGE; i += 4)
				assert_int_equal(sim_store(f.s.sim, va + n * PAGE + i, 4,
							   0x01010101 * (n + 1)),
						 0);
		child = fork_space(&f);
		mem_cpu(&f, 0, child);
		mem_store(&f, va, 9);
		assert_int_equal(mem_load(&f, va), 9);
		for (unsigned i = 1; i < PAGE; i++)
			assert_int_equal(mem_load(&f, va + i), 1);
		assert_int_equal(mem_load(&f, va + PAGE), 2);
		mem_cpu(&f, 0, f.space);
		assert_int_equal(mem_load(&f, va), 1);
		mem_store(&f, va + PAGE, 8);
		mem_store(&f, va + PAGE + 1, 8);
		mem_cpu(&f, 1, child);
		assert_int_equal(mem_load(&f, va + PAGE), 2);
		assert_int_equal(mem_load(&f, va + PAGE + 1), 2);
		mem_cpu(&f, 1, NULL);
		mem_cpu(&f, 0, f.space);
		quire_space_destroy(child);
		/* The last owner stores without a copy. */
		mem_store(&f, va + 2 * PAGE, 7);
		assert_int_equal(f.s.steps[QUIRE_STEP_FAULT_COPY], 2);
		mem_end(&f);
	}
}

/* The parent runs on two CPUs: what CPU 1's TLB allowed before is not allowed after. */
static void test_old_entries_of_other_cpus(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_space *child;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		va = mem_map(&f, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		mem_cpu(&f, 1, f.space);
		mem_store(&f, va, 1);
		mem_cpu(&f, 0, f.space);
		child = fork_space(&f);
		mem_cpu(&f, 1, f.space);
		mem_store(&f, va, 2);
		mem_cpu(&f, 0, child);
		assert_int_equal(mem_load(&f, va), 1);
		mem_cpu(&f, 0, f.space);
		assert_int_equal(mem_load(&f, va), 2);
		quire_space_destroy(child);
		mem_end(&f);
	}
}

static void test_kinds_of_areas(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		uintptr_t shared_anon, shared, private, none;
		struct quire_space *child;
		struct quire_file *file;
		struct files f;
		uint8_t byte;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 2);
		shared_anon = mem_map(&f, PAGE, R | W, SHARED | ANON, NULL, 0);
		shared = mem_map(&f, PAGE, R | W, SHARED, file, 0);
		private = mem_map(&f, 2 * PAGE, R | W, PRIVATE, file, 0);
		none = mem_map(&f, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		mem_store(&f, shared_anon, 1);
		mem_store(&f, private, 'p');
		assert_int_equal(mem_load(&f, private + PAGE), 'b');
		mem_store(&f, none, 'n');
		assert_int_equal(quire_mprotect(f.space, none, PAGE, QUIRE_PROT_NONE), 0);
		child = fork_space(&f);
		/*
		 * The two private pages stored to here, and the one of the buffer that mem_file
		 * used.
		 */
		assert_int_equal(f.s.steps[QUIRE_STEP_FORK_ENTRY], 3);
		assert_int_equal(quire_atomic_read(&file->areas), 4);

		mem_store(&f, shared_anon, 2);
		mem_store(&f, shared, 's');
		mem_store(&f, private, 'q');
		mem_cpu(&f, 0, child);
		assert_int_equal(mem_load(&f, shared_anon), 2);
		assert_int_equal(mem_load(&f, shared), 's');
		assert_int_equal(mem_load(&f, private), 'p');
		assert_int_equal(mem_load(&f, private + PAGE), 'b');
		assert_int_equal(mem_try_load(&f, none, &byte), -QUIRE_SIGSEGV);
		assert_int_equal(quire_mprotect(child, none, PAGE, R | W), 0);
		assert_int_equal(mem_load(&f, none), 'n');
		mem_store(&f, none, 'c');
		mem_store(&f, shared_anon, 3);
		mem_cpu(&f, 0, f.space);
		assert_int_equal(mem_load(&f, shared_anon), 3);
		assert_int_equal(quire_mprotect(f.space, none, PAGE, R), 0);
		assert_int_equal(mem_load(&f, none), 'n');
		quire_space_destroy(child);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* Code: the child fetches what the parent wrote, and its own after it wrote that. */
static void test_code(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_space *child;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		va = mem_map(&f, PAGE, R | W | X, PRIVATE | ANON, NULL, 0);
		mem_store_code(&f, va, 1);
		assert_int_equal(mem_fetch(&f, va), 1);
		mem_store_code(&f, va, 2);
		child = fork_space(&f);
		mem_cpu(&f, 0, child);
		assert_int_equal(mem_fetch(&f, va), 2);
		mem_store_code(&f, va, 3);
		assert_int_equal(mem_fetch(&f, va), 3);
		mem_cpu(&f, 0, f.space);
		assert_int_equal(mem_fetch(&f, va), 2);
		quire_space_destroy(child);
		mem_end(&f);
	}
}

/* Each allocation fails once: no child, and the parent is as it was. */
static void test_no_records(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		int error = -QUIRE_ENOMEM;

		for (long n = 0; error; n++) {
			struct quire_space *child = NULL;
			struct quire_file *file;
			struct files f;
			uintptr_t va, far = 0x20000000;

			mem_start(&f, isa, NULL);
			file = mem_file(&f, "file", 1);
			va = mem_map(&f, 4 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
			mem_map_at(&f, far, PAGE, R | W, PRIVATE, file, 0);
			for (unsigned i = 0; i < 4; i++)
				mem_store(&f, va + i * PAGE, (uint8_t)i);
			mem_store(&f, far, 'f');
			f.s.fail_after = n;
			error = quire_space_fork(f.space, &child);
			assert_true(!error || error == -QUIRE_ENOMEM);
			assert_int_equal(!error, f.s.fail_after != -1);
			f.s.fail_after = -1;
			for (unsigned i = 0; i < 4; i++) {
				assert_int_equal(mem_load(&f, va + i * PAGE), i);
				mem_store(&f, va + i * PAGE, (uint8_t)(i + 1));
			}
			mem_store(&f, far, 'g');
			if (child)
				quire_space_destroy(child);
			quire_file_put(file);
			mem_end(&f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_sees_what_was),
		cmocka_unit_test(test_old_entries_of_other_cpus),
		cmocka_unit_test(test_kinds_of_areas),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_no_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
