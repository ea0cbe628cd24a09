/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON by tokens, see json-pull.h. A stack of bits says of each open bracket whether it is an
 * object; what may come next is a state.
 */
#include "import/core/json-pull.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum expect {
	EXPECT_VALUE,
	EXPECT_FIRST,	/* a value, or the end of the array */
	EXPECT_KEY,	/* behind a comma in an object */
	EXPECT_KEY_END, /* a key, or the end of the object */
	EXPECT_COMMA,	/* or the end of what is open */
	EXPECT_END,
};

struct json_pull {
	gzFile f;
	const char *path;
	unsigned char in[65536];
	unsigned n, at;
	uint64_t before; /* bytes in front of in[] */
	bool over;
	enum expect expect;
	unsigned depth;
	bool object[JSON_DEPTH_MAX];
	struct buf text;
};

struct err *json_open(struct json_pull **ret, const char *path)
{
	struct json_pull *j = xcalloc(1, sizeof *j);

	errno = 0;
	j->f = gzopen(path, "rb");
	if (!j->f) {
		free(j);
		return err_sys(errno ? errno : ENOMEM, "cannot open %s", path);
	}
	j->path = path;
	*ret = j;
	return NULL;
}

void json_close(struct json_pull *j)
{
	if (!j)
		return;
	gzclose_r(j->f);
	buf_free(&j->text);
	free(j);
}

uint64_t json_read(const struct json_pull *j)
{
	return j->before + j->at;
}

const char *json_text(struct json_pull *j)
{
	return buf_cstr(&j->text);
}

static struct err *bad(const struct json_pull *j, const char *what)
{
	return err_new(ERR_BAD_TRACE, "%s is no JSON: at byte %llu %s", j->path,
		(unsigned long long)json_read(j), what);
}

static struct err *fill(struct json_pull *j)
{
	int n, code;

	j->before += j->n;
	j->at = j->n = 0;
	n = gzread(j->f, j->in, sizeof j->in);
	if (n < 0) {
		const char *why = gzerror(j->f, &code);

		return err_new(ERR_BAD_TRACE, "cannot read %s: %s", j->path,
			code == Z_ERRNO ? strerror(errno) : why);
	}
	j->n = (unsigned)n;
	j->over = !n;
	(void)gzerror(j->f, &code);
	return j->over && code == Z_BUF_ERROR ? bad(j, "its compressed data ends too early") : NULL;
}

/* The next byte, which stays; *ret -1 at the end. */
static struct err *peek(struct json_pull *j, int *ret)
{
	if (j->at == j->n && !j->over)
		TRY(fill(j));
	*ret = j->at < j->n ? j->in[j->at] : -1;
	return NULL;
}

static struct err *take(struct json_pull *j, int *ret)
{
	TRY(peek(j, ret));
	if (*ret < 0)
		return bad(j, "it ends too early");
	j->at++;
	return NULL;
}

static struct err *skip_blanks(struct json_pull *j, int *ret)
{
	for (;;) {
		TRY(peek(j, ret));
		if (*ret != ' ' && *ret != '\n' && *ret != '\r' && *ret != '\t')
			return NULL;
		j->at++;
	}
}

static void put(struct json_pull *j, int c)
{
	if (j->text.len < JSON_TEXT_MAX)
		buf_byte(&j->text, (uint8_t)c);
}

static void put_utf8(struct json_pull *j, unsigned c)
{
	if (c < 0x80) {
		put(j, (int)c);
		return;
	}
	if (c >= 0x10000) {
		put(j, (int)(0xf0 | c >> 18));
		put(j, (int)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		put(j, (int)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		put(j, (int)(0x80 | (c >> 6 & 0x3f)));
	else
		put(j, (int)(0xc0 | c >> 6));
	put(j, (int)(0x80 | (c & 0x3f)));
}

static struct err *hex4(struct json_pull *j, unsigned *ret)
{
	int c;

	*ret = 0;
	for (unsigned i = 0; i < 4; i++) {
		TRY(take(j, &c));
		if (c >= '0' && c <= '9')
			*ret = *ret * 16 + (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*ret = *ret * 16 + (unsigned)((c | 32) - 'a' + 10);
		else
			return bad(j, "\\u has no four digits");
	}
	return NULL;
}

/* A character behind \u; half a pair alone becomes U+FFFD. */
static struct err *escaped_code(struct json_pull *j)
{
	unsigned c, low = 0;
	int next;

	TRY(hex4(j, &c));
	TRY(peek(j, &next));
	if (c >= 0xd800 && c < 0xdc00 && next == '\\') {
		j->at++;
		TRY(peek(j, &next));
		if (next != 'u') { /* another escape: what this half was of is not known */
			put_utf8(j, 0xfffd);
			j->at--;
			return NULL;
		}
		j->at++;
		TRY(hex4(j, &low));
		if (low >= 0xdc00 && low < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put_utf8(j, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return NULL;
}

static struct err *escaped(struct json_pull *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	int c;

	TRY(take(j, &c));
	if (c == 'u')
		return escaped_code(j);
	at = c ? strchr(from, c) : NULL;
	if (!at)
		return bad(j, "a backslash stands before no escape");
	put(j, to[at - from]);
	return NULL;
}

static struct err *read_string(struct json_pull *j)
{
	int c;

	buf_clear(&j->text);
	for (;;) {
		TRY(take(j, &c));
		if (c == '"')
			return NULL;
		if (c == '\\')
			TRY(escaped(j));
		else
			put(j, c ? c : ' ');
	}
}

/* Letters, digits and signs: a number or a word. */
static struct err *read_plain(struct json_pull *j, enum json_token *ret)
{
	static const char *const words[] = {
		"true", "false", "null", "NaN", "Infinity", "-Infinity"};
	const char *text;
	size_t n;
	int c;

	buf_clear(&j->text);
	for (;;) {
		TRY(peek(j, &c));
		if (c < 0 || !strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzINE", c) || !c)
			break;
		put(j, c);
		j->at++;
	}
	text = json_text(j);
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		if (!strcmp(text, words[i])) {
			*ret = JSON_WORD;
			return NULL;
		}
	}
	n = strspn(text, "+-.0123456789eE");
	if (!n || text[n] || !strpbrk(text, "0123456789"))
		return bad(j, "there is no value");
	*ret = JSON_NUMBER;
	return NULL;
}

static void value_over(struct json_pull *j)
{
	j->expect = j->depth ? EXPECT_COMMA : EXPECT_END;
}

static struct err *open_one(struct json_pull *j, int c, enum json_token *ret)
{
	if (j->depth == JSON_DEPTH_MAX)
		return bad(j, "it is nested too deeply");
	j->object[j->depth++] = c == '{';
	j->expect = c == '{' ? EXPECT_KEY_END : EXPECT_FIRST;
	*ret = c == '{' ? JSON_OBJECT : JSON_ARRAY;
	return NULL;
}

static struct err *close_one(struct json_pull *j, int c, enum json_token *ret)
{
	if (j->object[j->depth - 1] != (c == '}'))
		return bad(j, "the wrong bracket closes");
	j->depth--;
	value_over(j);
	*ret = c == '}' ? JSON_OBJECT_END : JSON_ARRAY_END;
	return NULL;
}

static struct err *read_key(struct json_pull *j, enum json_token *ret)
{
	int c;

	TRY(read_string(j));
	TRY(skip_blanks(j, &c));
	if (c != ':')
		return bad(j, "a key has no colon");
	j->at++;
	j->expect = EXPECT_VALUE;
	*ret = JSON_KEY;
	return NULL;
}

static struct err *read_value(struct json_pull *j, int c, enum json_token *ret)
{
	if (c == '{' || c == '[') {
		j->at++;
		return open_one(j, c, ret);
	}
	if (c == '"') {
		j->at++;
		*ret = JSON_STRING;
		TRY(read_string(j));
	} else {
		TRY(read_plain(j, ret));
	}
	value_over(j);
	return NULL;
}

struct err *json_next(struct json_pull *j, enum json_token *ret)
{
	int c;

	TRY(skip_blanks(j, &c));
	if (j->expect == EXPECT_END) {
		*ret = JSON_END;
		return c < 0 ? NULL : bad(j, "something follows the value");
	}
	if (c < 0)
		return bad(j, "it ends too early");
	if (j->expect == EXPECT_COMMA && c == ',') {
		j->at++;
		j->expect = j->object[j->depth - 1] ? EXPECT_KEY : EXPECT_VALUE;
		TRY(skip_blanks(j, &c));
	}
	if ((c == '}' || c == ']') && j->expect != EXPECT_VALUE && j->expect != EXPECT_KEY) {
		j->at++;
		return close_one(j, c, ret);
	}
	if (j->expect == EXPECT_COMMA)
		return bad(j, "a comma is missing");
	if (j->expect == EXPECT_VALUE || j->expect == EXPECT_FIRST)
		return read_value(j, c, ret);
	if (c != '"')
		return bad(j, "there is no key");
	j->at++;
	return read_key(j, ret);
}

struct err *json_skip(struct json_pull *j, enum json_token first)
{
	const unsigned outside = j->depth - 1;

	if (first != JSON_OBJECT && first != JSON_ARRAY)
		return NULL;
	while (j->depth > outside)
		TRY(json_next(j, &first));
	return NULL;
}
