/*
 * The printed names of sites and steps, from the lists of quire/site.h.
 */
#include <quire/site.h>
#include <quire/types.h>

static const char *const site_names[QUIRE_SITE_COUNT] = {
#define X(id, name) [QUIRE_SITE_##id] = name,
	QUIRE_SITES(X)
#undef X
};

static const char *const step_names[QUIRE_STEP_COUNT] = {
#define X(id, name) [QUIRE_STEP_##id] = name,
	QUIRE_STEPS(X)
#undef X
};

const char *quire_site_name(enum quire_site site)
{
	return (unsigned)site < QUIRE_SITE_COUNT ? site_names[site] : NULL;
}

const char *quire_step_name(enum quire_step step)
{
	return (unsigned)step < QUIRE_STEP_COUNT ? step_names[step] : NULL;
}
