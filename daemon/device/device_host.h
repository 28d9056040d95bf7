/* SPDX-License-Identifier: MIT */
/*
 * The interface by which the device calls its host, which has the link to the control plane.
 * No callback but `catch_up` calls the device. All are there.
 */
#ifndef DAEMON_DEVICE_DEVICE_HOST_H
#define DAEMON_DEVICE_DEVICE_HOST_H

#include "lib/nic/path/receive.h"
#include "proto/ctl/process_message.h"

struct device_host {
	/* Notes a trouble: of a client, or (client_id 0) of packets of all clients. */
	void (*trouble)(void *context, const struct rnic_process_trouble *trouble);

	/* Tells that the client has ended, whoever ended it. */
	void (*client_gone)(void *context, uint32_t client_id);

	/* Brings the facts of the port up to date, before a request that may rest on them. */
	void (*catch_up)(void *context);

	/* Takes a packet for another lane, as receive_misrouted says. */
	receive_misrouted *take_misrouted;

	/*
	 * Fetches the socket of a multicast group, the device's from then on. -EINPROGRESS:
	 * ask again in a later turn; else a negative errno.
	 */
	int (*join_group)(void *context, const struct rnic_gid *group, int *fd);
	void (*leave_group)(void *context, const struct rnic_gid *group);
	void *context;
};

#endif
