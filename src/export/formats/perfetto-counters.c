/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of each device: bytes that are allocated, at each change; and, in windows of time, how
 * much of it something ran, the most commands that were submitted and not ended, and bytes a second
 * that copies and fills moved. A trace's length is not known in one pass, so windows begin small,
 * and are twice as long whenever WINDOWS of them are over: their number grows with the logarithm of
 * the time.
 *
 * What begins and ends on the device is sorted by a heap, which holds what is to come: work that is
 * submitted later does not begin earlier than it is submitted.
 */
#include <stdlib.h>
#include <string.h>
#include "export/formats/perfetto-out.h"

enum { WINDOWS = 4096, DEVICES_MAX = 256, HEAP_MAX = 1 << 20 };
#define FIRST_WINDOW UINT64_C(10000) /* ns */

/* Work that begins or ends. */
struct point {
	uint64_t time, rate; /* rate: bytes a second */
	bool ends;
};
struct perfetto_device {
	struct point *heap; /* the earliest first */
	size_t n, cap;
	uint64_t origin, start, window; /* the window that is open; window 0: no work so far */
	uint64_t now;
	uint64_t queue, running, rate; /* now */
	uint64_t most, busy_ns;	       /* in the window */
	double bytes;		       /* in the window */
	uint64_t told_queue;	       /* what was written last */
	double told_busy, told_rate;
	bool named, memory_named;
};

/* --- writing --- */

static const char *const names[] = {"utilisation, %", "commands submitted",
	"copies and fills, bytes per second", "bytes allocated"};
static const enum perfetto_track tracks[] = {
	TRACK_OF_BUSY, TRACK_OF_DEPTH, TRACK_OF_RATE, TRACK_OF_MEMORY};
enum counter { BUSY, DEPTH, RATE, MEMORY };
static const enum perfetto_unit units[] = {UNIT_NONE, UNIT_COUNT, UNIT_NONE, UNIT_BYTES};

static void name_counter(struct perfetto *p, uint32_t device, enum counter which)
{
	char name[64];

	snprintf(name, sizeof name, "device %u: %s", device, names[which]);
	perfetto_name_counter(p, perfetto_track(p, tracks[which], device), name, units[which]);
}

static void put_integer(
	struct perfetto *p, uint32_t device, enum counter which, uint64_t time, uint64_t v)
{
	struct perfetto_packet k =
		perfetto_event(p, time, TYPE_COUNTER, perfetto_track(p, tracks[which], device));

	pb_u64(&k.w, EVENT_COUNTER, v);
	perfetto_event_close(p, &k);
}

static void put_real(
	struct perfetto *p, uint32_t device, enum counter which, uint64_t time, double v)
{
	struct perfetto_packet k =
		perfetto_event(p, time, TYPE_COUNTER, perfetto_track(p, tracks[which], device));
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	pb_fixed64(&k.w, EVENT_REAL, bits);
	perfetto_event_close(p, &k);
}

/* --- windows --- */

/* Writes what has changed since the window before. */
static void put_window(struct perfetto *p, uint32_t id, struct perfetto_device *d)
{
	const double busy = 100.0 * (double)d->busy_ns / (double)d->window,
		     rate = d->bytes * 1e9 / (double)d->window;

	if (busy != d->told_busy)
		put_real(p, id, BUSY, d->start, d->told_busy = busy);
	if (d->most != d->told_queue)
		put_integer(p, id, DEPTH, d->start, d->told_queue = d->most);
	if (rate != d->told_rate)
		put_real(p, id, RATE, d->start, d->told_rate = rate);
}

static void open_window(struct perfetto_device *d, uint64_t start)
{
	d->start = start;
	if ((start - d->origin) / d->window >= WINDOWS &&
		(start - d->origin) % (2 * d->window) == 0 && d->window < UINT64_MAX / 4)
		d->window *= 2;
	d->busy_ns = 0;
	d->bytes = 0;
	d->most = d->queue;
}

static void pass(struct perfetto_device *d, uint64_t until)
{
	const uint64_t ns = until - d->now;

	if (d->running)
		d->busy_ns += ns;
	d->bytes += (double)d->rate * (double)ns / 1e9;
	d->now = until;
}

/* Goes on to a time, which is not before now. */
static void advance(struct perfetto *p, uint32_t id, struct perfetto_device *d, uint64_t time)
{
	while (time - d->start >= d->window) {
		pass(d, d->start + d->window);
		put_window(p, id, d);
		open_window(d, d->now);
		if (!d->running && !d->queue && time - d->start >= 2 * d->window) {
			/* nothing happens until then: one window of it says so */
			put_window(p, id, d);
			d->now = time - (time - d->origin) % d->window;
			open_window(d, d->now);
		}
	}
	pass(d, time);
}

/* --- the heap --- */

/* Of two at one time what ends is first, so that work that follows other is not beside it. */
static bool earlier(const struct point *a, const struct point *b)
{
	return a->time != b->time ? a->time < b->time : a->ends && !b->ends;
}

static void push(struct perfetto_device *d, struct point x)
{
	size_t i = d->n;

	MAKE_ROOM(d->heap, d->n, d->cap);
	d->n++;
	for (; i && earlier(&x, &d->heap[(i - 1) / 2]); i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = x;
}

static struct point pop(struct perfetto_device *d)
{
	const struct point first = d->heap[0], last = d->heap[--d->n];
	size_t i = 0;

	for (;;) {
		size_t k = 2 * i + 1;

		if (k + 1 < d->n && earlier(&d->heap[k + 1], &d->heap[k]))
			k++;
		if (k >= d->n || !earlier(&d->heap[k], &last))
			break;
		d->heap[i] = d->heap[k];
		i = k;
	}
	d->heap[i] = last;
	return first;
}

static void take_first(struct perfetto *p, uint32_t id, struct perfetto_device *d)
{
	const struct point x = pop(d);

	advance(p, id, d, x.time > d->now ? x.time : d->now);
	if (!x.ends) {
		d->running++;
		d->rate += x.rate;
		return;
	}
	d->running--;
	d->queue--;
	d->rate -= x.rate;
}

/* --- what happens --- */

static struct perfetto_device *device_of(struct perfetto *p, uint32_t id)
{
	if (id >= DEVICES_MAX)
		return NULL;
	if (!p->devices)
		p->devices = xcalloc(DEVICES_MAX, sizeof *p->devices);
	return &p->devices[id];
}

static void take_work(struct perfetto *p, const struct export_event *ev, struct perfetto_device *d)
{
	const uint64_t start = ev->c->gpu_start_ns, end = ev->c->gpu_end_ns,
		       submitted =
			       ev->c->host_ns && ev->c->host_ns < start ? ev->c->host_ns : start,
		       rate = ev->bytes && ev->gpu_ns
				      ? (uint64_t)((double)ev->bytes * 1e9 / (double)ev->gpu_ns)
				      : 0;

	if (!d->window) {
		d->origin = d->start = d->now = submitted;
		d->window = FIRST_WINDOW;
		d->told_busy = d->told_rate = -1; /* the first window is written */
		d->told_queue = UINT64_MAX;
	}
	while (d->n && (d->heap[0].time <= submitted || d->n >= HEAP_MAX))
		take_first(p, ev->device, d);
	advance(p, ev->device, d, submitted > d->now ? submitted : d->now);
	if (++d->queue > d->most)
		d->most = d->queue;
	push(d, (struct point){start, rate, false});
	push(d, (struct point){end, rate, true});
}

static void take_memory(struct perfetto *p, const struct export_event *ev)
{
	for (unsigned i = 0; i < ev->nmemory; i++) {
		const struct export_memory *m = &ev->memory[i];
		struct perfetto_device *d = device_of(p, m->device);

		if (!d)
			continue;
		if (!d->memory_named)
			name_counter(p, m->device, MEMORY);
		d->memory_named = true;
		put_integer(p, m->device, MEMORY, ev->c->host_ns, m->bytes);
	}
}

void perfetto_counters_put(struct perfetto *p, const struct export_event *ev)
{
	struct perfetto_device *d;

	if (ev->nmemory && ev->c->host_ns)
		take_memory(p, ev);
	if (!ev->timed || ev->what > EXPORT_FILL)
		return;
	d = device_of(p, ev->device);
	if (!d)
		return;
	for (enum counter i = BUSY; !d->named && i < MEMORY; i++)
		name_counter(p, ev->device, i);
	d->named = true;
	take_work(p, ev, d);
}

void perfetto_counters_end(struct perfetto *p)
{
	for (uint32_t i = 0; p->devices && i < DEVICES_MAX; i++) {
		struct perfetto_device *d = &p->devices[i];

		while (d->n)
			take_first(p, i, d);
		if (d->window) {
			advance(p, i, d, d->start + d->window);
			put_window(p, i, d); /* after the last: nothing */
		}
		free(d->heap);
	}
	free(p->devices);
	p->devices = NULL;
}
