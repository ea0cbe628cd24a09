/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints where NaNs were born, as text and as JSON; types and names of kernels' parameters for
 * that.
 */
#ifndef SHELL_NAN_TEXT_H
#define SHELL_NAN_TEXT_H

#include "engine/nan.h"
#include "shell/line/session.h"

void nan_print(struct session *s, const struct nan_result *r, struct buf *out);
void nan_json(struct session *s, const struct nan_result *r, struct buf *out);

struct watch_touch;
/* `watch --nan`; place: "ADDRESS [len N]", empty: anywhere. */
struct err *watch_nan(struct session *s, const char *place) TS_CHECK;
/* What a command wrote that such a watchpoint stopped at. */
void watch_tell_nan(struct session *s, const struct watch_touch *t);

/* What kernels' parameters are, as far as the program's files tell; kept by kernel. */
struct nan_params {
	struct session *s;
	struct nan_param_row *row; /* heap */
	size_t n, cap;
};
void nan_params_free(struct nan_params *p);
/* nan_ask.param_type; arg: a struct nan_params. */
struct nan_named nan_param_type(
	void *arg, const struct sbt_cmd *launch, unsigned param, unsigned pointer);
/* The parameter's name; NULL: not known. */
const char *nan_param_name(struct nan_params *p, const struct sbt_cmd *launch, unsigned param);

#endif
