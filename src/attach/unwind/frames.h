/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: stack frames, passed between unwinding, symbols and variables.
 */
#ifndef ATTACH_FRAMES_H
#define ATTACH_FRAMES_H

#include <libunwind.h>
#include "attach/ptrace/inferior.h"
#include "symbols/variables.h"

/* unwind.c */
struct raw_frame {
	uint64_t pc, sp;
	struct frame_registers at;
	bool exact; /* pc is the instruction itself, not the one after a call */
};
/* Innermost first; *ret is a heap array the caller frees. */
struct err *unwind_raw(struct inferior *inf, pid_t tid, unsigned max, struct raw_frame **ret,
	unsigned *ret_n) TS_CHECK;

/* unwind-memory.c */
struct remote_space;
/* Does what _UPT_find_proc_info() does, with tables in the memory of the process. */
int unwind_memory_find(unw_addr_space_t as, const struct remote_space *maps, unw_word_t ip,
	unw_proc_info_t *pi, int need_info, void *arg);

/* python-frames.c */
struct python_place {
	const char *file, *function; /* valid as long as the inferior */
	unsigned line;
	uint64_t anchor; /* an address within the native frame that runs it */
};
/* The Python frames of a stopped thread, innermost first, by rising anchors; *ret is a heap array
 * the caller frees. There are none without an interpreter, or with one that the agent does not
 * know; frames that cannot be read are left out. */
unsigned python_frames(struct inferior *inf, pid_t tid, unsigned max, struct python_place **ret);

/* backtrace.c */
/* Frame number `frame` as the user counts: its raw frame, and which of the inlined calls within it
 * (0: the innermost). */
struct user_frame {
	struct raw_frame raw;
	unsigned depth;
	uint64_t lookup; /* address to look up */
};
struct err *backtrace_find(
	struct inferior *inf, pid_t tid, unsigned frame, struct user_frame *ret) TS_CHECK;

#endif
