/*
 * The model: the simplest memory manager that one can think of, and what it says of each move.
 *
 * A witness knows what a read of a frame should have returned; the model knows besides that the
 * frame is the right one, and which error an access must end with.
 */
#include "lab/explore.h"

#include <string.h>

/* Values that no run has stored: for trying what two calls would do. */
#define A_VALUE (UINT64_MAX - 1)
#define B_VALUE UINT64_MAX

bool explore_is_shared(enum explore_place place)
{
	return place == EXPLORE_SHARED || place == EXPLORE_ALIAS;
}

int explore_model_access(const struct explore_model *model, unsigned process, unsigned place,
			 unsigned page, enum quire_access access)
{
	static const unsigned needs[] = {
		[QUIRE_LOAD] = QUIRE_PROT_READ,
		[QUIRE_STORE] = QUIRE_PROT_WRITE,
		[QUIRE_FETCH] = QUIRE_PROT_EXEC,
	};
	const struct explore_map *map = &model->map[process][place];

	if (!map->mapped || !(map->prot & needs[access]))
		return -QUIRE_SIGSEGV;
	if (place != EXPLORE_ANON && page >= model->file_pages)
		return -QUIRE_SIGBUS;
	return 0;
}

/* The word that an access sees. */
static uint64_t word_at(const struct explore_model *model, unsigned process, unsigned place,
			unsigned page)
{
	const struct explore_map *map = &model->map[process][place];

	if (map->own[page])
		return map->value[page];
	return place == EXPLORE_ANON ? 0 : model->file[page];
}

static void store(struct explore_model *model, unsigned process, unsigned place, unsigned page,
		  uint64_t value)
{
	struct explore_map *map = &model->map[process][place];

	if (explore_is_shared(place)) {
		model->file[page] = value;
		return;
	}
	map->own[page] = true;
	map->value[page] = value;
}

static void truncate_to(struct explore_model *model, unsigned pages)
{
	for (unsigned page = pages; page < EXPLORE_PAGES_MAX; page++) {
		model->file[page] = 0;
		for (unsigned process = 0; process < EXPLORE_PROCESSES; process++) {
			model->map[process][EXPLORE_PRIVATE].own[page] = false;
			model->map[process][EXPLORE_PRIVATE].value[page] = 0;
		}
	}
	model->file_pages = pages;
}

static struct explore_outcome access_outcome(struct explore_model *model, struct explore_move move,
					     unsigned process, uint64_t value)
{
	static const enum quire_access accesses[] = {
		[EXPLORE_LOAD] = QUIRE_LOAD,
		[EXPLORE_STORE] = QUIRE_STORE,
		[EXPLORE_EXECUTE] = QUIRE_FETCH,
	};
	struct explore_outcome outcome = {
		.result =
			explore_model_access(model, process, move.a, move.b, accesses[move.kind])};

	if (outcome.result)
		return outcome;
	if (move.kind == EXPLORE_STORE)
		store(model, process, move.a, move.b, value);
	else
		outcome.value = word_at(model, process, move.a, move.b);
	return outcome;
}

static struct explore_outcome file_outcome(struct explore_model *model, struct explore_move move,
					   uint64_t value)
{
	struct explore_outcome outcome = {.result = 0};

	if (move.kind == EXPLORE_WRITE || move.kind == EXPLORE_DEVICE_IN)
		model->file[move.a] = value;
	if (move.kind == EXPLORE_WRITE && model->file_pages <= move.a)
		model->file_pages = move.a + 1u;
	if (move.kind == EXPLORE_READ || move.kind == EXPLORE_WRITE)
		outcome.result = move.kind == EXPLORE_READ && move.a >= model->file_pages
					 ? 0
					 : QUIRE_PAGE_BYTES;
	if (move.kind == EXPLORE_DEVICE_OUT || (move.kind == EXPLORE_READ && outcome.result))
		outcome.value = model->file[move.a];
	return outcome;
}

struct explore_outcome explore_model_do(struct explore_model *model, struct explore_move move,
					unsigned process, uint64_t value)
{
	struct explore_outcome outcome = {.result = 0};

	switch ((enum explore_kind)move.kind) {
	case EXPLORE_LOAD:
	case EXPLORE_STORE:
	case EXPLORE_EXECUTE:
		return access_outcome(model, move, process, value);
	case EXPLORE_READ:
	case EXPLORE_WRITE:
	case EXPLORE_DEVICE_IN:
	case EXPLORE_DEVICE_OUT:
		return file_outcome(model, move, value);
	case EXPLORE_MAP:
		model->map[process][move.a] =
			(struct explore_map){.mapped = true,
					     .prot = QUIRE_PROT_READ | QUIRE_PROT_WRITE};
		break;
	case EXPLORE_UNMAP:
		memset(&model->map[process][move.a], 0, sizeof(struct explore_map));
		break;
	case EXPLORE_PROTECT:
		if (model->map[process][move.a].mapped)
			model->map[process][move.a].prot = move.b;
		else
			outcome.result = -QUIRE_ENOMEM;
		break;
	case EXPLORE_MSYNC:
		if (!model->map[process][move.a].mapped)
			outcome.result = -QUIRE_ENOMEM;
		break;
	case EXPLORE_TRUNCATE:
		truncate_to(model, move.a);
		break;
	case EXPLORE_FORK:
		model->alive[1] = true;
		memcpy(model->map[1], model->map[0], sizeof(model->map[0]));
		break;
	case EXPLORE_EXIT:
		model->alive[1] = false;
		memset(model->map[1], 0, sizeof(model->map[1]));
		break;
	default:
		break;
	}
	return outcome;
}

static bool same_maps(const struct explore_map *a, const struct explore_map *b)
{
	bool same = a->mapped == b->mapped && a->prot == b->prot;

	for (unsigned page = 0; page < EXPLORE_PAGES_MAX; page++)
		same = same && a->own[page] == b->own[page] && a->value[page] == b->value[page];
	return same;
}

bool explore_model_same(const struct explore_model *a, const struct explore_model *b)
{
	bool same = a->file_pages == b->file_pages && a->alive[1] == b->alive[1];

	for (unsigned page = 0; page < EXPLORE_PAGES_MAX; page++)
		same = same && a->file[page] == b->file[page];
	for (unsigned process = 0; process < EXPLORE_PROCESSES; process++)
		for (unsigned place = 0; place < EXPLORE_PLACES; place++)
			same = same && same_maps(&a->map[process][place], &b->map[process][place]);
	return same;
}

enum explore_order explore_model_order(const struct explore_model *model, struct explore_move a,
				       unsigned a_process, struct explore_move b,
				       unsigned b_process)
{
	struct explore_model ab = *model, ba = *model;
	struct explore_outcome a_first, a_second, b_first, b_second;

	a_first = explore_model_do(&ab, a, a_process, A_VALUE);
	b_second = explore_model_do(&ab, b, b_process, B_VALUE);
	b_first = explore_model_do(&ba, b, b_process, B_VALUE);
	a_second = explore_model_do(&ba, a, a_process, A_VALUE);
	if (!explore_outcome_same(a_first, a_second) || !explore_outcome_same(b_first, b_second))
		return EXPLORE_TOLD;
	return explore_model_same(&ab, &ba) ? EXPLORE_APART : EXPLORE_UNTOLD;
}
