/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests say of errors. Include cmocka first.
 */
#ifndef TESTS_NO_ERROR_H
#define TESTS_NO_ERROR_H

#include "base/err.h"

/* No error; says which one when there is. */
#define ok(expr)                                                                                   \
	do {                                                                                       \
		struct err *ok_err_ = (expr);                                                      \
		if (ok_err_)                                                                       \
			fail_msg("%s: %s", #expr, ok_err_->what);                                  \
	} while (0)

/* That error, freed. */
#define fails(expr, want)                                                                          \
	do {                                                                                       \
		struct err *f_err_ = (expr);                                                       \
		assert_non_null(f_err_);                                                           \
		assert_int_equal(f_err_->code, want);                                              \
		err_free(f_err_);                                                                  \
	} while (0)

#endif
