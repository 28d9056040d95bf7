/* SPDX-License-Identifier: MIT */
/*
 * The connection manager's terms, which the control protocol and the native library share:
 * endpoints, port spaces, connection parameters, events. The structs have fixed widths and no
 * padding, because they lie in messages.
 */
#ifndef PROTO_BASE_CM_TYPES_H
#define PROTO_BASE_CM_TYPES_H

#include "verbs_types.h"

#include <stdint.h>

#define RNIC_CM_PRIVATE_DATA_BYTES 256

/* An address and a port. The address is all zero when it is not given: any. */
struct rnic_endpoint {
	struct rnic_gid address; /* IPv4-mapped or IPv6 */
	uint32_t scope_id;	 /* of a link-local address */
	uint16_t port;		 /* host order; 0: none, or any */
	uint8_t family;		 /* 4 or 6; 0: nothing of this is given */
	uint8_t reserved;
};

/* Port spaces, as a service ID has them (IBTA annex A11). With the values of librdmacm. */
enum rnic_port_space {
	RNIC_PORT_SPACE_IPOIB = 0x0002,
	RNIC_PORT_SPACE_TCP = 0x0106,
	RNIC_PORT_SPACE_UDP = 0x0111,
	RNIC_PORT_SPACE_IB = 0x013f,
};

/*
 * What two ends tell each other of their queue pairs: requests have the sender's parameters, events
 * the peer's. Events swap the two depths: they say how many READs and atomics the receiver of the
 * event shall answer, and may have under way. For a datagram service only qpn, qkey and private
 * data have a meaning.
 */
struct rnic_cm_parameters {
	uint32_t qpn;
	uint32_t qkey;		     /* of a datagram service; in requests 0: the usual one */
	uint32_t starting_psn;	     /* in events; the daemon chooses it */
	uint8_t responder_resources; /* READs and atomics answered at the same time */
	uint8_t initiator_depth;     /* and under way at the same time */
	uint8_t flow_control;	     /* 0 or 1: end-to-end credits */
	uint8_t retry_count;	     /* 0..7, of a request; for both ends */
	uint8_t rnr_retry_count;     /* 0..6, or 7 for no end */
	uint8_t has_srq;	     /* 0 or 1 */
	uint8_t qp_type;	     /* in events: enum rnic_qp_type */
	uint8_t private_data_bytes;
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	/* In events all bytes of the message's private data: the sender's, then zeros. */
	uint8_t private_data[RNIC_CM_PRIVATE_DATA_BYTES];
};

enum rnic_cm_option {
	RNIC_CM_OPTION_TOS = 1,	      /* the traffic class of packets, 0..255 */
	RNIC_CM_OPTION_REUSE_ADDRESS, /* 1: others may bind its port too; before rnic_cm_bind() */
	RNIC_CM_OPTION_ADDRESS_FAMILY_ONLY, /* 1: address :: excludes IPv4; before rnic_cm_bind() */
	RNIC_CM_OPTION_ACK_TIMEOUT,	    /* the 5-bit code of the QP's timeout; 0: the usual */
	RNIC_CM_OPTION_MIN_RNR_TIMER,	    /* the 5-bit code; 0: the usual */
};

/*
 * An event of an identifier, and the next step. The numbers are those of librdmacm's enum
 * rdma_cm_event_type; the daemon does not raise events without a comment.
 */
enum rnic_cm_event_type {
	RNIC_CM_ADDR_RESOLVED,	/* resolve the route */
	RNIC_CM_ADDR_ERROR,	/* no route, see the status; another address may be tried */
	RNIC_CM_ROUTE_RESOLVED, /* make the queue pair, connect */
	RNIC_CM_ROUTE_ERROR,
	RNIC_CM_CONNECT_REQUEST,  /* of a listener: accept or reject the new identifier */
	RNIC_CM_CONNECT_RESPONSE, /* the peer accepts: queue pair to RTS, then establish */
	RNIC_CM_CONNECT_ERROR,
	RNIC_CM_UNREACHABLE,  /* no answer: destroy the identifier */
	RNIC_CM_REJECTED,     /* the peer refuses, the status is the reason; likewise */
	RNIC_CM_ESTABLISHED,  /* accepting end: connected; datagram service: known */
	RNIC_CM_DISCONNECTED, /* either end, or the daemon, has ended the connection */
	RNIC_CM_DEVICE_REMOVAL,
	RNIC_CM_MULTICAST_JOIN, /* see rnic_cm_join_mcast() */
	RNIC_CM_MULTICAST_ERROR,
	RNIC_CM_ADDR_CHANGE,
	RNIC_CM_TIMEWAIT_EXIT, /* no old packet is under way any more */
	RNIC_CM_EVENT_COUNT,
};

#endif
