/* SPDX-License-Identifier: MIT */
/*
 * A user of the peer's host who has no rnicd: binds a UDP port in every way that the kernel offers
 * without a privilege, and names the device's address as the source of packets.
 */
#ifndef TESTS_HOSTILE_FORGED_SOURCE_H
#define TESTS_HOSTILE_FORGED_SOURCE_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The test goes on in a network namespace of its own with one IPv6 address, where nobody else has
 * ports. False, with the reason in a line: this process may not.
 */
#define FORGED_IPV6_ADDRESS "fd77::1"
bool forged_source_leave_the_network(void);

/* The ways to bind: 0 to forged_source_ways(); the first one is at a loopback address. */
uint32_t forged_source_ways(void);

/*
 * As the user nobody: binds `port` for packets of the family of `gid`. Returns the socket, or the
 * negative errno of bind(2). Other failures end the test.
 */
int forged_source_open(uint32_t way, uint16_t port, const struct rnic_gid *gid);

/* Sends a datagram to port 4791 of `gid`, from `gid` as the source. */
void forged_source_send(int fd, const struct rnic_gid *gid, const uint8_t *bytes, size_t length);

#endif
