/*
 * Faults that real memory managers shipped, as far as a script cannot express them: calls of two CPUs that overlap,
 * calls that only a kernel makes, folios, hardware that scripts do not reach. The others are tests/scripts/bug-*.q;
 * docs/bugs.md says which is which, and what failed when each fault was put back.
 *
 * The numbers are those of docs/bugs.md.
 */
#include <stdio.h>

#include "tests/support/interleave.h"
#include "tests/support/memory.h"

#define VA_A    ((uintptr_t)0x40000000)
#define VA_B    ((uintptr_t)0x40009000) /* another colour, where there are colours */
#define VA_AWAY ((uintptr_t)0x50004000)

/* Two spaces that share a page, or the file that holds it, one on each CPU. */
struct race {
	struct files f;
	struct quire_space *child;
	struct quire_file *file;
	uint8_t got[2];
	uint64_t fetched[2];
	int64_t result[2];
	uint8_t value;
};

static void race_start(struct race *r, enum sim_isa isa, const struct quire_policy *policy)
{
	memset(r, 0, sizeof(*r));
	mem_start(&r->f, isa, policy);
}

/*
 * The witness is not asked here: while a call that removes an entry is under way, another CPU may still use it, and
 * a load at the same time as a store may see either. The tests look at what is there when both calls have returned.
 */
static void race_end(struct race *r)
{
	mem_leave(&r->f);
	quire_space_destroy(r->f.space);
	if (r->file)
		quire_file_put(r->file);
	assert_int_equal(quire_fs_unmount(r->f.fs), 0);
	simulated_end(&r->f.s);
}

/* The CPU that calls loads a space; nothing is asserted here, since it may be on another host thread. */
static void be_in(struct race *r, struct quire_space *space)
{
	if (r->f.s.loaded[sim_cpu(r->f.s.sim)] != space)
		simulated_load(&r->f.s, space);
}

/* --- 1: the flag is set after the maintenance ------------------------------------------------- */

static void execute_here(struct race *r, unsigned side)
{
	be_in(r, side ? r->child : r->f.space);
	r->result[side] = sim_fetch(r->f.s.sim, VA_A, &r->fetched[side]);
}

static void protect_and_execute_0(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	(void)quire_mprotect(r->f.space, VA_A, PAGE, R | X);
	execute_here(r, 0);
}

static void protect_and_execute_1(void *arg)
{
	struct race *r = arg;

	be_in(r, r->child);
	(void)quire_mprotect(r->child, VA_A, PAGE, R | X);
	execute_here(r, 1);
}

/* New code in a private page that two spaces share; old code of its frame is in both I caches. */
static void make_code(struct race *r, uint32_t code)
{
	struct files *f = &r->f;

	mem_cpu(f, 1, NULL);
	mem_cpu(f, 0, f->space);
	mem_map_at(f, VA_A, PAGE, R | W, PRIVATE | ANON, NULL, 0);
	for (unsigned n = 0; n < PAGE; n += 4)
		assert_int_equal(sim_store(f->s.sim, VA_A + n, 4, code), 0);
	assert_int_equal(quire_space_fork(f->space, &r->child), 0);
	r->result[0] = r->result[1] = -1;
}

static void test_01_flag_after_maintenance(void **state)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		bool more = true;
		struct race r;

		race_start(&r, isas[n], NULL);
		for (unsigned point = 0; more; point++) {
			make_code(&r, point + 1);
			more = interleave(&r.f.s, point, protect_and_execute_0, protect_and_execute_1,
					  &r);
			assert_int_equal(r.result[0], 0);
			assert_int_equal(r.result[1], 0);
			assert_int_equal(r.fetched[0], point + 1);
			assert_int_equal(r.fetched[1], point + 1);
			mem_cpu(&r.f, 1, NULL);
			mem_cpu(&r.f, 0, r.f.space);
			quire_space_destroy(r.child);
		}
		race_end(&r);
	}
}

/* --- 4: the hook on what is no user page ------------------------------------------------------ */

static void test_04_foreign_page(void **state)
{
	struct quire_policy policy = quire_policy_default();

	(void)state;
	policy.coherence = QUIRE_COHERENCE_EAGER; /* it would be flushed at once */
	for (each_isa(isa)) {
		struct quire_page *table;
		struct files f;
		uint32_t flags;

		mem_start(&f, isa, &policy);
		table = f.space->root;
		flags = quire_atomic_read(&table->flags);
		quire_coherence_kernel_wrote(f.s.q, NULL);
		quire_coherence_kernel_read(f.s.q, NULL);
		quire_coherence_kernel_wrote(f.s.q, table);
		quire_coherence_kernel_read(f.s.q, table);
		assert_int_equal(quire_atomic_read(&table->flags), flags);
		mem_end(&f);
	}
}

/* --- 8: every page of a folio ----------------------------------------------------------------- */

#define FOLIO_ORDER 2
#define FOLIO_PAGES (1u << FOLIO_ORDER)

/* A file whose first pages are one folio, not up to date. */
static struct quire_page *make_folio(struct files *f, struct quire_file **file)
{
	struct quire_page *folio = quire_page_alloc(f->s.q, FOLIO_ORDER);

	assert_non_null(folio);
	assert_int_equal(quire_fs_open(f->fs, "folio", true, file), 0);
	quire_page_lock(f->s.q, folio);
	assert_int_equal(quire_cache_add(*file, 0, folio), 0);
	return folio;
}

static void test_08_folio(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct quire_page *folio;
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		folio = make_folio(&f, &file);
		for (unsigned n = 0; n < FOLIO_PAGES; n++)
			quire_atomic_or(&folio[n].flags, QUIRE_PAGE_UPTODATE);
		quire_page_unlock(f.s.q, folio);
		assert_int_equal(quire_truncate(file, FOLIO_PAGES * PAGE), 0);
		va = mem_map_at(&f, VA_B, FOLIO_PAGES * PAGE, R | W | X, SHARED, file, 0);
		for (unsigned round = 1; round < 4; round++) {
			uintptr_t kernel = quire_page_address(f.s.q, folio);

			quire_coherence_kernel_read(f.s.q, folio);
			for (unsigned n = 0; n < FOLIO_PAGES; n++)
				assert_int_equal(sim_store(f.s.sim, kernel + n * PAGE, 4, round), 0);
			quire_coherence_kernel_wrote(f.s.q, folio);
			for (unsigned n = 0; n < FOLIO_PAGES; n++) {
				assert_int_equal(mem_load(&f, va + n * PAGE), round);
				assert_int_equal(mem_fetch(&f, va + n * PAGE), round);
			}
		}
		quire_page_put(f.s.q, folio);
		assert_int_equal(quire_munmap(f.space, va, FOLIO_PAGES * PAGE), 0);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* --- 12: the clean flag against a map that appears at the same time --------------------------- */

static void kernel_stores(void *arg)
{
	struct race *r = arg;
	struct quire *q = r->f.s.q;
	struct quire_page *page = quire_cache_find(r->file, 0);

	quire_coherence_kernel_read(q, page);
	(void)sim_store(r->f.s.sim, quire_page_address(q, page), 4, r->value);
	quire_coherence_kernel_wrote(q, page);
	quire_page_put(q, page);
}

static void user_executes(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	r->result[1] = sim_fetch(r->f.s.sim, VA_B, &r->fetched[1]);
}

static void test_12_wrote_against_map(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct race r;
		bool more = true;

		race_start(&r, isa, NULL);
		r.file = mem_file(&r.f, "file", 1);
		mem_map_at(&r.f, VA_B, PAGE, R | X, SHARED, r.file, 0);
		(void)mem_fetch(&r.f, VA_B);
		assert_int_equal(quire_munmap(r.f.space, VA_B, PAGE), 0);
		for (unsigned point = 0; more; point++) {
			/* Clean before, on both sides; mapped when the kernel has stored, or is about to. */
			mem_map_at(&r.f, VA_B, PAGE, R | X, SHARED, r.file, 0);
			r.value = (uint8_t)(point + 1);
			mem_cpu(&r.f, 0, NULL);
			more = interleave(&r.f.s, point, kernel_stores, user_executes, &r);
			assert_int_equal(r.result[1], 0);
			mem_cpu(&r.f, 1, r.f.space);
			assert_int_equal(mem_fetch(&r.f, VA_B), r.value);
			assert_int_equal(mem_load(&r.f, VA_B), r.value);
			mem_cpu(&r.f, 1, NULL);
			mem_cpu(&r.f, 0, r.f.space);
			assert_int_equal(mem_fetch(&r.f, VA_B), r.value);
			assert_int_equal(mem_load(&r.f, VA_B), r.value);
			assert_int_equal(quire_munmap(r.f.space, VA_B, PAGE), 0);
		}
		race_end(&r);
	}
}

/* --- 17, 18, 49: calls on a file against each other ------------------------------------------- */

static void write_from_map(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	r->result[0] = quire_write(r->file, 2 * PAGE + 100, VA_A + 100, 2 * PAGE);
}

static void truncate_file(void *arg)
{
	struct race *r = arg;

	r->result[1] = quire_truncate(r->file, PAGE);
}

static void punch_file(void *arg)
{
	struct race *r = arg;

	r->result[1] = quire_punch(r->file, 0, 3 * PAGE);
}

static void store_to_map(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	r->result[1] = mem_try_store(&r->f, VA_A + 2 * PAGE + 200, r->value);
}

/* Every byte of the file is one of those that may be there: what it was filled with, or a zero. */
static void check_bytes(struct race *r, uint8_t also)
{
	uint64_t bytes = mem_stat(r->file).bytes;
	uint8_t byte;

	for (uint64_t at = 0; at < bytes; at += 50) {
		assert_int_equal(files_read(&r->f, r->file, at, &byte, 1), 1);
		if (byte && byte != also && (byte < 'A' || byte > 'z')) {
			fprintf(stderr, "byte %#llx of the file is %#x\n", (unsigned long long)at, byte);
			fail();
		}
	}
}

/* `second` against a write whose buffer is a map of the same file that nobody has touched yet. */
static void write_against(enum sim_isa isa, void (*second)(void *arg))
{
	struct race r;
	bool more = true;

	race_start(&r, isa, NULL);
	for (unsigned point = 0; more; point++) {
		r.file = mem_file(&r.f, "file", 4);
		files_soil(&r.f);
		mem_map_at(&r.f, VA_A, 4 * PAGE, R | W, SHARED, r.file, 0);
		r.value = 'z';
		more = interleave(&r.f.s, point, write_from_map, second, &r);
		assert_true(r.result[0] >= 0 || r.result[0] == -QUIRE_EFAULT);
		assert_int_equal(r.result[1], 0);
		check_bytes(&r, r.value);
		mem_cpu(&r.f, 1, NULL);
		mem_cpu(&r.f, 0, r.f.space);
		assert_int_equal(quire_munmap(r.f.space, VA_A, 4 * PAGE), 0);
		assert_int_equal(quire_fs_unlink(r.f.fs, "file"), 0);
		quire_file_put(r.file);
	}
	r.file = NULL;
	race_end(&r);
}

static void test_17_write_against_truncate(void **state)
{
	(void)state;
	write_against(SIM_PARISC, truncate_file);
	write_against(SIM_X86_64, truncate_file);
}

static void test_17_write_against_punch(void **state)
{
	(void)state;
	write_against(SIM_PARISC, punch_file);
	write_against(SIM_ARMV7, punch_file);
}

static void test_49_write_against_store(void **state)
{
	(void)state;
	for (each_isa(isa))
		write_against(isa, store_to_map);
}

static void load_map(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	r->result[0] = mem_try_load(&r->f, VA_A + 2 * PAGE, &r->got[0]);
}

static void test_18_truncate_against_fault(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct race r;
		bool more = true;

		race_start(&r, isa, NULL);
		for (unsigned point = 0; more; point++) {
			uint8_t byte;

			r.file = mem_file(&r.f, "file", 4);
			mem_map_at(&r.f, VA_A, 4 * PAGE, R | W, SHARED, r.file, 0);
			more = interleave(&r.f.s, point, load_map, truncate_file, &r);
			assert_true(r.result[0] == -QUIRE_SIGBUS ||
				    (r.result[0] == 0 && r.got[0] == 'c'));
			assert_int_equal(r.result[1], 0);
			assert_int_equal(mem_stat(r.file).pages, 1);
			assert_int_equal(mem_try_load(&r.f, VA_A + 2 * PAGE, &byte), -QUIRE_SIGBUS);
			assert_int_equal(quire_munmap(r.f.space, VA_A, 4 * PAGE), 0);
			quire_file_put(r.file);
		}
		r.file = NULL;
		race_end(&r);
	}
}

/* --- 19: a small write into a large page ------------------------------------------------------ */

static void test_19_large_page(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct quire_page *folio;
		uint8_t data[10] = "0123456789";
		struct files f;
		uintptr_t va;

		mem_start(&f, isa, NULL);
		files_soil(&f);
		folio = make_folio(&f, &file);
		quire_page_unlock(f.s.q, folio);
		quire_page_put(f.s.q, folio);
		assert_int_equal(files_write(&f, file, PAGE + 100, data, 10), 10);
		assert_int_equal(quire_truncate(file, FOLIO_PAGES * PAGE), 0);
		va = mem_map_at(&f, VA_B, FOLIO_PAGES * PAGE, R | W, SHARED, file, 0);
		for (size_t at = 0; at < FOLIO_PAGES * PAGE; at++) {
			bool inside = at >= PAGE + 100 && at < PAGE + 110;

			assert_int_equal(mem_load(&f, va + at), inside ? data[at - PAGE - 100] : 0);
		}
		assert_int_equal(quire_munmap(f.space, va, FOLIO_PAGES * PAGE), 0);
		quire_file_put(file);
		mem_end(&f);
	}
}

/* --- 20: a long symlink after reclaim --------------------------------------------------------- */

static void test_20_symlink(void **state)
{
	char target[QUIRE_TARGET_BYTES + 1], got[QUIRE_TARGET_BYTES + 1];

	(void)state;
	memset(target, 'x', sizeof(target));
	target[3000] = '\0';
	for (each_isa(isa)) {
		struct files f;

		mem_start(&f, isa, NULL);
		files_soil(&f);
		assert_int_equal(quire_fs_symlink(f.fs, "link", target), 0);
		for (unsigned n = 0; n < 3; n++) {
			(void)quire_reclaim(f.s.q, UINT64_MAX);
			files_soil(&f);
			memset(got, 0, sizeof(got));
			assert_int_equal(quire_fs_readlink(f.fs, "link", got), 0);
			assert_string_equal(got, target);
		}
		mem_end(&f);
	}
}

/* --- 21: the translation goes before the lines ------------------------------------------------ */

static void unmap_page(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	r->result[0] = quire_munmap(r->f.space, VA_B, PAGE);
}

static void load_page(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	(void)mem_try_load(&r->f, VA_B, &r->got[1]);
}

static void test_21_purge_then_flush(void **state)
{
	bool more = true;
	struct race r;

	(void)state;
	race_start(&r, SIM_PARISC, NULL);
	r.file = mem_file(&r.f, "file", 1);
	for (unsigned point = 0; more; point++) {
		uint8_t byte = (uint8_t)(point | 1), got;

		/* Only loaded from: an entry that was stored through is purged earlier. */
		mem_map_at(&r.f, VA_B, PAGE, R | W, SHARED, r.file, 0);
		mem_cpu(&r.f, 1, r.f.space);
		(void)mem_load(&r.f, VA_B);
		mem_cpu(&r.f, 0, r.f.space);
		more = interleave(&r.f.s, point, unmap_page, load_page, &r);
		assert_int_equal(r.result[0], 0);
		/* Lines of that colour that came back are older than what is written now, and nobody looks for them. */
		byte ^= 0x55;
		assert_int_equal(files_write(&r.f, r.file, 0, &byte, 1), 1);
		mem_map_at(&r.f, VA_B, PAGE, R, SHARED, r.file, 0);
		assert_int_equal(mem_load(&r.f, VA_B), byte);
		mem_cpu(&r.f, 1, r.f.space);
		assert_int_equal(mem_load(&r.f, VA_B), byte);
		mem_cpu(&r.f, 0, r.f.space);
		assert_int_equal(quire_munmap(r.f.space, VA_B, PAGE), 0);
		assert_int_equal(files_read(&r.f, r.file, 0, &got, 1), 1);
		assert_int_equal(got, byte);
	}
	mem_cpu(&r.f, 1, NULL);
	mem_cpu(&r.f, 0, r.f.space);
	race_end(&r);
}

/* --- 25: the whole cache, where other CPUs cannot be called ----------------------------------- */

static void test_25_no_cross_calls(void **state)
{
	static const enum quire_flush_range_policy policies[] = {
		QUIRE_FLUSH_WHOLE, QUIRE_FLUSH_CALIBRATED, QUIRE_FLUSH_CALIBRATED_SPLIT};

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		struct quire_policy policy = quire_policy_default();
		struct files f;
		size_t bytes;

		policy.flush_range = policies[n];
		mem_start(&f, SIM_PARISC, &policy);
		bytes = 64 * PAGE; /* above every threshold of this machine's */
		for (unsigned round = 1; round < 4; round++) {
			mem_map_at(&f, VA_A + round * PAGE, bytes, R | W, PRIVATE | ANON, NULL, 0);
			for (size_t at = 0; at < bytes; at += 64)
				mem_store(&f, VA_A + round * PAGE + at, (uint8_t)round);
			f.s.no_cross_call = true;
			assert_int_equal(quire_munmap(f.space, VA_A + round * PAGE, bytes), 0);
			f.s.no_cross_call = false;
			mem_map_at(&f, VA_AWAY, bytes, R | W, PRIVATE | ANON, NULL, 0);
			for (size_t at = 0; at < bytes; at += 64)
				mem_store(&f, VA_AWAY + at, (uint8_t)(round + 100));
			files_soil(&f);
			for (size_t at = 0; at < bytes; at += 64)
				assert_int_equal(mem_load(&f, VA_AWAY + at), round + 100);
			assert_int_equal(quire_munmap(f.space, VA_AWAY, bytes), 0);
		}
		mem_end(&f);
	}
}

/* --- 31: mprotect against a change whose purge is still to come ------------------------------- */

static void sync_file(void *arg)
{
	struct race *r = arg;

	r->result[0] = quire_fsync(r->file);
}

/* On the CPU that protects, and on one whose TLB knew the entry: no store may succeed once mprotect has returned. */
static void protect_then_store(void *arg)
{
	struct race *r = arg;
	struct sim *sim = r->f.s.sim;
	unsigned cpu = sim_cpu(sim);

	be_in(r, r->f.space);
	(void)quire_mprotect(r->f.space, VA_A, PAGE, R);
	sim_switch(sim, 2);
	r->result[1] = mem_try_store(&r->f, VA_A, 99);
	sim_switch(sim, cpu);
}

static void start_with_disk(struct race *r, struct files_disk *disk, enum sim_isa isa, unsigned cpus)
{
	int error;

	memset(r, 0, sizeof(*r));
	files_start_cpus(&r->f, isa, NULL, cpus);
	files_disk_start(disk, &r->f, 128);
	r->f.fs = quire_diskfs_mount(r->f.s.q, &disk->device, true, &error);
	assert_non_null(r->f.fs);
}

static void end_with_disk(struct race *r, struct files_disk *disk)
{
	mem_leave(&r->f);
	quire_space_destroy(r->f.space);
	quire_file_put(r->file);
	assert_int_equal(quire_fs_unmount(r->f.fs), 0);
	files_disk_end(disk);
	simulated_end(&r->f.s);
}

static void test_31_protect_against_writeback(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct files_disk disk;
		bool more = true;
		struct race r;

		start_with_disk(&r, &disk, isa, 3);
		r.file = mem_file(&r.f, "file", 1);
		mem_map_at(&r.f, VA_A, PAGE, R | W, SHARED, r.file, 0);
		for (unsigned point = 0; more; point++) {
			assert_int_equal(quire_mprotect(r.f.space, VA_A, PAGE, R | W), 0);
			mem_store(&r.f, VA_A, (uint8_t)point);
			mem_cpu(&r.f, 2, r.f.space);
			mem_store(&r.f, VA_A, (uint8_t)(point + 1));
			mem_cpu(&r.f, 0, r.f.space);
			more = interleave(&r.f.s, point, sync_file, protect_then_store, &r);
			assert_int_equal(r.result[0], 0);
			assert_int_equal(r.result[1], -QUIRE_SIGSEGV);
			assert_int_equal(mem_load(&r.f, VA_A), (uint8_t)(point + 1));
		}
		end_with_disk(&r, &disk);
	}
}

/* --- 32: a frame is free only when no CPU can reach it ---------------------------------------- */

struct reuse {
	struct files f;
	struct quire_page *page;
	bool looked, held; /* when munmap came to its purge */
};

/* CPU 0 is about to purge: CPU 1 stores where it still can, so the frame must not be anybody else's yet. */
static void look_at_frame(struct simulated *s, enum quire_site site)
{
	struct reuse *u = s->test;

	if (site != QUIRE_SITE_TLB_BATCH || u->looked)
		return; /* later ones are of tables */
	u->looked = true;
	u->held = quire_atomic_read(&u->page->refs) != 0;
	sim_switch(s->sim, 1);
	(void)sim_store(s->sim, VA_A, 1, 'o');
	sim_switch(s->sim, 0);
}

static void test_32_free_after_purge(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_slot slot;
		struct reuse u;
		uintptr_t next;

		memset(&u, 0, sizeof(u));
		mem_start(&u.f, isa, NULL);
		mem_map_at(&u.f, VA_A, PAGE, R | W, PRIVATE | ANON, NULL, 0);
		mem_cpu(&u.f, 1, u.f.space);
		mem_store(&u.f, VA_A, 'a');
		mem_cpu(&u.f, 0, u.f.space);
		assert_true(quire_table_find(u.f.space, VA_A, &slot, &next));
		u.page = quire_page_of(u.f.s.q, quire_slot_read(&slot).frame);
		u.f.s.test = &u;
		u.f.s.on_maintenance = look_at_frame;
		assert_int_equal(quire_munmap(u.f.space, VA_A, PAGE), 0);
		u.f.s.on_maintenance = NULL;
		assert_true(u.looked);
		assert_true(u.held);
		mem_cpu(&u.f, 1, u.f.space);
		assert_int_equal(mem_try_store(&u.f, VA_A, 1), -QUIRE_SIGSEGV);
		mem_leave(&u.f);
		quire_space_destroy(u.f.space);
		assert_int_equal(quire_fs_unmount(u.f.fs), 0);
		simulated_end(&u.f.s);
	}
}

/* --- 35: wide frame numbers ------------------------------------------------------------------- */

static void test_35_wide_frames(void **state)
{
	static const struct {
		enum sim_isa isa;
		unsigned frame_bits; /* physical address bits of the format, less the page offset */
	} formats[] = {
		{SIM_ARMV7, 20},  /* DDI 0406C B3.5.1: small page, PA[31:12] */
		{SIM_PARISC, 32}, /* what struct quire_entry holds: 16 TiB */
		{SIM_X86_64, 32},
	};

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		const struct quire_arch *arch = simulated_arch(formats[n].isa);

		for (unsigned bit = 0; bit <= formats[n].frame_bits; bit++) {
			uint64_t frame = ((uint64_t)1 << bit) - 1;
			struct quire_entry entry = {
				.frame = (uint32_t)frame,
				.bits = QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG | QUIRE_ENTRY_WRITE |
					QUIRE_ENTRY_DIRTY,
			};
			struct quire_entry back = arch->decode(arch->encode(entry));

			assert_int_equal(back.frame, entry.frame);
			assert_int_equal(back.bits, entry.bits);
			entry.bits = QUIRE_ENTRY_YOUNG; /* waits under PROT_NONE */
			back = arch->decode(arch->encode(entry));
			assert_int_equal(back.frame, entry.frame);
		}
	}
}

/* --- 46, 47: writeback against stores --------------------------------------------------------- */

static void store_value(void *arg)
{
	struct race *r = arg;

	be_in(r, r->f.space);
	r->result[1] = mem_try_store(&r->f, VA_A, r->value);
}

static void test_46_writeback_against_store(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		for (unsigned stored = 0; stored < 2; stored++) {
			struct files_disk disk;
			bool more = true;
			struct race r;

			start_with_disk(&r, &disk, isa, 2);
			r.file = mem_file(&r.f, "file", 1);
			mem_map_at(&r.f, VA_A, PAGE, R | W, SHARED, r.file, 0);
			for (unsigned point = 0; more; point++) {
				uint8_t byte;

				mem_store(&r.f, VA_A, (uint8_t)(2 * point));
				/* The other CPU's TLB knows an entry that allows stores, or none. */
				mem_cpu(&r.f, 1, stored ? r.f.space : NULL);
				if (stored)
					mem_store(&r.f, VA_A + 1, 1);
				mem_cpu(&r.f, 0, r.f.space);
				r.value = (uint8_t)(2 * point + 1);
				more = interleave(&r.f.s, point, sync_file, store_value, &r);
				assert_int_equal(r.result[0], 0);
				assert_int_equal(r.result[1], 0);
				/* It goes out with the next writeback, if it did not with this one. */
				assert_int_equal(quire_fsync(r.file), 0);
				mem_cpu(&r.f, 1, NULL);
				mem_cpu(&r.f, 0, r.f.space);
				assert_int_equal(quire_munmap(r.f.space, VA_A, PAGE), 0);
				(void)quire_reclaim(r.f.s.q, UINT64_MAX);
				assert_int_equal(mem_stat(r.file).pages, 0);
				assert_int_equal(files_read(&r.f, r.file, 0, &byte, 1), 1);
				assert_int_equal(byte, r.value);
				mem_map_at(&r.f, VA_A, PAGE, R | W, SHARED, r.file, 0);
			}
			end_with_disk(&r, &disk);
		}
	}
}

/* --- 48: a device reads a page that is stored to through a mapping ---------------------------- */

static void test_48_device_reads(void **state)
{
	(void)state;
	for (each_isa(isa)) {
		struct quire_file *file;
		struct quire_page *page;
		uint8_t bytes[PAGE];
		struct files f;

		mem_start(&f, isa, NULL);
		file = mem_file(&f, "file", 1);
		mem_map_at(&f, VA_B, PAGE, R | W, SHARED, file, 0);
		page = quire_cache_find(file, 0);
		for (uint8_t n = 1; n < 5; n++) {
			mem_cpu(&f, n & 1, f.space);
			mem_store(&f, VA_B + 300, n);
			mem_cpu(&f, 0, f.space);
			quire_coherence_dma_prepare(f.s.q, page, QUIRE_TO_DEVICE);
			sim_dma_from_memory(f.s.sim, quire_page_pa(page), bytes, sizeof(bytes));
			quire_coherence_dma_finish(f.s.q, page, QUIRE_TO_DEVICE);
			assert_int_equal(bytes[300], n);
		}
		quire_page_put(f.s.q, page);
		mem_cpu(&f, 1, NULL);
		mem_cpu(&f, 0, f.space);
		assert_int_equal(quire_munmap(f.space, VA_B, PAGE), 0);
		quire_file_put(file);
		mem_end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_01_flag_after_maintenance),
		cmocka_unit_test(test_04_foreign_page),
		cmocka_unit_test(test_08_folio),
		cmocka_unit_test(test_12_wrote_against_map),
		cmocka_unit_test(test_17_write_against_truncate),
		cmocka_unit_test(test_17_write_against_punch),
		cmocka_unit_test(test_18_truncate_against_fault),
		cmocka_unit_test(test_19_large_page),
		cmocka_unit_test(test_20_symlink),
		cmocka_unit_test(test_21_purge_then_flush),
		cmocka_unit_test(test_25_no_cross_calls),
		cmocka_unit_test(test_31_protect_against_writeback),
		cmocka_unit_test(test_32_free_after_purge),
		cmocka_unit_test(test_35_wide_frames),
		cmocka_unit_test(test_46_writeback_against_store),
		cmocka_unit_test(test_48_device_reads),
		cmocka_unit_test(test_49_write_against_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
