/*
 * The flush_range policy: a range of user addresses goes; are its lines flushed one by one, or the
 * whole cache?
 *
 * Line by line costs in proportion to the range, whole once the size of the cache, on every CPU.
 * Where they cross is a *threshold*, one each for the D cache, the I cache and the TLB. Ranges at
 * or above it go whole. A threshold may change what a flush costs, never what it achieves: whatever
 * is wrong with a measurement, results are right.
 *
 * WHAT IS COMPARED with it: calibrated-split counts the pages that were present, since only they
 * can have lines; a range that was never touched then costs nothing. The other policies look at the
 * size of the range and flush I as well as D, as the kernels did that they come from.
 *
 * MEASURED AT BOOT (calibrated, calibrated-split): one flush of the whole D cache on all CPUs takes
 * W cycles, one flush by address of the kernel's text, S bytes, takes R: the threshold is S x W /
 * R. The state of the caches decides what is measured, so it is made the same everywhere, and that
 * of a kernel that has been at work: before W the calling CPU clears as many bytes of free memory
 * as its D cache holds, which leaves the cache full of dirty lines as far as it allocates on
 * stores. W pays for writing them back, and R, which comes after, finds a cache that is empty and
 * text that nobody changed. calibrated-split measures the I cache and the TLB in the same way, as
 * they are then; calibrated uses one threshold for both caches.
 *
 * CLAMPED, since measurements go wrong: a warm cache, a kernel mapping of huge pages, an emulator
 * without caches.
 *   - At least a sixteenth of the cache and one page. By line there the work is a sixteenth of the
 *     whole loop's: a smaller figure says that a step of that loop costs less than a sixteenth of
 *     an operation by address.
 *   - At most four times what the caches of all CPUs hold. A larger figure says that a step of the
 *     loop on average costs more than four operations by address that find nothing, its write-back
 *     included.
 *   - The TLB alike: from 4 pages to four times its entries.
 *   - No result (0, a clock that stands still): 512 KB, which kernels used before they measured.
 *
 * The other policies have their thresholds by definition, for caches. Their TLB threshold is the
 * number of its entries: more operations than entries are never needed.
 *
 * ON MACHINES WHOSE D CACHES DO NOT ALIAS nothing is flushed when a range goes: kernel and users
 * share D lines, and the I side is settled when a page is mapped next. Only the TLB's threshold
 * matters there.
 */
#include "mm/coherence/exact.h"
#include "mm/percpu.h"

#define FALLBACK_BYTES   ((size_t)512 << 10)
#define SAMPLE_BYTES_MAX ((size_t)1 << 30)
#define CACHE_PART_LEAST 16
#define CACHES_MOST      4
#define TLB_PAGES_LEAST  4
#define TLBS_MOST        4

bool quire_maintain_begin(struct quire *q, enum quire_site site)
{
	const struct quire_port *port = &q->machine.port;

	return !port->maintenance_begin || port->maintenance_begin(port->context, site);
}

void quire_maintain_end(struct quire *q, enum quire_site site)
{
	const struct quire_port *port = &q->machine.port;

	if (port->maintenance_end)
		port->maintenance_end(port->context, site);
}

/* --- Arithmetic -------------------------------------------------------------------------- */

/* n / d by shifting and subtracting: 32-bit boards have no 64-bit division without a library. d is
 * not 0. */
static uint64_t divide(uint64_t n, uint64_t d)
{
	uint64_t quotient = 0, rest = 0;

	for (int bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (n >> bit & 1);
		if (carry || rest >= d) {
			rest -= d;
			quotient |= (uint64_t)1 << bit;
		}
	}
	return quotient;
}

/* sample x whole / range, as large as a size can be; 0: there is no such figure. */
static size_t crossing(size_t sample, uint64_t whole, uint64_t range)
{
	uint64_t bytes;

	if (!range)
		return 0;
	while (whole >> 32) { /* so that the product fits into 64 bits: sample is at most 2^30 */
		whole >>= 1;
		range >>= 1;
	}
	if (!range)
		return SIZE_MAX;
	bytes = divide(sample * whole, range);
	return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

static size_t clamp(size_t bytes, size_t least, size_t most)
{
	if (bytes < least)
		return least;
	return bytes > most ? most : bytes;
}

/* units are powers of two */
static size_t round_up(size_t bytes, size_t unit)
{
	return bytes > SIZE_MAX - unit ? bytes : (bytes + unit - 1) & ~(unit - 1);
}

/* --- Calibration ------------------------------------------------------------------------- */

static size_t cache_threshold(const struct quire *q, size_t bytes, size_t cache_bytes,
			      size_t line_bytes)
{
	size_t least = cache_bytes / CACHE_PART_LEAST;

	bytes = round_up(bytes ? bytes : FALLBACK_BYTES, line_bytes);
	return clamp(bytes, least > QUIRE_PAGE_BYTES ? least : QUIRE_PAGE_BYTES,
		     cache_bytes * CACHES_MOST * q->machine.port.cpus);
}

static size_t tlb_threshold(const struct quire *q, size_t bytes)
{
	size_t entries_bytes = (size_t)q->machine.traits.tlb_entries << QUIRE_PAGE_SHIFT;

	bytes = round_up(bytes ? bytes : entries_bytes, QUIRE_PAGE_BYTES);
	return clamp(bytes, TLB_PAGES_LEAST << QUIRE_PAGE_SHIFT, entries_bytes * TLBS_MOST);
}

/* The kernel's text, or the part of it that is taken as a sample. */
static size_t sample_bytes(const struct quire *q)
{
	size_t bytes = q->machine.port.kernel_text_bytes;

	return bytes < SAMPLE_BYTES_MAX ? bytes : SAMPLE_BYTES_MAX;
}

/*
 * Leaves this CPU's D cache full of dirty lines: clears a free block of its size. NULL where there
 * is none; then the cache stays as boot left it, and the clamps are what there is.
 */
static struct quire_page *dirty_cache(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;
	struct quire_page *block = NULL;
	unsigned order = 0;

	while (order < QUIRE_ORDERS - 1 && QUIRE_PAGE_BYTES << order < q->machine.traits.data_bytes)
		order++;
	for (;; order--) {
		block = quire_page_alloc(q, order);
		if (block || !order)
			break;
	}
	if (block)
		port->clear(port->context, quire_page_address(q, block), QUIRE_PAGE_BYTES << order);
	return block;
}

static void measure_data(struct quire *q)
{
	struct quire_machine *machine = &q->machine;
	const struct quire_arch *arch = machine->arch;
	size_t sample = sample_bytes(q);
	uint64_t start = arch->cycles(machine), middle;

	arch->whole_data(machine);
	middle = arch->cycles(machine);
	arch->data(machine, machine->port.kernel_text, sample, QUIRE_FLUSH);
	q->thresholds.whole_cycles = middle - start;
	q->thresholds.range_cycles = arch->cycles(machine) - middle;
	q->thresholds.data_bytes =
		crossing(sample, q->thresholds.whole_cycles, q->thresholds.range_cycles);
}

/* The I cache holds what was fetched since boot; by address it is done page by page, as pages are
 * unmapped. */
static void measure_insn(struct quire *q)
{
	struct quire_machine *machine = &q->machine;
	const struct quire_arch *arch = machine->arch;
	size_t sample = sample_bytes(q) & ~QUIRE_PAGE_MASK;
	uintptr_t text = machine->port.kernel_text & ~(uintptr_t)QUIRE_PAGE_MASK;
	uint64_t start = arch->cycles(machine), middle;

	arch->whole_insn(machine);
	middle = arch->cycles(machine);
	for (size_t done = 0; done < sample; done += QUIRE_PAGE_BYTES)
		arch->insn(machine, text + done - machine->port.kernel_base, text + done, 0);
	q->thresholds.insn_bytes = crossing(sample, middle - start, arch->cycles(machine) - middle);
}

static void measure_tlb(struct quire *q)
{
	struct quire_machine *machine = &q->machine;
	const struct quire_arch *arch = machine->arch;
	size_t sample = sample_bytes(q) & ~QUIRE_PAGE_MASK;
	uint64_t start = arch->cycles(machine), middle;

	arch->tlb_purge_all(machine);
	middle = arch->cycles(machine);
	arch->tlb_purge(machine, NULL, machine->port.kernel_text, sample);
	q->thresholds.tlb_bytes = crossing(sample, middle - start, arch->cycles(machine) - middle);
}

static bool can_call(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;

	return port->cpus == 1 || port->can_cross_call(port->context);
}

/* Measures what the policy wants measured; a figure that cannot be had stays 0. */
static void measure(struct quire *q)
{
	bool caches = q->machine.traits.data_aliases;
	bool split = q->policy.flush_range == QUIRE_FLUSH_CALIBRATED_SPLIT;
	struct quire_page *block;

	if (!can_call(q) || sample_bytes(q) < QUIRE_PAGE_BYTES)
		return;
	block = caches ? dirty_cache(q) : NULL;
	if (quire_maintain_begin(q, QUIRE_SITE_CALIBRATE)) {
		if (caches)
			measure_data(q);
		if (block && quire_exact_on(q))
			for (unsigned n = 0; n < 1u << block->order; n++)
				quire_exact_flushed(q, block + n);
		if (caches && split)
			measure_insn(q);
		if (split)
			measure_tlb(q);
		quire_maintain_end(q, QUIRE_SITE_CALIBRATE);
	}
	if (block)
		quire_page_put(q, block);
}

static void calibrate(struct quire *q)
{
	const struct quire_traits *traits = &q->machine.traits;
	struct quire_thresholds *thresholds = &q->thresholds;

	measure(q);
	thresholds->tlb_bytes = tlb_threshold(q, thresholds->tlb_bytes);
	if (!traits->data_aliases) {
		thresholds->data_bytes = thresholds->insn_bytes = SIZE_MAX;
		return;
	}
	thresholds->data_bytes = cache_threshold(q, thresholds->data_bytes, traits->data_bytes,
						 traits->data_line_bytes);
	thresholds->insn_bytes =
		q->policy.flush_range == QUIRE_FLUSH_CALIBRATED
			? thresholds->data_bytes
			: cache_threshold(q, thresholds->insn_bytes, traits->insn_bytes,
					  traits->insn_line_bytes);
}

static void set_cache_thresholds(struct quire *q, size_t bytes)
{
	q->thresholds.data_bytes = q->thresholds.insn_bytes = bytes;
	q->thresholds.tlb_bytes = tlb_threshold(q, 0);
}

void quire_coherence_calibrate(struct quire *q)
{
	struct quire_thresholds *thresholds = &q->thresholds;

	thresholds->data_bytes = thresholds->insn_bytes = thresholds->tlb_bytes = 0;
	thresholds->whole_cycles = thresholds->range_cycles = 0;
	switch (q->policy.flush_range) {
	case QUIRE_FLUSH_LINE:
		set_cache_thresholds(q, SIZE_MAX);
		break;
	case QUIRE_FLUSH_WHOLE:
		set_cache_thresholds(q, 0);
		break;
	case QUIRE_FLUSH_FIXED:
		set_cache_thresholds(q, q->policy.flush_fixed_bytes);
		break;
	case QUIRE_FLUSH_CALIBRATED:
	case QUIRE_FLUSH_CALIBRATED_SPLIT:
		calibrate(q);
		break;
	}
}

/* --- TLB --------------------------------------------------------------------------------- */

void quire_coherence_tlb(struct quire *q, struct quire_space *space, uintptr_t low, uintptr_t high,
			 enum quire_site site)
{
	struct quire_machine *machine = &q->machine;

	if (low >= high || !quire_maintain_begin(q, site))
		return;
	if (high - low < q->thresholds.tlb_bytes)
		machine->arch->tlb_purge(machine, &space->context, low, high - low);
	else
		machine->arch->tlb_purge_space(machine, &space->context);
	quire_maintain_end(q, site);
}

/* --- Ranges that go ---------------------------------------------------------------------- */

enum side {
	SIDE_DATA,
	SIDE_INSN,
};

/*
 * Policy `line`, as kernels of 2004: lines of the absent pages of [low, high) by user address, a
 * trap each. Only where the space is loaded, as for munmap: those kernels flushed otherwise when a
 * space ended.
 */
static void absent_pages(struct quire *q, struct quire_batch *batch, enum side side, uintptr_t low,
			 uintptr_t high)
{
	struct quire_machine *machine = &q->machine;
	const struct quire_arch *arch = machine->arch;
	unsigned cpu = machine->port.cpu(machine->port.context);

	if (q->policy.flush_range != QUIRE_FLUSH_LINE || low >= high || !arch->user_data ||
	    q->percpu[cpu].loaded != batch->space)
		return;
	if (side == SIDE_DATA)
		arch->user_data(machine, &batch->space->context, low, high - low);
	else
		arch->user_insn(machine, &batch->space->context, low, high - low);
}

/*
 * Page by page, through an alias. I lines only of executable pages where the policy tells I from D.
 * Entries come in ascending order from a walk over a range; what lies between them was absent.
 */
static void flush_pages(struct quire *q, struct quire_batch *batch, enum side side)
{
	struct quire_machine *machine = &q->machine;
	bool all_insn = q->policy.flush_range != QUIRE_FLUSH_CALIBRATED_SPLIT;
	uintptr_t seen = batch->low;
	struct quire_batch_entry *entry;
	size_t cursor = 0;

	while ((entry = quire_batch_next(batch, &cursor))) {
		absent_pages(q, batch, side, seen, entry->va);
		if (entry->va >= seen)
			seen = entry->va + QUIRE_PAGE_BYTES;
		if (side == SIDE_DATA)
			machine->arch->data_alias(machine, quire_page_pa(entry->page), entry->va,
						  QUIRE_FLUSH);
		else if (entry->exec || all_insn)
			machine->arch->insn(machine, quire_page_pa(entry->page), 0, entry->va);
	}
	absent_pages(q, batch, side, seen, batch->high);
}

/* What is compared with the threshold, counted no further than that. */
static size_t range_bytes(struct quire *q, struct quire_batch *batch, size_t threshold)
{
	size_t bytes = 0, cursor = 0;

	if (q->policy.flush_range != QUIRE_FLUSH_CALIBRATED_SPLIT)
		return batch->high - batch->low;
	while (bytes < threshold && quire_batch_next(batch, &cursor))
		bytes += QUIRE_PAGE_BYTES;
	return bytes;
}

/* Where other CPUs cannot be called, by page: FDC and its like reach them all. */
static bool goes_whole(struct quire *q, struct quire_batch *batch, size_t threshold)
{
	return range_bytes(q, batch, threshold) >= threshold && can_call(q);
}

/* The lines that removed entries left are gone. */
static void entries_gone(struct quire *q, struct quire_batch *batch)
{
	struct quire_batch_entry *entry;
	size_t cursor = 0;

	while ((entry = quire_batch_next(batch, &cursor)))
		if (entry->drop)
			quire_coherence_entry_gone(q, entry->page);
}

void quire_coherence_unmapped(struct quire *q, struct quire_batch *batch)
{
	struct quire_machine *machine = &q->machine;
	bool insn = batch->exec || q->policy.flush_range != QUIRE_FLUSH_CALIBRATED_SPLIT;

	if (quire_exact_on(q)) {
		quire_exact_unmapped(q, batch);
		return;
	}
	if (!machine->traits.data_aliases ||
	    (!batch->count && q->policy.flush_range == QUIRE_FLUSH_CALIBRATED_SPLIT))
		return;
	if (quire_maintain_begin(q, QUIRE_SITE_UNMAP_RANGE_D)) {
		if (goes_whole(q, batch, q->thresholds.data_bytes))
			machine->arch->whole_data(machine);
		else
			flush_pages(q, batch, SIDE_DATA);
		quire_maintain_end(q, QUIRE_SITE_UNMAP_RANGE_D);
	}
	if (insn && quire_maintain_begin(q, QUIRE_SITE_UNMAP_RANGE_I)) {
		if (goes_whole(q, batch, q->thresholds.insn_bytes))
			machine->arch->whole_insn(machine);
		else
			flush_pages(q, batch, SIDE_INSN);
		quire_maintain_end(q, QUIRE_SITE_UNMAP_RANGE_I);
	}
	entries_gone(q, batch);
}
