/*
 * Policies: one answer each to one question on when maintenance, clearing or time keeping is done.
 *
 * Every policy is safe on every machine unless its comment says otherwise; they differ in cost. The
 * names in the comments are those that `quire run --policy question=name` takes.
 */
#ifndef QUIRE_POLICY_H
#define QUIRE_POLICY_H

#include <quire/types.h>

/*
 * coherence: when is a page flushed that the kernel wrote, or will read, through its own mapping?
 */
enum quire_coherence_policy {
	QUIRE_COHERENCE_EAGER,   /* eager: at once, mapped or not */
	/* mapping: later, when it is mapped, unless any area maps its file */
	QUIRE_COHERENCE_MAPPING,
	/* page: later, when it is mapped, unless a table entry maps the page itself */
	QUIRE_COHERENCE_PAGE,
	QUIRE_COHERENCE_EXACT,   /* exact: what the next observer needs, when he looks */
};

/*
 * pte_clean: is a written table entry cleaned from the D cache for the table walker? entries and
 * detect ask the CPU whether its walker sees the D cache; where it does not, both are always.
 */
enum quire_pte_clean_policy {
	QUIRE_PTE_CLEAN_ALWAYS,  /* always */
	/* entries: only new, empty tables, as kernels did when they first asked */
	QUIRE_PTE_CLEAN_ENTRIES,
	QUIRE_PTE_CLEAN_DETECT,  /* detect: nothing */
};

/* flush_range: is a range of addresses flushed line by line, or the whole cache instead? */
enum quire_flush_range_policy {
	QUIRE_FLUSH_LINE,             /* line: always line by line */
	QUIRE_FLUSH_WHOLE,            /* whole: always the whole cache */
	QUIRE_FLUSH_FIXED,            /* fixed:<bytes>: whole from this size on */
	/* calibrated: one threshold for both caches, measured at boot */
	QUIRE_FLUSH_CALIBRATED,
	QUIRE_FLUSH_CALIBRATED_SPLIT, /* calibrated-split: one each for I cache, D cache and TLB */
};

/* tmpfs_clear: when is a new tmpfs page cleared that write() asked for? */
enum quire_tmpfs_clear_policy {
	QUIRE_TMPFS_CLEAR_FIRST, /* first: all of it, before the copy */
	QUIRE_TMPFS_CLEAR_ENDS,  /* ends: what the copy did not cover, after the copy */
};

/* file_times: how does a store through a shared mapping mark the times of its file? */
enum quire_file_times_policy {
	/* never: at the first store only. Not POSIX: kept to measure its cost */
	QUIRE_FILE_TIMES_NEVER,
	QUIRE_FILE_TIMES_FAULT,   /* fault: msync write-protects each page again */
	/* subtree: msync write-protects upper table entries where the ISA can */
	QUIRE_FILE_TIMES_SUBTREE,
};

struct quire_policy {
	enum quire_coherence_policy coherence;
	enum quire_pte_clean_policy pte_clean;
	enum quire_flush_range_policy flush_range;
	size_t flush_fixed_bytes; /* threshold of QUIRE_FLUSH_FIXED */
	enum quire_tmpfs_clear_policy tmpfs_clear;
	enum quire_file_times_policy file_times;
	/*
	 * Not a question but a size: pages of the page cache that one read fault may map, a power
	 * of two; 1: only the one asked for.
	 */
	unsigned fault_around_pages;
};

#endif
