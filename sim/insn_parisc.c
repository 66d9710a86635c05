/*
 * PA-RISC 2.0 instructions on the simulated machine: sim/insn/parisc.h.
 *
 * FDC, FIC, PDC, PDTLB and PITLB act on the caches and TLBs of all CPUs, as the architecture asks
 * of coherent multiprocessors (Kane, appendix F); the flush-entry and purge-entry forms act on this
 * CPU only.
 *
 * A cache operation whose address has no translation costs tlb_absent and does nothing: the
 * non-access miss trap finds no entry and skips the instruction.
 *
 * WHICH ENTRY A FLUSH-ENTRY INSTRUCTION TAKES is up to the implementation (chapter 7, FDCE). Here
 * the index is offset / line size, modulo the sets. The first operation at an offset takes the way
 * named by the bits above the set (way 0 below one way's size); each further one at the same offset
 * takes the next way. So both loops that PDC_CACHE describes flush all of a cache: `loops`
 * operations at each of the sets, or one at each of size / line offsets.
 */
#include <insn/parisc.h>

#include "sim/insn_kernel.h"
#include "sim/needless.h"
#include "sim/tlb.h"

uint64_t parisc_load(struct quire_hw *hw, uintptr_t va)
{
	return sim_kernel_load(hw, "ldd", va, 8);
}

void parisc_store(struct quire_hw *hw, uintptr_t va, uint64_t value)
{
	sim_kernel_store(hw, "std", va, 8, value);
}

/* --- Caches by address -------------------------------------------------------------------- */

/* Translates for a cache operation; books an absent translation under `book` and returns false. */
static bool cache_address(struct sim *sim, uint64_t space, uintptr_t va, enum sim_op book,
			  quire_pa_t *pa)
{
	if (!sim_translate_space(sim, space, va, pa))
		return true;
	sim_book(sim, book, sim->machine.cost.tlb_absent, true);
	if (sim->needless)
		sim_needless_count(sim, book, va, sim->machine.cost.tlb_absent,
				   SIM_VERDICT_NOTHING_THERE);
	return false;
}

void parisc_fdc(struct quire_hw *hw, uint64_t space, uintptr_t va)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t pa;

	if (cache_address(sim, space, va, SIM_OP_DATA_FLUSH, &pa))
		sim_maintain_data(sim, va, pa, SIM_FLUSH, SIM_COHERENCY, true, SIM_OP_DATA_FLUSH);
}

/* May write a dirty line back or drop it: it drops it, which is the case to be safe against. */
void parisc_pdc(struct quire_hw *hw, uint64_t space, uintptr_t va)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t pa;

	if (cache_address(sim, space, va, SIM_OP_DATA_INVALIDATE, &pa))
		sim_maintain_data(sim, va, pa, SIM_INVALIDATE, SIM_COHERENCY, true,
				  SIM_OP_DATA_INVALIDATE);
}

void parisc_fic(struct quire_hw *hw, uint64_t space, uintptr_t va)
{
	struct sim *sim = sim_of(hw);
	quire_pa_t pa;

	if (cache_address(sim, space, va, SIM_OP_INSN_LINE, &pa))
		sim_maintain_insn(sim, va, pa, true);
}

/* --- Caches by index ---------------------------------------------------------------------- */

enum side { DATA, INSN };

/* The set, and the way that this operation takes (theory above). */
static uint32_t entry_set(struct sim_registers *registers, enum side side,
			  const struct cache *cache, uintptr_t offset, unsigned *way)
{
	uintptr_t index = offset >> cache->line_shift;

	if (offset == registers->entry_offset[side])
		registers->entry_way[side]++;
	else
		registers->entry_way[side] = (uint32_t)(index / cache->sets) + 1;
	registers->entry_offset[side] = offset;
	*way = (registers->entry_way[side] - 1) % cache->ways;
	return (uint32_t)(index % cache->sets);
}

void parisc_fdce(struct quire_hw *hw, uintptr_t offset)
{
	struct sim_cpu *cpu = sim_of(hw)->cpu;
	unsigned way;
	uint32_t set = entry_set(&cpu->registers, DATA, &cpu->l1d, offset, &way);

	sim_maintain_data_set(sim_of(hw), set, way, SIM_FLUSH);
}

void parisc_fice(struct quire_hw *hw, uintptr_t offset)
{
	struct sim_cpu *cpu = sim_of(hw)->cpu;
	unsigned way;
	uint32_t set = entry_set(&cpu->registers, INSN, &cpu->l1i, offset, &way);

	sim_maintain_insn_set(sim_of(hw), set, way);
}

void parisc_sync(struct quire_hw *hw)
{
	sim_completing_barrier(hw, sim_of(hw)->machine.cost.barrier);
}

void parisc_syncdma(struct quire_hw *hw)
{
	sim_completing_barrier(hw, sim_of(hw)->machine.cost.barrier);
}

/* --- TLB ---------------------------------------------------------------------------------- */

static void purge(struct quire_hw *hw, uint64_t space, uintptr_t va, unsigned sides)
{
	struct sim_tlb_match match = {.page = va >> QUIRE_PAGE_SHIFT,
				      .number = space,
				      .sides = sides};

	if (sim_of(hw)->reference_fill.is)
		return;
	sim_tlb_operation(sim_of(hw), &match, true, SIM_OP_TLB_ENTRY);
}

void parisc_pdtlb(struct quire_hw *hw, uint64_t space, uintptr_t va)
{
	purge(hw, space, va, SIM_TLB_DATA_SIDE);
}

void parisc_pitlb(struct quire_hw *hw, uint64_t space, uintptr_t va)
{
	purge(hw, space, va, SIM_TLB_INSN_SIDE);
}

static void purge_entry(struct quire_hw *hw, uintptr_t index, unsigned sides)
{
	struct sim *sim = sim_of(hw);
	bool found = sim_tlb_purge_index(sim->cpu->tlb, index, sides);

	sim_book(sim, SIM_OP_TLB_ENTRY, sim->machine.cost.tlb_op, !found);
	if (sim->needless && found)
		sim_needless_tlb_by_position(sim, sides);
	if (sim->needless)
		sim_needless_tlb_end(sim, NULL, SIM_OP_TLB_ENTRY, sim->machine.cost.tlb_op,
				     !found);
}

void parisc_pdtlbe(struct quire_hw *hw, uintptr_t index)
{
	purge_entry(hw, index, SIM_TLB_DATA_SIDE);
}

void parisc_pitlbe(struct quire_hw *hw, uintptr_t index)
{
	purge_entry(hw, index, SIM_TLB_INSN_SIDE);
}

/* Insertions cost what tlb_miss says of the whole trap. */
static void insert(struct quire_hw *hw, uint64_t space, uintptr_t va, quire_pa_t pa, unsigned bits,
		   unsigned rights)
{
	struct sim_translation translation = {
		.page = va >> QUIRE_PAGE_SHIFT,
		.frame = pa >> QUIRE_PAGE_SHIFT,
		.number = space,
		.bits = bits,
		.span_shift = QUIRE_PAGE_SHIFT,
	};

	sim_insn_require(pa < sim_of(hw)->machine.memory_bytes, "idtlbt/iitlbt", pa,
			 "no memory is there");
	translation.bits |= rights & PARISC_USER ? SIM_TLB_USER : 0;
	translation.bits |= rights & PARISC_UNCACHED ? SIM_TLB_UNCACHED : 0;
	if (sim_of(hw)->reference_fill.is) {
		sim_of(hw)->reference_fill.found = true;
		sim_of(hw)->reference_fill.frame = translation.frame;
		sim_of(hw)->reference_fill.bits = translation.bits;
		return;
	}
	sim_tlb_insert(sim_of(hw)->cpu->tlb, &translation);
}

void parisc_idtlbt(struct quire_hw *hw, uint64_t space, uintptr_t va, quire_pa_t pa,
		   unsigned rights)
{
	unsigned bits = SIM_TLB_DATA_SIDE;

	bits |= rights & PARISC_READ ? SIM_TLB_LOAD : 0;
	bits |= rights & PARISC_WRITE ? SIM_TLB_STORE : 0;
	insert(hw, space, va, pa, bits, rights);
}

void parisc_iitlbt(struct quire_hw *hw, uint64_t space, uintptr_t va, quire_pa_t pa,
		   unsigned rights)
{
	unsigned bits = SIM_TLB_INSN_SIDE;

	bits |= rights & PARISC_EXEC ? SIM_TLB_FETCH : 0;
	insert(hw, space, va, pa, bits, rights);
}

/* --- Registers and firmware --------------------------------------------------------------- */

void parisc_set_user_space(struct quire_hw *hw, uint64_t space)
{
	sim_of(hw)->cpu->registers.user_space = space;
}

uint64_t parisc_cr16(struct quire_hw *hw)
{
	return sim_cycles(hw);
}

void parisc_pdc_cache(struct quire_hw *hw, struct parisc_cache_info *info)
{
	const struct sim_machine *machine = sim_machine(sim_of(hw));

	*info = (struct parisc_cache_info){
		.data_bytes = machine->l1d.bytes,
		.insn_bytes = machine->l1i.bytes,
		.data_line_bytes = machine->l1d.line_bytes,
		.insn_line_bytes = machine->l1i.line_bytes,
		.data_loops = machine->l1d.ways,
		.insn_loops = machine->l1i.ways,
		.data_tlb_entries = machine->tlb.entries,
		.insn_tlb_entries = machine->tlb.entries,
		.alias_bytes = machine->colour_bytes,
		.data_coherent = machine->data_coherent,
		.io_coherent = machine->dma_coherent,
	};
}
