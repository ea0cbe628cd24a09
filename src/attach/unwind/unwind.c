/* SPDX-License-Identifier: Apache-2.0
 *
 * Remote unwinding with libunwind-ptrace. Memory is read through a cache of pages that is valid for
 * one stop: libunwind reads unwind tables a byte at a time, and a system call for each would cost
 * milliseconds per frame. libunwind passes one argument to its accessors, which the finder of
 * unwind tables needs for itself, so the unwinding in progress is a static variable: ptrace demands
 * a single thread anyway.
 */
#include "attach/ptrace/inferior.h"

#include <libunwind-ptrace.h>
#include <stdlib.h>
#include <string.h>
#include "attach/unwind/frames.h"
#include "attach/remote.h"

#define PAGE 4096u
#define CACHE_PAGES 256u

struct page {
	uint64_t addr; /* 1: empty */
	uint8_t bytes[PAGE];
};

struct unwind {
	unw_addr_space_t space;
	uint64_t stops; /* the value of inf->stops for which pages are valid */
	struct page pages[CACHE_PAGES];
	struct inferior *inf;
	struct tracee *tracee;
	struct remote_space maps; /* read at first need in a stop */
	uint64_t maps_stops;
	bool popped; /* registers are given as after a return from the innermost frame */
	/* The last stack that was unwound, for `bt full` asks again for every frame. */
	struct raw_frame *memo;
	unsigned memo_n, memo_max; /* it is whole when memo_n < memo_max */
	pid_t memo_tid;
	uint64_t memo_stops;
};

static struct unwind *current;

static bool read_word(struct unwind *u, uint64_t addr, uint64_t *ret)
{
	uint64_t base = addr & ~(uint64_t)(PAGE - 1);
	struct page *p = &u->pages[addr / PAGE % CACHE_PAGES];

	if (addr % PAGE > PAGE - sizeof(*ret) || p->addr != base) {
		struct err *e;

		if (addr % PAGE > PAGE - sizeof(*ret)) {
			e = inferior_read(u->inf, addr, ret, sizeof(*ret));
			err_free(e);
			return !e;
		}
		p->addr = 1;
		e = inferior_read(u->inf, base, p->bytes, PAGE);
		err_free(e);
		if (e)
			return false;
		p->addr = base;
	}
	memcpy(ret, p->bytes + addr % PAGE, sizeof(*ret));
	return true;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write, void *arg)
{
	return !write && read_word(current, addr, val) ? 0 : -UNW_EINVAL;
}

/* libunwind's numbers are DWARF's, with the program counter as one more. */
static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int write, void *arg)
{
	const struct arch_regs *regs = tracee_regs(current->tracee);

	if (write || !regs || reg < 0 || !arch_dwarf_register(regs, (unsigned)reg, val))
		return -UNW_EBADREG;
	if (current->popped && reg == ARCH_DWARF_PC)
		return read_word(current, arch_sp(regs), val) ? 0 : -UNW_EBADREG;
	if (current->popped && reg == ARCH_DWARF_SP)
		*val += ARCH_CALL_PUSHES;
	return 0;
}

static int no_dynamic_info(unw_addr_space_t as, unw_word_t *dilap, void *arg)
{
	return -UNW_ENOINFO;
}

static int no_floats(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int write, void *arg)
{
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	return -UNW_EINVAL;
}

static int no_name(
	unw_addr_space_t as, unw_word_t ip, char *name, size_t n, unw_word_t *offset, void *arg)
{
	return -UNW_ENOINFO;
}

/* libunwind opens the file that the map names: if it was deleted, there is no such file, or it is
 * another one. */
static int find_proc_info(
	unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need_info, void *arg)
{
	const struct mapping *m = libraries_at(current->inf, ip);
	int r = m && m->deleted ? -UNW_ENOINFO : _UPT_find_proc_info(as, ip, pi, need_info, arg);

	if (r >= 0 || !m)
		return r;
	if (current->maps_stops != current->stops) {
		remote_space_free(&current->maps);
		err_free(remote_space_read(&current->maps, current->inf->pid));
		current->maps_stops = current->stops;
	}
	return unwind_memory_find(as, &current->maps, ip, pi, need_info, arg);
}

static struct unwind *unwind_get(struct inferior *inf)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = _UPT_put_unwind_info,
		.get_dyn_info_list_addr = no_dynamic_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = no_floats,
		.resume = no_resume,
		.get_proc_name = no_name,
	};
	struct unwind *u = inf->unwind;

	if (!u) {
		u = inf->unwind = xcalloc(1, sizeof(*u));
		u->space = unw_create_addr_space(&accessors, 0);
		u->inf = inf;
		u->stops = u->maps_stops = UINT64_MAX;
	}
	if (u->stops != inf->stops)
		for (unsigned i = 0; i < CACHE_PAGES; i++)
			u->pages[i].addr = 1;
	u->stops = inf->stops;
	return u;
}

void unwind_free(struct inferior *inf)
{
	if (!inf->unwind)
		return;
	free(inf->unwind->memo);
	remote_space_free(&inf->unwind->maps);
	if (inf->unwind->space)
		unw_destroy_addr_space(inf->unwind->space);
	free(inf->unwind);
	inf->unwind = NULL;
}

_Static_assert((int)FRAME_REGISTERS == (int)ARCH_DWARF_REGISTERS,
	"a frame's registers are the processor's");

/* Registers that a called function may change are known only in the innermost frame. */
static bool take_frame(unw_cursor_t *c, bool innermost, struct raw_frame *ret)
{
	*ret = (struct raw_frame){0};
	for (unsigned i = 0; i < FRAME_REGISTERS; i++) {
		unw_word_t v;

		if ((innermost || (ARCH_DWARF_PRESERVED >> i & 1)) &&
			unw_get_reg(c, (int)i, &v) == 0) {
			ret->at.regs[i] = v;
			ret->at.valid |= 1u << i;
		}
	}
	ret->pc = ret->at.regs[ARCH_DWARF_PC];
	ret->sp = ret->at.regs[ARCH_DWARF_SP];
	ret->exact = innermost || unw_is_signal_frame(c) > 0;
	return (ret->at.valid >> ARCH_DWARF_PC & 1) && ret->pc != 0;
}

/* A call to an address without code, most often 0: there are no tables and no frame, but the return
 * address is on top of the stack. */
static unsigned take_bad_call(struct unwind *u, struct raw_frame *ret)
{
	const struct arch_regs *regs = tracee_regs(u->tracee);
	uint64_t word;

	u->popped = false;
	if (!regs || read_word(u, arch_pc(regs), &word))
		return 0;
	*ret = (struct raw_frame){.pc = arch_pc(regs),
		.sp = arch_sp(regs),
		.exact = true,
		.at = {.cfa = arch_sp(regs) + ARCH_CALL_PUSHES,
			.valid = (1u << FRAME_REGISTERS) - 1}};
	for (unsigned i = 0; i < FRAME_REGISTERS; i++)
		(void)arch_dwarf_register(regs, i, &ret->at.regs[i]);
	u->popped = true;
	return 1;
}

/* Adds frames to the n that are there. */
static unsigned walk(unw_cursor_t *c, unsigned n, unsigned max, struct raw_frame *f)
{
	while (n < max && take_frame(c, n == 0, &f[n])) {
		if (n > 0)
			f[n - 1].at.cfa = f[n].sp;
		/* Stacks grow downwards: if a caller's frame is not higher, the chain is wrong. */
		if (n > 0 && f[n].sp <= f[n - 1].sp && !f[n - 1].exact)
			return n;
		n++;
		if (unw_step(c) <= 0)
			break;
	}
	return n;
}

static bool memo_get(
	const struct unwind *u, pid_t tid, unsigned max, struct raw_frame **ret, unsigned *ret_n)
{
	if (!u->memo || u->memo_tid != tid || u->memo_stops != u->stops ||
		(u->memo_n == u->memo_max && u->memo_max < max))
		return false;
	*ret_n = u->memo_n < max ? u->memo_n : max;
	*ret = xcalloc(*ret_n + 1, sizeof(**ret));
	memcpy(*ret, u->memo, *ret_n * sizeof(**ret));
	return true;
}

static void memo_set(
	struct unwind *u, pid_t tid, unsigned max, const struct raw_frame *f, unsigned n)
{
	free(u->memo);
	u->memo = xcalloc(n + 1, sizeof(*f));
	memcpy(u->memo, f, n * sizeof(*f));
	u->memo_n = n;
	u->memo_max = max;
	u->memo_tid = tid;
	u->memo_stops = u->stops;
}

static struct err *unwind_now(
	struct unwind *u, pid_t tid, unsigned max, struct raw_frame **ret, unsigned *ret_n)
{
	unw_cursor_t cursor;
	void *upt = _UPT_create(tid);
	struct raw_frame *f;
	unsigned n;

	if (!upt || !u->space)
		return err_nomem();
	f = xcalloc(max + 1, sizeof(*f));
	n = max ? take_bad_call(u, f) : 0;
	if (unw_init_remote(&cursor, u->space, upt) == 0)
		n = walk(&cursor, n, max, f);
	_UPT_destroy(upt);
	if (!n) {
		free(f);
		return err_new(ERR_SYSTEM, "the stack of thread %d cannot be unwound", tid);
	}
	*ret_n = n;
	*ret = f;
	memo_set(u, tid, max, f, *ret_n);
	return NULL;
}

struct err *unwind_raw(
	struct inferior *inf, pid_t tid, unsigned max, struct raw_frame **ret, unsigned *ret_n)
{
	struct unwind *u;
	struct tracee *t = tracee_find(inf, tid);

	*ret = NULL;
	*ret_n = 0;
	if (!inf->alive || inf->running)
		return err_cure(err_new(ERR_STATE, "no stack: the program is not stopped"),
			"stop it with Ctrl-C");
	if (!t || !tracee_regs(t))
		return err_new(ERR_STATE, "thread %d has no stack that can be read now", tid);
	u = current = unwind_get(inf);
	u->tracee = t;
	if (memo_get(u, tid, max, ret, ret_n))
		return NULL;
	return unwind_now(u, tid, max, ret, ret_n);
}
