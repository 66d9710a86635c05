/*
 * Any bytes as a script: it is refused with a message, or it parses, and what parses ends.
 *
 * Running it too would test the simulator more than the language; the first statements decide that
 * anyway. So only the checks before a run are made.
 */
#define _GNU_SOURCE
#include "lab/lab.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[64];
	int file = input_file(data, bytes, path);
	struct lab_options options = {.jobs = 1};
	struct lab_script *script = lab_script_load(input_errors(), path);

	if (script) {
		lab_run_check(input_errors(), script, &options);
		lab_script_free(script);
	}
	close(file);
	return 0;
}
