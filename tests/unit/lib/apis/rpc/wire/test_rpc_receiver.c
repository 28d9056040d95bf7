/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_receiver.h"
#include "tests/unit/unit_test.h"

#define FIRST	0xfffffffeu /* the sequence wraps soon */
#define WINDOW	8
#define PAYLOAD 4
#define LARGEST 64

static int set_up(void **state)
{
	struct rpc_receiver *receiver = malloc(sizeof(*receiver));
	void *memory = malloc(rpc_receiver_memory_bytes(WINDOW, PAYLOAD, LARGEST));

	assert_true(receiver != NULL && memory != NULL);
	rpc_receiver_init(receiver, WINDOW, PAYLOAD, LARGEST, memory);
	rpc_receiver_start(receiver, FIRST);
	*state = receiver;
	return 0;
}

static int tear_down(void **state)
{
	struct rpc_receiver *receiver = *state;

	free(receiver->slots);
	free(receiver);
	return 0;
}

/* Fragment number `number` of the conversation: 4 bytes of a message. */
static struct rpc_packet fragment(uint32_t number, uint32_t offset, uint32_t total)
{
	return (struct rpc_packet){
		.kind = RPC_PACKET_DATA,
		.sequence = FIRST + number,
		.offset = offset,
		.total = total,
		.payload = (const uint8_t *)"abcdefghijklmnopqrstuvwxyz" + offset,
		.payload_bytes = (uint16_t)(total - offset < PAYLOAD ? total - offset : PAYLOAD),
	};
}

static int accept_one(struct rpc_receiver *receiver, uint32_t number, uint32_t offset,
		      uint32_t total)
{
	struct rpc_packet packet = fragment(number, offset, total);

	return rpc_receiver_accept(receiver, &packet);
}

static int take(struct rpc_receiver *receiver)
{
	const uint8_t *bytes;
	uint32_t length;

	return rpc_receiver_take(receiver, &bytes, &length);
}

static void test_in_any_order(void **state)
{
	static const uint32_t order[] = {2, 0, 2, 3, 0, 1}; /* some twice */
	const uint8_t *bytes;
	uint32_t length;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_int_equal(take(*state), 0);
		assert_int_equal(accept_one(*state, order[i], 4 * order[i], 14), 0);
	}
	assert_int_equal(rpc_receiver_take(*state, &bytes, &length), 1);
	assert_int_equal(length, 14);
	assert_memory_equal(bytes, "abcdefghijklmn", 14);
	assert_int_equal(take(*state), 0);
}

static void test_report(void **state)
{
	struct rpc_packet report;

	accept_one(*state, 0, 0, 4);
	accept_one(*state, 2, 0, 4);
	accept_one(*state, 5, 0, 4);
	rpc_receiver_report(*state, &report);
	assert_int_equal(report.cumulative, FIRST + 1);
	assert_true(report.selective == ((1 << 0) | (1 << 3)));
	assert_int_equal(report.credit, FIRST + WINDOW + 1); /* the first is in its message */
	accept_one(*state, 1, 0, 4);
	rpc_receiver_report(*state, &report);
	assert_int_equal(report.credit, FIRST + WINDOW + 1); /* which nobody has taken yet */
	assert_int_equal(take(*state), 1);
	assert_int_equal(take(*state), 1);
	rpc_receiver_report(*state, &report);
	assert_int_equal(report.credit, FIRST + WINDOW + 2);
}

/* The report reaches to the last fragment that may come, and no further than what has come. */
static void test_report_of_a_far_fragment(void **state)
{
	struct rpc_packet report;

	accept_one(*state, WINDOW - 1, 0, 4);
	rpc_receiver_report(*state, &report);
	assert_int_equal(report.cumulative, FIRST);
	assert_true(report.selective == UINT64_C(1) << (WINDOW - 2));
	for (uint32_t i = 0; i < WINDOW - 1; i++)
		accept_one(*state, i, 0, 4);
	rpc_receiver_report(*state, &report);
	assert_int_equal(report.cumulative, FIRST + WINDOW);
	assert_true(report.selective == 0);
}

static void test_beyond_the_credit(void **state)
{
	struct rpc_packet report;

	assert_int_equal(accept_one(*state, WINDOW, 0, 4), 0);
	assert_int_equal(accept_one(*state, UINT32_MAX, 0, 4), 0); /* before the first */
	rpc_receiver_report(*state, &report);
	assert_true(report.cumulative == FIRST && report.selective == 0);
}

/* The bytes of a message stay until the next call, whatever arrives meanwhile. */
static void test_message_stays(void **state)
{
	const uint8_t *bytes;
	uint32_t length;

	accept_one(*state, 0, 0, 4);
	assert_int_equal(rpc_receiver_take(*state, &bytes, &length), 1);
	accept_one(*state, 1, 4, 8); /* no beginning of a message: refused in its turn */
	accept_one(*state, 2, 0, 4);
	assert_memory_equal(bytes, "abcd", 4);
	assert_int_equal(take(*state), -EPROTO);
}

static void test_news(void **state)
{
	struct rpc_packet report;

	for (uint32_t i = 0; i < WINDOW / 2; i++) {
		assert_false(rpc_receiver_has_news(*state));
		accept_one(*state, i, 0, 4);
		assert_int_equal(take(*state), 1);
	}
	assert_true(rpc_receiver_has_news(*state));
	rpc_receiver_report(*state, &report);
	assert_false(rpc_receiver_has_news(*state));
}

static void test_fragments_that_are_not_of_one_message(void **state)
{
	static const struct {
		uint32_t message;
		uint32_t offset;
		uint32_t total;
	} seconds[] = {{1, 4, 14}, {0, 4, 15}, {0, 8, 14}, {0, 0, 14}};

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		struct rpc_packet second = fragment(1, seconds[i].offset, seconds[i].total);

		second.message = seconds[i].message;
		rpc_receiver_start(*state, FIRST);
		((struct rpc_receiver *)*state)->is_joining = false;
		accept_one(*state, 0, 0, 14);
		rpc_receiver_accept(*state, &second);
		assert_int_equal(take(*state), -EPROTO);
		for (uint32_t slot = 0; slot < WINDOW; slot++)
			((struct rpc_receiver *)*state)->slots[slot].is_full = false;
	}
}

/* A part of the fragments of 4 bytes: 2 bytes, or 1 at a message's end. */
static int accept_part(struct rpc_receiver *receiver, uint32_t number, uint32_t offset,
		       uint32_t total)
{
	struct rpc_packet packet = fragment(number, offset, total);

	packet.payload_bytes = total - offset < 2 ? 1 : 2;
	return rpc_receiver_accept(receiver, &packet);
}

static void test_parts(void **state)
{
	struct rpc_packet report;
	const uint8_t *bytes;
	uint32_t length;

	rpc_receiver_agree(*state, WINDOW, PAYLOAD, 2);
	assert_int_equal(accept_part(*state, 1, 6, 11), 0);
	assert_int_equal(accept_part(*state, 0, 0, 11), 0);
	assert_int_equal(accept_part(*state, 0, 0, 11), 0); /* twice */
	rpc_receiver_report(*state, &report);
	assert_true(report.cumulative == FIRST && report.selective == 0);
	assert_int_equal(accept_part(*state, 1, 4, 11), 0);
	rpc_receiver_report(*state, &report);
	assert_true(report.cumulative == FIRST && report.selective == 1);
	assert_int_equal(accept_one(*state, 0, 0, 11), 0); /* whole after all */
	assert_int_equal(accept_part(*state, 2, 10, 11), 0);
	assert_int_equal(take(*state), 0);
	assert_int_equal(accept_part(*state, 2, 8, 11), 0);
	assert_int_equal(rpc_receiver_take(*state, &bytes, &length), 1);
	assert_int_equal(length, 11);
	assert_memory_equal(bytes, "abcdefghijk", 11);
}

/* Parts of another size, at another place, of another fragment. */
static void test_parts_that_are_none(void **state)
{
	static const struct {
		uint32_t offset;
		uint32_t total;
		uint16_t payload_bytes;
	} lies[] = {{0, 11, 1}, {0, 11, 3}, {1, 11, 2}, {2, 11, 1}, {3, 11, 2},
		    {8, 11, 1}, {4, 11, 2}, {0, 12, 2}, {2, 12, 2}};

	rpc_receiver_agree(*state, WINDOW, PAYLOAD, 2);
	assert_int_equal(accept_part(*state, 0, 0, 11), 0);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct rpc_packet packet = fragment(0, lies[i].offset, lies[i].total);

		packet.payload_bytes = lies[i].payload_bytes;
		assert_int_equal(rpc_receiver_accept(*state, &packet), -EPROTO);
	}
	assert_int_equal(take(*state), 0);
	assert_int_equal(accept_part(*state, 0, 2, 11), 0);
	assert_int_equal(((struct rpc_receiver *)*state)->cumulative, FIRST + 1);
}

static void test_too_large(void **state)
{
	struct rpc_packet packet = fragment(0, 0, 4);

	packet.payload_bytes = PAYLOAD + 1;
	assert_int_equal(rpc_receiver_accept(*state, &packet), -EPROTO);
	accept_one(*state, 0, 0, LARGEST + 1);
	assert_int_equal(take(*state), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_any_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_report, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_report_of_a_far_fragment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_beyond_the_credit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_message_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_news, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fragments_that_are_not_of_one_message, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_parts_that_are_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_large, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
