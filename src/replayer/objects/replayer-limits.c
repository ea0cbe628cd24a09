/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program set with limits of its contexts (stack, printf's buffer, the device's own heap).
 * The surprise: a driver takes some of them only before a kernel has used what they limit, and the
 * replay goes back. So the last value that the recording's driver took for such a limit is set when
 * the window is opened; all others are set as their commands come.
 */
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"

void limits_learn(struct rp *rp, const struct sbt_cmd *c)
{
	struct objects *o = &rp->objects;

	if (c->kind != SBT_CTX_LIMIT || c->u.ctx_limit.limit > INT32_MAX)
		return;
	MAKE_ROOM(o->limits, o->nlimits, o->cap_limits);
	o->limits[o->nlimits++] = (struct rlimit_set){.seq = c->seq,
		.ctx = c->ctx,
		.limit = (int)c->u.ctx_limit.limit,
		.value = c->u.ctx_limit.value};
}

static bool is_once(const struct rp *rp, int limit)
{
	for (const int *p = rp->gpu->limits_once; *p >= 0; p++)
		if (*p == limit)
			return true;
	return false;
}

static unsigned device_of(struct rp *rp, const struct rlimit_set *l)
{
	const unsigned n =
		l->ctx == SBT_NO_ID ? 0 : devices_number(rp, devices_ordinal(rp, l->ctx));

	return n < rp->devices.n ? n : 0;
}

/* Sets it in the current context. One that this device does not take is told. */
static struct err *set(struct rp *rp, const struct rlimit_set *l, uint64_t value)
{
	const struct gpu_result r = rp->gpu->context_limit(l->limit, value);

	if (r.status == GPU_FAULT)
		return rp_gpu(rp, r);
	if (r.status != GPU_OK && !l->told)
		window_note(rp, false,
			"#%llu: this device does not take %llu for limit %d; kernels that need it may differ",
			(unsigned long long)l->seq, (unsigned long long)value, l->limit);
	((struct rlimit_set *)(uintptr_t)l)->told = r.status != GPU_OK;
	return NULL;
}

/* Whether a later command sets the same limit of the same context. */
static bool is_replaced(const struct objects *o, size_t i)
{
	for (size_t k = i + 1; k < o->nlimits; k++)
		if (o->limits[k].ctx == o->limits[i].ctx && o->limits[k].limit == o->limits[i].limit)
			return true;
	return false;
}

/* All contexts of a device are one here: the largest of their values. */
static uint64_t largest(struct rp *rp, const struct rlimit_set *l)
{
	const struct objects *o = &rp->objects;
	uint64_t most = l->value;

	for (size_t i = 0; i < o->nlimits; i++)
		if (o->limits[i].limit == l->limit && !is_replaced(o, i) &&
			device_of(rp, &o->limits[i]) == device_of(rp, l) && o->limits[i].value > most)
			most = o->limits[i].value;
	return most;
}

struct err *limits_open(struct rp *rp)
{
	const struct objects *o = &rp->objects;

	for (size_t i = 0; i < o->nlimits; i++) {
		const struct rlimit_set *l = &o->limits[i];

		if (!is_once(rp, l->limit) || is_replaced(o, i))
			continue;
		TRY(devices_enter(rp, device_of(rp, l)));
		TRY(set(rp, l, largest(rp, l)));
	}
	TRY(devices_enter(rp, 0));
	return limits_at(rp, rp->first - 1);
}

struct err *limits_at(struct rp *rp, uint64_t seq)
{
	const struct objects *o = &rp->objects;

	for (size_t i = 0; i < o->nlimits && o->limits[i].seq <= seq; i++) {
		if (is_once(rp, o->limits[i].limit))
			continue;
		TRY(devices_enter(rp, device_of(rp, &o->limits[i])));
		TRY(set(rp, &o->limits[i], o->limits[i].value));
	}
	return o->nlimits ? devices_enter(rp, 0) : NULL;
}

struct err *limits_execute(struct rp *rp, const struct sbt_cmd *c)
{
	const struct objects *o = &rp->objects;

	for (size_t i = 0; i < o->nlimits; i++)
		if (o->limits[i].seq == c->seq && !is_once(rp, o->limits[i].limit))
			return set(rp, &o->limits[i], o->limits[i].value);
	return NULL;
}
