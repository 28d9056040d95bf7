/* SPDX-License-Identifier: MIT */
/*
 * The native interface to the daemon's connection manager: listeners, connections and datagram
 * services by IP address and port, as RDMA CM (IBTA annex A11) has them on the wire.
 *
 * The conventions are those of <rnic/rnic.h>: 0 or a negative errno, the errors that can come from
 * any call, ownership with the caller. Nothing here waits for the peer: what a call begins ends
 * with an event. Any call fails with -EINVAL for an identifier that is not in the state for it,
 * which the peer may have changed a moment ago: then an event tells how. -ENOSPC: so much is under
 * way, or so many events wait to be fetched; fetch them, or try again.
 *
 *	who connects: create_id, resolve_address, resolve_route, connect, on CONNECT_RESPONSE bring
 *	the queue pair to RTR and RTS, establish
 *	who listens: create_id, bind, listen, on CONNECT_REQUEST bring a queue pair to RTR and RTS,
 *	accept, wait for ESTABLISHED
 *
 * The daemon exchanges the messages. The queue pair stays the caller's: it makes it, brings it into
 * the states that rnic_cm_qp_attributes() describes, brings it to ERR when the connection has
 * ended, and destroys it. A datagram service (UD) is found by the same calls without the queue
 * pair's part: connect() ends with ESTABLISHED, which says where it is, and accept() tells so, and
 * is all.
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

/* Makes a channel, where identifiers report. -ENOSPC: too many channels. */
RNIC_API int rnic_cm_create_channel(struct rnic_context *context, struct rnic_cm_channel **channel);

/*
 * -EBUSY: identifiers report to it; it stays. A thread that waits there for an event meanwhile does
 * not come back: end it before.
 */
RNIC_API int rnic_cm_destroy_channel(struct rnic_cm_channel *channel);

/* Readable while an event waits: to poll(), and to set O_NONBLOCK on. Do not read or close it. */
RNIC_API int rnic_cm_channel_fd(const struct rnic_cm_channel *channel);

struct rnic_cm_event {
	enum rnic_cm_event_type type; /* says what to do next, too */
	int status; /* 0, or negative errno; of REJECTED the reason on the wire, positive */
	struct rnic_cm_id *id;
	/* Of CONNECT_REQUEST: the identifier that listens; `id` is a new one, the caller's to
	 * destroy, whose rnic_cm_user() is NULL. NULL in other events. */
	struct rnic_cm_id *listener;
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path;
	uint32_t path_mtu;		      /* 1..5 for 256..4096 bytes */
	uint32_t port_space;		      /* enum rnic_port_space */
	struct rnic_cm_parameters parameters; /* the peer's; zero where it has not said any */
};

/*
 * Waits for an event. Each must be acknowledged. -EAGAIN: none, and the descriptor is non-blocking.
 * -EINTR: a signal came. -ENOMEM: the event is lost; a connection request is refused with it. A
 * thread may be cancelled while it waits.
 */
RNIC_API int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event);

/* Destroying the identifier of an event (its listener, if it has one) waits for this. */
RNIC_API void rnic_cm_ack_event(const struct rnic_cm_event *event);

/* ---- identifiers ---- */

/*
 * Makes an identifier in `port_space` for queue pairs of type `qp_type`; with UD it resolves and
 * serves datagram services, in the port spaces UDP, IPOIB and IB; the others are for TCP and IB.
 * `user` is the caller's. -EINVAL: no such port space, or not for that type. -ENOSPC: too many
 * identifiers.
 */
RNIC_API int rnic_cm_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
			       enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **id);

/*
 * Ends it: a connection is disconnected, a request rejected, a listener's unfetched requests too.
 * Events of it that nobody has fetched are gone. Waits until all that were are acknowledged.
 */
RNIC_API int rnic_cm_destroy_id(struct rnic_cm_id *id);

/* What the caller gave; of an identifier that a request came with NULL, until it is set. */
RNIC_API void *rnic_cm_user(const struct rnic_cm_id *id);
RNIC_API void rnic_cm_set_user(struct rnic_cm_id *id, void *user);

/*
 * From now on it reports to `channel`; events not fetched yet go along. -EINVAL: a channel of
 * another context.
 */
RNIC_API int rnic_cm_migrate(struct rnic_cm_id *id, struct rnic_cm_channel *channel);

/* Sets an option. -EINVAL: no such option, or a value that it cannot have, or not any more. */
RNIC_API int rnic_cm_set_option(struct rnic_cm_id *id, enum rnic_cm_option option, uint32_t value);

/* Where an identifier is: what is not known yet is zero. */
struct rnic_cm_endpoints {
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path; /* is_global 0: no address of the device is chosen yet */
	uint32_t path_mtu;     /* 1..5 for 256..4096 bytes */
};

/* Asks where it is, in any state. */
RNIC_API int rnic_cm_query(struct rnic_cm_id *id, struct rnic_cm_endpoints *endpoints);

/*
 * Takes an address of the device, or any, and a port, 0 for a free one; `endpoints` (NULL is
 * allowed) gets where the identifier is then. Any IPv6 address is any IPv4 address too, unless an
 * option says otherwise. -EADDRNOTAVAIL: not an address of the device, or no port is free.
 * -EADDRINUSE: the port is taken. -EACCES: a port below 1024, which only root's clients may have.
 * -EINVAL: the family is neither 4 nor 6.
 */
RNIC_API int rnic_cm_bind(struct rnic_cm_id *id, const struct rnic_endpoint *local,
			  struct rnic_cm_endpoints *endpoints);

/*
 * Chooses the device's address and the path to `destination`; `source`, which may be NULL, says
 * from where. Ends with ADDR_RESOLVED, or with ADDR_ERROR and a status: -ENODEV, the device has no
 * address of that family; -ENETUNREACH and the like, the kernel has no route. Neither takes long,
 * and `timeout_ms` is not used. -EADDRNOTAVAIL: `source` is not the device's. -EINVAL: it is of
 * another family, or `destination` is no address. -EADDRINUSE, -EACCES: as of binding.
 */
RNIC_API int rnic_cm_resolve_address(struct rnic_cm_id *id, const struct rnic_endpoint *source,
				     const struct rnic_endpoint *destination, uint32_t timeout_ms);

/* Ends with ROUTE_RESOLVED, at once, for there is one way; `timeout_ms` is not used. */
RNIC_API int rnic_cm_resolve_route(struct rnic_cm_id *id, uint32_t timeout_ms);

/* ---- connections ---- */

/*
 * Requests arrive as CONNECT_REQUEST, up to `backlog` that are not answered (0: as many as the
 * daemon grants, 1024); who comes beyond tries again. `endpoints` (NULL is allowed) gets where the
 * identifier is then: without rnic_cm_bind() at a free port of any IPv4 address. -EADDRINUSE:
 * somebody listens there already.
 */
RNIC_API int rnic_cm_listen(struct rnic_cm_id *id, uint32_t backlog,
			    struct rnic_cm_endpoints *endpoints);

/*
 * Asks the peer for about ten seconds, or as long as it asks for time; ends with CONNECT_RESPONSE
 * (of a datagram service: ESTABLISHED, whose path and parameters say where to send), REJECTED or
 * UNREACHABLE. -EINVAL: more private data than the message has room for, 56 bytes (180), or a
 * number that is too large for it.
 */
RNIC_API int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters);

/*
 * After CONNECT_RESPONSE, when the queue pair is in RTS: tells the peer so. -ENOTCONN: it has given
 * up meanwhile, as an event tells.
 */
RNIC_API int rnic_cm_establish(struct rnic_cm_id *id);

/*
 * Answers a request; ends with ESTABLISHED, or with REJECTED, UNREACHABLE or DISCONNECTED when the
 * peer does not go on. Of a datagram service no event follows. -EINVAL: more private data than the
 * message has room for, 196 bytes (136), or a number that is too large. -ENOTCONN: the peer has
 * given up.
 */
RNIC_API int rnic_cm_accept(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters);

/*
 * Refuses a request, or after CONNECT_RESPONSE the peer's answer. `reason` as on the wire (IBTA
 * 1.4, table 108), 0 for "consumer defined". -EINVAL: more than 148 bytes (136) of private data.
 * -ENOTCONN: the peer has given up.
 */
RNIC_API int rnic_cm_reject(struct rnic_cm_id *id, uint32_t reason, const void *private_data,
			    uint8_t private_data_bytes);

/*
 * Ends a connection; DISCONNECTED tells when the peer knows, or does not answer, and TIMEWAIT_EXIT
 * when no packet of it is under way any more. When the peer has ended it, too. -ENOTCONN: it never
 * stood. -EINVAL: it is no connection.
 */
RNIC_API int rnic_cm_disconnect(struct rnic_cm_id *id);

/*
 * Tells of an asynchronous event of the queue pair: COMM_EST stands for the peer's last message,
 * which was lost. -EINVAL: another event, or no connection.
 */
RNIC_API int rnic_cm_notify(struct rnic_cm_id *id, enum rnic_async_event_type event);

/*
 * What to give the queue pair on its way into `state`: INIT, RTR or RTS. -EINVAL: another state, or
 * the peer is not known yet.
 */
RNIC_API int rnic_cm_qp_attributes(struct rnic_cm_id *id, enum rnic_qp_state state,
				   struct rnic_qp_attributes *attributes, uint32_t *mask);

/*
 * What to give the queue pair of a connection on its way into RTR (`receive_mask`) and then into
 * RTS (`send_mask`), asked at once. The member `state` is the caller's to set. -EINVAL: the peer is
 * not known yet.
 */
RNIC_API int rnic_cm_connection_attributes(struct rnic_cm_id *id,
					   struct rnic_qp_attributes *attributes,
					   uint32_t *receive_mask, uint32_t *send_mask);

/* ---- multicast ---- */

/*
 * Joins `group` with an identifier of UD that has an address; ends with MULTICAST_JOIN, whose path
 * and parameters (qpn, qkey) the sender uses and to whose path.dest_gid a receiver attaches its
 * queue pair. That is the same whether `is_send_only` or not. -EINVAL: no multicast address, or not
 * UD. -EADDRNOTAVAIL: the device has no address of its family. -EADDRINUSE: it has joined already.
 * -ENOSPC: 64 groups.
 */
RNIC_API int rnic_cm_join_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group,
				bool is_send_only);

/* Leaves a group; the queue pair is detached by its owner. -EINVAL: not joined. */
RNIC_API int rnic_cm_leave_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group);

#ifdef __cplusplus
}
#endif

#endif
