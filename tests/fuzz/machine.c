/* Any bytes as a machine file: it is refused with a message, or it is a machine. */
#define _GNU_SOURCE
#include "lab/lab.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[64];
	int file = input_file(data, bytes, path);

	lab_machine_free(lab_machine_load(input_errors(), path));
	close(file);
	return 0;
}
