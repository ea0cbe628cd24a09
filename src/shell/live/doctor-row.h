/* SPDX-License-Identifier: Apache-2.0
 *
 * One thing that `tsdb doctor` looks at.
 */
#ifndef SHELL_DOCTOR_ROW_H
#define SHELL_DOCTOR_ROW_H

#include "shell/print/listing.h"

struct doctor_row {
	bool ok;
	const char *name, *text;
	const char *cure; /* for what is missing; NULL: none */
};
void doctor_tell(struct listing *l, const struct doctor_row *r);

#endif
