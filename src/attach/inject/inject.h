/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: makes a thread of a running process call a function. The call
 * restores the thread by itself: if tsdb is killed at any moment, the process goes on as if nothing
 * had happened.
 */
#ifndef ATTACH_INJECT_H
#define ATTACH_INJECT_H

#include "attach/ptrace/inferior.h"
#include "attach/remote.h"

/* What must be known of the process beforehand; valid while it lives and does not exec. */
struct inject_site {
	struct remote_space space;
	struct remote_symbols libc;
	uint64_t libc_base;
	struct remote_symbols
		program; /* which may have an allocator of its own; empty when it has no names */
	uint64_t program_base;
	uint64_t dlopen, dlopen_flags;
	uint64_t restore_rt; /* the C library's code that ends signal handlers */
	uint64_t errno_word; /* the word of the C library that holds errno's offset from the thread
				pointer; 0: not found */
};
/* Refuses a process without a dlopen() that can be called: musl, static programs. */
struct err *inject_site_read(struct inject_site *s, pid_t pid) TS_CHECK;
/* After a refusal: whether the dynamic linker is there and has not loaded the C library yet. */
bool inject_is_early(const struct inject_site *s);
void inject_site_free(struct inject_site *s);

/* safe.c: at an all-stop, the best thread for a call; NULL: there is none now, and *ret_why says
 * where the most promising one is. With desperate, threads whose stacks cannot be followed to their
 * ends count, too. */
struct tracee *safe_pick(
	struct inferior *inf, const struct inject_site *s, bool desperate, const char **ret_why);

struct inject {
	pid_t tid;
	struct arch_frame frame; /* on the thread's stack */
	struct arch_regs regs;	 /* as they were */
	bool has_errno;
	uint64_t errno_addr;
	uint32_t errno_was;
};
#define INJECT_TEXT_MAX 1024u
/* Writes onto the stack of a stopped thread what it needs to come back. The thread itself does not
 * change. */
struct err *inject_prepare(
	struct inject *j, const struct inject_site *s, struct tracee *t) TS_CHECK;
/* Makes the thread call fn(text, arg); the caller resumes it. Call this when the thread is stopped,
 * after inject_prepare() or when inject_is_back(). */
struct err *inject_call(
	struct inject *j, struct tracee *t, uint64_t fn, const char *text, uint64_t arg) TS_CHECK;
/* In a syscall-stop: whether the call is over and the thread is about to restore its old state. */
bool inject_is_back(const struct inject *j, const struct arch_regs *regs);
/* For a thread that is stopped within the call and waits for a lock, which it may hold itself:
 * restores the thread and undoes the call. Returns false if it does something else. */
bool inject_take_back(const struct inject *j, const struct inject_site *s, struct tracee *t);
/* Also restores errno. */
void inject_restore_errno(const struct inject *j);

#endif
