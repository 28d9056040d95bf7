/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/udp_lane_sockets.h"

#include <unistd.h>

static void socket_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void udp_lane_sockets_close(struct udp_lane_sockets *sockets)
{
	socket_fd_close(&sockets->receive_fd);
	for (int i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		socket_fd_close(&sockets->send_fds[i]);
}
