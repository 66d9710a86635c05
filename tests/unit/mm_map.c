/*
 * mmap, munmap, mprotect: areas split, merge and change, and no CPU can use what was taken away.
 */
#include "tests/support/memory.h"

static void test_arguments(void **state)
{
	struct quire_file *file;
	struct files f;
	uintptr_t va = 0;

	(void)state;
	mem_start(&f, SIM_X86_64, NULL);
	file = mem_file(&f, "file", 1);
	assert_int_equal(quire_mmap(f.space, &va, 0, R, PRIVATE | ANON, NULL, 0, false),
			 -QUIRE_EINVAL);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, R, ANON, NULL, 0, false), -QUIRE_EINVAL);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, R, SHARED | PRIVATE | ANON, NULL, 0, false),
			 -QUIRE_EINVAL);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, R, SHARED, NULL, 0, false), -QUIRE_EINVAL);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, R, SHARED, file, 1, true), -QUIRE_EINVAL);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, 64, SHARED, file, 0, true), -QUIRE_EINVAL);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, R | W, SHARED, file, 0, false),
			 -QUIRE_EACCES);
	assert_int_equal(quire_mmap(f.space, &va, 2 * PAGE, R, SHARED, file,
				    (uint64_t)INT64_MAX & ~QUIRE_PAGE_MASK, true),
			 -QUIRE_EOVERFLOW);
	assert_int_equal(quire_mmap(f.space, &va, SIZE_MAX, R, PRIVATE | ANON, NULL, 0, false),
			 -QUIRE_ENOMEM);
	assert_int_equal(quire_mmap(f.space, &va, SIZE_MAX / 2, R, PRIVATE | ANON, NULL, 0, false),
			 -QUIRE_ENOMEM);
	va = 1;
	assert_int_equal(quire_mmap(f.space, &va, PAGE, R, PRIVATE | ANON | QUIRE_MAP_FIXED, NULL,
				    0, false),
			 -QUIRE_EINVAL);
	assert_int_equal(quire_munmap(f.space, 1, PAGE), -QUIRE_EINVAL);
	assert_int_equal(quire_munmap(f.space, f.buffer, 0), -QUIRE_EINVAL);
	assert_int_equal(quire_munmap(f.space, f.buffer, SIZE_MAX), -QUIRE_EINVAL);
	assert_int_equal(quire_mprotect(f.space, f.buffer + 1, PAGE, R), -QUIRE_EINVAL);
	assert_int_equal(quire_mprotect(f.space, f.buffer, PAGE, 64), -QUIRE_EINVAL);
	assert_int_equal(quire_mprotect(f.space, f.buffer, 0, R), 0);
	assert_int_equal(f.space->areas.count, 1);
	assert_int_equal(quire_atomic_read(&file->areas), 0);
	quire_file_put(file);
	mem_end(&f);
}

static void test_split_and_merge(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct files f;
		uintptr_t va;
		uint8_t byte;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 8);
		va = mem_map_at(&f, 0x800000, 8 * PAGE, R | W, SHARED, file, 0);
		for (unsigned n = 0; n < 8; n++)
			mem_store(&f, va + n * PAGE, (uint8_t)n);
		assert_int_equal(quire_munmap(f.space, va + 3 * PAGE, 2 * PAGE), 0);
		assert_int_equal(f.space->areas.count, 3);
		assert_int_equal(quire_atomic_read(&file->areas), 2);
		assert_int_equal(quire_atomic_read(&file->writable_areas), 2);
		assert_int_equal(mem_load(&f, va + 2 * PAGE), 2);
		assert_int_equal(mem_load(&f, va + 5 * PAGE), 5);
		assert_int_equal(mem_try_load(&f, va + 3 * PAGE, &byte), -QUIRE_SIGSEGV);
		assert_int_equal(mem_try_load(&f, va + 4 * PAGE, &byte), -QUIRE_SIGSEGV);
		/* The same pages again: one area, with the data. */
		mem_map_at(&f, va + 3 * PAGE, 2 * PAGE, R | W, SHARED, file, 3 * PAGE);
		assert_int_equal(f.space->areas.count, 2);
		assert_int_equal(quire_atomic_read(&file->areas), 1);
		for (unsigned n = 0; n < 8; n++)
			assert_int_equal(mem_load(&f, va + n * PAGE), n);
		/* A part with another protection, and back. */
		assert_int_equal(quire_mprotect(f.space, va + PAGE, 2 * PAGE, R), 0);
		assert_int_equal(f.space->areas.count, 4);
		assert_int_equal(mem_try_store(&f, va + PAGE, 9), -QUIRE_SIGSEGV);
		mem_store(&f, va, 10);
		assert_int_equal(quire_mprotect(f.space, va + PAGE, 2 * PAGE, R | W), 0);
		assert_int_equal(f.space->areas.count, 2);
		mem_store(&f, va + PAGE, 9);
		/* Other pages at the same place. */
		mem_map_at(&f, va + PAGE, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		assert_int_equal(mem_load(&f, va + PAGE), 0);
		assert_int_equal(mem_load(&f, va), 10);
		assert_int_equal(quire_munmap(f.space, va - PAGE, 20 * PAGE), 0);
		assert_int_equal(f.space->areas.count, 1);
		assert_int_equal(quire_atomic_read(&file->areas), 0);
		quire_file_put(file);
		mem_end(&f);
	}
}

static void test_protections(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uintptr_t anon, private, read_only = 0;
		struct files f;
		uint8_t byte;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 2);
		anon = mem_map(&f, 2 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
		private = mem_map(&f, 2 * PAGE, R | W, PRIVATE, file, 0);
		mem_store(&f, anon, 1);
		mem_store(&f, private, 2);
		assert_int_equal(mem_load(&f, private + PAGE), 'b');
		assert_int_equal(quire_mprotect(f.space, anon, 2 * PAGE, QUIRE_PROT_NONE), 0);
		assert_int_equal(quire_mprotect(f.space, private, 2 * PAGE, QUIRE_PROT_NONE), 0);
		assert_int_equal(mem_try_load(&f, anon, &byte), -QUIRE_SIGSEGV);
		assert_int_equal(mem_try_load(&f, private, &byte), -QUIRE_SIGSEGV);
		assert_int_equal(mem_try_load(&f, private + PAGE, &byte), -QUIRE_SIGSEGV);
		assert_int_equal(quire_mprotect(f.space, anon, 2 * PAGE, R), 0);
		assert_int_equal(quire_mprotect(f.space, private, 2 * PAGE, R | W), 0);
		assert_int_equal(mem_load(&f, anon), 1);
		assert_int_equal(mem_try_store(&f, anon, 1), -QUIRE_SIGSEGV);
		assert_int_equal(mem_load(&f, private), 2);
		mem_store(&f, private, 3);
		assert_int_equal(mem_load(&f, private + PAGE), 'b');
		/* What waits under PROT_NONE goes with its area. */
		assert_int_equal(quire_mprotect(f.space, anon, PAGE, QUIRE_PROT_NONE), 0);
		assert_int_equal(quire_munmap(f.space, anon, 2 * PAGE), 0);

		assert_int_equal(quire_mmap(f.space, &read_only, 2 * PAGE, R, SHARED, file, 0,
					    false),
				 0);
		assert_int_equal(quire_mprotect(f.space, read_only, 2 * PAGE, R | W),
				 -QUIRE_EACCES);
		assert_int_equal(quire_munmap(f.space, read_only + PAGE, PAGE), 0);
		assert_int_equal(quire_mprotect(f.space, read_only, 2 * PAGE, QUIRE_PROT_NONE),
				 -QUIRE_ENOMEM);
		assert_int_equal(mem_try_load(&f, read_only, &byte), -QUIRE_SIGSEGV);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* BUGS 31: CPU 1 has an entry that allows stores when CPU 0 takes that away. */
static void test_protect_reaches_other_cpus(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uintptr_t va[2];
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		va[0] = mem_map(&f, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		va[1] = mem_map(&f, PAGE, R | W, SHARED, file, 0);
		for (unsigned n = 0; n < 2; n++) {
			mem_cpu(&f, 1, f.space);
			mem_store(&f, va[n], 1);
			mem_cpu(&f, 0, f.space);
			assert_int_equal(quire_mprotect(f.space, va[n], PAGE, R), 0);
			mem_cpu(&f, 1, f.space);
			assert_int_equal(mem_try_store(&f, va[n], 2), -QUIRE_SIGSEGV);
			assert_int_equal(mem_load(&f, va[n]), 1);
			mem_cpu(&f, 0, f.space);
		}
		quire_file_put(file);
		mem_end(&f);
	}
}

/* BUGS 32, 33, 34: memory that went, its frame reused, and mapped again. */
static void test_frame_reused(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		uintptr_t a = 0x900000, b = 0xa03000;
		struct quire_page *frame;
		struct quire_slot slot;
		struct files f;
		uintptr_t next;

		mem_start(&f, isa, NULL);
		mem_map_at(&f, a, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		mem_cpu(&f, 1, f.space);
		for (unsigned n = 0; n < PAGE; n += 4)
			assert_int_equal(sim_store(f.s.sim, a + n, 4, 0x11111111), 0);
		mem_cpu(&f, 0, f.space);
		assert_true(quire_table_find(f.space, a, &slot, &next));
		frame = quire_page_of(f.s.q, quire_slot_read(&slot).frame);
		assert_int_equal(quire_munmap(f.space, a, PAGE), 0);
		mem_map_at(&f, b, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		mem_store(&f, b, 0x22);
		assert_true(quire_table_find(f.space, b, &slot, &next));
		assert_ptr_equal(quire_page_of(f.s.q, quire_slot_read(&slot).frame), frame);
		/* No entry, no line of the old owner is left anywhere. */
		mem_cpu(&f, 1, f.space);
		assert_int_equal(mem_try_store(&f, a, 0x33), -QUIRE_SIGSEGV);
		mem_cpu(&f, 0, f.space);
		f.s.q->machine.arch->data(&f.s.q->machine, sim_kernel_base(f.s.sim),
					  f.s.memory.bytes, QUIRE_FLUSH);
		mem_map_at(&f, a, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		assert_int_equal(mem_load(&f, a), 0);
		assert_int_equal(mem_load(&f, b), 0x22);
		for (unsigned n = 1; n < PAGE; n++)
			assert_int_equal(mem_load(&f, b + n), 0);
		mem_end(&f);
	}
}

/* BUGS 30: tables go with their areas, their frames hold data, and the walker does not come by. */
static void test_tables_go(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		uintptr_t far = 0x10000000, data;
		struct quire_usage before, after;
		struct files f;
		uint8_t byte;

		mem_start(&f, isa, NULL);
		quire_usage(f.s.q, &before);
		for (unsigned n = 0; n < 4; n++) {
			mem_map_at(&f, far, 2 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
			mem_store(&f, far, 1);
			mem_store(&f, far + PAGE, 1);
			assert_int_equal(quire_munmap(f.space, far, 2 * PAGE), 0);
			quire_usage(f.s.q, &after);
			assert_int_equal(after.tables, before.tables);
			data = mem_map(&f, 4 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
			for (unsigned i = 0; i < 4 * PAGE; i += 8)
				assert_int_equal(sim_store(f.s.sim, data + i, 8, UINT64_MAX), 0);
			assert_int_equal(mem_try_load(&f, far, &byte), -QUIRE_SIGSEGV);
			assert_int_equal(quire_munmap(f.space, data, 4 * PAGE), 0);
		}
		mem_end(&f);
	}
}

/* BUGS 6: rx, then rw and a store, then rx again; private and shared. */
static void test_code_is_rewritten(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		for (unsigned kind = 0; kind < 3; kind++) {
			uintptr_t va = mem_map(&f, PAGE, R | X,
					       kind == 2 ? PRIVATE | ANON
					       : kind    ? SHARED
							 : PRIVATE,
					       kind == 2 ? NULL : file, 0);

			(void)mem_fetch(&f, va + 8);
			for (uint32_t code = 1; code < 4; code++) {
				assert_int_equal(quire_mprotect(f.space, va, PAGE, R | W), 0);
				mem_store_code(&f, va + 8, code);
				assert_int_equal(quire_mprotect(f.space, va, PAGE, R | X), 0);
				assert_int_equal(mem_fetch(&f, va + 8), code);
				mem_cpu(&f, 1, f.space);
				assert_int_equal(mem_fetch(&f, va + 8), code);
				mem_cpu(&f, 0, f.space);
			}
			assert_int_equal(quire_munmap(f.space, va, PAGE), 0);
		}
		quire_file_put(file);
		mem_end(&f);
	}
}

/* Shared mappings of a file lie at one colour, so that they see each other without faults. */
static void test_colours_agree(void **state)
{
	struct quire_file *file;
	uintptr_t a, b;
	uint64_t faults;
	struct files f;
	size_t period;

	(void)state;
	mem_start(&f, SIM_PARISC, NULL);
	period = f.s.q->machine.traits.colour_bytes;
	assert_true(period > PAGE);
	file = mem_file(&f, "file", 4);
	(void)mem_map(&f, PAGE, R, PRIVATE | ANON, NULL, 0); /* something odd in between */
	a = mem_map(&f, 4 * PAGE, R | W, SHARED, file, 0);
	(void)mem_map(&f, PAGE, R, PRIVATE | ANON, NULL, 0);
	b = mem_map(&f, 2 * PAGE, R | W, SHARED, file, PAGE);
	assert_int_equal((a + PAGE) & (period - 1), b & (period - 1));
	mem_store(&f, a + PAGE, 1);
	mem_store(&f, b, 2);
	faults = mem_faults(&f);
	for (uint8_t n = 0; n < 10; n++) {
		mem_store(&f, a + PAGE, n);
		assert_int_equal(mem_load(&f, b), n);
		mem_store(&f, b, (uint8_t)(n + 1));
		assert_int_equal(mem_load(&f, a + PAGE), n + 1);
	}
	assert_int_equal(mem_faults(&f), faults);
	quire_file_put(file);
	mem_end(&f);
}

/* Each allocation fails once: the call says so and nothing has changed, or it succeeds without. */
static void test_no_records(void **state)
{
	(void)state;
	for (unsigned call = 0; call < 4; call++) {
		bool failed = true;

		for (long n = 0; failed; n++) {
			uintptr_t va, new = 0;
			struct files f;
			int error = 0;

			mem_start(&f, SIM_PARISC, NULL);
			va = mem_map(&f, 40 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
			for (unsigned i = 0; i < 40; i++)
				mem_store(&f, va + i * PAGE, (uint8_t)i);
			f.s.fail_after = n;
			if (call == 0)
				error = quire_munmap(f.space, va + PAGE, 38 * PAGE);
			else if (call == 1)
				error = quire_mprotect(f.space, va + PAGE, 38 * PAGE, R);
			else if (call == 2)
				error = quire_mmap(f.space, &new, PAGE, R | W, SHARED | ANON, NULL,
						   0, false);
			else if (call == 3)
				error = quire_mmap(f.space, &va, 2 * PAGE, R | W,
						   PRIVATE | ANON | QUIRE_MAP_FIXED, NULL, 0,
						   false);
			failed = f.s.fail_after == -1;
			f.s.fail_after = -1;
			assert_true(!error || error == -QUIRE_ENOMEM);
			if (error) {
				assert_true(failed);
				for (unsigned i = 0; i < 40; i++) {
					assert_int_equal(mem_load(&f, va + i * PAGE), i);
					mem_store(&f, va + i * PAGE, (uint8_t)i);
				}
				assert_true(f.space->areas.count == 1 || f.space->areas.count == 2);
			}
			mem_end(&f);
		}
	}
}

/* One store of CPU 1 while CPU 0 is at work, at the first change of a page flag. */
struct late_store {
	struct files *f;
	uintptr_t va;
	uint8_t value;
	bool armed, stored;
};

static void store_late(struct simulated *s, enum quire_step step)
{
	struct late_store *late = s->test;

	if (step != QUIRE_STEP_FLAG || !late->armed)
		return;
	late->armed = false;
	sim_switch(s->sim, 1);
	late->stored = sim_store(s->sim, late->va, 1, late->value) == 0;
	sim_switch(s->sim, 0);
}

/* BUGS 46: a store that comes after writeback began is in what is written, or the page is dirty. */
static void test_late_store_is_not_lost(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_policy policy = quire_policy_default();
		struct files_disk disk;
		struct quire_file *file;
		struct late_store late;
		uint8_t byte = 0;
		struct files f;
		int error;

		policy.file_times = QUIRE_FILE_TIMES_FAULT;
		files_start(&f, isa, &policy);
		files_disk_start(&disk, &f, 64);
		f.fs = quire_diskfs_mount(f.s.q, &disk.device, true, &error);
		assert_non_null(f.fs);
		file = mem_file(&f, "file", 1);
		late = (struct late_store){.f = &f, .value = 'L'};
		late.va = mem_map(&f, PAGE, R | W, SHARED, file, 0);
		mem_cpu(&f, 1, f.space);
		mem_store(&f, late.va, 's');
		mem_cpu(&f, 0, f.space);
		f.s.test = &late;
		f.s.on_step = store_late;
		late.armed = true;
		assert_int_equal(quire_fsync(file), 0);
		f.s.on_step = NULL;
		assert_true(late.stored);
		assert_int_equal(quire_fsync(file), 0);
		assert_int_equal(quire_munmap(f.space, late.va, PAGE), 0);
		assert_int_equal(quire_reclaim(f.s.q, 1), 1);
		assert_int_equal(files_read(&f, file, 0, &byte, 1), 1);
		assert_int_equal(byte, 'L');
		quire_file_put(file);
		mem_end(&f);
		files_disk_end(&disk);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_split_and_merge),
		cmocka_unit_test(test_protections),
		cmocka_unit_test(test_protect_reaches_other_cpus),
		cmocka_unit_test(test_frame_reused),
		cmocka_unit_test(test_tables_go),
		cmocka_unit_test(test_code_is_rewritten),
		cmocka_unit_test(test_colours_agree),
		cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_late_store_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
