/* SPDX-License-Identifier: MIT */
#include "tools/lab/exchange/exchange_socket.h"

#include "tools/lab/lab_text.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 64, FIRST_PAUSE_MS = 100, NS_PER_MS = 1000000 };

/* These find a peer whose machine is gone, and one that takes nothing, after 10 + 3 * 5 s. */
enum { KEEPALIVE_IDLE_S = 10, KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_COUNT = 3 };

static void exchange_socket_set_option(int fd, int level, int option, int value)
{
	/* Without this option the end of a peer shows later. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

void exchange_socket_init(struct exchange_socket *exchange, int fd)
{
	*exchange = (struct exchange_socket){.fd = fd};
	exchange_socket_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	exchange_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	exchange_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	exchange_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
	exchange_socket_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

void exchange_socket_close(struct exchange_socket *exchange)
{
	close(exchange->fd);
}

/* ---- addresses ---- */

static int find_addresses(const char *host, uint16_t port, int flags, struct addrinfo **addresses)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
	char service[8];
	int error;

	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, addresses);
	if (error == 0)
		return 0;
	lab_say("%s: %s", host ? host : "any address", gai_strerror(error));
	return error == EAI_AGAIN ? -EAGAIN : -ENOENT;
}

static int exchange_socket_listen_at(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -errno;
	exchange_socket_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (address->ai_family == AF_INET6)
		exchange_socket_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static uint16_t bound_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);
	char port[8] = "0";

	if (getsockname(fd, (struct sockaddr *)&address, &bytes) < 0 ||
	    getnameinfo((struct sockaddr *)&address, bytes, NULL, 0, port, sizeof(port),
			NI_NUMERICSERV) != 0)
		return 0;
	return (uint16_t)strtoul(port, NULL, 10);
}

int exchange_listen(const struct lab_options *options, int *fd)
{
	/* "::" takes IPv4 as well; a host without IPv6 uses the second address. */
	const char *const everywhere[] = {"::", "0.0.0.0"};
	struct addrinfo *addresses;
	int listener = -EADDRNOTAVAIL;

	for (size_t i = 0; i < (options->bind_address ? 1 : 2) && listener < 0; i++) {
		const char *host = options->bind_address ? options->bind_address : everywhere[i];
		int error = find_addresses(host, options->port, AI_PASSIVE, &addresses);

		if (error)
			return error;
		for (struct addrinfo *next = addresses; next && listener < 0; next = next->ai_next)
			listener = exchange_socket_listen_at(next);
		freeaddrinfo(addresses);
	}
	if (listener < 0) {
		lab_say("cannot listen on port %u: %s", options->port, strerror(-listener));
		return listener;
	}
	lab_say("listening on port %u", bound_port(listener));
	*fd = listener;
	return 0;
}

/* ---- connecting ---- */

/* Returns a connected socket. */
static int exchange_socket_connect_to(const struct addrinfo *address, struct lab_watch *watch,
				      uint64_t deadline_ns)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t bytes = sizeof(int);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
		return fd;
	if (errno != EINPROGRESS) {
		error = -errno;
	} else {
		error = lab_wait(watch, fd, POLLOUT, deadline_ns);
		if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0)
			error = -error;
	}
	if (error == 0)
		return fd;
	close(fd);
	return error;
}

/* Tries each address once. */
static int try_all(const struct addrinfo *addresses, struct lab_watch *watch, uint32_t timeout_s)
{
	int fd = -EADDRNOTAVAIL;

	for (; addresses && fd < 0 && fd != -EINTR; addresses = addresses->ai_next)
		fd = exchange_socket_connect_to(addresses, watch, lab_deadline_ns(timeout_s));
	return fd;
}

int exchange_connect(struct exchange_socket *exchange, const struct lab_options *options,
		     struct lab_watch *watch)
{
	uint64_t pause_ns = (uint64_t)FIRST_PAUSE_MS * NS_PER_MS;
	struct addrinfo *addresses;
	int fd, error;

	error = find_addresses(options->server, options->port, 0, &addresses);
	if (error)
		return error;
	fd = try_all(addresses, watch, options->timeout_s);
	for (uint32_t tries = 1; fd < 0 && fd != -EINTR && tries < options->tries; tries++) {
		if (lab_wait(watch, -1, 0, lab_now_ns() + pause_ns) == -EINTR) {
			fd = -EINTR;
			break;
		}
		pause_ns *= 2;
		fd = try_all(addresses, watch, options->timeout_s);
	}
	freeaddrinfo(addresses);
	if (fd < 0) {
		if (fd != -EINTR)
			lab_say("cannot reach %s, port %u: %s (tried %u times)", options->server,
				options->port, strerror(-fd), options->tries);
		return fd;
	}
	exchange_socket_init(exchange, fd);
	return 0;
}

/* ---- messages ---- */

int exchange_send(struct exchange_socket *exchange, struct lab_watch *watch,
		  const struct lab_message *message, uint64_t deadline_ns)
{
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
	size_t size = lab_message_encode(message, bytes), sent = 0;

	while (sent < size) {
		ssize_t count = send(exchange->fd, bytes + sent, size - sent, MSG_NOSIGNAL);
		int error = 0;

		if (count >= 0)
			sent += (size_t)count;
		else if (errno == EAGAIN)
			error = lab_wait(watch, exchange->fd, POLLOUT, deadline_ns);
		else if (errno != EINTR)
			error = -errno;
		if (error)
			return error;
	}
	return 0;
}

void exchange_refuse(struct exchange_socket *exchange, struct lab_watch *watch, const char *reason)
{
	struct lab_message message = {.type = LAB_REFUSAL};

	snprintf(message.reason, sizeof(message.reason), "%s", reason);
	lab_say("refused a client: %s", reason);
	(void)exchange_send(exchange, watch, &message, lab_deadline_ns(1));
}

/* Takes the first message out of the received bytes. As lab_message_decode(). */
static int exchange_socket_take(struct exchange_socket *exchange, struct lab_message *message)
{
	int size = lab_message_decode(exchange->bytes, exchange->filled, message);

	if (size > 0) {
		exchange->filled -= (size_t)size;
		memmove(exchange->bytes, exchange->bytes + size, exchange->filled);
	}
	return size;
}

/* Receives a message of any type. Silent. */
static int receive_any(struct exchange_socket *exchange, struct lab_watch *watch,
		       struct lab_message *message, uint64_t deadline_ns)
{
	int size;

	while ((size = exchange_socket_take(exchange, message)) == 0) {
		int error = lab_wait(watch, exchange->fd, POLLIN, deadline_ns);
		ssize_t count;

		if (error)
			return error;
		count = recv(exchange->fd, exchange->bytes + exchange->filled,
			     sizeof(exchange->bytes) - exchange->filled, 0);
		if (count == 0)
			return -ECONNRESET;
		if (count < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		exchange->filled += count > 0 ? (size_t)count : 0;
	}
	return size < 0 ? size : 0;
}

int exchange_receive(struct exchange_socket *exchange, struct lab_watch *watch,
		     enum lab_message_type type, struct lab_message *message, uint64_t deadline_ns)
{
	int error = receive_any(exchange, watch, message, deadline_ns);

	switch (error) {
	case 0:
		break;
	case -EINTR:
		return error;
	case -EPROTONOSUPPORT:
		lab_say("the peer is an rnic-lab of another version");
		return error;
	case -EBADMSG:
		lab_say("the peer is no rnic-lab");
		return error;
	case -ETIMEDOUT:
		lab_say("the peer does not answer");
		return error;
	default:
		lab_say("the peer is gone: %s", strerror(-error));
		return error;
	}
	if (message->type == type)
		return 0;
	if (message->type == LAB_REFUSAL) {
		lab_say("the server refuses: %s", message->reason);
		return -EACCES;
	}
	lab_say("the peer sent an unexpected message");
	return -EPROTO;
}
