/* SPDX-License-Identifier: MIT */
/* Which device has an address, and which one leads to an address. */
#include "lib/dropin/rdmacm/rdma_sources.h"
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUTE_DISCARD_PORT 9 /* for the socket that asks for a route; the socket sends nothing */

union route_address {
	struct sockaddr any;
	struct sockaddr_in6 ipv6;
	struct sockaddr_storage storage;
};

/* Whether the device has the address (NULL: any) on the interface (0: any). */
static bool route_has_gid(const struct rnic_cma_device *device, const struct rnic_gid *gid,
			  uint32_t netdev_index)
{
	struct ibv_gid_entry entry;
	int error = 0;

	for (uint32_t i = 0; error == 0 || error == ENODATA; i++) {
		error = ibv_query_gid_ex(device->verbs, 1, i, &entry, 0);
		if (error == 0 && (netdev_index == 0 || entry.ndev_ifindex == netdev_index) &&
		    (gid == NULL || memcmp(entry.gid.raw, gid->bytes, sizeof(gid->bytes)) == 0))
			return true;
	}
	return false;
}

static struct rnic_cma_source *route_find_gid(struct rnic_cma_channel *channel,
					      const struct rnic_gid *gid, uint32_t netdev_index)
{
	for (uint32_t i = 0; i < channel->source_count; i++)
		if (route_has_gid(channel->sources[i].device, gid, netdev_index))
			return &channel->sources[i];
	return NULL;
}

/* An address with a scope is the one on that interface. */
struct rnic_cma_source *rnic_cma_owner(struct rnic_cma_channel *channel,
				       const struct rnic_endpoint *address)
{
	return route_find_gid(channel, &address->address, address->scope_id);
}

/* The address from which the kernel would send a datagram to the destination. */
static bool route_ask_kernel(const struct rnic_endpoint *destination, union route_address *source)
{
	struct rnic_endpoint at = *destination;
	union route_address to;
	socklen_t bytes = sizeof(*source);
	bool is_known;
	int fd;

	at.port = ROUTE_DISCARD_PORT;
	rnic_cma_sockaddr(&at, &to.any);
	fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	is_known = connect(fd, &to.any, rnic_cma_sockaddr_bytes(&to.any)) == 0 &&
		   getsockname(fd, &source->any, &bytes) == 0;
	close(fd);
	return is_known;
}

/* The number of the interface that has the address; 0: there is none. */
static uint32_t route_interface_of(const struct rnic_endpoint *address)
{
	struct rnic_endpoint other;
	struct ifaddrs *list;
	uint32_t found = 0;

	if (getifaddrs(&list) != 0)
		return 0;
	for (const struct ifaddrs *at = list; at != NULL && found == 0; at = at->ifa_next)
		if (at->ifa_addr != NULL && rnic_cma_endpoint(at->ifa_addr, &other) == 0 &&
		    memcmp(&other.address, &address->address, sizeof(other.address)) == 0)
			found = if_nametoindex(at->ifa_name);
	freeifaddrs(list);
	return found;
}

/*
 * A device that has the destination itself leads there as the kernel's loopback does. Else the
 * device with the address that the route chooses, and else a device on the interface of the route,
 * as where all devices have addresses of loopback.
 */
struct rnic_cma_source *rnic_cma_way_to(struct rnic_cma_channel *channel,
					const struct rnic_endpoint *destination)
{
	struct rnic_cma_source *found = rnic_cma_owner(channel, destination);
	union route_address address;
	struct rnic_endpoint source;
	uint32_t netdev_index;

	if (found != NULL)
		return found;
	if (destination->scope_id != 0)
		return route_find_gid(channel, NULL, destination->scope_id);
	if (!route_ask_kernel(destination, &address) ||
	    rnic_cma_endpoint(&address.any, &source) != 0)
		return NULL;
	found = rnic_cma_owner(channel, &source);
	netdev_index = found == NULL ? route_interface_of(&source) : 0;
	return netdev_index != 0 ? route_find_gid(channel, NULL, netdev_index) : found;
}
