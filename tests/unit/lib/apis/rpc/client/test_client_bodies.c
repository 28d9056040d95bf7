/* SPDX-License-Identifier: MIT */
/* The memory that a client offers to a server, against a server that lies. */
#include "lib/apis/rpc/client/client_bodies.h"

#include "lib/apis/dial/dial.h"
#include "tests/unit/lib/apis/rpc/fake_transport.h"
#include "tests/unit/unit_test.h"

#define NOW UINT64_C(1000000000)

enum { CALL = 7, CHUNK_BYTES = 100 };

static struct {
	struct fake_transport transport;
	struct client_link link;
} world;

/* --- what is not there ------------------------------------------------------------------------ */

uint64_t rnic_dial_now_ns(void)
{
	return NOW;
}

int client_link_send(struct client_link *link, const struct rpc_frame *frame)
{
	(void)link;
	(void)frame;
	return 0;
}

/* --- scenarios -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	fake_transport_init_with_rings(&world.transport);
	world.link.transport = &world.transport.base;
	return 0;
}

/* The end of the conversation brings everything back. */
static int tear_down(void **state)
{
	(void)state;
	client_orphans_free(&world.link.orphans);
	assert_int_equal(world.transport.rings, 0);
	assert_true(client_orphans_next_deadline_ns(&world.link.orphans) == RPC_NEVER);
	return 0;
}

static void take_chunk(struct client_body *body, struct rpc_chunk *chunk)
{
	uint8_t head[RPC_CHUNK_HEAD_BYTES];
	struct rpc_bulk_sender sender = {0};
	const struct rpc_frame frame = {
		.kind = RPC_FRAME_CHUNK,
		.call = CALL,
		.payload = head,
		.payload_bytes = sizeof(head),
	};

	rpc_bulk_sender_chunk(&sender, CHUNK_BYTES, head);
	assert_int_equal(client_body_take_chunk(body, &frame, chunk), 0);
}

static void a_chunk_stays_what_it_was_when_it_came(void **state)
{
	struct client_body body = {0};
	struct rpc_chunk chunk;

	(void)state;
	assert_int_equal(client_body_expect(&body, &world.link, CALL, 0), 0);
	memset(world.transport.last_ring, 'x', CHUNK_BYTES);
	take_chunk(&body, &chunk);
	assert_int_equal(chunk.bytes, CHUNK_BYTES);
	memset(world.transport.last_ring, 'y', CHUNK_BYTES);
	assert_int_equal(chunk.data[0], 'x');
	assert_int_equal(chunk.data[CHUNK_BYTES - 1], 'x');
	assert_false(client_body_end(&body, &world.link, CALL, false));
}

/* A call that is cut off while the server may write. */
static void cut_off(uint64_t call)
{
	struct client_body body = {0};

	assert_int_equal(client_body_expect(&body, &world.link, call, 0), 0);
	assert_true(client_body_end(&body, &world.link, call, true));
}

static void the_servers_word_brings_memory_back(void **state)
{
	static const uint8_t nothing[RPC_CHUNK_HEAD_BYTES];
	const struct rpc_frame word = {
		.kind = RPC_FRAME_CHUNK,
		.call = CALL,
		.payload = nothing,
		.payload_bytes = sizeof(nothing),
	};

	(void)state;
	cut_off(CALL);
	assert_int_equal(world.transport.rings, 1);
	client_orphans_note_unclaimed(&world.link.orphans, &word);
	assert_int_equal(world.transport.rings, 0);
	assert_false(client_orphans_are_kept(&world.link.orphans, UINT64_MAX - 1));
}

static void a_server_that_says_nothing_is_given_up(void **state)
{
	uint64_t deadline_ns = NOW + rpc_conversation_defaults.dead_ns;

	(void)state;
	cut_off(CALL);
	assert_true(client_orphans_next_deadline_ns(&world.link.orphans) == deadline_ns);
	assert_false(client_orphans_are_kept(&world.link.orphans, deadline_ns - 1));
	assert_true(client_orphans_are_kept(&world.link.orphans, deadline_ns));
}

static void so_is_one_that_keeps_too_much(void **state)
{
	(void)state;
	for (uint64_t call = 1; call <= CLIENT_ORPHANS_MAX; call++)
		cut_off(call);
	assert_false(client_orphans_are_kept(&world.link.orphans, NOW));
	cut_off(CLIENT_ORPHANS_MAX + 1);
	assert_true(client_orphans_are_kept(&world.link.orphans, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_chunk_stays_what_it_was_when_it_came, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_servers_word_brings_memory_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_server_that_says_nothing_is_given_up, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(so_is_one_that_keeps_too_much, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
