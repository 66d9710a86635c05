/*
 * Two CPUs whose calls overlap, one way after the other, for tests.
 *
 * 	for (unsigned point = 0; interleave(&s, point, first, second, &test); point++)
 * 		... bring the objects back to where they were ...
 *
 * CPU 0 runs first(arg). At its `point`-th point (a kernel step, or the beginning of a maintenance
 * operation) CPU 1 runs second(arg); when that has ended, CPU 0 goes on. Whoever waits for a lock
 * lets the other go on. So every place at which one call may come into the other is tried, in both
 * orders of what is locked, and each run is the same on every host: only one of the two host
 * threads ever runs.
 */
#ifndef TESTS_SUPPORT_INTERLEAVE_H
#define TESTS_SUPPORT_INTERLEAVE_H

#include "tests/support/simulated.h"

/*
 * True while there may be further points: false when `first` ended before it came to that one, so
 * that `second` ran after it. Aborts when each of the two waits for the other.
 */
bool interleave(struct simulated *s, unsigned point, void (*first)(void *arg),
		void (*second)(void *arg), void *arg);

#endif
