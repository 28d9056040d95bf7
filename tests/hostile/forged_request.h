/* SPDX-License-Identifier: MIT */
/* Datagrams for the connection manager that tests forge. */
#ifndef TESTS_HOSTILE_FORGED_REQUEST_H
#define TESTS_HOSTILE_FORGED_REQUEST_H

#include "proto/mad/cm_message.h"
#include "proto/wire/packet.h"

/*
 * Builds the packet of `message` from the BTH to the ICRC, as the general services of a peer send
 * it to `dest_qpn`. Returns the length.
 */
uint32_t forged_request_build(const struct rnic_addresses *addresses, uint32_t dest_qpn,
			      const struct rnic_cm_message *message,
			      uint8_t bytes[RNIC_PACKET_BYTES_MAX]);

#endif
