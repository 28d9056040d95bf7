/* SPDX-License-Identifier: MIT */
/* Every capacity, default and bound of the engine and of the loop that drives it. */
#ifndef NIC_ENGINE_LIMITS_H
#define NIC_ENGINE_LIMITS_H

enum {
	LIMIT_QPS = 65536,
	LIMIT_CQS = 65536,
	LIMIT_MRS = 1 << 20,
	LIMIT_MWS = 1 << 20,
	LIMIT_PDS = 65536,
	LIMIT_SRQS = 65536,
	LIMIT_WR_DEPTH = 32768, /* RNIC_WR_DEPTH_MAX */
	LIMIT_SGES = 32,
	LIMIT_INLINE_BYTES = 512,
	LIMIT_RD_ATOMIC = 128, /* outstanding READs and atomics of a QP, either side */
	LIMIT_CQ_ENTRIES = 1 << 22,
	LIMIT_LOCAL_ACK_DELAY =
		10, /* 4.096 us * 2^10 = 4.2 ms: an upper bound of our answers' delay */

	/* Packets of one QP that engine_transmit() builds before it turns to the next QP. */
	LIMIT_QP_QUANTUM = 32,

	/*
	 * Bytes under way to one destination that nobody acknowledged yet, over all RC QPs. Bounded
	 * so that they fit a peer's socket buffer even when its daemon does not run for a while;
	 * see peer_window.h.
	 */
	LIMIT_PATH_WINDOW_BYTES = 1 << 20,
	LIMIT_PATH_WINDOW_BYTES_LEAST = 16384,

	/* After so long without progress a QP's packets count as gone from the path, for its peer
	 * may be gone while its host is not. What goes to it then: as much as the greatest packet.
	 */
	LIMIT_SHARE_NS = 100000000,
	LIMIT_SILENT_PEER_BYTES = 4608,

	/* What a packet counts towards the window beside its payload: headers, and what a socket
	 * buffer charges for a packet of any size. */
	LIMIT_PACKET_OVERHEAD_BYTES = 512,

	/*
	 * A READ longer than this goes out as several READ requests, which bounds what a responder
	 * may send at once as the window bounds what we send. Where the window is smaller, one goes
	 * when nothing else is under way. With LIMIT_QP_WINDOW_PACKETS it also keeps a READ of any
	 * length from having more PSNs under way than can be told apart.
	 */
	LIMIT_READ_CHUNK_BYTES = 256 * 1024,

	/* Unacknowledged packets of a requester: PSNs of half the space must never be under way. */
	LIMIT_QP_WINDOW_PACKETS = 4096,

	/* So long a requester without credits waits for the peer to tell of some; see credits.h. */
	LIMIT_CREDIT_PROBE_NS = 1000000,

	/* A requester asks for an acknowledgement at least every this many packets. */
	LIMIT_PACKETS_PER_ACK_REQUEST = 32,

	/*
	 * UC and UD traffic of all QPs together, which nobody acknowledges: what may leave in a
	 * millisecond and at once, counted like the window. A message counts more, for what it
	 * costs the receiving program, which loses those that find no receive entry.
	 */
	LIMIT_PACE_BYTES_PER_MS = 1 << 19,
	LIMIT_PACE_BURST_BYTES = 1 << 18,
	LIMIT_PACE_MESSAGE_BYTES = 2048,

	/* UC has no replies that tell a copy or a late packet from a new beginning; packets so far
	 * behind at most are taken for the former. */
	LIMIT_UC_LATE_PACKETS = 4096,

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
	LIMIT_CC_LINE_RATE = 1250000000, /* where the interface tells of none */
	LIMIT_CC_BURST_NS = 50000,
	LIMIT_CC_FORGET_NS = 1000000000,

	LIMIT_PKEYS = 16, /* RNIC_PKEYS_MAX */

	LIMIT_MCAST_GROUPS = 64,
	LIMIT_MCAST_MEMBERS = 256, /* RNIC_MCAST_MEMBERS_MAX */

	/* Receive entries that the engine holds of a QP or SRQ before it asks the client's ring
	 * again. */
	LIMIT_RECV_PREFETCH = 8,

	/* One turn of the loop: datagrams received, send queues visited, entries taken of each, and
	 * packets built. Small enough that no client waits long for another. */
	LIMIT_TURN_RECEIVES = 256,
	LIMIT_TURN_QUEUES = 256,
	LIMIT_TURN_QUEUE_ENTRIES = 64,
	LIMIT_TURN_TRANSMITS = 256,
	LIMIT_TURN_SERVICE_TRANSMITS =
		64, /* of them for QP 1, so that no flood of questions leaves no room */
	LIMIT_TURN_FLUSHES = 16384, /* receive entries of queue pairs in error, of all clients */
	LIMIT_TURN_TEARDOWN = 1024, /* of what ended clients owned, as teardown.c counts */
	LIMIT_TURN_REQUESTS = 16,   /* control requests, but one of each connection at least */
	LIMIT_TURN_REQUESTS_NS = 1000000, /* no more of any once they took so long */

	/* Completions that move to the new ring of a CQ that is resized: 4 MiB, and milliseconds.
	 */
	LIMIT_RESIZE_CQ_ENTRIES = 65536,

	/* Datagrams taken over before an address handle goes that they may name; and how many in a
	 * turn, of which a queue pair that is looked at counts as one. */
	LIMIT_DESTROY_AH_ENTRIES = 65536,
	LIMIT_TURN_DESTROY_AH_ENTRIES = 1024,

	LIMIT_TURN_RESUMED = 4, /* clients whose requests take more than one turn */

	/* A client that has not rung for so long is no longer looked at in each turn: it wakes us
	 * when it does. And clients that are told in a turn that traffic has become another. */
	LIMIT_DOORBELL_IDLE_NS = 10000000,
	LIMIT_TURN_TOLD = 16,

	/* A connection that has not said HELLO by then is ended: it holds one of LIMIT_SESSIONS. */
	LIMIT_HELLO_MS = 10000,

	/* How long a busy loop lets completions wait for a client that sleeps for them: waking it
	 * for each would take the time that the traffic needs. */
	LIMIT_POLL_WAKE_NS = 100000,

	/* Payload, both ways, and the time for it, from which on traffic is called bulk, and what a
	 * packet counts beside its payload; above what a ping-pong of small messages reaches. */
	LIMIT_BULK_BYTES = 1 << 18,
	LIMIT_BULK_PACKET_BYTES = 256,
	LIMIT_BULK_NS = 1000000,

	/* What one client may have. The device's limits above are for all together, of which all
	 * clients of one user have at most one part in LIMIT_USER_PART. */
	LIMIT_USER_PART = 2,
	LIMIT_SESSIONS = 4096,
	LIMIT_SESSION_PDS = 4096,
	LIMIT_SESSION_MRS = 1 << 18,
	LIMIT_SESSION_MWS = 1 << 18,
	LIMIT_SESSION_CHANNELS =
		4096, /* two for each of 1,000 identifiers of librdmacm, and more */
	LIMIT_SESSION_AHS = 65536,
	LIMIT_CHANNELS = 65536,
	LIMIT_SESSION_XRCDS = 256,
	LIMIT_XRCDS = 4096,
	LIMIT_XRCD_PAIRS = 1 << 20,   /* of a target QP and an SRQ: room for one entry each */
	LIMIT_SESSION_CM_IDS = 16384, /* RNIC_CM_IDS_MAX of the library */
	LIMIT_CM_IDS = 65536,
	LIMIT_AHS = 1 << 20,
	LIMIT_SESSION_MAPPED_FILES = 4096, /* of memory that it lends */
	LIMIT_MAPPED_FILES = 32768,
	/* Mappings that a process may have where the kernel does not tell (vm.max_map_count), and
	 * those of them that are no client's: of libraries, threads and the heap. */
	LIMIT_PROCESS_MAPPINGS = 65530,
	LIMIT_HEAP_MAPPINGS = 4096,
	LIMIT_OWN_MAPPINGS = LIMIT_HEAP_MAPPINGS + 1024,
	/* Descriptors (RLIMIT_NOFILE) that are no client's: of ports, of LIMIT_MCAST_GROUPS, and of
	 * a message that is looked at. */
	LIMIT_OWN_DESCRIPTORS = 448,
	LIMIT_SESSION_MAPPED_MIB = 1 << 20,
	LIMIT_MAPPED_MIB = 1 << 24,
	LIMIT_SESSION_MCAST_GROUPS = 32,
	LIMIT_SESSION_SHARED_MIB = 8192, /* of ring memory, which costs nothing until it is used */
	LIMIT_SHARED_MIB = 65536,
};

#endif
