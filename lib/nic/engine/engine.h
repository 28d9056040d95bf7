/* SPDX-License-Identifier: MIT */
/*
 * The RNIC as a machine without I/O, clock, threads or allocation on the data path. It is pushed
 * packets, pulled for packets, and told the time; whoever drives it owns it and calls it from one
 * thread. Nothing in it is global, so a process can hold many.
 *
 *     engine_receive() ...   engine_flush()          a batch in, then its payload and completions
 *     engine_transmit() ...  engine_packets_read()   a batch out, once its payload was read
 *     engine_tick()                                  at engine_next_deadline_ns()
 *
 * Objects (PD, MR, CQ, QP, AH) are made and destroyed by their own headers' calls between those,
 * never from within a sink callback.
 */
#ifndef NIC_ENGINE_ENGINE_H
#define NIC_ENGINE_ENGINE_H

#include "base/key_table.h"
#include "base/list.h"
#include "base/prng.h"
#include "base/timer_heap.h"
#include "engine/counters.h"
#include "engine/limits.h"
#include "engine/objects/mr.h"
#include "engine/reliability/pace.h"
#include "engine/objects/pkey.h"
#include "engine/objects/placement.h"
#include "mem/memory_batch.h"
#include "wire/packet.h"

#define RNIC_ENGINE_GIDS 32 /* RNIC_GIDS_MAX of the control protocol */

struct cq;
struct qp;
struct recv_queue;

/* What the engine tells its owner. Callbacks must not call the engine, except as noted. */
struct engine_sink {
	/* A completion for `cq`. All bytes that it speaks of are in place. Returns false when the
	 * CQ is full: the completion is lost, and the engine brings CQ and QPs into error
	 * (IBTA 1.4, C11-39). */
	bool (*cqe)(void *context, struct cq *cq, const struct cqe *cqe);
	/* An asynchronous event about `object`: a struct qp, cq or srq, by the event's type. */
	void (*async_event)(void *context, enum rnic_async_event_type type, void *object);
	/* `queue` has run empty and the client's ring may hold more: call recv_queue_push() for
	 * each new entry while it accepts. Returns false when the ring was empty too. */
	bool (*refill)(void *context, struct recv_queue *queue);
	/* How many entries the client's ring holds for `queue` that were not pushed yet. NULL when
	 * the owner cannot tell: no credits are sent then, watch() is not called, and SRQs have no
	 * limit. */
	uint32_t (*posted)(void *context, const struct recv_queue *queue);
	/* The peer was told that `queue` and the ring are empty: call credits_posted() once the
	 * ring holds an entry, which it may do already. */
	void (*watch)(void *context, struct recv_queue *queue);
	/* The first QP was attached to the multicast group `group`, whose datagrams are wanted from
	 * now on, or (`is_wanted` false, the result is ignored) the last one has left it. A
	 * negative errno when they cannot be had: the QP is not attached then. */
	int (*multicast)(void *context, const struct rnic_gid *group, bool is_wanted);
	/* Something is wrong with `qp` that was not before, as its `last_error` says: it is in
	 * error, or a packet for it was dropped. NULL when the owner does not want to know. */
	void (*trouble)(void *context, const struct qp *qp);
};

struct engine_config {
	const struct engine_sink *sink;
	void *sink_context;
	uint64_t seed; /* of QPNs, keys and PSNs: unpredictable in production, chosen in tests */
	uint32_t max_qps;
	uint32_t max_mrs;	 /* regions and windows together */
	uint32_t port_mtu_bytes; /* the longest payload of a datagram; 0: 4096 */
	uint64_t line_rate;	 /* bytes a second; 0: LIMIT_CC_LINE_RATE */
	bool has_ecn;		 /* congestion.h */
};

struct engine {
	struct engine_config config;
	struct prng prng;
	struct key_table qps;	       /* QPN -> struct qp */
	struct key_table mrs;	       /* key >> 8 -> struct mr, of regions and windows */
	struct key_table srqs;	       /* number -> struct srq */
	struct timer_heap timers;      /* struct qp.retry */
	struct timer_heap pace_timers; /* struct qp.congestion */
	struct list ready;	       /* QPs that may have a packet to send, in order of service */
	struct list windows;	       /* struct peer_window */
	struct list built;	       /* QPs that engine_packets_read() is to see */
	struct list mcast_groups;      /* struct mcast_group */
	uint32_t mcast_group_count;
	struct pace pace;
	uint32_t quantum;	    /* packets that the QP at the head has sent in its turn */
	struct memory_batch writes; /* inbound payload on its way to client memory */
	struct placement placement; /* and what waits for it */
	struct rnic_gid gids[RNIC_ENGINE_GIDS]; /* our own addresses, by GID index; zero is empty */
	uint16_t pkeys[LIMIT_PKEYS];		/* by P_Key index; 0 is empty */
	uint64_t counters[COUNTER_COUNT];
	struct mr_refusal refusal; /* the last one */
	uint64_t now_ns;	   /* of the call under way */
};

/* A piece of payload: of a client region, or (inline data) of the engine's own memory. */
struct payload_piece {
	struct client_region *region; /* NULL: `inline_bytes` is valid */
	union {
		uint64_t offset;
		const uint8_t *inline_bytes;
	};
	uint32_t length;
};

/*
 * A packet that the engine wants sent: headers in `packet` (its `payload` is unused,
 * `payload_bytes` is the sum of the pieces), payload by reference. The references are good until
 * the next call of any engine function other than engine_transmit().
 */
struct packet_builder {
	struct rnic_packet packet;
	uint32_t piece_count;
	struct payload_piece pieces[LIMIT_SGES + 1];
	struct qp *qp; /* the sender, for engine_payload_failed() */
};

/* Sets up `engine`, in the caller's memory. -ENOMEM, -EINVAL for a zero maximum. */
int engine_init(struct engine *engine, const struct engine_config *config);

/* All objects must have been destroyed (asserted). */
void engine_fini(struct engine *engine);

/* Our address at `index`, zero: none; the sender's address of QPs whose path names that index. */
void engine_set_gid(struct engine *engine, uint32_t index, const struct rnic_gid *gid);

/*
 * The index of the address from which what came to `dest` is answered: its own, or for a multicast
 * group's the first of its family. 0 when there is none.
 */
uint32_t engine_gid_index(const struct engine *engine, const struct rnic_gid *dest);

/* The partition key at `index`, 0 for none. At first there is PKEY_DEFAULT at index 0. */
void engine_set_pkey(struct engine *engine, uint32_t index, uint16_t pkey);

/* The longest payload of a datagram from now on, for queue pairs that become ready to receive. */
void engine_set_port_mtu(struct engine *engine, uint32_t port_mtu_bytes);

/* One packet in, its ICRC found right. `packet->payload` must stay valid until engine_flush(). */
void engine_receive(struct engine *engine, const struct rnic_packet *packet, uint64_t now_ns);

/*
 * Puts all payload received so far into client memory and delivers the completions that waited for
 * it. To be called after a batch of engine_receive() and before the buffers they came in are used
 * again. Failures become NAKs and QP errors.
 */
void engine_flush(struct engine *engine, uint64_t now_ns);

/*
 * Builds at most one packet; false when nothing may be sent now. Successive packets of one QP and
 * one message tend to follow each other, so that the caller can send them as one segmented
 * datagram.
 */
bool engine_transmit(struct engine *engine, struct packet_builder *out, uint64_t now_ns);

/*
 * The payload of a packet from engine_transmit() could not be read from client memory (-EFAULT,
 * -ESRCH). The packet must not be sent, nor any of the same QP that was built after it. A request's
 * work entry completes in error, a READ response turns into a NAK.
 */
void engine_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn,
			   bool is_response, int error, uint64_t now_ns);

/*
 * The payload of all packets from engine_transmit() was read, and failures were reported: messages
 * that nobody acknowledges (UC, UD) are done now, and their buffers the client's again; windows are
 * bound and keys invalidated whose turn has come. To be called after each batch of
 * engine_transmit(), also when that built nothing.
 */
void engine_packets_read(struct engine *engine, uint64_t now_ns);

/* The earliest instant at which engine_tick() has something to do; UINT64_MAX when none. */
uint64_t engine_next_deadline_ns(const struct engine *engine);

/* Runs the timers that have expired. Never late, as often as the owner likes. */
void engine_tick(struct engine *engine, uint64_t now_ns);

/* The addresses of a packet that leaves by `path`. */
struct rnic_addresses engine_addresses(const struct engine *engine, const struct rnic_path *path);

/*
 * For the roles of a QP: makes `out` a packet of `qp` to its peer, with addresses and base header,
 * all else zero, and no pieces. The opcode must exist (asserted).
 */
void engine_start_packet(struct qp *qp, struct packet_builder *out, enum rnic_operation operation,
			 enum rnic_position position, uint16_t headers, struct rnic_psn psn);

/* Whether engine_transmit() may have something to build. */
static inline bool engine_has_ready(const struct engine *engine)
{
	return !list_is_empty(&engine->ready);
}

#endif
