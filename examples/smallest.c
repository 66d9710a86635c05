/*
 * The smallest kernel that embeds libquire: one x86-64 CPU, no device, one space, one file on
 * tmpfs.
 *
 * What a kernel owes to Quire is one struct quire_port and two ways in: its page-fault entry and
 * its system calls. Here they are, complete. What it owes to the machine is not: the boot code (not
 * shown) has switched to long mode, maps physical memory linearly and cached at LINEAR, has loaded
 * an interrupt table whose gate 14 is smallest_page_fault, and calls smallest_start on a stack of
 * its own with interrupts off.
 *
 * The build compiles this file and links it with libquire alone: nothing may be left undefined.
 */
#include <quire/fs.h>
#include <quire/quire.h>

/* --- This board ------------------------------------------------------------------------------- */

#define LINEAR     0xffff800000000000u /* kernel virtual address of physical address 0 */
#define TEXT       (LINEAR + (1u << 20))
#define TEXT_BYTES (256u << 10)
#define POOL       (LINEAR + (2u << 20)) /* memory for Quire's records */
#define POOL_BYTES (4u << 20)
#define TSC_HZ_LOG2 \
	31 /* the clock counts about 2^31 times a second: good enough for file times here */

/* What Quire manages: 32 MiB from 16 MiB on. */
static const struct quire_memory memory[] = {{16u << 20, 32u << 20}};

static unsigned port_cpu(void *context)
{
	(void)context;
	return 0;
}

static void port_relax(void *context)
{
	(void)context;
	__asm__ volatile("pause");
}

/* The one CPU is the caller. */
static void port_cross_call(void *context, uint64_t cpus, void (*fn)(void *arg), void *arg)
{
	(void)context;
	if (cpus & 1)
		fn(arg);
}

static bool port_can_cross_call(void *context)
{
	(void)context;
	return true;
}

static uint64_t port_time_ns(void *context)
{
	uint32_t low, high;
	uint64_t ticks;

	(void)context;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	ticks = (uint64_t)high << 32 | low;
	/* 10^9 / 2^31 = 0.4656 = 119.2 / 256 */
	return (ticks >> (TSC_HZ_LOG2 - 23)) * 119;
}

static void port_stop(void *context, const char *file, int line, const char *what)
	__attribute__((noreturn));

static void port_stop(void *context, const char *file, int line, const char *what)
{
	(void)context;
	(void)file;
	(void)line;
	(void)what;
	for (;;)
		__asm__ volatile("cli; hlt");
}

/* --- Records: first fit in a pool, pieces not joined again ------------------------------------ */

/* A free piece of the pool begins with this. Pieces are multiples of GRAIN and aligned to it. */
struct piece {
	struct piece *next;
	size_t bytes;
};

#define GRAIN ((size_t)64)

static struct piece *pieces;

static size_t grains(size_t bytes)
{
	return (bytes + GRAIN - 1) & ~(GRAIN - 1);
}

static void pool_give(uintptr_t at, size_t bytes)
{
	struct piece *piece = (struct piece *)at;

	piece->bytes = bytes;
	piece->next = pieces;
	pieces = piece;
}

static void *port_alloc(void *context, size_t bytes, size_t align)
{
	size_t size = grains(bytes);

	(void)context;
	if (align < GRAIN)
		align = GRAIN;
	for (struct piece **link = &pieces; *link; link = &(*link)->next) {
		uintptr_t start = (uintptr_t)*link, end = start + (*link)->bytes;
		uintptr_t at = (start + align - 1) & ~(align - 1);

		if (at < start || at > end || end - at < size)
			continue;
		*link = (*link)->next;
		if (at > start)
			pool_give(start, at - start);
		if (end > at + size)
			pool_give(at + size, end - at - size);
		return (void *)at;
	}
	return NULL;
}

static void port_free(void *context, void *record, size_t bytes)
{
	(void)context;
	pool_give((uintptr_t)record, grains(bytes));
}

/* --- Memory ----------------------------------------------------------------------------------- */

/*
 * REP MOVSB goes on where a fault stopped it, and RCX is what is left: so an unmended fault need
 * only skip it.
 */
extern const char smallest_copy[], smallest_copied[];

__asm__(".text\n"
	".type smallest_copy_bytes, @function\n"
	"smallest_copy_bytes:\n"
	"	mov %rdx, %rcx\n"
	"smallest_copy:\n"
	"	rep movsb\n"
	"smallest_copied:\n"
	"	mov %rcx, %rax\n"
	"	ret\n");

/* Result: bytes not copied. */
size_t smallest_copy_bytes(uintptr_t to, uintptr_t from, size_t bytes);

static void port_copy(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	(void)context;
	smallest_copy_bytes(to, from, bytes);
}

static size_t port_copy_user(void *context, uintptr_t to, uintptr_t from, size_t bytes)
{
	(void)context;
	return smallest_copy_bytes(to, from, bytes);
}

static void port_clear(void *context, uintptr_t to, size_t bytes)
{
	(void)context;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}

static void port_read(void *context, void *to, uintptr_t from, size_t bytes)
{
	(void)context;
	smallest_copy_bytes((uintptr_t)to, from, bytes);
}

static void port_write(void *context, uintptr_t to, const void *from, size_t bytes)
{
	(void)context;
	smallest_copy_bytes(to, (uintptr_t)from, bytes);
}

/* --- The page-fault entry --------------------------------------------------------------------- */

static struct quire_space *current; /* the space that is loaded */

struct interrupt_frame {
	uint64_t ip, cs, flags, sp, ss;
};

/* Bits of the error code: Intel 64 and IA-32 Architectures SDM, volume 3, 4.7. */
enum {
	FAULT_STORE = 2,
	FAULT_USER = 4,
	FAULT_FETCH = 16,
};

__attribute__((interrupt)) void smallest_page_fault(struct interrupt_frame *frame,
						    unsigned long code);

__attribute__((interrupt)) void smallest_page_fault(struct interrupt_frame *frame,
						    unsigned long code)
{
	enum quire_access access = code & FAULT_FETCH   ? QUIRE_FETCH
				   : code & FAULT_STORE ? QUIRE_STORE
							: QUIRE_LOAD;
	uintptr_t va;

	__asm__ volatile("mov %%cr2, %0" : "=r"(va));
	if (current && !quire_fault(current, va, access))
		return; /* mended: the access is tried again */
	if (frame->ip == (uintptr_t)smallest_copy)
		frame->ip = (uintptr_t)smallest_copied; /* the copy ends short */
	else
		/* A real kernel sends SIGSEGV or SIGBUS, by the result, if code has FAULT_USER. */
		port_stop(NULL, __FILE__, __LINE__,
			  code & FAULT_USER ? "user fault" : "kernel fault");
}

/* --- The kernel ------------------------------------------------------------------------------- */

static struct quire *boot(void)
{
	static struct quire_config config;
	struct quire_port *port = &config.port;
	int error;

	pool_give(POOL, POOL_BYTES);
	port->cpus = 1;
	port->kernel_base = LINEAR;
	port->kernel_text = TEXT;
	port->kernel_text_bytes = TEXT_BYTES;
	port->memory = memory;
	port->memory_ranges = sizeof(memory) / sizeof(memory[0]);
	port->cpu = port_cpu;
	port->relax = port_relax;
	port->alloc = port_alloc;
	port->free = port_free;
	port->cross_call = port_cross_call;
	port->can_cross_call = port_can_cross_call;
	port->time_ns = port_time_ns;
	port->copy = port_copy;
	port->clear = port_clear;
	port->read = port_read;
	port->write = port_write;
	port->copy_to_user = port_copy_user;
	port->copy_from_user = port_copy_user;
	port->stop = port_stop;
	config.arch = &quire_arch_x86_64;
	config.policy = quire_policy_default();
	return quire_create(&config, &error);
}

/* A file of one page, mapped, stored to through the mapping, and read back by the system call. */
static int work(struct quire *q, struct quire_fs *fs, struct quire_space *space)
{
	struct quire_file *file;
	uintptr_t shared = 0, anonymous = 0;
	int error = quire_fs_open(fs, "greeting", true, &file);

	if (error)
		return error;
	error = quire_truncate(file, QUIRE_PAGE_BYTES);
	if (!error)
		error = quire_mmap(space, &shared, QUIRE_PAGE_BYTES,
				   QUIRE_PROT_READ | QUIRE_PROT_WRITE, QUIRE_MAP_SHARED, file, 0,
				   true);
	if (!error)
		error = quire_mmap(space, &anonymous, QUIRE_PAGE_BYTES,
				   QUIRE_PROT_READ | QUIRE_PROT_WRITE,
				   QUIRE_MAP_PRIVATE | QUIRE_MAP_ANONYMOUS, NULL, 0, false);
	if (!error) {
		current = space;
		quire_space_load(q, space);
		*(volatile char *)shared =
			'q'; /* faults; the page comes, and the store is done again */
		if (quire_read(file, 0, anonymous, 1) != 1 || *(volatile char *)anonymous != 'q')
			error = -QUIRE_EIO;
		quire_space_load(q, NULL);
		current = NULL;
	}
	quire_file_put(file);
	return error;
}

int smallest_start(void);

int smallest_start(void)
{
	struct quire *q = boot();
	struct quire_space *space;
	struct quire_fs *fs;
	int error;

	if (!q)
		return -QUIRE_ENOMEM;
	fs = quire_tmpfs_mount(q, 0, &error);
	space = quire_space_create(q, &error);
	if (fs && space)
		error = work(q, fs, space);
	if (space)
		quire_space_destroy(space);
	if (fs)
		quire_fs_unmount(fs);
	quire_destroy(q);
	return error;
}
