/*
 * One progress line, written over itself, on a terminal only.
 *
 * A signal has no context of its own, so what the handler needs stands in variables of this file.
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "lab/progress.h"

#define INTERRUPTED_STATUS 130
#define ONE_SIGNAL_SECONDS 1

static volatile int stop;
static struct timespec stopped;
static const char *volatile unfinished_file;
static bool shown;

/*
 * The first signal asks the run to end and to tell what it knows; a further one ends it at once.
 * What comes close behind the first is the same: timeout(1) and the like signal a process and its
 * group.
 */
static void interrupt(int number)
{
	struct timespec now;

	(void)number;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!stop) {
		stopped = now;
		stop = 1;
		return;
	}
	if (now.tv_sec - stopped.tv_sec <= ONE_SIGNAL_SECONDS)
		return;
	if (unfinished_file)
		unlink(unfinished_file);
	_exit(INTERRUPTED_STATUS);
}

static void update(void *context, const char *experiment, const char *label, unsigned percent)
{
	(void)context;
	fprintf(stderr, "\r\033[K%.40s %.40s %u%%", experiment, label, percent);
	fflush(stderr);
	shown = true;
}

void progress_begin(struct lab_progress *progress)
{
	progress->context = NULL;
	progress->update = isatty(STDERR_FILENO) ? update : NULL;
	progress->stop = &stop;
}

void progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	shown = false;
}

void progress_catch_interrupt(struct lab_progress *progress, const char *unfinished)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};

	unfinished_file = unfinished;
	progress->stop = &stop;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool progress_interrupted(void)
{
	return stop;
}
