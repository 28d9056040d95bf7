/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_conversations.h"

#include "lib/apis/rpc/log_line.h"
#include "lib/apis/rpc/transport/transport_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTUM = 32 }; /* datagrams of one session before the others' turn */

/* One sending of a shared message. */
struct sending {
	struct rpc_outgoing outgoing;
	struct shared_message *message;
};

/* --- the queue -------------------------------------------------------------------------------- */

static void server_sessions_enqueue(struct server_sessions *sessions,
				    struct server_session *session)
{
	if (session->is_queued)
		return;
	session->is_queued = true;
	session->next = NULL;
	if (sessions->first == NULL)
		sessions->first = session;
	else
		sessions->last->next = session;
	sessions->last = session;
	sessions->queue_length++;
}

static struct server_session *dequeue(struct server_sessions *sessions)
{
	struct server_session *session = sessions->first;

	sessions->first = session->next;
	sessions->queue_length--;
	return session;
}

void server_sessions_tick(struct server_sessions *sessions, uint64_t now_ns)
{
	uint32_t place;

	sessions->is_starved = false;
	while (rpc_deadlines_take(&sessions->deadlines, now_ns, &place))
		server_sessions_enqueue(sessions, sessions->places[place]);
}

uint64_t server_sessions_next_deadline_ns(const struct server_sessions *sessions)
{
	if (sessions->queue_length > 0 && !sessions->is_starved)
		return 0;
	return rpc_deadlines_next_ns(&sessions->deadlines);
}

/* --- sending ---------------------------------------------------------------------------------- */

void server_sessions_send(struct server_sessions *sessions, struct server_session *session,
			  struct shared_message *message)
{
	struct server_clients *clients = &sessions->clients;
	struct sending *sending = NULL;
	uint64_t bytes = sizeof(*sending);

	if (message->counted_by == NULL)
		bytes += message->bytes;
	if (server_clients_may_tell(clients, session->client, bytes))
		sending = malloc(sizeof(*sending));
	server_sessions_enqueue(sessions, session);
	if (sending == NULL) {
		rpc_session_close(&session->session); /* the client comes back and asks again */
		return;
	}
	*sending = (struct sending){
		.outgoing = {.bytes = message->data, .length = message->bytes},
		.message = message,
	};
	if (rpc_session_send(&session->session, &sending->outgoing) != 0) {
		free(sending);
		return;
	}
	message->references++;
	server_clients_count(clients, session->client, message);
	server_clients_hold(clients, session->client, sizeof(*sending));
}

void server_sessions_send_frame(struct server_sessions *sessions, struct server_session *session,
				const struct rpc_frame *frame)
{
	struct shared_message *message = shared_message_encode(frame);

	if (message == NULL) {
		rpc_session_close(&session->session); /* the client comes back and asks again */
		return;
	}
	server_sessions_send(sessions, session, message);
	shared_message_release(message);
}

/* Releases everything that the client has taken. */
static void server_sessions_reap(struct server_sessions *sessions, struct server_session *session)
{
	struct rpc_outgoing *outgoing;

	while ((outgoing = rpc_session_take_released(&session->session)) != NULL) {
		struct sending *sending = (struct sending *)outgoing;

		shared_message_release(sending->message);
		server_clients_hold(&sessions->clients, session->client,
				    -(int64_t)sizeof(*sending));
		free(sending);
	}
}

/* An acknowledgement makes room for the answers that the client asks for. */
static void receive_packet(struct server_sessions *sessions, struct server_session *session,
			   const struct rpc_packet *packet, uint64_t now_ns)
{
	rpc_session_receive(&session->session, packet, now_ns);
	server_sessions_reap(sessions, session);
	server_sessions_enqueue(sessions, session);
}

enum sent { SENT_ALL, SENT_QUANTUM, LACKED_ROOM };

static enum sent transmit(struct server_session *session, uint64_t now_ns)
{
	for (uint32_t count = 0; count < QUANTUM; count++) {
		uint8_t *room = transport_room(session->route);
		uint32_t bytes;

		if (room == NULL)
			return LACKED_ROOM;
		bytes = rpc_session_transmit(&session->session, room, now_ns);
		if (bytes == 0 ||
		    transport_send(session->route, bytes, session->session.is_urgent) != 0)
			return SENT_ALL; /* an unsent datagram counts as lost */
	}
	return SENT_QUANTUM;
}

/* --- sessions --------------------------------------------------------------------------------- */

struct server_session *server_sessions_find(struct server_sessions *sessions, uint32_t connection)
{
	struct server_session *session = sessions->places[connection % SERVER_SESSIONS_MAX];

	return session != NULL && session->session.self.connection == connection &&
			       session->session.state != RPC_SESSION_CLOSED
		       ? session
		       : NULL;
}

static void server_sessions_free(struct server_session *session)
{
	free(session->memory);
	free(session);
}

static void end_session(struct server_sessions *sessions, struct server_session *session,
			uint64_t now_ns)
{
	rpc_session_close(&session->session);
	if (sessions->ended != NULL)
		sessions->ended(sessions->ended_user, session);
	transmit(session, now_ns);
	server_sessions_reap(sessions, session);
	transport_close_route(session->route);
	session->client->session_count--;
	session->client->seen_ns = now_ns;
	server_clients_forget_unconfirmed(&sessions->clients, session->client);
	rpc_deadlines_set(&sessions->deadlines, session->place, RPC_NEVER);
	sessions->places[session->place] = NULL;
	while (sessions->place_count > 0 && sessions->places[sessions->place_count - 1] == NULL)
		sessions->place_count--;
	session->is_gone = true;
	if (!session->is_queued)
		server_sessions_free(session);
}

static void serve(struct server_sessions *sessions, struct server_session *session, uint64_t now_ns)
{
	enum sent sent;

	session->is_queued = false;
	if (session->is_gone) {
		server_sessions_free(session);
		return;
	}
	rpc_session_tick(&session->session, now_ns);
	if (session->session.state == RPC_SESSION_CLOSED) {
		log_line(sessions->options, "a session has ended: %s",
			 rpc_session_end_text(&session->session));
		end_session(sessions, session, now_ns);
		return;
	}
	sent = transmit(session, now_ns);
	if (sent != SENT_ALL)
		server_sessions_enqueue(sessions, session);
	if (sent == LACKED_ROOM)
		sessions->is_starved = true;
	server_sessions_reap(sessions, session);
	rpc_deadlines_set(&sessions->deadlines, session->place,
			  rpc_session_next_deadline_ns(&session->session));
}

void server_sessions_serve(struct server_sessions *sessions, uint64_t now_ns)
{
	/* A session with more to send waits for the next turn. */
	for (uint32_t left = sessions->queue_length; left > 0; left--)
		serve(sessions, dequeue(sessions), now_ns);
}

/* Tells the peer, and closes the route. */
static void refuse_on_route(struct transport_route *route, const struct rpc_packet *packet,
			    enum rpc_close code)
{
	uint8_t *room = transport_room(route);
	uint32_t bytes = 0;

	if (room != NULL)
		bytes = rpc_session_refuse(packet, code, room,
					   route->transport->calls->config->datagram_bytes);
	if (bytes > 0)
		transport_send(route, bytes, true);
	transport_close_route(route);
}

static void server_sessions_refuse(const struct transport_datagram *datagram,
				   const struct rpc_packet *packet, enum rpc_close code)
{
	struct transport_route *route;

	if (datagram->transport->calls->open_route(datagram->transport, datagram, &route) == 0)
		refuse_on_route(route, packet, code);
}

/* The memory of the session is for datagrams that both sides take. The caller keeps the route. */
static struct server_session *make_session(struct server_sessions *sessions,
					   struct transport_route *route,
					   const struct rpc_packet *open,
					   struct rpc_session_config *config)
{
	struct server_session *session = calloc(1, sizeof(*session));
	uint8_t incarnation[RPC_IDENTITY_BYTES];

	if (session == NULL)
		return NULL;
	*config = transport_config(route);
	rpc_session_lower_offer(config, open);
	transport_random(incarnation, sizeof(incarnation));
	session->client = server_clients_find(&sessions->clients, open->payload, incarnation);
	session->memory = malloc(rpc_session_memory_bytes(config));
	if (session->client == NULL || session->memory == NULL) {
		server_sessions_free(session);
		return NULL;
	}
	session->route = route;
	route->user = session;
	session->client->session_count++;
	return session;
}

/* Finds a free place; SERVER_SESSIONS_MAX: none. An identifier is never 0. */
static uint32_t find_place(struct server_sessions *sessions)
{
	for (uint32_t i = 0; i < SERVER_SESSIONS_MAX; i++) {
		uint32_t place = sessions->place_next++ % SERVER_SESSIONS_MAX;

		if (place != 0 && sessions->places[place] == NULL)
			return place;
	}
	return SERVER_SESSIONS_MAX;
}

/* Enters a new session among the unconfirmed ones, in place of the oldest of them. */
static void server_sessions_distrust(struct server_sessions *sessions, uint32_t connection,
				     uint64_t now_ns)
{
	uint32_t *slot =
		&sessions->unconfirmed[sessions->unconfirmed_next++ % SERVER_UNCONFIRMED_MAX];
	struct server_session *oldest = *slot != 0 ? server_sessions_find(sessions, *slot) : NULL;

	*slot = connection;
	if (oldest == NULL || oldest->is_confirmed)
		return;
	/* Nobody is told: whoever sent the OPEN may have named a stranger's address. */
	rpc_session_lose(&oldest->session);
	end_session(sessions, oldest, now_ns);
}

static void server_sessions_confirm(struct server_sessions *sessions,
				    struct server_session *session)
{
	if (session->is_confirmed)
		return;
	session->is_confirmed = true;
	session->client->is_confirmed = true;
	log_line(sessions->options, "a session begins");
}

static void server_sessions_begin_session(struct server_sessions *sessions,
					  const struct transport_datagram *datagram,
					  const struct rpc_packet *open, uint64_t now_ns)
{
	const struct transport_calls *calls = datagram->transport->calls;
	uint32_t place = find_place(sessions);
	struct server_session *session = NULL;
	struct transport_route *route = NULL;
	struct rpc_session_config config;
	struct rpc_session_self self;

	if (calls->open_route(datagram->transport, datagram, &route) == 0 &&
	    place < SERVER_SESSIONS_MAX)
		session = make_session(sessions, route, open, &config);
	if (session == NULL) {
		log_line(sessions->options, "a session is refused: there are too many");
		if (route != NULL)
			refuse_on_route(route, open, RPC_CLOSE_REFUSED);
		return;
	}
	transport_random(&self, sizeof(self));
	self.connection = self.connection / SERVER_SESSIONS_MAX * SERVER_SESSIONS_MAX + place;
	memcpy(self.identity, session->client->incarnation, RPC_IDENTITY_BYTES);
	rpc_session_accept(&session->session, &config, &self, open, session->memory, now_ns);
	session->place = place;
	sessions->places[place] = session;
	if (place >= sessions->place_count)
		sessions->place_count = place + 1;
	server_sessions_enqueue(sessions, session);
	/* A connection has shown already that its client is where it says. */
	if (datagram->route != NULL)
		server_sessions_confirm(sessions, session);
	else
		server_sessions_distrust(sessions, self.connection, now_ns);
}

static void receive_open(struct server_sessions *sessions,
			 const struct transport_datagram *datagram, const struct rpc_packet *packet,
			 uint64_t now_ns)
{
	for (uint32_t place = 0; place < sessions->place_count; place++) {
		struct server_session *session = sessions->places[place];

		if (session == NULL || session->session.peer != packet->from ||
		    session->session.state == RPC_SESSION_CLOSED ||
		    !datagram->transport->calls->is_source(session->route, datagram))
			continue;
		receive_packet(sessions, session, packet, now_ns);
		return;
	}
	server_sessions_begin_session(sessions, datagram, packet, now_ns);
}

/* Returns whether the packet was of a session that its sender has. */
static bool receive_of_session(struct server_sessions *sessions,
			       const struct transport_datagram *datagram,
			       const struct rpc_packet *packet, uint64_t now_ns)
{
	struct server_session *session = server_sessions_find(sessions, packet->to);
	uint64_t received;

	if (session == NULL) {
		server_sessions_refuse(datagram, packet, RPC_CLOSE_NO_SESSION);
		return false;
	}
	if (!datagram->transport->calls->is_source(session->route, datagram))
		return false;
	received = session->session.received;
	receive_packet(sessions, session, packet, now_ns);
	if (session->session.received != received)
		server_sessions_confirm(sessions, session);
	return true;
}

void server_sessions_receive(struct server_sessions *sessions,
			     const struct transport_datagram *datagram, uint64_t now_ns)
{
	struct server_session *session;
	struct rpc_packet packet;
	bool goes_on = true;
	size_t at = 0;

	if (datagram->bytes == NULL) {
		session = datagram->route->user;
		rpc_session_lose(&session->session);
		server_sessions_enqueue(sessions, session);
		return;
	}
	while (goes_on && rpc_packet_next(&packet, datagram->bytes, datagram->length, &at)) {
		if (packet.kind == RPC_PACKET_OPEN)
			receive_open(sessions, datagram, &packet, now_ns);
		else
			goes_on = receive_of_session(sessions, datagram, &packet, now_ns);
	}
}

/* --- opening and closing ---------------------------------------------------------------------- */

int server_sessions_open(struct server_sessions *sessions, const struct rnic_rpc_options *options)
{
	sessions->options = options;
	sessions->deadlines_memory = malloc(rpc_deadlines_memory_bytes(SERVER_SESSIONS_MAX));
	if (sessions->deadlines_memory == NULL)
		return -ENOMEM;
	rpc_deadlines_init(&sessions->deadlines, SERVER_SESSIONS_MAX, sessions->deadlines_memory);
	return 0;
}

void server_sessions_close(struct server_sessions *sessions, uint64_t now_ns)
{
	for (uint32_t place = 0; place < SERVER_SESSIONS_MAX; place++)
		if (sessions->places[place] != NULL)
			end_session(sessions, sessions->places[place], now_ns);
	while (sessions->queue_length > 0)
		server_sessions_free(dequeue(sessions));
	server_clients_close(&sessions->clients);
	free(sessions->deadlines_memory);
}
