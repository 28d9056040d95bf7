/* SPDX-License-Identifier: MIT */
/*
 * Finds the daemon for a rnic-run: the one that answers on the socket, or a new one. A daemon
 * started here serves every later rnic-run on the socket and exits by itself a few seconds after
 * its last client. Of several rnic-runs that start at once exactly one starts the daemon; a lock
 * file beside the socket decides.
 */
#ifndef TOOLS_RNIC_RUN_CAPTIVE_H
#define TOOLS_RNIC_RUN_CAPTIVE_H

#include <stdbool.h>

struct captive_options {
	const char *socket;  /* absolute */
	const char *netdev;  /* NULL: any */
	const char *address; /* NULL: any */
	const char *fault;   /* NULL: none */
	bool may_start;
};

/*
 * Returns 0 when a fitting daemon answers on the socket. Else prints one line with the fault or the
 * command to start, and returns a negative errno.
 */
int captive_ensure_daemon(const struct captive_options *options);

#endif
