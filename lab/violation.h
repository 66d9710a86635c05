/*
 * The words for a violation, shared by text and JSON: what kind of read it was, who missed whose
 * write, where.
 */
#ifndef LAB_VIOLATION_H
#define LAB_VIOLATION_H

#include "lab/lab.h"

/* "STALE READ", "STALE INSTRUCTION", "STALE TABLE ENTRY", "STALE DEVICE READ": by observer. */
const char *violation_kind(enum sim_party observer);
/* What the observer did ("load"), and what the writer did ("store"), with their party. */
const char *violation_observer(enum sim_party observer);
const char *violation_writer(enum sim_party writer);

/* The first line of the report: kind, parties and place, without addresses. */
void violation_line(const struct lab_violation *violation, const struct lab_experiment *experiment,
		    const struct lab_variant *variant, char *text, size_t bytes);
/* A stable name of the kind and place: equal for violations that are the same fault. */
void violation_key(const struct lab_violation *violation, char *text, size_t bytes);

#endif
