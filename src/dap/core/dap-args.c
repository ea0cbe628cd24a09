/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of requests. The client may send what it wants: each is checked for its type, and
 * named when it is of another one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "dap/core/dap-private.h"

static struct err *wrong(const char *name, const char *what)
{
	return err_new(ERR_USAGE, "the argument \"%s\" is no %s", name, what);
}

static struct err *missing(const char *name)
{
	return err_new(ERR_USAGE, "the argument \"%s\" is missing", name);
}

/* What is there; NULL: nothing, or null. */
static const json_t *member(const json_t *args, const char *name)
{
	const json_t *v = json_object_get(args, name);

	return json_is_null(v) ? NULL : v;
}

struct err *dap_need_text(const json_t *args, const char *name, const char **ret)
{
	TRY(dap_take_line(args, name, ret));
	return *ret ? NULL : missing(name);
}

struct err *dap_take_line(const json_t *args, const char *name, const char **ret)
{
	const json_t *v = member(args, name);

	*ret = json_string_value(v);
	if (v && !*ret)
		return wrong(name, "text");
	if (*ret && strpbrk(*ret, "\r\n"))
		return err_new(ERR_USAGE, "the argument \"%s\" is more than one line", name);
	return NULL;
}

struct err *dap_take_int(const json_t *args, const char *name, json_int_t *ret)
{
	const json_t *v = member(args, name);

	if (v && !json_is_integer(v))
		return wrong(name, "integer");
	if (v)
		*ret = json_integer_value(v);
	return NULL;
}

struct err *dap_need_int(const json_t *args, const char *name, json_int_t *ret)
{
	return member(args, name) ? dap_take_int(args, name, ret) : missing(name);
}

struct err *dap_take_bool(const json_t *args, const char *name, bool *ret)
{
	const json_t *v = member(args, name);

	if (v && !json_is_boolean(v))
		return wrong(name, "true or false");
	if (v)
		*ret = json_is_true(v);
	return NULL;
}

struct err *dap_take_list(const json_t *args, const char *name, const json_t **ret)
{
	*ret = member(args, name);
	return *ret && !json_is_array(*ret) ? wrong(name, "list") : NULL;
}

struct err *dap_address(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, !strncasecmp(text, "0x", 2) ? 16 : 10);
	if (!isxdigit((unsigned char)*text) || *end || errno)
		return err_new(ERR_USAGE, "\"%.80s\" is no address", text);
	return NULL;
}

void dap_quote(struct buf *out, const char *text)
{
	buf_byte(out, '"');
	for (; *text; text++) {
		if (strchr("\"\\", *text))
			buf_byte(out, '\\');
		buf_byte(out, (uint8_t)*text);
	}
	buf_byte(out, '"');
}
