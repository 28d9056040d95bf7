/* SPDX-License-Identifier: MIT */
/*
 * One connection of either side, or one resolution of a datagram service: a state machine (IBTA
 * 1.4, 12.9 and 12.11.1). The table in connection_table.c names the action for each event in each
 * state. The actions are in connection_action.c, connection_calls.c and sidr.c; this file has their
 * building blocks.
 *
 * A connection queues kinds of messages, not finished messages: `queued` has a bit for each kind.
 * The manager composes a message when the wire takes it, so no message is out of date. Another
 * table says which kinds a state may queue.
 *
 * Invariants: a connection in STATE_ENDED is on the list of all connections and on no other table,
 * has nothing queued and no timer armed. An abandoned connection does not stay in STATE_ENDED. The
 * timer is armed in each state that waits for the peer.
 */
#ifndef DAEMON_CONTROL_CM_CM_CONNECTION_H
#define DAEMON_CONTROL_CM_CM_CONNECTION_H

#include "daemon/control/cm/cm.h"
#include "daemon/control/cm/peer_table.h"
#include "daemon/control/cm/proven_address.h"
#include "lib/nic/base/list.h"
#include "lib/nic/base/timer_heap.h"
#include "proto/mad/cm_message.h"

#define CONNECTION_HOP_LIMIT 64 /* unless the path names another */

/*
 * The service timeout in an MRA: 17 s for our holder to answer. Each further MRA asks for 17 s
 * again.
 */
#define CONNECTION_SERVICE_TIMEOUT 22

enum connection_state {
	STATE_REQ_SENT,	    /* active: waits for the REP */
	STATE_REP_RECEIVED, /* active: waits for the holder */
	STATE_REQ_RECEIVED, /* passive: waits for the holder */
	STATE_REP_SENT,	    /* passive: waits for the RTU, or traffic */
	STATE_ESTABLISHED,
	STATE_DREQ_SENT,     /* waits for the DREP */
	STATE_DREQ_RECEIVED, /* waits for the holder, which ends by call */
	STATE_TIMEWAIT,	     /* waits until the old packets have died */
	STATE_REJECTED,	     /* after a refusal: recognises repeated messages */
	STATE_ENDED,	     /* waits until the holder destroys it */
	/* Datagram services. */
	STATE_SIDR_SENT,     /* active: waits for the SIDR_REP */
	STATE_SIDR_RECEIVED, /* passive: waits for the holder */
	STATE_SIDR_ANSWERED, /* passive: repeats its answer on request */
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
	EVENT_NAMED,	/* a REQ or REP of the peer's address names the peer's QP */
	EVENT_ANSWERED, /* the device tells of the peer: `answer` */
	/* Calls of the holder. */
	EVENT_ACCEPT,
	EVENT_REJECT,
	EVENT_ESTABLISH,
	EVENT_TRAFFIC,
	EVENT_DISCONNECT,
	EVENT_DESTROY,
	EVENT_COUNT,
};

/* The input of an event. */
struct connection_input {
	const struct rnic_cm_message *message;
	const struct cm_accept *accept;
	const struct cm_peer_answer *answer;
	uint16_t reason;
	const uint8_t *private_data;
	uint32_t private_bytes;
};

/* Whether the peer of an established connection is still there: peer_question.c. */
struct peer_question {
	bool is_open;
	bool has_count;		/* `count` is known */
	uint8_t asked;		/* times */
	uint8_t silences;	/* times without a sign of life */
	uint64_t count;		/* of packets from the peer, at the first answer of the device */
	uint64_t rest_until_ns; /* nothing is asked before */
};

struct cm_connection {
	struct cm *cm;
	struct list node;	  /* of cm->connections */
	struct list ready_node;	  /* of cm->ready, while a message is queued */
	struct list pending_node; /* of binding->pending */
	struct peer_node by_peer;
	struct peer_node by_peer_qpn;
	struct timer timer;
	struct cm_binding *binding; /* its backlog counts this connection; NULL: no backlog does */
	void *user;
	uint32_t owner; /* cm_note_owner() */
	uint32_t asker; /* cm_connect.owner, of an active connection */
	uint8_t state;
	uint8_t qp_type;
	bool is_active;
	bool is_abandoned;
	bool is_datagram;
	bool is_established;	       /* now or earlier */
	bool must_tell_established;    /* the holder, before any other event */
	bool has_told_port;	       /* the owner, of a strange one */
	bool is_extended;	       /* an MRA came since the message was last sent */
	bool ends_by_call;	       /* the holder's call answers the peer's DREQ */
	struct proven_address address; /* of the peer */
	struct peer_question question;
	uint16_t port_space;
	uint16_t local_port;
	uint16_t peer_port;
	uint16_t peer_udp_port; /* of the peer's first message; 0: none came yet */
	uint16_t queued;	/* a bit for each kind of message: see connection_queue_message() */
	struct cm_path path;
	struct cm_qp_parameters local;
	struct cm_qp_parameters peer;
	uint32_t comm_id;
	uint32_t peer_comm_id;	 /* 0: not known yet */
	uint64_t transaction_id; /* of our first message, or of the message that we answer */
	uint64_t disconnect_transaction_id; /* of the peer's DREQ or LAP */
	uint64_t retry_timeout_ns;
	uint8_t response_timeout; /* code; from the active side's REQ */
	uint8_t max_retries;
	uint8_t retries_left;
	uint8_t ack_timeout; /* code: for QPs and for timewait */
	/* The content of a REJ or SIDR_REP. */
	uint8_t subject; /* enum rnic_cm_subject */
	uint16_t reason;
	uint32_t private_bytes; /* of our message with private data */
	uint8_t private_data[CM_PRIVATE_BYTES_MAX];
};

/*
 * Creates a connection in STATE_ENDED, with an identifier and room for a timer, and adds it to the
 * list of all connections. The caller fills in the connection and calls connection_list_peer().
 * -ENOSPC, -ENOMEM.
 */
int connection_create(struct cm *cm, struct cm_connection **connection);

/*
 * Brings the connection to STATE_ENDED, or frees an abandoned connection. The caller must not use
 * the connection afterwards.
 */
void connection_end(struct cm_connection *connection);

/* Frees the connection in any state. */
void connection_free(struct cm_connection *connection);

/* Find the connection of a message by our own identifier, or by the peer's. */
struct cm_connection *connection_find(const struct cm *cm, uint32_t comm_id);
struct cm_connection *connection_find_by_peer(const struct cm *cm, const struct rnic_gid *gid,
					      uint32_t peer_comm_id, bool is_datagram);

/* A live connection with that QP of that peer; NULL when there is none. */
struct cm_connection *connection_find_living(const struct cm *cm, const struct rnic_gid *gid,
					     uint32_t peer_qpn);

/*
 * Whether messages from that UDP port may be the peer's (peer_ports.h). When not, counts the
 * message, and tells the owner of the first one.
 */
bool connection_takes_port(struct cm_connection *connection, uint16_t port);

/*
 * Lists the connection under the peer's identifier and QPN (a datagram service: identifier only).
 * Both must be known.
 */
void connection_list_peer(struct cm_connection *connection);

/*
 * Runs the table's action for `event` in the connection's state. The action may free the
 * connection.
 */
int connection_step(struct cm_connection *connection, enum connection_event event,
		    const struct connection_input *input);

/* The name of a state, for display. */
const char *connection_state_text(enum connection_state state);

/* --- building blocks of the actions ----------------------------------------------------------- */

/*
 * Enters `state` and drops queued messages that the state may not queue. The caller sets the timer.
 */
void connection_enter(struct cm_connection *connection, enum connection_state state);

/* Queues a message of `kind`; the state must allow that kind (asserted). */
void connection_queue_message(struct cm_connection *connection, enum rnic_cm_kind kind);

/* Queues `kind` and begins its retries: EVENT_TIMEOUT comes when the peer is late. */
void connection_send_reliably(struct cm_connection *connection, enum rnic_cm_kind kind);

/*
 * Queues the RTU, and makes EVENT_TIMEOUT repeat it. Nothing answers an RTU, and a peer that doubts
 * our address sends its REP three times at most (proven_address.h): a lost RTU does not always come
 * to light by another REP.
 */
void connection_send_rtu(struct cm_connection *connection);

/*
 * Queues `kind` again at EVENT_TIMEOUT. False: no tries are left, or the connection is abandoned
 * and half of all connections are in use.
 */
bool connection_retry(struct cm_connection *connection, enum rnic_cm_kind kind);

void connection_arm(struct cm_connection *connection, uint64_t delay_ns);

#define CONNECTION_TOGETHER_NS (UINT64_C(1) << 23)

/*
 * As connection_arm(), but up to CONNECTION_TOGETHER_NS (8.4 ms) later, together with others.
 * Where many connections end, one wake-up serves many of them.
 */
void connection_arm_together(struct cm_connection *connection, uint64_t delay_ns);
void connection_disarm(struct cm_connection *connection);

/*
 * Makes the running timer expire at once when the connection is abandoned and half of all
 * connections are in use: a client that leaves many connections behind does not block new
 * connections.
 */
void connection_give_way(struct cm_connection *connection);

/*
 * Gives `event` to the holder, if there is one. The caller sets the members of `event`, except
 * `connection` and `user`.
 */
bool connection_tell(struct cm_connection *connection, struct cm_event *event);
void connection_tell_simply(struct cm_connection *connection, enum cm_event_type type, int status);

/* The holder has answered: the connection leaves its binding's backlog. */
void connection_answered(struct cm_connection *connection);

/* Keeps private data for our next message. -EINVAL: more than `limit` bytes. */
int connection_keep_private(struct cm_connection *connection, const uint8_t *data, uint32_t bytes,
			    uint32_t limit);

/* Composes the connection's message of `kind` into `message` (zeroed). */
void connection_compose(const struct cm_connection *connection, enum rnic_cm_kind kind,
			struct rnic_cm_message *message);

/* The sender's QP parameters in a REQ or REP, with the depths swapped. */
struct cm_qp_parameters connection_peer_of_req(const struct rnic_cm_message *message);
struct cm_qp_parameters connection_peer_of_rep(const struct rnic_cm_message *message);

/*
 * How long the connection remembers a refusal or the answer to a SIDR_REQ, so that the peer's next
 * try does not look like a new request. Once half of all connections are in use, the answer is
 * forgotten soon after it is sent. A peer that got our MRA tries again much later, and only if the
 * REJ was lost: that try is a new request, as there is no state after a refusal (IBTA 1.4,
 * 12.9.7.2).
 */
uint64_t connection_linger_ns(const struct cm_connection *connection);

/* Tells the peer that we do not wait any more: one REJ, without a state behind it. */
void connection_say_timeout(struct cm_connection *connection);

/* 4.096 us * 2^code, within bounds: a hostile peer cannot make us wait longer. */
uint64_t connection_timeout_ns(uint8_t code);

#endif
