/* SPDX-License-Identifier: Apache-2.0
 *
 * A state as text: every view is a table, by the columns of print-views.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "state/print/print-private.h"

static void print_view(struct buf *out, const struct state *s, const struct print_view *v,
	uint32_t device, unsigned columns)
{
	struct table t = table_begin(v->columns);
	union row row;

	for (unsigned i = 0; v->get(s, i, &row); i++)
		if (print_is_of_device(s, v, &row, device))
			table_row(&t, &row);
	if (!t.rows)
		buf_printf(out, "No %s.\n", v->name);
	table_end(&t, out, columns);
}

/* "1 copy", "2 copies"; a ", " that the words begin with comes first. */
static void count(struct buf *out, uint64_t n, const char *one, const char *many)
{
	const char *word = n == 1 ? one : many;

	if (word[0] == ',') {
		buf_str(out, ", ");
		word += 2;
	}
	buf_printf(out, "%" PRIu64 " %s", n, word);
}

static void print_attach(struct buf *out, const struct state_totals *t)
{
	if (!t->attach_seq)
		return;
	buf_printf(out, "Attached to a running process at #%" PRIu64 ": ", t->attach_seq);
	count(out, t->found_allocations, "allocation", "allocations");
	count(out, t->found_bytes, ", byte", ", bytes");
	buf_str(out, ", found; commands before are not known\n");
	if (t->found_probed)
		buf_printf(out, "%.1f GiB of addresses were looked through in %.1f ms\n",
			(double)t->found_probed / (1 << 30), (double)t->found_ns / 1e6);
	if (t->found_missed)
		buf_printf(out,
			"%" PRIu64
			" places where memory may be were given up: calls that allocate were under way all the time\n",
			t->found_missed);
	if (!t->last_unknown)
		return;
	buf_printf(out, "Not known%s: ", t->unknown > 1 ? ", the last of several" : "");
	print_text(out, (struct sbt_blob){t->last_unknown, strlen(t->last_unknown)});
	buf_byte(out, '\n');
}

static void print_totals(struct buf *out, const struct state *s)
{
	struct state_totals t;

	state_totals(s, &t);
	buf_printf(out, "After #%" PRIu64 ": ", t.seq);
	count(out, t.commands, "command", "commands");
	count(out, t.launches, ", launch", ", launches");
	count(out, t.copies, ", copy", ", copies");
	count(out, t.fills, ", fill", ", fills");
	count(out, t.syncs, ", sync", ", syncs");
	count(out, t.failed, ", failed call", ", failed calls");
	buf_printf(out, "; %" PRIu64 " pending\n", t.pending);
	print_attach(out, &t);
	if (!t.oddities)
		return;
	if (t.oddities == 1)
		buf_str(out, "1 oddity: ");
	else
		buf_printf(out, "%" PRIu64 " oddities, the last one: ", t.oddities);
	print_text(out, (struct sbt_blob){t.last_oddity, strlen(t.last_oddity)});
	buf_byte(out, '\n');
}

void state_print(struct buf *out, const struct state *s, enum state_view view, unsigned columns)
{
	if (view != STATE_VIEW_ALL) {
		print_view(out, s, &print_views[view], ANY_DEVICE, columns);
		return;
	}
	print_totals(out, s);
	for (unsigned i = 0; i < STATE_VIEW_ALL; i++) {
		buf_printf(out, "\n%s\n", print_views[print_order[i]].title);
		print_view(out, s, &print_views[print_order[i]], ANY_DEVICE, columns);
	}
}

/* --- one device --- */

bool state_print_device(struct buf *out, const struct state *s, uint32_t device, unsigned columns)
{
	if (!print_has_device(s, device))
		return false;
	for (unsigned i = 0; i < PRINT_DEVICE_VIEWS; i++) {
		if (i)
			buf_printf(out, "\n%s\n", print_views[print_device_views[i]].title);
		print_view(out, s, &print_views[print_device_views[i]], device, columns);
	}
	return true;
}

/* --- one stream --- */

#define QUEUE_SHOWN 64 /* commands of a queue in text; JSON has all that are kept */

static void print_queue(struct buf *out, const struct state *s, const struct state_stream *st)
{
	struct sbt_names names = state_names(s);
	enum state_status status;
	struct sbt_cmd c;
	unsigned i;
	uint64_t left;

	for (i = 0; i < QUEUE_SHOWN && state_queue(s, st->id, i, &c, &status); i++) {
		if (i == 0 && c.seq > st->head)
			buf_printf(out,
				"  #%" PRIu64 " and others after it are too old to be listed\n",
				st->head);
		buf_printf(out, "  %-16s  ", state_status_name(status));
		sbt_print_cmd(out, &c, &names);
		buf_byte(out, '\n');
	}
	for (left = 0; state_queue(s, st->id, i, &c, &status); i++)
		left++;
	if (left)
		buf_printf(out, "  and %" PRIu64 " more, the last one #%" PRIu64 "\n", left,
			st->last_submitted);
}

bool state_print_stream(struct buf *out, const struct state *s, uint32_t stream)
{
	struct state_stream st;

	if (!state_stream_by_id(s, stream, &st))
		return false;
	buf_printf(out, "Stream %u (", st.id);
	print_stream_kind(out, &st);
	buf_str(out, ")");
	if (st.ctx != SBT_NO_ID)
		buf_printf(out, ", context %u", st.ctx);
	buf_printf(out, ", priority %" PRId64 ", handle 0x%" PRIx64 "\n", st.priority, st.handle);
	buf_str(out, state_status_name(st.status));
	if (st.head)
		buf_printf(out, " at #%" PRIu64, st.head);
	if (st.status == STATE_WAITING) {
		buf_str(out, " for ");
		print_stream_waits(out, &st);
	}
	buf_printf(out, "\n%" PRIu64 " submitted, %" PRIu64 " finished, %" PRIu64 " pending\n",
		st.submitted, st.finished, st.pending);
	print_queue(out, s, &st);
	return true;
}
