/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints where NaNs were born.
 */
#include "shell/nan/nan-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "engine/trace-file.h"
#include "replay/values.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

enum { FRAMES = 4, WRITERS_SHOWN = 8, STEPS_SHOWN = 16 };

struct print {
	struct session *s;
	const struct nan_result *r;
	const struct state *st;
	struct nan_params params;
	struct buf *out;
};

static void put_text(struct buf *out, const char *text)
{
	text_safe(out, text, strlen(text), 0);
}

static void put_value(struct buf *out, const struct nan_element *x)
{
	const double v = value_of(x->bits, x->as);

	if (v != v)
		buf_str(out, "NaN");
	else
		buf_printf(out, "%.9g", v);
}

/* --- commands and elements --- */

static void put_command(const struct print *p, uint64_t seq, uint32_t node, bool stack)
{
	struct stack frames = {0};
	uint32_t id = 0;
	struct err *e = shown_cmd(&(struct shown_names){p->s, p->st}, p->s->engine.trace.reader,
		seq, false, p->out, &id);

	if (e)
		buf_printf(p->out, "#%" PRIu64, seq);
	err_free(e);
	if (node)
		buf_printf(p->out, ", in its step #%" PRIu64 ".%" PRIu32, seq, node);
	buf_byte(p->out, '\n');
	e = stack ? stack_recorded(p->s, p->s->engine.trace.reader, id, &frames) : NULL;
	stack_print_brief(p->out, &frames, "    ", FRAMES);
	stack_free(&frames);
	err_free(e);
}

/* The parameter's name, or "argN". */
static void put_param(struct print *p, uint64_t seq, uint32_t param)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	const char *name = NULL;
	struct err *e = trace_cmd(p->s->engine.trace.reader, seq, &cursor, &c);

	if (!e && c->kind == SBT_LAUNCH)
		name = nan_param_name(&p->params, c, param);
	if (name)
		put_text(p->out, name);
	else
		buf_printf(p->out, "arg%" PRIu32, param);
	if (!e)
		sbt_cursor_close(cursor);
	err_free(e);
}

/* "out[17]", of launch seq. */
static void put_element(struct print *p, uint64_t seq, const struct nan_element *x)
{
	if (x->param != UINT32_MAX && seq)
		put_param(p, seq, x->param);
	else if (x->alloc_size)
		buf_printf(p->out, "0x%" PRIx64, x->alloc);
	else
		buf_printf(p->out, "0x%" PRIx64, x->addr);
	if (x->param != UINT32_MAX || x->alloc_size)
		buf_printf(p->out, "[%" PRIu64 "]", x->index);
}

static void put_where(struct print *p, const struct nan_element *x)
{
	static const char *const by[] = {"", "as asked", "as declared", "by the code",
		"as what reads it says", "by what lies there"};

	buf_printf(p->out, " (%s %s, 0x%" PRIx64, value_types[x->as].name, by[x->typed], x->addr);
	if (x->alloc_size)
		buf_printf(p->out, ", of %" PRIu64 " bytes from #%" PRIu64, x->alloc_size,
			x->alloc_seq);
	buf_str(p->out, ")");
}

/* --- the cause --- */

static void put_site(struct print *p, const struct nan_site *t)
{
	if (!t->known)
		return;
	buf_printf(p->out, "    %s thread (%u,%u,%u) of block (%u,%u,%u)",
		t->is_store ? "stored by" : "by", t->thread[0], t->thread[1], t->thread[2],
		t->block[0], t->block[1], t->block[2]);
	if (t->file && t->source_line) {
		buf_str(p->out, ", ");
		put_text(p->out, t->file);
		buf_printf(p->out, ":%u", t->source_line);
	}
	buf_str(p->out, ": ");
	put_text(p->out, t->text ? t->text : "");
	buf_byte(p->out, '\n');
	if (t->operands) {
		buf_str(p->out, "      with ");
		put_text(p->out, t->operands);
		buf_byte(p->out, '\n');
	}
	if (t->is_store)
		buf_str(p->out, "      which instruction made the value was not found\n");
}

static void put_end(struct print *p, const struct nan_cause *c)
{
	static const char *const texts[NAN_ENDS] = {
		[NAN_BORN] = "is born in a launch, of finite numbers",
		[NAN_FILLED] = "is written by a fill",
		[NAN_COPIED] = "comes from the program, with a copy",
		[NAN_HOST] = "comes from the program, which wrote it to memory that it shares with "
			     "the device",
		[NAN_RECORDED] = "comes from a call that is not executed again",
		[NAN_START] = "was in memory when the window began",
		[NAN_UNWRITTEN] = "lies in memory that nothing has written since its allocation",
		[NAN_UNSTEADY] = "is written by a launch that is not deterministic",
		[NAN_UNKNOWN] = "comes from where is not known",
	};

	put_value(p->out, &c->at);
	buf_printf(p->out, " %s", texts[c->end]);
	if (c->why) {
		buf_str(p->out, ": ");
		put_text(p->out, c->why);
	}
	buf_byte(p->out, '\n');
	if (c->seq) {
		buf_str(p->out, "  ");
		put_command(p, c->seq, c->node, true);
	}
	buf_str(p->out, "    ");
	put_element(p, c->end == NAN_BORN || c->end == NAN_UNSTEADY ? c->seq : 0, &c->at);
	put_where(p, &c->at);
	buf_byte(p->out, '\n');
	put_site(p, &c->site);
	if (c->end == NAN_START)
		buf_str(p->out, "  A window that begins earlier shows more.\n");
	if (c->end == NAN_UNSTEADY)
		buf_printf(p->out,
			"  \"tsdb check FILE %" PRIu64 "-%" PRIu64 " --perturb\" tells more.\n",
			c->seq, c->seq);
}

/* --- the way --- */

static void put_inputs(struct print *p, const struct nan_step *s)
{
	for (size_t i = 0; s->ninputs > 1 && i < s->ninputs; i++) {
		const struct nan_input *x = &s->inputs[i];

		buf_str(p->out, "      ");
		put_element(p, s->seq, &x->first);
		buf_printf(p->out, " and what follows: %" PRIu64 " not finite, %s\n", x->count,
			x->sufficient ? "which makes it" : "which does not make it alone");
	}
}

static void put_step(struct print *p, const struct nan_step *s)
{
	buf_str(p->out, "  ");
	put_command(p, s->seq, s->node, false);
	buf_str(p->out, "    ");
	put_element(p, s->seq, &s->out);
	buf_str(p->out, " = ");
	put_value(p->out, &s->out);
	if (s->has_in) {
		buf_str(p->out, " <- ");
		put_element(p, s->seq, &s->in);
		buf_str(p->out, " = ");
		put_value(p->out, &s->in);
	}
	if (s->tests)
		buf_printf(p->out, "; executed %u times", s->tests);
	buf_byte(p->out, '\n');
	put_inputs(p, s);
}

static void put_cause(struct print *p, const struct nan_cause *c)
{
	put_end(p, c);
	if (c->symptom) {
		buf_str(p->out, "Seen in what the program got by\n  ");
		put_command(p, c->symptom, 0, false);
	} else {
		buf_printf(p->out, "Seen in memory at the window's end, at 0x%" PRIx64 "\n",
			c->seen.addr);
	}
	if (c->alike)
		buf_printf(p->out, "%" PRIu64 " other%s that were seen come%s from there, too.\n",
			c->alike, c->alike == 1 ? "" : "s", c->alike == 1 ? "s" : "");
	if (c->nsteps)
		buf_str(p->out, "The way back:\n");
	for (size_t i = 0; i < c->nsteps; i++) {
		if (c->nsteps > STEPS_SHOWN && i == STEPS_SHOWN / 2) {
			buf_printf(p->out, "  ... %zu more\n", c->nsteps - STEPS_SHOWN);
			i = c->nsteps - STEPS_SHOWN / 2;
		}
		put_step(p, &c->steps[i]);
	}
}

/* --- sums --- */

static void put_writers(struct print *p)
{
	const struct nan_result *r = p->r;
	uint64_t nans = 0, expired = 0, shown = 0;

	for (size_t i = 0; i < r->nwriters; i++) {
		nans += r->writers[i].nans != 0;
		expired += r->writers[i].expired;
	}
	buf_printf(p->out, "%" PRIu64 " command%s wrote NaN", nans, nans == 1 ? "" : "s");
	if (expired)
		buf_printf(p->out,
			"; of %" PRIu64 " all of it was overwritten or freed unseen:", expired);
	for (size_t i = 0; expired && i < r->nwriters; i++)
		if (r->writers[i].expired && shown++ < WRITERS_SHOWN)
			buf_printf(p->out, "%s #%" PRIu64, shown > 1 ? "," : "", r->writers[i].seq);
	if (shown > WRITERS_SHOWN)
		buf_printf(p->out, " and %" PRIu64 " more", shown - WRITERS_SHOWN);
	buf_str(p->out, ".\n");
}

static void put_doubtful(struct print *p)
{
	const struct nan_result *r = p->r;

	buf_printf(p->out,
		"%" PRIu64 " of those would be NaN, if that is their type: they accuse nobody. "
		"--as %s follows them. The first:\n  ",
		r->doubtful, value_types[r->doubtful_first.as].name);
	put_command(p, r->doubtful_seq, 0, false);
	buf_str(p->out, "    ");
	put_element(p, r->doubtful_seq, &r->doubtful_first);
	put_where(p, &r->doubtful_first);
	buf_byte(p->out, '\n');
}

static void put_sums(struct print *p)
{
	const struct nan_result *r = p->r;

	buf_printf(p->out,
		"Looked at %" PRIu64 " number%s that %" PRIu64 " launch%s of #%" PRIu64 "-#%" PRIu64
		" wrote, on %s.\n",
		r->elements, r->elements == 1 ? "" : "s", r->launches, r->launches == 1 ? "" : "es",
		r->first, r->last, r->device);
	if (r->guessed)
		buf_printf(p->out,
			"The type of %" PRIu64
			" of them is known by their values alone; --as TYPE says it.\n",
			r->guessed);
	if (r->doubtful)
		put_doubtful(p);
	if (r->untyped)
		buf_printf(p->out,
			"%" PRIu64
			" bytes are no floats, or of no type that is known: not looked at.\n",
			r->untyped);
	if (!r->exact)
		buf_str(p->out,
			"What launches read is not known here: all memory that their arguments "
			"point to was tested.\n");
	if (r->differs)
		buf_str(p->out,
			"The replay is not what was recorded (\"tsdb replay\" says why): this is "
			"about the replay.\n");
	if (r->left)
		buf_printf(p->out, "%" PRIu64 " more that were seen were not followed.\n", r->left);
}

void nan_print(struct session *s, const struct nan_result *r, struct buf *out)
{
	struct state *st = NULL;
	struct print p = {.s = s, .r = r, .params.s = s, .out = out};

	err_free(state_at(&st, s->engine.trace.reader, r->last));
	p.st = st = st ? st : state_new();
	if (!r->ncauses)
		buf_printf(out, "No NaN%s in what the program got, or in memory at the end.\n",
			r->inf ? " or infinity" : "");
	for (size_t i = 0; i < r->ncauses; i++)
		put_cause(&p, &r->causes[i]);
	put_writers(&p);
	put_sums(&p);
	nan_params_free(&p.params);
	state_free(st);
}
