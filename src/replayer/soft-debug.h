/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope: debugs one kernel launch on the software GPU, instruction by instruction. Its
 * libcuda.so.1 exports tsdb_soft_debug, a function that returns this table; tsdb-replayer finds it
 * with dlsym and passes the answers on to tsdb unchanged, so all structures are fixed-width and
 * hold no pointers but where calls need them. An NVIDIA driver has no such symbol.
 *
 * A session is one launch, on a thread of its own and outside all streams. The caller waits for the
 * device before it starts a session, and starts nothing else on the device until the session has
 * ended. There is one worker, and blocks run one after the other (those of a cooperative grid take
 * turns), so the same start gives the same launch to the instruction: going back is starting again.
 *
 * Numbers: `step` counts the instructions that a warp has begun, `total` those of all warps of the
 * launch.
 */
#ifndef REPLAY_SOFT_DEBUG_H
#define REPLAY_SOFT_DEBUG_H

#include <stddef.h>
#include <stdint.h>

#define SOFT_DEBUG_SYMBOL "tsdb_soft_debug"
#define SOFT_DEBUG_VERSION 5u

enum {
	SOFT_LANES = 64, /* at most: 32 in a warp, 64 in a wave */
	SOFT_NAME = 256,
	SOFT_FILE = 512,
	SOFT_TEXT = 256,
	SOFT_SENTENCE = 320,
	SOFT_BYTES = 32,
	SOFT_POINTS_MAX = 256,
	SOFT_MEMORY_MAX = 4 << 20,
	SOFT_LINES_MAX = 16384
};

enum soft_space { SOFT_GLOBAL, SOFT_SHARED, SOFT_LOCAL, SOFT_PARAM, SOFT_SPACES };
/* Where the spaces begin among generic addresses (softgpu/ptx/ptx-int.h). */
static const uint64_t soft_windows[SOFT_SPACES] = {
	0, 0x40000001ull << 32, 0x40000002ull << 32, 0x40000003ull << 32};
enum soft_state {
	SOFT_STOPPED, /* before an instruction, or right after the last one of a block */
	SOFT_BUSY,  /* the same, the time given was over: SOFT_ON goes on as if nothing had been */
	SOFT_ENDED, /* the launch has ended */
	SOFT_FAULTED, /* before the instruction that faults; going on ends the launch */
};
/* Lines of code are those of the PTX text; or, where it is machine code, addresses in the code
 * object's ELF file. */
enum soft_unit { SOFT_PTX, SOFT_CODE };
enum soft_why {
	SOFT_WHY_BEGIN,
	SOFT_WHY_STEP,
	SOFT_WHY_POINT,
	SOFT_WHY_WATCH,
	SOFT_WHY_WARP_ENDED,
	SOFT_WHY_FAULT,
	SOFT_WHY_END,
	SOFT_WHY_TIME,
	SOFT_WHY_FOCUS
};

/* A change, or an access, that a watchpoint saw. */
struct soft_change {
	uint32_t space, size; /* of before and after: SOFT_BYTES at most */
	uint64_t addr;	      /* of the first byte that changed; so are before and after */
	uint8_t before[SOFT_BYTES], after[SOFT_BYTES];
	uint32_t block[3], thread[3],
		lanes; /* the writer; lanes: more than one, when several wrote there at once */
	uint32_t line, source_line;
	uint32_t access; /* bits of enum soft_touch; 0: the bytes changed */
	char file[SOFT_FILE], text[SOFT_TEXT];
};
enum soft_touch { SOFT_READS = 1, SOFT_WRITES = 2 };

/* The place where the launch stopped: that of the focused warp. */
struct soft_stop {
	uint32_t state, why; /* enum soft_state, enum soft_why */
	uint32_t id;	     /* of the breakpoint or watchpoint */
	uint32_t block[3], thread[3], warp, lane;
	uint32_t line;	      /* of the code; 0: the warp has ended */
	uint32_t depth;	      /* calls */
	uint32_t source_line; /* 0: not known */
	uint32_t width;	      /* lanes of a warp */
	uint64_t active;      /* lanes at this instruction */
	uint64_t executing;   /* those of them that the instruction's guard lets execute it */
	uint64_t live;	      /* lanes that have not ended */
	uint64_t step, total;
	uint64_t seq;	    /* the replayer's: the launch */
	uint64_t found;	    /* SOFT_SCAN: total of the last stop on the way, UINT64_MAX: none */
	uint64_t hit;	    /* SOFT_WHY_POINT: the lanes that are at it */
	uint32_t found_end; /* ... which was the end of a block */
	uint32_t unit;	    /* enum soft_unit: what all lines are */
	uint32_t start;	    /* SOFT_CODE: the line where the function begins; 0: not known */
	uint32_t changed;   /* the replayer's: enum soft_changed */
	char kernel[SOFT_NAME], function[SOFT_NAME]; /* mangled */
	char file[SOFT_FILE], text[SOFT_TEXT];	     /* text: the instruction as it is in the PTX */
	char sentence[SOFT_SENTENCE];		     /* of a fault */
	struct soft_change change;		     /* SOFT_WHY_WATCH */
};

enum soft_how {
	SOFT_ON,     /* go on towards the earlier aim */
	SOFT_STEP,   /* n instructions of the focused warp; others run when it waits */
	SOFT_NEXT,   /* the same, calls counting as one */
	SOFT_LINE,   /* to the n-th next line of the source, of the focused warp; calls are passed
			over */
	SOFT_RUN,    /* to a breakpoint, a watchpoint, or the end; n 1: a breakpoint at the present
			instruction counts, too */
	SOFT_FINISH, /* to the end */
	SOFT_TO, /* until the launch has executed n instructions; end: and a block has ended then */
	SOFT_TO_STEP, /* until the warp `warp` of block `block` has executed n instructions */
	SOFT_SCAN, /* like SOFT_TO, remembering the last place before it where SOFT_RUN would have
		      stopped */
	SOFT_BACK_STEP, /* the replayer's: n instructions of the focused warp back */
	SOFT_BACK_RUN,	/* the replayer's: back to a breakpoint or watchpoint */
};
/* Something was set in the launch since it began; KEPT: it has ended, and what follows is executed
 * on what it has made of that. */
enum soft_changed { SOFT_CHANGED = 1, SOFT_CHANGED_KEPT };
struct soft_go {
	uint32_t how, ms; /* ms: time to take at most before SOFT_BUSY; 0: no limit */
	uint64_t n, block;
	uint32_t warp, end;
};

enum soft_point_kind {
	SOFT_AT_LINE,
	SOFT_AT_SOURCE,
	SOFT_WATCH,	  /* bytes that change */
	SOFT_WATCH_READS, /* that are read */
	SOFT_WATCH_TOUCH, /* that are read or written, also with the same bytes */
	SOFT_AT_OFFSET, /* SOFT_CODE: line is 1 + the offset from the kernel's first instruction */
};
struct soft_point {
	uint32_t id, kind;
	uint32_t line;	/* of the PTX text or the source file; out: the PTX line that it is at, 0:
			   there is none */
	uint32_t space; /* watched: GLOBAL or SHARED (of every block) */
	uint64_t addr, size;
	char file[SOFT_NAME];	   /* SOFT_AT_SOURCE: the file's name, or the end of its path */
	char condition[SOFT_TEXT]; /* of each active lane; "": always */
};

/* From a point on another warp runs first, because the user stepped it. */
struct soft_turn {
	uint64_t total, block;
	uint32_t warp, pad;
};

struct soft_start {
	void *function;	    /* CUfunction; unused where `begun` is */
	const char *kernel; /* mangled */
	const void *params;
	uint64_t nparams;
	uint32_t grid[3], block[3];
	uint64_t shared;
	uint32_t cluster[3]; /* zeros: the kernel's own, or none */
	uint32_t cooperative, nturns, pad;
	uint64_t first_block;	       /* runs before all others */
	const struct soft_turn *turns; /* by total */
};

enum soft_question {
	SOFT_ASK_WARPS,
	SOFT_ASK_LANES,
	SOFT_ASK_BLOCKS,
	SOFT_ASK_REGISTERS,
	SOFT_ASK_VALUE,
	SOFT_ASK_MEMORY,
	SOFT_ASK_LINES,
	SOFT_ASK_FUNCTIONS,
	SOFT_ASK_FRAMES, /* of a lane, innermost first */
	SOFT_ASK_TEXT	 /* bytes of the PTX */
};
struct soft_ask {
	uint32_t what;	      /* enum soft_question */
	uint32_t space;	      /* MEMORY */
	uint64_t addr, size;  /* MEMORY, TEXT; LINES: first and last line */
	uint32_t lane;	      /* FRAMES, VALUE, MEMORY: 1 + a lane of the focused warp; 0: the
				 focused one. A VALUE of 0 is about the warp's next instruction, of
				 others about where that lane is. */
	uint32_t frame;	      /* VALUE, with a lane: calls outwards */
	char text[SOFT_TEXT]; /* VALUE: an expression; LINES: a function, all of it ("": by addr and
				 size); REGISTERS: a glob */
};

enum soft_warp_state { SOFT_WARP_RUNS, SOFT_WARP_WAITS, SOFT_WARP_ENDED };
struct soft_warp {
	uint32_t warp, state, barrier; /* barrier: that it waits at; UINT32_MAX: none */
	uint32_t line, source_line, pad;
	uint64_t active, live;
	uint32_t first[3], pad2; /* thread of its first lane */
	uint64_t step;
	char text[SOFT_TEXT];
};
enum soft_lane_state {
	SOFT_LANE_ACTIVE,
	SOFT_LANE_DIVERGED,
	SOFT_LANE_ENDED,
	SOFT_LANE_NONE,
	SOFT_LANE_WAITS
};
struct soft_lane {
	uint32_t lane, state, thread[3];
	uint32_t line, source_line; /* where it goes on; 0: nowhere */
	uint32_t executing;
};
enum soft_block_state { SOFT_BLOCK_RUNS, SOFT_BLOCK_ENDED, SOFT_BLOCK_WAITS /* not begun */ };
struct soft_block { /* a row of blocks in the same state */
	uint32_t state, first[3], last[3], pad;
	uint64_t count;
	uint32_t waiting, ended, warps,
		pad2; /* of one that runs: its warps at barriers, its warps that have ended, all */
};
enum soft_value_type { SOFT_INT, SOFT_UINT, SOFT_FLOAT, SOFT_BOOL };
struct soft_value { /* a register or an expression, of every lane of the focused warp */
	char name[64];
	uint32_t type, bytes;	    /* enum soft_value_type; of the value: 1 to 8 (SOFT_BOOL 0) */
	uint64_t lanes;		    /* that have one */
	uint64_t value[SOFT_LANES]; /* bits; of a 4-byte float in the low half */
	char declared[8];	    /* "f32", "b64", "pred" */
};
struct soft_line {
	uint32_t line, source_line;
	uint32_t here; /* 1: the focused warp's next instruction is in it */
	uint32_t pad;
	char text[SOFT_TEXT], file[SOFT_FILE];
};
struct soft_function {
	char name[SOFT_NAME];
	uint32_t is_kernel, first_line, last_line, pad;
};

struct soft_frame {
	uint32_t line, source_line; /* of the next instruction, or the call that has not returned */
	char function[SOFT_NAME], file[SOFT_FILE]; /* function: mangled */
};

/* Sets a register or memory of a stopped launch. */
enum { SOFT_PUT_BYTES = 256 };
struct soft_put {
	uint32_t space; /* SOFT_SPACES: a register */
	uint32_t lane;	/* of the focused warp */
	uint32_t frame; /* of a register: calls outwards */
	uint32_t size;	/* of bytes */
	uint64_t addr;	/* in the space */
	char text[64];	/* the register */
	uint8_t bytes[SOFT_PUT_BYTES];
};

typedef void soft_add(void *arg, const void *bytes, size_t n);
struct soft_session;

/* Each call returns NULL, or a sentence that is valid until the session's next call. */
struct soft_debug {
	uint32_t version, size; /* of this structure */
	/* Begins a launch and stops before its first instruction. Parameters are copied. */
	const char *(*start)(
		const struct soft_start *l, struct soft_session **ret, struct soft_stop *stop);
	const char *(*go)(struct soft_session *s, const struct soft_go *g, struct soft_stop *stop);
	/* NULL, or: start() only waits for the launch, which the caller gives to the device next,
	 * and this stops before its first instruction. */
	const char *(*begun)(struct soft_session *s, struct soft_stop *stop);
	/* Replaces all breakpoints and watchpoints; lines are filled in. */
	const char *(*points)(struct soft_session *s, struct soft_point *p, unsigned n);
	/* Chooses the thread that questions are about; STEP moves its warp. *ret_first is the block
	 * that a new launch must begin with; UINT64_MAX: no new launch is needed. */
	const char *(*focus)(struct soft_session *s, const uint32_t block[3],
		const uint32_t thread[3], uint64_t *ret_first, struct soft_stop *stop);
	/* Answers with records, one after the other; a question about MEMORY gets bytes. */
	const char *(*ask)(
		struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg);
	/* Returns the turns taken so far, for start. */
	const struct soft_turn *(*turns)(struct soft_session *s, unsigned *ret_n);
	/* Ends the session, even in the middle of the launch. */
	void (*end)(struct soft_session *s);
	/* Changes what the launch has, from here on; global memory is the caller's. NULL: this
	 * machine changes nothing. A launch that begins again has nothing of it. */
	const char *(*put)(struct soft_session *s, const struct soft_put *p);
};

#endif
