/* SPDX-License-Identifier: MIT */
#include "tests/interop/family/client_threads.h"

#include "tests/interop/verbs/verbs_bench.h"

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { FDS = 256 };

static void start(void *(*run)(void *argument), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) != 0)
		exit(1);
	pthread_detach(thread);
}

static void *wait_for_connection(void *channel)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event) != 0 || event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		printf("waited for a connection\n");
	return NULL;
}

static void *wait_for_completion(void *channel)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel, &cq, &context) != 0)
		printf("waited for a completion\n");
	return NULL;
}

void threads_wait(struct bench *bench)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct ibv_comp_channel *completions = ibv_create_comp_channel(bench->context);
	struct rdma_cm_id *id;

	if (events == NULL || completions == NULL ||
	    rdma_create_id(events, &id, NULL, RDMA_PS_TCP) != 0) {
		printf("failed: wait\n");
		return;
	}
	start(wait_for_connection, events);
	start(wait_for_completion, completions);
	printf("waits\n");
}

static void *create_id(void *unused)
{
	struct rdma_cm_id *id;

	(void)unused;
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) != 0)
		printf("failed: create\n");
	else
		printf(rdma_destroy_id(id) == 0 ? "created\n" : "failed: destroy\n");
	return NULL;
}

void threads_create_id(void)
{
	start(create_id, NULL);
}

/* The socket of the control plane has a path, and the others come from a socketpair. */
static bool is_connection(int fd, bool is_control)
{
	struct sockaddr_un peer = {.sun_family = AF_UNSPEC};
	socklen_t bytes = sizeof(peer);
	int type;
	socklen_t type_bytes = sizeof(type);

	if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0 || peer.sun_family != AF_UNIX ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0 || type != SOCK_SEQPACKET)
		return false;
	return (bytes > sizeof(peer.sun_family)) == is_control;
}

void threads_garble(const char *whose)
{
	const bool is_control = strcmp(whose, "control\n") == 0;
	unsigned count = 0;

	for (int fd = 0; fd < FDS; fd++)
		if (is_connection(fd, is_control) && send(fd, "nonsense", 8, MSG_NOSIGNAL) == 8)
			count++;
	printf("garbled %u\n", count);
}
