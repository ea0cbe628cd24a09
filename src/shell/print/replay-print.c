/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that were executed again, see replay-print.h.
 */
#include "shell/print/replay-print.h"

#include <inttypes.h>
#include <string.h>
#include "base/json-put.h"
#include "sbt/memory.h"
#include "shell/print/verdict-text.h"

/* ---- a whole window
 * ---------------------------------------------------------------------------------------------------
 */

struct fault {
	uint64_t seq;
	struct device_fault f;
	bool as_recorded;
};
JS_DEFINE(fault_object, "fault", fault, JS_MAYBE("seq", SEQ, fault, seq),
	JS_AS("told_seq", UINT, fault, f.told), JS_AS("first_seq", UINT, fault, f.first),
	JS_AS("last_seq", UINT, fault, f.last), JS_IN(UINT, fault, f, code),
	JS(BOOL, fault, as_recorded));

struct phases {
	double read_trace, driver, place, code, restore, checkpointing, execute, execute_on_device,
		hash;
};
JS_DEFINE(phases_object, "phases", phases, JS(REAL, phases, read_trace, driver, place),
	JS_AS("load_code", REAL, phases, code),
	JS(REAL, phases, restore, checkpointing, execute, execute_on_device, hash));

struct different {
	uint64_t addr, size, offset; /* offset UINT64_MAX: not known */
};
JS_DEFINE(different_object, "different", different, JS(HEX, different, addr),
	JS(UINT, different, size), JS(ID, different, offset));

struct replayed {
	struct device_info info;
	struct device_verified v;
	struct replayer_figures figures;
	bool soft, verified;
	double seconds;
	const struct fault *fault;
	const struct phases *phases;
	const struct why *why;
};

static void put_lines(struct buf *out, const void *lines)
{
	const char *p = *(const char *const *)lines, *sep = "";

	buf_byte(out, '[');
	for (size_t n; *p; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		if (!n)
			continue;
		buf_str(out, sep);
		js_bytes(out, p, n);
		sep = ",";
	}
	buf_byte(out, ']');
}

static void put_differences(struct buf *out, const void *verified)
{
	const struct device_verified *v = verified;

	buf_byte(out, '[');
	for (size_t i = 0; i < v->npieces; i++) {
		const struct replayer_piece *p = &v->pieces[i];

		if (p->checked == REPLAYER_CHECKED && !p->same)
			js_add(out, &different_object,
				&(struct different){p->addr, p->size,
					p->first_page == UINT64_MAX ? UINT64_MAX
								    : p->first_page * SBT_PAGE});
	}
	buf_byte(out, ']');
}

static void put_why(struct buf *out, const void *member)
{
	const struct why *w = *(const struct why *const *)member;

	if (w)
		js_put(out, why_object, w);
	else
		buf_str(out, "null");
}

JS_DEFINE(replayed_object, "replayed", replayed, JS_AS("first_seq", UINT, replayed, info.first),
	JS_AS("last_seq", UINT, replayed, info.last), JS(BOOL, replayed, soft),
	JS_IN(UINT, replayed, info, bytes), JS_AS("allocations", UINT, replayed, v.sums.pieces),
	JS_AS("identical", UINT, replayed, v.sums.same),
	JS_AS("unchecked", UINT, replayed, v.sums.unchecked),
	JS_AS("own", UINT, replayed, v.sums.own), JS_AS("outputs", UINT, replayed, v.sums.outputs),
	JS_AS("outputs_identical", UINT, replayed, v.sums.outputs_same),
	JS_AS("outputs_unchecked", UINT, replayed, v.sums.outputs_unknown),
	JS_AS("first_output", UINT, replayed, v.sums.first_output),
	JS_AS("freed", UINT, replayed, v.sums.freed),
	JS_AS("freed_identical", UINT, replayed, v.sums.freed_same),
	JS_AS("freed_own", UINT, replayed, v.sums.freed_own),
	JS_AS("freed_mixed", UINT, replayed, v.sums.freed_mixed),
	JS_AS("freed_heap", UINT, replayed, v.sums.freed_heap),
	JS_AS("freed_unchecked", UINT, replayed, v.sums.freed_unknown),
	JS_AS("first_freed", UINT, replayed, v.sums.first_freed),
	JS_IN(UINT, replayed, info, unrepeatable), JS(REAL, replayed, seconds),
	JS(BOOL, replayed, verified), JS_AS("executed", UINT, replayed, info.work),
	JS_AS("from_recording", UINT, replayed, info.recorded),
	JS_IN(UINT, replayed, info, left_out),
	JS_OF("fault", POINTER, replayed, fault, fault_object),
	JS_BY("notes", replayed, info.notes, put_lines, "[text]"),
	JS_OF("milliseconds", POINTER, replayed, phases, phases_object),
	JS_IN(UINT, replayed, figures, restored_bytes, checkpoints),
	JS_BY("differences", replayed, v, put_differences, "[different]"),
	JS_BY("verdict", replayed, why, put_why, "verdict or null"));

void replayed_json(struct session *s, struct buf *out, const struct device_verified *v,
	const struct verdict *why, double seconds)
{
	const struct replay_device *rd = s->engine.trace.device;
	struct replayed r = {
		.info = device_info(rd->d), .v = *v, .soft = rd->soft, .seconds = seconds};
	const struct fault fault = {.f = r.info.fault};
	struct why w;
	struct replayer_figures *f = &r.figures;
	struct err *e = device_figures(rd->d, f);
	const struct phases ms = {(double)f->read_ns / 1e6, (double)f->device_ns / 1e6,
		(double)f->place_ns / 1e6, (double)f->code_ns / 1e6, (double)f->restore_ns / 1e6,
		(double)(f->save_ns + f->room_ns + f->back_ns) / 1e6, (double)f->run_ns / 1e6,
		(double)f->gpu_ns / 1e6, (double)f->hash_ns / 1e6};

	why_make(s, why, &w);
	r.verified = device_verified_ok(v) && !fault.f.told;
	r.fault = fault.f.told ? &fault : NULL;
	r.phases = e ? NULL : &ms; /* only figures: without them it is an answer, too */
	r.why = why->kind == VERDICT_NONE ? NULL : &w;
	r.info.notes = r.info.notes ? r.info.notes : "";
	js_add(out, &replayed_object, &r);
	buf_free(&w.text);
	err_free(e);
}

struct faulted {
	uint64_t first_seq, last_seq;
	bool soft;
	struct fault fault;
};
JS_DEFINE(faulted_object, "faulted", faulted, JS(UINT, faulted, first_seq, last_seq),
	JS(BOOL, faulted, soft), JS_OF("fault", OBJECT, faulted, fault, fault_object));

void faulted_json(struct buf *out, const struct replay_device *rd)
{
	js_add(out, &faulted_object,
		&(struct faulted){rd->first, rd->last, rd->soft,
			{device_culprit(rd->d, NULL), device_info(rd->d).fault, true}});
}

/* ---- a part of one
 * --------------------------------------------------------------------------------------------------------
 */

struct part {
	uint64_t first_seq, last_seq, left_out;
	bool soft, verified;
	struct partial_result r;
	double seconds;
};
JS_DEFINE(part_object, "part", part, JS(UINT, part, first_seq, last_seq),
	JS_AS("from_seq", UINT, part, r.plan.from), JS_AS("to_seq", UINT, part, r.at),
	JS(BOOL, part, soft), JS_AS("executed", UINT, part, r.plan.executed),
	JS(UINT, part, left_out), JS_IN(UINT, part, r, allocations, identical, inexact),
	JS(REAL, part, seconds), JS(BOOL, part, verified));

void partial_json(struct buf *out, const struct replay_device *rd, const struct partial_result *r,
	double seconds)
{
	js_add(out, &part_object,
		&(struct part){rd->first, rd->last, (uint64_t)r->plan.nskip + r->plan.behind,
			rd->soft, partial_ok(r), *r, seconds});
}

void partial_print(struct buf *out, const struct partial_result *r)
{
	plan_print(out, &r->plan);
	buf_printf(out,
		"%" PRIu64 " of %" PRIu64 " allocations are at #%" PRIu64
		" what they are in the whole replay",
		r->identical, r->allocations, r->at);
	if (r->inexact)
		buf_printf(out, " (%" PRIu64 " more may have been written by what was left out)",
			r->inexact);
	if (r->first_addr)
		buf_printf(out, "\n  0x%" PRIx64 " is the first that differs", r->first_addr);
	buf_str(out, "\n");
}
