/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the allocation helpers of buf.h return to when memory is out. Without an open door they end
 * the process, which is right for tsdb. A library must not end the program that uses it: its
 * functions open a door. What was under way behind the door is lost: memory that it held is not
 * freed, and objects that it was changing must not be used again, or freed.
 */
#ifndef BASE_MEMORY_DOOR_H
#define BASE_MEMORY_DOOR_H

#include <setjmp.h>

struct memory_door {
	jmp_buf back;
	struct memory_door *outer;
};

/* The thread's innermost open door; NULL: none. */
extern _Thread_local struct memory_door *memory_door;

static inline void memory_door_shut(struct memory_door *d)
{
	memory_door = d->outer;
}

/* Opens a door called d until the end of the block, and does `otherwise` when memory is out behind
 * it. Code behind it must hold no lock. */
#define MEMORY_DOOR(d, otherwise)                                                                  \
	struct memory_door d __attribute__((cleanup(memory_door_shut))) = {.outer = memory_door};  \
	memory_door = &d;                                                                          \
	if (_setjmp(d.back))                                                                       \
	otherwise

/* Memory is out: to the innermost door, or prints a line and aborts. */
void memory_out(void) __attribute__((noreturn));

#endif
