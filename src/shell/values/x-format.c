/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of `x`: "8fw" is eight floating-point words.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lang/lang.h"
#include "shell/values/x-format.h"

unsigned x_unit_bytes(char unit)
{
	return unit == 'b' ? 1 : unit == 'h' ? 2 : unit == 'w' ? 4 : 8;
}

static struct err *x_refuse(const char *text)
{
	return err_cure(err_new(ERR_USAGE, "x/%s is no format", text),
		"It is a count, one of x d u o t c f a s, and one of b h w g (1, 2, 4, 8 bytes): x/8fw arg0");
}

struct err *x_format_parse(struct x_format *f, const char *text)
{
	const char *p = text;
	bool unit = false;
	char *end;

	f->count = 1;
	if (isdigit((unsigned char)*p)) {
		f->count = strtoull(p, &end, 10);
		p = end;
	}
	if (!f->count || f->count > X_COUNT_MAX)
		return err_new(ERR_LIMIT, "x shows from 1 to %u units", X_COUNT_MAX);
	for (; *p; p++) {
		if (strchr("bhwg", *p)) {
			f->unit = *p;
			unit = true;
		} else if (strchr("xduotcfasz", *p)) {
			f->letter = *p;
		} else if (*p == 'i') {
			return err_cure(
				err_new(ERR_UNSUPPORTED, "x/i (instructions) is not here yet"),
				"\"info modules\" says which code is loaded");
		} else {
			return x_refuse(text);
		}
	}
	if (!unit && (f->letter == 'c' || f->letter == 's'))
		f->unit = 'b';
	if (!unit && f->letter == 'a')
		f->unit = 'g';
	if (f->letter == 'f' && f->unit != 'w' && f->unit != 'g')
		f->unit = 'w';
	return NULL;
}

void x_format_one(struct buf *out, const struct x_format *f, const void *bytes)
{
	lang_show_bits(out, f->letter == 'x' ? 'z' : f->letter, bytes, x_unit_bytes(f->unit));
}

void x_format_print(struct buf *out, const struct x_format *f, uint64_t addr, const void *bytes,
	void (*where)(void *arg, uint64_t addr, struct buf *out), void *arg)
{
	unsigned size = x_unit_bytes(f->unit);
	unsigned per_line = f->letter == 't' ? (size > 2 ? 1 : 4)
			    : size == 1	     ? 8
			    : size == 2	     ? 8
			    : size == 4	     ? 4
					     : 2;

	for (uint64_t i = 0; i < f->count; i++) {
		if (i % per_line == 0) {
			buf_printf(out, "%s0x%" PRIx64, i ? "\n" : "", addr + i * size);
			if (where)
				where(arg, addr + i * size, out);
			buf_byte(out, ':');
		}
		buf_byte(out, '\t');
		x_format_one(out, f, (const char *)bytes + i * size);
	}
	buf_byte(out, '\n');
}
