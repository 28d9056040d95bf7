/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/path_report.h"

#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define MS UINT64_C(1000000)

static void test_limits(void **state)
{
	const struct peer_window empty = {.queue_bytes = 1000000};
	const struct peer_window full = {.queue_bytes = 1000000, .in_flight_bytes = 900000};
	const struct peer_window lost = {
		.queue_bytes = 1000000, .in_flight_bytes = 900000, .slow_windows = 1};
	const struct peer_window paced = {.queue_bytes = 1000000,
					  .model = {.least_ns = 10 * MS, .rate = 1}};
	const struct peer_window cautious = {
		.queue_bytes = 1000000,
		.model = {.least_ns = 10 * MS, .rate = 1, .cautious_rounds = 1}};
	const struct {
		struct path_use use;
		const struct peer_window *window;
		enum rnic_path_limit limit;
	} rows[] = {
		{{0}, &full, RNIC_PATH_LIMIT_NOTHING},
		{{.has_work = true}, &full, RNIC_PATH_LIMIT_PROGRAM},
		{{.has_work = true, .has_backlog = true}, &full, RNIC_PATH_LIMIT_WINDOW},
		{{.has_work = true, .has_backlog = true}, &lost, RNIC_PATH_LIMIT_LOSS},
		{{.has_work = true, .has_backlog = true}, &paced, RNIC_PATH_LIMIT_PACE},
		{{.has_work = true, .has_backlog = true}, &cautious, RNIC_PATH_LIMIT_LOSS},
		{{.has_work = true, .has_backlog = true}, &empty, RNIC_PATH_LIMIT_HOST},
		{{.has_work = true, .has_backlog = true, .has_reads_enough = true},
		 &empty,
		 RNIC_PATH_LIMIT_PROGRAM},
		{{.has_work = true, .has_backlog = true, .is_slowed = true},
		 &full,
		 RNIC_PATH_LIMIT_CONGESTION},
		{{.has_work = true, .waits_for_peer = true}, &full, RNIC_PATH_LIMIT_PEER},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++)
		assert_int_equal(path_limit(&rows[i].use, rows[i].window), rows[i].limit);
}

static enum rnic_path_limit limit_of(const struct engine_fixture *fixture)
{
	struct path_use use = {0};

	path_use_add(&use, fixture->qp, false);
	return path_limit(&use, fixture->qp->peer_window);
}

static void test_limit_of_a_queue_pair(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	assert_int_equal(limit_of(fixture), RNIC_PATH_LIMIT_NOTHING);
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	assert_int_equal(limit_of(fixture), RNIC_PATH_LIMIT_PROGRAM);
	for (uint64_t i = 0; i < 16; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 1 << 20);
	while (fixture_transmit(fixture))
		;
	assert_int_equal(limit_of(fixture), RNIC_PATH_LIMIT_WINDOW);
	fixture_receive_acknowledge(fixture, 100, rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, 14));
	assert_int_equal(limit_of(fixture), RNIC_PATH_LIMIT_PEER);
	fixture_destroy(fixture);
}

static const char *timeout_text(const struct qp *qp)
{
	static char text[160];

	path_timeout_text(qp, text, sizeof(text));
	return text;
}

/* The fixture's timeout has code 14: 67 ms. */
static void test_a_timeout_shorter_than_the_path(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct qp *qp = fixture->qp;

	(void)state;
	assert_string_equal(timeout_text(qp), "");
	qp->peer_window->model.least_ns = 60 * MS;
	assert_string_equal(timeout_text(qp), "");
	qp->peer_window->model.least_ns = 90 * MS;
	assert_string_equal(timeout_text(qp), "the timeout of 67 ms is shorter than the path's "
					      "round trip of 90 ms");
	qp->attributes.timeout = 1; /* 8 us, which stand for the least that is used */
	qp->peer_window->model.least_ns = 5 * MS;
	assert_string_equal(timeout_text(qp), "the timeout of 4.1 ms is shorter than the path's "
					      "round trip of 5.0 ms");
	qp->attributes.timeout = 0;
	assert_string_equal(timeout_text(qp), "");
	fixture_destroy(fixture);
}

/* Where no answer comes in the longest timeout, no round trip is measured either. */
static void test_a_round_trip_that_is_never_measured(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct qp *qp = fixture->qp;

	(void)state;
	qp->round_trip.timeouts = 4;
	assert_string_equal(timeout_text(qp), ""); /* the peer may be gone */
	qp->last_received_ns = 1;
	assert_string_equal(timeout_text(qp), "answers take longer than four times the timeout of "
					      "67 ms; the path's round trip is longer");
	fixture_destroy(fixture);
}

static void test_the_error_names_the_timeout(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	char text[160];

	(void)state;
	fixture->qp->last_error = VERDICT_RETRY_EXCEEDED;
	qp_last_error_text(fixture->qp, text, sizeof(text));
	assert_non_null(strstr(text, "did not answer within timeout and retry_cnt"));
	fixture->qp->peer_window->model.least_ns = 90 * MS;
	qp_last_error_text(fixture->qp, text, sizeof(text));
	assert_string_equal(text, "The peer is gone, or did not answer in time: the timeout of 67 "
				  "ms is shorter than the path's round trip of 90 ms.");
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limit_of_a_queue_pair),
		cmocka_unit_test(test_a_timeout_shorter_than_the_path),
		cmocka_unit_test(test_a_round_trip_that_is_never_measured),
		cmocka_unit_test(test_the_error_names_the_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
