/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb's end of the microscope. What comes from the replayer is checked for its size and its
 * strings get an end; the rest are numbers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/device-kernel.h"
#include "replay/client/device-private.h"

#define SLICE_MS 100 /* between looks at Ctrl-C */

static struct err *broken(struct device *d)
{
	device_bury(d);
	return err_new(ERR_INFERIOR,
		"the replayer answers what is no answer about a launch; it was ended");
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
}

/* The stop in the reply. */
static void take_stop(struct device *d)
{
	struct soft_stop *t = &d->stop;

	memcpy(t, d->in.data, sizeof *t);
	END(t->kernel);
	END(t->function);
	END(t->file);
	END(t->text);
	END(t->sentence);
	END(t->change.file);
	END(t->change.text);
	if (t->change.size > SOFT_BYTES)
		t->change.size = SOFT_BYTES;
	clean(t->kernel);
	clean(t->function);
	clean(t->file);
	clean(t->text);
	clean(t->sentence);
	clean(t->change.file);
	clean(t->change.text);
}

static struct err *call(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n, size_t reply)
{
	TRY(device_post(d, type, body, n, tail, tail_n));
	return device_reply(d, reply);
}

/* After a refusal the launch stays as it is; after the process has died it is left. */
static struct err *refused(struct device *d, struct err *e)
{
	if (!d->pid) {
		d->inside = 0;
		d->want = d->outside;
	}
	return e;
}

#define ASKING(d, expr)                                                                            \
	do {                                                                                       \
		struct err *ask_err_ = (expr);                                                     \
		if (ask_err_)                                                                      \
			return refused((d), ask_err_);                                             \
	} while (0)

static struct err *need(struct device *d)
{
	if (!d->inside)
		return err_new(ERR_STATE, "no launch is under the microscope");
	d->culprit = d->culprit_first = 0;
	d->error = 0;
	if (!d->pid) /* the process died during another request */
		return refused(
			d, err_cure(err_new(ERR_STATE,
					    "the replayer was ended, and the launch with it"),
				   "\"stepi\" begins it again"));
	ASKING(d, device_alive(d));
	return NULL;
}

/* Sets the device's position: behind the launch if it has ended without a fault, else before it. */
static void settle(struct device *d)
{
	const bool over = d->stop.state == SOFT_ENDED && d->stop.why != SOFT_WHY_FAULT &&
			  d->stop.changed != SOFT_CHANGED;

	d->pos = d->done = over ? d->inside : d->inside - 1;
	d->want = over ? d->inside : d->outside;
	d->astray = !over;
}

struct err *device_kernel(struct device *d, uint64_t seq, const struct soft_stop **ret)
{
	const struct replayer_kernel k = {seq};
	struct err *e;

	*ret = NULL;
	TRY(device_ready(d));
	d->outside = d->want;
	d->astray = true;
	d->pos = seq;
	e = call(d, REPLAYER_KERNEL, &k, sizeof k, NULL, 0, sizeof d->stop);
	if (e && d->error == REPLAYER_E_AGAIN) {
		err_free(e);
		TRY(device_ready(d));
		d->astray = true;
		d->pos = seq;
		e = call(d, REPLAYER_KERNEL, &k, sizeof k, NULL, 0, sizeof d->stop);
	}
	if (e) {
		if (!d->pid)
			return device_failed(d, e);
		d->pos = d->done = seq - 1;
		return e;
	}
	d->inside = seq;
	take_stop(d);
	settle(d);
	*ret = &d->stop;
	return NULL;
}

const struct soft_stop *device_kernel_stop(const struct device *d)
{
	return d->inside ? &d->stop : NULL;
}

struct err *device_kernel_go(
	struct device *d, enum soft_how how, uint64_t n, const struct soft_stop **ret)
{
	struct soft_go g = {.how = how, .ms = SLICE_MS, .n = n};

	*ret = NULL;
	TRY(need(d));
	do {
		ASKING(d, call(d, REPLAYER_KERNEL_GO, &g, sizeof g, NULL, 0, sizeof d->stop));
		take_stop(d);
		settle(d);
		g.how = SOFT_ON;
	} while (d->stop.state == SOFT_BUSY && !(d->interrupt && *d->interrupt));
	*ret = &d->stop;
	return NULL;
}

struct err *device_kernel_focus(struct device *d, const uint32_t block[3], const uint32_t thread[3],
	const struct soft_stop **ret)
{
	struct replayer_kernel_focus f;

	*ret = NULL;
	TRY(need(d));
	memcpy(f.block, block, sizeof f.block);
	memcpy(f.thread, thread, sizeof f.thread);
	ASKING(d, call(d, REPLAYER_KERNEL_FOCUS, &f, sizeof f, NULL, 0, sizeof d->stop));
	take_stop(d);
	settle(d);
	*ret = &d->stop;
	return NULL;
}

struct err *device_kernel_points(struct device *d, struct soft_point *p, unsigned n)
{
	const struct replayer_none none = {0};

	TRY(need(d));
	if (n > SOFT_POINTS_MAX)
		return err_cure(
			err_new(ERR_LIMIT, "a launch takes at most %d breakpoints and watchpoints",
				(int)SOFT_POINTS_MAX),
			"Delete or disable some");
	ASKING(d, call(d, REPLAYER_KERNEL_POINTS, &none, sizeof none, p, n * sizeof *p,
			  sizeof none + n * sizeof *p));
	for (unsigned i = 0; i < n; i++) {
		struct soft_point q;

		memcpy(&q, d->in.data + sizeof none + i * sizeof q, sizeof q);
		p[i].line = q.line;
		p[i].size = q.size;
	}
	return NULL;
}

struct err *device_kernel_put(
	struct device *d, const struct soft_put *p, const void *bytes, size_t n)
{
	struct soft_put one = *p;

	TRY(need(d));
	for (size_t at = 0; at < n; at += one.size) {
		one.size = n - at < sizeof one.bytes ? (uint32_t)(n - at) : sizeof one.bytes;
		one.addr = p->addr + at;
		memcpy(one.bytes, (const uint8_t *)bytes + at, one.size);
		ASKING(d, call(d, REPLAYER_KERNEL_PUT, &one, sizeof one, NULL, 0, sizeof d->stop));
		take_stop(d);
		settle(d);
	}
	return NULL;
}

/* Makes every string in the records end with NUL. */
static void end_strings(uint32_t what, uint8_t *r)
{
	struct soft_warp *w = (void *)r;
	struct soft_value *v = (void *)r;
	struct soft_line *l = (void *)r;
	struct soft_function *f = (void *)r;
	struct soft_frame *frame = (void *)r;

	switch (what) {
	case SOFT_ASK_WARPS:
		END(w->text);
		clean(w->text);
		break;
	case SOFT_ASK_REGISTERS:
	case SOFT_ASK_VALUE:
		END(v->name);
		END(v->declared);
		clean(v->name);
		clean(v->declared);
		break;
	case SOFT_ASK_LINES:
		END(l->text);
		END(l->file);
		clean(l->text);
		clean(l->file);
		break;
	case SOFT_ASK_FRAMES:
		END(frame->function);
		END(frame->file);
		clean(frame->function);
		clean(frame->file);
		break;
	case SOFT_ASK_FUNCTIONS:
		END(f->name);
		clean(f->name);
		break;
	default:
		break;
	}
}

struct err *device_kernel_ask(
	struct device *d, const struct soft_ask *q, size_t size, void **ret, size_t *ret_n)
{
	const size_t head = sizeof(struct replayer_none);

	*ret = NULL;
	*ret_n = 0;
	TRY(need(d));
	ASKING(d, call(d, REPLAYER_KERNEL_ASK, q, sizeof *q, NULL, 0, head));
	const size_t n = d->in.len - head;
	if (n % size)
		return broken(d);
	*ret = xmalloc(n + 1);
	memcpy(*ret, d->in.data + head, n);
	*ret_n = n / size;
	for (size_t i = 0; i < *ret_n; i++)
		end_strings(q->what, (uint8_t *)*ret + i * size);
	return NULL;
}
