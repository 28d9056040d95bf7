/* SPDX-License-Identifier: MIT */
/*
 * Channels and identifiers of the connection manager, as a client owns them: between the control
 * requests of a client (ctl_cm*.c) and the connections of the device (cm/cm.h).
 *
 * What happens to an identifier is kept as a whole event until the client fetches it. Of what a
 * client can ask for again and again only so many wait for one identifier, and for one client; the
 * rest is bounded by what the protocol can do to a connection, and requests by the quota of
 * identifiers, as each makes one, and by the listener's backlog.
 *
 * Invariant: an event waits in the channel of its identifier, and is dropped with it. A connection
 * request that is dropped takes the identifier that it made with it, and so the other way round.
 */
#ifndef DAEMON_CM_IDS_CM_IDENTIFIER_H
#define DAEMON_CM_IDS_CM_IDENTIFIER_H

#include "base/list.h"
#include "cm/cm.h"
#include "ctl/ctl_cm.h"
#include "common/event_pipe.h"

#include <stdbool.h>
#include <stdint.h>

struct cm_waiting_event;
struct client;

/*
 * As the application sees it. An identifier keeps those up to LISTENING itself; the others are the
 * phase of its connection. Which requests a state allows is a table in cm_identifier.c.
 */
enum cm_id_state {
	CM_ID_IDLE,
	CM_ID_BOUND,
	CM_ID_ADDRESS_RESOLVED,
	CM_ID_ROUTE_RESOLVED,
	CM_ID_LISTENING,
	CM_ID_CONNECTING, /* asked the peer */
	CM_ID_ANSWERED,	  /* the peer agreed: CONNECT_RESPONSE */
	CM_ID_REQUESTED,  /* came with CONNECT_REQUEST */
	CM_ID_ACCEPTED,
	CM_ID_CONNECTED,
	CM_ID_CLOSED, /* refused, unreachable or disconnected */
	CM_ID_STATE_COUNT,
};

struct session_cm_channel {
	struct event_pipe pipe;
	struct event_source source;
	bool is_signaled;    /* a record was written that CM_GET_EVENT has not taken up */
	struct list waiting; /* struct cm_waiting_event.channel_node, oldest first */
	struct rnic_handle handle;
	uint32_t references; /* identifiers */
};

struct session_cm_id {
	struct client *client;
	struct session_cm_channel *channel;
	struct rnic_handle handle;
	uint16_t port_space; /* enum rnic_port_space */
	uint8_t qp_type;     /* enum rnic_qp_type */
	uint8_t setup;	     /* enum cm_id_state, IDLE to LISTENING: while it has no connection */
	struct cm_binding *binding;
	struct cm_connection *connection;
	struct cm_address local;
	struct cm_address peer;
	bool has_local; /* `local` is an address of the device, not any */
	bool has_peer;
	bool may_reuse;
	bool is_ipv6_only;
	uint8_t traffic_class;
	uint8_t ack_timeout; /* 0: what the connection manager chooses */
	uint8_t min_rnr_timer;
	uint8_t failure; /* enum rnic_cm_event_type: that told of the last failure; 0: of none */
	int failure_status;
	struct cm_qp_parameters asked; /* of REQUESTED: what the peer said of its queue pair */
	uint32_t starting_psn; /* the peer's first; the QP may expect it before the peer knows */
	struct list events;    /* struct cm_waiting_event.id_node */
	uint32_t event_count;
	struct cm_waiting_event *request; /* that made it, until that is fetched; else NULL */
	struct list groups;		  /* struct cm_joined_group.node */
	uint32_t group_count;
};

#define CM_UDP_QKEY UINT32_C(0x01234567) /* of the port spaces UDP and IPOIB */

/* What the device's connection manager is to be made with; the context is a struct client_set. */
extern const struct cm_sink cm_identifier_sink;

/*
 * Makes an identifier in the IDLE state, against the client's quota. -ENOSPC, -ENOMEM.
 */
int cm_identifier_create(struct client *client, struct session_cm_channel *channel,
			 uint16_t port_space, uint8_t qp_type, struct session_cm_id **id);

/* Drops the oldest event that nobody fetched, with the identifier that it made; false: there is
 * none.
 */
bool cm_identifier_drop_event(struct session_cm_id *id);

/* Ends connection, listener and memberships, drops its events, and frees it. */
void cm_identifier_free(struct session_cm_id *id);

/* Notes what cm_identifier_last_error() says as a trouble that has just happened. */
void cm_identifier_note_trouble(const struct session_cm_id *id);

/* Whether an identifier of the client has its peer at `dest`. */
bool cm_identifier_any_to(const struct client *client, const struct rnic_gid *dest);

/* Ends a channel without identifiers (asserted). */
void cm_channel_free(struct client *client, struct session_cm_channel *channel);

/* Whether `operation` (enum rnic_ctl_operation) may be asked of the identifier now. */
bool cm_identifier_allows(const struct session_cm_id *id, uint32_t operation);

enum cm_id_state cm_identifier_state(const struct session_cm_id *id);

/* "addr resolved", for refusals and listings. */
const char *cm_identifier_state_name(const struct session_cm_id *id);

/* Whether something may be begun that ends with an event; -ENOSPC: fetch some first. */
int cm_identifier_check_room(const struct session_cm_id *id);

/*
 * Lets the client know of an event that did not come from a connection. `group` is NULL but for
 * those of multicast. A client for which no memory is left is broken: it would wait in vain.
 */
void cm_identifier_report(struct session_cm_id *id, enum rnic_cm_event_type type, int status,
			  const struct cm_address *group);

/*
 * Takes the oldest event of the channel. -EAGAIN: nothing waits.
 */
int cm_channel_fetch(struct session_cm_channel *channel, struct rnic_ctl_cm_event_reply *event);

/* The client has taken the record of what waited without fetching it: writes another one when
 * anything still waits. */
void cm_channel_raise(struct session_cm_channel *channel);

/*
 * The identifier, what waits of it, and those that its unfetched requests made go to another
 * channel of the same client.
 */
void cm_identifier_migrate(struct session_cm_id *id, struct session_cm_channel *channel);

/* What went wrong last, and what it waits for now: sentences, or nothing. */
void cm_identifier_last_error(const struct session_cm_id *id, char *text, uint32_t text_bytes);
void cm_identifier_waiting_for(const struct session_cm_id *id, char *text, uint32_t text_bytes);

/* Where the identifier is, for a reply. */
void cm_identifier_describe(const struct session_cm_id *id,
			    struct rnic_ctl_cm_endpoints_reply *reply);

/* The path from `source` to `dest` as this host's queue pairs and the peer are to use it. */
void cm_identifier_path(const struct session_cm_id *id, struct cm_path *path);

/*
 * A multicast membership of the identifier; what it keeps is for CM_LEAVE_MCAST. -EADDRINUSE: it
 * has it already. -ENOSPC, -ENOMEM. And its end; -EINVAL: there is none.
 */
int cm_identifier_join(struct session_cm_id *id, const struct cm_address *group);
int cm_identifier_leave(struct session_cm_id *id, const struct cm_address *group);

#endif
