/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs that run beside late-door.so share.
 */
#ifndef TESTS_PROGRAMS_LATE_H
#define TESTS_PROGRAMS_LATE_H

#include <dlfcn.h>

/* Everything has been made: the agent may come. */
static inline void late_ready_now(void)
{
	void (*ready)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "late_ready");

	if (ready)
		ready();
}

#endif
