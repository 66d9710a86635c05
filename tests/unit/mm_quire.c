/*
 * The beginning and end of a memory manager: configurations that are refused, and memory that is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mm/percpu.h"
#include "tests/support/simulated.h"

static struct simulated s;

static int boot_changed(void (*change)(struct quire_config *config))
{
	struct sim_machine machine = simulated_machine(SIM_PARISC);
	int error;

	machine.memory_bytes = 4 << 20;
	simulated_prepare(&s, &machine, NULL);
	change(&s.config);
	error = simulated_boot(&s);
	simulated_end(&s);
	return error;
}

static void nothing(struct quire_config *c)
{
	(void)c;
}

#define CHANGE(name, statement)                           \
	static void change_##name(struct quire_config *c) \
	{                                                 \
		statement;                                \
	}
#define CHANGES(X)                                                                \
	X(no_arch, c->arch = NULL)                                                \
	X(no_cpu, c->port.cpu = NULL)                                             \
	X(no_relax, c->port.relax = NULL)                                         \
	X(no_alloc, c->port.alloc = NULL)                                         \
	X(no_free, c->port.free = NULL)                                           \
	X(no_cross_call, c->port.cross_call = NULL)                               \
	X(no_can_cross_call, c->port.can_cross_call = NULL)                       \
	X(no_time, c->port.time_ns = NULL)                                        \
	X(no_copy, c->port.copy = NULL)                                           \
	X(no_clear, c->port.clear = NULL)                                         \
	X(no_read, c->port.read = NULL)                                           \
	X(no_write, c->port.write = NULL)                                         \
	X(no_to_user, c->port.copy_to_user = NULL)                                \
	X(no_from_user, c->port.copy_from_user = NULL)                            \
	X(no_stop, c->port.stop = NULL)                                           \
	X(half_maintenance, c->port.maintenance_end = NULL)                       \
	X(no_cpus, c->port.cpus = 0)                                              \
	X(many_cpus, c->port.cpus = QUIRE_CPUS_MAX + 1)                           \
	X(no_memory, c->port.memory = NULL)                                       \
	X(no_ranges, c->port.memory_ranges = 0)                                   \
	X(no_window, c->port.alias_window = 0)                                    \
	X(odd_window, c->port.alias_window += QUIRE_PAGE_BYTES)                   \
	X(text_wraps, c->port.kernel_text_bytes = SIZE_MAX)                       \
	X(coherence, c->policy.coherence = (enum quire_coherence_policy)99)       \
	X(pte_clean, c->policy.pte_clean = (enum quire_pte_clean_policy)99)       \
	X(flush_range, c->policy.flush_range = (enum quire_flush_range_policy)99) \
	X(tmpfs_clear, c->policy.tmpfs_clear = (enum quire_tmpfs_clear_policy)99) \
	X(file_times, c->policy.file_times = (enum quire_file_times_policy)99)    \
	X(around_none, c->policy.fault_around_pages = 0)                          \
	X(around_odd, c->policy.fault_around_pages = 12)

CHANGES(CHANGE)

static void changed_configurations_are_refused(void **state)
{
	(void)state;
	assert_int_equal(boot_changed(nothing), 0);
#define CHECK(name, statement) assert_int_equal(boot_changed(change_##name), -QUIRE_EINVAL);
	CHANGES(CHECK)
#undef CHECK
}

static int boot_memory(const struct quire_memory *memory, unsigned ranges)
{
	struct sim_machine machine = simulated_machine(SIM_X86_64);
	int error;

	simulated_prepare(&s, &machine, NULL);
	s.config.port.memory = memory;
	s.config.port.memory_ranges = ranges;
	error = simulated_boot(&s);
	simulated_end(&s);
	return error;
}

static void memory_ranges_are_checked(void **state)
{
	const uint64_t page = QUIRE_PAGE_BYTES, mib = 1 << 20;
	const struct quire_memory good[] = {{mib, mib}, {4 * mib, mib}, {2 * mib, 2 * mib}};
	const struct quire_memory overlap[] = {{mib, mib}, {2 * mib - page, mib}};
	const struct quire_memory inside[] = {{2 * mib, page}, {mib, 4 * mib}};
	const struct quire_memory odd_base[] = {{mib + 1, mib}};
	const struct quire_memory odd_bytes[] = {{mib, mib + 512}};
	const struct quire_memory empty[] = {{mib, 0}};
	const struct quire_memory high[] = {{(uint64_t)1 << 44, mib}};
	const struct quire_memory across[] = {{((uint64_t)1 << 44) - page, 2 * page}};
	const struct quire_memory wraps[] = {{UINT64_MAX - page + 1, 2 * page}};

	(void)state;
	assert_int_equal(boot_memory(good, 3), 0);
	assert_int_equal(boot_memory(overlap, 2), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(inside, 2), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(odd_base, 1), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(odd_bytes, 1), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(empty, 1), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(high, 1), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(across, 1), -QUIRE_EINVAL);
	assert_int_equal(boot_memory(wraps, 1), -QUIRE_EINVAL);
}

/* simulated_end sees whether anything leaked. */
static void refused_memory_unwinds(void **state)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		struct sim_machine machine = simulated_machine(isas[n]);
		int error = -QUIRE_ENOMEM;
		long after;

		for (after = 0; error; after++) {
			simulated_prepare(&s, &machine, NULL);
			s.fail_after = after;
			error = simulated_boot(&s);
			assert_true(error == 0 || error == -QUIRE_ENOMEM);
			simulated_end(&s);
		}
		assert_true(after > 4);
	}
}

/* A space takes records and pages: each may be refused, and then nothing is left behind. */
static void space_without_memory(void **state)
{
	static const enum sim_isa isas[] = {SIM_ARMV7, SIM_PARISC, SIM_X86_64};

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		struct sim_machine machine = simulated_machine(isas[n]);
		struct quire_usage before, after;
		struct quire_space *space = NULL;
		int error;

		simulated_start(&s, &machine, NULL);
		quire_usage(s.q, &before);
		assert_int_equal(before.free, before.pages);
		assert_int_equal(before.tables, 0);
		for (long refuse = 0; !space; refuse++) {
			s.fail_after = refuse;
			space = quire_space_create(s.q, &error);
			quire_usage(s.q, &after);
			if (!space) {
				assert_int_equal(error, -QUIRE_ENOMEM);
				assert_int_equal(after.free, before.free);
			}
		}
		s.fail_after = -1;
		assert_true(after.tables > 0);
		quire_space_destroy(space);
		quire_usage(s.q, &after);
		assert_int_equal(after.free, before.free);
		assert_int_equal(after.tables, 0);
		simulated_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_configurations_are_refused),
		cmocka_unit_test(memory_ranges_are_checked),
		cmocka_unit_test(refused_memory_unwinds),
		cmocka_unit_test(space_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
