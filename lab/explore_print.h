/*
 * One check: a search with its result, and how it is told.
 */
#ifndef LAB_EXPLORE_PRINT_H
#define LAB_EXPLORE_PRINT_H

#include <jansson.h>

#include "lab/explore.h"

struct explore_check {
	char *machine, *machine_file; /* as named in the script */
	struct explore_setting setting;
	char policy[300];
	bool random;
	unsigned interleave;
	unsigned depth;
	struct explore_result result;
	/* Of a run that fails: */
	char what[300], kind[48];
	char *steps[EXPLORE_RUN_MAX]; /* a text for each move */
	bool has_violation;
	struct sim_violation violation;
	char *script; /* the file; NULL: none was written */
};

/* Repeats the failing run and fills in what there is to tell. */
void explore_describe(struct explore_check *check, struct explore_job *job);
void explore_print_end(FILE *to, const struct explore_check *check);
void explore_print_run(FILE *to, const struct explore_check *check, bool colour);
bool explore_write_script(FILE *to, const struct explore_check *check);
/* Sets check->script. False after a message. */
bool explore_save_script(struct explore_check *check, const char *path);
json_t *explore_json(const struct explore_check *check);
void explore_check_free(struct explore_check *check);

#endif
