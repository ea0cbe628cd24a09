/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs of a window. Commands run in their own device's context. The replayer's own work
 * (contents, checkpoints, hashes) runs at home, whose kernels and copies reach all memory: each
 * mapping is opened to all of the window's devices. Surprise: an event can be recorded only on
 * streams of the device that it was made on, so when another device records it, it is made anew.
 * Waits for the old event go on.
 */
#include "replayer/execute/replayer-fail.h"

#include <stdlib.h>

unsigned devices_use(struct rp *rp, uint64_t ordinal)
{
	struct devices *v = &rp->devices;

	for (unsigned i = 0; i < v->n; i++)
		if (v->d[i].ordinal == ordinal)
			return i;
	if (v->n == DEVICES_MAX) {
		v->too_many = true;
		return 0;
	}
	v->d[v->n] = (struct rdevice){.ordinal = ordinal};
	return v->n++;
}

void devices_learn_ctx(struct rp *rp, uint64_t ctx, uint64_t ordinal)
{
	if (ctx < SBT_NO_ID)
		id_map_put(&rp->devices.of_ctx, (uint32_t)ctx,
			ordinal < UINT32_MAX ? (uint32_t)ordinal : 0);
}

unsigned devices_ordinal(const struct rp *rp, uint64_t ctx)
{
	const uint32_t ordinal =
		ctx < SBT_NO_ID ? id_map_get(&rp->devices.of_ctx, (uint32_t)ctx) : UINT32_MAX;

	return ordinal < 32 ? ordinal : 0;
}

unsigned devices_number(const struct rp *rp, unsigned ordinal)
{
	for (unsigned i = 0; i < rp->devices.n; i++)
		if (rp->devices.d[i].ordinal == ordinal)
			return i;
	return 0;
}

/* --- opening --- */

static void name_all(const struct devices *v, struct buf *b)
{
	for (unsigned i = 0; i < v->n; i++)
		buf_printf(b, "%s%llu", i ? i + 1 < v->n ? ", " : " and " : "",
			(unsigned long long)v->d[i].ordinal);
}

static struct err *too_few(struct rp *rp, int have)
{
	struct buf names = BUF_INIT;
	struct err *e;

	name_all(&rp->devices, &names);
	e = rp_fail(rp, REPLAYER_E_DEVICE, 0,
		"the window uses %u GPUs (devices %s of the recording); this machine shows %d",
		rp->devices.n, buf_cstr(&names), have);
	buf_free(&names);
	return err_cure(e,
		"replay it where there are %u; CUDA_VISIBLE_DEVICES may hide some; `--on none` replays the state without executing anything",
		rp->devices.n);
}

/* Takes the recorded ordinals if the machine has them all, else its first devices. */
struct err *devices_choose(struct rp *rp)
{
	struct devices *v = &rp->devices;
	bool same = true;
	int have = 0;

	GPU(rp, device_count, &have);
	if (!have)
		return rp_fail(rp, REPLAYER_E_DEVICE, 0, "the driver shows no GPU");
	if (v->too_many)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0,
			"the window uses more than %u GPUs: not supported", DEVICES_MAX);
	if (!v->n)
		(void)devices_use(rp, 0);
	if (v->n > (unsigned)have)
		return too_few(rp, have);
	for (unsigned i = 0; i < v->n; i++)
		same &= v->d[i].ordinal < (uint64_t)have;
	for (unsigned i = 0; i < v->n; i++)
		GPU(rp, device_get, &v->d[i].device, same ? (int)v->d[i].ordinal : (int)i);
	return NULL;
}

static struct err *see_each_other(struct rp *rp)
{
	struct devices *v = &rp->devices;

	if (v->n > 1 && !(rp->lib.can & GPU_CAN_PEERS))
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the GPU driver cannot open one device's memory to another");
	for (unsigned i = 0; i < v->n; i++) {
		TRY(devices_enter(rp, i));
		for (unsigned j = 0; j < v->n; j++) {
			bool can = false;

			if (i == j)
				continue;
			GPU(rp, device_sees, &can, v->d[i].device, v->d[j].device);
			if (!can)
				return rp_fail(rp, REPLAYER_E_DEVICE, 0,
					"devices %llu and %llu of the recording are GPUs here that cannot see each other's memory",
					(unsigned long long)v->d[i].ordinal,
					(unsigned long long)v->d[j].ordinal);
			const struct gpu_result r = rp->gpu->context_open_to(v->d[j].ctx);
			if (r.status != GPU_ALREADY)
				TRY(rp_gpu(rp, r));
		}
	}
	return devices_enter(rp, 0);
}

struct err *devices_open(struct rp *rp)
{
	struct devices *v = &rp->devices;

	for (unsigned i = 0; i < v->n; i++)
		GPU(rp, context_open, &v->d[i].ctx, v->d[i].device);
	GPU(rp, context_enter, v->d[0].ctx);
	return see_each_other(rp);
}

/* --- going from one to another --- */

struct err *devices_enter(struct rp *rp, unsigned dev)
{
	struct devices *v = &rp->devices;

	if (v->now == dev || dev >= v->n)
		return NULL;
	GPU(rp, context_enter, v->d[dev].ctx);
	v->now = dev;
	return NULL;
}

unsigned devices_of(struct rp *rp, const struct sbt_cmd *c)
{
	const uint64_t stream = sbt_cmd_stream(c);

	if (rp->devices.n < 2)
		return 0;
	if (stream < SBT_NO_ID)
		return objects_stream_device(rp, stream);
	return c->kind == SBT_GRAPH_INSTANTIATE ? devices_number(rp, devices_ordinal(rp, c->ctx))
						: 0;
}

struct err *devices_finish(struct rp *rp)
{
	const unsigned was = rp->devices.now;

	for (unsigned i = 0; i < rp->devices.n; i++) {
		TRY(devices_enter(rp, i));
		GPU(rp, context_finish);
	}
	return devices_enter(rp, was);
}

struct err *devices_event(struct rp *rp, struct gpu_event **event, unsigned *dev)
{
	if (*event && *dev == rp->devices.now)
		return NULL;
	if (*event)
		GPU(rp, event_destroy, *event);
	*event = NULL;
	*dev = rp->devices.now;
	GPU(rp, event_create, event, false);
	return NULL;
}

struct err *devices_one_only(struct rp *rp, const char *what)
{
	if (rp->devices.n < 2)
		return NULL;
	return err_cure(rp_fail(rp, REPLAYER_E_REFUSED, 0,
				"%s is done in windows of one GPU only; this one uses %u", what,
				rp->devices.n),
		"capture a window that uses one GPU");
}
