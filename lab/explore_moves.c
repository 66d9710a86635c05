/*
 * Moves: what may happen next in a world.
 *
 * A move is a system call, an access of user code, a transfer of the device, or something that
 * hardware does by itself. While a call is half done on one CPU, the others and hardware may move.
 *
 * MOVES LEFT OUT, since they can show nothing that others do not:
 *   - An access that is forbidden, where the TLB of the CPU has no entry for its page: it walks the
 *     tables, which the model has been compared with already.
 *   - An eviction of a clean line, or of an instruction line: it only brings later readers closer
 *     to memory. What a clean line hides shows where the line was lost: another reader, or a
 *     device.
 *   - Evictions and fills of D lines where hardware keeps all D lines, devices and fetches
 *   coherent.
 *   - A system call that uses no memory of its process is made by CPU 0 only, where D caches are
 *   coherent.
 *   - Two calls at once that write one page, or whose order makes a difference that no outcome
 *     tells: no memory manager promises what comes of it.
 */
#include "lab/explore.h"

#include <string.h>

#include "sim/adversary.h"

/* --- Which moves there are -------------------------------------------------------------------- */

struct list {
	const struct explore_world *world;
	struct explore_move *moves;
	unsigned count;
};

static void add(struct list *list, enum explore_kind kind, unsigned cpu, unsigned a, unsigned b)
{
	if (list->count < EXPLORE_MOVES_MAX)
		list->moves[list->count++] = (struct explore_move){.kind = (uint8_t)kind,
								   .cpu = (uint8_t)cpu,
								   .a = (uint8_t)a,
								   .b = (uint8_t)b};
}

static void add_accesses(struct list *list, unsigned cpu, unsigned process, unsigned place)
{
	static const enum explore_kind kinds[] = {
		[QUIRE_LOAD] = EXPLORE_LOAD,
		[QUIRE_STORE] = EXPLORE_STORE,
		[QUIRE_FETCH] = EXPLORE_EXECUTE,
	};
	const struct explore_world *world = list->world;

	for (unsigned page = 0; page < world->setting->pages; page++) {
		bool cached = sim_tlb_holds(world->sim, cpu, explore_address(place, page));

		for (unsigned access = QUIRE_LOAD; access <= QUIRE_FETCH; access++)
			if (cached || !explore_model_access(&world->model, process, place, page,
							    (enum quire_access)access))
				add(list, kinds[access], cpu, place, page);
	}
}

static void add_mappings(struct list *list, unsigned cpu, unsigned process, unsigned place)
{
	static const unsigned prots[] = {QUIRE_PROT_READ, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
					 QUIRE_PROT_READ | QUIRE_PROT_EXEC};
	const struct explore_map *map = &list->world->model.map[process][place];

	if (!map->mapped) {
		add(list, EXPLORE_MAP, cpu, place, 0);
		return;
	}
	add(list, EXPLORE_UNMAP, cpu, place, 0);
	for (unsigned i = 0; i < 3; i++)
		if (map->prot != prots[i])
			add(list, EXPLORE_PROTECT, cpu, place, prots[i]);
	if (explore_is_shared(place))
		add(list, EXPLORE_MSYNC, cpu, place, 0);
}

static void add_process_moves(struct list *list, unsigned cpu)
{
	const struct explore_model *model = &list->world->model;
	unsigned process = list->world->runs[cpu];

	for (unsigned other = 0; other < EXPLORE_PROCESSES; other++)
		if (other != process && model->alive[other])
			add(list, EXPLORE_RUN, cpu, other, 0);
	if (process == EXPLORE_NOBODY)
		return;
	for (unsigned place = 0; place < EXPLORE_PLACES; place++) {
		add_mappings(list, cpu, process, place);
		add_accesses(list, cpu, process, place);
	}
	if (process == 0 && !model->alive[1])
		add(list, EXPLORE_FORK, cpu, 0, 0);
}

static void add_system_moves(struct list *list, unsigned cpu)
{
	const struct explore_world *world = list->world;

	for (unsigned page = 0; page < world->setting->pages; page++) {
		add(list, EXPLORE_WRITE, cpu, page, 0);
		if (page >= world->model.file_pages)
			continue;
		add(list, EXPLORE_READ, cpu, page, 0);
		add(list, EXPLORE_DEVICE_IN, cpu, page, 0);
		add(list, EXPLORE_DEVICE_OUT, cpu, page, 0);
	}
	for (unsigned pages = 0; pages <= world->setting->pages; pages++)
		if (pages != world->model.file_pages)
			add(list, EXPLORE_TRUNCATE, cpu, pages, 0);
	if (world->file.cache.pages)
		add(list, EXPLORE_RECLAIM, cpu, 0, 0);
	if (world->model.alive[1])
		add(list, EXPLORE_EXIT, cpu, 1, 0);
}

/* --- The adversary's -------------------------------------------------------------------------- */

static unsigned lines_a_page(const struct explore_world *world)
{
	return (unsigned)(QUIRE_PAGE_BYTES / world->setting->machine.l1d.line_bytes);
}

/* Dirty lines that begin a page, whoever has the page now. */
static void add_evictions(struct list *list, unsigned cpu, enum sim_which which)
{
	const struct explore_world *world = list->world;
	unsigned sets, ways;

	sim_cache_shape(world->sim, which, &sets, &ways);
	for (unsigned set = 0; set < sets; set += lines_a_page(world)) {
		for (unsigned way = 0; way < ways; way++) {
			struct quire_page *page;
			struct sim_line line;

			if (!sim_line_at(world->sim, cpu, which, set, way, &line) || !line.dirty)
				continue;
			page = quire_page_of(world->quire, line.pa >> QUIRE_PAGE_SHIFT);
			if (page && !quire_page_is(quire_page_head(page), QUIRE_PAGE_TABLE))
				add(list, EXPLORE_EVICT, cpu,
				    (unsigned)which | set / lines_a_page(world) << 4, page->frame);
		}
	}
}

static bool is_data(const struct quire_page *page)
{
	return quire_atomic_read(&page->refs) && !quire_page_is(page, QUIRE_PAGE_TABLE) &&
	       (page->file || quire_page_is(page, QUIRE_PAGE_ANON));
}

static void add_linear_fills(struct list *list, unsigned cpu, enum sim_which which)
{
	const struct explore_world *world = list->world;
	const struct quire_range *range = &world->quire->ranges[0];

	for (uint64_t n = 0; n < range->frames; n++) {
		const struct quire_page *page = &range->pages[n];

		if (is_data(page) && sim_may_speculate(world->sim, cpu, which,
						       quire_page_address(world->quire, page)))
			add(list, EXPLORE_FILL, cpu, (unsigned)which | EXPLORE_FILL_LINEAR,
			    page->frame);
	}
}

static void add_user_fills(struct list *list, unsigned cpu, enum sim_which which)
{
	const struct explore_world *world = list->world;

	for (unsigned place = 0; place < EXPLORE_PLACES; place++)
		for (unsigned page = 0; page < world->setting->pages; page++)
			if (sim_may_speculate(world->sim, cpu, which, explore_address(place, page)))
				add(list, EXPLORE_FILL, cpu, (unsigned)which, place << 4 | page);
}

/* Nothing, unless Quire has left a temporary mapping of its own in a TLB. */
static void add_alias_fills(struct list *list, unsigned cpu, enum sim_which which)
{
	const struct explore_world *world = list->world;
	const struct sim_machine *machine = &world->setting->machine;
	unsigned pages = sim_alias_window(world->sim)
				 ? (unsigned)(machine->colour_bytes >> QUIRE_PAGE_SHIFT) * 2 *
					   machine->cpus
				 : 0;

	for (unsigned page = 0; page < pages; page++)
		if (sim_may_speculate(world->sim, cpu, which, explore_alias_address(world, page)))
			add(list, EXPLORE_FILL, cpu, (unsigned)which | EXPLORE_FILL_ALIAS, page);
}

static bool has_colours(const struct explore_world *world, enum sim_which which)
{
	unsigned sets, ways;

	sim_cache_shape(world->sim, which, &sets, &ways);
	return sets > lines_a_page(world);
}

static void add_hardware_moves(struct list *list, unsigned cpu)
{
	const struct explore_setting *setting = list->world->setting;

	if (setting->data_moves) {
		add_evictions(list, cpu, SIM_WHICH_L1D);
		if (cpu == 0)
			add_evictions(list, cpu, SIM_WHICH_L2);
		add_linear_fills(list, cpu, SIM_WHICH_L1D);
		if (has_colours(list->world, SIM_WHICH_L1D)) {
			add_user_fills(list, cpu, SIM_WHICH_L1D);
			add_alias_fills(list, cpu, SIM_WHICH_L1D);
		}
	}
	if (setting->machine.insn_snoops_data)
		return;
	add_linear_fills(list, cpu, SIM_WHICH_L1I);
	if (has_colours(list->world, SIM_WHICH_L1I))
		add_user_fills(list, cpu, SIM_WHICH_L1I);
}

static void add_all(struct list *list, bool every_cpu)
{
	for (unsigned cpu = 0; cpu < list->world->setting->machine.cpus; cpu++) {
		add_process_moves(list, cpu);
		if (cpu == 0 || every_cpu)
			add_system_moves(list, cpu);
	}
	for (unsigned cpu = 0; cpu < list->world->setting->machine.cpus; cpu++)
		add_hardware_moves(list, cpu);
}

/* --- While calls are half done ---------------------------------------------------------------- */

static bool is_hardware(struct explore_move move)
{
	return move.kind == EXPLORE_EVICT || move.kind == EXPLORE_FILL;
}

bool explore_has_points(const struct explore_world *world, struct explore_move move)
{
	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
	case EXPLORE_EXECUTE: /* one that the TLB answers does not enter the kernel */
		return !sim_tlb_holds(world->sim, move.cpu, explore_address(move.a, move.b));
	case EXPLORE_EVICT:
	case EXPLORE_FILL:
	case EXPLORE_GO_ON:
	case EXPLORE_KIND_COUNT:
		return false;
	default:
		return true;
	}
}

/* A move, and who makes it. */
struct party {
	struct explore_move move;
	unsigned process;
};

/* The page of the file that it reads or writes; -1: none, or one of the process's own. */
static int content_of(const struct explore_world *world, struct party party)
{
	struct explore_move move = party.move;

	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
	case EXPLORE_STORE:
	case EXPLORE_EXECUTE:
		if (move.a == EXPLORE_ANON ||
		    world->model.map[party.process][move.a].own[move.b])
			return -1;
		return move.b;
	case EXPLORE_READ:
	case EXPLORE_WRITE:
	case EXPLORE_DEVICE_IN:
	case EXPLORE_DEVICE_OUT:
		return move.a;
	default:
		return -1;
	}
}

static bool writes(struct explore_move move)
{
	return move.kind == EXPLORE_WRITE || move.kind == EXPLORE_DEVICE_IN ||
	       (move.kind == EXPLORE_STORE && explore_is_shared(move.a));
}

/*
 * Both write a page: what comes of its other words is anybody's guess. And who looks at a page that
 * a device is writing sees anything.
 */
static bool race_on_content(const struct explore_world *world, struct party a, struct party b)
{
	bool device = a.move.kind == EXPLORE_DEVICE_IN || b.move.kind == EXPLORE_DEVICE_IN;
	int page = content_of(world, a);

	return page >= 0 && page == content_of(world, b) &&
	       (device || (writes(a.move) && writes(b.move)));
}

/* Does it begin p1, end it, or load it? */
static bool is_of_life(struct explore_move move)
{
	return move.kind == EXPLORE_FORK || move.kind == EXPLORE_EXIT || move.kind == EXPLORE_RUN;
}

/* p1 begins or ends in one, and is used by the other: the embedding kernel keeps these apart. */
static bool race_on_life(struct party a, struct party b)
{
	bool exits = a.move.kind == EXPLORE_EXIT || b.move.kind == EXPLORE_EXIT;

	return (is_of_life(a.move) && is_of_life(b.move)) ||
	       (exits && (a.process == 1 || b.process == 1));
}

/* The device's page is taken out of the file. */
static bool race_on_device(struct explore_move a, struct explore_move b)
{
	return a.kind == EXPLORE_TRUNCATE &&
	       (b.kind == EXPLORE_DEVICE_IN || b.kind == EXPLORE_DEVICE_OUT);
}

static enum explore_order order_of(const struct explore_world *world, struct party a,
				   struct party b)
{
	if (race_on_content(world, a, b) || race_on_life(a, b) || race_on_device(a.move, b.move) ||
	    race_on_device(b.move, a.move))
		return EXPLORE_UNTOLD;
	return explore_model_order(&world->model, a.move, a.process, b.move, b.process);
}

/* The half done call, of which there is one at least; result: its CPU. */
static unsigned half_done(const struct explore_job *job, struct party *party)
{
	const struct explore_move *begun;
	unsigned cpu = 0;

	while (!(begun = explore_half_done(job, cpu, &party->process)))
		cpu++;
	party->move = *begun;
	return cpu;
}

bool explore_is_apart(const struct explore_job *job, struct explore_move move)
{
	struct party party = {move, job->world->runs[move.cpu]}, other;

	half_done(job, &other);
	return order_of(job->world, other, party) == EXPLORE_APART;
}

/* May the move be made now, with the call that is half done? */
static bool may_begin(const struct explore_job *job, struct explore_move move)
{
	struct party party = {move, job->world->runs[move.cpu]}, other;
	unsigned cpu;

	if (is_hardware(move))
		return true;
	cpu = half_done(job, &other);
	return cpu != move.cpu && explore_half_done_count(job) == 1 &&
	       explore_may_meet(job, order_of(job->world, other, party));
}

static unsigned moves_meanwhile(const struct explore_job *job, struct list *list)
{
	unsigned kept = 0, process;

	add_all(list, true);
	for (unsigned n = 0; n < list->count; n++)
		if (may_begin(job, list->moves[n]))
			list->moves[kept++] = list->moves[n];
	list->count = kept;
	for (unsigned cpu = 0; cpu < job->setting->machine.cpus; cpu++)
		if (explore_half_done(job, cpu, &process))
			add(list, EXPLORE_GO_ON, cpu, 0, 0);
	return list->count;
}

unsigned explore_moves(const struct explore_job *job, struct explore_move *moves)
{
	struct list list = {job->world, moves, 0};

	if (explore_half_done_count(job))
		return moves_meanwhile(job, &list);
	add_all(&list, job->setting->every_cpu);
	return list.count;
}

/* --- In words --------------------------------------------------------------------------------- */

static const char *const kind_words[] = {
#define X(id, word) word,
	EXPLORE_KINDS(X)
#undef X
};

static const char *const place_words[] = {"shared", "alias", "private", "anon"};
static const char *const cache_words[] = {"L1 D", "L1 I", "L2"};

static const char *prot_word(unsigned prot)
{
	if (prot & QUIRE_PROT_EXEC)
		return "rx";
	return prot & QUIRE_PROT_WRITE ? "rw" : "r";
}

/* What a frame holds at this moment. */
static void frame_text(const struct explore_world *world, unsigned frame, char *text, size_t bytes)
{
	const struct quire_page *page = quire_page_of(world->quire, frame);

	if (!page || !quire_atomic_read(&page->refs))
		snprintf(text, bytes, "freed frame %u", frame);
	else if (page->file)
		snprintf(text, bytes, "file page %u", (unsigned)page->index);
	else
		snprintf(text, bytes, "private page at 0x%x", (unsigned)page->rmap.va);
}

static void hardware_text(const struct explore_world *world, struct explore_move move, char *text,
			  size_t bytes)
{
	char frame[64];
	const char *cache = cache_words[move.a & EXPLORE_WHICH];

	frame_text(world, move.b, frame, sizeof(frame));
	if (move.kind == EXPLORE_EVICT)
		snprintf(text, bytes, "hardware, cpu%u: evict the %s line of %s, colour %u",
			 move.cpu, cache, frame, (unsigned)move.a >> 4);
	else if (move.a & EXPLORE_FILL_LINEAR)
		snprintf(text, bytes,
			 "hardware, cpu%u: fill an %s line of %s by the kernel's mapping", move.cpu,
			 cache, frame);
	else if (move.a & EXPLORE_FILL_ALIAS)
		snprintf(text, bytes, "hardware, cpu%u: fill an %s line by alias page %u", move.cpu,
			 cache, (unsigned)move.b);
	else
		snprintf(text, bytes, "hardware, cpu%u: fill an %s line of page %u by the map '%s'",
			 move.cpu, cache, (unsigned)move.b & 15u, place_words[move.b >> 4]);
}

static void single_text(const struct explore_world *world, struct explore_move move, char *text,
			size_t bytes)
{
	const char *kind = kind_words[move.kind];
	unsigned process = world->runs[move.cpu];

	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
	case EXPLORE_STORE:
	case EXPLORE_EXECUTE:
		snprintf(text, bytes, "cpu%u, p%u: %s %s page %u", move.cpu, process, kind,
			 place_words[move.a], move.b);
		break;
	case EXPLORE_MAP:
	case EXPLORE_UNMAP:
	case EXPLORE_MSYNC:
		snprintf(text, bytes, "cpu%u, p%u: %s %s", move.cpu, process, kind,
			 place_words[move.a]);
		break;
	case EXPLORE_PROTECT:
		snprintf(text, bytes, "cpu%u, p%u: %s %s %s", move.cpu, process, kind,
			 place_words[move.a], prot_word(move.b));
		break;
	case EXPLORE_EVICT:
	case EXPLORE_FILL:
		hardware_text(world, move, text, bytes);
		break;
	case EXPLORE_TRUNCATE:
		snprintf(text, bytes, "cpu%u: %s to %u pages", move.cpu, kind, move.a);
		break;
	case EXPLORE_FORK:
	case EXPLORE_RECLAIM:
		snprintf(text, bytes, "cpu%u: %s", move.cpu, kind);
		break;
	case EXPLORE_GO_ON:
		snprintf(text, bytes, "cpu%u: %s", move.cpu, kind);
		break;
	case EXPLORE_RUN:
	case EXPLORE_EXIT:
		snprintf(text, bytes, "cpu%u: %s p%u", move.cpu, kind, move.a);
		break;
	default:
		snprintf(text, bytes, "cpu%u: %s page %u", move.cpu, kind, move.a);
		break;
	}
}

void explore_move_text(const struct explore_world *world, struct explore_move move, char *text,
		       size_t bytes)
{
	size_t used;

	single_text(world, move, text, bytes);
	used = strlen(text);
	if (move.until)
		snprintf(text + used, bytes - used, ", to its point %u", move.until);
}
