/* SPDX-License-Identifier: Apache-2.0
 *
 * libtracesmith: traces of GPU commands (.sbt, docs/sbt.md) for other people's programs. It reads
 * commands, their fields, host stacks with names and the GPU's state at any command; it writes
 * traces. Compile and link with `pkg-config --cflags --libs tracesmith`.
 *
 * Results. A function that can fail returns TS_OK (0), TS_END or an error; ts_error() then has the
 * sentence. What a function gives out through pointers is untouched when it fails.
 * Ownership. A text or array belongs to the object it was asked of, and lives as long as is said.
 * Threads. An object is used by one thread at a time; different traces by different threads.
 * Stability. Until 1.0 functions may be added; the format keeps a version of its own. Nothing here
 * prints, and a damaged file is no reason to end: what cannot be read is passed over and told
 * (ts_text(t, "damage")).
 * Memory. When it is out, a function returns TS_LIMIT, and one that returns a text NULL. The object
 * it was asked of (a trace with its cursors, a state, a writer) then answers TS_LIMIT to whatever
 * has to allocate, until it is closed; the memory that it held stays until the process ends.
 */
#ifndef TRACESMITH_H
#define TRACESMITH_H

#include <stddef.h>
#include <stdint.h>
#include "stops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TS_API __attribute__((visibility("default")))

enum ts_result {
	TS_OK = 0,
	TS_END,		/* there is no further one: no error */
	TS_USAGE,	/* arguments that cannot be */
	TS_SYSTEM,	/* a system call failed */
	TS_NOT_FOUND,	/* no such file, field, stream ... */
	TS_BAD_TRACE,	/* damaged, foreign, or written by a later version */
	TS_INCOMPLETE,	/* the trace does not hold what was asked for */
	TS_PERMISSION,	/* a file that may not be read */
	TS_UNSUPPORTED, /* named and refused */
	TS_LIMIT,	/* too large, too many, a full disk */
	TS_INTERRUPTED, /* ts_session_interrupt() */
};

/* The sentence of this thread's last failure, and what to do about it ("" when there is nothing to
 * say). Valid until this thread's next failure. */
TS_API const char *ts_error(void);
TS_API const char *ts_error_cure(void);
TS_API const char *ts_version(void);

#define TS_NO_ID 0xffffffffu  /* "none" in a field that holds the number of an object */
#define TS_MISSING UINT64_MAX /* in a column: the command has no such field */
#define TS_MISSING_SIGNED ((uint64_t)INT64_MIN) /* the same, in a column of a signed field */

/* --- a trace --- */

typedef struct ts_trace ts_trace;

/* Opens a trace. One that is damaged opens if a part of it is whole: ts_text(t, "damage") names
 * what is not. */
TS_API int ts_open(ts_trace **ret, const char *path);
TS_API void ts_close(ts_trace *t); /* NULL is fine */
/* By name: program, cwd, host, gpu, tsdb, damage. NULL: nothing is known. Valid until the trace is
 * asked for anything else. */
TS_API const char *ts_text(const ts_trace *t, const char *name);
/* By name: commands, first_seq, last_seq, lost (records), bytes (of the file), start_ns
 * (CLOCK_REALTIME), pid, rank, ranks (TS_MISSING: not known), soft, stacks, timestamps, observed (0
 * or 1). TS_NOT_FOUND: no such name. */
TS_API int ts_number(const ts_trace *t, const char *name, uint64_t *ret);
/* The mangled name of the kernel with this number; NULL: there is none. Lives as long as t. The
 * first call reads the trace once. */
TS_API const char *ts_kernel(ts_trace *t, uint64_t kernel);
/* The same without template arguments and parameters: "at::native::matmul". */
TS_API const char *ts_kernel_short(ts_trace *t, uint64_t kernel);

/* --- what commands have --- */

/* The kinds of commands by name, and the fields of a kind, by index; NULL past the end. The kind ""
 * has the fields that all commands have. The texts live for ever. */
TS_API const char *ts_kind_name(unsigned index);
TS_API const char *ts_field_name(const char *kind, unsigned index);
TS_API const char *ts_field_help(const char *kind, const char *field);

/* The name of the kind with this number, as the field "kind" has it; NULL: there is none. */
TS_API const char *ts_kind_of(uint64_t number);

enum ts_type { TS_UNSIGNED, TS_SIGNED, TS_NAME, TS_TEXT, TS_BYTES };
struct ts_value {
	enum ts_type type;
	uint64_t number;  /* UNSIGNED; SIGNED in two's complement; NAME: its number */
	const void *data; /* TEXT (not ended by 0), BYTES; NAME: a text ended by 0, NULL: unknown */
	size_t size;	  /* bytes of data */
};

/* --- commands, one by one --- */

typedef struct ts_cursor ts_cursor;

/* ts_next() will give the first command with a seq not below this one. The trace has to outlive it.
 */
TS_API int ts_cursor_open(ts_cursor **ret, ts_trace *t, uint64_t seq);
TS_API void ts_cursor_close(ts_cursor *c); /* NULL is fine */
TS_API int ts_cursor_seek(ts_cursor *c, uint64_t seq);
/* To the next command; TS_END when there is none. */
TS_API int ts_next(ts_cursor *c);
/* Of the command that ts_next() went to: its seq (0 before the first), its kind's name. */
TS_API uint64_t ts_seq(const ts_cursor *c);
TS_API const char *ts_kind(const ts_cursor *c);
/* A field of it. Its data is valid until the next ts_next(). TS_NOT_FOUND: the kind has none. Also
 * what follows from fields: "kind_name" (a text), "gpu_ns" (nanoseconds on the GPU; TS_MISSING: not
 * known), "kernel_name" of what runs a kernel (a text, as ts_kernel_short() has it). */
TS_API int ts_field(const ts_cursor *c, const char *name, struct ts_value *ret);

/* One frame of a host stack. Texts live as long as the trace. */
struct ts_frame {
	const char *function; /* demangled; NULL: not known */
	const char *file;     /* NULL: no line information */
	const char *module;   /* path of the ELF file; NULL: in none */
	uint64_t offset;      /* ELF virtual address of the call; 0 for Python */
	unsigned line;	      /* 0: not known */
	int inlined, python;  /* 0 or 1 */
};
/* The host stack that the command was called from, innermost first, without the agent's, the
 * driver's and the GPU runtime's frames. *ret_n is 0 when none was recorded. *ret is valid until
 * the cursor is asked for another stack or closed. */
TS_API int ts_stack(ts_cursor *c, const struct ts_frame **ret, size_t *ret_n);

/* One argument of a launch. */
enum ts_arg_class { TS_ARG_UNKNOWN, TS_ARG_UNSIGNED, TS_ARG_SIGNED, TS_ARG_FLOAT, TS_ARG_POINTER };
struct ts_arg {
	size_t size;	      /* set by the caller: sizeof(struct ts_arg) */
	const char *name;     /* NULL: not known */
	const char *type;     /* as C++ writes it; NULL: not known */
	enum ts_arg_class is; /* how the bytes are to be read; UNKNOWN: structs, and no type */
	const void *data;     /* little endian; NULL: not recorded */
	uint64_t bytes;	      /* of data */
};
/* By index, from 0; TS_END past the last one, TS_USAGE where there is no launch. Names come from
 * the debug information of the program's files, if they are still those that were recorded, or from
 * the source, if that is not newer; types from the former, or from the kernel's mangled name. What
 * does not agree with the recorded layout is not given. All is valid until the cursor is moved. */
TS_API int ts_argument(ts_cursor *c, unsigned index, struct ts_arg *ret);

/* --- some of the commands --- */

/* What ts_next() and ts_columns() stop at: commands for which all of this holds. */
struct ts_filter {
	size_t size;	       /* sizeof(struct ts_filter) */
	const char *kind;      /* "launch"; NULL: any */
	const char *kernel;    /* a glob (*, ?, [..]; A|B is either) of the mangled name, the short
				* name,    or the last part of the latter; NULL: any command */
	uint64_t stream;       /* its number; TS_MISSING: any command */
	const char *condition; /* "grid_x > 64 && arg2 != 0", as breakpoints have it; NULL: none */
	uint64_t last;	       /* the last seq */
};
#define TS_FILTER_ALL                                                                              \
	{                                                                                          \
		sizeof(struct ts_filter), NULL, NULL, TS_MISSING, NULL, UINT64_MAX                 \
	}
/* From now on; f and its texts are not kept. NULL: all commands again. The position stays. */
TS_API int ts_cursor_filter(ts_cursor *c, const struct ts_filter *f);

/* --- many commands at once --- */

/*
 * Reads on from the cursor's position and fills columns[i][0..rows-1] with the field fields[i], or
 * what ts_field() has besides; TS_MISSING where a command has none (signed: TS_MISSING_SIGNED).
 * *ret_rows is how many commands were read; fewer than rows: the end. A text is a number, for
 * ts_column_text(). Signed fields are in two's complement. Bytes are refused (TS_USAGE). Memory
 * grows with the number of different texts alone; TS_LIMIT above 4 million, or 256 MiB, of them.
 */
TS_API int ts_columns(ts_cursor *c, const char *const *fields, size_t nfields,
	uint64_t *const *columns, size_t rows, size_t *ret_rows);
/* What a column of this name has: TS_UNSIGNED, TS_SIGNED, TS_NAME or TS_TEXT. */
TS_API int ts_column_type(const char *field, enum ts_type *ret);
/* The text with this number, of at most 65,536 bytes; NULL: there is none. Valid as long as t. */
TS_API const char *ts_column_text(const ts_trace *t, uint64_t number);
/* What a number of a column of the type TS_NAME is called: "h2d". NULL: it has no name. Lives for
 * ever. */
TS_API const char *ts_column_name(const char *field, uint64_t number);

/* --- the GPU's state at a command --- */

typedef struct ts_state ts_state;

/* Right after the command with this seq was called. */
TS_API int ts_state_at(ts_state **ret, ts_trace *t, uint64_t seq);
TS_API void ts_state_free(ts_state *s); /* NULL is fine */

struct ts_stream {
	size_t size;	    /* set by the caller: sizeof(struct ts_stream) */
	uint32_t id, ctx;   /* ctx: its context */
	const char *status; /* "Idle", "Dispatch Pending", "Running", "Waiting", "Finished" */
	uint64_t pending;   /* commands that may not have finished */
};
/* By index, in order of id; TS_END past the last one. */
TS_API int ts_state_stream(const ts_state *s, unsigned index, struct ts_stream *ret);
/* By name: commands, launches, copies, fills, syncs, failed, pending (commands that may not have
 * finished), live_bytes, live_allocations. TS_NOT_FOUND: no such name. The last two walk all
 * allocations. */
TS_API int ts_state_number(const ts_state *s, const char *name, uint64_t *ret);

/* All that there is of a kind of objects, as JSON (docs/json.md, `info`): streams, events,
 * contexts, modules, kernels, allocations, graphs, devices, threads, or "all", which has the totals
 * besides. TS_NOT_FOUND: no such kind. *ret is valid until s is asked for the next such text or
 * freed. */
TS_API int ts_state_json(ts_state *s, const char *what, const char **ret);

/* --- answers --- */

/*
 * What a question about a trace or a session is answered with: a JSON document, as `tsdb` prints it
 * with --json (docs/json.md describes all of them), and what is in it, by path: "seq",
 * "part_list[0].name", "[2].a.command.stream", "" for the whole. An answer is a copy: it stays
 * valid when the trace or session is closed. TS_NOT_FOUND: there is nothing at the path, or it is
 * null; TS_USAGE: it is of another type, or the answer is no JSON.
 */
typedef struct ts_answer ts_answer;

TS_API void ts_answer_free(ts_answer *a); /* NULL is fine */
/* The whole document, or what a command printed. Ended by 0; valid until a is freed. */
TS_API const char *ts_answer_text(const ts_answer *a);
/* What tsdb would have printed besides, on its standard error: lines, "" for none. */
TS_API const char *ts_answer_notes(const ts_answer *a);
/* How many elements a list has, or members an object. */
TS_API int ts_answer_count(const ts_answer *a, const char *path, uint64_t *ret);
/* A number that is whole and not negative, true (1) or false (0), or an address: "0x302000000". */
TS_API int ts_answer_number(const ts_answer *a, const char *path, uint64_t *ret);
/* Any number. */
TS_API int ts_answer_real(const ts_answer *a, const char *path, double *ret);
/* A text, ended by 0; valid until a is freed. */
TS_API int ts_answer_string(ts_answer *a, const char *path, const char **ret);

/* --- what a trace says of its order and its time --- */

/*
 * These ask a tsdb of their own (see ts_session), which the trace starts at the first of them and
 * ends when it is closed. Options are those of the command, for example "--possible 10-20"; NULL:
 * none. The trace's file must still be where it was opened.
 */
/* `races`: a list. Each has the tier, the memory (addr, size, allocation), both commands (a.seq,
 * b.seq, frames) and, in cure, the call that would order them. May execute launches in a sandbox;
 * "--no-exact" does not. */
TS_API int ts_races(ts_answer **ret, ts_trace *t, const char *options);
/* `order why`: whether one is finished before the other begins, and the path that says so. */
TS_API int ts_order_why(ts_answer **ret, ts_trace *t, uint64_t a, uint64_t b);
/* `info stats`, `info critical-path`. */
TS_API int ts_stats(ts_answer **ret, ts_trace *t, const char *options);
TS_API int ts_critical_path(ts_answer **ret, ts_trace *t, const char *options);
/* `tsdb diff`: two traces compared. options: words of its own, a NULL behind the last; or NULL. */
TS_API int ts_diff(
	ts_answer **ret, const char *path_a, const char *path_b, const char *const *options);

/* --- sessions --- */

/*
 * A session is a tsdb of its own: a process that this library starts and ends. It can replay a
 * trace, and run a program with breakpoints. Whatever happens in it (a fault, no memory, a lost
 * device) is an error here, and the session can then only be closed. It is the program "tsdb"
 * beside the library, of its installation, or in PATH, in this order; ts_session_options has
 * another.
 *
 * One thread at a time uses a session, whichever it is; ts_session_interrupt() is for others. A
 * process that forks must not use its parent's sessions. Standard input and output are those of the
 * debugged program.
 */
typedef struct ts_session ts_session;

struct ts_session_options {
	size_t size;	  /* sizeof(struct ts_session_options) */
	const char *tsdb; /* path of the program; NULL: as above */
	const char *on;	  /* "soft", "real", "none" (the state alone), "auto" (NULL): the device */
	uint64_t window;  /* of a trace with several; TS_MISSING: the first */
	int any_device;	  /* 1: a replay on another GPU than the recorded one is fine */
	int no_sandbox;	  /* 1: the trace's code may do all that the caller can */
	const char *cwd;  /* for a program; NULL: the caller's */
	const char *record; /* for a program: the trace that is written; NULL: none */
};
#define TS_SESSION_DEFAULTS                                                                        \
	{                                                                                          \
		sizeof(struct ts_session_options), NULL, NULL, TS_MISSING, 0, 0, NULL, NULL        \
	}

/* A replay of t, before its first command. It does not need t any more. options: NULL: all as
 * usual. */
TS_API int ts_replay(ts_session **ret, ts_trace *t, const struct ts_session_options *options);
/* A program, argv[0] with its arguments up to a NULL, that is run by ts_run(). */
TS_API int ts_launch(
	ts_session **ret, const char *const *argv, const struct ts_session_options *options);
/* Kills its program, ends its replay. NULL is fine. */
TS_API void ts_session_close(ts_session *s);
/* Ends what another thread is waiting for in this session: it gets TS_INTERRUPTED, or a result that
 * says so. May be called in signal handlers. */
TS_API void ts_session_interrupt(ts_session *s);

/* Any command of tsdb's shell ("help" lists them), or several lines, and what it prints. Those that
 * list or judge take --json. */
TS_API int ts_ask(ts_answer **ret, ts_session *s, const char *command);

/* Where a replay is: the seq of the command that was submitted last, 0 at the beginning. */
TS_API int ts_position(ts_session *s, uint64_t *ret);
/* To right behind command seq; 0: the beginning. */
TS_API int ts_goto(ts_session *s, uint64_t seq);
/* n commands on, -n: back; graph launches node by node. Ends at the trace's ends. */
TS_API int ts_step(ts_session *s, int64_t n);

/* Stops at what `break PLACE` takes: "kernel matmul if stream == 2", "copy", "seq 41". *ret: its
 * number; may be NULL. */
TS_API int ts_break(ts_session *s, const char *place, uint64_t *ret);

/* Why a session stopped: stops.h has the rows. */
enum ts_stop {
	TS_STOP_OTHER = 4, /* one that this library does not know: ts_stopped() has its word */
#define TS_STOP_ENUM(name, number, word) TS_STOP_##name = number,
	TS_STOP_REASONS(TS_STOP_ENUM)
#undef TS_STOP_ENUM
};
/* Runs a program from its beginning; goes on, with a program or a replay. */
TS_API int ts_run(ts_session *s, enum ts_stop *ret);
TS_API int ts_continue(ts_session *s, enum ts_stop *ret);
TS_API int ts_reverse_continue(ts_session *s, enum ts_stop *ret);
/* The last stop, also of a command that ts_ask() ran: the object `stop` of docs/json.md, with
 * stop_reason, seq, stream, kernel_name, breakpoint_list, what a watchpoint saw (watch.addr,
 * watch.bytes_before, watch.bytes_after), a fault, the thread inside a kernel. TS_NOT_FOUND: there
 * was none yet. */
TS_API int ts_stopped(ts_answer **ret, const ts_session *s);
/* What was said at the last of these moves, lines; valid until the next one. */
TS_API const char *ts_stop_text(const ts_session *s);

/* Memory at the stop: the GPU's, or the host's of a program that has stopped. Writing the GPU's is
 * a what-if: commands behind it are executed with it, until `replay restart`. */
TS_API int ts_memory_read(ts_session *s, uint64_t addr, void *dst, size_t size);
TS_API int ts_memory_write(ts_session *s, uint64_t addr, const void *src, size_t size);

/* `who-wrote`: the last command that wrote to this memory (seq, certain, changed, command, frames).
 * `replay check`, with its options or NULL: launches that give other results from the same memory.
 * `replay verify`: the whole run compared with the recording. */
TS_API int ts_who_wrote(ts_answer **ret, ts_session *s, uint64_t addr, uint64_t size);
TS_API int ts_check(ts_answer **ret, ts_session *s, const char *options);
TS_API int ts_verify(ts_answer **ret, ts_session *s);

/* --- writing a trace --- */

typedef struct ts_writer ts_writer;

/* Creates the file, readable by its owner alone. program: what was recorded, as one would type it.
 */
TS_API int ts_writer_open(ts_writer **ret, const char *path, const char *program);
/* A new command; the fields that are not set are 0, ids TS_NO_ID. Seqs must rise. */
TS_API int ts_writer_begin(ts_writer *w, const char *kind, uint64_t seq);
TS_API int ts_writer_set(ts_writer *w, const char *field, uint64_t number);
/* TEXT and BYTES; the bytes must stay until ts_writer_end(). */
TS_API int ts_writer_set_data(ts_writer *w, const char *field, const void *data, size_t size);
TS_API int ts_writer_end(ts_writer *w);
/* Completes the file and frees w, in every case. NULL is fine. */
TS_API int ts_writer_close(ts_writer *w);

#ifdef __cplusplus
}
#endif

#endif
