/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask, and what, see studio-check.h.
 */
#include "studio/core/studio-check.h"

#include <stdio.h>
#include <string.h>
#include "base/buf.h"

#define HIGHEST ((json_int_t)1 << 53) /* the page's numbers are doubles */

/* --- who --- */

enum studio_route studio_route(const char *method, const char *path, bool *ret_other)
{
	static const struct {
		const char *method, *path;
	} routes[] = {
		[STUDIO_PAGE] = {"GET", "/"},
		[STUDIO_TRACE] = {"GET", "/trace"},
		[STUDIO_EVENTS] = {"GET", "/events"},
		[STUDIO_ASK] = {"POST", "/ask"},
	};

	*ret_other = false;
	for (unsigned i = 0; i < STUDIO_NOWHERE; i++) {
		if (strcmp(path, routes[i].path) != 0)
			continue;
		if (!strcmp(method, routes[i].method))
			return (enum studio_route)i;
		*ret_other = true;
	}
	return STUDIO_NOWHERE;
}

/* Takes as long wherever they differ. */
static bool same_token(const char *a, const char *b)
{
	unsigned char differ = 0;

	if (strlen(a) != STUDIO_TOKEN || strlen(b) != STUDIO_TOKEN)
		return false;
	for (unsigned i = 0; i < STUDIO_TOKEN; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

static bool has_token(const char *authorization, const char *token)
{
	static const char scheme[] = "Bearer ";

	return authorization && !strncmp(authorization, scheme, sizeof scheme - 1) &&
	       same_token(authorization + sizeof scheme - 1, token);
}

const char *studio_refusal(const struct studio_says *says, uint16_t port, const char *token)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char host[32], origin[48];
	bool known = false;

	for (unsigned i = 0; !known && i < sizeof names / sizeof *names; i++) {
		snprintf(host, sizeof host, "%s:%u", names[i], port);
		known = says->host && !strcmp(says->host, host);
	}
	if (!known)
		return "the request is for another host";
	snprintf(origin, sizeof origin, "http://%s", host);
	if (says->origin && strcmp(says->origin, origin) != 0)
		return "the request comes from a page of another origin";
	if (!token)
		return NULL;
	if (says->site && strcmp(says->site, "same-origin") != 0)
		return "the request comes from a page of another site";
	return has_token(says->authorization, token) ? NULL
						     : "the request has not the session's token";
}

/* --- what --- */

enum type {
	NUMBER, /* from 0 up to `most` */
	SWITCH,
	ADDRESS, /* "0x302000000" */
	BASE64,	 /* of up to `most` bytes */
	TRIPLE,	 /* "1,0,0": a block, or a thread of one */
	GRAIN,	 /* how far a step goes */
	PLACE,	 /* begin, end */
	BUDGET,	 /* "200", "10s" */
	TASK,	 /* "request-12" */
	WATCHES, /* [{dataId, accessType}] */
};
struct argument {
	const char *name;
	enum type type;
	json_int_t most;
};
enum {
	ARGUMENTS_MAX = 4,
	WATCHES_MAX = 8,
	READ_MAX = 64 << 10,
	WRITE_MAX = 4 << 10,
	HISTORY_MAX = 1000,
};
struct question {
	const char *name;
	bool asked;
	struct argument args[ARGUMENTS_MAX + 1];
};
#define NOTHING                                                                                    \
	{                                                                                          \
		0                                                                                  \
	}
#define ONE_STREAM                                                                                 \
	{"threadId", NUMBER, HIGHEST},                                                             \
	{                                                                                          \
		"singleThread", SWITCH, 0                                                          \
	}
#define NOT_ASKED                                                                                  \
	false,                                                                                     \
	{                                                                                          \
		NOTHING                                                                            \
	}
#define ASKED(...)                                                                                 \
	true,                                                                                      \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
/* Those of the adapter, and two that the studio answers itself. */
static const struct question questions[] = {
#define REQUEST(name, run, phases, capabilities, ...) {name, __VA_ARGS__},
#include "dap/dap-requests.def"
#undef REQUEST
	{"studio/status", ASKED(NOTHING)},
	{"studio/begin", ASKED(NOTHING)},
};

const char *studio_question_name(unsigned i)
{
	for (size_t k = 0; k < sizeof questions / sizeof *questions; k++) {
		if (questions[k].asked && !i--)
			return questions[k].name;
	}
	return NULL;
}

bool studio_number(const char *text, uint64_t *ret)
{
	uint64_t n = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > (uint64_t)HIGHEST)
			return false;
	}
	*ret = n;
	return true;
}

/* All of text is one of 1 to `most` characters of the set, behind the prefix. */
static bool made_of(const char *text, const char *prefix, const char *set, size_t most)
{
	const size_t n = strlen(prefix);
	size_t rest;

	if (!text || strncmp(text, prefix, n) != 0)
		return false;
	rest = strlen(text + n);
	return rest && rest <= most && strspn(text + n, set) == rest;
}

/* As the adapter gives it out: "0x302000000 64". */
static bool is_data(const char *text)
{
	char addr[24];
	const char *space = text ? strchr(text, ' ') : NULL;
	uint64_t n;

	if (!space || (size_t)(space - text) >= sizeof addr)
		return false;
	snprintf(addr, sizeof addr, "%.*s", (int)(space - text), text);
	return made_of(addr, "0x", "0123456789abcdef", 16) && studio_number(space + 1, &n) && n &&
	       n <= READ_MAX;
}

static bool are_watches(const json_t *list)
{
	const json_t *w;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > WATCHES_MAX)
		return false;
	json_array_foreach(list, i, w)
	{
		const char *access = json_string_value(json_object_get(w, "accessType"));

		if (json_object_size(w) != 2 || !access || strcmp(access, "write") != 0 ||
			!is_data(json_string_value(json_object_get(w, "dataId"))))
			return false;
	}
	return true;
}

/* Padded to groups of four, as RFC 4648 has it. */
static bool is_base64(const char *text, json_int_t most)
{
	static const char set[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const size_t n = text ? strlen(text) : 0, digits = text ? strspn(text, set) : 0;

	return n && n % 4 == 0 && n / 4 * 3 <= (size_t)most && n - digits <= 2 &&
	       strspn(text + digits, "=") == n - digits;
}

/* Three numbers of up to ten digits, with commas. */
static bool is_triple(const char *text)
{
	for (unsigned i = 0; text && i < 3; i++) {
		const size_t n = strspn(text, "0123456789");

		if (!n || n > 10 || text[n] != (i < 2 ? ',' : 0))
			return false;
		text += n + 1;
	}
	return text != NULL;
}

static bool is_grain(const char *text)
{
	return text && (!strcmp(text, "line") || !strcmp(text, "instruction"));
}

static bool fits(const struct argument *a, const json_t *v)
{
	const char *text = json_string_value(v);
	const size_t digits = text ? strspn(text, "0123456789.") : 0;

	switch (a->type) {
	case NUMBER:
		return json_is_integer(v) && json_integer_value(v) >= 0 &&
		       json_integer_value(v) <= a->most;
	case SWITCH:
		return json_is_boolean(v);
	case ADDRESS:
		return made_of(text, "0x", "0123456789abcdef", 16);
	case BASE64:
		return is_base64(text, a->most);
	case TRIPLE:
		return is_triple(text);
	case GRAIN:
		return is_grain(text);
	case PLACE:
		return text && (!strcmp(text, "begin") || !strcmp(text, "end"));
	case BUDGET:
		return digits && digits < 12 &&
		       (!text[digits] || (strchr("smh", text[digits]) && !text[digits + 1]));
	case TASK:
		return made_of(text, "request-", "0123456789", 18);
	case WATCHES:
		return are_watches(v);
	}
	return false;
}

static struct err *check_arguments(const struct question *q, json_t *args)
{
	const char *name;
	json_t *v;

	json_object_foreach(args, name, v)
	{
		const struct argument *a = q->args;

		while (a->name && strcmp(a->name, name) != 0)
			a++;
		if (!a->name)
			return err_new(ERR_USAGE, "\"%s\" takes no \"%.40s\"", q->name, name);
		if (!fits(a, v))
			return err_new(
				ERR_USAGE, "\"%s\" of \"%s\" cannot be that", a->name, q->name);
	}
	return NULL;
}

static const struct question *find_question(const char *name)
{
	for (size_t i = 0; name && i < sizeof questions / sizeof *questions; i++) {
		if (questions[i].asked && !strcmp(questions[i].name, name))
			return &questions[i];
	}
	return NULL;
}

static struct err *check_question(json_t *m, json_t **ret)
{
	json_t *args = json_object_get(m, "arguments");
	const char *name = json_string_value(json_object_get(m, "command"));
	const struct question *q = find_question(name);

	if (!name || json_object_size(m) != (args ? 2 : 1) || (args && !json_is_object(args)))
		return err_new(ERR_USAGE, "a question is {\"command\": NAME, \"arguments\": {}}");
	if (!q)
		return err_new(ERR_UNSUPPORTED, "the page asks no \"%.40s\"", name);
	TRY(check_arguments(q, args));
	*ret = json_pack(
		"{s:s, s:s, s:O?}", "type", "request", "command", q->name, "arguments", args);
	return *ret ? NULL : err_nomem();
}

struct err *studio_question(const char *text, size_t n, json_t **ret)
{
	json_t *m = n <= STUDIO_BODY_MAX ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	struct err *e = m ? check_question(m, ret) : err_new(ERR_USAGE, "a question is JSON");

	json_decref(m);
	return e;
}
