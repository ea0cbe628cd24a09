/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads /proc/self/maps, line by line; see areas.h. The whole text is read before the first line is
 * used, because callers may change the list meanwhile.
 */
#include "capture/stacks/areas.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "capture/core/agent.h"
#include "capture/core/source.h"
#include "base/maps-line.h"

/* 65,530 mappings (vm.max_map_count), well below 1 KB each; touched as far as used */
#define TEXT_MAX (64u << 20)

static char *read_all(void)
{
	char *text = agent_map(TEXT_MAX);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = -1;
	while (text && fd >= 0 && have < TEXT_MAX - 1) {
		n = read(fd, text + have, TEXT_MAX - 1 - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (text && n == 0)
		return text;
	if (text)
		agent_unmap(text, TEXT_MAX);
	return NULL;
}

bool areas_lines(bool (*fn)(void *arg, const struct maps_line *l), void *arg)
{
	struct maps_line l;
	char *text = read_all(), *nl;
	if (!text)
		return false;
	for (char *at = text; (nl = strchr(at, '\n')); at = nl + 1) {
		*nl = '\0';
		if (maps_line_parse(&l, at) && fn(arg, &l))
			break;
	}
	agent_unmap(text, TEXT_MAX);
	return true;
}

/* --- the driver's --- */

struct joining {
	struct area area; /* end 0: none yet */
	bool (*fn)(void *arg, const struct area *a);
	void *arg;
	bool over;
};

static bool may_be_the_drivers(const struct maps_line *l)
{
	if (l->path[0] == '/')
		return source_names(SOURCE_DEVICES, l->path) || !strncmp(l->path, "/dev/zero", 9);
	return l->path[0] != '[' || !strncmp(l->path, "[heap", 5) || !strncmp(l->path, "[anon", 5);
}

static bool join(void *arg, const struct maps_line *l)
{
	struct joining *j = arg;
	if (!may_be_the_drivers(l))
		return false;
	if (j->area.end == l->start) {
		j->area.end = l->end;
		return false;
	}
	if (j->area.end)
		j->over = j->fn(j->arg, &j->area);
	j->area = (struct area){l->start, l->end};
	return j->over;
}

bool areas_each(bool (*fn)(void *arg, const struct area *a), void *arg)
{
	struct joining j = {.fn = fn, .arg = arg};
	if (!areas_lines(join, &j))
		return false;
	if (j.area.end && !j.over)
		(void)fn(arg, &j.area);
	return true;
}

/* --- the program's --- */

struct reading {
	bool (*fn)(void *arg, const struct area *a, const char *file);
	void *arg;
};

static bool is_code_library(const char *path)
{
	const char *name = strrchr(path, '/');
	return name &&
	       (!strncmp(name + 1, "libtsdb-agent", 13) || source_names(SOURCE_FOREIGN, name + 1));
}

static bool readable(void *arg, const struct maps_line *l)
{
	const struct reading *r = arg;
	const bool file = l->path[0] == '/';
	const struct area area = {l->start, l->end};
	if (!l->r || l->shared)
		return false;
	if (file)
		return !strncmp(l->path, "/dev/", 5) || is_code_library(l->path)
			       ? false
			       : r->fn(r->arg, &area, l->path);
	if (!l->w ||
		(l->path[0] == '[' && strncmp(l->path, "[heap", 5) && strncmp(l->path, "[anon", 5)))
		return false;
	return r->fn(r->arg, &area, NULL);
}

bool areas_readable(bool (*fn)(void *arg, const struct area *a, const char *file), void *arg)
{
	struct reading r = {fn, arg};
	return areas_lines(readable, &r);
}
