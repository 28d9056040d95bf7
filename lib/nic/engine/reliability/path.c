/* SPDX-License-Identifier: MIT */
#include "engine/reliability/path.h"

#include "engine/engine.h"
#include "engine/objects/qp.h"
#include "wire/gid.h"

#include <assert.h>
#include <stdlib.h>

/* A round trip while the window is full: losses that are noticed within it have one cause. */
#define REDUCE_INTERVAL_NS UINT64_C(1000000)

/* What an acknowledged window's worth of packets adds. */
#define GROWTH_BYTES (RNIC_PAYLOAD_BYTES_MAX + LIMIT_PACKET_OVERHEAD_BYTES)

struct path *path_get(struct engine *engine, const struct rnic_gid *dest)
{
	struct list *node;
	struct path *path;

	list_for_each (node, &engine->paths) {
		path = list_entry(node, struct path, node);
		if (rnic_gid_equal(&path->dest, dest)) {
			path->references++;
			return path;
		}
	}
	path = calloc(1, sizeof(*path));
	if (path == NULL)
		return NULL;
	path->dest = *dest;
	path->references = 1;
	path->window_bytes = LIMIT_PATH_WINDOW_BYTES;
	list_init(&path->waiting);
	list_add_tail(&engine->paths, &path->node);
	return path;
}

void path_put(struct path *path)
{
	if (path == NULL || --path->references > 0)
		return;
	assert(list_is_empty(&path->waiting) && path->in_flight_bytes == 0);
	list_remove(&path->node);
	free(path);
}

static bool fits(const struct path *path, uint32_t bytes)
{
	return path->in_flight_bytes == 0 ||
	       (uint64_t)path->in_flight_bytes + bytes <= path->window_bytes;
}

/* Gives the turn to the first that waits, when it can use it. */
static void pass_turn(struct path *path)
{
	struct qp *first;

	if (path->turn != NULL || list_is_empty(&path->waiting))
		return;
	first = list_first_entry(&path->waiting, struct qp, path_node);
	if (!fits(path, first->requester.path_wait_bytes))
		return;
	list_remove(&first->path_node);
	path->turn = first;
	qp_make_ready(first);
}

bool path_has_room(const struct path *path, const struct qp *qp, uint32_t bytes)
{
	bool is_in_order = path->turn == qp || list_is_empty(&path->waiting) ||
			   (path->turn == NULL && path->waiting.next == &qp->path_node);

	return is_in_order && fits(path, bytes);
}

void path_reserve(struct path *path, struct qp *qp, uint32_t bytes)
{
	list_remove(&qp->path_node);
	path->in_flight_bytes += bytes;
}

void path_wait(struct path *path, struct qp *qp, uint32_t bytes)
{
	qp->requester.path_wait_bytes = bytes;
	if (!list_is_linked(&qp->path_node))
		list_add_tail(&path->waiting, &qp->path_node);
	if (path->turn == qp)
		path->turn = NULL;
	pass_turn(path);
}

void path_leave(struct path *path, struct qp *qp)
{
	bool had_turn = path->turn == qp;

	if (!had_turn && !list_is_linked(&qp->path_node))
		return;
	list_remove(&qp->path_node);
	if (had_turn)
		path->turn = NULL;
	pass_turn(path);
}

void path_release(struct path *path, uint32_t bytes, bool acknowledged)
{
	assert(bytes <= path->in_flight_bytes);
	path->in_flight_bytes -= bytes;
	if (acknowledged && path->window_bytes < LIMIT_PATH_WINDOW_BYTES) {
		path->credit_bytes += bytes;
		if (path->credit_bytes >= path->window_bytes) {
			path->credit_bytes -= path->window_bytes;
			path->window_bytes += GROWTH_BYTES;
		}
		if (path->window_bytes > LIMIT_PATH_WINDOW_BYTES)
			path->window_bytes = LIMIT_PATH_WINDOW_BYTES;
	}
	pass_turn(path);
}

void path_reduce(struct engine *engine, struct path *path)
{
	if (path->reduced_at_ns != 0 && engine->now_ns - path->reduced_at_ns < REDUCE_INTERVAL_NS)
		return;
	path->reduced_at_ns = engine->now_ns;
	path->credit_bytes = 0;
	path->window_bytes /= 2;
	if (path->window_bytes < LIMIT_PATH_WINDOW_BYTES_LEAST)
		path->window_bytes = LIMIT_PATH_WINDOW_BYTES_LEAST;
}
