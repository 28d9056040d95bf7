/* SPDX-License-Identifier: MIT */
/*
 * Serves the page, the state, records and captures on 127.0.0.1, to the user who runs this program
 * and to root. Read-only. The server runs in threads of its own between start and stop.
 */
#ifndef TOOLS_SERVE_PAGE_SERVER_H
#define TOOLS_SERVE_PAGE_SERVER_H

#include "tools/serve/request_guard.h"
#include "tools/serve/state_document.h"

struct page_server;

/*
 * Starts on `port`, or on any with 0. `sources` is valid until the stop. Returns 0 and the server;
 * -EADDRINUSE or another errno of the sockets.
 */
int page_server_start(struct page_server **out, uint16_t port, const struct state_sources *sources);

/* The port and the token, for the address that the user opens. */
const struct request_guard *page_server_guard(const struct page_server *server);

void page_server_stop(struct page_server *server);

#endif
