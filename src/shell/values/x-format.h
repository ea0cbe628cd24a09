/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of `x` and of what else shows memory: a count, a letter, a unit. Knows no session.
 */
#ifndef SHELL_X_FORMAT_H
#define SHELL_X_FORMAT_H

#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

struct x_format {
	uint64_t count;
	char letter; /* x d u o t c f a s */
	char unit;   /* b h w g */
};
#define X_COUNT_MAX (1u << 20)
/* Reads "8fw"; *f has the defaults. */
struct err *x_format_parse(struct x_format *f, const char *text) TS_CHECK;
unsigned x_unit_bytes(char unit);
/* Appends one unit, by letter and unit. */
void x_format_one(struct buf *out, const struct x_format *f, const void *bytes);
/* Appends lines "0xADDR:\tv\tv..." for bytes read at addr; where (may be NULL) appends what is said
 * of an address behind it. */
void x_format_print(struct buf *out, const struct x_format *f, uint64_t addr, const void *bytes,
	void (*where)(void *arg, uint64_t addr, struct buf *out), void *arg);

#endif
