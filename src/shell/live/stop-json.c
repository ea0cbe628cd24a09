/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints stops as JSON, see stop-json.h.
 */
#include "shell/live/stop-json.h"

#include <stdio.h>
#include "shell/live/live-text.h"
#include "base/json-put.h"
#include "sbt/sbt.h"
#include "sbt/fields.h"

struct watch_row {
	uint64_t addr, size, by;
	const char *space, *bytes_before, *bytes_after; /* NULL: the bytes were not read */
	bool changed, reads, writes, sure;
	char hex[2][2 * STOP_BYTES + 1];
};
JS_DEFINE(watch_object, "stop_watch", watch_row, JS(HEX, watch_row, addr),
	JS(UINT, watch_row, size), JS(TEXT, watch_row, space), JS(SEQ, watch_row, by),
	JS(BOOL, watch_row, changed, reads, writes, sure),
	JS(TEXT, watch_row, bytes_before, bytes_after));

JS_DEFINE(failure_object, "stop_failure", stop_fault, JS(UINT, stop_fault, code),
	JS_AS("error", CHARS, stop_fault, name), JS(CHARS, stop_fault, call),
	JS(HEX, stop_fault, addr), JS(CHARS, stop_fault, text));

JS_DEFINE(thread_object, "stop_thread", stop_thread, JS(U32S, stop_thread, block),
	JS_AS("kernel_thread", U32S, stop_thread, thread), JS(UINT, stop_thread, warp, lane),
	JS_AS("code_line", UINT, stop_thread, line), JS_AS("line", UINT, stop_thread, source_line),
	JS(CHARS, stop_thread, file));

struct stop_row {
	struct stop s;
	const uint64_t *breakpoint_list;
	const char *stop_reason, *kind, *kernel_name, *trigger, *signal;
	const struct watch_row *watch;
	const struct stop_fault *failure;
	const struct stop_thread *in_thread;
};
JS_DEFINE(stop_object, "stop", stop_row, JS_AS("stops", UINT, stop_row, s.number),
	JS(TEXT, stop_row, stop_reason), JS_AS("in_replay", BOOL, stop_row, s.replay),
	JS_IN(BOOL, stop_row, s, before), JS_IN(SEQ, stop_row, s, seq),
	JS_IN(UINT, stop_row, s, step), JS_IN(ID, stop_row, s, stream),
	JS(TEXT, stop_row, kind, kernel_name, trigger),
	JS_NUMBERS_OF("breakpoint_list", stop_row, breakpoint_list, s.nbreakpoints),
	JS_IN(BOOL, stop_row, s, temporary), JS_IN(INT, stop_row, s, pid, tid),
	JS(TEXT, stop_row, signal), JS_IN(INT, stop_row, s, exit_code),
	JS_OF("watch", POINTER, stop_row, watch, watch_object),
	JS_OF("failure", POINTER, stop_row, failure, failure_object),
	JS_OF("in_thread", POINTER, stop_row, in_thread, thread_object));

static const char *hex(char *to, const uint8_t *bytes, uint64_t n)
{
	*to = 0;
	for (uint64_t i = 0; i < n; i++)
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
	return n ? to : NULL;
}

static void fill_watch(struct watch_row *row, const struct stop_watch *w)
{
	*row = (struct watch_row){.addr = w->addr,
		.size = w->size,
		.by = w->by,
		.space = w->space,
		.changed = w->changed,
		.reads = w->reads,
		.writes = w->writes,
		.sure = w->sure};
	row->bytes_before = hex(row->hex[0], w->before, w->nbytes);
	row->bytes_after = hex(row->hex[1], w->after, w->nbytes);
}

void stop_json(struct buf *out, const struct stop *s)
{
	struct watch_row watch;
	struct stop_row row;

	if (!s->number) {
		js_text(out, NULL);
		return;
	}
	fill_watch(&watch, &s->watch);
	row = (struct stop_row){.s = *s,
		.breakpoint_list = s->breakpoints,
		.stop_reason = stop_reason_word(s->reason),
		.kind = s->kind ? sbt_kind(s->kind)->name : NULL,
		.kernel_name = *s->kernel ? s->kernel : NULL,
		.trigger = s->reason == STOP_TRIGGER ? s->trigger : NULL,
		.signal = s->signal ? signal_name(s->signal) : NULL,
		.watch = s->has_watch ? &watch : NULL,
		.failure = s->has_fault ? &s->fault : NULL,
		.in_thread = s->in_kernel ? &s->thread : NULL};
	js_put(out, &stop_object, &row);
}

void stop_json_at(struct buf *out, const void *stop)
{
	stop_json(out, *(const struct stop *const *)stop);
}
