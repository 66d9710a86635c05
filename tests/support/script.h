/*
 * Scripts from text, for tests: written to a file, loaded, run.
 */
#ifndef TESTS_SUPPORT_SCRIPT_H
#define TESTS_SUPPORT_SCRIPT_H

#include "lab/lab.h"

/* NULL with *errors (malloc'd) holding the messages; *errors is "" when all is well. */
struct lab_script *script_from_text(const char *text, char **errors);
struct lab_experiment *script_run(const char *text, char **errors);

#endif
