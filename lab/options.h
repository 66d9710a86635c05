/*
 * The command line, once read: what to do, with what.
 */
#ifndef LAB_OPTIONS_H
#define LAB_OPTIONS_H

#include "lab/lab.h"

enum lab_command {
	LAB_COMMAND_NONE,
	LAB_COMMAND_RUN,
	LAB_COMMAND_CHECK,
	LAB_COMMAND_MACHINES,
	LAB_COMMAND_BENCH,
};

struct command_line {
	enum lab_command command;
	char **arguments; /* after the command; strings of argv */
	size_t argument_count;
	struct lab_options run;
	const char *json; /* file, "-", NULL: none */
	bool keys;        /* machines --keys */
	/* check; 0 and NULL: not given */
	unsigned depth, seconds, cpus, pages;
	bool random;
	unsigned interleave; /* 0: not given */
	uint64_t seed;
	const char *drop;   /* a site, or "all" */
	const char *mutant;
	const char *script; /* where a counterexample goes */
};

/*
 * Reads the command line. false after a message: the exit status is LAB_USAGE. --help and --version
 * end the program here.
 */
bool command_line_read(struct command_line *line, int argc, char **argv);
void command_line_free(struct command_line *line);

#endif
