/* SPDX-License-Identifier: MIT */
/*
 * One connection, of either side, or one resolution of a datagram service, as a machine of states
 * and events (IBTA 1.4, 12.9 and 12.11.1). Which action an event has in which state is the table in
 * connection_table.c; the actions are in connection_action.c and sidr.c, and what they are made of
 * is here.
 *
 * Messages are not queued but owed: a bit of `owed` for each kind, composed when the wire asks, so
 * that nothing is said that is no longer true. What a state may owe is a table too.
 *
 * Invariants: in STATE_ENDED a connection is on no table but the list of all, owes nothing and has
 * no timer; an abandoned one does not stay in it. In a state that waits for the peer the timer is
 * armed.
 */
#ifndef DAEMON_CM_CM_CONNECTION_H
#define DAEMON_CM_CM_CONNECTION_H

#include "base/list.h"
#include "base/timer_heap.h"
#include "cm/cm.h"
#include "cm/peer_table.h"
#include "mad/cm_message.h"

#define CONNECTION_HOP_LIMIT 64 /* where nobody says another */

/* What an MRA asks for: 17 s for our holder to think, and again each time that it is asked for. */
#define CONNECTION_SERVICE_TIMEOUT 22

enum connection_state {
	STATE_REQ_SENT,	    /* active: waits for REP */
	STATE_REP_RECEIVED, /* active: waits for its holder */
	STATE_REQ_RECEIVED, /* passive: waits for its holder */
	STATE_REP_SENT,	    /* passive: waits for RTU, or traffic */
	STATE_ESTABLISHED,
	STATE_DREQ_SENT, /* waits for DREP */
	STATE_TIMEWAIT,	 /* waits until old packets have died */
	STATE_REJECTED,	 /* has refused or was refused, and stays to recognise copies */
	STATE_ENDED,	 /* waits to be destroyed */
	/* Of datagram services. */
	STATE_SIDR_SENT,     /* active: waits for SIDR_REP */
	STATE_SIDR_RECEIVED, /* passive: waits for its holder */
	STATE_SIDR_ANSWERED, /* passive: stays to say it again */
	STATE_COUNT,
};

enum connection_event {
	/* Messages, in the order of enum rnic_cm_kind. */
	EVENT_REQ,
	EVENT_MRA,
	EVENT_REJ,
	EVENT_REP,
	EVENT_RTU,
	EVENT_DREQ,
	EVENT_DREP,
	EVENT_SIDR_REQ,
	EVENT_SIDR_REP,
	EVENT_LAP,
	EVENT_APR,
	EVENT_TIMEOUT,
	/* Calls of the holder. */
	EVENT_ACCEPT,
	EVENT_REJECT,
	EVENT_ESTABLISH,
	EVENT_TRAFFIC,
	EVENT_DISCONNECT,
	EVENT_DESTROY,
	EVENT_COUNT,
};

/* What comes with an event. */
struct connection_input {
	const struct rnic_cm_message *message;
	const struct cm_accept *accept;
	uint16_t reason;
	const uint8_t *private_data;
	uint32_t private_bytes;
};

struct cm_connection {
	struct cm *cm;
	struct list node;	  /* of cm->connections */
	struct list ready_node;	  /* of cm->ready, while it owes something */
	struct list pending_node; /* of binding->pending */
	struct peer_node by_peer;
	struct peer_node by_peer_qpn;
	struct timer timer;
	struct cm_binding *binding; /* whose backlog it counts towards; NULL: none */
	void *user;
	uint8_t state;
	uint8_t qp_type;
	bool is_active;
	bool is_abandoned;
	bool is_datagram;
	bool is_established;	    /* at some time */
	bool must_tell_established; /* the holder, before anything else */
	bool is_extended;	    /* by an MRA, since the message was last sent */
	uint16_t port_space;
	uint16_t local_port;
	uint16_t peer_port;
	uint16_t queued; /* bits of kinds of messages: see connection_owe() */
	struct cm_path path;
	struct cm_qp_parameters local;
	struct cm_qp_parameters peer;
	uint32_t comm_id;
	uint32_t peer_comm_id;		    /* 0: not known yet */
	uint64_t transaction_id;	    /* of what we say first, or of what we answer */
	uint64_t disconnect_transaction_id; /* of the peer's DREQ, or LAP */
	uint64_t retry_timeout_ns;
	uint8_t response_timeout; /* code; of the active side, for the REQ */
	uint8_t max_retries;
	uint8_t retries_left;
	uint8_t ack_timeout; /* code: of QPs, and of timewait */
	/* What REJ or SIDR_REP says. */
	uint8_t subject; /* enum rnic_cm_subject */
	uint16_t reason;
	uint32_t private_bytes; /* of the message of ours that has any */
	uint8_t private_data[CM_PRIVATE_BYTES_MAX];
};

/*
 * A new connection with an identifier and room for a timer, on the list of all, in STATE_ENDED; the
 * caller fills it in and lists it with its peer. -ENOSPC, -ENOMEM.
 */
int connection_create(struct cm *cm, struct cm_connection **connection);

/* Brings it to STATE_ENDED, or frees it when it is abandoned: the caller returns. */
void connection_end(struct cm_connection *connection);

/* Frees it, whatever its state. */
void connection_free(struct cm_connection *connection);

/* Its own identifier, and the peer's as far as known: how messages find it. */
struct cm_connection *connection_find(const struct cm *cm, uint32_t comm_id);
struct cm_connection *connection_find_by_peer(const struct cm *cm, const struct rnic_gid *gid,
					      uint32_t peer_comm_id, bool is_datagram);

/* Another live connection with that QP of that peer; NULL when there is none. */
struct cm_connection *connection_find_stale(const struct cm *cm, const struct rnic_gid *gid,
					    uint32_t peer_qpn);

/* Lists it under the peer's identifier and (unless a datagram service) QPN, both now known. */
void connection_list_peer(struct cm_connection *connection);

/* The table: does what `event` means in the connection's state. The connection may be gone after.
 */
int connection_step(struct cm_connection *connection, enum connection_event event,
		    const struct connection_input *input);

/* The name of a state, for people. */
const char *connection_state_text(enum connection_state state);

/* --- what actions are made of ----------------------------------------------------------------- */

/* Enters `state` and forgets what it may not owe; its timer is the caller's to set. */
void connection_enter(struct cm_connection *connection, enum connection_state state);

/* A message of `kind` is to be sent; the state must allow it (asserted). */
void connection_queue_message(struct cm_connection *connection, enum rnic_cm_kind kind);

/* Owes `kind`, and again and again: EVENT_TIMEOUT comes when the peer is late. */
void connection_send_reliably(struct cm_connection *connection, enum rnic_cm_kind kind);

/*
 * At EVENT_TIMEOUT: says `kind` again; false when all tries are used up, or the connection gives
 * way.
 */
bool connection_retry(struct cm_connection *connection, enum rnic_cm_kind kind);

void connection_arm(struct cm_connection *connection, uint64_t delay_ns);
void connection_disarm(struct cm_connection *connection);

/*
 * Its timer, which runs, expires at once when its holder has gone and half of all connections are
 * in use: a client that leaves many behind does not take the room of those who come to connect.
 */
void connection_give_way(struct cm_connection *connection);

/* Tells the holder, if there is one; `event` has what connection_event() and the caller put in. */
bool connection_tell(struct cm_connection *connection, struct cm_event *event);
void connection_tell_simply(struct cm_connection *connection, enum cm_event_type type, int status);

/* Its holder has answered: it counts towards no backlog any more. */
void connection_answered(struct cm_connection *connection);

/* Keeps what a message of ours will carry. -EINVAL when it is more than `limit`. */
int connection_keep_private(struct cm_connection *connection, const uint8_t *data, uint32_t bytes,
			    uint32_t limit);

/* Puts what it owes of `kind` into `message` (zeroed). */
void connection_compose(const struct cm_connection *connection, enum rnic_cm_kind kind,
			struct rnic_cm_message *message);

/* What a REQ or REP says of its sender's QP, the depths turned round. */
struct cm_qp_parameters connection_peer_of_req(const struct rnic_cm_message *message);
struct cm_qp_parameters connection_peer_of_rep(const struct rnic_cm_message *message);

/*
 * How long a refusal, or the answer to a SIDR_REQ, is remembered, lest the peer's next try look
 * like a new request: until it is sent, when half of all connections are in use. A peer that has
 * heard our MRA tries much later, and only if it has missed our REJ: then it is heard anew, as
 * there is no state after a refusal (IBTA 1.4, 12.9.7.2).
 */
uint64_t connection_linger_ns(const struct cm_connection *connection);

/* Tells the peer, once and without a state, that we do not wait for it any more. */
void connection_say_timeout(const struct cm_connection *connection);

/* 4.096 us * 2^code, kept within what a hostile peer may make us wait. */
uint64_t connection_timeout_ns(uint8_t code);

#endif
