/* SPDX-License-Identifier: MIT */
/* What the control plane writes into the list of troubles: requests that are refused, and packets
 * that the kernel or the network does not carry. */
#ifndef DAEMON_CONTROL_TROUBLES_H
#define DAEMON_CONTROL_TROUBLES_H

#include "base/verbs_types.h"

#include <stdint.h>

struct client;
struct client_set;

/*
 * A request of `client` is answered with `error` (negative errno) and `reason` ("": the error's own
 * text). Notes nothing of what is no fault: -EAGAIN, and all that rnicctl asks.
 */
void trouble_of_request(struct client *client, uint16_t operation, int error, const char *reason);

/* device_host.send_refused. */
void trouble_of_network(struct client_set *set, const struct rnic_gid *dest, uint32_t bytes,
			int error);

/*
 * device_host.undelivered. Anybody can send ICMP: it is told, and nothing else follows from it;
 * only when something of a client goes to `dest`, as one trouble for each `dest` and `error`, and
 * TROUBLE_LOG_DELIVERIES_MAX new ones in a minute.
 */
void trouble_of_delivery(struct client_set *set, const struct rnic_gid *dest,
			 const struct rnic_gid *from, int error, uint32_t mtu_bytes);

#endif
