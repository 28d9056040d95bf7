/* SPDX-License-Identifier: MIT */
/*
 * Control messages of the connection manager: the client asks the daemon what a program of rdma_cm
 * asks the kernel.
 *
 * A session has event channels and identifiers. An identifier stands for a listener, a connection
 * or a datagram service, and reports to one channel. A channel is a socket on which the daemon
 * sends events, one in a message, RNIC_CM_EVENTS_SENT_MAX at most that the client has not taken.
 * The daemon speaks the protocol (daemon/control/cm); the client keeps its queue pair and brings
 * the queue pair into the states that the events, or CM_QP_ATTRIBUTES, describe.
 *
 * The client counts the events that it has taken from a channel, modulo 2^32. The count in a
 * request tells the daemon which events the client has not seen: those of a destroyed identifier
 * are void, those of a moved identifier go to its new channel. The client drops what is void, which
 * it sees by the handle and by `moves`.
 *
 * An identifier, also that of a CONNECT_REQUEST, belongs to the session until the session destroys
 * it. When a session ends, the daemon disconnects or rejects all that is left.
 */
#ifndef PROTO_CTL_CTL_CM_H
#define PROTO_CTL_CTL_CM_H

#include "proto/base/cm_types.h"
#include "proto/ctl/ctl_message.h"

#include <stdint.h>

/* ---- channels and identifiers ---- */

/* The reply's descriptor 0 is the client's end of a SOCK_SEQPACKET pair: struct rnic_ctl_cm_event.
 */
struct rnic_ctl_cm_channel_reply {
	struct rnic_handle channel;
};

/* Asks for the events that wait behind one with `is_last`. */
struct rnic_ctl_cm_send_events {
	struct rnic_handle channel;
	uint32_t taken; /* events that the client has taken from the channel */
	uint32_t reserved;
};

struct rnic_ctl_cm_create_id {
	struct rnic_handle channel;
	uint32_t port_space; /* enum rnic_port_space */
	uint32_t qp_type;    /* enum rnic_qp_type; UD asks for a datagram service */
};

struct rnic_ctl_cm_id_reply {
	struct rnic_handle id;
};

struct rnic_ctl_cm_destroy_id {
	struct rnic_handle id;
	uint32_t taken; /* events that the client has taken from the identifier's channel */
	uint32_t reserved;
};

/* The identifier reports to `channel` from now on; events that were not taken move there too. */
struct rnic_ctl_cm_migrate {
	struct rnic_handle id;
	struct rnic_handle channel;
	uint32_t taken; /* events that the client has taken from the old channel */
	uint32_t reserved;
};

struct rnic_ctl_cm_set_option {
	struct rnic_handle id;
	uint32_t option; /* enum rnic_cm_option */
	uint32_t value;
};

/* ---- addresses ---- */

/* Port 0 asks for a free one. */
struct rnic_ctl_cm_bind {
	struct rnic_handle id;
	struct rnic_endpoint local;
};

/* The reply of CM_BIND, CM_LISTEN and CM_QUERY: the identifier's addresses now. */
struct rnic_ctl_cm_endpoints_reply {
	struct rnic_endpoint local;
	struct rnic_endpoint peer;
	struct rnic_path path; /* is_global 0: no device is determined yet */
	uint32_t path_mtu;     /* 1..5 */
	uint32_t reserved;
};

/* Ends with ADDR_RESOLVED or ADDR_ERROR. */
struct rnic_ctl_cm_resolve_address {
	struct rnic_handle id;
	struct rnic_endpoint source; /* family 0: the daemon chooses */
	struct rnic_endpoint destination;
	uint32_t timeout_ms;
	uint32_t reserved;
};

/* Ends with ROUTE_RESOLVED or ROUTE_ERROR. */
struct rnic_ctl_cm_resolve_route {
	struct rnic_handle id;
	uint32_t timeout_ms;
	uint32_t reserved;
};

/* ---- connections ---- */

struct rnic_ctl_cm_listen {
	struct rnic_handle id;
	uint32_t backlog; /* 0: as many as the daemon grants */
	uint32_t reserved;
};

/* CM_CONNECT, CM_ACCEPT, and CM_REJECT, which takes private data only. */
struct rnic_ctl_cm_connect {
	struct rnic_handle id;
	uint32_t reject_reason; /* CM_REJECT: of the wire (IBTA 1.4, table 108); 0: consumer defined
				 */
	uint32_t ends_by_call;	/* 1: when the peer disconnects, the peer waits for the client */
	struct rnic_cm_parameters parameters;
};

/* The consumer saw an asynchronous event of its queue pair: COMM_EST stands for a lost RTU. */
struct rnic_ctl_cm_notify {
	struct rnic_handle id;
	uint32_t event; /* enum rnic_async_event_type */
	uint32_t reserved;
};

/*
 * The attributes that the client gives the identifier's queue pair on the transition to `state`,
 * and to `next_state` after that. One struct holds both: only the state is part of both
 * transitions.
 */
struct rnic_ctl_cm_qp_attributes {
	struct rnic_handle id;
	uint32_t state;	     /* INIT, RTR or RTS */
	uint32_t next_state; /* RTS when `state` is RTR; or 0: none */
};

struct rnic_ctl_cm_qp_attributes_reply {
	struct rnic_qp_attributes attributes;
	uint32_t mask; /* enum rnic_qp_attribute */
};

/* JOIN ends with MULTICAST_JOIN or MULTICAST_ERROR; the client attaches its queue pair. */
struct rnic_ctl_cm_multicast {
	struct rnic_handle id;
	struct rnic_endpoint group;
	uint32_t is_send_only;
	uint32_t reserved;
};

/* ---- SHOW ---- */

/* An identifier of the connection manager. */
struct rnic_show_cm {
	uint32_t client_id; /* 0: the client is gone, and the daemon still tells the peer */
	uint32_t slot;
	uint32_t port_space;
	uint32_t qp_type;
	struct rnic_gid local;
	struct rnic_gid peer;
	uint32_t local_port;
	uint32_t peer_port;
	uint32_t waiting_events; /* that the client has not taken */
	uint32_t number;	 /* that no other row of this kind has at the same time */
	char state[RNIC_CTL_NAME_BYTES];
	char message_state[RNIC_CTL_NAME_BYTES]; /* "req-sent": of the protocol, empty before it */
	char last_error[RNIC_CTL_TEXT_BYTES];	 /* a sentence, empty when nothing went wrong */
	char waiting_for[RNIC_CTL_TEXT_BYTES];	 /* empty when idle */
};

/* ---- events ---- */

#define RNIC_CM_EVENTS_SENT_MAX 8

/* A message on the socket of a channel. */
struct rnic_ctl_cm_event {
	uint32_t type;		     /* enum rnic_cm_event_type */
	int32_t status;		     /* negative errno; REJECTED: the reason on the wire */
	struct rnic_handle id;	     /* CONNECT_REQUEST: a new one */
	struct rnic_handle listener; /* CONNECT_REQUEST: the listener that got the request */
	struct rnic_endpoint local;
	struct rnic_endpoint peer; /* MULTICAST_*: the group */
	struct rnic_path path;	   /* to the peer or group, as far as the daemon knows */
	uint32_t path_mtu;	   /* 1..5 */
	uint32_t port_space;
	struct rnic_cm_parameters parameters;
	struct rnic_qp_attributes attributes; /* for RTR and RTS, as CM_QP_ATTRIBUTES tells them */
	uint32_t mask;	  /* enum rnic_qp_attribute; 0: the event tells no attributes */
	uint32_t is_last; /* 1: the daemon sends no more until CM_SEND_EVENTS */
	uint32_t moves;	  /* CM_MIGRATEs so far of the identifier (CONNECT_REQUEST: the listener) */
};

#endif
