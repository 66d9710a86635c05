/*
 * Violations in words. The first line has the form that sanitizers made familiar, always the same
 * for the same fault, so that it can be searched for and counted: no address and no line number is
 * in it, names and colours are.
 */
#include <string.h>

#include "lab/violation.h"

static const char *const observers[SIM_PARTY_COUNT] = {
	[SIM_PARTY_USER] = "load",    [SIM_PARTY_KERNEL] = "kernel load",
	[SIM_PARTY_FETCH] = "fetch",  [SIM_PARTY_WALKER] = "table walk",
	[SIM_PARTY_DEVICE] = "device read",
};

static const char *const writers[SIM_PARTY_COUNT] = {
	[SIM_PARTY_USER] = "store",   [SIM_PARTY_KERNEL] = "kernel store",
	[SIM_PARTY_FETCH] = "fetch",  [SIM_PARTY_WALKER] = "table walk",
	[SIM_PARTY_DEVICE] = "device write",
};

static const char *word(const char *const words[SIM_PARTY_COUNT], enum sim_party party)
{
	return (unsigned)party < SIM_PARTY_COUNT ? words[party] : "unknown party";
}

const char *violation_observer(enum sim_party observer)
{
	return word(observers, observer);
}

const char *violation_writer(enum sim_party writer)
{
	return word(writers, writer);
}

const char *violation_place(unsigned place)
{
	static const char *const places[SIM_PLACE_COUNT] = {
		[SIM_PLACE_L1D] = "L1 D",     [SIM_PLACE_L1I] = "L1 I",
		[SIM_PLACE_L2] = "L2",        [SIM_PLACE_MEMORY] = "memory",
		[SIM_PLACE_STORES] = "store buffer",
	};

	return place < SIM_PLACE_COUNT ? places[place] : "unknown place";
}

/* Statements that are accesses of a program; all others are calls of the kernel. */
static bool is_access(const char *statement)
{
	static const char *const accesses[] = {"load", "store", "execute", "buffer", "file"};

	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++)
		if (strcmp(statement, accesses[i]) == 0)
			return true;
	return false;
}

/* What a kernel does for a statement: "write()", or the fault of "store". Empty: not known. */
static void print_call(const char *statement, char *text, size_t bytes)
{
	if (!*statement)
		text[0] = '\0';
	else if (is_access(statement))
		snprintf(text, bytes, "fault of %s", statement);
	else
		snprintf(text, bytes, "%s()", statement);
}

void violation_reader_text(const struct lab_violation *violation, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;
	const char *what = violation_observer(sim->observer);
	char call[40];

	print_call(violation->statement, call, sizeof(call));
	switch (sim->observer) {
	case SIM_PARTY_DEVICE:
		snprintf(text, bytes, "device read%s%s", *call ? " in " : "", call);
		return;
	case SIM_PARTY_KERNEL:
		snprintf(text, bytes, "%s%s%s by cpu%u", what, *call ? " in " : "", call, sim->cpu);
		return;
	case SIM_PARTY_WALKER:
		if (sim->kind == SIM_KIND_STALE_TLB)
			what = "translation";
		break;
	default:
		break;
	}
	snprintf(text, bytes, "%s by cpu%u%s%s", what, sim->cpu,
		 *violation->map ? " user map " : sim->observer == SIM_PARTY_WALKER ? "" : " user",
		 violation->map);
}

void violation_writer_text(const struct lab_violation *violation, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;
	char call[40];

	print_call(violation->writer_statement, call, sizeof(call));
	if (sim->writer == SIM_PARTY_DEVICE)
		snprintf(text, bytes, "device write%s%s", *call ? " in " : "", call);
	else if (sim->writer == SIM_PARTY_KERNEL && *call)
		snprintf(text, bytes, "%s by cpu%u", call, sim->writer_cpu);
	else
		snprintf(text, bytes, "%s by cpu%u", violation_writer(sim->writer),
			 sim->writer_cpu);
}

/* The copy that says most: the guilty one, else the one that was read. NULL: none has a colour. */
static const struct sim_copy *coloured_copy(const struct sim_violation *sim)
{
	const struct sim_copy *found = NULL;

	for (unsigned i = 0; i < sim->copy_count; i++) {
		const struct sim_copy *copy = &sim->copies[i];

		if (!copy->has_colour || !(copy->guilty || copy->read))
			continue;
		if (!found || copy->guilty)
			found = copy;
	}
	return found;
}

void violation_cause_text(const struct lab_violation *violation, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;
	const struct sim_copy *copy = coloured_copy(sim);
	const char *site = quire_site_name(sim->site);
	const char *cause = sim_cause_name(sim->cause);

	if (!cause)
		cause = "cause unknown";
	if (site && (sim->cause == SIM_CAUSE_DROPPED || sim->cause == SIM_CAUSE_NO_BARRIER))
		snprintf(text, bytes, "%s, %s", cause, site);
	else if (sim->cause == SIM_CAUSE_UPPER_NOT_PURGED)
		snprintf(text, bytes, "%s, level %u", cause, sim->level);
	else if (copy)
		snprintf(text, bytes, "%s, colour %u", cause, copy->colour);
	else
		snprintf(text, bytes, "%s", cause);
}

void violation_line(const struct lab_violation *violation, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;
	const char *kind = sim_kind_name(sim->kind);
	char reader[120], writer[80], cause[80];

	violation_reader_text(violation, reader, sizeof(reader));
	violation_writer_text(violation, writer, sizeof(writer));
	violation_cause_text(violation, cause, sizeof(cause));
	if (sim->cause == SIM_CAUSE_NOT_CLEARED)
		snprintf(text, bytes, "%s: %s saw what %s left (%s)", kind, reader, writer, cause);
	else
		snprintf(text, bytes, "%s: %s missed %s (%s)", kind ? kind : "UNKNOWN", reader,
			 writer, cause);
}

void violation_key(const struct lab_violation *violation, char *text, size_t bytes)
{
	const struct sim_violation *sim = &violation->sim;

	snprintf(text, bytes, "%s/%s/%s/%s/%s%s%u/%u", sim_kind_name(sim->kind),
		 sim_cause_name(sim->cause), violation_observer(sim->observer),
		 violation_writer(sim->writer), violation->map, *violation->map ? "/" : "",
		 violation->line, violation->writer_line);
}

/* --- What was due ----------------------------------------------------------------------- */

static const char *coherence_file(const struct quire_policy *policy)
{
	static const char *const files[] = {
		[QUIRE_COHERENCE_EAGER] = "mm/coherence/eager.c",
		[QUIRE_COHERENCE_MAPPING] = "mm/coherence/mapping.c",
		[QUIRE_COHERENCE_PAGE] = "mm/coherence/page.c",
	};

	if ((unsigned)policy->coherence < sizeof(files) / sizeof(files[0]))
		return files[policy->coherence];
	return "mm/coherence/coherence.c";
}

/* Where observer and writer are a CPU's data accesses: who wrote decides. */
static void due_for_data(const struct sim_violation *sim, const struct quire_policy *policy,
			 struct violation_due *due)
{
	due->file = "mm/coherence/coherence.c";
	if (sim->writer == SIM_PARTY_DEVICE) {
		due->site = quire_site_name(QUIRE_SITE_DMA_FROM_DEVICE_DONE);
		due->latest = "after the device had written, before the line was read";
	} else if (sim->observer == SIM_PARTY_KERNEL) {
		due->site = quire_site_name(QUIRE_SITE_KERNEL_READ);
		due->latest = "just before the kernel read the page";
	} else if (sim->writer == SIM_PARTY_KERNEL) {
		due->site = quire_site_name(QUIRE_SITE_KERNEL_WROTE);
		due->file = coherence_file(policy);
		due->latest = "after the kernel had written if the page was mapped, else when the "
			      "mapping "
			      "appeared (coherence.user-map.data)";
	} else {
		due->site = quire_site_name(QUIRE_SITE_USER_COLOUR);
		due->latest =
			"when the mapping of the other colour or CPU appeared, or the page changed "
			"hands";
	}
}

static void due_by_kind(const struct sim_violation *sim, const struct quire_policy *policy,
			struct violation_due *due)
{
	switch (sim->kind) {
	case SIM_KIND_STALE_INSN:
		due->site = quire_site_name(QUIRE_SITE_USER_MAP_I);
		due->file = "mm/coherence/coherence.c";
		due->latest = "when the mapping became executable, or after the code was written";
		return;
	case SIM_KIND_STALE_TABLE:
		due->site = quire_site_name(QUIRE_SITE_TABLE_ENTRY);
		due->file = "mm/coherence/pte_clean.c";
		due->latest = "after the entry was stored, before the barrier that follows it";
		return;
	case SIM_KIND_STALE_DEVICE:
		due->site = quire_site_name(QUIRE_SITE_DMA_TO_DEVICE);
		due->file = "mm/coherence/coherence.c";
		due->latest = "before the transfer was started";
		return;
	case SIM_KIND_OVERWRITTEN:
		due->site = quire_site_name(QUIRE_SITE_DMA_FROM_DEVICE);
		due->file = "mm/coherence/coherence.c";
		due->latest = "before the transfer was started";
		return;
	default:
		due_for_data(sim, policy, due);
	}
}

static void due_by_cause(const struct sim_violation *sim, struct violation_due *due)
{
	switch (sim->cause) {
	case SIM_CAUSE_NOT_PURGED:
		due->what = "TLB purge";
		due->site = quire_site_name(QUIRE_SITE_TLB_PAGE);
		due->file = "mm/batch.c";
		due->latest = "before the operation that changed the entry returned";
		return;
	case SIM_CAUSE_UPPER_NOT_PURGED:
		due->what = "TLB purge";
		due->site = quire_site_name(QUIRE_SITE_TLB_BATCH);
		due->file = "mm/table.c";
		due->latest = "after the upper entry was stored, before its table was freed and "
			      "the operation returned";
		return;
	case SIM_CAUSE_FRAME_FREED:
		due->what = "TLB purge";
		due->site = quire_site_name(QUIRE_SITE_TLB_BATCH);
		due->file = "mm/batch.c";
		due->latest = "before the frame was freed";
		return;
	case SIM_CAUSE_NOT_CLEARED:
		due->what = "clear";
		due->file = "mm/page.c";
		due->latest = "before anybody but the kernel could read the frame";
		return;
	case SIM_CAUSE_DROPPED:
		due->what = "clean, not invalidation,";
		due->site = quire_site_name(sim->site);
		due->latest = "when the line was invalidated";
		return;
	case SIM_CAUSE_NO_BARRIER:
		due->what = "barrier";
		due->site = quire_site_name(sim->site);
		due->latest = "between the operation and the read";
		return;
	case SIM_CAUSE_STORE_BUFFER:
		due->what = "barrier";
		due->latest = "between the store and the read";
		return;
	case SIM_CAUSE_NOT_CLEANED:
		due->what = "clean";
		return;
	case SIM_CAUSE_NOT_DROPPED:
		due->what = "invalidation";
		return;
	default:
		due->what = "flush";
	}
}

void violation_due(const struct lab_violation *violation, const struct quire_policy *policy,
		   struct violation_due *due)
{
	const struct sim_violation *sim = &violation->sim;
	struct violation_due by_cause = {NULL, NULL, NULL, NULL};

	*due = by_cause;
	due_by_kind(sim, policy, due);
	due_by_cause(sim, &by_cause);
	due->what = by_cause.what;
	if (!by_cause.latest)
		return;
	due->site = by_cause.site;
	due->file = by_cause.file;
	due->latest = by_cause.latest;
}

/* --- Copies ------------------------------------------------------------------------------- */

void violation_copy_text(const struct sim_copy *copy, char *text, size_t bytes)
{
	bool own = copy->place == SIM_PLACE_L1D || copy->place == SIM_PLACE_L1I ||
		   copy->place == SIM_PLACE_STORES;
	bool cached = copy->place != SIM_PLACE_MEMORY && copy->place != SIM_PLACE_STORES;
	char cpu[16] = "", colour[24] = "", where[40] = "";

	if (own)
		snprintf(cpu, sizeof(cpu), "cpu%u ", copy->cpu);
	if (copy->has_colour)
		snprintf(colour, sizeof(colour), ", colour %u", copy->colour);
	if (cached)
		snprintf(where, sizeof(where), ", set %u way %u, %s", copy->set, copy->way,
			 copy->dirty ? "dirty" : "clean");
	if (copy->place == SIM_PLACE_STORES)
		snprintf(text, bytes, "%s%s, waits there", cpu, violation_place(copy->place));
	else
		snprintf(text, bytes, "%s%s%s%s, %s", cpu, violation_place(copy->place), colour,
			 where, copy->right ? "right" : "stale");
}

/* --- Parts of a report -------------------------------------------------------------------- */

void violation_print_due(FILE *to, const struct lab_violation *violation,
			 const struct quire_policy *policy)
{
	char policies[400], *coherence, *end;
	struct violation_due due;

	violation_due(violation, policy, &due);
	lab_policy_print(policy, policies, sizeof(policies));
	coherence = strstr(policies, "coherence=");
	end = coherence ? strchr(coherence, ',') : NULL;
	if (end)
		*end = '\0';
	fprintf(to, "  due       %s", due.what);
	if (due.site)
		fprintf(to, " at %s", due.site);
	if (due.file)
		fprintf(to, ", rule in %s", due.file);
	if (coherence && due.file)
		fprintf(to, " (%s)", coherence);
	fputc('\n', to);
	if (due.latest)
		fprintf(to, "  latest    %s\n", due.latest);
}

/* Bytes in the order of their addresses. */
static void print_bytes(FILE *to, const char *name, uint64_t value, unsigned bytes)
{
	fprintf(to, "  %-9s", name);
	for (unsigned i = 0; i < bytes && i < 8; i++)
		fprintf(to, " %02x", (unsigned)(value >> (8 * i) & 0xff));
	fputc('\n', to);
}

void violation_print_bytes(FILE *to, const struct lab_violation *violation)
{
	const struct sim_violation *sim = &violation->sim;

	if (sim->cause != SIM_CAUSE_NOT_CLEARED && sim->cause != SIM_CAUSE_FRAME_FREED)
		print_bytes(to, "expected", sim->expected, sim->bytes);
	print_bytes(to, "got", sim->got, sim->bytes);
}

void violation_print_copies(FILE *to, const struct lab_violation *violation)
{
	for (unsigned i = 0; i < violation->sim.copy_count; i++) {
		const struct sim_copy *copy = &violation->sim.copies[i];
		char text[120];

		violation_copy_text(copy, text, sizeof(text));
		fprintf(to, "  %-9s %s%s%s\n", i ? "" : "copies", text,
			copy->read ? "  <- read" : "", copy->guilty ? "  <- guilty" : "");
	}
}
