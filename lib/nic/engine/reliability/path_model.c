/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/path_model.h"

#include "proto/base/time_units.h"

#define LEAST_AGE_NS (10 * RNIC_NS_PER_SECOND)

/* A drain halves what is under way: samples of a long round trip are few. */
#define DRAIN_NS (200 * RNIC_NS_PER_MS)

/* Of the round trip: a new value has the weight of 1/8 (RFC 6298). */
#define SMOOTHED_PARTS 8

/* Start-up ends after so many rounds in a row that grow by less than a quarter. */
#define FULL_ROUNDS	  3
#define FULL_GROWTH(rate) ((rate) + (rate) / 4)

/* Rounds of caution, and rounds without a loss that end the doubling. */
#define CAUTION_LEAST 8
#define CAUTION_MOST  64
#define BOLD_ROUNDS   4

/* A repair takes one round trip, and what was kept shows in the next. */
#define RECOVERY_ROUND_TRIPS 3

/* A loss takes one part of the rate, which later samples give back where the path has it. */
#define LOSS_PARTS 32

struct path_departure path_model_depart(const struct path_model *model, uint64_t now_ns)
{
	return (struct path_departure){
		.sent_ns = now_ns,
		.delivered_bytes = model->delivered_bytes,
		.delivered_ns = model->delivered_ns,
	};
}

/* A drain begins where nothing else would show the least round trip again. */
static void begin_drain(struct path_model *model, uint64_t now_ns)
{
	model->drain_left = PATH_MODEL_DRAIN_SAMPLES;
	model->drain_ns = UINT64_MAX;
	model->drained_at_ns = now_ns + model->smoothed_ns;
}

static void take_drained(struct path_model *model, uint64_t round_trip_ns, uint64_t now_ns)
{
	if (round_trip_ns < model->drain_ns)
		model->drain_ns = round_trip_ns;
	if (--model->drain_left > 0 && now_ns - model->drained_at_ns < DRAIN_NS)
		return;
	model->drain_left = 0;
	model->least_ns = model->drain_ns;
	model->least_at_ns = now_ns;
}

static void take_round_trip(struct path_model *model, const struct path_departure *departure,
			    uint64_t now_ns)
{
	/* 0 stands for no measure. */
	const uint64_t ns = now_ns - departure->sent_ns + 1;

	model->smoothed_ns += model->smoothed_ns == 0
				      ? ns
				      : ns / SMOOTHED_PARTS - model->smoothed_ns / SMOOTHED_PARTS;
	if (model->least_ns == 0 || ns <= model->least_ns) {
		model->least_ns = ns;
		model->least_at_ns = now_ns;
		model->drain_left = 0;
	} else if (model->drain_left > 0) {
		if (departure->sent_ns >= model->drained_at_ns)
			take_drained(model, ns, now_ns);
	} else if (now_ns - model->least_at_ns > LEAST_AGE_NS) {
		begin_drain(model, now_ns);
	}
}

/* Bytes a second between departure and arrival. */
static uint64_t measured_rate(const struct path_model *model,
			      const struct path_departure *departure, uint64_t now_ns)
{
	const uint64_t bytes = model->delivered_bytes - departure->delivered_bytes;
	const uint64_t round_trip_ns = now_ns - departure->sent_ns;
	uint64_t took_ns = now_ns - departure->delivered_ns;

	/* Acknowledgements come in bursts, which are no rate of the path. */
	if (took_ns < round_trip_ns)
		took_ns = round_trip_ns;
	return bytes * (RNIC_NS_PER_SECOND / 1000) / (took_ns / 1000 + 1);
}

/* Counts a round of caution, or one without. */
static void count_caution(struct path_model *model)
{
	if (model->cautious_rounds > 0)
		model->cautious_rounds--;
	else if (model->bold_rounds < BOLD_ROUNDS)
		model->bold_rounds++;
	else
		model->caution = 0;
}

static uint64_t greatest_rate(const struct path_model *model)
{
	uint64_t greatest = 0;

	for (uint32_t i = 0; i < PATH_MODEL_ROUNDS; i++)
		if (model->rates[i] > greatest)
			greatest = model->rates[i];
	return greatest;
}

bool path_model_is_queued(const struct path_model *model)
{
	return model->smoothed_ns >
	       model->least_ns + model->least_ns / 4 + UINT64_C(2) * LIMIT_PATH_WAIT_NS;
}

static void end_round(struct path_model *model)
{
	count_caution(model);
	model->round_end_bytes = model->delivered_bytes;
	model->round++;
	model->rates[model->round % PATH_MODEL_ROUNDS] = 0;
	if (model->is_started)
		return;
	if (path_model_is_queued(model)) {
		model->is_started = true;
	} else if (model->rate >= FULL_GROWTH(model->full_rate)) {
		model->full_rate = model->rate;
		model->full_rounds = 0;
	} else if (++model->full_rounds == FULL_ROUNDS) {
		model->is_started = true;
	}
}

static void take_rate(struct path_model *model, uint64_t rate)
{
	uint64_t *of_round = &model->rates[model->round % PATH_MODEL_ROUNDS];

	if (rate > *of_round)
		*of_round = rate;
	if (rate > model->rate)
		model->rate = rate;
}

static uint64_t believable_rate(const struct path_model *model,
				const struct path_departure *departure, uint64_t rate)
{
	const uint64_t most = model->is_started ? model->rate : 2 * model->full_rate;

	return departure->sent_ns < model->recovers_until_ns && most > 0 && rate > most ? most
											: rate;
}

void path_model_arrive(struct path_model *model, const struct path_departure *departure,
		       uint64_t now_ns)
{
	const bool was_limited = model->limited_ns >= departure->sent_ns;
	bool is_round_over;
	uint64_t rate;

	if (!departure->waits_for_repair)
		take_round_trip(model, departure, now_ns);
	is_round_over = was_limited && !path_model_is_draining(model) &&
			departure->delivered_bytes >= model->round_end_bytes;
	if (is_round_over)
		end_round(model);
	rate = believable_rate(model, departure, measured_rate(model, departure, now_ns));
	if (is_round_over)
		model->rate = greatest_rate(model);
	take_rate(model, rate);
}

void path_model_deliver(struct path_model *model, uint64_t bytes, uint64_t now_ns)
{
	model->delivered_bytes += bytes;
	model->delivered_ns = now_ns;
}

void path_model_resume(struct path_model *model, uint64_t now_ns)
{
	model->delivered_ns = now_ns;
}

void path_model_limit(struct path_model *model, uint64_t now_ns)
{
	model->limited_ns = now_ns;
}

void path_model_lose(struct path_model *model)
{
	const bool was_bold = model->cautious_rounds == 0;

	/* Before a round trip was measured, a timeout that is shorter looks like a loss. */
	if (model->rate == 0)
		return;
	model->is_started = true;
	if (model->caution == 0)
		model->caution = CAUTION_LEAST;
	else if (was_bold && model->caution < CAUTION_MOST)
		model->caution *= 2;
	model->cautious_rounds = model->caution;
	model->bold_rounds = 0;
	for (uint32_t i = 0; i < PATH_MODEL_ROUNDS; i++)
		model->rates[i] -= model->rates[i] / LOSS_PARTS;
	model->rate -= model->rate / LOSS_PARTS;
}

void path_model_recover(struct path_model *model, uint64_t now_ns)
{
	model->recovers_until_ns = now_ns + RECOVERY_ROUND_TRIPS * model->smoothed_ns;
}

uint64_t path_model_kept_bytes(const struct path_model *model, uint64_t now_ns)
{
	if (now_ns >= model->recovers_until_ns || model->cautious_rounds > 0)
		return 0;
	return path_model_held_bytes(model);
}

uint64_t path_model_bytes_in(const struct path_model *model, uint64_t ns)
{
	return model->rate / 1000 * (ns / 1000) / 1000;
}

uint64_t path_model_held_bytes(const struct path_model *model)
{
	return path_model_bytes_in(model, model->least_ns);
}

uint64_t path_model_allowed_bytes(const struct path_model *model)
{
	const uint64_t held_bytes = path_model_held_bytes(model);

	if (path_model_is_draining(model))
		return held_bytes / 2;
	if (!model->is_started)
		return 2 * held_bytes;
	if (model->cautious_rounds > 0 || path_model_is_queued(model))
		return held_bytes;
	return held_bytes + held_bytes / 4;
}
