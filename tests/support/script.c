/*
 * Scripts from text, for tests.
 */
#include "tests/support/script.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lab_script *script_from_text(const char *text, char **errors)
{
	char path[] = "/tmp/quire-test-XXXXXX.q";
	int file = mkstemps(path, 2);
	struct lab_script *script;
	size_t bytes;
	FILE *to;

	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(file);
	to = open_memstream(errors, &bytes);
	script = lab_script_load(to, path);
	fclose(to);
	unlink(path);
	return script;
}

struct lab_experiment *script_run(const char *text, char **errors)
{
	struct lab_options options = {.jobs = 1};
	struct lab_script *script = script_from_text(text, errors);
	struct lab_experiment *experiment;
	size_t bytes;
	FILE *to;

	if (!script)
		return NULL;
	free(*errors);
	to = open_memstream(errors, &bytes);
	experiment = lab_run(to, script, &options, NULL);
	fclose(to);
	lab_script_free(script);
	return experiment;
}
