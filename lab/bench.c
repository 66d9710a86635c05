/*
 * The speed of the simulator: million line accesses a second, and the time of Valgrind's cachegrind
 * for the same copies beside it.
 *
 * Two patterns, copied in the simulator's kernel on a Cortex-A9 with its outer cache: one streams a
 * large source through a small buffer, as read() of a mapped file does; one stays in L2. Cachegrind
 * simulates the same two levels for a program that copies as many bytes with memcpy. It keeps no
 * data in its caches and looks for no mistakes, so it does less: the ratio says what the difference
 * costs. Both run one after the other in one process tree, so the ratio holds on any host, the
 * absolute figures on this one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/bench.h"

#define REPEATS      5
#define STREAM_BYTES ((size_t)512 << 20)
#define BUFFER_BYTES ((size_t)128 << 10)
#define RESIDENT_BYTES \
	((size_t)256 << 10) /* source of the L2 pattern; with its buffer well below 1 MB */
#define SOURCE_PA ((quire_pa_t)64 << 20)
#define BUFFER_PA ((quire_pa_t)32 << 20)

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Copies `total` bytes in pieces of the buffer, from a source that begins again after
 * `source_bytes`. */
static bool copy_all(struct sim *sim, size_t source_bytes, size_t total)
{
	uintptr_t base = sim_kernel_base(sim);

	for (size_t done = 0; done < total; done += BUFFER_BYTES)
		if (sim_copy(sim, base + BUFFER_PA, base + SOURCE_PA + done % source_bytes,
			     BUFFER_BYTES) != 0)
			return false;
	return true;
}

/* Runs a pattern several times; prints the rates; *seconds becomes the median time. */
static bool measure(FILE *to, struct sim *sim, const char *name, size_t source_bytes,
		    double *seconds)
{
	double times[REPEATS];
	struct sim_counts before, after;
	double lines = 0;

	for (int i = 0; i < REPEATS; i++) {
		double start = cpu_seconds();

		sim_counts(sim, &before);
		if (!copy_all(sim, source_bytes, STREAM_BYTES)) {
			fprintf(stderr, "quire: bench: the simulator refused a copy\n");
			return false;
		}
		sim_counts(sim, &after);
		times[i] = cpu_seconds() - start;
		lines = (double)(after.lines - before.lines);
	}
	qsort(times, REPEATS, sizeof(times[0]), ascending);
	*seconds = times[REPEATS / 2];
	fprintf(to, "  %-34s %7.1f million line accesses/s  (%.1f to %.1f in %d runs)\n", name,
		lines / *seconds / 1e6, lines / times[REPEATS - 1] / 1e6, lines / times[0] / 1e6,
		REPEATS);
	return true;
}

/* CPU time of cachegrind for a program that copies `bytes` bytes; negative: it could not be run. */
static double cachegrind_seconds(const char *program, size_t bytes)
{
	struct rusage used;
	char text[32];
	int status;
	pid_t child;

	snprintf(text, sizeof(text), "%zu", bytes);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		execlp("valgrind", "valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes",
		       "--cachegrind-out-file=/dev/null", "--log-file=/dev/null", "--I1=32768,4,32",
		       "--D1=32768,4,32", "--LL=1048576,16,32", program, BENCH_COPY_ARGUMENT, text,
		       (char *)NULL);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0)
		return -1;
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void compare(FILE *to, double seconds)
{
	char program[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	double start_up, other;

	program[length < 0 ? 0 : length] = '\0';
	start_up = cachegrind_seconds(program, 0);
	other = start_up < 0 ? -1 : cachegrind_seconds(program, STREAM_BYTES);
	if (other < 0) {
		fprintf(to, "  cachegrind: not run (valgrind is not installed, or failed)\n");
		return;
	}
	other -= start_up;
	fprintf(to,
		"  512 MB streamed: quire %.2f s, valgrind --tool=cachegrind %.2f s (memcpy, "
		"start-up "
		"subtracted)\n",
		seconds, other);
	if (other >= seconds)
		fprintf(to, "  ratio: quire is %.2f times as fast as cachegrind\n",
			other / seconds);
	else
		fprintf(to, "  ratio: quire takes %.2f times as long as cachegrind\n",
			seconds / other);
}

bool bench_sim(FILE *to)
{
	struct lab_machine *machine = lab_machine_load(stderr, "pandaboard");
	const char *why = "no machine";
	struct sim *sim = machine ? sim_create(&machine->sim, &why) : NULL;
	double streamed = 0, resident;
	bool good;

	if (!machine)
		return false;
	if (!sim) {
		fprintf(stderr, "quire: bench: %s\n", why);
		lab_machine_free(machine);
		return false;
	}
	fprintf(to, "bench sim: copies on %s, 32-byte lines\n", machine->name);
	good = measure(to, sim, "512 MB streamed into 128 KB", STREAM_BYTES, &streamed) &&
	       measure(to, sim, "256 KB, resident in L2, into 128 KB", RESIDENT_BYTES, &resident);
	sim_destroy(sim);
	lab_machine_free(machine);
	if (good)
		compare(to, streamed);
	return good;
}

int bench_copy(const char *bytes)
{
	size_t total = strtoull(bytes, NULL, 10);
	unsigned char *buffer = malloc(BUFFER_BYTES);
	unsigned char *source = total ? calloc(1, total) : NULL;
	unsigned sum = 0;

	if (!buffer || (total && !source)) {
		free(buffer);
		free(source);
		return LAB_INTERNAL;
	}
	for (size_t done = 0; done + BUFFER_BYTES <= total; done += BUFFER_BYTES) {
		memcpy(buffer, source + done, BUFFER_BYTES);
		sum += *(volatile unsigned char *)(buffer + done % BUFFER_BYTES);
	}
	free(buffer);
	free(source);
	return sum ? LAB_INTERNAL : LAB_GOOD;
}
