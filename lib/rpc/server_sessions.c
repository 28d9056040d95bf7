/* SPDX-License-Identifier: MIT */
#include "rpc/server_sessions.h"

#include "rpc/log_line.h"

#include <stdlib.h>
#include <string.h>

/* One sending of a shared message. */
struct sending {
	struct rpc_outgoing outgoing;
	struct shared_message *message;
};

void shared_message_release(struct shared_message *message)
{
	if (--message->references == 0)
		free(message);
}

void server_session_send(struct server_session *session, struct shared_message *message)
{
	struct sending *sending = malloc(sizeof(*sending));

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
}

static void reap(struct server_session *session)
{
	struct rpc_outgoing *outgoing;

	while ((outgoing = rpc_session_take_released(&session->session)) != NULL) {
		struct sending *sending = (struct sending *)outgoing;

		shared_message_release(sending->message);
		free(sending);
	}
}

static void transmit(struct server_sessions *sessions, struct server_session *session,
		     uint64_t now_ns)
{
	uint8_t *room;
	uint32_t bytes;

	while ((room = ud_carrier_room(sessions->carrier)) != NULL &&
	       (bytes = rpc_session_transmit(&session->session, room, now_ns)) > 0)
		if (ud_carrier_send(sessions->carrier, session->ah, session->qpn, bytes) != 0)
			break; /* as if it were lost */
	reap(session);
}

/* --- clients ---------------------------------------------------------------------------------- */

static void free_client(struct server_client *client)
{
	void *answer;

	while ((answer = rpc_history_take_dropped(&client->history, true)) != NULL)
		shared_message_release(answer);
	free(client);
}

static bool make_room(struct server_sessions *sessions)
{
	uint32_t oldest = SERVER_CLIENTS_MAX;

	if (sessions->client_count < SERVER_CLIENTS_MAX)
		return true;
	for (uint32_t i = 0; i < sessions->client_count; i++) {
		const struct server_client *client = sessions->clients[i];

		if (client->session_count > 0 || client->working_count > 0)
			continue;
		if (oldest == SERVER_CLIENTS_MAX ||
		    client->seen_ns < sessions->clients[oldest]->seen_ns)
			oldest = i;
	}
	if (oldest == SERVER_CLIENTS_MAX)
		return false;
	free_client(sessions->clients[oldest]);
	sessions->clients[oldest] = sessions->clients[--sessions->client_count];
	return true;
}

/* The client of that identity, made when it is new; NULL: no room. */
static struct server_client *client_of(struct server_sessions *sessions, const uint8_t *identity)
{
	struct server_client *client;

	for (uint32_t i = 0; i < sessions->client_count; i++)
		if (memcmp(sessions->clients[i]->identity, identity, RPC_IDENTITY_BYTES) == 0)
			return sessions->clients[i];
	if (!make_room(sessions))
		return NULL;
	client = calloc(1, sizeof(*client));
	if (client == NULL)
		return NULL;
	memcpy(client->identity, identity, RPC_IDENTITY_BYTES);
	ud_carrier_random(client->incarnation, RPC_IDENTITY_BYTES);
	rpc_history_init(&client->history);
	sessions->clients[sessions->client_count++] = client;
	return client;
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

static bool is_from(const struct server_session *session, const struct ud_datagram *datagram)
{
	return session->qpn == datagram->source_qpn &&
	       memcmp(&session->gid, &datagram->source.dest_gid, sizeof(session->gid)) == 0;
}

static void refuse(struct server_sessions *sessions, const struct ud_datagram *datagram,
		   const struct rpc_packet *packet, enum rpc_close code)
{
	uint8_t *room = ud_carrier_room(sessions->carrier);
	uint32_t bytes;
	struct rnic_ah *ah;

	bytes = room == NULL ? 0 : rpc_session_refuse(packet, code, room, UD_DATAGRAM_BYTES);
	if (bytes == 0 || rnic_create_ah(sessions->carrier->pd, &datagram->source, &ah) != 0)
		return;
	ud_carrier_send(sessions->carrier, ah, datagram->source_qpn, bytes);
	rnic_destroy_ah(ah); /* what is posted keeps its path */
}

static void end_session(struct server_sessions *sessions, uint32_t place, uint64_t now_ns)
{
	struct server_session *session = sessions->places[place];

	rpc_session_close(&session->session);
	transmit(sessions, session, now_ns);
	rnic_destroy_ah(session->ah);
	session->client->session_count--;
	session->client->seen_ns = now_ns;
	free(session->memory);
	free(session);
	sessions->places[place] = NULL;
	while (sessions->place_count > 0 && sessions->places[sessions->place_count - 1] == NULL)
		sessions->place_count--;
}

static struct server_session *make_session(struct server_sessions *sessions,
					   const struct ud_datagram *datagram,
					   const struct rpc_packet *open)
{
	struct server_session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return NULL;
	session->client = client_of(sessions, open->payload);
	session->memory = malloc(rpc_session_memory_bytes(&rpc_session_defaults));
	session->qpn = datagram->source_qpn;
	session->gid = datagram->source.dest_gid;
	if (session->client == NULL || session->memory == NULL ||
	    rnic_create_ah(sessions->carrier->pd, &datagram->source, &session->ah) != 0) {
		free(session->memory);
		free(session);
		return NULL;
	}
	session->client->session_count++;
	return session;
}

static void begin_session(struct server_sessions *sessions, const struct ud_datagram *datagram,
			  const struct rpc_packet *open, uint64_t now_ns)
{
	struct server_session *session = NULL;
	struct rpc_session_self self;
	uint32_t place = 1; /* an identifier is not 0 */

	while (place < SERVER_SESSIONS_MAX && sessions->places[place] != NULL)
		place++;
	if (place < SERVER_SESSIONS_MAX)
		session = make_session(sessions, datagram, open);
	if (session == NULL) {
		log_line(sessions->options, "a session is refused: there are too many");
		refuse(sessions, datagram, open, RPC_CLOSE_REFUSED);
		return;
	}
	ud_carrier_random(&self, sizeof(self));
	self.connection = self.connection / SERVER_SESSIONS_MAX * SERVER_SESSIONS_MAX + place;
	memcpy(self.identity, session->client->incarnation, RPC_IDENTITY_BYTES);
	rpc_session_accept(&session->session, &rpc_session_defaults, &self, open, session->memory,
			   now_ns);
	sessions->places[place] = session;
	if (place >= sessions->place_count)
		sessions->place_count = place + 1;
	log_line(sessions->options, "a session begins");
}

static void receive_open(struct server_sessions *sessions, const struct ud_datagram *datagram,
			 const struct rpc_packet *packet, uint64_t now_ns)
{
	for (uint32_t place = 0; place < sessions->place_count; place++) {
		struct server_session *session = sessions->places[place];

		if (session != NULL && session->session.peer == packet->from &&
		    session->session.state != RPC_SESSION_CLOSED && is_from(session, datagram)) {
			rpc_session_receive(&session->session, packet, now_ns);
			return;
		}
	}
	begin_session(sessions, datagram, packet, now_ns);
}

void server_sessions_receive(struct server_sessions *sessions, const struct ud_datagram *datagram,
			     uint64_t now_ns)
{
	struct server_session *session;
	struct rpc_packet packet;

	if (rpc_packet_decode(&packet, datagram->bytes, datagram->length) != 0)
		return;
	if (packet.kind == RPC_PACKET_OPEN) {
		receive_open(sessions, datagram, &packet, now_ns);
		return;
	}
	session = server_sessions_find(sessions, packet.to);
	if (session == NULL)
		refuse(sessions, datagram, &packet, RPC_CLOSE_NO_SESSION);
	else if (is_from(session, datagram))
		rpc_session_receive(&session->session, &packet, now_ns);
}

void server_sessions_tick(struct server_sessions *sessions, uint64_t now_ns)
{
	for (uint32_t place = 0; place < sessions->place_count; place++) {
		struct server_session *session = sessions->places[place];

		if (session == NULL)
			continue;
		rpc_session_tick(&session->session, now_ns);
		if (session->session.state != RPC_SESSION_CLOSED)
			continue;
		log_line(sessions->options, "a session has ended: %s",
			 strerror(-session->session.error));
		end_session(sessions, place, now_ns);
	}
}

void server_sessions_transmit(struct server_sessions *sessions, uint64_t now_ns)
{
	for (uint32_t place = 0; place < sessions->place_count; place++)
		if (sessions->places[place] != NULL)
			transmit(sessions, sessions->places[place], now_ns);
}

uint64_t server_sessions_next_deadline_ns(const struct server_sessions *sessions)
{
	uint64_t deadline = RPC_NEVER;

	for (uint32_t place = 0; place < sessions->place_count; place++) {
		uint64_t at = sessions->places[place] == NULL
				      ? RPC_NEVER
				      : rpc_session_next_deadline_ns(
						&sessions->places[place]->session);

		if (at < deadline)
			deadline = at;
	}
	return deadline;
}

void server_sessions_close(struct server_sessions *sessions)
{
	for (uint32_t place = 0; place < SERVER_SESSIONS_MAX; place++)
		if (sessions->places[place] != NULL)
			end_session(sessions, place, ud_carrier_now_ns());
	while (sessions->client_count > 0)
		free_client(sessions->clients[--sessions->client_count]);
}
