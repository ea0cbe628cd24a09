/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors as values. A function that can fail returns `struct err *`: NULL is success, anything else
 * is owned by the caller, which passes it up or frees it with err_free(). Only the shell prints
 * errors. An error is one sentence: what failed, about what, why (errno), and the cure.
 */
#ifndef TS_ERR_H
#define TS_ERR_H

#include <stdarg.h>
#include <stdbool.h>

enum err_code {
	ERR_OK = 0,
	ERR_USAGE,	 /* what the user typed is wrong */
	ERR_SYSTEM,	 /* a system call failed; err->sys is its errno */
	ERR_NOT_FOUND,	 /* no such file, stream, command, ... */
	ERR_BAD_TRACE,	 /* the trace is damaged, foreign or from the future */
	ERR_INCOMPLETE,	 /* the trace does not hold what the question needs */
	ERR_STATE,	 /* not possible now (no process, no trace, ...) */
	ERR_PERMISSION,	 /* ptrace refused, file not readable */
	ERR_UNSUPPORTED, /* named and refused, not done yet or not possible here */
	ERR_LIMIT,	 /* too large, too many, out of memory, disk full */
	ERR_INFERIOR,	 /* the inferior did something that ends the operation */
	ERR_INTERRUPTED, /* Ctrl-C */
};

struct err {
	enum err_code code;
	int sys;    /* errno, or 0 */
	char *what; /* the sentence, without a final full stop or newline */
	char *cure; /* what to do, or NULL */
};

#define TS_CHECK __attribute__((warn_unused_result))
#define TS_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* A new error. Never NULL: when memory is out, it returns a static "out of memory" error, which
 * err_free() leaves alone. */
struct err *err_new(enum err_code code, const char *fmt, ...) TS_PRINTF(2, 3) TS_CHECK;
/* The same for a failed system call: appends ": strerror(sys)". */
struct err *err_sys(int sys, const char *fmt, ...) TS_PRINTF(2, 3) TS_CHECK;
/* Adds the cure; returns e, so that `return err_cure(err_new(...), "...")` reads well. */
struct err *err_cure(struct err *e, const char *fmt, ...) TS_PRINTF(2, 3) TS_CHECK;
/* Puts "context: " before the sentence. */
struct err *err_wrap(struct err *e, const char *fmt, ...) TS_PRINTF(2, 3) TS_CHECK;
struct err *err_nomem(void) TS_CHECK;
/* Returns e and frees other; returns other when e is NULL. Either may be NULL. */
struct err *err_first(struct err *e, struct err *other) TS_CHECK;
/* Frees e; NULL is fine. */
void err_free(struct err *e);

/* Reports a broken invariant of tsdb: prints file, line and text to stderr and aborts, in release
 * builds too. */
#define BUG(...) err_bug(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_ON(cond)                                                                               \
	do {                                                                                       \
		if (__builtin_expect(!!(cond), 0))                                                 \
			BUG("%s", #cond);                                                          \
	} while (0)
void err_bug(const char *file, int line, const char *fmt, ...) TS_PRINTF(3, 4)
	__attribute__((noreturn));

/* `TRY(f(x));` returns f's error from the enclosing function, if it has one. */
#define TRY(expr)                                                                                  \
	do {                                                                                       \
		struct err *try_err_ = (expr);                                                     \
		if (try_err_)                                                                      \
			return try_err_;                                                           \
	} while (0)

#endif
