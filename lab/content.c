/*
 * What files, buffers and maps should hold. See content.h.
 *
 * A content is a table of pages. An entry without a source means the base's page (or zeros); else
 * it is a page of a source, shared between contents by reference, and a short list of patches of up
 * to 8 bytes. Whatever does not fit is written out: a source of its own, one page of host memory.
 */
#include "lab/content.h"

#include <stdlib.h>
#include <string.h>

#include "lab/host.h"

#define PATCH_BYTES 8
#define PATCHES_MAX 8

enum source_kind { SOURCE_ZERO, SOURCE_RANDOM, SOURCE_UNKNOWN, SOURCE_BYTES };

struct source {
	enum source_kind kind;
	unsigned references;
	uint64_t key;    /* SOURCE_RANDOM */
	uint8_t bytes[]; /* SOURCE_BYTES: one page */
};

struct patch {
	struct patch *next;
	uint16_t at;
	uint8_t bytes;
	uint8_t data[PATCH_BYTES];
};

struct page {
	struct source *source; /* NULL: the base's */
	struct patch *patches; /* in the order of writing, last first */
	uint64_t position;     /* SOURCE_RANDOM: page of the source */
};

struct lab_content {
	unsigned references;
	struct lab_content *base;
	uint64_t base_page;
	struct page *pages;
	uint64_t count; /* pages in the table; beyond: as without a source */
};

/* --- Random data ---------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

uint64_t lab_random_seed(uint64_t key, uint64_t page)
{
	uint64_t seed = mix(mix(key + 1) + page + 1);

	return seed ? seed : 1;
}

void lab_random_page(uint64_t seed, void *page)
{
	uint64_t words[QUIRE_PAGE_BYTES / 8];

	words[0] = seed;
	for (size_t i = 1; i < QUIRE_PAGE_BYTES / 8; i++) {
		uint64_t x = seed + i * 0x9e3779b97f4a7c15u;

		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9u;
		words[i] = x ^ x >> 32;
	}
	memcpy(page, words, sizeof(words));
}

/* --- Sources -------------------------------------------------------------------------- */

static struct source *source_new(enum source_kind kind, uint64_t key)
{
	struct source *source =
		lab_new(sizeof(*source) + (kind == SOURCE_BYTES ? QUIRE_PAGE_BYTES : 0));

	source->kind = kind;
	source->references = 1;
	source->key = key;
	return source;
}

static void source_put(struct source *source)
{
	if (source && --source->references == 0)
		free(source);
}

static void page_clear(struct page *page)
{
	while (page->patches) {
		struct patch *next = page->patches->next;

		free(page->patches);
		page->patches = next;
	}
	source_put(page->source);
	page->source = NULL;
}

static void page_set(struct page *page, struct source *source, uint64_t position)
{
	source->references++;
	page_clear(page);
	page->source = source;
	page->position = position;
}

/* `to` has no page yet. */
static void page_copy(struct page *to, const struct page *from)
{
	struct patch **last = &to->patches;

	page_set(to, from->source, from->position);
	for (const struct patch *p = from->patches; p; p = p->next) {
		*last = lab_new(sizeof(**last));
		**last = *p;
		(*last)->next = NULL;
		last = &(*last)->next;
	}
}

static void apply_patches(const struct patch *patch, uint8_t *bytes)
{
	if (!patch)
		return;
	apply_patches(patch->next, bytes);
	memcpy(bytes + patch->at, patch->data, patch->bytes);
}

/* All bytes of a page with a source; false: not known. */
static bool page_bytes(const struct page *page, uint8_t *bytes)
{
	switch (page->source->kind) {
	case SOURCE_ZERO:
	case SOURCE_UNKNOWN:
		memset(bytes, 0, QUIRE_PAGE_BYTES);
		break;
	case SOURCE_RANDOM:
		lab_random_page(lab_random_seed(page->source->key, page->position), bytes);
		break;
	case SOURCE_BYTES:
		memcpy(bytes, page->source->bytes, QUIRE_PAGE_BYTES);
		break;
	}
	apply_patches(page->patches, bytes);
	return page->source->kind != SOURCE_UNKNOWN;
}

/* --- Contents ------------------------------------------------------------------------- */

struct lab_content *lab_content_new(struct lab_content *base, uint64_t base_offset)
{
	struct lab_content *content = lab_new(sizeof(*content));

	content->references = 1;
	content->base = base ? lab_content_get(base) : NULL;
	content->base_page = base_offset >> QUIRE_PAGE_SHIFT;
	return content;
}

struct lab_content *lab_content_get(struct lab_content *content)
{
	content->references++;
	return content;
}

void lab_content_put(struct lab_content *content)
{
	if (!content || --content->references)
		return;
	for (uint64_t i = 0; i < content->count; i++)
		page_clear(&content->pages[i]);
	free(content->pages);
	lab_content_put(content->base);
	free(content);
}

/* The page that decides: here, or in the base; NULL: zeros. */
static const struct page *find_page(const struct lab_content *content, uint64_t index)
{
	for (; content; index += content->base_page, content = content->base)
		if (index < content->count && content->pages[index].source)
			return &content->pages[index];
	return NULL;
}

static void reach(struct lab_content *content, uint64_t count)
{
	uint64_t room = content->count;

	if (count <= room)
		return;
	if (count < room + room / 2)
		count = room + room / 2;
	content->pages = lab_grow(content->pages, count * sizeof(*content->pages));
	memset(content->pages + room, 0, (count - room) * sizeof(*content->pages));
	content->count = count;
}

struct lab_content *lab_content_clone(const struct lab_content *content)
{
	struct lab_content *clone =
		lab_content_new(content->base, content->base_page << QUIRE_PAGE_SHIFT);

	reach(clone, content->count);
	for (uint64_t i = 0; i < content->count; i++)
		if (content->pages[i].source)
			page_copy(&clone->pages[i], &content->pages[i]);
	return clone;
}

/* Makes page `index` a source of bytes of its own, to be changed; returns the bytes. */
static uint8_t *own_bytes(struct lab_content *content, uint64_t index)
{
	const struct page *found;
	struct source *source;
	struct page *page;

	reach(content, index + 1);
	page = &content->pages[index];
	if (page->source && page->source->kind == SOURCE_BYTES && page->source->references == 1 &&
	    !page->patches)
		return page->source->bytes;
	source = source_new(SOURCE_BYTES, 0);
	found = find_page(content, index);
	if (found)
		page_bytes(found, source->bytes);
	page_set(page, source, 0);
	source_put(source);
	return source->bytes;
}

void lab_content_own(struct lab_content *content, uint64_t at, uint64_t bytes)
{
	uint64_t first = at >> QUIRE_PAGE_SHIFT;
	uint64_t last = (at + bytes - 1) >> QUIRE_PAGE_SHIFT;

	if (!bytes)
		return;
	reach(content, last + 1);
	for (uint64_t i = first; i <= last; i++) {
		const struct page *found = find_page(content, i);

		if (content->pages[i].source)
			continue;
		if (found) {
			page_copy(&content->pages[i], found);
		} else {
			struct source *zero = source_new(SOURCE_ZERO, 0);

			page_set(&content->pages[i], zero, 0);
			source_put(zero);
		}
	}
}

/* Bytes within one page. */
static void write_part(struct lab_content *content, uint64_t at, const uint8_t *from, size_t bytes)
{
	uint64_t index = at >> QUIRE_PAGE_SHIFT;
	struct page *page;
	unsigned patches = 0;

	if (bytes <= PATCH_BYTES)
		lab_content_own(content, at, bytes);
	reach(content, index + 1);
	page = &content->pages[index];
	if (page->source && page->source->kind == SOURCE_UNKNOWN)
		return;
	if (bytes <= PATCH_BYTES &&
	    !(page->source->kind == SOURCE_BYTES && page->source->references == 1)) {
		for (struct patch *p = page->patches; p; p = p->next)
			patches++;
		if (patches < PATCHES_MAX) {
			struct patch *patch = lab_new(sizeof(*patch));

			patch->at = (uint16_t)(at & QUIRE_PAGE_MASK);
			patch->bytes = (uint8_t)bytes;
			memcpy(patch->data, from, bytes);
			patch->next = page->patches;
			page->patches = patch;
			return;
		}
	}
	memcpy(own_bytes(content, index) + (at & QUIRE_PAGE_MASK), from, bytes);
}

static size_t part_of_page(uint64_t at, uint64_t bytes)
{
	size_t part = QUIRE_PAGE_BYTES - (at & QUIRE_PAGE_MASK);

	return part < bytes ? part : (size_t)bytes;
}

void lab_content_write(struct lab_content *content, uint64_t at, const void *from, size_t bytes)
{
	const uint8_t *byte = from;

	while (bytes) {
		size_t part = part_of_page(at, bytes);

		write_part(content, at, byte, part);
		at += part;
		byte += part;
		bytes -= part;
	}
}

/* Sets whole pages of a range to the source, and copies its bytes into the parts at the ends. */
static void set_source(struct lab_content *content, uint64_t at, uint64_t bytes,
		       enum source_kind kind, uint64_t key)
{
	struct source *source = source_new(kind, key);

	if (bytes)
		reach(content, ((at + bytes - 1) >> QUIRE_PAGE_SHIFT) + 1);
	while (bytes) {
		size_t part = part_of_page(at, bytes);
		uint64_t index = at >> QUIRE_PAGE_SHIFT;

		if (part == QUIRE_PAGE_BYTES || kind == SOURCE_UNKNOWN) {
			page_set(&content->pages[index], source, index);
		} else {
			struct page whole = {.source = source, .position = index};
			uint8_t data[QUIRE_PAGE_BYTES];

			page_bytes(&whole, data);
			write_part(content, at, data + (at & QUIRE_PAGE_MASK), part);
		}
		at += part;
		bytes -= part;
	}
	source_put(source);
}

void lab_content_zero(struct lab_content *content, uint64_t at, uint64_t bytes)
{
	set_source(content, at, bytes, SOURCE_ZERO, 0);
}

void lab_content_random(struct lab_content *content, uint64_t at, uint64_t bytes, uint64_t key)
{
	set_source(content, at, bytes, SOURCE_RANDOM, key);
}

void lab_content_forget(struct lab_content *content, uint64_t at, uint64_t bytes)
{
	set_source(content, at, bytes, SOURCE_UNKNOWN, 0);
}

void lab_content_truncate(struct lab_content *content, uint64_t bytes)
{
	uint64_t first = (bytes + QUIRE_PAGE_MASK) >> QUIRE_PAGE_SHIFT;
	uint64_t end = content->count << QUIRE_PAGE_SHIFT;

	if (bytes & QUIRE_PAGE_MASK && bytes < end)
		set_source(content, bytes, part_of_page(bytes, end - bytes), SOURCE_ZERO, 0);
	for (uint64_t i = first; i < content->count; i++)
		page_clear(&content->pages[i]);
}

/* One page, at page boundaries of both. */
static void copy_page(struct lab_content *to, uint64_t index, const struct page *from)
{
	reach(to, index + 1);
	if (from) {
		struct page copy = {0};

		page_copy(&copy, from);
		page_clear(&to->pages[index]);
		to->pages[index] = copy;
	} else {
		lab_content_zero(to, index << QUIRE_PAGE_SHIFT, QUIRE_PAGE_BYTES);
	}
}

void lab_content_copy(struct lab_content *to, uint64_t at, struct lab_content *from,
		      uint64_t from_at, uint64_t bytes)
{
	while (bytes) {
		size_t part = part_of_page(at, bytes);
		uint8_t data[QUIRE_PAGE_BYTES];

		if (part > QUIRE_PAGE_BYTES - (from_at & QUIRE_PAGE_MASK))
			part = QUIRE_PAGE_BYTES - (from_at & QUIRE_PAGE_MASK);
		if (part == QUIRE_PAGE_BYTES)
			copy_page(to, at >> QUIRE_PAGE_SHIFT,
				  find_page(from, from_at >> QUIRE_PAGE_SHIFT));
		else if (lab_content_read(from, from_at, data, part))
			write_part(to, at, data, part);
		else
			lab_content_forget(to, at, part);
		at += part;
		from_at += part;
		bytes -= part;
	}
}

bool lab_content_read(struct lab_content *content, uint64_t at, void *to, size_t bytes)
{
	uint8_t *byte = to;
	bool known = true;

	while (bytes) {
		size_t part = part_of_page(at, bytes);
		const struct page *page = find_page(content, at >> QUIRE_PAGE_SHIFT);
		uint8_t data[QUIRE_PAGE_BYTES];

		if (page) {
			known &= page_bytes(page, part == QUIRE_PAGE_BYTES ? byte : data);
			if (part != QUIRE_PAGE_BYTES)
				memcpy(byte, data + (at & QUIRE_PAGE_MASK), part);
		} else {
			memset(byte, 0, part);
		}
		at += part;
		byte += part;
		bytes -= part;
	}
	return known;
}

bool lab_content_equal(struct lab_content *content, uint64_t at, const void *got, size_t bytes,
		       uint64_t *known, size_t *differs, uint8_t *expected)
{
	const uint8_t *byte = got;
	size_t done = 0;

	*known = 0;
	while (done < bytes) {
		size_t part = part_of_page(at + done, bytes - done);
		uint8_t data[QUIRE_PAGE_BYTES];

		if (lab_content_read(content, at + done, data, part)) {
			if (memcmp(data, byte + done, part) != 0) {
				size_t i = 0;

				while (data[i] == byte[done + i])
					i++;
				*differs = done + i;
				*expected = data[i];
				return false;
			}
			*known += part;
		}
		done += part;
	}
	return true;
}
