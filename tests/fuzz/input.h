/*
 * What the fuzzers share: their input as a file with a path, since that is how the program is given
 * one.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory that holds the input; its path goes to `path`. Closed by the caller. */
static inline int input_file(const uint8_t *data, size_t bytes, char path[64])
{
	int file = memfd_create("input", MFD_CLOEXEC);

	if (file < 0 || write(file, data, bytes) != (ssize_t)bytes)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", file);
	return file;
}

/* Where messages about the input go. */
static inline FILE *input_errors(void)
{
	static FILE *errors;

	if (!errors)
		errors = fopen("/dev/null", "w");
	return errors;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
