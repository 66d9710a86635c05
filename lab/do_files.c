/*
 * Statements about file systems and files, but for reading and writing.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/interpret.h"

#define DISK_BYTES_DEFAULT ((uint64_t)4 << 30)
#define DISK_BYTES_MAX     ((uint64_t)1 << 40)

enum { MOUNT_DISK, MOUNT_TMPFS, MOUNT_RAMFS };
enum { FILL_RANDOM, FILL_ZERO, FILL_NONE };

/* --- Mounting ------------------------------------------------------------------------- */

static struct quire_fs *open_fs(struct lab_run *run, const char *name, int kind, uint64_t bytes,
				int *error)
{
	struct quire_block_device disk;
	bool fresh;

	if (kind == MOUNT_RAMFS)
		return quire_ramfs_mount(run->world->quire, error);
	if (kind == MOUNT_TMPFS)
		return quire_tmpfs_mount(run->world->quire, bytes >> QUIRE_PAGE_SHIFT, error);
	disk = lab_world_disk(run->world, name,
			      (bytes ? bytes : DISK_BYTES_DEFAULT) >> QUIRE_PAGE_SHIFT, &fresh);
	return quire_diskfs_mount(run->world->quire, &disk, fresh, error);
}

bool lab_do_mount(struct lab_run *run, const struct lab_statement *s)
{
	const char *name = lab_text(run, s, "NAME");
	int kind = name ? lab_word(run, s, "KIND", -1) : -1;
	struct lab_mount *mount = name ? lab_find_mount(run, name) : NULL;
	struct quire_fs *fs;
	uint64_t bytes = 0;
	int error;

	if (kind < 0 || !lab_whole(run, s, "size", &bytes))
		return false;
	if (mount && mount->fs)
		return lab_raise(run, s->place, 0, "'%s' is mounted already", name);
	if (kind == MOUNT_RAMFS && lab_argument(s, "size"))
		return lab_raise(run, lab_argument(s, "size")->place, 0, "a ramfs has no size");
	if (bytes > DISK_BYTES_MAX)
		return lab_raise(run, lab_argument(s, "size")->place, 0, "size is at most 1T");
	fs = open_fs(run, name, kind, bytes, &error);
	if (!fs)
		return lab_call_result(run, s, error > 0 ? -error : error, "mount");
	if (!mount) {
		mount = lab_new(sizeof(*mount));
		mount->name = lab_arena_text(&run->arena, name, strlen(name));
		mount->next = run->mounts;
		run->mounts = mount;
	}
	mount->fs = fs;
	mount->keeps = kind == MOUNT_DISK;
	return true;
}

static void close_file(struct lab_file *file)
{
	quire_file_put(file->file);
	file->file = NULL;
}

bool lab_do_unmount(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_mount *mount = lab_mount_argument(run, s, "MOUNT");

	if (!mount)
		return false;
	for (struct lab_file *file = run->files; file; file = file->next)
		if (file->mount == mount && file->file)
			close_file(file);
	lab_world_syscall(run->world);
	if (!lab_call_result(run, s, quire_fs_unmount(mount->fs), "unmount"))
		return false;
	mount->fs = NULL;
	if (!mount->keeps)
		for (struct lab_file *file = run->files; file; file = file->next)
			if (file->mount == mount)
				lab_content_truncate(file->content, 0);
	return true;
}

/* --- Files ---------------------------------------------------------------------------- */

/* The process that fills files before the experiment: a space with one buffer. */
static bool need_tool(struct lab_run *run, const struct lab_statement *s)
{
	int error;

	if (run->tool)
		return true;
	run->tool = quire_space_create(run->world->quire, &error);
	if (!run->tool)
		return lab_call_result(run, s, -QUIRE_ENOMEM, "filling the file");
	run->tool_buffer = 0;
	return lab_call_result(run, s,
			       quire_mmap(run->tool, &run->tool_buffer, LAB_PIECE_BYTES,
					  QUIRE_PROT_READ | QUIRE_PROT_WRITE,
					  QUIRE_MAP_PRIVATE | QUIRE_MAP_ANONYMOUS, NULL, 0, false),
			       "filling the file");
}

static bool write_all(struct lab_run *run, const struct lab_statement *s, struct lab_file *file,
		      uint64_t at, size_t bytes)
{
	size_t done = 0;

	lab_content_read(file->content, at, run->bytes, bytes);
	if (sim_write(run->world->sim, run->tool_buffer, run->bytes, bytes))
		return lab_call_result(run, s, -QUIRE_ENOMEM, "filling the file");
	while (done < bytes) {
		int64_t result =
			quire_write(file->file, at + done, run->tool_buffer + done, bytes - done);

		if (result == 0)
			result = -QUIRE_EIO;
		if (!lab_call_result(run, s, result, "filling the file"))
			return false;
		done += (size_t)result;
	}
	return true;
}

static bool fill(struct lab_run *run, const struct lab_statement *s, struct lab_file *file,
		 uint64_t bytes)
{
	struct lab_process *before = run->current[sim_cpu(run->world->sim)];
	bool good = need_tool(run, s);

	if (good)
		lab_world_load(run->world, run->tool);
	for (uint64_t at = 0; good && at < bytes; at += LAB_PIECE_BYTES) {
		size_t piece =
			bytes - at < LAB_PIECE_BYTES ? (size_t)(bytes - at) : LAB_PIECE_BYTES;

		good = write_all(run, s, file, at, piece) &&
		       lab_go_on(run, s, (double)(at + piece) / (double)bytes);
	}
	lab_world_load(run->world, before ? before->space : NULL);
	return good;
}

static bool make_bytes(struct lab_run *run, const struct lab_statement *s, struct lab_file *file)
{
	int how = lab_word(run, s, "fill", FILL_ZERO);
	uint64_t bytes = 0;

	if (how < 0 || !lab_whole(run, s, "size", &bytes))
		return false;
	if (!lab_argument(s, "size"))
		return lab_argument(s, "fill") ? lab_raise(run, lab_argument(s, "fill")->place, 0,
							   "fill= needs size=")
					       : true;
	lab_content_truncate(file->content, 0);
	if (!lab_call_result(run, s, quire_truncate(file->file, 0), "truncate"))
		return false;
	if (how == FILL_NONE)
		return lab_call_result(run, s, quire_truncate(file->file, bytes), "truncate");
	if (how == FILL_RANDOM)
		lab_content_random(file->content, 0, bytes, ++run->keys);
	return fill(run, s, file, bytes);
}

bool lab_do_file(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_mount *mount = lab_mount_argument(run, s, "on");
	const char *name = mount ? lab_text(run, s, "NAME") : NULL;
	struct lab_file *file = name ? lab_find_file(run, name) : NULL;
	struct quire_file *opened;

	if (!name)
		return false;
	if (file && file->file)
		return lab_raise(run, s->place, 0, "file '%s' is open already", name);
	lab_world_syscall(run->world);
	if (!lab_call_result(run, s, quire_fs_open(mount->fs, name, true, &opened), "open"))
		return false;
	if (!file || file->mount != mount) {
		file = lab_new(sizeof(*file));
		file->name = lab_arena_text(&run->arena, name, strlen(name));
		file->mount = mount;
		file->content = lab_content_new(NULL, 0);
		file->next = run->files;
		run->files = file;
	}
	file->file = opened;
	return make_bytes(run, s, file);
}

bool lab_do_close(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_file *file = lab_file_argument(run, s, "FILE");

	if (!file)
		return false;
	lab_world_syscall(run->world);
	close_file(file);
	return true;
}

/* The name goes; later a file of the same name is another file. */
bool lab_do_unlink(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_file *file = lab_file_argument(run, s, "FILE");

	if (!file)
		return false;
	lab_world_syscall(run->world);
	if (!lab_call_result(run, s, quire_fs_unlink(file->mount->fs, file->name), "unlink"))
		return false;
	lab_content_put(file->content);
	file->content = lab_content_new(NULL, 0);
	close_file(file);
	return true;
}

/* --- Their size and blocks ------------------------------------------------------------ */

bool lab_do_truncate(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_file *file = lab_file_argument(run, s, "FILE");
	uint64_t bytes = 0;

	if (!file || !lab_whole(run, s, "size", &bytes))
		return false;
	if (!lab_call_result(run, s, quire_truncate(file->file, bytes), "truncate"))
		return false;
	lab_content_truncate(file->content, bytes);
	return true;
}

static bool file_range(struct lab_run *run, const struct lab_statement *s, uint64_t *at,
		       uint64_t *bytes)
{
	*at = 0;
	*bytes = 0;
	return lab_whole(run, s, "at", at) && lab_whole(run, s, "size", bytes);
}

bool lab_do_allocate(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_file *file = lab_file_argument(run, s, "FILE");
	uint64_t at, bytes;

	if (!file || !file_range(run, s, &at, &bytes))
		return false;
	return lab_call_result(run, s, quire_allocate(file->file, at, bytes), "allocate");
}

bool lab_do_punch(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_file *file = lab_file_argument(run, s, "FILE");
	uint64_t at, bytes;

	if (!file || !file_range(run, s, &at, &bytes))
		return false;
	if (!lab_call_result(run, s, quire_punch(file->file, at, bytes), "punch"))
		return false;
	if (at < lab_file_bytes(file))
		lab_content_zero(file->content, at,
				 bytes < lab_file_bytes(file) - at ? bytes
								   : lab_file_bytes(file) - at);
	return true;
}

bool lab_do_fsync(struct lab_run *run, const struct lab_statement *s)
{
	struct lab_file *file = lab_file_argument(run, s, "FILE");

	if (!file)
		return false;
	lab_world_syscall(run->world);
	return lab_call_result(run, s, quire_fsync(file->file), "fsync");
}

bool lab_do_sync(struct lab_run *run, const struct lab_statement *s)
{
	lab_world_syscall(run->world);
	for (struct lab_mount *mount = run->mounts; mount; mount = mount->next)
		if (mount->fs && !lab_call_result(run, s, quire_fs_sync(mount->fs), "sync"))
			return false;
	return true;
}

bool lab_do_reclaim(struct lab_run *run, const struct lab_statement *s)
{
	uint64_t pages = UINT64_MAX;

	if (!lab_whole(run, s, "pages", &pages))
		return false;
	run->done_bytes = quire_reclaim(run->world->quire, pages) << QUIRE_PAGE_SHIFT;
	return true;
}
