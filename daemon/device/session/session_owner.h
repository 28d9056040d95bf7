/* SPDX-License-Identifier: MIT */
/*
 * How the sessions call the owner of their connections. The sessions know a connection by pointer
 * alone.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_OWNER_H
#define DAEMON_DEVICE_SESSION_SESSION_OWNER_H

#include "proto/base/causes.h"

#include <stdbool.h>
#include <stddef.h>

struct device_connection;

struct session_owner {
	/* Ends the client after this turn: the client broke the protocol in shared memory, for
	 * `reason`. */
	void (*break_client)(struct device_connection *connection, const char *reason);

	/* Notes a failure of the client's queue pair `subject`. */
	void (*note_trouble)(struct device_connection *connection, enum rnic_cause cause,
			     const char *subject, const char *reason);

	/* Whether queue pairs are to refuse access for a while, now that the program has ended. */
	bool (*refuses_when_gone)(struct device_connection *connection);

	/* Writes the name and the pid of the client's program. */
	void (*name_program)(const struct device_connection *connection, char *text, size_t bytes);
};

#endif
