/* SPDX-License-Identifier: MIT */
/* A link to a daemon that answers wrongly, late, or not at all: every call comes back. */
#include "lib/client/native/daemon_link.h"

#include "proto/base/bits.h"
#include "proto/ctl/ctl_cm.h"
#include "tests/unit/unit_test.h"

#include <rnic/rnic.h>

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_uint yields;

/* Instead of the C library's. */
int sched_yield(void)
{
	atomic_fetch_add(&yields, 1);
	return 0;
}

enum answer {
	ANSWER_SUCCESS,
	ANSWER_REFUSAL,
	ANSWER_REFUSAL_EIO,
	ANSWER_HANG_UP,
	ANSWER_GARBAGE,
	ANSWER_OTHER_ID,
	ANSWER_SHORT,
	ANSWER_DESCRIPTOR,
	ANSWER_NONE,
};

struct daemon {
	int fd;
	enum answer answer;
};

struct reply {
	struct rnic_ctl_header header;
	union {
		struct rnic_ctl_pd_reply pd;
		struct rnic_ctl_refusal refusal;
	} payload;
};

static void refuse(struct reply *reply, int32_t status)
{
	reply->header.status = status;
	reply->header.bytes = sizeof(reply->header) + sizeof(reply->payload.refusal);
	memcpy(reply->payload.refusal.reason, "no more are to be had", 22);
}

static void send_with_descriptor(int fd, const struct reply *reply)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec part = {.iov_base = (void *)reply, .iov_len = reply->header.bytes};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void *serve_one(void *argument)
{
	struct daemon *daemon = argument;
	struct reply reply = {.payload.pd.pd = {.slot = 5, .generation = 6}};
	struct rnic_ctl_header request;

	if (recv(daemon->fd, &request, sizeof(request), 0) != sizeof(request))
		return daemon;
	reply.header = request;
	reply.header.version = RNIC_CTL_VERSION_MAX;
	reply.header.bytes = sizeof(reply.header) + sizeof(reply.payload.pd);
	switch (daemon->answer) {
	case ANSWER_HANG_UP:
		shutdown(daemon->fd, SHUT_RDWR);
		return NULL;
	case ANSWER_DESCRIPTOR:
		send_with_descriptor(daemon->fd, &reply);
		return NULL;
	case ANSWER_NONE:
		return NULL;
	case ANSWER_REFUSAL:
		refuse(&reply, -ENOSPC);
		break;
	case ANSWER_REFUSAL_EIO:
		refuse(&reply, -EIO);
		break;
	case ANSWER_GARBAGE:
		memset(&reply.header.magic, 0xff, sizeof(reply.header.magic));
		break;
	case ANSWER_OTHER_ID:
		reply.header.request_id++;
		break;
	case ANSWER_SHORT:
		reply.header.bytes--;
		break;
	case ANSWER_SUCCESS:
		break;
	}
	send(daemon->fd, &reply, reply.header.bytes, MSG_NOSIGNAL);
	return NULL;
}

static int alloc_pd(struct rnic_link *link, struct rnic_ctl_pd_reply *reply)
{
	const struct rnic_call call = {
		.operation = RNIC_CTL_ALLOC_PD,
		.request_fd = -1,
		.reply = reply,
		.reply_bytes = sizeof(*reply),
	};

	return rnic_link_call(link, &call);
}

static void connect_pair(struct rnic_link *link, struct daemon *daemon)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	rnic_link_init(link);
	atomic_store(&link->fd, fds[0]);
	atomic_store(&link->lost, 0);
	link->version = RNIC_CTL_VERSION_MAX;
	link->answer_ms = 2000;
	daemon->fd = fds[1];
}

static void test_answers(void **state)
{
	static const struct {
		enum answer answer;
		int result;
		int lost;
		const char *reason;
	} cases[] = {
		{ANSWER_SUCCESS, 0, 0, ""},
		{ANSWER_REFUSAL, -ENOSPC, 0, "no more are to be had"},
		{ANSWER_REFUSAL_EIO, -EIO, 0, "no more are to be had"},
		{ANSWER_HANG_UP, -ENODEV, -ENODEV, ""},
		{ANSWER_GARBAGE, -EIO, -EIO, ""},
		{ANSWER_OTHER_ID, -EIO, -EIO, ""},
		{ANSWER_SHORT, -EIO, -EIO, ""},
		{ANSWER_DESCRIPTOR, -EIO, -EIO, ""},
		{ANSWER_NONE, -ETIMEDOUT, -ETIMEDOUT, "the daemon has not answered for 2 seconds"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct daemon daemon = {.answer = cases[i].answer};
		struct rnic_ctl_pd_reply reply = {.pd = {0}};
		struct rnic_link link;
		pthread_t thread;
		void *failure;

		connect_pair(&link, &daemon);
		assert_int_equal(pthread_create(&thread, NULL, serve_one, &daemon), 0);
		assert_int_equal(alloc_pd(&link, &reply), cases[i].result);
		assert_string_equal(rnic_refusal_reason(), cases[i].reason);
		assert_int_equal(rnic_link_lost(&link), cases[i].lost);
		assert_int_equal(reply.pd.slot, cases[i].result == 0 ? 5 : 0);
		assert_int_equal(pthread_join(thread, &failure), 0);
		assert_null(failure);
		/* Once lost, a call does not even try. */
		if (cases[i].lost != 0)
			assert_int_equal(alloc_pd(&link, &reply), cases[i].lost);
		close(daemon.fd);
		rnic_link_close(&link);
		rnic_link_fini(&link);
	}
}

static void serve_inside(void *daemon)
{
	assert_null(serve_one(daemon));
}

/* The answer is there, so a yield would only lose time. */
static void test_a_device_inside_the_program_answers_without_a_yield(void **state)
{
	struct daemon daemon = {.answer = ANSWER_SUCCESS};
	struct rnic_ctl_cm_channel_reply channel;
	struct rnic_ctl_pd_reply pd;
	struct rnic_link link;
	int fd;

	(void)state;
	connect_pair(&link, &daemon);
	link.serve = serve_inside;
	link.serve_context = &daemon;
	atomic_store(&yields, 0);
	assert_int_equal(alloc_pd(&link, &pd), 0);
	daemon.answer = ANSWER_DESCRIPTOR;
	assert_int_equal(rnic_link_call_for_fd(
				 &link, RNIC_CALL_TO_ASK(RNIC_CTL_CM_CREATE_CHANNEL, channel), &fd),
			 0);
	assert_int_equal(atomic_load(&yields), 0);
	close(fd);
	close(daemon.fd);
	rnic_link_close(&link);
	rnic_link_fini(&link);
}

/* What is dropped behind a refusal does not hide why there was one. */
static void test_a_dropped_object_leaves_the_reason(void **state)
{
	struct daemon daemon = {.answer = ANSWER_REFUSAL};
	const struct rnic_handle handle = {1, 1};
	struct rnic_ctl_pd_reply reply;
	struct rnic_link link;
	pthread_t thread;

	(void)state;
	connect_pair(&link, &daemon);
	assert_int_equal(pthread_create(&thread, NULL, serve_one, &daemon), 0);
	assert_int_equal(alloc_pd(&link, &reply), -ENOSPC);
	assert_int_equal(pthread_join(thread, NULL), 0);
	rnic_link_lose(&link, -ENODEV);
	rnic_link_drop_object(&link, RNIC_CTL_DEALLOC_PD, handle);
	assert_string_equal(rnic_refusal_reason(), "no more are to be had");
	assert_int_equal(rnic_link_call_object(&link, RNIC_CTL_DEALLOC_PD, handle), -ENODEV);
	assert_string_equal(rnic_refusal_reason(), "");
	close(daemon.fd);
	rnic_link_close(&link);
	rnic_link_fini(&link);
}

/* A shortage in this process does not count as the daemon's death: the next call goes well. */
static void test_lacking_descriptors(void **state)
{
	struct daemon daemon = {.answer = ANSWER_DESCRIPTOR};
	struct rnic_ctl_channel_reply reply;
	struct rlimit limit, none;
	struct rnic_link link;
	pthread_t server;
	int fd = -1, free_fd;

	(void)state;
	connect_pair(&link, &daemon);
	free_fd = dup(daemon.fd);
	close(free_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)free_fd, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(
		rnic_link_call_for_fd(&link, RNIC_CALL_TO_ASK(RNIC_CTL_CREATE_CHANNEL, reply), &fd),
		-EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(rnic_link_lost(&link), 0);

	assert_int_equal(pthread_create(&server, NULL, serve_one, &daemon), 0);
	assert_int_equal(
		rnic_link_call_for_fd(&link, RNIC_CALL_TO_ASK(RNIC_CTL_CREATE_CHANNEL, reply), &fd),
		0);
	assert_int_equal(pthread_join(server, NULL), 0);
	assert_int_equal(fd, free_fd);
	close(fd);
	close(daemon.fd);
	rnic_link_close(&link);
	rnic_link_fini(&link);
}

/* The caller's mistake, with which nothing was sent. */
static void test_passing_a_descriptor_that_is_none(void **state)
{
	struct daemon daemon = {.answer = ANSWER_SUCCESS};
	const struct rnic_call call = {.operation = RNIC_CTL_SHARE, .request_fd = INT_MAX};
	struct rnic_ctl_pd_reply reply;
	struct rnic_link link;
	pthread_t server;

	(void)state;
	connect_pair(&link, &daemon);
	assert_int_equal(rnic_link_call(&link, &call), -EBADF);
	assert_int_equal(rnic_link_lost(&link), 0);
	assert_int_equal(pthread_create(&server, NULL, serve_one, &daemon), 0);
	assert_int_equal(alloc_pd(&link, &reply), 0);
	assert_int_equal(pthread_join(server, NULL), 0);
	close(daemon.fd);
	rnic_link_close(&link);
	rnic_link_fini(&link);
}

/*
 * As programs do that cancel a thread anywhere. AddressSanitizer does not see that cancelling
 * leaves this function, and would take its variables for those of the next thread on this stack.
 */
__attribute__((no_sanitize("address"))) static void *call_when_cancelled(void *link)
{
	struct rnic_ctl_pd_reply reply;

	pthread_cancel(pthread_self());
	alloc_pd(link, &reply);
	pthread_testcancel();
	return NULL;
}

/* A thread that is cancelled leaves request and reply in step, and the link to others. */
static void test_cancelled_thread(void **state)
{
	struct daemon daemon = {.answer = ANSWER_SUCCESS};
	struct rnic_ctl_pd_reply reply;
	struct rnic_link link;

	(void)state;
	connect_pair(&link, &daemon);
	alarm(30);
	for (int i = 0; i < 2; i++) {
		pthread_t server, caller;
		void *result;

		assert_int_equal(pthread_create(&server, NULL, serve_one, &daemon), 0);
		if (i == 0) {
			assert_int_equal(pthread_create(&caller, NULL, call_when_cancelled, &link),
					 0);
			assert_int_equal(pthread_join(caller, &result), 0);
			assert_ptr_equal(result, PTHREAD_CANCELED);
		} else {
			assert_int_equal(alloc_pd(&link, &reply), 0);
		}
		assert_int_equal(pthread_join(server, &result), 0);
	}
	alarm(0);
	close(daemon.fd);
	rnic_link_close(&link);
	rnic_link_fini(&link);
}

static void test_hang_up_is_seen(void **state)
{
	struct daemon daemon = {0};
	struct rnic_link link;

	(void)state;
	connect_pair(&link, &daemon);
	assert_int_equal(rnic_link_check(&link), 0);
	close(daemon.fd);
	assert_int_equal(rnic_link_check(&link), -ENODEV);
	rnic_link_close(&link);
	assert_int_equal(rnic_link_check(&link), -ENODEV);
	rnic_link_fini(&link);
}

/* A control connection and the device connection that it brought. */
static void connect_twins(struct rnic_link *control, struct daemon *control_daemon,
			  struct rnic_link *device, struct daemon *device_daemon)
{
	int fds[2];

	connect_pair(control, control_daemon);
	control->answer_ms = 100;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	rnic_link_init(device);
	assert_int_equal(rnic_link_lost(device), -ENODEV);
	atomic_store(&device->fd, fds[0]);
	device->answer_ms = 100;
	rnic_link_adopt(device, control);
	assert_int_equal(rnic_link_lost(device), 0);
	assert_int_equal(device->version, control->version);
	device_daemon->fd = fds[1];
}

static void disconnect_twins(struct rnic_link *control, const struct daemon *control_daemon,
			     struct rnic_link *device, const struct daemon *device_daemon)
{
	rnic_link_close(control);
	rnic_link_close(device);
	rnic_link_fini(device);
	rnic_link_fini(control);
	close(control_daemon->fd);
	close(device_daemon->fd);
}

static void expect_hang_up(const struct daemon *daemon)
{
	char byte;

	assert_int_equal(recv(daemon->fd, &byte, 1, MSG_DONTWAIT), 0);
}

/* The other process, too, must see that the client is gone. */
static void test_loss_of_one_is_the_loss_of_both(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool is_control_lost = i % 2 == 0, is_hang_up = i < 2;
		struct rnic_link control, device, *link = is_control_lost ? &control : &device;
		struct rnic_link *other = is_control_lost ? &device : &control;
		struct daemon daemons[2] = {0};
		struct daemon *lost = &daemons[is_control_lost ? 0 : 1];

		connect_twins(&control, &daemons[0], &device, &daemons[1]);
		assert_int_equal(rnic_link_check(other), 0);
		if (is_hang_up) {
			shutdown(lost->fd, SHUT_RDWR);
			assert_int_equal(rnic_link_check(other), -ENODEV);
		} else {
			rnic_link_lose(link, -EIO);
			assert_int_equal(rnic_link_lost(other), -EIO);
		}
		assert_int_equal(rnic_link_lost(link), rnic_link_lost(other));
		expect_hang_up(&daemons[0]);
		expect_hang_up(&daemons[1]);
		rnic_link_close(&control);
		rnic_link_close(&device);
		rnic_link_fini(&device);
		rnic_link_fini(&control);
		close(daemons[0].fd);
		close(daemons[1].fd);
	}
}

/* A thread that waits for an answer on the one comes back when the other is lost. */
static void *wait_for_answer(void *link)
{
	struct rnic_ctl_pd_reply reply;

	return alloc_pd(link, &reply) == -ENODEV ? NULL : link;
}

static void test_loss_ends_the_wait_of_the_twin(void **state)
{
	struct daemon control_daemon = {0}, device_daemon = {0};
	struct rnic_link control, device;
	uint8_t request[RNIC_CTL_MESSAGE_BYTES];
	pthread_t waiter;
	void *failure;

	(void)state;
	connect_twins(&control, &control_daemon, &device, &device_daemon);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_answer, &device), 0);
	assert_true(recv(device_daemon.fd, request, sizeof(request), 0) > 0);
	rnic_link_lose(&control, -ENODEV);
	assert_int_equal(pthread_join(waiter, &failure), 0);
	assert_null(failure);
	disconnect_twins(&control, &control_daemon, &device, &device_daemon);
}

struct late_daemon {
	struct daemon daemon;
	unsigned delay_ms;
};

static void *serve_late(void *argument)
{
	struct late_daemon *late = argument;

	poll(NULL, 0, (int)late->delay_ms);
	return serve_one(&late->daemon);
}

/* A library that gave up a late answer would lose a device that works. */
static void test_a_late_answer_loses_nothing(void **state)
{
	struct late_daemon control_daemon = {.delay_ms = 400}, device_daemon = {.delay_ms = 400};
	struct rnic_link control, device;
	struct rnic_ctl_pd_reply reply;
	pthread_t server;

	(void)state;
	connect_twins(&control, &control_daemon.daemon, &device, &device_daemon.daemon);
	assert_int_equal(pthread_create(&server, NULL, serve_late, &control_daemon), 0);
	assert_int_equal(alloc_pd(&control, &reply), 0);
	assert_int_equal(pthread_join(server, NULL), 0);
	assert_int_equal(pthread_create(&server, NULL, serve_late, &device_daemon), 0);
	assert_int_equal(alloc_pd(&device, &reply), 0);
	assert_int_equal(pthread_join(server, NULL), 0);
	assert_int_equal(rnic_link_lost(&device), 0);
	disconnect_twins(&control, &control_daemon.daemon, &device, &device_daemon.daemon);
}

/* A call that has no limit comes back when a thread gives up the link. */
static void test_the_end_of_a_wait_without_limit(void **state)
{
	struct daemon control_daemon = {0}, device_daemon = {0};
	struct rnic_link control, device;
	uint8_t request[RNIC_CTL_MESSAGE_BYTES];
	pthread_t waiter;
	void *failure;

	(void)state;
	connect_twins(&control, &control_daemon, &device, &device_daemon);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_answer, &control), 0);
	assert_true(recv(control_daemon.fd, request, sizeof(request), 0) > 0);
	shutdown(device_daemon.fd, SHUT_RDWR);
	assert_int_equal(rnic_link_check(&device), -ENODEV);
	assert_int_equal(pthread_join(waiter, &failure), 0);
	assert_null(failure);
	disconnect_twins(&control, &control_daemon, &device, &device_daemon);
}

/* A descriptor that came, but is in no link, would stay open in a child of fork(). */
struct fork_watch {
	pthread_mutex_t lock;
	struct rnic_link *control, *device;
	atomic_bool is_over;
};

/* Looks as often as it gets the lock: the descriptor is in the socket, or in the link. */
static void *watch_forks(void *argument)
{
	struct fork_watch *watch = argument;
	struct pollfd reply = {.fd = atomic_load(&watch->control->fd), .events = POLLIN};
	bool is_lost = false;

	while (!atomic_load(&watch->is_over)) {
		pthread_mutex_lock(&watch->lock);
		is_lost |= poll(&reply, 1, 0) == 0 && atomic_load(&watch->device->fd) < 0;
		pthread_mutex_unlock(&watch->lock);
	}
	return is_lost ? watch : NULL;
}

static void *call_for_link(void *argument)
{
	struct fork_watch *watch = argument;
	struct rnic_ctl_channel_reply reply;
	struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_CREATE_CHANNEL, reply);

	call.reply_link = watch->device;
	call.reply_fd_count = 1;
	return rnic_link_call(watch->control, &call) == 0 ? NULL : watch;
}

static void test_a_connection_comes_under_the_lock_of_fork(void **state)
{
	struct daemon daemon = {.answer = ANSWER_DESCRIPTOR};
	struct rnic_link control, device;
	struct fork_watch watch = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .control = &control, .device = &device};
	struct pollfd reply;
	pthread_t server, caller, watcher;
	void *failure;

	(void)state;
	connect_pair(&control, &daemon);
	rnic_link_init(&device);
	control.fork_lock = &watch.lock;
	pthread_mutex_lock(&watch.lock);
	assert_int_equal(pthread_create(&server, NULL, serve_one, &daemon), 0);
	assert_int_equal(pthread_create(&caller, NULL, call_for_link, &watch), 0);
	assert_int_equal(pthread_join(server, NULL), 0);
	/* While a fork() is under way, the reply stays in the socket. */
	poll(NULL, 0, 100);
	reply = (struct pollfd){.fd = atomic_load(&control.fd), .events = POLLIN};
	assert_int_equal(poll(&reply, 1, 0), 1);
	assert_int_equal(atomic_load(&device.fd), -1);
	assert_int_equal(pthread_create(&watcher, NULL, watch_forks, &watch), 0);
	poll(NULL, 0, 20);
	pthread_mutex_unlock(&watch.lock);
	assert_int_equal(pthread_join(caller, &failure), 0);
	assert_null(failure);
	poll(NULL, 0, 20);
	atomic_store(&watch.is_over, true);
	assert_int_equal(pthread_join(watcher, &failure), 0);
	assert_null(failure);
	assert_true(atomic_load(&device.fd) >= 0);
	rnic_link_close(&device);
	rnic_link_close(&control);
	rnic_link_fini(&device);
	rnic_link_fini(&control);
	close(daemon.fd);
}

static void test_nobody_there(void **state)
{
	char too_long[200];
	struct rnic_link link;

	(void)state;
	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = 0;
	rnic_link_init(&link);
	assert_int_equal(rnic_link_open(&link, "/nonexistent/rnicd.sock"), -ENOENT);
	assert_int_equal(rnic_link_open(&link, too_long), -ENAMETOOLONG);
	assert_int_equal(rnic_link_lost(&link), -ENODEV);
	rnic_link_fini(&link);
}

static void test_socket_path(void **state)
{
	char path[RNIC_SOCKET_PATH_BYTES];
	char expected[64];
	char too_long[200];

	(void)state;
	setenv("RNIC_SOCKET", "/run/mine", 1);
	assert_int_equal(rnic_default_socket_path(path), 0);
	assert_string_equal(path, "/run/mine");
	setenv("RNIC_SOCKET", "/run/first:/run/second", 1);
	assert_int_equal(rnic_default_socket_path(path), 0);
	assert_string_equal(path, "/run/first");
	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = 0;
	setenv("RNIC_SOCKET", too_long, 1);
	assert_int_equal(rnic_default_socket_path(path), -ENAMETOOLONG);

	unsetenv("RNIC_SOCKET");
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	assert_int_equal(rnic_default_socket_path(path), 0);
	assert_string_equal(path,
			    geteuid() == 0 ? "/run/rnicd/rnicd.sock" : "/run/user/7/rnicd.sock");
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(rnic_default_socket_path(path), 0);
	snprintf(expected, sizeof(expected), "/tmp/rnicd-%u/rnicd.sock", (unsigned)geteuid());
	assert_string_equal(path, geteuid() == 0 ? "/run/rnicd/rnicd.sock" : expected);
}

/* --- forks ------------------------------------------------------------------------------------ */

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static int watched_fd = -1;
static bool was_locked; /* while `watched_fd` was closed */

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	if (fd == watched_fd) {
		was_locked = pthread_mutex_trylock(&fork_lock) != 0;
		if (!was_locked)
			pthread_mutex_unlock(&fork_lock);
		watched_fd = -1;
	}
	return __real_close(fd);
}

/* A fork() finds the descriptor in the link, or closed. */
static void no_fork_comes_between_taking_and_closing(void **state)
{
	struct rnic_link link;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	rnic_link_init(&link);
	link.fork_lock = &fork_lock;
	atomic_store(&link.fd, fds[0]);
	watched_fd = fds[0];
	rnic_link_close(&link);
	assert_int_equal(watched_fd, -1);
	assert_true(was_locked);
	rnic_link_fini(&link);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_a_device_inside_the_program_answers_without_a_yield),
		cmocka_unit_test(test_a_dropped_object_leaves_the_reason),
		cmocka_unit_test(test_lacking_descriptors),
		cmocka_unit_test(test_passing_a_descriptor_that_is_none),
		cmocka_unit_test(test_cancelled_thread),
		cmocka_unit_test(test_hang_up_is_seen),
		cmocka_unit_test(test_loss_of_one_is_the_loss_of_both),
		cmocka_unit_test(test_loss_ends_the_wait_of_the_twin),
		cmocka_unit_test(test_a_late_answer_loses_nothing),
		cmocka_unit_test(test_the_end_of_a_wait_without_limit),
		cmocka_unit_test(test_a_connection_comes_under_the_lock_of_fork),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_socket_path),
		cmocka_unit_test(no_fork_comes_between_taking_and_closing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
