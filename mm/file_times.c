/*
 * Times of files: when they are marked, and by whom.
 *
 * read and mmap mark atime; write, truncate, punch and stores through shared mappings mark mtime
 * and ctime; a change of what is kept (fallocate) marks ctime. A store through a mapping is seen
 * when it faults: an entry of a shared page lets stores through only after one has faulted and
 * marked the times, and msync takes that right away again (mm/msync.c). So the mark lies between
 * the store and the next msync, as POSIX asks (XSH, mmap, "st_mtime and st_ctime").
 *
 * times_lock is a leaf of the lock order and held for a few words only: marking can meet a writer
 * of the same file in no other place.
 */
#include "mm/mm.h"

static uint64_t now(struct quire_file *file)
{
	const struct quire_port *port = &file->quire->machine.port;

	return port->time_ns(port->context);
}

void quire_times_read(struct quire_file *file)
{
	uint64_t time = now(file);

	quire_lock(file->quire, &file->times_lock);
	if (time > file->times.atime_ns)
		file->times.atime_ns = time;
	quire_unlock(file->quire, &file->times_lock);
}

void quire_times_write(struct quire_file *file)
{
	uint64_t time = now(file);

	quire_lock(file->quire, &file->times_lock);
	if (time > file->times.mtime_ns)
		file->times.mtime_ns = time;
	if (time > file->times.ctime_ns)
		file->times.ctime_ns = time;
	quire_unlock(file->quire, &file->times_lock);
}

void quire_times_change(struct quire_file *file)
{
	uint64_t time = now(file);

	quire_lock(file->quire, &file->times_lock);
	if (time > file->times.ctime_ns)
		file->times.ctime_ns = time;
	quire_unlock(file->quire, &file->times_lock);
}
