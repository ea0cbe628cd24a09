/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON from a file, plain or compressed by gzip, one token at a time, in constant memory. The
 * file is hostile: depth and lengths are bounded. More is accepted than RFC 8259 allows where
 * profilers are known to write it: raw control bytes in strings, NaN and Infinity.
 */
#ifndef IMPORT_JSON_PULL_H
#define IMPORT_JSON_PULL_H

#include "base/buf.h"

enum json_token {
	JSON_END, /* of the file */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_KEY,
	JSON_STRING,
	JSON_NUMBER, /* as it is written */
	JSON_WORD,   /* true, false, null, NaN, Infinity */
};
enum { JSON_TEXT_MAX = 65536, JSON_DEPTH_MAX = 512 };

struct json_pull;
struct err *json_open(struct json_pull **ret, const char *path) TS_CHECK;
void json_close(struct json_pull *j); /* NULL is fine */
/* The next token. ERR_BAD_TRACE where the file is no JSON, or ends too early. */
struct err *json_next(struct json_pull *j, enum json_token *ret) TS_CHECK;
/* Passes over the rest of the value that began with this token. */
struct err *json_skip(struct json_pull *j, enum json_token first) TS_CHECK;
/* Text of the last key, string, number or word, with a NUL; beyond JSON_TEXT_MAX bytes it is cut.
 * Valid until the next token. */
const char *json_text(struct json_pull *j);
/* Bytes of JSON read so far. */
uint64_t json_read(const struct json_pull *j);

#endif
