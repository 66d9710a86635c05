/*
 * ramfs: files that live in the page cache and nowhere else, without bounds or accounts.
 *
 * The one idea: a page is never cleared where the write that made it is going to put bytes.
 * write_begin clears what the copy will not touch, before the copy; for a whole page that is
 * nothing. What a short copy then leaves out, write_end clears.
 */
#include "fs/fs.h"

/* A hole: zeros. */
static int ramfs_read_page(struct quire_file *file, struct quire_page *page)
{
	quire_page_clear(file->quire, page, 0, QUIRE_PAGE_BYTES);
	return 0;
}

static int ramfs_write_begin(struct quire_file *file, uint64_t offset, size_t bytes,
			     struct quire_page **page)
{
	int error = quire_cache_grab(file, offset >> QUIRE_PAGE_SHIFT, page);
	size_t from;

	if (error)
		return error;
	if (!quire_page_is(*page, QUIRE_PAGE_UPTODATE)) {
		from = quire_fs_page_offset(offset);
		quire_fs_clear_around(file->quire, *page, from, from + bytes);
	}
	return 0;
}

/*
 * With nothing copied the page stays as undefined as it was: not up to date, whoever wants it next
 * defines all of it.
 */
static int64_t ramfs_write_end(struct quire_file *file, uint64_t offset, size_t bytes,
			       size_t copied, struct quire_page *page)
{
	if (copied && !quire_page_is(page, QUIRE_PAGE_UPTODATE)) {
		if (copied < bytes)
			quire_page_clear(file->quire, page, quire_fs_page_offset(offset) + copied,
					 bytes - copied);
		quire_fs_set_uptodate(file->quire, page);
	}
	return quire_file_write_end(file, offset, bytes, copied, page);
}

/* The pages of a hole are gone already: there is no backing store beyond them. */
static int ramfs_punch(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	(void)file;
	(void)offset;
	(void)bytes;
	return 0;
}

static void ramfs_release(struct quire_file *file)
{
	quire_fs_file_free(quire_fs_file_of(file));
}

static const struct quire_file_ops file_ops = {
	.read_page = ramfs_read_page,
	.write_begin = ramfs_write_begin,
	.write_end = ramfs_write_end,
	.punch = ramfs_punch,
	.release = ramfs_release,
};

static int ramfs_create(struct quire_fs *fs, const char *name, struct quire_fs_file **file)
{
	return quire_fs_file_new(fs, sizeof(**file), name, &file_ops, file);
}

static void ramfs_destroy(struct quire_fs *fs)
{
	quire_delete(fs->quire, fs, sizeof(*fs));
}

static const struct quire_fs_ops fs_ops = {
	.create = ramfs_create,
	.destroy = ramfs_destroy,
};

struct quire_fs *quire_ramfs_mount(struct quire *q, int *error)
{
	struct quire_fs *fs = quire_new(q, sizeof(*fs));

	*error = fs ? 0 : -QUIRE_ENOMEM;
	if (fs)
		quire_fs_init(q, fs, &fs_ops);
	return fs;
}
