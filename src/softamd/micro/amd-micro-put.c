/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes registers and memory of a stopped dispatch, for one lane of the focused wave. The
 * surprise: the arguments' segment is memory of the process that the runtime fills in for each
 * dispatch, so a new start has nothing of what was set there either.
 */
#include "softamd/micro/amd-micro.h"

#include <string.h>
#include "base/checked.h"

static const char *put_private(
	struct soft_session *s, struct amd_wave *w, const struct soft_put *p, uint64_t size)
{
	if (!w->scratch || !range_within(p->addr, p->size, 0, size))
		return micro_say(s, "a lane has %llu bytes of private memory",
			(unsigned long long)(w->scratch ? size : 0));
	for (uint64_t k = 0; k < p->size; k++) {
		const uint64_t at = p->addr + k;

		w->scratch[(at / 4 * AMD_LANES + p->lane) * 4 + at % 4] = p->bytes[k];
	}
	return NULL;
}

static const char *put_memory(struct soft_session *s, struct amd_wave *w, const struct soft_put *p)
{
	const struct amd_micro *m = amd_micro_of(s);
	const struct amd_launch *l = w->group->worker->l;
	const bool shared = p->space == SOFT_SHARED;
	uint8_t *to;

	if (p->space == SOFT_LOCAL)
		return put_private(s, w, p, l->private_bytes);
	if (!shared)
		to = amd_micro_argument(m, p->addr, p->size);
	else
		to = range_within(p->addr, p->size, 0, l->lds_bytes) ? w->group->lds + p->addr
								     : NULL;
	if (!to)
		return micro_say(s,
			"there are %llu bytes of this memory: %u from %llu on are not there",
			(unsigned long long)(shared ? l->lds_bytes : m->kernarg_bytes), p->size,
			(unsigned long long)p->addr);
	memcpy(to, p->bytes, p->size);
	return NULL;
}

const char *amd_micro_put(struct soft_session *s, const struct soft_put *p)
{
	struct amd_wave *w = s->phase == MICRO_OVER ? NULL : amd_micro_wave(micro_focused(s));
	uint64_t value = 0;

	if (!w)
		return micro_say(s, s->phase == MICRO_OVER
					    ? "the launch has ended"
					    : "the workgroup of the focused work-item has ended");
	if (p->size > sizeof(p->bytes) || p->lane >= AMD_LANES ||
		!(amd_micro_lanes(w) >> p->lane & 1) || p->text[sizeof(p->text) - 1])
		return micro_say(s, "that is no change of a lane here");
	if (p->space == SOFT_GLOBAL || p->space > SOFT_SPACES)
		return micro_say(s, "this memory is not changed here");
	if (p->space != SOFT_SPACES)
		return put_memory(s, w, p);
	memcpy(&value, p->bytes, p->size < sizeof(value) ? p->size : sizeof(value));
	return amd_micro_set(w, p->lane, p->text, value)
		       ? NULL
		       : micro_say(s, "%s is no register that can be set", p->text);
}
