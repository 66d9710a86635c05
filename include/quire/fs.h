/*
 * The file systems of Quire: ramfs, tmpfs, and a small disk file system on a block device with DMA.
 *
 * A mounted file system is a flat set of named files: directories are the embedding kernel's.
 * Context and results as in quire/quire.h.
 */
#ifndef QUIRE_FS_H
#define QUIRE_FS_H

#include <quire/quire.h>

struct quire_fs;

/* The longest file name and the longest symlink target, bytes without a terminator. */
#define QUIRE_NAME_BYTES 60
#define QUIRE_TARGET_BYTES 4095

/*
 * A block device that transfers whole pages by DMA between memory and `block` (in pages). The file
 * system does the cache maintenance around each transfer; the device does none.
 */
struct quire_block_device {
	void *context;
	uint64_t blocks;
	/* Moves one page to (write) or from the device and waits. 0 or -QUIRE_EIO. */
	int (*transfer)(void *context, uint64_t block, quire_pa_t page, bool write);
};

/*
 * Mounts. `pages_max` bounds what tmpfs may hold (QUIRE_ENOSPC beyond); 0: no bound. QUIRE_ENOMEM
 * in *error.
 */
struct quire_fs *quire_ramfs_mount(struct quire *q, int *error);
struct quire_fs *quire_tmpfs_mount(struct quire *q, uint64_t pages_max, int *error);
/*
 * The disk file system: `format` makes an empty one, else what is there is used. Errors:
 * QUIRE_ENOMEM, QUIRE_EIO, QUIRE_EINVAL (not a Quire file system, or a damaged one), QUIRE_ENOSPC
 * (device too small).
 */
struct quire_fs *quire_diskfs_mount(struct quire *q, const struct quire_block_device *device,
				    bool format, int *error);

/*
 * Opens a file by name, with a reference; made empty when it is not there and `create`.
 * QUIRE_ENOENT, QUIRE_ENAMETOOLONG, QUIRE_ENOMEM, QUIRE_ENOSPC, QUIRE_EIO, QUIRE_EINVAL (a
 * symlink). `name` is NUL-terminated memory of the kernel's.
 */
int quire_fs_open(struct quire_fs *fs, const char *name, bool create, struct quire_file **file);

/* Removes the name; the file goes with its last reference. QUIRE_ENOENT, QUIRE_EIO. */
int quire_fs_unlink(struct quire_fs *fs, const char *name);

/*
 * tmpfs: makes a symlink; reads one into `target` (room for QUIRE_TARGET_BYTES + 1).
 * QUIRE_ENOTSUP, QUIRE_EEXIST, QUIRE_EINVAL (not a symlink; an empty target), QUIRE_ENAMETOOLONG,
 * QUIRE_ENOENT, QUIRE_ENOSPC, QUIRE_ENOMEM.
 */
int quire_fs_symlink(struct quire_fs *fs, const char *name, const char *target);
int quire_fs_readlink(struct quire_fs *fs, const char *name, char *target);

/* Writes everything dirty to the backing store and waits. */
int quire_fs_sync(struct quire_fs *fs);

/*
 * Syncs, and ends the file system; its files are closed and unmapped. -QUIRE_EBUSY if one is not,
 * or the error of the sync: then it is still mounted.
 */
int quire_fs_unmount(struct quire_fs *fs);

#endif
