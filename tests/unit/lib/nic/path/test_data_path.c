/* SPDX-License-Identifier: MIT */
/* The owner of a data path ends: the acknowledgements that are owed leave, as far as the port goes.
 */
#include "lib/nic/path/data_path.h"
#include "lib/nic/path/path_limits.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define QPS	     (LIMIT_TURN_TRANSMITS + 10) /* more than a turn sends for */
#define READ_PACKETS 3

/* A port with room for some datagrams, which counts what it takes. */
struct bench {
	struct port port;
	struct data_path path;
	struct engine_fixture *fixture;
	struct qp *qps[QPS];
	uint32_t room;
	uint32_t sent;
	uint32_t acknowledgements;
};

static uint32_t take(struct port *port, struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	struct bench *bench = RNIC_CONTAINER_OF(port, struct bench, port);
	const uint32_t taken = count < bench->room ? count : bench->room;

	(void)now_ns;
	for (uint32_t i = 0; i < taken; i++)
		bench->acknowledgements += rnic_opcode_row(datagrams[i].bytes[0])->operation ==
					   RNIC_OPERATION_ACKNOWLEDGE;
	bench->room -= taken;
	bench->sent += taken;
	return taken;
}

static uint64_t never(const struct port *port)
{
	(void)port;
	return UINT64_MAX;
}

static const struct port_ops counting_ops = {.transmit = take, .next_deadline_ns = never};

static int set_up(void **state)
{
	static struct bench bench;

	bench = (struct bench){.room = UINT32_MAX};
	bench.fixture = fixture_create(&fixture_defaults);
	bench.port.ops = &counting_ops;
	assert_int_equal(data_path_init(&bench.path, &bench.fixture->engine, &bench.port), 0);
	for (uint32_t i = 0; i < QPS; i++)
		bench.qps[i] = fixture_create_qp(bench.fixture, &fixture_defaults);
	*state = &bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	for (uint32_t i = 0; i < QPS; i++)
		if (bench->qps[i] != NULL)
			qp_destroy(bench->qps[i]);
	data_path_fini(&bench->path);
	fixture_destroy(bench->fixture);
	return 0;
}

static void receive_write(struct bench *bench, const struct qp *qp, uint32_t psn)
{
	struct rnic_packet packet =
		fixture_packet(bench->fixture, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, psn);

	packet.dest_qpn = qp->qpn;
	packet.ack_request = true;
	fixture_receive(bench->fixture, &packet);
}

static bool acknowledge_all(struct bench *bench)
{
	return data_path_acknowledge_all(&bench->path, bench->fixture->now_ns);
}

static void more_than_a_turn_sends(void **state)
{
	struct bench *bench = *state;

	for (uint32_t i = 0; i < QPS; i++)
		receive_write(bench, bench->qps[i], fixture_defaults.rq_psn);
	assert_true(acknowledge_all(bench));
	assert_int_equal(bench->acknowledgements, QPS);
	assert_int_equal(bench->sent, QPS);
}

/* What others have to send does not keep the acknowledgement from leaving. */
static void requests_do_not_come_first(void **state)
{
	struct bench *bench = *state;

	fixture_post_simple(bench->fixture, RNIC_WR_RDMA_WRITE, 1, FIXTURE_MEMORY_BYTES);
	receive_write(bench, bench->qps[0], fixture_defaults.rq_psn);
	bench->room = 1;
	acknowledge_all(bench);
	assert_int_equal(bench->acknowledgements, 1);
}

static void queue_pairs_that_are_gone_count(void **state)
{
	struct bench *bench = *state;

	for (uint32_t i = 0; i < QPS; i++) {
		receive_write(bench, bench->qps[i], fixture_defaults.rq_psn);
		qp_destroy(bench->qps[i]);
		bench->qps[i] = NULL;
	}
	assert_true(acknowledge_all(bench));
	assert_int_equal(bench->acknowledgements, QPS);
}

static void the_answer_to_a_read_leaves_before(void **state)
{
	struct bench *bench = *state;
	struct rnic_packet read = fixture_packet(bench->fixture, RNIC_OPERATION_READ_REQUEST,
						 RNIC_POSITION_ONLY, fixture_defaults.rq_psn);

	read.reth = (struct rnic_reth){FIXTURE_IOVA, bench->fixture->mr.key, READ_PACKETS * 1024};
	fixture_receive(bench->fixture, &read);
	receive_write(bench, bench->fixture->qp, fixture_defaults.rq_psn + READ_PACKETS);
	assert_true(acknowledge_all(bench));
	assert_int_equal(bench->sent, READ_PACKETS + 1);
	assert_int_equal(bench->acknowledgements, 1);
}

static void a_port_that_is_full_is_told(void **state)
{
	struct bench *bench = *state;

	receive_write(bench, bench->qps[0], fixture_defaults.rq_psn);
	bench->room = 0;
	assert_false(acknowledge_all(bench));
	assert_false(acknowledge_all(bench));
	bench->room = 1;
	assert_true(acknowledge_all(bench));
	assert_int_equal(bench->acknowledgements, 1);
	assert_true(acknowledge_all(bench));
	assert_int_equal(bench->sent, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(more_than_a_turn_sends),	       TEST(requests_do_not_come_first),
		TEST(queue_pairs_that_are_gone_count), TEST(the_answer_to_a_read_leaves_before),
		TEST(a_port_that_is_full_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
