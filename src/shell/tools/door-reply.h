/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that come through the door (door/door.h) to a session of the shell, and their answers.
 */
#ifndef SHELL_DOOR_REPLY_H
#define SHELL_DOOR_REPLY_H

#include "base/buf.h"
#include "door/door.h"
#include "shell/line/session.h"

/* Takes a question and the bytes behind it, which are the caller's and have a 0 behind them. False:
 * the other end has gone, or asks what cannot be. */
bool question_take(int fd, struct door_question *ret, char **ret_bytes);

struct door_reply {
	struct err *e; /* NULL: none */
	struct buf data;
	const char *notes; /* NULL: none */
	uint64_t stops;	   /* of the engine, before the question */
};
/* Before the question is looked at. */
void reply_begin(struct door_reply *r, const struct session *s);
/* Answers DOOR_READ and DOOR_WRITE; refuses any other. */
void reply_memory(
	struct door_reply *r, struct session *s, const struct door_question *q, const char *bytes);
/* Sends it, with the stop at which the last move ended since reply_begin(). False: the other end
 * has gone. Nothing of r is left. */
bool reply_send(struct door_reply *r, const struct session *s, int fd);

#endif
