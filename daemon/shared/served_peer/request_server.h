/* SPDX-License-Identifier: MIT */
/*
 * A server of the requests of many connections: the control connections in the control plane, the
 * device connections in the device. One epoll instance holds the connections. Nothing blocks:
 * a client that does not take its replies is disconnected. A request with more work than a turn
 * (request_turn.h) allows goes on in later turns. Where users are told apart, each gets one request
 * served before any gets a second one, however many connections each has.
 *
 * The role says what differs: who may send descriptors, what a request means, and what of a peer
 * (served_peer.h) ends besides the connection.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_REQUEST_SERVER_H
#define DAEMON_SHARED_SERVED_PEER_REQUEST_SERVER_H

#include "daemon/shared/base/deferred_close.h"
#include "daemon/shared/quota/fair_queue.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl_call;
struct request_connection;
struct request_server;
struct served_peer;
struct teardown_stage;

struct request_role {
	/*
	 * False: a message with descriptors ends the connection, and the server never owns one of
	 * them: a descriptor's last close may block.
	 */
	bool takes_descriptors;

	/* Accepts the connections of the listening socket; NULL: there is none. */
	void (*accept)(struct request_server *server);

	/*
	 * Tells that a request has come. The server answers the request after the next turn, which
	 * first takes what the client posted before the request. NULL: clients post nothing.
	 */
	void (*wake)(struct request_connection *connection);

	/* Carries out a request of the right size, as ctl_call.h says; -EPROTO breaks the client.
	 */
	int (*handle)(struct ctl_call *call);

	/* Notes a refusal: negative errno, and the reason ("": the error's own text). */
	void (*note_refusal)(struct request_connection *connection, uint16_t operation, int error,
			     const char *reason);

	/*
	 * Tells that a request waited for `waited_ns` until the server took it, and whether the
	 * server took others meanwhile. The server knows this of sockets with SO_TIMESTAMPNS, which
	 * the control plane sets for device processes. NULL: nobody asks.
	 */
	void (*note_late)(struct request_connection *connection, uint64_t waited_ns, bool was_busy);

	/*
	 * Notes that a system call on the connection took `cpu_ns` of this thread's time, which the
	 * client can make long. NULL: only its own user waits meanwhile.
	 */
	void (*charge)(struct request_connection *connection, uint64_t cpu_ns);

	/*
	 * Ends the peer with this turn; `reason` says what it broke, NULL: it hung up. For all
	 * peers it is served_peer_end_connection().
	 */
	void (*end)(struct request_connection *connection, const char *reason);

	const char *first_request; /* the name of the request that a peer is to begin with */
	bool names_users;	   /* lines of the log do: the peers are of several users */

	/* The stages of the teardown (peer_teardown.h); the last one has no name. */
	const struct teardown_stage *stages;

	/*
	 * The steps in which a peer ends. `mark` tells that the peer is to end with this turn;
	 * NULL: nobody asks. `cut` cuts the peer off, with served_set_cut(). `hold` comes before
	 * `cut`, and returns for how long the objects are to stay after that; 0: no longer.
	 * `release` tells that this time is over. NULL, both: no objects stay. `destroy` frees the
	 * peer after all its objects, with served_set_remove().
	 */
	void (*mark)(struct served_peer *peer);
	uint64_t (*hold)(struct served_peer *peer, uint64_t now_ns);
	void (*cut)(struct served_peer *peer);
	void (*release)(struct served_peer *peer);
	void (*destroy)(struct served_peer *peer);
};

struct request_server {
	const struct request_role *role;
	void *listener; /* for role->accept */
	int epoll_fd;
	struct fair_queue resumes; /* struct request_connection.resume */
	struct list waiting; /* the same, for requests that go on after request_server_wake() */
	struct list unsent;  /* the same, for replies that are sent again, and requests that go on,
				at retry_ns */
	uint64_t retry_ns;   /* while `unsent` has any */
	struct fair_queue due;	     /* struct request_connection.due: connections with requests */
	struct fair_share due_share; /* of `due`, where users are not told apart */
	struct fair_share resume_share;	      /* of `resumes`, likewise */
	struct deferred_close deferred_close; /* of connections that were turned away */
	uint64_t taken_ns;    /* when the latest stamped request was taken; the wall clock's time */
	uint64_t ended_count; /* clients ever ended, and clients ever freed; in the same order */
	uint64_t freed_count;
};

/* Makes a server without connections. Returns a negative errno of epoll_create1. */
int request_server_init(struct request_server *server, const struct request_role *role);

/* All connections must be cut. */
void request_server_fini(struct request_server *server);

/* Lets the deferred requests go on that wait for news. */
void request_server_wake(struct request_server *server);

/* Returns whether a deferred request is to go on, independent of server->epoll_fd. */
bool request_server_has_resumes(const struct request_server *server);

/* Puts replies that are to be sent again among the requests that go on. */
void request_server_take_unsent(struct request_server *server);

/* When replies are to be sent again; UINT64_MAX: there are none. */
uint64_t request_server_next_deadline_ns(const struct request_server *server);

#endif
