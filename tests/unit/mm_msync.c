/*
 * msync and file times: what is marked when, what is written, and what each policy costs.
 */
#include "tests/support/memory.h"

struct times {
	uint64_t mtime, ctime;
};

static struct times times(struct quire_file *file)
{
	struct quire_stat stat = mem_stat(file);

	return (struct times){stat.mtime_ns, stat.ctime_ns};
}

/* Did both advance since? They must do so together. */
static bool marked(struct quire_file *file, struct times *since)
{
	struct times now = times(file);
	bool is = now.mtime > since->mtime;

	assert_int_equal(is, now.ctime > since->ctime);
	*since = now;
	return is;
}

static const enum quire_file_times_policy posix[] = {QUIRE_FILE_TIMES_FAULT,
						     QUIRE_FILE_TIMES_SUBTREE};

static void start(struct files *f, enum sim_isa isa, enum quire_file_times_policy policy)
{
	struct quire_policy policies = quire_policy_default();

	policies.file_times = policy;
	mem_start(f, isa, &policies);
}

/* BUGS 39 to 42. */
static void check_times(enum sim_isa isa, enum quire_file_times_policy policy, unsigned flags)
{
	struct quire_file *file;
	struct times since;
	struct files f;
	uintptr_t va;

	start(&f, isa, policy);
	file = mem_file(&f, "file", 3);
	mem_wait(&f);
	since = times(file);
	va = mem_map(&f, 3 * PAGE, R | W, SHARED, file, 0);
	assert_int_equal(mem_load(&f, va), 'a');
	assert_int_equal(quire_msync(f.space, va, 3 * PAGE, flags), 0);
	assert_false(marked(file, &since));
	for (unsigned n = 0; n < 4; n++) {
		mem_wait(&f);
		mem_store(&f, va, (uint8_t)n); /* after a load; later after an msync */
		assert_int_equal(quire_msync(f.space, va, 3 * PAGE, flags), 0);
		assert_true(marked(file, &since));
		mem_wait(&f);
		assert_int_equal(quire_msync(f.space, va, 3 * PAGE, flags), 0);
		assert_int_equal(mem_load(&f, va), n);
		assert_false(marked(file, &since));
	}
	mem_wait(&f);
	mem_store(&f, va + PAGE, 1);
	assert_int_equal(quire_munmap(f.space, va, 3 * PAGE), 0);
	assert_true(marked(file, &since));
	mem_wait(&f);
	va = mem_map(&f, PAGE, R, SHARED, file, 0);
	assert_int_equal(mem_load(&f, va), 3);
	assert_int_equal(quire_munmap(f.space, va, PAGE), 0);
	assert_false(marked(file, &since));
	assert_int_equal(mem_stat(file).pages, 3); /* BUGS 44 */
	quire_file_put(file);
	mem_end(&f);
}

static void test_times(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < 2; n++) {
			check_times(isa, posix[n], QUIRE_MS_ASYNC);
			check_times(isa, posix[n], QUIRE_MS_SYNC);
			check_times(isa, posix[n], QUIRE_MS_ASYNC | QUIRE_MS_INVALIDATE);
		}
}

/* `never` sees the first store only, and looks at no entry. */
static void test_never(void **state)
{
	struct quire_file *file;
	struct times since;
	struct files f;
	uintptr_t va;

	(void)state;
	start(&f, SIM_X86_64, QUIRE_FILE_TIMES_NEVER);
	file = mem_file(&f, "file", 1);
	va = mem_map(&f, PAGE, R | W, SHARED, file, 0);
	since = times(file);
	mem_wait(&f);
	mem_store(&f, va, 1);
	assert_true(marked(file, &since));
	assert_int_equal(quire_msync(f.space, va, PAGE, QUIRE_MS_ASYNC), 0);
	assert_int_equal(f.s.steps[QUIRE_STEP_AREA_CHECK], 1);
	assert_int_equal(f.s.steps[QUIRE_STEP_ENTRY_PROTECT], 0);
	mem_wait(&f);
	mem_store(&f, va, 2);
	assert_false(marked(file, &since));
	quire_file_put(file);
	mem_end(&f);
}

/* A store of another CPU, whose TLB allowed it before msync, is seen. */
static void test_other_cpu(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < 2; n++) {
			struct quire_file *file;
			struct times since;
			struct files f;
			uintptr_t va;

			start(&f, isa, posix[n]);
			file = mem_file(&f, "file", 1);
			va = mem_map(&f, PAGE, R | W, SHARED, file, 0);
			mem_cpu(&f, 1, f.space);
			mem_store(&f, va, 1);
			mem_cpu(&f, 0, f.space);
			assert_int_equal(quire_msync(f.space, va, PAGE, QUIRE_MS_ASYNC), 0);
			since = times(file);
			mem_wait(&f);
			mem_cpu(&f, 1, f.space);
			mem_store(&f, va, 2);
			mem_cpu(&f, 0, f.space);
			assert_true(marked(file, &since));
			quire_file_put(file);
			mem_end(&f);
		}
}

/* BUGS 43. */
static void test_errors(void **state)
{
	struct quire_file *a, *b;
	struct times since[2];
	struct files f;
	uintptr_t va = 0x800000, locked;

	(void)state;
	start(&f, SIM_ARMV7, QUIRE_FILE_TIMES_FAULT);
	a = mem_file(&f, "a", 1);
	b = mem_file(&f, "b", 1);
	mem_map_at(&f, va, PAGE, R | W, SHARED, a, 0);
	mem_map_at(&f, va + 2 * PAGE, PAGE, R | W, SHARED, b, 0);
	assert_int_equal(quire_msync(f.space, va, PAGE, QUIRE_MS_SYNC | QUIRE_MS_ASYNC),
			 -QUIRE_EINVAL);
	assert_int_equal(quire_msync(f.space, va, PAGE, 64), -QUIRE_EINVAL);
	assert_int_equal(quire_msync(f.space, va + 1, PAGE, QUIRE_MS_ASYNC), -QUIRE_EINVAL);
	assert_int_equal(quire_msync(f.space, va, 0, QUIRE_MS_ASYNC), 0);
	assert_int_equal(quire_msync(f.space, va, SIZE_MAX, QUIRE_MS_ASYNC), -QUIRE_ENOMEM);
	assert_int_equal(quire_msync(f.space, va + PAGE, PAGE, QUIRE_MS_ASYNC), -QUIRE_ENOMEM);
	assert_int_equal(quire_msync(f.space, va + 2 * PAGE, 2 * PAGE, QUIRE_MS_ASYNC),
			 -QUIRE_ENOMEM);
	mem_store(&f, va, 1);
	mem_store(&f, va + 2 * PAGE, 1);
	assert_int_equal(quire_msync(f.space, va, 3 * PAGE, QUIRE_MS_ASYNC), -QUIRE_ENOMEM);
	since[0] = times(a);
	since[1] = times(b);
	mem_wait(&f);
	mem_store(&f, va, 2);
	mem_store(&f, va + 2 * PAGE, 2);
	assert_true(marked(a, &since[0])); /* both had been synced */
	assert_true(marked(b, &since[1]));
	locked = mem_map(&f, PAGE, R | W, SHARED | QUIRE_MAP_LOCKED, a, 0);
	assert_int_equal(quire_msync(f.space, locked, PAGE, QUIRE_MS_SYNC | QUIRE_MS_INVALIDATE),
			 -QUIRE_EBUSY);
	assert_int_equal(quire_msync(f.space, locked, PAGE, QUIRE_MS_SYNC), 0);
	quire_file_put(a);
	quire_file_put(b);
	mem_end(&f);
}

/* BUGS 50: the price of msync is that of its range, of whatever policy. */
static void test_price(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct quire_file *file;
		struct files f;
		uintptr_t va;

		start(&f, SIM_X86_64, posix[n]);
		file = mem_file(&f, "file", 200);
		va = mem_map(&f, 200 * PAGE, R | W, SHARED, file, 0);
		for (unsigned i = 0; i < 200; i++)
			mem_store(&f, va + i * PAGE, 1);
		memset(f.s.steps, 0, sizeof(f.s.steps));
		assert_int_equal(quire_msync(f.space, va + 50 * PAGE, PAGE, QUIRE_MS_SYNC), 0);
		assert_int_equal(f.s.steps[QUIRE_STEP_ENTRY_WALK], 1);
		assert_int_equal(f.s.steps[QUIRE_STEP_ENTRY_PROTECT], 1);
		quire_file_put(file);
		mem_end(&f);
	}
}

/*
 * `subtree` on an ISA that can: one step a leaf table, and the ends by entry; the first store gives
 * back a whole table. A table stays of one area: what is mapped into a hole in it does not make the
 * first area's next store unseen.
 */
static void test_subtree(void **state)
{
	uintptr_t span = 2 << 20, va = 4 * (2 << 20) - 2 * PAGE;
	struct quire_file *file, *other;
	struct times since, since_other;
	uint64_t faults;
	struct files f;

	(void)state;
	start(&f, SIM_X86_64, QUIRE_FILE_TIMES_SUBTREE);
	file = mem_file(&f, "file", 1);
	other = mem_file(&f, "other", 1);
	assert_int_equal(quire_truncate(file, 4 * span), 0);
	mem_map_at(&f, va, 2 * span + 4 * PAGE, R | W, SHARED, file, 0);
	/* Two pages before the first table, three in each, two behind. */
	for (unsigned n = 0; n < 2; n++) {
		mem_store(&f, va + n * PAGE, 1);
		mem_store(&f, va + 2 * span + (2 + n) * PAGE, 1);
		for (unsigned i = 0; i < 3; i++)
			mem_store(&f, va + 2 * PAGE + n * span + i * PAGE, 1);
	}
	memset(f.s.steps, 0, sizeof(f.s.steps));
	assert_int_equal(quire_msync(f.space, va, 2 * span + 4 * PAGE, QUIRE_MS_ASYNC), 0);
	assert_int_equal(f.s.steps[QUIRE_STEP_TABLE_PROTECT], 2);
	assert_int_equal(f.s.steps[QUIRE_STEP_ENTRY_WALK], 4);
	assert_int_equal(f.s.steps[QUIRE_STEP_ENTRY_PROTECT], 4);

	since = times(file);
	mem_wait(&f);
	faults = mem_faults(&f);
	for (unsigned i = 0; i < 3; i++)
		mem_store(&f, va + 2 * PAGE + i * PAGE, 2);
	assert_int_equal(mem_faults(&f) - faults, 1);
	assert_true(marked(file, &since));

	/* A hole in the second table, which is protected still, and another file in the hole. */
	mem_wait(&f);
	assert_int_equal(quire_munmap(f.space, va + 2 * PAGE + span + 8 * PAGE, PAGE), 0);
	mem_map_at(&f, va + 2 * PAGE + span + 8 * PAGE, PAGE, R | W, SHARED, other, 0);
	since_other = times(other);
	mem_wait(&f);
	mem_store(&f, va + 2 * PAGE + span + 8 * PAGE, 3);
	assert_true(marked(other, &since_other));
	assert_false(marked(file, &since));
	mem_wait(&f);
	mem_store(&f, va + 2 * PAGE + span, 3);
	assert_true(marked(file, &since));
	assert_false(marked(other, &since_other));
	quire_file_put(file);
	quire_file_put(other);
	mem_end(&f);
}

/* Two spaces map the file: what one syncs is about its own stores. */
static void test_two_spaces(void **state)
{
	(void)state;
	for (each_isa(isa))
		for (unsigned n = 0; n < 2; n++) {
			struct quire_space *child;
			struct quire_file *file;
			struct times since;
			struct files f;
			uintptr_t va;

			start(&f, isa, posix[n]);
			file = mem_file(&f, "file", 1);
			va = mem_map(&f, PAGE, R | W, SHARED, file, 0);
			mem_store(&f, va, 1);
			assert_int_equal(quire_space_fork(f.space, &child), 0);
			mem_cpu(&f, 0, child);
			mem_store(&f, va, 2);
			mem_cpu(&f, 0, f.space);
			assert_int_equal(quire_msync(f.space, va, PAGE, QUIRE_MS_ASYNC), 0);
			assert_int_equal(quire_msync(child, va, PAGE, QUIRE_MS_ASYNC), 0);
			since = times(file);
			mem_wait(&f);
			mem_cpu(&f, 0, child);
			mem_store(&f, va, 3);
			mem_cpu(&f, 0, f.space);
			assert_true(marked(file, &since));
			assert_int_equal(mem_load(&f, va), 3);
			quire_space_destroy(child);
			quire_file_put(file);
			mem_end(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),      cmocka_unit_test(test_never),
		cmocka_unit_test(test_other_cpu),  cmocka_unit_test(test_errors),
		cmocka_unit_test(test_price),      cmocka_unit_test(test_subtree),
		cmocka_unit_test(test_two_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
