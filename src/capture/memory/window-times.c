/* SPDX-License-Identifier: Apache-2.0
 *
 * For measurements (bench/bench-window.py): writes how long each window held the program up, one
 * line of JSON, to the file that TSDB_AGENT_TIMES names.
 */
#include "capture/memory/window.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LL(x) ((unsigned long long)(x))

void window_times_write(const struct window_times *s, uint64_t first, uint64_t last)
{
	char line[1024];
	const char *path = getenv("TSDB_AGENT_TIMES");
	if (!path || !*path)
		return;
	const int n = snprintf(line, sizeof(line),
		"{\"first\": %llu, \"last\": %llu, \"live\": %llu, \"shadowed\": %llu, \"sent\": %llu, \"same\": %llu, "
		"\"begin\": {\"wait\": %llu, \"prepare\": %llu, \"gate\": %llu, \"idle\": %llu, \"work\": %llu, \"memory\": %llu, \"go\": %llu, \"host\": %llu, \"globals\": %llu, \"all\": %llu}, "
		"\"end\": {\"gate\": %llu, \"idle\": %llu, \"work\": %llu, \"memory\": %llu, \"go\": %llu, \"globals\": %llu, \"all\": %llu}}\n",
		LL(first), LL(last), LL(s->live), LL(s->shadowed), LL(s->sent), LL(s->same),
		LL(s->begin.wait), LL(s->begin.prepare), LL(s->begin.gate), LL(s->begin.idle),
		LL(s->begin.work), LL(s->begin.memory), LL(s->begin.go), LL(s->begin.host),
		LL(s->begin.globals), LL(s->begin.all), LL(s->end.gate), LL(s->end.idle),
		LL(s->end.work), LL(s->end.memory), LL(s->end.go), LL(s->end.globals),
		LL(s->end.all));
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) < 0)
		agent_count_lost();
	close(fd);
}
