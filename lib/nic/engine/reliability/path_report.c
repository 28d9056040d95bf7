/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/path_report.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "proto/base/time_units.h"

#include <inttypes.h>
#include <stdio.h>

/* A window counts as full when so many of its parts are under way: packets leave in batches. */
#define FULL_PARTS  7
#define WHOLE_PARTS 8

/* Timeouts without a measure that reach what a timeout may grow to; see retry_timer.c. */
#define TIMEOUTS_AT_MOST 4

void path_use_add(struct path_use *use, const struct qp *qp, bool has_more)
{
	const struct send_queue *queue = &qp->send_queue;
	const bool has_unsent = has_more || qp->requester.wqe_index != queue->posted;

	if (!has_more && queue->retired == queue->posted)
		return;
	use->has_work = true;
	use->has_backlog |= has_unsent;
	use->waits_for_peer |= qp->retry.running == RETRY_TIMER_RNR ||
			       qp->retry.running == RETRY_TIMER_CREDIT || qp->retry.is_silent;
	use->is_slowed |= timer_is_armed(&qp->congestion.timer);
	use->has_reads_enough |= has_unsent && qp->requester.reads_outstanding > 0 &&
				 qp->requester.reads_outstanding >= qp->attributes.max_rd_atomic;
}

static bool window_is_full(const struct peer_window *window)
{
	return (uint64_t)window->in_flight_bytes * WHOLE_PARTS >=
	       (uint64_t)peer_window_bytes(window) * FULL_PARTS;
}

static bool window_has_lost(const struct peer_window *window)
{
	return window->slow_windows > 0 || window->model.cautious_rounds > 0;
}

enum rnic_path_limit path_limit(const struct path_use *use, const struct peer_window *window)
{
	if (!use->has_work)
		return RNIC_PATH_LIMIT_NOTHING;
	if (use->waits_for_peer)
		return RNIC_PATH_LIMIT_PEER;
	if (use->is_slowed)
		return RNIC_PATH_LIMIT_CONGESTION;
	if (!use->has_backlog)
		return RNIC_PATH_LIMIT_PROGRAM;
	if (window_is_full(window))
		return window_has_lost(window) ? RNIC_PATH_LIMIT_LOSS : RNIC_PATH_LIMIT_WINDOW;
	if (use->has_reads_enough)
		return RNIC_PATH_LIMIT_PROGRAM;
	if (path_model_is_long(&window->model))
		return window_has_lost(window) ? RNIC_PATH_LIMIT_LOSS : RNIC_PATH_LIMIT_PACE;
	return RNIC_PATH_LIMIT_HOST;
}

/* "67 ms", "4.2 ms" */
static void time_text(uint64_t ns, char *text, uint32_t text_bytes)
{
	const uint64_t us = ns / RNIC_NS_PER_US;

	if (us >= 10000)
		snprintf(text, text_bytes, "%" PRIu64 " ms", (us + 500) / 1000);
	else
		snprintf(text, text_bytes, "%" PRIu64 ".%" PRIu64 " ms", us / 1000,
			 us % 1000 / 100);
}

void path_timeout_text(const struct qp *qp, char *text, uint32_t text_bytes)
{
	const uint64_t timeout_ns = retry_timer_base_ns(qp);
	const uint64_t least_ns = qp->peer_window != NULL ? qp->peer_window->model.least_ns : 0;
	char timeout[32], least[32];

	snprintf(text, text_bytes, "%s", "");
	if (!qp_is_reliable(qp) || qp->peer_window == NULL || timeout_ns == UINT64_MAX)
		return;
	time_text(timeout_ns, timeout, sizeof(timeout));
	time_text(least_ns, least, sizeof(least));
	if (least_ns > timeout_ns)
		snprintf(text, text_bytes,
			 "the timeout of %s is shorter than the path's round trip of %s", timeout,
			 least);
	else if (least_ns == 0 && qp->round_trip.timeouts >= TIMEOUTS_AT_MOST &&
		 qp->last_received_ns != 0)
		snprintf(text, text_bytes,
			 "answers take longer than four times the timeout of %s; the path's round "
			 "trip is longer",
			 timeout);
}
