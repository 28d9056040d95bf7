/* SPDX-License-Identifier: MIT */
/* The requester's fields of a QP. */
#ifndef LIB_NIC_ENGINE_REQUESTER_REQUESTER_STATE_H
#define LIB_NIC_ENGINE_REQUESTER_REQUESTER_STATE_H

#include "lib/nic/engine/reliability/holes_state.h"
#include "lib/nic/engine/reliability/reliability_state.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

/* What a requester has seen of its peer: whether packets behind a gap are kept there. */
enum repair_peer {
	REPAIR_PEER_UNKNOWN,
	REPAIR_PEER_KEEPS,
	REPAIR_PEER_DROPS,
};

/* Bits: what leaves before all else, beside [next, end) of a repair. */
enum repair_debt {
	REPAIR_OWES_OFFER = 1,	   /* to understand reports */
	REPAIR_OWES_RESPONSES = 2, /* to ask again for what response_gap names */
	REPAIR_OWES_QUESTION = 4,  /* for the number of credits; see exact_credits.h */
};

/* Packets that are sent again beside the send position; see repair.h. */
struct repair {
	struct rnic_psn next; /* to be sent, while it is before `end` */
	struct rnic_psn end;
	struct rnic_psn sent_end; /* the send position when the repair began */
	uint8_t step;		  /* how long the repair is */
	uint8_t peer;		  /* enum repair_peer */
	bool is_under_way;	  /* no acknowledgement has reached `end` */
	bool is_told;		  /* the peer reports its holes */
	uint8_t owes;		  /* enum repair_debt */
	uint64_t sent_ns;	  /* when a packet was last sent again */
	uint64_t checked_ns;	  /* is_told: when `checked_end` was `told_end` */
	struct rnic_psn told_end; /* all holes before it that were told were sent again */
	struct rnic_psn checked_end;
	struct rnic_psn again_end; /* since then, holes before it were sent again once more */
	struct holes due;	   /* behind `end`: to be sent again next */
	bool follows_nak;	   /* the send position went back for a sequence NAK */
};

/* Responses that are missing before those that are kept; see response_gap.h. */
struct response_gap {
	struct rnic_psn next; /* REPAIR_OWES_RESPONSES: to be asked for again */
	struct rnic_psn end;
	struct rnic_psn judged_end; /* while responses are kept: behind the last judged request */
};

struct requester {
	struct rnic_psn psn;		/* of the next packet to build */
	struct rnic_psn highest;	/* one past the highest PSN ever built */
	struct rnic_psn unacknowledged; /* the oldest PSN that is not acknowledged */
	struct rnic_psn part_end;	/* the furthest end of a request for a part of a READ */
	uint32_t wqe_index;	    /* the WQE that `psn` belongs to: send_queue.next, or less */
	uint32_t reads_outstanding; /* READ requests and atomics in [unacknowledged, psn) */
	uint32_t in_flight_bytes;   /* reserved with the path for [unacknowledged, psn) */
	uint32_t packets_since_ack_request;
	bool has_unasked_end; /* a message ended without asking, and nothing behind it asked yet */
	uint32_t path_wait_bytes; /* what the QP waits for, while in a line of path_node */
	uint32_t failed_index;	  /* with has_failed_payload: the WQE that cannot be executed */
	bool has_failed_payload;
	uint8_t failed_verdict; /* of that WQE: enum verdict */
	struct repair repair;
	struct response_gap response_gap;
	struct credits credits;
	bool owes_probe;   /* peer_probe.h */
	bool has_late_nak; /* of `late_nak`: a sequence NAK came before the responses before it */
	struct rnic_psn late_nak;
	bool has_gone_back; /* a gap took the send position back, and no progress was made since */
};

#endif
