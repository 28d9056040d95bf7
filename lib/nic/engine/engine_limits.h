/* SPDX-License-Identifier: MIT */
/* Every capacity, default and bound of the engine. */
#ifndef LIB_NIC_ENGINE_ENGINE_LIMITS_H
#define LIB_NIC_ENGINE_ENGINE_LIMITS_H

#include "proto/base/maxima.h"
#include "proto/base/verbs_types.h"

enum {
	LIMIT_WR_DEPTH = RNIC_WR_DEPTH_MAX,
	LIMIT_SGES = RNIC_SGE_COUNT_MAX,
	LIMIT_INLINE_BYTES = 512,
	LIMIT_RD_ATOMIC = 128, /* outstanding READs and atomics of a QP, either side */
	LIMIT_LOCAL_ACK_DELAY =
		10, /* 4.096 us * 2^10 = 4.2 ms: an upper bound of our answers' delay */

	/* Packets of one QP that engine_transmit() builds before it turns to the next QP. */
	LIMIT_QP_QUANTUM = 32,

	/*
	 * Bytes under way to one destination that nobody acknowledged yet, over all RC QPs, beyond
	 * what a long path holds by itself. The bound makes them fit a peer's socket buffer even
	 * when its daemon does not run for a while; see peer_window.h.
	 */
	LIMIT_PATH_WINDOW_BYTES = 1 << 20,
	LIMIT_PATH_WINDOW_BYTES_LEAST = 16384,

	/*
	 * What a path begins with: a quarter of Linux' default socket buffer (212,992 B), which
	 * fits wherever other packets come, too. The peer's buffer and the queues on the way are
	 * told by nobody.
	 */
	LIMIT_PATH_WINDOW_BYTES_FIRST = 53248,

	/*
	 * On a path whose least round trip is longer than that, the window follows a model of the
	 * path, and packets leave by a pace, in batches; see peer_window.h and path_model.h. A
	 * process there may wait for a processor for LIMIT_PATH_WAIT_NS.
	 */
	LIMIT_PATH_SHORT_NS = 300000,
	LIMIT_PATH_WAIT_NS = 2000000,
	LIMIT_PATH_QUEUE_BYTES_MOST = 8 << 20,
	LIMIT_PATH_BATCH_NS = 50000,

	/*
	 * After so long without progress a QP's packets no longer count in the peer window, for its
	 * peer may be gone while the host is not. Then no more bytes go to the peer at a time than
	 * the greatest packet has.
	 */
	LIMIT_SHARE_NS = 100000000,
	LIMIT_SILENT_PEER_BYTES = 4608,

	/*
	 * Tail probes (retry_timer.h): the least silence before one, as program and daemon of a
	 * peer may be waiting for a processor, and how many there are without progress.
	 */
	LIMIT_TAIL_PROBE_NS = 250000,
	LIMIT_TAIL_PROBES = 2,

	/* What a packet counts towards the window beside its payload: headers, and what a socket
	 * buffer charges for a packet of any size. */
	LIMIT_PACKET_OVERHEAD_BYTES = 512,

	/*
	 * A READ longer than this goes out as several READ requests, which bounds what a responder
	 * may send at once as the window bounds what we send. Where the window is smaller, a READ
	 * request goes when nothing else is under way. With LIMIT_QP_WINDOW_PACKETS this limit also
	 * keeps a READ of any length from having more PSNs under way than can be told apart.
	 */
	LIMIT_READ_CHUNK_BYTES = 256 * 1024,

	/* Unacknowledged packets of a requester: PSNs of half the space must never be under way. */
	LIMIT_QP_WINDOW_PACKETS = 1 << 20,

	/*
	 * A device keeps so many packets behind gaps, by its memory. One QP may have
	 * LIMIT_KEPT_SHARE times as many as are free, in LIMIT_KEPT_RUNS runs. When a gap closes,
	 * the QP takes a slice at a time, which is more than a turn brings. A gap that makes no
	 * progress for LIMIT_KEPT_NS gives its packets up for those of others.
	 */
	LIMIT_KEPT_PACKETS_LEAST = 2048,
	LIMIT_KEPT_PACKETS = 16384,
	LIMIT_KEPT_SHARE = 4,
	LIMIT_KEPT_RUNS = 256,
	LIMIT_KEPT_SLICE = 512,
	LIMIT_KEPT_NS = 1000000000,

	/* The least time between two reports of holes, and two exact credits; see holes.h. */
	LIMIT_HOLES_NS = 20000,

	/* So often the repair of the oldest packet postpones the ACK timeout without progress. */
	LIMIT_REPAIRS = 8,

	/* The least time between two questions for exact credits; see exact_credits.h. */
	LIMIT_CREDITS_ASK_NS = 100000000,

	/* So long a requester without credits waits for the peer to tell of some; see credits.h. */
	LIMIT_CREDIT_PROBE_NS = 1000000,
	/* So many messages in a row without a credit, and "no credits" of the peer says nothing. */
	LIMIT_CREDIT_PROBES_PASSED = 3,

	/* A requester asks for an acknowledgement at least every this many packets. */
	LIMIT_PACKETS_PER_ACK_REQUEST = 32,

	/*
	 * So long an ACK waits for a request at most, where requests have followed so many ACKs in
	 * a row within that time; see delayed_acknowledgement.h. A program that is woken for a
	 * message answers in this time.
	 */
	LIMIT_ACK_WAIT_NS = 100000,
	LIMIT_ACK_REPLIES = 4,
	LIMIT_ACK_REPLIES_MOST = 64,

	/*
	 * Linux rxe has this time to go back after a NAK. The time is several round trips of a
	 * network without routers, and less than the usual ACK timeouts
	 * (withheld_acknowledgement.h).
	 */
	LIMIT_ACK_WITHHELD_NS = 20000000,

	/* Acknowledgements of queue pairs that are gone, while the port takes none (parting.h). */
	LIMIT_PARTING_PACKETS = 1024,

	/*
	 * UC and UD traffic of all QPs together, which nobody acknowledges: what may leave in a
	 * millisecond and at once, counted like the window. A message counts more, for its cost in
	 * the receiving program, which loses messages that find no receive WQE.
	 */
	LIMIT_PACE_BYTES_PER_MS = 1 << 19,
	LIMIT_PACE_BURST_BYTES = 1 << 18,
	LIMIT_PACE_MESSAGE_BYTES = 2048,

	/* UC has no replies that tell a copy or a late packet from a new beginning; packets at most
	 * so far behind count as copies or late packets. */
	LIMIT_UC_LATE_PACKETS = 4096,

	/* A new connection does not send so many packets before one of them arrives. Of 256 pairs
	 * of random PSNs one is nearer, and is not recognised. */
	LIMIT_FIRST_GAP_PACKETS = 1 << 16,

	/*
	 * Congestion control (congestion.h, cc_dcqcn.h), made for round trips of tens of
	 * microseconds: CNPs of a QP, decay and steps by time; rates in bytes a second. A sender
	 * that nobody notified for LIMIT_CC_FORGET_NS goes back to full speed.
	 */
	LIMIT_CNP_INTERVAL_NS = 50000,
	LIMIT_CC_ALPHA_NS = 55000,
	LIMIT_CC_ALPHA_DIVISOR = 16,
	LIMIT_CC_INCREASE_NS = 300000,
	LIMIT_CC_INCREASE_BYTES = 10000000,
	LIMIT_CC_ADDITIVE_INCREASE = 5000000,
	LIMIT_CC_HYPER_INCREASE = 50000000,
	LIMIT_CC_LEAST_RATE = 1000000,
	LIMIT_CC_UNPROVEN_DIVISOR = 16,	 /* as if so many senders shared a link */
	LIMIT_CC_LINE_RATE = 1250000000, /* where the interface tells of none */
	LIMIT_CC_BURST_NS = 50000,
	LIMIT_CC_FORGET_NS = 1000000000,

	LIMIT_PKEYS = RNIC_PKEYS_MAX,

	LIMIT_MCAST_GROUPS = 64,
	LIMIT_MCAST_MEMBERS = RNIC_MCAST_MEMBERS_MAX,

	/*
	 * Send WQEs for which each QP has slots, and the rooms with more slots that busy QPs
	 * borrow (send_rooms.h).
	 */
	LIMIT_SEND_OWN_WQES = 16,
	LIMIT_SEND_LARGE_ROOMS = 4,
	LIMIT_SEND_LARGE_ROOM_WQES = 512,
	LIMIT_SEND_SMALL_ROOMS = 8,
	LIMIT_SEND_SMALL_ROOM_WQES = 64,
	LIMIT_SEND_ROOM_SGES = 2048, /* of each */

	/* Receive WQEs that the engine holds of a QP or SRQ before the engine asks the client's
	 * ring again. */
	LIMIT_RECV_PREFETCH = 8,

	LIMIT_XRCD_PAIRS = 1 << 20, /* of a target QP and an SRQ: room for one entry each */
};

#endif
