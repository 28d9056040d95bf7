/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/engine_limits.h"
#include "lib/nic/engine/reliability/pace.h"

#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/verbs/qp.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define MS UINT64_C(1000000)

static void a_burst_goes_at_once_and_no_more(void **state)
{
	struct pace pace;
	uint64_t ready_ns = 0, bytes = 0;

	(void)state;
	pace_init(&pace);
	while (pace_try_take(&pace, 4096, 5 * MS, &ready_ns))
		bytes += 4096;
	assert_int_equal(bytes, LIMIT_PACE_BURST_BYTES);
	assert_true(ready_ns > 5 * MS);
}

/* At the instant that the pace named there is half a burst, and just before there is not. */
static void the_instant_named_is_right(void **state)
{
	struct pace pace;
	uint64_t ready_ns = 0, later_ns;

	(void)state;
	pace_init(&pace);
	while (pace_try_take(&pace, 4096, 7 * MS, &ready_ns))
		continue;
	assert_false(pace_try_take(&pace, LIMIT_PACE_BURST_BYTES / 2, ready_ns - 1000, &later_ns));
	assert_true(pace_try_take(&pace, LIMIT_PACE_BURST_BYTES / 2, ready_ns, &later_ns));
	assert_false(pace_try_take(&pace, 4096, ready_ns, &later_ns));
}

/* A second of taking all bytes there are, however often the test asks. */
static void the_rate_is_kept(void **state)
{
	static const uint64_t steps_ns[] = {700, 3333, 100000, 400000};

	(void)state;
	for (size_t i = 0; i < sizeof(steps_ns) / sizeof(steps_ns[0]); i++) {
		struct pace pace;
		uint64_t ready_ns, bytes = 0;

		pace_init(&pace);
		for (uint64_t now_ns = MS; now_ns < 101 * MS; now_ns += steps_ns[i])
			while (pace_try_take(&pace, 1000, now_ns, &ready_ns))
				bytes += 1000;
		assert_in_range(bytes, 99 * (uint64_t)LIMIT_PACE_BYTES_PER_MS,
				100 * (uint64_t)LIMIT_PACE_BYTES_PER_MS + LIMIT_PACE_BURST_BYTES);
	}
}

#define QPS	    5
#define QUEUE	    8
#define QUEUE_BYTES 65536

static void post_all(struct engine_fixture *fixture, struct qp *qp)
{
	const struct rnic_sge sge = fixture_sge(fixture, 0, QUEUE_BYTES);

	while (qp->state == RNIC_QP_STATE_RTS && send_queue_space(&qp->send_queue) > 0) {
		struct send_wqe wqe = fixture_work(RNIC_WR_RDMA_WRITE, 0, QUEUE_BYTES);

		wqe.sge_count = 1;
		qp_post_send(qp, &wqe, &sge, NULL);
	}
}

/* All packets that may leave now, counted by QP; QPs that are done get more work. */
static void send_on(struct engine_fixture *fixture, struct qp *const *qps, uint64_t *packets)
{
	while (fixture_transmit(fixture)) {
		for (uint32_t i = 0; i < QPS; i++)
			packets[i] += fixture->sent.qp == qps[i];
		engine_packets_read(&fixture->engine, fixture->now_ns);
		for (uint32_t i = 0; i < QPS; i++)
			post_all(fixture, qps[i]);
	}
}

/* A fixture with QPS unreliable QPs that all have work. */
static struct engine_fixture *create_busy_qps(struct qp **qps)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;

	options.type = RNIC_QP_TYPE_UC;
	fixture = fixture_create(&options);
	qps[0] = fixture->qp;
	for (uint32_t i = 1; i < QPS; i++)
		qps[i] = fixture_create_qp(fixture, &options);
	for (uint32_t i = 0; i < QPS; i++)
		post_all(fixture, qps[i]);
	return fixture;
}

static void destroy_qps(struct engine_fixture *fixture, struct qp **qps)
{
	for (uint32_t i = 1; i < QPS; i++)
		qp_destroy(qps[i]);
	fixture_destroy(fixture);
}

/* QPs that never run out of work get equal shares, however many there are. */
static void everybody_has_a_turn(void **state)
{
	struct engine_fixture *fixture;
	uint64_t packets[QPS] = {0};
	struct qp *qps[QPS];

	(void)state;
	fixture = create_busy_qps(qps);
	for (uint32_t round = 0; round < 1000; round++) {
		send_on(fixture, qps, packets);
		fixture_tick(fixture, 50000);
	}
	for (uint32_t i = 0; i < QPS; i++) {
		print_message("QP %u: %u packets\n", (unsigned)i, (unsigned)packets[i]);
		assert_in_range(packets[i], packets[0] - packets[0] / 10,
				packets[0] + packets[0] / 10);
	}
	destroy_qps(fixture, qps);
}

/* A QP that goes while first in line does not take the turn of the others with it. */
static void the_first_may_go(void **state)
{
	struct engine_fixture *fixture;
	uint64_t packets[QPS] = {0};
	struct qp *qps[QPS];
	struct qp *first;

	(void)state;
	fixture = create_busy_qps(qps);
	send_on(fixture, qps, packets);
	first = list_first_entry(&fixture->engine.pace.waiting, struct qp, path_node);
	qp_enter_error(first, VERDICT_FLUSHED);
	memset(packets, 0, sizeof(packets));
	for (uint32_t round = 0; round < 100; round++) {
		send_on(fixture, qps, packets);
		fixture_tick(fixture, 50000);
	}
	for (uint32_t i = 0; i < QPS; i++)
		assert_true((packets[i] > 0) == (qps[i] != first));
	destroy_qps(fixture, qps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_goes_at_once_and_no_more),
		cmocka_unit_test(the_instant_named_is_right),
		cmocka_unit_test(the_rate_is_kept),
		cmocka_unit_test(everybody_has_a_turn),
		cmocka_unit_test(the_first_may_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
