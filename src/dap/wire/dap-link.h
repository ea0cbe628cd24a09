/* SPDX-License-Identifier: Apache-2.0
 *
 * The line to the client: what it sends becomes a queue of requests, what the debugged program
 * prints becomes events. A thread of its own listens, so that `pause` and `cancel` are seen while
 * the other thread waits for the session.
 */
#ifndef DAP_WIRE_DAP_LINK_H
#define DAP_WIRE_DAP_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct link;

/* What the listener asks of the other side; called in its thread, with nothing locked. */
struct link_hooks {
	void *arg;
	/* A request has come: called before it is in the queue, where it does not come if this
	 * returns true: it is answered then. */
	bool (*arrived)(void *arg, const json_t *request);
	/* Called several times a second while a request is being worked at: `ms` since it began;
	 * waiting: how long the oldest request in the queue has waited, 0: there is none. */
	void (*busy)(void *arg, uint64_t ms, uint64_t waiting);
};

/* Takes standard input and output for the conversation, see dap.h, and begins to listen. */
struct err *link_open(struct link **ret, const struct link_hooks *hooks) TS_CHECK;
/* Sends what the program printed last, and ends. */
void link_close(struct link *l);

/* The next request, the caller's; NULL: the client has gone. *ret_cancelled: the client wants no
 * answer any more. Ends the work that the last one began. */
json_t *link_take(struct link *l, bool *ret_cancelled);
struct link_status {
	bool waiting;	    /* a request is in the queue */
	bool gone;	    /* the client */
	json_int_t current; /* the request that is being worked at; 0: none */
};
struct link_status link_status(struct link *l);
/* A request that is not worked at yet shall not be; false: it is not in the queue. */
bool link_cancel(struct link *l, json_int_t seq);
/* Why the conversation ended, if the client is at fault; else NULL. The link's. */
const struct err *link_failure(struct link *l);

/* Sends a message, whose number is set here; takes it. Several threads may. */
void link_send(struct link *l, json_t *message);
/* Sends an event with this body, which it takes; NULL: none. */
void link_event(struct link *l, const char *name, json_t *body);
/* Text for the user in the editor's console; category "console", "stdout" ... Bytes that are no
 * UTF-8 become U+FFFD. */
void link_output(struct link *l, const char *category, const char *text, size_t n);
/* Sends what the program has printed up to now. */
void link_flush_program(struct link *l);

/* n bytes as a JSON string that is always valid. */
json_t *link_text(const void *text, size_t n);

#endif
