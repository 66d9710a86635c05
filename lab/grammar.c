/*
 * The grammar of scripts: one table of statements and of the words each takes.
 *
 * docs/scripts.md explains what they do; this is what the parser checks against.
 */
#include <string.h>

#include "lab/script.h"

static const char *const kinds_of_work[] = {"shell", NULL};
static const char *const kinds_of_mount[] = {"disk", "tmpfs", "ramfs", NULL};
static const char *const fills[] = {"random", "zero", "none", NULL};
static const char *const buffer_fills[] = {"random", "zero", NULL};
static const char *const write_flags[] = {"fresh", NULL};
static const char *const map_flags[] = {"shared", "private", "anonymous", "locked", "readonly",
					"none",   "r",       "w",         "rw",     "x",
					"rx",     "rwx",     NULL};
static const char *const protections[] = {"none", "r", "w", "rw", "x", "rx", "rwx", NULL};
static const char *const msync_flags[] = {"async", "sync", "invalidate", NULL};
static const char *const alias_flags[] = {"uncached", NULL};
static const char *const orders[] = {"ascending", "descending", "random", NULL};
static const char *const units[] = {"ns", "us", "ms", "s", NULL};

/* Arguments by place, required; by place, optional; by key, optional; by key, required. */
#define PLACE(t, n)            {.type = LAB_ARG_##t, .name = n, .required = true}
#define WORD(n, w)             {.type = LAB_ARG_WORD, .name = n, .required = true, .words = w}
#define OBJECT(n, o)           {.type = LAB_ARG_OBJECT, .name = n, .required = true, .objects = o}
#define MAYBE_OBJECT(n, o)     {.type = LAB_ARG_OBJECT, .name = n, .objects = o}
#define NEW(n, o)              {.type = LAB_ARG_NEW, .name = n, .required = true, .objects = o}
#define KEY(t, n)              {.type = LAB_ARG_##t, .name = n, .key = true}
#define NEED_KEY(t, n)         {.type = LAB_ARG_##t, .name = n, .key = true, .required = true}
#define KEY_WORD(n, w)         {.type = LAB_ARG_WORD, .name = n, .key = true, .words = w}
#define KEY_OBJECT(n, o)       {.type = LAB_ARG_OBJECT, .name = n, .key = true, .objects = o}
#define NEED_KEY_OBJECT(n, o)                                                                      \
	{                                                                                          \
		.type = LAB_ARG_OBJECT, .name = n, .key = true, .required = true, .objects = o     \
	}
#define RANGE KEY(BYTES, "at"), KEY(BYTES, "size")
#define WALK  RANGE, KEY(BYTES, "stride"), KEY_WORD("order", orders)

#define RULE(id, w, use) .kind = LAB_DO_##id, .word = w, .usage = use

static const struct lab_rule rules[] = {
	{RULE(TITLE, "title", "title TEXT"), .header = true, .tail = LAB_TAIL_TEXT},
	{RULE(SOURCE, "source", "source TEXT"), .header = true, .tail = LAB_TAIL_TEXT},
	{RULE(MACHINE, "machine", "machine NAME"), .header = true,
	 .arguments = {PLACE(TEXT, "NAME")}},
	{RULE(BARE, "bare", "bare"), .header = true},
	{RULE(BY_NAME, "by-name", "by-name"), .header = true},
	{RULE(QUESTION, "question", "question POLICY"), .header = true,
	 .arguments = {PLACE(TEXT, "POLICY")}},
	{RULE(POLICY, "policy", "policy QUESTION=ANSWER ..."), .header = true,
	 .tail = LAB_TAIL_PAIRS},
	{RULE(VARIANT, "variant",
	      "variant LABEL [machine=NAME|QUESTION=ANSWER|VARIABLE=VALUE|SECTION.KEY=VALUE ...]"),
	 .header = true, .tail = LAB_TAIL_PAIRS, .arguments = {PLACE(TEXT, "LABEL")}},
	{RULE(PUBLISH, "publish", "publish NAME UNIT LABEL=FIGURE ..."), .header = true,
	 .tail = LAB_TAIL_PAIRS, .arguments = {PLACE(TEXT, "NAME"), PLACE(TEXT, "UNIT")}},
	{RULE(SET, "set", "set NAME = EXPRESSION [default EXPRESSION]"), .tail = LAB_TAIL_ASSIGN,
	 .arguments = {PLACE(TEXT, "NAME")}},
	{RULE(MOUNT, "mount", "mount NAME disk|tmpfs|ramfs [size=BYTES]"),
	 .arguments = {NEW("NAME", LAB_MOUNT), WORD("KIND", kinds_of_mount), KEY(BYTES, "size")}},
	{RULE(UNMOUNT, "unmount", "unmount MOUNT"), .arguments = {OBJECT("MOUNT", LAB_MOUNT)}},
	{RULE(FILE, "file", "file NAME on=MOUNT [size=BYTES] [fill=random|zero|none]"),
	 .arguments = {NEW("NAME", LAB_FILE), NEED_KEY_OBJECT("on", LAB_MOUNT), KEY(BYTES, "size"),
		       KEY_WORD("fill", fills)}},
	{RULE(CLOSE, "close", "close FILE"), .arguments = {OBJECT("FILE", LAB_FILE)}},
	{RULE(UNLINK, "unlink", "unlink FILE"), .arguments = {OBJECT("FILE", LAB_FILE)}},
	{RULE(PROCESS, "process", "process NAME"), .arguments = {NEW("NAME", LAB_PROCESS)}},
	{RULE(USE, "use", "use PROCESS"), .arguments = {OBJECT("PROCESS", LAB_PROCESS)}},
	{RULE(CPU, "cpu", "cpu NUMBER"), .arguments = {PLACE(COUNT, "NUMBER")}},
	{RULE(FORK, "fork", "fork NAME"), .arguments = {NEW("NAME", LAB_PROCESS)}},
	{RULE(EXEC, "exec", "exec")},
	{RULE(EXIT, "exit", "exit PROCESS"), .arguments = {OBJECT("PROCESS", LAB_PROCESS)}},
	{RULE(BUFFER, "buffer", "buffer NAME size=BYTES [fill=random|zero]"),
	 .arguments = {NEW("NAME", LAB_MAP), NEED_KEY(BYTES, "size"),
		       KEY_WORD("fill", buffer_fills)}},
	{RULE(READ, "read",
	      "read FILE [at=BYTES] [size=BYTES] [chunk=BYTES] [into=MAP] [skip=BYTES]"),
	 .arguments = {OBJECT("FILE", LAB_FILE), RANGE, KEY(BYTES, "chunk"),
		       KEY_OBJECT("into", LAB_MAP), KEY(BYTES, "skip")}},
	{RULE(WRITE, "write",
	      "write FILE [at=BYTES] [size=BYTES] [chunk=BYTES] [from=MAP] [skip=BYTES] [fresh]"),
	 .flags = write_flags,
	 .arguments = {OBJECT("FILE", LAB_FILE), RANGE, KEY(BYTES, "chunk"),
		       KEY_OBJECT("from", LAB_MAP), KEY(BYTES, "skip")}},
	{RULE(MAP, "map",
	      "map NAME [FILE] shared|private [anonymous] [r|rw|rx|rwx|none] [locked] [readonly] "
	      "[at=BYTES] [size=BYTES] [address=BYTES]"),
	 .flags = map_flags,
	 .arguments = {NEW("NAME", LAB_MAP), MAYBE_OBJECT("FILE", LAB_FILE), RANGE,
		       KEY(BYTES, "address")}},
	{RULE(UNMAP, "unmap", "unmap MAP [at=BYTES size=BYTES]"),
	 .arguments = {OBJECT("MAP", LAB_MAP), RANGE}},
	{RULE(PROTECT, "protect", "protect MAP r|rw|rx|rwx|none [at=BYTES] [size=BYTES]"),
	 .arguments = {OBJECT("MAP", LAB_MAP), WORD("PROTECTION", protections), RANGE}},
	{RULE(MSYNC, "msync", "msync MAP async|sync|invalidate [at=BYTES] [size=BYTES]"),
	 .flags = msync_flags, .arguments = {OBJECT("MAP", LAB_MAP), RANGE}},
	{RULE(LOAD, "load",
	      "load MAP [at=BYTES] [size=BYTES] [stride=BYTES] "
	      "[order=ascending|descending|random]"),
	 .arguments = {OBJECT("MAP", LAB_MAP), WALK}},
	{RULE(STORE, "store",
	      "store MAP [at=BYTES] [size=BYTES] [stride=BYTES] "
	      "[order=ascending|descending|random] "
	      "[value=NUMBER]"),
	 .arguments = {OBJECT("MAP", LAB_MAP), WALK, KEY(COUNT, "value")}},
	{RULE(EXECUTE, "execute",
	      "execute MAP [at=BYTES] [size=BYTES] [stride=BYTES] "
	      "[order=ascending|descending|random]"),
	 .arguments = {OBJECT("MAP", LAB_MAP), WALK}},
	{RULE(DEBUG_LOAD, "debug-load", "debug-load PROCESS map=MAP [at=BYTES] [size=BYTES]"),
	 .arguments = {OBJECT("PROCESS", LAB_PROCESS), NEED_KEY_OBJECT("map", LAB_MAP), RANGE}},
	{RULE(DEBUG_STORE, "debug-store", "debug-store PROCESS map=MAP [at=BYTES] [size=BYTES]"),
	 .arguments = {OBJECT("PROCESS", LAB_PROCESS), NEED_KEY_OBJECT("map", LAB_MAP), RANGE}},
	{RULE(TRUNCATE, "truncate", "truncate FILE size=BYTES"),
	 .arguments = {OBJECT("FILE", LAB_FILE), NEED_KEY(BYTES, "size")}},
	{RULE(ALLOCATE, "allocate", "allocate FILE at=BYTES size=BYTES"),
	 .arguments = {OBJECT("FILE", LAB_FILE), NEED_KEY(BYTES, "at"), NEED_KEY(BYTES, "size")}},
	{RULE(PUNCH, "punch", "punch FILE at=BYTES size=BYTES"),
	 .arguments = {OBJECT("FILE", LAB_FILE), NEED_KEY(BYTES, "at"), NEED_KEY(BYTES, "size")}},
	{RULE(FSYNC, "fsync", "fsync FILE"), .arguments = {OBJECT("FILE", LAB_FILE)}},
	{
		RULE(SYNC, "sync", "sync"),
	},
	{RULE(RECLAIM, "reclaim", "reclaim [pages=NUMBER]"), .arguments = {KEY(COUNT, "pages")}},
	{RULE(SLEEP, "sleep", "sleep DURATION"), .arguments = {PLACE(DURATION, "DURATION")}},
	{RULE(EPOCH, "epoch", "epoch")},
	{RULE(TIMES, "times",
	      "times STEP FILE [mtime=SECONDS ctime=SECONDS atime=SECONDS] [match=LABELS]"),
	 .arguments = {PLACE(TEXT, "STEP"), OBJECT("FILE", LAB_FILE), KEY(SECONDS, "mtime"),
		       KEY(SECONDS, "ctime"), KEY(SECONDS, "atime"), KEY(LABELS, "match")}},
	{RULE(SYSCALL, "syscall", "syscall [count=NUMBER]"), .arguments = {KEY(COUNT, "count")}},
	{RULE(WORK, "work", "work shell"), .arguments = {WORD("KIND", kinds_of_work)}},
	{RULE(EXPLORE, "explore", "explore [cpus=NUMBER] [pages=NUMBER] [drop=SITE] [mutant=NAME]"),
	 .arguments = {KEY(COUNT, "cpus"), KEY(COUNT, "pages"), KEY(TEXT, "drop"),
		       KEY(TEXT, "mutant")}},
	{RULE(STEP, "step", "step TEXT"), .tail = LAB_TAIL_TEXT},
	{RULE(ALIAS_TEST, "alias-test",
	      "alias-test [from=BYTES] [to=BYTES] [passes=NUMBER] [uncached]"),
	 .flags = alias_flags,
	 .arguments = {KEY(BYTES, "from"), KEY(BYTES, "to"), KEY(COUNT, "passes")}},
	{RULE(REPEAT, "repeat", "repeat NUMBER [as=VARIABLE] {"), .block = true,
	 .arguments = {PLACE(COUNT, "NUMBER"), KEY(TEXT, "as")}},
	{RULE(TIME, "time", "time NAME [ns|us|ms|s] {"), .block = true, .flags = units,
	 .arguments = {PLACE(TEXT, "NAME")}},
	{RULE(MEASURE, "measure", "measure NAME UNIT = EXPRESSION [note \"TEXT\"]"),
	 .tail = LAB_TAIL_ASSIGN, .arguments = {PLACE(TEXT, "NAME"), PLACE(TEXT, "UNIT")}},
	{RULE(EXPECT, "expect", "expect EXPRESSION ==|!=|<|<=|>|>= EXPRESSION"),
	 .tail = LAB_TAIL_COMPARISON},
	{RULE(EXPECT_ERROR, "expect-error", "expect-error ERRNO|SIGBUS|SIGSEGV {"), .block = true,
	 .arguments = {PLACE(TEXT, "ERROR")}},
	{RULE(ROUTINE, "routine", "routine NAME {"), .header = true, .block = true,
	 .arguments = {NEW("NAME", LAB_ROUTINE)}},
	{RULE(CALL, "call", "call ROUTINE"), .arguments = {OBJECT("ROUTINE", LAB_ROUTINE)}},
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

static const struct lab_rule group = {RULE(GROUP, "{", "in LABELS {"), .block = true};

const struct lab_rule *lab_rule_group(void)
{
	return &group;
}

const struct lab_rule *lab_rule_find(const char *word, const char **nearest)
{
	const char *names[RULES];

	for (size_t i = 0; i < RULES; i++) {
		if (strcmp(rules[i].word, word) == 0)
			return &rules[i];
		names[i] = rules[i].word;
	}
	*nearest = lab_nearest(word, names, RULES);
	return NULL;
}

const char *lab_object_kinds(unsigned objects)
{
	switch (objects) {
	case LAB_MOUNT:
		return "a mounted file system";
	case LAB_FILE:
		return "a file";
	case LAB_PROCESS:
		return "a process";
	case LAB_MAP:
		return "a map or buffer";
	default:
		return "a routine";
	}
}
