/* SPDX-License-Identifier: MIT */
#include "tests/hostile/cm_client.h"

#include "tests/unit/unit_test.h"

#include <poll.h>
#include <unistd.h>

#define WAIT_MS 20000

void cm_client_open_channel(struct cm_client *client)
{
	struct hostile_reply reply;

	hostile_must(client->base.control_fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply);
	memcpy(&client->channel, reply.payload, sizeof(client->channel));
	client->channel_fd = reply.fds[0];
}

void cm_client_open_as(struct cm_client *client, uid_t user)
{
	hostile_client_adopt(
		&client->base,
		user == geteuid() ? hostile_connect(&rnicd) : hostile_connect_as(&rnicd, user), 1);
	cm_client_open_channel(client);
}

void cm_client_open(struct cm_client *client)
{
	cm_client_open_as(client, geteuid());
}

void cm_client_close(struct cm_client *client)
{
	close(client->channel_fd);
	hostile_client_close(&client->base);
}

int32_t cm_client_ask(const struct cm_client *client, uint16_t operation, const void *request,
		      size_t bytes)
{
	return hostile_answer(client->base.control_fd, operation, request, bytes, NULL, 0);
}

struct rnic_handle cm_client_create_id(const struct cm_client *client, uint32_t port_space,
				       uint32_t qp_type)
{
	const struct rnic_ctl_cm_create_id request = {client->channel, port_space, qp_type};
	struct rnic_ctl_cm_id_reply answer;
	struct hostile_reply reply;

	hostile_must(client->base.control_fd, RNIC_CTL_CM_CREATE_ID, &request, sizeof(request),
		     &reply);
	memcpy(&answer, reply.payload, sizeof(answer));
	return answer.id;
}

int32_t cm_client_destroy_id(const struct cm_client *client, struct rnic_handle id)
{
	const struct rnic_ctl_cm_destroy_id request = {.id = id};

	return cm_client_ask(client, RNIC_CTL_CM_DESTROY_ID, &request, sizeof(request));
}

int32_t cm_client_claim_taken(const struct cm_client *client, uint32_t taken)
{
	const struct rnic_ctl_cm_send_events request = {.channel = client->channel, .taken = taken};

	return cm_client_ask(client, RNIC_CTL_CM_SEND_EVENTS, &request, sizeof(request));
}

struct rnic_endpoint cm_client_own_address(const struct cm_client *client)
{
	struct rnic_ctl_gids_reply gids;
	struct hostile_reply reply;

	hostile_must(client->base.fd, RNIC_CTL_QUERY_GIDS, NULL, 0, &reply);
	memcpy(&gids, reply.payload, sizeof(gids));
	return (struct rnic_endpoint){gids.entries[0].gid, 0, CM_CLIENT_PORT, 4, 0};
}

struct rnic_handle cm_client_listen(const struct cm_client *client)
{
	struct rnic_handle id = cm_client_create_id(client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	const struct rnic_ctl_cm_bind bind = {.id = id, .local = cm_client_own_address(client)};
	const struct rnic_ctl_cm_listen listen = {.id = id};

	assert_int_equal(cm_client_ask(client, RNIC_CTL_CM_BIND, &bind, sizeof(bind)), 0);
	assert_int_equal(cm_client_ask(client, RNIC_CTL_CM_LISTEN, &listen, sizeof(listen)), 0);
	return id;
}

int32_t cm_client_resolve_to(const struct cm_client *client, struct rnic_handle id,
			     const struct rnic_endpoint *destination)
{
	const struct rnic_ctl_cm_resolve_address request = {
		.id = id,
		.destination = *destination,
	};

	return cm_client_ask(client, RNIC_CTL_CM_RESOLVE_ADDRESS, &request, sizeof(request));
}

int32_t cm_client_resolve(const struct cm_client *client, struct rnic_handle id)
{
	const struct rnic_endpoint listener = cm_client_own_address(client);

	return cm_client_resolve_to(client, id, &listener);
}

struct rnic_handle cm_client_make_resolved_to(const struct cm_client *client,
					      const struct rnic_endpoint *listener)
{
	struct rnic_handle id = cm_client_create_id(client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	const struct rnic_ctl_cm_resolve_route route = {.id = id};

	assert_int_equal(cm_client_resolve_to(client, id, listener), 0);
	assert_int_equal(cm_client_ask(client, RNIC_CTL_CM_RESOLVE_ROUTE, &route, sizeof(route)),
			 0);
	return id;
}

struct rnic_handle cm_client_make_resolved(const struct cm_client *client)
{
	const struct rnic_endpoint listener = cm_client_own_address(client);

	return cm_client_make_resolved_to(client, &listener);
}

int32_t cm_client_name_qp(const struct cm_client *client, uint16_t operation, struct rnic_handle id,
			  uint32_t qpn)
{
	const struct rnic_ctl_cm_connect request = {.id = id, .parameters = {.qpn = qpn}};

	return cm_client_ask(client, operation, &request, sizeof(request));
}

void cm_client_connect(struct cm_client *client)
{
	hostile_client_go_on(&client->base, 1, CM_CLIENT_QP_STEPS);
	assert_int_equal(cm_client_name_qp(client, RNIC_CTL_CM_CONNECT,
					   cm_client_make_resolved(client), client->base.qpn),
			 0);
}

void cm_client_wait(const struct cm_client *client)
{
	struct pollfd event = {.fd = client->channel_fd, .events = POLLIN};

	assert_int_equal(poll(&event, 1, WAIT_MS), 1);
}
