/* SPDX-License-Identifier: MIT */
/*
 * A model of the path to one destination, from acknowledgements alone: the rate at which the path
 * delivers, and its least round trip. Their product is what the path holds by itself; what is under
 * way beyond that waits in a queue (the model of BBR, Cardwell et al., ACM Queue 14-5, 2016).
 *
 * Rate: the greatest of the last PATH_MODEL_ROUNDS rounds. A round is a round trip in which
 * something held a packet back.
 *
 * Least round trip: of ten seconds. Then the queues are drained: less than the path holds is under
 * way, until PATH_MODEL_DRAIN_SAMPLES round trips were measured without a queue, or one and 0.2 s
 * are over.
 *
 * Start-up: each round may double the rate, until three rounds grow it by less than a quarter,
 * until a loss, or until packets wait in queues for long.
 *
 * Caution: a loss may mean that a queue is full. For some rounds no more than the path holds is
 * allowed, and then a quarter more again. A loss that comes while more is allowed doubles the
 * rounds; some rounds of more without a loss end the doubling.
 *
 * Recovery: packets that the peer keeps behind a gap are acknowledged together when the gap closes,
 * which looks like a rate that the path does not have. In start-up a rate found then may be twice
 * that of the last round, later it may be no greater than what was found before. Beyond what is
 * allowed else, as much as the path holds may be under way, for what the peer keeps is not.
 *
 * Pure: the caller tells the time and what happens.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_PATH_MODEL_H
#define LIB_NIC_ENGINE_RELIABILITY_PATH_MODEL_H

#include "lib/nic/engine/engine_limits.h"

#include <stdbool.h>
#include <stdint.h>

#define PATH_MODEL_ROUNDS	 10
#define PATH_MODEL_DRAIN_SAMPLES 8

/* What the model was when a packet left whose round trip is timed. */
struct path_departure {
	uint64_t sent_ns;
	uint64_t delivered_bytes;
	uint64_t delivered_ns;
	bool waits_for_repair; /* the answer waits for that of a packet that was sent again */
};

/* All zero: nothing was measured yet. Rates are in bytes a second. */
struct path_model {
	uint64_t delivered_bytes; /* acknowledged since the beginning */
	uint64_t delivered_ns;	  /* when that last grew, or a pause ended */
	uint64_t limited_ns;	  /* when a packet was last held back */
	uint64_t round_end_bytes; /* of delivered_bytes: the round ends with a later departure */
	uint64_t rates[PATH_MODEL_ROUNDS];
	uint64_t rate;	    /* the greatest of them; 0: not measured */
	uint64_t full_rate; /* the rate that start-up must beat */
	uint64_t least_ns;  /* 0: not measured */
	uint64_t least_at_ns;
	uint64_t smoothed_ns;
	uint64_t drain_ns;	/* the least of the drain's round trips */
	uint64_t drained_at_ns; /* departures from then on find no queue */
	uint64_t recovers_until_ns;
	uint32_t round;
	uint8_t full_rounds;	 /* in a row that did not beat full_rate */
	uint8_t caution;	 /* rounds of caution after the next loss; 0: as few as possible */
	uint8_t cautious_rounds; /* left */
	uint8_t bold_rounds;	 /* since then, without a loss */
	uint8_t drain_left;	 /* samples until the drain ends; 0: no drain */
	bool is_started;	 /* start-up is over */
};

/* A packet leaves at `now_ns` whose round trip is timed. */
struct path_departure path_model_depart(const struct path_model *model, uint64_t now_ns);

/* That packet was acknowledged at `now_ns`. */
void path_model_arrive(struct path_model *model, const struct path_departure *departure,
		       uint64_t now_ns);

/* `bytes` were acknowledged. */
void path_model_deliver(struct path_model *model, uint64_t bytes, uint64_t now_ns);

/* A packet leaves, and nothing was under way before: the pause says nothing of the path. */
void path_model_resume(struct path_model *model, uint64_t now_ns);

/* The window or the pace holds a packet back. */
void path_model_limit(struct path_model *model, uint64_t now_ns);

/* A loss was noticed. */
void path_model_lose(struct path_model *model);

/* A packet behind which the peer keeps others is sent again. */
void path_model_recover(struct path_model *model, uint64_t now_ns);

/* What may be under way beyond all else, for the sake of kept packets. */
uint64_t path_model_kept_bytes(const struct path_model *model, uint64_t now_ns);

/*
 * Whether the path is longer than a local one (LIMIT_PATH_SHORT_NS), so that a window of a fixed
 * size does not fill the path.
 */
static inline bool path_model_is_long(const struct path_model *model)
{
	return model->least_ns > LIMIT_PATH_SHORT_NS && model->rate > 0;
}

/* What the path delivers in `ns`. */
uint64_t path_model_bytes_in(const struct path_model *model, uint64_t ns);

/* Rate times least round trip. */
uint64_t path_model_held_bytes(const struct path_model *model);

/*
 * Whether packets wait so long in queues that more of them find no more rate: longer than a process
 * may wait for a processor, at both ends, and a quarter of the least round trip.
 */
bool path_model_is_queued(const struct path_model *model);

/*
 * What may be under way for the path's sake: the same, with room for the rate to show more, unless
 * the queues hold enough for that.
 */
uint64_t path_model_allowed_bytes(const struct path_model *model);

static inline bool path_model_is_draining(const struct path_model *model)
{
	return model->drain_left > 0;
}

#endif
