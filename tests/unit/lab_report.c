/*
 * The text report: everything is in it, aligned, grouped, in order; colour only where it was asked
 * for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/sample_experiment.h"

/* Not inlined: gcc would take what the stream's buffer holds for the local `text` (-Wdangling-pointer). */
static __attribute__((noinline)) char *report(bool faulty, bool colour)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	lab_report(to, sample_experiment(faulty), colour);
	fclose(to);
	return text;
}

static void has(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("'%s' is not in:\n%s", wanted, text);
}

static void test_contents(void **state)
{
	static const char *const wanted[] = {
		"sample  A sample\n",
		"  machine   pandaboard\n",
		"  question  coherence\n",
		"  source    A paper, 2013\n",
		"  size      64M instead of 512M\n",
		"[before] coherence=mapping\n",
		"[after] coherence=page\n",
		"note: pass 0: measured on 256M, scaled to 512M\n",
		"  maintenance [after]: none\n",
		"(outside any site)",
		"NEEDLESS: data flush by coherence.kernel-read [before]: 16,777,216 operations",
		("SUMMARY: sample: 2 variants, 4 measures, 5 expectations checked, 1,048,576 bytes "
		 "verified; 0 failed, 0 violations\n"),
	};
	char *text = report(false, false);

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		has(text, wanted[i]);
	assert_null(strchr(text, '\033'));
	assert_null(strstr(text, "FAILED"));
	assert_null(strstr(text, "STALE"));
	assert_null(strstr(text, " \n"));
	free(text);
}

/* Cells of one column end at one place; the published number decides the decimals. */
static void test_measures(void **state)
{
	char *text = report(false, false);

	(void)state;
	has(text, "  measure  unit   published       model  ratio      basis"
		  "  published       model  ratio      basis\n");
	has(text, "  pass 0   us    22,615,636  22,000,000  0.973     fitted"
		  "          -  21,000,000      -  predicted\n");
	has(text, "  fault    us        3.6209      3.6100  0.997  predicted\n");
	has(text, "  extra    B                                             "
		  "          -       1,234      -  predicted\n");
	free(text);
}

/* A model far from a whole published figure is not rounded to nothing. */
static void test_small_model(void **state)
{
	struct lab_experiment *experiment = sample_experiment(false);
	struct lab_measure measure = {.name = "msync", .unit = "us", .model = 0.46};
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	(void)state;
	measure.has_published = true;
	measure.published = 35;
	experiment->variants[0].measures = &measure;
	experiment->variants[0].measure_count = 1;
	lab_report(to, experiment, false);
	fclose(to);
	has(text, "  msync    us           35  0.4600  0.013  predicted");
	free(text);
}

static void test_times(void **state)
{
	char *text = report(false, false);

	(void)state;
	has(text, "  begin      0      0     -7      0      0     -7\n");
	has(text, "  write      1      1     -7      1      2     -7  differs\n");
	has(text, "  sync       -      -      -      7      7      2\n");
	assert_null(strstr(text, "file times [after]"));
	free(text);
}

static void test_maintenance_order(void **state)
{
	char *text = report(false, false);
	const char *dear = strstr(text, "1,234,567,890");
	const char *cheap = strstr(text, "(outside any site)");

	(void)state;
	assert_non_null(dear);
	assert_true(dear < cheap);
	free(text);
}

static void test_faults(void **state)
{
	static const char first[] = "\nSTALE READ: load by cpu1 user map m2 missed write() by cpu0 "
				    "(dcache alias, colour 3)\n";
	char *text = report(true, false);
	const char *stale;

	(void)state;
	has(text, "\nFAILED: sample.q:7:3: expected violations == 0, found 9\n");
	has(text, first);
	stale = strstr(text, "STALE READ");
	assert_null(strstr(stale + 1, "STALE READ"));
	has(text, "  variant   after\n");
	has(text, "  reader    load by cpu1 user map m2, at sample.q:12 (load), physical address 0x123040 through "
		  "virtual address 0x40001000\n");
	has(text, "  writer    write() by cpu0, at sample.q:9 (write)\n");
	has(text, "  due       flush at coherence.kernel-wrote, rule in mm/coherence/");
	has(text, "  latest    after the kernel had written if the page was mapped");
	has(text, "  got from  store of cpu1, at sample.q:4 (store)\n");
	has(text, "  copies    cpu1 L1 D, colour 3, set 97 way 1, dirty, right  <- guilty\n"
		  "            cpu1 L1 D, colour 1, set 33 way 0, clean, stale  <- read\n"
		  "            memory, stale\n");
	has(text, "  repeats   5 more at the same places\n");
	has(text, "  expected  10 32 54 76 98 ba dc fe\n");
	has(text, "  got       00 00 00 00 00 00 00 00\n");
	has(text, "  again     quire run --machine pandaboard --policy coherence=");
	has(text, " sample.q\n");
	has(text, "8 more violations like these [after]\n");
	has(text, "1 failed, 9 violations\n");
	assert_true(strstr(text, "NEEDLESS") > stale);
	free(text);
}

/* With verdicts the needless ones are told apart, dearest first. */
static void test_verdicts(void **state)
{
	struct lab_experiment *experiment = sample_experiment(false);
	struct lab_maintenance decided[2] = {
		{.site = QUIRE_SITE_TABLE_NEW,
		 .op = SIM_OP_DATA_CLEAN,
		 .count = 9,
		 .cycles = 900,
		 .decided = true,
		 .needless = 3,
		 .wasted = 250,
		 .pages = 3,
		 .needless_pages = 1,
		 .need = {.count = {[SIM_VERDICT_NEEDED] = 5,
				    [SIM_VERDICT_GUARD] = 2,
				    [SIM_VERDICT_OVERTAKEN] = 12,
				    [SIM_VERDICT_NOTHING_DIRTY] = 2,
				    [SIM_VERDICT_TWICE] = 1,
				    [SIM_VERDICT_UNDECIDED] = 1}}},
		{.site = QUIRE_SITE_UNMAP_PAGE,
		 .op = SIM_OP_DATA_FLUSH,
		 .count = 4,
		 .cycles = 800,
		 .decided = true,
		 .needless = 4,
		 .wasted = 800,
		 .need = {.count = {[SIM_VERDICT_NOT_READ] = 4}}},
	};
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	(void)state;
	experiment->variants[0].maintenance = decided;
	experiment->variants[0].maintenance_count = 2;
	lab_report(to, experiment, false);
	fclose(to);
	has(text, "\nNEEDLESS: data flush by coherence.unmap.page [before]: 4 operations no read needed, 800 cycles "
		  "wasted (4 not read; 0 needed, 0 undecided)\n"
		  "NEEDLESS: data clean by table.new [before]: 3 operations no read needed, 250 cycles "
		  "wasted (2 nothing dirty, 1 twice; 5 needed, 2 guard, 12 overtaken, 1 undecided)\n");
	has(text, "site                  operation   count  needless  cycles  guard  overtaken  pages  "
		  "needless pages\n"
		  "  table.new             data clean      9         3     900      2         12      3  "
		  "             1\n");
	free(text);
}

static void test_colour(void **state)
{
	char *text = report(true, true);

	(void)state;
	has(text, "\033[1;31mSTALE READ");
	has(text, "colour 3)\033[0m\n");
	free(text);
}

static void test_summary(void **state)
{
	struct lab_experiment *good[] = {sample_experiment(false), sample_experiment(false)};
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	(void)state;
	assert_int_equal(lab_verdict(good, 2), LAB_GOOD);
	lab_report_summary(to, good, 2, false);
	lab_report_summary(to, good, 1, false);
	lab_report_summary(to, good, 0, false);
	fclose(to);
	assert_string_equal(text, "SUMMARY: 2 experiments: 4 variants, 8 measures, 10 expectations "
				  "checked, 2,097,152 bytes verified; 0 failed, 0 violations\n"
				  "nothing ran\n");
	free(text);
	sample_experiment(true);
	assert_int_equal(lab_verdict(good, 2), LAB_FAILED);
	assert_int_equal(lab_verdict(good, 0), LAB_GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_measures),
		cmocka_unit_test(test_small_model),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_maintenance_order),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_colour),
		cmocka_unit_test(test_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
