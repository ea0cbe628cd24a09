/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of the agent, with any driver: the control block of a debugger, and a reader of
 * rings.
 */
#ifndef CAPTURE_CONTROL_H
#define CAPTURE_CONTROL_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "capture/core/agent.h"
#include "capture/core/thread.h"

#define FAKE_RING_BYTES (8 * TSDB_RECORD_MAX)

/* A control block as tsdb makes it, adopted by the agent; capture is on. */
struct tsdb_control *fake_control(void);

/* A record of the ring: a command, or the head of a message. */
struct fake_record {
	uint16_t type;
	const struct tsdb_msg_head *head; /* in the ring, valid until the ring wraps */
	struct sbt_cmd cmd;		  /* when type < 0x8000 */
};
/* The next record of ring i; false when there is none. */
bool fake_next(unsigned i, struct fake_record *ret);
/* The next command of ring 0 whose kind is kind, earlier ones skipped; fails the test when there is
 * none. */
struct sbt_cmd fake_expect(unsigned kind);
/* No command is waiting in ring 0 (messages do not count). */
void fake_expect_nothing(void);
/* Reads and forgets everything in ring 0. */
void fake_skip(void);

#endif
