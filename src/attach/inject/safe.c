/* SPDX-License-Identifier: Apache-2.0
 *
 * Which thread can be used for a call of dlopen(). The best is one that sleeps in a system call
 * that neither malloc() nor the dynamic linker makes. A thread in the middle of either, or in a
 * signal handler, would meet locks and lists in a half-done state, so it is never used. Neither are
 * threads on stacks of their own making (fibres, goroutines): there may be no room below.
 */
#include "attach/inject/inject.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "attach/unwind/frames.h"
#include "gpucode/gpu-files.h"

#define ROOM (96u << 10) /* stack that loading a library takes, and more */
#define FRAMES_MAX 256u
#define LOOKS_MAX 12u /* threads whose stacks are followed at one stop */

enum rank { RANK_ASLEEP, RANK_TIMED, RANK_RUNNING, RANK_DRIVER, RANK_UNSURE, RANK_NEVER };

struct look {
	struct tracee *t;
	enum rank rank;
	const char *why;
};

/* ---- by registers ---- */

static bool is_restart(long result)
{
	return result <= -512 && result >= -516 && result != -515;
}

static bool one_of(long nr, const short *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == nr)
			return true;
	return false;
}

static enum rank rank_syscall(const struct arch_syscall *call, const char **why)
{
	static const short good[] = {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_select,
		SYS_pselect6, SYS_ppoll, SYS_nanosleep, SYS_clock_nanosleep, SYS_poll,
		SYS_epoll_wait, SYS_epoll_pwait, SYS_accept, SYS_accept4, SYS_connect, SYS_recvfrom,
		SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_wait4, SYS_waitid, SYS_pause,
		SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_futex, SYS_flock, SYS_fcntl, SYS_semop,
		SYS_msgrcv, SYS_ioctl, SYS_restart_syscall};
	bool relative = call->result == -516; /* ERESTART_RESTARTBLOCK */

	*why = "in a system call that loading a library could disturb";
	if (!one_of(call->nr, good, sizeof(good) / sizeof(*good)))
		return RANK_NEVER;
	if (call->nr == SYS_restart_syscall) /* which one it was is not known any more */
		return RANK_NEVER;
	*why = "asleep for a time";
	if (relative && call->nr == SYS_poll)
		return (int)call->arg[2] < 0 ? RANK_ASLEEP : RANK_TIMED;
	if (relative && call->nr == SYS_nanosleep)
		return call->arg[1] ? RANK_ASLEEP : RANK_TIMED;
	if (relative && call->nr == SYS_clock_nanosleep)
		return call->arg[3] ? RANK_ASLEEP : RANK_TIMED;
	return RANK_ASLEEP;
}

/* In a restartable sequence (rseq(2)) the kernel decides where it goes on. */
static bool in_rseq(pid_t tid)
{
#ifdef PTRACE_GET_RSEQ_CONFIGURATION
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} c;
	uint64_t cs = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(c), &c) != sizeof(c) || !c.pointer)
		return false;
	return remote_read(tid, c.pointer + 8, &cs, sizeof(cs)) && cs;
#else
	return false;
#endif
}

static bool has_room(const struct inject_site *s, const struct inferior *inf,
	const struct tracee *t, const struct arch_regs *r)
{
	const uint64_t sp = arch_sp(r), own = arch_thread_pointer(r);
	const struct remote_map *m = remote_map_at(&s->space, sp);

	if (!m || !m->w)
		return false;
	if (t->tid == inf->pid && !strcmp(m->path, "[stack]"))
		return sp - m->start >= 32768; /* the rest is made when it is needed */
	/* The C library keeps a thread's own data at the top of its stack. */
	return own >= sp && own < m->end && sp - m->start >= ROOM;
}

static struct look look_at(
	const struct inject_site *s, const struct inferior *inf, struct tracee *t)
{
	struct look l = {t, RANK_NEVER, "not stopped"};
	const struct arch_regs *r;
	struct arch_syscall call;

	if (t->running || t->limbo || t->has_pending || t->group_stop || t->fresh || t->inject ||
		!(r = tracee_regs(t)))
		return l;
	l.why = "on a stack of its own making, or one that is nearly full";
	if (!has_room(s, inf, t, r))
		return l;
	l.why = "running 32-bit code";
	if (!arch_runs_64_bit(r))
		return l;
	call = arch_syscall(r);
	if (call.nr >= 0 && is_restart(call.result)) {
		l.rank = rank_syscall(&call, &l.why);
		return l;
	}
	l.why = "in a restartable sequence";
	if (in_rseq(t->tid))
		return l;
	l.rank = RANK_RUNNING;
	l.why = "running";
	return l;
}

/* ---- by frames ---- */

static bool is_linker(const char *name)
{
	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5) ||
	       !strncmp(name, "ld.so", 5);
}

static bool is_allocator(const char *name)
{
	return !strncmp(name, "lib", 3) && (strstr(name, "malloc") || strstr(name, "hoard"));
}

static bool is_bad_function(const char *name)
{
	static const char *const bad[] = {"malloc", "free", "calloc", "realloc", "reallocarray",
		"memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc", "cfree",
		"malloc_trim", "malloc_usable_size", "malloc_info", "mallinfo", "mallinfo2",
		"dl_iterate_phdr", "dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose", "dladdr",
		"dladdr1", "dlerror", "dlinfo", "__libc_dlopen_mode", "__libc_dlsym",
		"__libc_dlclose", "pthread_create", "__register_atfork", "pthread_atfork", "fork",
		"_Fork", "vfork", "exit", "quick_exit", "abort", "__cxa_atexit", "__cxa_finalize",
		"__cxa_thread_atexit_impl", "setenv", "unsetenv", "putenv", "clearenv",
		"posix_spawn", "posix_spawnp", "system", "popen", "pthread_exit"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!strcmp(name, bad[i]))
			return true;
	return false;
}

static void worse(struct look *l, enum rank rank, const char *why)
{
	if (rank > l->rank) {
		l->rank = rank;
		l->why = why;
	}
}

static void judge_frame(const struct inject_site *s, const struct raw_frame *f, unsigned i,
	struct look *l, bool *ret_libc)
{
	uint64_t at = i ? f->pc - 1 : f->pc;
	const struct remote_map *m = remote_map_at(&s->space, at), *base;
	const char *name, *function;

	*ret_libc = false;
	if (f->pc == s->restore_rt) {
		worse(l, RANK_NEVER, "in a signal handler");
		return;
	}
	if (!m || m->path[0] != '/') {
		if (!m || strcmp(m->path, "[vdso]"))
			worse(l, RANK_UNSURE, "in code that is in no file");
		return;
	}
	name = remote_name(m);
	if (is_linker(name))
		worse(l, RANK_NEVER, "in the dynamic linker");
	else if (is_allocator(name))
		worse(l, RANK_NEVER, "in its memory allocator");
	else if (!strcmp(name, "libtsdb-agent.so"))
		worse(l, RANK_NEVER, "in the agent, which still serves an earlier debugger");
	else if (gpu_library_is(name, GPU_DRIVER | GPU_DRIVER_PART | GPU_HIP))
		worse(l, RANK_DRIVER, "in the GPU driver");
	base = remote_base(&s->space, m);
	*ret_libc = base->start == s->libc_base;
	if (!*ret_libc && base->start != s->program_base)
		return;
	function = remote_symbol_at(*ret_libc ? &s->libc : &s->program, at);
	if (function && is_bad_function(function))
		worse(l, RANK_NEVER,
			"in the C library's memory allocator, loader or process functions");
	else if (!function && i == 0 && *ret_libc && l->rank == RANK_RUNNING)
		worse(l, RANK_UNSURE, "inside the C library");
}

static void judge_stack(struct inferior *inf, const struct inject_site *s, struct look *l)
{
	struct raw_frame *f;
	unsigned n;
	bool libc[2] = {false, false}, program = false;
	struct err *e = unwind_raw(inf, l->t->tid, FRAMES_MAX, &f, &n);

	if (e) {
		err_free(e);
		worse(l, RANK_UNSURE, "on a stack that cannot be followed");
		return;
	}
	for (unsigned i = 0; i < n && l->rank != RANK_NEVER; i++) {
		libc[0] = libc[1];
		judge_frame(s, &f[i], i, l, &libc[1]);
		program |= !libc[1];
	}
	free(f);
	/* A thread that begins or ends does not yet, or no longer, have all that the C library
	 * needs. */
	if (!program)
		worse(l, RANK_NEVER, "at a thread's beginning or end");
	/* A stack ends where the C library made the thread, or one further out, in _start. */
	if (n == FRAMES_MAX || (!libc[0] && !libc[1]))
		worse(l, RANK_UNSURE, "on a stack that cannot be followed to its end");
}

static int by_rank(const void *a, const void *b)
{
	const struct look *x = a, *y = b;

	return x->rank != y->rank ? (int)x->rank - (int)y->rank : x->t->tid - y->t->tid;
}

struct tracee *safe_pick(
	struct inferior *inf, const struct inject_site *s, bool desperate, const char **ret_why)
{
	struct look *looks = xcalloc(inf->ntracees + 1, sizeof(*looks)),
		    best = {NULL, RANK_NEVER, "not there"};
	unsigned n = inf->ntracees;

	for (unsigned i = 0; i < n; i++)
		looks[i] = look_at(s, inf, inf->tracees[i]);
	qsort(looks, n, sizeof(*looks), by_rank);
	*ret_why = n ? looks[0].why : best.why;
	for (unsigned i = 0; i < n && i < LOOKS_MAX && looks[i].rank < best.rank; i++) {
		judge_stack(inf, s, &looks[i]);
		if (looks[i].rank < best.rank)
			best = looks[i];
		else if (!best.t)
			*ret_why = looks[i].why;
	}
	free(looks);
	if (best.t)
		*ret_why = best.why;
	return best.rank < RANK_UNSURE || (desperate && best.rank == RANK_UNSURE) ? best.t : NULL;
}
