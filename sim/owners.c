/*
 * Who owns which frame, and what the kernel has not finished.
 *
 * Exposed memory needs no stale cache: a kernel that gives a frame away without clearing it hands
 * out what its former owner left there, and every cache agrees. So each frame that is given begins
 * as *foreign*: bytes that nobody wrote since. Stores take bytes out, copies carry them on, and an
 * observer other than the kernel that reads one has seen what was not his. The bytes are kept as a
 * few ranges a page, since frames are cleared or filled as a whole as a rule, and only while there
 * are any: a machine at rest has none. Where ranges or pages run out, the smallest range is
 * forgotten: a fault may be missed then, never invented.
 *
 * Operations: a TLB entry is not stale while the operation that changed its table entry still runs;
 * it may be about to purge it. So the words that a CPU's kernel stores are remembered until its
 * operation returns.
 */
#include "sim/internal.h"

/* --- Ranges ----------------------------------------------------------------------------------- */

static struct sim_foreign *find_foreign(struct sim_owners *owners, uint64_t frame)
{
	for (unsigned i = 0; i < owners->count; i++)
		if (owners->foreign[i].frame == frame)
			return &owners->foreign[i];
	return NULL;
}

static void remove_foreign(struct sim_owners *owners, struct sim_foreign *foreign)
{
	if (foreign)
		*foreign = owners->foreign[--owners->count];
}

/* A record for the frame, without ranges unless it had some. NULL: there is no room. */
static struct sim_foreign *take_foreign(struct sim_owners *owners, uint64_t frame)
{
	struct sim_foreign *foreign = find_foreign(owners, frame);

	if (foreign || owners->count == SIM_FOREIGN_MAX)
		return foreign;
	foreign = &owners->foreign[owners->count++];
	foreign->frame = (uint32_t)frame;
	foreign->count = 0;
	return foreign;
}

static void remove_range(struct sim_foreign *foreign, unsigned n)
{
	foreign->count--;
	foreign->from[n] = foreign->from[foreign->count];
	foreign->to[n] = foreign->to[foreign->count];
}

static void add_range(struct sim_foreign *foreign, unsigned from, unsigned to)
{
	unsigned smallest = 0;

	if (foreign->count == SIM_FOREIGN_RANGES) {
		for (unsigned n = 1; n < foreign->count; n++)
			if (foreign->to[n] - foreign->from[n] <
			    foreign->to[smallest] - foreign->from[smallest])
				smallest = n;
		if ((unsigned)(foreign->to[smallest] - foreign->from[smallest]) >= to - from)
			return;
		remove_range(foreign, smallest);
	}
	foreign->from[foreign->count] = (uint16_t)from;
	foreign->to[foreign->count++] = (uint16_t)to;
}

/* Takes [from, to) out of all ranges. */
static void cut_ranges(struct sim_foreign *foreign, unsigned from, unsigned to)
{
	for (unsigned n = 0; n < foreign->count;) {
		unsigned low = foreign->from[n], high = foreign->to[n];

		if (high <= from || low >= to) {
			n++;
			continue;
		}
		remove_range(foreign, n);
		if (low < from)
			add_range(foreign, low, from);
		if (high > to)
			add_range(foreign, to, high);
		n = 0;
	}
}

/* --- Frames ----------------------------------------------------------------------------------- */

static void set_state(struct sim *sim, quire_pa_t pa, uint64_t bytes, enum sim_frame_state state)
{
	uint64_t frame = pa >> QUIRE_PAGE_SHIFT, end = (pa + bytes) >> QUIRE_PAGE_SHIFT;

	for (; frame < end && frame < sim->machine.memory_bytes >> QUIRE_PAGE_SHIFT; frame++) {
		struct sim_foreign *foreign;

		sim->owners.frames[frame] = (uint8_t)state;
		if (state == SIM_FRAME_FREED) {
			remove_foreign(&sim->owners, find_foreign(&sim->owners, frame));
			continue;
		}
		foreign = take_foreign(&sim->owners, frame);
		if (foreign) {
			foreign->count = 0;
			add_range(foreign, 0, QUIRE_PAGE_BYTES);
		}
	}
}

void sim_frames_given(struct sim *sim, quire_pa_t pa, uint64_t bytes)
{
	set_state(sim, pa, bytes, SIM_FRAME_GIVEN);
	if (sim->witness.history)
		sim_history_given(sim, pa, bytes);
}

void sim_frames_freed(struct sim *sim, quire_pa_t pa, uint64_t bytes)
{
	set_state(sim, pa, bytes, SIM_FRAME_FREED);
}

void sim_owners_wrote(struct sim *sim, quire_pa_t pa, size_t bytes)
{
	while (bytes) {
		unsigned from = (unsigned)(pa & QUIRE_PAGE_MASK);
		unsigned part = (unsigned)(QUIRE_PAGE_BYTES - from < bytes ? QUIRE_PAGE_BYTES - from
									   : bytes);
		struct sim_foreign *foreign = find_foreign(&sim->owners, pa >> QUIRE_PAGE_SHIFT);

		if (foreign) {
			cut_ranges(foreign, from, from + part);
			if (foreign->count == 0)
				remove_foreign(&sim->owners, foreign);
		}
		pa += part, bytes -= part;
	}
}

static unsigned lowest_foreign(const struct sim_foreign *foreign, unsigned from, unsigned to)
{
	unsigned low = to;

	for (unsigned n = 0; n < foreign->count; n++) {
		unsigned start = foreign->from[n] > from ? foreign->from[n] : from;

		if (start < foreign->to[n] && start < low)
			low = start;
	}
	return low;
}

void sim_owners_read(struct sim *sim, enum sim_party observer, uintptr_t va, quire_pa_t pa,
		     const uint8_t *got, size_t bytes)
{
	const struct sim_foreign *foreign = find_foreign(&sim->owners, pa >> QUIRE_PAGE_SHIFT);
	unsigned from = (unsigned)(pa & QUIRE_PAGE_MASK), to = from + (unsigned)bytes, at;
	struct sim_violation violation = {
		.kind = SIM_KIND_EXPOSED,
		.cause = SIM_CAUSE_NOT_CLEARED,
		.observer = observer,
		.site = QUIRE_SITE_COUNT,
	};

	if (!foreign)
		return;
	at = lowest_foreign(foreign, from, to);
	if (at >= to)
		return;
	violation.va = va ? va + (at - from) : 0;
	violation.pa = pa + (at - from);
	violation.bytes = to - at < 8 ? to - at : 8;
	memcpy(&violation.got, got + (at - from), violation.bytes);
	violation.got_known = violation.got_former = true;
	violation.got_author = sim_witness_author(sim, violation.pa);
	sim_witness_report(sim, &violation);
}

void sim_owners_copied(struct sim *sim, quire_pa_t to, quire_pa_t from, size_t bytes)
{
	const struct sim_foreign *source = find_foreign(&sim->owners, from >> QUIRE_PAGE_SHIFT);
	unsigned low = (unsigned)(from & QUIRE_PAGE_MASK), high = low + (unsigned)bytes;
	unsigned target_low = (unsigned)(to & QUIRE_PAGE_MASK);
	struct sim_foreign copy, *target;

	if (!source)
		return;
	copy = *source;
	for (unsigned n = 0; n < copy.count; n++) {
		unsigned start = copy.from[n] > low ? copy.from[n] : low;
		unsigned end = copy.to[n] < high ? copy.to[n] : high;

		target = start < end ? take_foreign(&sim->owners, to >> QUIRE_PAGE_SHIFT) : NULL;
		if (target)
			add_range(target, target_low + (start - low), target_low + (end - low));
	}
}

/* --- Operations of the kernel ----------------------------------------------------------------- */

void sim_enter(struct sim *sim)
{
	sim->cpu->depth++;
}

static bool in_kernel(const struct sim *sim)
{
	for (unsigned cpu = 0; cpu < sim->machine.cpus; cpu++)
		if (sim->cpus[cpu].depth)
			return true;
	return false;
}

void sim_leave(struct sim *sim)
{
	struct sim_changes *changes = &sim->changes;
	unsigned left = 0;

	if (sim->cpu->depth == 0)
		return;
	for (unsigned i = 0; i < changes->count; i++)
		if (changes->changes[i].cpu != sim->current ||
		    changes->changes[i].depth != sim->cpu->depth)
			changes->changes[left++] = changes->changes[i];
	changes->count = left;
	sim->cpu->depth--;
	if (changes->overflow && !in_kernel(sim))
		changes->overflow = false;
}

void sim_operation_store(struct sim *sim, quire_pa_t pa)
{
	struct sim_changes *changes = &sim->changes;

	if (changes->count == SIM_CHANGES_MAX)
		changes->overflow = true;
	else
		changes->changes[changes->count++] =
			(struct sim_change){(uint32_t)(pa >> 3), (uint16_t)sim->current,
					    (uint16_t)sim->cpu->depth};
}

bool sim_operation_changed(const struct sim *sim, quire_pa_t pa)
{
	if (sim->changes.overflow)
		return true;
	for (unsigned i = 0; i < sim->changes.count; i++)
		if (sim->changes.changes[i].word == (uint32_t)(pa >> 3))
			return true;
	return false;
}
