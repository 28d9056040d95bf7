/* SPDX-License-Identifier: MIT */
/*
 * Connections by host name and port as calls that wait, over <rnic/rnic_cm.h>: the common part of
 * the programming interfaces of this tree. Each interface links it, none exports it.
 *
 * A channel serves one connection, or one listener, and its descriptor is non-blocking. Identifiers
 * are the caller's from the call that gives them. The caller's queue pair is in INIT when a
 * connection begins and in RTS when it stands; on failure the caller destroys the queue pair.
 *
 * Every wait ends: with the awaited event, at `deadline_ns` (monotonic clock, RNIC_DIAL_FOREVER for
 * none) with -ETIMEDOUT, by a signal with -EINTR, or with the daemon, by -ENODEV or -EIO. Other
 * calls fail as those of rnic_cm.h that they make. A thread may be cancelled while it waits; the
 * call then releases all that it has not given to the caller.
 */
#ifndef LIB_APIS_DIAL_DIAL_H
#define LIB_APIS_DIAL_DIAL_H

#include <rnic/rnic_cm.h>

#define RNIC_DIAL_FOREVER UINT64_MAX

/* READs that either end of a connection has under way at most. */
#define RNIC_DIAL_READ_DEPTH 16

/* The monotonic clock. */
uint64_t rnic_dial_now_ns(void);

/* When a wait ends that begins now and takes at most `timeout_ms`; negative: it has no end. */
uint64_t rnic_dial_deadline_ns(int timeout_ms);

/* The time that is left until `deadline_ns`, as poll(2) wants it: rounded up, -1 for ever. */
int rnic_dial_poll_timeout_ms(uint64_t deadline_ns);

/*
 * Resolves `host` (NULL, to listen: all addresses) and `port`; returns the number of endpoints, at
 * most `max_count`. -ENOENT: no such host. -EAGAIN: the name service does not answer now.
 */
int rnic_dial_resolve(const char *host, uint16_t port, uint32_t max_count,
		      struct rnic_endpoint *endpoints);

/* -ENOSPC: too many channels. */
int rnic_dial_create_channel(struct rnic_context *context, struct rnic_cm_channel **channel);

/* Waits for the next event, which is to be acknowledged. */
int rnic_dial_wait(struct rnic_cm_channel *channel, uint64_t deadline_ns,
		   struct rnic_cm_event *event);

/* Brings a new queue pair into INIT, where receives can be posted. */
int rnic_dial_prepare(struct rnic_qp *qp);

/* The facts of `qp` for the peer. -EINVAL: no message has room for so much private data. */
int rnic_dial_parameters(const struct rnic_qp *qp, const void *private_data,
			 size_t private_data_bytes, struct rnic_cm_parameters *parameters);

/* A connection to be: this side's part of it, and until when. */
struct rnic_dial_attempt {
	struct rnic_cm_channel *channel; /* where the connection's identifier reports */
	struct rnic_qp *qp;
	const struct rnic_cm_parameters *parameters;
	uint64_t deadline_ns;
};

/*
 * Connects to the listener at `host` and `port`, trying all addresses of the host. `answer` is what
 * the peer said. -ECONNREFUSED: nobody listens there, or the peer refused. -ETIMEDOUT,
 * -EHOSTUNREACH, -ENETUNREACH: no answer, or no way there.
 */
int rnic_dial_connect(const struct rnic_dial_attempt *attempt, const char *host, uint16_t port,
		      struct rnic_cm_id **id, struct rnic_cm_parameters *answer);

/* Listens at `host` (NULL: all addresses) and `port` (0: a free one, in *bound_port). */
int rnic_dial_listen(struct rnic_cm_channel *channel, const char *host, uint16_t port,
		     uint32_t backlog, struct rnic_cm_id **id, uint16_t *bound_port);

/* Waits for a request of a peer to connect to the listener of `channel`. */
int rnic_dial_next_request(struct rnic_cm_channel *channel, uint64_t deadline_ns,
			   struct rnic_cm_id **id, struct rnic_cm_parameters *request);

/*
 * Accepts `request`, with which `id` came, and waits until the peer confirms. -ECONNABORTED,
 * -ENOTCONN: the peer has given up.
 */
int rnic_dial_accept(const struct rnic_dial_attempt *attempt, struct rnic_cm_id *id,
		     const struct rnic_cm_parameters *request);

/*
 * The steps of the two calls above for callers that take events themselves: after CONNECT_RESPONSE,
 * and for a request, which ESTABLISHED or an error ends.
 */
int rnic_dial_finish(struct rnic_cm_id *id, struct rnic_qp *qp);
int rnic_dial_begin_accept(struct rnic_cm_id *id, struct rnic_qp *qp,
			   const struct rnic_cm_parameters *parameters,
			   const struct rnic_cm_parameters *request);

/*
 * The answers to what a side has sent come by other packets than the peer's DREQ, which may
 * overtake them. So a side whose peer has left waits so long for answers before it ends all work.
 */
#define RNIC_DIAL_LINGER_NS UINT64_C(100000000)

/*
 * Ends all work of `qp`: all posted work, and all that is posted from now on, completes as flushed.
 */
void rnic_dial_fail_qp(struct rnic_qp *qp);

/*
 * Sets the ACK timeout of `qp`, which is in RTS and none of whose sends is under way: 4.096 us *
 * 2^code. Errors of rnic_modify_qp(); then the queue pair may not send any more.
 */
int rnic_dial_set_ack_timeout(struct rnic_qp *qp, uint8_t code);

#endif
