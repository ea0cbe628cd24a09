/* SPDX-License-Identifier: Apache-2.0
 *
 * Two runs in one export: which commands are each other's, and one clock for both.
 */
#ifndef SHELL_EXPORT_PAIR_H
#define SHELL_EXPORT_PAIR_H

#include "export/export.h"
#include "shell/line/session.h"

/* A run's clock is moved by so much. */
struct pair_shift {
	uint64_t ns;
};
struct export_pairs {
	struct export_pair *v; /* in A's order; heap */
	size_t n, cap;
	uint64_t differences; /* commands */
	struct pair_shift shift[2];
	struct export_source sources[2];
};
/* Compares a and b, which stay open. The first pair with GPU times begins at one time in both: the
 * earlier run is moved. ERR_INCOMPLETE: there is no such pair. */
struct err *export_pairs_find(struct export_pairs *ret, struct session *s, struct sbt_reader *a,
	struct sbt_reader *b) TS_CHECK;
void export_pairs_free(struct export_pairs *p);

#endif
