/*
 * A simulated machine with nothing on it, and page tables written by hand.
 */
#include "tests/support/bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bare machine: %s\n", what);
	abort();
}

struct sim_machine bare_machine(enum sim_isa isa)
{
	struct sim_cache l1 = {
		.bytes = 8 << 10,
		.ways = 2,
		.line_bytes = 32,
		.index = SIM_PIPT,
		.replace = SIM_ROUND_ROBIN,
		.write_back = true,
		.write_allocate = true,
	};
	struct sim_machine m = {
		.name = "bare",
		.isa = isa,
		.cpus = 2,
		.clock_hz = 1000000000,
		.memory_bytes = BARE_MEMORY,
		.l1i = l1,
		.l1d = l1,
		.tlb = {.entries = 8, .ways = 2, .tagged = isa != SIM_X86_64},
		.asid_bits = 8,
		.maintenance_broadcast = true,
		.tlb_broadcast = true,
		.walker = SIM_LEVEL_L1,
		.cost =
			{
				.l1_access = BARE_C,
				.memory_read = 50 * BARE_C,
				.memory_write = 30 * BARE_C,
				.l2_read = 10 * BARE_C,
				.l2_write = 11 * BARE_C,
				.tlb_miss = 20 * BARE_C,
				.tlb_absent = 70 * BARE_C,
				.data_op = 2 * BARE_C,
				.data_op_clean = BARE_C,
				.data_op_dirty = 3 * BARE_C,
				.data_op_set = BARE_C,
				.insn_op = 2 * BARE_C,
				.insn_op_set = BARE_C,
				.insn_all = 9 * BARE_C,
				.broadcast = 100 * BARE_C,
				.outer_op = 15 * BARE_C,
				.outer_sync = 25 * BARE_C,
				.barrier = 5 * BARE_C,
				.insn_barrier = 6 * BARE_C,
				.tlb_op = 7 * BARE_C,
				.tlb_all = 8 * BARE_C,
				.locked = 17 * BARE_C,
			},
	};

	return m;
}

static int trap_fault(void *context, uintptr_t va, enum quire_access access)
{
	struct bare *b = context;

	b->faults++;
	b->fault_va = va;
	b->fault_access = access;
	return b->on_fault ? b->on_fault(b, va, access) : -QUIRE_EFAULT;
}

static int trap_miss(void *context, uintptr_t va, enum quire_access access)
{
	struct bare *b = context;

	b->misses++;
	return b->on_miss ? b->on_miss(b, va, access) : -QUIRE_EFAULT;
}

void bare_start(struct bare *b, const struct sim_machine *machine)
{
	struct sim_traps traps = {.context = b, .fault = trap_fault, .tlb_miss = trap_miss};
	const char *why = NULL;

	memset(b, 0, sizeof(*b));
	b->sim = sim_create(machine, &why);
	require(b->sim, why ? why : "no reason given");
	b->hw = (struct quire_hw *)b->sim;
	b->base = sim_kernel_base(b->sim);
	sim_set_traps(b->sim, &traps);
}

void bare_end(struct bare *b)
{
	sim_destroy(b->sim);
}

uint64_t bare_peek(struct bare *b, quire_pa_t pa, unsigned bytes)
{
	uint64_t value;

	require(!sim_load(b->sim, b->base + pa, bytes, &value), "a kernel load failed");
	return value;
}

void bare_poke(struct bare *b, quire_pa_t pa, unsigned bytes, uint64_t value)
{
	require(!sim_store(b->sim, b->base + pa, bytes, value), "a kernel store failed");
}

uint64_t bare_load(struct bare *b, uintptr_t va, int *error)
{
	uint64_t value;
	int result = sim_load(b->sim, va, 4, &value);

	require(error || !result, "a user load failed");
	if (error)
		*error = result;
	return value;
}

/* --- ARMv7 -------------------------------------------------------------------------------- */

static quire_pa_t arm_root(unsigned tree)
{
	return BARE_ROOT + tree * 0x4000;
}

quire_pa_t bare_arm_leaf(unsigned tree, uintptr_t va)
{
	return BARE_TABLES + tree * 0x2000 + (va >> 20) * 0x400 + (va >> 12 & 0xff) * 4;
}

void bare_arm_map(struct bare *b, unsigned tree, uintptr_t va, uint32_t raw)
{
	quire_pa_t table = bare_arm_leaf(tree, va) & ~(quire_pa_t)0x3ff;

	bare_poke(b, arm_root(tree) + (va >> 20) * 4, 4, table | 1);
	bare_poke(b, bare_arm_leaf(tree, va), 4, raw);
}

void bare_arm_activate(struct bare *b, unsigned tree, uint32_t asid)
{
	armv7_set_sctlr(b->hw, armv7_sctlr(b->hw) | BARE_SCTLR_AFE);
	armv7_set_ttbr0(b->hw, (uint32_t)arm_root(tree));
	armv7_set_contextidr(b->hw, asid);
	armv7_isb(b->hw);
}

/* --- x86-64 ------------------------------------------------------------------------------- */

quire_pa_t bare_x86_entry(unsigned level, uintptr_t va)
{
	return BARE_ROOT + (4 - level) * QUIRE_PAGE_BYTES + (va >> (3 + 9 * level) & 0x1ff) * 8;
}

void bare_x86_map(struct bare *b, uintptr_t va, uint64_t raw)
{
	for (unsigned level = 4; level > 1; level--)
		bare_poke(b, bare_x86_entry(level, va), 8,
			  (bare_x86_entry(level - 1, 0)) | BARE_X86_PAGE);
	bare_poke(b, bare_x86_entry(1, va), 8, raw);
}
