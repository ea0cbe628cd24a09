/* SPDX-License-Identifier: Apache-2.0
 *
 * A scripted replayer: the other end of replay/protocol.h, for tests of its client. The test's own
 * program is the replayer, too, when a socket is in its environment (scripted_main()). It answers
 * every request rightly, or one of them, once, wrongly in any way: too little, too much, another
 * kind, half of it, other numbers, rubbish, not at all, by dying. What memory holds is a formula of
 * the position and the what-ifs, so whatever happens, the client's next answer can be told right
 * from wrong. System calls are ours, too: they fail when told to, and come back early; time passes
 * when nobody answers.
 */
#ifndef TESTS_SCRIPTED_REPLAYER_H
#define TESTS_SCRIPTED_REPLAYER_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "random-trace.h"
#include "replay/device.h"
#include "replay/device-kernel.h"

#define FIRST 100u
#define LAST 3000u
#define WIRE "TSDB_WIRE" /* the file that both processes map */
#define ADDR 0x10000u
#define STEPS 3u /* of every graph launch */

enum how {
	FINE,
	SHORT,	      /* a byte is missing */
	EMPTY,	      /* all is */
	LONG,	      /* five are too many */
	KIND,	      /* neither a reply nor an error */
	CHANGED_AFAR, /* right, but something was set in a launch that is not of the window */
	HUGE_SIZE,    /* more than a message holds */
	HALF_HEAD,
	HALF_BODY,
	EXITS,	 /* with status 0 */
	EXITS_9, /* with status 9 */
	KILLED,
	CLOSES, /* but lives */
	SILENT,
	ERROR_HEAD,  /* an error that is not a whole one */
	LEAVES,	     /* a good answer, the last one: it exits with status 0 */
	REFUSES,     /* REPLAYER_E_REFUSED; it goes on */
	FAULTS,	     /* REPLAYER_E_FAULT */
	FAULTS_AFAR, /* at a command that is not of the window */
	AGAIN,	     /* REPLAYER_E_AGAIN */
	PLACE,	     /* REPLAYER_E_PLACE */
	ON_WAY,	     /* says three times where it is, then answers rightly */
	ON_WAY_AFAR, /* and is behind where it was to go to */
	ON_WAY_BACK, /* and goes back */
	ON_WAY_LONG, /* of a size that is another */
	HOWS,
	LIES,	/* the number of wire->lie stands in the right answer */
	RUBBISH /* of the right length; wire->lie.value: 0 to 255 all bytes, else by chance */
};

struct asked {
	uint32_t type, size;
	uint64_t word[3], hash;
};

struct edit {
	uint32_t type;
	uint64_t at, addr, n;
	uint8_t value;
};

struct memory {
	uint64_t pos;
	struct edit edits[256];
	unsigned n;
	uint64_t skip, soft;
};

struct lie {
	size_t at, n; /* which bytes */
	uint64_t value;
};

static struct wire {
	uint32_t type;	    /* the request that is answered wrongly, once */
	unsigned passed;    /* of that type, before it */
	enum how how, next; /* next: of the request of that type behind it */
	struct lie lie;
	bool fired, silent;
	unsigned spawned, n;
	int layout[8]; /* of the first processes: personality() */
	struct asked asked[4096];
} * wire;

static char path[64];

static uint8_t byte_at(const struct memory *m, uint64_t addr)
{
	uint64_t v = addr * 7 + m->pos * 31 + m->skip * 13 + m->soft * 17;

	for (unsigned i = 0; i < m->n; i++)
		if (m->edits[i].type == REPLAYER_ARG && m->edits[i].at <= m->pos)
			v += m->edits[i].value;
	for (unsigned i = m->n; i--;)
		if (m->edits[i].type == REPLAYER_WRITE && m->edits[i].at <= m->pos &&
			addr - m->edits[i].addr < m->edits[i].n)
			return (uint8_t)(m->edits[i].value + (addr - m->edits[i].addr) / 4096);
	return (uint8_t)v;
}

static void add_edit(
	struct memory *m, uint32_t type, uint64_t at, uint64_t addr, uint64_t n, uint8_t value)
{
	if (m->n == 256)
		abort();
	m->edits[m->n++] = (struct edit){type, at, addr, n, value};
}

/* --- the replayer --- */

static int fd;

static void get(void *dst, size_t n)
{
	for (size_t k = 0; k < n;) {
		const ssize_t got = read(fd, (uint8_t *)dst + k, n - k);

		if (got <= 0)
			exit(0);
		k += (size_t)got;
	}
}

static void put(const void *p, size_t n)
{
	for (size_t k = 0; k < n;) {
		const ssize_t put = write(fd, (const uint8_t *)p + k, n - k);

		if (put <= 0)
			exit(1);
		k += (size_t)put;
	}
}

static void reply_changed(uint32_t type, const void *p, size_t n, size_t put_n, uint64_t changed)
{
	const struct replayer_head h = {.type = type, .size = (uint32_t)n, .changed = changed};

	put(&h, sizeof h);
	put(p, put_n);
}

static void reply(uint32_t type, const void *p, size_t n, size_t put_n)
{
	reply_changed(type, p, n, put_n, 0);
}

static void note(uint32_t type, const uint8_t *body, size_t n)
{
	struct asked *a = &wire->asked[wire->n];

	if (wire->n == 4096)
		return;
	*a = (struct asked){.type = type, .size = (uint32_t)n};
	memcpy(a->word, body, n < sizeof a->word ? n : sizeof a->word);
	for (size_t i = 0; i < n; i++)
		a->hash = a->hash * 31 + body[i];
	wire->n++;
}

static size_t reply_size(uint32_t type)
{
	switch (type) {
#define REQ(n, NAME, req, rep, length, help)                                                       \
	case n:                                                                                    \
		return sizeof(struct rep);
		REPLAYER_REQUESTS(REQ)
#undef REQ
	}
	exit(5);
}

/* The position and the what-ifs behind a request. */
static void move(struct memory *m, uint32_t type, const uint8_t *body)
{
	struct replayer_range r;
	struct replayer_arg a;
	struct replayer_node node;

	memcpy(&r, body, sizeof r);
	memcpy(&a, body, sizeof a);
	memcpy(&node, body, sizeof node);
	if (type == REPLAYER_SEEK || type == REPLAYER_EXECUTE || type == REPLAYER_RUN ||
		type == REPLAYER_CHANGED || type == REPLAYER_ACCESSES)
		m->pos = r.addr;
	if (type == REPLAYER_CHECK)
		m->pos = ((const struct replayer_check *)(const void *)body)->to;
	if (type == REPLAYER_ORDER)
		m->pos = LAST;
	if (type == REPLAYER_KERNEL)
		m->pos = r.addr - 1;
	if (type == REPLAYER_NODE)
		m->pos = node.seq - (node.step < STEPS);
	if (type == REPLAYER_WRITE)
		add_edit(m, type, m->pos, r.addr, r.size, body[sizeof r]);
	if (type == REPLAYER_ARG && a.seq)
		add_edit(m, type, a.seq, 0, 0, body[sizeof a]);
	else if (type == REPLAYER_ARG)
		m->n = 0;
	if (type == REPLAYER_SKIP)
		m->skip = ((const struct replayer_skip *)(const void *)body)->n;
	if (type == REPLAYER_SOFT)
		m->soft = ((const struct replayer_soft *)(const void *)body)->seed;
	if (type == REPLAYER_OPEN)
		m->pos = FIRST - 1;
}

/* What follows the reply's structure, whose members that say so are set. */
static void add_tail(
	const struct memory *m, uint32_t type, const uint8_t *body, size_t n, struct buf *out)
{
	static const struct replayer_access_set set = {.seq = LAST, .n = {1}};
	static const struct replayer_piece piece = {.addr = ADDR,
		.size = 4096,
		.same = 1,
		.checked = REPLAYER_CHECKED,
		.first_page = UINT64_MAX};
	static const struct replayer_difference row = {.seq = FIRST, .as = REPLAYER_AS_F32};
	static const struct replayer_place place = {.addr = ADDR, .size = 8};
	static const struct soft_probe_result counted = {.nkeys = 1};
	static const struct soft_print said;
	static const struct soft_span span = {ADDR, 8};
	static const struct soft_race race = {.label = 1};
	static const struct soft_warp warps[2];
	struct replayer_range r;

	memcpy(&r, body, sizeof r);
	switch (type) {
	case REPLAYER_OPEN:
		buf_str(out, "a note\n");
		break;
	case REPLAYER_READ:
		for (uint64_t i = 0; i < r.size; i++)
			buf_byte(out, byte_at(m, r.addr + i));
		break;
	case REPLAYER_VERIFY:
		buf_add(out, &piece, sizeof piece);
		break;
	case REPLAYER_ORDER:
		buf_add(out, &place, sizeof place);
		break;
	case REPLAYER_CHECK:
		buf_add(out, &row, sizeof row);
		break;
	case REPLAYER_CHANGED:
	case REPLAYER_ACCESSES:
		buf_add(out, &set, sizeof set);
		memcpy(out->data + out->len - sizeof set, &m->pos, sizeof m->pos);
		buf_add(out, &span, sizeof span);
		break;
	case REPLAYER_RACES:
		buf_add(out, &race, sizeof race);
		break;
	case REPLAYER_PRINTED:
		buf_add(out, &said, sizeof said);
		break;
	case REPLAYER_PROBED:
		buf_add(out, &counted, sizeof counted);
		break;
	case REPLAYER_KERNEL_POINTS:
		buf_add(out, body + sizeof(struct replayer_none), n - sizeof(struct replayer_none));
		break;
	case REPLAYER_KERNEL_ASK:
		buf_add(out, warps, sizeof warps);
		break;
	default:
		break;
	}
}

/* The reply's structure. */
static void add_head(const struct memory *m, uint32_t type, const uint8_t *body, struct buf *out)
{
	const size_t n = reply_size(type);
	uint8_t *to = buf_room(out, n);
	struct replayer_range r;
	struct replayer_node node;

	memcpy(&r, body, sizeof r);
	memcpy(&node, body, sizeof node);
	memset(to, 0, n);
	out->len += n;
	switch (type) {
#define PUT(structure, ...)                                                                        \
	memcpy(to, &(const struct structure){__VA_ARGS__}, sizeof(struct structure));              \
	break
	case REPLAYER_OPEN:
		PUT(replayer_opened, .ranges = 1, .bytes = 4096, .work = 5);
	case REPLAYER_VERIFY:
		PUT(replayer_verified, .pieces = 1, .same = 1);
	case REPLAYER_ORDER:
		PUT(replayer_ordered, .seq = LAST, .n = 1);
	case REPLAYER_CHECK:
		PUT(replayer_check_done, .seq = m->pos, .n = 1, .checked = 1);
	case REPLAYER_CHANGED:
	case REPLAYER_ACCESSES:
		PUT(replayer_accessed, .seq = m->pos, .n = 1);
	case REPLAYER_RACES:
		PUT(replayer_races, .n = 1);
	case REPLAYER_PRINTED:
		PUT(replayer_printed, .n = 1);
	case REPLAYER_NODE:
		PUT(replayer_at_node, .seq = m->pos, .step = node.step, .steps = STEPS);
	case REPLAYER_KERNEL:
	case REPLAYER_KERNEL_GO:
	case REPLAYER_KERNEL_FOCUS:
	case REPLAYER_KERNEL_PUT:
		PUT(soft_stop, .seq = m->pos + 1, .state = SOFT_STOPPED, .kernel = "k");
	case REPLAYER_FIGURES:
		PUT(replayer_figures, .executed = 7);
	case REPLAYER_ADDRESSING:
		PUT(replayer_addressing, .a = {.known = 1, .n = 2});
	case REPLAYER_KEPT:
		PUT(replayer_kept, .n = 1, .wait = r.addr);
	case REPLAYER_HASH:
	case REPLAYER_HASH_RECORDED:
		PUT(replayer_hash, .hash.half = {byte_at(m, r.addr), r.size});
	case REPLAYER_KERNEL_POINTS:
	case REPLAYER_KERNEL_ASK:
	case REPLAYER_PROBED:
		break;
	default: /* the position */
		memcpy(to, &m->pos, sizeof m->pos);
#undef PUT
	}
}

/* Does what is asked for. The right answer is in out. */
static void obey(struct memory *m, uint32_t type, const uint8_t *body, size_t n, struct buf *out)
{
	move(m, type, body);
	add_head(m, type, body, out);
	add_tail(m, type, body, n, out);
}

static void lie(const struct lie *l, enum how how, struct buf *out)
{
	struct random_cmds by_chance = {.x = l->value};

	if (how == LIES)
		memcpy(out->data + l->at, &l->value, l->n);
	for (size_t i = 0; how == RUBBISH && i < out->len; i++)
		out->data[i] = (uint8_t)(l->value < 256 ? l->value : random_below(&by_chance, 256));
	reply(REPLAYER_REPLY, out->data, out->len, out->len);
}

static void tell_error(uint32_t code, uint64_t seq)
{
	struct {
		struct replayer_error e;
		char text[4];
	} x = {{.code = code, .seq = seq}, "why"};

	reply(REPLAYER_ERROR, &x, sizeof x.e + 3, sizeof x.e + 3);
	if (code == REPLAYER_E_FAULT || code == REPLAYER_E_AGAIN || code == REPLAYER_E_PLACE)
		exit(0);
}

/* Three places, and the right answer. */
static void tell_way(uint64_t a, uint64_t b, uint64_t c, const struct buf *out)
{
	const uint64_t at[] = {a, b, c};

	for (unsigned i = 0; i < 3; i++)
		reply(REPLAYER_AT, &at[i], sizeof at[i], sizeof at[i]);
	reply(REPLAYER_REPLY, out->data, out->len, out->len);
}

static void misbehave(enum how how, uint64_t seq, struct buf *out)
{
	uint8_t nine[9] = {FIRST};

	switch (how) {
	case SHORT:
		reply(REPLAYER_REPLY, out->data, out->len - 1, out->len - 1);
		break;
	case EMPTY:
		reply(REPLAYER_REPLY, NULL, 0, 0);
		break;
	case LONG:
		reply(REPLAYER_REPLY, out->data, out->len + 5, out->len);
		put("xxxxx", 5);
		break;
	case KIND:
		reply(77, out->data, out->len, out->len);
		break;
	case CHANGED_AFAR:
		reply_changed(REPLAYER_REPLY, out->data, out->len, out->len, LAST + 1);
		break;
	case HUGE_SIZE:
		reply(REPLAYER_REPLY, out->data, REPLAYER_MESSAGE_MAX - 7, 0);
		break;
	case HALF_HEAD:
		put("xxx", 3);
		exit(0);
	case HALF_BODY:
		reply(REPLAYER_REPLY, out->data, out->len, out->len / 2);
		exit(0);
	case EXITS:
		exit(0);
	case EXITS_9:
		exit(9);
	case KILLED:
		kill(getpid(), SIGKILL);
		break;
	case CLOSES:
		wire->silent = true;
		close(fd);
		for (;;)
			pause();
	case SILENT:
		wire->silent = true;
		for (;;)
			pause();
	case LEAVES:
		reply(REPLAYER_REPLY, out->data, out->len, out->len);
		exit(0);
	case ERROR_HEAD:
		reply(REPLAYER_ERROR, out->data, 7, 7);
		break;
	case REFUSES:
		tell_error(REPLAYER_E_REFUSED, 0);
		break;
	case FAULTS:
		tell_error(REPLAYER_E_FAULT, seq);
		break;
	case FAULTS_AFAR:
		tell_error(REPLAYER_E_FAULT, seq % 2 ? LAST + 5 : FIRST - 50);
		break;
	case AGAIN:
		tell_error(REPLAYER_E_AGAIN, 0);
		break;
	case PLACE:
		tell_error(REPLAYER_E_PLACE, 0);
		break;
	case ON_WAY:
		tell_way(FIRST - 1, (FIRST - 1 + seq) / 2, seq, out);
		break;
	case ON_WAY_AFAR:
		tell_way(FIRST - 1, seq, LAST + 1, out);
		break;
	case ON_WAY_BACK:
		tell_way(FIRST, FIRST - 1, FIRST - 1, out);
		break;
	case ON_WAY_LONG:
		reply(REPLAYER_AT, nine, sizeof nine, sizeof nine);
		reply(REPLAYER_REPLY, out->data, out->len, out->len);
		break;
	case LIES:
	case RUBBISH:
		lie(&wire->lie, how, out);
		break;
	default:
		break;
	}
}

static __attribute__((noreturn)) void replayer(void)
{
	static uint8_t body[REPLAYER_MESSAGE_MAX];
	struct memory m = {0};

	fd = atoi(getenv(REPLAYER_FD_ENV));
	if (wire->spawned < 8)
		wire->layout[wire->spawned] = personality(0xffffffff);
	wire->spawned++;
	for (;;) {
		struct buf out = BUF_INIT;
		struct replayer_head h;
		enum how how = FINE;

		get(&h, sizeof h);
		if (h.size > sizeof body)
			exit(3);
		memset(body, 0, 64);
		get(body, h.size);
		note(h.type, body, h.size);
		if (h.type == REPLAYER_FIGURES || h.type == REPLAYER_PROBES)
			if (((const struct replayer_none *)(const void *)body)->unused)
				exit(4); /* it says nothing */
		if (h.type == wire->type && !wire->passed--) {
			how = wire->how;
			wire->type = wire->next ? h.type : 0;
			wire->passed = 0;
			wire->how = wire->next;
			wire->next = FINE;
			wire->fired = true;
		}
		if (h.type == REPLAYER_OPEN && getenv("TSDB_WIRE_PLACES") &&
			wire->spawned < (unsigned)atoi(getenv("TSDB_WIRE_PLACES")))
			how = PLACE;
		if (how != REFUSES)
			obey(&m, h.type, body, h.size, &out);
		if (how)
			misbehave(how, m.pos, &out);
		else if (h.type != REPLAYER_EXECUTE ||
			 ((struct replayer_execute *)(void *)body)->wait)
			reply(REPLAYER_REPLY, out.data, out.len, out.len);
		buf_free(&out);
	}
}

/* --- system calls --- */

static pid_t reaped;	     /* the last one */
static bool choppy;	     /* they come back early */
static unsigned calls_until; /* the one of these calls that fails; 0: none */
static uint64_t later_ns;
static __attribute__((unused)) struct random_cmds dice = {.x = 99};
static struct random_cmds chops = {.x = 7}; /* how often time decides */

static bool fails_now(void)
{
	if (!calls_until || --calls_until)
		return false;
	errno = EMFILE;
	return true;
}

int socketpair(int domain, int type, int protocol, int sv[2])
{
	return fails_now() ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, sv);
}

int pipe2(int ends[2], int flags)
{
	return fails_now() ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

pid_t fork(void)
{
	pid_t (*real)(void);

	*(void **)&real = dlsym(RTLD_NEXT, "fork");
	return fails_now() ? -1 : real();
}

static bool cut_short(void)
{
	if (!choppy || random_below(&chops, 3))
		return false;
	errno = EINTR;
	return true;
}

ssize_t recv(int s, void *p, size_t n, int flags)
{
	if (choppy && n > 9)
		n = 1 + random_below(&chops, n);
	return cut_short() ? -1 : syscall(SYS_recvfrom, s, p, n, flags, NULL, NULL);
}

ssize_t send(int s, const void *p, size_t n, int flags)
{
	if (choppy && n > 1)
		n = 1 + random_below(&chops, n);
	return cut_short() ? -1 : syscall(SYS_sendto, s, p, n, flags, NULL, 0);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	const pid_t r = cut_short() ? -1 : (pid_t)syscall(SYS_wait4, pid, status, options, NULL);

	reaped = r > 0 ? r : reaped;
	return r;
}

/* Nobody answers: that takes no time of ours. */
int poll(struct pollfd *p, nfds_t n, int ms)
{
	if (cut_short())
		return -1;
	if (ms > 0 && wire->silent) {
		later_ns += (uint64_t)ms * 1000000;
		ms = 0;
	}
	return (int)syscall(SYS_poll, p, n, ms);
}

/* A process that is reaped is none any more: its number may be another's. */
int kill(pid_t pid, int signal)
{
	if (pid == reaped || pid < 2)
		abort();
	wire->silent = false; /* a death takes real time */
	return (int)syscall(SYS_kill, pid, signal);
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!wire->silent)
		return (int)syscall(SYS_nanosleep, t, left);
	later_ns += (uint64_t)t->tv_nsec;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	const int r = (int)syscall(SYS_clock_gettime, id, t);

	if (!r && id == CLOCK_MONOTONIC) {
		t->tv_nsec += (long)(later_ns % 1000000000);
		t->tv_sec += (time_t)(later_ns / 1000000000) + t->tv_nsec / 1000000000;
		t->tv_nsec %= 1000000000;
	}
	return r;
}

static __attribute__((unused)) uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The descriptors that are open. There is no child, dead or alive. */
static __attribute__((unused)) unsigned descriptors(void)
{
	unsigned n = 0;

	assert_int_equal(syscall(SYS_wait4, -1, NULL, WNOHANG, NULL), -1);
	assert_int_equal(errno, ECHILD);

	for (int i = 0; i < 256; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

/* --- the client --- */

static volatile bool interrupt;

static struct err *try_open(struct device **ret)
{
	const struct device_options o = {.replayer = "/proc/self/exe",
		.trace = "none",
		.first = FIRST,
		.last = LAST,
		.timeout_s = 20,
		.interrupt = &interrupt};

	return device_open(ret, &o);
}

static struct device *open_it(void)
{
	struct device *d;

	memset(wire, 0, sizeof *wire);
	ok(try_open(&d));
	return d;
}

static __attribute__((unused)) void go_wrong(uint32_t type, unsigned passed, enum how how)
{
	wire->fired = wire->silent = false;
	wire->passed = passed;
	wire->how = how;
	wire->next = FINE;
	wire->type = type;
}

/* Of several commands that may be to blame the first comes first; of one it says so. */
static __attribute__((unused)) void names_commands(const struct err *e)
{
	const char *of = e ? strstr(e->what, "one of #") : NULL;
	unsigned first, last;

	if (of && sscanf(of, "one of #%u to #%u", &first, &last) == 2)
		assert_true(first < last);
}

static void behave(void)
{
	go_wrong(0, 0, FINE);
}

/* What the client says is there is there. It may first have to tell of a process that died. */
static void is_right(struct device *d, struct memory *m)
{
	uint8_t got[300];
	struct err *e = NULL;

	behave();
	for (unsigned i = 0; i < 2; i++) {
		err_free(e);
		e = device_read(d, ADDR + 4000, got, sizeof got);
		if (!e)
			break;
	}
	ok(e);
	m->pos = device_seq(d);
	for (unsigned i = 0; i < sizeof got; i++)
		if (got[i] != byte_at(m, ADDR + 4000 + i))
			fail_msg("at #%u byte %u is %u, not %u", (unsigned)m->pos, i, got[i],
				byte_at(m, ADDR + 4000 + i));
	assert_int_equal(device_culprit(d, NULL), 0);
}

/* What main() does: plays the replayer when it is one, else runs the tests. */
static int scripted_main(const struct CMUnitTest *tests, size_t n)
{
	const bool child = getenv(REPLAYER_FD_ENV) != NULL;
	int file, failed;

	if (!child) {
		snprintf(path, sizeof path, "scripted-replayer-%d", (int)getpid());
		setenv(WIRE, path, 1);
	}
	file = open(getenv(WIRE), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, sizeof *wire))
		return 1;
	wire = mmap(NULL, sizeof *wire, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (child)
		replayer();
	failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
	unlink(path);
	return failed;
}

#endif
