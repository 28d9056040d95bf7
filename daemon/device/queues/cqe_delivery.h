/* SPDX-License-Identifier: MIT */
/*
 * From the engine to the client: completions into CQ rings, events into pipes. This file is the
 * only reader of a client's consumer index and of its arming of a CQ, and it believes neither: the
 * producer is ours, a consumer beyond it breaks the session.
 *
 * Completions are published at once, so that a polling client sees them without delay; whom to wake
 * is decided once for each CQ at the end of a turn.
 */
#ifndef DAEMON_DEVICE_QUEUES_CQE_DELIVERY_H
#define DAEMON_DEVICE_QUEUES_CQE_DELIVERY_H

#include "base/verbs_types.h"

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
 * An event of the port, for all clients: PORT_ACTIVE, PORT_ERR or GID_CHANGE. Of the first two a
 * client whose pipe is full is told the later one only.
 */
void cqe_delivery_port_event(struct session_set *set, enum rnic_async_event_type type);

/*
 * Entries of `cq` that the client has not polled, from its consumer index as it is now. Negative
 * -EPROTO after breaking the session, when that index is ahead of the producer or a ring behind it.
 */
int64_t cqe_delivery_used(struct session_cq *cq);

/* For listings: entries not polled (0 when the client's index lies), and how the CQ is armed. */
uint32_t cqe_delivery_peek(const struct session_cq *cq, uint32_t *armed);

/*
 * Wakes the clients whose CQs were armed and written to, and writes the events that pipes have room
 * for. Clients that sleep in a poll are woken too, but while the loop `is_busy` only after
 * LIMIT_POLL_WAKE_NS: the caller calls again, and once without `is_busy` before it sleeps. All
 * clients are told of set->is_bulk, LIMIT_TURN_TOLD of them in a turn.
 */
void cqe_delivery_run(struct session_set *set, bool is_busy);

/* The client may have read from its pipes that were full: writes what waits. */
void cqe_delivery_retry(struct session *session);

#endif
