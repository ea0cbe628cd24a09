/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives a file to Perfetto's page, as perfetto's own tools/open_trace_in_ui does: a server on
 * 127.0.0.1:9001, the one place from which the page may load, that serves this file once.
 */
#ifndef SHELL_OPEN_UI_H
#define SHELL_OPEN_UI_H

#include "base/err.h"

/* Opens the page in the user's browser, or says which address to open, and returns when the page
 * has the file. The address has a random word, so other users of the machine do not guess it; a
 * page from elsewhere does not get the file. *interrupt true ends it: ERR_INTERRUPTED; so does an
 * hour without the page. */
struct err *open_in_ui(const char *path, const volatile bool *interrupt) TS_CHECK;

#endif
