/* SPDX-License-Identifier: MIT */
/* What a server that is not to be trusted does to the memory that a client offers it. */
#include "rpc/client/client_bodies.h"

#include "dial/dial.h"
#include "unit_test.h"

#define NOW UINT64_C(1000000000)

enum { CALL = 7, CHUNK_BYTES = 100 };

static struct {
	struct transport_calls calls;
	struct transport transport;
	struct client_link link;
	uint8_t *written; /* the ring made last */
	uint32_t rings;
} world;

/* --- what is not there ------------------------------------------------------------------------ */

uint64_t rnic_dial_now_ns(void)
{
	return NOW;
}

uint32_t rnic_mr_rkey(const struct rnic_mr *mr)
{
	(void)mr;
	return 1;
}

int client_link_send(struct client_link *link, const struct rpc_frame *frame)
{
	(void)link;
	(void)frame;
	return 0;
}

static int open_ring(struct transport *transport, size_t bytes, bool is_for_peers,
		     struct transport_ring **ring)
{
	(void)is_for_peers;
	*ring = calloc(1, sizeof(**ring));
	(*ring)->transport = transport;
	(*ring)->memory = calloc(1, bytes);
	world.written = (*ring)->memory;
	world.rings++;
	return 0;
}

static void close_ring(struct transport_ring *ring)
{
	world.rings--;
	free(ring->memory);
	free(ring);
}

/* --- scenarios -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.calls = (struct transport_calls){
		.config = &rpc_session_defaults,
		.open_ring = open_ring,
		.close_ring = close_ring,
	};
	world.transport.calls = &world.calls;
	world.link.transport = &world.transport;
	return 0;
}

/* The end of the session brings everything back. */
static int tear_down(void **state)
{
	(void)state;
	client_bodies_free_orphans(&world.link);
	assert_int_equal(world.rings, 0);
	assert_true(client_bodies_next_deadline_ns(&world.link) == RPC_NEVER);
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
	memset(world.written, 'x', CHUNK_BYTES);
	take_chunk(&body, &chunk);
	assert_int_equal(chunk.bytes, CHUNK_BYTES);
	memset(world.written, 'y', CHUNK_BYTES);
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
	assert_int_equal(world.rings, 1);
	client_bodies_note_stray(&world.link, &word);
	assert_int_equal(world.rings, 0);
	assert_false(client_bodies_are_kept(&world.link, UINT64_MAX - 1));
}

static void a_server_that_says_nothing_is_given_up(void **state)
{
	uint64_t deadline_ns = NOW + rpc_session_defaults.dead_ns;

	(void)state;
	cut_off(CALL);
	assert_true(client_bodies_next_deadline_ns(&world.link) == deadline_ns);
	assert_false(client_bodies_are_kept(&world.link, deadline_ns - 1));
	assert_true(client_bodies_are_kept(&world.link, deadline_ns));
}

static void so_is_one_that_keeps_too_much(void **state)
{
	(void)state;
	for (uint64_t call = 1; call <= CLIENT_ORPHANS_MAX; call++)
		cut_off(call);
	assert_false(client_bodies_are_kept(&world.link, NOW));
	cut_off(CLIENT_ORPHANS_MAX + 1);
	assert_true(client_bodies_are_kept(&world.link, NOW));
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
