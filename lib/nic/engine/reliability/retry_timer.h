/* SPDX-License-Identifier: MIT */
/*
 * The timer of a requester, one timer for whatever the requester waits for (enum retry_timer). With
 * RC and XRC the timer stands for one of the first five, with UC and UD, which send nothing twice,
 * for the last. What follows when it expires: retry.h.
 *
 * Local ACK timeout (IBTA 1.4, 9.7.6.1): runs while anything is unacknowledged, from the last
 * progress or the last transmission of the oldest packet. When it expires, everything
 * unacknowledged goes out again, on a long path after one more tail probe, which takes the place
 * of the first time; each expiry without progress uses up one retry. The encoded
 * timeout is a least value, and counts the answer delay of the peer: ours is that value, but not
 * less than the delay a device like this one announces (LIMIT_LOCAL_ACK_DELAY), doubled for each
 * expiry in a row, and on a long path as long as answers take; up to four times in all, which is as
 * long as it may last. Code 0 means no timeout; then,
 * and whenever the timeout is longer, the share of the path's window is given back after
 * LIMIT_SHARE_NS without progress, on a long path after the time of two answers. From then on, and
 * after any expiry, the peer counts as silent until there is progress: only probes go to it,
 * packets that ask for an acknowledgement and neither take part of the window nor wait for it,
 * LIMIT_SILENT_PEER_BYTES each time, and its silence says nothing more of the path. So the QPs of a
 * program that has ended hold up no others to the same host, nor each other.
 *
 * Tail: runs in the place of the ACK timer, and the ACK timer after it. A lost last packet leaves
 * no gap that the peer could see, and a peer sends the NAK of a gap only once: without more, each
 * such loss would cost the ACK timeout. So after a silence of round_trip_wait_ns(), on a path that
 * opens of four round trips, since the peer was asked for an acknowledgement and since the last
 * progress, a tail probe goes: the oldest
 * unacknowledged packet and the last packet sent (one packet where these are the same), once more
 * and with AckReq set. The peer takes the oldest packet, or acknowledges the duplicate (IBTA 1.4,
 * 9.7.5.1.1), and is ready to send a NAK again once the packet came that it waits for. The last
 * packet is acknowledged then, or shows a gap. If an answer falls short of the last packet, that
 * packet came while the peer still waited, and the probe goes on at once from what is the oldest
 * now. Of a READ, the probe asks for the responses from the oldest that is
 * missing. Where the last packet is of a READ, the probe ends with the oldest packet: a peer such
 * as Linux rxe that is asked for the end of a READ alone does not send its beginning any more. The
 * peer executes a READ again, and sends the result of an atomic again.
 *
 * To the peer, a probe is copies such as a network makes. A probe moves no send position, uses up
 * no retry and no credit, and takes no part of the window. LIMIT_TAIL_PROBES go without progress,
 * the second after twice the wait. None goes before a round trip was measured, to a silent peer,
 * during the RNR timer, or when the ACK timer would expire before. The ACK timeout ends as if
 * there were no probes.
 *
 * Window: runs while nothing is under way because others have the path's window, as long as the ACK
 * timeout or LIMIT_SHARE_NS; one probe may go then. So a QP that waits behind such QPs hears of its
 * peer, or finds the peer silent too.
 *
 * RNR timer (IBTA 1.4, 9.7.5.2.8): runs after an RNR NAK for the time that the NAK carries; nothing
 * is sent before. Uses up RNR retries, of which 7 means without end, and gives the other retries
 * back, since the peer is there. Progress gives all retries back.
 *
 * Credits: runs while nothing is under way and the next message needs a credit that the peer has
 * not given, for LIMIT_CREDIT_PROBE_NS; a probe is sent then (credits.h).
 *
 * Pace: runs until unacknowledged traffic may go on (pace.h).
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_RETRY_TIMER_H
#define LIB_NIC_ENGINE_RELIABILITY_RETRY_TIMER_H

#include "lib/nic/engine/reliability/reliability_state.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;

/* Packets of a tail probe: the oldest that is not acknowledged, and the last request. */
#define RETRY_TIMER_TAIL_PACKETS 2

void retry_timer_init(struct qp *qp);

/* All retries again; called on entering RTS and on progress. */
void retry_timer_progress(struct engine *engine, struct qp *qp);

/* The packet at the send position is sent next, and asks for an acknowledgement. */
void retry_timer_ask(struct engine *engine, struct qp *qp);

/* A packet was sent: the ACK timer starts unless another runs that does not give way. */
void retry_timer_packet_sent(struct engine *engine, struct qp *qp);

/* The packet is a probe, of `bytes` as they count towards a window. */
void retry_timer_probe_sent(struct qp *qp, uint32_t bytes);

/*
 * Starts `timer` to expire at `deadline_ns`, in place of what runs; a timer that the table keeps
 * runs on to its own deadline.
 */
void retry_timer_start(struct engine *engine, struct qp *qp, enum retry_timer timer,
		       uint64_t deadline_ns);

/* UC and UD, which have neither timeout: sends on at `ready_ns` (pace_line.h). */
void retry_timer_pace(struct engine *engine, struct qp *qp, uint64_t ready_ns);

/* Nothing is under way, and there is no credit: allows a probe after a while. */
void retry_timer_wait_for_credit(struct engine *engine, struct qp *qp);

/* Nothing is under way, and the path's window is in use: allows a probe after a while. */
void retry_timer_wait_for_window(struct engine *engine, struct qp *qp);

/* `qp` waits for the window no more. */
void retry_timer_cancel_window_wait(struct engine *engine, struct qp *qp);

/* The ACK timeout before it grows: what the program chose, or the least. UINT64_MAX: none. */
uint64_t retry_timer_base_ns(const struct qp *qp);

/* When the ACK timeout ends that runs or would run; UINT64_MAX: never. */
uint64_t retry_timer_timeout_at_ns(const struct qp *qp);

/*
 * TAIL expired: starts the timer for what comes next. True when the silence lasts, and
 * `retry.tail_packets` are to be sent.
 */
bool retry_timer_try_probe_tail(struct engine *engine, struct qp *qp);

/* A packet of a tail probe was sent; `is_last`: no more are needed. */
void retry_timer_tail_sent(struct engine *engine, struct qp *qp, bool is_last);

/*
 * The oldest packet was sent again beside the send position. The ACK timeout begins anew, the first
 * LIMIT_REPAIRS times since progress or a timeout: what is always lost must end in timeouts.
 */
void retry_timer_repair_sent(struct engine *engine, struct qp *qp);

/* Stops the timer; what was sent may be sent again. */
void retry_timer_stop(struct engine *engine, struct qp *qp);

#endif
