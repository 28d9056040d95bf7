/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of ports: datagrams to send, addresses of this test run alone, waiting. */
#ifndef TESTS_UNIT_LIB_NIC_PORT_PORT_FIXTURE_H
#define TESTS_UNIT_LIB_NIC_PORT_PORT_FIXTURE_H

#include "lib/nic/port/port.h"

#define FIXTURE_DATAGRAMS_MAX 512

uint64_t fixture_now_ns(void);

/* The GID of an IPv4 or IPv6 address. */
struct rnic_gid fixture_gid(const char *address);

/* 127.x.y.`host`, x and y from the process id. */
struct rnic_gid fixture_own_gid(uint8_t host);

/* A free-standing UDP port number from the process id, for addresses that all test runs share. */
uint16_t fixture_udp_port(void);

/* Datagram `i` of a run: `length` bytes that follow from `i`, in memory of its own per `i`. */
struct datagram fixture_datagram(uint32_t i, const struct rnic_gid *source,
				 const struct rnic_gid *dest, uint32_t length);

/* Whether `received` equals the datagram of fixture_datagram(i, ..., length), ICRC aside. */
bool fixture_is_datagram(const struct datagram *received, uint32_t i, uint32_t length);

/* A copy of received datagrams that outlives the next receive. */
struct fixture_inbox {
	uint32_t count;
	struct datagram datagrams[FIXTURE_DATAGRAMS_MAX];
	uint8_t bytes[FIXTURE_DATAGRAMS_MAX][RNIC_PACKET_BYTES_MAX];
};

/*
 * Receives, at most `max` at a time, until `inbox` holds `count` datagrams or nothing came for five
 * seconds; waits on the port's descriptor and deadline only, as a device does.
 */
void fixture_receive(struct port *port, struct fixture_inbox *inbox, uint32_t count, uint32_t max);

/* Transmits all; fails the test when the port stops taking. */
void fixture_transmit(struct port *port, struct datagram *datagrams, uint32_t count);

/* Whether the port asks to be called now, by its descriptor or its deadline. */
bool fixture_is_due(struct port *port, int timeout_ms);

#endif
