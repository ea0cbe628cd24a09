/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as pictures.
 */
#ifndef SHELL_DRAWING_H
#define SHELL_DRAWING_H

#include "base/buf.h"
#include "base/err.h"

/* Writes a graph in Graphviz's language to path: as a picture, drawn by dot, if path ends in .svg,
 * .png or .pdf, otherwise as it is. Waits until dot ends. On an error a file that was there is
 * unchanged, unless writing it failed. */
struct err *drawing_write(const char *path, const struct buf *graph) TS_CHECK;

#endif
