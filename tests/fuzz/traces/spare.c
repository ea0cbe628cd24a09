/* SPDX-License-Identifier: Apache-2.0
 *
 * See spare.h. The linker puts __wrap_device_spawn() where tsdb calls device_spawn(). The surprise
 * is CLONE_PARENT: tsdb waits for its replayer, so the spare process makes brothers of itself.
 */
#include "spare.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/client/device-private.h"
#include "replay/protocol.h"

#define LEFT_MAX 64

int tsdb_replayer_main(int argc, char **argv);
struct err *__wrap_device_spawn(struct device *d);

static struct {
	int socket;   /* to the spare process */
	char sandbox; /* of the next replayer: 1 or 0 */
	/* Replayers that tsdb may not have reaped; the oldest are overwritten. */
	pid_t left[LEFT_MAX];
	unsigned nleft;
} spare;

/* --- in the spare process --- */

/* Two descriptors, the socket to tsdb and what is to be standard output; and spare.sandbox. */
static bool take_ends(int ends[2])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = {.room = {0}};
	struct iovec v = {&spare.sandbox, 1};
	struct msghdr m = {.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control};

	if (recvmsg(spare.socket, &m, 0) != 1 || control.head.cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return false;
	memcpy(ends, CMSG_DATA(&control.head), 2 * sizeof(int));
	return true;
}

static _Noreturn void be_replayer(int fd, int said)
{
	char *words[] = {(char *)"tsdb-replayer", (char *)REPLAYER_NO_SANDBOX, NULL};
	const struct rlimit seconds = {60, 60};
	char number[16];

	close(spare.socket);
	dup2(said, 1);
	close(said);
	setrlimit(RLIMIT_CPU, &seconds);
	snprintf(number, sizeof number, "%d", fd);
	setenv(REPLAYER_FD_ENV, number, 1);
	if (spare.sandbox)
		words[1] = NULL;
	_exit(tsdb_replayer_main(spare.sandbox ? 1 : 2, words));
}

/* fork() with a flag that fork() has not: libc learns the new thread's id as it does there. */
static pid_t fork_brother(void)
{
	int *tid = NULL;

	if (prctl(PR_GET_TID_ADDRESS, &tid))
		return -1;
	return (pid_t)syscall(SYS_clone,
		CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, NULL, NULL, tid,
		0);
}

/* The allocator's first memory of each size, so that not each replayer begins by mapping it. */
static void warm(void)
{
	for (size_t n = 16; n <= 65536; n += n < 256 ? 16 : n / 4)
		free(malloc(n));
}

static _Noreturn void be_spare(void)
{
	int ends[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	warm();
	while (take_ends(ends)) {
		const pid_t pid = fork_brother();

		if (!pid)
			be_replayer(ends[0], ends[1]);
		close(ends[0]);
		close(ends[1]);
		if (write(spare.socket, &pid, sizeof pid) != sizeof pid)
			break;
	}
	_exit(0);
}

/* --- in tsdb --- */

void spare_sandbox(bool on)
{
	spare.sandbox = on;
}

bool spare_start(void)
{
	int sv[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return false;
	pid = fork();
	spare.socket = sv[pid ? 0 : 1];
	close(sv[pid ? 1 : 0]);
	if (!pid)
		be_spare();
	return pid > 0;
}

static bool give_ends(int fd, int said)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(2 * sizeof(int)),
			     .cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS}};
	const int ends[2] = {fd, said};
	struct iovec v = {&spare.sandbox, 1};
	const struct msghdr m = {.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control};

	memcpy(CMSG_DATA(&control.head), ends, sizeof ends);
	return sendmsg(spare.socket, &m, MSG_NOSIGNAL) == 1;
}

/* As device-process.c has it, but the spare process forks. */
struct err *__wrap_device_spawn(struct device *d)
{
	int sv[2], said;
	struct err *e;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return err_sys(errno, "cannot make a socket pair for the replayer");
	e = device_said_open(d, &said);
	if (e) {
		close(sv[0]);
		close(sv[1]);
		return e;
	}
	d->fd = sv[0];
	if (!give_ends(sv[1], said) ||
		read(spare.socket, &d->pid, sizeof d->pid) != sizeof d->pid || d->pid < 0) {
		d->pid = 0;
		e = err_new(ERR_STATE, "the spare process is gone");
	}
	close(sv[1]);
	close(said);
	if (d->pid)
		spare.left[spare.nleft++ % LEFT_MAX] = d->pid;
	if (!e && fcntl(d->fd, F_SETFL, O_NONBLOCK))
		e = err_sys(errno, "cannot set up the replayer's socket");
	if (e)
		device_bury(d);
	return e;
}

void spare_reap(void)
{
	const unsigned n = spare.nleft < LEFT_MAX ? spare.nleft : LEFT_MAX;

	for (unsigned i = 0; i < n; i++) {
		if (waitpid(spare.left[i], NULL, WNOHANG))
			continue; /* reaped */
		kill(spare.left[i], SIGKILL);
		waitpid(spare.left[i], NULL, 0);
	}
	spare.nleft = 0;
}
