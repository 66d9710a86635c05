/*
 * Mutants: Quire with a fault that somebody shipped, so that `quire check` is checked in turn. What
 * it cannot refute with the fault in, it has not shown without it.
 *
 * NO HOOKS. mm/, fs/ and arch/ know nothing of this; a fault is put in between them:
 *   - traits: what Quire believes of the machine is a record that it reads;
 *   - the architecture is a table of calls. All worlds have a table of their own, a copy with some
 *     calls exchanged, which is also how each store of a table entry becomes a point of
 *     interleaving;
 *   - calls from one file of mm/ into another go through the linker: it is told (Makefile, WRAPPED)
 *     that f means __wrap_f below, and that __real_f means f. They do nothing in a world without
 *     the mutant, nor outside of a world;
 *   - barriers are instructions: an option of the simulator makes them complete nothing.
 *
 * A mutant has no state that lasts: what it puts off it does before the call returns that it was
 * put off in. So worlds are saved and put back as without it.
 */
#include "lab/explore.h"

static const char *const names[] = {
#define X(id, text) text,
	EXPLORE_MUTANTS(X)
#undef X
};

const char *explore_mutant_name(enum explore_mutant mutant)
{
	return mutant < EXPLORE_MUTANT_NONE ? names[mutant] : NULL;
}

/* Code that nobody has executed yet, in a page that two processes share and no lock of a file. */
static const struct explore_move code_in_two_spaces[] = {
	{.kind = EXPLORE_MAP, .a = EXPLORE_ANON},
	{.kind = EXPLORE_STORE, .a = EXPLORE_ANON},
	{.kind = EXPLORE_PROTECT, .a = EXPLORE_ANON, .b = QUIRE_PROT_READ | QUIRE_PROT_EXEC},
	{.kind = EXPLORE_FORK},
	{.kind = EXPLORE_RUN, .cpu = 1, .a = 1},
};

/*
 * Nearly all show in the shortest runs. What is wrong for a moment only needs somebody who comes in
 * between: another CPU, or hardware that fills a line. A search that had to come to two spaces by
 * itself would take minutes: it begins there.
 */
const struct explore_trial *explore_mutant_trial(enum explore_mutant mutant)
{
	static const struct explore_trial plain = {.pages = 2, .depth = 4};
	static const struct explore_trial another_cpu = {.pages = 1, .depth = 4, .interleave = 4};
	static const struct explore_trial hardware = {.cpus = 1,
						      .pages = 1,
						      .depth = 6,
						      .interleave = 6};
	static const struct explore_trial two_spaces = {
		.cpus = 2,
		.pages = 1,
		.depth = 2,
		.interleave = 2,
		.start = code_in_two_spaces,
		.start_length = sizeof(code_in_two_spaces) / sizeof(code_in_two_spaces[0]),
	};

	switch (mutant) {
	case EXPLORE_MUTANT_NONE:
		return NULL;
	case EXPLORE_MUTANT_FLAG_FIRST:
		return &two_spaces;
	case EXPLORE_MUTANT_FREE_FIRST:
		return &another_cpu;
	case EXPLORE_MUTANT_TLB_LAST:
		return &hardware;
	default:
		return &plain;
	}
}

/* --- Traits ----------------------------------------------------------------------------------- */

void explore_mutant_traits(enum explore_mutant mutant, struct quire_traits *traits)
{
	switch (mutant) {
	case EXPLORE_MUTANT_BROADCAST:
		traits->data_broadcast = traits->insn_broadcast = traits->tlb_broadcast = true;
		break;
	case EXPLORE_MUTANT_WALKER:
		traits->walker_sees_data = true;
		break;
	case EXPLORE_MUTANT_DEVICES:
		traits->devices_see_data = true;
		break;
	case EXPLORE_MUTANT_ALIASES:
		traits->data_aliases = traits->insn_aliases = false;
		traits->colour_bytes = 0;
		break;
	default:
		break;
	}
}

/* --- The architecture ------------------------------------------------------------------------- */

static struct explore_world *world_of(const struct quire_machine *machine)
{
	return ((struct explore_job *)machine->port.context)->world;
}

static void point(struct quire_machine *machine)
{
	explore_point(machine->port.context);
}

static void store_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			uint64_t raw)
{
	point(machine);
	world_of(machine)->real->store_entry(machine, entry, level, raw);
	point(machine);
}

static bool replace_entry(struct quire_machine *machine, uintptr_t entry, unsigned level,
			  uint64_t old, uint64_t raw)
{
	bool replaced;

	point(machine);
	replaced = world_of(machine)->real->replace_entry(machine, entry, level, old, raw);
	point(machine);
	return replaced;
}

static void entry_barrier(struct quire_machine *machine)
{
	world_of(machine)->real->entry_barrier(machine);
	point(machine);
}

static void no_entry_barrier(struct quire_machine *machine)
{
	point(machine);
}

/* Of what stands at one site only the first page is done. */
static bool is_first(struct quire_machine *machine)
{
	return !world_of(machine)->pages_done++;
}

static size_t first_page(size_t bytes)
{
	return bytes < QUIRE_PAGE_BYTES ? bytes : QUIRE_PAGE_BYTES;
}

static void first_clean_entries(struct quire_machine *machine, uintptr_t entry, size_t bytes)
{
	world_of(machine)->real->clean_entries(machine, entry, first_page(bytes));
}

static void first_tlb_purge(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes)
{
	world_of(machine)->real->tlb_purge(machine, context, va, first_page(bytes));
}

static void first_data_alias(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va,
			     enum quire_cache_op op)
{
	if (is_first(machine))
		world_of(machine)->real->data_alias(machine, page, alias_va, op);
}

static void first_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		       uintptr_t alias_va)
{
	if (is_first(machine))
		world_of(machine)->real->insn(machine, page, kva, alias_va);
}

static void insn_for_data(struct quire_machine *machine, uintptr_t kva, size_t bytes,
			  enum quire_cache_op op)
{
	(void)bytes;
	(void)op;
	world_of(machine)->real->insn(machine, kva - machine->port.kernel_base, kva, 0);
}

static void insn_for_alias(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va,
			   enum quire_cache_op op)
{
	(void)op;
	world_of(machine)->real->insn(machine, page, quire_kernel_address(machine, page), alias_va);
}

static void data_for_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
			  uintptr_t alias_va)
{
	const struct quire_arch *real = world_of(machine)->real;

	(void)kva;
	if (alias_va && real->data_alias)
		real->data_alias(machine, page, alias_va, QUIRE_FLUSH);
	else
		real->data(machine, quire_kernel_address(machine, page), QUIRE_PAGE_BYTES,
			   QUIRE_FLUSH);
}

/* Not `whole`: in Quire, as in the kernel that had the fault, single requests are exchanged. */
static void exchange(struct quire_arch *arch)
{
	arch->data = insn_for_data;
	if (arch->data_alias)
		arch->data_alias = insn_for_alias;
	arch->insn = data_for_insn;
}

static void only_first(struct quire_arch *arch)
{
	arch->clean_entries = first_clean_entries;
	arch->tlb_purge = first_tlb_purge;
	if (arch->data_alias)
		arch->data_alias = first_data_alias;
	arch->insn = first_insn;
}

const struct quire_arch *explore_mutant_arch(struct explore_world *world,
					     const struct quire_arch *real)
{
	struct quire_arch *arch = &world->arch;

	world->real = real;
	*arch = *real;
	arch->store_entry = store_entry;
	arch->replace_entry = replace_entry;
	arch->entry_barrier = entry_barrier;
	switch (world->setting->mutant) {
	case EXPLORE_MUTANT_FIRST_PAGE:
		only_first(arch);
		break;
	case EXPLORE_MUTANT_EXCHANGED:
		exchange(arch);
		break;
	case EXPLORE_MUTANT_ENTRY_BARRIER:
		arch->entry_barrier = no_entry_barrier;
		break;
	default:
		break;
	}
	return arch;
}

/* --- Calls inside mm/ ------------------------------------------------------------------------- */

void __real_quire_batch_end(struct quire_batch *batch);
void __wrap_quire_batch_end(struct quire_batch *batch);
void __real_quire_coherence_unmapped(struct quire *q, struct quire_batch *batch);
void __wrap_quire_coherence_unmapped(struct quire *q, struct quire_batch *batch);
void __real_quire_coherence_user_map(struct quire *q, struct quire_page *page,
				     struct quire_space *space, uintptr_t va, bool exec);
void __wrap_quire_coherence_user_map(struct quire *q, struct quire_page *page,
				     struct quire_space *space, uintptr_t va, bool exec);
int __real_quire_space_fork(struct quire_space *parent, struct quire_space **child);
int __wrap_quire_space_fork(struct quire_space *parent, struct quire_space **child);

/* NONE outside of a world. */
static enum explore_mutant mutant_of(const struct quire *q)
{
	return q->machine.arch->store_entry == store_entry ? world_of(&q->machine)->setting->mutant
							   : EXPLORE_MUTANT_NONE;
}

/*
 * A batch whose range is turned round (first > last, but not the empty one) is not purged where
 * it should be.
 */
static void turn_round(struct quire_batch *batch)
{
	uintptr_t first = batch->first;

	batch->first = batch->last + QUIRE_PAGE_BYTES;
	batch->last = first;
}

static bool is_turned(const struct quire_batch *batch)
{
	return batch->first > batch->last && batch->first != UINTPTR_MAX;
}

void __wrap_quire_batch_end(struct quire_batch *batch)
{
	struct quire *q = batch->space->quire;
	enum explore_mutant mutant = mutant_of(q);
	struct quire_batch turned;

	if ((mutant != EXPLORE_MUTANT_FREE_FIRST && mutant != EXPLORE_MUTANT_TLB_LAST) ||
	    batch->first > batch->last) {
		__real_quire_batch_end(batch);
		return;
	}
	turn_round(batch);
	turned = *batch;
	__real_quire_batch_end(batch);
	if (mutant == EXPLORE_MUTANT_FREE_FIRST)
		quire_coherence_tlb(q, turned.space, turned.last, turned.first, turned.site);
}

void __wrap_quire_coherence_unmapped(struct quire *q, struct quire_batch *batch)
{
	__real_quire_coherence_unmapped(q, batch);
	if (mutant_of(q) == EXPLORE_MUTANT_TLB_LAST && is_turned(batch))
		quire_coherence_tlb(q, batch->space, batch->last, batch->first, batch->site);
}

/* The flags say for a moment what is not yet so; whoever looks then leaves the work undone. */
static void flag_first(struct quire *q, struct quire_page *page, bool exec)
{
	uint32_t flags = QUIRE_PAGE_INSN_CLEAN;

	if (!q->machine.traits.data_aliases)
		flags |= QUIRE_PAGE_DATA_CLEAN;
	flags &= ~quire_atomic_read(&page->flags);
	if (!exec || !(flags & QUIRE_PAGE_INSN_CLEAN))
		return;
	quire_atomic_or(&page->flags, flags);
	quire_atomic_clear(&page->flags, QUIRE_PAGE_USER_WRITE);
	point(&q->machine);
	quire_atomic_clear(&page->flags, flags);
}

/* Is the entry at va written by the fault of another page? */
static bool is_neighbour(const struct quire *q, uintptr_t va)
{
	const struct quire_port *port = &q->machine.port;
	uintptr_t faulting = world_of(&q->machine)->faulting[port->cpu(port->context)];

	return faulting && faulting != va;
}

void __wrap_quire_coherence_user_map(struct quire *q, struct quire_page *page,
				     struct quire_space *space, uintptr_t va, bool exec)
{
	enum explore_mutant mutant = mutant_of(q);

	if (mutant == EXPLORE_MUTANT_ANON_ENTRY && quire_page_is(page, QUIRE_PAGE_ANON))
		return;
	if (mutant == EXPLORE_MUTANT_NEIGHBOUR && is_neighbour(q, va))
		return;
	if (mutant == EXPLORE_MUTANT_FLAG_FIRST)
		flag_first(q, page, exec);
	__real_quire_coherence_user_map(q, page, space, va, exec);
}

/* Drops what D lines hold of the private pages of a space. */
static void drop_lines(struct quire_space *space)
{
	struct quire *q = space->quire;
	const struct quire_arch *arch = q->machine.arch;
	const struct quire_range *range = &q->ranges[0];

	for (uint64_t n = 0; n < range->frames; n++) {
		struct quire_page *page = &range->pages[n];

		if (!quire_page_is(page, QUIRE_PAGE_ANON) || page->rmap.space != space)
			continue;
		if (arch->data_alias)
			arch->data_alias(&q->machine, quire_page_pa(page), page->rmap.va,
					 QUIRE_INVALIDATE);
		else
			arch->data(&q->machine, quire_page_address(q, page), QUIRE_PAGE_BYTES,
				   QUIRE_INVALIDATE);
	}
}

int __wrap_quire_space_fork(struct quire_space *parent, struct quire_space **child)
{
	if (mutant_of(parent->quire) == EXPLORE_MUTANT_FORK_DROPS)
		drop_lines(parent);
	return __real_quire_space_fork(parent, child);
}
