/*
 * Why a read was wrong: where every copy of its line lies, which of them are right, and what that
 * says.
 *
 * A read that differs from the reference was served by one copy of the line, the one *read*. Each
 * other copy is right or wrong in the bytes in question. The cases:
 *
 *   no copy is right            the write is lost: a dirty line that held it was invalidated (the
 *                               witness kept a note), or an older dirty line was written back over
 *                               it
 *   a right one waits           in a store buffer, or behind maintenance that no barrier completed
 *   a right one in a D cache    at another index of the reader's own: an alias; of another CPU: no
 *                               hardware keeps them coherent; above a reader that looks below D
 *                               caches: it was not cleaned
 *   a right one below only      the copy that was read is old: it was not dropped
 *
 * If the level that a fill would read now is right, the copy that was read is *guilty*: dropping it
 * would have been enough. If not, the dirty copy that is right is: it should have been cleaned.
 */
#include "sim/tlb.h"

struct survey {
	const struct sim *sim;
	struct sim_violation *violation;
	/* D caches: of the observer's CPU, not the one read; of other CPUs */
	bool right_own, right_other;
	bool right_above;            /* a right copy in any D cache */
	bool right_below;            /* in what a fill would read: L2, else memory */
	bool right_any;
	bool waits;                  /* a store buffer has bytes of it */
	struct sim_copy *read;       /* NULL: it is none of the kept */
};

/* The bytes in question of a copy of the line: right? */
static bool is_right(const struct survey *survey, const uint8_t *line, uint32_t line_bytes)
{
	const struct sim_violation *violation = survey->violation;

	return memcmp(line + (violation->pa & (line_bytes - 1)),
		      survey->sim->witness.reference.bytes + violation->pa, violation->bytes) == 0;
}

static struct sim_copy *add_copy(struct survey *survey, const struct sim_copy *copy)
{
	struct sim_violation *violation = survey->violation;

	survey->right_any |= copy->right;
	if (violation->copy_count == SIM_COPIES_KEPT)
		return NULL;
	violation->copies[violation->copy_count] = *copy;
	return &violation->copies[violation->copy_count++];
}

/* All places in a first-level cache that hold the line, at whatever index. */
static void survey_cache(struct survey *survey, const struct cache *cache, enum sim_place place,
			 unsigned cpu, struct cache_place read)
{
	const struct sim_violation *violation = survey->violation;
	uint32_t page_sets = (uint32_t)QUIRE_PAGE_BYTES >> cache->line_shift;

	for (uint32_t set = 0; cache->valid && set < cache->sets; set++)
		for (unsigned way = 0; way < cache->ways; way++) {
			uint32_t tag = *cache_tag(cache, set, way);
			struct sim_copy copy = {
				.place = (uint8_t)place,
				.cpu = (uint8_t)cpu,
				.set = set,
				.way = (uint8_t)way,
				.dirty = (tag & CACHE_DIRTY) != 0,
				.has_colour = cache->colour_mask != 0 && cache->sets > page_sets,
				.colour = (uint16_t)(set / page_sets),
			}, *kept;

			if (tag == CACHE_ABSENT ||
			    cache_line_pa(cache, set, way) >> cache->line_shift !=
				    violation->pa >> cache->line_shift)
				continue;
			copy.right =
				is_right(survey, cache_line(cache, set, way), cache->line_bytes);
			copy.read = read.way == (int)way && read.set == set;
			kept = add_copy(survey, &copy);
			if (copy.read)
				survey->read = kept;
			if (place != SIM_PLACE_L1D || !copy.right || copy.read)
				continue;
			survey->right_above = true;
			if (cpu == violation->cpu)
				survey->right_own = true;
			else
				survey->right_other = true;
		}
}

/* Where the observer read from in that first-level cache; way -1: not there. */
static struct cache_place read_place(const struct survey *survey, enum sim_place place,
				     unsigned cpu)
{
	const struct sim_violation *violation = survey->violation;
	const struct sim *sim = survey->sim;
	struct cache_place none = { 0, -1 };
	uintptr_t va = violation->va;
	bool looks;

	switch (violation->observer) {
	case SIM_PARTY_USER:
	case SIM_PARTY_KERNEL:
		looks = place == SIM_PLACE_L1D;
		break;
	case SIM_PARTY_FETCH:
		looks = place == SIM_PLACE_L1I;
		break;
	case SIM_PARTY_WALKER:
		looks = place == SIM_PLACE_L1D && sim->machine.walker == SIM_LEVEL_L1;
		va = sim->kernel_base + violation->pa;
		break;
	default:
		looks = false;
	}
	if (!looks || cpu != violation->cpu)
		return none;
	return cache_find(place == SIM_PLACE_L1D ? &sim->cpus[cpu].l1d : &sim->cpus[cpu].l1i, va,
			  violation->pa);
}

/*
 * L2 and memory. The one read, if it was none above, is L2 where the observer looks there, else
 * memory.
 */
static void survey_below(struct survey *survey)
{
	const struct sim *sim = survey->sim;
	const struct sim_violation *violation = survey->violation;
	bool looks_l2 = violation->observer == SIM_PARTY_DEVICE ? sim->machine.dma_coherent
			: violation->observer == SIM_PARTY_WALKER
				? sim->machine.walker != SIM_LEVEL_MEMORY
				: true;
	struct cache_place place = { 0, -1 };
	struct sim_copy memory = { .place = SIM_PLACE_MEMORY }, *kept;

	if (sim->l2.present)
		place = cache_find(&sim->l2, 0, violation->pa);
	if (place.way >= 0) {
		struct sim_copy copy = {
			.place = SIM_PLACE_L2,
			.set = place.set,
			.way = (uint8_t)place.way,
			.dirty = (*cache_tag(&sim->l2, place.set, (unsigned)place.way) &
				  CACHE_DIRTY) != 0,
			.right = is_right(survey,
					  cache_line(&sim->l2, place.set, (unsigned)place.way),
					  sim->l2.line_bytes),
			.read = !survey->read && looks_l2,
		};

		kept = add_copy(survey, &copy);
		survey->right_below = copy.right;
		if (copy.read)
			survey->read = kept;
	}
	memory.right = memcmp(sim->memory.bytes + violation->pa,
			      sim->witness.reference.bytes + violation->pa, violation->bytes) == 0;
	memory.read = !survey->read;
	if (place.way < 0)
		survey->right_below = memory.right;
	kept = add_copy(survey, &memory);
	if (memory.read)
		survey->read = kept;
}

static void survey_stores(struct survey *survey)
{
	const struct sim *sim = survey->sim;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		struct sim_copy copy = {.place = SIM_PLACE_STORES,
					.cpu = (uint8_t)cpu,
					.dirty = true};

		if (!sim->cpus[cpu].stores ||
		    !sim_store_buffer_holds(sim->cpus[cpu].stores, survey->violation->pa,
					    survey->violation->bytes))
			continue;
		survey->waits = true;
		add_copy(survey, &copy);
	}
}

/* The note of the line's last write having been dropped. */
static const struct sim_drop *find_drop(const struct sim *sim, quire_pa_t pa)
{
	for (unsigned i = 0; i < SIM_DROPS_KEPT; i++) {
		const struct sim_drop *drop =
			&sim->witness.drops[(sim->witness.next_drop + SIM_DROPS_KEPT - 1 - i) %
					    SIM_DROPS_KEPT];

		if (drop->used && drop->line == pa >> sim->cpu->l1d.line_shift &&
		    drop->writer == sim_witness_word(sim, pa))
			return drop;
	}
	return NULL;
}

static enum sim_kind kind_of(enum sim_party observer)
{
	switch (observer) {
	case SIM_PARTY_FETCH:
		return SIM_KIND_STALE_INSN;
	case SIM_PARTY_WALKER:
		return SIM_KIND_STALE_TABLE;
	case SIM_PARTY_DEVICE:
		return SIM_KIND_STALE_DEVICE;
	default:
		return SIM_KIND_STALE_DATA;
	}
}

/* Nothing is right. */
static void diagnose_lost(struct survey *survey)
{
	struct sim_violation *violation = survey->violation;
	const struct sim_drop *drop = find_drop(survey->sim, violation->pa);

	violation->kind =
		violation->writer == SIM_PARTY_DEVICE ? SIM_KIND_OVERWRITTEN : SIM_KIND_LOST_WRITE;
	violation->cause = SIM_CAUSE_OLD_LINE;
	if (!drop)
		return;
	violation->kind = SIM_KIND_LOST_WRITE;
	violation->cause = SIM_CAUSE_DROPPED;
	violation->site = drop->site;
	violation->site_label = drop->label;
}

/* Maintenance that would have helped was issued, but nothing has completed it. */
static void diagnose_pending(struct survey *survey)
{
	struct sim_violation *violation = survey->violation;
	const struct sim_maintenance *op =
		sim_pending_on_line(survey->sim, violation->pa,
				    violation->observer == SIM_PARTY_FETCH);

	if (!op || !survey->right_any || violation->cause == SIM_CAUSE_STORE_BUFFER)
		return;
	violation->kind = kind_of(violation->observer);
	violation->cause = SIM_CAUSE_NO_BARRIER;
	violation->site = op->site;
	violation->site_label = op->label;
}

static bool reads_data(enum sim_party observer)
{
	return observer == SIM_PARTY_USER || observer == SIM_PARTY_KERNEL;
}

static enum sim_cause cause_of(const struct survey *survey)
{
	const struct sim_violation *violation = survey->violation;
	bool through_d = survey->read && survey->read->place == SIM_PLACE_L1D;

	if (through_d && survey->right_own)
		return SIM_CAUSE_ALIAS;
	if (through_d && survey->right_other && !survey->right_below)
		return SIM_CAUSE_OTHER_CPU;
	if (survey->right_below && (through_d || violation->observer == SIM_PARTY_FETCH))
		return SIM_CAUSE_NOT_DROPPED;
	if (survey->right_above || survey->right_any)
		return SIM_CAUSE_NOT_CLEANED;
	return SIM_CAUSE_UNKNOWN;
}

/* The copy that was read and another one are dirty, and each lacks what the other has. */
static bool two_dirty(const struct survey *survey)
{
	const struct sim_violation *violation = survey->violation;

	if (!survey->read || survey->read->place != SIM_PLACE_L1D || !survey->read->dirty ||
	    !reads_data(violation->observer))
		return false;
	for (unsigned i = 0; i < violation->copy_count; i++) {
		const struct sim_copy *copy = &violation->copies[i];

		if (copy->place == SIM_PLACE_L1D && copy->dirty && copy->right && !copy->read)
			return true;
	}
	return false;
}

static void mark_guilty(const struct survey *survey)
{
	struct sim_violation *violation = survey->violation;

	if (survey->right_below) {
		if (survey->read)
			survey->read->guilty = true;
		return;
	}
	for (unsigned i = 0; i < violation->copy_count; i++)
		if (violation->copies[i].right && violation->copies[i].dirty) {
			violation->copies[i].guilty = true;
			return;
		}
}

void sim_diagnose(const struct sim *sim, struct sim_violation *violation)
{
	struct survey survey = { .sim = sim, .violation = violation };

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		survey_cache(&survey, &sim->cpus[cpu].l1d, SIM_PLACE_L1D, cpu,
			     read_place(&survey, SIM_PLACE_L1D, cpu));
		survey_cache(&survey, &sim->cpus[cpu].l1i, SIM_PLACE_L1I, cpu,
			     read_place(&survey, SIM_PLACE_L1I, cpu));
	}
	survey_below(&survey);
	survey_stores(&survey);
	violation->kind = kind_of(violation->observer);
	if (survey.waits && !survey.right_any) {
		violation->cause = SIM_CAUSE_STORE_BUFFER;
	} else if (!survey.right_any) {
		diagnose_lost(&survey);
	} else if (two_dirty(&survey)) {
		violation->kind = SIM_KIND_LOST_WRITE;
		violation->cause = SIM_CAUSE_TWO_DIRTY;
	} else {
		violation->cause = cause_of(&survey);
	}
	diagnose_pending(&survey);
	mark_guilty(&survey);
	if (sim->witness.history)
		sim_history_search(sim, violation);
	if (violation->got_former && violation->observer != SIM_PARTY_KERNEL &&
	    violation->observer != SIM_PARTY_WALKER)
		violation->kind = SIM_KIND_EXPOSED;
}
