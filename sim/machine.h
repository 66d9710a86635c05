/*
 * The description of a simulated machine: what a machine file says, as plain data.
 *
 * Costs are in ticks: 1/1024 of a CPU cycle, so that "11.5 cycles a line" needs no floating point
 * and every run gives the same sum. Each cost is charged where its comment says, to the CPU that
 * does it; what is not listed costs nothing.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quire/site.h>

#define SIM_TICKS_A_CYCLE 1024u

/*
 * SIM_BARE: no architecture code. It translates by sim_map_bare alone and is laid out like 32-bit
 * ARM.
 */
enum sim_isa { SIM_ARMV7, SIM_PARISC, SIM_X86_64, SIM_BARE };
enum sim_index { SIM_PIPT, SIM_VIPT, SIM_VIVT };
enum sim_replace { SIM_ROUND_ROBIN, SIM_RANDOM, SIM_LRU };
/* Where something that reads memory gets it from. */
enum sim_level { SIM_LEVEL_L1, SIM_LEVEL_L2, SIM_LEVEL_MEMORY };

struct sim_cache {
	uint64_t bytes; /* 0: there is none */
	uint32_t ways;
	uint32_t line_bytes; /* the same in all caches of one machine's data side */
	enum sim_index index;
	enum sim_replace replace;
	bool write_back;     /* else write through */
	/* a store that misses takes the line; else it goes on to the next level */
	bool write_allocate;
	bool fill_whole;     /* a store of a whole line that misses reads it first all the same */
};

struct sim_tlb {
	uint32_t entries;
	uint32_t ways; /* == entries: fully associative */
	bool tagged;   /* entries carry an address-space number */
	uint32_t walk_cache; /* upper entries that a CPU's hardware walker keeps; 0: none */
};

/* All in ticks. */
struct sim_costs {
	/* L1 D and I */
	uint32_t l1_line;     /* one line's worth of a copy or clear that hits, read or write */
	uint32_t l1_access;   /* one load or store of 1 to 8 bytes that hits */
	uint32_t fetch_line;  /* one line of instructions that hits */
	/* L2 */
	uint32_t l2_read;     /* a line from L2 to L1 */
	uint32_t l2_write;    /* a line from L1 to L2: dirty victim, clean by address */
	/* memory */
	uint32_t memory_read;  /* a line from memory, stall as seen by the CPU */
	uint32_t memory_write; /* a line to memory */
	uint32_t alias;        /* alias_check: more, for each line found at another index */
	/* TLB */
	/* a miss beyond the accesses of the walk; for software fill, trap and return */
	uint32_t tlb_miss;
	/* software fill: a cache operation whose address has no translation (trap, emulation) */
	uint32_t tlb_absent;
	/* maintenance, each operation */
	uint32_t data_op;       /* D operation by address: issue and lookup, line absent */
	uint32_t data_op_clean; /* more, when the line is present and clean */
	/* more, when it is dirty (the write itself is l2_write or memory_write) */
	uint32_t data_op_dirty;
	uint32_t data_op_set;   /* D operation by set and way, or one step of a whole-cache loop */
	uint32_t insn_op;       /* I operation by address */
	uint32_t insn_op_set;   /* one step of a whole I cache loop (PA-RISC) */
	uint32_t insn_all;      /* invalidate the whole I cache in one operation */
	uint32_t broadcast;     /* more, for each operation that reaches other CPUs */
	uint32_t outer_op;      /* outer cache (PL310): register write of an operation by address */
	uint32_t outer_sync;    /* outer cache: wait until its operations are done */
	uint32_t barrier;       /* DSB, SYNC, MFENCE */
	uint32_t insn_barrier;  /* ISB */
	uint32_t tlb_op;        /* TLB operation on one entry */
	uint32_t tlb_all;       /* TLB operation on all entries or a space */
	uint32_t locked;        /* an atomic exchange, beyond its access */
	uint32_t cross_call;    /* one call to other CPUs: send, take the interrupt, answer */
	/* devices */
	uint32_t disk_request;  /* a transfer, beyond its bytes */
	uint32_t disk_page;     /* one page of a transfer */
	/* kernel steps, by enum quire_step */
	uint32_t step[QUIRE_STEP_COUNT];
	uint32_t copy_set_up;   /* each call of the kernel's copy or clear routine */
	/*
	 * programs, beyond what they do to memory: charged by the laboratory, not by the simulator
	 */
	uint32_t exec;          /* the kernel's work to load a program */
	uint32_t shell;         /* a shell's own work from its start to its first fork */
};

struct sim_machine {
	char name[32];
	enum sim_isa isa;
	uint32_t cpus;
	uint64_t clock_hz;
	uint64_t memory_bytes;
	uint64_t kernel_text_bytes; /* size of the kernel's text at the bottom of memory */
	uint32_t copy_text_bytes;   /* size of the copy routine, fetched at each call */
	struct sim_cache l1i, l1d, l2; /* L2 unified, physical, shared by all CPUs */
	bool l2_outer;              /* L2 is maintained through its own registers (PL310) */
	struct sim_tlb tlb;         /* unified, one a CPU */
	uint32_t asid_bits;
	bool data_coherent;         /* hardware keeps the D caches of all CPUs coherent */
	bool insn_snoops_data;      /* fetches see D stores of all CPUs */
	bool maintenance_broadcast; /* cache operations by address reach all CPUs */
	bool tlb_broadcast;
	enum sim_level walker;      /* where the table walker reads */
	bool dma_coherent;          /* devices see and update the caches */
	uint64_t colour_bytes;      /* architected alias boundary; 0: none */
	/* bare machines: an L1 D miss finds its line at other indexes, which goes below */
	bool alias_check;
	/* entries of a store buffer that forwards by virtual address; 0: exact */
	uint32_t store_buffer;
	uint64_t store_buffer_bytes; /* it forwards only between addresses equal modulo this */
	struct sim_costs cost;
};

#endif
