/*
 * read, write, truncate, punch and allocate through the page cache.
 */
#include "tests/support/memory.h"

static void assert_bytes(const uint8_t *at, size_t bytes, uint8_t value)
{
	for (size_t n = 0; n < bytes; n++)
		assert_int_equal(at[n], value);
}

/* BUGS 13. */
static void test_short_copy(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		uint8_t data[200], got[PAGE];
		struct quire_file *file;
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 0);
		memset(data, 'x', sizeof(data));
		assert_int_equal(files_write_short(&f, file, 100, data, 200, 50), 50);
		assert_int_equal(mem_stat(file).bytes, 150);
		assert_int_equal(quire_truncate(file, PAGE), 0);
		assert_int_equal(files_read(&f, file, 0, got, PAGE), PAGE);
		assert_bytes(got, 100, 0);
		assert_bytes(got + 100, 50, 'x');
		assert_bytes(got + 150, PAGE - 150, 0);
		assert_int_equal(files_write_short(&f, file, 0, data, 200, 0), -QUIRE_EFAULT);
		assert_int_equal(quire_read(file, 0, f.buffer + FILES_BUFFER_BYTES - 10, 20), 10);
		assert_int_equal(quire_read(file, 0, f.buffer + FILES_BUFFER_BYTES, 20),
				 -QUIRE_EFAULT);
		quire_file_put(file);
		mem_end(&f);
	}
}

/*
 * BUGS 17, 49: the buffer is a mapping of the file itself, of the page that is written, not present
 * yet.
 */
static void test_buffer_is_the_file(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		uint8_t got[3 * PAGE];
		struct quire_file *file;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 3);
		va = mem_map(&f, 3 * PAGE, R | W, SHARED, file, 0);
		assert_int_equal(quire_write(file, 0, va, PAGE), PAGE);
		assert_int_equal(quire_write(file, 2 * PAGE, va + PAGE, PAGE), PAGE);
		assert_int_equal(quire_write(file, PAGE + 100, va + 2 * PAGE - 50, 100), 100);
		assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), sizeof(got));
		assert_int_equal(got[0], 'a');
		assert_bytes(got + 1, PAGE - 1, 'A');
		assert_int_equal(got[2 * PAGE], 'b');
		assert_bytes(got + 2 * PAGE + 1, PAGE - 1, 'B');
		assert_bytes(got + PAGE + 100, 50, 'B');
		assert_int_equal(got[PAGE + 150], 'b');
		assert_int_equal(quire_read(file, 0, va + PAGE, PAGE), PAGE);
		assert_int_equal(mem_load(&f, va + PAGE), 'a');
		/* Beyond the end of the file the buffer is no memory. */
		assert_int_equal(quire_munmap(f.space, va, 3 * PAGE), 0);
		va = mem_map(&f, 4 * PAGE, R | W, SHARED, file, 0);
		assert_int_equal(quire_write(file, 0, va + 3 * PAGE - 10, 20), 10);
		quire_file_put(file);
		mem_end(&f);
	}
}

struct punch {
	struct files *f;
	struct quire_file *file;
	bool truncate, done;
};

/* Does no CPU hold the lock? */
static bool is_idle(const struct quire_brlock *lock, unsigned cpus)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		const char *part = (const char *)lock->readers + cpu * QUIRE_SHARING_BYTES;

		if (quire_atomic_read((const struct quire_atomic *)(const void *)part))
			return false;
	}
	return true;
}

/*
 * BUGS 17: CPU 1 takes away the page that CPU 0 writes from, after write() has made it present as
 * its buffer, and before it tries the copy again.
 */
static void punch_in_between(struct simulated *s, enum quire_step step)
{
	struct punch *punch = s->test;

	if (step != QUIRE_STEP_LOCK || !s->steps[QUIRE_STEP_FAULT_FILE] ||
	    !is_idle(&punch->f->space->areas_lock, s->config.port.cpus) ||
	    !is_idle(&punch->file->shape, s->config.port.cpus))
		return;
	s->on_step = NULL;
	punch->done = true;
	sim_switch(s->sim, 1);
	assert_int_equal(punch->truncate ? quire_truncate(punch->file, PAGE)
					 : quire_punch(punch->file, PAGE, PAGE),
			 0);
	sim_switch(s->sim, 0);
}

static void test_punched_buffer(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned truncate = 0; truncate < 2; truncate++) {
			uint8_t got[PAGE];
			struct punch punch;
			struct files f;
			int64_t wrote;
			uintptr_t va;

			mem_start(&f, isa, NULL);
			punch = (struct punch){.f = &f, .truncate = truncate};
			punch.file = mem_file(&f, "file", 2);
			va = mem_map(&f, 2 * PAGE, R | W, SHARED, punch.file, 0);
			memset(f.s.steps, 0, sizeof(f.s.steps));
			f.s.test = &punch;
			f.s.on_step = punch_in_between;
			wrote = quire_write(punch.file, 0, va + PAGE, PAGE);
			assert_true(punch.done);
			assert_int_equal(wrote, truncate ? -QUIRE_EFAULT : (int64_t)PAGE);
			assert_int_equal(files_read(&f, punch.file, 0, got, PAGE), PAGE);
			assert_int_equal(got[0], truncate ? 'a' : 0);
			assert_bytes(got + 1, PAGE - 1, truncate ? 'A' : 0);
			quire_file_put(punch.file);
			mem_end(&f);
		}
}

/* What user code left beyond the end is not there when the file grows, in whatever way. */
static void test_growing(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned how = 0; how < 3; how++) {
			uint8_t got[3 * PAGE];
			struct quire_file *file;
			struct files f;
			uintptr_t va;

			mem_start(&f, isa, NULL);
			file = mem_file(&f, "file", 1);
			assert_int_equal(quire_truncate(file, 100), 0);
			va = mem_map(&f, PAGE, R | W, SHARED, file, 0);
			assert_int_equal(mem_load(&f, va + 99), 'A');
			assert_int_equal(mem_load(&f, va + 100), 0);
			for (unsigned n = 0; n < 64; n++)
				mem_store(&f, va + 100 + n, 'z');
			if (how == 0)
				assert_int_equal(quire_truncate(file, 3 * PAGE), 0);
			else if (how == 1)
				assert_int_equal(files_write(&f, file, 3 * PAGE - 1, "", 1), 1);
			else
				assert_int_equal(quire_allocate(file, 0, 3 * PAGE), 0);
			assert_int_equal(mem_stat(file).bytes, 3 * PAGE);
			assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), sizeof(got));
			assert_bytes(got + 1, 99, 'A');
			assert_bytes(got + 100, 3 * PAGE - 100, 0);
			assert_int_equal(mem_load(&f, va + 120), 0);
			quire_file_put(file);
			mem_end(&f);
		}
}

static void test_punch(void **state)
{
	static const struct {
		uint64_t offset, bytes;
	} holes[] = {{10, 20}, {0, PAGE}, {100, 2 * PAGE}, {PAGE - 1, 2}, {2 * PAGE + 5, 10 * PAGE},
		     {3, 6000}};

	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < sizeof(holes) / sizeof(holes[0]); n++) {
			uint64_t bytes = 3 * PAGE - 100, from = holes[n].offset,
				 to = from + holes[n].bytes;
			static uint8_t got[4 * PAGE], data[4 * PAGE];
			struct quire_file *file;
			struct files f;
			uintptr_t va;

			mem_start(&f, isa, NULL);
			file = mem_file(&f, "file", 0);
			memset(data, 'd', sizeof(data));
			assert_int_equal(files_write(&f, file, 0, data, bytes), bytes);
			va = mem_map(&f, 3 * PAGE, R | W, SHARED, file, 0);
			for (unsigned i = 0; i < 3; i++)
				mem_store(&f, va + i * PAGE + 50, 'd');
			assert_int_equal(quire_punch(file, from, holes[n].bytes), 0);
			assert_int_equal(mem_stat(file).bytes, bytes);
			assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), bytes);
			for (uint64_t i = 0; i < bytes; i++) {
				assert_int_equal(got[i], i >= from && i < to ? 0 : 'd');
				assert_int_equal(mem_load(&f, va + i), got[i]);
			}
			quire_file_put(file);
			mem_end(&f);
		}
}

static void test_errors(void **state)
{
	struct quire_fs *ramfs;
	struct quire_file *file, *ram;
	struct files f;
	int error;

	(void)state;
	mem_start(&f, SIM_ARMV7, NULL);
	file = mem_file(&f, "file", 1);
	ramfs = quire_ramfs_mount(f.s.q, &error);
	assert_int_equal(quire_fs_open(ramfs, "ram", true, &ram), 0);
	assert_int_equal(quire_read(file, PAGE, f.buffer, 10), 0);
	assert_int_equal(quire_read(file, UINT64_MAX, f.buffer, 10), 0);
	assert_int_equal(quire_write(file, INT64_MAX, f.buffer, 10), -QUIRE_EFBIG);
	assert_int_equal(quire_write(file, INT64_MAX, f.buffer, 0), 0);
	assert_int_equal(quire_truncate(file, (uint64_t)INT64_MAX + 1), -QUIRE_EFBIG);
	assert_int_equal(quire_allocate(file, 0, 0), -QUIRE_EINVAL);
	assert_int_equal(quire_allocate(file, INT64_MAX, 1), -QUIRE_EFBIG);
	assert_int_equal(quire_punch(file, 0, 0), -QUIRE_EINVAL);
	assert_int_equal(quire_allocate(ram, 0, 1), -QUIRE_ENOTSUP);
	assert_int_equal(mem_stat(file).bytes, PAGE);
	quire_file_put(ram);
	quire_file_put(file);
	assert_int_equal(quire_fs_unmount(ramfs), 0);
	mem_end(&f);
}

static void test_times(void **state)
{
	struct quire_stat before, after;
	struct quire_file *file;
	struct files f;
	uint8_t byte;

	(void)state;
	mem_start(&f, SIM_PARISC, NULL);
	file = mem_file(&f, "file", 1);
	before = mem_stat(file);
	mem_wait(&f);
	assert_int_equal(files_read(&f, file, 0, &byte, 1), 1);
	after = mem_stat(file);
	assert_true(after.atime_ns > before.atime_ns);
	assert_int_equal(after.mtime_ns, before.mtime_ns);
	assert_int_equal(after.ctime_ns, before.ctime_ns);
	before = after;
	mem_wait(&f);
	(void)mem_map(&f, PAGE, R, SHARED, file, 0);
	after = mem_stat(file);
	assert_true(after.atime_ns > before.atime_ns);
	before = after;
	mem_wait(&f);
	assert_int_equal(files_write(&f, file, 0, "x", 1), 1);
	after = mem_stat(file);
	assert_int_equal(after.atime_ns, before.atime_ns);
	assert_true(after.mtime_ns > before.mtime_ns);
	assert_true(after.ctime_ns > before.ctime_ns);
	quire_file_put(file);
	mem_end(&f);
}

/* BUGS 51: what a reader pays does not depend on who maps the file to read it. */
static void test_read_beside_read_only_map(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uint64_t ticks[2];
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 4);
		for (unsigned n = 0; n < 3; n++) {
			uint64_t start = sim_ticks(f.s.sim);

			assert_int_equal(quire_read(file, 0, f.buffer, 4 * PAGE), 4 * PAGE);
			ticks[n > 1] = sim_ticks(f.s.sim) - start;
			if (n == 1)
				(void)mem_map(&f, 4 * PAGE, R, SHARED, file, 0);
		}
		assert_in_range(ticks[1], 0, ticks[0] + ticks[0] / 100);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* Each allocation fails once in each call: an error, or less done, and the file is right. */
static void test_no_records(void **state)
{
	(void)state;
	for (unsigned call = 0; call < 4; call++) {
		bool failed = true;

		for (long n = 0; failed; n++) {
			uint8_t got[3 * PAGE];
			struct quire_file *file;
			struct files f;
			int64_t result;

			mem_start(&f, SIM_ARMV7, NULL);
			file = mem_file(&f, "file", 3);
			(void)mem_map(&f, 3 * PAGE, R | W, SHARED, file, 0);
			f.s.fail_after = n;
			if (call == 0)
				result = quire_write(file, 100 * PAGE, f.buffer, PAGE);
			else if (call == 1)
				result = quire_truncate(file, 3 * PAGE + 1);
			else if (call == 2)
				result = quire_punch(file, 3 * PAGE, PAGE);
			else
				result = quire_read(file, 0, f.buffer, 3 * PAGE);
			failed = f.s.fail_after == -1;
			f.s.fail_after = -1;
			assert_true(result >= 0 || result == -QUIRE_ENOMEM);
			if (result < 0)
				assert_int_equal(mem_stat(file).bytes, 3 * PAGE);
			assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), sizeof(got));
			assert_int_equal(got[2 * PAGE], 'c');
			quire_file_put(file);
			mem_end(&f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_copy),
		cmocka_unit_test(test_buffer_is_the_file),
		cmocka_unit_test(test_punched_buffer),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_punch),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_read_beside_read_only_map),
		cmocka_unit_test(test_no_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
