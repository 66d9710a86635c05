/*
 * Instructions: what each reaches, what it costs, how it is booked, and what identification
 * registers tell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/bare.h"

#define NONE QUIRE_SITE_COUNT

static void account_is(const struct bare *b, enum quire_site site, enum sim_op op, unsigned count,
		       unsigned idle, unsigned cycles)
{
	const struct sim_account *account = sim_account(b->sim, site, op);

	assert_int_equal(account->count, count);
	assert_int_equal(account->idle, idle);
	assert_int_equal(account->ticks, (uint64_t)cycles * BARE_C);
}

/* What memory itself holds, past all caches: what a device reads that does not see them. */
static uint32_t in_memory(struct bare *b, quire_pa_t pa)
{
	uint32_t value;

	sim_dma_from_memory(b->sim, pa, &value, sizeof(value));
	return value;
}

static uintptr_t frame(const struct bare *b, unsigned n)
{
	return b->base + BARE_FRAME(n);
}

/* --- ARMv7 -------------------------------------------------------------------------------- */

static struct sim_machine one_arm(void)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);

	m.cpus = 1;
	return m;
}

static void arm_operations_by_address(void **state)
{
	struct sim_machine m = one_arm();
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	bare_poke(&b, BARE_FRAME(0), 4, 0x11);
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0);
	sim_site_begin(b.sim, QUIRE_SITE_KERNEL_WROTE);
	armv7_dccmvac(b.hw, frame(&b, 0)); /* dirty: 2 + 3, and 30 for the write */
	armv7_dccmvac(b.hw, frame(&b, 0)); /* clean: 2 + 1 */
	sim_site_end(b.sim, QUIRE_SITE_KERNEL_WROTE);
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x11);
	account_is(&b, QUIRE_SITE_KERNEL_WROTE, SIM_OP_DATA_CLEAN, 2, 1, 38);

	bare_poke(&b, BARE_FRAME(0), 4, 0x22);
	armv7_dcimvac(b.hw, frame(&b, 0)); /* the store is lost */
	assert_int_equal(bare_peek(&b, BARE_FRAME(0), 4), 0x11);
	bare_poke(&b, BARE_FRAME(0), 4, 0x33);
	armv7_dccimvac(b.hw, frame(&b, 0));
	armv7_dccimvac(b.hw, frame(&b, 0)); /* absent: 2 */
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x33);
	account_is(&b, NONE, SIM_OP_DATA_INVALIDATE, 1, 0, 5);
	account_is(&b, NONE, SIM_OP_DATA_FLUSH, 2, 1, 37);
	account_is(&b, NONE, SIM_OP_DATA_CLEAN, 0, 0, 0);
	bare_end(&b);
}

static void a_clean_reaches_another_cpu(bool broadcast)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;

	m.maintenance_broadcast = broadcast;
	bare_start(&b, &m);
	sim_switch(b.sim, 1);
	bare_poke(&b, BARE_FRAME(0), 4, 0x11);
	sim_switch(b.sim, 0);
	armv7_dccmvac(b.hw, frame(&b, 0));
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), broadcast ? 0x11 : 0);
	account_is(&b, NONE, SIM_OP_DATA_CLEAN, 1, !broadcast, broadcast ? 135 : 2);
	armv7_icialluis(b.hw);
	account_is(&b, NONE, SIM_OP_INSN_ALL, 1, 1, broadcast ? 109 : 9);
	bare_end(&b);
}

static void broadcast_where_the_machine_does(void **state)
{
	(void)state;
	a_clean_reaches_another_cpu(true);
	a_clean_reaches_another_cpu(false);
}

static void local_forms_stay_local(void **state)
{
	struct sim_machine m = bare_machine(SIM_ARMV7);
	struct bare b;
	uint64_t word;

	(void)state;
	bare_start(&b, &m);
	bare_poke(&b, BARE_FRAME(0), 4, 0x11);
	armv7_dccmvac(b.hw, frame(&b, 0));
	sim_switch(b.sim, 1);
	assert_int_equal(sim_fetch(b.sim, frame(&b, 0), &word), 0);
	sim_switch(b.sim, 0);
	bare_poke(&b, BARE_FRAME(0), 4, 0x22);
	armv7_dccmvac(b.hw, frame(&b, 0));
	armv7_iciallu(b.hw);
	sim_switch(b.sim, 1);
	sim_fetch(b.sim, frame(&b, 0), &word);
	assert_int_equal(word, 0x11);
	sim_switch(b.sim, 0);
	armv7_icimvau(b.hw, frame(&b, 0));
	sim_switch(b.sim, 1);
	sim_fetch(b.sim, frame(&b, 0), &word);
	assert_int_equal(word, 0x22);
	bare_end(&b);
}

/* The loop of a kernel: over what CCSIDR says of level 1. */
static void set_way_loop_from_ccsidr(void **state)
{
	struct sim_machine m = one_arm();
	uint32_t id, sets, ways, line_shift;
	struct bare b;

	(void)state;
	m.l1d.ways = 4;
	bare_start(&b, &m);
	for (unsigned n = 0; n < 8 << 10; n += 32)
		bare_poke(&b, BARE_FRAMES + n, 4, n + 1);
	armv7_set_csselr(b.hw, 0);
	id = armv7_ccsidr(b.hw);
	sets = (id >> 13 & 0x7fff) + 1;
	ways = (id >> 3 & 0x3ff) + 1;
	line_shift = (id & 7) + 4;
	assert_int_equal(sets * ways << line_shift, 8 << 10);
	for (uint32_t way = 0; way < ways; way++)
		for (uint32_t set = 0; set < sets; set++)
			armv7_dccisw(b.hw, way << 30 | set << line_shift);
	for (unsigned n = 0; n < 8 << 10; n += 32)
		assert_int_equal(in_memory(&b, BARE_FRAMES + n), n + 1);
	account_is(&b, NONE, SIM_OP_DATA_SET, 256, 0, 256 * 31);
	armv7_dccisw(b.hw, 3u << 30);
	account_is(&b, NONE, SIM_OP_DATA_SET, 257, 1, 256 * 31 + 1);
	bare_end(&b);
}

static struct sim_machine with_l2(bool outer)
{
	struct sim_machine m = one_arm();

	m.l2 = m.l1d;
	m.l2.bytes = 128 << 10;
	m.l2.ways = 16;
	m.l2_outer = outer;
	return m;
}

static void an_inner_l2_is_cleaned_by_address(void **state)
{
	struct sim_machine m = with_l2(false);
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	assert_int_equal(armv7_pl310_base(b.hw), 0);
	bare_poke(&b, BARE_FRAME(0), 4, 0x11);
	armv7_dccmvau(b.hw, frame(&b, 0));
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0);
	armv7_dccmvac(b.hw, frame(&b, 0));
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x11);
	bare_end(&b);
}

static void a_pl310_has_registers_of_its_own(void **state)
{
	static const uint32_t by_address[] = {0x7b0, 0x7f0}, by_way[] = {0x7bc, 0x7fc};
	struct sim_machine m = with_l2(true);
	quire_pa_t base;
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	base = armv7_pl310_base(b.hw);
	assert_true(base >= BARE_MEMORY);
	for (uint32_t i = 0; i < 2; i++) {
		bare_poke(&b, BARE_FRAME(0), 4, 0x11 + i);
		armv7_dccmvac(b.hw, frame(&b, 0));
		assert_int_not_equal(in_memory(&b, BARE_FRAME(0)), 0x11 + i);
		armv7_device_store(b.hw, base + by_address[i], (uint32_t)BARE_FRAME(0));
		assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x11 + i);
		bare_poke(&b, BARE_FRAME(0), 4, 0x21 + i);
		armv7_dccmvac(b.hw, frame(&b, 0));
		armv7_device_store(b.hw, base + by_way[i], 0xffff);
		assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x21 + i);
	}
	account_is(&b, NONE, SIM_OP_OUTER, 4, 0, 4 * 15 + 2 * 30);
	armv7_device_store(b.hw, base + 0x730, 0);
	account_is(&b, NONE, SIM_OP_OUTER, 5, 0, 4 * 15 + 2 * 30 + 25);

	/* Invalidation loses what L2 alone holds. */
	bare_poke(&b, BARE_FRAME(0), 4, 0x99);
	armv7_dccimvac(b.hw, frame(&b, 0));
	armv7_device_store(b.hw, base + 0x770, (uint32_t)BARE_FRAME(0));
	assert_int_equal(bare_peek(&b, BARE_FRAME(0), 4), 0x22);
	armv7_device_store(b.hw, base + 0x77c, 0xffff);
	armv7_device_store(b.hw, base + 0x77c, 0xffff);
	account_is(&b, NONE, SIM_OP_OUTER, 8, 1, 7 * 15 + 2 * 30 + 25);
	assert_int_equal(armv7_device_load(b.hw, base + 0x100), 1);
	assert_int_equal(armv7_device_load(b.hw, base + 0x104) >> 16 & 1, 1);
	assert_int_equal(armv7_device_load(b.hw, base + 0x730), 0);
	bare_end(&b);
}

static void arm_identification(void **state)
{
	struct sim_machine m = with_l2(false);
	struct bare b;

	(void)state;
	m.walker = SIM_LEVEL_L2;
	bare_start(&b, &m);
	assert_int_equal(armv7_ctr(b.hw), 4u << 29 | 3u << 16 | 3u << 14 | 3);
	assert_int_equal(armv7_clidr(b.hw), 1u << 27 | 2u << 24 | 1u << 21 | 4u << 3 | 3);
	armv7_set_csselr(b.hw, 2);
	assert_int_equal(armv7_ccsidr(b.hw), 7u << 28 | 255u << 13 | 15u << 3 | 1);
	assert_int_equal(armv7_id_mmfr3(b.hw), 0x2111);
	assert_int_equal(armv7_mpidr(b.hw), 3u << 30);
	bare_end(&b);

	m.walker = SIM_LEVEL_L1;
	m.tlb_broadcast = false;
	m.l2_outer = true;
	bare_start(&b, &m);
	assert_int_equal(armv7_clidr(b.hw), 1u << 27 | 1u << 24 | 1u << 21 | 3);
	assert_int_equal(armv7_id_mmfr3(b.hw), 0x101111);
	armv7_set_csselr(b.hw, 2);
	assert_int_equal(armv7_ccsidr(b.hw), ~0u);
	bare_end(&b);

	m.walker = SIM_LEVEL_MEMORY;
	m.l2_outer = false;
	m.maintenance_broadcast = false;
	m.cpus = 2;
	bare_start(&b, &m);
	sim_switch(b.sim, 1);
	assert_int_equal(armv7_clidr(b.hw), 2u << 27 | 2u << 24 | 2u << 21 | 4u << 3 | 3);
	assert_int_equal(armv7_id_mmfr3(b.hw), 0x111);
	assert_int_equal(armv7_mpidr(b.hw), 1u << 31 | 1);
	bare_end(&b);
}

static void barriers_and_counters(void **state)
{
	struct sim_machine m = one_arm();
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	armv7_dsb(b.hw);
	armv7_isb(b.hw);
	account_is(&b, NONE, SIM_OP_BARRIER, 2, 0, 11);
	assert_int_equal(armv7_pmccntr(b.hw), 11);
	sim_charge(b.sim, BARE_C - 1);
	assert_int_equal(armv7_pmccntr(b.hw), 11);
	sim_charge(b.sim, 1);
	assert_int_equal(armv7_pmccntr(b.hw), 12);
	bare_end(&b);
}

/* --- PA-RISC ------------------------------------------------------------------------------ */

static void parisc_cache_operations_without_translation(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;
	uint64_t ticks;

	(void)state;
	bare_start(&b, &m);
	parisc_set_user_space(b.hw, 7);
	ticks = sim_ticks(b.sim);
	parisc_fdc(b.hw, 7, 0x5000);
	assert_int_equal(sim_ticks(b.sim) - ticks, 70 * BARE_C);
	account_is(&b, NONE, SIM_OP_DATA_FLUSH, 1, 1, 70);
	parisc_fic(b.hw, 7, 0x5000);
	account_is(&b, NONE, SIM_OP_INSN_LINE, 1, 1, 70);
	assert_int_equal(b.misses, 2);
	assert_int_equal(b.faults, 0);

	/* Another space than the loaded one: the TLB is asked, no trap. */
	parisc_idtlbt(b.hw, 8, 0x5000, BARE_FRAME(0), PARISC_READ | PARISC_USER);
	bare_poke(&b, BARE_FRAME(0), 4, 0x11);
	parisc_fdc(b.hw, 8, 0x5000);
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x11);
	assert_int_equal(b.misses, 2);
	bare_end(&b);
}

/* FDC and PDC reach all CPUs, whatever the machine says of ARM's broadcasts. */
static void parisc_flushes_are_global(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;

	(void)state;
	m.maintenance_broadcast = false;
	bare_start(&b, &m);
	sim_switch(b.sim, 1);
	bare_poke(&b, BARE_FRAME(0), 4, 0x11);
	sim_switch(b.sim, 0);
	parisc_fdc(b.hw, 0, frame(&b, 0));
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x11);
	account_is(&b, NONE, SIM_OP_DATA_FLUSH, 1, 0, 135);
	sim_switch(b.sim, 1);
	bare_poke(&b, BARE_FRAME(0), 4, 0x22);
	sim_switch(b.sim, 0);
	parisc_pdc(b.hw, 0, frame(&b, 0));
	assert_int_equal(bare_peek(&b, BARE_FRAME(0), 4), 0x11);
	bare_end(&b);
}

static void dirty_all(struct bare *b, uint32_t mark)
{
	for (unsigned n = 0; n < 8 << 10; n += 32)
		bare_poke(b, BARE_FRAMES + n, 4, n + mark);
}

static void all_in_memory(struct bare *b, uint32_t mark)
{
	for (unsigned n = 0; n < 8 << 10; n += 32)
		assert_int_equal(in_memory(b, BARE_FRAMES + n), n + mark);
}

/* Both loops that reach every entry: all ways at each index, or one pass over the whole size. */
static void parisc_flush_entry_loops(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct parisc_cache_info info;
	struct bare b;
	uint64_t word;

	(void)state;
	bare_start(&b, &m);
	parisc_pdc_cache(b.hw, &info);
	assert_int_equal(info.data_bytes, 8 << 10);
	assert_int_equal(info.data_loops, 2);
	for (unsigned pass = 0; pass < 2; pass++) {
		dirty_all(&b, 1 + pass);
		for (size_t offset = 0; offset < info.data_bytes / info.data_loops;
		     offset += info.data_line_bytes)
			for (unsigned loop = 0; loop < info.data_loops; loop++)
				parisc_fdce(b.hw, offset);
		all_in_memory(&b, 1 + pass);
	}
	dirty_all(&b, 3);
	for (size_t offset = 0; offset < info.data_bytes; offset += info.data_line_bytes)
		parisc_fdce(b.hw, offset);
	all_in_memory(&b, 3);
	account_is(&b, NONE, SIM_OP_DATA_SET, 3 * 256, 0, 3 * 256 * 31);

	assert_int_equal(sim_fetch(b.sim, frame(&b, 0), &word), 0);
	for (size_t offset = 0; offset < info.insn_bytes; offset += info.insn_line_bytes)
		parisc_fice(b.hw, offset);
	account_is(&b, NONE, SIM_OP_INSN_SET, 256, 255, 256);
	bare_end(&b);
}

static void parisc_flush_entry_is_local(void **state)
{
	struct sim_machine m = bare_machine(SIM_PARISC);
	struct bare b;

	(void)state;
	bare_start(&b, &m);
	sim_switch(b.sim, 1);
	dirty_all(&b, 1);
	sim_switch(b.sim, 0);
	for (size_t offset = 0; offset < 8 << 10; offset += 32)
		parisc_fdce(b.hw, offset);
	account_is(&b, NONE, SIM_OP_DATA_SET, 256, 256, 256);
	assert_int_equal(in_memory(&b, BARE_FRAMES), 0);
	assert_int_equal(parisc_cr16(b.hw), 256);
	bare_end(&b);
}

/* --- x86-64 ------------------------------------------------------------------------------- */

static void x86_flushes_and_exchanges(void **state)
{
	struct sim_machine m = bare_machine(SIM_X86_64);
	struct bare b;
	uint64_t ticks;

	(void)state;
	m.l2 = m.l1d;
	m.l2.bytes = 16 << 10;
	bare_start(&b, &m);
	x86_store(b.hw, frame(&b, 0), 0x11);
	x86_clflush(b.hw, frame(&b, 0));
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x11);
	x86_store(b.hw, frame(&b, 0), 0x22);
	x86_store(b.hw, frame(&b, 0) + 64, 0x33);
	x86_wbinvd(b.hw);
	assert_int_equal(in_memory(&b, BARE_FRAME(0)), 0x22);
	assert_int_equal(in_memory(&b, BARE_FRAME(0) + 64), 0x33);

	x86_load(b.hw, frame(&b, 0));
	ticks = sim_ticks(b.sim);
	assert_false(x86_cmpxchg(b.hw, frame(&b, 0), 0x23, 0x44));
	assert_int_equal(sim_ticks(b.sim) - ticks, 18 * BARE_C);
	assert_int_equal(x86_load(b.hw, frame(&b, 0)), 0x22);
	assert_true(x86_cmpxchg(b.hw, frame(&b, 0), 0x22, 0x44));
	assert_int_equal(x86_load(b.hw, frame(&b, 0)), 0x44);
	bare_end(&b);
}

static void x86_identification(void **state)
{
	struct sim_machine m = bare_machine(SIM_X86_64);
	struct x86_cpuid id;
	struct bare b;

	(void)state;
	m.l2 = m.l1d;
	m.l2.bytes = 16 << 10;
	bare_start(&b, &m);
	id = x86_cpuid(b.hw, 4, 0);
	assert_int_equal(id.eax & 0xff, 1 | 1 << 5);
	assert_int_equal(((id.ebx & 0xfff) + 1) * ((id.ebx >> 22) + 1) * (id.ecx + 1), 8 << 10);
	id = x86_cpuid(b.hw, 4, 2);
	assert_int_equal(id.eax & 0xff, 3 | 2 << 5);
	assert_int_equal(((id.ebx & 0xfff) + 1) * ((id.ebx >> 22) + 1) * (id.ecx + 1), 16 << 10);
	assert_int_equal(x86_cpuid(b.hw, 4, 3).eax, 0);
	assert_int_equal((x86_cpuid(b.hw, 1, 0).ebx >> 8 & 0xff) * 8, 32);
	assert_true(x86_cpuid(b.hw, 0, 0).eax >= 0x18);
	id = x86_cpuid(b.hw, 0x18, 0);
	assert_int_equal((id.ebx >> 16) * id.ecx, 8);
	assert_true(x86_cpuid(b.hw, 0x80000001u, 0).edx >> 29 & 1);
	assert_int_equal(x86_cpuid(b.hw, 0x80000008u, 0).eax, 22 | 48 << 8);
	x86_mfence(b.hw);
	account_is(&b, NONE, SIM_OP_BARRIER, 1, 0, 5);
	assert_int_equal(x86_rdtsc(b.hw), 5);
	bare_end(&b);
}

static void x86_loading_cr3_purges_this_cpu(void **state)
{
	struct sim_machine m = bare_machine(SIM_X86_64);
	struct sim_counts counts;
	struct bare b;

	(void)state;
	m.data_coherent = true;
	bare_start(&b, &m);
	bare_x86_map(&b, 0x5000, BARE_FRAME(0) | BARE_X86_PAGE);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		sim_switch(b.sim, cpu);
		x86_set_cr3(b.hw, BARE_ROOT);
		bare_load(&b, 0x5000, NULL);
	}
	x86_set_cr3(b.hw, BARE_ROOT);
	account_is(&b, NONE, SIM_OP_TLB_ALL, 3, 2, 24);
	sim_switch(b.sim, 0);
	bare_load(&b, 0x5000, NULL);
	sim_counts(b.sim, &counts);
	assert_int_equal(counts.walks, 2);
	x86_invlpg(b.hw, 0x5000);
	x86_invlpg(b.hw, 0x5000);
	account_is(&b, NONE, SIM_OP_TLB_ENTRY, 2, 1, 14);
	bare_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arm_operations_by_address),
		cmocka_unit_test(broadcast_where_the_machine_does),
		cmocka_unit_test(local_forms_stay_local),
		cmocka_unit_test(set_way_loop_from_ccsidr),
		cmocka_unit_test(an_inner_l2_is_cleaned_by_address),
		cmocka_unit_test(a_pl310_has_registers_of_its_own),
		cmocka_unit_test(arm_identification),
		cmocka_unit_test(barriers_and_counters),
		cmocka_unit_test(parisc_cache_operations_without_translation),
		cmocka_unit_test(parisc_flushes_are_global),
		cmocka_unit_test(parisc_flush_entry_loops),
		cmocka_unit_test(parisc_flush_entry_is_local),
		cmocka_unit_test(x86_flushes_and_exchanges),
		cmocka_unit_test(x86_identification),
		cmocka_unit_test(x86_loading_cr3_purges_this_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
