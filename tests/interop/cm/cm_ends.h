/* SPDX-License-Identifier: MIT */
/*
 * Both ends of one connection over librdmacm in this process, each with a channel of its own, and a
 * listener. What goes wrong fails the test.
 */
#ifndef TESTS_INTEROP_CM_CM_ENDS_H
#define TESTS_INTEROP_CM_CM_ENDS_H

#include "tests/unit/unit_test.h"

#include <rdma/rdma_cma.h>

#define CM_ENDS_DEPTH 16 /* of send queues */

struct cm_ends {
	struct rdma_event_channel *server_events;
	struct rdma_event_channel *client_events;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *server;
	struct rdma_cm_id *client;
};

/* The device's IPv4 address from the only argument of the program; -1: it is none. */
int cm_ends_find_device(int argc, char **argv);

/* Before each test: a call that waits for ever would hide as a slow one. */
int cm_ends_set_limit(void **state);

/* Channels, a listener at a port of its own, whose context is `ends`, and the client's identifier.
 */
void cm_ends_create(struct cm_ends *ends);

/* The same for ends that have the client's channel, and nothing else, already. */
void cm_ends_begin(struct cm_ends *ends);
void cm_ends_destroy(struct cm_ends *ends);

/* An identifier and its queue pair; nothing for NULL. */
void cm_ends_destroy_id(struct rdma_cm_id *id);

/* The next event must be this one; it is the caller's to acknowledge. */
struct rdma_cm_event *cm_ends_next_event(struct rdma_event_channel *events,
					 enum rdma_cm_event_type type);

/* The same, acknowledged. */
void cm_ends_take_event(struct rdma_event_channel *events, enum rdma_cm_event_type type);

void cm_ends_expect_no_event(const struct rdma_event_channel *events);

/* The client looks for the listener: address, or address and route. */
void cm_ends_begin_resolving(struct cm_ends *ends);
void cm_ends_resolve(struct cm_ends *ends);

/* A queue pair with completion queues of the identifier's. */
void cm_ends_create_qp(struct rdma_cm_id *id);

/* The client asks, and the server has the request, which is the caller's to acknowledge. */
struct rdma_cm_event *cm_ends_ask(struct cm_ends *ends, struct rdma_conn_param *parameters);

/* Both ends are told that it stands. */
void cm_ends_expect_standing(struct cm_ends *ends);

#endif
