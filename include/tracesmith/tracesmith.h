/* SPDX-License-Identifier: Apache-2.0
 *
 * libtracesmith: reading and writing traces of GPU commands (sbt/sbt.h) and of what memory held (sbt/memory.h), and the GPU's state at any of them (state/state.h).
 * Compile with `pkg-config --cflags tracesmith`, link with `pkg-config --libs tracesmith`. Until version 1.0 of the library its functions
 * may change; the trace format (docs/sbt.md) keeps its own version.
 */
#ifndef TRACESMITH_H
#define TRACESMITH_H

#include "sbt/memory.h"
#include "sbt/sbt.h"
#include "state/state.h"

#endif
