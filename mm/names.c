/*
 * What quire/site.h lists of sites and steps: printed names, what a site keeps.
 */
#include <quire/site.h>
#include <quire/types.h>

static const char *const site_names[QUIRE_SITE_COUNT] = {
#define X(id, name, keeps) [QUIRE_SITE_##id] = name,
	QUIRE_SITES(X)
#undef X
};

static const enum quire_site_keeps site_keeps[QUIRE_SITE_COUNT] = {
#define X(id, name, keeps) [QUIRE_SITE_##id] = QUIRE_SITE_KEEPS_##keeps,
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

enum quire_site_keeps quire_site_keeps(enum quire_site site)
{
	return site_keeps[site];
}

const char *quire_step_name(enum quire_step step)
{
	return (unsigned)step < QUIRE_STEP_COUNT ? step_names[step] : NULL;
}
