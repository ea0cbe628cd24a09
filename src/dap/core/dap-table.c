/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of requests, and what of it `initialize` offers.
 */
#include <stdio.h>
#include <string.h>
#include "dap/core/dap-private.h"

const struct dap_request dap_requests[] = {
#define REQUEST(name, run, phases, capabilities, studio) {name, run, phases, capabilities},
#include "dap/dap-requests.def"
#undef REQUEST
	{NULL, NULL, 0, NULL},
};

const struct dap_request *dap_request_find(const char *name)
{
	for (const struct dap_request *r = dap_requests; r->name; r++) {
		if (!strcmp(r->name, name))
			return r;
	}
	return NULL;
}

static void add_words(json_t *body, const char *words, bool replays)
{
	static const char mark[] = "replay:";

	for (size_t n; *words; words += n + (words[n] == ' ')) {
		const bool marked = !strncmp(words, mark, strlen(mark));
		const size_t skip = marked ? strlen(mark) : 0;
		char name[64];

		n = strcspn(words, " ");
		snprintf(name, sizeof name, "%.*s", (int)(n - skip), words + skip);
		json_object_set_new(body, name, json_boolean(!marked || replays));
	}
}

json_t *dap_capabilities(bool replays)
{
	json_t *body = json_object();

	for (const struct dap_request *r = dap_requests; r->name; r++)
		add_words(body, r->capabilities, replays);
	json_object_set_new(body, "exceptionBreakpointFilters", dap_filters_offered());
	return body;
}
