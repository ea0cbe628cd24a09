/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb's end of replayer-watch.c: access sets and races of a software GPU. Sets come in pieces of
 * about a second.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/client/device-private.h"

static struct err *broken(struct device *d, const char *what)
{
	device_bury(d);
	return err_new(
		ERR_INFERIOR, "the replayer answers with %s that are none; it was ended", what);
}

struct err *device_probes(struct device *d, const struct soft_probe *p, unsigned n)
{
	const struct replayer_none none = {0};

	return device_edit(d, REPLAYER_PROBES, &none, sizeof none, p, n * sizeof *p, !n);
}

struct err *device_probed(struct device *d, struct soft_probe_result *ret, unsigned n)
{
	const struct replayer_none none = {0};

	TRY(device_ask(d, REPLAYER_PROBED, &none, sizeof none, sizeof none));
	if (d->in.len != sizeof none + n * sizeof *ret)
		return broken(d, "counts of probes");
	memcpy(ret, d->in.data + sizeof none, n * sizeof *ret);
	for (unsigned i = 0; i < n; i++)
		if (ret[i].nkeys > SOFT_PROBE_KEYS)
			ret[i].nkeys = SOFT_PROBE_KEYS;
	return NULL;
}

struct err *device_printed(struct device *d, struct soft_print **ret, size_t *ret_n)
{
	const struct replayer_none none = {0};
	uint64_t left = UINT64_MAX; /* it has to become less, so that there is an end */
	struct replayer_printed head;

	*ret = NULL;
	*ret_n = 0;
	do {
		TRY(device_ask(d, REPLAYER_PRINTED, &none, sizeof none, sizeof head));
		memcpy(&head, d->in.data, sizeof head);
		if ((d->in.len - sizeof head) / sizeof **ret < head.n || head.more >= left) {
			free(*ret);
			*ret = NULL;
			*ret_n = 0;
			return broken(d, "printed lines");
		}
		left = head.more;
		*ret = xrealloc(*ret, (*ret_n + head.n + 1) * sizeof **ret);
		memcpy(*ret + *ret_n, d->in.data + sizeof head, head.n * sizeof **ret);
		*ret_n += head.n;
	} while (head.n && head.more);
	return NULL;
}

/* Reads one set from the reply at *at; copies its spans to align them. */
static struct err *take_set(struct device *d, size_t *at, struct access_set *ret, struct buf *copy)
{
	struct replayer_access_set head;
	size_t n = 0;

	if (d->in.len - *at < sizeof head)
		return broken(d, "access sets");
	memcpy(&head, d->in.data + *at, sizeof head);
	*at += sizeof head;
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++)
		n += head.n[k];
	/* a command that was kept back may be any before */
	if (head.seq < d->first || head.seq > d->want ||
		(d->in.len - *at) / sizeof(struct soft_span) < n)
		return broken(d, "access sets");
	buf_clear(copy);
	buf_add(copy, d->in.data + *at, n * sizeof(struct soft_span));
	*at += n * sizeof(struct soft_span);
	*ret = (struct access_set){.seq = head.seq,
		.base = head.base,
		.cut = head.cut,
		.set.inexact = head.inexact,
		.set.depends = head.depends};
	n = 0;
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++) {
		ret->set.span[k] = (const struct soft_span *)(const void *)copy->data + n;
		ret->set.n[k] = head.n[k];
		n += head.n[k];
	}
	return NULL;
}

/* from: sets of commands before it are left out. */
static struct err *take_sets(struct device *d, uint64_t from, struct buf *copy,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg)
{
	struct replayer_accessed head;
	size_t at = sizeof head;
	struct access_set a;

	memcpy(&head, d->in.data, sizeof head);
	for (uint64_t i = 0; i < head.n; i++) {
		TRY(take_set(d, &at, &a, copy));
		if (a.seq >= from)
			TRY(each(arg, &a));
	}
	return NULL;
}

/* Asks with request ACCESSES or CHANGED; from: as in take_sets(). */
static struct err *ask_sets(struct device *d, uint32_t type, bool by_base, uint64_t from,
	uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg)
{
	struct buf copy = BUF_INIT;
	struct err *e = NULL;

	if (first < d->first || last > d->last || first > last)
		return err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " to #%" PRIu64 " is outside the window #%" PRIu64
			" to #%" PRIu64 " that can be executed",
			first, last, d->first, d->last);
	TRY(device_seek(d, first - 1));
	while (!e && d->want < last) {
		const struct replayer_accesses a = {.to = last, .max = max, .by_base = by_base};
		const uint64_t was = d->want;

		if (d->interrupt && *d->interrupt)
			e = err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, d->want);
		else if (d->budget && patience_over(d->budget))
			e = err_new(ERR_LIMIT, "the budget is spent");
		if (!e)
			e = device_ask_run(
				d, type, &a, sizeof a, sizeof(struct replayer_accessed), last);
		if (!e)
			e = d->want > was ? take_sets(d, from, &copy, each, arg)
					  : broken(d, "access sets");
	}
	buf_free(&copy);
	return e;
}

void device_budget(struct device *d, struct patience *budget, uint64_t ns)
{
	d->budget = budget;
	if (budget)
		patience_begin(budget, d->pid, ns);
}

struct err *device_access_sets(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg)
{
	return ask_sets(d, REPLAYER_ACCESSES, false, first, first, last, max, each, arg);
}

struct err *device_access_sets_all(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg)
{
	return ask_sets(d, REPLAYER_ACCESSES, false, 0, first, last, max, each, arg);
}

struct err *device_sets_by_base(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg)
{
	return ask_sets(d, REPLAYER_ACCESSES, true, first, first, last, max, each, arg);
}

struct err *device_addressing(struct device *d, uint64_t kernel, struct soft_addressing *ret)
{
	const struct replayer_kernel_id id = {kernel};
	struct replayer_addressing r;

	*ret = (struct soft_addressing){0};
	TRY(device_ask(d, REPLAYER_ADDRESSING, &id, sizeof id, sizeof r));
	memcpy(&r, d->in.data, sizeof r);
	*ret = r.a;
	ret->n = ret->n < SOFT_SOURCES ? ret->n : SOFT_SOURCES;
	return NULL;
}

struct err *device_changed_sets(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg)
{
	const struct replayer_none none = {0};

	TRY(ask_sets(d, REPLAYER_CHANGED, false, first, first, last, max, each, arg));
	return device_ask(d, REPLAYER_CHECK_END, &none, sizeof none, sizeof(struct replayer_done));
}

struct err *device_races(struct device *d, struct device_races *ret)
{
	const struct replayer_none none = {0};
	uint64_t left = UINT64_MAX; /* it has to become less, so that there is an end */
	struct replayer_races head;

	*ret = (struct device_races){0};
	do {
		TRY(device_ask(d, REPLAYER_RACES, &none, sizeof none, sizeof head));
		memcpy(&head, d->in.data, sizeof head);
		if ((d->in.len - sizeof head) / sizeof *ret->race < head.n || head.more >= left) {
			free(ret->race);
			*ret = (struct device_races){0};
			return broken(d, "races");
		}
		left = head.more;
		ret->race = xrealloc(ret->race, (ret->n + head.n + 1) * sizeof *ret->race);
		memcpy(ret->race + ret->n, d->in.data + sizeof head, head.n * sizeof *ret->race);
		ret->n += head.n;
		ret->doubts += head.doubts;
		head.doubt[sizeof head.doubt - 1] = '\0';
		if (head.doubts)
			memcpy(ret->doubt, head.doubt, sizeof ret->doubt);
	} while (head.n && head.more);
	return NULL;
}
