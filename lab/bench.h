/*
 * `quire bench`: how fast the simulator is on this host.
 */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include "lab/lab.h"

/* Prints the results; false after an error message. */
bool bench_sim(FILE *to);

/* The other side of the comparison, run under valgrind by bench_sim: copies `bytes` bytes as the
 * bench does. */
#define BENCH_COPY_ARGUMENT "--bench-copy"
int bench_copy(const char *bytes);

#endif
