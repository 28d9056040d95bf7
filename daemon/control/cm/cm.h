/* SPDX-License-Identifier: MIT */
/*
 * The connection manager of a device (IBTA 1.4, chapter 12; IP addressing: annex A11). The manager
 * knows the listeners of all ports, and each connection from its first MAD to the end of its
 * timewait. Like the engine, the manager does no I/O, reads no clock and starts no thread. Its
 * owner passes in the datagrams for QP 1 and the time, and takes datagrams out. The manager owns
 * bindings and connections until their holder destroys them. The manager never touches a QP: the
 * receiver of an event changes the QP (cm_qp_attributes() gives the attributes).
 *
 * One manager belongs to one device, and so to all processes of a host. All calls come from the
 * device's thread. Reliable connections, unreliable connections and the resolution of datagram
 * services (SIDR) are one kind of object with one set of calls, as in librdmacm.
 *
 * Invariant: every connection waits for its holder, or has a timer armed.
 */
#ifndef DAEMON_CONTROL_CM_CM_H
#define DAEMON_CONTROL_CM_CM_H

#include "lib/nic/base/random_source.h"
#include "proto/base/verbs_types.h"
#include "proto/wire/peer_ports.h"

#include <stdbool.h>
#include <stdint.h>

/* The bounds of the connection manager's tables. */
enum cm_limit {
	LIMIT_CM_CONNECTIONS = 65536,
	LIMIT_CM_BINDINGS = 65536,
	LIMIT_CM_EPHEMERAL_PORTS = 28232, /* of each port space */
	LIMIT_CM_REPLIES = 256,		  /* replies without a connection that wait to be sent */
	LIMIT_CM_PENDING_LISTENS = 64,	  /* requests that wait for a listener */
	LIMIT_CM_PEER_LISTENS = 16,	  /* of them, of one peer address */
	LIMIT_CM_UNPROVEN = 1024,	  /* requests of an address to a user, unproven */
	LIMIT_CM_FORGIVEN = 64,	     /* those of them that ended so and count no more, a second */
	LIMIT_CM_IDLE_SHARES = 1024, /* addresses of which ended requests alone count */
};

struct cm;
struct cm_binding;
struct cm_connection;
struct rnic_packet;

/* Codes of 4.096 us * 2^n that suit a network of software RNICs; see struct cm_connect. */
#define CM_DEFAULT_RESPONSE_TIMEOUT 17 /* 0.54 s: for one answer, lost or late */
#define CM_DEFAULT_PACKET_LIFETIME  14 /* 67 ms one way; QPs' ACK timeout is one more */
#define CM_LINUX_PACKET_LIFETIME    16 /* Linux's (CMA_IBOE_PACKET_LIFETIME of cma.c, 6.12) */
#define CM_DEFAULT_MAX_RETRIES	    15
#define CM_DEFAULT_LISTENER_WAIT_NS UINT64_C(100000000) /* see struct cm_config */
#define CM_DEFAULT_BACKLOG	    1024		/* also the maximum of cm_listen() */

/* Private data: bytes for the peer's program in requests and answers. */
#define CM_PRIVATE_BYTES_MAX		  196
#define CM_CONNECT_PRIVATE_BYTES	  56  /* REQ: 92 less the IP addressing header */
#define CM_ACCEPT_PRIVATE_BYTES		  196 /* REP */
#define CM_REJECT_PRIVATE_BYTES		  148 /* REJ */
#define CM_DATAGRAM_CONNECT_PRIVATE_BYTES 180 /* SIDR_REQ: 216 less the IP addressing header */
#define CM_DATAGRAM_ACCEPT_PRIVATE_BYTES  136 /* SIDR_REP */

/*
 * An address of a binding or a connection. An IPv4 address is mapped (gid.h). Wildcard
 * addresses: ::ffff:0.0.0.0 stands for all of IPv4; all zero stands for all of IPv6 and, unless
 * `is_ipv6_only`, for IPv4 too.
 */
struct cm_address {
	struct rnic_gid gid;
	uint16_t port; /* host order */
};

enum cm_event_type {
	/*
	 * A peer asks for a connection to `event->binding`. `event->connection` is new and belongs
	 * to the receiver of the event. The receiver calls cm_set_user() at once, then cm_accept(),
	 * cm_reject() or cm_destroy(). When the sink returns false, the manager forgets the request
	 * without an answer, and the peer's next try may succeed.
	 */
	CM_EVENT_CONNECT_REQUEST,
	/* The peer accepts. Bring the QP to RTS and call cm_establish(), or call cm_reject(). */
	CM_EVENT_CONNECT_RESPONSE,
	/* The peer did not answer; `status` is -ETIMEDOUT. */
	CM_EVENT_UNREACHABLE,
	/*
	 * The peer refuses. `status` is the positive reason (enum rnic_cm_reject_reason). For a
	 * datagram service, `status` is the positive status of the SIDR_REP.
	 */
	CM_EVENT_REJECTED,
	/*
	 * An accepted connection: the peer is ready. A datagram service: the service is resolved;
	 * qpn, qkey and path give its address.
	 */
	CM_EVENT_ESTABLISHED,
	/*
	 * The connection has ended, by either side, or the peer does not know the connection any
	 * more. `status` is -ETIMEDOUT when the peer did not answer cm_disconnect(). A holder that
	 * ends by call (see struct cm_connect) calls cm_disconnect() or cm_destroy(), for which the
	 * peer waits; any other holder need not send anything.
	 */
	CM_EVENT_DISCONNECTED,
	/* No packet of the old connection can be on the network any more. */
	CM_EVENT_TIMEWAIT_EXIT,
	CM_EVENT_COUNT,
};

/* The path to the peer, as a QP's address vector needs it. */
struct cm_path {
	struct rnic_gid source; /* ours */
	struct rnic_gid dest;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: 64 */
	uint8_t service_level;
	uint8_t mtu;		 /* 1..5 for 256..4096 bytes */
	uint8_t rate;		 /* IBTA's code; 0: unknown */
	uint8_t packet_lifetime; /* code; the code of both QPs' ACK timeout is one larger */
};

/*
 * The parameters that one side states for its QP. Depths are the sender's own:
 * `responder_resources` is the number of READs and atomics that the sender serves at once,
 * `initiator_depth` the number that the sender has in flight at once.
 */
struct cm_qp_parameters {
	uint32_t qpn;
	uint32_t psn;  /* the first PSN of the other side (12.7.26); choose a random PSN */
	uint32_t qkey; /* for datagram services */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	bool has_flow_control;
	bool has_srq;
	uint8_t retry_count;	 /* 0..7; in a request */
	uint8_t rnr_retry_count; /* 0..7 */
	/* Enhanced connection establishment: the vendor of the extensions, and the extensions. */
	uint32_t ece_vendor_id; /* 24 bits */
	uint32_t ece_options;
};

/* Valid until the sink returns. Members that a type does not set are zero. */
struct cm_event {
	enum cm_event_type type;
	int status;
	struct cm_connection *connection;
	void *user;		    /* the connection's; for a CONNECT_REQUEST: the binding's */
	struct cm_binding *binding; /* for a CONNECT_REQUEST */
	/*
	 * The peer's QP, for CONNECT_REQUEST, CONNECT_RESPONSE and a datagram service's
	 * ESTABLISHED. The depths are swapped, as in librdmacm: `responder_resources` is the number
	 * that the receiver of the event is to serve.
	 */
	struct cm_qp_parameters peer;
	/* All private data of the message: the sender's bytes, then zeros. */
	const uint8_t *private_data;
	uint32_t private_bytes;
};

/* A message from a UDP port that is not the peer's. */
struct cm_strange_port {
	struct rnic_gid peer;
	uint16_t port;
	uint16_t wanted; /* the port of the connection's first message; 0: that of an rnicd */
	void *user;	 /* the connection's; NULL: no connection has a holder */
};

#define CM_OWNER_NONE UINT32_MAX

/* A message that came for a connection, or was sent. */
struct cm_message_note {
	uint8_t kind; /* enum rnic_cm_kind */
	bool is_sent;
	uint16_t reason;   /* of a REJ, or the status of a SIDR_REP; else 0 */
	uint16_t port;	   /* of the service */
	uint32_t qpn;	   /* ours; 0: none yet */
	uint32_t peer_qpn; /* 0: not known yet */
	void *user;	   /* the connection's; NULL: there is none, or its holder has gone */
	uint32_t owner;	   /* of cm_note_owner(), when the holder has gone; else CM_OWNER_NONE */
};

struct cm_sink {
	/*
	 * cm_receive() and cm_tick() alone call this function. The function must not call cm_*(),
	 * except cm_set_user() and functions that take a const pointer. The result matters for
	 * CM_EVENT_CONNECT_REQUEST only. A connection has no events after cm_destroy().
	 */
	bool (*event)(void *context, const struct cm_event *event);
	/*
	 * cm_receive() dropped a message, because it came from a UDP port that is not the peer's;
	 * of a connection's, only the first one is told. As event(), this function must not call
	 * cm_*(). NULL: the owner does not want to know.
	 */
	void (*strange_port)(void *context, const struct cm_strange_port *strange);
	/*
	 * Have the peer of our RC QP `qpn` asked for a sign of life. cm_peer_answered() follows,
	 * with `comm_id`, or nothing does; the manager asks several times. As event(), this
	 * function must not call cm_*(). NULL: no connection ends because the peer has gone.
	 */
	void (*ask_peer)(void *context, uint32_t qpn, uint32_t comm_id);
	/*
	 * A message for the record: it came for a connection, or was sent. Requests for new
	 * connections are told by event(). As event(), this function must not call cm_*(). NULL:
	 * nobody records.
	 */
	void (*message)(void *context, const struct cm_message_note *note);
};

struct cm_config {
	const struct cm_sink *sink;
	void *sink_context;
	struct random_source random; /* for identifiers, PSNs and hashes */
	uint64_t ca_guid;	     /* the device's, host order */
	uint32_t max_connections;    /* in all states, also without a holder */
	uint32_t max_bindings;
	/*
	 * How long a request for a port without a listener waits for a listener. The manager
	 * refuses the request after that time. A request waits only if the peer waits twice as
	 * long. 0: requests do not wait.
	 */
	uint64_t listener_wait_ns;
	enum rnic_peer_ports peer_ports;
};

/* NULL: out of memory. */
struct cm *cm_create(const struct cm_config *config);

/*
 * The holders must have destroyed all bindings and connections (asserted). The manager sends no
 * further message to peers of connections that were still ending.
 */
void cm_free(struct cm *cm);

/* --- the wire ------------------------------------------------------------------------------- */

/*
 * Takes one datagram for QP 1, with a correct ICRC. The manager counts and drops a faulty datagram.
 */
void cm_receive(struct cm *cm, const struct rnic_packet *packet, uint64_t now_ns);

/*
 * Builds at most one datagram; false when there is none. The payload is valid until the next call
 * of any cm function.
 */
bool cm_transmit(struct cm *cm, struct rnic_packet *out);

/* Whether cm_transmit() has something to build. */
bool cm_has_ready(const struct cm *cm);

/* When cm_tick() is due; UINT64_MAX when never. */
uint64_t cm_next_deadline_ns(const struct cm *cm);

/*
 * Runs the timers that have expired. The owner calls cm_tick() at the deadline at the latest, and
 * earlier as often as it likes.
 */
void cm_tick(struct cm *cm, uint64_t now_ns);

/* The answer of the device to cm_sink.ask_peer(). */
struct cm_peer_answer {
	uint32_t comm_id;
	uint32_t qpn;
	int status; /* 0; -ENOTCONN, -ENOENT: the QP has failed or is gone; else it cannot ask */
	uint64_t received_packets; /* that have come from the peer so far */
};

/* Takes an answer, whenever it comes: one that nobody waits for changes nothing. */
void cm_peer_answered(struct cm *cm, const struct cm_peer_answer *answer, uint64_t now_ns);

/* --- addresses ------------------------------------------------------------------------------ */

struct cm_bind {
	uint16_t port_space;	   /* enum rnic_port_space */
	struct cm_address address; /* port 0: the manager chooses a port */
	bool may_reuse;		   /* bindings that all set this flag may share the address */
	bool is_ipv6_only;
	uint32_t owner; /* all listeners of one have together what a peer's address may have */
	void *user;
};

/*
 * Takes an address for a listener or for the source of a connection. The caller checks that the GID
 * is the device's, and that the user may have a port below 1024.
 *
 * -EADDRINUSE another binding has the address, or has its port at all addresses; -EADDRNOTAVAIL
 * port 0, and no port is free; -EINVAL no such port space; -ENOSPC too many bindings; -ENOMEM.
 */
int cm_bind(struct cm *cm, const struct cm_bind *bind, struct cm_binding **binding);

/* Whether cm_bind() may choose the port, which is one of LIMIT_CM_EPHEMERAL_PORTS. */
bool cm_port_is_ephemeral(uint16_t port);

/* The `user` of the oldest binding for which cm_bind() is -EADDRINUSE; NULL: there is none. */
void *cm_bind_holder(struct cm *cm, const struct cm_bind *bind);

/* The binding's address, with the chosen port. */
const struct cm_address *cm_binding_address(const struct cm_binding *binding);

/*
 * Requests to the binding's address become CM_EVENT_CONNECT_REQUESTs. At most `backlog` of them (0:
 * the default) wait for the holder's answer at any time. The manager forgets further requests;
 * their senders try again. The most specific binding gets a request.
 *
 * -EINVAL the binding listens already; -EADDRINUSE another binding of the same address listens.
 */
int cm_listen(struct cm_binding *binding, uint32_t backlog);

/* The `user` of the binding for which cm_listen() is -EADDRINUSE; NULL: there is none. */
void *cm_listen_holder(const struct cm_binding *binding);

/* The holder keeps the requests of the binding. NULL is allowed. */
void cm_unbind(struct cm *cm, struct cm_binding *binding);

/* --- connections ---------------------------------------------------------------------------- */

struct cm_connect {
	uint16_t port_space;
	uint8_t qp_type;      /* RC, UC, XRC_INITIATOR; UD resolves a datagram service (SIDR) */
	uint16_t source_port; /* the port of the caller's binding */
	uint16_t dest_port;
	struct cm_path path;
	struct cm_qp_parameters qp; /* not used for UD */
	uint8_t response_timeout;   /* code: how long each side may take to answer */
	uint8_t max_retries;	    /* 0..15: repeats of an unanswered message, by each side */
	/*
	 * The peer's DREQ is answered when the holder calls cm_disconnect() or cm_destroy(), as by
	 * Linux for the holders of librdmacm (cm_dreq_handler() and ib_send_cm_drep(), cm.c of
	 * 6.12). false: at once.
	 */
	bool ends_by_call;
	const uint8_t *private_data;
	uint32_t private_bytes;
	uint32_t owner; /* the user who asks: on our own host each has a share of the listeners */
	void *user;
};

/*
 * Sends a REQ or SIDR_REQ, and repeats it until an answer comes or no tries are left. One event
 * follows: CONNECT_RESPONSE (for UD: ESTABLISHED), REJECTED or UNREACHABLE.
 *
 * -EINVAL: an invalid type, address, code or length; -ENOSPC too many connections; -ENOMEM.
 */
int cm_connect(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns,
	       struct cm_connection **connection);

/* The content of the answer. The caller keeps the depths within those of the request. */
struct cm_accept {
	struct cm_qp_parameters qp;
	bool ends_by_call; /* see struct cm_connect */
	const uint8_t *private_data;
	uint32_t private_bytes;
};

/*
 * Accepts a CONNECT_REQUEST. The manager sends a REP and repeats it until the RTU or traffic comes;
 * ESTABLISHED, UNREACHABLE or REJECTED follows. For a datagram service the manager sends a
 * SIDR_REP, and no event follows. -ENOTCONN: the peer has given up, or the holder has answered
 * already. -EINVAL: an invalid length.
 */
int cm_accept(struct cm_connection *connection, const struct cm_accept *accept, uint64_t now_ns);

/*
 * Refuses a CONNECT_REQUEST or CONNECT_RESPONSE. `reason` is RNIC_CM_REJECT_CONSUMER unless the
 * caller knows a better one. For a datagram service, `reason` is the status of the SIDR_REP, 1 to
 * 255. The only call after cm_reject() is cm_destroy(). -ENOTCONN, -EINVAL as cm_accept().
 */
int cm_reject(struct cm_connection *connection, uint16_t reason, const uint8_t *private_data,
	      uint32_t private_bytes, uint64_t now_ns);

/* Sends the RTU after a CONNECT_RESPONSE, and again for every repeated REP. -ENOTCONN. */
int cm_establish(struct cm_connection *connection, uint64_t now_ns);

/*
 * A packet came on the QP of an accepted connection (RNIC_EVENT_COMM_EST). The RTU may be lost, but
 * the peer is ready (IBTA 1.4, 12.9.7). Emits ESTABLISHED at the next cm_tick(), which is due at
 * once; does nothing in any other state.
 */
void cm_note_traffic(struct cm_connection *connection, uint64_t now_ns);

/*
 * Sends a DREQ, and repeats it until the DREP comes or no tries are left. DISCONNECTED and then
 * TIMEWAIT_EXIT follow in both cases. Answers the peer's DREQ, if that waits. 0 also when the
 * connection is ending or has ended. -ENOTCONN: the connection was never established.
 */
int cm_disconnect(struct cm_connection *connection, uint64_t now_ns);

/*
 * The holder forgets the connection. The manager sends the REJ or DREQ at once, and repeats and
 * waits without the holder. NULL is allowed.
 */
void cm_destroy(struct cm_connection *connection, uint64_t now_ns);

/*
 * Notes whose the connection is, for listings after its holder has gone: CM_OWNER_NONE until then.
 * NULL is allowed.
 */
void cm_note_owner(struct cm_connection *connection, uint32_t user);

/* A random first PSN for the peer (cm_qp_parameters.psn): a stranger cannot guess it. */
uint32_t cm_choose_psn(struct cm *cm);

/* Sets `user` of the connection's later events. */
void cm_set_user(struct cm_connection *connection, void *user);

/*
 * The attributes for a transition of the connection's QP to `state` (RTR or RTS), and the mask
 * (enum rnic_qp_attribute) of those that the transition needs. The members of the other transition
 * are set too. The caller looks up the GID index of the path. -EINVAL: the attributes are not known
 * yet, or there is no such transition.
 */
int cm_qp_attributes(const struct cm_connection *connection, enum rnic_qp_state state,
		     struct rnic_qp_attributes *attributes, uint32_t *mask);

/* --- description ---------------------------------------------------------------------------- */

/* The phase of a connection, as its holder's program sees it. */
enum cm_phase {
	CM_PHASE_CONNECTING, /* active: no answer from the peer yet */
	CM_PHASE_ANSWERED,   /* active: the peer agreed (CONNECT_RESPONSE) */
	CM_PHASE_REQUESTED,  /* passive: a CONNECT_REQUEST came */
	CM_PHASE_ACCEPTED,   /* passive: the holder agreed */
	CM_PHASE_CONNECTED,  /* the holder called cm_establish(), or got ESTABLISHED */
	CM_PHASE_CLOSED,     /* rejected, unreachable or disconnected */
	CM_PHASE_COUNT,
};

/* In a cm_sink callback the phase may still be the phase before the event. */
enum cm_phase cm_connection_phase(const struct cm_connection *connection);

struct cm_connection_info {
	struct cm_address local;
	struct cm_address peer;
	struct cm_path path;
	uint16_t port_space;
	uint8_t qp_type;
	bool is_active;	   /* our side sent the request */
	bool is_abandoned; /* the holder has destroyed the connection */
	bool is_established;
	uint32_t qpn;
	uint32_t peer_qpn;
	uint32_t comm_id;
	uint32_t peer_comm_id;
	uint32_t owner;	   /* of cm_note_owner() */
	const char *state; /* "req-sent", for display */
};

void cm_describe(const struct cm_connection *connection, struct cm_connection_info *info);

/* Writes what the connection waits for, as the end of a sentence; empty when there is nothing. */
void cm_waiting_for(const struct cm_connection *connection, char *text, uint32_t text_bytes);

/* Writes the meaning of a CM_EVENT_REJECTED status, as a sentence with the number. */
void cm_reject_text(int reason, bool is_datagram, char *text, uint32_t text_bytes);

/*
 * Walk the connections by slots, so that a listing goes on where it was: the number of slots, which
 * grows, and the connection in one; NULL: there is none, or no such slot.
 */
uint32_t cm_slot_count(const struct cm *cm);
const struct cm_connection *cm_slot_connection(const struct cm *cm, uint32_t slot);

/* Walk the connections and the bindings, oldest first: NULL begins the walk, NULL is the end. */
const struct cm_connection *cm_next_connection(const struct cm *cm,
					       const struct cm_connection *connection);
const struct cm_binding *cm_next_binding(const struct cm *cm, const struct cm_binding *binding);

struct cm_binding_info {
	struct cm_address address;
	uint16_t port_space;
	bool is_listening;
	uint32_t backlog;
	uint32_t pending_count; /* requests without an answer */
};

void cm_describe_binding(const struct cm_binding *binding, struct cm_binding_info *info);

enum cm_counter {
#define COUNTER(identifier, name, help) CM_COUNTER_##identifier,
#include "daemon/control/cm/cm_counters.def"
#undef COUNTER
	CM_COUNTER_COUNT,
};

uint64_t cm_counter(const struct cm *cm, enum cm_counter counter);
const char *cm_counter_name(enum cm_counter counter);

#endif
