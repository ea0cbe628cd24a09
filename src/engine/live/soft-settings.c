/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of the software GPU, see soft-settings.h. A live program writes its races as records
 * into a file that tsdb makes, because its standard error is its own.
 */
#include "engine/soft-settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/words.h"
#include "engine/replay-device.h"

#define SM_DEFAULT 75

struct err *soft_settings(const struct settings *set, struct replayer_soft *ret)
{
	const char *text = set->string[SET_SOFT_SCHEDULE];
	char **words;
	unsigned n;
	bool ok;

	*ret = (struct replayer_soft){.racecheck = settings_on(set, SET_SOFT_RACECHECK)};
	TRY(words_split(text, &words, &n));
	if (n == 3 && !strcmp(words[0], "random") && !strcmp(words[1], "seed") &&
		word_u64(words[2], &ret->seed)) {
		ret->schedule = SOFT_SCHEDULE_RANDOM;
		ok = true;
	} else {
		ok = !n || (n == 1 && !strcmp(words[0], "fixed"));
	}
	words_free(words);
	return ok ? NULL
		  : err_cure(err_new(ERR_USAGE, "\"%s\" is no schedule", text),
			    "Use \"set softgpu schedule fixed\" or \"set softgpu schedule random seed 7\"");
}

struct err *soft_settings_apply(struct engine *en)
{
	struct replayer_soft soft;
	struct err *e = soft_settings(&en->set, &soft);

	if (e) {
		err_free(settings_assign(&en->set, SET_SOFT_SCHEDULE, "fixed"));
		return e;
	}
	return en->trace.device && en->trace.device->watches
		       ? device_soft(en->trace.device->d, &soft)
		       : NULL;
}

struct err *soft_settings_sm(struct engine *en)
{
	static const uint64_t known[] = {SM_DEFAULT, 80, 86, 89, 90, 100, 120};
	const uint64_t sm = en->set.number[SET_SOFT_SM];

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i] == sm)
			return NULL;
	err_free(settings_assign(&en->set, SET_SOFT_SM, "75"));
	return err_cure(
		err_new(ERR_USAGE, "the software GPU has no compute capability sm_%" PRIu64, sm),
		"Use \"set softgpu sm\" with 75, 80, 86, 89, 90, 100 or 120");
}

void soft_races_end(struct engine *en)
{
	struct live *l = &en->live;

	if (l->races_fd >= 0)
		close(l->races_fd);
	if (l->races_path)
		unlink(l->races_path);
	free(l->races_path);
	l->races_path = NULL;
	l->races_fd = -1;
}

static bool open_file(struct live *l)
{
	const char *dir = getenv("TMPDIR");

	l->races_path = xasprintf("%s/tsdb-races-XXXXXX", dir && *dir == '/' ? dir : "/tmp");
	l->races_fd = mkostemp(l->races_path, O_CLOEXEC);
	if (l->races_fd >= 0)
		return true;
	free(l->races_path);
	l->races_path = NULL;
	return false;
}

char **soft_settings_env(struct engine *en, char **ret_own)
{
	struct live *l = &en->live;
	char **ret = xcalloc(l->nenv + SOFT_OWN + 1, sizeof *ret);
	const uint64_t *set = en->set.number;
	const char *probes = probes_file(en);
	struct replayer_soft soft;
	struct err *e = soft_settings(&en->set, &soft);
	unsigned k = 0;

	soft_races_end(en);
	memset(ret_own, 0, SOFT_OWN * sizeof *ret_own);
	if (!e && soft.schedule == SOFT_SCHEDULE_RANDOM)
		ret_own[k++] = xasprintf("TSDB_SOFT_SCHEDULE=random:%" PRIu64, soft.seed);
	err_free(e);
	if (probes)
		ret_own[k++] = xasprintf("TSDB_SOFT_PROBES=%s", probes);
	if (soft.racecheck && open_file(l))
		ret_own[k++] = xasprintf("TSDB_SOFT_RACECHECK=%s", l->races_path);
	if (set[SET_SOFT_TIMEOUT])
		ret_own[k++] = xasprintf("TSDB_SOFT_TIMEOUT=%" PRIu64, set[SET_SOFT_TIMEOUT]);
	if (set[SET_SOFT_DEVICES] > 1)
		ret_own[k++] = xasprintf("TSDB_SOFT_DEVICES=%" PRIu64, set[SET_SOFT_DEVICES]);
	if (set[SET_SOFT_SM] != SM_DEFAULT) /* else TSDB_SOFT_CC counts */
		ret_own[k++] = xasprintf("TSDB_SOFT_CC=%" PRIu64 ".%" PRIu64, set[SET_SOFT_SM] / 10,
			set[SET_SOFT_SM] % 10);
	if (!set[SET_SOFT_JIT])
		ret_own[k++] = xasprintf("TSDB_SOFT_JIT=0");
	if (l->soft_amd) /* HSA runtimes from ROCm 7 on: softamd/libdtif.so */
		ret_own[k++] = xstrdup("HSA_ENABLE_DTIF=1");
	memcpy(ret, ret_own, k * sizeof *ret); /* what the user sets comes later */
	if (l->nenv)
		memcpy(ret + k, l->env, l->nenv * sizeof *ret);
	return ret;
}

size_t soft_races(struct engine *en, struct soft_race *ret, size_t most)
{
	size_t n = 0;

	while (en->live.races_fd >= 0 && n < most &&
		read(en->live.races_fd, &ret[n], sizeof *ret) == sizeof *ret)
		n++;
	return n;
}
