/* SPDX-License-Identifier: Apache-2.0
 *
 * Core dumps of the device on demand: the driver writes down where every lane of every running
 * kernel is when somebody writes to a pipe. It has to be asked before the first context is made.
 * tsdb writes to the pipe and reads the dump (engine/live/live-core-dump.c).
 *
 * Measured on an H200 (driver 580.159.04): launches cost the same. But with core dumps on demand
 * the driver also has its handler for faults, and cannot have the one without the other: a
 * synchronising call behind a kernel that faulted returned success, and the fault was reported by a
 * later call. So this is off unless the user asks for it. A dump ends the context: every later call
 * in it returns CUDA_ERROR_LAUNCH_FAILED.
 */
#ifndef CAPTURE_CORE_DUMP_H
#define CAPTURE_CORE_DUMP_H

/* Asks the driver, once, if control.core_folder is set; sets control.core. Called in the program's
 * thread, before the driver makes a context. */
void core_dump_prepare(void);

#endif
