/*
 * The digest of a state: equal for states from which the same can happen, whatever the frames, CPUs
 * and values.
 *
 * FRAMES are named by what they are: the table of a process and level, a page of the file, the page
 * that a process sees at an address, the n-th of a CPU's free list. Where D caches have colours the
 * frame's colour is a part of the name, and so are the colours of the frames that will be handed
 * out next.
 *
 * CPUS are sorted by what they hold, so that two states that differ by an exchange of CPUs are one.
 *
 * LINES. Of a page of data the first, second and last line are looked at. User code uses the first
 * word only, and all else is done to whole pages: the lines between fare as the second does, or as
 * the last where a loop stops early. Of a table those lines that hold entries for the few addresses
 * in use.
 *
 * VALUES are looked at by comparison only (sim/digest.h), since every store stores something new.
 *
 * What a digest of 64 bits costs: of ten million states, one is taken for another with probability
 * 3e-6.
 */
#include "lab/explore.h"

#include <string.h>

#include "mm/percpu.h"

enum {
	FRAMES_MAX = 256,
	NAME_TABLE = 0x1000,
	NAME_FILE = 0x2000,
	NAME_PRIVATE = 0x3000,
	NAME_FREE = 0x4000,
	NAME_OTHER = 0x5000,
	NEXT_FRAMES = 6, /* frames about to be handed out, whose colours matter */
};

struct digesting {
	const struct explore_world *world;
	struct sim_digest digest;
	struct sim_digest_frame frames[FRAMES_MAX];
	uint8_t level[FRAMES_MAX]; /* of a table */
	unsigned cpus[EXPLORE_CPUS_MAX];
	uint32_t colours; /* mask of frame numbers */
	uint32_t data_lines;
	uint64_t hash;
};

static void mix(struct digesting *d, uint64_t word)
{
	d->hash = sim_mix(d->hash, word);
}

static const struct quire_arch *arch_of(const struct explore_world *world)
{
	return world->quire->machine.arch;
}

/* --- Tables ----------------------------------------------------------------------------------- */

static uint64_t raw_entry(const struct explore_world *world, const uint8_t *bytes)
{
	uint64_t raw = 0;

	memcpy(&raw, bytes, world->setting->machine.isa == SIM_ARMV7 ? 4 : 8);
	return raw;
}

static size_t entry_offset(const struct quire_table_format *format, unsigned level, uintptr_t va)
{
	return ((va >> format->shift[level]) & (((uintptr_t)1 << format->bits[level]) - 1)) *
	       format->entry_bytes[level];
}

static uint32_t frame_name(const struct digesting *d, uint64_t frame)
{
	uint64_t frames = d->world->setting->machine.memory_bytes >> QUIRE_PAGE_SHIFT;

	return frame < frames ? d->frames[frame].name : 0;
}

static uint64_t entry_says(const struct digesting *d, unsigned level, uint64_t raw)
{
	const struct quire_arch *arch = arch_of(d->world);
	struct quire_entry entry;
	quire_pa_t table;
	bool read_only;

	if (!raw)
		return 0;
	if (level + 1 < arch->table.levels)
		return arch->decode_table(level, raw, &table, &read_only)
			       ? (uint64_t)frame_name(d, table >> QUIRE_PAGE_SHIFT) << 8 |
					 (read_only ? 2 : 1)
			       : 0;
	entry = arch->decode(raw);
	return (uint64_t)frame_name(d, entry.frame) << 8 | entry.bits;
}

/* The entries in use that lie in a line of a table. */
static uint64_t table_line(void *context, uint64_t frame, unsigned line, const uint8_t *bytes)
{
	const struct digesting *d = context;
	const struct explore_world *world = d->world;
	const struct quire_table_format *format = &arch_of(world)->table;
	unsigned level = d->level[frame];
	size_t line_bytes = world->setting->machine.l1d.line_bytes, last = SIZE_MAX;
	uint64_t hash = 0;

	for (unsigned place = 0; place < EXPLORE_PLACES; place++) {
		for (unsigned page = 0; page < world->setting->pages; page++) {
			size_t at = entry_offset(format, level, explore_address(place, page));

			if (at == last || (at & QUIRE_PAGE_MASK) / line_bytes != line)
				continue;
			hash = sim_mix(hash, entry_says(d, level,
							raw_entry(world, bytes + at % line_bytes)));
			last = at;
		}
	}
	return hash;
}

/* Names the tables of a process: all places lie below one leaf table. */
static void name_tables(struct digesting *d, unsigned process, const uint8_t *reference)
{
	const struct explore_world *world = d->world;
	const struct quire_arch *arch = arch_of(world);
	size_t line_bytes = world->setting->machine.l1d.line_bytes;
	quire_pa_t table = quire_page_pa(world->spaces[process]->root);
	bool read_only, found = true;

	for (unsigned level = 0; found && level < arch->table.levels; level++) {
		quire_pa_t first = table + entry_offset(&arch->table, level, explore_address(0, 0));

		for (unsigned place = 0; place < EXPLORE_PLACES; place++) {
			for (unsigned page = 0; page < world->setting->pages; page++) {
				quire_pa_t pa = table + entry_offset(&arch->table, level,
								     explore_address(place, page));
				struct sim_digest_frame *frame = &d->frames[pa >> QUIRE_PAGE_SHIFT];

				frame->name = NAME_TABLE + process * 16 + level;
				frame->table = true;
				frame->lines |= 1u << (pa & QUIRE_PAGE_MASK) / line_bytes;
				d->level[pa >> QUIRE_PAGE_SHIFT] = (uint8_t)level;
			}
		}
		if (level + 1 < arch->table.levels)
			found = arch->decode_table(level, raw_entry(world, reference + first),
						   &table, &read_only);
	}
}

/* --- Pages ------------------------------------------------------------------------------------ */

static unsigned process_of(const struct explore_world *world, const struct quire_space *space)
{
	return space == world->spaces[0] ? 0 : 1;
}

/* The least place where the page is mapped. */
static uint32_t private_name(const struct explore_world *world, const struct quire_page *page)
{
	uint32_t least = NAME_OTHER;

	for (const struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next) {
		uint32_t name = NAME_PRIVATE + (uint32_t)(rmap->va >> QUIRE_PAGE_SHIFT & 0xff);

		if (!rmap->space)
			continue;
		name += process_of(world, rmap->space) << 8;
		if (name < least)
			least = name;
	}
	return least;
}

static void name_pages(struct digesting *d)
{
	const struct quire_range *range = &d->world->quire->ranges[0];

	for (uint64_t n = 0; n < range->frames; n++) {
		const struct quire_page *page = &range->pages[n];
		struct sim_digest_frame *frame = &d->frames[page->frame];

		if (!quire_atomic_read(&page->refs) || quire_page_is(page, QUIRE_PAGE_TABLE))
			continue;
		frame->name = page->file ? NAME_FILE + (uint32_t)page->index
					 : private_name(d->world, page);
		frame->name |= (page->frame & d->colours) << 16;
		frame->lines = d->data_lines;
	}
}

static void name_free(struct digesting *d, const struct quire_list *list, uint32_t *name,
		      uint32_t *next_colours)
{
	uint32_t count = 0;

	for (const struct quire_list *link = list->next; link != list; link = link->next) {
		const struct quire_page *page = quire_container(link, struct quire_page, link);

		for (unsigned n = 0; n < 1u << page->order; n++) {
			struct sim_digest_frame *frame = &d->frames[page->frame + n];

			if (count < NEXT_FRAMES)
				*next_colours |= ((page->frame + n) & d->colours) << count;
			count++;
			frame->name = (*name)++;
			frame->free = true;
			frame->lines = d->data_lines;
		}
	}
}

static void name_all_free(struct digesting *d)
{
	const struct quire *q = d->world->quire;
	uint32_t colours, name;

	for (unsigned n = 0; n < d->world->setting->machine.cpus; n++) {
		colours = 0;
		name = NAME_FREE + 256 * n;
		name_free(d, &q->percpu[d->cpus[n]].pages, &name, &colours);
		mix(d, colours);
	}
	colours = 0;
	name = NAME_FREE + 256 * EXPLORE_CPUS_MAX;
	for (unsigned order = 0; order < QUIRE_ORDERS; order++)
		name_free(d, &q->free[order], &name, &colours);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

/* A number that nobody has is that of the process that ended; the next one gets it again. */
static unsigned space_name(void *context, uint64_t number)
{
	const struct digesting *d = context;

	for (unsigned process = 0; process < EXPLORE_PROCESSES; process++) {
		const struct quire_space *space = d->world->spaces[process];
		uint64_t mask = d->world->setting->machine.isa == SIM_ARMV7 ? 0xff : UINT64_MAX;

		if (space && (space->context.number & mask) == number)
			return process + 1;
	}
	return EXPLORE_PROCESSES + 1;
}

static void sort_cpus(struct digesting *d)
{
	const struct explore_world *world = d->world;
	uint64_t keys[EXPLORE_CPUS_MAX];

	for (unsigned n = 0; n < world->setting->machine.cpus; n++) {
		uint64_t key = sim_mix(world->runs[n], sim_digest_cpu(world->sim, &d->digest, n));
		unsigned at = n;

		for (; at > 0 && keys[at - 1] > key; at--) {
			keys[at] = keys[at - 1];
			d->cpus[at] = d->cpus[at - 1];
		}
		keys[at] = key;
		d->cpus[at] = n;
	}
}

/* --- Quire's records -------------------------------------------------------------------------- */

/* What the policy `exact` remembers of a page. It outlives the page's owner. */
static uint64_t exact_state(const struct quire_page *page)
{
	const struct quire_coherence_state *state = &page->coherence;
	uint64_t held = (uint64_t)state->held[0] << 16 | state->held[1];

	return sim_mix((uint64_t)state->dirty << 32 | held,
		       (uint64_t)state->insn << 32 | (uint32_t)state->leaving << 8 | state->bits);
}

static void mix_pages(struct digesting *d)
{
	const struct quire_range *range = &d->world->quire->ranges[0];
	uint64_t sum = 0;

	for (uint64_t n = 0; n < range->frames; n++) {
		const struct quire_page *page = &range->pages[n];
		uint64_t hash = d->frames[page->frame].name, maps = 0;

		if (!quire_atomic_read(&page->refs)) {
			if (d->world->setting->policy.coherence == QUIRE_COHERENCE_EXACT)
				sum += sim_mix(hash, exact_state(page));
			continue;
		}
		hash = sim_mix(hash, quire_atomic_read(&page->flags));
		hash = sim_mix(hash, (uint64_t)quire_atomic_read(&page->refs) << 32 |
					     quire_atomic_read(&page->maps));
		hash = sim_mix(hash, page->last_va);
		hash = sim_mix(hash, exact_state(page));
		for (const struct quire_rmap *rmap = &page->rmap; rmap; rmap = rmap->next)
			if (rmap->space)
				maps += sim_mix(process_of(d->world, rmap->space), rmap->va);
		sum += sim_mix(hash, maps);
	}
	mix(d, sum);
}

static void mix_spaces(struct digesting *d)
{
	const struct explore_world *world = d->world;

	for (unsigned process = 0; process < EXPLORE_PROCESSES; process++) {
		const struct quire_space *space = world->spaces[process];
		uint64_t cpus = 0;

		mix(d, space != NULL);
		if (!space)
			continue;
		for (const struct quire_area *area = quire_area_find(&space->areas, 0); area;
		     area = quire_area_next(area)) {
			mix(d, area->start);
			mix(d, area->end << 16 | area->prot << 8 | area->flags);
		}
		for (unsigned n = 0; n < world->setting->machine.cpus; n++)
			cpus |= (space->context.cpus >> d->cpus[n] & 1) << n;
		mix(d, cpus);
	}
}

static void mix_file(struct digesting *d)
{
	const struct explore_world *world = d->world;

	mix(d, world->file.bytes);
	mix(d, quire_atomic_read(&world->file.writable_areas));
	for (unsigned page = 0; page < world->setting->pages; page++)
		mix(d, world->blocks[page].first == world->model.file[page]);
}

static void begin(struct digesting *d)
{
	const struct sim_machine *machine = &d->world->setting->machine;
	size_t lines = QUIRE_PAGE_BYTES / machine->l1d.line_bytes;

	d->digest = (struct sim_digest){d, d->frames, d->cpus, table_line, space_name};
	d->data_lines = 3u | 1u << (lines - 1);
	d->colours = machine->l1d.bytes / machine->l1d.ways > QUIRE_PAGE_BYTES ||
		     machine->l1i.bytes / machine->l1i.ways > QUIRE_PAGE_BYTES;
	memset(d->frames, 0,
	       (size_t)(machine->memory_bytes >> QUIRE_PAGE_SHIFT) * sizeof(d->frames[0]));
	d->hash = 0;
}

uint64_t explore_digest(const struct explore_world *world)
{
	struct digesting d;

	d.world = world;
	begin(&d);
	for (unsigned process = 0; process < EXPLORE_PROCESSES; process++)
		if (world->spaces[process])
			name_tables(&d, process, sim_reference(world->sim));
	name_pages(&d);
	sort_cpus(&d);
	name_all_free(&d);
	for (unsigned n = 0; n < world->setting->machine.cpus; n++)
		mix(&d, world->runs[d.cpus[n]]);
	mix_pages(&d);
	mix_spaces(&d);
	mix_file(&d);
	mix(&d, sim_digest(world->sim, &d.digest));
	return d.hash;
}
