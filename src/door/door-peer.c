/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the process at the other end, see door-peer.h. It is loaded into other people's programs
 * with libtracesmith: nothing here ends the process.
 */
#include "door/door-peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* dup2() of a number to itself keeps FD_CLOEXEC, posix_spawn's does not. */
static int put_files(posix_spawn_file_actions_t *actions, int end, bool no_input)
{
	const int r = posix_spawn_file_actions_adddup2(actions, end, DOOR_PEER_FD);

	if (r || !no_input)
		return r;
	return posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
}

static int spawn(pid_t *ret, char *const *words, char *const *env, int end, bool no_input)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	posix_spawnattr_init(&attributes);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attributes, &set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &set);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	r = put_files(&actions, end, no_input);
	if (!r)
		r = posix_spawnp(ret, words[0], &actions, &attributes, words, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int door_peer_start(struct door_peer *ret, char *const *words, char *const *env, bool no_input)
{
	struct door_peer p = DOOR_PEER_NONE;
	int ends[2], r;

	*ret = p;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return errno;
	r = spawn(&p.pid, words, env, ends[1], no_input);
	close(ends[1]);
	p.fd = ends[0];
	if (r) {
		close(p.fd);
		return r;
	}
	p.process = (int)syscall(SYS_pidfd_open, p.pid, 0);
	*ret = p;
	return 0;
}

void door_peer_signal(const struct door_peer *p, int sig)
{
	if (p->process >= 0)
		syscall(SYS_pidfd_send_signal, p->process, sig, NULL, 0);
	else if (p->pid)
		kill(p->pid, sig);
}

void door_peer_close(struct door_peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->process >= 0)
		close(p->process);
	p->fd = p->process = -1;
}
