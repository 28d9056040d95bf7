/* SPDX-License-Identifier: MIT */
/*
 * The control plane's entries in the list of troubles: refused requests, and packets that the
 * kernel or the network does not carry.
 */
#ifndef DAEMON_CONTROL_SERVER_TROUBLES_H
#define DAEMON_CONTROL_SERVER_TROUBLES_H

#include "proto/base/verbs_types.h"

#include <stdint.h>

struct client;
struct client_set;
struct device_child;
struct port_report;
struct rnic_process_trouble;

/*
 * Notes that the answer to a request of `client` is `error` (negative errno) with `reason` ("": the
 * error's own text). Ignores answers that are no fault: -EAGAIN, and all requests of rnicctl.
 */
void trouble_of_request(struct client *client, uint16_t operation, int error, const char *reason);

/*
 * Notes what a device process met: of one of its clients, also when that one has just gone, or of
 * all. The process is not trusted: only its own user, and who sees everything, get to see the
 * trouble. Anybody can send ICMP, and packets with a wrong ICRC, so troubles of undelivered packets
 * are one for each subject and error, and at most TROUBLE_LOG_DELIVERIES_MAX new ones in a minute.
 */
void trouble_of_device(struct client_set *set, const struct device_child *process,
		       const struct rnic_process_trouble *trouble);

/* Notes a trouble of the control plane's own packets, which concerns all clients. */
void trouble_of_packets(struct client_set *set, const struct rnic_process_trouble *trouble);

/*
 * Notes a report about the control plane's own packets, when a connection of a client has its peer
 * there; bounded in the same way.
 */
void trouble_of_delivery(struct client_set *set, const struct port_report *report);

/* Notes that a device process does not answer a listing, which lacks its rows. */
void trouble_of_silence(struct client_set *set, const struct device_child *process);

#endif
