/* SPDX-License-Identifier: Apache-2.0
 *
 * Places the probes: finds the entry points in the libraries' files, and makes the links in the
 * kernel. Since Linux 6.6 one link holds all places of a program. Before that each place is a link
 * of its own, and removing one waits for every processor: a child process does that, and ends when
 * it is done.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/maps-line.h"
#include "observe/bpf/addresses.h"
#include "observe/bpf/probes-private.h"

/* --- links with many places --- */

/* The part of union bpf_attr for BPF_LINK_CREATE that linux/bpf.h has since 6.6. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};
#define MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */

/* A link, or -errno. */
static int multi_link(int program, const char *path, const uint64_t *offsets,
	const uint64_t *cookies, unsigned n, bool at_return, pid_t pid)
{
	struct multi_attr a = {.prog_fd = (uint32_t)program,
		.attach_type = PROBES_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.cnt = n,
		.multi_flags = at_return ? MULTI_RETURN : 0,
		.pid = pid > 0 ? (uint32_t)pid : 0};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof a);

	return fd < 0 ? -errno : (int)fd;
}

/* Something to probe. */
__attribute__((noinline, noipa)) static void *touched(void *arg)
{
	__asm__ volatile("");
	return arg;
}

/* The file offset of a function of this program; 0 when it cannot be found. */
static uint64_t own_offset(const void *fn)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t at = (uint64_t)(uintptr_t)fn, found = 0;
	struct maps_line l;

	while (f && !found && fgets(line, sizeof line, f)) {
		if (maps_line_parse(&l, line) && at >= l.start && at < l.end)
			found = at - l.start + l.offset;
	}
	if (f)
		fclose(f);
	return found;
}

/* Loads a program that adds 1 to the only element of a map, written in the kernel's
 * instructions. */
static int load_counter(int map)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ST | BPF_MEM | BPF_W,
			.dst_reg = BPF_REG_10,
			.off = -4}, /* *(u32 *)(fp - 4) = 0 */
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = BPF_REG_1,
			.src_reg = BPF_PSEUDO_MAP_FD,
			.imm = map},
		{0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
			.dst_reg = BPF_REG_0,
			.src_reg = BPF_REG_1,
			.imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(
		bpf_prog_load_opts, o, .expected_attach_type = (enum bpf_attach_type)PROBES_MULTI);

	return bpf_prog_load(
		BPF_PROG_TYPE_KPROBE, "tsdb_try", "GPL", insns, sizeof insns / sizeof *insns, &o);
}

/* Early forms (6.6 to 6.9) see only the first thread of a process; so this is tried with another
 * thread of tsdb. */
static bool try_multi(int map, int program)
{
	uint64_t offset = own_offset((const void *)(uintptr_t)touched), cookie = 0, n = 0;
	uint32_t zero = 0;
	pthread_t thread;
	int link;

	if (!offset)
		return false;
	link = multi_link(program, "/proc/self/exe", &offset, &cookie, 1, false, getpid());
	if (link < 0)
		return false;
	if (!pthread_create(&thread, NULL, touched, NULL))
		pthread_join(thread, NULL);
	bpf_map_lookup_elem(map, &zero, &n);
	close(link);
	return n == 1;
}

bool probes_has_multi(void)
{
	int map, program;
	bool has = false;

	if (getenv("TSDB_OBSERVE_SINGLE")) /* for tests: as on an older kernel */
		return false;
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tsdb_try", 4, 8, 1, NULL);
	program = map < 0 ? -1 : load_counter(map);
	if (program >= 0)
		has = try_multi(map, program);
	if (program >= 0)
		close(program);
	if (map >= 0)
		close(map);
	return has;
}

/* --- attaching --- */

static enum program entry_program(const struct obs_call *c)
{
	if (!c->see)
		return ENTER_RUNTIME;
	if (c->cookie & OBS_C_CONFIG)
		return ENTER_CONFIG;
	return OBS_PEEK_ARG(c->cookie) ? ENTER_PEEK : ENTER;
}

static bool tells_names(const struct obs_call *c)
{
	return (c->cookie & OBS_C_NAME_AT) != 0;
}

static struct err *attach_refused(int sys)
{
	if (sys == ESRCH)
		return err_cure(err_new(ERR_STATE, "the process has ended"),
			"Give the number of a process that runs");
	return probes_refused(sys, "placing a probe");
}

/* All places of one program. */
static struct err *attach_many(struct probes *p, const struct library *l, enum program program,
	const uint64_t *offsets, const uint64_t *cookies, unsigned n, struct hooks *h)
{
	int fd = multi_link(bpf_program__fd(p->program[program]), l->path, offsets, cookies, n,
		program == LEAVE, l->pid);

	if (fd < 0)
		return attach_refused(-fd);
	h->fds = xrealloc(h->fds, (h->nfds + 1) * sizeof *h->fds);
	h->fds[h->nfds++] = fd;
	return NULL;
}

static struct err *attach_each(struct probes *p, const struct library *l, enum program program,
	const uint64_t *offsets, const uint64_t *cookies, unsigned n, struct hooks *h)
{
	h->links = xrealloc(h->links, (h->nlinks + n) * sizeof(struct bpf_link *));
	for (unsigned i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = program == LEAVE,
			.bpf_cookie = cookies[i]);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			p->program[program], l->pid, l->path, offsets[i], &opts);

		if (!link)
			return attach_refused(errno);
		h->links[h->nlinks++] = link;
	}
	return NULL;
}

/* A call's places: the symbol's, and the one that cuGetProcAddress returns if that differs. */
static unsigned place(const struct probes *p, const struct library *l, unsigned c,
	uint64_t *offsets, uint64_t *cookies)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t at = i ? l->given[c] : l->offset[c];

		if (!at || (i && at == l->offset[c]))
			continue;
		offsets[n] = at;
		cookies[n++] = (obs_calls[c].cookie | c) & ~(p->o.no_stacks ? OBS_C_STACK : 0);
	}
	return n;
}

/* The places of one program in a library, and the cookies that say what to record there. Returns
 * how many. */
static unsigned places(const struct probes *p, const struct library *l, enum program program,
	bool names, uint64_t *offsets, uint64_t *cookies)
{
	unsigned n = 0;

	for (unsigned c = 0; c < obs_ncalls; c++) {
		const struct obs_call *call = &obs_calls[c];

		if (!l->offset[c] || tells_names(call) != names)
			continue;
		if (program == LEAVE ? !(call->cookie & OBS_C_LEAVE)
				     : entry_program(call) != program)
			continue;
		n += place(p, l, c, offsets + n, cookies + n);
	}
	return n;
}

/* The probes of returns come first: an entry without one would never be completed. */
static struct err *attach(struct probes *p, const struct library *l, bool names, struct hooks *h)
{
	static const enum program order[] = {LEAVE, ENTER, ENTER_PEEK, ENTER_CONFIG, ENTER_RUNTIME};
	uint64_t *offsets = xcalloc(obs_ncalls * 4, sizeof *offsets),
		 *cookies = offsets + obs_ncalls * 2;
	struct err *e = NULL;

	for (unsigned i = 0; !e && i < sizeof order / sizeof *order; i++) {
		unsigned n = places(p, l, order[i], names, offsets, cookies);

		if (n)
			e = (p->multi ? attach_many : attach_each)(
				p, l, order[i], offsets, cookies, n, h);
	}
	free(offsets);
	return e;
}

static void detach(struct hooks *h)
{
	while (h->nfds)
		close(h->fds[--h->nfds]);
	while (h->nlinks)
		bpf_link__destroy(h->links[--h->nlinks]);
	free(h->fds);
	free(h->links);
	*h = (struct hooks){0};
}

struct err *probes_names(struct probes *p, bool on)
{
	if (on == p->names)
		return NULL;
	p->names = on;
	for (unsigned i = 0; i < p->nlibraries; i++) {
		if (on)
			TRY(attach(p, &p->libraries[i], true, &p->libraries[i].names));
		else
			detach(&p->libraries[i].names);
	}
	return NULL;
}

static bool attached(const struct probes *p, const struct stat *st, pid_t pid)
{
	for (unsigned i = 0; i < p->nlibraries; i++) {
		if (p->libraries[i].dev == st->st_dev && p->libraries[i].ino == st->st_ino &&
			p->libraries[i].pid == pid)
			return true;
	}
	return false;
}

static struct library *library_new(
	struct probes *p, const char *path, const struct stat *st, pid_t pid)
{
	struct library *l;

	p->libraries = xrealloc(p->libraries, (p->nlibraries + 1) * sizeof *p->libraries);
	l = &p->libraries[p->nlibraries++];
	*l = (struct library){
		.path = xstrdup(path), .dev = st->st_dev, .ino = st->st_ino, .pid = pid};
	l->offset = xcalloc(obs_ncalls, sizeof *l->offset);
	l->given = xcalloc(obs_ncalls, sizeof *l->given);
	return l;
}

struct err *probes_attach(
	struct probes *p, const char *path, bool runtime, pid_t pid, unsigned *ret)
{
	struct library *l;
	struct stat st;

	*ret = 0;
	if (stat(path, &st) || attached(p, &st, pid))
		return NULL;
	l = library_new(p, path, &st, pid);
	*ret = addresses_exported(path, runtime, l->offset);
	if (*ret && !runtime && addresses_trusted(path))
		addresses_given_out(path, l->given);
	TRY(attach(p, l, false, &l->hooks));
	return p->names ? attach(p, l, true, &l->names) : NULL;
}

/* Whether a descriptor is an anonymous file of the kernel, as links and events are. */
static bool is_anonymous(int fd)
{
	char path[64], target[32] = "";

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof target - 1) > 0 && !strncmp(target, "anon_inode:", 11);
}

/* Closes files, pipes and sockets: the trace, whose lock lasts as long as any process has it open,
 * and what tsdb inherited, since readers would wait for this process. */
static void let_go_of_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	while (dir && (d = readdir(dir))) {
		const int fd = atoi(d->d_name); /* 0 of "." and ".." */

		if (fd > 2 && fd != dirfd(dir) && !is_anonymous(fd))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Removing the probes takes long. The child shares the descriptors: tsdb closes its own at once,
 * and the kernel does the work when the child closes the last one. */
static void detach_later(struct probes *p)
{
	pid_t pid = fork();

	if (pid) /* there is no second one, or we are the first */
		return;
	setsid(); /* a Ctrl-C is not for it */
	prctl(PR_SET_NAME, "tsdb-unprobe");
	let_go_of_files();
	for (unsigned i = 0; i < p->nlibraries; i++) {
		detach(&p->libraries[i].hooks);
		detach(&p->libraries[i].names);
	}
	_exit(0);
}

void probes_detach(struct probes *p)
{
	bool long_work = false;

	for (unsigned i = 0; i < p->nlibraries; i++)
		long_work |= p->libraries[i].hooks.nlinks != 0;
	if (long_work)
		detach_later(p);
	for (unsigned i = 0; i < p->nlibraries; i++) {
		detach(&p->libraries[i].hooks);
		detach(&p->libraries[i].names);
		free(p->libraries[i].offset);
		free(p->libraries[i].given);
		free(p->libraries[i].path);
	}
	p->nlibraries = 0;
}
