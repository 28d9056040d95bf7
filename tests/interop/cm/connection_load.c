/* SPDX-License-Identifier: MIT */
/*
 * Many connections over librdmacm, one process on each side, one queue pair for each:
 *
 *     connection_load serve ADDRESS PORT COUNT
 *     connection_load connect ADDRESS PORT COUNT AT_ONCE [hold]
 *
 * The one that connects opens and closes COUNT connections, AT_ONCE of which are under way at any
 * time, and prints how many that were in a second, as JSON. With "hold" it closes none of them:
 * when all stand it says "standing", and waits for its input to end or for the other side to close
 * them. The one that serves prints "ready" and accepts whoever comes until COUNT connections have
 * ended. Status 0: every connection was made, and every one ended as it should.
 */
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 2000

static struct rdma_event_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void fail(const char *what)
{
	fprintf(stderr, "connection_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void need(int result, const char *what)
{
	if (result != 0)
		fail(what);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	if (pd == NULL) {
		pd = ibv_alloc_pd(id->verbs);
		cq = pd != NULL ? ibv_create_cq(id->verbs, 16, NULL, NULL, 0) : NULL;
		if (cq == NULL)
			fail("completion queue");
	}
	attributes.send_cq = cq;
	attributes.recv_cq = cq;
	need(rdma_create_qp(id, pd, &attributes), "rdma_create_qp");
}

static void free_id(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	need(rdma_destroy_id(id), "rdma_destroy_id");
}

static void open_all(const char *node, const char *port, bool is_server,
		     struct rdma_addrinfo **info)
{
	struct rdma_addrinfo hints = {
		.ai_flags = is_server ? RAI_PASSIVE : 0,
		.ai_port_space = RDMA_PS_TCP,
	};

	need(rdma_getaddrinfo(node, port, &hints, info), "rdma_getaddrinfo");
	channel = rdma_create_event_channel();
	if (channel == NULL)
		fail("rdma_create_event_channel");
}

static void close_all(struct rdma_addrinfo *info)
{
	if (cq != NULL)
		ibv_destroy_cq(cq);
	if (pd != NULL)
		ibv_dealloc_pd(pd);
	rdma_destroy_event_channel(channel);
	rdma_freeaddrinfo(info);
}

/* The next event, acknowledged. */
static enum rdma_cm_event_type next_event(struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	need(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	*id = event->id;
	type = event->event;
	if (event->status != 0)
		fprintf(stderr, "connection_load: %s, status %d\n", rdma_event_str(type),
			event->status);
	need(rdma_ack_cm_event(event), "rdma_ack_cm_event");
	return type;
}

/* --- serving --------------------------------------------------------------------------------- */

static void accept_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param parameters = {.responder_resources = 1, .initiator_depth = 1};

	make_qp(id);
	need(rdma_accept(id, &parameters), "rdma_accept");
}

/* `endures`: clients may ask for connections and stay away. */
static int serve(const char *node, const char *port, int count, bool endures)
{
	struct rdma_addrinfo *info;
	struct rdma_cm_id *listener, *id;

	open_all(node, port, true, &info);
	need(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(rdma_bind_addr(listener, info->ai_src_addr), "rdma_bind_addr");
	need(rdma_listen(listener, 0), "rdma_listen");
	puts("ready");
	fflush(stdout);
	while (count > 0) {
		switch (next_event(&id)) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			accept_request(id);
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
		case RDMA_CM_EVENT_TIMEWAIT_EXIT:
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			need(rdma_disconnect(id), "rdma_disconnect");
			free_id(id);
			count--;
			break;
		case RDMA_CM_EVENT_UNREACHABLE:
			if (endures) {
				free_id(id);
				break;
			}
			return 1;
		default:
			return 1;
		}
	}
	need(rdma_destroy_id(listener), "rdma_destroy_id");
	close_all(info);
	return 0;
}

/* --- connecting ------------------------------------------------------------------------------ */

struct load {
	const struct rdma_addrinfo *info;
	int count;
	int at_once;
	bool holds;
	bool is_holding;
	struct rdma_cm_id **standing; /* those that stand, while they are held */
	int begun;
	int established;
	int ended;
};

static void begin(struct load *load)
{
	struct rdma_cm_id *id;

	load->begun++;
	need(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(rdma_resolve_addr(id, NULL, load->info->ai_dst_addr, TIMEOUT_MS), "rdma_resolve_addr");
}

static void ask(struct rdma_cm_id *id)
{
	struct rdma_conn_param parameters = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
	};

	make_qp(id);
	need(rdma_connect(id, &parameters), "rdma_connect");
}

static void stands(struct load *load, struct rdma_cm_id *id)
{
	struct rdma_cm_id **place = &load->standing[load->established++];

	if (!load->holds) {
		need(rdma_disconnect(id), "rdma_disconnect");
		return;
	}
	*place = id;
	id->context = place;
	if (load->begun < load->count)
		begin(load);
	if (load->established == load->count) {
		puts("standing");
		fflush(stdout);
		load->is_holding = true;
	}
}

static void ended(struct load *load, struct rdma_cm_id *id)
{
	if (id->context != NULL)
		*(struct rdma_cm_id **)id->context = NULL;
	free_id(id);
	load->ended++;
	if (load->begun < load->count)
		begin(load);
}

/* True when something happened to a connection, false when the input has ended. */
static bool wait_while_holding(void)
{
	struct pollfd polled[] = {
		{.fd = channel->fd, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN},
	};

	if (poll(polled, 2, -1) < 0)
		fail("poll");
	return polled[0].revents != 0;
}

static void let_go(struct load *load)
{
	load->is_holding = false;
	for (int i = 0; i < load->count; i++)
		if (load->standing[i] != NULL)
			need(rdma_disconnect(load->standing[i]), "rdma_disconnect");
}

static bool step(struct load *load)
{
	struct rdma_cm_id *id;

	switch (next_event(&id)) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		need(rdma_resolve_route(id, TIMEOUT_MS), "rdma_resolve_route");
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ask(id);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		stands(load, id);
		return true;
	case RDMA_CM_EVENT_DISCONNECTED:
		ended(load, id);
		return true;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		return false;
	}
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int connect_all(const char *node, const char *port, struct load *load)
{
	struct rdma_addrinfo *info;
	double begin_seconds, seconds;

	open_all(node, port, false, &info);
	load->info = info;
	load->standing = calloc((size_t)load->count, sizeof(struct rdma_cm_id *));
	if (load->standing == NULL)
		fail("memory");
	begin_seconds = now_seconds();
	for (int i = 0; i < load->at_once && i < load->count; i++)
		begin(load);
	while (load->ended < load->count) {
		if (load->is_holding && !wait_while_holding())
			let_go(load);
		if (!step(load))
			return 1;
	}
	seconds = now_seconds() - begin_seconds;
	printf("{\"connections\": %d, \"connections_per_second\": %.1f}\n", load->count,
	       load->count / seconds);
	free(load->standing);
	close_all(info);
	return 0;
}

int main(int argc, char **argv)
{
	struct load load = {0};

	if (argc == 5 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2], argv[3], atoi(argv[4]), false);
	if (argc == 5 && strcmp(argv[1], "endure") == 0)
		return serve(argv[2], argv[3], atoi(argv[4]), true);
	if (argc < 6 || strcmp(argv[1], "connect") != 0) {
		fputs("usage: connection_load serve|endure ADDRESS PORT COUNT\n"
		      "       connection_load connect ADDRESS PORT COUNT AT_ONCE [hold]\n",
		      stderr);
		return 2;
	}
	load.count = atoi(argv[4]);
	load.at_once = atoi(argv[5]);
	load.holds = argc > 6;
	if (load.count < 1 || load.at_once < 1)
		return 2;
	return connect_all(argv[2], argv[3], &load);
}
