/* SPDX-License-Identifier: MIT */
/* Datagrams over a fake device: what is posted, when, and with how much memory. */
#include "lib/apis/rpc/transport/ud_transport.h"

#include "tests/unit/unit_test.h"

enum {
	RECEIVE_SLOTS = 4096,
	SEND_SLOTS = 80,
	FIRST_POSTED = 512,
	POSTED_FOR_ROUTE = 128,
	GRH_BYTES = 40
};

struct rnic_qp {
	int unused;
};

/* --- what is not there ------------------------------------------------------------------------ */

static struct {
	struct rnic_qp qp;
	uint32_t active_mtu;
	uint32_t receives;    /* posted */
	uint32_t completed;   /* of them; they complete in order */
	uint32_t to_complete; /* and so many more do so at the next polls */
	uint32_t sends;
	uint32_t solicited;    /* of them */
	uint32_t calls;	       /* of rnic_post_send() */
	uint32_t refuse_after; /* sends of the next call, when has_refusal */
	bool has_refusal;
	uint32_t ahs;
	uint32_t access;
} fake;

int rnic_alloc(struct rnic_context *context, size_t bytes, void **memory)
{
	(void)context;
	*memory = calloc(1, bytes);
	return 0;
}

int rnic_free(struct rnic_context *context, void *memory)
{
	(void)context;
	free(memory);
	return 0;
}

int rnic_reg_mr(struct rnic_pd *pd, void *address, size_t length, uint64_t iova, uint32_t access,
		struct rnic_mr **mr)
{
	(void)pd;
	(void)length;
	(void)iova;
	fake.access = access;
	*mr = address;
	return 0;
}

int rnic_dereg_mr(struct rnic_mr *mr)
{
	(void)mr;
	return 0;
}

uint32_t rnic_mr_lkey(const struct rnic_mr *mr)
{
	(void)mr;
	return 1;
}

int rnic_query_port(struct rnic_context *context, struct rnic_port_attributes *attributes)
{
	(void)context;
	*attributes = (struct rnic_port_attributes){.active_mtu = fake.active_mtu};
	return 0;
}

int rnic_create_cq(struct rnic_context *context, uint32_t entries, struct rnic_channel *channel,
		   uint32_t vector, uint32_t flags, void *user, struct rnic_cq **cq)
{
	(void)context;
	(void)entries;
	(void)channel;
	(void)vector;
	(void)flags;
	(void)user;
	*cq = NULL;
	return 0;
}

int rnic_destroy_cq(struct rnic_cq *cq)
{
	(void)cq;
	return 0;
}

int rnic_req_notify_cq(struct rnic_cq *cq, bool solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

int rnic_poll_cq(struct rnic_cq *cq, uint32_t max_count, struct rnic_completion *completions)
{
	uint32_t count = 0;

	(void)cq;
	for (; count < max_count && fake.to_complete > 0; count++, fake.to_complete--) {
		assert_true(fake.completed < fake.receives);
		completions[count] = (struct rnic_completion){
			.wr_id = TRANSPORT_RECEIVE_ID + fake.completed++ % RECEIVE_SLOTS,
			.status = RNIC_WC_SUCCESS,
			.byte_count = GRH_BYTES + 1,
		};
	}
	return (int)count;
}

int rnic_create_qp(struct rnic_pd *pd, struct rnic_qp_options *options, struct rnic_qp **qp)
{
	(void)pd;
	(void)options;
	*qp = &fake.qp;
	return 0;
}

int rnic_destroy_qp(struct rnic_qp *qp)
{
	(void)qp;
	return 0;
}

int rnic_modify_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes, uint32_t mask)
{
	(void)qp;
	(void)attributes;
	(void)mask;
	return 0;
}

int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *list,
		   const struct rnic_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	assert_null(list->next);
	fake.receives++;
	return 0;
}

int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *list,
		   const struct rnic_send_wr **bad)
{
	(void)qp;
	fake.calls++;
	for (; list != NULL; list = list->next) {
		fake.solicited += (list->flags & RNIC_SEND_SOLICITED) != 0;
		if (fake.has_refusal && fake.refuse_after-- == 0) {
			*bad = list;
			return -EINVAL;
		}
		fake.sends++;
	}
	return 0;
}

int rnic_create_ah(struct rnic_pd *pd, const struct rnic_path *path, struct rnic_ah **ah)
{
	(void)pd;
	(void)path;
	fake.ahs++;
	*ah = (struct rnic_ah *)&fake;
	return 0;
}

int rnic_destroy_ah(struct rnic_ah *ah)
{
	(void)ah;
	fake.ahs--;
	return 0;
}

int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters)
{
	(void)id;
	(void)parameters;
	return 0;
}

int rnic_cm_destroy_id(struct rnic_cm_id *id)
{
	(void)id;
	return 0;
}

void rnic_cm_set_user(struct rnic_cm_id *id, void *user)
{
	(void)id;
	(void)user;
}

void transport_random(void *bytes, size_t count)
{
	memset(bytes, 1, count);
}

/* --- the tests -------------------------------------------------------------------------------- */

struct world {
	struct transport_device device;
	struct ud_transport transport;
	struct transport_route *route; /* to the sender of a datagram */
};

static int set_up_with_mtu(void **state, uint32_t active_mtu)
{
	struct world *world = calloc(1, sizeof(*world));
	const struct transport_datagram datagram = {.source_qpn = 7};

	assert_non_null(world);
	memset(&fake, 0, sizeof(fake));
	fake.active_mtu = active_mtu;
	assert_int_equal(
		ud_transport_open(&world->transport, &world->device, RECEIVE_SLOTS, SEND_SLOTS), 0);
	assert_int_equal(ud_transport_use_qkey(&world->transport, 1), 0);
	assert_int_equal(world->transport.base.calls->open_route(&world->transport.base, &datagram,
								 &world->route),
			 0);
	*state = world;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with_mtu(state, 5);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	if (world->route != NULL)
		transport_close_route(world->route);
	ud_transport_close(&world->transport);
	assert_int_equal(fake.ahs, 0);
	free(world);
	return 0;
}

static void send_some(struct world *world, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_non_null(transport_room(world->route));
		assert_int_equal(transport_send(world->route, 10, i % 2 == 0), 0);
	}
}

/* The datagrams of a turn go together. */
static void test_one_post_a_turn(void **state)
{
	struct world *world = *state;

	send_some(world, 20);
	assert_int_equal(fake.calls, 0);
	transport_flush(&world->transport.base);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.sends, 20);
	assert_int_equal(fake.solicited, 10); /* the urgent ones */
	transport_flush(&world->transport.base);
	assert_int_equal(fake.calls, 1);
}

static void test_full_batch(void **state)
{
	struct world *world = *state;

	send_some(world, SEND_SLOTS);
	assert_int_equal(fake.sends, UD_BATCH);
	assert_null(transport_room(world->route));
	transport_flush(&world->transport.base);
	assert_int_equal(fake.sends, SEND_SLOTS);
}

/* A datagram refers to its route's address handle until it is posted. */
static void test_route_that_closes(void **state)
{
	struct world *world = *state;

	send_some(world, 1);
	transport_close_route(world->route);
	world->route = NULL;
	assert_int_equal(fake.sends, 1);
}

/* What cannot be posted counts as lost, and leaves its slots. */
static void test_refused_post(void **state)
{
	struct world *world = *state;

	fake.has_refusal = true;
	fake.refuse_after = 3;
	send_some(world, 10);
	transport_flush(&world->transport.base);
	assert_int_equal(fake.sends, 3);
	assert_int_equal(world->transport.slots.free_count, SEND_SLOTS - 3);
}

/* Takes so many datagrams at once. */
static void receive(struct world *world, uint32_t count)
{
	struct transport *base = &world->transport.base;
	struct transport_datagram datagram;
	uint32_t taken = 0;

	fake.to_complete = count;
	while (base->calls->receive(base, &datagram) > 0)
		taken++;
	assert_int_equal(taken, count);
	assert_int_equal(fake.receives - fake.completed, world->transport.posted);
}

/* A quiet server touches few slots; one with very many datagrams at once posts them all. */
static void test_slots_as_needed(void **state)
{
	struct world *world = *state;

	const uint32_t first = FIRST_POSTED + POSTED_FOR_ROUTE; /* for the one route */

	assert_int_equal(fake.receives, first);
	assert_true((fake.access & RNIC_ACCESS_ON_DEMAND) != 0);
	for (int i = 0; i < 100; i++)
		receive(world, first / 2);
	assert_int_equal(world->transport.posted, first);
	receive(world, first / 2 + 1);
	assert_int_equal(world->transport.posted, 2 * first);
	for (int i = 0; i < 10; i++)
		receive(world, world->transport.posted);
	assert_int_equal(world->transport.posted, RECEIVE_SLOTS);
}

/* Peers that send at once do not fill the receives before one of them wakes this side. */
static void test_receives_for_each_route(void **state)
{
	const struct transport_datagram datagram = {.source_qpn = 8};
	struct world *world = *state;
	struct transport *base = &world->transport.base;
	struct transport_route *routes[4];

	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(base->calls->open_route(base, &datagram, &routes[i]), 0);
		assert_int_equal(world->transport.posted,
				 FIRST_POSTED + (i + 2) * POSTED_FOR_ROUTE);
	}
	for (uint32_t i = 0; i < 4; i++)
		transport_close_route(routes[i]);
	assert_int_equal(world->transport.route_count, 1);
	assert_int_equal(world->transport.posted, FIRST_POSTED + 5 * POSTED_FOR_ROUTE);
}

static void test_offer(void **state)
{
	static const struct {
		uint32_t port_mtu;
		uint32_t path_mtu; /* 0: the port's, for a route to a sender */
		uint32_t offer;
	} cases[] = {{5, 0, 4096}, {4, 0, 2048}, {3, 0, 1024}, {1, 0, 0},   {5, 5, 4096},
		     {5, 4, 2048}, {5, 3, 1024}, {4, 5, 2048}, {7, 7, 4096}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rnic_cm_event event = {.path_mtu = cases[i].path_mtu,
						    .parameters = {.qkey = 1}};
		struct transport_route *sought;
		struct world *world;

		tear_down(state);
		set_up_with_mtu(state, cases[i].port_mtu);
		world = *state;
		sought = world->route;
		if (cases[i].path_mtu != 0) {
			transport_close_route(world->route);
			world->transport.base.calls->seek(&world->transport.base, NULL, &sought);
			world->transport.base.calls->found(sought, &event);
			world->route = sought;
		}
		assert_int_equal(transport_config(sought).offer_bytes, cases[i].offer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_post_a_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_route_that_closes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_post, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slots_as_needed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_receives_for_each_route, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_offer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
