/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/peer_window.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

#include <assert.h>
#include <stdlib.h>

/* The least time between two halvings: losses that are noticed within it have one cause. */
#define REDUCE_INTERVAL_NS UINT64_C(1000000)

/* What an acknowledged window's worth of packets adds. */
#define GROWTH_BYTES (RNIC_PAYLOAD_BYTES_MAX + LIMIT_PACKET_OVERHEAD_BYTES)

/* So many windows grow slowly after a loss: what has overflowed once may do so again. */
#define SLOW_WINDOWS 32

/* Soon after a loss, a READ request on a long path asks for such a part of the queues. */
#define READ_PARTS 2

/* The pace in percent of the window in the least round trip, and a bound of the window. */
#define PACE_PERCENT	 120
#define WINDOW_BYTES_MAX (UINT32_C(1) << 28)

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
	if (window == NULL ||
	    timer_heap_reserve(&engine->window_timers, engine->window_count + 1) != 0) {
		free(window);
		return NULL;
	}
	window->engine = engine;
	window->dest = *dest;
	window->references = 1;
	window->queue_bytes = LIMIT_PATH_WINDOW_BYTES_FIRST;
	list_init(&window->waiting);
	list_add_tail(&engine->windows, &window->node);
	engine->window_count++;
	return window;
}

void peer_window_put(struct peer_window *window)
{
	if (window == NULL || --window->references > 0)
		return;
	assert(list_is_empty(&window->waiting) && window->in_flight_bytes == 0);
	timer_heap_disarm(&window->engine->window_timers, &window->timer);
	window->engine->window_count--;
	list_remove(&window->node);
	free(window);
}

uint32_t peer_window_bytes(const struct peer_window *window)
{
	uint64_t bytes = window->queue_bytes;

	if (path_model_is_draining(&window->model))
		bytes = path_model_allowed_bytes(&window->model);
	else if (path_model_is_long(&window->model))
		bytes += path_model_allowed_bytes(&window->model);
	if (bytes < LIMIT_PATH_WINDOW_BYTES_LEAST)
		return LIMIT_PATH_WINDOW_BYTES_LEAST;
	return bytes < WINDOW_BYTES_MAX ? (uint32_t)bytes : WINDOW_BYTES_MAX;
}

/* A response to one request comes as a burst, which a queue that has overflowed should hold. */
uint32_t peer_window_read_bytes(const struct peer_window *window)
{
	const uint32_t bytes = window->queue_bytes / READ_PARTS;

	if (!path_model_is_long(&window->model) || window->slow_windows == 0 ||
	    bytes > LIMIT_READ_CHUNK_BYTES)
		return LIMIT_READ_CHUNK_BYTES;
	return bytes;
}

static bool peer_window_fits(const struct peer_window *window, uint32_t bytes)
{
	const uint64_t wanted_bytes = (uint64_t)window->in_flight_bytes + bytes;
	uint32_t window_bytes;

	/* The most common case at the price of a comparison: a path only adds to what its queues
	 * hold. */
	if (wanted_bytes <= window->queue_bytes && !path_model_is_draining(&window->model))
		return true;
	window_bytes = peer_window_bytes(window);
	return window->in_flight_bytes == 0 || bytes == 0 || wanted_bytes <= window_bytes ||
	       wanted_bytes <=
		       window_bytes + path_model_kept_bytes(&window->model, window->engine->now_ns);
}

/* --- the pace --------------------------------------------------------------------------------- */

/* Bytes a second. */
static uint64_t pace_rate(const struct peer_window *window)
{
	const uint64_t least_us = window->model.least_ns / 1000 + 1;

	return peer_window_bytes(window) * (UINT64_C(10000) * PACE_PERCENT) / least_us + 1;
}

bool peer_window_is_on_pace(const struct peer_window *window)
{
	return !path_model_is_long(&window->model) || window->paced_ns <= window->engine->now_ns;
}

/* A packet of `bytes` leaves on a long path. */
static void take_pace(struct peer_window *window, uint32_t bytes)
{
	const uint64_t now_ns = window->engine->now_ns;
	uint64_t rate, behind_ns;

	rate = pace_rate(window);
	behind_ns = window->queue_bytes / 2 * RNIC_NS_PER_SECOND / rate;
	if (behind_ns < LIMIT_PATH_BATCH_NS)
		behind_ns = LIMIT_PATH_BATCH_NS;
	if (window->paced_ns + behind_ns < now_ns)
		window->paced_ns = now_ns - behind_ns;
	window->paced_ns += bytes * RNIC_NS_PER_SECOND / rate;
}

/* Has the first QP in line go on once a batch may leave. */
static void wait_for_pace(struct peer_window *window)
{
	if (!timer_is_armed(&window->timer))
		timer_heap_arm(&window->engine->window_timers, &window->timer,
			       window->paced_ns + LIMIT_PATH_BATCH_NS / 2);
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Gives the turn to the first QP that waits, when that QP can use it. */
static void peer_window_pass_turn(struct peer_window *window)
{
	struct qp *first;

	if (window->turn != NULL || list_is_empty(&window->waiting))
		return;
	first = list_first_entry(&window->waiting, struct qp, path_node);
	if (!peer_window_fits(window, first->requester.path_wait_bytes))
		return;
	if (!peer_window_is_on_pace(window)) {
		wait_for_pace(window);
		return;
	}
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

/* Who needs less than before may find room before the turn comes, and passes the turn on later. */
static void keep_turn_as_first(struct peer_window *window, struct qp *qp)
{
	if (window->turn == NULL && window->waiting.next == &qp->path_node)
		window->turn = qp;
	list_remove(&qp->path_node);
}

void peer_window_reserve(struct peer_window *window, struct qp *qp, uint32_t bytes)
{
	if (list_is_linked(&qp->path_node))
		keep_turn_as_first(window, qp);
	if (window->in_flight_bytes == 0)
		path_model_resume(&window->model, window->engine->now_ns);
	if (path_model_is_long(&window->model))
		take_pace(window, bytes);
	window->in_flight_bytes += bytes;
}

void peer_window_wait(struct peer_window *window, struct qp *qp, uint32_t bytes)
{
	qp->requester.path_wait_bytes = bytes;
	path_model_limit(&window->model, window->engine->now_ns);
	if (!list_is_linked(&qp->path_node))
		list_add_tail(&window->waiting, &qp->path_node);
	if (window->turn == qp)
		window->turn = NULL;
	peer_window_pass_turn(window);
}

bool peer_window_try_repair(struct peer_window *window, struct qp *qp, uint32_t bytes)
{
	if (peer_window_is_on_pace(window)) {
		if (path_model_is_long(&window->model))
			take_pace(window, bytes);
		return true;
	}
	list_remove(&qp->path_node);
	list_add(&window->waiting, &qp->path_node);
	qp->requester.path_wait_bytes = 0; /* no room is needed */
	if (window->turn == qp)
		window->turn = NULL;
	peer_window_pass_turn(window);
	return false;
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

/* --- acknowledgements and losses -------------------------------------------------------------- */

/*
 * On a long path the queues may hold a quarter of what the path holds, too, or what keeps the path
 * busy while a process at either end waits for a processor. Not where packets wait for longer
 * already: more would take from the share of others. A sender that comes late never sees an empty
 * queue, and believes that the path is longer.
 */
static uint32_t queue_bytes_most(const struct peer_window *window)
{
	const struct path_model *model = &window->model;
	uint64_t part_bytes, wait_bytes, bytes;

	if (!path_model_is_long(model) || path_model_is_queued(model))
		return LIMIT_PATH_WINDOW_BYTES;
	part_bytes = path_model_held_bytes(model) / 4;
	wait_bytes = path_model_bytes_in(model, LIMIT_PATH_WAIT_NS);
	bytes = LIMIT_PATH_WINDOW_BYTES + (part_bytes > wait_bytes ? part_bytes : wait_bytes);
	return bytes < LIMIT_PATH_QUEUE_BYTES_MOST ? (uint32_t)bytes : LIMIT_PATH_QUEUE_BYTES_MOST;
}

/* Bursts arrive as great as they may be: what fills less than half of the window shows nothing. */
static void open_queue(struct peer_window *window, uint32_t bytes)
{
	if (window->in_flight_bytes + bytes < window->queue_bytes / 2)
		return;
	window->queue_bytes += bytes;
	window->is_open = window->queue_bytes >= LIMIT_PATH_WINDOW_BYTES;
}

static void grow_queue(struct peer_window *window, uint32_t bytes)
{
	const uint32_t most = queue_bytes_most(window);

	if (!window->is_open) {
		open_queue(window, bytes);
	} else if (window->queue_bytes < most) {
		window->credit_bytes += bytes;
		if (window->credit_bytes >= peer_window_bytes(window)) {
			window->credit_bytes = 0;
			window->queue_bytes += GROWTH_BYTES;
			if (window->slow_windows > 0)
				window->slow_windows--;
			else if (path_model_is_long(&window->model))
				window->queue_bytes += window->queue_bytes / 4;
		}
	}
	if (window->queue_bytes > most)
		window->queue_bytes = most;
}

void peer_window_release(struct peer_window *window, uint32_t bytes, bool acknowledged)
{
	assert(bytes <= window->in_flight_bytes);
	window->in_flight_bytes -= bytes;
	if (acknowledged) {
		path_model_deliver(&window->model, bytes, window->engine->now_ns);
		grow_queue(window, bytes);
	}
	peer_window_pass_turn(window);
}

void peer_window_expired(struct peer_window *window)
{
	peer_window_pass_turn(window);
}

void peer_window_measure(struct peer_window *window, const struct path_departure *departure)
{
	path_model_arrive(&window->model, departure, window->engine->now_ns);
	peer_window_pass_turn(window);
}

void peer_window_recover(struct peer_window *window)
{
	path_model_recover(&window->model, window->engine->now_ns);
	peer_window_pass_turn(window);
}

void peer_window_reduce(struct engine *engine, struct peer_window *window)
{
	uint64_t interval_ns = window->model.smoothed_ns + window->model.smoothed_ns / 4;

	if (interval_ns < REDUCE_INTERVAL_NS)
		interval_ns = REDUCE_INTERVAL_NS;
	if (window->reduced_at_ns != 0 && engine->now_ns - window->reduced_at_ns < interval_ns)
		return;
	path_model_lose(&window->model);
	window->reduced_at_ns = engine->now_ns;
	window->credit_bytes = 0;
	window->slow_windows = SLOW_WINDOWS;
	/* Before a round trip was measured, a timeout that is shorter looks like a loss. */
	window->is_open = window->model.least_ns > 0;
	window->queue_bytes /= 2;
	if (window->queue_bytes < LIMIT_PATH_WINDOW_BYTES_LEAST)
		window->queue_bytes = LIMIT_PATH_WINDOW_BYTES_LEAST;
}
