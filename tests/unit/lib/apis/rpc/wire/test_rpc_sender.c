/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_sender.h"
#include "tests/unit/unit_test.h"

#define MS    UINT64_C(1000000)
#define ROOM  100u
#define FIRST 0xfffffffau /* the sequence wraps soon */

static const struct rpc_sender_limits limits = {
	.payload_bytes = 10,
	.window_packets = RPC_WINDOW_PACKETS,
	.rto_initial_ns = 20 * MS,
	.rto_min_ns = 5 * MS,
	.rto_max_ns = 100 * MS,
};

static const uint8_t text[1000];

/* A sender with a message of so many fragments, and credit for so many. */
static struct rpc_sender make(struct rpc_outgoing *message, uint32_t fragments, uint32_t credit)
{
	struct rpc_packet ack = {.cumulative = FIRST, .credit = FIRST + credit};
	struct rpc_sender sender;

	rpc_sender_init(&sender, &limits, FIRST);
	*message = (struct rpc_outgoing){.bytes = text, .length = fragments * 10};
	rpc_sender_push(&sender, message);
	assert_true(rpc_sender_acknowledge(&sender, &ack, 0));
	return sender;
}

static uint32_t send_all(struct rpc_sender *sender, uint64_t now_ns)
{
	struct rpc_packet packet;
	uint32_t count = 0;

	while (rpc_sender_transmit(sender, &packet, ROOM, now_ns))
		count++;
	return count;
}

static void acknowledge(struct rpc_sender *sender, uint32_t before, uint64_t selective,
			uint64_t now_ns)
{
	struct rpc_packet ack = {.cumulative = FIRST + before,
				 .selective = selective,
				 .credit = FIRST + before + 32};

	assert_true(rpc_sender_acknowledge(sender, &ack, now_ns));
}

static void test_fragments(void **state)
{
	struct rpc_outgoing message = {.bytes = text, .length = 25};
	struct rpc_packet ack = {.cumulative = FIRST, .credit = FIRST + 8};
	struct rpc_packet packet;
	struct rpc_sender sender;

	(void)state;
	rpc_sender_init(&sender, &limits, FIRST);
	rpc_sender_push(&sender, &message);
	rpc_sender_acknowledge(&sender, &ack, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 0));
		assert_int_equal(packet.sequence, FIRST + i);
		assert_int_equal(packet.offset, 10 * i);
		assert_int_equal(packet.total, 25);
		assert_int_equal(packet.payload_bytes, i < 2 ? 10 : 5);
		assert_ptr_equal(packet.payload, text + 10 * i);
	}
	assert_false(rpc_sender_transmit(&sender, &packet, ROOM, 0));
}

static void test_no_more_than_credit(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 20, 3);

	(void)state;
	assert_int_equal(send_all(&sender, 0), 3);
	assert_false(rpc_sender_is_blocked(&sender)); /* an acknowledgement is to come anyway */
	sender.credit = FIRST + 3;
	for (uint32_t i = 1; i <= 3; i++) {
		struct rpc_packet ack = {.cumulative = FIRST + i, .credit = FIRST + 3};

		rpc_sender_acknowledge(&sender, &ack, 1);
	}
	assert_true(rpc_sender_is_blocked(&sender));
}

static void test_no_more_than_the_allowance(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 60, 60);

	(void)state;
	assert_int_equal(send_all(&sender, 0), 16);
	acknowledge(&sender, 8, 0, 1 * MS);
	assert_int_equal(send_all(&sender, 1 * MS), 16); /* twice as many a round trip */
	sender.threshold = sender.allowance;		 /* as after a loss */
	acknowledge(&sender, 32, 0, 2 * MS);
	assert_int_equal(send_all(&sender, 2 * MS), 25); /* one more */
}

/* Acknowledgements that come after the timer show that it was early. */
static void test_early_timer(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 60, 60);

	(void)state;
	send_all(&sender, 0);
	rpc_sender_tick(&sender, 20 * MS);
	assert_int_equal(send_all(&sender, 20 * MS), 2);
	acknowledge(&sender, 2, 0, 21 * MS); /* may be of the second sending */
	assert_int_equal(sender.allowance, 4);
	acknowledge(&sender, 3, 0, 22 * MS); /* is not: the others are under way */
	assert_int_equal(sender.allowance, 17);
	assert_int_equal(send_all(&sender, 22 * MS), 4);
	assert_int_equal(sender.in_flight, 17);
	assert_int_equal(sender.retransmissions, 2);
}

/* After a timer that was right, the allowance doubles up to half of what it was. */
static void test_slow_start(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 60, 60);

	(void)state;
	send_all(&sender, 0);
	rpc_sender_tick(&sender, 20 * MS);
	for (uint32_t arrived = 0, sent; arrived < 14; arrived += sent) {
		sent = send_all(&sender, 20 * MS);
		assert_int_equal(sent, sender.allowance);
		acknowledge(&sender, arrived + sent, 0, 20 * MS);
	}
	assert_int_equal(sender.allowance, 9); /* 2, 4, 8, and one more */
}

static void test_released_when_all_arrived(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 3, 8);

	(void)state;
	send_all(&sender, 0);
	acknowledge(&sender, 2, 0, 1);
	assert_null(rpc_sender_take_released(&sender, false));
	acknowledge(&sender, 3, 0, 2);
	assert_ptr_equal(rpc_sender_take_released(&sender, false), &message);
	assert_true(sender.timer_ns == RPC_NEVER);
}

/* Three later arrivals make a fragment lost, once; the allowance halves, once for one loss. */
static void test_lost_by_later_arrivals(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 10, 10);
	struct rpc_packet packet;

	(void)state;
	send_all(&sender, 0);
	acknowledge(&sender, 0, 0x3, 1); /* two later ones: it may be late */
	assert_false(rpc_sender_transmit(&sender, &packet, ROOM, 1));
	acknowledge(&sender, 0, 0x7, 1);
	assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 1));
	assert_int_equal(packet.sequence, FIRST);
	assert_int_equal(sender.allowance, 9); /* of 16, and 3 that have arrived */
	acknowledge(&sender, 0, 0x1f, 2);
	assert_false(rpc_sender_transmit(&sender, &packet, ROOM, 2));
	assert_int_equal(sender.retransmissions, 1);
}

/* Of 40 fragments the second and the last arrive: the others but the last few are lost. */
static void test_far_arrival(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 40, 40);

	(void)state;
	sender.allowance = 40;
	assert_int_equal(send_all(&sender, 0), 40);
	acknowledge(&sender, 0, UINT64_C(1) << 38 | 1, 1);
	assert_int_equal(sender.lost, 36);
	assert_int_equal(sender.in_flight, 2);
	assert_int_equal(sender.allowance, 21); /* of 40, and 2 that have arrived */
	assert_int_equal(send_all(&sender, 1), 19);
	assert_int_equal(sender.lost, 17);
	acknowledge(&sender, 40, 0, 2);
	assert_int_equal(sender.lost, 0);
	assert_int_equal(sender.in_flight, 0);
}

static void test_lost_by_time(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 4, 10);

	(void)state;
	send_all(&sender, 0);
	assert_true(sender.timer_ns == 20 * MS);
	rpc_sender_tick(&sender, 20 * MS - 1);
	assert_int_equal(send_all(&sender, 20 * MS - 1), 0);
	rpc_sender_tick(&sender, 20 * MS);
	assert_int_equal(send_all(&sender, 20 * MS), 2); /* the least allowance */
	assert_true(sender.timer_ns == 60 * MS);	 /* twice as long */
	for (uint64_t now = 60 * MS; now < 1000 * MS; now = sender.timer_ns) {
		rpc_sender_tick(&sender, now);
		send_all(&sender, now);
	}
	assert_true(sender.rto_ns == limits.rto_max_ns);
}

/* RFC 6298: a retransmitted packet tells nothing about the round trip. */
static void test_round_trip(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 2, 10);

	(void)state;
	send_all(&sender, 0);
	acknowledge(&sender, 1, 0, 8 * MS);
	assert_true(sender.smoothed_ns == 8 * MS);
	assert_true(sender.rto_ns == 24 * MS);
	rpc_sender_tick(&sender, sender.timer_ns);
	send_all(&sender, 40 * MS);
	acknowledge(&sender, 2, 0, 41 * MS);
	assert_true(sender.smoothed_ns == 8 * MS);
}

static void test_acknowledged_before_it_was_sent(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 5, 2);
	struct rpc_packet ack = {.cumulative = FIRST + 3, .credit = FIRST + 10};

	(void)state;
	send_all(&sender, 0);
	assert_false(rpc_sender_acknowledge(&sender, &ack, 1));
	assert_int_equal(sender.base, FIRST);
	assert_int_equal(sender.credit, FIRST + 2);
}

/* An old acknowledgement that comes late takes nothing back. */
static void test_overtaken(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 5, 5);

	(void)state;
	send_all(&sender, 0);
	acknowledge(&sender, 4, 0, 1);
	acknowledge(&sender, 1, 0, 2);
	assert_int_equal(sender.base, FIRST + 4);
	assert_int_equal(sender.in_flight, 1);
}

/* So many fragments are sent; returns a bit for each that asks for an acknowledgement. */
static uint64_t send_asking(struct rpc_sender *sender, uint32_t count)
{
	struct rpc_packet packet;
	uint64_t asking = 0;

	for (uint32_t i = 0; i < count; i++) {
		packet = (struct rpc_packet){0};
		assert_true(rpc_sender_transmit(sender, &packet, ROOM, 0));
		asking |= (uint64_t)packet.code << i;
	}
	return asking;
}

/* The sender asks where it could not go on, and each 64 fragments. */
static void test_asks(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 60, 60);

	(void)state;
	assert_true(send_asking(&sender, 16) == 0); /* an older peer does not know what asking is */
	sender = make(&message, 60, 40);
	sender.limits.asks = true;
	assert_true(send_asking(&sender, 16) == 1 << 15); /* the allowance */
	acknowledge(&sender, 16, 0, 0);
	assert_true(send_asking(&sender, 32) == UINT64_C(1) << 31); /* the credit */
	acknowledge(&sender, 20, 0, 0);
	assert_true(send_asking(&sender, 4) == 1 << 3);
	acknowledge(&sender, 52, 0, 0);
	assert_true(send_asking(&sender, 8) == 1 << 7); /* the end of the message */
	sender = make(&message, 100, 100);
	sender.limits.asks = true;
	sender.limits.window_packets = sender.allowance = 100;
	assert_true(send_asking(&sender, 64) == UINT64_C(1) << 63);
	assert_true(send_asking(&sender, 36) == UINT64_C(1) << 35);
}

/* A sender whose fragments of 10 bytes may go in parts of 4, with a message of three of them. */
static struct rpc_sender make_parting(struct rpc_outgoing *message)
{
	struct rpc_sender sender = make(message, 3, 10);

	sender.limits.part_bytes = 4;
	sender.limits.trial_ns = sender.trial_wait_ns = 1000 * MS;
	send_all(&sender, 0);
	return sender;
}

/* Lets the timer expire so often, and sends each time what may be sent. */
static void expire(struct rpc_sender *sender, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		uint64_t now_ns = sender->timer_ns;

		rpc_sender_tick(sender, now_ns);
		send_all(sender, now_ns);
	}
}

/* Only a peer that is heard, again and again, shows that the path is there and has shrunk. */
static void test_outage_is_no_reason_for_parts(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make_parting(&message);

	(void)state;
	expire(&sender, 10);
	acknowledge(&sender, 0, 0, sender.timer_ns - 1); /* the outage is over */
	expire(&sender, 1);
	assert_false(sender.is_parting);
	acknowledge(&sender, 1, 0, sender.timer_ns - 1); /* an arrival counts anew */
	expire(&sender, 10);
	assert_false(sender.is_parting);
}

/* Parts fill the peer's receives as whole fragments do, and ask as often. */
static void test_parts_ask(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make_parting(&message);

	(void)state;
	expire(&sender, 1);
	acknowledge(&sender, 0, 0, sender.timer_ns - 1);
	expire(&sender, 1);
	rpc_sender_tick(&sender, sender.timer_ns);
	sender.limits.asks = true;
	sender.unasked = 62;
	assert_true(send_asking(&sender, 2) == 1 << 1);
}

static void test_parts(void **state)
{
	static const uint32_t offsets[] = {0, 4, 8, 10, 14, 18};
	struct rpc_outgoing message;
	struct rpc_sender sender = make_parting(&message);
	struct rpc_packet packet;

	(void)state;
	expire(&sender, 1);
	acknowledge(&sender, 0, 0, sender.timer_ns - 1);
	expire(&sender, 1);
	rpc_sender_tick(&sender, sender.timer_ns);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 1000 * MS));
		assert_int_equal(packet.sequence, FIRST + i / 3);
		assert_int_equal(packet.offset, offsets[i]);
		assert_int_equal(packet.payload_bytes, i % 3 == 2 ? 2 : 4);
		assert_ptr_equal(packet.payload, text + offsets[i]);
		assert_int_equal(packet.total, 30);
	}
	assert_false(
		rpc_sender_transmit(&sender, &packet, ROOM, 1000 * MS)); /* the least allowance */
	acknowledge(&sender, 3, 0, 1001 * MS);
	assert_ptr_equal(rpc_sender_take_released(&sender, false), &message);
}

/* The rest of a fragment stays here when the peer has all of it, or when it counts as lost. */
static void test_parts_end(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make_parting(&message);
	struct rpc_packet packet;

	(void)state;
	sender.is_parting = true;
	sender.trial_ns = RPC_NEVER;
	rpc_sender_tick(&sender, sender.timer_ns);
	assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 40 * MS));
	acknowledge(&sender, 1, 0, 41 * MS); /* the whole fragment came late */
	assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 42 * MS));
	assert_int_equal(packet.sequence, FIRST + 1);
	assert_int_equal(packet.offset, 10);
	rpc_sender_tick(&sender, sender.timer_ns);
	assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 500 * MS));
	assert_int_equal(packet.sequence, FIRST + 1);
	assert_int_equal(packet.offset, 10); /* from its beginning */
}

/* A whole fragment tries the path now and then; its arrival ends the parts, its loss does not. */
static void test_trial(void **state)
{
	struct rpc_outgoing message, messages[2];
	struct rpc_sender sender = make_parting(&message);
	struct rpc_packet packet;

	(void)state;
	acknowledge(&sender, 3, 0, 1 * MS);
	sender.is_parting = true;
	sender.trial_ns = 1000 * MS;
	for (int i = 0; i < 2; i++) {
		messages[i] = (struct rpc_outgoing){.bytes = text, .length = 10};
		rpc_sender_push(&sender, &messages[i]);
		assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 1000 * MS + i * 1000 * MS));
		assert_int_equal(packet.payload_bytes, 10);
		if (i > 0)
			break;
		rpc_sender_tick(&sender, sender.timer_ns);
		assert_int_equal(send_all(&sender, 1500 * MS), 3);
		acknowledge(&sender, 4, 0, 1501 * MS);
		assert_true(sender.is_parting);
	}
	assert_true(sender.trial_ns == 4000 * MS); /* twice as late each time */
	acknowledge(&sender, 5, 0, 2001 * MS);
	assert_false(sender.is_parting);
	assert_true(sender.trial_wait_ns == 1000 * MS); /* as at first */
}

/* A fragment may be stuck for a while; its parts may be so for as long again. */
static void test_parts_have_their_time(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make_parting(&message);
	uint64_t began_ns;

	(void)state;
	expire(&sender, 1);
	acknowledge(&sender, 0, 0, sender.timer_ns - 1);
	expire(&sender, 1);
	assert_true(sender.stuck_ns == 0);
	began_ns = sender.timer_ns;
	rpc_sender_tick(&sender, began_ns);
	assert_true(sender.is_parting);
	assert_true(sender.stuck_ns == began_ns);
}

/* An early timer's losses are under way after all, but not the rest of a fragment. */
static void test_half_sent_is_lost(void **state)
{
	struct rpc_outgoing message;
	struct rpc_sender sender = make(&message, 4, 10);
	struct rpc_packet packet;

	(void)state;
	sender.limits.part_bytes = 4;
	for (uint32_t i = 0; i < 2; i++)
		assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 0));
	sender.is_parting = true;
	sender.trial_ns = RPC_NEVER;
	assert_true(
		rpc_sender_transmit(&sender, &packet, ROOM, 0)); /* 4 of the third one's 10 bytes */
	rpc_sender_tick(&sender, sender.timer_ns);
	acknowledge(&sender, 1, 0, 30 * MS);
	assert_true(rpc_sender_transmit(&sender, &packet, ROOM, 31 * MS));
	assert_int_equal(packet.sequence, FIRST + 2);
	assert_int_equal(packet.offset, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_no_more_than_credit),
		cmocka_unit_test(test_no_more_than_the_allowance),
		cmocka_unit_test(test_early_timer),
		cmocka_unit_test(test_slow_start),
		cmocka_unit_test(test_released_when_all_arrived),
		cmocka_unit_test(test_lost_by_later_arrivals),
		cmocka_unit_test(test_far_arrival),
		cmocka_unit_test(test_lost_by_time),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_acknowledged_before_it_was_sent),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_asks),
		cmocka_unit_test(test_outage_is_no_reason_for_parts),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_parts_ask),
		cmocka_unit_test(test_parts_end),
		cmocka_unit_test(test_trial),
		cmocka_unit_test(test_parts_have_their_time),
		cmocka_unit_test(test_half_sent_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
