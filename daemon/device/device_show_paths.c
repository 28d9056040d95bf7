/* SPDX-License-Identifier: MIT */
#include "daemon/device/device_show_paths.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/shared/reports/show_rows.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/path_report.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_message.h"

#include <stdlib.h>
#include <string.h>

#define BITS_PER_BYTE	UINT64_C(8)
#define BYTES_PER_MBYTE UINT64_C(1000000)

static int compare_destinations(const void *left, const void *right)
{
	const struct session_qp *const *a = left, *const *b = right;

	return memcmp(&(*a)->qp->peer_window->dest, &(*b)->qp->peer_window->dest,
		      sizeof(struct rnic_gid));
}

/* Returns the reliable QPs with a path, ordered by destination, which the caller frees. */
static const struct session_qp **qps_with_paths(const struct session *session, uint32_t *count)
{
	const struct session_qp **qps = malloc((session->qps.count + 1) * sizeof(const void *));
	const struct session_qp *qp;
	uint32_t slot = 0;

	*count = 0;
	if (qps == NULL)
		return NULL;
	while ((qp = handle_table_next(&session->qps, &slot)) != NULL)
		if (qp->qp->peer_window != NULL && qp_is_reliable(qp->qp))
			qps[(*count)++] = qp;
	qsort(qps, *count, sizeof(*qps), compare_destinations);
	return qps;
}

static void show_path(struct rnic_show_path *row, const struct session *session,
		      const struct peer_window *window)
{
	row->client_id = session->client_id;
	row->peer_gid = window->dest;
	row->least_round_trip_us = window->model.least_ns / RNIC_NS_PER_US;
	row->smoothed_round_trip_us = window->model.smoothed_ns / RNIC_NS_PER_US;
	row->rate_mbit_per_s = window->model.rate * BITS_PER_BYTE / BYTES_PER_MBYTE;
	row->window_bytes = peer_window_bytes(window);
	row->in_flight_bytes = window->in_flight_bytes;
}

void device_show_paths(const struct session *session, struct show_rows *rows)
{
	uint32_t count;
	const struct session_qp **qps = qps_with_paths(session, &count);

	for (uint32_t next = 0; next < count;) {
		const struct peer_window *window = qps[next]->qp->peer_window;
		struct rnic_show_path *row = show_rows_add(rows);
		struct path_use use = {0};
		uint32_t first = next;

		for (; next < count && qps[next]->qp->peer_window == window; next++)
			path_use_add(&use, qps[next]->qp, wqe_fetch_waiting_sends(qps[next]) > 0);
		if (row == NULL)
			continue;
		show_path(row, session, window);
		row->qp_count = next - first;
		row->limit = path_limit(&use, window);
	}
	free(qps);
}
