/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/client/client_link.h"

#include "lib/apis/dial/dial.h"
#include "lib/apis/rpc/log_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum {
	RESOLVE_MS = 2000,
	REST_MS = 100, /* between two searches */
	WANTED_KEEPALIVE_MS = 100,
	SEARCH_MS = 5000, /* unsuccessfully: give up */
	CONNECTIONS = 4,  /* one, and earlier ones that have not ended */
	/*
	 * For a transport that serves one conversation: room for the peer's datagrams, and
	 * acknowledgements.
	 */
	RC_RECEIVES = 256,
	RC_SENDS = 64,
	UD_RECEIVES = 2 * RPC_LARGE_WINDOW_PACKETS,
	UD_SENDS = 128,
};

static int client_link_resolve(struct client_link *link, const char *host, uint16_t port)
{
	int count = rnic_dial_resolve(host, port, LINK_ADDRESSES_MAX, link->servers);

	if (count < 0)
		return count == -ENOENT ? -EHOSTUNREACH : count;
	link->server_count = (uint32_t)count;
	return 0;
}

static int open_transport(struct client_link *link)
{
	if (link->options.transport == RNIC_RPC_RC) {
		link->transport = &link->rc.base;
		return rc_transport_open(&link->rc, &link->device, CONNECTIONS, RC_RECEIVES,
					 RC_SENDS);
	}
	link->transport = &link->ud.base;
	return ud_transport_open(&link->ud, &link->device, UD_RECEIVES, UD_SENDS);
}

int client_link_open(struct client_link *link, const struct rnic_rpc_options *options,
		     const char *host, uint16_t port)
{
	int error;

	*link = (struct client_link){.search_ns = RPC_NEVER};
	if (options != NULL)
		link->options = *options;
	error = client_link_resolve(link, host, port);
	if (error != 0)
		return error;
	transport_random(link->identity, sizeof(link->identity));
	error = transport_device_open(&link->device, link->options.socket_path);
	if (error != 0)
		return error;
	error = open_transport(link);
	if (error != 0) {
		transport_device_close(&link->device);
		return error;
	}
	link->conversation_memory =
		malloc(rpc_conversation_memory_bytes(link->transport->calls->config));
	if (link->conversation_memory == NULL) {
		client_link_close(link);
		return -ENOMEM;
	}
	return 0;
}

static void client_link_reap(struct client_link *link)
{
	struct rpc_outgoing *message;

	while ((message = rpc_conversation_take_released(&link->conversation)) != NULL)
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
	if (link->state == LINK_CONVERSATION) {
		rpc_conversation_close(&link->conversation);
		client_link_transmit(link, now_ns);
	}
	end_search(link);
	client_probe_end(&link->probe);
	if (link->route != NULL)
		transport_close_route(link->route);
	link->route = NULL;
	client_orphans_free(&link->orphans);
	link->state = LINK_IDLE;
	link->begin_ns = now_ns + (link->is_replaced ? 0 : REST_MS * MS);
	link->is_replaced = false;
	if (link->search_ns == RPC_NEVER)
		link->search_ns = now_ns;
}

void client_link_close(struct client_link *link)
{
	client_link_drop(link, rnic_dial_now_ns());
	if (link->transport == &link->rc.base)
		rc_transport_close(&link->rc);
	else
		ud_transport_close(&link->ud);
	transport_device_close(&link->device);
	free(link->conversation_memory);
}

/* The link tries again after every error but the daemon's end. */
static int search_failed(struct client_link *link, const char *what, int error, uint64_t now_ns)
{
	if (error == -ENODEV || error == -EIO || error == -ETIMEDOUT)
		return error;
	log_line(&link->options, "%s: %s", what, strerror(-error));
	link->refused_count = 0;
	client_link_drop(link, now_ns);
	return 0;
}

/* The address at which the link looks, or has found its server. */
static const struct rnic_endpoint *client_link_server(const struct client_link *link)
{
	return &link->servers[(link->server_next + link->server_count - 1) % link->server_count];
}

/* Why the search has failed, as the event has it. */
static int client_link_reason(const struct client_link *link, const struct rnic_cm_event *event)
{
	if (event->type == RNIC_CM_REJECTED)
		return event->status == link->transport->calls->nobody_listens ? -ECONNREFUSED
									       : -EAGAIN;
	return event->status < 0 ? event->status : -EHOSTUNREACH;
}

/* Nobody listens at this address. The next one follows at once; a rest comes after the last. */
static void client_link_note_refusal(struct client_link *link, uint64_t now_ns)
{
	log_line(&link->options, "nobody listens at port %u of the server",
		 client_link_server(link)->port);
	link->refused_count++;
	client_link_drop(link, now_ns);
	if (link->refused_count < link->server_count)
		link->begin_ns = now_ns;
}

bool client_link_take_refusal(struct client_link *link)
{
	if (link->refused_count < link->server_count)
		return false;
	link->refused_count = 0;
	return true;
}

static int begin_search(struct client_link *link, uint64_t now_ns)
{
	const struct rnic_endpoint *server = &link->servers[link->server_next];
	const struct transport_calls *calls = link->transport->calls;
	int error = rnic_cm_create_id(link->device.cm, calls->port_space, calls->qp_type, NULL,
				      &link->id);

	link->server_next = (link->server_next + 1) % link->server_count;
	if (link->search_ns == RPC_NEVER)
		link->search_ns = now_ns;
	if (error == 0)
		error = rnic_cm_resolve_address(link->id, NULL, server, RESOLVE_MS);
	link->state = LINK_ADDRESS;
	return error == 0 ? 0 : search_failed(link, "resolving the address", error, now_ns);
}

static int seek_service(struct client_link *link)
{
	struct rnic_cm_id *id = link->id;

	link->id = NULL;
	link->state = LINK_SERVICE;
	return link->transport->calls->seek(link->transport, id, &link->route);
}

static int client_link_begin_conversation(struct client_link *link,
					  const struct rnic_cm_event *event, uint64_t now_ns)
{
	struct rpc_conversation_config config;
	struct rpc_conversation_self self;
	int error = link->transport->calls->found(link->route, event);

	if (error != 0)
		return error;
	config = transport_config(link->route);
	transport_random(&self, sizeof(self));
	self.connection |= 1;
	memcpy(self.identity, link->identity, sizeof(self.identity));
	rpc_conversation_open(&link->conversation, &config, &self, link->conversation_memory,
			      now_ns);
	link->state = LINK_CONVERSATION;
	return 0;
}

/* The event that each state of the search awaits, and the next step. */
static int client_link_handle_event(struct client_link *link, const struct rnic_cm_event *event,
				    uint64_t now_ns)
{
	int error = client_link_reason(link, event);

	if (link->state == LINK_ADDRESS && event->type == RNIC_CM_ADDR_RESOLVED) {
		link->state = LINK_ROUTE;
		error = rnic_cm_resolve_route(link->id, RESOLVE_MS);
	} else if (link->state == LINK_ROUTE && event->type == RNIC_CM_ROUTE_RESOLVED) {
		error = seek_service(link);
	} else if (link->state == LINK_SERVICE &&
		   event->type == link->transport->calls->found_event) {
		error = client_link_begin_conversation(link, event, now_ns);
	} else if (link->state == LINK_CONVERSATION) {
		link->transport->calls->note(link->route, event);
		return 0;
	}
	if (error == -ECONNREFUSED) {
		client_link_note_refusal(link, now_ns);
		return 0;
	}
	return error == 0 ? 0 : search_failed(link, "looking for the server", error, now_ns);
}

/*
 * A server that is not the conversation's any more does not know the conversation: the next search
 * is due.
 */
static void client_link_take_probe(struct client_link *link, const struct rnic_cm_event *event)
{
	if (client_probe_handle(&link->probe, link->route, event) != PROBE_OTHER_SERVER)
		return;
	log_line(&link->options, "the server of the conversation is gone from its port");
	link->is_replaced = true;
	rpc_conversation_lose(&link->conversation);
}

static void client_link_probe(struct client_link *link, bool is_wanted, uint64_t now_ns)
{
	/* A caller that waits for an answer wants to know soon that none will come. */
	link->conversation.config.keepalive_ns =
		is_wanted ? WANTED_KEEPALIVE_MS * MS : link->transport->calls->config->keepalive_ns;
	if (now_ns >= client_probe_due_ns(&link->probe, link->transport, &link->conversation))
		client_probe_begin(&link->probe, link->device.cm, link->transport,
				   client_link_server(link), now_ns);
}

static int client_link_take_events(struct client_link *link, uint64_t now_ns)
{
	struct rnic_cm_event event;
	int error;

	if (!link->device.has_cm_events)
		return 0;
	while ((error = rnic_cm_get_event(link->device.cm, &event)) == 0) {
		bool is_ours = link->id != NULL ? event.id == link->id
						: link->route != NULL &&
							  rnic_cm_user(event.id) == link->route;

		rnic_cm_ack_event(&event);
		if (client_probe_owns(&link->probe, &event))
			client_link_take_probe(link, &event);
		else if (is_ours)
			error = client_link_handle_event(link, &event, now_ns);
		if (error != 0)
			return error;
	}
	link->device.has_cm_events = error != -EAGAIN;
	return error == -EAGAIN || error == -ENOMEM ? 0 : error;
}

static void take_datagram(struct client_link *link, const struct transport_datagram *datagram,
			  uint64_t now_ns)
{
	struct rpc_packet packet;
	size_t at = 0;

	if (link->state != LINK_CONVERSATION ||
	    !link->transport->calls->is_source(link->route, datagram))
		return;
	if (datagram->bytes == NULL) {
		rpc_conversation_lose(&link->conversation);
		return;
	}
	while (rpc_packet_next(&packet, datagram->bytes, datagram->length, &at))
		rpc_conversation_receive(&link->conversation, &packet, now_ns);
}

int client_link_receive(struct client_link *link, bool is_wanted, uint64_t now_ns)
{
	struct transport_datagram datagram;
	int error = client_link_take_events(link, now_ns);

	while (error == 0 &&
	       (error = link->transport->calls->receive(link->transport, &datagram)) > 0) {
		take_datagram(link, &datagram, now_ns);
		error = 0;
	}
	if (error != 0)
		return error;
	if (!is_wanted && link->state != LINK_CONVERSATION)
		link->search_ns = RPC_NEVER;
	if (link->state == LINK_IDLE && is_wanted && now_ns >= link->begin_ns)
		return begin_search(link, now_ns);
	if (link->state == LINK_CONVERSATION) {
		rpc_conversation_tick(&link->conversation, now_ns);
		client_link_probe(link, is_wanted, now_ns);
		if (client_link_is_open(link)) {
			link->search_ns = RPC_NEVER;
			link->refused_count = 0;
		}
	}
	return 0;
}

bool client_link_is_open(const struct client_link *link)
{
	return link->state == LINK_CONVERSATION &&
	       link->conversation.state == RPC_CONVERSATION_OPEN;
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
	message->outgoing =
		(struct rpc_outgoing){.bytes = message->bytes, .length = (uint32_t)bytes};
	error = rpc_conversation_send(&link->conversation, &message->outgoing);
	if (error != 0)
		free(message);
	return error;
}

void client_link_transmit(struct client_link *link, uint64_t now_ns)
{
	uint8_t *room;
	uint32_t bytes;

	if (link->state != LINK_CONVERSATION)
		return;
	while ((room = transport_room(link->route)) != NULL &&
	       (bytes = rpc_conversation_transmit(&link->conversation, room, now_ns)) > 0)
		if (transport_send(link->route, bytes, link->conversation.is_urgent) != 0)
			break; /* counts as lost; receiving shows a daemon's end */
	transport_flush(link->transport);
	client_link_reap(link);
}

uint64_t client_link_next_deadline_ns(const struct client_link *link)
{
	uint64_t deadline = RPC_NEVER;

	if (link->search_ns != RPC_NEVER)
		deadline = link->search_ns + SEARCH_MS * MS;
	if (link->state == LINK_IDLE && link->search_ns != RPC_NEVER && link->begin_ns < deadline)
		deadline = link->begin_ns;
	if (link->state == LINK_CONVERSATION &&
	    rpc_conversation_next_deadline_ns(&link->conversation) < deadline)
		deadline = rpc_conversation_next_deadline_ns(&link->conversation);
	if (link->state == LINK_CONVERSATION &&
	    client_probe_due_ns(&link->probe, link->transport, &link->conversation) < deadline)
		deadline = client_probe_due_ns(&link->probe, link->transport, &link->conversation);
	if (client_orphans_next_deadline_ns(&link->orphans) < deadline)
		deadline = client_orphans_next_deadline_ns(&link->orphans);
	return deadline;
}
