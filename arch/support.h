/*
 * What the architectures share: a lock for their own state, and calls to other CPUs.
 *
 * Their state is touched on context switches and context creation only, so one spin lock a machine
 * does.
 */
#ifndef QUIRE_ARCH_SUPPORT_H
#define QUIRE_ARCH_SUPPORT_H

#include "arch/arch.h"
#include "mm/atomic.h"

static inline void arch_lock(struct quire_machine *machine, struct quire_atomic *lock)
{
	while (quire_atomic_swap(lock, 1))
		machine->port.relax(machine->port.context);
}

static inline void arch_unlock(struct quire_atomic *lock)
{
	quire_atomic_set(lock, 0);
}

static inline unsigned arch_cpu(struct quire_machine *machine)
{
	return machine->port.cpu(machine->port.context);
}

/* The set of all CPUs of the machine. */
static inline uint64_t arch_all_cpus(const struct quire_machine *machine)
{
	return ~(uint64_t)0 >> (QUIRE_CPUS_MAX - machine->port.cpus);
}

static inline bool arch_can_call(struct quire_machine *machine)
{
	return machine->port.cpus == 1 || machine->port.can_cross_call(machine->port.context);
}

/*
 * Runs fn(arg) on the CPUs of a set. Where only the caller is meant this is a plain call. The
 * caller asked arch_can_call, or there is no other way to be right: then not being able to is a
 * broken contract of the embedding kernel, and going on would leave stale entries behind.
 */
static inline void arch_on_cpus(struct quire_machine *machine, uint64_t cpus, void (*fn)(void *arg),
				void *arg)
{
	struct quire_port *port = &machine->port;
	uint64_t self = (uint64_t)1 << arch_cpu(machine);

	if (!(cpus & ~self)) {
		if (cpus)
			fn(arg);
		return;
	}
	if (!port->can_cross_call(port->context))
		port->stop(port->context, __FILE__, __LINE__,
			   "maintenance that needs other CPUs was asked for where they cannot be "
			   "called");
	port->cross_call(port->context, cpus, fn, arg);
}

/* Zeroed memory for an architecture's state; NULL: none left. */
static inline void *arch_alloc(struct quire_machine *machine, size_t bytes)
{
	unsigned char *memory = machine->port.alloc(machine->port.context, bytes, 64);

	for (size_t i = 0; memory && i < bytes; i++)
		memory[i] = 0;
	return memory;
}

static inline void arch_free(struct quire_machine *machine, void *memory, size_t bytes)
{
	machine->port.free(machine->port.context, memory, bytes);
}

static inline uintptr_t arch_round_down(uintptr_t address, size_t unit)
{
	return address & ~(uintptr_t)(unit - 1);
}

#endif
