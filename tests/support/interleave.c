/*
 * Two CPUs whose calls overlap: two host threads, of which the one that holds the turn runs.
 */
#include "tests/support/interleave.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDES     2
#define WAITS_MAX 100000u /* turns given away in a row by CPUs that wait for locks */

struct interleaving {
	struct simulated *s;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned turn;
	bool ended[SIDES];
	unsigned events, point; /* of side 0 */
	bool came;              /* to the point */
	unsigned waits;
	void (*call[SIDES])(void *arg);
	void *arg;
};

/* One at a time: the hooks of struct simulated have no argument of their own. */
static struct interleaving *now;

/*
 * The other side runs until it gives the turn back. The CPU that the machine is at belongs to the
 * caller.
 */
static void give_turn(struct interleaving *i, unsigned side)
{
	unsigned cpu = sim_cpu(i->s->sim);

	i->turn = !side;
	pthread_cond_broadcast(&i->changed);
	while (i->turn != side)
		pthread_cond_wait(&i->changed, &i->mutex);
	sim_switch(i->s->sim, cpu);
}

static void come_to_event(void)
{
	struct interleaving *i = now;

	i->waits = 0;
	if (i->turn || i->came || i->events++ != i->point)
		return;
	i->came = true;
	give_turn(i, 0);
}

static void on_step(struct simulated *s, enum quire_step step)
{
	(void)s;
	(void)step;
	come_to_event();
}

static void on_maintenance(struct simulated *s, enum quire_site site)
{
	(void)s;
	(void)site;
	come_to_event();
}

static void on_relax(struct simulated *s)
{
	struct interleaving *i = now;
	unsigned side = i->turn;

	if (i->ended[!side] || ++i->waits > WAITS_MAX) {
		fprintf(stderr,
			"interleave: point %u: CPU %u waits for a lock that nobody will release\n",
			i->point, sim_cpu(s->sim));
		abort();
	}
	give_turn(i, side);
}

static void run_side(struct interleaving *i, unsigned side)
{
	pthread_mutex_lock(&i->mutex);
	while (i->turn != side)
		pthread_cond_wait(&i->changed, &i->mutex);
	sim_switch(i->s->sim, side);
	i->call[side](i->arg);
	i->ended[side] = true;
	i->turn = !side;
	pthread_cond_broadcast(&i->changed);
	pthread_mutex_unlock(&i->mutex);
}

static void *second_side(void *arg)
{
	run_side(arg, 1);
	return NULL;
}

bool interleave(struct simulated *s, unsigned point, void (*first)(void *arg),
		void (*second)(void *arg), void *arg)
{
	struct interleaving i = {
		.s = s,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.point = point,
		.call = {first, second},
		.arg = arg,
	};
	pthread_t thread;

	now = &i;
	s->on_step = on_step;
	s->on_maintenance = on_maintenance;
	s->on_relax = on_relax;
	if (pthread_create(&thread, NULL, second_side, &i))
		abort();
	run_side(&i, 0);
	pthread_join(thread, NULL);
	s->on_step = NULL;
	s->on_maintenance = NULL;
	s->on_relax = NULL;
	sim_switch(s->sim, 0);
	return i.came;
}
