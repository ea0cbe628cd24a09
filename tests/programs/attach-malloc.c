/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with an allocator of its own, which holds its lock most of the time: attach-malloc
 * SECONDS, or until there is a file called "end" in its folder. Whoever makes it call dlopen() from
 * in there waits for ever.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POOL (1ul << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char pool[POOL];
static size_t at;

static void dawdle(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

__attribute__((noinline)) void *malloc(size_t n)
{
	void *p;

	pthread_mutex_lock(&lock);
	dawdle();
	p = pool + at;
	at = (at + n + 15) / 16 * 16 % (POOL / 2);
	pthread_mutex_unlock(&lock);
	return p;
}

__attribute__((noinline)) void free(void *p)
{
	pthread_mutex_lock(&lock);
	dawdle();
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t a, size_t b)
{
	void *p = malloc(a * b);

	return memset(p, 0, a * b);
}

void *realloc(void *p, size_t n)
{
	void *q = malloc(n + 4096); /* so that what is copied ends in the pool */

	return p ? memmove(q, p, n) : q;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);

	printf("attach-malloc: running\n");
	fflush(stdout);
	while (time(NULL) < end && access("end", F_OK) != 0) {
		char *volatile p = malloc(16);

		free(p);
		dawdle();
	}
	printf("attach-malloc: ok\n");
	return 0;
}
