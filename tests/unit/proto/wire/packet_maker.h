/* SPDX-License-Identifier: MIT */
/* Random but valid packets, the same for the same seed. */
#ifndef TESTS_UNIT_PROTO_WIRE_PACKET_MAKER_H
#define TESTS_UNIT_PROTO_WIRE_PACKET_MAKER_H

#include "proto/wire/packet.h"

/* `state` is any number but 0. */
uint64_t maker_random(uint64_t *state);

struct rnic_addresses maker_addresses(uint64_t *state, bool ipv4);

/*
 * A packet of a defined `opcode` with random fields; its payload, of a length the opcode allows,
 * lies in `payload`, which has RNIC_PAYLOAD_BYTES_MAX bytes.
 */
struct rnic_packet maker_packet(uint64_t *state, uint8_t opcode, bool ipv4, uint8_t *payload);

/* Writes the packet with pad and a zero ICRC to `out`, and returns the length with ICRC. */
size_t maker_write(const struct rnic_packet *packet, uint8_t *out);

#endif
