/*
 * The search: breadth first over states, by several threads; and random walks.
 *
 * A state is a node: the node it was first reached from, and the move. To expand one, a thread goes
 * back to the root of its own world, makes the moves that lead to the state, saves it, and tries
 * each move from there. Digests of all states lie in a table of SHARDS parts with a lock each, so
 * that threads seldom meet.
 *
 * All nodes of a depth are expanded before those of the next, so the first run that fails is a
 * shortest one. States of the last depth are tried but not kept: nothing starts from them.
 */
#include "lab/explore.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	SHARDS = 256,
	SHARD_SLOTS = 256, /* at first */
	CHUNK = 8,         /* nodes that a thread takes at once */
	WAIT_NS = 50 * 1000 * 1000,
	WAITS_A_LINE = 4,
};

#define NODES_MAX \
	((size_t)1 << 31) /* reserved addresses; the host gives memory for those that are used */

struct node {
	uint32_t parent;
	struct explore_move move; /* 14 bytes in all, 16 with what aligns them */
};

struct shard {
	pthread_mutex_t lock;
	uint64_t *slots; /* 0: empty */
	size_t size, used;
};

struct search {
	const struct explore_setting *setting;
	const struct explore_bounds *bounds;
	struct explore_result *result;
	struct shard shards[SHARDS];
	struct node *nodes;
	size_t node_count;  /* under `lock` */
	size_t first, end;  /* nodes of the depth that is being expanded */
	atomic_size_t next; /* of them, the next to be taken */
	atomic_size_t done;
	atomic_ullong moves, states, pairs;
	atomic_bool ended;   /* a run failed, or there is no memory */
	atomic_uint running; /* threads at work */
	bool keep;           /* not the last depth */
	double deadline;     /* seconds; 0: none */
	uint64_t seed;       /* random walks */
	pthread_mutex_t lock;
};

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool out_of_time(const struct search *search)
{
	return search->deadline > 0 && now_seconds() > search->deadline;
}

static bool must_stop(struct search *search)
{
	return atomic_load(&search->ended) || (search->bounds->stop && *search->bounds->stop);
}

/* --- States that were seen -------------------------------------------------------------------- */

static bool shard_grow(struct shard *shard)
{
	size_t size = shard->size ? shard->size * 2 : SHARD_SLOTS;
	uint64_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < shard->size; i++) {
		size_t at = (shard->slots[i] >> 8) & (size - 1);

		while (shard->slots[i] && slots[at])
			at = (at + 1) & (size - 1);
		if (shard->slots[i])
			slots[at] = shard->slots[i];
	}
	free(shard->slots);
	shard->slots = slots;
	shard->size = size;
	return true;
}

/* 1: new; 0: seen before; -1: no memory. */
static int see(struct search *search, uint64_t digest)
{
	struct shard *shard = &search->shards[digest % SHARDS];
	int result = 0;
	size_t at;

	digest += !digest; /* 0 means empty */
	pthread_mutex_lock(&shard->lock);
	if (shard->used * 2 >= shard->size && !shard_grow(shard)) {
		pthread_mutex_unlock(&shard->lock);
		return -1;
	}
	at = (digest >> 8) & (shard->size - 1);
	while (shard->slots[at] && shard->slots[at] != digest)
		at = (at + 1) & (shard->size - 1);
	if (!shard->slots[at]) {
		shard->slots[at] = digest;
		shard->used++;
		result = 1;
	}
	pthread_mutex_unlock(&shard->lock);
	return result;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* The moves that lead to a node; result: how many. */
static unsigned path_of(const struct search *search, size_t node, struct explore_move *path)
{
	unsigned length = 0;

	for (size_t n = node; n; n = search->nodes[n].parent)
		length++;
	for (unsigned at = length; at-- > 0; node = search->nodes[node].parent)
		path[at] = search->nodes[node].move;
	return length;
}

/* From the root on; the moves are known to be good. */
static bool go(struct explore_job *job, const struct explore_move *path, unsigned length)
{
	bool good = true;

	explore_job_reset(job);
	for (unsigned n = 0; n < length && good; n++)
		good = explore_do(job, path[n]);
	return good;
}

static void fail_search(struct search *search, const char *why)
{
	pthread_mutex_lock(&search->lock);
	if (!atomic_exchange(&search->ended, true)) {
		search->result->end = EXPLORE_FAILED;
		search->result->why = why;
	}
	pthread_mutex_unlock(&search->lock);
}

static void found(struct search *search, const struct explore_move *path, unsigned length,
		  struct explore_move last)
{
	struct explore_result *result = search->result;

	pthread_mutex_lock(&search->lock);
	if (!atomic_exchange(&search->ended, true)) {
		result->end = EXPLORE_REFUTED;
		memcpy(result->run, path, length * sizeof(*path));
		result->run[length] = last;
		result->length = length + 1;
	}
	pthread_mutex_unlock(&search->lock);
}

static void add_nodes(struct search *search, size_t parent, const struct explore_move *moves,
		      unsigned count)
{
	pthread_mutex_lock(&search->lock);
	if (search->node_count + count < NODES_MAX)
		for (unsigned n = 0; n < count; n++)
			search->nodes[search->node_count++] =
				(struct node){(uint32_t)parent, moves[n]};
	else if (!atomic_load(&search->ended))
		search->result->why = "more states than this program can name";
	pthread_mutex_unlock(&search->lock);
}

/* Tries a move from the saved state. True: it led to a new one. */
static bool try_move(struct search *search, struct explore_job *job,
		     const struct explore_move *path, unsigned length, struct explore_move move)
{
	int seen;

	if (!explore_do(job, move)) {
		found(search, path, length, move);
		return false;
	}
	seen = search->keep ? see(search, explore_digest(job->world)) : 0;
	if (seen < 0)
		fail_search(search, "the host has no memory for more states");
	explore_job_restore(job);
	return seen > 0;
}

/* The pair at each point of its first call, to the last. */
static void try_pair(struct search *search, struct explore_job *job, size_t node,
		     const struct explore_move *path, unsigned length, struct explore_move pair)
{
	unsigned tried = 0, fresh = 0;

	do {
		tried++;
		if (try_move(search, job, path, length, pair)) {
			add_nodes(search, node, &pair, 1);
			fresh++;
		}
		pair.at++;
	} while (job->reached && pair.at < EXPLORE_POINTS_MAX && !must_stop(search));
	atomic_fetch_add(&search->moves, tried);
	atomic_fetch_add(&search->pairs, tried);
	atomic_fetch_add(&search->states, fresh);
}

static void try_pairs(struct search *search, struct explore_job *job, size_t node,
		      const struct explore_move *path, unsigned length)
{
	struct explore_move moves[EXPLORE_MOVES_MAX], pairs[EXPLORE_PAIRS_MAX];
	unsigned count = explore_moves(job->world, moves);
	unsigned pair_count = explore_pairs(job->world, moves, count, pairs, EXPLORE_PAIRS_MAX);

	for (unsigned n = 0; n < pair_count && !must_stop(search) && !out_of_time(search); n++)
		try_pair(search, job, node, path, length, pairs[n]);
}

static void expand(struct search *search, struct explore_job *job, size_t node)
{
	struct explore_move path[EXPLORE_DEPTH_MAX], moves[EXPLORE_MOVES_MAX],
		fresh[EXPLORE_MOVES_MAX];
	unsigned length = path_of(search, node, path), count, fresh_count = 0;

	if (!go(job, path, length)) {
		fail_search(search, "a run did not repeat itself: please report this");
		return;
	}
	explore_job_save(job);
	count = explore_moves(job->world, moves);
	for (unsigned n = 0; n < count && !must_stop(search); n++)
		if (try_move(search, job, path, length, moves[n]))
			fresh[fresh_count++] = moves[n];
	atomic_fetch_add(&search->moves, count);
	atomic_fetch_add(&search->states, fresh_count);
	add_nodes(search, node, fresh, fresh_count);
	if (search->bounds->interleave && !must_stop(search))
		try_pairs(search, job, node, path, length);
}

static void *work(void *argument)
{
	struct search *search = argument;
	struct explore_job job;
	const char *why = explore_job_create(&job, search->setting);

	if (why) {
		fail_search(search, why);
		atomic_fetch_sub(&search->running, 1);
		return NULL;
	}
	while (!must_stop(search) && !out_of_time(search)) {
		size_t from = atomic_fetch_add(&search->next, CHUNK);

		if (from >= search->end)
			break;
		for (size_t n = from; n < from + CHUNK && n < search->end && !must_stop(search);
		     n++) {
			expand(search, &job, n);
			if (!out_of_time(search))
				atomic_fetch_add(&search->done, 1);
		}
	}
	explore_job_destroy(&job);
	atomic_fetch_sub(&search->running, 1);
	return NULL;
}

/* --- Threads ---------------------------------------------------------------------------------- */

static void show_progress(const struct search *search, double start)
{
	double seconds = now_seconds() - start;
	size_t all = search->end - search->first, done = search->done;

	fprintf(stderr, "\r\033[Kdepth %u: %.0f %%, %llu states, %llu steps, %.0f steps/s",
		search->result->depth + 1, all ? 100.0 * (double)done / (double)all : 0,
		(unsigned long long)search->states, (unsigned long long)search->moves,
		(double)search->moves / (seconds > 0.01 ? seconds : 0.01));
	fflush(stderr);
}

/* Runs fn in every thread and waits for all. */
static void run_threads(struct search *search, void *(*fn)(void *), double start)
{
	pthread_t threads[256];
	unsigned jobs = search->bounds->jobs < 256 ? search->bounds->jobs : 256, made = 0;

	atomic_store(&search->running, jobs);
	while (made < jobs && pthread_create(&threads[made], NULL, fn, search) == 0)
		made++;
	if (made < jobs) {
		atomic_fetch_sub(&search->running, jobs - made);
		if (!made)
			fail_search(search, "the host makes no threads");
	}
	for (unsigned waits = 1; search->bounds->progress && atomic_load(&search->running);
	     waits++) {
		struct timespec wait = {0, WAIT_NS};

		nanosleep(&wait, NULL);
		if (waits % WAITS_A_LINE == 0)
			show_progress(search, start);
	}
	for (unsigned n = 0; n < made; n++)
		pthread_join(threads[n], NULL);
	if (search->bounds->progress)
		fputs("\r\033[K", stderr);
}

static bool search_begin(struct search *search)
{
	void *nodes = mmap(NULL, NODES_MAX * sizeof(struct node), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	search->nodes = nodes == MAP_FAILED ? NULL : nodes;
	pthread_mutex_init(&search->lock, NULL);
	for (unsigned n = 0; n < SHARDS; n++)
		pthread_mutex_init(&search->shards[n].lock, NULL);
	if (search->bounds->seconds)
		search->deadline = now_seconds() + search->bounds->seconds;
	search->node_count = 1; /* the root */
	return search->nodes;
}

static void search_end(struct search *search)
{
	if (search->nodes)
		munmap(search->nodes, NODES_MAX * sizeof(struct node));
	for (unsigned n = 0; n < SHARDS; n++) {
		pthread_mutex_destroy(&search->shards[n].lock);
		free(search->shards[n].slots);
	}
	pthread_mutex_destroy(&search->lock);
	free(search);
}

/* One depth. True: all of it was explored, and nothing failed. */
static bool search_depth(struct search *search, double start)
{
	struct explore_result *result = search->result;
	size_t all;

	search->keep = result->depth + 1 < search->bounds->depth;
	atomic_store(&search->next, search->first);
	atomic_store(&search->done, 0);
	run_threads(search, work, start);
	if (atomic_load(&search->ended))
		return false;
	all = search->end - search->first;
	if (search->done == all && !must_stop(search)) {
		result->depth++;
		return true;
	}
	result->part = (double)search->done / (double)all;
	result->end = search->bounds->stop && *search->bounds->stop ? EXPLORE_INTERRUPTED
								    : EXPLORE_OUT_OF_TIME;
	return false;
}

void explore_search(const struct explore_setting *setting, const struct explore_bounds *bounds,
		    struct explore_result *result)
{
	struct search *search = calloc(1, sizeof(*search));
	double start = now_seconds();

	*result = (struct explore_result){.end = EXPLORE_FAILED,
					  .why = "the host has no memory for the search"};
	if (!search)
		return;
	search->setting = setting;
	search->bounds = bounds;
	search->result = result;
	if (search_begin(search)) {
		result->end = EXPLORE_SAFE;
		result->why = NULL;
		search->end = 1;
		atomic_store(&search->states, 1);
		while (result->depth < bounds->depth && !result->exhausted &&
		       search_depth(search, start)) {
			search->first = search->end;
			search->end = search->node_count;
			result->exhausted = search->keep && search->first == search->end;
		}
	}
	result->states = search->states;
	result->moves = search->moves;
	result->pairs = search->pairs;
	result->seconds = now_seconds() - start;
	search_end(search);
}

/* --- Random walks ----------------------------------------------------------------------------- */

/*
 * Splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void walk(struct search *search, struct explore_job *job, uint64_t seed)
{
	struct explore_move path[EXPLORE_DEPTH_MAX], moves[EXPLORE_MOVES_MAX];
	uint64_t state = seed;

	explore_job_reset(job);
	for (unsigned length = 0; length < search->bounds->depth && !must_stop(search); length++) {
		unsigned count = explore_moves(job->world, moves);
		struct explore_move move = moves[random_next(&state) % count];

		atomic_fetch_add(&search->moves, 1);
		if (!explore_do(job, move)) {
			found(search, path, length, move);
			return;
		}
		path[length] = move;
	}
	atomic_fetch_add(&search->states, 1);
}

static void *walk_all(void *argument)
{
	struct search *search = argument;
	struct explore_job job;
	const char *why = explore_job_create(&job, search->setting);

	if (why)
		fail_search(search, why);
	while (!why && !must_stop(search) && !out_of_time(search)) {
		size_t n = atomic_fetch_add(&search->next, 1);

		if (search->bounds->walks && n >= search->bounds->walks)
			break;
		walk(search, &job, search->seed + n);
	}
	if (!why)
		explore_job_destroy(&job);
	atomic_fetch_sub(&search->running, 1);
	return NULL;
}

void explore_random(const struct explore_setting *setting, const struct explore_bounds *bounds,
		    uint64_t seed, struct explore_result *result)
{
	struct search *search = calloc(1, sizeof(*search));
	double start = now_seconds();

	*result = (struct explore_result){.end = EXPLORE_FAILED,
					  .why = "the host has no memory for the search"};
	if (!search)
		return;
	search->setting = setting;
	search->bounds = bounds;
	search->result = result;
	search->seed = seed;
	if (search_begin(search)) {
		result->end = EXPLORE_SAFE;
		result->why = NULL;
		run_threads(search, walk_all, start);
	}
	if (result->end == EXPLORE_SAFE && must_stop(search))
		result->end = EXPLORE_INTERRUPTED;
	result->states = search->states;
	result->moves = search->moves;
	result->pairs = search->pairs;
	result->seconds = now_seconds() - start;
	search_end(search);
}

/* --- One run ---------------------------------------------------------------------------------- */

static bool may_pair(const struct explore_world *world, struct explore_move move,
		     const struct explore_move *moves, unsigned count)
{
	struct explore_move pairs[EXPLORE_PAIRS_MAX];
	unsigned pair_count = explore_pairs(world, moves, count, pairs, EXPLORE_PAIRS_MAX);

	move.at = 1;
	for (unsigned n = 0; n < pair_count; n++)
		if (memcmp(&pairs[n], &move, sizeof(move)) == 0)
			return true;
	return false;
}

static bool may(const struct explore_world *world, struct explore_move move)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(world, moves);

	if (move.at)
		return may_pair(world, move, moves, count);
	for (unsigned n = 0; n < count; n++)
		if (memcmp(&moves[n], &move, sizeof(move)) == 0)
			return true;
	return false;
}

bool explore_replay(struct explore_job *job, const struct explore_move *run, unsigned length)
{
	explore_job_reset(job);
	for (unsigned n = 0; n < length; n++) {
		bool last = n + 1 == length;

		if (!may(job->world, run[n]) || explore_do(job, run[n]) == last)
			return false;
	}
	return length > 0;
}

void explore_minimize(struct explore_job *job, struct explore_move *run, unsigned *length)
{
	struct explore_move shorter[EXPLORE_DEPTH_MAX];

	for (unsigned n = *length; n-- > 0;) {
		memcpy(shorter, run, n * sizeof(*run));
		memcpy(shorter + n, run + n + 1, (*length - n - 1) * sizeof(*run));
		if (!explore_replay(job, shorter, *length - 1))
			continue;
		memcpy(run, shorter, (*length - 1) * sizeof(*run));
		--*length;
		n = *length; /* what could not be dropped before may now be */
	}
}
