/* SPDX-License-Identifier: MIT */
/*
 * IP addresses and ports in connection management (IBTA 1.4, annex A11): the service identifier is
 * a port space and a port, and the private data of REQ and SIDR_REQ begins with 36 bytes: the
 * addresses of both ends and the source port. The rest of the private data is the program's.
 */
#ifndef PROTO_MAD_IP_CM_H
#define PROTO_MAD_IP_CM_H

#include "proto/base/cm_types.h"

#include <stdbool.h>
#include <stdint.h>

#define RNIC_IP_CM_BYTES 36

struct rnic_ip_cm {
	struct rnic_gid source; /* IPv4 mapped */
	struct rnic_gid dest;
	uint16_t source_port;
};

/*
 * -EPROTO: another version of the header, or neither IPv4 nor IPv6; `out` is untouched then. Of an
 * IPv4 header only the last four bytes of each address count.
 */
int rnic_ip_cm_decode(struct rnic_ip_cm *out, const uint8_t bytes[RNIC_IP_CM_BYTES]);

/* As IPv4 when both addresses are mapped. */
void rnic_ip_cm_encode(const struct rnic_ip_cm *header, uint8_t out[RNIC_IP_CM_BYTES]);

/* Whether `port_space` is one of enum rnic_port_space. */
bool rnic_port_space_exists(uint32_t port_space);

uint64_t rnic_service_id(uint16_t port_space, uint16_t port);

/* False when `service_id` is no port of a port space that exists. */
bool rnic_service_id_split(uint64_t service_id, uint16_t *port_space, uint16_t *port);

#endif
