/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask, and what: pure functions over what a request says. Whatever a browser, or another
 * user of the machine, sends comes through here first.
 */
#ifndef STUDIO_STUDIO_CHECK_H
#define STUDIO_STUDIO_CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

enum {
	STUDIO_TOKEN = 32,	    /* characters: 128 bits in hex digits */
	STUDIO_BODY_MAX = 64 << 10, /* bytes of a question */
};

/* The route of a request; the last one: there is none such. */
enum studio_route { STUDIO_PAGE, STUDIO_TRACE, STUDIO_EVENTS, STUDIO_ASK, STUDIO_NOWHERE };
/* *ret_other: there is one with another method. */
enum studio_route studio_route(const char *method, const char *path, bool *ret_other);

/* What a request says of itself; NULL: no such header. */
struct studio_says {
	const char *host, *origin, *site; /* Host, Origin, Sec-Fetch-Site */
	const char *authorization;
};
/* Why the request is refused; NULL: it is not. A page of another origin can make a browser send a
 * request here under any name that leads here (DNS rebinding), so Host is checked, and Origin
 * where there is one. token: NULL for what needs none. The sentence names nothing that is secret.
 */
const char *studio_refusal(const struct studio_says *says, uint16_t port, const char *token);

/* A question of the page: {"command": name, "arguments": {...}}. The names are those of
 * dap/dap-requests.def that are ASKED there, and two of the studio's own; nothing else gets
 * through, and no argument that is not in that table. *ret: the message as the adapter takes it,
 * without its number; the caller's. */
struct err *studio_question(const char *text, size_t n, json_t **ret) TS_CHECK;
/* The name of the question at place i; NULL behind the last. */
const char *studio_question_name(unsigned i);

/* A number that is all of the text, at most 2^53; false: it is none. */
bool studio_number(const char *text, uint64_t *ret);

#endif
