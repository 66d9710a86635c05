/*
 * ARMv7 contexts: 8-bit ASIDs with generations, context switches, TLB maintenance.
 *
 * 255 ASIDs serve any number of spaces. When they run out a new *generation* begins: all are free
 * again except those that are loaded on some CPU, which keep theirs, and every TLB is emptied
 * before a recycled ASID is used on its CPU. A context whose generation is not the current one
 * holds no ASID and is loaded nowhere.
 *
 * TLB maintenance by ASID does not ask for generations: a context that lost its ASID has no TLB
 * entries, and purging some of the new owner's costs time only.
 */
#include "arch/armv7/armv7.h"

/* --- ASIDs, under state->lock ------------------------------------------------------------ */

static void asid_mark(struct armv7_state *state, uint32_t asid)
{
	state->used[asid / 32] |= 1u << asid % 32;
}

static bool asid_used(const struct armv7_state *state, uint32_t asid)
{
	return state->used[asid / 32] >> asid % 32 & 1;
}

/*
 * The least free ASID of this generation, so that one which went back with TLB entries shows at
 * once; 0: none is left.
 */
static uint32_t asid_find(struct armv7_state *state)
{
	for (uint32_t asid = 1; asid < ARMV7_ASIDS; asid++)
		if (!asid_used(state, asid))
			return asid;
	return 0;
}

/*
 * Begins a generation. Each CPU empties its TLB before it loads another context: until then what it
 * holds beyond its own context's entries cannot be used.
 */
static void asid_rollover(struct quire_machine *machine)
{
	struct armv7_state *state = armv7_state(machine);

	state->generation++;
	for (unsigned i = 0; i < ARMV7_ASIDS / 32; i++)
		state->used[i] = 0;
	for (unsigned i = 0; i < machine->port.cpus; i++) {
		struct armv7_cpu *cpu = &state->cpu[i];

		cpu->flush = true;
		if (cpu->loaded) {
			asid_mark(state, (uint32_t)cpu->loaded->number);
			cpu->loaded->generation = state->generation;
		}
	}
}

/*
 * Gives the context an ASID of the current generation. At most QUIRE_CPUS_MAX are kept at a
 * rollover, so one is free after it.
 */
static void asid_assign(struct quire_machine *machine, struct quire_context *context)
{
	struct armv7_state *state = armv7_state(machine);
	uint32_t asid;

	if (context->number && context->generation == state->generation)
		return;
	asid = asid_find(state);
	if (!asid) {
		asid_rollover(machine);
		asid = asid_find(state);
	}
	asid_mark(state, asid);
	context->number = asid;
	context->generation = state->generation;
}

/* --- Contexts ---------------------------------------------------------------------------- */

int quire_armv7_context_create(struct quire_machine *machine, struct quire_context *context)
{
	(void)machine;
	context->number = 0;
	context->generation = 0;
	context->cpus = 0;
	return 0;
}

void quire_armv7_context_destroy(struct quire_machine *machine, struct quire_context *context)
{
	struct armv7_state *state = armv7_state(machine);

	arch_lock(machine, &state->lock);
	if (context->number && context->generation == state->generation)
		state->used[context->number / 32] &= ~(1u << context->number % 32);
	context->number = 0;
	arch_unlock(&state->lock);
}

/*
 * ASID and root cannot change in one step, and between two steps the walker may run: so the
 * kernel's root stands in between, which maps no user address (DDI 0406C B3.10.4). The ASID that is
 * nobody's would not do: a walker that keeps upper entries keeps those of a user's tables under it,
 * where no purge of the user's ASID finds them when the tables are freed (Cortex-A15, DDI 0438
 * 5.6).
 */
static void load_root(struct quire_machine *machine, uint32_t ttbr0, uint32_t asid)
{
	uint32_t kernel_ttbr0 = armv7_state(machine)->kernel_ttbr0;
	struct quire_hw *hw = machine->port.hw;

	armv7_set_ttbr0(hw, kernel_ttbr0);
	armv7_isb(hw);
	armv7_set_contextidr(hw, asid);
	armv7_isb(hw);
	if (ttbr0 != kernel_ttbr0) {
		armv7_set_ttbr0(hw, ttbr0);
		armv7_isb(hw);
	}
}

/* Empties this CPU's TLB before a recycled ASID is loaded; meanwhile no user translation can be
 * made. */
static void flush_pending(struct quire_machine *machine, struct armv7_cpu *cpu)
{
	struct quire_hw *hw = machine->port.hw;

	if (!cpu->flush)
		return;
	load_root(machine, armv7_state(machine)->kernel_ttbr0, 0);
	armv7_dsb(hw);
	armv7_tlbiall(hw);
	armv7_bpiall(hw);
	armv7_dsb(hw);
	armv7_isb(hw);
	cpu->flush = false;
}

/*
 * The lock is held to the end: a rollover on another CPU must see either the ASID that was loaded
 * here before or the new one, and this CPU must not load one that a rollover has just taken away.
 */
void quire_armv7_activate(struct quire_machine *machine, struct quire_context *context)
{
	struct armv7_state *state = armv7_state(machine);
	unsigned self = arch_cpu(machine);
	struct armv7_cpu *cpu = &state->cpu[self];

	arch_lock(machine, &state->lock);
	if (!context) {
		load_root(machine, state->kernel_ttbr0, 0);
	} else if (cpu->loaded != context) {
		uint32_t root = (uint32_t)(context->root - machine->port.kernel_base);

		asid_assign(machine, context);
		context->cpus |= (uint64_t)1 << self;
		flush_pending(machine, cpu);
		load_root(machine, root | state->ttbr0_flags, (uint32_t)context->number);
	}
	cpu->loaded = context;
	arch_unlock(&state->lock);
}

/* --- TLB --------------------------------------------------------------------------------- */

struct armv7_purge {
	struct quire_machine *machine;
	uintptr_t low, high; /* low == high: the whole ASID */
	uint32_t asid;
	bool all; /* every entry */
};

/* This CPU's, where no broadcast reaches the others. */
static void purge_here(void *arg)
{
	const struct armv7_purge *purge = arg;
	struct quire_hw *hw = purge->machine->port.hw;

	armv7_dsb(hw);
	if (purge->all)
		armv7_tlbiall(hw);
	else if (purge->low == purge->high)
		armv7_tlbiasid(hw, purge->asid);
	for (uintptr_t va = purge->low; va < purge->high; va += QUIRE_PAGE_BYTES)
		armv7_tlbimva(hw, va | purge->asid);
	armv7_dsb(hw);
	armv7_isb(hw);
}

/* Everybody's, by broadcast. The first DSB makes the changed entry visible to walkers (DDI 0406C
 * B3.10.1). */
static void purge_broadcast(const struct armv7_purge *purge)
{
	struct quire_hw *hw = purge->machine->port.hw;

	armv7_dsb(hw);
	if (purge->all)
		armv7_tlbiallis(hw);
	else if (purge->low == purge->high)
		armv7_tlbiasidis(hw, purge->asid);
	for (uintptr_t va = purge->low; va < purge->high; va += QUIRE_PAGE_BYTES)
		armv7_tlbimvais(hw, va | purge->asid);
	armv7_dsb(hw);
	armv7_isb(hw);
}

/*
 * A context that was never loaded has no ASID and no entries. It may be loaded for the first time
 * just now: then it walks the tables as they have become.
 */
static uint32_t context_asid(struct quire_machine *machine, const struct quire_context *context)
{
	struct armv7_state *state = armv7_state(machine);
	uint32_t asid;

	arch_lock(machine, &state->lock);
	asid = (uint32_t)context->number;
	arch_unlock(&state->lock);
	return asid;
}

static void purge(struct armv7_purge *purge)
{
	struct quire_machine *machine = purge->machine;

	if (armv7_state(machine)->tlb_shared)
		purge_broadcast(purge);
	else
		arch_on_cpus(machine, arch_all_cpus(machine), purge_here, purge);
}

/* The kernel's translations are global: an operation by address with any ASID takes them (B4.2). */
void quire_armv7_tlb_purge(struct quire_machine *machine, struct quire_context *context,
			   uintptr_t va, size_t bytes)
{
	struct armv7_purge what = {
		.machine = machine,
		.low = arch_round_down(va, QUIRE_PAGE_BYTES),
		.high = va + bytes,
		.asid = context ? context_asid(machine, context) : 0,
	};

	if (bytes && (what.asid || !context))
		purge(&what);
}

void quire_armv7_tlb_purge_space(struct quire_machine *machine, struct quire_context *context)
{
	struct armv7_purge what = {.machine = machine};

	if (!context) {
		quire_armv7_tlb_purge_all(machine);
		return;
	}
	what.asid = context_asid(machine, context);
	if (what.asid)
		purge(&what);
}

void quire_armv7_tlb_purge_all(struct quire_machine *machine)
{
	struct armv7_purge what = {.machine = machine, .all = true};

	purge(&what);
}
