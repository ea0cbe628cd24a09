/* SPDX-License-Identifier: Apache-2.0
 *
 * Injected calls. All that a thread needs to come back is on its stack before the thread is changed
 * (struct arch_frame). So the whole change is a single write of registers, and the way back needs
 * no help from tsdb.
 */
#include "attach/inject/inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "attach/ptrace/target.h"
#include "base/buf.h"

static void find_errno(struct inject *j, const struct inject_site *s, pid_t pid)
{
	uint64_t offset;

	j->has_errno = s->errno_word && remote_read(pid, s->errno_word, &offset, sizeof(offset));
	if (!j->has_errno)
		return;
	j->errno_addr = arch_thread_pointer(&j->regs) + offset;
	j->has_errno = remote_read(pid, j->errno_addr, &j->errno_was, sizeof(j->errno_was));
}

struct err *inject_prepare(struct inject *j, const struct inject_site *s, struct tracee *t)
{
	const struct arch_regs *regs = tracee_regs(t);
	uint64_t mask;

	*j = (struct inject){.tid = t->tid};
	if (!regs || ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask) != 0)
		return err_new(ERR_SYSTEM, "the registers of thread %d cannot be read", t->tid);
	j->regs = *regs;
	find_errno(j, s, s->space.pid);
	if (!arch_frame_write(t->tid, regs, mask, s->restore_rt, INJECT_TEXT_MAX, &j->frame))
		return err_new(ERR_SYSTEM,
			"the stack of thread %d cannot be written, or its vector registers not read",
			t->tid);
	return NULL;
}

/* The signal mask is set after the registers: if tsdb is killed in between, the call can be
 * interrupted by signals, which is harmless; the thread is never left with signals blocked. */
struct err *inject_call(
	struct inject *j, struct tracee *t, uint64_t fn, const char *text, uint64_t arg)
{
	struct arch_regs r = j->regs;
	uint64_t all = ~0ull;
	size_t n = strlen(text) + 1;

	BUG_ON(n > INJECT_TEXT_MAX);
	if (!remote_write(t->tid, j->frame.text, text, n))
		return err_new(ERR_SYSTEM, "the stack of thread %d cannot be written", j->tid);
	arch_call(&r, &j->frame, fn, j->frame.text, arg);
	if (!arch_regs_write(t->tid, &r))
		return err_sys(errno, "the registers of thread %d cannot be set", j->tid);
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(all), &all);
	t->has_regs = false;
	return NULL;
}

bool inject_is_back(const struct inject *j, const struct arch_regs *regs)
{
	return arch_call_is_back(regs, &j->frame);
}

bool inject_take_back(const struct inject *j, const struct inject_site *s, struct tracee *t)
{
	const struct arch_regs *now = tracee_regs(t);
	struct arch_regs r = j->regs;
	struct arch_syscall at;

	if (!now)
		return false;
	at = arch_syscall(now);
	if (at.nr != SYS_futex || at.result > -512 || at.result < -516)
		return false;
	arch_call_over(&r, &j->frame, s->restore_rt);
	if (!arch_regs_write(t->tid, &r))
		return false;
	t->has_regs = false;
	inject_restore_errno(j);
	return true;
}

void inject_restore_errno(const struct inject *j)
{
	if (j->has_errno)
		(void)remote_write(j->tid, j->errno_addr, &j->errno_was, sizeof(j->errno_was));
}

/* ---- what there is to call ---- */

static bool is_libc(const char *name)
{
	return !strcmp(name, "libc.so.6") || (!strncmp(name, "libc-2.", 7) && strstr(name, ".so"));
}

static bool is_libdl(const char *name)
{
	return !strcmp(name, "libdl.so.2") ||
	       (!strncmp(name, "libdl-2.", 8) && strstr(name, ".so"));
}

/* On Debian the name of musl's loader is a link to libc.so, which with glibc is a text for the
 * linker. */
static bool is_musl(const char *name)
{
	return !strncmp(name, "ld-musl", 7) || !strncmp(name, "libc.musl", 9) ||
	       !strcmp(name, "libc.so");
}

static struct err *no_libc(struct inject_site *s)
{
	if (remote_find(&s->space, is_musl))
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot attach to process %d: its C library is musl, which tsdb does not support",
				s->space.pid),
			"run the program on a system with glibc 2.31 or later");
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"cannot attach to process %d: it is a static program (no C library is mapped), so the agent cannot be loaded into it",
			s->space.pid),
		"link the program dynamically");
}

static uint64_t find_restore(const struct inject_site *s, const struct remote_map *libc)
{
	uint64_t found = 0;

	for (const struct remote_map *m = libc;
		!found && m < s->space.maps + s->space.n && m->inode == libc->inode; m++) {
		size_t n = m->end - m->start;
		uint8_t *bytes, *at;

		if (!m->x || n > 64u << 20)
			continue;
		bytes = xcalloc(1, n);
		at = remote_read(s->space.pid, m->start, bytes, n)
			     ? memmem(bytes, n, arch_sigreturn_code, arch_sigreturn_bytes)
			     : NULL;
		found = at ? m->start + (uint64_t)(at - bytes) : 0;
		free(bytes);
	}
	return found;
}

/* dlopen() is in the C library since 2.34; before that it is in libdl, which may not be loaded, or
 * behind a private name. */
static void find_dlopen(struct inject_site *s)
{
	const struct remote_map *dl = remote_find(&s->space, is_libdl);
	struct remote_symbols sym;

	s->dlopen_flags = 2; /* RTLD_NOW */
	s->dlopen = remote_symbol_addr(&s->libc, "dlopen");
	if (!s->dlopen && dl && remote_symbols_read(&sym, s->space.pid, dl->start)) {
		s->dlopen = remote_symbol_addr(&sym, "dlopen");
		remote_symbols_free(&sym);
	}
	if (s->dlopen)
		return;
	s->dlopen = remote_symbol_addr(&s->libc, "__libc_dlopen_mode");
	s->dlopen_flags = 2 | 0x80000000u; /* __RTLD_DLOPEN */
}

static void read_program(struct inject_site *s, pid_t pid)
{
	char path[4096];

	if (!target_program(pid, path, sizeof(path)))
		return;
	for (unsigned i = 0; i < s->space.n; i++)
		if (!s->space.maps[i].offset && !strcmp(s->space.maps[i].path, path)) {
			s->program_base = s->space.maps[i].start;
			(void)remote_symbols_read(&s->program, pid, s->program_base);
			return;
		}
}

struct err *inject_site_read(struct inject_site *s, pid_t pid)
{
	const struct remote_map *libc;
	uint64_t errno_location;

	*s = (struct inject_site){0};
	TRY(remote_space_read(&s->space, pid));
	libc = remote_find(&s->space, is_libc);
	if (!libc)
		return no_libc(s);
	s->libc_base = libc->start;
	if (!remote_symbols_read(&s->libc, pid, libc->start))
		return err_new(ERR_UNSUPPORTED,
			"cannot attach to process %d: the symbols of its %s cannot be read", pid,
			remote_name(libc));
	read_program(s, pid);
	find_dlopen(s);
	s->restore_rt = find_restore(s, libc);
	errno_location = remote_symbol_addr(&s->libc, "__errno_location");
	s->errno_word = errno_location ? arch_errno_word(pid, errno_location) : 0;
	if (!s->dlopen || !s->restore_rt)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot attach to process %d: its C library (%s) is not one that tsdb knows",
				pid, libc->path),
			"glibc 2.31 and later are supported");
	return NULL;
}

static bool is_linker(const char *name)
{
	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5);
}

bool inject_is_early(const struct inject_site *s)
{
	return remote_find(&s->space, is_linker) &&
	       (!remote_find(&s->space, is_libc) || !s->dlopen || !s->restore_rt);
}

void inject_site_free(struct inject_site *s)
{
	remote_space_free(&s->space);
	remote_symbols_free(&s->libc);
	remote_symbols_free(&s->program);
}
