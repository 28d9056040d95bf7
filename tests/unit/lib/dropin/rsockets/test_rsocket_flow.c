/* SPDX-License-Identifier: MIT */
/* Two ends of a stream whose RDMA WRITEs are copies between their memories, in order. */
#include "lib/dropin/rsockets/rsocket_flow.h"

#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#define RING_BYTES  8192u
#define REQUESTS    8u
#define WIRE_DEPTH  64u
#define TOTAL_BYTES (1u << 20)

/* A message under way, and the space that its completion frees. */
struct flight {
	uint32_t message;
	enum rnic_rsocket_request request;
	uint32_t bytes;
};

struct end {
	struct rnic_rsocket_flow flow;
	uint8_t send_ring[RING_BYTES];
	uint8_t receive_ring[RING_BYTES];
	struct rnic_rsocket_target list[RNIC_RSOCKET_LIST_ENTRIES];
	struct flight wire[WIRE_DEPTH]; /* to the peer */
	uint32_t wire_head, wire_count;
	uint64_t sent, read; /* bytes of the stream, which is a function of the position */
};

static uint8_t stream_byte(uint64_t position)
{
	return (uint8_t)(position * 31 + (position >> 8));
}

static const struct rnic_rsocket_flow_limits limits = {
	.send_bytes = RING_BYTES,
	.send_requests = REQUESTS,
	.receive_bytes = RING_BYTES,
	.receive_requests = REQUESTS,
	.receive_address = 0x10000,
	.receive_key = 7,
};

static void meet(struct end *end, struct end *peer, uint32_t list_length)
{
	struct rnic_rsocket_greeting greeting = {
		.list = {.address = 0x9000, .key = 9, .length = list_length},
	};

	rnic_rsocket_flow_greet(&peer->flow, &greeting);
	rnic_rsocket_flow_begin(&end->flow, &greeting);
}

static int setup(void **state)
{
	struct end *ends = calloc(2, sizeof(*ends));

	rnic_rsocket_flow_init(&ends[0].flow, &limits);
	rnic_rsocket_flow_init(&ends[1].flow, &limits);
	meet(&ends[0], &ends[1], RNIC_RSOCKET_LIST_ENTRIES);
	meet(&ends[1], &ends[0], RNIC_RSOCKET_LIST_ENTRIES);
	*state = ends;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void launch(struct end *end, struct flight flight)
{
	assert_true(end->wire_count < WIRE_DEPTH);
	end->wire[(end->wire_head + end->wire_count++) % WIRE_DEPTH] = flight;
}

/* Sends as much of `wanted` as there is room for. */
static void send_some(struct end *end, struct end *peer, uint32_t wanted)
{
	const uint32_t room = rnic_rsocket_flow_room(&end->flow);
	const uint32_t bytes = wanted < room ? wanted : room;
	struct rnic_rsocket_write write;
	uint64_t to;

	if (bytes == 0)
		return;
	rnic_rsocket_flow_write(&end->flow, bytes, &write);
	assert_int_equal(write.key, limits.receive_key);
	to = write.address - limits.receive_address;
	assert_true(to + bytes <= RING_BYTES);
	for (uint32_t i = 0; i < bytes; i++) {
		const uint32_t piece = i < write.bytes[0] ? 0 : 1;
		const uint32_t at = write.at[piece] + i - piece * write.bytes[0];

		end->send_ring[at] = stream_byte(end->sent + i);
		peer->receive_ring[to + i] = end->send_ring[at];
	}
	end->sent += bytes;
	launch(end, (struct flight){write.message, RNIC_RSOCKET_REQUEST_DATA, bytes});
}

static void read_some(struct end *end, uint32_t wanted)
{
	const uint32_t bytes = wanted < end->flow.readable ? wanted : end->flow.readable;

	for (uint32_t i = 0; i < bytes; i++)
		assert_int_equal(end->receive_ring[(end->flow.read_at + i) % RING_BYTES],
				 stream_byte(end->read + i));
	end->read += bytes;
	rnic_rsocket_flow_consume(&end->flow, bytes);
}

static void tell(struct end *end, struct end *peer)
{
	struct rnic_rsocket_update update;

	while (rnic_rsocket_flow_take_update(&end->flow, &update)) {
		if (update.has_target) {
			struct rnic_rsocket_target *entry =
				&peer->list[(update.address - 0x9000) / RNIC_RSOCKET_TARGET_BYTES];

			assert_int_equal(entry->length, 0);
			*entry = update.target;
		}
		launch(end, (struct flight){update.message, RNIC_RSOCKET_REQUEST_CONTROL, 0});
	}
}

/* The oldest message arrives at the peer, and is confirmed. */
static void arrive(struct end *end, struct end *peer)
{
	const struct flight flight = end->wire[end->wire_head];

	if (end->wire_count == 0)
		return;
	end->wire_head = (end->wire_head + 1) % WIRE_DEPTH;
	end->wire_count--;
	assert_int_equal(rnic_rsocket_flow_receive(&peer->flow, flight.message), 0);
	if (rnic_rsocket_message_kind(flight.message) == RNIC_RSOCKET_CREDIT) {
		struct rnic_rsocket_target *entry = &peer->list[peer->flow.next_entry];

		while (rnic_rsocket_flow_take_buffer(&peer->flow, entry)) {
			entry->length = 0;
			entry = &peer->list[peer->flow.next_entry];
		}
	}
	rnic_rsocket_flow_sent(&end->flow, flight.request, flight.bytes);
}

static uint32_t below(struct prng *prng, uint32_t bound)
{
	return (uint32_t)prng_below(prng, bound);
}

static void test_bytes_arrive_in_order_whatever_the_turns(void **state)
{
	struct end *ends = *state;
	struct prng prng;

	prng_init(&prng, 1);
	for (unsigned turns = 0; ends[0].read < TOTAL_BYTES || ends[1].read < TOTAL_BYTES;
	     turns++) {
		const uint32_t who = below(&prng, 2);
		struct end *end = &ends[who], *peer = &ends[1 - who];

		assert_true(turns < 1000000);
		switch (below(&prng, 3)) {
		case 0:
			send_some(end, peer, 1 + below(&prng, 5000));
			break;
		case 1:
			arrive(end, peer);
			break;
		default:
			read_some(end, 1 + below(&prng, 5000));
			break;
		}
		tell(end, peer);
	}
}

static void test_who_does_not_read_stops_the_sender(void **state)
{
	struct end *ends = *state;

	for (unsigned i = 0; i < 1000; i++) {
		send_some(&ends[0], &ends[1], 5000);
		arrive(&ends[0], &ends[1]);
		tell(&ends[1], &ends[0]);
		arrive(&ends[1], &ends[0]);
	}
	assert_int_equal(ends[1].flow.readable, RING_BYTES);
	assert_int_equal(rnic_rsocket_flow_room(&ends[0].flow), 0);
	assert_true(rnic_rsocket_flow_is_idle(&ends[0].flow));
	assert_int_equal(rnic_rsocket_flow_direct_room(&ends[0].flow), RING_BYTES);
}

static void test_messages_are_limited_by_the_receiver(void **state)
{
	struct end *ends = *state;
	unsigned sent = 0;

	while (rnic_rsocket_flow_room(&ends[0].flow) > 0) {
		send_some(&ends[0], &ends[1], 1);
		arrive(&ends[0], &ends[1]);
		sent++;
	}
	assert_int_equal(sent, REQUESTS);
	assert_false(rnic_rsocket_flow_has_mapping_room(&ends[0].flow));
	tell(&ends[1], &ends[0]);
	arrive(&ends[1], &ends[0]);
	assert_true(rnic_rsocket_flow_room(&ends[0].flow) > 0);
}

static void test_controls_are_limited(void **state)
{
	struct end *ends = *state;
	struct rnic_rsocket_update update;

	for (unsigned i = 0; i < RNIC_RSOCKET_CONTROL_REQUESTS; i++)
		assert_true(rnic_rsocket_flow_take_control(&ends[0].flow));
	assert_false(rnic_rsocket_flow_take_control(&ends[0].flow));
	assert_false(rnic_rsocket_flow_take_update(&ends[0].flow, &update));
	rnic_rsocket_flow_sent(&ends[0].flow, RNIC_RSOCKET_REQUEST_CONTROL, 0);
	assert_true(rnic_rsocket_flow_take_update(&ends[0].flow, &update));
	assert_true(update.has_target);
}

/* A list of one entry is written again only when the buffer in it is full. */
static void test_a_list_of_one_entry_is_not_overrun(void **state)
{
	struct end *ends = *state;
	struct rnic_rsocket_update update;
	const uint32_t half = RING_BYTES / 2;

	meet(&ends[0], &ends[1], 1);
	assert_false(rnic_rsocket_flow_take_update(&ends[0].flow, &update));
	assert_int_equal(rnic_rsocket_flow_receive(&ends[0].flow,
						   rnic_rsocket_message(RNIC_RSOCKET_DATA, half)),
			 0);
	assert_true(rnic_rsocket_flow_take_update(&ends[0].flow, &update));
	assert_true(update.has_target);
	assert_int_equal(update.address, 0x9000);
	assert_int_equal(update.target.address, limits.receive_address + half);
}

static void test_lies_are_refused(void **state)
{
	struct end *ends = *state;
	static const uint32_t lies[] = {
		RING_BYTES / 2 + 1, /* more data than was given room for */
		1u << 29,	    /* reserved kinds */
		2u << 29,	    3u << 29, 5u << 29,
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		assert_int_equal(rnic_rsocket_flow_receive(&ends[0].flow, lies[i]), -EPROTO);
	assert_int_equal(ends[0].flow.readable, 0);
}

static void test_more_buffers_than_the_list_has_are_not_taken(void **state)
{
	struct end *ends = *state;
	const struct rnic_rsocket_target entry = {.address = 1, .key = 2, .length = 3};

	assert_true(rnic_rsocket_flow_take_buffer(&ends[0].flow, &entry));
	assert_false(rnic_rsocket_flow_take_buffer(&ends[0].flow, &entry));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes_arrive_in_order_whatever_the_turns),
		TEST(test_who_does_not_read_stops_the_sender),
		TEST(test_messages_are_limited_by_the_receiver),
		TEST(test_controls_are_limited),
		TEST(test_a_list_of_one_entry_is_not_overrun),
		TEST(test_lies_are_refused),
		TEST(test_more_buffers_than_the_list_has_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
