/*
 * What a run of a script produced: the one record from which text, JSON and exit status are made.
 *
 * Everything the text shows is in here, so that the JSON can be complete. All strings belong to the
 * result.
 */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim.h"
#include <quire/quire.h>

enum lab_basis {
	LAB_PREDICTED, /* no parameter was fitted on this figure */
	LAB_FITTED,    /* a parameter of the machine was fitted on this figure */
};

struct lab_measure {
	char *name;
	char *unit; /* "us", "s", "B", ... */
	double model;
	bool has_published;
	double published;
	enum lab_basis basis;
	char *note; /* "measured on 256M, scaled to 64G"; NULL: none */
};

/* One row of a table of file times, seconds since the script's epoch. */
struct lab_times {
	char *step;
	bool has_published;
	int64_t published[3]; /* mtime, ctime, atime */
	int64_t model[3];
};

/* An expectation that failed, or an operation that ended otherwise than the script said. */
struct lab_failure {
	char *file;
	unsigned line, column;
	char *text; /* one sentence: what was expected, what was found */
};

struct lab_maintenance {
	enum quire_site site; /* QUIRE_SITE_COUNT: outside any site */
	enum sim_op op;
	uint64_t count, needless, cycles;
	/* options.needless: needless is exact on the safe side, and what follows holds */
	bool decided;
	uint64_t wasted;      /* cycles of the needless ones */
	uint64_t pages, needless_pages; /* the same operations by page: struct sim_need */
	struct sim_need need; /* by verdict; ticks */
};

struct lab_violation {
	struct sim_violation sim;
	unsigned line;        /* script lines of the read that was wrong */
	unsigned writer_line; /* and of the write it missed; 0: before the script */
	char statement[24];        /* the words of the statements there; empty: not known */
	char writer_statement[24];
	char got_statement[24];    /* of the one whose content was read (sim.got_author.label) */
	char map[40];              /* the user map that was read; empty: none */
};

struct lab_variant {
	char *label;  /* "before" */
	char *policy; /* all that the variant sets, as key=value,... */
	char *machine; /* that it ran on */
	struct quire_policy policies;
	struct lab_measure *measures;
	size_t measure_count;
	struct lab_times *times;
	size_t times_count;
	struct lab_maintenance *maintenance; /* sorted by cycles, dearest first */
	size_t maintenance_count;
	struct lab_violation *violations; /* the first ones */
	size_t violations_kept;
	uint64_t violation_count;
	struct lab_failure *failures;
	size_t failure_count;
	uint64_t expectations; /* checked */
	uint64_t bytes_verified;
	uint64_t cycles;       /* simulated, of the CPU that worked longest */
	struct sim_counts counts;
	struct quire_thresholds thresholds;
	bool done;             /* false: stopped by an error in failures, or interrupted */
};

struct lab_experiment {
	char *name;     /* "mapped-read": the script's file name without directory and ending */
	char *file;
	char *title;
	char *source;   /* citation of the published figures; NULL: none */
	char *machine;  /* NULL: each variant names its own */
	bool bare;      /* ran without Quire: there are no policies and no maintenance */
	/*
	 * further arguments of the command line that it ran with: " --set cost.l2_read=12"; NULL:
	 * none
	 */
	char *arguments;
	char *question; /* the policy question that varies; NULL: none */
	char *size_note; /* default sizes smaller than published; NULL: published sizes */
	struct lab_variant *variants;
	size_t variant_count;
};

/* Empties a variant's result but for its label, policies and machine, to run it again. */
void lab_variant_clear(struct lab_variant *variant);
void lab_experiment_free(struct lab_experiment *experiment); /* and all in it, and itself */

#endif
