/*
 * PA-RISC cache maintenance: virtually indexed, physically tagged D and I caches, and the window
 * for aliases.
 *
 * Two addresses of one page share D lines only if they are equal modulo the alias boundary that
 * PDC_CACHE tells (Kane, appendix F). A line can be reached only by an address of its colour that
 * has a translation. For pages whose user translation is gone, or must not be trusted, each CPU has
 * two *slots* in the kernel's alias window, each one boundary long and aligned to it, so that some
 * address in it has any colour:
 *
 *   window + (2 x CPU + slot) x boundary + (user address modulo boundary)
 *
 * A slot maps one page through an entry that is put into this CPU's TLB directly and purged after
 * use. FDC, PDC and FIC are broadcast: one CPU's operation reaches the caches of all. FDC cleans
 * and invalidates; there is no mere clean.
 */
#include "arch/parisc/parisc.h"

/* --- Lines by address -------------------------------------------------------------------- */

/*
 * FDC writes a dirty line back, PDC may drop it. A line that the range covers in part holds
 * somebody else's bytes too: it is never purged.
 */
static void data_lines(struct quire_machine *machine, uint64_t space, uintptr_t va, size_t bytes,
		       enum quire_cache_op op)
{
	struct quire_hw *hw = machine->port.hw;
	unsigned line_bytes = machine->traits.data_line_bytes;
	uintptr_t end = va + bytes;

	for (uintptr_t line = arch_round_down(va, line_bytes); line < end; line += line_bytes) {
		bool whole = line >= va && end - line >= line_bytes;

		if (op == QUIRE_INVALIDATE && whole)
			parisc_pdc(hw, space, line);
		else
			parisc_fdc(hw, space, line);
	}
	parisc_sync(hw);
}

static void insn_lines(struct quire_machine *machine, uint64_t space, uintptr_t va, size_t bytes)
{
	struct quire_hw *hw = machine->port.hw;
	unsigned line_bytes = machine->traits.insn_line_bytes;

	for (uintptr_t line = arch_round_down(va, line_bytes); line < va + bytes;
	     line += line_bytes)
		parisc_fic(hw, space, line);
	parisc_sync(hw);
}

void quire_parisc_data(struct quire_machine *machine, uintptr_t kva, size_t bytes,
		       enum quire_cache_op op)
{
	if (bytes)
		data_lines(machine, PARISC_KERNEL_SPACE, kva, bytes, op);
}

/* Completed by the SYNC of entry_barrier. */
void quire_parisc_clean_entries(struct quire_machine *machine, uintptr_t entry, size_t bytes)
{
	unsigned line_bytes = machine->traits.data_line_bytes;

	for (uintptr_t line = arch_round_down(entry, line_bytes); line < entry + bytes;
	     line += line_bytes)
		parisc_fdc(machine->port.hw, PARISC_KERNEL_SPACE, line);
}

void quire_parisc_user_data(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes)
{
	if (bytes)
		data_lines(machine, context->number, va, bytes, QUIRE_FLUSH);
}

void quire_parisc_user_insn(struct quire_machine *machine, struct quire_context *context,
			    uintptr_t va, size_t bytes)
{
	if (bytes)
		insn_lines(machine, context->number, va, bytes);
}

/* --- The alias window -------------------------------------------------------------------- */

/* Maps the page in a free slot of this CPU. More than two at once break the contract of alias_map.
 */
static uintptr_t slot_map(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va)
{
	struct quire_port *port = &machine->port;
	unsigned self = arch_cpu(machine), slot = 0;
	struct parisc_cpu *cpu = &parisc_state(machine)->cpu[self];
	size_t boundary = machine->traits.colour_bytes;
	uintptr_t va;

	while (slot < PARISC_ALIAS_SLOTS && cpu->alias_va[slot])
		slot++;
	if (slot == PARISC_ALIAS_SLOTS)
		port->stop(port->context, __FILE__, __LINE__,
			   "both alias slots of this CPU are in use");
	va = port->alias_window + ((uintptr_t)self * PARISC_ALIAS_SLOTS + slot) * boundary +
	     arch_round_down(alias_va & (boundary - 1), QUIRE_PAGE_BYTES);
	/* cppcheck-suppress arrayIndexOutOfBoundsCond ; stop does not return */
	cpu->alias[slot] = page;
	/* cppcheck-suppress arrayIndexOutOfBoundsCond */
	cpu->alias_va[slot] = va;
	parisc_idtlbt(port->hw, PARISC_KERNEL_SPACE, va, page, PARISC_READ | PARISC_WRITE);
	return va;
}

static void slot_release(struct quire_machine *machine, uintptr_t alias)
{
	struct parisc_cpu *cpu = &parisc_state(machine)->cpu[arch_cpu(machine)];

	for (unsigned slot = 0; slot < PARISC_ALIAS_SLOTS; slot++)
		if (cpu->alias_va[slot] == alias)
			cpu->alias_va[slot] = 0;
}

/* Other CPUs never had the entry, but PDTLB has no smaller reach. */
static void slot_unmap(struct quire_machine *machine, uintptr_t alias)
{
	slot_release(machine, alias);
	quire_parisc_tlb_purge(machine, NULL, alias, QUIRE_PAGE_BYTES);
}

void quire_parisc_data_alias(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va,
			     enum quire_cache_op op)
{
	uintptr_t alias = slot_map(machine, page, alias_va);

	data_lines(machine, PARISC_KERNEL_SPACE, alias, QUIRE_PAGE_BYTES, op);
	slot_unmap(machine, alias);
}

uintptr_t quire_parisc_alias_map(struct quire_machine *machine, quire_pa_t page, uintptr_t alias_va)
{
	if (!machine->traits.data_aliases)
		return quire_kernel_address(machine, page);
	return slot_map(machine, page, alias_va);
}

void quire_parisc_alias_unmap(struct quire_machine *machine, uintptr_t alias)
{
	struct quire_port *port = &machine->port;

	if (!machine->traits.data_aliases)
		return;
	slot_release(machine, arch_round_down(alias, QUIRE_PAGE_BYTES));
	if (port->maintenance_begin &&
	    !port->maintenance_begin(port->context, QUIRE_SITE_TLB_ALIAS))
		return;
	quire_parisc_tlb_purge(machine, NULL, alias, QUIRE_PAGE_BYTES);
	if (port->maintenance_end)
		port->maintenance_end(port->context, QUIRE_SITE_TLB_ALIAS);
}

/* FIC translates by the D or the I TLB, as the implementation likes (Kane, chapter 7, FIC): the D
 * entry serves. */
void quire_parisc_insn(struct quire_machine *machine, quire_pa_t page, uintptr_t kva,
		       uintptr_t alias_va)
{
	uintptr_t alias;

	if (kva)
		insn_lines(machine, PARISC_KERNEL_SPACE, kva, QUIRE_PAGE_BYTES);
	if (!alias_va || !machine->traits.data_aliases)
		return;
	if (kva && !((kva ^ alias_va) & (machine->traits.colour_bytes - 1)))
		return;
	alias = slot_map(machine, page, alias_va);
	insn_lines(machine, PARISC_KERNEL_SPACE, alias, QUIRE_PAGE_BYTES);
	slot_unmap(machine, alias);
}

/* --- Whole caches ------------------------------------------------------------------------ */

/*
 * The loop that PDC_CACHE describes: at each index as many flush-entry operations as there are
 * ways. They reach this CPU's cache only.
 */
void quire_parisc_data_here(void *arg)
{
	struct quire_machine *machine = arg;
	const struct parisc_cache_info *info = &parisc_state(machine)->info;
	size_t indexed = info->data_bytes / info->data_loops;

	for (uintptr_t offset = 0; offset < indexed; offset += info->data_line_bytes)
		for (unsigned way = 0; way < info->data_loops; way++)
			parisc_fdce(machine->port.hw, offset);
	parisc_sync(machine->port.hw);
}

void quire_parisc_insn_here(void *arg)
{
	struct quire_machine *machine = arg;
	const struct parisc_cache_info *info = &parisc_state(machine)->info;
	size_t indexed = info->insn_bytes / info->insn_loops;

	for (uintptr_t offset = 0; offset < indexed; offset += info->insn_line_bytes)
		for (unsigned way = 0; way < info->insn_loops; way++)
			parisc_fice(machine->port.hw, offset);
	parisc_sync(machine->port.hw);
}

void quire_parisc_whole_data(struct quire_machine *machine)
{
	arch_on_cpus(machine, arch_all_cpus(machine), quire_parisc_data_here, machine);
}

void quire_parisc_whole_insn(struct quire_machine *machine)
{
	arch_on_cpus(machine, arch_all_cpus(machine), quire_parisc_insn_here, machine);
}

/* --- DMA --------------------------------------------------------------------------------- */

void quire_parisc_dma_prepare(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			      enum quire_dma_direction direction)
{
	enum quire_cache_op op = direction == QUIRE_TO_DEVICE ? QUIRE_FLUSH : QUIRE_INVALIDATE;

	if (machine->traits.devices_see_data)
		return;
	quire_parisc_data(machine, quire_kernel_address(machine, pa), bytes, op);
	parisc_syncdma(machine->port.hw);
}

/* Lines that were fetched by speculation while the device wrote. */
void quire_parisc_dma_finish(struct quire_machine *machine, quire_pa_t pa, size_t bytes,
			     enum quire_dma_direction direction)
{
	if (machine->traits.devices_see_data || direction == QUIRE_TO_DEVICE)
		return;
	parisc_syncdma(machine->port.hw);
	quire_parisc_data(machine, quire_kernel_address(machine, pa), bytes, QUIRE_INVALIDATE);
}
