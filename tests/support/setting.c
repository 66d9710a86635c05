/*
 * Settings of small worlds: the shipped machines, made small.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/setting.h"

struct explore_setting setting_for(const char *name, unsigned cpus, unsigned pages)
{
	struct explore_setting setting = {
		.policy = quire_policy_default(),
		.pages = pages,
		.dropped = QUIRE_SITE_COUNT,
		.mutant = EXPLORE_MUTANT_NONE,
	};
	char path[100];
	struct lab_machine *machine;

	snprintf(path, sizeof(path), "machines/%s.ini", name);
	machine = lab_machine_load(stderr, path);
	assert_non_null(machine);
	assert_null(explore_machine(&setting.machine, &machine->sim, cpus));
	explore_setting_ready(&setting);
	lab_machine_free(machine);
	return setting;
}
