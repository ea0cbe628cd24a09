/* SPDX-License-Identifier: Apache-2.0
 *
 * speedscope's own JSON (its file-format-schema.json, version 0.0.1): one profile, of samples that
 * are stacks with a weight. Frames are shared by their number, and speedscope adds up by it, so a
 * frame is a function. Its line is the first of those executed: without one, speedscope shows the
 * file's name with a colon behind it.
 */
#include <inttypes.h>
#include "base/json-put.h"
#include "export/core/frame-table.h"
#include "export/formats/formats.h"

static void put_samples(struct export_job *j, const struct samples *s, struct frame_table *f)
{
	struct buf *b = &j->line;
	bool first = true;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct export_stack *st = s->v[i].stack;

		if (!sample_weight(&s->v[i], j->ask->weight))
			continue;
		buf_str(b, first ? "\n[" : ",\n[");
		first = false;
		if (j->ask->set)
			buf_printf(b, "%u,", frame_number_of_rank(f, s->v[i].rank));
		for (unsigned k = 0; st && k < st->n; k++)
			buf_printf(b, "%u,", frame_number_of_function(f, &st->frames[k]));
		buf_printf(b, "%u]", frame_number_of(f, &s->v[i]));
	}
}

static void put_frame(struct buf *b, const struct table_frame *o)
{
	struct buf name = BUF_INIT;

	frame_name_put(&name, o);
	buf_str(b, "{\"name\":");
	js_text(b, buf_cstr(&name));
	if (o->file) {
		buf_str(b, ",\"file\":");
		js_text(b, o->file);
		if (o->first_line)
			buf_printf(b, ",\"line\":%u", o->first_line);
	}
	buf_byte(b, '}');
	buf_free(&name);
}

static void put_weights(struct export_job *j, const struct samples *s, uint64_t *sum)
{
	const char *between = "";

	for (uint32_t i = 0; i < s->n; i++) {
		const uint64_t w = sample_weight(&s->v[i], j->ask->weight);

		if (!w)
			continue;
		buf_printf(&j->line, "%s%" PRIu64, between, w);
		between = ",";
		*sum += w;
	}
}

static struct err *put_all(struct export_job *j, const struct samples *s, struct frame_table *f)
{
	static const char *const units[] = {"nanoseconds", "none", "bytes"};
	struct buf *b = &j->line;
	uint64_t sum = 0;

	TRY(samples_weighed(s, j));
	buf_str(b,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"version\":\"0.0.1\",\"exporter\":\"tsdb\",\"name\":");
	js_text(b, j->meta->program);
	buf_str(b, ",\"profiles\":[{\"type\":\"sampled\",\"name\":");
	js_text(b, export_weight_name(j->ask->weight));
	buf_printf(b, ",\"unit\":\"%s\",\"samples\":[", units[j->ask->weight]);
	put_samples(j, s, f);
	buf_str(b, "],\"weights\":[");
	put_weights(j, s, &sum);
	buf_printf(
		b, "],\"startValue\":0,\"endValue\":%" PRIu64 "}],\"shared\":{\"frames\":[", sum);
	for (uint32_t i = 0; i < f->n; i++) {
		buf_str(b, i ? ",\n" : "\n");
		put_frame(b, &f->v[i]);
		TRY(export_flush_some(j));
	}
	buf_str(b, "]}}\n");
	return NULL;
}

struct err *export_speedscope(struct export_job *j)
{
	struct frame_table f = {0};
	struct samples s;
	struct err *e = samples_read(&s, j);

	if (!e)
		e = put_all(j, &s, &f);
	frame_table_free(&f);
	samples_free(&s);
	return e;
}
