/* SPDX-License-Identifier: MIT */
/* Names of hosts, and time. */
#include "lib/apis/dial/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t rnic_dial_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t rnic_dial_deadline_ns(int timeout_ms)
{
	if (timeout_ms < 0)
		return RNIC_DIAL_FOREVER;
	return rnic_dial_now_ns() + (uint64_t)timeout_ms * 1000000;
}

int rnic_dial_poll_timeout_ms(uint64_t deadline_ns)
{
	const uint64_t now_ns = rnic_dial_now_ns();
	uint64_t left_ms;

	if (deadline_ns == RNIC_DIAL_FOREVER)
		return -1;
	if (deadline_ns <= now_ns)
		return 0;
	left_ms = (deadline_ns - now_ns - 1) / 1000000 + 1;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static int dial_address_errno_of_eai(int error)
{
	switch (error) {
	case EAI_SYSTEM:
		return -errno;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EAGAIN;
	default:
		return -ENOENT;
	}
}

/* A thread that is cancelled in the resolver would leave the resolver's locks behind. */
static int dial_address_find(const char *host, uint16_t port, struct addrinfo **found)
{
	const struct addrinfo wanted = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = host == NULL ? AI_PASSIVE : 0,
	};
	char service[8];
	int cancellation, error;

	snprintf(service, sizeof(service), "%u", port);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	error = getaddrinfo(host, service, &wanted, found);
	pthread_setcancelstate(cancellation, NULL);
	return error != 0 ? dial_address_errno_of_eai(error) : 0;
}

/* False: RoCE has no addresses of that family. */
static bool dial_address_try_take(const struct sockaddr *address, uint16_t port,
				  struct rnic_endpoint *endpoint)
{
	*endpoint = (struct rnic_endpoint){.port = port};
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *ipv4 = (const void *)address;

		endpoint->family = 4;
		endpoint->address.bytes[10] = 0xff;
		endpoint->address.bytes[11] = 0xff;
		memcpy(endpoint->address.bytes + 12, &ipv4->sin_addr, 4);
		return true;
	}
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *ipv6 = (const void *)address;

		endpoint->family = IN6_IS_ADDR_V4MAPPED(&ipv6->sin6_addr) ? 4 : 6;
		endpoint->scope_id = ipv6->sin6_scope_id;
		memcpy(endpoint->address.bytes, &ipv6->sin6_addr, 16);
		return true;
	}
	return false;
}

int rnic_dial_resolve(const char *host, uint16_t port, uint32_t max_count,
		      struct rnic_endpoint *endpoints)
{
	struct addrinfo *found;
	uint32_t count = 0;
	int error = dial_address_find(host, port, &found);

	if (error != 0)
		return error;
	for (const struct addrinfo *entry = found; entry != NULL && count < max_count;
	     entry = entry->ai_next)
		if (dial_address_try_take(entry->ai_addr, port, &endpoints[count]))
			count++;
	freeaddrinfo(found);
	return count > 0 ? (int)count : -ENOENT;
}
