/* SPDX-License-Identifier: MIT */
/*
 * WQE fetch: only this file reads the WQEs that clients write. It copies a WQE once, checks the
 * copy, and makes the engine's WQE from the copy.
 *
 * A wrong value gives a WQE that the engine completes in error, as hardware does. A wrong
 * structure, such as an index beyond the ring, breaks the session.
 */
#ifndef DAEMON_DEVICE_QUEUES_WQE_FETCH_H
#define DAEMON_DEVICE_QUEUES_WQE_FETCH_H

#include "lib/nic/engine/objects/send_queue.h"
#include "proto/base/verbs_types.h"
#include "proto/shm/wqe.h"

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct receive_ring;
struct recv_queue;
struct recv_room;
struct recv_wqe;
struct session_qp;
struct session_set;

/* An opcode that no service has: the engine completes the WQE with LOC_QP_OP_ERR. */
#define WQE_FETCH_BAD_OPCODE RNIC_WR_OPCODE_COUNT

/*
 * Makes `wqe` from a copied send WQE of a QP of `type` with `capacities`. wqe->length is the length
 * of inline data; the engine sums the SGEs. The address handle of a datagram is not known yet. A
 * malformed WQE gets WQE_FETCH_BAD_OPCODE and no SGEs.
 */
void wqe_fetch_check_send(const struct rnic_send_wqe *entry, uint8_t type,
			  const struct rnic_qp_capacities *capacities, struct send_wqe *wqe);

/*
 * Makes `wqe` from a copied receive WQE of a queue whose WQEs have at most `sge_max` SGEs. A
 * malformed WQE becomes `invalid`.
 */
void wqe_fetch_check_recv(const struct rnic_recv_wqe *entry, uint32_t sge_max,
			  struct recv_wqe *wqe);

/*
 * Puts `qp` on the list of QPs whose send ring a turn visits. An XRC target has no rings: schedule,
 * review and reset do nothing for it.
 */
void wqe_fetch_schedule(struct session_qp *qp);

/* Notes that `qp` may have posted receive WQEs to flush, or to tell its peer of. */
void wqe_fetch_review(struct session_qp *qp);

/*
 * Takes at most `budget` send WQEs of `qp`, as many as the engine has room for. Returns the number
 * taken. The QP leaves the list when its ring is empty, and while the engine has no room.
 */
uint32_t wqe_fetch_take_sends(struct session_qp *qp, uint32_t budget);

/* The send_space callback of struct engine_sink: puts the QP on the list again. */
void wqe_fetch_send_space(void *context, struct qp *qp);

/* Returns whether the engine has room for a WQE of `qp`, which is on the list. */
bool wqe_fetch_is_possible(const struct session_qp *qp);

/*
 * Return the number of WQEs in the client's ring that the engine has not taken yet; 0 when the
 * client's index is invalid.
 */
uint32_t wqe_fetch_waiting_sends(const struct session_qp *qp);
uint32_t wqe_fetch_waiting_recvs(const struct receive_ring *ring);

/* Returns whether one of the last `count` send WQEs that the client wrote asks for a completion. */
bool wqe_fetch_any_signaled(const struct session_qp *qp, uint32_t count);

/*
 * The refill callback of struct engine_sink; `context` is the session_set, queue->user is a
 * receive_ring.
 */
uint32_t wqe_fetch_refill(void *context, const struct recv_queue *queue,
			  const struct recv_room *room);

/* More callbacks of struct engine_sink. */
uint32_t wqe_fetch_posted(void *context, const struct recv_queue *queue);
void wqe_fetch_watch(void *context, struct recv_queue *queue);
void wqe_fetch_entered_error(void *context, struct qp *qp);

/*
 * Visits the QPs that wqe_fetch_review() noted: flushes receive WQEs of QPs in ERR, and tells peers
 * of posted receive WQEs that they wait for.
 */
void wqe_fetch_run_reviews(struct session_set *set);

/*
 * Forgets the contents of the rings after a QP went to RESET. The ring indices keep counting; the
 * engine begins at 0 again. Breaks the session when an index is beyond its ring.
 */
void wqe_fetch_reset(struct session_qp *qp);

#endif
