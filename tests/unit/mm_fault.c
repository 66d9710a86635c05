/*
 * Faults: what appears, what is copied, what is refused, and that no memory is a clean error.
 */
#include "tests/support/memory.h"

static void test_zeros(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		va = mem_map(&f, 4 * PAGE, R | W, PRIVATE | ANON, NULL, 0);
		for (unsigned n = 0; n < 4; n++)
			assert_int_equal(mem_load(&f, va + n * PAGE + 99), 0);
		mem_store(&f, va + 5, 7);
		mem_store(&f, va + PAGE, 8);
		assert_int_equal(mem_load(&f, va + 5), 7);
		assert_int_equal(mem_load(&f, va + PAGE), 8);
		assert_int_equal(mem_load(&f, va + 2 * PAGE), 0);
		mem_end(&f);
	}
}

/*
 * BUGS 2: the kernel zeroed the page through its mapping; its lines are evicted after the user
 * stored.
 */
static void test_shared_anonymous_is_settled(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct files f;
		struct quire *q;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		q = f.s.q;
		va = mem_map(&f, PAGE, R | W, SHARED | ANON, NULL, 0);
		for (unsigned n = 0; n < PAGE; n += 4)
			assert_int_equal(sim_store(f.s.sim, va + n, 4, 0xaaaaaaaa), 0);
		q->machine.arch->data(&q->machine, sim_kernel_base(f.s.sim), f.s.memory.bytes,
				      QUIRE_FLUSH);
		for (unsigned n = 0; n < PAGE; n++)
			assert_int_equal(mem_load(&f, va + n), 0xaa);
		mem_end(&f);
	}
}

static void test_file_shared(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uint8_t byte = 0;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 3);
		va = mem_map(&f, 3 * PAGE, R | W, SHARED, file, 0);
		assert_int_equal(mem_load(&f, va + PAGE), 'b');
		mem_store(&f, va + PAGE, '!');
		assert_int_equal(files_read(&f, file, PAGE, &byte, 1), 1);
		assert_int_equal(byte, '!');
		assert_int_equal(files_write(&f, file, PAGE, "?", 1), 1);
		assert_int_equal(mem_load(&f, va + PAGE), '?');
		quire_file_put(file);
		mem_end(&f);
	}
}

/*
 * A store after a load widens the entry: purged where a TLB entry alone refuses an access, left
 * where the CPU walks the tables again before it faults. Either way there is one fault.
 */
static void test_widened_entry(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		const struct sim_account *purges;
		struct quire_file *file;
		struct files f;
		uint64_t faults;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		va = mem_map(&f, PAGE, R | W, SHARED, file, 0);
		assert_int_equal(mem_load(&f, va), 'a');
		faults = f.s.steps[QUIRE_STEP_FAULT];
		purges = sim_account(f.s.sim, QUIRE_SITE_TLB_PAGE, SIM_OP_TLB_ENTRY);
		assert_int_equal(purges->count, 0);
		mem_store(&f, va, '!');
		assert_int_equal(purges->count != 0, isa != SIM_X86_64);
		assert_int_equal(f.s.steps[QUIRE_STEP_FAULT], faults + 1);
		assert_int_equal(mem_load(&f, va), '!');
		quire_file_put(file);
		mem_end(&f);
	}
}

static void test_file_private(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct files f;
		uint8_t byte;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 3);
		va = mem_map(&f, 3 * PAGE, R | W, PRIVATE, file, 0);
		assert_int_equal(mem_load(&f, va), 'a');
		mem_store(&f, va, '1');            /* after a load */
		mem_store(&f, va + PAGE + 9, '2'); /* without one */
		assert_int_equal(mem_load(&f, va), '1');
		assert_int_equal(mem_load(&f, va + 1), 'A');
		assert_int_equal(mem_load(&f, va + PAGE), 'b');
		assert_int_equal(mem_load(&f, va + PAGE + 9), '2');
		assert_int_equal(files_read(&f, file, 0, &byte, 1), 1);
		assert_int_equal(byte, 'a');
		assert_int_equal(files_read(&f, file, PAGE + 9, &byte, 1), 1);
		assert_int_equal(byte, 'B');
		quire_file_put(file);
		mem_end(&f);
	}
}

static void test_signals(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct files f;
		uint64_t code;
		uintptr_t va;
		uint8_t byte;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		va = mem_map(&f, 2 * PAGE, R, SHARED, file, 0);
		assert_int_equal(mem_try_load(&f, va + PAGE, &byte), -QUIRE_SIGBUS);
		assert_int_equal(mem_try_store(&f, va, 1), -QUIRE_SIGSEGV);
		assert_int_equal(sim_fetch(f.s.sim, va, &code), -QUIRE_SIGSEGV);
		assert_int_equal(quire_munmap(f.space, va, 2 * PAGE), 0);
		assert_int_equal(mem_try_load(&f, va, &byte), -QUIRE_SIGSEGV);
		quire_file_put(file);
		mem_end(&f);
	}
}

static void test_fault_around(void **state)
{
	struct quire_policy policy = quire_policy_default();

	(void)state;
	for (unsigned around = 1; around <= 16; around *= 4) {
		struct quire_file *file;
		uint64_t faults;
		struct files f;
		uintptr_t va;

		policy.fault_around_pages = around;
		mem_start(&f, SIM_X86_64, &policy);
		file = mem_file(&f, "file", 32);
		/* Aligned to the neighbourhood, and the last page is not the area's. */
		va = mem_map_at(&f, 0x400000, 31 * PAGE, R | W, SHARED, file, 0);
		faults = mem_faults(&f);
		for (unsigned n = 0; n < 31; n++)
			assert_int_equal(mem_load(&f, va + n * PAGE), 'a' + n % 26);
		assert_int_equal(mem_faults(&f) - faults, (31 + around - 1) / around);
		/* They were mapped for loads only: each first store is seen. */
		faults = mem_faults(&f);
		for (unsigned n = 0; n < 31; n++)
			mem_store(&f, va + n * PAGE, 'x');
		assert_int_equal(mem_faults(&f) - faults, 31);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* BUGS 29: CPU 1 has the old page in its TLB when CPU 0 gets a copy of it. */
static void test_copy_purges_other_cpus(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		va = mem_map(&f, PAGE, R | W, PRIVATE, file, 0);
		mem_cpu(&f, 1, f.space);
		assert_int_equal(mem_load(&f, va), 'a');
		mem_cpu(&f, 0, f.space);
		mem_store(&f, va, 'z');
		mem_cpu(&f, 1, f.space);
		assert_int_equal(mem_load(&f, va), 'z');
		mem_cpu(&f, 0, f.space);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* Code that writes code in memory that may be stored to and executed, with no call in between. */
static void test_store_then_fetch(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct files f;
		uintptr_t anon, shared;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		anon = mem_map(&f, PAGE, R | W | X, PRIVATE | ANON, NULL, 0);
		shared = mem_map(&f, PAGE, R | W | X, SHARED, file, 0);
		for (uint32_t code = 1; code < 5; code++) {
			mem_store_code(&f, anon + 64, code);
			mem_store_code(&f, shared + 64, code + 100);
			assert_int_equal(mem_fetch(&f, anon + 64), code);
			assert_int_equal(mem_fetch(&f, shared + 64), code + 100);
			assert_int_equal(mem_load(&f, anon + 64), code);
		}
		quire_file_put(file);
		mem_end(&f);
	}
}

/* One page mapped twice: stores through one address, instructions through another. */
static void test_store_here_fetch_there(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uintptr_t stores, fetches;
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		stores = mem_map(&f, PAGE, R | W, SHARED, file, 0);
		fetches = mem_map(&f, PAGE, R | X, SHARED, file, 0);
		for (uint32_t code = 1; code < 5; code++) {
			mem_store_code(&f, stores + 64, code);
			assert_int_equal(mem_fetch(&f, fetches + 64), code);
		}
		quire_file_put(file);
		mem_end(&f);
	}
}

/* BUGS 10: two addresses of different colours in one space. */
static void test_two_colours(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uintptr_t a = 0x600000, b = 0x801000;
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		mem_map_at(&f, a, PAGE, R | W, SHARED, file, 0);
		mem_map_at(&f, b, PAGE, R | W, SHARED, file, 0);
		for (uint8_t n = 1; n < 9; n++) {
			mem_store(&f, a + 8, n);
			assert_int_equal(mem_load(&f, b + 8), n);
			mem_store(&f, b + 8, (uint8_t)(n + 100));
			assert_int_equal(mem_load(&f, a + 8), n + 100);
		}
		quire_file_put(file);
		mem_end(&f);
	}
}

/* BUGS 18: after truncate nothing past the end is mapped, private copies included. */
static void test_truncate_unmaps(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uintptr_t shared, private;
		struct files f;
		uint8_t byte;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 3);
		shared = mem_map(&f, 3 * PAGE, R | W, SHARED, file, 0);
		private = mem_map(&f, 3 * PAGE, R | W, PRIVATE, file, 0);
		for (unsigned n = 0; n < 3; n++) {
			mem_store(&f, shared + n * PAGE, 's');
			mem_store(&f, private + n * PAGE, 'p');
		}
		mem_cpu(&f, 1, f.space);
		assert_int_equal(mem_load(&f, private + 2 * PAGE), 'p');
		mem_cpu(&f, 0, f.space);
		assert_int_equal(quire_truncate(file, PAGE + 1), 0);
		mem_cpu(&f, 1, f.space);
		assert_int_equal(mem_try_load(&f, private + 2 * PAGE, &byte), -QUIRE_SIGBUS);
		mem_cpu(&f, 0, f.space);
		assert_int_equal(mem_try_store(&f, shared + 2 * PAGE, 1), -QUIRE_SIGBUS);
		assert_int_equal(mem_load(&f, shared + PAGE), 's');
		assert_int_equal(mem_load(&f, shared + PAGE + 1), 0);
		assert_int_equal(mem_load(&f, private + PAGE), 'p');
		quire_file_put(file);
		mem_end(&f);
	}
}

/* A debugger stores where the program may not, and sees what waits under PROT_NONE. */
static void test_debugger(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		uint8_t byte = 'd';
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		va = mem_map(&f, PAGE, R | X, PRIVATE, file, 0);
		(void)mem_fetch(&f, va);
		mem_debug(&f, va, &byte, true);
		assert_int_equal(mem_load(&f, va), 'd');
		assert_int_equal(mem_fetch(&f, va) & 0xff, 'd');
		assert_int_equal(files_read(&f, file, 0, &byte, 1), 1);
		assert_int_equal(byte, 'a');
		assert_int_equal(quire_mprotect(f.space, va, PAGE, QUIRE_PROT_NONE), 0);
		mem_debug(&f, va, &byte, false);
		assert_int_equal(byte, 'd');
		byte = 'e';
		mem_debug(&f, va, &byte, true);
		assert_int_equal(mem_try_load(&f, va, &byte), -QUIRE_SIGSEGV);
		assert_int_equal(quire_mprotect(f.space, va, PAGE, R), 0);
		assert_int_equal(mem_load(&f, va), 'e');
		quire_file_put(file);
		mem_end(&f);
	}
}

/*
 * Every allocation fails once: the access gives no-memory or goes on, and all is as it was when
 * tried again.
 */
static void test_no_records(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		bool failed = true;

		for (long n = 0; failed; n++) {
			struct quire_file *file;
			uintptr_t at[4];
			struct files f;

			mem_start(&f, isa, NULL);
			file = mem_file(&f, "file", 2);
			assert_int_equal(quire_truncate(file, 8 * PAGE), 0);
			at[0] = mem_map(&f, PAGE, R | W, PRIVATE | ANON, NULL, 0);
			at[1] = mem_map(&f, 8 * PAGE, R | W, SHARED, file, 0);
			at[2] = mem_map(&f, 8 * PAGE, R | W, PRIVATE, file, 0);
			at[3] = mem_map(&f, 8 * PAGE, R | W, SHARED, file, 0);
			f.s.fail_after = n;
			failed = false;
			for (unsigned i = 0; i < 4; i++) {
				int error = mem_try_store(&f, at[i], (uint8_t)i);

				failed |= error != 0;
				assert_true(!error || error == -QUIRE_ENOMEM);
				if (i && !error) {
					error = mem_try_store(&f, at[i] + 7 * PAGE, 1);
					failed |= error != 0;
				}
			}
			failed |= f.s.fail_after == -1;
			f.s.fail_after = -1;
			for (unsigned i = 0; i < 4; i++) {
				mem_store(&f, at[i], (uint8_t)(i + 10));
				assert_int_equal(mem_load(&f, at[i]), i + 10);
			}
			assert_int_equal(mem_load(&f, at[1]), 13);
			quire_file_put(file);
			mem_end(&f);
		}
	}
}

/* All frames taken: the fault says so and changes nothing. */
static void test_no_pages(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_list taken;
		struct quire_page *page;
		struct quire_file *file;
		struct files f;
		uintptr_t anon, private;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		anon = mem_map(&f, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		private = mem_map(&f, PAGE, R | W, PRIVATE, file, 0);
		assert_int_equal(mem_load(&f, private), 'a');
		quire_list_init(&taken);
		while ((page = quire_page_alloc(f.s.q, 0)))
			quire_list_add(&taken, &page->link);
		assert_int_equal(mem_try_store(&f, anon, 1), -QUIRE_ENOMEM);
		assert_int_equal(mem_try_store(&f, private, 1), -QUIRE_ENOMEM);
		assert_int_equal(mem_load(&f, private), 'a');
		while (!quire_list_empty(&taken)) {
			page = quire_container(taken.next, struct quire_page, link);
			quire_list_remove(&page->link);
			quire_page_put(f.s.q, page);
		}
		mem_store(&f, anon, 1);
		mem_store(&f, private, 1);
		quire_file_put(file);
		mem_end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_shared_anonymous_is_settled),
		cmocka_unit_test(test_file_shared),
		cmocka_unit_test(test_widened_entry),
		cmocka_unit_test(test_file_private),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_fault_around),
		cmocka_unit_test(test_copy_purges_other_cpus),
		cmocka_unit_test(test_store_then_fetch),
		cmocka_unit_test(test_store_here_fetch_there),
		cmocka_unit_test(test_two_colours),
		cmocka_unit_test(test_truncate_unmaps),
		cmocka_unit_test(test_debugger),
		cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_no_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
