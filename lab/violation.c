/*
 * Violations in words. The first line has the form that sanitizers made familiar, always the same
 * for the same fault, so that it can be searched for and counted.
 */
#include "lab/violation.h"

static const char *const kinds[SIM_PARTY_COUNT] = {
	[SIM_PARTY_USER] = "STALE READ",          [SIM_PARTY_KERNEL] = "STALE READ",
	[SIM_PARTY_FETCH] = "STALE INSTRUCTION",  [SIM_PARTY_WALKER] = "STALE TABLE ENTRY",
	[SIM_PARTY_DEVICE] = "STALE DEVICE READ",
};

static const char *const observers[SIM_PARTY_COUNT] = {
	[SIM_PARTY_USER] = "user load",          [SIM_PARTY_KERNEL] = "kernel load",
	[SIM_PARTY_FETCH] = "instruction fetch", [SIM_PARTY_WALKER] = "table walk",
	[SIM_PARTY_DEVICE] = "device read",
};

static const char *const writers[SIM_PARTY_COUNT] = {
	[SIM_PARTY_USER] = "user store",     [SIM_PARTY_KERNEL] = "kernel store",
	[SIM_PARTY_FETCH] = "fetch",         [SIM_PARTY_WALKER] = "table walk",
	[SIM_PARTY_DEVICE] = "device write",
};

static const char *word(const char *const words[SIM_PARTY_COUNT], enum sim_party party)
{
	return (unsigned)party < SIM_PARTY_COUNT ? words[party] : "unknown party";
}

const char *violation_kind(enum sim_party observer)
{
	return word(kinds, observer);
}

const char *violation_observer(enum sim_party observer)
{
	return word(observers, observer);
}

const char *violation_writer(enum sim_party writer)
{
	return word(writers, writer);
}

/* "cpu1"; devices have none. */
static void print_cpu(enum sim_party party, unsigned cpu, char *text, size_t bytes)
{
	if (party == SIM_PARTY_DEVICE)
		snprintf(text, bytes, "a device");
	else
		snprintf(text, bytes, "cpu%u", cpu);
}

void violation_line(const struct lab_violation *violation, const struct lab_experiment *experiment,
		    const struct lab_variant *variant, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;
	char reader[24], writer[24], missed[40] = "before the script";

	print_cpu(sim->observer, sim->cpu, reader, sizeof(reader));
	print_cpu(sim->writer, sim->writer_cpu, writer, sizeof(writer));
	if (violation->writer_line)
		snprintf(missed, sizeof(missed), "line %u", violation->writer_line);
	snprintf(text, bytes, "%s: %s by %s missed %s by %s (%s:%u missed %s, variant %s)",
		 violation_kind(sim->observer), violation_observer(sim->observer), reader,
		 violation_writer(sim->writer), writer, experiment->name, violation->line, missed,
		 variant->label);
}

void violation_key(const struct lab_violation *violation, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;

	snprintf(text, bytes, "%s/%s/%s/%u/%u", violation_kind(sim->observer),
		 violation_observer(sim->observer), violation_writer(sim->writer), violation->line,
		 violation->writer_line);
}
