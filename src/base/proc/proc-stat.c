/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc-stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_FIELD = 22 }; /* of proc(5), counted from 1; the state is the third */

/* "4711 (a name) S 1 ...": the name may hold spaces, brackets and newlines, so that the last
 * bracket ends it. */
bool proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *p;

	*ret = (struct proc_stat){0};
	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	p = close + 2;
	for (int field = 3; field < START_FIELD; field++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		p++;
	}
	ret->state = close[2];
	ret->start_ticks = strtoull(p, NULL, 10);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

bool proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *ret)
{
	char path[64], text[2048];
	size_t n;
	FILE *f;

	*ret = (struct proc_stat){0};
	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	return proc_stat_parse(text, ret);
}
