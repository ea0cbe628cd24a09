/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a launch's arguments that may be addresses, one after the other: every aligned 8-byte value of a parameter of 8 bytes or more,
 * so that pointers inside structures are among them; where the kernel's parameters are not known, of the whole buffer.
 */
#ifndef STATE_ARGS_H
#define STATE_ARGS_H

#include <string.h>
#include "sbt/cmd.h"

struct args_words {
	struct sbt_blob args, params; /* launch.args; kernel_def.params, empty when not known */
	uint64_t param;		      /* bytes of params that were gone through */
	uint64_t at, end;	      /* of the parameter at hand */
};

static inline struct args_words args_words(struct sbt_blob args, struct sbt_blob params)
{
	return (struct args_words){.args = args, .params = params, .end = params.len < 8 ? args.len : 0};
}

/* False at the end. Small numbers are no addresses and passed over. */
static inline bool args_words_next(struct args_words *w, uint64_t *ret)
{
	uint32_t off, size;

	for (;;) {
		for (; w->at + 8 <= w->end; w->at += 8) {
			memcpy(ret, (const uint8_t *)w->args.p + w->at, 8);
			if (*ret > 0xffff) {
				w->at += 8;
				return true;
			}
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
