/* SPDX-License-Identifier: MIT */
/*
 * A device connection, and the client behind it. The host vouches for who the client is. The client
 * has a session from OPEN_DEVICE on.
 *
 * The client is hostile. device_connection_break() notes what is wrong, and
 * connection_teardown_run() ends the client where no caller still holds a pointer to the
 * connection.
 *
 * Invariant: the account (quota.h) ends at 0; device_connection_destroy() asserts this.
 */
#ifndef DAEMON_DEVICE_REQUESTS_DEVICE_CONNECTION_H
#define DAEMON_DEVICE_REQUESTS_DEVICE_CONNECTION_H

#include "daemon/shared/quota/quota.h"
#include "daemon/shared/served_peer/request_connection.h"
#include "lib/nic/base/list.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct connection_set;
struct device_client; /* device_config.h */
struct session;
struct session_owner;

struct device_connection {
	struct request_connection requests;
	struct list node;	   /* of connection_set.connections */
	struct list pre_open_node; /* of connection_set.pre_open, until OPEN_DEVICE was accepted */
	struct list broken_node;   /* of connection_set.broken, then ending */
	struct connection_set *set;
	struct session *session; /* NULL: before OPEN_DEVICE */
	struct quota_account account;
	uint32_t client_id;
	pid_t pid;
	uid_t uid;
	int pid_fd; /* -1: none, or the session owns the descriptor */
	char program[RNIC_CTL_NAME_BYTES];
	uint64_t open_by_ns; /* the deadline for OPEN_DEVICE */
};

/*
 * Makes a connection of `client` and puts it into the set. The set owns the descriptors of `client`
 * in any case. Negative errno: -ENOSPC when the user, or all users, have too many.
 */
int device_connection_create(struct connection_set *set, const struct device_client *client,
			     struct device_connection **created);

/*
 * Opens the client's session. Stores the client's descriptors at `fds` in the order of struct
 * rnic_ctl_open_device_reply; the caller passes them on and closes them. `memory_fd` is the
 * client's /proc/self/mem, as the client says; -1: none; the session owns it in any case. Negative
 * errno: -EINVAL when `memory_fd` is no /proc/self/mem open for reading and writing.
 */
int device_connection_open_session(struct device_connection *connection, int memory_fd, int fds[4]);

/*
 * The last two of the three steps in which a client ends. device_connection_cut() shuts the
 * connection down, cuts the session off and tells the host. device_connection_destroy() frees the
 * connection itself after its session is freed.
 */
void device_connection_cut(struct device_connection *connection);
void device_connection_destroy(struct device_connection *connection);

/*
 * Notes that the client broke the protocol: logs one line (the first time) and marks the client,
 * which ends with this turn. `reason` completes "client 3 (program, pid 17) was disconnected: ".
 */
void device_connection_break(struct device_connection *connection, const char *reason);

/* Ends the client with this turn and without a log line: the client has gone, or is to go. */
void device_connection_end(struct device_connection *connection);

/* The same for the client of that number, if there is one. */
void device_connection_end_client(struct connection_set *set, uint32_t client_id);

/* How sessions call their connections. */
extern const struct session_owner device_connection_owner;

#endif
