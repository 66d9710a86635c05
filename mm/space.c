/*
 * Spaces: their beginning and end, loading one on a CPU, and a debugger's access to one.
 *
 * The areas of a space are changed in map.c and fork.c, its entries in fault.c. A space is found
 * through its CPU (percpu->loaded), through the reverse map, or in quire->spaces; its end closes
 * these ways one by one.
 */
#include "mm/percpu.h"

static int make_context(struct quire_space *space)
{
	struct quire_machine *machine = &space->quire->machine;
	int error = quire_table_create(space);

	if (error)
		return error;
	error = machine->arch->context_create(machine, &space->context);
	if (error)
		quire_table_destroy(space);
	return error;
}

struct quire_space *quire_space_create(struct quire *q, int *error)
{
	struct quire_space *space;

	quire_step(q, QUIRE_STEP_SPACE_CREATE);
	*error = -QUIRE_ENOMEM;
	space = quire_new(q, sizeof(*space));
	if (!space)
		return NULL;
	space->quire = q;
	quire_lock_init(&space->upper);
	*error = quire_brlock_init(q, &space->areas_lock);
	if (*error)
		goto no_lock;
	*error = make_context(space);
	if (*error)
		goto no_context;
	quire_lock(q, &q->lists);
	quire_list_add(q->spaces.prev, &space->link);
	quire_unlock(q, &q->lists);
	return space;

no_context:
	quire_brlock_destroy(q, &space->areas_lock);
no_lock:
	quire_delete(q, space, sizeof(*space));
	return NULL;
}

/* Takes every area out of the space with its entries; they are chained by `left`. */
static struct quire_area *remove_areas(struct quire_space *space)
{
	struct quire_area *area, *dead = NULL;

	quire_brlock_write_lock(space->quire, &space->areas_lock);
	while ((area = quire_area_find(&space->areas, 0))) {
		quire_unmap_entries(space, area, area->start, area->end, true);
		quire_step(space->quire, QUIRE_STEP_AREA_CHANGE);
		quire_area_erase(&space->areas, area);
		area->left = dead;
		dead = area;
	}
	quire_brlock_write_unlock(space->quire, &space->areas_lock);
	return dead;
}

void quire_space_destroy(struct quire_space *space)
{
	struct quire *q = space->quire;
	const struct quire_table_format *format = &q->machine.arch->table;
	struct quire_area *dead;

	quire_step(q, QUIRE_STEP_SPACE_DESTROY);
	for (unsigned cpu = 0; cpu < q->machine.port.cpus; cpu++)
		quire_require(q, q->percpu[cpu].loaded != space);
	dead = remove_areas(space);
	quire_lock(q, &q->lists);
	quire_list_remove(&space->link);
	quire_unlock(q, &q->lists);
	while (dead) {
		struct quire_area *area = dead;

		dead = area->left;
		quire_area_free(q, area);
	}
	quire_coherence_tlb(q, space, format->user_low, format->user_high, QUIRE_SITE_TLB_SPACE);
	quire_table_destroy(space);
	q->machine.arch->context_destroy(&q->machine, &space->context);
	quire_brlock_destroy(q, &space->areas_lock);
	quire_delete(q, space, sizeof(*space));
}

void quire_space_load(struct quire *q, struct quire_space *space)
{
	quire_step(q, QUIRE_STEP_SWITCH);
	quire_percpu_here(q)->loaded = space;
	q->machine.arch->activate(&q->machine, space ? &space->context : NULL);
}

/* --- A debugger's access ---------------------------------------------------------------------- */

/*
 * The page that an entry holds at va, reachable or not, with a reference; NULL: none. The areas
 * lock is held.
 */
static struct quire_page *held_page(struct quire_space *space, uintptr_t va)
{
	struct quire_page *page = NULL;
	struct quire_slot slot;
	struct quire_entry entry;
	uintptr_t next;

	if (!quire_table_find(space, va, &slot, &next))
		return NULL;
	quire_slot_lock(&slot);
	entry = quire_slot_read(&slot);
	if (entry.bits)
		page = quire_page_of(space->quire, entry.frame);
	if (page)
		quire_page_get(page);
	quire_slot_unlock(&slot);
	return page;
}

/* May a debugger store to this page of the area without anybody else seeing it who should not? */
static bool may_store(const struct quire_area *area, const struct quire_page *page)
{
	if (area->flags & QUIRE_MAP_SHARED)
		return area->prot & QUIRE_PROT_WRITE;
	/* The entry's reference and ours: the page is in no other space. */
	return quire_page_is(page, QUIRE_PAGE_ANON) && quire_atomic_read(&page->refs) == 2;
}

static void copy_page(struct quire *q, struct quire_area *area, struct quire_page *page,
		      uintptr_t va, uintptr_t buffer, size_t bytes, bool write)
{
	const struct quire_port *port = &q->machine.port;
	uintptr_t kernel = quire_page_address(q, page) + (va & QUIRE_PAGE_MASK);

	quire_coherence_kernel_read(q, page);
	if (!write) {
		port->copy(port->context, buffer, kernel, bytes);
		return;
	}
	port->copy(port->context, kernel, buffer, bytes);
	quire_coherence_kernel_wrote(q, page);
	if (area->flags & QUIRE_MAP_SHARED) {
		quire_page_lock(q, page);
		if (page->file)
			quire_page_dirty(q, page);
		quire_page_unlock(q, page);
		quire_times_write(area->file);
	}
}

enum access_result { ACCESS_DONE, ACCESS_FAULT, ACCESS_END };

/* The part of an access that lies in one page, if its page is there. The areas lock is held. */
static enum access_result access_page(struct quire_space *space, uintptr_t va, uintptr_t buffer,
				      size_t bytes, bool write)
{
	struct quire *q = space->quire;
	struct quire_area *area = quire_area_find(&space->areas, va);
	enum access_result result = ACCESS_DONE;
	struct quire_page *page;

	if (!area || area->start > va)
		return ACCESS_END;
	page = held_page(space, va);
	if (page && (!write || may_store(area, page)))
		copy_page(q, area, page, va, buffer, bytes, write);
	else if (write && (area->flags & QUIRE_MAP_SHARED) && !(area->prot & QUIRE_PROT_WRITE))
		result = ACCESS_END;
	else
		result = ACCESS_FAULT;
	if (page)
		quire_page_put(q, page);
	return result;
}

int64_t quire_space_access(struct quire_space *space, uintptr_t va, uintptr_t buffer, size_t bytes,
			   bool write)
{
	struct quire *q = space->quire;
	size_t done = 0;

	while (done < bytes) {
		uintptr_t at = va + done;
		size_t part = QUIRE_PAGE_BYTES - (at & QUIRE_PAGE_MASK);
		enum access_result result;
		unsigned cpu;

		if (part > bytes - done)
			part = bytes - done;
		cpu = quire_brlock_read_lock(q, &space->areas_lock);
		result = access_page(space, at, buffer + done, part, write);
		quire_brlock_read_unlock(q, &space->areas_lock, cpu);
		if (result == ACCESS_DONE)
			done += part;
		else if (result == ACCESS_END ||
			 quire_fault_force(space, at, write ? QUIRE_STORE : QUIRE_LOAD))
			break;
	}
	return done ? (int64_t)done : -QUIRE_EFAULT;
}
