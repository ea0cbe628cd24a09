/* SPDX-License-Identifier: Apache-2.0
 *
 * A result of exploring, read back from the JSON that explore-text.c writes. The file may come from
 * anywhere: every field is checked.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "engine/names.h"
#include "shell/print/explore-text.h"
#include "state/steps.h"

#define FOUND_MAX 100000
#define SEQS_MAX 20000000

static bool get_count(const json_t *o, const char *name, uint64_t *ret)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

/* "0x12ab": 64 bits, more than a number in JSON has. */
static bool get_hex_value(const json_t *v, uint64_t *ret)
{
	const char *text = json_string_value(v);
	char *end;

	if (!text || strncmp(text, "0x", 2) || !text[2] ||
		strspn(text + 2, "0123456789abcdefABCDEF") != strlen(text + 2))
		return false;
	errno = 0;
	*ret = strtoull(text + 2, &end, 16);
	return !errno && !*end;
}

static bool get_hex(const json_t *o, const char *name, uint64_t *ret)
{
	return get_hex_value(json_object_get(o, name), ret);
}

static bool get_bytes(const json_t *o, const char *name, uint8_t *ret)
{
	const char *text = json_string_value(json_object_get(o, name));

	if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return false;
	for (unsigned i = 0; i < 8; i++) {
		const char two[3] = {text[2 * i], text[2 * i + 1], 0};

		ret[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return true;
}

static bool get_text(const json_t *o, const char *name, char **ret)
{
	const json_t *v = json_object_get(o, name);

	if (json_is_string(v))
		*ret = xstrdup(json_string_value(v));
	return json_is_string(v) || json_is_null(v);
}

/* A command's number, "N.K": step K of graph launch N, or "host N": what the host changed before
 * command N. */
static bool get_entry(const json_t *v, uint64_t *ret)
{
	const char *text = json_string_value(v);
	const bool host = text && !strncmp(text, "host ", 5);
	uint32_t step = UINT32_MAX;

	errno = 0;
	if (text) {
		text += host ? 5 : 0;
		if (*text == '#' || !step_position(text, ret, &step) ||
			(step == UINT32_MAX && !host))
			return false;
		if (step != UINT32_MAX && *ret >= ORDER_STEP_SEQS)
			return false;
		*ret |= step == UINT32_MAX ? 0 : step * ORDER_STEP_SEQS;
	} else if (json_is_integer(v) && json_integer_value(v) >= 0)
		*ret = (uint64_t)json_integer_value(v);
	else
		return false;
	if (errno || *ret >= ORDER_POISON)
		return false;
	*ret |= host ? ORDER_HOST : 0;
	return true;
}

static bool get_pairs(const json_t *o, struct explore_found *f)
{
	const json_t *pairs = json_object_get(o, "pairs");
	const size_t n = json_array_size(pairs);

	if (!json_is_array(pairs) || n > SEQS_MAX)
		return false;
	f->as_recorded = xcalloc(n + 1, sizeof *f->as_recorded);
	f->flipped = xcalloc(n + 1, sizeof *f->flipped);
	f->places = xcalloc(n + 1, sizeof *f->places);
	for (size_t i = 0; i < n; i++) {
		const json_t *p = json_array_get(pairs, i);
		struct order_pair *as = &f->as_recorded[i];

		if (!get_entry(json_object_get(p, "earlier"), &as->before) ||
			!get_entry(json_object_get(p, "later"), &as->after) ||
			!get_hex(p, "sites", &f->places[i]))
			return false;
		f->flipped[i] = (struct order_pair){as->after, as->before};
	}
	f->nflipped = n;
	return true;
}

static bool get_schedule(const json_t *o, struct explore_found *f)
{
	const json_t *seqs = json_object_get(o, "schedule");
	const size_t n = json_array_size(seqs);

	if (!json_is_array(seqs) || n > SEQS_MAX)
		return false;
	f->seqs = xcalloc(n + 1, sizeof *f->seqs);
	for (f->nseqs = 0; f->nseqs < n; f->nseqs++)
		if (!get_entry(json_array_get(seqs, f->nseqs), &f->seqs[f->nseqs]))
			return false;
	return true;
}

static bool get_always(const json_t *o, struct explore_found *f)
{
	const json_t *v = json_object_get(o, "always");

	f->always = json_is_true(v);
	if (f->always && f->nflipped)
		f->flipped[0] = f->as_recorded[0];
	return json_is_boolean(v) && (!f->always || (f->poison && f->nflipped == 1));
}

static bool get_found(const json_t *o, struct explore_found *f)
{
	return get_pairs(o, f) && get_schedule(o, f) && get_count(o, "again", &f->again) &&
	       get_count(o, "poison", &f->poison) && get_always(o, f) &&
	       (!json_object_get(o, "held") || get_count(o, "held", &f->held)) &&
	       get_hex(o, "allocation", &f->place) && get_count(o, "size", &f->place_size) &&
	       get_count(o, "number", &f->number) && get_count(o, "bytes", &f->bytes) &&
	       get_hex(o, "addr", &f->at) && get_bytes(o, "was", f->was) &&
	       get_bytes(o, "is", f->is) && get_text(o, "trace", &f->path);
}

static bool get_have(
	const json_t *o, const char *name, enum explore_have state, struct explore_result *r)
{
	const json_t *list = json_object_get(o, name);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		const json_int_t at = json_integer_value(v);

		if (!json_is_integer(v) || at < 1 || at > r->shards || r->have[at - 1])
			return false;
		r->have[at - 1] = (uint8_t)state;
	}
	return json_is_array(list);
}

static bool get_shards(const json_t *o, struct explore_result *r)
{
	uint64_t shards;

	if (!get_count(o, "shards", &shards) || !shards || shards > SHARDS_MAX)
		return false;
	r->shards = (uint32_t)shards;
	r->have = xcalloc(shards, sizeof *r->have);
	return get_have(o, "have", EXPLORE_WHOLE, r) && get_have(o, "begun", EXPLORE_BEGUN, r);
}

/* The options that decide the course. */
static bool get_course(const json_t *o, struct explore_result *r)
{
	const json_t *limit = json_object_get(o, "limit_s");
	uint64_t window;

	if (!get_count(o, "window", &window) || !window || window > UINT32_MAX ||
		!json_is_number(limit) || !json_is_boolean(json_object_get(o, "strict")))
		return false;
	r->window = (unsigned)window;
	r->limit = json_number_value(limit);
	r->strict = json_is_true(json_object_get(o, "strict"));
	return r->limit >= 0 && get_count(o, "course", &r->at) &&
	       get_count(o, "budget", &r->budget) && get_count(o, "seed", &r->seed) &&
	       get_count(o, "most", &r->most);
}

static bool get_shown(const json_t *o, struct explore_result *r)
{
	const json_t *shown = json_object_get(o, "shown_already");
	const size_t n = json_array_size(shown);

	if (!json_is_array(shown) || n > FOUND_MAX)
		return false;
	r->shown = xcalloc(n + 1, sizeof *r->shown);
	for (r->nshown = 0; r->nshown < n; r->nshown++)
		if (!get_hex_value(json_array_get(shown, r->nshown), &r->shown[r->nshown]))
			return false;
	return true;
}

static bool get_result(const json_t *o, struct explore_result *r)
{
	const json_t *found = json_object_get(o, "found"), *seconds = json_object_get(o, "seconds");
	const size_t n = json_array_size(found);

	if (!json_is_array(found) || n > FOUND_MAX || !json_is_number(seconds) ||
		!json_is_boolean(json_object_get(o, "went_through")))
		return false;
	r->seconds = json_number_value(seconds);
	r->went_through = json_is_true(json_object_get(o, "went_through"));
	r->interrupted = json_is_true(json_object_get(o, "interrupted"));
	r->left_early = json_is_true(json_object_get(o, "left_early"));
	r->found = xcalloc(n + 1, sizeof *r->found);
	while (r->nfound < n) {
		const size_t i = r->nfound++; /* what is half read is freed, too */

		if (!get_found(json_array_get(found, i), &r->found[i]))
			return false;
	}
	return get_text(o, "trace", &r->trace) && get_hex(o, "recording", &r->id) &&
	       get_count(o, "first_seq", &r->first) && get_count(o, "last_seq", &r->last) &&
	       get_shards(o, r) && get_course(o, r) && get_shown(o, r) &&
	       get_count(o, "executed", &r->executed) && get_count(o, "alike", &r->alike) &&
	       get_count(o, "unordered", &r->pairs) && get_count(o, "unstable", &r->unstable) &&
	       r->seconds >= 0;
}

struct err *explore_read(const char *line, size_t n, const char *name, struct explore_result *ret)
{
	json_error_t why;
	json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	bool good;

	*ret = (struct explore_result){0};
	if (!o)
		return err_cure(err_new(ERR_USAGE, "%s is no JSON: %s", name, why.text),
			"Use what `tsdb explore TRACE --shard K/N -o FILE` writes");
	good = get_result(o, ret);
	json_decref(o);
	if (good)
		return NULL;
	explore_free(ret);
	return err_cure(err_new(ERR_USAGE, "%s is no result of exploring", name),
		"Use what `tsdb explore TRACE --shard K/N -o FILE` writes");
}
