/* SPDX-License-Identifier: Apache-2.0
 *
 * cuLaunchKernel by its own code: what a hook there would cost, and whether there can be one.
 */
#ifndef BENCH_INJECT_HOOK_H
#define BENCH_INJECT_HOOK_H

/* Finds the entry points that programs are given, says on stderr where they are and how they begin;
 * with place puts a jump there, to a function that only counts, if their first instructions are
 * known. */
void hook_place(int place);
/* How many calls came through it. */
unsigned long hook_calls(void);

#endif
