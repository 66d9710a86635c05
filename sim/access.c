/*
 * Accesses of the current CPU: loads, stores, fetches, and the bulk copies that make up most of a
 * run.
 *
 * Everything on the data side ends in one of two functions: line_read finds or brings a line into
 * L1 D and says where its bytes are; line_write puts bytes into one. They are inlined with
 * constants for the common line sizes and for what most machines' caches are (enum lines), so that
 * a run pays for the features it uses; the code is the same for all.
 *
 * Bulk accesses go page by page: translate once, move line by line through a buffer of one page,
 * then show the whole piece to the witness.
 */
#include "sim/levels.h"
#include "sim/needless.h"

/* What line_read and line_write must reckon with. */
enum lines {
	PLAIN,   /* L1 D writes back, allocates, has physical tags; no other CPU has lines */
	SNOOPED, /* the same, but other coherent CPUs have lines */
	GENERAL,
};

/* --- Levels below, the rarer ways ------------------------------------------------------------- */

void sim_below_store(struct work *work, quire_pa_t pa, const void *from, unsigned bytes)
{
	struct cache *l2 = work->l2;
	unsigned shift = work->l1->line_shift;
	uint32_t number = (uint32_t)(pa >> shift);
	size_t offset = pa & (((size_t)1 << shift) - 1);
	bool to_memory = !l2->present;

	if (l2->present) {
		uint32_t set = cache_set_of(l2, number);
		int way = cache_match(l2, set, number);

		if (way < 0 && l2->write_allocate) {
			uint8_t line[CACHE_LINE_MAX];

			below_read(work, number, line, shift);
			way = cache_match(l2, set, number);
		}
		if (way >= 0) {
			memcpy(cache_line(l2, set, (unsigned)way) + offset, from, bytes);
			sim_touch(work->touched, cache_line(l2, set, (unsigned)way) + offset,
				  bytes);
			if (l2->write_back)
				*cache_tag(l2, set, (unsigned)way) |= CACHE_DIRTY;
			cache_touch(l2, set, (unsigned)way);
			work->l2_writes++;
		}
		to_memory = way < 0 || !l2->write_back;
	}
	if (to_memory) {
		memcpy(work->memory + pa, from, bytes);
		sim_touch(work->touched, work->memory + pa, bytes);
		work->memory_writes++;
	}
}

void sim_clean_way(struct work *work, struct cache *cache, uint32_t set, unsigned way)
{
	quire_pa_t pa = cache_line_pa(cache, set, way);

	below_write(work, (uint32_t)(pa >> cache->line_shift), cache_line(cache, set, way),
		    cache->line_shift);
	*cache_tag(cache, set, way) &= CACHE_NUMBER;
	work->writebacks++;
}

bool sim_snoop(struct sim *sim, unsigned except, uintptr_t va, quire_pa_t pa, bool drop)
{
	bool dirty = false;

	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		struct cache *l1 = &sim->cpus[cpu].l1d;
		struct cache_place place;

		if (cpu == except || l1->valid == 0)
			continue;
		place = cache_find(l1, va, pa);
		if (place.way < 0)
			continue;
		if (*cache_tag(l1, place.set, (unsigned)place.way) & CACHE_DIRTY) {
			struct work work = work_begin(sim);

			sim_clean_way(&work, l1, place.set, (unsigned)place.way);
			sim->counts.writebacks++;
			dirty = true;
		}
		if (drop)
			cache_drop(l1, place.set, (unsigned)place.way);
	}
	return dirty;
}

/* Do accesses of the current CPU look into other CPUs' caches? */
static bool must_snoop(const struct sim *sim)
{
	if (!sim->machine.data_coherent)
		return false;
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (cpu != sim->current && sim->cpus[cpu].l1d.valid)
			return true;
	return false;
}

/* All L1 D have one geometry: a line is in the same set of each. */
static bool others_hold(const struct sim *sim, uint32_t set, uint32_t number)
{
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++) {
		const struct cache *l1 = &sim->cpus[cpu].l1d;

		if (cpu != sim->current && l1->valid && cache_match(l1, set, number) >= 0)
			return true;
	}
	return false;
}

/*
 * Bulk accesses work on copies of two caches' descriptions, which no store of a line can change in
 * the compiler's eyes. This hands over the part of a description that accesses change.
 */
CACHE_INLINE void hand_over(struct cache *to, const struct cache *from)
{
	to->valid = from->valid;
	to->random = from->random;
}

/* Other CPUs give up what they have of the line: dirty bytes, and with `drop` the line. */
CACHE_INLINE void snoop_others(struct sim *sim, struct work *work, uint32_t set, uintptr_t va,
			       quire_pa_t pa, bool drop)
{
	if (!others_hold(sim, set, cache_number(work->l1, va, pa)))
		return;
	hand_over(&sim->l2, work->l2);
	sim_snoop(sim, sim->current, va, pa, drop);
	hand_over(work->l2, &sim->l2);
}

/*
 * A machine that finds aliases itself (alias_check): before a line is brought, the sets that other
 * addresses with its page offset index are looked into; what is there of it goes below.
 */
static void find_aliases(const struct sim *sim, struct work *work, uint32_t set, quire_pa_t pa)
{
	struct cache *l1 = work->l1;
	uint32_t page_sets = (uint32_t)QUIRE_PAGE_BYTES >> l1->line_shift;

	for (uint32_t other = set % page_sets; other < l1->sets; other += page_sets) {
		int way = other == set ? -1
				       : cache_match(l1, other, (uint32_t)(pa >> l1->line_shift));

		if (way < 0)
			continue;
		if (*cache_tag(l1, other, (unsigned)way) & CACHE_DIRTY)
			sim_clean_way(work, l1, other, (unsigned)way);
		cache_drop(l1, other, (unsigned)way);
		work->ticks += sim->machine.cost.alias;
	}
}

/* --- One line of L1 D ------------------------------------------------------------------------- */

/*
 * Gives line (va, pa) a way in `set`: the victim leaves, and with `fill` the line's bytes are
 * brought.
 */
SIM_INLINE unsigned line_take(struct work *work, uint32_t set, uintptr_t va, quire_pa_t pa,
			      bool fill, unsigned shift, enum lines lines)
{
	struct cache *l1 = work->l1;
	uint32_t number = (uint32_t)(pa >> shift);
	unsigned way = cache_victim(l1, set);
	uint32_t *tag = cache_tag(l1, set, way);
	uint8_t *line = cache_line(l1, set, way);

	work->l1_misses++;
	if (*tag == CACHE_ABSENT) {
		l1->valid++;
	} else if (*tag & CACHE_DIRTY) {
		uint32_t victim = *tag & CACHE_NUMBER;

		if (lines == GENERAL)
			victim = (uint32_t)(cache_line_pa(l1, set, way) >> shift);
		below_write(work, victim, line, shift);
		work->writebacks++;
	}
	*tag = lines == GENERAL ? cache_number(l1, va, pa) : number;
	if (lines == GENERAL && l1->physical)
		l1->physical[tag - l1->tags] = number;
	if (fill)
		below_read(work, number, line, shift);
	sim_touch(work->touched, line, (size_t)1 << shift);
	return way;
}

/* The bytes of the line (va, pa) as the current CPU's L1 D has them. */
SIM_INLINE const uint8_t *line_read(struct sim *sim, struct work *work, uintptr_t va, quire_pa_t pa,
				    unsigned shift, enum lines lines)
{
	struct cache *l1 = work->l1;
	uint32_t set = cache_set_of(l1, cache_index_address(l1, va, pa) >> shift);
	int way =
		cache_match(l1, set,
			    lines == GENERAL ? cache_number(l1, va, pa) : (uint32_t)(pa >> shift));

	work->lines++;
	if (way < 0) {
		if (lines == SNOOPED || (lines == GENERAL && must_snoop(sim)))
			snoop_others(sim, work, set, va, pa, false);
		if (lines == GENERAL && sim->machine.alias_check)
			find_aliases(sim, work, set, pa);
		way = (int)line_take(work, set, va, pa, true, shift, lines);
	}
	cache_touch(l1, set, (unsigned)way);
	return cache_line(l1, set, (unsigned)way);
}

/* Stores `bytes` at pa, all in one line. */
SIM_INLINE void line_write(struct sim *sim, struct work *work, uintptr_t va, quire_pa_t pa,
			   const uint8_t *from, size_t bytes, unsigned shift, enum lines lines)
{
	struct cache *l1 = work->l1;
	uint32_t set = cache_set_of(l1, cache_index_address(l1, va, pa) >> shift);
	int way =
		cache_match(l1, set,
			    lines == GENERAL ? cache_number(l1, va, pa) : (uint32_t)(pa >> shift));
	bool whole = bytes == (size_t)1 << shift;
	uint8_t *line;

	work->lines++;
	if (lines != PLAIN && (way < 0 || !(*cache_tag(l1, set, (unsigned)way) & CACHE_DIRTY)) &&
	    (lines == SNOOPED || must_snoop(sim)))
		snoop_others(sim, work, set, va, pa, true);
	if (way < 0) {
		if (lines == GENERAL && sim->machine.alias_check)
			find_aliases(sim, work, set, pa);
		if (lines == GENERAL && !l1->write_allocate) {
			work->l1_misses++;
			sim_below_store(work, pa, from, (unsigned)bytes);
			return;
		}
		way = (int)line_take(work, set, va, pa, !whole || l1->fill_whole, shift, lines);
	}
	line = cache_line(l1, set, (unsigned)way);
	if (whole)
		line_move(line, from, shift);
	else
		memcpy(line + (pa & (((size_t)1 << shift) - 1)), from, bytes);
	sim_touch(work->touched, line, (size_t)1 << shift);
	cache_touch(l1, set, (unsigned)way);
	if (lines != GENERAL || l1->write_back)
		*cache_tag(l1, set, (unsigned)way) |= CACHE_DIRTY;
	else
		sim_below_store(work, pa, from, (unsigned)bytes);
}

void sim_line_load(struct sim *sim, uintptr_t va, quire_pa_t pa, void *to, unsigned bytes)
{
	unsigned shift = sim->cpu->l1d.line_shift;
	struct work work = work_begin(sim);
	const uint8_t *line;

	if (sim->needless)
		sim_needless_load(sim, va, pa, bytes);
	line = line_read(sim, &work, va, pa, shift, GENERAL);
	memcpy(to, line + (pa & (((size_t)1 << shift) - 1)), bytes);
	work.ticks += sim->machine.cost.l1_access;
	work_pay(sim, &work);
}

void sim_line_store(struct sim *sim, uintptr_t va, quire_pa_t pa, const void *from, unsigned bytes)
{
	struct work work = work_begin(sim);

	if (sim->needless)
		sim_needless_store(sim, va, pa, bytes);
	line_write(sim, &work, va, pa, from, bytes, sim->cpu->l1d.line_shift, GENERAL);
	work.ticks += sim->machine.cost.l1_access;
	work_pay(sim, &work);
}

/* --- Past the caches -------------------------------------------------------------------------- */

uint64_t sim_uncached_load(struct sim *sim, quire_pa_t pa, unsigned bytes)
{
	uint64_t value = 0;

	if (sim->needless)
		sim_needless_past(sim, pa, bytes, false, true);
	sim_charge(sim, sim->machine.cost.memory_read);
	memcpy(&value, sim->memory.bytes + pa, bytes);
	return value;
}

void sim_uncached_store(struct sim *sim, quire_pa_t pa, unsigned bytes, uint64_t value)
{
	if (sim->needless)
		sim_needless_past(sim, pa, bytes, true, true);
	sim_charge(sim, sim->machine.cost.memory_write);
	memcpy(sim->memory.bytes + pa, &value, bytes);
	sim_touch(sim->allocator.touched, sim->memory.bytes + pa, bytes);
}

/* --- Single loads and stores ------------------------------------------------------------------ */

static enum sim_party party_of(const struct sim *sim, uintptr_t va)
{
	return sim_is_kernel(sim, va) ? SIM_PARTY_KERNEL : SIM_PARTY_USER;
}

/* va to pa; an address outside memory is an access that the bus refuses. */
static int resolve(struct sim *sim, uintptr_t va, size_t bytes, enum quire_access access,
		   quire_pa_t *pa, bool *uncached)
{
	int error = sim_resolve(sim, va, access, pa, uncached);

	if (!error && !sim_in_memory(sim, *pa, bytes))
		error = -QUIRE_EFAULT;
	return error;
}

int sim_load(struct sim *sim, uintptr_t va, unsigned bytes, uint64_t *value)
{
	quire_pa_t pa;
	bool uncached;
	int error = resolve(sim, va, bytes, QUIRE_LOAD, &pa, &uncached);

	*value = 0;
	if (error)
		return error;
	if (sim->pending)
		sim_pending_access(sim, va, pa, bytes);
	if (uncached) {
		sim_drain(sim);
		*value = sim_uncached_load(sim, pa, bytes);
	} else if (!sim->cpu->stores || !sim_store_buffer_forward(sim, va, pa, bytes, value)) {
		sim_line_load(sim, va, pa, value, bytes);
	}
	sim_witness_read(sim, party_of(sim, va), va, pa, value, bytes);
	return 0;
}

int sim_store(struct sim *sim, uintptr_t va, unsigned bytes, uint64_t value)
{
	quire_pa_t pa;
	bool uncached;
	int error = resolve(sim, va, bytes, QUIRE_STORE, &pa, &uncached);

	if (error)
		return error;
	if (sim->pending)
		sim_pending_access(sim, va, pa, bytes);
	if (sim->cpu->depth && sim_is_linear(sim, va))
		sim_operation_store(sim, pa);
	sim_witness_write(sim, party_of(sim, va), pa, &value, bytes);
	if (uncached) {
		sim_drain(sim);
		sim_uncached_store(sim, pa, bytes, value);
	} else if (sim->cpu->stores) {
		sim_store_buffer_put(sim, va, pa, bytes, value);
	} else {
		sim_line_store(sim, va, pa, &value, bytes);
	}
	return 0;
}

/* --- Fetches ---------------------------------------------------------------------------------- */

/* What D caches, L2 and memory would give a coherent reader of the D line at pa. */
static void snooped_bytes(struct sim *sim, uintptr_t va, quire_pa_t pa, uint8_t *to, size_t bytes)
{
	struct cache_place place = { 0, -1 };
	const struct cache *holder = &sim->l2;

	for (unsigned cpu = 0; cpu < sim->machine.cpus && place.way < 0; cpu++) {
		holder = &sim->cpus[cpu].l1d;
		place = cache_find(holder, va, pa);
	}
	if (place.way < 0 && sim->l2.present) {
		holder = &sim->l2;
		place = cache_find(holder, va, pa);
	}
	if (place.way < 0)
		memcpy(to, sim->memory.bytes + pa, bytes);
	else
		memcpy(to,
		       cache_line(holder, place.set, (unsigned)place.way) +
			       (pa & (holder->line_bytes - 1)),
		       bytes);
}

/* Fills an I line from below, by lines of the data side, which may be longer or shorter. */
static void insn_fill(struct sim *sim, struct work *work, quire_pa_t pa, uint8_t *to)
{
	unsigned shift = sim->cpu->l1d.line_shift;
	size_t data_bytes = (size_t)1 << shift;
	size_t insn_bytes = sim->cpu->l1i.line_bytes;
	uint8_t line[CACHE_LINE_MAX];

	for (size_t done = 0; done < insn_bytes; done += data_bytes) {
		size_t offset = (pa + done) & (data_bytes - 1);

		below_read(work, (uint32_t)((pa + done) >> shift), line, shift);
		memcpy(to + done, line + offset, data_bytes < insn_bytes ? data_bytes : insn_bytes);
	}
}

/*
 * The I line (va, pa). Where fetches snoop the data side, the line is brought up to date at each
 * fetch: no store need then look into I caches.
 */
static const uint8_t *insn_line(struct sim *sim, struct work *work, uintptr_t va, quire_pa_t pa)
{
	struct cache *l1 = &sim->cpu->l1i;
	struct cache_place place = cache_find(l1, va, pa);
	quire_pa_t start = pa & ~(quire_pa_t)(l1->line_bytes - 1);
	uint8_t *line;

	work->ticks += sim->machine.cost.fetch_line;
	if (place.way < 0) {
		uint32_t *tag;

		place.way = (int)cache_victim(l1, place.set);
		tag = cache_tag(l1, place.set, (unsigned)place.way);
		l1->valid += *tag == CACHE_ABSENT;
		*tag = cache_number(l1, va, pa);
		if (l1->physical)
			l1->physical[tag - l1->tags] = (uint32_t)(pa >> l1->line_shift);
		line = cache_line(l1, place.set, (unsigned)place.way);
		insn_fill(sim, work, start, line);
		sim_touch(work->touched, line, l1->line_bytes);
	}
	cache_touch(l1, place.set, (unsigned)place.way);
	line = cache_line(l1, place.set, (unsigned)place.way);
	if (sim->machine.insn_snoops_data) {
		size_t step = sim->cpu->l1d.line_bytes < l1->line_bytes ? sim->cpu->l1d.line_bytes
									: l1->line_bytes;

		va &= ~(uintptr_t)(l1->line_bytes - 1);
		for (size_t done = 0; done < l1->line_bytes; done += step)
			snooped_bytes(sim, va + done, start + done, line + done, step);
		sim_touch(work->touched, line, l1->line_bytes);
	}
	return line;
}

void sim_line_fetch(struct sim *sim, uintptr_t va, quire_pa_t pa)
{
	struct work work = work_begin(sim);

	insn_line(sim, &work, va, pa);
	work_pay(sim, &work);
}

int sim_fetch(struct sim *sim, uintptr_t va, uint64_t *value)
{
	struct work work = work_begin(sim);
	quire_pa_t pa;
	bool uncached;
	int error = resolve(sim, va, 4, QUIRE_FETCH, &pa, &uncached);

	*value = 0;
	if (error)
		return error;
	if (sim->machine.insn_snoops_data || uncached)
		sim_drain(sim);
	if (uncached) {
		*value = sim_uncached_load(sim, pa, 4);
	} else {
		if (sim->needless)
			sim_needless_fetch(sim, va, pa, 4);
		memcpy(value, insn_line(sim, &work, va, pa) + (pa & (sim->cpu->l1i.line_bytes - 1)),
		       4);
		work_pay(sim, &work);
	}
	sim_witness_read(sim, SIM_PARTY_FETCH, va, pa, value, 4);
	return 0;
}

/* The kernel's copy or clear routine is called: its text, at the bottom of memory, is fetched. */
static void kernel_routine(struct sim *sim)
{
	struct work work = work_begin(sim);
	uint32_t line_bytes = sim->cpu->l1i.line_bytes;

	work.ticks = sim->machine.cost.copy_set_up;
	for (quire_pa_t pa = 0; pa < sim->machine.copy_text_bytes; pa += line_bytes) {
		const uint8_t *line;

		if (sim->needless)
			sim_needless_fetch(sim, sim->kernel_base + pa, pa, line_bytes);
		line = insn_line(sim, &work, sim->kernel_base + pa, pa);
		sim_witness_read(sim, SIM_PARTY_FETCH, sim->kernel_base + pa, pa, line, line_bytes);
	}
	work_pay(sim, &work);
}

/* --- Bulk ------------------------------------------------------------------------------------- */

/* A piece of a bulk access: within one page. */
struct piece {
	uintptr_t va;
	quire_pa_t pa;
	size_t bytes;
	bool uncached;
};

SIM_INLINE void read_lines(struct sim *sim, struct work *work, const struct piece *piece,
			   uint8_t *to, unsigned shift, enum lines lines)
{
	size_t line_bytes = (size_t)1 << shift;
	uintptr_t va = piece->va;
	quire_pa_t pa = piece->pa;
	size_t left = piece->bytes;

	while (left) {
		size_t offset = pa & (line_bytes - 1);
		size_t bytes = left < line_bytes - offset ? left : line_bytes - offset;
		const uint8_t *line;

		if (lines == GENERAL && sim->needless)
			sim_needless_load(sim, va, pa, bytes);
		line = line_read(sim, work, va, pa, shift, lines);
		__builtin_prefetch(sim->witness.reference.bytes + pa);
		if (bytes == line_bytes)
			line_move(to, line, shift);
		else
			memcpy(to, line + offset, bytes);
		va += bytes, pa += bytes, to += bytes, left -= bytes;
	}
}

SIM_INLINE void write_lines(struct sim *sim, struct work *work, const struct piece *piece,
			    const uint8_t *from, unsigned shift, enum lines lines)
{
	size_t line_bytes = (size_t)1 << shift;
	uintptr_t va = piece->va;
	quire_pa_t pa = piece->pa;
	size_t left = piece->bytes;

	while (left) {
		size_t offset = pa & (line_bytes - 1);
		size_t bytes = left < line_bytes - offset ? left : line_bytes - offset;

		if (lines == GENERAL && sim->needless)
			sim_needless_store(sim, va, pa, bytes);
		line_write(sim, work, va, pa, from, bytes, shift, lines);
		va += bytes, pa += bytes, from += bytes, left -= bytes;
	}
}

static enum lines lines_of(const struct sim *sim)
{
	const struct cache *l1 = &sim->cpu->l1d;

	if (!l1->write_back || !l1->write_allocate || l1->virtual_tag || sim->machine.alias_check ||
	    sim->needless || sim->allocator.touched)
		return GENERAL;
	return must_snoop(sim) ? SNOOPED : PLAIN;
}

/*
 * read_lines (with `to`) or write_lines, PLAIN or SNOOPED, on copies of the caches' descriptions.
 */
SIM_INLINE void quick_lines(struct sim *sim, struct work *work, const struct piece *piece,
			    uint8_t *to, const uint8_t *from, unsigned shift, enum lines lines)
{
	struct cache l1 = *work->l1, l2 = *work->l2;
	struct work local = { .l1 = &l1, .l2 = &l2, .memory = work->memory };

	if (to)
		read_lines(sim, &local, piece, to, shift, lines);
	else
		write_lines(sim, &local, piece, from, shift, lines);
	hand_over(work->l1, &l1);
	hand_over(work->l2, &l2);
	local.l1 = work->l1;
	local.l2 = work->l2;
	*work = local;
}

/* Moves the lines of a cached piece: to the host, or with `to` NULL from it. */
static void move_lines(struct sim *sim, const struct piece *piece, uint8_t *to, const uint8_t *from)
{
	unsigned shift = sim->cpu->l1d.line_shift;
	enum lines lines = lines_of(sim);
	struct work work = work_begin(sim);

	if (shift == 5 && lines == PLAIN)
		quick_lines(sim, &work, piece, to, from, 5, PLAIN);
	else if (shift == 6 && lines == PLAIN)
		quick_lines(sim, &work, piece, to, from, 6, PLAIN);
	else if (shift == 5 && lines == SNOOPED)
		quick_lines(sim, &work, piece, to, from, 5, SNOOPED);
	else if (shift == 6 && lines == SNOOPED)
		quick_lines(sim, &work, piece, to, from, 6, SNOOPED);
	else if (to)
		read_lines(sim, &work, piece, to, shift, GENERAL);
	else
		write_lines(sim, &work, piece, from, shift, GENERAL);
	work.ticks += work.lines * sim->machine.cost.l1_line;
	work_pay(sim, &work);
}

static void uncached_piece(struct sim *sim, const struct piece *piece, uint8_t *to,
			   const uint8_t *from)
{
	size_t step;

	for (size_t done = 0; done < piece->bytes; done += step) {
		quire_pa_t pa = piece->pa + done;
		uint64_t value = 0;

		step = 8 - (pa & 7);
		if (step > piece->bytes - done)
			step = piece->bytes - done;
		if (to) {
			value = sim_uncached_load(sim, pa, (unsigned)step);
			memcpy(to + done, &value, step);
		} else {
			memcpy(&value, from + done, step);
			sim_uncached_store(sim, pa, (unsigned)step, value);
		}
	}
}

static void read_piece(struct sim *sim, const struct piece *piece, uint8_t *to)
{
	sim_drain(sim);
	if (sim->pending)
		sim_pending_access(sim, piece->va, piece->pa, piece->bytes);
	if (piece->uncached)
		uncached_piece(sim, piece, to, NULL);
	else
		move_lines(sim, piece, to, NULL);
	sim_witness_read(sim, party_of(sim, piece->va), piece->va, piece->pa, to,
			 (unsigned)piece->bytes);
}

static void write_piece(struct sim *sim, const struct piece *piece, const uint8_t *from)
{
	sim_drain(sim);
	if (sim->pending)
		sim_pending_access(sim, piece->va, piece->pa, piece->bytes);
	sim_witness_write(sim, party_of(sim, piece->va), piece->pa, from, (unsigned)piece->bytes);
	if (piece->uncached)
		uncached_piece(sim, piece, NULL, from);
	else
		move_lines(sim, piece, NULL, from);
}

static size_t page_rest(uintptr_t va)
{
	return QUIRE_PAGE_BYTES - (va & QUIRE_PAGE_MASK);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The part of [va, va + bytes) in va's page, translated. */
static int piece_at(struct sim *sim, struct piece *piece, uintptr_t va, size_t bytes,
		    enum quire_access access)
{
	piece->va = va;
	piece->bytes = smaller(bytes, page_rest(va));
	return resolve(sim, va, piece->bytes, access, &piece->pa, &piece->uncached);
}

/*
 * Both sides of a piece of a copy. A fault on one side may take away the other's page, so that the
 * first is looked up again after the second; the TLB knows it.
 */
static int copy_pieces(struct sim *sim, struct piece *to, struct piece *from, size_t bytes)
{
	uintptr_t to_va = to->va;
	int error;

	bytes = smaller(bytes, smaller(page_rest(to->va), page_rest(from->va)));
	error = piece_at(sim, to, to_va, bytes, QUIRE_STORE);
	if (!error)
		error = piece_at(sim, from, from->va, bytes, QUIRE_LOAD);
	if (!error && !sim_is_linear(sim, from->va) && !sim_is_linear(sim, to_va))
		error = piece_at(sim, to, to_va, bytes, QUIRE_STORE);
	return error;
}

size_t sim_copy(struct sim *sim, uintptr_t to, uintptr_t from, size_t bytes)
{
	uint8_t buffer[QUIRE_PAGE_BYTES] __attribute__((aligned(64)));

	if (sim_is_kernel(sim, to) || sim_is_kernel(sim, from))
		kernel_routine(sim);
	while (bytes) {
		struct piece target = { .va = to }, source = { .va = from };

		if (copy_pieces(sim, &target, &source, bytes))
			break;
		read_piece(sim, &source, buffer);
		write_piece(sim, &target, buffer);
		if (sim->owners.count)
			sim_owners_copied(sim, target.pa, source.pa, source.bytes);
		to += source.bytes, from += source.bytes, bytes -= source.bytes;
	}
	return bytes;
}

size_t sim_clear(struct sim *sim, uintptr_t to, size_t bytes)
{
	static const uint8_t zeroes[QUIRE_PAGE_BYTES] __attribute__((aligned(64)));

	if (sim_is_kernel(sim, to))
		kernel_routine(sim);
	while (bytes) {
		struct piece piece;

		if (piece_at(sim, &piece, to, bytes, QUIRE_STORE))
			break;
		write_piece(sim, &piece, zeroes);
		to += piece.bytes, bytes -= piece.bytes;
	}
	return bytes;
}

size_t sim_read(struct sim *sim, uintptr_t from, void *host, size_t bytes)
{
	uint8_t *to = host;

	while (bytes) {
		struct piece piece;

		if (piece_at(sim, &piece, from, bytes, QUIRE_LOAD))
			break;
		read_piece(sim, &piece, to);
		to += piece.bytes, from += piece.bytes, bytes -= piece.bytes;
	}
	return bytes;
}

size_t sim_write(struct sim *sim, uintptr_t to, const void *host, size_t bytes)
{
	const uint8_t *from = host;

	while (bytes) {
		struct piece piece;

		if (piece_at(sim, &piece, to, bytes, QUIRE_STORE))
			break;
		write_piece(sim, &piece, from);
		to += piece.bytes, from += piece.bytes, bytes -= piece.bytes;
	}
	return bytes;
}
