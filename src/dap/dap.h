/* SPDX-License-Identifier: Apache-2.0
 *
 * The Debug Adapter Protocol: what editors say to debuggers. A session of libtracesmith (a tsdb of
 * its own) does the work, so that each answer is made of the JSON that tsdb prints, and a fault of
 * the GPU's code never ends the conversation.
 *
 * https://microsoft.github.io/debug-adapter-protocol/specification
 */
#ifndef DAP_DAP_H
#define DAP_DAP_H

/* Talks with the client at standard input and output until it leaves. From then on these are the
 * debugged program's: input empty, its output goes to the client. tsdb: the path of tsdb, which
 * does the work. Returns the exit status. */
int dap_talk(const char *tsdb);

#endif
