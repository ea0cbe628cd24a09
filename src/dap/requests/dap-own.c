/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of tsdb's own: the answer is the JSON of docs/json.md that a command of the shell
 * prints, as the member "answer".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "dap/core/dap-private.h"

static struct err *answer(json_t *body, struct err *e, json_t *const *v)
{
	if (!e)
		json_object_set_new(body, "answer", *v);
	return e;
}

struct err *dap_on_position(struct dap *d, const json_t *args, json_t *body)
{
	json_t *v = NULL;
	struct err *e = dap_ask(d, &v, "when --json");

	(void)args;
	json_object_set(body, "stop", d->stop ? d->stop : json_null());
	return answer(body, e, &v);
}

/* at: a command's number; 0 or missing: here. stream: one; missing: all. */
struct err *dap_on_state(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t at = 0, stream = -1;
	struct buf line = BUF_INIT;
	json_t *v = NULL;
	struct err *e;

	TRY(dap_take_int(args, "at", &at));
	TRY(dap_take_int(args, "stream", &stream));
	buf_str(&line, "state show ");
	if (stream >= 0)
		buf_printf(&line, "stream %lld ", (long long)stream);
	else
		buf_str(&line, "all ");
	if (at > 0)
		buf_printf(&line, "at %lld ", (long long)at);
	e = dap_ask(d, &v, "%s--json", buf_cstr(&line));
	buf_free(&line);
	return answer(body, e, &v);
}

/* exact: false: without executing; missing: as `races` does. */
struct err *dap_on_races(struct dap *d, const json_t *args, json_t *body)
{
	bool exact = true;
	json_t *v = NULL;

	TRY(dap_take_bool(args, "exact", &exact));
	return answer(body, dap_ask(d, &v, "races%s --json", exact ? "" : " --no-exact"), &v);
}

struct err *dap_on_order(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t a, b;
	json_t *v = NULL;

	TRY(dap_need_int(args, "a", &a));
	TRY(dap_need_int(args, "b", &b));
	return answer(
		body, dap_ask(d, &v, "order why %lld %lld --json", (long long)a, (long long)b), &v);
}

/* most: so many, the newest first, as a list; missing: the last one. */
struct err *dap_on_who_wrote(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t size = 4, most = 0;
	char last[40] = "";
	const char *reference;
	json_t *v = NULL;
	uint64_t addr;

	TRY(dap_needs_replay(d, "\"who wrote\""));
	TRY(dap_take_int(args, "most", &most));
	TRY(dap_need_text(args, "memoryReference", &reference));
	TRY(dap_take_int(args, "size", &size));
	TRY(dap_address(reference, &addr));
	if (size < 1)
		return err_new(ERR_USAGE, "at least one byte is asked about");
	if (most > 0)
		snprintf(last, sizeof last, "--last %lld ", (long long)most);
	return answer(body,
		dap_ask(d, &v, "who-wrote --json %s0x%" PRIx64 " len %lld", last, addr,
			(long long)size),
		&v);
}

/* Memory right behind commands a and b; the replay stays where it is. */
struct err *dap_on_memory_diff(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t a, b, size;
	const char *reference;
	json_t *v = NULL;
	uint64_t addr;

	TRY(dap_needs_replay(d, "comparing memory"));
	TRY(dap_need_int(args, "a", &a));
	TRY(dap_need_int(args, "b", &b));
	TRY(dap_need_int(args, "size", &size));
	TRY(dap_need_text(args, "memoryReference", &reference));
	TRY(dap_address(reference, &addr));
	if (a < 0 || b < 0 || size < 1)
		return err_new(ERR_USAGE, "a place is 0 or a command's number, a size at least 1");
	return answer(body,
		dap_ask(d, &v, "diff --json %lld %lld 0x%" PRIx64 " %lld", (long long)a,
			(long long)b, addr, (long long)size),
		&v);
}

/* Blocks, the warps of the focused one, and the lanes of the focused warp. */
struct err *dap_on_lanes(struct dap *d, const json_t *args, json_t *body)
{
	static const char *const lists[] = {"blocks", "warps", "lanes"};

	(void)args;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		json_t *v;

		TRY(dap_ask(d, &v, "info %s --json", lists[i]));
		if (json_is_object(v)) /* one row */
			v = json_pack("[o]", &v);
		json_object_set_new(body, lists[i], v);
	}
	return NULL;
}

/* budget: schedules, or a time such as "10s"; seed; save: beside the trace, for "tsdb/schedule". */
struct err *dap_on_explore(struct dap *d, const json_t *args, json_t *body)
{
	struct buf line = BUF_INIT;
	json_int_t seed = -1, most = -1;
	bool save = false;
	const char *budget;
	json_t *v = NULL;
	struct err *e;

	TRY(dap_needs_replay(d, "executing other orders"));
	TRY(dap_take_line(args, "budget", &budget));
	TRY(dap_take_int(args, "seed", &seed));
	TRY(dap_take_int(args, "most", &most));
	TRY(dap_take_bool(args, "save", &save));
	if (budget && strspn(budget, "0123456789.smh") != strlen(budget))
		return err_new(ERR_USAGE, "\"%.40s\" is no budget", budget);
	buf_str(&line, save ? "replay explore " : "replay explore --no-save ");
	if (budget && *budget)
		buf_printf(&line, "--budget %s ", budget);
	if (seed >= 0)
		buf_printf(&line, "--seed %lld ", (long long)seed);
	if (most > 0)
		buf_printf(&line, "--most %lld ", (long long)most);
	e = dap_ask(d, &v, "%s--json", buf_cstr(&line));
	buf_free(&line);
	return answer(body, e, &v);
}

struct err *dap_on_check(struct dap *d, const json_t *args, json_t *body)
{
	bool perturb = false;
	json_t *v = NULL;

	TRY(dap_needs_replay(d, "executing launches again"));
	TRY(dap_take_bool(args, "perturb", &perturb));
	return answer(
		body, dap_ask(d, &v, "replay check%s --json", perturb ? " --perturb" : ""), &v);
}
