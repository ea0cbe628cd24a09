/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings table, see settings.h. Names of several words ("capture on-full") are matched word
 * by word, each by prefix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/settings.h"
#include "base/words.h"

const struct setting_desc setting_descs[SET_COUNT] = {
#define SETTING(ID, name, type, def, choices, doc) {name, SETTING_##type, def, choices, doc},
#include "engine/settings.def"
#undef SETTING
};

void settings_init(struct settings *set)
{
	for (unsigned i = 0; i < SET_COUNT; i++) {
		set->number[i] = setting_descs[i].def;
		set->string[i] = setting_descs[i].type == SETTING_STRING
					 ? xstrdup(setting_descs[i].choices)
					 : NULL;
	}
}

void settings_deinit(struct settings *set)
{
	for (unsigned i = 0; i < SET_COUNT; i++)
		free(set->string[i]);
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

struct err *settings_find(const char *text, enum setting *ret, const char **ret_rest)
{
	struct buf names = BUF_INIT;
	unsigned matches = 0, group = 0;
	const char *rest;

	*ret = SET_COUNT;
	for (unsigned i = 0; i < SET_COUNT; i++) {
		int how = match_name(setting_descs[i].name, text, &rest);

		group += how == 1;
		if (how < 2)
			continue;
		*ret = (enum setting)i;
		*ret_rest = rest;
		if (how == 3) {
			matches = 1;
			break;
		}
		buf_printf(&names, "%s%s", matches++ ? ", " : "", setting_descs[i].name);
	}
	if (matches > 1 || (!matches && !group))
		return find_failed(text, matches, &names);
	buf_free(&names);
	if (!matches) {
		*ret = SET_COUNT;
		*ret_rest = text;
	} else {
		*ret_rest += strspn(*ret_rest, " \t=");
	}
	return NULL;
}

bool settings_choice(enum setting id, unsigned i, char *dst, size_t n)
{
	const char *p = setting_descs[id].choices;

	if (setting_descs[id].type != SETTING_ENUM)
		return false;
	for (; i; i--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	snprintf(dst, n, "%.*s", (int)strcspn(p, " "), p);
	return *dst != 0;
}

static struct err *assign_enum(struct settings *set, enum setting id, const char *value)
{
	const struct setting_desc *d = &setting_descs[id];
	char name[32];
	unsigned found = 0, which = 0;

	for (unsigned i = 0; settings_choice(id, i, name, sizeof name); i++) {
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

static struct err *assign_number(struct settings *set, enum setting id, const char *value)
{
	const struct setting_desc *d = &setting_descs[id];
	uint64_t v;

	if ((d->type == SETTING_UINT || id == SET_MEMORY_LIMIT) &&
		(!strcmp(value, "unlimited") || !strcmp(value, "auto")))
		v = 0;
	else if (!(d->type == SETTING_SIZE ? word_size(value, &v) : word_u64(value, &v)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no value for %s", value, d->name),
			d->type == SETTING_SIZE
				? "It takes a number of bytes; K, M and G may follow"
				: "It takes a number, 0 or \"unlimited\" for no limit");
	if (id == SET_RING_SIZE && (v < 65536u * 2 || v > 1u << 30 || (v & (v - 1))))
		return err_cure(
			err_new(ERR_USAGE, "%s must be a power of two from 128K to 1G", d->name),
			"Try 4M");
	if (id == SET_STACK_DEPTH && (!v || v > 128))
		return err_cure(err_new(ERR_USAGE, "%s goes from 1 to 128", d->name),
			"Use `set capture stacks off` for none");
	set->number[id] = v;
	return NULL;
}

struct err *settings_assign(struct settings *set, enum setting id, const char *value)
{
	const struct setting_desc *d = &setting_descs[id];
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

void settings_value(const struct settings *set, enum setting id, struct buf *out)
{
	const struct setting_desc *d = &setting_descs[id];
	char name[32];

	switch (d->type) {
	case SETTING_BOOL:
		buf_str(out, set->number[id] ? "on" : "off");
		break;
	case SETTING_UINT:
	case SETTING_SIZE:
		if (!set->number[id]) {
			buf_str(out, id == SET_HEIGHT || id == SET_WIDTH ? "auto" : "unlimited");
			break;
		}
		print_size(set->number[id], d->type == SETTING_SIZE, out);
		break;
	case SETTING_ENUM:
		settings_choice(id, (unsigned)set->number[id], name, sizeof name);
		buf_str(out, name);
		break;
	case SETTING_STRING:
		buf_str(out, set->string[id]);
		break;
	}
}
