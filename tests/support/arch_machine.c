/*
 * A simulated machine on which an architecture has booted, and nothing above it.
 */
#include "tests/support/arch_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "arch machine: %s\n", what);
	abort();
}

static int trap_fault(void *context, uintptr_t va, enum quire_access access)
{
	struct arch_machine *a = context;

	(void)va;
	(void)access;
	a->faults++;
	return -QUIRE_EFAULT;
}

static int trap_miss(void *context, uintptr_t va, enum quire_access access)
{
	struct arch_machine *a = context;

	return a->arch->tlb_miss(&a->m, a->loaded[sim_cpu(a->s.sim)], va, access);
}

void arch_machine_start(struct arch_machine *a, const struct sim_machine *machine)
{
	struct sim_traps traps = {.context = a, .fault = trap_fault, .tlb_miss = trap_miss};

	memset(a, 0, sizeof(*a));
	simulated_prepare(&a->s, machine, NULL);
	sim_set_traps(a->s.sim, &traps);
	a->arch = a->s.config.arch;
	a->m.port = a->s.config.port;
	a->m.arch = a->arch;
	a->next_table = ARCH_TABLES;
	require(!a->arch->boot(&a->m), "the architecture does not boot");
	for (unsigned cpu = 0; cpu < machine->cpus; cpu++) {
		sim_switch(a->s.sim, cpu);
		a->arch->empty_cpu(&a->m);
		a->arch->boot_cpu(&a->m);
	}
	sim_switch(a->s.sim, 0);
}

void arch_machine_end(struct arch_machine *a)
{
	a->arch->halt(&a->m);
	simulated_end(&a->s);
}

/* Empty pages, naturally aligned, cleaned for the walker. */
static uintptr_t new_table(struct arch_machine *a, size_t bytes)
{
	uintptr_t kva;

	a->next_table = (a->next_table + bytes - 1) & ~(quire_pa_t)(bytes - 1);
	kva = quire_kernel_address(&a->m, a->next_table);
	a->next_table += bytes;
	require(a->next_table <= ARCH_FRAMES, "no room for tables");
	a->m.port.clear(a->m.port.context, kva, bytes);
	a->arch->clean_entries(&a->m, kva, bytes);
	a->arch->entry_barrier(&a->m);
	return kva;
}

void arch_space(struct arch_machine *a, struct quire_context *context)
{
	memset(context, 0, sizeof(*context));
	context->root = new_table(a, QUIRE_PAGE_BYTES << a->arch->table.root_order);
	require(!a->arch->context_create(&a->m, context), "no context");
}

void arch_load(struct arch_machine *a, struct quire_context *context)
{
	a->loaded[sim_cpu(a->s.sim)] = context;
	a->arch->activate(&a->m, context);
}

static void write_entry(struct arch_machine *a, uintptr_t entry, unsigned level, uint64_t raw)
{
	a->arch->store_entry(&a->m, entry, level, raw);
	a->arch->clean_entries(&a->m, entry, a->arch->table.entry_bytes[level]);
	a->arch->entry_barrier(&a->m);
}

uintptr_t arch_leaf(struct arch_machine *a, struct quire_context *context, uintptr_t va)
{
	const struct quire_table_format *t = &a->arch->table;
	uintptr_t table = context->root, entry;

	for (unsigned level = 0;; level++) {
		uintptr_t index = va >> t->shift[level] & (((uintptr_t)1 << t->bits[level]) - 1);
		quire_pa_t below;
		bool read_only;

		entry = table + index * t->entry_bytes[level];
		if (level == t->levels - 1)
			return entry;
		if (!a->arch->decode_table(level, a->arch->load_entry(&a->m, entry, level), &below,
					   &read_only)) {
			below = new_table(a, QUIRE_PAGE_BYTES) - a->m.port.kernel_base;
			write_entry(a, entry, level, a->arch->encode_table(level, below, false));
		}
		table = quire_kernel_address(&a->m, below);
	}
}

void arch_map(struct arch_machine *a, struct quire_context *context, uintptr_t va, quire_pa_t pa,
	      unsigned bits)
{
	struct quire_entry entry = {bits ? pa >> QUIRE_PAGE_SHIFT : 0, bits};

	write_entry(a, arch_leaf(a, context, va), a->arch->table.levels - 1,
		    a->arch->encode(entry));
}

int arch_user_load(struct arch_machine *a, uintptr_t va, uint64_t *value)
{
	return sim_load(a->s.sim, va, 4, value);
}

int arch_user_store(struct arch_machine *a, uintptr_t va, uint64_t value)
{
	return sim_store(a->s.sim, va, 4, value);
}

uint64_t arch_kernel_load(struct arch_machine *a, quire_pa_t pa)
{
	uint64_t value;

	require(!sim_load(a->s.sim, quire_kernel_address(&a->m, pa), 4, &value),
		"a kernel load failed");
	return value;
}

void arch_kernel_store(struct arch_machine *a, quire_pa_t pa, uint64_t value)
{
	require(!sim_store(a->s.sim, quire_kernel_address(&a->m, pa), 4, value),
		"a kernel store failed");
}

uint32_t arch_device_load(struct arch_machine *a, quire_pa_t pa)
{
	uint32_t value;

	sim_dma_from_memory(a->s.sim, pa, &value, sizeof(value));
	return value;
}

uint64_t arch_ops(const struct arch_machine *a, enum sim_op op)
{
	return sim_account(a->s.sim, QUIRE_SITE_COUNT, op)->count;
}
