/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that take no signals: those are for the threads that were there before, the program's own
 * or the one that waits for the user.
 */
#ifndef TS_QUIET_THREAD_H
#define TS_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

/* pthread_create() of a thread with all signals blocked; attr may be NULL. Returns 0 or an errno.
 * Any thread. */
static inline int quiet_thread(
	pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* pthread_join() that waits for ms milliseconds at most; false: it has not ended. */
static inline bool quiet_thread_join(pthread_t t, unsigned ms)
{
	enum { SECOND_NS = 1000 * 1000 * 1000 };
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000 * 1000;
	until.tv_sec += until.tv_nsec / SECOND_NS;
	until.tv_nsec %= SECOND_NS;
	return !pthread_timedjoin_np(t, NULL, &until);
}

#endif
