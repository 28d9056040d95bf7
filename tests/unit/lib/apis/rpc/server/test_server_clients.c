/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_clients.h"
#include "tests/unit/unit_test.h"

static int set_up(void **state)
{
	struct server_clients *clients = calloc(1, sizeof(*clients));

	assert_non_null(clients);
	clients->client_quota_bytes = 100;
	clients->quota_bytes = 250;
	*state = clients;
	return 0;
}

/* All kept answers are freed, and counted as freed. */
static int tear_down(void **state)
{
	struct server_clients *clients = *state;

	server_clients_close(clients);
	assert_true(clients->held_bytes == 0);
	free(clients);
	return 0;
}

static struct server_client *find(struct server_clients *clients, uint32_t number)
{
	uint8_t identity[RPC_IDENTITY_BYTES] = {0};
	uint8_t incarnation[RPC_IDENTITY_BYTES] = {0};

	memcpy(identity, &number, sizeof(number));
	incarnation[0] = (uint8_t)(clients->count + 1);
	return server_clients_find(clients, identity, incarnation);
}

/* Executes a call whose answer has so many bytes. */
static bool answer(struct server_clients *clients, struct server_client *client, uint64_t call,
		   uint32_t bytes)
{
	struct rpc_frame request = {.kind = RPC_FRAME_REQUEST, .call = call};
	struct shared_message *message = calloc(1, sizeof(*message));
	void *repeated;

	assert_non_null(message);
	message->references = 1;
	message->bytes = bytes;
	assert_int_equal(rpc_history_request(&client->history, &request, &repeated), RPC_EXECUTE);
	if (server_clients_keep(clients, client, call, message))
		return true;
	shared_message_release(message);
	return false;
}

static void test_a_client_is_found_again(void **state)
{
	struct server_client *first = find(*state, 1);
	struct server_client *second = find(*state, 2);

	assert_ptr_not_equal(first, second);
	assert_ptr_equal(find(*state, 1), first);
	assert_int_equal(first->incarnation[0], 1); /* from its first conversation */
}

static void test_quota_of_a_client(void **state)
{
	struct server_client *client = find(*state, 1);

	assert_true(server_clients_have_room(*state, client, 100));
	assert_false(server_clients_have_room(*state, client, 101));
	answer(*state, client, 1, 60);
	assert_true(server_clients_have_room(*state, client, 40));
	assert_false(server_clients_have_room(*state, client, 41));
	answer(*state, client, 2, 40);
	assert_false(server_clients_have_room(*state, client, 0));
	server_clients_settle(client, 2); /* it has the first */
	assert_true(server_clients_have_room(*state, client, 60));
}

/* A message counts once, for as long as a conversation holds it. */
static void test_messages_count_until_they_are_gone(void **state)
{
	struct server_clients *clients = *state;
	struct server_client *client = find(clients, 1);
	struct shared_message *message;

	answer(clients, client, 1, 60);
	message = rpc_history_kept(&client->history, 1);
	message->references++;
	server_clients_count(clients, client, message);
	assert_true(client->held_bytes == 60 && clients->held_bytes == 60);
	server_clients_settle(client, 2);
	assert_true(client->held_bytes == 60 && clients->held_bytes == 60);
	shared_message_release(message);
	assert_true(client->held_bytes == 0 && clients->held_bytes == 0);
}

/*
 * A client that has used up its quota, or finds the quota of all used up, can still get that
 * answer.
 */
static void test_what_is_told_beyond_a_quota(void **state)
{
	struct server_clients *clients = *state;
	struct server_client *first = find(clients, 1), *second = find(clients, 2);

	answer(clients, first, 1, 100);
	assert_true(server_clients_may_tell(clients, first, SERVER_TOLD_BYTES));
	assert_false(server_clients_may_tell(clients, first, SERVER_TOLD_BYTES + 1));
	clients->quota_bytes = 0;
	assert_true(server_clients_may_tell(clients, second, SERVER_TOLD_BYTES));
	server_clients_hold(clients, first, 2 * SERVER_TOLD_BYTES - 100);
	assert_false(server_clients_may_tell(clients, second, 1));
	server_clients_hold(clients, first, 100 - 2 * (int64_t)SERVER_TOLD_BYTES);
}

/* Clients that have gone make room; connected clients do not. */
static void test_quota_of_all(void **state)
{
	struct server_clients *clients = *state;
	struct server_client *gone[2], *here = find(clients, 3);

	for (uint32_t i = 0; i < 2; i++) {
		gone[i] = find(clients, 1 + i);
		gone[i]->seen_ns = 10 - i;
		answer(clients, gone[i], 1, 100);
	}
	here->conversation_count = 1;
	assert_true(server_clients_have_room(clients, here, 50));
	assert_int_equal(clients->count, 3);
	assert_true(server_clients_have_room(clients, here, 51));
	assert_int_equal(clients->count, 2); /* without the one that was seen longest ago */
	assert_ptr_equal(find(clients, 1), gone[0]);
	gone[0]->working_count = 1;
	clients->quota_bytes = 101;
	assert_false(server_clients_have_room(clients, here, 2));
	assert_int_equal(clients->count, 2);
	gone[0]->working_count = 0;
}

static void test_an_answer_that_nobody_wants(void **state)
{
	struct server_clients *clients = *state;
	struct server_client *client = find(clients, 1);
	struct rpc_frame request = {.kind = RPC_FRAME_REQUEST, .call = 1};
	struct shared_message message = {.references = 1, .bytes = 10};
	void *repeated;

	rpc_history_request(&client->history, &request, &repeated);
	rpc_history_cancel(&client->history, 1);
	assert_false(server_clients_keep(clients, client, 1, &message));
	assert_true(clients->held_bytes == 0);
}

static void test_full(void **state)
{
	struct server_clients *clients = *state;
	uint32_t number = 1;

	for (; number <= SERVER_CLIENTS_MAX; number++)
		find(clients, number)->conversation_count = 1;
	assert_null(find(clients, number));
	find(clients, 77)->conversation_count = 0;
	assert_non_null(find(clients, number));
	assert_int_equal(clients->count, SERVER_CLIENTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_client_is_found_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_quota_of_a_client, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_messages_count_until_they_are_gone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_told_beyond_a_quota, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_quota_of_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_that_nobody_wants, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
