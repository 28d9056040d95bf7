/* SPDX-License-Identifier: MIT */
#include "tools/support/machine_socket.h"

#include "lib/client/admin/admin_link.h"
#include "tools/support/device_address.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MACHINE_SOCKET_SUFFIX  ".sock"
#define MACHINE_SOCKET_BY_HAND "rnicd.sock" /* of rnicd without --socket */
#define MACHINE_SENTENCE_BYTES 512

/* ---- the interface ---- */

union machine_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static bool machine_parse_address(const char *text, union machine_address *address)
{
	memset(address, 0, sizeof(*address));
	address->ipv4.sin_family = AF_INET;
	if (inet_pton(AF_INET, text, &address->ipv4.sin_addr) == 1)
		return true;
	memset(address, 0, sizeof(*address));
	address->ipv6.sin6_family = AF_INET6;
	return inet_pton(AF_INET6, text, &address->ipv6.sin6_addr) == 1;
}

static bool machine_is_address(const struct sockaddr *one, const union machine_address *other)
{
	if (one == NULL || one->sa_family != other->any.sa_family)
		return false;
	if (one->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)one)->sin_addr.s_addr ==
		       other->ipv4.sin_addr.s_addr;
	return memcmp(&((const struct sockaddr_in6 *)(const void *)one)->sin6_addr,
		      &other->ipv6.sin6_addr, sizeof(other->ipv6.sin6_addr)) == 0;
}

/* Leaves `netdev` empty when no interface has the address. */
static void machine_netdev_of(const union machine_address *address, char netdev[IF_NAMESIZE])
{
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return;
	for (const struct ifaddrs *at = list; at != NULL; at = at->ifa_next)
		if (machine_is_address(at->ifa_addr, address))
			snprintf(netdev, IF_NAMESIZE, "%s", at->ifa_name);
	freeifaddrs(list);
}

/*
 * Asks the kernel from which of its addresses it would send to an address that nobody has
 * (RFC 5737, RFC 3849). Connecting a UDP socket sends nothing.
 */
static bool machine_default_source(const char *nobody, union machine_address *source)
{
	union machine_address to;
	socklen_t bytes = sizeof(*source);
	bool is_found;
	int fd;

	if (!machine_parse_address(nobody, &to))
		return false;
	to.ipv4.sin_port = htons(9); /* in the same place for both families */
	fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	is_found =
		connect(fd, &to.any, sizeof(to)) == 0 && getsockname(fd, &source->any, &bytes) == 0;
	close(fd);
	return is_found;
}

/* The interface to look for, or an empty name. */
static void machine_choose_netdev(const struct machine_search *search, char netdev[IF_NAMESIZE])
{
	union machine_address address;

	netdev[0] = '\0';
	if (search->netdev != NULL) {
		snprintf(netdev, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1, search->netdev);
	} else if (search->address != NULL) {
		if (machine_parse_address(search->address, &address))
			machine_netdev_of(&address, netdev);
	} else if (machine_default_source("192.0.2.1", &address) ||
		   machine_default_source("2001:db8::1", &address)) {
		machine_netdev_of(&address, netdev);
	}
}

/* ---- the sockets ---- */

static bool machine_is_socket_name(const char *name)
{
	size_t length = strlen(name), suffix = strlen(MACHINE_SOCKET_SUFFIX);

	return length > suffix && strcmp(name + length - suffix, MACHINE_SOCKET_SUFFIX) == 0 &&
	       length + sizeof(MACHINE_SOCKET_DIRECTORY) < RNIC_SOCKET_PATH_BYTES;
}

static size_t machine_list(char names[MACHINE_SOCKETS_MAX][RNIC_SOCKET_PATH_BYTES])
{
	DIR *directory = opendir(MACHINE_SOCKET_DIRECTORY);
	const struct dirent *entry;
	size_t count = 0;

	if (directory == NULL)
		return 0;
	while (count < MACHINE_SOCKETS_MAX && (entry = readdir(directory)) != NULL)
		if (machine_is_socket_name(entry->d_name))
			snprintf(names[count++], RNIC_SOCKET_PATH_BYTES, "%.*s",
				 RNIC_SOCKET_PATH_BYTES - 1, entry->d_name);
	closedir(directory);
	return count;
}

static int machine_compare(const void *one, const void *other)
{
	return strcmp(one, other);
}

static bool machine_is_of(const char *name, const char *netdev)
{
	size_t length = strlen(netdev);

	return length > 0 && strncmp(name, netdev, length) == 0 &&
	       strcmp(name + length, MACHINE_SOCKET_SUFFIX) == 0;
}

/* Moves the name at `from` to `to`, before it, and those in between back by one. */
static void machine_move(char names[][RNIC_SOCKET_PATH_BYTES], size_t from, size_t to)
{
	char moved[RNIC_SOCKET_PATH_BYTES];

	memcpy(moved, names[from], sizeof(moved));
	memmove(names[to + 1], names[to], (from - to) * sizeof(moved));
	memcpy(names[to], moved, sizeof(moved));
}

size_t machine_socket_order(char names[][RNIC_SOCKET_PATH_BYTES], size_t count, const char *netdev,
			    bool is_named)
{
	size_t first = 0;

	qsort(names, count, sizeof(names[0]), machine_compare);
	for (size_t i = 0; i < count; i++)
		if (machine_is_of(names[i], netdev))
			machine_move(names, i, first++);
	if (!is_named)
		return count;
	for (size_t i = first; i < count; i++)
		if (strcmp(names[i], MACHINE_SOCKET_BY_HAND) == 0)
			machine_move(names, i, first++);
	return first;
}

static __attribute__((format(printf, 2, 3))) void machine_say(const struct machine_search *search,
							      const char *format, ...)
{
	char sentence[MACHINE_SENTENCE_BYTES];
	va_list arguments;

	if (search->say == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	search->say(sentence);
}

/* Whether the device of the daemon at `path` has the address that the user names, if any. */
static bool machine_has_address(const struct machine_search *search, const char *path)
{
	struct rnic_gid address;
	struct admin_link link;
	void *rows = NULL;
	size_t count = 0;
	bool is_there;

	if (search->address == NULL || device_address_parse(search->address, &address) != 0)
		return true; /* who uses the socket refuses what is no address */
	if (admin_link_open(&link, path, search->program) != 0)
		return false;
	is_there = admin_link_show(&link, RNIC_SHOW_DEVICE, sizeof(struct rnic_show_device), &rows,
				   &count) == 0 &&
		   count > 0 && device_address_is_of(rows, &address);
	admin_link_close(&link);
	free(rows);
	return is_there;
}

/*
 * Asks the daemon whether it serves programs of this user. Returns 0, and then `link` is closed; or
 * an error with link->reason.
 */
static int machine_greet(const struct machine_search *search, const char *path,
			 struct admin_link *link)
{
	int error;

	if (!search->is_viewer)
		return admin_link_try_use(link, path, search->program);
	error = admin_link_open(link, path, search->program);
	if (error != 0)
		return error;
	admin_link_close(link);
	if (!link->refuses_programs)
		return 0;
	snprintf(link->reason, sizeof(link->reason), "it refuses programs of user %u",
		 (unsigned)geteuid());
	return -EPERM;
}

/*
 * Whether the daemon at found->path serves this user, on the interface and with the address that
 * the user names.
 */
static bool machine_try(const struct machine_search *search, struct machine_socket *found)
{
	struct admin_link link;
	int error = machine_greet(search, found->path, &link);

	/* A daemon that ends resets the latest connections. The next attempt shows who serves. */
	if (error == -ECONNRESET)
		error = machine_greet(search, found->path, &link);
	if (admin_link_is_absence(error)) {
		machine_say(search, "nobody serves on %s any more", found->path);
		return false;
	}
	if (error != 0) {
		machine_say(search, "the rnicd on %s does not serve you: %s", found->path,
			    link.reason);
		return false;
	}
	snprintf(found->netdev, sizeof(found->netdev), "%.*s", (int)sizeof(found->netdev) - 1,
		 link.device.netdev);
	found->owner = link.owner;
	if (search->netdev != NULL && strcmp(search->netdev, found->netdev) != 0) {
		machine_say(search, "the rnicd on %s uses %s, not %s", found->path, found->netdev,
			    search->netdev);
		return false;
	}
	if (!machine_has_address(search, found->path)) {
		machine_say(search, "the rnicd on %s has another address than %s", found->path,
			    search->address);
		return false;
	}
	return true;
}

int machine_socket_find(const struct machine_search *search, struct machine_socket *found)
{
	static char names[MACHINE_SOCKETS_MAX][RNIC_SOCKET_PATH_BYTES];
	const bool is_named = search->netdev != NULL || search->address != NULL;
	char netdev[IF_NAMESIZE];
	size_t count = machine_list(names);

	if (count == 0 || admin_link_has_daemon(search->own, search->program))
		return -ENOENT;
	machine_choose_netdev(search, netdev);
	count = machine_socket_order(names, count, netdev, is_named);
	for (size_t i = 0; i < count; i++) {
		snprintf(found->path, sizeof(found->path), "%s/%.*s", MACHINE_SOCKET_DIRECTORY,
			 (int)(sizeof(found->path) - sizeof(MACHINE_SOCKET_DIRECTORY)) - 1,
			 names[i]);
		if (strcmp(found->path, search->own) != 0 && machine_try(search, found))
			return 0;
	}
	return -ENOENT;
}
