/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain/explain_qp.h"

#include "proto/base/bits.h"
#include "proto/base/verbs_types.h"
#include "proto/mad/cm_message.h"
#include "tests/unit/unit_test.h"

#include <string.h>

#define OWN  0x800001
#define PEER 0x810002

/* The requester: connected 5 s ago, silence from 3 s ago on, and the end of its retries 2 s ago. */
static struct rnic_show_record own_rows[] = {
	{.age_us = 5000000, .event = RNIC_RECORD_CONNECTED, .psn = OWN, .value = PEER},
	{.age_us = 3000000,
	 .qpn = OWN,
	 .peer_qpn = PEER,
	 .event = RNIC_RECORD_POSITION,
	 .psn = 0x108,
	 .value = 0x100},
	{.age_us = 3000000, .qpn = OWN, .event = RNIC_RECORD_TIMED_OUT, .extra = 1, .psn = 0x100},
	{.age_us = 2500000, .qpn = OWN, .event = RNIC_RECORD_TIMED_OUT, .extra = 2, .psn = 0x100},
	{.age_us = 2000000,
	 .qpn = OWN,
	 .event = RNIC_RECORD_TROUBLE,
	 .detail = RNIC_CAUSE_RETRY_EXCEEDED,
	 .extra = RNIC_QP_STATE_ERR},
};

/* The peer: its clock is ahead by a minute. The second row is the case's. */
static struct rnic_show_record peer_rows[] = {
	{.age_us = 65000000, .event = RNIC_RECORD_CONNECTED, .psn = PEER, .value = OWN},
	{.event = 0},
};

static struct rnic_show_qp peer_qp = {.qpn = PEER, .peer_qpn = OWN, .state = RNIC_QP_STATE_RTS};

static struct evidence sources[2];

static const struct explanation *explain(size_t source_count, bool peer_lives)
{
	static struct explanation explanation;

	sources[0] =
		(struct evidence){.records = own_rows, .record_count = RNIC_COUNT_OF(own_rows)};
	sources[1] = (struct evidence){.records = peer_rows,
				       .record_count = RNIC_COUNT_OF(peer_rows),
				       .qps = &peer_qp,
				       .qp_count = peer_lives};
	assert_true(explain_qp(sources, source_count, OWN, &explanation));
	assert_int_equal(explanation.peer_qpn, PEER);
	assert_int_equal(explanation.error->code, RNIC_CAUSE_RETRY_EXCEEDED);
	return &explanation;
}

static void test_without_the_peer(void **state)
{
	const struct explanation *explanation = explain(1, false);

	(void)state;
	assert_true(explanation->is_undetermined);
	assert_int_equal(explanation->cause->code, RNIC_CAUSE_RETRY_EXCEEDED);
	assert_non_null(strstr(explanation->detail, "--peer FILE"));
	assert_non_null(strstr(explanation->recovery, "0x000100"));
	assert_int_equal(explanation->step_count, 5);
}

static void test_records_do_not_overlap(void **state)
{
	const struct explanation *explanation;

	(void)state;
	peer_rows[0].value = OWN + 1;
	explanation = explain(2, false);
	peer_rows[0].value = OWN;
	assert_true(explanation->is_undetermined);
	assert_null(strstr(explanation->detail, "--peer FILE"));
	assert_non_null(strstr(explanation->gaps, "do not overlap"));
	assert_non_null(strstr(explanation->gaps, "0x810002"));
}

static void test_peer_without_a_trace(void **state)
{
	const struct explanation *explanation;

	(void)state;
	peer_rows[1] = (struct rnic_show_record){0};
	explanation = explain(2, false);
	assert_true(explanation->is_undetermined);
	assert_non_null(strstr(explanation->detail, "do not overlap"));
}

/* What the peer had taken says in which direction packets were lost. */
static void test_loss(void **state)
{
	static const struct {
		uint32_t expected_psn;
		uint8_t cause;
	} cases[] = {
		{0x100, RNIC_CAUSE_REQUESTS_LOST},
		{0x104, RNIC_CAUSE_ANSWERS_LOST},
		{0x108, RNIC_CAUSE_ANSWERS_LOST},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct explanation *explanation;

		peer_rows[1] = (struct rnic_show_record){0};
		peer_qp.expected_psn = cases[i].expected_psn;
		explanation = explain(2, true);
		assert_false(explanation->is_undetermined);
		assert_int_equal(explanation->cause->code, cases[i].cause);
		assert_non_null(strstr(explanation->recovery, "were executed"));
	}
}

/*
 * A responder that had no trouble leaves its position at its end. That of an earlier queue pair of
 * the same number says nothing.
 */
static void test_loss_after_the_end(void **state)
{
	static const struct {
		uint64_t age_us;
		uint32_t expected_psn;
		uint8_t cause;
	} cases[] = {
		{62000000, 0x100, RNIC_CAUSE_REQUESTS_LOST},
		{62000000, 0x104, RNIC_CAUSE_ANSWERS_LOST},
		{65000001, 0x104, RNIC_CAUSE_RETRY_EXCEEDED},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct explanation *explanation;

		peer_rows[1] = (struct rnic_show_record){
			.age_us = cases[i].age_us,
			.event = RNIC_RECORD_QP_TOOK,
			.psn = PEER,
			.value = cases[i].expected_psn,
		};
		explanation = explain(2, false);
		assert_int_equal(explanation->cause->code, cases[i].cause);
		assert_int_equal(explanation->is_undetermined,
				 cases[i].cause == RNIC_CAUSE_RETRY_EXCEEDED);
	}
}

/* An event of the peer is the first cause when it comes before the silence, by the peer's clock. */
static void test_leads_of_the_peer(void **state)
{
	static const struct {
		struct rnic_show_record row;
		uint8_t cause; /* PASS: none is named */
	} cases[] = {
		{{.age_us = 64000000,
		  .event = RNIC_RECORD_QP_ENDED,
		  .detail = RNIC_RECORD_BY_PROGRAM_END,
		  .psn = PEER,
		  .value = OWN},
		 RNIC_CAUSE_PEER_ENDED},
		{{.age_us = 64000000, .event = RNIC_RECORD_QP_ENDED, .psn = PEER, .value = OWN},
		 RNIC_CAUSE_PEER_DESTROYED},
		{{.age_us = 62500000, .event = RNIC_RECORD_QP_ENDED, .psn = PEER, .value = OWN},
		 RNIC_CAUSE_PASS},
		{{.age_us = 64000000, .event = RNIC_RECORD_LINK}, RNIC_CAUSE_LINK_DOWN},
		{{.age_us = 64000000, .event = RNIC_RECORD_LINK, .detail = 1}, RNIC_CAUSE_PASS},
		{{.age_us = 64000000, .event = RNIC_RECORD_ADDRESS}, RNIC_CAUSE_ADDRESS_GONE},
		{{.age_us = 64000000, .event = RNIC_RECORD_ADDRESS, .extra = 1}, RNIC_CAUSE_PASS},
		{{.age_us = 64000000,
		  .qpn = PEER,
		  .event = RNIC_RECORD_TROUBLE,
		  .detail = RNIC_CAUSE_FLUSHED,
		  .extra = RNIC_QP_STATE_ERR},
		 RNIC_CAUSE_PEER_FLUSHED},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct explanation *explanation;

		peer_rows[1] = cases[i].row;
		explanation = explain(2, false);
		assert_int_equal(explanation->is_undetermined, cases[i].cause == RNIC_CAUSE_PASS);
		if (cases[i].cause == RNIC_CAUSE_PASS)
			continue;
		assert_int_equal(explanation->cause->code, cases[i].cause);
		assert_true(explanation->at_peer);
		assert_non_null(strstr(explanation->detail, "before the error"));
	}
}

/* A connection that did not come about is explained by its last message. */
static void test_refused_connections(void **state)
{
	static const struct {
		struct rnic_show_record last;
		uint8_t cause; /* PASS: none is named */
		bool at_peer;
	} cases[] = {
		{{.event = RNIC_RECORD_CM_RECEIVED, .detail = RNIC_CM_REJ, .extra = 8},
		 RNIC_CAUSE_CM_NO_LISTENER,
		 true},
		{{.event = RNIC_RECORD_CM_RECEIVED, .detail = RNIC_CM_REJ, .extra = 28},
		 RNIC_CAUSE_CM_REFUSED,
		 true},
		{{.event = RNIC_RECORD_CM_SENT, .detail = RNIC_CM_REJ, .extra = 10},
		 RNIC_CAUSE_CM_STALE,
		 false},
		{{.event = RNIC_RECORD_CM_RECEIVED, .detail = RNIC_CM_REJ, .extra = 26},
		 RNIC_CAUSE_CM_REJECTED,
		 true},
		{{.event = RNIC_RECORD_CM_RECEIVED, .detail = RNIC_CM_SIDR_REP, .extra = 2},
		 RNIC_CAUSE_CM_REFUSED,
		 true},
		{{.event = RNIC_RECORD_CM_RECEIVED, .detail = RNIC_CM_SIDR_REP},
		 RNIC_CAUSE_PASS,
		 false},
		{{.event = RNIC_RECORD_CM_SENT, .detail = RNIC_CM_REQ, .run = 3},
		 RNIC_CAUSE_CM_UNANSWERED,
		 false},
		{{.event = RNIC_RECORD_CM_SENT, .detail = RNIC_CM_REQ}, RNIC_CAUSE_PASS, false},
		/* What the control plane said and heard for a program that had gone. */
		{{.event = RNIC_RECORD_CM_SENT,
		  .detail = RNIC_CM_REJ,
		  .extra = 28,
		  .value = RNIC_RECORD_CM_LATE},
		 RNIC_CAUSE_PASS,
		 false},
		{{.event = RNIC_RECORD_CM_RECEIVED,
		  .detail = RNIC_CM_REJ,
		  .extra = 8,
		  .value = RNIC_RECORD_CM_LATE},
		 RNIC_CAUSE_PASS,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_show_record rows[] = {
			{.age_us = 9,
			 .event = RNIC_RECORD_CM_SENT,
			 .detail = RNIC_CM_REQ,
			 .qpn = OWN},
			cases[i].last,
		};
		const struct evidence evidence = {.records = rows, .record_count = 2};
		static struct explanation explanation;

		rows[1].qpn = OWN;
		assert_true(explain_qp(&evidence, 1, OWN, &explanation));
		assert_int_equal(explanation.step_count, 2);
		assert_int_equal(explanation.at_peer, cases[i].at_peer);
		if (cases[i].cause == RNIC_CAUSE_PASS)
			assert_null(explanation.cause);
		else
			assert_int_equal(explanation.cause->code, cases[i].cause);
	}
}

/*
 * A request for a connection without an answer: nothing came back at all, or an MRA did. The link
 * of the daemon that has the listener was down before the last request, or went down behind it.
 */
static const struct unanswered {
	struct rnic_show_record own; /* before the request, or the MRA */
	struct rnic_show_record peer;
	bool has_listener;
	uint8_t cause;
	bool at_peer;
	const char *words; /* of what is not determined; NULL: nothing is not */
} unanswered_cases[] = {
	{{0}, {0}, false, RNIC_CAUSE_CM_UNANSWERED, false, "nothing at all came back"},
	{{.event = RNIC_RECORD_CM_RECEIVED, .detail = RNIC_CM_MRA, .qpn = OWN},
	 {0},
	 false,
	 RNIC_CAUSE_CM_UNANSWERED,
	 false,
	 "a program there that does not answer"},
	{{.event = RNIC_RECORD_LINK}, {0}, false, RNIC_CAUSE_LINK_DOWN, false, NULL},
	{{.event = RNIC_RECORD_LINK, .detail = 1},
	 {0},
	 true,
	 RNIC_CAUSE_CM_UNANSWERED,
	 false,
	 "the listener's link is up"},
	{{0},
	 {.event = RNIC_RECORD_LINK, .age_us = 2000000},
	 true,
	 RNIC_CAUSE_LINK_DOWN,
	 true,
	 NULL},
	{{0},
	 {.event = RNIC_RECORD_LINK, .age_us = 2000000},
	 false,
	 RNIC_CAUSE_CM_UNANSWERED,
	 false,
	 "nothing at all came back"},
	{{0},
	 {.event = RNIC_RECORD_LINK, .age_us = 10},
	 true,
	 RNIC_CAUSE_CM_UNANSWERED,
	 false,
	 "the listener's link is up"},
};

static void test_unanswered(void **state)
{
	struct rnic_show_cm asks = {.client_id = 4, .peer_port = 7174, .peer = {{1}}};
	struct rnic_show_cm listens = {.state = "listening", .local = {{1}}};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(unanswered_cases); i++) {
		static struct explanation explanation;
		struct rnic_show_record rows[] = {
			unanswered_cases[i].own,
			{.age_us = 1000000,
			 .event = RNIC_RECORD_CM_SENT,
			 .detail = RNIC_CM_REQ,
			 .qpn = OWN,
			 .client_id = 4,
			 .run = 3},
		};
		struct rnic_show_record peer_row = unanswered_cases[i].peer;
		const struct evidence both[] = {
			{.boot_id = "b",
			 .records = rows,
			 .record_count = 2,
			 .connections = &asks,
			 .connection_count = 1},
			{.boot_id = "b",
			 .records = &peer_row,
			 .record_count = 1,
			 .connections = &listens,
			 .connection_count = unanswered_cases[i].has_listener},
		};

		rows[0].age_us = 3000000;
		rows[0].client_id = 4;
		assert_true(explain_qp(both, 2, OWN, &explanation));
		assert_int_equal(explanation.cause->code, unanswered_cases[i].cause);
		assert_int_equal(explanation.at_peer, unanswered_cases[i].at_peer);
		assert_int_equal(explanation.is_undetermined, unanswered_cases[i].words != NULL);
		if (unanswered_cases[i].words != NULL)
			assert_non_null(strstr(explanation.detail, unanswered_cases[i].words));
	}
}

/* A link that went down is that of the peer's own device, not of another process's. */
static void test_leads_of_another_device(void **state)
{
	const struct explanation *explanation;

	(void)state;
	peer_rows[1] =
		(struct rnic_show_record){.age_us = 64000000, .event = RNIC_RECORD_LINK, .pid = 77};
	explanation = explain(2, false);
	assert_true(explanation->is_undetermined);
}

/* A device process that was killed tells of no end of its queue pairs. */
static void test_device_that_failed(void **state)
{
	static struct explanation own;
	struct rnic_show_record rows[] = {
		{.age_us = 9, .event = RNIC_RECORD_CONNECTED, .psn = OWN, .value = PEER, .pid = 7},
		{.age_us = 5, .event = RNIC_RECORD_DEVICE_FAILED, .pid = 7},
		{.age_us = 5, .event = RNIC_RECORD_QP_ENDED, .psn = OWN, .detail = 1},
	};
	const struct evidence evidence = {.records = rows, .record_count = 2};
	const struct explanation *explanation;

	(void)state;
	peer_rows[1] =
		(struct rnic_show_record){.age_us = 64000000, .event = RNIC_RECORD_DEVICE_FAILED};
	explanation = explain(2, false);
	assert_true(explanation->at_peer);
	assert_int_equal(explanation->cause->code, RNIC_CAUSE_DEVICE_FAILED);
	peer_rows[1].pid = 77;
	assert_true(explain(2, false)->is_undetermined);

	assert_true(explain_qp(&evidence, 1, OWN, &own));
	assert_false(own.at_peer);
	assert_int_equal(own.cause->code, RNIC_CAUSE_DEVICE_FAILED);
	/* A queue pair that ended before has nothing to do with it. */
	sources[0] = (struct evidence){.records = rows, .record_count = 3};
	assert_true(explain_qp(sources, 1, OWN, &own));
	assert_null(own.cause);
}

/* A time-out whose answer came later is not what the queue pair waits for. */
static void test_silence_that_ended(void **state)
{
	static struct explanation explanation;
	struct rnic_show_qp own_qp = {.qpn = OWN,
				      .peer_qpn = PEER,
				      .state = RNIC_QP_STATE_RTS,
				      .waiting_for = "its program"};

	(void)state;
	sources[0] = (struct evidence){
		.records = own_rows, .record_count = 3, .qps = &own_qp, .qp_count = 1};
	own_qp.unacknowledged_psn = own_rows[2].psn;
	assert_true(explain_qp(sources, 1, OWN, &explanation));
	assert_true(explanation.is_undetermined);
	own_qp.unacknowledged_psn = own_rows[2].psn + 8;
	assert_true(explain_qp(sources, 1, OWN, &explanation));
	assert_false(explanation.is_undetermined);
	assert_int_equal(explanation.cause->code, RNIC_CAUSE_WAITING);
}

/* A program that is stopped is named at its own end, while its queue pair waits for it. */
static void test_stopped_program(void **state)
{
	static struct explanation explanation;
	struct rnic_show_client clients[] = {
		{.client_id = 2, .pid = 8, .program = "other", .stop = RNIC_PROGRAM_STOPPED},
		{.client_id = 1, .pid = 7, .program = "pong", .stop = RNIC_PROGRAM_STOPPED},
	};
	struct rnic_show_qp qp = {.client_id = 1,
				  .qpn = OWN,
				  .peer_qpn = PEER,
				  .state = RNIC_QP_STATE_RTS,
				  .waiting_for = "its program, or 10.0.0.2"};
	const struct evidence evidence = {.records = own_rows,
					  .record_count = 1,
					  .clients = clients,
					  .client_count = 2,
					  .qps = &qp,
					  .qp_count = 1};

	(void)state;
	assert_true(explain_qp(&evidence, 1, OWN, &explanation));
	assert_int_equal(explanation.cause->code, RNIC_CAUSE_PROGRAM_STOPPED);
	assert_false(explanation.at_peer);
	assert_non_null(strstr(explanation.detail, "kill -CONT 7 "));
	assert_non_null(strstr(explanation.detail, "waits for its program, or 10.0.0.2."));
	clients[1].stop = RNIC_PROGRAM_TRACED;
	assert_true(explain_qp(&evidence, 1, OWN, &explanation));
	assert_int_equal(explanation.cause->code, RNIC_CAUSE_PROGRAM_STOPPED);
	assert_non_null(strstr(explanation.detail, "debugger"));
	/* A request that is under way needs no program. */
	qp.send_posted = 1;
	assert_true(explain_qp(&evidence, 1, OWN, &explanation));
	assert_int_equal(explanation.cause->code, RNIC_CAUSE_WAITING);
	qp.send_posted = 0;
	clients[1].stop = RNIC_PROGRAM_RUNS;
	assert_true(explain_qp(&evidence, 1, OWN, &explanation));
	assert_int_equal(explanation.cause->code, RNIC_CAUSE_WAITING);
}

/* A device inside a program that is stopped is silent: then nobody says that packets are lost. */
static void test_stopped_peer(void **state)
{
	static struct explanation explanation;
	struct rnic_show_client client = {.client_id = 1, .pid = 7, .stop = RNIC_PROGRAM_STOPPED};

	(void)state;
	peer_rows[1] = (struct rnic_show_record){.age_us = 64000000,
						 .client_id = 1,
						 .qpn = PEER,
						 .peer_qpn = OWN,
						 .event = RNIC_RECORD_TAKEN,
						 .psn = 0x100};
	assert_int_equal(explain(2, false)->cause->code, RNIC_CAUSE_REQUESTS_LOST);
	sources[1].clients = &client;
	sources[1].client_count = 1;
	assert_true(explain_qp(sources, 2, OWN, &explanation));
	assert_true(explanation.is_undetermined);
	assert_non_null(strstr(explanation.detail, "stopped"));
}

/* Where a ring was shared, or too small, the explanation says so. */
static void test_gaps(void **state)
{
	(void)state;
	assert_string_equal(explain(1, false)->gaps, "");
	own_rows[2].gaps = RNIC_RECORD_GAP_SHARED;
	assert_non_null(strstr(explain(1, false)->gaps, "shares a ring"));
	own_rows[2].gaps = RNIC_RECORD_GAP_OLDER;
	assert_non_null(strstr(explain(1, false)->gaps, "oldest entries are missing"));
	own_rows[2].gaps = 0;
}

/* The ends whose CONNECTED is not recorded any more: their clocks have nothing in common. */
static const struct explanation *explain_late(struct rnic_show_record *own, size_t own_count,
					      struct rnic_show_record *peer, size_t peer_count)
{
	static struct explanation explanation;

	sources[0] = (struct evidence){.records = own, .record_count = own_count};
	sources[1] = (struct evidence){.records = peer, .record_count = peer_count};
	assert_true(explain_qp(sources, 2, OWN, &explanation));
	return &explanation;
}

/* The farewell of a connection whose device was lost comes from the peer's control plane. */
static void test_farewell_of_a_lost_device(void **state)
{
	struct rnic_show_record own[] = {
		{.age_us = 5000000, .event = RNIC_RECORD_CONNECTED, .psn = OWN, .value = PEER},
		{.age_us = 2000100,
		 .qpn = OWN,
		 .event = RNIC_RECORD_CM_RECEIVED,
		 .detail = RNIC_CM_DREQ},
		{.age_us = 2000000,
		 .qpn = OWN,
		 .event = RNIC_RECORD_TROUBLE,
		 .detail = RNIC_CAUSE_FLUSHED,
		 .extra = RNIC_QP_STATE_ERR},
	};
	struct rnic_show_record peer[] = {
		{.age_us = 65000000, .event = RNIC_RECORD_CONNECTED, .psn = PEER, .value = OWN},
		{.age_us = 62000200, .event = RNIC_RECORD_DEVICE_FAILED},
	};
	const struct explanation *explanation;

	(void)state;
	explanation = explain_late(own, RNIC_COUNT_OF(own), peer, 2);
	assert_int_equal(explanation->cause->code, RNIC_CAUSE_DEVICE_FAILED);
	assert_true(explanation->at_peer);
	/* One that was lost after the farewell has nothing to do with it. */
	peer[1].age_us = 62000000;
	explanation = explain_late(own, RNIC_COUNT_OF(own), peer, 2);
	assert_int_equal(explanation->cause->code, RNIC_CAUSE_CM_DISCONNECTED);
}

/* An event of the peer may be older or younger than the error, whatever its age says. */
static void test_clocks_without_a_common_moment(void **state)
{
	static const struct rnic_show_record events[] = {
		{.event = RNIC_RECORD_QP_ENDED, .psn = PEER, .value = OWN},
		{.event = RNIC_RECORD_LINK},
		{.event = RNIC_RECORD_ADDRESS},
		{.qpn = PEER,
		 .event = RNIC_RECORD_TROUBLE,
		 .detail = RNIC_CAUSE_FLUSHED,
		 .extra = RNIC_QP_STATE_ERR},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(events); i++) {
		struct rnic_show_record peer[] = {
			{.age_us = 65000000,
			 .qpn = PEER,
			 .peer_qpn = OWN,
			 .event = RNIC_RECORD_TAKEN,
			 .psn = 0x104},
			events[i],
			{.age_us = 61000000, .event = RNIC_RECORD_LINK, .detail = 1},
		};
		const struct explanation *explanation;

		peer[1].age_us = 62000000;
		explanation = explain_late(own_rows + 1, RNIC_COUNT_OF(own_rows) - 1, peer, 3);
		assert_true(explanation->is_undetermined);
		assert_int_equal(explanation->cause->code, RNIC_CAUSE_RETRY_EXCEEDED);
		assert_non_null(strstr(explanation->detail, "no moment in common"));
		assert_false(explanation->steps[0].is_undated);
		assert_true(explanation->steps[explanation->step_count - 1].is_undated);
	}
}

/* Where nothing of the peer could be a lead, PSNs say what was lost, without any clock. */
static void test_loss_without_clocks(void **state)
{
	struct rnic_show_record peer = {.age_us = 65000000,
					.qpn = PEER,
					.peer_qpn = OWN,
					.event = RNIC_RECORD_TAKEN,
					.psn = 0x104};
	const struct explanation *explanation =
		explain_late(own_rows + 1, RNIC_COUNT_OF(own_rows) - 1, &peer, 1);

	(void)state;
	assert_false(explanation->is_undetermined);
	assert_int_equal(explanation->cause->code, RNIC_CAUSE_ANSWERS_LOST);
}

/* The peer's own failure explains its refusal, and a region that ended before explains both. */
static void test_refusal_without_clocks(void **state)
{
	struct rnic_show_record own = {.age_us = 2000000,
				       .qpn = OWN,
				       .peer_qpn = PEER,
				       .event = RNIC_RECORD_TROUBLE,
				       .detail = RNIC_CAUSE_REMOTE_ACCESS,
				       .extra = RNIC_QP_STATE_ERR};
	struct rnic_show_record peer[] = {
		{.age_us = 1000, .event = RNIC_RECORD_REGION_ENDED, .value = 0x77},
		{.age_us = 900,
		 .qpn = PEER,
		 .peer_qpn = OWN,
		 .event = RNIC_RECORD_TROUBLE,
		 .detail = RNIC_CAUSE_BAD_RKEY,
		 .extra = RNIC_QP_STATE_ERR,
		 .value = 0x77},
	};

	(void)state;
	assert_int_equal(explain_late(&own, 1, peer, 2)->cause->code, RNIC_CAUSE_REGION_GONE);
	peer[0].age_us = 800;
	assert_int_equal(explain_late(&own, 1, peer, 2)->cause->code, RNIC_CAUSE_BAD_RKEY);
	/* A receiver that is not ready goes on, and may fail later for another reason. */
	own.detail = RNIC_CAUSE_RNR_RETRY_EXCEEDED;
	assert_int_equal(explain_late(&own, 1, peer, 2)->cause->code,
			 RNIC_CAUSE_RNR_RETRY_EXCEEDED);
}

/* A NAK that both rings tell of aligns the clocks, in both directions; an ambiguous one does not.
 */
static void test_clocks_by_a_nak(void **state)
{
	static const struct {
		bool peer_sends;
		uint32_t run;	 /* of the peer's entry; the own one has 0 */
		uint32_t age_us; /* of the peer's end, by its clock, a minute ahead */
		uint8_t cause;	 /* PASS: none is named */
	} cases[] = {
		{true, 0, 64000000, RNIC_CAUSE_PEER_DESTROYED},
		{true, 0, 62500000, RNIC_CAUSE_PASS},
		{false, 0, 64000000, RNIC_CAUSE_PEER_DESTROYED},
		{false, 0, 62500000, RNIC_CAUSE_PASS},
		{true, 1, 64000000, RNIC_CAUSE_PASS},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_show_record own[RNIC_COUNT_OF(own_rows)];
		struct rnic_show_record peer[2] = {
			{.age_us = 64900000,
			 .qpn = PEER,
			 .peer_qpn = OWN,
			 .psn = 0xfe,
			 .detail = 0x20,
			 .run = cases[i].run},
			{.age_us = cases[i].age_us,
			 .event = RNIC_RECORD_QP_ENDED,
			 .psn = PEER,
			 .value = OWN},
		};
		const struct explanation *explanation;

		memcpy(own, own_rows, sizeof(own));
		own[0] = (struct rnic_show_record){.age_us = 4900000,
						   .qpn = OWN,
						   .peer_qpn = PEER,
						   .psn = 0xfe,
						   .detail = 0x20};
		own[0].event =
			cases[i].peer_sends ? RNIC_RECORD_NAK_RECEIVED : RNIC_RECORD_NAK_SENT;
		peer[0].event =
			cases[i].peer_sends ? RNIC_RECORD_NAK_SENT : RNIC_RECORD_NAK_RECEIVED;
		explanation = explain_late(own, RNIC_COUNT_OF(own), peer, 2);
		assert_int_equal(explanation->is_undetermined, cases[i].cause == RNIC_CAUSE_PASS);
		if (cases[i].cause != RNIC_CAUSE_PASS)
			assert_int_equal(explanation->cause->code, cases[i].cause);
	}
}

/*
 * A program that destroyed its queue pair without an error had not waited any more: neither a
 * time-out that was overcome nor the peer's end is a cause. When the program was ended, it may have
 * waited.
 */
static void test_finished_program(void **state)
{
	static const struct rnic_show_record last[] = {
		{.event = RNIC_RECORD_TIMED_OUT, .extra = 1, .psn = 0x100},
		{.event = RNIC_RECORD_NAK_RECEIVED, .detail = 0x20, .psn = 0x100},
	};
	struct rnic_show_record peer[] = {
		{.age_us = 5000000, .event = RNIC_RECORD_CONNECTED, .psn = PEER, .value = OWN},
		{.age_us = 1001000, .event = RNIC_RECORD_QP_ENDED, .psn = PEER, .value = OWN},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(last); i++) {
		struct rnic_show_record own[] = {
			own_rows[0],
			last[i],
			{.age_us = 1000000,
			 .event = RNIC_RECORD_QP_ENDED,
			 .psn = OWN,
			 .value = PEER},
		};

		own[1].qpn = OWN;
		own[1].peer_qpn = PEER;
		own[1].age_us = 3000000;
		assert_null(explain_late(own, RNIC_COUNT_OF(own), peer, 2)->cause);
		own[2].detail = RNIC_RECORD_BY_PROGRAM_END;
		assert_non_null(explain_late(own, RNIC_COUNT_OF(own), peer, 2)->cause);
	}
}

/* The peer is asked later than the own daemon: what it refused in between is a cause of a wait. */
static void test_wait_for_a_peer_asked_later(void **state)
{
	static struct explanation explanation;
	struct rnic_show_record refused[] = {
		{.age_us = 5000000, .event = RNIC_RECORD_CONNECTED, .psn = PEER, .value = OWN},
		{.qpn = PEER,
		 .event = RNIC_RECORD_TROUBLE,
		 .detail = RNIC_CAUSE_BAD_SERVICE,
		 .extra = RNIC_QP_STATE_RTS},
	};

	(void)state;
	sources[0] = (struct evidence){
		.boot_id = "one", .taken_us = 9000000, .records = own_rows, .record_count = 4};
	sources[1] = (struct evidence){.boot_id = "one",
				       .taken_us = 9100000,
				       .records = refused,
				       .record_count = RNIC_COUNT_OF(refused)};
	assert_true(explain_qp(sources, 2, OWN, &explanation));
	assert_non_null(explanation.cause);
	assert_int_equal(explanation.cause->code, RNIC_CAUSE_BAD_SERVICE);
	assert_true(explanation.at_peer);
}

static void test_unknown_queue_pair(void **state)
{
	static struct explanation explanation;

	(void)state;
	/* Sources of an earlier test may lie on its stack. */
	sources[0] =
		(struct evidence){.records = own_rows, .record_count = RNIC_COUNT_OF(own_rows)};
	assert_false(explain_qp(sources, 1, OWN + 7, &explanation));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_the_peer),
		cmocka_unit_test(test_records_do_not_overlap),
		cmocka_unit_test(test_peer_without_a_trace),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_loss_after_the_end),
		cmocka_unit_test(test_leads_of_the_peer),
		cmocka_unit_test(test_refused_connections),
		cmocka_unit_test(test_unanswered),
		cmocka_unit_test(test_leads_of_another_device),
		cmocka_unit_test(test_device_that_failed),
		cmocka_unit_test(test_farewell_of_a_lost_device),
		cmocka_unit_test(test_silence_that_ended),
		cmocka_unit_test(test_stopped_program),
		cmocka_unit_test(test_stopped_peer),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_clocks_without_a_common_moment),
		cmocka_unit_test(test_loss_without_clocks),
		cmocka_unit_test(test_refusal_without_clocks),
		cmocka_unit_test(test_clocks_by_a_nak),
		cmocka_unit_test(test_finished_program),
		cmocka_unit_test(test_wait_for_a_peer_asked_later),
		cmocka_unit_test(test_unknown_queue_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
