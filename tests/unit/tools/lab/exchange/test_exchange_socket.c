/* SPDX-License-Identifier: MIT */
/* A wait for a peer's message ends with the right reason, whatever the peer does over TCP. */
#include "tools/lab/exchange/exchange_socket.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <unistd.h>

struct fixture {
	struct lab_watch watch;
	struct exchange_socket exchange;
	int peer;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int ends[2];

	assert_non_null(fixture);
	assert_int_equal(lab_watch_init(&fixture->watch), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	exchange_socket_init(&fixture->exchange, ends[0]);
	fixture->peer = ends[1];
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	exchange_socket_close(&fixture->exchange);
	lab_watch_fini(&fixture->watch);
	close(fixture->peer);
	free(fixture);
	return 0;
}

static size_t encode(enum lab_message_type type, uint8_t bytes[LAB_MESSAGE_BYTES_MAX])
{
	struct lab_message message = {.type = type};

	if (type == LAB_REFUSAL)
		memcpy(message.reason, "no", 3);
	return lab_message_encode(&message, bytes);
}

static void peer_says(struct fixture *fixture, const void *bytes, size_t count)
{
	assert_int_equal(send(fixture->peer, bytes, count, 0), count);
}

static void expect(struct fixture *fixture, int result)
{
	struct lab_message message;

	assert_int_equal(exchange_receive(&fixture->exchange, &fixture->watch, LAB_READY, &message,
					  lab_now_ns() + 50000000),
			 result);
}

static void test_messages_behind_each_other(void **state)
{
	uint8_t bytes[2 * LAB_MESSAGE_BYTES_MAX];
	size_t count = encode(LAB_READY, bytes);

	count += encode(LAB_READY, bytes + count);
	peer_says(*state, bytes, count);
	expect(*state, 0);
	expect(*state, 0);
	expect(*state, -ETIMEDOUT);
}

/* Late bytes are appended to the earlier ones. */
static void test_a_message_in_two_parts(void **state)
{
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
	size_t count = encode(LAB_READY, bytes);

	peer_says(*state, bytes, 5);
	expect(*state, -ETIMEDOUT);
	peer_says(*state, bytes + 5, count - 5);
	expect(*state, 0);
}

static void test_what_is_not_expected(void **state)
{
	static const struct {
		enum lab_message_type type;
		int error;
	} cases[] = {{LAB_REFUSAL, -EACCES}, {LAB_PROOF, -EBADMSG}};
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		peer_says(*state, bytes, encode(cases[i].type, bytes));
		expect(*state, cases[i].error);
	}
}

static void test_a_message_out_of_turn(void **state)
{
	struct lab_message message = {.type = LAB_PROOF, .proof = {.method = LAB_BY_SECRET}};
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];

	peer_says(*state, bytes, lab_message_encode(&message, bytes));
	expect(*state, -EPROTO);
}

static void test_garbage(void **state)
{
	peer_says(*state, "GET / HTTP/1.1\r\n\r\n", 18);
	expect(*state, -EBADMSG);
}

static void test_another_version(void **state)
{
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
	size_t count = encode(LAB_READY, bytes);

	bytes[5]++;
	peer_says(*state, bytes, count);
	expect(*state, -EPROTONOSUPPORT);
}

static void test_a_peer_that_closes(void **state)
{
	struct fixture *fixture = *state;

	peer_says(fixture, "RL", 2);
	close(fixture->peer);
	fixture->peer = -1;
	expect(fixture, -ECONNRESET);
}

static void test_a_signal(void **state)
{
	raise(SIGINT);
	expect(*state, -EINTR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_messages_behind_each_other),
		TEST(test_a_message_in_two_parts),
		TEST(test_what_is_not_expected),
		TEST(test_a_message_out_of_turn),
		TEST(test_garbage),
		TEST(test_another_version),
		TEST(test_a_peer_that_closes),
		TEST(test_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
