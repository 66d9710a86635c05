/*
 * A script, parsed: what docs/scripts.md describes, as records.
 *
 *   lexer.c       places, words and quotes of a line
 *   grammar.c     one table: which statements there are, and which words each takes
 *   expression.c  expressions: parsed once, evaluated whenever the statement runs
 *   parse.c       text -> statements, every one checked against the table
 *   script.c      the whole: loading, names that must exist, variants
 *
 * Whatever can be known before the run is refused before the run. All records live in the script's
 * arena.
 */
#ifndef LAB_SCRIPT_H
#define LAB_SCRIPT_H

#include "lab/host.h"
#include "lab/lab.h"

/* A place in the text. */
struct lab_place {
	unsigned line, column;
};

/* --- Lexer ---------------------------------------------------------------------------- */

/* Walks over one script. `at` never leaves the text; `\0` ends it. */
struct lab_cursor {
	struct lab_arena *arena;
	const struct lab_source *source;
	FILE *errors;
	const char *at;
	const char *line_start;
	unsigned line;
	unsigned columns_before; /* of the line, where a value is parsed by itself */
	unsigned error_count;
};

/* A word of a line, or what stands in quotes; `key` where it was written key=text. */
struct lab_word {
	struct lab_place place; /* of the word */
	struct lab_place value_place;
	const char *key; /* NULL: no key */
	const char *text;
	const char *value_at; /* where the text starts in the script */
	const char *value_end;
	bool quoted;
};

struct lab_place lab_cursor_place(const struct lab_cursor *cursor, const char *at);
void lab_cursor_error(struct lab_cursor *cursor, struct lab_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void lab_cursor_blanks(struct lab_cursor *cursor); /* and a comment, never the end of the line */
bool lab_cursor_ends(struct lab_cursor *cursor);   /* at the end of the line, or at a brace */
void lab_cursor_next_line(struct lab_cursor *cursor);
/* The next word of the line. False: there is none, or (told) it is malformed. */
bool lab_cursor_word(struct lab_cursor *cursor, struct lab_word *word);
/* All that is left of the line, without a comment. */
const char *lab_cursor_rest(struct lab_cursor *cursor);

/* --- Expressions ---------------------------------------------------------------------- */

/* What a number counts: powers of nanoseconds and of bytes. Plain numbers fit with anything. */
struct lab_number {
	double value;
	int time, bytes;
};

enum lab_operator {
	LAB_LITERAL,
	LAB_VARIABLE, /* $name */
	LAB_CALL,     /* name, name(argument) */
	LAB_NEGATE,
	LAB_ADD,
	LAB_SUBTRACT,
	LAB_MULTIPLY,
	LAB_DIVIDE,
	LAB_EQUAL,
	LAB_UNEQUAL,
	LAB_LESS,
	LAB_LESS_EQUAL,
	LAB_GREATER,
	LAB_GREATER_EQUAL,
};

struct lab_expression {
	enum lab_operator operator;
	struct lab_place place;
	struct lab_number number;
	const char *name;
	const char *argument; /* of a call; NULL: none */
	struct lab_expression *left, *right;
};

/* Gives an expression its names. Both return a message (static, or in `message`) or NULL. */
struct lab_scope {
	void *context;
	const char *(*variable)(void *context, const char *name, struct lab_number *number,
				char *message, size_t bytes);
	const char *(*call)(void *context, const char *name, const char *argument,
			    struct lab_number *number, char *message, size_t bytes);
};

#define LAB_MESSAGE_BYTES 256

/* At the cursor, as far as it goes. NULL after an error message. `comparison`: == and < are
 * allowed. */
struct lab_expression *lab_expression_parse(struct lab_cursor *cursor, bool comparison);
/* Parses all of "text" of a variable; false: it is no number. */
bool lab_number_parse(const char *text, struct lab_number *number);
/* False with *place and message set. */
bool lab_expression_evaluate(const struct lab_expression *expression, const struct lab_scope *scope,
			     struct lab_number *number, struct lab_place *place, char *message);
bool lab_expression_constant(const struct lab_expression *expression);
bool lab_is_comparison(enum lab_operator operator);
const char *lab_operator_text(enum lab_operator operator);
/* "4096", "2M", "5.25 ms": as a person would write it. */
void lab_number_print(struct lab_number number, char *text, size_t bytes);

/* --- Grammar -------------------------------------------------------------------------- */

/* Statements, by the words of the grammar; a group is a bare block. */
enum lab_statement_kind {
	LAB_DO_TITLE,
	LAB_DO_SOURCE,
	LAB_DO_MACHINE,
	LAB_DO_BARE,
	LAB_DO_BY_NAME,
	LAB_DO_QUESTION,
	LAB_DO_POLICY,
	LAB_DO_VARIANT,
	LAB_DO_PUBLISH,
	LAB_DO_SET,
	LAB_DO_MOUNT,
	LAB_DO_UNMOUNT,
	LAB_DO_FILE,
	LAB_DO_CLOSE,
	LAB_DO_UNLINK,
	LAB_DO_PROCESS,
	LAB_DO_USE,
	LAB_DO_CPU,
	LAB_DO_FORK,
	LAB_DO_EXEC,
	LAB_DO_EXIT,
	LAB_DO_BUFFER,
	LAB_DO_READ,
	LAB_DO_WRITE,
	LAB_DO_MAP,
	LAB_DO_UNMAP,
	LAB_DO_PROTECT,
	LAB_DO_MSYNC,
	LAB_DO_LOAD,
	LAB_DO_STORE,
	LAB_DO_EXECUTE,
	LAB_DO_DEBUG_LOAD,
	LAB_DO_DEBUG_STORE,
	LAB_DO_TRUNCATE,
	LAB_DO_ALLOCATE,
	LAB_DO_PUNCH,
	LAB_DO_FSYNC,
	LAB_DO_SYNC,
	LAB_DO_RECLAIM,
	LAB_DO_SLEEP,
	LAB_DO_EPOCH,
	LAB_DO_TIMES,
	LAB_DO_SYSCALL,
	LAB_DO_WORK,
	LAB_DO_EXPLORE,
	LAB_DO_STEP,
	LAB_DO_ALIAS_TEST,
	LAB_DO_REPEAT,
	LAB_DO_TIME,
	LAB_DO_MEASURE,
	LAB_DO_EXPECT,
	LAB_DO_EXPECT_ERROR,
	LAB_DO_ROUTINE,
	LAB_DO_CALL,
	LAB_DO_GROUP,
	LAB_DO_COUNT,
};

/* Kinds of things that have names; a set of them. */
enum lab_object_kind {
	LAB_MOUNT = 1,
	LAB_FILE = 2,
	LAB_PROCESS = 4,
	LAB_MAP = 8,
	LAB_ROUTINE = 16,
};

enum lab_argument_type {
	LAB_ARG_NONE,   /* ends a list */
	LAB_ARG_OBJECT, /* the name of something of a kind in `objects` */
	LAB_ARG_NEW,    /* the name of something that the statement makes */
	LAB_ARG_TEXT,
	LAB_ARG_WORD,     /* one of `words` */
	LAB_ARG_BYTES,    /* an expression: a size */
	LAB_ARG_COUNT,    /* an expression: a whole number */
	LAB_ARG_SECONDS,  /* an expression: a whole number, perhaps negative */
	LAB_ARG_DURATION, /* an expression: a time */
	LAB_ARG_LABELS,   /* labels of variants, with commas */
};

#define LAB_ARGUMENTS_MAX 8

struct lab_argument {
	enum lab_argument_type type;
	const char *name;
	bool key; /* name=value, in any order; else by place */
	bool required;
	unsigned objects;
	const char *const *words;
};

enum lab_tail {
	LAB_TAIL_NONE,
	LAB_TAIL_TEXT,       /* the rest of the line */
	LAB_TAIL_ASSIGN,     /* = EXPR */
	LAB_TAIL_COMPARISON, /* EXPR OP EXPR */
	LAB_TAIL_PAIRS,      /* any key=value */
};

struct lab_rule {
	enum lab_statement_kind kind;
	const char *word;
	const char *usage;
	bool header; /* only outside blocks */
	bool block;
	enum lab_tail tail;
	const char *const *flags; /* words in any order, up to 32, NULL-ended; NULL: none */
	struct lab_argument arguments[LAB_ARGUMENTS_MAX + 1];
};

/* NULL with *nearest set (NULL: none is near). */
const struct lab_rule *lab_rule_find(const char *word, const char **nearest);
const struct lab_rule *lab_rule_group(void);    /* of a bare block */
const char *lab_object_kinds(unsigned objects); /* "a file or a map" */

/* --- Statements ----------------------------------------------------------------------- */

struct lab_value {
	bool given;
	struct lab_place place;
	const char *text;
	struct lab_expression *expression; /* types that are numbers */
};

struct lab_pair {
	struct lab_place place, value_place;
	const char *key, *value;
};

struct lab_statement {
	const struct lab_rule *rule;
	struct lab_place place;
	struct lab_value values[LAB_ARGUMENTS_MAX];
	unsigned flags;                    /* bit n: flag n of the rule */
	const char *text;                  /* LAB_TAIL_TEXT */
	struct lab_expression *expression; /* LAB_TAIL_ASSIGN, LAB_TAIL_COMPARISON */
	struct lab_expression *fallback;   /* set ... default EXPR */
	const char *note;                  /* measure ... note "..." */
	struct lab_pair *pairs;
	size_t pair_count;
	struct lab_value in; /* in LABELS: only these variants; not given: all */
	struct lab_statement *block, *next;
	double weight; /* share of the run's work, for progress */
};

/* A variant line: label, then key=value. */
struct lab_script_variant {
	const char *label;
	const struct lab_statement *statement; /* NULL: the script has no variants, this is "run" */
	const struct lab_pair *machine;        /* machine=NAME; NULL: it runs on the script's */
};

struct lab_script {
	struct lab_arena arena;
	struct lab_source source;
	char *text;
	char *path, *name;
	const char *title, *citation, *machine, *question;
	const struct lab_statement *machine_at;
	bool bare;    /* no Quire is booted */
	bool by_name; /* runs when it is named only */
	struct lab_statement *statements;
	struct lab_script_variant *variants;
	size_t variant_count;
};

/* NULL, or what a number of such an argument must be. */
const char *lab_number_check(enum lab_argument_type type, struct lab_number number);
/* The functions of expressions, for names that are not known; NULL-ended. */
extern const char *const lab_function_names[];
bool lab_is_function(const char *name);
/* What alias-test measures; NULL-ended. */
extern const char *const lab_alias_measures[];
/* Does the function ask Quire, which a bare script has none of? */
bool lab_function_needs_quire(const char *name);
/* The length of a variable's name at `at`; 0: it is none. */
size_t lab_variable_length(const char *at);
/* Headers, variants and names, once the text is parsed; false after error messages. */
bool lab_script_check(FILE *errors, struct lab_script *script);
/* Text -> script->statements; false after error messages. */
bool lab_script_parse(FILE *errors, struct lab_script *script);
/* Does a list of labels ("a,b") contain this one? */
bool lab_labels_contain(const char *labels, const char *label);
/*
 * A policy question or fault_around; a figure of the machine; else but for `machine` a variable of
 * the script.
 */
bool lab_key_is_policy(const char *key);
bool lab_key_is_figure(const char *key);
bool lab_key_is_variable(const char *key);

#endif
