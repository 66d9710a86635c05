/*
 * The search: breadth first over states, by several threads; and random walks.
 *
 * A state is a node: the node it was first reached from, and the step. To expand one, a thread puts
 * back the parent's state in its own world, or makes the moves that lead there from the root, makes
 * the last step, saves the state, and tries each move from there. Digests of all states lie in a
 * table of SHARDS parts with a lock each, so that threads seldom meet.
 *
 * All nodes of a depth are expanded before those of the next, so the first run that fails is a
 * shortest one. States of the last depth are tried but not kept: nothing starts from them.
 *
 * TWO AT ONCE. From a state, each call that enters the kernel is made to stop at each of its points
 * in turn; there each other move is made as a whole; then the call goes on to its end. That is two
 * steps, so depth d takes single steps from states at depth d - 1, and such pairs from those at
 * depth d - 2.
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
	CHUNK = 16,        /* nodes that a thread takes at once */
	WAIT_NS = 50 * 1000 * 1000,
	WAITS_A_LINE = 4,
	RANDOM_POINTS = 16, /* within so many a call stops in a random walk */
};

#define NODES_MAX \
	((size_t)1 << 31) /* reserved addresses; the host gives memory for those that are used */

/* A step, or two: one that stops half way, and what is done before it goes on to its end. */
struct node {
	uint32_t parent;
	struct explore_move first, second; /* `second`: only if first.until */
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
	/* level[d]: the first node that d steps reach; level[d + 1]: the end of these */
	size_t level[EXPLORE_DEPTH_MAX + 2];
	bool pairing;       /* two at once are tried, else single steps */
	size_t first, end;  /* nodes that are being expanded */
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

static struct explore_move go_on(unsigned cpu)
{
	return (struct explore_move){.kind = EXPLORE_GO_ON, .cpu = (uint8_t)cpu};
}

/* The moves of its step. */
static unsigned moves_of(const struct node *node)
{
	return node->first.until ? 3 : 1;
}

/* The moves that lead to a node; result: how many. */
static unsigned path_of(const struct search *search, size_t node, struct explore_move *path)
{
	unsigned length = 0, at;

	for (size_t n = node; n; n = search->nodes[n].parent)
		length += moves_of(&search->nodes[n]);
	for (at = length; node; node = search->nodes[node].parent) {
		const struct node *step = &search->nodes[node];

		if (step->first.until) {
			path[--at] = go_on(step->first.cpu);
			path[--at] = step->second;
		}
		path[--at] = step->first;
	}
	return length;
}

/*
 * To a node, by moves that are known to be good. Siblings follow each other: their parent's state
 * is kept, and *parent says whose it is.
 */
static bool go(struct search *search, struct explore_job *job, size_t node,
	       const struct explore_move *path, unsigned length, size_t *parent)
{
	unsigned own = moves_of(&search->nodes[node]);
	bool good = true;

	if (!length) {
		explore_job_restore(job, EXPLORE_ROOT);
		return true;
	}
	if (*parent == search->nodes[node].parent) {
		explore_job_restore(job, EXPLORE_PARENT);
	} else {
		explore_job_restore(job, EXPLORE_ROOT);
		for (unsigned n = 0; n < length - own && good; n++)
			good = explore_do(job, path[n]);
		explore_job_save(job, EXPLORE_PARENT);
		*parent = search->nodes[node].parent;
	}
	for (unsigned n = length - own; n < length && good; n++)
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

/* The run `path` and then `last`, at the end of which something is wrong. */
static void found(struct search *search, const struct explore_move *path, unsigned length,
		  const struct explore_move *last, unsigned last_length)
{
	struct explore_result *result = search->result;

	pthread_mutex_lock(&search->lock);
	if (!atomic_exchange(&search->ended, true)) {
		result->end = EXPLORE_REFUTED;
		memcpy(result->run, path, length * sizeof(*path));
		memcpy(result->run + length, last, last_length * sizeof(*last));
		result->length = length + last_length;
	}
	pthread_mutex_unlock(&search->lock);
}

static void add_nodes(struct search *search, const struct node *nodes, unsigned count)
{
	pthread_mutex_lock(&search->lock);
	if (search->node_count + count < NODES_MAX)
		for (unsigned n = 0; n < count; n++)
			search->nodes[search->node_count++] = nodes[n];
	else if (!atomic_load(&search->ended))
		search->result->why = "more states than this program can name";
	pthread_mutex_unlock(&search->lock);
}

/* Tries moves from the saved state, one after the other. True: they led to a new one. */
static bool try_moves(struct search *search, struct explore_job *job,
		      const struct explore_move *path, unsigned length,
		      const struct explore_move *moves, unsigned count)
{
	int seen;

	for (unsigned n = 0; n < count; n++) {
		if (explore_do(job, moves[n]))
			continue;
		found(search, path, length, moves, n + 1);
		return false;
	}
	seen = search->keep ? see(search, explore_digest(job->world)) : 0;
	if (seen < 0)
		fail_search(search, "the host has no memory for more states");
	explore_job_restore(job, EXPLORE_HERE);
	return seen > 0;
}

static void try_singles(struct search *search, struct explore_job *job, size_t node,
			const struct explore_move *path, unsigned length)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	struct node fresh[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(job, moves), fresh_count = 0, n;

	for (n = 0; n < count && !must_stop(search); n++)
		if (try_moves(search, job, path, length, &moves[n], 1))
			fresh[fresh_count++] = (struct node){(uint32_t)node, moves[n], {0}};
	atomic_fetch_add(&search->moves, n);
	atomic_fetch_add(&search->states, fresh_count);
	add_nodes(search, fresh, fresh_count);
}

/* --- Two at once ------------------------------------------------------------------------------ */

/*
 * What may be done while `first` stands at its point, from the saved state; result: how many moves.
 * *ended: none, it has no such point.
 */
static unsigned moves_at_point(struct search *search, struct explore_job *job,
			       const struct explore_move *path, unsigned length,
			       struct explore_move first, struct explore_move *moves, bool *ended)
{
	unsigned count = 0, kept = 0;

	*ended = true;
	if (!explore_do(job, first)) {
		found(search, path, length, &first, 1);
		return 0;
	}
	*ended = explore_half_done_count(job) == 0;
	if (!*ended)
		count = explore_moves(job, moves);
	for (unsigned n = 0; n < count; n++)
		if (moves[n].kind != EXPLORE_GO_ON)
			moves[kept++] = moves[n];
	explore_job_restore(job, EXPLORE_HERE);
	return kept;
}

/* Each move in the middle of `first`, at its point. False: it has no such point. */
static bool try_point(struct search *search, struct explore_job *job, size_t node,
		      const struct explore_move *path, unsigned length, struct explore_move first)
{
	struct explore_move seconds[EXPLORE_MOVES_MAX];
	struct node fresh[EXPLORE_MOVES_MAX];
	unsigned fresh_count = 0, count, n;
	bool ended;

	count = moves_at_point(search, job, path, length, first, seconds, &ended);
	for (n = 0; n < count && !must_stop(search); n++) {
		struct explore_move moves[] = {first, seconds[n], go_on(first.cpu)};

		if (try_moves(search, job, path, length, moves, 3))
			fresh[fresh_count++] = (struct node){(uint32_t)node, first, seconds[n]};
	}
	atomic_fetch_add(&search->moves, 2 * n);
	atomic_fetch_add(&search->pairs, n);
	atomic_fetch_add(&search->states, fresh_count);
	add_nodes(search, fresh, fresh_count);
	return !ended;
}

static void try_pairs(struct search *search, struct explore_job *job, size_t node,
		      const struct explore_move *path, unsigned length)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(job, moves);

	for (unsigned n = 0; n < count; n++) {
		if (!explore_has_points(job->world, moves[n]))
			continue;
		do
			moves[n].until++;
		while (moves[n].until < EXPLORE_POINTS_MAX && !must_stop(search) &&
		       !out_of_time(search) &&
		       try_point(search, job, node, path, length, moves[n]));
	}
}

/* --- One state -------------------------------------------------------------------------------- */

static void expand(struct search *search, struct explore_job *job, size_t node, size_t *parent)
{
	struct explore_move path[EXPLORE_RUN_MAX];
	unsigned length = path_of(search, node, path);

	if (!go(search, job, node, path, length, parent)) {
		fail_search(search, "a run did not repeat itself: please report this");
		return;
	}
	explore_job_save(job, EXPLORE_HERE);
	if (search->pairing)
		try_pairs(search, job, node, path, length);
	else
		try_singles(search, job, node, path, length);
}

static void *work(void *argument)
{
	struct search *search = argument;
	size_t parent = NODES_MAX; /* none */
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
			expand(search, &job, n, &parent);
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

/* The steps that are given lead from the root to the state that the search begins with. */
static void add_start(struct search *search)
{
	for (unsigned n = 0; n < search->bounds->start_length; n++, search->node_count++)
		search->nodes[search->node_count] =
			(struct node){(uint32_t)search->node_count - 1, search->bounds->start[n], {0}};
}

/* Expands the nodes of a level. True: all of them, and nothing failed. */
static bool search_level(struct search *search, unsigned level, bool pairing, double start)
{
	struct explore_result *result = search->result;
	size_t all;

	search->pairing = pairing;
	search->first = search->level[level];
	search->end = search->level[level + 1];
	atomic_store(&search->next, search->first);
	atomic_store(&search->done, 0);
	run_threads(search, work, start);
	if (atomic_load(&search->ended))
		return false;
	all = search->end - search->first;
	if (search->done == all && !must_stop(search))
		return true;
	result->part = (double)search->done / (double)all;
	result->end = search->bounds->stop && *search->bounds->stop ? EXPLORE_INTERRUPTED
								    : EXPLORE_OUT_OF_TIME;
	return false;
}

/* One depth: single steps to it, then two at once. True: all of it, and nothing failed. */
static bool search_depth(struct search *search, double start)
{
	struct explore_result *result = search->result;
	unsigned depth = result->depth, interleave = search->bounds->interleave;

	search->keep = depth + 1 < search->bounds->depth;
	if (!search_level(search, depth, false, start))
		return false;
	if (depth && depth < interleave && !search_level(search, depth - 1, true, start))
		return false;
	result->depth++;
	result->together = result->depth < interleave ? result->depth : interleave;
	search->level[depth + 2] = search->node_count;
	/* Pairs of this level, tried at the next depth, may still lead to new states. */
	result->exhausted = search->keep && depth + 1 >= interleave &&
			    search->level[depth + 1] == search->level[depth + 2];
	return true;
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
		add_start(search);
		search->level[0] = search->node_count - 1;
		search->level[1] = search->node_count;
		atomic_store(&search->states, 1);
		while (result->depth < bounds->depth && !result->exhausted &&
		       search_depth(search, start))
			;
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

/* Any move, to its end or, with two at once, in one case of two to some point. */
static struct explore_move random_move(const struct search *search, const struct explore_job *job,
				       uint64_t *state)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(job, moves);
	struct explore_move move = moves[random_next(state) % count];
	uint64_t chance = random_next(state);

	if (search->bounds->interleave && chance & 1 &&
	    (move.kind == EXPLORE_GO_ON || explore_has_points(job->world, move)))
		move.until = (uint16_t)(1 + (chance >> 1) % RANDOM_POINTS);
	return move;
}

/* Whoever is half done goes on to its end. */
static struct explore_move ending_move(const struct explore_job *job)
{
	unsigned cpu = 0, process;

	while (!explore_half_done(job, cpu, &process))
		cpu++;
	return go_on(cpu);
}

static void walk(struct search *search, struct explore_job *job, uint64_t seed)
{
	struct explore_move path[EXPLORE_RUN_MAX];
	uint64_t state = seed;
	unsigned length = 0;

	explore_job_restore(job, EXPLORE_ROOT);
	while ((length < search->bounds->depth || explore_half_done_count(job)) &&
	       !must_stop(search)) {
		path[length] = length < search->bounds->depth ? random_move(search, job, &state)
							      : ending_move(job);
		atomic_fetch_add(&search->moves, 1);
		if (!explore_do(job, path[length])) {
			found(search, path, length, &path[length], 1);
			return;
		}
		length++;
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

/* May it be made now? Nobody is bound to go on, and who is done has nothing to go on with. */
static bool may(const struct explore_job *job, struct explore_move move)
{
	struct explore_move moves[EXPLORE_MOVES_MAX];
	unsigned count = explore_moves(job, moves);

	if (move.kind == EXPLORE_GO_ON)
		return true;
	move.until = 0;
	for (unsigned n = 0; n < count; n++)
		if (memcmp(&moves[n], &move, sizeof(move)) == 0)
			return true;
	return false;
}

unsigned explore_steps(const struct explore_move *run, unsigned length)
{
	unsigned steps = 0;

	for (unsigned n = 0; n < length; n++)
		steps += run[n].kind != EXPLORE_GO_ON;
	return steps;
}

bool explore_replay(struct explore_job *job, const struct explore_move *run, unsigned length)
{
	explore_job_restore(job, EXPLORE_ROOT);
	for (unsigned n = 0; n < length; n++) {
		bool last = n + 1 == length;

		if (!may(job, run[n]) || explore_do(job, run[n]) == last)
			return false;
	}
	return length > 0;
}

/* Without its n-th move, or with that not stopping half way. False: then it does not fail. */
static bool simplify(struct explore_job *job, struct explore_move *run, unsigned *length,
		     unsigned n)
{
	struct explore_move simpler[EXPLORE_RUN_MAX];

	memcpy(simpler, run, n * sizeof(*run));
	memcpy(simpler + n, run + n + 1, (*length - n - 1) * sizeof(*run));
	if (explore_replay(job, simpler, *length - 1)) {
		memcpy(run, simpler, --*length * sizeof(*run));
		return true;
	}
	if (!run[n].until)
		return false;
	memcpy(simpler, run, *length * sizeof(*run));
	simpler[n].until = 0;
	if (!explore_replay(job, simpler, *length))
		return false;
	run[n].until = 0;
	return true;
}

void explore_minimize(struct explore_job *job, struct explore_move *run, unsigned *length)
{
	for (unsigned n = *length; n-- > 0;)
		if (simplify(job, run, length, n))
			n = *length; /* what could not be done before may now be */
}
