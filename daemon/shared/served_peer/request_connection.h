/* SPDX-License-Identifier: MIT */
/*
 * A connection whose requests a server answers one after the other: receives a request with its
 * descriptors, has it carried out, sends the reply with its descriptors. The peer behind the
 * connection (served_peer.h) has this struct, and ends in a later step of the turn than a handler.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_REQUEST_CONNECTION_H
#define DAEMON_SHARED_SERVED_PEER_REQUEST_CONNECTION_H

#include "daemon/shared/quota/fair_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl_call;
struct quota_account;
struct request_server;

enum {
	LIMIT_CLOSES_MS = 10000,   /* a client ends when its descriptors are not closed by then */
	LIMIT_REPLY_MS = 10000,	   /* a client ends when its reply cannot be sent by then */
	LIMIT_REPLY_RETRY_MS = 10, /* between two attempts to send such replies */
};

struct request_connection {
	struct request_server *server;
	struct quota_account *account; /* of the client */
	struct fair_item resume;       /* in one list of server or user, while `call` is set */
	struct fair_item due;	       /* in request_server.due */
	int fd;			       /* -1: cut off */
	bool is_broken;		       /* the client is to end, or is ending */
	bool hangup_only;	       /* the server waits for the hang-up alone */
	bool is_stamped;       /* the kernel stamps its requests, and the role asks for that */
	bool is_charged;       /* the role asks how long calls on the client's sockets take */
	bool is_costly;	       /* calls on it take long: it is not shut down but only closed */
	struct ctl_call *call; /* a request that goes on in a later turn; NULL: none */
};

/*
 * Charges the account for the connection `fd` and lets the server serve it. The object owns `fd`
 * from then on. Negative errno: -ENOSPC, or of epoll_ctl; the caller keeps `fd`.
 */
int request_connection_open(struct request_connection *connection, struct request_server *server,
			    struct quota_account *account, int fd);

/*
 * Shuts the connection down, so that the client learns of the end at once, and drops a deferred
 * request. The user's thread closes the descriptor: requests left in the socket may hold
 * descriptors. Until then the user's quota counts it, and other users' closes do not wait for it.
 */
void request_connection_cut(struct request_connection *connection);

/*
 * Enclose a system call on one of the client's sockets, which wakes the client's threads and
 * watches. The second function tells the role how much time of this thread the call took. For a
 * user who may have all there is, the role does not ask, and both do nothing: to read the clock is
 * a system call.
 */
uint64_t request_connection_begin_call(const struct request_connection *connection);
void request_connection_end_call(struct request_connection *connection, uint64_t began_ns);

/*
 * Serves one request: a client waits for most replies before its next request, and a
 * poll that finds no second one is a system call. Returns whether the request ended at or after
 * `end_ns`.
 */
bool request_connection_serve(struct request_connection *connection, uint64_t end_ns);

/* Whether the client has hung up. Requests from before may still be there. */
bool request_connection_is_hung_up(const struct request_connection *connection);

/* Lets the deferred request, if there is one, go on in the next turn without any news. */
void request_connection_hasten(struct request_connection *connection);

/* Goes on with the deferred request. */
void request_connection_resume(struct request_connection *connection);

/*
 * Carries out `call`, a request of `received` bytes exactly as received, and makes its reply. A
 * request that finds too few resources waits until the clients that ended before it have been
 * freed: a program that is started again must not be refused because of its own earlier objects.
 *
 * Returns 0: send the reply, which may be a refusal. -EINPROGRESS: call again with the same call in
 * a later turn, without its descriptors. -EPROTO: the client does not speak our protocol, and was
 * broken. The caller closes the descriptors of the request that are left.
 */
int request_connection_dispatch(struct ctl_call *call, size_t received);

#endif
