/*
 * Policies by name: what --policy and scripts say, and what reports print.
 *
 * One table of questions and their answers; names are those of include/quire/policy.h.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"

#define ANSWERS_MAX      5
#define FAULT_AROUND     "fault_around"
#define FAULT_AROUND_MAX 512

struct question {
	const char *name;
	size_t offset;                    /* of its enum in struct quire_policy */
	const char *answers[ANSWERS_MAX]; /* in the order of the enum */
	size_t count;
};

static const struct question questions[] = {
	{"coherence",
	 offsetof(struct quire_policy, coherence),
	 {"eager", "mapping", "page", "exact"},
	 4},
	{"pte_clean", offsetof(struct quire_policy, pte_clean), {"always", "entries", "detect"}, 3},
	{"flush_range",
	 offsetof(struct quire_policy, flush_range),
	 {"line", "whole", "fixed", "calibrated", "calibrated-split"},
	 5},
	{"tmpfs_clear", offsetof(struct quire_policy, tmpfs_clear), {"first", "ends"}, 2},
	{"file_times", offsetof(struct quire_policy, file_times), {"never", "fault", "subtree"}, 3},
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static const struct question *find_question(const char *name)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		if (strcmp(questions[i].name, name) == 0)
			return &questions[i];
	return NULL;
}

bool lab_policy_question(const char *name)
{
	return find_question(name) != NULL;
}

static unsigned *answer_field(struct quire_policy *policy, const struct question *question)
{
	return (unsigned *)(void *)((char *)policy + question->offset);
}

/* The answer's number; -1: it is none of them. */
static int find_answer(const struct question *question, const char *name)
{
	for (size_t i = 0; i < question->count; i++)
		if (strcmp(question->answers[i], name) == 0)
			return (int)i;
	return -1;
}

static const char *no_question(const char *name, char *message, size_t bytes)
{
	const char *names[QUESTIONS + 1];
	const char *nearest;
	int used;

	for (size_t i = 0; i < QUESTIONS; i++)
		names[i] = questions[i].name;
	names[QUESTIONS] = FAULT_AROUND;
	nearest = lab_nearest(name, names, QUESTIONS + 1);
	used = snprintf(message, bytes, "unknown policy '%.60s'", name);
	if (nearest)
		snprintf(message + used, bytes - (size_t)used, ", did you mean '%s'?", nearest);
	else
		snprintf(message + used, bytes - (size_t)used,
			 ", expected coherence, pte_clean, flush_range, tmpfs_clear, file_times "
			 "or " FAULT_AROUND);
	return message;
}

static const char *no_answer(const struct question *question, const char *name, char *message,
			     size_t bytes)
{
	const char *nearest = lab_nearest(name, question->answers, question->count);
	int used = snprintf(message, bytes, "%s has no answer '%.60s', ", question->name, name);

	if (nearest)
		used += snprintf(message + used, bytes - (size_t)used, "did you mean '%s'? ",
				 nearest);
	used += snprintf(message + used, bytes - (size_t)used, "(expected");
	for (size_t i = 0; i < question->count && (size_t)used < bytes; i++)
		used += snprintf(message + used, bytes - (size_t)used, "%s %s%s", i ? "," : "",
				 question->answers[i],
				 strcmp(question->answers[i], "fixed") == 0 ? ":<bytes>" : "");
	if ((size_t)used < bytes)
		snprintf(message + used, bytes - (size_t)used, ")");
	return message;
}

static const char *set_fixed(struct quire_policy *policy, const char *size, char *message,
			     size_t bytes)
{
	uint64_t threshold;

	if (!lab_parse_size(size, &threshold) || threshold == 0 || threshold > SIZE_MAX) {
		snprintf(message, bytes,
			 "flush_range=fixed needs a size above 0, as in fixed:512K, not '%.60s'",
			 size);
		return message;
	}
	policy->flush_range = QUIRE_FLUSH_FIXED;
	policy->flush_fixed_bytes = (size_t)threshold;
	return NULL;
}

static const char *set_fault_around(struct quire_policy *policy, const char *text, char *message,
				    size_t bytes)
{
	char *end;
	unsigned long pages = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || pages == 0 || pages > FAULT_AROUND_MAX ||
	    (pages & (pages - 1))) {
		snprintf(message, bytes,
			 FAULT_AROUND " is a power of two from 1 to %d (pages), not '%.60s'",
			 FAULT_AROUND_MAX, text);
		return message;
	}
	policy->fault_around_pages = (unsigned)pages;
	return NULL;
}

const char *lab_policy_set(struct quire_policy *policy, const char *name, const char *answer,
			   char *message, size_t message_bytes)
{
	const struct question *question = find_question(name);
	int number;

	if (strcmp(name, FAULT_AROUND) == 0)
		return set_fault_around(policy, answer, message, message_bytes);
	if (!question)
		return no_question(name, message, message_bytes);
	if (strcmp(name, "flush_range") == 0 && strncmp(answer, "fixed", 5) == 0 &&
	    (answer[5] == ':' || !answer[5]))
		return set_fixed(policy, answer + (answer[5] ? 6 : 5), message, message_bytes);
	number = find_answer(question, answer);
	if (number < 0)
		return no_answer(question, answer, message, message_bytes);
	*answer_field(policy, question) = (unsigned)number;
	return NULL;
}

void lab_policy_print(const struct quire_policy *policy, char *text, size_t bytes)
{
	struct quire_policy copy = *policy;
	size_t used = 0;

	for (size_t i = 0; i < QUESTIONS && used < bytes; i++) {
		const struct question *question = &questions[i];
		unsigned answer = *answer_field(&copy, question);

		used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s", i ? "," : "",
					 question->name,
					 answer < question->count ? question->answers[answer]
								  : "?");
		if (question->offset == offsetof(struct quire_policy, flush_range) &&
		    answer == QUIRE_FLUSH_FIXED && used < bytes)
			used += (size_t)snprintf(text + used, bytes - used, ":%zu",
						 policy->flush_fixed_bytes);
	}
	if (used < bytes)
		snprintf(text + used, bytes - used, "," FAULT_AROUND "=%u",
			 policy->fault_around_pages);
}
