/* SPDX-License-Identifier: Apache-2.0 */
#include "softcore/race-list.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RACES_KEPT 4096u

static struct {
	pthread_mutex_t lock;
	struct soft_race *races;
	size_t n, cap;
	uint64_t ndoubts;
	char doubt[200];
	const struct race_words *words; /* not NULL: races are printed with them when found */
	const char *path;
	struct told {
		uint32_t line[2], code[2], tier;
		char kernel[SOFT_RACE_NAME];
	} told[256];
	size_t ntold;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

void race_text(char *dst, size_t n, const char *s)
{
	const size_t len = s ? strnlen(s, n - 1) : 0;

	memset(dst, 0, n);
	if (len)
		memcpy(dst, s, len);
}

void race_list_tell(const struct race_words *words, const char *path)
{
	pthread_mutex_lock(&list.lock);
	list.words = words;
	list.path = path;
	pthread_mutex_unlock(&list.lock);
}

/* One line for each side, as a person reads it on the standard error. */
static void say(const struct soft_race *r)
{
	static const char *const verbs[] = {"reads", "writes", "changes atomically"};
	const struct race_words *w = list.words;
	char place[2][120], code[2][400];

	for (unsigned k = 0; k < 2; k++) {
		w->place(place[k], sizeof(place[k]), &r->side[k]);
		w->code(code[k], sizeof(code[k]), &r->side[k]);
	}
	w->say("race%s in %.100s: %u byte%s of %s at %#llx, unordered, %llu time%s\n"
	       "    %s %s it: %s\n    %s %s it: %s",
		r->tier == SOFT_RACE_SAME_VALUE	   ? " (same value)"
		: r->tier == SOFT_RACE_ATOMIC_READ ? " (plain read of an atomic)"
						   : "",
		r->kernel, r->size, r->size == 1 ? "" : "s", r->shared ? w->shared : w->global,
		(unsigned long long)r->addr, (unsigned long long)r->count, r->count == 1 ? "" : "s",
		place[0], verbs[r->side[0].kind % 3], code[0], place[1], verbs[r->side[1].kind % 3],
		code[1]);
}

/* For a debugger that runs this program. */
static void append(const struct soft_race *r)
{
	int fd = open(list.path, O_WRONLY | O_APPEND | O_CLOEXEC), old = errno;

	if (fd < 0 || write(fd, r, sizeof(*r)) != (ssize_t)sizeof(*r))
		errno = old;
	if (fd >= 0)
		close(fd);
}

/* While the program runs, each pair of a kernel is reported once, however many launches have it. */
static bool is_told(const struct soft_race *r)
{
	const struct told now = {{r->side[0].line, r->side[1].line},
		{r->side[0].code, r->side[1].code}, r->tier, ""};
	struct told *t;

	for (t = list.told; t < list.told + list.ntold; t++)
		if (!memcmp(t->line, now.line, sizeof(now.line)) &&
			!memcmp(t->code, now.code, sizeof(now.code)) && t->tier == now.tier &&
			!strcmp(t->kernel, r->kernel))
			return true;
	if (list.ntold == sizeof(list.told) / sizeof(list.told[0]))
		return true;
	*t = now;
	race_text(t->kernel, sizeof(t->kernel), r->kernel);
	list.ntold++;
	return false;
}

static void keep(const struct soft_race *r)
{
	if (list.n == list.cap) {
		const size_t cap = list.cap ? 2 * list.cap : 16;
		struct soft_race *p =
			cap > RACES_KEPT ? NULL : realloc(list.races, cap * sizeof(*p));

		if (!p) {
			list.ndoubts++;
			race_text(list.doubt, sizeof(list.doubt),
				"more races were found than are kept");
			return;
		}
		list.races = p;
		list.cap = cap;
	}
	list.races[list.n++] = *r;
}

void race_list_add(const struct soft_race *r)
{
	pthread_mutex_lock(&list.lock);
	if (!list.words)
		keep(r);
	else if (!is_told(r))
		list.path ? append(r) : say(r);
	pthread_mutex_unlock(&list.lock);
}

void race_list_doubt(const char *kernel, const char *why)
{
	pthread_mutex_lock(&list.lock);
	if (list.words && !list.path && !list.ndoubts)
		list.words->say("the check for races was not complete in %.100s: %s", kernel, why);
	list.ndoubts++;
	snprintf(list.doubt, sizeof(list.doubt), "%.80s: %s", kernel, why);
	pthread_mutex_unlock(&list.lock);
}

size_t race_list_take(struct soft_race *dst, size_t n, size_t *more)
{
	pthread_mutex_lock(&list.lock);
	n = n < list.n ? n : list.n;
	if (n) {
		memcpy(dst, list.races, n * sizeof(*dst));
		memmove(list.races, list.races + n, (list.n - n) * sizeof(*dst));
	}
	list.n -= n;
	if (more)
		*more = list.n;
	pthread_mutex_unlock(&list.lock);
	return n;
}

uint64_t race_list_doubts(char *dst, size_t n)
{
	uint64_t ret;

	pthread_mutex_lock(&list.lock);
	ret = list.ndoubts;
	if (n)
		race_text(dst, n, list.doubt);
	list.ndoubts = 0;
	list.doubt[0] = '\0';
	pthread_mutex_unlock(&list.lock);
	return ret;
}
