/* SPDX-License-Identifier: MIT */
/*
 * The peers of the device (served_peer.h): device connections, and the clients behind them. The
 * host vouches for who a client is. The client has a session from OPEN_DEVICE on.
 */
#ifndef DAEMON_DEVICE_REQUESTS_DEVICE_CONNECTION_H
#define DAEMON_DEVICE_REQUESTS_DEVICE_CONNECTION_H

#include "daemon/shared/served_peer/served_peer.h"

#include <stdint.h>

struct device_client; /* device_config.h */
struct device_host;
struct end_rules;
struct session;
struct session_owner;
struct session_set;

struct connection_set {
	struct served_set peers; /* struct device_connection.peer */
	struct session_set *sessions;
	const struct device_host *host;
	struct end_rules *ends; /* NULL: queue pairs always go first */
};

struct device_connection {
	struct served_peer peer;
	struct connection_set *set;
	struct session *session; /* NULL: before OPEN_DEVICE */
	int pid_fd;		 /* -1: none, or the session owns the descriptor */
	bool is_judged;		 /* the rules for programs that end have decided */
	uint64_t hold_ns;	 /* for so long the queue pairs are to stay; 0: they go at once */
	bool is_held;		 /* they stay */
};

/*
 * Makes an empty set of clients whose sessions are in `sessions`. The arguments outlive the set.
 * All clients share at most `memory_bytes` with the process. Returns a negative errno of
 * epoll_create1.
 */
int connection_set_init(struct connection_set *set, struct session_set *sessions,
			const struct device_host *host, const struct request_role *role,
			uint64_t memory_bytes);

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
 * Steps in which a client ends, for the role. device_connection_mark() lets the session do nothing
 * more. device_connection_hold() asks the rules for programs that end. device_connection_cut()
 * shuts the connection down and cuts the session off, and tells the host, unless the session is
 * held: then device_connection_release() does that, and cuts off the rest of the session.
 * device_connection_destroy() frees the connection itself, and the session without its objects.
 */
void device_connection_mark(struct served_peer *peer);
uint64_t device_connection_hold(struct served_peer *peer, uint64_t now_ns);
void device_connection_cut(struct served_peer *peer);
void device_connection_release(struct served_peer *peer);
void device_connection_destroy(struct served_peer *peer);

/* Ends the client of that number with this turn, if there is one. */
void device_connection_end_client(struct connection_set *set, uint32_t client_id);

/* How sessions call their connections. */
extern const struct session_owner device_connection_owner;

#endif
