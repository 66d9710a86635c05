/*
 * The inside of the file systems: what ramfs, tmpfs and diskfs share.
 *
 * A file system is a struct quire_fs with a table of calls and one flat table of names. The table
 * holds a reference to every named file, so a file (and its page cache) lives until its name is
 * removed and its last user is gone, whether or not anybody has it open in between.
 *
 * LOCKS. fs->names (a lock held over I/O of the file system's own records) comes after space->areas
 * and before file->shape in the order of mm/mm.h. A file system's own locks come after the page
 * lock, since its page operations run under that. release() runs wherever a last reference is
 * dropped, under space->areas too, and so never takes fs->names.
 */
#ifndef QUIRE_FS_FS_H
#define QUIRE_FS_FS_H

#include "mm/mm.h"
#include <quire/fs.h>

#define QUIRE_FS_BUCKETS 64

/* Embedded as first member in each file system's own file. */
struct quire_fs_file {
	struct quire_file file;
	struct quire_fs *fs;
	struct quire_list link; /* in fs->names; empty when the name is gone */
	size_t record_bytes;    /* of the record that this is the start of */
	bool symlink;
	char name[QUIRE_NAME_BYTES + 1];
};

struct quire_fs_ops {
	/* Makes an empty file with refs 1, which becomes the reference of the name table. */
	int (*create)(struct quire_fs *fs, const char *name, struct quire_fs_file **file);
	/* The name is about to go. Optional. */
	int (*unlink)(struct quire_fs *fs, struct quire_fs_file *file);
	/*
	 * A symlink, as create; and its target, `file->bytes` bytes and a terminator. Optional,
	 * together.
	 */
	int (*symlink)(struct quire_fs *fs, const char *name, const char *target, size_t bytes,
		       struct quire_fs_file **file);
	int (*readlink)(struct quire_fs_file *file, char *target);
	/* Frees the record of the file system, whose files are gone. */
	void (*destroy)(struct quire_fs *fs);
};

struct quire_fs {
	struct quire *quire;
	const struct quire_fs_ops *ops;
	struct quire_lock names_lock;
	struct quire_list names[QUIRE_FS_BUCKETS];
	struct quire_atomic files; /* records alive, named or not */
};

/* `fs` is a zeroed record. */
void quire_fs_init(struct quire *q, struct quire_fs *fs, const struct quire_fs_ops *ops);

/*
 * A zeroed record of `bytes` bytes that starts with a struct quire_fs_file, initialised.
 * QUIRE_ENOMEM.
 */
int quire_fs_file_new(struct quire_fs *fs, size_t bytes, const char *name,
		      const struct quire_file_ops *ops, struct quire_fs_file **file);
/* The other way: for release(), and for a file that failed on the way. */
void quire_fs_file_free(struct quire_fs_file *file);

/*
 * The file of that name, without a reference, or NULL; and a new name. fs->names_lock is held (or
 * nobody knows fs yet).
 */
struct quire_fs_file *quire_fs_find(struct quire_fs *fs, const char *name);
void quire_fs_add(struct quire_fs *fs, struct quire_fs_file *file);

/*
 * Drops every name and its reference; each must be the last. For unmount and for a mount that
 * failed.
 */
void quire_fs_drop_all(struct quire_fs *fs);

static inline struct quire_fs_file *quire_fs_file_of(struct quire_file *file)
{
	return quire_container(file, struct quire_fs_file, file);
}

/* --- Pages, for write_begin and write_end --------------------------------------------------------
 *
 * The pages of a folio each have their own flags, up to date among them; so a file system defines
 * them one by one and need not know of folios.
 */

/* Where in its page `offset` of a file lies. */
static inline size_t quire_fs_page_offset(uint64_t offset)
{
	return (size_t)(offset & QUIRE_PAGE_MASK);
}

/* Clears the page but for [from, to). */
void quire_fs_clear_around(struct quire *q, struct quire_page *page, size_t from, size_t to);

/* All of the page (locked) is defined now. */
void quire_fs_set_uptodate(struct quire *q, struct quire_page *page);

#endif
