/*
 * ARMv7 cache maintenance: D caches that behave as physically indexed, I caches that do not snoop,
 * an outer cache.
 *
 * Three places where copies meet: the point of unification (this CPU's D and I side), the point of
 * coherency (all CPUs), and beyond it the outer cache (PL310), which the CPU's instructions do not
 * know: it is maintained by physical address through registers (DDI 0246, chapter 3).
 *
 * Operations by address reach the caches of all CPUs where ID_MMFR3 says so (DDI 0406C B2.2.5).
 * Elsewhere (ARM11 MPCore) every CPU must do them: by cross-call, or, where that cannot be made, by
 * pulling each line here first: the D caches are kept coherent, so a load makes other CPUs' dirty
 * copies clean, and a store takes them away.
 */
#include "arch/armv7/armv7.h"

/* PL310 registers: DDI 0246, register 7. */
#define PL310_SYNC          0x730
#define PL310_INVALIDATE_PA 0x770
#define PL310_CLEAN_PA      0x7b0
#define PL310_FLUSH_PA      0x7f0
#define PL310_LINE_BYTES    32u

/* --- Lines by address -------------------------------------------------------------------- */

struct armv7_lines {
	struct quire_machine *machine;
	uintptr_t start, end;
	enum quire_cache_op op;
};

static void line_op(struct quire_hw *hw, uintptr_t line, enum quire_cache_op op)
{
	if (op == QUIRE_CLEAN)
		armv7_dccmvac(hw, line);
	else if (op == QUIRE_INVALIDATE)
		armv7_dcimvac(hw, line);
	else
		armv7_dccimvac(hw, line);
}

/*
 * All lines of a range. A line that the range covers in part holds somebody else's bytes too: it is
 * flushed, never just invalidated.
 */
static void lines_here(void *arg)
{
	const struct armv7_lines *range = arg;
	struct quire_hw *hw = range->machine->port.hw;
	unsigned bytes = range->machine->traits.data_line_bytes;

	for (uintptr_t line = arch_round_down(range->start, bytes); line < range->end;
	     line += bytes) {
		bool whole = line >= range->start && line + bytes <= range->end;
		enum quire_cache_op op = range->op;

		line_op(hw, line, op == QUIRE_INVALIDATE && !whole ? QUIRE_FLUSH : op);
	}
	armv7_dsb(hw);
}

/* Pulls the lines of a range into this CPU's cache, clean elsewhere or (`own`) gone elsewhere. */
static void pull_lines(const struct armv7_lines *range, bool own)
{
	struct quire_hw *hw = range->machine->port.hw;
	unsigned bytes = range->machine->traits.data_line_bytes;

	for (uintptr_t line = arch_round_down(range->start, bytes); line < range->end;
	     line += bytes) {
		uint32_t word = armv7_load(hw, line);

		if (own)
			armv7_store(hw, line, word);
	}
	armv7_dsb(hw);
}

static void data_lines(struct quire_machine *machine, uintptr_t start, size_t bytes,
		       enum quire_cache_op op)
{
	struct armv7_lines range = {machine, start, start + bytes, op};

	if (!bytes)
		return;
	if (!machine->traits.data_broadcast && machine->port.cpus > 1) {
		if (arch_can_call(machine)) {
			arch_on_cpus(machine, arch_all_cpus(machine), lines_here, &range);
			return;
		}
		/* Nobody else stores to a range that is to be invalidated: its owner asks for that.
		 */
		pull_lines(&range, op == QUIRE_INVALIDATE);
	}
	lines_here(&range);
}

void quire_armv7_data(struct quire_machine *machine, uintptr_t kva, size_t bytes,
		      enum quire_cache_op op)
{
	data_lines(machine, kva, bytes, op);
}

/* D caches behave as physically indexed: the linear mapping has every colour. */
uintptr_t quire_armv7_alias_map(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va)
{
	(void)alias_va;
	return quire_kernel_address(machine, page);
}

void quire_armv7_alias_unmap(struct quire_machine *machine, uintptr_t alias)
{
	(void)machine;
	(void)alias;
}

/* --- I side ------------------------------------------------------------------------------ */

static void insn_all_here(void *arg)
{
	struct quire_machine *machine = arg;
	struct quire_hw *hw = machine->port.hw;

	armv7_iciallu(hw);
	armv7_bpiall(hw);
	armv7_dsb(hw);
	armv7_isb(hw);
}

void quire_armv7_whole_insn(struct quire_machine *machine)
{
	struct quire_hw *hw = machine->port.hw;

	if (!armv7_state(machine)->insn_shared) {
		arch_on_cpus(machine, arch_all_cpus(machine), insn_all_here, machine);
		return;
	}
	armv7_icialluis(hw);
	armv7_bpiallis(hw);
	armv7_dsb(hw);
	armv7_isb(hw);
}

/*
 * Lines of a virtually indexed I cache whose ways are larger than a page lie at several colours,
 * and an operation by address finds one of them: there the whole cache goes (DDI 0406C B2.2.6 and
 * B3.11.2).
 */
void quire_armv7_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		      uintptr_t alias_va)
{
	struct quire_hw *hw = machine->port.hw;
	unsigned bytes = machine->traits.insn_line_bytes;
	uintptr_t start = quire_kernel_address(machine, page);

	(void)kva;
	(void)alias_va;
	if (machine->traits.insn_aliases || !armv7_state(machine)->insn_shared) {
		quire_armv7_whole_insn(machine);
		return;
	}
	for (uintptr_t line = start; line < start + QUIRE_PAGE_BYTES; line += bytes)
		armv7_icimvau(hw, line);
	armv7_bpiallis(hw);
	armv7_dsb(hw);
	armv7_isb(hw);
}

/* --- By set and way ---------------------------------------------------------------------- */

struct armv7_geometry quire_armv7_geometry(struct quire_machine *machine, unsigned level, bool insn)
{
	struct quire_hw *hw = machine->port.hw;
	struct armv7_geometry geometry;
	uint32_t id;

	armv7_set_csselr(hw, level << 1 | (insn ? 1 : 0));
	armv7_isb(hw);
	id = armv7_ccsidr(hw);
	geometry.line_bytes = 16u << (id & 7);
	geometry.ways = (id >> 3 & 0x3ff) + 1;
	geometry.sets = (id >> 13 & 0x7fff) + 1;
	return geometry;
}

static unsigned log2_up(unsigned n)
{
	unsigned bits = 0;

	while (1u << bits < n)
		bits++;
	return bits;
}

/* One level: the way stands at the top of the operand, the set above the line's offset (DDI 0406C
 * B4.2.1). */
static void flush_level(struct quire_machine *machine, unsigned level)
{
	struct armv7_geometry geometry = quire_armv7_geometry(machine, level, false);
	unsigned way_bits = log2_up(geometry.ways), set_shift = log2_up(geometry.line_bytes);

	for (uint32_t way = 0; way < geometry.ways; way++) {
		uint32_t way_field = way_bits ? way << (32 - way_bits) : 0;

		for (uint32_t set = 0; set < geometry.sets; set++)
			armv7_dccisw(machine->port.hw, way_field | set << set_shift | level << 1);
	}
}

static void flush_levels_here(void *arg)
{
	struct quire_machine *machine = arg;

	armv7_dmb(machine->port.hw);
	for (unsigned level = 0; level < armv7_state(machine)->levels; level++)
		flush_level(machine, level);
	armv7_dsb(machine->port.hw);
}

/*
 * Operations by set and way reach one CPU and chase no line that moves to another meanwhile (DDI
 * 0406C B2.2.6): good for timing and for CPUs that go on or off, not for coherency between running
 * CPUs.
 */
void quire_armv7_whole_data(struct quire_machine *machine)
{
	arch_on_cpus(machine, arch_all_cpus(machine), flush_levels_here, machine);
}

void quire_armv7_caches_here(struct quire_machine *machine)
{
	flush_levels_here(machine);
	insn_all_here(machine);
}

/* --- Outer cache ------------------------------------------------------------------------- */

/*
 * Operations by address run in the background, one at a time from all CPUs (so the lock); the sync
 * register reads 0 when all are done (DDI 0246, register 7).
 */
static void outer_range(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			enum quire_cache_op op)
{
	static const uint16_t registers[] = {
		[QUIRE_CLEAN] = PL310_CLEAN_PA,
		[QUIRE_INVALIDATE] = PL310_INVALIDATE_PA,
		[QUIRE_FLUSH] = PL310_FLUSH_PA,
	};
	struct armv7_state *state = armv7_state(machine);
	struct quire_hw *hw = machine->port.hw;
	quire_pa_t end = pa + bytes;

	if (!state->pl310 || !bytes)
		return;
	arch_lock(machine, &state->outer);
	for (quire_pa_t line = pa & ~(quire_pa_t)(PL310_LINE_BYTES - 1); line < end;
	     line += PL310_LINE_BYTES) {
		bool whole = line >= pa && line + PL310_LINE_BYTES <= end;
		enum quire_cache_op this_op = op == QUIRE_INVALIDATE && !whole ? QUIRE_FLUSH : op;

		armv7_device_store(hw, state->pl310 + registers[this_op], (uint32_t)line);
	}
	armv7_device_store(hw, state->pl310 + PL310_SYNC, 0);
	while (armv7_device_load(hw, state->pl310 + PL310_SYNC) & 1)
		;
	arch_unlock(&state->outer);
	armv7_dsb(hw);
}

void quire_armv7_outer_clean(struct quire_machine *machine, quire_pa_t pa, size_t bytes)
{
	outer_range(machine, pa, bytes, QUIRE_CLEAN);
}

/* --- DMA --------------------------------------------------------------------------------- */

/*
 * Inner first, outer second, both ways: what leaves the inner caches meanwhile ends in the outer
 * one, which is done after it. A dirty line left anywhere could be evicted over the device's data.
 */
void quire_armv7_dma_prepare(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			     enum quire_dma_direction direction)
{
	enum quire_cache_op op = direction == QUIRE_TO_DEVICE ? QUIRE_CLEAN : QUIRE_INVALIDATE;

	data_lines(machine, quire_kernel_address(machine, pa), bytes, op);
	outer_range(machine, pa, bytes, op);
}

/*
 * Outer first: lines that the CPU fetched by speculation during the transfer must not come back
 * from the outer cache after the inner ones were dropped.
 */
void quire_armv7_dma_finish(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			    enum quire_dma_direction direction)
{
	if (direction == QUIRE_TO_DEVICE)
		return;
	outer_range(machine, pa, bytes, QUIRE_INVALIDATE);
	data_lines(machine, quire_kernel_address(machine, pa), bytes, QUIRE_INVALIDATE);
}
