/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb-replayer: executes a trace's commands on a device for tsdb, over a socket (protocol.h). It
 * locks itself into a sandbox (sandbox.h) unless the argument --no-sandbox is given; OPEN completes
 * the sandbox. The parent process chose the layout of the address space (device-process.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"
#include "replayer/execute/replayer-order.h"
#include "replayer/execute/replayer-turn.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"

enum { TELL_NS = 100000000 }; /* between two messages about how far it is */

/* --- messages --- */

struct request {
	uint32_t type;
	uint8_t *body; /* aligned as malloc does */
	size_t n;
	const uint8_t *tail; /* what follows the request's structure */
	size_t tail_n;
};

static bool read_all(int fd, void *to, size_t n)
{
	uint8_t *at = to;

	while (n) {
		const ssize_t got = read(fd, at, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static bool write_all(int fd, const void *from, size_t n)
{
	const uint8_t *at = from;

	while (n) {
		const ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		at += put;
		n -= (size_t)put;
	}
	return true;
}

static bool send_message(struct rp *rp, int fd, uint32_t type, const struct buf *body)
{
	const struct replayer_head head = {type, (uint32_t)body->len, checkpoint_changed(rp)};

	BUG_ON(body->len > REPLAYER_MESSAGE_MAX - sizeof head);
	watchdog_claim(rp);
	const bool ok = write_all(fd, &head, sizeof head) && write_all(fd, body->data, body->len);
	atomic_store(&rp->watchdog.owner, 0);
	return ok;
}

/* Errors of the other rooms have no code of the protocol; this gives them one. */
static uint32_t error_code(const struct rp *rp, const struct err *e)
{
	if (rp->fail_code != REPLAYER_E_OTHER)
		return rp->fail_code;
	return e->code == ERR_BAD_TRACE || e->code == ERR_INCOMPLETE	? REPLAYER_E_TRACE
	       : e->code == ERR_NOT_FOUND || e->code == ERR_UNSUPPORTED ? REPLAYER_E_DEVICE
									: REPLAYER_E_OTHER;
}

static bool send_error(struct rp *rp, int fd, struct err *e)
{
	struct buf b = BUF_INIT;
	const struct replayer_error head = {
		.code = error_code(rp, e), .seq = rp->fail_seq, .first = rp->fail_first};

	buf_add(&b, &head, sizeof head);
	buf_str(&b, e->what);
	if (e->cure)
		buf_printf(&b, "; %s", e->cure);
	const bool ok = send_message(rp, fd, REPLAYER_ERROR, &b);
	buf_free(&b);
	return ok;
}

/* --- requests --- */

static void reply_position(struct rp *rp, struct buf *out)
{
	const struct replayer_done done = {rp->position};

	buf_add(out, &done, sizeof done);
}

static struct err *on_open(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_open *o = (const void *)q->body;

	if (rp->open || rp->trace)
		return err_new(ERR_STATE, "a trace is open already");
	if (o->version != REPLAYER_VERSION)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"tsdb speaks version %u of the replayer's protocol, this is %u",
				o->version, REPLAYER_VERSION),
			"install tsdb and tsdb-replayer of one version");
	char *path = xmalloc(q->tail_n + 1);
	memcpy(path, q->tail, q->tail_n);
	path[q->tail_n] = '\0';
	rp->flags = o->flags;
	rp->turn.overlap = o->flags & REPLAYER_OVERLAPS;
	rp->first = o->first;
	rp->last = o->last;
	struct err *e = window_open(rp, path);
	free(path);
	TRY(e);
	rp->open = true;
	watchdog_opened(rp);
	const struct replayer_opened opened = {rp->place.device.n + rp->place.host.n,
		ranges_bytes(&rp->place.device) + ranges_bytes(&rp->place.host), rp->unrepeatable,
		rp->fault.told, rp->fault.first, rp->fault.last, rp->fault.code, 0, rp->work,
		rp->recorded, rp->left_out};
	buf_add(out, &opened, sizeof opened);
	const size_t room = REPLAYER_MESSAGE_MAX / 2;
	buf_add(out, rp->notes.data, rp->notes.len < room ? rp->notes.len : room);
	return NULL;
}

/* If nobody takes it, the reply will find that out. */
static void tell_at(struct rp *rp)
{
	struct buf b = BUF_INIT;

	if (now_ns() - rp->told_ns < TELL_NS)
		return;
	rp->told_ns = now_ns();
	reply_position(rp, &b);
	(void)!send_message(rp, rp->fd, REPLAYER_AT, &b);
	buf_free(&b);
}

static struct err *on_seek(struct rp *rp, const struct request *q, struct buf *out)
{
	TRY(checkpoint_seek(rp, ((const struct replayer_seek *)(const void *)q->body)->seq));
	reply_position(rp, out);
	return NULL;
}

static struct err *on_execute(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_execute *x = (const void *)q->body;
	const struct sbt_cmd *c;

	TRY(window_holds(rp, x->seq));
	if (x->seq <= rp->position)
		return rp_fail(rp, REPLAYER_E_OTHER, x->seq,
			"#%llu is not behind the position #%llu: seek first",
			(unsigned long long)x->seq, (unsigned long long)rp->position);
	TRY(execute_fetch(rp, x->seq, &c));
	TRY(c ? execute(rp, c) : execute_writes(rp, rp->position + 1, x->seq));
	rp->position = x->seq;
	TRY(late_go(rp));
	TRY(checkpoint_tick(rp));
	if (x->wait) {
		TRY(execute_finish(rp));
		reply_position(rp, out);
	}
	return NULL;
}

static struct err *on_read(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_range *r = (const void *)q->body;
	const struct replayer_done done = {rp->position};

	if (r->size > REPLAYER_MESSAGE_MAX - sizeof(struct replayer_head) - sizeof done)
		return err_new(ERR_LIMIT, "a read of %llu bytes is too large for a message",
			(unsigned long long)r->size);
	TRY(execute_finish(rp));
	buf_add(out, &done, sizeof done);
	TRY(contents_read(rp, r->addr, buf_room(out, r->size), r->size));
	out->len += r->size;
	return NULL;
}

static struct edit *new_edit(struct rp *rp, const void *bytes, size_t n)
{
	MAKE_ROOM(rp->edits, rp->nedits, rp->cap_edits);
	struct edit *d = &rp->edits[rp->nedits++];
	*d = (struct edit){.n = n, .bytes = xmalloc(n + 1)};
	memcpy(d->bytes, bytes, n);
	return d;
}

static struct err *on_write(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_range *r = (const void *)q->body;

	if (r->size != q->tail_n)
		return err_new(ERR_STATE, "a write of %llu bytes came with %zu",
			(unsigned long long)r->size, q->tail_n);
	TRY(execute_finish(rp));
	TRY(contents_write(rp, r->addr, q->tail, q->tail_n));
	struct edit *d = new_edit(rp, q->tail, q->tail_n);
	d->seq = rp->position;
	d->addr = r->addr;
	TRY(checkpoint_renew(rp));
	reply_position(rp, out);
	return NULL;
}

static struct err *on_hash(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_range *r = (const void *)q->body;
	struct replayer_hash h;

	TRY(execute_finish(rp));
	TRY(q->type == REPLAYER_HASH ? contents_hash(rp, r->addr, r->size, &h.hash)
				     : contents_hash_recorded(rp, r->addr, r->size, &h.hash));
	buf_add(out, &h, sizeof h);
	return NULL;
}

/* The first position whose memory is not as recorded. */
static uint64_t first_edit(const struct rp *rp)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < rp->nedits; i++)
		if (rp->edits[i].seq < first)
			first = rp->edits[i].seq;
	return first;
}

static void forget_edits(struct rp *rp)
{
	for (size_t i = 0; i < rp->nedits; i++)
		free(rp->edits[i].bytes);
	rp->nedits = 0;
}

static struct err *on_arg(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_arg *a = (const void *)q->body;
	const struct sbt_cmd *c;

	if (!a->seq) { /* forget the what-ifs */
		rp->stale |= first_edit(rp) <= rp->position;
		checkpoint_forget(rp, first_edit(rp));
		forget_edits(rp);
		reply_position(rp, out);
		return NULL;
	}
	TRY(execute_fetch(rp, a->seq, &c));
	const struct rkernel *k =
		c && c->kind == SBT_LAUNCH ? objects_kernel(rp, c->u.launch.kernel) : NULL;
	if (!k)
		return rp_fail(rp, REPLAYER_E_REFUSED, a->seq, "#%llu is not a launch in the trace",
			(unsigned long long)a->seq);
	if (a->param >= k->nparams || a->size != q->tail_n ||
		k->params[2 * a->param + 1] != a->size)
		return rp_fail(rp, REPLAYER_E_REFUSED, a->seq, "%s has no parameter %u of %u bytes",
			k->name, a->param, a->size);
	struct edit *d = new_edit(rp, q->tail, q->tail_n);
	d->seq = a->seq;
	d->is_param = true;
	d->param = a->param;
	checkpoint_forget(rp, a->seq);
	reply_position(rp, out);
	return NULL;
}

static struct err *on_skip(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_skip *s = (const void *)q->body;

	if (q->tail_n != (size_t)s->n * sizeof(uint64_t))
		return err_new(
			ERR_STATE, "a list of %u commands came with %zu bytes", s->n, q->tail_n);
	uint64_t *list = xmalloc(q->tail_n + 1);
	memcpy(list, q->tail, q->tail_n);
	for (uint32_t i = 1; i < s->n; i++)
		if (list[i] <= list[i - 1]) {
			free(list);
			return err_new(
				ERR_STATE, "the list of commands to leave out is not sorted");
		}
	free(rp->skip);
	rp->skip = list;
	rp->nskip = s->n;
	rp->skip_recorded = s->recorded_inputs != 0;
	checkpoint_forget(rp, rp->first);
	reply_position(rp, out);
	return NULL;
}

static struct err *on_graph_part(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_graph_part *g = (const void *)q->body;
	const uint64_t seq = g->seq ? g->seq : rp->part.seq;

	rp->part = *g;
	rp->stale |= seq && seq <= rp->position;
	checkpoint_forget(rp, seq);
	reply_position(rp, out);
	return NULL;
}

static struct err *on_node(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_node *n = (const void *)q->body;
	struct replayer_at_node at = {.step = n->step};

	TRY(node_go(rp, n->seq, n->step, &at.steps));
	at.seq = rp->position;
	buf_add(out, &at, sizeof at);
	return NULL;
}

static struct err *on_swap(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_swap *s = (const void *)q->body;

	TRY(execute_finish(rp));
	TRY(code_swap(rp, s->kernel,
		s->kind < CODE_UNKNOWN ? (enum code_kind)s->kind : CODE_UNKNOWN, q->tail,
		q->tail_n));
	checkpoint_forget(rp, rp->first);
	reply_position(rp, out);
	return NULL;
}

static struct err *on_run(struct rp *rp, const struct request *q, struct buf *out)
{
	struct replayer_ran ran = {0};

	TRY(execute_run(rp, (const void *)q->body, &ran));
	buf_add(out, &ran, sizeof ran);
	return NULL;
}

static struct err *on_verify(struct rp *rp, const struct request *q, struct buf *out)
{
	struct replayer_verified v = {0};
	struct buf pieces = BUF_INIT;
	const size_t room = (REPLAYER_MESSAGE_MAX - sizeof(struct replayer_head) - sizeof v) /
			    sizeof(struct replayer_piece);

	TRY(execute_finish(rp));
	struct err *e = contents_verify(rp, &v, &pieces);
	if (!e) {
		buf_add(out, &v, sizeof v);
		buf_add(out, pieces.data,
			pieces.len < room * sizeof(struct replayer_piece)
				? pieces.len
				: room * sizeof(struct replayer_piece));
	}
	buf_free(&pieces);
	return e;
}

static struct err *on_checkpoint(struct rp *rp, const struct request *q, struct buf *out)
{
	TRY(checkpoint_take(rp));
	reply_position(rp, out);
	return NULL;
}

static struct err *on_figures(struct rp *rp, const struct request *q, struct buf *out)
{
	rp->figures.checkpoints = (uint32_t)rp->checkpoints.n;
	rp->figures.checkpoint_bytes = rp->checkpoints.n * rp->checkpoints.bytes;
	buf_add(out, &rp->figures, sizeof rp->figures);
	return NULL;
}

static struct err *on_quit(struct rp *rp, const struct request *q, struct buf *out)
{
	reply_position(rp, out);
	return NULL;
}

static struct err *on_soft(struct rp *rp, const struct request *q, struct buf *out)
{
	TRY(watch_soft(rp, (const void *)q->body));
	reply_position(rp, out);
	return NULL;
}

static struct err *on_probes(struct rp *rp, const struct request *q, struct buf *out)
{
	if (!rp->open) {
		reply_position(rp, out);
		return probe_keep(rp, q->tail, q->tail_n);
	}
	TRY(watch_probes(rp, q->tail, q->tail_n));
	if (q->tail_n) /* what is counted has to be executed */
		checkpoint_forget(rp, rp->first);
	reply_position(rp, out);
	return NULL;
}

static struct err *on_probed(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_none none = {0};

	TRY(execute_finish(rp));
	buf_add(out, &none, sizeof none);
	return rp->counting.n ? probe_results(rp, out) : watch_probed(rp, out);
}

static struct err *on_printed(struct rp *rp, const struct request *q, struct buf *out)
{
	TRY(execute_finish(rp));
	print_take(rp, out);
	return NULL;
}

static struct err *on_overlap(struct rp *rp, const struct request *q, struct buf *out)
{
	TRY(turn_overlap(rp, ((const struct replayer_overlap *)(const void *)q->body)->on != 0));
	reply_position(rp, out);
	return NULL;
}

static struct err *on_order(struct rp *rp, const struct request *q, struct buf *out)
{
	return order_run(rp, (const void *)q->body, q->tail, q->tail_n, out);
}

static struct err *on_check(struct rp *rp, const struct request *q, struct buf *out)
{
	return check_run(rp, (const void *)q->body, q->tail, q->tail_n, out);
}

static struct err *on_changed(struct rp *rp, const struct request *q, struct buf *out)
{
	return check_changed(rp, (const void *)q->body, out);
}

static struct err *on_check_end(struct rp *rp, const struct request *q, struct buf *out)
{
	check_close(rp);
	reply_position(rp, out);
	return NULL;
}

static struct err *on_accesses(struct rp *rp, const struct request *q, struct buf *out)
{
	return watch_accesses(rp, (const void *)q->body, out);
}

static struct err *on_addressing(struct rp *rp, const struct request *q, struct buf *out)
{
	struct replayer_addressing r;

	TRY(watch_addressing(
		rp, ((const struct replayer_kernel_id *)(const void *)q->body)->id, &r.a));
	buf_add(out, &r, sizeof r);
	return NULL;
}

static struct err *on_kept(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_seek *s = (const void *)q->body;
	const struct replayer_kept r = {late_count(rp->late), late_holds(rp->late, s->seq)};

	buf_add(out, &r, sizeof r);
	return NULL;
}

static struct err *on_races(struct rp *rp, const struct request *q, struct buf *out)
{
	return watch_races(rp, out);
}

/* --- the microscope --- */

static struct err *reply_stop(struct rp *rp, struct err *e, struct buf *out)
{
	if (!e)
		buf_add(out, &rp->micro.stop, sizeof rp->micro.stop);
	return e;
}

static struct err *on_kernel(struct rp *rp, const struct request *q, struct buf *out)
{
	return reply_stop(rp,
		micro_enter(rp, ((const struct replayer_kernel *)(const void *)q->body)->seq), out);
}

static struct err *on_kernel_go(struct rp *rp, const struct request *q, struct buf *out)
{
	return reply_stop(rp, micro_go(rp, (const void *)q->body), out);
}

static struct err *on_kernel_focus(struct rp *rp, const struct request *q, struct buf *out)
{
	return reply_stop(rp, micro_focus(rp, (const void *)q->body), out);
}

static struct err *on_kernel_points(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_none none = {0};

	buf_add(out, &none, sizeof none);
	return micro_points(rp, q->tail, q->tail_n, out);
}

static struct err *on_kernel_ask(struct rp *rp, const struct request *q, struct buf *out)
{
	const struct replayer_none none = {0};

	buf_add(out, &none, sizeof none);
	return micro_ask(rp, (const void *)q->body, out);
}

static struct err *on_kernel_put(struct rp *rp, const struct request *q, struct buf *out)
{
	TRY(micro_put(rp, (const void *)q->body));
	buf_add(out, &rp->micro.stop, sizeof rp->micro.stop);
	return NULL;
}

/* Whether the request leaves the launch under the microscope where it is. */
static bool may_look(uint32_t type)
{
	return (type >= REPLAYER_KERNEL && type <= REPLAYER_KERNEL_ASK) || type == REPLAYER_READ ||
	       type == REPLAYER_HASH || type == REPLAYER_FIGURES || type == REPLAYER_KEPT ||
	       type == REPLAYER_KERNEL_PUT;
}

static const struct handler {
	struct err *(*fn)(struct rp *rp, const struct request *q, struct buf *out);
	size_t size; /* of the request's structure */
	const char *name;
} handlers[] = {
#define HANDLER(NAME, fn, req) [REPLAYER_##NAME] = {fn, sizeof(struct req), #NAME}
	HANDLER(OPEN, on_open, replayer_open),
	HANDLER(SEEK, on_seek, replayer_seek),
	HANDLER(EXECUTE, on_execute, replayer_execute),
	HANDLER(READ, on_read, replayer_range),
	HANDLER(WRITE, on_write, replayer_range),
	HANDLER(HASH, on_hash, replayer_range),
	HANDLER(HASH_RECORDED, on_hash, replayer_range),
	HANDLER(ARG, on_arg, replayer_arg),
	HANDLER(SKIP, on_skip, replayer_skip),
	HANDLER(NODE, on_node, replayer_node),
	HANDLER(GRAPH_PART, on_graph_part, replayer_graph_part),
	HANDLER(SWAP, on_swap, replayer_swap),
	HANDLER(RUN, on_run, replayer_run),
	HANDLER(VERIFY, on_verify, replayer_seek),
	HANDLER(CHECKPOINT, on_checkpoint, replayer_seek),
	HANDLER(FIGURES, on_figures, replayer_none),
	HANDLER(QUIT, on_quit, replayer_none),
	HANDLER(SOFT, on_soft, replayer_soft),
	HANDLER(OVERLAP, on_overlap, replayer_overlap),
	HANDLER(PROBES, on_probes, replayer_none),
	HANDLER(PROBED, on_probed, replayer_none),
	HANDLER(PRINTED, on_printed, replayer_none),
	HANDLER(ORDER, on_order, replayer_order),
	HANDLER(CHECK, on_check, replayer_check),
	HANDLER(CHANGED, on_changed, replayer_accesses),
	HANDLER(CHECK_END, on_check_end, replayer_none),
	HANDLER(ACCESSES, on_accesses, replayer_accesses),
	HANDLER(ADDRESSING, on_addressing, replayer_kernel_id),
	HANDLER(KEPT, on_kept, replayer_seek),
	HANDLER(RACES, on_races, replayer_none),
	HANDLER(KERNEL, on_kernel, replayer_kernel),
	HANDLER(KERNEL_GO, on_kernel_go, soft_go),
	HANDLER(KERNEL_FOCUS, on_kernel_focus, replayer_kernel_focus),
	HANDLER(KERNEL_POINTS, on_kernel_points, replayer_none),
	HANDLER(KERNEL_ASK, on_kernel_ask, soft_ask),
	HANDLER(KERNEL_PUT, on_kernel_put, soft_put),
#undef HANDLER
};

static struct err *handle(struct rp *rp, struct request *q, struct buf *out)
{
	if (q->type >= sizeof handlers / sizeof *handlers || !handlers[q->type].fn)
		return err_new(ERR_UNSUPPORTED, "this tsdb-replayer knows no request %u", q->type);
	if (q->n < handlers[q->type].size)
		return err_new(ERR_STATE, "the request %s is too short", handlers[q->type].name);
	if (!rp->open && q->type != REPLAYER_OPEN && q->type != REPLAYER_QUIT &&
		q->type != REPLAYER_FIGURES && q->type != REPLAYER_PROBES)
		return err_new(ERR_STATE, "%s before OPEN", handlers[q->type].name);
	q->tail = q->body + handlers[q->type].size;
	q->tail_n = q->n - handlers[q->type].size;
	watchdog_on(rp, 0);
	if (!may_look(q->type))
		micro_leave(rp);
	if (q->type != REPLAYER_NODE && q->type != REPLAYER_KEPT && q->type != REPLAYER_READ &&
		q->type != REPLAYER_HASH && q->type != REPLAYER_FIGURES)
		node_leave(rp);
	return handlers[q->type].fn(rp, q, out);
}

static bool receive(int fd, struct request *q)
{
	struct replayer_head head;

	if (!read_all(fd, &head, sizeof head) || head.size > REPLAYER_MESSAGE_MAX - sizeof head)
		return false;
	*q = (struct request){.type = head.type, .n = head.size, .body = xmalloc(head.size + 1)};
	if (read_all(fd, q->body, q->n))
		return true;
	free(q->body);
	return false;
}

static bool has_reply(const struct request *q)
{
	return q->type != REPLAYER_EXECUTE ||
	       (q->n >= sizeof(struct replayer_execute) &&
		       ((const struct replayer_execute *)(const void *)q->body)->wait);
}

static void serve(struct rp *rp, int fd)
{
	struct err *pending = NULL; /* of an EXECUTE that has no reply */
	struct buf out = BUF_INIT;
	struct request q;
	bool go_on = true;

	rp->fd = fd;
	while (go_on && receive(fd, &q)) {
		buf_clear(&out);
		if (!pending) {
			rp->fail_code = REPLAYER_E_OTHER;
			rp->fail_seq = rp->fail_first = 0;
			rp->tell =
				q.type == REPLAYER_SEEK || q.type == REPLAYER_RUN ? tell_at : NULL;
			rp->told_ns = now_ns();
			pending = handle(rp, &q, &out);
			rp->tell = NULL;
			watchdog_off(rp);
		}
		if (has_reply(&q)) {
			fflush(stdout); /* what kernels printed comes before the reply */
			go_on = pending ? send_error(rp, fd, pending) &&
						  rp->fail_code != REPLAYER_E_FAULT
					: send_message(rp, fd, REPLAYER_REPLY, &out) &&
						  q.type != REPLAYER_QUIT;
			err_free(pending);
			pending = NULL;
		}
		free(q.body);
	}
	err_free(pending);
	buf_free(&out);
}

/* For `tsdb doctor`: prints a line for each wall that this program's sandbox would have on this
 * system: "up" or "missing", its name, the sentence. */
static int report(bool soft)
{
	struct backend_library lib;
	struct sandbox b = {0};
	struct err *e = sandbox_begin(&b, -1);

	/* NVIDIA's driver may be missing: its rules are tried all the same. */
	err_free(soft ? NULL : backend_cuda.open(&lib));
	if (!e)
		e = sandbox_lock(&b, soft, NULL);
	for (unsigned w = 0; w < SANDBOX_WALLS; w++)
		printf("%s %s %s\n", b.up[w] ? "up" : "missing",
			sandbox_wall_name((enum sandbox_wall)w), b.how[w]);
	if (e)
		printf("error %s\n", e->what);
	err_free(e);
	fflush(stdout);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "tsdb-replayer is started by tsdb: `tsdb replay FILE`\n");
	return 2;
}

static int start(struct rp *rp, int fd, bool boxed)
{
	static struct sandbox box;
	struct err *e = boxed ? sandbox_begin(&box, fd) : NULL;

	if (e) {
		fprintf(stderr, "tsdb-replayer: %s\n", e->what);
		err_free(e);
		return 2;
	}
	rp->sandbox = boxed ? &box : NULL;
	rp->watchdog.fd = fd;
	serve(rp, fd);
	return 0;
}

int main(int argc, char **argv)
{
	static struct rp rp;
	const char *text = getenv(REPLAYER_FD_ENV), *option = argc == 2 ? argv[1] : "";
	char *end = NULL;
	const long fd = text ? strtol(text, &end, 10) : -1;

	if (!strcmp(option, "--sandbox-report=soft") || !strcmp(option, "--sandbox-report=real"))
		return report(!strcmp(option, "--sandbox-report=soft"));
	if (!text || end == text || *end || fd < 0 || argc > 2 ||
		(*option && strcmp(option, REPLAYER_NO_SANDBOX)))
		return usage();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is the shell's */
	const int status = start(&rp, (int)fd, !*option);
	fflush(stdout); /* what kernels printed */
	/* The driver may be broken, so its clean-up does not run. */
	_exit(status);
}
