/*
 * The words for a violation, shared by text and JSON: what was read wrongly, who missed whose
 * write, where the right bytes lie, which maintenance was due.
 */
#ifndef LAB_VIOLATION_H
#define LAB_VIOLATION_H

#include "lab/lab.h"

/*
 * What each party is called as an observer and as a writer, without its CPU: "load", "kernel load",
 * ...
 */
const char *violation_observer(enum sim_party observer);
const char *violation_writer(enum sim_party writer);

/* What the observer did and where: "load by cpu1 user map m2". */
void violation_reader_text(const struct lab_violation *violation, char *text, size_t bytes);
/* Who wrote what was missed: "write() by cpu0". */
void violation_writer_text(const struct lab_violation *violation, char *text, size_t bytes);
/* How it came about: "dcache alias, colour 3". */
void violation_cause_text(const struct lab_violation *violation, char *text, size_t bytes);

/*
 * The first line of the report, in one form for all kinds and without addresses or lines of the
 * script: "STALE READ: load by cpu1 user map m2 missed write() by cpu0 (dcache alias, colour 3)".
 */
void violation_line(const struct lab_violation *violation, char *text, size_t bytes);
/* A stable name of the kind and place: equal for violations that are the same fault. */
void violation_key(const struct lab_violation *violation, char *text, size_t bytes);

/* The maintenance that was due. */
struct violation_due {
	/* "clean", "drop", "flush", "purge", "clear", "barrier", "no invalidation" */
	const char *what;
	/* the site that should have done it, or that did the wrong; NULL: none is known */
	const char *site;
	const char *file; /* the rule's source file */
	/* the last moment at which it would have been in time, as far as known */
	const char *latest;
};

void violation_due(const struct lab_violation *violation, const struct quire_policy *policy,
		   struct violation_due *due);

/* One copy of the line: "cpu0 L1 D, colour 3, set 97 way 1, dirty, right". */
void violation_copy_text(const struct sim_copy *copy, char *text, size_t bytes);
/* "L1 D", "L1 I", "L2", "memory", "store buffer". */
const char *violation_place(unsigned place);

/*
 * Parts of a report, each of whole lines: maintenance due and until when; bytes expected and got;
 * the map of copies.
 */
void violation_print_due(FILE *to, const struct lab_violation *violation,
			 const struct quire_policy *policy);
void violation_print_bytes(FILE *to, const struct lab_violation *violation);
void violation_print_copies(FILE *to, const struct lab_violation *violation);

#endif
