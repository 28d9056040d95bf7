/* SPDX-License-Identifier: MIT */
/* The daemon's end of an event channel; the test is the client. */
#include "daemon/control/cm_ids/cm_channel.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX (2 * RNIC_CM_EVENTS_SENT_MAX)

struct fixture {
	struct client_cm_channel channel;
	struct cm_waiting_event events[EVENTS_MAX];
	int client_fd;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(cm_channel_open(&fixture->channel, &fixture->client_fd), 0);
	for (uint32_t i = 0; i < EVENTS_MAX; i++)
		fixture->events[i].event.type = i;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < EVENTS_MAX; i++)
		cm_channel_withdraw(&fixture->channel, &fixture->events[i]);
	cm_channel_close(&fixture->channel);
	if (fixture->client_fd >= 0)
		close(fixture->client_fd);
	free(fixture);
	return 0;
}

/* Sends the first `count` events, as far as they fit. */
static void send_first(struct fixture *fixture, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cm_channel_add(&fixture->channel, &fixture->events[i]);
	assert_int_equal(cm_channel_send(&fixture->channel), 0);
}

/* The number of the event that the client takes; -1: there is none. */
static int take(const struct fixture *fixture, bool *is_last)
{
	struct rnic_ctl_cm_event event;
	const ssize_t bytes = recv(fixture->client_fd, &event, sizeof(event), MSG_DONTWAIT);

	if (bytes < 0)
		return -1;
	assert_int_equal(bytes, sizeof(event));
	*is_last = event.is_last == 1;
	return (int)event.type;
}

static void expect_taken(struct fixture *fixture, uint32_t taken, const int *numbers,
			 uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		assert_ptr_equal(cm_channel_next_taken(&fixture->channel, taken),
				 &fixture->events[numbers[i]]);
	assert_null(cm_channel_next_taken(&fixture->channel, taken));
}

static void events_come_in_order_and_the_eighth_is_last(void **state)
{
	struct fixture *fixture = *state;
	bool is_last;

	send_first(fixture, EVENTS_MAX);
	for (int i = 0; i < RNIC_CM_EVENTS_SENT_MAX; i++) {
		assert_int_equal(take(fixture, &is_last), i);
		assert_int_equal(is_last, i == RNIC_CM_EVENTS_SENT_MAX - 1);
	}
	assert_int_equal(take(fixture, &is_last), -1);
}

/* A client that has taken some is not asked to ask again for each of them. */
static void others_follow_when_the_last_is_taken(void **state)
{
	struct fixture *fixture = *state;
	bool is_last;

	send_first(fixture, EVENTS_MAX);
	expect_taken(fixture, 3, (const int[]){0, 1, 2}, 3);
	assert_int_equal(cm_channel_send(&fixture->channel), 0);
	for (int i = 0; i < RNIC_CM_EVENTS_SENT_MAX; i++)
		assert_int_equal(take(fixture, &is_last), i);
	assert_true(is_last);
	assert_int_equal(take(fixture, &is_last), -1);
	expect_taken(fixture, RNIC_CM_EVENTS_SENT_MAX, (const int[]){3, 4, 5, 6, 7}, 5);
	assert_int_equal(cm_channel_send(&fixture->channel), 0);
	for (int i = RNIC_CM_EVENTS_SENT_MAX; i < EVENTS_MAX; i++) {
		assert_int_equal(take(fixture, &is_last), i);
		assert_int_equal(is_last, i == EVENTS_MAX - 1);
	}
	assert_int_equal(take(fixture, &is_last), -1);
}

/* A run that is not at its end goes on, and has room for what was taken. */
static void a_run_goes_on(void **state)
{
	struct fixture *fixture = *state;
	bool is_last = true;

	send_first(fixture, RNIC_CM_EVENTS_SENT_MAX - 1);
	assert_true(cm_channel_is_half_full(&fixture->channel));
	expect_taken(fixture, 4, (const int[]){0, 1, 2, 3}, 4);
	assert_false(cm_channel_is_half_full(&fixture->channel));
	cm_channel_add(&fixture->channel, &fixture->events[RNIC_CM_EVENTS_SENT_MAX]);
	assert_int_equal(cm_channel_send(&fixture->channel), 0);
	for (int i = 0; i < RNIC_CM_EVENTS_SENT_MAX; i++) {
		take(fixture, &is_last);
		assert_false(is_last);
	}
}

static void the_socket_knows_when_all_are_taken(void **state)
{
	struct fixture *fixture = *state;
	bool is_last;

	assert_int_equal(cm_channel_known_taken(&fixture->channel), 0);
	send_first(fixture, 2);
	take(fixture, &is_last);
	assert_int_equal(cm_channel_known_taken(&fixture->channel), 0);
	take(fixture, &is_last);
	assert_int_equal(cm_channel_known_taken(&fixture->channel), 2);
}

/* Its place stays counted until the client has taken the void event. */
static void a_withdrawn_event_is_void(void **state)
{
	struct fixture *fixture = *state;
	bool is_last;

	send_first(fixture, RNIC_CM_EVENTS_SENT_MAX + 2);
	cm_channel_withdraw(&fixture->channel, &fixture->events[0]);
	cm_channel_withdraw(&fixture->channel, &fixture->events[RNIC_CM_EVENTS_SENT_MAX]);
	for (int i = 0; i < RNIC_CM_EVENTS_SENT_MAX; i++)
		assert_int_equal(take(fixture, &is_last), i);
	expect_taken(fixture, RNIC_CM_EVENTS_SENT_MAX, (const int[]){1, 2, 3, 4, 5, 6, 7}, 7);
	assert_int_equal(cm_channel_send(&fixture->channel), 0);
	assert_int_equal(take(fixture, &is_last), RNIC_CM_EVENTS_SENT_MAX + 1);
	assert_int_equal(take(fixture, &is_last), -1);
}

static void a_count_beyond_what_was_sent_takes_what_was_sent(void **state)
{
	struct fixture *fixture = *state;

	send_first(fixture, 2);
	expect_taken(fixture, 1000, (const int[]){0, 1}, 2);
	expect_taken(fixture, 1, NULL, 0);
}

static void claims_fill_no_more_than_the_socket(void **state)
{
	struct fixture *fixture = *state;
	uint32_t sent = 0;

	do {
		cm_channel_next_taken(&fixture->channel, sent);
		cm_channel_add(&fixture->channel, &fixture->events[0]);
		assert_true(++sent < 8 * RNIC_CM_EVENTS_SENT_MAX);
	} while (cm_channel_send(&fixture->channel) == 0);
	assert_true(sent > RNIC_CM_EVENTS_SENT_MAX);
}

static void the_client_cannot_send(void **state)
{
	const struct fixture *fixture = *state;

	assert_int_equal(send(fixture->client_fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT), -1);
	assert_int_equal(errno, EPIPE);
}

static void a_closed_end_gets_nothing(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->client_fd);
	fixture->client_fd = -1;
	send_first(fixture, 2);
	assert_null(cm_channel_next_taken(&fixture->channel, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_come_in_order_and_the_eighth_is_last, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(others_follow_when_the_last_is_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_socket_knows_when_all_are_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_withdrawn_event_is_void, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_count_beyond_what_was_sent_takes_what_was_sent,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(claims_fill_no_more_than_the_socket, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_client_cannot_send, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_closed_end_gets_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
