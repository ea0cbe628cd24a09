/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors as values, see err.h. The surprise: running out of memory while making an error yields a
 * static one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"

static struct err no_memory = {.code = ERR_LIMIT, .sys = ENOMEM, .what = (char *)"out of memory"};

struct err *err_nomem(void)
{
	return &no_memory;
}

static struct err *err_make(enum err_code code, int sys, const char *fmt, va_list ap)
{
	struct err *e = calloc(1, sizeof *e);

	if (!e)
		return &no_memory;
	e->code = code;
	e->sys = sys;
	if (vasprintf(&e->what, fmt, ap) < 0) {
		free(e);
		return &no_memory;
	}
	return e;
}

struct err *err_new(enum err_code code, const char *fmt, ...)
{
	va_list ap;
	struct err *e;

	va_start(ap, fmt);
	e = err_make(code, 0, fmt, ap);
	va_end(ap);
	return e;
}

struct err *err_sys(int sys, const char *fmt, ...)
{
	va_list ap;
	struct err *e;
	char *joined;

	va_start(ap, fmt);
	e = err_make(sys == EACCES || sys == EPERM ? ERR_PERMISSION : ERR_SYSTEM, sys, fmt, ap);
	va_end(ap);
	if (e == &no_memory || asprintf(&joined, "%s: %s", e->what, strerror(sys)) < 0)
		return e;
	free(e->what);
	e->what = joined;
	return e;
}

struct err *err_cure(struct err *e, const char *fmt, ...)
{
	va_list ap;
	char *cure;

	if (e == &no_memory)
		return e;
	va_start(ap, fmt);
	if (vasprintf(&cure, fmt, ap) >= 0) {
		free(e->cure);
		e->cure = cure;
	}
	va_end(ap);
	return e;
}

struct err *err_wrap(struct err *e, const char *fmt, ...)
{
	va_list ap;
	char *context, *joined;

	if (e == &no_memory)
		return e;
	va_start(ap, fmt);
	if (vasprintf(&context, fmt, ap) >= 0) {
		if (asprintf(&joined, "%s: %s", context, e->what) >= 0) {
			free(e->what);
			e->what = joined;
		}
		free(context);
	}
	va_end(ap);
	return e;
}

struct err *err_first(struct err *e, struct err *other)
{
	if (!e)
		return other;
	err_free(other);
	return e;
}

void err_free(struct err *e)
{
	if (!e || e == &no_memory)
		return;
	free(e->what);
	free(e->cure);
	free(e);
}

void err_bug(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "tsdb: bug at %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\ntsdb: please report this, with the trace if there is one\n", stderr);
	abort();
}
