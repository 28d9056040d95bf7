/* SPDX-License-Identifier: MIT */
/*
 * The sending half of an RPC conversation: cuts messages into fragments, keeps fragments in flight
 * until they are acknowledged, and chooses the next datagram.
 *
 * The sender refers to the caller's messages and never copies them, from rpc_sender_push() until
 * rpc_sender_take_released() gives them back. It sends a fragment again when three later ones have
 * arrived without it (once), or when the retransmission timer expires, which doubles each time (RFC
 * 6298). Three bounds hold for the fragments in flight: the peer's credit, the window, and an
 * allowance. The allowance doubles in a round trip until the first loss; each loss halves it, and
 * from then on it grows by one a round trip. After an expiration it begins small and doubles up to
 * half of what it was (RFC 5681). When fragments turn out to have arrived that were taken for lost
 * and not sent again, the timer was early, and the allowance is again what it was.
 *
 * Where the network drops large datagrams only, the timer expires again and again for the oldest
 * fragment although the peer is heard. The sender then sends fragments in parts, and now and then
 * tries a whole one: when that arrives, fragments go whole again. A peer that has no receive for so
 * many fragments looks like such a network; the first trial shows the difference.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_SENDER_H
#define LIB_APIS_RPC_WIRE_RPC_SENDER_H

#include "lib/apis/rpc/wire/rpc_packet.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The number that `selective` can report; and the most in flight in a conversation of an agreed
 * size.
 */
#define RPC_WINDOW_PACKETS	 64u
#define RPC_LARGE_WINDOW_PACKETS 256u

#define RPC_NEVER UINT64_MAX

struct rpc_outgoing {
	const uint8_t *bytes;
	uint32_t length;
	uint32_t id;
	struct rpc_outgoing *next;
	bool is_released;
};

struct rpc_sender_limits {
	uint32_t payload_bytes;	 /* of a fragment */
	uint32_t part_bytes;	 /* 0: fragments go whole, always */
	uint32_t window_packets; /* at most RPC_LARGE_WINDOW_PACKETS */
	bool asks; /* fragments do not ask for an acknowledgement but where the sender says so */
	uint64_t trial_ns; /* from the first part to the first trial; the time doubles */
	uint64_t rto_initial_ns;
	uint64_t rto_min_ns;
	uint64_t rto_max_ns;
};

struct rpc_flight {
	struct rpc_outgoing *message;
	uint32_t offset;
	uint16_t bytes;
	bool is_acknowledged;
	bool is_lost;  /* to be sent again */
	bool is_again; /* sent again: says nothing about the round trip */
	bool is_trial; /* went whole while others go in parts */
	bool is_cut;   /* a part of it is not sent yet */
	uint64_t sent_ns;
};

struct rpc_sender {
	struct rpc_sender_limits limits;
	struct rpc_flight flights[RPC_LARGE_WINDOW_PACKETS]; /* by sequence */
	uint32_t base;					     /* the oldest not acknowledged */
	uint32_t next;					     /* the next new one */
	uint32_t credit;
	uint32_t in_flight; /* sent, neither acknowledged nor lost */
	uint32_t lost;	    /* to be sent again */
	uint32_t allowance;
	uint32_t allowance_progress; /* acknowledged since it grew */
	uint32_t threshold;	     /* below it, the allowance doubles in a round trip */
	/* Both before an expiration that may have been early; 0: there was none. */
	uint32_t allowance_before;
	uint32_t threshold_before;
	uint32_t recovery; /* a loss before it belongs to the loss that halved the allowance */
	uint64_t rto_ns;
	uint64_t smoothed_ns; /* 0: no round trip measured */
	uint64_t variation_ns;
	uint64_t timer_ns; /* RPC_NEVER: not running */
	uint64_t stuck_ns; /* the oldest fragment is the oldest since; RPC_NEVER: there is none */
	uint32_t expirations;	/* of the timer for the oldest fragment, the peer being heard */
	bool is_heard;		/* the peer, since the first of them */
	bool is_parting;	/* fragments go in parts */
	uint64_t trial_ns;	/* the next trial */
	uint64_t trial_wait_ns; /* from that to the one after it */
	uint32_t unasked;	/* fragments since the last that asked */
	uint32_t part_sequence; /* the fragment that is being sent in parts */
	uint32_t part_offset;	/* its next part; 0: none */
	uint32_t next_message;
	struct rpc_outgoing *oldest; /* not given back */
	struct rpc_outgoing *newest;
	struct rpc_outgoing *cutting; /* NULL: all are cut */
	uint32_t cut_bytes;
	uint64_t retransmissions;
};

void rpc_sender_init(struct rpc_sender *sender, const struct rpc_sender_limits *limits,
		     uint32_t first_sequence);

/* Queues the message. The caller sets `bytes` and `length`, the sender the rest. */
void rpc_sender_push(struct rpc_sender *sender, struct rpc_outgoing *message);

/* Gives back a message that arrived, or with `is_over` any, in order; NULL: none. */
struct rpc_outgoing *rpc_sender_take_released(struct rpc_sender *sender, bool is_over);

/*
 * Fills in the fragment to send now, and notes it as sent. False: there is none, or it has more
 * than `room_bytes`.
 */
bool rpc_sender_transmit(struct rpc_sender *sender, struct rpc_packet *packet, uint32_t room_bytes,
			 uint64_t now_ns);

/*
 * Takes the acknowledgement and the credit of a datagram. False: it acknowledges a fragment that
 * was never sent.
 */
bool rpc_sender_acknowledge(struct rpc_sender *sender, const struct rpc_packet *packet,
			    uint64_t now_ns);

/* Whether a fragment waits only for the peer's credit. */
bool rpc_sender_is_blocked(const struct rpc_sender *sender);

/* The retransmission timer: RPC_NEVER, or the time for rpc_sender_tick(). */
void rpc_sender_tick(struct rpc_sender *sender, uint64_t now_ns);

#endif
