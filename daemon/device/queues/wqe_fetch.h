/* SPDX-License-Identifier: MIT */
/*
 * The only reader of work entries that clients write. An entry is copied once, the copy is checked,
 * and what the engine gets was made from the copy.
 *
 * Wrong values become a work entry that the engine completes in error, as hardware does. Wrong
 * structure, an index beyond the ring, breaks the session.
 */
#ifndef DAEMON_DEVICE_QUEUES_WQE_FETCH_H
#define DAEMON_DEVICE_QUEUES_WQE_FETCH_H

#include "base/verbs_types.h"
#include "engine/objects/send_queue.h"
#include "shm/wqe.h"

#include <stdbool.h>
#include <stdint.h>

struct receive_ring;
struct recv_queue;
struct recv_wqe;
struct session_qp;
struct session_set;

/* An opcode that no service has: the engine completes the entry with LOC_QP_OP_ERR. */
#define WQE_FETCH_BAD_OPCODE RNIC_WR_OPCODE_COUNT

/*
 * Makes `wqe` from a copied entry of a QP of `type` with `capacities`. wqe->length is that of
 * inline data; the engine sums the SGEs. The address handle of a datagram is not known yet. A
 * malformed entry gets WQE_FETCH_BAD_OPCODE and no SGEs.
 */
void wqe_fetch_check_send(const struct rnic_send_wqe *entry, uint8_t type,
			  const struct rnic_qp_capacities *capacities, struct send_wqe *wqe);

/*
 * Makes `work` from a copied receive entry of a queue whose entries have at most `sge_max` SGEs.
 * Malformed entries become `invalid`.
 */
void wqe_fetch_check_recv(const struct rnic_recv_wqe *entry, uint32_t sge_max,
			  struct recv_wqe *wqe);

/* Puts `qp` on the list of those whose send ring is looked at. An XRC target has no rings: of those
 * nothing is scheduled, reviewed or forgotten. */
void wqe_fetch_schedule(struct session_qp *qp);

/* Notes that `qp` may be in ERR, where receive entries must be flushed as they are posted. */
void wqe_fetch_review(struct session_qp *qp);

/*
 * Takes at most `budget` send entries of `qp`, as many as the engine has room for. Returns how
 * many; the QP leaves the list when its ring is empty.
 */
uint32_t wqe_fetch_take_sends(struct session_qp *qp, uint32_t budget);

/* Whether the engine has room for an entry of `qp`, which is on the list: those without wait for
 * it. */
bool wqe_fetch_is_possible(const struct session_qp *qp);

/* Receive entries in the client's ring that the engine has not asked for yet; 0 when its index
 * lies. */
uint32_t wqe_fetch_waiting_recvs(const struct receive_ring *ring);

/* The refill callback of struct engine_sink; `context` is the session_set, queue->user a
 * receive_ring. */
bool wqe_fetch_refill(void *context, struct recv_queue *queue);

/* The posted and watch callbacks. */
uint32_t wqe_fetch_posted(void *context, const struct recv_queue *queue);
void wqe_fetch_watch(void *context, struct recv_queue *queue);

/* Looks at the QPs noted by wqe_fetch_review(), flushes receive entries of those in ERR, and has
 * peers told of receive entries that they wait for. */
void wqe_fetch_run_reviews(struct session_set *set);

/*
 * A QP went to RESET: what its rings hold is forgotten. The rings' indices go on counting, while
 * the engine begins at 0 again. Breaks the session when an index is beyond its ring.
 */
void wqe_fetch_reset(struct session_qp *qp);

#endif
