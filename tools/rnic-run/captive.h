/* SPDX-License-Identifier: MIT */
/*
 * The daemon behind a rnic-run: the one that answers on the socket, or one started for it. A daemon
 * started here serves every later rnic-run on the socket and exits by itself a few seconds after
 * its last client. Of several rnic-runs that start at once exactly one starts it; a lock file
 * beside the socket decides.
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
 * Returns 0 when a daemon as wanted answers on the socket. Else prints one line that says what is
 * wrong or what to start and returns a negative errno.
 */
int captive_ensure_daemon(const struct captive_options *options);

#endif
