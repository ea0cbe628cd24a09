/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a window. The driver is loaded and the sandbox locked; then the trace is read before any
 * code of the driver runs; then come the device, all ranges, and everything else. This order keeps
 * recorded addresses free: a driver that has allocated or loaded anything may use them.
 */
#include "config.h"
#include "replayer/execute/replayer-window.h"
#include "replayer/execute/replayer-copy.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-fault.h"
#include "replayer/execute/replayer-watchdog.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbt/vendor.h"
#include "sbt/fields.h"

#define NOTES_MAX (256u << 10) /* bytes of sentences; more are only counted */

struct err *window_holds(struct rp *rp, uint64_t seq)
{
	if (seq >= rp->first && seq <= rp->last)
		return NULL;
	return rp_fail(rp, REPLAYER_E_REFUSED, seq, "#%llu is not in the window #%llu to #%llu",
		(unsigned long long)seq, (unsigned long long)rp->first,
		(unsigned long long)rp->last);
}

void window_note(struct rp *rp, bool counted, const char *fmt, ...)
{
	va_list ap;

	rp->unrepeatable += counted;
	if (rp->notes.len > NOTES_MAX)
		return;
	va_start(ap, fmt);
	buf_vprintf(&rp->notes, fmt, ap);
	va_end(ap);
	buf_byte(&rp->notes, '\n');
}

/* --- what the window needs --- */

static void want(
	struct rp *rp, uint64_t addr, uint64_t size, enum sbt_mem mem, unsigned dev, bool at_start)
{
	struct place *p = &rp->place;

	if (!size || addr > UINT64_MAX - size)
		return;
	MAKE_ROOM(p->wanted, p->nwanted, p->cap_wanted);
	p->wanted[p->nwanted++] = (struct wanted){
		.addr = addr, .size = size, .mem = mem, .dev = dev, .at_start = at_start};
}

static void unwant(struct rp *rp, uint64_t addr)
{
	struct place *p = &rp->place;
	size_t n = 0;

	for (size_t i = 0; i < p->nwanted; i++)
		if (p->wanted[i].addr != addr || !p->wanted[i].at_start)
			p->wanted[n++] = p->wanted[i];
	p->nwanted = n;
}

/* The number of an allocation's device; 0 for memory of the host, which belongs to no device. */
static unsigned device_of(struct rp *rp, uint64_t mem, uint64_t ordinal)
{
	return mem == SBT_MEM_PINNED || mem == SBT_MEM_REGISTERED ? 0 : devices_use(rp, ordinal);
}

static void from_state(struct rp *rp, const struct state *s)
{
	struct state_context ctx;
	struct state_alloc a;

	for (unsigned i = 0; state_context(s, i, &ctx); i++)
		devices_learn_ctx(rp, ctx.id, ctx.device);
	for (unsigned i = 0; state_alloc(s, i, &a); i++)
		want(rp, a.addr, a.size, a.mem, device_of(rp, a.mem, a.device), true);
}

/* Whether the kernel waits for other processes' GPUs, by its name. */
static bool is_collective(const char *name)
{
	return strstr(name, "ncclDevKernel") || strstr(name, "ncclKernel");
}

static void scan_note(struct rp *rp, const struct sbt_cmd *c)
{
	const unsigned long long seq = c->seq;
	const struct rkernel *k;
	size_t n = 0;

	(void)contents_of(rp, c->seq, &n);
	if (!execute_knows(c)) {
		window_note(rp, true,
			"#%llu %s: this replayer cannot execute commands of this kind", seq,
			sbt_kind(c->kind) ? sbt_kind(c->kind)->name : "of an unknown kind");
		return;
	}
	switch (c->kind) {
	case SBT_UNREPLAYABLE:
		window_note(rp, true, "#%llu %.*s: not executed again%s", seq,
			(int)c->u.unreplayable.call.len, (const char *)c->u.unreplayable.call.p,
			n ? "; its recorded effect on memory is applied" : "");
		break;
	case SBT_GRAPH_LAUNCH:
		if (execute_has_effect(rp, c->seq))
			window_note(rp, true,
				"#%llu launch of graph %llu: not executed again, some of its nodes are not described; its recorded effect on "
				"memory is applied",
				seq, (unsigned long long)c->u.graph_launch.exec);
		break;
	case SBT_HOST_FUNC:
		window_note(rp, true, "#%llu host function: not called%s", seq,
			n ? "; its recorded effect on memory is applied" : "");
		break;
	case SBT_LAUNCH:
		k = objects_kernel(rp, c->u.launch.kernel);
		if (!k)
			window_note(
				rp, true, "#%llu launch: the trace does not name its kernel", seq);
		else if (k->nparams && !c->u.launch.args.len)
			window_note(rp, true, "#%llu %s: its parameters were not recorded", seq,
				k->name);
		else if (is_collective(k->name))
			window_note(rp, true, "#%llu %s: communicates with other GPUs%s", seq,
				k->name, n ? "; its recorded effect on memory is applied" : "");
		break;
	default:
		break;
	}
}

/* The trace has the initial contents of memory that the window allocated; those are no command's
 * work. */
static void scan_count(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	if (c->kind != SBT_ALLOC && execute_has_effect(rp, c->seq))
		rp->recorded++;
	else if (c->kind == SBT_UNREPLAYABLE || c->kind == SBT_HOST_FUNC)
		rp->left_out++;
	else
		rp->work += d && d->cls == SBT_CLASS_WORK;
}

static void scan_window(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	fault_learn(rp, c);
	if (c->result)
		return;
	if (c->kind == SBT_ALLOC)
		want(rp, c->u.alloc.addr, c->u.alloc.size, (enum sbt_mem)c->u.alloc.mem,
			device_of(rp, c->u.alloc.mem, c->u.alloc.device), false);
	if (d && d->cls == SBT_CLASS_WORK && c->ctx != SBT_NO_ID) {
		const uint32_t device = id_map_get(&rp->devices.of_ctx, c->ctx);

		if (device != UINT32_MAX)
			(void)devices_use(rp, device);
	}
	const struct sbt_memory *in = copy_payload(rp, c);
	if (in)
		feeder_add(rp, in, c->u.copy.dst);
	if (c->flags & SBT_F_GRAPH)
		return;
	scan_count(rp, c);
	scan_note(rp, c);
}

/* Learns from a command behind the window: an agent that came late found a kernel's code after it
 * first met the kernel inside the window, and then that code's variables. */
static struct err *scan_behind(struct rp *rp, const struct sbt_cmd *c)
{
	bool lacks = objects_lack_code(rp);

	while (c && (lacks || c->kind == SBT_GLOBAL_DEF)) {
		if (c->kind == SBT_MODULE_CODE || c->kind == SBT_GLOBAL_DEF ||
			c->kind == SBT_ATTACH)
			objects_learn(rp, c, true);
		if (c->kind == SBT_MODULE_CODE)
			lacks = objects_lack_code(rp);
		watchdog_on(rp, 0);
		TRY(sbt_cursor_next(rp->cursor, &c));
	}
	return NULL;
}

static struct err *scan_commands(struct rp *rp)
{
	struct state *s = NULL;
	const struct sbt_cmd *c;
	bool folded = false;

	TRY(sbt_cursor_seek(rp->cursor, 0));
	rp->cursor_seq = UINT64_MAX;
	for (;;) {
		watchdog_on(rp, 0);
		TRY(sbt_cursor_next(rp->cursor, &c));
		if (!folded && (!c || c->seq >= rp->first)) {
			folded = true;
			TRY(state_at(&s, rp->trace, rp->first - 1));
			from_state(rp, s);
			objects_from_state(rp, s);
			state_free(s);
		}
		if (!c || c->seq > rp->last)
			return scan_behind(rp, c);
		TRY(state_check(c));
		if (c->kind == SBT_CTX_CREATE && !c->result)
			devices_learn_ctx(rp, c->u.ctx_create.new_ctx, c->u.ctx_create.device);
		if (c->seq >= rp->first)
			scan_window(rp, c);
		rp->attached |= c->kind == SBT_ATTACH;
		objects_learn(rp, c, c->seq < rp->first);
	}
}

/* Notes pieces that a program which died left incomplete. */
static void note_missing(struct rp *rp)
{
	for (size_t i = 0; i < rp->contents.nstart; i++) {
		const struct sbt_memory *m = &rp->contents.start[i];

		if (m->missing || !m->has_bytes)
			window_note(rp, false,
				"%llu bytes of the memory at 0x%llx were not recorded: they begin as zeros",
				(unsigned long long)(m->has_bytes ? m->missing : m->size),
				(unsigned long long)m->addr);
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct rglobal *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void adopt_globals_of(struct rp *rp, struct sbt_memory *m, size_t n)
{
	for (; n--; m++) {
		const struct rglobal *g = m->owner == SBT_MEMORY_ALLOCATION
						  ? objects_global_at(rp, m->addr, m->size)
						  : NULL;

		if (!g)
			continue;
		m->owner = SBT_MEMORY_GLOBAL;
		m->module = g->module;
		m->name = (struct sbt_blob){g->name, strlen(g->name)};
		unwant(rp, m->addr);
	}
}

/* An agent that came late takes variables for allocations until it knows their code; this makes
 * them globals again. */
static void adopt_globals(struct rp *rp)
{
	adopt_globals_of(rp, rp->contents.start, rp->contents.nstart);
	adopt_globals_of(rp, rp->contents.end, rp->contents.nend);
}

static void learn_globals_of(struct rp *rp, const struct sbt_memory *m, size_t n)
{
	for (; n--; m++) {
		const struct sbt_cmd def = {.kind = SBT_GLOBAL_DEF,
			.ctx = m->ctx - 1,
			.u.global_def = {.module = m->module,
				.addr = m->addr,
				.size = m->size,
				.global_name = m->name}};

		if (m->owner == SBT_MEMORY_GLOBAL)
			objects_learn(rp, &def, true);
	}
}

/* Learns globals from their contents when their address was never asked for; those of a module that
 * came within the window have contents only at its end. */
static void learn_globals(struct rp *rp)
{
	learn_globals_of(rp, rp->contents.start, rp->contents.nstart);
	learn_globals_of(rp, rp->contents.end, rp->contents.nend);
	if (rp->objects.nglobals)
		qsort(rp->objects.globals, rp->objects.nglobals, sizeof *rp->objects.globals,
			by_addr);
}

/* --- the device --- */

/* Notes what another kind of device cannot do with this trace. */
static struct err *other_device(struct rp *rp, const char *was, const char *name, int driver)
{
	const struct sbt_meta *meta = sbt_reader_meta(rp->trace);
	size_t all, portable = code_portable(rp, &all);

	if (!(rp->flags & REPLAYER_ANY_DEVICE))
		return err_cure(
			rp_fail(rp, REPLAYER_E_DEVICE, 0,
				"the trace was recorded on %s (driver %u); this is %s (driver %d)",
				was, meta->driver_version, name, driver),
			"--any-device tries it: the trace has PTX of %zu of the %zu kernels that the window launches; `--on none` replays the "
			"state without executing anything",
			portable, all);
	window_note(rp, false,
		"recorded on %s, replayed on %s: results may differ in their last bits", was, name);
	return NULL;
}

/* AMD's code objects run on their target alone. The device's name is its target. */
static struct err *check_target(struct rp *rp, const char *name)
{
	const char *was = sbt_reader_meta(rp->trace)->target;

	if (!*was || !strcmp(was, name))
		return NULL;
	return err_cure(
		rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the trace was recorded on %s; this device is %s, and cannot execute its code",
			was, name),
		"`--on none` replays the state without executing anything");
}

static struct err *check_device(struct rp *rp, const char *name)
{
	const struct sbt_meta *meta = sbt_reader_meta(rp->trace);
	const char *was = meta->gpu && *meta->gpu ? meta->gpu : "another GPU";
	int driver = 0;

	if (rp->flags & REPLAYER_HIP)
		return check_target(rp, name);
	rp->trace_soft = meta->soft;
	GPU(rp, driver_version, &driver);
	if (meta->soft != rp->lib.soft ||
		(!meta->soft && meta->gpu && *meta->gpu && strcmp(meta->gpu, name)))
		TRY(other_device(rp, was, name, driver));
	if (!meta->soft && !rp->lib.soft && meta->driver_version &&
		(int)meta->driver_version != driver)
		window_note(rp, false,
			"recorded with driver %u, replayed with driver %d: what it compiles from PTX may differ",
			meta->driver_version, driver);
	return NULL;
}

/* Sets how many devices the software GPU shows, before it starts. */
static void show_devices(const struct rp *rp)
{
	const char *set = getenv("TSDB_SOFT_DEVICES");
	uint64_t most = set ? strtoul(set, NULL, 10) : 1;
	char text[24];

	for (unsigned i = 0; i < rp->devices.n; i++)
		if (rp->devices.d[i].ordinal < DEVICES_MAX && rp->devices.d[i].ordinal + 1 > most)
			most = rp->devices.d[i].ordinal + 1;
	if (rp->devices.n < 2 ||
		getenv("TSDB_REPLAYER_DEVICES")) /* for tests: as many as are set */
		return;
	snprintf(text, sizeof text, "%llu", (unsigned long long)most);
	setenv("TSDB_SOFT_DEVICES", text, 1);
}

/* Loads the driver and makes the tables of its functions read-only. */
static struct err *load_driver(struct rp *rp)
{
	rp->gpu = &backend_cuda;
	if (rp->flags & REPLAYER_HIP) {
#ifdef HAVE_HIP
		rp->gpu = &backend_hip;
#else
		return err_new(ERR_UNSUPPORTED,
			"this tsdb was built without HIP, so it cannot execute the trace of a HIP program");
#endif
	}
	TRY(rp->gpu->open(&rp->lib));
	TRY(sandbox_seal(rp->lib.tables, rp->lib.tables_size));
	return sandbox_seal(&rp->gpu, offsetof(struct rp, sandbox) - offsetof(struct rp, gpu));
}

/* Does everything that needs the outside, then locks the sandbox. The trace is looked at only after
 * that. */
static struct err *shut_in(struct rp *rp, const char *path)
{
	rp->trace_fd = open(
		path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block us */
	if (rp->trace_fd < 0)
		return err_sys(errno, "cannot open %s", path);
	TRY(load_driver(rp));
	if (rp->gpu->starts_first && rp->sandbox)
		TRY(sandbox_start(rp->sandbox, rp->lib.soft, rp->lib.inside));
	if (rp->gpu->starts_first)
		TRY(rp_gpu(rp, rp->gpu->start()));
	if (rp->sandbox) {
		TRY(sandbox_lock(rp->sandbox, rp->lib.soft, rp->lib.inside));
		sandbox_gaps(rp->sandbox, &rp->notes);
	}
	return watchdog_start(rp);
}

/* Starts the driver. A vendor's driver may open a file that the sandbox's rules do not list. */
static struct err *start_driver(struct rp *rp)
{
	struct err *e = rp->gpu->starts_first ? NULL : rp_gpu(rp, rp->gpu->start());

	if (!e || !rp->sandbox || rp->lib.soft)
		return e;
	return err_cure(e,
		"--no-sandbox shows whether the sandbox keeps the driver from its device; docs/security.md names the cases that are known");
}

static struct err *open_device(struct rp *rp)
{
	char name[256] = "";

	show_devices(rp);
	watch_open(rp);
	TRY(start_driver(rp));
	TRY(devices_choose(rp));
	GPU(rp, device_name, name, sizeof name, rp->devices.d[0].device);
	TRY(check_device(rp, name));
	return devices_open(rp);
}

/* --- all of it --- */

struct err *window_reader(const struct rp *rp, struct sbt_reader **ret)
{
	const int fd = fcntl(rp->trace_fd, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? err_sys(errno, "cannot read %s once more", rp->path)
		      : sbt_reader_open_fd(ret, fd, rp->path);
}

/* Kernels' accesses by textures and surfaces are not in the recording; with invalid handles the
 * kernels would compute something else. The trace counts such calls of the whole run, also before
 * the window. */
static struct err *refuse_textures(struct rp *rp)
{
	const char *const *known;
	const char *call;
	uint64_t n;

	for (unsigned i = 0; sbt_reader_unreplayable(rp->trace, i, &call, &n); i++)
		for (known = rp->gpu->texture_calls; *known; known++)
			if (!strncmp(call, *known, strlen(*known)))
				return err_cure(
					rp_fail(rp, REPLAYER_E_REFUSED, 0,
						"%s: textures and surfaces cannot be replayed, and this program's kernels may use "
						"them",
						*known),
					"`--on none` replays the state without executing anything");
	return NULL;
}

static struct err *read_trace(struct rp *rp)
{
	uint64_t first, last;
	bool found = false;

	TRY(window_reader(rp, &rp->trace));
	if (sbt_meta_is_hip(sbt_reader_meta(rp->trace)) != !!(rp->flags & REPLAYER_HIP))
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the trace is of a program for another vendor's GPU than this device");
	for (unsigned i = 0; sbt_reader_window(rp->trace, i, &first, &last); i++)
		found |= rp->first == first && rp->last == last;
	if (!rp->first || rp->first > rp->last || !found)
		return rp_fail(rp, REPLAYER_E_TRACE, 0,
			"the trace has no recorded memory for commands #%llu to #%llu",
			(unsigned long long)rp->first, (unsigned long long)rp->last);
	TRY(refuse_textures(rp));
	TRY(sbt_cursor_open(&rp->cursor, rp->trace));
	TRY(contents_read_index(rp));
	TRY(scan_commands(rp));
	adopt_globals(rp);
	learn_globals(rp);
	objects_settle(rp);
	if (rp->flags & REPLAYER_TOUCHED)
		TRY(touched_only(rp));
	note_missing(rp);
	return NULL;
}

/* Returns the time since *at, and sets *at to now. */
static uint64_t lap(uint64_t *at)
{
	const uint64_t before = *at;

	*at = now_ns();
	return *at - before;
}

struct err *window_open(struct rp *rp, const char *path)
{
	uint64_t at = now_ns();

	rp->path = xstrdup(path);
	TRY(shut_in(rp, path));
	watchdog_on(rp, 0);
	rp->figures.device_ns = lap(&at);
	TRY(read_trace(rp));
	rp->figures.read_ns = lap(&at);
	rp->position = rp->current = rp->first - 1;
	execute_finished(rp, rp->position);
	TRY(open_device(rp));
	TRY(textures_open(rp));
	rp->figures.device_ns += lap(&at);
	TRY(place_all(rp));
	TRY(place_host(rp));
	watch_bounds(rp);
	rp->figures.place_ns = lap(&at);
	GPU(rp, stream_create, &rp->own, true, 0);
	TRY(staging_open(rp));
	TRY(objects_make_streams(rp));
	TRY(limits_open(rp));
	TRY(probe_open(rp));
	TRY(code_load(rp));
	TRY(heap_open(rp));
	TRY(textures_claim(rp));
	contents_open_hash(rp);
	rp->figures.code_ns = lap(&at);
	TRY(checkpoint_seek(rp, rp->first - 1));
	TRY(feeder_open(rp));
	return NULL;
}
