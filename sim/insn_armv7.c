/*
 * ARMv7-A instructions on the simulated machine: sim/insn/armv7.h, and the registers of a PL310
 * outer cache.
 *
 * Which form reaches other CPUs (DDI 0406C B2.2.6): D and I operations by address do where the
 * machine broadcasts maintenance, whatever their name; set/way and ICIALLU never do; ICIALLUIS does
 * where it broadcasts; TLB operations only in their IS form, where the machine broadcasts TLB
 * maintenance.
 *
 * Points. The point of unification is L2, where I fetches and D accesses meet; memory where an
 * inner L2 is there but the walker reads past it (B2.2.6: walks belong to the definition). The
 * point of coherency as CP15 knows it is memory with an inner L2; an outer one is beyond: it has
 * registers of its own.
 */
#include <insn/armv7.h>

#include "sim/insn_kernel.h"
#include "sim/needless.h"
#include "sim/tlb.h"

/* Private peripherals and the PL310 of the simulated boards: above any memory they have. */
#define PERIPHERALS_BASE 0xf8240000u
#define PL310_BASE       0xf8242000u

uint32_t armv7_load(struct quire_hw *hw, uintptr_t va)
{
	return (uint32_t)sim_kernel_load(hw, "ldr", va, 4);
}

void armv7_store(struct quire_hw *hw, uintptr_t va, uint32_t value)
{
	sim_kernel_store(hw, "str", va, 4, value);
}

/* --- D and I caches ----------------------------------------------------------------------- */

static void data_by_address(struct quire_hw *hw, uintptr_t va, enum sim_action action,
			    enum sim_point point, enum sim_op book)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t pa;

	sim_insn_require(!sim_translate_space(sim, 0, va, &pa), "cache operation", va,
			 "no translation");
	sim_maintain_data(sim, va, pa, action, point, sim->machine.maintenance_broadcast, book);
}

static enum sim_point unification(const struct sim_machine *machine)
{
	bool beyond =
		machine->l2.bytes && !machine->l2_outer && machine->walker == SIM_LEVEL_MEMORY;

	return beyond ? SIM_COHERENCY : SIM_UNIFICATION;
}

void armv7_dccmvac(struct quire_hw *hw, uintptr_t va)
{
	data_by_address(hw, va, SIM_CLEAN, SIM_COHERENCY, SIM_OP_DATA_CLEAN);
}

void armv7_dccmvau(struct quire_hw *hw, uintptr_t va)
{
	data_by_address(hw, va, SIM_CLEAN, unification(&sim_of(hw)->machine), SIM_OP_DATA_CLEAN);
}

void armv7_dcimvac(struct quire_hw *hw, uintptr_t va)
{
	data_by_address(hw, va, SIM_INVALIDATE, SIM_COHERENCY, SIM_OP_DATA_INVALIDATE);
}

void armv7_dccimvac(struct quire_hw *hw, uintptr_t va)
{
	data_by_address(hw, va, SIM_FLUSH, SIM_COHERENCY, SIM_OP_DATA_FLUSH);
}

/* The operand (B4.2.1): way in the top bits, set above the line offset, level - 1 in bits [3:1]. */
static void data_by_set_way(struct quire_hw *hw, uint32_t set_way, enum sim_action action)
{
	struct sim *sim = sim_of(hw);
	unsigned level = set_way >> 1 & 7;
	const struct cache *cache = level == 0 ? &sim->cpu->l1d : &sim->l2;
	unsigned way_bits = sim_log2_up(cache->ways);
	unsigned way = way_bits ? set_way >> (32 - way_bits) : 0;
	uint32_t set = (set_way & ~(way_bits ? ~0u << (32 - way_bits) : 0)) >> cache->line_shift;

	sim_insn_require(level == 0 || (level == 1 && sim->l2.present && !sim->machine.l2_outer),
			 "cache operation by set/way", set_way, "CLIDR names no such level");
	sim_insn_require(set < cache->sets && way < cache->ways, "cache operation by set/way",
			 set_way, "CCSIDR names no such set or way");
	if (level == 0)
		sim_maintain_data_set(sim, set, way, action);
	else
		sim_maintain_l2_set(sim, set, way, action);
}

void armv7_dccsw(struct quire_hw *hw, uint32_t set_way)
{
	data_by_set_way(hw, set_way, SIM_CLEAN);
}

void armv7_dccisw(struct quire_hw *hw, uint32_t set_way)
{
	data_by_set_way(hw, set_way, SIM_FLUSH);
}

void armv7_dcisw(struct quire_hw *hw, uint32_t set_way)
{
	data_by_set_way(hw, set_way, SIM_INVALIDATE);
}

void armv7_icimvau(struct quire_hw *hw, uintptr_t va)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t pa;

	sim_insn_require(!sim_translate_space(sim, 0, va, &pa), "icimvau", va, "no translation");
	sim_maintain_insn(sim, va, pa, sim->machine.maintenance_broadcast);
}

void armv7_iciallu(struct quire_hw *hw)
{
	sim_maintain_insn_all(sim_of(hw), false);
}

void armv7_icialluis(struct quire_hw *hw)
{
	sim_maintain_insn_all(sim_of(hw), sim_of(hw)->machine.maintenance_broadcast);
}

/* Branch predictors are no part of the model: they hold nothing that could be read stale. */
void armv7_bpiall(struct quire_hw *hw)
{
	(void)hw;
}

void armv7_bpiallis(struct quire_hw *hw)
{
	(void)hw;
}

/* --- Barriers ----------------------------------------------------------------------------- */

void armv7_dsb(struct quire_hw *hw)
{
	sim_completing_barrier(hw, sim_of(hw)->machine.cost.barrier);
}

void armv7_isb(struct quire_hw *hw)
{
	sim_barrier(hw, sim_of(hw)->machine.cost.insn_barrier);
}

void armv7_dmb(struct quire_hw *hw)
{
	sim_barrier(hw, sim_of(hw)->machine.cost.barrier);
}

/* --- TLB: B4.2.2 -------------------------------------------------------------------------- */

static void tlb_by_address(struct quire_hw *hw, uintptr_t va_and_asid, bool any_asid, bool all_cpus)
{
	struct sim_tlb_match match = {
		.page = (va_and_asid & 0xffffffffu) >> QUIRE_PAGE_SHIFT,
		.any_number = any_asid,
		.number = va_and_asid & 0xff,
		.sides = SIM_TLB_BOTH_SIDES,
	};

	sim_tlb_operation(sim_of(hw), &match, all_cpus && sim_of(hw)->machine.tlb_broadcast,
			  SIM_OP_TLB_ENTRY);
}

/* Global entries belong to no ASID. */
static void tlb_by_asid(struct quire_hw *hw, uint32_t asid, bool all_cpus)
{
	struct sim_tlb_match match = {
		.any_page = true,
		.keep_global = true,
		.number = asid & 0xff,
		.sides = SIM_TLB_BOTH_SIDES,
	};

	sim_tlb_operation(sim_of(hw), &match, all_cpus && sim_of(hw)->machine.tlb_broadcast,
			  SIM_OP_TLB_ALL);
}

static void tlb_whole(struct quire_hw *hw, bool all_cpus)
{
	struct sim_tlb_match match = {.any_page = true,
				      .any_number = true,
				      .sides = SIM_TLB_BOTH_SIDES};

	sim_tlb_operation(sim_of(hw), &match, all_cpus && sim_of(hw)->machine.tlb_broadcast,
			  SIM_OP_TLB_ALL);
}

void armv7_tlbimva(struct quire_hw *hw, uintptr_t va_and_asid)
{
	tlb_by_address(hw, va_and_asid, false, false);
}

void armv7_tlbimvais(struct quire_hw *hw, uintptr_t va_and_asid)
{
	tlb_by_address(hw, va_and_asid, false, true);
}

void armv7_tlbimvaais(struct quire_hw *hw, uintptr_t va)
{
	tlb_by_address(hw, va, true, true);
}

void armv7_tlbiasid(struct quire_hw *hw, uint32_t asid)
{
	tlb_by_asid(hw, asid, false);
}

void armv7_tlbiasidis(struct quire_hw *hw, uint32_t asid)
{
	tlb_by_asid(hw, asid, true);
}

void armv7_tlbiall(struct quire_hw *hw)
{
	tlb_whole(hw, false);
}

void armv7_tlbiallis(struct quire_hw *hw)
{
	tlb_whole(hw, true);
}

/* --- Identification: B4.1 ----------------------------------------------------------------- */

static unsigned log2_words(uint32_t bytes)
{
	return sim_log2_up(bytes) - 2;
}

static bool inner_l2(const struct sim_machine *machine)
{
	return machine->l2.bytes && !machine->l2_outer;
}

/* ARM's; a PL310 comes with a Cortex-A9 (part C09), other machines answer as a Cortex-A8 (C08). */
uint32_t armv7_midr(struct quire_hw *hw)
{
	return sim_of(hw)->machine.l2_outer ? 0x411fc090u : 0x411fc080u;
}

/* Multiprocessing extensions, U where there is one CPU, and the CPU's number. */
uint32_t armv7_mpidr(struct quire_hw *hw)
{
	uint32_t uniprocessor = sim_of(hw)->machine.cpus == 1 ? 1u << 30 : 0;

	return 1u << 31 | uniprocessor | sim_cpu(sim_of(hw));
}

/*
 * B4.1.42: format 4, lines in words, and how I lines are found: 1 ASID and virtual, 2 virtual
 * index, 3 physical.
 */
uint32_t armv7_ctr(struct quire_hw *hw)
{
	const struct sim_machine *machine = &sim_of(hw)->machine;
	static const uint32_t policies[] = {[SIM_VIVT] = 1, [SIM_VIPT] = 2, [SIM_PIPT] = 3};
	uint32_t policy = policies[machine->l1i.index];

	return 4u << 29 | log2_words(machine->l1d.line_bytes) << 16 | policy << 14 |
	       log2_words(machine->l1i.line_bytes);
}

/* B4.1.20: L1 separate (3), L2 unified (4) if inner; then LoUIS, LoC and LoUU, in levels. */
uint32_t armv7_clidr(struct quire_hw *hw)
{
	const struct sim_machine *machine = &sim_of(hw)->machine;
	uint32_t coherency = inner_l2(machine) ? 2 : 1;
	uint32_t unified = unification(machine) == SIM_COHERENCY ? coherency : 1;

	return 3u | (inner_l2(machine) ? 4u << 3 : 0) | unified << 21 | coherency << 24 |
	       unified << 27;
}

void armv7_set_csselr(struct quire_hw *hw, uint32_t value)
{
	sim_of(hw)->cpu->registers.csselr = value;
}

/*
 * B4.1.19: of the cache that CSSELR names (level - 1 in [3:1], I side in [0]); all ones are
 * unknown.
 */
uint32_t armv7_ccsidr(struct quire_hw *hw)
{
	const struct sim_machine *machine = &sim_of(hw)->machine;
	uint32_t selected = sim_of(hw)->cpu->registers.csselr;
	const struct sim_cache *caches[] = {&machine->l1d, &machine->l1i, &machine->l2};
	const struct sim_cache *cache;
	uint32_t policy;

	if (selected > 2 || (selected == 2 && !inner_l2(machine)))
		return ~0u;
	cache = caches[selected];
	policy = (cache->write_back ? 1u << 30 : 1u << 31) | 1u << 29 |
		 (cache->write_allocate ? 1u << 28 : 0);
	if (selected == 1)
		policy = 1u << 29;
	return policy | ((uint32_t)sim_cache_sets(cache) - 1) << 13 | (cache->ways - 1) << 3 |
	       (log2_words(cache->line_bytes) - 2);
}

/*
 * B4.1.92: [23:20] 1: walks see the D cache; [15:12] broadcast: 0 none, 1 caches, 2 TLBs too;
 * [11:0] all operations are there.
 */
uint32_t armv7_id_mmfr3(struct quire_hw *hw)
{
	const struct sim_machine *machine = &sim_of(hw)->machine;
	uint32_t walks = machine->walker == SIM_LEVEL_L1;
	uint32_t broadcast = machine->maintenance_broadcast ? 1u + machine->tlb_broadcast : 0;

	return walks << 20 | broadcast << 12 | 0x111;
}

/* Unified (bit 0 clear); size as a Cortex-A9 tells it: 64 << [2:1] (DDI 0388I 4.3, TLBTR). */
uint32_t armv7_tlbtr(struct quire_hw *hw)
{
	unsigned size = sim_log2_up(sim_of(hw)->machine.tlb.entries);

	return (size > 6 ? size - 6 : 0) << 1;
}

uint32_t armv7_cbar(struct quire_hw *hw)
{
	(void)hw;
	return PERIPHERALS_BASE;
}

/* --- Control ------------------------------------------------------------------------------ */

uint32_t armv7_ttbr0(struct quire_hw *hw)
{
	return sim_of(hw)->cpu->registers.ttbr0;
}

void armv7_set_ttbr0(struct quire_hw *hw, uint32_t value)
{
	sim_of(hw)->cpu->registers.ttbr0 = value;
	sim_walk_cache_loaded(sim_of(hw));
}

void armv7_set_contextidr(struct quire_hw *hw, uint32_t value)
{
	sim_of(hw)->cpu->registers.contextidr = value;
	sim_walk_cache_loaded(sim_of(hw));
}

/*
 * MMU and caches (bits 0, 2, 12) are on from the start and stay: the linear mapping is the port's.
 */
void armv7_set_sctlr(struct quire_hw *hw, uint32_t value)
{
	sim_of(hw)->cpu->registers.sctlr = value;
}

uint32_t armv7_sctlr(struct quire_hw *hw)
{
	return sim_of(hw)->cpu->registers.sctlr | 1u << 0 | 1u << 2 | 1u << 12;
}

uint32_t armv7_pmccntr(struct quire_hw *hw)
{
	return (uint32_t)sim_cycles(hw);
}

/* --- PL310: DDI 0246, chapter 3 ----------------------------------------------------------- */

enum pl310_register {
	PL310_CACHE_ID = 0x000,
	PL310_CACHE_TYPE = 0x004,
	PL310_CONTROL = 0x100, /* bit 0: enabled. For secure software to write; on from the start */
	PL310_AUX_CONTROL = 0x104,
	PL310_SYNC = 0x730,
	PL310_INVALIDATE_PA = 0x770,
	PL310_INVALIDATE_WAY = 0x77c,
	PL310_CLEAN_PA = 0x7b0,
	PL310_CLEAN_WAY = 0x7bc,
	PL310_FLUSH_PA = 0x7f0,
	PL310_FLUSH_WAY = 0x7fc,
};

quire_pa_t armv7_pl310_base(struct quire_hw *hw)
{
	const struct sim_machine *machine = &sim_of(hw)->machine;

	return machine->l2_outer && machine->l2.bytes ? PL310_BASE : 0;
}

/* [16] 16 ways instead of 8; [19:17] size of a way: 8 KB << n. */
static uint32_t pl310_aux_control(const struct sim_machine *machine)
{
	const struct sim_cache *l2 = &machine->l2;

	return (l2->ways == 16 ? 1u << 16 : 0) | (sim_log2_up(l2->bytes / l2->ways) - 13) << 17;
}

uint32_t armv7_device_load(struct quire_hw *hw, quire_pa_t pa)
{
	quire_pa_t base = armv7_pl310_base(hw);

	sim_insn_require(base && pa - base < 0x1000, "ldr (device)", pa, "no device is there");
	switch (pa - base) {
	case PL310_CACHE_ID:
		return 0x410000c4u; /* ARM, PL310, r2p0 */
	case PL310_CONTROL:
		return 1;
	case PL310_AUX_CONTROL:
		return pl310_aux_control(&sim_of(hw)->machine);
	case PL310_SYNC: /* operations by way have ended too: they are done at once */
	default:
		return 0;
	}
}

/*
 * Operations on whole ways, a bit each in `ways`: they run in the background, one register write by
 * the CPU.
 */
static void pl310_ways(struct sim *sim, uint32_t ways, enum sim_action action)
{
	enum sim_found idle_up_to = action == SIM_CLEAN ? SIM_FOUND_CLEAN : SIM_FOUND_NONE;
	bool idle = true;

	sim_drain(sim);
	for (unsigned way = 0; way < sim->l2.ways; way++) {
		if (!(ways >> way & 1))
			continue;
		for (uint32_t set = 0; set < sim->l2.sets; set++)
			if (sim_maintain_outer_set(sim, set, way, action) > idle_up_to)
				idle = false;
	}
	sim_book(sim, SIM_OP_OUTER, sim->machine.cost.outer_op, idle);
	if (sim->needless)
		sim_needless_count(sim, SIM_OP_OUTER, sim->machine.cost.outer_op,
				   idle ? SIM_VERDICT_NOTHING_THERE : SIM_VERDICT_UNDECIDED);
}

void armv7_device_store(struct quire_hw *hw, quire_pa_t pa, uint32_t value)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t base = armv7_pl310_base(hw);

	sim_insn_require(base && pa - base < 0x1000, "str (device)", pa, "no device is there");
	switch (pa - base) {
	case PL310_SYNC:
		sim_book(sim, SIM_OP_OUTER, sim->machine.cost.outer_sync, false);
		sim_pending_barrier(sim, true);
		return;
	case PL310_INVALIDATE_PA:
		sim_maintain_outer(sim, value, SIM_INVALIDATE);
		return;
	case PL310_CLEAN_PA:
		sim_maintain_outer(sim, value, SIM_CLEAN);
		return;
	case PL310_FLUSH_PA:
		sim_maintain_outer(sim, value, SIM_FLUSH);
		return;
	case PL310_INVALIDATE_WAY:
		pl310_ways(sim, value, SIM_INVALIDATE);
		return;
	case PL310_CLEAN_WAY:
		pl310_ways(sim, value, SIM_CLEAN);
		return;
	case PL310_FLUSH_WAY:
		pl310_ways(sim, value, SIM_FLUSH);
		return;
	default: /* the others are read only to non-secure software */
		return;
	}
}
