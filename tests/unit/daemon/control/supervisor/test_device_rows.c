/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/supervisor/device_fixture.h"

#include "daemon/control/supervisor/device_rows.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <unistd.h>

#define ROWS_MAX 10

static struct {
	struct rnic_show_cq rows[ROWS_MAX];
	struct device_listing listing;
	struct show_patience patience;
	uint32_t skipped;
	uint32_t refused_slot;
} test;

static bool accept_row(void *context, const struct device_child *process, void *row)
{
	struct rnic_show_cq *cq = row;

	(void)context;
	assert_true(process->state == DEVICE_CHILD_SERVING);
	return cq->slot != test.refused_slot;
}

static void skip_process(void *context, const struct device_child *process)
{
	(void)context;
	(void)process;
	test.skipped++;
}

static bool may_have_rows(void *context, const struct device_child *process)
{
	(void)context;
	return process->uid != 1999;
}

static void begin(uint32_t asker, uint32_t cursor)
{
	test.skipped = 0;
	test.refused_slot = UINT32_MAX;
	test.listing = (struct device_listing){
		.asker = asker,
		.kind = RNIC_SHOW_CQS,
		.row_bytes = sizeof(struct rnic_show_cq),
		.cursor = cursor,
		.rows = (uint8_t *)test.rows,
		.max = ROWS_MAX,
		.patience = &test.patience,
		.may_have_rows = may_have_rows,
		.accept = accept_row,
		.skip = skip_process,
	};
}

/* A viewer asks on after a reply without rows. */
static int list(void)
{
	int result;

	do
		result = device_rows_list(&fixture->set, &test.listing);
	while (result == 0 && test.listing.count == 0 && test.listing.cursor != 0);
	return result;
}

/* Answers the request that the process with the link `link_fd` has received. */
static void answer(int link_fd, uint32_t row_count, bool is_last)
{
	struct {
		struct rnic_process_rows_reply head;
		struct rnic_show_cq rows[ROWS_MAX];
	} reply = {.head = {.kind = RNIC_SHOW_CQS, .row_bytes = sizeof(struct rnic_show_cq)}};
	const struct rnic_process_rows *request = (void *)fixture->receipt.payload;
	struct process_letter letter = {
		.operation = RNIC_PROCESS_ROWS_REPLY,
		.payload = &reply,
		.payload_bytes = sizeof(reply.head) + row_count * sizeof(reply.rows[0]),
	};

	assert_int_equal(process_link_receive(link_fd, &fixture->receipt), 0);
	assert_int_equal(fixture->receipt.header.operation, RNIC_PROCESS_ROWS);
	reply.head.request_id = request->request_id;
	reply.head.row_count = row_count;
	reply.head.next = is_last ? 0 : request->cursor + row_count;
	for (uint32_t i = 0; i < row_count; i++)
		reply.rows[i].slot = request->cursor + i;
	assert_int_equal(process_link_send(link_fd, &letter), 0);
}

/* No device process: an empty listing. */
static void test_none(void **state)
{
	(void)state;
	begin(1, 0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 0);
	assert_int_equal(test.listing.cursor, 0);
	begin(1, UINT32_MAX);
	assert_int_equal(list(), 0);
}

static void test_two_processes(void **state)
{
	uint32_t cursor;

	(void)state;
	fixture_serve(1001);
	fixture_serve(1002);
	/* fixture->link_fds has the latest process first. */
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[1], 3, false);
	device_set_take_news(&fixture->set);
	fixture_turn(0);
	assert_true(device_set_take_news(&fixture->set));
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 3);
	assert_int_equal(test.rows[2].slot, 2);

	cursor = test.listing.cursor;
	assert_true(cursor != 0);
	begin(1, cursor);
	test.refused_slot = 4;
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[1], 2, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 1);
	assert_int_equal(test.rows[0].slot, 3);

	cursor = test.listing.cursor;
	begin(1, cursor);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 1, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 1);
	assert_int_equal(test.listing.cursor, 0);
	assert_int_equal(test.skipped, 0);
}

/* Each process without rows costs a reply, so that no reply waits for two processes. */
static void test_empty_answers(void **state)
{
	(void)state;
	fixture_serve(1001);
	fixture_serve(1002);
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[1], 0, true);
	fixture_turn(0);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 0, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 0);
	assert_int_equal(test.listing.cursor, 0);
}

static void test_a_silent_process(void **state)
{
	(void)state;
	fixture_serve(1001);
	fixture_serve(1002);
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	assert_int_equal(device_set_next_deadline_ns(&fixture->set),
			 fixture->now_ns + DEVICE_ROWS_WAIT_NS);
	fixture_turn(DEVICE_ROWS_WAIT_NS - 1);
	assert_int_equal(list(), -EINPROGRESS);
	device_set_take_news(&fixture->set);
	fixture_turn(1);
	assert_true(device_set_take_news(&fixture->set));
	assert_int_equal(list(), -EINPROGRESS); /* by the second process */
	assert_int_equal(test.skipped, 1);
	answer(fixture->link_fds[0], 2, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 2);
	assert_int_equal(test.listing.cursor, 0);

	/* The next listing does not wait for it again. */
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	assert_int_equal(test.skipped, 1);
	answer(fixture->link_fds[0], 2, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);

	/* Its late answer makes it a process like others. */
	answer(fixture->link_fds[1], 2, true);
	fixture_turn(0);
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	assert_int_equal(test.skipped, 0);
	answer(fixture->link_fds[1], 1, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 1);
}

static void begin_ahead(uint32_t asker, uint32_t ahead)
{
	begin(asker, 0);
	test.listing.ahead = ahead;
}

/* All processes work at once, and what is there when the first one's turn ends is in one reply. */
static void test_asked_at_once(void **state)
{
	(void)state;
	fixture_serve(1001);
	fixture_serve(1002);
	fixture_serve(1003);
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 1, true);
	answer(fixture->link_fds[1], 2, false);
	fixture_turn(0);
	assert_int_equal(list(), -EINPROGRESS); /* the first process has not answered */
	answer(fixture->link_fds[2], 3, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 5);
	assert_int_equal(test.rows[2].slot, 2);
	assert_int_equal(test.rows[3].slot, 0);

	/* The viewer goes: nobody waits for the answer that was not used, or is still to come. */
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	assert_int_equal(list(), -EINPROGRESS);
	device_set_forget_viewer(&fixture->set, 1);
	answer(fixture->link_fds[2], 1, true);
	answer(fixture->link_fds[1], 1, true);
	fixture_turn(0);
	assert_true(device_set_next_deadline_ns(&fixture->set) >
		    fixture->now_ns + DEVICE_ROWS_WAIT_NS);
}

/* The reply is full before all answers are in it: the cursor goes on in the right process. */
static void test_asked_at_once_with_little_room(void **state)
{
	uint32_t cursor;

	(void)state;
	fixture_serve(1001);
	fixture_serve(1002);
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	test.listing.max = 4;
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[1], 3, true);
	answer(fixture->link_fds[0], 3, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 4);
	cursor = test.listing.cursor;
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	test.listing.cursor = cursor;
	/* The rest of the answer was kept: nobody is asked. */
	assert_int_equal(list(), 0);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);
	assert_int_equal(test.listing.count, 2);
	assert_int_equal(test.rows[0].slot, 1);
	assert_int_equal(test.rows[1].slot, 2);
	assert_int_equal(test.listing.cursor, 0);
}

/* A process that has more rows is asked for them while the viewer takes those before. */
static void test_next_rows_are_asked_early(void **state)
{
	uint32_t cursor;

	(void)state;
	fixture_serve(1001);
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 2, false);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	cursor = test.listing.cursor;
	answer(fixture->link_fds[0], 3, true);
	fixture_turn(0);
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	test.listing.cursor = cursor;
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 3);
	assert_int_equal(test.rows[0].slot, 2);
	assert_int_equal(test.listing.cursor, 0);
}

/* A viewer who goes on elsewhere, and another one, wait for no answer that was only asked early. */
static void test_what_was_early_gives_way(void **state)
{
	uint32_t cursor;

	(void)state;
	fixture_serve(1001);
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 2, false);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	cursor = test.listing.cursor - 1;
	begin_ahead(1, DEVICE_ROWS_AHEAD);
	test.listing.cursor = cursor;
	assert_int_equal(list(), -EINPROGRESS); /* the early question is under way */
	answer(fixture->link_fds[0], 3, true);
	fixture_turn(0);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 3, false);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.rows[0].slot, 1);

	answer(fixture->link_fds[0], 3, false);
	fixture_turn(0);
	begin_ahead(2, DEVICE_ROWS_AHEAD);
	assert_int_equal(list(), -EINPROGRESS); /* the answer to the first viewer is dropped */
	answer(fixture->link_fds[0], 1, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 1);
}

/* Stopped processes share one deadline, however many there are; `ahead` bounds who is asked. */
static void test_silent_processes_share_a_deadline(void **state)
{
	(void)state;
	fixture_serve(1001);
	fixture_serve(1002);
	fixture_serve(1003);
	fixture_serve(1004);
	begin_ahead(1, 2);
	assert_int_equal(list(), -EINPROGRESS);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);
	fixture_turn(DEVICE_ROWS_WAIT_NS);
	assert_int_equal(list(), -EINPROGRESS); /* by the fourth, which was not asked before */
	assert_int_equal(test.skipped, 3);
	answer(fixture->link_fds[0], 2, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 2);
	assert_int_equal(test.listing.cursor, 0);
}

/* A process that gives a row now and then, which nobody may see, is left soon. */
static void test_a_slow_process(void **state)
{
	const uint64_t pause_ns = DEVICE_ROWS_WAIT_NS - 1;
	uint32_t answers = 0;

	(void)state;
	fixture_serve(1001);
	begin(1, 0);
	while (test.skipped == 0) {
		assert_int_equal(device_rows_list(&fixture->set, &test.listing), -EINPROGRESS);
		fixture_turn(pause_ns);
		test.refused_slot = answers++;
		answer(fixture->link_fds[0], 1, false);
		fixture_turn(0);
		assert_int_equal(device_rows_list(&fixture->set, &test.listing), 0);
		assert_int_equal(test.listing.count, 0);
		assert_true(answers < 100);
	}
	assert_true(answers >= 4 && answers <= 6);
	assert_int_equal(test.listing.cursor, 0);
}

/* Nobody waits for a process that has nothing for the viewer. */
static void test_a_process_that_has_nothing(void **state)
{
	(void)state;
	fixture_serve(1999);
	begin(1, 0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.cursor, 0);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);
}

/* Who hangs up keeps nobody waiting, whether the answer has come or not. */
static void test_a_viewer_that_goes(void **state)
{
	(void)state;
	fixture_serve(1001);
	for (int has_answer = 0; has_answer < 2; has_answer++) {
		begin(1, 0);
		assert_int_equal(list(), -EINPROGRESS);
		begin(2, 0);
		assert_int_equal(list(), -EINPROGRESS);
		if (!has_answer)
			device_set_forget_viewer(&fixture->set, 1);
		answer(fixture->link_fds[0], 2, true);
		fixture_turn(0);
		if (has_answer)
			device_set_forget_viewer(&fixture->set, 1);
		assert_true(device_set_take_news(&fixture->set));
		assert_int_equal(list(), -EINPROGRESS);
		answer(fixture->link_fds[0], 1, true);
		fixture_turn(0);
		assert_int_equal(list(), 0);
		assert_int_equal(test.listing.count, 1);
	}
}

/* The second viewer waits for the first, at most as long as the process may take. */
static void test_two_viewers(void **state)
{
	(void)state;
	fixture_serve(1001);
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	begin(2, 0);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 1, true);
	fixture_turn(0);
	/* The first viewer has gone. */
	assert_int_equal(list(), -EINPROGRESS);
	fixture_turn(DEVICE_ROWS_WAIT_NS);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 1, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 1);
}

static void test_more_rows_than_room(void **state)
{
	(void)state;
	fixture_serve(1001);
	begin(1, 0);
	test.listing.max = 4;
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 6, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 4);
	begin(1, test.listing.cursor);
	assert_int_equal(list(), -EINPROGRESS);
	answer(fixture->link_fds[0], 2, true);
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 2);
	assert_int_equal(test.rows[0].slot, 4);
	assert_int_equal(test.listing.cursor, 0);
}

/* Answers that do not fit their request end the process. */
static void test_wrong_answers(void **state)
{
	static const struct rnic_process_rows_reply answers[] = {
		{.request_id = 0, .kind = RNIC_SHOW_CQS},
		{.request_id = 1, .kind = RNIC_SHOW_QPS},
		{.request_id = 1, .kind = RNIC_SHOW_CQS, .next = 5},
		{.request_id = 1, .kind = RNIC_SHOW_CQS, .next = UINT32_MAX},
		{.request_id = 1, .kind = RNIC_SHOW_CQS, .row_bytes = UINT32_MAX, .next = 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct device_child *process = fixture_serve(1001);
		struct rnic_process_rows_reply head = answers[i];

		begin(1, 0);
		assert_int_equal(list(), -EINPROGRESS);
		head.request_id += fixture->set.common.next_request_id - 1;
		fixture_say(RNIC_PROCESS_ROWS_REPLY, &head, sizeof(head));
		fixture_turn(0);
		assert_true(process->state == DEVICE_CHILD_KILLED ||
			    process->state == DEVICE_CHILD_DEAD);
		assert_int_equal(list(), 0);
		device_set_release(process);
	}
}

static void test_rows_of_another_size(void **state)
{
	struct device_child *process = fixture_serve(1001);
	struct {
		struct rnic_process_rows_reply head;
		uint8_t row[8];
	} reply = {.head = {.kind = RNIC_SHOW_CQS, .row_bytes = 8, .row_count = 1}};

	(void)state;
	begin(1, 0);
	assert_int_equal(list(), -EINPROGRESS);
	reply.head.request_id = fixture->set.common.next_request_id;
	fixture_say(RNIC_PROCESS_ROWS_REPLY, &reply, sizeof(reply));
	fixture_turn(0);
	assert_int_equal(list(), 0);
	assert_int_equal(test.listing.count, 0);
	assert_true(process->state == DEVICE_CHILD_KILLED);
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, device_fixture_open, device_fixture_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_slow_process),
		TEST(test_a_process_that_has_nothing),
		TEST(test_a_viewer_that_goes),
		TEST(test_none),
		TEST(test_two_processes),
		TEST(test_empty_answers),
		TEST(test_a_silent_process),
		TEST(test_two_viewers),
		TEST(test_more_rows_than_room),
		TEST(test_wrong_answers),
		TEST(test_rows_of_another_size),
		TEST(test_asked_at_once),
		TEST(test_asked_at_once_with_little_room),
		TEST(test_next_rows_are_asked_early),
		TEST(test_what_was_early_gives_way),
		TEST(test_silent_processes_share_a_deadline),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
