/* SPDX-License-Identifier: MIT */
/*
 * CQE delivery: carries completions from the engine into CQ rings, and events into pipes. Only this
 * file reads a client's consumer index and the client's arming of a CQ. It trusts neither: the
 * daemon owns the producer index, and a consumer index beyond the producer breaks the session.
 *
 * Delivery publishes a CQE at once, so that a polling client sees it without delay. An error waits
 * for the end of the turn, and so do the CQEs behind it: a client that sees an error may leave the
 * connection, and before that the packet must leave that tells the peer of the error. Delivery
 * decides once for each CQ, at the end of a turn, which clients to wake.
 */
#ifndef DAEMON_DEVICE_QUEUES_CQE_DELIVERY_H
#define DAEMON_DEVICE_QUEUES_CQE_DELIVERY_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct cqe;
struct cq;
struct session;
struct session_cq;
struct session_set;

/* Callbacks of struct engine_sink; `context` is the session_set. */
bool cqe_delivery_cqe(void *context, struct cq *cq, const struct cqe *cqe);
void cqe_delivery_async_event(void *context, enum rnic_async_event_type type, void *object);

/*
 * Delivers an event of the port to all clients: PORT_ACTIVE, PORT_ERR or GID_CHANGE. A client with
 * a full pipe gets only the later one of PORT_ACTIVE and PORT_ERR.
 */
void cqe_delivery_port_event(struct session_set *set, enum rnic_async_event_type type);

/*
 * Returns the number of CQEs in `cq` that the client has not polled, by the client's current
 * consumer index. Breaks the session and returns -EPROTO when that index is ahead of the producer,
 * or further behind than the ring is long.
 */
int64_t cqe_delivery_used(struct session_cq *cq);

/*
 * From now on the CQE of number `index` has slot 0. The queue must be empty, or its region new. The
 * next CQE that is published makes the word visible to the client (ring.h, 7).
 */
void cqe_delivery_set_slot_zero(struct session_cq *cq, uint32_t index);

/*
 * For listings: returns the number of unpolled CQEs (0 when the client's index is invalid), and
 * stores how the CQ is armed.
 */
uint32_t cqe_delivery_peek(const struct session_cq *cq, uint32_t *armed);

/*
 * Publishes the CQEs that waited. Wakes the clients of armed CQs that have new CQEs, and writes the
 * events for which the pipes have room. Also wakes the clients that sleep in a poll, but while the
 * loop `is_busy` only after LIMIT_POLL_WAKE_NS: the caller calls again, and once without `is_busy`
 * before the caller sleeps.
 */
void cqe_delivery_run(struct session_set *set, bool is_busy);

/* Writes the waiting events when the client may have read from its full pipes. */
void cqe_delivery_retry(struct session *session);

#endif
