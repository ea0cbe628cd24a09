/* SPDX-License-Identifier: Apache-2.0
 *
 * Which functions the numbers in XRay's log are: the section xray_instr_map of the program.
 */
#ifndef IMPORT_XRAY_MAP_H
#define IMPORT_XRAY_MAP_H

#include <stdint.h>
#include "base/err.h"

struct xray_map;
/* ERR_NOT_FOUND: the file has no map; ERR_UNSUPPORTED: one that needs relocations. */
struct err *xray_map_open(struct xray_map **ret, const char *path) TS_CHECK;
void xray_map_close(struct xray_map *m); /* NULL is fine */
/* Its name, as long as the map lives; NULL: not known. */
const char *xray_map_name(struct xray_map *m, int64_t function);

#endif
