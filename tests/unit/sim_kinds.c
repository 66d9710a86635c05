/*
 * Kinds of violations: each made on a machine with nothing on it and called by its name and cause, each absent when
 * the maintenance that was due is done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/adversary.h"
#include "tests/support/bare.h"

#define VA   0x5000u /* colour 1 */
#define VA_2 0x6000u /* colour 2 of the same frame */
#define VA_3 0x7000u /* another frame */
#define FRAME BARE_FRAME(0)

/* ARM, its D and I caches virtually indexed with four colours; VA and VA_2 are one frame. */
static void start(struct bare *b, const struct sim_machine *machine)
{
	bare_start(b, machine);
	bare_arm_map(b, 0, VA, (uint32_t)FRAME | BARE_ARM_PAGE);
	bare_arm_map(b, 0, VA_2, (uint32_t)FRAME | BARE_ARM_PAGE);
	bare_arm_map(b, 0, VA_3, (uint32_t)BARE_FRAME(1) | BARE_ARM_PAGE);
	bare_arm_activate(b, 0, 1);
}

static struct sim_machine coloured(void)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);

	m.l1d.bytes = m.l1i.bytes = 32 << 10;
	m.l1d.index = m.l1i.index = SIM_VIPT;
	return m;
}

static uintptr_t kernel(const struct bare *b, quire_pa_t pa)
{
	return b->base + pa;
}

static uint64_t load(struct bare *b, uintptr_t va)
{
	uint64_t value;

	assert_int_equal(sim_load(b->sim, va, 4, &value), 0);
	return value;
}

static void store(struct bare *b, uintptr_t va, uint32_t value)
{
	assert_int_equal(sim_store(b->sim, va, 4, value), 0);
}

/* The nth violation is the last and is of that kind and cause. */
static const struct sim_violation *seen(struct bare *b, unsigned nth, enum sim_kind kind, enum sim_cause cause)
{
	const struct sim_violation *violation = sim_violation(b->sim, nth - 1);

	assert_int_equal(sim_violations(b->sim), nth);
	assert_non_null(violation);
	assert_string_equal(sim_kind_name(violation->kind), sim_kind_name(kind));
	assert_string_equal(sim_cause_name(violation->cause), sim_cause_name(cause));
	return violation;
}

static const struct sim_copy *guilty(const struct sim_violation *violation)
{
	for (unsigned i = 0; i < violation->copy_count; i++)
		if (violation->copies[i].guilty)
			return &violation->copies[i];
	return NULL;
}

static const struct sim_copy *read_one(const struct sim_violation *violation)
{
	for (unsigned i = 0; i < violation->copy_count; i++)
		if (violation->copies[i].read)
			return &violation->copies[i];
	return NULL;
}

static void test_alias(void **state)
{
	struct sim_machine m = coloured();
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	start(&b, &m);
	load(&b, VA_2);
	store(&b, VA, 1);
	load(&b, VA_2);
	violation = seen(&b, 1, SIM_KIND_STALE_DATA, SIM_CAUSE_ALIAS);
	assert_int_equal(violation->observer, SIM_PARTY_USER);
	assert_true(guilty(violation)->dirty && guilty(violation)->right && guilty(violation)->has_colour);
	assert_int_equal(guilty(violation)->colour, 1);
	assert_int_equal(read_one(violation)->colour, 2);
	assert_false(read_one(violation)->right);

	/* Cleaned, but the old line was not dropped. */
	armv7_dccmvac(b.hw, VA);
	load(&b, VA_2);
	violation = seen(&b, 2, SIM_KIND_STALE_DATA, SIM_CAUSE_ALIAS);
	assert_int_equal(guilty(violation)->colour, 2);
	armv7_dccimvac(b.hw, VA_2);
	assert_int_equal(load(&b, VA_2), 1);
	assert_int_equal(sim_violations(b.sim), 2);
	bare_end(&b);
}

static void test_kernel_against_user(void **state)
{
	struct sim_machine m = coloured();
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	start(&b, &m);
	load(&b, VA);
	store(&b, kernel(&b, FRAME), 1);
	load(&b, VA);
	violation = seen(&b, 1, SIM_KIND_STALE_DATA, SIM_CAUSE_ALIAS);
	assert_int_equal(violation->writer, SIM_PARTY_KERNEL);
	armv7_dccimvac(b.hw, kernel(&b, FRAME));
	armv7_dccimvac(b.hw, VA);
	assert_int_equal(load(&b, VA), 1);

	store(&b, VA, 2);
	load(&b, kernel(&b, FRAME));
	violation = seen(&b, 2, SIM_KIND_STALE_DATA, SIM_CAUSE_ALIAS);
	assert_int_equal(violation->observer, SIM_PARTY_KERNEL);
	bare_end(&b);
}

static void test_cpu_against_cpu(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	load(&b, kernel(&b, FRAME));
	sim_switch(b.sim, 1);
	store(&b, kernel(&b, FRAME), 1);
	sim_switch(b.sim, 0);
	load(&b, kernel(&b, FRAME));
	assert_int_equal(seen(&b, 1, SIM_KIND_STALE_DATA, SIM_CAUSE_OTHER_CPU)->copies[1].cpu, 1);
	bare_end(&b);

	m.data_coherent = true;
	bare_start(&b, &m);
	load(&b, kernel(&b, FRAME));
	sim_switch(b.sim, 1);
	store(&b, kernel(&b, FRAME), 1);
	sim_switch(b.sim, 0);
	assert_int_equal(load(&b, kernel(&b, FRAME)), 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

static void test_store_buffer(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	m.store_buffer = 4;
	m.store_buffer_bytes = 16 << 10;
	start(&b, &m);
	armv7_dsb(b.hw);
	load(&b, VA_2);
	store(&b, VA, 1);
	load(&b, VA_2);
	seen(&b, 1, SIM_KIND_STALE_DATA, SIM_CAUSE_STORE_BUFFER);
	armv7_dsb(b.hw);
	assert_int_equal(load(&b, VA_2), 1);
	bare_end(&b);
}

static void test_instruction(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;
	uint64_t insn;

	(void)state;
	start(&b, &m);
	sim_fetch(b.sim, VA, &insn);
	store(&b, VA, 1);
	sim_fetch(b.sim, VA, &insn);
	assert_true(guilty(seen(&b, 1, SIM_KIND_STALE_INSN, SIM_CAUSE_NOT_CLEANED))->dirty);
	armv7_dccmvau(b.hw, VA);
	sim_fetch(b.sim, VA, &insn);
	assert_int_equal(guilty(seen(&b, 2, SIM_KIND_STALE_INSN, SIM_CAUSE_NOT_DROPPED))->place, SIM_PLACE_L1I);
	armv7_icimvau(b.hw, VA);
	sim_fetch(b.sim, VA, &insn);
	assert_int_equal(insn, 1);
	assert_int_equal(sim_violations(b.sim), 2);
	bare_end(&b);
}

static void test_table_entry(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	struct bare b;
	int error;

	(void)state;
	m.walker = SIM_LEVEL_MEMORY;
	start(&b, &m);
	bare_load(&b, VA, &error);
	assert_int_equal(error, -QUIRE_EFAULT);
	violation = seen(&b, 1, SIM_KIND_STALE_TABLE, SIM_CAUSE_NOT_CLEANED);
	assert_int_equal(read_one(violation)->place, SIM_PLACE_MEMORY);
	assert_true(guilty(violation)->dirty);
	armv7_dccmvac(b.hw, kernel(&b, BARE_ROOT));
	armv7_dccmvac(b.hw, kernel(&b, bare_arm_leaf(0, VA)));
	load(&b, VA);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

static void test_devices(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint8_t bytes[32];
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	store(&b, kernel(&b, FRAME), 1);
	sim_dma_from_memory(b.sim, FRAME, bytes, sizeof(bytes));
	seen(&b, 1, SIM_KIND_STALE_DEVICE, SIM_CAUSE_NOT_CLEANED);
	armv7_dccmvac(b.hw, kernel(&b, FRAME));
	sim_dma_from_memory(b.sim, FRAME, bytes, sizeof(bytes));
	assert_int_equal(sim_violations(b.sim), 1);

	memset(bytes, 7, sizeof(bytes));
	sim_dma_to_memory(b.sim, FRAME, bytes, sizeof(bytes));
	load(&b, kernel(&b, FRAME));
	assert_int_equal(seen(&b, 2, SIM_KIND_STALE_DATA, SIM_CAUSE_NOT_DROPPED)->writer, SIM_PARTY_DEVICE);
	armv7_dcimvac(b.hw, kernel(&b, FRAME));
	assert_int_equal(load(&b, kernel(&b, FRAME)), 0x07070707);
	assert_int_equal(sim_violations(b.sim), 2);
	bare_end(&b);
}

/* Every line of a CPU's D cache leaves by itself. */
static void evict_all(struct bare *b, unsigned cpu)
{
	unsigned sets, ways;

	sim_cache_shape(b->sim, SIM_WHICH_L1D, &sets, &ways);
	for (unsigned set = 0; set < sets; set++)
		for (unsigned way = 0; way < ways; way++)
			sim_evict(b->sim, cpu, SIM_WHICH_L1D, set, way);
}

static void test_device_data_overwritten(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint8_t bytes[32];
	struct bare b;

	(void)state;
	for (int careful = 0; careful < 2; careful++) {
		bare_start(&b, &m);
		memset(bytes, 7, sizeof(bytes));
		store(&b, kernel(&b, FRAME), 1);
		if (careful)
			armv7_dcimvac(b.hw, kernel(&b, FRAME));
		sim_dma_to_memory(b.sim, FRAME, bytes, sizeof(bytes));
		evict_all(&b, 0);
		load(&b, kernel(&b, FRAME));
		if (careful)
			assert_int_equal(sim_violations(b.sim), 0);
		else
			seen(&b, 1, SIM_KIND_OVERWRITTEN, SIM_CAUSE_OLD_LINE);
		bare_end(&b);
	}
}

static void test_dropped_write(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	store(&b, kernel(&b, FRAME), 1);
	sim_label(b.sim, 9);
	sim_site_begin(b.sim, QUIRE_SITE_DMA_FROM_DEVICE);
	armv7_dcimvac(b.hw, kernel(&b, FRAME));
	sim_site_end(b.sim, QUIRE_SITE_DMA_FROM_DEVICE);
	sim_label(b.sim, 10);
	load(&b, kernel(&b, FRAME));
	violation = seen(&b, 1, SIM_KIND_LOST_WRITE, SIM_CAUSE_DROPPED);
	assert_int_equal(violation->site, QUIRE_SITE_DMA_FROM_DEVICE);
	assert_int_equal(violation->site_label, 9);
	bare_end(&b);

	bare_start(&b, &m);
	store(&b, kernel(&b, FRAME), 1);
	armv7_dccimvac(b.hw, kernel(&b, FRAME));
	assert_int_equal(load(&b, kernel(&b, FRAME)), 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* Two CPUs store to one line; then the older of the two lines is the last to leave. */
static void test_two_dirty_lines(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	store(&b, kernel(&b, FRAME), 1);
	sim_switch(b.sim, 1);
	store(&b, kernel(&b, FRAME + 4), 2);
	load(&b, kernel(&b, FRAME));
	seen(&b, 1, SIM_KIND_LOST_WRITE, SIM_CAUSE_TWO_DIRTY);
	evict_all(&b, 1);
	evict_all(&b, 0);
	load(&b, kernel(&b, FRAME + 4));
	seen(&b, 2, SIM_KIND_LOST_WRITE, SIM_CAUSE_OLD_LINE);
	bare_end(&b);

	bare_start(&b, &m);
	store(&b, kernel(&b, FRAME), 1);
	armv7_dccimvac(b.hw, kernel(&b, FRAME));
	sim_switch(b.sim, 1);
	store(&b, kernel(&b, FRAME + 4), 2);
	assert_int_equal(load(&b, kernel(&b, FRAME)), 1);
	assert_int_equal(sim_violations(b.sim), 0);
	bare_end(&b);
}

/* An entry may be used until the operation that narrowed its table entry returns. */
static void test_tlb_entry(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	m.data_coherent = true;
	start(&b, &m);
	store(&b, VA, 1);
	sim_switch(b.sim, 1);
	sim_enter(b.sim);
	bare_poke(&b, bare_arm_leaf(0, VA), 4, (uint32_t)FRAME | BARE_ARM_PAGE | BARE_ARM_RO);
	sim_switch(b.sim, 0);
	store(&b, VA, 2);
	assert_int_equal(sim_violations(b.sim), 0);
	sim_switch(b.sim, 1);
	sim_leave(b.sim);
	sim_switch(b.sim, 0);
	load(&b, VA);
	assert_int_equal(sim_violations(b.sim), 0); /* loads are still allowed */
	store(&b, VA, 3);
	violation = seen(&b, 1, SIM_KIND_STALE_TLB, SIM_CAUSE_NOT_PURGED);
	assert_int_equal(violation->va, VA);
	assert_int_equal(violation->pa, bare_arm_leaf(0, VA));
	assert_int_equal(violation->expected & 0xffffffff, (uint32_t)FRAME | BARE_ARM_PAGE | BARE_ARM_RO);
	assert_int_equal(violation->writer_cpu, 1);
	armv7_tlbimva(b.hw, VA | 1);
	assert_int_equal(sim_store(b.sim, VA, 4, 4), -QUIRE_EFAULT);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

/* Operations within each other: what the inner one changed counts when it returns. */
static void test_nested_operations(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	m.data_coherent = true;
	start(&b, &m);
	load(&b, VA);
	load(&b, VA_3);
	sim_enter(b.sim);
	bare_poke(&b, bare_arm_leaf(0, VA), 4, 0);
	sim_enter(b.sim);
	bare_poke(&b, bare_arm_leaf(0, VA_3), 4, 0);
	sim_leave(b.sim);
	load(&b, VA);
	assert_int_equal(sim_violations(b.sim), 0);
	load(&b, VA_3);
	seen(&b, 1, SIM_KIND_STALE_TLB, SIM_CAUSE_NOT_PURGED);
	sim_leave(b.sim);
	load(&b, VA);
	assert_int_equal(sim_violations(b.sim), 2);
	bare_end(&b);
}

static void test_freed_frames(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	(void)state;
	start(&b, &m);
	load(&b, VA);
	sim_enter(b.sim); /* even while the operation runs */
	sim_frames_freed(b.sim, FRAME, QUIRE_PAGE_BYTES);
	load(&b, kernel(&b, FRAME)); /* the kernel may look */
	assert_int_equal(sim_violations(b.sim), 0);
	load(&b, VA);
	seen(&b, 1, SIM_KIND_STALE_TLB, SIM_CAUSE_FRAME_FREED);
	sim_leave(b.sim);

	sim_frames_freed(b.sim, bare_arm_leaf(0, 0) & ~(quire_pa_t)QUIRE_PAGE_MASK, QUIRE_PAGE_BYTES);
	load(&b, VA_3); /* a miss: the walker goes there */
	seen(&b, 2, SIM_KIND_STALE_TABLE, SIM_CAUSE_FRAME_FREED);
	bare_end(&b);
}

/* Software fill: a table of one word a page, that the handler of the test reads. */
#define WORDS (BARE_TABLES + 0x400)

static int soft_fill(struct bare *b, uintptr_t va, enum quire_access access)
{
	uint64_t word = parisc_load(b->hw, b->base + WORDS + (va >> QUIRE_PAGE_SHIFT) * 8);
	unsigned rights = PARISC_USER | PARISC_READ | (word & 2 ? PARISC_WRITE : 0);

	if (!(word & 1) || (access == QUIRE_STORE && !(word & 2)))
		return -QUIRE_EFAULT;
	parisc_idtlbt(b->hw, 0, va & ~(uintptr_t)QUIRE_PAGE_MASK, word & ~(uint64_t)QUIRE_PAGE_MASK, rights);
	parisc_sync(b->hw);
	return 0;
}

static int soft_miss(void *context, uintptr_t va, enum quire_access access)
{
	return soft_fill(context, va, access);
}

static void test_software_tlb_entry(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct sim_traps traps = {.tlb_miss = soft_miss, .tlb_reference = soft_miss};
	uint64_t ticks;
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	traps.context = &b;
	sim_set_traps(b.sim, &traps);
	parisc_store(b.hw, b.base + WORDS + (VA >> QUIRE_PAGE_SHIFT) * 8, FRAME | 3);
	store(&b, VA, 1);
	ticks = sim_ticks(b.sim);
	load(&b, VA);
	assert_int_equal(sim_ticks(b.sim) - ticks, BARE_C); /* asking costs nothing */
	assert_int_equal(sim_violations(b.sim), 0);

	parisc_store(b.hw, b.base + WORDS + (VA >> QUIRE_PAGE_SHIFT) * 8, FRAME | 1);
	load(&b, VA);
	assert_int_equal(sim_violations(b.sim), 0);
	store(&b, VA, 2);
	assert_int_equal(seen(&b, 1, SIM_KIND_STALE_TLB, SIM_CAUSE_NOT_PURGED)->pa,
			 WORDS + (VA >> QUIRE_PAGE_SHIFT) * 8);
	parisc_pdtlb(b.hw, 0, VA);
	assert_int_equal(sim_store(b.sim, VA, 4, 3), -QUIRE_EFAULT);
	assert_int_equal(sim_violations(b.sim), 1);
	bare_end(&b);
}

static void test_exposed(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	const struct sim_violation *violation;
	uint8_t bytes[64];
	struct bare b;

	(void)state;
	start(&b, &m);
	sim_label(b.sim, 3);
	store(&b, VA, 0x5ec2e7);
	sim_frames_freed(b.sim, FRAME, QUIRE_PAGE_BYTES);
	armv7_tlbiall(b.hw);
	sim_frames_given(b.sim, FRAME, QUIRE_PAGE_BYTES);
	load(&b, kernel(&b, FRAME)); /* the kernel may look */
	assert_int_equal(sim_violations(b.sim), 0);
	load(&b, VA);
	violation = seen(&b, 1, SIM_KIND_EXPOSED, SIM_CAUSE_NOT_CLEARED);
	assert_int_equal(violation->got, 0x5ec2e7);
	assert_true(violation->got_known && violation->got_former);
	assert_int_equal(violation->got_author.label, 3);

	/* A copy carries it on; a store takes it out, byte by byte. */
	assert_int_equal(sim_copy(b.sim, VA_3, kernel(&b, FRAME) + 2, 64), 0);
	assert_int_equal(sim_read(b.sim, VA_3 + 64, bytes, 64), 0);
	assert_int_equal(sim_violations(b.sim), 1);
	load(&b, VA_3 + 60);
	seen(&b, 2, SIM_KIND_EXPOSED, SIM_CAUSE_NOT_CLEARED);
	assert_int_equal(sim_clear(b.sim, VA_3, 64), 0);
	load(&b, VA_3 + 60);
	assert_int_equal(sim_violations(b.sim), 2);
	store(&b, VA, 1);
	load(&b, VA);
	assert_int_equal(sim_violations(b.sim), 2);
	sim_dma_from_memory(b.sim, FRAME, bytes, 32);
	assert_int_equal(sim_violations(b.sim), 4); /* 28 bytes of a former owner, and a line not cleaned */
	assert_int_equal(sim_clear(b.sim, kernel(&b, FRAME), QUIRE_PAGE_BYTES), 0);
	load(&b, VA + 0x800);
	assert_int_equal(sim_violations(b.sim), 4);
	bare_end(&b);
}

/* The frame was cleared, but at another colour: what the new owner reads is the former owner's all the same. */
static void test_exposed_by_a_stale_line(void **state)
{
	struct sim_machine m = coloured();
	struct sim_options options = {.history = true};
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	start(&b, &m);
	assert_int_equal(sim_set_options(b.sim, &options), 0);
	sim_label(b.sim, 3);
	store(&b, VA + 64, 0x5ec2e7);
	armv7_dccmvac(b.hw, VA + 64);
	sim_frames_freed(b.sim, FRAME, QUIRE_PAGE_BYTES);
	armv7_tlbiall(b.hw);
	sim_label(b.sim, 4);
	sim_frames_given(b.sim, FRAME, QUIRE_PAGE_BYTES);
	assert_int_equal(sim_clear(b.sim, kernel(&b, FRAME), QUIRE_PAGE_BYTES), 0);
	load(&b, VA + 64);
	violation = seen(&b, 1, SIM_KIND_EXPOSED, SIM_CAUSE_ALIAS);
	assert_true(violation->got_former);
	assert_int_equal(violation->got_author.label, 3);
	assert_int_equal(violation->got_author.party, SIM_PARTY_USER);
	bare_end(&b);
}

/* The history finds the earlier content of the present owner too, and says nothing of what it does not know. */
static void test_earlier_content(void **state)
{
	struct sim_machine m = coloured();
	struct sim_options options = {.history = true};
	const struct sim_violation *violation;
	struct bare b;

	(void)state;
	start(&b, &m);
	assert_int_equal(sim_set_options(b.sim, &options), 0);
	sim_label(b.sim, 3);
	store(&b, VA_2, 11);
	sim_label(b.sim, 4);
	store(&b, VA, 12);
	sim_label(b.sim, 5);
	store(&b, VA, 13);
	load(&b, VA_2);
	violation = seen(&b, 1, SIM_KIND_LOST_WRITE, SIM_CAUSE_TWO_DIRTY);
	assert_true(violation->got_known);
	assert_false(violation->got_former);
	assert_int_equal(violation->got_author.label, 3);
	assert_int_equal(violation->writer_label, 5);
	bare_end(&b);
}

/* A page of stale lines does not hide what comes after it. */
static void test_places_are_kept(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	uint8_t bytes[QUIRE_PAGE_BYTES];
	uint64_t repeats = 0;
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	memset(bytes, 1, sizeof(bytes));
	sim_write(b.sim, kernel(&b, FRAME), bytes, sizeof(bytes));
	sim_label(b.sim, 1);
	sim_dma_from_memory(b.sim, FRAME, bytes, sizeof(bytes));
	assert_int_equal(sim_violations(b.sim), QUIRE_PAGE_BYTES / 32);
	sim_label(b.sim, 2);
	sim_dma_from_memory(b.sim, FRAME, bytes, 4);
	for (unsigned n = 0; n < SIM_VIOLATIONS_KEPT && sim_violation(b.sim, n); n++)
		repeats += 1 + sim_violation(b.sim, n)->repeats;
	assert_int_equal(repeats, sim_violations(b.sim));
	assert_non_null(sim_violation(b.sim, SIM_VIOLATIONS_KEPT / 2));
	assert_int_equal(sim_violation(b.sim, SIM_VIOLATIONS_KEPT / 2)->label, 2);
	assert_null(sim_violation(b.sim, SIM_VIOLATIONS_KEPT / 2 + 1));
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alias),
		cmocka_unit_test(test_kernel_against_user),
		cmocka_unit_test(test_cpu_against_cpu),
		cmocka_unit_test(test_store_buffer),
		cmocka_unit_test(test_instruction),
		cmocka_unit_test(test_table_entry),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_device_data_overwritten),
		cmocka_unit_test(test_dropped_write),
		cmocka_unit_test(test_two_dirty_lines),
		cmocka_unit_test(test_tlb_entry),
		cmocka_unit_test(test_nested_operations),
		cmocka_unit_test(test_freed_frames),
		cmocka_unit_test(test_software_tlb_entry),
		cmocka_unit_test(test_exposed),
		cmocka_unit_test(test_exposed_by_a_stale_line),
		cmocka_unit_test(test_earlier_content),
		cmocka_unit_test(test_places_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
