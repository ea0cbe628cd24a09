/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that go through the door, see door-reply.h.
 */
#include "shell/tools/door-reply.h"

#include <stdlib.h>
#include <string.h>
#include "shell/live/stop-json.h"
#include "shell/values/memory-view.h"

bool question_take(int fd, struct door_question *ret, char **ret_bytes)
{
	char *bytes;

	if (!door_receive(fd, ret, sizeof *ret) || ret->size > DOOR_PIECE)
		return false;
	bytes = xmalloc(ret->size + 1);
	bytes[ret->size] = 0;
	if (!door_receive(fd, bytes, ret->size)) {
		free(bytes);
		return false;
	}
	*ret_bytes = bytes;
	return true;
}

void reply_begin(struct door_reply *r, const struct session *s)
{
	*r = (struct door_reply){.stops = s->engine.stop.number};
}

static struct err *read_memory(struct session *s, const struct door_question *q, struct buf *to)
{
	struct err *e;

	if (q->n > DOOR_PIECE)
		return err_new(ERR_LIMIT, "too many bytes at once");
	e = memory_read(s, q->addr, buf_room(to, q->n), q->n);
	if (!e)
		to->len += q->n;
	return e;
}

void reply_memory(
	struct door_reply *r, struct session *s, const struct door_question *q, const char *bytes)
{
	if (q->op == DOOR_READ)
		r->e = read_memory(s, q, &r->data);
	else if (q->op == DOOR_WRITE)
		r->e = memory_write(s, q->addr, bytes, q->size);
	else
		r->e = err_new(ERR_USAGE, "there is no question %u", q->op);
}

/* Bytes of a text that go into an answer. */
static uint32_t text_size(const char *text)
{
	return text ? (uint32_t)strnlen(text, DOOR_TEXT_MAX) : 0;
}

bool reply_send(struct door_reply *r, const struct session *s, int fd)
{
	const char *what = r->e ? r->e->what : NULL, *cure = r->e ? r->e->cure : NULL;
	struct door_answer a = {.code = r->e ? r->e->code : ERR_OK,
		.what = text_size(what),
		.cure = text_size(cure),
		.notes = text_size(r->notes),
		.size = r->data.len};
	struct buf stop = BUF_INIT;
	bool ok;

	if (s->engine.stop.number != r->stops)
		stop_json(&stop, &s->engine.stop);
	a.stop = (uint32_t)stop.len;
	ok = door_send(fd, &a, sizeof a) && door_send(fd, what, a.what) &&
	     door_send(fd, cure, a.cure) && door_send(fd, r->notes, a.notes) &&
	     door_send(fd, stop.data, stop.len) && door_send(fd, r->data.data, r->data.len);
	buf_free(&stop);
	buf_free(&r->data);
	err_free(r->e);
	return ok;
}
