/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program set with limits of its contexts (stack, printf's buffer, the device's own heap).
 * The surprise: a driver takes some of them only before a kernel has used what they limit, and the
 * replay goes back. So the last value that the recording's driver took for such a limit is set when
 * the window is opened; all others are set as their commands come.
 */
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"

static void add(struct limits *l, struct context_limit_set set)
{
	MAKE_ROOM(l->sets, l->nsets, l->cap_sets);
	l->sets[l->nsets++] = set;
}

void limits_from_state(struct rp *rp, const struct state *s)
{
	struct state_limit x;

	for (unsigned i = 0; state_limit(s, i, &x); i++)
		add(&rp->objects.limits,
			(struct context_limit_set){x.seq, x.ctx, x.value, x.limit});
}

void limits_learn(struct rp *rp, const struct sbt_cmd *c)
{
	struct limits *l = &rp->objects.limits;

	if (c->kind != SBT_CTX_LIMIT)
		return;
	if (c->u.ctx_limit.limit >= LIMITS_MAX) {
		if (!l->unknown++) {
			l->unknown_seq = c->seq;
			l->unknown_limit = c->u.ctx_limit.limit;
		}
		return;
	}
	add(l, (struct context_limit_set){
		       c->seq, c->ctx, c->u.ctx_limit.limit_value, (unsigned)c->u.ctx_limit.limit});
}

static bool is_once(const struct rp *rp, unsigned limit)
{
	for (const int *p = rp->gpu->limits_once; p && *p >= 0; p++)
		if ((unsigned)*p == limit)
			return true;
	return false;
}

static unsigned device_of(struct rp *rp, uint64_t ctx)
{
	return ctx == SBT_NO_ID ? 0 : devices_number(rp, devices_ordinal(rp, ctx));
}

static void note_refused(struct rp *rp, const struct context_limit_set *s, struct gpu_result r)
{
	const char *name = rp->gpu->result_name(r.code);

	window_note(rp, true,
		"#%llu: this device does not take %llu for limit %u (%s); kernels that need it may differ",
		(unsigned long long)s->seq, (unsigned long long)s->value, s->limit,
		name ? name : "unknown error");
}

/* Sets it in device dev's context. The user gets to know once that a device did not take one. */
static struct err *set(struct rp *rp, unsigned dev, const struct context_limit_set *s)
{
	struct context_limit *l = &rp->objects.limits.of[dev][s->limit];

	TRY(devices_enter(rp, dev));
	const struct gpu_result r = rp->gpu->context_limit((int)s->limit, s->value);
	if (r.status == GPU_FAULT)
		return rp_gpu(rp, r);
	if (r.status != GPU_OK && !l->told)
		note_refused(rp, s, r);
	l->told |= r.status != GPU_OK;
	return NULL;
}

/* Reads what a limit is before the replay sets it. One that cannot be read is set once. */
static struct err *learn_was(struct rp *rp, unsigned dev, const struct context_limit_set *s)
{
	struct context_limit *l = &rp->objects.limits.of[dev][s->limit];

	TRY(devices_enter(rp, dev));
	const struct gpu_result r = rp->gpu->context_limit_is((int)s->limit, &l->was);
	if (r.status == GPU_FAULT)
		return rp_gpu(rp, r);
	l->changes = r.status == GPU_OK;
	return l->changes ? NULL : set(rp, dev, s);
}

/* The last value of each of a device's limits; all its contexts are one here. */
struct last {
	const struct context_limit_set *of[32][LIMITS_MAX];
};

static void last_until(struct rp *rp, uint64_t seq, struct last *ret)
{
	const struct limits *l = &rp->objects.limits;

	*ret = (struct last){0};
	for (size_t i = 0; i < l->nsets && l->sets[i].seq <= seq; i++)
		ret->of[device_of(rp, l->sets[i].ctx)][l->sets[i].limit] = &l->sets[i];
}

/* A device has one context here: where the program had several, one may have set less. */
static void most_of(struct rp *rp, struct context_limit_set *s)
{
	const struct limits *l = &rp->objects.limits;
	const unsigned dev = device_of(rp, s->ctx);

	for (size_t i = 0; i < l->nsets; i++)
		if (l->sets[i].limit == s->limit && l->sets[i].ctx != s->ctx &&
			l->sets[i].value > s->value && device_of(rp, l->sets[i].ctx) == dev)
			s->value = l->sets[i].value;
}

static struct err *open_one(struct rp *rp, unsigned dev, const struct context_limit_set *s)
{
	struct context_limit_set most = *s;

	if (!is_once(rp, s->limit))
		return learn_was(rp, dev, s);
	most_of(rp, &most);
	return set(rp, dev, &most);
}

static void note_unknown(struct rp *rp)
{
	const struct limits *l = &rp->objects.limits;

	if (l->unknown)
		window_note(rp, true,
			"#%llu: limit %llu is none that tsdb knows; it is not set, and kernels that need it may differ",
			(unsigned long long)l->unknown_seq, (unsigned long long)l->unknown_limit);
	if (l->nsets && !rp->gpu->context_limit)
		window_note(rp, true,
			"#%llu: devices have no limits here; kernels that need them may differ",
			(unsigned long long)l->sets[0].seq);
}

/* Sets each value that will be set later, once: notes reach the user now or never. */
static struct err *try_all(struct rp *rp)
{
	const struct limits *l = &rp->objects.limits;

	for (size_t i = 0; i < l->nsets; i++) {
		const unsigned dev = device_of(rp, l->sets[i].ctx);

		if (l->of[dev][l->sets[i].limit].changes)
			TRY(set(rp, dev, &l->sets[i]));
	}
	return NULL;
}

struct err *limits_open(struct rp *rp)
{
	const struct limits *l = &rp->objects.limits;
	struct last last;

	note_unknown(rp);
	if (!l->nsets || !rp->gpu->context_limit)
		return NULL;
	last_until(rp, UINT64_MAX, &last);
	for (unsigned dev = 0; dev < 32; dev++)
		for (unsigned i = 0; i < LIMITS_MAX; i++)
			if (last.of[dev][i])
				TRY(open_one(rp, dev, last.of[dev][i]));
	TRY(try_all(rp));
	return devices_enter(rp, 0);
}

struct err *limits_at(struct rp *rp, uint64_t seq)
{
	const struct limits *l = &rp->objects.limits;
	struct last last;

	if (!l->nsets || !rp->gpu->context_limit)
		return NULL;
	last_until(rp, seq, &last);
	for (unsigned dev = 0; dev < 32; dev++)
		for (unsigned i = 0; i < LIMITS_MAX; i++) {
			const struct context_limit_set *s = last.of[dev][i];
			const struct context_limit_set was = {
				.limit = i, .value = l->of[dev][i].was, .seq = seq};

			if (l->of[dev][i].changes)
				TRY(set(rp, dev, s ? s : &was));
		}
	return devices_enter(rp, 0);
}

struct err *limits_execute(struct rp *rp, const struct sbt_cmd *c)
{
	const struct context_limit_set s = {.seq = c->seq,
		.limit = (unsigned)c->u.ctx_limit.limit,
		.value = c->u.ctx_limit.limit_value};
	const unsigned dev = device_of(rp, c->ctx), now = rp->devices.now;

	if (c->u.ctx_limit.limit >= LIMITS_MAX || !rp->objects.limits.of[dev][s.limit].changes)
		return NULL;
	TRY(set(rp, dev, &s));
	return devices_enter(rp, now);
}
