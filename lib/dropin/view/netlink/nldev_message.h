/* SPDX-License-Identifier: MIT */
/*
 * Netlink messages of the kernel's RDMA devices (include/uapi/rdma/rdma_netlink.h): a writer into
 * memory of the caller, and a reader of requests. Pure functions.
 *
 * The writer never writes beyond its room: what does not fit is left out and noted, and the caller
 * takes a mark back or gives up the message. Requests come from a program, which may write
 * anything: the reader checks every length before it looks at what the length covers.
 */
#ifndef LIB_DROPIN_VIEW_NETLINK_NLDEV_MESSAGE_H
#define LIB_DROPIN_VIEW_NETLINK_NLDEV_MESSAGE_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- writing ---- */

struct nldev_writer {
	uint8_t *bytes; /* aligned to 4 bytes */
	size_t room;
	size_t used;
	bool is_full; /* an attribute did not fit */
};

/* Begins the only message in the writer; nldev_end() completes its length. */
void nldev_begin(struct nldev_writer *writer, uint16_t type, uint16_t flags, uint32_t sequence,
		 uint32_t port_id);
void nldev_end(struct nldev_writer *writer);

void nldev_put(struct nldev_writer *writer, uint16_t type, const void *data, size_t bytes);
void nldev_put_u8(struct nldev_writer *writer, uint16_t type, uint8_t value);
void nldev_put_u32(struct nldev_writer *writer, uint16_t type, uint32_t value);
void nldev_put_u64(struct nldev_writer *writer, uint16_t type, uint64_t value);
/* Writes at most `room` characters of `text`, and a final zero. */
void nldev_put_text(struct nldev_writer *writer, uint16_t type, const char *text, size_t room);
/* Data without an attribute around it, such as the errno of NLMSG_DONE. */
void nldev_put_raw(struct nldev_writer *writer, const void *data, size_t bytes);

/* Begins an attribute of attributes, and returns where it is, for nldev_unnest(). */
size_t nldev_nest(struct nldev_writer *writer, uint16_t type);
void nldev_unnest(struct nldev_writer *writer, size_t at);

/* ---- reading ---- */

/* A request, as far as rnicd's answers depend on it. */
struct nldev_request {
	struct nlmsghdr head;
	uint16_t command; /* enum rdma_nldev_command; 0: of another client than nldev */
	bool is_request;  /* and no control message: those have no answer but an acknowledgment */
	bool is_dump;
	bool wants_ack;
	bool has_device, has_port, has_object, has_resource;
	uint32_t device;
	uint32_t port;
	uint32_t object;   /* the number of a queue pair, region and so on */
	uint32_t resource; /* of statistics: whose */
};

/*
 * Reads the message at the start of `bytes`. Returns the length to the next message, which may be
 * more than `length` for the last one; 0: there is no whole message, as the kernel ignores it.
 * `error` is 0, or -EINVAL: the head of the message is right, but an attribute is not.
 */
size_t nldev_read_request(const uint8_t *bytes, size_t length, struct nldev_request *request,
			  int *error);

#endif
