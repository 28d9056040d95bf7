/* SPDX-License-Identifier: MIT */
/*
 * What the daemons show now, as the JSON document that the page reads once a second:
 *
 *   {"uid": N, "captures": [{"name", "bytes"}],
 *    "devices": [{"socket", "error" or "time_ms", "device", "clients", "qps", "paths", "faults",
 *                 "troubles", "counters"}]}
 *
 * with the rows of rnicctl show --json, as they were at "time_ms" of the monotonic clock. Any
 * number of threads may ask for the document at the same time.
 */
#ifndef TOOLS_SERVE_STATE_DOCUMENT_H
#define TOOLS_SERVE_STATE_DOCUMENT_H

#include "lib/client/native/socket_list.h"
#include "tools/serve/device_watch.h"

#include <stddef.h>

enum { STATE_WAIT_MS = 1000 }; /* for daemons that answered in time until now, all together */

struct state_sources {
	struct device_watch *devices[RNIC_SOCKETS_MAX];
	uint32_t device_count;
	const char *const *captures; /* files */
	size_t capture_count;
};

/* The document as a text, which the caller frees; NULL when memory is short. */
char *state_document(const struct state_sources *sources);

#endif
