/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that holds itself, see ptx-hold.h. The text is not parsed.
 */
#include "gpucode/ptx-hold.h"

#include <string.h>
#include "gpucode/ptx-text.h"

static const char hold[] = "\n{\n"
			   "\t.reg .pred %%tsdb_p;\n"
			   "\t.reg .b64 %%tsdb_begin, %%tsdb_now;\n"
			   "\tgriddepcontrol.launch_dependents;\n"
			   "\tmov.u64 %%tsdb_begin, %%globaltimer;\n"
			   "$tsdb_hold:\n"
			   "\tnanosleep.u32 1000;\n"
			   "\tmov.u64 %%tsdb_now, %%globaltimer;\n"
			   "\tsub.u64 %%tsdb_now, %%tsdb_now, %%tsdb_begin;\n"
			   "\tsetp.lt.u64 %%tsdb_p, %%tsdb_now, %u;\n"
			   "\t@%%tsdb_p bra $tsdb_hold;\n"
			   "}\n";

static bool begins_with(const char *p, const char *end, const char *word)
{
	const size_t n = strlen(word);

	return (size_t)(end - p) > n && !memcmp(p, word, n) && !ptx_is_name(p[n]);
}

/* Whether a statement at p, behind its predicate if it has one, ends the thread. */
static bool is_return(const char *p, const char *end)
{
	if (p < end && *p == '@') {
		while (p < end && !ptx_is_space(*p))
			p++;
		while (p < end && ptx_is_space(*p))
			p++;
	}
	return begins_with(p, end, "ret") || begins_with(p, end, "exit");
}

/* The statement at p with its predicate, and "ret" replaced by a trigger. */
static void put_trigger(struct buf *out, const char *p, const char *end)
{
	const char *q = p;

	while (q < end && *p == '@' && !ptx_is_space(*q))
		q++;
	buf_add(out, p, (size_t)(q - p));
	buf_str(out, *p == '@' ? " griddepcontrol.launch_dependents;\n\t"
			       : "griddepcontrol.launch_dependents;\n\t");
}

/* Statements begin behind a semicolon, a brace or a label. */
static bool is_between(char c)
{
	return c == ';' || c == '{' || c == '}' || c == ':';
}

bool ptx_trigger_last(struct buf *out, const char *text, size_t n, const char *kernel)
{
	const struct ptx_text all = {text, text + strnlen(text, n)};
	const char *from = text, *end;
	struct ptx_text body;
	bool begins = true;

	if (!ptx_body(all, kernel, &body) || ptx_has(all, "launch_dependents"))
		return false;
	end = body.end;
	for (const char *p = body.p; p < end;) {
		const char *q = ptx_skip_comment(p, end);

		if (q == p && begins && is_return(p, end)) {
			buf_add(out, from, (size_t)(p - from));
			put_trigger(out, p, end);
			from = p;
		}
		begins = q != p ? begins : is_between(*p) || (begins && ptx_is_space(*p));
		p = q == p ? p + 1 : q;
	}
	if (from == text)
		return false;
	buf_add(out, from, (size_t)(all.end - from));
	buf_byte(out, 0);
	return true;
}

bool ptx_hold(struct buf *out, const char *text, size_t n, const char *kernel)
{
	const struct ptx_text all = {text, text + strnlen(text, n)};
	struct ptx_text body;

	if (!ptx_body(all, kernel, &body))
		return false;
	buf_add(out, text, (size_t)(body.p - text));
	buf_printf(out, hold, PTX_HOLD_NS);
	buf_add(out, body.p, (size_t)(all.end - body.p));
	buf_byte(out, 0);
	return true;
}
