/* SPDX-License-Identifier: Apache-2.0
 *
 * Each test program that includes this has its own pthread_mutex_lock(), _trylock() and _unlock(),
 * which are found before the C library's, by shared libraries too. A thread that releases what it
 * does not hold, takes what it holds, or ends the process with a mutex held ends the test.
 * Include it in one file of a program.
 */
#ifndef LOCKS_HELD_H
#define LOCKS_HELD_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCKS_MAX 256 /* of one thread: a fork takes them all */

static _Thread_local struct {
	const void *held[LOCKS_MAX];
	unsigned n, taken;
} locks_mine;

static inline void locks_wrong(const char *what, const void *m)
{
	fprintf(stderr, "mutex %p: %s\n", m, what);
	abort();
}

typedef int locks_call(pthread_mutex_t *);

/* The C library's function of that name, kept in *f. */
static inline int locks_real(locks_call *_Atomic *f, const char *name, pthread_mutex_t *m)
{
	if (!*f)
		*f = (locks_call *)dlsym(RTLD_NEXT, name);
	return (*f)(m);
}

static inline unsigned locks_find(const void *m) /* behind its place; 0: it is not held */
{
	unsigned i = locks_mine.n;

	while (i && locks_mine.held[i - 1] != m)
		i--;
	return i;
}

static inline void locks_took(const void *m)
{
	locks_mine.taken++;
	if (locks_mine.n == LOCKS_MAX)
		locks_wrong("too many are held", m);
	locks_mine.held[locks_mine.n++] = m;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	static locks_call *_Atomic f;
	int r;

	if (m->__data.__kind == PTHREAD_MUTEX_DEFAULT && locks_find(m))
		locks_wrong("taken twice", m);
	r = locks_real(&f, "pthread_mutex_lock", m);
	if (!r)
		locks_took(m);
	return r;
}

int pthread_mutex_trylock(pthread_mutex_t *m)
{
	static locks_call *_Atomic f;
	int r = locks_real(&f, "pthread_mutex_trylock", m);

	if (!r)
		locks_took(m);
	return r;
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static locks_call *_Atomic f;
	unsigned i = locks_find(m);

	if (!i)
		locks_wrong("released, but not held by this thread", m);
	locks_mine.held[i - 1] = locks_mine.held[--locks_mine.n];
	return locks_real(&f, "pthread_mutex_unlock", m);
}

__attribute__((destructor)) static void locks_none_held(void)
{
	if (locks_mine.n)
		locks_wrong("held when the process ends", locks_mine.held[0]);
}

#endif
