/*
 * The data directory's machines/ and experiments/, by name.
 */
#ifndef LAB_DATA_H
#define LAB_DATA_H

#include <stddef.h>

#define DATA_NAMES_MAX 256

/* The files of `directory` there that end in `ending`, without it, sorted. Result: how many. */
size_t data_names(const char *directory, const char *ending, char *names[DATA_NAMES_MAX]);
void data_names_free(char *names[DATA_NAMES_MAX], size_t count);

#endif
