/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/peer_teardown.h"
#include "daemon/shared/served_peer/served_peer.h"

#include "daemon/shared/base/handle_table.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "daemon/shared/served_peer/request_turn.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BOXES	  3
#define MANY	  (LIMIT_TURN_TEARDOWN * 3 / 2) /* more objects than a turn frees */
#define LOG_BYTES 1024

/* A peer with objects of two kinds. Each object takes one RESOURCE_PD. */
struct box {
	struct served_peer peer;
	struct handle_table ports; /* what others wait for */
	struct handle_table rooms;
};

struct object {
	struct rnic_handle handle;
	unsigned parts; /* that `end` frees one at a time */
};

static struct {
	struct served_set set;
	struct box *boxes[BOXES];
	int peer_fds[BOXES];
	char steps[LOG_BYTES]; /* each step of an end: a letter, and the peer's client_id */
	bool is_busy;	       /* a request takes another turn */
	uint32_t object_cost;
} test;

/* --- the role -------------------------------------------------------------------------------- */

static void note_step(char step, const struct served_peer *peer)
{
	const size_t length = strlen(test.steps);

	if (length < LOG_BYTES - 8)
		snprintf(test.steps + length, LOG_BYTES - length, "%c%u ", step, peer->client_id);
}

static uint32_t end_object(struct box *box, struct handle_table *table, struct object *object,
			   char step)
{
	note_step(step, &box->peer);
	if (--object->parts == 0) {
		handle_table_remove(table, object->handle);
		quota_discharge(&box->peer.account, RESOURCE_PD, 1);
		free(object);
	}
	return test.object_cost;
}

static uint32_t end_port(void *box, void *object)
{
	return end_object(box, &((struct box *)box)->ports, object, 'p');
}

static uint32_t end_room(void *box, void *object)
{
	return end_object(box, &((struct box *)box)->rooms, object, 'r');
}

static void mark(struct served_peer *peer)
{
	note_step('m', peer);
}

static void cut(struct served_peer *peer)
{
	note_step('c', peer);
	served_set_cut(peer);
}

static void destroy(struct served_peer *peer)
{
	note_step('d', peer);
	served_set_remove(peer);
	free(RNIC_CONTAINER_OF(peer, struct box, peer));
}

static int make(struct box *box, struct handle_table *table, unsigned parts)
{
	int result = quota_charge(&box->peer.account, RESOURCE_PD, 1);
	struct object *object;

	if (result != 0)
		return result;
	object = calloc(1, sizeof(*object));
	assert_non_null(object);
	object->parts = parts;
	return handle_table_add(table, object, &object->handle);
}

static void make_many(struct box *box, struct handle_table *table, unsigned count)
{
	while (count-- > 0)
		assert_int_equal(make(box, table, 1), 0);
}

static int handle(struct ctl_call *call)
{
	struct box *box = RNIC_CONTAINER_OF(call->connection, struct box, peer.requests);

	return test.is_busy ? -EINPROGRESS : make(box, &box->rooms, 1);
}

static void ignore_refusal(struct request_connection *connection, uint16_t operation, int error,
			   const char *reason)
{
	(void)connection;
	(void)operation;
	(void)error;
	(void)reason;
}

static const struct teardown_stage stages[] = {
	{"ports", offsetof(struct box, ports), end_port, true},
	{"rooms", offsetof(struct box, rooms), end_room, false},
	{.name = NULL},
};

static struct request_role role = {
	.handle = handle,
	.note_refusal = ignore_refusal,
	.end = served_peer_end_connection,
	.first_request = "HELLO",
	.stages = stages,
	.mark = mark,
	.cut = cut,
	.destroy = destroy,
};

/* --- the fixture ----------------------------------------------------------------------------- */

static int add_box(struct box *box, int fd)
{
	int result = quota_open(&box->peer.account, &test.set.quotas, NULL);

	assert_int_equal(result, 0);
	result = served_set_add(&test.set, &box->peer, fd, 0);
	if (result != 0)
		quota_close(&box->peer.account);
	return result;
}

static void connect_box(unsigned i)
{
	struct box *box = calloc(1, sizeof(*box));
	int sockets[2];

	assert_non_null(box);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets), 0);
	test.boxes[i] = box;
	test.peer_fds[i] = sockets[1];
	assert_int_equal(add_box(box, sockets[0]), 0);
	box->peer.client_id = i;
	box->peer.pid = 17;
	box->peer.uid = 1000;
	box->peer.objects = box;
	handle_table_init(&box->ports, MANY);
	handle_table_init(&box->rooms, MANY);
}

static int set_up(void **state)
{
	const uint64_t limits[RESOURCE_COUNT] = {
		[RESOURCE_SESSION] = BOXES + 1,
		[RESOURCE_PD] = BOXES * MANY,
	};

	(void)state;
	memset(&test, 0, sizeof(test));
	test.object_cost = 1;
	role.names_users = false;
	assert_int_equal(served_set_init(&test.set, &role, limits, 0), 0);
	for (unsigned i = 0; i < BOXES; i++)
		connect_box(i);
	return 0;
}

/* Whatever a test has left: nothing is owned in the end. */
static int tear_down(void **state)
{
	(void)state;
	peer_teardown_all(&test.set);
	assert_int_equal(test.set.count, 0);
	assert_int_equal(test.set.server.ended_count, test.set.server.freed_count);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		if (!quota_pool_is_closed_later((enum session_resource)i))
			assert_int_equal(test.set.quotas.usage[i], 0);
	assert_false(served_set_has_work(&test.set));
	served_set_fini(&test.set);
	for (unsigned i = 0; i < BOXES; i++)
		close(test.peer_fds[i]);
	return 0;
}

static void end_box(unsigned i)
{
	served_peer_end(&test.boxes[i]->peer);
}

static bool is_hung_up(unsigned i)
{
	struct pollfd end = {.fd = test.peer_fds[i], .events = POLLIN};

	return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

static uint64_t objects_left(void)
{
	return test.set.quotas.usage[RESOURCE_PD];
}

/* Peer `i` asks for a room. */
static void ask(unsigned i)
{
	const struct rnic_ctl_header request = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = RNIC_CTL_ALLOC_PD,
		.bytes = sizeof(request),
	};

	assert_int_equal(send(test.peer_fds[i], &request, sizeof(request), 0), sizeof(request));
	request_turn_run(&test.set.server);
	request_turn_run(&test.set.server);
}

/* The status of the reply; 1: there is none. */
static int reply_status(unsigned i)
{
	static uint8_t message[RNIC_CTL_MESSAGE_BYTES];
	const struct rnic_ctl_header *reply = (const void *)message;

	return recv(test.peer_fds[i], message, sizeof(message), 0) > 0 ? reply->status : 1;
}

/* Runs the teardown, and stores what the log says meanwhile. */
static void run_and_read_log(uint64_t now_ns, char log[LOG_BYTES])
{
	const int log_fd = memfd_create("log", MFD_CLOEXEC);
	const int stderr_fd = dup(STDERR_FILENO);
	ssize_t bytes;

	assert_true(log_fd >= 0 && stderr_fd >= 0);
	assert_int_equal(dup2(log_fd, STDERR_FILENO), STDERR_FILENO);
	peer_teardown_run(&test.set, now_ns);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	bytes = pread(log_fd, log, LOG_BYTES - 1, 0);
	assert_true(bytes >= 0);
	log[bytes] = '\0';
	close(log_fd);
}

/* --- the end of a peer ----------------------------------------------------------------------- */

/* The urgent stages of all peers come first, and a peer ends before the next one's rest begins. */
static void stages_come_in_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		make_many(test.boxes[i], &test.boxes[i]->rooms, 1);
		make_many(test.boxes[i], &test.boxes[i]->ports, 1);
		end_box(i);
	}
	peer_teardown_run(&test.set, 0);
	assert_string_equal(test.steps, "m0 m1 c0 c1 p0 p1 r0 d0 r1 d1 ");
	assert_int_equal(test.set.count, BOXES - 2);
	assert_false(served_set_has_work(&test.set));
}

/* Cut off at once, freed by and by, and nothing is left. */
static void a_turn_frees_a_few_objects(void **state)
{
	unsigned turns = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		make_many(test.boxes[i], &test.boxes[i]->rooms, MANY);
		end_box(i);
	}
	while (test.set.count > BOXES - 2) {
		const uint64_t before = objects_left();

		assert_true(served_set_has_work(&test.set));
		peer_teardown_run(&test.set, 0);
		assert_true(is_hung_up(0) && is_hung_up(1));
		assert_in_range(before - objects_left(), 1, LIMIT_TURN_TEARDOWN);
		turns++;
	}
	assert_in_range(turns, 2 * MANY / LIMIT_TURN_TEARDOWN, 2 * MANY / LIMIT_TURN_TEARDOWN + 1);
	assert_false(is_hung_up(2));
}

/* No rest of an early peer holds up what others wait for, though that takes several turns. */
static void urgent_stages_wait_for_no_other(void **state)
{
	(void)state;
	make_many(test.boxes[0], &test.boxes[0]->rooms, MANY);
	end_box(0);
	peer_teardown_run(&test.set, 0);
	assert_int_equal(objects_left(), MANY - LIMIT_TURN_TEARDOWN);
	make_many(test.boxes[1], &test.boxes[1]->ports, MANY);
	end_box(1);
	peer_teardown_run(&test.set, 0);
	assert_int_equal(test.boxes[1]->ports.count, MANY - LIMIT_TURN_TEARDOWN);
	assert_int_equal(test.boxes[0]->rooms.count, MANY - LIMIT_TURN_TEARDOWN);
	peer_teardown_run(&test.set, 0);
	assert_int_equal(test.boxes[1]->ports.count, 0);
	assert_int_equal(objects_left(), 0);
}

/* An object that ends in parts is ended again and again, each time at its cost. */
static void parts_of_an_object_are_paid_for(void **state)
{
	const unsigned parts = 10;

	(void)state;
	test.object_cost = LIMIT_TURN_TEARDOWN / 2;
	assert_int_equal(make(test.boxes[0], &test.boxes[0]->rooms, parts), 0);
	end_box(0);
	for (unsigned turn = 1; turn < parts / 2; turn++) {
		peer_teardown_run(&test.set, 0);
		assert_int_equal(objects_left(), 1);
	}
	peer_teardown_run(&test.set, 0);
	assert_int_equal(objects_left(), 0);
	assert_int_equal(test.set.count, BOXES); /* the peer itself has its cost, too */
	peer_teardown_run(&test.set, 0);
	assert_int_equal(test.set.count, BOXES - 1);
}

/* A cost beyond what is left of a turn ends the turn. */
static void a_long_step_ends_the_turn(void **state)
{
	(void)state;
	test.object_cost = UINT32_MAX;
	make_many(test.boxes[0], &test.boxes[0]->rooms, 2);
	end_box(0);
	peer_teardown_run(&test.set, 0);
	assert_int_equal(objects_left(), 1);
}

/* The end of the set waits for nothing, in whichever step a peer is. */
static void all_peers_end_from_each_step(void **state)
{
	(void)state;
	make_many(test.boxes[0], &test.boxes[0]->rooms, MANY);
	end_box(0);
	peer_teardown_run(&test.set, 0);
	assert_false(list_is_empty(&test.set.ending));
	make_many(test.boxes[1], &test.boxes[1]->ports, MANY);
	end_box(1);
	peer_teardown_run(&test.set, 0);
	assert_false(list_is_empty(&test.set.leaving));
	end_box(2);
	assert_false(list_is_empty(&test.set.broken) || list_is_empty(&test.set.silent));
	peer_teardown_all(&test.set);
	assert_true(list_is_empty(&test.set.all) && list_is_empty(&test.set.silent));
}

/* A peer without objects (their owner was not made yet) ends as well. */
static void a_peer_may_have_no_objects(void **state)
{
	(void)state;
	test.boxes[0]->peer.objects = NULL;
	end_box(0);
	peer_teardown_run(&test.set, 0);
	assert_string_equal(test.steps, "m0 c0 d0 ");
}

/* --- the deadline, and the log --------------------------------------------------------------- */

static void silent_peers_end_in_time(void **state)
{
	char log[LOG_BYTES];
	uint64_t deadline_ns;

	(void)state;
	list_remove(&test.boxes[0]->peer.silent_node); /* said HELLO */
	deadline_ns = served_peer_deadline_ns(&test.set.silent);
	assert_int_equal(deadline_ns, LIMIT_HELLO_MS * RNIC_NS_PER_MS);
	served_peer_await(&test.boxes[2]->peer, &test.set.silent, 1);
	run_and_read_log(deadline_ns - 1, log);
	assert_int_equal(test.set.count, BOXES);
	assert_string_equal(log, "");
	run_and_read_log(deadline_ns, log);
	assert_non_null(strstr(log, "client 1 (unnamed, pid 17) was disconnected: it did not say "
				    "HELLO\n"));
	assert_ptr_equal(strchr(log, '\n'), log + strlen(log) - 1);
	assert_true(is_hung_up(1) && !is_hung_up(0) && !is_hung_up(2));
	role.names_users = true;
	snprintf(test.boxes[2]->peer.program, sizeof(test.boxes[2]->peer.program), "toy");
	run_and_read_log(deadline_ns + 1, log);
	assert_non_null(strstr(log, "client 2 (toy, pid 17, user 1000) was disconnected: "));
	assert_int_equal(served_peer_deadline_ns(&test.set.silent), UINT64_MAX);
}

/* Only what ends a peer is logged and counted. */
static void a_peer_ends_once(void **state)
{
	(void)state;
	end_box(0);
	end_box(0);
	served_peer_break(&test.boxes[0]->peer, "%s", "must not be logged");
	assert_string_equal(test.steps, "m0 ");
	assert_int_equal(test.set.server.ended_count, 1);
	peer_teardown_run(&test.set, 0);
	assert_int_equal(test.set.server.freed_count, 1);
}

/* --- resources ------------------------------------------------------------------------------- */

static void a_failed_add_changes_nothing(void **state)
{
	const uint64_t descriptors = test.set.quotas.usage[RESOURCE_DESCRIPTORS];
	struct box box = {.peer = {.client_id = 9}};

	(void)state;
	assert_int_equal(add_box(&box, -1), -EBADF);
	test.set.quotas.limits[RESOURCE_DESCRIPTORS] = descriptors;
	assert_int_equal(add_box(&box, test.peer_fds[0]), -ENOSPC);
	assert_int_equal(test.set.quotas.usage[RESOURCE_DESCRIPTORS], descriptors);
	assert_int_equal(test.set.quotas.usage[RESOURCE_SESSION], BOXES);
	assert_int_equal(test.set.count, BOXES);
	assert_false(list_is_linked(&box.peer.node) || list_is_linked(&box.peer.silent_node));
}

/* A request that goes on in a later turn goes no further when its peer ends. */
static void a_deferred_request_ends_with_its_peer(void **state)
{
	(void)state;
	test.is_busy = true;
	ask(0);
	assert_true(request_server_has_resumes(&test.set.server));
	end_box(0);
	request_turn_run(&test.set.server);
	peer_teardown_run(&test.set, 0);
	assert_false(request_server_has_resumes(&test.set.server));
	assert_int_equal(reply_status(0), 1);
	assert_true(is_hung_up(0));
}

/* A program that is started again gets what it had before, but waits for no live peer. */
static void what_is_freed_is_waited_for(void **state)
{
	unsigned turns = 0;
	int status;

	(void)state;
	make_many(test.boxes[0], &test.boxes[0]->rooms, MANY);
	test.set.quotas.limits[RESOURCE_PD] = MANY;
	ask(1);
	assert_int_equal(reply_status(1), -ENOSPC);
	end_box(0);
	ask(1);
	while ((status = reply_status(1)) == 1) {
		assert_true(turns++ <= MANY);
		assert_true(request_server_has_resumes(&test.set.server));
		peer_teardown_run(&test.set, 0);
		request_turn_run(&test.set.server);
	}
	assert_int_equal(status, 0);
	assert_true(turns > 0);
}

/* Nor for peers that end later, of which there may always be more. */
static void who_ends_later_is_not_waited_for(void **state)
{
	(void)state;
	test.set.quotas.limits[RESOURCE_PD] = 0;
	end_box(0);
	ask(1);
	assert_int_equal(reply_status(1), 1);
	test.set.server.ended_count++;
	peer_teardown_run(&test.set, 0);
	request_turn_run(&test.set.server);
	assert_int_equal(reply_status(1), -ENOSPC);
	test.set.server.ended_count--;
}

/* A peer that waits so may end, while others go on. */
static void who_waits_may_end(void **state)
{
	(void)state;
	test.set.quotas.limits[RESOURCE_PD] = 0;
	end_box(0);
	ask(1);
	assert_true(request_server_has_resumes(&test.set.server));
	end_box(1);
	peer_teardown_run(&test.set, 0);
	assert_int_equal(test.set.count, BOXES - 2);
	assert_false(request_server_has_resumes(&test.set.server));
}

/* A hang-up alone ends a peer. */
static void a_hang_up_ends_a_peer(void **state)
{
	(void)state;
	close(test.peer_fds[0]);
	test.peer_fds[0] = -1;
	request_turn_run(&test.set.server);
	peer_teardown_run(&test.set, 0);
	assert_string_equal(test.steps, "m0 c0 d0 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stages_come_in_order),
		TEST(a_turn_frees_a_few_objects),
		TEST(urgent_stages_wait_for_no_other),
		TEST(parts_of_an_object_are_paid_for),
		TEST(a_long_step_ends_the_turn),
		TEST(all_peers_end_from_each_step),
		TEST(a_peer_may_have_no_objects),
		TEST(silent_peers_end_in_time),
		TEST(a_peer_ends_once),
		TEST(a_failed_add_changes_nothing),
		TEST(a_deferred_request_ends_with_its_peer),
		TEST(what_is_freed_is_waited_for),
		TEST(who_ends_later_is_not_waited_for),
		TEST(who_waits_may_end),
		TEST(a_hang_up_ends_a_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
