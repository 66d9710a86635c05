/*
 * tmpfs: files in the page cache, with an account of the pages they hold, preallocation, and
 * symlinks.
 *
 * THE PROBLEM. A page that write() asks for is about to be overwritten, so clearing it first is
 * work for nothing; but a page that is neither cleared nor wholly overwritten shows what its former
 * owner left in it.
 *
 * THE IDEA. QUIRE_PAGE_UPTODATE means that all of the page is defined, and only a page that has it
 * is ever read, mapped or written back. A page comes into the cache without it, whatever asked for
 * it (write, fault, read of a hole, allocate), and each path has one place that defines all of the
 * page and then sets the flag:
 *   read_page            faults, reads, all inside the memory manager: clears the whole page
 *   write_begin          policy `first`: clears the whole page
 *   write_end            policy `ends`: clears what the copy did not reach, before it and after it
 *   symlink              clears what the target does not reach
 * Between write_begin and write_end the page is locked and not up to date, so a read or a fault
 * waits for the lock and finds it defined. A copy of nothing defines nothing: the page stays
 * without the flag and the next path that wants it clears it. allocate defines nothing either: its
 * pages are cleared when they are used.
 *
 * INVARIANTS
 *   - Up to date implies CHARGED: a page is charged before it is defined, once, and uncharged as it
 *     leaves the cache. So the account is the number of pages held.
 *   - A page that is not CHARGED holds no data and nobody maps it: it may leave the cache when the
 *     charge fails.
 *   - There is no write_page: no page leaves but by truncate, punch or release.
 *
 * A hole that is read or faulted takes a page, and is charged for it, since a store through a
 * mapping may follow of which tmpfs is not told.
 */
#include "fs/fs.h"

struct tmpfs {
	struct quire_fs fs;
	uint32_t pages_max;        /* frames are named by 32 bits: no machine has more */
	struct quire_atomic pages; /* charged */
};

static struct tmpfs *tmpfs_of(struct quire_file *file)
{
	return quire_container(quire_fs_file_of(file)->fs, struct tmpfs, fs);
}

/* --- The account ------------------------------------------------------------------------------ */

/* Counts the page (locked) unless it was counted before. QUIRE_ENOSPC. */
static int charge(struct quire_file *file, struct quire_page *page)
{
	struct tmpfs *tmpfs = tmpfs_of(file);
	uint32_t held;

	if (quire_page_is(page, QUIRE_PAGE_CHARGED))
		return 0;
	quire_step(file->quire, QUIRE_STEP_TMPFS_ACCOUNT);
	do {
		held = quire_atomic_read(&tmpfs->pages);
		if (held >= tmpfs->pages_max)
			return -QUIRE_ENOSPC;
	} while (!quire_atomic_replace(&tmpfs->pages, held, held + 1));
	quire_atomic_or(&page->flags, QUIRE_PAGE_CHARGED);
	return 0;
}

static void tmpfs_page_removed(struct quire_file *file, struct quire_page *page)
{
	if (quire_atomic_clear(&page->flags, QUIRE_PAGE_CHARGED) & QUIRE_PAGE_CHARGED)
		quire_atomic_add(&tmpfs_of(file)->pages, (uint32_t)-1);
}

static void drop(struct quire_file *file, struct quire_page *page)
{
	quire_page_unlock(file->quire, page);
	quire_page_put(file->quire, page);
}

/*
 * Takes a page that holds nothing out of the cache again. One of a folio stays: its neighbours may
 * hold something.
 */
static void remove_undefined(struct quire_file *file, struct quire_page *page)
{
	if (!page->order)
		quire_cache_remove(file, page);
}

/* The page at `index`, charged, locked and with a reference. *fresh: it was not charged before. */
static int take(struct quire_file *file, uint64_t index, struct quire_page **page, bool *fresh)
{
	int error = quire_cache_grab(file, index, page);

	if (error)
		return error;
	*fresh = !quire_page_is(*page, QUIRE_PAGE_CHARGED);
	error = charge(file, *page);
	if (error) {
		remove_undefined(file, *page);
		drop(file, *page);
	}
	return error;
}

/* --- Reading and writing ---------------------------------------------------------------------- */

static void define_as_zeros(struct quire_file *file, struct quire_page *page)
{
	quire_page_clear(file->quire, page, 0, QUIRE_PAGE_BYTES);
}

/*
 * A hole, or a page that allocate put there. A page that cannot be charged leaves the cache again,
 * or reading would fill memory beyond the bound.
 */
static int tmpfs_read_page(struct quire_file *file, struct quire_page *page)
{
	int error = charge(file, page);

	if (error) {
		remove_undefined(file, page);
		return error;
	}
	define_as_zeros(file, page);
	return 0;
}

static int tmpfs_write_begin(struct quire_file *file, uint64_t offset, size_t bytes,
			     struct quire_page **page)
{
	bool fresh;
	int error = take(file, offset >> QUIRE_PAGE_SHIFT, page, &fresh);

	(void)bytes;
	if (error)
		return error;
	if (file->quire->policy.tmpfs_clear == QUIRE_TMPFS_CLEAR_FIRST &&
	    !quire_page_is(*page, QUIRE_PAGE_UPTODATE)) {
		define_as_zeros(file, *page);
		quire_fs_set_uptodate(file->quire, *page);
	}
	return 0;
}

static int64_t tmpfs_write_end(struct quire_file *file, uint64_t offset, size_t bytes,
			       size_t copied, struct quire_page *page)
{
	if (copied && !quire_page_is(page, QUIRE_PAGE_UPTODATE)) {
		size_t from = quire_fs_page_offset(offset);

		quire_fs_clear_around(file->quire, page, from, from + copied);
		quire_fs_set_uptodate(file->quire, page);
	}
	return quire_file_write_end(file, offset, bytes, copied, page);
}

/* --- fallocate, punch ------------------------------------------------------------------------- */

/*
 * Takes back the pages first + n whose bit n is set, after a failure. One that was read, mapped or
 * written in the meantime is up to date, has a user who counts on it, and stays.
 */
static void allocate_undo(struct quire_file *file, uint64_t first, const uint32_t *added,
			  uint64_t pages)
{
	for (uint64_t n = 0; n < pages; n++) {
		struct quire_page *page;

		if (!(added[n >> 5] >> (n & 31) & 1))
			continue;
		page = quire_cache_find_locked(file, first + n);
		if (!page)
			continue;
		if (!quire_page_is(page, QUIRE_PAGE_UPTODATE))
			remove_undefined(file, page);
		drop(file, page);
	}
}

static int allocate_pages(struct quire_file *file, uint64_t first, uint64_t pages, uint32_t *added)
{
	for (uint64_t n = 0; n < pages; n++) {
		struct quire_page *page;
		bool fresh;
		int error = take(file, first + n, &page, &fresh);

		if (error) {
			allocate_undo(file, first, added, n);
			return error;
		}
		if (fresh)
			added[n >> 5] |= (uint32_t)1 << (n & 31);
		drop(file, page);
	}
	return 0;
}

/*
 * The pages of the range are in the cache and charged when this returns 0; they are defined when
 * they are used. The pages that were added are noted one by one, so that a failure takes away no
 * other.
 */
static int tmpfs_allocate(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset >> QUIRE_PAGE_SHIFT;
	uint64_t pages;
	uint32_t *added;
	size_t added_bytes;
	int error;

	if (!bytes)
		return -QUIRE_EINVAL;
	if (bytes > INT64_MAX || offset > INT64_MAX - bytes)
		return -QUIRE_EFBIG;
	pages = ((offset + bytes - 1) >> QUIRE_PAGE_SHIFT) - first + 1;
	if (pages > tmpfs_of(file)->pages_max)
		return -QUIRE_ENOSPC;
	added_bytes = (size_t)((pages + 31) >> 5) * sizeof(*added);
	added = quire_new(file->quire, added_bytes);
	if (!added)
		return -QUIRE_ENOMEM;
	error = allocate_pages(file, first, pages, added);
	quire_delete(file->quire, added, added_bytes);
	return error;
}

/* The pages of a hole are gone already, and page_removed has counted them. */
static int tmpfs_punch(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	(void)file;
	(void)offset;
	(void)bytes;
	return 0;
}

static void tmpfs_release(struct quire_file *file)
{
	quire_fs_file_free(quire_fs_file_of(file));
}

static const struct quire_file_ops file_ops = {
	.read_page = tmpfs_read_page,
	.write_begin = tmpfs_write_begin,
	.write_end = tmpfs_write_end,
	.allocate = tmpfs_allocate,
	.punch = tmpfs_punch,
	.page_removed = tmpfs_page_removed,
	.release = tmpfs_release,
};

/* --- Names ------------------------------------------------------------------------------------ */

static int tmpfs_create(struct quire_fs *fs, const char *name, struct quire_fs_file **file)
{
	return quire_fs_file_new(fs, sizeof(**file), name, &file_ops, file);
}

/*
 * The target is the file's first page. It is marked up to date once the target is in it: read back
 * through the page cache later it must be found, not made anew.
 */
static int write_target(struct quire_file *file, const char *target, size_t bytes)
{
	struct quire *q = file->quire;
	struct quire_page *page;
	bool fresh;
	int error = take(file, 0, &page, &fresh);

	if (error)
		return error;
	q->machine.port.write(q->machine.port.context, quire_page_address(q, page), target, bytes);
	quire_coherence_kernel_wrote(q, page);
	quire_fs_clear_around(q, page, 0, bytes);
	quire_fs_set_uptodate(q, page);
	quire_page_dirty(q, page);
	file->bytes = bytes;
	drop(file, page);
	return 0;
}

static int tmpfs_symlink(struct quire_fs *fs, const char *name, const char *target, size_t bytes,
			 struct quire_fs_file **file)
{
	int error = tmpfs_create(fs, name, file);

	if (error)
		return error;
	error = write_target(&(*file)->file, target, bytes);
	if (error) {
		quire_file_put(&(*file)->file);
		return error;
	}
	(*file)->symlink = true;
	return 0;
}

static int tmpfs_readlink(struct quire_fs_file *file, char *target)
{
	struct quire *q = file->file.quire;
	size_t bytes = (size_t)file->file.bytes;
	struct quire_page *page;
	int error = quire_cache_read(&file->file, 0, &page);

	if (error)
		return error;
	q->machine.port.read(q->machine.port.context, target, quire_page_address(q, page), bytes);
	target[bytes] = '\0';
	quire_page_put(q, page);
	return 0;
}

static void tmpfs_destroy(struct quire_fs *fs)
{
	struct tmpfs *tmpfs = quire_container(fs, struct tmpfs, fs);

	quire_require(fs->quire, quire_atomic_read(&tmpfs->pages) == 0);
	quire_delete(fs->quire, tmpfs, sizeof(*tmpfs));
}

static const struct quire_fs_ops fs_ops = {
	.create = tmpfs_create,
	.symlink = tmpfs_symlink,
	.readlink = tmpfs_readlink,
	.destroy = tmpfs_destroy,
};

struct quire_fs *quire_tmpfs_mount(struct quire *q, uint64_t pages_max, int *error)
{
	struct tmpfs *tmpfs = quire_new(q, sizeof(*tmpfs));

	*error = tmpfs ? 0 : -QUIRE_ENOMEM;
	if (!tmpfs)
		return NULL;
	quire_fs_init(q, &tmpfs->fs, &fs_ops);
	tmpfs->pages_max = pages_max && pages_max < UINT32_MAX ? (uint32_t)pages_max : UINT32_MAX;
	quire_atomic_init(&tmpfs->pages, 0);
	return &tmpfs->fs;
}
