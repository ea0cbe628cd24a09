/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that nodes of a graph allocate, and that is there when the launch is over: the program,
 * and its other commands, use it until another graph or a free gives it back.
 */
#ifndef CAPTURE_GRAPH_MEMORY_H
#define CAPTURE_GRAPH_MEMORY_H

struct call;

/* Called when the driver has taken the launch c, and what it did is recorded: records what it
 * allocated or freed for those behind it. */
void graph_memory_launched(const struct call *c);

#endif
