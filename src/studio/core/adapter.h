/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb dap`, as a process that this one starts: messages to it and from it, without waiting.
 */
#ifndef STUDIO_ADAPTER_H
#define STUDIO_ADAPTER_H

#include <jansson.h>
#include <poll.h>
#include <sys/types.h>
#include "base/buf.h"

struct adapter {
	pid_t pid; /* 0: it does not run */
	int to, from;
	struct buf out, in;
	size_t sent, used; /* of out, of in */
	json_int_t seq;	   /* of the last request */
};

/* Starts one. a: all zero, or closed. */
struct err *adapter_open(struct adapter *a, const char *tsdb) TS_CHECK;
/* Its output ends: it ends by itself, with all that it had started; it is killed if that takes
 * seconds. */
void adapter_close(struct adapter *a);
/* Takes the request, gives it its number, which it returns. */
json_int_t adapter_send(struct adapter *a, json_t *request);
/* What to wait for: two entries; adapter_turn() then does what can be done at once. take: called
 * with each message; the hook must not close the adapter. *ret_over: it has ended, or what it says
 * is no message. */
void adapter_poll(const struct adapter *a, struct pollfd ret[2]);
void adapter_turn(struct adapter *a, void (*take)(void *arg, const json_t *message), void *arg,
	bool *ret_over);

#endif
