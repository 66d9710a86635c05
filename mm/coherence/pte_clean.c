/*
 * The pte_clean policy: is a table entry that was written cleaned from the D cache for the table
 * walker?
 *
 * A walker that reads memory behind the D cache misses an entry that is still in it, and the fault
 * that follows finds nothing to mend, for ever. A walker that reads the D cache needs no clean, and
 * the CPU says which of the two it has (traits.walker_sees_data); `always` cleans for both, as
 * kernels did.
 *
 * The barrier is no policy: without it the next walk of this CPU may go before the store, or before
 * the clean.
 */
#include "mm/mm.h"

void quire_coherence_table_written(struct quire *q, uintptr_t entry, size_t bytes,
				   enum quire_site site)
{
	struct quire_machine *machine = &q->machine;
	bool seen =
		q->policy.pte_clean == QUIRE_PTE_CLEAN_DETECT && machine->traits.walker_sees_data;

	if (!seen && quire_maintain_begin(q, site)) {
		machine->arch->clean_entries(machine, entry, bytes);
		quire_maintain_end(q, site);
	}
	machine->arch->entry_barrier(machine);
}
