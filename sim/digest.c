/*
 * The digest of a machine's state: see digest.h.
 */
#include "sim/digest.h"

#include "sim/internal.h"
#include "sim/tlb.h"

#define STALE_MAX \
	64u /* different stale contents that get numbers of their own; later ones are hashed */

enum part {
	PART_MEMORY = 1,
	PART_REFERENCE,
	PART_L2,
	PART_L1D,
	PART_L1I,
	PART_TLB,
	PART_STORES,
	PART_OWNERS,
	PART_PENDING,
	PART_UPPER
};

/* Stale contents met so far. */
struct stale {
	uint32_t name;
	unsigned line, number;
	uint64_t hash;
};

struct digesting {
	const struct sim *sim;
	const struct sim_digest *digest;
	struct stale stale[STALE_MAX];
	unsigned stales;
	uint64_t sum; /* of the parts, each mixed: their order does not matter */
};

static uint64_t hash_bytes(const uint8_t *bytes, size_t count)
{
	uint64_t a = count, b = 1, word[2];

	for (size_t done = 0; done + 16 <= count; done += 16) {
		memcpy(word, bytes + done, sizeof(word));
		a = sim_mix(a, word[0]);
		b = sim_mix(b, word[1]);
	}
	return sim_mix(a, b);
}

/* The number of a stale content among those of its line. */
static uint64_t stale_number(struct digesting *d, uint32_t name, unsigned line, uint64_t hash)
{
	unsigned number = 1;

	for (unsigned i = 0; i < d->stales; i++) {
		const struct stale *stale = &d->stale[i];

		if (stale->name != name || stale->line != line)
			continue;
		if (stale->hash == hash)
			return stale->number;
		number = stale->number + 1;
	}
	if (d->stales == STALE_MAX)
		return hash | 1u << 31;
	d->stale[d->stales++] = (struct stale){name, line, number, hash};
	return number;
}

/* 0: as the reference says. */
static uint64_t content_of(struct digesting *d, uint64_t frame, unsigned line, const uint8_t *bytes,
			   size_t count)
{
	const struct sim_digest *digest = d->digest;
	const struct sim_digest_frame *named = &digest->frames[frame];
	const uint8_t *right =
		d->sim->witness.reference.bytes + (frame << QUIRE_PAGE_SHIFT) + line * count;

	if (memcmp(bytes, right, count) == 0)
		return 0;
	if (named->table)
		return digest->table_line(digest->context, frame, line, bytes) | 1;
	return stale_number(d, named->name, line, hash_bytes(bytes, count));
}

static void add(struct digesting *d, enum part part, uint64_t where, uint64_t what)
{
	d->sum += sim_mix(sim_mix(part, where), what);
}

/* --- Memory ----------------------------------------------------------------------------------- */

static void add_memory(struct digesting *d, uint64_t frame)
{
	const struct sim_digest_frame *named = &d->digest->frames[frame];
	unsigned shift = d->sim->cpu->l1d.line_shift;
	size_t bytes = (size_t)1 << shift;
	const uint8_t *memory = d->sim->memory.bytes + (frame << QUIRE_PAGE_SHIFT);
	const uint8_t *right = d->sim->witness.reference.bytes + (frame << QUIRE_PAGE_SHIFT);

	for (uint32_t lines = named->lines; lines; lines &= lines - 1) {
		unsigned line = (unsigned)__builtin_ctz(lines);
		uint64_t where = (uint64_t)named->name << 8 | line;
		uint64_t content = content_of(d, frame, line, memory + line * bytes, bytes);

		if (content)
			add(d, PART_MEMORY, where, content);
		if (named->table)
			add(d, PART_REFERENCE, where,
			    d->digest->table_line(d->digest->context, frame, line,
						  right + line * bytes));
	}
}

/* --- Caches ----------------------------------------------------------------------------------- */

/* The lines of a cache that are of interest. I lines may be shorter than D lines. */
static void add_cache(struct digesting *d, const struct cache *cache, enum part part, unsigned cpu)
{
	unsigned a_page = (unsigned)(QUIRE_PAGE_BYTES >> cache->line_shift);
	uint64_t frames = d->sim->machine.memory_bytes >> QUIRE_PAGE_SHIFT;

	for (uint32_t set = 0; cache->present && cache->valid && set < cache->sets; set++) {
		for (unsigned way = 0; way < cache->ways; way++) {
			uint32_t tag = *cache_tag(cache, set, way);
			const struct sim_digest_frame *named;
			quire_pa_t pa;
			unsigned line;
			uint64_t where, what;

			if (tag == CACHE_ABSENT)
				continue;
			pa = cache_line_pa(cache, set, way);
			line = (unsigned)(pa & QUIRE_PAGE_MASK) >> cache->line_shift;
			if (pa >> QUIRE_PAGE_SHIFT >= frames)
				continue;
			named = &d->digest->frames[pa >> QUIRE_PAGE_SHIFT];
			if (!named->name || !(named->lines >> line & 1))
				continue;
			if (named->free && cache->sets == a_page && !(tag & CACHE_DIRTY))
				continue;
			what = named->free
				       ? 0
				       : content_of(d, pa >> QUIRE_PAGE_SHIFT, line,
						    cache_line(cache, set, way), cache->line_bytes);
			/*
			 * A right and clean line of a table is where any load may bring it again.
			 */
			if (named->table && !what && !(tag & CACHE_DIRTY))
				continue;
			where = (uint64_t)named->name << 32 | cpu << 24 | (set / a_page) << 8 |
				line;
			if (cache->virtual_tag)
				where = sim_mix(where, tag & CACHE_NUMBER);
			add(d, part, where, what << 1 | tag >> 31);
		}
	}
}

/* --- TLBs ------------------------------------------------------------------------------------- */

static void add_translations(struct digesting *d, const struct sim_tlb_state *tlb, enum part part,
			     const struct sim_translation *entries, size_t count, unsigned order)
{
	uint64_t frames = d->sim->machine.memory_bytes >> QUIRE_PAGE_SHIFT;

	for (size_t i = 0; i < count; i++) {
		const struct sim_translation *entry = &entries[i];
		bool global = !tlb->tagged || (entry->bits & SIM_TLB_GLOBAL);
		unsigned space = 0;
		uint32_t name;

		if (!entry->bits)
			continue;
		if (!global) {
			space = d->digest->space(d->digest->context, entry->number);
			if (!space)
				continue;
		}
		name = entry->frame < frames ? d->digest->frames[entry->frame].name : 0;
		add(d, part, entry->page << 8 | space << 4 | order,
		    (uint64_t)name << 16 | entry->bits);
	}
}

static void add_tlb(struct digesting *d, const struct sim_cpu *cpu, unsigned order)
{
	const struct sim_tlb_state *tlb = cpu->tlb;

	add_translations(d, tlb, PART_TLB, tlb->entries, (size_t)tlb->sets * tlb->ways, order);
	add_translations(d, tlb, PART_UPPER, tlb->upper, tlb->upper_count, order);
}

/* --- Owners ----------------------------------------------------------------------------------- */

/* What nobody wrote since its frame was given. */
static void add_owners(struct digesting *d)
{
	for (unsigned i = 0; i < d->sim->owners.count; i++) {
		const struct sim_foreign *foreign = &d->sim->owners.foreign[i];
		const struct sim_digest_frame *named = &d->digest->frames[foreign->frame];

		if (!named->name || named->free)
			continue;
		for (unsigned n = 0; n < foreign->count; n++)
			add(d, PART_OWNERS, named->name,
			    (uint64_t)foreign->from[n] << 16 | foreign->to[n]);
	}
}

/* --- Maintenance that waits ------------------------------------------------------------------- */

/* In the order of issue; operations on frames that have no name are left out. */
static void add_pending(struct digesting *d)
{
	const struct sim_pending *pending = d->sim->pending;
	uint64_t frames = d->sim->machine.memory_bytes >> QUIRE_PAGE_SHIFT, place = 0;

	for (unsigned i = 0; pending && i < pending->count; i++) {
		const struct sim_maintenance *op = &pending->ops[i];
		bool by_line = op->target == SIM_TARGET_DATA || op->target == SIM_TARGET_INSN ||
			       op->target == SIM_TARGET_OUTER;
		uint64_t what = (uint64_t)op->target << 16 | op->action << 8 | op->point << 4 |
				op->all_cpus;
		uint64_t where = sim_mix((uint64_t)op->set << 32 | op->way, op->va);
		unsigned cpu = 0;

		while (cpu + 1 < d->sim->machine.cpus && d->digest->cpus[cpu] != op->cpu)
			cpu++;
		if (by_line) {
			uint32_t name = op->pa >> QUIRE_PAGE_SHIFT < frames
						? d->digest->frames[op->pa >> QUIRE_PAGE_SHIFT].name
						: 0;

			if (!name)
				continue;
			where = sim_mix((uint64_t)name << 32 | (op->pa & QUIRE_PAGE_MASK), op->va);
		}
		add(d, PART_PENDING, sim_mix(place++, cpu), sim_mix(what, where));
	}
}

/* --- All -------------------------------------------------------------------------------------- */

bool sim_data_shows(const struct sim_machine *machine)
{
	const struct sim_cache *l1d = &machine->l1d;

	if (machine->store_buffer || !machine->dma_coherent || !machine->insn_snoops_data)
		return true;
	if (machine->cpus > 1 && !machine->data_coherent)
		return true;
	return machine->walker != SIM_LEVEL_L1 ||
	       (l1d->index != SIM_PIPT && l1d->bytes / l1d->ways > QUIRE_PAGE_BYTES) ||
	       l1d->index == SIM_VIVT;
}

uint64_t sim_digest(const struct sim *sim, const struct sim_digest *digest)
{
	struct digesting d = {.sim = sim, .digest = digest, .stales = 0, .sum = 0};
	bool data = sim_data_shows(&sim->machine);
	uint64_t frames = sim->machine.memory_bytes >> QUIRE_PAGE_SHIFT;

	for (uint64_t frame = 0; frame < frames; frame++)
		if (digest->frames[frame].name && !digest->frames[frame].free &&
		    (data || digest->frames[frame].table))
			add_memory(&d, frame);
	add_owners(&d);
	add_pending(&d);
	if (data)
		add_cache(&d, &sim->l2, PART_L2, 0);
	for (unsigned n = 0; n < sim->machine.cpus; n++) {
		const struct sim_cpu *cpu = &sim->cpus[digest->cpus[n]];

		if (data)
			add_cache(&d, &cpu->l1d, PART_L1D, n);
		if (!sim->machine.insn_snoops_data)
			add_cache(&d, &cpu->l1i, PART_L1I, n);
		add_tlb(&d, cpu, n);
		if (cpu->stores)
			add(&d, PART_STORES, n,
			    sim_store_buffer_digest(cpu->stores, digest->frames));
	}
	return d.sum;
}

uint64_t sim_digest_cpu(const struct sim *sim, const struct sim_digest *digest, unsigned cpu)
{
	struct digesting d = {.sim = sim, .digest = digest, .stales = 0, .sum = 0};

	if (sim_data_shows(&sim->machine))
		add_cache(&d, &sim->cpus[cpu].l1d, PART_L1D, 0);
	if (!sim->machine.insn_snoops_data)
		add_cache(&d, &sim->cpus[cpu].l1i, PART_L1I, 0);
	add_tlb(&d, &sim->cpus[cpu], 0);
	return d.sum;
}

/* --- Saving ----------------------------------------------------------------------------------- */

const uint8_t *sim_reference(const struct sim *sim)
{
	return sim->witness.reference.bytes;
}

void sim_unsaved(const struct sim *sim, struct sim_unsaved *parts)
{
	parts[0] = (struct sim_unsaved){
		&sim->cpus[sim->machine.cpus],
		(QUIRE_CPUS_MAX - sim->machine.cpus) * sizeof(sim->cpus[0]),
	};
	parts[1] = (struct sim_unsaved){sim->witness.first, sizeof(sim->witness.first)};
	parts[2] = (struct sim_unsaved){sim->accounts, sizeof(sim->accounts)};
}
