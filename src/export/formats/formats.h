/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of formats.def, one function each: reads the pass with export_next() and writes
 * through export_flush().
 */
#ifndef EXPORT_FORMATS_H
#define EXPORT_FORMATS_H

#include "export/core/export-job.h"

#define FORMAT(name, suffix, doc, ...) struct err *export_##name(struct export_job *j) TS_CHECK;
#include "export/formats/formats.def"
#undef FORMAT

#endif
