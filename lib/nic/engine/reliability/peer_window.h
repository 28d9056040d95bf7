/* SPDX-License-Identifier: MIT */
/*
 * The peer window: for one destination address, the bytes of requests of all RC QPs that are under
 * way without an acknowledgement, and how many may be. UC and UD are not acknowledged and take no
 * part: see pace.h.
 *
 * Packets wait in the peer's socket buffer of a few megabytes until its daemon runs. If every QP
 * had a window of its own, many QPs together would overrun the buffer, and go-back-N would send
 * everything twice. So the window belongs to the destination. It has two parts:
 *
 *     queue_bytes  what may wait in the queues of the path and of the peer. Begins small, and
 *                  doubles with each window that arrives, up to LIMIT_PATH_WINDOW_BYTES or the
 *                  first loss. Halves when a loss is noticed, at most once a round trip, and grows
 *                  by one packet for each window's worth of acknowledgements; on a long path also
 *                  by a quarter, before the first loss and some windows after the last, and
 *                  to more than LIMIT_PATH_WINDOW_BYTES.
 *     the path     what a long path holds by itself, by its model (path_model.h). Nothing on a
 *                  short path, and nothing else while the model drains the queues.
 *
 * On a long path the window is paced, by 1.2 times the window in the least round trip: a window
 * that opens at once would overrun the queues. Packets leave in batches of LIMIT_PATH_BATCH_NS.
 * After a pause, at most half of queue_bytes leave at once.
 *
 * Packets that the peer keeps behind a gap count as under way, and are not: while gaps are
 * repaired, the window is greater by what the path holds. The pace is not.
 *
 * QPs that wait are served in order, one at a time. Invariant: while QPs wait, either one has the
 * turn, or the window has no room for the first, or the pace timer is armed.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_PEER_WINDOW_H
#define LIB_NIC_ENGINE_RELIABILITY_PEER_WINDOW_H

#include "lib/nic/base/list.h"
#include "lib/nic/base/timer_heap.h"
#include "lib/nic/engine/reliability/path_model.h"
#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;

struct peer_window {
	struct list node; /* of engine->windows */
	struct engine *engine;
	struct rnic_gid dest;
	uint32_t references;
	uint32_t in_flight_bytes;
	uint32_t queue_bytes;
	uint32_t credit_bytes;	/* acknowledged since queue_bytes last grew */
	uint32_t slow_windows;	/* windows' worth until queue_bytes grow by a quarter */
	uint64_t reduced_at_ns; /* when queue_bytes were last halved */
	bool is_open;		/* queue_bytes have been as great as on any path, or a loss came */
	struct path_model model;
	uint64_t paced_ns;   /* the pace lets the next packet leave from then on */
	struct timer timer;  /* in engine->window_timers: until the pace lets a batch leave */
	struct list waiting; /* QPs that found the window full, oldest first */
	struct qp *turn;     /* taken from `waiting`, in the ready list and not yet served */
};

/*
 * The window to `dest`, made when there is none yet; give it back with peer_window_put(). NULL: no
 * memory.
 */
struct peer_window *peer_window_get(struct engine *engine, const struct rnic_gid *dest);
void peer_window_put(struct peer_window *window); /* NULL is allowed */

/* How many bytes may be under way. */
uint32_t peer_window_bytes(const struct peer_window *window);

/* How many bytes a READ request may ask for that starts now, LIMIT_READ_CHUNK_BYTES or less. */
uint32_t peer_window_read_bytes(const struct peer_window *window);

/*
 * Whether `qp` may send `bytes` more now, as far as the window goes: there is room, which an empty
 * window always has, and no other QP waits for room.
 */
bool peer_window_has_room(const struct peer_window *window, const struct qp *qp, uint32_t bytes);

/* Whether the pace lets a packet leave now. */
bool peer_window_is_on_pace(const struct peer_window *window);

/* Whether the pace stops who sends now, and the turn goes to another QP. */
static inline bool peer_window_passes_turn(const struct peer_window *window)
{
	return !list_is_empty(&window->waiting) && !peer_window_is_on_pace(window);
}

/*
 * `qp` wants to send `bytes` again that are under way already. False when the pace does not let
 * them leave: the QP becomes ready when it does, before all that wait for room.
 */
bool peer_window_try_repair(struct peer_window *window, struct qp *qp, uint32_t bytes);

/* A packet whose round trip is timed was acknowledged at engine->now_ns. */
void peer_window_measure(struct peer_window *window, const struct path_departure *departure);

/* A packet is sent again behind which the peer may keep others, which count as under way. */
void peer_window_recover(struct peer_window *window);

/* `qp` sends `bytes`, whether there is room or not. The QP waits no more. */
void peer_window_reserve(struct peer_window *window, struct qp *qp, uint32_t bytes);

/* `qp` wants to send `bytes`: the QP gets in line, and becomes ready when its turn comes. */
void peer_window_wait(struct peer_window *window, struct qp *qp, uint32_t bytes);

/* `qp` has nothing to send now: the QP leaves the queue and passes its turn on. */
void peer_window_leave(struct peer_window *window, struct qp *qp);

/* `bytes` reserved earlier are no longer under way; `acknowledged` when the peer said so. */
void peer_window_release(struct peer_window *window, uint32_t bytes, bool acknowledged);

/* The pace lets a batch leave. */
void peer_window_expired(struct peer_window *window);

/* A loss was noticed at engine->now_ns. */
void peer_window_reduce(struct engine *engine, struct peer_window *window);

#endif
