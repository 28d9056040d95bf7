/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of lanes: groups at addresses of this test run, datagrams to lanes. */
#ifndef TESTS_UNIT_DAEMON_CONTROL_LANES_LANE_GROUP_FIXTURE_H
#define TESTS_UNIT_DAEMON_CONTROL_LANES_LANE_GROUP_FIXTURE_H

#include "daemon/control/lanes/lane_group.h"

#include <stdbool.h>
#include <sys/types.h>

/* What the datagrams look like: a BTH and what tells one from the other. */
struct lane_datagram {
	uint8_t bth[12];
	uint32_t number;
	uint8_t rest[48];
};

/*
 * Gives up the rights of root for good: all tests run as an ordinary user, with as many descriptors
 * as the hard limit permits. A cmocka group setup.
 */
int lane_fixture_be_ordinary(void **state);

/* Of the groups of lane_fixture_open(). */
extern struct port_guards lane_fixture_guards;

/* Opens a group of `socket_count` sockets, which must succeed; tells the user of root's rights. */
void lane_fixture_open(struct lane_group *group, const struct rnic_gid *gid, uint16_t udp_port,
		       uint32_t socket_count);

struct lane_datagram lane_fixture_datagram(uint32_t dest_qpn, uint32_t number);

/*
 * Sends `count` datagrams to the group with one UDP_SEGMENT send from `fd`, or with a plain one
 * when there is one datagram. Returns the result of sendmsg(2).
 */
ssize_t lane_fixture_send(int fd, const struct lane_group *group,
			  const struct lane_datagram *datagrams, uint32_t count);

/*
 * Receives one buffer from `fd` without waiting and returns how many datagrams the buffer has, up
 * to `max`; 0: nothing is there.
 */
uint32_t lane_fixture_receive(int fd, struct lane_datagram *into, uint32_t max);

/* Waits up to five seconds until `fd` has something to read. */
bool lane_fixture_wait(int fd);

/* An unbound socket of the group's family. */
int lane_fixture_socket(const struct lane_group *group);

#endif
