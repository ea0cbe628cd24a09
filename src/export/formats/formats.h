/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats, one function each: reads the pass with export_next() and writes through
 * export_flush().
 */
#ifndef EXPORT_FORMATS_H
#define EXPORT_FORMATS_H

#include "export/core/export-job.h"

struct err *export_perfetto(struct export_job *j) TS_CHECK;
struct err *export_kineto(struct export_job *j) TS_CHECK;
struct err *export_pprof(struct export_job *j) TS_CHECK;
struct err *export_folded(struct export_job *j) TS_CHECK;
struct err *export_flamegraph(struct export_job *j) TS_CHECK;
struct err *export_speedscope(struct export_job *j) TS_CHECK;
struct err *export_hatchet(struct export_job *j) TS_CHECK;
struct err *export_csv(struct export_job *j) TS_CHECK;
struct err *export_sqlite(struct export_job *j) TS_CHECK;

#endif
