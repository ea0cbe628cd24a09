/* SPDX-License-Identifier: Apache-2.0
 *
 * The shell's settings: shell-settings.def.
 */
#ifndef SHELL_SHELL_SETTINGS_H
#define SHELL_SHELL_SETTINGS_H

#include "base/setting-list.h"

enum shell_setting {
#define SETTING(ID, name, type, def, choices, doc) SHELL_##ID,
#include "shell/line/shell-settings.def"
#undef SETTING
	SHELL_SETTINGS
};

extern const struct setting_list shell_settings;

#endif
