/* SPDX-License-Identifier: MIT */
#include "rpc/client_link.h"

#include "rpc/log_line.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum {
	RESOLVE_MS = 2000,
	REST_MS = 100,	    /* between two searches */
	SEARCH_MS = 5000, /* in vain: give up */
};

static void set_endpoint(const struct sockaddr *address, uint16_t port,
			 struct rnic_endpoint *endpoint)
{
	*endpoint = (struct rnic_endpoint){.port = port};
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)address;

		endpoint->family = 4;
		endpoint->address.bytes[10] = 0xff;
		endpoint->address.bytes[11] = 0xff;
		memcpy(endpoint->address.bytes + 12, &ipv4->sin_addr, 4);
	} else {
		const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;

		endpoint->family = 6;
		endpoint->scope_id = ipv6->sin6_scope_id;
		memcpy(endpoint->address.bytes, &ipv6->sin6_addr, 16);
	}
}

static int resolve(struct client_link *link, const char *host, uint16_t port)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct addrinfo *found, *at;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return -EHOSTUNREACH;
	for (at = found; at != NULL && link->server_count < LINK_ADDRESSES_MAX; at = at->ai_next)
		if (at->ai_family == AF_INET || at->ai_family == AF_INET6)
			set_endpoint(at->ai_addr, port, &link->servers[link->server_count++]);
	freeaddrinfo(found);
	return link->server_count > 0 ? 0 : -EHOSTUNREACH;
}

int client_link_open(struct client_link *link, const struct rnic_rpc_options *options,
		     const char *host, uint16_t port)
{
	int error;

	*link = (struct client_link){.search_ns = RPC_NEVER};
	if (options != NULL)
		link->options = *options;
	error = resolve(link, host, port);
	if (error != 0)
		return error;
	ud_carrier_random(link->identity, sizeof(link->identity));
	link->session_memory = malloc(rpc_session_memory_bytes(&rpc_session_defaults));
	if (link->session_memory == NULL)
		return -ENOMEM;
	error = ud_carrier_open(&link->carrier, link->options.socket_path);
	if (error != 0)
		free(link->session_memory);
	return error;
}

static void reap(struct client_link *link)
{
	struct rpc_outgoing *message;

	while ((message = rpc_session_take_released(&link->session)) != NULL)
		free((struct heap_message *)message);
}

static void end_search(struct client_link *link)
{
	if (link->id != NULL)
		rnic_cm_destroy_id(link->id);
	link->id = NULL;
}

void client_link_drop(struct client_link *link, uint64_t now_ns)
{
	if (link->state == LINK_SESSION) {
		rpc_session_close(&link->session);
		client_link_transmit(link, now_ns);
	}
	end_search(link);
	if (link->ah != NULL)
		rnic_destroy_ah(link->ah);
	link->ah = NULL;
	link->state = LINK_IDLE;
	link->begin_ns = now_ns + REST_MS * MS;
	if (link->search_ns == RPC_NEVER)
		link->search_ns = now_ns;
}

void client_link_close(struct client_link *link)
{
	client_link_drop(link, ud_carrier_now_ns());
	ud_carrier_close(&link->carrier);
	free(link->session_memory);
}

/* What goes wrong on the way is tried again; only the daemon's end is not. */
static int search_failed(struct client_link *link, const char *what, int error, uint64_t now_ns)
{
	if (error == -ENODEV || error == -EIO || error == -ETIMEDOUT)
		return error;
	log_line(&link->options, "%s: %s", what, strerror(-error));
	client_link_drop(link, now_ns);
	return 0;
}

static int begin_search(struct client_link *link, uint64_t now_ns)
{
	const struct rnic_endpoint *server = &link->servers[link->server_next];
	int error = rnic_cm_create_id(link->carrier.cm, RNIC_PORT_SPACE_UDP, RNIC_QP_TYPE_UD, NULL,
				      &link->id);

	link->server_next = (link->server_next + 1) % link->server_count;
	if (link->search_ns == RPC_NEVER)
		link->search_ns = now_ns;
	if (error == 0)
		error = rnic_cm_resolve_address(link->id, NULL, server, RESOLVE_MS);
	link->state = LINK_ADDRESS;
	return error == 0 ? 0 : search_failed(link, "resolving the address", error, now_ns);
}

static int begin_session(struct client_link *link, const struct rnic_cm_event *event,
			 uint64_t now_ns)
{
	struct rpc_session_self self;
	int error = ud_carrier_use_qkey(&link->carrier, event->parameters.qkey);

	if (error == 0)
		error = rnic_create_ah(link->carrier.pd, &event->path, &link->ah);
	end_search(link);
	if (error != 0)
		return search_failed(link, "preparing the way to the server", error, now_ns);
	link->qpn = event->parameters.qpn;
	ud_carrier_random(&self, sizeof(self));
	self.connection |= 1;
	memcpy(self.identity, link->identity, sizeof(self.identity));
	rpc_session_open(&link->session, &rpc_session_defaults, &self, link->session_memory,
			 now_ns);
	link->state = LINK_SESSION;
	return 0;
}

/* The event that each state of the search waits for, and what follows. */
static int handle_event(struct client_link *link, const struct rnic_cm_event *event,
			uint64_t now_ns)
{
	static const struct rnic_cm_parameters nothing;
	int error = 0;

	if (link->state == LINK_ADDRESS && event->type == RNIC_CM_ADDR_RESOLVED) {
		link->state = LINK_ROUTE;
		error = rnic_cm_resolve_route(link->id, RESOLVE_MS);
	} else if (link->state == LINK_ROUTE && event->type == RNIC_CM_ROUTE_RESOLVED) {
		link->state = LINK_SERVICE;
		error = rnic_cm_connect(link->id, &nothing);
	} else if (link->state == LINK_SERVICE && event->type == RNIC_CM_ESTABLISHED) {
		return begin_session(link, event, now_ns);
	} else {
		error = -EHOSTUNREACH;
	}
	return error == 0 ? 0 : search_failed(link, "looking for the server", error, now_ns);
}

static int take_events(struct client_link *link, uint64_t now_ns)
{
	struct rnic_cm_event event;
	int error;

	while ((error = rnic_cm_get_event(link->carrier.cm, &event)) == 0) {
		bool is_ours = event.id == link->id && link->id != NULL;

		rnic_cm_ack_event(&event);
		if (is_ours)
			error = handle_event(link, &event, now_ns);
		if (error != 0)
			return error;
	}
	return error == -EAGAIN || error == -ENOMEM ? 0 : error;
}

static int take_datagrams(struct client_link *link, uint64_t now_ns)
{
	struct ud_datagram datagram;
	struct rpc_packet packet;
	int count;

	while ((count = ud_carrier_receive(&link->carrier, &datagram)) > 0)
		if (link->state == LINK_SESSION && datagram.source_qpn == link->qpn &&
		    rpc_packet_decode(&packet, datagram.bytes, datagram.length) == 0)
			rpc_session_receive(&link->session, &packet, now_ns);
	return count;
}

int client_link_receive(struct client_link *link, bool is_wanted, uint64_t now_ns)
{
	int error = take_events(link, now_ns);

	if (error == 0 && link->carrier.qkey != 0)
		error = take_datagrams(link, now_ns);
	if (error != 0)
		return error;
	if (!is_wanted && link->state != LINK_SESSION)
		link->search_ns = RPC_NEVER;
	if (link->state == LINK_IDLE && is_wanted && now_ns >= link->begin_ns)
		return begin_search(link, now_ns);
	if (link->state == LINK_SESSION) {
		rpc_session_tick(&link->session, now_ns);
		if (client_link_is_open(link))
			link->search_ns = RPC_NEVER;
	}
	return 0;
}

bool client_link_is_open(const struct client_link *link)
{
	return link->state == LINK_SESSION && link->session.state == RPC_SESSION_OPEN;
}

bool client_link_gives_up(struct client_link *link, uint64_t now_ns)
{
	if (link->search_ns == RPC_NEVER || now_ns < link->search_ns + SEARCH_MS * MS)
		return false;
	client_link_drop(link, now_ns);
	link->search_ns = RPC_NEVER;
	return true;
}

int client_link_send(struct client_link *link, const struct rpc_frame *frame)
{
	size_t bytes = rpc_frame_bytes(frame);
	struct heap_message *message = malloc(sizeof(*message) + bytes);
	int error;

	if (message == NULL)
		return -ENOMEM;
	rpc_frame_encode(frame, message->bytes);
	message->outgoing = (struct rpc_outgoing){.bytes = message->bytes,
						  .length = (uint32_t)bytes};
	error = rpc_session_send(&link->session, &message->outgoing);
	if (error != 0)
		free(message);
	return error;
}

void client_link_transmit(struct client_link *link, uint64_t now_ns)
{
	uint8_t *room;
	uint32_t bytes;

	if (link->state != LINK_SESSION)
		return;
	while ((room = ud_carrier_room(&link->carrier)) != NULL &&
	       (bytes = rpc_session_transmit(&link->session, room, now_ns)) > 0)
		if (ud_carrier_send(&link->carrier, link->ah, link->qpn, bytes) != 0)
			break; /* as if it were lost; a daemon's end shows when receiving */
	reap(link);
}

uint64_t client_link_next_deadline_ns(const struct client_link *link)
{
	uint64_t deadline = RPC_NEVER;

	if (link->search_ns != RPC_NEVER)
		deadline = link->search_ns + SEARCH_MS * MS;
	if (link->state == LINK_IDLE && link->search_ns != RPC_NEVER && link->begin_ns < deadline)
		deadline = link->begin_ns;
	if (link->state == LINK_SESSION &&
	    rpc_session_next_deadline_ns(&link->session) < deadline)
		deadline = rpc_session_next_deadline_ns(&link->session);
	return deadline;
}
