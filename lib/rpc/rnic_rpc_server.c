/* SPDX-License-Identifier: MIT */
/* Servers: requests to services, answers back, each call executed once. */
#include "dial/dial.h"
#include "rpc/log_line.h"
#include "rpc/rc_carrier.h"
#include "rpc/server_sessions.h"
#include "rpc/ud_carrier.h"

#include <rnic/rpc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct work;

enum {
	CARRIER_COUNT = 2,
	FREE_PORT_TRIES = 16,
	/* Slots for all clients together: who finds none waits, or sends again. */
	UD_RECEIVE_SLOTS = 4096,
	UD_SEND_SLOTS = 512,
	RC_RECEIVE_SLOTS = 2048,
	RC_SEND_SLOTS = 2048,
};

#define CLIENT_ANSWER_BYTES (UINT64_C(64) << 20)
#define ANSWER_BYTES	    (UINT64_C(1) << 30)

struct rnic_rpc_server {
	struct carrier_device device;
	struct ud_carrier ud;
	struct rc_carrier rc;
	struct carrier *carriers[CARRIER_COUNT];
	struct rnic_rpc_options options;
	struct rnic_cm_id *listener; /* for who wants to send datagrams */
	struct rnic_cm_id *connection_listener;
	uint16_t port;
	uint32_t qkey;
	ProtobufCService **services;
	size_t service_count;
	struct server_sessions sessions;
	struct work *works; /* a list */
};

/* A call that a service executes. It outlives the server, which then is NULL. */
struct work {
	struct rnic_rpc_server *server;
	struct server_client *client;
	uint32_t connection; /* of the session that asked last */
	uint64_t call;
	ProtobufCMessage *input;
	struct shared_message *fallback; /* INTERNAL, when there is no memory for an answer */
	struct work *next;
	struct work **link; /* what points to this one */
};

/* --- making and ending ------------------------------------------------------------------------ */

static int listen_for(struct rnic_rpc_server *server, const struct carrier *carrier, uint16_t *port,
		      struct rnic_cm_id **listener)
{
	struct rnic_endpoint any = {.family = 6, .port = *port};
	struct rnic_cm_endpoints where;
	int error = rnic_cm_create_id(server->device.cm, carrier->calls->port_space,
				      carrier->calls->qp_type, NULL, listener);

	if (error == 0)
		error = rnic_cm_bind(*listener, &any, NULL);
	if (error == 0)
		error = rnic_cm_listen(*listener, 0, &where);
	if (error == 0)
		*port = where.local.port;
	return error;
}

static void stop_listening(struct rnic_rpc_server *server)
{
	if (server->listener != NULL)
		rnic_cm_destroy_id(server->listener);
	if (server->connection_listener != NULL)
		rnic_cm_destroy_id(server->connection_listener);
	server->listener = NULL;
	server->connection_listener = NULL;
}

/* Both carriers at one number: of a free one that is not free for both, the next is tried. */
static int listen_at(struct rnic_rpc_server *server, uint16_t wanted)
{
	int error = -EADDRINUSE;

	for (int tries = 0; error == -EADDRINUSE && tries < (wanted == 0 ? FREE_PORT_TRIES : 1);
	     tries++) {
		stop_listening(server);
		server->port = wanted;
		error = listen_for(server, &server->ud.base, &server->port, &server->listener);
		if (error == 0)
			error = listen_for(server, &server->rc.base, &server->port,
					   &server->connection_listener);
	}
	return error;
}

static int open_carriers(struct rnic_rpc_server *server)
{
	int error = carrier_device_open(&server->device, server->options.socket_path);

	if (error == 0)
		error = ud_carrier_open(&server->ud, &server->device, UD_RECEIVE_SLOTS,
					UD_SEND_SLOTS);
	if (error == 0)
		error = ud_carrier_use_qkey(&server->ud, server->qkey);
	if (error == 0)
		error = rc_carrier_open(&server->rc, &server->device, RC_RECEIVE_SLOTS,
					RC_SEND_SLOTS);
	server->carriers[0] = &server->ud.base;
	server->carriers[1] = &server->rc.base;
	return error;
}

static void set_options(struct rnic_rpc_server *server, const struct rnic_rpc_options *options)
{
	struct server_clients *clients = &server->sessions.clients;

	if (options != NULL)
		server->options = *options;
	clients->client_quota_bytes = server->options.max_client_answer_bytes;
	if (clients->client_quota_bytes == 0)
		clients->client_quota_bytes = CLIENT_ANSWER_BYTES;
	clients->quota_bytes = server->options.max_answer_bytes;
	if (clients->quota_bytes == 0)
		clients->quota_bytes = ANSWER_BYTES;
}

int rnic_rpc_create_server(const struct rnic_rpc_options *options, uint16_t port,
			   struct rnic_rpc_server **server)
{
	struct rnic_rpc_server *made = calloc(1, sizeof(*made));
	int error;

	if (made == NULL)
		return -ENOMEM;
	made->device.epoll_fd = -1;
	made->device.timer_fd = -1;
	set_options(made, options);
	/* Keys with the highest bit are for privileged consumers (IBTA 1.4, 10.2.5). */
	do
		carrier_random(&made->qkey, sizeof(made->qkey));
	while ((made->qkey &= 0x7fffffff) == 0);
	error = server_sessions_open(&made->sessions, &made->options);
	if (error == 0)
		error = open_carriers(made);
	if (error == 0)
		error = listen_at(made, port);
	if (error != 0) {
		rnic_rpc_destroy_server(made);
		return error;
	}
	*server = made;
	return 0;
}

void rnic_rpc_destroy_server(struct rnic_rpc_server *server)
{
	for (struct work *work = server->works; work != NULL; work = work->next)
		work->server = NULL; /* finish() then only frees it */
	server_sessions_close(&server->sessions, rnic_dial_now_ns());
	stop_listening(server);
	rc_carrier_close(&server->rc);
	ud_carrier_close(&server->ud);
	carrier_device_close(&server->device);
	free(server->services);
	free(server);
}

uint16_t rnic_rpc_server_port(const struct rnic_rpc_server *server)
{
	return server->port;
}

int rnic_rpc_server_fd(const struct rnic_rpc_server *server)
{
	return server->device.epoll_fd;
}

static ProtobufCService *find_service(const struct rnic_rpc_server *server, const char *name,
				      size_t bytes)
{
	for (size_t i = 0; i < server->service_count; i++) {
		const char *found = server->services[i]->descriptor->name;

		if (strlen(found) == bytes && memcmp(found, name, bytes) == 0)
			return server->services[i];
	}
	return NULL;
}

int rnic_rpc_server_add(struct rnic_rpc_server *server, ProtobufCService *service)
{
	const char *name = service->descriptor->name;
	ProtobufCService **grown;

	if (find_service(server, name, strlen(name)) != NULL)
		return -EEXIST;
	grown = realloc(server->services, (server->service_count + 1) * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	server->services = grown;
	server->services[server->service_count++] = service;
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static struct shared_message *make_answer(uint64_t call, uint32_t status,
					  const ProtobufCMessage *output)
{
	size_t bytes = output == NULL ? 0 : protobuf_c_message_get_packed_size(output);
	struct rpc_frame frame = {.kind = RPC_FRAME_ANSWER, .call = call, .status = status};
	struct shared_message *message;

	if (bytes > rpc_session_defaults.max_message_bytes - RPC_FRAME_BYTES) {
		frame.status = RNIC_RPC_INTERNAL;
		bytes = 0;
	}
	message = malloc(sizeof(*message) + RPC_FRAME_BYTES + bytes);
	if (message == NULL)
		return NULL;
	message->references = 1;
	message->bytes = (uint32_t)(RPC_FRAME_BYTES + bytes);
	if (bytes > 0)
		protobuf_c_message_pack(output, message->data + RPC_FRAME_BYTES);
	frame.payload = message->data + RPC_FRAME_BYTES;
	frame.payload_bytes = (uint32_t)bytes;
	rpc_frame_encode(&frame, message->data);
	return message;
}

/*
 * The answer goes to the session that asked last, and into the history for those who ask again.
 * Takes over the caller's reference.
 */
static void answer(struct rnic_rpc_server *server, struct server_client *client,
		   uint32_t connection, uint64_t call, struct shared_message *message)
{
	struct server_session *session = server_sessions_find(&server->sessions, connection);

	if (!server_clients_keep(&server->sessions.clients, client, call, message))
		shared_message_release(message);
	else if (session != NULL)
		server_sessions_send(&server->sessions, session, message);
}

static void end_work(struct work *work)
{
	if (work->fallback != NULL)
		shared_message_release(work->fallback);
	if (work->input != NULL)
		protobuf_c_message_free_unpacked(work->input, NULL);
	free(work);
}

static void finish(const ProtobufCMessage *output, void *user)
{
	struct work *work = user;
	struct rnic_rpc_server *server = work->server;
	struct shared_message *message = NULL;

	if (server != NULL) {
		*work->link = work->next;
		if (work->next != NULL)
			work->next->link = work->link;
		if (output != NULL)
			message = make_answer(work->call, RNIC_RPC_OK, output);
		if (message == NULL) {
			message = work->fallback;
			work->fallback = NULL;
		}
		work->client->working_count--;
		answer(server, work->client, work->connection, work->call, message);
		carrier_device_set_timer(&server->device, 0); /* a turn sends it */
	}
	end_work(work);
}

/* --- requests --------------------------------------------------------------------------------- */

static void begin_work(struct rnic_rpc_server *server, struct work *work)
{
	work->next = server->works;
	work->link = &server->works;
	if (work->next != NULL)
		work->next->link = &work->next;
	server->works = work;
	work->client->working_count++;
}

/* Runs the method, or answers why not. Takes over `work`. */
static void execute(struct rnic_rpc_server *server, struct work *work,
		    const struct rpc_frame *request)
{
	ProtobufCService *service = find_service(server, request->service, request->service_bytes);
	struct shared_message *refusal = work->fallback;
	uint32_t status = RNIC_RPC_OK;

	if (service == NULL)
		status = RNIC_RPC_NO_SERVICE;
	else if (request->method >= service->descriptor->n_methods)
		status = RNIC_RPC_NO_METHOD;
	else if ((work->input = protobuf_c_message_unpack(
			  service->descriptor->methods[request->method].input, NULL,
			  request->payload_bytes, request->payload)) == NULL)
		status = RNIC_RPC_BAD_REQUEST;
	if (status != RNIC_RPC_OK) {
		struct rpc_frame frame = {
			.kind = RPC_FRAME_ANSWER, .call = request->call, .status = status};

		work->fallback = NULL;
		rpc_frame_encode(&frame, refusal->data);
		answer(server, work->client, work->connection, request->call, refusal);
		end_work(work);
		return;
	}
	begin_work(server, work);
	service->invoke(service, request->method, work->input, finish, work);
}

/* The call executes already; the session that asked now is the one to answer. */
static void follow_work(struct rnic_rpc_server *server, const struct server_session *session,
			uint64_t call)
{
	for (struct work *work = server->works; work != NULL; work = work->next)
		if (work->client == session->client && work->call == call)
			work->connection = session->session.self.connection;
}

/* All memory that a call cannot do without, before it is noted as begun. */
static struct work *make_work(struct rnic_rpc_server *server, struct server_session *session,
			      const struct rpc_frame *request)
{
	struct work *work = calloc(1, sizeof(*work));

	if (work == NULL)
		return NULL;
	work->fallback = make_answer(request->call, RNIC_RPC_INTERNAL, NULL);
	if (work->fallback == NULL) {
		free(work);
		return NULL;
	}
	work->server = server;
	work->client = session->client;
	work->connection = session->session.self.connection;
	work->call = request->call;
	return work;
}

static void refuse(struct rnic_rpc_server *server, struct server_session *session,
		   struct work *work)
{
	struct rpc_frame frame = {
		.kind = RPC_FRAME_ANSWER, .call = work->call, .status = RNIC_RPC_OVERLOADED};

	rpc_frame_encode(&frame, work->fallback->data);
	server_sessions_send(&server->sessions, session, work->fallback);
}

/* A call that is new is not begun while there is no room for its answer. */
static enum rpc_verdict judge(struct rnic_rpc_server *server, struct server_client *client,
			      const struct rpc_frame *request, void **answer)
{
	if (!rpc_history_knows(&client->history, request->call) &&
	    !server_clients_have_room(&server->sessions.clients, client))
		return RPC_REFUSE;
	return rpc_history_request(&client->history, request, answer);
}

static void take_request(struct rnic_rpc_server *server, struct server_session *session,
			 const struct rpc_frame *request)
{
	struct work *work = make_work(server, session, request);
	void *repeated = NULL;

	if (work == NULL) {
		rpc_session_close(&session->session); /* the client comes back and asks again */
		return;
	}
	server_clients_settle(&server->sessions.clients, session->client, request->settled);
	switch (judge(server, session->client, request, &repeated)) {
	case RPC_EXECUTE:
		execute(server, work, request);
		return;
	case RPC_WAIT:
		follow_work(server, session, request->call);
		break;
	case RPC_REPEAT:
		server_sessions_send(&server->sessions, session, repeated);
		break;
	case RPC_STALE:
		break;
	case RPC_REFUSE:
		refuse(server, session, work);
		break;
	}
	end_work(work);
}

static void take_messages(struct rnic_rpc_server *server, struct server_session *session)
{
	struct rpc_frame frame;
	const uint8_t *bytes;
	uint32_t length;

	while (rpc_session_take(&session->session, &bytes, &length)) {
		if (rpc_frame_decode(&frame, bytes, length) != 0)
			continue;
		if (frame.kind == RPC_FRAME_REQUEST)
			take_request(server, session, &frame);
		else if (frame.kind == RPC_FRAME_CANCEL)
			rpc_history_cancel(&session->client->history, frame.call);
	}
}

/* --- turning ---------------------------------------------------------------------------------- */

/* Who wants to send datagrams is told the queue pair (SIDR, IBTA 1.4, 12.11). */
static int tell_queue_pair(struct rnic_rpc_server *server, const struct rnic_cm_event *event)
{
	const struct rnic_cm_parameters parameters = {.qpn = rnic_qp_number(server->ud.qp),
						      .qkey = server->qkey};
	int error = rnic_cm_accept(event->id, &parameters);

	rnic_cm_destroy_id(event->id);
	return error;
}

static void handle_event(struct rnic_rpc_server *server, const struct rnic_cm_event *event,
			 struct carrier_way *way)
{
	int error = 0;

	if (event->type != RNIC_CM_CONNECT_REQUEST) {
		if (way != NULL)
			way->carrier->calls->note(way, event);
		return;
	}
	if (event->listener == server->listener)
		error = tell_queue_pair(server, event);
	else
		error = rc_carrier_accept(&server->rc, event);
	if (error != 0)
		log_line(&server->options, "answering a client that is new: %s", strerror(-error));
}

static int take_events(struct rnic_rpc_server *server)
{
	struct rnic_cm_event event;
	int error;

	while ((error = rnic_cm_get_event(server->device.cm, &event)) == 0) {
		struct carrier_way *way = rnic_cm_user(event.id);

		rnic_cm_ack_event(&event);
		handle_event(server, &event, way);
	}
	return error == -EAGAIN || error == -ENOMEM ? 0 : error;
}

static int take_datagrams(struct rnic_rpc_server *server, uint64_t now_ns)
{
	struct carrier_datagram datagram;
	int count = 0;

	for (size_t i = 0; i < CARRIER_COUNT && count == 0; i++) {
		struct carrier *carrier = server->carriers[i];

		while ((count = carrier->calls->receive(carrier, &datagram)) > 0)
			server_sessions_receive(&server->sessions, &datagram, now_ns);
	}
	return count;
}

static int work(struct rnic_rpc_server *server)
{
	uint64_t now_ns = rnic_dial_now_ns();
	int error = take_events(server);

	if (error == 0)
		error = take_datagrams(server, now_ns);
	if (error != 0)
		return error;
	server_sessions_tick(&server->sessions, now_ns);
	/* One round: who has more to do waits for the next turn. */
	for (uint32_t left = server->sessions.queue_length; left > 0; left--) {
		struct server_session *session = server_sessions_next(&server->sessions);

		take_messages(server, session);
		server_sessions_serve(&server->sessions, session, now_ns);
	}
	carrier_device_set_timer(&server->device,
				 server_sessions_next_deadline_ns(&server->sessions));
	return 0;
}

static int arm_and_work(struct rnic_rpc_server *server)
{
	int error = 0;

	for (size_t i = 0; i < CARRIER_COUNT && error == 0; i++)
		error = server->carriers[i]->calls->arm(server->carriers[i]);
	return error == 0 ? work(server) : error;
}

int rnic_rpc_server_turn(struct rnic_rpc_server *server, int timeout_ms)
{
	int error = arm_and_work(server);

	if (error == 0 && (server->ud.base.lacks_room || server->rc.base.lacks_room))
		error = arm_and_work(server);
	if (error == 0)
		error = carrier_device_wait(&server->device, timeout_ms);
	return error == 0 ? work(server) : error;
}
