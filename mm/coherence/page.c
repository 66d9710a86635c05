/*
 * The coherence policy `page`: a page waits while no table entry maps it.
 *
 * Enough because only an entry lets a user see the page, and each that appears settles what is
 * owed. The count of entries is raised before a new entry settles (quire_rmap_add comes first), and
 * the kernel asks for it after its store: so of a kernel store and a new mapping at the same time,
 * one sees the other.
 */
#include "mm/coherence/policy.h"

bool quire_page_may_wait(struct quire_page *page)
{
	return !quire_page_mapped(page);
}
