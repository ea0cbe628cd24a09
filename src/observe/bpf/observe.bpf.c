// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The BPF programs of tsdb observe, attached by user-space probes to the driver's and the runtime's
 * entry points. A probe's cookie says what it records, so a few programs serve every entry point.
 * Surprise: this file's licence differs from the rest, because the kernel gives user memory and
 * stacks only to programs under a licence that it knows.
 *
 * Nothing here depends on the kernel's own structures (there is no vmlinux.h), only on pt_regs,
 * whose user-space form is ABI. The ring is read on a timer; a record wakes the reader only when it
 * is the first of its process.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include "observe/bpf/probe.h"

char licence[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20); /* tsdb may change it */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, 4);
	__uint(value_size, OBS_DEPTH * 8);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct obs_settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OBS_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u32);
} procs SEC(".maps");

/* Calls that have not returned yet. */
struct inside_key {
	__u64 task;
	__u64 call;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct inside_key);
	__type(value, struct obs_event);
} inside SEC(".maps");

/* The runtime call that a thread is in. It is taken for over when what is at sp is no longer its
 * return address. */
struct around {
	__u64 caller, host_fn, sp;
	__s32 stack, pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct around);
} runtime SEC(".maps");

struct event_peek {
	struct obs_event e;
	__u8 data[OBS_PEEK_MAX];
};
struct event_deep {
	struct obs_event e;
	__u64 ip[OBS_DEPTH];
};
struct event_name {
	struct obs_event e;
	char name[OBS_NAME_LONG];
};
struct event_short_name {
	struct obs_event e;
	char name[OBS_NAME_SHORT];
};

static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &what);

	if (n)
		__sync_fetch_and_add(n, 1); /* a probe may interrupt another one */
}

/* Room for a record in the ring; NULL: there is none, and a record is lost. */
static __always_inline void *reserve(__u64 size)
{
	void *p = bpf_ringbuf_reserve(&ring, size, 0);

	if (!p)
		count(OBS_COUNT_LOST);
	return p;
}

/* The thread as tsdb sees it; 0: it sees none. */
static __always_inline __u64 task_id(const struct obs_settings *s)
{
	struct bpf_pidns_info ns = {};

	if (!s->ns_ino)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(s->ns_dev, s->ns_ino, &ns, sizeof ns))
		return 0;
	return (__u64)ns.tgid << 32 | ns.pid;
}

/* 0: not this process; else the flags for bpf_ringbuf_submit() in *ret. */
static __always_inline __u64 wanted(__u64 *ret)
{
	__u32 zero = 0, seen = OBS_PROC_SEEN, pid, *p;
	const struct obs_settings *s = bpf_map_lookup_elem(&settings, &zero);
	__u64 task;

	if (!s)
		return 0;
	task = task_id(s);
	pid = task >> 32;
	if (!pid)
		return 0;
	p = bpf_map_lookup_elem(&procs, &pid);
	*ret = BPF_RB_NO_WAKEUP;
	if (p)
		return *p & OBS_PROC_IGNORED ? 0 : task;
	bpf_map_update_elem(&procs, &pid, &seen, BPF_ANY);
	if (s->wake)
		*ret = BPF_RB_FORCE_WAKEUP;
	return task;
}

/* Whether the driver's call of ctx is made by the runtime call that the thread entered last. */
static __always_inline int made_by_runtime(struct obs_event *e, struct pt_regs *ctx, __u64 task)
{
	const struct around *a = bpf_map_lookup_elem(&runtime, &task);
	__u64 caller = 0;

	if (!a || a->sp <= ctx->rsp)
		return 0;
	if (bpf_probe_read_user(&caller, sizeof caller, (const void *)a->sp) || caller != a->caller)
		return 0;
	e->runtime = 1;
	e->caller = a->caller;
	e->host_fn = a->host_fn;
	e->stack = a->stack;
	return 1;
}

/* Every byte of *e is written. */
static __always_inline void fill(struct obs_event *e, struct pt_regs *ctx, __u64 task, __u64 cookie)
{
	e->ns = bpf_ktime_get_ns();
	e->end_ns = 0;
	e->pid = task >> 32;
	e->tid = (__u32)task;
	e->call = OBS_CALL(cookie);
	e->phase = OBS_ENTERED;
	e->runtime = 0;
	e->stack = -ENOENT;
	e->result = 0;
	e->size = 0;
	e->host_fn = 0;
	e->reg[0] = ctx->rdi;
	e->reg[1] = ctx->rsi;
	e->reg[2] = ctx->rdx;
	e->reg[3] = ctx->rcx;
	e->reg[4] = ctx->r8;
	e->reg[5] = ctx->r9;
	if (bpf_probe_read_user(&e->caller, 8 + 8 * OBS_STACK, (const void *)ctx->rsp)) {
		e->caller = 0;
		for (int i = 0; i < OBS_STACK; i++)
			e->stacked[i] = 0;
	}
	e->out[0] = e->out[1] = 0;
	if (!made_by_runtime(e, ctx, task) && cookie & OBS_C_STACK)
		e->stack = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	count(OBS_COUNT_HITS);
}

/* The map has another stack in the place of this one: it goes with the record. */
static __always_inline int send_deep(struct pt_regs *ctx, const struct obs_event *e, __u64 flags)
{
	struct event_deep *d = reserve(sizeof *d);
	long n;

	if (!d)
		return 0;
	d->e = *e;
	n = bpf_get_stack(ctx, d->ip, sizeof d->ip, BPF_F_USER_STACK);
	if (n < 0) {
		count(OBS_COUNT_NO_STACK);
		d->e.stack = -ENOENT;
		n = 0;
	}
	d->e.size = n;
	bpf_ringbuf_submit(d, flags);
	return 0;
}

static __always_inline int send(const struct obs_event *e, __u64 flags)
{
	if (bpf_ringbuf_output(&ring, (void *)e, sizeof *e, flags))
		count(OBS_COUNT_LOST);
	return 0;
}

/* Records that have no room for a stack do without when the map has none. */
static __always_inline void no_deep(struct obs_event *e)
{
	if (e->stack != -EEXIST)
		return;
	e->stack = -ENOENT;
	count(OBS_COUNT_NO_STACK);
}

/* Entry points whose record is complete at the entry, and those of OBS_C_LEAVE. */
SEC("uprobe")
int enter(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), flags, task = wanted(&flags);
	struct obs_event e;

	if (!task)
		return 0;
	fill(&e, ctx, task, cookie);
	if (flags == BPF_RB_FORCE_WAKEUP) { /* at once, while the process lives: its maps are needed
					       to understand it */
		e.phase = OBS_HELLO;
		send(&e, flags);
		e.phase = OBS_ENTERED;
	}
	if (cookie & OBS_C_LEAVE) {
		struct inside_key key = {task, OBS_CALL(cookie)};

		__s32 stack = e.stack;

		no_deep(&e);
		bpf_map_update_elem(&inside, &key, &e, BPF_ANY);
		if (!(cookie & OBS_C_BOTH))
			return 0;
		e.phase = OBS_BEGINS;
		e.stack = stack;
	}
	if (e.stack == -EEXIST && !e.runtime)
		return send_deep(ctx, &e, flags);
	return send(&e, flags);
}

/* A record with room for a structure that the caller adds. NULL: none. */
static __always_inline struct event_peek *begin_peek(
	struct pt_regs *ctx, __u64 cookie, __u64 *flags)
{
	__u64 task = wanted(flags);
	struct event_peek *p = task ? reserve(sizeof *p) : 0;

	if (!p)
		return 0;
	fill(&p->e, ctx, task, cookie);
	no_deep(&p->e);
	return p;
}

/* Entry points that get a structure. */
SEC("uprobe")
int enter_peek(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), flags, from;
	struct event_peek *p = begin_peek(ctx, cookie, &flags);
	__u32 size = OBS_PEEK_SIZE(cookie);

	if (!p)
		return 0;
	from = OBS_PEEK_ARG(cookie) == 1 ? p->e.reg[0] : p->e.reg[1];
	if (!bpf_probe_read_user(p->data, size & 0xff, (const void *)from))
		p->e.size = size & 0xff;
	bpf_ringbuf_submit(p, flags);
	return 0;
}

static __always_inline void look_at_attribute(struct obs_config *c, __u32 i)
{
	struct {
		__u32 id, pad, value[3];
	} a;

	if (i >= c->nattrs ||
		bpf_probe_read_user(&a, sizeof a, (const void *)(c->attrs + i * OBS_ATTR_BYTES)))
		return;
	if (a.id < 64)
		c->bits |= 1ull << a.id;
	if (a.id == OBS_ATTR_COOPERATIVE)
		c->cooperative = a.value[0] != 0;
	if (a.id == OBS_ATTR_CLUSTER) {
		c->cluster[0] = a.value[0];
		c->cluster[1] = a.value[1];
		c->cluster[2] = a.value[2];
	}
}

/* Launches by CUlaunchConfig. */
SEC("uprobe")
int enter_config(struct pt_regs *ctx)
{
	__u64 flags;
	struct event_peek *p = begin_peek(ctx, bpf_get_attach_cookie(ctx), &flags);
	struct obs_config c = {};

	if (!p)
		return 0;
	if (!bpf_probe_read_user(&c, OBS_CONFIG_BYTES, (const void *)ctx->rdi)) {
#pragma unroll
		for (__u32 i = 0; i < OBS_CONFIG_ATTRS; i++)
			look_at_attribute(&c, i);
		p->e.size = sizeof c;
	}
	__builtin_memcpy(p->data, &c, sizeof c);
	bpf_ringbuf_submit(p, flags);
	return 0;
}

static __always_inline __u64 register_of(const struct obs_event *e, __u32 arg)
{
	switch (arg) { /* BPF has no indirect jumps or unbounded indices */
	case 1:
		return e->reg[0];
	case 2:
		return e->reg[1];
	case 3:
		return e->reg[2];
	case 4:
		return e->reg[3];
	case 5:
		return e->reg[4];
	default:
		return e->reg[5];
	}
}

static __always_inline __u64 out_of(const struct obs_event *e, __u32 arg)
{
	__u64 v = 0;

	if (arg)
		bpf_probe_read_user(&v, sizeof v, (const void *)register_of(e, arg));
	return v;
}

/* The name is read when the driver has: before that its page may not be in memory, and a probe
 * cannot wait for it. */
static __always_inline int send_name(struct obs_event *e, __u64 name)
{
	struct event_short_name *s = reserve(sizeof *s);
	struct event_name *l;
	long n;

	if (!s)
		return 0;
	s->e = *e;
	n = bpf_probe_read_user_str(s->name, sizeof s->name, (const void *)name);
	if (n < (long)sizeof s->name) {
		s->e.size = n > 0 ? n : 0;
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
	l = reserve(sizeof *l);
	if (!l)
		return 0;
	l->e = *e;
	n = bpf_probe_read_user_str(l->name, sizeof l->name, (const void *)name);
	l->e.size = n > 0 ? n : 0;
	bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("uretprobe")
int leave(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), flags, task = wanted(&flags), name;
	struct inside_key key = {task, OBS_CALL(cookie)};
	const struct obs_event *was;
	struct obs_event e;

	if (!task)
		return 0;
	was = bpf_map_lookup_elem(&inside, &key);
	if (!was) {
		count(OBS_COUNT_NO_ENTRY);
		return 0;
	}
	e = *was;
	bpf_map_delete_elem(&inside, &key);
	e.end_ns = bpf_ktime_get_ns();
	e.phase = OBS_RETURNS;
	e.result = (__u32)ctx->rax;
	e.out[0] = out_of(&e, OBS_OUT(cookie, 0));
	e.out[1] = out_of(&e, OBS_OUT(cookie, 1));
	if (!OBS_NAME(cookie))
		return send(&e, flags);
	name = register_of(&e, OBS_NAME(cookie));
	if (cookie & OBS_C_NAME_AT && bpf_probe_read_user(&name, sizeof name, (const void *)name))
		name = 0;
	return send_name(&e, name);
}

/* The runtime's entry points: they send nothing, they tell the driver's call that follows on the
 * thread where it came from. */
SEC("uprobe")
int enter_runtime(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), flags, task = wanted(&flags);
	struct around a = {};

	if (!task)
		return 0;
	a.host_fn = OBS_PEEK_ARG(cookie) ? ctx->rdi : 0;
	a.sp = ctx->rsp;
	if (bpf_probe_read_user(&a.caller, sizeof a.caller, (const void *)a.sp))
		return 0;
	a.stack = cookie & OBS_C_STACK ? bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK) : -ENOENT;
	if (a.stack == -EEXIST)
		a.stack = -ENOENT;
	bpf_map_update_elem(&runtime, &task, &a, BPF_ANY);
	return 0;
}
