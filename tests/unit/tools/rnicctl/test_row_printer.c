/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/row_kinds.h"

#include "proto/base/path_limit.h"
#include "proto/ctl/ctl_message.h"
#include "tests/unit/unit_test.h"

/* The text of these rows, to be freed. */
static char *text_of(uint32_t kind, const void *rows, size_t count)
{
	size_t bytes;
	char *text;
	FILE *stream = open_memstream(&text, &bytes);

	assert_non_null(stream);
	row_print_text(stream, row_kind_of(kind), rows, count);
	fclose(stream);
	return text;
}

static void expect_text(uint32_t kind, const void *rows, size_t count, const char *wanted)
{
	char *text = text_of(kind, rows, count);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_every_kind_is_described(void **state)
{
	(void)state;
	for (uint32_t kind = RNIC_SHOW_DEVICE; kind <= RNIC_SHOW_PATHS; kind++)
		assert_int_equal(row_kind_of(kind)->kind, kind);
}

static void test_empty(void **state)
{
	json_t *json = row_json(row_kind_of(RNIC_SHOW_QPS), NULL, 0);

	(void)state;
	expect_text(RNIC_SHOW_CLIENTS, NULL, 0, "no clients\n");
	expect_text(RNIC_SHOW_QPS, NULL, 0, "no qps\n");
	assert_true(json_is_array(json));
	assert_int_equal(json_array_size(json), 0);
	json_decref(json);
}

static void test_columns_line_up(void **state)
{
	const struct rnic_show_cq rows[] = {
		{.client_id = 1,
		 .slot = 20,
		 .entries = 100,
		 .completions = 123456789012,
		 .users = 2},
		{.client_id = 30000000, .slot = 3},
	};

	(void)state;
	expect_text(RNIC_SHOW_CQS, rows, 2,
		    "cqs\n"
		    "    CLIENT CQ ENTRIES USED ARMED OVERRUN  COMPLETIONS USERS\n"
		    "         1 20     100    0     0       0 123456789012     2\n"
		    "  30000000  3       0    0     0       0            0     0\n");
}

static void test_sentences_below_their_row(void **state)
{
	struct rnic_show_qp row = {
		.type = RNIC_QP_TYPE_RC,
		.state = RNIC_QP_STATE_RTS,
		.waiting_for = "the peer's receive",
	};
	char *text = text_of(RNIC_SHOW_QPS, &row, 1);

	(void)state;
	assert_non_null(strstr(text, "\n      waiting for: the peer's receive\n"));
	assert_null(strstr(text, "last error"));
	free(text);
}

static void test_paths(void **state)
{
	const struct rnic_show_path row = {
		.client_id = 3,
		.qp_count = 2,
		.peer_gid.bytes = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1},
		.limit = RNIC_PATH_LIMIT_PACE,
		.least_round_trip_us = 40100,
		.smoothed_round_trip_us = 45000,
		.rate_mbit_per_s = 2000,
		.window_bytes = 16000000,
		.in_flight_bytes = 9000000,
	};

	(void)state;
	expect_text(RNIC_SHOW_PATHS, &row, 1,
		    "paths\n"
		    "  CLIENT PEER     QPS LEAST US SMOOTHED US MBIT/S   WINDOW IN FLIGHT LIMIT\n"
		    "       3 10.0.0.1   2    40100       45000   2000 16000000   9000000 pace \n");
}

static void test_a_program_name_is_no_escape_sequence(void **state)
{
	struct rnic_show_client row = {0};
	char *text;

	(void)state;
	memset(row.program, '\033', sizeof(row.program)); /* and no final zero */
	text = text_of(RNIC_SHOW_CLIENTS, &row, 1);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "????????????????"));
	free(text);
}

static void test_json_has_what_the_text_leaves_out(void **state)
{
	struct rnic_show_qp row = {
		.type = RNIC_QP_TYPE_RC,
		.state = 99,
		.duplicates_received = 7,
		.peer_gid.bytes = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1},
	};
	json_t *array = row_json(row_kind_of(RNIC_SHOW_QPS), &row, 1);
	json_t *object = json_array_get(array, 0);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(object, "type")), "RC");
	assert_string_equal(json_string_value(json_object_get(object, "state")), "unknown");
	assert_string_equal(json_string_value(json_object_get(object, "peer_gid")), "10.0.0.1");
	assert_int_equal(json_integer_value(json_object_get(object, "duplicates_received")), 7);
	json_decref(array);
}

static void test_access_by_name(void **state)
{
	const struct rnic_show_mr rows[] = {
		{.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ, .length = 1},
		{.access = 0, .length = 2},
		{.access = RNIC_ACCESS_FLUSH_PERSISTENT | RNIC_ACCESS_RELAXED_ORDERING},
	};
	char *text = text_of(RNIC_SHOW_MRS, rows, 3);
	json_t *json = row_json(row_kind_of(RNIC_SHOW_MRS), rows, 1);

	(void)state;
	assert_non_null(strstr(text, " local_write,remote_read "));
	assert_non_null(strstr(text, " -     "));
	assert_non_null(strstr(text, " flush_persistent,0x100000 "));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(json, 0), "access")), 5);
	json_decref(json);
	free(text);
}

static void test_whether_memory_is_watched(void **state)
{
	const struct rnic_show_mr rows[] = {
		{.mode = RNIC_MEMORY_PROCESS_VM, .watch = RNIC_WATCH_ON},
		{.mode = RNIC_MEMORY_PROCESS_VM, .watch = RNIC_WATCH_KIND},
		{.mode = RNIC_MEMORY_MAPPED, .watch = RNIC_WATCH_NEEDLESS},
	};
	char *text = text_of(RNIC_SHOW_MRS, rows, 3);

	(void)state;
	assert_non_null(strstr(text, " process_vm watched"));
	assert_non_null(strstr(text, " process_vm not watched: mapping of a file"));
	assert_non_null(strstr(text, " mapped     -"));
	free(text);
}

/* A member of one byte, between others. */
static void test_the_mtu_in_bytes(void **state)
{
	const struct rnic_show_device row = {
		.port = {.max_mtu = 5, .active_mtu = 3, .max_message_bytes = UINT32_MAX}};
	char *text = text_of(RNIC_SHOW_DEVICE, &row, 1);

	(void)state;
	assert_non_null(strstr(text, "  MTU                1024\n"));
	free(text);
}

static void test_counters_are_one_object(void **state)
{
	const struct rnic_show_counter rows[] = {{"sent_pkts", 3}, {"rcvd_pkts", 4}};
	json_t *object = row_json(row_kind_of(RNIC_SHOW_COUNTERS), rows, 2);

	(void)state;
	assert_int_equal(json_object_size(object), 2);
	assert_int_equal(json_integer_value(json_object_get(object, "rcvd_pkts")), 4);
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_is_described),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_columns_line_up),
		cmocka_unit_test(test_sentences_below_their_row),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_a_program_name_is_no_escape_sequence),
		cmocka_unit_test(test_json_has_what_the_text_leaves_out),
		cmocka_unit_test(test_access_by_name),
		cmocka_unit_test(test_whether_memory_is_watched),
		cmocka_unit_test(test_the_mtu_in_bytes),
		cmocka_unit_test(test_counters_are_one_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
