/*
 * The coherence policy `eager`: nothing waits.
 *
 * Right everywhere, and the only right one where the CPU that will map a page cannot reach the
 * lines of the CPU that wrote it. It pays for every page that is written and never mapped.
 */
#include "mm/coherence/policy.h"

bool quire_eager_may_wait(struct quire_page *page)
{
	(void)page;
	return false;
}
