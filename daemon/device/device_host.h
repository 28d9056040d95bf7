/* SPDX-License-Identifier: MIT */
/*
 * What the device half asks of its host, the control plane. The host owns the clients' connections
 * and the list of troubles; the device half names a client by the pointer that the host gave to
 * device_half_open_session(). No callback calls the device half
 * back, but for `undelivered`, which asks device_half_uses_dest().
 */
#ifndef DAEMON_DEVICE_DEVICE_HOST_H
#define DAEMON_DEVICE_DEVICE_HOST_H

#include "base/verbs_types.h"

#include <stdint.h>

struct client;

struct device_host {
	/* The client broke the protocol in shared memory, for the reason given: ends the client
	 * after this turn. */
	void (*break_client)(struct client *client, const char *reason);

	/* Notes what went wrong for the client's queue pair `subject`. */
	void (*note_trouble)(struct client *client, const char *subject, const char *reason);

	/* The kernel refuses for good to send `bytes` bytes to `dest`; negative errno. */
	void (*send_refused)(void *context, const struct rnic_gid *dest, uint32_t bytes, int error);

	/* The network says, by ICMP from `from` (zero: nobody knows), that datagrams to `dest` do
	 * not arrive; `error` and `mtu_bytes` are as in struct port_report. */
	void (*undelivered)(void *context, const struct rnic_gid *dest, const struct rnic_gid *from,
			    int error, uint32_t mtu_bytes);
	void *context;
};

#endif
