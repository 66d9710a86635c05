/*
 * What `quire check` explores, for tests of it.
 */
#ifndef TESTS_SUPPORT_SETTING_H
#define TESTS_SUPPORT_SETTING_H

#include "lab/explore.h"

/* The setting of `quire check --machine NAME` with so many CPUs and pages; no fault is put in. */
struct explore_setting setting_for(const char *name, unsigned cpus, unsigned pages);

#endif
