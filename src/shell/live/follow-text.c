/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's processes as text, see follow-text.h.
 */
#include "shell/live/follow-text.h"

#include <stdio.h>
#include <time.h>
#include "base/json-put.h"
#include "base/monotonic.h"
#include "base/text.h"
#include "engine/live-follow.h"
#include "shell/line/interrupt.h"

enum { TURN_MS = 20, TELL_AFTER_MS = 2000 };

struct err *follow_await(struct session *s)
{
	int64_t begin = (int64_t)monotonic_ms();
	bool told = false;
	unsigned n;

	do {
		TRY(follow_rest(&s->engine, TURN_MS, &n));
		if (interrupt_take()) {
			follow_kill(s->engine.live.follow);
			return NULL;
		}
		if (!told && n && (int64_t)monotonic_ms() - begin > TELL_AFTER_MS) {
			text_print(stderr,
				"[the program has ended; %u of its processes go%s on, Ctrl-C ends %s]\n",
				n, n == 1 ? "es" : "", n == 1 ? "it" : "them");
			told = true;
		}
	} while (n);
	return NULL;
}

static void summary_line(const struct follow_row *row)
{
	text_print(stderr, "  %s: ", row->path ? row->path : "no trace");
	if (row->rank >= 0)
		text_print(stderr, "rank %lld, ", (long long)row->rank);
	text_print(stderr, "process %d, %llu commands, %s\n", (int)row->pid,
		(unsigned long long)row->commands, row->program);
}

void follow_summary(struct session *s)
{
	struct follow_rows r;
	uint64_t total;
	unsigned used;

	follow_rows(&s->engine, &r);
	used = r.n + (r.own_commands != 0);
	total = r.own_commands ? r.own.commands : 0;
	text_print(stderr, "[%u process%s, %u used the GPU%s\n", r.seen, r.seen == 1 ? "" : "es",
		used, used ? ":" : "]");
	if (r.own_commands)
		summary_line(&r.own);
	for (unsigned i = 0; i < r.n; i++) {
		summary_line(&r.row[i]);
		total += r.row[i].commands;
	}
	if (used)
		text_print(stderr, "  %llu commands in all]\n", (unsigned long long)total);
	if (r.missed)
		out_warn(s->out, "%u process%s not followed: too many at once; raise `ulimit -n`",
			r.missed, r.missed == 1 ? " was" : "es were");
	follow_rows_free(&r);
}

/* The state of a row. At a command's time the program is stopped, while its children run on. */
static const char *row_state(const struct session *s, const struct follow_row *row)
{
	const struct live *l = &s->engine.live;

	return row->ended ? "ended" : l->inf && row->pid == l->pid ? "stopped" : "runs";
}

JS_DEFINE(process_object, "process", follow_row, JS(UINT, follow_row, pid),
	JS(INT, follow_row, rank), JS(UINT, follow_row, commands), JS(BOOL, follow_row, ended),
	JS(TEXT, follow_row, program), JS_AS("trace", TEXT, follow_row, path));

static void print_row(struct session *s, const struct follow_row *row, bool json, struct buf *b)
{
	if (json)
		js_add(b, &process_object, row);
	else
		buf_printf(b, "%-8d %-7s %-10llu %-30s %s\n", (int)row->pid, row_state(s, row),
			(unsigned long long)row->commands, row->path ? row->path : "-",
			row->program);
}

void follow_print(struct session *s, bool json)
{
	struct buf b = BUF_INIT;
	struct follow_rows r;

	follow_rows(&s->engine, &r);
	if (json)
		buf_byte(&b, '[');
	else
		out_style(s->out, STYLE_HEADER, "%-8s %-7s %-10s %-30s %s\n", "Process", "State",
			"Commands", "Trace", "Program");
	if (r.own.program)
		print_row(s, &r.own, json, &b);
	for (unsigned i = 0; i < r.n; i++)
		print_row(s, &r.row[i], json, &b);
	buf_str(&b, json ? "]\n" : "");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	if (!json && r.seen)
		out_printf(s->out, "%u process%s in all, %u of the children run.\n", r.seen,
			r.seen == 1 ? "" : "es", r.run);
	follow_rows_free(&r);
}
