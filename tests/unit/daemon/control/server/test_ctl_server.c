/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/ctl_dispatch.h"
#include "daemon/control/server/ctl_server.h"
#include "daemon/shared/served_peer/request_turn.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_message.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUESTS 20
#define CLIENTS	 5

static uint64_t now_ns;
static uint64_t request_ns; /* time between two readings of the clock */

/* The linker puts this function before the real clock. */
uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return now_ns += request_ns;
}

/* A server, and admin clients that have said HELLO; at first there is one. */
#define OTHER_USER 2
#define NEW_USER   3 /* has asked for nothing yet */

struct fixture {
	struct family family;
	int peer_fds[CLIENTS];
	unsigned client_count;
};

static void ask(int fd, uint16_t operation, const void *payload, uint32_t bytes)
{
	struct {
		struct rnic_ctl_header header;
		uint8_t payload[sizeof(struct rnic_ctl_hello)];
	} request = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
				.operation = operation,
				.bytes = (uint32_t)sizeof(struct rnic_ctl_header) + bytes,
			},
	};

	memcpy(request.payload, payload, bytes);
	assert_int_equal(send(fd, &request, request.header.bytes, 0), request.header.bytes);
}

static unsigned replies_received(const struct fixture *f, unsigned client)
{
	static uint8_t message[RNIC_CTL_MESSAGE_BYTES];
	unsigned count = 0;

	while (recv(f->peer_fds[client], message, sizeof(message), MSG_DONTWAIT) > 0)
		count++;
	return count;
}

static unsigned replies_of_a_turn(struct fixture *f)
{
	request_turn_run(&f->family.clients.peers.server);
	return replies_received(f, 0);
}

static void create_client_of(struct fixture *f, uid_t uid)
{
	static const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};
	const unsigned client = f->client_count++;

	client_fixture_connect(&f->family, uid, &f->peer_fds[client]);
	ask(f->peer_fds[client], RNIC_CTL_HELLO, &hello, sizeof(hello));
	while (replies_received(f, client) == 0)
		request_turn_run(&f->family.clients.peers.server);
}

static void create_client(struct fixture *f)
{
	create_client_of(f, 1);
}

static void ask_much(const struct fixture *f, unsigned client)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};

	for (unsigned i = 0; i < REQUESTS; i++)
		ask(f->peer_fds[client], RNIC_CTL_SHOW, &show, sizeof(show));
}

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	family_init(&f->family, NULL, NULL);
	request_ns = 0;
	create_client(f);
	*state = f;
	return 0;
}

/*
 * Waits for the closing threads of a test. They are detached, and each ends when its queue is
 * empty: a later test would find descriptors closed that it counts as taken.
 */
static void wait_for_closing_threads(void)
{
	struct stat tasks;

	do {
		sched_yield();
		assert_int_equal(stat("/proc/self/task", &tasks), 0);
	} while (tasks.st_nlink > 3); /* ".", "..", and the folder of this thread */
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	wait_for_closing_threads();
	for (unsigned i = 0; i < f->client_count; i++)
		close(f->peer_fds[i]);
	return 0;
}

static void test_many_requests(void **state)
{
	ask_much(*state, 0);
	for (unsigned i = 0; i < REQUESTS; i++)
		assert_int_equal(replies_of_a_turn(*state), 1);
	assert_int_equal(replies_of_a_turn(*state), 0);
}

/*
 * A turn serves a bounded number of requests of all clients together, and each client gets its
 * turn.
 */
static void test_long_requests_of_many(void **state)
{
	struct fixture *f = *state;
	unsigned replies[CLIENTS] = {0};

	while (f->client_count < CLIENTS)
		create_client(f);
	for (unsigned i = 0; i < CLIENTS; i++)
		ask_much(f, i);
	request_ns = LIMIT_TURN_REQUESTS_NS;
	for (unsigned i = 0; i < 2 * CLIENTS; i++) {
		unsigned served = 0;

		assert_true(request_turn_run(&f->family.clients.peers.server));
		for (unsigned k = 0; k < CLIENTS; k++) {
			unsigned received = replies_received(f, k);

			replies[k] += received;
			served += received;
		}
		assert_int_equal(served, 1);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_true(replies[i] >= 1);
}

/* However many connections a user has, another user waits for one request of theirs. */
static void test_users_take_turns(void **state)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};
	struct fixture *f = *state;
	const unsigned other = CLIENTS - 1;

	while (f->client_count < other)
		create_client(f);
	create_client_of(f, OTHER_USER);
	for (unsigned i = 0; i < other; i++)
		ask_much(f, i);
	request_ns = LIMIT_TURN_REQUESTS_NS;
	for (unsigned round = 0; round < 3; round++) {
		request_turn_run(&f->family.clients.peers.server);
		ask(f->peer_fds[other], RNIC_CTL_SHOW, &show, sizeof(show));
		for (unsigned i = 0; i < 2; i++)
			request_turn_run(&f->family.clients.peers.server);
		assert_int_equal(replies_received(f, other), 1);
	}
}

static struct client *connect_client(struct fixture *f);

/* Connects a client of the user `uid` whose latest request looks, or another one. */
static struct client *connect_asking(struct fixture *f, uid_t uid, bool is_viewing)
{
	struct client *client =
		client_fixture_connect(&f->family, uid, &f->peer_fds[f->client_count++]);

	client->is_viewing = is_viewing;
	return client;
}

/* One SHOW of a user asks device processes at a time. */
static void test_listings_of_a_user(void **state)
{
	struct fixture *f = *state;
	struct client *first = connect_asking(f, 1, true), *second = connect_asking(f, 1, true);
	struct client *other = connect_asking(f, OTHER_USER, true);

	assert_int_equal(client_begin_pages(first), 0);
	assert_int_equal(client_begin_pages(second), -EBUSY);
	assert_int_equal(client_begin_pages(other), 0);
	client_end_request(second); /* has nothing to end */
	assert_int_equal(client_begin_pages(second), -EBUSY);
	client_end_request(first);
	assert_int_equal(client_begin_pages(second), 0);
	/* The end of a client is the end of its listing. */
	served_peer_end(&second->peer);
	family_reap(&f->family);
	assert_int_equal(client_begin_pages(first), 0);
}

/*
 * What requests cost comes from a share of the user, one of two: a part of the time, and a burst
 * before. Neither share pays for the other kind.
 */
static void check_share(struct fixture *f, bool is_viewing, uint64_t burst_ns, uint64_t parts)
{
	struct client *first = connect_asking(f, NEW_USER, is_viewing);
	struct client *second = connect_asking(f, NEW_USER, is_viewing);
	struct client *unlike = connect_asking(f, NEW_USER, !is_viewing);
	struct client *other = connect_asking(f, OTHER_USER, is_viewing);

	client_pay(first, burst_ns);
	assert_int_equal(client_await_share(first), 0);
	client_pay(first, RNIC_NS_PER_MS);
	assert_int_equal(client_await_share(first), -EAGAIN);
	assert_int_equal(client_await_share(second), -EBUSY);
	assert_int_equal(client_await_share(other), 0);
	assert_int_equal(client_await_share(unlike), 0);
	f->family.clients.now_ns += RNIC_NS_PER_MS * parts;
	assert_int_equal(client_await_share(second), -EBUSY);
	assert_int_equal(client_await_share(first), 0);
	assert_int_equal(client_await_share(second), 0);
	/* The end of a client is the end of its wait. */
	client_pay(first, RNIC_NS_PER_MS);
	assert_int_equal(client_await_share(first), -EAGAIN);
	served_peer_end(&first->peer);
	family_reap(&f->family);
	assert_int_equal(client_await_share(second), -EAGAIN);
}

static void test_share_of_listings(void **state)
{
	check_share(*state, true, LIMIT_LISTING_BURST_NS, LIMIT_LISTING_PARTS);
}

static void test_share_of_requests(void **state)
{
	check_share(*state, false, LIMIT_REQUEST_BURST_NS, LIMIT_REQUEST_PARTS);
}

/* Who is alone does not wait, and those who wait go on when the other users have gone. */
static void test_alone(void **state)
{
	struct fixture *f = *state;
	struct client *first = connect_asking(f, NEW_USER, false);
	struct client *second = connect_asking(f, NEW_USER, false);
	struct client *greeted =
		list_first_entry(&f->family.clients.peers.all, struct client, peer.node);

	client_pay(first, 2 * LIMIT_REQUEST_BURST_NS);
	assert_int_equal(client_await_share(first), -EAGAIN);
	assert_int_equal(client_await_share(second), -EBUSY);
	served_peer_end(&greeted->peer);
	family_reap(&f->family);
	assert_int_equal(client_await_share(second), 0);
	assert_int_equal(client_await_share(first), 0);
	client_pay(first, 4 * LIMIT_REQUEST_BURST_NS);
	/* Another user comes: nobody of the first is the debtor any more, and little is owed. */
	connect_asking(f, OTHER_USER, false);
	f->family.clients.now_ns += LIMIT_REQUEST_BURST_NS * LIMIT_REQUEST_PARTS;
	assert_int_equal(client_await_share(second), 0);
}

/* A client that waits for its user's share is not silent: its time for HELLO begins behind that. */
static void test_waiting_hello_is_not_late(void **state)
{
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	struct client *client = connect_asking(f, NEW_USER, false);

	connect_asking(f, OTHER_USER, false); /* is silent */
	client_pay(client, 2 * LIMIT_REQUEST_BURST_NS);
	assert_int_equal(client_await_share(client), -EAGAIN);
	set->now_ns += LIMIT_HELLO_MS * RNIC_NS_PER_MS;
	family_reap(&f->family);
	assert_false(client_has_gone(client));
	assert_int_equal(client_await_share(client), 0);
	assert_true(client->peer.speak_by_ns == set->now_ns + LIMIT_HELLO_MS * RNIC_NS_PER_MS);
	assert_int_equal(set->peers.count, 2); /* the silent one has gone */
}

/* A viewer whose user has used up the share is answered later, and other requests go on. */
static void test_overdrawn_viewers(void **state)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};
	struct fixture *f = *state;
	struct request_server *server = &f->family.clients.peers.server;
	struct client *viewer;

	create_client(f);
	create_client_of(f, OTHER_USER);
	viewer = list_first_entry(&f->family.clients.peers.all, struct client, peer.node);
	viewer->is_viewing = true;
	client_pay(viewer, 2 * LIMIT_LISTING_BURST_NS);
	for (unsigned i = 0; i < f->client_count; i++)
		ask(f->peer_fds[i], RNIC_CTL_SHOW, &show, sizeof(show));
	for (unsigned i = 0; i < 10; i++) {
		now_ns += LIMIT_REPLY_RETRY_MS * RNIC_NS_PER_MS;
		request_turn_run(server);
	}
	assert_int_equal(replies_received(f, 0) + replies_received(f, 1), 0);
	assert_int_equal(replies_received(f, 2), 1);
	assert_false(request_turn_run(server)); /* who waits keeps nobody awake */
	f->family.clients.now_ns += 2 * LIMIT_LISTING_BURST_NS * LIMIT_LISTING_PARTS;
	for (unsigned i = 0; i < 3; i++) {
		now_ns += LIMIT_REPLY_RETRY_MS * RNIC_NS_PER_MS;
		request_turn_run(server);
	}
	assert_int_equal(replies_received(f, 0), 1);
	assert_int_equal(replies_received(f, 1), 1);
}

/* Connects a client that says nothing yet. */
static struct client *connect_client(struct fixture *f)
{
	const unsigned client = f->client_count++;

	return client_fixture_connect(&f->family, 1, &f->peer_fds[client]);
}

/* Sends a request with the descriptor `brought`. */
static void ask_with_fd(int fd, uint16_t operation, const void *payload, uint32_t bytes,
			int brought)
{
	struct rnic_ctl_header header = {
		.magic = RNIC_CTL_MAGIC,
		.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
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
	const struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &brought, sizeof(brought));
	assert_int_equal(sendmsg(fd, &message, 0), header.bytes);
}

/* The status of the reply; `*fd` is its descriptor or -1. 1: there is no reply. */
static int receive_reply(int peer_fd, int *fd)
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

	*fd = -1;
	if (recvmsg(peer_fd, &message, MSG_DONTWAIT) <= 0)
		return 1;
	if (CMSG_FIRSTHDR(&message) != NULL) {
		assert_int_equal(control.header.cmsg_len, CMSG_LEN(sizeof(int)));
		memcpy(fd, CMSG_DATA(&control.header), sizeof(*fd));
	}
	return reply.header.status;
}

static void test_no_descriptor_is_taken(void **state)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};
	struct fixture *f = *state;
	struct pollfd end = {.events = POLLIN};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	ask_with_fd(f->peer_fds[0], RNIC_CTL_SHOW, &show, sizeof(show), ends[1]);
	close(ends[1]);
	request_turn_run(&f->family.clients.peers.server);
	family_reap(&f->family);
	assert_int_equal(f->family.clients.peers.count, 0);
	/* Nobody has the descriptor any more, once the socket is closed. */
	end.fd = ends[0];
	assert_int_equal(poll(&end, 1, -1), 1);
	assert_true((end.revents & POLLHUP) != 0);
	close(ends[0]);
}

static void test_an_older_library_hears_why(void **state)
{
	static const struct rnic_ctl_hello hello = {
		.version_min = 1,
		.version_max = 1,
		.flags = 1 << 1,
	};
	struct fixture *f = *state;
	int fd;

	connect_client(f);
	ask_with_fd(f->peer_fds[1], RNIC_CTL_HELLO, &hello, sizeof(hello), STDERR_FILENO);
	request_turn_run(&f->family.clients.peers.server);
	assert_int_equal(receive_reply(f->peer_fds[1], &fd), -EPROTONOSUPPORT);
	assert_int_equal(fd, -1);
	/* The request stays in the socket, which nobody reads again. */
	family_reap(&f->family);
	assert_false(request_turn_run(&f->family.clients.peers.server));
	assert_int_equal(f->family.clients.peers.count, 2);
	shutdown(f->peer_fds[1], SHUT_RDWR);
	assert_true(request_turn_run(&f->family.clients.peers.server));
	family_reap(&f->family);
	assert_int_equal(f->family.clients.peers.count, 1);
}

static void test_device_operations_break(void **state)
{
	struct fixture *f = *state;

	ask(f->peer_fds[0], RNIC_CTL_ALLOC_PD, "", 0);
	assert_int_equal(replies_of_a_turn(f), 0);
	family_reap(&f->family);
	assert_int_equal(f->family.clients.peers.count, 0);
}

/* Takes all descriptors that are left. Returns their number. */
static unsigned take_descriptors(int *fds, unsigned max)
{
	unsigned count = 0;

	while (count < max && (fds[count] = dup(STDERR_FILENO)) >= 0)
		count++;
	assert_true(count < max);
	return count;
}

static int connect_to(const struct ctl_server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, server->place.path, sizeof(address.sun_path));
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static bool hears_end(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

/* Opens the server in a folder of its own. */
static void open_server(struct ctl_server *server, struct client_set *set, char folder[64])
{
	char path[96], reason[SOCKET_PATH_REASON_BYTES];
	const struct ctl_server_config config = {.path = path, .mode = 0666, .taken_fd = -1};

	snprintf(folder, 64, "/tmp/rnic-ctl-server-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/rnicd.sock", folder);
	assert_int_equal(ctl_server_open(server, set, &config, reason), 0);
}

static void close_server(struct ctl_server *server, const char *folder)
{
	server->set->peers.server.listener = NULL;
	ctl_server_close(server);
	assert_int_equal(rmdir(folder), 0);
}

/*
 * Newcomers are turned away while no descriptor is left. Where even the spare one is missing they
 * wait, without keeping the loop awake.
 */
static void test_no_descriptor_is_left(void **state)
{
	struct rlimit limit, few;
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	struct ctl_server server;
	char folder[64];
	unsigned count;
	int fds[64], first, second;

	open_server(&server, set, folder);
	first = connect_to(&server);
	second = connect_to(&server);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = COUNT_OF(fds), .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	count = take_descriptors(fds, COUNT_OF(fds));
	assert_true(request_turn_run(&set->peers.server));
	assert_true(hears_end(first));

	/* As after a close that takes long. */
	while (deferred_close_pending(&set->peers.server.deferred_close) > 0)
		sched_yield();
	ctl_server_follow(&server, set->now_ns + UINT64_C(1000000000));
	assert_true(server.spare_fd >= 0);
	close(server.spare_fd);
	server.spare_fd = -1;
	count += take_descriptors(fds + count, COUNT_OF(fds) - count);
	request_turn_run(&set->peers.server);
	assert_false(hears_end(second));
	assert_false(request_turn_run(&set->peers.server));
	assert_true(server.retry_ns > set->now_ns && server.retry_ns != UINT64_MAX);
	ctl_server_follow(&server, server.retry_ns);
	assert_false(request_turn_run(&set->peers.server));

	close(fds[--count]);
	ctl_server_follow(&server, server.retry_ns);
	assert_true(request_turn_run(&set->peers.server));
	assert_true(hears_end(second));
	while (count > 0)
		close(fds[--count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	close(first);
	close(second);
	close_server(&server, folder);
}

/* The user of a connection of this process, with a share of the connections like others. */
static struct user_quota *become_ordinary(struct client_set *set, bool *may_have_all)
{
	struct served_peer *peer = list_entry(set->peers.all.prev, struct served_peer, node);
	struct user_quota *user = peer->account.user;

	*may_have_all = user->may_have_all; /* the user of the test may be that of the daemon */
	user->may_have_all = false;
	return user;
}

/*
 * Who connects more often than a share of a processor pays for is turned away, until it has paid.
 */
static void test_connections_beyond_the_share(void **state)
{
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	struct ctl_server server;
	struct user_quota *user;
	char folder[64];
	bool may_have_all;
	int fds[3];

	open_server(&server, set, folder);
	fds[0] = connect_to(&server);
	assert_true(request_turn_run(&set->peers.server));
	assert_false(hears_end(fds[0]));
	user = become_ordinary(set, &may_have_all);
	assert_true(user->connections.paid_ns > set->now_ns);
	processor_share_charge(&user->connections, 4 * LIMIT_CONNECTION_BURST_NS, set->now_ns);
	fds[1] = connect_to(&server);
	assert_true(request_turn_run(&set->peers.server));
	assert_true(hears_end(fds[1]));
	assert_false(hears_end(fds[0]));
	assert_int_equal(client_await_share(connect_asking(f, user->uid, false)), 0);
	set->now_ns += 2 * LIMIT_CONNECTION_BURST_NS * LIMIT_CONNECTION_PARTS;
	fds[2] = connect_to(&server);
	assert_true(request_turn_run(&set->peers.server));
	assert_false(hears_end(fds[2]));
	user->may_have_all = may_have_all;
	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
	close_server(&server, folder);
}

/* Connects as often, each time turned away. Returns whether the account is to be kept out. */
static bool is_turned_away(struct client_set *set, uid_t uid, unsigned times)
{
	bool is_kept_out = false;

	while (times-- > 0) {
		assert_false(is_kept_out);
		is_kept_out = client_set_note_turned_away(set, uid);
	}
	return is_kept_out;
}

/* Who goes on connecting when turned away is kept out, until it has paid all that one can owe. */
static void test_who_goes_on_connecting(void **state)
{
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	const uint64_t burst_ns = LIMIT_CONNECTION_BURST_NS;
	struct user_quota *user = connect_asking(f, NEW_USER, false)->peer.account.user;

	assert_false(is_turned_away(set, NEW_USER, 2 * LIMIT_TURNED_AWAY)); /* owes nothing */
	client_set_pay(set, NEW_USER, 2 * burst_ns + 1);
	assert_true(client_set_is_refused(set, NEW_USER));
	assert_false(is_turned_away(set, NEW_USER, LIMIT_TURNED_AWAY - 1));
	connect_asking(f, NEW_USER, false); /* one that was not turned away */
	assert_true(is_turned_away(set, NEW_USER, LIMIT_TURNED_AWAY));
	set->now_ns += 2 * burst_ns * LIMIT_CONNECTION_PARTS - 1;
	assert_true(client_set_is_refused(set, NEW_USER));
	set->now_ns += 1;
	assert_false(client_set_is_refused(set, NEW_USER));
	/* The rest is still owed. */
	client_set_pay(set, NEW_USER, 1);
	assert_true(client_set_is_refused(set, NEW_USER));
	user->may_have_all = true; /* as root */
	assert_false(client_set_is_refused(set, NEW_USER));
	user->may_have_all = false;
}

/* The time that a share needs to pay for one connection. */
static uint64_t paid_after_ns(struct client_set *set, uid_t uid, uint64_t cpu_ns)
{
	const struct processor_share *share = &user_quotas_find(&set->users, uid)->connections;
	const uint64_t before_ns = share->paid_ns > set->now_ns ? share->paid_ns : set->now_ns;

	client_set_pay(set, uid, cpu_ns);
	return share->paid_ns - before_ns;
}

/* Users who connect at the same time pay for each other, up to a number. */
static void test_a_crowd_that_connects(void **state)
{
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	const uint64_t cpu_ns = 1000;
	const uint64_t one_ns = (LIMIT_CONNECTION_AROUND_NS + cpu_ns) * LIMIT_CONNECTION_PARTS;

	for (uid_t i = 0; i < LIMIT_CONNECTION_CROWD + 2; i++)
		client_fixture_connect(&f->family, NEW_USER + i, NULL);
	assert_true(paid_after_ns(set, NEW_USER, cpu_ns) == one_ns);
	assert_true(paid_after_ns(set, NEW_USER, cpu_ns) == one_ns);
	for (uid_t i = 1; i < LIMIT_CONNECTION_CROWD + 2; i++)
		client_set_pay(set, NEW_USER + i, cpu_ns);
	assert_true(paid_after_ns(set, NEW_USER, cpu_ns) == LIMIT_CONNECTION_CROWD * one_ns);
	set->now_ns += RNIC_NS_PER_SECOND; /* all have paid */
	assert_true(paid_after_ns(set, NEW_USER, cpu_ns) == one_ns);
}

/* Who is alone gets every connection, and owes them when another user comes. */
static void test_alone_connections_are_owed(void **state)
{
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	struct client *greeted = list_first_entry(&set->peers.all, struct client, peer.node);

	connect_asking(f, NEW_USER, false);
	served_peer_end(&greeted->peer);
	family_reap(&f->family);
	client_set_pay(set, NEW_USER, 4 * LIMIT_CONNECTION_BURST_NS);
	assert_false(client_set_is_refused(set, NEW_USER));
	connect_asking(f, OTHER_USER, false);
	assert_true(client_set_is_refused(set, NEW_USER));
	assert_false(client_set_is_refused(set, OTHER_USER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_requests_of_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_users_take_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_listings_of_a_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_share_of_listings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_share_of_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting_hello_is_not_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_overdrawn_viewers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_descriptor_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_older_library_hears_why, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_device_operations_break, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_descriptor_is_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_connections_beyond_the_share, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_who_goes_on_connecting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_crowd_that_connects, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alone_connections_are_owed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
