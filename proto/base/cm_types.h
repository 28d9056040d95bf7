/* SPDX-License-Identifier: MIT */
/*
 * The connection manager's words, shared by the control protocol and the native library: endpoints,
 * port spaces, what two ends tell each other, and what can happen to an identifier. Fixed width and
 * without padding, as these lie in messages.
 */
#ifndef RNIC_PROTO_CM_TYPES_H
#define RNIC_PROTO_CM_TYPES_H

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
 * What two ends tell each other of their queue pairs. In requests the sender's, in events the
 * peer's. For a datagram service (SIDR) only qpn and qkey have a meaning.
 */
struct rnic_cm_parameters {
	uint32_t qpn;
	uint32_t qkey;
	uint32_t starting_psn;	     /* in events; in requests 0: the daemon chooses */
	uint8_t responder_resources; /* READs and atomics that the sender answers at once */
	uint8_t initiator_depth;     /* and that it wants to have under way */
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t has_srq;
	uint8_t qp_type; /* enum rnic_qp_type */
	uint8_t private_data_bytes;
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	uint8_t private_data[RNIC_CM_PRIVATE_DATA_BYTES];
};

enum rnic_cm_option {
	RNIC_CM_OPTION_TOS = 1,
	RNIC_CM_OPTION_REUSE_ADDRESS,
	RNIC_CM_OPTION_ADDRESS_FAMILY_ONLY, /* a wildcard IPv6 listener takes no IPv4 */
	RNIC_CM_OPTION_ACK_TIMEOUT,	    /* the 5-bit code of the QP's timeout */
	RNIC_CM_OPTION_MIN_RNR_TIMER,
};

/* With the numbers of librdmacm's enum rdma_cm_event_type. */
enum rnic_cm_event_type {
	RNIC_CM_ADDR_RESOLVED,
	RNIC_CM_ADDR_ERROR,
	RNIC_CM_ROUTE_RESOLVED,
	RNIC_CM_ROUTE_ERROR,
	RNIC_CM_CONNECT_REQUEST,
	RNIC_CM_CONNECT_RESPONSE,
	RNIC_CM_CONNECT_ERROR,
	RNIC_CM_UNREACHABLE,
	RNIC_CM_REJECTED,
	RNIC_CM_ESTABLISHED,
	RNIC_CM_DISCONNECTED,
	RNIC_CM_DEVICE_REMOVAL,
	RNIC_CM_MULTICAST_JOIN,
	RNIC_CM_MULTICAST_ERROR,
	RNIC_CM_ADDR_CHANGE,
	RNIC_CM_TIMEWAIT_EXIT,
	RNIC_CM_EVENT_COUNT,
};

#endif
