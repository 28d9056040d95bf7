/* SPDX-License-Identifier: MIT */
/* Servers: requests to services, answers back, each call executed once. */
#include "rpc/log_line.h"
#include "rpc/server_sessions.h"

#include <rnic/rpc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct work;

struct rnic_rpc_server {
	struct ud_carrier carrier;
	struct rnic_rpc_options options;
	struct rnic_cm_id *listener;
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

static int listen_at(struct rnic_rpc_server *server, uint16_t port)
{
	struct rnic_endpoint any = {.family = 6, .port = port};
	struct rnic_cm_endpoints where;
	int error = rnic_cm_create_id(server->carrier.cm, RNIC_PORT_SPACE_UDP, RNIC_QP_TYPE_UD,
				      NULL, &server->listener);

	if (error == 0)
		error = rnic_cm_bind(server->listener, &any, NULL);
	if (error == 0)
		error = rnic_cm_listen(server->listener, 0, &where);
	if (error == 0)
		server->port = where.local.port;
	return error;
}

int rnic_rpc_create_server(const struct rnic_rpc_options *options, uint16_t port,
			   struct rnic_rpc_server **server)
{
	struct rnic_rpc_server *made = calloc(1, sizeof(*made));
	int error;

	if (made == NULL)
		return -ENOMEM;
	if (options != NULL)
		made->options = *options;
	made->sessions.carrier = &made->carrier;
	made->sessions.options = &made->options;
	/* Keys with the highest bit are for privileged consumers (IBTA 1.4, 10.2.5). */
	do
		ud_carrier_random(&made->qkey, sizeof(made->qkey));
	while ((made->qkey &= 0x7fffffff) == 0);
	error = ud_carrier_open(&made->carrier, made->options.socket_path);
	if (error != 0) {
		free(made);
		return error;
	}
	error = ud_carrier_use_qkey(&made->carrier, made->qkey);
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
	server_sessions_close(&server->sessions);
	if (server->listener != NULL)
		rnic_cm_destroy_id(server->listener);
	ud_carrier_close(&server->carrier);
	free(server->services);
	free(server);
}

uint16_t rnic_rpc_server_port(const struct rnic_rpc_server *server)
{
	return server->port;
}

int rnic_rpc_server_fd(const struct rnic_rpc_server *server)
{
	return server->carrier.epoll_fd;
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

	if (!rpc_history_answer(&client->history, call, message))
		shared_message_release(message);
	else if (session != NULL)
		server_session_send(session, message);
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
		ud_carrier_set_timer(&server->carrier, 0); /* a turn sends it */
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

static void refuse(struct server_session *session, struct work *work)
{
	struct rpc_frame frame = {
		.kind = RPC_FRAME_ANSWER, .call = work->call, .status = RNIC_RPC_OVERLOADED};

	rpc_frame_encode(&frame, work->fallback->data);
	server_session_send(session, work->fallback);
}

static void take_request(struct rnic_rpc_server *server, struct server_session *session,
			 const struct rpc_frame *request)
{
	struct rpc_history *history = &session->client->history;
	struct work *work = make_work(server, session, request);
	void *dropped, *repeated = NULL;

	if (work == NULL) {
		rpc_session_close(&session->session); /* the client comes back and asks again */
		return;
	}
	rpc_history_settle(history, request->settled);
	while ((dropped = rpc_history_take_dropped(history, false)) != NULL)
		shared_message_release(dropped);
	switch (rpc_history_request(history, request, &repeated)) {
	case RPC_EXECUTE:
		execute(server, work, request);
		return;
	case RPC_WAIT:
		follow_work(server, session, request->call);
		break;
	case RPC_REPEAT:
		server_session_send(session, repeated);
		break;
	case RPC_STALE:
		break;
	case RPC_REFUSE:
		refuse(session, work);
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

/* Who asks for the port is told the queue pair (SIDR, IBTA 1.4, 12.11). */
static int take_events(struct rnic_rpc_server *server)
{
	struct rnic_cm_parameters parameters = {.qpn = rnic_qp_number(server->carrier.qp),
						.qkey = server->qkey};
	struct rnic_cm_event event;
	int error;

	while ((error = rnic_cm_get_event(server->carrier.cm, &event)) == 0) {
		rnic_cm_ack_event(&event);
		if (event.type != RNIC_CM_CONNECT_REQUEST)
			continue;
		error = rnic_cm_accept(event.id, &parameters);
		if (error != 0)
			log_line(&server->options, "answering who looks for the port: %s",
				 strerror(-error));
		rnic_cm_destroy_id(event.id);
	}
	return error == -EAGAIN || error == -ENOMEM ? 0 : error;
}

static int work(struct rnic_rpc_server *server)
{
	uint64_t now_ns = ud_carrier_now_ns();
	struct ud_datagram datagram;
	int count, error = take_events(server);

	if (error != 0)
		return error;
	while ((count = ud_carrier_receive(&server->carrier, &datagram)) > 0)
		server_sessions_receive(&server->sessions, &datagram, now_ns);
	if (count < 0)
		return count;
	for (uint32_t place = 0; place < server->sessions.place_count; place++)
		if (server->sessions.places[place] != NULL)
			take_messages(server, server->sessions.places[place]);
	server_sessions_tick(&server->sessions, now_ns);
	server_sessions_transmit(&server->sessions, now_ns);
	ud_carrier_set_timer(&server->carrier,
			     server_sessions_next_deadline_ns(&server->sessions));
	return 0;
}

int rnic_rpc_server_turn(struct rnic_rpc_server *server, int timeout_ms)
{
	int error = ud_carrier_arm(&server->carrier);

	if (error == 0)
		error = work(server);
	if (error == 0)
		error = ud_carrier_wait(&server->carrier, timeout_ms);
	return error == 0 ? work(server) : error;
}
