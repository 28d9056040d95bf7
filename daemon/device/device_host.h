/* SPDX-License-Identifier: MIT */
/*
 * The interface by which the device half calls its host, the control plane. The host owns the
 * clients' connections and the list of troubles. The device half names a client by the pointer that
 * the host gave to device_half_open_session(). No callback calls the device half, except
 * `undelivered`, which calls device_half_uses_dest().
 */
#ifndef DAEMON_DEVICE_DEVICE_HOST_H
#define DAEMON_DEVICE_DEVICE_HOST_H

#include "base/verbs_types.h"

#include <stdint.h>

struct client;

struct device_host {
	/* Ends the client after this turn: the client broke the protocol in shared memory, for
	 * `reason`. */
	void (*break_client)(struct client *client, const char *reason);

	/* Notes a failure of the client's queue pair `subject`. */
	void (*note_trouble)(struct client *client, const char *subject, const char *reason);

	/* Notes that the kernel permanently refuses to send `bytes` bytes to `dest`; negative
	 * errno. */
	void (*send_refused)(void *context, const struct rnic_gid *dest, uint32_t bytes, int error);

	/*
	 * Notes that the network reports, by ICMP from `from` (zero: unknown sender), that
	 * datagrams to `dest` do not arrive; `error` and `mtu_bytes` are as in struct port_report.
	 */
	void (*undelivered)(void *context, const struct rnic_gid *dest, const struct rnic_gid *from,
			    int error, uint32_t mtu_bytes);
	void *context;
};

#endif
