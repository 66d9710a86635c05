/*
 * Where machines and experiments are: in QUIRE_DATA, else beside the program or a few directories
 * above it (where a build directory stands in the source tree), else here.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/data.h"
#include "lab/lab.h"

static bool is_machines(const char *directory)
{
	char path[4200];
	struct stat status;

	snprintf(path, sizeof(path), "%s/machines", directory);
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Looks beside the program and up to three directories above: build/quire,
 * build/asan/unit/lab_machine. */
static bool beside_program(char *directory, size_t bytes)
{
	ssize_t length = readlink("/proc/self/exe", directory, bytes - 1);

	if (length <= 0)
		return false;
	directory[length] = '\0';
	for (int up = 0; up < 4; up++) {
		char *slash = strrchr(directory, '/');

		if (!slash || slash == directory)
			return false;
		*slash = '\0';
		if (is_machines(directory))
			return true;
	}
	return false;
}

const char *lab_data_directory(void)
{
	static _Thread_local char directory[4096];
	const char *wanted = getenv("QUIRE_DATA");

	if (wanted && *wanted)
		return wanted;
	return beside_program(directory, sizeof(directory)) ? directory : ".";
}

size_t data_names(const char *directory, const char *ending, char *names[DATA_NAMES_MAX])
{
	struct dirent **entries;
	char path[4400];
	size_t count = 0;
	int found;

	snprintf(path, sizeof(path), "%s/%s", lab_data_directory(), directory);
	found = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < found; i++) {
		char *end = strrchr(entries[i]->d_name, '.');

		if (end && end != entries[i]->d_name && strcmp(end, ending) == 0 &&
		    count < DATA_NAMES_MAX)
			names[count++] =
				strndup(entries[i]->d_name, (size_t)(end - entries[i]->d_name));
		free(entries[i]);
	}
	if (found >= 0)
		free(entries);
	return count;
}

void data_names_free(char *names[DATA_NAMES_MAX], size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
}
