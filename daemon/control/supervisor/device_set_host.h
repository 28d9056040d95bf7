/* SPDX-License-Identifier: MIT */
/*
 * The interface by which the device processes' side of the control plane calls the rest of it: the
 * owner of lanes, of the network and of the list of troubles. No callback calls the device set,
 * except `packet` and `probed`, which may call device_set_pass_packet() and
 * device_set_probe_peer().
 *
 * What comes from a device process is checked for its form (rnic_process_check), and texts are
 * printable; the values are still the claims of a process that is not trusted.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_SET_HOST_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_SET_HOST_H

#include "proto/ctl/process_message.h"

#include <stdint.h>
#include <sys/types.h>

#define DEVICE_TEXT_BYTES 256 /* room for a sentence for people */

struct device_child;

/* The sockets of a lane at one GID. */
struct device_lane_sockets {
	int fds[1 + RNIC_LANE_SEND_SOCKETS]; /* the receive socket, then the send sockets */
};

struct device_set_host {
	/* Stores a free lane for a process of user `uid`. Negative errno with a sentence in
	 * `text`. */
	int (*take_lane)(void *context, uid_t uid, uint8_t *lane, char text[DEVICE_TEXT_BYTES]);
	/* Takes a lane back and drains its sockets. */
	void (*give_lane_back)(void *context, uint8_t lane);
	/* Opens duplicates of the lane's sockets at the GID `index`; the caller closes them.
	 * Negative errno with a sentence in `text`: nothing is open. */
	int (*open_sockets)(void *context, uint8_t lane, uint32_t index,
			    struct device_lane_sockets *sockets, char text[DEVICE_TEXT_BYTES]);
	/* Opens a socket that has joined the multicast group; returns it, the caller's, or a
	 * negative errno. */
	int (*open_group)(void *context, const struct rnic_gid *group);
	/* Takes a datagram that the process of `from_lane` received for another lane; the callback
	 * may change the bytes. */
	void (*packet)(void *context, uint8_t from_lane, const struct rnic_process_packet *packet,
		       uint8_t *datagram);
	/* Ends the client, which its device process has ended; the client may have ended before. */
	void (*client_gone)(void *context, const struct device_child *process, uint32_t client_id);
	/* Notes a trouble that a device process reports about its clients or packets. */
	void (*trouble)(void *context, const struct device_child *process,
			const struct rnic_process_trouble *trouble);
	/* Takes the answer to device_set_probe_peer(), or one that nobody asked for. */
	void (*probed)(void *context, const struct rnic_process_probe *answer);
	void *context;
};

#endif
