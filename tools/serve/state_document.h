/* SPDX-License-Identifier: MIT */
/*
 * What the daemons show now, as the JSON document that the page reads four times a second at most:
 *
 *   {"time_ms": N, "uid": N, "captures": [{"name", "bytes"}],
 *    "devices": [{"socket", "error" or "device", "clients", "qps", "paths", "faults", "troubles",
 *                 "counters"}]}
 *
 * with the rows of rnicctl show --json.
 */
#ifndef TOOLS_SERVE_STATE_DOCUMENT_H
#define TOOLS_SERVE_STATE_DOCUMENT_H

#include "lib/client/native/socket_list.h"

#include <stddef.h>

struct state_sources {
	struct rnic_socket_list sockets;
	const char *const *captures; /* files */
	size_t capture_count;
};

/* The document as a text, which the caller frees; NULL when memory is short. */
char *state_document(const struct state_sources *sources);

#endif
