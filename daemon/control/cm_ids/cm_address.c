/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm_ids/cm_address.h"

#include "proto/wire/gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT 9 /* for the socket that asks for a route; the socket sends nothing */

bool cm_address_from_endpoint(const struct rnic_endpoint *endpoint, struct cm_address *address)
{
	const bool is_unset = rnic_gid_is_zero(&endpoint->address);
	const bool is_ipv4 = rnic_gid_is_ipv4(&endpoint->address);

	if (endpoint->family != 4 && endpoint->family != 6)
		return false;
	if (!is_unset && is_ipv4 != (endpoint->family == 4))
		return false;
	*address = (struct cm_address){.gid = endpoint->address, .port = endpoint->port};
	if (is_unset && endpoint->family == 4)
		address->gid = cm_address_any_ipv4();
	return true;
}

struct rnic_endpoint cm_address_endpoint(const struct cm_address *address, bool is_known)
{
	const bool is_ipv4 = rnic_gid_is_ipv4(&address->gid);

	if (!is_known && address->port == 0)
		return (struct rnic_endpoint){0};
	return (struct rnic_endpoint){
		.address = address->gid,
		.port = address->port,
		.family = is_ipv4 ? 4 : 6,
	};
}

struct rnic_gid cm_address_any_ipv4(void)
{
	static const uint8_t zero[4];

	return rnic_gid_from_ipv4(zero);
}

bool cm_address_is_any(const struct cm_address *address)
{
	const struct rnic_gid any_ipv4 = cm_address_any_ipv4();

	return rnic_gid_is_zero(&address->gid) || rnic_gid_equal(&address->gid, &any_ipv4);
}

static bool cm_address_is_own(const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < gids->count; i++)
		if (rnic_gid_equal(&gids->entries[i].gid, gid))
			return true;
	return false;
}

static bool is_loopback(const struct rnic_gid *gid)
{
	static const struct rnic_gid loopback_ipv6 = {.bytes = {[15] = 1}};

	if (rnic_gid_is_ipv4(gid))
		return rnic_gid_ipv4(gid)[0] == 127;
	return rnic_gid_equal(gid, &loopback_ipv6);
}

/* The first address of the same family and scope as `gid`, else of the same family. NULL: none. */
static const struct rnic_gid *first_alike(const struct rnic_ctl_gids_reply *gids,
					  const struct rnic_gid *gid)
{
	const struct rnic_gid *found = NULL;

	for (uint32_t i = 0; i < gids->count; i++) {
		const struct rnic_gid *own = &gids->entries[i].gid;

		if (rnic_gid_is_zero(own) || rnic_gid_is_ipv4(own) != rnic_gid_is_ipv4(gid))
			continue;
		if (rnic_gid_is_link_local(own) == rnic_gid_is_link_local(gid))
			return own;
		if (found == NULL)
			found = own;
	}
	return found;
}

static bool has_loopback(const struct rnic_ctl_gids_reply *gids)
{
	for (uint32_t i = 0; i < gids->count; i++)
		if (is_loopback(&gids->entries[i].gid))
			return true;
	return false;
}

bool cm_address_to_own(const struct rnic_ctl_gids_reply *gids, struct cm_address *address)
{
	if (is_loopback(&address->gid) && !has_loopback(gids)) {
		const struct rnic_gid *own = first_alike(gids, &address->gid);

		if (own != NULL)
			address->gid = *own;
	}
	return cm_address_is_own(gids, &address->gid);
}

/* The source address that the kernel would give a datagram to `peer`. */
static int ask_route(const struct rnic_gid *peer, struct rnic_gid *source)
{
	const bool is_ipv4 = rnic_gid_is_ipv4(peer);
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address = {0};
	socklen_t bytes = is_ipv4 ? sizeof(address.ipv4) : sizeof(address.ipv6);
	int fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result = 0;

	if (fd < 0)
		return -errno;
	if (is_ipv4) {
		address.ipv4.sin_family = AF_INET;
		address.ipv4.sin_port = htons(DISCARD_PORT);
		memcpy(&address.ipv4.sin_addr, rnic_gid_ipv4(peer), 4);
	} else {
		address.ipv6.sin6_family = AF_INET6;
		address.ipv6.sin6_port = htons(DISCARD_PORT);
		memcpy(&address.ipv6.sin6_addr, peer->bytes, 16);
	}
	if (connect(fd, &address.any, bytes) != 0 || getsockname(fd, &address.any, &bytes) != 0)
		result = -errno;
	else if (is_ipv4)
		*source = rnic_gid_from_ipv4((const uint8_t *)&address.ipv4.sin_addr);
	else
		*source = rnic_gid_from_ipv6((const uint8_t *)&address.ipv6.sin6_addr);
	close(fd);
	return result;
}

int cm_address_choose_source(const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *peer,
			     struct rnic_gid *source)
{
	const struct rnic_gid *own = first_alike(gids, peer);
	struct rnic_gid routed;
	int result;

	if (own == NULL)
		return -ENODEV;
	if (cm_address_is_own(gids, peer)) {
		*source = *peer;
		return 0;
	}
	result = ask_route(peer, &routed);
	if (result == 0 && cm_address_is_own(gids, &routed))
		own = &routed;
	/*
	 * A multicast group is reached through the device's interface with any routes. A link-local
	 * address names no interface, so it must be on this one.
	 */
	if (result != 0 && !rnic_gid_is_multicast(peer) && !rnic_gid_is_link_local(peer))
		return result;
	*source = *own;
	return 0;
}
