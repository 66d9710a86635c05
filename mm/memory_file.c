/*
 * Files without a name, behind shared anonymous areas.
 *
 * Memory that a space shares with its children by MAP_SHARED | MAP_ANONYMOUS has an owner that
 * outlives every one of them: a file that only its areas hold. So faults, fork and the reverse map
 * need to know nothing of it.
 */
#include "mm/mm.h"

static int memory_read_page(struct quire_file *file, struct quire_page *page)
{
	quire_page_clear(file->quire, page, 0, QUIRE_PAGE_BYTES);
	return 0;
}

static void memory_release(struct quire_file *file)
{
	struct quire *q = file->quire;

	quire_file_destroy(file);
	quire_delete(q, file, sizeof(*file));
}

static const struct quire_file_ops memory_ops = {
	.read_page = memory_read_page,
	.write_begin = quire_file_write_begin,
	.write_end = quire_file_write_end,
	.release = memory_release,
};

int quire_memory_file(struct quire *q, uint64_t bytes, struct quire_file **file)
{
	struct quire_file *made = quire_new(q, sizeof(*made));
	int error;

	if (!made)
		return -QUIRE_ENOMEM;
	error = quire_file_init(q, made, &memory_ops);
	if (error) {
		quire_delete(q, made, sizeof(*made));
		return error;
	}
	made->bytes = bytes;
	*file = made;
	return 0;
}
