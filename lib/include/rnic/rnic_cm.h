/* SPDX-License-Identifier: MIT */
/*
 * The native interface to the daemon's connection manager: listeners, connections and datagram
 * services by IP address and port, as RDMA CM (IBTA annex A11) has them on the wire.
 *
 * The conventions are those of <rnic/rnic.h>: 0 or a negative errno, -ENODEV and -EIO from any
 * call, ownership with the caller. Whether a call is refused because the identifier is in another
 * state (-EINVAL) is the daemon's to say; it is not repeated below.
 *
 * The daemon exchanges the messages. The queue pair stays the caller's: it makes it, brings it into
 * the states that rnic_cm_qp_attributes() describes, and destroys it.
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

/* Where identifiers report. -ENOSPC: too many channels. */
RNIC_API int rnic_cm_create_channel(struct rnic_context *context, struct rnic_cm_channel **channel);

/* -EBUSY: identifiers report to it; it stays. */
RNIC_API int rnic_cm_destroy_channel(struct rnic_cm_channel *channel);

/* Readable while an event waits: to poll(), and to set O_NONBLOCK on. Do not read or close it. */
RNIC_API int rnic_cm_channel_fd(const struct rnic_cm_channel *channel);

struct rnic_cm_event {
	enum rnic_cm_event_type type;
	int status; /* negative errno; of REJECTED the reason on the wire, positive */
	struct rnic_cm_id *id;
	/* Of CONNECT_REQUEST: the identifier that listens; `id` is a new one, the caller's to
	 * destroy, whose rnic_cm_user() is NULL. NULL in other events. */
	struct rnic_cm_id *listener;
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path;
	uint32_t path_mtu; /* 1..5 for 256..4096 bytes */
	uint32_t port_space;
	struct rnic_cm_parameters parameters; /* the peer's */
};

/*
 * Waits for an event. Each must be acknowledged. -EAGAIN: none, and the descriptor is non-blocking.
 * -EINTR: a signal came. -ENOMEM: the event is lost; a connection request is refused with it.
 */
RNIC_API int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event);

/* Destroying the identifier of an event (its listener, if it has one) waits for this. */
RNIC_API void rnic_cm_ack_event(const struct rnic_cm_event *event);

/* ---- identifiers ---- */

/*
 * Makes an identifier in `port_space` for queue pairs of type `qp_type`; with UD it resolves and
 * serves datagram services. `user` is the caller's. -EINVAL: no such port space or type. -ENOSPC:
 * too many identifiers.
 */
RNIC_API int rnic_cm_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
			       enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **id);

/*
 * Ends it: a connection is disconnected, a request rejected, a listener's unfetched requests too.
 * Waits until all its events are acknowledged.
 */
RNIC_API int rnic_cm_destroy_id(struct rnic_cm_id *id);

RNIC_API void *rnic_cm_user(const struct rnic_cm_id *id);
RNIC_API void rnic_cm_set_user(struct rnic_cm_id *id, void *user);

/* From now on it reports to `channel`, of the same context; events not fetched yet go along. */
RNIC_API int rnic_cm_migrate(struct rnic_cm_id *id, struct rnic_cm_channel *channel);

/* -EINVAL: no such option, or a value that it cannot have. */
RNIC_API int rnic_cm_set_option(struct rnic_cm_id *id, enum rnic_cm_option option, uint32_t value);

/* Where an identifier is: what is not known yet is zero. */
struct rnic_cm_endpoints {
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path; /* is_global 0: no address of the device is chosen yet */
	uint32_t path_mtu;
};

RNIC_API int rnic_cm_query(struct rnic_cm_id *id, struct rnic_cm_endpoints *endpoints);

/*
 * Takes an address of the device, or any, and a port, 0 for a free one; `endpoints` (NULL is
 * allowed) gets where the identifier is then. -EADDRNOTAVAIL: not an address of the device.
 * -EADDRINUSE: the port is taken, or none is free.
 */
RNIC_API int rnic_cm_bind(struct rnic_cm_id *id, const struct rnic_endpoint *local,
			  struct rnic_cm_endpoints *endpoints);

/*
 * Chooses the device's address and the path to `destination`. `source` may be NULL. Ends with
 * ADDR_RESOLVED or ADDR_ERROR. -EADDRNOTAVAIL: `source` is not the device's.
 */
RNIC_API int rnic_cm_resolve_address(struct rnic_cm_id *id, const struct rnic_endpoint *source,
				     const struct rnic_endpoint *destination, uint32_t timeout_ms);

/* Ends with ROUTE_RESOLVED or ROUTE_ERROR. */
RNIC_API int rnic_cm_resolve_route(struct rnic_cm_id *id, uint32_t timeout_ms);

/* ---- connections ---- */

/*
 * Requests arrive as CONNECT_REQUEST. `backlog` 0: as many as the daemon grants. `endpoints` (NULL
 * is allowed) gets where the identifier is then.
 */
RNIC_API int rnic_cm_listen(struct rnic_cm_id *id, uint32_t backlog,
			    struct rnic_cm_endpoints *endpoints);

/*
 * Asks the peer; ends with CONNECT_RESPONSE, REJECTED, UNREACHABLE or CONNECT_ERROR. -EINVAL: more
 * private data than the message has room for.
 */
RNIC_API int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters);

/* After CONNECT_RESPONSE, when the queue pair is in RTS: tells the peer so. */
RNIC_API int rnic_cm_establish(struct rnic_cm_id *id);

/* Answers a request; ends with ESTABLISHED, or CONNECT_ERROR when the peer does not go on. */
RNIC_API int rnic_cm_accept(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters);

/* `reason` as on the wire (IBTA 1.4, table 108), 0 for "consumer defined". */
RNIC_API int rnic_cm_reject(struct rnic_cm_id *id, uint32_t reason, const void *private_data,
			    uint8_t private_data_bytes);

/* Ends with DISCONNECTED, then TIMEWAIT_EXIT. */
RNIC_API int rnic_cm_disconnect(struct rnic_cm_id *id);

/* Tells of an asynchronous event of the queue pair: COMM_EST stands for a lost message. */
RNIC_API int rnic_cm_notify(struct rnic_cm_id *id, enum rnic_async_event_type event);

/* What to give the queue pair on its way into `state`: INIT, RTR or RTS. */
RNIC_API int rnic_cm_qp_attributes(struct rnic_cm_id *id, enum rnic_qp_state state,
				   struct rnic_qp_attributes *attributes, uint32_t *mask);

/*
 * What to give the queue pair of a connection on its way into RTR (`receive_mask`) and then into
 * RTS
 * (`send_mask`), asked at once. The member `state` is the caller's to set.
 */
RNIC_API int rnic_cm_connection_attributes(struct rnic_cm_id *id,
					   struct rnic_qp_attributes *attributes,
					   uint32_t *receive_mask, uint32_t *send_mask);

/* ---- multicast ---- */

/*
 * Joins `group`; ends with MULTICAST_JOIN, whose path and parameters (qpn, qkey) the sender uses
 * and to whose path.dest_gid a receiver attaches its queue pair, or with MULTICAST_ERROR.
 */
RNIC_API int rnic_cm_join_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group,
				bool is_send_only);

/* -EINVAL: not joined. */
RNIC_API int rnic_cm_leave_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group);

#ifdef __cplusplus
}
#endif

#endif
