/* SPDX-License-Identifier: MIT */
/*
 * The sockets of one lane (lane.h) at one GID, which another process opened for a port: all lanes
 * of a host share the UDP port number, and the kernel gives each packet to the receive socket of
 * the packet's lane.
 *
 * The kernel looks at the first packet of a received batch alone, and it makes batches of packets
 * from one source port. So packets to different lanes go from different send sockets: the
 * destination QPN chooses one (rnic_lane_send_socket()), and a queue pair keeps one source port.
 */
#ifndef LIB_NIC_PORT_UDP_UDP_LANE_SOCKETS_H
#define LIB_NIC_PORT_UDP_UDP_LANE_SOCKETS_H

#include "proto/base/lane.h"

/*
 * Open UDP sockets with the options of udp_socket_set_options(), bound to the GID's address, never
 * connected. A send socket of -1 is not there: the receive socket sends then.
 */
struct udp_lane_sockets {
	int receive_fd;
	int send_fds[RNIC_LANE_SEND_SOCKETS];
};

/* Closes the sockets that are there, and makes them -1. */
void udp_lane_sockets_close(struct udp_lane_sockets *sockets);

#endif
