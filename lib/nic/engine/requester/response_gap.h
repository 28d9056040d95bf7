/* SPDX-License-Identifier: MIT */
/*
 * Responses behind a gap: those of READs, atomics, FLUSHes and ATOMIC WRITEs. The requester keeps
 * copies (kept.h), takes them in PSN order once the gap has closed, and asks again for what is
 * missing only. IBTA has no word on what a requester keeps: its peer sees READ requests for a part
 * of an earlier READ (IBTA 1.4, 9.7.5.1 and C9-110), as after a timeout.
 *
 * A request is judged when the end of its answer has come, or a response behind that end: before,
 * the answer may still be under way. What is missing from its first hole to its last one is asked
 * for by one request, once: a responder like ours has one answer of each READ under way, and Linux
 * rxe forgets what lies before the part that it was asked for.
 *
 * What is lost again shows by the silence behind it: a tail probe or the ACK timeout follows.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_RESPONSE_GAP_H
#define LIB_NIC_ENGINE_REQUESTER_RESPONSE_GAP_H

#include "lib/nic/engine/qp_state.h"
#include "proto/wire/packet.h"

/*
 * Keeps the response `packet`, which fits its request and lies behind one that is missing. False:
 * there is no room, or the peer was silent for too long, and all is to be asked for again.
 */
bool response_gap_keep(struct qp *qp, const struct rnic_packet *packet);

/* What is to be asked for again, [*start, *end). False: nothing. */
bool response_gap_find_due(struct qp *qp, struct rnic_psn *start, struct rnic_psn *end);

/* The caller has sent the request for what response_gap_find_due() named. */
void response_gap_asked(struct qp *qp);

#endif
