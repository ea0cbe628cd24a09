/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages inside kernels of a replay, by changed code, see soft-settings.h. The window is executed
 * once for all of them, and what threads show is kept: a move tells that of the launches on its
 * way. They are executed anew when the messages are others.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/engine.h"
#include "engine/trace/kernel-probes.h"
#include "replay/replay.h"

struct kernel_prints {
	struct soft_probe *asked; /* SOFT_PROBES_MAX, before names are replaced */
	unsigned n;
	struct soft_print *said; /* by launch */
	size_t nsaid;
	uint64_t told; /* the last launch of the last call; 0: the replay has moved since */
};

static void forget(struct kernel_prints *k)
{
	free(k->asked);
	free(k->said);
	*k = (struct kernel_prints){.told = k->told};
}

void kernel_prints_free(struct kernel_prints *k)
{
	if (k)
		forget(k);
	free(k);
}

bool kernel_prints_coded(const struct engine *en)
{
	const struct replay_device *rd = en->trace.replay ? en->trace.device : NULL;

	return rd && (!rd->shows || settings_on(&en->set, SET_PROBES_REWRITE));
}

static struct err *take(void *arg, struct device *d)
{
	struct kernel_prints *k = arg;

	return device_printed(d, &k->said, &k->nsaid);
}

/* Executes the window for the n messages of k->asked. */
static struct err *execute(struct engine *en, struct kernel_prints *k)
{
	struct soft_probe *p = xmalloc(k->n * sizeof *p);
	const struct probes_coded how = {
		"messages inside kernels", "shows values", p, k->n, take, k};
	struct err *e;

	memcpy(p, k->asked, k->n * sizeof *p);
	for (unsigned i = 0; i < k->n; i++)
		probes_add_names(en, true, &p[i]);
	e = probes_by_code(en, en->trace.device, &how);
	free(p);
	return e;
}

struct err *kernel_prints_collect(struct engine *en)
{
	struct replay_device *rd = en->trace.device;
	struct soft_probe *now = xcalloc(SOFT_PROBES_MAX, sizeof *now);
	const unsigned n = probes_messages(en, now);
	struct kernel_prints *k;
	struct err *e;

	if (!rd->prints)
		rd->prints = xcalloc(1, sizeof *rd->prints);
	k = rd->prints;
	if (n > SOFT_PROBES_MAX) {
		free(now);
		return err_cure(err_new(ERR_LIMIT, "there are at most %d messages inside kernels",
					SOFT_PROBES_MAX),
			"Delete some, or disable them");
	}
	if (n == k->n && !rd->what_if && !rd->partial &&
		(!n || !memcmp(now, k->asked, n * sizeof *now))) {
		free(now);
		return NULL;
	}
	forget(k);
	k->asked = now;
	k->n = n;
	e = n ? execute(en, k) : NULL;
	if (e)
		forget(k);
	return e;
}

void kernel_prints_tell(struct engine *en, uint64_t first, uint64_t last)
{
	struct kernel_prints *k = en->trace.device->prints;
	const uint64_t told = k->told;

	for (size_t i = 0; i < k->nsaid; i++)
		if (k->said[i].launch >= first && k->said[i].launch <= last &&
			(k->said[i].launch != first || first != told))
			probes_tell_print(en, &k->said[i]);
	k->told = last;
}

void kernel_prints_moved(struct engine *en)
{
	if (en->trace.device && en->trace.device->prints)
		en->trace.device->prints->told = 0;
}
