/* SPDX-License-Identifier: Apache-2.0
 *
 * A state as text: every view is a table, by the columns of print-views.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "state/print/print-private.h"

/* --- cells --- */

/* A table of some thousand rows is mostly numbers, and printf is several times slower. */
static void put_number(struct buf *out, uint64_t v, unsigned base)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		buf_byte(out, (uint8_t)digits[--n]);
}

static void put_blanks(struct buf *out, size_t n)
{
	if (n)
		memset(buf_room(out, n), ' ', n);
	out->len += n;
}

static void put_cell(struct buf *out, const void *row, const struct column *c)
{
	uint64_t v;

	if (c->calc) {
		c->calc(out, row);
		return;
	}
	if (c->js.type == JS_BLOB) {
		print_text(out,
			*(const struct sbt_blob *)(const void *)((const char *)row + c->js.offset));
		return;
	}
	v = js_number(&c->js, row);
	switch (c->js.type) {
	case JS_ID:
		if (v == SBT_NO_ID)
			buf_byte(out, '-');
		else
			put_number(out, v, 10);
		break;
	case JS_SEQ:
		buf_byte(out, v ? '#' : '-');
		if (v)
			put_number(out, v, 10);
		break;
	case JS_INT:
		buf_printf(out, "%" PRId64, (int64_t)v);
		break;
	case JS_HEX:
		buf_str(out, "0x");
		put_number(out, v, 16);
		break;
	case JS_BOOL:
		buf_str(out, v ? "yes" : "no");
		break;
	case JS_NAMED:
		buf_str(out, c->js.named(v));
		break;
	default:
		put_number(out, v, 10);
	}
}

static bool is_left(const struct column *c)
{
	const enum js_type t = c->js.type;

	return c->calc ? !c->right : t == JS_BOOL || t == JS_BLOB || t == JS_NAMED;
}

/* --- text --- */

#define COLUMNS_MAX 16

/* The text of all cells, each with a NUL, row by row, and the width of each column. */
struct sheet {
	struct buf cells;
	unsigned columns, rows;
	size_t width[COLUMNS_MAX];
	bool left[COLUMNS_MAX], absent[COLUMNS_MAX];
};

/* Characters that s takes on the screen: bytes that do not continue a UTF-8 character. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

static void sheet_cell(struct sheet *t, unsigned column, size_t start)
{
	size_t w;

	buf_byte(&t->cells, 0);
	w = width((const char *)t->cells.data + start);
	if (t->width[column] < w)
		t->width[column] = w;
}

/* A column that is optional stays away until a row has something there. */
static void sheet_presence(
	struct sheet *t, unsigned column, const struct column *c, bool is_title, size_t start)
{
	const char *cell = (const char *)t->cells.data + start;

	if (is_title)
		t->absent[column] = c->optional;
	else if (*cell && strcmp(cell, "0") != 0)
		t->absent[column] = false;
}

static void sheet_row(struct sheet *t, const struct column *c, const void *row)
{
	unsigned column = 0;

	for (; c->js.type != JS_END; c++) {
		size_t start = t->cells.len;

		if (!c->title)
			continue;
		BUG_ON(column == COLUMNS_MAX);
		if (row)
			put_cell(&t->cells, row, c);
		else
			buf_str(&t->cells, c->title);
		t->left[column] = is_left(c);
		sheet_cell(t, column, start);
		sheet_presence(t, column++, c, !row, start);
	}
	t->columns = column;
	t->rows++;
}

/* Columns 0 and from..to-1. */
static void sheet_part(struct buf *out, const struct sheet *t, unsigned from, unsigned to)
{
	const char *cell = (const char *)t->cells.data;

	for (unsigned r = 0; r < t->rows; r++) {
		size_t blanks =
			0; /* owed before the next character, so that no line ends with one */

		for (unsigned i = 0; i < t->columns; i++, cell += strlen(cell) + 1) {
			size_t pad = t->width[i] - width(cell);

			if (t->absent[i] || (i && (i < from || i >= to)))
				continue;
			blanks += t->left[i] ? 0 : pad;
			if (*cell) {
				put_blanks(out, blanks);
				buf_str(out, cell);
				blanks = 0;
			}
			blanks += (t->left[i] ? pad : 0) + 2;
		}
		buf_byte(out, '\n');
	}
}

/* Columns that do not fit into so many characters come below, beside the first one again. */
static void sheet_print(struct buf *out, const struct sheet *t, unsigned columns)
{
	size_t used = t->width[0];
	unsigned from = 1;

	for (unsigned i = 1; i < t->columns; i++) {
		if (t->absent[i])
			continue;
		if (columns && used > t->width[0] && used + 2 + t->width[i] > columns) {
			sheet_part(out, t, from, i);
			buf_byte(out, '\n');
			used = t->width[0];
			from = i;
		}
		used += 2 + t->width[i];
	}
	sheet_part(out, t, from, t->columns);
}

static void print_view(struct buf *out, const struct state *s, const struct print_view *v,
	uint32_t device, unsigned columns)
{
	struct sheet t = {.cells = BUF_INIT};
	union row row;

	sheet_row(&t, v->columns, NULL);
	for (unsigned i = 0; v->get(s, i, &row); i++)
		if (print_is_of_device(s, v, &row, device))
			sheet_row(&t, v->columns, &row);
	if (t.rows == 1)
		buf_printf(out, "No %s.\n", v->name);
	else
		sheet_print(out, &t, columns);
	buf_free(&t.cells);
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
