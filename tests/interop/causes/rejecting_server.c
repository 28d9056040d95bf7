/* SPDX-License-Identifier: MIT */
/*
 * A server that refuses its first connection request: rejecting_server ADDRESS PORT. It prints a
 * line when it listens. Exit status 0: a request came and was refused.
 */
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void give_up(const char *call)
{
	perror(call);
	exit(EXIT_FAILURE);
}

static struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, const char *address,
				    const char *port)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP};
	struct rdma_addrinfo *found;
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, port, &hints, &found) != 0)
		give_up("rdma_getaddrinfo");
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0)
		give_up("rdma_create_id");
	if (rdma_bind_addr(id, found->ai_src_addr) != 0 || rdma_listen(id, 1) != 0)
		give_up("rdma_listen");
	rdma_freeaddrinfo(found);
	return id;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request;
	struct rdma_cm_event *event;

	if (argc != 3 || channel == NULL)
		return EXIT_FAILURE;
	listener = listen_at(channel, argv[1], argv[2]);
	puts("listens");
	fflush(stdout);
	if (rdma_get_cm_event(channel, &event) != 0)
		give_up("rdma_get_cm_event");
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return EXIT_FAILURE;
	request = event->id;
	rdma_ack_cm_event(event);
	if (rdma_reject(request, NULL, 0) != 0)
		give_up("rdma_reject");
	rdma_destroy_id(request);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return EXIT_SUCCESS;
}
