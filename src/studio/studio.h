/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb studio: the report's page in a browser, with a live replay behind it. A server on the
 * loopback device serves the page, the trace and questions to one session, for any number of
 * windows; docs/studio.md says who may ask.
 *
 * The server itself reads no trace. A `tsdb dap` of its own has the session, so that the page asks
 * what an editor asks, and a `tsdb report` of its own makes the page's columns.
 */
#ifndef STUDIO_STUDIO_H
#define STUDIO_STUDIO_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct studio_ask {
	const char *tsdb;  /* path of tsdb */
	const char *trace; /* absolute path */
	const char *on;	   /* the device: as `launch` of docs/editor.md has it; NULL: auto */
	int64_t window;	   /* below 0: the first */
	bool any_device;
	bool any_user;		  /* connections of other users are served, too */
	uint16_t port;		  /* 0: one that is free */
	volatile bool *interrupt; /* ends it */
	/* Called once, when the page can be opened. The address has the token: it is for the user's
	 * eyes. */
	void (*ready)(void *arg, const char *address);
	/* Called once, when a connection of another user has been refused. */
	void (*stranger)(void *arg, unsigned uid);
	void *arg;
};

/* Whether this tsdb was built with what the server needs; else ERR_UNSUPPORTED that names it. */
struct err *studio_possible(void) TS_CHECK;
/* Serves until *interrupt is set; then nothing that it started runs any more. */
struct err *studio_run(const struct studio_ask *ask) TS_CHECK;

#endif
