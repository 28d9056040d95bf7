/* SPDX-License-Identifier: MIT */
/* Root, root in a container, and others, as the control plane takes them. */
#include "daemon/control/server/peer_user.h"

#include "daemon/shared/base/capabilities.h"
#include "tests/unit/unit_test.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Linux 6.5; headers of older C libraries lack the constant. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define STRANGER 31001

/* What the processes of a container have of old: Docker's default. */
#define CONTAINER_RIGHTS UINT64_C(0xa80425fb)

int __real_getsockopt(int fd, int level, int option, void *value, socklen_t *bytes);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *bytes);

static bool says_it_has_ended;

/* Linux 6.5 to 6.15 refuses to make a descriptor of a process that was reaped. */
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *bytes)
{
	if (says_it_has_ended && option == SO_PEERPIDFD) {
		errno = ESRCH;
		return -1;
	}
	return __real_getsockopt(fd, level, option, value, bytes);
}

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

/* All capabilities, but in a namespace that the process made itself. */
static int become_root_of_a_namespace(void)
{
	return become_contained() == 0 ? unshare(CLONE_NEWUSER) : -1;
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

static void test_root_of_a_namespace(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	require_rights();
	pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0) {
		print_message("skipped: this kernel makes no user namespaces\n");
		skip();
	}
	assert_int_equal(user_of(become_root_of_a_namespace, rights), PEER_USER_CONTAINED);
}

/* What the daemon itself keeps is enough to know root. */
static void test_judge_without_capabilities(void **state)
{
	pid_t peer, judge;
	int fd, status;

	(void)state;
	require_rights();
	peer = start_peer(NULL, &fd);
	judge = fork();
	assert_true(judge >= 0);
	if (judge == 0) {
		uid_t uid = 1;
		pid_t found;

		if (capabilities_keep(0, CAPABILITIES_BIT(CAP_SYS_PTRACE)) != 0 ||
		    peer_user_of(fd, rights, &found, &uid) != 0 || uid != 0)
			_exit(1);
		_exit(capabilities_keep(0, 0) != 0 || peer_user_of(fd, rights, &found, &uid) != 0 ||
		      uid != PEER_USER_CONTAINED);
	}
	assert_int_equal(waitpid(judge, &status, 0), judge);
	assert_int_equal(status, 0);
	close(fd);
	end_peer(peer);
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

/* A process with that number. -1 where the kernel gives nobody a choice. */
static pid_t start_with_number(pid_t number)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	const pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void test_root_with_the_number_of_one_who_has_gone(void **state)
{
	pid_t found, pid, next;
	uid_t uid;
	int fd;

	(void)state;
	require_rights();
	pid = start_peer(become_contained, &fd);
	end_peer(pid);
	next = start_with_number(pid);
	if (next != pid) {
		close(fd);
		print_message("skipped: this kernel lets nobody choose a PID\n");
		skip();
	}
	assert_int_equal(peer_user_of(fd, rights, &found, &uid), 0);
	assert_int_equal(uid, PEER_USER_CONTAINED);
	/* A kernel that says so by an error is not asked for the number again. */
	says_it_has_ended = true;
	assert_int_equal(peer_user_of(fd, rights, &found, &uid), 0);
	says_it_has_ended = false;
	assert_int_equal(uid, PEER_USER_CONTAINED);
	close(fd);
	end_peer(next);
}

/* A file with the text. */
static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_the_number_of_all_who_have_none(void **state)
{
	static const struct {
		const char *map, *unmapped;
		uid_t expected;
	} cases[] = {
		{"         0          0 4294967295\n", "65534\n", PEER_USER_ALL_MAPPED},
		{"         0       1000          1\n", "65533\n", 65533},
		{"         0     100000      65536\n", "65534\n", 65534},
		{"      1000          0 4294966295\n", "65534\n", 65534},
		{"", "7\n", 7},
		{"", "none\n", 65534},
	};
	char map[] = "/tmp/rnic-peer-map-XXXXXX", unmapped[] = "/tmp/rnic-peer-number-XXXXXX";

	(void)state;
	close(mkstemp(map));
	close(mkstemp(unmapped));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		write_text(map, cases[i].map);
		write_text(unmapped, cases[i].unmapped);
		assert_int_equal(peer_user_unmapped(map, unmapped), cases[i].expected);
	}
	unlink(map);
	unlink(unmapped);
	assert_int_equal(peer_user_unmapped(map, unmapped), 65534);
}

/* As which user a process of another namespace appears, whose user has no number in this one. */
static int check_in_a_namespace(void)
{
	const uid_t unmapped = peer_user_unmapped(PEER_USER_MAP_PATH, PEER_USER_UNMAPPED_PATH);
	int ends[2];
	pid_t pid;
	uid_t uid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
		return 1;
	return peer_user_of(ends[0], 0, &pid, &uid) == 0 && uid == unmapped ? 0 : 1;
}

static void test_the_kernels_own_number(void **state)
{
	const pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) != 0 ? 77 : check_in_a_namespace());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: this kernel makes no user namespaces\n");
		skip();
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_own_user),
		cmocka_unit_test(test_root_in_a_container),
		cmocka_unit_test(test_root_of_a_namespace),
		cmocka_unit_test(test_judge_without_capabilities),
		cmocka_unit_test(test_other_users),
		cmocka_unit_test(test_who_has_gone_is_nobody),
		cmocka_unit_test(test_root_with_the_number_of_one_who_has_gone),
		cmocka_unit_test(test_the_number_of_all_who_have_none),
		cmocka_unit_test(test_the_kernels_own_number),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
