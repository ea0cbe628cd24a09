/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: calls made by a thread of a process that did not ask for them. A call restores itself: killing tsdb at any instant leaves a
 * process that goes on as if nothing had been.
 */
#ifndef ATTACH_INJECT_H
#define ATTACH_INJECT_H

#include "attach/ptrace/inferior.h"
#include "attach/remote.h"

/* What must be known of the process before; stays right while it lives and does not exec. */
struct inject_site {
	struct remote_space space;
	struct remote_symbols libc;
	uint64_t libc_base;
	struct remote_symbols program; /* which may have an allocator of its own; empty when it has no names */
	uint64_t program_base;
	uint64_t dlopen, dlopen_flags;
	uint64_t restore_rt; /* the C library's code that ends signal handlers */
	uint64_t errno_word; /* the word of the C library that holds errno's offset from the thread pointer; 0: not found */
};
/* Refuses what has no dlopen() that could be called: musl, static programs. */
struct err *inject_site_read(struct inject_site *s, pid_t pid) TS_CHECK;
/* After a refusal: the dynamic linker is there and has not brought the C library yet. */
bool inject_is_early(const struct inject_site *s);
void inject_site_free(struct inject_site *s);

/* safe.c: at an all-stop, the thread that can best be borrowed; NULL: none can just now, *ret_why says what the most promising one is at. With
 * desperate, threads whose stack cannot be followed to its end count, too. */
struct tracee *safe_pick(struct inferior *inf, const struct inject_site *s, bool desperate, const char **ret_why);

struct inject {
	pid_t tid;
	struct arch_frame frame; /* on the thread's stack */
	struct arch_regs regs;	 /* as they were */
	bool has_errno;
	uint64_t errno_addr;
	uint32_t errno_was;
};
#define INJECT_TEXT_MAX 1024u
/* Puts onto the stack of a stopped thread what it takes to come back. The thread is as it was. */
struct err *inject_prepare(struct inject *j, const struct inject_site *s, struct tracee *t) TS_CHECK;
/* Makes the thread call fn(text, arg). It is to be resumed by the caller; to be called when it is stopped, after inject_prepare() or when
 * inject_is_back(). */
struct err *inject_call(struct inject *j, struct tracee *t, uint64_t fn, const char *text, uint64_t arg) TS_CHECK;
/* In a syscall-stop: whether the call is over, and the thread about to become what it was. */
bool inject_is_back(const struct inject *j, const struct arch_regs *regs);
/* The thread, stopped within the call, waits for a lock, which it may hold itself: makes it what it was, with the call left undone. False: it does something
 * else. */
bool inject_take_back(const struct inject *j, const struct inject_site *s, struct tracee *t);
/* The same, with errno as it was. */
void inject_restore_errno(const struct inject *j);

#endif
