/* SPDX-License-Identifier: MIT */
/*
 * One end of a connection over librdmacm, which says what it is told:
 *
 *     cm_farewell serve|connect ADDRESS PORT
 *
 * Prints each event from ESTABLISHED on, with its status, and parts when its input says so, or as
 * the answer to the other end's parting. Ends when timewait is over, with status 0, and no earlier.
 */
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESOLVE_MS 20000

struct farewell {
	struct rdma_event_channel *channel;
	struct rdma_addrinfo *info;
	struct rdma_cm_id *listener; /* NULL: this end connects */
	struct rdma_cm_id *id;
	bool is_over;
};

static struct rdma_conn_param parameters = {
	.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};

static void need(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "cm_farewell: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	need(rdma_create_qp(id, NULL, &attributes), "rdma_create_qp");
}

static void begin(struct farewell *farewell, bool is_server, const char *node, const char *port)
{
	struct rdma_addrinfo hints = {
		.ai_flags = is_server ? RAI_PASSIVE : 0,
		.ai_port_space = RDMA_PS_TCP,
	};

	farewell->channel = rdma_create_event_channel();
	need(farewell->channel == NULL, "rdma_create_event_channel");
	need(rdma_getaddrinfo(node, port, &hints, &farewell->info), "rdma_getaddrinfo");
	if (is_server) {
		need(rdma_create_id(farewell->channel, &farewell->listener, NULL, RDMA_PS_TCP),
		     "rdma_create_id");
		need(rdma_bind_addr(farewell->listener, farewell->info->ai_src_addr),
		     "rdma_bind_addr");
		need(rdma_listen(farewell->listener, 0), "rdma_listen");
		return;
	}
	need(rdma_create_id(farewell->channel, &farewell->id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(rdma_resolve_addr(farewell->id, NULL, farewell->info->ai_dst_addr, RESOLVE_MS),
	     "rdma_resolve_addr");
}

static void end(struct farewell *farewell)
{
	rdma_destroy_qp(farewell->id);
	need(rdma_destroy_id(farewell->id), "rdma_destroy_id");
	if (farewell->listener != NULL)
		need(rdma_destroy_id(farewell->listener), "rdma_destroy_id");
	rdma_freeaddrinfo(farewell->info);
	rdma_destroy_event_channel(farewell->channel);
}

static void act(struct farewell *farewell, struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		need(rdma_resolve_route(id, RESOLVE_MS), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		make_qp(id);
		need(rdma_connect(id, &parameters), "rdma_connect");
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		farewell->id = id;
		make_qp(id);
		need(rdma_accept(id, &parameters), "rdma_accept");
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		need(rdma_disconnect(id), "rdma_disconnect");
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		farewell->is_over = true;
		break;
	default:
		break;
	}
}

static void take_event(struct farewell *farewell)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	need(rdma_get_cm_event(farewell->channel, &event), "rdma_get_cm_event");
	type = event->event;
	id = event->id;
	printf("%s %d\n", rdma_event_str(type), event->status);
	need(rdma_ack_cm_event(event), "rdma_ack_cm_event");
	act(farewell, id, type);
}

/* Whether an event is there now. */
static bool has_event(const struct farewell *farewell)
{
	struct pollfd polled = {.fd = farewell->channel->fd, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

static void wait_for_word_or_event(struct farewell *farewell)
{
	struct pollfd polled[] = {
		{.fd = farewell->channel->fd, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN},
	};
	char word;

	need(poll(polled, 2, -1) < 0, "poll");
	if (polled[0].revents != 0)
		take_event(farewell);
	if (polled[1].revents == 0)
		return;
	need(read(STDIN_FILENO, &word, 1) != 1, "read");
	if (word == '\n')
		need(rdma_disconnect(farewell->id), "rdma_disconnect");
}

int main(int argc, char **argv)
{
	struct farewell farewell = {0};
	const bool is_server = argc == 4 && strcmp(argv[1], "serve") == 0;

	if (!is_server && (argc != 4 || strcmp(argv[1], "connect") != 0)) {
		fputs("usage: cm_farewell serve|connect ADDRESS PORT\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	begin(&farewell, is_server, argv[2], argv[3]);
	while (!farewell.is_over)
		wait_for_word_or_event(&farewell);
	while (has_event(&farewell))
		take_event(&farewell);
	end(&farewell);
	return 0;
}
