/* SPDX-License-Identifier: MIT */
/* Servers: listening, and turns. */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rpc/log_line.h"
#include "lib/apis/rpc/server/server_calls.h"
#include "lib/apis/rpc/transport/rc_transport.h"
#include "lib/apis/rpc/transport/ud_transport.h"

#include <rnic/rpc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRANSPORT_COUNT = 2,
	FREE_PORT_TRIES = 16,
	/* Slots for all clients together: a client without a slot waits, or sends again. */
	UD_RECEIVE_SLOTS = 4096,
	UD_SEND_SLOTS = 512,
	RC_RECEIVE_SLOTS = 2048,
	RC_CONNECTIONS = 2048,
	RC_SEND_SLOTS = 4096,
};

#define CLIENT_ANSWER_BYTES (UINT64_C(256) << 20)
#define ANSWER_BYTES	    (UINT64_C(1) << 30)

struct rnic_rpc_server {
	struct transport_device device;
	struct ud_transport ud;
	struct rc_transport rc;
	struct transport *transports[TRANSPORT_COUNT];
	struct rnic_rpc_options options;
	struct rnic_cm_id *listener; /* for clients that want to send datagrams */
	struct rnic_cm_id *connection_listener;
	uint16_t port;
	uint32_t qkey;
	struct server_conversations conversations;
	struct server_calls calls;
};

/* --- making and ending ------------------------------------------------------------------------ */

static int listen_for(struct rnic_rpc_server *server, const struct transport *transport,
		      uint16_t *port, struct rnic_cm_id **listener)
{
	struct rnic_endpoint any = {.family = 6, .port = *port};
	struct rnic_cm_endpoints where;
	int error = rnic_cm_create_id(server->device.cm, transport->calls->port_space,
				      transport->calls->qp_type, NULL, listener);

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

/*
 * Listens with both transports at one number. A free number must be free for both; otherwise the
 * server tries the next.
 */
static int rpc_server_listen_at(struct rnic_rpc_server *server, uint16_t wanted)
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

static int open_transports(struct rnic_rpc_server *server)
{
	int error = transport_device_open(&server->device, server->options.socket_path);

	if (error == 0)
		error = ud_transport_open(&server->ud, &server->device, UD_RECEIVE_SLOTS,
					  UD_SEND_SLOTS);
	if (error == 0)
		error = ud_transport_use_qkey(&server->ud, server->qkey);
	if (error == 0)
		error = rc_transport_open(&server->rc, &server->device, RC_CONNECTIONS,
					  RC_RECEIVE_SLOTS, RC_SEND_SLOTS);
	server->transports[0] = &server->ud.base;
	server->transports[1] = &server->rc.base;
	return error;
}

static void rpc_server_set_options(struct rnic_rpc_server *server,
				   const struct rnic_rpc_options *options)
{
	struct server_clients *clients = &server->conversations.clients;

	if (options != NULL)
		server->options = *options;
	clients->client_quota_bytes = server->options.max_client_answer_bytes;
	if (clients->client_quota_bytes == 0)
		clients->client_quota_bytes = CLIENT_ANSWER_BYTES;
	clients->quota_bytes = server->options.max_answer_bytes;
	if (clients->quota_bytes == 0)
		clients->quota_bytes = ANSWER_BYTES;
	server->calls.max_request_bytes = server->options.max_message_bytes;
	if (server->calls.max_request_bytes == 0)
		server->calls.max_request_bytes = RNIC_RPC_MESSAGE_BYTES;
}

static void forget_conversation(void *user, const struct server_conversation *conversation)
{
	struct rnic_rpc_server *server = user;

	server_calls_conversation_ended(&server->calls, conversation);
}

int rnic_rpc_create_server(const struct rnic_rpc_options *options, uint16_t port,
			   struct rnic_rpc_server **server)
{
	struct rnic_rpc_server *made;
	int error;

	if (server == NULL ||
	    (options != NULL && options->max_message_bytes > RPC_MESSAGE_LIMIT_BYTES))
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->device = transport_device_none;
	rpc_server_set_options(made, options);
	/* Keys with the highest bit are for privileged consumers (IBTA 1.4, 10.2.5). */
	do
		transport_random(&made->qkey, sizeof(made->qkey));
	while ((made->qkey &= 0x7fffffff) == 0);
	made->calls.conversations = &made->conversations;
	made->calls.device = &made->device;
	error = server_conversations_open(&made->conversations, &made->options);
	made->conversations.ended = forget_conversation;
	made->conversations.ended_user = made;
	if (error == 0)
		error = open_transports(made);
	if (error == 0)
		error = rpc_server_listen_at(made, port);
	if (error != 0) {
		rnic_rpc_destroy_server(made);
		return error;
	}
	*server = made;
	return 0;
}

void rnic_rpc_destroy_server(struct rnic_rpc_server *server)
{
	if (server == NULL)
		return;
	server->conversations.ended = NULL;
	server_calls_close(&server->calls);
	server_conversations_close(&server->conversations, rnic_dial_now_ns());
	stop_listening(server);
	rc_transport_close(&server->rc);
	ud_transport_close(&server->ud);
	transport_device_close(&server->device);
	free(server);
}

uint16_t rnic_rpc_server_port(const struct rnic_rpc_server *server)
{
	return server != NULL ? server->port : 0;
}

int rnic_rpc_server_fd(const struct rnic_rpc_server *server)
{
	return server != NULL ? server->device.epoll_fd : -EINVAL;
}

int rnic_rpc_server_add(struct rnic_rpc_server *server, ProtobufCService *service)
{
	if (server == NULL || service == NULL)
		return -EINVAL;
	return server_calls_add(&server->calls, service);
}

/* --- turning ---------------------------------------------------------------------------------- */

/* Tells the queue pair to a client that wants to send datagrams (SIDR, IBTA 1.4, 12.11). */
static int tell_queue_pair(struct rnic_rpc_server *server, const struct rnic_cm_event *event)
{
	const struct rnic_cm_parameters parameters = {.qpn = rnic_qp_number(server->ud.qp),
						      .qkey = server->qkey};
	int error = rnic_cm_accept(event->id, &parameters);

	rnic_cm_destroy_id(event->id);
	return error;
}

static void rpc_server_handle_event(struct rnic_rpc_server *server,
				    const struct rnic_cm_event *event,
				    struct transport_route *route)
{
	int error = 0;

	if (event->type != RNIC_CM_CONNECT_REQUEST) {
		if (route != NULL)
			route->transport->calls->note(route, event);
		return;
	}
	if (event->listener == server->listener)
		error = tell_queue_pair(server, event);
	else
		error = rc_transport_accept(&server->rc, event);
	if (error != 0)
		log_line(&server->options, "answering a new client: %s", strerror(-error));
}

static int rpc_server_take_events(struct rnic_rpc_server *server)
{
	struct rnic_cm_event event;
	int error;

	if (!server->device.has_cm_events)
		return 0;
	while ((error = rnic_cm_get_event(server->device.cm, &event)) == 0) {
		struct transport_route *route = rnic_cm_user(event.id);

		rnic_cm_ack_event(&event);
		rpc_server_handle_event(server, &event, route);
	}
	server->device.has_cm_events = error != -EAGAIN;
	return error == -EAGAIN || error == -ENOMEM ? 0 : error;
}

static int take_datagrams(struct rnic_rpc_server *server, uint64_t now_ns)
{
	struct transport_datagram datagram;
	int count = 0;

	for (size_t i = 0; i < TRANSPORT_COUNT && count == 0; i++) {
		struct transport *transport = server->transports[i];

		while ((count = transport->calls->receive(transport, &datagram)) > 0)
			server_conversations_receive(&server->conversations, &datagram, now_ns);
	}
	return count;
}

static int rpc_server_work(struct rnic_rpc_server *server)
{
	uint64_t now_ns = rnic_dial_now_ns();
	int error = rpc_server_take_events(server);

	if (error == 0)
		error = take_datagrams(server, now_ns);
	if (error != 0)
		return error;
	server_conversations_tick(&server->conversations, now_ns);
	for (struct server_conversation *at = server->conversations.first; at != NULL;
	     at = at->next)
		if (!at->is_gone)
			server_calls_take(&server->calls, at);
	server_calls_pump(&server->calls);
	server_conversations_serve(&server->conversations, now_ns);
	for (size_t i = 0; i < TRANSPORT_COUNT; i++)
		transport_flush(server->transports[i]);
	transport_device_set_timer(&server->device,
				   server_conversations_next_deadline_ns(&server->conversations));
	return 0;
}

static int rpc_server_arm_and_work(struct rnic_rpc_server *server)
{
	int error = 0;

	transport_device_begin_work(&server->device);
	for (size_t i = 0; i < TRANSPORT_COUNT && error == 0; i++)
		error = server->transports[i]->calls->arm(server->transports[i]);
	if (error == 0)
		error = rpc_server_work(server);
	transport_device_end_work(&server->device);
	return error;
}

int rnic_rpc_server_turn(struct rnic_rpc_server *server, int timeout_ms)
{
	int error;

	if (server == NULL)
		return -EINVAL;
	error = rpc_server_arm_and_work(server);
	if (error == 0 && (server->ud.base.lacks_room || server->rc.base.lacks_room))
		error = rpc_server_arm_and_work(server);
	if (error == 0)
		error = transport_device_wait(&server->device, timeout_ms);
	return error == 0 ? rpc_server_arm_and_work(server) : error;
}
