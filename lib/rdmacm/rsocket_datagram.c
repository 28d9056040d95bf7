/* SPDX-License-Identifier: MIT */
/* Datagram sockets are not served yet. */
#include "rdmacm/rsocket_objects.h"

#include <errno.h>

int rnic_rsocket_create_datagram(int domain, struct rnic_rsocket **created)
{
	(void)domain;
	(void)created;
	return -EPROTONOSUPPORT;
}
