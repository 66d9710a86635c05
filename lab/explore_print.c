/*
 * What a search has to say: its final line, the report of a run that fails, and the script that
 * repeats it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab/explore_print.h"
#include "lab/host.h"
#include "lab/violation.h"

/* 18234112 as "18,234,112". */
static const char *grouped(uint64_t number, char text[32])
{
	char digits[24];
	size_t length =
		       (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number),
	       to = 0;

	for (size_t n = 0; n < length; n++) {
		if (n && (length - n) % 3 == 0)
			text[to++] = ',';
		text[to++] = digits[n];
	}
	text[to] = '\0';
	return text;
}

static const char *plural(unsigned count)
{
	return count == 1 ? "" : "s";
}

/* "1,234 states, 5,678 steps, 2 CPUs, 2 pages" */
static void print_covered(FILE *to, const struct explore_check *check)
{
	const struct explore_result *result = &check->result;
	char states[32], moves[32];
	unsigned cpus = check->setting.machine.cpus;

	fprintf(to, "%s %s, %s steps, %u CPU%s, %u page%s", grouped(result->states, states),
		check->random ? "walks" : "states", grouped(result->moves, moves), cpus,
		plural(cpus), check->setting.pages, plural(check->setting.pages));
	fprintf(to, ", %s, ", check->policy);
	if (!check->interleave)
		fputs("calls one after the other, ", to);
	else if (check->random)
		fputs("calls at once, ", to);
	else
		fprintf(to, "two calls at once in runs of %u steps: %s, ", result->together,
			grouped(result->pairs, moves));
	fprintf(to, "%.1f s, %.0f steps/s\n", result->seconds,
		result->seconds > 0 ? (double)result->moves / result->seconds : 0);
}

void explore_print_end(FILE *to, const struct explore_check *check)
{
	const struct explore_result *result = &check->result;

	fprintf(to, "%s: ", check->machine);
	switch (result->end) {
	case EXPLORE_SAFE:
		if (check->random)
			fprintf(to, "no walk of %u steps failed: ", check->depth);
		else if (result->exhausted)
			fprintf(to, "safe at any depth, no state is new after depth %u: ",
				result->depth);
		else
			fprintf(to, "safe to depth %u: ", result->depth);
		break;
	case EXPLORE_OUT_OF_TIME:
	case EXPLORE_INTERRUPTED:
		fprintf(to,
			"%s: ", result->end == EXPLORE_INTERRUPTED ? "interrupted" : "out of time");
		if (!check->random)
			fprintf(to, "safe to depth %u; depth %u is %.0f %% done: ", result->depth,
				result->depth + 1, 100 * result->part);
		break;
	case EXPLORE_REFUTED:
		fprintf(to, "refuted in %u steps: ",
			explore_steps(result->run, result->length));
		break;
	case EXPLORE_FAILED:
		fprintf(to, "no result: %s\n", result->why);
		return;
	}
	print_covered(to, check);
}

/* --- The run ---------------------------------------------------------------------------------- */

static void first_line(const struct explore_job *job, char *text, size_t bytes)
{
	const struct sim_violation *violation = sim_violation(job->world->sim, 0);
	struct lab_violation named = {.line = 0};

	explore_what(job, text, bytes);
	if (*text || !violation)
		return;
	named.sim = *violation;
	violation_line(&named, text, bytes);
}

void explore_describe(struct explore_check *check, struct explore_job *job)
{
	struct explore_result *result = &check->result;

	explore_job_restore(job, EXPLORE_ROOT);
	for (unsigned n = 0; n < result->length; n++) {
		char text[300];

		explore_move_text(job->world, result->run[n], text, sizeof(text));
		check->steps[n] = lab_copy_text(text, strlen(text));
		explore_do(job, result->run[n]);
	}
	first_line(job, check->what, sizeof(check->what));
	snprintf(check->kind, sizeof(check->kind), "%.*s", (int)strcspn(check->what, ":"),
		 check->what);
	check->has_violation = sim_violation(job->world->sim, 0) != NULL;
	if (check->has_violation)
		check->violation = *sim_violation(job->world->sim, 0);
}

void explore_print_run(FILE *to, const struct explore_check *check, bool colour)
{
	const struct sim_violation *violation = &check->violation;

	fprintf(to, "%s%s%s\n", colour ? "\033[1;31m" : "", check->what, colour ? "\033[0m" : "");
	for (unsigned n = 0; n < check->result.length; n++) {
		const char *mark = "";

		if (check->has_violation && n + 1 == violation->label)
			mark = "   <- read here";
		else if (check->has_violation && n + 1 == violation->writer_label)
			mark = "   <- written here";
		fprintf(to, "  %2u  %s%s\n", n + 1, check->steps[n], mark);
	}
	if (check->has_violation) {
		struct lab_violation named = {.sim = *violation};

		fprintf(to, "  reader    physical address 0x%llx through virtual address 0x%llx\n",
			(unsigned long long)violation->pa, (unsigned long long)violation->va);
		violation_print_due(to, &named, &check->setting.policy);
		violation_print_bytes(to, &named);
		violation_print_copies(to, &named);
	}
	if (check->script)
		fprintf(to, "  repeat it: quire run %s\n", check->script);
	fprintf(to, "SUMMARY: %s on %s in %u steps\n\n", check->kind, check->machine,
		explore_steps(check->result.run, check->result.length));
}

/* --- The script ------------------------------------------------------------------------------- */

bool explore_write_script(FILE *to, const struct explore_check *check)
{
	const char *dropped = quire_site_name(check->setting.dropped);

	fprintf(to, "title   %s\n", check->what);
	fprintf(to, "machine %s\n", check->machine_file);
	fprintf(to, "policy ");
	for (const char *at = check->policy; *at; at++)
		fputc(*at == ',' ? ' ' : *at, to);
	fprintf(to, "\n\nexplore cpus=%u pages=%u", check->setting.machine.cpus,
		check->setting.pages);
	if (dropped)
		fprintf(to, " drop=%s", dropped);
	if (explore_mutant_name(check->setting.mutant))
		fprintf(to, " mutant=%s", explore_mutant_name(check->setting.mutant));
	fputc('\n', to);
	for (unsigned n = 0; n < check->result.length; n++)
		fprintf(to, "step    %s\n", check->steps[n]);
	return !ferror(to);
}

bool explore_save_script(struct explore_check *check, const char *path)
{
	FILE *to = fopen(path, "w");
	bool good;

	if (!to) {
		fprintf(stderr, "quire: %s: %s\n", path, strerror(errno));
		return false;
	}
	good = explore_write_script(to, check);
	if (fclose(to) != 0 || !good) {
		fprintf(stderr, "quire: %s could not be written\n", path);
		return false;
	}
	check->script = lab_copy_text(path, strlen(path));
	return true;
}

void explore_check_free(struct explore_check *check)
{
	for (unsigned n = 0; n < EXPLORE_RUN_MAX; n++)
		free(check->steps[n]);
	free(check->script);
	free(check->machine);
	free(check->machine_file);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *end_word(enum explore_end end)
{
	static const char *const words[] = {
		[EXPLORE_SAFE] = "safe",
		[EXPLORE_REFUTED] = "refuted",
		[EXPLORE_OUT_OF_TIME] = "out of time",
		[EXPLORE_INTERRUPTED] = "interrupted",
		[EXPLORE_FAILED] = "failed",
	};

	return words[end];
}

static json_t *run_json(const struct explore_check *check)
{
	json_t *steps = json_array();

	for (unsigned n = 0; n < check->result.length; n++)
		json_array_append_new(steps, json_string(check->steps[n]));
	return json_pack("{s:s, s:s, s:s?, s:o}", "what", check->what, "kind", check->kind,
			 "script", check->script, "steps", steps);
}

json_t *explore_json(const struct explore_check *check)
{
	const struct explore_result *result = &check->result;
	bool refuted = result->end == EXPLORE_REFUTED;

	return json_pack("{s:s, s:s, s:i, s:i, s:s?, s:s?, s:s, s:i, s:b, s:f, s:I, s:I, s:f, s:I, "
			 "s:i, s:s?, s:o}",
			 "machine", check->machine, "policy", check->policy, "cpus",
			 (int)check->setting.machine.cpus, "pages", (int)check->setting.pages,
			 "dropped", quire_site_name(check->setting.dropped), "mutant",
			 explore_mutant_name(check->setting.mutant), "end", end_word(result->end),
			 "depth", (int)result->depth, "exhausted", (int)result->exhausted,
			 "part_of_next_depth", result->part, check->random ? "walks" : "states",
			 (json_int_t)result->states, "steps", (json_int_t)result->moves, "seconds",
			 result->seconds, "two_at_once", (json_int_t)result->pairs,
			 "two_at_once_depth", (int)result->together, "why", result->why, "violation",
			 refuted ? run_json(check) : json_null());
}
