/*
 * A file that appears complete or not at all.
 */
#ifndef LAB_OUTPUT_H
#define LAB_OUTPUT_H

#include "lab/lab.h"

struct output {
	FILE *to;
	char *final; /* the name it will have; NULL: written directly (a pipe, a device, standard
			output) */
	char *temporary; /* the name it has until then */
};

/*
 * Opens `path` ("-": standard output) before anything is run, so that a place that cannot be
 * written to is known at once. false after an error message. Nothing of an existing file changes
 * before output_finish.
 */
bool output_open(struct output *output, const char *path);
/* Gives it its name; false after an error message, when nothing is left. */
bool output_finish(struct output *output);
/* Removes what was written. */
void output_drop(struct output *output);

#endif
