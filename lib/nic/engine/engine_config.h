/* SPDX-License-Identifier: MIT */
/* What the owner of an engine gives to it: the sink that the engine calls, and its sizes. */
#ifndef LIB_NIC_ENGINE_ENGINE_CONFIG_H
#define LIB_NIC_ENGINE_ENGINE_CONFIG_H

#include "lib/nic/base/random_source.h"
#include "proto/base/verbs_types.h"
#include "proto/wire/peer_ports.h"

#include <stdbool.h>
#include <stdint.h>

struct rnic_record_region;
struct cq;
struct cqe;
struct qp;
struct recv_queue;
struct recv_room;

/* What the engine tells its owner. Callbacks must not call the engine, except as noted. */
struct engine_sink {
	/* A completion for `cq`. All its payload is placed. Returns false when the CQ is full: the
	 * completion is lost, and the engine brings CQ and QPs into error (IBTA 1.4, C11-39). */
	bool (*cqe)(void *context, struct cq *cq, const struct cqe *cqe);
	/* An asynchronous event about `object`: a struct qp, cq or srq, by the event's type. */
	void (*async_event)(void *context, enum rnic_async_event_type type, void *object);
	/* `queue` has run empty and the client's ring may hold more: fill `room` from its start
	 * with the oldest WQEs of the ring. Returns how many, at most room->count; 0 when the ring
	 * is empty too. */
	uint32_t (*refill)(void *context, const struct recv_queue *queue,
			   const struct recv_room *room);
	/*
	 * How many WQEs the client's ring holds for `queue` that were not pushed yet. NULL when the
	 * owner cannot tell: no credits are sent then, watch() is not called, and SRQs have no
	 * limit.
	 */
	uint32_t (*posted)(void *context, const struct recv_queue *queue);
	/* The peer was told that `queue` and the ring are empty: call credits_posted() once the
	 * ring holds a WQE, which may be so already. */
	void (*watch)(void *context, struct recv_queue *queue);
	/* A WQE of `qp` has retired, and left space for another one: qp_await_send_space() asked
	 * to know. NULL when the owner never asks. */
	void (*send_space)(void *context, struct qp *qp);
	/* The first QP was attached to the multicast group `group`, whose datagrams are wanted from
	 * now on, or (`is_wanted` false, the result is ignored) the last one has left it. A
	 * negative errno when they cannot be had: the QP is not attached then. */
	int (*multicast)(void *context, const struct rnic_gid *group, bool is_wanted);
	/* `qp` has entered ERR: from now on WQEs that the client posts are for qp_flush_receives()
	 * and qp_post_send() to flush. Said once until the QP's RESET, before the completions. NULL
	 * when the owner does not want to know. */
	void (*entered_error)(void *context, struct qp *qp);
	/*
	 * The client of `qp` has ended, as its memory shows. Whether its queue pairs go on to
	 * refuse access for a while; if not, or NULL: peers hear nothing any more.
	 */
	bool (*refuses_when_gone)(void *context, const struct qp *qp);
	/* Something new is wrong with `qp`, as its `last_error` says: the QP is in error, or a
	 * packet for it was dropped. NULL when the owner does not want to know. */
	void (*trouble)(void *context, const struct qp *qp);
};

struct engine_config {
	const struct engine_sink *sink;
	void *sink_context;
	struct random_source random; /* of QPNs and keys */
	uint64_t table_seed; /* of their tables; a secret number where clients are not trusted */
	uint8_t lane;	     /* of all QPNs, RNIC_LANE_NONE or FIRST .. LAST: lane.h */
	uint32_t max_qps;
	uint32_t max_mrs;	 /* regions and windows together */
	uint32_t port_mtu_bytes; /* the longest payload of a datagram; 0: 4096 */
	uint32_t kept_packets;	 /* behind gaps, at most, over all QPs (kept.h); 0: none */
	uint64_t line_rate;	 /* bytes a second; 0: LIMIT_CC_LINE_RATE */
	bool has_ecn;		 /* congestion.h */
	enum rnic_peer_ports peer_ports;
	struct rnic_record_region *record; /* zeroed; NULL: nothing is recorded */
};

#endif
