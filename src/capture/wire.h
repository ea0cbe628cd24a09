/* SPDX-License-Identifier: Apache-2.0
 *
 * The one header between the agent (inside the inferior) and tsdb: the layout of the memory they
 * share. Fixed-width types, no pointers, no libc needed. A change of layout bumps
 * TSDB_WIRE_VERSION.
 *
 * tsdb makes a memfd of tsdb_wire_bytes() (sparse), writes magic, version and configuration, and
 * puts TSDB_CONTROL=/proc/PID/fd/N into the inferior's environment. The agent opens it, checks
 * magic, version, size and that control.pid is its own process, maps it and sets agent_state. A
 * child process finds another pid there and stays inert, or, when children are followed, its own
 * control block (struct tsdb_directory).
 *
 * Rings. Each inferior thread that makes GPU calls takes a slot (FREE -> USED by compare-and-swap;
 * the first free one, so that the large ones come first and few are in use), raises control.rings
 * above its index and maps the slot's data twice in a row, so that no record is split. tsdb looks
 * at the first control.rings slots only; it loads next_seq before that. The file is sparse: a slot
 * that was never used takes no memory. Single producer, single consumer. The producer: fills the
 * record behind head, stores head with release. The consumer (tsdb) loads head with acquire, stores
 * tail with release. What was published survives a SIGKILL of the inferior. A thread that ends sets
 * CLOSED; tsdb drains it and sets FREE.
 *
 * Order. A producer stores a lower bound of its coming seq to ring.inflight (release), then takes
 * the seq by fetch_add on control.next_seq; after publishing the record it stores TSDB_IDLE to
 * inflight (release). The consumer loads next_seq (acquire), then every inflight, then drains: all
 * records with seq < min(next_seq, inflights) are there and can be merged. Not every seq is
 * published (on-full drop, calls that turn out to have changed nothing), so gaps mean nothing.
 * Within a ring seqs rise, but for records that a handler makes while its call is under way (the
 * introduction of an object): those come before their call's record and may have a later seq. A
 * blocking call keeps its seq in flight until it is over (the syncs do not: SYNC is published at
 * entry), so the consumer must go on emptying rings that it cannot merge yet.
 *
 * Definitions. A ring can be read alone: a stack's message comes before the first record that has
 * its id, in the same ring, and the messages of the mappings and of the Python code it lies in
 * before that. A mapping is sent once a thread; a later one replaces what it overlaps. Code may
 * come in another thread's ring than the module's record; TIME messages come in rings whose thread
 * is 0.
 *
 * Stops. A thread that hits a breakpoint fills control.stop and executes int3 in tsdb_agent_stop().
 * tsdb, the ptracer, sees SIGTRAP with the program counter just past control.stop_pc. Kinds whose
 * record is complete only when the driver has answered (ALLOC, the CREATEs, QUERY, ...) stop then
 * (api_exit 1), the others before the driver does the call. To have the agent do something at a
 * stop, tsdb fills control.request and resumes that one thread; the agent serves it, sets
 * request.kind to NONE, and traps again with why SERVED; TSDB_REQ_NONE means go on. READ and WRITE
 * first wait for the stopped command's own stream (the legacy default stream when it has none),
 * unless that is capturing, then copy on a private non-blocking stream; for other streams send
 * SYNC_STREAM first.
 *
 * Memory. Contents go through TSDB_BULK_SLOTS slots that all threads of the agent share. A producer
 * takes a ticket t = fetch_add(next_bulk), fills slot t % SLOTS when that is FREE (acquire) and its
 * turn is t / SLOTS (mod 2^32), and sets it FULL (release). tsdb takes tickets strictly in order;
 * it sets turn to the next one and then FREE (release). So a ticket is taken only when its bytes
 * are at hand, and a producer that gives up fills its slot with n 0 and piece 0. Pages that tsdb
 * has are not sent again: such a slot has flag SAME, holds their hashes (struct sbt_hash), and n is
 * the bytes of the piece that they stand for, from a page's beginning to a page's or the piece's
 * end. tsdb has the pages of the trace that it writes and of the one before (control.pages_file,
 * pages_epoch). A piece's first slot has offset 0 and says all of seq, addr, size, role, owner,
 * module and name; the others repeat piece and size; offsets follow each other without gaps; slots
 * of different pieces may alternate. A piece of size 0 is one slot with n 0. A window's MSG_WINDOW
 * "ended" goes out when all its slots are FULL. Its "begins" goes out before the first ticket of it
 * is taken. REQ_END_WINDOW: at a stop, tsdb clears control.capture_all and window.kind, sets the
 * request, and resumes all threads (as their slots may be half filled); the stopped thread ends the
 * window, whose last command is the one before the stopped one (the stopped one itself when
 * api_exit is 1), and traps. What is armed (control.window), with memory on, is recorded as a
 * window, too, which ends where that closes, before its STOP_WINDOW_DONE.
 *
 * Attach. tsdb makes one thread of a running process call dlopen() and then
 * tsdb_agent_attach("/proc/TSDB_PID/fd/N", &result) (or "@NAME", a socket in the abstract space
 * that hands out the descriptor, where the process' user may not look into tsdb's /proc), which
 * returns at once (0 or -errno) and starts the agent's thread "tsdb-agent", all signals blocked.
 * That maps the control block, has its thread "tsdb-late" set agent_state (STARTING, then UP,
 * WAITING or REFUSED) and look for what was there before, and sleeps until control.leave is set or
 * tsdb has ended. Then it unsubscribes, ends windows, makes every hook return at once, takes its
 * hands off the block and sets LEFT; if tsdb-late is in a call that waits for the device, LEFT
 * comes without that, and tsdb-late unsubscribes when its call has ended. The library stays mapped;
 * tsdb_agent_attach() with another block brings it to life again.
 */
#ifndef CAPTURE_WIRE_H
#define CAPTURE_WIRE_H

#include <stdatomic.h>
#include <stdint.h>
#include "base/stop-reason.h"
#include "capture/soft-look.h"
#include "sbt/cmd.h"
#include "sbt/expr.h"
#include "sbt/pagehash.h"

#define TSDB_WIRE_MAGIC 0x42445354u /* "TSDB" */
#define TSDB_WIRE_VERSION 18u
#define TSDB_RING_COUNT 16384u
#define TSDB_RING_LARGE 256u /* rings of control.ring_bytes; all behind them are small */
#define TSDB_RING_BYTES_DEFAULT (4u << 20) /* a power of two, multiple of the page size */
/* no ring record is larger; larger payloads are sent in pieces */
#define TSDB_RECORD_MAX (64u << 10)
#define TSDB_RING_SMALL_BYTES (2 * TSDB_RECORD_MAX)
#define TSDB_IDLE UINT64_MAX
#define TSDB_STACK_MAX 512u /* frames */
#define TSDB_BREAK_MAX 64u
#define TSDB_GLOB_MAX 128u
#define TSDB_TEXT_MAX 256u
#define TSDB_BUSY_MAX 2048u
#define TSDB_KEEPER_MAX 64u

/* Ring records are packed commands (cmd.h, kinds of commands.def) or one of these, with the same
 * 8-byte header. */
enum tsdb_msg {
	TSDB_MSG_STACK = 0x8001,   /* struct tsdb_msg_stack: defines a stack id */
	TSDB_MSG_TIME = 0x8002,	   /* struct tsdb_msg_time */
	TSDB_MSG_CODE = 0x8003,	   /* struct tsdb_msg_code: a piece of a module's code */
	TSDB_MSG_MAPPING = 0x8004, /* struct tsdb_msg_mapping: a file mapped for execution, before
				      the first stack in it */
	TSDB_MSG_WINDOW = 0x8005,  /* struct tsdb_msg_window */
	TSDB_MSG_PYTHON = 0x8006,  /* struct tsdb_msg_python: a Python code object, before the first
				      stack with it */
	TSDB_MSG_PAD = 0x80ff,	   /* nothing */
};
struct tsdb_msg_head {
	uint32_t size; /* bytes, the header included, a multiple of 8 */
	uint16_t type;
	uint16_t flags;
};
struct tsdb_msg_stack {
	struct tsdb_msg_head head;
	uint32_t id; /* from 1 */
	uint32_t n;
	uint64_t pcs[]; /* absolute return addresses, innermost first; the agent's and the source's
			   frames left out. Or TSDB_PC_PYTHON() */
};
/* A Python frame: the number of the code object and the instruction's offset in bytes. */
#define TSDB_PC_PYTHON_BIT (1ull << 63)
#define TSDB_PC_PYTHON(number, at) (TSDB_PC_PYTHON_BIT | (uint64_t)(number) << 32 | (uint32_t)(at))
#define TSDB_PC_PYTHON_NUMBER(pc) ((uint32_t)((pc) >> 32 & 0x7fffffff))
#define TSDB_PC_PYTHON_AT(pc) ((uint32_t)(pc))
struct tsdb_msg_time {
	struct tsdb_msg_head head;
	uint32_t corr;
	uint32_t pad;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
};
struct tsdb_msg_code {
	struct tsdb_msg_head head;
	uint64_t hash, total, offset; /* XXH64 of the whole, its bytes, where this piece goes */
	uint32_t n;
	uint32_t kind; /* enum code_kind */
	uint8_t bytes[];
};
/* Numbers are the agent's, and the same in every ring. */
struct tsdb_msg_python {
	struct tsdb_msg_head head;
	uint32_t number; /* from 1 */
	uint32_t first_line;
	uint32_t file, name; /* bytes of co_filename and co_qualname, UTF-8 */
	uint32_t lines; /* bytes of co_linetable; fewer than it has when the record would be too
			   large */
	uint32_t pad;
	char bytes[]; /* the three, one behind the other */
};
struct tsdb_msg_mapping {
	struct tsdb_msg_head head;
	uint64_t start, end; /* addresses of the executable mapping */
	uint64_t bias;	     /* load bias: address minus ELF virtual address */
	uint32_t n;
	uint32_t gone; /* 1: this mapping no longer exists */
	char path[];   /* n bytes, no NUL */
};

/* A window of commands that can be executed again begins or has ended. Sent before the record of
 * command seq (begins: the first one in it) or after it (ended: the last one in it). */
#define TSDB_WINDOW_NO_END 2u
struct tsdb_msg_window {
	struct tsdb_msg_head head;
	uint64_t seq;
	uint32_t ended;
	/* ended: 1 if all memory was recorded, 0 if some could not be, TSDB_WINDOW_NO_END if only
	 * its contents at the end are not known (control.text2 says why) */
	uint32_t complete;
};

struct tsdb_ring {
	_Alignas(64) _Atomic uint64_t head; /* bytes ever written; producer */
	_Atomic uint64_t inflight;	    /* see "Order"; TSDB_IDLE */
	uint64_t lost;	 /* records dropped because the ring was full; producer */
	uint64_t stalls; /* times the producer waited for room */
	_Alignas(64) _Atomic uint64_t tail; /* bytes ever consumed; tsdb */
	_Atomic uint32_t state;		    /* enum tsdb_ring_state */
	uint32_t os_tid;
	uint32_t thread; /* thread number, as in sbt_cmd.thread */
	uint32_t pad;
};
_Static_assert(sizeof(struct tsdb_ring) == 128, "wire layout");
enum tsdb_ring_state { TSDB_RING_FREE, TSDB_RING_USED, TSDB_RING_CLOSED };

struct tsdb_break {
	_Atomic uint32_t enabled; /* written last when arming, first when disarming */
	int32_t id;		  /* the shell's number */
	uint32_t kind;		  /* enum sbt_kind; 0: every GPU command */
	uint32_t temporary;	  /* the agent clears enabled when it hits */
	_Atomic uint64_t ignore;  /* hits that are still to be ignored */
	_Atomic uint64_t hits;
	char glob[TSDB_GLOB_MAX]; /* kernel glob for launches, "" for any */
	struct sbt_expr cond;
};

#define TSDB_BULK_SLOTS 64u
#define TSDB_BULK_BYTES (1u << 20)
#define TSDB_NAME_MAX 512u
#define TSDB_SAME_MAX (1u << 30)
enum tsdb_bulk_state { TSDB_BULK_FREE, TSDB_BULK_FULL };
enum tsdb_bulk_flags {
	TSDB_BULK_HASH_ONLY = 1, /* no bytes; hash is the whole piece's */
	TSDB_BULK_CUT = 2,	 /* the rest of the piece will not come */
	TSDB_BULK_SAME = 4,	 /* hashes of pages instead of bytes */
	TSDB_BULK_DOUBT = 8,	 /* doubt, as in struct sbt_memory */
};
struct tsdb_bulk {
	_Alignas(64) _Atomic uint32_t state;
	_Atomic uint32_t turn;	  /* of the ticket that may fill it: ticket / TSDB_BULK_SLOTS */
	uint64_t piece;		  /* a number for all slots of one piece, never reused */
	uint64_t seq, addr, size; /* of the piece, as in struct sbt_memory */
	uint32_t role, owner, module, flags;
	uint64_t offset; /* where this slot's bytes go */
	uint32_t n; /* bytes in this slot; SAME: the bytes it represents, at most TSDB_SAME_MAX */
	uint32_t name_len;
	uint32_t ctx, pad;	  /* a global's context id plus 1; 0: not known */
	struct sbt_hash hash;	  /* HASH_ONLY */
	char name[TSDB_NAME_MAX]; /* a global's, in the first slot of a piece */
};

enum tsdb_memory { TSDB_MEMORY_NONE, TSDB_MEMORY_ALL, TSDB_MEMORY_TOUCHED };
/* tsdb's answer to a STOP_ASKS: the window would record control.memory_needed bytes, more
 * than memory_limit. */
enum tsdb_memory_answer { TSDB_ANSWER_NONE, TSDB_ANSWER_RECORD, TSDB_ANSWER_WITHOUT };

/* A capture window. The agent marks commands in it with SBT_F_WINDOW and takes their stacks. */
enum tsdb_window_kind {
	TSDB_WINDOW_NONE,
	TSDB_WINDOW_KERNEL,
	TSDB_WINDOW_SEQ,
	TSDB_WINDOW_NVTX,
	TSDB_WINDOW_PROGRAM /* the program's own: tracesmith/mark.h */
};
enum tsdb_window_state { TSDB_WINDOW_ARMED, TSDB_WINDOW_OPEN, TSDB_WINDOW_DONE };
struct tsdb_window {
	uint32_t kind;
	_Atomic uint32_t state;
	char glob[TSDB_GLOB_MAX]; /* kernel glob, or the range's name; PROGRAM: "" for any */
	uint64_t first, last;	  /* for SEQ */
	uint64_t count; /* for KERNEL: matching launches to include; the window closes after that
			   many */
	_Atomic uint64_t seen;
	_Atomic uint64_t opened_seq,
		closed_seq; /* both 0 until they are known, closed_seq for a moment after DONE */
	/* 0 while the code of kernels that were first met in the window is being looked for (an
	 * agent that came late); then closed_seq, or the number of a later record about that
	 * code. */
	_Atomic uint64_t known_seq;
};

/* control.stacks: for which commands host stacks are taken. */
enum tsdb_stacks {
	TSDB_STACKS_NEVER,
	TSDB_STACKS_ALL,
	TSDB_STACKS_WINDOWS,
	TSDB_STACKS_LAUNCHES /* and inside windows, of all */
};
/* control.stop_on_error: which results of calls stop the program. A sticky one is returned by every
 * later call, and stops once. */
enum tsdb_stop_on { TSDB_ERRORS_NONE, TSDB_ERRORS_STICKY, TSDB_ERRORS_ALL };
/* For STOP_ERROR: the call that returned the error, and the launch that caused it if the device
 * reports that (the software GPU). All of it is the inferior's word. */
struct tsdb_error {
	uint32_t code; /* the driver's number */
	uint32_t sticky;
	char name[64], call[64];
	uint32_t known; /* 1: the fields below are known */
	uint32_t corr;	/* of the launch */
	uint32_t block[3], thread[3];
	uint32_t line; /* of the PTX */
	uint32_t size; /* of the access at addr, bytes */
	uint64_t addr;
	uint32_t source_line, pad; /* 0: not known */
	char file[256];
	char kernel[256]; /* mangled */
	char text[256];
};
struct tsdb_stop {
	uint32_t why;
	int32_t break_id;
	uint32_t os_tid;
	uint32_t api_exit; /* 0: before the driver does the call; 1: after */
	uint64_t seq;
	uint32_t cmd_size;	      /* bytes of cmd; 0: the command did not fit */
	uint32_t stepped;	      /* 1: the step that was asked for ends here, too */
	uint64_t break_slots;	      /* bit i: the breakpoint in slot i was hit, too */
	uint8_t cmd[TSDB_RECORD_MAX]; /* packed command */
};

enum tsdb_req_kind { TSDB_REQ_NONE, TSDB_REQ_READ, TSDB_REQ_SYNC_STREAM, TSDB_REQ_END_WINDOW };
struct tsdb_req {
	uint32_t kind;
	uint32_t result;     /* the driver's result of what the agent did */
	uint64_t addr, size; /* device address; size <= TSDB_RECORD_MAX */
	uint32_t stream;     /* for SYNC_STREAM: a stream id */
	uint32_t pad;
	/* READ: 0: the memory itself; else the device has faulted, and the bytes are a copy from
	 * before this command, where the window began */
	uint64_t before;
	uint8_t data[TSDB_RECORD_MAX];
};

/* What the device has finished. tsdb fills in the questions, adds 1 to `asked` (a futex word) and
 * wakes it; the agent's thread "tsdb-look" answers and sets `answered` to `asked`. At a stop tsdb
 * lets that thread run alone, with the software GPU's. An answer that never comes is the driver's:
 * question[at] is the one. */
#define TSDB_LOOK_QUESTIONS 256u
enum tsdb_ask {
	TSDB_ASK_NOTHING,
	TSDB_ASK_STREAM,
	TSDB_ASK_EVENT,
	/* the bytes at an address: device memory, by a copy on a stream of the agent's own; memory
	 * of the host */
	TSDB_ASK_DEVICE_BYTES,
	TSDB_ASK_HOST_BYTES,
	/* whether device memory changes: `value`, the size in the question, is a sum of samples of
	 * it in the answer. No proof that it does not change */
	TSDB_ASK_DEVICE_SUM,
};
enum tsdb_look_answer {
	TSDB_ANSWER_NOT_ASKED, /* the object is gone, or captured */
	TSDB_ANSWER_DONE, /* all work of the stream, the event's last record; the bytes were read */
	TSDB_ANSWER_NOT_DONE,
	TSDB_ANSWER_FAILED, /* code */
};
struct tsdb_question {
	/* handles; of a default stream STREAM_LEGACY (driver.h); of bytes their address */
	uint64_t handle, ctx;
	uint64_t value;	 /* the bytes; little-endian; of a sum: the size, and then the sum */
	uint32_t kind;	 /* enum tsdb_ask */
	uint32_t answer; /* enum tsdb_look_answer */
	uint32_t code;	 /* the driver's number */
	uint32_t id;	 /* tsdb's; of bytes how many, 8 at most */
};
struct tsdb_look {
	_Atomic uint32_t asked, answered;
	_Atomic uint32_t there; /* the thread runs */
	_Atomic uint32_t at;
	uint32_t nquestions;
	uint32_t soft_ms; /* that the software GPU's look may take; 0: it is not looked into */
	uint32_t is_soft; /* `soft` is filled in */
	uint32_t pad;
	struct tsdb_question question[TSDB_LOOK_QUESTIONS];
	struct soft_look soft;
};

/* Each step may wait for the device, perhaps for ever: so a thread of its own makes them, and tsdb
 * limits its wait. */
enum tsdb_late {
	TSDB_LATE_NONE,
	TSDB_LATE_LOOKS,
	TSDB_LATE_SOURCE,
	TSDB_LATE_CONTEXTS,
	TSDB_LATE_UP
};

enum tsdb_agent_state {
	TSDB_AGENT_NONE,
	TSDB_AGENT_UP,	     /* subscribed */
	TSDB_AGENT_REFUSED,  /* cannot capture; control.text says why, the program goes on */
	TSDB_AGENT_STARTING, /* tsdb_agent_attach() was called; the agent's thread is subscribing */
	/* the same, but the program has not initialised the driver yet: the agent subscribes when
	 * it does */
	TSDB_AGENT_WAITING,
	TSDB_AGENT_LEFT, /* control.leave was obeyed: the agent does not use this memory any more */
	TSDB_AGENT_LOOKS, /* look_only: it is there to look at the device, if there is one */
};

/* The agent's result of looking for a Python interpreter in the process. */
enum tsdb_python_state {
	TSDB_PYTHON_NONE,
	TSDB_PYTHON_READ,    /* host stacks show its frames */
	TSDB_PYTHON_REFUSED, /* they do not: control.python_text says why */
};

enum tsdb_on_full { TSDB_FULL_WAIT, TSDB_FULL_DROP };

struct tsdb_control {
	uint32_t magic, version;
	uint64_t bytes; /* of the whole mapping */
	uint32_t ring_bytes;
	uint32_t pid; /* the inferior; written by tsdb after fork, before exec */
	/* tsdb: a producer waiting for room gives up when it has ended; 0: not known, waits for
	 * ever */
	uint32_t debugger_pid;
	uint32_t pad;

	/* Configuration: tsdb writes, the agent reads at every use. */
	_Alignas(64) _Atomic uint32_t on; /* record commands at all */
	_Atomic uint32_t stacks;	  /* enum tsdb_stacks */
	_Atomic uint32_t stack_depth;	  /* frames, at most TSDB_STACK_MAX */
	_Atomic uint32_t timestamps;	  /* of kernels, copies, fills */
	_Atomic uint32_t on_full;	  /* enum tsdb_on_full */
	_Atomic uint32_t step;		  /* stop at the next GPU command (`next`, `start`) */
	_Atomic uint32_t step_thread;	  /* 0: any thread's */
	_Atomic uint32_t breaks;	  /* slots used: 0..breaks-1 may be enabled */
	_Atomic uint32_t code;		  /* send modules' code */
	_Atomic uint32_t stop_on_error;	  /* enum tsdb_stop_on */
	_Atomic uint32_t error_code;	  /* ERRORS_ALL: only this result; 0: any */
	char error_what[64]; /* ERRORS_ALL: only calls or errors whose names begin so; "": any */
	_Atomic uint32_t window_stop;  /* stop (STOP_WINDOW_CLOSED) when a window closes */
	_Atomic uint32_t trigger_stop; /* stop (STOP_TRIGGER) when the program says so */
	_Atomic uint32_t memory;       /* enum tsdb_memory: what a window records of memory */
	/* record the bytes of copies to the host, not only their hash */
	_Atomic uint32_t outputs_full;
	_Atomic uint32_t capture_all;	/* `capture start`: every command is in a window, from the
					   next one on */
	_Atomic uint32_t memory_answer; /* enum tsdb_memory_answer */
	_Atomic uint64_t memory_limit;	/* bytes; 0: no limit */
	_Atomic uint32_t gpu_timeout;	/* ms that the agent waits for the device's
					   work; 0: 5000 */
	_Atomic uint32_t pages_file; /* counts the traces: rises by one when another one begins */
	/* changes when tsdb no longer has the earlier trace's pages */
	_Atomic uint32_t pages_epoch;
	_Atomic uint32_t leave; /* a futex word: nonzero asks the agent to go (agent_state LEFT);
				   see "Attach" */
	/* keeper.h: where to ask for memory for copies. keeper_number is 0 while there is no keeper
	 * (the inferior's own memory is used), and another one for each keeper; it is written after
	 * the name. */
	_Atomic uint32_t keeper_number;
	char keeper[TSDB_KEEPER_MAX];
	uint32_t attached; /* the process was running before this block was made: there are objects
			      to discover */
	/* with attached: tsdb only looks. The agent subscribes to nothing and discovers nothing, so
	 * it need not wait for the device, and other tools of the vendor's still work */
	uint32_t look_only;

	/* The agent writes. */
	_Alignas(64) _Atomic uint64_t next_seq; /* the next command's number; starts at 1 */
	_Alignas(64) _Atomic uint32_t agent_state;
	_Atomic uint32_t source; /* struct source.number */
	uint64_t stop_pc;	 /* address of the int3 */
	_Atomic uint32_t next_thread;
	_Atomic uint32_t rings;	       /* slots from here on have never been used */
	_Atomic uint32_t no_ring;      /* threads that found no free slot, or no memory to map it */
	_Atomic uint64_t lost_no_ring; /* the commands of those threads, which are lost */
	_Atomic uint64_t lost;	    /* commands lost for any other reason but a full ring: made by a
				       signal handler within another call, or too large */
	char text[TSDB_TEXT_MAX];   /* one sentence, for REFUSED */
	_Atomic uint64_t next_bulk; /* tickets */
	/* the first command of the window whose memory at its beginning is completely in slots; 0:
	 * none */
	_Atomic uint64_t window_sent;
	uint64_t memory_needed;	   /* for STOP_CAPTURE */
	_Atomic uint64_t pause_ns; /* how long the last window's beginning held the program up */
	char keep_text[TSDB_TEXT_MAX]; /* one sentence: why the keeper's memory is not used */
	char text2[TSDB_TEXT_MAX]; /* one sentence: what of the last window's memory could not be
				      recorded */
	_Atomic uint32_t late;	   /* enum tsdb_late: how far an agent that came late is */
	/* valid from TSDB_LATE_SOURCE on: what the device was doing then, if known; lines */
	char busy[TSDB_BUSY_MAX];
	/* not 0: subscribed, and contexts are introduced; how long that took after
	 * tsdb_agent_attach() */
	_Atomic uint64_t start_ns;

	_Atomic uint32_t shares; /* the program has given others handles of its device memory */

	_Atomic uint32_t python;		   /* enum tsdb_python_state */
	uint32_t python_version;		   /* Py_Version, 0x030c01f0 */
	uint64_t python_runtime, python_code_type; /* addresses of _PyRuntime and PyCode_Type */
	char python_text[TSDB_TEXT_MAX];	   /* one sentence, for REFUSED */

	struct tsdb_break brk[TSDB_BREAK_MAX];
	struct tsdb_window window;
	_Atomic uint32_t stop_owner; /* os_tid of the thread that fills stop; 0 free */
	struct tsdb_stop stop;
	struct tsdb_error error;
	struct tsdb_req request;
	struct tsdb_look look;
	struct tsdb_bulk bulk[TSDB_BULK_SLOTS];
	struct tsdb_ring ring[TSDB_RING_COUNT];
};

/* Several processes. When children are followed TSDB_CONTROL names a file of this kind instead:
 * each process finds its own control block in it, so the variable is the same for all of them,
 * however they were started. tsdb fills fd and then pid (release); an entry with pid 0 is free. */
#define TSDB_DIRECTORY_MAGIC 0x44445354u /* "TSDD" */
#define TSDB_DIRECTORY_MAX 4095u
struct tsdb_directory_entry {
	_Atomic uint32_t pid;
	int32_t fd; /* of the control block, in process debugger_pid */
};
struct tsdb_directory {
	uint32_t magic, debugger_pid;
	struct tsdb_directory_entry entry[TSDB_DIRECTORY_MAX];
};
_Static_assert(sizeof(struct tsdb_directory) == 32768, "wire layout");

#define TSDB_PAGE 4096u
static inline uint64_t tsdb_control_bytes(void)
{
	return (sizeof(struct tsdb_control) + TSDB_PAGE - 1) & ~(uint64_t)(TSDB_PAGE - 1);
}
static inline uint32_t tsdb_ring_bytes(uint32_t ring_bytes, uint32_t i)
{
	return i < TSDB_RING_LARGE ? ring_bytes : TSDB_RING_SMALL_BYTES;
}
/* Where ring i's data begins in the file; i TSDB_RING_COUNT: where the last one's ends. */
static inline uint64_t tsdb_ring_offset(uint32_t ring_bytes, uint32_t i)
{
	const uint64_t large = i < TSDB_RING_LARGE ? i : TSDB_RING_LARGE;
	return tsdb_control_bytes() + ring_bytes * large + TSDB_RING_SMALL_BYTES * (i - large);
}
/* The number of slots that may have been used, at most TSDB_RING_COUNT, whatever value is in
 * memory. */
static inline uint32_t tsdb_rings(struct tsdb_control *c)
{
	const uint32_t n = atomic_load_explicit(&c->rings, memory_order_acquire);
	return n < TSDB_RING_COUNT ? n : TSDB_RING_COUNT;
}
/* Where bulk slot i's data begins in the file. */
static inline uint64_t tsdb_bulk_offset(uint32_t ring_bytes, uint32_t i)
{
	return tsdb_ring_offset(ring_bytes, TSDB_RING_COUNT) + (uint64_t)TSDB_BULK_BYTES * i;
}
static inline uint64_t tsdb_wire_bytes(uint32_t ring_bytes)
{
	return tsdb_bulk_offset(ring_bytes, TSDB_BULK_SLOTS);
}

#endif
