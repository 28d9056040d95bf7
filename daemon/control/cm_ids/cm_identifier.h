/* SPDX-License-Identifier: MIT */
/*
 * The channels and identifiers of a client, between the client's control requests (ctl_cm*.c) and
 * the device's connections (cm.h).
 *
 * Each event of an identifier is kept as a whole until the client takes it. Some events follow
 * requests that the client can repeat without end: their number is bounded for one identifier and
 * for one client. The protocol bounds the other events of a connection. The quota of identifiers
 * and the listener's backlog bound connection requests, as each request makes an identifier.
 *
 * Invariant: an event waits in the channel of its identifier and is dropped with the identifier. A
 * dropped connection request drops the identifier that it made, and the other way round.
 */
#ifndef DAEMON_CONTROL_CM_IDS_CM_IDENTIFIER_H
#define DAEMON_CONTROL_CM_IDS_CM_IDENTIFIER_H

#include "daemon/control/cm/cm.h"
#include "daemon/control/cm_ids/cm_channel.h"
#include "daemon/control/network/neighbour_queries.h"
#include "lib/nic/base/list.h"
#include "proto/base/causes.h"
#include "proto/ctl/ctl_cm.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct client_set;

/*
 * The state of an identifier, as the application sees it. The identifier keeps the states up to
 * LISTENING itself; the other states are the phase of its connection. A table in
 * cm_identifier_state.c says which requests a state allows.
 */
enum cm_id_state {
	CM_ID_IDLE,
	CM_ID_BOUND,
	CM_ID_ADDRESS_RESOLVING, /* waits for the neighbour on the way to the peer */
	CM_ID_ADDRESS_RESOLVED,
	CM_ID_ROUTE_RESOLVED,
	CM_ID_LISTENING,
	CM_ID_CONNECTING, /* a request went to the peer */
	CM_ID_ANSWERED,	  /* the peer accepted: CONNECT_RESPONSE */
	CM_ID_REQUESTED,  /* a CONNECT_REQUEST made it */
	CM_ID_ACCEPTED,
	CM_ID_CONNECTED,
	CM_ID_CLOSED, /* refused, unreachable or disconnected */
	CM_ID_STATE_COUNT,
};

struct client_cm_id {
	struct client *client;
	struct client_cm_channel *channel;
	struct rnic_handle handle;
	uint16_t port_space; /* enum rnic_port_space */
	uint8_t qp_type;     /* enum rnic_qp_type */
	uint8_t setup; /* enum cm_id_state, IDLE to LISTENING: the state without a connection */
	struct cm_binding *binding;
	bool has_port; /* `binding` has an ephemeral port, which counts for the user */
	struct cm_connection *connection;
	struct cm_address local;
	struct cm_address peer;
	struct neighbour_query query; /* in ADDRESS_RESOLVING */
	bool has_local;		      /* `local` is an address of the device, not a wildcard */
	bool has_peer;
	bool may_reuse;
	bool is_ipv6_only;
	uint8_t traffic_class;
	uint8_t ack_timeout; /* 0: the connection manager's default */
	uint8_t min_rnr_timer;
	uint8_t failure; /* enum rnic_cm_event_type: the event of the last failure; 0: none */
	int failure_status;
	struct cm_qp_parameters asked; /* in REQUESTED: the QP parameters of the peer's request */
	uint32_t moves;		       /* requests that moved it to another channel */
	uint32_t starting_psn; /* the peer's first PSN; the QP may know it before the peer */
	struct list events;    /* struct cm_waiting_event.id_node */
	uint32_t event_count;
	struct cm_waiting_event *request; /* its CONNECT_REQUEST until taken; else NULL */
	struct list groups;		  /* struct cm_joined_group.node */
	uint32_t group_count;
};

#define CM_UDP_QKEY UINT32_C(0x01234567) /* for the port spaces UDP and IPOIB */

/*
 * Makes an identifier in the IDLE state, against the client's quota. -ENOSPC, -ENOMEM.
 */
int cm_identifier_create(struct client *client, struct client_cm_channel *channel,
			 uint16_t port_space, uint8_t qp_type, struct client_cm_id **id);

/*
 * Binds the identifier, which is not bound yet, to `address`; port 0: to an ephemeral port. An
 * ephemeral port counts in the share of the user. Errors: those of cm_bind(); -EDQUOT the user has
 * as many ports as a user may have.
 */
int cm_identifier_bind(struct client_cm_id *id, const struct cm_address *address);

/* The identifier that has the address where cm_identifier_bind() says -EADDRINUSE; or NULL. */
const struct client_cm_id *cm_identifier_in_the_way(struct client_cm_id *id,
						    const struct cm_address *address);

/* Drops the oldest waiting event, and the identifier that the event made. False: no event waits. */
bool cm_identifier_drop_event(struct client_cm_id *id);

/*
 * Ends connection, listener and memberships, drops the identifier's events, and frees the
 * identifier.
 */
void cm_identifier_free(struct client_cm_id *id);

/* Notes what cm_identifier_last_error() says as a trouble that has just happened. */
void cm_identifier_note_trouble(const struct client_cm_id *id);

/* Whether an identifier of the client has its peer at `dest`. */
bool cm_identifier_any_to(const struct client *client, const struct rnic_gid *dest);

/* Ends a channel without identifiers (asserted). */
void cm_channel_free(struct client *client, struct client_cm_channel *channel);

/* Whether the identifier's state allows `operation` (enum rnic_ctl_operation). */
bool cm_identifier_allows(const struct client_cm_id *id, uint32_t operation);

enum cm_id_state cm_identifier_state(const struct client_cm_id *id);

/* The name of the state, for example "addr resolved", for refusals and listings. */
const char *cm_identifier_state_name(const struct client_cm_id *id);

/*
 * Whether an operation that ends with an event may begin. -ENOSPC: the client must take events
 * first.
 */
int cm_identifier_check_room(struct client_cm_id *id);

/*
 * Makes an event about `id` with all known facts, and lets it wait or sends it. The caller owns the
 * event until then. NULL, and the client is broken: no memory.
 */
struct cm_waiting_event *cm_identifier_new_event(struct client_cm_id *id,
						 enum rnic_cm_event_type type, int status);
void cm_identifier_enqueue(struct client_cm_id *id, struct cm_waiting_event *event);

/* Notes that the operation that ends with this event has failed with `status`; 0: it has not. */
void cm_identifier_note_failure(struct client_cm_id *id, enum rnic_cm_event_type type, int status);

/*
 * Tells the client about an event that did not come from a connection. `group` is NULL except for
 * multicast events. A client without memory for the event is broken, because it would wait for
 * ever.
 */
void cm_identifier_report(struct client_cm_id *id, enum rnic_cm_event_type type, int status,
			  const struct cm_address *group);

/*
 * Forgets the events that the client has taken from the channel by its count `taken`, and sends
 * others. cm_identifier_look() asks the socket instead of the client.
 */
void cm_identifier_note_taken(struct client *client, struct client_cm_channel *channel,
			      uint32_t taken);
void cm_identifier_look(struct client *client, struct client_cm_channel *channel);

/*
 * Moves the identifier, its events that were not taken, and the identifiers of its requests that
 * were not taken to another channel of the same client.
 */
void cm_identifier_migrate(struct client_cm_id *id, struct client_cm_channel *channel);

/* The cause of the last failure, which there is. */
enum rnic_cause cm_identifier_cause(const struct client_cm_id *id);

/* The last failure, and what the identifier waits for now: sentences, or empty. */
void cm_identifier_last_error(const struct client_cm_id *id, char *text, uint32_t text_bytes);
void cm_identifier_waiting_for(const struct client_cm_id *id, char *text, uint32_t text_bytes);

/* Writes the identifier's addresses and path to a reply. */
void cm_identifier_describe(const struct client_cm_id *id,
			    struct rnic_ctl_cm_endpoints_reply *reply);

/* The path as a queue pair of the client takes it. */
struct rnic_path cm_identifier_verbs_path(const struct client_set *set, const struct cm_path *path);

/* Writes the path from the local address to the peer, for both ends' queue pairs. */
void cm_identifier_path(const struct client_cm_id *id, struct cm_path *path);

/*
 * Adds or removes a multicast membership of the identifier. Join: -EADDRINUSE the identifier has
 * joined already; -ENOSPC, -ENOMEM. Leave: -EINVAL there is no such membership.
 */
int cm_identifier_join(struct client_cm_id *id, const struct cm_address *group);
int cm_identifier_leave(struct client_cm_id *id, const struct cm_address *group);

#endif
