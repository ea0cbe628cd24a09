/* SPDX-License-Identifier: Apache-2.0
 *
 * A line for each command that was asked for: RFC 4180, with a header. Times are nanoseconds since
 * 1970; what is not known is empty.
 */
#include <string.h>
#include "base/json-put.h"
#include "export/formats/formats.h"
#include "sbt/fields.h"

static void text(struct buf *b, const char *s)
{
	if (!s)
		return;
	if (!s[strcspn(s, ",\"\r\n")]) {
		buf_str(b, s);
		return;
	}
	buf_byte(b, '"');
	for (; *s; s++) {
		if (*s == '"')
			buf_byte(b, '"');
		buf_byte(b, (uint8_t)*s);
	}
	buf_byte(b, '"');
}

static void number(struct buf *b, uint64_t v, bool known)
{
	buf_byte(b, ',');
	if (known)
		js_u64(b, v);
}

static void place(struct export_job *j, const struct export_event *ev)
{
	const struct export_stack *st = export_stack(j, ev->c->stack);
	const struct export_frame *f = st ? &st->frames[st->n - 1] : NULL;
	struct buf *b = &j->line;

	buf_byte(b, ',');
	text(b, f ? f->function : NULL);
	buf_byte(b, ',');
	text(b, f ? f->file : NULL);
	number(b, f ? f->line : 0, f && f->line);
}

static void launch(struct buf *b, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *l = &c->u.launch;
	const bool is = c->kind == SBT_LAUNCH;
	const uint64_t v[] = {
		l->grid_x, l->grid_y, l->grid_z, l->block_x, l->block_y, l->block_z, l->shared};

	for (unsigned i = 0; i < sizeof v / sizeof *v; i++)
		number(b, v[i], is);
}

static void line(struct export_job *j, const struct export_event *ev)
{
	const struct sbt_kind_desc *kind = sbt_kind(ev->c->kind);
	const struct sbt_cmd *c = ev->c;
	struct buf *b = &j->line;

	js_u64(b, c->seq);
	buf_byte(b, ',');
	buf_str(b, kind ? kind->name : "unknown");
	buf_byte(b, ',');
	text(b, ev->name);
	number(b, ev->device, ev->stream != SBT_NO_ID);
	number(b, ev->stream, ev->stream != SBT_NO_ID);
	number(b, c->thread, true);
	number(b, c->result, true);
	number(b, c->host_ns, c->host_ns);
	number(b, ev->host_end, ev->host_end);
	number(b, c->gpu_start_ns, ev->timed);
	number(b, ev->gpu_ns, ev->timed);
	number(b, ev->bytes, ev->what == EXPORT_COPY || ev->what == EXPORT_FILL);
	launch(b, c);
	place(j, ev);
	number(b, j->ask->set ? j->ask->sources[j->source].rank : j->meta->rank - 1,
		j->ask->set || j->meta->rank);
	buf_byte(b, '\n');
}

struct err *export_csv(struct export_job *j)
{
	const struct export_event *ev;

	buf_str(&j->line,
		"seq,kind,name,device,stream,thread,result,host_ns,host_end_ns,gpu_start_ns,gpu_ns,bytes,"
		"grid_x,grid_y,grid_z,block_x,block_y,block_z,shared,function,file,line,rank\n");
	for (;;) {
		TRY(export_next(j, &ev));
		if (!ev)
			return NULL;
		line(j, ev);
		TRY(export_flush_some(j));
	}
}
