/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over the words of a launch's arguments that may be addresses: every aligned 8-byte value of
 * each parameter of 8 bytes or more, so pointers inside structures are among them. Where the
 * kernel's parameters are not known, every aligned word of the buffer. They may be handles of
 * textures, too (state_texture_named()), which are small numbers.
 */
#ifndef STATE_ARGS_H
#define STATE_ARGS_H

#include <string.h>
#include "sbt/cmd.h"

struct args_words {
	struct sbt_blob args, params; /* launch.args; kernel_def.params, empty when not known */
	uint64_t param;		      /* bytes of params done so far */
	uint64_t at, end;	      /* in args: the rest of the current parameter */
};

static inline struct args_words args_words(struct sbt_blob args, struct sbt_blob params)
{
	return (struct args_words){
		.args = args, .params = params, .end = params.len < 8 ? args.len : 0};
}

/* The next such word in *ret; false at the end. */
static inline bool args_words_any(struct args_words *w, uint64_t *ret);

/* The same without words up to 0xffff, which are no addresses. */
static inline bool args_words_next(struct args_words *w, uint64_t *ret)
{
	while (args_words_any(w, ret))
		if (*ret > 0xffff)
			return true;
	return false;
}

static inline bool args_words_any(struct args_words *w, uint64_t *ret)
{
	uint32_t off, size;

	for (;;) {
		if (w->at + 8 <= w->end) {
			memcpy(ret, (const uint8_t *)w->args.p + w->at, 8);
			w->at += 8;
			return true;
		}
		if (w->param + 8 > w->params.len)
			return false;
		memcpy(&off, (const uint8_t *)w->params.p + w->param, 4);
		memcpy(&size, (const uint8_t *)w->params.p + w->param + 4, 4);
		w->param += 8;
		if (size < 8 || off > w->args.len || size > w->args.len - off)
			continue;
		w->at = off + (-off & 7);
		w->end = (uint64_t)off + size;
	}
}

#endif
