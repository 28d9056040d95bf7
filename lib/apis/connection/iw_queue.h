/* SPDX-License-Identifier: MIT */
/*
 * The record of one work queue: the requests under way, their kinds, and the completions that the
 * caller has not awaited. Bookkeeping only: other files post and poll.
 *
 * Invariant: a request holds a place from posting until it is retired and, if it is reportable,
 * awaited. There are never more than `depth` requests besides probes, so that every pushed entry
 * has room.
 */
#ifndef LIB_APIS_CONNECTION_IW_QUEUE_H
#define LIB_APIS_CONNECTION_IW_QUEUE_H

#include <rnic/connection.h>

/* Probes that may be under way beside the caller's requests. */
#define RNIC_IW_QUEUE_PROBES 2

enum rnic_iw_kind {
	RNIC_IW_TOLD,	/* the caller awaits it, in success and failure */
	RNIC_IW_SILENT, /* reported only when it fails */
	RNIC_IW_ADVERT, /* a receive for an advertisement */
	RNIC_IW_PROBE,	/* not the caller's */
};

struct rnic_iw_request {
	uint64_t number; /* among the caller's requests */
	enum rnic_iw_kind kind;
};

/* An advertisement that has arrived, or the reason why none did. */
struct rnic_iw_advert {
	struct iw_rmr rmr;
	int error;
};

struct rnic_iw_queue {
	uint32_t depth;
	uint32_t slots;
	uint64_t posted; /* requests since the reset of the queue; the next one's sequence number */
	uint64_t retired;
	uint64_t signaled; /* some request raises a completion up to this number */
	uint64_t numbered; /* the caller's requests */
	uint32_t told;	   /* requests of kind TOLD that are under way */
	uint32_t adverts_awaited;
	struct rnic_iw_request *requests; /* by sequence number, modulo slots */
	struct iw_wc *ready;
	uint32_t ready_first;
	uint32_t ready_count;
	struct rnic_iw_advert *adverts;
	uint32_t advert_first;
	uint32_t advert_count;
};

/* -ENOMEM. */
int rnic_iw_queue_init(struct rnic_iw_queue *queue, uint32_t depth);
void rnic_iw_queue_fini(struct rnic_iw_queue *queue);

/* Forgets all requests: the queue pair is gone. */
void rnic_iw_queue_reset(struct rnic_iw_queue *queue);

/* Requests that are not retired. */
static inline uint32_t rnic_iw_queue_pending(const struct rnic_iw_queue *queue)
{
	return (uint32_t)(queue->posted - queue->retired);
}

/* Whether one more request of this kind has a place. */
bool rnic_iw_queue_has_room(const struct rnic_iw_queue *queue, enum rnic_iw_kind kind);

/*
 * Whether the next request must raise a completion, so that the silent requests before it retire.
 */
bool rnic_iw_queue_wants_signal(const struct rnic_iw_queue *queue);

/* Records that the request with the sequence number queue->posted was posted; there was room. */
void rnic_iw_queue_add(struct rnic_iw_queue *queue, enum rnic_iw_kind kind, bool is_signaled);

/*
 * Records that the request `sequence` and all before it have completed. False: no such request is
 * under way, which a correct daemon never reports.
 */
bool rnic_iw_queue_retire(struct rnic_iw_queue *queue, uint64_t sequence,
			  struct rnic_iw_request *request);

void rnic_iw_queue_push(struct rnic_iw_queue *queue, const struct iw_wc *wc);
void rnic_iw_queue_push_advert(struct rnic_iw_queue *queue, const struct rnic_iw_advert *advert);

/* Takes the oldest; there is one. */
struct iw_wc rnic_iw_queue_pop(struct rnic_iw_queue *queue);
struct rnic_iw_advert rnic_iw_queue_pop_advert(struct rnic_iw_queue *queue);

#endif
