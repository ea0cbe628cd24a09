/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the protocol out of a stream of bytes: "Content-Length: N", an empty line, N bytes of
 * JSON.
 */
#ifndef DAP_DAP_FRAME_H
#define DAP_DAP_FRAME_H

#include <jansson.h>
#include "base/buf.h"

enum {
	DAP_MESSAGE_MAX = 32 << 20, /* bytes of JSON in a message */
	DAP_HEADER_MAX = 4096,
};

/* Takes the first message out of b, of which *used bytes have been taken already. *ret_text and
 * *ret_size: the JSON, valid until b changes; NULL: it is not whole yet. The error: b is no stream
 * of messages, and nothing behind it can be read. */
struct err *frame_take(
	const struct buf *b, size_t *used, const char **ret_text, size_t *ret_size) TS_CHECK;
/* A request, which is an object of type "request" with a number and a command. *ret_seq: its number
 * as far as it is known, else 0. */
struct err *frame_request(
	const char *text, size_t size, json_t **ret, json_int_t *ret_seq) TS_CHECK;

#endif
