/* SPDX-License-Identifier: MIT */
/* HELLO and SHOW, which need device processes; the test plays the device process and the client. */
#include "daemon/control/server/client_teardown.h"
#include "daemon/control/server/ctl_dispatch.h"
#include "daemon/control/server/troubles.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/served_peer/request_turn.h"
#include "proto/base/causes.h"
#include "proto/ctl/ctl_message.h"
#include "tests/unit/daemon/control/supervisor/device_fixture.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	struct client_set clients;
	struct device_settings settings;
	int peer_fd; /* of the latest client */
	struct {
		struct rnic_ctl_header header;
		_Alignas(8) uint8_t payload[RNIC_CTL_MESSAGE_BYTES];
	} reply;
	int reply_fd; /* -1: none */
} test;

static int set_up(void **state)
{
	struct client_set_config config = {
		.role = &ctl_dispatch_role,
		.settings = &test.settings,
	};

	device_fixture_open(state);
	memset(&test, 0, sizeof(test));
	config.devices = &fixture->set;
	config.facts = &fixture->facts;
	assert_int_equal(client_set_init(&test.clients, &config), 0);
	return 0;
}

static int tear_down(void **state)
{
	peer_teardown_all(&test.clients.peers);
	client_set_fini(&test.clients);
	return device_fixture_close(state);
}

/* A turn of the control plane. */
static void turn(uint64_t after_ns)
{
	fixture_turn(after_ns);
	test.clients.now_ns = fixture->now_ns;
	if (device_set_take_news(&fixture->set))
		request_server_wake(&test.clients.peers.server);
	request_turn_run(&test.clients.peers.server);
	client_teardown_run(&test.clients);
}

static struct client *connect_client(uid_t uid)
{
	struct client *client;
	int sockets[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	test.clients.now_ns = fixture->now_ns;
	client = client_create(&test.clients, sockets[0], 77, uid, uid);
	assert_non_null(client);
	test.peer_fd = sockets[1];
	return client;
}

static void ask(uint16_t operation, const void *payload, uint32_t bytes)
{
	struct {
		struct rnic_ctl_header header;
		uint8_t payload[64];
	} request = {.header = {
			     .magic = RNIC_CTL_MAGIC,
			     .version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
			     .operation = operation,
			     .bytes = (uint32_t)sizeof(struct rnic_ctl_header) + bytes,
		     }};

	memcpy(request.payload, payload, bytes);
	assert_int_equal(send(test.peer_fd, &request, request.header.bytes, 0),
			 request.header.bytes);
}

static void say_hello_with(uint32_t flags)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = flags,
		.program = "pro gram",
	};

	ask(RNIC_CTL_HELLO, &hello, sizeof(hello));
}

static void say_hello(void)
{
	say_hello_with(0);
}

/* Whether there is a reply, which is in test.reply then. */
static bool hear(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {&test.reply, sizeof(test.reply)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	test.reply_fd = -1;
	if (recvmsg(test.peer_fd, &message, MSG_DONTWAIT) <= 0)
		return false;
	if (CMSG_FIRSTHDR(&message) != NULL)
		memcpy(&test.reply_fd, CMSG_DATA(&control.header), sizeof(int));
	return true;
}

static const char *reason(void)
{
	return ((const struct rnic_ctl_refusal *)test.reply.payload)->reason;
}

/* Answers as the latest device process, which has just started. */
static void expect_start(void)
{
	fixture_expect(RNIC_PROCESS_START);
	fixture_say_ready(0, "");
	turn(0);
	fixture_expect(RNIC_PROCESS_GID);
	fixture_expect(RNIC_PROCESS_FACTS);
}

/* The device process gets the client, and the client the answer to HELLO. */
static void expect_hand_over(void)
{
	fixture_expect(RNIC_PROCESS_CLIENT);
	assert_true(hear());
	assert_int_equal(test.reply.header.status, 0);
	assert_true(test.reply_fd >= 0);
	close(test.reply_fd);
}

/* The same for a device process that has to start first. */
static void expect_service(void)
{
	expect_start();
	expect_hand_over();
}

/* A client of `uid` that is served; its device process is the latest. */
static struct client *greet(uid_t uid)
{
	struct client *client = connect_client(uid);
	const uint32_t before = fixture->launch_count;

	say_hello();
	turn(0);
	if (fixture->launch_count > before)
		expect_start();
	expect_hand_over();
	return client;
}

static void test_hello_waits_for_the_device(void **state)
{
	struct client *client = connect_client(FIXTURE_UID);
	const struct rnic_process_client *told;
	char byte;

	(void)state;
	say_hello();
	turn(0);
	assert_false(hear());
	assert_false(request_server_has_resumes(&test.clients.peers.server));
	fixture_expect(RNIC_PROCESS_START);
	turn(5 * FIXTURE_SECOND);
	turn(4 * FIXTURE_SECOND);
	assert_false(hear());
	assert_int_equal(test.clients.peers.count, 1);
	fixture_say_ready(0, "");
	turn(0);
	assert_true(hear());
	assert_int_equal(test.reply.header.status, 0);
	fixture_expect(RNIC_PROCESS_GID);
	fixture_expect(RNIC_PROCESS_FACTS);
	told = fixture_expect(RNIC_PROCESS_CLIENT);
	assert_int_equal(told->client_id, client->peer.client_id);
	assert_int_equal(told->uid, FIXTURE_UID);
	assert_int_equal(told->pid, 77);
	assert_string_equal(told->program, "pro?gram");
	/* fixture_expect() has closed the device's end of the connection. */
	assert_int_equal(recv(test.reply_fd, &byte, 1, 0), 0);
	close(test.reply_fd);

	/* The next client of the user gets the same process, at once. */
	greet(FIXTURE_UID);
	assert_int_equal(fixture->launch_count, 1);
}

static void test_refusals(void **state)
{
	(void)state;
	fixture->set.owner = 4;
	connect_client(5);
	say_hello();
	turn(0);
	assert_true(hear());
	assert_int_equal(test.reply.header.status, -EPERM);
	assert_string_equal(reason(),
			    "this rnicd serves user 4 and root; rnicd --allow 5 serves user 5 too");

	connect_client(4);
	say_hello();
	turn(0);
	fixture_expect(RNIC_PROCESS_START);
	fixture_say_ready(-ENOMEM, "there is no memory for rings");
	turn(0);
	assert_true(hear());
	assert_int_equal(test.reply.header.status, -ENODEV);
	assert_string_equal(reason(), "there is no memory for rings");
	assert_int_equal(test.reply_fd, -1);
}

/* A client that only looks hears whether programs of its user are served, and starts no process. */
static void test_viewers(void **state)
{
	static const struct {
		uid_t uid;
		uint16_t flags;
	} rows[] = {
		{0, 0},
		{4, 0},
		{5, RNIC_HELLO_REFUSES_PROGRAMS},
	};

	(void)state;
	fixture->set.owner = 4;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct rnic_ctl_hello_reply *reply = (const void *)test.reply.payload;

		connect_client(rows[i].uid);
		say_hello_with(RNIC_HELLO_ADMIN);
		turn(0);
		assert_true(hear());
		assert_int_equal(test.reply.header.status, 0);
		assert_int_equal(test.reply_fd, -1);
		assert_int_equal(reply->flags, rows[i].flags);
	}
	assert_int_equal(fixture->launch_count, 0);
}

/* Runs turns only when something is due, until the latest client hears. Returns their number. */
static uint32_t sleep_until_heard(void)
{
	uint32_t turns = 0;

	for (; turns < 10000 && !hear(); turns++) {
		const uint64_t devices_ns = device_set_next_deadline_ns(&fixture->set);
		const uint64_t hello_ns = client_next_hello_ns(&test.clients);
		const uint64_t next_ns = devices_ns < hello_ns ? devices_ns : hello_ns;

		assert_true(next_ns != UINT64_MAX);
		turn(next_ns > fixture->now_ns && !served_set_has_work(&test.clients.peers)
			     ? next_ns - fixture->now_ns
			     : 0);
	}
	return turns;
}

/* The process reads nothing any more. */
static void fill_link(struct device_child *process)
{
	const struct rnic_process_rows rows = {.kind = RNIC_SHOW_CQS};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_ROWS,
		.payload = &rows,
		.payload_bytes = sizeof(rows),
	};

	while (device_link_send(process, &letter) == 0)
		continue;
}

/* The device process neither answers nor dies. */
static void test_a_device_that_stopped(void **state)
{
	struct device_child *process = greet(FIXTURE_UID)->device;
	char expected[RNIC_CTL_TEXT_BYTES];

	(void)state;
	fill_link(process);
	connect_client(FIXTURE_UID);
	say_hello();
	for (int i = 0; i < 200 && !hear(); i++)
		turn(FIXTURE_SECOND / 10);
	assert_int_equal(test.reply.header.status, -ETIMEDOUT);
	snprintf(expected, sizeof(expected),
		 "the device process of user %u (pid %d) does not answer", FIXTURE_UID,
		 (int)process->pid);
	assert_string_equal(reason(), expected);
}

/* Facts that the process does not take are no reason to wait longer, nor to ask more often. */
static void test_a_device_that_stopped_behind_facts(void **state)
{
	struct device_child *process = greet(FIXTURE_UID)->device;
	const uint64_t begun_ns = fixture->now_ns;

	(void)state;
	fill_link(process);
	device_set_set_facts(&fixture->set, 512);
	connect_client(FIXTURE_UID);
	say_hello();
	turn(0);
	assert_true(sleep_until_heard() < 100);
	assert_int_equal(test.reply.header.status, -ETIMEDOUT);
	assert_int_equal(fixture->now_ns - begun_ns, LIMIT_HELLO_MS * UINT64_C(1000000));
}

/* Many programs that wait for one full link do not make the control plane ask more often. */
static void test_many_wait_for_a_device_that_stopped(void **state)
{
	struct device_child *process = greet(FIXTURE_UID)->device;
	int peer_fds[20];

	(void)state;
	fill_link(process);
	for (size_t i = 0; i < COUNT_OF(peer_fds); i++) {
		connect_client(FIXTURE_UID);
		say_hello();
		peer_fds[i] = test.peer_fd;
		turn(0);
	}
	assert_true(sleep_until_heard() < 400);
	assert_int_equal(test.reply.header.status, -ETIMEDOUT);
	for (size_t i = 0; i < COUNT_OF(peer_fds); i++)
		close(peer_fds[i]);
}

/* The program comes when the device process has ended, and nobody has seen that yet. */
static void test_a_device_that_just_died(void **state)
{
	struct device_child *dead = greet(FIXTURE_UID)->device;
	struct client *client;

	(void)state;
	close(fixture->link_fds[0]);
	fixture->link_fds[0] = -1;
	client = connect_client(FIXTURE_UID);
	say_hello();
	request_turn_run(&test.clients.peers.server);
	assert_int_equal(dead->state, DEVICE_CHILD_ENDING);
	assert_false(hear());
	expect_service();
	assert_ptr_not_equal(client->device, dead);
	assert_int_equal(dead->references, 1);
}

/* Who was refused keeps no device process, is not waited for without end, and may try again. */
static void test_a_refused_client_tries_again(void **state)
{
	struct client *client = connect_client(FIXTURE_UID);

	(void)state;
	say_hello();
	turn(0);
	fixture_expect(RNIC_PROCESS_START);
	fixture_say_ready(-ENOMEM, "there is no memory for rings");
	turn(0);
	assert_true(hear());
	assert_int_equal(test.reply.header.status, -ENODEV);
	assert_null(client->device);
	assert_int_equal(client_next_hello_ns(&test.clients),
			 fixture->now_ns + LIMIT_HELLO_MS * UINT64_C(1000000));
	say_hello();
	turn(0);
	expect_service();
	assert_int_equal(client_next_hello_ns(&test.clients), UINT64_MAX);
}

/* A lane that a dying process still has is as good as free. */
static void test_the_last_lane_is_waited_for(void **state)
{
	struct device_child *dead = greet(FIXTURE_UID)->device;

	(void)state;
	fixture->lane_error = -ENOSPC;
	connect_client(FIXTURE_UID + 1);
	say_hello();
	for (int i = 0; i < 3 && !hear(); i++)
		turn(0);
	assert_int_equal(test.reply.header.status, -ENOSPC);
	assert_string_equal(reason(), "no lane is left");

	device_child_happen(dead, DEVICE_CHILD_HANG_UP, NULL);
	say_hello();
	for (int i = 0; i < 3; i++)
		turn(0);
	assert_false(hear());
	assert_false(request_server_has_resumes(&test.clients.peers.server));
	kill(fixture->pids[0], SIGKILL);
	fixture->lane_error = 0;
	fixture_await(dead, DEVICE_CHILD_DEAD);
	turn(0);
	expect_service();
}

/* A client that hangs up while it waits keeps nothing; neither does one that says too much. */
static void test_a_client_that_does_not_wait(void **state)
{
	struct client *client = connect_client(FIXTURE_UID);

	(void)state;
	say_hello();
	turn(0);
	assert_int_equal(client->device->references, 1);
	for (int i = 0; i < 5; i++)
		say_hello();
	/* What it says meanwhile does not keep the loop awake. */
	assert_false(request_turn_run(&test.clients.peers.server));
	close(test.peer_fd);
	turn(0);
	turn(0);
	assert_int_equal(test.clients.peers.count, 0);
	assert_int_equal(
		list_first_entry(&fixture->set.processes, struct device_child, node)->references,
		0);
}

static void say_rows(uint32_t client_id, uint32_t count)
{
	struct {
		struct rnic_process_rows_reply head;
		struct rnic_show_cq rows[3];
	} answer = {.head = {.kind = RNIC_SHOW_CQS, .row_bytes = sizeof(struct rnic_show_cq)}};
	const struct rnic_process_rows *request = fixture_expect(RNIC_PROCESS_ROWS);

	answer.head.request_id = request->request_id;
	answer.head.kind = request->kind;
	answer.head.row_count = count;
	for (uint32_t i = 0; i < count; i++)
		answer.rows[i] = (struct rnic_show_cq){.client_id = client_id + i, .slot = 7 + i};
	fixture_say(RNIC_PROCESS_ROWS_REPLY, &answer,
		    sizeof(answer.head) + count * sizeof(answer.rows[0]));
}

static void test_rows_of_a_device(void **state)
{
	const struct rnic_ctl_show show = {.kind = RNIC_SHOW_CQS};
	const struct rnic_ctl_show_reply *reply = (const void *)test.reply.payload;
	struct client *client = greet(FIXTURE_UID);

	(void)state;
	ask(RNIC_CTL_SHOW, &show, sizeof(show));
	turn(0);
	assert_false(hear());
	/* Two rows are of clients that the process does not serve. */
	say_rows(client->peer.client_id, 3);
	turn(0);
	assert_true(hear());
	assert_int_equal(reply->row_count, 1);
	assert_int_equal(reply->row_bytes, sizeof(struct rnic_show_cq));
	assert_int_equal(reply->next, 0);
	assert_int_equal(((const struct rnic_show_cq *)(const void *)(reply + 1))->number,
			 client_object_number(client, 7));

	/* Another user sees none of them. */
	greet(FIXTURE_UID + 1);
	ask(RNIC_CTL_SHOW, &show, sizeof(show));
	turn(0);
	/* Only its own device process is asked. */
	say_rows(client->peer.client_id, 1);
	turn(0);
	assert_true(hear());
	assert_int_equal(reply->row_count, 0);
}

static void test_clients_of_a_silent_device(void **state)
{
	const struct rnic_ctl_show show = {.kind = RNIC_SHOW_CLIENTS};
	const struct rnic_ctl_show_reply *reply = (const void *)test.reply.payload;
	const struct rnic_show_client *row =
		(const void *)(test.reply.payload + sizeof(struct rnic_ctl_show_reply));
	struct client *client = greet(FIXTURE_UID);

	(void)state;
	ask(RNIC_CTL_SHOW, &show, sizeof(show));
	turn(0);
	assert_false(hear());
	turn(FIXTURE_SECOND);
	assert_true(hear());
	assert_int_equal(reply->row_count, 1);
	assert_int_equal(row->client_id, client->peer.client_id);
	assert_int_equal(row->uid, FIXTURE_UID);
	assert_string_equal(row->program, "pro?gram");
	assert_string_equal(trouble_nth(&test.clients.trouble_log, 0)->subject,
			    "device process of user 1000");
}

/* Of a program that is stopped the control plane tells its user, and nobody else. */
static void test_stopped_program(void **state)
{
	const struct rnic_ctl_show show = {.kind = RNIC_SHOW_CLIENTS};
	const struct rnic_show_client *row =
		(const void *)(test.reply.payload + sizeof(struct rnic_ctl_show_reply));
	struct client *client = greet(FIXTURE_UID);
	const pid_t stopped = fork();

	(void)state;
	if (stopped == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			raise(SIGSTOP);
	}
	assert_int_equal(waitpid(stopped, NULL, WUNTRACED), stopped);
	ask(RNIC_CTL_SHOW, &show, sizeof(show));
	client->peer.pid = stopped;
	turn(0);
	turn(FIXTURE_SECOND);
	assert_true(hear());
	assert_int_equal(row->pid, stopped);
	assert_int_equal(row->stop, RNIC_PROGRAM_STOPPED);

	greet(FIXTURE_UID + 1);
	ask(RNIC_CTL_SHOW, &show, sizeof(show));
	turn(0);
	turn(FIXTURE_SECOND);
	assert_true(hear());
	assert_int_equal(row->pid, stopped);
	assert_int_equal(row->stop, RNIC_PROGRAM_RUNS);
	kill(stopped, SIGKILL);
	assert_int_equal(waitpid(stopped, NULL, 0), stopped);
}

/* A trouble may come after its program has gone, and may be a lie. */
static void test_troubles_of_a_device(void **state)
{
	struct rnic_process_trouble trouble = {
		.cause = RNIC_CAUSE_BAD_RKEY,
		.subject = "queue pair",
		.reason = "failed",
	};
	struct device_child *process = greet(FIXTURE_UID)->device;
	struct client *client = greet(FIXTURE_UID + 1);
	const struct trouble_log *log = &test.clients.trouble_log;

	(void)state;
	trouble.client_id = client->peer.client_id;
	trouble_of_device(&test.clients, process, &trouble);
	assert_null(trouble_nth(log, 0));
	process = client->device;
	served_peer_end(&client->peer);
	turn(0);
	assert_null(client_find(&test.clients, trouble.client_id));
	trouble_of_device(&test.clients, process, &trouble);
	assert_string_equal(trouble_nth(log, 0)->reason, "failed");
	assert_int_equal(trouble_nth(log, 0)->cause, RNIC_CAUSE_BAD_RKEY);
	assert_int_equal(trouble_nth(log, 0)->uid, FIXTURE_UID + 1);
	assert_false(trouble_nth(log, 0)->is_of_all);
	trouble.client_id = 99;
	trouble_of_device(&test.clients, process, &trouble);
	assert_null(trouble_nth(log, 1));
	trouble.client_id = 0;
	trouble_of_device(&test.clients, process, &trouble);
	assert_int_equal(trouble_nth(log, 0)->pid, process->pid);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hello_waits_for_the_device),
		TEST(test_refusals),
		TEST(test_viewers),
		TEST(test_a_device_that_stopped),
		TEST(test_a_device_that_stopped_behind_facts),
		TEST(test_many_wait_for_a_device_that_stopped),
		TEST(test_a_device_that_just_died),
		TEST(test_a_refused_client_tries_again),
		TEST(test_the_last_lane_is_waited_for),
		TEST(test_a_client_that_does_not_wait),
		TEST(test_rows_of_a_device),
		TEST(test_clients_of_a_silent_device),
		TEST(test_stopped_program),
		TEST(test_troubles_of_a_device),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
