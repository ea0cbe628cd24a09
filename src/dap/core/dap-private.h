/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room dap: one conversation, and what its requests share.
 */
#ifndef DAP_CORE_DAP_PRIVATE_H
#define DAP_CORE_DAP_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "dap/wire/dap-link.h"
#include "library/ts-session.h"

/* Where the conversation is. A row of the table of requests has those that it is answered in. */
enum dap_phase {
	DAP_NEW = 1,	/* `initialize` has to come */
	DAP_READY = 2,	/* `launch` or `attach` */
	DAP_SET_UP = 4, /* breakpoints, then `configurationDone` */
	DAP_STOPPED = 8,
	DAP_RUNNING = 16,
	DAP_ENDED = 32, /* the program; `disconnect` has to come */
	/* what rows are made of */
	DAP_SESSION = DAP_SET_UP | DAP_STOPPED | DAP_RUNNING,
	DAP_STILL = DAP_SET_UP | DAP_STOPPED,
	DAP_ANY = DAP_NEW | DAP_READY | DAP_SESSION | DAP_ENDED,
};

enum dap_mode { DAP_DEBUG, DAP_RECORD, DAP_REPLAY, DAP_ATTACH };

/* A move that begins when the request that asked for it has been answered. */
struct dap_move {
	char *command;	    /* of the shell, heap; NULL: none */
	const char *resume; /* goes on after a short stop that nobody sees; NULL: there are none */
	const char *reason; /* of the event `stopped` where the move ends as asked for */
	bool unasked;	    /* the protocol's requests for moves do not include it */
	json_int_t thread;  /* whose it is; 0: that of the command where it ends */
};

/* What the client has set of one kind, and the shell's number of each. */
struct dap_point {
	char *key; /* file, function, address ...; what must be equal for it to stay */
	int id;	   /* the shell's; 0: none, `why` says why not */
	char *why; /* heap, NULL: it is set */
	json_int_t line;
};
enum dap_point_kind {
	DAP_SOURCE_POINT,
	DAP_FUNCTION_POINT,
	DAP_DATA_POINT,
	DAP_CODE_POINT,
	DAP_EXCEPTION_POINT,
	DAP_POINT_KINDS
};
struct dap_points {
	struct dap_point *list;
	size_t n, cap;
};

struct dap_frame;
struct dap_ref;

struct dap {
	struct link *link;
	const char *tsdb;
	enum dap_phase phase;
	enum dap_mode mode;
	bool replays;	    /* a replay is on; else a live program */
	bool terminates;    /* `disconnect` ends the program, too */
	bool then_replay;   /* when the program has ended its recording is replayed */
	bool hits_base_one; /* the client's lines and columns begin with 1 */
	bool shows_progress, shows_memory, shows_invalidated;
	bool leaves;	     /* after the answer that is being made */
	char *trace;	     /* of the replay, or of the recording */
	char *begin;	     /* the shell's command of configurationDone; NULL: none */
	ts_session *session; /* NULL: none */
	json_t *stop;	     /* the newest, see docs/json.md; NULL: none yet */
	bool stopped_now;    /* ... and the client does not know it yet */
	struct dap_move move;
	uint64_t move_ms;	     /* when the move under way began */
	const char *move_title;	     /* the request that it is for */
	json_int_t moves_shown;	     /* how many had progress */
	void (*then)(struct dap *d); /* after the answer; NULL: nothing */

	struct dap_points points[DAP_POINT_KINDS];
	json_t *filters; /* exceptions: a list of {id, filter, text} */

	json_t *sources; /* file of a frame: its place here, or null */

	/* What numbers that the client has stand for, since the last stop. */
	struct dap_frame *frames;
	size_t nframes, frames_cap;
	json_int_t frames_base;
	struct dap_ref *refs;
	size_t nrefs, refs_cap;
	json_int_t refs_base;

	/* Shared with the listener. */
	pthread_mutex_t ask_lock;
	ts_session *asked;	  /* that is being waited for; under the lock */
	atomic_bool moves;	  /* a move is under way; else a request */
	atomic_bool may_break;	  /* ... in which there may be short stops */
	atomic_bool breaks;	  /* there is one: requests wait for it */
	atomic_bool pauses, ends; /* the client wants the move to end, or everything */
	atomic_llong cancelled;	  /* the request that the client wants no answer of; 0: none */
	atomic_llong progress;	  /* the request that progress is shown of; 0: none; -n: a move */
	_Atomic(const char *) progress_title; /* of the request that is being worked at */
};

/* --- one request: core/dap-table.c --- */

/* Adds to the answer's body. The error's sentence, and its cure, are the answer instead. */
typedef struct err *dap_request_fn(struct dap *d, const json_t *args, json_t *body);
struct dap_request {
	const char *name;
	dap_request_fn *run;
	unsigned phases;
	const char *capabilities; /* words; those behind "replay:" are true in a replay only */
};
#define REQUEST(name, run, phases, capabilities, studio) dap_request_fn run;
#include "dap/dap-requests.def"
#undef REQUEST
extern const struct dap_request dap_requests[];
const struct dap_request *dap_request_find(const char *name);
/* What `initialize` answers, or the event `capabilities` when that has changed. */
json_t *dap_capabilities(bool replays);

/* A library_progress_fn: the client sees how far the work is. */
void dap_on_work(void *dap, const char *what, uint64_t done, uint64_t total);
/* What progress was shown of has ended; again is fine. */
void dap_end_progress(struct dap *d);
/* Answers the requests that wait, while a move stops shortly. */
void dap_answer_waiting(struct dap *d);

/* --- the session: core/dap-ask.c --- */

/* Lines of the shell. *ret_text: what they print, heap; NULL: not wanted. */
struct err *dap_line(struct dap *d, char **ret_text, const char *fmt, ...) TS_PRINTF(3, 4) TS_CHECK;
/* A line of the shell that prints JSON, "--json" included in it. *ret is the caller's; several
 * objects, one behind the other, are an array. */
struct err *dap_ask(struct dap *d, json_t **ret, const char *fmt, ...) TS_PRINTF(3, 4) TS_CHECK;
/* Closes the session, if there is one. */
void dap_end_session(struct dap *d);
/* The error in ts_error(). */
struct err *dap_session_error(int result) TS_CHECK;
/* Ends the conversation's session if its process has ended. */
void dap_check_session(struct dap *d);
/* Between true and false the session can be interrupted. */
void dap_asking(struct dap *d, bool asking);
/* For the listener: ends what the other thread waits for. */
void dap_interrupt(struct dap *d);
/* ERR_UNSUPPORTED that names what is not possible and where, unless a replay is on. */
struct err *dap_needs_replay(const struct dap *d, const char *what) TS_CHECK;

/* --- moves: core/dap-move.c --- */

/* Runs command after the answer of the present request, and sends where it ends. Takes command. */
void dap_move_later(struct dap *d, char *command, const char *resume, const char *reason);
/* Runs the move that was asked for. */
void dap_move_now(struct dap *d);
/* Tells the newest stop; reason: of one that is where it was sent. text: what the shell printed;
 * NULL: nothing. */
void dap_tell_stop(struct dap *d, const char *reason, json_int_t thread, const char *text);
/* Before a stop whose move the client does not know of: it takes older reasons off the threads. */
void dap_tell_continued(struct dap *d);
/* The thread that the newest stop is about. */
json_int_t dap_stop_thread(struct dap *d);
/* What numbers of frames and variables meant is forgotten. */
void dap_forget(struct dap *d);

/* "<sentence>. <cure>", heap. */
char *dap_sentence(const struct err *e);

/* --- arguments of requests: core/dap-args.c --- */

struct err *dap_need_text(const json_t *args, const char *name, const char **ret) TS_CHECK;
/* One line; NULL if it is not there. */
struct err *dap_take_line(const json_t *args, const char *name, const char **ret) TS_CHECK;
struct err *dap_need_int(const json_t *args, const char *name, json_int_t *ret) TS_CHECK;
/* Leaves *ret as it is if it is not there. */
struct err *dap_take_int(const json_t *args, const char *name, json_int_t *ret) TS_CHECK;
struct err *dap_take_bool(const json_t *args, const char *name, bool *ret) TS_CHECK;
/* A list; NULL if it is not there. */
struct err *dap_take_list(const json_t *args, const char *name, const json_t **ret) TS_CHECK;
/* "0x302000000", "1234". */
struct err *dap_address(const char *text, uint64_t *ret) TS_CHECK;
/* A text as a word of the shell, in quotation marks; appended. */
void dap_quote(struct buf *out, const char *text);

/* --- beginning: requests/dap-begin.c --- */

/* The program has ended: its recording is replayed from its end, if that can be; else a text says
 * why not. */
void dap_replay_recorded(struct dap *d);

/* --- frames: requests/dap-stack.c --- */

/* A frame that the client knows by a number. */
struct dap_frame {
	json_int_t thread;
	unsigned level;	 /* of the shell's backtrace */
	bool is_command; /* the command itself, on top */
	bool on_gpu;	 /* of a thread inside a kernel */
	bool current;	 /* of the command that the session is at */
	json_t *command; /* NULL: not known */
};
struct err *dap_frame_of(struct dap *d, json_int_t id, const struct dap_frame **ret) TS_CHECK;
/* Numbers of threads: streams in a replay, host threads behind them. */
enum { DAP_HOST_THREADS = 1 << 24 };
bool dap_thread_is_stream(const struct dap *d, json_int_t thread, uint64_t *ret_stream);
/* A source as the protocol has it; NULL without a file. */
json_t *dap_source(struct dap *d, const char *file);

/* --- breakpoints: requests/dap-points.c --- */

void dap_points_free(struct dap_points *p);
/* Tells the client of those that had to wait until the program came to their place, and are hit. */
void dap_points_reached(struct dap *d, const json_t *ids);
/* The shell's number of the breakpoint that was set last. */
struct err *dap_point_newest(struct dap *d, int *ret) TS_CHECK;
/* The kind that the shell's breakpoint is of; DAP_POINT_KINDS: of none, the user typed it. */
enum dap_point_kind dap_points_kind(const struct dap *d, json_int_t id);

/* --- exceptions: requests/dap-filters.c --- */

/* What `initialize` offers. */
json_t *dap_filters_offered(void);
/* The text of the filter that breakpoint id is of; NULL: it is of none. */
const char *dap_filter_text(const struct dap *d, json_int_t id);

/* --- values: requests/dap-values.c --- */

void dap_refs_forget(struct dap *d);
/* Bytes from addr to the end of its allocation; 0: it is in none. */
uint64_t dap_rest_of_allocation(struct dap *d, uint64_t addr);
/* Where the variable called name inside reference ref points to; with ref 0 name is an expression.
 * *ret_size: bytes from there on that belong together; 0: not known. */
struct err *dap_variable_address(struct dap *d, json_int_t ref, const char *name, uint64_t *ret,
	uint64_t *ret_size) TS_CHECK;

#endif
