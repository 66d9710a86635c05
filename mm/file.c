/*
 * Files: their life, read and write through the page cache, and changes of their size.
 *
 * USER MEMORY MAY BE THE FILE. The buffer of read or write can be a mapping of the same file, even
 * of the same page. So user memory is never waited for with a lock held: write() copies with faults
 * off while it holds the page, and when the copy ends short lets everything go, makes the memory
 * present outside all locks (quire_fault_in), and tries again. read() holds nothing but a reference
 * while it copies.
 *
 * SIZE. file->resize is taken before every other lock by who may change the size: truncate,
 * allocate, punch, and a write that goes beyond the end. So two appending writes do not lose each
 * other's, and truncate can finish with the spaces (whose areas lock comes before shape) knowing
 * that no new end has made its work wrong. Under it, shape held for writing keeps faults, reads and
 * other writes away while pages go.
 *
 * BEYOND THE END, in the last page, user code can store through a mapping; when the file grows
 * there must be zeros. So whoever moves the end clears the rest of the page that it leaves
 * (clear_rest).
 */
#include "mm/percpu.h"

/* --- Life ------------------------------------------------------------------------------------- */

int quire_file_init(struct quire *q, struct quire_file *file, const struct quire_file_ops *ops)
{
	const struct quire_port *port = &q->machine.port;
	uint64_t now = port->time_ns(port->context);
	int error = quire_brlock_init(q, &file->shape);

	if (error)
		return error;
	file->quire = q;
	file->ops = ops;
	file->bytes = 0;
	file->times = (struct quire_times){.mtime_ns = now, .ctime_ns = now, .atime_ns = now};
	quire_atomic_init(&file->refs, 1);
	quire_atomic_init(&file->areas, 0);
	quire_atomic_init(&file->writable_areas, 0);
	quire_lock_init(&file->resize);
	quire_lock_init(&file->times_lock);
	quire_lock_init(&file->cache.tree);
	file->cache.root = NULL;
	file->cache.pages = 0;
	quire_lock(q, &q->lists);
	quire_list_add(&q->files, &file->link);
	quire_unlock(q, &q->lists);
	return 0;
}

void quire_file_destroy(struct quire_file *file)
{
	struct quire *q = file->quire;

	quire_require(q, !file->cache.pages);
	quire_lock(q, &q->lists);
	quire_list_remove(&file->link);
	quire_unlock(q, &q->lists);
	quire_brlock_destroy(q, &file->shape);
}

/* Removes the page (locked) from the page cache and from all spaces. */
static void drop_page(struct quire_file *file, struct quire_page *page)
{
	struct quire_page *head = quire_page_head(page);

	for (unsigned n = 0; n < 1u << head->order; n++) {
		quire_rmap_unmap_all(file->quire, &head[n]);
		quire_cache_clear_mark(file, &head[n], QUIRE_MARK_DIRTY);
	}
	quire_cache_remove(file, page);
}

/* Removes the pages first..last. A folio that begins before `first` stays. */
static void drop_pages(struct quire_file *file, uint64_t first, uint64_t last)
{
	struct quire *q = file->quire;
	struct quire_page *page;
	uint64_t index = first;

	while (index <= last && (page = quire_cache_next(file, &index, -1))) {
		if (index <= last) {
			quire_page_lock(q, page);
			if (page->file == file && quire_page_head(page)->index >= first)
				drop_page(file, page);
			quire_page_unlock(q, page);
		}
		quire_page_put(q, page);
		if (index == UINT64_MAX)
			break;
		index++;
	}
}

void quire_file_get(struct quire_file *file)
{
	quire_atomic_add(&file->refs, 1);
}

void quire_file_put(struct quire_file *file)
{
	uint32_t refs = quire_atomic_add(&file->refs, (uint32_t)-1);

	quire_require(file->quire, refs != (uint32_t)-1);
	if (refs)
		return;
	/* Nobody is left to be told of an error. */
	(void)quire_fsync(file);
	drop_pages(file, 0, UINT64_MAX);
	file->ops->release(file);
}

void quire_file_stat(struct quire_file *file, struct quire_stat *stat)
{
	struct quire *q = file->quire;

	quire_lock(q, &file->times_lock);
	stat->mtime_ns = file->times.mtime_ns;
	stat->ctime_ns = file->times.ctime_ns;
	stat->atime_ns = file->times.atime_ns;
	quire_unlock(q, &file->times_lock);
	stat->bytes = file->bytes;
	quire_lock(q, &file->cache.tree);
	stat->pages = file->cache.pages;
	quire_unlock(q, &file->cache.tree);
}

int quire_fsync(struct quire_file *file)
{
	int error = quire_writeback(file, 0, UINT64_MAX);
	int result = file->ops->write_attributes ? file->ops->write_attributes(file) : 0;

	return error ? error : result;
}

/* --- read ------------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static size_t to_page_end(uint64_t offset)
{
	return QUIRE_PAGE_BYTES - (size_t)(offset & QUIRE_PAGE_MASK);
}

/* The kernel address of an offset of the file in a page, which may be the first of a folio. */
static uintptr_t address_in(struct quire *q, const struct quire_page *page, uint64_t offset)
{
	return quire_page_address(q, page) +
	       (uintptr_t)(offset - (page->index << QUIRE_PAGE_SHIFT));
}

/*
 * The page at `offset`, and in *bytes how much of it may be read; NULL with *error 0: the end of
 * the file.
 */
static struct quire_page *page_to_read(struct quire_file *file, uint64_t offset, size_t *bytes,
				       int *error)
{
	struct quire *q = file->quire;
	unsigned cpu = quire_brlock_read_lock(q, &file->shape);
	struct quire_page *page = NULL;

	*error = 0;
	if (offset < file->bytes) {
		*bytes = (size_t)least(*bytes, file->bytes - offset);
		quire_step(q, QUIRE_STEP_READ_PAGE);
		*error = quire_cache_read(file, offset >> QUIRE_PAGE_SHIFT, &page);
	}
	quire_brlock_read_unlock(q, &file->shape, cpu);
	return *error ? NULL : page;
}

/*
 * Reads what lies in one page. The result is less than `bytes` at the end, and with *error set when
 * it failed.
 */
static size_t read_part(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes,
			int *error)
{
	struct quire *q = file->quire;
	const struct quire_port *port = &q->machine.port;
	size_t part = bytes, left;
	struct quire_page *page = page_to_read(file, offset, &part, error);

	if (!page)
		return 0;
	quire_coherence_kernel_read(q, page);
	left = port->copy_to_user(port->context, user, address_in(q, page, offset), part);
	quire_page_put(q, page);
	if (left)
		*error = -QUIRE_EFAULT;
	return part - left;
}

int64_t quire_read(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes)
{
	size_t done = 0;
	int error = 0;

	quire_step(file->quire, QUIRE_STEP_SYSCALL);
	bytes = (size_t)least(bytes, (uint64_t)INT64_MAX);
	while (done < bytes && !error && done <= UINT64_MAX - offset) {
		size_t part = (size_t)least(bytes - done, to_page_end(offset + done));
		size_t got = read_part(file, offset + done, user + done, part, &error);

		done += got;
		if (got < part)
			break;
	}
	if (bytes && !(error && !done))
		quire_times_read(file);
	return done || !error ? (int64_t)done : error;
}

/* --- write ------------------------------------------------------------------------------------ */

/* Grows the size; the page lock of the page that the end is in is held, and resize, if it grows. */
static void grow(struct quire_file *file, uint64_t bytes)
{
	if (bytes > file->bytes)
		file->bytes = bytes;
}

int quire_file_write_begin(struct quire_file *file, uint64_t offset, size_t bytes,
			   struct quire_page **page)
{
	struct quire *q = file->quire;
	uint64_t index = offset >> QUIRE_PAGE_SHIFT;
	int error = quire_cache_grab(file, index, page);

	if (error || quire_page_is(*page, QUIRE_PAGE_UPTODATE) || bytes == QUIRE_PAGE_BYTES)
		return error;
	if (index << QUIRE_PAGE_SHIFT >= file->bytes)
		quire_page_clear(q, *page, 0, QUIRE_PAGE_BYTES);
	else
		error = file->ops->read_page(file, *page);
	if (error) {
		quire_page_unlock(q, *page);
		quire_page_put(q, *page);
		*page = NULL;
		return error;
	}
	quire_step(q, QUIRE_STEP_FLAG);
	quire_atomic_or(&(*page)->flags, QUIRE_PAGE_UPTODATE);
	return 0;
}

int64_t quire_file_write_end(struct quire_file *file, uint64_t offset, size_t bytes, size_t copied,
			     struct quire_page *page)
{
	struct quire *q = file->quire;

	/* Of a page that was to be overwritten as a whole, a part is nothing that could be kept. */
	if (copied < bytes && !quire_page_is(page, QUIRE_PAGE_UPTODATE))
		copied = 0;
	if (copied) {
		if (!quire_page_is(page, QUIRE_PAGE_UPTODATE)) {
			quire_step(q, QUIRE_STEP_FLAG);
			quire_atomic_or(&page->flags, QUIRE_PAGE_UPTODATE);
		}
		quire_page_dirty(q, page);
		grow(file, offset + copied);
	}
	quire_page_unlock(q, page);
	quire_page_put(q, page);
	return (int64_t)copied;
}

/*
 * Clears what is behind `bytes` in the page where the file ends there, if it is in the page cache:
 * see the top of this file.
 */
static void clear_rest(struct quire_file *file, uint64_t bytes)
{
	struct quire *q = file->quire;
	struct quire_page *page;

	if (!(bytes & QUIRE_PAGE_MASK))
		return;
	page = quire_cache_find_locked(file, bytes >> QUIRE_PAGE_SHIFT);
	if (!page)
		return;
	if (quire_page_is(page, QUIRE_PAGE_UPTODATE)) {
		quire_coherence_kernel_read(q, page);
		quire_page_clear(q, page, (size_t)(bytes & QUIRE_PAGE_MASK), to_page_end(bytes));
		quire_page_dirty(q, page);
	}
	quire_page_unlock(q, page);
	quire_page_put(q, page);
}

/*
 * One try at one page; shape is held. Bytes written: 0 when the user memory was not there; or an
 * error.
 */
static int64_t write_page(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes)
{
	struct quire *q = file->quire;
	const struct quire_port *port = &q->machine.port;
	struct quire_page *page;
	size_t left;
	int error;

	quire_step(q, QUIRE_STEP_WRITE_PAGE);
	error = file->ops->write_begin(file, offset, bytes, &page);
	if (error)
		return error;
	quire_coherence_kernel_read(q, page);
	quire_faults_off(q);
	left = port->copy_from_user(port->context, address_in(q, page, offset), user, bytes);
	quire_faults_on(q);
	if (left < bytes)
		quire_coherence_kernel_wrote(q, page);
	return file->ops->write_end(file, offset, bytes, bytes - left, page);
}

static int64_t try_write(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes)
{
	struct quire *q = file->quire;
	bool grows = bytes > file->bytes || offset > file->bytes - bytes;
	int64_t result;
	unsigned cpu;

	if (grows)
		quire_lock(q, &file->resize);
	cpu = quire_brlock_read_lock(q, &file->shape);
	if (!grows && (bytes > file->bytes || offset > file->bytes - bytes)) {
		/* It was truncated since. */
		quire_brlock_read_unlock(q, &file->shape, cpu);
		return try_write(file, offset, user, bytes);
	}
	if (offset > file->bytes)
		clear_rest(file, file->bytes);
	result = write_page(file, offset, user, bytes);
	quire_brlock_read_unlock(q, &file->shape, cpu);
	if (grows)
		quire_unlock(q, &file->resize);
	return result;
}

/* Makes user memory present; result: how much of the range can be, a prefix. */
static size_t fault_in(struct quire *q, uintptr_t user, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += to_page_end(user + done))
		if (quire_fault_in(q, user + done, QUIRE_LOAD))
			return done;
	return bytes;
}

/* Writes what lies in one page: bytes written, or an error when there were none. */
static int64_t write_part(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes)
{
	for (;;) {
		int64_t result = try_write(file, offset, user, bytes);

		if (result)
			return result;
		bytes = fault_in(file->quire, user, bytes);
		if (!bytes)
			return -QUIRE_EFAULT;
	}
}

int64_t quire_write(struct quire_file *file, uint64_t offset, uintptr_t user, size_t bytes)
{
	size_t done = 0;
	int64_t result = 0;

	quire_step(file->quire, QUIRE_STEP_SYSCALL);
	bytes = (size_t)least(bytes, (uint64_t)INT64_MAX);
	if (bytes && offset >= (uint64_t)INT64_MAX)
		return -QUIRE_EFBIG;
	bytes = (size_t)least(bytes, (uint64_t)INT64_MAX - offset);
	while (done < bytes) {
		result = write_part(file, offset + done, user + done,
				    (size_t)least(bytes - done, to_page_end(offset + done)));
		if (result < 0)
			break;
		done += (size_t)result;
	}
	if (done)
		quire_times_write(file);
	return done ? (int64_t)done : result;
}

/* --- Size ------------------------------------------------------------------------------------- */

/*
 * Reads the page at `offset` of the file if a part of it is about to be cleared there: what is on
 * the backing store must be changed with it. NULL with *error 0: there is nothing to clear. The
 * page has a reference.
 */
static struct quire_page *page_to_clear(struct quire_file *file, uint64_t offset, int *error)
{
	struct quire_page *page = NULL;

	*error = 0;
	if (!(offset & QUIRE_PAGE_MASK) || (offset & ~(uint64_t)QUIRE_PAGE_MASK) >= file->bytes)
		return NULL;
	if (file->ops->write_page)
		*error = quire_cache_read(file, offset >> QUIRE_PAGE_SHIFT, &page);
	else
		page = quire_cache_find(file, offset >> QUIRE_PAGE_SHIFT);
	return *error ? NULL : page;
}

/* resize and shape (for writing) are held. */
static int shrink(struct quire_file *file, uint64_t bytes)
{
	uint64_t first = (bytes >> QUIRE_PAGE_SHIFT) + ((bytes & QUIRE_PAGE_MASK) != 0);
	int error;
	struct quire_page *page = page_to_clear(file, bytes, &error);

	if (error)
		return error;
	file->bytes = bytes;
	quire_file_unmap(file, first, UINT64_MAX);
	drop_pages(file, first, UINT64_MAX);
	clear_rest(file, bytes);
	if (page)
		quire_page_put(file->quire, page);
	if (file->ops->truncated)
		file->ops->truncated(file, bytes);
	return 0;
}

int quire_truncate(struct quire_file *file, uint64_t bytes)
{
	struct quire *q = file->quire;
	bool smaller;
	int error = 0;

	quire_step(q, QUIRE_STEP_SYSCALL);
	if (bytes > (uint64_t)INT64_MAX)
		return -QUIRE_EFBIG;
	quire_lock(q, &file->resize);
	quire_brlock_write_lock(q, &file->shape);
	smaller = bytes < file->bytes;
	if (smaller) {
		error = shrink(file, bytes);
	} else {
		clear_rest(file, file->bytes);
		file->bytes = bytes;
	}
	quire_brlock_write_unlock(q, &file->shape);
	if (smaller && !error)
		quire_file_unmap_private(file, (bytes + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT);
	quire_unlock(q, &file->resize);
	if (!error)
		quire_times_write(file);
	return error;
}

static int check_range(uint64_t offset, uint64_t bytes)
{
	if (!bytes)
		return -QUIRE_EINVAL;
	return offset > (uint64_t)INT64_MAX || bytes > (uint64_t)INT64_MAX - offset ? -QUIRE_EFBIG
										    : 0;
}

int quire_allocate(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	struct quire *q = file->quire;
	int error = check_range(offset, bytes);

	quire_step(q, QUIRE_STEP_SYSCALL);
	if (error)
		return error;
	if (!file->ops->allocate)
		return -QUIRE_ENOTSUP;
	quire_lock(q, &file->resize);
	quire_brlock_write_lock(q, &file->shape);
	error = file->ops->allocate(file, offset, bytes);
	if (!error && offset + bytes > file->bytes) {
		clear_rest(file, file->bytes);
		file->bytes = offset + bytes;
	}
	quire_brlock_write_unlock(q, &file->shape);
	quire_unlock(q, &file->resize);
	if (!error)
		quire_times_change(file);
	return error;
}

/* Clears [from, to) of the page, which may be NULL, and drops the reference. */
static void clear_part(struct quire_file *file, struct quire_page *page, uint64_t from, uint64_t to)
{
	struct quire *q = file->quire;

	if (!page)
		return;
	quire_page_lock(q, page);
	if (page->file == file && quire_page_is(page, QUIRE_PAGE_UPTODATE)) {
		quire_coherence_kernel_read(q, page);
		quire_page_clear(q, page, (size_t)(from & QUIRE_PAGE_MASK), (size_t)(to - from));
		quire_page_dirty(q, page);
	}
	quire_page_unlock(q, page);
	quire_page_put(q, page);
}

/*
 * resize and shape (for writing) are held. Both partial pages are read first, since that can fail.
 */
static int punch(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	uint64_t end = offset + bytes;
	uint64_t first = (offset + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT,
		 beyond = end >> QUIRE_PAGE_SHIFT;
	struct quire_page *head, *tail = NULL;
	int error;

	head = page_to_clear(file, offset, &error);
	if (!error && beyond >= first)
		tail = page_to_clear(file, end, &error);
	if (error) {
		if (head)
			quire_page_put(file->quire, head);
		return error;
	}
	if (beyond > first) {
		quire_file_unmap(file, first, beyond - 1);
		drop_pages(file, first, beyond - 1);
	}
	clear_part(file, head, offset, least(end, offset + to_page_end(offset)));
	clear_part(file, tail, beyond << QUIRE_PAGE_SHIFT, end);
	return file->ops->punch(file, offset, bytes);
}

int quire_punch(struct quire_file *file, uint64_t offset, uint64_t bytes)
{
	struct quire *q = file->quire;
	int error = check_range(offset, bytes);

	quire_step(q, QUIRE_STEP_SYSCALL);
	if (error)
		return error;
	if (!file->ops->punch)
		return -QUIRE_ENOTSUP;
	quire_lock(q, &file->resize);
	quire_brlock_write_lock(q, &file->shape);
	error = punch(file, offset, bytes);
	quire_brlock_write_unlock(q, &file->shape);
	quire_unlock(q, &file->resize);
	if (!error)
		quire_times_write(file);
	return error;
}
