/*
 * The table of figures, and their values as text: sizes, clocks, times, words.
 *
 * Numbers are read exactly, as a whole number over a power of ten, never through floating point: a
 * machine file gives the same ticks on every host.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "lab/figures.h"

#define FIELD(field) offsetof(struct sim_machine, field), sizeof(((struct sim_machine *)0)->field)

#define COUNT(section, key, field, low, high, required, meaning)                             \
	{                                                                                    \
		section, key, FIGURE_COUNT, FIELD(field), low, high, required, NULL, meaning \
	}
#define SIZE(section, key, field, low, high, required, meaning)                             \
	{                                                                                   \
		section, key, FIGURE_SIZE, FIELD(field), low, high, required, NULL, meaning \
	}
#define BOOL(section, key, field, required, meaning)                                   \
	{                                                                              \
		section, key, FIGURE_BOOL, FIELD(field), 0, 1, required, NULL, meaning \
	}
#define WORD(section, key, field, words, required, meaning)                             \
	{                                                                               \
		section, key, FIGURE_WORD, FIELD(field), 0, 0, required, words, meaning \
	}
#define COST(key, field, high, required, meaning)                                              \
	{                                                                                      \
		"cost", key, FIGURE_TICKS, FIELD(cost.field), 0, high, required, NULL, meaning \
	}
#define STEP(key, id, meaning)                                                                     \
	{                                                                                          \
		"kernel", key, FIGURE_TICKS, FIELD(cost.step[QUIRE_STEP_##id]), 0, 1000000, false, \
			NULL, meaning                                                              \
	}

static const char *const isa_words[] = {"armv7", "parisc", "x86_64", "bare", NULL};
static const char *const index_words[] = {"pipt", "vipt", "vivt", NULL};
static const char *const replace_words[] = {"round-robin", "random", "lru", NULL};
static const char *const level_words[] = {"l1", "l2", "memory", NULL};

/* clang-format off */
#define CACHE(section, cache, present) \
	SIZE(section, "size", cache.bytes, 0, (uint64_t)1 << 30, present, \
		"bytes; 0: there is none"), \
	COUNT(section, "ways", cache.ways, 1, 64, false, "lines of one set"), \
	SIZE(section, "line", cache.line_bytes, 16, 256, false, "bytes of a line"), \
	WORD(section, "index", cache.index, index_words, false, \
		"address that indexes and tags it"), \
	WORD(section, "replace", cache.replace, replace_words, false, "which line of a set goes"), \
	BOOL(section, "write_back", cache.write_back, false, \
		"stores stay here until evicted or cleaned"), \
	BOOL(section, "write_allocate", cache.write_allocate, false, \
		"a store that misses takes the line"), \
	BOOL(section, "fill_whole", cache.fill_whole, false, \
		"a store of a whole line that misses reads it first")

const struct figure_key figure_keys[] = {
	WORD("machine", "isa", isa, isa_words, true, "instruction set: which arch/ boots; bare: none"),
	COUNT("machine", "cpus", cpus, 1, 16, true, "CPUs"),
	{ "machine", "clock", FIGURE_CLOCK, FIELD(clock_hz), 1000000, 10000000000u, true, NULL,
		"clock of every CPU" },
	SIZE("machine", "memory", memory_bytes, (uint64_t)1 << 20, (uint64_t)64 << 30, true, "RAM"),
	SIZE("machine", "kernel_text", kernel_text_bytes, 4096, (uint64_t)64 << 20, true,
		"kernel image at the bottom of memory"),
	SIZE("machine", "copy_text", copy_text_bytes, 0, 4096, false,
		"copy routine, fetched at each call"),
	CACHE("l1i", l1i, true),
	CACHE("l1d", l1d, true),
	CACHE("l2", l2, false),
	BOOL("l2", "outer", l2_outer, false,
		"maintained by physical address through its own registers"),
	COUNT("tlb", "entries", tlb.entries, 1, 8192, true,
		"entries of one CPU, instruction and data"),
	COUNT("tlb", "ways", tlb.ways, 1, 8192, true,
		"entries of one set; equal to entries: fully associative"),
	BOOL("tlb", "tagged", tlb.tagged, true, "entries carry an address-space number"),
	COUNT("tlb", "asid_bits", asid_bits, 0, 32, false, "bits of that number"),
	COUNT("tlb", "walk_cache", tlb.walk_cache, 0, 64, false,
		"upper entries that a CPU's hardware walker keeps; 0: none"),
	BOOL("coherence", "data", data_coherent, true,
		"hardware keeps the D caches of all CPUs coherent"),
	BOOL("coherence", "insn_snoops_data", insn_snoops_data, true,
		"fetches see stores without maintenance"),
	BOOL("coherence", "maintenance_broadcast", maintenance_broadcast, true,
		"cache operations by address reach all CPUs"),
	BOOL("coherence", "tlb_broadcast", tlb_broadcast, true, "TLB operations reach all CPUs"),
	WORD("coherence", "walker", walker, level_words, true, "where the table walker reads"),
	BOOL("coherence", "dma", dma_coherent, true, "devices see and update the caches"),
	SIZE("coherence", "colour", colour_bytes, 0, (uint64_t)1 << 30, false,
		"architected alias boundary; 0: none"),
	BOOL("coherence", "alias_check", alias_check, false,
		"a miss in L1 D finds its line at other indexes (bare machines)"),
	COUNT("coherence", "store_buffer", store_buffer, 0, 64, false,
		"entries of a store buffer that forwards by virtual address; 0: exact"),
	SIZE("coherence", "store_buffer_colour", store_buffer_bytes, 0, (uint64_t)1 << 32, false,
		"it forwards only between addresses equal modulo this; 4G: whole addresses"),
	COST("l1_line", l1_line, 1000, true, "a line's worth of a copy or clear that hits L1"),
	COST("l1_access", l1_access, 1000, true, "one load or store that hits L1"),
	COST("fetch_line", fetch_line, 1000, true, "one line of instructions that hits"),
	COST("l2_read", l2_read, 10000, false, "a line from L2 to L1"),
	COST("l2_write", l2_write, 10000, false,
		"a line from L1 to L2: dirty victim, clean by address"),
	COST("memory_read", memory_read, 100000, true,
		"a line from memory, stall as the CPU sees it"),
	COST("memory_write", memory_write, 100000, true, "a line to memory"),
	COST("alias", alias, 100000, false,
		"alias_check: more, for each line found at another index"),
	COST("tlb_miss", tlb_miss, 100000, true, "a TLB miss beyond the accesses of its walk"),
	COST("tlb_absent", tlb_absent, 100000, false,
		"software fill: a cache operation without a translation, each"),
	COST("data_op", data_op, 100000, true, "D operation by address: issue and lookup"),
	COST("data_op_clean", data_op_clean, 100000, true,
		"more, when the line is present and clean"),
	COST("data_op_dirty", data_op_dirty, 100000, true,
		"more, when it is dirty, beyond the write itself"),
	COST("data_op_set", data_op_set, 100000, true,
		"D operation by set and way, one step of a whole-cache loop"),
	COST("insn_op", insn_op, 100000, true, "I operation by address"),
	COST("insn_op_set", insn_op_set, 100000, false, "one step of a whole I cache loop"),
	COST("insn_all", insn_all, 1000000, false,
		"invalidates the whole I cache in one operation"),
	COST("broadcast", broadcast, 100000, true,
		"more, for each operation that reaches other CPUs"),
	COST("outer_op", outer_op, 100000, false,
		"outer cache: register write of an operation by address"),
	COST("outer_sync", outer_sync, 100000, false,
		"outer cache: wait until its operations are done"),
	COST("barrier", barrier, 100000, true,
		"barrier that completes maintenance (DSB, SYNC, MFENCE)"),
	COST("insn_barrier", insn_barrier, 100000, false, "instruction barrier (ISB)"),
	COST("tlb_op", tlb_op, 100000, true, "TLB operation on one entry"),
	COST("tlb_all", tlb_all, 1000000, true, "TLB operation on all entries or a space"),
	COST("locked", locked, 10000, true, "an atomic exchange, beyond its access"),
	COST("cross_call", cross_call, 1000000, true,
		"one call to other CPUs: send, take the interrupt, answer"),
	COST("disk_request", disk_request, 4000000, true, "a transfer of a disk, beyond its bytes"),
	COST("disk_page", disk_page, 4000000, true, "one page of a transfer"),
	STEP("syscall", SYSCALL, "entry to and return from a system call"),
	STEP("fault", FAULT, "exception entry, area lookup, return"),
	STEP("fault-anon", FAULT_ANON, "an anonymous page is made and mapped"),
	STEP("fault-file", FAULT_FILE, "a page of the page cache is mapped"),
	STEP("fault-copy", FAULT_COPY, "copy on write"),
	STEP("fault-write", FAULT_WRITE, "first store to a shared file page"),
	STEP("read-page", READ_PAGE, "one page of read(): lookup, mark, copy set-up"),
	STEP("write-page", WRITE_PAGE, "one page of write(): lookup, begin, end"),
	STEP("page-cache-add", CACHE_ADD, "a page enters the page cache"),
	STEP("page-cache-remove", CACHE_REMOVE, "a page leaves the page cache"),
	STEP("tmpfs-account", TMPFS_ACCOUNT, "tmpfs charges a page"),
	STEP("page-alloc", PAGE_ALLOC, "a page taken from the free lists"),
	STEP("page-free", PAGE_FREE, "a page given back"),
	STEP("area-change", AREA_CHANGE, "an area inserted, split, merged or removed"),
	STEP("area-check", AREA_CHECK, "an area looked at by msync"),
	STEP("entry-walk", ENTRY_WALK, "one table entry visited in a range walk"),
	STEP("entry-protect", ENTRY_PROTECT, "one table entry write-protected, its page marked"),
	STEP("table-protect", TABLE_PROTECT, "one upper entry write-protected"),
	STEP("table-enter", TABLE_ENTER,
		"the first entry of a table write-protected in a range walk"),
	STEP("unmap-entry", UNMAP_ENTRY, "one table entry removed, its page dropped"),
	STEP("space-create", SPACE_CREATE, "a space is made"),
	STEP("space-destroy", SPACE_DESTROY, "a space ends"),
	STEP("fork-space", FORK_SPACE, "fork beyond its areas and entries"),
	STEP("fork-area", FORK_AREA, "one area copied by fork"),
	STEP("fork-entry", FORK_ENTRY, "one table entry copied by fork"),
	STEP("switch", SWITCH, "another space is loaded on a CPU"),
	STEP("writeback-page", WRITEBACK_PAGE, "one page handed to its device"),
	STEP("lock", LOCK, "a lock is taken"),
	STEP("flag", FLAG, "a page flag changes"),
	{ "kernel", "copy-set-up", FIGURE_TICKS, FIELD(cost.copy_set_up), 0, 100000, false, NULL,
		"each call of the kernel's copy or clear routine" },
	{ "program", "exec", FIGURE_TICKS, FIELD(cost.exec), 0, 4000000, false, NULL,
		"the kernel's work to load a program, beyond its pages" },
	{ "program", "shell", FIGURE_TICKS, FIELD(cost.shell), 0, 4000000, false, NULL,
		"a shell's own work from its start to its first fork" },
};
/* clang-format on */

const size_t figure_key_count = sizeof(figure_keys) / sizeof(figure_keys[0]);

/* A step or a cost added to the simulator without a row here would silently cost nothing. */
#define COSTS_BEFORE_STEPS (offsetof(struct sim_costs, step) / sizeof(uint32_t))
_Static_assert(sizeof(figure_keys) / sizeof(figure_keys[0]) ==
		       6 + 3 * 8 + 1 + 5 + 10 + COSTS_BEFORE_STEPS + QUIRE_STEP_COUNT + 3,
	       "every cost and every kernel step has one row in figure_keys");

const struct figure_key *figure_find(const char *section, const char *key)
{
	for (size_t i = 0; i < figure_key_count; i++)
		if (strcmp(figure_keys[i].section, section) == 0 &&
		    strcmp(figure_keys[i].key, key) == 0)
			return &figure_keys[i];
	return NULL;
}

uint64_t figure_get(const struct sim_machine *machine, const struct figure_key *key)
{
	const char *field = (const char *)machine + key->offset;
	uint64_t wide;
	uint32_t narrow;

	if (key->kind == FIGURE_BOOL)
		return *(const bool *)field;
	if (key->width == sizeof(wide)) {
		memcpy(&wide, field, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, field, sizeof(narrow));
	return narrow;
}

void figure_put(struct sim_machine *machine, const struct figure_key *key, uint64_t value)
{
	char *field = (char *)machine + key->offset;
	uint32_t narrow = (uint32_t)value;

	if (key->kind == FIGURE_BOOL)
		*(bool *)field = value;
	else if (key->width == sizeof(value))
		memcpy(field, &value, sizeof(value));
	else
		memcpy(field, &narrow, sizeof(narrow));
}

/* --- Values as text --- */

/* mantissa / scale, scale a power of ten. */
struct decimal {
	uint64_t mantissa, scale;
};

/* Reads a number without sign, at most 18 digits; NULL, or the text after it and any spaces. */
static const char *read_decimal(const char *text, struct decimal *number)
{
	unsigned digits = 0;
	bool point = false;

	number->mantissa = 0;
	number->scale = 1;
	for (; isdigit((unsigned char)*text) || (*text == '.' && !point && digits); text++) {
		if (*text == '.') {
			point = true;
			if (!isdigit((unsigned char)text[1]))
				return NULL;
			continue;
		}
		if (++digits > 18)
			return NULL;
		number->mantissa = number->mantissa * 10 + (unsigned)(*text - '0');
		if (point)
			number->scale *= 10;
	}
	return digits ? text + strspn(text, " ") : NULL;
}

struct unit {
	const char *name;
	uint64_t times; /* ns: a time; else a factor */
	bool time;      /* in ns, not in cycles */
};

static const struct unit cost_units[] = {{"cycles", 1, false},
					 {"cycle", 1, false},
					 {"ns", 1, true},
					 {"us", 1000, true},
					 {"ms", 1000000, true}};
static const struct unit clock_units[] = {{"Hz", 1, false},
					  {"kHz", 1000, false},
					  {"MHz", 1000000, false},
					  {"GHz", 1000000000, false}};

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name,
				    size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0)
			return &units[i];
	return NULL;
}

/* One term of a time, "11.5 cycles", added to *ticks, rounded to the nearest; NULL: not one. */
static const char *read_cost(const char *text, const char *default_unit, uint64_t clock_hz,
			     uint64_t *ticks)
{
	struct decimal number;
	const struct unit *unit;
	unsigned __int128 value, scale;
	const char *end = read_decimal(text, &number);
	size_t length;

	if (!end)
		return NULL;
	length = strspn(end, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	if (length == 0 && number.mantissa == 0)
		return end;
	unit = length ? find_unit(cost_units, sizeof(cost_units) / sizeof(cost_units[0]), end,
				  length)
	       : default_unit ? find_unit(cost_units, sizeof(cost_units) / sizeof(cost_units[0]),
					  default_unit, strlen(default_unit))
			      : NULL;
	if (!unit || number.mantissa > UINT64_C(1000000000000000))
		return NULL;
	value = (unsigned __int128)number.mantissa * unit->times * SIM_TICKS_A_CYCLE;
	scale = number.scale;
	if (unit->time) {
		value *= clock_hz;
		scale *= 1000000000;
	}
	value = (value + scale / 2) / scale + *ticks;
	if (value > UINT64_MAX)
		return NULL;
	*ticks = (uint64_t)value;
	end += length;
	return end + strspn(end, " ");
}

static bool parse_ticks(const char *text, const char *unit, uint64_t clock_hz, uint64_t *ticks)
{
	*ticks = 0;
	for (;;) {
		text = read_cost(text, unit, clock_hz, ticks);
		if (!text)
			return false;
		if (*text != '+')
			return !*text;
		text += 1 + strspn(text + 1, " ");
	}
}

static bool parse_clock(const char *text, const char *default_unit, uint64_t *hz)
{
	struct decimal number;
	const char *end = read_decimal(text, &number);
	const char *name = end && *end ? end : default_unit;
	const struct unit *unit =
		end && name ? find_unit(clock_units, sizeof(clock_units) / sizeof(clock_units[0]),
					name, strlen(name))
			    : NULL;
	unsigned __int128 value;

	if (!unit)
		return false;
	value = (unsigned __int128)number.mantissa * unit->times;
	if (value % number.scale || value / number.scale > UINT64_MAX)
		return false;
	*hz = (uint64_t)(value / number.scale);
	return true;
}

static bool parse_word(const char *text, const char *const *words, uint64_t *value)
{
	for (uint64_t i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0) {
			*value = i;
			return true;
		}
	return false;
}

static bool parse_count(const char *text, uint64_t *value)
{
	struct decimal number;
	const char *end = read_decimal(text, &number);

	*value = number.mantissa;
	return end && !*end && number.scale == 1;
}

static const char *const bool_words[] = {"no", "yes", NULL};

static bool parse_value(const struct figure_key *key, const char *text, const char *unit,
			uint64_t clock_hz, uint64_t *value)
{
	switch (key->kind) {
	case FIGURE_COUNT:
		return parse_count(text, value);
	case FIGURE_SIZE:
		return lab_parse_size(text, value);
	case FIGURE_CLOCK:
		return parse_clock(text, unit, value);
	case FIGURE_TICKS:
		return parse_ticks(text, unit, clock_hz, value);
	case FIGURE_BOOL:
		return parse_word(text, bool_words, value);
	case FIGURE_WORD:
		return parse_word(text, key->words, value);
	}
	return false;
}

static bool in_bounds(const struct figure_key *key, uint64_t value)
{
	if (key->kind == FIGURE_WORD || key->kind == FIGURE_BOOL)
		return true;
	if (key->kind == FIGURE_TICKS)
		return value >= key->minimum * SIM_TICKS_A_CYCLE &&
		       value <= key->maximum * SIM_TICKS_A_CYCLE;
	return value >= key->minimum && value <= key->maximum;
}

/* "a, b or c" */
static void list_words(const char *const *words, char *text, size_t bytes)
{
	size_t used = 0;

	for (size_t i = 0; words[i] && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s",
					 i == 0         ? ""
					 : words[i + 1] ? ", "
							: " or ",
					 words[i]);
}

/* A size as one writes it: "32K". */
static void print_size(uint64_t value, char *text, size_t bytes)
{
	static const char suffixes[] = " KMGT";
	unsigned power = 0;

	while (value && value % 1024 == 0 && power < 4) {
		value /= 1024;
		power++;
	}
	snprintf(text, bytes, power ? "%llu%c" : "%llu", (unsigned long long)value,
		 suffixes[power]);
}

void figure_expected(const struct figure_key *key, char *text, size_t bytes)
{
	unsigned long long low = key->minimum, high = key->maximum;
	char sizes[2][24];

	switch (key->kind) {
	case FIGURE_COUNT:
		snprintf(text, bytes, "a whole number from %llu to %llu", low, high);
		break;
	case FIGURE_SIZE:
		print_size(low, sizes[0], sizeof(sizes[0]));
		print_size(high, sizes[1], sizeof(sizes[1]));
		snprintf(text, bytes, "a size from %s to %s, as in 32K", sizes[0], sizes[1]);
		break;
	case FIGURE_CLOCK:
		snprintf(text, bytes, "a clock from %llu to %llu MHz, as in 1.2 GHz", low / 1000000,
			 high / 1000000);
		break;
	case FIGURE_TICKS:
		snprintf(text, bytes,
			 "a time from %llu to %llu cycles, as in 11.5 cycles or 110 ns", low, high);
		break;
	case FIGURE_BOOL:
		snprintf(text, bytes, "yes or no");
		break;
	case FIGURE_WORD:
		list_words(key->words, text, bytes);
		break;
	}
}

const char *figure_parse(const struct figure_key *key, const char *text, const char *unit,
			 uint64_t clock_hz, uint64_t *value, char *message, size_t message_bytes)
{
	const char *const *words = key->kind == FIGURE_BOOL ? bool_words : key->words;
	const char *nearest = NULL;
	size_t count = 0;
	char expected[120];

	if (parse_value(key, text, unit, clock_hz, value) && in_bounds(key, *value))
		return NULL;
	figure_expected(key, expected, sizeof(expected));
	while (words && words[count])
		count++;
	if (count)
		nearest = lab_nearest(text, words, count);
	snprintf(message, message_bytes, "%s.%s cannot be '%.60s', expected %s%s%s%s", key->section,
		 key->key, text, expected, nearest ? "; did you mean '" : "",
		 nearest ? nearest : "", nearest ? "'?" : "");
	return message;
}
