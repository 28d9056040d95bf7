/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/port_guards.h"

#include "daemon/control/lanes/port_holder.h"
#include "lib/nic/port/udp/udp_sockets.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LANE_ZERO_ROW (PORT_GUARDS_MAX - 1)

/* The rows of a lane. */
struct guard_rows {
	uint32_t first;
	uint32_t count;
};

static struct guard_rows rows_of(uint8_t lane)
{
	assert(lane == 0 || (lane >= RNIC_LANE_FIRST && lane <= RNIC_LANE_LAST));
	if (lane == 0)
		return (struct guard_rows){LANE_ZERO_ROW, 1};
	return (struct guard_rows){(uint32_t)(lane - RNIC_LANE_FIRST) * RNIC_LANE_SEND_SOCKETS,
				   RNIC_LANE_SEND_SOCKETS};
}

static uint16_t own_port_of(uint32_t row)
{
	return (uint16_t)(RNIC_LANE_SEND_PORT_FIRST + row);
}

/* --- one guard -------------------------------------------------------------------------------- */

/*
 * IPv6 with both families, so that one descriptor is enough; IPv4 on a host that has no other. Of
 * what arrives the guard keeps next to nothing.
 */
static int guard_socket(const struct port_guards *guards, union udp_address *address,
			socklen_t *address_bytes)
{
	const int off = 0, least = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result;

	*address = (union udp_address){.ipv6 = {.sin6_family = AF_INET6}};
	*address_bytes = sizeof(address->ipv6);
	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) {
		close(fd);
		fd = -1;
		errno = EAFNOSUPPORT;
	}
	if (fd < 0 && errno == EAFNOSUPPORT) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		*address = (union udp_address){.ipv4 = {.sin_family = AF_INET}};
		*address_bytes = sizeof(address->ipv4);
	}
	if (fd < 0)
		return -errno;
	result = port_guards_own(guards, fd);
	if (result != 0) {
		close(fd);
		return result;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	return fd;
}

/*
 * Opens a guard at `port`, or at a free one of the kernel's choice (0). The latter is bound alone
 * and shared afterwards: with SO_REUSEPORT the kernel may choose a port that another socket of this
 * user has.
 */
static int guard_open(const struct port_guards *guards, uint16_t port)
{
	union udp_address address;
	socklen_t address_bytes;
	const int on = 1;
	int fd = guard_socket(guards, &address, &address_bytes);
	int result = 0;

	if (fd < 0)
		return fd;
	/* Both families have the port at the same place. */
	address.ipv4.sin_port = htons(port);
	if (port != 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
		result = -errno;
	if (result == 0 && bind(fd, &address.any, address_bytes) != 0)
		result = -errno;
	if (result == 0 && port == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
		result = -errno;
	if (result == 0)
		return fd;
	close(fd);
	return result;
}

static uint16_t guard_port(int fd)
{
	union udp_address address = {0};
	socklen_t address_bytes = sizeof(address);

	getsockname(fd, &address.any, &address_bytes);
	return ntohs(address.ipv4.sin_port);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void row_close(struct port_guards *guards, uint32_t row)
{
	struct port_guard *guard = &guards->guards[row];

	if (guard->fd < 0)
		return;
	close(guard->fd);
	guard->fd = -1;
	guards->guarded_count--;
}

static void row_keep(struct port_guards *guards, uint32_t row, int fd, uint16_t port)
{
	guards->guards[row] = (struct port_guard){.fd = fd < 0 ? -1 : fd, .port = port};
	if (fd >= 0) {
		guards->guarded_count++;
		return;
	}
	guards->open_count++;
	guards->open_error = fd;
}

/* Another program has the row's own port: the row gets a port of the kernel's choice. */
static void row_evade(struct port_guards *guards, uint32_t row)
{
	int fd;

	row_close(guards, row);
	fd = guard_open(guards, 0);
	if (guards->taken_count++ == 0)
		guards->taken_port = own_port_of(row);
	row_keep(guards, row, fd, fd >= 0 ? guard_port(fd) : own_port_of(row));
}

static void row_hold(struct port_guards *guards, uint32_t row)
{
	int fd = guard_open(guards, own_port_of(row));

	guards->has_news = true;
	if (fd == -EADDRINUSE)
		row_evade(guards, row);
	else
		row_keep(guards, row, fd, own_port_of(row));
}

/* Whether the row has a guard at its own port: no other user may have it at any address. */
static bool row_is_at_home(const struct port_guards *guards, uint32_t row)
{
	return guards->guards[row].fd >= 0 && guards->guards[row].port == own_port_of(row);
}

/* A socket of the kernel's list with the own port of a row. */
static void note_socket(void *context, uint16_t port, uid_t uid)
{
	struct port_guards *guards = context;
	const uint32_t row = port - (uint32_t)RNIC_LANE_SEND_PORT_FIRST;

	if (uid == guards->owner || guards->guards[row].port == 0)
		return;
	if (row_is_at_home(guards, row))
		row_evade(guards, row);
	if (!guards->has_taken_by && guards->taken_count > 0 && port == guards->taken_port) {
		guards->has_taken_by = true;
		guards->taken_by = uid;
	}
}

/*
 * Kernels without "udp: Fix wildcard bind conflict check when using hash2" (2026) bind a guard
 * though another user has the port at a single address, if the port has more than ten sockets. The
 * guards keep new sockets out, so what the list then has of other users was there before.
 */
static void find_strangers(struct port_guards *guards)
{
	const struct port_range range = {RNIC_LANE_SEND_PORT_FIRST, PORT_GUARDS_MAX};

	port_holder_list(&range, note_socket, guards);
}

static void hold_rows(struct port_guards *guards, struct guard_rows rows)
{
	for (uint32_t row = rows.first; row < rows.first + rows.count; row++)
		if (guards->guards[row].port == 0)
			row_hold(guards, row);
}

/* --- all rows --------------------------------------------------------------------------------- */

void port_guards_init(struct port_guards *guards, uid_t owner)
{
	*guards = (struct port_guards){.owner = owner};
	for (uint32_t row = 0; row < PORT_GUARDS_MAX; row++)
		guards->guards[row].fd = -1;
}

void port_guards_close(struct port_guards *guards)
{
	for (uint32_t row = 0; row < PORT_GUARDS_MAX; row++)
		row_close(guards, row);
}

void port_guards_hold_all(struct port_guards *guards, uint32_t lane_count)
{
	assert(lane_count <= PORT_GUARDS_LANES);
	hold_rows(guards, rows_of(0));
	hold_rows(guards, (struct guard_rows){0, lane_count * RNIC_LANE_SEND_SOCKETS});
	find_strangers(guards);
}

void port_guards_hold(struct port_guards *guards, uint8_t lane)
{
	const struct guard_rows rows = rows_of(lane);

	if (guards->guards[rows.first].port != 0)
		return;
	hold_rows(guards, rows);
	find_strangers(guards);
}

uint16_t port_guards_port(const struct port_guards *guards, uint8_t lane, uint32_t index)
{
	const struct guard_rows rows = rows_of(lane);

	assert(index < rows.count && guards->guards[rows.first + index].port != 0);
	return guards->guards[rows.first + index].port;
}

int port_guards_own(const struct port_guards *guards, int fd)
{
	if (guards->owner == geteuid())
		return 0;
	return fchown(fd, guards->owner, (gid_t)-1) == 0 ? 0 : -errno;
}

/* --- for people ------------------------------------------------------------------------------- */

bool port_guards_take_news(struct port_guards *guards)
{
	const bool has_news = guards->has_news;

	guards->has_news = false;
	return has_news;
}

void port_guards_text(const struct port_guards *guards, char text[PORT_GUARDS_TEXT_BYTES])
{
	int length = snprintf(text, PORT_GUARDS_TEXT_BYTES, "%u held", guards->guarded_count);

	if (guards->taken_count > 0)
		length += snprintf(text + length, PORT_GUARDS_TEXT_BYTES - (size_t)length,
				   ", %u of them instead of ports of other programs",
				   guards->taken_count);
	if (guards->open_count > 0)
		snprintf(text + length, PORT_GUARDS_TEXT_BYTES - (size_t)length,
			 ", %u open to other users", guards->open_count);
}

bool port_guards_warning(const struct port_guards *guards, char text[PORT_GUARDS_WARNING_BYTES])
{
	char holder[32] = "a program";

	if (guards->has_taken_by)
		snprintf(holder, sizeof(holder), "user %u", (unsigned)guards->taken_by);
	if (guards->taken_count > 0)
		snprintf(text, PORT_GUARDS_WARNING_BYTES,
			 "others have %u of the UDP ports that this device sends from (%s has %u): "
			 "it sends from other ports instead, which peers with --peer-ports rnicd "
			 "refuse",
			 guards->taken_count, holder, guards->taken_port);
	else if (guards->open_count > 0)
		snprintf(text, PORT_GUARDS_WARNING_BYTES,
			 "other users can send from %u of the UDP ports of this device: no socket "
			 "holds them: %s",
			 guards->open_count, strerror(-guards->open_error));
	return guards->taken_count > 0 || guards->open_count > 0;
}
