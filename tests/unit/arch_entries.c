/*
 * Table entries of every architecture: what is encoded is decoded, with every bit of every frame
 * that the format holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arch/arch.h"
#include <quire/quire.h>

#define ALL_BITS 64u /* enum quire_entry_bits uses six */

struct format {
	const struct quire_arch *arch;
	unsigned frame_bits;
};

static const struct format formats[] = {
	{&quire_arch_armv7, 20},
	{&quire_arch_parisc, 52},
	{&quire_arch_x86_64, 40},
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static void check_round_trip(const struct format *format, uint64_t frame)
{
	for (unsigned bits = 0; bits < ALL_BITS; bits++) {
		struct quire_entry entry = {frame, bits | QUIRE_ENTRY_PRESENT}, back;
		uint64_t raw = format->arch->encode(entry);

		assert_int_not_equal(raw, 0);
		if (format->arch->table.entry_bytes[format->arch->table.levels - 1] == 4)
			assert_int_equal(raw >> 32, 0);
		back = format->arch->decode(raw);
		assert_int_equal(back.frame, frame);
		assert_int_equal(back.bits, entry.bits);
	}
}

static void leaf_entries_survive(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FORMATS; i++) {
		check_round_trip(&formats[i], 0);
		check_round_trip(&formats[i], ((uint64_t)1 << formats[i].frame_bits) - 1);
		for (unsigned bit = 0; bit < formats[i].frame_bits; bit++)
			check_round_trip(&formats[i], (uint64_t)1 << bit);
	}
}

static void nothing_is_zero(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FORMATS; i++) {
		struct quire_entry none = {0, 0};

		assert_int_equal(formats[i].arch->encode(none), 0);
		assert_int_equal(formats[i].arch->decode(0).bits, 0);
	}
}

static void check_table(const struct format *format, unsigned level, quire_pa_t table,
			bool read_only)
{
	quire_pa_t back = 1;
	bool forbids = !read_only;
	uint64_t raw = format->arch->encode_table(level, table, read_only);

	assert_int_not_equal(raw, 0);
	assert_true(format->arch->decode_table(level, raw, &back, &forbids));
	assert_int_equal(back, table);
	assert_int_equal(forbids, read_only);
}

static void table_entries_survive(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FORMATS; i++) {
		bool subtrees = formats[i].arch != &quire_arch_armv7;
		quire_pa_t table;
		bool read_only;

		for (unsigned level = 0; level + 1 < formats[i].arch->table.levels; level++) {
			assert_false(formats[i].arch->decode_table(level, 0, &table, &read_only));
			for (unsigned bit = 0; bit < formats[i].frame_bits; bit++) {
				table = (quire_pa_t)1 << (QUIRE_PAGE_SHIFT + bit);
				check_table(&formats[i], level, table, false);
				if (subtrees)
					check_table(&formats[i], level, table, true);
			}
		}
	}
}

/* The format tables agree with themselves: each level's entries fill its table and cover the level
 * above's entry. */
static void formats_add_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FORMATS; i++) {
		const struct quire_table_format *t = &formats[i].arch->table;

		assert_int_equal((size_t)t->entry_bytes[0] << t->bits[0],
				 QUIRE_PAGE_BYTES << t->root_order);
		for (unsigned level = 1; level < t->levels; level++) {
			assert_int_equal((size_t)t->entry_bytes[level] << t->bits[level],
					 QUIRE_PAGE_BYTES);
			assert_int_equal(t->shift[level] + t->bits[level], t->shift[level - 1]);
		}
		assert_int_equal(t->shift[t->levels - 1], QUIRE_PAGE_SHIFT);
		assert_true(t->user_low < t->user_high);
		assert_true((t->user_high - 1) >> t->shift[0] < (uintptr_t)1 << t->bits[0]);
	}
}

/* ARMv7 by the manual's numbers (DDI 0406C B3.5.1): the simulator's walker must not be the only
 * judge. */
static void armv7_stores_need_dirty(void **state)
{
	const unsigned page = QUIRE_ENTRY_PRESENT | QUIRE_ENTRY_YOUNG;
	uint64_t read, clean, dirty, code;

	(void)state;
	read = quire_arch_armv7.encode((struct quire_entry){0x12345, page});
	clean = quire_arch_armv7.encode((struct quire_entry){0x12345, page | QUIRE_ENTRY_WRITE});
	dirty = quire_arch_armv7.encode(
		(struct quire_entry){0x12345, page | QUIRE_ENTRY_WRITE | QUIRE_ENTRY_DIRTY});
	code = quire_arch_armv7.encode((struct quire_entry){0x12345, page | QUIRE_ENTRY_EXEC});
	/* frame, nG, S, AP[2], TEX[0], AP[1:0], C, B, small page, XN */
	assert_int_equal(read, 0x12345e7f);
	assert_int_equal(clean, 0x12345e7f | 1 << 7);
	assert_int_equal(dirty, 0x12345c7f | 3 << 7);
	assert_int_equal(code, 0x12345e7e);
}

/* x86-64 by the manual's numbers (SDM volume 3, table 4-20). */
static void x86_64_bits(void **state)
{
	(void)state;
	assert_int_equal(quire_arch_x86_64.encode(
				 (struct quire_entry){0x12345, QUIRE_ENTRY_PRESENT |
								       QUIRE_ENTRY_WRITE |
								       QUIRE_ENTRY_EXEC}),
			 0x12345007);
	assert_int_equal(quire_arch_x86_64.encode(
				 (struct quire_entry){0x12345, QUIRE_ENTRY_PRESENT |
								       QUIRE_ENTRY_YOUNG |
								       QUIRE_ENTRY_DIRTY}),
			 0x8000000012345065);
	assert_int_equal(quire_arch_x86_64.encode_table(0, 0x7000, true) & 3, 1);
	assert_int_equal(quire_arch_x86_64.encode_table(0, 0x7000, false) & 3, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_entries_survive),    cmocka_unit_test(nothing_is_zero),
		cmocka_unit_test(table_entries_survive),   cmocka_unit_test(formats_add_up),
		cmocka_unit_test(armv7_stores_need_dirty), cmocka_unit_test(x86_64_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
