/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_conversations.h"

#include "lib/apis/rpc/log_line.h"
#include "lib/apis/rpc/transport/transport_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTUM = 32 }; /* datagrams of one conversation before the others' turn */

/* One sending of a shared message. */
struct sending {
	struct rpc_outgoing outgoing;
	struct shared_message *message;
};

/* --- the queue -------------------------------------------------------------------------------- */

static void server_conversations_enqueue(struct server_conversations *conversations,
					 struct server_conversation *conversation)
{
	if (conversation->is_queued)
		return;
	conversation->is_queued = true;
	conversation->next = NULL;
	if (conversations->first == NULL)
		conversations->first = conversation;
	else
		conversations->last->next = conversation;
	conversations->last = conversation;
	conversations->queue_length++;
}

static struct server_conversation *dequeue(struct server_conversations *conversations)
{
	struct server_conversation *conversation = conversations->first;

	conversations->first = conversation->next;
	conversations->queue_length--;
	return conversation;
}

void server_conversations_tick(struct server_conversations *conversations, uint64_t now_ns)
{
	uint32_t place;

	conversations->is_starved = false;
	while (rpc_deadlines_take(&conversations->deadlines, now_ns, &place))
		server_conversations_enqueue(conversations, conversations->places[place]);
}

uint64_t server_conversations_next_deadline_ns(const struct server_conversations *conversations)
{
	if (conversations->queue_length > 0 && !conversations->is_starved)
		return 0;
	return rpc_deadlines_next_ns(&conversations->deadlines);
}

/* --- sending ---------------------------------------------------------------------------------- */

void server_conversations_send(struct server_conversations *conversations,
			       struct server_conversation *conversation,
			       struct shared_message *message)
{
	struct server_clients *clients = &conversations->clients;
	struct sending *sending = NULL;
	uint64_t bytes = sizeof(*sending);

	if (message->counted_by == NULL)
		bytes += message->bytes;
	if (server_clients_may_tell(clients, conversation->client, bytes))
		sending = malloc(sizeof(*sending));
	server_conversations_enqueue(conversations, conversation);
	if (sending == NULL) {
		rpc_conversation_close(
			&conversation->conversation); /* the client comes back and asks again */
		return;
	}
	*sending = (struct sending){
		.outgoing = {.bytes = message->data, .length = message->bytes},
		.message = message,
	};
	if (rpc_conversation_send(&conversation->conversation, &sending->outgoing) != 0) {
		free(sending);
		return;
	}
	message->references++;
	server_clients_count(clients, conversation->client, message);
	server_clients_hold(clients, conversation->client, sizeof(*sending));
}

void server_conversations_send_frame(struct server_conversations *conversations,
				     struct server_conversation *conversation,
				     const struct rpc_frame *frame)
{
	struct shared_message *message = shared_message_encode(frame);

	if (message == NULL) {
		rpc_conversation_close(
			&conversation->conversation); /* the client comes back and asks again */
		return;
	}
	server_conversations_send(conversations, conversation, message);
	shared_message_release(message);
}

/* Releases everything that the client has taken. */
static void server_conversations_reap(struct server_conversations *conversations,
				      struct server_conversation *conversation)
{
	struct rpc_outgoing *outgoing;

	while ((outgoing = rpc_conversation_take_released(&conversation->conversation)) != NULL) {
		struct sending *sending = (struct sending *)outgoing;

		shared_message_release(sending->message);
		server_clients_hold(&conversations->clients, conversation->client,
				    -(int64_t)sizeof(*sending));
		free(sending);
	}
}

/* An acknowledgement makes room for the answers that the client asks for. */
static void receive_packet(struct server_conversations *conversations,
			   struct server_conversation *conversation,
			   const struct rpc_packet *packet, uint64_t now_ns)
{
	rpc_conversation_receive(&conversation->conversation, packet, now_ns);
	server_conversations_reap(conversations, conversation);
	server_conversations_enqueue(conversations, conversation);
}

enum sent { SENT_ALL, SENT_QUANTUM, LACKED_ROOM };

static enum sent transmit(struct server_conversation *conversation, uint64_t now_ns)
{
	for (uint32_t count = 0; count < QUANTUM; count++) {
		uint8_t *room = transport_room(conversation->route);
		uint32_t bytes;

		if (room == NULL)
			return LACKED_ROOM;
		bytes = rpc_conversation_transmit(&conversation->conversation, room, now_ns);
		if (bytes == 0 || transport_send(conversation->route, bytes,
						 conversation->conversation.is_urgent) != 0)
			return SENT_ALL; /* an unsent datagram counts as lost */
	}
	return SENT_QUANTUM;
}

/* --- conversations ---------------------------------------------------------------------------- */

struct server_conversation *server_conversations_find(struct server_conversations *conversations,
						      uint32_t connection)
{
	struct server_conversation *conversation =
		conversations->places[connection % SERVER_CONVERSATIONS_MAX];

	return conversation != NULL && conversation->conversation.self.connection == connection &&
			       conversation->conversation.state != RPC_CONVERSATION_CLOSED
		       ? conversation
		       : NULL;
}

static void server_conversations_free(struct server_conversation *conversation)
{
	free(conversation->memory);
	free(conversation);
}

static void end_conversation(struct server_conversations *conversations,
			     struct server_conversation *conversation, uint64_t now_ns)
{
	rpc_conversation_close(&conversation->conversation);
	if (conversations->ended != NULL)
		conversations->ended(conversations->ended_user, conversation);
	transmit(conversation, now_ns);
	server_conversations_reap(conversations, conversation);
	transport_close_route(conversation->route);
	conversation->client->conversation_count--;
	conversation->client->seen_ns = now_ns;
	server_clients_forget_unconfirmed(&conversations->clients, conversation->client);
	rpc_deadlines_set(&conversations->deadlines, conversation->place, RPC_NEVER);
	conversations->places[conversation->place] = NULL;
	while (conversations->place_count > 0 &&
	       conversations->places[conversations->place_count - 1] == NULL)
		conversations->place_count--;
	conversation->is_gone = true;
	if (!conversation->is_queued)
		server_conversations_free(conversation);
}

static void serve(struct server_conversations *conversations,
		  struct server_conversation *conversation, uint64_t now_ns)
{
	enum sent sent;

	conversation->is_queued = false;
	if (conversation->is_gone) {
		server_conversations_free(conversation);
		return;
	}
	rpc_conversation_tick(&conversation->conversation, now_ns);
	if (conversation->conversation.state == RPC_CONVERSATION_CLOSED) {
		log_line(conversations->options, "a conversation has ended: %s",
			 rpc_conversation_end_text(&conversation->conversation));
		end_conversation(conversations, conversation, now_ns);
		return;
	}
	sent = transmit(conversation, now_ns);
	if (sent != SENT_ALL)
		server_conversations_enqueue(conversations, conversation);
	if (sent == LACKED_ROOM)
		conversations->is_starved = true;
	server_conversations_reap(conversations, conversation);
	rpc_deadlines_set(&conversations->deadlines, conversation->place,
			  rpc_conversation_next_deadline_ns(&conversation->conversation));
}

void server_conversations_serve(struct server_conversations *conversations, uint64_t now_ns)
{
	/* A conversation with more to send waits for the next turn. */
	for (uint32_t left = conversations->queue_length; left > 0; left--)
		serve(conversations, dequeue(conversations), now_ns);
}

/* Tells the peer, and closes the route. */
static void refuse_on_route(struct transport_route *route, const struct rpc_packet *packet,
			    enum rpc_close code)
{
	uint8_t *room = transport_room(route);
	uint32_t bytes = 0;

	if (room != NULL)
		bytes = rpc_conversation_refuse(packet, code, room,
						route->transport->calls->config->datagram_bytes);
	if (bytes > 0)
		transport_send(route, bytes, true);
	transport_close_route(route);
}

static void server_conversations_refuse(const struct transport_datagram *datagram,
					const struct rpc_packet *packet, enum rpc_close code)
{
	struct transport_route *route;

	if (datagram->transport->calls->open_route(datagram->transport, datagram, &route) == 0)
		refuse_on_route(route, packet, code);
}

/* The memory of the conversation is for datagrams that both sides take. The caller keeps the route.
 */
static struct server_conversation *make_conversation(struct server_conversations *conversations,
						     struct transport_route *route,
						     const struct rpc_packet *open,
						     struct rpc_conversation_config *config)
{
	struct server_conversation *conversation = calloc(1, sizeof(*conversation));
	uint8_t incarnation[RPC_IDENTITY_BYTES];

	if (conversation == NULL)
		return NULL;
	*config = transport_config(route);
	rpc_conversation_lower_offer(config, open);
	transport_random(incarnation, sizeof(incarnation));
	conversation->client =
		server_clients_find(&conversations->clients, open->payload, incarnation);
	conversation->memory = malloc(rpc_conversation_memory_bytes(config));
	if (conversation->client == NULL || conversation->memory == NULL) {
		server_conversations_free(conversation);
		return NULL;
	}
	conversation->route = route;
	route->user = conversation;
	conversation->client->conversation_count++;
	return conversation;
}

/* Finds a free place; SERVER_CONVERSATIONS_MAX: none. An identifier is never 0. */
static uint32_t find_place(struct server_conversations *conversations)
{
	for (uint32_t i = 0; i < SERVER_CONVERSATIONS_MAX; i++) {
		uint32_t place = conversations->place_next++ % SERVER_CONVERSATIONS_MAX;

		if (place != 0 && conversations->places[place] == NULL)
			return place;
	}
	return SERVER_CONVERSATIONS_MAX;
}

/* Enters a new conversation among the unconfirmed ones, in place of the oldest of them. */
static void server_conversations_distrust(struct server_conversations *conversations,
					  uint32_t connection, uint64_t now_ns)
{
	uint32_t *slot =
		&conversations
			 ->unconfirmed[conversations->unconfirmed_next++ % SERVER_UNCONFIRMED_MAX];
	struct server_conversation *oldest =
		*slot != 0 ? server_conversations_find(conversations, *slot) : NULL;

	*slot = connection;
	if (oldest == NULL || oldest->is_confirmed)
		return;
	/* Nobody is told: whoever sent the OPEN may have named a stranger's address. */
	rpc_conversation_lose(&oldest->conversation);
	end_conversation(conversations, oldest, now_ns);
}

static void server_conversations_confirm(struct server_conversations *conversations,
					 struct server_conversation *conversation)
{
	if (conversation->is_confirmed)
		return;
	conversation->is_confirmed = true;
	conversation->client->is_confirmed = true;
	log_line(conversations->options, "a conversation begins");
}

static void server_conversations_begin_conversation(struct server_conversations *conversations,
						    const struct transport_datagram *datagram,
						    const struct rpc_packet *open, uint64_t now_ns)
{
	const struct transport_calls *calls = datagram->transport->calls;
	uint32_t place = find_place(conversations);
	struct server_conversation *conversation = NULL;
	struct transport_route *route = NULL;
	struct rpc_conversation_config config;
	struct rpc_conversation_self self;

	if (calls->open_route(datagram->transport, datagram, &route) == 0 &&
	    place < SERVER_CONVERSATIONS_MAX)
		conversation = make_conversation(conversations, route, open, &config);
	if (conversation == NULL) {
		log_line(conversations->options, "a conversation is refused: there are too many");
		if (route != NULL)
			refuse_on_route(route, open, RPC_CLOSE_REFUSED);
		return;
	}
	transport_random(&self, sizeof(self));
	self.connection =
		self.connection / SERVER_CONVERSATIONS_MAX * SERVER_CONVERSATIONS_MAX + place;
	memcpy(self.identity, conversation->client->incarnation, RPC_IDENTITY_BYTES);
	rpc_conversation_accept(&conversation->conversation, &config, &self, open,
				conversation->memory, now_ns);
	conversation->place = place;
	conversations->places[place] = conversation;
	if (place >= conversations->place_count)
		conversations->place_count = place + 1;
	server_conversations_enqueue(conversations, conversation);
	/* A connection has shown already that its client is where it says. */
	if (datagram->route != NULL)
		server_conversations_confirm(conversations, conversation);
	else
		server_conversations_distrust(conversations, self.connection, now_ns);
}

static void receive_open(struct server_conversations *conversations,
			 const struct transport_datagram *datagram, const struct rpc_packet *packet,
			 uint64_t now_ns)
{
	for (uint32_t place = 0; place < conversations->place_count; place++) {
		struct server_conversation *conversation = conversations->places[place];

		if (conversation == NULL || conversation->conversation.peer != packet->from ||
		    conversation->conversation.state == RPC_CONVERSATION_CLOSED ||
		    !datagram->transport->calls->is_source(conversation->route, datagram))
			continue;
		receive_packet(conversations, conversation, packet, now_ns);
		return;
	}
	server_conversations_begin_conversation(conversations, datagram, packet, now_ns);
}

/* Returns whether the packet was of a conversation that its sender has. */
static bool receive_of_conversation(struct server_conversations *conversations,
				    const struct transport_datagram *datagram,
				    const struct rpc_packet *packet, uint64_t now_ns)
{
	struct server_conversation *conversation =
		server_conversations_find(conversations, packet->to);
	uint64_t received;

	if (conversation == NULL) {
		server_conversations_refuse(datagram, packet, RPC_CLOSE_NO_CONVERSATION);
		return false;
	}
	if (!datagram->transport->calls->is_source(conversation->route, datagram))
		return false;
	received = conversation->conversation.received;
	receive_packet(conversations, conversation, packet, now_ns);
	if (conversation->conversation.received != received)
		server_conversations_confirm(conversations, conversation);
	return true;
}

void server_conversations_receive(struct server_conversations *conversations,
				  const struct transport_datagram *datagram, uint64_t now_ns)
{
	struct server_conversation *conversation;
	struct rpc_packet packet;
	bool goes_on = true;
	size_t at = 0;

	if (datagram->bytes == NULL) {
		conversation = datagram->route->user;
		rpc_conversation_lose(&conversation->conversation);
		server_conversations_enqueue(conversations, conversation);
		return;
	}
	while (goes_on && rpc_packet_next(&packet, datagram->bytes, datagram->length, &at)) {
		if (packet.kind == RPC_PACKET_OPEN)
			receive_open(conversations, datagram, &packet, now_ns);
		else
			goes_on = receive_of_conversation(conversations, datagram, &packet, now_ns);
	}
}

/* --- opening and closing ---------------------------------------------------------------------- */

int server_conversations_open(struct server_conversations *conversations,
			      const struct rnic_rpc_options *options)
{
	conversations->options = options;
	conversations->deadlines_memory =
		malloc(rpc_deadlines_memory_bytes(SERVER_CONVERSATIONS_MAX));
	if (conversations->deadlines_memory == NULL)
		return -ENOMEM;
	rpc_deadlines_init(&conversations->deadlines, SERVER_CONVERSATIONS_MAX,
			   conversations->deadlines_memory);
	return 0;
}

void server_conversations_close(struct server_conversations *conversations, uint64_t now_ns)
{
	for (uint32_t place = 0; place < SERVER_CONVERSATIONS_MAX; place++)
		if (conversations->places[place] != NULL)
			end_conversation(conversations, conversations->places[place], now_ns);
	while (conversations->queue_length > 0)
		server_conversations_free(dequeue(conversations));
	server_clients_close(&conversations->clients);
	free(conversations->deadlines_memory);
}
