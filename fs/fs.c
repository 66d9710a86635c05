/*
 * What all file systems have in common: the public calls, and the flat table of names behind them.
 *
 * The table is a hash of lists under one lock. It is touched by open, unlink and symlink only;
 * reads, writes and faults go through files and never come here.
 */
#include "fs/fs.h"

static size_t name_length(const char *name, size_t bytes_max)
{
	size_t length = 0;

	while (length <= bytes_max && name[length])
		length++;
	return length;
}

static bool name_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Which list a name is in: FNV-1a, folded. */
static unsigned name_bucket(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return (hash ^ hash >> 16) & (QUIRE_FS_BUCKETS - 1);
}

static int name_check(const char *name)
{
	size_t length = name_length(name, QUIRE_NAME_BYTES);

	if (!length)
		return -QUIRE_ENOENT;
	return length > QUIRE_NAME_BYTES ? -QUIRE_ENAMETOOLONG : 0;
}

void quire_fs_init(struct quire *q, struct quire_fs *fs, const struct quire_fs_ops *ops)
{
	fs->quire = q;
	fs->ops = ops;
	quire_lock_init(&fs->names_lock);
	quire_atomic_init(&fs->files, 0);
	for (unsigned n = 0; n < QUIRE_FS_BUCKETS; n++)
		quire_list_init(&fs->names[n]);
}

int quire_fs_file_new(struct quire_fs *fs, size_t bytes, const char *name,
		      const struct quire_file_ops *ops, struct quire_fs_file **file)
{
	struct quire_fs_file *made = quire_new(fs->quire, bytes);
	size_t length = name_length(name, QUIRE_NAME_BYTES);
	int error;

	if (!made)
		return -QUIRE_ENOMEM;
	error = quire_file_init(fs->quire, &made->file, ops);
	if (error) {
		quire_delete(fs->quire, made, bytes);
		return error;
	}
	made->fs = fs;
	made->record_bytes = bytes;
	quire_list_init(&made->link);
	for (size_t n = 0; n < length; n++)
		made->name[n] = name[n];
	quire_atomic_add(&fs->files, 1);
	*file = made;
	return 0;
}

void quire_fs_file_free(struct quire_fs_file *file)
{
	struct quire_fs *fs = file->fs;

	quire_file_destroy(&file->file);
	quire_delete(fs->quire, file, file->record_bytes);
	quire_atomic_add(&fs->files, (uint32_t)-1);
}

struct quire_fs_file *quire_fs_find(struct quire_fs *fs, const char *name)
{
	struct quire_list *head = &fs->names[name_bucket(name)];

	for (struct quire_list *l = head->next; l != head; l = l->next) {
		struct quire_fs_file *file = quire_container(l, struct quire_fs_file, link);

		if (name_equal(file->name, name))
			return file;
	}
	return NULL;
}

void quire_fs_add(struct quire_fs *fs, struct quire_fs_file *file)
{
	quire_list_add(&fs->names[name_bucket(file->name)], &file->link);
}

int quire_fs_open(struct quire_fs *fs, const char *name, bool create, struct quire_file **file)
{
	struct quire_fs_file *found;
	int error = name_check(name);

	if (error)
		return error;
	quire_lock(fs->quire, &fs->names_lock);
	found = quire_fs_find(fs, name);
	if (!found && create) {
		error = fs->ops->create(fs, name, &found);
		if (!error)
			quire_fs_add(fs, found);
	} else if (!found) {
		error = -QUIRE_ENOENT;
	} else if (found->symlink) {
		error = -QUIRE_EINVAL;
	}
	if (!error) {
		quire_file_get(&found->file);
		*file = &found->file;
	}
	quire_unlock(fs->quire, &fs->names_lock);
	return error;
}

int quire_fs_unlink(struct quire_fs *fs, const char *name)
{
	struct quire_fs_file *file;
	int error = name_check(name);

	if (error)
		return error;
	quire_lock(fs->quire, &fs->names_lock);
	file = quire_fs_find(fs, name);
	if (!file)
		error = -QUIRE_ENOENT;
	else if (fs->ops->unlink)
		error = fs->ops->unlink(fs, file);
	if (!error)
		quire_list_remove(&file->link);
	quire_unlock(fs->quire, &fs->names_lock);
	/* The table's reference: perhaps the last, so dropped without its lock. */
	if (!error)
		quire_file_put(&file->file);
	return error;
}

int quire_fs_symlink(struct quire_fs *fs, const char *name, const char *target)
{
	size_t bytes = name_length(target, QUIRE_TARGET_BYTES);
	struct quire_fs_file *file;
	int error = name_check(name);

	if (!fs->ops->symlink)
		return -QUIRE_ENOTSUP;
	if (error)
		return error;
	if (!bytes)
		return -QUIRE_EINVAL;
	if (bytes > QUIRE_TARGET_BYTES)
		return -QUIRE_ENAMETOOLONG;
	quire_lock(fs->quire, &fs->names_lock);
	if (quire_fs_find(fs, name))
		error = -QUIRE_EEXIST;
	else
		error = fs->ops->symlink(fs, name, target, bytes, &file);
	if (!error)
		quire_fs_add(fs, file);
	quire_unlock(fs->quire, &fs->names_lock);
	return error;
}

int quire_fs_readlink(struct quire_fs *fs, const char *name, char *target)
{
	struct quire_fs_file *file;
	int error = name_check(name);

	if (!fs->ops->readlink)
		return -QUIRE_ENOTSUP;
	if (error)
		return error;
	quire_lock(fs->quire, &fs->names_lock);
	file = quire_fs_find(fs, name);
	if (!file)
		error = -QUIRE_ENOENT;
	else if (!file->symlink)
		error = -QUIRE_EINVAL;
	else
		quire_file_get(&file->file);
	quire_unlock(fs->quire, &fs->names_lock);
	if (error)
		return error;
	error = fs->ops->readlink(file, target);
	quire_file_put(&file->file);
	return error;
}

/*
 * The names stay locked: no file comes or goes meanwhile, and all locks that writing takes are
 * later in the order. One file that cannot be written does not keep the others from it.
 */
int quire_fs_sync(struct quire_fs *fs)
{
	int result = 0;

	quire_lock(fs->quire, &fs->names_lock);
	for (unsigned n = 0; n < QUIRE_FS_BUCKETS; n++) {
		struct quire_list *head = &fs->names[n];

		for (struct quire_list *l = head->next; l != head; l = l->next) {
			struct quire_file *file =
				&quire_container(l, struct quire_fs_file, link)->file;
			int error = file->ops->write_page ? quire_fsync(file) : 0;

			if (error && !result)
				result = error;
		}
	}
	quire_unlock(fs->quire, &fs->names_lock);
	return result;
}

/* Has some file a user besides the table, or no name any more and still a user? */
static bool busy(struct quire_fs *fs)
{
	uint32_t named = 0;
	bool used = false;

	quire_lock(fs->quire, &fs->names_lock);
	for (unsigned n = 0; n < QUIRE_FS_BUCKETS; n++) {
		struct quire_list *head = &fs->names[n];

		for (struct quire_list *l = head->next; l != head; l = l->next) {
			struct quire_fs_file *file = quire_container(l, struct quire_fs_file, link);

			used = used || quire_atomic_read(&file->file.refs) > 1;
			named++;
		}
	}
	used = used || named != quire_atomic_read(&fs->files);
	quire_unlock(fs->quire, &fs->names_lock);
	return used;
}

void quire_fs_drop_all(struct quire_fs *fs)
{
	for (unsigned n = 0; n < QUIRE_FS_BUCKETS; n++) {
		while (!quire_list_empty(&fs->names[n])) {
			struct quire_list *l = fs->names[n].next;

			quire_list_remove(l);
			quire_file_put(&quire_container(l, struct quire_fs_file, link)->file);
		}
	}
}

int quire_fs_unmount(struct quire_fs *fs)
{
	int error;

	if (busy(fs))
		return -QUIRE_EBUSY;
	error = quire_fs_sync(fs);
	if (error)
		return error;
	quire_fs_drop_all(fs);
	fs->ops->destroy(fs);
	return 0;
}

void quire_fs_clear_around(struct quire *q, struct quire_page *page, size_t from, size_t to)
{
	if (from)
		quire_page_clear(q, page, 0, from);
	if (to < QUIRE_PAGE_BYTES)
		quire_page_clear(q, page, to, QUIRE_PAGE_BYTES - to);
}

void quire_fs_set_uptodate(struct quire *q, struct quire_page *page)
{
	quire_step(q, QUIRE_STEP_FLAG);
	quire_atomic_or(&page->flags, QUIRE_PAGE_UPTODATE);
}
