/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room library: sessions and their answers.
 */
#ifndef LIBRARY_TS_SESSION_H
#define LIBRARY_TS_SESSION_H

#include "library/library.h"

/* Makes an answer of two heap strings, which it takes in every case. */
int library_answer(ts_answer **ret, char *text, char *notes);
/* Whether its text is one JSON value and nothing else. */
bool library_is_json(const ts_answer *a);

/* Starts a tsdb with these words behind its name, a NULL behind the last. options: NULL, or
 * checked. */
int library_session_open(
	ts_session **ret, const char *const *words, const struct ts_session_options *options);
/* The options with what the caller's smaller structure lacks; TS_USAGE if its size cannot be. */
int library_session_options(
	struct ts_session_options *ret, const struct ts_session_options *options);
/* Called while a question is worked at, in the thread that asks; total 0: not known. */
typedef void library_progress_fn(void *arg, const char *what, uint64_t done, uint64_t total);
void library_session_progress(ts_session *s, library_progress_fn *fn, void *arg);
/* A command that prints JSON; printf's format. */
int library_ask_json(ts_answer **ret, ts_session *s, const char *fmt, ...) TS_PRINTF(3, 4);
/* A command whose text nobody needs. */
int library_do(ts_session *s, const char *fmt, ...) TS_PRINTF(2, 3);
/* Words of a tool, a NULL behind the last. */
int library_ask_tool(ts_answer **ret, ts_session *s, const char *const *words);
/* Whether an options text is one line. */
int library_one_line(const char *options);

#endif
