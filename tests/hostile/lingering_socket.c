/* SPDX-License-Identifier: MIT */
#include "tests/hostile/lingering_socket.h"
#include "tests/unit/unit_test.h"

#include <netinet/in.h>
#include <sys/socket.h>

int make_lingering_socket(int *peer_fd)
{
	static const uint8_t bytes[1 << 16];
	const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t address_bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*peer_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(*peer_fd, (struct sockaddr *)&address, address_bytes), 0);
	assert_int_equal(listen(*peer_fd, 1), 0);
	assert_int_equal(getsockname(*peer_fd, (struct sockaddr *)&address, &address_bytes), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, address_bytes), 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}
