/*
 * An experiment's result with something of everything in it, for tests of reports.
 */
#ifndef TESTS_SAMPLE_EXPERIMENT_H
#define TESTS_SAMPLE_EXPERIMENT_H

#include "lab/lab.h"

/* Not to be freed. Variant 0 is good; `faulty`: variant 1 has a failure and violations. */
struct lab_experiment *sample_experiment(bool faulty);

#endif
