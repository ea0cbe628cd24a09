/* SPDX-License-Identifier: Apache-2.0
 *
 * One observed process, see observed.h. Surprise: its addresses are resolved when its records come,
 * not when they are shown, because its maps disappear when it ends.
 */
#include "config.h"
#include "observe/decode/kernel-names.h"
#include "observe/process/observed.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/proc-read.h"
#include "state/state.h"

#define FLUSH_EVERY_NS 700000000u

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- what /proc tells --- */

static char *proc_text(pid_t pid, const char *name)
{
	struct buf b = BUF_INIT;

	(void)proc_read(pid, name, 4096, &b);
	for (size_t i = 0; i < b.len; i++)
		b.data[i] = b.data[i] ? b.data[i] : ' ';
	while (b.len && (b.data[b.len - 1] == ' ' || b.data[b.len - 1] == '\n'))
		b.len--;
	return buf_steal(&b);
}

static void saw_driver(void *arg, const char *path)
{
	struct observe_process *p = arg;

	p->soft |= strstr(path, "/softgpu/") != NULL;
}

/* --- stacks --- */

/* FNV-1a over whole words: only to find equal stacks again. */
static uint64_t hash_words(uint64_t h, const uint64_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ w[i]) * UINT64_C(0x100000001b3) ^ h >> 29;
	return h ? h : 1;
}

/* At a function's entry a walk by frame pointers skips the caller, whose frame is the current one:
 * the caller comes from the return address. (Linux 6.11 and later do this themselves.) */
static unsigned whole_stack(uint64_t *dst, uint64_t caller, const uint64_t *ip, unsigned n)
{
	unsigned k = 0, i = 1; /* ip[0] is the entry point */

	if (caller)
		dst[k++] = caller;
	if (i < n && ip[i] == caller)
		i++;
	while (i < n && ip[i] < UINT64_C(1) << 47) /* a frame pointer that is none ends it */
		dst[k++] = ip[i++];
	return k;
}

static uint32_t new_stack(struct observe_process *p, const uint64_t *pc, unsigned n)
{
	struct observe_stack *s;

	p->stacks = xrealloc(p->stacks, (p->nstacks + 1) * sizeof *p->stacks);
	s = &p->stacks[p->nstacks++];
	*s = (struct observe_stack){.frames = xcalloc(n, sizeof *s->frames), .n = n};
	for (unsigned i = 0; i < n; i++) {
		s->frames[i] = observe_maps_frame(p->maps, pc[i]);
		if (s->frames[i].module != SBT_NO_ID)
			s->frames[i].offset--; /* the call, not what follows it */
	}
	return p->nstacks;
}

/* Where code has no frame pointers the walk goes wrong: an address without code, and all frames
 * above it, are dropped. */
static unsigned code_only(struct observe_process *p, const uint64_t *pc, unsigned n)
{
	unsigned k = 1;

	while (k < n && observe_maps_code(p->maps, pc[k] - 1))
		k++;
	return k;
}

/* Finds an equal stack. Stacks that were cut may be equal. */
static uint32_t known_stack(struct observe_process *p, const uint64_t *pc, unsigned n)
{
	uint64_t key = hash_words(n, pc, n), known = handles_get(&p->stack_ids, key);

	if (!known) {
		known = new_stack(p, pc, n);
		handles_put(&p->stack_ids, key, known);
	}
	return (uint32_t)known;
}

/* The stack of a record: index + 1, 0 for none. */
static uint32_t stack_of(
	struct observe_process *p, const struct obs_event *e, const uint64_t *data, size_t n)
{
	bool here = e->stack == -EEXIST && !e->runtime; /* the kernel's map had no room for it */
	uint64_t ip[OBS_DEPTH], pc[OBS_DEPTH + 1], key, known;
	unsigned depth, k;

	if (e->stack < 0 && !here && !e->caller)
		return 0;
	key = here ? hash_words(e->caller, data, n / 8)
		   : handles_key(0x40, ((uint64_t)(uint32_t)e->stack << 47) ^ e->caller);
	known = handles_get(&p->stack_ids, key);
	if (known)
		return (uint32_t)known;
	if (here)
		memcpy(ip, data, n < sizeof ip ? n : sizeof ip);
	depth = here			     ? (unsigned)(n / 8 < OBS_DEPTH ? n / 8 : OBS_DEPTH)
		: p->probes && e->stack >= 0 ? probes_stack(p->probes, e->stack, ip)
					     : 0;
	k = whole_stack(pc, e->caller, ip, depth);
	if (!k)
		return 0;
	known = known_stack(p, pc, code_only(p, pc, k));
	handles_put(&p->stack_ids, key, known);
	return (uint32_t)known;
}

/* --- the trace --- */

static struct err *open_trace(struct observe_process *p)
{
	struct sbt_meta m = {.program = p->args,
		.tsdb = PACKAGE_VERSION,
		.start_ns = p->first_ns,
		.pid = (uint32_t)p->pid,
		.soft = p->soft,
		.stacks = true,
		.observed = true,
		.gpu = ""};
	char host[300] = "", link[64], cwd[4096];
	struct utsname u;
	ssize_t n;

	if (!uname(&u))
		snprintf(host, sizeof host, "%s %s", u.nodename, u.release);
	m.host = host;
	snprintf(link, sizeof link, "/proc/%d/cwd", (int)p->pid);
	n = readlink(link, cwd, sizeof cwd - 1);
	cwd[n > 0 ? n : 0] = 0;
	if (n <= 0 && p->started && !getcwd(cwd, sizeof cwd))
		cwd[0] = 0;
	m.cwd = cwd;
	TRY(sbt_writer_open(&p->w, p->path, &m));
	p->state = state_new();
	return NULL;
}

static struct err *module_index(struct observe_process *p, uint32_t module, uint32_t *ret)
{
	struct sbt_host_module m;

	if (module >= p->nmodules) {
		p->modules = xrealloc(p->modules, (module + 1) * sizeof *p->modules);
		memset(p->modules + p->nmodules, 0,
			(module + 1 - p->nmodules) * sizeof *p->modules);
		p->nmodules = module + 1;
	}
	if (!p->modules[module]) {
		BUG_ON(!observe_maps_module(p->maps, module, &m));
		TRY(sbt_writer_module(p->w, m.path, m.build_id, ret));
		p->modules[module] = *ret + 1;
	}
	*ret = p->modules[module] - 1;
	return NULL;
}

static struct err *write_stack(struct observe_process *p, uint32_t id)
{
	struct observe_stack *s = id ? &p->stacks[id - 1] : NULL;
	struct sbt_frame frames[OBS_DEPTH + 1];

	if (!s || s->written)
		return NULL;
	memcpy(frames, s->frames, s->n * sizeof *frames);
	for (unsigned i = 0; i < s->n; i++) {
		if (frames[i].module != SBT_NO_ID)
			TRY(module_index(p, frames[i].module, &frames[i].module));
	}
	s->written = true;
	return sbt_writer_stack(p->w, id, frames, s->n);
}

static struct err *write_keyframe(struct observe_process *p, uint64_t seq)
{
	struct buf frame = BUF_INIT;
	struct err *e;

	if (sbt_writer_since_keyframe(p->w) < state_keyframe_every(p->state))
		return NULL;
	state_encode(p->state, &frame);
	e = sbt_writer_keyframe(p->w, seq, frame.data, frame.len);
	buf_free(&frame);
	return e;
}

static struct err *write_command(struct observe_process *p, const struct sbt_cmd *c)
{
	if (!p->w)
		TRY(open_trace(p));
	TRY(write_stack(p, c->stack));
	TRY(sbt_writer_cmd(p->w, c));
	TRY(state_apply(p->state, c));
	return write_keyframe(p, c->seq);
}

/* --- records --- */

static struct err *on_command(void *arg, const struct sbt_cmd *c)
{
	struct observe_process *p = arg;

	if (!p->first_ns)
		p->first_ns = c->host_ns;
	p->commands++;
	observe_stats_take(&p->stats, c);
	return p->path ? write_command(p, c) : NULL;
}

static const char *on_host_fn(void *arg, uint64_t addr)
{
	struct observe_process *p = arg;

	return observe_maps_function(p->maps, addr);
}

/* The drivers whose records of kernels were seen to be as kernel-names.h says. The file is mapped
 * under its own name, with the version. */
static const char *on_kernel_name(void *arg, uint64_t handle)
{
	struct observe_process *p = arg;

	return kernel_names_get(
		p->kernel_names, handle, observe_maps_uses(p->maps, "libcuda.so.580."));
}

static void on_kernel_told(void *arg, uint64_t handle, const char *name)
{
	struct observe_process *p = arg;

	kernel_names_told(p->kernel_names, handle, name);
}

static const struct observe_decoder_ops ops = {
	on_command, on_host_fn, on_kernel_name, on_kernel_told};

/* A program that tsdb started may have ended by now, but its name is known. */
static void name_after(struct observe_process *p, char *const *argv)
{
	struct buf b = BUF_INIT;

	p->started = true;
	if (!*p->name) {
		free(p->name);
		p->name = xstrdup(file_name_of(argv[0]));
	}
	if (*p->args)
		return;
	for (unsigned i = 0; argv[i]; i++)
		buf_printf(&b, "%s%s", i ? " " : "", argv[i]);
	free(p->args);
	p->args = buf_steal(&b);
}

struct observe_process *observe_process_new(pid_t pid, struct probes *probes, const char *path,
	char *const *argv, struct mapped *mapped)
{
	struct observe_process *p = xcalloc(1, sizeof *p);

	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p->name = proc_text(pid, "comm");
	p->args = proc_text(pid, "cmdline");
	if (argv)
		name_after(p, argv);
	p->kernel_names = kernel_names_new(pid);
	p->probes = probes;
	p->path = path ? xstrdup(path) : NULL;
	p->maps = observe_maps_new(pid, NULL, mapped);
	observe_maps_read(p->maps);
	observe_maps_files(p->maps, "libcuda.so", saw_driver, p);
	p->decoder = observe_decoder_new(
		&ops, p, clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC), argv != NULL);
	observe_stats_init(&p->stats, clock_ns(CLOCK_MONOTONIC));
	return p;
}

struct err *observe_process_end(struct observe_process *p, uint64_t lost)
{
	struct sbt_writer *w = p->w;
	struct err *e = NULL, *closing;

	if (!w)
		return NULL;
	p->w = NULL;
	if (lost)
		e = sbt_writer_lost(w, p->commands, lost);
	closing = sbt_writer_close(w);
	if (!e)
		return closing;
	err_free(closing);
	return e;
}

void observe_process_free(struct observe_process *p)
{
	if (!p)
		return;
	err_free(observe_process_end(p, 0));
	for (unsigned i = 0; i < p->nstacks; i++)
		free(p->stacks[i].frames);
	free(p->stacks);
	handles_free(&p->stack_ids);
	observe_decoder_free(p->decoder);
	kernel_names_free(p->kernel_names);
	observe_stats_free(&p->stats);
	observe_maps_free(p->maps);
	if (p->state)
		state_free(p->state);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p->modules);
	free(p->name);
	free(p->args);
	free(p->path);
	free(p);
}

struct err *observe_process_take(struct observe_process *p, const void *record, size_t n)
{
	const void *data = NULL;
	size_t size = 0;
	const struct obs_event *e = observe_event(record, n, &data, &size);

	return observe_decoder_take(
		p->decoder, record, n, e && e->phase != OBS_HELLO ? stack_of(p, e, data, size) : 0);
}

struct err *observe_process_tick(struct observe_process *p, uint64_t now_ns)
{
	if (!p->w || now_ns - p->flushed_ns < FLUSH_EVERY_NS)
		return NULL;
	p->flushed_ns = now_ns;
	return sbt_writer_flush(p->w);
}

bool observe_process_ended(struct observe_process *p)
{
	struct pollfd f = {.fd = p->pidfd, .events = POLLIN};

	if (!p->ended)
		p->ended = p->pidfd >= 0 ? poll(&f, 1, 0) == 1 : kill(p->pid, 0) && errno == ESRCH;
	return p->ended;
}
