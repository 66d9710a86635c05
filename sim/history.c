/*
 * Earlier contents of lines, so that a report can say whose bytes a stale read returned.
 *
 * Each line that changes has the last few of its contents kept, one for each change of writer (who,
 * on which CPU, under which label): what one statement stores byte by byte is one content. Lines
 * share a fixed table, each at the one place that its number hashes to, and the later one wins:
 * what is forgotten is told as unknown.
 */
#include "sim/internal.h"

#define VERSIONS 4u
#define PLACES 4096u

struct version {
	uint32_t word;   /* who had written it */
	uint32_t tenure; /* owners of the line's frame up to then, as counted here */
};

struct place {
	uint32_t line;   /* number, plus 1; 0: unused */
	uint32_t next;   /* the version to replace next */
	uint32_t count;
	uint32_t tenure; /* now */
	bool kept;       /* the content of now is the youngest version already */
	struct version versions[VERSIONS];
};

struct sim_history {
	uint32_t line_bytes, line_shift;
	struct place places[PLACES];
	uint8_t contents[]; /* [PLACES * VERSIONS * line_bytes] */
};

struct sim_history *sim_history_create(const struct sim_machine *machine,
				       const struct sim_allocator *allocator)
{
	uint32_t line_bytes = machine->l1d.line_bytes;
	size_t bytes = sizeof(struct sim_history) + (size_t)PLACES * VERSIONS * line_bytes;
	struct sim_history *history = allocator->alloc(allocator->context, bytes, 64);

	if (!history)
		return NULL;
	history->line_bytes = line_bytes;
	history->line_shift = (uint32_t)__builtin_ctz(line_bytes);
	return history;
}

void sim_history_destroy(struct sim_history *history, const struct sim_allocator *allocator)
{
	if (history)
		allocator->free(allocator->context, history);
}

static uint32_t place_of(uint64_t line)
{
	return (uint32_t)(line * 0x9e3779b97f4a7c15u >> 52) % PLACES;
}

static uint8_t *content(struct sim_history *history, uint32_t place, uint32_t version)
{
	return history->contents + ((size_t)place * VERSIONS + version) * history->line_bytes;
}

/* The line's place, its own from now on. */
static uint32_t take_place(struct sim_history *history, uint64_t line)
{
	uint32_t n = place_of(line);
	struct place *place = &history->places[n];

	if (place->line != (uint32_t)line + 1)
		*place = (struct place){ .line = (uint32_t)line + 1 };
	return n;
}

void sim_history_write(struct sim *sim, quire_pa_t pa, unsigned bytes, uint32_t word)
{
	struct sim_history *history = sim->witness.history;
	unsigned shift = history->line_shift;

	for (uint64_t line = pa >> shift; line <= (pa + bytes - 1) >> shift; line++) {
		uint32_t before = sim_witness_word(sim, line << shift);
		uint32_t n = take_place(history, line);
		struct place *place = &history->places[n];

		if (place->kept || (before == word && place->count)) {
			place->kept = false;
			continue;
		}
		place->versions[place->next] = (struct version){before, place->tenure};
		memcpy(content(history, n, place->next),
		       sim->witness.reference.bytes + (line << shift), history->line_bytes);
		place->next = (place->next + 1) % VERSIONS;
		place->count += place->count < VERSIONS;
	}
}

void sim_history_given(struct sim *sim, quire_pa_t pa, uint64_t bytes)
{
	struct sim_history *history = sim->witness.history;
	unsigned shift = history->line_shift;

	for (uint64_t line = pa >> shift; line < (pa + bytes) >> shift; line++) {
		uint32_t n = take_place(history, line);
		struct place *place = &history->places[n];

		/*
		 * The content that the former owner left is a version of its own, whoever writes
		 * next.
		 */
		place->versions[place->next] =
			(struct version){sim_witness_word(sim, line << shift), place->tenure};
		memcpy(content(history, n, place->next),
		       sim->witness.reference.bytes + (line << shift), history->line_bytes);
		place->next = (place->next + 1) % VERSIONS;
		place->count += place->count < VERSIONS;
		place->tenure++;
		place->kept = true;
	}
}

/* The youngest content that has these bytes at that place. */
void sim_history_search(const struct sim *sim, struct sim_violation *violation)
{
	struct sim_history *history = sim->witness.history;
	uint64_t line = violation->pa >> history->line_shift;
	size_t offset = violation->pa & (history->line_bytes - 1);
	uint32_t n = place_of(line);
	const struct place *place = &history->places[n];

	if (place->line != (uint32_t)line + 1)
		return;
	for (uint32_t i = 0; i < place->count; i++) {
		uint32_t version = (place->next + VERSIONS - 1 - i) % VERSIONS;

		if (memcmp(content(history, n, version) + offset, &violation->got,
			   violation->bytes) != 0)
			continue;
		violation->got_known = true;
		violation->got_author = sim_author_of(place->versions[version].word);
		violation->got_former = place->versions[version].tenure != place->tenure;
		return;
	}
}
