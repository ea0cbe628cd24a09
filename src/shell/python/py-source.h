/* SPDX-License-Identifier: Apache-2.0
 *
 * For `source`: runs a file of Python.
 */
#ifndef SHELL_PY_SOURCE_H
#define SHELL_PY_SOURCE_H

#include "shell/line/session.h"

struct err *python_source(struct session *s, const char *path) TS_CHECK;

#endif
