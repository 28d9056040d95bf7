/* SPDX-License-Identifier: MIT */
/*
 * The control plane's entries in the list of troubles: refused requests, and packets that the
 * kernel or the network does not carry.
 */
#ifndef DAEMON_CONTROL_TROUBLES_H
#define DAEMON_CONTROL_TROUBLES_H

#include "base/verbs_types.h"

#include <stdint.h>

struct client;
struct client_set;

/*
 * Notes that the answer to a request of `client` is `error` (negative errno) with `reason` ("": the
 * error's own text). Ignores answers that are no fault: -EAGAIN, and all requests of rnicctl.
 */
void trouble_of_request(struct client *client, uint16_t operation, int error, const char *reason);

/* The callback device_host.send_refused. */
void trouble_of_network(struct client_set *set, const struct rnic_gid *dest, uint32_t bytes,
			int error);

/*
 * The callback device_host.undelivered. Anybody can send ICMP, so the daemon only notes the report
 * and does nothing else. It notes a report only when an object of a client has its peer at `dest`,
 * as one trouble for each `dest` and `error`, and at most TROUBLE_LOG_DELIVERIES_MAX new troubles
 * in a minute.
 */
void trouble_of_delivery(struct client_set *set, const struct rnic_gid *dest,
			 const struct rnic_gid *from, int error, uint32_t mtu_bytes);

#endif
