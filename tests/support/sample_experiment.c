/*
 * The sample: two variants, published and unpublished measures, times, maintenance in the wrong
 * order, a failure, and two violations of which the second repeats the first.
 */
#include "tests/support/sample_experiment.h"

static struct lab_measure before_measures[] = {
	{.name = "pass 0",
	 .unit = "us",
	 .model = 22000000.5,
	 .has_published = true,
	 .published = 22615636,
	 .basis = LAB_FITTED,
	 .note = "measured on 256M, scaled to 512M"},
	{.name = "fault", .unit = "us", .model = 3.61, .has_published = true, .published = 3.6209},
};
static struct lab_measure after_measures[] = {
	{.name = "pass 0", .unit = "us", .model = 21000000},
	{.name = "extra", .unit = "B", .model = 1234.5},
};
static struct lab_times times[] = {
	{.step = "begin", .has_published = true, .published = {0, 0, -7}, .model = {0, 0, -7}},
	{.step = "write", .has_published = true, .published = {1, 1, -7}, .model = {1, 2, -7}},
	{.step = "sync", .model = {7, 7, 2}},
};
static struct lab_maintenance maintenance[] = {
	{.site = QUIRE_SITE_COUNT, .op = SIM_OP_BARRIER, .count = 3, .cycles = 100},
	{.site = QUIRE_SITE_KERNEL_READ,
	 .op = SIM_OP_DATA_FLUSH,
	 .count = 16777216,
	 .needless = 16777216,
	 .cycles = 1234567890},
};
static struct lab_failure failures[] = {
	{.file = "sample.q", .line = 7, .column = 3, .text = "expected violations == 0, found 9"},
};
static struct lab_violation violations[] = {
	{.sim = {.kind = SIM_KIND_STALE_DATA,
		 .cause = SIM_CAUSE_ALIAS,
		 .observer = SIM_PARTY_USER,
		 .cpu = 1,
		 .va = 0x40001000,
		 .pa = 0x123040,
		 .expected = 0xfedcba9876543210,
		 .got = 0,
		 .bytes = 8,
		 .writer = SIM_PARTY_KERNEL,
		 .got_known = true,
		 .got_author = {.party = SIM_PARTY_USER, .cpu = 1, .label = 4},
		 .repeats = 5,
		 .site = QUIRE_SITE_COUNT,
		 .copy_count = 3,
		 .copies = {{.place = SIM_PLACE_L1D,
			     .cpu = 1,
			     .way = 1,
			     .dirty = 1,
			     .right = 1,
			     .guilty = 1,
			     .has_colour = 1,
			     .colour = 3,
			     .set = 97},
			    {.place = SIM_PLACE_L1D,
			     .cpu = 1,
			     .read = 1,
			     .has_colour = 1,
			     .colour = 1,
			     .set = 33},
			    {.place = SIM_PLACE_MEMORY}}},
	 .line = 12,
	 .writer_line = 9,
	 .statement = "load",
	 .writer_statement = "write",
	 .got_statement = "store",
	 .map = "m2"},
	{.sim = {.kind = SIM_KIND_STALE_DATA,
		 .cause = SIM_CAUSE_ALIAS,
		 .observer = SIM_PARTY_USER,
		 .cpu = 1,
		 .va = 0x40002000,
		 .pa = 0x124040,
		 .expected = 1,
		 .got = 0,
		 .bytes = 4,
		 .writer = SIM_PARTY_KERNEL},
	 .line = 12,
	 .writer_line = 9,
	 .map = "m2"},
};
static struct lab_variant variants[2];
static struct lab_experiment experiment = {
	.name = "sample",
	.file = "sample.q",
	.title = "A sample",
	.source = "A paper, 2013",
	.machine = "pandaboard",
	.question = "coherence",
	.size_note = "64M instead of 512M",
	.variants = variants,
	.variant_count = 2,
};

struct lab_experiment *sample_experiment(bool faulty)
{
	variants[0] = (struct lab_variant){
		.label = "before",
		.policy = "coherence=mapping",
		.measures = before_measures,
		.measure_count = 2,
		.times = times,
		.times_count = 3,
		.maintenance = maintenance,
		.maintenance_count = 2,
		.expectations = 4,
		.bytes_verified = 1048576,
		.cycles = 5000,
		.counts = {.lines = 77},
		.thresholds = {.data_bytes = SIZE_MAX, .insn_bytes = 524288},
		.done = true,
	};
	variants[1] = (struct lab_variant){.label = "after",
					   .policy = "coherence=page",
					   .measures = after_measures,
					   .measure_count = 2,
					   .expectations = 1,
					   .done = true};
	variants[0].policies = variants[1].policies = quire_policy_default();
	if (faulty) {
		variants[1].failures = failures;
		variants[1].failure_count = 1;
		variants[1].violations = violations;
		variants[1].violations_kept = 2;
		variants[1].violation_count = 9;
	}
	return &experiment;
}
