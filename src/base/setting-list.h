/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings by name: lists of what there is, and values. The engine has a list, and its user may
 * have another one; names are found in several lists as if they were one.
 */
#ifndef BASE_SETTING_LIST_H
#define BASE_SETTING_LIST_H

#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

enum setting_type { SETTING_BOOL, SETTING_UINT, SETTING_SIZE, SETTING_ENUM, SETTING_STRING };

struct setting_desc {
	const char *name;
	enum setting_type type;
	uint64_t def;
	/* of an ENUM; default of a STRING; of a number: what 0 is called, "": "unlimited" for a
	 * UINT, nothing special for a SIZE */
	const char *choices;
	const char *doc;
};
struct setting_list {
	const struct setting_desc *desc;
	unsigned n;
	struct err *(*check)(unsigned id, uint64_t v); /* of a number; NULL: any */
};

/* The values; id is the index in the list. */
struct settings {
	const struct setting_list *list;
	uint64_t *number; /* BOOL, UINT, SIZE; index of an ENUM */
	char **string;	  /* STRING; NULL for others */
};

void settings_init(struct settings *set, const struct setting_list *list);
void settings_deinit(struct settings *set);

struct setting_found {
	struct settings *set; /* NULL: text is only the beginning of several names ("capture") */
	unsigned id;
	const char *rest; /* the text behind the name, if there is a set */
};
/* Finds the setting at the beginning of text; each word may be abbreviated while unique. */
struct err *settings_find(struct settings *const *sets, unsigned n, const char *text,
	struct setting_found *ret) TS_CHECK;
/* Sets a value from the user's text. */
struct err *settings_assign(struct settings *set, unsigned id, const char *value) TS_CHECK;
/* Appends the value: "wait", "on", "200", "unlimited". */
void settings_value(const struct settings *set, unsigned id, struct buf *out);
/* Puts the name of an ENUM's choice i into dst; returns false past the end. */
bool settings_choice(const struct setting_desc *d, unsigned i, char *dst, size_t n);

static inline bool settings_on(const struct settings *set, unsigned id)
{
	return set->number[id] != 0;
}

#endif
