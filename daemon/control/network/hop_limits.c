/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/hop_limits.h"

#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOP_LIMIT_DEFAULT 64
#define NUMBER_TEXT_BYTES 16

uint8_t hop_limit_read(int family, const char *netdev)
{
	char path[sizeof("/proc/sys/net/ipv6/conf//hop_limit") + IF_NAMESIZE];
	char text[NUMBER_TEXT_BYTES] = "";
	unsigned long limit;
	ssize_t length;
	int fd;

	if (family == AF_INET6)
		snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/hop_limit", netdev);
	else
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/ip_default_ttl");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return HOP_LIMIT_DEFAULT;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	limit = length > 0 ? strtoul(text, NULL, 10) : 0;
	return limit > 0 && limit <= UINT8_MAX ? (uint8_t)limit : HOP_LIMIT_DEFAULT;
}
