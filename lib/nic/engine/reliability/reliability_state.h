/* SPDX-License-Identifier: MIT */
/* What a QP keeps for its reliability: the retry timer, the round trip, credits, congestion. */
#ifndef LIB_NIC_ENGINE_RELIABILITY_RELIABILITY_STATE_H
#define LIB_NIC_ENGINE_RELIABILITY_RELIABILITY_STATE_H

#include "lib/nic/base/list.h"
#include "lib/nic/base/timer_heap.h"
#include "lib/nic/engine/reliability/cc_dcqcn.h"
#include "lib/nic/engine/reliability/path_model.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

/* What the one timer of a requester stands for; see retry_timer.h. */
enum retry_timer {
	RETRY_TIMER_NONE,   /* the timer does not run */
	RETRY_TIMER_ACK,    /* local ACK timeout, or the share of the window before that */
	RETRY_TIMER_TAIL,   /* the silence before a tail probe */
	RETRY_TIMER_RNR,    /* the time that an RNR NAK carries */
	RETRY_TIMER_CREDIT, /* nothing is under way, and there is no credit */
	RETRY_TIMER_WINDOW, /* nothing is under way, and others have the path's window */
	RETRY_TIMER_PACE,   /* UC and UD: until the pace lets the QP go on */
	RETRY_TIMER_COUNT,
};

struct retry {
	struct timer timer; /* in engine->timers; armed unless `running` is NONE */
	uint8_t running;    /* enum retry_timer */
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t timeouts_in_a_row;
	bool may_probe;		/* WINDOW expired: the next packet is a probe */
	bool is_silent;		/* no progress since a timeout, or since the share was given back */
	uint8_t tail_probes;	/* since the last progress */
	uint8_t repairs;	/* of the oldest packet since progress or a timeout */
	uint8_t tail_packets;	/* of a tail probe, still to be sent */
	uint32_t probe_bytes;	/* that may go to a silent peer beside those under way */
	uint64_t started_at_ns; /* when the wait for an acknowledgement began, or the last came */
	uint64_t asked_at_ns;	/* when the oldest packet with AckReq left, or a tail probe */
};

/* The round trip to the peer; all zero: nothing was measured yet. */
struct round_trip {
	struct path_departure departure; /* is_timing: of `timed_psn` */
	struct rnic_psn timed_psn;	 /* a packet that asked for an acknowledgement */
	uint32_t smoothed_ns;		 /* 0: nothing was measured yet */
	uint32_t variation_ns;
	uint8_t doublings; /* of the wait: probes since something was measured */
	uint8_t timeouts;  /* since something was measured */
	bool is_timing;
};

/* The requester's credits; all zero at the start of a connection. */
struct credits {
	uint32_t acknowledged; /* messages that took a receive and are acknowledged */
	uint32_t started;      /* the same, whose first packet lies before the send position */
	uint32_t limit;	       /* of `started`, while is_limited */
	bool is_known;	       /* an acknowledgement has shown whether the peer sends credits */
	bool is_limited;       /* it does, or it had no receive and is_known is not set */
	bool may_probe;	       /* the time for new credits to come is over */
	bool is_probing;       /* the first packet of the last message started is a probe */
	uint8_t probes_passed; /* in a row that the peer took, and told of no credit before */
	bool is_exact;	       /* the peer tells the number; see exact_credits.h */
	uint64_t asked_ns;     /* for the number; 0: never */
};

#define EXACT_CREDITS_BYTES 5

/* The responder's part of exact_credits.h. */
struct exact_credits {
	uint64_t told_ns;
	struct rnic_psn psn;
	bool is_wanted; /* the peer has asked */
	bool is_owed;
	uint8_t bytes[EXACT_CREDITS_BYTES]; /* of the last answer */
};

enum delayed_acknowledgement_stage {
	ACKNOWLEDGEMENT_AT_ONCE, /* no ACK waits */
	ACKNOWLEDGEMENT_WAITS,	 /* for a request */
	ACKNOWLEDGEMENT_FOLLOWS, /* a request has left, and others may before the ACK does */
	ACKNOWLEDGEMENT_DUE,	 /* the wait is over */
};

/* See delayed_acknowledgement.h; all zero at the start of a connection. */
struct delayed_acknowledgement {
	struct list node; /* in engine->delayed_acknowledgements while the ACK waits or follows */
	uint64_t due_ns;  /* the end of the wait */
	uint64_t sent_ns; /* when the last ACK left alone, if no request has left since; else 0 */
	struct rnic_psn sent_psn; /* of the last ACK */
	uint8_t stage;		  /* enum delayed_acknowledgement_stage */
	uint8_t replies;	  /* ACKs in a row that a request followed soon */
	uint8_t least_replies; /* that make a ping-pong, more after each wait that no request ended
				*/
};

/* See withheld_acknowledgement.h. */
struct withheld_acknowledgement {
	struct list node; /* in engine->withheld_acknowledgements while the ACK is withheld */
	uint64_t due_ns;  /* the end of the wait */
};

struct congestion {
	struct cc_dcqcn rate;
	struct timer timer; /* in engine->pace_timers: until the rate lets the next leave */
	uint64_t next_notification_ns; /* the next CNP may be sent from then on */
	bool owes_notification;
};

#endif
