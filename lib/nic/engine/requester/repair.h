/* SPDX-License-Identifier: MIT */
/*
 * Repair: after a sequence NAK, the requester sends the missing packets again, and not all that it
 * sent behind them. IBTA lets a responder keep what came behind a gap (an acknowledgement covers
 * all before it, IBTA 1.4, 9.7.5.1), and does not ask it to; the requester sees which it does.
 *
 *     peer    | the repair's acknowledgement | what follows
 *     --------+------------------------------+------------------------------------------------
 *     UNKNOWN | names just the repair        | the peer DROPS: all again from there
 *             | names more                   | the peer KEEPS
 *     KEEPS   | names just the repair        | the hole is longer: a longer repair, and after
 *             |                              | the longest the peer DROPS
 *             | names more                   | done
 *     DROPS   | names more than was sent     | the peer KEEPS
 *             | since a sequence NAK         |
 *
 * While the peer is UNKNOWN, new packets wait for the acknowledgement: to a peer that drops they
 * would go for nothing. Such a peer costs one round trip once in a connection.
 *
 * To a peer that tells its holes (holes.h) the requester sends what is missing at once: repairs do
 * not grow by steps, and new packets do not wait. A hole that is told again after a round trip is
 * sent again.
 *
 * A repair moves no send position, takes no part of the peer window, and goes by the pace. One that
 * is lost again shows by the silence behind it: a tail probe or the ACK timeout follows. A repair
 * ends before a READ or an atomic, and there the requester goes back: the peer keeps neither.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_REPAIR_H
#define LIB_NIC_ENGINE_REQUESTER_REPAIR_H

#include "lib/nic/engine/qp_state.h"

#include <stdbool.h>

/*
 * A sequence NAK names the oldest packet that is not acknowledged. True: that packet is sent again;
 * false: all is to be sent again.
 */
bool repair_begin(struct qp *qp);

/* An acknowledgement came, and a repair is under way. */
void repair_acknowledged(struct engine *engine, struct qp *qp);

/* A READ or atomic was answered, and a repair is under way: no gap is left before the answer. */
void repair_answered(struct qp *qp);

/* Passes over what was acknowledged meanwhile; then the repair may not be due any more. */
void repair_skip_acknowledged(struct qp *qp);

/*
 * A report of holes came: what is missing is sent again. True: the peer was silent for so long that
 * its share was given back, so that all is to be sent again. It sends no second NAK.
 */
bool repair_take_report(struct qp *qp, const struct rnic_packet *packet);

/* The packet `next` has left. True: it is the last of its hole. */
bool repair_sent(struct engine *engine, struct qp *qp);

/* Whether a packet is to be sent again. */
static inline bool repair_is_due(const struct qp *qp)
{
	return !rnic_psn_equal(qp->requester.repair.next, qp->requester.repair.end);
}

/* Whether a packet of a repair, the offer to tell holes, or a request for responses that are
 * missing leaves before all else. */
static inline bool repair_has_turn(const struct qp *qp)
{
	return repair_is_due(qp) || qp->requester.repair.owes != 0;
}

/* Whether acknowledgements and responses wait for packets that were sent again. */
static inline bool repair_is_awaited(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;

	return requester->repair.is_under_way || qp->kept_responses.first != NULL ||
	       (requester->repair.is_told &&
		rnic_psn_distance(requester->repair.told_end, requester->unacknowledged) > 0);
}

/* Whether new packets wait until the peer has shown what it does. */
static inline bool repair_holds(const struct qp *qp)
{
	return qp->requester.repair.is_under_way &&
	       qp->requester.repair.peer == REPAIR_PEER_UNKNOWN;
}

#endif
