/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: what depends on the processor that the inferior runs on. The rest of
 * the room uses registers only by these names. x86-64.c is the only implementation; another
 * processor needs another file with the same functions, and its lines in this header.
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

/* DWARF's register numbers. */
enum { ARCH_DWARF_REGISTERS = 17, ARCH_DWARF_SP = 7, ARCH_DWARF_PC = 16 };
/* Registers that a called function preserves, and the program counter: one bit each. */
#define ARCH_DWARF_PRESERVED (1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16)
/* How many bytes a call pushes onto the stack: the return address. */
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
/* The system call that the thread makes next: code is what lies at its program counter. False: it
 * makes none. */
enum { ARCH_SYSCALL_BYTES = 2 };
bool arch_syscall_ahead(const struct arch_regs *r, const uint8_t code[ARCH_SYSCALL_BYTES],
	struct arch_syscall *ret);
/* Sets the result of the system call that the stopped thread is in. */
void arch_syscall_answer(pid_t tid, long result);
/* Makes a system call that tsdb's stop interrupted happen again when the thread goes on, as the
 * kernel does. Where the kernel would continue with the remaining time, which only it knows, the
 * call begins anew; sleeps that report the remaining time get it. Other threads stay unchanged. */
void arch_syscall_again(struct arch_regs *r);

/* ---- calls into the inferior ---- */

/* The frame of an injected call. It is like a signal handler's frame: below the part of the stack
 * that the thread's function may use it holds all registers, the vector state and the signal mask,
 * in the layout of rt_sigreturn(2), and the called function returns to the C library's code that
 * makes this system call. */
struct arch_frame {
	uint64_t sp;   /* the stack pointer when the called function begins */
	uint64_t text; /* room of the requested size, for a text argument */
};
/* Writes the frame onto the stack of the stopped thread. Returns false if state or stack cannot be
 * read or written. */
bool arch_frame_write(pid_t tid, const struct arch_regs *r, uint64_t mask, uint64_t return_to,
	size_t text_bytes, struct arch_frame *ret);
/* Changes r so that the thread calls fn(a, b) on the frame. */
void arch_call(
	struct arch_regs *r, const struct arch_frame *f, uint64_t fn, uint64_t a, uint64_t b);
/* Changes r to what it is when the called function has just returned. */
void arch_call_over(struct arch_regs *r, const struct arch_frame *f, uint64_t return_to);
/* In a syscall-stop: whether the thread is about to restore its old state. */
bool arch_call_is_back(const struct arch_regs *r, const struct arch_frame *f);

/* The C library's code that ends signal handlers: these instructions. */
extern const uint8_t arch_sigreturn_code[];
extern const size_t arch_sigreturn_bytes;
/* The address in process pid of the word that holds errno's offset from the thread pointer, found
 * from the code of __errno_location() at that address; 0: that code is not known. */
uint64_t arch_errno_word(pid_t pid, uint64_t errno_location);

#endif
