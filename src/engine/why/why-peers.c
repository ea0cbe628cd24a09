/* SPDX-License-Identifier: Apache-2.0
 *
 * Other processes that the program waits for and that use the GPU. While the program is stopped,
 * tsdb attaches to them only to look, and detaches when it has its answer. One that cannot be
 * attached to (somebody else debugs it) is looked at from outside, as any other. So is one that has
 * the driver's library but none of its threads: a stop is not without traces (a write to a pipe
 * that had begun returns early), and there is nothing to look into.
 */
#include "engine/why/why-device.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/proc-read.h"
#include "engine/parts.h"

enum { COMM_MOST = 64, PEERS_MAX = 4, START_MS = 500, LEAVE_TURNS = 2000 };

/* Whether the process has one of the driver's threads: it has used the device. */
static bool has_driver_thread(pid_t pid)
{
	char path[64];
	struct dirent *t;
	bool has = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && !has && (t = readdir(tasks))) {
		struct buf name = BUF_INIT;

		snprintf(path, sizeof(path), "task/%.20s/comm", t->d_name);
		has = proc_read(pid, path, COMM_MOST, &name) && why_helper_name(buf_cstr(&name));
		buf_free(&name);
	}
	if (tasks)
		closedir(tasks);
	return has;
}

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
		ret[n] = has_driver_thread(pids[i]) ? attach(en, pids[i], agent) : NULL;
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
