/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/device_requests.h"
#include "daemon/shared/served_peer/request_connection.h"
#include "daemon/shared/served_peer/request_server.h"

#include "daemon/shared/reports/show_rows.h"
#include "tests/unit/daemon/device/session/client_fixture.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_message.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t now_ns;

/* The linker puts this function before the real clock. */
uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return now_ns;
}

static bool are_too_many; /* descriptors of this user on their way */
static unsigned refused_sends;

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (!are_too_many || message->msg_controllen == 0)
		return __real_sendmsg(fd, message, flags);
	refused_sends++;
	errno = ETOOMANYREFS;
	return -1;
}

/* A device, and a client that has said nothing yet. */
struct fixture {
	struct family family;
	struct device_connection *connection;
	int peer_fd;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	are_too_many = false;
	refused_sends = 0;
	family_init(&f->family, NULL, NULL);
	f->connection = client_fixture_connect_device(&f->family, 1, &f->peer_fd);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	close(f->peer_fd);
	return 0;
}

/* Sends a request, with the descriptor `brought` if that is none of -1. */
static void ask(const struct fixture *f, uint16_t operation, const void *payload, uint32_t bytes,
		int brought)
{
	struct rnic_ctl_header header = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = operation,
		.bytes = (uint32_t)sizeof(struct rnic_ctl_header) + bytes,
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)payload, bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (brought >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		memcpy(CMSG_DATA(&control.header), &brought, sizeof(brought));
	}
	assert_int_equal(sendmsg(f->peer_fd, &message, 0), header.bytes);
}

/* The status of a reply, whose descriptors are closed and counted; 1: there is no reply. */
static int receive_reply(const struct fixture *f, unsigned *fd_count)
{
	static struct {
		struct rnic_ctl_header header;
		uint8_t payload[RNIC_CTL_MESSAGE_BYTES];
	} reply;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control;
	struct iovec part = {&reply, sizeof(reply)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fds[RNIC_CTL_FDS_MAX];

	*fd_count = 0;
	if (recvmsg(f->peer_fd, &message, MSG_DONTWAIT) <= 0)
		return 1;
	if (CMSG_FIRSTHDR(&message) != NULL) {
		*fd_count = (unsigned)((control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(&control.header), *fd_count * sizeof(int));
	}
	for (unsigned i = 0; i < *fd_count; i++)
		close(fds[i]);
	return reply.header.status;
}

static int answer(struct fixture *f)
{
	unsigned fd_count;

	family_serve(&f->family);
	return receive_reply(f, &fd_count);
}

static void open_device(struct fixture *f)
{
	static const struct rnic_ctl_open_device open_device = {.flags = 0};
	unsigned fd_count;

	ask(f, RNIC_CTL_OPEN_DEVICE, &open_device, sizeof(open_device), -1);
	family_serve(&f->family);
	assert_int_equal(receive_reply(f, &fd_count), 0);
	assert_int_equal(fd_count, 4);
}

static void test_open_device_makes_a_session(void **state)
{
	struct fixture *f = *state;
	struct rnic_show_client row;
	struct show_rows rows = {
		.max = 1,
		.row_bytes = sizeof(row),
		.rows = (uint8_t *)&row,
	};

	device_show(&f->family.device, RNIC_SHOW_CLIENTS, &rows);
	assert_int_equal(rows.count, 0);
	open_device(f);
	assert_int_equal(device_session_count(&f->family.device), 1);
	device_show(&f->family.device, RNIC_SHOW_CLIENTS, &rows);
	assert_int_equal(rows.count, 1);
	assert_int_equal(row.client_id, f->connection->peer.client_id);
	assert_int_equal(row.uid, 1);
	ask(f, RNIC_CTL_QUERY_PORT, "", 0, -1);
	assert_int_equal(answer(f), 0);
}

static void assert_breaks(struct fixture *f)
{
	assert_int_equal(answer(f), 1);
	assert_true(f->connection->peer.requests.is_broken);
	while (device_client_count(&f->family.device) > 0)
		family_reap(&f->family);
	assert_int_equal(device_session_count(&f->family.device), 0);
}

static void test_open_device_comes_first(void **state)
{
	ask(*state, RNIC_CTL_ALLOC_PD, "", 0, -1);
	assert_breaks(*state);
}

static void test_open_device_comes_once(void **state)
{
	static const struct rnic_ctl_open_device again = {.flags = 0};

	open_device(*state);
	ask(*state, RNIC_CTL_OPEN_DEVICE, &again, sizeof(again), -1);
	assert_breaks(*state);
}

static void test_control_operations_break(void **state)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};

	open_device(*state);
	ask(*state, RNIC_CTL_SHOW, &show, sizeof(show), -1);
	assert_breaks(*state);
}

/* A file that is no memory of a process is refused, and the client may try again. */
static void test_memory_is_looked_at(void **state)
{
	static const struct rnic_ctl_open_device with_memory = {.flags = RNIC_OPEN_MEMORY_FD};
	static const struct rnic_ctl_open_device unknown = {.flags = 1 << 7};

	ask(*state, RNIC_CTL_OPEN_DEVICE, &with_memory, sizeof(with_memory), STDERR_FILENO);
	assert_int_equal(answer(*state), -EINVAL);
	ask(*state, RNIC_CTL_OPEN_DEVICE, &unknown, sizeof(unknown), -1);
	assert_int_equal(answer(*state), -EINVAL);
	open_device(*state);
}

/*
 * A watch that is not defined, or without what it needs, is refused. The descriptor of a client
 * that is known by no PID descriptor is not used at all: anything may come.
 */
static void test_a_watch_is_looked_at(void **state)
{
	static const struct rnic_ctl_open_device with_memory = {.flags = RNIC_OPEN_MEMORY_FD};
	static const struct {
		struct rnic_ctl_watch_memory request;
		int fd;
		int status;
	} rows[] = {
		{{.watch = RNIC_WATCH_ON}, -1, -EINVAL},
		{{.watch = RNIC_WATCH_OFF, .has_descriptor = 1}, STDERR_FILENO, -EINVAL},
		{{.watch = RNIC_WATCH_ON, .has_descriptor = 2}, STDERR_FILENO, -EINVAL},
		{{.watch = RNIC_WATCH_NEEDLESS}, -1, -EINVAL},
		{{.watch = RNIC_WATCH_HELD}, -1, -EINVAL},
		{{.watch = UINT32_MAX}, -1, -EINVAL},
		{{.watch = RNIC_WATCH_OFF}, -1, 0},
		{{.watch = RNIC_WATCH_REFUSED}, -1, 0},
		{{.watch = RNIC_WATCH_ON, .has_descriptor = 1}, STDERR_FILENO, 0},
	};
	const int memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	struct fixture *f = *state;

	ask(f, RNIC_CTL_OPEN_DEVICE, &with_memory, sizeof(with_memory), memory_fd);
	close(memory_fd);
	assert_int_equal(answer(f), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ask(f, RNIC_CTL_WATCH_MEMORY, &rows[i].request, sizeof(rows[i].request),
		    rows[i].fd);
		assert_int_equal(answer(f), rows[i].status);
	}
	assert_int_equal(f->connection->session->process.watch, RNIC_WATCH_USER);
}

static unsigned events_of(int async_fd, struct rnic_event_record *records, unsigned max)
{
	ssize_t bytes = read(async_fd, records, max * sizeof(*records));

	return bytes > 0 ? (unsigned)((size_t)bytes / sizeof(*records)) : 0;
}

/* Only what changed is reported. */
static void test_facts_make_events(void **state)
{
	struct fixture *f = *state;
	struct rnic_process_facts facts = {.path_mtu_bytes = 1024};
	struct rnic_event_record records[4];
	int async_fd;

	client_fixture_open(f->connection, NULL, &async_fd);
	facts.port.state = RNIC_PORT_ACTIVE;
	facts.gids.count = 1;
	facts.gids.entries[0].gid.bytes[15] = 1;
	facts.sequence = 1;
	device_set_facts(&f->family.device, &facts);
	assert_int_equal(events_of(async_fd, records, 4), 2);
	assert_int_equal(records[0].type, RNIC_EVENT_PORT_ACTIVE);
	assert_int_equal(records[1].type, RNIC_EVENT_GID_CHANGE);
	facts.port.active_mtu = 3;
	device_set_facts(&f->family.device, &facts);
	facts.port.state = RNIC_PORT_DOWN;
	device_set_facts(&f->family.device, &facts);
	assert_int_equal(events_of(async_fd, records, 4), 1);
	assert_int_equal(records[0].type, RNIC_EVENT_PORT_ERR);
	assert_int_equal(f->family.device.facts.port.active_mtu, 3);
	close(async_fd);
}

#define CROWD 128 /* twice as many as one look at the connections tells of */

/* However many clients ask at the same time, each has its answer soon. */
static void test_crowd_is_served(void **state)
{
	static const struct rnic_ctl_open_device unknown = {.flags = 1 << 7};
	struct fixture *f = *state;
	const int first_fd = f->peer_fd;
	int peer_fds[CROWD];
	unsigned fd_count;

	for (unsigned i = 0; i < CROWD; i++) {
		client_fixture_connect_device(&f->family, geteuid(), &peer_fds[i]);
		f->peer_fd = peer_fds[i];
		ask(f, RNIC_CTL_OPEN_DEVICE, &unknown, sizeof(unknown), -1);
	}
	for (unsigned turns = 0; turns < 4; turns++)
		family_serve(&f->family);
	for (unsigned i = 0; i < CROWD; i++) {
		f->peer_fd = peer_fds[i];
		assert_int_equal(receive_reply(f, &fd_count), -EINVAL);
		close(peer_fds[i]);
	}
	f->peer_fd = first_fd;
}

/* A client may end between the arrival of its request and the answer. */
static void test_client_ends_before_the_answer(void **state)
{
	struct fixture *f = *state;

	ask(f, RNIC_CTL_QUERY_PORT, "", 0, -1);
	device_note_requests(&f->family.device);
	served_peer_end(&f->connection->peer);
	while (device_client_count(&f->family.device) > 0)
		family_reap(&f->family);
	assert_false(device_serve(&f->family.device));
}

static atomic_int slow_fd = -1, gate_fd;

int __real_close(int fd);
int __wrap_close(int fd);

/* As slow as a busy machine, or a file system that a user serves. */
int __wrap_close(int fd)
{
	char byte;

	if (fd == slow_fd) {
		slow_fd = -1;
		while (read(gate_fd, &byte, 1) < 0)
			continue;
	}
	return __real_close(fd);
}

static unsigned replies_of_a_turn(struct fixture *f)
{
	unsigned count = 0, fd_count;

	family_serve(&f->family);
	while (receive_reply(f, &fd_count) != 1)
		count++;
	return count;
}

/*
 * A client brings descriptors while the closing of others lags behind; returns the end of the gate
 * that lets the closing go on. The client has the reply, and has asked again.
 */
static int bring_too_many(struct fixture *f)
{
	int gate[2];

	open_device(f);
	family_serve(&f->family);
	assert_int_equal(pipe(gate), 0);
	gate_fd = gate[0];
	slow_fd = dup(STDERR_FILENO);
	f->family.device.connections.peers.quotas.limits[RESOURCE_DESCRIPTORS] = 9;
	quota_defer_close(&f->connection->peer.account, slow_fd);
	quota_defer_close(&f->connection->peer.account, dup(STDERR_FILENO));
	ask(f, RNIC_CTL_SHARE, "", 0, STDERR_FILENO);
	assert_int_equal(replies_of_a_turn(f), 1);
	ask(f, RNIC_CTL_QUERY_PORT, "", 0, -1);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(replies_of_a_turn(f), 0);
	assert_false(f->connection->peer.requests.is_broken);
	return gate[1];
}

/* Closing is late on a busy machine: a client that is in order waits, and is served then. */
static void test_client_waits_for_closes(void **state)
{
	struct fixture *f = *state;

	close(bring_too_many(f));
	while (replies_of_a_turn(f) == 0)
		continue;
	close(gate_fd);
}

/* Closing may also never end. */
static void test_client_does_not_wait_for_ever(void **state)
{
	struct fixture *f = *state;
	int gate = bring_too_many(f);

	now_ns += LIMIT_CLOSES_MS * RNIC_NS_PER_MS;
	family_serve(&f->family);
	assert_true(f->connection->peer.requests.is_broken);
	close(gate);
	while (quota_closes_are_behind(&f->connection->peer.account))
		continue;
	close(gate_fd);
}

/* The reply has descriptors, which cannot be sent. The client has asked again meanwhile. */
static void open_device_with_too_many(struct fixture *f)
{
	static const struct rnic_ctl_open_device open_device = {.flags = 0};

	are_too_many = true;
	ask(f, RNIC_CTL_OPEN_DEVICE, &open_device, sizeof(open_device), -1);
	ask(f, RNIC_CTL_QUERY_PORT, "", 0, -1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(replies_of_a_turn(f), 0);
		assert_false(family_have_work(&f->family));
	}
	assert_int_equal(refused_sends, 1);
	assert_false(f->connection->peer.requests.is_broken);
}

/* The device sleeps between attempts. */
static void test_reply_is_sent_again_after_a_time(void **state)
{
	struct fixture *f = *state;
	const struct request_server *server = &f->family.device.connections.peers.server;

	open_device_with_too_many(f);
	for (unsigned attempt = 2; attempt < 5; attempt++) {
		assert_int_equal(request_server_next_deadline_ns(server),
				 now_ns + LIMIT_REPLY_RETRY_MS * RNIC_NS_PER_MS);
		now_ns += LIMIT_REPLY_RETRY_MS * RNIC_NS_PER_MS - 1;
		assert_int_equal(replies_of_a_turn(f), 0);
		now_ns++;
		assert_int_equal(replies_of_a_turn(f), 0);
		assert_int_equal(refused_sends, attempt);
	}
}

/* Whoever they are on their way to may be slow: that is not the client's fault. */
static void test_reply_waits_for_descriptors_on_their_way(void **state)
{
	struct fixture *f = *state;
	unsigned fd_count;

	open_device_with_too_many(f);
	are_too_many = false;
	now_ns += LIMIT_REPLY_RETRY_MS * RNIC_NS_PER_MS;
	family_serve(&f->family);
	assert_int_equal(receive_reply(f, &fd_count), 0);
	assert_int_equal(fd_count, 4);
	assert_int_equal(answer(f), 0);
}

static void test_reply_does_not_wait_for_ever(void **state)
{
	struct fixture *f = *state;

	open_device_with_too_many(f);
	now_ns += LIMIT_REPLY_MS * RNIC_NS_PER_MS;
	assert_int_equal(replies_of_a_turn(f), 0);
	assert_true(f->connection->peer.requests.is_broken);
}

/* Descriptors of shared regions, which are mapped: only a reply needs them. */
static unsigned count_region_files(void)
{
	char path[32], target[64];
	unsigned count = 0;

	for (int fd = 0; fd < 1000; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		count += strncmp(target, "/memfd:rnic-", strlen("/memfd:rnic-")) == 0;
	}
	return count;
}

/* The descriptors of the reply end with the client. */
static void test_client_ends_while_the_reply_waits(void **state)
{
	struct fixture *f = *state;
	const uint64_t *used =
		&f->family.device.connections.peers.quotas.usage[RESOURCE_DESCRIPTORS];
	const uint64_t before = *used;

	open_device_with_too_many(f);
	assert_int_equal(count_region_files(), 2);
	/* Four of the session, and four of the reply. */
	assert_int_equal(*used, before + 8);
	served_peer_end(&f->connection->peer);
	while (device_client_count(&f->family.device) > 0)
		family_reap(&f->family);
	assert_int_equal(count_region_files(), 0);
}

/* No other process shares the device inside a program: what is for several is refused. */
static void test_a_program_shares_nothing(void **state)
{
	static const struct rnic_ctl_open_xrcd of_file = {.flags = RNIC_XRCD_FILE |
								   RNIC_XRCD_CREATE},
					       alone = {0};
	struct fixture *f = *state;

	f->family.device.sessions.is_program = true;
	open_device(f);
	ask(f, RNIC_CTL_OPEN_XRCD, &of_file, sizeof(of_file), STDERR_FILENO);
	assert_int_equal(answer(f), -EOPNOTSUPP);
	ask(f, RNIC_CTL_IMPORT, "", 0, STDERR_FILENO);
	assert_int_equal(answer(f), -EOPNOTSUPP);
	ask(f, RNIC_CTL_OPEN_XRCD, &alone, sizeof(alone), -1);
	assert_int_equal(answer(f), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_open_device_makes_a_session),
		TEST(test_open_device_comes_first),
		TEST(test_open_device_comes_once),
		TEST(test_control_operations_break),
		TEST(test_memory_is_looked_at),
		TEST(test_facts_make_events),
		TEST(test_crowd_is_served),
		TEST(test_client_ends_before_the_answer),
		TEST(test_client_waits_for_closes),
		TEST(test_client_does_not_wait_for_ever),
		TEST(test_reply_is_sent_again_after_a_time),
		TEST(test_reply_waits_for_descriptors_on_their_way),
		TEST(test_reply_does_not_wait_for_ever),
		TEST(test_client_ends_while_the_reply_waits),
		TEST(test_a_program_shares_nothing),
		TEST(test_a_watch_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
