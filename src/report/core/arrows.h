/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits for what, as arrows between lanes: of all that is finished before a command begins
 * (order/order.h), the last work of each other lane that its own lane does not imply and no other
 * arrow does.
 */
#ifndef REPORT_ARROWS_H
#define REPORT_ARROWS_H

#include "order/order.h"
#include "report/core/pack.h"

/* arrows: seq of the later command (difference), that minus the earlier one, what: */
enum arrow_what {
	ARROW_STREAM,  /* from one stream to another */
	ARROW_LEARNED, /* from a stream to the host, which waited for it, or asked */
	ARROW_HOST,    /* from what the host had learned to what it submitted then */
};
struct err *arrows_write(const struct order *o, FILE *f, unsigned trace) TS_CHECK;

#endif
