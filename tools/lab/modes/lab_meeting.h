/* SPDX-License-Identifier: MIT */
/*
 * A client and a server that have found each other: the exchange over TCP, the RDMA connection made
 * from it, and requests on that. A side has one receive posted at a time.
 *
 * Functions print their own errors and return a negative errno; they print nothing for -EINTR (a
 * signal).
 */
#ifndef TOOLS_LAB_MODES_LAB_MEETING_H
#define TOOLS_LAB_MODES_LAB_MEETING_H

#include "tools/lab/exchange/exchange_socket.h"
#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lab_options.h"
#include "tools/lab/link/verbs_link.h"

struct lab_meeting {
	const struct lab_options *options;
	struct lab_watch *watch;
	struct exchange_socket exchange;
	int met_fd; /* of a server: eventfd, to write to when the client is known */
	struct verbs_link link;
	struct lab_endpoint ours;
	struct lab_endpoint theirs;
	bool has_early;
	struct ibv_wc early; /* a message that came before the awaited completion */
};

/* Opens the device, with the peer's rights `access` (enum ibv_access_flags). */
int lab_meeting_open(struct lab_meeting *meeting, unsigned int access);
void lab_meeting_close(struct lab_meeting *meeting);

/* Offers the first `bytes` bytes of a region to the peer. Call it before the next three. */
void lab_meeting_offer(struct lab_meeting *meeting, const struct verbs_region *region,
		       uint32_t bytes);

/* The client's part: sends HELLO; then takes the ANSWER and connects. */
int lab_meeting_greet(struct lab_meeting *meeting);
int lab_meeting_meet(struct lab_meeting *meeting);

/*
 * The server's part, after HELLO: connects, sends the ANSWER and waits until the client is READY.
 * Then the client is known.
 */
int lab_meeting_answer(struct lab_meeting *meeting);

/* Posts a request and waits until it is complete. */
int lab_meeting_request(struct lab_meeting *meeting, struct ibv_send_wr *request,
			struct ibv_sge *elements, int count);

/*
 * Posts a server's answer and waits until it is complete. Returns 1, or 0 when the client has left:
 * it has what it wants.
 */
int lab_meeting_reply(struct lab_meeting *meeting, struct ibv_send_wr *reply,
		      struct ibv_sge *elements, int count);

/* Waits for the message that answers a request, at most as long as the options say. */
int lab_meeting_expect(struct lab_meeting *meeting, struct ibv_wc *message);

/* Waits for the next message, without end. Returns 1, or 0 when the peer has left. */
int lab_meeting_next(struct lab_meeting *meeting, struct ibv_wc *message);

#endif
