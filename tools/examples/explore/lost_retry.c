/* SPDX-License-Identifier: MIT */
/*
 * A client sends numbered messages, and a server posts each receive again once it has taken the
 * message. The server has twice as many receives as the client has sends under way, so the client
 * of lost_retry_wrong believes that a receive is always there.
 *
 * MISTAKE: rnr_retry is 0, and RNR_RETRY_EXC "cannot happen". When the server takes a message late,
 * or cannot post a receive at once, it happens.
 * Right: rnr_retry 7 lets the device wait for the receive, and each error ends the attempt.
 */
#include "two_sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAS_MISTAKE
#define RNR_RETRY 0
#else
#define RNR_RETRY 7 /* without end */
#endif

#define MESSAGE_COUNT 512
#define MESSAGE_BYTES 256
#define WINDOW	      8
#define RECEIVE_COUNT (2 * WINDOW)

struct message {
	uint32_t number;
	uint8_t content[MESSAGE_BYTES];
};

struct transfer {
	struct two_sides sides;
	struct message outgoing[WINDOW];
	struct message incoming[RECEIVE_COUNT];
	bool is_posted[RECEIVE_COUNT];
	uint32_t taken_count; /* messages that the server has; an attempt begins with the next */
	uint32_t sent_count;
	uint32_t completed_count;
	bool is_wrong;
	bool has_failed;
};

static void refill_receives(struct transfer *transfer)
{
	for (uint32_t i = 0; i < RECEIVE_COUNT; i++) {
		if (transfer->is_posted[i])
			continue;
		struct ibv_sge sge = {.addr = (uintptr_t)&transfer->incoming[i],
				      .length = sizeof(struct message),
				      .lkey = transfer->sides.mr[SERVER]->lkey};
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
		struct ibv_recv_wr *bad;
		/* A receive that could not be posted gets another chance in the next turn. */
		transfer->is_posted[i] = ibv_post_recv(transfer->sides.qp[SERVER], &wr, &bad) == 0;
	}
}

/* After a new connection the client repeats messages whose completions it has not seen. */
static void take_numbered(struct transfer *transfer, const struct message *message)
{
	if (message->number < transfer->taken_count)
		return;
	if (message->number > transfer->taken_count ||
	    !pattern_matches(message->content, MESSAGE_BYTES, message->number))
		transfer->is_wrong = true;
	transfer->taken_count++;
}

static void server_turn(struct transfer *transfer)
{
	struct ibv_wc wc;
	int count;
	while ((count = ibv_poll_cq(transfer->sides.cq[SERVER], 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			report_completion(SERVER, &wc);
			transfer->has_failed = true;
			return;
		}
		take_numbered(transfer, &transfer->incoming[wc.wr_id]);
		transfer->is_posted[wc.wr_id] = false;
	}
	transfer->has_failed |= count < 0;
	refill_receives(transfer);
}

static bool send_next(struct transfer *transfer)
{
	struct message *message = &transfer->outgoing[transfer->sent_count % WINDOW];
	message->number = transfer->sent_count;
	pattern_fill(message->content, MESSAGE_BYTES, message->number);
	struct ibv_sge sge = {.addr = (uintptr_t)message,
			      .length = sizeof(*message),
			      .lkey = transfer->sides.mr[CLIENT]->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	return ibv_post_send(transfer->sides.qp[CLIENT], &wr, &bad) == 0;
}

static void on_send_error(struct transfer *transfer, const struct ibv_wc *wc)
{
	report_completion(CLIENT, wc);
#ifdef HAS_MISTAKE
	if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR)
		abort(); /* cannot happen: there are enough receives */
#endif
	transfer->has_failed = true;
}

static void client_turn(struct transfer *transfer)
{
	struct ibv_wc wc;
	int count;
	while ((count = ibv_poll_cq(transfer->sides.cq[CLIENT], 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			on_send_error(transfer, &wc);
			return;
		}
		transfer->completed_count++;
	}
	transfer->has_failed |= count < 0;
	while (transfer->sent_count < MESSAGE_COUNT &&
	       transfer->sent_count - transfer->completed_count < WINDOW && send_next(transfer))
		transfer->sent_count++;
}

static bool send_numbered(void *state)
{
	struct transfer *transfer = state;
	const struct side_memory memory[SIDE_COUNT] = {
		[CLIENT] = {transfer->outgoing, sizeof(transfer->outgoing)},
		[SERVER] = {transfer->incoming, sizeof(transfer->incoming)},
	};
	const struct connection_settings settings = {
		.timeout = 14, .retry_count = 7, .rnr_retry = RNR_RETRY, .entry_count = 16};
	transfer->sent_count = transfer->taken_count;
	transfer->completed_count = transfer->taken_count;
	memset(transfer->is_posted, 0, sizeof(transfer->is_posted));
	transfer->has_failed = !two_sides_open(&transfer->sides, memory, &settings);
	while (!transfer->has_failed && (transfer->completed_count < MESSAGE_COUNT ||
					 transfer->taken_count < MESSAGE_COUNT)) {
		server_turn(transfer);
		client_turn(transfer);
		transfer->has_failed |= two_sides_is_late(&transfer->sides);
	}
	two_sides_close(&transfer->sides);
	return transfer->taken_count == MESSAGE_COUNT || transfer->is_wrong;
}

int main(int argc, char **argv)
{
	static struct transfer transfer;
	(void)argc;
	run_attempts(argv[0], send_numbered, &transfer);
	printf("%u of %u messages arrived%s\n", transfer.taken_count, MESSAGE_COUNT,
	       transfer.is_wrong ? ", and some are wrong" : "");
	return transfer.is_wrong ? EXIT_WRONG_DATA : EXIT_SUCCESS;
}
