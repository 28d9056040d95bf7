/* SPDX-License-Identifier: MIT */
/* Whom a program trusts behind a daemon's socket, by who listens there and where. */
#include "lib/client/native/socket_trust.h"

#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRANGER 31001

/*
 * Returns a socket that is connected to a listener of `uid`. The kernel notes the user at listen(),
 * so a process of that user listens and ends.
 */
static int connect_to(uid_t uid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int status;
	pid_t pid;

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "rnic-trust-%d-%u",
		 (int)getpid(), (unsigned)uid);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	pid = fork();
	if (pid == 0)
		_exit((uid == geteuid() || setuid(uid) == 0) && listen(listener, 1) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(listener);
	return fd;
}

static void test_the_own_user_and_root(void **state)
{
	int fd = connect_to(geteuid());
	uid_t owner = 1;

	(void)state;
	assert_int_equal(rnic_socket_check_peer(fd, "/tmp/rnicd-7/rnicd.sock", &owner), 0);
	assert_int_equal(owner, geteuid());
	assert_int_equal(rnic_socket_check_peer(fd, "/run/rnicd/eth0.sock", NULL), 0);
	close(fd);
}

static void test_a_stranger(void **state)
{
	uid_t owner = 1;
	int fd;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can play another user\n");
		skip();
	}
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	fd = connect_to(STRANGER);
	assert_int_equal(rnic_socket_check_peer(fd, "/tmp/rnicd-7/rnicd.sock", &owner), -EACCES);
	assert_int_equal(owner, STRANGER);
	assert_int_equal(rnic_socket_check_peer(fd, "/run/user/7/rnicd.sock", NULL), -EACCES);
	/* Nobody but root makes /run/rnicd, and here nobody gave it to that user. */
	assert_int_equal(rnic_socket_check_peer(fd, "/run/rnicd/eth0.sock", NULL), -EACCES);
	/* A place that the user chose. */
	assert_int_equal(rnic_socket_check_peer(fd, "/home/ann/rnicd.sock", NULL), 0);
	assert_int_equal(rnic_socket_check_peer(fd, "/run/user/7/other.sock", NULL), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_own_user_and_root),
		cmocka_unit_test(test_a_stranger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
