/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/addressing.h"

#include "lib/nic/port/port_text.h"
#include "proto/base/be.h"
#include "proto/wire/gid.h"
#include "proto/wire/ip_header.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ADDRESSES_MAX  256
#define ROUTE_TEXT_MAX 16384
#define ROUTE_IS_UP    0x0001 /* RTF_UP of linux/route.h */
#define ROUTE_REJECTS  0x0200 /* RTF_REJECT */

#define IPV4_LOOPBACK_NET 127

const char *addressing_choose_netdev(const struct interface_address *addresses, uint32_t count,
				     const char *default_route)
{
	const char *first = NULL, *loopback = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct interface_address *at = &addresses[i];

		if (!at->is_up)
			continue;
		if (strcmp(at->netdev, default_route) == 0)
			return at->netdev;
		if (at->is_loopback && loopback == NULL)
			loopback = at->netdev;
		if (!at->is_loopback && first == NULL)
			first = at->netdev;
	}
	return first != NULL ? first : loopback;
}

static bool is_loopback_net(const struct rnic_gid *gid)
{
	return rnic_gid_is_ipv4(gid) && rnic_gid_ipv4(gid)[0] == IPV4_LOOPBACK_NET;
}

static bool is_named(const struct interface_address *address, const char *netdev)
{
	return netdev == NULL || strcmp(address->netdev, netdev) == 0;
}

const char *addressing_find_netdev(const struct interface_address *addresses, uint32_t count,
				   const char *netdev, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < count; i++)
		if (rnic_gid_equal(&addresses[i].gid, gid) && is_named(&addresses[i], netdev))
			return addresses[i].netdev;
	for (uint32_t i = 0; i < count; i++)
		if (addresses[i].is_loopback && is_loopback_net(&addresses[i].gid) &&
		    is_loopback_net(gid) && is_named(&addresses[i], netdev))
			return addresses[i].netdev;
	return NULL;
}

uint32_t addressing_filter(const struct addressing *addressing, const struct gid_address *addresses,
			   uint32_t count, struct gid_address *out)
{
	const struct rnic_gid *wanted = &addressing->address;

	if (!addressing->has_one_address) {
		memcpy(out, addresses, count * sizeof(addresses[0]));
		return count;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!rnic_gid_equal(&addresses[i].gid, wanted) &&
		    !(is_loopback_net(wanted) && is_loopback_net(&addresses[i].gid)))
			continue;
		out[0] = (struct gid_address){*wanted, addresses[i].is_duplicate};
		return 1;
	}
	return 0;
}

uint32_t addressing_path_mtu(uint32_t netdev_mtu_bytes)
{
	uint32_t around = RNIC_IPV6_HEADER_BYTES + RNIC_UDP_HEADER_BYTES + RNIC_HEADER_BYTES_MAX +
			  RNIC_ICRC_BYTES;

	for (uint32_t path_mtu = RNIC_PAYLOAD_BYTES_MAX; path_mtu >= 256; path_mtu /= 2)
		if (path_mtu + around <= netdev_mtu_bytes)
			return path_mtu;
	return 0;
}

uint64_t addressing_guid_from_mac(const uint8_t mac[6])
{
	const uint8_t guid[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	return rnic_be64_read(guid);
}

uint64_t addressing_guid_from_gid(const struct rnic_gid *gid)
{
	uint64_t folded = rnic_be64_read(gid->bytes) ^ rnic_be64_read(gid->bytes + 8);

	return folded | UINT64_C(0x0200000000000000);
}

/* The kernel writes all numbers with eight digits at most: each fits its variable. */
/* NOLINTBEGIN(cert-err34-c) */

/* Lines of interface, destination, gateway, flags, three counts and the mask, in hexadecimal. */
bool addressing_default_route_ipv4(const char *text, char netdev[IF_NAMESIZE])
{
	for (const char *line = strchr(text, '\n'); line != NULL; line = strchr(line, '\n')) {
		unsigned int dest, flags, mask;
		char name[IF_NAMESIZE];

		line++;
		if (sscanf(line, "%15s %x %*s %x %*s %*s %*s %x", name, &dest, &flags, &mask) ==
			    4 &&
		    dest == 0 && mask == 0 && (flags & ROUTE_IS_UP) != 0 &&
		    (flags & ROUTE_REJECTS) == 0) {
			memcpy(netdev, name, sizeof(name));
			return true;
		}
	}
	return false;
}

/* Lines of destination, its prefix length, five more fields, metric, counts, flags, interface. */
bool addressing_default_route_ipv6(const char *text, char netdev[IF_NAMESIZE])
{
	const char *line = text;

	while (line != NULL && *line != '\0') {
		unsigned int prefix_bits, flags;
		char name[IF_NAMESIZE];

		if (sscanf(line, "%*s %x %*s %*s %*s %*s %*s %*s %x %15s", &prefix_bits, &flags,
			   name) == 3 &&
		    prefix_bits == 0 && (flags & ROUTE_IS_UP) != 0 &&
		    (flags & ROUTE_REJECTS) == 0) {
			memcpy(netdev, name, sizeof(name));
			return true;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return false;
}

/* NOLINTEND(cert-err34-c) */

/* An alias "eth0:1" is an address of eth0. */
static void netdev_copy(char out[IF_NAMESIZE], const char *name)
{
	size_t length = strcspn(name, ":");

	snprintf(out, IF_NAMESIZE, "%.*s", (int)length, name);
}

static bool interface_address_read(struct interface_address *out, const struct ifaddrs *from)
{
	const void *address = from->ifa_addr;

	if (address == NULL)
		return false;
	if (from->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *ipv4 = address;

		out->gid = rnic_gid_from_ipv4((const uint8_t *)&ipv4->sin_addr);
	} else if (from->ifa_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *ipv6 = address;

		out->gid = rnic_gid_from_ipv6(ipv6->sin6_addr.s6_addr);
	} else {
		return false;
	}
	netdev_copy(out->netdev, from->ifa_name);
	out->is_up = (from->ifa_flags & IFF_UP) != 0;
	out->is_loopback = (from->ifa_flags & IFF_LOOPBACK) != 0;
	return true;
}

/* Stores up to ADDRESSES_MAX addresses of this machine. */
static int addresses_list(struct interface_address *out, uint32_t *count,
			  char text[PORT_TEXT_BYTES])
{
	struct ifaddrs *list;
	uint32_t found = 0;

	if (getifaddrs(&list) != 0)
		return port_text_error(text, -errno, "cannot list this machine's addresses: %s",
				       strerror(errno));
	for (const struct ifaddrs *at = list; at != NULL && found < ADDRESSES_MAX;
	     at = at->ifa_next)
		if (interface_address_read(&out[found], at))
			found++;
	freeifaddrs(list);
	*count = found;
	return 0;
}

/* Leaves `text` empty when the file cannot be read: there is no such route then. */
static void route_text_read(const char *path, char text[ROUTE_TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = 0;

	if (fd >= 0) {
		length = read(fd, text, ROUTE_TEXT_MAX - 1);
		close(fd);
	}
	text[length > 0 ? length : 0] = '\0';
}

static void default_route_find(char netdev[IF_NAMESIZE])
{
	char text[ROUTE_TEXT_MAX];

	netdev[0] = '\0';
	route_text_read("/proc/net/route", text);
	if (addressing_default_route_ipv4(text, netdev))
		return;
	route_text_read("/proc/net/ipv6_route", text);
	addressing_default_route_ipv6(text, netdev);
}

/* Reads MTU, MAC and speed of out->netdev; needs the address in `out`. */
static int netdev_read(struct addressing *out, char text[PORT_TEXT_BYTES])
{
	static const uint8_t no_mac[6];
	struct ethtool_cmd link = {.cmd = ETHTOOL_GSET};
	struct ifreq request = {0};
	uint32_t speed_mbps = 0;
	int fd, result = 0;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return port_text_error(text, -errno, "cannot open a socket: %s", strerror(errno));
	memcpy(request.ifr_name, out->netdev, IF_NAMESIZE);
	if (ioctl(fd, SIOCGIFMTU, &request) != 0) {
		result = port_text_error(text, -errno, "cannot read the MTU of %s: %s", out->netdev,
					 strerror(errno));
		goto close_fd;
	}
	out->netdev_mtu_bytes = (uint32_t)request.ifr_mtu;
	/* Devices with one address each may share an interface, and so its MAC. */
	if (!out->has_one_address && ioctl(fd, SIOCGIFHWADDR, &request) == 0 &&
	    memcmp(request.ifr_hwaddr.sa_data, no_mac, sizeof(no_mac)) != 0)
		out->node_guid =
			addressing_guid_from_mac((const uint8_t *)request.ifr_hwaddr.sa_data);
	else
		out->node_guid = addressing_guid_from_gid(&out->address);
	request.ifr_data = (char *)&link;
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		speed_mbps = (uint32_t)link.speed_hi << 16 | link.speed;
	if (speed_mbps != (uint32_t)SPEED_UNKNOWN)
		out->speed_mbps = speed_mbps;

close_fd:
	close(fd);
	return result;
}

static bool address_parse(struct rnic_gid *out, const char *address)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, address, bytes) == 1)
		*out = rnic_gid_from_ipv4(bytes);
	else if (inet_pton(AF_INET6, address, bytes) == 1)
		*out = rnic_gid_from_ipv6(bytes);
	else
		return false;
	return true;
}

/* --address: sets out->netdev and the only address. */
static int choose_by_address(struct addressing *out, const struct interface_address *addresses,
			     uint32_t count, const char *netdev, const char *address,
			     char text[PORT_TEXT_BYTES])
{
	const char *found;

	if (!address_parse(&out->address, address))
		return port_text_error(
			text, -EINVAL, "\"%s\" is not an IPv4 or IPv6 address%s", address,
			if_nametoindex(address) != 0 ? "; the option for an interface is --netdev"
						     : "");
	found = addressing_find_netdev(addresses, count, netdev, &out->address);
	if (found == NULL && netdev != NULL)
		return port_text_error(text, -EADDRNOTAVAIL, "%s is not an address of %s", address,
				       netdev);
	if (found == NULL)
		return port_text_error(text, -EADDRNOTAVAIL, "%s is not an address of this machine",
				       address);
	memcpy(out->netdev, found, IF_NAMESIZE);
	out->has_one_address = true;
	return 0;
}

static bool find_first(const struct interface_address *addresses, uint32_t count,
		       const char *netdev, struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(addresses[i].netdev, netdev) != 0)
			continue;
		*gid = addresses[i].gid;
		return true;
	}
	return false;
}

/* --netdev, or neither: sets out->netdev and its first address. */
static int choose_by_netdev(struct addressing *out, const struct interface_address *addresses,
			    uint32_t count, const char *netdev, char text[PORT_TEXT_BYTES])
{
	char default_route[IF_NAMESIZE];

	if (netdev == NULL) {
		default_route_find(default_route);
		netdev = addressing_choose_netdev(addresses, count, default_route);
	}
	if (netdev == NULL)
		return port_text_error(text, -EADDRNOTAVAIL,
				       "no network interface of this machine is up");
	snprintf(out->netdev, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1, netdev);
	if (!find_first(addresses, count, netdev, &out->address))
		return port_text_error(text, -EADDRNOTAVAIL, "interface %s has no IP address",
				       netdev);
	return 0;
}

static bool is_netdev_up(const struct interface_address *addresses, uint32_t count,
			 const char *netdev)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(addresses[i].netdev, netdev) == 0)
			return addresses[i].is_up;
	return false;
}

int addressing_resolve(struct addressing *out, const char *netdev, const char *address,
		       char text[PORT_TEXT_BYTES])
{
	struct interface_address addresses[ADDRESSES_MAX];
	struct addressing found = {0};
	uint32_t count = 0;
	int result;

	if (netdev != NULL && if_nametoindex(netdev) == 0)
		return port_text_error(text, -ENODEV, "there is no network interface %s%s", netdev,
				       address_parse(&found.address, netdev)
					       ? "; the option for an address is --address"
					       : "");
	result = addresses_list(addresses, &count, text);
	if (result < 0)
		return result;
	result = address != NULL
			 ? choose_by_address(&found, addresses, count, netdev, address, text)
			 : choose_by_netdev(&found, addresses, count, netdev, text);
	if (result < 0)
		return result;
	if (!is_netdev_up(addresses, count, found.netdev))
		return port_text_error(text, -ENETDOWN, "interface %s is down", found.netdev);
	result = netdev_read(&found, text);
	if (result < 0)
		return result;
	found.netdev_index = if_nametoindex(found.netdev);
	found.path_mtu_bytes = addressing_path_mtu(found.netdev_mtu_bytes);
	if (found.path_mtu_bytes == 0)
		return port_text_error(text, -EMSGSIZE,
				       "the MTU of %s, %u, is too small for RoCEv2 packets",
				       found.netdev, found.netdev_mtu_bytes);
	*out = found;
	return 0;
}
