/* SPDX-License-Identifier: MIT */
/*
 * What a control plane does for lanes, as far as tests of ports need it: one SO_REUSEPORT group of
 * sockets at an address, in the order of lanes, with a program that looks at the destination QPN.
 */
#ifndef TESTS_UNIT_LIB_NIC_PORT_UDP_UDP_LANE_FIXTURE_H
#define TESTS_UNIT_LIB_NIC_PORT_UDP_UDP_LANE_FIXTURE_H

#include "lib/nic/port/udp/udp_sockets.h"

#include <stdbool.h>

/* Lane 0 and the first three lanes of device processes. */
#define UDP_LANE_FIXTURE_SOCKETS 4

struct udp_lane_fixture {
	struct rnic_gid gid;
	uint16_t udp_port;
	int fds[UDP_LANE_FIXTURE_SOCKETS]; /* stay open until udp_lane_fixture_close() */
};

/* False, with a line of output, when this machine has no such address. */
bool udp_lane_fixture_open(struct udp_lane_fixture *fixture, const struct rnic_gid *gid,
			   uint16_t udp_port);
void udp_lane_fixture_close(struct udp_lane_fixture *fixture);

/*
 * The sockets of a lane for a port: a duplicate of the group's, and new send sockets. Lane 0 has
 * none of these.
 */
struct udp_lane_sockets udp_lane_fixture_sockets(const struct udp_lane_fixture *fixture,
						 uint8_t lane);

/* The number of the UDP port that a socket is bound to. */
uint16_t udp_lane_fixture_port_of(int fd);

/* Writes a destination QPN into a datagram of fixture_datagram(). */
void udp_lane_fixture_set_qpn(struct datagram *datagram, uint32_t dest_qpn);

#endif
