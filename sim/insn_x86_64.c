/*
 * x86-64 instructions on the simulated machine: sim/insn/x86_64.h.
 *
 * Caches are coherent and walkers see them, so what is left to do is TLB purges of this CPU. CPUID
 * answers from the machine's description: leaves 1, 4, 18H and 80000001H are what a kernel sizes
 * its maintenance by.
 */
#include <insn/x86_64.h>

#include "sim/insn_kernel.h"
#include "sim/tlb.h"

uint64_t x86_load(struct quire_hw *hw, uintptr_t va)
{
	return sim_kernel_load(hw, "mov", va, 8);
}

void x86_store(struct quire_hw *hw, uintptr_t va, uint64_t value)
{
	sim_kernel_store(hw, "mov", va, 8, value);
}

bool x86_cmpxchg(struct quire_hw *hw, uintptr_t va, uint64_t old, uint64_t value)
{
	struct sim *sim = sim_of(hw);
	bool same;

	sim_drain(sim);
	sim_pending_barrier(sim, false);
	same = sim_kernel_load(hw, "lock cmpxchg", va, 8) == old;
	sim_charge(sim, sim->machine.cost.locked);
	if (same)
		sim_kernel_store(hw, "lock cmpxchg", va, 8, value);
	sim_drain(sim);
	return same;
}

/* --- TLB ---------------------------------------------------------------------------------- */

void x86_invlpg(struct quire_hw *hw, uintptr_t va)
{
	struct sim_tlb_match match = {
		.any_number = true,
		.page = va >> QUIRE_PAGE_SHIFT,
		.sides = SIM_TLB_BOTH_SIDES,
	};

	sim_tlb_operation(sim_of(hw), &match, false, SIM_OP_TLB_ENTRY);
}

void x86_set_cr3(struct quire_hw *hw, uint64_t value)
{
	struct sim_tlb_match match = {
		.any_page = true,
		.any_number = true,
		.keep_global = true,
		.sides = SIM_TLB_BOTH_SIDES,
	};

	sim_drain(sim_of(hw));
	sim_pending_barrier(sim_of(hw), false);
	sim_of(hw)->cpu->registers.cr3 = value;
	sim_tlb_operation(sim_of(hw), &match, false, SIM_OP_TLB_ALL);
}

uint64_t x86_cr3(struct quire_hw *hw)
{
	return sim_of(hw)->cpu->registers.cr3;
}

/* --- Caches ------------------------------------------------------------------------------- */

void x86_clflush(struct quire_hw *hw, uintptr_t va)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t pa;

	sim_insn_require(!sim_translate_space(sim, 0, va, &pa), "clflush", va, "no translation");
	sim_maintain_data(sim, va, pa, SIM_FLUSH, SIM_COHERENCY, true, SIM_OP_DATA_FLUSH);
}

/* Every line of this CPU's L1, then of L2; booked line by line. Other CPUs' L1 are theirs. */
void x86_wbinvd(struct quire_hw *hw)
{
	struct sim *sim = sim_of(hw);

	for (uint32_t set = 0; set < sim->cpu->l1d.sets; set++)
		for (unsigned way = 0; way < sim->cpu->l1d.ways; way++)
			sim_maintain_data_set(sim, set, way, SIM_FLUSH);
	if (sim->l2.present)
		for (uint32_t set = 0; set < sim->l2.sets; set++)
			for (unsigned way = 0; way < sim->l2.ways; way++)
				sim_maintain_l2_set(sim, set, way, SIM_FLUSH);
	sim_maintain_insn_all(sim, false);
	sim_pending_barrier(sim, false);
}

void x86_mfence(struct quire_hw *hw)
{
	sim_completing_barrier(hw, sim_of(hw)->machine.cost.barrier);
}

uint64_t x86_rdtsc(struct quire_hw *hw)
{
	return sim_cycles(hw);
}

/* --- CPUID: SDM volume 2, CPUID, tables of leaves ----------------------------------------- */

/* Leaf 4: one cache. Type 1 data, 2 instructions, 3 unified; `sharing`: CPUs that share it. */
static struct x86_cpuid cpuid_cache(const struct sim_cache *cache, unsigned type, unsigned level,
				    uint32_t sharing)
{
	struct x86_cpuid id = {0};

	id.eax = type | level << 5 | 1u << 8 | (sharing - 1) << 14;
	id.ebx = (cache->line_bytes - 1) | (cache->ways - 1) << 22;
	id.ecx = (uint32_t)sim_cache_sets(cache) - 1;
	return id;
}

static struct x86_cpuid cpuid_caches(const struct sim_machine *machine, uint32_t subleaf)
{
	if (subleaf == 0)
		return cpuid_cache(&machine->l1d, 1, 1, 1);
	if (subleaf == 1)
		return cpuid_cache(&machine->l1i, 2, 1, 1);
	if (subleaf == 2 && machine->l2.bytes)
		return cpuid_cache(&machine->l2, 3, 2, machine->cpus);
	return (struct x86_cpuid){0};
}

/* Leaf 18H: one unified TLB of 4 KB pages. */
static struct x86_cpuid cpuid_tlb(const struct sim_tlb *tlb, uint32_t subleaf)
{
	struct x86_cpuid id = {0};

	if (subleaf)
		return id;
	id.ebx = 1 | tlb->ways << 16;
	id.ecx = tlb->entries / tlb->ways;
	id.edx = 3 | 1u << 5 | (tlb->ways == tlb->entries ? 1u << 8 : 0);
	return id;
}

struct x86_cpuid x86_cpuid(struct quire_hw *hw, uint32_t leaf, uint32_t subleaf)
{
	const struct sim_machine *machine = sim_machine(sim_of(hw));
	struct x86_cpuid id = {0};

	switch (leaf) {
	case 0: /* the highest leaf, and the vendor's name */
		id = (struct x86_cpuid){.eax = 0x18,
					.ebx = 0x756e6547,
					.ecx = 0x6c65746e,
					.edx = 0x49656e69};
		break;
	case 1: /* line of CLFLUSH in units of 8 bytes, CPU number; PSE, TSC, MSR, PAE, CX8, PGE,
		   CLFSH */
		id.ebx = machine->l1d.line_bytes / 8 << 8 | sim_cpu(sim_of(hw)) << 24;
		id.edx = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 13 | 1u << 19;
		break;
	case 4:
		return cpuid_caches(machine, subleaf);
	case 0x18:
		return cpuid_tlb(&machine->tlb, subleaf);
	case 0x80000000u:
		id.eax = 0x80000008u;
		break;
	case 0x80000001u: /* NX, long mode */
		id.edx = 1u << 20 | 1u << 29;
		break;
	case 0x80000008u: /* bits of a physical and of a linear address */
		id.eax = sim_log2_up(machine->memory_bytes) | 48u << 8;
		break;
	default:
		break;
	}
	return id;
}
