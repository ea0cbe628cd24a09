/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's settings: settings.def.
 */
#ifndef ENGINE_SETTINGS_H
#define ENGINE_SETTINGS_H

#include "base/setting-list.h"

enum setting {
#define SETTING(ID, name, type, def, choices, doc) SET_##ID,
#include "engine/settings.def"
#undef SETTING
	SET_COUNT
};

extern const struct setting_list engine_settings;

#endif
