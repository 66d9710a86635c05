/*
 * Moves: what may happen next in a world, and doing it.
 *
 * A move is a system call, an access of user code, a transfer of the device, or something that hardware does by
 * itself. Its result is compared with the model's: the value of a load, the error of an access. What a load should
 * see the witness knows too; the model knows besides what no witness can, that the frame is the right one.
 *
 * MOVES LEFT OUT, since they can show nothing that others do not:
 *   - An access that is forbidden, where the TLB of the CPU has no entry for its page: it walks the tables, which the
 *     model has been compared with already.
 *   - An eviction of a clean line, or of an instruction line: it only brings later readers closer to memory. What
 *     a clean line hides shows where the line was lost: another reader, or a device.
 *   - Evictions and fills of D lines where hardware keeps all D lines, devices and fetches coherent.
 *   - A system call that uses no memory of its process is made by CPU 0 only, where D caches are coherent.
 */
#include "lab/explore.h"

#include <string.h>

#include "sim/adversary.h"

#define FILL_LINEAR 0x10u
#define LINES_WORD 0x0fu /* the part of move.a that is an enum sim_which */

static bool is_file(enum explore_place place)
{
	return place != EXPLORE_ANON;
}

static bool is_shared(enum explore_place place)
{
	return place == EXPLORE_SHARED || place == EXPLORE_ALIAS;
}

/* --- What the model says ------------------------------------------------------------------------------ */

static int model_access(const struct explore_world *world, unsigned process, unsigned place, unsigned page,
			enum quire_access access)
{
	static const unsigned needs[] = {
		[QUIRE_LOAD] = QUIRE_PROT_READ,
		[QUIRE_STORE] = QUIRE_PROT_WRITE,
		[QUIRE_FETCH] = QUIRE_PROT_EXEC,
	};
	const struct explore_map *map = &world->model.map[process][place];

	if (!map->mapped || !(map->prot & needs[access]))
		return -QUIRE_SIGSEGV;
	if (is_file(place) && page >= world->model.file_pages)
		return -QUIRE_SIGBUS;
	return 0;
}

/* Where the model keeps the word that an access sees. */
static const uint64_t *model_word(const struct explore_world *world, unsigned process, unsigned place, unsigned page)
{
	const struct explore_map *map = &world->model.map[process][place];
	static const uint64_t zero;

	if (map->own[page])
		return &map->value[page];
	return is_file(place) ? &world->model.file[page] : &zero;
}

static void model_store(struct explore_world *world, unsigned process, unsigned place, unsigned page, uint64_t value)
{
	struct explore_map *map = &world->model.map[process][place];

	if (is_shared(place)) {
		world->model.file[page] = value;
		return;
	}
	map->own[page] = true;
	map->value[page] = value;
}

static void model_truncate(struct explore_model *model, unsigned pages)
{
	for (unsigned page = pages; page < EXPLORE_PAGES_MAX; page++) {
		model->file[page] = 0;
		for (unsigned process = 0; process < EXPLORE_PROCESSES; process++)
			model->map[process][EXPLORE_PRIVATE].own[page] = false;
	}
	model->file_pages = pages;
}

static bool wrong(struct explore_world *world, const char *what, int64_t expected, int64_t got)
{
	snprintf(world->wrong, sizeof(world->wrong), "%s: expected %lld, got %lld", what, (long long)expected,
		 (long long)got);
	return false;
}

static bool agree(struct explore_world *world, const char *what, int64_t expected, int64_t got)
{
	return expected == got || wrong(world, what, expected, got);
}

/* --- Which moves there are ------------------------------------------------------------------------------- */

struct list {
	const struct explore_world *world;
	struct explore_move *moves;
	unsigned count;
};

static void add(struct list *list, enum explore_kind kind, unsigned cpu, unsigned a, unsigned b)
{
	if (list->count < EXPLORE_MOVES_MAX)
		list->moves[list->count++] =
			(struct explore_move){ (uint8_t)kind, (uint8_t)cpu, (uint8_t)a, (uint8_t)b };
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
			if (cached || !model_access(world, process, place, page, (enum quire_access)access))
				add(list, kinds[access], cpu, place, page);
	}
}

static void add_mappings(struct list *list, unsigned cpu, unsigned process, unsigned place)
{
	static const unsigned prots[] = { QUIRE_PROT_READ, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
					  QUIRE_PROT_READ | QUIRE_PROT_EXEC };
	const struct explore_map *map = &list->world->model.map[process][place];

	if (!map->mapped) {
		add(list, EXPLORE_MAP, cpu, place, 0);
		return;
	}
	add(list, EXPLORE_UNMAP, cpu, place, 0);
	for (unsigned i = 0; i < 3; i++)
		if (map->prot != prots[i])
			add(list, EXPLORE_PROTECT, cpu, place, prots[i]);
	if (is_shared(place))
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

/* --- The adversary's ---------------------------------------------------------------------------------------- */

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
				add(list, EXPLORE_EVICT, cpu, (unsigned)which | set / lines_a_page(world) << 4, page->frame);
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

		if (is_data(page) &&
		    sim_may_speculate(world->sim, cpu, which, quire_page_address(world->quire, page)))
			add(list, EXPLORE_FILL, cpu, (unsigned)which | FILL_LINEAR, page->frame);
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
		if (has_colours(list->world, SIM_WHICH_L1D))
			add_user_fills(list, cpu, SIM_WHICH_L1D);
	}
	if (setting->machine.insn_snoops_data)
		return;
	add_linear_fills(list, cpu, SIM_WHICH_L1I);
	if (has_colours(list->world, SIM_WHICH_L1I))
		add_user_fills(list, cpu, SIM_WHICH_L1I);
}

unsigned explore_moves(const struct explore_world *world, struct explore_move *moves)
{
	struct list list = { world, moves, 0 };

	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++) {
		add_process_moves(&list, cpu);
		if (cpu == 0 || world->setting->every_cpu)
			add_system_moves(&list, cpu);
	}
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++)
		add_hardware_moves(&list, cpu);
	return list.count;
}

/* --- Doing one -------------------------------------------------------------------------------------------------- */

/* Between two moves there is time enough for the stores that wait on other CPUs. */
static void settle_stores(struct explore_world *world, unsigned but)
{
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++)
		if (cpu != but)
			sim_settle_stores(world->sim, cpu);
}

static uint64_t new_value(struct explore_world *world)
{
	return ++world->values;
}

static bool do_access(struct explore_world *world, struct explore_move move, enum quire_access access)
{
	uintptr_t va = explore_address(move.a, move.b);
	unsigned process = world->runs[move.cpu];
	uint64_t value = access == QUIRE_STORE ? new_value(world) : 0;
	int expected = model_access(world, process, move.a, move.b, access);
	uint64_t right = *model_word(world, process, move.a, move.b);
	int error;

	if (access == QUIRE_STORE)
		error = sim_store(world->sim, va, 8, value);
	else if (access == QUIRE_LOAD)
		error = sim_load(world->sim, va, 8, &value);
	else
		error = sim_fetch(world->sim, va, &value);
	if (!agree(world, "error of an access", expected, error) || error)
		return error == expected;
	if (access == QUIRE_STORE)
		model_store(world, process, move.a, move.b, value);
	else
		return agree(world, access == QUIRE_LOAD ? "loaded value" : "executed value", (int64_t)right, (int64_t)value);
	return true;
}

static bool do_map(struct explore_world *world, struct explore_move move)
{
	unsigned process = world->runs[move.cpu];
	uintptr_t va = explore_address(move.a, 0);
	unsigned prot = QUIRE_PROT_READ | QUIRE_PROT_WRITE;
	unsigned flags = QUIRE_MAP_FIXED | (is_shared(move.a) ? QUIRE_MAP_SHARED : QUIRE_MAP_PRIVATE);
	int error = quire_mmap(world->spaces[process], &va, world->setting->pages * QUIRE_PAGE_BYTES, prot,
			       flags | (is_file(move.a) ? 0 : QUIRE_MAP_ANONYMOUS),
			       is_file(move.a) ? &world->file : NULL, 0, true);

	world->model.map[process][move.a] = (struct explore_map){ .mapped = true, .prot = prot };
	return agree(world, "error of map", 0, error);
}

static bool do_area(struct explore_world *world, struct explore_move move)
{
	unsigned process = world->runs[move.cpu];
	struct explore_map *map = &world->model.map[process][move.a];
	uintptr_t va = explore_address(move.a, 0);
	size_t bytes = world->setting->pages * QUIRE_PAGE_BYTES;
	int error;

	if (move.kind == EXPLORE_UNMAP) {
		error = quire_munmap(world->spaces[process], va, bytes);
		*map = (struct explore_map){ .mapped = false };
	} else if (move.kind == EXPLORE_PROTECT) {
		error = quire_mprotect(world->spaces[process], va, bytes, move.b);
		map->prot = move.b;
	} else {
		error = quire_msync(world->spaces[process], va, bytes, QUIRE_MS_SYNC);
	}
	return agree(world, "error of unmap, protect or msync", 0, error);
}

static bool do_read(struct explore_world *world, unsigned page)
{
	int64_t done = quire_read(&world->file, page * QUIRE_PAGE_BYTES, EXPLORE_BUFFER, QUIRE_PAGE_BYTES);

	return agree(world, "bytes read", QUIRE_PAGE_BYTES, done) &&
	       agree(world, "value read", (int64_t)world->model.file[page], (int64_t)world->host[0]);
}

static bool do_write(struct explore_world *world, unsigned page)
{
	uint64_t value = new_value(world);
	int64_t done;

	for (size_t n = 0; n < QUIRE_PAGE_BYTES / sizeof(value); n++)
		world->host[n] = value;
	done = quire_write(&world->file, page * QUIRE_PAGE_BYTES, EXPLORE_BUFFER, QUIRE_PAGE_BYTES);
	world->model.file[page] = value;
	if (world->model.file_pages <= page)
		world->model.file_pages = page + 1;
	return agree(world, "bytes written", QUIRE_PAGE_BYTES, done);
}

/* A transfer straight between the device and a page of the page cache, as for a pinned page of direct I/O. */
static bool do_device(struct explore_world *world, unsigned index, bool in)
{
	enum quire_dma_direction direction = in ? QUIRE_FROM_DEVICE : QUIRE_TO_DEVICE;
	uint64_t bytes[QUIRE_PAGE_BYTES / sizeof(uint64_t)], right = world->model.file[index];
	struct quire *q = world->quire;
	struct quire_page *page;
	int error = quire_cache_read(&world->file, index, &page);

	if (error)
		return agree(world, "error of a device's request", 0, error);
	quire_page_lock(q, page);
	quire_coherence_dma_prepare(q, page, direction);
	if (in) {
		right = new_value(world);
		for (size_t n = 0; n < sizeof(bytes) / sizeof(bytes[0]); n++)
			bytes[n] = right;
		sim_dma_to_memory(world->sim, quire_page_pa(page), bytes, sizeof(bytes));
		world->model.file[index] = right;
	} else {
		sim_dma_from_memory(world->sim, quire_page_pa(page), bytes, sizeof(bytes));
	}
	quire_coherence_dma_finish(q, page, direction);
	if (in)
		quire_page_dirty(q, page);
	quire_page_unlock(q, page);
	quire_page_put(q, page);
	return agree(world, "value read by the device", (int64_t)right, (int64_t)bytes[0]);
}

static void load(struct explore_world *world, unsigned cpu, unsigned process)
{
	unsigned current = sim_cpu(world->sim);

	sim_switch(world->sim, cpu);
	world->runs[cpu] = (uint8_t)process;
	quire_space_load(world->quire, process == EXPLORE_NOBODY ? NULL : world->spaces[process]);
	sim_switch(world->sim, current);
}

static bool do_fork(struct explore_world *world)
{
	struct explore_model *model = &world->model;
	int error = quire_space_fork(world->spaces[0], &world->spaces[1]);

	model->alive[1] = true;
	memcpy(model->map[1], model->map[0], sizeof(model->map[0]));
	return agree(world, "error of fork", 0, error);
}

static bool do_exit(struct explore_world *world)
{
	for (unsigned cpu = 0; cpu < world->setting->machine.cpus; cpu++)
		if (world->runs[cpu] == 1)
			load(world, cpu, 0);
	quire_space_destroy(world->spaces[1]);
	world->spaces[1] = NULL;
	world->model.alive[1] = false;
	memset(world->model.map[1], 0, sizeof(world->model.map[1]));
	return true;
}

static bool do_truncate(struct explore_world *world, unsigned pages)
{
	int error = quire_truncate(&world->file, pages * QUIRE_PAGE_BYTES);

	model_truncate(&world->model, pages);
	return agree(world, "error of truncate", 0, error);
}

static bool do_evict(struct explore_world *world, struct explore_move move)
{
	enum sim_which which = (enum sim_which)(move.a & LINES_WORD);
	unsigned sets, ways, set = (move.a >> 4) * lines_a_page(world);
	struct sim_line line;

	sim_cache_shape(world->sim, which, &sets, &ways);
	for (unsigned way = 0; way < ways; way++)
		if (sim_line_at(world->sim, move.cpu, which, set, way, &line) &&
		    line.pa == (quire_pa_t)move.b << QUIRE_PAGE_SHIFT)
			sim_evict(world->sim, move.cpu, which, set, way);
	return true;
}

static bool do_fill(struct explore_world *world, struct explore_move move)
{
	uintptr_t va = explore_address(move.b >> 4, move.b & 15);

	if (move.a & FILL_LINEAR)
		va = sim_kernel_base(world->sim) + ((uintptr_t)move.b << QUIRE_PAGE_SHIFT);
	sim_speculate(world->sim, move.cpu, (enum sim_which)(move.a & LINES_WORD), va);
	return true;
}

static bool do_move(struct explore_world *world, struct explore_move move)
{
	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
		return do_access(world, move, QUIRE_LOAD);
	case EXPLORE_STORE:
		return do_access(world, move, QUIRE_STORE);
	case EXPLORE_EXECUTE:
		return do_access(world, move, QUIRE_FETCH);
	case EXPLORE_READ:
		return do_read(world, move.a);
	case EXPLORE_WRITE:
		return do_write(world, move.a);
	case EXPLORE_MAP:
		return do_map(world, move);
	case EXPLORE_UNMAP:
	case EXPLORE_PROTECT:
	case EXPLORE_MSYNC:
		return do_area(world, move);
	case EXPLORE_TRUNCATE:
		return do_truncate(world, move.a);
	case EXPLORE_RECLAIM:
		quire_reclaim(world->quire, UINT64_MAX);
		return true;
	case EXPLORE_FORK:
		return do_fork(world);
	case EXPLORE_EXIT:
		return do_exit(world);
	case EXPLORE_RUN:
		load(world, move.cpu, move.a);
		return true;
	case EXPLORE_DEVICE_IN:
	case EXPLORE_DEVICE_OUT:
		return do_device(world, move.a, move.kind == EXPLORE_DEVICE_IN);
	case EXPLORE_EVICT:
		return do_evict(world, move);
	case EXPLORE_FILL:
		return do_fill(world, move);
	case EXPLORE_KIND_COUNT:
		break;
	}
	return true;
}

bool explore_do(struct explore_job *job, struct explore_move move)
{
	struct explore_world *world = job->world;
	bool good;

	job->stopped[0] = '\0';
	world->wrong[0] = '\0';
	world->steps++;
	sim_label(world->sim, world->steps);
	settle_stores(world, move.cpu);
	sim_switch(world->sim, move.cpu);
	if (setjmp(job->stop))
		return false;
	good = do_move(world, move);
	return good && !sim_violations(world->sim) && !sim_complaint(world->sim);
}

void explore_what(const struct explore_job *job, char *text, size_t bytes)
{
	const struct explore_world *world = job->world;

	if (job->stopped[0])
		snprintf(text, bytes, "BROKEN INVARIANT: %s", job->stopped);
	else if (sim_violations(world->sim))
		snprintf(text, bytes, "%s", "");
	else if (sim_complaint(world->sim))
		snprintf(text, bytes, "ENDLESS FAULT: %s", sim_complaint(world->sim));
	else
		snprintf(text, bytes, "WRONG RESULT: %s", world->wrong);
}

/* --- In words ----------------------------------------------------------------------------------------------------- */

static const char *const kind_words[] = {
#define X(id, word) word,
	EXPLORE_KINDS(X)
#undef X
};

static const char *const place_words[] = { "shared", "alias", "private", "anon" };
static const char *const cache_words[] = { "L1 D", "L1 I", "L2" };

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

static void hardware_text(const struct explore_world *world, struct explore_move move, char *text, size_t bytes)
{
	char frame[64];
	const char *cache = cache_words[move.a & LINES_WORD];

	frame_text(world, move.b, frame, sizeof(frame));
	if (move.kind == EXPLORE_EVICT)
		snprintf(text, bytes, "hardware, cpu%u: evict the %s line of %s, colour %u", move.cpu, cache, frame,
			 move.a >> 4);
	else if (move.a & FILL_LINEAR)
		snprintf(text, bytes, "hardware, cpu%u: fill an %s line of %s by the kernel's mapping", move.cpu, cache,
			 frame);
	else
		snprintf(text, bytes, "hardware, cpu%u: fill an %s line of page %u by the map '%s'", move.cpu, cache,
			 move.b & 15, place_words[move.b >> 4]);
}

void explore_move_text(const struct explore_world *world, struct explore_move move, char *text, size_t bytes)
{
	const char *kind = kind_words[move.kind];
	unsigned process = world->runs[move.cpu];

	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
	case EXPLORE_STORE:
	case EXPLORE_EXECUTE:
		snprintf(text, bytes, "cpu%u, p%u: %s %s page %u", move.cpu, process, kind, place_words[move.a], move.b);
		break;
	case EXPLORE_MAP:
	case EXPLORE_UNMAP:
	case EXPLORE_MSYNC:
		snprintf(text, bytes, "cpu%u, p%u: %s %s", move.cpu, process, kind, place_words[move.a]);
		break;
	case EXPLORE_PROTECT:
		snprintf(text, bytes, "cpu%u, p%u: %s %s %s", move.cpu, process, kind, place_words[move.a],
			 prot_word(move.b));
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
	case EXPLORE_RUN:
	case EXPLORE_EXIT:
		snprintf(text, bytes, "cpu%u: %s p%u", move.cpu, kind, move.a);
		break;
	default:
		snprintf(text, bytes, "cpu%u: %s page %u", move.cpu, kind, move.a);
		break;
	}
}
