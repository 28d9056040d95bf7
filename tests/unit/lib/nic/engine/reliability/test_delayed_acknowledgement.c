/* SPDX-License-Identifier: MIT */
/* A program that answers each message: the ACK waits for the answer, and not for long. */
#include "lib/nic/engine/reliability/delayed_acknowledgement.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#include <errno.h>

#define PSN	 100
#define QUICK_NS (LIMIT_ACK_WAIT_NS / 4)
#define US	 1000

struct ping_pong {
	struct engine_fixture *fixture;
	uint32_t messages; /* of the peer, and of the program */
};

static void receive_ping(struct ping_pong *game)
{
	struct rnic_packet packet = fixture_packet(game->fixture, RNIC_OPERATION_SEND,
						   RNIC_POSITION_ONLY, PSN + game->messages);

	packet.ack_request = true;
	fixture_post_receive(game->fixture, game->messages, 0, 8);
	fixture_receive(game->fixture, &packet);
}

static void expect_next(struct ping_pong *game, enum rnic_operation operation)
{
	assert_true(fixture_transmit(game->fixture));
	assert_int_equal(game->fixture->sent.packet.row->operation, operation);
}

static void expect_nothing(struct ping_pong *game)
{
	assert_false(fixture_transmit(game->fixture));
}

/* The program's answer leaves; the peer has it at once. */
static void send_pong(struct ping_pong *game)
{
	fixture_post_simple(game->fixture, RNIC_WR_SEND, game->messages, 8);
	expect_next(game, RNIC_OPERATION_SEND);
}

static void end_round(struct ping_pong *game)
{
	fixture_receive_acknowledge(game->fixture, PSN + game->messages, ACKNOWLEDGEMENT_SYNDROME);
	game->messages++;
}

/* A round whose ACK leaves before the answer, which comes `ns` later. */
static void play_round(struct ping_pong *game, uint64_t ns)
{
	receive_ping(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	fixture_tick(game->fixture, ns);
	send_pong(game);
	expect_nothing(game);
	end_round(game);
}

static void begin_game(void **state, const struct fixture_options *options)
{
	static struct ping_pong game;

	game = (struct ping_pong){.fixture = fixture_create(options)};
	fixture_tick(game.fixture, US);
	*state = &game;
}

static int set_up(void **state)
{
	begin_game(state, &fixture_defaults);
	return 0;
}

static void play_rounds(struct ping_pong *game)
{
	for (uint32_t i = 0; i < LIMIT_ACK_REPLIES; i++)
		play_round(game, QUICK_NS);
}

/* A connection on which a ping-pong has been seen. */
static int set_up_ping_pong(void **state)
{
	set_up(state);
	play_rounds(*state);
	return 0;
}

/* Its payload reaches memory in batches. */
static int set_up_batched(void **state)
{
	struct fixture_options options = fixture_defaults;

	options.is_batched = true;
	begin_game(state, &options);
	play_rounds(*state);
	return 0;
}

static int tear_down(void **state)
{
	struct ping_pong *game = *state;

	fixture_destroy(game->fixture);
	return 0;
}

static void the_ack_leaves_behind_the_answer(void **state)
{
	struct ping_pong *game = *state;

	for (uint32_t i = 0; i < 3; i++) {
		receive_ping(game);
		expect_nothing(game);
		fixture_tick(game->fixture, QUICK_NS);
		expect_nothing(game);
		send_pong(game);
		expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
		assert_int_equal(game->fixture->sent.packet.psn.value, PSN + game->messages);
		expect_nothing(game);
		end_round(game);
	}
}

static void the_ack_leaves_behind_all_answers(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	expect_nothing(game);
	fixture_post_simple(game->fixture, RNIC_WR_SEND, 1, 8);
	fixture_post_simple(game->fixture, RNIC_WR_RDMA_WRITE, 2, 8);
	expect_next(game, RNIC_OPERATION_SEND);
	expect_next(game, RNIC_OPERATION_WRITE);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	expect_nothing(game);
}

static void one_ack_stands_for_two_messages(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	expect_nothing(game);
	game->messages++;
	receive_ping(game);
	expect_nothing(game);
	game->messages--;
	send_pong(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(game->fixture->sent.packet.psn.value, PSN + game->messages + 1);
	expect_nothing(game);
}

static void the_wait_ends(void **state)
{
	struct ping_pong *game = *state;
	const struct engine *engine = &game->fixture->engine;

	receive_ping(game);
	expect_nothing(game);
	assert_int_equal(delayed_acknowledgement_next_ns(engine),
			 game->fixture->now_ns + LIMIT_ACK_WAIT_NS);
	assert_true(engine_next_deadline_ns(engine) <= game->fixture->now_ns + LIMIT_ACK_WAIT_NS);
	fixture_tick(game->fixture, LIMIT_ACK_WAIT_NS - 1);
	expect_nothing(game);
	fixture_tick(game->fixture, 1);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	assert_true(delayed_acknowledgement_next_ns(engine) == UINT64_MAX);
}

/* After a wait in vain the ping-pong has to be seen anew, for twice as long. */
static void a_wait_in_vain_is_the_last(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	expect_nothing(game);
	fixture_tick(game->fixture, LIMIT_ACK_WAIT_NS);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	send_pong(game);
	end_round(game);
	for (uint32_t i = 1; i < 2 * LIMIT_ACK_REPLIES; i++)
		play_round(game, QUICK_NS);
	receive_ping(game);
	expect_nothing(game);
}

static void the_owner_ends_the_wait(void **state)
{
	struct ping_pong *game = *state;

	assert_false(engine_end_waits(&game->fixture->engine, false));
	receive_ping(game);
	expect_nothing(game);
	assert_true(engine_end_waits(&game->fixture->engine, false));
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	assert_false(engine_end_waits(&game->fixture->engine, false));
}

static void a_nak_does_not_wait(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	expect_nothing(game);
	game->messages += 2;
	receive_ping(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	assert_true(rnic_syndrome_kind(game->fixture->sent.packet.aeth.syndrome) ==
		    RNIC_SYNDROME_NAK);
	expect_nothing(game);
}

/* The peer has not got the ACK that left behind the answer. */
static void a_message_that_comes_again_is_acknowledged_at_once(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	send_pong(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	receive_ping(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	expect_nothing(game);
}

static void a_read_brings_the_ack_along(void **state)
{
	struct ping_pong *game = *state;
	struct rnic_packet read = fixture_packet(game->fixture, RNIC_OPERATION_READ_REQUEST,
						 RNIC_POSITION_ONLY, PSN + game->messages + 1);

	read.reth = (struct rnic_reth){FIXTURE_IOVA, game->fixture->mr.key, 8};
	receive_ping(game);
	expect_nothing(game);
	fixture_receive(game->fixture, &read);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	expect_next(game, RNIC_OPERATION_READ_RESPONSE);
	expect_nothing(game);
}

/* The program has the message; its answer names memory that is not registered. */
static void an_ack_outlives_an_answer_that_fails(void **state)
{
	struct ping_pong *game = *state;
	struct send_wqe answer = fixture_work(RNIC_WR_SEND, 1, 8);
	struct rnic_sge sge = fixture_sge(game->fixture, 0, 8);

	sge.lkey ^= 0xff;
	receive_ping(game);
	expect_nothing(game);
	fixture_post(game->fixture, &answer, &sge);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(game->fixture->sent.packet.psn.value, PSN + game->messages);
	assert_int_equal(game->fixture->qp->state, RNIC_QP_STATE_ERR);
	expect_nothing(game);
}

/*
 * In one batch payload of a response fails, and a message comes, whose receive is flushed: the ACK
 * that waits for the message before would stand for both.
 */
static void an_ack_does_not_stand_for_a_flushed_receive(void **state)
{
	struct ping_pong *game = *state;
	struct engine_fixture *fixture = game->fixture;
	struct rnic_packet response = fixture_packet(fixture, RNIC_OPERATION_READ_RESPONSE,
						     RNIC_POSITION_ONLY, PSN + game->messages);

	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 8);
	expect_next(game, RNIC_OPERATION_READ_REQUEST);
	receive_ping(game);
	expect_nothing(game);
	response.payload = fixture->payload;
	response.payload_bytes = 8;
	fixture->memory.error = -EFAULT;
	engine_receive(&fixture->engine, &response, fixture->now_ns);
	game->messages++;
	receive_ping(game);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	expect_nothing(game);
	fixture_tick(fixture, 2 * LIMIT_ACK_WAIT_NS);
	expect_nothing(game);
}

static void an_ack_outlives_a_fatal_nak(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	send_pong(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	game->messages++;
	receive_ping(game);
	expect_nothing(game);
	fixture_receive_acknowledge(
		game->fixture, PSN + game->messages - 1,
		rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_INVALID_REQUEST));
	assert_int_equal(game->fixture->qp->state, RNIC_QP_STATE_ERR);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	expect_nothing(game);
}

/* A peer that has used up its credits can send nothing that the program would answer. */
static void news_of_credits_do_not_wait(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	send_pong(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	acknowledgement_owe(game->fixture->qp, ACKNOWLEDGEMENT_SYNDROME,
			    rnic_psn(PSN + game->messages));
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	end_round(game);
	receive_ping(game);
	expect_nothing(game);
}

/* The copy asks for less than the ACK that waits. */
static void a_copy_ends_the_wait(void **state)
{
	struct ping_pong *game = *state;

	receive_ping(game);
	game->messages++;
	receive_ping(game);
	expect_nothing(game);
	game->messages--;
	receive_ping(game);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(game->fixture->sent.packet.psn.value, PSN + game->messages + 1);
	expect_nothing(game);
}

static void a_slow_program_makes_nobody_wait(void **state)
{
	struct ping_pong *game = *state;

	for (uint32_t i = 0; i < 2 * LIMIT_ACK_REPLIES; i++)
		play_round(game, LIMIT_ACK_WAIT_NS + US);
}

static void a_stream_makes_nobody_wait(void **state)
{
	struct ping_pong *game = *state;

	for (uint32_t i = 0; i < 4 * LIMIT_ACK_REPLIES; i++) {
		receive_ping(game);
		expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
		if (i % 2 == 1)
			send_pong(game);
		game->messages++;
	}
}

static void a_queue_pair_that_goes_ends_the_wait(void **state)
{
	struct ping_pong *game = *state;
	const struct rnic_qp_attributes reset = {.state = RNIC_QP_STATE_RESET};

	receive_ping(game);
	expect_nothing(game);
	assert_int_equal(qp_modify(game->fixture->qp, &reset, RNIC_QP_ATTR_STATE), 0);
	assert_true(delayed_acknowledgement_next_ns(&game->fixture->engine) == UINT64_MAX);
	expect_next(game, RNIC_OPERATION_ACKNOWLEDGE);
	expect_nothing(game);
}

int main(void)
{
#define WITH_PING_PONG(test) cmocka_unit_test_setup_teardown(test, set_up_ping_pong, tear_down)
#define WITHOUT(test)	     cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_PING_PONG(the_ack_leaves_behind_the_answer),
		WITH_PING_PONG(the_ack_leaves_behind_all_answers),
		WITH_PING_PONG(one_ack_stands_for_two_messages),
		WITH_PING_PONG(the_wait_ends),
		WITH_PING_PONG(a_wait_in_vain_is_the_last),
		WITH_PING_PONG(the_owner_ends_the_wait),
		WITH_PING_PONG(a_nak_does_not_wait),
		WITH_PING_PONG(a_message_that_comes_again_is_acknowledged_at_once),
		WITH_PING_PONG(a_read_brings_the_ack_along),
		WITH_PING_PONG(an_ack_outlives_an_answer_that_fails),
		cmocka_unit_test_setup_teardown(an_ack_does_not_stand_for_a_flushed_receive,
						set_up_batched, tear_down),
		WITH_PING_PONG(an_ack_outlives_a_fatal_nak),
		WITH_PING_PONG(news_of_credits_do_not_wait),
		WITH_PING_PONG(a_copy_ends_the_wait),
		WITH_PING_PONG(a_queue_pair_that_goes_ends_the_wait),
		WITHOUT(a_slow_program_makes_nobody_wait),
		WITHOUT(a_stream_makes_nobody_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
