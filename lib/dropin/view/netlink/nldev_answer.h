/* SPDX-License-Identifier: MIT */
/*
 * Answers requests of a program as the kernel's RDMA devices do: a request in, messages out. What
 * the device has comes from a source of rows, which is the daemon; messages go to a sink, which is
 * the program's socket. No state: a dump that is longer than one page of rows goes on from a
 * cursor, which the caller keeps.
 */
#ifndef LIB_DROPIN_VIEW_NETLINK_NLDEV_ANSWER_H
#define LIB_DROPIN_VIEW_NETLINK_NLDEV_ANSWER_H

#include "lib/client/admin/admin_page.h"
#include "lib/client/native/device_list.h"
#include "lib/dropin/view/netlink/nldev_message.h"

/*
 * No message is longer: programs that read with MNL_SOCKET_BUFFER_SIZE, a page of 4 KiB, have the
 * room. All counters of a port fit, as they do in the kernel's one message: rdmatop takes a second
 * message for a second port.
 */
#define NLDEV_MESSAGE_BYTES 4096

struct nldev_peer {
	/* Reads rows of the device at `place`, as admin_link_show_page() does. Negative errno. */
	int (*read)(void *context, uint32_t place, uint32_t kind, struct admin_page *page);
	/* Takes a message. -ENOBUFS: there is no room. */
	int (*send)(void *context, const void *message, size_t bytes);
	void *context;
	uint32_t port_id;	 /* of the program's socket */
	bool wants_short_errors; /* NETLINK_CAP_ACK: without the request that failed */
	bool wants_reasons;	 /* NETLINK_EXT_ACK */
	const struct rnic_device_list *devices;
};

/*
 * Answers the request, of which `asked` is the whole message. `error` is what nldev_read_request()
 * found. Returns 0; a positive cursor when the dump goes on, by nldev_answer_rest(); or -ENOBUFS of
 * send().
 */
int64_t nldev_answer(const struct nldev_peer *peer, const struct nldev_request *request,
		     const uint8_t *asked, int error);

/*
 * Goes on with the dump of an earlier request. Returns as nldev_answer(). An error ends the dump:
 * the last message carries it, as the kernel's does.
 */
int64_t nldev_answer_rest(const struct nldev_peer *peer, const struct nldev_request *request,
			  uint32_t cursor);

#endif
