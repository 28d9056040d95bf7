/* SPDX-License-Identifier: MIT */
/*
 * The connection manager of a device (IBTA 1.4, chapter 12; IP addressing: annex A11): who listens
 * on which port, and every connection from its first MAD to the end of its timewait. Like the
 * engine it does no I/O, reads no clock and starts no thread: it is pushed the datagrams for QP 1,
 * pulled for datagrams, and told the time. It owns bindings and connections until their holder
 * destroys them; it never touches a QP: whoever gets an event brings the QP along
 * (cm_qp_attributes() says how).
 *
 * One cm belongs to one device and so to all processes of a host; all calls come from the device's
 * thread. Reliable and unreliable connections, and the resolution of datagram services (SIDR), are
 * one kind of object with one set of calls, as in librdmacm.
 *
 * Invariant: every connection that exists waits for its holder, or has a timer armed.
 */
#ifndef DAEMON_CM_CM_H
#define DAEMON_CM_CM_H

#include "base/random_source.h"
#include "base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct cm;
struct cm_binding;
struct cm_connection;
struct rnic_packet;

/* Codes of 4.096 us * 2^n that fit a network of software RNICs; see struct cm_connect. */
#define CM_DEFAULT_RESPONSE_TIMEOUT 17 /* 0.54 s: somebody's whole answer, lost or late */
#define CM_DEFAULT_PACKET_LIFETIME  14 /* 67 ms one way; the QP's ACK timeout is one more */
#define CM_DEFAULT_MAX_RETRIES	    15
#define CM_DEFAULT_LISTENER_WAIT_NS UINT64_C(100000000) /* see struct cm_config */
#define CM_DEFAULT_BACKLOG	    1024		/* and the most that cm_listen() grants */

/* What a request or an answer may carry for the peer's program. */
#define CM_PRIVATE_BYTES_MAX		  196
#define CM_CONNECT_PRIVATE_BYTES	  56  /* REQ: 92 less the IP addressing header */
#define CM_ACCEPT_PRIVATE_BYTES		  196 /* REP */
#define CM_REJECT_PRIVATE_BYTES		  148 /* REJ */
#define CM_DATAGRAM_CONNECT_PRIVATE_BYTES 180 /* SIDR_REQ: 216 less the IP addressing header */
#define CM_DATAGRAM_ACCEPT_PRIVATE_BYTES  136 /* SIDR_REP */

/*
 * An address as bindings and connections have it. IPv4 is mapped (wire/gid.h). To be bound to any
 * address: ::ffff:0.0.0.0 for all of IPv4, all zero for all of IPv6 and, unless `is_ipv6_only`,
 * IPv4 too.
 */
struct cm_address {
	struct rnic_gid gid;
	uint16_t port; /* host order */
};

enum cm_event_type {
	/*
	 * Somebody wants to connect to `event->binding`. `event->connection` is new and the
	 * receiver's from now on: cm_set_user() at once, then cm_accept(), cm_reject() or
	 * cm_destroy(). When the sink returns false the request is forgotten instead, without an
	 * answer, so that the peer's next try may be luckier.
	 */
	CM_EVENT_CONNECT_REQUEST,
	/* The peer accepts: bring the QP to RTS, then cm_establish(); or cm_reject(). */
	CM_EVENT_CONNECT_RESPONSE,
	/* Nobody answered; `status` is -ETIMEDOUT. */
	CM_EVENT_UNREACHABLE,
	/* The peer refuses; `status` is the positive reason (enum rnic_cm_reject_reason), of a
	 * datagram service the positive status of its SIDR_REP. */
	CM_EVENT_REJECTED,
	/* Of an accepted connection: the peer is there. Of a datagram service: it is resolved, and
	 * qpn, qkey and path say where. */
	CM_EVENT_ESTABLISHED,
	/* The connection has ended, whoever began it, or the peer no longer knows it. Nothing is
	 * owed to the peer. */
	CM_EVENT_DISCONNECTED,
	/* No packet of the old connection can be under way any more. */
	CM_EVENT_TIMEWAIT_EXIT,
	CM_EVENT_COUNT,
};

/* The way to the peer, as a QP's address vector needs it. */
struct cm_path {
	struct rnic_gid source; /* ours */
	struct rnic_gid dest;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: 64 */
	uint8_t service_level;
	uint8_t mtu;		 /* 1..5 for 256..4096 bytes */
	uint8_t rate;		 /* IBTA's code; 0: unknown */
	uint8_t packet_lifetime; /* code; the ACK timeout of both QPs is one more */
};

/*
 * What one side says of its QP. Depths are the speaker's own: `responder_resources` READs and
 * atomics that it serves at once, `initiator_depth` that it has under way at once.
 */
struct cm_qp_parameters {
	uint32_t qpn;
	uint32_t psn;  /* that the other side is to begin with (12.7.26); random, please */
	uint32_t qkey; /* of datagram services */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	bool has_flow_control;
	bool has_srq;
	uint8_t retry_count;	 /* 0..7; in a request */
	uint8_t rnr_retry_count; /* 0..7 */
	/* Enhanced connection establishment: whose extensions are offered or taken, and which. */
	uint32_t ece_vendor_id; /* 24 bits */
	uint32_t ece_options;
};

/* Good until the sink returns. What a type does not bring is zero. */
struct cm_event {
	enum cm_event_type type;
	int status;
	struct cm_connection *connection;
	void *user;		    /* of the connection; of a CONNECT_REQUEST: of the binding */
	struct cm_binding *binding; /* of a CONNECT_REQUEST */
	/* CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED of a datagram service: the peer's QP. The
	 * depths are turned round: `responder_resources` is what the receiver of the event is asked
	 * to serve, as librdmacm shows it. */
	struct cm_qp_parameters peer;
	/* All bytes that the message has room for: its sender's data and then zeros. */
	const uint8_t *private_data;
	uint32_t private_bytes;
};

struct cm_sink {
	/*
	 * Called from within cm_receive() and cm_tick() alone; must not call cm_*(), but for
	 * cm_set_user() and functions that take a const pointer. The result matters for
	 * CM_EVENT_CONNECT_REQUEST only. There are no events of a connection after cm_destroy().
	 */
	bool (*event)(void *context, const struct cm_event *event);
};

struct cm_config {
	const struct cm_sink *sink;
	void *sink_context;
	struct random_source random; /* of identifiers, PSNs and hashes */
	uint64_t ca_guid;	     /* the device's, host order */
	uint32_t max_connections;    /* of all states, abandoned ones included */
	uint32_t max_bindings;
	/* How long a request for a port where nobody listens waits for a listener before it is
	 * refused, if the peer waits twice as long; 0: not at all. */
	uint64_t listener_wait_ns;
	uint8_t path_mtu; /* see cm_set_path_mtu() */
};

/* NULL: no memory. */
struct cm *cm_create(const struct cm_config *config);

/*
 * All bindings and connections must have been destroyed by their holders (asserted). Peers of
 * connections that were still being taken leave of learn nothing more.
 */
void cm_free(struct cm *cm);

/*
 * The largest path MTU (1..5) that this host can receive: requests for more are refused, and told
 * so (IBTA 1.4, 12.6.7.2). 0: any.
 */
void cm_set_path_mtu(struct cm *cm, uint8_t path_mtu);

/* --- the wire ------------------------------------------------------------------------------- */

/* One datagram for QP 1, its ICRC found right. Whatever is wrong with it is counted and dropped. */
void cm_receive(struct cm *cm, const struct rnic_packet *packet, uint64_t now_ns);

/*
 * Builds at most one datagram; false when there is none. Its payload is good until the next call of
 * any cm function.
 */
bool cm_transmit(struct cm *cm, struct rnic_packet *out);

/* Whether cm_transmit() has something to build. */
bool cm_has_ready(const struct cm *cm);

/* When cm_tick() is due; UINT64_MAX when never. */
uint64_t cm_next_deadline_ns(const struct cm *cm);

/* Runs the timers that have expired. Never late, as often as the owner likes. */
void cm_tick(struct cm *cm, uint64_t now_ns);

/* --- addresses ------------------------------------------------------------------------------ */

struct cm_bind {
	uint16_t port_space;	   /* enum rnic_port_space */
	struct cm_address address; /* port 0: one is chosen */
	bool may_reuse;		   /* others that say so too may have the same address */
	bool is_ipv6_only;
	void *user;
};

/*
 * Takes an address, for listening on or for connecting from. Whether the GID is the device's, and
 * whether the caller may have a port below 1024, is the caller's business.
 *
 * -EADDRINUSE somebody else has it, or has all of its port; -EADDRNOTAVAIL port 0, and none is
 * free; -EINVAL no such port space; -ENOSPC too many; -ENOMEM.
 */
int cm_bind(struct cm *cm, const struct cm_bind *bind, struct cm_binding **binding);

/* With the port that was chosen. */
const struct cm_address *cm_binding_address(const struct cm_binding *binding);

/*
 * Requests to that address become CM_EVENT_CONNECT_REQUESTs, of which at most `backlog` (0: the
 * default) are neither accepted nor rejected at any time; what comes beyond is forgotten, and tried
 * again by its sender. The most specific binding gets a request.
 *
 * -EINVAL it listens already; -EADDRINUSE another one with the same address does.
 */
int cm_listen(struct cm_binding *binding, uint32_t backlog);

/* Its requests stay with who got them. NULL is allowed. */
void cm_unbind(struct cm *cm, struct cm_binding *binding);

/* --- connections ---------------------------------------------------------------------------- */

struct cm_connect {
	uint16_t port_space;
	uint8_t qp_type;      /* RC, UC, XRC_INITIATOR; UD resolves a datagram service (SIDR) */
	uint16_t source_port; /* of the caller's binding */
	uint16_t dest_port;
	struct cm_path path;
	struct cm_qp_parameters qp; /* of UD nothing */
	uint8_t response_timeout;   /* code: how long either side may take to answer the other */
	uint8_t max_retries;	    /* 0..15: how often either side repeats what is not answered */
	const uint8_t *private_data;
	uint32_t private_bytes;
	void *user;
};

/*
 * Sends a REQ or SIDR_REQ, again and again until an answer comes or all tries are used up. What
 * follows is CONNECT_RESPONSE (of UD: ESTABLISHED), REJECTED or UNREACHABLE.
 *
 * -EINVAL: a type, an address, a code or a length that cannot be; -ENOSPC too many connections;
 * -ENOMEM.
 */
int cm_connect(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns,
	       struct cm_connection **connection);

/* What cm_accept() says; depths beyond what the request allowed are the caller's to avoid. */
struct cm_accept {
	struct cm_qp_parameters qp;
	const uint8_t *private_data;
	uint32_t private_bytes;
};

/*
 * Answers a CONNECT_REQUEST with REP (again and again until the RTU or traffic comes), then
 * ESTABLISHED or UNREACHABLE or REJECTED follow; or with SIDR_REP, and nothing follows.
 * -ENOTCONN: the peer has given up, or it was answered already. -EINVAL: a length that cannot be.
 */
int cm_accept(struct cm_connection *connection, const struct cm_accept *accept, uint64_t now_ns);

/*
 * Answers a CONNECT_REQUEST or CONNECT_RESPONSE in the negative. `reason` is
 * RNIC_CM_REJECT_CONSUMER but for who knows better; of datagram services it is the status of the
 * SIDR_REP, 1 to 255. Only cm_destroy() is left to do then. -ENOTCONN, -EINVAL as cm_accept().
 */
int cm_reject(struct cm_connection *connection, uint16_t reason, const uint8_t *private_data,
	      uint32_t private_bytes, uint64_t now_ns);

/* After a CONNECT_RESPONSE: sends RTU, and again for every REP that says it was lost. -ENOTCONN. */
int cm_establish(struct cm_connection *connection, uint64_t now_ns);

/*
 * A packet came on the QP of an accepted connection (RNIC_EVENT_COMM_EST): the RTU may be lost, but
 * the peer is there (IBTA 1.4, 12.9.7). Emits ESTABLISHED at the next cm_tick(), which is due at
 * once; does nothing in any other state.
 */
void cm_note_traffic(struct cm_connection *connection, uint64_t now_ns);

/*
 * Sends DREQ, again and again until DREP comes or all tries are used up: DISCONNECTED follows
 * either way, and TIMEWAIT_EXIT. 0 also when the connection is ending by itself or has ended.
 * -ENOTCONN: it was never established.
 */
int cm_disconnect(struct cm_connection *connection, uint64_t now_ns);

/*
 * The holder forgets the connection. The peer is told what is due, REJ or DREQ, at once; what needs
 * to be repeated or waited for goes on without the holder. NULL is allowed.
 */
void cm_destroy(struct cm_connection *connection, uint64_t now_ns);

/*
 * A random PSN for the peer to begin with (cm_qp_parameters.psn): one that a stranger cannot guess.
 */
uint32_t cm_choose_psn(struct cm *cm);

/* The cookie of the events that follow. */
void cm_set_user(struct cm_connection *connection, void *user);

/*
 * What a QP of this connection needs for the transition to `state` (RTR or RTS), and the bits of
 * enum rnic_qp_attribute that say which members those are; the members of the other transition are
 * told as well. The GID index of the path is the caller's to look up. -EINVAL: not known yet, or no
 * such transition.
 */
int cm_qp_attributes(const struct cm_connection *connection, enum rnic_qp_state state,
		     struct rnic_qp_attributes *attributes, uint32_t *mask);

/* --- looking at it -------------------------------------------------------------------------- */

/* How far a connection is, as its holder's program sees it. */
enum cm_phase {
	CM_PHASE_CONNECTING, /* active: the peer has not answered */
	CM_PHASE_ANSWERED,   /* active: the peer agreed (CONNECT_RESPONSE) */
	CM_PHASE_REQUESTED,  /* passive: came with CONNECT_REQUEST */
	CM_PHASE_ACCEPTED,   /* passive: the holder agreed */
	CM_PHASE_CONNECTED,  /* the holder said cm_establish(), or was told ESTABLISHED */
	CM_PHASE_CLOSED,     /* rejected, unreachable or disconnected */
	CM_PHASE_COUNT,
};

/* A cm_sink callback that asks may hear the phase before its event. */
enum cm_phase cm_connection_phase(const struct cm_connection *connection);

struct cm_connection_info {
	struct cm_address local;
	struct cm_address peer;
	struct cm_path path;
	uint16_t port_space;
	uint8_t qp_type;
	bool is_active;	   /* we asked */
	bool is_abandoned; /* its holder has destroyed it */
	bool is_established;
	uint32_t qpn;
	uint32_t peer_qpn;
	uint32_t comm_id;
	uint32_t peer_comm_id;
	const char *state; /* "req-sent", for people */
};

void cm_describe(const struct cm_connection *connection, struct cm_connection_info *info);

/* What it waits for now, as the end of a sentence; empty when for nothing. */
void cm_waiting_for(const struct cm_connection *connection, char *text, uint32_t text_bytes);

/* What the status of CM_EVENT_REJECTED means, as a sentence with the number in it. */
void cm_reject_text(int reason, bool is_datagram, char *text, uint32_t text_bytes);

/* Walks connections, and bindings, in the order they were made: NULL begins, NULL is the end. */
const struct cm_connection *cm_next_connection(const struct cm *cm,
					       const struct cm_connection *connection);
const struct cm_binding *cm_next_binding(const struct cm *cm, const struct cm_binding *binding);

struct cm_binding_info {
	struct cm_address address;
	uint16_t port_space;
	bool is_listening;
	uint32_t backlog;
	uint32_t pending_count; /* requests neither accepted nor rejected */
};

void cm_describe_binding(const struct cm_binding *binding, struct cm_binding_info *info);

enum cm_counter {
#define COUNTER(identifier, name, help) CM_COUNTER_##identifier,
#include "cm/cm_counters.def"
#undef COUNTER
	CM_COUNTER_COUNT,
};

uint64_t cm_counter(const struct cm *cm, enum cm_counter counter);
const char *cm_counter_name(enum cm_counter counter);

#endif
