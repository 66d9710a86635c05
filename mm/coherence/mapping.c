/*
 * The coherence policy `mapping`: a page of a file waits while no area maps the file.
 *
 * Enough because an entry needs an area: while there is none, no user can see the page, and one
 * that appears later settles what is owed. One area, of any part of the file, touched or not, ends
 * the waiting for all of its pages. A page without a file has no areas to ask for: its entries are
 * counted.
 */
#include "mm/coherence/policy.h"

bool quire_mapping_may_wait(struct quire_page *page)
{
	struct quire_file *file = page->file;

	return file ? !quire_atomic_read(&file->areas) : !quire_page_mapped(page);
}
