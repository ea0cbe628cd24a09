/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what `tsdb check --json` printed: a list of windows, each with the launches that differed.
 */
#include "shell/figures/check-read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"

enum { LAUNCHES_MAX = 1 << 20 };

static bool number(const json_t *o, const char *name, uint64_t *ret)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

static bool take_launch(
	const json_t *o, uint64_t first, uint64_t last, struct fact_check *ret, size_t *cap)
{
	const char *why = json_string_value(json_object_get(o, "looks_like"));
	struct fact_unstable u = {0};

	if (!number(o, "seq", &u.seq) || !number(o, "differing", &u.differing) ||
		!number(o, "executions", &u.executions) || u.seq < first || u.seq > last ||
		ret->n >= LAUNCHES_MAX)
		return false;
	u.looks_like = why ? xstrdup(why) : NULL;
	MAKE_ROOM(ret->v, ret->n, *cap);
	ret->v[ret->n++] = u;
	return true;
}

static bool take_window(
	const json_t *w, uint64_t first, uint64_t last, struct fact_check *ret, size_t *cap)
{
	const json_t *list = json_object_get(w, "nondeterministic");
	uint64_t checked, not_checked;

	if (!number(w, "checked", &checked) || !number(w, "not_checked", &not_checked) ||
		!json_is_array(list))
		return false;
	ret->checked += checked;
	ret->not_checked += not_checked;
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!take_launch(json_array_get(list, i), first, last, ret, cap))
			return false;
	}
	return true;
}

struct err *check_read(const char *path, uint64_t first, uint64_t last, struct fact_check *ret)
{
	json_error_t why;
	json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	bool ok = json_is_array(all);
	size_t cap = 0;

	*ret = (struct fact_check){0};
	for (size_t i = 0; ok && i < json_array_size(all); i++)
		ok = take_window(json_array_get(all, i), first, last, ret, &cap);
	json_decref(all);
	if (ok)
		return NULL;
	return err_cure(err_new(ERR_BAD_TRACE, "%s is no check of this trace", path),
		"`tsdb check TRACE --json` prints one");
}

void check_read_free(struct fact_check *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].looks_like);
	free(c->v);
	*c = (struct fact_check){0};
}
