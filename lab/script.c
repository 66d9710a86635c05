/*
 * A whole script: loaded, parsed, its headers gathered.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lab/script.h"

bool lab_labels_contain(const char *labels, const char *label)
{
	size_t length = strlen(label);

	while (*labels) {
		size_t here = strcspn(labels, ",");

		if (here == length && strncmp(labels, label, length) == 0)
			return true;
		labels += here + (labels[here] == ',');
	}
	return false;
}

bool lab_key_is_policy(const char *key)
{
	return lab_policy_question(key) || strcmp(key, "fault_around") == 0;
}

bool lab_key_is_figure(const char *key)
{
	return strchr(key, '.') != NULL;
}

bool lab_key_is_variable(const char *key)
{
	return !lab_key_is_policy(key) && !lab_key_is_figure(key) && strcmp(key, "machine") != 0;
}

size_t lab_variable_length(const char *at)
{
	size_t length = 0;

	if (isalpha((unsigned char)*at) || *at == '_')
		while (isalnum((unsigned char)at[length]) || at[length] == '_')
			length++;
	return length;
}

/* "mapped-read" of "experiments/mapped-read.q". */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *start = slash ? slash + 1 : path;
	const char *dot = strrchr(start, '.');

	return lab_copy_text(start, dot && dot > start ? (size_t)(dot - start) : strlen(start));
}

struct lab_script *lab_script_load(FILE *errors, const char *path)
{
	struct lab_script *script;
	size_t bytes;
	char *text = lab_read_file(errors, path, &bytes);

	if (!text)
		return NULL;
	script = lab_new(sizeof(*script));
	script->text = text;
	script->path = lab_copy_text(path, strlen(path));
	script->name = name_of(path);
	script->source = (struct lab_source){.file = script->path, .text = text, .bytes = bytes};
	if (lab_script_parse(errors, script) && lab_script_check(errors, script))
		return script;
	lab_script_free(script);
	return NULL;
}

void lab_script_free(struct lab_script *script)
{
	if (!script)
		return;
	lab_arena_free(&script->arena);
	free(script->variants);
	free(script->path);
	free(script->name);
	free(script->text);
	free(script);
}

const char *lab_script_machine(const struct lab_script *script)
{
	return script->machine;
}

bool lab_script_by_name(const struct lab_script *script)
{
	return script->by_name;
}

size_t lab_script_variants(const struct lab_script *script)
{
	return script->variant_count;
}
