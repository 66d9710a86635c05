/*
 * The witness: knows what every read should have returned.
 *
 * The reference is memory as it would be were there no caches: every store, in program order, goes to it at
 * once, whoever made it. Every read is compared with it, and a line that differs is a violation. It stops
 * there: what a program computed from stale bytes and stores elsewhere is what it stored, and the
 * reference takes it, so that one mistake is not reported again at every copy of its result.
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

	while (writer_parties[number] != party && number < 3)
		number++;
	return (uint32_t)sim->current << CPU_SHIFT | number << PARTY_SHIFT | (sim->label & LABEL_MASK);
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
}

static void keep_violation(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa, const uint8_t *got,
			   unsigned bytes)
{
	struct sim_witness *witness = &sim->witness;
	const uint32_t *writers = (const uint32_t *)(const void *)witness->writers.bytes;
	uint32_t word = writers[pa >> sim->cpu->l1d.line_shift];
	struct sim_violation *violation = &witness->first[witness->kept++];

	*violation = (struct sim_violation){
		.observer = observer,
		.cpu = sim->current,
		.va = va,
		.pa = pa,
		.bytes = bytes,
		.writer = writer_parties[(word >> PARTY_SHIFT) & 3],
		.writer_cpu = word >> CPU_SHIFT,
		.writer_label = word & LABEL_MASK,
		.label = sim->label,
	};
	for (unsigned i = bytes; i-- > 0;) {
		violation->expected = violation->expected << 8 | witness->reference.bytes[pa + i];
		violation->got = violation->got << 8 | got[i];
	}
}

/* One line's part of a read that differs. */
static void line_differs(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa, const uint8_t *got,
			 unsigned bytes)
{
	const uint8_t *expected = sim->witness.reference.bytes + pa;
	unsigned at = 0;

	while (at < bytes && got[at] == expected[at])
		at++;
	if (at == bytes)
		return;
	sim->witness.violations++;
	if (sim->witness.kept < SIM_VIOLATIONS_KEPT)
		keep_violation(sim, observer, va ? va + at : 0, pa + at, got + at, bytes - at < 8 ? bytes - at : 8);
}

void sim_witness_read(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa, const void *got,
		      unsigned bytes)
{
	unsigned line_bytes = sim->cpu->l1d.line_bytes;
	const uint8_t *from = got;

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

void sim_witness_write(struct sim *sim, enum sim_party writer, quire_pa_t pa, const void *from, unsigned bytes)
{
	uint32_t *writers = (uint32_t *)(void *)sim->witness.writers.bytes;
	uint32_t word = writer_word(sim, writer);
	unsigned shift = sim->cpu->l1d.line_shift;

	memcpy(sim->witness.reference.bytes + pa, from, bytes);
	if (sim->allocator.touched)
		memset(sim->allocator.touched + (pa >> QUIRE_PAGE_SHIFT), 1,
		       ((pa + bytes - 1) >> QUIRE_PAGE_SHIFT) - (pa >> QUIRE_PAGE_SHIFT) + 1);
	for (quire_pa_t line = pa >> shift; line <= (pa + bytes - 1) >> shift; line++)
		writers[line] = word;
}

uint64_t sim_violations(const struct sim *sim)
{
	return sim->witness.violations;
}

const struct sim_violation *sim_violation(const struct sim *sim, unsigned n)
{
	return n < sim->witness.kept ? &sim->witness.first[n] : NULL;
}
