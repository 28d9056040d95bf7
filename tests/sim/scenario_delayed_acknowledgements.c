/* SPDX-License-Identifier: MIT */
/*
 * Ping-pongs, in which ACKs wait for the program's next message
 * (delayed_acknowledgement.h): on good networks and bad ones, with programs that
 * stop answering, and with two programs that wait for each other's ACK.
 */
#include "tests/sim/scenario.h"

#define CM_TIMEOUT  14 /* 67 ms, as the connection manager sets it */
#define TRIP_NS	    (10 * SIM_US)
#define ROUNDS	    200
#define ARENA_BYTES (64 << 20)

static void send_and_wait(struct sim_qp *from, uint32_t bytes)
{
	const uint64_t received = from->peer->end.received;

	sim_post(from, .opcode = RNIC_WR_SEND, .bytes = bytes);
	while (from->peer->end.received == received) {
		sim_run_for(from->sim, SIM_US);
		assert_true(from->sim->net.now_ns < 100 * SIM_S);
	}
	sim_receive(from->peer, .bytes = bytes);
}

/* Messages to and fro; each end has `receives` posted. The last message has no answer. */
static void play(struct sim_qp *qp, uint32_t rounds, uint32_t bytes, uint32_t receives)
{
	for (uint32_t i = 0; i < receives; i++) {
		sim_receive(qp, .bytes = bytes);
		sim_receive(qp->peer, .bytes = bytes);
	}
	for (uint32_t i = 0; i < rounds; i++) {
		send_and_wait(qp, bytes);
		send_and_wait(qp->peer, bytes);
	}
}

static bool waits(const struct sim_qp *qp)
{
	return qp->qp->delayed_acknowledgement.stage == ACKNOWLEDGEMENT_WAITS;
}

static void both_ends_wait_in_a_ping_pong(void **state)
{
	static const uint32_t sizes[] = {0, 1, 8, 1024, 5000, 20000};

	(void)state;
	for (size_t i = 0; i < 2 * RNIC_COUNT_OF(sizes); i++) {
		struct sim *sim = sim_create(.seed = i, .arena_bytes = ARENA_BYTES);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);

		play(qp, ROUNDS, sizes[i / 2], i % 2 == 0 ? 1 : 20);
		assert_true(waits(qp));
		sim_run(sim, SIM_MS);
		assert_int_equal(sim_counter(sim, 0, COUNTER_TAIL_PROBES), 0);
		/* Each ACK left once, and those of few receives tell of the next one, too. */
		assert_in_range(sim_counter(sim, 0, COUNTER_ACKNOWLEDGES_SENT), ROUNDS,
				i % 2 == 0 ? 2 * ROUNDS : ROUNDS + 1);
		assert_sim_is_right(sim);
	}
}

/* The sender of the last message waits for its completion, and for nothing else. */
static void the_last_message_is_acknowledged_soon(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = ARENA_BYTES);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);
	uint64_t took_ns;

	(void)state;
	play(qp, ROUNDS, 8, 20);
	took_ns = sim_run(sim, SIM_MS);
	assert_in_range(took_ns, TRIP_NS, LIMIT_ACK_WAIT_NS + 2 * TRIP_NS);
	/* Then nobody answers, and after the first message nothing waits. */
	for (uint32_t i = 0; i < 3; i++) {
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 8);
		took_ns = sim_run(sim, SIM_MS);
	}
	assert_in_range(took_ns, 2 * TRIP_NS, 2 * TRIP_NS + SIM_US);
	assert_sim_is_right(sim);
}

/* Lost messages and lost ACKs cost what they cost elsewhere. */
static void losses_are_made_good(void **state)
{
	const struct sim_link lossy = {.loss_ppm = 20000};

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim *sim = sim_create(.seed = seed, .arena_bytes = ARENA_BYTES);
		struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);

		play(qp, 2 * LIMIT_ACK_REPLIES, 3000, 20);
		sim_all_links(sim, &lossy);
		play(qp, ROUNDS, 3000, 0);
		sim_run(sim, SIM_S);
		assert_in_range(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0, 1);
		assert_sim_is_right(sim);
	}
}

/* Many messages at once in both directions, after a ping-pong. */
static void streams_go_on(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = ARENA_BYTES);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT, .depth = 64);

	(void)state;
	play(qp, ROUNDS, 20000, 60);
	for (uint32_t i = 0; i < 60; i++) {
		sim_post(qp, .opcode = RNIC_WR_SEND, .bytes = 20000);
		sim_post(qp->peer, .opcode = RNIC_WR_SEND, .bytes = 20000);
	}
	sim_run(sim, 10 * SIM_MS);
	assert_int_equal(sim_counter(sim, 0, COUNTER_TAIL_PROBES), 0);
	assert_sim_is_right(sim);
}

/*
 * Each end sends its next WRITE when the last one is acknowledged: each ACK has a WRITE behind it,
 * which waits for the other ACK. The waits in vain become rare.
 */
static void two_that_wait_for_each_other_stop_waiting(void **state)
{
	struct sim *sim = sim_create(.seed = 1, .arena_bytes = ARENA_BYTES);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .timeout = CM_TIMEOUT);
	uint64_t took_ns = 0;

	(void)state;
	for (uint32_t i = 0; i < 10 * ROUNDS; i++) {
		sim_post(qp, .bytes = 8);
		sim_post(qp->peer, .bytes = 8);
		took_ns += sim_run(sim, SIM_MS);
	}
	assert_in_range(took_ns, 10 * ROUNDS * 2 * TRIP_NS, 10 * ROUNDS * 2 * TRIP_NS * 11 / 10);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_wait_in_a_ping_pong),
		cmocka_unit_test(the_last_message_is_acknowledged_soon),
		cmocka_unit_test(losses_are_made_good),
		cmocka_unit_test(streams_go_on),
		cmocka_unit_test(two_that_wait_for_each_other_stop_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
