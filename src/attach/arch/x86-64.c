/* SPDX-License-Identifier: Apache-2.0
 *
 * The x86-64 functions of arch.h. (Layouts: System V psABI; Linux, arch/x86/kernel/signal.c and
 * fpu/signal.c, arch/x86/include/uapi/asm/sigcontext.h.)
 */
#include "attach/arch/arch.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "attach/remote.h"
#include "base/buf.h"
#include "base/err.h"

#define USER_CS 0x33u /* 64-bit code of a user's */
#define RED_ZONE 128u /* x86-64 psABI */
#define XSAVE_MAX 16384u
#define XSAVE_HEADER 512u
#define XSAVE_LEAST 576u
#define XSAVE_SW 464u
/* tile configuration and data: a thread that uses them asks the kernel for a larger frame */
#define AMX_FEATURES (3ull << 17)
#define FLAGS_OF_CALL 0x202u /* interrupts on, direction forwards, no single step */

/* Flags of the frame (Linux, arch/x86/include/uapi/asm/ucontext.h). */
#define FRAME_FP_XSTATE 1u
#define FRAME_SS 2u
#define FRAME_STRICT_SS 4u
/* An alternate signal stack that the kernel silently refuses to set: the thread keeps its own. */
#define NO_ALTSTACK 0xfu

/* What marks an extended state (Linux, arch/x86/include/uapi/asm/sigcontext.h, struct
 * _fpx_sw_bytes). */
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u
struct xstate_mark {
	uint32_t magic1, extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size, pad[7];
};
_Static_assert(sizeof(struct xstate_mark) == 48, "struct _fpx_sw_bytes");

struct frame {
	uint64_t return_to;
	uint64_t flags, link;
	struct {
		uint64_t sp;
		uint32_t flags, pad;
		uint64_t size;
	} altstack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
		eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t mask;
	uint8_t info[128];
};
_Static_assert(offsetof(struct frame, r8) == 48, "struct ucontext: uc_mcontext");
_Static_assert(offsetof(struct frame, mask) == 48 + 256, "struct ucontext: uc_sigmask");

bool arch_regs_read(pid_t tid, struct arch_regs *ret)
{
	return ptrace(PTRACE_GETREGS, tid, 0, &ret->user) == 0;
}

bool arch_regs_write(pid_t tid, const struct arch_regs *r)
{
	return ptrace(PTRACE_SETREGS, tid, 0, &r->user) == 0;
}

uint64_t arch_pc(const struct arch_regs *r)
{
	return r->user.rip;
}

uint64_t arch_sp(const struct arch_regs *r)
{
	return r->user.rsp;
}

uint64_t arch_thread_pointer(const struct arch_regs *r)
{
	return r->user.fs_base;
}

bool arch_runs_64_bit(const struct arch_regs *r)
{
	return (uint16_t)r->user.cs == USER_CS;
}

bool arch_dwarf_register(const struct arch_regs *regs, unsigned number, uint64_t *ret)
{
	const struct user_regs_struct *r = &regs->user;
	const unsigned long long values[ARCH_DWARF_REGISTERS] = {r->rax, r->rdx, r->rcx, r->rbx,
		r->rsi, r->rdi, r->rbp, r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13,
		r->r14, r->r15, r->rip};

	if (number >= ARCH_DWARF_REGISTERS)
		return false;
	*ret = values[number];
	return true;
}

/* The program counter is behind the one byte of int3. */
bool arch_is_behind_trap(pid_t tid, uint64_t trap)
{
	uint64_t pc;

	errno = 0;
	pc = (uint64_t)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user_regs_struct, rip), 0);
	return errno == 0 && pc == trap + 1;
}

/* ---- system calls ---- */

struct arch_syscall arch_syscall(const struct arch_regs *regs)
{
	const struct user_regs_struct *r = &regs->user;

	return (struct arch_syscall){.nr = (long)r->orig_rax < 0 ? -1 : (long)r->orig_rax,
		.result = (long)r->rax,
		.arg = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9}};
}

bool arch_syscall_ahead(const struct arch_regs *regs, const uint8_t code[ARCH_SYSCALL_BYTES],
	struct arch_syscall *ret)
{
	if (code[0] != 0x0f || code[1] != 0x05) /* syscall */
		return false;
	*ret = arch_syscall(regs);
	ret->nr = (long)regs->user.rax;
	return true;
}

void arch_syscall_answer(pid_t tid, long result)
{
	ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax), result);
}

/* Like arch_do_signal_or_restart() in the kernel. */
void arch_syscall_again(struct arch_regs *regs)
{
	struct user_regs_struct *r = &regs->user;
	long nr = (long)r->orig_rax, result = (long)r->rax;

	if (nr < 0)
		return;
	if (result == -516 /* ERESTART_RESTARTBLOCK */) {
		if (nr == SYS_nanosleep && r->rsi)
			r->rdi = r->rsi;
		if (nr == SYS_clock_nanosleep && r->r10)
			r->rdx = r->r10;
	} else if (result != -512 /* ERESTARTSYS */ && result != -513 /* ERESTARTNOINTR */ &&
		   result != -514 /* ERESTARTNOHAND */) {
		return;
	}
	r->rax = (unsigned long long)nr;
	r->rip -= 2;
}

/* ---- calls into the inferior ---- */

static void fill_frame(struct frame *f, const struct arch_regs *now, uint64_t return_to,
	uint64_t mask, uint64_t fpstate)
{
	struct arch_regs back = *now;
	const struct user_regs_struct *r = &back.user;

	arch_syscall_again(&back);
	*f = (struct frame){.return_to = return_to,
		.flags = FRAME_FP_XSTATE | FRAME_SS | FRAME_STRICT_SS,
		.altstack.flags = NO_ALTSTACK,
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.rdi = r->rdi,
		.rsi = r->rsi,
		.rbp = r->rbp,
		.rbx = r->rbx,
		.rdx = r->rdx,
		.rax = r->rax,
		.rcx = r->rcx,
		.rsp = r->rsp,
		.rip = r->rip,
		.eflags = r->eflags,
		.cs = (uint16_t)r->cs,
		.ss = (uint16_t)r->ss,
		.fpstate = fpstate,
		.mask = mask};
}

/* The size that the kernel uses for a thread's state: without tiles, unless the thread uses
 * them. */
static uint32_t xsave_size(uint64_t features)
{
	uint32_t size = XSAVE_LEAST, a, b, c, d;

	for (unsigned i = 2; i < 63; i++) {
		if (!(features >> i & 1) || !__get_cpuid_count(0xd, i, &a, &b, &c, &d))
			continue;
		if (b + a > size)
			size = b + a;
	}
	return size;
}

/* Makes the frame's vector state from PTRACE_GETREGSET's answer (Linux,
 * check_xstate_in_sigframe()). Returns its bytes, 0 on failure. */
static uint32_t take_vectors(pid_t tid, uint8_t *x)
{
	struct iovec v = {x, XSAVE_MAX};
	struct xstate_mark sw = {.magic1 = XSTATE_MAGIC1};
	uint64_t possible, used;
	uint32_t magic2 = XSTATE_MAGIC2;

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v) != 0 || v.iov_len < XSAVE_LEAST ||
		v.iov_len > XSAVE_MAX - 4)
		return 0;
	memcpy(&possible, x + XSAVE_SW, sizeof(possible));
	memcpy(&used, x + XSAVE_HEADER, sizeof(used));
	if (!(used & AMX_FEATURES))
		possible &= ~AMX_FEATURES;
	sw.xfeatures = possible;
	sw.xstate_size = xsave_size(possible);
	if (sw.xstate_size > v.iov_len)
		return 0;
	sw.extended_size = sw.xstate_size + (uint32_t)sizeof(magic2);
	memcpy(x + XSAVE_SW, &sw, sizeof(sw));
	memcpy(x + sw.xstate_size, &magic2, sizeof(magic2));
	return sw.extended_size;
}

bool arch_frame_write(pid_t tid, const struct arch_regs *r, uint64_t mask, uint64_t return_to,
	size_t text_bytes, struct arch_frame *ret)
{
	uint8_t *vectors = xcalloc(1, XSAVE_MAX);
	const uint32_t n = take_vectors(tid, vectors);
	uint64_t fpstate;
	struct frame f;
	bool good;

	ret->text = (r->user.rsp - RED_ZONE - text_bytes) & ~(uint64_t)63;
	fpstate = (ret->text - n) & ~(uint64_t)63;
	ret->sp = ((fpstate - sizeof f) & ~(uint64_t)15) - 8;
	fill_frame(&f, r, return_to, mask, fpstate);
	good = n && remote_write(tid, fpstate, vectors, n) &&
	       remote_write(tid, ret->sp, &f, sizeof f);
	free(vectors);
	return good;
}

void arch_call(
	struct arch_regs *regs, const struct arch_frame *f, uint64_t fn, uint64_t a, uint64_t b)
{
	struct user_regs_struct *r = &regs->user;

	r->rip = fn;
	r->rsp = f->sp;
	r->rdi = a;
	r->rsi = b;
	r->rax = 0;
	r->rbp = 0;
	r->eflags = FLAGS_OF_CALL;
	r->orig_rax = (unsigned long long)-1;
}

void arch_call_over(struct arch_regs *regs, const struct arch_frame *f, uint64_t return_to)
{
	struct user_regs_struct *r = &regs->user;

	r->rip = return_to;
	r->rsp = f->sp + ARCH_CALL_PUSHES;
	r->eflags = FLAGS_OF_CALL;
	r->orig_rax = (unsigned long long)-1;
}

bool arch_call_is_back(const struct arch_regs *r, const struct arch_frame *f)
{
	return r->user.orig_rax == SYS_rt_sigreturn && r->user.rsp == f->sp + ARCH_CALL_PUSHES;
}

/* mov $15, %rax; syscall */
const uint8_t arch_sigreturn_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
const size_t arch_sigreturn_bytes = sizeof arch_sigreturn_code;

/* The known code is `mov WORD(%rip), %rax; add %fs:0, %rax; ret`, perhaps after an endbr64. */
uint64_t arch_errno_word(pid_t pid, uint64_t at)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, mov[] = {0x48, 0x8b, 0x05},
			     add[] = {0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0};
	uint8_t code[24], *p = code;
	int32_t disp;

	if (!at || !remote_read(pid, at, code, sizeof(code)))
		return 0;
	if (!memcmp(p, endbr, sizeof(endbr)))
		p += sizeof(endbr);
	if (memcmp(p, mov, sizeof(mov)) || memcmp(p + 7, add, sizeof(add)))
		return 0;
	memcpy(&disp, p + 3, sizeof(disp));
	return at + (uint64_t)(p - code) + 7 + (uint64_t)(int64_t)disp;
}
