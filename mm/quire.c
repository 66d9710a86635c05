/*
 * A memory manager's beginning and end, its defaults, and what it tells of itself.
 */
#include "mm/percpu.h"

struct quire_policy quire_policy_default(void)
{
	return (struct quire_policy){
		.coherence = QUIRE_COHERENCE_PAGE,
		.pte_clean = QUIRE_PTE_CLEAN_DETECT,
		.flush_range = QUIRE_FLUSH_CALIBRATED_SPLIT,
		.tmpfs_clear = QUIRE_TMPFS_CLEAR_ENDS,
		.file_times = QUIRE_FILE_TIMES_SUBTREE,
		.fault_around_pages = 16,
	};
}

/* --- Records --------------------------------------------------------------------------------- */

/* No record needs more; PA-RISC's LDCW needs this much (mm/atomic.h). */
#define RECORD_ALIGN 16

/* By hand: assignments of large records may become calls of a C library that is not there. */
static void zero(void *record, size_t bytes)
{
	unsigned char *byte = record;

	while (bytes-- > 0)
		*byte++ = 0;
}

static void copy_port(struct quire_port *to, const struct quire_port *from)
{
	unsigned char *byte = (unsigned char *)to;
	const unsigned char *source = (const unsigned char *)from;

	for (size_t n = 0; n < sizeof(*to); n++)
		byte[n] = source[n];
}

void *quire_new(struct quire *q, size_t bytes)
{
	const struct quire_port *port = &q->machine.port;
	void *record = port->alloc(port->context, bytes, RECORD_ALIGN);

	if (record)
		zero(record, bytes);
	return record;
}

void quire_delete(struct quire *q, void *record, size_t bytes)
{
	const struct quire_port *port = &q->machine.port;

	port->free(port->context, record, bytes);
}

/* --- What a configuration must be ------------------------------------------------------------ */

static bool port_complete(const struct quire_port *port)
{
	return port->cpu && port->relax && port->alloc && port->free && port->cross_call &&
	       port->can_cross_call && port->time_ns && port->copy && port->clear && port->read &&
	       port->write && port->copy_to_user && port->copy_from_user && port->stop &&
	       !port->maintenance_begin == !port->maintenance_end && port->cpus >= 1 &&
	       port->cpus <= QUIRE_CPUS_MAX;
}

/* Physical addresses that frame numbers of 32 bits and the linear mapping can name. */
static bool memory_range_valid(const struct quire_port *port, const struct quire_memory *memory)
{
	const uint64_t frames_max = (uint64_t)1 << 32;
	uint64_t first = memory->base >> QUIRE_PAGE_SHIFT;
	uint64_t frames = memory->bytes >> QUIRE_PAGE_SHIFT;

	return !((memory->base | memory->bytes) & QUIRE_PAGE_MASK) && frames &&
	       first < frames_max && frames <= frames_max - first &&
	       memory->base + memory->bytes - 1 <= UINTPTR_MAX - port->kernel_base;
}

static bool memory_valid(const struct quire_port *port)
{
	if (!port->memory || !port->memory_ranges)
		return false;
	for (unsigned n = 0; n < port->memory_ranges; n++) {
		const struct quire_memory *a = &port->memory[n];

		if (!memory_range_valid(port, a))
			return false;
		for (unsigned m = 0; m < n; m++) {
			const struct quire_memory *b = &port->memory[m];

			if (a->base < b->base + b->bytes && b->base < a->base + a->bytes)
				return false;
		}
	}
	return true;
}

static bool policy_valid(const struct quire_policy *policy)
{
	unsigned around = policy->fault_around_pages;

	return (unsigned)policy->coherence <= QUIRE_COHERENCE_EXACT &&
	       (unsigned)policy->pte_clean <= QUIRE_PTE_CLEAN_DETECT &&
	       (unsigned)policy->flush_range <= QUIRE_FLUSH_CALIBRATED_SPLIT &&
	       (unsigned)policy->tmpfs_clear <= QUIRE_TMPFS_CLEAR_ENDS &&
	       (unsigned)policy->file_times <= QUIRE_FILE_TIMES_SUBTREE && around &&
	       !(around & (around - 1));
}

static bool config_valid(const struct quire_config *config)
{
	return config->arch && port_complete(&config->port) && memory_valid(&config->port) &&
	       config->port.kernel_text_bytes <= UINTPTR_MAX - config->port.kernel_text &&
	       policy_valid(&config->policy);
}

/* --- Beginning and end ----------------------------------------------------------------------- */

static int percpu_init(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;

	q->percpu =
		port->alloc(port->context, port->cpus * sizeof(*q->percpu), QUIRE_SHARING_BYTES);
	if (!q->percpu)
		return -QUIRE_ENOMEM;
	for (unsigned n = 0; n < port->cpus; n++) {
		struct quire_percpu *cpu = &q->percpu[n];

		quire_atomic_init(&cpu->reading, 0);
		quire_atomic_init(&cpu->faults_off, 0);
		quire_atomic_init(&cpu->entries.low, 0);
		quire_atomic_init(&cpu->entries.high, 0);
		quire_atomic_init(&cpu->faults.low, 0);
		quire_atomic_init(&cpu->faults.high, 0);
		quire_lock_init(&cpu->pages_lock);
		quire_list_init(&cpu->pages);
		cpu->pages_count = 0;
		cpu->loaded = NULL;
	}
	return 0;
}

static void percpu_destroy(struct quire *q)
{
	const struct quire_port *port = &q->machine.port;

	port->free(port->context, q->percpu, port->cpus * sizeof(*q->percpu));
}

static struct quire *new_quire(const struct quire_config *config)
{
	const struct quire_port *port = &config->port;
	struct quire *q = port->alloc(port->context, sizeof(*q), QUIRE_SHARING_BYTES);

	if (!q)
		return NULL;
	zero(q, sizeof(*q));
	copy_port(&q->machine.port, port);
	q->machine.arch = config->arch;
	q->policy = config->policy;
	quire_lock_init(&q->lists);
	quire_list_init(&q->spaces);
	quire_list_init(&q->files);
	quire_atomic_init(&q->pages_cached, 0);
	quire_atomic_init(&q->pages_tables, 0);
	return q;
}

/* Whoever ran before has left lines and translations; what reset leaves is not known either. */
static void boot_cpu(struct quire *q)
{
	if (quire_maintain_begin(q, QUIRE_SITE_BOOT)) {
		q->machine.arch->empty_cpu(&q->machine);
		quire_maintain_end(q, QUIRE_SITE_BOOT);
	}
	q->machine.arch->boot_cpu(&q->machine);
}

static int start(struct quire *q)
{
	int error = percpu_init(q);

	if (error)
		return error;
	error = q->machine.arch->boot(&q->machine);
	if (error)
		goto no_boot;
	boot_cpu(q);
	error = quire_pages_init(q);
	if (error)
		goto no_pages;
	quire_coherence_calibrate(q);
	return 0;

no_pages:
	q->machine.arch->halt(&q->machine);
no_boot:
	percpu_destroy(q);
	return error;
}

struct quire *quire_create(const struct quire_config *config, int *error)
{
	struct quire *q;

	*error = -QUIRE_EINVAL;
	if (!config_valid(config))
		return NULL;
	q = new_quire(config);
	*error = q ? start(q) : -QUIRE_ENOMEM;
	if (q && *error) {
		config->port.free(config->port.context, q, sizeof(*q));
		q = NULL;
	}
	return q;
}

int quire_cpu_online(struct quire *q)
{
	boot_cpu(q);
	return 0;
}

void quire_destroy(struct quire *q)
{
	void (*release)(void *context, void *memory, size_t bytes) = q->machine.port.free;
	void *context = q->machine.port.context;

	quire_require(q, quire_list_empty(&q->spaces) && quire_list_empty(&q->files));
	quire_require(q, quire_pages_free(q) == q->managed_pages);
	quire_pages_destroy(q);
	q->machine.arch->halt(&q->machine);
	percpu_destroy(q);
	release(context, q, sizeof(*q));
}

/* --- Figures --------------------------------------------------------------------------------- */

void quire_usage(struct quire *q, struct quire_usage *usage)
{
	usage->pages = q->managed_pages;
	usage->free = quire_pages_free(q);
	usage->page_cache = quire_atomic_read(&q->pages_cached);
	usage->tables = quire_atomic_read(&q->pages_tables);
	usage->entries = usage->faults = 0;
	for (unsigned n = 0; n < q->machine.port.cpus; n++) {
		usage->entries += quire_count_read(&q->percpu[n].entries);
		usage->faults += quire_count_read(&q->percpu[n].faults);
	}
}

void quire_thresholds(struct quire *q, struct quire_thresholds *thresholds)
{
	*thresholds = q->thresholds;
}
