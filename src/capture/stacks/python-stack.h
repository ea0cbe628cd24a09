/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python frames of the calling thread, read out of the interpreter's structures: without its lock, without running or allocating anything of
 * Python's. They are the thread's own, so they stand still while it is in our callback, whoever holds the lock.
 */
#ifndef CAPTURE_PYTHON_H
#define CAPTURE_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sbt/expr.h"

struct thread;

#define PYTHON_FRAMES_MAX 512u /* of one stack, hidden ones included */

/* Set once an interpreter that we can read has been found. All that a process without Python pays is the test of it. */
extern _Atomic bool python_here;

/* Looks for an interpreter among the loaded files. Cheap when there is none. */
void python_look(void);

/* One frame of the walk; see sbt/python.h. */
struct python_step {
	uint64_t pc;	 /* TSDB_PC_PYTHON(); 0: nothing to show */
	uint64_t anchor; /* not 0: it is the outermost of its group */
};

/* A number for what is on the thread's Python stack now: equal for equal frames, code objects and instructions. 0: there is no Python frame. */
uint64_t python_stack_hash(void);
/* The frames, innermost first, with their code objects sent on the thread's ring. At most max; returns how many. */
unsigned python_stack_take(struct thread *t, struct python_step *to, unsigned max);

/* An answer for conditions (struct sbt_python_view); arg is not used. */
uint64_t python_answer(void *arg, enum sbt_python what, const char *text, bool glob);

#endif
