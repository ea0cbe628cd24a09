/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes, reads and prints a trace. A trace is one file with one writer and any number of readers
 * (docs/sbt.md). A reader treats the file as hostile: every length is checked, every count bounded;
 * a damaged chunk is reported and skipped, whole chunks around it are used. Neither type may be
 * shared between threads without a lock.
 */
#ifndef SBT_SBT_H
#define SBT_SBT_H

#include "base/err.h"
#include "base/buf.h"
#include "sbt/cmd.h"
#include "sbt/expr.h"
#include "gpucode/code-kind.h"

#define SBT_VERSION_MAJOR 1 /* a reader refuses a larger one */
/* a reader accepts a larger one: fields and chunk types it does not know are skipped */
#define SBT_VERSION_MINOR 14

/* One frame of a host stack. */
struct sbt_frame {
	uint32_t module; /* index into the trace's module list (sbt_host_module) */
	uint64_t offset; /* of the return address minus 1 (the call), from the module's load bias:
			    an ELF virtual address */
};

/* A file mapped in the inferior that stacks refer to. */
struct sbt_host_module {
	const char *path;
	const char *build_id; /* hex, or "" */
};

/*
 * Frames of a program that an interpreter runs are in a module with this path, and their offset is
 * the number of a place in that program's source (sbt_reader_place).
 */
#define SBT_MODULE_PYTHON "[python]"
struct sbt_place {
	const char *file;	   /* as the interpreter names it; may be "<string>" */
	const char *function;	   /* qualified: "Net.forward" */
	uint32_t first_line, line; /* of the function, of the call; 0: not known */
};

/* Frames of which another program's profile gives the name alone are in a module with this path,
 * and their offset is any number; sbt_reader_symbol() has the name. */
#define SBT_MODULE_NAMED "[named]"

/* What an address of a host stack was called when it was recorded. */
struct sbt_symbol {
	const char *function, *file; /* NULL: not known */
	const char *folder;	     /* in which it was compiled, for relative files; or NULL */
	uint32_t line;
	uint64_t start; /* bytes from the function's beginning */
};

/* About the recording; strings owned by the trace (reader) or the caller (writer). */
struct sbt_meta {
	const char *program; /* argv joined with spaces, quoted for a shell */
	const char *cwd;
	const char *host;   /* uname -n -r */
	const char *gpu;    /* first device's name */
	const char *vendor; /* of the device: "NVIDIA", "AMD"; empty: not said (sbt/vendor.h) */
	const char *target; /* what code must be for there, of AMD: "gfx90a:sramecc+:xnack-" */
	const char *tsdb;   /* version that wrote it */
	uint64_t start_ns;  /* CLOCK_REALTIME */
	uint32_t pid;
	uint64_t rank, ranks; /* the process's rank, and how many ranks there are, both plus 1;
			       * 0: not known */
	uint32_t driver_version;
	bool soft;		 /* recorded on the software GPU */
	bool stacks, timestamps; /* whether the recording was to have them */
	bool observed; /* seen from outside, or imported: no memory, no code; it cannot be executed
			  again */
};

/* --- writer --- */

struct sbt_writer;

/* Creates path (truncating it). The file is a readable trace after every flush. */
struct err *sbt_writer_open(
	struct sbt_writer **ret, const char *path, const struct sbt_meta *meta) TS_CHECK;
/* Replaces the meta data: at the beginning of a recording the device is often not known yet. */
struct err *sbt_writer_meta(struct sbt_writer *w, const struct sbt_meta *meta) TS_CHECK;
/* Appends a command; seqs must rise. c->stack refers to an id given to sbt_writer_stack() before.
 * A full disk or a failed write is returned once with ERR_SYSTEM by whatever call met it; from then
 * on calls succeed and do nothing, and what was written stays a readable trace. GPU times in c go
 * the same way as with sbt_writer_time(). */
struct err *sbt_writer_cmd(struct sbt_writer *w, const struct sbt_cmd *c) TS_CHECK;
/* Host modules get dense indices in order of definition. */
struct err *sbt_writer_module(
	struct sbt_writer *w, const char *path, const char *build_id, uint32_t *ret_index) TS_CHECK;
/* Places get dense numbers in order of definition. Before the stacks with them. */
struct err *sbt_writer_place(
	struct sbt_writer *w, const struct sbt_place *place, uint32_t *ret_index) TS_CHECK;
/* What frame f was called: inlined calls from the inside out, then the function; n from 1 to 32. */
struct err *sbt_writer_symbol(struct sbt_writer *w, const struct sbt_frame *f,
	const struct sbt_symbol *v, unsigned n) TS_CHECK;
/* The text of a source file, by the whole name that the compiler had; at most SBT_SOURCE_MAX bytes.
 */
#define SBT_SOURCE_MAX (1u << 20)
struct err *sbt_writer_source(
	struct sbt_writer *w, const char *file, const void *text, size_t n) TS_CHECK;
/* Defines stack id (any u32 but 0, once), innermost frame first; beyond 1024 frames the outermost
 * are left out. */
struct err *sbt_writer_stack(
	struct sbt_writer *w, uint32_t id, const struct sbt_frame *frames, unsigned n) TS_CHECK;
/* Adds GPU start and end of a command, in any order, also long after the command was written. */
struct err *sbt_writer_time(
	struct sbt_writer *w, uint64_t seq, uint64_t start_ns, uint64_t end_ns) TS_CHECK;
/* Code of a module, once per hash (XXH64 of the bytes, computed here); the trace keeps whether it
 * is PTX. */
struct err *sbt_writer_code(struct sbt_writer *w, const void *code, size_t n, enum code_kind kind,
	uint64_t *ret_hash) TS_CHECK;
/* The state after the command with this seq (bytes from state_encode); starts a new commands chunk.
 */
struct err *sbt_writer_keyframe(
	struct sbt_writer *w, uint64_t seq, const void *state, size_t n) TS_CHECK;
/* "not replayable: NAME, n calls", and records lost before seq. Cumulative figures; may be called
 * again. */
struct err *sbt_writer_unreplayable(struct sbt_writer *w, const char *call, uint64_t n) TS_CHECK;
struct err *sbt_writer_lost(struct sbt_writer *w, uint64_t seq, uint64_t n) TS_CHECK;
/* Commands since the last keyframe; the recorder uses it to see when the next one is due. */
uint64_t sbt_writer_since_keyframe(const struct sbt_writer *w);
/* Bytes in the file plus bytes waiting for the next flush. */
uint64_t sbt_writer_bytes(const struct sbt_writer *w);
uint64_t sbt_writer_count(const struct sbt_writer *w);
/* Everything so far reaches the file as whole chunks. */
struct err *sbt_writer_flush(struct sbt_writer *w) TS_CHECK;
/* Writes index and trailer, closes, frees w in every case. */
struct err *sbt_writer_close(struct sbt_writer *w) TS_CHECK;
/* For one whose insides are not whole, because memory was out before sbt_writer_close(): closes its
 * file and leaves the rest as it is. It must not be used any more. */
void sbt_writer_abandon(struct sbt_writer *w);

/* --- reader --- */

struct sbt_reader;

/* Opens a trace; reads header, trailer and index only. Without a trailer (a crashed recording) it
 * scans the chunk headers and uses every whole chunk; sbt_reader_damage() then says what is
 * missing. */
struct err *sbt_reader_open(struct sbt_reader **ret, const char *path) TS_CHECK;
/* The same of a file that is open for reading; the reader owns fd, also after an error. path is for
 * its sentences. */
struct err *sbt_reader_open_fd(struct sbt_reader **ret, int fd, const char *path) TS_CHECK;
void sbt_reader_close(struct sbt_reader *r);
/* For one whose insides are not whole, because memory was out: closes its file and leaves the rest
 * as it is. It must not be used any more. */
void sbt_reader_abandon(struct sbt_reader *r);

const struct sbt_meta *sbt_reader_meta(const struct sbt_reader *r);
uint64_t sbt_reader_count(const struct sbt_reader *r);	   /* commands */
uint64_t sbt_reader_first_seq(const struct sbt_reader *r); /* 0 when there are none */
uint64_t sbt_reader_last_seq(const struct sbt_reader *r);
uint64_t sbt_reader_lost(const struct sbt_reader *r); /* records lost, in all */
uint64_t sbt_reader_size(const struct sbt_reader *r); /* the file, bytes */
/* NULL, or one or more sentences, a line each: what is damaged or missing. Damage inside
 * commands chunks is found when they are read, so this may grow: valid until the reader is asked
 * for anything else. */
const char *sbt_reader_damage(const struct sbt_reader *r);
/* The i-th unreplayable call and its count; false past the end. */
bool sbt_reader_unreplayable(
	const struct sbt_reader *r, unsigned i, const char **ret_call, uint64_t *ret_n);

/* A cursor walks the commands in order of seq, with GPU times filled in. Memory: one chunk. */
struct sbt_cursor;
struct err *sbt_cursor_open(struct sbt_cursor **ret, struct sbt_reader *r) TS_CHECK;
void sbt_cursor_close(struct sbt_cursor *c);
/* The next command in *ret, valid until the next call; *ret == NULL at the end. Damage is no error:
 * what cannot be read is skipped, and sbt_reader_damage() names it. */
struct err *sbt_cursor_next(struct sbt_cursor *c, const struct sbt_cmd **ret) TS_CHECK;
/* The caller takes n commands from here on and looks at no BLOB field of them but the last one's:
 * chunks of which it takes all are decoded without, in two thirds of the time, and what is damaged
 * in such fields is not found. 0: there are no more such commands. The command that was given last
 * is not valid any more. */
struct err *sbt_cursor_skim(struct sbt_cursor *c, uint64_t n) TS_CHECK;
/* Moves the cursor: the next command is the first one whose seq is not below this. */
struct err *sbt_cursor_seek(struct sbt_cursor *c, uint64_t seq) TS_CHECK;

/* The last keyframe with seq <= seq. *ret_seq is 0 and the buffer empty when there is none: start
 * from nothing. */
struct err *sbt_reader_keyframe(
	struct sbt_reader *r, uint64_t seq, uint64_t *ret_seq, struct buf *ret) TS_CHECK;
/* Its seq, without reading it: 0 when there is none. It may yet prove damaged. */
uint64_t sbt_reader_keyframe_seq(const struct sbt_reader *r, uint64_t seq);
/* Frames of a stack, innermost first; *ret_n is 0 for id 0 or an id that the trace lacks. Owned by
 * the reader. */
struct err *sbt_reader_stack(
	struct sbt_reader *r, uint32_t id, const struct sbt_frame **ret, unsigned *ret_n) TS_CHECK;
const struct sbt_host_module *sbt_reader_module(struct sbt_reader *r, uint32_t index);
/* The *ret_n names of a frame, inlined calls first; NULL: the trace has none. Owned by the reader.
 */
const struct sbt_symbol *sbt_reader_symbol(
	struct sbt_reader *r, const struct sbt_frame *f, unsigned *ret_n);
/* Whether the trace has names of frames. */
bool sbt_reader_has_symbols(const struct sbt_reader *r);
/* How many source files the trace has the text of. */
unsigned sbt_reader_sources(const struct sbt_reader *r);
/* The i-th of them: its name, a heap string, and its text appended to ret, both made safe to print.
 * A damaged one is an error, and sbt_reader_damage() names it. */
struct err *sbt_reader_source(
	struct sbt_reader *r, unsigned i, char **ret_file, struct buf *ret) TS_CHECK;
/* NULL: the trace lacks it. Owned by the reader. */
const struct sbt_place *sbt_reader_place(struct sbt_reader *r, uint64_t index);
/* For sbt_expr_eval_in(): answers about the Python frames of stack `stack`. Set view.answer to
 * sbt_reader_python() and view.arg to such a structure. */
struct sbt_reader_python {
	struct sbt_reader *r;
	uint32_t stack;
};
uint64_t sbt_reader_python(void *arg, enum sbt_python what, const char *text, bool glob);
/* The hash of the i-th code; false past the end. */
/* *ret_kind: CODE_PTX, or CODE_UNKNOWN for all other code, whose kind only its bytes tell. */
bool sbt_reader_code_at(
	const struct sbt_reader *r, unsigned i, uint64_t *ret_hash, enum code_kind *ret_kind);
/* The code with this hash appended to ret; ERR_NOT_FOUND when the trace lacks it. */
struct err *sbt_reader_code(
	struct sbt_reader *r, uint64_t hash, struct buf *ret, enum code_kind *ret_kind) TS_CHECK;

/* --- printing --- */

/* Functions through which a printer looks up ids. All members may be NULL. */
struct sbt_names {
	void *arg;
	const char *(*kernel)(void *arg, uint32_t id); /* demangled or short name */
	bool (*params)(void *arg, uint32_t kernel, struct sbt_blob *ret); /* kernel_def.params */
};

/* One line without newline, as the user sees it everywhere:
 * "#143 matmul<<<(64,64,1),(16,16,1)>>> stream 2", "#12 copy h2d 4096 bytes 0x7f.. -> 0x30.. stream
 * 0". */
void sbt_print_cmd(struct buf *out, const struct sbt_cmd *c, const struct sbt_names *names);
/* The same as one JSON object, every field by its table name; addresses as "0x.." strings. */
void sbt_json_cmd(struct buf *out, const struct sbt_cmd *c, const struct sbt_names *names);
/* A command as a member of an object (base/json-put.h): JS_BY(.., sbt_json_ref, "command"). c NULL:
 * null. */
struct sbt_cmd_ref {
	const struct sbt_cmd *c;
	const struct sbt_names *names;
};
void sbt_json_ref(struct buf *out, const void *ref);

#endif
