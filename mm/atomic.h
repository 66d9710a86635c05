/*
 * Atomic words and spin locks.
 *
 * The compiler's builtins where they compile to instructions; on PA-RISC, which has no
 * compare-and-swap, a word guarded by a load-and-clear-word lock of its own (PA-RISC 2.0
 * architecture, LDCW: the operand is 16-byte aligned), since the builtins would call the C
 * library's kernel helpers there.
 *
 * Memory order: every operation that changes a word is sequentially consistent; quire_atomic_read
 * acquires, quire_atomic_set releases.
 */
#ifndef QUIRE_MM_ATOMIC_H
#define QUIRE_MM_ATOMIC_H

#include <quire/types.h>

#ifdef __hppa__

struct quire_atomic {
	uint32_t lock[4] __attribute__((aligned(16))); /* [0] is the lock word: 1 when free */
	uint32_t value;
};

#define QUIRE_ATOMIC_INIT(v) { { 1, 0, 0, 0 }, (v) }

static inline void quire_atomic_acquire_(struct quire_atomic *a)
{
	uint32_t got;

	do
		__asm__ volatile("ldcw 0(%1), %0" : "=r"(got) : "r"(&a->lock[0]) : "memory");
	while (!got);
}

static inline void quire_atomic_release_(struct quire_atomic *a)
{
	__asm__ volatile("sync\n\tstw %1, 0(%0)" : : "r"(&a->lock[0]), "r"(1) : "memory");
}

static inline uint32_t quire_atomic_read(const struct quire_atomic *a)
{
	uint32_t value = *(const volatile uint32_t *)&a->value;

	__asm__ volatile("sync" : : : "memory");
	return value;
}

static inline void quire_atomic_init(struct quire_atomic *a, uint32_t value)
{
	a->lock[0] = 1;
	a->value = value;
}

static inline uint32_t quire_atomic_swap(struct quire_atomic *a, uint32_t value)
{
	uint32_t old;

	quire_atomic_acquire_(a);
	old = a->value;
	a->value = value;
	quire_atomic_release_(a);
	return old;
}

static inline void quire_atomic_set(struct quire_atomic *a, uint32_t value)
{
	quire_atomic_swap(a, value);
}

/* If the word is `old`, makes it `value` and returns true. */
static inline bool quire_atomic_replace(struct quire_atomic *a, uint32_t old, uint32_t value)
{
	bool same;

	quire_atomic_acquire_(a);
	same = a->value == old;
	if (same)
		a->value = value;
	quire_atomic_release_(a);
	return same;
}

static inline void quire_atomic_fence(void)
{
	__asm__ volatile("sync" : : : "memory");
}

#else

struct quire_atomic {
	uint32_t value;
};

#define QUIRE_ATOMIC_INIT(v) { (v) }

static inline uint32_t quire_atomic_read(const struct quire_atomic *a)
{
	return __atomic_load_n(&a->value, __ATOMIC_ACQUIRE);
}

static inline void quire_atomic_init(struct quire_atomic *a, uint32_t value)
{
	a->value = value;
}

static inline uint32_t quire_atomic_swap(struct quire_atomic *a, uint32_t value)
{
	return __atomic_exchange_n(&a->value, value, __ATOMIC_SEQ_CST);
}

static inline void quire_atomic_set(struct quire_atomic *a, uint32_t value)
{
	__atomic_store_n(&a->value, value, __ATOMIC_RELEASE);
}

/* If the word is `old`, makes it `value` and returns true. */
static inline bool quire_atomic_replace(struct quire_atomic *a, uint32_t old, uint32_t value)
{
	return __atomic_compare_exchange_n(&a->value, &old, value, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static inline void quire_atomic_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif

/*
 * Pointers that are followed without a lock: load acquires, store releases. Plain words where the
 * compiler's builtins would be calls.
 */
#ifdef __hppa__
#define quire_pointer_load(p)                                                                      \
	({                                                                                         \
		__typeof__(*(p)) loaded_ = *(__typeof__(*(p)) volatile *)(p);                      \
		quire_atomic_fence();                                                              \
		loaded_;                                                                           \
	})
#define quire_pointer_store(p, v)                                                                  \
	do {                                                                                       \
		quire_atomic_fence();                                                              \
		*(__typeof__(*(p)) volatile *)(p) = (v);                                           \
	} while (0)
#else
#define quire_pointer_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define quire_pointer_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#endif

/* Adds (modulo 2^32) and returns the new value. */
static inline uint32_t quire_atomic_add(struct quire_atomic *a, uint32_t by)
{
	uint32_t old;

	do
		old = quire_atomic_read(a);
	while (!quire_atomic_replace(a, old, old + by));
	return old + by;
}

/* Sets and clears bits; both return the old value, so that test-and-set is one operation. */
static inline uint32_t quire_atomic_or(struct quire_atomic *a, uint32_t bits)
{
	uint32_t old;

	do
		old = quire_atomic_read(a);
	while ((old & bits) != bits && !quire_atomic_replace(a, old, old | bits));
	return old;
}

static inline uint32_t quire_atomic_clear(struct quire_atomic *a, uint32_t bits)
{
	uint32_t old;

	do
		old = quire_atomic_read(a);
	while ((old & bits) && !quire_atomic_replace(a, old, old & ~bits));
	return old;
}

#endif
