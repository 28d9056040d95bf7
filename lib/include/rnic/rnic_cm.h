/* SPDX-License-Identifier: MIT */
/*
 * The native interface to the daemon's connection manager: listeners, connections and datagram
 * services by IP address and port, with the wire format of RDMA CM (IBTA annex A11).
 *
 * The conventions are those of <rnic/rnic.h>: 0 or a negative errno, the errors that can come from
 * any call, ownership with the caller. No call waits for the peer: an event reports the end of an
 * operation that a call begins. Any call fails with -EINVAL when the identifier is in the wrong
 * state for it. The peer may have changed that state a moment ago: then an event reports the
 * change. -ENOSPC: too many operations are under way, or too many events were not taken; take them,
 * or try again.
 *
 *	initiator: create_id, resolve_address, resolve_route, connect,
 *	           on CONNECT_RESPONSE bring the queue pair to RTR and RTS, establish
 *	responder: create_id, bind, listen,
 *	           on CONNECT_REQUEST bring a queue pair to RTR and RTS, accept,
 *	           wait for ESTABLISHED
 *
 * The daemon exchanges the messages. The queue pair stays the caller's: the caller makes it, brings
 * it into the states that rnic_cm_qp_attributes() describes, brings it to ERR when the connection
 * has ended, and destroys it. The same calls serve datagram services (UD), without the steps for
 * the queue pair: connect() ends with ESTABLISHED, which holds the service's address, and accept()
 * sends that address; nothing follows.
 */
#ifndef RNIC_RNIC_CM_H
#define RNIC_RNIC_CM_H

#include <rnic/cm_types.h>
#include <rnic/rnic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rnic_cm_channel;
struct rnic_cm_id;

/* ---- channels ---- */

/* Makes a channel, to which identifiers report. -ENOSPC: too many channels. */
RNIC_API int rnic_cm_create_channel(struct rnic_context *context, struct rnic_cm_channel **channel);

/*
 * Destroys the channel. A thread that waits on the channel never returns: end the thread before.
 * -EBUSY: identifiers report to the channel; it stays.
 */
RNIC_API int rnic_cm_destroy_channel(struct rnic_cm_channel *channel);

/*
 * The channel's descriptor for poll(): readable while an event waits. The caller may set O_NONBLOCK
 * on it, and must not read or close it.
 */
RNIC_API int rnic_cm_channel_fd(const struct rnic_cm_channel *channel);

struct rnic_cm_event {
	enum rnic_cm_event_type type; /* also tells the next step */
	int status; /* 0, or negative errno; for REJECTED the reason on the wire, positive */
	struct rnic_cm_id *id;
	/*
	 * For CONNECT_REQUEST: the listening identifier. `id` is a new one that the caller must
	 * destroy; its rnic_cm_user() is NULL. NULL in other events.
	 */
	struct rnic_cm_id *listener;
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path;
	uint32_t path_mtu;		      /* 1..5 for 256..4096 bytes */
	uint32_t port_space;		      /* enum rnic_port_space */
	struct rnic_cm_parameters parameters; /* the peer's; zero where the peer has sent none */
};

/*
 * Waits for an event. Acknowledge each event. -EAGAIN: no event, and the descriptor is
 * non-blocking; or the channel was readable for an event that a destroyed identifier took along,
 * and no thread ever had to wait here: poll again. -EINTR: a signal came. -ENOMEM: the event is
 * lost; a lost connection request is refused. A thread may be cancelled while it waits.
 */
RNIC_API int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event);

/*
 * Acknowledges an event. The call that destroys the event's identifier (its listener, if it has
 * one) waits for this.
 */
RNIC_API void rnic_cm_ack_event(const struct rnic_cm_event *event);

/* ---- identifiers ---- */

/*
 * Makes an identifier in `port_space` for queue pairs of type `qp_type`. With UD it resolves and
 * serves datagram services, in the port spaces UDP, IPOIB and IB; the other types use TCP and IB.
 * `user` is the caller's. -EINVAL: no such port space, or not for that type. -ENOSPC: too many
 * identifiers.
 */
RNIC_API int rnic_cm_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
			       enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **id);

/*
 * Ends the identifier: the call disconnects a connection, and rejects a request and a listener's
 * requests that nobody has taken. It drops events that nobody has taken, and waits until all taken
 * ones are acknowledged.
 */
RNIC_API int rnic_cm_destroy_id(struct rnic_cm_id *id);

/* The caller's `user`; for an identifier of a request NULL, until the caller sets it. */
RNIC_API void *rnic_cm_user(const struct rnic_cm_id *id);
RNIC_API void rnic_cm_set_user(struct rnic_cm_id *id, void *user);

/*
 * Moves the identifier to `channel`, with the events that are not taken yet. -EINVAL: a channel
 * of another context.
 */
RNIC_API int rnic_cm_migrate(struct rnic_cm_id *id, struct rnic_cm_channel *channel);

/* Sets an option. -EINVAL: no such option, an impossible value, or too late. */
RNIC_API int rnic_cm_set_option(struct rnic_cm_id *id, enum rnic_cm_option option, uint32_t value);

/* The addresses of an identifier; parts that are not known yet are zero. */
struct rnic_cm_endpoints {
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path; /* is_global 0: no address of the device is chosen yet */
	uint32_t path_mtu;     /* 1..5 for 256..4096 bytes */
};

/* Returns the addresses of the identifier, in any state. */
RNIC_API int rnic_cm_query(struct rnic_cm_id *id, struct rnic_cm_endpoints *endpoints);

/*
 * Takes an address of the device, or any, and a port, 0 for a free one; `endpoints` (NULL is
 * allowed) gets the result. Any IPv6 address includes any IPv4 address, unless an option says
 * otherwise. -EADDRNOTAVAIL: not an address of the device, or no port is free. -EADDRINUSE: the
 * port is taken. -EACCES: a port below 1024, which only root's clients may have. -EINVAL: the
 * family is neither 4 nor 6.
 */
RNIC_API int rnic_cm_bind(struct rnic_cm_id *id, const struct rnic_endpoint *local,
			  struct rnic_cm_endpoints *endpoints);

/*
 * Chooses the device's address and the path to `destination`; `source`, which may be NULL, gives
 * the device's address. Ends with ADDR_RESOLVED, or with ADDR_ERROR and a status: -ENODEV, the
 * device has no address of that family; -ENETUNREACH and the like, the kernel has no route;
 * -ETIMEDOUT, neither the destination nor a router to it has answered on the link for `timeout_ms`
 * (ARP, neighbour discovery). Nobody is asked whose link address the kernel knows.
 * -EADDRNOTAVAIL: `source` is not the device's. -EINVAL:
 * `source` is of another family, or `destination` is no address. -EADDRINUSE, -EACCES: as of
 * binding.
 */
RNIC_API int rnic_cm_resolve_address(struct rnic_cm_id *id, const struct rnic_endpoint *source,
				     const struct rnic_endpoint *destination, uint32_t timeout_ms);

/*
 * Resolves the route. Ends with ROUTE_RESOLVED, at once, because there is one route; the call
 * ignores `timeout_ms`.
 */
RNIC_API int rnic_cm_resolve_route(struct rnic_cm_id *id, uint32_t timeout_ms);

/* ---- connections ---- */

/*
 * Listens for connections. Requests arrive as CONNECT_REQUEST, up to `backlog` unanswered ones (0:
 * as many as the daemon grants, 1024); a peer beyond that number tries again. `endpoints` (NULL is
 * allowed) gets the address: without rnic_cm_bind() a free port of any IPv4 address. -EADDRINUSE:
 * somebody listens there already.
 */
RNIC_API int rnic_cm_listen(struct rnic_cm_id *id, uint32_t backlog,
			    struct rnic_cm_endpoints *endpoints);

/*
 * Sends a request to the peer. The daemon repeats the request for about ten seconds, or as long as
 * the peer asks for time. Ends with CONNECT_RESPONSE (for a datagram service: ESTABLISHED, whose
 * path and parameters are the service's address), REJECTED or UNREACHABLE. -EINVAL: more private
 * data than the message has room for, 56 bytes (180), or a number that is too large for the
 * message.
 */
RNIC_API int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters);

/*
 * Confirms the connection to the peer: after CONNECT_RESPONSE, when the queue pair is in RTS.
 * -ENOTCONN: the peer has given up meanwhile, as an event reports.
 */
RNIC_API int rnic_cm_establish(struct rnic_cm_id *id);

/*
 * Accepts a request; ends with ESTABLISHED, or with REJECTED, UNREACHABLE or DISCONNECTED when the
 * peer does not go on. No event follows for a datagram service. -EINVAL: more private data than the
 * message has room for, 196 bytes (136), or a number that is too large. -ENOTCONN: the peer has
 * given up.
 */
RNIC_API int rnic_cm_accept(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters);

/*
 * Refuses a request, or after CONNECT_RESPONSE the peer's answer. `reason` is the one on the wire
 * (IBTA 1.4, table 108), 0 for "consumer defined". -EINVAL: more than 148 bytes (136) of private
 * data. -ENOTCONN: the peer has given up.
 */
RNIC_API int rnic_cm_reject(struct rnic_cm_id *id, uint32_t reason, const void *private_data,
			    uint8_t private_data_bytes);

/*
 * Ends a connection, also one that the peer has ended. DISCONNECTED comes when the peer knows, or
 * does not answer, and TIMEWAIT_EXIT when no packet of the connection is under way any more.
 * -ENOTCONN: the connection was never established. -EINVAL: the identifier is no connection.
 */
RNIC_API int rnic_cm_disconnect(struct rnic_cm_id *id);

/*
 * Reports an asynchronous event of the queue pair to the connection manager: COMM_EST replaces the
 * peer's last message, which was lost. -EINVAL: another event, or no connection.
 */
RNIC_API int rnic_cm_notify(struct rnic_cm_id *id, enum rnic_async_event_type event);

/*
 * The attributes for the queue pair's step into `state`: INIT, RTR or RTS. -EINVAL: another state,
 * or the peer is not known yet.
 */
RNIC_API int rnic_cm_qp_attributes(struct rnic_cm_id *id, enum rnic_qp_state state,
				   struct rnic_qp_attributes *attributes, uint32_t *mask);

/*
 * The attributes for the steps of a connection's queue pair into RTR (`receive_mask`) and then into
 * RTS (`send_mask`), in one call. The caller sets the member `state`. -EINVAL: the peer is not
 * known yet.
 */
RNIC_API int rnic_cm_connection_attributes(struct rnic_cm_id *id,
					   struct rnic_qp_attributes *attributes,
					   uint32_t *receive_mask, uint32_t *send_mask);

/* ---- multicast ---- */

/*
 * Joins `group` with an identifier of UD that has an address; ends with MULTICAST_JOIN. The sender
 * uses the event's path and parameters (qpn, qkey); a receiver attaches its queue pair to
 * path.dest_gid. Both are the same with and without `is_send_only`. -EINVAL: no multicast address,
 * or not UD. -EADDRNOTAVAIL: the device has no address of its family. -EADDRINUSE: the identifier
 * has joined already. -ENOSPC: 64 groups.
 */
RNIC_API int rnic_cm_join_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group,
				bool is_send_only);

/* Leaves a group; the owner detaches the queue pair. -EINVAL: not joined. */
RNIC_API int rnic_cm_leave_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group);

#ifdef __cplusplus
}
#endif

#endif
