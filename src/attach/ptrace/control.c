/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory shared with the agent (capture/wire.h): tsdb's end of it. The memfd is sealed against
 * resizing, so that an inferior that truncates it cannot make tsdb fault. The inferior can write to
 * it, so its contents are never trusted.
 */
#include "attach/ptrace/inferior.h"

#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static struct err *check_ring_bytes(uint32_t n)
{
	if (n >= 2 * TSDB_RECORD_MAX && n <= (1u << 30) && !(n & (n - 1)))
		return NULL;
	return err_cure(err_new(ERR_USAGE, "a ring of %u bytes is not possible", n),
		"choose a power of two from %u to %u", 2 * TSDB_RECORD_MAX, 1u << 30);
}

static void set_defaults(struct tsdb_control *c, uint32_t ring_bytes)
{
	c->version = TSDB_WIRE_VERSION;
	c->bytes = tsdb_wire_bytes(ring_bytes);
	c->ring_bytes = ring_bytes;
	atomic_store(&c->on, 1);
	atomic_store(&c->stacks, TSDB_STACKS_ALL);
	atomic_store(&c->stack_depth, 64);
	atomic_store(&c->code, 1);
	atomic_store(&c->next_seq, 1);
	for (unsigned i = 0; i < TSDB_RING_LARGE; i++) /* the others when they are first used */
		atomic_store(&c->ring[i].inflight, TSDB_IDLE);
	c->debugger_pid = (uint32_t)getpid();
	c->magic = TSDB_WIRE_MAGIC;
}

/* A limit on file sizes (ulimit -f) is meant for disks, but the kernel applies it here too, with a
 * deadly signal. */
static bool set_size(int fd, uint64_t bytes)
{
	struct rlimit old, high;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, was;
	bool limited = getrlimit(RLIMIT_FSIZE, &old) == 0, ok;

	high = (struct rlimit){old.rlim_max, old.rlim_max};
	sigaction(SIGXFSZ, &ignore, &was);
	if (limited)
		setrlimit(RLIMIT_FSIZE, &high);
	ok = ftruncate(fd, (off_t)bytes) == 0;
	if (limited) {
		int saved = errno;

		setrlimit(RLIMIT_FSIZE, &old);
		errno = saved;
	}
	sigaction(SIGXFSZ, &was, NULL);
	return ok;
}

static struct err *size_error(uint64_t bytes)
{
	if (errno != EFBIG)
		return err_sys(errno, "cannot make the memory shared with the agent");
	return err_cure(
		err_new(ERR_LIMIT,
			"cannot make the memory shared with the agent: the limit on file sizes forbids %llu MiB",
			(unsigned long long)(bytes >> 20)),
		"`ulimit -H -f unlimited`, or smaller rings with `set capture ring-size`");
}

struct err *control_create(struct inferior *inf, uint32_t ring_bytes)
{
	void *p;

	inf->ring_bytes = ring_bytes ? ring_bytes : TSDB_RING_BYTES_DEFAULT;
	TRY(check_ring_bytes(inf->ring_bytes));
	inf->control_fd = memfd_create("tsdb-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (inf->control_fd >= 0 && !set_size(inf->control_fd, tsdb_wire_bytes(inf->ring_bytes)))
		return size_error(tsdb_wire_bytes(inf->ring_bytes));
	if (inf->control_fd < 0 ||
		fcntl(inf->control_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return err_sys(errno, "cannot make the memory shared with the agent");
	p = mmap(
		NULL, tsdb_control_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, inf->control_fd, 0);
	if (p == MAP_FAILED)
		return err_sys(errno, "cannot map the memory shared with the agent");
	inf->control = p;
	set_defaults(inf->control, inf->ring_bytes);
	return NULL;
}

/* The old program's agent ended without a message; a new one may start in the same process.
 * Configuration, breakpoints and the numbering of commands and threads go on. */
void control_exec(struct inferior *inf)
{
	struct tsdb_control *c = inf->control;

	if (!c)
		return;
	atomic_store(&c->agent_state, TSDB_AGENT_NONE);
	atomic_store(&c->python, TSDB_PYTHON_NONE);
	atomic_store(&c->source, 0);
	c->stop_pc = 0;
	c->text[0] = 0;
	c->stop.why = STOP_NONE;
	c->request.kind = TSDB_REQ_NONE;
	atomic_store(&c->stop_owner, 0);
	drain_exec(inf);
}

void control_free(struct inferior *inf)
{
	if (inf->control)
		munmap(inf->control, tsdb_control_bytes());
	inf->control = NULL;
	if (inf->control_fd >= 0)
		close(inf->control_fd);
	inf->control_fd = -1;
}
