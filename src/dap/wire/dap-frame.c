/* SPDX-License-Identifier: Apache-2.0
 *
 * Framing, see dap-frame.h. Whoever is at the other end may send anything: lengths are bounded
 * before memory is taken, and a header that is none ends the conversation, since nothing says where
 * the next message begins.
 */
#include "dap/dap-frame.h"

#include <string.h>
#include <strings.h>

#define LENGTH "Content-Length:"

/* The number behind "Content-Length:", all of the line. */
static struct err *take_length(const char *p, const char *end, size_t *ret)
{
	size_t n = 0;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (p == end)
		return err_new(ERR_USAGE, "a message's Content-Length is empty");
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return err_new(ERR_USAGE, "a message's Content-Length is no number");
		n = n * 10 + (size_t)(*p - '0');
		if (n > DAP_MESSAGE_MAX)
			return err_new(
				ERR_LIMIT, "a message has more than %d bytes", DAP_MESSAGE_MAX);
	}
	*ret = n;
	return NULL;
}

/* Where the header ends, behind its empty line; NULL: it is not whole. */
static const char *header_end(const char *p, size_t n)
{
	const char *end = memmem(p, n < DAP_HEADER_MAX ? n : DAP_HEADER_MAX, "\r\n\r\n", 4);

	return end ? end + 4 : NULL;
}

static struct err *read_header(const char *p, const char *end, size_t *ret)
{
	bool found = false;

	while (p < end - 2) {
		const char *line = p, *stop = memmem(p, (size_t)(end - p), "\r\n", 2);

		p = stop + 2;
		if (!memchr(line, ':', (size_t)(stop - line)))
			return err_new(ERR_USAGE, "a line of a message's header has no colon");
		if ((size_t)(stop - line) < strlen(LENGTH) ||
			strncasecmp(line, LENGTH, strlen(LENGTH)) != 0)
			continue;
		if (found)
			return err_new(ERR_USAGE, "a message has two lengths");
		TRY(take_length(line + strlen(LENGTH), stop, ret));
		found = true;
	}
	return found ? NULL : err_new(ERR_USAGE, "a message's header has no Content-Length");
}

struct err *frame_take(const struct buf *b, size_t *used, const char **ret_text, size_t *ret_size)
{
	const size_t n = b->len - *used;
	const char *p = (const char *)b->data + *used, *body;

	*ret_text = NULL;
	if (!n)
		return NULL;
	body = header_end(p, n);
	if (!body)
		return n < DAP_HEADER_MAX ? NULL
					  : err_new(ERR_USAGE, "a message's header does not end");
	TRY(read_header(p, body, ret_size));
	if (n - (size_t)(body - p) < *ret_size)
		return NULL;
	*used += (size_t)(body - p) + *ret_size;
	*ret_text = body;
	return NULL;
}

static struct err *check_request(const json_t *m, json_int_t *ret_seq)
{
	const json_t *seq = json_object_get(m, "seq"), *args = json_object_get(m, "arguments");
	const char *type = json_string_value(json_object_get(m, "type"));

	if (!json_is_object(m))
		return err_new(ERR_USAGE, "a message is no object");
	if (json_is_integer(seq))
		*ret_seq = json_integer_value(seq);
	if (!type || strcmp(type, "request") != 0)
		return err_new(ERR_USAGE, "a message is no request");
	if (!json_is_integer(seq))
		return err_new(ERR_USAGE, "a request has no number, or one that is no integer");
	if (!json_is_string(json_object_get(m, "command")))
		return err_new(ERR_USAGE, "a request has no command");
	if (args && !json_is_object(args) && !json_is_null(args))
		return err_new(ERR_USAGE, "the arguments of a request are no object");
	return NULL;
}

struct err *frame_request(const char *text, size_t size, json_t **ret, json_int_t *ret_seq)
{
	json_error_t why;
	struct err *e;

	*ret_seq = 0;
	*ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	if (!*ret)
		return err_new(ERR_USAGE, "a message is no JSON: line %d, column %d: %s", why.line,
			why.column, why.text);
	e = check_request(*ret, ret_seq);
	if (e) {
		json_decref(*ret);
		*ret = NULL;
	}
	return e;
}
