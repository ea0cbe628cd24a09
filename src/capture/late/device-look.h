/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread "tsdb-look": asks the driver, when tsdb wants to know, what the device has finished
 * (struct tsdb_look in wire.h). tsdb lets this thread run while the program is stopped, so it must
 * not wait for any other thread of the program; tsdb limits its wait.
 */
#ifndef CAPTURE_DEVICE_LOOK_H
#define CAPTURE_DEVICE_LOOK_H

/* Starts the thread, if it does not run in this process. */
void device_look_start(void);
/* Waits until the thread has begun to listen: before that tsdb, which may stop the process at any
 * moment from then on, does not know it. */
void device_look_await(void);
/* The agent is not live any more: the thread ends, when the driver returns. */
void device_look_stop(void);

#endif
