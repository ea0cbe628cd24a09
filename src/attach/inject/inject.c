/* SPDX-License-Identifier: Apache-2.0
 *
 * Injected calls. What a signal handler's frame is for the kernel, our frame is for it: below the thread's red zone lie all its registers, its vector
 * state and its signal mask, in the layout of rt_sigreturn(2), and the called function returns to the C library's code that makes this system call. So
 * the whole change is one PTRACE_SETREGS, which happens or does not, and the way back needs nobody's help. (Layout: Linux, arch/x86/kernel/signal.c
 * and fpu/signal.c, arch/x86/include/uapi/asm/sigcontext.h.)
 */
#include "attach/inject/inject.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "attach/ptrace/target.h"
#include "base/buf.h"

#define RED_ZONE 128u /* x86-64 psABI */
#define XSAVE_MAX 16384u
#define XSAVE_HEADER 512u
#define XSAVE_LEAST 576u
#define XSAVE_SW 464u
#define AMX_FEATURES (3ull << 17) /* tile configuration and data: their owner has asked the kernel for a larger frame */
#define FLAGS_OF_CALL 0x202u	  /* interrupts on, direction forwards, no single step */

/* Flags of the frame (Linux, arch/x86/include/uapi/asm/ucontext.h). */
#define FRAME_FP_XSTATE 1u
#define FRAME_SS 2u
#define FRAME_STRICT_SS 4u
/* An alternate signal stack that the kernel refuses to set, silently: the thread's own is kept. */
#define NO_ALTSTACK 0xfu

/* What marks an extended state (Linux, arch/x86/include/uapi/asm/sigcontext.h, struct _fpx_sw_bytes). */
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
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t mask;
	uint8_t info[128];
};
_Static_assert(offsetof(struct frame, r8) == 48, "struct ucontext: uc_mcontext");
_Static_assert(offsetof(struct frame, mask) == 48 + 256, "struct ucontext: uc_sigmask");

/* ---- what the thread goes back to ---- */

/* How a system call that was interrupted by our stop is made again: as the kernel does it (arch_do_signal_or_restart()), but where that would
 * go on with a rest of time, which only the kernel knows, the call begins anew; sleeps that tell the rest are given it. */
static void restart_syscall(struct user_regs_struct *r)
{
	long nr = (long)r->orig_rax, result = (long)r->rax;

	if (nr < 0)
		return;
	if (result == -516 /* ERESTART_RESTARTBLOCK */) {
		if (nr == SYS_nanosleep && r->rsi)
			r->rdi = r->rsi;
		if (nr == SYS_clock_nanosleep && r->r10)
			r->rdx = r->r10;
	} else if (result != -512 /* ERESTARTSYS */ && result != -513 /* ERESTARTNOINTR */ && result != -514 /* ERESTARTNOHAND */) {
		return;
	}
	r->rax = (unsigned long long)nr;
	r->rip -= 2;
}

static void fill_frame(struct frame *f, const struct user_regs_struct *now, uint64_t return_to, uint64_t mask, uint64_t fpstate)
{
	struct user_regs_struct back = *now, *r = &back;

	restart_syscall(r);
	*f = (struct frame){.return_to = return_to, .flags = FRAME_FP_XSTATE | FRAME_SS | FRAME_STRICT_SS, .altstack.flags = NO_ALTSTACK,
		.r8 = r->r8, .r9 = r->r9, .r10 = r->r10, .r11 = r->r11, .r12 = r->r12, .r13 = r->r13, .r14 = r->r14, .r15 = r->r15,
		.rdi = r->rdi, .rsi = r->rsi, .rbp = r->rbp, .rbx = r->rbx, .rdx = r->rdx, .rax = r->rax, .rcx = r->rcx, .rsp = r->rsp,
		.rip = r->rip, .eflags = r->eflags, .cs = (uint16_t)r->cs, .ss = (uint16_t)r->ss, .fpstate = fpstate, .mask = mask};
}

/* The size that the kernel takes a thread's state to have: without tiles, unless the thread uses them. */
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

/* Makes of PTRACE_GETREGSET's answer what belongs into a frame: (Linux, check_xstate_in_sigframe()). Returns its bytes, 0: cannot. */
static uint32_t take_vectors(pid_t tid, uint8_t *x)
{
	struct iovec v = {x, XSAVE_MAX};
	struct xstate_mark sw = {.magic1 = XSTATE_MAGIC1};
	uint64_t possible, used;
	uint32_t magic2 = XSTATE_MAGIC2;

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v) != 0 || v.iov_len < XSAVE_LEAST || v.iov_len > XSAVE_MAX - 4)
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

static void find_errno(struct inject *j, const struct inject_site *s, pid_t pid)
{
	uint64_t offset;

	j->has_errno = s->errno_word && remote_read(pid, s->errno_word, &offset, sizeof(offset));
	if (!j->has_errno)
		return;
	j->errno_addr = j->regs.fs_base + offset;
	j->has_errno = remote_read(pid, j->errno_addr, &j->errno_was, sizeof(j->errno_was));
}

struct err *inject_prepare(struct inject *j, const struct inject_site *s, struct tracee *t)
{
	uint8_t *x = xcalloc(1, XSAVE_MAX);
	const struct user_regs_struct *regs = tracee_regs(t);
	uint64_t mask, fpstate;
	uint32_t n = take_vectors(t->tid, x);
	struct frame f;
	bool good;

	*j = (struct inject){.tid = t->tid};
	if (!regs || !n || ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask) != 0) {
		free(x);
		return err_new(ERR_SYSTEM, "the registers of thread %d cannot be read", t->tid);
	}
	j->regs = *regs;
	find_errno(j, s, s->space.pid);
	j->text = (regs->rsp - RED_ZONE - INJECT_TEXT_MAX) & ~(uint64_t)63;
	fpstate = (j->text - n) & ~(uint64_t)63;
	j->frame = ((fpstate - sizeof(f)) & ~(uint64_t)15) - 8;
	fill_frame(&f, regs, s->restore_rt, mask, fpstate);
	good = remote_write(s->space.pid, fpstate, x, n) && remote_write(s->space.pid, j->frame, &f, sizeof(f));
	free(x);
	return good ? NULL : err_new(ERR_SYSTEM, "the stack of thread %d cannot be written", t->tid);
}

/* The signal mask comes after the registers: whoever is killed in between leaves a call that signals may interrupt, which is harmless, and never a thread
 * without signals. */
struct err *inject_call(struct inject *j, struct tracee *t, uint64_t fn, const char *text, uint64_t arg)
{
	struct user_regs_struct r = j->regs;
	uint64_t all = ~0ull;
	size_t n = strlen(text) + 1;

	BUG_ON(n > INJECT_TEXT_MAX);
	if (!remote_write(t->tid, j->text, text, n))
		return err_new(ERR_SYSTEM, "the stack of thread %d cannot be written", j->tid);
	r.rip = fn;
	r.rsp = j->frame;
	r.rdi = j->text;
	r.rsi = arg;
	r.rax = 0;
	r.rbp = 0;
	r.eflags = FLAGS_OF_CALL;
	r.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &r) != 0)
		return err_sys(errno, "the registers of thread %d cannot be set", j->tid);
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(all), &all);
	t->has_regs = false;
	return NULL;
}

bool inject_is_back(const struct inject *j, const struct user_regs_struct *regs)
{
	return regs->orig_rax == SYS_rt_sigreturn && regs->rsp == j->frame + 8;
}

bool inject_take_back(const struct inject *j, const struct inject_site *s, struct tracee *t)
{
	const struct user_regs_struct *now = tracee_regs(t);
	struct user_regs_struct r = j->regs;

	if (!now || now->orig_rax != SYS_futex || (long)now->rax > -512 || (long)now->rax < -516)
		return false;
	r.rip = s->restore_rt;
	r.rsp = j->frame + 8;
	r.eflags = FLAGS_OF_CALL;
	r.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &r) != 0)
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
	return !strcmp(name, "libdl.so.2") || (!strncmp(name, "libdl-2.", 8) && strstr(name, ".so"));
}

/* On Debian its loader's name is a link to libc.so, which with glibc is a text for the linker. */
static bool is_musl(const char *name)
{
	return !strncmp(name, "ld-musl", 7) || !strncmp(name, "libc.musl", 9) || !strcmp(name, "libc.so");
}

static struct err *no_libc(struct inject_site *s)
{
	if (remote_find(&s->space, is_musl))
		return err_cure(err_new(ERR_UNSUPPORTED, "cannot attach to process %d: its C library is musl, which tsdb does not support", s->space.pid),
			"run the program on a system with glibc 2.31 or later");
	return err_cure(err_new(ERR_UNSUPPORTED,
				"cannot attach to process %d: it is a static program (no C library is mapped), so the agent cannot be loaded into it", s->space.pid),
		"link the program dynamically");
}

/* mov $15, %rax; syscall: what the C library gives the kernel as the end of signal handlers. */
static uint64_t find_restore(const struct inject_site *s, const struct remote_map *libc)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint64_t found = 0;

	for (const struct remote_map *m = libc; !found && m < s->space.maps + s->space.n && m->inode == libc->inode; m++) {
		size_t n = m->end - m->start;
		uint8_t *bytes, *at;

		if (!m->x || n > 64u << 20)
			continue;
		bytes = xcalloc(1, n);
		at = remote_read(s->space.pid, m->start, bytes, n) ? memmem(bytes, n, code, sizeof(code)) : NULL;
		found = at ? m->start + (uint64_t)(at - bytes) : 0;
		free(bytes);
	}
	return found;
}

/* __errno_location() is `mov WORD(%rip), %rax; add %fs:0, %rax; ret`, perhaps behind an endbr64. */
static uint64_t find_errno_word(const struct inject_site *s)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, mov[] = {0x48, 0x8b, 0x05},
			     add[] = {0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0};
	uint64_t at = remote_symbol_addr(&s->libc, "__errno_location");
	uint8_t code[24], *p = code;
	int32_t disp;

	if (!at || !remote_read(s->space.pid, at, code, sizeof(code)))
		return 0;
	if (!memcmp(p, endbr, sizeof(endbr)))
		p += sizeof(endbr);
	if (memcmp(p, mov, sizeof(mov)) || memcmp(p + 7, add, sizeof(add)))
		return 0;
	memcpy(&disp, p + 3, sizeof(disp));
	return at + (uint64_t)(p - code) + 7 + (uint64_t)(int64_t)disp;
}

/* dlopen() is in the C library since 2.34; before that in libdl, which need not be there, and behind a private name. */
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

	*s = (struct inject_site){0};
	TRY(remote_space_read(&s->space, pid));
	libc = remote_find(&s->space, is_libc);
	if (!libc)
		return no_libc(s);
	s->libc_base = libc->start;
	if (!remote_symbols_read(&s->libc, pid, libc->start))
		return err_new(ERR_UNSUPPORTED, "cannot attach to process %d: the symbols of its %s cannot be read", pid, remote_name(libc));
	read_program(s, pid);
	find_dlopen(s);
	s->restore_rt = find_restore(s, libc);
	s->errno_word = find_errno_word(s);
	if (!s->dlopen || !s->restore_rt)
		return err_cure(err_new(ERR_UNSUPPORTED, "cannot attach to process %d: its C library (%s) is not one that tsdb knows", pid, libc->path),
			"glibc 2.31 and later are supported");
	return NULL;
}

static bool is_linker(const char *name)
{
	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5);
}

bool inject_is_early(const struct inject_site *s)
{
	return remote_find(&s->space, is_linker) && (!remote_find(&s->space, is_libc) || !s->dlopen || !s->restore_rt);
}

void inject_site_free(struct inject_site *s)
{
	remote_space_free(&s->space);
	remote_symbols_free(&s->libc);
	remote_symbols_free(&s->program);
}
