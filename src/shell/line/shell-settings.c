/* SPDX-License-Identifier: Apache-2.0
 *
 * The shell's settings, see shell-settings.h.
 */
#include "shell/line/shell-settings.h"

static const struct setting_desc descs[SHELL_SETTINGS] = {
#define SETTING(ID, name, type, def, choices, doc) {name, SETTING_##type, def, choices, doc},
#include "shell/line/shell-settings.def"
#undef SETTING
};

const struct setting_list shell_settings = {descs, SHELL_SETTINGS, NULL};
