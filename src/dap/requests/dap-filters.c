/* SPDX-License-Identifier: Apache-2.0
 *
 * Exceptions: faults and failed calls, and what an analysis finds in a trace: each command that it
 * names is then a place where the replay stops. A filter that has no answer here says why.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

struct filter {
	const char *name, *label, *text;
	bool of_replays;
	/* Sets the breakpoints of it. */
	struct err *(*set)(struct dap *d, const struct filter *f);
};

static struct err *set_fault(struct dap *d, const struct filter *f);
static struct err *set_failed_call(struct dap *d, const struct filter *f);
static struct err *set_races(struct dap *d, const struct filter *f);
static struct err *set_nondeterministic(struct dap *d, const struct filter *f);
static struct err *set_nan(struct dap *d, const struct filter *f);

static const struct filter filters[] = {
	{"fault", "Device faults", "A GPU call that says that the device has faulted", false,
		set_fault},
	{"failed-call", "Failed GPU calls", "A GPU call that returns an error", false,
		set_failed_call},
	{"race", "Races (replay)", "The later of two commands that nothing orders", true,
		set_races},
	{"nondeterministic", "Launches that are not deterministic (replay)",
		"A launch that gives other results from the same memory", true,
		set_nondeterministic},
	{"nan", "Where NaNs come from (replay)",
		"The command that a NaN, or the infinity behind it, comes from", true, set_nan},
};
enum { NFILTERS = sizeof filters / sizeof *filters };

json_t *dap_filters_offered(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < NFILTERS; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:b}", "filter", filters[i].name, "label",
				filters[i].label, "description", filters[i].text, "default", !i));
	return list;
}

static const json_t *filter_row(const struct dap *d, json_int_t id)
{
	const json_t *row;
	size_t i;

	json_array_foreach(d->filters, i, row)
	{
		if (json_integer_value(json_object_get(row, "id")) == id)
			return row;
	}
	return NULL;
}

const char *dap_filter_text(const struct dap *d, json_int_t id)
{
	return json_string_value(json_object_get(filter_row(d, id), "text"));
}

/* Remembers that the newest breakpoint is of f. */
static struct err *keep(struct dap *d, const struct filter *f, const char *text)
{
	int id;

	TRY(dap_point_newest(d, &id));
	json_array_append_new(d->filters, json_pack("{s:i, s:s, s:o}", "id", id, "filter", f->name,
						  "text", link_text(text, strlen(text))));
	return NULL;
}

/* --- setting --- */

/* Replays stop at faults by themselves; programs by this setting. */
static struct err *set_fault(struct dap *d, const struct filter *f)
{
	(void)f;
	return d->replays ? NULL : dap_line(d, NULL, "set stop-on-error fault");
}

static struct err *set_failed_call(struct dap *d, const struct filter *f)
{
	if (!d->replays)
		return dap_line(d, NULL, "set stop-on-error all");
	TRY(dap_line(d, NULL, "catch error"));
	return keep(d, f, f->text);
}

static struct err *stop_at(struct dap *d, const struct filter *f, json_int_t seq, char *text)
{
	struct err *e = dap_line(d, NULL, "break seq %lld", (long long)seq);

	if (!e)
		e = keep(d, f, text);
	free(text);
	return e;
}

static struct err *set_races(struct dap *d, const struct filter *f)
{
	json_t *races, *race;
	struct err *e = NULL;
	size_t i;

	TRY(dap_ask(d, &races, "races --json"));
	json_array_foreach(races, i, race)
	{
		const json_int_t a =
			json_integer_value(json_object_get(json_object_get(race, "a"), "seq"));
		const json_int_t b =
			json_integer_value(json_object_get(json_object_get(race, "b"), "seq"));
		const char *cure = json_string_value(json_object_get(race, "cure"));

		if (!e)
			e = stop_at(d, f, b,
				xasprintf("a race: nothing orders #%lld and #%lld%s%s",
					(long long)a, (long long)b, cure ? ". Missing: " : "",
					cure ? cure : ""));
	}
	json_decref(races);
	return e;
}

/* In other orders, where the device can; the software GPUs are deterministic without that. */
static struct err *check_launches(struct dap *d, json_t **ret)
{
	struct err *e = dap_ask(d, ret, "replay check --perturb --json");

	if (!e || e->code != ERR_UNSUPPORTED)
		return e;
	err_free(e);
	return dap_ask(d, ret, "replay check --json");
}

static struct err *set_nondeterministic(struct dap *d, const struct filter *f)
{
	json_t *check, *launch;
	struct err *e = NULL;
	size_t i;

	TRY(check_launches(d, &check));
	json_array_foreach(json_object_get(check, "nondeterministic"), i, launch)
	{
		const json_int_t seq = json_integer_value(json_object_get(launch, "seq"));

		if (!e)
			e = stop_at(d, f, seq,
				xasprintf(
					"#%lld is not deterministic: it gave other results from the same memory",
					(long long)seq));
	}
	json_decref(check);
	return e;
}

/* What the command did to it: the words of nan_cause.is, which are others for the host. */
static char *nan_text(const json_t *cause, json_int_t seq)
{
	const json_t *at = json_object_get(cause, "element");
	const char *is = json_string_value(json_object_get(cause, "is"));
	const char *shown = json_string_value(json_object_get(at, "shown"));
	const char *addr = json_string_value(json_object_get(at, "addr"));

	return xasprintf("a NaN comes from #%lld: %s, %s at %s", (long long)seq, is ? is : "",
		shown ? shown : "", addr ? addr : "");
}

static struct err *set_nan(struct dap *d, const struct filter *f)
{
	json_t *found, *cause;
	struct err *e = NULL;
	size_t i;

	TRY(dap_ask(d, &found, "nan --json"));
	json_array_foreach(json_object_get(found, "causes"), i, cause)
	{
		const json_t *seq = json_object_get(cause, "seq");

		if (!e && json_is_integer(seq))
			e = stop_at(d, f, json_integer_value(seq),
				nan_text(cause, json_integer_value(seq)));
	}
	json_decref(found);
	return e;
}

/* --- requests --- */

static void forget_all(struct dap *d)
{
	const json_t *row;
	size_t i;

	json_array_foreach(d->filters, i, row) err_free(dap_line(
		d, NULL, "delete %lld", (long long)json_integer_value(json_object_get(row, "id"))));
	json_decref(d->filters);
	d->filters = json_array();
	if (!d->replays)
		err_free(dap_line(d, NULL, "set stop-on-error off"));
}

static json_t *set_filter(struct dap *d, const char *name)
{
	struct err *e = err_new(ERR_USAGE, "there is no filter \"%.80s\"", name ? name : "");
	json_t *row;

	for (size_t i = 0; i < NFILTERS; i++) {
		const struct filter *f = &filters[i];

		if (!name || strcmp(f->name, name) != 0)
			continue;
		err_free(e);
		e = f->of_replays ? dap_needs_replay(d, f->label) : NULL;
		if (!e)
			e = f->set(d, f);
	}
	row = json_pack("{s:b}", "verified", !e);
	if (e)
		json_object_set_new(row, "message", link_text(e->what, strlen(e->what)));
	err_free(e);
	return row;
}

struct err *dap_on_set_exception_breakpoints(struct dap *d, const json_t *args, json_t *body)
{
	json_t *rows = json_array();
	const json_t *list, *name;
	size_t i;

	json_object_set_new(body, "breakpoints", rows);
	TRY(dap_take_list(args, "filters", &list));
	if (json_array_size(list) > NFILTERS)
		return err_new(ERR_LIMIT, "there are %d filters", NFILTERS);
	forget_all(d);
	json_array_foreach(list, i, name)
		json_array_append_new(rows, set_filter(d, json_string_value(name)));
	return NULL;
}

struct err *dap_on_exception_info(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *ids = json_object_get(d->stop, "breakpoint_list");
	const json_t *row = filter_row(d, json_integer_value(json_array_get(ids, 0)));
	const json_t *failure = json_object_get(d->stop, "failure");
	const char *id = json_string_value(json_object_get(row, "filter"));
	const char *text = json_string_value(json_object_get(row, "text"));

	(void)args;
	if (!id && json_is_object(failure)) {
		id = json_string_value(json_object_get(d->stop, "stop_reason"));
		text = json_string_value(json_object_get(failure, "text"));
		if (!text || !*text)
			text = json_string_value(json_object_get(failure, "error"));
	} else if (!id && json_is_string(json_object_get(d->stop, "signal"))) {
		id = "signal";
		text = json_string_value(json_object_get(d->stop, "signal"));
	}
	if (!id)
		return err_new(ERR_STATE, "it stopped at no exception");
	json_object_set_new(body, "exceptionId", json_string(id));
	json_object_set_new(body, "breakMode", json_string("always"));
	json_object_set_new(body, "description", json_string(text ? text : id));
	if (json_is_object(failure))
		json_object_set_new(
			body, "details", json_pack("{s:s}", "message", text ? text : id));
	return NULL;
}
