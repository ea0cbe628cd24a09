/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: what depends on the processor that the inferior runs on. Everything
 * else in the room knows registers by these names only. x86-64.c is the one that exists; another
 * processor is another file with the same functions, and its lines in this header.
 */
#ifndef ATTACH_ARCH_H
#define ATTACH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* ---- registers of a stopped thread ---- */

struct arch_regs {
	struct user_regs_struct user;
};
bool arch_regs_read(pid_t tid, struct arch_regs *ret);
bool arch_regs_write(pid_t tid, const struct arch_regs *r);

uint64_t arch_pc(const struct arch_regs *r);
uint64_t arch_sp(const struct arch_regs *r);
uint64_t arch_thread_pointer(const struct arch_regs *r); /* base of the thread's own variables */
bool arch_runs_64_bit(const struct arch_regs *r);	 /* not in a 32-bit mode */

/* By DWARF's numbers. */
enum { ARCH_DWARF_REGISTERS = 17, ARCH_DWARF_SP = 7, ARCH_DWARF_PC = 16 };
/* Those that a called function gives back as they were, and the program counter: a bit each. */
#define ARCH_DWARF_PRESERVED (1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16)
/* A call puts the return address on top of the stack: so many bytes. */
enum { ARCH_CALL_PUSHES = 8 };
bool arch_dwarf_register(const struct arch_regs *r, unsigned number, uint64_t *ret);

/* ---- traps ---- */

/* Whether the stopped thread has just executed the trap instruction at that address. */
bool arch_is_behind_trap(pid_t tid, uint64_t trap);

/* ---- system calls ---- */

struct arch_syscall {
	long nr;     /* -1: the thread is in none */
	long result; /* a kernel's -ERESTART... where a stop interrupted it */
	uint64_t arg[6];
};
struct arch_syscall arch_syscall(const struct arch_regs *r);
/* The result that the stopped thread is about to see. */
void arch_syscall_answer(pid_t tid, long result);
/*
 * A system call that was interrupted by our stop is made again when the thread goes on: as the
 * kernel does it, but where that would go on with a rest of time, which only the kernel knows, the
 * call begins anew; sleeps that tell the rest are given it. Other threads: unchanged.
 */
void arch_syscall_again(struct arch_regs *r);

/* ---- calls into the inferior ---- */

/*
 * What a signal handler's frame is for the kernel, this frame is for us: below what the thread's
 * function may use under its stack pointer lie all its registers, its vector state and its signal
 * mask, in the layout of rt_sigreturn(2), and the called function returns to the C library's code
 * that makes this system call.
 */
struct arch_frame {
	uint64_t sp;   /* the stack pointer when the called function begins */
	uint64_t text; /* as many bytes as were asked for, for an argument */
};
/* Writes it onto the stack of the stopped thread. False: state or stack cannot be read, written. */
bool arch_frame_write(pid_t tid, const struct arch_regs *r, uint64_t mask, uint64_t return_to,
	size_t text_bytes, struct arch_frame *ret);
/* Makes r those of a thread that calls fn(a, b) on the frame. */
void arch_call(struct arch_regs *r, const struct arch_frame *f, uint64_t fn, uint64_t a, uint64_t b);
/* Makes r those of a thread whose called function has just returned. */
void arch_call_over(struct arch_regs *r, const struct arch_frame *f, uint64_t return_to);
/* In a syscall-stop: whether the thread is about to become what it was. */
bool arch_call_is_back(const struct arch_regs *r, const struct arch_frame *f);

/* The C library's code that ends signal handlers: these instructions. */
extern const uint8_t arch_sigreturn_code[];
extern const size_t arch_sigreturn_bytes;
/* The word of process pid that holds errno's offset from the thread pointer, by the code of
 * __errno_location() at that address; 0: it is not the code that we know. */
uint64_t arch_errno_word(pid_t pid, uint64_t errno_location);

#endif
