/*
 * Progress of a run on a terminal, and its end by Ctrl-C.
 */
#ifndef LAB_PROGRESS_H
#define LAB_PROGRESS_H

#include "lab/lab.h"

/* Prepares the callback: it prints nothing where standard error is no terminal. */
void progress_begin(struct lab_progress *progress);
/* Clears the line; called before anything else is printed. */
void progress_clear(void);

/*
 * From now on Ctrl-C asks the run to end: progress->stop is set. A second one ends the program at
 * once, after removing `unfinished` (NULL: nothing), a file that must not be left behind.
 */
void progress_catch_interrupt(struct lab_progress *progress, const char *unfinished);
bool progress_interrupted(void);

#endif
