/* SPDX-License-Identifier: Apache-2.0
 *
 * For the HIP test programs: a call that fails ends the program with a line that names it.
 */
#ifndef HIP_CHECK_H
#define HIP_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hip/hip_runtime.h>

#define HIP(call)                                                                                  \
	do {                                                                                       \
		hipError_t hip_e = (call);                                                         \
		if (hip_e != hipSuccess) {                                                         \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                       \
				hipGetErrorName(hip_e));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define SAME(ok, what)                                                                             \
	do {                                                                                       \
		if (!(ok)) {                                                                       \
			printf("%s:%d: wrong: %s\n", __FILE__, __LINE__, what);                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
