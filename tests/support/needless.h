/*
 * Tests of which maintenance was needed, on a bare machine.
 */
#ifndef TESTS_SUPPORT_NEEDLESS_H
#define TESTS_SUPPORT_NEEDLESS_H

#include "tests/support/bare.h"

#include "sim/internal.h"

/* From now on it is found out. */
void needless_start(struct bare *b);
/* An operation on one line of data, on all CPUs, under a site; booked as a flush. */
void needless_data(struct bare *b, enum quire_site site, uintptr_t va, quire_pa_t pa,
		   enum sim_action action, enum sim_point point);
/* Fails the test unless the one operation of the site has that verdict. */
void needless_is(struct bare *b, enum quire_site site, enum sim_op op, enum sim_verdict verdict);

#endif
