/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's entry: the driver loads the agent and calls it while the program initialises it
 * (source.h). Without TSDB_CONTROL, or with a control block of another process (a child inherits
 * the environment), the agent does nothing at all.
 */
#include "capture/core/agent.h"
#include "capture/host/bypass.h"
#include "capture/late/device-look.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/driver.h"
#include "capture/core/forget.h"
#include "capture/stacks/mapping.h"
#include "capture/core/source.h"
#include "capture/memory/window.h"
#include "capture/stacks/stack.h"
#include "capture/core/stop.h"
#include "capture/core/thread.h"

#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which glibc 2.35 has and older ones do not */

struct agent agent;
AGENT_KEPT pid_t agent_owner;
__thread struct tls tls __attribute__((tls_model("initial-exec")));

void *agent_map_kept(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void agent_touch(void *p, size_t bytes)
{
	const uintptr_t from = (uintptr_t)p & ~(uintptr_t)(TSDB_PAGE - 1),
			end = ((uintptr_t)p + bytes + TSDB_PAGE - 1) & ~(uintptr_t)(TSDB_PAGE - 1);
	/* before Linux 5.14: an error; the pages are then made at first use */
	madvise((void *)from, end - from, POPULATE_WRITE);
}

void agent_unmap_kept(void *p, size_t bytes)
{
	munmap(p, bytes);
}

void *agent_map(size_t bytes)
{
	void *p = agent_map_kept(bytes);
	if (p && !forget_note(p, bytes)) {
		agent_unmap_kept(p, bytes);
		return NULL;
	}
	return p;
}

void agent_unmap(void *p, size_t bytes)
{
	forget_drop(p);
	agent_unmap_kept(p, bytes);
}

void agent_empty(void *p, size_t bytes)
{
	(void)madvise(p, bytes, MADV_DONTNEED);
}

void spin_lock(struct spin *s)
{
	unsigned tries = 0;
	while (atomic_exchange_explicit(&s->held, 1, memory_order_acquire)) {
		if (++tries > 100)
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		else
			__builtin_ia32_pause();
	}
}

void spin_unlock(struct spin *s)
{
	atomic_store_explicit(&s->held, 0, memory_order_release);
}

void agent_count_lost(void)
{
	if (agent.control)
		atomic_fetch_add_explicit(&agent.control->lost, 1, memory_order_relaxed);
}

bool agent_debugger_gone(const struct tsdb_control *c)
{
	return c->debugger_pid && kill((pid_t)c->debugger_pid, 0) < 0 && errno == ESRCH;
}

void agent_retire(void)
{
	if (agent.live)
		atomic_store(agent.live, 0);
}

void agent_refuse(const char *sentence)
{
	struct tsdb_control *c = agent.control;
	if (!c)
		return;
	strncpy(c->text, sentence, sizeof(c->text) - 1);
	c->text[sizeof(c->text) - 1] = '\0';
	atomic_store_explicit(&c->agent_state, TSDB_AGENT_REFUSED, memory_order_release);
	agent_retire();
}

/* The page that says "live": zero in every forked child. */
static int make_live_page(void)
{
	static AGENT_KEPT void *page;
	if (!page && !(page = agent_map_kept(TSDB_PAGE)))
		return -ENOMEM;
	madvise(page, TSDB_PAGE, MADV_WIPEONFORK); /* before Linux 4.14: forked() alone does it */
	agent.live = page;
	return 0;
}

static void forked(void)
{
	agent_retire();
}

int agent_adopt(struct tsdb_control *c)
{
	int err = make_live_page();
	if (err)
		return err;
	if (!agent_owner)
		agent_owner = getpid();
	/* Slots left by an earlier program of this process (before exec) have no producer any
	 * more. */
	for (uint32_t i = 0; i < tsdb_rings(c); i++) {
		uint32_t used = TSDB_RING_USED;
		atomic_store(&c->ring[i].inflight, TSDB_IDLE);
		atomic_compare_exchange_strong(&c->ring[i].state, &used, TSDB_RING_CLOSED);
	}
	uint64_t none = 0;
	atomic_compare_exchange_strong(&c->next_seq, &none, 1);
	uint32_t no_thread = 0;
	atomic_compare_exchange_strong(&c->next_thread, &no_thread, 1);
	atomic_store(&c->stop_owner, 0);
	bulk_adopt(c);
	agent.control = c;
	c->stop_pc = stop_trap_address();
	atomic_store(agent.live, 1);
	return 0;
}

/* Checks the header's fields before any other is trusted. */
static int check_header(int fd, uint64_t *ret_bytes)
{
	struct {
		uint32_t magic, version;
		uint64_t bytes;
		uint32_t ring_bytes, pid;
	} h;
	struct stat st;
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || fstat(fd, &st) < 0)
		return -EINVAL;
	_Static_assert(
		offsetof(struct tsdb_control, pid) == 20, "the header is what check_header reads");
	if (h.magic != TSDB_WIRE_MAGIC || h.version != TSDB_WIRE_VERSION)
		return -EPROTO;
	if (h.ring_bytes < 2 * TSDB_RECORD_MAX || (h.ring_bytes & (h.ring_bytes - 1)))
		return -EPROTO;
	if (h.bytes != tsdb_wire_bytes(h.ring_bytes) || (uint64_t)st.st_size < h.bytes)
		return -EPROTO;
	if (h.pid != (uint32_t)getpid())
		return -ESRCH;
	*ret_bytes = h.bytes;
	return 0;
}

/* The path of this process's control block, if fd is a directory of them. */
static int look_up(int fd, char path[64])
{
	struct {
		uint32_t magic, debugger_pid;
	} h;
	struct tsdb_directory_entry e[64];
	const uint32_t pid = (uint32_t)getpid();
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.magic != TSDB_DIRECTORY_MAGIC)
		return -EINVAL;
	off_t at = (off_t)offsetof(struct tsdb_directory, entry);
	for (ssize_t n; (n = pread(fd, e, sizeof(e), at)) >= (ssize_t)sizeof(*e); at += n)
		for (size_t i = 0; i < (size_t)n / sizeof(*e); i++)
			if (atomic_load_explicit(&e[i].pid, memory_order_acquire) == pid) {
				snprintf(path, 64, "/proc/%u/fd/%d", h.debugger_pid, e[i].fd);
				return 0;
			}
	return -ESRCH;
}

/* Receives a descriptor that tsdb sends through the socket of this name ('@': in the abstract
 * space); used when tsdb belongs to another user. */
static int receive(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} box;
	char byte;
	struct iovec v = {&byte, 1};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &box, .msg_controllen = sizeof(box)};
	const size_t n = strnlen(name, sizeof(to.sun_path));
	int fd = -1, s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -1;
	memcpy(to.sun_path + 1, name + 1, n - 1); /* begins with a NUL */
	if (!connect(s, (const struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) &&
		recvmsg(s, &m, MSG_CMSG_CLOEXEC) == 1 && box.head.cmsg_level == SOL_SOCKET &&
		box.head.cmsg_type == SCM_RIGHTS && box.head.cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(&box.head), sizeof(fd));
	else if (!errno)
		errno = ECONNRESET;
	const int saved = errno;
	close(s);
	errno = saved;
	return fd;
}

/* Opens path, or the control block that it refers to. */
static int open_control(const char *path)
{
	char own[64];
	int fd = path[0] == '@' ? receive(path) : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && !look_up(fd, own)) {
		close(fd);
		fd = open(own, O_RDWR | O_CLOEXEC);
	}
	return fd;
}

int agent_map_control(const char *path)
{
	uint64_t bytes;
	int fd = open_control(path);
	if (fd < 0)
		return -errno;
	int err = check_header(fd, &bytes);
	void *p = MAP_FAILED;
	if (!err) {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
		err = p == MAP_FAILED ? -errno : 0;
	}
	/* No descriptor stays open: programs close those that they do not know. */
	close(fd);
	if (err)
		return err;
	madvise(p, bytes, MADV_DONTDUMP);
	return agent_adopt(p);
}

static void at_exit(void)
{
	bool stranger;
	if (tls.inside || !thread_come_in(&stranger))
		return;
	window_leave(atomic_load(&window_open) ? thread_get() : NULL);
	if (agent.source)
		agent.source->flush(true);
	thread_go_out(stranger);
}

static AGENT_KEPT struct spin door;

void agent_unmap_control(struct tsdb_control *c)
{
	munmap(c, c->bytes);
}

/* With the door locked: opens and maps the control block. */
static int open_block(const char *path)
{
	static AGENT_KEPT bool ready;
	forget_prepare();
	int err = agent_map_control(path);
	if (err)
		return err;
	mapping_init();
	stack_init();
	if (ready)
		return 0;
	ready = true;
	thread_init();
	pthread_atfork(NULL, bypass_forked, forked);
	return 0;
}

/* Maps the control block, once. 0, or -errno: the agent stays inert. */
int agent_open(void)
{
	static int result = 1;
	tls.inside++;
	spin_lock(&door);
	if (agent.control) { /* a debugger has attached */
		result = 0;
	} else if (result > 0) {
		const char *path = getenv("TSDB_CONTROL");
		result = path ? open_block(path) : -ENOENT;
	}
	spin_unlock(&door);
	tls.inside--;
	return result;
}

int agent_reopen(const char *path)
{
	tls.inside++;
	spin_lock(&door);
	const int err = agent_live() ? -EBUSY : open_block(path);
	spin_unlock(&door);
	tls.inside--;
	return err;
}

static void start(void)
{
	static AGENT_KEPT _Atomic uint32_t at_exit_set;
	char why[TSDB_TEXT_MAX] = "";
	const struct source *source = source_find();
	if (!source || driver->open()) {
		snprintf(why, sizeof(why),
			"the %s driver's library is loaded but does not offer its functions by name, so there is no capture",
			driver->api);
		agent_refuse(why);
		return;
	}
	if (source->start(why, sizeof(why))) {
		agent_refuse(why);
		return;
	}
	agent.source = source;
	if (!atomic_exchange(&at_exit_set, 1))
		atexit(at_exit);
	device_look_start();
	stop_watch_device();
	atomic_store(&agent.control->source, source->number);
	/* Unless the debugger has left meanwhile: starting the source may have waited for the
	 * device. */
	uint32_t was = atomic_load(&agent.control->agent_state);
	while (was != TSDB_AGENT_LEFT &&
		!atomic_compare_exchange_weak(&agent.control->agent_state, &was, TSDB_AGENT_UP))
		;
}

void agent_start(void)
{
	if (atomic_exchange(&agent.started, 1))
		return;
	tls.inside++;
	start();
	tls.inside--;
}

int agent_loaded(void)
{
	const int saved = errno;
	if (!agent_open() && agent_live())
		agent_start();
	errno = saved;
	return 1;
}
