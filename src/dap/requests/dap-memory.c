/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, as base64 (RFC 4648). What cannot be read is left out and counted, never zeroes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "dap/core/dap-private.h"

enum { READ_MAX = 4 << 20, WRITE_MAX = 4 << 20 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *encode(const uint8_t *p, size_t n)
{
	char *text = xmalloc(n / 3 * 4 + 8), *to = text;

	for (size_t i = 0; i < n; i += 3) {
		const size_t have = n - i < 3 ? n - i : 3;
		const uint32_t v = (uint32_t)p[i] << 16 | (have > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
				   (have > 2 ? p[i + 2] : 0);

		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = have > 1 ? digits[v >> 6 & 63] : '=';
		*to++ = have > 2 ? digits[v & 63] : '=';
	}
	*to = 0;
	return text;
}

/* Whole groups of four; the last may end with = or ==. */
static struct err *decode(const char *text, struct buf *out)
{
	const size_t n = strlen(text), pad = n && text[n - 1] == '=' ? 1 + (text[n - 2] == '=') : 0;
	uint32_t v = 0;

	if (n % 4)
		return err_new(ERR_USAGE, "the data is no base64: its length is no multiple of 4");
	for (size_t i = 0; i < n; i++) {
		const char *at = text[i] == '=' && i >= n - pad ? digits : strchr(digits, text[i]);

		if (!at)
			return err_new(ERR_USAGE, "the data is no base64");
		v = v << 6 | (uint32_t)(at - digits);
		if (i % 4 == 3) {
			buf_byte(out, (uint8_t)(v >> 16));
			buf_byte(out, (uint8_t)(v >> 8));
			buf_byte(out, (uint8_t)v);
			v = 0;
		}
	}
	out->len -= pad;
	return NULL;
}

/* reference + offset; beyond all addresses is an error. */
static struct err *place_of(const json_t *args, uint64_t *ret)
{
	json_int_t offset = 0;
	const char *reference;

	TRY(dap_need_text(args, "memoryReference", &reference));
	TRY(dap_take_int(args, "offset", &offset));
	TRY(dap_address(reference, ret));
	if (offset < 0 ? *ret < 0 - (uint64_t)offset : UINT64_MAX - *ret < (uint64_t)offset)
		return err_new(ERR_USAGE, "the memory would go beyond all addresses");
	*ret += (uint64_t)offset;
	return NULL;
}

static struct err *read_at(struct dap *d, uint64_t addr, uint8_t *to, size_t n)
{
	struct err *e;

	dap_asking(d, true);
	e = dap_session_error(ts_memory_read(d->session, addr, to, n));
	dap_asking(d, false);
	return e;
}

/* Reads as much from addr on as can be read: what goes beyond an allocation up to its end. Returns
 * how many bytes; *ret_why: why not all, the caller's. */
static size_t read_most(struct dap *d, uint64_t addr, uint8_t *to, size_t n, struct err **ret_why)
{
	uint64_t rest;
	struct err *e;

	*ret_why = read_at(d, addr, to, n);
	if (!*ret_why)
		return n;
	rest = dap_rest_of_allocation(d, addr);
	if (!rest || rest >= n)
		return 0;
	e = read_at(d, addr, to, (size_t)rest);
	if (!e)
		return (size_t)rest;
	err_free(e);
	return 0;
}

static void answer_read(json_t *body, uint64_t addr, const uint8_t *bytes, size_t got, size_t n)
{
	char *text = encode(bytes, got), at[32];

	snprintf(at, sizeof at, "0x%" PRIx64, addr);
	json_object_set_new(body, "address", json_string(at));
	json_object_set_new(body, "data", json_string(text));
	if (got < n)
		json_object_set_new(body, "unreadableBytes", json_integer((json_int_t)(n - got)));
	free(text);
}

struct err *dap_on_read_memory(struct dap *d, const json_t *args, json_t *body)
{
	struct err *why = NULL;
	json_int_t count;
	uint64_t addr;
	uint8_t *bytes;
	size_t got = 0;

	TRY(place_of(args, &addr));
	TRY(dap_need_int(args, "count", &count));
	if (count < 0 || count > READ_MAX)
		return err_new(ERR_LIMIT, "0 to %d bytes are read at once", READ_MAX);
	if ((uint64_t)count > UINT64_MAX - addr)
		count = (json_int_t)(UINT64_MAX - addr);
	bytes = xmalloc((size_t)count + 1);
	if (count)
		got = read_most(d, addr, bytes, (size_t)count, &why);
	if (why && why->code == ERR_INTERRUPTED) {
		free(bytes);
		return why;
	}
	err_free(why);
	answer_read(body, addr, bytes, got, (size_t)count);
	free(bytes);
	return NULL;
}

static struct err *write_at(struct dap *d, uint64_t addr, const struct buf *bytes)
{
	struct err *e;

	dap_asking(d, true);
	e = dap_session_error(ts_memory_write(d->session, addr, bytes->data, bytes->len));
	dap_asking(d, false);
	return e;
}

/* The editor's views of this memory are old now. */
static void tell_changed(struct dap *d, const char *reference, json_int_t offset, size_t n)
{
	if (d->shows_memory)
		link_event(d->link, "memory",
			json_pack("{s:s, s:I, s:I}", "memoryReference", reference, "offset", offset,
				"count", (json_int_t)n));
	if (d->shows_invalidated)
		link_event(d->link, "invalidated", json_pack("{s:[s]}", "areas", "variables"));
}

struct err *dap_on_write_memory(struct dap *d, const json_t *args, json_t *body)
{
	const char *data, *reference;
	struct buf bytes = BUF_INIT;
	json_int_t offset = 0;
	uint64_t addr;
	struct err *e;

	TRY(place_of(args, &addr));
	TRY(dap_need_text(args, "memoryReference", &reference));
	TRY(dap_take_int(args, "offset", &offset));
	TRY(dap_need_text(args, "data", &data));
	if (strlen(data) > WRITE_MAX)
		return err_new(ERR_LIMIT, "at most %d characters are written at once", WRITE_MAX);
	e = decode(data, &bytes);
	if (!e && bytes.len)
		e = write_at(d, addr, &bytes);
	if (!e) {
		json_object_set_new(body, "bytesWritten", json_integer((json_int_t)bytes.len));
		tell_changed(d, reference, offset, bytes.len);
	}
	buf_free(&bytes);
	return e;
}
