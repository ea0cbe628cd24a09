/* SPDX-License-Identifier: Apache-2.0
 *
 * Where NaNs were born, as JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/json-put.h"
#include "engine/trace-file.h"
#include "replay/values.h"
#include "shell/nan/nan-text.h"
#include "shell/print/shown-names.h"
#include "state/state.h"

struct whole {
	struct session *s;
	struct nan_result r;
	const struct state *st;
	struct nan_params *params;
};

static const char *type_name(uint64_t as)
{
	return value_types[as].name;
}

static const char *typed_name(uint64_t typed)
{
	return nan_typed_name((enum nan_typed)typed);
}

static const char *end_name(uint64_t end)
{
	return nan_end_name((enum nan_end)end);
}

struct element {
	struct nan_element x;
	char value[32];	  /* NaN has no number in JSON: "nan" */
	const char *name; /* of the parameter */
};
JS_DEFINE(element_object, "nan_element", element, JS_AS("addr", HEX, element, x.addr),
	JS_AS("shown", CHARS, element, value), JS_AS("bits", HEX, element, x.bits),
	{"type", JS_NAMED, JS_MEMBER(element, x.as), .named = type_name},
	{"type_by", JS_NAMED, JS_MEMBER(element, x.typed), .named = typed_name},
	JS_AS("allocation", HEX, element, x.alloc), JS_AS("size", UINT, element, x.alloc_size),
	JS_AS("alloc_seq", SEQ, element, x.alloc_seq), JS_AS("param", ID, element, x.param),
	JS(TEXT, element, name), JS_AS("index", UINT, element, x.index));

static const char *param_name(const struct whole *w, uint64_t seq, uint32_t param)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	const char *name = NULL;

	struct err *e = seq && param != UINT32_MAX
				? trace_cmd(w->s->engine.trace.reader, seq, &cursor, &c)
				: NULL;
	if (!e && seq && param != UINT32_MAX) {
		name = c->kind == SBT_LAUNCH ? nan_param_name(w->params, c, param) : NULL;
		sbt_cursor_close(cursor);
	}
	err_free(e);
	return name;
}

static struct element element_of(const struct whole *w, uint64_t seq, const struct nan_element *x)
{
	struct element e = {.x = *x, .name = param_name(w, seq, x->param)};
	const double v = value_of(x->bits, x->as);

	snprintf(e.value, sizeof e.value, "%.17g", isnan(v) ? (double)NAN : v);
	return e;
}

struct input {
	struct element first;
	uint64_t count;
	bool sufficient;
};
JS_DEFINE(input_object, "nan_input", input,
	JS_OF("first_element", OBJECT, input, first, element_object), JS(UINT, input, count),
	JS(BOOL, input, sufficient));

struct step {
	const struct whole *w;
	struct nan_step s;
	struct element out, in;
	const struct element *in_or_null;
};

static void put_inputs(struct buf *out, const void *step)
{
	const struct step *x = step;

	buf_byte(out, '[');
	for (size_t i = 0; i < x->s.ninputs; i++) {
		const struct nan_input *in = &x->s.inputs[i];

		js_add(out, &input_object,
			&(struct input){
				element_of(x->w, x->s.seq, &in->first), in->count, in->sufficient});
	}
	buf_byte(out, ']');
}

JS_DEFINE(step_object, "nan_step", step, JS_IN(UINT, step, s, seq, node),
	JS_OF("wrote", OBJECT, step, out, element_object),
	JS_OF("because_of", POINTER, step, in_or_null, element_object),
	JS_AS("of_infinity", BOOL, step, s.was_inf), JS_AS("executions", UINT, step, s.tests),
	JS_BY("inputs", step, w, put_inputs, "[nan_input]"));

JS_DEFINE(site_object, "nan_site", nan_site, JS_AS("block_at", U32S, nan_site, block),
	JS_AS("thread_at", U32S, nan_site, thread), JS(UINT, nan_site, lane, line, source_line),
	JS(TEXT, nan_site, file, function), JS_AS("instruction", TEXT, nan_site, text),
	JS(TEXT, nan_site, operands), JS(BOOL, nan_site, is_store));

struct cause {
	const struct whole *w;
	struct nan_cause c;
	struct element at, seen;
	const struct nan_site *site;
};

static void put_steps(struct buf *out, const void *cause)
{
	const struct cause *x = cause;

	buf_byte(out, '[');
	for (size_t i = 0; i < x->c.nsteps; i++) {
		const struct nan_step *s = &x->c.steps[i];
		struct step row = {.w = x->w,
			.s = *s,
			.out = element_of(x->w, s->seq, &s->out),
			.in = element_of(x->w, s->seq, &s->in)};

		row.in_or_null = s->has_in ? &row.in : NULL;
		js_add(out, &step_object, &row);
	}
	buf_byte(out, ']');
}

static void put_command(struct buf *out, const void *cause)
{
	const struct cause *x = cause;
	const size_t from = out->len;
	uint32_t id;

	if (x->c.seq)
		err_free(shown_cmd(&(struct shown_names){x->w->s, x->w->st},
			x->w->s->engine.trace.reader, x->c.seq, true, out, &id));
	buf_str(out, out->len == from ? "null" : "");
}

JS_DEFINE(cause_object, "nan_cause", cause,
	{"is", JS_NAMED, JS_MEMBER(cause, c.end), .named = end_name},
	JS_AS("seq", SEQ, cause, c.seq), JS_AS("node", UINT, cause, c.node),
	JS_BY("command", cause, w, put_command, "command or null"),
	JS_OF("element", OBJECT, cause, at, element_object), JS_AS("is_inf", BOOL, cause, c.is_inf),
	JS_AS("why", TEXT, cause, c.why), JS_AS("seen_by", SEQ, cause, c.symptom),
	JS_OF("seen", OBJECT, cause, seen, element_object),
	JS_OF("site", POINTER, cause, site, site_object), JS_AS("alike", UINT, cause, c.alike),
	JS_BY("step_list", cause, w, put_steps, "[nan_step]"));

static void put_causes(struct buf *out, const void *whole)
{
	const struct whole *w = whole;

	buf_byte(out, '[');
	for (size_t i = 0; i < w->r.ncauses; i++) {
		const struct nan_cause *c = &w->r.causes[i];

		js_add(out, &cause_object,
			&(struct cause){w, *c, element_of(w, c->seq, &c->at),
				element_of(w, 0, &c->seen), c->site.known ? &c->site : NULL});
	}
	buf_byte(out, ']');
}

JS_DEFINE(writer_object, "nan_writer", nan_writer, JS(UINT, nan_writer, seq, nans, infs),
	JS_AS("first_nan", BOOL, nan_writer, first), JS(BOOL, nan_writer, expired));

JS_DEFINE(whole_object, "nan", whole, JS_AS("first_seq", UINT, whole, r.first),
	JS_AS("last_seq", UINT, whole, r.last),
	JS_BY("causes", whole, s, put_causes, "[nan_cause]"),
	JS_AS("not_followed", UINT, whole, r.left),
	JS_LIST_OF("writers", whole, r.writers, r.nwriters, writer_object),
	JS_IN(UINT, whole, r, launches, elements, guessed, doubtful),
	JS_AS("doubtful_by", SEQ, whole, r.doubtful_seq),
	JS_AS("untyped_bytes", UINT, whole, r.untyped), JS_AS("infinities", BOOL, whole, r.inf),
	JS_AS("reads_known", BOOL, whole, r.exact),
	JS_AS("replay_differs", BOOL, whole, r.differs));

void nan_json(struct session *s, const struct nan_result *r, struct buf *out)
{
	struct nan_params params = {.s = s};
	struct state *st = NULL;

	err_free(state_at(&st, s->engine.trace.reader, r->last));
	st = st ? st : state_new();
	js_add(out, &whole_object, &(struct whole){.s = s, .r = *r, .st = st, .params = &params});
	nan_params_free(&params);
	state_free(st);
}
