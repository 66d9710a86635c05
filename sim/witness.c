/*
 * The witness: knows what every read should have returned.
 *
 * The reference is memory as it would be were there no caches: every store, in program order, goes
 * to it at once, whoever made it. Every read is compared with it, and a line that differs is a
 * violation. It stops there: what a program computed from stale bytes and stores elsewhere is what
 * it stored, and the reference takes it, so that one mistake is not reported again at every copy of
 * its result.
 *
 * What kind of fault it was is worked out when it is seen, from where the right bytes lie at that
 * moment (diagnose.c). Two kinds show in no comparison: a TLB entry that should have gone (tlb.c)
 * and bytes that a former owner left (owners.c); they come in through sim_witness_report. Half of
 * the places for descriptions are for the first violations, whatever they are; the other half for
 * those at places not seen yet, so that a page of stale lines does not hide what follows it.
 *
 * Beside the reference lies one word a line that says who wrote the line last:
 *
 *	31      26 25   24 23                    0
 *	+---------+-------+-----------------------+
 *	|   cpu   | party |         label         |
 *	+---------+-------+-----------------------+
 */
#include "sim/internal.h"

#define LABEL_MASK 0xffffffu
#define PARTY_SHIFT 24
#define CPU_SHIFT 26

_Static_assert(QUIRE_CPUS_MAX <= 64, "a writer's CPU has six bits");

/* Fetches do not write: the other four have numbers of two bits. */
static const enum sim_party writer_parties[] = {
	SIM_PARTY_USER,
	SIM_PARTY_KERNEL,
	SIM_PARTY_WALKER,
	SIM_PARTY_DEVICE,
};

static uint32_t writer_word(const struct sim *sim, enum sim_party party)
{
	uint32_t number = 0;

	while (number < 3 && writer_parties[number] != party)
		number++;
	return (uint32_t)sim->current << CPU_SHIFT | number << PARTY_SHIFT |
	       (sim->label & LABEL_MASK);
}

int sim_witness_create(struct sim_witness *witness, const struct sim_machine *machine,
		       const struct sim_allocator *allocator)
{
	uint64_t lines = machine->memory_bytes / machine->l1d.line_bytes;

	if (sim_memory_create(&witness->reference, machine->memory_bytes, allocator))
		return -QUIRE_ENOMEM;
	return sim_memory_create(&witness->writers, lines * sizeof(uint32_t), allocator);
}

void sim_witness_destroy(struct sim_witness *witness, const struct sim_allocator *allocator)
{
	sim_memory_destroy(&witness->reference, allocator);
	sim_memory_destroy(&witness->writers, allocator);
	sim_history_destroy(witness->history, allocator);
}

uint32_t sim_witness_word(const struct sim *sim, quire_pa_t pa)
{
	const uint32_t *writers = (const uint32_t *)(const void *)sim->witness.writers.bytes;

	return writers[pa >> sim->cpu->l1d.line_shift];
}

struct sim_author sim_author_of(uint32_t word)
{
	return (struct sim_author){
		.party = writer_parties[(word >> PARTY_SHIFT) & 3],
		.cpu = word >> CPU_SHIFT,
		.label = word & LABEL_MASK,
	};
}

struct sim_author sim_witness_author(const struct sim *sim, quire_pa_t pa)
{
	return sim_author_of(sim_witness_word(sim, pa));
}

/* The same access at the same places of the program. */
static bool same_place(const struct sim_violation *a, const struct sim_violation *b)
{
	return a->observer == b->observer && a->cpu == b->cpu && a->label == b->label &&
	       a->writer == b->writer && a->writer_cpu == b->writer_cpu &&
	       a->writer_label == b->writer_label &&
	       (a->kind == SIM_KIND_STALE_TLB) == (b->kind == SIM_KIND_STALE_TLB) &&
	       (a->cause == SIM_CAUSE_NOT_CLEARED) == (b->cause == SIM_CAUSE_NOT_CLEARED);
}

/*
 * Counts a violation and gives the place for its description; NULL: it is counted only. Its parties
 * are filled in.
 */
static struct sim_violation *keep(struct sim *sim, struct sim_violation *violation)
{
	struct sim_witness *witness = &sim->witness;
	struct sim_author writer = sim_witness_author(sim, violation->pa);
	struct sim_violation *same = NULL;

	violation->cpu = sim->current;
	violation->label = sim->label;
	violation->writer = writer.party;
	violation->writer_cpu = writer.cpu;
	violation->writer_label = writer.label;
	witness->violations++;
	for (unsigned i = 0; i < witness->kept && !same; i++)
		if (same_place(&witness->first[i], violation))
			same = &witness->first[i];
	if (witness->kept == SIM_VIOLATIONS_KEPT ||
	    (same && witness->kept >= SIM_VIOLATIONS_KEPT / 2)) {
		if (same)
			same->repeats++;
		return NULL;
	}
	witness->first[witness->kept] = *violation;
	return &witness->first[witness->kept++];
}

void sim_witness_report(struct sim *sim, const struct sim_violation *violation)
{
	struct sim_violation copy = *violation;

	keep(sim, &copy);
}

/* One line's part of a read that differs. */
static void line_differs(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa,
			 const uint8_t *got, unsigned bytes)
{
	const uint8_t *expected = sim->witness.reference.bytes + pa;
	struct sim_violation violation = { .observer = observer, .site = QUIRE_SITE_COUNT }, *kept;
	unsigned at = 0;

	while (at < bytes && got[at] == expected[at])
		at++;
	if (at == bytes)
		return;
	violation.va = va ? va + at : 0;
	violation.pa = pa + at;
	violation.bytes = bytes - at < 8 ? bytes - at : 8;
	for (unsigned i = violation.bytes; i-- > 0;) {
		violation.expected = violation.expected << 8 | expected[at + i];
		violation.got = violation.got << 8 | got[at + i];
	}
	kept = keep(sim, &violation);
	if (kept)
		sim_diagnose(sim, kept);
}

void sim_witness_read(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa,
		      const void *got, unsigned bytes)
{
	unsigned line_bytes = sim->cpu->l1d.line_bytes;
	const uint8_t *from = got;

	if (sim->owners.count && observer != SIM_PARTY_KERNEL)
		sim_owners_read(sim, observer, va, pa, got, bytes);
	if (memcmp(sim->witness.reference.bytes + pa, got, bytes) == 0)
		return;
	while (bytes) {
		unsigned part = line_bytes - (unsigned)(pa & (line_bytes - 1));

		if (part > bytes)
			part = bytes;
		line_differs(sim, observer, va, pa, from, part);
		va = va ? va + part : 0;
		pa += part, from += part, bytes -= part;
	}
}

void sim_witness_write(struct sim *sim, enum sim_party writer, quire_pa_t pa, const void *from,
		       unsigned bytes)
{
	uint32_t *writers = (uint32_t *)(void *)sim->witness.writers.bytes;
	uint32_t word = writer_word(sim, writer);
	unsigned shift = sim->cpu->l1d.line_shift;
	quire_pa_t last = (pa + bytes - 1) >> shift;

	if (sim->witness.history)
		sim_history_write(sim, pa, bytes, word);
	if (sim->owners.count)
		sim_owners_wrote(sim, pa, bytes);
	memcpy(sim->witness.reference.bytes + pa, from, bytes);
	sim_touch(sim->allocator.touched, sim->witness.reference.bytes + pa, bytes);
	for (quire_pa_t line = pa >> shift; line <= last; line++)
		writers[line] = word;
	sim_touch(sim->allocator.touched, &writers[pa >> shift],
		  (last - (pa >> shift) + 1) * sizeof(*writers));
}

void sim_witness_dropped(struct sim *sim, const struct cache *cache, uint32_t set, unsigned way)
{
	struct sim_witness *witness = &sim->witness;
	quire_pa_t pa = cache_line_pa(cache, set, way);
	struct sim_drop *drop = &witness->drops[witness->next_drop];

	if (memcmp(witness->reference.bytes + pa, cache_line(cache, set, way), cache->line_bytes) !=
	    0)
		return;
	witness->next_drop = (witness->next_drop + 1) % SIM_DROPS_KEPT;
	*drop = (struct sim_drop){
		.line = pa >> cache->line_shift,
		.writer = sim_witness_word(sim, pa),
		.label = sim->label,
		.site = sim->site,
		.used = true,
	};
}

void sim_forget_violations(struct sim *sim)
{
	sim->witness.violations = 0;
	sim->witness.kept = 0;
}

uint64_t sim_violations(const struct sim *sim)
{
	return sim->witness.violations;
}

const struct sim_violation *sim_violation(const struct sim *sim, unsigned n)
{
	return n < sim->witness.kept ? &sim->witness.first[n] : NULL;
}

const char *sim_kind_name(enum sim_kind kind)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_KINDS(X)
#undef X
	};

	return (unsigned)kind < SIM_KIND_COUNT ? names[kind] : NULL;
}

const char *sim_cause_name(enum sim_cause cause)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_CAUSES(X)
#undef X
	};

	return (unsigned)cause < SIM_CAUSE_COUNT ? names[cause] : NULL;
}
