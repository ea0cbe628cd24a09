/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of /proc that another process can hold back; see proc-read.h. A reading belongs to its
 * thread and its caller, and the last of the two frees it.
 */
#include "base/proc-read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/patience.h"

#define LIMIT_NS UINT64_C(2000000000)
#define LOOK_NS 50000000
#define CHUNK 4096u

struct reading {
	pid_t pid;
	char *path;
	size_t most;
	struct buf data;
	int error; /* 0: all was read */
	bool done, left;
	struct reading *next; /* of those that were left */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	struct reading *left;
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

static struct reading *new_reading(pid_t pid, const char *path, size_t most)
{
	struct reading *r = xcalloc(1, sizeof *r);

	r->pid = pid;
	r->path = xstrdup(path);
	r->most = most;
	return r;
}

static void free_reading(struct reading *r)
{
	buf_free(&r->data);
	free(r->path);
	free(r);
}

static void read_all(struct reading *r)
{
	const int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	r->error = fd < 0 ? errno : 0;
	while (!r->error && r->data.len < r->most) {
		const size_t left = r->most - r->data.len;

		n = read(fd, buf_room(&r->data, CHUNK), left < CHUNK ? left : CHUNK);
		if (!n)
			break;
		if (n > 0)
			r->data.len += (size_t)n;
		else if (errno != EINTR)
			r->error = errno;
	}
	if (fd >= 0)
		close(fd);
}

static void forget(const struct reading *r)
{
	struct reading **at = &all.left;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

static void *run(void *arg)
{
	struct reading *r = arg;

	read_all(r);
	pthread_mutex_lock(&all.lock);
	r->done = true;
	const bool left = r->left;
	if (left)
		forget(r);
	pthread_cond_broadcast(&all.done);
	pthread_mutex_unlock(&all.lock);
	if (left)
		free_reading(r);
	return NULL;
}

/* Signals are for the other threads. */
static bool start(struct reading *r)
{
	sigset_t none, was;
	pthread_attr_t attr;
	pthread_t t;
	bool good;

	sigfillset(&none);
	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &none, &was);
	good = !pthread_create(&t, &attr, run, r);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&attr);
	return good;
}

/* Called with the lock. Returns false if the reading was left. */
static bool await(struct reading *r)
{
	struct patience p;

	patience_begin(&p, r->pid, LIMIT_NS);
	while (!r->done && !patience_over(&p)) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&all.done, &all.lock, &until);
	}
	if (r->done)
		return true;
	r->left = true;
	r->next = all.left;
	all.left = r;
	return false;
}

static bool is_held_back(pid_t pid)
{
	bool ret = false;

	pthread_mutex_lock(&all.lock);
	for (const struct reading *r = all.left; r && !ret; r = r->next)
		ret = r->pid == pid;
	pthread_mutex_unlock(&all.lock);
	return ret;
}

/* Returns false if it was left. */
static bool finish(struct reading *r)
{
	if (!start(r)) {
		read_all(r);
		return true;
	}
	pthread_mutex_lock(&all.lock);
	const bool ret = await(r);
	pthread_mutex_unlock(&all.lock);
	return ret;
}

bool proc_read_file(pid_t pid, const char *path, size_t most, struct buf *ret)
{
	struct reading *r;
	int error = ETIMEDOUT;

	if (!is_held_back(pid) && finish(r = new_reading(pid, path, most))) {
		error = r->error;
		if (!error)
			buf_add(ret, r->data.data, r->data.len);
		free_reading(r);
	}
	errno = error;
	return !error;
}

bool proc_read(pid_t pid, const char *name, size_t most, struct buf *ret)
{
	char *path = xasprintf("/proc/%d/%s", (int)pid, name);
	const bool good = proc_read_file(pid, path, most, ret);
	const int error = errno;

	free(path);
	errno = error;
	return good;
}

char *proc_next_line(char **text)
{
	char *line = *text;

	if (!line || !*line)
		return NULL;
	*text = line + strcspn(line, "\n");
	if (**text)
		*(*text)++ = 0;
	return line;
}
