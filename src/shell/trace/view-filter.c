/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and the test of commands, see view-filter.h. A condition is an expression of lang/ over
 * the command's fields: where the command has not all of them, it does not pass. The evaluator is
 * renewed now and then, because what it makes of types lives as long as it does.
 */
#include "shell/trace/view-filter.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "lang/lang.h"
#include "shell/values/value.h"
#include "state/marks.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

enum { NEWEST_MAX = 1 << 24, EVALUATIONS = 1 << 16 };

/* --- options --- */

static struct err *option_value(
	const char *option, unsigned argc, char *const *argv, unsigned *i, const char **ret)
{
	if (*i + 1 >= argc)
		return err_cure(
			err_new(ERR_USAGE, "%s needs a value", option), "See \"help view\"");
	*ret = argv[++*i];
	return NULL;
}

static struct err *set_stream(struct view_filter *f, const char *word)
{
	uint64_t v;

	if (!word_u64(word, &v) || v > UINT32_MAX)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no stream", word),
			"Streams are numbers, see \"info streams\"");
	f->has_stream = true;
	f->stream = (uint32_t)v;
	return NULL;
}

static struct err *set_rank(struct view_filter *f, const char *word)
{
	uint64_t v;

	if (!strcmp(word, "all")) {
		f->rank = VIEW_ALL_RANKS;
		return NULL;
	}
	if (!word_u64(word, &v) || v > INT32_MAX)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no rank", word),
			"Ranks are numbers, see \"tsdb info FILE\"");
	f->rank = (int64_t)v;
	return NULL;
}

static struct err *set_kind(struct view_filter *f, const char *word)
{
	f->kind = sbt_kind_by_name(word);
	return f->kind ? NULL
		       : err_cure(err_new(ERR_USAGE, "there is no command kind \"%s\"", word),
				 "\"help kinds\" lists them");
}

static struct err *set_newest(struct view_filter *f, const char *word)
{
	if (word_u64(word, &f->newest) && f->newest && f->newest <= NEWEST_MAX)
		return NULL;
	return err_cure(err_new(ERR_USAGE, "\"%s\" is no count", word),
		"--last takes a number from 1 to %u", NEWEST_MAX);
}

/* Joins the words behind `if`, up to the next option; *i becomes the last one. */
static struct err *set_condition(
	struct view_filter *f, unsigned argc, char *const *argv, unsigned *i)
{
	size_t len = 0;

	while (*i + 1 < argc && strncmp(argv[*i + 1], "--", 2)) {
		const int n = snprintf(f->condition + len, sizeof f->condition - len, "%s%s",
			len ? " " : "", argv[++*i]);

		len += (size_t)n;
		if (len >= sizeof f->condition)
			return err_new(ERR_LIMIT, "the condition is longer than %zu characters",
				sizeof f->condition - 1);
	}
	return len ? NULL
		   : err_cure(err_new(ERR_USAGE, "there is no condition behind \"if\""),
			     "For example: view if grid_x > 64 && stream == 2");
}

static struct err *view_word(struct view_filter *f, const char *word, const char **ret_file)
{
	if (word_range(word, &f->first, &f->last))
		return NULL;
	if (*word == '-')
		return err_cure(err_new(ERR_USAGE, "view has no option %s", word),
			"It has --stream N, --kernel GLOB, --kind KIND, --nvtx GLOB, --last N, --count, --stacks, --json, if EXPR and, for sets, --rank N");
	if (!ret_file || *ret_file)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no range of commands", word),
			"Ranges are like 100-200, 100- or 143");
	*ret_file = word;
	return NULL;
}

struct err *view_options(
	struct view_filter *f, unsigned argc, char *const *argv, const char **ret_file)
{
	const char *value = NULL;

	memset(f, 0, sizeof *f);
	f->last = UINT64_MAX;
	f->rank = VIEW_NO_RANK;
	if (ret_file)
		*ret_file = NULL;
	for (unsigned i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (!strcmp(w, "--json")) {
			f->json = true;
		} else if (!strcmp(w, "--count")) {
			f->count = true;
		} else if (!strcmp(w, "if")) {
			TRY(set_condition(f, argc, argv, &i));
		} else if (!strcmp(w, "--nvtx")) {
			TRY(option_value(w, argc, argv, &i, &f->range));
		} else if (!strcmp(w, "--last")) {
			TRY(option_value(w, argc, argv, &i, &value));
			TRY(set_newest(f, value));
		} else if (!strcmp(w, "--stacks")) {
			f->stacks = true;
		} else if (!strcmp(w, "--stream")) {
			TRY(option_value(w, argc, argv, &i, &value));
			TRY(set_stream(f, value));
		} else if (!strcmp(w, "--kernel")) {
			TRY(option_value(w, argc, argv, &i, &f->kernel));
		} else if (!strcmp(w, "--rank")) {
			TRY(option_value(w, argc, argv, &i, &value));
			TRY(set_rank(f, value));
		} else if (!strcmp(w, "--kind")) {
			TRY(option_value(w, argc, argv, &i, &value));
			TRY(set_kind(f, value));
		} else {
			TRY(view_word(f, w, ret_file));
		}
	}
	return NULL;
}

bool view_filter_chooses(const struct view_filter *f)
{
	return f->has_stream || f->kernel || f->range || f->kind || *f->condition;
}

/* --- the condition --- */

struct view_test {
	struct session *s;
	const struct view_filter *f;
	const struct view_kernels *kernels;
	struct lang *lang;
	unsigned evaluated;  /* with this lang */
	struct marks *marks; /* NULL: no range is asked for */
	bool *matches;	     /* by index of a range's name: 1 bit each */
	uint32_t nmatches;
	const struct sbt_cmd *c; /* that is being tested; NULL: the names alone are checked */
	bool absent;		 /* c has not this field */
};

/* Whether commands of any kind have a field of that name. */
static const struct sbt_field *any_field(const char *name)
{
	const struct sbt_field *f = NULL;

	for (unsigned k = 1; k < SBT_KIND_END && !f; k++)
		f = sbt_kind(k) ? sbt_field(k, name) : NULL;
	return f;
}

static bool argument_number(const char *name, unsigned *ret)
{
	char *end;
	unsigned long n;

	if (strncmp(name, "arg", 3) || !isdigit((unsigned char)name[3]))
		return false;
	n = strtoul(name + 3, &end, 10);
	*ret = (unsigned)n;
	return !*end && n < 4096;
}

/* The bytes of an argument as an unsigned number; false: the command has none of up to 8 bytes. */
static bool argument(const struct view_test *t, unsigned i, uint64_t *ret)
{
	const struct sbt_blob *args = &t->c->u.launch.args;
	struct sbt_blob params;
	uint32_t pair[2];

	if (t->c->kind != SBT_LAUNCH ||
		!t->kernels->params(t->kernels->arg, (uint32_t)t->c->u.launch.kernel, &params) ||
		i >= params.len / sizeof pair)
		return false;
	memcpy(pair, (const char *)params.p + i * sizeof pair, sizeof pair);
	if (pair[1] > sizeof *ret || pair[1] > args->len || pair[0] > args->len - pair[1])
		return false;
	*ret = 0;
	memcpy(ret, (const char *)args->p + pair[0], pair[1]);
	return true;
}

static struct err *not_here(struct view_test *t)
{
	t->absent = true;
	return err_new(ERR_NOT_FOUND, "the command has no such field");
}

static struct err *argument_value(struct view_test *t, unsigned i, struct lang_value *ret)
{
	uint64_t v = 0;

	if (t->c && !argument(t, i, &v))
		return not_here(t);
	*ret = lang_from_int(lang_base_type(t->lang, "u64"), (int64_t)v);
	return NULL;
}

static struct err *field_value(
	struct view_test *t, const char *name, const struct sbt_field *f, struct lang_value *ret)
{
	if (sbt_type_is_blob(f->type))
		return err_cure(err_new(ERR_UNSUPPORTED, "%s is no number", name),
			"--kernel and --nvtx choose by name");
	if (!t->c)
		*ret = lang_from_int(value_field_type(t->s, f), 0);
	else
		*ret = value_of_field(t->s, t->c, f);
	return NULL;
}

/* A field, an argument, the name of an enumeration's value or of a kind. */
static struct err *find_name(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct view_test *t = arg;
	const struct sbt_field *f = value_field(t->c ? t->c->kind : SBT_LAUNCH, name);
	unsigned i;

	name += *name == '$';
	*ret_found = true;
	if (f)
		return field_value(t, name, f, ret);
	if (argument_number(name, &i))
		return argument_value(t, i, ret);
	if (any_field(name))
		return t->c ? not_here(t) : field_value(t, name, any_field(name), ret);
	if (value_enum(t->s, name, ret))
		return NULL;
	if (sbt_kind_by_name(name)) {
		*ret = lang_from_int(lang_base_type(t->lang, "u32"), sbt_kind_by_name(name));
		return NULL;
	}
	return err_cure(err_new(ERR_NOT_FOUND, "no command has a field %s", name),
		"\"help fields KIND\" lists them");
}

static struct err *holds(struct view_test *t, const struct sbt_cmd *c, bool *ret)
{
	const struct lang_scope scope = {.arg = t, .name = find_name};
	struct lang_value v = {0};
	struct err *e;

	if (t->evaluated++ == EVALUATIONS) {
		lang_free(t->lang);
		t->lang = lang_new();
		t->evaluated = 0;
	}
	t->c = c;
	t->absent = false;
	*ret = false;
	e = lang_eval(t->lang, &scope, t->f->condition, &v);
	if (!e)
		e = lang_to_bool(&scope, &v, ret);
	lang_value_free(&v);
	if (e && t->absent) {
		err_free(e);
		return NULL;
	}
	return e ? err_wrap(e, "#%llu", (unsigned long long)c->seq) : NULL;
}

static struct err *check_condition(struct view_test *t)
{
	const struct lang_scope scope = {.arg = t, .name = find_name};
	const struct lang_type *type;

	t->c = NULL;
	return lang_type_of(t->lang, &scope, t->f->condition, &type);
}

/* --- the test --- */

/* Whether a range that the thread is in has a matching name. */
static bool is_in_range(struct view_test *t, uint32_t thread)
{
	unsigned n;
	const uint32_t *open = marks_open(t->marks, thread, &n);

	for (; t->nmatches < marks_names(t->marks); t->nmatches++) {
		if (!(t->nmatches & (t->nmatches - 1)))
			t->matches = xrealloc(t->matches,
				(t->nmatches ? 2 * t->nmatches : 1) * sizeof *t->matches);
		t->matches[t->nmatches] =
			sbt_kernel_glob(t->f->range, marks_name(t->marks, t->nmatches), NULL);
	}
	for (unsigned i = 0; i < n; i++) {
		if (open[i] < t->nmatches && t->matches[open[i]])
			return true;
	}
	return false;
}

static bool on_stream(const struct sbt_cmd *c, uint32_t stream)
{
	const struct sbt_field *f = sbt_field(c->kind, "stream");

	return f && sbt_get(c, f) == stream;
}

static bool is_of_kernel(const struct view_test *t, const struct sbt_cmd *c)
{
	const struct view_kernels *k = t->kernels;
	const uint32_t id = (uint32_t)c->u.launch.kernel;
	const char *mangled, *shown;

	if (c->kind != SBT_LAUNCH)
		return false;
	mangled = k->mangled(k->arg, id);
	shown = k->shown(k->arg, id);
	return mangled && shown && sbt_kernel_glob(t->f->kernel, mangled, shown);
}

struct err *view_test_passes(struct view_test *t, const struct sbt_cmd *c, bool *ret)
{
	const struct view_filter *f = t->f;

	*ret = false;
	if (t->marks)
		marks_see(t->marks, c);
	if (c->seq < f->first || c->seq > f->last || (f->kind && c->kind != f->kind))
		return NULL;
	if (f->has_stream && !on_stream(c, f->stream))
		return NULL;
	if (f->kernel && !is_of_kernel(t, c))
		return NULL;
	if (t->marks && !is_in_range(t, c->thread))
		return NULL;
	if (*f->condition)
		return holds(t, c, ret);
	*ret = true;
	return NULL;
}

struct err *view_test_open(struct view_test **ret, struct session *s, const struct view_filter *f,
	const struct view_kernels *kernels)
{
	struct view_test *t = xcalloc(1, sizeof *t);
	struct err *e;

	*t = (struct view_test){.s = s, .f = f, .kernels = kernels};
	t->lang = *f->condition ? lang_new() : NULL;
	t->marks = f->range ? marks_new() : NULL;
	e = *f->condition ? check_condition(t) : NULL;
	if (!e)
		*ret = t;
	else
		view_test_close(t);
	return e;
}

void view_test_close(struct view_test *t)
{
	if (!t)
		return;
	if (t->marks && marks_dropped(t->marks))
		out_warn(t->s->out,
			"%" PRIu64
			" NVTX ranges were not kept, too many or too deep: commands inside may be missing",
			marks_dropped(t->marks));
	lang_free(t->lang);
	marks_free(t->marks);
	free(t->matches);
	free(t);
}
