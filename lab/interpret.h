/*
 * One variant of a script as it runs: the state that its statements share. For the files of the
 * interpreter.
 *
 *   interpret.c        the flow: blocks, repeat, time, expect-error, routines; progress and stop
 *   arguments.c        values of a statement's words at run time; errors
 *   objects.c          what has names: file systems, files, processes, maps
 *   do_processes.c     process, use, cpu, fork, exec, exit
 *   do_files.c         mount to sync: what is done to files by name
 *   do_transfer.c      read and write
 *   do_maps.c          buffer, map, unmap, protect, msync
 *   do_access.c        load, store, execute, and the debugger's
 *   do_results.c       measure, expect, times
 *   do_alias.c         the alias test
 *   functions.c        functions of expressions
 *
 * A statement's function returns true to go on. False: an error was raised (lab_raise), or the run
 * is to stop.
 */
#ifndef LAB_INTERPRET_H
#define LAB_INTERPRET_H

#include "lab/content.h"
#include "lab/script.h"
#include "lab/world.h"

/* An open file system, or one that was unmounted (fs NULL). */
struct lab_mount {
	struct lab_mount *next;
	const char *name;
	struct quire_fs *fs;
	bool keeps; /* a disk: what is in it outlives unmount */
};

struct lab_file {
	struct lab_file *next;
	const char *name;
	struct lab_mount *mount;
	struct quire_file *file; /* NULL: closed */
	struct lab_content *content;
};

struct lab_map {
	struct lab_map *next;
	const char *name;
	uintptr_t va;
	uint64_t bytes;
	unsigned prot;
	bool shared;
	struct lab_file *file; /* NULL: anonymous */
	uint64_t offset;       /* in the file */
	struct lab_content *content;
	uint64_t content_at; /* of the map's first byte */
	uint8_t *gone;       /* a byte a page: 1: unmapped since; NULL: all is there */
	bool is_buffer;
};

struct lab_process {
	struct lab_process *next;
	const char *name;
	struct quire_space *space; /* NULL: it has ended */
	struct lab_map *maps;      /* latest first */
};

struct lab_variable {
	struct lab_variable *next;
	const char *name;
	const char *text;
	struct lab_number number;
	bool is_number;
};

struct lab_time {
	struct lab_time *next;
	const char *name;
	struct lab_number number;
};

/* What ended a statement. */
struct lab_raised {
	bool is;
	int code; /* an errno or signal of Quire, positive; 0: the script itself is wrong */
	struct lab_place place;
	char *text;
};

struct lab_run {
	struct lab_script *script;
	const struct lab_script_variant *variant;
	const struct lab_options *options;
	const struct lab_progress *progress;
	const struct lab_machine *machine;
	struct lab_variant *result;
	struct lab_world *world;
	struct explore_job *explored; /* the small world of `explore`; NULL: none */
	struct lab_arena arena; /* names made of variables */
	struct lab_scope scope;
	struct lab_mount *mounts;
	struct lab_file *files;
	struct lab_process *processes;
	struct lab_process *current[QUIRE_CPUS_MAX];
	struct quire_space *tool; /* fills files; NULL until the first */
	uintptr_t tool_buffer;
	struct lab_variable *variables;
	struct lab_time *times;
	uint64_t epoch_ns;
	uint64_t keys;       /* of random data, handed out in order */
	uint64_t done_bytes; /* by the last read or write */
	struct lab_raised raised;
	bool stopped;
	unsigned calls; /* routines that are running */
	double weight_done, weight_total;
	unsigned percent;
	void *bytes;     /* LAB_PIECE_BYTES of host memory */
	char *size_note; /* smaller default sizes that were taken; NULL: none */
};

#define LAB_PIECE_BYTES ((size_t)128 << 10)

/* Runs all of the script; fills run->result. */
void lab_interpret(struct lab_run *run);
bool lab_run_block(struct lab_run *run, const struct lab_statement *first);
/* After a part of a long statement: reports progress; false when the run is to stop. */
bool lab_go_on(struct lab_run *run, const struct lab_statement *s, double done);

/* --- Arguments and errors ------------------------------------------------------------- */

/* Always false. */
bool lab_raise(struct lab_run *run, struct lab_place place, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A call of Quire gave this result: true unless it is an error, which is raised. */
bool lab_call_result(struct lab_run *run, const struct lab_statement *s, int64_t result,
		     const char *call);
const char *lab_error_name(int code); /* "ENOMEM"; code is positive */
int lab_error_code(const char *name); /* 0: no such name */
const char *lab_error_nearest(const char *name);
void lab_fail(struct lab_run *run, struct lab_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* NULL: the argument is not given. */
const struct lab_value *lab_argument(const struct lab_statement *s, const char *name);
bool lab_flag(const struct lab_statement *s, const char *name);
/* Text with its $variables replaced; NULL after an error was raised. */
const char *lab_expand(struct lab_run *run, struct lab_place place, const char *text);
const char *lab_text(struct lab_run *run, const struct lab_statement *s, const char *name);
/* A word of the argument's list: its number, `otherwise` when not given, -1 after an error. */
int lab_word(struct lab_run *run, const struct lab_statement *s, const char *name, int otherwise);
/* A size or whole number; *value keeps what it was when not given. */
bool lab_whole(struct lab_run *run, const struct lab_statement *s, const char *name,
	       uint64_t *value);
bool lab_value_number(struct lab_run *run, const struct lab_statement *s, const char *name,
		      struct lab_number *number);
bool lab_evaluate(struct lab_run *run, const struct lab_expression *e, struct lab_number *number);
/* A variable's text, which may be a number; or its number, with a text for names. */
void lab_set_text(struct lab_run *run, const char *name, const char *text);
void lab_set_number(struct lab_run *run, const char *name, struct lab_number number);

/* --- Objects -------------------------------------------------------------------------- */

struct lab_mount *lab_find_mount(struct lab_run *run, const char *name);
struct lab_file *lab_find_file(struct lab_run *run, const char *name);
struct lab_process *lab_find_process(struct lab_run *run, const char *name);
struct lab_map *lab_find_map(struct lab_process *process, const char *name);

/* What an argument names; NULL after an error was raised. Mounted, open, alive. */
struct lab_mount *lab_mount_argument(struct lab_run *run, const struct lab_statement *s,
				     const char *name);
struct lab_file *lab_file_argument(struct lab_run *run, const struct lab_statement *s,
				   const char *name);
struct lab_process *lab_process_argument(struct lab_run *run, const struct lab_statement *s,
					 const char *name);
struct lab_map *lab_map_argument(struct lab_run *run, const struct lab_statement *s,
				 const char *name);
/* The process of the current CPU; NULL after an error was raised. */
struct lab_process *lab_current(struct lab_run *run, const struct lab_statement *s);
uint64_t lab_file_bytes(const struct lab_file *file);
/* at= and size= of a statement on a map: by default all of it. Within it, unless `beyond`. */
bool lab_map_range(struct lab_run *run, const struct lab_statement *s, const struct lab_map *map,
		   bool beyond, uint64_t *at, uint64_t *bytes);
/* Unloads the space from every CPU, ends it, and forgets the maps. */
void lab_end_process(struct lab_run *run, struct lab_process *process);
void lab_free_map(struct lab_map *map);
void lab_free_objects(struct lab_run *run);

/*
 * Compares what was read of the content at `at` with what it should be; a difference is a failure.
 * `limit`: bytes of the content that are defined (a file's size).
 */
void lab_verify(struct lab_run *run, const struct lab_statement *s, struct lab_content *content,
		uint64_t at, const void *got, size_t bytes, uint64_t limit, const char *what);

/* --- Statements ----------------------------------------------------------------------- */

/* The type of all functions below. */
typedef bool lab_do(struct lab_run *run, const struct lab_statement *s);

lab_do lab_do_process, lab_do_use, lab_do_cpu, lab_do_fork, lab_do_exec, lab_do_exit;
lab_do lab_do_mount, lab_do_unmount, lab_do_file, lab_do_close, lab_do_unlink, lab_do_truncate,
	lab_do_allocate;
lab_do lab_do_punch, lab_do_fsync, lab_do_sync, lab_do_reclaim, lab_do_read, lab_do_write;
lab_do lab_do_buffer, lab_do_map, lab_do_unmap, lab_do_protect, lab_do_msync;
lab_do lab_do_load, lab_do_store, lab_do_execute, lab_do_debug_load, lab_do_debug_store;
lab_do lab_do_sleep, lab_do_epoch, lab_do_times, lab_do_syscall, lab_do_work, lab_do_measure,
	lab_do_expect;
lab_do lab_do_explore, lab_do_step;
void lab_explored_end(struct lab_run *run);
const struct sim *lab_explored_sim(const struct lab_run *run); /* NULL: none */
/* The machine of the run, or the one that its explored steps ran on: its witness tells. */
const struct sim *lab_witness(const struct lab_run *run);
lab_do lab_do_alias_test;

/* A number with a unit becomes a measure of the variant. */
bool lab_add_measure(struct lab_run *run, const struct lab_statement *s, const char *name,
		     const char *unit, struct lab_number number, const char *note);

/* lab_scope of a run. */
const char *lab_function_call(void *context, const char *name, const char *argument,
			      struct lab_number *number, char *message, size_t bytes);

/* Takes up violations that the last statement brought, while the maps they name are still there. */
void lab_note_violations(struct lab_run *run);
/* What the run counted, into the result. */
void lab_gather(struct lab_run *run);

#endif
