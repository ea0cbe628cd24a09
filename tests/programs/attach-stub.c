/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for the agent in backtraces: a library of its name whose functions stop, called by one
 * named like CUPTI.
 */
#ifdef STUB_AGENT
void stub_stop(void);
__attribute__((noinline)) void stub_stop(void)
{
	__builtin_trap();
}
#else
void stub_call(void (*fn)(void));
volatile int stub_after;
__attribute__((noinline)) void stub_call(void (*fn)(void))
{
	fn();
	stub_after++;
}
#endif
