/*
 * A memory manager over memory of the host, for tests with real threads: the port.
 */
#include "tests/support/native.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/simulated.h"

static _Thread_local unsigned this_cpu;

void native_be_cpu(unsigned cpu)
{
	this_cpu = cpu;
}

static unsigned port_cpu(void *context)
{
	(void)context;
	return this_cpu;
}

static void port_relax(void *context)
{
	(void)context;
	sched_yield();
}

static bool refused(struct native *n)
{
	long after = __atomic_load_n(&n->fail_after, __ATOMIC_RELAXED);

	__atomic_add_fetch(&n->allocations, 1, __ATOMIC_RELAXED);
	if (after < 0)
		return false;
	if (after > 0 || !n->fail_for_ever)
		__atomic_store_n(&n->fail_after, after - 1, __ATOMIC_RELAXED);
	return after == 0;
}

static void *port_alloc(void *context, size_t bytes, size_t align)
{
	struct native *n = context;
	void *memory;

	if (refused(n))
		return NULL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	memory = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
	if (!memory)
		abort();
	memset(memory, 0xa5, bytes);
	__atomic_add_fetch(&n->allocated, 1, __ATOMIC_RELAXED);
	return memory;
}

static void port_free(void *context, void *memory, size_t bytes)
{
	struct native *n = context;

	memset(memory, 0x5a, bytes);
	__atomic_sub_fetch(&n->allocated, 1, __ATOMIC_RELAXED);
	free(memory);
}

static void port_stop(void *context, const char *file, int line, const char *what)
	__attribute__((noreturn));

static void port_stop(void *context, const char *file, int line, const char *what)
{
	(void)context;
	fprintf(stderr, "%s:%d: stopped: %s\n", file, line, what);
	abort();
}

/* Nothing that these tests do needs another CPU's caches or TLB. */
static void port_cross_call(void *context, uint64_t cpus, void (*fn)(void *arg), void *arg)
{
	(void)cpus;
	(void)fn;
	(void)arg;
	port_stop(context, __FILE__, __LINE__, "a cross-call in a native test");
}

static bool port_can_cross_call(void *context)
{
	(void)context;
	return true;
}

static uint64_t port_time_ns(void *context)
{
	(void)context;
	return 0;
}

static void port_copy(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	(void)context;
	memcpy((void *)to, (const void *)from, bytes);
}

static void port_clear(void *context, uintptr_t to, size_t bytes)
{
	(void)context;
	memset((void *)to, 0, bytes);
}

static void port_read(void *context, void *to, uintptr_t from, size_t bytes)
{
	(void)context;
	memcpy(to, (const void *)from, bytes);
}

static void port_write(void *context, uintptr_t to, const void *from, size_t bytes)
{
	(void)context;
	memcpy((void *)to, from, bytes);
}

/* There are no users: user memory is the host's. */
static size_t port_copy_user(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	(void)context;
	memcpy((void *)to, (const void *)from, bytes);
	return 0;
}

static struct quire_port make_port(struct native *n, unsigned cpus)
{
	return (struct quire_port){
		.context = n,
		.hw = (struct quire_hw *)n->sim,
		.cpus = cpus,
		.kernel_base = (uintptr_t)n->arena,
		.kernel_text = (uintptr_t)n->arena,
		.kernel_text_bytes = NATIVE_TEXT_PAGES * QUIRE_PAGE_BYTES,
		.memory = n->memory,
		.memory_ranges = n->memory[1].bytes ? 2 : 1,
		.cpu = port_cpu,
		.relax = port_relax,
		.alloc = port_alloc,
		.free = port_free,
		.cross_call = port_cross_call,
		.can_cross_call = port_can_cross_call,
		.time_ns = port_time_ns,
		.copy = port_copy,
		.clear = port_clear,
		.read = port_read,
		.write = port_write,
		.copy_to_user = port_copy_user,
		.copy_from_user = port_copy_user,
		.stop = port_stop,
	};
}

void native_start_with_hole(struct native *n, unsigned cpus, unsigned pages, unsigned hole)
{
	struct sim_machine machine = simulated_machine(SIM_X86_64);
	struct quire_config config = {.policy = quire_policy_default()};
	const char *why = "";
	int error;

	memset(n, 0, sizeof(*n));
	n->fail_after = -1;
	machine.cpus = 1;
	n->sim = sim_create(&machine, &why);
	n->arena = aligned_alloc(QUIRE_PAGE_BYTES, (pages + hole) * QUIRE_PAGE_BYTES);
	if (!n->sim || !n->arena)
		port_stop(n, __FILE__, __LINE__, why);
	n->memory[0].bytes = (hole ? pages / 2 : pages) * QUIRE_PAGE_BYTES;
	n->memory[1].base = n->memory[0].bytes + hole * QUIRE_PAGE_BYTES;
	n->memory[1].bytes = pages * QUIRE_PAGE_BYTES - n->memory[0].bytes;
	this_cpu = 0;
	config.port = make_port(n, cpus);
	config.arch = &quire_arch_x86_64;
	config.policy.flush_range = QUIRE_FLUSH_LINE;
	n->q = quire_create(&config, &error);
	if (!n->q)
		port_stop(n, __FILE__, __LINE__, "quire_create");
}

void native_start(struct native *n, unsigned cpus, unsigned pages)
{
	native_start_with_hole(n, cpus, pages, 0);
}

void native_end(struct native *n)
{
	this_cpu = 0;
	quire_destroy(n->q);
	if (n->allocated)
		port_stop(n, __FILE__, __LINE__, "records leaked");
	sim_destroy(n->sim);
	free(n->arena);
	n->q = NULL;
}

struct thread {
	pthread_t id;
	struct native *n;
	unsigned cpu;
	void (*fn)(struct native *n, unsigned cpu);
};

static void *thread_main(void *arg)
{
	struct thread *thread = arg;

	native_be_cpu(thread->cpu);
	thread->fn(thread->n, thread->cpu);
	return NULL;
}

void native_run(struct native *n, unsigned cpus, void (*fn)(struct native *n, unsigned cpu))
{
	struct thread *threads = calloc(cpus, sizeof(*threads));

	if (!threads)
		abort();
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		threads[cpu] = (struct thread){.n = n, .cpu = cpu, .fn = fn};
		if (pthread_create(&threads[cpu].id, NULL, thread_main, &threads[cpu]))
			port_stop(n, __FILE__, __LINE__, "pthread_create");
	}
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		pthread_join(threads[cpu].id, NULL);
	free(threads);
}
