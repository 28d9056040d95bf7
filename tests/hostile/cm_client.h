/* SPDX-License-Identifier: MIT */
/*
 * A client of the connection manager, by the control protocol: an event channel, and identifiers
 * that listen, resolve and connect at the device's own address.
 */
#ifndef TESTS_HOSTILE_CM_CLIENT_H
#define TESTS_HOSTILE_CM_CLIENT_H

#include "proto/ctl/ctl_cm.h"
#include "tests/hostile/hostile_link.h"

#define CM_CLIENT_PORT	   7471
#define CM_CLIENT_QP_STEPS 5 /* of HOSTILE_STEPS: a queue pair that was not connected yet */

struct cm_client {
	struct hostile_client base;
	struct rnic_handle channel;
	int channel_fd;
};

void cm_client_open_channel(struct cm_client *client);
void cm_client_open_as(struct cm_client *client, uid_t user);
void cm_client_open(struct cm_client *client);
void cm_client_close(struct cm_client *client);

int32_t cm_client_ask(const struct cm_client *client, uint16_t operation, const void *request,
		      size_t bytes);

struct rnic_handle cm_client_create_id(const struct cm_client *client, uint32_t port_space,
				       uint32_t qp_type);
int32_t cm_client_destroy_id(const struct cm_client *client, struct rnic_handle id);

/* Says that the client has taken so many events; returns the daemon's status. */
int32_t cm_client_claim_taken(const struct cm_client *client, uint32_t taken);

struct rnic_endpoint cm_client_own_address(const struct cm_client *client);

struct rnic_handle cm_client_listen(const struct cm_client *client);

int32_t cm_client_resolve_to(const struct cm_client *client, struct rnic_handle id,
			     const struct rnic_endpoint *destination);
int32_t cm_client_resolve(const struct cm_client *client, struct rnic_handle id);

/* An identifier that knows the way to the listener. */
struct rnic_handle cm_client_make_resolved_to(const struct cm_client *client,
					      const struct rnic_endpoint *listener);
struct rnic_handle cm_client_make_resolved(const struct cm_client *client);

/* Names the queue pair in CM_CONNECT or CM_ACCEPT; returns the daemon's status. */
int32_t cm_client_name_qp(const struct cm_client *client, uint16_t operation, struct rnic_handle id,
			  uint32_t qpn);

/* Makes the client's queue pair, and an identifier that asks the listener for a connection. */
void cm_client_connect(struct cm_client *client);

/* Waits for an event that no client has taken. */
void cm_client_wait(const struct cm_client *client);

#endif
