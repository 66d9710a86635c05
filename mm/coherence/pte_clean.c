/*
 * The pte_clean policy: is a table entry that was written cleaned from the D cache for the table
 * walker?
 *
 * A walker that reads memory behind the D cache misses an entry that is still in it, and the fault
 * that follows finds nothing to mend, for ever. A walker that reads the D cache needs no clean, and
 * the CPU says which of the two it has (traits.walker_sees_data); `always` cleans for both, as
 * kernels did. `entries` skips the clean of entries but not that of new, empty tables: so did the
 * first kernels that asked. `detect` skips both.
 *
 * The barrier is no policy: without it the next walk of this CPU may go before the store, or before
 * the clean.
 */
#include "mm/mm.h"

static bool walker_sees(const struct quire *q, enum quire_site site)
{
	switch (q->policy.pte_clean) {
	case QUIRE_PTE_CLEAN_DETECT:
		return q->machine.traits.walker_sees_data;
	case QUIRE_PTE_CLEAN_ENTRIES:
		return q->machine.traits.walker_sees_data && site != QUIRE_SITE_TABLE_NEW;
	case QUIRE_PTE_CLEAN_ALWAYS:
		break;
	}
	return false;
}

void quire_coherence_table_written(struct quire *q, uintptr_t entry, size_t bytes,
				   enum quire_site site)
{
	struct quire_machine *machine = &q->machine;

	if (!walker_sees(q, site) && quire_maintain_begin(q, site)) {
		machine->arch->clean_entries(machine, entry, bytes);
		quire_maintain_end(q, site);
	}
	machine->arch->entry_barrier(machine);
}
