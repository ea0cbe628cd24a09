/* SPDX-License-Identifier: Apache-2.0
 *
 * Other processes that the program waits for and that use the GPU: attached to, only to look, while
 * the program stands still, and let go of when the question is answered. One that cannot be
 * attached to (somebody else debugs it) is looked at from outside, as any other.
 */
#include "engine/why/why-device.h"

#include <stdlib.h>
#include "engine/parts.h"

enum { PEERS_MAX = 4, START_MS = 500, LEAVE_TURNS = 2000 };

static struct inferior *attach(struct engine *en, pid_t pid, const char *agent)
{
	struct attach_options o = {.pid = pid,
		.agent = agent,
		.start_ms = START_MS,
		.look_only = true,
		.without_agent = true,
		.interrupt = en->cancel};
	struct attach_result r;
	struct inferior *inf;
	struct err *e = inferior_attach(&inf, &o, &r);

	if (!e)
		return inf;
	err_free(e);
	return NULL;
}

unsigned why_peers_begin(struct engine *en, const struct why_process *p, struct inferior **ret)
{
	char *agent = gpu_agent_path();
	pid_t pids[PEERS_MAX];
	const unsigned found = agent ? why_host_peers(p, 1, pids, PEERS_MAX) : 0;
	unsigned n = 0;

	_Static_assert(PEERS_MAX == WHY_PEERS, "as many as the caller has room for");
	for (unsigned i = 0; i < found; i++) {
		ret[n] = attach(en, pids[i], agent);
		n += ret[n] != NULL;
	}
	free(agent);
	return n;
}

/* The agent ends its thread; the process runs meanwhile. */
void why_peer_end(struct inferior *inf)
{
	struct inferior_event ev;
	struct err *e = inferior_alive(inf) ? inferior_leave(inf) : NULL;

	for (unsigned i = 0;
		!e && inferior_alive(inf) && !inferior_agent_left(inf) && i < LEAVE_TURNS; i++) {
		e = inferior_wait(inf, 1, &ev);
		if (!e && inferior_alive(inf) && !inferior_running(inf))
			e = inferior_resume(inf, false);
	}
	err_free(e);
	if (inferior_alive(inf))
		err_free(inferior_detach(inf));
	inferior_free(inf);
}
