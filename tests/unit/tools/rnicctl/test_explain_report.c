/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain_report.h"

#include "proto/base/bits.h"
#include "proto/base/causes.h"
#include "proto/base/record.h"
#include "proto/base/verbs_types.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BYTES 4096

/* Returns what the explanation of `program` prints; the caller's until the next call. */
static const char *explain(struct evidence *evidence, const char *program, size_t *count)
{
	static char text[OUTPUT_BYTES];
	const struct explain_request request = {.sources = evidence, .source_count = 1};
	FILE *file = tmpfile();
	const int saved = dup(STDOUT_FILENO);
	size_t length;

	assert_non_null(file);
	assert_true(saved >= 0);
	fflush(stdout);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	*count = explain_report_program(&request, program);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	rewind(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	return text;
}

/* Three runs of one program, one of them with a refused call alone, and another program. */
static void test_last_run_first(void **state)
{
	struct rnic_show_record rows[] = {
		{.pid = 100, .qpn = 0x801, .age_us = 9000000, .program = "pong"},
		{.pid = 300, .qpn = 0x803, .age_us = 1000000, .program = "pong"},
		{.pid = 400, .qpn = 0x804, .age_us = 500000, .program = "other"},
	};
	struct rnic_show_trouble refusal = {.pid = 200,
					    .age_ms = 5000,
					    .program = "pong",
					    .subject = "memory region",
					    .reason = "ibv_reg_mr: why"};
	struct evidence evidence = {.records = rows,
				    .record_count = RNIC_COUNT_OF(rows),
				    .troubles = &refusal,
				    .trouble_count = 1};
	const char *text, *first, *second, *third;
	size_t count;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		rows[i].event = RNIC_RECORD_TROUBLE;
		rows[i].detail = RNIC_CAUSE_RETRY_EXCEEDED;
	}
	text = explain(&evidence, "pong", &count);
	first = strstr(text, "(pid 300)");
	second = strstr(text, "(pid 200)");
	third = strstr(text, "(pid 100)");
	assert_int_equal(count, 3);
	assert_true(first != NULL && second != NULL && third != NULL);
	assert_true(first < second && second < third);
	assert_null(strstr(text, "(pid 400)"));

	text = explain(&evidence, "100", &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text, "(pid 100)"));
	explain(&evidence, "nobody", &count);
	assert_int_equal(count, 0);
}

/* What a living program has is told behind its failures, each object once and not those of others.
 */
static void test_living_program(void **state)
{
	struct rnic_show_record failure = {.pid = 100,
					   .qpn = 0x801,
					   .program = "pong",
					   .event = RNIC_RECORD_TROUBLE,
					   .detail = RNIC_CAUSE_RETRY_EXCEEDED};
	struct rnic_show_client clients[] = {
		{.client_id = 1, .pid = 100, .program = "pong"},
		{.client_id = 2, .pid = 200, .program = "other"},
	};
	struct rnic_show_qp qps[] = {
		{.client_id = 1, .qpn = 0x801, .type = RNIC_QP_TYPE_RC, .state = RNIC_QP_STATE_ERR},
		{.client_id = 1,
		 .qpn = 0x802,
		 .type = RNIC_QP_TYPE_RC,
		 .state = RNIC_QP_STATE_INIT},
		{.client_id = 2, .qpn = 0x803},
	};
	struct rnic_show_cm connections[] = {
		{.client_id = 1, .state = "listening", .waiting_for = "a request"},
		{.client_id = 2, .state = "connected"},
	};
	struct evidence evidence = {.records = &failure,
				    .record_count = 1,
				    .clients = clients,
				    .client_count = RNIC_COUNT_OF(clients),
				    .qps = qps,
				    .qp_count = RNIC_COUNT_OF(qps),
				    .connections = connections,
				    .connection_count = RNIC_COUNT_OF(connections)};
	const char *text, *failed, *connection, *living;
	size_t count;

	(void)state;
	text = explain(&evidence, "100", &count);
	assert_int_equal(count, 3);
	failed = strstr(text, "queue pair 0x000801 (RC, ERR)");
	connection = strstr(text, "connection listening");
	living = strstr(text, "queue pair 0x000802 (RC, INIT)");
	assert_true(failed != NULL && connection != NULL && living != NULL);
	assert_true(failed < connection && connection < living);
	assert_non_null(strstr(text, "WAITS FOR: a request"));
	assert_null(strstr(failed + 1, "queue pair 0x000801 ("));
	assert_null(strstr(text, "0x000803"));
	assert_null(strstr(text, "connection connected"));
}

/* A program that was killed in the middle of good work is known all the same. */
static void test_nothing_failed(void **state)
{
	struct rnic_show_record rows[] = {
		{.pid = 100,
		 .qpn = 0x801,
		 .program = "pong",
		 .event = RNIC_RECORD_CM_SENT,
		 .detail = 0x14},
		{.qpn = 0x801,
		 .event = RNIC_RECORD_CM_SENT,
		 .detail = 0x15,
		 .value = RNIC_RECORD_CM_LATE},
	};
	struct evidence evidence = {.records = rows, .record_count = RNIC_COUNT_OF(rows)};
	const char *text;
	size_t count;

	(void)state;
	text = explain(&evidence, "100", &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text, "Nothing went wrong that was recorded."));
	assert_non_null(strstr(text, "sent DREQ of the connection to port 0, when its program had "
				     "let go of it"));
}

/* A program that waits for its peer by other means has the device and nothing else. */
static void test_device_alone(void **state)
{
	const struct rnic_show_client client = {.client_id = 1,
						.pid = 100,
						.pd_count = 1,
						.mr_count = 2,
						.open_ms = 1234,
						.program = "perf"};
	struct rnic_show_client clients[] = {client, {.pid = 200, .program = "other"}};
	struct evidence evidence = {.clients = clients, .client_count = 2};
	const char *text;
	size_t count;

	(void)state;
	text = explain(&evidence, "perf", &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text, "perf (pid 100) has held the device for 1234 ms\n"));
	assert_non_null(strstr(text, "UNUSED_DEVICE"));
	assert_non_null(strstr(text, "It has made 1 protection domain, 2 memory regions: no "
				     "completion queue, no shared receive queue, no queue pair, "
				     "no connection."));
	/* What it has is told elsewhere. */
	evidence.connections = &(struct rnic_show_cm){.client_id = 1, .state = "listening"};
	evidence.connection_count = 1;
	text = explain(&evidence, "100", &count);
	assert_int_equal(count, 1);
	assert_null(strstr(text, "UNUSED_DEVICE"));
}

/* That it is stopped is told of a program without queue pairs before what it has. */
static void test_stopped_program(void **state)
{
	struct rnic_show_client client = {
		.client_id = 1, .pid = 100, .program = "perf", .stop = RNIC_PROGRAM_STOPPED};
	struct rnic_show_cm connection = {.client_id = 1, .state = "listening"};
	struct evidence evidence = {.clients = &client, .client_count = 1};
	const char *text;
	size_t count;

	(void)state;
	text = explain(&evidence, "perf", &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text, "PROGRAM_STOPPED"));
	assert_non_null(strstr(text, "kill -CONT 100 "));
	assert_null(strstr(text, "UNUSED_DEVICE"));
	evidence.connections = &connection;
	evidence.connection_count = 1;
	text = explain(&evidence, "perf", &count);
	assert_int_equal(count, 2);
	assert_true(strstr(text, "PROGRAM_STOPPED") < strstr(text, "connection listening"));
	assert_non_null(strstr(text, "PROGRAM_STOPPED"));
	client.stop = RNIC_PROGRAM_RUNS;
	text = explain(&evidence, "perf", &count);
	assert_int_equal(count, 1);
	assert_null(strstr(text, "PROGRAM_STOPPED"));
}

/* A log has no times: a trouble of it is told without an age. */
static void test_trouble_of_log(void **state)
{
	struct rnic_show_trouble refusal = {.pid = 200,
					    .program = "pong",
					    .subject = "memory region",
					    .reason = "ibv_reg_mr: why"};
	struct evidence evidence = {.troubles = &refusal, .trouble_count = 1, .is_of_log = true};
	const char *text;
	size_t count;

	(void)state;
	text = explain(&evidence, "200", &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text, "memory region of pong (pid 200)\n"));
	assert_null(strstr(text, "ms ago"));
}

/* What nobody answered is told alike of a living daemon and of one that ended, by its cause. */
static void test_cause_of_trouble(void **state)
{
	struct rnic_show_trouble silence = {.pid = 200,
					    .cause = RNIC_CAUSE_CM_UNANSWERED,
					    .program = "rping",
					    .subject = "connection to 192.0.2.7 port 7174",
					    .reason = "no word came back"};
	struct evidence evidence = {.troubles = &silence, .trouble_count = 1};
	const char *text;
	size_t count;

	(void)state;
	for (int is_of_log = 0; is_of_log < 2; is_of_log++) {
		evidence.is_of_log = is_of_log;
		text = explain(&evidence, "200", &count);
		assert_int_equal(count, 1);
		assert_non_null(strstr(text, "0xe3 CM_UNANSWERED: "));
	}
	/* A word in its sentence makes no other cause of it. */
	silence.cause = RNIC_CAUSE_REFUSED;
	snprintf(silence.reason, sizeof(silence.reason), "the peer did not answer");
	text = explain(&evidence, "200", &count);
	assert_non_null(strstr(text, "REFUSED: "));
}

/* Of a queue pair whose record is gone the log tells the status, which is no first cause. */
static void test_silence_without_record(void **state)
{
	struct rnic_show_trouble silence = {.pid = 200,
					    .cause = RNIC_CAUSE_RETRY_EXCEEDED,
					    .program = "pong",
					    .subject =
						    "queue pair 0x000801 to 0x000802 of 192.0.2.7",
					    .reason = "The peer is gone."};
	struct evidence evidence = {.troubles = &silence, .trouble_count = 1, .is_of_log = true};
	const char *text;
	size_t count;

	(void)state;
	text = explain(&evidence, "200", &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text, "0x81 RETRY_EXCEEDED, first cause undetermined: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_run_first),
		cmocka_unit_test(test_living_program),
		cmocka_unit_test(test_nothing_failed),
		cmocka_unit_test(test_device_alone),
		cmocka_unit_test(test_stopped_program),
		cmocka_unit_test(test_trouble_of_log),
		cmocka_unit_test(test_cause_of_trouble),
		cmocka_unit_test(test_silence_without_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
