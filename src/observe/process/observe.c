/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs an observation, see observe.h: finds the driver's files, passes records to their processes,
 * notices when processes end.
 */
#include "observe/observe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "attach/attach.h"
#include "base/child.h"
#include "base/monotonic.h"
#include "base/proc-stat.h"
#include "observe/process/observe-private.h"

#define LOOK_EVERY_NS 500000000u
/* names are asked for until that long after the last kernel without one */
#define NAMES_FOR_NS 3000000000u

/* --- libraries --- */

static struct err *probe_library(struct observe *o, const char *path, bool runtime)
{
	unsigned n = 0;

	TRY(probes_attach(o->probes, path, runtime, o->pid ? o->pid : -1, &n));
	if (!n)
		return NULL; /* probed already, or no such library */
	o->libraries = xrealloc(o->libraries, (o->nlibraries + 1) * sizeof *o->libraries);
	o->libraries[o->nlibraries++] = (struct observe_library){xstrdup(path), n, runtime};
	return NULL;
}

static void saw_driver(void *arg, const char *path)
{
	struct observe *o = arg;

	if (!o->failed)
		o->failed = probe_library(o, path, false);
}

static void saw_runtime(void *arg, const char *path)
{
	struct observe *o = arg;

	if (!o->failed)
		o->failed = probe_library(o, path, true);
}

static struct err *take_failed(struct observe *o)
{
	struct err *e = o->failed;

	o->failed = NULL;
	return e;
}

/* Probes the libraries that are mapped now. The runtime comes first: then every call of the driver
 * that it makes is known to come from it. */
static struct err *probe_mapped(struct observe *o, struct observe_maps *m)
{
	observe_maps_read(m);
	if (o->o.runtime)
		observe_maps_files(m, "libcudart.so", saw_runtime, o);
	observe_maps_files(m, "libcuda.so", saw_driver, o);
	return take_failed(o);
}

static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/usr/local/cuda/compat"};

char *observe_usual_driver(const char *softgpu)
{
	for (size_t i = 0; i <= sizeof folders / sizeof *folders; i++) {
		const char *folder = i < sizeof folders / sizeof *folders ? folders[i] : softgpu;
		char *path = folder ? xasprintf("%s/libcuda.so.1", folder) : NULL;

		if (path && !access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

/* A process that has not loaded the driver yet will load it from one of these: with probes there
 * its first call is seen, too. */
static struct err *probe_usual(struct observe *o)
{
	static const char *const soft[] = {"libcudart.so.13", "libcuda.so.1"};

	for (unsigned i = 0; o->o.softgpu && i < 2; i++) {
		char *path = xasprintf("%s/%s", o->o.softgpu, soft[i]);
		struct err *e = i || o->o.runtime ? probe_library(o, path, !i) : NULL;

		free(path);
		TRY(e);
	}
	for (size_t i = 0; (!o->o.softgpu || o->o.all) && i < sizeof folders / sizeof *folders;
		i++) {
		char *path = xasprintf("%s/libcuda.so.1", folders[i]);
		struct err *e = probe_library(o, path, false);

		free(path);
		TRY(e);
	}
	return NULL;
}

/* Probes the libraries of all processes. */
static struct err *probe_everyone(struct observe *o)
{
	DIR *d = opendir("/proc");
	struct dirent *ent;
	struct err *e = NULL;

	while (d && !e && (ent = readdir(d))) {
		struct observe_maps *m;

		if (!isdigit((unsigned char)*ent->d_name))
			continue;
		m = observe_maps_new((pid_t)atoi(ent->d_name), NULL, NULL);
		e = observe_maps_uses(m, "libcuda.so") ? probe_mapped(o, m) : NULL;
		observe_maps_free(m);
	}
	if (d)
		closedir(d);
	return e;
}

static struct err *look_for_libraries(struct observe *o)
{
	uint64_t now = monotonic_ns();

	if (now - o->looked_ns < LOOK_EVERY_NS && (o->nlibraries || o->o.all))
		return NULL;
	o->looked_ns = now;
	return o->o.all ? probe_everyone(o) : probe_mapped(o, o->maps);
}

/* --- processes --- */

/* The trace's name: %p is the process, %h the machine. With --all each process has a file of its
 * own. */
static char *trace_path(const struct observe *o, pid_t pid)
{
	const char *p = o->o.output;
	struct buf b = BUF_INIT;
	struct utsname u;
	bool has_pid = false;

	if (!p)
		return NULL;
	for (; *p; p++) {
		if (p[0] == '%' && p[1] == 'p') {
			buf_printf(&b, "%d", (int)pid);
			has_pid = true;
			p++;
		} else if (p[0] == '%' && p[1] == 'h' && !uname(&u)) {
			buf_str(&b, u.nodename);
			p++;
		} else if (o->o.all && !has_pid && !strcmp(p, ".sbt")) {
			buf_printf(&b, ".%d.sbt", (int)pid);
			has_pid = true;
			break;
		} else {
			buf_byte(&b, (uint8_t)*p);
		}
	}
	if (o->o.all && !has_pid)
		buf_printf(&b, ".%d", (int)pid);
	return buf_steal(&b);
}

static struct observe_process *process_of(struct observe *o, pid_t pid)
{
	bool own = o->child && pid == o->pid;
	struct observe_process *p;
	char *path;

	for (unsigned i = o->nprocesses; i--;) {
		p = o->processes[i];
		if (p->pid == pid && !p->closed)
			return p;
	}
	path = trace_path(o, pid);
	p = observe_process_new(
		pid, o->probes, path, own ? o->o.argv : NULL, own ? o->mapped : NULL);
	free(path);
	o->processes =
		xrealloc(o->processes, (o->nprocesses + 1) * sizeof(struct observe_process *));
	o->processes[o->nprocesses++] = p;
	return p;
}

static struct err *on_record(void *arg, const void *record, size_t n)
{
	struct observe *o = arg;
	const struct obs_event *e = record;

	if (n < sizeof *e || !e->pid)
		return NULL;
	/* Probes are removed one after the other: records that come meanwhile are incomplete. */
	if (o->end_ns && e->ns > o->end_ns)
		return NULL;
	return observe_process_take(process_of(o, (pid_t)e->pid), record, n);
}

static struct err *tick_processes(struct observe *o)
{
	uint64_t now = monotonic_ns(), nameless = 0;

	for (unsigned i = 0; i < o->nprocesses; i++) {
		TRY(observe_process_tick(o->processes[i], now));
		nameless += observe_decoder_nameless(o->processes[i]->decoder);
	}
	if (nameless != o->nameless)
		o->nameless_ns = now;
	o->nameless = nameless;
	return probes_names(o->probes, o->nameless_ns && now - o->nameless_ns < NAMES_FOR_NS);
}

/* Ends the traces of processes that ended a few turns ago: their last records have been read
 * since. */
static struct err *end_processes(struct observe *o, bool all)
{
	for (unsigned i = 0; i < o->nprocesses; i++) {
		struct observe_process *p = o->processes[i];

		if (observe_process_ended(p) && !p->closed)
			p->closed = p->quiet++ > 2;
		if (p->w && (all || p->closed))
			TRY(observe_process_end(p, o->counts[OBS_COUNT_LOST]));
	}
	return NULL;
}

static bool is_gone(const struct observe *o)
{
	struct proc_stat s;

	if (kill(o->pid, 0) && errno == ESRCH)
		return true;
	(void)proc_stat_read(o->pid, 0, &s);
	return proc_stat_ended(&s);
}

static void look_at_target(struct observe *o)
{
	if (!o->pid || o->finished)
		return;
	if (!o->child)
		o->finished = is_gone(o);
	else if (waitpid(o->pid, &o->status, WNOHANG) == o->pid)
		o->finished = o->has_status = true;
}

/* --- life --- */

static struct err *check_pid(pid_t pid)
{
	struct observe look = {.pid = pid};

	if (pid == getpid())
		return err_cure(err_new(ERR_USAGE, "tsdb cannot observe itself"),
			"Give the number of another process");
	if (kill(pid, 0) && errno == ESRCH)
		return err_cure(err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid),
			"`ps -e` lists the processes");
	if (is_gone(&look))
		return err_cure(err_new(ERR_STATE,
					"process %d has ended and waits for its parent (a zombie)",
					(int)pid),
			"Give the number of another process");
	return NULL;
}

static struct err *begin(struct observe *o)
{
	struct probes_options po = {
		.ring_bytes = o->o.ring_bytes, .no_stacks = o->o.no_stacks, .wake = true};
	int go = -1;
	struct err *e;

	if (o->o.pid)
		TRY(check_pid(o->o.pid));
	o->pid = o->o.pid;
	TRY(probes_open(&o->probes, &po));
	probes_ignore(o->probes, getpid());
	if (o->o.argv) {
		TRY(observe_launch(o->o.argv, o->o.softgpu, &o->pid, &go));
		o->child = true;
		o->mapped = mapped_open(o->pid);
	}
	if (o->pid)
		o->maps = observe_maps_new(o->pid, NULL, NULL);
	e = o->pid && !o->child ? probe_mapped(o, o->maps) : o->pid ? NULL : probe_everyone(o);
	if (!e && (!o->nlibraries || o->o.all))
		e = probe_usual(o);
	if (!o->child)
		return e;
	if (!e)
		return observe_launch_go(go, o->pid, o->o.argv[0]);
	close(go);
	(void)child_kill(o->pid, NULL);
	return e;
}

struct err *observe_possible(void)
{
	struct probes_options po = {.ring_bytes = 65536};
	struct probes *p;

	TRY(probes_open(&p, &po));
	probes_close(p);
	return NULL;
}

struct err *observe_open(struct observe **ret, const struct observe_options *options)
{
	struct observe *o = xcalloc(1, sizeof *o);
	struct err *e;

	o->o = *options;
	e = begin(o);
	o->start_ns = monotonic_ns();
	if (e) {
		observe_free(o);
		return e;
	}
	o->symbols = symbols_new();
	*ret = o;
	return NULL;
}

struct err *observe_turn(struct observe *o, int timeout_ms)
{
	bool last = o->finished;
	struct err *e;

	if (o->ended)
		return NULL;
	look_at_target(o);
	TRY(probes_read(o->probes, o->finished && !last ? 0 : timeout_ms, on_record, o));
	probes_counts(o->probes, o->counts);
	TRY(tick_processes(o));
	TRY(end_processes(o, false));
	e = o->finished ? NULL : look_for_libraries(o);
	if (e && e->code == ERR_STATE) { /* it ended just now; the next turn sees that */
		err_free(e);
		return NULL;
	}
	return e;
}

struct err *observe_end(struct observe *o)
{
	struct err *e;

	if (o->ended)
		return NULL;
	o->ended = true;
	o->end_ns = monotonic_ns();
	probes_detach(o->probes);
	e = probes_read(o->probes, 0, on_record, o);
	probes_counts(o->probes, o->counts);
	if (!e)
		e = end_processes(o, true);
	return e;
}

void observe_free(struct observe *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < o->nprocesses; i++)
		observe_process_free(o->processes[i]);
	free(o->processes);
	for (unsigned i = 0; i < o->nlibraries; i++)
		free(o->libraries[i].path);
	free(o->libraries);
	observe_maps_free(o->maps);
	mapped_close(o->mapped);
	probes_close(o->probes);
	if (o->symbols)
		symbols_free(o->symbols);
	err_free(o->failed);
	free(o);
}

bool observe_finished(const struct observe *o)
{
	return o->finished;
}

bool observe_status(const struct observe *o, int *ret)
{
	*ret = o->status;
	return o->has_status;
}

pid_t observe_pid(const struct observe *o)
{
	return o->pid;
}
