/* SPDX-License-Identifier: Apache-2.0
 *
 * What devices, streams and the host did with their time; kernels, copies and memory: the figures
 * of tsdb stats as facts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/facts/fact-list.h"
#include "sbt/fields.h"

static void put_device(struct fact_maker *m, const struct stats_device *d)
{
	const uint64_t all = d->busy_ns + d->idle_ns;

	fact_add(m, FACT_TIME,
		"Device %u was busy for %.3f of %.3f ms (%.1f %%): kernels %.3f, copies %.3f, both at once %.3f; it was idle for %.3f ms, %.3f of them because the host was late.",
		d->device, fact_ms(d->busy_ns), fact_ms(all), fact_share(d->busy_ns, all),
		fact_ms(d->kernel_ns), fact_ms(d->copy_ns), fact_ms(d->overlap_ns),
		fact_ms(d->idle_ns), fact_ms(d->late_ns));
	fact_value(m, "device", d->device);
	fact_value(m, "busy_ns", d->busy_ns);
	fact_value(m, "idle_ns", d->idle_ns);
	fact_value(m, "kernel_ns", d->kernel_ns);
	fact_value(m, "copy_ns", d->copy_ns);
	fact_value(m, "overlap_ns", d->overlap_ns);
	fact_value(m, "late_ns", d->late_ns);
}

static void put_stream(struct fact_maker *m, const struct stats_stream *s)
{
	const uint64_t all = s->busy_ns + s->event_ns + s->host_ns + s->starting_ns + s->empty_ns;

	if (!s->timed)
		return;
	fact_add(m, FACT_TIME,
		"Stream %u on device %u ran work for %.3f ms (%.1f %%), waited for other streams for %.3f, had nothing from the host for %.3f, was starting for %.3f and empty for %.3f.",
		s->id, s->device, fact_ms(s->busy_ns), fact_share(s->busy_ns, all),
		fact_ms(s->event_ns), fact_ms(s->host_ns), fact_ms(s->starting_ns),
		fact_ms(s->empty_ns));
	fact_value(m, "stream", s->id);
	fact_value(m, "busy_ns", s->busy_ns);
	fact_value(m, "event_ns", s->event_ns);
	fact_value(m, "host_ns", s->host_ns);
	fact_value(m, "starting_ns", s->starting_ns);
	fact_value(m, "empty_ns", s->empty_ns);
}

static void put_latency(struct fact_maker *m, const struct stats *s)
{
	if (s->latency.n) {
		fact_add(m, FACT_TIME,
			"A launch on a stream that had nothing else to do began %.1f us after its call in the median, %.1f us at most.",
			(double)s->latency.half / 1e3, (double)s->latency.most / 1e3);
		fact_value(m, "median_ns", s->latency.half);
		fact_value(m, "most_ns", s->latency.most);
	}
	if (s->waits.n) {
		fact_add(m, FACT_TIME,
			"The host waited %" PRIu64 " time%s, %.3f ms in all, %.3f ms at most.",
			s->waits.n, FACT_S(s->waits.n), fact_ms(s->waits.sum),
			fact_ms(s->waits.most));
		fact_value(m, "waits", s->waits.n);
		fact_value(m, "sum_ns", s->waits.sum);
		fact_value(m, "most_ns", s->waits.most);
	}
}

static void put_blame(struct fact_maker *m, const struct stats_blame *b)
{
	fact_add(m, FACT_TIME,
		"A device had nothing to run for %.3f ms while the host was on its way to %" PRIu64
		" call%s, the first #%" PRIu64 ".",
		fact_ms(b->idle_ns), b->calls, FACT_S(b->calls), b->first_seq);
	fact_seq(m, b->first_seq);
	fact_value(m, "idle_ns", b->idle_ns);
	fact_value(m, "calls", b->calls);
	fact_place(m, b->stack);
}

void facts_time(struct fact_maker *m)
{
	const struct stats *s = m->from->stats;

	if (!s)
		return;
	if (s->known.times && !s->known.order)
		fact_add(m, FACT_MISSING,
			"Work with GPU times came too late for one pass: how busy the devices were is not added up.");
	for (size_t i = 0; s->known.times && s->known.order && i < s->ndevices; i++)
		put_device(m, &s->devices[i]);
	for (size_t i = 0; s->known.times && i < s->nstreams && i < 64; i++)
		put_stream(m, &s->streams[i]);
	put_latency(m, s);
	for (size_t i = 0; i < s->nblame && i < FACTS_TOP; i++)
		put_blame(m, &s->blame[i]);
}

/* --- work --- */

static void put_kernel(struct fact_maker *m, const struct summary_row *k, uint64_t all_ns)
{
	const char *name = k->name ? m->from->kernel(m->from->arg, k->name) : "not known";

	if (k->timed)
		fact_add(m, FACT_WORK,
			"%s: %" PRIu64
			" time%s, %.3f ms (%.1f %%), the longest %.3f; first #%" PRIu64 ".",
			name, k->count, FACT_S(k->count), fact_ms(k->time_ns),
			fact_share(k->time_ns, all_ns), fact_ms(k->longest_ns), k->first_seq);
	else
		fact_add(m, FACT_WORK, "%s: %" PRIu64 " time%s; first #%" PRIu64 ".", name,
			k->count, FACT_S(k->count), k->first_seq);
	fact_seq(m, k->first_seq);
	fact_value(m, "count", k->count);
	fact_value(m, "gpu_ns", k->time_ns);
	fact_value(m, "bytes", k->bytes);
}

static void put_copies(struct fact_maker *m, const struct stats_copies *c)
{
	const char *dir = sbt_enum_name(SBT_T_ENUM_COPY, c->dir);
	char *what, *speed;

	if (!c->count)
		return;
	what = dir ? xasprintf("cop%s %s", c->count == 1 ? "y" : "ies", dir)
		   : xasprintf("fill%s", FACT_S(c->count));
	speed = c->time_ns ? xasprintf(" in %.3f ms, %.2f GB/s", fact_ms(c->time_ns),
				     (double)c->timed_bytes / (double)c->time_ns)
			   : xstrdup("");
	fact_add(m, FACT_WORK, "%" PRIu64 " %s: %" PRIu64 " byte%s%s.", c->count, what, c->bytes,
		FACT_S(c->bytes), speed);
	free(what);
	free(speed);
	fact_seq(m, c->fastest_seq);
	fact_value(m, "count", c->count);
	fact_value(m, "bytes", c->bytes);
	fact_value(m, "gpu_ns", c->time_ns);
}

static void put_memory(struct fact_maker *m, const struct stats_device *d)
{
	if (!d->allocated_most_seq)
		return;
	fact_add(m, FACT_WORK,
		"Device %u had %" PRIu64 " byte%s allocated at most, after #%" PRIu64
		", and %" PRIu64 " at the end.",
		d->device, d->allocated_most, FACT_S(d->allocated_most), d->allocated_most_seq,
		d->allocated_end);
	fact_seq(m, d->allocated_most_seq);
	fact_value(m, "most_bytes", d->allocated_most);
	fact_value(m, "end_bytes", d->allocated_end);
	fact_place(m, d->allocated_stack);
}

/* Those are said by direction, see put_copies(). */
static bool is_copy(const struct summary_row *k)
{
	return k->id == SBT_NO_ID && k->name &&
	       (!strncmp(k->name, "copy ", 5) || !strcmp(k->name, "fill"));
}

void facts_work(struct fact_maker *m)
{
	const struct stats *s = m->from->stats;
	const struct summary_rows *k = s ? &s->sums.kernels : NULL;
	size_t n = 0;

	if (!s)
		return;
	for (size_t i = 0; i < k->n; i++) {
		if (is_copy(&k->v[i]))
			continue;
		if (n++ < FACTS_TOP)
			put_kernel(m, &k->v[i], s->sums.all.time_ns);
	}
	if (n > FACTS_TOP)
		fact_add(m, FACT_WORK, "%zu more kernel%s: tsdb stats --top 0.", n - FACTS_TOP,
			FACT_S(n - FACTS_TOP));
	for (size_t i = 0; i < s->ncopies; i++)
		put_copies(m, &s->copies[i]);
	for (size_t i = 0; i < s->ndevices; i++)
		put_memory(m, &s->devices[i]);
}
