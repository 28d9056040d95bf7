/* SPDX-License-Identifier: MIT */
/*
 * One reliable connection, step by step: a device, a protection domain, a completion queue with its
 * channel, and a queue pair that goes through INIT, RTR and RTS with the parameters from the
 * exchange over TCP. The common part of rnic-lab's modes.
 *
 * Functions print their own errors and return a negative errno.
 */
#ifndef TOOLS_LAB_LINK_VERBS_LINK_H
#define TOOLS_LAB_LINK_VERBS_LINK_H

#include "tools/lab/exchange/exchange_message.h"
#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lab_options.h"
#include "tools/lab/link/segment_buffer.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/socket.h>

struct verbs_link {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int events; /* of the channel, not acknowledged */
	bool is_armed;	     /* the next completion raises an event */

	uint8_t port;
	int gid_index;
	union ibv_gid gid;
	uint16_t lid;
	uint32_t psn;
	enum ibv_mtu mtu;
	uint8_t ack_timeout;
	uint8_t retry_count;
};

/* Registered memory, zeroed when it is allocated and when it is released. */
struct verbs_region {
	uint8_t *memory;
	size_t bytes;
	struct ibv_mr *mr;
};

/*
 * Opens the device of the options and brings a queue pair into INIT, with the peer's rights
 * `access` (enum ibv_access_flags). `local` is this end of the TCP connection, or NULL: unless the
 * options name a GID, the call takes the one most like `local`.
 */
int verbs_link_open(struct verbs_link *link, const struct lab_options *options, unsigned int access,
		    const struct sockaddr *local);
void verbs_link_close(struct verbs_link *link);

/* The facts of the queue pair for the peer. */
void verbs_link_describe(const struct verbs_link *link, struct lab_endpoint *endpoint);

/* Brings the queue pair into RTR and RTS, towards the peer. */
int verbs_link_connect(struct verbs_link *link, const struct lab_endpoint *peer);

/* The two steps of verbs_link_connect(). */
int verbs_link_to_rtr(struct verbs_link *link, const struct lab_endpoint *peer);
int verbs_link_to_rts(struct verbs_link *link);

int verbs_region_create(struct verbs_link *link, size_t bytes, unsigned int access,
			struct verbs_region *region);
void verbs_region_destroy(struct verbs_region *region);

/* Lists the elements of a message in a buffer whose block is a region; returns their number. */
int verbs_region_elements(const struct verbs_region *region, const struct segment_buffer *buffer,
			  uint32_t bytes, struct ibv_sge elements[SEGMENTS_MAX]);

/* Posts a receive with these elements. */
int verbs_link_receive(struct verbs_link *link, struct ibv_sge *elements, int count);

/* Posts a request that raises a completion; its addresses and immediate are the caller's. */
int verbs_link_post(struct verbs_link *link, struct ibv_send_wr *request, struct ibv_sge *elements,
		    int count);

/*
 * Waits for the next completion. -EIO: it is an error, and printed. Otherwise prints nothing;
 * errors as of lab_wait().
 */
int verbs_link_next(struct verbs_link *link, struct lab_watch *watch, uint64_t deadline_ns,
		    struct ibv_wc *completion);

/* The bytes of an MTU. */
static inline uint32_t verbs_mtu_bytes(enum ibv_mtu mtu)
{
	return UINT32_C(128) << mtu;
}

#endif
