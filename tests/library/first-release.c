/* SPDX-License-Identifier: Apache-2.0
 *
 * The constants of libtracesmith.so.0's first release, written by tests/library-abi.py. It
 * is compiled and never run.
 */
#include <tracesmith/tracesmith.h>

_Static_assert(TS_NO_ID == 0xffffffffull, "TS_NO_ID");
_Static_assert(TS_MISSING == 0xffffffffffffffffull, "TS_MISSING");
_Static_assert(TS_MISSING_SIGNED == 0x8000000000000000ull, "TS_MISSING_SIGNED");
_Static_assert(TS_OK == 0ull, "TS_OK");
_Static_assert(TS_END == 0x1ull, "TS_END");
_Static_assert(TS_USAGE == 0x2ull, "TS_USAGE");
_Static_assert(TS_SYSTEM == 0x3ull, "TS_SYSTEM");
_Static_assert(TS_NOT_FOUND == 0x4ull, "TS_NOT_FOUND");
_Static_assert(TS_BAD_TRACE == 0x5ull, "TS_BAD_TRACE");
_Static_assert(TS_INCOMPLETE == 0x6ull, "TS_INCOMPLETE");
_Static_assert(TS_PERMISSION == 0x7ull, "TS_PERMISSION");
_Static_assert(TS_UNSUPPORTED == 0x8ull, "TS_UNSUPPORTED");
_Static_assert(TS_LIMIT == 0x9ull, "TS_LIMIT");
_Static_assert(TS_INTERRUPTED == 0xaull, "TS_INTERRUPTED");
_Static_assert(TS_UNSIGNED == 0ull, "TS_UNSIGNED");
_Static_assert(TS_SIGNED == 0x1ull, "TS_SIGNED");
_Static_assert(TS_NAME == 0x2ull, "TS_NAME");
_Static_assert(TS_TEXT == 0x3ull, "TS_TEXT");
_Static_assert(TS_BYTES == 0x4ull, "TS_BYTES");
_Static_assert(TS_ARG_UNKNOWN == 0ull, "TS_ARG_UNKNOWN");
_Static_assert(TS_ARG_UNSIGNED == 0x1ull, "TS_ARG_UNSIGNED");
_Static_assert(TS_ARG_SIGNED == 0x2ull, "TS_ARG_SIGNED");
_Static_assert(TS_ARG_FLOAT == 0x3ull, "TS_ARG_FLOAT");
_Static_assert(TS_ARG_POINTER == 0x4ull, "TS_ARG_POINTER");
_Static_assert(TS_STOP_OTHER == 0x4ull, "TS_STOP_OTHER");
_Static_assert(TS_STOP_BREAKPOINT == 0x1ull, "TS_STOP_BREAKPOINT");
_Static_assert(TS_STOP_END == 0x2ull, "TS_STOP_END");
_Static_assert(TS_STOP_BEGIN == 0x3ull, "TS_STOP_BEGIN");
_Static_assert(TS_STOP_STEP == 0x5ull, "TS_STOP_STEP");
_Static_assert(TS_STOP_WATCHPOINT == 0x6ull, "TS_STOP_WATCHPOINT");
_Static_assert(TS_STOP_INTERRUPTED == 0x7ull, "TS_STOP_INTERRUPTED");
_Static_assert(TS_STOP_FAULT == 0x8ull, "TS_STOP_FAULT");
_Static_assert(TS_STOP_FAILED_CALL == 0x9ull, "TS_STOP_FAILED_CALL");
_Static_assert(TS_STOP_SIGNAL == 0xaull, "TS_STOP_SIGNAL");
_Static_assert(TS_STOP_EXITED == 0xbull, "TS_STOP_EXITED");
_Static_assert(TS_STOP_KILLED == 0xcull, "TS_STOP_KILLED");
_Static_assert(TS_STOP_WINDOW_CLOSED == 0xdull, "TS_STOP_WINDOW_CLOSED");
_Static_assert(TS_STOP_KERNEL_BEGIN == 0xeull, "TS_STOP_KERNEL_BEGIN");
_Static_assert(TS_STOP_KERNEL_END == 0xfull, "TS_STOP_KERNEL_END");
_Static_assert(TS_STOP_WARP_END == 0x10ull, "TS_STOP_WARP_END");
_Static_assert(TS_STOP_AGENT == 0x11ull, "TS_STOP_AGENT");
