/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of settings, see setting-list.h. Names of several words ("capture on-full") are matched
 * word by word, each by prefix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/setting-list.h"
#include "base/words.h"

void settings_init(struct settings *set, const struct setting_list *list)
{
	set->list = list;
	set->number = xcalloc(list->n, sizeof *set->number);
	set->string = xcalloc(list->n, sizeof *set->string);
	for (unsigned i = 0; i < list->n; i++) {
		const struct setting_desc *d = &list->desc[i];

		set->number[i] = d->def;
		set->string[i] = d->type == SETTING_STRING ? xstrdup(d->choices) : NULL;
	}
}

void settings_deinit(struct settings *set)
{
	for (unsigned i = 0; set->list && i < set->list->n; i++)
		free(set->string[i]);
	free(set->number);
	free(set->string);
	*set = (struct settings){0};
}

/* How well text matches name: 0 not, 1 all of text's words are prefixes but the name goes on, 2 the
 * whole name is there by prefixes, 3 the whole name to the letter. *ret_rest: what follows in text.
 */
static int match_name(const char *name, const char *text, const char **ret_rest)
{
	bool exact = true;

	for (;;) {
		size_t nl = strcspn(name, " "), tl;

		text += strspn(text, " \t");
		tl = strcspn(text, " \t=");
		if (!tl) {
			*ret_rest = text;
			return *text ? 0 : 1;
		}
		if (tl > nl || strncmp(name, text, tl))
			return 0;
		exact = exact && tl == nl;
		text += tl;
		name += nl;
		if (!*name)
			break;
		name++;
	}
	*ret_rest = text;
	return exact ? 3 : 2;
}

static struct err *find_failed(const char *text, unsigned matches, struct buf *names)
{
	struct err *e;
	int len = (int)strcspn(text, "\n");

	if (matches)
		e = err_cure(err_new(ERR_USAGE, "ambiguous setting: %.*s, could be: %s", len, text,
				     buf_cstr(names)),
			"Type more letters of the one you mean");
	else
		e = err_cure(err_new(ERR_USAGE, "unknown setting: %.*s", len, text),
			"\"show\" lists them all");
	buf_free(names);
	return e;
}

/* Looks through one list. *group counts names of which text is the beginning. */
static unsigned find_in(struct settings *set, const char *text, struct setting_found *ret,
	struct buf *names, unsigned *group, bool *ret_exact)
{
	unsigned matches = 0;
	const char *rest;

	for (unsigned i = 0; i < set->list->n; i++) {
		const char *name = set->list->desc[i].name;
		int how = match_name(name, text, &rest);

		*group += how == 1;
		if (how < 2)
			continue;
		matches++;
		*ret = (struct setting_found){set, i, rest};
		*ret_exact = how == 3;
		if (how == 3)
			break;
		buf_printf(names, "%s%s", names->len ? ", " : "", name);
	}
	return matches;
}

struct err *settings_find(
	struct settings *const *sets, unsigned n, const char *text, struct setting_found *ret)
{
	struct buf names = BUF_INIT;
	unsigned matches = 0, group = 0;
	bool exact = false;

	*ret = (struct setting_found){.rest = text};
	for (unsigned i = 0; i < n && !exact; i++)
		matches += find_in(sets[i], text, ret, &names, &group, &exact);
	if (!exact && (matches > 1 || (!matches && !group)))
		return find_failed(text, matches, &names);
	buf_free(&names);
	if (ret->set)
		ret->rest += strspn(ret->rest, " \t=");
	return NULL;
}

bool settings_choice(const struct setting_desc *d, unsigned i, char *dst, size_t n)
{
	const char *p = d->choices;

	if (d->type != SETTING_ENUM)
		return false;
	for (; i; i--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	snprintf(dst, n, "%.*s", (int)strcspn(p, " "), p);
	return *dst != 0;
}

static struct err *assign_enum(struct settings *set, unsigned id, const char *value)
{
	const struct setting_desc *d = &set->list->desc[id];
	char name[32];
	unsigned found = 0, which = 0;

	for (unsigned i = 0; settings_choice(d, i, name, sizeof name); i++) {
		if (!*value || strncmp(name, value, strlen(value)))
			continue;
		found++;
		which = i;
		if (!strcmp(name, value)) {
			found = 1;
			break;
		}
	}
	if (found != 1)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no value for %s", value, d->name),
			"It takes one of: %s", d->choices);
	set->number[id] = which;
	return NULL;
}

static struct err *assign_number(struct settings *set, unsigned id, const char *value)
{
	const struct setting_desc *d = &set->list->desc[id];
	uint64_t v;

	if ((d->type == SETTING_UINT || *d->choices) &&
		(!strcmp(value, "unlimited") || !strcmp(value, "auto")))
		v = 0;
	else if (!(d->type == SETTING_SIZE ? word_size(value, &v) : word_u64(value, &v)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no value for %s", value, d->name),
			d->type == SETTING_SIZE
				? "It takes a number of bytes; K, M and G may follow"
				: "It takes a number, 0 or \"unlimited\" for no limit");
	if (set->list->check)
		TRY(set->list->check(id, v));
	set->number[id] = v;
	return NULL;
}

struct err *settings_assign(struct settings *set, unsigned id, const char *value)
{
	const struct setting_desc *d = &set->list->desc[id];
	bool on;

	switch (d->type) {
	case SETTING_BOOL:
		if (!word_bool(*value ? value : "on", &on))
			return err_cure(
				err_new(ERR_USAGE, "\"%s\" is no value for %s", value, d->name),
				"It takes on or off");
		set->number[id] = on;
		return NULL;
	case SETTING_UINT:
	case SETTING_SIZE:
		return assign_number(set, id, value);
	case SETTING_ENUM:
		return assign_enum(set, id, value);
	case SETTING_STRING:
		free(set->string[id]);
		set->string[id] = xstrdup(value);
		return NULL;
	}
	BUG("setting type %d", d->type);
}

/* 4294967296 as "4G", when it is a size and even. */
static void print_size(uint64_t v, bool size, struct buf *out)
{
	static const char suffixes[] = "KMG";
	unsigned k = 0;

	while (size && k < 3 && v >= 1024 && v % 1024 == 0) {
		v /= 1024;
		k++;
	}
	buf_printf(out, "%llu", (unsigned long long)v);
	if (k)
		buf_byte(out, (uint8_t)suffixes[k - 1]);
}

void settings_value(const struct settings *set, unsigned id, struct buf *out)
{
	const struct setting_desc *d = &set->list->desc[id];
	char name[32];

	switch (d->type) {
	case SETTING_BOOL:
		buf_str(out, set->number[id] ? "on" : "off");
		break;
	case SETTING_UINT:
	case SETTING_SIZE:
		if (!set->number[id]) {
			buf_str(out, *d->choices ? d->choices : "unlimited");
			break;
		}
		print_size(set->number[id], d->type == SETTING_SIZE, out);
		break;
	case SETTING_ENUM:
		settings_choice(d, (unsigned)set->number[id], name, sizeof name);
		buf_str(out, name);
		break;
	case SETTING_STRING:
		buf_str(out, set->string[id]);
		break;
	}
}
