/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions: any text compiled for any kind, then evaluated. The first byte is the kind.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sbt/expr.h"
#include "fuzz.h"

static uint64_t answer(void *arg, enum sbt_python what, const char *text, bool glob)
{
	return what == SBT_PY_LINE ? 7 : sbt_python_is(what, text, glob, "main.<locals>.f");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint32_t pairs[6] = {
		0, 8, 8, 4, 0xfffffffc, 16}; /* the last one lies past any buffer */
	static const uint8_t args[12] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x80, 0x3f};
	struct sbt_blob params = {pairs, sizeof pairs};
	struct sbt_cmd c = {.seq = 9, .thread = 1};
	struct sbt_expr e;
	char why[200], *text;
	unsigned kind;

	if (!n)
		return 0;
	kind = data[0] % SBT_KIND_END;
	c.kind = kind ? (uint16_t)kind : SBT_LAUNCH;
	if (c.kind == SBT_LAUNCH)
		c.u.launch.args = (struct sbt_blob){args, sizeof args};
	text = malloc(n);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = 0;
	memset(why, 'x', sizeof why);
	if (sbt_expr_compile(&e, kind, text, why, sizeof why)) {
		BUG_ON(e.n > SBT_EXPR_MAX);
		(void)sbt_expr_true(&e, &c, &params);
		(void)sbt_expr_value(&e, &c, NULL);
		(void)sbt_expr_eval(&e, &c, &params);
		(void)sbt_expr_true_in(&e, &c, &params, &(struct sbt_python_view){answer, NULL});
	} else {
		BUG_ON(!memchr(why, 0, sizeof why) || !*why);
	}
	free(text);
	return 0;
}
