/*
 * What a file system gives to Quire: struct quire_file with its operations.
 *
 * The memory manager owns the page cache, its locks, dirty marks, times and size; the file system
 * knows where bytes are kept. Operations marked "optional" may be NULL.
 */
#ifndef QUIRE_FILE_H
#define QUIRE_FILE_H

#include <quire/quire.h>

struct quire_page;

struct quire_file_ops {
	/*
	 * Fills `page` (locked, not up to date, at page->index) from the backing store: returns 0
	 * with all of the page defined (zeros beyond the end of file), or an error. May wait. The
	 * page cache then marks it up to date. After an error the page may have left the page
	 * cache.
	 */
	int (*read_page)(struct quire_file *file, struct quire_page *page);

	/*
	 * Writes `page` (locked, marked writeback, no longer dirty) to the backing store and waits.
	 * The memory manager clears the writeback mark afterwards. Optional: NULL for a file system
	 * that keeps its data in the page cache only (its pages are then never written back nor
	 * reclaimed).
	 */
	int (*write_page)(struct quire_file *file, struct quire_page *page);

	/*
	 * write() is about to copy `bytes` bytes to `offset`, all in one page: *page becomes that
	 * page, locked and referenced; bytes of it that the copy will not touch must be defined by
	 * the time write_end returns. Errors: QUIRE_ENOSPC, QUIRE_ENOMEM, QUIRE_EIO.
	 */
	int (*write_begin)(struct quire_file *file, uint64_t offset, size_t bytes,
			   struct quire_page **page);

	/*
	 * Ends what write_begin began: `copied` of the bytes were copied (a short copy is a prefix,
	 * 0 included). Marks the page up to date and dirty as it is now, sets the file's size if it
	 * grew, unlocks and drops the page. Result: bytes that count as written (0 when a short
	 * copy cannot be kept), or an error.
	 */
	int64_t (*write_end)(struct quire_file *file, uint64_t offset, size_t bytes, size_t copied,
			     struct quire_page *page);

	/*
	 * After the size has shrunk, pages are gone and the rest of the last page is zeroed in the
	 * cache and dirty: frees the backing store of the whole pages from `bytes` on. Optional.
	 */
	void (*truncated)(struct quire_file *file, uint64_t bytes);

	/*
	 * fallocate and hole punch. Size and times are the caller's, changed after success only.
	 * Before punch, whole pages of the range are gone from the cache, and partial ones at its
	 * ends are zeroed there and dirty. Page locks are taken inside. Optional.
	 */
	int (*allocate)(struct quire_file *file, uint64_t offset, uint64_t bytes);
	int (*punch)(struct quire_file *file, uint64_t offset, uint64_t bytes);

	/*
	 * A page leaves the page cache (truncate, punch, reclaim): the file system's accounting.
	 * Called by quire_cache_remove with the page locked, its file and QUIRE_PAGE_CHARGED still
	 * set. Optional.
	 */
	void (*page_removed)(struct quire_file *file, struct quire_page *page);

	/* Writes size and times to the backing store. Optional. */
	int (*write_attributes)(struct quire_file *file);

	/* The last reference is gone and the page cache is empty: frees the file. */
	void (*release)(struct quire_file *file);
};

#endif
