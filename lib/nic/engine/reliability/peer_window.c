/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/peer_window.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

#include <assert.h>
#include <stdlib.h>

/* A round trip while the window is full: losses that are noticed within a round trip have one
 * cause. */
#define REDUCE_INTERVAL_NS UINT64_C(1000000)

/* What an acknowledged window's worth of packets adds. */
#define GROWTH_BYTES (RNIC_PAYLOAD_BYTES_MAX + LIMIT_PACKET_OVERHEAD_BYTES)

struct peer_window *peer_window_get(struct engine *engine, const struct rnic_gid *dest)
{
	struct list *node;
	struct peer_window *window;

	list_for_each (node, &engine->windows) {
		window = list_entry(node, struct peer_window, node);
		if (rnic_gid_equal(&window->dest, dest)) {
			window->references++;
			return window;
		}
	}
	window = calloc(1, sizeof(*window));
	if (window == NULL)
		return NULL;
	window->dest = *dest;
	window->references = 1;
	window->window_bytes = LIMIT_PATH_WINDOW_BYTES;
	list_init(&window->waiting);
	list_add_tail(&engine->windows, &window->node);
	return window;
}

void peer_window_put(struct peer_window *window)
{
	if (window == NULL || --window->references > 0)
		return;
	assert(list_is_empty(&window->waiting) && window->in_flight_bytes == 0);
	list_remove(&window->node);
	free(window);
}

static bool peer_window_fits(const struct peer_window *window, uint32_t bytes)
{
	return window->in_flight_bytes == 0 ||
	       (uint64_t)window->in_flight_bytes + bytes <= window->window_bytes;
}

/* Gives the turn to the first QP that waits, when that QP can use it. */
static void peer_window_pass_turn(struct peer_window *window)
{
	struct qp *first;

	if (window->turn != NULL || list_is_empty(&window->waiting))
		return;
	first = list_first_entry(&window->waiting, struct qp, path_node);
	if (!peer_window_fits(window, first->requester.path_wait_bytes))
		return;
	list_remove(&first->path_node);
	window->turn = first;
	ready_list_add(first);
}

bool peer_window_has_room(const struct peer_window *window, const struct qp *qp, uint32_t bytes)
{
	bool is_in_order = window->turn == qp || list_is_empty(&window->waiting) ||
			   (window->turn == NULL && window->waiting.next == &qp->path_node);

	return is_in_order && peer_window_fits(window, bytes);
}

void peer_window_reserve(struct peer_window *window, struct qp *qp, uint32_t bytes)
{
	list_remove(&qp->path_node);
	window->in_flight_bytes += bytes;
}

void peer_window_wait(struct peer_window *window, struct qp *qp, uint32_t bytes)
{
	qp->requester.path_wait_bytes = bytes;
	if (!list_is_linked(&qp->path_node))
		list_add_tail(&window->waiting, &qp->path_node);
	if (window->turn == qp)
		window->turn = NULL;
	peer_window_pass_turn(window);
}

void peer_window_leave(struct peer_window *window, struct qp *qp)
{
	bool had_turn = window->turn == qp;

	if (!had_turn && !list_is_linked(&qp->path_node))
		return;
	list_remove(&qp->path_node);
	if (had_turn)
		window->turn = NULL;
	peer_window_pass_turn(window);
}

void peer_window_release(struct peer_window *window, uint32_t bytes, bool acknowledged)
{
	assert(bytes <= window->in_flight_bytes);
	window->in_flight_bytes -= bytes;
	if (acknowledged && window->window_bytes < LIMIT_PATH_WINDOW_BYTES) {
		window->credit_bytes += bytes;
		if (window->credit_bytes >= window->window_bytes) {
			window->credit_bytes -= window->window_bytes;
			window->window_bytes += GROWTH_BYTES;
		}
		if (window->window_bytes > LIMIT_PATH_WINDOW_BYTES)
			window->window_bytes = LIMIT_PATH_WINDOW_BYTES;
	}
	peer_window_pass_turn(window);
}

void peer_window_reduce(struct engine *engine, struct peer_window *window)
{
	if (window->reduced_at_ns != 0 &&
	    engine->now_ns - window->reduced_at_ns < REDUCE_INTERVAL_NS)
		return;
	window->reduced_at_ns = engine->now_ns;
	window->credit_bytes = 0;
	window->window_bytes /= 2;
	if (window->window_bytes < LIMIT_PATH_WINDOW_BYTES_LEAST)
		window->window_bytes = LIMIT_PATH_WINDOW_BYTES_LEAST;
}
