/*
 * Worlds, and scripts that run on them: on every machine the same statements do the same; errors
 * come where they should; nothing that the laboratory looks at costs simulated time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lab/host.h"
#include "lab/world.h"
#include "tests/support/script.h"

static const char *const machines[] = {"pandaboard", "hp-a500", "core-i5-2012", "core2-t7300-kvm",
				       "cortex-a9-smp"};

#define MACHINES (sizeof(machines) / sizeof(machines[0]))

/* Runs the text on a machine; the test fails when it is refused. */
static struct lab_experiment *run_on(const char *machine, const char *text)
{
	char *whole = lab_format("machine %s\n%s", machine, text), *errors;
	struct lab_experiment *experiment = script_run(whole, &errors);

	if (!experiment)
		fail_msg("%s: %s", machine, errors);
	free(errors);
	free(whole);
	return experiment;
}

static void check_good(const struct lab_experiment *experiment)
{
	for (size_t i = 0; i < experiment->variant_count; i++) {
		const struct lab_variant *v = &experiment->variants[i];

		for (size_t n = 0; n < v->failure_count; n++)
			print_error("%s on %s: line %u: %s\n", v->label, experiment->machine,
				    v->failures[n].line, v->failures[n].text);
		assert_int_equal(v->failure_count, 0);
		assert_int_equal(v->violation_count, 0);
		assert_true(v->done);
	}
}

/* --- Everything, everywhere --- */

static const char all_kinds[] =
	"variant disk kind=disk\nvariant tmpfs kind=tmpfs\nvariant ramfs kind=ramfs\n"
	"mount d $kind\nfile f on=d size=(64K + 100) fill=random\nprocess p\nbuffer b size=16K\n"
	"read f\nread f at=1000 size=5000 chunk=777\nwrite f at=3000 size=20K chunk=5000 "
	"fresh\nread f\n"
	"map m f shared rw\nload m size=(64K + 100)\nstore m at=4K size=12K\nread f\n"
	"map n f private rw at=8K size=16K\nload n\nstore n at=100 size=5000\nload n\nread f\nload "
	"m size=(64K + 100)\n"
	"store m at=32K size=8K stride=1K order=random\nload m at=32K size=8K stride=512 "
	"order=descending\n"
	"map a anonymous private rw size=64K\nstore a\nfork c\nuse c\nload a\nload n\nstore a "
	"at=4K size=4K\nload a\n"
	"store m size=100\nexit c\nuse p\nload a\nread f size=4K\n"
	"map s anonymous shared rw size=8K\nstore s\nfork e\nuse e\nload s\nstore s value=7\nexit "
	"e\nuse p\nload s\n"
	"msync m sync\nfsync f\nsync\nread f\ntruncate f size=10000\nread f\ntruncate f "
	"size=40000\nread f\n"
	"write f at=100000 size=10\nread f\nunmap n\nunmap m\nunmap a at=4K size=4K\nunmap a\n"
	"expect size(f) == 100010\nexpect violations == 0\nexpect done == 100010\n";

static void test_all_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct lab_experiment *experiment = run_on(machines[i], all_kinds);

		check_good(experiment);
		for (size_t v = 0; v < 3; v++)
			assert_true(experiment->variants[v].bytes_verified > 400000);
		lab_experiment_free(experiment);
	}
}

/* What is written is there after the page cache was dropped, and after unmount and mount. */
static void test_disk(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct lab_experiment *experiment = run_on(
			machines[i],
			"mount d disk size=16M\nfile f on=d size=256K fill=random\nprocess "
			"p\nbuffer b size=64K\n"
			"sync\nreclaim\nexpect pages(f) == 0\nread f\nmap m f shared rw\nstore m "
			"at=100K size=8K\nunmap m\n"
			"unmount d\nmount d disk\nfile f on=d\nexpect size(f) == 256K\nread f\n"
			"expect violations == 0\n");

		check_good(experiment);
		lab_experiment_free(experiment);
	}
}

static void test_errors_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct lab_experiment *experiment = run_on(
			machines[i],
			"mount d ramfs\nfile f on=d size=6K\nprocess p\nbuffer b size=4K\nmap m f "
			"shared rw size=16K\n"
			"load m size=6K\nexpect-error SIGBUS { load m at=8K size=8 }\n"
			"expect-error SIGBUS { store m at=12K size=4K }\nprotect m r\n"
			"expect-error SIGSEGV { store m size=8 }\nprotect m none\nexpect-error "
			"SIGSEGV { load m size=8 }\n"
			"protect m rw\nunmap m at=4K size=4K\nexpect-error SIGSEGV { load m at=4K "
			"size=8 stride=8 }\n"
			"expect-error ENOMEM { msync m sync }\nexpect-error EINVAL { msync m sync "
			"async size=4K }\n"
			"expect-error EACCES { map n f shared rw readonly }\n"
			"map l f shared rw locked\nexpect-error EBUSY { msync l invalidate }\n"
			"protect b r\nexpect-error EFAULT { read f into=b }\nexpect violations == "
			"0\n");

		check_good(experiment);
		assert_int_equal(experiment->variants[0].expectations, 11);
		lab_experiment_free(experiment);
	}
}

/* An error that nobody expects, and misuse: refused at its place. */
static void test_errors(void **state)
{
	static const struct {
		const char *text, *place, *wanted;
	} cases[] = {
		{"load m at=8K size=8\n", ":7:1: ", "load ends with SIGBUS"},
		{"load m at=9M\n", ":7:11: ", "lies beyond m"},
		{"load m size=9M\n", ":7:13: ", "ends beyond m"},
		{"unmap m\nunmap m\n", ":8:7: ", "has not mapped 'm'"},
		{"unmap m size=4K\nunmap m size=4K\n", ":8:1: ", "nothing of m is mapped there"},
		{"map m f shared\n", ":7:1: ", "has mapped 'm' already"},
		{"map n f\n", ":7:1: ", "'shared' or 'private'"},
		{"map n shared\n", ":7:1: ", "a FILE or 'anonymous'"},
		{"map n anonymous shared\n", ":7:1: ", "needs size="},
		{"cpu 9\n", ":7:5: ", "expected 0 to"},
		{"protect m r\nstore m size=8\n", ":8:1: ", "store ends with SIGSEGV"},
		{"exit p\nload m\n", ":8:1: ", "no process runs on CPU 0"},
		{"close f\nread f\n", ":8:6: ", "no file 'f' is open"},
		{"read f chunk=1M into=b\n", ":7:14: ", "1 to the 4096 bytes of b"},
		{"expect-error ENOMEN { epoch }\n", ":7:14: ", "did you mean 'ENOMEM'?"},
		{"expect maintenance(coherense.) == 0\n", ":7:8: ", "no call site"},
		{"expect mtime(g) == 0\n", ":7:8: ", "no file 'g'"},
		{"measure a us = 3\n", ":7:1: ", "plain number"},
		{"measure a calls = 3s\n", ":7:1: ", "a time (ns, us, ms, s)"},
		{"time a us { epoch }\ntime a us { epoch }\n", ":8:1: ", "measured twice"},
		{"time a us { epoch }\npublish a ms run=1\n", ":8:11: ", "measured in us"},
		{"routine r { call r }\ncall r\n", ":7:13: ", "more than"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *errors, *text = lab_format("machine pandaboard\nmount d ramfs\nfile f on=d "
						 "size=4K\nprocess p\n"
						 "buffer b size=4K\nmap m f shared rw size=16K\n%s",
						 cases[i].text);
		struct lab_experiment *experiment = script_run(text, &errors);

		if (experiment || !strstr(errors, cases[i].place) ||
		    !strstr(errors, cases[i].wanted))
			fail_msg("%s: wanted '%s' and '%s', got %s", cases[i].text, cases[i].place,
				 cases[i].wanted, experiment ? "no error" : errors);
		lab_experiment_free(experiment);
		free(errors);
		free(text);
	}
}

/* Expectations that fail are failures of the result, with their place. */
static void test_failures(void **state)
{
	struct lab_experiment *experiment =
		run_on("pandaboard",
		       "mount d ramfs\nfile f on=d size=4K\nprocess p\nexpect size(f) == 8K # no\n"
		       "expect-error ENOMEM { epoch }\ntimes begin f mtime=99 ctime=99 "
		       "atime=99\nexpect 1 == 1\n");
	const struct lab_variant *v = &experiment->variants[0];

	(void)state;
	assert_int_equal(v->failure_count, 3);
	assert_int_equal(v->expectations, 4);
	assert_true(v->done);
	assert_int_equal(v->failures[0].line, 5);
	assert_string_equal(v->failures[0].text, "expect size(f) == 8K: found 4K == 8K");
	assert_string_equal(v->failures[1].text, "expected ENOMEM, found no error");
	assert_non_null(strstr(v->failures[2].text, "expected mtime 99"));
	lab_experiment_free(experiment);
}

/* --- Results --- */

static void test_measures(void **state)
{
	struct lab_experiment *experiment =
		run_on("pandaboard", "variant a\nvariant b\nset size = 1G default 64K\nmount d "
				     "disk\nfile f on=d size=$size\n"
				     "process p\nbuffer b size=4K\nsync\nreclaim\ntime cold us { "
				     "read f }\ntime warm us { read f }\n"
				     "in a measure ratio times = cold / warm note \"of "
				     "$size\"\nmeasure half ms = cold / 2\n"
				     "publish cold us a=5\nexpect cold > warm\n");
	const struct lab_variant *a = &experiment->variants[0], *b = &experiment->variants[1];

	(void)state;
	check_good(experiment);
	assert_int_equal(a->measure_count, 4);
	assert_int_equal(b->measure_count, 3);
	assert_string_equal(a->measures[2].note, "of 64K");
	assert_true(a->measures[0].has_published && a->measures[0].published == 5);
	assert_false(b->measures[0].has_published);
	assert_true(a->measures[0].model == b->measures[0].model);
	assert_string_equal(experiment->size_note, "64K instead of 1G");
	assert_int_equal(a->cycles, b->cycles);
	lab_experiment_free(experiment);
}

/* Sleep, CPUs and epoch: one clock for all. */
static void test_time(void **state)
{
	struct lab_experiment *experiment =
		run_on("hp-a500",
		       "mount d ramfs\nprocess p\nepoch\nsleep 2s\ncpu 1\nexpect now >= 2\nuse "
		       "p\nsleep 1s\ncpu 0\n"
		       "expect now >= 3\nexpect now < 3.1\nfile f on=d size=4K fill=none\nexpect "
		       "mtime(f) >= 3\n"
		       "time nap ms { sleep 20ms }\nexpect nap > 19.9999ms\nexpect nap < 20.001ms\n");

	(void)state;
	check_good(experiment);
	lab_experiment_free(experiment);
}

/* Every system call pays for entering and leaving the kernel, once. */
static void test_system_calls(void **state)
{
	static const char *const calls[] = {
		"read f at=0 size=4K", "write f at=0 size=4K", "truncate f size=4K", "allocate f at=0 size=4K",
		"punch f at=0 size=4K", "fsync f", "sync", "close f", "unlink f", "map n f shared", "unmap m",
		"protect m r", "msync m async", "fork c", "exec", "exit p", "syscall", "file g on=d",
		"debug-load p map=m size=8", "unmount d",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		char *text = lab_format("variant free kernel.syscall=\"0 cycles\"\n"
					"variant dear kernel.syscall=\"1000 cycles\"\nmount d tmpfs\n"
					"file f on=d size=4K\nprocess p\nbuffer b size=4K\n%s\ntime t us { %s }\n",
					strcmp(calls[i], "unmount d") ? "map m f shared rw" : "", calls[i]);
		struct lab_experiment *e = run_on("core2-t7300-kvm", text);
		double more = e->variants[1].measures[0].model - e->variants[0].measures[0].model;

		if (more < 0.4999 || more > 0.5001) /* us: 1000 cycles at 2 GHz */
			fail_msg("%s pays %g us for entering the kernel, expected 0.5", calls[i], more);
		lab_experiment_free(e);
		free(text);
	}
}

/* --- The world itself --- */

static struct lab_world *make(struct lab_machine **machine, const char *name)
{
	struct quire_policy policy = quire_policy_default();
	struct lab_world *world;
	const char *why = NULL;

	*machine = lab_machine_load(stderr, name);
	assert_non_null(*machine);
	world = lab_world_create(&(*machine)->sim, &policy, &why);
	if (!world)
		fail_msg("%s: %s", name, why);
	return world;
}

/* Looking costs nothing and shows what a load would. */
static void test_peek(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct lab_machine *machine;
		struct lab_world *world = make(&machine, machines[i]);
		struct sim_counts before, after;
		uint8_t data[5000], got[5000];
		uintptr_t va = 0;
		uint64_t ticks;
		int error;
		struct quire_space *space = quire_space_create(world->quire, &error);

		lab_world_load(world, space);
		assert_int_equal(quire_mmap(space, &va, 8192, QUIRE_PROT_READ | QUIRE_PROT_WRITE,
					    QUIRE_MAP_PRIVATE | QUIRE_MAP_ANONYMOUS, NULL, 0,
					    false),
				 0);
		assert_int_equal(sim_peek(world->sim, va, got, sizeof(got)), sizeof(got));
		for (size_t n = 0; n < sizeof(data); n++)
			data[n] = (uint8_t)(n * 7);
		assert_int_equal(sim_write(world->sim, va + 10, data, sizeof(data)), 0);
		sim_counts(world->sim, &before);
		ticks = sim_ticks(world->sim);
		assert_int_equal(sim_peek(world->sim, va + 10, got, sizeof(got)), 0);
		sim_counts(world->sim, &after);
		assert_memory_equal(got, data, sizeof(data));
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(ticks, sim_ticks(world->sim));
		lab_world_load(world, NULL);
		quire_space_destroy(space);
		lab_world_destroy(world);
		lab_machine_free(machine);
	}
}

/* Consecutive blocks are one request. */
static void test_requests(void **state)
{
	struct lab_machine *machine;
	struct lab_world *world = make(&machine, "pandaboard");
	const struct sim_costs *cost = &machine->sim.cost;
	quire_pa_t pa = world->scratch - sim_kernel_base(world->sim);
	struct quire_block_device disk;
	uint64_t ticks;
	bool fresh;

	(void)state;
	disk = lab_world_disk(world, "d", 16, &fresh);
	assert_true(fresh);
	lab_world_disk(world, "d", 16, &fresh);
	assert_false(fresh);
	ticks = sim_ticks(world->sim);
	assert_int_equal(disk.transfer(disk.context, 3, pa, true), 0);
	assert_int_equal(sim_ticks(world->sim) - ticks,
			 (uint64_t)cost->disk_request + cost->disk_page);
	ticks = sim_ticks(world->sim);
	assert_int_equal(disk.transfer(disk.context, 4, pa, true), 0);
	assert_int_equal(sim_ticks(world->sim) - ticks, cost->disk_page);
	ticks = sim_ticks(world->sim);
	assert_int_equal(disk.transfer(disk.context, 5, pa, false), 0);
	assert_int_equal(sim_ticks(world->sim) - ticks,
			 (uint64_t)cost->disk_request + cost->disk_page);
	assert_int_equal(disk.transfer(disk.context, 16, pa, false), -QUIRE_EIO);
	lab_world_destroy(world);
	lab_machine_free(machine);
}

static int stop_now = 1;

/* Ctrl-C: what was done so far is told, and that it is not all. */
static void test_stop(void **state)
{
	struct lab_progress progress = {.stop = &stop_now};
	struct lab_options options = {.jobs = 1};
	char *errors;
	struct lab_script *script =
		script_from_text("machine pandaboard\nrepeat 1000000000 { syscall }\n", &errors);
	struct lab_experiment *experiment = lab_run(stderr, script, &options, &progress);

	(void)state;
	assert_non_null(experiment);
	assert_false(experiment->variants[0].done);
	lab_experiment_free(experiment);
	lab_script_free(script);
	free(errors);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peek),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_all_kinds),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_errors_expected),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_measures),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests_name("lab_world", tests, NULL, NULL);
}
