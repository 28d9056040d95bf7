/* SPDX-License-Identifier: MIT */
/*
 * Programs that take their last message and go at once: whoever sent the message learns that it
 * came. Before that the two play ping-pong, in which acknowledgements wait for the next message.
 * Run under rnic-run, on a device with one address.
 */
#include "tests/interop/verbs/verbs_pair.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	      50
#define REPEATS	      20
#define SEND_ID	      1
#define RECEIVE_ID    2
#define MESSAGE_BYTES 8

static struct ibv_sge message_sge(const struct pair *pair)
{
	return (struct ibv_sge){(uintptr_t)pair->bytes, MESSAGE_BYTES, pair->mr->lkey};
}

static void post_receive(struct pair *pair)
{
	struct ibv_sge sge = message_sge(pair);
	struct ibv_recv_wr wr = {.wr_id = RECEIVE_ID, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(pair->ends[0].qp, &wr, &bad), 0);
}

static void post_message(struct pair *pair)
{
	struct ibv_sge sge = message_sge(pair);
	struct ibv_send_wr wr = {.wr_id = SEND_ID,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	assert_int_equal(ibv_post_send(pair->ends[0].qp, &wr, &bad), 0);
}

/* Waits for a message, and for what was sent before it. */
static void await_message(struct pair *pair)
{
	struct ibv_wc wc;

	do {
		wc = pair_wait(pair, 0);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	} while (wc.wr_id != RECEIVE_ID);
	post_receive(pair);
}

static struct pair *start_half(int socket)
{
	struct pair *pair = pair_start_half(IBV_QPT_RC, socket);
	char byte = 0;

	for (uint32_t i = 0; i < 4; i++)
		post_receive(pair);
	assert_int_equal(write(socket, &byte, 1), 1);
	assert_int_equal(read(socket, &byte, 1), 1);
	return pair;
}

static void go_by_exit(struct pair *pair)
{
	(void)pair;
}

static void go_by_destroying(struct pair *pair)
{
	ibv_destroy_qp(pair->ends[0].qp);
}

static void go_by_an_error(struct pair *pair)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	ibv_modify_qp(pair->ends[0].qp, &attributes, IBV_QP_STATE);
}

static void go_by_closing(struct pair *pair)
{
	ibv_destroy_qp(pair->ends[0].qp);
	ibv_close_device(pair->context);
}

/* The other program: answers all messages but the last, and goes. */
static void play_and_go(int socket, void (*go)(struct pair *pair))
{
	struct pair *pair = start_half(socket);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		await_message(pair);
		post_message(pair);
	}
	await_message(pair);
	go(pair);
	exit(0);
}

static void play(struct pair *pair)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		post_message(pair);
		await_message(pair);
	}
}

/* The last message is complete, as those before it whose completions are not polled yet. */
static void send_the_last(struct pair *pair)
{
	uint32_t messages = 0;
	struct ibv_wc wc;

	while (ibv_poll_cq(pair->ends[0].cq, 1, &wc) > 0)
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	post_message(pair);
	while (messages == 0) {
		wc = pair_wait(pair, 0);
		assert_string_equal(ibv_wc_status_str(wc.status),
				    ibv_wc_status_str(IBV_WC_SUCCESS));
		messages += wc.wr_id == SEND_ID;
	}
}

static void lose_a_partner(void (*go)(struct pair *pair))
{
	struct pair *pair;
	int sockets[2], status;
	pid_t partner;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	fflush(NULL);
	partner = fork();
	assert_true(partner >= 0);
	if (partner == 0)
		play_and_go(sockets[1], go);
	pair = start_half(sockets[0]);
	play(pair);
	send_the_last(pair);
	assert_int_equal(waitpid(partner, &status, 0), partner);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	pair_stop(pair);
	close(sockets[0]);
	close(sockets[1]);
}

static void a_partner_may_exit(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < REPEATS; i++)
		lose_a_partner(go_by_exit);
}

static void a_partner_may_destroy_its_queue_pair(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < REPEATS; i++)
		lose_a_partner(go_by_destroying);
}

static void a_partner_may_enter_the_error_state(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < REPEATS; i++)
		lose_a_partner(go_by_an_error);
}

static void a_partner_may_close_its_device(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < REPEATS; i++)
		lose_a_partner(go_by_closing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partner_may_exit),
		cmocka_unit_test(a_partner_may_destroy_its_queue_pair),
		cmocka_unit_test(a_partner_may_enter_the_error_state),
		cmocka_unit_test(a_partner_may_close_its_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
