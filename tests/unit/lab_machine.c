/*
 * Machine files: what is right is read exactly; whatever else is refused with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lab/figures.h"
#include "lab/lab.h"

/* A small complete machine; tests exchange one line of it. */
static const char *const lines[] = {
	"[machine]",
	"title = A test machine",
	"isa = armv7 | a manual",
	"cpus = 2 | a manual",
	"clock = 1.5 GHz | a manual",
	"memory = 64M | a manual",
	"kernel_text = 1M | a manual",
	"[l1i]",
	"size = 32K | a manual",
	"ways = 4 | a manual",
	"line = 32 | a manual",
	"[l1d]",
	"size = 32K | a manual",
	"ways = 4 | a manual",
	"line = 32 | a manual",
	"index = vipt | a manual",
	"[tlb]",
	"entries = 128 | a manual",
	"ways = 2 | a manual",
	"tagged = no | a manual",
	"[coherence]",
	"data = yes | a manual",
	"insn_snoops_data = no | a manual",
	"maintenance_broadcast = yes | a manual",
	"tlb_broadcast = yes | a manual",
	"walker = l1 | a manual",
	"dma = no | a manual",
	"[cost]",
	"l1_line = 4 cycles | a manual",
	"l1_access = 1 cycle | a manual",
	"fetch_line = 4 cycles | a manual",
	"memory_read = 37 cycles + 110 ns | a manual",
	"memory_write = 11.5 cycles | fitted:e/before/pass 1, f/x/y | range 10..20",
	"tlb_miss = 0 | a manual",
	"data_op = 1 us | assumed | range 0.5..1.5 us",
	"data_op_clean = 0 | a manual",
	"data_op_dirty = 0 | a manual",
	"data_op_set = 0 | a manual",
	"insn_op = 0 | a manual",
	"broadcast = 0 | a manual",
	"barrier = 0 | a manual",
	"tlb_op = 0 | a manual",
	"tlb_all = 0 | a manual",
	"locked = 0 | a manual",
	"cross_call = 0 | a manual",
	"disk_request = 0 | a manual",
	"disk_page = 0 | a manual",
	"[kernel]",
	"read-page = 700 cycles | assumed",
	"  | range 200..2000",
};

#define LINES (sizeof(lines) / sizeof(lines[0]))

/* Loads the machine with line `exchange` (from 1; 0: none) replaced by `with`. */
static struct lab_machine *load(unsigned exchange, const char *with, char message[2000])
{
	char path[40] = "/tmp/quire-test-XXXXXX.ini";
	int descriptor = mkstemps(path, 4);
	FILE *file = fdopen(descriptor, "w");
	FILE *errors = fmemopen(message, 2000, "w");
	struct lab_machine *machine;

	for (unsigned i = 0; i < LINES; i++)
		fprintf(file, "%s\n", i + 1 == exchange ? with : lines[i]);
	fclose(file);
	machine = lab_machine_load(errors, path);
	fclose(errors);
	unlink(path);
	return machine;
}

static struct lab_machine *load_good(void)
{
	char message[2000] = "";
	struct lab_machine *machine = load(0, NULL, message);

	if (!machine)
		fail_msg("%s", message);
	return machine;
}

/* The number of the line that begins with `start`, after the one that begins with `section`. */
static unsigned line_of(const char *section, const char *start)
{
	bool inside = false;

	for (unsigned i = 0; i < LINES; i++) {
		inside |= strcmp(lines[i], section) == 0;
		if (inside && strncmp(lines[i], start, strlen(start)) == 0)
			return i + 1;
	}
	fail_msg("no line %s %s", section, start);
	return 0;
}

/* The line exchanged must be refused, at its place, with `hint` in the message. */
static void refused(const char *section, const char *start, const char *with, const char *hint)
{
	unsigned line = line_of(section, start);
	char message[2000] = "", place[40];

	if (load(line, with, message))
		fail_msg("accepted: %s", with);
	snprintf(place, sizeof(place), ".ini:%u:", line);
	if (!strstr(message, place) || !strstr(message, hint))
		fail_msg("wanted %s and '%s' in: %s", place, hint, message);
}

static void test_values(void **state)
{
	struct lab_machine *machine = load_good();

	(void)state;
	assert_string_equal(machine->title, "A test machine");
	assert_int_equal(machine->sim.isa, SIM_ARMV7);
	assert_int_equal(machine->sim.clock_hz, 1500000000);
	assert_int_equal(machine->sim.memory_bytes, 64 << 20);
	assert_int_equal(machine->sim.l1d.index, SIM_VIPT);
	assert_int_equal(machine->sim.l1i.index, SIM_PIPT);
	assert_true(machine->sim.data_coherent);
	assert_false(machine->sim.dma_coherent);
	assert_int_equal(machine->sim.cost.l1_line, 4 * 1024);
	assert_int_equal(machine->sim.cost.memory_write, 11776);
	assert_int_equal(machine->sim.cost.memory_read, (37 + 165) * 1024);
	assert_int_equal(machine->sim.cost.data_op, 1500 * 1024);
	assert_int_equal(machine->sim.cost.step[QUIRE_STEP_READ_PAGE], 700 * 1024);
	assert_int_equal(machine->sim.cost.step[QUIRE_STEP_FAULT], 0);
	lab_machine_free(machine);
}

static void test_refused_structure(void **state)
{
	(void)state;
	refused("[l1d]", "[l1d]", "[l1dd]", "'l1d'");
	refused("[machine]", "cpus", "cpsu = 2 | a manual", "'cpus'");
	refused("[machine]", "cpus", "isa = armv7 | a manual", "twice");
	refused("[machine]", "cpus", "cpus 2", "expected");
	refused("[machine]", "cpus", "cpus = 2", "needs a source");
	refused("[machine]", "cpus", "cpus = 2 |", "needs a source");
	refused("[machine]", "cpus", "cpus = 2 | assumed", "needs a range");
	refused("[machine]", "cpus", "cpus = 2 | m | 1..2", "range");
	refused("[machine]", "cpus", "cpus = 2 | fitted:a/b", "fitted:");
	refused("[machine]", "cpus", "cpus = 2 | fitted", "fitted:");
	refused("[kernel]", "read-page", "read_page = 7 cycles | m", "'read-page'");
}

static void test_refused_values(void **state)
{
	(void)state;
	refused("[machine]", "cpus", "cpus = 0 | m", "from 1 to 16");
	refused("[machine]", "cpus", "cpus = 17 | m", "from 1 to 16");
	refused("[machine]", "cpus", "cpus = 1.5 | m", "whole number");
	refused("[machine]", "cpus", "cpus = -1 | m", "whole number");
	refused("[machine]", "cpus", "cpus = 99999999999999999999 | m", "whole number");
	refused("[machine]", "isa", "isa = armv8 | m", "'armv7'");
	refused("[machine]", "clock", "clock = 1 gigahertz | m", "as in");
	refused("[machine]", "clock", "clock = 1 | m", "as in");
	refused("[machine]", "memory", "memory = 64 cycles | m", "a size");
	refused("[machine]", "memory", "memory = 99999999999T | m", "a size");
	refused("[coherence]", "dma", "dma = true | m", "yes or no");
	refused("[coherence]", "dma", "dma = Yes | m", "'yes'");
	refused("[cost]", "l1_line", "l1_line = 4 | m", "cycles");
	refused("[cost]", "l1_line", "l1_line = 4 ticks | m", "cycles");
	refused("[cost]", "l1_line", "l1_line = 4K | m", "cycles");
	refused("[cost]", "l1_line", "l1_line = 4 cycles + | m", "cycles");
	refused("[cost]", "l1_line", "l1_line = 1001 cycles | m", "1000 cycles");
	refused("[cost]", "l1_line", "l1_line = 4 cycles | m | range 5..6 cycles", "outside");
	refused("[cost]", "l1_line", "l1_line = 4 cycles | m | range 6..2 cycles", "outside");
	refused("[cost]", "l1_line", "l1_line = 7 cycles | m | range 5..6 cycles", "outside");
}

static void test_refused_contradictions(void **state)
{
	(void)state;
	refused("[l1d]", "size", "size = 33000 | m", "multiple");
	refused("[l1d]", "size", "size = 0 | m", "L1");
	refused("[l1d]", "ways", "ways = 0 | m", "from 1");
	refused("[l1d]", "line", "line = 48 | m", "power of two");
	refused("[tlb]", "ways", "ways = 3 | m", "multiple");
	refused("[tlb]", "tagged", "tagged = yes | m", "asid_bits");
	refused("[coherence]", "walker", "walker = l2 | m", "no L2");
	refused("[machine]", "kernel_text", "kernel_text = 64M | m", "smaller than memory");
	refused("[machine]", "memory", "memory = 1048577 | m", "whole pages");
}

/* A missing figure is refused, and so is a line too long for the parser. */
static void test_missing(void **state)
{
	char message[2000] = "", line[400];

	(void)state;
	assert_null(load(line_of("[cost]", "barrier"), "", message));
	assert_non_null(strstr(message, "no `barrier`"));
	assert_null(load(line_of("[machine]", "title"), "", message));
	assert_non_null(strstr(message, "title"));
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "cpus = 2 | ", 11);
	refused("[machine]", "cpus", line, "too long");
}

static void test_names(void **state)
{
	char message[400] = "";
	FILE *errors = fmemopen(message, sizeof(message), "w");

	(void)state;
	assert_null(lab_machine_load(errors, "pandabord"));
	assert_null(lab_machine_load(errors, ""));
	fclose(errors);
	assert_non_null(strstr(message, "'pandaboard'"));
}

static void test_set(void **state)
{
	struct lab_machine *machine = load_good();
	char message[1000] = "";
	FILE *errors = fmemopen(message, sizeof(message), "w");

	(void)state;
	assert_true(lab_machine_set(errors, machine, "cost.barrier", "12 cycles"));
	assert_int_equal(machine->sim.cost.barrier, 12 * 1024);
	assert_true(lab_machine_set(errors, machine, "kernel.fault", "10 ns"));
	assert_int_equal(machine->sim.cost.step[QUIRE_STEP_FAULT], 15 * 1024);
	/* Times in ns follow the clock. */
	assert_true(lab_machine_set(errors, machine, "machine.clock", "1 GHz"));
	assert_int_equal(machine->sim.cost.step[QUIRE_STEP_FAULT], 10 * 1024);
	assert_int_equal(machine->sim.cost.memory_read, (37 + 110) * 1024);
	assert_false(lab_machine_set(errors, machine, "cost.barier", "12 cycles"));
	assert_false(lab_machine_set(errors, machine, "cosst.barrier", "12 cycles"));
	assert_false(lab_machine_set(errors, machine, "barrier", "12 cycles"));
	assert_false(lab_machine_set(errors, machine, "cost.barrier", "12"));
	assert_false(lab_machine_set(errors, machine, "l1d.ways", "3"));
	fclose(errors);
	assert_non_null(strstr(message, "did you mean 'barrier'"));
	assert_non_null(strstr(message, "did you mean 'cost'"));
	lab_machine_free(machine);
}

/* A walk cache goes with a hardware walker, which PA-RISC lacks. */
static void test_walk_cache(void **state)
{
	struct lab_machine *machine = load_good();
	char message[1000] = "";
	FILE *errors = fmemopen(message, sizeof(message), "w");

	(void)state;
	assert_int_equal(machine->sim.tlb.walk_cache, 0);
	assert_true(lab_machine_set(errors, machine, "tlb.walk_cache", "4"));
	assert_int_equal(machine->sim.tlb.walk_cache, 4);
	assert_false(lab_machine_set(errors, machine, "machine.isa", "parisc"));
	fclose(errors);
	assert_non_null(strstr(message, "tlb.walk_cache"));
	lab_machine_free(machine);
}

static void test_fitted(void **state)
{
	struct lab_machine *machine = load_good();

	(void)state;
	assert_true(lab_machine_fitted_on(machine, "e", "before", "pass 1"));
	assert_true(lab_machine_fitted_on(machine, "f", "x", "y"));
	assert_false(lab_machine_fitted_on(machine, "e", "before", "pass"));
	assert_false(lab_machine_fitted_on(machine, "e", "after", "pass 1"));
	assert_false(lab_machine_fitted_on(machine, "f", "x", "yy"));
	/* What was fitted does not count as a prediction because someone changed it. */
	assert_true(lab_machine_set(stderr, machine, "cost.memory_write", "15 cycles"));
	assert_true(lab_machine_fitted_on(machine, "f", "x", "y"));
	lab_machine_free(machine);
}

/* The steps of the kernel have the names that the library prints. */
static void test_step_names(void **state)
{
	(void)state;
	for (int i = 0; i < QUIRE_STEP_COUNT; i++) {
		const struct figure_key *key = figure_find("kernel", quire_step_name(i));

		if (!key)
			fail_msg("no figure for step %s", quire_step_name(i));
		assert_int_equal(key->offset, offsetof(struct sim_machine, cost.step[i]));
	}
}

static void test_shipped(void **state)
{
	static const char *const names[] = {"pandaboard", "hp-a500", "core-i5-2012",
					    "cortex-a9-smp", "core2-t7300-kvm"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct lab_machine *machine = lab_machine_load(stderr, names[i]);
		const char *why = NULL;
		struct sim *sim;

		assert_non_null(machine);
		assert_string_equal(machine->sim.name, names[i]);
		sim = sim_create(&machine->sim, &why);
		if (!sim)
			fail_msg("%s: %s", names[i], why);
		sim_destroy(sim);
		lab_machine_free(machine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused_structure),
		cmocka_unit_test(test_refused_values),
		cmocka_unit_test(test_refused_contradictions),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_walk_cache),
		cmocka_unit_test(test_fitted),
		cmocka_unit_test(test_step_names),
		cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
