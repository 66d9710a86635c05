/*
 * diskfs: what was written is on the disk, damage and power cuts leave a disk that mounts or says
 * no, and DMA is surrounded by the maintenance that a machine without coherent devices needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fs/diskfs_format.h"
#include "mm/mm.h"
#include "tests/support/files.h"

#define PAGE QUIRE_PAGE_BYTES

static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

/* CRC-32C by bits: another way than the file system's. */
static uint32_t crc_by_bits(const uint8_t *bytes, size_t count)
{
	uint32_t crc = UINT32_MAX;

	for (size_t n = 0; n < count; n++) {
		crc ^= bytes[n];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void mount(struct files *f, struct files_disk *disk, bool format)
{
	int error;

	f->fs = quire_diskfs_mount(f->s.q, &disk->device, format, &error);
	assert_int_equal(error, 0);
	assert_non_null(f->fs);
}

static void start(struct files *f, struct files_disk *disk, enum sim_isa isa, uint64_t blocks)
{
	files_start(f, isa, NULL);
	files_disk_start(disk, f, blocks);
	mount(f, disk, true);
}

static void remount(struct files *f, struct files_disk *disk)
{
	assert_int_equal(quire_fs_unmount(f->fs), 0);
	mount(f, disk, false);
}

static void end(struct files *f, struct files_disk *disk)
{
	assert_int_equal(quire_fs_unmount(f->fs), 0);
	files_disk_end(disk);
	files_end(f);
}

static struct quire_file *open_file(struct files *f, const char *name, bool create)
{
	struct quire_file *file;

	assert_int_equal(quire_fs_open(f->fs, name, create, &file), 0);
	return file;
}

static void assert_bytes(const uint8_t *at, size_t bytes, uint8_t value)
{
	for (size_t n = 0; n < bytes; n++)
		assert_int_equal(at[n], value);
}

/* --- Contents --------------------------------------------------------------------------------- */

static void test_remount(void **state)
{
	static uint8_t data[70 * PAGE], got[70 * PAGE];

	(void)state;
	for (size_t n = 0; n < sizeof(data); n++)
		data[n] = (uint8_t)(n * 7 + n / PAGE);
	for (unsigned i = 0; i < 3; i++) {
		struct quire_stat before, after;
		struct quire_file *file;
		struct files_disk disk;
		struct files f;

		start(&f, &disk, isas[i], 200);
		file = open_file(&f, "data", true);
		assert_int_equal(files_write(&f, file, 5, data, sizeof(data) - 5),
				 sizeof(data) - 5);
		quire_file_stat(file, &before);
		quire_file_put(file);
		remount(&f, &disk);
		assert_int_equal(quire_fs_open(f.fs, "none", false, &file), -QUIRE_ENOENT);
		file = open_file(&f, "data", false);
		quire_file_stat(file, &after);
		assert_int_equal(after.bytes, sizeof(data));
		assert_int_equal(after.pages, 0);
		assert_true(before.mtime_ns == after.mtime_ns &&
			    before.ctime_ns == after.ctime_ns && before.atime_ns == after.atime_ns);
		assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), sizeof(got));
		assert_bytes(got, 5, 0);
		assert_memory_equal(got + 5, data, sizeof(data) - 5);
		quire_file_put(file);
		end(&f, &disk);
	}
}

static void test_model(void **state)
{
	static struct files_model model;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct files_disk disk;
		struct files f;

		start(&f, &disk, isas[i], 100);
		memset(&model, 0, sizeof(model));
		for (unsigned round = 0; round < 6; round++) {
			struct quire_file *file = open_file(&f, "model", true);

			files_model_run(&f, file, &model, FILES_CAN_RECLAIM, 10 * i + round, 30);
			quire_file_put(file);
			remount(&f, &disk);
			file = open_file(&f, "model", false);
			files_model_compare(&f, file, &model, "after the remount");
			quire_file_put(file);
		}
		end(&f, &disk);
	}
}

/*
 * Every second page of a file: as many extents as pages, so inode, one map block and a part of
 * another.
 */
static void test_many_extents(void **state)
{
	enum { PAGES = 500 };
	struct quire_file *file;
	struct files_disk disk;
	uint8_t got[2 * PAGE];
	struct files f;

	(void)state;
	start(&f, &disk, SIM_X86_64, 1200);
	for (unsigned pass = 0; pass < 2; pass++) {
		file = open_file(&f, "holes", true);
		for (unsigned n = 0; n < PAGES; n++) {
			uint8_t byte = (uint8_t)(1 + (n + pass) % 200);

			assert_int_equal(files_write(&f, file, (uint64_t)n * 2 * PAGE, &byte, 1),
					 1);
			if (n % 50 == 49) {
				assert_int_equal(quire_fsync(file), 0);
				quire_reclaim(f.s.q, 100);
			}
		}
		quire_file_put(file);
		remount(&f, &disk);
		file = open_file(&f, "holes", false);
		for (unsigned n = 0; n < PAGES - 1; n++) {
			assert_int_equal(files_read(&f, file, (uint64_t)n * 2 * PAGE, got,
						    2 * PAGE),
					 2 * PAGE);
			assert_int_equal(got[0], 1 + (n + pass) % 200);
			assert_bytes(got + 1, 2 * PAGE - 1, 0);
			quire_reclaim(f.s.q, 100);
		}
		quire_file_put(file);
	}
	/* Cut through the map, and again. */
	file = open_file(&f, "holes", false);
	assert_int_equal(quire_punch(file, 10 * PAGE, 900 * PAGE), 0);
	assert_int_equal(quire_truncate(file, 950 * PAGE + 1), 0);
	quire_file_put(file);
	remount(&f, &disk);
	file = open_file(&f, "holes", false);
	assert_int_equal(files_read(&f, file, 10 * PAGE, got, 2 * PAGE), 2 * PAGE);
	assert_bytes(got, 2 * PAGE, 0);
	assert_int_equal(files_read(&f, file, 912 * PAGE, got, 1), 1);
	assert_int_equal(got[0], 1 + (456 + 1) % 200);
	quire_file_put(file);
	end(&f, &disk);
}

/* A file that is written in order to an empty disk lies in one run. */
static void test_contiguous(void **state)
{
	static uint8_t data[64 * PAGE];
	struct quire_file *file;
	struct files_disk disk;
	struct files f;

	(void)state;
	start(&f, &disk, SIM_X86_64, 200);
	file = open_file(&f, "run", true);
	assert_int_equal(files_write(&f, file, 0, data, sizeof(data)), sizeof(data));
	quire_file_put(file);
	assert_int_equal(quire_fs_sync(f.fs), 0);
	assert_int_equal(diskfs_get32(disk.data + PAGE + DISKFS_INODE_EXTENTS), 1);
	assert_int_equal(diskfs_get32(disk.data + PAGE + DISKFS_INODE_EXTENT + 8), 64);
	end(&f, &disk);
}

/*
 * What was stored behind the end of the file through a mapping does not come to light when the file
 * grows.
 */
static void test_beyond_the_end(void **state)
{
	struct quire_file *file;
	struct files_disk disk;
	uintptr_t va = 0;
	uint8_t got[PAGE];
	struct files f;

	(void)state;
	start(&f, &disk, SIM_PARISC, 64);
	file = open_file(&f, "tail", true);
	assert_int_equal(files_write(&f, file, 0, "0123456789", 10), 10);
	assert_int_equal(quire_mmap(f.space, &va, PAGE, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
				    QUIRE_MAP_SHARED, file, 0, true),
			 0);
	simulated_user_write(&f.s, va + 5, "beyond the end", 14);
	assert_int_equal(quire_msync(f.space, va, PAGE, QUIRE_MS_SYNC), 0);
	assert_int_equal(quire_munmap(f.space, va, PAGE), 0);
	quire_file_put(file);
	remount(&f, &disk);
	file = open_file(&f, "tail", false);
	assert_int_equal(quire_truncate(file, PAGE), 0);
	assert_int_equal(files_read(&f, file, 0, got, PAGE), PAGE);
	assert_memory_equal(got, "01234beyon", 10);
	assert_bytes(got + 10, PAGE - 10, 0);
	quire_file_put(file);
	end(&f, &disk);
}

/* --- Space ------------------------------------------------------------------------------------ */

/*
 * What write() accepted can be written back, down to the last block; what is removed can be used
 * again.
 */
static void test_no_space(void **state)
{
	static uint8_t data[80 * PAGE], got[80 * PAGE];
	struct quire_file *file;
	struct files_disk disk;
	int64_t first = 0;
	struct files f;

	(void)state;
	memset(data, 's', sizeof(data));
	start(&f, &disk, SIM_X86_64, 66);
	for (unsigned round = 0; round < 4; round++) {
		int64_t wrote;

		file = open_file(&f, "full", true);
		wrote = files_write(&f, file, 0, data, sizeof(data));
		if (!round)
			first = wrote;
		assert_true(wrote >= 60 * (int64_t)PAGE && wrote < (int64_t)sizeof(data));
		assert_int_equal(wrote, first);
		assert_int_equal(files_write(&f, file, (uint64_t)wrote, data, PAGE), -QUIRE_ENOSPC);
		assert_int_equal(files_write(&f, file, 0, data, 10 * PAGE), 10 * PAGE);
		assert_int_equal(quire_fsync(file), 0);
		quire_file_put(file);
		remount(&f, &disk);
		file = open_file(&f, "full", false);
		assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), wrote);
		assert_memory_equal(got, data, (size_t)wrote);
		if (round & 1) {
			assert_int_equal(quire_fs_unlink(f.fs, "full"), 0);
			assert_int_equal(files_read(&f, file, 0, got, PAGE), PAGE);
		} else {
			assert_int_equal(quire_truncate(file, 0), 0);
		}
		quire_file_put(file);
	}
	end(&f, &disk);
}

/*
 * Single pages with holes between: map blocks are needed too, and are there for all that was
 * accepted.
 */
static void test_no_space_for_maps(void **state)
{
	struct quire_file *file;
	struct files_disk disk;
	uint64_t accepted = 0;
	uint8_t got;
	struct files f;

	(void)state;
	start(&f, &disk, SIM_X86_64, 66);
	file = open_file(&f, "sparse", true);
	while (files_write(&f, file, accepted * 3 * PAGE, "x", 1) == 1)
		accepted++;
	assert_in_range(accepted, 50, 64);
	quire_file_put(file);
	remount(&f, &disk);
	file = open_file(&f, "sparse", false);
	for (uint64_t n = 0; n < accepted; n++) {
		assert_int_equal(files_read(&f, file, n * 3 * PAGE, &got, 1), 1);
		assert_int_equal(got, 'x');
	}
	quire_file_put(file);
	end(&f, &disk);
}

static void test_inodes_run_out(void **state)
{
	struct quire_file *file;
	struct files_disk disk;
	char name[2] = "a";
	struct files f;

	(void)state;
	start(&f, &disk, SIM_X86_64, 64);
	for (unsigned n = 0; n < DISKFS_INODES_A_BLOCK; n++, name[0]++)
		quire_file_put(open_file(&f, name, true));
	assert_int_equal(quire_fs_open(f.fs, name, true, &file), -QUIRE_ENOSPC);
	assert_int_equal(quire_fs_unlink(f.fs, "c"), 0);
	quire_file_put(open_file(&f, name, true));
	remount(&f, &disk);
	assert_int_equal(quire_fs_open(f.fs, "c", false, &file), -QUIRE_ENOENT);
	quire_file_put(open_file(&f, name, false));
	end(&f, &disk);
}

/* --- Damage ----------------------------------------------------------------------------------- */

static void test_no_file_system(void **state)
{
	struct files_disk disk;
	struct files f;
	int error;

	(void)state;
	files_start(&f, SIM_X86_64, NULL);
	files_disk_start(&disk, &f, 64);
	assert_null(quire_diskfs_mount(f.s.q, &disk.device, false, &error));
	assert_int_equal(error, -QUIRE_EINVAL);
	disk.device.blocks = DISKFS_BLOCKS_MIN - 1;
	assert_null(quire_diskfs_mount(f.s.q, &disk.device, true, &error));
	assert_int_equal(error, -QUIRE_ENOSPC);
	/* Made for 64 blocks, found on a device of 63. */
	disk.device.blocks = 64;
	mount(&f, &disk, true);
	assert_int_equal(quire_fs_unmount(f.fs), 0);
	disk.device.blocks = 63;
	assert_null(quire_diskfs_mount(f.s.q, &disk.device, false, &error));
	assert_int_equal(error, -QUIRE_EINVAL);
	files_disk_end(&disk);
	files_end(&f);
}

/*
 * A disk of 64 blocks: superblock, one block of inodes with two files in it, one of which has a map
 * block.
 */
static void make_image(struct files *f, struct files_disk *disk)
{
	struct quire_file *file;

	start(f, disk, SIM_X86_64, 64);
	file = open_file(f, "one", true);
	assert_int_equal(files_write(f, file, 0, "contents of one", 15), 15);
	quire_file_put(file);
	file = open_file(f, "two", true);
	for (unsigned n = 0; n < 20; n++)
		assert_int_equal(files_write(f, file, n * 2 * PAGE, "two", 3), 3);
	quire_file_put(file);
	assert_int_equal(quire_fs_unmount(f->fs), 0);
}

/*
 * Mounts what is there: an error that says so, or a file system whose files can be read, written
 * and removed.
 */
static int try_image(struct files *f, struct files_disk *disk)
{
	static const char *const names[] = {"one", "two"};
	static uint8_t got[3 * PAGE];
	int error;

	f->fs = quire_diskfs_mount(f->s.q, &disk->device, false, &error);
	if (!f->fs) {
		assert_int_equal(error, -QUIRE_EINVAL);
		return error;
	}
	for (unsigned n = 0; n < 2; n++) {
		struct quire_file *file;
		int found = quire_fs_open(f->fs, names[n], false, &file);

		assert_true(found == 0 || found == -QUIRE_ENOENT);
		if (found)
			continue;
		assert_true(files_read(f, file, 0, got, sizeof(got)) >= 0);
		files_write(f, file, PAGE, "again", 5);
		quire_file_put(file);
		assert_int_equal(quire_fs_unlink(f->fs, names[n]), 0);
	}
	assert_int_equal(quire_fs_unmount(f->fs), 0);
	f->fs = quire_diskfs_mount(f->s.q, &disk->device, false, &error);
	assert_non_null(f->fs);
	assert_int_equal(quire_fs_unmount(f->fs), 0);
	return 0;
}

/*
 * Every byte of superblock and inode table changed: with the checksums as they are all of it is
 * found.
 */
static void test_flipped_bytes(void **state)
{
	uint8_t *image = malloc(64 * PAGE);
	struct files_disk disk;
	struct files f;

	(void)state;
	assert_non_null(image);
	make_image(&f, &disk);
	memcpy(image, disk.data, 64 * PAGE);
	for (size_t n = 0; n < 2 * PAGE; n++) {
		int error;

		disk.data[n] ^= (uint8_t)(1 << n % 8);
		assert_null(quire_diskfs_mount(f.s.q, &disk.device, false, &error));
		assert_int_equal(error, -QUIRE_EINVAL);
		disk.data[n] = image[n];
	}
	assert_int_equal(try_image(&f, &disk), 0);
	free(image);
	files_disk_end(&disk);
	files_end(&f);
}

static void reseal(uint8_t *at, size_t bytes)
{
	diskfs_put32(at, crc_by_bits(at + 4, bytes - 4));
}

/* The seal of whatever record byte `n` of the image is in. */
static void reseal_around(uint8_t *image, size_t n)
{
	if (n / PAGE == 1)
		reseal(image + n / DISKFS_INODE_BYTES * DISKFS_INODE_BYTES, DISKFS_INODE_BYTES);
	else
		reseal(image + n / PAGE * PAGE, PAGE);
}

/* The same with checksums made to fit: now every value has to be looked at. */
static void test_forged_bytes(void **state)
{
	uint8_t *image = malloc(64 * PAGE);
	unsigned accepted = 0, refused = 0;
	struct files_disk disk;
	size_t map_block;
	struct files f;

	(void)state;
	assert_non_null(image);
	make_image(&f, &disk);
	memcpy(image, disk.data, 64 * PAGE);
	map_block = diskfs_get32(image + PAGE + DISKFS_INODE_BYTES + DISKFS_INODE_MAP);
	assert_in_range(map_block, 2, 63);
	for (unsigned round = 0; round < 3; round++) {
		for (size_t at = 0; at < 3 * 600; at++) {
			/*
			 * Superblock, the two inodes and a free one, and the map block: what is not
			 * zeros.
			 */
			size_t place = at < 600    ? at % 64
				       : at < 1200 ? PAGE + (at - 600)
						   : map_block * PAGE + at % 200;

			disk.data[place] = (uint8_t)(round == 0   ? disk.data[place] ^ 1
						     : round == 1 ? 0xff
								  : disk.data[place] + 1);
			reseal_around(disk.data, place);
			if (try_image(&f, &disk))
				refused++;
			else
				accepted++;
			memcpy(disk.data, image, 64 * PAGE);
		}
	}
	/* Times and names may be anything; sizes, counts and pointers may not. */
	assert_true(accepted > 100 && refused > 1000);
	free(image);
	files_disk_end(&disk);
	files_end(&f);
}

/* Forgeries aimed at one check each. */
static void test_forged_values(void **state)
{
	static const struct {
		size_t at; /* in the inode of "two" */
		uint32_t value;
	} forged[] = {
		{DISKFS_INODE_EXTENTS, UINT32_MAX},    /* more extents than blocks */
		{DISKFS_INODE_EXTENTS, 12},            /* a map block that is not needed */
		{DISKFS_INODE_EXTENTS, 40},            /* extents of zeros */
		{DISKFS_INODE_MAP, 0},                 /* the superblock as map block */
		{DISKFS_INODE_MAP, 64},                /* beyond the end */
		{DISKFS_INODE_EXTENT, 2},              /* overlaps the next extent */
		{DISKFS_INODE_EXTENT + 4, 1},          /* in the inode table */
		{DISKFS_INODE_EXTENT + 4, UINT32_MAX}, /* beyond the end, and wraps */
		{DISKFS_INODE_EXTENT + 8, 0},          /* empty */
		{DISKFS_INODE_EXTENT + 8, UINT32_MAX}, /* wraps */
		{DISKFS_INODE_SIZE, PAGE},             /* extents beyond the size */
		{DISKFS_INODE_SIZE + 4, UINT32_MAX},   /* negative */
		{DISKFS_INODE_KIND, 2},
		{DISKFS_INODE_KIND, 0}, /* free, but not empty */
		{DISKFS_INODE_ZERO, 1},
		{DISKFS_INODE_NAME, 0}, /* no name, then more */
	};
	struct files_disk disk;
	uint8_t *inode, *one;
	struct files f;
	int error;

	(void)state;
	make_image(&f, &disk);
	one = disk.data + PAGE;
	inode = one + DISKFS_INODE_BYTES;
	for (unsigned n = 0; n < sizeof(forged) / sizeof(forged[0]); n++) {
		uint32_t before = diskfs_get32(inode + forged[n].at);

		diskfs_put32(inode + forged[n].at, forged[n].value);
		reseal(inode, DISKFS_INODE_BYTES);
		assert_null(quire_diskfs_mount(f.s.q, &disk.device, false, &error));
		assert_int_equal(error, -QUIRE_EINVAL);
		diskfs_put32(inode + forged[n].at, before);
		reseal(inode, DISKFS_INODE_BYTES);
	}
	/* One block in two files. */
	diskfs_put32(one + DISKFS_INODE_EXTENT + 4, diskfs_get32(inode + DISKFS_INODE_EXTENT + 4));
	reseal(one, DISKFS_INODE_BYTES);
	assert_null(quire_diskfs_mount(f.s.q, &disk.device, false, &error));
	assert_int_equal(error, -QUIRE_EINVAL);
	files_disk_end(&disk);
	files_end(&f);
}

/* --- Power cuts, errors, refused memory ------------------------------------------------------- */

/* Just enough for the work below: blocks that one file gives up the other must take. */
#define WORK_BLOCKS 36

/* Is every byte of the file one of `allowed` (or zero)? */
static void assert_only(struct files *f, struct quire_file *file, const char *allowed)
{
	static uint8_t got[64 * PAGE];
	int64_t bytes = files_read(f, file, 0, got, sizeof(got));

	assert_true(bytes >= 0);
	for (int64_t n = 0; n < bytes; n++)
		assert_true(!got[n] || strchr(allowed, got[n]));
}

static int fill(struct files *f, struct quire_file *file, uint64_t page, unsigned pages, char with)
{
	static uint8_t data[32 * PAGE];

	memset(data, with, sizeof(data));
	return files_write(f, file, page * PAGE, data, pages * PAGE) == (int64_t)(pages * PAGE)
		       ? 0
		       : -QUIRE_EIO;
}

/*
 * Work on two files that moves blocks from one to the other. *synced: what the first fsync promised
 * holds.
 */
static void work(struct files *f, bool *synced)
{
	struct quire_file *a, *b;

	*synced = false;
	if (quire_fs_open(f->fs, "a", true, &a))
		return;
	if (!fill(f, a, 0, 20, 'A') && !quire_fsync(a))
		*synced = true;
	for (unsigned n = 0; n < 20; n += 2)
		quire_punch(a, n * PAGE, PAGE);
	if (!quire_fs_open(f->fs, "b", true, &b)) {
		/* What "b" gets may not be what the inode of "a" on the disk still names. */
		fill(f, b, 0, 15, 'B');
		quire_fsync(b);
		quire_fs_sync(f->fs);
		quire_file_put(b);
		quire_fs_unlink(f->fs, "b");
	}
	fill(f, a, 0, 30, 'a');
	quire_fs_sync(f->fs);
	quire_truncate(a, 3 * PAGE + 10);
	if (!quire_fs_open(f->fs, "b", true, &b)) {
		fill(f, b, 5, 25, 'b');
		quire_fsync(b);
		quire_file_put(b);
	}
	quire_fs_sync(f->fs);
	quire_file_put(a);
}

/* Mounts what a power cut left: each file shows nothing but its own. */
static void assert_mounts(struct files *f, struct files_disk *disk, bool synced)
{
	struct quire_file *file;

	mount(f, disk, false);
	if (synced)
		assert_int_equal(quire_fs_open(f->fs, "a", false, &file), 0);
	if (!quire_fs_open(f->fs, "a", false, &file)) {
		assert_only(f, file, "Aa");
		quire_file_put(file);
		if (synced)
			quire_file_put(file);
	}
	if (!quire_fs_open(f->fs, "b", false, &file)) {
		assert_only(f, file, "Bb");
		quire_file_put(file);
	}
	assert_int_equal(quire_fs_unmount(f->fs), 0);
}

static void test_power_cuts(void **state)
{
	uint8_t *left = malloc(WORK_BLOCKS * PAGE);
	long writes = 0;

	(void)state;
	assert_non_null(left);
	for (long cut = 0; cut <= writes; cut++) {
		struct files_disk disk;
		struct files f;
		bool synced;

		start(&f, &disk, cut & 1 ? SIM_ARMV7 : SIM_PARISC, WORK_BLOCKS);
		disk.writes = 0;
		disk.cut_after = cut;
		work(&f, &synced);
		if (disk.writes == cut)
			writes = cut + 1;
		memcpy(left, disk.data, WORK_BLOCKS * PAGE);
		/*
		 * The machine itself goes on, for this test only, so that it can be ended; the disk
		 * is what was left.
		 */
		disk.cut_after = -1;
		assert_int_equal(quire_fs_unmount(f.fs), 0);
		memcpy(disk.data, left, WORK_BLOCKS * PAGE);
		assert_mounts(&f, &disk, synced);
		files_disk_end(&disk);
		files_end(&f);
	}
	assert_true(writes > 60);
	free(left);
}

/*
 * An error of the device at each transfer: reported, nothing leaks, and the disk mounts afterwards.
 */
static void test_io_errors(void **state)
{
	long transfers = 0;

	(void)state;
	for (long fail = 0; fail <= transfers; fail++) {
		struct files_disk disk;
		struct files f;
		bool synced;

		start(&f, &disk, SIM_X86_64, WORK_BLOCKS);
		disk.transfers = 0;
		disk.fail_after = fail;
		work(&f, &synced);
		if (disk.transfers == fail)
			transfers = fail + 1;
		assert_int_equal(synced, fail >= 2 + 20 + 2);
		disk.fail_after = -1;
		assert_int_equal(quire_fs_unmount(f.fs), 0);
		assert_mounts(&f, &disk, synced);
		files_disk_end(&disk);
		files_end(&f);
	}
	assert_true(transfers > 60);
}

static void test_refused_records(void **state)
{
	bool reached = true;

	(void)state;
	for (long refused = 0; reached; refused++) {
		struct files_disk disk;
		struct files f;
		bool synced = false;
		int error;

		files_start(&f, SIM_X86_64, NULL);
		files_disk_start(&disk, &f, WORK_BLOCKS);
		f.s.fail_after = refused;
		f.fs = quire_diskfs_mount(f.s.q, &disk.device, true, &error);
		if (f.fs)
			work(&f, &synced);
		else
			assert_int_equal(error, -QUIRE_ENOMEM);
		reached = f.s.fail_after < 0;
		f.s.fail_after = -1;
		if (f.fs) {
			assert_int_equal(quire_fs_unmount(f.fs), 0);
			f.s.fail_after = refused % 8;
			f.fs = quire_diskfs_mount(f.s.q, &disk.device, false, &error);
			f.s.fail_after = -1;
			if (f.fs)
				assert_int_equal(quire_fs_unmount(f.fs), 0);
			assert_mounts(&f, &disk, synced);
		}
		files_disk_end(&disk);
		files_end(&f);
	}
}

/* --- DMA -------------------------------------------------------------------------------------- */

/*
 * Violations that the witness saw while a file was written and read on this machine, with the
 * maintenance of one site left out. `speculate`: the CPU loads lines while it waits for a device.
 */
static uint64_t violations(enum sim_isa isa, enum quire_site drop, bool speculate)
{
	static uint8_t got[4 * PAGE];
	struct quire_file *file;
	struct files_disk disk;
	struct files f;
	uint64_t seen;

	start(&f, &disk, isa, 100);
	f.s.drop = drop;
	disk.speculate = speculate;
	file = open_file(&f, "dma", true);
	for (unsigned n = 0; n < 4; n++)
		assert_int_equal(fill(&f, file, n, 1, (char)('a' + n)), 0);
	assert_int_equal(quire_fsync(file), 0);
	/* Frames come back in another order, so what is in one is not what is read into it. */
	quire_reclaim(f.s.q, 100);
	assert_int_equal(files_read(&f, file, 0, got, sizeof(got)), sizeof(got));
	seen = sim_violations(f.s.sim);
	quire_file_put(file);
	f.s.drop = QUIRE_SITE_COUNT;
	quire_fs_unmount(f.fs);
	files_disk_end(&disk);
	simulated_load(&f.s, NULL);
	quire_space_destroy(f.space);
	simulated_end(&f.s);
	return seen;
}

static void test_dma(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(violations(isas[n], QUIRE_SITE_COUNT, false), 0);
		assert_int_equal(violations(isas[n], QUIRE_SITE_COUNT, true), 0);
	}
	/* Without the clean a device that is not coherent reads what was there before. */
	assert_true(violations(SIM_ARMV7, QUIRE_SITE_DMA_TO_DEVICE, false) > 0);
	assert_true(violations(SIM_PARISC, QUIRE_SITE_DMA_TO_DEVICE, false) > 0);
	assert_int_equal(violations(SIM_X86_64, QUIRE_SITE_DMA_TO_DEVICE, false), 0);
	/* Lines that came during the transfer are older than what the device wrote. */
	assert_true(violations(SIM_ARMV7, QUIRE_SITE_DMA_FROM_DEVICE_DONE, true) > 0);
	assert_true(violations(SIM_PARISC, QUIRE_SITE_DMA_FROM_DEVICE_DONE, true) > 0);
	assert_int_equal(violations(SIM_X86_64, QUIRE_SITE_DMA_FROM_DEVICE_DONE, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remount),           cmocka_unit_test(test_model),
		cmocka_unit_test(test_many_extents),      cmocka_unit_test(test_contiguous),
		cmocka_unit_test(test_beyond_the_end),    cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_no_space_for_maps), cmocka_unit_test(test_inodes_run_out),
		cmocka_unit_test(test_no_file_system),    cmocka_unit_test(test_flipped_bytes),
		cmocka_unit_test(test_forged_bytes),      cmocka_unit_test(test_forged_values),
		cmocka_unit_test(test_power_cuts),        cmocka_unit_test(test_io_errors),
		cmocka_unit_test(test_refused_records),   cmocka_unit_test(test_dma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
