/*
 * Result files: written under a temporary name in the same directory, renamed when complete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/output.h"

static bool refuse(struct output *output, const char *path, const char *why)
{
	fprintf(stderr, "quire: --json %s: %s\n", path, why);
	output_drop(output);
	return false;
}

/* The existing file behind symbolic links, or the path as it is. */
static char *real_file(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

static bool open_temporary(struct output *output, const char *path)
{
	mode_t mask = umask(0);
	size_t bytes;
	int file;

	umask(mask);
	output->final = real_file(path);
	bytes = output->final ? strlen(output->final) + 8 : 0;
	output->temporary = bytes ? malloc(bytes) : NULL;
	if (!output->temporary)
		return refuse(output, path, "not enough memory");
	snprintf(output->temporary, bytes, "%s.XXXXXX", output->final);
	file = mkstemp(output->temporary);
	if (file < 0) {
		const char *why = strerror(errno);

		free(output->temporary);
		output->temporary = NULL;
		return refuse(output, path, why);
	}
	if (fchmod(file, 0666 & ~mask) == 0)
		output->to = fdopen(file, "w");
	if (output->to)
		return true;
	close(file);
	return refuse(output, path, "cannot be opened");
}

bool output_open(struct output *output, const char *path)
{
	struct stat status;

	*output = (struct output){0};
	if (strcmp(path, "-") == 0) {
		output->to = stdout;
		return true;
	}
	if (stat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode))
			return refuse(output, path, "is a directory, expected a file");
		if (access(path, W_OK) != 0)
			return refuse(output, path, strerror(errno));
		if (!S_ISREG(status.st_mode)) {
			output->to = fopen(path, "w");
			return output->to || refuse(output, path, strerror(errno));
		}
	}
	return open_temporary(output, path);
}

bool output_finish(struct output *output)
{
	bool good = fflush(output->to) == 0 && !ferror(output->to);

	if (output->to != stdout)
		good = fclose(output->to) == 0 && good;
	output->to = NULL;
	if (good && output->final)
		good = rename(output->temporary, output->final) == 0;
	if (!good)
		fprintf(stderr, "quire: the results could not be written: %s\n", strerror(errno));
	else {
		free(output->temporary);
		output->temporary = NULL;
	}
	output_drop(output);
	return good;
}

void output_drop(struct output *output)
{
	if (output->to && output->to != stdout)
		fclose(output->to);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	free(output->final);
	*output = (struct output){0};
}
