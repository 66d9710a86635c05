/*
 * The end of a result: everything in it is the result's own.
 */
#include <stdlib.h>

#include "lab/result.h"

static void free_contents(struct lab_variant *variant)
{
	for (size_t i = 0; i < variant->measure_count; i++) {
		free(variant->measures[i].name);
		free(variant->measures[i].unit);
		free(variant->measures[i].note);
	}
	for (size_t i = 0; i < variant->times_count; i++)
		free(variant->times[i].step);
	for (size_t i = 0; i < variant->failure_count; i++) {
		free(variant->failures[i].file);
		free(variant->failures[i].text);
	}
	free(variant->measures);
	free(variant->times);
	free(variant->failures);
	free(variant->maintenance);
	free(variant->violations);
}

void lab_variant_clear(struct lab_variant *variant)
{
	struct lab_variant empty = {
		.label = variant->label,
		.policy = variant->policy,
		.machine = variant->machine,
		.policies = variant->policies,
	};

	free_contents(variant);
	*variant = empty;
}

static void free_variant(struct lab_variant *variant)
{
	free_contents(variant);
	free(variant->label);
	free(variant->policy);
	free(variant->machine);
}

void lab_experiment_free(struct lab_experiment *experiment)
{
	if (!experiment)
		return;
	for (size_t i = 0; i < experiment->variant_count; i++)
		free_variant(&experiment->variants[i]);
	free(experiment->variants);
	free(experiment->name);
	free(experiment->file);
	free(experiment->title);
	free(experiment->source);
	free(experiment->machine);
	free(experiment->arguments);
	free(experiment->question);
	free(experiment->size_note);
	free(experiment);
}
