/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of exploring, see explore-words.h.
 */
#include "shell/tools/explore-words.h"

#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "engine/names.h"
#include "shell/print/explore-text.h"

#define CHECKPOINT_S 10.0

static struct err *bad(const char *what)
{
	return err_cure(err_new(ERR_USAGE, "\"%s\" does not say how to explore", what),
		"Use: " EXPLORE_USAGE);
}

static struct err *take_budget(struct explore_options *o, const char *w)
{
	uint64_t ns;

	if (word_u64(w, &o->budget) && o->budget)
		return NULL;
	if (!word_duration(w, &ns) || !ns)
		return bad(w);
	o->seconds = (double)ns / 1e9;
	o->budget = UINT64_MAX;
	return NULL;
}

static const char *from_environment(const char *name)
{
	return getenv(name);
}

static struct err *take_shard(struct explore_options *o, const char *w, shard_variable *get)
{
	struct shard s;

	TRY(shard_parse(w, get ? get : from_environment, &s));
	o->shard = s.k;
	o->shards = s.n;
	return NULL;
}

/* JSON's numbers end there. */
static struct err *take_seed(struct explore_options *o, const char *w)
{
	return word_u64(w, &o->seed) && o->seed <= INT64_MAX ? NULL : bad(w);
}

static struct err *take_jobs(struct explore_options *o, const char *w)
{
	uint64_t n;

	if (!word_u64(w, &n) || !n)
		return bad(w);
	if (n > EXPLORE_JOBS_MAX)
		return err_new(
			ERR_USAGE, "%s processes are too many: %d at most", w, EXPLORE_JOBS_MAX);
	o->jobs = (uint32_t)n;
	return NULL;
}

/* An option that has a value. *ret: whether it is one. */
static struct err *take_valued(
	struct explore_options *o, const char *w, const char *value, shard_variable *get, bool *ret)
{
	*ret = true;
	if (!strcmp(w, "--budget"))
		return take_budget(o, value);
	if (!strcmp(w, "--shard"))
		return take_shard(o, value, get);
	if (!strcmp(w, "--jobs"))
		return take_jobs(o, value);
	if (!strcmp(w, "--seed"))
		return take_seed(o, value);
	if (!strcmp(w, "--most"))
		return word_u64(value, &o->most) && o->most <= INT64_MAX ? NULL : bad(value);
	if (!strcmp(w, "--save"))
		o->save = value;
	else
		*ret = false;
	return NULL;
}

static struct err *take_tool_valued(
	struct explore_tool_words *t, const char *w, const char *value, bool *ret)
{
	uint64_t ns;

	*ret = true;
	if (!strcmp(w, "-o")) {
		t->out = value;
	} else if (!strcmp(w, "--checkpoint")) {
		if (!word_duration(value, &ns))
			return bad(value);
		t->every = (double)ns / 1e9;
	} else {
		*ret = false;
	}
	return NULL;
}

static bool take_plain(struct explore_options *o, struct explore_tool_words *t, const char *w)
{
	if (!strcmp(w, "--strict"))
		o->strict = true;
	else if (!strcmp(w, "--no-save"))
		o->no_save = true;
	else if (t && !strcmp(w, "--resume"))
		t->resume = true;
	else if (t && !strcmp(w, "--found-ok"))
		t->found_ok = true;
	else if (t && !t->file && w[0] != '-')
		t->file = w;
	else
		return false;
	return true;
}

static struct err *check_words(const struct explore_options *o, const struct explore_tool_words *t)
{
	if (o->jobs && o->shards)
		return err_new(ERR_USAGE, "--jobs makes shards of its own: not with --shard");
	if (t && t->resume && !t->out)
		return err_cure(err_new(ERR_USAGE, "--resume needs the file that was written"),
			"Name it: -o FILE --resume");
	if (t && t->resume && o->jobs > 1)
		return err_new(ERR_USAGE, "--jobs does not resume: use --shard");
	return NULL;
}

struct err *explore_words(struct explore_options *o, int argc, char *const *argv,
	struct explore_tool_words *t, const char *(*get)(const char *))
{
	*o = (struct explore_options){.program = "/proc/self/exe", .read = explore_read};
	if (t)
		*t = (struct explore_tool_words){.every = CHECKPOINT_S};
	for (int i = 0; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		bool valued = false;

		if (take_plain(o, t, argv[i]))
			continue;
		if (value)
			TRY(take_valued(o, argv[i], value, get, &valued));
		if (value && t && !valued)
			TRY(take_tool_valued(t, argv[i], value, &valued));
		if (!valued)
			return bad(argv[i]);
		i++;
	}
	return check_words(o, t);
}
