/*
 * The figures that a machine file may give: one table from section and key to a field of struct
 * sim_machine.
 *
 * The table drives everything that knows about keys: reading machine files, --set, `quire machines`
 * and its list of keys. A new figure is one row here.
 */
#ifndef LAB_FIGURES_H
#define LAB_FIGURES_H

#include "lab/lab.h"

enum figure_kind {
	FIGURE_COUNT, /* a whole number */
	FIGURE_SIZE,  /* bytes: "32K" */
	FIGURE_CLOCK, /* "1 GHz" */
	FIGURE_TICKS, /* "11.5 cycles", "110 ns", "37 cycles + 110 ns" */
	FIGURE_BOOL,  /* yes, no */
	FIGURE_WORD,  /* one of `words` */
};

struct figure_key {
	const char *section, *key;
	enum figure_kind kind;
	size_t offset, width;      /* of the field */
	uint64_t minimum, maximum; /* in the field's unit; FIGURE_TICKS: in cycles */
	bool required;
	const char *const *words; /* FIGURE_WORD: by number, NULL at the end */
	const char *meaning;      /* one line */
};

extern const struct figure_key figure_keys[];
extern const size_t figure_key_count;

/* NULL: no such key. */
const struct figure_key *figure_find(const char *section, const char *key);

/*
 * Reads `text` as a value of the key's kind into *value (FIGURE_TICKS: ticks at `clock_hz`). NULL,
 * or what is wrong (in `message`). `unit` (NULL: none) is taken where the text has no unit of its
 * own.
 */
const char *figure_parse(const struct figure_key *key, const char *text, const char *unit,
			 uint64_t clock_hz, uint64_t *value, char *message, size_t message_bytes);

/* The field's value, and its change. */
uint64_t figure_get(const struct sim_machine *machine, const struct figure_key *key);
void figure_put(struct sim_machine *machine, const struct figure_key *key, uint64_t value);

/* What values are right: "a time from 0 to 100,000 cycles, as in 11.5 cycles or 110 ns". */
void figure_expected(const struct figure_key *key, char *text, size_t bytes);

#endif
