/* SPDX-License-Identifier: MIT */
/* Root, root in a container, and others, as the control plane takes them. */
#include "daemon/control/server/peer_user.h"

#include "daemon/shared/base/capabilities.h"
#include "tests/unit/unit_test.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRANGER 31001

/* What the processes of a container have of old: Docker's default. */
#define CONTAINER_RIGHTS UINT64_C(0xa80425fb)

static int listener = -1;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static uint64_t rights; /* of this process */

static int set_up(void **state)
{
	(void)state;
	rights = peer_user_rights();
	listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "rnic-peer-%d", (int)getpid());
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return -1;
	return listen(listener, 4);
}

static int tear_down(void **state)
{
	(void)state;
	return close(listener);
}

/* A process that changes itself by `become`, connects, and lives until it is killed. */
static pid_t start_peer(int (*become)(void), int *fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int own = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if ((become != NULL && become() != 0) ||
		    connect(own, (const struct sockaddr *)&address, sizeof(address)) != 0)
			_exit(1);
		for (;;)
			pause();
	}
	*fd = accept(listener, NULL, NULL);
	assert_true(*fd >= 0);
	return pid;
}

static void end_peer(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The user as which such a process counts. */
static uid_t user_of(int (*become)(void), uint64_t of_daemon)
{
	uid_t uid = 1;
	pid_t found, pid;
	int fd;

	pid = start_peer(become, &fd);
	assert_int_equal(peer_user_of(fd, of_daemon, &found, &uid), 0);
	assert_int_equal(found, pid);
	close(fd);
	end_peer(pid);
	return uid;
}

static int become_contained(void)
{
	return capabilities_keep(CONTAINER_RIGHTS, 0);
}

static int become_stranger(void)
{
	return setuid(STRANGER);
}

static void require_rights(void)
{
	if (geteuid() == 0 && rights != 0)
		return;
	print_message("skipped: this process is not root, or is in a container itself\n");
	skip();
}

static void test_the_own_user(void **state)
{
	(void)state;
	assert_int_equal(user_of(NULL, rights), geteuid());
}

static void test_root_in_a_container(void **state)
{
	(void)state;
	require_rights();
	assert_int_equal(user_of(become_contained, rights), PEER_USER_CONTAINED);
	/* A daemon in the same container, or of an ordinary user, has no more itself. */
	assert_int_equal(user_of(become_contained, 0), 0);
}

static void test_other_users(void **state)
{
	(void)state;
	require_rights();
	assert_int_equal(user_of(become_stranger, rights), STRANGER);
}

/* The number of a process that has ended may be that of a process of root now. */
static void test_who_has_gone_is_nobody(void **state)
{
	pid_t found, pid;
	uid_t uid;
	int fd;

	(void)state;
	require_rights();
	pid = start_peer(NULL, &fd);
	end_peer(pid);
	assert_int_equal(peer_user_of(fd, rights, &found, &uid), 0);
	assert_int_equal(uid, PEER_USER_CONTAINED);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_own_user),
		cmocka_unit_test(test_root_in_a_container),
		cmocka_unit_test(test_other_users),
		cmocka_unit_test(test_who_has_gone_is_nobody),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
