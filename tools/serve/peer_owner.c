/* SPDX-License-Identifier: MIT */
#include "tools/serve/peer_owner.h"

#include <errno.h>

enum { LINE_BYTES = 256 };

int peer_owner_find(FILE *table, const struct sockaddr_in *peer, uint16_t port, uid_t *uid)
{
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), table)) {
		unsigned address, own_port, far_address, far_port, user;
		/* "0: 0100007F:A3B2 0100007F:1F90 01 TX:RX TR:TM RETRIES UID ..." */
		if (sscanf(line, " %*u: %8x:%4x %8x:%4x %*x %*x:%*x %*x:%*x %*x %u", &address,
			   &own_port, &far_address, &far_port, &user) != 5)
			continue;
		/* Addresses are as in memory, ports as people write them. */
		if (address == peer->sin_addr.s_addr && own_port == ntohs(peer->sin_port) &&
		    far_port == port) {
			*uid = user;
			return 0;
		}
	}
	return -ENOENT;
}
