/*
 * Walking the entries of a range, one leaf table at a time: find it once, lock it once, step
 * through its entries side by side.
 *
 *	while (quire_walk_table(space, &low, high, &slot, &stop)) {
 *		quire_slot_lock(&slot);
 *		for (; slot.va < stop; quire_walk_step(&slot))
 *			...
 *		quire_slot_unlock(&slot);
 *	}
 */
#ifndef QUIRE_MM_WALK_H
#define QUIRE_MM_WALK_H

#include "mm/mm.h"

/*
 * The first entry of the next leaf table that there is in [*low, high), in *slot; its last is the
 * one before *stop, and *low moves there. False: no further table. The areas lock is held.
 */
static inline bool quire_walk_table(struct quire_space *space, uintptr_t *low, uintptr_t high,
				    struct quire_slot *slot, uintptr_t *stop)
{
	uintptr_t va = *low, next;
	uintptr_t span = quire_table_span(space);

	while (va < high) {
		next = high;
		if (quire_table_find(space, va, slot, &next)) {
			*stop = high - va < span - (va & (span - 1)) ? high
								     : (va & ~(span - 1)) + span;
			*low = *stop;
			return true;
		}
		if (next <= va)
			break;
		va = next;
	}
	*low = high;
	return false;
}

static inline void quire_walk_step(struct quire_slot *slot)
{
	const struct quire_table_format *format = &slot->space->quire->machine.arch->table;

	slot->va += QUIRE_PAGE_BYTES;
	slot->entry += format->entry_bytes[format->levels - 1];
}

#endif
