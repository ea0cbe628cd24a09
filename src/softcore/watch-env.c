/* SPDX-License-Identifier: Apache-2.0 */
#include "softcore/watch-env.h"

#include <stdlib.h>
#include <string.h>

void watch_env_read(struct watch_env *ret, const struct race_words *words)
{
	const char *s = getenv("TSDB_SOFT_SCHEDULE"), *r = getenv("TSDB_SOFT_RACECHECK");
	char *end;

	*ret = (struct watch_env){0};
	if (r && *r && strcmp(r, "0") != 0) {
		race_list_tell(words, *r == '/' ? strdup(r) : NULL);
		ret->racecheck = true;
	}
	if (s && !strncmp(s, "random:", 7) && s[7] >= '0' && s[7] <= '9') {
		ret->seed = strtoull(s + 7, &end, 0);
		ret->random = !*end;
	}
	if (s && *s && !ret->random && strcmp(s, "fixed") != 0)
		words->say("TSDB_SOFT_SCHEDULE is \"%.40s\", neither \"fixed\" nor \"random:SEED\"",
			s);
}
