/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's settings, see settings.h.
 */
#include "engine/settings.h"

static const struct setting_desc descs[SET_COUNT] = {
#define SETTING(ID, name, type, def, choices, doc) {name, SETTING_##type, def, choices, doc},
#include "engine/settings.def"
#undef SETTING
};

static struct err *check(unsigned id, uint64_t v)
{
	if (id == SET_RING_SIZE && (v < 65536u * 2 || v > 1u << 30 || (v & (v - 1))))
		return err_cure(err_new(ERR_USAGE, "%s must be a power of two from 128K to 1G",
					descs[id].name),
			"Try 4M");
	if (id == SET_STACK_DEPTH && (!v || v > 128))
		return err_cure(err_new(ERR_USAGE, "%s goes from 1 to 128", descs[id].name),
			"Use `set capture stacks off` for none");
	return NULL;
}

const struct setting_list engine_settings = {descs, SET_COUNT, check};
