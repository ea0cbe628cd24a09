/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings: values of settings.def, in one struct that the engine's user owns.
 */
#ifndef ENGINE_SETTINGS_H
#define ENGINE_SETTINGS_H

#include <stdint.h>
#include "base/err.h"
#include "base/buf.h"

enum setting_type { SETTING_BOOL, SETTING_UINT, SETTING_SIZE, SETTING_ENUM, SETTING_STRING };

enum setting {
#define SETTING(ID, name, type, def, choices, doc) SET_##ID,
#include "engine/settings.def"
#undef SETTING
	SET_COUNT
};

struct setting_desc {
	const char *name;
	enum setting_type type;
	uint64_t def;
	const char *choices; /* of an ENUM; default of a STRING */
	const char *doc;
};
extern const struct setting_desc setting_descs[SET_COUNT];

struct settings {
	uint64_t number[SET_COUNT]; /* BOOL, UINT, SIZE; index of an ENUM */
	char *string[SET_COUNT];    /* STRING; NULL for others */
};

void settings_init(struct settings *set);
void settings_deinit(struct settings *set);

/* Finds the setting at the beginning of text; each word may be abbreviated while unique. *ret_rest
 * is the text behind the name. *ret is SET_COUNT when text is only the beginning of several names
 * ("capture"); *ret_rest is text then. */
struct err *settings_find(const char *text, enum setting *ret, const char **ret_rest) TS_CHECK;
/* Sets a value from the user's text. */
struct err *settings_assign(struct settings *set, enum setting id, const char *value) TS_CHECK;
/* Appends the value: "wait", "on", "200", "unlimited". */
void settings_value(const struct settings *set, enum setting id, struct buf *out);
/* Puts the name of an ENUM's choice i into dst; returns false past the end. */
bool settings_choice(enum setting id, unsigned i, char *dst, size_t n);

static inline bool settings_on(const struct settings *set, enum setting id)
{
	return set->number[id] != 0;
}

#endif
